//! The Pareto front of several measures of a problem: its vertices with their policies, and proofs that nothing lies beyond.

use std::collections::HashMap;
use std::sync::Arc;

use crate::certificate::{Ceiling, Certificate, Verdict};
use crate::error::{Error, Result};
use crate::measurement::Selection;
use crate::oracle::{Exact, Planner};
use crate::outcome::{count, number};
use crate::policy::{AnyPolicy, Mixed};
use crate::problem::{Direction, Problem};
use crate::rl::Occupancy;
use crate::set::ConvexSet;
use crate::solver::{
    Approximation, Pareto, ParetoRule, ParetoWatch, Stop, approximation, pareto_front, ranges,
};
use crate::utility::{Criterion, Linear};

/// One of the measures that a front trades against each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrontMeasure {
    /// A measure, or one entry of it as in `visits[3]`.
    pub measure: String,
    /// Which way is better.
    pub direction: Direction,
}

impl FrontMeasure {
    /// A measure that is to be large.
    pub fn maximize(measure: impl Into<String>) -> Self {
        Self { measure: measure.into(), direction: Direction::Maximize }
    }

    /// A measure that is to be small.
    pub fn minimize(measure: impl Into<String>) -> Self {
        Self { measure: measure.into(), direction: Direction::Minimize }
    }
}

/// A vertex of the front.
#[derive(Debug, Clone)]
pub struct FrontVertex {
    /// The front's measures.
    pub values: Vec<f64>,
    /// All that is measured.
    pub measurements: Vec<f64>,
    /// The mixed policy that measures this.
    pub mixture: Mixed,
}

/// A half-space that no feasible policy leaves: weights·values ≤ bound.
#[derive(Debug, Clone, PartialEq)]
pub struct FrontFace {
    /// Positive for measures to be large, negative for those to be small, or 0; the other way round where the worst of a
    /// single measure is bounded.
    pub weights: Vec<f64>,
    /// The bound.
    pub bound: f64,
    /// Its proof.
    pub ceiling: Ceiling,
}

/// The Pareto front of several measures subject to the constraints of a problem, over mixed policies: what can be had together,
/// from within and from without.
///
/// Every point of the hull of the vertices is reached by a mixed policy that meets the constraints. No policy that meets them
/// leaves any of the faces. The two are `gap` apart.
#[derive(Debug, Clone)]
pub struct Front {
    /// What is traded against each other.
    pub measures: Vec<FrontMeasure>,
    /// Whether the constraints can be met.
    pub certificate: Certificate,
    /// The mixture that the certificate speaks of.
    pub mixture: Mixed,
    /// The vertices, in the order of the first measure; none is dominated by a mixture of the others.
    pub vertices: Vec<FrontVertex>,
    /// The faces of the outer approximation.
    pub faces: Vec<FrontFace>,
    /// Its corners.
    pub corners: Vec<Vec<f64>>,
    /// The range of each measure over the front: what ε and the gap count in.
    pub units: Vec<f64>,
    /// The gap that was asked for.
    pub epsilon: f64,
    /// No feasible policy lies further beyond what the vertices reach.
    pub gap: f64,
    /// Calls of the oracle.
    pub oracle_calls: usize,
    /// Why the search ended.
    pub stop: Stop,
}

impl Problem {
    /// The Pareto front of two or more measures subject to the constraints, in a known model.
    ///
    /// ```
    /// use appropo::{env::deep_sea_treasure, front::FrontMeasure, problem::Problem, solver::ParetoRule};
    ///
    /// # fn main() -> appropo::error::Result<()> {
    /// let problem = Problem::builder(deep_sea_treasure::world(true)?).discount(0.99).build()?;
    /// let measures = [FrontMeasure::maximize("treasure"), FrontMeasure::maximize("time")];
    /// let front = problem.pareto(&measures, &ParetoRule::default(), &mut |_| Ok(std::ops::ControlFlow::Continue(())))?;
    /// assert_eq!(front.vertices.len(), 10);
    /// # Ok(())
    /// # }
    /// ```
    pub fn pareto(&self, measures: &[FrontMeasure], rule: &ParetoRule, watch: ParetoWatch) -> Result<Front> {
        let entries = entries(self, measures)?;
        let selection = self.target().selection_with(&entries);
        let mut oracle = exact(self, &selection)?;
        let found = pareto_front(self.target().set(), measures.len(), &mut oracle, rule, watch)?;
        let Pareto { certificate, mixture, points, bounds, units, oracle_calls, stop, .. } = found;
        let faces = bounds.into_iter().map(|face| FrontFace {
            // −0 would be odd to read.
            weights: face.weights.iter().zip(&entries).map(|(w, (_, sign))| w * sign + 0.0).collect(),
            bound: face.bound,
            ceiling: face.ceiling,
        });
        let vertices = points.into_iter().map(|point| FrontVertex {
            values: Vec::new(),
            measurements: Vec::new(),
            mixture: point.mixture,
        });
        Front {
            measures: measures.to_vec(),
            certificate,
            mixture,
            vertices: vertices.collect(),
            faces: faces.collect(),
            corners: Vec::new(),
            units,
            epsilon: rule.epsilon,
            gap: f64::INFINITY,
            oracle_calls,
            stop,
        }
        .recomputed(self)
    }
}

