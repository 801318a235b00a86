//! What a mixed policy is worth, judged by what it does and not by what its search thought of it.

use std::ops::ControlFlow;
use std::sync::Arc;

use crate::certificate::{Certificate, Evidence, Verdict};
use crate::confidence::{self, Evaluation, Finding, Look, MOST_ATTEMPTS, Sample, find};
use crate::error::{Error, Result};
use crate::measurement::{Estimate, Selection};
use crate::method::Budget;
use crate::oracle::{Exact, Planner, Respond, gives_hope, is_sure, least_deviations};
use crate::outcome::{History, Outcome};
use crate::policy::{AnyPolicy, Mixed};
use crate::problem::{Direction, Problem};
use crate::random::{self, Generator};
use crate::rl::{Controls, Episode, Occupancy, Rollouts};
use crate::set::{ConvexSet, SharedSet};
use crate::solver::{Doubts, Judgement, Observer, Phase, Progress, Round, Solution, Stop};

/// Episodes of a look before an evaluation, at least, and the part of the evaluation's steps that it may take.
const LEAST_LOOKED_AT: usize = 25;
const LOOKING: u64 = 4;
/// Standard errors by which they have to lie inside.
const LIKELY: f64 = 3.5;

/// Judges what is found by fresh episodes: once, in the end, or whenever a search believes to be done.
pub(crate) struct Judge<'a> {
    problem: &'a Problem,
    budget: &'a Budget,
    rng: Generator,
    observer: &'a mut dyn Observer,
    is_asked: bool,
    /// The evaluation that decided.
    decided: Option<Evaluation>,
}

impl<'a> Judge<'a> {
    pub fn new(
        problem: &'a Problem,
        budget: &'a Budget,
        rng: &mut Generator,
        observer: &'a mut dyn Observer,
    ) -> Self {
        Self { problem, budget, rng: random::split(rng), observer, is_asked: false, decided: None }
    }

    /// The same, to be asked by a search for its constraints. A model that is known judges better, but is no search's to ask.
    pub fn asked(self) -> Self {
        let is_asked = self.problem.model().is_none() && self.problem.objective().is_none();
        Self { is_asked, ..self }
    }

    /// Fresh episodes of a mixture until they decide, after so many doubts.
    fn evaluate(&mut self, mixture: &Mixed, samples: u64, doubts: &Doubts) -> Result<Evaluation> {
        let problem = self.problem;
        let (set, selection) = judged(problem)?;
        let mut rollouts = self.rollouts(2 * doubts.count)?;
        // Where the model is known it decides, and episodes only show what they measure.
        if samples > 0 {
            rollouts = rollouts.finding_controls(mixture)?;
        }
        let mut watch = |look: &Look| show(problem, look, samples, self.observer);
        let attempt = if self.is_asked { doubts.evaluations + 1 } else { 0 };
        let options = settings(samples).attempt(attempt);
        confidence::evaluate(mixture, &mut rollouts, &set, &selection, &options, &mut watch)
    }

    /// Whether a few episodes make it likely that an evaluation decides, and the steps that they took.
    fn look(&mut self, mixture: &Mixed, doubts: &Doubts) -> Result<(bool, u64)> {
        let (set, selection) = judged(self.problem)?;
        let mut rollouts = self.rollouts(2 * doubts.count + 1)?.finding_controls(mixture)?;
        let (mut measured, observer) = (Estimate::new(rollouts.dim()), &mut *self.observer);
        let mut samples = rollouts.samples();
        let most = samples + self.budget.evaluation_samples() / LOOKING;
        loop {
            // Before that many nothing is decided, and workers play together what is asked for together.
            let episodes = LEAST_LOOKED_AT.saturating_sub(measured.count()).max(1);
            rollouts.play(mixture, episodes, |sum, steps| {
                measured.add(sum);
                samples += steps as u64;
                let look = Look { episodes: measured.count(), samples, region: (&[], &[]) };
                show(self.problem, &look, most, observer)
            })?;
            let fresh = measured.select(&selection);
            let is_likely = is_sure(&fresh, LIKELY, &least_deviations(&fresh), &set, self.budget.tolerance);
            if is_likely || samples >= most || !gives_hope(&fresh, &set) {
                return Ok((is_likely, samples));
            }
        }
    }

    /// Fresh episodes that no one else plays.
    fn rollouts(&self, number: usize) -> Result<Rollouts> {
        let mut seeds = self.rng.clone();
        let mut rng = (0..=number).fold(self.rng.clone(), |_, _| random::split(&mut seeds));
        rollouts(self.problem, self.budget, &mut rng)
    }

    /// The steps that are left after so many doubts.
    fn samples(&self, doubts: &Doubts) -> u64 {
        self.budget.evaluation_samples().saturating_sub(doubts.samples).max(1)
    }

