//! The best value of a measure subject to constraints, planned and learnt: what is found, taken up again, and claimed.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::mars_rover;
use appropo::error::{Error, Result};
use appropo::measurement::{Estimate, Spread};
use appropo::method::{Appropo, Budget, Method};
use appropo::oracle::{
    Learned, LearnedOptions, ModelOptions, Reestimate, Respond, Response, UniversalOptions,
};
use appropo::outcome::{History, Outcome};
use appropo::player::{FullyCorrective, OgdOptions, Player};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::problem::{Direction, Problem};
use appropo::rl::actor_critic::PpoOptions;
use appropo::set::{Bounds, ConvexSet, SharedSet};
use appropo::solver::{Stop, StopRule, maximize, with_free_objective};
use appropo::state::Checkpoint;
use appropo::utility::Criterion;
use appropo::verify::verify;

use crate::oracles::episodes;
use crate::solving::{Keeper, binary, bits, cart_pole, diversity, rover, safety};

/// The exact optimum of the rover's reward under the safety constraint.
const OPTIMUM: f64 = -0.11100520;

fn small() -> Problem {
    let world = mars_rover::world("4x4", 0.05).unwrap();
    let safety = Constraint::at_most("failure", 0.3).unwrap();
    Problem::builder(world).discount(0.99).constraint(safety).maximize("reward").build().unwrap()
}

fn balancing() -> Problem {
    cart_pole().constraint(Constraint::at_most("failure", 0.5).unwrap()).maximize("reward").build().unwrap()
}

fn quick_ppo() -> Appropo {
    let options = LearnedOptions::default().episodes(10_usize).fresh(10_usize);
    Appropo::default().oracle(Learned { options, ..Learned::by(PpoOptions::default().net_arch(vec![16])) })
}

#[test]
fn a_learnt_model_finds_the_optimum_within_five_per_cent() {
    let problem = rover().constraint(safety()).maximize("reward").build().unwrap();
    let method = Appropo::default().oracle(ModelOptions::default());
    for seed in [1, 2] {
        let outcome = problem.solve(&method, &Budget::samples(20_000), seed, &mut ()).unwrap();
        let found = outcome.objective.clone().unwrap();
        assert_eq!(outcome.verdict(), Verdict::Feasible, "seed {seed}");
        let value = found.value.unwrap();
        assert!((1.05 * OPTIMUM..=OPTIMUM + 1e-6).contains(&value), "seed {seed}: {value}");
        assert_eq!((found.bound, found.ceiling), (None, None));
        let (low, high) = found.interval.unwrap();
        assert!(low < value && value < high, "seed {seed}: {value} outside {low} to {high}");
        assert!(outcome.samples <= 20_000 + 1_000 && outcome.samples > 1_000, "{}", outcome.samples);
        verify(&problem, &outcome, 7).unwrap();
    }
}

#[test]
fn a_network_learns_to_maximise() {
    let problem = balancing();
    let outcome = problem.solve(&quick_ppo(), &Budget::samples(40_000), 0, &mut ()).unwrap();
    let found = outcome.objective.clone().unwrap();
    assert_eq!((outcome.verdict(), outcome.stop.clone()), (Verdict::Feasible, Stop::Samples));
    // The most there is is Σ 0.99ⁱ over 50 steps; a network that has learnt nothing has about 18.
    let value = found.value.unwrap();
    assert!(value > 30.0 && value < 39.5 + 1e-9, "{value}");
    let (low, high) = found.interval.unwrap();
    assert!(low <= value && value <= high && high - low < 12.0, "{value} in {low} to {high}");
    assert!(found.sentence().ends_with("; no better found within the budget"), "{}", found.sentence());
    // The best so far, with the constraints held, never gets worse.
    let curve: Vec<f64> = outcome.history.lines.iter().filter_map(|line| line.objective).collect();
    assert!(curve.len() > 1 && curve.is_sorted(), "{curve:?}");
    verify(&problem, &outcome, 7).unwrap();
}

