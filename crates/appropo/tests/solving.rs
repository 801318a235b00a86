//! Problems, how they are solved, and what comes out: the Mars rover's exact answers, outcomes that are the same again,
//! and what is refused.

use std::ops::ControlFlow;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::cart_pole::CartPole;
use appropo::env::{EnvSpec, Environment, Space, Status, mars_rover};
use appropo::error::{Error, Result};
use appropo::measurement::Measures;
use appropo::method::{Appropo, AppropoOptions, Budget, Method, ObjectiveSearch, Occupancy, Resume};
use appropo::oracle::{ExactOptions, Learned, LearnedOptions, ModelOptions};
use appropo::outcome::{History, Outcome, RoundLine};
use appropo::player::{BlackwellOptions, OgdOptions};
use appropo::problem::{Direction, Problem, ProblemBuilder};
use appropo::random::Generator;
use appropo::rl::QLearningOptions;
use appropo::rl::actor_critic::{A2cOptions, PpoOptions};
use appropo::scalars::scalars;
use appropo::set::Ball;
use appropo::solver::{Observer, Progress, Round, Stop};
use appropo::state::{Checkpoint, Saver};
use appropo::verify::verify;

pub fn rover() -> ProblemBuilder {
    Problem::builder(mars_rover::world("8x8", 0.05).unwrap()).discount(0.99)
}

pub fn safety() -> Constraint {
    Constraint::at_most("failure", 0.2).unwrap()
}

fn speed() -> Constraint {
    Constraint::at_least("reward", -0.17).unwrap()
}

pub fn diversity() -> Constraint {
    let center = mars_rover::world("8x8", 0.05).unwrap().grid.unwrap().uniform_upper_triangle();
    Constraint::share("visits", Arc::new(Ball::new(center, 0.12).unwrap()))
}

pub fn binary() -> Appropo {
    Appropo::default().options(AppropoOptions::default().search(ObjectiveSearch::Binary))
}

fn solve(problem: &Problem, method: &dyn Method, budget: &Budget) -> Outcome {
    problem.solve(method, budget, 0, &mut ()).unwrap()
}

#[track_caller]
fn agree(found: f64, expected: f64, digits: f64) {
    assert!((found - expected).abs() <= digits, "found {found}, expected {expected}");
}

#[test]
fn a_feasible_problem() {
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    for method in [&Appropo::default() as &dyn Method, &Occupancy] {
        let outcome = solve(&problem, method, &Budget::default());
        assert_eq!(outcome.verdict(), Verdict::Feasible, "{}", method.name());
        assert_eq!(outcome.stop, Stop::Reached);
        assert!(outcome.certificate.distance <= 1e-6);
        assert!(outcome.measurements[0] <= 0.2 + 1e-6 && outcome.measurements[1] >= -0.17 - 1e-6);
        assert_eq!(outcome.measurements.len(), problem.measures().dim());
        assert!(outcome.rows(&problem).iter().all(|row| row.holds));
        assert!(outcome.evaluation.is_none() && outcome.objective.is_none() && outcome.samples == 0);
        assert!(outcome.sentence().starts_with("feasible: "), "{}", outcome.sentence());
    }
    // Every player gets there.
    for method in [
        Appropo::default().player(BlackwellOptions::default()),
        Appropo::default().player(OgdOptions::default()),
        Appropo::default().player(OgdOptions::default().momentum(0.9)),
    ] {
        let outcome = solve(&problem, &method, &Budget::default().tolerance(1e-3));
        assert_eq!(outcome.verdict(), Verdict::Feasible, "{method:?}");
    }
}

