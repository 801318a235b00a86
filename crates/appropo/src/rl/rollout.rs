use crate::env::{Environment, Status};
use crate::error::{Error, Result};
use crate::measurement::DiscountedSum;
use crate::policy::{Memory, Policy};
use crate::random::Generator;
use crate::state::{Loader, Saver};

/// Larger measurements overflow when a network squares them.
const LARGEST: f64 = 1e15;

/// A world in the middle of an episode: what is seen, and what was measured since the start.
///
/// It refuses what no learner can use (numbers that are not finite, or too large), and cuts an episode off after
/// `limit` steps.
#[derive(Debug)]
pub struct Episode {
    world: Box<dyn Environment>,
    limit: usize,
    /// How many observations there are, where they can be counted.
    count: Option<usize>,
    observation: Vec<f64>,
    z: Vec<f64>,
    sum: DiscountedSum,
    steps: usize,
    status: Status,
}

impl Episode {
    /// Episodes of `world`, none of them begun.
    pub fn new(world: Box<dyn Environment>, gamma: f64, limit: usize) -> Self {
        let (dim, entries) = (world.measures().dim(), world.observations().entries());
        Self {
            count: world.observations().count(),
            world,
            limit,
            observation: vec![0.0; entries],
            z: vec![0.0; dim],
            sum: DiscountedSum::new(dim, gamma),
            steps: 0,
            status: Status::Ended,
        }
    }

    /// The world.
    pub fn world(&self) -> &dyn Environment {
        self.world.as_ref()
    }

    /// Steps after which an episode is cut off.
    pub fn limit(&self) -> usize {
        self.limit
    }

    /// What is seen now.
    pub fn observation(&self) -> &[f64] {
        &self.observation
    }

    /// What the last step measured.
    pub fn z(&self) -> &[f64] {
        &self.z
    }

    /// Σ γⁱ zᵢ since the start.
    pub fn sum(&self) -> &[f64] {
        self.sum.sum()
    }

    /// Steps since the start.
    pub fn steps(&self) -> usize {
        self.steps
    }

    /// What the last step led to.
    pub fn status(&self) -> Status {
        self.status
    }

    /// Leaves the episode that is under way: the next one starts anew.
    pub fn leave(&mut self) {
        self.status = Status::Ended;
    }

    /// Starts anew.
    pub fn start(&mut self, rng: &mut Generator) -> Result<()> {
        self.world.reset(rng, &mut self.observation)?;
        self.sum.clear();
        self.steps = 0;
        self.status = Status::Running;
        self.check_observation()
    }

    /// Starts anew unless an episode is under way.
    pub fn start_if_over(&mut self, rng: &mut Generator) -> Result<()> {
        if self.status == Status::Running { Ok(()) } else { self.start(rng) }
    }

    /// Says what the next step will be.
    pub fn submit_action(&mut self, action: &[f64]) -> Result<()> {
        self.world.submit_action(action)
    }

    /// Takes a step.
    pub fn step(&mut self, action: &[f64], rng: &mut Generator) -> Result<Status> {
        // How a policy of another program says that it could not act.
        if action.iter().any(|v| v.is_nan()) {
            return Err(Error::External { what: "the policy" });
        }
        let status = self.world.step(action, rng, &mut self.observation, &mut self.z)?;
        self.steps += 1;
        self.check_observation()?;
        self.check("measurement", &self.z)?;
        self.sum.add(&self.z);
        self.status = match status {
            Status::Running if self.steps >= self.limit => Status::CutOff,
            status => status,
        };
        Ok(self.status)
    }

    fn check_observation(&self) -> Result<()> {
        self.check("observation", &self.observation)?;
        match self.count {
            Some(count) if !(0.0..count as f64).contains(&self.observation[0]) => {
                let index = self.observation[0].max(0.0) as usize;
                Err(Error::Index { what: "observation", index, count })
            }
            _ => Ok(()),
        }
    }

    fn check(&self, what: &'static str, values: &[f64]) -> Result<()> {
        // Written so that NaN is found.
        match values.iter().position(|v| !(v.abs() <= LARGEST)) {
            None => Ok(()),
            Some(entry) => Err(Error::World { what, entry, value: values[entry], step: self.steps }),
        }
    }

    /// Writes where the episode stands.
    pub fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.observation);
        to.put_all(&self.z);
        self.sum.save(to);
        to.put(&self.steps);
        to.put(&self.status);
        self.world.save(to)
    }

    /// Takes it back, into an episode of the same world.
    pub fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_all(&mut self.observation)?;
        from.get_finite("a measurement", &mut self.z)?;
        self.sum.load(from)?;
        self.steps = from.get_count("a number of steps")?;
        self.status = from.get()?;
        self.check_observation()?;
        self.world.load(from)
    }
}

/// Plays one episode from start to end.
pub fn play_episode(
    episode: &mut Episode,
    policy: &dyn Policy,
    memory: &mut Memory,
    action: &mut [f64],
    rng: &mut Generator,
) -> Result<()> {
    episode.start(rng)?;
    while episode.status == Status::Running {
        policy.act(&episode.observation, episode.steps, rng, memory, action);
        episode.step(action, rng)?;
    }
    Ok(())
}
