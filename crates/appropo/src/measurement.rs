//! Measurement vectors z: their named entries, how they add up along an episode, and running estimates.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result, dimension, in_range};
use crate::options::{Measurements, OptionError, Part, Result as OptionResult, Step, suggestion};
use crate::state::{Loader, Saved, Saver};
use crate::vector;

/// The named entries of a measurement vector. A measure is one entry or a block of them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Measures {
    names: Vec<String>,
    /// Where each block ends.
    ends: Vec<usize>,
    /// The entries that are long-run averages and not sums, in order.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    averages: Vec<usize>,
}

impl Measures {
    /// Measures with their numbers of entries, in order.
    pub fn new<'a>(blocks: impl IntoIterator<Item = (&'a str, usize)>) -> Self {
        let mut measures = Self::default();
        for (name, entries) in blocks {
            measures.ends.push(measures.dim() + entries);
            measures.names.push(name.to_owned());
        }
        measures
    }

    /// The same, of which some entries are averages over all the steps of an episode that goes on for ever: what is measured
    /// a step in the long run. Where an episode ends, they are 0.
    pub fn averaging(self, entries: impl IntoIterator<Item = usize>) -> Self {
        let dim = self.dim();
        let mut averages: Vec<usize> = entries.into_iter().filter(|entry| *entry < dim).collect();
        averages.sort_unstable();
        averages.dedup();
        Self { averages, ..self }
    }

    /// The entries that are long-run averages, in order.
    pub fn averages(&self) -> &[usize] {
        &self.averages
    }

    /// Whether an entry is a long-run average.
    pub fn is_average(&self, entry: usize) -> bool {
        self.averages.binary_search(&entry).is_ok()
    }

    /// Measures without names, for the selected entries of these.
    pub fn select(&self, selection: &Selection) -> Self {
        let entries = selection.entries.iter().enumerate();
        let averages = entries.filter(|(_, (entry, _))| self.is_average(*entry)).map(|(place, _)| place);
        Self::new([("selected", selection.entries.len())]).averaging(averages)
    }

    /// Entries of the whole vector.
    pub fn dim(&self) -> usize {
        self.ends.last().copied().unwrap_or(0)
    }

    /// Where the measure called `name` stands, or one entry of it: `visits[3]`.
    pub fn range(&self, name: &str) -> Result<Range<usize>> {
        let whole = |name: &str| self.iter().find_map(|(n, range)| (n == name).then_some(range));
        let one = || {
            let (name, index) = name.strip_suffix(']')?.split_once('[')?;
            let entry = whole(name)?.nth(index.parse().ok()?)?;
            Some(entry..entry + 1)
        };
        whole(name)
            .or_else(one)
            .ok_or_else(|| Error::UnknownMeasure { name: name.into(), known: self.names.clone() })
    }

    /// The name of the measure that an entry belongs to.
    pub fn name_of(&self, entry: usize) -> String {
        let found = self.iter().find(|(_, range)| range.contains(&entry));
        found.map_or(String::new(), |(name, _)| name.into())
    }

    /// Names and places of all measures.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Range<usize>)> {
        let starts = std::iter::once(0).chain(self.ends.iter().copied());
        self.names.iter().zip(starts.zip(&self.ends)).map(|(name, (start, &end))| (name.as_str(), start..end))
    }
}

impl Measurements {
    /// The full measurement vector. `key` is the option that names them.
    pub fn vector(&self, measures: &Measures, key: &str) -> OptionResult<Vec<f64>> {
        let mut z = vec![0.0; measures.dim()];
        for (name, numbers) in &self.0 {
            let error = |message: String| OptionError {
                path: [key, name].map(|step| Step::Key(step.into())).to_vec(),
                part: Part::Value,
                message: format!("{name}: {message}"),
            };
            let Ok(range) = measures.range(name) else {
                let known = measures.iter().map(|(name, _)| name);
                return Err(error(format!("no such measure; {}", suggestion(name, known))));
            };
            if numbers.len() != range.len() {
                return Err(error(format!("found {} numbers, expected {}", numbers.len(), range.len())));
            }
            z[range].copy_from_slice(numbers);
        }
        Ok(z)
    }
}

/// Which entries of a measurement vector make up another one, each divided by the unit it counts in.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Selection {
    /// (entry of the full vector, factor).
    pub entries: Vec<(usize, f64)>,
}

impl Selection {
    /// Every entry of vectors with `dim` entries, as it is.
    pub fn all(dim: usize) -> Self {
        Self { entries: (0..dim).map(|i| (i, 1.0)).collect() }
    }

    /// The selected vector.
    pub fn apply(&self, z: &[f64]) -> Vec<f64> {
        self.entries.iter().map(|&(i, factor)| factor * z[i]).collect()
    }
}

/// How measurements add up along an episode: Σ γⁱ zᵢ, over `horizon` steps or until the episode ends.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Discounting {
    gamma: f64,
    horizon: Option<usize>,
}

