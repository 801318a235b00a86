use std::ops::Range;

use super::StopRule;
use super::lagrangian::DualAscent;
use super::maximize::share;
use super::multipliers::{Multipliers, Pace};
use crate::error::Result;
use crate::oracle::Respond;
use crate::set::SharedSet;
use crate::state::{Loader, Saver};
use crate::vector;

/// The shares of the samples between which a learner is not asked about λ but goes on by itself, and its answers meanwhile.
/// One that is asked about one extreme after the other is soon safe, but may learn to stand still, which is hard to leave
/// again; one that goes on by itself moves on, but is not always safe in the end. The master problem has the answers of both.
pub(super) const LEADING: Range<f64> = 0.1..0.75;
const LEADS: u64 = 40;
/// How the multipliers move.
const PACE: Pace = Pace::Pid { kp: 0.0, ki: 2.0, kd: 0.0 };

/// A learner that goes on by itself: for a fourth of the time it follows multipliers, for another it takes steps within a
/// trust region, where it can, and from then on whatever the prices in force favour.
pub(super) struct Lead {
    pub ascents: [DualAscent; 2],
    /// What the last answer of each measures.
    pub last: [Option<Vec<f64>>; 2],
    /// Whose turn it is.
    now: Option<usize>,
    /// Whether an answer is under way: then it stays so.
    pub is_open: bool,
}

const MULTIPLIERS: usize = 0;
const TRUST_REGION: usize = 1;

impl Lead {
    pub fn new(constraints: &SharedSet, rule: &StopRule) -> Self {
        let ascent = |pace: Pace| {
            let multipliers = Multipliers::new(constraints, true, pace);
            DualAscent::new(multipliers, share(LEADING.end - LEADING.start, rule), LEADS)
        };
        Self { ascents: [ascent(PACE), ascent(Pace::Still)], last: [None, None], now: None, is_open: false }
    }

    /// Whose turn it is, who then plays.
    pub fn turn(&mut self, lam: &[f64], oracle: &mut dyn Respond, rule: &StopRule) -> Result<usize> {
        if let (Some(now), true) = (self.now, self.is_open) {
            return Ok(now);
        }
        self.is_open = true;
        let fourths = 4.0 * (oracle.samples() as f64 / rule.samples as f64 - LEADING.start)
            / (LEADING.end - LEADING.start);
        let wanted = match fourths {
            ..1.0 => MULTIPLIERS,
            ..2.0 => TRUST_REGION,
            _ => self.favoured(lam),
        };
        if let (Some(learner), false) = (oracle.following(), self.now == Some(wanted)) {
            let can_lead = learner.lead(wanted == TRUST_REGION);
            let next = if can_lead { wanted } else { MULTIPLIERS };
            if self.now != Some(next) {
                self.ascents[next].go_on(oracle)?;
            }
            self.now = Some(next);
        }
        Ok(self.now.unwrap_or(MULTIPLIERS))
    }

    /// Whose last answer serves λ best.
    fn favoured(&self, lam: &[f64]) -> usize {
        let payoff =
            |ascent: usize| self.last[ascent].as_ref().map_or(f64::INFINITY, |z| vector::dot(lam, z));
        if payoff(TRUST_REGION) < payoff(MULTIPLIERS) { TRUST_REGION } else { MULTIPLIERS }
    }

    pub fn save(&self, to: &mut Saver) {
        self.ascents.iter().for_each(|ascent| ascent.save(to));
        to.put_all(&self.last);
        to.put(&self.now);
        to.put(&self.is_open);
    }

    pub fn load(&mut self, from: &mut Loader, dim: usize) -> Result<()> {
        self.ascents.iter_mut().try_for_each(|ascent| ascent.load(from))?;
        let is_number = |z: &Option<Vec<f64>>| {
            z.as_ref().is_none_or(|z| z.len() == dim && z.iter().all(|v| v.is_finite()))
        };
        for last in &mut self.last {
            *last = from.get_where("what an answer measures", is_number)?;
        }
        self.now = from.get_where("whose turn it is", |now: &Option<usize>| now.is_none_or(|now| now < 2))?;
        self.is_open = from.get()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::measurement::Estimate;
    use crate::oracle::{Follow, Response};
    use crate::policy::{Mixed, TabularPolicy};
    use crate::set::Bounds;
    use crate::state::Checkpoint;

    /// A learner with a leader, after so many samples.
    struct Stub(u64);

    impl Checkpoint for Stub {}

    impl Respond for Stub {
        fn respond(&mut self, _: &[f64], _: f64) -> Result<Response> {
            Ok(self.answer(&[]))
        }

        fn following(&mut self) -> Option<&mut dyn Follow> {
            Some(self)
        }

        fn samples(&self) -> u64 {
            self.0
        }
    }

    impl Follow for Stub {
        fn follow(&mut self, _: &[f64]) -> Result<Option<Estimate>> {
            Ok(None)
        }

        fn start_afresh(&mut self) {}

        fn lead(&mut self, _: bool) -> bool {
            true
        }

        fn players(&self) -> (Mixed, Estimate) {
            (Mixed::one(TabularPolicy::uniform(1, 1)), Estimate::new(2))
        }

        fn answer(&mut self, _: &[f64]) -> Response {
            let (policy, estimate) = self.players();
            Response { policy, z_hat: estimate.mean().to_vec(), spread: None, bound: None, gave_up: false }
        }
    }

    /// Turns change between answers, never in the middle of one, also where it is taken up again; in the end the prices decide.
    #[test]
    fn an_answer_is_ended_by_who_began_it() {
        let set: SharedSet = Arc::new(Bounds::at_most(1.0).unwrap());
        let rule = StopRule::default().samples(1000_u64);
        let mut lead = Lead::new(&set, &rule);
        let lam = [1.0, -1.0];
        assert_eq!(lead.turn(&lam, &mut Stub(150), &rule).unwrap(), MULTIPLIERS);
        let mut saver = Saver::default();
        lead.save(&mut saver);
        let mut again = Lead::new(&set, &rule);
        again.load(&mut Loader::new(&saver.into_bytes()), 2).unwrap();
        for lead in [&mut lead, &mut again] {
            let mut turn = |samples: u64| lead.turn(&lam, &mut Stub(samples), &rule).unwrap();
            assert_eq!(turn(300), MULTIPLIERS, "it is open");
            lead.is_open = false;
            assert_eq!(lead.turn(&lam, &mut Stub(300), &rule).unwrap(), TRUST_REGION);
            for (last, expected) in [(0.5, TRUST_REGION), (3.0, MULTIPLIERS)] {
                lead.is_open = false;
                lead.last = [Some(vec![2.0, 1.0]), Some(vec![last, 1.0])];
                assert_eq!(lead.turn(&lam, &mut Stub(600), &rule).unwrap(), expected);
            }
        }
    }
}
