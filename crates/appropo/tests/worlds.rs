//! The built-in worlds, by what is known about them, and their simulators against their models.

use std::sync::Arc;

use appropo::env::{
    Environment, Simulator, Status, TabularMdp, World, cliff_walking, deep_sea_treasure, frozen_lake, garnet,
    gridworld, mars_rover,
};
use appropo::error::Error;
use appropo::measurement::{Discounting, Estimate, Measures, Selection};
use appropo::oracle::{Exact, Planner, PolicyAscent, Respond};
use appropo::policy::{Memory, Mixed, TabularPolicy};
use appropo::random;
use appropo::rl::{Episode, Occupancy, play_episode};

/// The largest value of one entry, with policy and value iteration where there is no horizon.
fn best(world: &World, entry: usize, sign: f64, discounting: Discounting) -> f64 {
    let model = world.model.select(&Selection { entries: vec![(entry, sign)] });
    let values = [Planner::PolicyIteration, Planner::ValueIteration].map(|planner| {
        let mut oracle = Exact::new(model.clone(), discounting, planner).unwrap();
        let response = oracle.respond(&[-1.0], 0.0).unwrap();
        let bound = -response.bound.unwrap().value;
        assert!(bound >= response.z_hat[0] - 1e-9 && bound - response.z_hat[0] <= 1e-8);
        response.z_hat[0]
    });
    assert!((values[0] - values[1]).abs() <= 1e-8);
    sign * values[0]
}

fn undiscounted(horizon: usize) -> Discounting {
    Discounting::new(1.0, Some(horizon)).unwrap()
}

#[test]
fn all_three_rover_maps_are_read() {
    for (name, cells, rocks) in [("4x4", 16, 4), ("8x8", 64, 8), ("sparse-30x30", 900, 29)] {
        let world = mars_rover::world(name, 0.05).unwrap();
        let grid = world.grid.unwrap();
        assert_eq!(world.model.states(), cells);
        assert_eq!(grid.cells.iter().filter(|c| **c == 'H').count(), rocks, "{name}");
        assert_eq!(world.model.start(), [(0, 1.0)]);
    }
    let triangle = mars_rover::world("8x8", 0.05).unwrap().grid.unwrap().uniform_upper_triangle();
    assert_eq!(triangle.iter().filter(|p| **p > 0.0).count(), 31);
    assert!((triangle.iter().sum::<f64>() - 1.0).abs() < 1e-12);
}

/// Slip 0.05 with the perturbed action uniform over all four: the intended one has 0.9625.
#[test]
fn the_rover_slips_to_all_four_sides() {
    let world = mars_rover::world("8x8", 0.05).unwrap();
    // From row 1, column 1, to the right.
    let mut row: Vec<(u32, f64)> = world.model.row(9, 2).iter().map(|t| (t.next, t.probability)).collect();
    row.sort_by_key(|(next, _)| *next);
    let expected = [(1, 0.0125), (8, 0.0125), (10, 0.9625), (17, 0.0125)];
    for ((next, probability), (cell, share)) in row.iter().zip(expected) {
        assert_eq!(*next, cell);
        assert!((probability - share).abs() < 1e-15);
    }
}

/// Without slipping the shortest way over the 8 by 8 map takes 14 steps, 13 of them at −0.01.
#[test]
fn the_surest_way_without_slipping() {
    let world = mars_rover::world("8x8", 0.0).unwrap();
    let model = world.model.select(&Selection { entries: vec![(0, 100.0), (1, 1.0)] });
    let mut oracle = Exact::new(model, undiscounted(300), Planner::PolicyIteration).unwrap();
    let z = oracle.respond(&[1.0, -1.0], 0.0).unwrap().z_hat;
    assert!(z[0].abs() < 1e-12 && (z[1] + 0.13).abs() < 1e-12, "{z:?}");
}

