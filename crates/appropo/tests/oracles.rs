//! Oracles that learn: true feasibility by exact evaluation with every step counted, and worlds that misbehave.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::point_mass::PointMass;
use appropo::env::{Environment, Simulator, Space, Status, TabularMdp, World, mars_rover};
use appropo::error::{Error, Result};
use appropo::measurement::{Discounting, Estimate, Measures, Spread};
use appropo::oracle::{
    Cache, Confirmation, LearnedOptions, LearnedOracle, Model, ModelBased, ModelOptions, MonteCarlo,
    Reestimate, Respond, Response, Universal, UniversalOptions,
};
use appropo::player::{FullyCorrective, Player};
use appropo::policy::{AnyPolicy, Memory, Mixed, Policy, TabularPolicy};
use appropo::random::{self, Generator};
use appropo::rl::actor_critic::{ActorCriticOptions as Learning, Collect};
use appropo::rl::{ActorCritic, Episode, Occupancy, QLearner, QLearningOptions};
use appropo::set::{
    Ball, Bounds, ConvexSet, Errors, FromProjection, HalfSpace, L1Ball, Lift, Product, SharedSet, Similarity,
};
use appropo::solver::{Doubts, Judgement, Observer, Round, Stop, StopRule, appropo, appropo_model_based};
use appropo::state::Checkpoint;

const GAMMA: f64 = 0.99;
const LIMIT: usize = 300;

struct Rover {
    target: Target,
    model: Arc<TabularMdp>,
}

impl Rover {
    fn new(diverse: bool) -> Self {
        let World { model, grid } = mars_rover::world("8x8", 0.05).unwrap();
        let mut constraints = vec![
            Constraint::at_most("failure", 0.2).unwrap(),
            Constraint::at_least("reward", -0.17).unwrap(),
        ];
        if diverse {
            let ball = Ball::new(grid.unwrap().uniform_upper_triangle(), 0.12).unwrap();
            constraints.push(Constraint::share("visits", Arc::new(ball)));
        }
        let target = Target::new(model.measures(), constraints).unwrap();
        let model = Arc::new(model.select(target.selection()));
        Self { target, model }
    }

    fn simulator(&self) -> Box<dyn Environment> {
        Box::new(Simulator::new(Arc::clone(&self.model), Some(LIMIT)))
    }

    fn discounting() -> Discounting {
        Discounting::new(GAMMA, None).unwrap()
    }

    fn true_distance(&self, mixture: &Mixed) -> f64 {
        let z =
            Occupancy::of_mixture(&self.model, &Self::discounting(), mixture).unwrap().measure(&self.model);
        self.target.set().distance(&z)
    }

    /// The samples that a learnt model took, and the true distance of its mixture.
    fn by_model(&self, budget: u64, seed: u64) -> (u64, f64) {
        let (options, rng) = (ModelOptions::default(), random::generator(seed));
        let mut model =
            Model::new(self.simulator(), Self::discounting(), LIMIT, budget, options, rng).unwrap();
        self.by(&mut model)
    }

    fn by(&self, model: &mut dyn ModelBased) -> (u64, f64) {
        let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
        let solution =
            appropo_model_based(self.target.set(), &player, model, &StopRule::default(), &mut ()).unwrap();
        (model.samples(), self.true_distance(&solution.mixture))
    }
}

#[test]
fn a_learnt_model_holds_for_every_seed_within_1500_samples() {
    let rover = Rover::new(false);
    for seed in 0..25 {
        let (samples, distance) = rover.by_model(1500, seed);
        assert!(distance == 0.0 && samples <= 1500, "seed {seed}: {distance} after {samples}");
    }
}

#[test]
fn a_learnt_model_holds_with_diversity_within_2500_samples() {
    let rover = Rover::new(true);
    for seed in 0..2 {
        let (samples, distance) = rover.by_model(2500, seed);
        assert!(distance <= 1e-9 && samples <= 2500, "seed {seed}: {distance} after {samples}");
    }
}

