use std::sync::Arc;

use super::{Conic, ConvexSet, Derivative, Errors, SharedSet};

/// C₁ × C₂ × …: consecutive blocks of the vector, each in its own set.
///
/// Projection: block by block.
#[derive(Debug, Clone)]
pub struct Product {
    blocks: Vec<SharedSet>,
}

impl Product {
    /// The product of `blocks`, in this order.
    pub fn new(blocks: Vec<SharedSet>) -> Self {
        Self { blocks }
    }

    /// The Cartesian power `set` × … × `set`.
    pub fn power(set: SharedSet, count: usize) -> Self {
        Self { blocks: vec![set; count] }
    }

    fn each(&self, x: &[f64], out: &mut [f64], project: impl Fn(&SharedSet, &[f64], &mut [f64])) {
        let mut start = 0;
        for block in &self.blocks {
            let end = start + block.dim();
            project(block, &x[start..end], &mut out[start..end]);
            start = end;
        }
    }
}

impl ConvexSet for Product {
    fn requirement(&self) -> String {
        self.blocks.iter().map(|block| block.requirement()).collect::<Vec<_>>().join(" times ")
    }

    fn dim(&self) -> usize {
        self.blocks.iter().map(|b| b.dim()).sum()
    }

    fn project(&self, x: &[f64], out: &mut [f64]) {
        self.each(x, out, |block, x, out| block.project(x, out));
    }

    fn project_recession(&self, x: &[f64], out: &mut [f64]) {
        self.each(x, out, |block, x, out| block.project_recession(x, out));
    }

    fn derivative<'a>(&'a self, x: &[f64]) -> Derivative<'a> {
        let mut start = 0;
        let mut parts = Vec::new();
        for block in &self.blocks {
            let range = start..start + block.dim();
            parts.push((range.clone(), block.derivative(&x[range.clone()])));
            start = range.end;
        }
        Box::new(move |d, out| {
            for (range, part) in &parts {
                part(&d[range.clone()], &mut out[range.clone()]);
            }
        })
    }

    fn radius(&self) -> Option<f64> {
        let squares: Option<f64> = self.blocks.iter().map(|b| b.radius().map(|r| r * r)).sum();
        squares.map(f64::sqrt)
    }

    fn is_solved(&self) -> bool {
        self.blocks.iter().any(|b| b.is_solved())
    }

    fn can_tighten(&self) -> bool {
        self.blocks.iter().all(|block| block.can_tighten())
    }

    fn tightened(&self, at: &[f64], errors: &Errors) -> Option<SharedSet> {
        let mut start = 0;
        let mut blocks = Vec::with_capacity(self.blocks.len());
        for block in &self.blocks {
            let range = start..start + block.dim();
            blocks.push(block.tightened(&at[range.clone()], &errors.block(range.clone()))?);
            start = range.end;
        }
        Some(Arc::new(Self { blocks }))
    }

    fn blocks(&self) -> Option<&[SharedSet]> {
        Some(&self.blocks)
    }

    fn conic(&self) -> Option<Conic> {
        let mut form = Conic::free(self.dim());
        let mut start = 0;
        for block in &self.blocks {
            let place: Vec<usize> = (start..start + block.dim()).collect();
            form.embed(&block.conic()?, &place);
            start += block.dim();
        }
        Some(form)
    }
}
