use super::{Conic, ConvexSet, Derivative, SharedSet, conic};
use crate::error::{Error, Result, dimension};
use crate::vector;

/// The points that lie in every one of several sets.
///
/// Projection: Clarabel where every part has a conic form, else Dykstra's algorithm (Boyle and Dykstra 1986).
#[derive(Clone)]
pub struct Intersection {
    parts: Vec<SharedSet>,
    form: Option<Conic>,
}

/// How far from every part the projected origin may lie before the intersection counts as empty.
const EMPTY: f64 = 1e-6;
const SWEEPS: usize = 20_000;

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

    fn dykstra(&self, x: &[f64], out: &mut [f64], project: impl Fn(&SharedSet, &[f64], &mut [f64])) {
        let mut corrections = vec![vec![0.0; x.len()]; self.parts.len()];
        let mut shifted = vec![0.0; x.len()];
        out.copy_from_slice(x);
        let enough = 1e-14 * (1.0 + vector::norm(x));
        for _ in 0..SWEEPS {
            let mut change = 0.0;
            for (part, correction) in self.parts.iter().zip(&mut corrections) {
                for i in 0..x.len() {
                    shifted[i] = out[i] + correction[i];
                }
                project(part, &shifted, out);
                for i in 0..x.len() {
                    let new = shifted[i] - out[i];
                    change += (new - correction[i]).abs();
                    correction[i] = new;
                }
            }
            if change <= enough {
                break;
            }
        }
    }
}

impl ConvexSet for Intersection {
    fn dim(&self) -> usize {
        self.parts[0].dim()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        if self.parts.iter().all(|part| part.contains(x, 1e-13 * (1.0 + vector::norm(x)))) {
            return out.copy_from_slice(x);
        }
        match &self.form {
            Some(form) => conic::project_or_nan(form, x, out),
            None => self.dykstra(x, out, |part, x, out| part.project(x, out)),
        }
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        match &self.form {
            Some(form) => conic::project_or_nan(&form.recession(), x, out),
            None => self.dykstra(x, out, |part, x, out| part.project_recession(x, out)),
        }
    }

    fn radius(&self) -> Option<f64> {
        self.parts.iter().filter_map(|p| p.radius()).reduce(f64::min)
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let reach = if self.is_solved() { super::SOLVED } else { super::EXACT };
        super::differences(x, reach, |x, out| self.project(x, out))
    }

    fn is_solved(&self) -> bool {
        self.form.is_some()
    }

    fn conic(&self) -> Option<Conic> {
        self.form.clone()
    }
}
