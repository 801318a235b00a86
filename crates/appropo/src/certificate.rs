//! Evidence: what is claimed of a result, with all that is needed to check it again.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::env::TabularMdp;
use crate::error::{Error, Result};
use crate::measurement::Discounting;
use crate::set::{ConvexSet, Lift, SharedSet};
use crate::state::{Loader, Saved, Saver};
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
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ValueFunction {
    /// V for the reward −λ·z, as `[stage * states + state]`.
    pub values: Vec<f64>,
    /// Without discount and horizon: W(s) ≥ 1 + Σ P(s′|s, a) W(s′) for every action, a bound on the steps left.
    pub steps: Option<Vec<f64>>,
}

/// A lower bound on λ·Z̄(π) over all policies π, with the value function that proves it.
#[derive(Debug, Clone, PartialEq)]
pub struct Bound {
    /// The bound.
    pub value: f64,
    /// Its proof.
    pub witness: Arc<ValueFunction>,
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
/// β·V + max(0, max δ)·(the discounted number of steps).
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
    let rewards = model.rewards(lam);
    let zero = vec![0.0; states];
    let residual = |values: &[f64], later: &[f64]| {
        let mut largest = 0.0f64;
        for s in (0..states).filter(|&s| decisions[s]) {
            for a in 0..model.actions() {
                let row = model.row(s, a).iter();
                let future: f64 = row
                    .map(|t| {
                        t.probability * if decisions[t.next as usize] { later[t.next as usize] } else { 0.0 }
                    })
                    .sum();
                let excess = rewards[s * model.actions() + a] + gamma * future - values[s];
                // NaN must not pass for a proof.
                largest = if excess.is_nan() { f64::INFINITY } else { largest.max(excess) };
            }
        }
        largest
    };
    let at_start = |values: &[f64]| -> f64 {
        model.start().iter().filter(|(s, _)| decisions[*s]).map(|&(s, p)| p * values[s]).sum()
    };
    let excess: f64 = if discounting.horizon().is_some() {
        let tables: Vec<&[f64]> = witness.values.chunks(states).collect();
        (0..stages)
            .map(|h| gamma.powi(h as i32) * residual(tables[h], tables.get(h + 1).copied().unwrap_or(&zero)))
            .sum()
    } else if gamma < 1.0 {
        residual(&witness.values, &witness.values) / (1.0 - gamma)
    } else {
        let largest = residual(&witness.values, &witness.values);
        largest * steps_left(model, decisions, witness.steps.as_deref().unwrap_or(&[]), at_start)?
    };
    let bound = -(at_start(&witness.values[..states]) + excess);
    Ok(if bound.is_nan() { f64::NEG_INFINITY } else { bound })
}

/// β·W, after checking that W bounds the number of steps of every policy.
fn steps_left(
    model: &TabularMdp,
    decisions: &[bool],
    steps: &[f64],
    at_start: impl Fn(&[f64]) -> f64,
) -> Result<f64> {
    crate::error::dimension("bound on the steps left", steps.len(), model.states())?;
    for s in (0..model.states()).filter(|&s| decisions[s]) {
        for a in 0..model.actions() {
            let row = model.row(s, a).iter().filter(|t| decisions[t.next as usize]);
            let future = row.map(|t| t.probability * steps[t.next as usize]).sum::<f64>();
            // Written so that a W too large to count single steps in fails.
            if !(steps[s].is_finite() && steps[s] - future >= 1.0) {
                return Err(Error::Certificate {
                    claim: "steps left",
                    claimed: steps[s],
                    found: 1.0 + future,
                });
            }
        }
    }
    Ok(at_start(steps))
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
        let length = vector::norm(lam);
        let distance = (bound.value - offset) / length;
        if length > 0.0 && distance > self.lower_bound {
            self.lower_bound = distance;
            self.separation =
                Some(Separation { lam: lam.to_vec(), offset, witness: Arc::clone(&bound.witness) });
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
        to.put(&self.separation.is_some());
        if let Some(Separation { lam, offset, witness }) = &self.separation {
            to.put(&(lam.clone(), *offset));
            to.put(&(witness.values.clone(), witness.steps.clone()));
        }
    }
    fn restore(from: &mut Loader) -> Result<Self> {
        let lower_bound =
            from.get_where("a lower bound", |bound: &f64| *bound >= 0.0 && bound.is_finite())?;
        let mut separation = None;
        if from.get()? {
            let (lam, offset) = from.get()?;
            let (values, steps) = from.get()?;
            let witness = Arc::new(ValueFunction { values, steps });
            separation = Some(Separation { lam, offset, witness });
        }
        Ok(Self { lower_bound, separation })
    }
}

