//! The search for a mixed policy: a player and an oracle, made as the settings say, play against each other.

use std::cell::Cell;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use appropo::baseline::solve_occupancy;
use appropo::certificate::Certificate;
use appropo::env::TabularMdp;
use appropo::error::{Error, Result as LibraryResult};
use appropo::measurement::{Estimate, Spread};
use appropo::nn::Activation;
use appropo::oracle::{
    Exact, Imagine, Model, ModelOptions, MonteCarlo, Positive, PositiveOptions, Respond, Response,
};
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::policy::{AnyPolicy, Mixed, Policy};
use appropo::random::{self, Generator};
use appropo::rl::actor_critic::{self, Collect, Update};
use appropo::rl::{ActorCritic, Episode, Learner, QLearner, QOptions};
use appropo::set::SharedSet;
use appropo::solver::{Assurance, Options, Round, Solution};
use appropo::solver::{appropo, appropo_imagined, resume, resume_imagined};
use appropo::state::{Loader, Saver};

use crate::Failure;
use crate::problem::{Method, Oracle, OracleKind, PlayerKind, Problem, Scene, Settings, limit};
use crate::world::{lane_of, world};

/// Episodes that an answer in a world of another program is measured by.
const FRESH: usize = 25;

/// Entries of a table with one row a step that still fit into memory.
const MOST_STAGES: f64 = 2e8;

/// Watches the rounds of a search, whatever kind its policies are of.
pub trait Watch {
    fn round<P: Policy>(&mut self, round: &Round<P>) -> ControlFlow<()>;
}

