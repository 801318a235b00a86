use std::sync::Arc;

use super::{Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Weights};
use crate::error::{Error, Result, in_range};
use crate::measurement::Spread;
use crate::options::{Kind, Options, Range, Table, options, words};
use crate::set::{Faces, SharedSet};
use crate::state::{Checkpoint, Loader, Saver};
use crate::theory;
use crate::vector;

words! {
    /// How the step size of multiplicative weights is chosen.
    pub enum HedgeRate {
        /// by the answers so far: needs neither a bound on them nor the number of rounds
        Adaptive = "adaptive",
        /// η in every round
        Constant = "constant",
    }
}

options! {
    /// The options of [`Hedge`].
    pub struct HedgeOptions {
        /// How the step size is chosen, unless eta is given.
        steps: HedgeRate = Kind::Word(HedgeRate::WORDS), defaulted "\"adaptive\"";
        /// η, a step size that stays as it is; for constant steps by default that of the theorem for the number of rounds.
        eta: Option<f64> = Kind::Number(Range::POSITIVE), optional "0.1";
    }
}

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "hedge",
    about: "multiplicative weights over bounds and half-spaces",
    keys: HedgeOptions::KEYS,
    read: |given| Ok(Arc::new(HedgeOptions::read(given)?)),
};

impl HedgeOptions {
    /// A player for a set with faces.
    pub(crate) fn player(&self, set: &SharedSet, context: &PlayerContext) -> Result<Hedge> {
        let player = Hedge::new(set)?;
        match self.constant(&player.faces, context)? {
            Some(eta) => player.with_constant_steps(eta),
            None => Ok(player),
        }
    }

    /// The step size in force; `None` where it adapts.
    fn constant(&self, faces: &Faces, context: &PlayerContext) -> Result<Option<f64>> {
        if self.eta.is_some() || self.steps == HedgeRate::Adaptive {
            return Ok(self.eta);
        }
        // Where only playing tells how large answers are, steps adapt all the same.
        let radius = (context.radius)()?;
        Ok(radius.map(|radius| theory::hedge_step_size(width(faces, radius), faces.count(), context.rounds)))
    }
}

/// The most by which violations of one answer can differ, where no answer is longer than `radius`.
fn width(faces: &Faces, radius: f64) -> f64 {
    let offsets = faces.rows().iter().map(|(_, b)| *b);
    let (least, most) = offsets.fold((f64::INFINITY, f64::NEG_INFINITY), |(l, m), b| (b.min(l), b.max(m)));
    (2.0 * radius + most - least).max(f64::MIN_POSITIVE)
}

impl MakePlayer for HedgeOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>> {
        Ok(Box::new(self.player(set, context)?))
    }

    fn table(&self, set: &SharedSet, context: &PlayerContext) -> Result<Table> {
        let eta = self.constant(&faces(set)?, context)?;
        let steps = if eta.is_some() { HedgeRate::Constant } else { self.steps };
        Ok(Options::table(&Self { steps, eta }))
    }
}

/// The faces that weights are put on.
fn faces(set: &SharedSet) -> Result<Faces> {
    Faces::of(set).ok_or(Error::Unsuitable {
        learner: "the player \"hedge\"",
        needs: "constraints that are bounds or half-spaces, all of them",
        instead: "\"fully-corrective\", \"projection\", \"blackwell\" or \"ogd\"",
    })
}

/// Multiplicative weights (Freund and Schapire 1997): λ = Σ wⱼaⱼ over the faces aⱼ·z ≤ bⱼ of the target set, with
/// wⱼ ∝ exp(η Σ (aⱼ·ẑ − bⱼ)) over the answers ẑ so far.
///
/// Best responses to it make the largest violation as small as any policy can, and, where nothing is violated, the least
/// room as large: it goes on inside the set. Steps adapt (AdaHedge, de Rooij et al. 2014) unless a size is given.
#[derive(Debug, Clone)]
pub struct Hedge {
    faces: Faces,
    /// η, unless it adapts.
    eta: Option<f64>,
    /// What each face would have been paid for all answers so far.
    gains: Vec<f64>,
    weights: Vec<f64>,
    decision: Decision,
    /// ‖Σ wⱼaⱼ‖, by which the decision is divided.
    length: f64,
    /// What the weights were paid.
    payoffs: f64,
    /// By how much that is behind what exponential weights could be paid at the most: η = ln n / this.
    mixability_gap: f64,
    rounds: usize,
}

