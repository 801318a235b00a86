//! Gymnasium's FrozenLake-v1: reach the goal over ice without falling into a hole.
//!
//! On slippery ice the intended direction and the two at right angles to it have probability 1/3 each.
//! Reaching the goal has reward 1; a hole is a failure; both end the episode.

use std::sync::Arc;

use super::mars_rover::MOVES;
use super::spec::{EnvEntry, HORIZON, at, map_text};
use super::{Grid, TabularMdp, World};
use crate::error::Result;
use crate::measurement::Measures;
use crate::options::{Key, Kind};

/// The named maps. `S` is the start, `F` frozen, `H` a hole, `G` the goal.
pub const MAPS: [(&str, &str); 2] = [
    ("4x4", "SFFF\nFHFH\nFFFH\nHFFG"),
    ("8x8", "SFFFFFFF\nFFFFFFFF\nFFFHFFFF\nFFFFFHFF\nFFFHFFFF\nFHHFFFHF\nFHFFHFHF\nFFFHFFFG"),
];

/// The lake on a map given by name or as text. Actions are left, down, right and up.
pub fn world(map_name_or_text: &str, slippery: bool) -> Result<World> {
    let text = MAPS.iter().find(|(name, _)| *name == map_name_or_text).map_or(map_name_or_text, |m| m.1);
    let grid = Grid::parse(text, "SFHG")?;
    let cells = grid.cells.len();
    let measures = Measures::new([("failure", 1), ("reward", 1), ("steps", 1), ("visits", cells)]);
    let mut model = TabularMdp::builder(cells, MOVES.len(), measures);
    for cell in 0..cells {
        if "HG".contains(grid.cells[cell]) {
            model.terminal(cell);
            continue;
        }
        if grid.cells[cell] == 'S' {
            model.start(cell, 1.0);
        }
        for action in 0..MOVES.len() {
            let directions =
                if slippery { vec![(action + 3) % 4, action, (action + 1) % 4] } else { vec![action] };
            for &direction in &directions {
                let next = grid.neighbour(cell, MOVES[direction]);
                let failure = f64::from(grid.cells[next] == 'H');
                let reward = f64::from(grid.cells[next] == 'G');
                let z = [(0, failure), (1, reward), (2, 1.0), (3 + next, 1.0)];
                model.transition((cell, action), 1.0 / directions.len() as f64, next, &z);
            }
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: Some(grid) })
}

/// The lake as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "frozen-lake",
    about: "a lake to be crossed without falling into a hole",
    keys: &[
        Key::defaulted(
            "map",
            Kind::Map(&MAPS, None),
            "\"4x4\"",
            "A named map, or one as text with a row a line of S (start), G (goal), F (frozen) and H (hole).",
        ),
        Key::defaulted(
            "slippery",
            Kind::Flag,
            "true",
            "Whether moves go astray to either side, each with probability 1/3.",
        ),
        HORIZON,
    ],
    read: |given, _| {
        let map = map_text(given, |_| Ok(String::new()))?;
        Ok(at(given, "map", world(&map, given.flag("slippery")?))?.into())
    },
};
