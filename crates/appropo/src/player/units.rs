use std::ops::Range;
use std::sync::Arc;

use super::Decision;
use super::master::Hull;
use crate::error::Result;
use crate::set::{ConvexSet, Product, SharedSet, Similarity, placed};
use crate::vector;

/// What counts as one unit of each constraint while answers are estimates: how much episodes vary, and how far they are
/// off, before anything is learnt. A learner is then paid for every constraint by how much there is to learn for it,
/// whatever it is measured in. Later answers change no unit: one that goes wrong would make its constraint count less.
///
/// λ = cᵦ(xᵦ − Γᵦ(xᵦ)) block by block separates x from a product for any cᵦ > 0.
#[derive(Debug)]
pub(super) struct Units(Vec<f64>);

impl Units {
    /// Those of the answers of a hull; `None` where they are exact, or there is one constraint only.
    pub fn of(set: &SharedSet, hull: &Hull) -> Option<Self> {
        let blocks = set.blocks().filter(|blocks| blocks.len() > 1 && hull.is_uncertain())?;
        let mut units = Vec::with_capacity(set.dim());
        for (block, range) in placed(blocks) {
            let unit = hull.unit(range.clone(), |z| block.distance(z)).unwrap_or(1.0);
            units.extend(range.map(|_| unit));
        }
        Some(Self(units))
    }

    /// One unit an entry, the same for all of a constraint.
    pub fn entries(&self) -> &[f64] {
        &self.0
    }

    pub fn of_point(&self, z: &[f64]) -> Vec<f64> {
        z.iter().zip(&self.0).map(|(z, unit)| z / unit).collect()
    }

    pub fn of_set(&self, set: &SharedSet) -> Result<SharedSet> {
        let scaled = |(block, range): (&SharedSet, Range<usize>)| -> Result<SharedSet> {
            Ok(Arc::new(Similarity::scale(Arc::clone(block), 1.0 / self.0[range.start])?))
        };
        let blocks = placed(set.blocks().unwrap_or(&[])).map(scaled);
        Ok(Arc::new(Product::new(blocks.collect::<Result<_>>()?)))
    }

    /// A decision about points in these units, as one about points as they are.
    pub fn decision(&self, Decision { mut lam, mut offset }: Decision) -> Decision {
        lam.iter_mut().zip(&self.0).for_each(|(lam, unit)| *lam /= unit);
        let length = vector::norm(&lam);
        if length > 0.0 {
            vector::scale(&mut lam, 1.0 / length);
            offset /= length;
        }
        Decision { lam, offset }
    }
}