/// Where nothing is discounted, all ways to what is new were as good, and the longest was taken.
#[test]
fn a_survey_takes_the_short_way() {
    let rover = Rover::new(false);
    let (options, rng) = (ModelOptions::default(), random::generator(0));
    let discounting = Discounting::new(1.0, Some(LIMIT)).unwrap();
    let mut model = Model::new(rover.simulator(), discounting, LIMIT, 1_000_000, options, rng).unwrap();
    model.oracle().unwrap();
    assert!(model.samples() < 3_000, "{}", model.samples());
}

/// One state, one action, and an end after so many steps that nothing shows.
struct Clock {
    measures: Measures,
    steps: usize,
}

impl Checkpoint for Clock {}

impl Environment for Clock {
    fn measures(&self) -> &Measures {
        &self.measures
    }
    fn observations(&self) -> Space {
        Space::Discrete(1)
    }
    fn actions(&self) -> Space {
        Space::Discrete(1)
    }
    fn reset(&mut self, _: &mut Generator, observation: &mut [f64]) -> Result<()> {
        (self.steps, observation[0]) = (0, 0.0);
        Ok(())
    }
    fn step(
        &mut self,
        _: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        (observation[0], z[0]) = (0.0, 1.0);
        self.steps += 1;
        Ok(if self.steps == 20 { Status::Ended } else { Status::Running })
    }
}

/// A model that took the end of time for one that may come in every step would expect shorter episodes.
#[test]
fn an_end_at_the_horizon_is_that_of_time() {
    let world = Box::new(Clock { measures: Measures::new([("steps", 1)]), steps: 0 });
    let (options, rng) = (ModelOptions::default(), random::generator(0));
    let discounting = Discounting::new(1.0, Some(20)).unwrap();
    let mut model = Model::new(world, discounting, 20, 10_000, options, rng).unwrap();
    let set: SharedSet = Arc::new(Bounds::at_least(20.0).unwrap());
    let policy = model.oracle().unwrap().respond(&[-1.0], -20.0).unwrap().policy;
    for _ in 0..5 {
        model.rollout(&policy).unwrap();
    }
    assert_eq!(model.confirm(&policy, &set, 1e-9).unwrap(), Confirmation::Sure(vec![20.0]));
}

/// No hint of any kind, and seeds that chose nothing.
#[test]
fn one_network_for_every_lambda_holds_within_4000_samples() {
    let rover = Rover::new(false);
    for seed in [75, 76] {
        let (options, rng) = (UniversalOptions::default(), random::generator(seed));
        let mut universal =
            Universal::new(rover.simulator(), Rover::discounting(), LIMIT, 4_000, options, rng).unwrap();
        let (samples, distance) = rover.by(&mut universal);
        assert!(distance == 0.0 && samples <= 4_000, "seed {seed}: {distance} after {samples}");
    }
}

fn q_learning(world: Box<dyn Environment>, estimator: Box<dyn Environment>, budget: u64) -> LearnedOracle {
    let mut rng = random::generator(1);
    let learner = QLearner::new(world, GAMMA, LIMIT, QLearningOptions::default(), rng.clone()).unwrap();
    let estimator = MonteCarlo::new(Episode::new(estimator, GAMMA, LIMIT), &mut rng);
    let options = LearnedOptions::default().fresh(0_usize).patience(1.0);
    LearnedOracle::new(Box::new(learner), estimator, budget, options).unwrap()
}

/// The last n episodes of a positive response pay λ no more than was asked for.
#[test]
fn positive_responses_are_positive() {
    let rover = Rover::new(false);
    let mut oracle = q_learning(rover.simulator(), rover.simulator(), 200_000);
    for (lam, offset) in [([1.0, 0.0], 0.2), ([0.0, -1.0], 0.17), ([0.6, -0.8], 0.25)] {
        let response = oracle.respond(&lam, offset).unwrap();
        let payoff = lam[0] * response.z_hat[0] + lam[1] * response.z_hat[1];
        assert!(payoff <= offset + 1e-12 && !response.gave_up, "{payoff} for {lam:?}");
        assert_eq!(response.spread.unwrap().episodes, 25.0);
    }
    // Nothing pays less than nothing: the budget ends.
    assert!(oracle.respond(&[1.0, 0.0], -1.0).unwrap().gave_up);
    assert!(oracle.samples() >= 200_000);
}

