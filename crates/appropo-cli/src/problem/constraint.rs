//! The `[[constraint]]` tables.

use std::sync::Arc;

use appropo::constraint::Constraint;
use appropo::error::Result as LibraryResult;
use appropo::set::{
    AffineSubspace, Ball, Bounds, ConvexSet, Ellipsoid, HalfSpace, Intersection, KlBall, L1Ball, Polytope,
    ReverseKlBall, SecondOrderCone, Semidefinite, SharedSet, Similarity, Simplex, Slab,
};

use super::document::{Entry, Result, Table, suggestion};
use super::scene::Scene;

/// The keys that state a set, with an example of each.
pub const SETS: [(&str, &str); 20] = [
    ("at_most", "0.2, or one bound an entry"),
    ("at_least", "-0.17, or one bound an entry"),
    ("between", "[0.1, 0.2]"),
    ("equals", "0.5, or one value an entry"),
    ("box", "{ lower = [0, 0], upper = [1, 2] }"),
    ("ball", "{ center = \"uniform\", radius = 0.1 }"),
    ("l1_ball", "{ center = [0, 0], radius = 0.1 }"),
    ("linf_ball", "{ center = [0, 0], radius = 0.1 }"),
    ("ellipsoid", "{ center = [0, 0], matrix = [[4, 0], [0, 1]] }"),
    ("halfspace", "{ normal = [1, 2], offset = 0.5 }"),
    ("slab", "{ normal = [1, 2], lower = 0, upper = 0.5 }"),
    ("affine", "{ rows = [[1, 1]], offsets = [1] }"),
    ("polytope", "{ rows = [[1, 1], [-1, 0]], offsets = [1, 0] }"),
    ("simplex", "{ total = 1 }"),
    ("entropy", "{ at_least = 2.0 }"),
    ("kl", "{ reference = \"uniform\", radius = 0.1 }"),
    ("reverse_kl", "{ reference = \"uniform\", radius = 0.1 }"),
    ("second_order_cone", "{ slope = 1 }"),
    ("semidefinite", "true"),
    ("intersection", "[{ simplex = {} }, { ball = { center = \"uniform\", radius = 0.1 } }]"),
];

/// A constraint as people read it.
pub struct Shown {
    /// "at most 0.2".
    pub requirement: String,
    /// How much room a point has, where that is a plain number.
    pub slack: Option<Box<dyn Fn(&[f64]) -> f64>>,
}

struct Space<'w> {
    world: &'w Scene,
    dim: usize,
}

/// Reads one constraint.
pub fn read(item: &Entry, world: &Scene) -> Result<(Constraint, Shown)> {
    let table = item.table()?;
    let measures = measures(&table.require("measure", "\"failure\"")?, world)?;
    let name = match table.get("name") {
        Some(entry) => entry.text()?.to_owned(),
        None => measures.join(", "),
    };
    let known = world.measures();
    let mut dim = 0;
    for measure in &measures {
        dim += item.at(known.range(measure))?.len();
    }
    if dim == 0 {
        return Err(item.mistake(format!("measure {} has no entries here", measures.join(", "))));
    }
    let share = table.get("share").map_or(Ok(false), |e| e.flag())?;
    if share {
        item.at(known.range("steps"))?;
    }
    let scale = table.get("scale").map_or(Ok(1.0), |e| e.number_where(|s| s > 0.0, "a number above 0"))?;
    let shift = table.get("shift").map(|e| e.numbers().map(|n| (e, n))).transpose()?;
    let (mut set, mut shown) = one_set(&table, &Space { world, dim })?;
    if let Some((entry, shift)) = shift {
        set = Arc::new(entry.at(Similarity::translate(set, shift))?);
        shown = Shown { requirement: format!("{}, shifted", shown.requirement), slack: None };
    }
    table.finish()?;
    Ok((Constraint { name, measures, set, share, scale }, shown))
}

fn measures(entry: &Entry, world: &Scene) -> Result<Vec<String>> {
    let items = if entry.value.get_ref().is_array() { entry.items()? } else { vec![entry.clone()] };
    if items.is_empty() {
        return Err(entry.mistake("the list is empty; name at least one measure"));
    }
    let all = world.measures();
    let known: Vec<&str> = all.iter().map(|(name, _)| name).collect();
    items
        .iter()
        .map(|item| {
            let name = item.text()?;
            if known.contains(&name) {
                return Ok(name.to_owned());
            }
            let help = suggestion(name, known.iter().copied());
            Err(item.mistake(format!("\"{name}\" is not one of {}; {help}", known.join(", "))))
        })
        .collect()
}