#[test]
fn an_infeasible_problem_is_proved_so_with_its_distance() {
    let constraints =
        [Constraint::at_most("failure", 0.02).unwrap(), Constraint::at_least("reward", -0.125).unwrap()];
    let problem = rover().constraints(constraints).build().unwrap();
    let outcome = solve(&problem, &Appropo::default(), &Budget::default());
    assert_eq!((outcome.verdict(), outcome.stop.clone()), (Verdict::Infeasible, Stop::Reached));
    agree(outcome.certificate.distance, 0.00460232, 1e-6);
    agree(outcome.certificate.lower_bound, 0.00460232, 1e-6);
    assert!(outcome.certificate.lower_bound <= outcome.certificate.distance + 1e-12);
    assert!(outcome.certificate.separation.is_some());
    assert!(outcome.sentence().contains("at least 0.0046"), "{}", outcome.sentence());
    assert!(outcome.rows(&problem).iter().any(|row| !row.holds));
    let outcome = solve(&problem, &Occupancy, &Budget::default());
    assert_eq!(outcome.verdict(), Verdict::Infeasible);
    agree(outcome.certificate.distance, 0.00460232, 1e-6);
}

/// The best value in every way there is.
#[track_caller]
fn optimum(problem: &Problem, expected: f64) {
    let sign = problem.objective().unwrap().direction.sign();
    let by_master = solve(problem, &Appropo::default(), &Budget::default().tolerance(1e-8));
    let found = by_master.objective.clone().unwrap();
    assert_eq!((by_master.verdict(), &by_master.stop), (Verdict::Feasible, &Stop::Reached));
    agree(found.value.unwrap(), expected, 1e-7);
    // The bound is on the other side of the value, and close to it.
    let gap = sign * (found.bound.unwrap() - found.value.unwrap());
    assert!((-1e-9..=1e-7).contains(&gap), "{gap}");
    agree(by_master.measurements[problem.objective().unwrap().entries[0].0], found.value.unwrap(), 1e-9);

    let by_search = solve(problem, &binary(), &Budget::default());
    let found = by_search.objective.unwrap();
    agree(found.value.unwrap(), expected, 2e-6);
    assert!(sign * (found.bound.unwrap() - expected) >= -1e-7, "{found:?}");

    if problem.discounting().horizon().is_none() {
        let by_programme = solve(problem, &Occupancy, &Budget::default());
        let found = by_programme.objective.unwrap();
        agree(found.value.unwrap(), expected, 1e-6);
        assert_eq!((found.bound, by_programme.rounds), (None, 0));
    }
}

#[test]
fn largest_reward_without_constraints() {
    optimum(&rover().maximize("reward").build().unwrap(), -0.04165632);
}

#[test]
fn largest_reward_with_the_safety_constraint() {
    optimum(&rover().constraint(safety()).maximize("reward").build().unwrap(), -0.11100520);
}

#[test]
fn least_failure_with_the_speed_constraint() {
    let problem = rover().constraint(speed()).build().unwrap();
    assert!(problem.objective().is_none());
    let problem = problem.with_objective("failure", Direction::Minimize).unwrap();
    optimum(&problem, 0.02243969);
    assert!(problem.without_objective().objective().is_none());
}

#[test]
fn largest_reward_with_diversity() {
    optimum(&rover().constraints([safety(), diversity()]).maximize("reward").build().unwrap(), -0.1112974);
}

#[test]
fn undiscounted_with_and_without_the_horizon() {
    for horizon in [None, Some(300)] {
        let problem = rover().discount(1.0).horizon(horizon).constraint(safety()).maximize("reward");
        optimum(&problem.build().unwrap(), -0.11878246);
    }
}

/// An objective whose constraints no policy satisfies has no value, and the verdict says so.
#[test]
fn nothing_is_optimal_where_nothing_is_feasible() {
    let impossible = Constraint::at_most("failure", 0.001).unwrap();
    let problem = rover().constraints([impossible, speed()]).maximize("reward").build().unwrap();
    for method in [&Appropo::default() as &dyn Method, &binary(), &Occupancy] {
        let outcome = solve(&problem, method, &Budget::default());
        assert_eq!(outcome.verdict(), Verdict::Infeasible, "{}", method.name());
        assert_eq!(outcome.objective.unwrap().value, None);
    }
}

