use super::ActorCritic;
use crate::error::Result;
use crate::random::{self, Generator};
use crate::state::{Loader, Saver, misfit};

/// The last episodes, to learn again from those that went better than was expected (self-imitation, Oh et al. 2018).
/// Measurements are kept as vectors, so that every λ finds the episodes that were good for it.
#[derive(Debug)]
pub(super) struct Recall {
    entries: usize,
    width: usize,
    dim: usize,
    /// Steps as rows: an observation, an action, a measurement, and the part of the episode that was left.
    rows: Vec<f32>,
    /// Whether a step was the last of its episode.
    ends: Vec<bool>,
    /// What followed, as `weights` and a discount have it.
    returns: Vec<f32>,
    weights: Vec<f64>,
    capacity: usize,
    /// Where the next step goes.
    next: usize,
    /// The steps of every episode under way.
    under_way: Vec<Vec<f32>>,
}

/// Numbers that are kept at most.
const MOST: usize = 4_000_000;
/// Steps that are kept at most.
const STEPS: usize = 100_000;

impl Recall {
    pub fn new(entries: usize, width: usize, dim: usize, num_envs: usize) -> Self {
        let capacity = (MOST / (entries + width + dim + 1)).min(STEPS);
        Self {
            entries,
            width,
            dim,
            rows: Vec::new(),
            ends: Vec::new(),
            returns: Vec::new(),
            weights: vec![0.0; dim],
            capacity,
            next: 0,
            under_way: vec![Vec::new(); num_envs],
        }
    }

    fn stride(&self) -> usize {
        self.entries + self.width + self.dim + 1
    }

    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// What an environment shows before its next step.
    pub fn see(&mut self, env: usize, observation: &[f64]) {
        self.under_way[env].extend(observation.iter().map(|value| *value as f32));
    }

    /// What was done then, and what came of it.
    pub fn act(&mut self, env: usize, action: &[f32], z: &[f64], left: f32) {
        let steps = &mut self.under_way[env];
        steps.extend_from_slice(action);
        steps.extend(z.iter().map(|value| *value as f32));
        steps.push(left);
    }

    /// Keeps the episode of an environment, which is over.
    pub fn keep(&mut self, env: usize, gamma: f32) {
        let (steps, stride) = (std::mem::take(&mut self.under_way[env]), self.stride());
        let count = steps.len() / stride;
        let first = self.next;
        for (number, step) in steps.chunks_exact(stride).enumerate() {
            if self.ends.len() < self.capacity {
                self.rows.extend_from_slice(step);
                self.ends.push(false);
                self.returns.push(0.0);
            } else {
                self.rows[self.next * stride..][..stride].copy_from_slice(step);
            }
            self.ends[self.next] = number + 1 == count;
            self.next = (self.next + 1) % self.capacity;
        }
        self.sum(first, count.min(self.capacity), gamma);
        self.under_way[env] = steps;
        self.under_way[env].clear();
    }

    /// Forgets the episode of an environment.
    pub fn leave_one(&mut self, env: usize) {
        self.under_way[env].clear();
    }

    /// Forgets the episodes under way, which are left.
    pub fn leave(&mut self) {
        self.under_way.iter_mut().for_each(Vec::clear);
    }

    /// Looks at all episodes by other weights.
    pub fn look_by(&mut self, weights: &[f64], gamma: f32) {
        if self.weights != weights {
            self.weights.copy_from_slice(weights);
            let oldest = if self.len() < self.capacity { 0 } else { self.next };
            self.sum(oldest, self.len(), gamma);
        }
    }

    /// What followed each of `count` steps from `first` on, the last of which ends an episode.
    fn sum(&mut self, first: usize, count: usize, gamma: f32) {
        let (stride, start) = (self.stride(), self.entries + self.width);
        let mut sum = 0.0;
        for place in (0..count).rev().map(|step| (first + step) % self.capacity) {
            let z = &self.rows[place * stride + start..][..self.dim];
            let gain: f64 = z.iter().zip(&self.weights).map(|(z, weight)| f64::from(*z) * weight).sum();
            sum = gain as f32 + if self.ends[place] { 0.0 } else { gamma * sum };
            self.returns[place] = sum;
        }
    }

