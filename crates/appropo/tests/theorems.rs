//! The paper's bounds, on random small MDPs, for every player that has one.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::baseline::{solve_occupancy, widest_margin_occupancy};
use appropo::certificate::Verdict;
use appropo::env::{TabularMdp, bandit, garnet};
use appropo::measurement::{Discounting, Selection};
use appropo::oracle::{Exact, Planner, Respond};
use appropo::player::{Blackwell, FullyCorrective, Hedge, Ogd, OnlineGradient, Player, Projection, Steps};
use appropo::random::{self, Generator};
use appropo::set::{Ball, Bounds, ConvexSet, Faces, SecondOrderCone, SharedSet, Simplex};
use appropo::solver::{Goal, Round, StopRule, appropo, game, widest_margin};
use appropo::theory;

const GAMMA: f64 = 0.9;
const D: usize = 3;

fn discounting() -> Discounting {
    Discounting::new(GAMMA, None).unwrap()
}

fn random_mdp(rng: &mut Generator) -> TabularMdp {
    let size = garnet::Size { states: 8, actions: 3, branching: 3, measures: D };
    let world = garnet::world(size, rng).unwrap();
    world.model.select(&Selection { entries: (0..D).map(|i| (i, 1.0)).collect() })
}

fn oracle(model: &TabularMdp) -> Exact {
    Exact::new(model.clone(), discounting(), Planner::PolicyIteration).unwrap()
}

fn random_vector(rng: &mut Generator) -> Vec<f64> {
    (0..D).map(|_| 2.0 * random::unit(rng) - 1.0).collect()
}

/// v, by the conic programme.
fn least_distance(set: &SharedSet, model: &TabularMdp) -> f64 {
    solve_occupancy(set, model, &discounting(), 1e-7).unwrap().certificate.distance
}

/// The diagonal of the box round everything that policies can reach.
fn diameter(model: &TabularMdp) -> f64 {
    let mut oracle = oracle(model);
    let mut reach = |i: usize, sign: f64| {
        let mut lam = vec![0.0; D];
        lam[i] = sign;
        oracle.respond(&lam, 0.0).unwrap().z_hat[i]
    };
    (0..D).map(|i| (reach(i, -1.0) - reach(i, 1.0)).powi(2)).sum::<f64>().sqrt()
}

fn run(
    set: &SharedSet,
    player: &mut dyn Player,
    model: &TabularMdp,
    rounds: usize,
    goal: Goal,
    bound: impl Fn(usize, f64),
) {
    let options = StopRule::default().rounds(rounds).tolerance(1e-9).goal(goal).epsilon(1e-7);
    let mut watch = |round: &Round| {
        bound(round.round, round.distance);
        ControlFlow::Continue(())
    };
    let solution = appropo(set, player, &mut oracle(model), &options, &mut watch).unwrap();
    oracle(model).check(&solution.certificate, set, &solution.mixture).unwrap();
}

/// Theorem 3.3 is about cones; the lift of a cone is that cone again, so κ plays no part.
#[test]
fn theorem_3_3_bounds_the_distance_to_a_cone() {
    let mut rng = random::generator(31);
    for _ in 0..5 {
        let model = random_mdp(&mut rng);
        let weight = discounting().total_weight();
        let g = theory::gradient_bound(model.measurement_bound(), weight, 0.0);
        let cones: [SharedSet; 2] =
            [Arc::new(SecondOrderCone::new(D, 0.5).unwrap()), Arc::new(Bounds::nonpositive(D))];
        for cone in cones {
            let v = least_distance(&cone, &model);
            for rounds in [1, 10, 100, 1000] {
                let steps = Steps::Constant(theory::step_size(g, rounds));
                let mut learner =
                    OnlineGradient::new(appropo::set::Lambda::new(Arc::clone(&cone)), steps, 0.0).unwrap();
                let mut oracle = oracle(&model);
                let mut mean = vec![0.0; D];
                let (mut payoffs, mut worst) = (0.0, f64::NEG_INFINITY);
                for _ in 0..rounds {
                    let lam = learner.decision().to_vec();
                    let z = oracle.respond(&lam, 0.0).unwrap().z_hat;
                    learner.observe(&z).unwrap();
                    let payoff: f64 = lam.iter().zip(&z).map(|(l, z)| l * z).sum();
                    payoffs += payoff;
                    worst = payoff.max(worst);
                    mean.iter_mut().zip(&z).for_each(|(m, z)| *m += z / rounds as f64);
                }
                let distance = cone.distance(&mean);
                let bound = theory::distance_bound(v, g, rounds, 0.0, 0.0);
                assert!(distance <= bound + 1e-7, "{distance} after {rounds} rounds, bound {bound}");
                let regret = rounds as f64 * distance - payoffs;
                assert!(regret <= theory::regret_bound(g, rounds) + 1e-7);
                // Lemma C.1: the oracle never concedes more than v.
                assert!(worst <= v + 1e-6);
            }
        }
    }
}