/// Following multipliers waited for episodes that were longer than the samples.
#[test]
fn samples_that_end_before_the_next_answer_are_not_overrun() {
    let method = Appropo::default().oracle(Learned::by(PpoOptions::default().net_arch(vec![8])));
    let steady = Constraint::at_most("failure", 1.0).unwrap();
    let problem = cart_pole().horizon(400).constraint(steady).maximize("reward").build().unwrap();
    let outcome = problem.solve(&method, &Budget::samples(3_000), 0, &mut ()).unwrap();
    // A batch, and two episodes of what was found in the end.
    assert!(outcome.samples < 3_000 + 256 + 2 * 400, "{}", outcome.samples);
}

/// States of both phases: while the hull is outside the set, and after.
#[test]
fn a_search_that_is_taken_up_again_ends_as_it_would_have() {
    let diverse = rover().constraints([safety(), diversity()]).maximize("reward").build().unwrap();
    let universal = UniversalOptions::default().net_arch([16]).gradient_steps(1_usize).confirming(5_usize);
    let cases: [(Problem, Appropo, Budget); 4] = [
        (diverse, Appropo::default(), Budget::default()),
        (balancing(), quick_ppo(), Budget::samples(30_000)),
        (small(), Appropo::default().oracle(ModelOptions::default()), Budget::samples(2_500)),
        (small(), Appropo::default().oracle(universal), Budget::samples(4_000)),
    ];
    for (problem, method, budget) in cases {
        is_resumed(&problem, &method, &budget);
    }
}

/// A solve that is taken up again from several of its rounds ends as it would have, bit for bit.
pub fn is_resumed(problem: &Problem, method: &dyn Method, budget: &Budget) {
    let mut keeper = Keeper { problem, history: History::default(), kept: Vec::new() };
    let whole = problem.solve(method, budget, 3, &mut keeper).unwrap();
    assert_eq!(keeper.history, whole.history, "{method:?}");
    assert_eq!(whole.history.lines.len(), whole.rounds);
    let again = problem.solve(method, budget, 3, &mut ()).unwrap();
    assert!(bits(&again) == bits(&whole), "{method:?}");
    let count = keeper.kept.len();
    assert!(count > 2, "{count} rounds: {method:?}");
    // Every place matters: what goes on in the middle of an answer depends on where it began.
    for place in (0..count).filter(|place| count < 80 || place % (count / 5 + 1) == 0) {
        let resumed = problem.resume(method, budget, 3, keeper.kept[place].clone(), &mut ()).unwrap();
        assert_eq!(resumed.history, whole.history, "from place {place}: {method:?}");
        assert!(bits(&resumed) == bits(&whole), "from place {place}: {method:?}");
    }
    // Cut short it is refused, never taken half.
    let mut cut = keeper.kept[count / 2].clone();
    cut.state.truncate(cut.state.len() - 9);
    let refused = problem.resume(method, budget, 3, cut, &mut ());
    assert!(matches!(refused, Err(Error::State { .. })));
}

/// A binary search begins anew, and ends as it would have.
#[test]
fn a_binary_search_that_is_taken_up_again_begins_anew() {
    let problem = rover().constraint(safety()).maximize("reward").build().unwrap();
    let whole = problem.solve(&binary(), &Budget::default(), 0, &mut ()).unwrap();
    assert_eq!(whole.history.lines.len(), whole.rounds);
    assert!(whole.history.lines.iter().zip(1..).all(|(line, number)| line.round == number));
    let from = appropo::method::Resume { state: Vec::new(), history: whole.history.clone() };
    let again = problem.resume(&binary(), &Budget::default(), 0, from, &mut ()).unwrap();
    assert!(bits(&again) == bits(&whole));
}

