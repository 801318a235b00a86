//! Evidence for learnt policies: confidence regions from fresh episodes, and what they say about a set.
//!
//! The episodes must be fresh. Those that a learner stopped at are too good on average because they were waited for.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, dimension, in_range};
use crate::measurement::{Estimate, Selection};
use crate::options::setters;
use crate::policy::Mixed;
use crate::rl::{Controls, Rollouts};
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::vector;

mod quantiles;
mod sequence;

pub use quantiles::{Quantiles, REFUSAL, Sample};
pub use sequence::radii;

/// The settings of [`evaluate`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// 1 − α, the probability with which all looks together are right; between 0 and 1.
    pub confidence: f64,
    /// Episodes of the first look, 2 or more.
    pub first: usize,
    /// Steps after which the question stays open, though not before 200 episodes; 0 for the first look only.
    pub samples: u64,
    /// Which of several evaluations of a search it is, counted from 1: they share 1 − confidence; 0 for one that is alone.
    pub attempt: usize,
    /// The least and the largest value that an episode's Σ γⁱ zᵢ can take, entry by entry, as in [`radii`]; empty
    /// where none is known.
    pub ranges: Vec<Option<(f64, f64)>>,
}

impl Default for Options {
    /// Level 0.95, a first look at 50 episodes, at most 25,000 steps, no range known.
    fn default() -> Self {
        Self { confidence: 0.95, first: 50, samples: 25_000, attempt: 0, ranges: Vec::new() }
    }
}

setters!(Options {
    confidence: f64,
    first: usize,
    samples: u64,
    attempt: usize,
    ranges: Vec<Option<(f64, f64)>>
});

/// The part of 1 − confidence that an evaluation has: half of it, or a quarter, of several.
fn alpha(confidence: f64, attempt: usize) -> f64 {
    let share = match attempt {
        0 => 1.0,
        1 => 0.5,
        _ => 0.25,
    };
    (1.0 - confidence) * share
}

/// The most evaluations of a search.
pub(crate) const MOST_ATTEMPTS: usize = 3;

/// Episodes that are played for any number of steps.
const LEAST: f64 = 200.0;

/// What a confidence region says about a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The whole region lies in the set: the mixed policy is feasible.
    Inside,
    /// A half-space that contains the set has no point of the region: the mixed policy is not feasible.
    Outside,
    /// The steps ended first, or no longer sufficed.
    Open,
}

/// A mixed policy's measurement, judged by fresh episodes.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evaluation {
    /// The mean of the selected entries over the episodes.
    pub mean: Vec<f64>,
    /// How far the long-term measurement may be from it, entry by entry.
    pub radii: Vec<f64>,
    /// Episodes played.
    pub episodes: usize,
    /// Steps taken in them.
    pub samples: u64,
    /// What was added to what they measured, for the policy that played them.
    #[serde(default, skip_serializing_if = "Controls::are_none")]
    pub controls: Controls,
    /// The distance of the mean from the set.
    pub distance: f64,
    /// What follows.
    pub finding: Finding,
    /// The level at which it follows, together with all evaluations before it.
    pub confidence: f64,
    /// Which evaluation of its search it was, counted from 1; 0 where there is but one.
    #[serde(default)]
    pub attempt: usize,
    /// Every measurement of the episodes, also of what no constraint looks at.
    pub measured: Estimate,
    /// How those measurements are distributed, and, last of all, the steps of an episode.
    pub quantiles: Quantiles,
}

/// Distances up to this, relative to 1 + ‖mean‖, are rounding: what a projection by a conic solver is off by.
const ROUNDING: f64 = 1e-9;

/// How far an evaluation has got.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// Episodes played.
    pub episodes: usize,
    /// Steps taken in them.
    pub samples: u64,
    /// The mean of the selected entries and its radii, as they were last looked at; empty before.
    pub region: (&'a [f64], &'a [f64]),
}

/// Each look has an n-th part more episodes than the one before.
const GROWTH: usize = 16;

/// Standard errors by which the mean may still move where an evaluation is given up.
const DRIFT: f64 = 3.0;

