//! Pareto fronts: their vertices are feasible and not dominated, and what is proved beyond them meets them within ε.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::{deep_sea_treasure, garnet, resource_gathering};
use appropo::error::Error;
use appropo::front::{Front, FrontFace, FrontMeasure, verify_front};
use appropo::method::{Appropo, Budget};
use appropo::problem::{Direction, Problem};
use appropo::random;
use appropo::set::Ball;
use appropo::solver::{ParetoRule, Stop};

use crate::solving::{rover, safety};

fn front(problem: &Problem, measures: &[FrontMeasure], rule: &ParetoRule) -> Front {
    let front = problem.pareto(measures, rule, &mut |_| Ok(ControlFlow::Continue(()))).unwrap();
    verify_front(problem, &front).unwrap();
    front
}

fn values(front: &Front) -> Vec<Vec<f64>> {
    front.vertices.iter().map(|vertex| vertex.values.clone()).collect()
}

/// Whether the same points, in any order, are in both.
fn are_same(found: &[Vec<f64>], expected: &[Vec<f64>], tolerance: f64) -> bool {
    let has = |all: &[Vec<f64>], one: &[f64]| {
        all.iter().any(|other| other.iter().zip(one).all(|(a, b)| (a - b).abs() <= tolerance))
    };
    found.len() == expected.len() && expected.iter().all(|point| has(found, point))
}

fn sea(is_convex: bool, discount: f64) -> Problem {
    let world = deep_sea_treasure::world(is_convex).unwrap();
    Problem::builder(world).discount(discount).horizon(50).build().unwrap()
}

/// MO-Gymnasium's front of the convex sea: every treasure by the shortest way, in closed form for any discount. Without one
/// (20.3, −14) lies on the edge from (19.6, −13) to (22.4, −17), and is no vertex.
#[test]
fn the_front_of_the_convex_sea_is_the_published_one() {
    let times = [1, 3, 5, 7, 8, 9, 13, 14, 17, 19];
    let measures = [FrontMeasure::maximize("treasure"), FrontMeasure::maximize("time")];
    for discount in [0.99, 1.0] {
        let found = front(&sea(true, discount), &measures, &ParetoRule::default().epsilon(1e-6));
        let time = |t: i32| (0..t).map(|i| discount.powi(i)).sum::<f64>();
        let mut published: Vec<Vec<f64>> = times
            .iter()
            .zip(deep_sea_treasure::CONVEX)
            .map(|(t, treasure)| vec![discount.powi(t - 1) * treasure, -time(*t)])
            .collect();
        if discount == 1.0 {
            published.retain(|point| point[1] != -14.0);
        }
        assert!(are_same(&values(&found), &published, 1e-9), "{:?}", values(&found));
        assert!(found.gap < 1e-6 && found.stop == Stop::Reached);
    }
}

/// Of the concave sea only the ends are on the front of mixtures: they dominate all eight treasures between them.
#[test]
fn mixtures_dominate_the_middle_of_the_concave_sea() {
    let measures = [FrontMeasure::maximize("treasure"), FrontMeasure::maximize("time")];
    let found = front(&sea(false, 1.0), &measures, &ParetoRule::default());
    assert!(are_same(&values(&found), &[vec![1.0, -1.0], vec![124.0, -19.0]], 1e-9), "{:?}", values(&found));
    let edge = found.faces.iter().find(|face| face.weights.iter().all(|w| *w > 0.0)).unwrap();
    for ((_, _, treasure), time) in
        deep_sea_treasure::CONCAVE.into_iter().zip([1, 3, 5, 7, 8, 9, 13, 14, 17, 19])
    {
        assert!(edge.weights[0] * treasure - edge.weights[1] * f64::from(time) <= edge.bound + 1e-9);
    }
}

/// The front of resource gathering, and the six ways that MO-Gymnasium lists: killed, gold and gem, discounted by γᵗ⁻¹ for the
/// last of t steps, where it writes γᵗ.
fn gathering(discount: f64) -> (Front, [Vec<f64>; 6]) {
    let world = resource_gathering::world(0.1).unwrap();
    let problem = Problem::builder(world).discount(discount).build().unwrap();
    let measures =
        [FrontMeasure::minimize("killed"), FrontMeasure::maximize("gold"), FrontMeasure::maximize("gem")];
    let after = |t: i32| discount.powi(t - 1);
    let published = [
        vec![0.0, 0.0, after(10)],
        vec![0.1 * after(7) + 0.09 * after(9), 0.81 * after(12), 0.81 * after(12)],
        vec![0.1 * after(3) + 0.09 * after(5), 0.81 * after(8), 0.0],
        vec![0.1 * after(7), 0.9 * after(14), 0.9 * after(14)],
        vec![0.0, after(12), 0.0],
        vec![0.1 * after(7), 0.9 * after(10), 0.0],
    ];
    (front(&problem, &measures, &ParetoRule::default().epsilon(1e-6)), published)
}