/// An entry of a vector can be optimised, too.
#[test]
fn an_entry_of_a_vector_as_the_objective() {
    let goal = mars_rover::world("8x8", 0.05).unwrap().grid.unwrap().find('G').unwrap();
    let problem = rover().constraint(safety()).maximize(format!("visits[{goal}]")).build().unwrap();
    let by_master = solve(&problem, &Appropo::default(), &Budget::default()).objective.unwrap();
    let by_programme = solve(&problem, &Occupancy, &Budget::default()).objective.unwrap();
    agree(by_master.value.unwrap(), by_programme.value.unwrap(), 1e-5);
    assert!(by_master.value.unwrap() > 0.7, "{by_master:?}");
}

/// All that an outcome says but for how long it took, bit by bit.
pub fn bits(outcome: &Outcome) -> (Vec<u8>, Vec<u64>, String) {
    let mut saver = Saver::default();
    saver.put(&outcome.mixture);
    let lines = outcome.history.lines.iter().flat_map(|line| {
        let numbers = [vec![line.distance, line.lower_bound], line.lam.clone(), line.answer.clone()];
        [numbers.concat(), line.mixture.clone()].concat()
    });
    let certificate = &outcome.certificate;
    let numbers = [&certificate.z_bar[..], &[certificate.distance, certificate.lower_bound]].concat();
    let numbers = numbers.into_iter().chain(outcome.measurements.iter().copied()).chain(lines);
    let rest = format!(
        "{:?} {:?} {:?} {} {} {:?} {:?} {}",
        outcome.certificate,
        outcome.evaluation,
        outcome.objective,
        outcome.rounds,
        outcome.samples,
        outcome.stop,
        outcome.history,
        outcome.seed
    );
    (saver.into_bytes(), numbers.map(f64::to_bits).collect(), rest)
}

/// Remembers every state with the history up to it.
pub struct Keeper<'a> {
    pub problem: &'a Problem,
    pub history: History,
    pub kept: Vec<Resume>,
}

impl Observer for Keeper<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        let (rounds, state) = (round.state)()?;
        let scalars = scalars(self.problem);
        self.history.names = scalars.iter().map(|scalar| scalar.name.clone()).collect();
        // What is kept may be of before this round, which is then played again.
        self.history.add(RoundLine::of(round, self.problem, &scalars));
        let mut history = self.history.clone();
        history.lines.truncate(rounds);
        self.kept.push(Resume { state, history });
        Ok(ControlFlow::Continue(()))
    }

    /// States in the middle of a call, too.
    fn progress(&mut self, progress: &Progress) -> Result<()> {
        if let Some(state) = progress.state {
            let (rounds, state) = state()?;
            let mut history = self.history.clone();
            history.lines.truncate(rounds);
            self.kept.push(Resume { state, history });
        }
        Ok(())
    }
}

