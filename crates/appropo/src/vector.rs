//! The few vector operations that the formulas need.

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| a * b).sum()
}

pub(crate) fn norm(x: &[f64]) -> f64 {
    dot(x, x).sqrt()
}

pub(crate) fn distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(a, b)| (a - b) * (a - b)).sum::<f64>().sqrt()
}

pub(crate) fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(a, b)| a - b).collect()
}

/// `y += a x`
pub(crate) fn add_scaled(y: &mut [f64], a: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += a * x;
    }
}

pub(crate) fn scale(x: &mut [f64], a: f64) {
    for x in x {
        *x *= a;
    }
}
