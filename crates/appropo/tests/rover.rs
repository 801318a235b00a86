//! The Mars rover's exact answers, found in every way there is.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::baseline::{maximize_occupancy, solve_occupancy};
use appropo::certificate::Verdict;
use appropo::constraint::{Constraint, Target};
use appropo::env::{World, mars_rover};
use appropo::measurement::Discounting;
use appropo::oracle::{Cache, Exact, Planner, Respond};
use appropo::player::{Blackwell, FullyCorrective, Ogd, Steps};
use appropo::set::{Ball, SharedSet};
use appropo::solver::{
    Maximum, Round, Solution, StopRule, appropo, binary_search, maximize, with_free_objective,
};
use appropo::theory;
use appropo::utility::Criterion;

/// The answers are known to eight digits.
const DIGITS: f64 = 1e-7;

fn rover() -> World {
    mars_rover::world("8x8", 0.05).unwrap()
}

fn discounted() -> Discounting {
    Discounting::new(0.99, None).unwrap()
}

fn diversity(radius: f64) -> Constraint {
    let center = rover().grid.unwrap().uniform_upper_triangle();
    Constraint::share("visits", Arc::new(Ball::new(center, radius).unwrap()))
}

fn safety() -> Constraint {
    Constraint::at_most("failure", 0.2).unwrap()
}

fn speed() -> Constraint {
    Constraint::at_least("reward", -0.17).unwrap()
}

fn in_master(set: &SharedSet, oracle: &mut dyn Respond, rule: &StopRule) -> Maximum {
    let mut player = FullyCorrective::new(with_free_objective(set).unwrap());
    maximize(set, &Criterion::last(), &mut player, oracle, rule, &mut ()).unwrap()
}

/// The optimum of one measure, three ways: in the master, by binary search, and as one conic programme.
fn optimum(measure: &str, sign: f64, constraints: Vec<Constraint>, discounting: Discounting) -> f64 {
    let world = rover();
    let target = Target::new(world.model.measures(), constraints).unwrap();
    let objective = world.model.measures().range(measure).unwrap().start;
    let model = world.model.select(&target.selection_with(&[(objective, sign)]));
    let exact = || Exact::new(model.clone(), discounting, Planner::PolicyIteration).unwrap();
    let options = StopRule::default().tolerance(1e-8);
    let found = in_master(target.set(), &mut exact(), &options);
    let value = found.value.unwrap();
    assert!(found.upper_bound - value <= 1e-8 && found.upper_bound >= value - 1e-10);
    let proved =
        exact().upper_bound(found.ceiling.as_ref().unwrap(), target.set(), &Criterion::last()).unwrap();
    assert!((proved - found.upper_bound).abs() <= 1e-7, "{proved} is proved, {} claimed", found.upper_bound);
    let mut cache = Cache::new(exact());
    let options = options.tolerance(1e-6);
    let searched = binary_search(target.set(), &mut cache, &options, &mut ()).unwrap();
    assert!((searched.value.unwrap() - value).abs() <= 1e-6, "{:?} by search", searched.value);
    assert!(searched.upper_bound >= value - 1e-8);
    let proved =
        exact().upper_bound(searched.ceiling.as_ref().unwrap(), target.set(), &Criterion::last()).unwrap();
    assert!(proved >= value - 1e-8 && proved <= searched.upper_bound + 1e-6, "{proved} is proved");
    if discounting.horizon().is_none() {
        let programme =
            maximize_occupancy(target.set(), &Criterion::last(), &model, &discounting, 1e-6).unwrap();
        let by_programme = *programme.certificate.z_bar.last().unwrap();
        assert!((by_programme - value).abs() <= 1e-6, "{by_programme} by the programme, {value} by appropo");
    }
    sign * value
}

#[track_caller]
fn agree(found: f64, expected: f64) {
    assert!((found - expected).abs() <= DIGITS, "found {found}, expected {expected}");
}

#[test]
fn largest_reward_without_constraints_is_by_crashing() {
    agree(optimum("reward", 1.0, vec![], discounted()), -0.04165632);
    // Crashing is all that this policy does.
    let world = rover();
    let target = Target::new(world.model.measures(), vec![]).unwrap();
    let model = world.model.select(&target.selection_with(&[(1, 1.0)]));
    let mut exact = Exact::new(model, discounted(), Planner::PolicyIteration).unwrap();
    let best = in_master(target.set(), &mut exact, &StopRule::default());
    let all = Exact::new((*world.model).clone(), discounted(), Planner::PolicyIteration).unwrap();
    agree(all.measure(&best.mixture).unwrap()[0], 0.95834368);
}