/// Watches nothing.
impl Watch for () {
    fn round<P: Policy>(&mut self, _: &Round<P>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// What a search ended with.
pub struct Solved {
    pub mixture: Mixed<AnyPolicy>,
    /// What the search itself claims; nothing where it learnt.
    pub certificate: Certificate,
    pub rounds: usize,
    pub samples: u64,
    /// What went wrong on the way, if anything did.
    pub failure: Option<Error>,
    /// The part of the time that the oracle took.
    pub answering: Duration,
}

/// Searches from the start, or from where a state was saved.
pub fn search(
    problem: &Problem,
    settings: &Settings,
    rng: &mut Generator,
    state: Option<&[u8]>,
    watch: &mut impl Watch,
) -> Result<Solved, Failure> {
    let set = problem.target.set();
    let search = Search { problem, settings, state };
    let (gamma, limit) = (problem.discounting.gamma(), limit(problem.discounting.horizon()));
    if settings.method == Method::Occupancy {
        let model = known(problem)?.select(problem.target.selection());
        let programme = solve_occupancy(set, &model, &problem.discounting, settings.tolerance)?;
        return Ok(Solved {
            mixture: Mixed::one(Arc::new(AnyPolicy::Table((*programme.policy).clone()))),
            certificate: programme.certificate,
            rounds: 0,
            samples: 0,
            failure: None,
            answering: Duration::ZERO,
        });
    }
    let oracle = settings.oracle_for(&problem.world);
    if oracle == OracleKind::Exact {
        let model = known(problem)?.select(problem.target.selection());
        let exact = Exact::new(model, problem.discounting, settings.planner)?;
        let radius = match settings.player {
            PlayerKind::Ogd | PlayerKind::Momentum => Some(exact.measurement_radius()?),
            _ => None,
        };
        return search.play(player(set, settings, radius)?, exact, watch);
    }
    check_size(problem)?;
    let own_rng = random::split(rng);
    match oracle {
        OracleKind::Outside => {
            let oracle = Outside::new(problem)?;
            search.play(player(set, settings, None)?, oracle, watch)
        }
        OracleKind::Model => {
            let options = ModelOptions { budget: settings.samples, ..ModelOptions::default() };
            let model = Model::new(world(problem), problem.discounting, limit, options, own_rng)?;
            search.imagine(model, watch)
        }
        OracleKind::QLearning => {
            let learner = QLearner::new(world(problem), gamma, limit, QOptions::default(), own_rng)?;
            search.learn(learner, rng, watch)
        }
        _ => {
            let worlds: Vec<_> = (0..problem.world.lanes()).map(|lane| lane_of(problem, lane)).collect();
            let options = network_options(oracle, &problem.world);
            let learner = ActorCritic::new(worlds, gamma, limit, options, own_rng)?;
            let horizon = problem.discounting.horizon();
            // Without a horizon episodes of our worlds are cut off only because no one can play forever.
            let is_final = horizon.is_some() || matches!(problem.world, Scene::Outside(_));
            let learner = if is_final { learner.ending_for_good(horizon) } else { learner };
            search.learn(learner, rng, watch)
        }
    }
}

/// The settings that took the fewest samples: on the rover for worlds with a model, else on the cart-pole.
fn network_options(oracle: OracleKind, world: &Scene) -> actor_critic::Options {
    match oracle {
        OracleKind::Ppo if world.model().is_none() => actor_critic::Options {
            collect: Collect::Steps(256),
            entropy: 0.0,
            ..actor_critic::Options::ppo()
        },
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
    }
}

/// The model of a problem that has one.
pub fn known(problem: &Problem) -> Result<&Arc<TabularMdp>, Failure> {
    problem.world.model().ok_or_else(|| {
        Failure::Input(
            "this world has no model to plan in; it can only be solved, by an oracle that learns such as ppo"
                .into(),
        )
    })
}

fn check_size(problem: &Problem) -> Result<(), Failure> {
    let (Some(model), Some(horizon)) = (problem.world.model(), problem.discounting.horizon()) else {
        return Ok(());
    };
    let size = horizon as f64 * (model.states() * model.actions()) as f64;
    if size <= MOST_STAGES {
        return Ok(());
    }
    Err(Failure::Input(format!(
        "horizon times states times actions is {size:e}; expected at most {MOST_STAGES:e}: set a shorter horizon"
    )))
}

/// The player of a search. `radius` bounds the measurements of all policies, where that is known.
fn player(set: &SharedSet, settings: &Settings, radius: Option<f64>) -> LibraryResult<Box<dyn Player>> {
    let momentum = match settings.player {
        PlayerKind::FullyCorrective => {
            return Ok(Box::new(FullyCorrective::new(Arc::clone(set)).with_caution(settings.caution)));
        }
        PlayerKind::Blackwell => return Ok(Box::new(Blackwell::new(Arc::clone(set)))),
        _ => settings.momentum().unwrap_or(0.0),
    };
    let (kappa, eta) = settings.gains(set.as_ref(), radius, settings.most_rounds());
    let steps = if settings.decreasing { Steps::Decreasing(eta) } else { Steps::Constant(eta) };
    Ok(Box::new(Ogd::new(Arc::clone(set), kappa, steps, momentum)?))
}

/// What the settings say of when to stop.
pub fn options(settings: &Settings) -> Options {
    Options {
        rounds: settings.most_rounds(),
        tolerance: settings.tolerance,
        goal: settings.goal,
        epsilon: settings.tolerance,
        samples: settings.samples,
    }
}

struct Search<'a> {
    problem: &'a Problem,
    settings: &'a Settings,
    state: Option<&'a [u8]>,
}

impl Search<'_> {
    fn learn<L: Learner>(
        &self,
        learner: L,
        rng: &mut Generator,
        watch: &mut impl Watch,
    ) -> Result<Solved, Failure>
    where
        L::Policy: Clone + Into<AnyPolicy>,
    {
        let Problem { target, discounting, .. } = self.problem;
        let player = match (&self.settings.anchor, self.settings.player) {
            (Some(z), PlayerKind::FullyCorrective) => {
                let player =
                    FullyCorrective::new(Arc::clone(target.set())).with_caution(self.settings.caution);
                Box::new(player.anchored_at(&target.selection().apply(z))?)
            }
            _ => player(target.set(), self.settings, None)?,
        };
        let episode = Episode::new(world(self.problem), discounting.gamma(), limit(discounting.horizon()));
        // Fresh episodes take samples but are not waited for. In worlds of others, which may differ more from episode to
        // episode than ours, they keep the search from stopping at what only looked good.
        let is_outside = matches!(self.problem.world, Scene::Outside(_));
        let positive = PositiveOptions {
            budget: self.settings.samples,
            fresh: if is_outside { FRESH } else { 0 },
            is_impatient: is_outside,
            ..PositiveOptions::default()
        };
        let oracle = Positive::new(learner, MonteCarlo::new(episode, rng), positive)?;
        self.play(player, oracle, watch)
    }

    fn play<O: Respond>(
        &self,
        mut player: Box<dyn Player>,
        oracle: O,
        watch: &mut impl Watch,
    ) -> Result<Solved, Failure>
    where
        O::Policy: Policy + Clone + Into<AnyPolicy>,
    {
        let (set, options) = (self.problem.target.set(), options(self.settings));
        let mut oracle = Timed { oracle, taken: Cell::default() };
        let mut watch = |round: &Round<O::Policy>| watch.round(round);
        let solution = match self.state {
            None => appropo(set, player.as_mut(), &mut oracle, &options, &mut watch)?,
            Some(state) => resume(set, player.as_mut(), &mut oracle, &options, &mut watch, state)?,
        };
        Ok(solved(solution, oracle.samples(), oracle.taken.get()))
    }

