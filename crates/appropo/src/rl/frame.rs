use crate::error::Result;
use crate::nn::Mlp;
use crate::policy::{Actions, middle_and_half};
use crate::state::{Loader, Saver};

/// The bounds of what is not cut.
pub(in crate::rl) const UNCUT: (f32, f32) = (f32::NEG_INFINITY, f32::INFINITY);

/// The units in which a network sees and acts: observations of mean 0 and deviation 1, and actions whose bounds are −1
/// and 1. A policy in the environment's own units has them folded into its first and last layer.
#[derive(Debug, Clone)]
pub(in crate::rl) struct Frame {
    /// `None` where observations are left as they are.
    observations: Option<Moments>,
    /// The first entry of those that are left as they are in any case.
    plain: usize,
    /// The middle and half the width of the bounds of each entry of an action.
    actions: Vec<(f64, f64)>,
}

impl Frame {
    /// The units for observations of so many numbers, unless they are left as they are.
    pub fn new(entries: Option<usize>, actions: &Actions) -> Self {
        let bounds = match actions {
            // Squashed ones are in these units as they are.
            Actions::Categorical | Actions::Squashed(_) => &[][..],
            Actions::Gaussian(bounds) => bounds,
        };
        let actions = bounds.iter().map(|(low, high)| middle_and_half(*low, *high)).collect();
        Self { observations: entries.map(Moments::new), plain: usize::MAX, actions }
    }

    /// The same with all entries from this one on as they are.
    pub fn plain_from(&mut self, entry: usize) {
        self.plain = entry;
    }

    /// The mean and the deviation that an entry is brought to 0 and 1 by.
    fn moments_of(&self, moments: &Moments, entry: usize) -> (f64, f64) {
        if entry < self.plain { (moments.mean[entry], moments.deviation(entry)) } else { (0.0, 1.0) }
    }

    /// Learns from an observation how large observations are.
    pub fn observe(&mut self, observation: &[f64]) {
        if let Some(moments) = &mut self.observations {
            moments.add(observation.iter().copied());
        }
    }

    /// An observation as the network sees it.
    pub fn input(&self, observation: &[f64], input: &mut [f32]) {
        match &self.observations {
            Some(moments) => {
                for (entry, (to, from)) in input.iter_mut().zip(observation).enumerate() {
                    let (mean, deviation) = self.moments_of(moments, entry);
                    *to = ((from - mean) / deviation) as f32;
                }
            }
            None => narrow(observation, input),
        }
    }

    /// A drawn action as the environment takes it.
    pub fn action(&self, actions: &Actions, drawn: &[f32], action: &mut [f64]) {
        match actions {
            Actions::Categorical | Actions::Squashed(_) => actions.cut(drawn, action),
            Actions::Gaussian(bounds) => {
                for (entry, (low, high)) in bounds.iter().enumerate() {
                    let (middle, half) = self.actions[entry];
                    action[entry] = (middle + half * f64::from(drawn[entry])).clamp(*low, *high);
                }
            }
        }
    }

    /// An action of the environment in these units.
    pub fn units(&self, action: &[f64], units: &mut [f32]) {
        for (entry, (to, from)) in units.iter_mut().zip(action).enumerate() {
            let (middle, half) = self.actions.get(entry).copied().unwrap_or((0.0, 1.0));
            *to = ((from - middle) / half) as f32;
        }
    }

    /// The bounds that drawn actions are cut to, in these units.
    pub fn bounds(&self, actions: &Actions) -> Vec<(f32, f32)> {
        let bounds = match actions {
            Actions::Categorical => return vec![UNCUT],
            Actions::Squashed(bounds) => return vec![UNCUT; bounds.len()],
            Actions::Gaussian(bounds) => bounds,
        };
        let units =
            |bound: f64, entry: usize| ((bound - self.actions[entry].0) / self.actions[entry].1) as f32;
        bounds.iter().enumerate().map(|(i, (low, high))| (units(*low, i), units(*high, i))).collect()
    }

    /// Turns the parameters of a policy in these units into those of the same policy in the environment's.
    pub fn fold(&self, network: &Mlp, parameters: &mut [f32]) {
        self.scale_inputs(
            network,
            parameters,
            |_, deviation| 1.0 / deviation,
            |mean, deviation| -mean / deviation,
        );
        self.scale_outputs(network, parameters, |bias, middle, half| middle + half * bias, |half| half);
    }

    /// The other way round.
    pub fn unfold(&self, network: &Mlp, parameters: &mut [f32]) {
        self.scale_inputs(network, parameters, |_, deviation| deviation, |mean, _| mean);
        self.scale_outputs(
            network,
            parameters,
            |bias, middle, half| (bias - middle) / half,
            |half| 1.0 / half,
        );
    }