/// The one set that a table states.
fn one_set(table: &Table, space: &Space) -> Result<(SharedSet, Shown)> {
    let found: Vec<Entry> = SETS.iter().filter_map(|(key, _)| table.get(key)).collect();
    match found.as_slice() {
        [] => {
            table.finish()?;
            let keys: Vec<&str> = SETS.iter().map(|(key, _)| *key).collect();
            Err(table.mistake(format!("the set is missing; write one of {}", keys.join(", "))))
        }
        [entry] => {
            let (set, shown) = set(entry, space)?;
            if set.dim() == space.dim {
                return Ok((set, shown));
            }
            let (found, expected) = (set.dim(), space.dim);
            Err(entry.mistake(format!(
                "the set has {found} entries, but the measures have {expected}; give {expected}"
            )))
        }
        [_, second, ..] => {
            Err(second.mistake("a constraint has one set; write another [[constraint]] for this one"))
        }
    }
}

fn shared(set: LibraryResult<impl ConvexSet + 'static>) -> LibraryResult<SharedSet> {
    set.map(|set| Arc::new(set) as SharedSet)
}

fn set(entry: &Entry, space: &Space) -> Result<(SharedSet, Shown)> {
    let plain = |set: SharedSet, requirement: String| (set, Shown { requirement, slack: None });
    let per_entry = |entry: &Entry| match entry.value.get_ref().is_array() {
        true => vector(entry, space),
        false => Ok(vec![entry.number()?; space.dim]),
    };
    Ok(match entry.key.as_str() {
        "at_most" => bounds(entry, vec![f64::NEG_INFINITY; space.dim], per_entry(entry)?)?,
        "at_least" => bounds(entry, per_entry(entry)?, vec![f64::INFINITY; space.dim])?,
        "equals" => bounds(entry, per_entry(entry)?, per_entry(entry)?)?,
        "between" => match entry.numbers()?.as_slice() {
            [lower, upper] => bounds(entry, vec![*lower; space.dim], vec![*upper; space.dim])?,
            other => {
                return Err(
                    entry.mistake(format!("found {} numbers; expected two, as in [0.1, 0.2]", other.len()))
                );
            }
        },
        "intersection" => {
            let parts: Vec<(SharedSet, Shown)> =
                entry.items()?.iter().map(|item| part(item, space)).collect::<Result<_>>()?;
            let text: Vec<String> = parts.iter().map(|(_, shown)| shown.requirement.clone()).collect();
            let sets = parts.into_iter().map(|(set, _)| set).collect();
            plain(entry.at(shared(Intersection::new(sets)))?, text.join(" and "))
        }
        "semidefinite" => {
            let order = (space.dim as f64).sqrt().round() as usize;
            if !entry.flag()? {
                return Err(entry.mistake("found false; write true, or leave the key out"));
            }
            if order * order != space.dim {
                return Err(entry.mistake(format!(
                    "{} measures make no square matrix; write true for n² measures",
                    space.dim
                )));
            }
            plain(
                Arc::new(Semidefinite::new(order)),
                format!("a positive semidefinite {order} by {order} matrix"),
            )
        }
        _ => {
            let table = entry.table()?;
            let result = by_table(entry, &table, space)?;
            table.finish()?;
            result
        }
    })
}

