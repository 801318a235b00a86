use std::sync::Arc;

use super::mean::Mean;
use super::{Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Weights, check, separating};
use crate::error::Result;
use crate::measurement::Spread;
use crate::options::{Options, Table, options};
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Checkpoint, Loader, Saver};

options! {
    /// The options of [`Blackwell`]: it has none.
    pub struct BlackwellOptions {}
}

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "blackwell",
    about: "needs no settings",
    keys: BlackwellOptions::KEYS,
    read: |given| Ok(Arc::new(BlackwellOptions::read(given)?)),
};

impl MakePlayer for BlackwellOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, set: &SharedSet, _: &PlayerContext) -> Result<Box<dyn Player>> {
        Ok(Box::new(Blackwell::new(Arc::clone(set))))
    }

    fn table(&self, _: &SharedSet, _: &PlayerContext) -> Result<Table> {
        Ok(Options::table(self))
    }
}

/// Blackwell's player: λ points from the target set to the mean of all answers, λ ∝ z̄ − Γ(z̄).
/// It needs neither the lift nor a step size.
#[derive(Debug)]
pub struct Blackwell {
    set: SharedSet,
    decision: Decision,
    mean: Mean,
}

impl Blackwell {
    /// A player for `set`, starting with λ = 0.
    pub fn new(set: SharedSet) -> Self {
        let dim = set.dim();
        Self { set, decision: Decision { lam: vec![0.0; dim], offset: 0.0 }, mean: Mean::new(dim) }
    }
}

impl Player for Blackwell {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        check(&self.set, z_hat)?;
        self.mean.add(z_hat);
        self.decision = separating(&self.set, self.mean.point())?;
        Ok(())
    }

    fn weights(&self) -> Weights {
        Weights::Uniform
    }
}

impl Checkpoint for Blackwell {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.decision.save(to);
        self.mean.save(to);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.decision.load(from)?;
        self.mean.load(from)
    }
}
