//! One policy whose last iterate converges: exact answers in known models, proofs, what a learner ends with, and that it goes
//! on where it stopped.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::{TabularMdp, World, garnet, mars_rover};
use appropo::measurement::Measures;
use appropo::method::{Budget, LastIterate, LastIterateOptions, Method, Occupancy};
use appropo::options::Table;
use appropo::oracle::{Learned, LearnedOptions};
use appropo::outcome::Outcome;
use appropo::policy::TabularPolicy;
use appropo::problem::Problem;
use appropo::random;
use appropo::registry::Registry;
use appropo::rl;
use appropo::rl::actor_critic::PpoOptions;
use appropo::set::Bounds;
use appropo::solver::Stop;
use appropo::verify::verify;

use crate::maximizing::is_resumed;
use crate::solving::{cart_pole, diversity, rover, safety};

fn solve(problem: &Problem, method: &dyn Method, rounds: usize) -> Outcome {
    let found = problem.solve(method, &Budget::default().rounds(rounds), 0, &mut ()).unwrap();
    verify(problem, &found, 7).unwrap();
    found
}

/// One action gains 1 and costs 1, the other neither, and it may cost ½. With p the probability of the first and y its
/// price, p(1 − y) + y/2 has its saddle at p = ½, y = 1, and is bilinear: plain gradients never come closer to it than
/// they were, since KL((½, ½) ‖ (p, 1 − p))/η + (y − 1)²/2η′ can't fall.
fn pennies() -> Problem {
    let mut model = TabularMdp::builder(2, 2, Measures::new([("gain", 1), ("cost", 1)]));
    model.start(0, 1.0).terminal(1);
    model.transition((0, 0), 1.0, 1, &[(0, 1.0), (1, 1.0)]);
    model.transition((0, 1), 1.0, 1, &[]);
    let world = World { model: Arc::new(model.build().unwrap()), grid: None };
    let half = Constraint::at_most("cost", 0.5).unwrap();
    Problem::builder(world).constraint(half).maximize("gain").build().unwrap()
}

#[test]
fn the_last_iterate_converges_where_plain_gradients_turn_in_circles() {
    let problem = pennies();
    let steps = LastIterateOptions::default().eta(1.0).multiplier_lr(0.1);
    // How far the last thousand iterates are from the optimum, at most.
    let off = |options: LastIterateOptions| {
        let found = solve(&problem, &LastIterate::default().options(options), 4_000);
        let lines = &found.history.lines;
        let last = &lines[lines.len().saturating_sub(1000)..];
        (last.iter().map(|line| (line.answer[0] - 0.5).abs()).fold(0.0, f64::max), found)
    };
    let (plain, circling) = off(steps.clone().optimistic(false));
    assert!(plain > 0.2 && circling.stop == Stop::Rounds, "{plain}, {:?}", circling.stop);
    let (_, found) = off(steps);
    assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached));
    assert!((found.measurements[0] - 0.5).abs() < 2e-6, "{}", found.measurements[0]);
}

#[test]
fn one_policy_has_the_exact_optimum_of_the_rover() {
    let problem = rover().constraint(safety()).maximize("reward").build().unwrap();
    let found = solve(&problem, &LastIterate::default(), 40_000);
    assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached));
    assert_eq!((found.mixture.parts().len(), found.samples), (1, 0));
    let optimum = found.objective.as_ref().unwrap();
    let (value, bound) = (optimum.value.unwrap(), optimum.bound.unwrap());
    assert!(
        (value + 0.11100520).abs() < 1.1e-6 && (0.0..1.1e-6).contains(&(bound - value)),
        "{value} {bound}"
    );
    // Plain gradients are a thousand times as far away after as many iterations.
    let plain = LastIterate::default().options(LastIterateOptions::default().optimistic(false));
    let circling = solve(&problem, &plain, found.rounds);
    let reached = problem.measures().range("reward").unwrap().start;
    assert!((circling.measurements[reached] + 0.11100520).abs() > 1e-3, "{:?}", circling.stop);
}

/// Several half-spaces at once in random worlds, and a table for every step: what the linear programme says.
#[test]
fn it_agrees_with_the_occupancy_programme() {
    let mut rng = random::generator(5);
    let mut problems = Vec::new();
    for _ in 0..4 {
        let size = garnet::Size { states: 8, actions: 3, branching: 3, measures: 3 };
        let world = garnet::world(size, &mut rng).unwrap();
        let open = Problem::builder(world.clone()).discount(0.9).maximize("m[0]").build().unwrap();
        let best = solve(&open, &Occupancy, 1).measurements;
        let uniform = TabularPolicy::uniform(8, 3);
        let any =
            rl::Occupancy::of(&world.model, open.discounting(), &uniform).unwrap().measure(&world.model);
        // Halfway to any policy.
        let most = |entry: usize| 0.5 * (best[entry] + any[entry]);
        let free = f64::INFINITY;
        let limits = Bounds::new(vec![-free; 3], vec![free, most(1), most(2)]).unwrap();
        let limits = Constraint::new(["m"], Arc::new(limits));
        let problem = Problem::builder(world).discount(0.9).constraint(limits).maximize("m[0]");
        problems.push(problem.build().unwrap());
    }
    let small = Problem::builder(mars_rover::world("4x4", 0.05).unwrap()).discount(0.99).horizon(12);
    problems.push(
        small.constraint(Constraint::at_most("failure", 0.1).unwrap()).maximize("reward").build().unwrap(),
    );
    for problem in problems {
        let expected = solve(&problem, &Occupancy, 1).objective.unwrap().value.unwrap();
        let found = solve(&problem, &LastIterate::default(), 100_000);
        let value = found.objective.as_ref().unwrap().value.unwrap();
        assert!((value - expected).abs() < 3e-6, "{value} instead of {expected}: {:?}", found.stop);
    }
}

