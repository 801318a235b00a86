//! Constrained policy optimisation: it keeps what it is told to while it learns, and goes on where it stopped.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::mars_rover;
use appropo::method::{Budget, Cpo, Method};
use appropo::options::Table;
use appropo::problem::{Problem, ProblemBuilder};
use appropo::registry::Registry;
use appropo::rl::actor_critic::TrustRegionOptions;
use appropo::set::{Ball, FromProjection};
use appropo::solver::Stop;
use appropo::verify::verify;

use crate::maximizing::is_resumed;
use crate::solving::cart_pole;

fn rover() -> ProblemBuilder {
    Problem::builder(mars_rover::world("4x4", 0.05).unwrap()).discount(0.99).horizon(100)
}

fn quick() -> Cpo {
    Cpo::default()
        .options(TrustRegionOptions::default().net_arch(vec![16]).n_steps(32).n_critic_updates(2_usize))
}

/// A pole is kept upright for longer than it was, and nowhere far from the middle.
#[test]
fn more_is_gained_within_the_constraints() {
    let problem = cart_pole().constraint(Constraint::at_most("drift", 2.0).unwrap()).maximize("steps");
    let problem = problem.build().unwrap();
    for seed in 0..2 {
        let found = problem.solve(&Cpo::default(), &Budget::samples(40_000), seed, &mut ()).unwrap();
        assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Samples), "seed {seed}");
        // 39.5 is the most of 50 steps; a policy drawn at random stays up for 19.
        assert!(found.objective.as_ref().unwrap().value.unwrap() > 37.0, "{:?}", found.objective);
        verify(&problem, &found, 7).unwrap();
    }
}

/// Evaluated exactly, the rover is within a ball.
#[test]
fn a_round_set_is_reached_too() {
    let ball = Constraint::new(["failure", "reward"], Arc::new(Ball::new(vec![0.0, -0.5], 0.5).unwrap()));
    let problem = rover().constraint(ball).build().unwrap();
    let found = problem.solve(&Cpo::default(), &Budget::samples(60_000), 0, &mut ()).unwrap();
    assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached));
}

#[test]
fn what_is_taken_up_again_ends_as_it_would_have() {
    let steps = || Constraint::at_least("steps", 45.0).unwrap();
    is_resumed(&cart_pole().constraint(steps()).build().unwrap(), &quick(), &Budget::samples(6_000));
    let problem = rover().constraint(Constraint::at_most("failure", 0.2).unwrap()).maximize("reward");
    is_resumed(&problem.build().unwrap(), &quick(), &Budget::samples(6_000));
}

/// What it would have to ignore is refused, and so is a set that it knows nothing of.
#[test]
fn what_it_cannot_take_is_refused() {
    let refused = |key: &str| {
        let table = Table::new([("method", "cpo"), (key, "ppo")]);
        Registry::standard().read_method(&table).unwrap_err().message
    };
    assert!(refused("oracle").contains("unknown key \"oracle\""), "{}", refused("oracle"));
    let unknown = FromProjection::new(1, |x, out| out.copy_from_slice(x));
    let problem = rover().constraint(Constraint::new(["failure"], Arc::new(unknown))).build().unwrap();
    let error = Cpo::default().check(&problem).unwrap_err().to_string();
    assert!(error.contains("\"cpo\""), "{error}");
}
