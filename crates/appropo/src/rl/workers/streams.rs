use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::message::{Answer, Asked, From, Rngs, Steps, Taken};
use super::{Sampling, Task, Workers};
use crate::env::{Environment, Space, Status};
use crate::error::Result;
use crate::measurement::Measures;
use crate::random::{self, Generator};
use crate::state::{Checkpoint, Loader, Saver, misfit};

/// Streams of episodes that workers play, batch by batch.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    workers: Arc<dyn Workers>,
    streams: Vec<Arc<Mutex<Stream>>>,
}

/// A stream as far as it was played.
#[derive(Debug)]
struct Stream {
    sizes: (usize, usize, usize),
    /// Drawn when it is played for the first time.
    rngs: Option<Rngs>,
    /// What it goes on from: the number under which a worker left it, if one has it.
    left: Option<u64>,
    /// The generator with which the episode under way began, and what was done in it since.
    start: Option<Generator>,
    done: Vec<f64>,
    steps: Steps,
    /// Steps of these, and episodes begun, that were seen.
    seen: usize,
    begun: usize,
}

fn locked(stream: &Mutex<Stream>) -> MutexGuard<'_, Stream> {
    stream.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Streams {
    pub(super) fn new(
        Sampling { num_envs, workers }: &Sampling,
        like: &dyn Environment,
    ) -> (Self, Vec<Box<dyn Environment>>) {
        let (observations, actions) = (like.observations(), like.actions());
        let sizes = (observations.entries(), actions.entries(), like.measures().dim());
        let stream = || Stream {
            sizes,
            rngs: None,
            left: None,
            start: None,
            done: Vec::new(),
            steps: Steps::default(),
            seen: 0,
            begun: 0,
        };
        let streams: Vec<_> = (0..*num_envs).map(|_| Arc::new(Mutex::new(stream()))).collect();
        let seen = |stream: &Arc<Mutex<Stream>>| {
            let (measures, stream) = (like.measures().clone(), Arc::clone(stream));
            let spaces = (observations.clone(), actions.clone());
            Box::new(Seen { stream, measures, spaces }) as Box<dyn Environment>
        };
        let seen = streams.iter().map(seen).collect();
        (Self { workers: Arc::clone(workers), streams }, seen)
    }

    /// Has workers take so many steps in every stream.
    pub fn play(&self, policy: &[u8], steps: usize, rng: &mut Generator) -> Result<()> {
        for stream in &self.streams {
            let fresh = || Rngs { world: random::split(rng), actions: random::split(rng) };
            locked(stream).rngs.get_or_insert_with(fresh);
        }
        let mut open: Vec<usize> = (0..self.streams.len()).collect();
        while !open.is_empty() {
            let task = |&stream: &usize| Task {
                stream: Some(stream),
                bytes: locked(&self.streams[stream]).asked(stream, steps),
            };
            let tasks: Vec<Task> = open.iter().map(task).collect();
            let answers = self.workers.play(policy, &tasks)?;
            if answers.len() != tasks.len() {
                return Err(misfit("workers answered more or less than they were asked"));
            }
            let mut elsewhere = Vec::new();
            for (stream, answer) in open.into_iter().zip(answers) {
                if !locked(&self.streams[stream]).take(&answer, steps)? {
                    elsewhere.push(stream);
                }
            }
            open = elsewhere;
        }
        Ok(())
    }

    /// What was done in the next step of a stream, as the network has it, and the logarithm of its probability.
    pub fn next_action(&self, stream: usize, drawn: &mut [f32]) -> f32 {
        let stream = locked(&self.streams[stream]);
        let (place, width) = (stream.seen, stream.sizes.1);
        drawn.copy_from_slice(&stream.steps.drawn[place * width..][..width]);
        stream.steps.log_probabilities[place]
    }

    /// Leaves the episodes that are under way.
    pub fn leave(&self) {
        for stream in &self.streams {
            let mut stream = locked(stream);
            (stream.left, stream.start) = (None, None);
            stream.done.clear();
        }
    }
}

impl Stream {
    fn asked(&self, stream: usize, steps: usize) -> Vec<u8> {
        let Some(rngs) = self.rngs.clone() else { return Vec::new() };
        let from = match (&self.start, self.left) {
            (None, _) => From::Start,
            (Some(_), Some(left)) => From::Left(left),
            (Some(start), None) => From::Again { start: start.clone(), done: self.done.clone() },
        };
        Asked::Steps { stream, steps, from, rngs }.write()
    }

    /// Takes an answer; `false` where the stream must be told from its beginning.
    fn take(&mut self, answer: &[u8], count: usize) -> Result<bool> {
        let Answer::Steps(taken) = Answer::read(answer, count, self.sizes)? else {
            if self.left.take().is_none() {
                return Err(misfit("a worker did not begin a stream that it was told to"));
            }
            return Ok(false);
        };
        let Taken { steps, left, rngs, start } = *taken;
        let goes_on = steps.status.last() == Some(&Status::Running);
        (self.left, self.start, self.rngs) = (Some(left), goes_on.then_some(start), Some(rngs));
        (self.steps, self.seen, self.begun) = (steps, 0, 0);
        Ok(true)
    }
}

/// What was played in a stream, as an environment in which everything has been done already.
#[derive(Debug)]
struct Seen {
    stream: Arc<Mutex<Stream>>,
    measures: Measures,
    spaces: (Space, Space),
}

impl Environment for Seen {
    fn measures(&self) -> &Measures {
        &self.measures
    }

    fn observations(&self) -> Space {
        self.spaces.0.clone()
    }

    fn actions(&self) -> Space {
        self.spaces.1.clone()
    }

    fn reset(&mut self, _: &mut Generator, observation: &mut [f64]) -> Result<()> {
        let mut stream = locked(&self.stream);
        let place = stream.begun * observation.len();
        let start = stream.steps.starts.get(place..place + observation.len()).ok_or_else(ahead)?;
        observation.copy_from_slice(start);
        stream.begun += 1;
        stream.done.clear();
        Ok(())
    }

    fn step(
        &mut self,
        action: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let mut stream = locked(&self.stream);
        let (place, (entries, _, dim)) = (stream.seen, stream.sizes);
        let status = *stream.steps.status.get(place).ok_or_else(ahead)?;
        observation.copy_from_slice(&stream.steps.observations[place * entries..][..entries]);
        z.copy_from_slice(&stream.steps.z[place * dim..][..dim]);
        stream.seen += 1;
        match status {
            Status::Running => stream.done.extend_from_slice(action),
            Status::Ended | Status::CutOff => stream.done.clear(),
        }
        Ok(status)
    }
}

fn ahead() -> crate::error::Error {
    misfit("a learner is ahead of what was played")
}

impl Checkpoint for Seen {
    /// Between batches: what is under way is what was done since its start.
    fn save(&self, to: &mut Saver) -> Result<()> {
        let stream = locked(&self.stream);
        to.put(&stream.rngs);
        to.put(&stream.start);
        to.put(&stream.done);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let mut stream = locked(&self.stream);
        (stream.rngs, stream.start, stream.left) = (from.get()?, from.get()?, None);
        let width = stream.sizes.1;
        let is_whole =
            |done: &Vec<f64>| done.len().is_multiple_of(width) && done.iter().all(|v| v.is_finite());
        stream.done = from.get_where("an action", is_whole)?;
        Ok(())
    }
}
