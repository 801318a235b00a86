//! Prices of bounds against differences of the exact optimum, and the nearest that can be had.

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::garnet;
use appropo::method::{Appropo, Budget};
use appropo::outcome::Outcome;
use appropo::price::Loosened;
use appropo::problem::{Direction, Problem};
use appropo::random;
use appropo::set::{Ball, Bounds};
use std::sync::Arc;

use crate::solving::rover;

fn solved(problem: &Problem) -> Outcome {
    // Where sets are round, prices are as exact as the root of the tolerance.
    problem.solve(&Appropo::default(), &Budget::default().tolerance(1e-10), 0, &mut ()).unwrap()
}

fn value(problem: &Problem) -> f64 {
    solved(problem).objective.unwrap().value.unwrap()
}

/// A problem with bounds at some values, which are loosened or tightened by `by`.
type Stated = fn(&[f64]) -> Vec<Constraint>;

/// A price is a slope of the best value as a function of the bound: between its slopes to both sides.
fn is_slope(problem: &dyn Fn(&[f64]) -> Problem, bounds: &[f64], signs: &[f64]) -> usize {
    let at = problem(bounds);
    let outcome = solved(&at);
    let direction = at.objective().unwrap().direction.sign();
    let best = direction * outcome.objective.as_ref().unwrap().value.unwrap();
    let mut active = 0;
    for (i, price) in outcome.prices(&at).iter().enumerate() {
        let step = 1e-4 * bounds[i].abs().max(0.01);
        let moved = |by: f64| {
            let mut bounds = bounds.to_vec();
            bounds[i] += by * signs[i];
            direction * value(&problem(&bounds))
        };
        let (gain, loss) = ((moved(step) - best) / step, (best - moved(-step)) / step);
        let slack = 1e-4 * (1.0 + price.price.abs());
        assert!(gain <= price.price + slack && price.price <= loss + slack, "{gain} {price:?} {loss}");
        active += usize::from(price.price > 1e-6);
        // However far: never more than the price says.
        let far = moved(1000.0 * step) - best;
        assert!(far <= 1000.0 * step * price.price + 1e-6 * (1.0 + best.abs()), "{far} {price:?}");
    }
    active
}

#[test]
fn a_price_is_the_slope_of_the_optimum() {
    let by_failure = |bounds: &[f64]| {
        let limits = [
            Constraint::at_most("failure", bounds[0]).unwrap(),
            Constraint::at_most("steps", bounds[1]).unwrap(),
        ];
        rover().constraints(limits).maximize("reward").build().unwrap()
    };
    assert_eq!(is_slope(&by_failure, &[0.2, 50.0], &[1.0, 1.0]), 1);
    let outcome = solved(&by_failure(&[0.2, 50.0]));
    let problem = by_failure(&[0.2, 50.0]);
    let prices = outcome.prices(&problem);
    assert_eq!((prices[0].loosened, prices[1].price), (Loosened::Upper, 0.0));
    let sentence = prices[0].sentence(&problem);
    assert!(
        sentence.starts_with("price of failure: one more failure allowed is worth 0.0")
            && sentence.ends_with(" more reward"),
        "{sentence}"
    );
    let by_reward = |bounds: &[f64]| {
        rover()
            .constraint(Constraint::at_least("reward", bounds[0]).unwrap())
            .minimize("failure")
            .build()
            .unwrap()
    };
    assert_eq!(is_slope(&by_reward, &[-0.12], &[-1.0]), 1);
    let outcome = solved(&by_reward(&[-0.12]));
    assert_eq!(outcome.prices(&by_reward(&[-0.12]))[0].loosened, Loosened::Lower);
}

/// Scales, shares, balls and equations, in random models: the units are always those of the measures.
#[test]
fn prices_are_in_the_units_of_the_problem() {
    let mut active = 0;
    for seed in 0..4 {
        let size = garnet::Size { states: 20, actions: 4, branching: 3, measures: 3 };
        let world = garnet::world(size, &mut random::generator(seed)).unwrap();
        let stated: [(Stated, [f64; 2]); 3] = [
            (
                |b| {
                    vec![
                        Constraint::at_most("m[1]", b[0]).unwrap().scaled(50.0),
                        Constraint::at_most("m[2]", b[1]).unwrap().scaled(0.1),
                    ]
                },
                [-1.0, 0.3],
            ),
            (
                |b| {
                    vec![
                        Constraint::share("m[1]", Arc::new(Bounds::at_most(b[0]).unwrap())),
                        Constraint::at_most("m[2]", b[1]).unwrap(),
                    ]
                },
                [-0.1, 0.3],
            ),
            (
                |b| {
                    vec![
                        Constraint::new(["m[1]", "m[2]"], Arc::new(Ball::new(vec![0.0, 0.0], b[0]).unwrap()))
                            .scaled(3.0),
                        Constraint::at_most("m[0]", b[1]).unwrap(),
                    ]
                },
                [0.7, 1e3],
            ),
        ];
        for (constraints, bounds) in stated {
            for direction in [Direction::Maximize, Direction::Minimize] {
                let world = &world;
                let problem = |bounds: &[f64]| {
                    let problem = Problem::builder(Arc::clone(&world.model)).discount(0.9);
                    let problem = problem.constraints(constraints(bounds)).build().unwrap();
                    problem.with_objective("m[0]", direction).unwrap()
                };
                active += is_slope(&problem, &bounds, &[1.0, 1.0]);
            }
        }
    }
    assert!(active > 20, "{active}");
}

#[test]
fn the_nearest_that_can_be_had_is_named() {
    let limits =
        [Constraint::at_most("failure", 0.02).unwrap(), Constraint::at_least("reward", -0.125).unwrap()];
    for maximize in [None, Some("steps")] {
        let problem = rover().constraints(limits.clone()).build().unwrap();
        let problem = match maximize {
            Some(measure) => problem.with_objective(measure, Direction::Maximize).unwrap(),
            None => problem,
        };
        let outcome = solved(&problem);
        assert_eq!(outcome.verdict(), Verdict::Infeasible);
        let nearest = outcome.nearest(&problem).unwrap();
        assert!((nearest.distance - 0.00460232).abs() < 1e-7, "{nearest:?}");
        let found: Vec<f64> = nearest.values.iter().map(|(_, value)| *value).collect();
        let expected = ((found[0] - 0.02).max(0.0).powi(2) + (-0.125 - found[1]).max(0.0).powi(2)).sqrt();
        assert!((expected - nearest.distance).abs() < 1e-9, "{nearest:?}");
        assert!(
            nearest.sentence().starts_with("the nearest that can be had: failure 0.02"),
            "{}",
            nearest.sentence()
        );
        assert!(outcome.prices(&problem).is_empty());
    }
    let feasible = rover().constraint(Constraint::at_most("failure", 0.2).unwrap()).build().unwrap();
    assert_eq!(solved(&feasible).nearest(&feasible), None);
}
