use std::sync::Arc;

use crate::env::Status;
use crate::error::Result;
use crate::nn::{Inputs, Mlp, Scratch};
use crate::policy::{Actions, Mixed};
use crate::random::Generator;
use crate::rl::cut_normal::log_probability;
use crate::rl::frame::Frame;
use crate::state::{Loader, Saved, Saver, misfit};

/// What a worker plays by.
#[derive(Debug)]
pub(super) enum Carried {
    /// A network that draws actions to be learnt from.
    Actor(Box<Acting>),
    /// A mixed policy, of which whole episodes are played.
    Mixed(Mixed),
}

impl Carried {
    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut from = Loader::new(bytes);
        let carried = if from.get()? {
            Self::Actor(Box::new(Acting::read(&mut from)?))
        } else {
            Self::Mixed(from.get_where("a mixture", |mixture: &Mixed| !mixture.parts().is_empty())?)
        };
        from.finish()?;
        Ok(carried)
    }
}

/// A mixed policy as bytes.
pub(super) fn mixed(mixture: &Mixed) -> Vec<u8> {
    let mut to = Saver::default();
    to.put(&false);
    to.put(mixture);
    to.into_bytes()
}

/// A network with the units in which it sees and acts.
#[derive(Debug)]
pub(in crate::rl) struct Acting {
    network: Arc<Mlp>,
    actions: Actions,
    /// The bounds of actions in the frame's units.
    bounds: Vec<(f32, f32)>,
    parameters: Vec<f32>,
    frame: Frame,
    scratch: Scratch,
    input: Vec<f32>,
}

impl Acting {
    /// The bytes of what a learner plays by.
    pub fn write(network: &Arc<Mlp>, actions: &Actions, parameters: &[f32], frame: &Frame) -> Vec<u8> {
        let mut to = Saver::default();
        to.put(&true);
        to.put_shared(network);
        to.put(actions);
        to.put(&parameters.len());
        to.put_all(parameters);
        frame.write(&mut to);
        to.into_bytes()
    }

    fn read(from: &mut Loader) -> Result<Self> {
        let network: Arc<Mlp> = from.get_shared()?;
        let actions: Actions = from.get()?;
        let expected = network.parameters() + actions.parameters();
        let fits = |all: &Vec<f32>| all.len() == expected && all.iter().all(|v| v.is_finite());
        let parameters = from.get_where("a parameter", fits)?;
        let frame = Frame::read(&actions, network.shape().inputs.width(), from)?;
        let scratch = network.scratch(1);
        let bounds = frame.bounds(&actions);
        Ok(Self { network, actions, bounds, parameters, frame, scratch, input: Vec::new() })
    }

    /// Draws an action, as the network has it and as the environment takes it, and returns the logarithm of its probability.
    pub fn draw(
        &mut self,
        observation: &[f64],
        rng: &mut Generator,
        drawn: &mut [f32],
        action: &mut [f64],
    ) -> f32 {
        self.input.resize(observation.len(), 0.0);
        self.frame.input(observation, &mut self.input);
        let (network, deviations) = self.parameters.split_at(self.network.parameters());
        self.network.forward(network, &self.input, &mut self.scratch);
        let outputs = &mut self.scratch.policy.output;
        self.actions.draw(outputs, deviations, rng, drawn);
        self.frame.action(&self.actions, drawn, action);
        log_probability(&self.actions, &self.bounds, (outputs, deviations), drawn)
    }

    /// Whether it sees and does what an environment shows and takes.
    pub fn fits(&self, entries: usize, width: usize) -> bool {
        let outputs = self.network.shape().policy;
        let sees = match self.network.shape().inputs {
            Inputs::OneHot(_) => entries == 1,
            Inputs::Vector(inputs) => entries == inputs,
        };
        sees && match &self.actions {
            Actions::Categorical => width == 1,
            Actions::Gaussian(bounds) => bounds.len() == width && outputs == width,
            Actions::Squashed(bounds) => bounds.len() == width && outputs == 2 * width,
        }
    }
}

