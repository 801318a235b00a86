//! Long-run averages: what is measured a step, over all time, by policies that go on for ever.

use std::sync::Arc;

use appropo::certificate::Verdict;
use appropo::constraint::Constraint;
use appropo::env::TabularMdp;
use appropo::error::Error;
use appropo::measurement::{Discounting, Measures, Selection};
use appropo::method::{Appropo, Budget, Occupancy as OccupancyMethod};
use appropo::oracle::{Exact, Planner, Respond};
use appropo::policy::TabularPolicy;
use appropo::problem::Problem;
use appropo::random::{self, Generator};
use appropo::rl::Occupancy;
use appropo::verify::verify;

const STATES: usize = 6;

fn forever() -> Discounting {
    Discounting::new(1.0, None).unwrap()
}

/// "fee" adds up and is mostly paid on the way; "power" and "yield" are averages.
fn random_model(rng: &mut Generator) -> TabularMdp {
    let measures = Measures::new([("fee", 1), ("power", 1), ("yield", 1)]).averaging([1, 2]);
    let mut model = TabularMdp::builder(STATES + 1, 3, measures);
    model.terminal(STATES).start(0, 0.5).start(1, 0.5);
    for state in 0..STATES {
        let actions = 1 + random::below(3, rng);
        model.available(state, actions);
        for action in 0..actions {
            let fee = if random::below(3, rng) == 0 { random::unit(rng) } else { 0.0 };
            let successors = 1 + random::below(3, rng);
            for _ in 0..successors {
                let next = random::below(STATES + usize::from(random::below(4, rng) == 0), rng);
                let z = [(0, fee), (1, random::unit(rng)), (2, 4.0 * random::unit(rng) - 2.0)];
                model.transition((state, action), 1.0 / successors as f64, next, &z);
            }
        }
    }
    model.build().unwrap()
}

fn all_policies(model: &TabularMdp) -> Vec<TabularPolicy> {
    let mut all = Vec::new();
    let mut actions = vec![0u32; STATES + 1];
    loop {
        all.push(TabularPolicy::deterministic(STATES + 1, model.actions(), actions.clone()).unwrap());
        let Some(place) = (0..STATES).find(|&s| (actions[s] as usize) + 1 < model.actions_of(s)) else {
            return all;
        };
        actions[place] += 1;
        actions[..place].fill(0);
    }
}

fn measured(model: &TabularMdp, policy: &TabularPolicy) -> Vec<f64> {
    Occupancy::of(model, &forever(), policy).unwrap().measure(model)
}

/// The averages of a policy are those of a long time: the chain is walked for 2^30 steps at once, by squaring.
#[test]
fn averages_are_those_of_a_long_time() {
    const POWER: usize = 30;
    let mut rng = random::generator(3);
    for _ in 0..40 {
        let model = random_model(&mut rng);
        let policy = TabularPolicy::uniform(STATES + 1, model.actions());
        // (P, Σ of what is measured in 2^k steps) for k = 0, 1, …
        let mut step = vec![[0.0; STATES + 1]; STATES + 1];
        let mut sums = [[0.0; 2]; STATES + 1];
        step[STATES][STATES] = 1.0;
        for state in 0..STATES {
            for action in 0..model.actions() {
                for t in model.row(state, action) {
                    let p = t.probability / model.actions() as f64;
                    step[state][t.next as usize] += p;
                    for &(i, z) in model.outcome(t.outcome).iter().filter(|(i, _)| *i > 0) {
                        sums[state][i as usize - 1] += p * z;
                    }
                }
            }
        }
        for _ in 0..POWER {
            let before = (step.clone(), sums);
            for i in 0..=STATES {
                for j in 0..=STATES {
                    step[i][j] = (0..=STATES).map(|k| before.0[i][k] * before.0[k][j]).sum();
                }
                for m in 0..2 {
                    sums[i][m] += (0..=STATES).map(|k| before.0[i][k] * before.1[k][m]).sum::<f64>();
                }
            }
        }
        let z = measured(&model, &policy);
        for m in 0..2 {
            let walked = 0.5 * (sums[0][m] + sums[1][m]) / f64::from(1u32 << POWER);
            assert!((z[m + 1] - walked).abs() < 1e-5, "{z:?} against {walked}");
        }
    }
}

