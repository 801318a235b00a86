use std::sync::Arc;

use super::search::HalfSpace;
use crate::env::StopSignal;
use crate::env::dataset::{Dataset, Empirical, LoggedEpisode};
use crate::error::Result;
use crate::measurement::{Discounting, Selection};
use crate::off_policy::{FittedEvaluation, NetworkEvaluation, TableEvaluation};
use crate::oracle::{LoggedNetwork, LoggedTable, NetworkFit, Respond};
use crate::problem::Problem;
use crate::random::Generator;
use crate::rl::fitted::{FittedOptions, LoggedRows};
use crate::vector;

/// What constraints look at and, last, the objective.
pub(super) fn selected(problem: &Problem) -> Selection {
    match problem.objective() {
        Some(objective) => problem.target().selection_with(&objective.entries),
        None => problem.target().selection().clone(),
    }
}

/// Regressions until a step that is discounted so often counts for 0.005.
pub(super) fn iterations(discounting: &Discounting) -> usize {
    const LEAST_WEIGHT: f64 = 0.005;
    let steps = LEAST_WEIGHT.ln() / discounting.gamma().max(1e-3).ln();
    let most = discounting.horizon().unwrap_or(usize::MAX).min(2000);
    (steps.ceil() as usize).clamp(1, most)
}

/// A function class with the data that it is fitted to.
pub(super) struct Fitted {
    pub dataset: Arc<Dataset>,
    pub function: Function,
}

/// What is fitted.
pub(super) enum Function {
    Table(Arc<Empirical>),
    Network(FittedOptions, Option<StopSignal>),
}

impl Fitted {
    fn network(
        &self,
        options: &FittedOptions,
        stop: Option<&StopSignal>,
        problem: &Problem,
    ) -> Result<NetworkFit> {
        let selection = selected(problem);
        let returns = returns(&self.dataset, &selection, problem.discounting());
        let size = |k: usize| {
            let most = returns.iter().map(|z| z[k].abs()).fold(0.0, f64::max);
            if most > 1e-12 { most } else { 1.0 }
        };
        Ok(NetworkFit {
            rows: LoggedRows::new(&self.dataset, &selection)?,
            sizes: (0..selection.entries.len()).map(size).collect(),
            gamma: problem.discounting().gamma(),
            options: options.clone(),
            stop: stop.cloned(),
        })
    }

    pub fn oracle(&self, problem: &Problem, rng: &mut Generator) -> Result<Box<dyn Respond>> {
        Ok(match &self.function {
            Function::Table(empirical) => {
                let (empirical, selection) = (Arc::clone(empirical), selected(problem));
                Box::new(LoggedTable::new(empirical, &selection, *problem.discounting())?)
            }
            Function::Network(options, stop) => {
                Box::new(LoggedNetwork::new(self.network(options, stop.as_ref(), problem)?, rng)?)
            }
        })
    }

    pub fn evaluation(&self, problem: &Problem) -> Result<Box<dyn FittedEvaluation + '_>> {
        Ok(match &self.function {
            Function::Table(empirical) => {
                Box::new(TableEvaluation { empirical, discounting: *problem.discounting() })
            }
            Function::Network(options, stop) => Box::new(NetworkEvaluation {
                fit: self.network(options, stop.as_ref(), problem)?,
                selection: selected(problem),
                dim: problem.measures().dim(),
                learnt: Vec::new(),
                first: Vec::new(),
            }),
        })
    }
}

/// The discounted measurements of every logged episode.
fn returns(dataset: &Dataset, selection: &Selection, discounting: &Discounting) -> Vec<Vec<f64>> {
    let dim = dataset.measures().dim();
    let one = |episode: LoggedEpisode| {
        let (mut sum, mut weight) = (vec![0.0; selection.entries.len()], 1.0);
        for z in episode.z.chunks_exact(dim).take(discounting.horizon().unwrap_or(usize::MAX)) {
            vector::add_scaled(&mut sum, weight, &selection.apply(z));
            weight *= discounting.gamma();
        }
        sum
    };
    dataset.episodes().map(one).collect()
}

/// By how much something differs among episodes, or how large it is where it does not differ; 1 where it is always 0.
fn unit(values: impl Iterator<Item = f64> + Clone) -> f64 {
    let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), v| (a.min(v), b.max(v)));
    let size = if most > least { most - least } else { most.abs() };
    if size > 1e-12 { size } else { 1.0 }
}

pub(super) fn with_units(
    half_spaces: Vec<HalfSpace>,
    dataset: &Dataset,
    selection: &Selection,
    problem: &Problem,
) -> Vec<HalfSpace> {
    let returns = returns(dataset, selection, problem.discounting());
    let unit_of = |normal: &[f64]| unit(returns.iter().map(|z| vector::dot(normal, &z[..normal.len()])));
    half_spaces.into_iter().map(|found| HalfSpace { unit: unit_of(&found.normal), ..found }).collect()
}

pub(super) fn objective_unit(dataset: &Dataset, selection: &Selection, problem: &Problem) -> f64 {
    let returns = returns(dataset, selection, problem.discounting());
    unit(returns.iter().map(|z| z.last().copied().unwrap_or(0.0)))
}
