use std::sync::Arc;

use super::registration::{SetEntry, made};
use super::{Conic, ConvexSet, Derivative, Errors, SharedSet, conic};
use crate::error::{Error, Result, dimension};
use crate::options::{Entry, Key, Kind};
use crate::vector;

/// The points that lie in every one of several sets.
///
/// Projection: Dykstra's algorithm (Boyle and Dykstra 1986); Clarabel where that is too slow or a part needs it anyway,
/// if every part has a conic form.
#[derive(Debug, Clone)]
pub struct Intersection {
    parts: Vec<SharedSet>,
    form: Option<Conic>,
}

/// How far from every part the projected origin may lie before the intersection counts as empty.
const EMPTY: f64 = 1e-6;
/// Sweeps of Dykstra's algorithm: a far point needs as many as it is far. Where Clarabel can take over, it does so soon.
const SWEEPS: usize = 1_000_000;
const FEW_SWEEPS: usize = 2000;

impl Intersection {
    /// The intersection of `parts`; refuses one without points.
    pub fn new(parts: Vec<SharedSet>) -> Result<Self> {
        let Some(dim) = parts.first().map(|p| p.dim()) else {
            return Err(Error::EmptySet { what: "an intersection of no sets" });
        };
        for part in &parts {
            dimension("a part of the intersection", part.dim(), dim)?;
        }
        let mut form = Some(Conic::free(dim));
        let place: Vec<usize> = (0..dim).collect();
        for part in &parts {
            form = form.zip(part.conic()).map(|(mut form, part)| {
                form.embed(&part, &place);
                form
            });
        }
        let intersection = Self { parts, form };
        let mut point = vec![0.0; dim];
        intersection.project(&vec![0.0; dim], &mut point);
        let reach = EMPTY * (1.0 + vector::norm(&point));
        if intersection.parts.iter().all(|part| part.contains(&point, reach)) {
            Ok(intersection)
        } else {
            Err(Error::EmptySet { what: "the intersection" })
        }
    }

    /// Whether Dykstra's algorithm is worth a try.
    fn has_fast_parts(&self) -> bool {
        self.form.is_none() || !self.parts.iter().any(|p| p.is_solved())
    }

    fn dykstra(&self, x: &[f64], out: &mut [f64]) -> Option<Vec<Vec<f64>>> {
        let sweeps = if self.form.is_some() { FEW_SWEEPS } else { SWEEPS };
        dykstra(self.parts.len(), sweeps, x, out, |k, x, out| self.parts[k].project(x, out))
    }
}

/// Projects `x` onto the intersection of `count` sets and returns the normals at that point, one a set, whose sum is
/// x − Γ(x). `None` if that takes more than so many sweeps.
fn dykstra(
    count: usize,
    sweeps: usize,
    x: &[f64],
    out: &mut [f64],
    project: impl Fn(usize, &[f64], &mut [f64]),
) -> Option<Vec<Vec<f64>>> {
    let mut normals = vec![vec![0.0; x.len()]; count];
    let mut shifted = vec![0.0; x.len()];
    out.copy_from_slice(x);
    let size = 1.0 + vector::norm(x);
    let mut change = f64::INFINITY;
    for _ in 0..sweeps {
        change = 0.0;
        for (k, normal) in normals.iter_mut().enumerate() {
            for i in 0..x.len() {
                shifted[i] = out[i] + normal[i];
            }
            project(k, &shifted, out);
            for i in 0..x.len() {
                let new = shifted[i] - out[i];
                change += (new - normal[i]).abs();
                normal[i] = new;
            }
        }
        if change <= 1e-14 * size {
            break;
        }
    }
    // Slow convergence may still have come close enough.
    (change <= 1e-6 * size).then_some(normals)
}

impl ConvexSet for Intersection {
    fn requirement(&self) -> String {
        self.parts.iter().map(|part| part.requirement()).collect::<Vec<_>>().join(" and ")
    }

    fn dim(&self) -> usize {
        self.parts[0].dim()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        if self.parts.iter().all(|part| part.contains(x, 1e-13 * (1.0 + vector::norm(x)))) {
            return out.copy_from_slice(x);
        }
        if self.has_fast_parts() && self.dykstra(x, out).is_some() {
            return;
        }
        match &self.form {
            Some(form) => conic::project_or_nan(form, x, out),
            None => out.fill(f64::NAN),
        }
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        let sweeps = if self.form.is_some() { FEW_SWEEPS } else { SWEEPS };
        let onto = |k: usize, x: &[f64], out: &mut [f64]| self.parts[k].project_recession(x, out);
        if self.has_fast_parts() && dykstra(self.parts.len(), sweeps, x, out, onto).is_some() {
            return;
        }
        match &self.form {
            Some(form) => conic::project_or_nan(&form.recession(), x, out),
            None => out.fill(f64::NAN),
        }
    }

    /// dx = dp + Σ dnₖ with dp = DΓₖ(p + nₖ)(dp + dnₖ): the same algorithm, with the parts' derivatives at the solution.
    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let mut nearest = vec![0.0; x.len()];
        let Some(normals) = self.has_fast_parts().then(|| self.dykstra(x, &mut nearest)).flatten() else {
            return super::differences(x, super::SOLVED, |x, out| self.project(x, out));
        };
        let parts: Vec<Derivative> = self
            .parts
            .iter()
            .zip(&normals)
            .map(|(part, normal)| {
                let shifted: Vec<f64> = nearest.iter().zip(normal).map(|(p, n)| p + n).collect();
                part.derivative(&shifted)
            })
            .collect();
        Box::new(move |d, out| {
            dykstra(parts.len(), FEW_SWEEPS, d, out, |k, d, out| parts[k](d, out));
        })
    }

    fn radius(&self) -> Option<f64> {
        self.parts.iter().filter_map(|p| p.radius()).reduce(f64::min)
    }

    fn is_solved(&self) -> bool {
        !self.has_fast_parts()
    }

    fn can_tighten(&self) -> bool {
        self.parts.iter().all(|part| part.can_tighten())
    }

    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        let parts = self.parts.iter().map(|part| part.tightened(at, errors)).collect::<Option<Vec<_>>>()?;
        Some(Arc::new(Self::new(parts).ok()?))
    }

    fn conic(&self) -> Option<Conic> {
        self.form.clone()
    }
}

pub(crate) static ENTRIES: [SetEntry; 1] = [SetEntry {
    key: Key::optional(
        "intersection",
        Kind::Parts,
        "[{ simplex = {} }, { ball = { center = \"uniform\", radius = 0.1 } }]",
        "x lies in every part; each part is a table with one set.",
    ),
    make: |entry, space| {
        let part = |item: &Entry| (space.part)(&item.open_table()?);
        made(
            entry,
            Intersection::new(entry.items()?.iter().map(part).collect::<crate::options::Result<_>>()?),
        )
    },
}];
