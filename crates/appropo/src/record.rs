//! Logs: episodes of a policy, with every step kept.

use crate::env::dataset::{Dataset, Step};
use crate::env::{Space, Status, StopSignal};
use crate::error::{Error, Result, in_range};
use crate::options::setters;
use crate::policy::{Memory, Mixed, Policy};
use crate::problem::Problem;
use crate::random::{self, Generator};
use crate::rl::Episode;

/// Numbers of a data set at most, for it to fit into memory.
const MOST_NUMBERS: usize = 1 << 30;

/// How episodes are logged.
#[derive(Clone)]
#[non_exhaustive]
pub struct Recording {
    /// How many, 1 or more.
    pub episodes: usize,
    /// The probability that an action is drawn at random instead, in every step.
    pub epsilon: f64,
    /// Says whether to stop.
    pub stop: Option<StopSignal>,
}

setters!(Recording { episodes: usize, epsilon: f64, stop: Option<StopSignal> });

impl Default for Recording {
    /// 1,000 episodes of the policy as it is.
    fn default() -> Self {
        Self { episodes: 1000, epsilon: 0.0, stop: None }
    }
}

impl std::fmt::Debug for Recording {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let Self { episodes, epsilon, .. } = self;
        f.debug_struct("Recording")
            .field("episodes", episodes)
            .field("epsilon", epsilon)
            .finish_non_exhaustive()
    }
}

/// Plays episodes of a mixed policy, or with actions drawn at random where there is none, and logs every step.
///
/// ```
/// use appropo::{env::frozen_lake, problem::Problem, record::{Recording, record}};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(frozen_lake::world("4x4", false)?).discount(0.9).build()?;
/// let log = record(&problem, None, &Recording::default().episodes(100), 0)?;
/// assert_eq!(log.episodes().len(), 100);
/// # Ok(())
/// # }
/// ```
pub fn record(
    problem: &Problem,
    policy: Option<&Mixed>,
    recording: &Recording,
    seed: u64,
) -> Result<Dataset> {
    let Recording { episodes, epsilon, stop } = recording;
    in_range("episodes", *episodes as f64, *episodes > 0, "1 or more")?;
    in_range("epsilon", *epsilon, (0.0..=1.0).contains(epsilon), "between 0 and 1")?;
    let (observations, actions) = (problem.env().observations(), problem.env().actions());
    if policy.is_none() || *epsilon > 0.0 {
        can_be_drawn(actions)?;
    }
    let rng = &mut random::generator(seed);
    let env = problem.environment(stop.clone())?;
    let mut episode = Episode::new(env, problem.discounting().gamma(), problem.limit());
    let mut dataset = Dataset::builder(problem.measures().clone(), observations.clone(), actions.clone());
    let (mut memory, mut action) = (Memory::default(), vec![0.0; actions.entries()]);
    let row = observations.entries() + actions.entries() + problem.measures().dim();
    let mut steps = 0;
    for number in 0..*episodes as u64 {
        let policy = policy.and_then(|mixture| mixture.draw(rng));
        episode.start(rng)?;
        while episode.status() == Status::Running {
            let (seen, step) = (episode.observation().to_vec(), episode.steps());
            match policy.filter(|_| random::unit(rng) >= *epsilon) {
                Some(policy) => policy.act(&seen, step, rng, &mut memory, &mut action),
                None => draw(actions, rng, &mut action),
            }
            let status = episode.step(&action, rng)?;
            steps += 1;
            crate::error::not_too_large("the numbers of all episodes", &[steps, row], MOST_NUMBERS)?;
            dataset.push(&Step {
                episode: number,
                step: step as u64,
                observation: &seen,
                action: &action,
                z: episode.z(),
                next_observation: episode.observation(),
                terminated: status == Status::Ended,
                truncated: status == Status::CutOff,
            })?;
        }
    }
    dataset.build()
}

/// Refuses actions without bounds.
fn can_be_drawn(actions: &Space) -> Result<()> {
    match actions {
        Space::Continuous(bounds) if bounds.iter().any(|(low, high)| !(high - low).is_finite()) => {
            Err(Error::Unsuitable {
                learner: "drawing actions at random",
                needs: "actions within bounds",
                instead: "a policy, with epsilon 0,",
            })
        }
        _ => Ok(()),
    }
}

/// An action drawn uniformly.
fn draw(actions: &Space, rng: &mut Generator, action: &mut [f64]) {
    match actions {
        Space::Discrete(count) => action[0] = random::below(*count, rng) as f64,
        Space::Continuous(bounds) => {
            for (action, (low, high)) in action.iter_mut().zip(bounds) {
                *action = low + (high - low) * random::unit(rng);
            }
        }
    }
}
