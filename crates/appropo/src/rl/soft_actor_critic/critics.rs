use crate::error::Result;
use crate::nn::{Activation, Inputs, Mlp, Scratch, Shape};
use crate::random::Generator;
use crate::rl::Tracked;
use crate::state::{Loader, Saver, misfit};

/// ψ(s, a): the long-term measurements, and the entropy, of doing a in s and then what the actor does. What the actor is
/// paid for is a weighted sum of them, so that another λ needs no other critics.
#[derive(Debug)]
pub(in crate::rl) struct Critics {
    network: Mlp,
    critics: Vec<Tracked>,
    scratches: Vec<Scratch>,
    /// How many actions a row is about: all, or the one that is part of it.
    actions: usize,
    /// The size of each head: networks predict ψ divided by it.
    sizes: Vec<f32>,
    /// The critic that is believed, and its score, of every action of every row.
    believed: Vec<(usize, f32)>,
    slopes: Vec<f32>,
}

/// What critics are like.
#[derive(Debug)]
pub(in crate::rl) struct CriticsOptions<'a> {
    pub inputs: Inputs,
    pub actions: usize,
    pub heads: usize,
    pub hidden: &'a [usize],
    pub count: usize,
    pub learning_rate: f64,
    pub tau: f64,
    /// Rows of a batch at most.
    pub rows: usize,
}

/// Sizes that change by less than this share are left alone.
const SAME_SIZE: f32 = 0.05;

/// Larger errors pull no harder (Huber's loss), so that one critic alone does not run away.
const LARGEST_ERROR: f32 = 10.0;

/// How much an error along the weights counts besides the errors of all heads.
const ALONG: f32 = 1.0;

/// Rows of observations, with actions where these are numbers.
#[derive(Clone, Copy)]
pub(in crate::rl) struct Rows<'a> {
    pub rows: &'a [f32],
    /// The part of what can still be measured, row by row.
    pub left: &'a [f32],
    /// What each head counts for in the score: the same for all rows, or its own for each.
    pub weights: &'a [f32],
}

impl<'a> Rows<'a> {
    fn weights_of(&self, row: usize, heads: usize) -> &'a [f32] {
        let is_shared = self.weights.len() == heads;
        if is_shared { self.weights } else { &self.weights[row * heads..(row + 1) * heads] }
    }
}

impl Critics {
    pub fn new(options: CriticsOptions, rng: &mut Generator) -> Result<Self> {
        let CriticsOptions { inputs, actions, heads, hidden, count, learning_rate, tau, rows } = options;
        let (hidden, activation) = (hidden.to_vec(), Activation::Relu);
        let network = Mlp::new(Shape { inputs, hidden, activation, policy: 0, value: actions * heads })?;
        let critics = (0..count)
            .map(|_| Tracked::new(&network, learning_rate, tau as f32, rng))
            .collect::<Result<_>>()?;
        Ok(Self {
            scratches: (0..count).map(|_| network.scratch(rows)).collect(),
            network,
            critics,
            actions,
            sizes: vec![1.0; heads],
            believed: Vec::new(),
            slopes: Vec::new(),
        })
    }

    pub fn start_afresh(&mut self, rng: &mut Generator) {
        self.critics.iter_mut().for_each(|critic| critic.start_afresh(&self.network, rng));
    }

    pub fn sizes(&self) -> &[f32] {
        &self.sizes
    }

    /// ψ by the averaged critics that score it least, for actions of these probabilities, row by row.
    pub fn values(&mut self, at: Rows, probabilities: &[f32], values: &mut Vec<f32>) {
        for (critic, scratch) in self.critics.iter().zip(&mut self.scratches) {
            self.network.forward(critic.average(), at.rows, scratch);
        }
        self.believe(at);
        let heads = self.sizes.len();
        values.clear();
        values.resize(at.left.len() * heads, 0.0);
        for (row, (values, left)) in values.chunks_exact_mut(heads).zip(at.left).enumerate() {
            for action in row * self.actions..(row + 1) * self.actions {
                let part = left * probabilities[action];
                let psi = &self.scratches[self.believed[action].0].value.output[action * heads..][..heads];
                values.iter_mut().zip(psi).for_each(|(value, psi)| *value += part * psi);
            }
        }
    }