fn part(item: &Entry, space: &Space) -> Result<(SharedSet, Shown)> {
    let table = item.table()?;
    let part = one_set(&table, space)?;
    table.finish()?;
    Ok(part)
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
    let number = |key, example| table.require(key, example)?.number();
    let point = |key| vector(&table.require(key, "[...]")?, space);
    let matrix = |key| table.require(key, "[[...]]")?.rows();
    let numbers = |key| table.require(key, "[...]")?.numbers();
    let radius = || number("radius", "0.1");
    let plain = |requirement: String| Shown { requirement, slack: None };
    let (set, shown) = match entry.key.as_str() {
        "box" => {
            let (lower, upper) = (point("lower")?, point("upper")?);
            return bounds(entry, lower, upper);
        }
        "ball" => {
            let (center, radius) = (point("center")?, radius()?);
            let around = center.clone();
            let slack = move |x: &[f64]| {
                radius - x.iter().zip(&around).map(|(x, c)| (x - c) * (x - c)).sum::<f64>().sqrt()
            };
            let requirement = format!("within {radius} of the center");
            (shared(Ball::new(center, radius)), Shown { requirement, slack: Some(Box::new(slack)) })
        }
        "l1_ball" => {
            let radius = radius()?;
            (shared(L1Ball::new(point("center")?, radius)), plain(format!("within {radius} in the l1 norm")))
        }
        "linf_ball" => {
            let (center, radius) = (point("center")?, radius()?);
            (shared(Bounds::around(&center, radius)), plain(format!("within {radius} in every entry")))
        }
        "ellipsoid" => {
            (shared(Ellipsoid::new(point("center")?, &matrix("matrix")?)), plain("in the ellipsoid".into()))
        }
        "halfspace" => {
            let offset = number("offset", "0.5")?;
            let normal = point("normal")?;
            let n = normal.clone();
            let slack = move |x: &[f64]| offset - x.iter().zip(&n).map(|(x, n)| x * n).sum::<f64>();
            let shown = Shown {
                requirement: format!("in the half-space below {offset}"),
                slack: Some(Box::new(slack)),
            };
            (shared(HalfSpace::new(normal, offset)), shown)
        }
        "slab" => {
            let (lower, upper) = (number("lower", "0")?, number("upper", "0.5")?);
            (
                shared(Slab::new(point("normal")?, lower, upper)),
                plain(format!("in the slab from {lower} to {upper}")),
            )
        }
        "affine" => {
            let set = AffineSubspace::new(space.dim, &matrix("rows")?, &numbers("offsets")?);
            (shared(set), plain("in the affine subspace".into()))
        }
        "polytope" => {
            let set = Polytope::new(space.dim, matrix("rows")?, numbers("offsets")?);
            (shared(set), plain("in the polytope".into()))
        }
        "simplex" => {
            let total = table.get("total").map_or(Ok(1.0), |e| e.number())?;
            (shared(Simplex::new(space.dim, total)), plain(format!("in the simplex of sum {total}")))
        }
        "entropy" => {
            let bound = number("at_least", "2.0")?;
            let slack =
                move |p: &[f64]| -p.iter().filter(|p| **p > 0.0).map(|p| p * p.ln()).sum::<f64>() - bound;
            let requirement = format!("entropy at least {bound}");
            (
                shared(KlBall::entropy_at_least(space.dim, bound)),
                Shown { requirement, slack: Some(Box::new(slack)) },
            )
        }
        "kl" => {
            let radius = radius()?;
            (
                shared(KlBall::new(point("reference")?, radius)),
                plain(format!("within a divergence of {radius} nats")),
            )
        }
        "reverse_kl" => {
            let radius = radius()?;
            let shown = plain(format!("within a reverse divergence of {radius} nats"));
            (shared(ReverseKlBall::new(point("reference")?, radius)), shown)
        }
        _ => {
            let slope = table.get("slope").map_or(Ok(1.0), |e| e.number())?;
            (shared(SecondOrderCone::new(space.dim, slope)), plain(format!("in the cone of slope {slope}")))
        }
    };
    Ok((entry.at(set)?, shown))
}

/// A vector of the measures' dimension: numbers, "uniform" or "uniform-upper-triangle".
fn vector(entry: &Entry, space: &Space) -> Result<Vec<f64>> {
    if entry.value.get_ref().is_str() {
        let words = [("uniform", false), ("uniform-upper-triangle", true)];
        if !entry.word(&words)? {
            return Ok(vec![1.0 / space.dim as f64; space.dim]);
        }
        let grid = space.world.grid();
        let triangle = grid.map(|grid| grid.uniform_upper_triangle()).filter(|t| t.len() == space.dim);
        let problem =
            "\"uniform-upper-triangle\" needs a measure with one entry a cell of a map, such as visits";
        return triangle.ok_or_else(|| entry.mistake(problem));
    }
    let numbers = entry.numbers()?;
    if numbers.len() == space.dim {
        return Ok(numbers);
    }
    let (found, expected) = (numbers.len(), space.dim);
    Err(entry.mistake(format!(
        "found {found} numbers, but the measures have {expected} entries; give {expected} numbers"
    )))
}
