use super::maximize::Confirmed;
use super::model_based::{AIMS, GAME, Games, MakePlayer, Played, no_claim, show};
use super::{Maximum, Observer, Stop, StopRule, maximize};
use crate::error::Result;
use crate::oracle::{Confirmation, ModelBased};
use crate::player::aim;
use crate::policy::Mixed;
use crate::set::{ConvexSet, Errors, SharedSet, holds};
use crate::state::{Loader, Saver};
use crate::utility::Criterion;

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
    criterion: &Criterion,
    player: &MakePlayer,
    model: &mut dyn ModelBased,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Maximum> {
    let (free, progress) = (criterion.free(set), Progress::new(set));
    Search { set, criterion, free, player, model, rule, progress }.run(observer)
}

/// [`maximize_model_based`] from where [`Round::state`](super::Round::state) was taken, with a model that was made as it
/// was then.
pub fn resume_maximize_model_based(
    set: &SharedSet,
    criterion: &Criterion,
    player: &MakePlayer,
    model: &mut dyn ModelBased,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: &[u8],
) -> Result<Maximum> {
    let mut loader = Loader::new(state);
    let progress = Progress::load(&mut loader, set, criterion, model)?;
    model.load(&mut loader)?;
    loader.finish()?;
    let free = criterion.free(set);
    Search { set, criterion, free, player, model, rule, progress }.run(observer)
}

/// By how much samples grow before the model's maximum is looked for again.
const GROWTH: f64 = 0.02;
/// Changes of the objective up to this, relative to its size, are none.
const SETTLED: f64 = 0.005;
/// Standard deviations of the posterior by which a mixture must keep away from the set's edge: a maximum lies at the edge,
/// and plans seek out what the model takes for better than it is.
const SURE: f64 = 3.0;
/// Confirmed mixtures that are held: if the model changes its mind about the best, the one before may still do.
const HELD: usize = 8;
/// The part of the samples that mixtures are played for, once there are any worth playing; the rest tries what is new.
const ROLLOUTS: f64 = 0.75;
/// How the depth of the aim changes after a mixture was confirmed.
const LESS: f64 = 0.8;