#[test]
fn claims_of_an_objective_are_verified() {
    let planned = rover().constraint(safety()).maximize("reward").build().unwrap();
    let outcome = planned.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
    let lines = verify(&planned, &outcome, 1).unwrap();
    assert!(lines.iter().any(|line| line.contains("no feasible policy passes -0.111005")), "{lines:?}");
    let forged = |problem: &Problem, outcome: &Outcome, forge: &dyn Fn(&mut Outcome)| {
        let mut outcome = outcome.clone();
        forge(&mut outcome);
        let refused = verify(problem, &outcome, 1);
        assert!(matches!(refused, Err(Error::Refuted { .. })), "{refused:?}");
    };
    let entry = planned.objective().unwrap().entries[0].0;
    forged(&planned, &outcome, &|o| o.objective.as_mut().unwrap().value = Some(-0.1));
    forged(&planned, &outcome, &|o| o.objective.as_mut().unwrap().value = None);
    forged(&planned, &outcome, &|o| {
        o.measurements[entry] = -0.1;
        o.objective.as_mut().unwrap().value = Some(-0.1);
    });
    // A bound that the proof does not reach, one without a proof, and a proof of something else.
    forged(&planned, &outcome, &|o| o.objective.as_mut().unwrap().bound = Some(-0.1111));
    forged(&planned, &outcome, &|o| o.objective.as_mut().unwrap().ceiling = None);
    forged(&planned, &outcome, &|o| {
        o.objective.as_mut().unwrap().ceiling.as_mut().unwrap().lam[0] *= 1.5;
    });
    forged(&planned, &outcome, &|o| o.objective = None);
    forged(&planned, &outcome, &|o| o.objective.as_mut().unwrap().direction = Direction::Minimize);
    // By the programme there is no bound, and none is claimed.
    let outcome = planned.solve(&appropo::method::Occupancy, &Budget::default(), 0, &mut ()).unwrap();
    verify(&planned, &outcome, 1).unwrap();
    forged(&planned, &outcome, &|o| o.objective.as_mut().unwrap().bound = Some(-0.111));

    let learnt = balancing();
    let outcome = learnt.solve(&quick_ppo(), &Budget::samples(8_000), 0, &mut ()).unwrap();
    verify(&learnt, &outcome, 1).unwrap();
    forged(&learnt, &outcome, &|o| *o.objective.as_mut().unwrap().value.as_mut().unwrap() += 1.0);
    forged(&learnt, &outcome, &|o| o.objective.as_mut().unwrap().interval.as_mut().unwrap().0 += 0.01);
    forged(&learnt, &outcome, &|o| o.objective.as_mut().unwrap().interval = None);
    forged(&learnt, &outcome, &|o| o.objective.as_mut().unwrap().bound = Some(1e6));
}

#[test]
fn what_takes_no_objective_says_so() {
    let refused = |problem: &Problem, method: &dyn Method| {
        problem.solve(method, &Budget::default(), 0, &mut ()).unwrap_err()
    };
    for method in [&binary() as &dyn Method, &appropo::method::Occupancy] {
        let error = refused(&balancing(), method);
        assert!(error.to_string().contains("no model to plan in; leave \"method\""), "{error}");
    }
    let learning = binary().oracle(Learned::by(PpoOptions::default()));
    let error = refused(&small(), &learning);
    assert!(error.to_string().contains("takes no oracle but \"exact\"; found \"ppo\""), "{error}");
    let error = refused(&small(), &Appropo::default().player(OgdOptions::default()));
    assert!(
        error.to_string().contains("\"fully-corrective\"; found \"ogd\"; leave \"player\" out"),
        "{error}"
    );
}

/// Two policies, one with a larger objective and a violation, known by estimates; what is asked for is written down.
struct Two {
    asked: Vec<(Vec<f64>, f64)>,
    /// What an episode of the mixture fails by, over what its policies were estimated to.
    surprise: f64,
    steps: u64,
}

impl Two {
    fn policy(is_bold: bool) -> Mixed {
        Mixed::one(TabularPolicy::deterministic(1, 2, vec![u32::from(is_bold)]).unwrap())
    }