/// What is asked for may be out of reach: then an answer is given as it is, and the budget stays for others.
#[test]
fn an_impatient_oracle_answers_all_the_same() {
    let rover = Rover::new(false);
    let mut rng = random::generator(1);
    let learner =
        QLearner::new(rover.simulator(), GAMMA, LIMIT, QLearningOptions::default(), rng.clone()).unwrap();
    let estimator = MonteCarlo::new(Episode::new(rover.simulator(), GAMMA, LIMIT), &mut rng);
    let options = LearnedOptions::default().patience(0.02);
    let mut oracle = LearnedOracle::new(Box::new(learner), estimator, 1_000_000, options).unwrap();
    assert!(!oracle.respond(&[1.0, 0.0], -1.0).unwrap().gave_up);
    assert!((20_000..60_000).contains(&oracle.samples()), "{}", oracle.samples());
    // Where it has a positive answer, it does not wait.
    let before = oracle.samples();
    oracle.respond(&[1.0, 0.0], 1.0).unwrap();
    assert!(oracle.samples() - before < 20_000);
}

/// What is done twice in the same place by the first policy of a mixture.
fn twice(mixture: &Mixed, observation: &[f64]) -> [Vec<f64>; 2] {
    let (mut rng, mut memory) = (random::generator(1), Memory::default());
    [0, 1].map(|_| {
        let mut action = vec![0.0; 2];
        mixture.parts()[0].1.act(observation, 0, &mut rng, &mut memory, &mut action);
        action
    })
}

/// The noise of exploring costs energy, and what learning has settled on has none; its episodes are its own.
#[test]
fn an_answer_has_no_noise_where_that_serves_better() {
    let world = || Box::new(PointMass::new(40)) as Box<dyn Environment>;
    let oracle = || {
        let learner =
            ActorCritic::new(vec![world()], GAMMA, 40, Learning::ppo(), random::generator(1)).unwrap();
        let estimator = MonteCarlo::new(Episode::new(world(), GAMMA, 40), &mut random::generator(2));
        LearnedOracle::new(Box::new(learner), estimator, 20_000, LearnedOptions::default()).unwrap()
    };
    let energy = world().measures().range("energy").unwrap().start;
    let mut lam = vec![0.0; world().measures().dim()];
    lam[energy] = 1.0;
    let observation = vec![0.1; world().observations().entries()];
    let [noisy, settled] = [oracle(), oracle().settling()].map(|mut oracle| {
        let response = oracle.respond(&lam, 0.0).unwrap();
        let [first, second] = twice(&response.policy, &observation);
        let moved = first.iter().zip(&second).map(|(a, b)| (a - b).abs()).fold(0.0, f64::max);
        (response.z_hat[energy], moved)
    });
    assert!(settled.0 < 0.75 * noisy.0, "{settled:?} {noisy:?}");
    assert!(settled.1 < 0.05 && noisy.1 > 0.05, "{settled:?} {noisy:?}");
}

/// Says the same of every answer, and something else of what is played afresh.
struct Flatters {
    fresh: Vec<f64>,
}

impl Checkpoint for Flatters {}

impl Respond for Flatters {
    fn respond(&mut self, _: &[f64], _: f64) -> Result<Response> {
        let spread = Some(Spread { deviations: vec![0.1], episodes: 100.0 });
        Ok(Response {
            policy: Mixed::one(TabularPolicy::uniform(1, 1)),
            z_hat: vec![0.0],
            spread,
            bound: None,
            gave_up: false,
        })
    }
    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        Some(self)
    }
}

/// Its answers are never known better.
impl Reestimate for Flatters {
    fn investigate(&mut self, _: &Mixed, _: f64) -> Result<()> {
        Ok(())
    }
    fn measure_again(&mut self, _: &Mixed) -> Option<(Vec<f64>, Spread)> {
        None
    }
    fn play_afresh(&mut self, _: &Mixed, _: &dyn Fn(&Estimate) -> bool) -> Result<Estimate> {
        Ok(episodes(400, &[(self.fresh.remove(0), 0.1)]))
    }
}

/// Doubts so often.
struct Doubting(usize);

impl Observer for Doubting {
    fn round(&mut self, _: &Round) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
    fn judge(&mut self, _: &Mixed, doubts: &Doubts) -> Result<Option<Judgement>> {
        assert_eq!(doubts.samples, 10 * doubts.count as u64);
        let is_evaluation = doubts.count > 0;
        Ok(Some(Judgement { is_inside: doubts.count == self.0, is_evaluation, samples: 10 }))
    }
}

