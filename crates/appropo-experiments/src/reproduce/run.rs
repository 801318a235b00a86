//! One run of one method: what its current mixture is truly worth, against the samples it took.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::{Environment, Simulator, TabularMdp, World, mars_rover};
use appropo::error::Result as Library;
use appropo::measurement::Discounting;
use appropo::method::{self, Budget, Rcpo, RcpoOptions};
use appropo::options::Table;
use appropo::oracle::{Cache, LearnedOptions, LearnedOracle, MonteCarlo};
use appropo::player::{Ogd, Steps};
use appropo::policy::{AnyPolicy, Mixed};
use appropo::problem::Problem;
use appropo::random::{self, Generator};
use appropo::rl::actor_critic::ActorCriticOptions;
use appropo::rl::{ActorCritic, Episode, Occupancy};
use appropo::set::Ball;
use appropo::solver::{Observer, Round, Stop, StopRule, appropo};
use appropo_file::Reader;

use crate::Result;

/// How often a run is looked at, in samples.
const EVERY: u64 = 250;
/// Episodes are cut off after this many steps.
pub const HORIZON: usize = 300;
pub const MOST_FAILURE: f64 = 0.2;
pub const LEAST_REWARD: f64 = -0.17;
pub const RADIUS: f64 = 0.12;
/// Distances up to this count as 0, as they do by default.
const TOLERANCE: f64 = 1e-6;
const GAMMA: f64 = 0.99;
const KAPPA: f64 = 20.0;
const MOMENTUM: f64 = 0.9;
/// Worlds that A2C plays in side by side.
const WORLDS: usize = 8;
/// Random policies that the paper's cache begins with.
const RANDOM_POLICIES: usize = 3;

/// Failure, reward and distance to uniform.
pub type Point = [f64; 3];

/// What the paper measures at one moment of a run, truly and as the algorithm itself sees it.
#[derive(Clone, Copy)]
pub struct Look {
    pub samples: u64,
    pub truth: Point,
    pub estimate: Point,
}

/// A method with its settings.
#[derive(Clone, Copy, PartialEq)]
pub enum Method {
    /// RCPO with this rate of its multiplier.
    Rcpo { rate: f64 },
    /// The paper's ApproPO: A2C, momentum with this rate, n trailing episodes.
    Paper { diverse: bool, eta: f64, n: usize },
    /// `appropo solve` with this oracle and player.
    Own { diverse: bool, oracle: &'static str, player: &'static str },
}

/// The rover as the paper has it, and the samples of a run.
pub struct Rover {
    pub world: World,
    pub samples: u64,
    plain: Target,
    diverse: Target,
    uniform: Vec<f64>,
}

impl Rover {
    pub fn new(samples: u64) -> Library<Self> {
        let world = mars_rover::world("8x8", 0.05)?;
        let uniform = world.grid.as_ref().map(|grid| grid.uniform_upper_triangle()).unwrap_or_default();
        let constraints = || -> Library<Vec<Constraint>> {
            Ok(vec![
                Constraint::at_most("failure", MOST_FAILURE)?,
                Constraint::at_least("reward", LEAST_REWARD)?,
            ])
        };
        let mut with_diversity = constraints()?;
        let ball = Arc::new(Ball::new(uniform.clone(), RADIUS)?);
        with_diversity.push(Constraint::share("visits", ball));
        Ok(Self {
            plain: Target::new(world.model.measures(), constraints()?)?,
            diverse: Target::new(world.model.measures(), with_diversity)?,
            world,
            samples,
            uniform,
        })
    }

    pub fn target(&self, diverse: bool) -> &Target {
        if diverse { &self.diverse } else { &self.plain }
    }

    /// Failure, reward and distance to uniform of a full measurement vector.
    fn point(&self, z: &[f64]) -> Point {
        let share = |cell: usize| z[3 + cell] / z[2];
        let away = self.uniform.iter().enumerate().map(|(cell, u)| (share(cell) - u).powi(2)).sum::<f64>();
        [z[0], z[1], away.sqrt()]
    }

    /// The same of selected measurements, as far as they have been selected.
    fn selected_point(&self, z: &[f64]) -> Point {
        let Some((steps, visits)) = z[2..].split_last() else { return [z[0], z[1], f64::NAN] };
        let away = self.uniform.iter().zip(visits).map(|(u, v)| (v / steps - u).powi(2)).sum::<f64>();
        [z[0], z[1], away.sqrt()]
    }

