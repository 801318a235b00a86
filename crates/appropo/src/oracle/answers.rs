//! What a learner was asked and what it answered: where to go on from, and what to learn for.

use crate::measurement::{Estimate, Spread};
use crate::policy::Mixed;
use crate::vector;

/// The least cosine of the angle between two λ that ask for about the same.
const ALIKE: f64 = 0.95;

/// A question that was answered.
#[derive(Debug)]
pub(super) struct Answered {
    pub lam: Vec<f64>,
    pub policy: Mixed,
    pub estimate: Estimate,
    /// How many episodes of the estimate have been told.
    pub told: usize,
}

impl Answered {
    /// What the policy pays λ, and the variance of that estimate.
    fn payoff(&self, lam: &[f64]) -> (f64, f64) {
        let (mean, spread) = self.estimate.with_spread();
        let variance: f64 = lam.iter().zip(&spread.deviations).map(|(l, d)| (l * d) * (l * d)).sum();
        (vector::dot(lam, &mean), variance / spread.episodes)
    }

    /// The cosine of the angle between two questions.
    fn likeness(&self, lam: &[f64]) -> f64 {
        vector::dot(lam, &self.lam) / (vector::norm(lam) * vector::norm(&self.lam)).max(f64::MIN_POSITIVE)
    }

    /// The estimate, where it is known better than when it was last told.
    pub fn news(&mut self) -> Option<(Vec<f64>, Spread)> {
        let is_new = self.estimate.count() > self.told;
        self.told = self.estimate.count();
        is_new.then(|| self.estimate.with_spread())
    }
}

/// All questions that were answered, in order.
#[derive(Debug, Default)]
pub(super) struct Answers(pub Vec<Answered>);

impl Answers {
    /// Where the answer of this policy stands.
    pub fn place(&self, policy: &Mixed) -> Option<usize> {
        self.0.iter().position(|answer| answer.policy.is_same(policy))
    }

    /// How many answers in a row to questions like this were no better than the best before.
    pub fn failures(&self, lam: &[f64]) -> usize {
        let (mut best, mut failures) = (f64::INFINITY, 0);
        for answer in &self.0 {
            let payoff = vector::dot(lam, answer.estimate.mean());
            if payoff < best {
                (best, failures) = (payoff, 0);
            } else if answer.likeness(lam) > ALIKE {
                failures += 1;
            }
        }
        failures
    }

    /// The answer that serves λ best, and of those that may be as good, that to the question most like it; `None` where it
    /// is the last one.
    pub fn best(&self, lam: &[f64]) -> Option<&Mixed> {
        let payoff = |answer: &Answered| answer.payoff(lam);
        let best = self.0.iter().map(payoff).reduce(|a, b| if b.0 < a.0 { b } else { a })?;
        let may_be_best = |answer: &&Answered| {
            let (mean, variance) = payoff(answer);
            mean <= best.0 + (variance + best.1).sqrt()
        };
        let likeness = |answer: &&Answered| answer.likeness(lam);
        let found = self.0.iter().filter(may_be_best).max_by(|a, b| likeness(a).total_cmp(&likeness(b)))?;
        let is_last = self.0.last().is_some_and(|last| std::ptr::eq(last, found));
        (!is_last).then_some(&found.policy)
    }

    /// What to learn for: λ, and this share of what else was asked last, half of it of what was asked before, and so on,
    /// each in units of what it varies by. A constraint that holds just now is not forgotten for another, and where λ alone
    /// pays the same for all that was ever done, what was asked before leads on.
    pub fn lesson(&self, lam: &[f64], mut share: f64) -> Vec<f64> {
        let unit = self.deviation(lam);
        let mut lesson = lam.to_vec();
        vector::scale(&mut lesson, 1.0 / unit.unwrap_or(vector::norm(lam)));
        let mut asked = vec![lam];
        for answer in self.0.iter().rev() {
            if share == 0.0 || asked.iter().any(|lam| answer.likeness(lam) > ALIKE) {
                continue;
            }
            let Some(deviation) = self.deviation(&answer.lam) else { continue };
            asked.push(&answer.lam);
            // Of what does not vary the unit is not known.
            let unit = if unit.is_some() { deviation } else { vector::norm(&answer.lam) };
            vector::add_scaled(&mut lesson, share / unit, &answer.lam);
            share *= 0.5;
        }
        let length = vector::norm(&lesson).max(f64::MIN_POSITIVE);
        vector::scale(&mut lesson, 1.0 / length);
        lesson
    }

    /// How much what episodes pay λ varies, within answers and between them; `None` where it does not.
    fn deviation(&self, lam: &[f64]) -> Option<f64> {
        let mut means = Estimate::new(1);
        let mut variance = 0.0;
        for answer in &self.0 {
            let (mean, of_mean) = answer.payoff(lam);
            means.add(&[mean]);
            variance += of_mean * answer.estimate.count() as f64;
        }
        let count = self.0.len() as f64;
        Some(((variance + means.squares(0)) / count).sqrt()).filter(|deviation| *deviation > 0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::TabularPolicy;

    fn answered(lam: [f64; 2], episodes: [[f64; 2]; 2]) -> Answered {
        let mut estimate = Estimate::new(2);
        episodes.iter().for_each(|episode| estimate.add(episode));
        let policy = Mixed::one(TabularPolicy::uniform(1, 1));
        Answered { lam: lam.to_vec(), policy, estimate, told: 2 }
    }

    /// Where every episode paid λ the same, learning for it alone taught nothing and forgot the rest.
    #[test]
    fn what_was_asked_before_leads_on_where_lambda_says_nothing() {
        let answers = Answers(vec![answered([0.0, 1.0], [[1.0, -10.0], [1.0, 10.0]])]);
        let lesson = answers.lesson(&[1.0, 0.0], 0.5);
        assert!(vector::distance(&lesson, &[0.8f64.sqrt(), 0.2f64.sqrt()]) < 1e-12, "{lesson:?}");
        assert_eq!(answers.lesson(&[0.0, 1.0], 0.5), [0.0, 1.0], "nothing else was asked before");
    }

    /// Half the weight is half of what returns vary by, whatever the units and however often it was asked.
    #[test]
    fn what_was_asked_before_counts_half() {
        let asked = [[0.0, 1.0], [0.0, 1.0], [1.0, 0.0]];
        let answers = Answers(asked.map(|lam| answered(lam, [[0.0, -10.0], [1.0, 10.0]])).into());
        let lesson = answers.lesson(&[1.0, 0.0], 0.5);
        let units = [[1.0, 0.0], [0.0, 1.0]].map(|lam| answers.deviation(&lam).unwrap());
        assert!((lesson[1] * units[1] - 0.5 * lesson[0] * units[0]).abs() < 1e-12, "{lesson:?}");
        assert_eq!(answers.lesson(&[1.0, 0.0], 0.0), [1.0, 0.0], "it has no share");
    }
}
