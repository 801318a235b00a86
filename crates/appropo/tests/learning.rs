//! Every learner on small classic tasks, with fixed seeds and wide margins.

use std::sync::Arc;

use appropo::constraint::Constraint;
use appropo::env::EnvSpec;
use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{Environment, Selected, Simulator, World, bandit, cliff_walking};
use appropo::measurement::{Discounting, Estimate, Selection};
use appropo::method::{Appropo, Budget};
use appropo::oracle::{MonteCarlo, UniversalOptions};
use appropo::policy::{AnyPolicy, Mixed, Policy};
use appropo::problem::Problem;
use appropo::random;
use appropo::rl::actor_critic::{ActorCriticOptions as Options, Collect, Critic};
use appropo::rl::soft_actor_critic::SacOptions;
use appropo::rl::{
    ActorCritic, Backup, Episode, EpisodeWindow, Learner, Occupancy, QLearner, QLearningOptions,
    SoftActorCritic,
};

/// Learns for at least so many steps.
fn train(learner: &mut impl Learner, weights: &[f64], steps: usize) {
    let mut trail = EpisodeWindow::new(10, weights.len());
    let mut taken = 0;
    while taken < steps {
        taken += learner.learn(weights, &mut trail).unwrap();
    }
}

/// The mean of one entry of the measurement over fresh episodes.
fn play(policy: AnyPolicy, world: Box<dyn Environment>, entry: usize, gamma: f64) -> f64 {
    let mut rng = random::generator(99);
    let mut estimate = Estimate::new(world.measures().dim());
    let mut estimator = MonteCarlo::new(Episode::new(world, gamma, 1000), &mut rng);
    estimator.play(&Mixed::one(policy), 100, &mut estimate).unwrap();
    estimate.mean()[entry]
}

fn simulators(world: &World, horizon: usize, count: usize) -> Vec<Box<dyn Environment>> {
    (0..count).map(|_| Box::new(Simulator::new(Arc::clone(&world.model), Some(horizon))) as _).collect()
}

/// The third arm of five pays most.
#[test]
fn every_learner_finds_the_best_arm() {
    let world = bandit::world(5, 0.9).unwrap();
    let weights = [0.1, 0.3, 1.0, 0.2, 0.0, 0.0];
    let share = |policy: &dyn Policy| policy.table().unwrap().probability(0, 0, 2);
    for critic in [Critic::Reward, Critic::Measurements] {
        for options in [Options::a2c(), Options::ppo()] {
            let options = options.critic(critic);
            let worlds = simulators(&world, 20, 4);
            let mut learner = ActorCritic::new(worlds, 0.9, 100, options, random::generator(1)).unwrap();
            train(&mut learner, &weights, 20_000);
            assert!(share(&learner.policy()) > 0.8, "{}", share(&learner.policy()));
        }
    }
    for backup in [Backup::QLearning, Backup::Sarsa] {
        let options = QLearningOptions::default().backup(backup).initial_value(2.0);
        let simulator = simulators(&world, 20, 1).remove(0);
        let mut learner = QLearner::new(simulator, 0.9, 100, options, random::generator(1)).unwrap();
        train(&mut learner, &weights, 20_000);
        assert!(share(&learner.policy()) > 0.9);
    }
    let options = SacOptions::default().net_arch([16]).target_entropy(0.2);
    let mut learner =
        SoftActorCritic::new(simulators(&world, 20, 2), 0.9, 100, options, random::generator(1)).unwrap();
    train(&mut learner, &weights, 6_000);
    assert!(share(&learner.policy()) > 0.8, "{}", share(&learner.policy()));
}