    /// Multiplies the weights of each input by `factor`, and adds `shift` times what they were to the biases.
    fn scale_inputs(
        &self,
        network: &Mlp,
        parameters: &mut [f32],
        factor: impl Fn(f64, f64) -> f64,
        shift: impl Fn(f64, f64) -> f64,
    ) {
        let Some(moments) = &self.observations else { return };
        let Some(layer) = network.layers().first() else { return };
        let mut biases: Vec<f64> = parameters[layer.biases.clone()].iter().map(|b| f64::from(*b)).collect();
        let weights = &mut parameters[layer.weights.clone()];
        for (input, weights) in weights.chunks_exact_mut(layer.outputs).enumerate() {
            let (mean, deviation) = self.moments_of(moments, input);
            for (weight, bias) in weights.iter_mut().zip(&mut biases) {
                *bias += shift(mean, deviation) * f64::from(*weight);
                *weight = (f64::from(*weight) * factor(mean, deviation)) as f32;
            }
        }
        narrow(&biases, &mut parameters[layer.biases.clone()]);
    }

    fn scale_outputs(
        &self,
        network: &Mlp,
        parameters: &mut [f32],
        bias: impl Fn(f64, f64, f64) -> f64,
        factor: impl Fn(f64) -> f64,
    ) {
        let layer = network.policy_head();
        for (entry, &(middle, half)) in self.actions.iter().enumerate() {
            for weight in &mut parameters[layer.weights.clone()][entry * layer.inputs..][..layer.inputs] {
                *weight = (f64::from(*weight) * factor(half)) as f32;
            }
            let at = &mut parameters[layer.biases.start + entry];
            *at = bias(f64::from(*at), middle, half) as f32;
            let deviation = &mut parameters[network.parameters() + entry];
            *deviation = (f64::from(*deviation) + factor(half).ln()) as f32;
        }
    }

    /// Writes all of it, for whoever acts in these units elsewhere.
    pub fn write(&self, to: &mut Saver) {
        to.put(&self.observations.is_some());
        to.put(&(self.plain as u64));
        self.save(to);
    }

    /// Takes it back, for observations of so many numbers.
    pub fn read(actions: &Actions, entries: usize, from: &mut Loader) -> Result<Self> {
        let is_normalized: bool = from.get()?;
        let mut frame = Self::new(is_normalized.then_some(entries), actions);
        frame.plain_from(from.get::<u64>()?.try_into().unwrap_or(usize::MAX));
        frame.load(from)?;
        Ok(frame)
    }

    pub fn save(&self, to: &mut Saver) {
        if let Some(moments) = &self.observations {
            moments.save(to);
        }
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.observations.as_mut().map_or(Ok(()), |moments| moments.load(from))
    }
}

/// Running means and variances, entry by entry (Welford 1962).
#[derive(Debug, Clone)]
pub(in crate::rl) struct Moments {
    count: f64,
    mean: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    pub fn new(entries: usize) -> Self {
        Self { count: 0.0, mean: vec![0.0; entries], squares: vec![0.0; entries] }
    }

    pub fn clear(&mut self) {
        self.count = 0.0;
        self.mean.fill(0.0);
        self.squares.fill(0.0);
    }

    pub fn add(&mut self, values: impl IntoIterator<Item = f64>) {
        self.count += 1.0;
        for ((mean, squares), value) in self.mean.iter_mut().zip(&mut self.squares).zip(values) {
            let away = value - *mean;
            *mean += away / self.count;
            *squares += away * (value - *mean);
        }
    }

    pub fn count(&self) -> f64 {
        self.count
    }

    pub fn mean(&self, entry: usize) -> f64 {
        self.mean[entry]
    }

    /// The standard deviation of an entry; 1 where nothing but rounding errors has been seen of it.
    pub fn deviation(&self, entry: usize) -> f64 {
        let deviation = (self.squares[entry] / self.count.max(1.0)).sqrt();
        if deviation > 1e-6 * self.mean[entry].abs().max(1e-6) { deviation } else { 1.0 }
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.count);
        to.put_all(&self.mean);
        to.put_all(&self.squares);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.count =
            from.get_where("a number of observations", |count: &f64| count.is_finite() && *count >= 0.0)?;
        from.get_finite("a mean", &mut self.mean)?;
        from.get_finite("a sum of squares", &mut self.squares)?;
        self.squares.iter_mut().for_each(|squares| *squares = squares.max(0.0));
        Ok(())
    }
}

/// How large discounted sums of what is gained are, so that a critic need not know: gains are divided by the deviation of
/// their sums.
#[derive(Debug)]
pub(in crate::rl) struct ReturnScale {
    /// For which reward: another one is learnt anew.
    weights: Vec<f64>,
    moments: Moments,
    /// The sums of the episodes under way.
    sums: Vec<f64>,
}

