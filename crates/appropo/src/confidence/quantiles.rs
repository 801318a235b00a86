use serde::{Deserialize, Serialize};

use super::{MOST_ATTEMPTS, is_near};
use crate::error::{Error, Result, dimension};
use crate::measurement::Estimate;

/// The probability with which [`Quantiles::contradicts`] refuses quantiles of the same distribution, at most.
pub const REFUSAL: f64 = 1e-3;

/// Quantiles of each entry, from the least to the largest.
const LEVELS: usize = 17;

/// Numbers that are kept until quantiles are made of them; further episodes are left out.
const MOST_NUMBERS: usize = 4_000_000;

/// The measurements of episodes, and their steps in the last column, one row an episode.
#[derive(Debug, Clone)]
pub struct Sample {
    columns: usize,
    numbers: Vec<f64>,
}

impl Sample {
    /// No episodes yet.
    pub fn new(columns: usize) -> Self {
        Self { columns, numbers: Vec::new() }
    }

    /// Adds an episode.
    pub fn add(&mut self, sum: &[f64], steps: usize) {
        if self.numbers.len() + self.columns <= MOST_NUMBERS {
            self.numbers.extend_from_slice(sum);
            self.numbers.push(steps as f64);
        }
    }

    fn sorted(&self, column: usize) -> Vec<f64> {
        let mut sorted: Vec<f64> = self.numbers.iter().skip(column).step_by(self.columns).copied().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        sorted
    }

    /// What is kept of them.
    pub fn quantiles(&self) -> Quantiles {
        let episodes = self.numbers.len() / self.columns;
        let of = |column| {
            let sorted = self.sorted(column);
            ranks(episodes).iter().map(|rank| sorted[rank - 1]).collect()
        };
        Quantiles {
            episodes,
            columns: if episodes == 0 { Vec::new() } else { (0..self.columns).map(of).collect() },
        }
    }
}

/// The ranks of the quantiles among so many episodes, counted from 1.
fn ranks(episodes: usize) -> [usize; LEVELS] {
    std::array::from_fn(|j| 1 + j * episodes.saturating_sub(1) / (LEVELS - 1))
}

/// How measurements are distributed over episodes: the least, the largest, and 15 between, column by column.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "Read")]
pub struct Quantiles {
    episodes: usize,
    columns: Vec<Vec<f64>>,
}

/// Quantiles as they are read, not checked yet.
#[derive(Deserialize)]
struct Read {
    episodes: usize,
    columns: Vec<Vec<f64>>,
}

impl TryFrom<Read> for Quantiles {
    type Error = Error;

    fn try_from(Read { episodes, columns }: Read) -> Result<Self> {
        columns.iter().try_for_each(|column| dimension("quantiles", column.len(), LEVELS))?;
        Ok(Self { episodes, columns })
    }
}

impl Quantiles {
    /// Entries of a measurement, and the steps.
    pub fn columns(&self) -> usize {
        self.columns.len()
    }

    /// What no episodes with these quantiles have: a mean, a deviation or a range of `measured`, or so many steps.
    pub(super) fn inconsistency(&self, measured: &Estimate, steps: u64) -> Option<String> {
        let (n, all) = (self.episodes, measured.count());
        if n == 0 || n > all || self.columns.len() != measured.dim() + 1 {
            return Some(format!(
                "quantiles of {n} episodes in {} columns do not belong there",
                self.columns.len()
            ));
        }
        if let Some(i) = self.columns.iter().position(|column| !column.is_sorted()) {
            return Some(format!("the quantiles of column {i} do not rise"));
        }
        // What was left out may be anything.
        if n < all {
            return None;
        }
        let variance = measured.variance();
        let fits = |i: &usize| {
            let (mean, squares) = (measured.mean()[*i], variance[*i] * (n as f64 - 1.0));
            let column = &self.columns[*i];
            let is_number = column.iter().all(|v| v.is_finite());
            is_number
                && (column[0], column[LEVELS - 1]) == measured.range(*i)
                && self.allows(*i, None, mean * n as f64)
                && self.allows(*i, Some(mean), squares)
        };
        if let Some(i) = (0..measured.dim()).find(|i| !fits(i)) {
            return Some(format!(
                "no episodes have the mean, the deviation, the range and the quantiles of entry {i}"
            ));
        }
        let last = self.columns.len() - 1;
        (!self.allows(last, None, steps as f64))
            .then(|| format!("{steps} samples are stated, but the episodes are of another length"))
    }

    /// Whether the numbers of a column, or the squares of their distances from `center`, may add up to `sum`.
    fn allows(&self, column: usize, center: Option<f64>, sum: f64) -> bool {
        let f = |x: f64| center.map_or(x, |center| (x - center).powi(2));
        let (values, ranks) = (&self.columns[column], ranks(self.episodes));
        let (mut least, mut most) = (0.0, 0.0);
        for j in 0..LEVELS - 1 {
            let (low, high) = (values[j], values[j + 1]);
            let between = (ranks[j + 1] - ranks[j]) as f64;
            let nearest = center.map_or(low, |center| center.clamp(low, high));
            least += between * f(nearest);
            most += between * f(low).max(f(high));
        }
        // The first or the last episode is counted besides.
        let ends = [f(values[0]), f(values[LEVELS - 1])];
        least += ends[0].min(ends[1]);
        most += ends[0].max(ends[1]);
        let size = least.abs().max(most.abs()).max(self.episodes as f64);
        least - 1e-9 * size <= sum && sum <= most + 1e-9 * size
    }

    /// Where another sample of as many episodes can't be of the same distribution; `None` where it can.
    ///
    /// By the inequality of Dvoretzky, Kiefer and Wolfowitz (Massart 1990), a distribution function F and that of n
    /// draws, Fₙ, are nowhere more than √(ln(2/δ)/2n) apart with probability 1 − δ, whatever F is. Here δ is
    /// [`REFUSAL`]/2 over all columns of either sample, and over all evaluations that a search may have seen.
    pub fn contradicts(&self, other: &Sample) -> Option<String> {
        if other.columns != self.columns.len() || self.episodes == 0 {
            return Some(format!(
                "{} columns are claimed, but there are {}",
                self.columns.len(),
                other.columns
            ));
        }
        let logarithm = (4.0 * self.columns.len() as f64 * MOST_ATTEMPTS as f64 / REFUSAL).ln();
        let apart = |n: usize| (logarithm / (2.0 * n as f64)).sqrt();
        for (i, column) in self.columns.iter().enumerate() {
            let (sorted, n) = (other.sorted(i), self.episodes as f64);
            let most = apart(self.episodes) + apart(sorted.len().max(1));
            let share = |count: usize| count as f64 / sorted.len() as f64;
            for (rank, value) in ranks(self.episodes).into_iter().zip(column) {
                // Sums that are equal but for rounding are equal.
                let up_to = share(sorted.partition_point(|x| x < value || is_near(*x, *value)));
                let below = share(sorted.partition_point(|x| x < value && !is_near(*x, *value)));
                let claimed = [rank as f64 / n, (rank as f64 - 1.0) / n];
                if !(up_to >= claimed[0] - most && below <= claimed[1] + most) {
                    let (found, claimed) = (100.0 * up_to, 100.0 * claimed[0]);
                    return Some(format!(
                        "entry {i} of the measurements is said to be at most {value:?} in {claimed:.0}% of the \
                         episodes, but is in {found:.0}% of fresh ones"
                    ));
                }
            }
        }
        None
    }
}
