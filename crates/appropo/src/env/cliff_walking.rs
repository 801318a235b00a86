//! Gymnasium's CliffWalking-v1: walk along a cliff to the goal.
//!
//! Every step has reward −1. Stepping off the cliff has reward −100, counts as a failure and leads back to the
//! start; only the goal ends the episode.

use std::sync::Arc;

use super::spec::{EnvEntry, HORIZON, at};
use super::{Grid, TabularMdp, World};
use crate::error::Result;
use crate::measurement::Measures;
use crate::options::{Key, Kind};

/// `S` is the start, `F` free, `C` the cliff, `G` the goal.
pub const MAP: &str = "FFFFFFFFFFFF\nFFFFFFFFFFFF\nFFFFFFFFFFFF\nSCCCCCCCCCCG";

/// Up, right, down and left, as (rows, columns).
const MOVES: [(isize, isize); 4] = [(-1, 0), (0, 1), (1, 0), (0, -1)];

/// The walk. Actions are up, right, down and left; on slippery ground the two directions at right angles to
/// the intended one are as likely as it.
pub fn world(slippery: bool) -> Result<World> {
    let grid = Grid::parse(MAP, "SFCG")?;
    let cells = grid.cells.len();
    let start = grid.find('S').unwrap_or(0);
    let measures = Measures::new([("failure", 1), ("reward", 1), ("steps", 1), ("visits", cells)]);
    let mut model = TabularMdp::builder(cells, MOVES.len(), measures);
    model.start(start, 1.0);
    for cell in 0..cells {
        if grid.cells[cell] == 'G' {
            model.terminal(cell);
            continue;
        }
        for action in 0..MOVES.len() {
            let directions =
                if slippery { vec![(action + 3) % 4, action, (action + 1) % 4] } else { vec![action] };
            for &direction in &directions {
                let entered = grid.neighbour(cell, MOVES[direction]);
                let falls = grid.cells[entered] == 'C';
                let (next, reward) = if falls { (start, -100.0) } else { (entered, -1.0) };
                let z = [(0, f64::from(falls)), (1, reward), (2, 1.0), (3 + next, 1.0)];
                model.transition((cell, action), 1.0 / directions.len() as f64, next, &z);
            }
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: Some(grid) })
}

/// The walk as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "cliff-walking",
    about: "a walk along a cliff",
    keys: &[
        Key::defaulted(
            "slippery",
            Kind::Flag,
            "false",
            "Whether moves go astray to either side, each with probability 1/3.",
        ),
        HORIZON,
    ],
    read: |given, _| Ok(at(given, "slippery", world(given.flag("slippery")?))?.into()),
};