impl ReturnScale {
    pub fn new(heads: usize, num_envs: usize) -> Self {
        Self { weights: Vec::new(), moments: Moments::new(heads), sums: vec![0.0; heads * num_envs] }
    }

    /// Forgets what belongs to another reward; whether there was one.
    pub fn begin(&mut self, weights: &[f64]) -> bool {
        let is_another = self.weights != weights;
        if is_another {
            weights.clone_into(&mut self.weights);
            self.moments.clear();
            self.sums.fill(0.0);
        }
        is_another
    }

    /// Adds the gains of a step in one of the environments.
    pub fn add(&mut self, env: usize, gains: &[f32], gamma: f64, is_over: bool) {
        let sums = &mut self.sums[env * gains.len()..][..gains.len()];
        for (sum, gain) in sums.iter_mut().zip(gains) {
            *sum = gamma * *sum + f64::from(*gain);
        }
        self.moments.add(sums.iter().copied());
        if is_over {
            sums.fill(0.0);
        }
    }

    pub fn deviation(&self, head: usize) -> f64 {
        self.moments.deviation(head)
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.weights);
        self.moments.save(to);
        to.put_all(&self.sums);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.weights = from.get()?;
        self.moments.load(from)?;
        from.get_finite("a return", &mut self.sums)
    }
}

/// Copies in single precision.
pub(in crate::rl) fn narrow(from: &[f64], to: &mut [f32]) {
    for (to, from) in to.iter_mut().zip(from) {
        *to = *from as f32;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::{Activation, Gains, Inputs, Shape};
    use crate::random::{generator, unit};

    /// A policy in the environment's units acts as the one that was learnt, and can be learnt on.
    #[test]
    fn folding_keeps_the_policy_and_is_undone_by_unfolding() {
        let mut rng = generator(1);
        let shape = Shape {
            inputs: Inputs::Vector(3),
            hidden: vec![8, 8],
            activation: Activation::Tanh,
            policy: 2,
            value: 0,
        };
        let network = Mlp::new(shape).unwrap();
        let actions = Actions::Gaussian(vec![(-2.0, 2.0), (0.0, 0.1)]);
        let mut parameters = vec![0.1; network.parameters() + 2];
        let gains = Gains { policy: 1.0, ..Gains::default() };
        network.initialize(&gains, &mut parameters[..network.parameters()], &mut rng);
        let mut frame = Frame::new(Some(3), &actions);
        let observations: Vec<[f64; 3]> =
            (0..50).map(|_| [unit(&mut rng), 100.0 + 5.0 * unit(&mut rng), 7.0]).collect();
        observations.iter().for_each(|observation| frame.observe(observation));

        let mut folded = parameters.clone();
        frame.fold(&network, &mut folded);
        let outputs = |parameters: &[f32], input: &[f32]| {
            let mut scratch = network.scratch(1);
            network.forward(parameters, input, &mut scratch);
            scratch.policy.output.clone()
        };
        for observation in &observations {
            let (mut input, mut action) = ([0.0; 3], [0.0; 2]);
            frame.input(observation, &mut input);
            frame.action(&actions, &outputs(&parameters, &input), &mut action);
            let plain = outputs(&folded, &observation.map(|v| v as f32));
            for ((action, plain), (low, high)) in action.iter().zip(plain).zip([(-2.0, 2.0), (0.0, 0.1)]) {
                let plain = f64::from(plain).clamp(low, high);
                assert!((action - plain).abs() < 1e-3 * (high - low), "{action} {plain}");
            }
        }
        let deviations = &folded[network.parameters()..];
        assert!((deviations[0] - (0.1 + 2.0_f32.ln())).abs() < 1e-6);
        assert!((deviations[1] - (0.1 + 0.05_f32.ln())).abs() < 1e-6);

        frame.unfold(&network, &mut folded);
        for (again, parameter) in folded.iter().zip(&parameters) {
            assert!((again - parameter).abs() < 1e-3, "{again} {parameter}");
        }
    }

    /// Returns of a constant gain of 2 at γ = 0.5 are 2, 3, 3.5: their deviation is found however the steps are spread.
    #[test]
    fn returns_are_discounted_sums_of_each_environment() {
        let mut scale = ReturnScale::new(1, 2);
        for _ in 0..3 {
            scale.add(0, &[2.0], 0.5, false);
            scale.add(1, &[4.0], 0.5, false);
        }
        let all = [2.0, 4.0, 3.0, 6.0, 3.5, 7.0_f64];
        let mean = all.iter().sum::<f64>() / 6.0;
        let deviation = (all.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / 6.0).sqrt();
        assert!((scale.deviation(0) - deviation).abs() < 1e-12);
        scale.begin(&[1.0]);
        assert_eq!(scale.deviation(0), 1.0);
    }
}