/// What is asked of a worker.
#[derive(Debug)]
pub(super) enum Asked {
    /// To go on with a stream for so many steps.
    Steps { stream: usize, steps: usize, from: From, rngs: Rngs },
    /// To play an episode of the mixture, all of it drawn from this seed.
    Episode(u64),
}

/// Where a stream goes on from.
#[derive(Debug)]
pub(super) enum From {
    /// A new episode.
    Start,
    /// Where it was left, under this number.
    Left(u64),
    /// The episode that begins with this generator, after these actions.
    Again { start: Generator, done: Vec<f64> },
}

/// The generators of a stream: that of its world, and that of actions.
#[derive(Debug, Clone)]
pub(super) struct Rngs {
    pub world: Generator,
    pub actions: Generator,
}

impl Saved for Rngs {
    fn save(&self, to: &mut Saver) {
        to.put(&self.world);
        to.put(&self.actions);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        Ok(Self { world: from.get()?, actions: from.get()? })
    }
}

impl Asked {
    pub fn write(&self) -> Vec<u8> {
        let mut to = Saver::default();
        match self {
            Self::Episode(seed) => {
                to.put(&0u8);
                to.put(seed);
            }
            Self::Steps { stream, steps, from, rngs } => {
                to.put(&1u8);
                to.put(stream);
                to.put(steps);
                to.put(rngs);
                match from {
                    From::Start => to.put(&0u8),
                    From::Left(number) => (to.put(&1u8), to.put(number)).1,
                    From::Again { start, done } => {
                        to.put(&2u8);
                        to.put(start);
                        to.put(done);
                    }
                }
            }
        }
        to.into_bytes()
    }

    pub fn read(bytes: &[u8]) -> Result<Self> {
        let mut from = Loader::new(bytes);
        let asked = match from.get::<u8>()? {
            0 => Self::Episode(from.get()?),
            1 => {
                let (stream, steps) = (from.get()?, from.get_count("a number of steps")?);
                let rngs = from.get()?;
                let begins = match from.get::<u8>()? {
                    0 => From::Start,
                    1 => From::Left(from.get()?),
                    2 => From::Again { start: from.get()?, done: from.get()? },
                    _ => return Err(misfit("a task begins nowhere")),
                };
                Self::Steps { stream, steps, from: begins, rngs }
            }
            _ => return Err(misfit("a task is of no kind")),
        };
        from.finish()?;
        Ok(asked)
    }
}

/// Steps of a stream, as a worker took them.
#[derive(Debug, Default)]
pub(super) struct Steps {
    /// Whether an episode begins with a step.
    pub is_first: Vec<bool>,
    /// What was seen when these episodes began.
    pub starts: Vec<f64>,
    /// What was done, as the network has it, and the logarithm of its probability.
    pub drawn: Vec<f32>,
    pub log_probabilities: Vec<f32>,
    /// What came of it.
    pub observations: Vec<f64>,
    pub z: Vec<f64>,
    pub status: Vec<Status>,
}

/// What a worker answers when it is asked for steps.
#[derive(Debug)]
pub(super) enum Answer {
    /// It does not have the stream as it was left.
    Elsewhere,
    /// What it played.
    Steps(Box<Taken>),
}

/// Steps of a stream, and where they leave it.
#[derive(Debug)]
pub(super) struct Taken {
    pub steps: Steps,
    /// The number under which the worker keeps it.
    pub left: u64,
    pub rngs: Rngs,
    /// The generator with which its episode began.
    pub start: Generator,
}

impl Answer {
    pub fn write(&self) -> Vec<u8> {
        let mut to = Saver::default();
        let Self::Steps(taken) = self else {
            to.put(&false);
            return to.into_bytes();
        };
        let Taken { steps, left, rngs, start } = taken.as_ref();
        to.put(&true);
        to.put(left);
        to.put(rngs);
        to.put(start);
        to.put(&steps.is_first);
        put_numbers(&steps.starts, &mut to);
        to.put(&steps.drawn);
        to.put(&steps.log_probabilities);
        put_numbers(&steps.observations, &mut to);
        put_numbers(&steps.z, &mut to);
        to.put(&steps.status);
        to.into_bytes()
    }