#[test]
fn largest_reward_with_the_safety_constraint() {
    agree(optimum("reward", 1.0, vec![safety()], discounted()), -0.11100520);
}

#[test]
fn largest_reward_with_safety_and_diversity() {
    agree(optimum("reward", 1.0, vec![safety(), diversity(0.12)], discounted()), -0.1112974);
}

#[test]
fn least_failure_with_the_speed_constraint() {
    agree(optimum("failure", -1.0, vec![speed()], discounted()), 0.02243969);
}

#[test]
fn undiscounted_with_and_without_the_horizon() {
    let undiscounted = Discounting::new(1.0, None).unwrap();
    agree(optimum("reward", 1.0, vec![safety()], undiscounted), -0.11878246);
    let capped = Discounting::new(1.0, Some(300)).unwrap();
    agree(optimum("reward", 1.0, vec![safety()], capped), -0.11878246);
}

fn solve(constraints: Vec<Constraint>, tolerance: f64) -> (Target, Exact, Solution) {
    let world = rover();
    let target = Target::new(world.model.measures(), constraints).unwrap();
    let model = world.model.select(target.selection());
    let mut exact = Exact::new(model, discounted(), Planner::PolicyIteration).unwrap();
    let mut player = FullyCorrective::new(Arc::clone(target.set()));
    let options = StopRule::default().tolerance(tolerance);
    let solution = appropo(target.set(), &mut player, &mut exact, &options, &mut ()).unwrap();
    exact.check(&solution.certificate, target.set(), &solution.mixture).unwrap();
    (target, exact, solution)
}

#[test]
fn few_calls_reach_the_target_set() {
    let (_, _, plain) = solve(vec![safety(), speed()], 1e-9);
    assert_eq!(plain.certificate.verdict, Verdict::Feasible);
    assert!(plain.certificate.distance <= 1e-9);
    assert!(plain.rounds <= 4, "{} calls", plain.rounds);
    let (_, _, diverse) = solve(vec![safety(), speed(), diversity(0.12)], 1e-9);
    assert_eq!(diverse.certificate.verdict, Verdict::Feasible);
    assert!(diverse.certificate.distance <= 1e-9);
    assert!(diverse.rounds <= 25, "{} calls", diverse.rounds);
}

#[test]
fn the_least_diversity_radius_lies_between_two_verdicts() {
    let verdict = |radius| solve(vec![safety(), speed(), diversity(radius)], 1e-8).2.certificate.verdict;
    assert_eq!(verdict(0.0465919 + 5e-7), Verdict::Feasible);
    assert_eq!(verdict(0.0465919 - 5e-7), Verdict::Infeasible);
}

#[test]
fn an_infeasible_set_is_proved_so_with_its_distance() {
    let impossible = || {
        vec![Constraint::at_most("failure", 0.02).unwrap(), Constraint::at_least("reward", -0.125).unwrap()]
    };
    let (target, _, solution) = solve(impossible(), 1e-8);
    let certificate = &solution.certificate;
    assert_eq!(certificate.verdict, Verdict::Infeasible);
    agree(certificate.distance, 0.00460232);
    assert!(certificate.distance - certificate.lower_bound <= 1e-8);
    let model = rover().model.select(target.selection());
    let programme = solve_occupancy(target.set(), &model, &discounted(), 1e-6).unwrap();
    assert!((programme.certificate.distance - 0.00460232).abs() <= 1e-6);
    assert_eq!(programme.certificate.verdict, Verdict::Infeasible);
}

/// Diversity needs shares: plain discounted visits are far from the set, and (1 − γ)-normalised ones not in it.
#[test]
fn visits_that_are_not_shares_miss_the_set() {
    let center = rover().grid.unwrap().uniform_upper_triangle();
    let plain = Constraint::new(["visits"], Arc::new(Ball::new(center.clone(), 0.12).unwrap()));
    let hundredfold = center.iter().map(|c| 100.0 * c).collect();
    let normalised = Constraint {
        scale: 100.0,
        ..Constraint::new(["visits"], Arc::new(Ball::new(hundredfold, 12.0).unwrap()))
    };
    for (visits, expected) in [(plain, 1.249), (normalised, 0.029)] {
        let certificate = solve(vec![safety(), speed(), visits], 1e-6).2.certificate;
        assert_eq!(certificate.verdict, Verdict::Infeasible);
        assert!((certificate.distance - expected).abs() < 5e-4, "{} for {expected}", certificate.distance);
        assert!(certificate.distance - certificate.lower_bound <= 1e-6);
    }
}