#[test]
fn corollary_3_6_bounds_the_distance_to_a_compact_set() {
    let mut rng = random::generator(36);
    for _ in 0..4 {
        let model = random_mdp(&mut rng);
        let set: SharedSet = Arc::new(Ball::new(random_vector(&mut rng), 0.3).unwrap());
        let v = least_distance(&set, &model);
        let delta = 0.5;
        let kappa = theory::kappa(set.radius().unwrap(), delta);
        let g = theory::lifted_gradient_bound(
            model.measurement_bound(),
            kappa,
            discounting().total_weight(),
            0.0,
        );
        for rounds in [10, 1000] {
            let steps = Steps::Constant(theory::step_size(g, rounds));
            let mut player = Ogd::new(Arc::clone(&set), kappa, steps, 0.0).unwrap();
            run(&set, &mut player, &model, rounds, Goal::Distance, |round, distance| {
                let bound =
                    theory::lifted_distance_bound(theory::distance_bound(v, g, rounds, 0.0, 0.0), delta);
                assert!(round < rounds || distance <= bound + 1e-7, "{distance} against {bound}");
            });
            assert!(player.regret() <= theory::regret_bound(g, rounds) + 1e-7);
        }
    }
}

/// Theorem 3.4: infeasibility is reported only where it is true, and otherwise the bound holds with v = 0.
#[test]
fn theorem_3_4_decides_feasibility() {
    let mut rng = random::generator(34);
    let (mut feasible, mut infeasible) = (0, 0);
    for _ in 0..12 {
        let model = random_mdp(&mut rng);
        let center = random_vector(&mut rng).iter().map(|x| 3.0 * x).collect();
        let set: SharedSet = Arc::new(Ball::new(center, 0.8).unwrap());
        let v = least_distance(&set, &model);
        let kappa = theory::kappa(set.radius().unwrap(), 0.5);
        let rounds = 2000;
        let g = (model.measurement_bound() * discounting().total_weight()).hypot(kappa);
        let mut player =
            Ogd::new(Arc::clone(&set), kappa, Steps::Constant(theory::step_size(g, rounds)), 0.0).unwrap();
        let options =
            StopRule::default().rounds(rounds).tolerance(1e-7).goal(Goal::Feasibility).epsilon(1e-7);
        let solution = appropo(&set, &mut player, &mut oracle(&model), &options, &mut ()).unwrap();
        let certificate = solution.certificate;
        if certificate.verdict == Verdict::Infeasible {
            infeasible += 1;
            assert!(v > 0.0 && certificate.lower_bound <= v + 1e-7);
        } else {
            feasible += 1;
            assert!(certificate.distance <= 1.5 * theory::distance_bound(0.0, g, rounds, 0.0, 0.0));
            assert!(v <= certificate.distance + 1e-7);
        }
    }
    assert!(feasible >= 2 && infeasible >= 2, "{feasible} feasible and {infeasible} infeasible problems");
}

