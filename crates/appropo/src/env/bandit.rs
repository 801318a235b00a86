//! A bandit: one state, n arms, and z = (1 − γ)eₐ, so that long-term measurements are the shares of the arms.

use std::sync::Arc;

use super::{TabularMdp, World};
use crate::error::{Result, in_range};
use crate::measurement::Measures;

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
