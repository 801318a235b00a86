//! No more answers than Carathéodory's theorem asks for.

use super::{Hull, Vertex};
use crate::vector::{add_scaled, scale};

impl Hull {
    /// Drops answers without weight, and by Carathéodory's theorem all but d + 1.
    pub(super) fn prune(&mut self) {
        self.vertices.retain(|v| v.weight > 1e-15);
        while self.vertices.len() > self.point.len() + 1 {
            let along = affine_dependence(&self.vertices);
            let ratio = |v: &Vertex, a: f64| if a > 0.0 { v.weight / a } else { f64::INFINITY };
            let ratios: Vec<f64> = self.vertices.iter().zip(&along).map(|(v, &a)| ratio(v, a)).collect();
            let t = ratios.iter().copied().fold(f64::INFINITY, f64::min);
            for (vertex, a) in self.vertices.iter_mut().zip(&along) {
                vertex.weight = (vertex.weight - t * a).max(0.0);
            }
            let emptied = ratios.iter().position(|r| *r == t).unwrap_or(0);
            self.vertices.remove(emptied);
            self.vertices.retain(|v| v.weight > 1e-15);
        }
        self.gather();
    }
}

/// α ≠ 0 with Σ αᵢzᵢ = 0 and Σ αᵢ = 0, for more than d + 1 points, by Gaussian elimination.
fn affine_dependence(vertices: &[Vertex]) -> Vec<f64> {
    let count = vertices.len();
    let dim = vertices[0].z.len();
    let mut rows: Vec<Vec<f64>> = (0..dim).map(|i| vertices.iter().map(|v| v.z[i]).collect()).collect();
    rows.push(vec![1.0; count]);
    let mut pivots: Vec<(usize, Vec<f64>)> = Vec::new();
    for mut row in rows {
        for (pivot, reduced) in &pivots {
            let factor = row[*pivot];
            add_scaled(&mut row, -factor, reduced);
        }
        let largest = (0..count).max_by(|&a, &b| row[a].abs().total_cmp(&row[b].abs())).unwrap_or(0);
        if row[largest].abs() > 1e-13 {
            let factor = 1.0 / row[largest];
            scale(&mut row, factor);
            for (_, other) in &mut pivots {
                let factor = other[largest];
                add_scaled(other, -factor, &row);
            }
            pivots.push((largest, row));
        }
    }
    let free = (0..count).find(|c| pivots.iter().all(|(p, _)| p != c)).unwrap_or(0);
    let mut alpha = vec![0.0; count];
    alpha[free] = 1.0;
    for (pivot, row) in &pivots {
        alpha[*pivot] = -row[free];
    }
    alpha
}
