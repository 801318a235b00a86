//! Evidence: what is claimed of a result, with all that is needed to check it again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::set::{ConvexSet, Lift, SharedSet};
use crate::state::{Loader, Saved, Saver};
use crate::utility::Criterion;
use crate::vector::{self, rounding};

/// What is known about a problem in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// The mixed policy's measurements lie in the set, up to the tolerance.
    Feasible,
    /// No policy's measurements lie in the set.
    Infeasible,
    /// The budget ended first.
    Undecided,
}

/// A value function that bounds what any policy can reach, for one direction λ.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ValueFunction {
    /// V for the reward −λ·z, as `[stage * states + state]`.
    pub values: Vec<f64>,
    /// Without discount and horizon: W(s) ≥ 1 + Σ P(s′|s, a) W(s′) for every action, a bound on the steps left.
    pub steps: Option<Vec<f64>>,
    /// Where something is averaged over time: b for the states of end components, one after another, such that staying in one
    /// earns at most the largest −λ·z + Σ P(s′|s, a) b(s′) − b(s) among its choices.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub bias: Vec<f64>,
}

impl ValueFunction {
    /// The same for λ divided by a positive number.
    pub fn divided(&self, by: f64) -> Self {
        let divide = |values: &[f64]| values.iter().map(|v| v / by).collect();
        Self { values: divide(&self.values), steps: self.steps.clone(), bias: divide(&self.bias) }
    }
}

/// What staying somewhere for ever is worth, where something is averaged over time.
pub(crate) trait PriceStaying {
    /// λ, and after it what no average payoff of whoever stays is below, place by place, as `bias` proves.
    fn priced(&self, lam: &[f64], bias: &[f64]) -> Result<Vec<f64>>;
}

/// Where bounds are proved: a model, its decision states, and how its measurements add up.
pub(crate) struct Ground<'a> {
    pub model: &'a TabularMdp,
    pub decisions: &'a [bool],
    pub discounting: &'a Discounting,
    /// Set where the model measures what staying is worth, after what λ prices.
    pub staying: Option<&'a dyn PriceStaying>,
}

impl Ground<'_> {
    /// [`least_payoff`] on this ground.
    pub fn least_payoff(&self, lam: &[f64], witness: &ValueFunction) -> Result<f64> {
        let Some(staying) = self.staying else {
            return least_payoff(self.model, self.discounting, self.decisions, lam, witness);
        };
        let lam = staying.priced(lam, &witness.bias)?;
        least_payoff(self.model, self.discounting, self.decisions, &lam, witness)
    }
}

/// A lower bound on λ·Z̄(π) over all policies π, with the value function that proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The bound.
    pub value: f64,
    /// Its proof.
    pub witness: Arc<ValueFunction>,
    /// Set where it is proved for a λ next to the one that was asked about.
    pub tilt: Option<Tilt>,
}

/// A small step from one λ to another, and what it adds to the offset of a half-space that contains the set.
#[derive(Debug, Clone, PartialEq)]
pub struct Tilt {
    /// What is added to λ.
    pub lam: Vec<f64>,
    /// What is added to the offset.
    pub offset: f64,
}

impl Bound {
    /// The half-space {z : λ·z ≤ offset} that it speaks of, where it was asked about this one.
    pub fn half_space(&self, lam: &[f64], offset: f64) -> (Vec<f64>, f64) {
        match &self.tilt {
            None => (lam.to_vec(), offset),
            Some(tilt) => (lam.iter().zip(&tilt.lam).map(|(a, b)| a + b).collect(), offset + tilt.offset),
        }
    }
}

/// A half-space {z : lam·z ≤ offset} that contains the set, and a proof that no policy reaches into it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Separation {
    /// λ.
    pub lam: Vec<f64>,
    /// h(λ) = max λ·z over the set, or more.
    pub offset: f64,
    /// The proof that λ·Z̄(π) > offset for every π.
    pub witness: Arc<ValueFunction>,
}

