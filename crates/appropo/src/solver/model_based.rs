use std::sync::Arc;
use std::time::Duration;

use super::appropo::Game;
use super::maximize::Confirmed;
use super::measured::{Beside, Measured};
use super::record::Record;
use super::{Doubts, Goal, Observer, Round, Solution, Stop, StopRule};
use crate::certificate::{Certificate, Evidence, Verdict};
use crate::error::Result;
use crate::measurement::Estimate;
use crate::oracle::{Confirmation, ModelBased};
use crate::player::{Player, aim};
use crate::policy::Mixed;
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::state::{Loader, Saver};
use crate::vector;

/// Makes a player for a set.
pub type MakePlayer<'a> = dyn Fn(&SharedSet) -> Result<Box<dyn Player>> + 'a;

/// ApproPO in a model that is learnt on the way.
///
/// The whole game is played in the model, which costs no samples, for an aim as deep inside the set as the model allows.
/// Its mixture is then played in the world, which makes the model better, until the model confirms that it lies in the
/// set. What is new is tried instead while games are lost more often than won, and whenever rollouts have taken more steps
/// than trying did.
///
/// Once enough fresh episodes have refuted a mixture, predictions are not believed any more: games look for what is missing
/// beside what was measured, their policies are measured too, and the best mixture of all that was measured is to be confirmed.
///
/// Where the budget ends first, the mixture is the last that was confirmed; if none was, the last that could not be
/// refuted, or else the best that was measured, or the last of all.
pub fn appropo_model_based(
    set: &SharedSet,
    player: &MakePlayer,
    model: &mut dyn ModelBased,
    rule: &StopRule,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let progress = Progress { games: Games::new(set), held: None, measured: Measured::new() };
    Search { set, player, model, rule, progress }.run(observer)
}

/// [`appropo_model_based`] from where [`Round::state`] was taken, with a model that was made as it was then.
pub fn resume_model_based(
    set: &SharedSet,
    player: &MakePlayer,
    model: &mut dyn ModelBased,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: &[u8],
) -> Result<Solution> {
    let mut loader = Loader::new(state);
    let games = Games::load(&mut loader, set)?;
    let held = Confirmed::load(&mut loader, set.dim(), &|policy| model.fits(policy))?;
    let is_sure: bool = loader.get()?;
    let measured = Measured::load(&mut loader, set.dim(), &|policy| model.fits(policy))?;
    model.load(&mut loader)?;
    loader.finish()?;
    let progress = Progress { games, held: held.map(|held| (is_sure, held)), measured };
    Search { set, player, model, rule, progress }.run(observer)
}

struct Search<'a> {
    set: &'a SharedSet,
    player: &'a MakePlayer<'a>,
    model: &'a mut dyn ModelBased,
    rule: &'a StopRule,
    progress: Progress,
}

/// How far the search has come.
#[derive(Clone)]
struct Progress {
    games: Games,
    /// The last mixture that was confirmed but not sure enough for the observer, or else could not be refuted; and
    /// whether it was confirmed.
    held: Option<(bool, Confirmed)>,
    /// Empty while predictions are believed.
    measured: Measured,
}

