use super::distilled::Distilled;
use crate::error::Result;
use crate::nn::{Activation, Inputs, Mlp, Scratch, Shape};
use crate::random::{self, Generator};
use crate::rl::{Encoder, Replay, Tracked};
use crate::state::{Loader, Saver};

/// What is new, and how to get there: Q(s, a) = max(n(s, a), γ max Q(s′, ·)), where n is between 0 and 1.
///
/// Where states can be counted, n is 1 for an action tried fewer than m times there, else 0. Otherwise n is the error of a
/// network that learns what a random one says of the tried actions (random network distillation, Burda et al. 2019, with
/// outputs for every action): an action is new before its successor is known.
#[derive(Debug)]
pub(super) struct Novelty {
    network: Mlp,
    value: Tracked,
    scratch: Scratch,
    newness: Newness,
    gamma: f32,
    actions: usize,
    rows: Vec<f32>,
    nexts: Vec<f32>,
    aims: Vec<f32>,
    best: Vec<usize>,
}

#[derive(Debug)]
enum Newness {
    Counts { tried: Vec<u32>, enough: u32 },
    Distilled(Box<Distilled>),
}

/// γ of getting to something new, and how far the average that it is learnt from moves in an update. What was new soon is
/// not: where tries are counted and learning is by them alone, hope is given up in a few steps.
const GAMMA: f32 = 0.97;
const TAU: f32 = 0.02;
const COUNTED_GAMMA: f32 = 0.95;
const COUNTED_TAU: f32 = 0.1;
/// Updates after a step towards something new where tries are counted. A random network's answers would be learnt too soon.
const COUNTED_UPDATES: usize = 16;
/// Units of the layers that are enough where states are counted.
const COUNTED_HIDDEN: [usize; 2] = [64, 64];
/// How near something new must be for it to be worth going there.
const REACH: f32 = 0.05;

impl Novelty {
    /// Nothing has been tried yet.
    pub fn new(
        encoder: &Encoder,
        actions: usize,
        hidden: &[usize],
        learning_rate: f64,
        batch: usize,
        rng: &mut Generator,
    ) -> Result<Self> {
        let is_counted = matches!(encoder.inputs(), Inputs::OneHot(_));
        let hidden = if is_counted { &COUNTED_HIDDEN[..] } else { hidden };
        let shape = |value: usize| Shape {
            inputs: encoder.inputs(),
            hidden: hidden.to_vec(),
            activation: Activation::Relu,
            policy: 1,
            value,
        };
        let network = Mlp::new(shape(actions))?;
        let newness = match encoder.inputs() {
            Inputs::OneHot(states) => Newness::Counts { tried: vec![0; states * actions], enough: 1 },
            Inputs::Vector(_) => Newness::Distilled(Box::new(Distilled::new(
                encoder.inputs(),
                hidden,
                actions,
                learning_rate,
                batch,
                rng,
            )?)),
        };
        Ok(Self {
            value: Tracked::new(&network, learning_rate, if is_counted { COUNTED_TAU } else { TAU }, rng)?,
            gamma: if is_counted { COUNTED_GAMMA } else { GAMMA },
            scratch: network.scratch(batch),
            network,
            newness,
            actions,
            rows: Vec::new(),
            nexts: Vec::new(),
            aims: Vec::new(),
            best: Vec::new(),
        })
    }

    /// Notes that an action is tried.
    pub fn count(&mut self, encoder: &Encoder, observation: &[f32], action: usize) {
        match &mut self.newness {
            Newness::Counts { tried, .. } => {
                let count = &mut tried[observation[0] as usize * self.actions + action];
                *count = count.saturating_add(1);
            }
            Newness::Distilled(distilled) => {
                if distilled.is_beginning() {
                    self.rows.clear();
                    encoder.push(observation, &mut self.rows);
                    distilled.begin(&self.rows, action);
                }
            }
        }
    }

    /// Asks for every action to be tried once more, where tries are counted.
    pub fn ask_for_more(&mut self) {
        if let Newness::Counts { enough, .. } = &mut self.newness {
            *enough = enough.saturating_add(1);
        }
    }

