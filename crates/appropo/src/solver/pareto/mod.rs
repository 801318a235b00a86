//! The Pareto front of several measures subject to constraints: points that policies reach, and half-spaces that none passes.

mod inner;
mod outer;
mod support;

use std::ops::ControlFlow;
use std::sync::Arc;

use inner::{Beyond, beyond};
use outer::{MOST_CORNERS, Outer};
use support::{Answers, Support, support};

use super::{Goal, Stop, StopRule, appropo};
use crate::certificate::{Ceiling, Certificate, Verdict};
use crate::error::{Result, in_range};
use crate::options::setters;
use crate::oracle::Respond;
use crate::player::FullyCorrective;
use crate::policy::Mixed;
use crate::set::{Bounds, ConvexSet, Product, SharedSet};
use crate::vector::dot;

/// When a front is good enough.
#[derive(Debug, Clone, Copy, PartialEq)]
#[non_exhaustive]
pub struct ParetoRule {
    /// How far apart the inner and the outer approximation may be, in units of each measure's range over the front.
    pub epsilon: f64,
    /// The most calls of the oracle.
    pub calls: usize,
    /// Distances from the constraints up to this count as 0.
    pub tolerance: f64,
}

impl Default for ParetoRule {
    /// 1e-4, 10,000 calls, 1e-6.
    fn default() -> Self {
        Self { epsilon: 1e-4, calls: 10_000, tolerance: 1e-6 }
    }
}

setters!(ParetoRule { epsilon: f64, calls: usize, tolerance: f64 });

/// Nothing smaller can be told from rounding.
const LEAST_EPSILON: f64 = 1e-9;

/// Measures of a front at most: the corners of the outer approximation are too many beyond.
pub const MOST_MEASURES: usize = 6;

impl ParetoRule {
    fn check(&self, measures: usize) -> Result<()> {
        let ends = format!("between {LEAST_EPSILON} and 1");
        in_range("epsilon", self.epsilon, (LEAST_EPSILON..=1.0).contains(&self.epsilon), &ends)?;
        in_range("tolerance", self.tolerance, self.tolerance > 0.0, "more than 0")?;
        in_range("calls", self.calls as f64, self.calls > 0, "1 or more")?;
        let count = measures as f64;
        let expected = format!("2 to {MOST_MEASURES}");
        in_range(
            "the number of measures of a front",
            count,
            (2..=MOST_MEASURES).contains(&measures),
            &expected,
        )
    }
}

/// A point of a front and the mixed policy that reaches it.
#[derive(Debug, Clone)]
pub struct FrontPoint {
    /// What it measures: the entries of the constraints, then those that are to be large.
    pub z: Vec<f64>,
    /// The mixed policy.
    pub mixture: Mixed,
}

/// A half-space that no feasible policy leaves: w·u ≤ bound.
#[derive(Debug, Clone)]
pub struct FrontBound {
    /// w ≥ 0, or −1 for the lower bound of a single measure.
    pub weights: Vec<f64>,
    /// The bound.
    pub bound: f64,
    /// Its proof.
    pub ceiling: Ceiling,
}

/// The front between what was found and what was proved, every measure to be large.
#[derive(Debug, Clone)]
pub struct Pareto {
    /// Whether the constraints can be met, with a mixture that meets them best.
    pub certificate: Certificate,
    /// That mixture.
    pub mixture: Mixed,
    /// The vertices of the inner approximation, none of which is dominated by a mixture of others.
    pub points: Vec<FrontPoint>,
    /// The faces of the outer approximation.
    pub bounds: Vec<FrontBound>,
    /// Its corners.
    pub corners: Vec<Vec<f64>>,
    /// The range of each measure over the front.
    pub units: Vec<f64>,
    /// No feasible policy lies further beyond the inner approximation, in these units.
    pub gap: f64,
    /// Calls of the oracle.
    pub oracle_calls: usize,
    /// Why it ended.
    pub stop: Stop,
}

/// How far a search has got.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParetoProgress {
    /// Calls of the oracle.
    pub calls: usize,
    /// Points so far.
    pub points: usize,
    /// How far the approximations are apart; infinite before both are there.
    pub gap: f64,
}

