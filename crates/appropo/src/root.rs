//! The zero of a function of one variable, to machine precision.

/// Chandrupatla's method: inverse quadratic interpolation where it is safe, bisection elsewhere.
/// `f` must change sign between `a` and `b`, where it has the values `fa` and `fb`.
pub(crate) fn bracketed(mut f: impl FnMut(f64) -> f64, (a, fa): (f64, f64), (b, fb): (f64, f64)) -> f64 {
    if fa == 0.0 {
        return a;
    }
    if fb == 0.0 {
        return b;
    }
    let (mut x1, mut f1, mut x2, mut f2) = (a, fa, b, fb);
    let mut t = (f1 / (f1 - f2)).clamp(0.05, 0.95);
    for _ in 0..200 {
        let x = x1 + t * (x2 - x1);
        let fx = f(x);
        let (x3, f3);
        if (fx > 0.0) == (f1 > 0.0) {
            (x3, f3) = (x1, f1);
        } else {
            (x3, f3) = (x2, f2);
            (x2, f2) = (x1, f1);
        }
        (x1, f1) = (x, fx);
        let best = if f1.abs() < f2.abs() { x1 } else { x2 };
        let width = 2.0 * f64::EPSILON * best.abs() / (x2 - x1).abs();
        if f1 == 0.0 || f2 == 0.0 || !(width <= 0.5) {
            return best;
        }
        let xi = (x1 - x2) / (x3 - x2);
        let phi = (f1 - f2) / (f3 - f2);
        t = if phi * phi < xi && (1.0 - phi) * (1.0 - phi) < 1.0 - xi {
            f1 / (f2 - f1) * (f3 / (f2 - f3)) + (x3 - x1) / (x2 - x1) * (f1 / (f3 - f1)) * (f2 / (f3 - f2))
        } else {
            0.5
        };
        t = t.clamp(width, 1.0 - width);
    }
    if f1.abs() < f2.abs() { x1 } else { x2 }
}

#[cfg(test)]
mod tests {
    use super::bracketed;

    #[test]
    fn finds_smooth_and_kinked_roots_in_few_evaluations() {
        let cases: [(fn(f64) -> f64, f64); 3] = [
            (|x| x * x * x - 2.0, 2f64.cbrt()),
            (|x| if x < 1.25 { x - 1.25 } else { 1e6 * (x - 1.25) }, 1.25),
            (|x| x.exp() - 1.5, 1.5f64.ln()),
        ];
        for (f, root) in cases {
            let mut calls = 0;
            let x = bracketed(
                |x| {
                    calls += 1;
                    f(x)
                },
                (0.0, f(0.0)),
                (2.0, f(2.0)),
            );
            assert!((x - root).abs() <= 4.0 * f64::EPSILON, "{x} for {root}");
            assert!(calls < 80, "{calls} evaluations");
        }
    }
}