/// Who judges has the last word: the search goes on until it is sure.
#[test]
fn a_search_goes_on_while_its_judge_doubts() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.2).unwrap());
    let mut player = FullyCorrective::new(Arc::clone(&set));
    let mut oracle = Flatters { fresh: Vec::new() };
    let found = appropo(&set, &mut player, &mut oracle, &StopRule::default(), &mut Doubting(2)).unwrap();
    assert_eq!((found.stop, found.rounds), (Stop::Reached, 3));
    assert_eq!(found.doubts, Doubts { count: 2, evaluations: 1, samples: 20 });
}

/// Is never sure, and keeps what it was asked about last.
#[derive(Default)]
struct NeverSure(Option<Mixed>);

impl Observer for NeverSure {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        if let Some(asked) = &self.0 {
            assert_same(asked, &(round.mixture)());
        }
        Ok(ControlFlow::Continue(()))
    }
    fn judge(&mut self, mixture: &Mixed, _: &Doubts) -> Result<Option<Judgement>> {
        self.0 = Some(mixture.clone());
        Ok(Some(Judgement { is_inside: false, is_evaluation: false, samples: 0 }))
    }
}

/// The same policies with the same weights.
fn assert_same(one: &Mixed, other: &Mixed) {
    let parts = |mixed: &Mixed| mixed.parts().iter().map(|(w, p)| (*w, Arc::as_ptr(p))).collect::<Vec<_>>();
    assert_eq!(parts(one), parts(other));
}

/// A search in a learnt model that its judge never ends gave what it happened to try last.
#[test]
fn what_was_confirmed_is_held_to_the_end_of_the_budget() {
    let rover = Rover::new(false);
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
    for seed in 0..5 {
        let (options, rng) = (ModelOptions::default(), random::generator(seed));
        let discounting = Rover::discounting();
        let mut model = Model::new(rover.simulator(), discounting, LIMIT, 2500, options, rng).unwrap();
        let (rule, mut judge) = (StopRule::default(), NeverSure::default());
        let found = appropo_model_based(rover.target.set(), &player, &mut model, &rule, &mut judge).unwrap();
        assert_eq!(found.stop, Stop::GaveUp);
        assert_same(&judge.0.unwrap(), &found.mixture);
        assert_eq!(rover.true_distance(&found.mixture), 0.0, "seed {seed}");
    }
}

/// Games in a model of one-step episodes used up the rounds when a few in a hundred of the samples were played.
#[test]
fn rounds_last_as_long_as_the_samples_where_episodes_are_short() {
    let mut coins = TabularMdp::builder(2, 2, Measures::new([("heads", 1)]));
    for action in 0..2 {
        coins.transition((0, action), 0.5, 1, &[]);
        coins.transition((0, action), 0.5, 1, &[(0, 1.0)]);
    }
    coins.start(0, 1.0).terminal(1);
    let model = Arc::new(coins.build().unwrap());
    let world = Box::new(Simulator::new(model, None));
    let (options, rng) = (ModelOptions::default(), random::generator(1));
    let mut model = Model::new(world, Rover::discounting(), LIMIT, 10_000, options, rng).unwrap();
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
    let (set, rule): (SharedSet, _) = (Arc::new(Bounds::at_most(0.4).unwrap()), StopRule::default());
    let found = appropo_model_based(&set, &player, &mut model, &rule, &mut NeverSure::default()).unwrap();
    assert_eq!((found.stop, model.samples()), (Stop::GaveUp, 10_000));
    assert!(found.rounds < rule.rounds, "{}", found.rounds);
}

/// As many episodes as are asked for with these means and deviations, half of them above and half below.
pub fn episodes(count: usize, entries: &[(f64, f64)]) -> Estimate {
    let mut estimate = Estimate::new(entries.len());
    for sign in [1.0, -1.0].into_iter().cycle().take(count) {
        estimate.add(&entries.iter().map(|(mean, deviation)| mean + sign * deviation).collect::<Vec<_>>());
    }
    estimate
}

