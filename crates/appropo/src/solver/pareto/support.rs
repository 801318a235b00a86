use std::sync::Arc;

use crate::certificate::Ceiling;
use crate::error::Result;
use crate::oracle::{Respond, Response};
use crate::player::Decision;
use crate::player::master::Hull;
use crate::policy::{AnyPolicy, Mixed};
use crate::set::{ConvexSet, SharedSet};
use crate::solver::maximize::with_free_objective;
use crate::state::{Checkpoint, Loader, Saver};
use crate::utility::Criterion;
use crate::vector::{add_scaled, dot};

/// All answers of an oracle, each with its policy: what one direction needed, the next begins with.
pub(super) struct Answers<'a> {
    oracle: &'a mut dyn Respond,
    pub known: Vec<(Mixed, Vec<f64>)>,
    pub calls: usize,
}

impl<'a> Answers<'a> {
    pub fn new(oracle: &'a mut dyn Respond) -> Self {
        Self { oracle, known: Vec::new(), calls: 0 }
    }

    fn is_known(&self, z: &[f64]) -> bool {
        self.known.iter().any(|(_, known)| known == z)
    }

    /// What these weights of answers measure, and the policy that they are.
    pub fn mixed(&self, weights: &[(usize, f64)]) -> (Mixed, Vec<f64>) {
        let mut z = vec![0.0; self.known.first().map_or(0, |(_, z)| z.len())];
        weights.iter().for_each(|(index, weight)| add_scaled(&mut z, *weight, &self.known[*index].1));
        (Mixed::flatten(weights.iter().map(|(index, weight)| (*weight, self.known[*index].0.clone()))), z)
    }
}

impl Respond for Answers<'_> {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        self.calls += 1;
        let response = self.oracle.respond(lam, offset)?;
        if !self.is_known(&response.z_hat) {
            self.known.push((response.policy.clone(), response.z_hat.clone()));
        }
        Ok(response)
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        self.oracle.fits(policy)
    }
}

impl Checkpoint for Answers<'_> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.oracle.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.oracle.load(from)
    }
}

/// The best that was found in a direction, and what no feasible policy passes.
pub(super) struct Support {
    /// The answers that it mixes, with their weights.
    pub weights: Vec<(usize, f64)>,
    /// max w·u over feasible policies, or more; infinite where nothing is proved.
    pub bound: f64,
    /// The proof of that.
    pub ceiling: Option<Ceiling>,
}

/// Maximises w·u subject to z ∈ `set`, for what an oracle measures, (z, u), to a gap of `tolerance`.
///
/// As [`maximize`](crate::solver::maximize) does, but from a mixture that is feasible, `start`, and with every answer so far as
/// a column that costs nothing. Without a mixture to start from all must be feasible.
pub(super) fn support(
    set: &SharedSet,
    w: &[f64],
    start: &[usize],
    answers: &mut Answers,
    tolerance: f64,
) -> Result<Support> {
    let constrained = set.dim();
    let free = with_free_objective(set)?;
    let column = |z: &[f64]| -> Vec<f64> {
        z[..constrained].iter().copied().chain([dot(w, &z[constrained..])]).collect()
    };
    let mut hull = Hull::new(constrained + 1);
    start.iter().for_each(|index| hull.add(*index, &column(&answers.known[*index].1), None));
    let mut decision = Decision { lam: vec![0.0; constrained + 1], offset: 0.0 };
    let (mut y, mut value, mut is_empty) = (Vec::new(), f64::NEG_INFINITY, start.is_empty());
    let mut found = Support { weights: Vec::new(), bound: f64::INFINITY, ceiling: None };
    loop {
        let before = value;
        if !is_empty {
            decision = hull.maximize(&free, &Criterion::last(), &mut y)?;
            value = hull.point()[constrained];
            found.weights = hull.weights().filter(|(_, weight)| *weight > 0.0).collect();
        }
        let lam: Vec<f64> = decision.lam[..constrained].iter().copied().chain(w.iter().map(|w| -w)).collect();
        let gain = |z: &[f64]| decision.offset - dot(&lam, z) - value;
        let best = (0..answers.known.len())
            .max_by(|&a, &b| gain(&answers.known[a].1).total_cmp(&gain(&answers.known[b].1)));
        // A column that has not helped is not tried twice.
        let helps = |&index: &usize| {
            gain(&answers.known[index].1) > tolerance && (is_empty || value > before + 1e-3 * tolerance)
        };
        if let Some(index) = best.filter(helps) {
            hull.add(index, &column(&answers.known[index].1), None);
            is_empty = false;
            continue;
        }
        let Response { bound, z_hat, .. } = answers.respond(&lam, f64::INFINITY)?;
        if let Some(bound) = bound.filter(|bound| decision.offset - bound.value < found.bound) {
            found.bound = decision.offset - bound.value;
            let at = vec![0.0; w.len()];
            found.ceiling = Some(Ceiling {
                lam: lam.clone(),
                offset: decision.offset,
                at,
                witness: Arc::clone(&bound.witness),
            });
        }
        let index = answers.known.iter().position(|(_, known)| *known == z_hat);
        let is_in_hull = hull.weights().any(|(held, _)| Some(held) == index);
        // What is left of the gap where an answer brings nothing is rounding.
        let is_useless = !is_empty && (is_in_hull || gain(&z_hat) <= 1e-3 * tolerance);
        if found.bound - value <= tolerance || is_useless {
            return Ok(found);
        }
        if let Some(index) = index {
            hull.add(index, &column(&z_hat), None);
            is_empty = false;
        }
    }
}