#[test]
fn the_same_seed_gives_the_same_outcome_also_when_taken_up_again() {
    let small = |horizon| {
        let world = mars_rover::world("4x4", 0.05).unwrap();
        let safety = Constraint::at_most("failure", 0.3).unwrap();
        Problem::builder(world).discount(0.99).horizon(horizon).constraints([safety, speed()])
    };
    let quick = |learner| Learned { options: LearnedOptions::default().episodes(10_usize), ..learner };
    let learning = Budget::samples(4_000).rounds(4);
    let diverse = rover().constraints([safety(), speed(), diversity()]).build().unwrap();
    let cases: [(Problem, Appropo, Budget); 7] = [
        (diverse.clone(), Appropo::default(), Budget::default().tolerance(1e-9)),
        (diverse.clone(), Appropo::default().player(OgdOptions::default()), Budget::default().rounds(20)),
        (diverse, Appropo::default().player(BlackwellOptions::default()), Budget::default().rounds(20)),
        (
            small(Some(100)).build().unwrap(),
            Appropo::default().oracle(quick(Learned::by(QLearningOptions::default()))),
            learning.clone(),
        ),
        (
            small(None).build().unwrap(),
            Appropo::default().oracle(quick(Learned::by(PpoOptions::default()))),
            learning.clone(),
        ),
        (
            small(Some(100)).build().unwrap(),
            Appropo::default().oracle(quick(Learned::by(A2cOptions::default()))),
            learning.clone(),
        ),
        (
            small(None).build().unwrap(),
            Appropo::default().oracle(ModelOptions::default()),
            Budget::samples(2_000),
        ),
    ];
    for (problem, method, budget) in cases {
        let mut keeper = Keeper { problem: &problem, history: History::default(), kept: Vec::new() };
        let whole = problem.solve(&method, &budget, 3, &mut keeper).unwrap();
        assert_eq!(keeper.history, whole.history, "{method:?}");
        assert_eq!(whole.history.lines.len(), whole.rounds);
        assert_eq!(whole.evaluation.is_some(), method.is_learning(&problem));
        let again = problem.solve(&method, &budget, 3, &mut ()).unwrap();
        assert!(bits(&again) == bits(&whole), "{method:?}");
        if method.is_learning(&problem) {
            let other = problem.solve(&method, &budget, 4, &mut ()).unwrap();
            assert!(bits(&other) != bits(&whole), "the seed changes nothing: {method:?}");
        }
        let places = [0, keeper.kept.len() / 2, keeper.kept.len() - 1];
        for from in places.map(|place| keeper.kept[place].clone()) {
            let place = from.history.lines.len();
            let resumed = problem.resume(&method, &budget, 3, from, &mut ()).unwrap();
            assert_eq!(resumed.history, whole.history, "from round {place}: {method:?}");
            assert_eq!(resumed.certificate, whole.certificate, "from round {place}: {method:?}");
            let weights = |outcome: &Outcome| -> Vec<u64> {
                outcome.mixture.parts().iter().map(|(weight, _)| weight.to_bits()).collect()
            };
            assert_eq!(weights(&resumed), weights(&whole), "from round {place}: {method:?}");
            assert!(bits(&resumed) == bits(&whole), "from round {place}: {method:?}");
        }
    }
}

/// A state of another problem is refused.
#[test]
fn a_state_that_does_not_belong_is_refused() {
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    let mut keeper = Keeper { problem: &problem, history: History::default(), kept: Vec::new() };
    problem.solve(&Appropo::default(), &Budget::default(), 0, &mut keeper).unwrap();
    let from = keeper.kept.remove(0);
    let other = rover().constraints([safety(), speed(), diversity()]).build().unwrap();
    let refused = other.resume(&Appropo::default(), &Budget::default(), 0, from, &mut ());
    assert!(matches!(refused, Err(Error::State { .. })), "{refused:?}");
}

pub fn cart_pole() -> ProblemBuilder {
    Problem::builder(EnvSpec::playable(CartPole::new)).discount(0.99).horizon(50)
}

/// What decides is the evaluation that ended the search, with its share of the level; a search that is taken up again at
/// its end has the same.
#[test]
fn a_search_that_learns_ends_with_what_decided() {
    let problem = cart_pole().constraint(Constraint::at_least("steps", 25.0).unwrap()).build().unwrap();
    let (method, budget) = (Appropo::default(), Budget::samples(20_000));
    let mut keeper = Keeper { problem: &problem, history: History::default(), kept: Vec::new() };
    let whole = problem.solve(&method, &budget, 0, &mut keeper).unwrap();
    let evaluation = whole.evaluation.clone().unwrap();
    assert_eq!((whole.verdict(), &whole.stop), (Verdict::Feasible, &Stop::Reached));
    assert!((1..=3).contains(&evaluation.attempt), "{}", evaluation.attempt);
    verify(&problem, &whole, 7).unwrap();
    let again = problem.resume(&method, &budget, 0, keeper.kept.pop(), &mut ()).unwrap();
    assert_eq!(again.evaluation, Some(evaluation));
}

#[test]
fn oracles_say_where_they_can_answer() {
    let problem = cart_pole().constraint(Constraint::at_most("failure", 0.5).unwrap()).build().unwrap();
    let refused = |method: Appropo| problem.solve(&method, &Budget::default(), 0, &mut ()).unwrap_err();
    let exact = refused(Appropo::default().oracle(ExactOptions::default()));
    assert!(matches!(exact, Error::Unsuitable { learner: "planning", .. }), "{exact:?}");
    assert_eq!(
        exact.to_string(),
        "planning needs a known model, such as a table of probabilities; use \"ppo\" or \"a2c\" here"
    );
    for error in [
        refused(Appropo::default().oracle(ModelOptions::default())),
        refused(Appropo::default().oracle(Learned::by(QLearningOptions::default()))),
    ] {
        assert!(error.to_string().contains("that can be counted; use \"ppo\" or \"a2c\" here"), "{error}");
    }
    let occupancy = problem.solve(&Occupancy, &Budget::default(), 0, &mut ());
    assert!(occupancy.is_err(), "{occupancy:?}");
}