/// Sees how a search goes, and whether it goes on.
pub type ParetoWatch<'a> = &'a mut dyn FnMut(&ParetoProgress) -> Result<ControlFlow<()>>;

/// The tilt of a direction towards all other measures, by which an end of the front is not dominated.
const TILT: f64 = 1e-3;

/// Points closer than this to what others reach are no vertices, in units of the front's ranges.
const SAME: f64 = 1e-9;

/// The Pareto front of the last `measures` entries of what `oracle` measures, all to be large, subject to the others in `set`.
///
/// Every feasible u lies in the outer approximation, {u : w·u ≤ h for the directions asked for}, and every point of the inner
/// one, the hull of what was found and all that it dominates, is reached or passed by a mixed policy. Each round takes the
/// corner of the outer one that lies furthest beyond the inner one and asks for the best policy in the direction w from the
/// inner one to it: either this cuts the corner off, or the new point reaches as far. For two measures this is the recursion
/// over edges of the front; for more it is Benson's outer approximation (1998).
pub fn pareto_front(
    set: &SharedSet,
    measures: usize,
    oracle: &mut dyn Respond,
    rule: &ParetoRule,
    watch: ParetoWatch,
) -> Result<Pareto> {
    rule.check(measures)?;
    let mut answers = Answers::new(oracle);
    let (certificate, mixture) = feasible_point(set, measures, &mut answers, rule)?;
    let is_feasible = certificate.verdict == Verdict::Feasible;
    let mut search = Search {
        set,
        rule,
        answers,
        supports: Vec::new(),
        points: Vec::new(),
        units: Vec::new(),
        is_at_ends: true,
    };
    let stop = match is_feasible {
        true => search.run(measures, watch)?,
        false => {
            if certificate.verdict == Verdict::Infeasible {
                Stop::Refuted
            } else {
                Stop::Rounds
            }
        }
    };
    search.finish(measures, certificate, mixture, stop)
}

/// A mixture that meets the constraints, or comes as close as any does.
fn feasible_point(
    set: &SharedSet,
    measures: usize,
    answers: &mut Answers,
    rule: &ParetoRule,
) -> Result<(Certificate, Mixed)> {
    let free = Bounds::new(vec![f64::NEG_INFINITY; measures], vec![f64::INFINITY; measures])?;
    let target: SharedSet = Arc::new(Product::new(vec![Arc::clone(set), Arc::new(free)]));
    let mut player = FullyCorrective::new(Arc::clone(&target));
    // Closer than the tolerance: prices are taken at points that meet the constraints.
    let inner = StopRule {
        tolerance: FEASIBLE.min(rule.tolerance),
        rounds: rule.calls,
        goal: Goal::Distance,
        ..Default::default()
    };
    let solution = appropo(&target, &mut player, answers, &inner, &mut ())?;
    let Certificate { z_bar, distance, lower_bound, .. } = &solution.certificate;
    let verdict = match () {
        _ if *distance <= rule.tolerance => Verdict::Feasible,
        _ if *lower_bound > rule.tolerance => Verdict::Infeasible,
        _ => Verdict::Undecided,
    };
    let mut certificate = Certificate {
        verdict,
        tolerance: rule.tolerance,
        z_bar: z_bar[..set.dim()].to_vec(),
        ..solution.certificate.clone()
    };
    certificate.separation.iter_mut().for_each(|separation| separation.lam.truncate(set.dim()));
    match solution.stop {
        Stop::Failed(error) => Err(error),
        _ => Ok((certificate, solution.mixture)),
    }
}

/// How close to the constraints the first point is to come.
const FEASIBLE: f64 = 1e-10;

struct Search<'a> {
    set: &'a SharedSet,
    rule: &'a ParetoRule,
    answers: Answers<'a>,
    /// What was asked for: w and its support.
    supports: Vec<(Vec<f64>, Support)>,
    /// u of every support.
    points: Vec<Vec<f64>>,
    units: Vec<f64>,
    /// Whether the ends of the front are still looked for.
    is_at_ends: bool,
}

/// A corner of the outer approximation, with what is known of it.
struct Open {
    number: usize,
    beyond: Beyond,
    /// How many points there were when that was found.
    points: usize,
}

