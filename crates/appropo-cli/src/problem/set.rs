//! The sets that a constraint can state.

use std::sync::Arc;

use appropo::error::Result as LibraryResult;
use appropo::set::{
    AffineSubspace, Ball, Bounds, ConvexSet, Ellipsoid, HalfSpace, Intersection, KlBall, L1Ball, Polytope,
    ReverseKlBall, SecondOrderCone, Semidefinite, SharedSet, Simplex, Slab,
};

use super::constraint::{Shown, Space, one_set};
use super::document::{Entry, Table};
use super::format::SETS;
use super::keys::{Kind, with_sets};
use super::source::Result;

fn shared(set: LibraryResult<impl ConvexSet + 'static>) -> LibraryResult<SharedSet> {
    set.map(|set| Arc::new(set) as SharedSet)
}

fn plain(requirement: impl Into<String>) -> Shown {
    Shown { requirement: requirement.into(), slack: None }
}

/// The set at one of the keys in [`SETS`].
pub fn read(entry: &Entry, space: &Space) -> Result<(SharedSet, Shown)> {
    if let Some(Kind::Table(keys)) = SETS.iter().find(|key| key.name == entry.key).map(|key| &key.kind) {
        return by_table(entry, &entry.table(keys.iter().collect())?, space);
    }
    let per_entry = |entry: &Entry| match entry.is_array() {
        true => vector(entry, space),
        false => Ok(vec![entry.number()?; space.dim]),
    };
    match entry.key.as_str() {
        "at_most" => bounds(entry, vec![f64::NEG_INFINITY; space.dim], per_entry(entry)?),
        "at_least" => bounds(entry, per_entry(entry)?, vec![f64::INFINITY; space.dim]),
        "equals" => bounds(entry, per_entry(entry)?, per_entry(entry)?),
        "between" => {
            let pair = entry.numbers()?;
            bounds(entry, vec![pair[0]; space.dim], vec![pair[1]; space.dim])
        }
        "custom" => {
            let name = entry.text()?;
            let Some(set) = space.sets.get(name) else {
                return Err(entry.mistake(format!(
                    "the set \"{name}\" was given by another program and is not here; use that program"
                )));
            };
            if set.dim() != space.dim {
                let (found, expected) = (set.dim(), space.dim);
                return Err(entry.mistake(format!("the set has {found} entries, its measures {expected}")));
            }
            Ok((Arc::clone(set), plain(format!("in {name}"))))
        }
        "semidefinite" => {
            let order = (space.dim as f64).sqrt().round() as usize;
            if order * order != space.dim {
                return Err(entry.mistake(format!(
                    "{} entries make no square matrix; give measures with n² entries",
                    space.dim
                )));
            }
            let shown = plain(format!("a positive semidefinite {order} by {order} matrix"));
            Ok((Arc::new(Semidefinite::new(order)), shown))
        }
        _ => {
            let part = |item: &Entry| one_set(&item.table(with_sets(&[]))?, space);
            let parts: Vec<(SharedSet, Shown)> = entry.items()?.iter().map(part).collect::<Result<_>>()?;
            let text: Vec<String> = parts.iter().map(|(_, shown)| shown.requirement.clone()).collect();
            let sets = parts.into_iter().map(|(set, _)| set).collect();
            Ok((entry.at(shared(Intersection::new(sets)))?, plain(text.join(" and "))))
        }
    }
}

fn bounds(entry: &Entry, lower: Vec<f64>, upper: Vec<f64>) -> Result<(SharedSet, Shown)> {
    let set = entry.at(shared(Bounds::new(lower.clone(), upper.clone())))?;
    let requirement = match (lower.as_slice(), upper.as_slice()) {
        ([l], [u]) if l == u => format!("equal to {u}"),
        ([l], [u]) if l.is_infinite() => format!("at most {u}"),
        ([l], [u]) if u.is_infinite() => format!("at least {l}"),
        ([l], [u]) => format!("between {l} and {u}"),
        _ => format!("in a box of {} entries", lower.len()),
    };
    let slack = move |x: &[f64]| {
        (0..x.len()).map(|i| (x[i] - lower[i]).min(upper[i] - x[i])).fold(f64::INFINITY, f64::min)
    };
    Ok((set, Shown { requirement, slack: Some(Box::new(slack)) }))
}