#[test]
fn blackwells_and_the_corrective_player_keep_their_bounds_in_every_round() {
    let mut rng = random::generator(40);
    for _ in 0..4 {
        let model = random_mdp(&mut rng);
        let diameter = diameter(&model);
        let sets: [SharedSet; 2] = [
            Arc::new(Ball::new(random_vector(&mut rng), 0.3).unwrap()),
            Arc::new(Bounds::new(vec![0.1; D], vec![f64::INFINITY; D]).unwrap()),
        ];
        for set in sets {
            let v = least_distance(&set, &model);
            // ‖ẑ − Γ(z̄)‖ ≤ ‖ẑ − z̄‖ + dist(z̄), and no point is farther than v + diameter.
            let g = 2.0 * diameter + v;
            let mut blackwell = Blackwell::new(Arc::clone(&set));
            run(&set, &mut blackwell, &model, 500, Goal::Distance, |round, distance| {
                assert!(distance <= theory::blackwell_bound(v, g, round) + 1e-7);
            });
            let mut corrective = FullyCorrective::new(Arc::clone(&set));
            run(&set, &mut corrective, &model, 60, Goal::Distance, |round, distance| {
                assert!(distance <= theory::corrective_bound(v, diameter, round) + 1e-7);
            });
            let mut projection = Projection::new(Arc::clone(&set));
            run(&set, &mut projection, &model, 300, Goal::Distance, |round, distance| {
                assert!(distance <= theory::corrective_bound(v, diameter, round) + 1e-7);
            });
        }
    }
}

/// How much the violations of one answer can differ, by what policies can reach in each entry.
fn width(faces: &Faces, model: &TabularMdp) -> f64 {
    let mut oracle = oracle(model);
    let mut least = |row: &[(usize, f64)], sign: f64| {
        let mut lam = vec![0.0; D];
        row.iter().for_each(|(i, a)| lam[*i] = sign * a);
        let z = oracle.respond(&lam, 0.0).unwrap().z_hat;
        row.iter().map(|(i, a)| a * z[*i]).sum::<f64>()
    };
    let reach: Vec<(f64, f64)> =
        faces.rows().iter().map(|(row, b)| (least(row, 1.0) - b, least(row, -1.0) - b)).collect();
    let most = reach.iter().map(|(_, most)| *most).fold(f64::NEG_INFINITY, f64::max);
    most - reach.iter().map(|(least, _)| *least).fold(f64::INFINITY, f64::min)
}

/// Syed and Schapire's theorem, in every round and for both kinds of steps: the margin is at most Regretₜ/T below v*, and
/// the regret at most what is known of it. v* comes from the linear programme.
#[test]
fn multiplicative_weights_keep_their_bounds_in_every_round() {
    let mut rng = random::generator(41);
    let (mut inside, mut outside) = (0, 0);
    for place in 0..8 {
        let model = random_mdp(&mut rng);
        // Above −1 in every entry most worlds have policies, above 5 few.
        let least = if place % 2 == 0 { -1.0 } else { 5.0 };
        let expert: Vec<f64> = random_vector(&mut rng).iter().map(|x| least + 0.5 * x).collect();
        let set: SharedSet = Arc::new(Bounds::new(expert, vec![f64::INFINITY; D]).unwrap());
        let exact = widest_margin_occupancy(&set, &model, &discounting(), 1e-8).unwrap();
        let v = exact.margin;
        assert!((exact.ceiling - v).abs() <= 1e-6, "{} against {v}", exact.ceiling);
        *(if v > 0.0 { &mut inside } else { &mut outside }) += 1;
        let faces = Faces::of(&set).unwrap();
        let (width, n, rounds) = (width(&faces, &model), faces.count(), 400);
        let constant = theory::hedge_step_size(width, n, rounds);
        for eta in [None, Some(constant)] {
            let mut player = Hedge::new(&set).unwrap();
            if let Some(eta) = eta {
                player = player.with_constant_steps(eta).unwrap();
            }
            let regret = |t: usize| match eta {
                None => theory::adaptive_hedge_regret_bound(width, n, t),
                Some(eta) => theory::hedge_regret(eta, width, n, t),
            };
            let mut watch = |round: &Round| {
                let margin = faces.margin(round.z_bar);
                let bound = theory::margin_bound(v, regret(round.round), round.round, 0.0, 0.0);
                assert!(margin >= bound - 1e-7, "{margin} in round {}, bound {bound}", round.round);
                assert!(margin <= v + 1e-7);
                ControlFlow::Continue(())
            };
            let rule = StopRule::default().rounds(rounds).tolerance(1e-9);
            let found =
                widest_margin(&set, &mut player, &mut oracle(&model), &rule, &mut watch, None).unwrap();
            assert!(player.regret() <= player.regret_bound(width) + 1e-9);
            assert!(player.regret_bound(width) <= regret(found.solution.rounds) + 1e-9);
            assert!(found.margin <= v + 1e-7 && found.ceiling >= v - 1e-7);
            assert_eq!(found.margin, faces.margin(&found.solution.certificate.z_bar));
            let expected = if v >= 0.0 { Verdict::Feasible } else { Verdict::Infeasible };
            assert_eq!(found.solution.certificate.verdict, expected, "v* = {v}");
        }
        let theorem = theory::hedge_regret(constant, width, n, rounds);
        assert!((theory::hedge_regret_bound(width, n, rounds) / theorem - 1.0).abs() < 1e-12);
        let needed = theory::hedge_rounds(width, n, 0.1);
        assert!(theory::hedge_regret_bound(width, n, needed) / needed as f64 <= 0.1);
    }
    assert!(inside >= 2 && outside >= 2, "{inside} inside and {outside} outside");
}