/// The unit of violation changes the way, not the answer.
#[test]
fn the_scale_of_a_constraint_does_not_change_the_verdict() {
    for scale in [100.0, 1.0, 0.01, 0.001] {
        let diverse = Constraint { scale, ..diversity(0.12) };
        let solution = solve(vec![safety(), speed(), diverse], 1e-6).2;
        assert_eq!(solution.certificate.verdict, Verdict::Feasible, "scale {scale}");
    }
}

/// Episodes of 10¹⁰ steps: bounds on their length must leave room for rounding.
#[test]
fn rare_slips_without_discount() {
    let world = mars_rover::world("8x8", 0.02).unwrap();
    let target = Target::new(world.model.measures(), vec![safety(), speed()]).unwrap();
    let model = world.model.select(target.selection());
    let forever = Discounting::new(1.0, None).unwrap();
    let mut exact = Exact::new(model, forever, Planner::PolicyIteration).unwrap();
    let mut player = FullyCorrective::new(Arc::clone(target.set()));
    let solution = appropo(target.set(), &mut player, &mut exact, &StopRule::default(), &mut ()).unwrap();
    assert_eq!(solution.certificate.verdict, Verdict::Feasible);
    exact.check(&solution.certificate, target.set(), &solution.mixture).unwrap();
}

/// With a horizon the programme is unrolled; it must find what backward induction finds.
#[test]
fn the_unrolled_programme_agrees() {
    let world = mars_rover::world("4x4", 0.1).unwrap();
    let discounting = Discounting::new(1.0, Some(20)).unwrap();
    let target =
        Target::new(world.model.measures(), vec![Constraint::at_most("failure", 0.3).unwrap()]).unwrap();
    let model = world.model.select(&target.selection_with(&[(1, 1.0)]));
    let mut exact = Exact::new(model.clone(), discounting, Planner::PolicyIteration).unwrap();
    let options = StopRule::default().tolerance(1e-8);
    let best = in_master(target.set(), &mut exact, &options);
    let programme = maximize_occupancy(target.set(), &Criterion::last(), &model, &discounting, 1e-6).unwrap();
    let by_programme = *programme.certificate.z_bar.last().unwrap();
    assert!((by_programme - best.value.unwrap()).abs() <= 1e-6, "{by_programme} against {:?}", best.value);
    assert_eq!(programme.certificate.verdict, Verdict::Feasible);
}

/// The averaging players on the rover itself: their curves lie under their bounds in every round.
#[test]
fn the_averaging_players_keep_their_bounds_on_the_rover() {
    for constraints in [vec![safety(), speed()], vec![safety(), speed(), diversity(0.12)]] {
        let world = rover();
        let target = Target::new(world.model.measures(), constraints).unwrap();
        let model = world.model.select(target.selection());
        let exact = || Exact::new(model.clone(), discounted(), Planner::PolicyIteration).unwrap();
        let radius = exact().measurement_radius().unwrap();
        let options = StopRule::default().rounds(2000).tolerance(1e-9);
        // 0 lies in both sets, so no projection is longer than its point.
        let mut watch = |round: &Round| {
            assert!(round.distance <= theory::blackwell_bound(0.0, 2.0 * radius, round.round));
            ControlFlow::Continue(())
        };
        let mut blackwell = Blackwell::new(Arc::clone(target.set()));
        let solution = appropo(target.set(), &mut blackwell, &mut exact(), &options, &mut watch).unwrap();
        assert_eq!(solution.certificate.verdict, Verdict::Feasible);

        let g = radius.hypot(radius);
        let steps = Steps::Constant(theory::step_size(g, options.rounds));
        let mut ogd = Ogd::new(Arc::clone(target.set()), radius, steps, 0.0).unwrap();
        let solution = appropo(target.set(), &mut ogd, &mut exact(), &options, &mut ()).unwrap();
        let lifted = theory::distance_bound(0.0, g, options.rounds, 0.0, 0.0);
        assert!(solution.certificate.distance <= theory::unlifted_distance(lifted, radius, radius));
    }
}
