use std::io::{IsTerminal, Write};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use appropo::certificate::{Certificate, Evidence, Verdict};
use appropo::confidence::{self, Finding};
use appropo::env::Environment;
use appropo::error::Error;
use appropo::measurement::Estimate;
use appropo::nn::Activation;
use appropo::oracle::{Imagine, Model, ModelOptions, MonteCarlo, Positive, PositiveOptions, Respond};
use appropo::player::FullyCorrective;
use appropo::policy::{AnyPolicy, Mixed, Policy, TabularPolicy};
use appropo::random::{self, Generator};
use appropo::rl::actor_critic::{self, Collect, Update};
use appropo::rl::{ActorCritic, Episode, Learner, Occupancy, QLearner, QOptions};
use appropo::set::{ConvexSet, SharedSet};
use appropo::solver::{Assurance, Options, Round, Solution, appropo, appropo_imagined};

use super::solve::{player, rounds};
use crate::Failure;
use crate::problem::{OracleKind, PlayerKind, Problem, Settings, limit};
use crate::report::Found;

/// Entries of a table with one row a step that still fit into memory.
const MOST_STAGES: f64 = 2e8;

/// About the most steps that judging a result takes.
const EVALUATION: usize = 4_000_000;

/// Watches the rounds of a run, whatever kind its policies are of.
pub trait Watch {
    fn round<P: Policy>(&mut self, round: &Round<P>) -> ControlFlow<()>;
}

/// What was learnt, and the steps that it took.
pub struct Learnt {
    pub solution: Solution<AnyPolicy>,
    pub samples: u64,
}

/// Learns, judges what was learnt, and says what went wrong on the way if anything did.
pub fn run(
    problem: &Problem,
    settings: &Settings,
    oracle: OracleKind,
) -> Result<(Found, Option<Error>), Failure> {
    let mut rng = random::generator(settings.seed);
    let learnt = learn(problem, settings, oracle, &mut rng, &mut Progress::new(settings.samples))?;
    evaluate(problem, settings, learnt, &mut rng)
}

/// Plays ApproPO with an oracle that learns.
pub fn learn(
    problem: &Problem,
    settings: &Settings,
    oracle: OracleKind,
    rng: &mut Generator,
    watch: &mut impl Watch,
) -> Result<Learnt, Failure> {
    if let (Some(model), Some(horizon)) = (problem.world.model(), problem.discounting.horizon()) {
        let size = horizon as f64 * (model.states() * model.actions()) as f64;
        if size > MOST_STAGES {
            let text = format!(
                "horizon times states times actions is {size:e}; expected at most {MOST_STAGES:e}: set a shorter horizon"
            );
            return Err(Failure::Input(text));
        }
    }
    let (gamma, limit) = (problem.discounting.gamma(), limit(problem.discounting.horizon()));
    let own_rng = random::split(rng);
    match oracle {
        OracleKind::Model => {
            let options = ModelOptions { budget: settings.samples, ..ModelOptions::default() };
            let model = Model::new(world(problem), problem.discounting, limit, options, own_rng)?;
            imagine(problem, settings, model, watch)
        }
        OracleKind::QLearning => {
            let learner = QLearner::new(world(problem), gamma, limit, QOptions::default(), own_rng)?;
            play(problem, settings, learner, rng, watch)
        }
        _ => {
            let options = match oracle {
                OracleKind::A2c => actor_critic::Options {
                    collect: Collect::Steps(16),
                    trace: 0.9,
                    rate: 3e-3,
                    entropy: 0.01,
                    ..actor_critic::Options::a2c()
                },
                _ => actor_critic::Options {
                    hidden: vec![128],
                    activation: Activation::Relu,
                    rate: 2e-3,
                    collect: Collect::Steps(64),
                    trace: 0.9,
                    entropy: 0.003,
                    normalize: false,
                    update: Update::Ppo { clip: 0.2, epochs: 4, minibatch: 32 },
                    ..actor_critic::Options::ppo()
                },
            };
            let learner = ActorCritic::new(vec![world(problem)], gamma, limit, options, own_rng)?;
            play(problem, settings, learner, rng, watch)
        }
    }
}

fn world(problem: &Problem) -> Box<dyn Environment> {
    problem.world.play_selected(problem.target.selection(), problem.discounting.horizon())
}

fn options(settings: &Settings) -> Options {
    Options {
        rounds: rounds(settings),
        tolerance: settings.tolerance,
        goal: settings.goal,
        epsilon: settings.tolerance,
        samples: settings.samples,
    }
}

fn imagine(
    problem: &Problem,
    settings: &Settings,
    mut model: Model,
    watch: &mut impl Watch,
) -> Result<Learnt, Failure> {
    let options = options(settings);
    let new_player = |set: &SharedSet| player(set, settings, None, options.rounds);
    let mut watch = |round: &Round<TabularPolicy>| watch.round(round);
    let assurance = Assurance::default();
    let set = problem.target.set();
    let solution = appropo_imagined(set, new_player, &mut model, &assurance, &options, &mut watch)?;
    Ok(Learnt { solution: solution.into_any(), samples: Imagine::samples(&model) })
}

