use crate::error::Result;
use crate::nn::{Activation, Inputs, Mlp, Scratch, Shape};
use crate::random::Generator;
use crate::rl::Tracked;
use crate::state::{Loader, Saver};

/// Random network distillation (Burda et al. 2019): a network learns what a random one says of what was tried. Where it is
/// wrong, something is new.
#[derive(Debug)]
pub(super) struct Distilled {
    network: Mlp,
    random: Vec<f32>,
    learnt: Tracked,
    known: Scratch,
    guess: Scratch,
    /// The error on what had never been seen.
    reference: f64,
    seen: u32,
}

/// Outputs of the random network for each action.
const FEATURES: usize = 8;
/// Transitions whose errors say how large that of a new one is.
const REFERENCE: u32 = 64;

impl Distilled {
    /// For inputs of which each is about so many actions; 1 where the action is a part of it.
    pub fn new(
        inputs: Inputs,
        hidden: &[usize],
        actions: usize,
        learning_rate: f64,
        batch: usize,
        rng: &mut Generator,
    ) -> Result<Self> {
        let (hidden, value) = (hidden.to_vec(), actions * FEATURES);
        let network = Mlp::new(Shape { inputs, hidden, activation: Activation::Relu, policy: 1, value })?;
        let random = Tracked::new(&network, 0.0, 0.0, rng)?.parameters().to_vec();
        let learnt = Tracked::new(&network, learning_rate, 1.0, rng)?;
        let (known, guess) = (network.scratch(batch), network.scratch(batch));
        Ok(Self { network, random, learnt, known, guess, reference: 0.0, seen: 0 })
    }

    fn actions(&self) -> usize {
        self.network.shape().value / FEATURES
    }

    /// Whether it does not know yet how large the error on something new is.
    pub fn is_beginning(&self) -> bool {
        self.seen < REFERENCE
    }

    /// Takes note of the error on a row that had never been seen.
    pub fn begin(&mut self, row: &[f32], action: usize) {
        self.compare(row);
        self.seen += 1;
        let error = f64::from(self.error(0, action));
        self.reference += (error - self.reference) / f64::from(self.seen);
    }

    pub fn compare(&mut self, rows: &[f32]) {
        self.network.forward(&self.random, rows, &mut self.known);
        self.network.forward(self.learnt.parameters(), rows, &mut self.guess);
    }

    fn error(&self, row: usize, action: usize) -> f32 {
        let first = (row * self.actions() + action) * FEATURES;
        let range = first..first + FEATURES;
        let pairs = self.known.value.output[range.clone()].iter().zip(&self.guess.value.output[range]);
        pairs.map(|(known, guess)| (known - guess) * (known - guess)).sum::<f32>() / FEATURES as f32
    }

    /// How new an action is in a row of those that were compared last, between 0 and 1.
    pub fn newness(&self, row: usize, action: usize) -> f32 {
        let reference = (self.reference as f32).max(f32::MIN_POSITIVE);
        (self.error(row, action) / reference).min(1.0)
    }

    /// Learns what was tried in so many rows.
    pub fn learn(&mut self, rows: &[f32], count: usize, tried: impl Fn(usize) -> usize) {
        self.compare(rows);
        for row in 0..count {
            let first = (row * self.actions() + tried(row)) * FEATURES;
            for output in first..first + FEATURES {
                let error = self.guess.value.output[output] - self.known.value.output[output];
                self.guess.value.gradient[output] = error / (count * FEATURES) as f32;
            }
        }
        self.learnt.step(&self.network, rows, &mut self.guess);
    }

    pub fn save(&self, to: &mut Saver) {
        self.learnt.save(to);
        to.put(&self.reference);
        to.put(&self.seen);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.learnt.load(from)?;
        self.reference = from.get_where("an error", |error: &f64| *error >= 0.0 && error.is_finite())?;
        self.seen = from.get()?;
        Ok(())
    }
}