/// A search is over when fresh episodes say so, too: inside by four standard errors of 0.005.
#[test]
fn fresh_episodes_have_to_confirm_what_was_found() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.2).unwrap());
    for (fresh, rounds) in [(vec![0.1], 1), (vec![0.3, 0.199, 0.17], 3), (vec![0.182, 0.178], 2)] {
        let mut player = FullyCorrective::new(Arc::clone(&set));
        let mut oracle = Flatters { fresh };
        let solution = appropo(&set, &mut player, &mut oracle, &StopRule::default(), &mut ()).unwrap();
        assert_eq!((solution.rounds, oracle.fresh.len()), (rounds, 0));
    }
    // In a point there is no room for errors; close to it is enough.
    let point: SharedSet = Arc::new(Bounds::between(0.0, 0.0).unwrap());
    let mut player = FullyCorrective::new(Arc::clone(&point));
    let mut oracle = Flatters { fresh: vec![0.021, 0.019] };
    let solution = appropo(&point, &mut player, &mut oracle, &StopRule::default(), &mut ()).unwrap();
    assert_eq!((solution.rounds, oracle.fresh.len()), (2, 0));
}

/// What a policy in the mixture does, does not change when its learner goes on.
#[test]
fn answers_are_copies() {
    let rover = Rover::new(false);
    let mut rng = random::generator(2);
    let options = Learning::a2c().n_steps(Collect::Steps(16));
    let learner = ActorCritic::new(vec![rover.simulator()], GAMMA, LIMIT, options, rng.clone()).unwrap();
    let estimator = MonteCarlo::new(Episode::new(rover.simulator(), GAMMA, LIMIT), &mut rng);
    let mut oracle =
        LearnedOracle::new(Box::new(learner), estimator, 1_000_000, LearnedOptions::default()).unwrap();
    let first = oracle.respond(&[0.0, -1.0], 0.5).unwrap().policy;
    let parameters = |policy: &AnyPolicy| match policy {
        AnyPolicy::Network(policy) => policy.parameters().to_vec(),
        other => panic!("not a network: {other:?}"),
    };
    let before: Vec<Vec<f32>> = first.parts().iter().map(|(_, p)| parameters(p)).collect();
    oracle.respond(&[1.0, 0.0], 0.5).unwrap();
    // An iterate that ended two of the last 25 episodes counts twice.
    assert!((2..=25).contains(&before.len()), "{}", before.len());
    assert!(first.parts().iter().all(|(weight, _)| (weight * 25.0 - (weight * 25.0).round()).abs() < 1e-9));
    assert!(first.parts().iter().zip(&before).all(|((_, p), b)| parameters(p) == *b));
    assert_ne!(before.first(), before.last());
}

/// Episodes that estimate or confirm took a fifth more than the budget where they were long.
#[test]
fn estimates_end_with_the_budget() {
    let rover = Rover::new(false);
    for budget in [3_000, 3_700, 4_400] {
        let mut rng = random::generator(2);
        let options = Learning::a2c().n_steps(Collect::Steps(16));
        let learner = ActorCritic::new(vec![rover.simulator()], GAMMA, LIMIT, options, rng.clone()).unwrap();
        let estimator = MonteCarlo::new(Episode::new(rover.simulator(), GAMMA, LIMIT), &mut rng);
        let mut oracle =
            LearnedOracle::new(Box::new(learner), estimator, budget, LearnedOptions::default()).unwrap();
        while oracle.samples() < budget {
            // Whatever is done is good enough.
            let answer = oracle.respond(&[0.6, -0.8], 100.0).unwrap();
            oracle.estimates().unwrap().investigate(&answer.policy, 1.0).unwrap();
            oracle.estimates().unwrap().play_afresh(&answer.policy, &|_| false).unwrap();
        }
        assert!(oracle.samples() <= budget + 2 * LIMIT as u64, "{} of {budget}", oracle.samples());
    }
}

/// Counts how often it is asked.
struct Asked(Vec<f64>);

impl Checkpoint for Asked {}

impl Respond for Asked {
    fn respond(&mut self, _: &[f64], _: f64) -> Result<Response> {
        let z_hat = vec![self.0.remove(0)];
        Ok(Response {
            policy: Mixed::one(TabularPolicy::uniform(1, 1)),
            z_hat,
            spread: None,
            bound: None,
            gave_up: false,
        })
    }
}

