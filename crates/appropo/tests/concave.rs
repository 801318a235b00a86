//! Concave objectives: their functions, and their optima in every way there is.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::{garnet, mars_rover};
use appropo::method::{Appropo, Budget, Cpo, Lagrangian, Maxent, Method, Occupancy, Rcpo};
use appropo::oracle::ModelOptions;
use appropo::outcome::Outcome;
use appropo::problem::{Problem, ProblemBuilder};
use appropo::random::{self, Generator};
use appropo::solver::Stop;
use appropo::utility::{Concave, Entropy, Linear, SmoothMinimum, SquaredDistance, Sum, Utility};
use appropo::verify::verify;

const DIM: usize = 5;

fn functions() -> Vec<Arc<dyn Concave>> {
    let parts: [Arc<dyn Concave>; 4] = [
        Arc::new(Linear { weights: vec![1.0, -2.0, 0.5, 0.0, 3.0] }),
        Arc::new(Entropy { dim: DIM }),
        Arc::new(SquaredDistance { center: vec![0.3, 0.1, 0.7, 0.2, 0.9] }),
        Arc::new(SmoothMinimum { dim: DIM, sharpness: 7.0 }),
    ];
    let sum = Sum::new(parts.iter().enumerate().map(|(i, part)| (0.5 + i as f64, Arc::clone(part))));
    parts.into_iter().chain([Arc::new(sum) as Arc<dyn Concave>]).collect()
}

fn point(dim: usize, rng: &mut Generator) -> Vec<f64> {
    (0..dim).map(|_| 0.05 + random::unit(rng)).collect()
}

