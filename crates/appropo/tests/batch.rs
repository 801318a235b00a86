//! Learning from logs: data sets, the models they make, and what is learnt and claimed from them.

use std::hash::{Hash, Hasher};
use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::dataset::{Dataset, Empirical, Step};
use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{EnvSpec, Space, TabularMdp, frozen_lake, garnet};
use appropo::error::Error;
use appropo::evaluate::exact_measurement;
use appropo::measurement::{Discounting, Measures};
use appropo::method::{Appropo, Batch, BatchOptions, Budget, FunctionClass, Occupancy, Resume};
use appropo::outcome::Outcome;
use appropo::policy::{Mixed, TabularPolicy};
use appropo::problem::{Problem, ProblemBuilder};
use appropo::random;
use appropo::record::{Recording, record};
use appropo::set::Ball;
use appropo::solver::Round;
use appropo::state::Saver;
use appropo::verify::{verify, verify_off_policy};

fn lake(map: &str, slippery: bool) -> ProblemBuilder {
    Problem::builder(frozen_lake::world(map, slippery).unwrap()).discount(0.9)
}

fn safely(builder: ProblemBuilder, bound: f64) -> Problem {
    builder.constraint(Constraint::at_most("failure", bound).unwrap()).maximize("reward").build().unwrap()
}

fn logged(problem: &Problem, episodes: usize, seed: u64) -> Arc<Dataset> {
    Arc::new(record(problem, None, &Recording::default().episodes(episodes), seed).unwrap())
}

/// An entry of what a mixture measures in the known model.
fn exactly(problem: &Problem, found: &Outcome, measure: &str) -> f64 {
    exact_measurement(problem, &found.mixture).unwrap()[problem.measures().range(measure).unwrap().start]
}

fn networks() -> BatchOptions {
    BatchOptions::default().fitted(FunctionClass::Network)
}

