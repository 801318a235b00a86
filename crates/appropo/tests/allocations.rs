//! Nothing is allocated in a loop that runs once a step.

use std::sync::Arc;

use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{Environment, Simulator, mars_rover};
use appropo::policy::{Memory, TabularPolicy};
use appropo::random;
use appropo::rl::actor_critic::{ActorCriticOptions as Options, Collect, Critic};
use appropo::rl::soft_actor_critic::SacOptions;
use appropo::rl::{
    ActorCritic, Episode, EpisodeWindow, Learner, QLearner, QLearningOptions, SoftActorCritic, play_episode,
};

fn rover() -> Box<dyn Environment> {
    Box::new(Simulator::new(mars_rover::world("8x8", 0.05).unwrap().model, Some(300)))
}

/// Allocations of `run` after it has run once.
fn allocations(mut run: impl FnMut()) -> u64 {
    run();
    allocation_counter::measure(run).count_total
}

#[test]
fn learning_allocates_nothing_after_the_first_batch() {
    let worlds: [fn() -> Box<dyn Environment>; 3] =
        [rover, || Box::new(CartPole::new(Some(500))), || Box::new(PointMass::new(60))];
    for world in worlds {
        let dim = world().measures().dim();
        for options in [
            Options::a2c(),
            Options::a2c().n_steps(Collect::Episodes(2)),
            Options::ppo().critic(Critic::Measurements),
        ] {
            let all = (0..4).map(|_| world()).collect();
            let mut learner = ActorCritic::new(all, 0.99, 300, options, random::generator(0)).unwrap();
            let (mut trail, weights) = (EpisodeWindow::new(10, dim), vec![1.0; dim]);
            let count = allocations(|| {
                for _ in 0..20 {
                    learner.learn(&weights, &mut trail).unwrap();
                }
            });
            assert_eq!(count, 0);
        }
    }
}

#[test]
fn learning_from_memory_allocates_nothing_once_it_is_full() {
    let options = SacOptions::default().net_arch([8, 8]).batch_size(16_usize).buffer_size(100_usize);
    let worlds = (0..2).map(|_| Box::new(PointMass::new(60)) as Box<dyn Environment>).collect();
    let mut learner = SoftActorCritic::new(worlds, 0.99, 60, options, random::generator(0)).unwrap();
    let (mut trail, weights) = (EpisodeWindow::new(10, 3), [1.0, -0.1, 0.0]);
    let mut learn = |batches: usize| {
        for _ in 0..batches {
            learner.learn(&weights, &mut trail).unwrap();
        }
    };
    // How large returns are is settled by then: another size changes the critics, which allocates.
    learn(40);
    assert_eq!(allocations(|| learn(5)), 0);
}

#[test]
fn tables_and_episodes_allocate_nothing() {
    let mut learner =
        QLearner::new(rover(), 0.99, 300, QLearningOptions::default(), random::generator(0)).unwrap();
    let (mut trail, weights) = (EpisodeWindow::new(10, 67), vec![-1.0; 67]);
    assert_eq!(
        allocations(|| {
            learner.learn(&weights, &mut trail).unwrap();
        }),
        0
    );
    let policy = Arc::new(TabularPolicy::uniform(64, 4));
    let mut episode = Episode::new(rover(), 0.99, 300);
    let (mut memory, mut action, mut rng) = (Memory::default(), [0.0], random::generator(1));
    let count = allocations(|| {
        play_episode(&mut episode, policy.as_ref(), &mut memory, &mut action, &mut rng).unwrap()
    });
    assert_eq!(count, 0);
}
