use std::collections::HashSet;

use super::{Doubts, Solution, Stop};
use crate::certificate::{Evidence, Verdict};
use crate::error::Result;
use crate::measurement::Spread;
use crate::oracle::{self, Respond, Response};
use crate::player::mean::Mean;
use crate::player::{Decision, Player, Weights};
use crate::policy::Mixed;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Loader, Saver, misfit};
use crate::vector;

/// The answers so far: policies by number, how they are mixed, and what they prove.
pub(super) struct Record {
    policies: Vec<(usize, Mixed)>,
    /// What those policies measure, where not all answers count alike.
    z_hats: Vec<Vec<f64>>,
    weights: Weights,
    mean: Mean,
    z_bar: Vec<f64>,
    pub evidence: Evidence,
    latest: Option<(Decision, Response)>,
    is_estimated: bool,
    /// What was found before, and was not sure enough.
    pub doubts: Doubts,
    /// Why no more rounds are worth playing.
    pub stop: Option<Stop>,
    /// Policies to hold before those without weight are let go.
    capacity: usize,
}

const CAPACITY: usize = 64;

impl Record {
    pub fn new(dim: usize) -> Self {
        Self {
            policies: Vec::new(),
            z_hats: Vec::new(),
            weights: Weights::Uniform,
            mean: Mean::new(dim),
            z_bar: vec![0.0; dim],
            evidence: Evidence::default(),
            latest: None,
            is_estimated: false,
            doubts: Doubts::default(),
            stop: None,
            capacity: CAPACITY,
        }
    }

    /// Takes what an answer to a separating λ proves.
    pub fn prove(&mut self, decision: &Decision, response: &Response, player: &mut dyn Player) {
        // An aim tightened for estimates says nothing of the set itself.
        let is_exact = !player.margin().is_some_and(|margin| margin.is_uncertain());
        if let Some(bound) = response.bound.as_ref().filter(|_| is_exact) {
            self.evidence.add(&decision.lam, decision.offset, bound);
        }
    }

    /// Takes an answer of which the player knows.
    pub fn add(&mut self, decision: Decision, response: Response, player: &dyn Player) {
        self.is_estimated |= response.spread.is_some();
        self.policies.push((self.rounds(), response.policy.clone()));
        self.z_hats.push(response.z_hat.clone());
        self.mean.add(&response.z_hat);
        self.latest = Some((decision, response));
        self.weigh(player);
        if self.policies.len() > self.capacity {
            self.let_go();
        }
    }

    /// Mixes as the player does now.
    pub fn weigh(&mut self, player: &dyn Player) {
        self.mix(player.weights());
    }

    /// Mixes with these weights.
    fn mix(&mut self, weights: Weights) {
        self.weights = weights;
        match &self.weights {
            Weights::Uniform => {
                // Nothing is ever revised where all answers count alike: their mean is enough.
                self.z_hats.clear();
                self.z_bar.copy_from_slice(self.mean.point());
            }
            Weights::Listed(listed) => {
                self.z_bar.fill(0.0);
                for (index, weight) in listed {
                    if let Some(place) = place(&self.policies, *index) {
                        vector::add_scaled(&mut self.z_bar, *weight, &self.z_hats[place]);
                    }
                }
            }
        }
    }

    /// Lets go of policies without weight.
    fn let_go(&mut self) {
        if let Weights::Listed(listed) = &self.weights {
            let kept: HashSet<usize> = listed.iter().map(|(index, _)| *index).collect();
            let is_kept: Vec<bool> = self.policies.iter().map(|(index, _)| kept.contains(index)).collect();
            let mut keep = is_kept.iter();
            self.policies.retain(|_| keep.next() == Some(&true));
            let mut keep = is_kept.iter();
            self.z_hats.retain(|_| keep.next() == Some(&true));
        }
        self.capacity = CAPACITY + 2 * self.policies.len();
    }

    /// Takes better estimates of answers by their numbers, as the player has.
    pub fn revise(&mut self, answers: Vec<(usize, Vec<f64>, Spread)>, player: &dyn Player) {
        for (index, z_hat, _) in answers {
            if let Some(place) = place(&self.policies, index) {
                self.z_hats[place] = z_hat;
            }
        }
        self.weigh(player);
    }

    /// Rounds played, each with one answer.
    pub fn rounds(&self) -> usize {
        self.mean.count()
    }

    /// λₜ and the answer to it. Only asked for after a round.
    pub fn latest(&self) -> (&Decision, &Response) {
        match &self.latest {
            Some((decision, response)) => (decision, response),
            None => unreachable!("a round has been played"),
        }
    }

    /// Whether any answer is an estimate.
    pub fn is_estimated(&self) -> bool {
        self.is_estimated
    }

    /// What the mixture measures.
    pub fn z_bar(&self) -> &[f64] {
        &self.z_bar
    }