    /// The outcome of a search. Where it planned, everything is computed again; where it learnt, fresh episodes give a
    /// confidence region, and the model decides where it is known: then episodes are few, and only show what they measure.
    /// A search that failed claims nothing.
    pub fn conclude(mut self, solution: Solution, is_planned: bool) -> Result<Outcome> {
        let (problem, budget, doubts) = (self.problem, self.budget, solution.doubts);
        let exact = exact_measurement(problem, &solution.mixture);
        let mut outcome = Outcome {
            certificate: solution.certificate,
            measurements: Vec::new(),
            evaluation: None,
            off_policy: None,
            mixture: solution.mixture,
            rounds: solution.rounds,
            samples: solution.samples,
            stop: solution.stop,
            objective: None,
            history: History::default(),
            seed: 0,
        };
        if outcome.failure().is_some() {
            // What broke the search would break its evaluation, and who wants to stop would have to wait for it.
            unevaluated(problem, budget, exact, &mut outcome);
            return Ok(outcome);
        }
        let target = problem.target();
        if let (true, Some(exact)) = (is_planned, &exact) {
            if let Some(oracle) = certifying(problem, &outcome.certificate)? {
                let measured = target.selection().apply(exact);
                outcome.certificate = oracle.recompute_for(&outcome.certificate, target.set(), measured)?;
            }
            outcome.measurements = exact.clone();
            return Ok(outcome);
        }
        let samples = if exact.is_some() { 0 } else { self.samples(&doubts) };
        // What decided is about the mixture that the search ended with.
        let decided = self.decided.take().filter(|_| outcome.stop == Stop::Reached);
        let evaluated = decided.map_or_else(|| self.evaluate(&outcome.mixture, samples, &doubts), Ok);
        let evaluation = match evaluated {
            Err(error @ (Error::External { .. } | Error::Interrupted)) => {
                outcome.stop = Stop::Failed(error);
                unevaluated(problem, budget, exact, &mut outcome);
                return Ok(outcome);
            }
            evaluation => evaluation?,
        };
        (outcome.measurements, outcome.certificate) = match exact {
            Some(exact) => {
                let z_bar = target.selection().apply(&exact);
                let distance = target.set().distance(&z_bar);
                (exact, Evidence::default().certificate(z_bar, distance, budget.tolerance))
            }
            None => (evaluation.measured.mean().to_vec(), claim(problem, &evaluation, budget.tolerance)),
        };
        outcome.evaluation = Some(evaluation);
        Ok(outcome)
    }
}

impl Observer for Judge<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        self.observer.round(round)
    }

    fn progress(&mut self, progress: &Progress) -> Result<()> {
        self.observer.progress(progress)
    }

    /// The last evaluation is kept for what the search ends with.
    fn judge(&mut self, mixture: &Mixed, doubts: &Doubts) -> Result<Option<Judgement>> {
        if !self.is_asked || doubts.samples > self.budget.evaluation_samples() {
            return Ok(None);
        }
        let (is_inside, samples) = self.look(mixture, doubts)?;
        if !is_inside || doubts.evaluations + 1 >= MOST_ATTEMPTS {
            return Ok(Some(Judgement { is_inside, is_evaluation: false, samples }));
        }
        let evaluation = self.evaluate(mixture, self.samples(doubts), doubts)?;
        let (is_inside, samples) =
            (evaluation.finding == Finding::Inside, samples + evaluation.all_samples());
        self.decided = Some(evaluation).filter(|_| is_inside);
        Ok(Some(Judgement { is_inside, is_evaluation: true, samples }))
    }
}

/// Shows how far fresh episodes have got, of so many steps.
fn show(problem: &Problem, look: &Look, of: u64, observer: &mut dyn Observer) -> Result<()> {
    let &Look { episodes, samples, region: (mean, radii) } = look;
    let open = || undecided(problem, mean, radii);
    observer.progress(&Progress { phase: Phase::Evaluation, episodes, samples, of, open: &open, state: None })
}

/// What a search that was broken off thought of its mixture, or what the model says of it: nothing is claimed.
fn unevaluated(problem: &Problem, budget: &Budget, exact: Option<Vec<f64>>, outcome: &mut Outcome) {
    let selection = problem.target().selection();
    let mut z_bar = outcome.certificate.z_bar.clone();
    // What no constraint looks at was not measured.
    let mut z = vec![f64::NAN; problem.measures().dim()];
    for ((entry, factor), value) in selection.entries.iter().zip(&z_bar) {
        z[*entry] = value / factor;
    }
    if let Some(exact) = exact {
        z_bar = selection.apply(&exact);
        z = exact;
    }
    outcome.certificate = Certificate {
        verdict: Verdict::Undecided,
        tolerance: budget.tolerance,
        distance: problem.target().set().distance(&z_bar),
        z_bar,
        lower_bound: 0.0,
        separation: None,
        confidence: None,
    };
    outcome.measurements = z;
}

/// What fresh episodes allow to claim.
pub fn claim(problem: &Problem, evaluation: &Evaluation, tolerance: f64) -> Certificate {
    Certificate {
        verdict: match evaluation.finding {
            Finding::Inside => Verdict::Feasible,
            Finding::Outside | Finding::Open => Verdict::Undecided,
        },
        tolerance,
        z_bar: evaluation.mean[..problem.target().set().dim()].to_vec(),
        distance: evaluation.distance,
        lower_bound: 0.0,
        separation: None,
        confidence: Some(evaluation.confidence),
    }
}

