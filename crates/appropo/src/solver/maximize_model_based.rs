use std::time::Duration;

use super::maximize::{Confirmed, value_of};
use super::model_based::{AIMS, Depth, GAME, MakePlayer};
use super::{Maximum, Observer, Round, Stop, StopRule, maximize, with_free_objective};
use crate::certificate::{Certificate, Evidence, Verdict};
use crate::error::Result;
use crate::oracle::ModelBased;
use crate::player::aim;
use crate::policy::Mixed;
use crate::set::{ConvexSet, Errors, SharedSet, holds};
use crate::state::{Loader, Saver};

/// [`maximize`] in a model that is learnt on the way.
///
/// The maximum is found in the model, which costs no samples, for an aim inside the set. If the model confirms that its
/// mixture lies in the set, it is kept as the best so far and the next aim is less deep, else deeper. Then the mixture is
/// played in the world, or what is new is tried, until there are 2% more samples, and the model has become better.
///
/// It ends with the budget, or once there is nothing left to gain: while the samples doubled, the model's own maximum over
/// all of the set moved by less than 0.5% of its size, and what was confirmed comes that close to it.
pub fn maximize_model_based(
    set: &SharedSet,
    player: &MakePlayer,
    model: &mut dyn ModelBased,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Maximum> {
    let (free, progress) = (with_free_objective(set)?, Progress::new(set));
    Search { set, free, player, model, rule, progress }.run(observer)
}

/// [`maximize_model_based`] from where [`Round::state`] was taken, with a model that was made as it was then.
pub fn resume_maximize_model_based(
    set: &SharedSet,
    player: &MakePlayer,
    model: &mut dyn ModelBased,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: &[u8],
) -> Result<Maximum> {
    let mut loader = Loader::new(state);
    let progress = Progress::load(&mut loader, set, model)?;
    model.load(&mut loader)?;
    loader.finish()?;
    let free = with_free_objective(set)?;
    Search { set, free, player, model, rule, progress }.run(observer)
}

/// By how much samples grow before the model's maximum is looked for again.
const GROWTH: f64 = 0.02;
/// Changes of the objective up to this, relative to its size, are none.
const SETTLED: f64 = 0.005;
/// Standard deviations of the posterior by which a mixture must keep away from the set's edge: a maximum lies at the edge,
/// and plans seek out what the model takes for better than it is.
const SURE: f64 = 3.0;
/// The part of the samples that mixtures are played for, once there are any worth playing; the rest tries what is new.
const ROLLOUTS: f64 = 0.75;
/// How the depth of the aim changes after a mixture was confirmed.
const LESS: f64 = 0.8;

struct Search<'a> {
    set: &'a SharedSet,
    /// The set with the objective as a free last entry.
    free: SharedSet,
    player: &'a MakePlayer<'a>,
    model: &'a mut dyn ModelBased,
    rule: &'a StopRule,
    progress: Progress,
}