/// MO-Gymnasium's Pareto front: each treasure with the steps it takes.
#[test]
fn deep_sea_treasure_has_the_known_front() {
    let fronts = [
        (false, [1.0, 2.0, 3.0, 5.0, 8.0, 16.0, 24.0, 50.0, 74.0, 124.0]),
        (true, [0.7, 8.2, 11.5, 14.0, 15.1, 16.1, 19.6, 20.3, 22.4, 23.7]),
    ];
    let steps = [1, 3, 5, 7, 8, 9, 13, 14, 17, 19];
    for (convex, treasures) in fronts {
        let world = deep_sea_treasure::world(convex).unwrap();
        for (treasure, steps) in treasures.into_iter().zip(steps) {
            // With just enough time the treasure is reached, and no better one.
            assert!(
                (best(&world, 0, 1.0, undiscounted(steps)) - treasure).abs() < 1e-9,
                "{treasure} in {steps}"
            );
        }
    }
}

/// Values of Gymnasium's transition tables, by value iteration on them.
#[test]
fn gymnasiums_worlds_have_their_known_values() {
    let lake = frozen_lake::world("4x4", true).unwrap();
    let discounted = Discounting::new(0.99, None).unwrap();
    assert!((best(&lake, 1, 1.0, discounted) - 0.5420259320003).abs() < 1e-8);
    let lake = frozen_lake::world("8x8", true).unwrap();
    assert!((best(&lake, 1, 1.0, discounted) - 0.4146403617999).abs() < 1e-8);
    let dry = frozen_lake::world("4x4", false).unwrap();
    assert!((best(&dry, 1, 1.0, discounted) - 0.99f64.powi(5)).abs() < 1e-12);
    let slippery = cliff_walking::world(true).unwrap();
    assert!((best(&slippery, 1, 1.0, discounted) + 46.3526721816520).abs() < 1e-8);
    let cliff = cliff_walking::world(false).unwrap();
    assert!((best(&cliff, 1, 1.0, discounted) + 12.2478977001032).abs() < 1e-8);
    assert!((best(&cliff, 1, 1.0, undiscounted(100)) + 13.0).abs() < 1e-12);
    // Stepping right from the start falls every time.
    assert!((best(&cliff, 0, 1.0, undiscounted(10)) - 10.0).abs() < 1e-12);
}

#[test]
fn simulators_agree_with_their_models() {
    let world = mars_rover::world("4x4", 0.3).unwrap();
    let discounting = Discounting::new(0.95, Some(60)).unwrap();
    let policies = [TabularPolicy::uniform(16, 4), TabularPolicy::deterministic(16, 4, vec![1; 16]).unwrap()];
    let mixture = Mixed::new(policies.into_iter().zip([0.75, 0.25]).map(|(p, w)| (w, Arc::new(p.into()))));
    let exact = Occupancy::of_mixture(&world.model, &discounting, &mixture).unwrap().measure(&world.model);
    let simulator = Simulator::new(Arc::clone(&world.model), Some(60));
    let mut episode = Episode::new(Box::new(simulator), 0.95, 1000);
    let mut rng = random::generator(9);
    let (mut memory, mut action) = (Memory::default(), [0.0]);
    let mut estimate = Estimate::new(exact.len());
    for _ in 0..20_000 {
        let policy = mixture.draw(&mut rng).unwrap();
        play_episode(&mut episode, policy, &mut memory, &mut action, &mut rng).unwrap();
        estimate.add(episode.sum());
    }
    for ((mean, exact), error) in estimate.mean().iter().zip(&exact).zip(estimate.standard_error()) {
        assert!((mean - exact).abs() <= 5.0 * error + 1e-12, "{mean} against {exact} ± {error}");
    }
}

