//! One network that sees its multipliers: what it ends with, what it refuses, and that it goes on where it stopped.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::mars_rover;
use appropo::method::{Budget, Method, StateAugmented};
use appropo::options::Table;
use appropo::oracle::{Learned, LearnedOptions};
use appropo::policy::AnyPolicy;
use appropo::problem::{Problem, ProblemBuilder};
use appropo::registry::Registry;
use appropo::rl::actor_critic::{A2cOptions, PpoOptions};
use appropo::set::Bounds;
use appropo::solver::Stop;
use appropo::verify::verify;

use crate::maximizing::is_resumed;
use crate::solving::{cart_pole, safety};

fn rover() -> ProblemBuilder {
    Problem::builder(mars_rover::world("4x4", 0.05).unwrap()).discount(0.99).horizon(100)
}

fn quick() -> StateAugmented {
    let options = LearnedOptions::default().episodes(10_usize).fresh(10_usize);
    StateAugmented::default()
        .learner(Learned { options, ..Learned::by(PpoOptions::default().net_arch(vec![16])) })
}

/// Evaluated exactly, the network at one λ keeps the rover safe.
#[test]
fn one_network_keeps_the_rover_safe() {
    let problem = rover().constraint(safety()).maximize("reward").build().unwrap();
    for seed in 0..2 {
        let found =
            problem.solve(&StateAugmented::default(), &Budget::samples(40_000), seed, &mut ()).unwrap();
        assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Samples), "seed {seed}");
        assert_eq!(found.mixture.parts().len(), 1);
        assert!(found.objective.as_ref().unwrap().value.unwrap() > -0.1, "{:?}", found.objective);
        verify(&problem, &found, 7).unwrap();
    }
}

/// No episodes confirm that something is exactly 0.2. The network is then played at the multipliers that its dynamics visits.
#[test]
fn where_no_multiplier_will_do_they_take_turns() {
    let exactly = Bounds::new(vec![0.2], vec![0.2]).unwrap();
    let exactly = Constraint::new(["failure"], Arc::new(exactly));
    let problem = rover().constraint(exactly).maximize("reward").build().unwrap();
    let found = problem.solve(&StateAugmented::default(), &Budget::samples(40_000), 0, &mut ()).unwrap();
    let parts = found.mixture.parts();
    assert!(parts.len() > 3, "{}", parts.len());
    // One network: its policies differ in the biases of the first layer alone.
    let parameters = |policy: &AnyPolicy| match policy {
        AnyPolicy::Network(policy) => {
            let layer = policy.network().layers()[0].clone();
            let all = policy.parameters();
            (
                all[layer.weights].to_vec(),
                all[layer.biases.clone()].to_vec(),
                all[layer.biases.end..].to_vec(),
            )
        }
        other => panic!("{other:?} is no network"),
    };
    let first = parameters(&parts[0].1);
    for (_, policy) in &parts[1..] {
        let other = parameters(policy);
        assert!(other.0 == first.0 && other.1 != first.1 && other.2 == first.2);
    }
    verify(&problem, &found, 7).unwrap();
}

#[test]
fn what_is_taken_up_again_ends_as_it_would_have() {
    let problem = rover().constraint(safety()).maximize("reward").build().unwrap();
    is_resumed(&problem, &quick(), &Budget::samples(6_000));
    let drift = Constraint::at_most("drift", 2.0).unwrap();
    is_resumed(
        &cart_pole().constraint(drift).maximize("steps").build().unwrap(),
        &quick(),
        &Budget::samples(6_000),
    );
    let steps = Constraint::at_least("steps", 45.0).unwrap();
    is_resumed(&cart_pole().constraint(steps).build().unwrap(), &quick(), &Budget::samples(6_000));
}

#[test]
fn only_actor_critics_see_multipliers() {
    let refused = |oracle: &str| {
        let table = Table::new([("method", "state-augmented"), ("oracle", oracle)]);
        Registry::standard().read_method(&table).unwrap_err().message
    };
    assert_eq!(refused("sac"), "oracle: \"sac\" can't see its multipliers; use \"ppo\" or \"a2c\"");
    assert!(refused("model").contains("is no learner"), "{}", refused("model"));
    let problem = rover().constraint(safety()).build().unwrap();
    StateAugmented::default().learner(Learned::by(A2cOptions::default())).check(&problem).unwrap();
    let tables = Learned::by(appropo::rl::QLearningOptions::default());
    let error = StateAugmented::default().learner(tables).check(&problem).unwrap_err().to_string();
    assert!(error.contains("\"ppo\" or \"a2c\""), "{error}");
}
