//! Off-policy evaluation: what logs say of a policy that was never played.

use serde::{Deserialize, Serialize};

use crate::env::dataset::{Dataset, Empirical};
use crate::error::Result;
use crate::measurement::{Discounting, Selection};
use crate::oracle::NetworkFit;
use crate::outcome::number;
use crate::policy::Mixed;
use crate::problem::Problem;
use crate::random::{self, Generator};
use crate::rl::Occupancy;
use crate::rl::fitted::Regression;

/// The level of intervals.
pub const LEVEL: f64 = 0.95;
/// Fewer resamples than this have no percentiles.
const PERCENTILES: usize = 100;

/// What fitted evaluation says of a mixed policy, with intervals by resampling whole episodes.
///
/// It holds as far as its [assumptions](Self::assumptions) do, which logs can't confirm: a verdict never rests on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct OffPolicyEstimate {
    /// Of the data set.
    pub checksum: String,
    /// Episodes that were logged.
    pub episodes: usize,
    /// Steps that were logged.
    pub steps: usize,
    /// The class of functions that was fitted: "table" or "network".
    pub fitted: String,
    /// The mixture's long-term measurement, every entry; NaN where it was not estimated.
    #[serde(with = "or_null")]
    pub value: Vec<f64>,
    /// The lower ends of the intervals.
    #[serde(with = "or_null")]
    pub lower: Vec<f64>,
    /// The upper ends.
    #[serde(with = "or_null")]
    pub upper: Vec<f64>,
    /// The level of the intervals, one at a time.
    pub level: f64,
    /// How often episodes were resampled.
    pub resamples: usize,
    /// How often an episode of the mixture comes to where nothing was logged, discounted; `None` where that is not known.
    pub unlogged: Option<f64>,
}

impl OffPolicyEstimate {
    /// What the intervals take for granted.
    pub fn assumptions(&self) -> Vec<&'static str> {
        let function_class = match self.fitted.as_str() {
            "network" => "networks of this size can represent every value",
            _ => "an observation says all that matters for what follows",
        };
        vec![
            "logged actions cover those of the policy",
            "what can follow them was logged",
            function_class,
            "episodes are independent",
            "the policy does not owe its values to chance in these episodes",
        ]
    }

    /// What it rests on, in a sentence.
    pub fn sentence(&self) -> String {
        let Self { episodes, steps, .. } = self;
        format!(
            "{episodes} logged episodes of {steps} steps, and no fresh ones: this assumes that {}",
            listed(&self.assumptions())
        )
    }

    /// The value and interval of every single number that constraints or the objective look at, as people read them.
    pub fn rows(&self, problem: &Problem) -> Vec<IntervalRow> {
        let mut names: Vec<String> = Vec::new();
        let measures = problem.target().constraints().iter().flat_map(|constraint| &constraint.measures);
        let terms = problem.objective().map_or(&[][..], |objective| &objective.utility.terms);
        for name in measures.chain(terms.iter().flat_map(|term| &term.measures)) {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        let single = |name: String| {
            let range = problem.measures().range(&name).ok().filter(|range| range.len() == 1)?;
            let (value, interval) =
                (self.value[range.start], (self.lower[range.start], self.upper[range.start]));
            Some(IntervalRow { name, value, interval })
        };
        names.into_iter().filter_map(single).collect()
    }

    /// Those rows as lines of text.
    pub fn table(&self, problem: &Problem) -> String {
        let percent = number(100.0 * self.level);
        let mut text = format!(
            "by fitted evaluation, with {percent}% intervals from {} resamples of episodes:\n",
            self.resamples
        );
        let rows = self.rows(problem);
        let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
        for IntervalRow { name, value, interval: (low, high) } in rows {
            text += &format!("  {name:<width$}  {} ({} to {})\n", number(value), number(low), number(high));
        }
        if let Some(unlogged) = self.unlogged.filter(|share| *share > 0.0) {
            text +=
                &format!("  where nothing was logged: {} of its episodes, discounted\n", number(unlogged));
        }
        text
    }
}

/// A measure with its interval.
#[derive(Debug, Clone, PartialEq)]
pub struct IntervalRow {
    /// What the measure is called.
    pub name: String,
    /// What the mixture has, by logs.
    pub value: f64,
    /// The ends of its interval.
    pub interval: (f64, f64),
}

/// "a, b and c".
fn listed(items: &[&str]) -> String {
    match items {
        [] => String::new(),
        [one] => (*one).into(),
        [rest @ .., last] => format!("{} and {last}", rest.join(", ")),
    }
}

/// Fitted Q evaluation: what a mixed policy measures, by logs in which episodes count for so much.
pub(crate) trait FittedEvaluation {
    /// Every entry of the measurement vector and, last, how often episodes come to where nothing was logged; NaN where that
    /// is not known.
    fn evaluate(&mut self, mixture: &Mixed, weights: &[f64], rng: &mut Generator) -> Result<Vec<f64>>;

    /// The class of functions.
    fn name(&self) -> &'static str;
}

/// Fitted Q evaluation with a table: evaluation in the model that logs make.
#[derive(Debug)]
pub(crate) struct TableEvaluation<'a> {
    pub empirical: &'a Empirical,
    pub discounting: Discounting,
}

impl FittedEvaluation for TableEvaluation<'_> {
    fn evaluate(&mut self, mixture: &Mixed, weights: &[f64], _: &mut Generator) -> Result<Vec<f64>> {
        let model = self.empirical.model(|episode| weights[episode])?;
        Ok(Occupancy::of_mixture(&model, &self.discounting, mixture)?.measure(&model))
    }

    fn name(&self) -> &'static str {
        "table"
    }
}