fn play<L: Learner>(
    problem: &Problem,
    settings: &Settings,
    learner: L,
    rng: &mut Generator,
    watch: &mut impl Watch,
) -> Result<Learnt, Failure>
where
    L::Policy: Policy + Clone + Into<AnyPolicy>,
{
    let (set, limit) = (problem.target.set(), limit(problem.discounting.horizon()));
    let options = options(settings);
    let mut player = match (&settings.anchor, settings.player) {
        (Some(z), PlayerKind::FullyCorrective) => {
            let player = FullyCorrective::new(Arc::clone(set)).with_caution(settings.caution);
            Box::new(player.anchored_at(&problem.target.selection().apply(z))?)
        }
        _ => player(set, settings, None, options.rounds)?,
    };
    let judge = MonteCarlo::new(Episode::new(world(problem), problem.discounting.gamma(), limit), rng);
    let positive = PositiveOptions { budget: settings.samples, ..PositiveOptions::default() };
    let mut oracle = Positive::new(learner, judge, positive)?;
    let mut watch = |round: &Round<L::Policy>| watch.round(round);
    let solution = appropo(set, player.as_mut(), &mut oracle, &options, &mut watch)?;
    Ok(Learnt { solution: solution.into_any(), samples: oracle.samples() })
}

/// Judges the mixture by what it does, not by what its learner thought of it: by fresh episodes to a confidence region,
/// and exactly where the model is known, which then decides.
fn evaluate(
    problem: &Problem,
    settings: &Settings,
    learnt: Learnt,
    rng: &mut Generator,
) -> Result<(Found, Option<Error>), Failure> {
    let Learnt { solution: Solution { mixture, rounds, failure, .. }, samples } = learnt;
    let (horizon, gamma) = (problem.discounting.horizon(), problem.discounting.gamma());
    let (set, limit) = (problem.target.set(), limit(horizon));
    let mut judge = MonteCarlo::new(Episode::new(world(problem), gamma, limit), rng);
    let most = (EVALUATION / limit).clamp(100, 16_000);
    let options = confidence::Options { first: most.min(1000), most, ..confidence::Options::default() };
    let judged = confidence::evaluate(&mixture, &mut judge, set, &options)?;
    let evidence = format!(
        "{} fresh episodes at level {}: {}",
        judged.episodes,
        judged.confidence,
        match judged.finding {
            Finding::Inside => "the whole confidence region satisfies every constraint",
            Finding::Outside => "the confidence region violates a constraint",
            Finding::Open => "the confidence region lies across the edge of a constraint",
        }
    );
    let mut evaluation_samples = judged.samples;
    let tables: Option<Vec<(f64, Arc<TabularPolicy>)>> =
        mixture.parts().iter().map(|(w, part)| Some((*w, Arc::new(part.table()?)))).collect();
    let (certificate, z) = match (problem.world.model(), tables) {
        (Some(model), Some(tables)) => {
            let z = Occupancy::of_mixture(model, &problem.discounting, &Mixed::new(tables))?.measure(model);
            let selected = problem.target.selection().apply(&z);
            let distance = set.distance(&selected);
            (Evidence::default().certificate(selected, distance, settings.tolerance), z)
        }
        _ => {
            let mut judge = MonteCarlo::new(Episode::new(problem.world.play(horizon), gamma, limit), rng);
            let mut estimate = Estimate::new(judge.dim());
            judge.play(&mixture, judged.episodes, &mut estimate)?;
            evaluation_samples += judge.samples();
            let is_inside = judged.finding == Finding::Inside;
            let certificate = Certificate {
                verdict: if is_inside { Verdict::Feasible } else { Verdict::Undecided },
                tolerance: settings.tolerance,
                z_bar: judged.mean,
                distance: judged.distance,
                lower_bound: 0.0,
                separation: None,
                confidence: Some(judged.confidence),
            };
            (certificate, estimate.mean().to_vec())
        }
    };
    let found = Found {
        certificate,
        z,
        oracle_calls: rounds,
        policies: mixture.parts().len(),
        samples,
        evaluation_samples,
        evidence,
    };
    Ok((found, failure))
}

/// One line on standard error that is written over and over, where that is a terminal.
struct Progress {
    samples: u64,
    start: Instant,
    shown: Option<Instant>,
    is_terminal: bool,
}

impl Progress {
    fn new(samples: u64) -> Self {
        Self { samples, start: Instant::now(), shown: None, is_terminal: std::io::stderr().is_terminal() }
    }
}

impl Watch for Progress {
    fn round<P: Policy>(&mut self, round: &Round<P>) -> ControlFlow<()> {
        let is_due = self.shown.is_none_or(|shown| shown.elapsed() > Duration::from_millis(100));
        if self.is_terminal && is_due {
            self.shown = Some(Instant::now());
            let rate = round.samples as f64 / self.start.elapsed().as_secs_f64().max(1e-9);
            let left = self.samples.saturating_sub(round.samples) as f64 / rate.max(1e-9);
            let _ = write!(
                std::io::stderr(),
                "\r\x1b[Kround {}, {} samples, distance {:.4}, {rate:.0} samples/s, at most {left:.0} s left",
                round.round,
                round.samples,
                round.distance,
            );
        }
        if round.samples >= self.samples { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.shown.is_some() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