    /// Updates to make after a step towards something new, besides those of any step.
    pub fn updates(&self) -> usize {
        if self.is_counted() { COUNTED_UPDATES } else { 0 }
    }

    /// Whether tries are counted.
    pub fn is_counted(&self) -> bool {
        matches!(self.newness, Newness::Counts { .. })
    }

    /// Whether an action is as good as new where tries are counted.
    pub fn is_new(&self, observation: &[f32], action: usize) -> bool {
        match &self.newness {
            Newness::Counts { tried, enough } => {
                tried[observation[0] as usize * self.actions + action] < *enough
            }
            Newness::Distilled(_) => true,
        }
    }

    /// One step of learning.
    pub fn learn(&mut self, encoder: &Encoder, replay: &Replay, places: &[usize]) {
        self.rows.clear();
        self.nexts.clear();
        for place in places {
            let transition = replay.get(*place);
            encoder.push(transition.observation, &mut self.rows);
            encoder.push(transition.next, &mut self.nexts);
        }
        self.aims.clear();
        self.network.forward(self.value.average(), &self.nexts, &mut self.scratch);
        if let Newness::Distilled(distilled) = &mut self.newness {
            distilled.compare(&self.nexts);
        }
        for (row, place) in places.iter().enumerate() {
            let transition = replay.get(*place);
            let most = (0..self.actions).map(|a| self.worth(row, transition.next, a)).fold(0.0, f32::max);
            self.aims.push(if transition.ended { 0.0 } else { self.gamma * most });
        }
        self.network.forward(self.value.parameters(), &self.rows, &mut self.scratch);
        for (row, place) in places.iter().enumerate() {
            let output = row * self.actions + replay.get(*place).counted_action();
            let error = self.scratch.value.output[output] - self.aims[row];
            self.scratch.value.gradient[output] = error / places.len() as f32;
        }
        self.value.step(&self.network, &self.rows, &mut self.scratch);
        if let Newness::Distilled(distilled) = &mut self.newness {
            let tried = |row: usize| replay.get(places[row]).counted_action();
            distilled.learn(&self.rows, places.len(), tried);
        }
    }

    /// What an action is worth in a row of the last passes.
    fn worth(&self, row: usize, observation: &[f32], action: usize) -> f32 {
        let value = self.scratch.value.output[row * self.actions + action].clamp(0.0, 1.0);
        match &self.newness {
            Newness::Counts { .. } => {
                if self.is_new(observation, action) {
                    1.0
                } else {
                    value
                }
            }
            Newness::Distilled(distilled) => value.max(distilled.newness(row, action)),
        }
    }

    /// The action that soonest gets to something new; `None` where tries are counted and nothing new is near.
    pub fn best(&mut self, encoder: &Encoder, observation: &[f32], rng: &mut Generator) -> Option<usize> {
        self.rows.clear();
        encoder.push(observation, &mut self.rows);
        self.network.forward(self.value.average(), &self.rows, &mut self.scratch);
        if let Newness::Distilled(distilled) = &mut self.newness {
            distilled.compare(&self.rows);
        }
        let most = (0..self.actions).map(|a| self.worth(0, observation, a)).fold(0.0, f32::max);
        let mut best = std::mem::take(&mut self.best);
        best.clear();
        best.extend((0..self.actions).filter(|a| self.worth(0, observation, *a) >= most));
        let chosen = best.get(random::below(best.len(), rng)).copied();
        self.best = best;
        chosen.filter(|_| most >= REACH || !self.is_counted())
    }

    pub fn save(&self, to: &mut Saver) {
        self.value.save(to);
        match &self.newness {
            Newness::Counts { tried, enough } => {
                to.put_all(tried);
                to.put(enough);
            }
            Newness::Distilled(distilled) => distilled.save(to),
        }
    }

    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.value.load(from)?;
        match &mut self.newness {
            Newness::Counts { tried, enough } => {
                from.get_all(tried)?;
                *enough = from.get()?;
            }
            Newness::Distilled(distilled) => distilled.load(from)?,
        }
        Ok(())
    }
}
