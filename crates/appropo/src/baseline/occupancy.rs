use std::sync::Arc;

use crate::certificate::{Certificate, Evidence};
use crate::env::TabularMdp;
use crate::error::{Error, Result, not_too_large};
use crate::measurement::Discounting;
use crate::oracle::{Exact, Planner, Respond};
use crate::policy::{Mixed, TabularPolicy};
use crate::rl::{self, Occupancy};
use crate::set::{Cone, Conic, ConicSolution, ConvexSet, SharedSet};
use crate::utility::Criterion;
use crate::vector;

/// What the conic programme over occupancies found.
#[derive(Debug, Clone)]
pub struct Programme {
    /// The single policy of the optimal occupancy.
    pub policy: Arc<TabularPolicy>,
    /// Its measurement, evaluated exactly, and what that proves.
    pub certificate: Certificate,
    /// Variables and rows of the programme.
    pub size: (usize, usize),
}

const METHOD: &str = "the occupancy programme";
const TOLERANCE: f64 = 1e-9;

/// The least distance from `set`, as one conic programme over occupancies ρ(s, a) ≥ 0 (Altman 1999):
/// minimise ‖Z̄(ρ) − c‖ subject to c ∈ C and Σ ρ(s′, a) − γ Σ P(s′|s, a) ρ(s, a) = β(s′).
pub fn solve_occupancy(
    set: &SharedSet,
    model: &TabularMdp,
    discounting: &Discounting,
    tolerance: f64,
) -> Result<Programme> {
    let mut flow = Flow::new(model, discounting, false)?;
    let dim = set.dim();
    let form = &mut flow.form;
    let c = form.auxiliary(dim);
    let t = form.auxiliary(1);
    let place: Vec<usize> = (c..c + dim).collect();
    form.embed(&set.conic().ok_or(Error::NoConicForm { method: METHOD })?, &place);
    let apart = (0..dim).map(|i| (vec![(flow.z + i, -1.0), (c + i, 1.0)], 0.0));
    form.constrain(Cone::SecondOrder(dim + 1), std::iter::once((vec![(t, -1.0)], 0.0)).chain(apart));
    let mut objective = vec![0.0; form.variables];
    objective[t] = 1.0;
    flow.solve(set, &objective, tolerance)
}

/// The best last measurements by `criterion` with the others in `set`: Altman's linear programme where the set is polyhedral
/// and the criterion one measure. An infeasible problem is an error here; [`solve_occupancy`] tells how far it is from
/// feasible.
///
/// Per step, f(v/L) is maximised over occupancies divided by their steps (Charnes and Cooper 1962): ρ/L for which L is 1,
/// in the cone over the set.
pub fn maximize_occupancy(
    set: &SharedSet,
    criterion: &Criterion,
    model: &TabularMdp,
    discounting: &Discounting,
    tolerance: f64,
) -> Result<Programme> {
    let mut flow = Flow::new(model, discounting, criterion.is_share())?;
    let end = flow.z + set.dim();
    let place: Vec<usize> = (flow.z..end).collect();
    let form = set.conic().ok_or(Error::NoConicForm { method: METHOD })?;
    match flow.scale {
        None => flow.form.embed(&form, &place),
        Some(scale) => {
            flow.form.embed_scaled(&form, &place, scale);
            let steps = end + criterion.function().dim();
            flow.form.constrain(Cone::Zero(1), [(vec![(steps, 1.0)], 1.0)]);
            flow.form.constrain(Cone::Nonnegative(1), [(vec![(scale, -1.0)], 0.0)]);
        }
    }
    let value = match criterion.is_last() {
        true => end,
        false => {
            let value = flow.form.auxiliary(1);
            let place: Vec<usize> = (end..end + criterion.function().dim()).chain([value]).collect();
            flow.form.embed(&criterion.function().hypograph(), &place);
            value
        }
    };
    let mut objective = vec![0.0; flow.form.variables];
    objective[value] = -1.0;
    flow.solve(set, &objective, tolerance)
}

/// The variables ρ and z = Z̄(ρ) with their equations.
pub(super) struct Flow<'a> {
    model: &'a TabularMdp,
    discounting: Discounting,
    /// The model, unrolled where there is a horizon.
    flat: TabularMdp,
    pub form: Conic,
    /// State and action of each ρ.
    pairs: Vec<(usize, usize)>,
    /// Index of the first entry of z.
    pub z: usize,
    /// What ρ and z are multiplied by, where that is a variable.
    scale: Option<usize>,
}

