//! Total measurements where some policies never end: what model checkers call total reward and reachability.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::{TabularMdp, cliff_walking, mars_rover};
use appropo::error::Error;
use appropo::measurement::{Discounting, Measures};
use appropo::method::{Appropo, Budget};
use appropo::oracle::{Exact, Planner, Respond};
use appropo::outcome::Outcome;
use appropo::policy::{Mixed, TabularPolicy};
use appropo::problem::{Problem, ProblemBuilder};
use appropo::random::{self, Generator};
use appropo::rl::Occupancy;
use appropo::verify::verify;

const STATES: usize = 6;

fn forever() -> Discounting {
    Discounting::new(1.0, None).unwrap()
}

/// A model in which many choices cost nothing and lead in circles: "cost" is never negative, "gain" is had at most once a
/// way to the end.
fn random_model(rng: &mut Generator) -> TabularMdp {
    let mut model = TabularMdp::builder(STATES + 1, 3, Measures::new([("gain", 1), ("cost", 1)]));
    model.terminal(STATES).start(0, 1.0);
    for state in 0..STATES {
        let actions = 1 + random::below(3, rng);
        model.available(state, actions);
        for action in 0..actions {
            let cost = [0.0, 0.0, 1.0][random::below(3, rng)] * random::unit(rng);
            let successors = 1 + random::below(2, rng);
            for _ in 0..successors {
                let next = random::below(STATES + 1, rng);
                let gain = if next == STATES { (random::unit(rng) * 8.0).floor() } else { 0.0 };
                model.transition((state, action), 1.0 / successors as f64, next, &[(0, gain), (1, cost)]);
            }
        }
    }
    model.build().unwrap()
}

/// What every deterministic policy measures; those that cost without end have NaN.
fn all_measurements(model: &TabularMdp) -> Vec<Vec<f64>> {
    let mut all = Vec::new();
    let mut actions = vec![0u32; STATES + 1];
    loop {
        let policy = TabularPolicy::deterministic(STATES + 1, model.actions(), actions.clone()).unwrap();
        all.push(Occupancy::of(model, &forever(), &policy).unwrap().measure(model));
        let Some(place) = (0..STATES).find(|&s| (actions[s] as usize) + 1 < model.actions_of(s)) else {
            break;
        };
        actions[place] += 1;
        actions[..place].fill(0);
    }
    all
}

/// The best answer is that of the best deterministic policy that measures finitely, and its bound meets it.
#[test]
fn answers_are_the_best_among_policies_that_measure_finitely() {
    let mut rng = random::generator(5);
    let (mut endless, mut infinite, mut bounded) = (0, 0, 0);
    for round in 0..300 {
        let model = random_model(&mut rng);
        let all = all_measurements(&model);
        let finite: Vec<_> = all.iter().filter(|z| z.iter().all(|v| v.is_finite())).collect();
        let found = Exact::new(model.clone(), forever(), Planner::PolicyIteration);
        if finite.is_empty() {
            assert!(matches!(found, Err(Error::Infinite { .. })), "{round}: {found:?}");
            infinite += 1;
            continue;
        }
        endless += usize::from(finite.len() < all.len());
        let set = Constraint::at_most("cost", 1.0).unwrap();
        let problem =
            Problem::builder(Arc::new(model.clone())).constraint(set).maximize("gain").build().unwrap();
        let swapped = model.select(&appropo::measurement::Selection { entries: vec![(1, 1.0), (0, 1.0)] });
        let exact = Exact::new(swapped, forever(), Planner::PolicyIteration).unwrap();
        let mut exact = exact.guarded(problem.target().set()).unwrap();
        for (cost, gain) in [(1.0, -1.0), (0.3, -1.0), (0.0, -1.0), (1.0, 0.0), (1.0, 0.5), (0.0, 0.0)] {
            let lam = [cost, gain];
            let response = exact.respond(&lam, 0.0).unwrap();
            let payoff = |z: &[f64]| cost * z[1] + gain * z[0];
            let least = finite.iter().map(|z| payoff(z)).fold(f64::INFINITY, f64::min);
            let had = cost * response.z_hat[0] + gain * response.z_hat[1];
            assert!((had - least).abs() <= 1e-9, "{round}, {lam:?}: {had} against {least}");
            let Some(bound) = response.bound else { panic!("{round}: no bound for {lam:?}: {all:?}") };
            // The bound is for a λ next to this one.
            let tilted = bound.half_space(&lam, 0.0).0;
            assert!(tilted.iter().zip(&lam).all(|(a, b)| (a - b).abs() <= 1e-6), "{round}: {tilted:?}");
            assert!(
                bound.value <= least + 1e-5 && bound.value >= least - 1e-5,
                "{round}: {} {least}",
                bound.value
            );
            bounded += 1;
        }
    }
    assert!(endless > 100 && infinite > 3 && bounded > 1000, "{endless} {infinite} {bounded}");
}

