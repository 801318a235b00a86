//! What came out of a solve: the one type that files, tables, JSON, Python and reports are views of.

use std::fmt::Write;
use std::ops::ControlFlow;

use crate::certificate::{Ceiling, Certificate, Verdict};
use crate::confidence::{Evaluation, Finding};
use crate::error::{Error, Result};
use crate::off_policy::OffPolicyEstimate;
use crate::oracle::{Exact, Planner};
use crate::policy::Mixed;
use crate::problem::{Direction, Problem};
use crate::scalars::{Scalar, scalars};
use crate::solver::{Observer, Progress, Round, Stop};

/// Distances up to this need no tolerance to count as 0.
const ROUNDING: f64 = 1e-9;

/// A mixed policy, what is known of it, and how it was found.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// The verdict, with all that is needed to check it again.
    pub certificate: Certificate,
    /// The mixture's long-term measurement, every entry; NaN where a solve that was broken off had not measured it.
    pub measurements: Vec<f64>,
    /// What fresh episodes say, where the policy was learnt.
    pub evaluation: Option<Evaluation>,
    /// What logs say, where the policy was learnt from logs.
    pub off_policy: Option<OffPolicyEstimate>,
    /// The mixed policy.
    pub mixture: Mixed,
    /// Rounds played, each with a call of the oracle.
    pub rounds: usize,
    /// Steps taken in the environment to learn.
    pub samples: u64,
    /// Why the search ended.
    pub stop: Stop,
    /// What was optimised.
    pub objective: Option<Optimum>,
    /// How the search went.
    pub history: History,
    /// Where every random draw came from.
    pub seed: u64,
}

/// The best value of the objective.
#[derive(Debug, Clone, PartialEq)]
pub struct Optimum {
    /// What was optimised.
    pub measure: String,
    /// Which way is better.
    pub direction: Direction,
    /// The value; `None` if no feasible policy was found.
    pub value: Option<f64>,
    /// Where fresh episodes put the value, at the level of the evaluation; `None` where there were none, and for functions of
    /// several measures.
    pub interval: Option<(f64, f64)>,
    /// No feasible policy does better than this; `None` where that is not known.
    pub bound: Option<f64>,
    /// The proof of the bound.
    pub ceiling: Option<Ceiling>,
}

impl Optimum {
    /// The objective of an outcome, as its measurements, its evaluation and a proof have it. What it says can be computed
    /// again from them.
    pub fn of(problem: &Problem, outcome: &Outcome, ceiling: Option<Ceiling>) -> Result<Option<Self>> {
        let Some(objective) = problem.objective() else { return Ok(None) };
        let direction = objective.direction;
        let Certificate { verdict, distance, tolerance, .. } = &outcome.certificate;
        let value = Some(objective.value(&outcome.measurements));
        let value = value.filter(|value| *distance <= *tolerance && value.is_finite());
        // A region of single entries says next to nothing of a function of many.
        let evaluation = outcome.evaluation.as_ref().filter(|_| objective.criterion.is_last());
        let interval = evaluation.and_then(|evaluation| {
            let (mean, radius) = (evaluation.mean.last()?, evaluation.radii.last()?);
            let mean = direction.sign() * mean;
            value.map(|_| (mean - radius, mean + radius))
        });
        // Where nothing is feasible there is nothing to bound.
        let ceiling = ceiling.filter(|_| *verdict != Verdict::Infeasible);
        let bound = ceiling.as_ref().map(|ceiling| upper_bound(problem, ceiling)).transpose()?;
        let bound = bound.filter(|bound| bound.is_finite()).map(|bound| direction.sign() * bound);
        let ceiling = ceiling.filter(|_| bound.is_some());
        Ok(Some(Self { measure: objective.statement(), direction, value, interval, bound, ceiling }))
    }

    /// The value and what is known of it, in a sentence.
    pub fn sentence(&self) -> String {
        let Self { measure, direction, value, interval, bound, .. } = self;
        let found = value.map_or("no feasible policy was found".into(), number);
        let interval = interval.map_or(String::new(), |(low, high)| {
            format!(" (between {} and {} by fresh episodes)", number(low), number(high))
        });
        let side = match direction {
            Direction::Maximize => "above",
            Direction::Minimize => "below",
        };
        let known = match (bound, value) {
            (Some(bound), _) => format!("; no feasible policy gets {side} {}", number(*bound)),
            (None, Some(_)) if !interval.is_empty() => "; no better found within the budget".into(),
            _ => String::new(),
        };
        format!("{} {measure}: {found}{interval}{known}", direction.word())
    }
}