/// The sets that are stated by a table of parameters.
fn by_table(entry: &Entry, table: &Table, space: &Space) -> Result<(SharedSet, Shown)> {
    let point = |key| vector(&table.require(key)?, space);
    let matrix = |key| rows(&table.require(key)?, space);
    let radius = || table.number("radius");
    // The set, how it is shown, and the key to blame where the library refuses it.
    let (set, shown, blamed) = match entry.key.as_str() {
        "box" => {
            let (lower, upper) = (point("lower")?, point("upper")?);
            let above = table.require("upper")?;
            if let Some(i) = (0..space.dim).find(|&i| lower[i] > upper[i]) {
                return Err(above.mistake(below(upper[i], lower[i])));
            }
            return bounds(&above, lower, upper);
        }
        "ball" => {
            let (center, radius) = (point("center")?, radius()?);
            let around = center.clone();
            let slack = move |x: &[f64]| {
                radius - x.iter().zip(&around).map(|(x, c)| (x - c) * (x - c)).sum::<f64>().sqrt()
            };
            let requirement = format!("within {radius} of the center");
            let shown = Shown { requirement, slack: Some(Box::new(slack)) };
            (shared(Ball::new(center, radius)), shown, None)
        }
        "l1_ball" => {
            let (center, radius) = (point("center")?, radius()?);
            (shared(L1Ball::new(center, radius)), plain(format!("within {radius} in the l1 norm")), None)
        }
        "linf_ball" => {
            let (center, radius) = (point("center")?, radius()?);
            (shared(Bounds::around(&center, radius)), plain(format!("within {radius} in every entry")), None)
        }
        "ellipsoid" => {
            let set = Ellipsoid::new(point("center")?, &matrix("matrix")?);
            (shared(set), plain("in the ellipsoid"), Some("matrix"))
        }
        "halfspace" => {
            let (normal, offset) = (point("normal")?, table.number("offset")?);
            let n = normal.clone();
            let slack = move |x: &[f64]| offset - x.iter().zip(&n).map(|(x, n)| x * n).sum::<f64>();
            let requirement = format!("in the half-space below {offset}");
            let shown = Shown { requirement, slack: Some(Box::new(slack)) };
            (shared(HalfSpace::new(normal, offset)), shown, Some("normal"))
        }
        "slab" => {
            let (lower, upper) = (table.number("lower")?, table.number("upper")?);
            if lower > upper {
                return Err(table.require("upper")?.mistake(below(upper, lower)));
            }
            let shown = plain(format!("in the slab from {lower} to {upper}"));
            (shared(Slab::new(point("normal")?, lower, upper)), shown, Some("normal"))
        }
        "affine" => {
            let rows = matrix("rows")?;
            let set = AffineSubspace::new(space.dim, &rows, &offsets(table, rows.len())?);
            (shared(set), plain("in the affine subspace"), Some("rows"))
        }
        "polytope" => {
            let rows = matrix("rows")?;
            let offsets = offsets(table, rows.len())?;
            (shared(Polytope::new(space.dim, rows, offsets)), plain("in the polytope"), None)
        }
        "simplex" => {
            let total = table.number("total")?;
            (shared(Simplex::new(space.dim, total)), plain(format!("in the simplex of sum {total}")), None)
        }
        "entropy" => {
            let bound = table.number("at_least")?;
            let slack =
                move |p: &[f64]| -p.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>() - bound;
            let requirement = format!("entropy at least {bound}");
            let shown = Shown { requirement, slack: Some(Box::new(slack)) };
            (shared(KlBall::entropy_at_least(space.dim, bound)), shown, Some("at_least"))
        }
        "kl" => {
            let radius = radius()?;
            let shown = plain(format!("within a divergence of {radius} nats"));
            (shared(KlBall::new(point("reference")?, radius)), shown, Some("reference"))
        }
        "reverse_kl" => {
            let radius = radius()?;
            let shown = plain(format!("within a reverse divergence of {radius} nats"));
            (shared(ReverseKlBall::new(point("reference")?, radius)), shown, Some("reference"))
        }
        _ => {
            let slope = table.number("slope")?;
            let shown = plain(format!("in the cone of slope {slope}"));
            (shared(SecondOrderCone::new(space.dim, slope)), shown, None)
        }
    };
    let blamed = blamed.and_then(|key| table.get(key));
    Ok((blamed.as_ref().unwrap_or(entry).at(set)?, shown))
}

/// A vector of the measures' dimension: numbers, "uniform" or "uniform-upper-triangle".
fn vector(entry: &Entry, space: &Space) -> Result<Vec<f64>> {
    if !entry.is_text() {
        return entries(entry, space.dim);
    }
    if entry.text()? == "uniform" {
        return Ok(vec![1.0 / space.dim as f64; space.dim]);
    }
    let grid = space.world.grid();
    let triangle = grid.map(|grid| grid.uniform_upper_triangle()).filter(|t| t.len() == space.dim);
    let problem = "\"uniform-upper-triangle\" needs a measure with one entry a cell of a map, such as visits";
    triangle.ok_or_else(|| entry.mistake(problem))
}

fn below(upper: f64, lower: f64) -> String {
    format!("found {upper}, below lower; expected {lower} or more")
}

/// Numbers, one an entry of the measures.
pub fn entries(entry: &Entry, expected: usize) -> Result<Vec<f64>> {
    let numbers = entry.numbers()?;
    let found = numbers.len();
    if found == expected {
        return Ok(numbers);
    }
    Err(entry
        .mistake(format!("found {found} numbers; expected {expected}, one for each entry of the measures")))
}

/// Rows of such numbers.
fn rows(entry: &Entry, space: &Space) -> Result<Vec<Vec<f64>>> {
    entry.items()?.iter().map(|row| entries(row, space.dim)).collect()
}

fn offsets(table: &Table, expected: usize) -> Result<Vec<f64>> {
    let entry = table.require("offsets")?;
    let numbers = entry.numbers()?;
    let found = numbers.len();
    if found == expected {
        return Ok(numbers);
    }
    Err(entry.mistake(format!("found {found} numbers; expected {expected}, one for each row")))
}