impl<'a> Flow<'a> {
    pub fn new(model: &'a TabularMdp, discounting: &Discounting, is_scaled: bool) -> Result<Self> {
        let flat = match discounting.horizon() {
            Some(horizon) => {
                not_too_large("horizon times transitions", &[horizon, model.transitions()], 50_000_000)?;
                model.unrolled(horizon)?
            }
            None => model.clone(),
        };
        let decisions = rl::decision_states(&flat);
        rl::every_policy_ends(&flat, discounting, &decisions)?;
        let pairs: Vec<(usize, usize)> = (0..flat.states())
            .filter(|&s| decisions[s])
            .flat_map(|s| (0..flat.actions_of(s)).map(move |a| (s, a)))
            .collect();
        let dim = flat.measures().dim();
        let mut balance = vec![(Vec::new(), 0.0); flat.states()];
        let mut measured = vec![(Vec::new(), 0.0); dim];
        for (variable, &(s, a)) in pairs.iter().enumerate() {
            balance[s].0.push((variable, 1.0));
            let mut z = std::collections::BTreeMap::new();
            for t in flat.row(s, a) {
                if decisions[t.next as usize] {
                    balance[t.next as usize].0.push((variable, -discounting.gamma() * t.probability));
                }
                for &(i, value) in flat.outcome(t.outcome) {
                    *z.entry(i as usize).or_insert(0.0) -= t.probability * value;
                }
            }
            for (i, value) in z {
                measured[i].0.push((variable, value));
            }
        }
        for &(s, probability) in flat.start() {
            balance[s].1 += probability;
        }
        let z = pairs.len();
        for (i, row) in measured.iter_mut().enumerate() {
            row.0.push((z + i, 1.0));
        }
        let mut form = Conic { dim: z + dim, variables: z + dim, ..Conic::default() };
        let mut balance: Vec<_> =
            (0..flat.states()).filter(|&s| decisions[s]).map(|s| balance[s].clone()).collect();
        let scale = is_scaled.then(|| form.auxiliary(1));
        if let Some(scale) = scale {
            for (row, start) in balance.iter_mut().filter(|(_, start)| *start != 0.0) {
                row.push((scale, -std::mem::take(start)));
            }
        }
        form.constrain(Cone::Zero(balance.len()), balance);
        form.constrain(Cone::Zero(dim), measured);
        form.constrain(Cone::Nonnegative(z), (0..z).map(|v| (vec![(v, -1.0)], 0.0)));
        Ok(Self { model, discounting: *discounting, flat, form, pairs, z, scale })
    }

    /// Solves as closely as the solver can.
    pub fn minimize(&self, objective: &[f64]) -> Result<ConicSolution> {
        let quadratic = vec![0.0; self.form.variables];
        let solution = self.form.minimize(&quadratic, objective, TOLERANCE);
        solution.or_else(|_| self.form.minimize(&quadratic, objective, 100.0 * TOLERANCE))
    }

    /// The policy of a solution's occupancy.
    pub fn policy(&self, solution: &ConicSolution) -> Result<Arc<TabularPolicy>> {
        let stages = self.discounting.horizon().unwrap_or(1);
        let mut mass = vec![0.0; stages * self.model.states() * self.model.actions()];
        for (&(s, a), &value) in self.pairs.iter().zip(&solution.x) {
            mass[s * self.flat.actions() + a] = value;
        }
        Ok(Arc::new(Occupancy::from_mass(self.model, mass).policy()?))
    }

    /// Solves, reads off the policy and judges it exactly. `set` may leave the last measurement out.
    fn solve(&self, set: &SharedSet, objective: &[f64], tolerance: f64) -> Result<Programme> {
        let policy = self.policy(&self.minimize(objective)?)?;
        let mut oracle = Exact::new(self.model.clone(), self.discounting, Planner::PolicyIteration)?;
        let z_bar = oracle.measure(&Mixed::one(policy.as_ref().clone()))?;
        let mut nearest = z_bar.clone();
        set.project(&z_bar[..set.dim()], &mut nearest[..set.dim()]);
        let lam = vector::difference(&z_bar, &nearest);
        let distance = vector::norm(&lam);
        let mut evidence = Evidence::default();
        if distance > tolerance {
            let offset = vector::dot(&lam, &nearest);
            if let Some(bound) = oracle.respond(&lam, offset)?.bound {
                evidence.add(&lam, offset, &bound);
            }
        }
        let certificate = evidence.certificate(z_bar, distance, tolerance);
        Ok(Programme { policy, certificate, size: (self.form.variables, self.form.rows.len()) })
    }
}