impl Discounting {
    /// Discount factor 0 ≤ γ ≤ 1 and the number of steps after which an episode is cut off.
    pub fn new(gamma: f64, horizon: Option<usize>) -> Result<Self> {
        in_range("discount", gamma, (0.0..=1.0).contains(&gamma), "between 0 and 1")?;
        if horizon == Some(0) {
            in_range("horizon", 0.0, false, "1 step or more")?;
        }
        Ok(Self { gamma, horizon })
    }

    /// γ.
    pub fn gamma(&self) -> f64 {
        self.gamma
    }

    /// Steps after which an episode is cut off; `None` for never.
    pub fn horizon(&self) -> Option<usize> {
        self.horizon
    }

    /// Σ γⁱ over the longest episode: what a measurement of 1 a step adds up to at most.
    pub fn total_weight(&self) -> f64 {
        match self.horizon {
            Some(steps) if self.gamma == 1.0 => steps as f64,
            Some(steps) => (1.0 - self.gamma.powf(steps as f64)) / (1.0 - self.gamma),
            None => 1.0 / (1.0 - self.gamma),
        }
    }
}

/// A running mean of vectors with the spread of each entry (Welford's algorithm).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Sums")]
pub struct Estimate {
    count: usize,
    mean: Vec<f64>,
    squares: Vec<f64>,
    least: Vec<f64>,
    largest: Vec<f64>,
}

/// An estimate as it is read, not checked yet.
#[derive(Deserialize)]
struct Sums {
    count: usize,
    mean: Vec<f64>,
    squares: Vec<f64>,
    least: Vec<f64>,
    largest: Vec<f64>,
}

impl TryFrom<Sums> for Estimate {
    type Error = Error;

    fn try_from(sums: Sums) -> Result<Self> {
        let Sums { count, mean, squares, least, largest } = sums;
        for (what, entries) in [("squares", &squares), ("least", &least), ("largest", &largest)] {
            dimension(what, entries.len(), mean.len())?;
        }
        Ok(Self { count, mean, squares, least, largest })
    }
}

impl Estimate {
    /// An estimate of nothing yet, for vectors of `dim` entries.
    pub fn new(dim: usize) -> Self {
        Self {
            count: 0,
            mean: vec![0.0; dim],
            squares: vec![0.0; dim],
            least: vec![f64::INFINITY; dim],
            largest: vec![f64::NEG_INFINITY; dim],
        }
    }

    /// Adds one sample.
    pub fn add(&mut self, sample: &[f64]) {
        self.count += 1;
        for i in 0..self.mean.len() {
            let before = sample[i] - self.mean[i];
            self.mean[i] += before / self.count as f64;
            self.squares[i] += before * (sample[i] - self.mean[i]);
            self.least[i] = self.least[i].min(sample[i]);
            self.largest[i] = self.largest[i].max(sample[i]);
        }
    }

    /// The estimate of the selected entries.
    pub fn select(&self, selection: &Selection) -> Self {
        let each = |of: fn(&Self, usize, f64) -> f64| -> Vec<f64> {
            selection.entries.iter().map(|&(i, factor)| of(self, i, factor)).collect()
        };
        Self {
            count: self.count,
            mean: each(|all, i, factor| factor * all.mean[i]),
            squares: each(|all, i, factor| factor * factor * all.squares[i]),
            least: each(|all, i, factor| (factor * all.least[i]).min(factor * all.largest[i])),
            largest: each(|all, i, factor| (factor * all.least[i]).max(factor * all.largest[i])),
        }
    }

    /// What it would be of so many times the samples, alike on average.
    pub fn repeated(&self, times: f64) -> Self {
        let squares = self.squares.iter().map(|square| times * square).collect();
        Self { count: (times * self.count as f64).round() as usize, squares, ..self.clone() }
    }

    /// Entries of a sample.
    pub fn dim(&self) -> usize {
        self.mean.len()
    }

    /// Samples so far.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Their mean.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// The mean and what stands behind it.
    pub fn with_spread(&self) -> (Vec<f64>, Spread) {
        let episodes = self.count as f64;
        let deviations = self.standard_error().iter().map(|e| e * episodes.sqrt()).collect();
        (self.mean.clone(), Spread { deviations, episodes })
    }

    /// Σ (x − mean)² of an entry.
    pub fn squares(&self, entry: usize) -> f64 {
        self.squares[entry]
    }

    /// The sample variance of each entry; infinite below two samples.
    pub fn variance(&self) -> Vec<f64> {
        let of = |s: &f64| if self.count < 2 { f64::INFINITY } else { s / (self.count as f64 - 1.0) };
        self.squares.iter().map(of).collect()
    }

    /// The standard error of each entry of the mean; infinite below two samples.
    pub fn standard_error(&self) -> Vec<f64> {
        self.variance().iter().map(|v| (v / self.count as f64).sqrt()).collect()
    }

