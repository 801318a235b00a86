use crate::env::{Environment, Status};
use crate::error::Result;
use crate::measurement::DiscountedSum;
use crate::policy::Policy;
use crate::random::Generator;

/// Plays one episode and adds its measurements to `sum`, which is cleared first. Returns how it ended and its
/// number of steps; a world that never ends is cut off after `limit` steps.
pub fn play_episode(
    environment: &mut dyn Environment,
    policy: &dyn Policy,
    limit: usize,
    rng: &mut Generator,
    sum: &mut DiscountedSum,
) -> Result<(Status, usize)> {
    let mut observation = vec![0.0; environment.observation_size()];
    let mut z = vec![0.0; environment.measures().dim()];
    sum.clear();
    environment.reset(rng, &mut observation);
    for step in 0..limit {
        let action = policy.act(&observation, step, rng);
        let status = environment.step(action, rng, &mut observation, &mut z)?;
        sum.add(&z);
        if status != Status::Running {
            return Ok((status, step + 1));
        }
    }
    Ok((Status::CutOff, limit))
}