impl Search<'_> {
    fn run(&mut self, observer: &mut dyn Observer) -> Result<Solution> {
        self.rule.check()?;
        loop {
            let before = self.progress.clone();
            self.progress.games.rounds += 1;
            let mut game = self.deepest()?;
            self.progress.games.count(game.hit);
            // Confirming may play episodes: saved before, so that the same ones follow when it is taken up again.
            let is_played = game.hit || !self.progress.measured.is_empty();
            let state = is_played.then(|| self.state(&before));
            let stop =
                self.reason_to_stop(&mut game, observer).unwrap_or_else(|error| Some(Stop::Failed(error)));
            let state = || state.clone().unwrap_or_else(|| self.state(&before));
            let so_far = (self.progress.games.rounds, self.model.samples());
            let shown = self.held(&game, &stop);
            let stop = match show(&shown, so_far, (self.set.distance(&shown.z_bar), None), &state, observer) {
                Ok(true) => stop,
                Ok(false) => Some(stop.unwrap_or(Stop::Observer)),
                Err(error) => Some(Stop::Failed(error)),
            };
            let stop = stop.or_else(|| self.sample(&game.mixture).err().map(Stop::Failed));
            if let Some(stop) = stop {
                return Ok(self.solution(shown, stop));
            }
            if game.hit {
                self.progress.games.depth.deepen();
            }
        }
    }

    /// Plays in the world to make the model better.
    fn sample(&mut self, mixture: &Mixed) -> Result<()> {
        let games = &mut self.progress.games;
        if self.progress.measured.is_empty() {
            games.sample(self.model, mixture, ROLLOUTS)
        } else if games.rounds.is_multiple_of(MEASURED) {
            self.model.explore()
        } else {
            Ok(())
        }
    }

    /// Confirms what was found; where predictions are not believed, the game becomes what was measured.
    fn reason_to_stop(&mut self, game: &mut Played, observer: &mut dyn Observer) -> Result<Option<Stop>> {
        let measured = &mut self.progress.measured;
        if !measured.is_empty() {
            game.hit = measured.play(&game.mixture, self.set, self.model, self.rule.tolerance)?;
            (game.mixture, game.z_bar) = (measured.mixture(), measured.z());
        }
        Ok(if game.hit && self.is_confirmed(game, observer)? {
            Some(Stop::Reached)
        } else if self.model.is_spent() {
            Some(Stop::GaveUp)
        } else {
            (self.progress.games.rounds >= self.rule.rounds).then_some(Stop::Rounds)
        })
    }

    fn is_confirmed(&mut self, game: &Played, observer: &mut dyn Observer) -> Result<bool> {
        let (z, is_sure) = match self.model.confirm(&game.mixture, self.set, self.rule.tolerance)? {
            Confirmation::Sure(z) => (z, true),
            Confirmation::Unrefuted(z, fresh) => {
                fresh.into_iter().for_each(|fresh| self.progress.measured.take(&game.mixture, fresh));
                (z, false)
            }
            Confirmation::Refuted(fresh) => {
                let measured = &mut self.progress.measured;
                // What a few episodes refute is far off: the model has much to learn, and may get there by itself, if it
                // does so in time.
                let is_late = self.model.samples() >= self.rule.samples / LATE;
                let is_telling = |fresh: &Estimate| fresh.count() >= TELLING || is_late;
                let told = fresh.filter(|fresh| !measured.is_empty() || is_telling(fresh));
                told.into_iter().for_each(|fresh| measured.take(&game.mixture, fresh));
                return Ok(false);
            }
        };
        let held = &mut self.progress.held;
        if is_sure || held.as_ref().is_none_or(|(was_sure, _)| !was_sure) {
            *held = Some((is_sure, Confirmed { mixture: game.mixture.clone(), z, error: 0.0 }));
        }
        if !is_sure {
            return Ok(false);
        }
        let doubts = &mut self.progress.games.doubts;
        let judgement = observer.judge(&game.mixture, doubts)?;
        let is_inside = judgement.is_none_or(|judgement| doubts.take(judgement));
        if !is_inside {
            self.progress.measured.increase_margin();
        }
        Ok(is_inside)
    }

    /// What the search would end with now.
    fn held(&self, game: &Played, stop: &Option<Stop>) -> Played {
        match &self.progress.held {
            // What was measured says more than a few episodes that did not tell.
            Some((is_sure, held))
                if !matches!(stop, Some(Stop::Reached))
                    && (*is_sure || self.progress.measured.is_empty()) =>
            {
                Played { mixture: held.mixture.clone(), z_bar: held.z.clone(), ..game.clone() }
            }
            _ => game.clone(),
        }
    }

    /// The state before a game: games cost no samples, so they are played again.
    fn state(&self, before: &Progress) -> Result<(usize, Vec<u8>)> {
        let mut saver = Saver::default();
        before.games.save(&mut saver);
        saver.put(&before.held.as_ref().map(|(_, held)| held.clone()));
        saver.put(&before.held.as_ref().is_some_and(|(is_sure, _)| *is_sure));
        before.measured.save(&mut saver);
        self.model.save(&mut saver)?;
        Ok((before.games.rounds, saver.into_bytes()))
    }

    fn solution(&self, game: Played, stop: Stop) -> Solution {
        Solution {
            certificate: no_claim(self.set, game.z_bar, self.rule.tolerance),
            mixture: game.mixture,
            rounds: self.progress.games.rounds,
            samples: self.model.samples(),
            doubts: self.progress.games.doubts,
            stop,
        }
    }

    /// A game to its end in the model.
    fn play(&mut self, target: &SharedSet) -> Result<Played> {
        let mut record = Record::new(target.dim());
        let mut player = (self.player)(target)?;
        let rule = StopRule { goal: Goal::Feasibility, rounds: self.rule.rounds.min(GAME), ..*self.rule };
        let (mut oracle, z) = (self.model.oracle()?, self.progress.measured.z());
        let mut beside;
        if !self.progress.measured.is_empty() {
            beside = Beside { oracle, z: &z };
            oracle = &mut beside;
        }
        let mut game = Game::new(target, player.as_mut(), oracle, &rule, &mut record);
        if let Stop::Failed(error) = game.play(&mut ())? {
            return Err(error);
        }
        Ok(Played {
            mixture: record.mixture(),
            hit: target.distance(record.z_bar()) <= rule.tolerance,
            z_bar: record.z_bar().to_vec(),
            lam: player.decision().lam.clone(),
        })
    }

    /// Games for ever less deep aims, until one is won; the set itself where none is.
    fn deepest(&mut self) -> Result<Played> {
        let shallow = self.play(self.set)?;
        let deviations = self.model.deviations(&shallow.mixture)?;
        if !shallow.hit || deviations.iter().any(|deviation| !deviation.is_finite()) {
            return Ok(shallow);
        }
        for _ in 0..AIMS {
            let errors = Errors::AtMost(self.progress.games.depth.errors(&deviations));
            let deep = self.play(&aim(self.set, &shallow.z_bar, &errors))?;
            if deep.hit {
                return Ok(deep);
            }
            self.progress.games.depth.loosen(&deep.lam, &deviations);
        }
        Ok(shallow)
    }
}

