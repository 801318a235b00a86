use crate::error::Result;
use crate::nn::{Activation, Inputs, Mlp, Scratch, Shape};
use crate::random::Generator;
use crate::rl::{Tracked, least};
use crate::state::{Loader, Saver, misfit};

/// ψ(s, a): the long-term measurements, and the entropy, of doing a in s and then what the actor does. What the actor is
/// paid for is a weighted sum of them, so that another λ needs no other critics.
#[derive(Debug)]
pub(super) struct Critics {
    network: Mlp,
    critics: Vec<Tracked>,
    scratches: Vec<Scratch>,
    /// The size of each head: networks predict ψ divided by it.
    sizes: Vec<f32>,
    /// The critic that is believed, row by row.
    believed: Vec<usize>,
    slopes: Vec<f32>,
}

/// Sizes that change by less than this share are left alone.
const SAME_SIZE: f32 = 0.05;

/// How much an error along the weights counts besides the errors of all heads.
const ALONG: f32 = 1.0;

/// Rows of observations and actions, and what each head counts for in the score.
#[derive(Clone, Copy)]
pub(super) struct Rows<'a> {
    pub rows: &'a [f32],
    /// The part of what can still be measured, row by row.
    pub left: &'a [f32],
    pub weights: &'a [f32],
}

impl Critics {
    /// `count` critics of `heads` measurements for rows of so many numbers.
    pub fn new(
        (width, heads): (usize, usize),
        hidden: &[usize],
        count: usize,
        (learning_rate, tau): (f64, f64),
        rows: usize,
        rng: &mut Generator,
    ) -> Result<Self> {
        let (inputs, activation) = (Inputs::Vector(width), Activation::Relu);
        let network =
            Mlp::new(Shape { inputs, hidden: hidden.to_vec(), activation, policy: 0, value: heads })?;
        let critics = (0..count)
            .map(|_| Tracked::new(&network, learning_rate, tau as f32, rng))
            .collect::<Result<_>>()?;
        Ok(Self {
            scratches: (0..count).map(|_| network.scratch(rows)).collect(),
            network,
            critics,
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

    /// ψ by the averaged critic that scores it least, row by row, appended to `values`.
    pub fn values(&mut self, at: Rows, values: &mut Vec<f32>) {
        for (critic, scratch) in self.critics.iter().zip(&mut self.scratches) {
            self.network.forward(critic.average(), at.rows, scratch);
        }
        self.believe(at);
        let heads = self.sizes.len();
        for (row, (critic, left)) in self.believed.iter().zip(at.left).enumerate() {
            let psi = &self.scratches[*critic].value.output[row * heads..(row + 1) * heads];
            values.extend(psi.iter().map(|psi| left * psi));
        }
    }

    /// One step of every critic towards `aims`.
    pub fn learn(&mut self, at: Rows, aims: &[f32]) {
        let heads = self.sizes.len();
        let share = 1.0 / at.left.len() as f32;
        // All heads are as important; of the score it is the direction that counts.
        let length = at.weights.iter().map(|weight| weight * weight).sum::<f32>().sqrt();
        for (critic, scratch) in self.critics.iter_mut().zip(&mut self.scratches) {
            self.network.forward(critic.parameters(), at.rows, scratch);
            let head = &mut scratch.value;
            let rows = head.output.chunks_exact(heads).zip(head.gradient.chunks_exact_mut(heads));
            for ((psi, pulled), (aim, left)) in rows.zip(aims.chunks_exact(heads).zip(at.left)) {
                let along: f32 = (0..heads).map(|k| at.weights[k] / length * (left * psi[k] - aim[k])).sum();
                for k in 0..heads {
                    let error = left * psi[k] - aim[k] + ALONG * along * at.weights[k] / length;
                    pulled[k] = share * left * error;
                }
            }
            critic.step(&self.network, at.rows, scratch);
        }
    }

    /// The slopes of the least score by the last `width` entries of each row.
    pub fn slopes(&mut self, at: Rows, width: usize, slopes: &mut Vec<f32>) {
        for (critic, scratch) in self.critics.iter().zip(&mut self.scratches) {
            self.network.forward(critic.parameters(), at.rows, scratch);
        }
        self.believe(at);
        let heads = self.sizes.len();
        for (row, (critic, left)) in self.believed.iter().zip(at.left).enumerate() {
            let pulled = &mut self.scratches[*critic].value.gradient[row * heads..(row + 1) * heads];
            pulled.iter_mut().zip(at.weights).for_each(|(pulled, weight)| *pulled = left * weight);
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

    /// Chooses the critic that scores least, row by row, after a pass.
    fn believe(&mut self, at: Rows) {
        let heads = self.sizes.len();
        let score = |scratch: &Scratch, row: usize| -> f32 {
            let psi = &scratch.value.output[row * heads..(row + 1) * heads];
            psi.iter().zip(at.weights).map(|(psi, weight)| psi * weight).sum()
        };
        self.believed.clear();
        for row in 0..at.left.len() {
            let scores = self.scratches.iter().map(|scratch| score(scratch, row));
            self.believed.push(least(scores));
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
