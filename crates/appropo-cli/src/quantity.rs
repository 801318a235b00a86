//! The single numbers that a page draws: a measure that constraints look at, or the slack of a constraint on more
//! than one number.

use appropo::set::ConvexSet;
use appropo_run::page::Measure;

use crate::ended::Ended;
use crate::problem::Problem;

/// Far beyond anything measured, to find where a set ends.
pub const FAR: f64 = 1e9;

pub struct Quantity {
    pub name: String,
    pub kind: Kind,
}

pub enum Kind {
    /// A measure of one number: the selected entries that hold it, each with its factor.
    Entry(Vec<(usize, f64)>),
    /// The slack of the constraint of this number.
    Slack(usize),
}

/// The measures of one number first, then the constraints on several. The steps of a share have no threshold of
/// their own and are left out.
pub fn all(problem: &Problem) -> Vec<Quantity> {
    let (target, measures) = (&problem.target, problem.world.measures());
    let sums: Vec<usize> = (0..target.ranges().len()).filter(|k| !target.constraints()[*k].share).collect();
    let mut found = Vec::new();
    for (name, range) in measures.iter().filter(|(_, range)| range.len() == 1) {
        let entries = &target.selection().entries;
        let places = sums.iter().flat_map(|k| target.ranges()[*k].clone());
        let held: Vec<_> = places
            .filter(|place| entries[*place].0 == range.start)
            .map(|place| (place, entries[place].1))
            .collect();
        if !held.is_empty() {
            found.push(Quantity { name: name.to_owned(), kind: Kind::Entry(held) });
        }
    }
    for (k, constraint) in target.constraints().iter().enumerate() {
        if constraint.share || constraint.set.dim() > 1 {
            found.push(Quantity { name: format!("slack of {}", constraint.name), kind: Kind::Slack(k) });
        }
    }
    found
}

impl Quantity {
    /// Its value at the entries that constraints look at.
    pub fn value(&self, problem: &Problem, selected: &[f64]) -> f64 {
        match &self.kind {
            Kind::Entry(held) => held.first().map_or(f64::NAN, |(place, factor)| selected[*place] / factor),
            Kind::Slack(k) => slack(problem, *k, selected),
        }
    }

    /// Its λ, in the constraints' units; the norm where there are several.
    pub fn price(&self, problem: &Problem, lam: &[f64]) -> f64 {
        match &self.kind {
            Kind::Entry(held) => held.iter().map(|(place, factor)| lam[*place] * factor / held[0].1).sum(),
            Kind::Slack(k) => {
                lam[problem.target.ranges()[*k].clone()].iter().map(|l| l * l).sum::<f64>().sqrt()
            }
        }
    }

    /// The value at the end, and the range that the constraints leave it.
    pub fn measure(&self, problem: &Problem, ended: &Ended) -> Measure {
        let selected = problem.target.selection().apply(&ended.z);
        let (lower, upper) = self.range(problem);
        let interval = match (&self.kind, &ended.evaluation) {
            (Kind::Entry(held), Some(evaluation)) => held.first().map(|(place, factor)| {
                let (mean, radius) = (evaluation.mean[*place], evaluation.radii[*place]);
                [(mean - radius) / factor, (mean + radius) / factor]
            }),
            _ => None,
        };
        let price = match self.kind {
            Kind::Entry(_) => self.name.clone(),
            Kind::Slack(k) => format!("{} (norm)", problem.target.constraints()[k].name),
        };
        let known = |bound: f64| bound.is_finite().then_some(bound);
        Measure {
            name: self.name.clone(),
            price,
            value: self.value(problem, &selected),
            interval,
            lower: known(lower),
            upper: known(upper),
        }
    }

    /// The least and largest value in the set; infinite where there is no end.
    pub fn range(&self, problem: &Problem) -> (f64, f64) {
        let Kind::Entry(held) = &self.kind else { return (0.0, f64::INFINITY) };
        held.iter().fold((f64::NEG_INFINITY, f64::INFINITY), |(low, high), (place, factor)| {
            let end = |sign| end(problem, *place, sign) / factor;
            (low.max(end(-1.0)), high.min(end(1.0)))
        })
    }
}

/// How far an entry can go in the set.
fn end(problem: &Problem, place: usize, sign: f64) -> f64 {
    let set = problem.target.set();
    let (mut far, mut nearest) = (vec![0.0; set.dim()], vec![0.0; set.dim()]);
    far[place] = sign * FAR;
    set.project(&far, &mut nearest);
    let found = nearest[place];
    if found * sign > 0.01 * FAR || !found.is_finite() { sign * f64::INFINITY } else { found }
}

/// The room that the selected entries have in a constraint; where that is no plain number, minus their distance.
fn slack(problem: &Problem, k: usize, selected: &[f64]) -> f64 {
    let target = &problem.target;
    let constraint = &target.constraints()[k];
    let Some(slack) = &problem.shown[k].slack else { return -target.distances_of_selected(selected)[k] };
    let mut x: Vec<f64> = selected[target.ranges()[k].clone()].iter().map(|v| v * constraint.scale).collect();
    if let Some(steps) = constraint.share.then(|| x.pop()).flatten() {
        x.iter_mut().for_each(|v| *v /= steps);
    }
    slack(&x)
}
