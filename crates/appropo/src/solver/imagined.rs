use std::sync::Arc;

use super::appropo::{Record, play};
use super::{Goal, Observer, Options, Round, Solution};
use crate::certificate::{Certificate, Evidence, Verdict};
use crate::error::Result;
use crate::oracle::{Imagine, Respond};
use crate::player::{Player, aim};
use crate::policy::Mixed;
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::state::{Loader, Saver};

/// When a mixture found in a model is good enough for the world.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Assurance {
    /// In how many other models that may as well be true it must lie in the set.
    pub models: usize,
}

impl Default for Assurance {
    /// 50 models.
    fn default() -> Self {
        Self { models: 50 }
    }
}

type PolicyOf<M> = <<M as Imagine>::Oracle as Respond>::Policy;

/// ApproPO in a model that is learnt on the way.
///
/// The whole game is played in the model, which costs no samples, for an aim as deep inside the set as the model allows.
/// Its mixture is then played in the world, which makes the model better, until it lies in the set in every one of some
/// models that may as well be true. Everything is tried once more instead while games are lost more often than won, and
/// whenever practice has taken more steps than trying did. Where the budget ends first, the last game decides.
pub fn appropo_imagined<M: Imagine>(
    set: &SharedSet,
    mut player: impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    assurance: &Assurance,
    options: &Options,
    observer: &mut dyn Observer<PolicyOf<M>>,
) -> Result<Solution<PolicyOf<M>>> {
    imagine(set, &mut player, model, assurance, options, observer, Progress::new(set))
}

/// [`appropo_imagined`] from where [`Round::state`] was taken, with a model that was made as it was then.
pub fn resume_imagined<M: Imagine>(
    set: &SharedSet,
    mut player: impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    assurance: &Assurance,
    options: &Options,
    observer: &mut dyn Observer<PolicyOf<M>>,
    state: &[u8],
) -> Result<Solution<PolicyOf<M>>> {
    let mut loader = Loader::new(state);
    let mut progress = Progress::new(set);
    for count in [&mut progress.rounds, &mut progress.won, &mut progress.lost] {
        *count = loader.get_count("a number of games")?;
    }
    progress.practised = loader.get_where("a number of steps", |steps: &u64| *steps < u64::MAX / 2)?;
    for share in &mut progress.depth.shares {
        *share = loader.get_where("a depth", |share: &f64| *share >= 0.0 && share.is_finite())?;
    }
    model.load(&mut loader)?;
    loader.finish()?;
    imagine(set, &mut player, model, assurance, options, observer, progress)
}

fn imagine<M: Imagine>(
    set: &SharedSet,
    player: &mut impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    assurance: &Assurance,
    options: &Options,
    observer: &mut dyn Observer<PolicyOf<M>>,
    mut progress: Progress,
) -> Result<Solution<PolicyOf<M>>> {
    options.check()?;
    loop {
        let before = progress.clone();
        progress.rounds += 1;
        let attempt = deepest(set, player, model, &mut progress.depth, options)?;
        *(if attempt.hit { &mut progress.won } else { &mut progress.lost }) += 1;
        let is_sure = attempt.hit && holds(set, &attempt.mixture, model, assurance, options)?;
        let distance = set.distance(&attempt.z_bar);
        let now = Round {
            round: progress.rounds,
            lam: &attempt.lam,
            z_hat: &attempt.z_bar,
            z_bar: &attempt.z_bar,
            distance,
            lower_bound: 0.0,
            samples: model.samples(),
            mixture: &|| attempt.mixture.clone(),
            // A game costs no samples, so it is played again.
            state: &|| {
                let mut saver = Saver::default();
                saver.put(&(before.rounds, (before.won, before.lost)));
                saver.put(&before.practised);
                saver.put_all(&before.depth.shares);
                model.save(&mut saver)?;
                Ok(saver.into_bytes())
            },
        };
        let is_over = is_sure || model.is_spent() || progress.rounds >= options.rounds;
        let stops = observer.round(&now).is_break() || is_over;
        let samples = model.samples();
        let practises = progress.won >= progress.lost && 2 * progress.practised <= samples;
        let failure = match (stops, practises) {
            (true, _) => None,
            (false, true) => model.practise(&attempt.mixture).err(),
            (false, false) => model.explore().err(),
        };
        if stops || failure.is_some() {
            let certificate = Evidence::default().certificate(attempt.z_bar, distance, options.tolerance);
            return Ok(Solution {
                // What holds in the model is no claim about the world.
                certificate: Certificate { verdict: Verdict::Undecided, ..certificate },
                regret: attempt.regret,
                mixture: attempt.mixture,
                rounds: progress.rounds,
                gave_up: model.is_spent() && !is_sure,
                failure,
            });
        }
        if practises {
            progress.practised += model.samples() - samples;
        }
        if attempt.hit {
            progress.depth.deepen();
        }
    }
}

