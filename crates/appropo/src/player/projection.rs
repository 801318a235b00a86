use std::sync::Arc;

use super::{Decision, MakePlayer, Player, PlayerContext, PlayerEntry, Weights, check, project, separating};
use crate::error::Result;
use crate::measurement::Spread;
use crate::options::{Options, Table, options};
use crate::root::bracketed;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Checkpoint, Loader, Saver};
use crate::vector;

options! {
    /// The options of [`Projection`]: it has none.
    pub struct ProjectionOptions {}
}

pub(super) static ENTRY: PlayerEntry = PlayerEntry {
    name: "projection",
    about: "Abbeel and Ng's: the nearest point between the mixture and each answer",
    keys: ProjectionOptions::KEYS,
    read: |given| Ok(Arc::new(ProjectionOptions::read(given)?)),
};

impl MakePlayer for ProjectionOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, set: &SharedSet, _: &PlayerContext) -> Result<Box<dyn Player>> {
        Ok(Box::new(Projection::new(Arc::clone(set))))
    }

    fn table(&self, _: &SharedSet, _: &PlayerContext) -> Result<Table> {
        Ok(Options::table(self))
    }
}

/// The projection algorithm of Abbeel and Ng (2004), for any set: the mixture x moves to the point between itself and the
/// answer that is nearest to the set, and λ ∝ x − Γ(x).
///
/// It is Frank and Wolfe's method with a line search, and the corrective player keeps its bound too.
#[derive(Debug)]
pub struct Projection {
    set: SharedSet,
    decision: Decision,
    point: Vec<f64>,
    /// The weights of the answers that have any, by their numbers.
    weights: Vec<(usize, f64)>,
    rounds: usize,
}

impl Projection {
    /// A player for `set`, starting with λ = 0.
    pub fn new(set: SharedSet) -> Self {
        let dim = set.dim();
        let decision = Decision { lam: vec![0.0; dim], offset: 0.0 };
        Self { set, decision, point: vec![0.0; dim], weights: Vec::new(), rounds: 0 }
    }

    /// The share s of the answer for which x + s(ẑ − x) is nearest to the set: where the distance stops to shrink.
    fn share(&self, z_hat: &[f64]) -> Result<f64> {
        let direction = vector::difference(z_hat, &self.point);
        let (mut at, mut nearest) = (self.point.clone(), self.point.clone());
        // The derivative of half the square of the distance.
        let mut slope = |share: f64| -> Result<f64> {
            at.copy_from_slice(&self.point);
            vector::add_scaled(&mut at, share, &direction);
            project(&self.set, &at, &mut nearest)?;
            Ok(vector::dot(&vector::difference(&at, &nearest), &direction))
        };
        let (first, last) = (slope(0.0)?, slope(1.0)?);
        if first >= 0.0 {
            return Ok(0.0);
        }
        if last <= 0.0 {
            return Ok(1.0);
        }
        // A projection that fails on the way leaves a point that the next decision refuses.
        Ok(bracketed(|share| slope(share).unwrap_or(0.0), (0.0, first), (1.0, last)))
    }
}

impl Player for Projection {
    fn decision(&self) -> &Decision {
        &self.decision
    }

    fn observe(&mut self, z_hat: &[f64], _: Option<&Spread>) -> Result<()> {
        check(&self.set, z_hat)?;
        let share = if self.weights.is_empty() { 1.0 } else { self.share(z_hat)? };
        for (point, z) in self.point.iter_mut().zip(z_hat) {
            *point += share * (z - *point);
        }
        if share > 0.0 {
            self.weights.iter_mut().for_each(|(_, weight)| *weight *= 1.0 - share);
            self.weights.retain(|(_, weight)| *weight > f64::MIN_POSITIVE);
            self.weights.push((self.rounds, share));
        }
        self.rounds += 1;
        self.decision = separating(&self.set, &self.point)?;
        Ok(())
    }

    fn weights(&self) -> Weights {
        Weights::Listed(self.weights.clone())
    }
}

impl Checkpoint for Projection {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.decision.save(to);
        to.put_all(&self.point);
        to.put(&self.weights);
        to.put(&self.rounds);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.decision.load(from)?;
        from.get_finite("a mixture", &mut self.point)?;
        let is_share = |(_, weight): &(usize, f64)| *weight > 0.0 && *weight <= 1.0;
        self.weights = from.get_where("weights", |all: &Vec<(usize, f64)>| {
            all.iter().all(is_share) && all.is_sorted_by(|a, b| a.0 < b.0)
        })?;
        self.rounds = from.get_count("a number of rounds")?;
        Ok(())
    }
}