struct Search<'a> {
    set: &'a SharedSet,
    criterion: &'a Criterion,
    /// The set with the entries of the objective after it, which are free.
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
            self.progress.games.rounds += 1;
            let found = self.deepest()?;
            self.progress.games.count(found.top.is_some());
            // Confirming may play episodes: saved before, so that the same ones follow when it is taken up again.
            let state = found.top.map(|_| self.state(&before));
            let stop = self.reason_to_stop(&found).unwrap_or_else(|error| Some(Stop::Failed(error)));
            let state = || state.clone().unwrap_or_else(|| self.state(&before));
            let so_far = (self.progress.games.rounds, self.model.samples());
            let best = self.progress.best().map(|best| self.criterion.value(&best.z));
            let reached = (self.free.distance(&found.game.z_bar), best);
            let stop = match show(&found.game, so_far, reached, &state, observer) {
                Ok(true) => stop,
                Ok(false) => Some(stop.unwrap_or(Stop::Observer)),
                Err(error) => Some(Stop::Failed(error)),
            };
            let stop = stop.or_else(|| self.sample(&found.game.mixture).err().map(Stop::Failed));
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
        } else if self.progress.games.rounds >= self.rule.rounds {
            Stop::Rounds
        } else {
            return Ok(None);
        };
        // What the last samples said may have left nothing that is confirmed.
        for _ in 0..AIMS {
            if found.top.is_none() || self.progress.best().is_some() {
                break;
            }
            let deeper = self.deepest()?;
            self.confirm(&deeper)?;
        }
        Ok(Some(stop))
    }

    /// Keeps the mixture if it is surely feasible, and better than the best so far as that looks by now.
    fn confirm(&mut self, found: &Found) -> Result<()> {
        self.doubt()?;
        let criterion = self.criterion;
        let is_better = |z: &[f64], best: &Confirmed| criterion.value(z) > criterion.value(&best.z);
        if self.progress.best().is_some_and(|best| !is_better(&found.game.z_bar, best)) {
            // What the model has learnt lately may allow for less depth.
            self.progress.games.depth.scale(LESS);
            return Ok(());
        }
        let z = match self.model.posterior(&found.game.mixture)? {
            Some(posterior) => self.sure(posterior),
            None => match self.model.confirm(&found.game.mixture, &self.free, self.rule.tolerance)? {
                Confirmation::Sure(z) => Some(z),
                Confirmation::Unrefuted(..) | Confirmation::Refuted(_) => None,
            },
        };
        let progress = &mut self.progress;
        match z {
            None => progress.games.depth.deepen(),
            Some(z) => {
                progress.games.depth.scale(LESS);
                if progress.best().is_none_or(|best| is_better(&z, best)) {
                    if progress.confirmed.len() == HELD {
                        progress.confirmed.remove(0);
                    }
                    let mixture = found.game.mixture.clone();
                    progress.confirmed.push(Confirmed { mixture, z, error: 0.0 });
                }
            }
        }
        Ok(())
    }

    /// Lets go of what was confirmed until the best that is left still is, by what the model has learnt since. What fresh
    /// episodes said stays true.
    fn doubt(&mut self) -> Result<()> {
        while let Some(mut best) = self.progress.confirmed.pop() {
            if let Some(posterior) = self.model.posterior(&best.mixture)? {
                let Some(z) = self.sure(posterior) else { continue };
                best.z = z;
            }
            self.progress.confirmed.push(best);
            break;
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
        let best = self.progress.best();
        let is_close = best.is_some_and(|best| top - self.criterion.value(&best.z) <= close);
        is_close && samples >= since.saturating_mul(2)
    }

    /// Plays in the world to make the model better.
    fn sample(&mut self, mixture: &Mixed) -> Result<()> {
        let before = self.model.samples();
        let enough = before.saturating_add((GROWTH * before as f64) as u64);
        loop {
            let samples = self.model.samples();
            self.progress.games.sample(self.model, mixture, ROLLOUTS)?;
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
        Ok((before.games.rounds, saver.into_bytes()))
    }

    fn maximum(&mut self, found: Found, stop: Stop) -> Maximum {
        let best = self.progress.confirmed.pop();
        let value = best.as_ref().map(|best| self.criterion.value(&best.z));
        let Played { mixture, z_bar, .. } = found.game;
        let (mixture, z_bar) = best.map_or((mixture, z_bar), |best| (best.mixture, best.z));
        let rounds = self.progress.games.rounds;
        Maximum {
            unit: 1.0,
            value,
            upper_bound: f64::INFINITY,
            ceiling: None,
            mixture,
            certificate: no_claim(&self.free, z_bar, self.rule.tolerance),
            rounds,
            oracle_calls: rounds,
            samples: self.model.samples(),
            stop,
        }
    }

    /// The maximum over a set in the model, if there is one.
    fn play(&mut self, target: &SharedSet) -> Result<Played> {
        let mut player = (self.player)(&self.criterion.free(target))?;
        let rule = StopRule { rounds: self.rule.rounds.min(GAME), ..*self.rule };
        let oracle = self.model.oracle()?;
        let maximum = maximize(target, self.criterion, player.as_mut(), oracle, &rule, &mut ())?;
        if let Stop::Failed(error) = maximum.stop {
            return Err(error);
        }
        Ok(Played {
            mixture: maximum.mixture,
            z_bar: maximum.certificate.z_bar,
            lam: player.decision().lam.clone(),
            hit: maximum.value.is_some(),
        })
    }

    /// Maxima over ever less deep aims, until there is one; that over the set itself where no aim has any.
    fn deepest(&mut self) -> Result<Found> {
        let shallow = self.play(self.set)?;
        if !shallow.hit {
            return Ok(Found { game: shallow, top: None });
        }
        let (top, dim) = (Some(self.criterion.value(&shallow.z_bar)), self.set.dim());
        let deviations = self.model.deviations(&shallow.mixture)?[..dim].to_vec();
        if deviations.iter().all(|deviation| deviation.is_finite()) {
            for _ in 0..AIMS {
                let errors = Errors::AtMost(self.progress.games.depth.errors(&deviations));
                let deep = self.play(&aim(self.set, &shallow.z_bar[..dim], &errors))?;
                if deep.hit {
                    return Ok(Found { game: deep, top });
                }
                self.progress.games.depth.loosen(&deep.lam[..dim], &deviations);
            }
        }
        Ok(Found { game: shallow, top })
    }
}

/// What was found in the model.
struct Found {
    game: Played,
    /// The model's maximum over all of the set; `None` where it is infeasible in the model.
    top: Option<f64>,
}

/// How far the search has come.
#[derive(Clone)]
struct Progress {
    games: Games,
    /// Mixtures that were confirmed, each better than those before it.
    confirmed: Vec<Confirmed>,
    /// The model's maximum when it last moved, and after how many samples that was.
    settled: (f64, u64),
}

impl Progress {
    fn new(set: &SharedSet) -> Self {
        Self { games: Games::new(set), confirmed: Vec::new(), settled: (f64::NEG_INFINITY, 0) }
    }

    /// The best of them.
    fn best(&self) -> Option<&Confirmed> {
        self.confirmed.last()
    }

    fn save(&self, to: &mut Saver) {
        self.games.save(to);
        to.put(&self.confirmed);
        to.put(&self.settled);
    }

    fn load(
        from: &mut Loader,
        set: &SharedSet,
        criterion: &Criterion,
        model: &dyn ModelBased,
    ) -> Result<Self> {
        let games = Games::load(from, set)?;
        let dim = set.dim() + criterion.dim();
        let confirmed = Confirmed::load_all(from, dim, &|policy| model.fits(policy))?;
        let settled = from.get_where("a maximum", |(top, _): &(f64, u64)| !top.is_nan())?;
        Ok(Self { games, confirmed, settled })
    }
}