/// The bound on the objective that `ceiling` proves in the problem's model.
fn upper_bound(problem: &Problem, ceiling: &Ceiling) -> Result<f64> {
    let (Some(model), Some(objective)) = (problem.model(), problem.objective()) else {
        return Ok(f64::INFINITY);
    };
    let selection = problem.target().selection_with(&objective.entries);
    let exact = Exact::new(model.select(&selection), *problem.discounting(), Planner::PolicyIteration)?;
    exact.upper_bound(ceiling, problem.target().set(), &objective.criterion)
}

/// A constraint and what became of it, for people to read.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What the constraint is called.
    pub name: String,
    /// What it looks at.
    pub measure: String,
    /// What the mixture has.
    pub value: String,
    /// What it must have.
    pub required: String,
    /// How much room is left.
    pub slack: String,
    /// Whether it holds, up to the tolerance.
    pub holds: bool,
    /// How far the mixture is from satisfying it, in the constraint's units.
    pub distance: f64,
}

impl Outcome {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        self.certificate.verdict
    }

    /// Steps taken in the environment to evaluate the result.
    pub fn evaluation_samples(&self) -> u64 {
        self.evaluation.as_ref().map_or(0, Evaluation::all_samples)
    }

    /// What went wrong on the way, if anything did; the rest is what had been found by then.
    pub fn failure(&self) -> Option<&Error> {
        match &self.stop {
            Stop::Failed(error) => Some(error),
            _ => None,
        }
    }

    /// The verdict in a sentence.
    pub fn sentence(&self) -> String {
        let Certificate { verdict, tolerance, distance, lower_bound, .. } = &self.certificate;
        match verdict {
            Verdict::Feasible if *distance > ROUNDING => format!(
                "feasible: the mixed policy satisfies every constraint within the tolerance of {tolerance}"
            ),
            Verdict::Feasible => "feasible: the mixed policy satisfies every constraint".into(),
            Verdict::Infeasible => {
                format!(
                    "infeasible: every policy misses the constraints by at least {}",
                    number(*lower_bound)
                )
            }
            Verdict::Undecided if self.rests_on_logs() => {
                let what = match *distance <= *tolerance {
                    true => "seems to satisfy every constraint".into(),
                    false => format!("misses the constraints by {}", number(*distance)),
                };
                format!("undecided: by logged data alone the mixed policy {what}")
            }
            Verdict::Undecided if *distance <= 1e-12 => {
                "undecided: the mixed policy seems to satisfy every constraint, but not surely enough".into()
            }
            Verdict::Undecided => format!(
                "undecided: the best policy found misses by {}, and none comes closer than {}",
                number(*distance),
                number(*lower_bound)
            ),
        }
    }

    /// Whether all that is known of the mixture is what logs say.
    pub fn rests_on_logs(&self) -> bool {
        self.off_policy.is_some() && self.evaluation.is_none()
    }

    /// What fresh episodes say, or logs where there are none, in a sentence; empty where there are neither.
    pub fn evidence(&self) -> String {
        let Some(evaluation) = &self.evaluation else {
            return self.off_policy.as_ref().map_or(String::new(), OffPolicyEstimate::sentence);
        };
        let says = match evaluation.finding {
            Finding::Inside => "the whole confidence region satisfies every constraint",
            Finding::Outside => "the confidence region violates a constraint",
            Finding::Open if self.verdict() == Verdict::Undecided => {
                "the confidence region lies across the edge of a constraint, and the steps for evaluation are used up"
            }
            Finding::Open => {
                "too few to decide by themselves, but the model is known, and the verdict is computed in it"
            }
        };
        format!("{} fresh episodes at level {}: {says}", evaluation.episodes, evaluation.confidence)
    }

    /// Why the search ended, in a few words.
    pub fn reason(&self) -> String {
        match &self.stop {
            Stop::Reached => "what was asked for was found".into(),
            Stop::Refuted => "feasibility was refuted".into(),
            Stop::GaveUp | Stop::Samples => {
                format!("{} used up", count(self.samples as usize, "sample", "samples"))
            }
            Stop::Rounds => format!("{} used up", count(self.rounds, "round", "rounds")),
            Stop::Observer => "stopped by an observer".into(),
            Stop::Failed(error) => error.to_string(),
        }
    }

    /// Every constraint and what became of it.
    pub fn rows(&self, problem: &Problem) -> Vec<Row> {
        let (target, measures, z) = (problem.target(), problem.measures(), &self.measurements);
        let steps = measures.range("steps").map(|range| z[range.start]).unwrap_or(1.0);
        let distances = target.distances(z);
        let row = |(constraint, distance): (&crate::constraint::Constraint, f64)| {
            let ranges = constraint.measures.iter().filter_map(|measure| measures.range(measure).ok());
            let unit = if constraint.share { steps } else { 1.0 };
            let x: Vec<f64> =
                ranges.flat_map(|range| z[range].iter().map(|v| v / unit).collect::<Vec<_>>()).collect();
            let value = match x.as_slice() {
                [value] => number(*value),
                more if more.len() <= 4 => more.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", "),
                more => format!("{} entries", more.len()),
            };
            let holds = distance <= self.certificate.tolerance;
            let slack = match constraint.set.slack(&x) {
                Some(slack) => number(slack),
                None if holds => "inside".into(),
                None => number(-distance),
            };
            let per_step = if constraint.share { " per step" } else { "" };
            Row {
                name: constraint.name.clone(),
                measure: format!("{}{per_step}", constraint.measures.join(", ")),
                value,
                required: constraint.requirement(),
                slack,
                holds,
                distance,
            }
        };
        target.constraints().iter().zip(distances).map(row).collect()
    }

    /// The constraints as a table with aligned columns.
    pub fn table(&self, problem: &Problem) -> String {
        let head = ["constraint", "measure", "value", "required", "slack", ""].map(String::from);
        let cells = |row: Row| {
            let holds = if row.holds { "holds" } else { "violated" };
            [row.name, row.measure, row.value, row.required, row.slack, holds.into()]
        };
        let rows: Vec<[String; 6]> =
            std::iter::once(head).chain(self.rows(problem).into_iter().map(cells)).collect();
        let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        let widths: Vec<usize> = (0..6).map(width).collect();
        let mut text = String::new();
        for row in &rows {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            let _ = writeln!(text, "{}", cells.join("  ").trim_end());
        }
        text
    }
}