fn solved(problem: &Problem) -> Outcome {
    let outcome = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
    verify(problem, &outcome, 1).unwrap();
    outcome
}

/// The optimum under a bound on the cost, against the best mixture of two deterministic policies.
#[test]
fn optima_are_proved_from_both_sides() {
    let mut rng = random::generator(9);
    let (mut optima, mut infeasible) = (0, 0);
    for round in 0..150 {
        let model = random_model(&mut rng);
        let finite: Vec<_> =
            all_measurements(&model).into_iter().filter(|z| z.iter().all(|v| v.is_finite())).collect();
        let limit = 0.4;
        let problem = Problem::builder(Arc::new(model))
            .constraint(Constraint::at_most("cost", limit).unwrap())
            .maximize("gain")
            .build();
        let Ok(problem) = problem else { continue };
        let mut best = f64::NEG_INFINITY;
        for a in &finite {
            for b in &finite {
                // The largest share of a with which the mixture costs no more than allowed.
                let share = if a[1] <= limit { 1.0 } else { (limit - b[1]) / (a[1] - b[1]) };
                if b[1] <= limit && (0.0..=1.0).contains(&share) {
                    best = best.max(share * a[0] + (1.0 - share) * b[0]);
                }
            }
        }
        let outcome = solved(&problem);
        if best == f64::NEG_INFINITY {
            assert_eq!(outcome.verdict(), Verdict::Infeasible, "{round}");
            infeasible += 1;
            continue;
        }
        let found = outcome.objective.as_ref().unwrap();
        assert_eq!(outcome.verdict(), Verdict::Feasible, "{round}: {best}");
        assert!((found.value.unwrap() - best).abs() <= 1e-6, "{round}: {found:?} against {best}");
        assert!((found.bound.unwrap() - best).abs() <= 1e-5, "{round}: {found:?} against {best}");
        optima += 1;
    }
    assert!(optima > 80 && infeasible > 3, "{optima} {infeasible}");
}

fn cliff() -> ProblemBuilder {
    Problem::builder(cliff_walking::world(false).unwrap())
}

#[test]
fn the_shortest_way_along_the_cliff_has_thirteen_steps() {
    let problem = cliff().minimize("steps").build().unwrap();
    let found = solved(&problem).objective.unwrap();
    assert!((found.value.unwrap() - 13.0).abs() <= 1e-9, "{found:?}");
    assert!((found.bound.unwrap() - 13.0).abs() <= 1e-6, "{found:?}");
    // Fewer can't be had, and more can.
    let at_most =
        |steps: f64| cliff().constraint(Constraint::at_most("steps", steps).unwrap()).build().unwrap();
    assert_eq!(solved(&at_most(12.9)).verdict(), Verdict::Infeasible);
    assert_eq!(solved(&at_most(13.0)).verdict(), Verdict::Feasible);
}

#[test]
fn what_grows_for_ever_and_is_not_bounded_is_named() {
    let long = cliff().constraint(Constraint::at_least("steps", 20.0).unwrap()).build().unwrap_err();
    assert!(matches!(&long, Error::Endless { measure, .. } if measure == "steps"), "{long:?}");
    assert!(long.to_string().contains("set a horizon or a discount below 1"), "{long}");
    let most = cliff().maximize("steps").build().unwrap_err();
    assert!(matches!(&most, Error::Endless { measure, .. } if measure == "steps"), "{most:?}");
}

/// A rover that never slips may stand still for ever, which fails never and reaches nothing.
#[test]
fn staying_for_ever_is_allowed_where_nothing_is_measured() {
    let world = mars_rover::world("4x4", 0.0).unwrap();
    let safe =
        Problem::builder(world).constraint(Constraint::at_most("failure", 0.0).unwrap()).build().unwrap();
    let outcome = solved(&safe);
    assert_eq!(outcome.verdict(), Verdict::Feasible);
}

/// No single table does what a mixture of staying and leaving does.
#[test]
fn mixtures_of_staying_and_leaving_are_not_distilled() {
    let mut model = TabularMdp::builder(2, 2, Measures::new([("gain", 1)]));
    model.start(0, 1.0).terminal(1);
    model.transition((0, 0), 1.0, 0, &[]).transition((0, 1), 1.0, 1, &[(0, 2.0)]);
    let model = model.build().unwrap();
    let table = |action: u32| TabularPolicy::deterministic(2, 2, vec![action, 0]).unwrap();
    let both = Mixed::new([0.5, 0.5].iter().zip([0, 1]).map(|(w, a)| (*w, Arc::new(table(a).into()))));
    let occupancy = Occupancy::of_mixture(&model, &forever(), &both).unwrap();
    assert_eq!(occupancy.measure(&model), [1.0]);
    assert!(matches!(occupancy.policy(), Err(Error::NoOnePolicy)));
    assert_eq!(Occupancy::of(&model, &forever(), &table(0)).unwrap().measure(&model), [0.0]);
}