#[test]
fn the_front_of_resource_gathering_is_the_published_one() {
    let (found, published) = gathering(0.9);
    assert!(are_same(&values(&found), &published, 1e-9), "{:#?}", values(&found));
    assert!(found.gap < 1e-9, "{}", found.gap);
}

/// With a discount nearer to 1 a way pays that is not listed: both, past no enemy, in 18 steps. It dominates all but two of the
/// others, which lie inside every face.
#[test]
fn the_published_front_of_resource_gathering_lacks_a_way() {
    let (found, published) = gathering(0.99);
    let both = vec![0.0, 0.99_f64.powi(17), 0.99_f64.powi(17)];
    let expected = [published[0].clone(), published[4].clone(), both.clone()];
    assert!(are_same(&values(&found), &expected, 1e-9), "{:#?}", values(&found));
    let beyond = |face: &FrontFace, point: &[f64]| {
        face.weights.iter().zip(point).map(|(w, v)| w * v).sum::<f64>() - face.bound
    };
    for point in &published {
        assert!(found.faces.iter().all(|face| beyond(face, point) <= 1e-9), "{point:?}");
    }
    let past_one = &published[3];
    assert!(both[0] < past_one[0] && both[1] > past_one[1] && both[2] > past_one[2]);
}

/// The largest reward for every bound on failure, read off the front, is what maximising finds.
#[test]
fn a_front_says_what_maximising_finds() {
    let problem = rover().constraints([]).build().unwrap();
    let measures = [FrontMeasure::minimize("failure"), FrontMeasure::maximize("reward")];
    let found = front(&problem, &measures, &ParetoRule::default().epsilon(1e-6));
    for bound in [0.023, 0.0247, 0.05, 0.2, 0.5] {
        let limit = Constraint::at_most("failure", bound).unwrap();
        let limited = rover().constraint(limit).maximize("reward").build().unwrap();
        let outcome = limited.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
        let best = outcome.objective.unwrap().value.unwrap();
        // Vertices come in the order of less failure, so the front is a chain.
        let mut chain = values(&found);
        chain.sort_by(|a, b| a[0].total_cmp(&b[0]));
        let place = chain.iter().position(|v| v[0] > bound).unwrap();
        let (a, b) = (&chain[place - 1], &chain[place]);
        let read = a[1] + (bound - a[0]) / (b[0] - a[0]) * (b[1] - a[1]);
        assert!((best - read).abs() <= 1e-6 * found.units[1].max(1.0), "{bound}: {best} against {read}");
    }
}

/// Random models with and without constraints: no direction finds anything beyond, and no vertex is dominated.
#[test]
fn fronts_of_random_models_hold_in_every_direction() {
    for seed in 0..6 {
        let size = garnet::Size { states: 15, actions: 3, branching: 3, measures: 4 };
        let world = garnet::world(size, &mut random::generator(seed)).unwrap();
        let count = 2 + seed as usize % 3;
        let ball = Ball::new(vec![1.0], 2.0).unwrap();
        let constraints = match seed % 3 {
            0 => vec![],
            1 => vec![Constraint::at_most("m[3]", 0.5).unwrap()],
            _ => vec![Constraint::new(["m[3]"], Arc::new(ball))],
        };
        let problem = Problem::builder(world).discount(0.9).constraints(constraints).build().unwrap();
        let direction = |i: usize| if i == 1 { Direction::Minimize } else { Direction::Maximize };
        let measures: Vec<FrontMeasure> = (0..count)
            .map(|i| FrontMeasure { measure: format!("m[{i}]"), direction: direction(i) })
            .collect();
        let epsilon = [1e-6, 0.02, 0.05][count - 2];
        let found = front(&problem, &measures, &ParetoRule::default().epsilon(epsilon));
        assert!(found.gap <= epsilon && found.stop == Stop::Reached, "seed {seed}: {}", found.gap);
        let rng = &mut random::generator(100 + seed);
        for _ in 0..20 {
            let mut utility: Option<appropo::utility::Utility> = None;
            let weights: Vec<f64> = (0..count).map(|i| random::unit(rng) / found.units[i]).collect();
            for (measure, weight) in measures.iter().zip(&weights) {
                let term = appropo::utility::Utility::from(&measure.measure)
                    .weighted(measure.direction.sign() * weight);
                utility = Some(utility.map_or(term.clone(), |sum| sum + term));
            }
            let asked = problem.clone().with_objective(utility.unwrap(), Direction::Maximize).unwrap();
            let outcome = asked.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
            let best = outcome.objective.unwrap().value.unwrap();
            let value = |values: &[f64]| -> f64 {
                let terms = measures.iter().zip(&weights).zip(values);
                terms.map(|((m, w), v)| m.direction.sign() * w * v).sum()
            };
            let reached = found.vertices.iter().map(|v| value(&v.values)).fold(f64::NEG_INFINITY, f64::max);
            let length = weights.iter().zip(&found.units).map(|(w, u)| (w * u).powi(2)).sum::<f64>().sqrt();
            // Up to the tolerance of maximising.
            let slack = 2e-6 * (1.0 + best.abs());
            assert!(reached <= best + slack, "seed {seed}: {reached} is more than {best}");
            assert!(best <= reached + epsilon * length + slack, "seed {seed}: {best} is beyond {reached}");
        }
        for (i, one) in found.vertices.iter().enumerate() {
            let dominates = |other: &[f64]| {
                measures
                    .iter()
                    .zip(other.iter().zip(&one.values))
                    .all(|(m, (a, b))| m.direction.sign() * (a - b) >= 0.0)
            };
            let others = found.vertices.iter().enumerate().filter(|(j, _)| *j != i);
            assert!(
                others.into_iter().all(|(_, other)| !dominates(&other.values)),
                "seed {seed}: vertex {i}"
            );
            assert!(problem.target().distances(&one.measurements).iter().all(|distance| *distance <= 1e-9));
        }
    }
}

