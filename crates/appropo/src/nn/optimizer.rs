use pulp::Arch;
use serde::{Deserialize, Serialize};

use crate::error::{Result, in_range};
use crate::nn::kernel::add_dots;
use crate::state::{Loader, Saver};
use crate::vector::elementwise;

/// How a gradient becomes a step. With g the gradient, m and v start at 0.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Rule {
    /// m ← βₘ m + (1 − βₘ) g, v ← βᵥ v + (1 − βᵥ) g², x ← x − rate · m̂ / (√v̂ + ε),
    /// where m̂ = m / (1 − βₘᵗ) and v̂ = v / (1 − βᵥᵗ) in step t (Kingma and Ba, 2015).
    Adam {
        /// βₘ in [0, 1)
        mean_decay: f64,
        /// βᵥ in [0, 1)
        square_decay: f64,
        /// ε > 0
        epsilon: f64,
    },
    /// v ← α v + (1 − α) g², x ← x − rate · g / (√v + ε).
    RmsProp {
        /// α in [0, 1)
        square_decay: f64,
        /// ε > 0
        epsilon: f64,
    },
}

impl Rule {
    /// Adam with the decays of its paper, and the ε that is usual in reinforcement learning.
    pub const ADAM: Rule = Rule::Adam { mean_decay: 0.9, square_decay: 0.999, epsilon: 1e-5 };
    /// RMSProp as in A2C.
    pub const RMS_PROP: Rule = Rule::RmsProp { square_decay: 0.99, epsilon: 1e-5 };
}

/// A rule, its rate, and what it remembers of earlier gradients.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Optimizer {
    /// The step size, which may be changed between steps.
    pub rate: f64,
    rule: Rule,
    steps: u32,
    mean: Vec<f32>,
    square: Vec<f32>,
}

impl Optimizer {
    /// An optimiser of so many parameters that has seen no gradient yet.
    pub fn new(rule: Rule, rate: f64, parameters: usize) -> Result<Self> {
        let (mean_decay, square_decay, epsilon) = match rule {
            Rule::Adam { mean_decay, square_decay, epsilon } => (mean_decay, square_decay, epsilon),
            Rule::RmsProp { square_decay, epsilon } => (0.0, square_decay, epsilon),
        };
        in_range("learning rate", rate, rate >= 0.0, "at least 0")?;
        in_range("mean decay", mean_decay, (0.0..1.0).contains(&mean_decay), "in [0, 1)")?;
        in_range("square decay", square_decay, (0.0..1.0).contains(&square_decay), "in [0, 1)")?;
        in_range("epsilon", epsilon, epsilon > 0.0, "above 0")?;
        let mean = if matches!(rule, Rule::Adam { .. }) { vec![0.0; parameters] } else { Vec::new() };
        Ok(Optimizer { rate, rule, steps: 0, mean, square: vec![0.0; parameters] })
    }

    /// Forgets the gradients seen.
    pub fn reset(&mut self) {
        self.steps = 0;
        self.mean.fill(0.0);
        self.square.fill(0.0);
    }

    /// Moves the parameters against the gradient.
    ///
    /// # Panics
    ///
    /// If a slice does not have as many entries as the optimiser was made for.
    pub fn step(&mut self, parameters: &mut [f32], gradient: &[f32]) {
        assert_eq!(parameters.len(), self.square.len(), "parameters");
        assert_eq!(gradient.len(), self.square.len(), "gradient");
        self.steps = self.steps.saturating_add(1);
        let unseen = |decay: f64| 1.0 - decay.powi(self.steps.min(i32::MAX as u32) as i32);
        let (mean, square, rate) = (&mut self.mean[..], &mut self.square[..], self.rate);
        let arch = elementwise(Arch::new());
        match self.rule {
            Rule::Adam { mean_decay, square_decay, epsilon } => {
                let rate = (rate / unseen(mean_decay)) as f32;
                let root = (1.0 / unseen(square_decay).sqrt()) as f32;
                let news = [(1.0 - mean_decay) as f32, (1.0 - square_decay) as f32];
                arch.dispatch(|| adam(parameters, gradient, mean, square, news, rate, root, epsilon as f32));
            }
            Rule::RmsProp { square_decay, epsilon } => {
                let new = (1.0 - square_decay) as f32;
                arch.dispatch(|| rms_prop(parameters, gradient, square, new, rate as f32, epsilon as f32));
            }
        }
    }

    /// Writes what it remembers.
    pub fn save(&self, to: &mut Saver) {
        to.put(&self.steps);
        to.put_all(&self.mean);
        to.put_all(&self.square);
    }

    /// Takes it back, into an optimiser of as many parameters.
    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.steps = from.get()?;
        from.get_finite("a mean gradient", &mut self.mean)?;
        from.get_finite("a squared gradient", &mut self.square)
    }
}