    /// A step drawn at random.
    pub fn draw(&self, rng: &mut Generator) -> Recalled<'_> {
        let place = random::below(self.len(), rng);
        let row = &self.rows[place * self.stride()..][..self.stride()];
        let (observation, row) = row.split_at(self.entries);
        Recalled {
            observation,
            action: &row[..self.width],
            left: row[self.width + self.dim],
            follows: self.returns[place],
        }
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.rows);
        to.put(&self.ends);
        to.put(&self.next);
        to.put_all(&self.under_way);
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        let stride = self.stride();
        let is_whole =
            |rows: &Vec<f32>| rows.len().is_multiple_of(stride) && rows.iter().all(|v| v.is_finite());
        self.rows = from.get_where("a step", is_whole)?;
        self.ends = from.get()?;
        self.next = from.get()?;
        let (count, capacity) = (self.ends.len(), self.capacity);
        let is_next = if count < capacity { self.next == count } else { self.next < capacity };
        if count > capacity || self.rows.len() != count * stride || !is_next {
            return Err(misfit("the steps that are kept do not fit"));
        }
        for steps in &mut self.under_way {
            *steps = from.get_where("a step", is_whole)?;
        }
        self.returns = vec![0.0; count];
        // Everything is looked at anew.
        self.weights.fill(f64::NAN);
        Ok(())
    }
}

/// A step that was kept.
pub(super) struct Recalled<'a> {
    pub observation: &'a [f32],
    pub action: &'a [f32],
    /// The part of the episode that was left.
    pub left: f32,
    /// What followed, discounted.
    pub follows: f32,
}

/// Rows that are drawn, of which the most surprising are learnt from.
pub(super) const DRAWN: usize = 256;
/// Rows of a step of the optimiser.
pub(super) const LEARNT: usize = 64;
/// Steps of the optimiser after every batch.
const UPDATES: usize = 8;
/// The largest surprise, in deviations of returns.
const LARGEST: f32 = 1.0;

impl ActorCritic {
    /// Learns again from kept steps that were followed by more than the critic expects.
    pub(super) fn imitate(&mut self, weights: &[f64]) -> Result<()> {
        let Some(mut recall) = self.recall.take() else { return Ok(()) };
        recall.look_by(weights, self.gamma);
        std::mem::swap(&mut self.batch, &mut self.recalled);
        let mut learnt = Ok(());
        for _ in 0..UPDATES {
            if learnt.is_err() || recall.len() < DRAWN {
                break;
            }
            self.recollect(&recall);
            let rows = self.order.len();
            if rows > 0 {
                self.accumulate(0..rows, |_, _, advantage| -advantage);
                learnt = self.step();
            }
        }
        std::mem::swap(&mut self.batch, &mut self.recalled);
        self.recall = Some(recall);
        learnt
    }