impl Hedge {
    /// A player for a set with faces, starting with equal weights.
    pub fn new(set: &SharedSet) -> Result<Self> {
        let faces = faces(set)?;
        let (count, dim) = (faces.count(), faces.dim());
        let mut player = Self {
            faces,
            eta: None,
            gains: vec![0.0; count],
            weights: vec![0.0; count],
            decision: Decision { lam: vec![0.0; dim], offset: 0.0 },
            length: 1.0,
            payoffs: 0.0,
            mixability_gap: 0.0,
            rounds: 0,
        };
        player.decide();
        Ok(player)
    }

    /// The same with a step size that stays as it is.
    pub fn with_constant_steps(self, eta: f64) -> Result<Self> {
        in_range("step size", eta, eta > 0.0, "more than 0")?;
        Ok(Self { eta: Some(eta), ..self })
    }

    /// The faces that weights are put on.
    pub fn faces(&self) -> &Faces {
        &self.faces
    }

    /// wₜ, one weight a face.
    pub fn face_weights(&self) -> &[f64] {
        &self.weights
    }

    /// ‖Σ wⱼaⱼ‖: decisions are divided by it, so that λ has length 1 and a learner rewards of a like size.
    pub(crate) fn length(&self) -> f64 {
        self.length
    }

    /// Regretₜ of the weights so far against the best single face.
    pub fn regret(&self) -> f64 {
        self.gains.iter().copied().fold(f64::NEG_INFINITY, f64::max) - self.payoffs
    }

    /// What the regret can't exceed whatever the answers were: for adaptive steps 2Δₜ, which is known as they come.
    pub fn regret_bound(&self, width: f64) -> f64 {
        match self.eta {
            Some(eta) => theory::hedge_regret(eta, width, self.faces.count(), self.rounds),
            None => 2.0 * self.mixability_gap,
        }
    }

    /// η; infinite while no answer has paid one face more than another.
    fn rate(&self) -> f64 {
        self.eta.unwrap_or_else(|| (self.faces.count() as f64).ln() / self.mixability_gap)
    }

    /// (1/η) ln Σ (1/n) exp(η Gⱼ), with the weights of its terms.
    fn soft_maximum(&self, eta: f64, weights: &mut [f64]) -> f64 {
        let largest = self.gains.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        for (weight, gain) in weights.iter_mut().zip(&self.gains) {
            *weight = if *gain == largest { 1.0 } else { (eta * (gain - largest)).exp() };
        }
        let sum: f64 = weights.iter().sum();
        vector::scale(weights, 1.0 / sum);
        if eta.is_finite() { largest + (sum / weights.len() as f64).ln() / eta } else { largest }
    }

    fn decide(&mut self) {
        let mut weights = std::mem::take(&mut self.weights);
        self.soft_maximum(self.rate(), &mut weights);
        let (mut lam, offset) = self.faces.combination(&weights);
        self.length = vector::norm(&lam);
        // Faces of opposite directions may cancel out: then any answer will do.
        if self.length <= 1e-12 {
            lam.fill(0.0);
            self.length = 1.0;
        }
        vector::scale(&mut lam, 1.0 / self.length);
        (self.weights, self.decision) = (weights, Decision { lam, offset: offset / self.length });
    }
}

impl Player for Hedge {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        crate::error::dimension("measurement", z_hat.len(), self.faces.dim())?;
        crate::error::finite("measurement", z_hat)?;
        let eta = self.rate();
        let mut scratch = vec![0.0; self.weights.len()];
        let before = self.soft_maximum(eta, &mut scratch);
        let mut paid = 0.0;
        for ((gain, weight), violation) in
            self.gains.iter_mut().zip(&self.weights).zip(self.faces.violations(z_hat))
        {
            *gain += violation;
            paid += weight * violation;
        }
        let after = self.soft_maximum(eta, &mut scratch);
        self.payoffs += paid;
        self.mixability_gap += (after - before - paid).max(0.0);
        self.rounds += 1;
        self.decide();
        Ok(())
    }

    fn weights(&self) -> Weights {
        Weights::Uniform
    }
}

impl Checkpoint for Hedge {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put_all(&self.gains);
        to.put_all(&[self.payoffs, self.mixability_gap]);
        to.put(&self.rounds);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a violation", &mut self.gains)?;
        let mut sums = [0.0; 2];
        from.get_finite("a payoff", &mut sums)?;
        [self.payoffs, self.mixability_gap] = sums;
        self.mixability_gap = self.mixability_gap.max(0.0);
        self.rounds = from.get_count("a number of rounds")?;
        self.decide();
        Ok(())
    }
}