    fn model(&self, target: &Target) -> Arc<TabularMdp> {
        Arc::new(self.world.model.select(target.selection()))
    }

    /// What the policies of a run are truly worth; each is measured once.
    fn truth(&self) -> Library<Truth<'_>> {
        Ok(Truth { rover: self, discounting: Discounting::new(GAMMA, None)?, known: HashMap::new() })
    }

    /// The share of time that a mixture spends in each cell.
    pub fn shares(&self, mixture: &Mixed) -> Library<Vec<f64>> {
        let z = self.truth()?.measure(mixture)?;
        Ok(z[3..].iter().map(|v| v / z[2]).collect())
    }
}

struct Truth<'a> {
    rover: &'a Rover,
    discounting: Discounting,
    /// By the address of the policy, which is kept so that no other comes to lie there.
    known: HashMap<usize, (Arc<AnyPolicy>, Vec<f64>)>,
}

impl Truth<'_> {
    fn measure(&mut self, mixture: &Mixed) -> Library<Vec<f64>> {
        let model = &self.rover.world.model;
        let mut sum = vec![0.0; model.measures().dim()];
        for (weight, policy) in mixture.parts() {
            let key = Arc::as_ptr(policy) as usize;
            if !self.known.contains_key(&key) {
                let z = match policy.as_table() {
                    Some(table) => Occupancy::of(model, &self.discounting, &table)?.measure(model),
                    None => vec![f64::NAN; sum.len()],
                };
                self.known.insert(key, (Arc::clone(policy), z));
            }
            for (sum, z) in sum.iter_mut().zip(&self.known[&key].1) {
                *sum += weight * z;
            }
        }
        Ok(sum)
    }
}

/// The looks at a run, at fixed numbers of samples: what was last known by then.
struct Curve {
    samples: u64,
    looks: Vec<Look>,
    now: (Point, Point),
}

impl Curve {
    fn new(samples: u64) -> Self {
        Self { samples, looks: Vec::new(), now: ([f64::NAN; 3], [f64::NAN; 3]) }
    }

    fn due(&self) -> u64 {
        self.looks.len() as u64 * EVERY
    }

    fn update(&mut self, samples: u64, truth: Point, estimate: Point) {
        self.fill(samples);
        self.now = (truth, estimate);
    }

    fn fill(&mut self, samples: u64) {
        while self.due() < samples.min(self.samples + 1) {
            self.looks.push(Look { samples: self.due(), truth: self.now.0, estimate: self.now.1 });
        }
    }

    fn finish(mut self) -> Vec<Look> {
        self.fill(self.samples + 1);
        self.looks
    }
}

/// Plays one run.
pub fn run(rover: &Rover, method: Method, seed: u64) -> Result<Vec<Look>> {
    match method {
        Method::Rcpo { rate } => Ok(rcpo(rover, rate, seed)?),
        Method::Paper { diverse, eta, n } => Ok(paper(rover, diverse, eta, n, seed)?),
        Method::Own { diverse, oracle, player } => {
            own(rover, diverse, oracle, player, seed).map(|(looks, _)| looks)
        }
    }
}

/// The learner of all methods that learn networks.
fn a2c(model: &Arc<TabularMdp>, rng: Generator) -> Library<ActorCritic> {
    let worlds = (0..WORLDS).map(|_| simulator(model)).collect();
    ActorCritic::new(worlds, GAMMA, HORIZON, ActorCriticOptions::a2c(), rng)
}

fn simulator(model: &Arc<TabularMdp>) -> Box<dyn Environment> {
    Box::new(Simulator::new(Arc::clone(model), Some(HORIZON)))
}

/// RCPO maximises the reward and is told of the failures only.
fn rcpo(rover: &Rover, rate: f64, seed: u64) -> Library<Vec<Look>> {
    let problem = Problem::builder(rover.world.clone())
        .discount(GAMMA)
        .horizon(HORIZON)
        .constraint(Constraint::at_most("failure", MOST_FAILURE)?)
        .maximize("reward")
        .build()?;
    let method = Rcpo::default().options(RcpoOptions::default().multiplier_lr(rate));
    let budget = Budget::samples(rover.samples);
    looked_at(rover, &problem, &method, &budget, seed).map(|(looks, _)| looks)
}

