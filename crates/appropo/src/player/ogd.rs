use std::sync::Arc;

use super::regret::{Regret, payoff};
use super::{Decision, Player, project};
use crate::error::{Result, in_range};
use crate::measurement::Spread;
use crate::set::{ConvexSet, Lambda, Lift, SharedSet};
use crate::state::{Loader, Saver};

/// The step sizes ηₜ of online gradient descent.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Steps {
    /// η in every round.
    Constant(f64),
    /// η/√t in round t.
    Decreasing(f64),
}

/// Online gradient descent over a convex decision set (appendix A), with optional momentum.
///
/// It starts at the projection of 0, so that its regret bound needs the decisions' norm only.
#[derive(Debug, Clone)]
pub struct OnlineGradient<S> {
    decisions: S,
    steps: Steps,
    momentum: f64,
    velocity: Vec<f64>,
    lam: Vec<f64>,
    rounds: usize,
}

impl<S: ConvexSet> OnlineGradient<S> {
    /// A learner over `decisions` with 0 ≤ `momentum` < 1.
    pub fn new(decisions: S, steps: Steps, momentum: f64) -> Result<Self> {
        let (Steps::Constant(eta) | Steps::Decreasing(eta)) = steps;
        in_range("step size", eta, eta > 0.0, "more than 0")?;
        in_range("momentum", momentum, (0.0..1.0).contains(&momentum), "at least 0 and below 1")?;
        let mut lam = vec![0.0; decisions.dim()];
        project(&decisions, &vec![0.0; decisions.dim()], &mut lam)?;
        Ok(Self { velocity: vec![0.0; lam.len()], decisions, steps, momentum, lam, rounds: 0 })
    }

    /// The current decision.
    pub fn decision(&self) -> &[f64] {
        &self.lam
    }

    /// The set that decisions are taken from.
    pub fn decisions(&self) -> &S {
        &self.decisions
    }

    /// λ ← Γ(λ + η·gain), for a payoff that grows along `gain`, the negative gradient of the loss.
    pub fn observe(&mut self, gain: &[f64]) -> Result<()> {
        crate::error::dimension("gain", gain.len(), self.lam.len())?;
        crate::error::finite("gain", gain)?;
        self.rounds += 1;
        let eta = match self.steps {
            Steps::Constant(eta) => eta,
            Steps::Decreasing(eta) => eta / (self.rounds as f64).sqrt(),
        };
        let mut moved = self.lam.clone();
        for i in 0..moved.len() {
            self.velocity[i] = self.momentum * self.velocity[i] + gain[i];
            moved[i] += eta * self.velocity[i];
        }
        project(&self.decisions, &moved, &mut self.lam)
    }

    fn save(&self, to: &mut Saver) {
        to.put_all(&self.velocity);
        to.put_all(&self.lam);
        to.put(&self.rounds);
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a velocity", &mut self.velocity)?;
        from.get_finite("a decision", &mut self.lam)?;
        self.rounds = from.get_count("a number of rounds")?;
        Ok(())
    }
}

/// The paper's player: gradient descent over Λ = C̃° ∩ B, where C̃ is the cone over the target set at height κ.
///
/// κ is appended once to ẑ and kept out of the scalar reward: a decision (λ, λ_κ) is the half-space
/// λ·z ≤ −κλ_κ.
pub struct Ogd {
    set: SharedSet,
    learner: OnlineGradient<Lambda<Lift>>,
    decision: Decision,
    regret: Regret,
}

impl Ogd {
    /// A player for `set` with height `kappa`; momentum 0 is plain gradient descent.
    pub fn new(set: SharedSet, kappa: f64, steps: Steps, momentum: f64) -> Result<Self> {
        let regret = Regret::new(set.dim());
        let lifted = Lift::new(Arc::clone(&set), kappa)?;
        let learner = OnlineGradient::new(Lambda::new(lifted), steps, momentum)?;
        let mut player = Self { set, decision: Decision { lam: Vec::new(), offset: 0.0 }, learner, regret };
        player.decide();
        Ok(player)
    }

    fn kappa(&self) -> f64 {
        self.learner.decisions().cone().kappa()
    }

    fn decide(&mut self) {
        let (height, lam) = self.learner.decision().split_last().unwrap_or((&0.0, &[]));
        self.decision = Decision { lam: lam.to_vec(), offset: -self.kappa() * height };
    }

    fn lifted(&self, z: &[f64]) -> Vec<f64> {
        z.iter().copied().chain([self.kappa()]).collect()
    }
}

impl Player for Ogd {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        crate::error::dimension("measurement", z_hat.len(), self.regret.mean().len())?;
        crate::error::finite("measurement", z_hat)?;
        self.regret.add(payoff(&self.decision, z_hat), z_hat);
        self.learner.observe(&self.lifted(z_hat))?;
        self.decide();
        Ok(())
    }

    fn distance(&self) -> f64 {
        self.set.distance(self.regret.mean())
    }

    fn z_bar(&self) -> &[f64] {
        self.regret.mean()
    }

    fn weights(&self) -> Vec<(usize, f64)> {
        self.regret.uniform()
    }

    fn keeps(&self, _: usize) -> bool {
        true
    }

    fn regret(&self) -> f64 {
        self.regret.against(self.learner.decisions().cone().distance(&self.lifted(self.regret.mean())))
    }

    fn save(&self, to: &mut Saver) -> Result<()> {
        self.learner.save(to);
        self.regret.save(to);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.learner.load(from)?;
        self.decide();
        self.regret.load_uniform(from)
    }
}