/// Differences up to this, relative to the size of the numbers, are rounding.
const ROUNDING: f64 = 1e-7;

impl Certificate {
    /// The same certificate with every number computed again, claiming only what that confirms.
    pub fn recomputed(
        &self,
        set: &SharedSet,
        model: &TabularMdp,
        discounting: &Discounting,
        decisions: &[bool],
        measured: Vec<f64>,
    ) -> Result<Certificate> {
        let mut evidence = Evidence::default();
        if let Some(separation) = &self.separation {
            let lower_bound = separation.lower_bound(set, model, discounting, decisions)?;
            if lower_bound > 0.0 {
                evidence = Evidence { lower_bound, separation: Some(separation.clone()) };
            }
        }
        let distance = set.distance(&measured);
        Ok(evidence.certificate(measured, distance, self.tolerance))
    }

    /// Computes every claim again: the distance from `measured`, the mixture's measurement found afresh, and the
    /// lower bound from the separation, the set and the model.
    pub fn check(
        &self,
        set: &SharedSet,
        model: &TabularMdp,
        discounting: &Discounting,
        decisions: &[bool],
        measured: &[f64],
    ) -> Result<()> {
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
            Some(separation) => separation.lower_bound(set, model, discounting, decisions)?,
        };
        // A better bound than claimed is no mistake.
        agree("the lower bound", self.lower_bound, lower_bound.min(self.lower_bound))?;
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
    pub fn lower_bound(
        &self,
        set: &SharedSet,
        model: &TabularMdp,
        discounting: &Discounting,
        decisions: &[bool],
    ) -> Result<f64> {
        let (lam, offset) = containing(set, &self.lam, self.offset)?;
        let least = least_payoff(model, discounting, decisions, &lam, &self.witness)?;
        let distance = (least - offset) / vector::norm(&lam);
        // λ = 0 separates nothing.
        Ok(if distance.is_finite() { distance } else { f64::NEG_INFINITY })
    }
}

/// A proof that no policy in the set has a larger objective: λ = (y, −1) prices the set's entries against the
/// objective, which comes last, and y·z ≤ offset on the set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ceiling {
    /// (y, −1).
    pub lam: Vec<f64>,
    /// max y·z over the set, or more.
    pub offset: f64,
    /// The proof of a lower bound b on λ·Z̄(π) over all π: objectives are at most offset − b.
    pub witness: Arc<ValueFunction>,
}

impl Ceiling {
    /// The upper bound that this proves, in a model whose last measurement is the objective.
    pub fn upper_bound(
        &self,
        set: &SharedSet,
        model: &TabularMdp,
        discounting: &Discounting,
        decisions: &[bool],
    ) -> Result<f64> {
        crate::error::dimension("pricing direction", self.lam.len(), set.dim() + 1)?;
        let (mut lam, offset) = containing(set, &self.lam[..set.dim()], self.offset)?;
        lam.push(-1.0);
        Ok(offset - least_payoff(model, discounting, decisions, &lam, &self.witness)?)
    }
}

/// A half-space next to {z : lam·z ≤ offset} that surely contains the set.
///
/// (λ, −offset) must lie in the polar of cone(C × {1}); what sticks out by rounding is taken off, which moves the
/// half-space, so that the result holds for the set as its projection defines it.
fn containing(set: &SharedSet, lam: &[f64], offset: f64) -> Result<(Vec<f64>, f64)> {
    let cone = Lift::share(Arc::clone(set));
    let point: Vec<f64> = lam.iter().copied().chain([-offset]).collect();
    crate::error::dimension("separating direction", point.len(), cone.dim())?;
    let mut outside = vec![0.0; point.len()];
    cone.project(&point, &mut outside);
    Ok((vector::difference(lam, &outside[..lam.len()]), offset + outside[lam.len()]))
}