/// On Sutton and Barto's cliff, Q-learning values the edge (13 steps), SARSA keeps away from it because it
/// counts its own random steps.
#[test]
fn q_learning_walks_the_edge_and_sarsa_does_not() {
    let world = cliff_walking::world(false).unwrap();
    let discounting = Discounting::new(1.0, Some(200)).unwrap();
    let reward = |backup| {
        let options = QLearningOptions::default().backup(backup).learning_rate(0.5).exploration_rate(0.1);
        let simulator = simulators(&world, 200, 1).remove(0);
        let mut learner = QLearner::new(simulator, 1.0, 200, options, random::generator(3)).unwrap();
        let mut weights = vec![0.0; world.model.measures().dim()];
        weights[1] = 1.0;
        train(&mut learner, &weights, 100_000);
        let playing = learner.policy().table().unwrap();
        let z = Occupancy::of(&world.model, &discounting, &playing).unwrap().measure(&world.model);
        z[0]
    };
    let (edge, inland) = (reward(Backup::QLearning), reward(Backup::Sarsa));
    assert!(inland < 0.6 * edge, "falls: {inland} against {edge}");
}

/// The network finds the way along the cliff, −13 at best and −17 by the safest way, from most of five starts.
#[test]
fn ppo_walks_along_the_cliff() {
    let world = cliff_walking::world(false).unwrap();
    let discounting = Discounting::new(1.0, Some(200)).unwrap();
    let mut weights = vec![0.0; world.model.measures().dim()];
    weights[1] = 0.01;
    let reward = |seed: u64| {
        let options = Options::ppo()
            .net_arch(vec![64])
            .learning_rate(3e-3)
            .n_steps(Collect::Steps(32))
            .gae_lambda(0.9)
            // With less it learns from some starts to stand still, which is all it has seen to be safe.
            .ent_coef(0.05);
        let worlds = simulators(&world, 200, 8);
        let mut learner = ActorCritic::new(worlds, 0.99, 200, options, random::generator(seed)).unwrap();
        train(&mut learner, &weights, 150_000);
        let policy = learner.policy().table().unwrap();
        Occupancy::of(&world.model, &discounting, &policy).unwrap().measure(&world.model)[1]
    };
    let rewards: Vec<f64> = (0..5).map(reward).collect();
    assert!(rewards.iter().filter(|reward| **reward > -30.0).count() >= 3, "{rewards:?}");
}

/// CartPole counts as solved at 475 of 500 steps.
#[test]
fn a2c_and_ppo_balance_the_pole() {
    let worlds = || (0..8).map(|_| Box::new(CartPole::new(Some(500))) as Box<dyn Environment>).collect();
    let weights = [0.0, 1.0, 0.0, 0.0];
    let a2c = Options::a2c().learning_rate(3e-3).n_steps(Collect::Steps(16)).gae_lambda(0.95);
    for (options, steps, enough) in [(Options::ppo(), 150_000, 400.0), (a2c, 400_000, 200.0)] {
        let mut learner = ActorCritic::new(worlds(), 0.99, 500, options, random::generator(2)).unwrap();
        train(&mut learner, &weights, steps);
        let steps = play(learner.policy(), Box::new(CartPole::new(Some(500))), 2, 1.0);
        assert!(steps > enough, "{steps}");
    }
}

/// A random walk of the point scores about −60; going straight to the origin about −12.
#[test]
fn ppo_pushes_the_point_to_the_origin() {
    let worlds = (0..8).map(|_| Box::new(PointMass::new(60)) as Box<dyn Environment>).collect();
    let mut learner = ActorCritic::new(worlds, 0.98, 60, Options::ppo(), random::generator(4)).unwrap();
    train(&mut learner, &[1.0, 0.0, 0.0], 150_000);
    let reward = play(learner.policy(), Box::new(PointMass::new(60)), 0, 1.0);
    assert!(reward > -25.0, "{reward}");
}

/// Standing still scores −60 and saves all energy; pushing at random takes 40.
#[test]
fn one_network_pushes_for_every_lambda() {
    let env = EnvSpec::playable(|horizon| PointMass::new(horizon.unwrap_or(60)));
    let problem = Problem::builder(env)
        .discount(1.0)
        .horizon(60)
        .constraint(Constraint::at_least("reward", -35.0).unwrap())
        .constraint(Constraint::at_most("energy", 15.0).unwrap())
        .build()
        .unwrap();
    let method = Appropo::default().oracle(UniversalOptions::default().net_arch([64, 64]));
    for seed in [21, 22] {
        let found = problem.solve(&method, &Budget::samples(5_000), seed, &mut ()).unwrap();
        let (reward, energy) = (found.measurements[0], found.measurements[1]);
        assert!(found.samples <= 5_000 && reward > -38.0 && energy < 15.0, "{reward} {energy}");
    }
}

