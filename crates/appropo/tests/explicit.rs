//! Models as model checkers keep them, and the worlds that problems make of them.

use std::sync::Arc;

use appropo::constraint::Constraint;
use appropo::env::explicit::{Asked, ExplicitModel, Label, RewardStructure};
use appropo::env::{TabularMdp, garnet, mars_rover};
use appropo::error::{Error, Result};
use appropo::measurement::Discounting;
use appropo::method::{Appropo, Budget};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::problem::Problem;
use appropo::random;
use appropo::rl::Occupancy;

/// Every choice of every state as its transitions.
fn model(rows: &[&[&[(usize, f64)]]], start: &[u32], labels: &[(&str, &[u32])]) -> Result<ExplicitModel> {
    let mut builder = ExplicitModel::builder(rows.len(), false)?;
    for choices in rows {
        builder.state()?;
        for transitions in *choices {
            builder.choice()?;
            for (target, probability) in *transitions {
                builder.transition(*target, *probability)?;
            }
        }
    }
    builder.start_evenly(start)?;
    let labels = labels.iter().map(|(name, states)| Label { name: (*name).into(), states: states.to_vec() });
    builder.build(Vec::new(), labels.collect(), None)
}

fn asked(reach: &[&str], time: &[&str], end: &[&str]) -> Asked {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Asked { reach: names(reach), time: names(time), end: names(end), ..Asked::default() }
}

/// What the policy that acts at random measures.
fn at_random(world: TabularMdp, gamma: f64, measure: &str) -> f64 {
    let mixture = Mixed::one(TabularPolicy::uniform(world.states(), world.actions()));
    let discounting = Discounting::new(gamma, None).unwrap();
    let z = Occupancy::of_mixture(&world, &discounting, &mixture).unwrap().measure(&world);
    z[world.measures().range(measure).unwrap().start]
}

/// Comes back to 0 with probability 1/2, by way of 1 or not.
const LOOP: &[&[&[(usize, f64)]]] =
    &[&[&[(1, 0.5), (2, 0.5)]], &[&[(0, 1.0)]], &[&[(0, 0.5), (3, 0.5)]], &[&[(3, 1.0)]]];

/// Shares of time are those of where one stays for ever: what can't be left counts for all time, what ends for none.
#[test]
fn the_share_of_a_label_is_that_of_all_time() {
    // From 0 to the round of 1 and 2, in which 1 stays where it is every other time, or to 3, which can't be left.
    let rounds: &[&[&[(usize, f64)]]] =
        &[&[&[(1, 0.75), (3, 0.25)]], &[&[(1, 0.5), (2, 0.5)]], &[&[(1, 1.0)]], &[&[(3, 1.0)]]];
    let model = model(rounds, &[0], &[("start", &[0]), ("one", &[1]), ("three", &[3])]).unwrap();
    let share: Vec<String> = ["start", "one", "three"].map(String::from).to_vec();
    let world = model.world(&Asked { share, ..Asked::default() }).unwrap();
    assert_eq!(at_random(world.clone(), 1.0, "share(start)"), 0.0);
    assert!((at_random(world.clone(), 1.0, "share(one)") - 0.75 * 2.0 / 3.0).abs() < 1e-12);
    assert!((at_random(world, 1.0, "share(three)") - 0.25).abs() < 1e-12);
    let ended = Asked { share: vec!["three".into()], end: vec!["three".into()], ..Asked::default() };
    assert_eq!(at_random(model.world(&ended).unwrap(), 1.0, "share(three)"), 0.0);
}

#[test]
fn a_label_is_reached_once_however_often_it_is_entered() {
    let model = model(LOOP, &[0], &[("one", &[1]), ("end", &[3])]).unwrap();
    // From 0, 1 comes before 3 with probability p = 1/2 + 1/4 p.
    let world = model.world(&asked(&["one"], &[], &[])).unwrap();
    assert!((at_random(world.clone(), 1.0, "reach(one)") - 2.0 / 3.0).abs() < 1e-12);
    // Outside of it, states after the first visit are told from those before it.
    assert_eq!(world.states(), 4 + 2);
    // It is entered twice on average.
    let world = model.world(&asked(&[], &["one"], &[])).unwrap();
    assert!((at_random(world, 1.0, "time(one)") - 2.0).abs() < 1e-12);
    // With a discount it counts when it comes: p = γ⁰/2 + γ²/4 p.
    let world = model.world(&asked(&["one"], &[], &[])).unwrap();
    let expected = 0.5 / (1.0 - 0.81 / 4.0);
    assert!((at_random(world, 0.9, "reach(one)") - expected).abs() < 1e-12);
}