/// The claim and its evidence.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Certificate {
    /// The claim.
    pub verdict: Verdict,
    /// Distances up to this count as 0.
    pub tolerance: f64,
    /// The mixed policy's long-term measurement.
    pub z_bar: Vec<f64>,
    /// Its distance from the set: an upper bound on the least distance.
    pub distance: f64,
    /// No policy comes closer to the set than this; 0 where nothing is known.
    pub lower_bound: f64,
    /// The proof of the lower bound.
    pub separation: Option<Separation>,
    /// The level of a statistical claim; `None` where z̄ is exact.
    pub confidence: Option<f64>,
}

/// A lower bound on min λ·Z̄(π) that holds for any `witness`, by its Bellman residual, in one sweep.
///
/// With δ(s) = max over a of r(s, a) + γ Σ P V − V(s) for the reward r = −λ·z, no policy's return exceeds
/// β·V + max(0, max δ)·(the discounted number of steps). What rounding may have added to the bound is taken off, so
/// that a V too large to see the rewards beside it proves nothing.
pub fn least_payoff(
    model: &TabularMdp,
    discounting: &Discounting,
    decisions: &[bool],
    lam: &[f64],
    witness: &ValueFunction,
) -> Result<f64> {
    let (states, gamma) = (model.states(), discounting.gamma());
    let stages = discounting.horizon().unwrap_or(1);
    crate::error::dimension("value function", witness.values.len(), stages * states)?;
    crate::error::dimension("decision states", decisions.len(), states)?;
    crate::error::dimension("lambda", lam.len(), model.measures().dim())?;
    let (payoffs, sizes) = (model.payoffs(lam), model.payoff_sizes(lam));
    let (longest_row, longest_outcome) = model.longest_sums();
    let zero = vec![0.0; states];
    let residual = |values: &[f64], later: &[f64]| {
        let mut largest = 0.0f64;
        for s in (0..states).filter(|&s| decisions[s]) {
            for choice in model.choices_of(s) {
                let row = model.outcomes_of(choice);
                let future = |next: u32| if decisions[next as usize] { later[next as usize] } else { 0.0 };
                let (mut plain, mut size) = (-values[s], values[s].abs());
                for t in row {
                    let (future, outcome) = (future(t.next), t.outcome as usize);
                    plain += t.probability * (gamma * future - payoffs[outcome]);
                    size += t.probability * (future.abs() + sizes[outcome]);
                }
                // Most actions are so much worse that plain numbers show it.
                if plain + rounding(row.len() + longest_outcome) * size <= largest {
                    continue;
                }
                let mut sum = Sum::default();
                sum.add(-values[s]);
                for t in row {
                    sum.add_product(t.probability, gamma, future(t.next));
                    for &(i, z) in model.outcome(t.outcome) {
                        sum.add_product(-t.probability, lam[i as usize], z);
                    }
                }
                let excess = sum.high + sum.low;
                let terms = row.len() * (longest_outcome + 1);
                let excess = excess + rounding(2 * terms).powi(2) * size + f64::EPSILON * excess.abs();
                // NaN must not pass for a proof.
                largest = if excess.is_nan() { f64::INFINITY } else { largest.max(excess) };
            }
        }
        largest
    };
    let at_start = |values: &[f64]| mean(decisions, values, model.start().iter().copied());
    let excess: f64 = if discounting.horizon().is_some() {
        let tables: Vec<&[f64]> = witness.values.chunks(states).collect();
        (0..stages)
            .map(|h| gamma.powi(h as i32) * residual(tables[h], tables.get(h + 1).copied().unwrap_or(&zero)))
            .sum()
    } else if gamma < 1.0 {
        // The probabilities of a row add up to 1 but for rounding, which makes episodes longer.
        let ends = 1.0 - gamma - rounding(longest_row);
        residual(&witness.values, &witness.values) / if ends > 0.0 { ends } else { 0.0 }
    } else {
        let excess = residual(&witness.values, &witness.values);
        match witness.steps.as_deref() {
            Some(steps) => {
                steps_left(model, decisions, steps)?;
                excess * at_start(steps).0
            }
            // Where nothing exceeds the values, it does not matter how long policies take to end.
            None if excess == 0.0 => 0.0,
            None => f64::INFINITY,
        }
    };
    let (start, size) = at_start(&witness.values[..states]);
    let bound = -(start
        + excess
        + rounding(model.start().len()) * size
        + rounding(stages * (longest_row + 3) + model.start().len()) * excess);
    Ok(if bound.is_nan() { f64::NEG_INFINITY } else { bound })
}

