//! A run taken up again from any of its rounds ends as if it had never stopped, bit for bit.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{Environment, Simulator, mars_rover};
use appropo::error::{Error, Result};
use appropo::measurement::{Discounting, Estimate, Spread};
use appropo::oracle::{
    Cache, Exact, LearnedOptions, LearnedOracle, Model, ModelBased, ModelOptions, MonteCarlo, Planner,
    Reestimate, Respond, Response, Universal, UniversalOptions,
};
use appropo::player::{Blackwell, FullyCorrective, Hedge, Ogd, Player, Projection, Steps};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::random;
use appropo::rl::actor_critic::ActorCriticOptions;
use appropo::rl::soft_actor_critic::SacOptions;
use appropo::rl::{ActorCritic, Episode, Learner, QLearner, QLearningOptions, SoftActorCritic};
use appropo::set::{Ball, Bounds, SharedSet};
use appropo::solver::{
    Observer, Progress, Round, Solution, Stop, StopRule, appropo, appropo_model_based, resume,
    resume_model_based,
};
use appropo::state::{Checkpoint, Loader, Saver};

use crate::oracles::episodes;

fn target(diverse: bool) -> (Arc<appropo::env::TabularMdp>, SharedSet) {
    let world = mars_rover::world("8x8", 0.05).unwrap();
    let mut constraints =
        vec![Constraint::at_most("failure", 0.2).unwrap(), Constraint::at_least("reward", -0.17).unwrap()];
    if diverse {
        let uniform = world.grid.as_ref().unwrap().uniform_upper_triangle();
        constraints.push(Constraint::share("visits", Arc::new(Ball::new(uniform, 0.12).unwrap())));
    }
    let target = Target::new(world.model.measures(), constraints).unwrap();
    (Arc::new(world.model.select(target.selection())), Arc::clone(target.set()))
}

/// All that a solution says, as bytes.
fn bytes(solution: &Solution) -> (Vec<u8>, Vec<f64>, usize, u64, Stop) {
    let mut saver = Saver::default();
    saver.put(&solution.mixture);
    let certificate = &solution.certificate;
    let numbers = [certificate.distance, certificate.lower_bound];
    let numbers = [&certificate.z_bar[..], &numbers].concat();
    (saver.into_bytes(), numbers, solution.rounds, solution.samples, solution.stop.clone())
}

/// All that a player and an oracle know, as bytes; a player's regret is in it.
fn known(player: &dyn Player, oracle: &dyn Respond) -> Vec<u8> {
    let mut saver = Saver::default();
    player.save(&mut saver).unwrap();
    oracle.save(&mut saver).unwrap();
    saver.into_bytes()
}

/// Keeps the states of a game: after every round, and within the oracle's calls.
#[derive(Default)]
struct Keeper {
    rounds: Vec<(usize, Vec<u8>)>,
    calls: Vec<(usize, Vec<u8>)>,
}

impl Observer for Keeper {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        self.rounds.push((round.state)()?);
        Ok(ControlFlow::Continue(()))
    }

    fn progress(&mut self, progress: &Progress) -> Result<()> {
        self.calls.extend(progress.state.map(|state| state()).transpose()?);
        Ok(())
    }
}

/// Plays a game to its end, then again from some of its rounds, and from within its calls where they have parts.
fn check<O: Respond>(
    set: &SharedSet,
    player: impl Fn() -> Box<dyn Player>,
    oracle: impl Fn() -> O,
    options: &StopRule,
) {
    let mut kept = Keeper::default();
    let (mut playing, mut answering) = (player(), oracle());
    let whole = bytes(&appropo(set, playing.as_mut(), &mut answering, options, &mut kept).unwrap());
    let whole_known = known(playing.as_ref(), &answering);
    let Keeper { rounds: states, calls } = kept;
    assert!(states.len() > 1, "only one round");
    for (rounds, state) in calls.iter().step_by(1 + calls.len() / 5) {
        let (mut playing, mut answering) = (player(), oracle());
        let again = resume(set, playing.as_mut(), &mut answering, options, &mut (), state).unwrap();
        assert!(bytes(&again) == whole, "from within a call after round {rounds}");
        assert!(
            known(playing.as_ref(), &answering) == whole_known,
            "from within a call after round {rounds}"
        );
    }
    for place in [0, states.len() / 2, states.len() - 1] {
        let (rounds, state) = &states[place];
        assert_eq!(*rounds, place + 1);
        let (mut playing, mut answering) = (player(), oracle());
        let again = resume(set, playing.as_mut(), &mut answering, options, &mut (), state).unwrap();
        assert!(bytes(&again) == whole, "from round {}", place + 1);
        assert!(known(playing.as_ref(), &answering) == whole_known, "from round {}", place + 1);
        // Cut short at any place it is refused, never taken half.
        for end in (0..state.len()).step_by(1 + state.len() / 50) {
            let cut = &state[..end];
            match resume(set, player().as_mut(), &mut oracle(), options, &mut (), cut) {
                Err(Error::State { .. }) => {}
                other => panic!("cut at {end}: {:?}", other.map(|s| s.rounds)),
            }
        }
    }
}