#[test]
fn the_end_and_the_horizon_are_told_apart() {
    let world = mars_rover::world("SG", 0.0).unwrap();
    let mut rng = random::generator(0);
    let (mut observation, mut z) = ([0.0], vec![0.0; world.model.measures().dim()]);
    let mut simulator = Simulator::new(Arc::clone(&world.model), Some(1));
    simulator.reset(&mut rng, &mut observation).unwrap();
    assert_eq!(simulator.step(&[2.0], &mut rng, &mut observation, &mut z).unwrap(), Status::Ended);
    assert_eq!(observation, [1.0]);
    assert_eq!(z, [0.0, 0.0, 1.0, 0.0, 1.0]);
    assert!(simulator.step(&[2.0], &mut rng, &mut observation, &mut z).is_err());
    simulator.reset(&mut rng, &mut observation).unwrap();
    assert_eq!(simulator.step(&[0.0], &mut rng, &mut observation, &mut z).unwrap(), Status::CutOff);
    assert!(matches!(
        simulator.step(&[7.0], &mut rng, &mut observation, &mut z),
        Err(Error::Index { index: 7, .. })
    ));
}

/// The cell that is seen is the cell that the map has and the visits count.
#[test]
fn the_rover_sees_the_cell_it_enters() {
    let world = mars_rover::world("8x8", 0.05).unwrap();
    let grid = world.grid.unwrap();
    let mut simulator = Simulator::new(Arc::clone(&world.model), Some(300));
    let mut rng = random::generator(3);
    let (mut observation, mut z) = ([0.0], vec![0.0; 67]);
    for _ in 0..200 {
        simulator.reset(&mut rng, &mut observation).unwrap();
        assert_eq!(grid.cells[observation[0] as usize], 'S');
        loop {
            let action = [random::below(4, &mut rng) as f64];
            let status = simulator.step(&action, &mut rng, &mut observation, &mut z).unwrap();
            let cell = observation[0] as usize;
            assert_eq!(z[3 + cell], 1.0);
            assert_eq!(z[3..].iter().sum::<f64>(), 1.0);
            assert_eq!(z[0] == 1.0, grid.cells[cell] == 'H');
            assert_eq!(status == Status::Ended, "HG".contains(grid.cells[cell]));
            if status != Status::Running {
                break;
            }
        }
    }
}

/// The same seed gives the same episodes and worlds.
#[test]
fn seeds_determine_everything() {
    let episode = |seed| {
        let world = mars_rover::world("8x8", 0.05).unwrap();
        let mut episode = Episode::new(Box::new(Simulator::new(world.model, Some(300))), 0.99, 300);
        let (mut memory, mut action) = (Memory::default(), [0.0]);
        let policy = TabularPolicy::uniform(64, 4);
        play_episode(&mut episode, &policy, &mut memory, &mut action, &mut random::generator(seed)).unwrap();
        episode.sum().to_vec()
    };
    assert_eq!(episode(5), episode(5));
    assert_ne!(episode(5), episode(6));
    let map = |seed| mars_rover::random_map(20, 20, 0.05, &mut random::generator(seed)).unwrap();
    assert_eq!(map(1), map(1));
    assert_ne!(map(1), map(2));
}

/// One stationary policy with exactly the measurements of a mixture.
#[test]
fn a_mixture_has_a_single_policy_of_equal_measurements() {
    let mut rng = random::generator(12);
    let size = garnet::Size { states: 15, actions: 3, branching: 3, measures: 4 };
    for horizon in [None, Some(20)] {
        let world = garnet::world(size, &mut rng).unwrap();
        let discounting = Discounting::new(0.9, horizon).unwrap();
        let random_policy = |rng: &mut random::Generator| {
            let table = (0..15).map(|_| random::below(3, rng) as u32).collect();
            Arc::new(TabularPolicy::deterministic(15, 3, table).unwrap().into())
        };
        let mixture = Mixed::new([0.5, 0.3, 0.2].map(|w| (w, random_policy(&mut rng))));
        let occupancy = Occupancy::of_mixture(&world.model, &discounting, &mixture).unwrap();
        let single = occupancy.policy().unwrap();
        let again = Occupancy::of(&world.model, &discounting, &single).unwrap();
        let (mixed, alone) = (occupancy.measure(&world.model), again.measure(&world.model));
        for (a, b) in mixed.iter().zip(&alone) {
            assert!((a - b).abs() <= 1e-11, "{a} against {b}");
        }
    }
}

