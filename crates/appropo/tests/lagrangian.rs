//! Methods with multipliers: what they learn, what they take, and that they go on where they stopped.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::mars_rover;
use appropo::method::{Appropo, Budget, Lagrangian, Method, Rcpo, RcpoOptions};
use appropo::options::{Given, Table};
use appropo::oracle::{Learned, LearnedOptions};
use appropo::problem::{Problem, ProblemBuilder};
use appropo::registry::Registry;
use appropo::rl::actor_critic::PpoOptions;
use appropo::set::Ball;
use appropo::solver::Stop;
use appropo::verify::verify;

use crate::maximizing::is_resumed;
use crate::solving::cart_pole;

fn rover() -> ProblemBuilder {
    Problem::builder(mars_rover::world("4x4", 0.05).unwrap()).discount(0.99).horizon(100)
}

fn safe(problem: ProblemBuilder) -> ProblemBuilder {
    problem.constraint(Constraint::at_most("failure", 0.2).unwrap())
}

fn quick() -> Learned {
    let options = LearnedOptions::default().episodes(10_usize).fresh(10_usize);
    Learned { options, ..Learned::by(PpoOptions::default().net_arch(vec![16])) }
}

/// Evaluated exactly, the policy holds what it learnt for, with an objective and without.
#[test]
fn multipliers_keep_the_rover_safe() {
    let reward = || Constraint::at_least("reward", -0.17).unwrap();
    let methods: [&dyn Method; 2] = [&Lagrangian::default(), &Rcpo::default()];
    for method in methods {
        let problem = safe(rover()).constraint(reward()).build().unwrap();
        for seed in 0..2 {
            let found = problem.solve(method, &Budget::samples(60_000), seed, &mut ()).unwrap();
            assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached), "{method:?}");
            assert!(found.samples < 60_000, "{}", found.samples);
            verify(&problem, &found, 7).unwrap();
        }
        let problem = safe(rover()).maximize("reward").build().unwrap();
        let found = problem.solve(method, &Budget::samples(40_000), 1, &mut ()).unwrap();
        assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Samples), "{method:?}");
        assert!(found.objective.as_ref().unwrap().value.unwrap() > -0.1, "{:?}", found.objective);
        verify(&problem, &found, 7).unwrap();
    }
}

#[test]
fn what_is_taken_up_again_ends_as_it_would_have() {
    let steps = || Constraint::at_least("steps", 45.0).unwrap();
    let lagrangian = Lagrangian::default().learner(quick());
    is_resumed(&cart_pole().constraint(steps()).build().unwrap(), &lagrangian, &Budget::samples(6_000));
    let problem = safe(rover()).maximize("reward").build().unwrap();
    is_resumed(&problem, &lagrangian, &Budget::samples(6_000));
    let rcpo = Rcpo::default().learner(quick()).options(RcpoOptions::default().multiplier_lr(0.5));
    is_resumed(&problem, &rcpo, &Budget::samples(6_000));
}

/// A ball has multipliers too, but is no half-space.
#[test]
fn what_a_method_cannot_take_is_refused_by_name() {
    let ball = Constraint::new(["failure", "reward"], Arc::new(Ball::new(vec![0.1, -0.1], 0.2).unwrap()));
    let problem = rover().constraint(ball.named("near")).build().unwrap();
    Lagrangian::default().check(&problem).unwrap();
    let error = problem.solve(&Rcpo::default(), &Budget::samples(1_000), 0, &mut ()).unwrap_err();
    let expected = "\"rcpo\" takes half-spaces only, and \"near\" is none; use \"lagrangian\" or \"appropo\"";
    assert_eq!(error.to_string(), expected);
    Appropo::default().check(&problem).unwrap();
    let scaled = Constraint::at_most("failure", 0.2).unwrap().scaled(10.0);
    Rcpo::default().check(&rover().constraint(scaled).build().unwrap()).unwrap();
}

#[test]
fn only_learners_go_inside() {
    let refused = |oracle: &str| {
        let table = Table::new([("method", "lagrangian"), ("oracle", oracle)]);
        Registry::standard().read_method(&table).unwrap_err().message
    };
    let expected = "oracle: \"model\" is no learner that goes on while its reward changes; use one of a2c, ppo, sac, \
                    q-learning";
    assert_eq!(refused("model"), expected);
    assert!(refused("exact").contains("\"exact\" is no learner"), "{}", refused("exact"));
    let table = Table::new([("method", "rcpo"), ("player", "ogd")]);
    let error = Registry::standard().method(&Given::open(&table, Vec::new())).unwrap_err();
    assert!(error.message.contains("multipliers and no player"), "{}", error.message);
}
