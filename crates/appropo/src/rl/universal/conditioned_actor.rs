use std::sync::Arc;

use super::distilled::Distilled;
use super::reach::Reach;
use super::{Batch, NetworkOptions, UniversalNetwork};
use crate::env::Space;
use crate::error::Result;
use crate::nn::{Inputs, Mlp, Shape};
use crate::policy::{Actions, NetworkPolicy, middle_and_half};
use crate::random::Generator;
use crate::rl::soft_actor_critic::{self, Actor, Critics, CriticsOptions, Entropy, Rows, Soft, SoftBatch};
use crate::rl::{Encoder, Replay, Transition};
use crate::state::{Loader, Saver, misfit};

/// For actions that are numbers: a soft actor and critics that are told λ.
///
/// What is new is one more measurement, with an entry of λ of its own: the policy of the λ that asks for nothing else goes
/// where something new is.
#[derive(Debug)]
pub struct ConditionedActor {
    soft: Soft,
    /// The network of a policy: the actor without λ.
    acting: Arc<Mlp>,
    distilled: Distilled,
    reach: Reach,
    /// The size of each measurement.
    scale: Vec<f32>,
    target_entropy: f32,
    /// The λ that asks for nothing but what is new.
    lam_of_new: Vec<f32>,
    batch: SoftBatch,
    rows: Vec<f32>,
    newness: Vec<f32>,
    values: Vec<f32>,
}

/// The share of a batch that is learnt for the λ that asks for what is new.
const FOR_NEW: f32 = 0.2;

/// The size of returns in the networks, so that steps pay about as much as they have entropy.
const RETURNS: f32 = 10.0;
/// The weight of entropy that learning begins with.
const ENTROPY: f64 = 0.1;
/// Steps that count at most where nothing says how long an episode is.
const LONG: f32 = 1000.0;

impl ConditionedActor {
    /// Knows nothing yet. Actions are numbers within bounds.
    pub fn new(
        encoder: &Encoder,
        actions: &Space,
        dim: usize,
        options: &NetworkOptions,
        rng: &mut Generator,
    ) -> Result<Self> {
        let (width, numbers) = (encoder.inputs().width(), actions.entries());
        let NetworkOptions { critics, hidden, learning_rate, tau, batch, gamma, .. } = options;
        let entropy = Entropy { coef: ENTROPY, is_coef_learnt: true, target: -(numbers as f32) };
        let told = Inputs::Vector(width + dim + 1);
        let acts = (soft_actor_critic::actions(actions)?, actions);
        let mut actor = Actor::new(told, hidden, acts, *learning_rate, *batch)?;
        actor.start_afresh(rng);
        let critics = CriticsOptions {
            inputs: Inputs::Vector(width + dim + 1 + numbers),
            actions: 1,
            heads: dim + 2,
            hidden,
            count: *critics,
            learning_rate: *learning_rate,
            tau: f64::from(*tau),
            rows: *batch,
        };
        let shape = Shape { inputs: encoder.inputs(), ..actor.network.shape().clone() };
        let tried = Inputs::Vector(width + numbers);
        Ok(Self {
            acting: Arc::new(Mlp::new(shape)?),
            soft: Soft::new(actor, Critics::new(critics, rng)?, entropy, *learning_rate)?,
            distilled: Distilled::new(tried, hidden, 1, *learning_rate, *batch, rng)?,
            reach: Reach::new(*gamma, dim),
            scale: vec![1.0; dim],
            target_entropy: entropy.target,
            lam_of_new: vec![0.0; dim].into_iter().chain([1.0]).collect(),
            batch: SoftBatch::default(),
            rows: Vec::new(),
            newness: Vec::new(),
            values: Vec::new(),
        })
    }
}

impl UniversalNetwork for ConditionedActor {
    fn reach_horizon(&mut self, steps: usize) {
        self.reach.horizon(steps);
    }

    fn see(&mut self, encoder: &Encoder, transition: &Transition) {
        self.reach.see(transition.gains);
        if self.distilled.is_beginning() {
            self.rows.clear();
            encoder.push_dense(transition.observation, &mut self.rows);
            self.rows.extend_from_slice(transition.action);
            self.distilled.begin(&self.rows, 0);
        }
    }

    fn direction(&self, lam: &[f64], to: &mut Vec<f32>) {
        super::critics::direction(lam, &self.scale, to);
        to.push(0.0);
    }

