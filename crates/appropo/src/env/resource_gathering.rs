//! MO-Gymnasium's resource gathering: gold and a gem are to be brought home past two enemies.

use std::sync::Arc;

use super::spec::{EnvEntry, HORIZON, at};
use super::{TabularMdp, World};
use crate::error::{Result, in_range};
use crate::measurement::Measures;
use crate::options::{Key, Kind, Range};

/// The map of Barrett and Narayanan (2008): home, gold, gem, enemies.
pub const MAP: [&str; 5] = ["..$E.", "..E.*", ".....", ".....", "..H.."];

const SIDE: usize = 5;
const HOME: usize = 22;

/// Up, down, left and right, as (rows, columns).
const MOVES: [(isize, isize); 4] = [(-1, 0), (1, 0), (0, -1), (0, 1)];

/// The world in which an enemy kills with probability `danger` in every step that ends beside it. Measures are whether the
/// gatherer was killed, brought gold home, brought the gem home, and steps. An episode ends with either.
///
/// States are a cell, with whether gold (25 more) and the gem (50 more) are carried; the last state is the end.
pub fn world(danger: f64) -> Result<World> {
    in_range("danger", danger, (0.0..=1.0).contains(&danger), "between 0 and 1")?;
    let cells: Vec<char> = MAP.iter().flat_map(|row| row.chars()).collect();
    let (count, end) = (SIDE * SIDE, 4 * SIDE * SIDE);
    let measures = Measures::new([("killed", 1), ("gold", 1), ("gem", 1), ("steps", 1)]);
    let mut model = TabularMdp::builder(end + 1, MOVES.len(), measures);
    model.start(HOME, 1.0).terminal(end);
    for state in 0..end {
        let (cell, mut has_gold, mut has_gem) =
            (state % count, state / count % 2 == 1, state / count / 2 == 1);
        let carried = (has_gold, has_gem);
        for (action, (down, right)) in MOVES.into_iter().enumerate() {
            (has_gold, has_gem) = carried;
            let inside = |at: usize, step: isize| at.checked_add_signed(step).filter(|at| *at < SIDE);
            let entered = inside(cell / SIDE, down).zip(inside(cell % SIDE, right));
            let entered = entered.map_or(cell, |(row, column)| row * SIDE + column);
            let from = (state, action);
            match cells[entered] {
                'H' => {
                    let brought = |has: bool| if has { 1.0 } else { 0.0 };
                    model.transition(
                        from,
                        1.0,
                        end,
                        &[(1, brought(has_gold)), (2, brought(has_gem)), (3, 1.0)],
                    );
                    continue;
                }
                '$' => has_gold = true,
                '*' => has_gem = true,
                _ => {}
            }
            let next = entered + count * usize::from(has_gold) + 2 * count * usize::from(has_gem);
            let risk = if cells[entered] == 'E' { danger } else { 0.0 };
            if risk > 0.0 {
                model.transition(from, risk, end, &[(0, 1.0), (3, 1.0)]);
            }
            if risk < 1.0 {
                model.transition(from, 1.0 - risk, next, &[(3, 1.0)]);
            }
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: None })
}

/// The world as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "resource-gathering",
    about: "gold and a gem to be brought home past enemies",
    keys: &[
        Key::defaulted(
            "danger",
            Kind::Number(Range::UNIT),
            "0.1",
            "The probability of being killed in a step that ends beside an enemy.",
        ),
        HORIZON,
    ],
    read: |given, _| Ok(at(given, "danger", world(given.number("danger")?))?.into()),
};
