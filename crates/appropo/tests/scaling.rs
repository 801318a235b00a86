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
        let entries = self.entries.iter().copied().zip(units.iter().copied()).collect();
        let model = Arc::new(self.model.select(&Selection { entries }));
        let problem = Problem::builder(model)
            .discount(self.discount)
            .constraints((self.constraints)(units))
            .maximize("selected[0]")
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
#[test]
fn experiment() {
    for case in cases() {
        let dim = case.entries.len();
        let plain = vec![1.0; dim];
        let start = std::time::Instant::now();
        let expected = case.solve(&plain);
        println!("{}: {expected:?} {:?}", case.name, start.elapsed());
        let is_ball = case.name.starts_with("ball");
        for factor in [1e-6, 1e-4, 1e-2, 1e2, 1e4, 2e5, 1e6] {
            let mut units = plain.clone();
            units[0] = factor;
            let found = case.solve(&units);
            println!(
                "  objective {factor:e}: {:?} {:?} {} calls {:?}",
                found.verdict,
                found.value.zip(expected.value).map(|(a, b)| a - b),
                found.calls,
                found.stop
            );
        }
        for factor in [1e-4, 1e-2, 1e2, 1e4] {
            for entry in 1..if is_ball { 3 } else { dim.min(3) } {
                let mut units = plain.clone();
                units[entry] = factor;
                if is_ball && entry == 2 {
                    units[3] = factor;
                }
                let found = case.solve(&units);
                println!(
                    "  constraint {entry} {factor:e}: {:?} {:?} {} calls {:?}",
                    found.verdict,
                    found.value.zip(expected.value).map(|(a, b)| a - b),
                    found.calls,
                    found.stop
                );
            }
        }
        println!("  {:?}", start.elapsed());
    }
}