#[test]
fn planning_with_every_player() {
    let (model, set) = target(true);
    let discounting = Discounting::new(0.99, None).unwrap();
    let oracle = || Exact::new((*model).clone(), discounting, Planner::PolicyIteration).unwrap();
    let options = StopRule::default().rounds(30);
    check(&set, || Box::new(FullyCorrective::new(Arc::clone(&set))), oracle, &options);
    check(&set, || Box::new(Blackwell::new(Arc::clone(&set))), oracle, &options);
    let ogd = || Box::new(Ogd::new(Arc::clone(&set), 20.0, Steps::Constant(0.01), 0.9).unwrap()) as Box<_>;
    check(&set, ogd, oracle, &options);
    check(&set, ogd, || Cache::new(oracle()), &options);
    check(&set, || Box::new(Projection::new(Arc::clone(&set))), oracle, &options);
}

/// Where no policy will do, multiplicative weights go on.
#[test]
fn planning_with_multiplicative_weights() {
    let world = mars_rover::world("8x8", 0.05).unwrap();
    let limits =
        vec![Constraint::at_most("failure", 0.02).unwrap(), Constraint::at_least("reward", -0.125).unwrap()];
    let target = Target::new(world.model.measures(), limits).unwrap();
    let (set, model) = (target.set(), world.model.select(target.selection()));
    let discounting = Discounting::new(0.99, None).unwrap();
    let oracle = || Exact::new(model.clone(), discounting, Planner::PolicyIteration).unwrap();
    let options = StopRule::default().rounds(30);
    check(set, || Box::new(Hedge::new(set).unwrap()), oracle, &options);
    let constant = || Box::new(Hedge::new(set).unwrap().with_constant_steps(2.0).unwrap()) as Box<_>;
    check(set, constant, oracle, &options);
}

fn positive(
    world: impl Fn() -> Box<dyn Environment>,
    learner: impl Learner + 'static,
    fresh: usize,
    iterates: bool,
) -> LearnedOracle {
    let estimator = MonteCarlo::new(Episode::new(world(), 0.99, 300), &mut random::generator(1));
    let options = LearnedOptions::default().episodes(10usize).fresh(fresh).iterates(iterates);
    LearnedOracle::new(Box::new(learner), estimator, 20_000, options).unwrap()
}

#[test]
fn learning() {
    let (model, set) = target(false);
    let world = || Box::new(Simulator::new(Arc::clone(&model), Some(300))) as Box<dyn Environment>;
    let options = StopRule::default().rounds(5);
    // The first λ is 0, which every policy answers.
    let player = || Box::new(FullyCorrective::new(Arc::clone(&set)).with_margin(1.5)) as Box<dyn Player>;
    let networks = |learner_options: ActorCriticOptions| {
        move || {
            let worlds = vec![world(), world()];
            ActorCritic::new(worlds, 0.99, 300, learner_options.clone(), random::generator(2)).unwrap()
        }
    };
    for learner_options in [ActorCriticOptions::a2c(), ActorCriticOptions::ppo()] {
        let learner = networks(learner_options);
        check(&set, player, || positive(world, learner(), 0, true), &options);
        check(&set, player, || Cache::new(positive(world, learner(), 20, false)), &options);
    }
    let learner =
        || QLearner::new(world(), 0.99, 300, QLearningOptions::default(), random::generator(2)).unwrap();
    check(&set, player, || positive(world, learner(), 5, false), &options);
}