impl Search<'_> {
    /// The best point in a direction, and its bound.
    fn ask(&mut self, w: &[f64]) -> Result<f64> {
        let constrained = self.set.dim();
        // Before ranges are known, the largest answers stand for them.
        let largest =
            |i: usize| self.answers.known.iter().map(|(_, z)| z[constrained + i].abs()).fold(0.0, f64::max);
        let unit = |i: usize| self.units.get(i).copied().unwrap_or_else(|| largest(i));
        let size: f64 = (0..w.len()).map(|i| w[i].abs() * unit(i)).sum();
        // The best of what was found before is feasible; so is some mixture of the answers of the first phase.
        let value = |(_, support): &&(Vec<f64>, Support)| {
            let (_, z) = self.answers.mixed(&support.weights);
            dot(w, &z[constrained..])
        };
        let best = self.supports.iter().max_by(|a, b| value(a).total_cmp(&value(b)));
        let start: Vec<usize> = match best {
            Some((_, support)) => support.weights.iter().map(|(index, _)| *index).collect(),
            None => (0..self.answers.known.len()).collect(),
        };
        // Of a direction that is tilted, what it is tilted towards must be as exact.
        let precision = if self.is_at_ends { TILT * PRECISION } else { PRECISION };
        let tolerance = precision * self.rule.epsilon * size;
        let found = support(self.set, w, &start, &mut self.answers, tolerance)?;
        let (_, z) = self.answers.mixed(&found.weights);
        let bound = found.bound;
        self.points.push(z[constrained..].to_vec());
        self.supports.push((w.to_vec(), found));
        Ok(bound)
    }

    /// The ends of the front, and the range of each measure between them.
    fn find_ends(&mut self, measures: usize) -> Result<()> {
        for i in 0..measures {
            self.ask(&(0..measures).map(|j| if i == j { 1.0 } else { 0.0 }).collect::<Vec<_>>())?;
        }
        let rough = ranges(self.points.iter().map(Vec::as_slice), measures);
        self.units.clone_from(&rough);
        for i in 0..measures {
            let tilt = |j: usize| if i == j { 1.0 } else { TILT } / rough[j];
            self.ask(&(0..measures).map(tilt).collect::<Vec<_>>())?;
        }
        self.units = ranges(self.points[measures..].iter().map(Vec::as_slice), measures);
        self.is_at_ends = false;
        // No feasible policy has less of a measure: below that the outer approximation need not be looked at.
        for i in 0..measures {
            self.ask(&(0..measures).map(|j| if i == j { -1.0 } else { 0.0 }).collect::<Vec<_>>())?;
        }
        Ok(())
    }

    fn in_units(&self, u: &[f64]) -> Vec<f64> {
        u.iter().zip(&self.units).map(|(u, unit)| u / unit).collect()
    }

    fn run(&mut self, measures: usize, watch: ParetoWatch) -> Result<Stop> {
        self.find_ends(measures)?;
        let mut points: Vec<Vec<f64>> = self.points.iter().map(|u| self.in_units(u)).collect();
        let Some(mut outer) = self.outer(&points) else { return Ok(Stop::Rounds) };
        let beyond_all =
            |corner: &[f64], points: &[Vec<f64>]| beyond(corner, points.iter().map(Vec::as_slice));
        let mut open: Vec<Open> = Vec::new();
        let mut unseen: Vec<usize> = outer.corners().iter().map(|corner| corner.number).collect();
        loop {
            for number in unseen.drain(..) {
                if let Some(corner) = outer.corner(number) {
                    open.push(Open {
                        number,
                        beyond: beyond_all(&corner.at, &points)?,
                        points: points.len(),
                    });
                }
            }
            open.retain(|corner| outer.corner(corner.number).is_some());
            // A point that is added brings corners closer and never further away: those looked at last are compared first.
            let farthest = loop {
                let largest = open.iter_mut().max_by(|a, b| a.beyond.distance.total_cmp(&b.beyond.distance));
                let Some(largest) = largest else { return Ok(Stop::Reached) };
                if largest.points == points.len() {
                    break largest;
                }
                if let Some(corner) = outer.corner(largest.number) {
                    largest.beyond = beyond_all(&corner.at, &points)?;
                }
                largest.points = points.len();
            };
            let (number, gap) = (farthest.number, farthest.beyond.distance);
            let progress = ParetoProgress { calls: self.answers.calls, points: points.len(), gap };
            let is_ended = watch(&progress)?.is_break();
            // The vertices may fall short of the ends by as much as a direction is left open.
            if gap <= (1.0 - 2.0 * PRECISION) * self.rule.epsilon {
                return Ok(Stop::Reached);
            }
            if is_ended {
                return Ok(Stop::Observer);
            }
            if self.answers.calls >= self.rule.calls || outer.corners().len() > MOST_CORNERS {
                return Ok(Stop::Rounds);
            }
            let direction = farthest.beyond.direction.clone();
            let w: Vec<f64> = direction.iter().zip(&self.units).map(|(w, unit)| w / unit).collect();
            let bound = self.ask(&w)?;
            if let Some(point) = self.points.last().map(|u| self.in_units(u)) {
                points.push(point);
            }
            let is_cut = outer.cut(&direction, bound).map(|(_, new)| unseen.extend(new)).is_some();
            // What neither a point nor a half-space changes is rounding.
            if !is_cut
                && let Some(corner) = outer.corner(number)
                && beyond_all(&corner.at, &points)?.distance >= gap - 0.01 * self.rule.epsilon
            {
                open.retain(|corner| corner.number != number);
            }
        }
    }

    /// The box that the bounds of single measures make, less what all others cut off.
    fn outer(&self, points: &[Vec<f64>]) -> Option<Outer> {
        let bounds: Vec<(Vec<f64>, f64)> =
            self.supports.iter().map(|(w, support)| (w.clone(), support.bound)).collect();
        outer_approximation(points, &bounds, &self.units).map(|(outer, _)| outer)
    }

    fn finish(self, measures: usize, certificate: Certificate, mixture: Mixed, stop: Stop) -> Result<Pareto> {
        let constrained = self.set.dim();
        let mut kept: Vec<usize> = (0..self.points.len()).collect();
        let scaled: Vec<Vec<f64>> = self.points.iter().map(|u| self.in_units(u)).collect();
        for point in 0..self.points.len() {
            let others = kept.iter().filter(|other| **other != point).map(|other| scaled[*other].as_slice());
            if beyond(&scaled[point], others)?.distance <= SAME {
                kept.retain(|other| *other != point);
            }
        }
        kept.sort_by(|&a, &b| {
            self.points[a].partial_cmp(&self.points[b]).unwrap_or(std::cmp::Ordering::Equal)
        });
        let points: Vec<FrontPoint> = kept
            .iter()
            .map(|&index| {
                let (mixture, z) = self.answers.mixed(&self.supports[index].1.weights);
                FrontPoint { z, mixture }
            })
            .collect();
        let oracle_calls = self.answers.calls;
        let bounds = self.supports.into_iter().filter_map(|(weights, Support { bound, ceiling, .. })| {
            Some(FrontBound { weights, bound, ceiling: ceiling? })
        });
        let mut bounds: Vec<FrontBound> = bounds.collect();
        let reached: Vec<&[f64]> = points.iter().map(|point| &point.z[constrained..]).collect();
        // Vertices reach at least as far as the ends that were found first, so that the gap is no larger in their ranges.
        let units = ranges(reached.iter().copied(), measures);
        let claimed: Vec<(Vec<f64>, f64)> =
            bounds.iter().map(|bound| (bound.weights.clone(), bound.bound)).collect();
        let Approximation { gap, corners, used } = approximation(&reached, &claimed, &units)?;
        let mut place = 0;
        // Without a bound on each measure by itself, the others would bound nothing.
        let is_alone = |weights: &[f64]| weights.iter().filter(|w| **w != 0.0).count() == 1;
        bounds.retain(|bound| {
            place += 1;
            used.get(place - 1) == Some(&true) || is_alone(&bound.weights)
        });
        Ok(Pareto { certificate, mixture, points, bounds, corners, units, gap, oracle_calls, stop })
    }
}

