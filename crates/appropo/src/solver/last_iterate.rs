use std::time::{Duration, Instant};

use super::lagrangian::LagrangianTarget;
use super::maximize::Top;
use super::multipliers::{Multipliers, Pace};
use super::record::{code, decode};
use super::{Doubts, Observer, Round, Solution, Stop, StopRule};
use crate::certificate::{Ceiling, Evidence};
use crate::error::{Result, dimension};
use crate::measurement::Spread;
use crate::oracle::PolicyAscent;
use crate::policy::Mixed;
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Checkpoint, Loader, Saver};
use crate::vector;

/// How far a policy and its multipliers move in an iteration. Both are in units of how far apart policies can be.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastIterateSteps {
    /// η of the policy's natural gradients.
    pub policy: f64,
    /// η of the multipliers.
    pub multipliers: f64,
    /// Whether steps also go by what changed since the time before.
    pub is_optimistic: bool,
}

/// Iterations between two looks at what is proved: so many, or this share of those before.
const LOOK: usize = 20;
const LOOK_SHARE: f64 = 0.1;

/// The part of what was missing that must be gone when the iterations have doubled. Else steps were too large, and iterates turn
/// in circles: policy and multipliers begin again from their means since then, which is where the circle's middle is, and
/// the multipliers take half the step.
const PROGRESS: f64 = 0.3;
/// Iterations after which that is asked for the first time.
const SETTLED: usize = 200;

/// One policy in a known model whose last iterate converges: optimistic natural gradients for objective − y·z, optimistic
/// gradients for the multipliers y, at the same time (after Ding, Wei, Zhang and Ribeiro 2023). `state` is where to go on
/// from.
///
/// It ends when the policy holds the constraints and the multipliers prove that none measures more, both up to the
/// tolerance, or when they prove that none holds them. The solution is the policy of the last iteration.
pub fn last_iterate(
    target: &LagrangianTarget,
    steps: LastIterateSteps,
    ascent: &mut PolicyAscent,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: Option<&[u8]>,
) -> Result<(Solution, Option<Ceiling>)> {
    rule.check()?;
    let has_objective = target.set.dim() > target.constraints.dim();
    let LastIterateSteps { policy: eta, multipliers: rate, is_optimistic } = steps;
    let pace = Pace::Optimistic { rate, is_ahead: is_optimistic };
    let mut widths = ascent.widths()?;
    dimension("measurements of the model", widths.deviations.len(), target.set.dim())?;
    // What no policy changes is worth nothing, and nothing can be divided by it.
    if let Some(width) = widths.deviations.last_mut().filter(|width| has_objective && **width <= 0.0) {
        *width = 1.0;
    }
    let unit = if has_objective { widths.deviations[target.constraints.dim()] } else { 1.0 };
    let mut search = Search {
        set: &target.set,
        multipliers: Multipliers::new(&target.constraints, has_objective, pace),
        widths,
        unit,
        steps: LastIterateSteps { policy: eta / unit, ..steps },
        ascent,
        rule,
        has_objective,
        z: Vec::new(),
        rounds: 0,
        look: 1,
        settled: SETTLED,
        missing: f64::INFINITY,
        prices: vec![0.0; target.constraints.dim()],
        since: 0,
        is_circling: false,
        top: Top::default(),
        evidence: Evidence::default(),
        stop: None,
    };
    if let Some(state) = state {
        search.load(state)?;
    }
    let stop = search.run(observer)?;
    search.solution(stop)
}

struct Search<'a> {
    set: &'a SharedSet,
    multipliers: Multipliers,
    /// How far apart policies can be, and the objective's entry of it.
    widths: Spread,
    unit: f64,
    steps: LastIterateSteps,
    ascent: &'a mut PolicyAscent,
    rule: &'a StopRule,
    has_objective: bool,
    /// What the policy measures.
    z: Vec<f64>,
    rounds: usize,
    /// The iterations at which to look at what is proved, and to ask how much is still missing, next.
    look: usize,
    settled: usize,
    missing: f64,
    /// The sum of the multipliers since then, and of how many iterations.
    prices: Vec<f64>,
    since: usize,
    /// Whether they begin again.
    is_circling: bool,
    top: Top,
    evidence: Evidence,
    stop: Option<Stop>,
}