/// Fitted Q evaluation with networks, of the entries that a selection names.
#[derive(Debug)]
pub(crate) struct NetworkEvaluation {
    pub fit: NetworkFit,
    pub selection: Selection,
    /// Entries of the measurement vector.
    pub dim: usize,
    /// What the first evaluation learnt of each policy, from which resamples go on.
    pub learnt: Vec<Regression>,
    /// What it came to.
    pub first: Vec<f64>,
}

/// The part of the regressions that a resample takes after the first evaluation.
const RESAMPLED: usize = 3;

impl FittedEvaluation for NetworkEvaluation {
    fn evaluate(&mut self, mixture: &Mixed, weights: &[f64], rng: &mut Generator) -> Result<Vec<f64>> {
        self.fit.rows.weigh(|episode| weights[episode]);
        let mut options = self.fit.options.clone();
        let is_first = self.learnt.is_empty();
        if !is_first {
            options.n_iterations = options.n_iterations.div_ceil(RESAMPLED);
        }
        let mut z = vec![0.0; self.selection.entries.len()];
        for (place, (weight, policy)) in mixture.parts().iter().enumerate() {
            let mut psi = match self.learnt.get(place) {
                Some(psi) => psi.clone(),
                None => self.fit.psi(rng)?,
            };
            let found = self.fit.evaluate(&mut psi, policy, &options, rng)?;
            crate::vector::add_scaled(&mut z, *weight, &found);
            if is_first {
                self.learnt.push(psi);
            }
        }
        if is_first {
            self.first = z.clone();
        } else {
            // After m regressions a part of up to γᵐ is still that of the first evaluation.
            let taken = 1.0 - self.fit.gamma.powf(options.n_iterations as f64);
            z.iter_mut().zip(&self.first).for_each(|(z, first)| *z = first + (*z - first) / taken);
        }
        let mut all = vec![f64::NAN; self.dim + 1];
        for ((entry, factor), value) in self.selection.entries.iter().zip(&z) {
            all[*entry] = value / factor;
        }
        Ok(all)
    }

    fn name(&self) -> &'static str {
        "network"
    }
}

/// Evaluates a mixed policy by logs. Episodes are resampled by giving each a weight drawn from the exponential distribution
/// (the Bayesian bootstrap, Rubin 1981): none is left out, so that what was logged once stays known.
pub(crate) fn estimate(
    dataset: &Dataset,
    evaluation: &mut dyn FittedEvaluation,
    mixture: &Mixed,
    resamples: usize,
    rng: &mut Generator,
    watch: &mut dyn FnMut() -> Result<()>,
) -> Result<OffPolicyEstimate> {
    let (episodes, dim) = (dataset.episodes().len(), dataset.measures().dim());
    let mut value = evaluation.evaluate(mixture, &vec![1.0; episodes], rng)?;
    let unlogged = value.split_off(dim).first().copied().filter(|share| share.is_finite());
    let mut drawn = vec![Vec::with_capacity(resamples); dim];
    for _ in 0..resamples {
        watch()?;
        let weights: Vec<f64> =
            (0..episodes).map(|_| random::gamma(1.0, rng).max(f64::MIN_POSITIVE)).collect();
        let found = evaluation.evaluate(mixture, &weights, rng)?;
        drawn.iter_mut().zip(&found).for_each(|(drawn, found)| drawn.push(*found));
    }
    let ends = value.iter().zip(&mut drawn).map(|(value, drawn)| interval(*value, drawn));
    let (lower, upper) = ends.unzip();
    Ok(OffPolicyEstimate {
        checksum: dataset.checksum().into(),
        episodes,
        steps: dataset.steps(),
        fitted: evaluation.name().into(),
        value,
        lower,
        upper,
        level: LEVEL,
        resamples,
        unlogged,
    })
}

/// Percentiles of resampled values where they are many, else a multiple of their deviation.
fn interval(value: f64, drawn: &mut [f64]) -> (f64, f64) {
    if !value.is_finite() || drawn.len() < 2 || drawn.iter().any(|value| !value.is_finite()) {
        return (f64::NAN, f64::NAN);
    }
    let count = drawn.len();
    if count >= PERCENTILES {
        drawn.sort_by(f64::total_cmp);
        let place = |share: f64| drawn[((share * count as f64) as usize).min(count - 1)];
        // The value itself is always inside.
        return (place(0.5 * (1.0 - LEVEL)).min(value), place(0.5 * (1.0 + LEVEL)).max(value));
    }
    let mean = drawn.iter().sum::<f64>() / count as f64;
    let square = drawn.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / (count - 1) as f64;
    let radius = student(count - 1) * square.sqrt();
    (value - radius, value + radius)
}

/// The 0.975 quantile of Student's distribution.
fn student(degrees: usize) -> f64 {
    const SMALL: [f64; 10] = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228];
    match degrees {
        0 => f64::INFINITY,
        1..=10 => SMALL[degrees - 1],
        // Right to three digits from here on (Hill 1970).
        _ => 1.96 + 2.4 / degrees as f64 + 3.0 / (degrees * degrees) as f64,
    }
}

/// Numbers of which JSON's `null` is NaN.
mod or_null {
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(numbers: &[f64], to: S) -> Result<S::Ok, S::Error> {
        numbers.iter().map(|number| number.is_finite().then_some(*number)).collect::<Vec<_>>().serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<f64>, D::Error> {
        let numbers = Vec::<Option<f64>>::deserialize(from)?;
        Ok(numbers.into_iter().map(|number| number.unwrap_or(f64::NAN)).collect())
    }
}