/// Plays a mixed policy afresh until the confidence region lies in the set or apart from it, or until the steps end or no
/// longer suffice. A finding is wrong with probability at most 1 − confidence, as far as [`radii`] are right. It is about
/// episodes as they are played, cut off where they are cut off. The set is about the selected entries of what is measured.
/// `watch` is called after every episode. Where the rollouts have controls, they are part of what is measured.
pub fn evaluate(
    mixture: &Mixed,
    rollouts: &mut Rollouts,
    set: &SharedSet,
    selection: &Selection,
    options: &Options,
    watch: &mut dyn FnMut(&Look) -> Result<()>,
) -> Result<Evaluation> {
    let Options { confidence, first, samples: most, attempt, ranges } = options;
    let alpha = alpha(*confidence, *attempt);
    in_range(
        "confidence",
        *confidence,
        *confidence > 0.0 && *confidence < 1.0,
        "more than 0 and less than 1",
    )?;
    in_range("episodes of the first look", *first as f64, *first > 1, "2 or more")?;
    dimension("the selected measurement", selection.entries.len(), set.dim())?;
    let controls = rollouts.controls().clone();
    let ranges = &controls.widen(ranges, selection);
    let mut measured = Estimate::new(rollouts.dim());
    let mut sample = Sample::new(rollouts.dim() + 1);
    let (mut mean, mut radius, mut samples) = (Vec::new(), Vec::new(), 0);
    let mut until = *first;
    loop {
        rollouts.play(mixture, until - measured.count(), |sum, steps| {
            measured.add(sum);
            sample.add(sum, steps);
            samples += steps as u64;
            watch(&Look { episodes: measured.count(), samples, region: (&mean, &radius) })
        })?;
        let estimate = measured.select(selection);
        let radii = radii(&estimate, ranges, alpha)?;
        let (finding, distance) = find(set, estimate.mean(), &radii)?;
        // Where episodes are long, the steps are enough for too few of them.
        let few = LEAST * samples as f64 / estimate.count() as f64;
        let done = samples as f64 / if *most > 0 { few.max(*most as f64) } else { 0.0 };
        if finding != Finding::Open || done >= 1.0 || is_hopeless(set, &estimate, (ranges, alpha), done)? {
            return Ok(Evaluation {
                mean: estimate.mean().to_vec(),
                radii,
                episodes: estimate.count(),
                samples,
                controls,
                distance,
                finding,
                confidence: *confidence,
                attempt: *attempt,
                measured,
                quantiles: sample.quantiles(),
            });
        }
        // Not many more than the steps that are left.
        let left = (until as f64 * (1.0 / done - 1.0)).ceil() as usize;
        until += (until / GROWTH).min(left).max(1);
        (mean, radius) = (estimate.mean().to_vec(), radii);
    }
}

/// Whether the region will still lie across the set's edge once the steps are used up, of which this part is `done`: even
/// if the mean moves by three standard errors for the better. Stopping for this makes no finding wrong.
fn is_hopeless(
    set: &SharedSet,
    estimate: &Estimate,
    (ranges, alpha): (&[Option<(f64, f64)>], f64),
    done: f64,
) -> Result<bool> {
    let last = radii(&estimate.repeated(1.0 / done), ranges, alpha)?;
    let drifts = estimate.standard_error().into_iter().map(|error| DRIFT * error * (1.0 - done).sqrt());
    let least: Vec<f64> = last.iter().zip(drifts).map(|(radius, drift)| (radius - drift).max(0.0)).collect();
    Ok(least.iter().any(|r| *r > 0.0) && find(set, estimate.mean(), &least)?.0 == Finding::Open)
}

impl Evaluation {
    /// All steps that were taken for it.
    pub fn all_samples(&self) -> u64 {
        self.samples.saturating_add(self.controls.samples)
    }