/// A game that was played to its end in the model.
#[derive(Clone)]
pub(super) struct Played {
    pub mixture: Mixed,
    pub z_bar: Vec<f64>,
    pub lam: Vec<f64>,
    /// Whether the aim was reached.
    pub hit: bool,
}

/// How far the games have come.
#[derive(Clone)]
pub(super) struct Games {
    pub rounds: usize,
    won: usize,
    lost: usize,
    /// Steps taken by rollouts.
    rollouts: u64,
    pub depth: Depth,
    /// What was found before, and was not sure enough.
    doubts: Doubts,
}

impl Games {
    pub fn new(set: &SharedSet) -> Self {
        Self { rounds: 0, won: 0, lost: 0, rollouts: 0, depth: Depth::of(set), doubts: Doubts::default() }
    }

    pub fn count(&mut self, is_won: bool) {
        *(if is_won { &mut self.won } else { &mut self.lost }) += 1;
    }

    /// Plays in the world to make the model better: a rollout of the mixture, or what is new while games are lost more
    /// often than won, and whenever rollouts have taken more than this share of the steps.
    pub fn sample(&mut self, model: &mut dyn ModelBased, mixture: &Mixed, share: f64) -> Result<()> {
        let samples = model.samples();
        if self.won < self.lost || self.rollouts as f64 > share * samples as f64 {
            return model.explore();
        }
        model.rollout(mixture)?;
        self.rollouts += model.samples() - samples;
        Ok(())
    }

    pub fn save(&self, to: &mut Saver) {
        to.put(&(self.rounds, (self.won, self.lost)));
        to.put(&self.rollouts);
        to.put_all(&self.depth.shares);
        self.doubts.save(to);
    }