/// The share of ε that is left open in a single direction.
const PRECISION: f64 = 0.01;

/// The range of each measure over some points; where it is one number for all, its size, or 1 where that is 0.
pub fn ranges<'a>(points: impl Iterator<Item = &'a [f64]> + Clone, measures: usize) -> Vec<f64> {
    let range = |i: usize| {
        let ends = (f64::INFINITY, f64::NEG_INFINITY);
        let (least, most) = points.clone().fold(ends, |(l, m), u| (l.min(u[i]), m.max(u[i])));
        let size = least.abs().max(most.abs());
        match most - least {
            range if range > SAME * size => range,
            _ if size > 0.0 && size.is_finite() => size,
            _ => 1.0,
        }
    };
    (0..measures).map(range).collect()
}

/// What points and half-spaces say together.
#[derive(Debug, Clone, PartialEq)]
pub struct Approximation {
    /// Nothing inside all half-spaces lies further beyond the points' hull, in the units given; infinite where some measure
    /// has no bounds by itself.
    pub gap: f64,
    /// The corners of the half-spaces' intersection.
    pub corners: Vec<Vec<f64>>,
    /// Which half-spaces it needs.
    pub used: Vec<bool>,
}

/// How far the hull of `points`, and all they dominate, is from the half-spaces w·u ≤ h, with w ≥ 0 but for lower bounds of
/// single measures.
pub fn approximation(points: &[&[f64]], bounds: &[(Vec<f64>, f64)], units: &[f64]) -> Result<Approximation> {
    let in_units = |u: &[f64]| -> Vec<f64> { u.iter().zip(units).map(|(u, unit)| u / unit).collect() };
    let points: Vec<Vec<f64>> = points.iter().map(|u| in_units(u)).collect();
    let Some((outer, faces)) = outer_approximation(&points, bounds, units) else {
        return Ok(Approximation { gap: f64::INFINITY, corners: Vec::new(), used: vec![true; bounds.len()] });
    };
    let mut gap = 0.0_f64;
    for corner in outer.corners() {
        gap = gap.max(beyond(&corner.at, points.iter().map(Vec::as_slice))?.distance);
    }
    let unscaled = |u: &[f64]| -> Vec<f64> { u.iter().zip(units).map(|(u, unit)| u * unit).collect() };
    let mut corners: Vec<Vec<f64>> = outer.proper_corners().map(|corner| unscaled(&corner.at)).collect();
    corners.sort_by(|a, b| a.partial_cmp(b).unwrap_or(std::cmp::Ordering::Equal));
    let used = faces.iter().map(|face| face.is_some_and(|face| outer.is_used(face))).collect();
    Ok(Approximation { gap, corners, used })
}