/// All three players end at the same least distance, as closely as their rates allow.
#[test]
fn the_players_agree() {
    let mut rng = random::generator(50);
    for _ in 0..4 {
        let model = random_mdp(&mut rng);
        let set: SharedSet =
            Arc::new(Ball::new(random_vector(&mut rng).iter().map(|x| 4.0 * x).collect(), 0.2).unwrap());
        let v = least_distance(&set, &model);
        let solve = |player: &mut dyn Player, rounds| {
            let options =
                StopRule::default().rounds(rounds).tolerance(1e-9).goal(Goal::Distance).epsilon(1e-7);
            appropo(&set, player, &mut oracle(&model), &options, &mut ()).unwrap().certificate.distance
        };
        let kappa = theory::kappa(set.radius().unwrap(), 0.1);
        let rounds = 20_000;
        let g = 10.0f64.hypot(kappa);
        let eta = theory::step_size(g, rounds);
        let ogd = |steps, momentum| Ogd::new(Arc::clone(&set), kappa, steps, momentum).unwrap();
        assert!((solve(&mut FullyCorrective::new(Arc::clone(&set)), 200) - v).abs() <= 1e-6);
        for (name, distance) in [
            ("blackwell", solve(&mut Blackwell::new(Arc::clone(&set)), rounds)),
            ("ogd", solve(&mut ogd(Steps::Constant(eta), 0.0), rounds)),
            ("ogd with decreasing steps", solve(&mut ogd(Steps::Decreasing(1.0 / g), 0.0), rounds)),
            ("ogd with momentum", solve(&mut ogd(Steps::Constant(0.1 * eta), 0.9), rounds)),
        ] {
            assert!(distance >= v - 1e-6 && distance <= v + 0.05, "{name}: {distance}, least {v}");
        }
    }
}

#[test]
fn lemma_3_5_holds_with_and_without_compactness() {
    let mut rng = random::generator(35);
    let unbounded: SharedSet =
        Arc::new(Bounds::new(vec![f64::NEG_INFINITY, -0.17, 0.3], vec![0.2, f64::INFINITY, 0.4]).unwrap());
    let compact: SharedSet = Arc::new(Ball::new(vec![1.0, -2.0, 0.5], 0.7).unwrap());
    for _ in 0..2000 {
        let x: Vec<f64> = random_vector(&mut rng).iter().map(|v| 3.0 * v).collect();
        let norm = x.iter().map(|v| v * v).sum::<f64>().sqrt();
        for delta in [0.01, 0.5] {
            let lifted = |set: &SharedSet, kappa: f64| {
                let cone = appropo::set::Lift::new(Arc::clone(set), kappa).unwrap();
                cone.distance(&[x[0], x[1], x[2], kappa])
            };
            let kappa = theory::kappa(compact.radius().unwrap(), delta);
            assert!(compact.distance(&x) <= (1.0 + delta) * lifted(&compact, kappa) + 1e-10);
            let kappa = theory::kappa(norm, delta);
            let bound = theory::unlifted_distance(lifted(&unbounded, kappa), kappa, norm);
            assert!(unbounded.distance(&x) <= bound + 1e-10);
        }
    }
}

