use std::cell::Cell;
use std::sync::Arc;

use super::{Cone, Conic, ConvexSet, Derivative, Errors, SharedSet, conic};
use crate::error::{Result, in_range};
use crate::{root, vector};

/// cone(C × {κ}) ⊂ ℝᵈ⁺¹, the closed cone over a convex set placed at height κ (section 3.3 of the paper).
///
/// With κ = 1 it states shares: v/L ∈ C exactly when (v, L) ∈ cone(C × {1}), see [`Lift::share`].
///
/// Projection of (x, s): let c(a) = Γ_C(x/a). The function φ′(a) = κ²a − κs − (x − a·c(a))·c(a) increases
/// with slope κ² at least.
/// - If its limit at 0 is not negative, the nearest point is (Γ_rec(x), 0), with C's recession cone.
/// - Otherwise it is (a·c(a), aκ) at the root a.
#[derive(Debug, Clone)]
pub struct Lift {
    set: SharedSet,
    kappa: f64,
    /// The cone's own form, where C has no projection but a conic solver's.
    form: Option<Conic>,
}

/// Below this share of the starting a, the root counts as 0.
const SMALLEST: f64 = 1e-13;
/// Points of this size count as 0.
const TINY: f64 = 1e-150;

impl Lift {
    /// The cone over `set` at height `kappa` > 0.
    pub fn new(set: SharedSet, kappa: f64) -> Result<Self> {
        in_range("kappa", kappa, kappa > 0.0, "more than 0")?;
        Ok(Self::at_height(set, kappa))
    }

    /// {(v, L) : v/L ∈ set}, closed: what is measured a unit of L, where L is the last entry.
    pub fn share(set: SharedSet) -> Self {
        Self::at_height(set, 1.0)
    }

    fn at_height(set: SharedSet, kappa: f64) -> Self {
        let mut lift = Self { set, kappa, form: None };
        if lift.set.is_solved() {
            lift.form = lift.conic();
        }
        lift
    }

    /// c(a) = Γ_C(x/a).
    fn nearest_below(&self, x: &[f64], a: f64, scaled: &mut [f64], c: &mut [f64]) {
        scaled.iter_mut().zip(x).for_each(|(scaled, x)| *scaled = x / a);
        self.set.project(scaled, c);
    }

    /// The height κ.
    pub fn kappa(&self) -> f64 {
        self.kappa
    }
}

impl ConvexSet for Lift {
    fn requirement(&self) -> String {
        self.set.requirement()
    }

    fn dim(&self) -> usize {
        self.set.dim() + 1
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        if let Some(form) = &self.form {
            conic::project_or_nan(form, x, out);
            // Where the solver gives up on the cone, it may still manage the set.
            if out.iter().all(|v| v.is_finite()) {
                return;
            }
        }
        let d = x.len() - 1;
        let (s, x) = (x[d], &x[..d]);
        let kappa = self.kappa;
        let size = vector::norm(x).hypot(s) / kappa;
        // Squares of what is smaller vanish.
        if size < TINY {
            return out.fill(0.0);
        }
        let (c, height) = out.split_at_mut(d);
        let mut scaled = vec![0.0; x.len()];
        let last = Cell::new(f64::NAN);
        let radial = self.set.radial(x);
        let mut slope = |a: f64| {
            let along = radial.as_ref().map(|radial| radial(a)).unwrap_or_else(|| {
                self.nearest_below(x, a, &mut scaled, c);
                last.set(a);
                x.iter().zip(c.iter()).map(|(x, c)| (x - a * c) * c).sum()
            });
            kappa * (kappa * a - s) - along
        };
        let mut high = if s > 0.0 { s / kappa } else { size };
        let mut at_high = slope(high);
        if at_high < 0.0 {
            // The slope of φ′ bounds the root from above.
            let low = (high, at_high);
            high -= 1.001 * at_high / (kappa * kappa);
            at_high = slope(high);
            high = root::bracketed(&mut slope, low, (high, at_high));
        } else if at_high > 0.0 {
            let mut low = high - 1.001 * at_high / (kappa * kappa);
            let mut at_low = if low > 0.0 { slope(low) } else { f64::INFINITY };
            let mut shrink = 0.1;
            while at_low > 0.0 {
                low = high * shrink;
                if low < SMALLEST * size {
                    self.set.project_recession(x, c);
                    height[0] = 0.0;
                    return;
                }
                at_low = slope(low);
                if at_low > 0.0 {
                    (high, at_high) = (low, at_low);
                }
                shrink *= shrink;
            }
            high = root::bracketed(&mut slope, (low, at_low), (high, at_high));
        }
        let a = high;
        if last.get() != a {
            self.nearest_below(x, a, &mut scaled, c);
        }
        vector::scale(c, a);
        height[0] = a * kappa;
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.project(x, out);
    }

    /// With J = DΓ_C(x/a) and v = c − Jc: da = (κ ds + v·dx)/(κ² + v·c) and d(ac) = J dx + v da, because J
    /// vanishes along the normal x/a − c.
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        if self.form.is_some() {
            return super::differences(x, super::SOLVED, |x, out| self.project(x, out));
        }
        let (d, kappa) = (x.len() - 1, self.kappa);
        let mut nearest = vec![0.0; x.len()];
        self.project(x, &mut nearest);
        let a = nearest[d] / kappa;
        if a <= 0.0 {
            // At height 0 the cone is that of recession.
            return super::differences(x, super::EXACT, |x, out| self.project(x, out));
        }
        let scaled: Vec<f64> = x[..d].iter().map(|x| x / a).collect();
        let inner = self.set.derivative(&scaled);
        let c: Vec<f64> = nearest[..d].iter().map(|y| y / a).collect();
        let mut image = vec![0.0; d];
        inner(&c, &mut image);
        let v = vector::difference(&c, &image);
        let slope = kappa * kappa + vector::dot(&v, &c);
        Box::new(move |step, out| {
            let (dx, out_x) = (&step[..d], &mut out[..d]);
            inner(dx, out_x);
            let da = (kappa * step[d] + vector::dot(&v, dx)) / slope;
            vector::add_scaled(out_x, da, &v);
            out[d] = kappa * da;
        })
    }

    fn is_solved(&self) -> bool {
        self.form.is_some()
    }

    fn can_tighten(&self) -> bool {
        self.set.can_tighten()
    }

    /// Moving (v, s) by (e, f) moves the share v/s by at most (eᵢ + |vᵢ/s| f)/(s − f) in each entry.
    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        let (s, v) = at.split_last()?;
        let (f, e) = errors.entries().split_last()?;
        if !(s > f) {
            return None;
        }
        let share: Vec<f64> = v.iter().map(|v| self.kappa * v / s).collect();
        let moved =
            share.iter().zip(e).map(|(share, e)| errors.of_sum(self.kappa * e, share.abs() * f) / (s - f));
        let moved = errors.with(moved);
        Some(Arc::new(Self::at_height(self.set.tightened(&share, &moved)?, self.kappa)))
    }

    fn conic(&self) -> Option<Conic> {
        let inner = self.set.conic()?;
        let height = inner.dim;
        let mut form = Conic::free(height + 1);
        form.auxiliary(inner.variables - inner.dim);
        for (row, b) in inner.rows {
            let mut row: Vec<_> =
                row.into_iter().map(|(v, c)| (if v < height { v } else { v + 1 }, c)).collect();
            row.push((height, -b / self.kappa));
            form.rows.push((row, 0.0));
        }
        form.cones = inner.cones;
        form.constrain(Cone::Nonnegative(1), [(vec![(height, -1.0)], 0.0)]);
        Some(form)
    }
}
