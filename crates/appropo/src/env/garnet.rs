//! Garnet: random MDPs that never end, after Archibald, McKinnon and Thomas (1995).

use std::sync::Arc;

use super::spec::{EnvEntry, HORIZON, SEED, at};
use super::{TabularMdp, World};
use crate::error::{Result, in_range, not_too_large};
use crate::measurement::Measures;
use crate::options::{Key, Kind};
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

/// The most of anything that a table has one row for.
const MOST: u64 = 100_000_000;

/// Random models as problems name them.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "garnet",
    about: "a random model that never ends",
    keys: &[
        Key::defaulted("states", Kind::Count(1, MOST), "20", "How many states there are."),
        Key::defaulted("actions", Kind::Count(1, MOST), "4", "How many actions there are."),
        Key::defaulted("branching", Kind::Count(1, MOST), "3", "Successors of each state and action."),
        Key::defaulted("measures", Kind::Count(0, MOST), "2", "Entries of the measure m."),
        SEED,
        HORIZON,
    ],
    read: |given, _| {
        let count = |key| given.count(key).map(|n| n as usize);
        let size = Size {
            states: count("states")?,
            actions: count("actions")?,
            branching: count("branching")?,
            measures: count("measures")?,
        };
        let world = world(size, &mut random::generator(given.count("seed")?));
        // The largest of the counts that are given is to blame for a world that is too large.
        let counts = ["states", "actions", "branching", "measures"].into_iter();
        let largest =
            counts.filter(|key| given.get(key).is_some()).max_by_key(|key| given.count(key).unwrap_or(0));
        Ok(at(given, largest.unwrap_or("name"), world)?.into())
    },
};
