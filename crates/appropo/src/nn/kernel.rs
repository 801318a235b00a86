//! The two products that the time goes into, compiled once for each instruction set.
//!
//! Every sum is a fixed chain of fused multiply-adds, so that neither the instruction set nor the number of rows
//! changes a bit of a result.

use pulp::{Arch, Simd, WithSimd};

/// The instruction set that this processor lets networks use.
pub fn instructions() -> &'static str {
    match Arch::new() {
        #[cfg(target_arch = "x86_64")]
        Arch::V4(_) => "AVX-512",
        #[cfg(target_arch = "x86_64")]
        Arch::V3(_) => "AVX2",
        #[cfg(target_arch = "aarch64")]
        Arch::Neon(_) => "NEON",
        _ => "scalar",
    }
}

/// A matrix that is read by its strides, so that it can be read transposed.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    values: &'a [f32],
    row: usize,
    column: usize,
}

impl<'a> View<'a> {
    pub(super) fn new(values: &'a [f32], columns: usize) -> Self {
        View { values, row: columns, column: 1 }
    }

    /// The transpose of what is stored with `columns` columns.
    pub(super) fn transposed(values: &'a [f32], columns: usize) -> Self {
        View { values, row: 1, column: columns }
    }

    /// Any matrix of ones.
    pub(super) fn ones() -> Self {
        View { values: &[1.0], row: 0, column: 0 }
    }

    #[inline(always)]
    fn at(&self, row: usize, column: usize) -> f32 {
        self.values[row * self.row + column * self.column]
    }
}

/// `C += A B`, where B and C have `columns` columns.
pub(super) fn add_product(arch: Arch, a: View, b: &[f32], c: &mut [f32], columns: usize) {
    arch.dispatch(Product { a, b, c, columns });
}

struct Product<'a> {
    a: View<'a>,
    b: &'a [f32],
    c: &'a mut [f32],
    columns: usize,
}

/// Rows of B that are used up before the next: so many stay in the nearest cache.
const STEPS: usize = 64;
/// Rows of C that share what is loaded of B.
const ROWS: usize = 4;

impl WithSimd for Product<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Product { a, b, c, columns } = self;
        for (i, b) in b.chunks(STEPS * columns).enumerate() {
            let a = View { values: &a.values[i * STEPS * a.column..], ..a };
            for (i, c) in c.chunks_mut(ROWS * columns).enumerate() {
                let a = View { values: &a.values[i * ROWS * a.row..], ..a };
                if c.len() == ROWS * columns {
                    rows::<S, ROWS, 2>(simd, a, b, c, columns);
                } else {
                    for (i, c) in c.chunks_mut(columns).enumerate() {
                        let a = View { values: &a.values[i * a.row..], ..a };
                        rows::<S, 1, 8>(simd, a, b, c, columns);
                    }
                }
            }
        }
    }
}

/// `R` rows of C, in blocks of `V` registers, then of one, then of what is left.
#[inline(always)]
fn rows<S: Simd, const R: usize, const V: usize>(simd: S, a: View, b: &[f32], c: &mut [f32], columns: usize) {
    let mut column = 0;
    while column + V * S::F32_LANES <= columns {
        block::<S, R, V>(simd, a, b, c, columns, column);
        column += V * S::F32_LANES;
    }
    while column + S::F32_LANES <= columns {
        block::<S, R, 1>(simd, a, b, c, columns, column);
        column += S::F32_LANES;
    }
    if column < columns {
        edge::<S, R>(simd, a, b, c, columns, column);
    }
}

#[inline(always)]
fn block<S: Simd, const R: usize, const V: usize>(
    simd: S,
    a: View,
    b: &[f32],
    c: &mut [f32],
    columns: usize,
    column: usize,
) {
    let width = V * S::F32_LANES;
    let mut sums = [[simd.splat_f32s(0.0); V]; R];
    for r in 0..R {
        sums[r].copy_from_slice(S::as_simd_f32s(&c[r * columns + column..][..width]).0);
    }
    for (step, line) in b.chunks_exact(columns).enumerate() {
        let line = S::as_simd_f32s(&line[column..][..width]).0;
        for r in 0..R {
            let x = simd.splat_f32s(a.at(r, step));
            for v in 0..V {
                sums[r][v] = simd.mul_add_f32s(x, line[v], sums[r][v]);
            }
        }
    }
    for r in 0..R {
        S::as_mut_simd_f32s(&mut c[r * columns + column..][..width]).0.copy_from_slice(&sums[r]);
    }
}