#[test]
fn measures_that_are_not_there_are_refused() {
    let unknown = rover().constraint(Constraint::at_most("failrue", 0.2).unwrap()).build().unwrap_err();
    assert!(matches!(&unknown, Error::UnknownMeasure { name, .. } if name == "failrue"), "{unknown:?}");
    assert!(unknown.to_string().contains("failure, reward, steps, visits"), "{unknown}");
    let message = |measure: &str| rover().maximize(measure).build().unwrap_err().to_string();
    assert!(message("rewrad").contains("did you mean \"reward\"?"), "{}", message("rewrad"));
    assert!(message("visits").contains("write visits[0] to visits[63]"), "{}", message("visits"));
    assert!(message("visits[64]").contains("from 0 to 63"), "{}", message("visits[64]"));
    assert!(message("visits[x]").contains("from 0 to 63"), "{}", message("visits[x]"));
}

#[test]
fn problems_without_anything_to_solve_are_refused() {
    let problem = rover().build().unwrap();
    for method in [&Appropo::default() as &dyn Method, &Occupancy] {
        let refused = problem.solve(method, &Budget::default(), 0, &mut ()).unwrap_err();
        assert_eq!(
            refused,
            Error::Objective("the problem has no constraint and no objective; add one".into())
        );
    }
}

#[test]
fn horizons_and_discounts_that_do_not_fit_are_refused() {
    // 64 states and 4 actions.
    let most = 200_000_000 / 256;
    let long = rover().horizon(most + 1).constraint(safety()).build().unwrap_err();
    assert!(matches!(&long, Error::OutOfRange { what, .. } if what == "horizon"), "{long:?}");
    assert!(long.to_string().contains(&format!("at most {most} for a plan")), "{long}");
    assert!(rover().horizon(most).constraint(safety()).build().is_ok());
    // Nobody plans in a world without a model.
    assert!(cart_pole().horizon(1_000_000_000).build().is_ok());

    // Whoever does not slip may go on for ever, which costs without end.
    let still = mars_rover::world("8x8", 0.0).unwrap();
    let endless = || Problem::builder(still.clone()).constraint(safety()).maximize("steps");
    let refused = endless().build().unwrap_err();
    assert!(matches!(refused, Error::Endless { .. }), "{refused:?}");
    assert!(endless().horizon(300).build().is_ok() && endless().discount(0.99).build().is_ok());
    assert!(rover().discount(1.0).constraint(safety()).build().is_ok());
    for discount in [-0.1, 1.1, f64::NAN] {
        assert!(rover().discount(discount).build().is_err(), "{discount}");
    }
}

#[test]
fn budgets_of_nothing_are_refused() {
    let problem = rover().constraint(safety()).build().unwrap();
    let budgets = [
        (Budget::samples(0), "samples"),
        (Budget::default().rounds(0), "rounds"),
        (Budget::default().tolerance(0.0), "tolerance"),
        (Budget::default().tolerance(f64::NAN), "tolerance"),
    ];
    for (budget, what) in budgets {
        let refused = problem.solve(&Appropo::default(), &budget, 0, &mut ()).unwrap_err();
        assert!(refused.to_string().starts_with(what), "{refused}");
    }
}