#[test]
fn what_cannot_be_left_and_come_back_to_needs_no_memory() {
    let model = model(LOOP, &[0], &[("one", &[1]), ("end", &[3])]).unwrap();
    let world = model.world(&asked(&["end"], &[], &[])).unwrap();
    assert_eq!((world.states(), world.transitions()), (4, 5));
    assert!(world.is_terminal(3));
    assert!((at_random(world, 1.0, "reach(end)") - 1.0).abs() < 1e-12);
    // Nor does a label in which episodes end.
    let world = model.world(&asked(&["one"], &[], &["one"])).unwrap();
    assert_eq!(world.states(), 4);
    assert!((at_random(world.clone(), 1.0, "reach(one)") - 2.0 / 3.0).abs() < 1e-12);
    assert!((at_random(world, 1.0, "steps") - 2.0).abs() < 1e-12);
}

#[test]
fn what_holds_at_the_start_is_reached_in_the_first_step() {
    let model = model(LOOP, &[0, 3], &[("zero", &[0]), ("end", &[3])]).unwrap();
    let world = model.world(&asked(&["zero", "end"], &[], &[])).unwrap();
    assert!((at_random(world.clone(), 0.5, "reach(zero)") - 0.5).abs() < 1e-12);
    // One half ends at once, in a step in which nothing else is measured; the other in the third step or later.
    assert!((at_random(world.clone(), 1.0, "reach(end)") - 1.0).abs() < 1e-12);
    let alone = model_from_zero().world(&asked(&[], &[], &[])).unwrap();
    assert!((at_random(world, 1.0, "steps") - at_random(alone, 1.0, "steps") / 2.0).abs() < 1e-12);
}

fn model_from_zero() -> ExplicitModel {
    model(LOOP, &[0], &[]).unwrap()
}

/// The product against an exhaustive count: the probability that random walks visit each label within 12 steps.
#[test]
fn reaching_several_labels_agrees_with_counting_paths() {
    for seed in 0..20 {
        let size = garnet::Size { states: 7, actions: 2, branching: 2, measures: 1 };
        let world = garnet::world(size, &mut random::generator(seed)).unwrap();
        let plain = ExplicitModel::of_world(&world.model).unwrap();
        let labels: Vec<Label> = (0..3u32)
            .map(|i| Label {
                name: format!("l{i}"),
                states: (0..7).filter(|s| (s + i + seed as u32).is_multiple_of(3)).collect(),
            })
            .collect();
        let sets = labels.clone();
        let model = plain.annotated(Vec::new(), labels, None).unwrap();
        let product = model.world(&asked(&["l0", "l1", "l2"], &[], &[])).unwrap();
        let gamma = 0.7;
        for (i, label) in sets.iter().enumerate() {
            let found = at_random(product.clone(), gamma, &format!("reach(l{i})"));
            // E γ^(T−1) for the first time T, by the chain that stops there.
            let mut reached = vec![0.0; model.states()];
            for _ in 0..200 {
                let value = |state: usize, reached: &[f64]| -> f64 {
                    let choices = model.choices_of(state);
                    let count = choices.len() as f64;
                    let of = |choice: usize| -> f64 {
                        let step = |t: usize| {
                            let target = model.targets()[t];
                            let is_in = label.states.contains(&target);
                            model.probabilities()[t]
                                * if is_in { 1.0 } else { gamma * reached[target as usize] }
                        };
                        model.transitions_of(choice).map(step).sum()
                    };
                    choices.map(of).sum::<f64>() / count
                };
                reached = (0..model.states()).map(|state| value(state, &reached)).collect();
            }
            let expected: f64 = model
                .start()
                .iter()
                .map(|&(state, p)| {
                    p * if label.states.contains(&state) { 1.0 } else { reached[state as usize] }
                })
                .sum();
            assert!((found - expected).abs() < 1e-9, "seed {seed}, label {i}: {found}, expected {expected}");
        }
    }
}