/// A sum in twice the digits: what rounding took off each step is added up apart (Ogita, Rump and Oishi 2005).
///
/// Its rounding is that of its last addition, and the square of that of a plain sum.
#[derive(Default)]
struct Sum {
    high: f64,
    low: f64,
}

impl Sum {
    fn add(&mut self, x: f64) {
        let sum = self.high + x;
        let rounded = sum - self.high;
        self.low += (self.high - (sum - rounded)) + (x - rounded);
        self.high = sum;
    }

    /// Adds p·x·y.
    fn add_product(&mut self, p: f64, x: f64, y: f64) {
        let inner = x * y;
        let outer = p * inner;
        self.low += p.mul_add(inner, -outer) + p * x.mul_add(y, -inner);
        self.add(outer);
    }
}

/// Σ p V(s) over the states of a distribution, and Σ p|V(s)|. States without decisions are worth 0.
fn mean(decisions: &[bool], values: &[f64], distribution: impl Iterator<Item = (usize, f64)>) -> (f64, f64) {
    distribution.filter(|(s, _)| decisions[*s]).fold((0.0, 0.0), |(sum, size), (s, p)| {
        let term = p * values[s];
        (sum + term, size + term.abs())
    })
}

/// Checks that W bounds the number of steps of every policy.
fn steps_left(model: &TabularMdp, decisions: &[bool], steps: &[f64]) -> Result<()> {
    crate::error::dimension("bound on the steps left", steps.len(), model.states())?;
    for s in (0..model.states()).filter(|&s| decisions[s]) {
        for choice in model.choices_of(s) {
            let row = model.outcomes_of(choice);
            let (future, size) = mean(decisions, steps, row.iter().map(|t| (t.next as usize, t.probability)));
            let rounding = rounding(row.len()) * (size + steps[s].abs());
            // Written so that NaN and a W too large to count single steps in fail.
            if !(steps[s].is_finite() && steps[s] - future - rounding >= 1.0) {
                return Err(Error::Certificate {
                    claim: "steps left",
                    claimed: steps[s],
                    found: 1.0 + future,
                });
            }
        }
    }
    Ok(())
}

/// Collects evidence while a solver runs.
#[derive(Debug, Clone, Default)]
pub struct Evidence {
    lower_bound: f64,
    separation: Option<Separation>,
}

impl Evidence {
    /// Takes what a round proves: every policy has λ·Z̄ ≥ bound, and the set lies where λ·z ≤ offset.
    pub fn add(&mut self, lam: &[f64], offset: f64, bound: &Bound) {
        let (lam, offset) = bound.half_space(lam, offset);
        let length = vector::norm(&lam);
        let distance = (bound.value - offset) / length;
        if length > 0.0 && distance > self.lower_bound {
            self.lower_bound = distance;
            self.separation = Some(Separation { lam, offset, witness: Arc::clone(&bound.witness) });
        }
    }

    /// No policy comes closer to the set than this.
    pub fn lower_bound(&self) -> f64 {
        self.lower_bound
    }

    /// The certificate for a mixed policy at `z_bar` with this distance.
    pub fn certificate(self, z_bar: Vec<f64>, distance: f64, tolerance: f64) -> Certificate {
        let verdict = if distance <= tolerance {
            Verdict::Feasible
        } else if self.lower_bound > tolerance {
            Verdict::Infeasible
        } else {
            Verdict::Undecided
        };
        Certificate {
            verdict,
            tolerance,
            z_bar,
            distance,
            lower_bound: self.lower_bound,
            separation: self.separation,
            confidence: None,
        }
    }
}

impl Saved for Evidence {
    fn save(&self, to: &mut Saver) {
        to.put(&self.lower_bound);
        to.put(&self.separation);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let lower_bound =
            from.get_where("a lower bound", |bound: &f64| *bound >= 0.0 && bound.is_finite())?;
        Ok(Self { lower_bound, separation: from.get()? })
    }
}