/// The entries of the measurement vector that the measures of a front are, each with its sign.
fn entries(problem: &Problem, measures: &[FrontMeasure]) -> Result<Vec<(usize, f64)>> {
    let mut entries: Vec<(usize, f64)> = Vec::new();
    for FrontMeasure { measure, direction } in measures {
        let objective = problem.clone().with_objective(measure.as_str(), *direction)?;
        let Some(&entry) = objective.objective().and_then(|objective| objective.entries.first()) else {
            continue;
        };
        if entries.iter().any(|(known, _)| *known == entry.0) {
            return Err(Error::Objective(format!(
                "a front has every measure once; found \"{measure}\" twice; leave one of them out"
            )));
        }
        entries.push(entry);
    }
    Ok(entries)
}

fn exact(problem: &Problem, selection: &Selection) -> Result<Exact> {
    let model = problem.env().model().ok_or_else(|| {
        Error::Objective(
            "a Pareto front is planned, and the environment has no model to plan in; learn one point of it at a time by \
             maximising one measure with constraints on the others"
                .into(),
        )
    })?;
    Exact::new(model.select(selection), *problem.discounting(), Planner::PolicyIteration)
}

impl Front {
    /// The same front with every number computed again from its policies and proofs, claiming only what that confirms.
    pub fn recomputed(self, problem: &Problem) -> Result<Self> {
        let target = problem.target();
        let entries = entries(problem, &self.measures)?;
        let selection = target.selection_with(&entries);
        let oracle = exact(problem, &selection)?;
        let certificate = oracle.recompute(&self.certificate, target.set(), &self.mixture)?;
        let mut measured = Measured::new(problem);
        let mut vertices = Vec::new();
        for FrontVertex { mixture, .. } in self.vertices {
            let measurements = measured.mixture(&mixture)?;
            let distance = target.set().distance(&target.selection().apply(&measurements));
            // What does not meet the constraints is no point of the front.
            if distance <= certificate.tolerance {
                let values = entries.iter().map(|(entry, _)| measurements[*entry]).collect();
                vertices.push(FrontVertex { values, measurements, mixture });
            }
        }
        let mut faces = Vec::new();
        for mut face in self.faces {
            let weights: Vec<f64> =
                face.weights.iter().zip(&entries).map(|(w, (_, sign))| w * sign).collect();
            crate::error::dimension("weights of a face", weights.len(), entries.len())?;
            let criterion = Criterion::new(Arc::new(Linear { weights }), false);
            face.bound = oracle.upper_bound(&face.ceiling, target.set(), &criterion)?;
            if face.bound.is_finite() {
                faces.push(face);
            }
        }
        let units = ranges(vertices.iter().map(|vertex| vertex.values.as_slice()), entries.len());
        let mut front = Self { certificate, vertices, faces, units, ..self };
        let Approximation { gap, corners, .. } = front.approximation(&entries)?;
        front.gap = gap;
        front.corners = corners
            .into_iter()
            .map(|corner| corner.iter().zip(&entries).map(|(u, (_, sign))| u * sign).collect())
            .collect();
        if front.stop == Stop::Reached && front.gap > front.epsilon {
            front.stop = Stop::Rounds;
        }
        Ok(front)
    }

    fn approximation(&self, entries: &[(usize, f64)]) -> Result<Approximation> {
        let signed =
            |values: &[f64]| -> Vec<f64> { values.iter().zip(entries).map(|(v, (_, s))| v * s).collect() };
        let points: Vec<Vec<f64>> = self.vertices.iter().map(|vertex| signed(&vertex.values)).collect();
        let points: Vec<&[f64]> = points.iter().map(Vec::as_slice).collect();
        let faces: Vec<(Vec<f64>, f64)> =
            self.faces.iter().map(|face| (signed(&face.weights), face.bound)).collect();
        if points.is_empty() {
            return Ok(Approximation {
                gap: f64::INFINITY,
                corners: Vec::new(),
                used: vec![true; faces.len()],
            });
        }
        approximation(&points, &faces, &self.units)
    }

    /// The verdict on the constraints.
    pub fn verdict(&self) -> Verdict {
        self.certificate.verdict
    }

    /// What was found, in a sentence.
    pub fn sentence(&self) -> String {
        let names = |direction: Direction| {
            let names = self.measures.iter().filter(|m| m.direction == direction).map(|m| m.measure.as_str());
            let names = names.collect::<Vec<_>>().join(" and ");
            if names.is_empty() { names } else { format!("{} {names}", direction.word()) }
        };
        let asked = [names(Direction::Maximize), names(Direction::Minimize)];
        let asked = asked.iter().filter(|names| !names.is_empty()).cloned().collect::<Vec<_>>().join(", ");
        match self.verdict() {
            Verdict::Feasible => format!(
                "{asked}: {}, {}; no feasible policy lies further beyond them than {} of the front's ranges",
                count(self.vertices.len(), "vertex", "vertices"),
                count(self.faces.len(), "face", "faces"),
                number(self.gap)
            ),
            Verdict::Infeasible => format!(
                "{asked}: infeasible, every policy misses the constraints by at least {}",
                number(self.certificate.lower_bound)
            ),
            Verdict::Undecided => format!(
                "{asked}: undecided, the best policy found misses the constraints by {}",
                number(self.certificate.distance)
            ),
        }
    }
}

