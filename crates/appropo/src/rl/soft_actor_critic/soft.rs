use super::actor::Actor;
use super::critics::{Critics, Rows};
use crate::error::Result;
use crate::nn::{Optimizer, Rule};
use crate::random::Generator;
use crate::state::{Loader, Saver};

/// An actor, its critics and the weight of entropy, which learn from one another.
#[derive(Debug)]
pub(in crate::rl) struct Soft {
    pub actor: Actor,
    pub critics: Critics,
    /// The logarithm of the weight of entropy.
    log_ent_coef: [f32; 1],
    optimizer: Optimizer,
    entropy: Entropy,
    /// Observations with actions that are numbers.
    rows: Vec<f32>,
    values: Vec<f32>,
    aims: Vec<f32>,
    /// Of all actions, or slopes where these are numbers.
    scores: Vec<f32>,
    /// The probability of an action that is a part of its row.
    certain: Vec<f32>,
}

/// How entropy counts.
#[derive(Debug, Clone, Copy)]
pub(in crate::rl) struct Entropy {
    /// Its weight, or the first one where it is learnt.
    pub coef: f64,
    pub is_coef_learnt: bool,
    /// What its weight is learnt for.
    pub target: f32,
}

/// Transitions to learn from, row by row.
#[derive(Debug, Default)]
pub(in crate::rl) struct SoftBatch {
    pub before: Seen,
    pub after: Seen,
    /// The actions that were taken, one after the other.
    pub taken: Vec<f32>,
    /// What was gained for every head but the last, which is that of entropy.
    pub gains: Vec<f32>,
    /// γ, or 0 where nothing comes after.
    pub gammas: Vec<f32>,
    /// What each head counts for: the same for all rows, or its own for each. That of entropy is filled in.
    pub weights: Vec<f32>,
}

/// Observations on their way into networks.
#[derive(Debug, Default)]
pub(in crate::rl) struct Seen {
    /// As the actor takes them.
    pub inputs: Vec<f32>,
    /// As critics take them beside actions that are numbers.
    pub dense: Vec<f32>,
    /// The part of what can still be measured.
    pub left: Vec<f32>,
}

impl Seen {
    pub fn clear(&mut self) {
        self.inputs.clear();
        self.dense.clear();
        self.left.clear();
    }
}

impl SoftBatch {
    pub fn clear(&mut self) {
        self.before.clear();
        self.after.clear();
        self.taken.clear();
        self.gains.clear();
        self.gammas.clear();
    }
}

impl Soft {
    pub fn new(actor: Actor, critics: Critics, entropy: Entropy, learning_rate: f64) -> Result<Self> {
        Ok(Self {
            actor,
            critics,
            log_ent_coef: [entropy.coef.ln() as f32],
            optimizer: Optimizer::new(Rule::ADAM, learning_rate, 1)?,
            entropy,
            rows: Vec::new(),
            values: Vec::new(),
            aims: Vec::new(),
            scores: Vec::new(),
            certain: Vec::new(),
        })
    }

    pub fn start_afresh(&mut self, rng: &mut Generator) {
        self.actor.start_afresh(rng);
        self.critics.start_afresh(rng);
        self.explore_again();
    }

    pub fn explore_again(&mut self) {
        self.log_ent_coef = [self.entropy.coef.ln() as f32];
        self.optimizer.reset();
    }

    /// One step of learning for the critics, the actor and the weight of entropy.
    pub fn update(&mut self, batch: &mut SoftBatch, rng: &mut Generator) -> Result<()> {
        let ent_coef = self.log_ent_coef[0].exp();
        let size = *self.critics.sizes().last().unwrap_or(&1.0);
        for weights in batch.weights.chunks_exact_mut(self.critics.sizes().len()) {
            weights.iter_mut().last().into_iter().for_each(|weight| *weight = ent_coef * size);
        }
        self.aim(batch, rng);

        let SoftBatch { before: Seen { inputs, dense, left }, taken, weights, .. } = &*batch;
        let Self { actor, critics, rows, scores, .. } = self;
        let is_counted = actor.is_counted();
        if is_counted {
            let action = |row: usize| taken[row] as usize;
            critics.learn(Rows { rows: inputs, left, weights }, action, &self.aims);
        } else {
            beside(dense, taken, left.len(), rows);
            critics.learn(Rows { rows, left, weights }, |_| 0, &self.aims);
        }

        actor.draw(inputs, rng);
        if is_counted {
            critics.scores(Rows { rows: inputs, left, weights }, scores);
        } else {
            beside(dense, &actor.drawn, left.len(), rows);
            critics.slopes(Rows { rows, left, weights }, actor.width(), scores);
        }
        actor.learn(inputs, scores, ent_coef)?;

        if self.entropy.is_coef_learnt {
            let entropy = actor.entropies.iter().sum::<f32>() / actor.entropies.len() as f32;
            self.optimizer.step(&mut self.log_ent_coef, &[entropy - self.entropy.target]);
        }
        Ok(())
    }

    /// What critics learn: the gains, and what follows by the averaged critics.
    fn aim(&mut self, batch: &SoftBatch, rng: &mut Generator) {
        let SoftBatch { after: Seen { inputs, dense, left }, gains, gammas, weights, .. } = batch;
        let Self { actor, critics, rows, values, aims, certain, .. } = self;
        actor.draw(inputs, rng);
        if actor.is_counted() {
            critics.values(Rows { rows: inputs, left, weights }, &actor.drawn, values);
        } else {
            beside(dense, &actor.drawn, left.len(), rows);
            certain.resize(left.len(), 1.0);
            critics.values(Rows { rows, left, weights }, certain, values);
        }
        aims.clear();
        let (sizes, heads) = (critics.sizes(), critics.sizes().len());
        for (row, gains) in gains.chunks_exact(heads - 1).enumerate() {
            let values = &values[row * heads..(row + 1) * heads];
            for ((gain, size), value) in gains.iter().zip(sizes).zip(values) {
                aims.push(gain / size + gammas[row] * value);
            }
            // Entropy counts as far as it is unusual: to go on for longer is not worth anything.
            let entropy = left[row] * (actor.entropies[row] - self.entropy.target) / sizes[heads - 1];
            aims.push(gammas[row] * (entropy + values[heads - 1]));
        }
    }

    pub fn save(&self, to: &mut Saver) {
        self.actor.save(to);
        self.critics.save(to);
        to.put_all(&self.log_ent_coef);
        self.optimizer.save(to);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.actor.load(from)?;
        self.critics.load(from)?;
        from.get_finite("the weight of entropy", &mut self.log_ent_coef)?;
        self.optimizer.load(from)
    }
}

/// Writes each of `count` observations beside its action.
fn beside(observations: &[f32], actions: &[f32], count: usize, rows: &mut Vec<f32>) {
    rows.clear();
    let (width, numbers) = (observations.len() / count.max(1), actions.len() / count.max(1));
    for row in 0..count {
        rows.extend_from_slice(&observations[row * width..(row + 1) * width]);
        rows.extend_from_slice(&actions[row * numbers..(row + 1) * numbers]);
    }
}