/// λ, its offset and the value function that proves something of them.
type Proof = (Vec<f64>, f64, Arc<ValueFunction>);

fn save_proof((lam, offset, witness): (&[f64], f64, &ValueFunction), to: &mut Saver) {
    to.put(&(lam.to_vec(), offset));
    to.put(witness);
}

fn restore_proof(from: &mut Loader) -> Result<Proof> {
    let (lam, offset) = from.get()?;
    Ok((lam, offset, Arc::new(from.get()?)))
}

impl Saved for Separation {
    fn save(&self, to: &mut Saver) {
        save_proof((&self.lam, self.offset, &self.witness), to);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        restore_proof(from).map(|(lam, offset, witness)| Self { lam, offset, witness })
    }
}

impl Saved for Ceiling {
    fn save(&self, to: &mut Saver) {
        save_proof((&self.lam, self.offset, &self.witness), to);
        to.put(&self.at);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (lam, offset, witness) = restore_proof(from)?;
        Ok(Self { lam, offset, at: from.get()?, witness })
    }
}

impl Saved for ValueFunction {
    fn save(&self, to: &mut Saver) {
        to.put(&(self.values.clone(), self.steps.clone()));
        to.put(&self.bias);
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let (values, steps) = from.get()?;
        Ok(Self { values, steps, bias: from.get()? })
    }
}

/// Differences up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-7;

impl Certificate {
    /// The same certificate with every number computed again, claiming only what that confirms.
    pub(crate) fn recomputed(
        &self,
        set: &SharedSet,
        ground: &Ground,
        measured: Vec<f64>,
    ) -> Result<Certificate> {
        let mut evidence = Evidence::default();
        if let Some(separation) = &self.separation {
            let lower_bound = separation.lower_bound(set, ground)?;
            if lower_bound > 0.0 {
                evidence = Evidence { lower_bound, separation: Some(separation.clone()) };
            }
        }
        let distance = set.distance(&measured);
        Ok(evidence.certificate(measured, distance, self.tolerance))
    }

    /// Computes every claim again: the distance from `measured`, the mixture's measurement found afresh, and the
    /// lower bound from the separation, the set and the model.
    pub(crate) fn check(&self, set: &SharedSet, ground: &Ground, measured: &[f64]) -> Result<()> {
        let scale = 1.0 + vector::norm(measured);
        let agree = |claim, claimed: f64, found: f64| {
            let same = (claimed - found).abs() <= ROUNDING * scale;
            if same { Ok(()) } else { Err(Error::Certificate { claim, claimed, found }) }
        };
        crate::error::dimension("measurement", measured.len(), self.z_bar.len())?;
        for (claimed, found) in self.z_bar.iter().zip(measured) {
            agree("a measurement", *claimed, *found)?;
        }
        let distance = set.distance(measured);
        agree("the distance", self.distance, distance)?;
        let lower_bound = match &self.separation {
            None => 0.0,
            Some(separation) => separation.lower_bound(set, ground)?,
        };
        // A better bound than claimed is no mistake, but none is above what the mixture reaches.
        let proved = lower_bound.min(self.lower_bound).min(distance + ROUNDING * scale);
        agree("the lower bound", self.lower_bound, proved)?;
        let holds = match self.verdict {
            // What rounding alone puts between two computations of the same measurement is forgiven.
            Verdict::Feasible => distance <= self.tolerance + 1e-11 * scale,
            Verdict::Infeasible => lower_bound > 0.0,
            Verdict::Undecided => true,
        };
        let bound = if self.verdict == Verdict::Feasible { distance } else { lower_bound };
        if holds {
            Ok(())
        } else {
            Err(Error::Certificate { claim: "the verdict's bound", claimed: self.tolerance, found: bound })
        }
    }
}

