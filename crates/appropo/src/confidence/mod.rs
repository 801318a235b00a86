//! Evidence for learnt policies: confidence regions from fresh episodes, and what they say about a set.
//!
//! The episodes must be fresh. Those that a learner stopped at are too good on average because they were waited for.

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, dimension, finite, in_range};
use crate::measurement::{Estimate, Selection};
use crate::options::setters;
use crate::oracle::MonteCarlo;
use crate::policy::Mixed;
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::vector;

mod quantiles;

pub use quantiles::{Quantiles, REFUSAL, Sample};

/// The settings of [`evaluate`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Options {
    /// 1 − α, the probability with which all looks together are right; between 0 and 1.
    pub confidence: f64,
    /// Episodes of the first look, 2 or more; each further look has twice as many.
    pub first: usize,
    /// Episodes after which the question stays open, `first` or more.
    pub most: usize,
    /// The least and the largest value that an episode's Σ γⁱ zᵢ can take, entry by entry, as in [`radii`]; empty
    /// where none is known.
    pub ranges: Vec<Option<(f64, f64)>>,
}

impl Default for Options {
    /// Level 0.95, looks at 1,000 to 64,000 episodes, no range known.
    fn default() -> Self {
        Self { confidence: 0.95, first: 1_000, most: 64_000, ranges: Vec::new() }
    }
}

setters!(Options { confidence: f64, first: usize, most: usize, ranges: Vec<Option<(f64, f64)>> });

/// What a confidence region says about a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Finding {
    /// The whole region lies in the set: the mixed policy is feasible.
    Inside,
    /// A half-space that contains the set has no point of the region: the mixed policy is not feasible.
    Outside,
    /// The episodes ended first.
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
    /// The distance of the mean from the set.
    pub distance: f64,
    /// What follows.
    pub finding: Finding,
    /// The level at which it follows.
    pub confidence: f64,
    /// Every measurement of the episodes, also of what no constraint looks at.
    pub measured: Estimate,
    /// How those measurements are distributed, and, last of all, the steps of an episode.
    pub quantiles: Quantiles,
}

/// Distances up to this, relative to 1 + ‖mean‖, are rounding: what a projection by a conic solver is off by.
const ROUNDING: f64 = 1e-9;

/// The share of α that look k = 1, 2, … may spend: α/(k(k + 1)), which adds up to α over all looks.
pub fn spend(alpha: f64, look: usize) -> f64 {
    alpha / (look as f64 * (look as f64 + 1.0))
}

/// The radii of a region, entry by entry round the mean, that misses the expectation with probability at most `alpha`.
///
/// For n independent samples with sample variance V and values in an interval of length b, of d entries each,
///
/// ```text
/// r = √(2Vx/n) + 7bx/(3(n − 1)),   x = ln(3d/α)   for n ≥ 2,
/// r = ∞                                           for n < 2.
/// ```
///
/// This is the empirical Bernstein bound of Maurer and Pontil (2009, Theorem 4) with a union bound over the entries. It
/// holds for both sides with ln 3, not ln 4, because they share the one bound on the deviation (Theorem 10 there).
///
/// `ranges` has the interval of each entry, or is empty. Where one is not known, b is **twice the observed range**: the
/// range widened by half on either side. An entry that never varied counts as b = max(1, |value|), since that rare
/// episodes differ is what must not be ruled out. Then the level is no longer proved: an outcome that is both far out
/// and too rare to be seen is missed.
pub fn radii(estimate: &Estimate, ranges: &[Option<(f64, f64)>], alpha: f64) -> Result<Vec<f64>> {
    let dim = estimate.mean().len();
    in_range("alpha", alpha, alpha > 0.0 && alpha < 1.0, "more than 0 and less than 1")?;
    if !ranges.is_empty() {
        dimension("ranges", ranges.len(), dim)?;
    }
    let n = estimate.count() as f64;
    let x = (3.0 * dim as f64 / alpha).ln();
    let variance = estimate.variance();
    let radius = |entry: usize| {
        let b = width(estimate.range(entry), ranges.get(entry).copied().flatten())?;
        Ok(if n < 2.0 {
            f64::INFINITY
        } else {
            (2.0 * variance[entry] * x / n).sqrt() + 7.0 * b * x / (3.0 * (n - 1.0))
        })
    };
    (0..dim).map(radius).collect()
}