    pub fn load(from: &mut Loader, set: &SharedSet) -> Result<Self> {
        let mut games = Self::new(set);
        for count in [&mut games.rounds, &mut games.won, &mut games.lost] {
            *count = from.get_count("a number of games")?;
        }
        games.rollouts = from.get_where("a number of steps", |steps: &u64| *steps < u64::MAX / 2)?;
        for share in &mut games.depth.shares {
            *share = from.get_where("a depth", |share: &f64| *share >= 0.0 && share.is_finite())?;
        }
        games.doubts = Doubts::load(from)?;
        Ok(games)
    }
}

/// Shows a game in the model as a round; `false` where the observer has seen enough.
pub(super) fn show(
    game: &Played,
    (rounds, samples): (usize, u64),
    (distance, objective): (f64, Option<f64>),
    state: &dyn Fn() -> Result<(usize, Vec<u8>)>,
    observer: &mut dyn Observer,
) -> Result<bool> {
    let now = Round {
        round: rounds,
        lam: &game.lam,
        z_hat: &game.z_bar,
        z_bar: &game.z_bar,
        distance,
        lower_bound: 0.0,
        samples,
        objective,
        responding: Duration::ZERO,
        mixture: &|| game.mixture.clone(),
        state,
    };
    Ok(observer.round(&now)?.is_continue())
}

/// What holds in a model is no claim about the world.
pub(super) fn no_claim(set: &SharedSet, z_bar: Vec<f64>, tolerance: f64) -> Certificate {
    let distance = set.distance(&z_bar);
    let certificate = Evidence::default().certificate(z_bar, distance, tolerance);
    Certificate { verdict: Verdict::Undecided, ..certificate }
}

/// Rounds of a game: what is predicted by a network may be of no policy, and then a game has no end.
pub(super) const GAME: usize = 200;
/// The share of the steps that rollouts may take.
const ROLLOUTS: f64 = 0.5;
/// Fresh episodes that refute a mixture which was not far off.
const TELLING: usize = 10;
/// The samples divided by this are those after which any number of them does.
const LATE: u64 = 4;
/// Games that are measured before something new is tried.
const MEASURED: usize = 3;
/// Aims tried before the set itself is good enough.
pub(super) const AIMS: usize = 30;
/// How deep the first aim is, in deviations of an episode, and how it changes after a game won or lost.
const DEEP: f64 = 0.5;
const MORE: f64 = 1.2;
const LESS: f64 = 0.7;

/// How deep inside each block of the set the aim lies, in deviations of an episode.
#[derive(Clone)]
pub(super) struct Depth {
    /// Where each block ends.
    ends: Vec<usize>,
    pub shares: Vec<f64>,
}

impl Depth {
    pub fn of(set: &SharedSet) -> Self {
        let alone = [Arc::clone(set)];
        let blocks = set.blocks().unwrap_or(&alone);
        let mut end = 0;
        let ends: Vec<usize> = blocks
            .iter()
            .map(|block| {
                end += block.dim();
                end
            })
            .collect();
        Self { shares: vec![DEEP; ends.len()], ends }
    }

    fn block(&self, entry: usize) -> usize {
        self.ends.partition_point(|end| *end <= entry)
    }

    pub fn errors(&self, deviations: &[f64]) -> Vec<f64> {
        deviations.iter().enumerate().map(|(i, deviation)| self.shares[self.block(i)] * deviation).collect()
    }

    pub fn deepen(&mut self) {
        self.scale(MORE);
    }

    pub fn scale(&mut self, factor: f64) {
        vector::scale(&mut self.shares, factor);
    }

    /// Gives way where λ says that it costs most.
    pub fn loosen(&mut self, lam: &[f64], deviations: &[f64]) {
        let mut prices = vec![0.0; self.shares.len()];
        for (i, (lam, deviation)) in lam.iter().zip(deviations).enumerate() {
            let block = self.block(i);
            prices[block] += (self.shares[block] * lam * deviation).powi(2);
        }
        if let Some(dearest) = (0..prices.len()).max_by(|a, b| prices[*a].total_cmp(&prices[*b])) {
            self.shares[dearest] *= LESS;
        }
    }
}
