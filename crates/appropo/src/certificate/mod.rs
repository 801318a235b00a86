//! Evidence: what is claimed of a result, with all that is needed to check it again.

mod least_payoff;

use std::sync::Arc;

pub use least_payoff::least_payoff;
use serde::{Deserialize, Serialize};

use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::set::{ConvexSet, Lift, SharedSet};
use crate::state::{Loader, Saved, Saver};
use crate::utility::Criterion;
use crate::vector;

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

    /// Entries of λ.
    fn dim(&self) -> usize;
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
    /// Entries of λ.
    fn dim(&self) -> usize {
        self.staying.map_or(self.model.measures().dim(), PriceStaying::dim)
    }

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
        let (proved, distance) = (self.proved(set, ground)?, set.distance(&measured));
        Ok(self.found(proved, distance, measured))
    }

    /// The distance that the separation proves; 0 without one.
    fn proved(&self, set: &SharedSet, ground: &Ground) -> Result<f64> {
        self.separation.as_ref().map_or(Ok(0.0), |separation| separation.lower_bound(set, ground))
    }

    /// The same certificate with these numbers.
    fn found(&self, proved: f64, distance: f64, measured: Vec<f64>) -> Certificate {
        let evidence = match &self.separation {
            Some(separation) if proved > 0.0 => {
                Evidence { lower_bound: proved, separation: Some(separation.clone()) }
            }
            _ => Evidence::default(),
        };
        evidence.certificate(measured, distance, self.tolerance)
    }

    /// Computes every claim again: the distance from `measured`, the mixture's measurement found afresh, and the
    /// lower bound from the separation, the set and the model. Returns it with what was found.
    pub(crate) fn check(&self, set: &SharedSet, ground: &Ground, measured: Vec<f64>) -> Result<Certificate> {
        let scale = 1.0 + vector::norm(&measured);
        let agree = |claim, claimed: f64, found: f64| {
            let same = (claimed - found).abs() <= ROUNDING * scale;
            if same { Ok(()) } else { Err(Error::Certificate { claim, claimed, found }) }
        };
        crate::error::dimension("measurement", measured.len(), self.z_bar.len())?;
        for (claimed, found) in self.z_bar.iter().zip(&measured) {
            agree("a measurement", *claimed, *found)?;
        }
        let distance = set.distance(&measured);
        agree("the distance", self.distance, distance)?;
        let lower_bound = self.proved(set, ground)?;
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
            Ok(self.found(lower_bound, distance, measured))
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
        // What is measured after the set's entries has no price.
        let mut prices = lam.clone();
        prices.resize(lam.len().max(ground.dim()), 0.0);
        let least = ground.least_payoff(&prices, &self.witness.divided(size))?;
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
