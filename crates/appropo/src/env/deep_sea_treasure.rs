//! MO-Gymnasium's deep-sea-treasure: a submarine trades the treasure's value against the time to reach it.

use std::sync::Arc;

use super::spec::{EnvEntry, HORIZON, at};
use super::{Grid, TabularMdp, World};
use crate::error::Result;
use crate::measurement::Measures;
use crate::options::{Key, Kind};

/// Treasures as (row, column, value) in a sea of 11 × 11 cells, after Vamplew et al. (2011). Below each
/// treasure is the sea floor.
pub const CONCAVE: [(usize, usize, f64); 10] = [
    (1, 0, 1.0),
    (2, 1, 2.0),
    (3, 2, 3.0),
    (4, 3, 5.0),
    (4, 4, 8.0),
    (4, 5, 16.0),
    (7, 6, 24.0),
    (7, 7, 50.0),
    (9, 8, 74.0),
    (10, 9, 124.0),
];

/// The treasures of Yang et al. (2019), at the same places, with a convex front.
pub const CONVEX: [f64; 10] = [0.7, 8.2, 11.5, 14.0, 15.1, 16.1, 19.6, 20.3, 22.4, 23.7];

const SIDE: usize = 11;

/// Up, down, left and right, as (rows, columns).
const MOVES: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];

/// The sea with the concave or the convex map. Actions are up, down, left and right; the sea floor and the edges hold.
/// Measures are the treasure, the time (−1 a step), steps and visits.
pub fn world(convex: bool) -> Result<World> {
    let mut cells = vec!['F'; SIDE * SIDE];
    let mut values = vec![0.0; SIDE * SIDE];
    for (i, (row, column, value)) in CONCAVE.into_iter().enumerate() {
        cells[row * SIDE + column] = 'G';
        values[row * SIDE + column] = if convex { CONVEX[i] } else { value };
        for below in row + 1..SIDE {
            cells[below * SIDE + column] = 'H';
        }
    }
    cells[0] = 'S';
    let grid = Grid { rows: SIDE, columns: SIDE, cells };
    let measures = Measures::new([("treasure", 1), ("time", 1), ("steps", 1), ("visits", SIDE * SIDE)]);
    let mut model = TabularMdp::builder(SIDE * SIDE, MOVES.len(), measures);
    model.start(0, 1.0);
    for cell in 0..SIDE * SIDE {
        if "HG".contains(grid.cells[cell]) {
            model.terminal(cell);
            continue;
        }
        for (action, step) in MOVES.iter().enumerate() {
            let entered = grid.neighbour(cell, *step);
            let next = if grid.cells[entered] == 'H' { cell } else { entered };
            let z = [(0, values[next]), (1, -1.0), (2, 1.0), (3 + next, 1.0)];
            model.transition((cell, action), 1.0, next, &z);
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: Some(grid) })
}

/// The sea as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "deep-sea-treasure",
    about: "a submarine that trades treasure for time",
    keys: &[
        Key::defaulted(
            "map",
            Kind::Word(&[("concave", "Vamplew et al. 2011"), ("convex", "Yang et al. 2019")]),
            "\"concave\"",
            "Which treasures lie where.",
        ),
        HORIZON,
    ],
    read: |given, _| Ok(at(given, "map", world(given.word("map")? == "convex"))?.into()),
};