fn soft_actor_critic() -> SoftActorCritic {
    let options = SacOptions::default().net_arch([32, 32]);
    let world = Box::new(PointMass::new(60)) as Box<dyn Environment>;
    SoftActorCritic::new(vec![world], 0.98, 60, options.learning_starts(500_usize), random::generator(4))
        .unwrap()
}

/// In a tenth of the steps; and, once it is there, without force for another reward, for which nothing is played in vain.
#[test]
fn sac_pushes_the_point_to_the_origin_and_learns_to_leave_it() {
    let mut learner = soft_actor_critic();
    train(&mut learner, &[1.0, 0.0, 0.0], 8_000);
    let there = learner.policy();
    let reward = play(there.clone(), Box::new(PointMass::new(60)), 0, 1.0);
    assert!(reward > -20.0, "{reward}");
    let energy = |policy: AnyPolicy| play(policy, Box::new(PointMass::new(60)), 1, 1.0);
    train(&mut learner, &[0.0, -1.0, 0.0], 4_000);
    let (before, after) = (energy(there.clone()), energy(learner.policy()));
    assert!(after < before / 3.0, "{after} {before}");
    learner.start_from(&there).unwrap();
    let again = play(learner.policy(), Box::new(PointMass::new(60)), 0, 1.0);
    assert!((again - reward).abs() < 0.5, "{again} {reward}");
}

/// Acting at random, the pole falls after about 22 steps.
#[test]
fn sac_learns_to_hold_the_pole() {
    let world = Box::new(CartPole::new(Some(500))) as Box<dyn Environment>;
    let options = SacOptions::default().net_arch([32, 32]);
    let mut learner = SoftActorCritic::new(vec![world], 0.99, 500, options, random::generator(2)).unwrap();
    train(&mut learner, &[0.0, 1.0, 0.0, 0.0], 15_000);
    let steps = play(learner.policy(), Box::new(CartPole::new(Some(500))), 1, 1.0);
    assert!(steps > 60.0, "{steps}");
}

/// The same seed gives the same parameters, bit for bit.
#[test]
fn learning_is_repeatable() {
    let soft = || {
        let mut learner = soft_actor_critic();
        train(&mut learner, &[1.0, -0.1, 0.0], 1000);
        let AnyPolicy::Network(policy) = learner.policy() else { panic!("not a network") };
        policy.parameters().to_vec()
    };
    let bits = |parameters: Vec<f32>| parameters.into_iter().map(f32::to_bits).collect::<Vec<_>>();
    assert_eq!(bits(soft()), bits(soft()));
    let parameters = || {
        let worlds = (0..4).map(|_| Box::new(CartPole::new(Some(500))) as Box<dyn Environment>).collect();
        let options = Options::ppo();
        let mut learner = ActorCritic::new(worlds, 0.99, 500, options, random::generator(8)).unwrap();
        train(&mut learner, &[0.0, 1.0, 0.0, 0.0], 2000);
        let AnyPolicy::Network(policy) = learner.policy() else { panic!("not a network") };
        policy.parameters().to_vec()
    };
    assert_eq!(bits(parameters()), bits(parameters()));
}

/// Entries are chosen, and divided by their units.
#[test]
fn selected_worlds_measure_what_was_selected() {
    let selection = Selection { entries: vec![(3, 2.0), (2, 1.0)] };
    let mut world = Selected::new(Box::new(CartPole::new(Some(5))), selection);
    let mut rng = random::generator(0);
    let (mut observation, mut z) = ([0.0; 4], [0.0; 2]);
    world.reset(&mut rng, &mut observation).unwrap();
    world.step(&[1.0], &mut rng, &mut observation, &mut z).unwrap();
    assert_eq!(z, [2.0 * observation[0].abs(), 1.0]);
}
