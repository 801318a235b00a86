//! Units: what is found does not depend on what objectives and constraints are measured in.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::{TabularMdp, garnet, mars_rover};
use appropo::measurement::Selection;
use appropo::method::{Appropo, Budget};
use appropo::problem::Problem;
use appropo::random;
use appropo::set::Ball;
use appropo::solver::Stop;
use appropo::utility::Utility;

/// A model whose measures are the objective and the entries of constraints, and what they must satisfy.
struct Case {
    name: String,
    model: Arc<TabularMdp>,
    discount: f64,
    /// The entries of the model that are measured: the objective first.
    entries: Vec<usize>,
    constraints: fn(&[f64]) -> Vec<Constraint>,
}

#[derive(Debug)]
struct Found {
    verdict: Verdict,
    value: Option<f64>,
    bound: Option<f64>,
    calls: usize,
    stop: Stop,
}

impl Case {
    /// The outcome with every measure in other units, in the units of before.
    fn solve(&self, units: &[f64]) -> Found {
        self.optimize("selected[0]".into(), units)
    }

    fn optimize(&self, utility: Utility, units: &[f64]) -> Found {
        let entries = self.entries.iter().copied().zip(units.iter().copied()).collect();
        let model = Arc::new(self.model.select(&Selection { entries }));
        let problem = Problem::builder(model)
            .discount(self.discount)
            .constraints((self.constraints)(units))
            .maximize(utility)
            .build()
            .unwrap();
        let outcome = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
        let objective = outcome.objective.clone().unwrap();
        let in_units = |value: Option<f64>| value.map(|value| value / units[0]);
        Found {
            verdict: outcome.verdict(),
            value: in_units(objective.value),
            bound: in_units(objective.bound),
            calls: outcome.rounds,
            stop: outcome.stop,
        }
    }
}

fn at_most(entry: usize, bound: f64, units: &[f64]) -> Constraint {
    Constraint::at_most(&format!("selected[{entry}]"), bound * units[entry]).unwrap()
}

fn at_least(entry: usize, bound: f64, units: &[f64]) -> Constraint {
    Constraint::at_least(&format!("selected[{entry}]"), bound * units[entry]).unwrap()
}

fn cases() -> Vec<Case> {
    let rover = mars_rover::world("8x8", 0.05).unwrap().model;
    let entry = |name: &str| rover.measures().range(name).unwrap().start;
    let mut cases = vec![Case {
        name: "rover".into(),
        discount: 0.99,
        entries: vec![entry("reward"), entry("failure"), entry("steps")],
        constraints: |units| vec![at_most(1, 0.2, units), at_most(2, 14.0, units)],
        model: Arc::clone(&rover),
    }];
    for seed in 0..4 {
        let size = garnet::Size { states: 30, actions: 4, branching: 3, measures: 4 };
        let model = garnet::world(size, &mut random::generator(seed)).unwrap().model;
        let case = |name: &str, constraints| Case {
            name: format!("{name} {seed}"),
            model: Arc::clone(&model),
            discount: 0.95,
            entries: vec![0, 1, 2, 3],
            constraints,
        };
        cases.push(case("bounds", |units| vec![at_most(1, -2.0, units), at_least(2, 1.0, units)]));
        cases.push(case("infeasible", |units| vec![at_most(1, -30.0, units), at_least(2, 1.0, units)]));
        cases.push(case("ball", |units| {
            let ball = Ball::new(vec![3.0 * units[2], 1.0 * units[2]], 1.0 * units[2]).unwrap();
            vec![at_most(1, -1.0, units), Constraint::new(["selected[2]", "selected[3]"], Arc::new(ball))]
        }));
    }
    cases
}

/// One measure in another unit each: an objective of a millionth or a million, constraints of a ten thousandth or ten thousand.
/// One whose objective was 200,000 times as large as its constraints used to end undecided.
#[test]
fn maximising_does_not_depend_on_units() {
    for case in cases() {
        let dim = case.entries.len();
        let plain = vec![1.0; dim];
        let expected = case.solve(&plain);
        let blocks: Vec<Vec<usize>> = match case.name.starts_with("ball") {
            true => vec![vec![1], vec![2, 3]],
            false => (1..dim.min(3)).map(|i| vec![i]).collect(),
        };
        let objectives = [1e-6, 1e-3, 1e2, 2e5, 1e6].map(|factor| (vec![0], factor));
        let constraints =
            blocks.into_iter().flat_map(|block| [1e-4, 1e-2, 1e2, 1e4].map(|factor| (block.clone(), factor)));
        for (entries, factor) in objectives.into_iter().chain(constraints) {
            let mut units = plain.clone();
            entries.iter().for_each(|entry| units[*entry] = factor);
            let found = case.solve(&units);
            let what =
                format!("{} with {entries:?} times {factor:e}: {found:?} against {expected:?}", case.name);
            assert_eq!((found.verdict, found.stop), (expected.verdict, expected.stop.clone()), "{what}");
            let is_same = |a: Option<f64>, b: Option<f64>| match (a, b) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-6 * b.abs(),
                (a, b) => a == b,
            };
            assert!(is_same(found.value, expected.value) && is_same(found.bound, expected.bound), "{what}");
            assert!(found.calls <= 2 * expected.calls + 4, "{what}");
        }
    }
}

/// The same for a sum of functions: weights of an objective are units, too.
#[test]
fn functions_do_not_depend_on_units_either() {
    for case in cases().into_iter().filter(|case| case.name.starts_with("bounds")) {
        let utility = |weight: f64| {
            let near = Utility::squared_distance("selected[3]", vec![1.0]).weighted(-0.1 * weight);
            Utility::from("selected[0]").weighted(weight) + near
        };
        let expected = case.optimize(utility(1.0), &[1.0; 4]);
        let (value, bound) = (expected.value.unwrap(), expected.bound.unwrap());
        for (weight, constraint) in [(1e-4, 1.0), (1e5, 1.0), (1.0, 1e-4), (1.0, 1e4), (1e3, 1e3)] {
            let found = case.optimize(utility(weight), &[1.0, constraint, 1.0, 1.0]);
            let what =
                format!("{}, {weight:e} and {constraint:e}: {found:?} against {expected:?}", case.name);
            assert_eq!((found.verdict, &found.stop), (expected.verdict, &expected.stop), "{what}");
            assert!((found.value.unwrap() / weight - value).abs() <= 2e-6 * value.abs(), "{what}");
            assert!((found.bound.unwrap() / weight - bound).abs() <= 2e-6 * bound.abs(), "{what}");
            assert!(found.calls <= 2 * expected.calls + 4, "{what}");
        }
    }
}