    fn spread() -> Spread {
        Spread { deviations: vec![0.5, 0.5], episodes: 100.0 }
    }
}

impl Checkpoint for Two {}

impl Respond for Two {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        self.asked.push((lam.to_vec(), offset));
        self.steps += 10;
        // Bold: violation 1, objective 1. Shy: neither.
        let is_bold = lam[0] + lam[1] < 0.0;
        let z_hat = if is_bold { vec![1.0, 1.0] } else { vec![0.0, 0.0] };
        let (policy, spread) = (Self::policy(is_bold), Some(Self::spread()));
        Ok(Response { policy, z_hat, spread, bound: None, gave_up: false })
    }
    fn samples(&self) -> u64 {
        self.steps
    }
    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        Some(self)
    }
}

impl Reestimate for Two {
    fn investigate(&mut self, _: &Mixed, _: f64) -> Result<()> {
        Ok(())
    }
    fn measure_again(&mut self, _: &Mixed) -> Option<(Vec<f64>, Spread)> {
        None
    }
    fn play_afresh(&mut self, mixture: &Mixed, _: &dyn Fn(&Estimate) -> bool) -> Result<Estimate> {
        let bold = |policy: &appropo::policy::AnyPolicy| policy.as_table().unwrap().most_likely(0, 0) == 1;
        let share: f64 = mixture.parts().iter().filter(|(_, policy)| bold(policy)).map(|(w, _)| w).sum();
        Ok(episodes(100, &[(share + self.surprise, 0.0), (share, 0.5)]))
    }
}

/// The constraint is kept by a margin of the estimates' errors, every λ asks for an improvement, and what fresh episodes
/// do not confirm is not returned.
#[test]
fn estimates_are_held_by_a_margin_and_confirmed() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.3).unwrap());
    let rule = StopRule::default().samples(400);
    let search = |surprise: f64| {
        let mut player = FullyCorrective::new(with_free_objective(&set).unwrap()).with_margin(1.0);
        let mut oracle = Two { asked: Vec::new(), surprise, steps: 0 };
        let found = maximize(&set, &Criterion::last(), &mut player, &mut oracle, &rule, &mut ()).unwrap();
        assert_eq!((found.stop.clone(), found.samples), (Stop::Samples, 400));
        (found, player.decision().clone(), oracle)
    };
    let (found, decision, oracle) = search(0.0);
    // Half of an episode's deviation over √100 is the least margin of a mixture of two.
    let value = found.value.unwrap();
    assert!(value < 0.3 - 0.05 + 1e-6 && value > 0.2, "{value}");
    assert_eq!(found.certificate.verdict, Verdict::Undecided);
    assert!(set.contains(&found.certificate.z_bar[..1], 0.0));
    assert_eq!(oracle.asked[0], (vec![0.0, -1.0], f64::INFINITY));
    let (lam, asked) = oracle.asked.last().unwrap();
    assert!(lam[1] == -1.0 && lam[0] > 0.0, "{lam:?}");
    assert!(*asked < decision.offset - value, "{asked} asks for nothing");
    // Episodes that fail more often than was thought: the margin grows until they hold.
    let (found, ..) = search(0.1);
    assert!(found.certificate.z_bar[0] <= 0.3 && found.value.unwrap() <= 0.2 + 1e-9, "{:?}", found.value);
    // Where they never hold, nothing is claimed.
    let (found, ..) = search(1.0);
    assert_eq!(found.value, None);
}

#[test]
fn the_best_mixture_is_kept_also_if_the_search_goes_astray() {
    let problem = balancing();
    let whole = problem.solve(&quick_ppo(), &Budget::samples(30_000), 1, &mut ()).unwrap();
    let last = whole.history.lines.iter().filter_map(|line| line.objective).next_back().unwrap();
    // What is returned is what was confirmed: fresh episodes of it are not far off.
    let value = whole.objective.unwrap().value.unwrap();
    assert!((value - last).abs() < 4.0, "{value} was confirmed as {last}");
}
