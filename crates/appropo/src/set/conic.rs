use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use super::{ConvexSet, Derivative};
use crate::error::{Error, Result};

/// A standard cone, for a run of consecutive rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cone {
    /// s = 0.
    Zero(usize),
    /// s ≥ 0.
    Nonnegative(usize),
    /// s₀ ≥ ‖(s₁, …)‖.
    SecondOrder(usize),
    /// s₁ exp(s₀/s₁) ≤ s₂, s₁ > 0, closed.
    Exponential,
}

impl Cone {
    fn rows(self) -> usize {
        match self {
            Cone::Zero(n) | Cone::Nonnegative(n) | Cone::SecondOrder(n) => n,
            Cone::Exponential => 3,
        }
    }
}

/// {x : b − A·(x, u) ∈ K for some u}: a set as the shadow of standard cones.
///
/// Variables `0..dim` are x, the rest are auxiliary. Each row holds its coefficients and its entry of b.
#[derive(Debug, Clone, Default)]
pub struct Conic {
    /// Entries of x.
    pub dim: usize,
    /// All variables, x and auxiliary.
    pub variables: usize,
    /// Coefficients (variable, value) and right-hand side.
    pub rows: Vec<(Vec<(usize, f64)>, f64)>,
    /// The cones, in the order of the rows.
    pub cones: Vec<Cone>,
}

/// What the conic solver returned.
#[derive(Debug)]
pub struct ConicSolution {
    /// All variables.
    pub x: Vec<f64>,
    /// One multiplier a row.
    pub multipliers: Vec<f64>,
}

impl Conic {
    /// All of ℝⁿ.
    pub fn free(dim: usize) -> Self {
        Self { dim, variables: dim, ..Self::default() }
    }

    /// Adds rows that must lie in `cone`.
    pub fn constrain(&mut self, cone: Cone, rows: impl IntoIterator<Item = (Vec<(usize, f64)>, f64)>) {
        self.rows.extend(rows);
        self.cones.push(cone);
    }

    /// Adds `n` auxiliary variables and returns the index of the first.
    pub fn auxiliary(&mut self, n: usize) -> usize {
        self.variables += n;
        self.variables - n
    }

    /// Requires that the variables in `place` form a point of `other`.
    pub fn embed(&mut self, other: &Conic, place: &[usize]) {
        let first = self.auxiliary(other.variables - other.dim);
        let index = |v: usize| if v < other.dim { place[v] } else { first + v - other.dim };
        for (row, b) in &other.rows {
            self.rows.push((row.iter().map(|&(v, c)| (index(v), c)).collect(), *b));
        }
        self.cones.extend(&other.cones);
    }

    /// Requires that the variables in `place` form a point of `other` times the variable `scale`, which must not be negative.
    pub fn embed_scaled(&mut self, other: &Conic, place: &[usize], scale: usize) {
        let first = self.rows.len();
        self.embed(other, place);
        for (row, b) in &mut self.rows[first..] {
            row.push((scale, -std::mem::take(b)));
        }
    }

    /// The recession cone: the same rows with b = 0.
    pub fn recession(&self) -> Conic {
        let rows = self.rows.iter().map(|(row, _)| (row.clone(), 0.0)).collect();
        Conic { rows, ..self.clone() }
    }

