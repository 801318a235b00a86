//! The few vector operations that the formulas need.

use pulp::Arch;

/// The instruction set for loops over entries. They wait for memory and for divisions, so that AVX-512 gains nothing,
/// while its stores to the addresses that allocators give are up to three times slower than AVX2's (Zen 4).
pub(crate) fn elementwise(arch: Arch) -> Arch {
    #[cfg(target_arch = "x86_64")]
    if let Arch::V4(simd) = arch {
        return Arch::V3(*simd);
    }
    arch
}

/// Runs a loop with the widest registers that pay. Functions it calls take part where they are inlined. The order of operations
/// stays as it is written, so the bits are the same on every machine.
#[inline(always)]
pub(crate) fn wide<R>(run: impl FnOnce() -> R) -> R {
    elementwise(Arch::new()).dispatch(run)
}

/// Four running sums, in an order that is always the same: the compiler can then use wide registers.
#[inline(always)]
pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    let (x_chunks, x_rest) = x.as_chunks::<4>();
    let (y_chunks, y_rest) = y.as_chunks::<4>();
    let mut sums = [0.0; 4];
    for (x, y) in x_chunks.iter().zip(y_chunks) {
        for i in 0..4 {
            sums[i] += x[i] * y[i];
        }
    }
    let rest: f64 = x_rest.iter().zip(y_rest).map(|(a, b)| a * b).sum();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}

#[inline(always)]
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
#[inline(always)]
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

/// Unlike `f64::max`, this keeps NaN.
#[inline(always)]
pub(crate) fn larger(largest: f64, value: f64) -> f64 {
    if largest.is_nan() || value <= largest { largest } else { value }
}

/// The largest size of an entry.
#[inline(always)]
pub(crate) fn largest(values: &[f64]) -> f64 {
    let (chunks, rest) = values.as_chunks::<8>();
    let mut most = [0.0; 8];
    for chunk in chunks {
        for i in 0..8 {
            most[i] = larger(most[i], chunk[i].abs());
        }
    }
    rest.iter().chain(&most).fold(0.0, |most, value| larger(most, value.abs()))
}

/// A bound on the rounding of a sum of so many products and a few operations after it, relative to the sum of their
/// sizes: each operation moves its result by at most half of ε.
pub(crate) fn rounding(terms: usize) -> f64 {
    0.5 * (terms + 5) as f64 * f64::EPSILON
}
