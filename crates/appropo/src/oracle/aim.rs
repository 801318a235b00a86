use crate::error::{Error, Result};
use crate::rl::actor_critic::Aim;
use crate::set::{Cone, Conic, ConvexSet, SharedSet};
use crate::vector;

/// Where constrained policy optimisation goes (Achiam et al. 2017), for any convex set: to the largest objective that is
/// expected within the set and the trust region, and where no point of the set is within reach, straight towards it.
#[derive(Debug)]
pub struct WithinSet {
    constraints: SharedSet,
    form: Conic,
    has_objective: bool,
}

impl WithinSet {
    /// For measurements of this set, followed by an objective where there is one.
    pub fn new(constraints: SharedSet, has_objective: bool) -> Result<Self> {
        let form = constraints.conic().ok_or(Error::NoConicForm { method: "\"cpo\"" })?;
        Ok(Self { constraints, form, has_objective })
    }

    fn distance(&self, z: &[f64]) -> f64 {
        self.constraints.distance(&z[..self.constraints.dim()])
    }

    /// The step with the largest objective among those that end in the set.
    fn best(&self, z: &[f64], rows: &[Vec<f64>], length: f64) -> Result<Vec<f64>> {
        let count = rows.len();
        let objective = &rows[count - 1];
        let unit = vector::norm(objective);
        let steepest: Vec<f64> =
            objective.iter().map(|entry| length * entry / unit.max(f64::MIN_POSITIVE)).collect();
        let after: Vec<f64> = rows.iter().zip(z).map(|(row, z)| z + vector::dot(row, &steepest)).collect();
        if self.distance(&after) == 0.0 {
            return Ok(steepest);
        }
        let mut programme = Conic::free(count);
        let first = programme.auxiliary(self.constraints.dim());
        let measured = (0..self.constraints.dim()).map(|i| {
            let change = rows[i].iter().enumerate().map(|(j, entry)| (j, -entry));
            (change.chain([(first + i, 1.0)]).collect(), z[i])
        });
        programme.constrain(Cone::Zero(self.constraints.dim()), measured);
        let steps = (0..count).map(|j| (vec![(j, -1.0)], 0.0));
        programme.constrain(Cone::SecondOrder(count + 1), std::iter::once((vec![], length)).chain(steps));
        let place: Vec<usize> = (first..first + self.constraints.dim()).collect();
        programme.embed(&self.form, &place);
        let mut linear = vec![0.0; programme.variables];
        linear.iter_mut().zip(&steepest).for_each(|(linear, entry)| *linear = -entry / length);
        let solution = programme.minimize(&vec![0.0; programme.variables], &linear, TOLERANCE)?;
        Ok(solution.x[..count].to_vec())
    }

    /// The longest step straight towards the set.
    fn recovery(&self, z: &[f64], rows: &[Vec<f64>], length: f64) -> Vec<f64> {
        let mut step = vec![0.0; rows.len()];
        for (row, outside) in rows.iter().zip(self.outside(z)) {
            vector::add_scaled(&mut step, -outside, row);
        }
        let now = vector::norm(&step);
        if now > 0.0 {
            vector::scale(&mut step, length / now);
        }
        step
    }
}

const TOLERANCE: f64 = 1e-9;

impl Aim for WithinSet {
    fn step(&self, z: &[f64], rows: &[Vec<f64>], length: f64) -> Result<Vec<f64>> {
        let is_inside = self.distance(z) == 0.0;
        Ok(match (self.has_objective.then(|| self.best(z, rows, length)), is_inside) {
            (Some(Ok(step)), _) => step,
            (_, false) => self.recovery(z, rows, length),
            // Without an objective nothing is better than inside.
            (_, true) => vec![0.0; rows.len()],
        })
    }

    fn is_kept(&self, before: &[f64], after: &[f64]) -> bool {
        let (was, is) = (self.distance(before), self.distance(after));
        if was > 0.0 {
            return is < was;
        }
        is == 0.0 && before.last() <= after.last()
    }

    fn outside(&self, z: &[f64]) -> Vec<f64> {
        let mut outside = vec![0.0; z.len()];
        let dim = self.constraints.dim();
        self.constraints.project(&z[..dim], &mut outside[..dim]);
        outside[..dim].iter_mut().zip(z).for_each(|(nearest, z)| *nearest = z - *nearest);
        outside
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::set::{Ball, Bounds};

    fn close(found: &[f64], expected: &[f64]) {
        assert!(vector::distance(found, expected) < 1e-6, "{found:?} instead of {expected:?}");
    }

    /// One cost c + b·x ≤ 0 and a reward g·x within ‖x‖ ≤ r, in closed form: along the edge of the half-space where the
    /// steepest step would leave it.
    #[test]
    fn the_step_of_one_constraint_is_the_closed_form() {
        let aim = WithinSet::new(Arc::new(Bounds::at_most(1.0).unwrap()), true).unwrap();
        // The cost changes by y₀, the reward by y₀ + y₁.
        let rows = vec![vec![1.0, 0.0], vec![1.0, 1.0]];
        let far = aim.step(&[-9.0, 0.0], &rows, 0.5).unwrap();
        close(&far, &[0.5 / 2f64.sqrt(), 0.5 / 2f64.sqrt()]);
        let near = aim.step(&[0.8, 0.0], &rows, 0.5).unwrap();
        close(&near, &[0.2, (0.25f64 - 0.04).sqrt()]);
        let outside = aim.step(&[1.3, 0.0], &rows, 0.5).unwrap();
        close(&outside, &[-0.3, 0.4]);
        // Out of reach: all of the step goes to the constraint.
        let lost = aim.step(&[3.0, 0.0], &rows, 0.5).unwrap();
        close(&lost, &[-0.5, 0.0]);
    }

    #[test]
    fn a_round_set_is_kept_too() {
        let ball = Ball::new(vec![0.0, 0.0], 1.0).unwrap();
        let aim = WithinSet::new(Arc::new(ball), true).unwrap();
        let rows = vec![vec![1.0, 0.0, 0.0], vec![0.0, 1.0, 0.0], vec![1.0, 0.0, 0.0]];
        let step = aim.step(&[0.8, 0.0, 0.0], &rows, 0.5).unwrap();
        close(&[step[0], step[1]], &[0.2, 0.0]);
        let lost = aim.step(&[3.0, 4.0, 0.0], &rows, 1.0).unwrap();
        close(&lost, &[-0.6, -0.8, 0.0]);
    }

    #[test]
    fn a_step_is_kept_that_is_none_back() {
        let aim = WithinSet::new(Arc::new(Bounds::at_most(1.0).unwrap()), true).unwrap();
        assert!(aim.is_kept(&[0.5, 1.0], &[0.9, 1.1]));
        assert!(!aim.is_kept(&[0.5, 1.0], &[0.9, 0.9]), "less reward");
        assert!(!aim.is_kept(&[0.5, 1.0], &[1.1, 1.1]), "outside");
        assert!(aim.is_kept(&[1.5, 1.0], &[1.2, 0.1]), "on the way back");
        assert!(!aim.is_kept(&[1.5, 1.0], &[1.6, 9.0]));
        let alone = WithinSet::new(Arc::new(Bounds::at_most(1.0).unwrap()), false).unwrap();
        assert_eq!(alone.step(&[0.5], &[vec![1.0]], 0.5).unwrap(), [0.0]);
    }
}