/// The last columns, fewer than a register holds.
#[inline(always)]
fn edge<S: Simd, const R: usize>(simd: S, a: View, b: &[f32], c: &mut [f32], columns: usize, column: usize) {
    let mut sums = [simd.splat_f32s(0.0); R];
    for r in 0..R {
        sums[r] = simd.partial_load_f32s(&c[r * columns..][column..columns]);
    }
    for (step, line) in b.chunks_exact(columns).enumerate() {
        let line = simd.partial_load_f32s(&line[column..]);
        for r in 0..R {
            sums[r] = simd.mul_add_f32s(simd.splat_f32s(a.at(r, step)), line, sums[r]);
        }
    }
    for r in 0..R {
        simd.partial_store_f32s(&mut c[r * columns..][column..columns], sums[r]);
    }
}

/// `C += A Bᵀ`, where A and B have rows of `length` and C has as many columns as B has rows.
pub(super) fn add_dots(arch: Arch, a: &[f32], b: &[f32], c: &mut [f32], length: usize) {
    arch.dispatch(Dots { a, b, c, length });
}

struct Dots<'a> {
    a: &'a [f32],
    b: &'a [f32],
    c: &'a mut [f32],
    length: usize,
}

/// Running sums of a dot product, on every instruction set.
const LANES: usize = 16;

impl WithSimd for Dots<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        match S::F32_LANES {
            16 => self.run::<S, 1>(simd),
            8 => self.run::<S, 2>(simd),
            4 => self.run::<S, 4>(simd),
            _ => self.run::<S, LANES>(simd),
        }
    }
}

impl Dots<'_> {
    #[inline(always)]
    fn run<S: Simd, const V: usize>(self, simd: S) {
        let Dots { a, b, c, length } = self;
        let columns = b.len() / length;
        for (a, c) in a.chunks(ROWS * length).zip(c.chunks_mut(ROWS * columns)) {
            if c.len() == ROWS * columns {
                dots::<S, ROWS, V>(simd, a, b, c, length);
            } else {
                for (a, c) in a.chunks_exact(length).zip(c.chunks_exact_mut(columns)) {
                    dots::<S, 1, V>(simd, a, b, c, length);
                }
            }
        }
    }
}

#[inline(always)]
fn dots<S: Simd, const R: usize, const V: usize>(
    simd: S,
    a: &[f32],
    b: &[f32],
    c: &mut [f32],
    length: usize,
) {
    let a: [_; R] = std::array::from_fn(|r| a[r * length..][..length].as_chunks::<LANES>());
    let columns = b.len() / length;
    for (column, b) in b.chunks_exact(length).enumerate() {
        let (b, b_rest) = b.as_chunks::<LANES>();
        let mut sums = [[simd.splat_f32s(0.0); V]; R];
        for (step, b) in b.iter().enumerate() {
            let b = S::as_simd_f32s(b).0;
            for r in 0..R {
                let a = S::as_simd_f32s(&a[r].0[step]).0;
                for v in 0..V {
                    sums[r][v] = simd.mul_add_f32s(a[v], b[v], sums[r][v]);
                }
            }
        }
        for r in 0..R {
            let rest = a[r].1.iter().zip(b_rest).fold(0.0, |sum: f32, (a, b)| a.mul_add(*b, sum));
            c[r * columns + column] += sum(simd, sums[r]) + rest;
        }
    }
}

/// The sum of `LANES` numbers, by halves: of the registers here, of their lanes by `pulp`.
#[inline(always)]
fn sum<S: Simd, const V: usize>(simd: S, mut lanes: [S::f32s; V]) -> f32 {
    let mut half = V / 2;
    while half > 0 {
        for v in 0..half {
            lanes[v] = simd.add_f32s(lanes[v], lanes[v + half]);
        }
        half /= 2;
    }
    simd.reduce_sum_f32s(lanes[0])
}