impl Search<'_> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<Maximum> {
        self.rule.check()?;
        loop {
            let before = self.progress.clone();
            self.progress.rounds += 1;
            let found = self.deepest()?;
            *(if found.top.is_some() { &mut self.progress.won } else { &mut self.progress.lost }) += 1;
            // Confirming may play episodes: saved before, so that the same ones follow when it is taken up again.
            let state = found.top.map(|_| self.state(&before));
            let stop = self.reason_to_stop(&found).unwrap_or_else(|error| Some(Stop::Failed(error)));
            let state = || state.clone().unwrap_or_else(|| self.state(&before));
            let stop = match self.show(&found, &state, observer) {
                Ok(true) => stop,
                Ok(false) => Some(stop.unwrap_or(Stop::Observer)),
                Err(error) => Some(Stop::Failed(error)),
            };
            let stop = stop.or_else(|| self.sample(&found.mixture).err().map(Stop::Failed));
            if let Some(stop) = stop {
                return Ok(self.maximum(found, stop));
            }
        }
    }

    fn reason_to_stop(&mut self, found: &Found) -> Result<Option<Stop>> {
        if let Some(top) = found.top {
            self.confirm(found)?;
            if self.is_settled(top) {
                return Ok(Some(Stop::Reached));
            }
        }
        let stop = if self.model.is_spent() {
            Stop::Samples
        } else if self.progress.rounds >= self.rule.rounds {
            Stop::Rounds
        } else {
            return Ok(None);
        };
        // What the last samples said may have left nothing that is confirmed.
        for _ in 0..AIMS {
            if found.top.is_none() || self.progress.best.is_some() {
                break;
            }
            let deeper = self.deepest()?;
            self.confirm(&deeper)?;
        }
        Ok(Some(stop))
    }

    /// Keeps the mixture if it is surely feasible, and better than the best so far as that looks by now.
    fn confirm(&mut self, found: &Found) -> Result<()> {
        if let Some(best) = self.progress.best.take() {
            // What fresh episodes said stays true; what the model said may not.
            let z = match self.model.posterior(&best.mixture)? {
                Some(posterior) => self.sure(posterior),
                None => Some(best.z),
            };
            self.progress.best = z.map(|z| Confirmed { z, ..best });
        }
        let is_better = |z: &[f64], best: &Confirmed| value_of(z) > value_of(&best.z);
        if self.progress.best.as_ref().is_some_and(|best| !is_better(&found.z_bar, best)) {
            // What the model has learnt lately may allow for less depth.
            self.progress.depth.scale(LESS);
            return Ok(());
        }
        let z = match self.model.posterior(&found.mixture)? {
            Some(posterior) => self.sure(posterior),
            None => self.model.confirm(&found.mixture, &self.free, self.rule.tolerance)?,
        };
        let progress = &mut self.progress;
        match z {
            None => progress.depth.deepen(),
            Some(z) => {
                progress.depth.scale(LESS);
                if progress.best.as_ref().is_none_or(|best| is_better(&z, best)) {
                    progress.best = Some(Confirmed { mixture: found.mixture.clone(), z, error: 0.0 });
                }
            }
        }
        Ok(())
    }

    /// The mean of a posterior, if it keeps away from the set's edge.
    fn sure(&self, (mean, deviations): (Vec<f64>, Vec<f64>)) -> Option<Vec<f64>> {
        let errors = Errors::Standard(deviations.into_iter().map(|deviation| SURE * deviation).collect());
        holds(&self.free, &mean, &errors, self.rule.tolerance).then_some(mean)
    }

    /// Whether nothing is left to gain: the model's maximum has not changed, and the best so far is as good.
    fn is_settled(&mut self, top: f64) -> bool {
        let (samples, close) = (self.model.samples(), SETTLED * top.abs().max(f64::MIN_POSITIVE));
        let (before, since) = self.progress.settled;
        if !((top - before).abs() <= close) {
            self.progress.settled = (top, samples);
            return false;
        }
        let is_close = self.progress.best.as_ref().is_some_and(|best| top - value_of(&best.z) <= close);
        is_close && samples >= since.saturating_mul(2)
    }

    /// Plays in the world to make the model better.
    fn sample(&mut self, mixture: &Mixed) -> Result<()> {
        let before = self.model.samples();
        let enough = before.saturating_add((GROWTH * before as f64) as u64);
        loop {
            let (samples, progress) = (self.model.samples(), &mut self.progress);
            if progress.won < progress.lost || progress.rollouts as f64 > ROLLOUTS * samples as f64 {
                self.model.explore()?;
            } else {
                self.model.rollout(mixture)?;
                progress.rollouts += self.model.samples() - samples;
            }
            if self.model.samples() > enough || self.model.is_spent() || self.model.samples() == samples {
                return Ok(());
            }
        }
    }

    /// The state before a game: games cost no samples, so they are played again.
    fn state(&self, before: &Progress) -> Result<(usize, Vec<u8>)> {
        let mut saver = Saver::default();
        before.save(&mut saver);
        self.model.save(&mut saver)?;
        Ok((before.rounds, saver.into_bytes()))
    }

    fn show(
        &self,
        found: &Found,
        state: &dyn Fn() -> Result<(usize, Vec<u8>)>,
        observer: &mut dyn Observer,
    ) -> Result<bool> {
        let now = Round {
            round: self.progress.rounds,
            lam: &found.lam,
            z_hat: &found.z_bar,
            z_bar: &found.z_bar,
            distance: self.free.distance(&found.z_bar),
            lower_bound: 0.0,
            samples: self.model.samples(),
            objective: self.progress.best.as_ref().map(|best| value_of(&best.z)),
            responding: Duration::ZERO,
            mixture: &|| found.mixture.clone(),
            state,
        };
        Ok(observer.round(&now)?.is_continue())
    }

    fn maximum(&mut self, found: Found, stop: Stop) -> Maximum {
        let best = self.progress.best.take();
        let value = best.as_ref().map(|best| value_of(&best.z));
        let (mixture, z_bar) = best.map_or((found.mixture, found.z_bar), |best| (best.mixture, best.z));
        let distance = self.free.distance(&z_bar);
        let certificate = Evidence::default().certificate(z_bar, distance, self.rule.tolerance);
        Maximum {
            value,
            upper_bound: f64::INFINITY,
            ceiling: None,
            mixture,
            // What holds in the model is no claim about the world.
            certificate: Certificate { verdict: Verdict::Undecided, ..certificate },
            rounds: self.progress.rounds,
            oracle_calls: self.progress.rounds,
            samples: self.model.samples(),
            stop,
        }
    }

    /// The maximum over a set in the model, and whether there is one.
    fn play(&mut self, target: &SharedSet) -> Result<(bool, Found)> {
        let mut player = (self.player)(&with_free_objective(target)?)?;
        let rule = StopRule { rounds: self.rule.rounds.min(GAME), ..*self.rule };
        let maximum = maximize(target, player.as_mut(), self.model.oracle()?, &rule, &mut ())?;
        if let Stop::Failed(error) = maximum.stop {
            return Err(error);
        }
        let lam = player.decision().lam.clone();
        let found = Found { mixture: maximum.mixture, z_bar: maximum.certificate.z_bar, lam, top: None };
        Ok((maximum.value.is_some(), found))
    }

    /// Maxima over ever less deep aims, until there is one; that over the set itself where no aim has any.
    fn deepest(&mut self) -> Result<Found> {
        let (is_feasible, shallow) = self.play(self.set)?;
        if !is_feasible {
            return Ok(shallow);
        }
        let (top, dim) = (Some(value_of(&shallow.z_bar)), self.set.dim());
        let deviations = self.model.deviations()[..dim].to_vec();
        if deviations.iter().all(|deviation| deviation.is_finite()) {
            for _ in 0..AIMS {
                let errors = Errors::AtMost(self.progress.depth.errors(&deviations));
                let (is_feasible, deep) = self.play(&aim(self.set, &shallow.z_bar[..dim], &errors))?;
                if is_feasible {
                    return Ok(Found { top, ..deep });
                }
                self.progress.depth.loosen(&deep.lam[..dim], &deviations);
            }
        }
        Ok(Found { top, ..shallow })
    }
}

