use super::regret::{Regret, payoff};
use super::{Decision, Player, check, separating};
use crate::error::Result;
use crate::measurement::Spread;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver};

/// Blackwell's player: λ points from the target set to the mean of all answers, λ ∝ z̄ − Γ(z̄).
/// It needs neither the lift nor a step size.
pub struct Blackwell {
    set: SharedSet,
    decision: Decision,
    regret: Regret,
}

impl Blackwell {
    /// A player for `set`, starting with λ = 0.
    pub fn new(set: SharedSet) -> Self {
        let dim = set.dim();
        Self { set, decision: Decision { lam: vec![0.0; dim], offset: 0.0 }, regret: Regret::new(dim) }
    }
}

impl Player for Blackwell {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        check(&self.set, z_hat)?;
        self.regret.add(payoff(&self.decision, z_hat), z_hat);
        self.decision = separating(&self.set, self.regret.mean())?;
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
        self.regret.against(self.set.distance(self.regret.mean()))
    }

    fn save(&self, to: &mut Saver) -> Result<()> {
        self.decision.save(to);
        self.regret.save(to);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.decision.load(from)?;
        self.regret.load_uniform(from)
    }
}