fn along(x: &[f64], t: f64, d: &[f64]) -> Vec<f64> {
    x.iter().zip(d).map(|(x, d)| x + t * d).collect()
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

#[test]
fn gradients_and_curvatures_are_those_of_differences_and_tangents_lie_above() {
    let mut rng = random::generator(1);
    for f in functions() {
        for _ in 0..20 {
            let (x, other) = (point(f.dim(), &mut rng), point(f.dim(), &mut rng));
            let d: Vec<f64> = other.iter().map(|v| v - 0.5).collect();
            let (mut gradient, mut ahead, mut behind, mut curvature) =
                (vec![0.0; f.dim()], vec![0.0; f.dim()], vec![0.0; f.dim()], vec![0.0; f.dim()]);
            f.gradient(&x, &mut gradient);
            let step = 1e-5;
            let slope = (f.value(&along(&x, step, &d)) - f.value(&along(&x, -step, &d))) / (2.0 * step);
            assert!((slope - dot(&gradient, &d)).abs() < 1e-6 * (1.0 + slope.abs()), "{f:?}");
            f.curvature(&x, &d, &mut curvature);
            f.gradient(&along(&x, step, &d), &mut ahead);
            f.gradient(&along(&x, -step, &d), &mut behind);
            for i in 0..f.dim() {
                let change = (ahead[i] - behind[i]) / (2.0 * step);
                assert!((change - curvature[i]).abs() < 1e-4 * (1.0 + change.abs()), "{f:?}");
            }
            let apart: Vec<f64> = other.iter().zip(&x).map(|(a, b)| a - b).collect();
            assert!(f.value(&other) <= f.value(&x) + dot(&gradient, &apart) + 1e-12, "{f:?}");
        }
    }
}

/// The largest t with (x, t) in the hypograph is f(x).
#[test]
fn hypographs_end_at_the_function() {
    let mut rng = random::generator(2);
    for f in functions() {
        let (mut form, n) = (f.hypograph(), f.dim());
        let x = point(n, &mut rng);
        form.constrain(appropo::set::Cone::Zero(n), x.iter().enumerate().map(|(i, x)| (vec![(i, 1.0)], *x)));
        let mut linear = vec![0.0; form.variables];
        linear[n] = -1.0;
        let found = form.minimize(&vec![0.0; form.variables], &linear, 1e-9).unwrap();
        assert!((found.x[n] - f.value(&x)).abs() < 1e-6, "{f:?}: {} {}", found.x[n], f.value(&x));
    }
}

fn rover() -> ProblemBuilder {
    Problem::builder(mars_rover::world("8x8", 0.05).unwrap()).discount(0.99)
}

fn limits() -> [Constraint; 2] {
    [Constraint::at_most("failure", 0.2).unwrap(), Constraint::at_least("reward", -0.17).unwrap()]
}

/// The optimum of the game, certified from both sides, and that of one conic programme.
#[track_caller]
fn optimum(problem: &Problem) -> Outcome {
    let budget = Budget::default().tolerance(1e-7);
    let found = problem.solve(&Appropo::default(), &budget, 0, &mut ()).unwrap();
    assert_eq!((found.verdict(), &found.stop), (Verdict::Feasible, &Stop::Reached), "{}", found.sentence());
    let best = found.objective.clone().unwrap();
    let sign = problem.objective().unwrap().direction.sign();
    let (value, bound) = (best.value.unwrap(), best.bound.unwrap());
    let most = 2e-7 * value.abs().max(1.0);
    assert!((-1e-8..=most).contains(&(sign * (bound - value))), "{value} and {bound}");
    verify(problem, &found, 1).unwrap();
    let programme = problem.solve(&Occupancy, &budget, 0, &mut ()).unwrap();
    let by_programme = problem.objective().unwrap().value(&programme.measurements);
    assert!((by_programme - value).abs() < 1e-6, "{by_programme} and {value}");
    found
}

#[test]
fn the_largest_entropy_of_the_rover_is_certified_from_both_sides() {
    let free = optimum(&rover().maximize(Utility::entropy("visits").per_step()).build().unwrap());
    let held = rover().constraints(limits()).maximize(Utility::entropy("visits").per_step());
    let held = optimum(&held.build().unwrap());
    let value = |outcome: &Outcome| outcome.objective.as_ref().unwrap().value.unwrap();
    assert!(value(&held) < value(&free) - 0.01, "{} {}", value(&held), value(&free));
    assert!(value(&free) < (64f64).ln());
}

/// Every function, per episode and per step, with and without a constraint, in random worlds.
#[test]
fn the_game_and_the_programme_agree_in_random_worlds() {
    let mut rng = random::generator(3);
    let size = garnet::Size { states: 12, actions: 3, branching: 2, measures: 3 };
    for round in 0..6 {
        let world = garnet::world(size, &mut rng).unwrap();
        let at_most = Constraint::at_most("m[0]", -1.0 + 2.0 * random::unit(&mut rng)).unwrap();
        let from = point(12, &mut rng).iter().map(|v| 0.2 * v).collect::<Vec<f64>>();
        let utilities = [
            Utility::entropy("visits"),
            Utility::squared_distance("visits", from).weighted(-1.0),
            Utility::smooth_minimum("visits", 30.0) + Utility::from("m[1]").weighted(0.1),
            Utility::entropy("visits").weighted(0.3) + Utility::from("m[2]"),
        ];
        for utility in utilities {
            let utility = if round % 2 == 0 { utility.per_step() } else { utility };
            let problem = |is_free: bool| {
                let builder = Problem::builder(world.clone()).discount(0.9).maximize(utility.clone());
                if is_free { builder } else { builder.constraint(at_most.clone()) }.build().unwrap()
            };
            let value = |outcome: Outcome| outcome.objective.unwrap().value.unwrap();
            let (free, held) = (value(optimum(&problem(true))), value(optimum(&problem(false))));
            assert!(held <= free + 1e-7, "{held} is more than {free}");
        }
    }
}

/// Hazan et al. explore the rover: their mixture comes within 1% of the optimum.
#[test]
fn frank_wolfe_comes_close_to_the_largest_entropy() {
    let problem = rover().maximize(Utility::entropy("visits").per_step()).build().unwrap();
    let best = optimum(&problem).objective.unwrap().value.unwrap();
    let found = problem.solve(&Maxent::default(), &Budget::default().rounds(800), 0, &mut ()).unwrap();
    verify(&problem, &found, 1).unwrap();
    let explored = found.objective.unwrap();
    let (value, bound) = (explored.value.unwrap(), explored.bound.unwrap());
    assert!(value > 0.99 * best && value <= best + 1e-9, "{value} of {best}");
    assert!(bound >= best - 1e-9, "{bound} below {best}");
}

/// Where the model is not known it is learnt on the way.
#[test]
fn the_largest_entropy_is_learnt() {
    let world = mars_rover::world("4x4", 0.05).unwrap();
    let safety = Constraint::at_most("failure", 0.2).unwrap();
    let problem = Problem::builder(world).discount(0.99).constraint(safety);
    let problem = problem.maximize(Utility::entropy("visits").per_step()).build().unwrap();
    let best = optimum(&problem).objective.unwrap().value.unwrap();
    let method = Appropo::default().oracle(ModelOptions::default());
    let found = problem.solve(&method, &Budget::samples(5_000), 1, &mut ()).unwrap();
    assert_eq!(found.verdict(), Verdict::Feasible);
    let value = found.objective.unwrap().value.unwrap();
    assert!(value > 0.97 * best && value <= best + 1e-9, "{value} of {best} after {}", found.samples);
}

#[test]
fn what_no_search_can_do_is_refused() {
    let refused = |builder: ProblemBuilder| builder.build().unwrap_err().to_string();
    let convex = refused(rover().maximize(Utility::squared_distance("visits", vec![0.0; 64])));
    assert!(convex.contains("a squared distance can only be made smaller"), "{convex}");
    let concave = refused(rover().minimize(Utility::entropy("visits")));
    assert!(concave.contains("an entropy can only be made larger"), "{concave}");
    let short = refused(rover().minimize(Utility::squared_distance("visits", vec![0.0; 3])));
    assert!(short.contains("the point of a squared distance"), "{short}");
    let misspelt = refused(rover().maximize(Utility::entropy("visit")));
    assert!(misspelt.contains("did you mean \"visits\"?"), "{misspelt}");
    let entropy =
        || rover().constraints(limits()).maximize(Utility::entropy("visits").per_step()).build().unwrap();
    let check = |method: &dyn Method| method.check(&entropy()).unwrap_err().to_string();
    assert!(check(&Maxent::default()).contains("takes no constraints; found \"failure\""));
    for method in [&Cpo::default() as &dyn Method, &Lagrangian::default(), &Rcpo::default()] {
        assert!(check(method).contains("takes one measure as an objective"), "{}", check(method));
    }
}
