//! One policy for a mixture: exact for tables, and close for networks, with fixed seeds and wide margins.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{EnvSpec, Space};
use appropo::evaluate::rollouts;
use appropo::method::{Appropo, Budget, Distil, DistilOptions, DistilledPolicy, Method, Occupancy};
use appropo::nn::{Activation, Gains, Inputs, Mlp, Shape};
use appropo::outcome::Outcome;
use appropo::policy::{Actions, AnyPolicy, Mixed, NetworkPolicy};
use appropo::problem::Problem;
use appropo::random;
use appropo::solver::Stop;
use appropo::state::Saver;
use appropo::verify::verify;

use crate::solving::{diversity, rover, safety};

fn speed() -> Constraint {
    Constraint::at_least("reward", -0.17).unwrap()
}

fn distil(problem: &Problem, outcome: &Outcome, options: DistilOptions, samples: u64) -> Outcome {
    let method = Distil::of(outcome).options(options);
    let budget = Budget::samples(samples).evaluated_by(20_000);
    problem.solve(&method, &budget, 3, &mut ()).unwrap()
}

fn network() -> DistilOptions {
    DistilOptions::default().policy(DistilledPolicy::Network)
}

#[track_caller]
fn close(found: &[f64], expected: &[f64], error: f64) {
    assert_eq!(found.len(), expected.len());
    for (i, (found, expected)) in found.iter().zip(expected).enumerate() {
        assert!((found - expected).abs() <= error, "entry {i}: found {found}, expected {expected}");
    }
}

/// A mixture of tables has one table with its measurements, of a step each where there is a horizon, and its proofs hold on.
#[test]
fn tables_are_distilled_exactly() {
    let safest = Constraint::at_most("failure", 0.02).unwrap();
    let fastest = Constraint::at_least("reward", -0.125).unwrap();
    let problems = [
        (rover().constraints([safety(), speed(), diversity()]), Verdict::Feasible, 1),
        (rover().constraints([safest, fastest]), Verdict::Infeasible, 1),
        (rover().horizon(12).constraint(safety()).maximize("reward"), Verdict::Feasible, 12),
    ];
    for (problem, verdict, stages) in problems {
        let problem = problem.build().unwrap();
        let mixed = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
        // Of an infeasible problem, one policy is closest.
        assert!(mixed.mixture.parts().len() > 1 || verdict == Verdict::Infeasible);
        let one = distil(&problem, &mixed, DistilOptions::default(), 1000);
        let [(_, policy)] = one.mixture.parts() else { panic!("{:?}", one.mixture) };
        let AnyPolicy::Table(table) = policy.as_ref() else { panic!("{policy:?}") };
        assert_eq!(table.stages(), stages);
        close(&one.measurements, &mixed.measurements, 1e-9);
        assert_eq!((one.verdict(), mixed.verdict()), (verdict, verdict));
        close(&[one.certificate.lower_bound], &[mixed.certificate.lower_bound], 1e-9);
        assert_eq!((one.rounds, one.samples, one.seed, one.evaluation.is_none()), (0, 0, 3, true));
        verify(&problem, &one, 1).unwrap();
        if let Some(objective) = &one.objective {
            let bound = |outcome: &Outcome| outcome.objective.as_ref().unwrap().bound.unwrap();
            close(&[bound(&one)], &[bound(&mixed)], 1e-9);
            close(&[objective.value.unwrap()], &[bound(&one)], 1e-5);
        }
    }
}

/// A network learns the same policy from episodes, and the model says what it is worth.
#[test]
fn a_network_learns_a_mixture_of_tables() {
    let loose =
        [Constraint::at_most("failure", 0.3).unwrap(), Constraint::at_least("reward", -0.21).unwrap()];
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    let mixed = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
    let problem = rover().constraints(loose).build().unwrap();
    let one = distil(&problem, &mixed, DistilOptions::default().net_arch(vec![64]), 60_000);
    assert!(matches!(one.mixture.parts(), [(_, policy)] if matches!(**policy, AnyPolicy::Network(_))));
    // Visits, the rest of the measurements, are many and small.
    close(&one.measurements[..2], &mixed.measurements[..2], 0.06);
    assert_eq!((one.verdict(), one.stop.clone()), (Verdict::Feasible, Stop::Samples));
    assert!(one.samples >= 60_000 && one.evaluation.is_some());
    verify(&problem, &one, 1).unwrap();
}

/// A network whose outputs differ much from input to input.
fn random_network(observations: usize, space: &Space, seed: u64) -> AnyPolicy {
    let (inputs, policy) = (Inputs::Vector(observations), space.count().unwrap_or(space.entries()));
    let shape = Shape { inputs, hidden: vec![16], activation: Activation::Tanh, policy, value: 0 };
    let (network, actions) = (Arc::new(Mlp::new(shape).unwrap()), Actions::of(space));
    let mut parameters = vec![-1.0; network.parameters() + actions.parameters()];
    let count = network.parameters();
    let gains = Gains { policy: 2.0, ..Gains::default() };
    network.initialize(&gains, &mut parameters[..count], &mut random::generator(seed));
    NetworkPolicy::new(network, actions, parameters).unwrap().into()
}