impl Search<'_> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<Stop> {
        let mut responding = Duration::ZERO;
        while self.rounds < self.rule.rounds {
            if let Some(stop) = self.stop.take() {
                return Ok(stop);
            }
            let asked = Instant::now();
            self.advance()?;
            responding += asked.elapsed();
            match self.show(responding, observer) {
                Ok(true) => {}
                Ok(false) => return Ok(self.stop.take().unwrap_or(Stop::Observer)),
                Err(error) => return Ok(Stop::Failed(error)),
            }
        }
        Ok(self.stop.take().unwrap_or(Stop::Rounds))
    }

    /// The next policy with its multipliers, and what they prove.
    fn advance(&mut self) -> Result<()> {
        if std::mem::take(&mut self.is_circling) {
            self.begin_again();
        } else if self.rounds > 0 {
            let lam = self.multipliers.lam();
            self.ascent.step(&lam, self.steps.policy, self.steps.is_optimistic)?;
            self.multipliers.observe(&self.z, &self.widths, 0.0);
        }
        vector::add_scaled(&mut self.prices, 1.0, self.multipliers.prices());
        self.since += 1;
        self.z = self.ascent.measure()?;
        self.rounds += 1;
        if self.rounds >= self.look || self.rounds >= self.rule.rounds {
            self.look = self.rounds + LOOK.max((LOOK_SHARE * self.rounds as f64) as usize);
            self.stop = self.reason_to_stop()?;
        }
        Ok(())
    }

    fn reason_to_stop(&mut self) -> Result<Option<Stop>> {
        let (distance, tolerance) = (self.set.distance(&self.z), self.rule.tolerance);
        let (prices, offset) = (self.multipliers.prices().to_vec(), self.multipliers.offset());
        let mut gap = 0.0;
        if self.has_objective {
            let lam: Vec<f64> = prices.iter().copied().chain([-1.0]).collect();
            self.top.lower_measure(&lam, offset, self.ascent.bound(&lam)?.as_ref());
            gap = (self.top.upper_bound - self.value()).max(0.0);
        }
        if distance <= tolerance && gap <= tolerance {
            return Ok(Some(Stop::Reached));
        }
        if distance > tolerance && vector::norm(&prices) > 0.0 {
            let mut lam = prices;
            lam.resize(self.set.dim(), 0.0);
            if let Some(bound) = self.ascent.bound(&lam)? {
                self.evidence.add(&lam, offset, &bound);
            }
            if self.evidence.lower_bound() > tolerance {
                return Ok(Some(Stop::Refuted));
            }
        }
        if self.rounds >= self.settled {
            let missing = gap / self.unit + distance / vector::norm(&self.widths.deviations);
            // Plain gradients are left as they are.
            self.is_circling = self.steps.is_optimistic && missing > (1.0 - PROGRESS) * self.missing;
            (self.settled, self.missing) = (2 * self.settled, missing);
        }
        Ok(None)
    }

    /// Goes on from the means of the policy and the multipliers.
    fn begin_again(&mut self) {
        vector::scale(&mut self.prices, 1.0 / self.since as f64);
        self.multipliers.restart(&self.prices);
        self.ascent.average();
        self.prices.fill(0.0);
        self.since = 0;
    }

    /// What the objective measures, last.
    fn value(&self) -> f64 {
        self.z.last().copied().unwrap_or(0.0)
    }

    fn show(&self, responding: Duration, observer: &mut dyn Observer) -> Result<bool> {
        let distance = self.set.distance(&self.z);
        let is_held = self.has_objective && distance <= self.rule.tolerance;
        let now = Round {
            round: self.rounds,
            lam: &self.multipliers.lam(),
            z_hat: &self.z,
            z_bar: &self.z,
            distance,
            lower_bound: self.evidence.lower_bound(),
            samples: 0,
            responding,
            objective: is_held.then(|| self.value()),
            // A policy that overflowed is none.
            mixture: &|| self.ascent.policy().unwrap_or_else(|_| Mixed::new([])),
            state: &|| self.state(),
        };
        Ok(observer.round(&now)?.is_continue())
    }

    fn state(&self) -> Result<(usize, Vec<u8>)> {
        let mut saver = Saver::default();
        self.ascent.save(&mut saver)?;
        self.multipliers.save(&mut saver);
        saver.put_all(&self.z);
        saver.put(&(self.rounds, (self.look, self.settled)));
        saver.put(&self.missing);
        saver.put_all(&self.prices);
        saver.put(&(self.since, self.is_circling));
        self.top.save(&mut saver);
        saver.put(&self.evidence);
        saver.put(&self.stop.as_ref().and_then(code));
        Ok((self.rounds, saver.into_bytes()))
    }

    fn load(&mut self, state: &[u8]) -> Result<()> {
        let mut loader = Loader::new(state);
        self.ascent.load(&mut loader)?;
        self.multipliers.load(&mut loader)?;
        self.z = vec![0.0; self.set.dim()];
        loader.get_finite("a measurement", &mut self.z)?;
        let most = usize::MAX / 4;
        let fits = |counts: &(usize, (usize, usize))| {
            (1..most).contains(&counts.0) && counts.1.0 < most && (1..most).contains(&counts.1.1)
        };
        (self.rounds, (self.look, self.settled)) = loader.get_where("a number of iterations", fits)?;
        self.missing = loader.get_where("what is missing", |missing: &f64| *missing >= 0.0)?;
        loader.get_finite("a multiplier", &mut self.prices)?;
        (self.since, self.is_circling) =
            loader.get_where("a number of iterations", |(since, _): &(usize, bool)| *since < most)?;
        self.top = Top::load(&mut loader)?;
        self.evidence = loader.get()?;
        self.stop = loader.get::<Option<u8>>()?.map(decode).transpose()?;
        loader.finish()
    }

    fn solution(self, stop: Stop) -> Result<(Solution, Option<Ceiling>)> {
        let distance = self.set.distance(&self.z);
        let mixture = self.ascent.policy()?;
        let certificate = self.evidence.certificate(self.z, distance, self.rule.tolerance);
        let (rounds, doubts) = (self.rounds, Doubts::default());
        let solution = Solution { mixture, certificate, rounds, samples: 0, doubts, stop };
        Ok((solution, self.top.ceiling))
    }
}