    fn learn(&mut self, encoder: &Encoder, batch: Batch, rng: &mut Generator) -> Result<()> {
        let (dim, count) = (self.scale.len(), batch.places.len());
        self.learn_novelty(encoder, batch.replay, batch.places);
        self.newness.clear();
        self.newness.extend((0..count).map(|row| self.distilled.newness(row, 0)));
        let usual = self.newness.iter().sum::<f32>() / count.max(1) as f32;

        self.batch.clear();
        self.batch.weights.clear();
        // Places are drawn at random: the first are as good as any.
        let for_new = (FOR_NEW * count as f32) as usize;
        for (row, (place, lam)) in batch.places.iter().zip(batch.lams.chunks_exact(dim + 1)).enumerate() {
            let transition = batch.replay.get(*place);
            let lam = if row < for_new { &self.lam_of_new } else { lam };
            let left = [self.reach.left(transition.steps), self.reach.left(transition.steps + 1)];
            let SoftBatch { before, after, .. } = &mut self.batch;
            let seen = [(before, transition.observation), (after, transition.next)];
            for ((seen, observation), left) in seen.into_iter().zip(left) {
                for rows in [&mut seen.inputs, &mut seen.dense] {
                    encoder.push_dense(observation, rows);
                    rows.extend_from_slice(lam);
                }
                seen.left.push(left);
            }
            self.batch.taken.extend_from_slice(transition.action);
            self.batch.gains.extend_from_slice(transition.gains);
            self.batch.gains.push(self.newness[row] - usual);
            self.batch.gammas.push(self.reach.gamma(transition.ended));
            self.batch.weights.extend(lam[..dim].iter().map(|lam| -lam));
            self.batch.weights.extend([lam[dim], 0.0]);
        }
        self.soft.update(&mut self.batch, rng)
    }

    fn predict(&mut self, encoder: &Encoder, starts: &[Vec<f32>], lam: &[f32]) -> Vec<f64> {
        let (dim, count) = (self.scale.len(), starts.len());
        let Self { soft: Soft { actor, critics, .. }, rows, values, reach, .. } = self;
        rows.clear();
        for start in starts {
            encoder.push_dense(start, rows);
            rows.extend_from_slice(lam);
        }
        actor.draw_middle(rows);
        let numbers = actor.width();
        rows.clear();
        for (start, action) in starts.iter().zip(actor.drawn.chunks_exact(numbers)) {
            encoder.push_dense(start, rows);
            rows.extend_from_slice(lam);
            rows.extend_from_slice(action);
        }
        let weights: Vec<f32> = lam[..dim].iter().map(|lam| -lam).chain([lam[dim], 0.0]).collect();
        let certain = vec![1.0; count];
        critics.values(Rows { rows, left: &certain, weights: &weights }, &certain, values);
        let mut mean = vec![0.0; dim];
        for psi in values.chunks_exact_mut(dim + 2) {
            reach.clamp(&mut psi[..dim], &critics.sizes()[..dim]);
            for ((mean, psi), size) in mean.iter_mut().zip(&*psi).zip(critics.sizes()) {
                *mean += f64::from(psi * size) / count as f64;
            }
        }
        mean
    }

    fn policy(&self, encoder: &Encoder, lam: &[f32]) -> Result<NetworkPolicy> {
        let Actor { network, actions, parameters, .. } = &self.soft.actor;
        let mut acting = vec![0.0; self.acting.parameters()];
        for (place, (from, to)) in network.layers().iter().zip(self.acting.layers()).enumerate() {
            let (weights, biases) = to.of_mut(&mut acting);
            let (seen, told) = parameters[from.weights.clone()].split_at(weights.len());
            weights.copy_from_slice(seen);
            biases.copy_from_slice(&parameters[from.biases.clone()]);
            if place == 0 {
                // λ is the same in every step: its share of the first layer is one of the biases.
                for (lam, row) in lam.iter().zip(told.chunks_exact(from.outputs)) {
                    biases.iter_mut().zip(row).for_each(|(bias, weight)| *bias += lam * weight);
                }
                encoder.fold(weights, to.outputs, 0..to.outputs, biases);
            }
        }
        NetworkPolicy::new(Arc::clone(&self.acting), actions.clone(), acting)
    }

    fn rescale(&mut self, sizes: &[f32]) {
        let long = self.reach.steps().min(LONG);
        let others = [long, long * self.target_entropy.abs().max(1.0)];
        let sizes: Vec<f32> = sizes.iter().chain(&others).map(|size| size / RETURNS).collect();
        self.soft.critics.resize(&sizes);
        // Critics leave sizes alone that hardly change; λ is in theirs, so that their scores are along it.
        for (scale, size) in self.scale.iter_mut().zip(self.soft.critics.sizes()) {
            *scale = RETURNS * size;
        }
    }