// Functions of slices, not closures over them: the compiler then knows that the slices do not overlap.

#[inline(always)]
#[allow(clippy::too_many_arguments)]
fn adam(
    x: &mut [f32],
    g: &[f32],
    m: &mut [f32],
    v: &mut [f32],
    [new_mean, new_square]: [f32; 2],
    rate: f32,
    root: f32,
    epsilon: f32,
) {
    for (((x, g), m), v) in x.iter_mut().zip(g).zip(m).zip(v) {
        *m = flush(new_mean.mul_add(g - *m, *m));
        *v = flush(new_square.mul_add(g.mul_add(*g, -*v), *v));
        *x -= rate * *m / v.sqrt().mul_add(root, epsilon);
    }
}

#[inline(always)]
fn rms_prop(x: &mut [f32], g: &[f32], v: &mut [f32], new_square: f32, rate: f32, epsilon: f32) {
    for ((x, g), v) in x.iter_mut().zip(g).zip(v) {
        *v = flush(new_square.mul_add(g.mul_add(*g, -*v), *v));
        *x -= rate * g / (v.sqrt() + epsilon);
    }
}

/// Numbers that decay would end as subnormal ones, with which many processors are a hundred times slower.
#[inline(always)]
fn flush(x: f32) -> f32 {
    if x.abs() < 1e-30 { 0.0 } else { x }
}

/// Shortens the gradient to a norm of at most `most`, and returns the norm it had.
pub fn clip(gradient: &mut [f32], most: f32) -> f32 {
    let mut square = [0.0];
    add_dots(Arch::new(), gradient, gradient, &mut square, gradient.len());
    let norm = square[0].sqrt();
    if norm > most {
        let factor = most / norm;
        gradient.iter_mut().for_each(|g| *g *= factor);
    }
    norm
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_step_is_the_one_computed_by_hand() {
        // Adam: m̂ = g and v̂ = g².
        let mut x = [1.0, 1.0];
        Optimizer::new(Rule::ADAM, 0.1, 2).unwrap().step(&mut x, &[0.5, -2.0]);
        assert!((x[0] - (1.0 - 0.1 * 0.5 / 0.50001)).abs() < 1e-6, "{x:?}");
        assert!((x[1] - (1.0 + 0.1 * 2.0 / 2.00001)).abs() < 1e-6, "{x:?}");

        // RMSProp: √v = 0.1 |g|.
        let mut x = [1.0, 1.0];
        Optimizer::new(Rule::RMS_PROP, 0.01, 2).unwrap().step(&mut x, &[0.5, -2.0]);
        assert!((x[0] - (1.0 - 0.01 * 0.5 / 0.05001)).abs() < 1e-6, "{x:?}");
        assert!((x[1] - (1.0 + 0.01 * 2.0 / 0.20001)).abs() < 1e-6, "{x:?}");
    }

    #[test]
    fn a_quadratic_is_minimised() {
        for rule in [Rule::ADAM, Rule::RMS_PROP] {
            let target: Vec<f32> = (0..37).map(|i| (i as f32).sin()).collect();
            let mut x = vec![0.0; 37];
            let mut optimizer = Optimizer::new(rule, 0.0, 37).unwrap();
            for step in 0..2000 {
                optimizer.rate = 0.02 * (1.0 - f64::from(step) / 2000.0);
                let gradient: Vec<f32> = (0..37).map(|i| (1 + i) as f32 * (x[i] - target[i])).collect();
                optimizer.step(&mut x, &gradient);
            }
            for i in 0..37 {
                assert!((x[i] - target[i]).abs() < 1e-3, "{rule:?}: {} is not {}", x[i], target[i]);
            }
        }
    }

    #[test]
    fn options_out_of_range_are_refused() {
        assert!(Optimizer::new(Rule::ADAM, f64::NAN, 1).is_err());
        assert!(Optimizer::new(Rule::RmsProp { square_decay: 1.0, epsilon: 1e-5 }, 0.1, 1).is_err());
        assert!(Optimizer::new(Rule::RmsProp { square_decay: 0.9, epsilon: 0.0 }, 0.1, 1).is_err());
    }

    #[test]
    fn clipping_keeps_the_direction() {
        let mut gradient = vec![0.0; 20];
        (gradient[3], gradient[19]) = (3.0, -4.0);
        assert_eq!(clip(&mut gradient, 10.0), 5.0);
        assert_eq!(gradient[3], 3.0);
        assert_eq!(clip(&mut gradient, 1.0), 5.0);
        assert!((gradient[3] - 0.6).abs() < 1e-7 && (gradient[19] + 0.8).abs() < 1e-7);
    }
}
