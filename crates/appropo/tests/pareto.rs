//! Pareto fronts: their vertices are feasible and not dominated, and what is proved beyond them meets them within ε.

use std::ops::ControlFlow;

use appropo::constraint::Constraint;
use appropo::env::{deep_sea_treasure, garnet};
use appropo::front::{Front, FrontMeasure};
use appropo::problem::Problem;
use appropo::random;
use appropo::solver::{ParetoRule, Stop};

use crate::solving::{rover, safety};

fn front(problem: &Problem, measures: &[FrontMeasure], rule: &ParetoRule) -> Front {
    problem.pareto(measures, rule, &mut |_| Ok(ControlFlow::Continue(()))).unwrap()
}

#[test]
fn experiment() {
    let start = std::time::Instant::now();
    let problem = Problem::builder(deep_sea_treasure::world(true).unwrap()).discount(0.99).build().unwrap();
    let measures = [FrontMeasure::maximize("treasure"), FrontMeasure::maximize("time")];
    let found = front(&problem, &measures, &ParetoRule::default());
    for v in &found.vertices {
        println!("{:?}", v.values);
    }
    println!("{} {} {:?} {:?}", found.sentence(), found.oracle_calls, found.stop, start.elapsed());
    for epsilon in [1e-2, 1e-3, 1e-4, 1e-6, 1e-8] {
        let start = std::time::Instant::now();
        let problem = rover().constraints([]).build().unwrap();
        let measures = [FrontMeasure::maximize("reward"), FrontMeasure::minimize("failure")];
        let found = front(&problem, &measures, &ParetoRule::default().epsilon(epsilon));
        println!("{} {} {:?} {:?}", found.sentence(), found.oracle_calls, found.stop, start.elapsed());
    }
    for epsilon in [1e-2, 1e-3, 1e-4, 1e-6] {
        let start = std::time::Instant::now();
        let problem = rover().constraint(safety()).build().unwrap();
        let measures = [FrontMeasure::maximize("reward"), FrontMeasure::minimize("failure")];
        let found = front(&problem, &measures, &ParetoRule::default().epsilon(epsilon));
        println!("{} {} {:?} {:?}", found.sentence(), found.oracle_calls, found.stop, start.elapsed());
    }
    for (k, epsilon) in [(2, 1e-6), (3, 1e-2), (3, 1e-3), (4, 3e-2)] {
        for seed in 0..2 {
            let start = std::time::Instant::now();
            let size = garnet::Size { states: 20, actions: 4, branching: 3, measures: 5 };
            let world = garnet::world(size, &mut random::generator(seed)).unwrap();
            let problem = Problem::builder(world)
                .discount(0.9)
                .constraint(Constraint::at_most("m[4]", 0.5).unwrap())
                .build()
                .unwrap();
            let measures: Vec<_> = (0..k).map(|i| FrontMeasure::maximize(format!("m[{i}]"))).collect();
            let found = front(&problem, &measures, &ParetoRule::default().epsilon(epsilon));
            println!(
                "{k} {} {} {} {:?} {:?}",
                found.sentence(),
                found.corners.len(),
                found.oracle_calls,
                found.stop,
                start.elapsed()
            );
        }
    }
}
