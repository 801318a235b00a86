//! Temporary.
use appropo::env::mars_rover;
use appropo::measurement::*;
use appropo::policy::TabularPolicy;
use appropo::random;
use appropo::rl;
use std::time::Instant;
fn main() {
    let n: usize = std::env::args().nth(1).unwrap().parse().unwrap();
    let t = Instant::now();
    let map = mars_rover::random_map(n, n, 0.05, &mut random::generator(1)).unwrap();
    println!("map {:.2}", t.elapsed().as_secs_f64());
    let world = mars_rover::world(&map, 0.05).unwrap();
    println!("world {:.2}", t.elapsed().as_secs_f64());
    let model = world.model.select(&Selection { entries: vec![(0, 1.0), (1, 1.0)] });
    println!("select {:.2}", t.elapsed().as_secs_f64());
    let decisions = rl::decision_states(&model);
    println!("decisions {:.2}", t.elapsed().as_secs_f64());
    let lams: Vec<(f64, f64)> = if let Some(y) = std::env::args().nth(2) {
        y.split(',').map(|y| (y.parse().unwrap(), -1.0)).collect()
    } else {
        vec![(0.0, -1.0), (1.0, 0.0), (0.7071, -0.7071), (0.98, -0.2), (0.9998, -0.02)]
    };
    for (f, r) in lams {
        let t = Instant::now();
        let rewards = model.rewards(&[f, r]);
        let tr = t.elapsed().as_secs_f64();
        let plan = rl::policy_iteration(&model, 0.999, &decisions, &rewards, 1000.0).unwrap();
        let tp = t.elapsed().as_secs_f64() - tr;
        let witness = appropo::certificate::ValueFunction { values: plan.values, steps: None };
        let t = Instant::now();
        let d = Discounting::new(0.999, None).unwrap();
        let bound = appropo::certificate::least_payoff(&model, &d, &decisions, &[f, r], &witness).unwrap();
        let tb = t.elapsed().as_secs_f64();
        let t = Instant::now();
        let z = rl::Occupancy::of(
            &model,
            &d,
            &TabularPolicy::deterministic(model.states(), 4, plan.actions).unwrap(),
        )
        .unwrap()
        .measure(&model);
        println!(
            "lambda {f} {r}: rewards {tr:.2} plan {tp:.2} bound {tb:.2} visits {:.2}; value {:.12} bound {:.12} gap {:.1e}",
            t.elapsed().as_secs_f64(),
            f * z[0] + r * z[1],
            bound,
            f * z[0] + r * z[1] - bound
        );
    }
}
