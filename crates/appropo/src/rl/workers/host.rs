use std::collections::HashMap;
use std::fmt;

use super::message::{Answer, Asked, Carried, From, Rngs, Steps, Taken, write_episode};
use super::{Task, Workers};
use crate::env::{Environment, Status};
use crate::error::{Error, Result};
use crate::policy::Memory;
use crate::random::{self, Generator};
use crate::rl::{Episode, play_episode};
use crate::state::misfit;

/// Makes an environment with all its measures.
pub type MakeWorld = Box<dyn Fn() -> Result<Box<dyn Environment>> + Send>;

/// A worker: worlds, and the policy that plays in them.
pub struct Host {
    make: MakeWorld,
    gamma: f64,
    limit: usize,
    policy: Option<Carried>,
    /// The streams as they were left, by their numbers.
    streams: HashMap<usize, Stream>,
    /// For whole episodes.
    alone: Option<Episode>,
    memory: Memory,
    left: u64,
}

struct Stream {
    episode: Episode,
    /// The generator with which its episode began.
    start: Generator,
    left: u64,
}

impl fmt::Debug for Host {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Host").field("streams", &self.streams.len()).finish_non_exhaustive()
    }
}

impl Host {
    /// Worlds as `make` makes them, discounted by `gamma`, whose episodes are cut off after `limit` steps. `number` must
    /// differ from that of every other host of a run.
    pub fn new(make: MakeWorld, gamma: f64, limit: usize, number: u32) -> Self {
        let (policy, streams, memory) = (None, HashMap::new(), Memory::default());
        Self { make, gamma, limit, policy, streams, alone: None, memory, left: u64::from(number) << 32 }
    }

    /// Plays by another policy from here on.
    pub fn load(&mut self, policy: &[u8]) -> Result<()> {
        self.policy = Some(Carried::read(policy)?);
        Ok(())
    }

    /// Does a task and returns what came of it. The same bytes give the same answer, whatever was done before.
    pub fn play(&mut self, task: &[u8]) -> Result<Vec<u8>> {
        match Asked::read(task)? {
            Asked::Episode(seed) => self.episode(seed),
            Asked::Steps { stream, steps, from, rngs } => {
                let played = self.steps(stream, steps, from, rngs);
                if played.is_err() {
                    self.streams.remove(&stream);
                }
                Ok(played?.write())
            }
        }
    }

    fn episode(&mut self, seed: u64) -> Result<Vec<u8>> {
        let Some(Carried::Mixed(mixture)) = &self.policy else { return Err(unarmed()) };
        let mut episode = match self.alone.take() {
            Some(episode) => episode,
            None => Episode::new((self.make)()?, self.gamma, self.limit),
        };
        let mut action = vec![0.0; episode.world().actions().entries()];
        let rng = &mut random::generator(seed);
        let policy = mixture.draw(rng).ok_or_else(unarmed)?;
        play_episode(&mut episode, policy, &mut self.memory, &mut action, rng)?;
        let answer = write_episode(episode.sum(), episode.steps());
        self.alone = Some(episode);
        Ok(answer)
    }

    fn steps(&mut self, number: usize, count: usize, from: From, mut rngs: Rngs) -> Result<Answer> {
        if let From::Left(left) = &from
            && self.streams.get(&number).is_none_or(|stream| stream.left != *left)
        {
            return Ok(Answer::Elsewhere);
        }
        let mut stream = match self.streams.remove(&number) {
            Some(stream) => stream,
            None => {
                let episode = Episode::new((self.make)()?, self.gamma, self.limit);
                Stream { episode, start: rngs.world.clone(), left: 0 }
            }
        };
        let Some(Carried::Actor(acting)) = &mut self.policy else { return Err(unarmed()) };
        let Stream { episode, start, left } = &mut stream;
        let (entries, width) = (episode.observation().len(), episode.world().actions().entries());
        if !acting.fits(entries, width) {
            return Err(misfit("the policy is none for this environment"));
        }
        match from {
            From::Left(_) => (),
            From::Start => episode.leave(),
            From::Again { start: begun, done } => {
                *start = begun.clone();
                again(episode, begun, &done)?;
            }
        }
        let mut steps = Steps::default();
        let (mut drawn, mut action) = (vec![0.0; width], vec![0.0; width]);
        for _ in 0..count {
            let is_first = episode.status() != Status::Running;
            if is_first {
                *start = rngs.world.clone();
                episode.start(&mut rngs.world)?;
                steps.starts.extend_from_slice(episode.observation());
            }
            let log_probability =
                acting.draw(episode.observation(), &mut rngs.actions, &mut drawn, &mut action);
            let status = episode.step(&action, &mut rngs.world)?;
            steps.is_first.push(is_first);
            steps.drawn.extend_from_slice(&drawn);
            steps.log_probabilities.push(log_probability);
            steps.observations.extend_from_slice(episode.observation());
            steps.z.extend_from_slice(episode.z());
            steps.status.push(status);
        }
        self.left += 1;
        *left = self.left;
        let taken = Taken { steps, left: *left, rngs, start: start.clone() };
        self.streams.insert(number, stream);
        Ok(Answer::Steps(Box::new(taken)))
    }
}

/// Does an episode again up to where it was.
fn again(episode: &mut Episode, mut rng: Generator, done: &[f64]) -> Result<()> {
    episode.start(&mut rng)?;
    for action in done.chunks_exact(episode.world().actions().entries()) {
        if episode.step(action, &mut rng)? != Status::Running {
            return Err(Error::Unrepeatable { steps: episode.steps() });
        }
    }
    Ok(())
}

fn unarmed() -> Error {
    misfit("a worker was asked to play before it had a policy for it")
}

/// One worker, in this process.
#[derive(Debug)]
pub struct Here(std::sync::Mutex<Host>);

impl Here {
    /// This worker alone.
    pub fn new(host: Host) -> Self {
        Self(std::sync::Mutex::new(host))
    }
}

impl Workers for Here {
    fn count(&self) -> usize {
        1
    }

    fn play(&self, policy: &[u8], tasks: &[Task]) -> Result<Vec<Vec<u8>>> {
        let mut host = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        host.load(policy)?;
        tasks.iter().map(|task| host.play(&task.bytes)).collect()
    }
}
