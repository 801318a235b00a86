//! What games in a model came to in the world, and the best mixture of it.

use std::sync::Arc;

use crate::error::Result;
use crate::measurement::Estimate;
use crate::oracle::{ModelBased, Respond, Response};
use crate::player::{FullyCorrective, Player, Weights, aim};
use crate::policy::{AnyPolicy, Mixed};
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::state::{Checkpoint, Loader, Saver};
use crate::vector;

/// Episodes of a game's mixture.
const EPISODES: f64 = 12.0;
/// Those of each of its policies at least; what carries less weight than one of them is left out.
const LEAST: usize = 2;
/// Episodes of the best mixture, so that what carries weight in it is not there by luck, and how many more with every game:
/// the more there is to choose from, the luckier are the best.
const ENOUGH: f64 = 36.0;
const MORE_ENOUGH: f64 = 6.0;
/// The weight of a new game beside what has been measured.
const NEW: f64 = 1.0 / 3.0;
/// Answers that are asked for, one after the other, to what keeps the best mixture from lying deeper, and episodes of each.
const ANSWERS: usize = 3;
const OF_ANSWER: usize = 8;
/// Standard errors of so many episodes by which a mixture of what was measured is to keep away from the set's edge before it
/// is worth confirming, how they grow each time fresh episodes do not, and the most of them.
const MARGIN: f64 = 1.75;
const JUDGED: f64 = 50.0;
const MORE: f64 = 1.5;
const MOST: f64 = 4.0;
/// By so many standard errors more is tried, as long as they can be kept.
const STEP: f64 = 0.25;
/// Answers that are kept, whether they carry weight or not.
const KEPT: usize = 128;

/// Policies that were played in the world, with what they measured there, and the mixture of them that lies deepest in the
/// set or comes closest to it. What a model predicts of a policy may be off; what was measured is not, but for its noise.
#[derive(Clone)]
pub(super) struct Measured {
    answers: Vec<(Mixed, Estimate)>,
    /// The best mixture, by the numbers of its answers.
    weights: Vec<(usize, f64)>,
    margin: f64,
    games: usize,
}

impl Measured {
    /// Nothing is measured yet.
    pub fn new() -> Self {
        Self { answers: Vec::new(), weights: Vec::new(), margin: MARGIN, games: 0 }
    }

    pub fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Keeps further away from the set's edge from now on.
    pub fn increase_margin(&mut self) {
        self.margin = (MORE * self.margin).min(MOST);
    }

    /// Takes what fresh episodes measured of a mixture, and did not confirm. Where it was mixed here, it was too close to the
    /// edge.
    pub fn take(&mut self, mixture: &Mixed, fresh: Estimate) {
        if !self.is_empty() {
            self.increase_margin();
        }
        self.weights = vec![(self.answers.len(), 1.0)];
        self.answers.push((mixture.clone(), fresh));
    }

    /// Plays the policies of a game, and the model's answers to what they lack, and mixes all that was measured anew. Whether
    /// the mixture keeps its margin.
    pub fn play(
        &mut self,
        game: &Mixed,
        set: &SharedSet,
        model: &mut dyn ModelBased,
        tolerance: f64,
    ) -> Result<bool> {
        for (weight, policy) in game.parts().iter().filter(|(weight, _)| weight * EPISODES >= 1.0) {
            let episodes = ((weight * EPISODES).ceil() as usize).max(LEAST);
            self.measure(Mixed::shared(Arc::clone(policy)), episodes, model)?;
        }
        let differences = model.deviations(game)?;
        let mut lacking = self.weigh(set, &differences, tolerance)?.1;
        for _ in 0..ANSWERS {
            let Some(lam) = lacking else { break };
            model.prepare(&lam)?;
            let answer = model.oracle()?.respond(&lam, 0.0)?.policy;
            self.measure(answer, OF_ANSWER, model)?;
            // Where the last answer changed nothing, the next would be the same.
            lacking = self.weigh(set, &differences, tolerance)?.1.filter(|now| *now != lam);
        }
        let enough = ENOUGH + MORE_ENOUGH * self.games as f64;
        self.games += 1;
        for (answer, weight) in self.weights.clone() {
            let (policy, estimate) = &mut self.answers[answer];
            let lacking = (enough * weight).ceil() - estimate.count() as f64;
            if lacking > 0.0 {
                model.measure(policy, lacking as usize, estimate)?;
            }
        }
        let (depth, _) = self.weigh(set, &differences, tolerance)?;
        self.forget();
        Ok(depth >= self.margin)
    }