#[test]
fn the_cache_answers_what_it_can() {
    let mut cache = Cache::new(Asked(vec![3.0, 1.0, 0.0])).with_epsilon(0.5);
    assert_eq!(cache.respond(&[1.0], 5.0).unwrap().z_hat, [3.0]);
    assert_eq!(cache.respond(&[1.0], 2.5).unwrap().z_hat, [3.0]); // 3 ≤ 2.5 + ε
    assert_eq!(cache.calls(), 1);
    assert_eq!(cache.respond(&[1.0], 2.0).unwrap().z_hat, [1.0]);
    assert_eq!(cache.calls(), 2);
    assert_eq!(cache.respond(&[-1.0], -3.0).unwrap().z_hat, [3.0]);
    assert_eq!(cache.calls(), 2);
}

/// A point of a tightened set, moved by no more than the errors, lies in the set.
#[test]
fn tightened_sets_leave_room_for_errors() {
    let mut rng = random::generator(7);
    let ball = || Arc::new(Ball::new(vec![0.3, -0.1], 0.8).unwrap()) as SharedSet;
    let sets: Vec<SharedSet> = vec![
        ball(),
        Arc::new(Bounds::new(vec![-1.0, f64::NEG_INFINITY], vec![1.0, 0.4]).unwrap()),
        Arc::new(HalfSpace::new(vec![2.0, -1.0], 0.5).unwrap()),
        Arc::new(L1Ball::new(vec![0.0, 0.2], 1.5).unwrap()),
        Arc::new(Similarity::scale(ball(), 2.0).unwrap()),
        Arc::new(Product::new(vec![ball(), Arc::new(Bounds::at_most(1.0).unwrap())])),
        Arc::new(Lift::share(ball())),
    ];
    for (k, set) in sets.iter().enumerate() {
        let errors: Vec<f64> = (0..set.dim()).map(|i| 0.05 + 0.03 * i as f64).collect();
        let mut inside = 0;
        for _ in 0..2000 {
            let mut at: Vec<f64> = (0..set.dim()).map(|_| 2.0 * random::unit(&mut rng) - 1.0).collect();
            if k == 6 {
                at[2] += 2.0; // a number of steps
            }
            let Some(tight) = set.tightened(&at, &Errors::AtMost(errors.clone())) else { continue };
            if tight.contains(&at, 1e-12) {
                inside += 1;
                for _ in 0..20 {
                    let moved: Vec<f64> = at
                        .iter()
                        .zip(&errors)
                        .map(|(x, e)| x + e * random::unit(&mut rng).mul_add(2.0, -1.0))
                        .collect();
                    assert!(set.contains(&moved, 1e-9), "set {k} at {at:?}");
                }
            }
        }
        assert!(inside > 50, "set {k}: {inside}");
    }
    assert!(ball().tightened(&[0.0, 0.0], &Errors::AtMost(vec![1.0, 1.0])).is_none());
}

/// A margin is kept wherever a block has room for one, however deep it lies, and else is refused.
#[test]
fn margins_grow_where_a_set_has_any() {
    let custom = || Arc::new(FromProjection::new(1, |_, out| out.fill(0.0))) as SharedSet;
    let bound = Arc::new(Bounds::at_most(1.0).unwrap()) as SharedSet;
    let nested: SharedSet = Arc::new(Product::new(vec![custom(), bound]));
    let ball = Arc::new(Ball::new(vec![0.0, 0.0], 1.0).unwrap()) as SharedSet;
    let turned = Similarity::image(ball, vec![vec![0.6, 0.8], vec![-0.8, 0.6]]).unwrap();
    let sets: [(SharedSet, bool); 3] = [
        (Arc::new(Product::new(vec![custom(), nested])), true),
        (custom(), false),
        (Arc::new(turned), false),
    ];
    for (k, (set, grows)) in sets.into_iter().enumerate() {
        let z_hat = vec![0.0; set.dim()];
        let spread = Spread { deviations: vec![0.1; set.dim()], episodes: 100.0 };
        let mut player = FullyCorrective::new(set);
        player.observe(&z_hat, Some(&spread)).unwrap();
        assert_eq!(player.margin().unwrap().increase_margin().unwrap(), grows, "set {k}");
    }
}