/// The outer approximation in units, with the face that each half-space is; `None` where a measure has no bound by itself.
fn outer_approximation(
    points: &[Vec<f64>],
    bounds: &[(Vec<f64>, f64)],
    units: &[f64],
) -> Option<(Outer, Vec<Option<usize>>)> {
    let measures = units.len();
    let scaled = |w: &[f64]| -> Vec<f64> { w.iter().zip(units).map(|(w, unit)| w * unit).collect() };
    let mut upper = vec![(f64::INFINITY, None); measures];
    let mut lower = vec![(f64::NEG_INFINITY, None); measures];
    let mut faces = vec![None; bounds.len()];
    for (place, (w, h)) in bounds.iter().enumerate() {
        let mut entries = (0..measures).filter(|i| w[*i] != 0.0);
        if let (Some(i), None) = (entries.next(), entries.next()) {
            let bound = h / (w[i] * units[i]);
            if w[i] > 0.0 && bound < upper[i].0 {
                upper[i] = (bound, Some(place));
            } else if w[i] < 0.0 && bound > lower[i].0 {
                lower[i] = (bound, Some(place));
            }
        }
    }
    for (face, (_, place)) in upper.iter().chain(&lower).enumerate() {
        faces[(*place)?] = Some(face);
    }
    // A measure that is the same for all has a box without width.
    let least = |i: usize| points.iter().map(|u| u[i]).fold(lower[i].0, f64::min).min(upper[i].0 - SAME);
    let lower: Vec<f64> = (0..measures).map(least).collect();
    let mut outer = Outer::new(&lower, &upper.iter().map(|(bound, _)| *bound).collect::<Vec<_>>());
    for (place, (w, h)) in bounds.iter().enumerate() {
        if faces[place].is_none() && h.is_finite() && w.iter().all(|w| *w >= 0.0) {
            faces[place] = outer.cut(&scaled(w), *h).map(|(face, _)| face);
        }
    }
    Some((outer, faces))
}