    /// What the evaluation of a mixture says that does not follow from its episodes; `None` where everything does.
    pub fn inconsistency(
        &self,
        mixture: &Mixed,
        set: &SharedSet,
        selection: &Selection,
        options: &Options,
    ) -> Result<Option<String>> {
        let Options { confidence, first, ranges, .. } = options;
        if self.confidence != *confidence {
            return Ok(Some(format!("the level is {}, expected {confidence}", self.confidence)));
        }
        if self.attempt > MOST_ATTEMPTS {
            return Ok(Some(format!("no search is evaluated {} times", self.attempt)));
        }
        // The regions hold for every number of episodes at once: any look may have been the last.
        if self.episodes < *first {
            return Ok(Some(format!("no evaluation ends after {} episodes, before {first}", self.episodes)));
        }
        if self.measured.count() != self.episodes {
            return Ok(Some(format!("{} episodes are stated, but others were measured", self.episodes)));
        }
        if !self.controls.are_fair(mixture, self.measured.dim()) {
            return Ok(Some("its controls do not leave the mean of the mixture as it is".into()));
        }
        if let Some(problem) = self.quantiles.inconsistency(&self.measured, self.samples) {
            return Ok(Some(problem));
        }
        let estimate = self.measured.select(selection);
        let ranges = self.controls.widen(ranges, selection);
        let radii = radii(&estimate, &ranges, alpha(*confidence, self.attempt))?;
        let (finding, distance) = find(set, estimate.mean(), &radii)?;
        let pairs = [("mean", self.mean.as_slice(), estimate.mean()), ("radii", &self.radii, &radii)];
        for (what, claimed, found) in pairs {
            let differs = |i: &usize| !is_near(claimed[*i], found[*i]);
            if let Some(i) = (0..found.len()).find(differs) {
                let (claimed, found) = (claimed[i], found[i]);
                return Ok(Some(format!(
                    "entry {i} of the {what} is claimed as {claimed:?}, but follows as {found:?}"
                )));
            }
        }
        Ok(if self.finding != finding {
            Some(format!("the finding is claimed as {:?}, but follows as {finding:?}", self.finding))
        } else if !is_near(self.distance, distance) {
            Some(format!("the distance is claimed as {}, but follows as {distance}", self.distance))
        } else {
            None
        })
    }
}

/// Equal but for rounding. NaN is near nothing.
fn is_near(a: f64, b: f64) -> bool {
    (a - b).abs() <= ROUNDING * (1.0 + b.abs())
}

/// Where the box of `radii` round `mean` lies, and the distance of its centre from the set.
///
/// With λ = mean − Γ(mean), the set lies where λ·z ≤ λ·Γ(mean), and the box reaches down to λ·mean − Σ |λᵢ|rᵢ: they are
/// apart where Σ |λᵢ|rᵢ < ‖λ‖², as they are where ‖r‖ < ‖λ‖.
pub fn find(set: &SharedSet, mean: &[f64], radii: &[f64]) -> Result<(Finding, f64)> {
    let mut nearest = vec![0.0; mean.len()];
    set.project(mean, &mut nearest);
    if let Some(entry) = nearest.iter().position(|v| !v.is_finite()) {
        return Err(Error::Projection { entry, value: nearest[entry] });
    }
    let lam = vector::difference(mean, &nearest);
    let distance = vector::norm(&lam);
    let rounding = ROUNDING * (1.0 + vector::norm(mean));
    // The box is widened by what membership in the smaller set forgives.
    let wider = Errors::AtMost(radii.iter().map(|r| r + rounding).collect());
    let reach = wider.along(&lam);
    let finding = if reach < distance * distance {
        Finding::Outside
    } else if holds_box(set, mean, &wider, rounding) {
        Finding::Inside
    } else {
        Finding::Open
    };
    Ok((finding, distance))
}

/// Corners of a box that are looked at one by one, 2 to the power of its dimension.
const MOST_CORNERS: usize = 4096;

/// Whether the set holds the whole box of `errors` round `mean`: by a smaller set, or as a convex set does that holds
/// every corner.
fn holds_box(set: &SharedSet, mean: &[f64], errors: &Errors, rounding: f64) -> bool {
    if let Some(inner) = set.tightened(mean, errors) {
        return inner.contains(mean, rounding);
    }
    let corners = 1usize.checked_shl(mean.len() as u32).filter(|corners| *corners <= MOST_CORNERS);
    let mut corner = mean.to_vec();
    corners.is_some_and(|corners| {
        (0..corners).all(|number| {
            for (i, error) in errors.entries().iter().enumerate() {
                corner[i] = if number >> i & 1 == 1 { mean[i] + error } else { mean[i] - error };
            }
            set.contains(&corner, rounding)
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// However often a search is evaluated, all together are right with the probability that is stated.
    #[test]
    fn evaluations_of_a_search_share_the_level() {
        let shares: Vec<f64> = (1..=MOST_ATTEMPTS).map(|attempt| alpha(0.95, attempt) / 0.05).collect();
        assert!(shares.iter().sum::<f64>() <= 1.0 + 1e-12, "{shares:?}");
        assert!(shares[0] >= 0.5 && alpha(0.95, 0) == 1.0 - 0.95);
    }
}