#[test]
fn rewards_of_states_choices_and_transitions_add_up() {
    let mut builder = ExplicitModel::builder(2, false).unwrap();
    builder.state().unwrap();
    builder.choice().unwrap();
    builder.transition(0, 0.5).unwrap();
    builder.transition(1, 0.5).unwrap();
    builder.state().unwrap();
    builder.choice().unwrap();
    builder.transition(1, 1.0).unwrap();
    builder.start(0, 1.0).unwrap();
    let structure = RewardStructure {
        name: "cost".into(),
        states: vec![1.0, 0.0],
        choices: vec![10.0, 0.0],
        transitions: vec![0.0, 100.0, 0.0].into(),
    };
    let model = builder.build(vec![structure], Vec::new(), None).unwrap();
    let world = model.world(&Asked::default()).unwrap();
    // Two steps in state 0, and once the way out.
    assert!((at_random(world.clone(), 1.0, "cost") - 122.0).abs() < 1e-12);
    assert!((at_random(world, 1.0, "steps") - 2.0).abs() < 1e-12);
    let none = model.world(&Asked { rewards: Some(Vec::new()), ..Asked::default() }).unwrap();
    assert_eq!(none.measures().iter().map(|(name, _)| name).collect::<Vec<_>>(), ["steps"]);
}

/// A world written as a model and read as a world has the same answers.
#[test]
fn a_world_of_ours_survives_being_a_model() {
    let world = mars_rover::world("4x4", 0.05).unwrap();
    let model = ExplicitModel::of_world(&world.model).unwrap();
    let again = Arc::new(model.world(&Asked::default()).unwrap());
    let solve = |env: Arc<TabularMdp>| {
        let problem = Problem::builder(env)
            .discount(0.99)
            .constraint(Constraint::at_most("failure", 0.3).unwrap())
            .maximize("reward")
            .build()
            .unwrap();
        let outcome = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ()).unwrap();
        outcome.objective.unwrap().value.unwrap()
    };
    assert!((solve(Arc::clone(&world.model)) - solve(again)).abs() < 1e-9);
}

#[test]
fn a_start_that_is_drawn_is_a_state_of_its_own() {
    let mut builder = ExplicitModel::builder(2, true).unwrap();
    for state in 0..2 {
        builder.state().unwrap();
        builder.choice().unwrap();
        builder.transition(state, 1.0).unwrap();
    }
    builder.start(0, 0.25).unwrap();
    builder.start(1, 0.75).unwrap();
    let labels = vec![Label { name: "one".into(), states: vec![1] }];
    let model = builder.build(Vec::new(), labels, None).unwrap();
    assert!(!model.starts_evenly());
    let drawn = model.with_drawn_start().unwrap();
    assert_eq!((drawn.states(), drawn.start()), (3, &[(2, 1.0)][..]));
    for model in [model, drawn] {
        let world = model.world(&asked(&["one"], &[], &[])).unwrap();
        assert!((at_random(world, 1.0, "reach(one)") - 0.75).abs() < 1e-12);
    }
}

#[test]
fn mistakes_are_found_when_they_are_made() {
    let unknown = model_from_zero().world(&asked(&["goal"], &[], &[])).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no label \"goal\" in the model; it has none");
    let named = model(LOOP, &[0], &[("goal", &[3])]).unwrap();
    let unknown = named.world(&asked(&["gaol"], &[], &[])).unwrap_err();
    assert_eq!(unknown.to_string(), "there is no label \"gaol\" in the model; did you mean \"goal\"?");
    let short: &[&[&[(usize, f64)]]] = &[&[&[(0, 0.9)]]];
    let sum = model(short, &[0], &[]).unwrap_err();
    assert_eq!(sum, Error::Probabilities { state: 0, action: 0, sum: 0.9 });
    let far: &[&[&[(usize, f64)]]] = &[&[&[(1, 1.0)]]];
    assert_eq!(model(far, &[0], &[]).unwrap_err(), Error::Index { what: "state", index: 1, count: 1 });
    let nowhere = model(LOOP, &[], &[]).unwrap_err();
    assert_eq!(nowhere.to_string(), "no state is initial; say where episodes start");
    let label = model(LOOP, &[0], &[("far", &[4])]).unwrap_err();
    assert_eq!(label, Error::Index { what: "state", index: 4, count: 4 });
}
