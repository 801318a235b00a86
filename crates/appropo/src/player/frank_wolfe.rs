use std::sync::Arc;

use super::{Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Pursuit, Weights};
use crate::error::{Error, Result};
use crate::measurement::Spread;
use crate::options::{Kind, Options, Range, Table, options};
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::utility::Criterion;
use crate::vector;

options! {
    /// The options of [`FrankWolfe`].
    pub struct FrankWolfeOptions {
        /// The weight of every new answer; by default 2/(t + 2) after t others.
        eta: Option<f64> = Kind::Number(Range::SHARE), optional "0.1";
    }
}

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "frank-wolfe",
    about: "for an objective without constraints: steps towards the best answer to its gradient",
    keys: FrankWolfeOptions::KEYS,
    read: |given| Ok(Arc::new(FrankWolfeOptions::read(given)?)),
};

impl MakePlayer for FrankWolfeOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, set: &SharedSet, context: &PlayerContext) -> Result<Box<dyn Player>> {
        match context.criterion {
            Some(criterion) if criterion.dim() == set.dim() => {
                Ok(Box::new(FrankWolfe::new(criterion.clone(), self.eta)))
            }
            Some(_) => Err(Error::Objective(
                "the player \"frank-wolfe\" takes no constraints; \"fully-corrective\" does".into(),
            )),
            None => Err(Error::Objective(
                "the player \"frank-wolfe\" goes for an objective, and the problem has none; add one, or leave \"player\" out"
                    .into(),
            )),
        }
    }

    fn table(&self, _: &SharedSet, _: &PlayerContext) -> Result<Table> {
        Ok(Options::table(self))
    }

    fn takes_objective(&self) -> bool {
        true
    }

    fn rounds(&self) -> usize {
        1000
    }
}

/// The conditional-gradient method for a concave objective without constraints, with which Hazan et al. (2019) explore:
/// λ = −∇f at the mixture, and each answer takes a step's weight from all before it.
///
/// Where the objective is per step, weights are shares of steps.
#[derive(Debug)]
pub struct FrankWolfe {
    criterion: Criterion,
    eta: Option<f64>,
    /// The share of each answer, and the steps that it takes.
    shares: Vec<(f64, f64)>,
    /// What the mixture measures, per step where the objective is.
    argument: Vec<f64>,
    decision: Decision,
    is_pursuing: bool,
}

impl FrankWolfe {
    /// A player for a criterion of all that is measured, with a constant step or with 2/(t + 2).
    pub fn new(criterion: Criterion, eta: Option<f64>) -> Self {
        let argument = vec![0.0; criterion.function().dim()];
        let decision = Decision { lam: vec![0.0; criterion.dim()], offset: 0.0 };
        Self { criterion, eta, shares: Vec::new(), argument, decision, is_pursuing: false }
    }

    fn decide(&mut self) {
        if self.is_pursuing {
            let tau = -vector::dot(&self.criterion.gradient(&self.argument), &self.argument);
            self.decision.lam = self.criterion.prices(&[], &self.argument, tau);
        }
    }
}

impl Player for FrankWolfe {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        crate::error::dimension("measurement", z_hat.len(), self.criterion.dim())?;
        crate::error::finite("measurement", z_hat)?;
        let steps = self.criterion.steps(z_hat);
        if !(steps > 0.0) {
            return Err(Error::NoSteps { steps });
        }
        let t = self.shares.len() as f64;
        let eta = if self.shares.is_empty() { 1.0 } else { self.eta.unwrap_or(2.0 / (t + 2.0)) };
        self.shares.iter_mut().for_each(|(share, _)| *share *= 1.0 - eta);
        self.shares.push((eta, steps));
        vector::scale(&mut self.argument, 1.0 - eta);
        vector::add_scaled(&mut self.argument, eta, &self.criterion.argument(z_hat));
        self.decide();
        Ok(())
    }

    fn weights(&self) -> Weights {
        let total: f64 = self.shares.iter().map(|(share, steps)| share / steps).sum();
        let weight = |(i, (share, steps)): (usize, &(f64, f64))| (i, share / steps / total);
        Weights::Listed(
            self.shares.iter().enumerate().map(weight).filter(|(_, weight)| *weight > 0.0).collect(),
        )
    }

    fn pursuit(&mut self) -> Option<&mut dyn Pursuit> {
        Some(self)
    }
}

impl Pursuit for FrankWolfe {
    fn pursue(&mut self) -> Result<()> {
        self.is_pursuing = true;
        self.decide();
        Ok(())
    }

    fn is_pursuing(&self) -> bool {
        self.is_pursuing
    }
}

impl Checkpoint for FrankWolfe {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.shares);
        to.put_all(&self.argument);
        to.put(&self.is_pursuing);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let is_share =
            |(share, steps): &(f64, f64)| (0.0..=1.0).contains(share) && *steps > 0.0 && steps.is_finite();
        self.shares = from.get_where("a share", |all: &Vec<(f64, f64)>| all.iter().all(is_share))?;
        if (self.shares.iter().map(|(share, _)| share).sum::<f64>() - 1.0).abs() > 1e-9 {
            return Err(misfit("shares do not add up to 1"));
        }
        from.get_finite("a mean", &mut self.argument)?;
        self.is_pursuing = from.get()?;
        self.decide();
        Ok(())
    }
}