/// What a mixture measures, by 4,000 episodes.
fn played(problem: &Problem, mixture: &Mixed) -> Vec<f64> {
    let mut rollouts = rollouts(problem, &Budget::default(), &mut random::generator(7)).unwrap();
    let mut mean = vec![0.0; rollouts.dim()];
    let add = |sum: &[f64], _| {
        mean.iter_mut().zip(sum).for_each(|(mean, sum)| *mean += sum / 4000.0);
        Ok(())
    };
    rollouts.play(mixture, 4000, add).unwrap();
    mean
}

/// Mixtures of networks that do very different things, with counted actions and with numbers.
#[test]
fn a_network_learns_a_mixture_of_networks() {
    let steps = || Constraint::at_least("steps", 1.0).unwrap();
    let pole = Problem::builder(EnvSpec::playable(CartPole::new)).discount(0.95).horizon(50);
    let point = Problem::builder(EnvSpec::playable(|horizon| PointMass::new(horizon.unwrap_or(1))))
        .discount(0.95)
        .horizon(40);
    let push = Space::Continuous(vec![(-1.0, 1.0); 2]);
    for (problem, actions, errors) in [(pole, Space::Discrete(2), 0.05), (point, push, 0.1)] {
        let problem = problem.constraint(steps()).build().unwrap();
        let part = |weight, seed| (weight, Arc::new(random_network(4, &actions, seed)));
        let mixture = Mixed::new([part(0.7, 1), part(0.3, 2)]);
        let first = problem.solve(&Appropo::default(), &Budget::samples(200), 0, &mut ()).unwrap();
        let mixed = Outcome { mixture: mixture.clone(), ..first };
        let one = distil(&problem, &mixed, DistilOptions::default(), 30_000);
        assert!(matches!(one.mixture.parts(), [(_, policy)] if matches!(**policy, AnyPolicy::Network(_))));
        let (expected, found) = (played(&problem, &mixture), played(&problem, &one.mixture));
        for (found, expected) in found.iter().zip(&expected) {
            assert!((found - expected).abs() < errors * expected.abs().max(1.0), "{found} {expected}");
        }
        assert_eq!(one.verdict(), Verdict::Feasible);
        verify(&problem, &one, 1).unwrap();
    }
}

/// What is lost is said: the mixture satisfies what one network of a few steps can't.
#[test]
fn lost_feasibility_is_no_claim() {
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    let mixed = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
    assert_eq!(mixed.verdict(), Verdict::Feasible);
    let one = distil(&problem, &mixed, network().n_epochs(1_usize), 200);
    assert_eq!(one.verdict(), Verdict::Undecided);
    assert!(one.certificate.distance > 0.01, "{}", one.certificate.distance);
}

#[test]
fn the_same_seed_has_the_same_policy() {
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    let mixed = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
    let bytes = |seed: u64, threads: usize| {
        let method = Distil::of(&mixed).options(network().n_epochs(3_usize));
        let budget = Budget::samples(2000).threads(threads);
        let one = problem.solve(&method, &budget, seed, &mut ()).unwrap();
        let mut saver = Saver::default();
        saver.put(&one.mixture);
        (saver.into_bytes(), one.measurements, one.samples)
    };
    assert_eq!(bytes(1, 1), bytes(1, 3));
    assert_ne!(bytes(1, 1).0, bytes(2, 1).0);
}

#[test]
fn what_cannot_be_distilled_is_refused() {
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    let registry = appropo::registry::Registry::standard();
    let table = appropo::options::Table::new([("method", "distil")]);
    let unsourced = registry.read_method(&table).unwrap();
    let refused = |problem: &Problem, method: &dyn Method, samples: u64| {
        problem.solve(method, &Budget::samples(samples), 0, &mut ()).unwrap_err().to_string()
    };
    assert_eq!(
        refused(&problem, unsourced.as_ref(), 1),
        "distil needs the mixture of a run that has ended; use \"appropo distil RUN\" or result.distil() here"
    );
    let mixed = problem.solve(&Occupancy, &Budget::default(), 0, &mut ()).unwrap();
    let many = refused(&problem, &Distil::of(&mixed).options(network()), 1 << 40);
    assert!(many.contains("the numbers of all episodes to learn from"), "{many}");
    let nothing = Outcome { mixture: Mixed::new([]), ..mixed.clone() };
    let empty = refused(&problem, &Distil::of(&nothing), 1);
    assert_eq!(empty, "policies of the mixture is 0; expected 1 or more");
    let pole = Problem::builder(EnvSpec::playable(CartPole::new)).discount(0.95).horizon(50);
    let pole = pole.constraint(Constraint::at_least("steps", 1.0).unwrap()).build().unwrap();
    let table = Distil::of(&mixed).options(DistilOptions::default().policy(DistilledPolicy::Table));
    assert_eq!(
        refused(&pole, &table, 1),
        "distil.policy = \"table\" needs a known model and a mixture of tables; use \"network\" here"
    );
}
