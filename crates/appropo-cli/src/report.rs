//! What a run found, for people and for programs.

use std::fmt::Write;
use std::time::Duration;

use appropo::certificate::{Certificate, Verdict};
use appropo::confidence::{Evaluation, Finding};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::rl::Occupancy;
use serde::{Serialize, Serializer};
use serde_json::{Value, json};

use crate::problem::{Method, Problem, Settings};
use crate::search::known;
use crate::{Failure, Output, picture};

/// Distances up to this need no tolerance to count as 0.
const ROUNDING: f64 = 1e-9;

/// One JSON object, in the order other programs rely on.
#[derive(Serialize)]
pub struct Report {
    verdict: Verdict,
    distance: f64,
    lower_bound: f64,
    confidence: Option<f64>,
    #[serde(serialize_with = "in_order")]
    measurements: Vec<(String, Value)>,
    constraints: Vec<Row>,
    oracle_calls: usize,
    policies: usize,
    samples: u64,
    evaluation_samples: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<f64>,
    seed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub objective: Option<Objective>,
    /// The full measurement vector.
    #[serde(skip)]
    z: Vec<f64>,
    /// Distances up to this count as 0.
    #[serde(skip)]
    tolerance: f64,
    /// Whether the optimum may be better than the value found.
    #[serde(skip)]
    pub is_open: bool,
    /// What fresh episodes say.
    #[serde(skip)]
    pub evidence: String,
    /// "3 oracle calls".
    #[serde(skip)]
    effort: String,
}

/// A map with its keys in the order of the measurement vector.
fn in_order<S: Serializer>(entries: &[(String, Value)], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_map(entries.iter().map(|(name, value)| (name, value)))
}

#[derive(Serialize)]
struct Row {
    name: String,
    holds: bool,
    distance: f64,
}

/// A mixed policy and what is known of it.
#[derive(Clone)]
pub struct Found {
    pub certificate: Certificate,
    /// The full measurement vector.
    pub z: Vec<f64>,
    pub oracle_calls: usize,
    pub policies: usize,
    pub samples: u64,
    pub evaluation_samples: u64,
    /// Fresh episodes, where the policy was learnt.
    pub evaluation: Option<Evaluation>,
}

impl Found {
    /// What planning found: everything is exact.
    pub fn planned(
        problem: &Problem,
        certificate: Certificate,
        mixture: &Mixed<TabularPolicy>,
        oracle_calls: usize,
    ) -> Result<Self, Failure> {
        let model = known(problem)?;
        let z = Occupancy::of_mixture(model, &problem.discounting, mixture)?.measure(model);
        let policies = mixture.parts().len();
        Ok(Self {
            certificate,
            z,
            oracle_calls,
            policies,
            samples: 0,
            evaluation_samples: 0,
            evaluation: None,
        })
    }
}

/// What fresh episodes say.
fn evidence(evaluation: &Evaluation) -> String {
    let says = match evaluation.finding {
        Finding::Inside => "the whole confidence region satisfies every constraint",
        Finding::Outside => "the confidence region violates a constraint",
        Finding::Open => "the confidence region lies across the edge of a constraint",
    };
    format!("{} fresh episodes at level {}: {says}", evaluation.episodes, evaluation.confidence)
}

/// What was optimised.
#[derive(Serialize)]
pub struct Objective {
    pub measure: String,
    pub goal: &'static str,
    pub value: Option<f64>,
    /// No feasible policy does better than this.
    pub bound: Option<f64>,
}

impl Report {
    pub fn new(problem: &Problem, settings: &Settings, found: Found, elapsed: Option<Duration>) -> Self {
        let Found { certificate, z, oracle_calls, policies, samples, evaluation_samples, evaluation } = found;
        let measures = problem.world.measures();
        let distances = problem.target.distances(&z);
        let constraints = problem.target.constraints().iter().zip(distances).map(|(constraint, distance)| {
            Row { name: constraint.name.clone(), holds: distance <= settings.tolerance, distance }
        });
        let measurements = measures.iter().map(|(name, range)| {
            let value = if range.len() == 1 { json!(z[range.start]) } else { json!(z[range]) };
            (name.to_owned(), value)
        });
        Self {
            verdict: certificate.verdict,
            distance: certificate.distance,
            lower_bound: certificate.lower_bound,
            confidence: certificate.confidence,
            measurements: measurements.collect(),
            constraints: constraints.collect(),
            oracle_calls,
            policies,
            samples,
            evaluation_samples,
            seconds: elapsed.map(|elapsed| elapsed.as_secs_f64()),
            seed: settings.seed,
            objective: None,
            is_open: false,
            evidence: evaluation.map_or(String::new(), |evaluation| evidence(&evaluation)),
            z,
            tolerance: certificate.tolerance,
            effort: match settings.method {
                Method::Appropo => count(oracle_calls, "oracle call", "oracle calls"),
                Method::Occupancy => "one conic programme".into(),
            },
        }
    }