impl Separation {
    /// The distance that this separation proves.
    pub(crate) fn lower_bound(&self, set: &SharedSet, ground: &Ground) -> Result<f64> {
        // The same half-space at any size of λ. In this one squares neither vanish nor overflow, and a power of 2 leaves
        // every digit as it is.
        let largest = self.lam.iter().fold(0.0, |m: f64, v| m.max(v.abs()));
        let size = largest.log2().floor().exp2();
        let scaled: Vec<f64> = self.lam.iter().map(|v| v / size).collect();
        let (lam, offset) = containing(set, &scaled, self.offset / size)?;
        let least = ground.least_payoff(&lam, &self.witness.divided(size))?;
        let distance = (least - offset) / vector::norm(&lam);
        // λ = 0 separates nothing.
        Ok(if distance.is_finite() { distance } else { f64::NEG_INFINITY })
    }
}

/// A proof that no policy in the set has a larger objective: λ = (y, −g) prices the set's entries against those of the
/// objective, which come last, for its gradient g at a point, and y·z ≤ offset on the set. For one measure g is 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// (y, −g), or (y, −g, −τ) where the objective is per step.
    pub lam: Vec<f64>,
    /// max y·z over the set, or more.
    pub offset: f64,
    /// Where the gradient was taken; empty where the objective is one measure.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub at: Vec<f64>,
    /// The proof of a lower bound b on λ·Z̄(π) over all π. Of one measure no more is had than offset − b.
    pub witness: Arc<ValueFunction>,
}

impl Ceiling {
    /// The upper bound that this proves, in a model whose last measurements are the objective's.
    pub(crate) fn upper_bound(&self, set: &SharedSet, criterion: &Criterion, ground: &Ground) -> Result<f64> {
        crate::error::dimension("pricing direction", self.lam.len(), set.dim() + criterion.dim())?;
        let place = if criterion.is_last() { 0 } else { criterion.function().dim() };
        crate::error::dimension("point of a gradient", self.at.len(), place)?;
        crate::error::finite("point of a gradient", &self.at)?;
        if criterion.is_share()
            && !counts_first_step(ground.model, ground.decisions, set.dim() + criterion.dim() - 1)
        {
            return Ok(f64::INFINITY);
        }
        let (y, offset) = containing(set, &self.lam[..set.dim()], self.offset)?;
        let at = if criterion.is_last() { &[0.0][..] } else { &self.at };
        let tau = -self.lam.last().copied().unwrap_or(0.0);
        let lam = criterion.prices(&y, at, tau);
        let least = ground.least_payoff(&lam, &self.witness)?;
        let bound = criterion.upper_bound(at, tau, offset, least);
        Ok(if bound.is_nan() { f64::INFINITY } else { bound })
    }
}

/// Whether the first step of every episode measures 1 or more in an entry that is never negative, so that episodes do.
fn counts_first_step(model: &TabularMdp, decisions: &[bool], entry: usize) -> bool {
    let measured = |outcome: u32| {
        let counted = model.outcome(outcome).iter().filter(|(i, _)| *i as usize == entry);
        counted.map(|(_, value)| *value).sum::<f64>()
    };
    let counts = |s: usize, least: f64| {
        model
            .choices_of(s)
            .all(|choice| model.outcomes_of(choice).iter().all(|t| measured(t.outcome) >= least))
    };
    model.start().iter().all(|&(s, _)| decisions[s] && counts(s, 1.0))
        && (0..model.states()).all(|s| !decisions[s] || counts(s, 0.0))
}

/// A half-space next to {z : lam·z ≤ offset} that surely contains the set.
///
/// (λ, −offset) must lie in the polar of cone(C × {1}); what sticks out by rounding is taken off, which moves the
/// half-space, so that the result holds for the set as its projection defines it. Where most of it sticks out, what
/// is left is rounding: then the half-space is everything.
fn containing(set: &SharedSet, lam: &[f64], offset: f64) -> Result<(Vec<f64>, f64)> {
    let cone = Lift::share(Arc::clone(set));
    let point: Vec<f64> = lam.iter().copied().chain([-offset]).collect();
    crate::error::dimension("separating direction", point.len(), cone.dim())?;
    let mut outside = vec![0.0; point.len()];
    cone.project(&point, &mut outside);
    if !(vector::norm(&outside) <= 0.5 * vector::norm(&point).max(1.0)) {
        return Ok((lam.to_vec(), f64::INFINITY));
    }
    Ok((vector::difference(lam, &outside[..lam.len()]), offset + outside[lam.len()]))
}
