use std::sync::Arc;

use super::master::Hull;
use super::regret::{Regret, payoff};
use super::{Decision, Player, aim, check, separating};
use crate::error::Result;
use crate::measurement::Spread;
use crate::set::{ConvexSet, SharedSet};
use crate::vector;

/// The default player. In every round it finds the point x = Σ wᵢẑᵢ of the hull of all answers that is closest
/// to the target set, and λ ∝ x − Γ(x).
///
/// Exact answers with weight 0 leave; at most d + 1 stay. Uncertain answers stay, because better estimates may bring
/// them back, and the player aims at the set tightened by the standard error of its mixture: a master that
/// optimises over estimates finds those that happen to be too good.
pub struct FullyCorrective {
    set: SharedSet,
    aim: SharedSet,
    caution: f64,
    hull: Hull,
    decision: Decision,
    regret: Regret,
}

impl FullyCorrective {
    /// A player for `set`, starting with λ = 0.
    pub fn new(set: SharedSet) -> Self {
        let dim = set.dim();
        Self {
            aim: Arc::clone(&set),
            set,
            caution: 1.0,
            hull: Hull::new(dim),
            decision: Decision { lam: vec![0.0; dim], offset: 0.0 },
            regret: Regret::new(dim),
        }
    }

    /// The same player, keeping away from the set's edge by this many standard errors instead of 1.
    pub fn with_caution(self, caution: f64) -> Self {
        Self { caution, ..self }
    }

    /// The answers in the mixture, with their numbers and weights.
    pub(crate) fn into_hull(self) -> Hull {
        self.hull
    }

    fn decide(&mut self) -> Result<()> {
        self.hull.approach(&self.aim)?;
        if self.hull.is_uncertain() {
            // How much to tighten depends on the mixture, and the mixture on the aim.
            let mut errors = self.hull.errors();
            vector::scale(&mut errors, self.caution);
            self.aim = aim(&self.set, self.hull.point(), &errors).0;
            self.hull.approach(&self.aim)?;
        }
        self.decision = separating(&self.aim, self.hull.point())?;
        Ok(())
    }
}

impl Player for FullyCorrective {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], spread: Option<&Spread>) -> Result<()> {
        check(&self.set, z_hat)?;
        self.hull.add(self.regret.rounds(), z_hat, spread.cloned());
        self.regret.add(payoff(&self.decision, z_hat), z_hat);
        self.decide()
    }

    fn is_cautious(&self) -> bool {
        self.hull.is_uncertain()
    }

    fn doubts(&self) -> Vec<(usize, f64)> {
        if self.hull.is_uncertain() { self.weights() } else { Vec::new() }
    }

    fn revise(&mut self, answers: Vec<(usize, Vec<f64>, Spread)>) -> Result<()> {
        for (index, z_hat, spread) in answers {
            check(&self.set, &z_hat)?;
            self.hull.revise(index, z_hat, spread);
        }
        self.decide()
    }

    fn distance(&self) -> f64 {
        self.aim.distance(self.hull.point())
    }

    fn z_bar(&self) -> &[f64] {
        self.hull.point()
    }

    fn weights(&self) -> Vec<(usize, f64)> {
        self.hull.weights().collect()
    }

    fn keeps(&self, index: usize) -> bool {
        self.hull.weights().any(|(i, _)| i == index)
    }

    fn regret(&self) -> f64 {
        self.regret.against(self.set.distance(self.regret.mean()))
    }
}