    /// The policies that have weight.
    pub fn weighted(&self) -> impl Iterator<Item = (usize, f64, &Mixed)> {
        let (uniform, listed): (&[_], &[_]) = match &self.weights {
            Weights::Uniform => (&self.policies, &[]),
            Weights::Listed(listed) => (&[], listed),
        };
        let share = 1.0 / self.rounds().max(1) as f64;
        let listed = listed.iter().filter_map(|(index, weight)| {
            let place = place(&self.policies, *index)?;
            Some((*index, *weight, &self.policies[place].1))
        });
        uniform.iter().map(move |(index, policy)| (*index, share, policy)).chain(listed)
    }

    /// The mixture as it is now.
    pub fn mixture(&self) -> Mixed {
        Mixed::flatten(self.weighted().map(|(_, weight, policy)| (weight, policy.clone())))
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.policies);
        if let Weights::Listed(listed) = &self.weights {
            to.put(&Some(listed.clone()));
            to.put(&self.z_hats);
        } else {
            to.put(&None::<Vec<(usize, f64)>>);
        }
        self.mean.save(to);
        to.put(&self.evidence);
        to.put(&(self.is_estimated, self.capacity));
        self.doubts.save(to);
        to.put(&self.stop.as_ref().and_then(code));
    }

    pub fn load(from: &mut Loader, dim: usize) -> Result<Self> {
        let mut record = Self::new(dim);
        record.policies = from.get()?;
        let listed: Option<Vec<(usize, f64)>> = from.get()?;
        if let Some(listed) = listed {
            record.weights = Weights::Listed(listed);
            let fits = |z: &Vec<f64>| z.len() == dim && z.iter().all(|v| v.is_finite());
            let count = record.policies.len();
            record.z_hats =
                from.get_where("a measurement", |all: &Vec<_>| all.len() == count && all.iter().all(fits))?;
        }
        record.mean.load(from)?;
        record.evidence = from.get()?;
        let numbers = record.policies.iter().map(|(index, _)| *index).chain([record.rounds()]);
        if !numbers.is_sorted_by(|a, b| a < b) {
            return Err(misfit("policies are not in the order of their rounds"));
        }
        record.is_estimated = from.get()?;
        let most = CAPACITY + 2 * record.policies.len();
        record.capacity = from.get_where("a capacity", |capacity| *capacity <= most)?;
        record.doubts = Doubts::load(from)?;
        record.stop = from.get::<Option<u8>>()?.map(decode).transpose()?;
        record.mix(record.weights.clone());
        Ok(record)
    }

    /// Whether what was read belongs together.
    pub fn check(&self, player: &dyn Player, oracle: &dyn Respond) -> Result<()> {
        if !self.policies.iter().all(|(_, policy)| oracle::fits(oracle, policy)) {
            return Err(misfit("a policy is for another world"));
        }
        let is_whole = match &self.weights {
            Weights::Uniform => self.rounds() > 0 && self.policies.len() == self.rounds(),
            Weights::Listed(listed) => {
                !listed.is_empty() && listed.iter().all(|(index, _)| place(&self.policies, *index).is_some())
            }
        };
        if !is_whole || self.weights != player.weights() {
            return Err(misfit("a policy of the mixture is missing"));
        }
        Ok(())
    }

    pub fn solution(self, set: &SharedSet, samples: u64, stop: Stop, tolerance: f64) -> Solution {
        let (mixture, rounds, doubts) = (self.mixture(), self.rounds(), self.doubts);
        let distance = set.distance(&self.z_bar);
        let mut certificate = self.evidence.certificate(self.z_bar, distance, tolerance);
        // What answers were waited for, and what a master chose among them, is too good: fresh episodes decide.
        if self.is_estimated && certificate.verdict == Verdict::Feasible {
            certificate.verdict = Verdict::Undecided;
        }
        Solution { mixture, certificate, rounds, samples, doubts, stop }
    }
}

fn place(policies: &[(usize, Mixed)], index: usize) -> Option<usize> {
    policies.binary_search_by_key(&index, |(i, _)| *i).ok()
}

/// The reasons to stop that are saved, by their numbers. A failure is not: what failed is tried again. Nor is what may
/// differ the next time.
const SAVED: [Stop; 4] = [Stop::Reached, Stop::Refuted, Stop::GaveUp, Stop::Samples];

pub(super) fn code(stop: &Stop) -> Option<u8> {
    SAVED.iter().position(|saved| saved == stop).map(|code| code as u8)
}

pub(super) fn decode(code: u8) -> Result<Stop> {
    SAVED.get(usize::from(code)).cloned().ok_or_else(|| misfit("a reason to stop is not known"))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::player::{Blackwell, FullyCorrective};
    use crate::set::Bounds;
    use crate::state::Checkpoint;

    struct Silent;

    impl Checkpoint for Silent {}

    impl Respond for Silent {
        fn respond(&mut self, _: &[f64], _: f64) -> Result<Response> {
            Err(misfit("it is not asked"))
        }
    }

    /// A mixture of nothing would be a claim about no policy.
    #[test]
    fn a_state_without_rounds_is_refused() {
        let set: SharedSet = Arc::new(Bounds::nonpositive(2));
        let record = Record { stop: Some(Stop::Reached), ..Record::new(2) };
        assert!(record.check(&Blackwell::new(Arc::clone(&set)), &Silent).is_err());
        assert!(record.check(&FullyCorrective::new(set), &Silent).is_err());
    }
}
