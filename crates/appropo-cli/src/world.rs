//! The world of a problem as it is played in: it ends when someone asks to stop.

use appropo::env::{Environment, Space, Status};
use appropo::error::{Error, Result};
use appropo::measurement::Measures;
use appropo::random::Generator;
use appropo::state::{Loader, Saver};

use crate::problem::{Problem, Scene, Stop, limit};
use crate::record;

/// The world of a problem, measured by what its constraints look at.
pub fn world(problem: &Problem) -> Box<dyn Environment> {
    stoppable(problem, problem.world.play_selected(problem.target.selection(), problem.discounting.horizon()))
}

/// One of the worlds that are played in at once.
pub fn lane_of(problem: &Problem, lane: usize) -> Box<dyn Environment> {
    let (selection, horizon) = (problem.target.selection(), problem.discounting.horizon());
    stoppable(problem, problem.world.play_lane(lane, selection, horizon))
}

fn stoppable(problem: &Problem, world: Box<dyn Environment>) -> Box<dyn Environment> {
    let is_cut = problem.discounting.horizon().is_some() || !matches!(problem.world, Scene::Outside(_));
    let longest = if is_cut { usize::MAX } else { limit(None) };
    Box::new(Stoppable { world, stop: problem.surroundings.stop.clone(), steps: 0, episode: 0, longest })
}

/// The world of a problem with all its measures.
pub fn whole_world(problem: &Problem) -> Box<dyn Environment> {
    stoppable(problem, problem.world.play(problem.discounting.horizon()))
}

/// A world that ends when the user wants it to, even if the oracle goes on for hours.
struct Stoppable {
    world: Box<dyn Environment>,
    stop: Option<Stop>,
    steps: u32,
    /// Steps of the episode under way, and how many it may have.
    episode: usize,
    longest: usize,
}

/// Steps of an episode between two questions whether to stop.
const STRIDE: u32 = 256;

impl Stoppable {
    fn check(&self) -> Result<()> {
        let stops = record::is_out_of_patience() || self.stop.as_ref().is_some_and(|stop| stop());
        if stops { Err(Error::Interrupted) } else { Ok(()) }
    }
}

impl Environment for Stoppable {
    fn measures(&self) -> &Measures {
        self.world.measures()
    }

    fn observations(&self) -> Space {
        self.world.observations()
    }

    fn actions(&self) -> Space {
        self.world.actions()
    }

    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        self.check()?;
        self.episode = 0;
        self.world.reset(rng, observation)
    }

    fn announce(&mut self, action: &[f64]) -> Result<()> {
        self.world.announce(action)
    }

    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        self.steps = self.steps.wrapping_add(1);
        if self.steps.is_multiple_of(STRIDE) {
            self.check()?;
        }
        let status = self.world.step(action, rng, observation, z)?;
        self.episode += 1;
        // Cut off, it would be another world's: one that only its maker may choose.
        if status == Status::Running && self.episode >= self.longest {
            return Err(Error::Unending { steps: self.episode });
        }
        Ok(status)
    }

    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.episode);
        self.world.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.episode = from.get_count("a number of steps")?;
        self.world.load(from)
    }
}