/// What was found in the model.
struct Found {
    mixture: Mixed,
    z_bar: Vec<f64>,
    lam: Vec<f64>,
    /// The model's maximum over all of the set; `None` where it is infeasible in the model.
    top: Option<f64>,
}

/// How far the search has come.
#[derive(Clone)]
struct Progress {
    rounds: usize,
    won: usize,
    lost: usize,
    /// Steps taken by rollouts.
    rollouts: u64,
    depth: Depth,
    /// The best mixture that was confirmed.
    best: Option<Confirmed>,
    /// The model's maximum when it last moved, and after how many samples that was.
    settled: (f64, u64),
}

impl Progress {
    fn new(set: &SharedSet) -> Self {
        let settled = (f64::NEG_INFINITY, 0);
        Self { rounds: 0, won: 0, lost: 0, rollouts: 0, depth: Depth::of(set), best: None, settled }
    }

    fn save(&self, to: &mut Saver) {
        to.put(&(self.rounds, (self.won, self.lost)));
        to.put(&self.rollouts);
        to.put_all(&self.depth.shares);
        to.put(&self.best);
        to.put(&self.settled);
    }

    fn load(from: &mut Loader, set: &SharedSet, model: &dyn ModelBased) -> Result<Self> {
        let mut progress = Self::new(set);
        for count in [&mut progress.rounds, &mut progress.won, &mut progress.lost] {
            *count = from.get_count("a number of games")?;
        }
        progress.rollouts = from.get_where("a number of steps", |steps: &u64| *steps < u64::MAX / 2)?;
        for share in &mut progress.depth.shares {
            *share = from.get_where("a depth", |share: &f64| *share >= 0.0 && share.is_finite())?;
        }
        progress.best = Confirmed::load(from, set.dim() + 1, &|policy| model.fits(policy))?;
        progress.settled = from.get_where("a maximum", |(top, _): &(f64, u64)| !top.is_nan())?;
        Ok(progress)
    }
}