/// The length of the interval that samples between `least` and `largest` came from.
fn width((least, largest): (f64, f64), known: Option<(f64, f64)>) -> Result<f64> {
    let Some((low, high)) = known else {
        return Ok(if largest > least { 2.0 * (largest - least) } else { largest.abs().max(1.0) });
    };
    finite("range", &[low, high])?;
    in_range("range, upper end,", high, high >= low, &format!("at least the lower end {low}"))?;
    // Discounted sums may pass an end by rounding.
    let slack = ROUNDING * (1.0 + low.abs().max(high.abs()));
    match [least, largest].into_iter().find(|v| v.is_finite() && !(low - slack..=high + slack).contains(v)) {
        Some(value) => Err(Error::OutOfRange {
            what: "an episode's measurement".into(),
            value,
            expected: format!("between {low} and {high}, the range that was given"),
        }),
        None => Ok(high - low),
    }
}

/// Plays a mixed policy afresh, in looks of twice as many episodes each, until the confidence region lies in the set or
/// apart from it, or the episodes end. A finding is wrong with probability at most 1 − confidence. It is about episodes
/// as the estimator plays them, cut off where it cuts them off. The set is about the selected entries of what it measures.
pub fn evaluate(
    mixture: &Mixed,
    estimator: &mut MonteCarlo,
    set: &SharedSet,
    selection: &Selection,
    options: &Options,
) -> Result<Evaluation> {
    let Options { confidence, first, most, ranges } = options;
    in_range(
        "confidence",
        *confidence,
        *confidence > 0.0 && *confidence < 1.0,
        "more than 0 and less than 1",
    )?;
    in_range("episodes of the first look", *first as f64, *first > 1, "2 or more")?;
    in_range("most episodes", *most as f64, most >= first, &format!("{first} or more"))?;
    dimension("the estimator's selected measurement", selection.entries.len(), set.dim())?;
    let mut measured = Estimate::new(estimator.dim());
    let mut sample = Sample::new(estimator.dim() + 1);
    let (mut look, mut until) = (1, *first);
    loop {
        estimator.play_each(mixture, until - measured.count(), |sum, steps| {
            measured.add(sum);
            sample.add(sum, steps);
        })?;
        let estimate = measured.select(selection);
        let radii = radii(&estimate, ranges, spend(1.0 - confidence, look))?;
        let (finding, distance) = find(set, estimate.mean(), &radii)?;
        if finding != Finding::Open || until == *most {
            return Ok(Evaluation {
                mean: estimate.mean().to_vec(),
                radii,
                episodes: estimate.count(),
                samples: estimator.samples(),
                distance,
                finding,
                confidence: *confidence,
                measured,
                quantiles: sample.quantiles(),
            });
        }
        look += 1;
        until = until.saturating_mul(2).min(*most);
    }
}

impl Evaluation {
    /// What the evaluation says that does not follow from its episodes; `None` where everything does.
    pub fn inconsistency(
        &self,
        set: &SharedSet,
        selection: &Selection,
        options: &Options,
    ) -> Result<Option<String>> {
        let Options { confidence, first, most, ranges } = options;
        if self.confidence != *confidence {
            return Ok(Some(format!("the level is {}, expected {confidence}", self.confidence)));
        }
        let more = |n: &usize| (n < most).then(|| n.saturating_mul(2).min(*most));
        let mut counts = std::iter::successors(Some(*first), more);
        let Some(look) = counts.position(|count| count == self.episodes) else {
            return Ok(Some(format!("no evaluation ends after {} episodes", self.episodes)));
        };
        if self.measured.count() != self.episodes {
            return Ok(Some(format!("{} episodes are stated, but others were measured", self.episodes)));
        }
        if let Some(problem) = self.quantiles.inconsistency(&self.measured, self.samples) {
            return Ok(Some(problem));
        }
        let estimate = self.measured.select(selection);
        let radii = radii(&estimate, ranges, spend(1.0 - confidence, look + 1))?;
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
