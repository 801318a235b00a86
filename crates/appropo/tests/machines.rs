//! The arm and the lander: their mechanics against what is known of them.

use appropo::env::arm::Arm;
use appropo::env::lander::Lander;
use appropo::env::{Environment, Status};
use appropo::random;
use appropo::state::{Loader, Saver};

/// Where the tip of the arm is, from an observation.
fn tip(seen: &[f64]) -> [f64; 2] {
    [seen[6] - seen[8], seen[7] - seen[9]]
}

/// The kinetic energy of two masses of 1 kg at the ends of two links of half a metre.
fn kinetic(seen: &[f64]) -> f64 {
    let (cos, first, second) = (seen[2], seen[4], seen[5]);
    0.125 * ((3.0 + 2.0 * cos) * first * first + 2.0 * (1.0 + cos) * first * second + second * second)
}

#[test]
fn an_arm_without_torque_comes_to_rest() {
    let (mut arm, mut rng) = (Arm::new(400), random::generator(1));
    let (mut seen, mut z) = ([0.0; 10], [0.0; 4]);
    arm.reset(&mut rng, &mut seen).unwrap();
    assert_eq!(kinetic(&seen), 0.0);
    for _ in 0..20 {
        arm.step(&[1.0, -0.5], &mut rng, &mut seen, &mut z).unwrap();
        assert_eq!(z[1], 1.25);
    }
    let mut energy = kinetic(&seen);
    assert!(energy > 0.5);
    for _ in 0..360 {
        let (before, turned) = (tip(&seen), [seen[4], seen[5]]);
        arm.step(&[0.0, 0.0], &mut rng, &mut seen, &mut z).unwrap();
        // Friction takes away what it must, within the error of steps of a fortieth of a second.
        assert!(kinetic(&seen) <= energy * 1.02, "{} after {energy}", kinetic(&seen));
        energy = kinetic(&seen);
        let after = tip(&seen);
        let moved = (after[0] - before[0]).hypot(after[1] - before[1]) / 0.05;
        // The speed at the end of a step is the way of the step up to what it has changed on the way.
        let changed =
            (seen[4] - turned[0]).abs() + (seen[5] - turned[1]).abs() + 0.5 * turned[0].hypot(turned[1]);
        assert!((moved - z[2]).abs() <= changed, "{moved} and {}", z[2]);
    }
    assert!(energy < 1e-3);
}

#[test]
fn an_arms_targets_lie_before_it() {
    let (mut arm, mut rng, mut seen) = (Arm::new(10), random::generator(2), [0.0; 10]);
    let mut mean = 0.0;
    for _ in 0..2_000 {
        arm.reset(&mut rng, &mut seen).unwrap();
        let radius = seen[6].hypot(seen[7]);
        assert!(seen[6] >= 0.0 && (0.3..=0.9).contains(&radius));
        mean += radius * radius / 2_000.0;
    }
    // Uniform by area: the square of the radius is uniform from 0.09 to 0.81.
    assert!((mean - 0.45).abs() < 0.02);
}

#[test]
fn a_lander_falls_as_on_the_moon() {
    let (mut lander, mut rng) = (Lander::new(Some(100)), random::generator(3));
    let (mut seen, mut z) = ([0.0; 6], [0.0; 5]);
    lander.reset(&mut rng, &mut seen).unwrap();
    let (height, speed) = (10.0 * seen[1], 5.0 * seen[3]);
    for step in 1..=4 {
        assert_eq!(lander.step(&[0.0], &mut rng, &mut seen, &mut z).unwrap(), Status::Running);
        let seconds = 0.5 * f64::from(step);
        assert!((5.0 * seen[3] - (speed - 1.62 * seconds)).abs() < 1e-12);
        let fallen = speed * seconds - 1.62 * seconds * (seconds + 0.5) / 2.0;
        assert!((10.0 * seen[1] - (height + fallen)).abs() < 1e-12);
        assert_eq!(z[1..], [0.0, 0.0, 0.0, 1.0]);
    }
    // Side engines turn it, and only it.
    let (spin, across) = (seen[5], seen[2]);
    lander.step(&[1.0], &mut rng, &mut seen, &mut z).unwrap();
    assert!((seen[5] - spin - 0.15).abs() < 1e-12 && seen[2] == across && z[1] == 0.1);
}

/// Burns where it falls faster than it may at its height, and holds itself upright.
fn descend(seen: &[f64]) -> f64 {
    let (height, up) = (10.0 * seen[1], 5.0 * seen[3]);
    let wanted = (0.3 * seen[0] + 0.8 * seen[2]).clamp(-0.2, 0.2);
    let turning = seen[4] - wanted + 2.0 * seen[5];
    if up < -1.0 - 0.12 * height {
        2.0
    } else if turning > 0.1 {
        3.0
    } else if turning < -0.1 {
        1.0
    } else {
        0.0
    }
}

#[test]
fn a_lander_can_be_landed_and_its_reward_adds_up() {
    let (mut lander, mut rng) = (Lander::new(Some(100)), random::generator(4));
    let (mut seen, mut z) = ([0.0; 6], [0.0; 5]);
    let potential = |seen: &[f64]| -100.0 * (seen[0].hypot(seen[1]) + seen[2].hypot(seen[3]) + seen[4].abs());
    let mut landed = 0.0;
    for _ in 0..200 {
        lander.reset(&mut rng, &mut seen).unwrap();
        let (start, mut reward) = (potential(&seen), 0.0);
        loop {
            let status = lander.step(&[descend(&seen)], &mut rng, &mut seen, &mut z).unwrap();
            reward += z[0];
            if status != Status::Running {
                assert_eq!(status == Status::Ended, z[2] + z[3] == 1.0);
                break;
            }
        }
        landed += z[2] / 200.0;
        assert!((reward - (potential(&seen) - start + 100.0 * (z[2] - z[3]))).abs() < 1e-9);
    }
    assert!(landed > 0.9, "{landed}");
    // Without an engine every one crashes.
    lander.reset(&mut rng, &mut seen).unwrap();
    while lander.step(&[0.0], &mut rng, &mut seen, &mut z).unwrap() == Status::Running {}
    assert_eq!(z[2..4], [0.0, 1.0]);
}

#[test]
fn machines_go_on_where_they_were_saved() {
    let mut worlds: Vec<(Box<dyn Environment>, Box<dyn Environment>, Vec<f64>)> = vec![
        (Box::new(Arm::new(30)), Box::new(Arm::new(30)), vec![0.7, -0.2]),
        (Box::new(Lander::new(Some(30))), Box::new(Lander::new(Some(30))), vec![2.0]),
    ];
    for (world, again, action) in &mut worlds {
        let mut rng = random::generator(5);
        let entries = world.observations().entries();
        let (mut seen, mut z) = (vec![0.0; entries], vec![0.0; world.measures().dim()]);
        world.reset(&mut rng, &mut seen).unwrap();
        for _ in 0..5 {
            world.step(action, &mut rng, &mut seen, &mut z).unwrap();
        }
        let mut saver = Saver::default();
        world.save(&mut saver).unwrap();
        let bytes = saver.into_bytes();
        again.load(&mut Loader::new(&bytes)).unwrap();
        let (mut seen_again, mut z_again) = (seen.clone(), z.clone());
        for _ in 0..5 {
            let status = world.step(action, &mut rng, &mut seen, &mut z).unwrap();
            assert_eq!(status, again.step(action, &mut rng, &mut seen_again, &mut z_again).unwrap());
            assert_eq!((&seen, &z), (&seen_again, &z_again));
        }
    }
}