    /// The report as it is printed, with the exit status of its verdict.
    pub fn output(&self, problem: &Problem, as_json: bool) -> Result<Output, Failure> {
        let status = match self.verdict {
            Verdict::Feasible => 0,
            Verdict::Infeasible => 3,
            Verdict::Undecided => 4,
        };
        let text = match as_json.then(|| serde_json::to_string(self)) {
            Some(Ok(line)) => line + "\n",
            Some(Err(error)) => return Err(Failure::Other(error.to_string())),
            None => self.text(problem),
        };
        Ok(Output { text, status })
    }

    fn text(&self, problem: &Problem) -> String {
        let mut text = format!("{}: {}\n\n", problem.name, self.sentence());
        text.push_str(&self.table(problem));
        if let Some(Objective { measure, goal, value, bound }) = &self.objective {
            let found = value.map_or("no feasible policy was found".into(), number);
            let side = if *goal == "maximize" { "above" } else { "below" };
            let bound =
                bound.map_or(String::new(), |b| format!("; no feasible policy gets {side} {}", number(b)));
            let open = if self.is_open { " (stopped before the two met)" } else { "" };
            let _ = writeln!(text, "\n{goal} {measure}: {found}{bound}{open}");
        }
        let visits = problem.world.measures().range("visits");
        if let (Some(grid), Ok(range)) = (problem.world.grid(), visits) {
            let picture = picture::visits(grid, &self.z[range]);
            if !picture.is_empty() {
                let _ = write!(text, "\n{picture}");
            }
        }
        let samples = match self.samples {
            0 => String::new(),
            samples => format!(", {samples} samples"),
        };
        let seconds = self.seconds.map_or(String::new(), |seconds| format!(", {seconds:.3} s"));
        let _ = writeln!(
            text,
            "\ndistance {}, lower bound {}; {}, {}{samples}{seconds}",
            number(self.distance),
            number(self.lower_bound),
            self.effort,
            count(self.policies, "policy", "policies"),
        );
        if !self.evidence.is_empty() {
            let _ = writeln!(text, "{}", self.evidence);
        }
        text
    }

    /// The verdict in words.
    pub fn sentence(&self) -> String {
        match self.verdict {
            Verdict::Feasible if self.distance > ROUNDING => {
                let tolerance = self.tolerance;
                format!(
                    "feasible: the mixed policy satisfies every constraint within the tolerance of {tolerance}"
                )
            }
            Verdict::Feasible => "feasible: the mixed policy satisfies every constraint".into(),
            Verdict::Infeasible => {
                format!(
                    "infeasible: every policy misses the constraints by at least {}",
                    number(self.lower_bound)
                )
            }
            Verdict::Undecided if self.distance <= 1e-12 => {
                "undecided: the mixed policy seems to satisfy every constraint, but not surely enough".into()
            }
            Verdict::Undecided => format!(
                "undecided: the best policy found misses by {}, and none comes closer than {}",
                number(self.distance),
                number(self.lower_bound)
            ),
        }
    }

    /// The budget that ended the search, if one did.
    pub fn used_up(&self, settings: &Settings) -> Option<String> {
        let rounds = settings.most_rounds();
        if self.samples >= settings.samples {
            Some(format!("{} samples used up", settings.samples))
        } else if self.oracle_calls >= rounds {
            Some(format!("{} used up", count(rounds, "round", "rounds")))
        } else {
            None
        }
    }

    fn table(&self, problem: &Problem) -> String {
        let head = ["constraint", "measure", "value", "required", "slack", ""].map(String::from);
        align(&[vec![head], self.rows(problem)].concat())
    }

    /// Each constraint's name, measure, value, requirement, slack and whether it holds.
    pub fn rows(&self, problem: &Problem) -> Vec<[String; 6]> {
        let mut rows = Vec::new();
        let measures = problem.world.measures();
        let steps = measures.range("steps").map(|r| self.z[r.start]).unwrap_or(1.0);
        for ((constraint, shown), row) in
            problem.target.constraints().iter().zip(&problem.shown).zip(&self.constraints)
        {
            let ranges = constraint.measures.iter().filter_map(|m| measures.range(m).ok());
            let unit = if constraint.share { steps } else { 1.0 };
            let x: Vec<f64> =
                ranges.flat_map(|r| self.z[r].iter().map(|v| v / unit).collect::<Vec<_>>()).collect();
            let value = match x.as_slice() {
                [value] => number(*value),
                more if more.len() <= 4 => more.iter().map(|v| number(*v)).collect::<Vec<_>>().join(", "),
                more => format!("{} entries", more.len()),
            };
            let slack = match &shown.slack {
                Some(slack) => number(slack(&x)),
                None if row.holds => "inside".into(),
                None => number(-row.distance),
            };
            let per_step = if constraint.share { " per step" } else { "" };
            rows.push([
                row.name.clone(),
                format!("{}{per_step}", constraint.measures.join(", ")),
                value,
                shown.requirement.clone(),
                slack,
                if row.holds { "holds" } else { "violated" }.into(),
            ]);
        }
        rows
    }
}

/// Columns wide enough for their entries.
fn align(rows: &[[String; 6]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: Vec<usize> = (0..6).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
        let _ = writeln!(text, "{}", cells.join("  ").trim_end());
    }
    text
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
