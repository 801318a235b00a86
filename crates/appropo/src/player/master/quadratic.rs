//! The quadratic model of a Newton step.

use nalgebra::{Cholesky, DMatrix};

use crate::vector::add_scaled;

/// argmin of c·δ + ½ δᵀHδ, δ = w − w₀, over the probability simplex, by a primal active-set method from w₀.
///
/// H may be semidefinite, or that only up to rounding; as much of ½μ‖δ‖² as makes it definite is
/// added, which shortens the Newton step but keeps its fixed point. Slopes differ by `noise` from rounding.
pub(super) fn quadratic_on_simplex(c: &[f64], noise: f64, mut h: DMatrix<f64>, mut w: Vec<f64>) -> Vec<f64> {
    let n = w.len();
    let spread = (0..n).map(|i| h[(i, i)].abs().max(c[i].abs())).fold(f64::MIN_POSITIVE, f64::max);
    // Σw is fixed, so adding (Σw)² changes nothing but makes H regular along w.
    h.add_scalar_mut(spread);
    let mut mu = 1e-13 * spread;
    (0..n).for_each(|i| h[(i, i)] += mu);
    let start = w.clone();
    let gradient_at = |h: &DMatrix<f64>, w: &[f64]| {
        let mut gradient = c.to_vec();
        for (column, (w, start)) in h.column_iter().zip(w.iter().zip(&start)) {
            add_scaled(&mut gradient, w - start, column.as_slice());
        }
        gradient
    };
    let mut free: Vec<bool> = w.iter().map(|w| *w > 0.0).collect();
    for _ in 0..20 * n + 20 {
        let gradient = gradient_at(&h, &w);
        let inside: Vec<usize> = (0..n).filter(|&i| free[i]).collect();
        let block = DMatrix::from_fn(inside.len(), inside.len(), |i, j| h[(inside[i], inside[j])]);
        let Some(factor) = Cholesky::new(block) else {
            mu *= 10.0;
            // Numbers near the largest overflow on the way, and then nothing helps.
            if !mu.is_finite() {
                break;
            }
            (0..n).for_each(|i| h[(i, i)] += mu);
            continue;
        };
        let mut solved =
            DMatrix::from_fn(inside.len(), 2, |i, k| if k == 0 { -gradient[inside[i]] } else { 1.0 });
        factor.solve_mut(&mut solved);
        let (down, ones) = (solved.column(0), solved.column(1));
        let nu = down.sum() / ones.sum();
        let step: Vec<f64> = (0..inside.len()).map(|i| down[i] - nu * ones[i]).collect();
        let (mut t, mut blocking) = (1.0, None);
        for (i, &at) in inside.iter().enumerate() {
            if step[i] < 0.0 && w[at] + t * step[i] < 0.0 {
                t = w[at] / -step[i];
                blocking = Some(at);
            }
        }
        for (i, &at) in inside.iter().enumerate() {
            w[at] = (w[at] + t * step[i]).max(0.0);
        }
        if let Some(at) = blocking {
            w[at] = 0.0;
            free[at] = false;
            continue;
        }
        // Optimal on this face: free the entry whose gradient lies furthest below the common level.
        let gradient = gradient_at(&h, &w);
        let level = inside.iter().map(|&i| w[i] * gradient[i]).sum::<f64>() / w.iter().sum::<f64>();
        let below = |i: usize| level - gradient[i];
        let largest = (0..n).filter(|&i| !free[i]).max_by(|&a, &b| below(a).total_cmp(&below(b)));
        let moved = w.iter().zip(&start).map(|(w, s)| (w - s).abs()).fold(0.0, f64::max);
        match largest.filter(|&i| below(i) > noise + f64::EPSILON * spread * moved) {
            Some(i) => free[i] = true,
            None => break,
        }
    }
    let total: f64 = w.iter().sum();
    w.iter().map(|w| w / total).collect()
}
