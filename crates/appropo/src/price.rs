//! Prices of bounds, and the nearest that can be had: what a proof says in the units of a problem's measures.

use crate::certificate::Verdict;
use crate::constraint::Constraint;
use crate::outcome::{Outcome, number};
use crate::problem::{Direction, Problem};
use crate::set::ConvexSet;
use crate::vector;

/// What loosening a constraint is worth: how fast the best value of the objective gets better.
///
/// It is the multiplier of the constraint in the proof of the optimum. The best value is a concave function of the bound (convex
/// where it is minimised), and the price a slope of it: however much the constraint is loosened, the value gets better by at
/// most the price times that, and by exactly that for small changes, unless the optimum is at a kink, where slopes to both sides
/// differ and the price lies between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Price {
    /// What the constraint is called.
    pub constraint: String,
    /// What is loosened.
    pub loosened: Loosened,
    /// How much better the objective gets for each unit of it, 0 or more; for a fixed number, with the sign of what raising
    /// it does to the objective.
    pub price: f64,
}

/// What is loosened in a constraint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Loosened {
    /// An upper bound, by raising it.
    Upper,
    /// A lower bound, by lowering it.
    Lower,
    /// A number that is to be met, by raising it.
    Fixed,
    /// A set, by all points up to one unit away from it.
    Distance,
}

impl Loosened {
    /// The name in files.
    pub fn word(self) -> &'static str {
        match self {
            Self::Upper => "upper",
            Self::Lower => "lower",
            Self::Fixed => "fixed",
            Self::Distance => "distance",
        }
    }
}

/// The point that comes closest to the constraints.
#[derive(Debug, Clone, PartialEq)]
pub struct Nearest {
    /// The measures of one number that constraints look at, with what the closest policy has of them.
    pub values: Vec<(String, f64)>,
    /// How far off it is, in units of each constraint's `scale`.
    pub distance: f64,
}

impl Outcome {
    /// The price of every constraint, where the optimum is proved.
    pub fn prices(&self, problem: &Problem) -> Vec<Price> {
        let proof =
            self.objective.as_ref().and_then(|optimum| Some((optimum.value?, optimum.ceiling.as_ref()?)));
        let (Some((_, ceiling)), Some(objective)) = (proof, problem.objective()) else { return Vec::new() };
        let target = problem.target();
        let steps = problem.measures().range("steps").map_or(1.0, |range| self.measurements[range.start]);
        // An objective per step is a proof about what is measured in all.
        let unit = if objective.criterion.is_share() { 1.0 / steps } else { 1.0 };
        let each = target.constraints().iter().zip(target.ranges());
        each.map(|(constraint, range)| {
            let y: Vec<f64> =
                ceiling.lam[range.clone()].iter().map(|y| unit * y / constraint.scale).collect();
            price(constraint, &y, steps)
        })
        .collect()
    }

    /// What comes closest to the constraints, where nothing meets them and no policy comes closer.
    pub fn nearest(&self, problem: &Problem) -> Option<Nearest> {
        let certificate = &self.certificate;
        let is_nearest = certificate.verdict == Verdict::Infeasible
            && certificate.lower_bound > certificate.tolerance
            && certificate.distance - certificate.lower_bound
                <= certificate.tolerance * (1.0 + certificate.distance);
        if !is_nearest {
            return None;
        }
        let mut values: Vec<(String, f64)> = Vec::new();
        for measure in problem.target().constraints().iter().flat_map(|constraint| &constraint.measures) {
            if let Ok(range) = problem.measures().range(measure)
                && range.len() == 1
                && values.iter().all(|(name, _)| name != measure)
            {
                values.push((measure.clone(), self.measurements[range.start]));
            }
        }
        Some(Nearest { values, distance: certificate.distance })
    }
}

/// The price of a constraint with the multiplier y, in the units of its measures.
fn price(constraint: &Constraint, y: &[f64], steps: f64) -> Price {
    let named =
        |loosened, price: f64| Price { constraint: constraint.name.clone(), loosened, price: price + 0.0 };
    let ends = |x: f64| {
        let mut nearest = [0.0];
        constraint.set.project(&[x], &mut nearest);
        nearest[0]
    };
    if constraint.set.dim() != 1 {
        // max y·x over all points up to ε away is ε‖y‖ more.
        return named(Loosened::Distance, vector::norm(y));
    }
    // v ≤ bL for a share: one unit of b is worth L units of v.
    let slope = y[0] * if constraint.share { steps } else { 1.0 };
    let is_fixed = ends(f64::MAX) == ends(-f64::MAX);
    match () {
        _ if is_fixed => named(Loosened::Fixed, slope),
        _ if slope < 0.0 || slope == 0.0 && ends(f64::MAX) == f64::MAX => named(Loosened::Lower, -slope),
        _ => named(Loosened::Upper, slope),
    }
}

impl Price {
    /// The price in a sentence.
    pub fn sentence(&self, problem: &Problem) -> String {
        let Self { constraint, loosened, price } = self;
        let Some(objective) = problem.objective() else { return String::new() };
        let of = problem.target().constraints().iter().find(|c| c.name == *constraint);
        let measure = of.map_or(String::new(), |c| {
            format!("{}{}", c.measures.join(", "), if c.share { " per step" } else { "" })
        });
        let what = match loosened {
            Loosened::Upper => format!("one more {measure} allowed"),
            Loosened::Lower => format!("one less {measure} asked for"),
            Loosened::Fixed => format!("one more {measure} asked for"),
            Loosened::Distance => "one unit of distance allowed".into(),
        };
        let better = match (objective.direction, *price < 0.0) {
            (Direction::Maximize, false) | (Direction::Minimize, true) => "more",
            _ => "less",
        };
        match *price == 0.0 {
            true => format!("price of {constraint}: 0, it costs nothing"),
            false => {
                format!(
                    "price of {constraint}: {what} is worth {} {better} {}",
                    number(price.abs()),
                    objective.statement()
                )
            }
        }
    }
}

impl Nearest {
    /// What can be had, in a sentence.
    pub fn sentence(&self) -> String {
        let values = self.values.iter().map(|(name, value)| format!("{name} {}", number(*value)));
        let values = values.collect::<Vec<_>>().join(", ");
        match values.is_empty() {
            true => format!("the nearest that can be had is {} away", number(self.distance)),
            false => format!("the nearest that can be had: {values}"),
        }
    }
}