    /// Takes what episodes of a policy measure.
    fn measure(&mut self, policy: Mixed, episodes: usize, model: &mut dyn ModelBased) -> Result<()> {
        let mut estimate = Estimate::new(self.answers.first().map_or(0, |(_, estimate)| estimate.dim()));
        model.measure(&policy, episodes, &mut estimate)?;
        if estimate.count() > 0 {
            self.answers.push((policy, estimate));
        }
        Ok(())
    }

    /// Lets go of the oldest answers without weight where there are too many.
    fn forget(&mut self) {
        let weight_of = |number: usize| self.weights.iter().find(|(answer, _)| *answer == number);
        let mut excess = self.answers.len().saturating_sub(KEPT);
        let (mut kept, mut weights) = (Vec::new(), Vec::new());
        for (number, answer) in std::mem::take(&mut self.answers).into_iter().enumerate() {
            match weight_of(number) {
                Some((_, weight)) => weights.push((kept.len(), *weight)),
                None if excess > 0 => {
                    excess -= 1;
                    continue;
                }
                None => {}
            }
            kept.push(answer);
        }
        (self.answers, self.weights) = (kept, weights);
    }

    /// Mixes what was measured so that it lies as deep in the set as it can, where episodes differ by so much, or else so that
    /// it comes closest. How many standard errors deep that is, and the λ of what keeps it from lying deeper.
    fn weigh(
        &mut self,
        set: &SharedSet,
        differences: &[f64],
        tolerance: f64,
    ) -> Result<(f64, Option<Vec<f64>>)> {
        let mut reached = f64::NEG_INFINITY;
        for depth in (0..=(MOST / STEP) as usize).map(|step| STEP * step as f64) {
            let error = |difference: &f64| depth * difference / JUDGED.sqrt();
            let aim = aim(set, &self.z(), &Errors::Standard(differences.iter().map(error).collect()));
            let mut player = FullyCorrective::new(Arc::clone(&aim));
            for (_, estimate) in &self.answers {
                player.observe(estimate.mean(), None)?;
            }
            let Weights::Listed(weights) = player.weights() else { break };
            let is_kept = aim.distance(&self.mean(&weights)) <= tolerance;
            if is_kept || depth == 0.0 {
                self.weights = weights;
            }
            if !is_kept {
                return Ok((reached, Some(player.decision().lam.clone())));
            }
            reached = depth;
        }
        Ok((reached, None))
    }

    fn mean(&self, weights: &[(usize, f64)]) -> Vec<f64> {
        let dim = self.answers.first().map_or(0, |(_, estimate)| estimate.dim());
        let mut mean = vec![0.0; dim];
        for (answer, weight) in weights {
            vector::add_scaled(&mut mean, *weight, self.answers[*answer].1.mean());
        }
        mean
    }

    /// What the best mixture measured.
    pub fn z(&self) -> Vec<f64> {
        self.mean(&self.weights)
    }