/// What policies measure in a problem's model, each computed once.
struct Measured<'a> {
    problem: &'a Problem,
    /// By their addresses, which no other policy has while these are held.
    known: HashMap<*const AnyPolicy, (Arc<AnyPolicy>, Vec<f64>)>,
}

impl<'a> Measured<'a> {
    fn new(problem: &'a Problem) -> Self {
        Self { problem, known: HashMap::new() }
    }

    fn mixture(&mut self, mixture: &Mixed) -> Result<Vec<f64>> {
        let Some(model) = self.problem.env().model() else { return Ok(Vec::new()) };
        let mut z = vec![0.0; model.measures().dim()];
        for (weight, policy) in mixture.parts() {
            let (_, known) = match self.known.entry(Arc::as_ptr(policy)) {
                std::collections::hash_map::Entry::Occupied(known) => known.into_mut(),
                std::collections::hash_map::Entry::Vacant(place) => {
                    let one = Mixed::shared(Arc::clone(policy));
                    let occupancy = Occupancy::of_mixture(model, self.problem.discounting(), &one)?;
                    place.insert((Arc::clone(policy), occupancy.measure(model)))
                }
            };
            crate::vector::add_scaled(&mut z, *weight, known);
        }
        Ok(z)
    }
}

/// Differences up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-7;

/// Computes the claim of a front again: what its vertices measure, that they meet the constraints, what its faces prove, and
/// how far the two are apart. Returns what was checked, line by line; what does not hold is [`Error::Refuted`].
pub fn verify_front(problem: &Problem, front: &Front) -> Result<Vec<String>> {
    let again = front.clone().recomputed(problem)?;
    let refuted = |problem: String| Error::Refuted { problem };
    if again.verdict() != front.verdict() {
        return Err(refuted(format!(
            "the verdict is claimed as {:?}, but what is known says {:?}",
            front.verdict(),
            again.verdict()
        )));
    }
    let counts = |front: &Front| (front.vertices.len(), front.faces.len(), front.corners.len());
    if counts(&again) != counts(front) {
        return Err(refuted("a vertex violates the constraints, or a face proves nothing".into()));
    }
    let agree = |what: &str, claimed: &[f64], found: &[f64]| {
        crate::error::dimension(what, claimed.len(), found.len())?;
        let size = 1.0 + found.iter().map(|v| v * v).sum::<f64>().sqrt();
        // Written so that NaN differs.
        match claimed.iter().zip(found).find(|(a, b)| !((*a - *b).abs() <= ROUNDING * size)) {
            None => Ok(()),
            Some((claimed, found)) => {
                Err(refuted(format!("{what} is claimed as {claimed:?}, but it is {found:?}")))
            }
        }
    };
    for (claimed, found) in front.vertices.iter().zip(&again.vertices) {
        agree("a measure of a vertex", &claimed.values, &found.values)?;
        agree("a measurement of a vertex", &claimed.measurements, &found.measurements)?;
    }
    for (claimed, found) in front.faces.iter().zip(&again.faces) {
        agree("the bound of a face", &[claimed.bound], &[found.bound])?;
    }
    for (claimed, found) in front.corners.iter().zip(&again.corners) {
        agree("a measure of a corner", claimed, found)?;
    }
    if front.verdict() == Verdict::Feasible {
        agree("the range of a measure", &front.units, &again.units)?;
        agree("the gap", &[front.gap], &[again.gap])?;
        if front.stop == Stop::Reached && again.stop != Stop::Reached {
            return Err(refuted(format!(
                "the gap is {:?}, above the ε of {:?} that was asked for",
                again.gap, front.epsilon
            )));
        }
    }
    agree("the lower bound", &[front.certificate.lower_bound], &[again.certificate.lower_bound])?;
    agree("the distance", &[front.certificate.distance], &[again.certificate.distance])?;
    Ok(match front.verdict() {
        Verdict::Feasible => vec![
            format!(
                "what {} measure, computed in the model; all of them meet the constraints",
                count(front.vertices.len(), "vertex", "vertices")
            ),
            format!("{}, each by a value function", count(front.faces.len(), "face", "faces")),
            format!(
                "no feasible policy lies further beyond the vertices than {} of the front's ranges",
                number(again.gap)
            ),
        ],
        _ => vec![format!(
            "the best mixture misses the constraints by {:?}, and no policy by less than {:?}",
            again.certificate.distance, again.certificate.lower_bound
        )],
    })
}