    /// The least and the largest sample of an entry; (∞, −∞) without any.
    pub fn range(&self, entry: usize) -> (f64, f64) {
        (self.least[entry], self.largest[entry])
    }
}

/// What stands behind an estimated measurement: how much single episodes differ, and how many there were.
#[derive(Debug, Clone, PartialEq)]
pub struct Spread {
    /// The standard deviation of an episode's measurement, entry by entry.
    pub deviations: Vec<f64>,
    /// The number of episodes.
    pub episodes: f64,
}

/// The discounted sum of an episode's measurements.
#[derive(Debug, Clone, PartialEq)]
pub struct DiscountedSum {
    gamma: f64,
    weight: f64,
    sum: Vec<f64>,
}

impl DiscountedSum {
    /// An empty sum of vectors of `dim` entries.
    pub fn new(dim: usize, gamma: f64) -> Self {
        Self { gamma, weight: 1.0, sum: vec![0.0; dim] }
    }

    /// Adds the next step's measurement.
    pub fn add(&mut self, z: &[f64]) {
        vector::add_scaled(&mut self.sum, self.weight, z);
        self.weight *= self.gamma;
    }

    /// The sum so far.
    pub fn sum(&self) -> &[f64] {
        &self.sum
    }

    /// Starts a new episode.
    pub fn clear(&mut self) {
        self.sum.fill(0.0);
        self.weight = 1.0;
    }
}

impl Saved for Spread {
    fn save(&self, to: &mut Saver) {
        to.put(&self.deviations);
        to.put(&self.episodes);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let is_deviation = |v: &f64| *v >= 0.0 && v.is_finite();
        let deviations = from.get_where("a deviation", |all: &Vec<f64>| all.iter().all(is_deviation))?;
        let episodes = from.get_where("a number of episodes", |n: &f64| *n >= 1.0 && n.is_finite())?;
        Ok(Self { deviations, episodes })
    }
}

impl Saved for Estimate {
    fn save(&self, to: &mut Saver) {
        to.put(&self.count);
        [&self.mean, &self.squares, &self.least, &self.largest]
            .into_iter()
            .for_each(|entries| to.put(entries));
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let count = from.get_count("a number of samples")?;
        let mean = from.get_where("a mean", |mean: &Vec<f64>| mean.iter().all(|v| v.is_finite()))?;
        let fits = |holds: fn(&f64) -> bool| {
            let dim = mean.len();
            move |entries: &Vec<f64>| entries.len() == dim && entries.iter().all(holds)
        };
        let squares = from.get_where("a sum of squares", fits(|v| *v >= 0.0 && v.is_finite()))?;
        let least = from.get_where("a least sample", fits(|v| !v.is_nan()))?;
        let largest = from.get_where("a largest sample", fits(|v| !v.is_nan()))?;
        Ok(Self { count, mean, squares, least, largest })
    }
}

impl DiscountedSum {
    pub(crate) fn save(&self, to: &mut Saver) {
        to.put(&self.weight);
        to.put_all(&self.sum);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.weight = from.get_where("a discount", |weight: &f64| (0.0..=1.0).contains(weight))?;
        from.get_finite("a sum of measurements", &mut self.sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_the_mean_with_its_standard_error() {
        let mut estimate = Estimate::new(1);
        for sample in [1.0, 2.0, 4.0, 5.0] {
            estimate.add(&[sample]);
        }
        assert_eq!(estimate.mean(), [3.0]);
        // Sample variance 10/3 over 4 samples.
        assert!((estimate.variance()[0] - 10.0 / 3.0).abs() < 1e-15);
        assert!((estimate.standard_error()[0] - (10.0f64 / 12.0).sqrt()).abs() < 1e-15);
        assert_eq!(estimate.range(0), (1.0, 5.0));
    }

    #[test]
    fn total_weight_is_the_sum_of_discounts() {
        let weight = |gamma, horizon| Discounting::new(gamma, horizon).unwrap().total_weight();
        assert_eq!(weight(1.0, Some(300)), 300.0);
        assert!((weight(0.5, None) - 2.0).abs() < 1e-15);
        assert!((weight(0.5, Some(2)) - 1.5).abs() < 1e-15);
    }

    #[test]
    fn unknown_measures_name_the_known_ones() {
        let measures = Measures::new([("failure", 1), ("visits", 4)]);
        assert_eq!(measures.range("visits").unwrap(), 1..5);
        assert_eq!(measures.range("visits[3]").unwrap(), 4..5);
        for wrong in ["visits[4]", "visits[-1]", "visits[]", "visits[3", "[3]", "visits[3][0]"] {
            assert!(measures.range(wrong).is_err(), "{wrong}");
        }
        let error = measures.range("failures").unwrap_err();
        assert_eq!(error.to_string(), "measure \"failures\" is not one of failure, visits");
    }
}
