//! A run taken up again from any of its rounds ends as if it had never stopped, bit for bit.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::cart_pole::CartPole;
use appropo::env::{Environment, Simulator, mars_rover};
use appropo::error::Error;
use appropo::measurement::Discounting;
use appropo::oracle::{
    Cache, Exact, Model, ModelOptions, MonteCarlo, Planner, Positive, PositiveOptions, Respond,
};
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::random;
use appropo::rl::{ActorCritic, Episode, Learner, QLearner, QOptions, actor_critic};
use appropo::set::{Ball, SharedSet};
use appropo::solver::{
    Assurance, Options, Round, Solution, appropo, appropo_imagined, resume, resume_imagined,
};
use appropo::state::{Saved, Saver};

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
fn bytes<P: Saved + Send + Sync + 'static>(solution: &Solution<P>) -> (Vec<u8>, Vec<f64>, usize) {
    let mut saver = Saver::default();
    saver.put(&solution.mixture);
    let certificate = &solution.certificate;
    let numbers = [certificate.distance, certificate.lower_bound, solution.regret];
    (saver.into_bytes(), [&certificate.z_bar[..], &numbers].concat(), solution.rounds)
}

/// Plays a game to its end, then again from some of its rounds.
fn check<O: Respond>(
    set: &SharedSet,
    player: impl Fn() -> Box<dyn Player>,
    oracle: impl Fn() -> O,
    options: &Options,
) {
    let mut states = Vec::new();
    let mut watch = |round: &Round<O::Policy>| {
        states.push((round.state)().unwrap());
        ControlFlow::Continue(())
    };
    let whole = bytes(&appropo(set, player().as_mut(), &mut oracle(), options, &mut watch).unwrap());
    assert!(states.len() > 1, "only one round");
    for place in [0, states.len() / 2, states.len() - 1] {
        let again = resume(set, player().as_mut(), &mut oracle(), options, &mut (), &states[place]).unwrap();
        assert!(bytes(&again) == whole, "from round {}", place + 1);
        // Cut short at any place it is refused, never taken half.
        for end in (0..states[place].len()).step_by(1 + states[place].len() / 50) {
            let cut = &states[place][..end];
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
    let options = Options { rounds: 30, ..Options::default() };
    check(&set, || Box::new(FullyCorrective::new(Arc::clone(&set))), oracle, &options);
    check(&set, || Box::new(Blackwell::new(Arc::clone(&set))), oracle, &options);
    let ogd = || Box::new(Ogd::new(Arc::clone(&set), 20.0, Steps::Constant(0.01), 0.9).unwrap()) as Box<_>;
    check(&set, ogd, oracle, &options);
    check(&set, ogd, || Cache::new(oracle()), &options);
}

fn positive<L: Learner>(
    world: impl Fn() -> Box<dyn Environment>,
    learner: L,
    fresh: usize,
    iterates: bool,
) -> Positive<L> {
    let judge = MonteCarlo::new(Episode::new(world(), 0.99, 300), &mut random::generator(1));
    let options =
        PositiveOptions { episodes: 10, fresh, iterates, budget: 20_000, ..PositiveOptions::default() };
    Positive::new(learner, judge, options).unwrap()
}

#[test]
fn learning() {
    let (model, set) = target(false);
    let world = || Box::new(Simulator::new(Arc::clone(&model), Some(300))) as Box<dyn Environment>;
    let options = Options { rounds: 5, ..Options::default() };
    // The first λ is 0, which every policy answers.
    let player = || Box::new(FullyCorrective::new(Arc::clone(&set)).with_caution(1.5)) as Box<dyn Player>;
    let networks = |learner_options: actor_critic::Options| {
        move || {
            let worlds = vec![world(), world()];
            ActorCritic::new(worlds, 0.99, 300, learner_options.clone(), random::generator(2)).unwrap()
        }
    };
    for learner_options in [actor_critic::Options::a2c(), actor_critic::Options::ppo()] {
        let learner = networks(learner_options);
        check(&set, player, || positive(world, learner(), 0, true), &options);
        check(&set, player, || Cache::new(positive(world, learner(), 20, false)), &options);
    }
    let learner = || QLearner::new(world(), 0.99, 300, QOptions::default(), random::generator(2)).unwrap();
    check(&set, player, || positive(world, learner(), 5, false), &options);
}

#[test]
fn learning_to_balance() {
    let world = || Box::new(CartPole::new(Some(200))) as Box<dyn Environment>;
    let target = Target::new(world().measures(), vec![Constraint::at_most("failure", 0.5).unwrap()]).unwrap();
    let select = || Box::new(appropo::env::Selected::new(world(), target.selection().clone())) as Box<_>;
    let options = Options { rounds: 3, samples: 3_000, ..Options::default() };
    let learner = || {
        let options = actor_critic::Options::ppo();
        ActorCritic::new(vec![select()], 0.99, 200, options, random::generator(5)).unwrap()
    };
    let player = || Box::new(FullyCorrective::new(Arc::clone(target.set()))) as Box<dyn Player>;
    check(target.set(), player, || positive(select, learner(), 5, true), &options);
}

#[test]
fn learning_a_model() {
    let (model, set) = target(true);
    let discounting = Discounting::new(0.99, None).unwrap();
    let learnt = || {
        let world = Box::new(Simulator::new(Arc::clone(&model), Some(300)));
        Model::new(world, discounting, 300, ModelOptions::default(), random::generator(4)).unwrap()
    };
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
    let (assurance, options) = (Assurance::default(), Options { rounds: 8, ..Options::default() });
    let mut states = Vec::new();
    let mut watch = |round: &Round<_>| {
        states.push((round.state)().unwrap());
        ControlFlow::Continue(())
    };
    let whole = appropo_imagined(&set, player, &mut learnt(), &assurance, &options, &mut watch).unwrap();
    assert!(states.len() > 2);
    for state in [&states[0], &states[states.len() / 2], &states[states.len() - 1]] {
        let again =
            resume_imagined(&set, player, &mut learnt(), &assurance, &options, &mut (), state).unwrap();
        assert!(bytes(&again) == bytes(&whole));
        let cut = &state[..state.len() - 9];
        let refused = resume_imagined(&set, player, &mut learnt(), &assurance, &options, &mut (), cut);
        assert!(matches!(refused, Err(Error::State { .. })));
    }
}