#[test]
fn learning_to_balance() {
    let world = || Box::new(CartPole::new(Some(200))) as Box<dyn Environment>;
    let target = Target::new(world().measures(), vec![Constraint::at_most("failure", 0.5).unwrap()]).unwrap();
    let select = || Box::new(appropo::env::Selected::new(world(), target.selection().clone())) as Box<_>;
    let options = StopRule::default().rounds(3).samples(3_000);
    let learner = || {
        let options = ActorCriticOptions::ppo();
        ActorCritic::new(vec![select()], 0.99, 200, options, random::generator(5)).unwrap()
    };
    let player = || Box::new(FullyCorrective::new(Arc::clone(target.set()))) as Box<dyn Player>;
    check(target.set(), player, || positive(select, learner(), 5, true), &options);
    let learner = || {
        let options = SacOptions::default().net_arch([8]).batch_size(16_usize).learning_starts(300_usize);
        SoftActorCritic::new(vec![select()], 0.99, 200, options, random::generator(5)).unwrap()
    };
    check(target.set(), player, || positive(select, learner(), 5, true), &options);
}

#[test]
fn learning_to_push() {
    let world = || Box::new(PointMass::new(40)) as Box<dyn Environment>;
    let limits =
        vec![Constraint::at_most("energy", 1.0).unwrap(), Constraint::at_least("reward", -20.0).unwrap()];
    let target = Target::new(world().measures(), limits).unwrap();
    let select = || Box::new(appropo::env::Selected::new(world(), target.selection().clone())) as Box<_>;
    let options = StopRule::default().rounds(3).samples(2_500);
    let learner = || {
        let options = SacOptions::default().net_arch([8]).batch_size(16_usize).learning_starts(300_usize);
        SoftActorCritic::new(vec![select(), select()], 0.99, 40, options, random::generator(5)).unwrap()
    };
    let player = || Box::new(FullyCorrective::new(Arc::clone(target.set()))) as Box<dyn Player>;
    check(target.set(), player, || positive(select, learner(), 5, true).settling(), &options);
    let learner = || {
        let options = ActorCriticOptions::ppo();
        ActorCritic::new(vec![select()], 0.99, 40, options, random::generator(5)).unwrap()
    };
    check(target.set(), player, || positive(select, learner(), 5, true).settling(), &options);
}

#[test]
fn learning_a_model() {
    let (model, set) = target(true);
    let learnt = || {
        let world = Box::new(Simulator::new(Arc::clone(&model), Some(300)));
        let discounting = Discounting::new(0.99, None).unwrap();
        let options = ModelOptions::default();
        Box::new(Model::new(world, discounting, 300, 1_000_000, options, random::generator(4)).unwrap())
            as Box<_>
    };
    check_model_based(&set, learnt, &StopRule::default().rounds(8));
}

#[test]
fn learning_one_network_for_every_lambda() {
    let (model, set) = target(false);
    let learnt = || {
        let world = Box::new(Simulator::new(Arc::clone(&model), Some(300)));
        let discounting = Discounting::new(0.99, None).unwrap();
        let options = UniversalOptions::default().net_arch([16]).gradient_steps(1_usize).confirming(5_usize);
        Box::new(Universal::new(world, discounting, 300, 900, options, random::generator(4)).unwrap())
            as Box<_>
    };
    check_model_based(&set, learnt, &StopRule::default());
}

/// Numbers as observations, and what is new by distillation.
#[test]
fn learning_one_network_in_a_continuous_world() {
    let world = || Box::new(CartPole::new(Some(60))) as Box<dyn Environment>;
    let target = Target::new(world().measures(), vec![Constraint::at_most("failure", 0.5).unwrap()]).unwrap();
    let learnt = || {
        let world = Box::new(appropo::env::Selected::new(world(), target.selection().clone()));
        let discounting = Discounting::new(1.0, Some(60)).unwrap();
        let options = UniversalOptions::default().net_arch([16]).gradient_steps(1_usize).confirming(5_usize);
        Box::new(Universal::new(world, discounting, 60, 900, options, random::generator(4)).unwrap())
            as Box<_>
    };
    check_model_based(target.set(), learnt, &StopRule::default());
}