/// For every λ the answer is as good as the best deterministic policy, and its bound meets it.
#[test]
fn answers_are_the_best_and_proved() {
    let mut rng = random::generator(5);
    let (mut averaged, mut bounded) = (0, 0);
    for round in 0..150 {
        let model = random_model(&mut rng);
        let all: Vec<_> = all_policies(&model).iter().map(|policy| measured(&model, policy)).collect();
        let finite: Vec<_> = all.iter().filter(|z| z.iter().all(|v| v.is_finite())).collect();
        let exact = Exact::new(model.clone(), forever(), Planner::PolicyIteration);
        if finite.is_empty() {
            assert!(matches!(exact, Err(Error::Infinite { .. })), "{round}: {exact:?}");
            continue;
        }
        let fee = Problem::builder(Arc::new(model.clone()))
            .constraint(Constraint::at_most("fee", 1.0).unwrap())
            .build()
            .unwrap();
        let selected = model.select(&Selection { entries: vec![(0, 1.0), (1, 1.0), (2, 1.0)] });
        let exact = Exact::new(selected, forever(), Planner::PolicyIteration).unwrap();
        let mut exact = exact.guarded(&fee.target().set().clone()).unwrap();
        for lam in [[1.0, 1.0, -1.0], [0.2, -1.0, 0.3], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0], [0.5, -0.1, -2.0]]
        {
            let payoff = |z: &[f64]| z.iter().zip(&lam).map(|(z, l)| z * l).sum::<f64>();
            let least = finite.iter().map(|z| payoff(z)).fold(f64::INFINITY, f64::min);
            let response = exact.respond(&lam, 0.0).unwrap();
            let had = payoff(&response.z_hat);
            assert!((had - least).abs() <= 1e-9, "{round}, {lam:?}: {had} against {least}");
            let Some(bound) = response.bound else { panic!("{round}: no bound for {lam:?}: {finite:?}") };
            assert!((bound.value - least).abs() <= 1e-5, "{round}, {lam:?}: {} against {least}", bound.value);
            averaged += usize::from(response.z_hat[1] > 0.0);
            bounded += 1;
        }
    }
    assert!(averaged > 300 && bounded > 500, "{averaged} {bounded}");
}

/// A machine that runs fast, slow or not at all once its type was chosen and paid for.
fn plant() -> TabularMdp {
    let measures = Measures::new([("price", 1), ("power", 1), ("output", 1)]).averaging([1, 2]);
    let mut model = TabularMdp::builder(3, 2, measures);
    model.start(0, 1.0);
    model.transition((0, 0), 1.0, 1, &[(0, 10.0)]).transition((0, 1), 1.0, 2, &[(0, 20.0)]);
    // At full speed the cheap one breaks down once in four and must be bought anew; the other never does.
    model.available(1, 2).available(2, 2);
    model.transition((1, 0), 0.75, 1, &[(1, 2.0), (2, 1.0)]).transition((1, 0), 0.25, 0, &[]);
    model.transition((1, 1), 1.0, 1, &[(1, 0.5), (2, 0.25)]);
    model.transition((2, 0), 1.0, 2, &[(1, 2.0), (2, 1.0)]);
    model.transition((2, 1), 1.0, 2, &[]);
    model.build().unwrap()
}

/// Shares of time can be mixed: full output by half of the machines, standing still by the other half.
#[test]
fn constraints_on_averages_and_sums_are_met_together() {
    let problem = |price: f64, power: f64| {
        Problem::builder(Arc::new(plant()))
            .constraint(Constraint::at_most("price", price).unwrap())
            .constraint(Constraint::at_most("power", power).unwrap())
            .maximize("output")
            .build()
            .unwrap()
    };
    // 10 buys the cheap machine alone, which can't run fast for ever; each unit more, a tenth of the other one.
    for (price, power, expected) in
        [(10.0, 2.0, 0.25), (15.0, 2.0, 0.625), (20.0, 2.0, 1.0), (20.0, 1.0, 0.5), (12.0, 0.5, 0.25)]
    {
        let problem = problem(price, power);
        let outcome = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
        verify(&problem, &outcome, 1).unwrap();
        let found = outcome.objective.as_ref().unwrap();
        assert_eq!(outcome.verdict(), Verdict::Feasible);
        assert!((found.value.unwrap() - expected).abs() < 1e-6, "{price} {power}: {found:?}");
        assert!((found.bound.unwrap() - expected).abs() < 1e-5, "{price} {power}: {found:?}");
    }
    let outcome = Problem::builder(Arc::new(plant()))
        .constraint(Constraint::at_most("price", 12.0).unwrap())
        .constraint(Constraint::at_least("output", 0.5).unwrap())
        .build()
        .unwrap();
    let found = outcome.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
    verify(&outcome, &found, 1).unwrap();
    assert_eq!(found.verdict(), Verdict::Infeasible);
}

/// Averages need all time, and someone who plans for them.
#[test]
fn what_is_no_average_is_refused() {
    let builder =
        || Problem::builder(Arc::new(plant())).constraint(Constraint::at_most("power", 1.0).unwrap());
    for problem in [builder().discount(0.9).build(), builder().horizon(10).build()] {
        assert!(matches!(problem, Err(Error::AverageOfSome { .. })), "{problem:?}");
    }
    let problem = builder().build().unwrap();
    let refused = problem.solve(&OccupancyMethod, &Budget::default(), 0, &mut ());
    assert!(matches!(refused, Err(Error::AverageBy { .. })), "{refused:?}");
}