#[test]
fn steps_that_make_no_episodes_are_refused() {
    let build = |change: &dyn Fn(usize, &mut Step)| {
        let measures = Measures::new([("cost", 1)]);
        let mut builder =
            Dataset::builder(measures, Space::Discrete(3), Space::Continuous(vec![(-1.0, 1.0)]));
        for row in 0..4 {
            let (seen, next) = ([(row % 2) as f64], [(row % 2 + 1) as f64]);
            let mut step = Step {
                episode: row as u64 / 2,
                step: row as u64 % 2,
                observation: &seen,
                action: &[0.5],
                z: &[0.1],
                next_observation: &next,
                terminated: row == 1,
                truncated: row == 3,
            };
            change(row, &mut step);
            builder.push(&step)?;
        }
        builder.build()
    };
    let dataset = build(&|_, _| ()).unwrap();
    assert_eq!((dataset.steps(), dataset.episodes().len()), (4, 2));
    let ends: Vec<bool> = dataset.episodes().map(|episode| episode.is_terminated).collect();
    assert_eq!(ends, [true, false]);
    let said = |change: &dyn Fn(usize, &mut Step)| build(change).unwrap_err().to_string();
    type Change = (&'static str, fn(usize, &mut Step));
    let changes: [Change; 9] = [
        ("row 4: episode 1 never ends", |_, step| step.truncated = false),
        ("row 3: episode 1 begins, but episode 0 never ended", |row, step| step.terminated &= row != 1),
        ("row 3: episode 0 has ended in an earlier row", |_, step| step.episode = 0),
        ("row 2: step is 2 in episode 0; expected 1", |row, step| step.step += u64::from(row == 1)),
        ("row 1: step is 1 in the first row of episode 0; expected 0", |row, step| {
            step.step += u64::from(row == 0)
        }),
        ("row 2: the observation is 2; expected 1, the next observation of the row before", |row, step| {
            if row == 1 {
                step.observation = &[2.0];
            }
        }),
        ("row 2: the next observation is 3; expected a whole number from 0 to 2", |row, step| {
            if row == 1 {
                step.next_observation = &[3.0];
            }
        }),
        ("row 3: entry 0 of the action is 1.5; expected a number from -1 to 1", |row, step| {
            if row == 2 {
                step.action = &[1.5];
            }
        }),
        ("row 1: the measure \"cost\" is NaN; expected a finite number", |_, step| step.z = &[f64::NAN]),
    ];
    for (expected, change) in changes {
        let found = said(&change);
        assert!(found.starts_with(expected), "{found}");
    }
}

/// The mean of episodes by hand: 1 + 0.5·2 and 3, over two episodes; cut off after one step 1 and 3.
#[test]
fn means_are_discounted() {
    let mut builder = Dataset::builder(Measures::new([("cost", 1)]), Space::Discrete(1), Space::Discrete(1));
    for (episode, step, z, terminated) in [(7, 0, 1.0, false), (7, 1, 2.0, true), (3, 0, 3.0, true)] {
        let (observation, action): (&[f64], &[f64]) = (&[0.0], &[0.0]);
        let row =
            Step { episode, step, observation, action, next_observation: observation, ..Step::default() };
        builder.push(&Step { z: &[z], terminated, ..row }).unwrap();
    }
    let dataset = builder.build().unwrap();
    assert_eq!(dataset.mean(&Discounting::new(0.5, None).unwrap()), [2.5]);
    assert_eq!(dataset.mean(&Discounting::new(0.5, Some(1)).unwrap()), [2.0]);
}

/// The same numbers have the same checksum, and a single one changed has another.
#[test]
fn checksums_are_of_the_content() {
    let problem = lake("4x4", true).build().unwrap();
    let [a, b] = [1, 1].map(|seed| logged(&problem, 5, seed));
    assert_eq!(a.checksum(), b.checksum());
    assert_ne!(a.checksum(), logged(&problem, 5, 2).checksum());
}

/// Frequencies of many steps are the world's probabilities, but for chance: a policy measures the same in both.
#[test]
fn the_model_of_logs_comes_to_the_world() {
    let size = garnet::Size { states: 12, actions: 3, branching: 3, measures: 1 };
    let world = garnet::world(size, &mut random::generator(1)).unwrap();
    let problem = Problem::builder(world.clone()).discount(0.9).horizon(20).build().unwrap();
    let dataset = logged(&problem, 4000, 1);
    let empirical = Empirical::new(&dataset).unwrap();
    let model: TabularMdp = empirical.model(|_| 1.0).unwrap();
    let policy = TabularPolicy::deterministic(12, 3, (0..12).map(|s| s % 3).collect()).unwrap();
    let mixture = Mixed::one(policy);
    let discounting = Discounting::new(0.9, None).unwrap();
    let of = |model: &TabularMdp| {
        appropo::rl::Occupancy::of_mixture(model, &discounting, &mixture).unwrap().measure(model)
    };
    let (found, expected) = (of(&model), of(&world.model));
    for (found, expected) in found.iter().zip(&expected) {
        assert!((found - expected).abs() < 0.1 * (1.0 + expected.abs()), "{found} {expected}");
    }
    // Twice the weight on every episode changes nothing.
    assert_eq!(found, of(&empirical.model(|_| 2.0).unwrap()));
}

/// Logs of the best policy, four in five of whose actions are drawn at random.
fn randomish(problem: &Problem, episodes: usize, seed: u64) -> Arc<Dataset> {
    let best = problem.solve(&Occupancy, &Budget::default(), 0, &mut ()).unwrap().mixture;
    let recording = Recording::default().episodes(episodes).epsilon(0.8);
    Arc::new(record(problem, Some(&best), &recording, seed).unwrap())
}

/// On the 8×8 lake without slip: nearly the best that there is, within the bound.
#[test]
fn a_table_learns_the_best_policy_from_logs() {
    let problem = safely(lake("8x8", false), 0.1);
    let logs = randomish(&problem, 500, 3);
    let found = problem.solve(&Batch::of(logs), &Budget::default(), 0, &mut ()).unwrap();
    assert_eq!(found.verdict(), Verdict::Feasible);
    assert!(exactly(&problem, &found, "failure") <= 0.1);
    let reward = exactly(&problem, &found, "reward");
    assert!((0.99..=1.0 + 1e-9).contains(&(reward / 0.9f64.powi(13))), "{reward}");
}

#[test]
fn a_network_learns_from_random_logs() {
    let problem = safely(lake("4x4", false), 0.1);
    let method = Batch::of(logged(&problem, 500, 3)).options(networks().resamples(2));
    let found = problem.solve(&method, &Budget::default(), 0, &mut ()).unwrap();
    assert!(exactly(&problem, &found, "failure") <= 0.1);
    assert!(exactly(&problem, &found, "reward") >= 0.95 * 0.9f64.powi(5), "{:?}", found.measurements);
    // What fitted evaluation says is near the truth.
    let estimate = found.off_policy.as_ref().unwrap();
    let reward = problem.measures().range("reward").unwrap().start;
    assert!((estimate.value[reward] - exactly(&problem, &found, "reward")).abs() < 0.05, "{estimate:?}");
}

/// Where the constraint binds: on slippery ice, with many logs, both players come to the optimum of the occupancy programme.
#[test]
fn a_constraint_that_binds_is_held_in_the_model_of_logs() {
    let problem = safely(lake("4x4", true), 0.012);
    let best = problem.solve(&Occupancy, &Budget::default(), 0, &mut ()).unwrap();
    let best = best.objective.unwrap().value.unwrap();
    let logs = logged(&problem, 10_000, 5);
    let only = safely(Problem::builder(Arc::clone(&logs)).discount(0.9), 0.012);
    let corrective = appropo::player::FullyCorrectiveOptions::default();
    for (method, slack) in [(Batch::default(), 0.005), (Batch::default().player(corrective), 1e-6)] {
        let options = BatchOptions::default().resamples(100usize);
        let found = only.solve(&method.options(options), &Budget::default(), 0, &mut ()).unwrap();
        assert!(found.certificate.distance <= slack, "{}", found.certificate.distance);
        let (failure, reward) = (exactly(&problem, &found, "failure"), exactly(&problem, &found, "reward"));
        assert!(failure <= 0.012 + slack + 0.006, "{failure}");
        assert!(reward >= 0.9 * best, "{reward} {best}");
        // The interval is about what the true value differs by.
        let estimate = found.off_policy.as_ref().unwrap();
        let place = problem.measures().range("failure").unwrap().start;
        let (low, high) = (estimate.lower[place], estimate.upper[place]);
        assert!(low < high && high - low < 0.02, "{low} {high}");
        assert!(low - 0.005 < exactly(&problem, &found, "failure"));
    }
}

/// Logs decide nothing, whatever they say, and what they say is computed again.
#[test]
fn logs_alone_leave_the_verdict_open_and_forgeries_are_found() {
    let world = safely(lake("4x4", false), 0.1);
    let problem = safely(Problem::builder(logged(&world, 300, 1)).discount(0.9), 0.1);
    let method = Batch::default().options(BatchOptions::default().resamples(100usize));
    let found = problem.solve(&method, &Budget::default(), 4, &mut ()).unwrap();
    assert_eq!((found.verdict(), found.certificate.confidence), (Verdict::Undecided, None));
    assert!(found.rests_on_logs() && found.evaluation.is_none());
    assert!(found.sentence().contains("by logged data alone"), "{}", found.sentence());
    assert!(found.evidence().contains("logged actions cover"), "{}", found.evidence());
    verify(&problem, &found, 9).unwrap();
    assert!(verify_off_policy(&problem, &method, &found).unwrap().unwrap().contains("can't be checked"));
    let mut forged = found.clone();
    forged.off_policy.as_mut().unwrap().upper[0] += 0.01;
    assert!(verify_off_policy(&problem, &method, &forged).is_err());
    let mut forged = found.clone();
    forged.certificate.verdict = Verdict::Feasible;
    assert!(verify(&problem, &forged, 9).is_err());
    let mut forged = found;
    forged.off_policy.as_mut().unwrap().checksum = "0".into();
    assert!(verify_off_policy(&problem, &method, &forged).is_err());
}

/// What acts in observations that were never logged is told, and acts there at random.
#[test]
fn what_was_not_logged_is_told() {
    let mut builder = Dataset::builder(Measures::new([("cost", 1)]), Space::Discrete(3), Space::Discrete(2));
    let row = Step { observation: &[0.0], next_observation: &[1.0], z: &[1.0], ..Step::default() };
    builder.push(&Step { action: &[1.0], truncated: true, ..row }).unwrap();
    let dataset = Arc::new(builder.build().unwrap());
    let bound = Constraint::at_most("cost", 2.0).unwrap();
    let problem = Problem::builder(dataset).discount(0.5).constraint(bound).build().unwrap();
    let method = Batch::default().options(BatchOptions::default().resamples(2usize));
    let found = problem.solve(&method, &Budget::default(), 0, &mut ()).unwrap();
    let estimate = found.off_policy.as_ref().unwrap();
    assert!((estimate.value[0] - 1.0).abs() + (estimate.unlogged.unwrap() - 1.0).abs() < 1e-12);
    let table = found.mixture.parts()[0].1.as_table().unwrap().into_owned();
    // The only action that was logged, and anything where none was.
    assert_eq!((table.probability(0, 0, 1), table.probability(0, 1, 0)), (1.0, 0.5));
}

#[test]
fn who_plays_is_told_that_there_are_only_logs() {
    let world = safely(lake("4x4", false), 0.1);
    let logs = logged(&world, 50, 1);
    let problem = safely(Problem::builder(Arc::clone(&logs)).discount(0.9), 0.1);
    let error = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap_err();
    assert_eq!(error, Error::OnlyLogged);
    assert!(error.to_string().contains("\"batch\""));
    assert_eq!(problem.environment(None).unwrap_err(), Error::OnlyLogged);
    let said = |problem: &Problem, method: Batch| {
        problem.solve(&method, &Budget::default(), 0, &mut ()).unwrap_err().to_string()
    };
    // There are no logs, an endless world, actions that are numbers, and logs of another world.
    assert!(said(&world, Batch::default()).contains("batch.dataset"));
    let endless = safely(Problem::builder(Arc::clone(&logs)), 0.1);
    assert!(said(&endless, Batch::default()).contains("a discount below 1, or a horizon"));
    let energy = Constraint::at_most("energy", 1.0).unwrap();
    let point = Problem::builder(EnvSpec::playable(|_| PointMass::new(9))).discount(0.9).constraint(energy);
    assert!(said(&point.build().unwrap(), Batch::of(Arc::clone(&logs))).contains("\"appropo\""));
    let steps = Constraint::at_least("steps", 5.0).unwrap();
    let cart = Problem::builder(EnvSpec::playable(CartPole::new)).discount(0.9).constraint(steps);
    let error = said(&cart.build().unwrap(), Batch::of(Arc::clone(&logs)));
    assert!(error.contains("the observation is counted"), "{error}");
    let small = safely(lake("SFF\nFFG", false), 0.1);
    let error = said(&small, Batch::of(logs));
    assert!(error.contains("expected 6") || error.contains("from 0 to 5"), "{error}");
}

/// Any convex set, by the corrective player: visits within a ball round those that were logged.
#[test]
fn sets_that_are_no_half_spaces_have_the_corrective_player() {
    let world = lake("4x4", false).build().unwrap();
    let logs = logged(&world, 500, 2);
    let range = world.measures().range("visits").unwrap();
    let center = logs.mean(world.discounting())[range].to_vec();
    let near = Constraint::new(["visits"], Arc::new(Ball::new(center, 0.05).unwrap()));
    let problem = Problem::builder(logs).discount(0.9).constraint(near).build().unwrap();
    let method = Batch::default().options(BatchOptions::default().resamples(2usize));
    let found = problem.solve(&method, &Budget::default(), 0, &mut ()).unwrap();
    assert!(found.certificate.distance <= 1e-6, "{}", found.certificate.distance);
}

/// A run taken up again from any of its rounds ends as if it had never stopped, bit for bit: tables, networks and players.
#[test]
fn going_on_from_any_round_comes_to_the_same() {
    let world = safely(lake("4x4", true), 0.012);
    let logs = logged(&world, 300, 1);
    let problem = safely(Problem::builder(logs).discount(0.9), 0.012);
    let short = networks().n_iterations(3usize).gradient_steps(3usize).resamples(2usize);
    let table = BatchOptions::default().resamples(3usize);
    let corrective = appropo::player::FullyCorrectiveOptions::default();
    for method in [
        Batch::default().options(table.clone()),
        Batch::default().options(table).player(corrective.clone()),
        Batch::default().options(short.clone()),
        Batch::default().options(short).player(corrective),
    ] {
        let budget = Budget::default().rounds(6);
        let mut states = Vec::new();
        let mut keep = |round: &Round| {
            states.push((round.state)().unwrap().1);
            ControlFlow::Continue(())
        };
        let whole = bytes(&problem.solve(&method, &budget, 3, &mut keep).unwrap());
        assert!(states.len() > 1, "{method:?}");
        for state in states {
            let from = Resume { state, history: Default::default() };
            let again = problem.resume(&method, &budget, 3, from, &mut ()).unwrap();
            assert_eq!(bytes(&again), whole, "{method:?}");
        }
    }
}

/// All that an outcome says: a hash of its mixture, and the rest.
fn bytes(outcome: &Outcome) -> (u64, String) {
    let mut saver = Saver::default();
    saver.put(&outcome.mixture);
    let said = (&outcome.certificate, &outcome.off_policy, outcome.rounds, &outcome.stop);
    let mut hash = std::hash::DefaultHasher::new();
    saver.into_bytes().hash(&mut hash);
    (hash.finish(), format!("{said:?}"))
}

#[test]
fn recording_is_seeded_and_epsilon_is_the_share_of_random_actions() {
    let problem = lake("8x8", false).build().unwrap();
    let always_right = Mixed::one(TabularPolicy::deterministic(64, 4, vec![2; 64]).unwrap());
    let play = |epsilon: f64, seed: u64| {
        let recording = Recording::default().episodes(200).epsilon(epsilon);
        record(&problem, Some(&always_right), &recording, seed).unwrap()
    };
    assert_eq!(play(0.4, 1).checksum(), play(0.4, 1).checksum());
    assert_ne!(play(0.4, 1).checksum(), play(0.4, 2).checksum());
    let log = play(0.4, 1);
    let right = log.episodes().flat_map(|episode| episode.actions).filter(|action| **action == 2.0).count();
    let share = right as f64 / log.steps() as f64;
    // 0.6, and a quarter of the rest.
    assert!((share - 0.7).abs() < 0.02, "{share}");
    for (recording, said) in [
        (Recording::default().episodes(0), "episodes is 0; expected 1 or more"),
        (Recording::default().epsilon(1.5), "epsilon is 1.5; expected between 0 and 1"),
    ] {
        assert_eq!(record(&problem, None, &recording, 0).unwrap_err().to_string(), said);
    }
}