/// How far the games have come.
#[derive(Clone)]
struct Progress {
    rounds: usize,
    won: usize,
    lost: usize,
    /// Steps taken by mixtures.
    practised: u64,
    depth: Depth,
}

impl Progress {
    fn new(set: &SharedSet) -> Self {
        Self { rounds: 0, won: 0, lost: 0, practised: 0, depth: Depth::of(set) }
    }
}

/// Whether the mixture lies in the set whichever model is true.
fn holds<M: Imagine>(
    set: &SharedSet,
    mixture: &Mixed<PolicyOf<M>>,
    model: &mut M,
    assurance: &Assurance,
    options: &Options,
) -> Result<bool> {
    for draw in 0..assurance.models {
        if !set.contains(&model.doubt(mixture, draw)?, options.tolerance) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// A game played to its end in the model.
struct Attempt<P> {
    mixture: Mixed<P>,
    z_bar: Vec<f64>,
    lam: Vec<f64>,
    regret: f64,
    /// Whether the aim was reached.
    hit: bool,
}

fn attempt<M: Imagine>(
    target: &SharedSet,
    player: &mut impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    options: &Options,
) -> Result<Attempt<PolicyOf<M>>> {
    let mut record = Record::default();
    let mut player = player(target)?;
    let options = Options { goal: Goal::Feasibility, ..*options };
    let missed = play(target, player.as_mut(), model.imagined()?, &options, &mut (), &mut record)?;
    if let Some(error) = record.failure {
        return Err(error);
    }
    Ok(Attempt {
        mixture: record.mixture(player.weights()),
        z_bar: player.z_bar().to_vec(),
        lam: player.decision().lam.clone(),
        regret: player.regret(),
        hit: missed <= options.tolerance,
    })
}

/// Games for ever less deep aims, until one is won; the set itself where none is.
fn deepest<M: Imagine>(
    set: &SharedSet,
    player: &mut impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    depth: &mut Depth,
    options: &Options,
) -> Result<Attempt<PolicyOf<M>>> {
    let shallow = attempt(set, player, model, options)?;
    if !shallow.hit {
        return Ok(shallow);
    }
    let deviations = model.deviations();
    if deviations.iter().any(|deviation| !deviation.is_finite()) {
        return Ok(shallow);
    }
    for _ in 0..AIMS {
        let target = aim(set, &shallow.z_bar, &Errors::AtMost(depth.errors(&deviations)));
        let deep = attempt(&target, player, model, options)?;
        if deep.hit {
            return Ok(deep);
        }
        depth.loosen(&deep.lam, &deviations);
    }
    Ok(shallow)
}

/// Aims tried before the set itself is good enough.
const AIMS: usize = 30;
/// How deep the first aim is, in deviations of an episode, and how it changes after a game won or lost.
const DEEP: f64 = 0.5;
const MORE: f64 = 1.2;
const LESS: f64 = 0.7;

/// How deep inside each block of the set the aim lies, in deviations of an episode.
#[derive(Clone)]
struct Depth {
    /// Where each block ends.
    ends: Vec<usize>,
    shares: Vec<f64>,
}

impl Depth {
    fn of(set: &SharedSet) -> Self {
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

    fn errors(&self, deviations: &[f64]) -> Vec<f64> {
        deviations.iter().enumerate().map(|(i, deviation)| self.shares[self.block(i)] * deviation).collect()
    }

    fn deepen(&mut self) {
        self.shares.iter_mut().for_each(|share| *share *= MORE);
    }

    /// Gives way where λ says that it costs most.
    fn loosen(&mut self, lam: &[f64], deviations: &[f64]) {
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