    fn imagine(&self, mut model: Model, watch: &mut impl Watch) -> Result<Solved, Failure> {
        let (set, options) = (self.problem.target.set(), options(self.settings));
        let player = |set: &SharedSet| player(set, self.settings, None);
        let assurance = Assurance::default();
        let mut watch = |round: &Round<_>| watch.round(round);
        let solution = match self.state {
            None => appropo_imagined(set, player, &mut model, &assurance, &options, &mut watch)?,
            Some(state) => resume_imagined(set, player, &mut model, &assurance, &options, &mut watch, state)?,
        };
        Ok(solved(solution, Imagine::samples(&model), Duration::ZERO))
    }
}

fn solved<P: Clone + Into<AnyPolicy>>(solution: Solution<P>, samples: u64, answering: Duration) -> Solved {
    let Solution { mixture, certificate, rounds, failure, .. } = solution.into_any();
    Solved { mixture, certificate, rounds, samples, failure, answering }
}

/// An oracle of another program.
struct Outside<'a> {
    problem: &'a Problem,
    answer: Oracle,
    samples: u64,
}

impl<'a> Outside<'a> {
    fn new(problem: &'a Problem) -> LibraryResult<Self> {
        let missing = || Error::Missing { what: "the oracle of this problem".into() };
        let answer = problem.surroundings.oracle.clone().ok_or_else(missing)?;
        Ok(Self { problem, answer, samples: 0 })
    }
}

impl Respond for Outside<'_> {
    type Policy = AnyPolicy;

    fn respond(&mut self, lam: &[f64], offset: f64) -> LibraryResult<Response<AnyPolicy>> {
        let selection = self.problem.target.selection();
        let dim = self.problem.world.measures().dim();
        let mut weights = vec![0.0; dim];
        for ((entry, factor), lam) in selection.entries.iter().zip(lam) {
            weights[*entry] += lam * factor;
        }
        let answer = (self.answer)(&weights, offset)?;
        let mut estimate = Estimate::new(lam.len());
        for sum in &answer.episodes {
            if sum.len() != dim {
                let what = "the measurement of the oracle's answer".into();
                return Err(Error::Dimension { what, found: sum.len(), expected: dim });
            }
            if let Some(value) = sum.iter().copied().find(|v| !v.is_finite()) {
                return Err(Error::NotFinite {
                    what: "the measurement of the oracle's answer".into(),
                    value,
                });
            }
            estimate.add(&selection.apply(sum));
        }
        self.samples = answer.samples;
        let (z_hat, spread) = estimate.with_spread();
        Ok(Response {
            policy: Mixed::one(Arc::new(answer.policy)),
            z_hat,
            // One row alone is taken for exact.
            spread: (estimate.count() > 1).then_some(spread),
            bound: None,
            gave_up: self.samples >= self.problem.settings.samples,
        })
    }

    fn samples(&self) -> u64 {
        self.samples
    }
}

/// An oracle, and how long it took to answer.
struct Timed<O> {
    oracle: O,
    taken: Cell<Duration>,
}

impl<O: Respond> Respond for Timed<O> {
    type Policy = O::Policy;

    fn respond(&mut self, lam: &[f64], offset: f64) -> LibraryResult<Response<O::Policy>> {
        let start = Instant::now();
        let response = self.oracle.respond(lam, offset);
        self.taken.set(self.taken.get() + start.elapsed());
        response
    }

    fn investigate(&mut self, policy: &Mixed<O::Policy>, weight: f64) -> LibraryResult<()> {
        self.oracle.investigate(policy, weight)
    }

    fn measure_again(&mut self, policy: &Mixed<O::Policy>) -> LibraryResult<Option<(Vec<f64>, Spread)>> {
        self.oracle.measure_again(policy)
    }

    fn play_afresh(&mut self, mixture: &Mixed<O::Policy>) -> LibraryResult<Option<(Vec<f64>, Spread)>> {
        self.oracle.play_afresh(mixture)
    }

    fn start_from(&mut self, policy: &Mixed<O::Policy>) -> LibraryResult<()> {
        self.oracle.start_from(policy)
    }

    fn samples(&self) -> u64 {
        self.oracle.samples()
    }

    fn fits(&self, policy: &O::Policy) -> bool {
        self.oracle.fits(policy)
    }

    fn save(&self, to: &mut Saver) -> LibraryResult<()> {
        self.oracle.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> LibraryResult<()> {
        self.oracle.load(from)
    }
}
