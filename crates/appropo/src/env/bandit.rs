//! A bandit: one state, n arms, and z = (1 − γ)eₐ, so that long-term measurements are the shares of the arms.

use std::sync::Arc;

use super::spec::{EnvEntry, HORIZON, at};
use super::{TabularMdp, World};
use crate::error::{Result, in_range};
use crate::measurement::Measures;
use crate::options::{Key, Kind};

/// The bandit with this many arms, for a discount below 1.
pub fn world(arms: usize, gamma: f64) -> Result<World> {
    in_range("arms", arms as f64, (1..=1_000_000).contains(&arms), "between 1 and 1,000,000")?;
    in_range("discount of a bandit", gamma, (0.0..1.0).contains(&gamma), "at least 0 and below 1")?;
    let mut model = TabularMdp::builder(1, arms, Measures::new([("arms", arms), ("steps", 1)]));
    model.start(0, 1.0);
    for arm in 0..arms {
        model.transition((0, arm), 1.0, 0, &[(arm, 1.0 - gamma), (arms, 1.0)]);
    }
    Ok(World { model: Arc::new(model.build()?), grid: None })
}

/// The bandit as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "bandit",
    about: "one state with arms to pull; needs a discount below 1",
    keys: &[Key::defaulted("arms", Kind::Count(1, 1_000_000), "2", "How many arms there are."), HORIZON],
    read: |given, gamma| Ok(at(given, "", world(given.count("arms")? as usize, gamma))?.into()),
};
