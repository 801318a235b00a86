//! Axes with neat ticks.

#[derive(Clone, Debug, Default)]
pub struct Axis {
    pub label: String,
    /// Without a range, the axis holds the data and the bound, and little more.
    pub range: Option<(f64, f64)>,
    pub bound: Option<Bound>,
}

/// What a measure is asked to keep.
#[derive(Clone, Copy, Debug)]
pub enum Bound {
    AtMost(f64),
    AtLeast(f64),
}

impl Bound {
    pub fn threshold(self) -> f64 {
        match self {
            Self::AtMost(threshold) | Self::AtLeast(threshold) => threshold,
        }
    }
}

/// Values of an axis, and how they lie along it.
#[derive(Debug)]
pub struct Scale {
    low: f64,
    high: f64,
    step: f64,
}

impl Axis {
    /// The bound, if it can be drawn.
    pub fn finite_bound(&self) -> Option<Bound> {
        self.bound.filter(|bound| bound.threshold().is_finite())
    }

    pub fn scale(&self, values: impl Iterator<Item = f64>) -> Scale {
        if let Some((low, high)) = self.range.filter(|(low, high)| low < high && (high - low).is_finite()) {
            return Scale { low, high, step: neat_step(high - low) };
        }
        let bound = self.finite_bound().map(Bound::threshold);
        let values = values.filter(|value| value.is_finite()).chain(bound);
        let (low, high) =
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = match high - low {
            0.0 => (low - 0.5 * low.abs().max(1e-9), high + 0.5 * high.abs().max(1e-9)),
            width if width > 0.0 && width.is_finite() => (low, high),
            _ => (0.0, 1.0),
        };
        let step = neat_step(high - low);
        // Ends are neat, too, but at fifths of a step, as whole steps would leave much room empty. The slack
        // keeps rounding from adding a fifth.
        let (fifth, slack) = (step / 5.0, 1e-9);
        Scale {
            low: (low / fifth + slack).floor() * fifth,
            high: (high / fifth - slack).ceil() * fifth,
            step,
        }
    }
}

/// The least of 1, 2 and 5 times a power of ten that makes at most seven ticks.
fn neat_step(width: f64) -> f64 {
    let least = width / 6.0 * (1.0 - 1e-9);
    let power = 10f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0]
        .map(|factor| factor * power)
        .into_iter()
        .find(|step| *step >= least)
        .unwrap_or(10.0 * power)
}

impl Scale {
    /// Where a value lies: 0 at the low end, 1 at the high end.
    pub fn share(&self, value: f64) -> f64 {
        (value - self.low) / (self.high - self.low)
    }

    /// The part of the axis where a bound holds, in shares.
    pub fn allowed(&self, bound: Option<Bound>) -> (f64, f64) {
        let share = |threshold| self.share(threshold).clamp(0.0, 1.0);
        match bound {
            Some(Bound::AtMost(threshold)) => (0.0, share(threshold)),
            Some(Bound::AtLeast(threshold)) => (share(threshold), 1.0),
            None => (0.0, 1.0),
        }
    }

    /// Shares and labels of the ticks.
    pub fn ticks(&self) -> Vec<(f64, String)> {
        let first = (self.low / self.step - 1e-9).ceil();
        let count = (self.high / self.step + 1e-9).floor() - first;
        let values = (0..=count as usize).map(|tick| (first + tick as f64) * self.step);
        values.map(|value| (self.share(value), self.label(value))).collect()
    }

    fn label(&self, value: f64) -> String {
        let largest = self.low.abs().max(self.high.abs());
        let (unit, letter) = match largest {
            _ if largest >= 1e6 => (1e6, "M"),
            _ if largest >= 1e4 || self.step >= 1e3 => (1e3, "k"),
            _ => (1.0, ""),
        };
        let decimals = -(self.step / unit).log10().floor();
        let digits = format!("{:.*}", decimals.clamp(0.0, 9.0) as usize, (value / unit).abs());
        match value {
            _ if value.abs() < self.step / 2.0 => "0".into(),
            _ if value < 0.0 => format!("−{digits}{letter}"),
            _ => digits + letter,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(range: Option<(f64, f64)>, values: &[f64]) -> String {
        let scale = Axis { range, ..Axis::default() }.scale(values.iter().copied());
        let labels: Vec<String> = scale.ticks().into_iter().map(|(_, label)| label).collect();
        labels.join(" ")
    }

    #[test]
    fn ticks_are_neat() {
        assert_eq!(labels(Some((0.0, 25000.0)), &[]), "0 5k 10k 15k 20k 25k");
        assert_eq!(labels(Some((0.0, 12000.0)), &[]), "0 2k 4k 6k 8k 10k 12k");
        assert_eq!(labels(None, &[0.0, 2500.0]), "0 500 1000 1500 2000 2500");
        assert_eq!(labels(None, &[0.0, 3e6]), "0 0.5M 1.0M 1.5M 2.0M 2.5M 3.0M");
        assert_eq!(labels(None, &[-0.17, -0.93]), "−0.8 −0.6 −0.4 −0.2");
        assert_eq!(labels(None, &[0.1, 0.3]), "0.10 0.15 0.20 0.25 0.30");
        assert_eq!(labels(None, &[0.0, 1.0, f64::NAN]), "0 0.2 0.4 0.6 0.8 1.0");
    }

    #[test]
    fn any_data_have_an_axis() {
        assert_eq!(labels(None, &[]), labels(None, &[f64::NAN, f64::INFINITY]));
        assert_eq!(labels(Some((1.0, 1.0)), &[]), "0 0.2 0.4 0.6 0.8 1.0");
        for values in [[0.0, 0.0], [0.2, 0.2], [-7e5, -7e5], [-1e308, 1e308], [1.0, 1.0 + 1e-15]] {
            assert!(labels(None, &values).len() < 100, "{values:?}");
        }
    }
}