    fn fits(&self, policy: &NetworkPolicy) -> bool {
        policy.network().shape() == self.acting.shape() && *policy.actions() == self.soft.actor.actions
    }

    fn remembered(&self, action: &[f64], to: &mut Vec<f32>) {
        to.clear();
        let Actions::Squashed(bounds) = &self.soft.actor.actions else { return };
        to.extend(action.iter().zip(bounds).map(|(action, (low, high))| {
            let (middle, half) = middle_and_half(*low, *high);
            ((action - middle) / half) as f32
        }));
    }

    fn venture(
        &mut self,
        encoder: &Encoder,
        observation: &[f32],
        rng: &mut Generator,
        action: &mut [f64],
    ) -> Option<bool> {
        self.rows.clear();
        encoder.push_dense(observation, &mut self.rows);
        self.rows.extend_from_slice(&self.lam_of_new);
        let actor = &mut self.soft.actor;
        actor.draw(&self.rows, rng);
        actor.actions.cut(&actor.drawn, action);
        Some(true)
    }

    fn is_counting(&self) -> bool {
        false
    }

    fn ask_for_more(&mut self) {}

    fn novelty_updates(&self) -> usize {
        0
    }

    fn learn_novelty(&mut self, encoder: &Encoder, replay: &Replay, places: &[usize]) {
        self.rows.clear();
        for place in places {
            let transition = replay.get(*place);
            encoder.push_dense(transition.observation, &mut self.rows);
            self.rows.extend_from_slice(transition.action);
        }
        self.distilled.learn(&self.rows, places.len(), |_| 0);
    }

    fn save(&self, to: &mut Saver) {
        self.soft.save(to);
        self.distilled.save(to);
        self.reach.save(to);
        to.put_all(&self.scale);
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.soft.load(from)?;
        self.distilled.load(from)?;
        self.reach.load(from)?;
        from.get_finite("the size of a measurement", &mut self.scale)?;
        if self.scale.iter().any(|scale| *scale <= 0.0) {
            return Err(misfit("the size of a measurement is not above 0"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Memory;
    use crate::random;

    /// A policy has λ in its biases and observations as they are.
    #[test]
    fn a_policy_does_what_the_actor_does_for_its_lam() {
        let mut rng = random::generator(3);
        let mut encoder = Encoder::new(&Space::Continuous(vec![(-9.0, 9.0); 3]));
        for _ in 0..50 {
            encoder.add(&[0, 1, 2].map(|k| (5 * k) as f32 + random::normal(&mut rng) as f32));
        }
        let options = NetworkOptions {
            critics: 2,
            hidden: vec![16, 8],
            learning_rate: 1e-3,
            tau: 0.01,
            batch: 4,
            gamma: 0.9,
            temperature: 0.01,
        };
        let actions = Space::Continuous(vec![(-1.0, 3.0), (0.0, 0.5)]);
        let mut network = ConditionedActor::new(&encoder, &actions, 2, &options, &mut rng).unwrap();
        // Far from the beginning, which is nearly without preference.
        network.soft.actor.parameters.iter_mut().for_each(|p| *p += 0.3 * random::normal(&mut rng) as f32);
        for lam in [[1.0, -0.5], [-3.0, 0.1]] {
            let (mut told, observation) = (Vec::new(), [0.7, 5.5, 8.0]);
            network.direction(&lam, &mut told);
            let policy = network.policy(&encoder, &told).unwrap();
            let mut done = [0.0; 2];
            policy.most_likely(&observation, &mut Memory::default(), &mut done);
            let mut row = Vec::new();
            encoder.push_dense(&observation.map(|v| v as f32), &mut row);
            row.extend(told);
            let (actor, mut expected) = (&mut network.soft.actor, [0.0; 2]);
            actor.draw_middle(&row);
            actor.actions.cut(&actor.drawn, &mut expected);
            assert!(done.iter().zip(&expected).all(|(d, e)| (d - e).abs() < 1e-5), "{done:?} {expected:?}");
            let mut remembered = Vec::new();
            network.remembered(&expected, &mut remembered);
            let drawn = &network.soft.actor.drawn;
            assert!(drawn.iter().zip(&remembered).all(|(d, r)| (d - r).abs() < 1e-5), "{remembered:?}");
        }
    }
}
