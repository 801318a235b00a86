//! The single numbers in which the course of a solve is told: a measure of one number, or an entry of a vector, that
//! constraints look at, or the slack of a constraint on more than one.

use crate::problem::Problem;
use crate::set::ConvexSet;

/// Far beyond anything measured, to find where a set ends.
pub const FAR: f64 = 1e9;

/// A single number.
#[derive(Debug, Clone, PartialEq)]
pub struct Scalar {
    /// What it is called.
    pub name: String,
    /// What it is.
    pub kind: ScalarKind,
}

/// What a single number is.
#[derive(Debug, Clone, PartialEq)]
pub enum ScalarKind {
    /// A measure of one number, or an entry of a vector: the selected entries that hold it, each with its factor.
    Entry(Vec<(usize, f64)>),
    /// The slack of the constraint of this number.
    Slack(usize),
}

/// The measures of one number first, then the entries of vectors that constraints name, then the constraints on several.
/// The steps of a share have no threshold of their own and are left out.
pub fn scalars(problem: &Problem) -> Vec<Scalar> {
    let (target, measures) = (problem.target(), problem.measures());
    let sums: Vec<usize> = (0..target.ranges().len()).filter(|k| !target.constraints()[*k].share).collect();
    let mut single: Vec<(&str, usize)> = measures
        .iter()
        .filter(|(_, range)| range.len() == 1)
        .map(|(name, range)| (name, range.start))
        .collect();
    // One entry of a vector is a number, too, where a constraint names it.
    for name in target.constraints().iter().flat_map(|constraint| &constraint.measures) {
        match measures.range(name) {
            Ok(range) if range.len() == 1 && single.iter().all(|(_, entry)| *entry != range.start) => {
                single.push((name, range.start));
            }
            _ => {}
        }
    }
    let mut found = Vec::new();
    for (name, entry) in single {
        let entries = &target.selection().entries;
        let places = sums.iter().flat_map(|k| target.ranges()[*k].clone());
        let held: Vec<_> = places
            .filter(|place| entries[*place].0 == entry)
            .map(|place| (place, entries[place].1))
            .collect();
        if !held.is_empty() {
            found.push(Scalar { name: name.to_owned(), kind: ScalarKind::Entry(held) });
        }
    }
    for (k, constraint) in target.constraints().iter().enumerate() {
        if constraint.share || constraint.set.dim() > 1 {
            found.push(Scalar { name: format!("slack of {}", constraint.name), kind: ScalarKind::Slack(k) });
        }
    }
    found
}

impl Scalar {
    /// Its value at the entries that constraints look at.
    pub fn value(&self, problem: &Problem, selected: &[f64]) -> f64 {
        match &self.kind {
            ScalarKind::Entry(held) => {
                held.first().map_or(f64::NAN, |(place, factor)| selected[*place] / factor)
            }
            ScalarKind::Slack(k) => slack(problem, *k, selected),
        }
    }

    /// Its λ, in the constraints' units; the norm where there are several.
    pub fn price(&self, problem: &Problem, lam: &[f64]) -> f64 {
        match &self.kind {
            ScalarKind::Entry(held) => {
                held.iter().map(|(place, factor)| lam[*place] * factor / held[0].1).sum()
            }
            ScalarKind::Slack(k) => {
                lam[problem.target().ranges()[*k].clone()].iter().map(|l| l * l).sum::<f64>().sqrt()
            }
        }
    }

    /// The least and largest value in the set; infinite where there is no end.
    pub fn range(&self, problem: &Problem) -> (f64, f64) {
        let ScalarKind::Entry(held) = &self.kind else { return (0.0, f64::INFINITY) };
        held.iter().fold((f64::NEG_INFINITY, f64::INFINITY), |(low, high), (place, factor)| {
            let end = |sign| end(problem, *place, sign) / factor;
            (low.max(end(-1.0)), high.min(end(1.0)))
        })
    }
}

/// How far an entry can go in the set.
fn end(problem: &Problem, place: usize, sign: f64) -> f64 {
    let set = problem.target().set();
    let (mut far, mut nearest) = (vec![0.0; set.dim()], vec![0.0; set.dim()]);
    far[place] = sign * FAR;
    set.project(&far, &mut nearest);
    let found = nearest[place];
    if found * sign > 0.01 * FAR || !found.is_finite() { sign * f64::INFINITY } else { found }
}

/// The room that the selected entries have in a constraint; where that is no plain number, minus their distance.
fn slack(problem: &Problem, k: usize, selected: &[f64]) -> f64 {
    let target = problem.target();
    let constraint = &target.constraints()[k];
    let mut x: Vec<f64> = selected[target.ranges()[k].clone()].iter().map(|v| v * constraint.scale).collect();
    if let Some(steps) = constraint.share.then(|| x.pop()).flatten() {
        x.iter_mut().for_each(|v| *v /= steps);
    }
    constraint.set.slack(&x).unwrap_or_else(|| -target.distances_of_selected(selected)[k])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::constraint::Constraint;
    use crate::env::mars_rover;

    /// The log of a run told nothing of a constraint on one entry.
    #[test]
    fn entries_of_vectors_that_constraints_name_are_told() {
        let problem = Problem::builder(mars_rover::world("4x4", 0.05).unwrap())
            .discount(0.99)
            .constraint(Constraint::at_most("visits[3]", 0.5).unwrap())
            .constraint(Constraint::at_most("failure", 0.3).unwrap())
            .build()
            .unwrap();
        let found = scalars(&problem);
        let names: Vec<_> = found.iter().map(|scalar| scalar.name.as_str()).collect();
        assert_eq!(names, ["failure", "visits[3]"]);
        assert_eq!(found[1].value(&problem, &[0.25, 0.1]), 0.25);
        assert_eq!(found[1].range(&problem), (f64::NEG_INFINITY, 0.5));
    }
}
