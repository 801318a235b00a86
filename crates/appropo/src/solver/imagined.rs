use std::sync::Arc;

use super::appropo::{Record, play};
use super::{Goal, Observer, Options, Round, Solution};
use crate::certificate::{Certificate, Evidence, Verdict};
use crate::error::{Result, in_range};
use crate::measurement::Spread;
use crate::oracle::{Imagine, Respond};
use crate::player::{Player, aim};
use crate::policy::Mixed;
use crate::set::{ConvexSet, Errors, SharedSet};
use crate::state::{Loader, Saver};

/// When a mixture found in a model is good enough for the world.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Assurance {
    /// By how many standard errors of the model it keeps away from the set's edge: its depth in deviations of an
    /// episode, times the square root of the episodes.
    pub errors: f64,
    /// How many episodes the model is worth along its way.
    pub episodes: f64,
}

impl Default for Assurance {
    /// 0.2 standard errors, 5 episodes: what held on the rover for every seed with the fewest samples. That so
    /// little is enough is due to the aim, which is as deep as the model allows whatever is asked for here.
    fn default() -> Self {
        Self { errors: 0.2, episodes: 5.0 }
    }
}

type PolicyOf<M> = <<M as Imagine>::Oracle as Respond>::Policy;

/// ApproPO in a model that is learnt on the way.
///
/// The whole game is played in the model, which costs no samples, for an aim as deep inside the set as the model allows.
/// Its mixture is then played in the world, which makes the model better, until the mixture is good enough.
pub fn appropo_imagined<M: Imagine>(
    set: &SharedSet,
    mut player: impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    assurance: &Assurance,
    options: &Options,
    observer: &mut dyn Observer<PolicyOf<M>>,
) -> Result<Solution<PolicyOf<M>>> {
    imagine(set, &mut player, model, assurance, options, observer, (0, Depth::of(set)))
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
    let rounds = loader.get()?;
    let mut depth = Depth::of(set);
    loader.get_finite("a depth", &mut depth.shares)?;
    model.load(&mut loader)?;
    loader.finish()?;
    imagine(set, &mut player, model, assurance, options, observer, (rounds, depth))
}

fn imagine<M: Imagine>(
    set: &SharedSet,
    player: &mut impl FnMut(&SharedSet) -> Result<Box<dyn Player>>,
    model: &mut M,
    assurance: &Assurance,
    options: &Options,
    observer: &mut dyn Observer<PolicyOf<M>>,
    (mut round, mut depth): (usize, Depth),
) -> Result<Solution<PolicyOf<M>>> {
    options.check()?;
    in_range("standard errors", assurance.errors, assurance.errors >= 0.0, "0 or more")?;
    in_range("episodes", assurance.episodes, assurance.episodes >= 0.0, "0 or more")?;
    loop {
        let before = (round, depth.shares.clone());
        round += 1;
        let attempt = deepest(set, player, model, &mut depth, options)?;
        let Spread { episodes, .. } = model.doubt(&attempt.mixture)?;
        let errors = attempt.depth * episodes.sqrt();
        let is_sure = attempt.hit && errors >= assurance.errors && episodes >= assurance.episodes;
        let distance = set.distance(&attempt.z_bar);
        let now = Round {
            round,
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
                saver.put(&before.0);
                saver.put_all(&before.1);
                model.save(&mut saver)?;
                Ok(saver.into_bytes())
            },
        };
        let stops = observer.round(&now).is_break() || is_sure || round >= options.rounds;
        let goes_on = !stops && model.practise(&attempt.mixture)?;
        if !goes_on {
            let certificate = Evidence::default().certificate(attempt.z_bar, distance, options.tolerance);
            return Ok(Solution {
                // What holds in the model is no claim about the world.
                certificate: Certificate { verdict: Verdict::Undecided, ..certificate },
                regret: attempt.regret,
                mixture: attempt.mixture,
                rounds: round,
                gave_up: !stops,
                failure: None,
            });
        }
        if attempt.hit {
            depth.deepen();
        }
    }
}

/// A game played to its end in the model.
struct Attempt<P> {
    mixture: Mixed<P>,
    z_bar: Vec<f64>,
    lam: Vec<f64>,
    regret: f64,
    /// Whether the aim was reached.
    hit: bool,
    /// How deep inside the set every block of the aim was, in deviations of an episode.
    depth: f64,
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
        depth: 0.0,
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
    let Spread { deviations, .. } = model.doubt(&shallow.mixture)?;
    if deviations.iter().any(|deviation| !deviation.is_finite()) {
        return Ok(shallow);
    }
    for _ in 0..AIMS {
        let (target, part) = aim(set, &shallow.z_bar, &Errors::AtMost(depth.errors(&deviations)));
        let deep = attempt(&target, player, model, options)?;
        if deep.hit {
            return Ok(Attempt { depth: part * depth.least(), ..deep });
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

    fn least(&self) -> f64 {
        self.shares.iter().copied().fold(f64::INFINITY, f64::min)
    }
}
