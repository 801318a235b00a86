//! What fresh episodes of a mixture measure.

use appropo::confidence::{Options, radii};
use appropo::error::Result;
use appropo::evaluate::rollouts;
use appropo::measurement::Estimate;
use appropo::method::Budget;
use appropo::policy::Mixed;
use appropo::problem::Problem;
use appropo::random;
use serde::Serialize;

/// Means over fresh episodes.
#[derive(Debug, Clone, Serialize)]
pub struct FreshEpisodes {
    /// Episodes played.
    pub episodes: usize,
    /// Steps taken in them.
    pub samples: u64,
    /// Where the draws came from.
    pub seed: u64,
    /// The level at which all intervals hold together.
    pub confidence: f64,
    /// Every entry of the measurement vector.
    pub measurements: Vec<MeasureEstimate>,
}

/// One entry of the measurement vector.
#[derive(Debug, Clone, Serialize)]
pub struct MeasureEstimate {
    /// A measure, or measure\[i\] for an entry of a vector.
    pub measure: String,
    /// The mean.
    pub mean: f64,
    /// Its standard error.
    pub standard_error: f64,
    /// The lower end of its confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

/// Plays a mixture afresh.
pub fn evaluate(problem: &Problem, mixture: &Mixed, episodes: usize, seed: u64) -> Result<FreshEpisodes> {
    let mut rollouts = rollouts(problem, &Budget::default(), &mut random::generator(seed))?;
    let mut estimate = Estimate::new(rollouts.dim());
    rollouts.play(mixture, episodes, |sum, _| {
        estimate.add(sum);
        Ok(())
    })?;
    let confidence = Options::default().confidence;
    let (radii, errors) = (radii(&estimate, &[], 1.0 - confidence)?, estimate.standard_error());
    let names = problem.measures().iter().flat_map(|(name, range)| {
        let is_single = range.len() == 1;
        let entry = move |i: usize| if is_single { name.into() } else { format!("{name}[{i}]") };
        (0..range.len()).map(entry)
    });
    let measured = |(i, measure): (usize, String)| {
        let mean = estimate.mean()[i];
        MeasureEstimate {
            measure,
            mean,
            standard_error: errors[i],
            low: mean - radii[i],
            high: mean + radii[i],
        }
    };
    let measurements = names.enumerate().map(measured).collect();
    Ok(FreshEpisodes { episodes, samples: rollouts.samples(), seed, confidence, measurements })
}

impl FreshEpisodes {
    /// One JSON object.
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
