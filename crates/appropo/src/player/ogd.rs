use std::sync::Arc;

use super::mean::Mean;
use super::{Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Weights, project};
use crate::error::{Result, in_range};
use crate::measurement::Spread;
use crate::options::{Kind, Options, Range, Table, options, words};
use crate::set::{ConvexSet, Lambda, Lift, SharedSet};
use crate::state::{Checkpoint, Loader, Saver};
use crate::theory;
use crate::vector;

words! {
    /// How the step size goes on.
    pub enum StepRule {
        /// η in every round
        Constant = "constant",
        /// η/√t in round t
        Decreasing = "decreasing",
    }
}

options! {
    /// The options of [`Ogd`].
    pub struct OgdOptions {
        /// κ, the height of the lifted set; by default from Lemma 3.5.
        kappa: Option<f64> = Kind::Number(Range::POSITIVE), optional "20";
        /// η, the step size; by default from Theorem 3.3.
        eta: Option<f64> = Kind::Number(Range::POSITIVE), optional "0.1";
        /// How the step size goes on.
        steps: StepRule = Kind::Word(StepRule::WORDS), defaulted "\"constant\"";
        /// How much of the last step is taken again; 0 is plain gradient descent.
        momentum: f64 = Kind::Number(Range::BELOW_ONE), defaulted "0";
    }
}

options! {
    /// The options of [`Ogd`] with momentum, which the paper's experiments use.
    pub struct MomentumOptions {
        /// κ, the height of the lifted set; by default from Lemma 3.5.
        kappa: Option<f64> = Kind::Number(Range::POSITIVE), optional "20";
        /// η, the step size; by default from Theorem 3.3.
        eta: Option<f64> = Kind::Number(Range::POSITIVE), optional "0.1";
        /// How the step size goes on.
        steps: StepRule = Kind::Word(StepRule::WORDS), defaulted "\"constant\"";
        /// How much of the last step is taken again.
        momentum: f64 = Kind::Number(Range::BELOW_ONE), defaulted "0.9";
    }
}

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "ogd",
    about: "the paper's: gradient descent",
    keys: OgdOptions::KEYS,
    read: |given| Ok(Arc::new(OgdOptions::read(given)?)),
};

pub(super) static MOMENTUM_ENTRY: PlayerEntry = PlayerEntry {
    name: "momentum",
    about: "ogd with momentum 0.9",
    keys: MomentumOptions::KEYS,
    read: |given| Ok(Arc::new(MomentumOptions::read(given)?)),
};

/// δ of Lemma 3.5: how much farther the set may be than its cone, at the default κ.
const DELTA: f64 = 0.5;
/// κ of the paper's experiments, for worlds whose measurements have no known bound.
const PAPER_KAPPA: f64 = 20.0;

impl OgdOptions {
    /// κ and η in force.
    pub fn gains(&self, set: &dyn ConvexSet, radius: Option<f64>, rounds: usize) -> (f64, f64) {
        let kappa = self.kappa.unwrap_or_else(|| match set.radius().filter(|r| *r > 0.0).or(radius) {
            Some(radius) => theory::kappa(radius, DELTA).max(1e-6),
            None => PAPER_KAPPA,
        });
        // Momentum multiplies a constant gain by 1/(1 − momentum).
        let bound = radius.unwrap_or(kappa).hypot(kappa) / (1.0 - self.momentum);
        let eta = self.eta.unwrap_or_else(|| match self.steps {
            StepRule::Constant => theory::step_size(bound, rounds),
            StepRule::Decreasing => 1.0 / bound,
        });
        (kappa, eta)
    }
}

impl MakePlayer for OgdOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>> {
        let (kappa, eta) = self.gains(set, (context.radius)()?, context.rounds);
        let steps = match self.steps {
            StepRule::Constant => Steps::Constant(eta),
            StepRule::Decreasing => Steps::Decreasing(eta),
        };
        Ok(Box::new(Ogd::new(Arc::clone(set), kappa, steps, self.momentum)?))
    }

    fn table(&self, set: &SharedSet, context: &PlayerContext) -> Result<Table> {
        let (kappa, eta) = self.gains(set, (context.radius)()?, context.rounds);
        Ok(Options::table(&Self { kappa: Some(kappa), eta: Some(eta), ..self.clone() }))
    }
}

impl From<&MomentumOptions> for OgdOptions {
    fn from(options: &MomentumOptions) -> Self {
        let MomentumOptions { kappa, eta, steps, momentum } = *options;
        Self { kappa, eta, steps, momentum }
    }
}

impl MakePlayer for MomentumOptions {
    fn name(&self) -> &str {
        MOMENTUM_ENTRY.name
    }

    fn make(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>> {
        OgdOptions::from(self).make(set, context)
    }

    fn table(&self, set: &SharedSet, context: &PlayerContext) -> Result<Table> {
        MakePlayer::table(&OgdOptions::from(self), set, context)
    }
}

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
#[derive(Debug)]
pub struct Ogd {
    learner: OnlineGradient<Lambda<Lift>>,
    decision: Decision,
    /// The answers' mean, and what λ was paid for them.
    mean: Mean,
    payoffs: f64,
}

impl Ogd {
    /// A player for `set` with height `kappa`; momentum 0 is plain gradient descent.
    pub fn new(set: SharedSet, kappa: f64, steps: Steps, momentum: f64) -> Result<Self> {
        let mean = Mean::new(set.dim());
        let learner = OnlineGradient::new(Lambda::new(Lift::new(set, kappa)?), steps, momentum)?;
        let decision = Decision { lam: Vec::new(), offset: 0.0 };
        let mut player = Self { learner, decision, mean, payoffs: 0.0 };
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

    /// Regretₜ of the decisions so far against the best fixed one, which would have been paid T times the distance of
    /// the answers' mean from the cone.
    pub fn regret(&self) -> f64 {
        let distance = self.learner.decisions().cone().distance(&self.lifted(self.mean.point()));
        self.mean.count() as f64 * distance - self.payoffs
    }
}

impl Player for Ogd {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        crate::error::dimension("measurement", z_hat.len(), self.mean.point().len())?;
        crate::error::finite("measurement", z_hat)?;
        self.payoffs += vector::dot(&self.decision.lam, z_hat) - self.decision.offset;
        self.mean.add(z_hat);
        self.learner.observe(&self.lifted(z_hat))?;
        self.decide();
        Ok(())
    }

    fn weights(&self) -> Weights {
        Weights::Uniform
    }
}

impl Checkpoint for Ogd {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.learner.save(to);
        to.put(&self.payoffs);
        self.mean.save(to);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.learner.load(from)?;
        self.decide();
        from.get_finite("a payoff", std::slice::from_mut(&mut self.payoffs))?;
        self.mean.load(from)
    }
}