    /// Fills the batch with kept steps, and puts those in order that surprise most.
    fn recollect(&mut self, recall: &Recall) {
        let (heads, width) = (self.weights.len(), self.action.len());
        let entries = recall.entries;
        let unit = if self.options.norm_value { self.returns.deviation(0) as f32 } else { 1.0 };
        let mut observation = vec![0.0; entries];
        for row in 0..DRAWN {
            let step = recall.draw(&mut self.rng);
            observation.iter_mut().zip(step.observation).for_each(|(to, value)| *to = f64::from(*value));
            self.frame.input(&observation, &mut self.batch.inputs[row * entries..][..entries]);
            self.batch.actions[row * width..][..width].copy_from_slice(step.action);
            self.batch.left[row] = step.left;
            self.batch.targets[row * heads] = step.follows / unit;
        }
        let own = self.actor.parameters() + self.actions.parameters();
        let mut disappointment = 0.0;
        for first in (0..DRAWN).step_by(LEARNT) {
            let inputs = &self.batch.inputs[first * entries..(first + LEARNT) * entries];
            self.critic.forward(&self.parameters[own..], inputs, &mut self.valuing);
            for (row, values) in (first..).zip(self.valuing.value.output.chunks_exact(heads)) {
                let targets = &mut self.batch.targets[row * heads..][..heads];
                let surprise = targets[0] - self.batch.left[row] * values[0];
                for (target, value) in targets.iter_mut().zip(values) {
                    *target = self.batch.left[row] * value;
                }
                self.batch.advantages[row] = surprise;
                disappointment += surprise.min(0.0).powi(2);
            }
        }
        // Chance and better days disappoint as much as they delight: only what stands out is no chance.
        let chance = (disappointment / DRAWN as f32).sqrt();
        for (row, advantage) in self.batch.advantages.iter_mut().enumerate() {
            let surprise = (*advantage - chance).clamp(0.0, LARGEST);
            self.batch.targets[row * heads] += surprise;
            *advantage = self.options.imitation_coef * surprise;
        }
        let surprise = |row: &u32| self.batch.advantages[*row as usize];
        self.order.clear();
        self.order.extend((0..DRAWN as u32).filter(|row| surprise(row) > 0.0));
        self.order.sort_by(|a, b| surprise(b).total_cmp(&surprise(a)));
        self.order.truncate(LEARNT);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::super::ActorCriticOptions;
    use super::*;
    use crate::env::{Simulator, TabularMdp};
    use crate::measurement::Measures;
    use crate::policy::{Memory, Policy};
    use crate::rl::Learner;

    const GAMMA: f32 = 0.5;

    /// An episode in environment 0 whose steps measure these pairs.
    fn play(recall: &mut Recall, measured: &[[f64; 2]]) {
        for (number, z) in measured.iter().enumerate() {
            recall.see(0, &[number as f64]);
            recall.act(0, &[7.0], z, 1.0);
        }
        recall.keep(0, GAMMA);
    }

    #[test]
    fn every_lambda_sees_what_was_good_for_it() {
        let mut recall = Recall::new(1, 1, 2, 1);
        recall.look_by(&[1.0, 0.0], GAMMA);
        play(&mut recall, &[[1.0, 0.0], [2.0, 0.0], [4.0, 8.0]]);
        play(&mut recall, &[[0.0, 1.0]]);
        assert_eq!(recall.returns, [3.0, 4.0, 4.0, 0.0]);
        recall.look_by(&[0.0, -1.0], GAMMA);
        assert_eq!(recall.returns, [-2.0, -4.0, -8.0, -1.0]);
    }

    #[test]
    fn the_oldest_steps_make_room() {
        let mut recall = Recall { capacity: 4, ..Recall::new(1, 1, 2, 1) };
        recall.look_by(&[1.0, 0.0], GAMMA);
        play(&mut recall, &[[1.0, 0.0], [2.0, 0.0], [4.0, 0.0]]);
        play(&mut recall, &[[8.0, 0.0], [16.0, 0.0]]);
        assert_eq!((recall.len(), recall.next), (4, 1));
        assert_eq!(recall.returns, [16.0, 4.0, 4.0, 16.0]);
        recall.look_by(&[2.0, 0.0], GAMMA);
        assert_eq!(recall.returns, [32.0, 8.0, 8.0, 32.0]);
    }

    #[test]
    fn what_is_left_is_not_kept() {
        let mut recall = Recall::new(1, 1, 2, 1);
        recall.see(0, &[0.0]);
        recall.act(0, &[7.0], &[5.0, 5.0], 1.0);
        recall.leave();
        play(&mut recall, &[[1.0, 0.0]]);
        assert_eq!(recall.len(), 1);
    }

    /// How often a learner that only remembers takes the second of two actions, which it seldom took, and which paid.
    fn imitating(coefficient: f32) -> usize {
        let mut model = TabularMdp::builder(2, 2, Measures::new([("reward", 1)]));
        model.terminal(1).start(0, 1.0);
        for action in 0..2 {
            model.transition((0, action), 1.0, 1, &[(0, action as f64)]);
        }
        let world = Box::new(Simulator::new(Arc::new(model.build().unwrap()), None));
        let options = ActorCriticOptions::a2c().imitation_coef(coefficient);
        let mut learner = ActorCritic::new(vec![world], 0.9, 10, options, random::generator(0)).unwrap();
        for action in (0..16).map(|number| number / 15).cycle().take(2 * DRAWN) {
            let Some(recall) = &mut learner.recall else { break };
            recall.see(0, &[0.0]);
            recall.act(0, &[action as f32], &[f64::from(action)], 1.0);
            recall.keep(0, GAMMA);
        }
        (0..3).for_each(|_| learner.imitate(&[1.0]).unwrap());
        let (policy, mut rng, mut memory) = (learner.policy(), random::generator(1), Memory::default());
        let mut act = || {
            let mut action = [0.0];
            policy.act(&[0.0], 0, &mut rng, &mut memory, &mut action);
            action[0] as usize
        };
        (0..4_000).map(|_| act()).sum()
    }

    #[test]
    fn what_paid_is_done_again() {
        let (without, with) = (imitating(0.0), imitating(1.0));
        assert!((1_800..2_200).contains(&without) && with > 2_400, "{without} and {with} of 4,000");
    }

    #[test]
    fn saved_steps_are_the_same() {
        let mut recall = Recall::new(1, 1, 2, 1);
        play(&mut recall, &[[1.0, 0.0], [2.0, 3.0]]);
        recall.see(0, &[4.0]);
        recall.act(0, &[7.0], &[5.0, 5.0], 0.5);
        let mut saver = Saver::default();
        recall.save(&mut saver);
        let mut again = Recall::new(1, 1, 2, 1);
        again.load(&mut Loader::new(&saver.into_bytes())).unwrap();
        for recall in [&mut recall, &mut again] {
            recall.keep(0, GAMMA);
            recall.look_by(&[1.0, 1.0], GAMMA);
        }
        assert_eq!((again.rows, again.ends, again.returns), (recall.rows, recall.ends, recall.returns));
    }
}
