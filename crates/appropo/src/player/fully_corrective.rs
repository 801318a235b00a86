use super::master::Hull;
use super::regret::{Regret, payoff};
use super::{Decision, Player, check, separating};
use crate::error::Result;
use crate::set::{ConvexSet, SharedSet};

/// The default player. In every round it finds the point x = Σ wᵢẑᵢ of the hull of all answers that is closest
/// to the target set, and λ ∝ x − Γ(x). Answers with weight 0 leave; at most d + 1 stay.
pub struct FullyCorrective {
    set: SharedSet,
    hull: Hull,
    decision: Decision,
    regret: Regret,
}

impl FullyCorrective {
    /// A player for `set`, starting with λ = 0.
    pub fn new(set: SharedSet) -> Self {
        let dim = set.dim();
        Self {
            set,
            hull: Hull::new(dim),
            decision: Decision { lam: vec![0.0; dim], offset: 0.0 },
            regret: Regret::new(dim),
        }
    }

    /// The answers in the mixture, with their numbers and weights.
    pub(crate) fn into_hull(self) -> Hull {
        self.hull
    }
}

impl Player for FullyCorrective {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64]) -> Result<()> {
        check(&self.set, z_hat)?;
        self.hull.add(self.regret.rounds(), z_hat);
        self.regret.add(payoff(&self.decision, z_hat), z_hat);
        self.hull.approach(&self.set)?;
        self.decision = separating(&self.set, self.hull.point())?;
        Ok(())
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