#[test]
fn an_observer_ends_the_search_and_what_it_has_is_evaluated() {
    let problem = rover().constraints([safety(), speed(), diversity()]).build().unwrap();
    let mut enough = |round: &Round| match round.round {
        2 => ControlFlow::Break(()),
        _ => ControlFlow::Continue(()),
    };
    let outcome = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut enough).unwrap();
    assert_eq!((outcome.stop.clone(), outcome.rounds), (Stop::Observer, 2));
    assert_eq!((outcome.history.lines.len(), outcome.reason()), (2, "stopped by an observer".into()));
    assert_eq!(outcome.verdict(), Verdict::Undecided);
    let selected = problem.target().selection().apply(&outcome.measurements);
    assert!(selected.iter().zip(&outcome.certificate.z_bar).all(|(a, b)| (a - b).abs() <= 1e-9));
    assert!(outcome.certificate.lower_bound <= outcome.certificate.distance);
    assert!(outcome.failure().is_none());

    // Fresh episodes estimator what was learnt by then.
    let problem = cart_pole().constraint(Constraint::at_most("failure", 1.0).unwrap()).build().unwrap();
    let mut enough = |_: &Round| ControlFlow::Break(());
    let outcome = problem.solve(&Appropo::default(), &Budget::samples(20_000), 0, &mut enough).unwrap();
    assert_eq!(outcome.rounds, 1);
    assert!(matches!(outcome.stop, Stop::Observer | Stop::Reached), "{:?}", outcome.stop);
    let evaluation = outcome.evaluation.as_ref().unwrap();
    assert!(evaluation.episodes >= 50 && outcome.evaluation_samples() > 0);
    assert_eq!(outcome.measurements, evaluation.measured.mean());
    assert!(outcome.evidence().contains("fresh episodes"), "{}", outcome.evidence());
}

/// Sees so many rounds before it fails.
struct Failing(usize, Error);

impl Observer for Failing {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        if round.round < self.0 { Ok(ControlFlow::Continue(())) } else { Err(self.1.clone()) }
    }
}

#[test]
fn an_observer_that_fails_leaves_what_was_found_and_no_claim() {
    let problem = rover().constraints([safety(), speed()]).build().unwrap();
    let rounds = solve(&problem, &Appropo::default(), &Budget::default()).rounds;
    for error in [Error::External { what: "the callback" }, Error::Interrupted] {
        // Also in the round that would have been the last.
        for last in [1, rounds] {
            let mut failing = Failing(last, error.clone());
            let outcome = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut failing).unwrap();
            assert_eq!(outcome.stop, Stop::Failed(error.clone()));
            assert_eq!(outcome.failure(), Some(&error));
            assert_eq!((outcome.verdict(), outcome.rounds), (Verdict::Undecided, last));
            assert_eq!((outcome.certificate.lower_bound, &outcome.certificate.separation), (0.0, &None));
            assert!(outcome.measurements.iter().all(|z| z.is_finite()));
            assert_eq!(outcome.reason(), error.to_string());
        }
    }
    // Where only playing would tell, what no constraint looks at is not known.
    let problem = cart_pole().constraint(Constraint::at_most("failure", 0.5).unwrap()).build().unwrap();
    let mut failing = Failing(1, Error::External { what: "the callback" });
    let outcome = problem.solve(&Appropo::default(), &Budget::samples(20_000), 0, &mut failing).unwrap();
    assert_eq!(outcome.verdict(), Verdict::Undecided);
    assert!(outcome.evaluation.is_none() && outcome.measurements[0].is_finite());
    assert!(outcome.measurements[1..].iter().all(|z| z.is_nan()), "{:?}", outcome.measurements);
}

/// Measures nothing that can be used once so many steps have been taken in all.
struct Breaking {
    inner: CartPole,
    left: Arc<AtomicUsize>,
}

impl Checkpoint for Breaking {}

impl Environment for Breaking {
    fn measures(&self) -> &Measures {
        self.inner.measures()
    }
    fn observations(&self) -> Space {
        self.inner.observations()
    }
    fn actions(&self) -> Space {
        self.inner.actions()
    }
    fn reset(&mut self, rng: &mut Generator, observation: &mut [f64]) -> Result<()> {
        self.inner.reset(rng, observation)
    }
    fn step(
        &mut self,
        action: &[f64],
        rng: &mut Generator,
        observation: &mut [f64],
        z: &mut [f64],
    ) -> Result<Status> {
        let status = self.inner.step(action, rng, observation, z)?;
        match self.left.load(Ordering::Relaxed) {
            0 => z.fill(f64::NAN),
            left => self.left.store(left - 1, Ordering::Relaxed),
        }
        Ok(status)
    }
}

