use std::time::Duration;

use super::appropo::{Game, load};
use super::record::Record;
use super::{Observer, Solution, Stop, StopRule};
use crate::error::Result;
use crate::oracle::Respond;
use crate::player::Hedge;
use crate::set::SharedSet;
use crate::state::{Loader, Saver};

/// The widest margin that was found, and how wide any can be.
#[derive(Debug, Clone)]
pub struct WidestMargin {
    /// The mixture and what is claimed of it.
    pub solution: Solution,
    /// The room it has before the nearest face of the set; negative outside.
    pub margin: f64,
    /// No policy has more; infinite where the oracle proves nothing.
    pub ceiling: f64,
}

/// The mixed policy with the widest margin, by multiplicative weights against best responses: MWAL (Syed and Schapire
/// 2007) where the faces are an expert's features. It goes on inside the set, until no policy's margin is wider.
///
/// Whatever the weights w ≥ 0 with Σ w = 1, no policy's margin is wider than max over π of Σ wⱼ(bⱼ − aⱼ·Z̄(π)), which is what
/// the oracle's bound on its answer proves.
pub fn widest_margin(
    set: &SharedSet,
    player: &mut Hedge,
    oracle: &mut dyn Respond,
    rule: &StopRule,
    observer: &mut dyn Observer,
    state: Option<&[u8]>,
) -> Result<WidestMargin> {
    rule.check()?;
    let (mut record, mut ceiling) = (Record::new(player.faces().dim()), f64::INFINITY);
    if let Some(state) = state {
        let mut loader = Loader::new(state);
        record = load(&mut loader, set, player, oracle)?;
        ceiling = loader.get_where("a margin", |ceiling: &f64| !ceiling.is_nan())?;
        loader.finish()?;
    }
    let mut responding = Duration::ZERO;
    let stop = loop {
        if let Some(stop) = record.stop.take() {
            break stop;
        }
        if record.rounds() >= rule.rounds {
            break Stop::Rounds;
        }
        let length = player.length();
        let mut game = Game::new(set, player, oracle, rule, &mut record);
        match game.round(&|to| to.put(&ceiling), observer) {
            Ok(taken) => responding += taken,
            Err(error) if record.rounds() > 0 => break Stop::Failed(error),
            Err(error) => return Err(error),
        }
        let (decision, response) = record.latest();
        if let Some(bound) = &response.bound {
            let (_, offset) = bound.half_space(&decision.lam, decision.offset);
            ceiling = ceiling.min(length * (offset - bound.value));
        }
        record.stop = if ceiling - player.faces().margin(record.z_bar()) <= rule.tolerance {
            Some(Stop::Reached)
        } else if oracle.samples() >= rule.samples {
            Some(Stop::Samples)
        } else {
            None
        };
        let rest = |to: &mut Saver| to.put(&ceiling);
        let game = Game::new(set, player, oracle, rule, &mut record);
        match game.show(responding, None, &rest, observer) {
            Ok(true) => {}
            Ok(false) => break record.stop.take().unwrap_or(Stop::Observer),
            Err(error) => break Stop::Failed(error),
        }
    };
    let margin = player.faces().margin(record.z_bar());
    let solution = record.solution(set, oracle.samples(), stop, rule.tolerance);
    Ok(WidestMargin { solution, margin, ceiling })
}