    /// Reads so many steps of an environment with observations, actions and measurements of these sizes.
    pub fn read(bytes: &[u8], count: usize, (entries, width, dim): (usize, usize, usize)) -> Result<Self> {
        let mut from = Loader::new(bytes);
        if !from.get::<bool>()? {
            from.finish()?;
            return Ok(Self::Elsewhere);
        }
        let (left, rngs, start) = (from.get()?, from.get()?, from.get()?);
        let steps = Steps {
            is_first: from.get()?,
            starts: get_numbers(&mut from)?,
            drawn: from.get()?,
            log_probabilities: from.get()?,
            observations: get_numbers(&mut from)?,
            z: get_numbers(&mut from)?,
            status: from.get()?,
        };
        from.finish()?;
        let begun = steps.is_first.iter().filter(|is_first| **is_first).count();
        let found = [
            (steps.is_first.len(), count),
            (steps.starts.len(), begun * entries),
            (steps.drawn.len(), count * width),
            (steps.log_probabilities.len(), count),
            (steps.observations.len(), count * entries),
            (steps.z.len(), count * dim),
            (steps.status.len(), count),
        ];
        if found.iter().any(|(found, expected)| found != expected) {
            return Err(misfit("a worker's steps are not those of this problem"));
        }
        Ok(Self::Steps(Box::new(Taken { steps, left, rngs, start })))
    }
}

/// A whole episode: Σ γⁱ zᵢ and its steps.
pub(super) fn write_episode(sum: &[f64], steps: usize) -> Vec<u8> {
    let mut to = Saver::default();
    to.put_all(sum);
    to.put(&steps);
    to.into_bytes()
}

pub(super) fn read_episode(bytes: &[u8], dim: usize) -> Result<(Vec<f64>, usize)> {
    let mut from = Loader::new(bytes);
    let mut sum = vec![0.0; dim];
    from.get_finite("an episode's measurement", &mut sum)?;
    let steps = from.get_count("a number of steps")?;
    from.finish()?;
    Ok((sum, steps))
}

/// Numbers in single precision where that is all there is to them, which environments mostly have.
fn put_numbers(numbers: &[f64], to: &mut Saver) {
    let is_single = numbers.iter().all(|v| f64::from(*v as f32).to_bits() == v.to_bits());
    to.put(&is_single);
    if is_single {
        to.put(&numbers.iter().map(|v| *v as f32).collect::<Vec<_>>());
    } else {
        to.put(&numbers.len());
        to.put_all(numbers);
    }
}

fn get_numbers(from: &mut Loader) -> Result<Vec<f64>> {
    Ok(if from.get()? { from.get::<Vec<f32>>()?.into_iter().map(f64::from).collect() } else { from.get()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers come back bit for bit, in half of the bytes where they fit.
    #[test]
    fn numbers_come_back() {
        for (numbers, bytes) in [(vec![0.5, -0.0, 1024.0], 1 + 8 + 12), (vec![0.1, 1e300], 1 + 8 + 16)] {
            let mut to = Saver::default();
            put_numbers(&numbers, &mut to);
            let written = to.into_bytes();
            let read = get_numbers(&mut Loader::new(&written)).unwrap();
            assert!(read.iter().zip(&numbers).all(|(a, b)| a.to_bits() == b.to_bits()));
            assert_eq!((read.len(), written.len()), (numbers.len(), bytes));
        }
    }

    /// Bytes that are no message give an error.
    #[test]
    fn forged_messages_are_refused() {
        for bytes in [&[][..], &[7], &[1, 2, 3], &[255; 64]] {
            assert!(Asked::read(bytes).is_err());
            assert!(Carried::read(bytes).is_err());
            assert!(Answer::read(bytes, 1, (1, 1, 1)).is_err());
            assert!(read_episode(bytes, 2).is_err());
        }
    }
}