/// z = (1 − γ)eₐ over n arms, uniform target: after k calls the corrective player is at √(1/k − 1/n).
#[test]
fn the_bandit_has_a_closed_form() {
    let n = 12;
    let world = bandit::world(n, 0.95).unwrap();
    let model = world.model.select(&Selection { entries: (0..n).map(|i| (i, 1.0)).collect() });
    let set: SharedSet = Arc::new(Ball::new(vec![1.0 / n as f64; n], 0.0).unwrap());
    let mut oracle =
        Exact::new(model, Discounting::new(0.95, None).unwrap(), Planner::PolicyIteration).unwrap();
    let mut player = FullyCorrective::new(Arc::clone(&set));
    let mut calls = 0;
    let mut watch = |round: &Round| {
        calls = round.round;
        let expected = (1.0 / calls as f64 - 1.0 / n as f64).max(0.0).sqrt();
        assert!(
            (round.distance - expected).abs() <= 1e-9,
            "{} after {calls} calls, expected {expected}",
            round.distance
        );
        ControlFlow::Continue(())
    };
    let options = StopRule::default().tolerance(1e-8);
    let solution = appropo(&set, &mut player, &mut oracle, &options, &mut watch).unwrap();
    assert_eq!((calls, solution.certificate.verdict), (n, Verdict::Feasible));
}

/// The ball of radius r round z* − (r + Δ)λ, with z* = argmin λ·z, is at distance max(Δ, 0).
#[test]
fn planted_answers_are_found() {
    let mut rng = random::generator(60);
    for delta in [-0.2, 0.0, 0.01, 0.5, 2.0] {
        for _ in 0..4 {
            let model = random_mdp(&mut rng);
            let mut lam = random_vector(&mut rng);
            let length = lam.iter().map(|l| l * l).sum::<f64>().sqrt();
            lam.iter_mut().for_each(|l| *l /= length);
            let best = oracle(&model).respond(&lam, 0.0).unwrap().z_hat;
            let r = 0.4;
            let center = best.iter().zip(&lam).map(|(z, l)| z - (r + delta) * l).collect();
            let set: SharedSet = Arc::new(Ball::new(center, r).unwrap());
            let mut player = FullyCorrective::new(Arc::clone(&set));
            let options = StopRule::default().tolerance(1e-7);
            let solution = appropo(&set, &mut player, &mut oracle(&model), &options, &mut ()).unwrap();
            let certificate = solution.certificate;
            assert!(
                (certificate.distance - delta.max(0.0)).abs() <= 1e-6,
                "Δ = {delta}: {}",
                certificate.distance
            );
            let expected = if delta > 0.0 { Verdict::Infeasible } else { Verdict::Feasible };
            assert_eq!(certificate.verdict, expected);
        }
    }
}

/// Theorem 3.1 on random matrix games, with the value from rock-paper-scissors for one of them.
#[test]
fn theorem_3_1_bounds_both_averages() {
    let mut rng = random::generator(33);
    let rock_paper_scissors = vec![vec![0.0, -1.0, 1.0], vec![1.0, 0.0, -1.0], vec![-1.0, 1.0, 0.0]];
    let mut games = vec![rock_paper_scissors];
    games.extend(
        (0..10)
            .map(|_| (0..4).map(|_| (0..5).map(|_| 2.0 * random::unit(&mut rng) - 1.0).collect()).collect()),
    );
    for (i, payoff) in games.iter().enumerate() {
        let rounds = 4000;
        let largest = (payoff[0].len() as f64).sqrt();
        let steps = Steps::Constant(1.0 / (largest * (rounds as f64).sqrt()));
        let mut learner =
            OnlineGradient::new(Simplex::probability(payoff.len()).unwrap(), steps, 0.0).unwrap();
        let play = game::play(payoff, &mut learner, rounds).unwrap();
        let delta = play.regret / rounds as f64;
        let column = |u: usize| payoff.iter().zip(&play.lam_bar).map(|(row, l)| l * row[u]).sum::<f64>();
        let row = |r: &Vec<f64>| r.iter().zip(&play.u_bar).map(|(g, u)| g * u).sum::<f64>();
        let guaranteed = (0..payoff[0].len()).map(column).fold(f64::INFINITY, f64::min);
        let conceded = payoff.iter().map(row).fold(f64::NEG_INFINITY, f64::max);
        // min g(λ̄, u) ≤ v ≤ max g(λ, ū), and by the theorem they are at most 2δ apart.
        assert!(guaranteed <= conceded + 1e-12 && conceded - guaranteed <= 2.0 * delta + 1e-12);
        assert!(delta <= 2.0 * largest / (rounds as f64).sqrt());
        if i == 0 {
            assert!(guaranteed >= -delta - 1e-12 && conceded <= delta + 1e-12);
        }
    }
}