/// Round sets have multipliers too; and multipliers that grow for ever prove that nothing is feasible.
#[test]
fn any_set_is_met_or_refuted() {
    let speed = |least: f64| Constraint::at_least("reward", least).unwrap();
    let diverse = rover().constraints([safety(), speed(-0.17), diversity()]).build().unwrap();
    let found = solve(&diverse, &LastIterate::default(), 20_000);
    assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached));
    assert_eq!(found.mixture.parts().len(), 1);
    let hasty = Constraint::at_most("failure", 0.02).unwrap();
    let impossible = rover().constraints([hasty, speed(-0.125)]).build().unwrap();
    let refuted = solve(&impossible, &LastIterate::default(), 20_000);
    assert_eq!((refuted.verdict(), &refuted.stop), (Verdict::Infeasible, &Stop::Refuted));
    // The least distance is 0.00460232.
    let bound = refuted.certificate.lower_bound;
    assert!(bound > 1e-3 && bound < 0.004603, "{bound}");
}

fn quick() -> Learned {
    let options = LearnedOptions::default().episodes(10_usize).fresh(10_usize);
    Learned { options, ..Learned::by(PpoOptions::default().net_arch(vec![16])) }
}

/// Evaluated exactly, one network keeps the rover safe.
#[test]
fn a_learner_ends_with_one_network() {
    let small = || Problem::builder(mars_rover::world("4x4", 0.05).unwrap()).discount(0.99).horizon(100);
    let problem = small().constraint(safety()).maximize("reward").build().unwrap();
    let method = LastIterate::default().learner(Learned::by(PpoOptions::default()));
    for seed in 0..2 {
        let found = problem.solve(&method, &Budget::samples(40_000), seed, &mut ()).unwrap();
        assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Samples), "seed {seed}");
        assert_eq!(found.mixture.parts().len(), 1);
        assert!(found.objective.as_ref().unwrap().value.unwrap() > -0.1, "{:?}", found.objective);
        verify(&problem, &found, 7).unwrap();
    }
    let reward = Constraint::at_least("reward", -0.17).unwrap();
    let problem = small().constraints([safety(), reward]).build().unwrap();
    let found = problem.solve(&method, &Budget::samples(60_000), 0, &mut ()).unwrap();
    assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached));
    assert_eq!(found.mixture.parts().len(), 1);
}

#[test]
fn what_is_taken_up_again_ends_as_it_would_have() {
    let problem = rover().constraint(safety()).maximize("reward").build().unwrap();
    is_resumed(&problem, &LastIterate::default(), &Budget::default().rounds(70));
    // With steps that are halved on the way.
    let wild = LastIterate::default().options(LastIterateOptions::default().multiplier_lr(5.0));
    is_resumed(&problem, &wild, &Budget::default().rounds(900));
    let learning = LastIterate::default().learner(quick());
    is_resumed(&problem, &learning, &Budget::samples(6_000));
    let steps = Constraint::at_least("steps", 45.0).unwrap();
    is_resumed(&cart_pole().constraint(steps).build().unwrap(), &learning, &Budget::samples(6_000));
}

/// It plans where it can, learns where it can't, and says which.
#[test]
fn the_oracle_follows_from_the_world() {
    let read = |oracle: &str| {
        Registry::standard().read_method(&Table::new([("method", "last-iterate"), ("oracle", oracle)]))
    };
    let planned = rover().constraint(safety()).build().unwrap();
    let played = cart_pole().constraint(Constraint::at_least("steps", 45.0).unwrap()).build().unwrap();
    let budget = Budget::default();
    for (problem, expected) in [(&planned, "exact"), (&played, "ppo")] {
        let table = LastIterate::default().table(problem, &budget).unwrap();
        assert_eq!(table.get("oracle"), Some(&expected.into()));
        let again = Registry::standard().read_method(&table).unwrap();
        assert_eq!(again.table(problem, &budget).unwrap(), table);
    }
    let error = read("exact").unwrap().check(&played).unwrap_err().to_string();
    assert!(error.contains("a known model"), "{error}");
    let refused = read("model").unwrap_err().message;
    assert!(refused.contains("\"model\" is no learner"), "{refused}");
}