#[test]
fn methods_that_need_every_policy_to_end_say_so() {
    let cliff = cliff_walking::world(false).unwrap();
    let forever = Discounting::new(1.0, None).unwrap();
    let error = PolicyAscent::new((*cliff.model).clone(), forever).unwrap_err();
    assert!(matches!(error, Error::NeverEnds { .. }));
    assert!(error.to_string().contains("set a horizon or a discount below 1"));
    // The rover always slips to an end sooner or later.
    let rover = mars_rover::world("8x8", 0.05).unwrap();
    assert!(PolicyAscent::new((*rover.model).clone(), forever).is_ok());
}

#[test]
fn malformed_models_are_refused() {
    let measures = || Measures::new([("m", 1)]);
    let build = |probability: f64, next: usize, z: (usize, f64)| {
        let mut model = TabularMdp::builder(2, 1, measures());
        model.start(0, 1.0).terminal(1).transition((0, 0), probability, next, &[z]);
        model.build().map(|_| ()).unwrap_err()
    };
    assert_eq!(build(0.5, 1, (0, 1.0)), Error::Probabilities { state: 0, action: 0, sum: 0.5 });
    assert_eq!(build(1.0, 2, (0, 1.0)), Error::Index { what: "state", index: 2, count: 2 });
    assert_eq!(build(1.0, 1, (3, 1.0)), Error::Index { what: "measurement entry", index: 3, count: 1 });
    assert!(matches!(build(f64::NAN, 1, (0, 1.0)), Error::NotFinite { .. }));
    assert!(matches!(build(1.0, 1, (0, f64::NAN)), Error::NotFinite { .. }));
    assert!(matches!(build(-0.5, 1, (0, 1.0)), Error::OutOfRange { .. }));
}

/// With moves that are all noise every cell is as likely in every step; rewards are what features are weighed with.
#[test]
fn a_gridworld_has_the_features_of_its_macro_cells() {
    let layout = gridworld::Layout { size: 12, macro_cell: 4, noise: 1.0 };
    let world = gridworld::world(layout, &mut random::generator(3)).unwrap();
    let discounting = Discounting::new(0.95, None).unwrap();
    let policy = TabularPolicy::uniform(world.model.states(), world.model.actions());
    let z = Occupancy::of(&world.model, &discounting, &policy).unwrap().measure(&world.model);
    for feature in &z[..9] {
        assert!((feature - 20.0 / 9.0).abs() < 1e-10, "{feature}");
    }
    assert!((z[10] - 20.0).abs() < 1e-10);
    // The weights of the reward add up to 1.
    assert!((z[9] - 20.0 / 9.0).abs() < 1e-10);
    // Without noise, whoever stays in the best macro-cell has its weight in every step but those of the way there.
    let still =
        gridworld::world(gridworld::Layout { noise: 0.0, ..layout }, &mut random::generator(3)).unwrap();
    let mut oracle = Exact::new(still.model.as_ref().clone(), discounting, Planner::PolicyIteration).unwrap();
    let expert = oracle.respond(&[&[0.0; 9][..], &[-1.0, 0.0]].concat(), 0.0).unwrap().z_hat;
    let largest = expert[..9].iter().copied().fold(0.0, f64::max);
    assert!(largest > 10.0 && expert[9] > 0.5, "{expert:?}");
    for (size, macro_cell) in [(12, 5), (12, 12), (12, 0)] {
        let wrong = gridworld::Layout { size, macro_cell, ..layout };
        let refused = gridworld::world(wrong, &mut random::generator(3));
        assert!(matches!(refused, Err(Error::OutOfRange { .. })), "{size}, {macro_cell}");
    }
}
