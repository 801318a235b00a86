//! The gridworld of Abbeel and Ng (2004): cells in square macro-cells, whose features an expert's reward weighs.
//!
//! Episodes start anywhere and never end. The feature of a macro-cell is 1 in every step that begins in it. The reward is
//! w·features for random weights w: each is 0 with probability 0.9 and else uniform, at least two are not 0, and they add
//! up to 1.

use std::sync::Arc;

use super::mars_rover::MOVES;
use super::spec::{EnvEntry, HORIZON, SEED, at};
use super::{Grid, TabularMdp, World};
use crate::error::{Result, in_range, not_too_large};
use crate::measurement::Measures;
use crate::options::{Key, Kind, Range};
use crate::random::{self, Generator};
use crate::vector;

/// How large the world is, and how noisy.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Layout {
    /// Cells on a side.
    pub size: usize,
    /// Cells on a side of a macro-cell.
    pub macro_cell: usize,
    /// The probability that a move is replaced by one drawn uniformly from all four.
    pub noise: f64,
}

impl Default for Layout {
    /// 32 × 32 cells in 64 macro-cells; moves go astray with probability 0.3.
    fn default() -> Self {
        Self { size: 32, macro_cell: 4, noise: 0.3 }
    }
}

/// The probability that a weight of the reward is 0.
const SPARSITY: f64 = 0.9;

/// The world with rewards drawn at random. Actions are as in [`mars_rover`](super::mars_rover).
pub fn world(layout: Layout, rng: &mut Generator) -> Result<World> {
    let Layout { size, macro_cell, noise } = layout;
    in_range("noise", noise, (0.0..=1.0).contains(&noise), "between 0 and 1")?;
    not_too_large("the square of the size", &[size, size], 10_000_000)?;
    let is_divisor = macro_cell > 0 && macro_cell < size && size.is_multiple_of(macro_cell);
    in_range(
        "macro_cell",
        macro_cell as f64,
        is_divisor,
        &format!("a divisor of the size {size}, below it"),
    )?;
    let side = size / macro_cell;
    let weights = sparse_weights(side * side, rng);
    let measures = Measures::new([("features", weights.len()), ("reward", 1), ("steps", 1)]);
    let grid = Grid { rows: size, columns: size, cells: vec!['F'; size * size] };
    let mut model = TabularMdp::builder(size * size, MOVES.len(), measures);
    for cell in 0..size * size {
        model.start(cell, 1.0 / (size * size) as f64);
        let feature = cell / size / macro_cell * side + cell % size / macro_cell;
        let z = [(feature, 1.0), (weights.len(), weights[feature]), (weights.len() + 1, 1.0)];
        for action in 0..MOVES.len() {
            let mut arrivals: Vec<(usize, f64)> = Vec::with_capacity(MOVES.len());
            for (other, step) in MOVES.iter().enumerate() {
                let intended = if other == action { 1.0 - noise } else { 0.0 };
                let (next, probability) = (grid.neighbour(cell, *step), intended + noise / 4.0);
                match arrivals.iter_mut().find(|(known, _)| *known == next) {
                    Some((_, sum)) => *sum += probability,
                    None => arrivals.push((next, probability)),
                }
            }
            for (next, probability) in arrivals.into_iter().filter(|(_, probability)| *probability > 0.0) {
                model.transition((cell, action), probability, next, &z);
            }
        }
    }
    Ok(World { model: Arc::new(model.build()?), grid: None })
}

fn sparse_weights(count: usize, rng: &mut Generator) -> Vec<f64> {
    loop {
        let mut weights: Vec<f64> =
            (0..count).map(|_| if random::unit(rng) < SPARSITY { 0.0 } else { random::unit(rng) }).collect();
        // With one rewarding macro-cell there is nothing to weigh.
        if weights.iter().filter(|weight| **weight > 0.0).count() > 1 {
            let sum: f64 = weights.iter().sum();
            vector::scale(&mut weights, 1.0 / sum);
            return weights;
        }
    }
}

/// The gridworld as problems name it.
pub(crate) static ENTRY: EnvEntry = EnvEntry {
    name: "gridworld",
    about: "cells in macro-cells whose features a hidden reward weighs, as in apprenticeship learning",
    keys: &[
        Key::defaulted("size", Kind::Count(2, 3000), "32", "Cells on a side."),
        Key::defaulted(
            "macro_cell",
            Kind::Count(1, 1500),
            "4",
            "Cells on a side of a macro-cell; a divisor of the size, below it.",
        ),
        Key::defaulted(
            "noise",
            Kind::Number(Range::UNIT),
            "0.3",
            "The probability that a move is replaced by one drawn uniformly from all four.",
        ),
        SEED,
        HORIZON,
    ],
    read: |given, _| {
        let layout = Layout {
            size: given.count("size")? as usize,
            macro_cell: given.count("macro_cell")? as usize,
            noise: given.number("noise")?,
        };
        let stated = ["macro_cell", "size"].into_iter().find(|key| given.get(key).is_some());
        let world = world(layout, &mut random::generator(given.count("seed")?));
        Ok(at(given, stated.unwrap_or("name"), world)?.into())
    },
};