    /// Minimises ½ Σ `quadratic`ᵢ xᵢ² + `linear`·x over all variables, to `tolerance`.
    pub fn minimize(&self, quadratic: &[f64], linear: &[f64], tolerance: f64) -> Result<ConicSolution> {
        let entries =
            self.rows.iter().enumerate().flat_map(|(r, (row, _))| row.iter().map(move |&(v, c)| (r, v, c)));
        let a = compressed_columns(self.rows.len(), self.variables, entries);
        let diagonal = quadratic.iter().enumerate().filter(|(_, q)| **q != 0.0).map(|(i, &q)| (i, i, q));
        let p = compressed_columns(self.variables, self.variables, diagonal);
        let b: Vec<f64> = self.rows.iter().map(|(_, b)| *b).collect();
        let cones: Vec<SupportedConeT<f64>> = self
            .cones
            .iter()
            .map(|cone| match *cone {
                Cone::Zero(n) => SupportedConeT::ZeroConeT(n),
                Cone::Nonnegative(n) => SupportedConeT::NonnegativeConeT(n),
                Cone::SecondOrder(n) => SupportedConeT::SecondOrderConeT(n),
                Cone::Exponential => SupportedConeT::ExponentialConeT(),
            })
            .collect();
        debug_assert_eq!(self.cones.iter().map(|c| c.rows()).sum::<usize>(), self.rows.len());
        let failed = |status: String| Error::ConicSolver { status };
        let settings = DefaultSettingsBuilder::default()
            .verbose(false)
            .max_threads(1)
            .tol_gap_abs(tolerance)
            .tol_gap_rel(tolerance)
            .tol_feas(tolerance)
            .build()
            .map_err(|e| failed(e.to_string()))?;
        let mut solver =
            DefaultSolver::new(&p, linear, &a, &b, &cones, settings).map_err(|e| failed(e.to_string()))?;
        solver.solve();
        let solution = solver.solution;
        // Stopped just short of a tight tolerance is as good as solved.
        let gap = (solution.obj_val - solution.obj_val_dual).abs() / (1.0 + solution.obj_val.abs());
        let near = [gap, solution.r_prim, solution.r_dual].iter().all(|r| *r <= NEARLY_SOLVED);
        match solution.status {
            SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress if !near => {
                Err(failed(format!("{:?}", solution.status)))
            }
            SolverStatus::Solved | SolverStatus::AlmostSolved | SolverStatus::InsufficientProgress => {
                Ok(ConicSolution { x: solution.x, multipliers: solution.z })
            }
            status => Err(failed(format!("{status:?}"))),
        }
    }

    /// The point nearest to `x`, with the multipliers of all rows, as accurately as the solver can: an interior
    /// point's error is the root of its gap.
    pub fn nearest(&self, x: &[f64]) -> Result<ConicSolution> {
        let mut tolerance = 1e-12;
        loop {
            match self.nearest_to(x, tolerance) {
                Err(_) if tolerance < 1e-8 => tolerance *= 10.0,
                solution => return solution,
            }
        }
    }

    /// The point nearest to `x` to this tolerance of the solver.
    pub fn nearest_to(&self, x: &[f64], tolerance: f64) -> Result<ConicSolution> {
        let mut quadratic = vec![0.0; self.variables];
        let mut linear = vec![0.0; self.variables];
        for i in 0..self.dim {
            quadratic[i] = 1.0;
            linear[i] = -x[i];
        }
        self.minimize(&quadratic, &linear, tolerance)
    }
}

/// Residual and gap, relative, at which an unfinished solution is taken.
const NEARLY_SOLVED: f64 = 1e-10;

/// A sparse matrix from its entries in any order; repeated places add up.
fn compressed_columns(
    rows: usize,
    columns: usize,
    entries: impl Iterator<Item = (usize, usize, f64)>,
) -> CscMatrix<f64> {
    let (mut i, mut j, mut v) = (Vec::new(), Vec::new(), Vec::new());
    for (row, column, value) in entries {
        i.push(row);
        j.push(column);
        v.push(value);
    }
    CscMatrix::new_from_triplets(rows, columns, i, j, v)
}

/// Any set given in conic form. Projection: Clarabel.
#[derive(Debug, Clone)]
pub struct ConicSet {
    form: Conic,
}

impl ConicSet {
    /// Refuses a form without points.
    pub fn new(form: Conic) -> Result<Self> {
        match form.nearest(&vec![0.0; form.dim]) {
            Ok(_) => Ok(Self { form }),
            Err(_) => Err(Error::EmptySet { what: "the conic set" }),
        }
    }
}

/// Projects with Clarabel; NaN where it fails.
pub(super) fn project_or_nan(form: &Conic, x: &[f64], out: &mut [f64]) {
    match form.nearest(x) {
        Ok(solution) => out.copy_from_slice(&solution.x[..out.len()]),
        Err(_) => out.fill(f64::NAN),
    }
}

impl ConvexSet for ConicSet {
    fn dim(&self) -> usize {
        self.form.dim
    }
    fn project(&self, x: &[f64], out: &mut [f64]) {
        project_or_nan(&self.form, x, out);
    }
    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        project_or_nan(&self.form.recession(), x, out);
    }
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        super::differences(x, super::SOLVED, |x, out| self.project(x, out))
    }

    fn is_solved(&self) -> bool {
        true
    }

    fn conic(&self) -> Option<Conic> {
        Some(self.form.clone())
    }
}
