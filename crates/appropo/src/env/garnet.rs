//! Garnet: random MDPs that never end, after Archibald, McKinnon and Thomas (1995).

use std::sync::Arc;

use super::{TabularMdp, World};
use crate::error::{Result, in_range, not_too_large};
use crate::measurement::Measures;
use crate::random::{self, Generator};

/// How large a random MDP is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// States.
    pub states: usize,
    /// Actions.
    pub actions: usize,
    /// Successors of each state and action, drawn with repetition.
    pub branching: usize,
    /// Entries of the measure "m", each uniform in [−1, 1] for a state and action.
    pub measures: usize,
}

/// A random MDP of this size. Probabilities are the gaps between sorted uniform numbers.
pub fn world(size: Size, rng: &mut Generator) -> Result<World> {
    for (what, count) in [("states", size.states), ("actions", size.actions), ("branching", size.branching)] {
        in_range(what, count as f64, count > 0, "1 or more")?;
    }
    let Size { states, actions, branching, measures } = size;
    let factors = [states, actions, branching, measures + 2];
    not_too_large("states times actions times branching times measures", &factors, 100_000_000)?;
    let names = Measures::new([("m", measures), ("steps", 1), ("visits", states)]);
    let mut model = TabularMdp::builder(states, actions, names);
    model.start(0, 1.0);
    for state in 0..states {
        for action in 0..actions {
            let mut z: Vec<(usize, f64)> =
                (0..measures).map(|i| (i, 2.0 * random::unit(rng) - 1.0)).collect();
            z.push((measures, 1.0));
            let mut cuts: Vec<f64> = (1..branching).map(|_| random::unit(rng)).collect();
            cuts.push(1.0);
            cuts.sort_unstable_by(f64::total_cmp);
            let mut below = 0.0;
            for cut in cuts {
                let next = random::below(states, rng);
                z.truncate(measures + 1);
                z.push((measures + 1 + next, 1.0));
                model.transition((state, action), cut - below, next, &z);
                below = cut;
            }
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: None })
}
