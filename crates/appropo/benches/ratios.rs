//! Speed as ratios to a named alternative, measured in one run: `make bench`.

#![allow(clippy::unwrap_used, clippy::panic)]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant};

use appropo::baseline::solve_occupancy;
use appropo::certificate::Verdict;
use appropo::constraint::{Constraint, Target};
use appropo::env::{TabularMdp, World, mars_rover};
use appropo::measurement::Discounting;
use appropo::oracle::{Exact, Planner};
use appropo::player::FullyCorrective;
use appropo::random;
use appropo::set::{Ball, Bounds, Conic, ConvexSet, Lift, Product, SharedSet};
use appropo::solver::{StopRule, appropo};

const PAIRS: usize = 11;

/// 66 entries: failure, reward and the visits to 64 cells.
fn product() -> SharedSet {
    Arc::new(Product::new(vec![
        Arc::new(Bounds::at_most(0.2).unwrap()),
        Arc::new(Bounds::at_least(-0.17).unwrap()),
        Arc::new(Ball::new(vec![1.0 / 64.0; 64], 0.12).unwrap()),
    ]))
}

/// Points outside the set, of the size that measurements have.
fn points(dim: usize) -> Vec<Vec<f64>> {
    let mut rng = random::generator(0);
    (0..64).map(|_| (0..dim).map(|_| 2.0 * random::unit(&mut rng) - 0.5).collect()).collect()
}

fn diverse_rover() -> (Target, TabularMdp, Discounting) {
    let world = mars_rover::world("8x8", 0.05).unwrap();
    let center = world.grid.clone().unwrap().uniform_upper_triangle();
    let constraints = vec![
        Constraint::at_most("failure", 0.2).unwrap(),
        Constraint::at_least("reward", -0.17).unwrap(),
        Constraint::share("visits", Arc::new(Ball::new(center, 0.12).unwrap())),
    ];
    with(&world, constraints, 0.99)
}

/// A random map with 5% rocks, and a reward that leaves room for a detour of a quarter of the shortest way.
fn large_rover(side: usize) -> (Target, TabularMdp, Discounting) {
    let map = mars_rover::random_map(side, side, 0.05, &mut random::generator(1)).unwrap();
    let world = mars_rover::world(&map, 0.05).unwrap();
    let gamma: f64 = 0.999;
    let shortest = -0.01 * (1.0 - gamma.powi(2 * side as i32)) / (1.0 - gamma);
    let constraints = vec![
        Constraint::at_most("failure", 0.2).unwrap(),
        Constraint::at_least("reward", 1.25 * shortest).unwrap(),
    ];
    with(&world, constraints, gamma)
}

fn with(world: &World, constraints: Vec<Constraint>, gamma: f64) -> (Target, TabularMdp, Discounting) {
    let target = Target::new(world.model.measures(), constraints).unwrap();
    let model = world.model.select(target.selection());
    (target, model, Discounting::new(gamma, None).unwrap())
}

fn corrective((target, model, discounting): &(Target, TabularMdp, Discounting)) {
    let mut oracle = Exact::new(model.clone(), *discounting, Planner::PolicyIteration).unwrap();
    let mut player = FullyCorrective::new(Arc::clone(target.set()));
    let solution = appropo(target.set(), &mut player, &mut oracle, &StopRule::default(), &mut ()).unwrap();
    assert_eq!(solution.certificate.verdict, Verdict::Feasible);
}

fn occupancy((target, model, discounting): &(Target, TabularMdp, Discounting)) {
    let programme = solve_occupancy(target.set(), model, discounting, 1e-6).unwrap();
    assert_eq!(programme.certificate.verdict, Verdict::Feasible);
}

/// Seconds that one call takes, over as many as fill a tenth of a second; what is prepared for it is not counted.
fn seconds<T>(prepare: &impl Fn() -> T, run: &mut impl FnMut(&T)) -> f64 {
    let (mut spent, mut calls) = (Duration::ZERO, 0);
    while spent < Duration::from_millis(100) {
        let prepared = prepare();
        let start = Instant::now();
        run(&prepared);
        spent += start.elapsed();
        calls += 1;
    }
    spent.as_secs_f64() / f64::from(calls)
}

/// How many times faster the first is: the median of pairs measured one right after the other, since what else the
/// machine does slows both.
fn ratio<T>(prepare: impl Fn() -> T, mut fast: impl FnMut(&T), mut slow: impl FnMut(&T)) -> f64 {
    let mut ratios: Vec<f64> =
        (0..PAIRS).map(|_| seconds(&prepare, &mut slow) / seconds(&prepare, &mut fast)).collect();
    ratios.sort_by(f64::total_cmp);
    ratios[PAIRS / 2]
}

fn projection(set: &SharedSet) -> f64 {
    let form: Conic = set.conic().unwrap();
    let points = points(set.dim());
    let mut out = vec![0.0; set.dim()];
    let (mut i, mut j) = (0, 0);
    let fast = |(): &()| {
        i = (i + 1) % points.len();
        set.project(black_box(&points[i]), &mut out);
        black_box(&mut out);
    };
    let slow = |(): &()| {
        j = (j + 1) % points.len();
        black_box(form.nearest_to(black_box(&points[j]), 1e-8).unwrap());
    };
    ratio(|| (), fast, slow)
}

/// Peak memory of this process in MiB, where the system tells it.
fn peak_memory() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|l| l.starts_with("VmHWM"))?;
    line.split_whitespace().nth(1)?.parse::<f64>().ok().map(|kib| kib / 1024.0)
}

fn main() {
    // Growth comes first, so that the peak of memory belongs to the map it is printed beside.
    println!("growth: the exact corrective solve, two scalar constraints, discount 0.999");
    for side in [30, 100, 300] {
        let problem = large_rover(side);
        let start = Instant::now();
        corrective(&problem);
        let transitions = problem.1.transitions();
        let memory = peak_memory().map_or("unknown".into(), |m| {
            format!("{m:.0} MiB, {:.0} bytes a transition", m * 1_048_576.0 / transitions as f64)
        });
        println!(
            "  {side} by {side}: {transitions} transitions, {:.3} s, peak memory {memory}",
            start.elapsed().as_secs_f64()
        );
    }
    let lifted: SharedSet = Arc::new(Lift::new(product(), 20.0).unwrap());
    // A model remembers what policies visit. One that is shared saves later repetitions the linear solves of the first.
    let (diverse, large) = (diverse_rover(), large_rover(100));
    let rows = [
        ("projection onto the 66-dimensional product", 500.0, projection(&product())),
        ("projection onto its lifted cone", 20.0, projection(&lifted)),
        (
            "diverse 8 by 8 rover",
            5.0,
            ratio(|| &diverse, |world| corrective(world), |world| occupancy(world)),
        ),
        ("the same in a fresh model each time", 4.5, ratio(diverse_rover, corrective, occupancy)),
        (
            "random 100 by 100 rover",
            80.0,
            ratio(|| &large, |world| corrective(world), |world| occupancy(world)),
        ),
        ("the same in a fresh model each time", 60.0, ratio(|| large_rover(100), corrective, occupancy)),
    ];
    println!("\ntimes faster than Clarabel on the same problem (required)");
    let mut missed = false;
    for (name, required, found) in rows {
        println!("  {found:8.1} ({required})  {name}");
        missed |= found < required;
    }
    assert!(!missed, "a ratio is below what is required");
}