/// "1 policy", "3 policies".
pub fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// A number with as many digits as a reader wants; what is only rounding is 0.
pub fn number(value: f64) -> String {
    if value.abs() < 1e-12 {
        "0".into()
    } else if value.abs() < 1e-4 || value.abs() >= 1e6 {
        format!("{value:.3e}")
    } else {
        format!("{value:.8}").trim_end_matches('0').trim_end_matches('.').into()
    }
}

/// A round in single numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct RoundLine {
    /// t, counted from 1.
    pub round: usize,
    /// Steps taken in the environment so far.
    pub samples: u64,
    /// The distance of the mixture from the set.
    pub distance: f64,
    /// No policy comes closer than this.
    pub lower_bound: f64,
    /// The best value of the objective so far with the constraints held, where one is optimised and some is known.
    pub objective: Option<f64>,
    /// λ of every scalar, in the order of their names.
    pub lam: Vec<f64>,
    /// What the answer measures.
    pub answer: Vec<f64>,
    /// What the mixture measures.
    pub mixture: Vec<f64>,
}

impl RoundLine {
    /// A round in these numbers.
    pub fn of(round: &Round, problem: &Problem, scalars: &[Scalar]) -> Self {
        // A search for an objective measures it besides.
        let dim = problem.target().selection().entries.len();
        let values = |z: &[f64]| scalars.iter().map(|scalar| scalar.value(problem, &z[..dim])).collect();
        let sign = problem.objective().map_or(1.0, |objective| objective.direction.sign());
        Self {
            round: round.round,
            samples: round.samples,
            distance: round.distance,
            lower_bound: round.lower_bound,
            objective: round.objective.map(|value| sign * value),
            lam: scalars.iter().map(|scalar| scalar.price(problem, &round.lam[..dim])).collect(),
            answer: values(round.z_hat),
            mixture: values(round.z_bar),
        }
    }
}

/// The rounds of a search. Beyond 100,000, every second one is left out, then every second of those, and so on.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// What the numbers of a round are called.
    pub names: Vec<String>,
    /// The rounds.
    pub lines: Vec<RoundLine>,
}

const MOST_LINES: usize = 100_000;

impl History {
    /// Adds a round.
    pub fn add(&mut self, line: RoundLine) {
        if self.lines.len() >= MOST_LINES {
            let mut number = 0;
            self.lines.retain(|_| {
                number += 1;
                number % 2 == 1
            });
        }
        self.lines.push(line);
    }
}

/// Writes the history of a search down and shows its rounds to another observer.
pub(crate) struct Historian<'a> {
    problem: &'a Problem,
    scalars: Vec<Scalar>,
    history: History,
    observer: &'a mut dyn Observer,
}

impl<'a> Historian<'a> {
    pub fn new(problem: &'a Problem, history: History, observer: &'a mut dyn Observer) -> Self {
        let scalars = scalars(problem);
        let names = scalars.iter().map(|scalar| scalar.name.clone()).collect();
        Self { problem, scalars, history: History { names, ..history }, observer }
    }

    pub fn finish(self) -> History {
        self.history
    }
}

impl Observer for Historian<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        self.history.add(RoundLine::of(round, self.problem, &self.scalars));
        self.observer.round(round)
    }

    fn progress(&mut self, progress: &Progress) -> Result<()> {
        self.observer.progress(progress)
    }
}
