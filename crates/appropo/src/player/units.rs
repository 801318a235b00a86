use std::ops::Range;
use std::sync::Arc;

use super::Decision;
use super::master::Hull;
use crate::error::Result;
use crate::set::{ConvexSet, Product, SharedSet, Similarity, placed};
use crate::vector;

/// What counts as one unit of each constraint.
///
/// λ = cᵦ(xᵦ − Γᵦ(xᵦ)) block by block separates x from a product for any cᵦ > 0.
#[derive(Debug)]
pub(super) struct Units(Vec<f64>);

/// Extents up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-12;

impl Units {
    /// Where an objective is maximised: how far answers differ in each constraint and in the objective, so that it makes no
    /// difference whether money is in cents. They are powers of 2, and dividing by them leaves every digit as it is.
    pub fn of_extents(set: &SharedSet, hull: &Hull) -> Self {
        let mut units = vec![1.0; set.dim()];
        each_block(set, 0, &mut |block, range| {
            let point = &hull.point()[range.clone()];
            let size = vector::norm(point);
            let candidates = [hull.extent(range.clone()), block.distance(point), size];
            let unit = candidates.into_iter().find(|unit| *unit > ROUNDING * size).unwrap_or(1.0);
            units[range].fill(power_of_two(unit));
        });
        Self(units)
    }

    /// The same with the entries after the constraints as they are.
    pub fn with_plain(mut self, constrained: usize) -> Self {
        self.0[constrained..].fill(1.0);
        self
    }

    /// Those of the constraints, with the entries after them of no account.
    pub fn of_constraints(set: &SharedSet, hull: &Hull, constrained: usize) -> Self {
        let mut units = Self::of_extents(set, hull);
        units.0[constrained..].fill(f64::INFINITY);
        units
    }

    /// While answers are estimates: how much episodes vary, and how far they are off, before anything is learnt. A learner is
    /// then paid for every constraint by how much there is to learn for it, whatever it is measured in. Later answers change
    /// no unit: one that goes wrong would make its constraint count less. `None` where answers are exact, or there is one
    /// constraint only.
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
        self.of_block(set, 0)
    }

    fn of_block(&self, set: &SharedSet, start: usize) -> Result<SharedSet> {
        if let Some(blocks) = set.blocks() {
            let scaled = placed(blocks).map(|(block, range)| self.of_block(block, start + range.start));
            return Ok(Arc::new(Product::new(scaled.collect::<Result<_>>()?)));
        }
        Ok(match self.0.get(start) {
            Some(&unit) if unit != 1.0 && unit.is_finite() => {
                Arc::new(Similarity::scale(Arc::clone(set), 1.0 / unit)?)
            }
            _ => Arc::clone(set),
        })
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

/// Visits the sets that a product is made of, also where its factors are products.
fn each_block(set: &SharedSet, start: usize, visit: &mut dyn FnMut(&SharedSet, Range<usize>)) {
    match set.blocks() {
        None => visit(set, start..start + set.dim()),
        Some(blocks) => {
            placed(blocks).for_each(|(block, range)| each_block(block, start + range.start, visit))
        }
    }
}

fn power_of_two(size: f64) -> f64 {
    // Far from where squares vanish or overflow.
    size.log2().round().clamp(-300.0, 300.0).exp2()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::Spread;
    use crate::player::separating;
    use crate::set::Bounds;

    fn limits() -> SharedSet {
        let blocks = [0.8, -5.0].map(|least| Arc::new(Bounds::at_least(least).unwrap()) as SharedSet);
        Arc::new(Product::new(blocks.into()))
    }

    fn spread(deviations: [f64; 2]) -> Option<Spread> {
        Some(Spread { deviations: deviations.to_vec(), episodes: 25.0 })
    }

    /// Ore in tenths and fuel in tens: λ was all fuel, and a learner that stood still never found ore again.
    #[test]
    fn a_constraint_counts_by_what_episodes_vary_and_miss() {
        let mut hull = Hull::new(2);
        hull.add(0, &[0.5, -9.0], spread([0.4, 3.0]));
        let units = Units::of(&limits(), &hull).unwrap();
        assert_eq!(units.entries(), [0.5, 5.0]);
        let aim = units.of_set(&limits()).unwrap();
        let decision = units.decision(separating(&aim, &units.of_point(hull.point())).unwrap());
        // Off by 0.6 and 0.8 units: λ = (0.6/0.5, 0.8/5) downwards, to length 1.
        assert!((decision.lam[1] / decision.lam[0] - 0.16 / 1.2).abs() < 1e-12, "{decision:?}");
        assert!((vector::norm(&decision.lam) - 1.0).abs() < 1e-12, "{decision:?}");
        let support = vector::dot(&decision.lam, &[0.8, -5.0]);
        assert!((decision.offset - support).abs() < 1e-12, "{decision:?}");
        hull.add(1, &[0.0, -80.0], spread([0.0, 50.0]));
        assert_eq!(
            Units::of(&limits(), &hull).unwrap().entries(),
            [0.5, 5.0],
            "a bad answer changes nothing"
        );
    }

    #[test]
    fn exact_answers_keep_the_units_of_the_problem() {
        let mut hull = Hull::new(2);
        hull.add(0, &[0.5, -9.0], None);
        assert!(Units::of(&limits(), &hull).is_none());
    }
}