fn paper(rover: &Rover, diverse: bool, eta: f64, n: usize, seed: u64) -> Library<Vec<Look>> {
    let target = rover.target(diverse);
    let model = rover.model(target);
    let mut rng = random::generator(seed);
    let learner = a2c(&model, random::split(&mut rng))?;
    let estimator = MonteCarlo::new(Episode::new(simulator(&model), GAMMA, HORIZON), &mut rng);
    // ẑ comes from the same n episodes, as in the paper.
    let options = LearnedOptions::default().episodes(n).iterates(false).fresh(0_usize).patience(1.0);
    let mut oracle = Cache::new(LearnedOracle::new(Box::new(learner), estimator, rover.samples, options)?);
    for _ in 0..RANDOM_POLICIES {
        let answer = oracle.oracle().random_response()?;
        oracle.add(answer);
    }
    let mut player = Ogd::new(Arc::clone(target.set()), KAPPA, Steps::Constant(eta), MOMENTUM)?;
    let mut curve = Curve::new(rover.samples);
    let mut truth = rover.truth()?;
    let mut failure = None;
    let mut watch = |round: &Round| {
        match truth.measure(&(round.mixture)()) {
            Ok(z) => curve.update(round.samples, rover.point(&z), rover.selected_point(round.z_bar)),
            Err(error) => failure = Some(error),
        }
        if round.samples >= rover.samples { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    };
    let options = StopRule::default().rounds(ROUNDS);
    let solution = appropo(target.set(), &mut player, &mut oracle, &options, &mut watch)?;
    match (failure, solution.stop) {
        (Some(error), _) | (None, Stop::Failed(error)) => Err(error),
        _ => Ok(curve.finish()),
    }
}

/// Rounds of the paper's player, most of which the cache answers.
const ROUNDS: usize = 5000;

/// The looks at a solve of the built-in problem, with the mixture that it ends with.
pub fn own(
    rover: &Rover,
    diverse: bool,
    oracle: &str,
    player: &str,
    seed: u64,
) -> Result<(Vec<Look>, Mixed)> {
    let mut settings = Table::new([("oracle", oracle), ("player", player)]);
    settings.set("samples", rover.samples);
    let name = if diverse { "mars-rover-diverse" } else { "mars-rover" };
    let file = Reader { settings, ..Reader::default() }.load(name)?;
    Ok(looked_at(rover, &file.problem, file.method.as_ref(), &file.budget, seed)?)
}

/// The looks at a solve, with the mixture that it ends with.
fn looked_at(
    rover: &Rover,
    problem: &Problem,
    method: &dyn method::Method,
    budget: &Budget,
    seed: u64,
) -> Library<(Vec<Look>, Mixed)> {
    let mut truly = Truly { truth: rover.truth()?, curve: Curve::new(rover.samples) };
    let outcome = problem.solve(method, budget, seed, &mut truly)?;
    match outcome.stop {
        Stop::Failed(error) => Err(error),
        _ => Ok((truly.curve.finish(), outcome.mixture)),
    }
}

/// Looks at what the mixture is truly worth after every round.
struct Truly<'a> {
    truth: Truth<'a>,
    curve: Curve,
}

impl Observer for Truly<'_> {
    fn round(&mut self, round: &Round) -> Library<ControlFlow<()>> {
        let z = self.truth.measure(&(round.mixture)())?;
        let rover = self.truth.rover;
        let (truth, estimate) = (rover.point(&z), rover.selected_point(round.z_bar));
        self.curve.update(round.samples, truth, estimate);
        Ok(if round.samples >= rover.samples { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    }
}

/// From how many samples on a run truly holds its constraints to the end; `None` if it does not.
pub fn holds_from(looks: &[Look], diverse: bool) -> Option<u64> {
    let holds = |look: &&Look| {
        let [failure, reward, distance] = look.truth;
        failure <= MOST_FAILURE + TOLERANCE
            && reward >= LEAST_REWARD - TOLERANCE
            && (!diverse || distance <= RADIUS + TOLERANCE)
    };
    looks.iter().rev().take_while(holds).last().map(|look| look.samples)
}