#[test]
fn infeasible_constraints_have_no_front_but_a_nearest_point() {
    let constraints =
        [Constraint::at_most("failure", 0.02).unwrap(), Constraint::at_least("reward", -0.125).unwrap()];
    let problem = rover().constraints(constraints).build().unwrap();
    let measures = [FrontMeasure::minimize("failure"), FrontMeasure::maximize("steps")];
    let found = front(&problem, &measures, &ParetoRule::default());
    assert_eq!((found.verdict(), found.vertices.len(), found.stop), (Verdict::Infeasible, 0, Stop::Refuted));
    assert!((found.certificate.lower_bound - 0.00460232).abs() < 1e-8);
}

#[test]
fn what_is_no_front_is_refused() {
    let problem = rover().constraint(safety()).build().unwrap();
    let refused = |measures: &[FrontMeasure], rule: &ParetoRule| {
        problem.pareto(measures, rule, &mut |_| Ok(ControlFlow::Continue(()))).unwrap_err().to_string()
    };
    let rule = ParetoRule::default();
    let (failure, reward) = (FrontMeasure::minimize("failure"), FrontMeasure::maximize("reward"));
    assert!(refused(std::slice::from_ref(&failure), &rule).contains("expected 2 to 6"));
    assert!(refused(&[failure.clone(), FrontMeasure::maximize("failure")], &rule).contains("twice"));
    assert!(
        refused(&[failure.clone(), FrontMeasure::maximize("rewrd")], &rule)
            .contains("did you mean \"reward\"?")
    );
    assert!(refused(&[failure.clone(), reward.clone()], &rule.epsilon(0.0)).contains("epsilon"));
    // Stopped early, it is a front with a wide gap, and forged it is none.
    let few =
        problem.pareto(&[failure, reward], &rule.calls(8), &mut |_| Ok(ControlFlow::Continue(()))).unwrap();
    assert!(few.stop == Stop::Rounds && few.gap > 1e-4 && few.gap.is_finite(), "{}", few.gap);
    verify_front(&problem, &few).unwrap();
    // So is a rough one.
    for epsilon in [0.02, 0.01, 0.005] {
        let measures = [FrontMeasure::minimize("failure"), FrontMeasure::maximize("reward")];
        let rough = front(&problem, &measures, &ParetoRule::default().epsilon(epsilon));
        assert!(rough.stop == Stop::Reached && rough.gap <= epsilon, "{epsilon}: {}", rough.gap);
        verify_front(&problem, &rough).unwrap();
    }
    let forged = |forge: &dyn Fn(&mut Front)| {
        let mut front = few.clone();
        forge(&mut front);
        let found = verify_front(&problem, &front);
        assert!(matches!(found, Err(Error::Refuted { .. })), "{found:?}");
    };
    forged(&|front| front.gap *= 0.5);
    forged(&|front| front.faces[0].bound -= 0.01);
    forged(&|front| front.vertices[0].values[0] -= 0.01);
    forged(&|front| front.vertices[0].mixture = front.vertices[1].mixture.clone());
    forged(&|front| front.stop = Stop::Reached);
    forged(&|front| front.units.iter_mut().for_each(|unit| *unit *= 10.0));
}