    /// The best mixture.
    pub fn mixture(&self) -> Mixed {
        Mixed::flatten(self.weights.iter().map(|(answer, weight)| (*weight, self.answers[*answer].0.clone())))
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&self.answers);
        to.put(&self.weights);
        to.put(&self.margin);
        to.put(&self.games);
    }

    pub fn load(from: &mut Loader, dim: usize, fits: &dyn Fn(&AnyPolicy) -> bool) -> Result<Self> {
        let is_own = |(mixture, estimate): &(Mixed, Estimate)| {
            let mut policies = mixture.parts().iter();
            policies.all(|(_, policy)| fits(policy)) && estimate.dim() == dim && estimate.count() > 0
        };
        let is_measured = |answers: &Vec<_>| answers.iter().all(is_own);
        let answers: Vec<(Mixed, Estimate)> = from.get_where("what was measured", is_measured)?;
        let is_mixture = |weights: &Vec<(usize, f64)>| {
            let total: f64 = weights.iter().map(|(_, weight)| weight).sum();
            let are_shares = weights.iter().all(|(answer, weight)| *answer < answers.len() && *weight >= 0.0);
            are_shares && (total - if answers.is_empty() { 0.0 } else { 1.0 }).abs() < 1e-6
        };
        let weights = from.get_where("weights of what was measured", is_mixture)?;
        let margin = from.get_where("a margin", |margin: &f64| (MARGIN..=MOST).contains(margin))?;
        let games = from.get_count("a number of games")?;
        Ok(Self { answers, weights, margin, games })
    }
}

/// An oracle whose answers are mixed with what has been measured: a game against it looks for what is missing there.
pub(super) struct Beside<'a> {
    pub oracle: &'a mut dyn Respond,
    pub z: &'a [f64],
}

impl Checkpoint for Beside<'_> {}

impl Respond for Beside<'_> {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        let mut response = self.oracle.respond(lam, offset)?;
        for (predicted, measured) in response.z_hat.iter_mut().zip(self.z) {
            *predicted = NEW * *predicted + (1.0 - NEW) * measured;
        }
        Ok(response)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::TabularPolicy;
    use crate::set::{Bounds, Product};

    fn answer(z: &[f64]) -> (Mixed, Estimate) {
        let mut estimate = Estimate::new(z.len());
        estimate.add(z);
        (Mixed::one(TabularPolicy::uniform(1, 1)), estimate)
    }

    /// Long searches kept every network that they had ever played.
    #[test]
    fn what_carries_weight_is_kept_and_the_newest_besides() {
        let answers = (0..KEPT + 50).map(|number| answer(&[number as f64])).collect();
        let mut measured =
            Measured { answers, weights: vec![(3, 0.25), (60, 0.75)], margin: MARGIN, games: 0 };
        let (z, mixture) = (measured.z(), measured.mixture());
        measured.forget();
        assert_eq!(measured.answers.len(), KEPT);
        assert_eq!(measured.z(), z);
        assert!(measured.mixture().is_same(&mixture));
        assert_eq!(measured.answers[0].1.mean(), [3.0]);
        assert_eq!(measured.answers[KEPT - 1].1.mean(), [(KEPT + 49) as f64]);
    }

    /// Where no mixture keeps away from the edge of one constraint, another was given up for it that could have been held.
    #[test]
    fn a_margin_that_is_out_of_reach_costs_no_constraint() {
        let limit = |most: f64| Arc::new(Bounds::at_most(most).unwrap()) as SharedSet;
        let set: SharedSet = Arc::new(Product::new(vec![limit(0.2), limit(0.12)]));
        let answers = vec![answer(&[0.05, 0.20]), answer(&[0.25, 0.05])];
        let mut measured = Measured { answers, weights: vec![(0, 1.0)], margin: MARGIN, games: 0 };
        // 0.12 of the second constraint leaves 0.157 of the first. A standard error is 0.064 of it: 0.68 of one can be kept.
        let (depth, lacking) = measured.weigh(&set, &[0.45, 0.0], 1e-9).unwrap();
        assert_eq!(depth, 0.5);
        assert!(set.contains(&measured.z(), 1e-9), "{:?}", measured.z());
        // Both bounds are asked for.
        assert!(lacking.is_some_and(|lam| lam.iter().all(|entry| *entry > 0.0)));
        // More of smaller ones can be kept, and are.
        let (depth, _) = measured.weigh(&set, &[0.1, 0.0], 1e-9).unwrap();
        assert_eq!(depth, 3.0);
        assert!(measured.z()[0] <= 0.2 - depth * 0.1 / JUDGED.sqrt() + 1e-9, "{:?}", measured.z());
    }
}