/// What counts as evidence, and the steps that it may take: no more than those of the first look where they are 0.
pub fn settings(samples: u64) -> confidence::Options {
    confidence::Options { samples, ..confidence::Options::default() }
}

/// What a confidence region is about: the entries that constraints look at and, last, the objective's, which are free.
pub fn judged(problem: &Problem) -> Result<(SharedSet, Selection)> {
    let target = problem.target();
    Ok(match problem.objective() {
        Some(objective) => {
            (objective.criterion.free(target.set()), target.selection_with(&objective.entries))
        }
        None => (Arc::clone(target.set()), target.selection().clone()),
    })
}

/// The constraints across whose edge a region lies; all of them before there is one.
fn undecided(problem: &Problem, mean: &[f64], radii: &[f64]) -> Vec<String> {
    let target = problem.target();
    let blocks = target.set().blocks().unwrap_or(&[]);
    let is_open = |(block, range): (&SharedSet, &std::ops::Range<usize>)| {
        mean.is_empty()
            || find(block, &mean[range.clone()], &radii[range.clone()])
                .map_or(true, |(finding, _)| finding == Finding::Open)
    };
    let constraints = target.constraints().iter().zip(blocks.iter().zip(target.ranges()));
    constraints.filter(|(_, block)| is_open(*block)).map(|(constraint, _)| constraint.name.clone()).collect()
}

/// Plays episodes of the problem, with all measures: side by side in worlds of our own, which keep nothing from one
/// episode to the next.
pub fn rollouts(problem: &Problem, budget: &Budget, rng: &mut Generator) -> Result<Rollouts> {
    let episode = || -> Result<Episode> {
        let env = problem.environment(budget.stop.clone())?;
        Ok(Episode::new(env, problem.discounting().gamma(), problem.limit()))
    };
    if let Some(workers) = budget.players() {
        return Ok(Rollouts::new(episode()?, rng).on(workers));
    }
    let copies = if problem.env().is_external() { 1 } else { budget.threads };
    (1..copies).try_fold(Rollouts::new(episode()?, rng), |rollouts, _| Ok(rollouts.and(episode()?)))
}

/// So many fresh episodes of a mixture, with controls.
pub fn fresh_sample(
    problem: &Problem,
    mixture: &Mixed,
    controls: &Controls,
    episodes: usize,
    rng: &mut Generator,
) -> Result<Sample> {
    let mut rollouts = rollouts(problem, &Budget::default(), rng)?.controlled(controls.clone());
    let mut sample = Sample::new(rollouts.dim() + 1);
    rollouts.play(mixture, episodes, |sum, steps| {
        sample.add(sum, steps);
        Ok(())
    })?;
    Ok(sample)
}

/// The oracle of the world in which a certificate was found, where the model is known. Worlds without discount are planned in by
/// what is measured: by the constraints and the objective, or by the constraints alone.
pub(crate) fn certifying(problem: &Problem, certificate: &Certificate) -> Result<Option<Exact>> {
    let Some(model) = problem.model() else { return Ok(None) };
    let target = problem.target();
    let exact = |selection: &Selection| {
        Exact::new(model.select(selection), *problem.discounting(), Planner::PolicyIteration)
    };
    let objective = problem.objective().map(|objective| target.selection_with(&objective.entries));
    if let Some(exact) = objective.map(|selection| exact(&selection)).transpose()?
        && certificate.separation.as_ref().is_none_or(|separation| exact.takes(&separation.witness))
    {
        return Ok(Some(exact));
    }
    exact(target.selection()).map(Some)
}

/// The full measurement vector of a mixture, where the model is known and its policies are tables.
pub fn exact_measurement(problem: &Problem, mixture: &Mixed) -> Option<Vec<f64>> {
    let model = problem.model()?;
    let is_table =
        |policy: &AnyPolicy| policy.as_table().is_some_and(|table| table.states() >= model.states());
    if !mixture.parts().iter().all(|(_, policy)| is_table(policy)) {
        return None;
    }
    Some(Occupancy::of_mixture(model, problem.discounting(), mixture).ok()?.measure(model))
}

/// The full measurement vector of a policy with the largest `measure` in the problem's model, whatever the constraints: what
/// an expert for that measure would show.
pub fn best_measurement(problem: &Problem, measure: &str) -> Result<Vec<f64>> {
    let objective = problem.clone().with_objective(measure, Direction::Maximize)?;
    let entry = objective.objective().map_or(0, |objective| objective.entries[0].0);
    let model = problem.model().ok_or(Error::Unsuitable {
        learner: "planning for an expert",
        needs: "a known model",
        instead: "the expert's measurements as numbers",
    })?;
    let mut lam = vec![0.0; model.measures().dim()];
    lam[entry] = -1.0;
    let mut exact = Exact::new(model.as_ref().clone(), *problem.discounting(), Planner::PolicyIteration)?;
    Ok(exact.respond(&lam, 0.0)?.z_hat)
}