/// What was found before the world broke is kept, though it can't be evaluated there any more.
#[test]
fn a_world_that_breaks_leaves_what_was_found() {
    let solve = |steps: usize| {
        let left = Arc::new(AtomicUsize::new(steps));
        let make = move |horizon| Breaking { inner: CartPole::new(horizon), left: Arc::clone(&left) };
        let never = Constraint::at_most("failure", 0.0).unwrap();
        let problem = Problem::builder(EnvSpec::playable(make)).discount(0.99).horizon(50).constraint(never);
        problem.build().unwrap().solve(&Appropo::default(), &Budget::default(), 0, &mut ())
    };
    let outcome = solve(3_000).unwrap();
    assert!(matches!(outcome.failure(), Some(Error::World { .. })), "{:?}", outcome.stop);
    assert_eq!(outcome.verdict(), Verdict::Undecided);
    assert!(outcome.rounds > 0 && outcome.evaluation.is_none() && outcome.measurements[0].is_finite());
    assert!(outcome.measurements[1..].iter().all(|z| z.is_nan()), "{:?}", outcome.measurements);
    // Before anything was found there is nothing to keep.
    assert!(matches!(solve(0), Err(Error::World { .. })));
}

/// A search for an optimum is many games, and an observer ends all of them.
#[test]
fn an_observer_ends_the_search_for_an_optimum() {
    let problem = rover().constraints([safety(), diversity()]).maximize("reward").build().unwrap();
    for (method, name) in [(Appropo::default(), "master"), (binary(), "binary")] {
        let whole = solve(&problem, &method, &Budget::default());
        let all = whole.history.lines.len();
        assert_eq!((whole.stop, all > 4), (Stop::Reached, true), "{name}");
        for last in [1, 2, all / 2, all - 1] {
            let mut seen = 0;
            let mut enough = |_: &Round| {
                seen += 1;
                if seen < last { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
            };
            let outcome = problem.solve(&method, &Budget::default(), 0, &mut enough).unwrap();
            assert_eq!(
                (outcome.stop, seen, outcome.history.lines.len()),
                (Stop::Observer, last, last),
                "{name}"
            );
            let found = outcome.objective.unwrap();
            assert!(
                found.value.is_none_or(|value| value <= found.bound.unwrap() + 1e-6),
                "{name}: {found:?}"
            );
            assert!(found.bound.is_none_or(|bound| bound >= -0.1112974 - 1e-6), "{name}: {found:?}");
            assert!(outcome.measurements.iter().all(|z| z.is_finite()));

            let error = Error::External { what: "the callback" };
            let mut failing = Counted { seen: 0, last, error: error.clone() };
            let outcome = problem.solve(&method, &Budget::default(), 0, &mut failing).unwrap();
            assert_eq!((outcome.stop.clone(), failing.seen), (Stop::Failed(error), last), "{name}");
            assert_eq!(outcome.verdict(), Verdict::Undecided, "{name}");
        }
    }
}

/// Fails after so many rounds, of whichever game.
struct Counted {
    seen: usize,
    last: usize,
    error: Error,
}

impl Observer for Counted {
    fn round(&mut self, _: &Round) -> Result<ControlFlow<()>> {
        self.seen += 1;
        if self.seen < self.last { Ok(ControlFlow::Continue(())) } else { Err(self.error.clone()) }
    }
}

/// Whoever wants to stop need not wait for an answer.
#[test]
fn a_stop_signal_ends_a_solve_at_once() {
    let problem = cart_pole().constraint(Constraint::at_most("failure", 0.0).unwrap()).build().unwrap();
    let budget = Budget::samples(1_000_000).until(Arc::new(|| true));
    match problem.solve(&Appropo::default(), &budget, 0, &mut ()) {
        Err(error) => assert_eq!(error, Error::Interrupted),
        Ok(outcome) => assert_eq!(outcome.stop, Stop::Failed(Error::Interrupted)),
    }
}
