//! The Mars rover of the paper's experiments: reach the goal without crashing into a rock.
//!
//! With probability `slip` the action is replaced by one drawn uniformly from all four. Every step that does
//! not end the episode has reward −0.01; entering a rock is a failure; visits are counted at the cell entered.

use std::sync::Arc;

use super::spec::{EnvEntry, HORIZON, SEED, at, map_text};
use super::{Grid, TabularMdp, Transition, World};
use crate::error::{Error, Result, in_range, not_too_large};
use crate::measurement::Measures;
use crate::options::{Key, Kind, Range};
use crate::random::{self, Generator};

/// The named maps. `S` is the start, `F` free, `H` a rock, `G` the goal.
pub const MAPS: [(&str, &str); 3] = [
    ("4x4", include_str!("maps/rover_4x4.txt")),
    ("8x8", include_str!("maps/rover_8x8.txt")),
    ("sparse-30x30", include_str!("maps/rover_30x30.txt")),
];

/// Left, down, right and up, as (rows, columns).
pub(super) const MOVES: [(isize, isize); 4] = [(0, -1), (1, 0), (0, 1), (-1, 0)];

const STEP_REWARD: f64 = -0.01;

/// The text of a named map, or the text given.
pub fn map(name_or_text: &str) -> &str {
    MAPS.iter().find(|(name, _)| *name == name_or_text).map_or(name_or_text, |(_, text)| text)
}

/// The rover on a map given by name or as text.
pub fn world(map_name_or_text: &str, slip: f64) -> Result<World> {
    in_range("slip", slip, (0.0..=1.0).contains(&slip), "between 0 and 1")?;
    let grid = Grid::parse(map(map_name_or_text), "SFHG")?;
    let cells = grid.cells.len();
    let measures = Measures::new([("failure", 1), ("reward", 1), ("steps", 1), ("visits", cells)]);
    let mut model = TabularMdp::builder(cells, MOVES.len(), measures);
    // What entering a cell measures, once it has been.
    let mut entered = vec![None; cells];
    for cell in 0..cells {
        match grid.cells[cell] {
            'S' => model.start(cell, 1.0),
            'H' | 'G' => model.terminal(cell),
            _ => &mut model,
        };
        if matches!(grid.cells[cell], 'H' | 'G') {
            continue;
        }
        let arrivals = MOVES.map(|step| {
            let next = grid.neighbour(cell, step);
            let (failure, reward) = match grid.cells[next] {
                'H' => (1.0, 0.0),
                'G' => (0.0, 0.0),
                _ => (0.0, STEP_REWARD),
            };
            let z = [(0, failure), (1, reward), (2, 1.0), (3 + next, 1.0)];
            (next as u32, *entered[next].get_or_insert_with(|| model.outcome(&z)))
        });
        for action in 0..MOVES.len() {
            for (direction, &(next, outcome)) in arrivals.iter().enumerate() {
                let chosen = if direction == action { 1.0 - slip } else { 0.0 };
                let probability = chosen + slip / MOVES.len() as f64;
                if probability > 0.0 {
                    model.push((cell, action), Transition { probability, next, outcome });
                }
            }
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: Some(grid) })
}

/// A random map: start in the top left, goal in the bottom right, this share of the other cells rocks,
/// and a way from start to goal.
pub fn random_map(rows: usize, columns: usize, rocks: f64, rng: &mut Generator) -> Result<String> {
    in_range("share of rocks", rocks, (0.0..1.0).contains(&rocks), "at least 0 and below 1")?;
    not_too_large("rows times columns", &[rows, columns], 10_000_000)?;
    let cells = rows * columns;
    if cells < 2 {
        return Err(Error::Map { line: 1, problem: "a random map needs two cells or more".into() });
    }
    for _ in 0..1000 {
        let mut letters: Vec<char> =
            (0..cells).map(|_| if random::unit(rng) < rocks { 'H' } else { 'F' }).collect();
        letters[0] = 'S';
        letters[cells - 1] = 'G';
        let lines: Vec<String> = letters.chunks(columns).map(|row| row.iter().collect()).collect();
        let text = lines.join("\n");
        if connected(&Grid::parse(&text, "SFHG")?) {
            return Ok(text);
        }
    }
    Err(Error::Map { line: 1, problem: "no random map with a way to the goal; use fewer rocks".into() })
}

fn connected(grid: &Grid) -> bool {
    let mut seen = vec![false; grid.cells.len()];
    let mut open = vec![0];
    while let Some(cell) = open.pop() {
        if !std::mem::replace(&mut seen[cell], true) && grid.cells[cell] != 'H' {
            open.extend(MOVES.iter().map(|step| grid.neighbour(cell, *step)));
        }
    }
    seen[grid.cells.len() - 1]
}

/// The rover as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "mars-rover",
    about: "a rover on its way to the goal among rocks",
    keys: &[
        Key::defaulted(
            "map",
            Kind::Map(&MAPS, Some(&RANDOM_MAP)),
            "\"8x8\"",
            "A named map, one as text with a row a line of S (start), G (goal), F (free) and H (rock), or how to draw one.",
        ),
        Key::defaulted(
            "slip",
            Kind::Number(Range::UNIT),
            "0.05",
            "The probability that the action is replaced by one drawn uniformly from all four.",
        ),
        HORIZON,
    ],
    read: |given, _| {
        let map = map_text(given, |table| {
            let (rows, columns) = (table.count("rows")? as usize, table.count("columns")? as usize);
            random_map(rows, columns, table.number("rocks")?, &mut random::generator(table.count("seed")?))
        })?;
        Ok(at(given, "map", world(&map, given.number("slip")?))?.into())
    },
};

static RANDOM_MAP: [Key; 4] = [
    Key::required("rows", Kind::Count(1, 10_000_000), "100", "Rows of the map."),
    Key::required("columns", Kind::Count(1, 10_000_000), "100", "Columns of the map."),
    Key::required("rocks", Kind::Number(Range::BELOW_ONE), "0.05", "The probability of a rock in each cell."),
    SEED,
];