/// A world that goes wrong in its third episode.
struct Broken {
    measures: Measures,
    what: &'static str,
    episodes: usize,
}

impl Broken {
    fn boxed(what: &'static str) -> Box<dyn Environment> {
        Box::new(Self { measures: Measures::new([("cost", 1)]), what, episodes: 0 })
    }
}

impl Checkpoint for Broken {}

impl Environment for Broken {
    fn measures(&self) -> &Measures {
        &self.measures
    }
    fn observations(&self) -> Space {
        Space::Discrete(2)
    }
    fn actions(&self) -> Space {
        Space::Discrete(2)
    }
    fn reset(&mut self, _: &mut Generator, observation: &mut [f64]) -> Result<()> {
        self.episodes += 1;
        observation[0] = 0.0;
        Ok(())
    }
    fn step(
        &mut self,
        _: &[f64],
        _: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        z[0] = 1.0;
        match self.what {
            _ if self.episodes < 3 => return Ok(Status::Ended),
            "NaN observation" => observation[0] = f64::NAN,
            "NaN measurement" => z[0] = f64::NAN,
            "huge measurement" => z[0] = 1e300,
            _ => return Ok(Status::Running),
        }
        Ok(Status::Ended)
    }
}

#[test]
fn worlds_that_misbehave_are_named() {
    for what in ["NaN observation", "NaN measurement", "huge measurement"] {
        let mut oracle = q_learning(Broken::boxed(what), Broken::boxed("fine"), 10_000);
        match oracle.respond(&[1.0], 0.0) {
            Err(Error::World { step: 1, entry: 0, .. }) => {}
            other => panic!("{what}: {other:?}"),
        }
    }
    // An episode that never ends is cut off, and the budget ends the search.
    let mut oracle = q_learning(Broken::boxed("endless"), Broken::boxed("endless"), 10_000);
    assert!(oracle.respond(&[1.0], 0.0).unwrap().gave_up);
    assert!((10_000..30_000).contains(&oracle.samples()));
}

/// An oracle whose world breaks down after the first answer.
struct BreaksDown(usize);

impl Checkpoint for BreaksDown {}

impl Respond for BreaksDown {
    fn respond(&mut self, _: &[f64], _: f64) -> Result<Response> {
        self.0 += 1;
        if self.0 > 1 {
            return Err(Error::World { what: "measurement", entry: 0, value: f64::NAN, step: 7 });
        }
        let policy = Mixed::one(TabularPolicy::uniform(1, 1));
        Ok(Response { policy, z_hat: vec![2.0], spread: None, bound: None, gave_up: false })
    }
}

#[test]
fn the_work_so_far_is_kept() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.0).unwrap());
    let mut player = FullyCorrective::new(Arc::clone(&set));
    let solution = appropo(&set, &mut player, &mut BreaksDown(0), &StopRule::default(), &mut ()).unwrap();
    assert_eq!(solution.certificate.z_bar, [2.0]);
    assert_eq!(solution.mixture.parts().len(), 1);
    assert!(matches!(solution.stop, Stop::Failed(Error::World { step: 7, .. })));
}

/// The same in a learnt model, whose world goes wrong after the first game.
#[test]
fn the_work_in_a_model_is_kept() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.0).unwrap());
    let discounting = Discounting::new(GAMMA, None).unwrap();
    let world = Broken::boxed("NaN measurement");
    let mut model =
        Model::new(world, discounting, LIMIT, 1_000_000, ModelOptions::default(), random::generator(1))
            .unwrap();
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<_>);
    let solution = appropo_model_based(&set, &player, &mut model, &StopRule::default(), &mut ()).unwrap();
    assert_eq!((solution.certificate.z_bar, solution.rounds), (vec![1.0], 1));
    assert!(matches!(solution.stop, Stop::Failed(Error::World { step: 1, .. })));
}

#[test]
fn a_measurement_of_the_wrong_length_is_refused() {
    let rover = Rover::new(false);
    let mut oracle = q_learning(rover.simulator(), rover.simulator(), 10_000);
    assert!(matches!(oracle.respond(&[1.0], 0.0), Err(Error::Dimension { found: 1, expected: 2, .. })));
}