    /// One step of every critic towards `aims`, for the actions that were taken.
    pub fn learn(&mut self, at: Rows, taken: impl Fn(usize) -> usize, aims: &[f32]) {
        let (heads, actions) = (self.sizes.len(), self.actions);
        let share = 1.0 / at.left.len() as f32;
        for (critic, scratch) in self.critics.iter_mut().zip(&mut self.scratches) {
            self.network.forward(critic.parameters(), at.rows, scratch);
            for (row, (aim, left)) in aims.chunks_exact(heads).zip(at.left).enumerate() {
                let weights = at.weights_of(row, heads);
                let length = weights.iter().map(|weight| weight * weight).sum::<f32>().sqrt();
                let first = (row * actions + taken(row)) * heads;
                let psi = &scratch.value.output[first..first + heads];
                let pulled = &mut scratch.value.gradient[first..first + heads];
                let along: f32 = (0..heads).map(|k| weights[k] / length * (left * psi[k] - aim[k])).sum();
                for k in 0..heads {
                    let error = left * psi[k] - aim[k] + ALONG * along * weights[k] / length;
                    pulled[k] = share * left * error.clamp(-LARGEST_ERROR, LARGEST_ERROR);
                }
            }
            critic.step(&self.network, at.rows, scratch);
        }
    }

    /// The least score of every action, row by row.
    pub fn scores(&mut self, at: Rows, scores: &mut Vec<f32>) {
        for (critic, scratch) in self.critics.iter().zip(&mut self.scratches) {
            self.network.forward(critic.parameters(), at.rows, scratch);
        }
        self.believe(at);
        scores.clear();
        let rows = self.believed.chunks_exact(self.actions).zip(at.left);
        rows.for_each(|(row, left)| scores.extend(row.iter().map(|(_, score)| left * score)));
    }

    /// The slopes of the least score by the last `width` entries of each row.
    pub fn slopes(&mut self, at: Rows, width: usize, slopes: &mut Vec<f32>) {
        self.scores(at, slopes);
        let heads = self.sizes.len();
        for (row, ((critic, _), left)) in self.believed.iter().zip(at.left).enumerate() {
            let pulled = &mut self.scratches[*critic].value.gradient[row * heads..(row + 1) * heads];
            pulled
                .iter_mut()
                .zip(at.weights_of(row, heads))
                .for_each(|(pulled, weight)| *pulled = left * weight);
        }
        self.slopes.clear();
        self.slopes.resize(at.rows.len(), 0.0);
        for (critic, scratch) in self.critics.iter().zip(&mut self.scratches) {
            self.network.backward_to_inputs(critic.parameters(), scratch, &mut self.slopes);
        }
        slopes.clear();
        let row = at.rows.len() / at.left.len();
        self.slopes.chunks_exact(row).for_each(|all| slopes.extend_from_slice(&all[row - width..]));
    }

    /// Chooses the critic that scores an action least, after a pass.
    fn believe(&mut self, at: Rows) {
        let heads = self.sizes.len();
        self.believed.clear();
        for place in 0..at.left.len() * self.actions {
            let mut least = (0, f32::INFINITY);
            let weights = at.weights_of(place / self.actions, heads);
            for (critic, scratch) in self.scratches.iter().enumerate() {
                let psi = &scratch.value.output[place * heads..(place + 1) * heads];
                let score: f32 = psi.iter().zip(weights).map(|(psi, weight)| psi * weight).sum();
                if score < least.1 {
                    least = (critic, score);
                }
            }
            self.believed.push(least);
        }
    }

    /// Takes heads to be of another size; what is predicted stays the same.
    pub fn resize(&mut self, sizes: &[f32]) {
        let is_same = |(old, new): (&f32, &f32)| (old / new - 1.0).abs() < SAME_SIZE;
        if self.sizes.iter().zip(sizes).all(is_same) {
            return;
        }
        let ratio = |output: usize| self.sizes[output % sizes.len()] / sizes[output % sizes.len()];
        self.critics.iter_mut().for_each(|critic| critic.scale_values(&self.network, ratio));
        self.sizes.copy_from_slice(sizes);
    }

    pub fn save(&self, to: &mut Saver) {
        self.critics.iter().for_each(|critic| critic.save(to));
        to.put_all(&self.sizes);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.critics.iter_mut().try_for_each(|critic| critic.load(from))?;
        from.get_finite("the size of a measurement", &mut self.sizes)?;
        if self.sizes.iter().any(|size| *size <= 0.0) {
            return Err(misfit("the size of a measurement is not above 0"));
        }
        Ok(())
    }
}
