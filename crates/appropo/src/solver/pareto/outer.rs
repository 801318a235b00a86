use std::ops::Range;

use crate::vector::{dot, norm, scale};

/// The outer approximation of a front: a box, less what half-spaces w·u ≤ h with w ≥ 0 cut off, by its corners.
///
/// Corners are found as in the double description method (Motzkin and others 1953): a new half-space cuts the edges between
/// corners inside and outside of it, and two corners share an edge if no third one lies on all the faces that both lie on.
#[derive(Debug, Clone)]
pub(super) struct Outer {
    dim: usize,
    faces: Vec<(Vec<f64>, f64)>,
    corners: Vec<Corner>,
    /// Corners so far, which number them.
    made: usize,
    /// Corners up to this far from a face lie on it.
    on_face: f64,
}

/// A corner and the faces it lies on, in increasing order.
#[derive(Debug, Clone)]
pub(super) struct Corner {
    pub number: usize,
    pub at: Vec<f64>,
    faces: Vec<usize>,
}

/// Corners up to this far from a face lie on it, in units of the front's ranges, and this many roundings of the largest corner.
const ON_FACE: f64 = 1e-11;
const ROUNDINGS: f64 = 16.0;

/// More corners than this mean too many measures, or too small an ε.
pub(super) const MOST_CORNERS: usize = 50_000;

impl Outer {
    /// The box between two points.
    pub fn new(lower: &[f64], upper: &[f64]) -> Self {
        let dim = lower.len();
        let unit = |i: usize, length: f64| (0..dim).map(|j| if i == j { length } else { 0.0 }).collect();
        let above = (0..dim).map(|i| (unit(i, 1.0), upper[i]));
        let below = (0..dim).map(|i| (unit(i, -1.0), -lower[i]));
        let faces = above.chain(below).collect();
        let corner = |number: usize| {
            let is_upper = |i: usize| number >> i & 1 == 1;
            let at = (0..dim).map(|i| if is_upper(i) { upper[i] } else { lower[i] }).collect();
            let mut faces: Vec<usize> = (0..dim).map(|i| if is_upper(i) { i } else { dim + i }).collect();
            faces.sort_unstable();
            Corner { number, at, faces }
        };
        let size = lower.iter().chain(upper).fold(0.0, |size: f64, end| size.max(end.abs()));
        let on_face = ON_FACE + ROUNDINGS * f64::EPSILON * size;
        Self { dim, faces, corners: (0..1 << dim).map(corner).collect(), made: 1 << dim, on_face }
    }

    pub fn corners(&self) -> &[Corner] {
        &self.corners
    }

    /// The corners that no lower side of the box makes, which are those of the approximation itself.
    pub fn proper_corners(&self) -> impl Iterator<Item = &Corner> {
        let sides = self.dim..2 * self.dim;
        self.corners.iter().filter(move |corner| !corner.faces.iter().any(|face| sides.contains(face)))
    }

    /// Whether a corner with this number is still there.
    pub fn corner(&self, number: usize) -> Option<&Corner> {
        self.corners.binary_search_by_key(&number, |corner| corner.number).ok().map(|at| &self.corners[at])
    }

    /// Whether any corner lies on a face.
    pub fn is_used(&self, face: usize) -> bool {
        self.corners.iter().any(|corner| corner.faces.binary_search(&face).is_ok())
    }

    /// Cuts off all beyond w·u ≤ h. Returns the face that this makes and the numbers of its new corners; `None` where nothing
    /// lies beyond.
    pub fn cut(&mut self, w: &[f64], h: f64) -> Option<(usize, Range<usize>)> {
        let (mut w, length, first) = (w.to_vec(), norm(w), self.made);
        scale(&mut w, 1.0 / length);
        let h = h / length;
        let beyond: Vec<f64> = self.corners.iter().map(|corner| dot(&w, &corner.at) - h).collect();
        if !beyond.iter().any(|beyond| *beyond > self.on_face) {
            return None;
        }
        let face = self.faces.len();
        let mut new = Vec::new();
        for (a, inside) in self.corners.iter().enumerate().filter(|(a, _)| beyond[*a] < -self.on_face) {
            for (b, outside) in self.corners.iter().enumerate().filter(|(b, _)| beyond[*b] > self.on_face) {
                let Some(mut faces) = self.edge(inside, outside) else { continue };
                faces.push(face);
                let t = beyond[a] / (beyond[a] - beyond[b]);
                let at = inside.at.iter().zip(&outside.at).map(|(a, b)| a + t * (b - a)).collect();
                new.push(Corner { number: 0, at, faces });
            }
        }
        self.faces.push((w, h));
        let (mut place, on_face) = (0, self.on_face);
        self.corners.retain_mut(|corner| {
            let beyond = beyond[place];
            place += 1;
            if beyond.abs() <= on_face {
                corner.faces.push(face);
            }
            beyond <= on_face
        });
        for mut corner in new {
            corner.number = self.made;
            self.made += 1;
            self.corners.push(corner);
        }
        Some((face, first..self.made))
    }

    /// The faces of the edge between two corners, if there is one.
    fn edge(&self, a: &Corner, b: &Corner) -> Option<Vec<usize>> {
        let common: Vec<usize> =
            a.faces.iter().copied().filter(|face| b.faces.binary_search(face).is_ok()).collect();
        let is_on = |corner: &Corner| common.iter().all(|face| corner.faces.binary_search(face).is_ok());
        let is_other = |corner: &&Corner| corner.number != a.number && corner.number != b.number;
        let is_edge = common.len() + 1 >= self.dim && !self.corners.iter().filter(is_other).any(is_on);
        is_edge.then_some(common)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;

    /// Half-spaces that touch a ball: every corner lies on at least d faces, inside all of them, and any d faces whose
    /// common point is inside all of them make a corner.
    #[test]
    fn the_corners_are_those_of_the_half_spaces() {
        let mut rng = random::generator(3);
        for dim in 2..=4 {
            let mut outer = Outer::new(&vec![-2.0; dim], &vec![1.0; dim]);
            for _ in 0..8 {
                let mut w: Vec<f64> = (0..dim).map(|_| random::unit(&mut rng)).collect();
                let length = norm(&w);
                scale(&mut w, 1.0 / length);
                outer.cut(&w, 1.0);
            }
            for corner in outer.corners() {
                let beyond = |(w, h): &(Vec<f64>, f64)| dot(w, &corner.at) - h;
                assert!(outer.faces.iter().all(|face| beyond(face) < 1e-9), "{corner:?}");
                assert!(outer.faces.iter().filter(|face| beyond(face).abs() < 1e-9).count() >= dim);
            }
            let expected = subsets(outer.faces.len(), dim).filter(|faces| {
                let rows = faces.iter().flat_map(|face| outer.faces[*face].0.clone());
                let matrix = nalgebra::DMatrix::from_row_iterator(dim, dim, rows);
                let right =
                    nalgebra::DVector::from_iterator(dim, faces.iter().map(|face| outer.faces[*face].1));
                let Some(at) = matrix.lu().solve(&right) else { return false };
                outer.faces.iter().all(|(w, h)| dot(w, at.as_slice()) < h + 1e-9)
            });
            assert_eq!(expected.count(), outer.corners().len(), "dimension {dim}");
        }
    }

    fn subsets(count: usize, size: usize) -> impl Iterator<Item = Vec<usize>> {
        (0..1_usize << count)
            .filter(move |bits| bits.count_ones() as usize == size)
            .map(move |bits| (0..count).filter(|i| bits >> i & 1 == 1).collect())
    }
}