/// Numbers as actions too.
#[test]
fn learning_one_network_to_push() {
    let world = || Box::new(PointMass::new(30)) as Box<dyn Environment>;
    let limits =
        vec![Constraint::at_most("energy", 10.0).unwrap(), Constraint::at_least("reward", -29.0).unwrap()];
    let target = Target::new(world().measures(), limits).unwrap();
    let learnt = || {
        let world = Box::new(appropo::env::Selected::new(world(), target.selection().clone()));
        let discounting = Discounting::new(1.0, Some(30)).unwrap();
        let options = UniversalOptions::default().net_arch([16]).gradient_steps(1_usize).confirming(5_usize);
        Box::new(Universal::new(world, discounting, 30, 900, options, random::generator(4)).unwrap())
            as Box<_>
    };
    check_model_based(target.set(), learnt, &StopRule::default());
}

fn check_model_based(set: &SharedSet, learnt: impl Fn() -> Box<dyn ModelBased>, options: &StopRule) {
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
    let mut states = Vec::new();
    let mut watch = |round: &Round| {
        states.push((round.state)().unwrap());
        ControlFlow::Continue(())
    };
    let whole = appropo_model_based(set, &player, learnt().as_mut(), options, &mut watch).unwrap();
    assert!(states.len() > 2);
    for place in [0, states.len() / 2, states.len() - 1] {
        // A game is played again.
        let (rounds, state) = &states[place];
        assert_eq!(*rounds, place);
        let again = resume_model_based(set, &player, learnt().as_mut(), options, &mut (), state).unwrap();
        assert!(bytes(&again) == bytes(&whole));
        let cut = &state[..state.len() - 9];
        let refused = resume_model_based(set, &player, learnt().as_mut(), options, &mut (), cut);
        assert!(matches!(refused, Err(Error::State { .. })));
    }
}

/// Estimates, whose world may break down while a mixture is confirmed.
struct Estimates {
    is_broken: bool,
}

impl Checkpoint for Estimates {
    fn save(&self, _: &mut Saver) -> Result<()> {
        Ok(())
    }
    fn load(&mut self, _: &mut Loader) -> Result<()> {
        Ok(())
    }
}

impl Respond for Estimates {
    fn respond(&mut self, _: &[f64], _: f64) -> Result<Response> {
        let (policy, spread) = (Mixed::one(TabularPolicy::uniform(1, 1)), spread());
        Ok(Response { policy, z_hat: vec![0.0], spread: Some(spread), bound: None, gave_up: false })
    }
    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        Some(self)
    }
}

impl Reestimate for Estimates {
    fn investigate(&mut self, _: &Mixed, _: f64) -> Result<()> {
        Ok(())
    }
    fn measure_again(&mut self, _: &Mixed) -> Option<(Vec<f64>, Spread)> {
        None
    }
    fn play_afresh(&mut self, _: &Mixed, _: &dyn Fn(&Estimate) -> bool) -> Result<Estimate> {
        match self.is_broken {
            true => Err(Error::World { what: "measurement", entry: 0, value: f64::NAN, step: 7 }),
            false => Ok(episodes(100, &[(0.0, 0.1)])),
        }
    }
}

fn spread() -> Spread {
    Spread { deviations: vec![0.1], episodes: 100.0 }
}

/// What failed is tried again: the search is not taken to be over.
#[test]
fn a_failed_search_goes_on() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.2).unwrap());
    let player = || FullyCorrective::new(Arc::clone(&set));
    let mut states = Vec::new();
    let mut watch = |round: &Round| {
        states.push((round.state)().unwrap());
        ControlFlow::Continue(())
    };
    let options = StopRule::default();
    let mut broken = Estimates { is_broken: true };
    let failed = appropo(&set, &mut player(), &mut broken, &options, &mut watch).unwrap();
    assert!(matches!(failed.stop, Stop::Failed(Error::World { step: 7, .. })));
    let [(1, state)] = &states[..] else { panic!("{} states", states.len()) };
    let mut whole = Estimates { is_broken: false };
    let again = resume(&set, &mut player(), &mut whole, &options, &mut (), state).unwrap();
    assert_eq!((again.stop, again.rounds), (Stop::Reached, 2));
}
