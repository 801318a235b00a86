//! Certificates hold when computed again, and fail when anything in them is altered.

use std::sync::Arc;

use appropo::certificate::{Certificate, ValueFunction, Verdict, least_payoff};
use appropo::constraint::{Constraint, Target};
use appropo::env::{TabularMdp, garnet, mars_rover};
use appropo::error::Error;
use appropo::measurement::{Discounting, Measures};
use appropo::oracle::{Exact, Planner, Respond, Response};
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::policy::{Mixed, TabularPolicy};
use appropo::random;
use appropo::set::{Bounds, FromProjection, SharedSet};
use appropo::solver::{StopRule, appropo};
use appropo::state::Checkpoint;

struct Solved {
    oracle: Exact,
    target: Target,
    certificate: Certificate,
    mixture: Mixed,
}

fn solve(failure: f64, reward: f64, discounting: Discounting) -> Solved {
    let world = mars_rover::world("8x8", 0.05).unwrap();
    let constraints = vec![
        Constraint::at_most("failure", failure).unwrap(),
        Constraint::at_least("reward", reward).unwrap(),
    ];
    let target = Target::new(world.model.measures(), constraints).unwrap();
    let model = world.model.select(target.selection());
    let mut oracle = Exact::new(model, discounting, Planner::PolicyIteration).unwrap();
    let mut player = FullyCorrective::new(Arc::clone(target.set()));
    let solution = appropo(target.set(), &mut player, &mut oracle, &StopRule::default(), &mut ()).unwrap();
    Solved { oracle, target, certificate: solution.certificate, mixture: solution.mixture }
}

impl Solved {
    fn check(&self, certificate: &Certificate) -> Result<(), Error> {
        self.oracle.check(certificate, self.target.set(), &self.mixture).map(drop)
    }

    #[track_caller]
    fn refuses(&self, alter: impl Fn(&mut Certificate)) {
        let mut altered = self.certificate.clone();
        alter(&mut altered);
        assert!(self.check(&altered).is_err());
    }
}

fn all_kinds() -> [Discounting; 3] {
    [(0.99, None), (1.0, None), (1.0, Some(300))]
        .map(|(gamma, horizon)| Discounting::new(gamma, horizon).unwrap())
}

#[test]
fn a_proof_of_infeasibility_holds_and_can_not_be_altered() {
    for discounting in all_kinds() {
        let solved = solve(0.02, -0.125, discounting);
        assert_eq!(solved.certificate.verdict, Verdict::Infeasible);
        solved.check(&solved.certificate).unwrap();
        solved.refuses(|c| c.lower_bound *= 1.01);
        // λ so small that its square is 0 or a few bits.
        for power in 150..170 {
            let mut small = solved.certificate.clone();
            let separation = small.separation.as_mut().unwrap();
            let factor = 2.75 * 10f64.powi(-power);
            separation.lam.iter_mut().for_each(|v| *v *= factor);
            separation.offset *= factor;
            Arc::make_mut(&mut separation.witness).values.iter_mut().for_each(|v| *v *= factor);
            solved.check(&small).unwrap();
            small.lower_bound *= 1.01;
            assert!(solved.check(&small).is_err(), "{power}");
        }
        let again =
            solved.oracle.recompute(&solved.certificate, solved.target.set(), &solved.mixture).unwrap();
        assert_eq!(again.verdict, Verdict::Infeasible);
        assert!((again.lower_bound - solved.certificate.lower_bound).abs() <= 1e-8);
        solved.refuses(|c| c.distance *= 0.99);
        solved.refuses(|c| c.z_bar[0] += 1e-4);
        solved.refuses(|c| c.separation = None);
        solved.refuses(|c| c.separation.as_mut().unwrap().offset -= 1e-3);
        solved.refuses(|c| c.separation.as_mut().unwrap().lam[1] *= -1.0);
        solved.refuses(|c| c.separation.as_mut().unwrap().lam.fill(0.0));
        solved.refuses(|c| {
            let witness = &mut c.separation.as_mut().unwrap().witness;
            Arc::make_mut(witness).values[0] += 0.01;
        });
        solved.refuses(|c| {
            let witness = &mut c.separation.as_mut().unwrap().witness;
            Arc::make_mut(witness).values[3] = f64::NAN;
        });
        solved.refuses(|c| c.verdict = Verdict::Feasible);
    }
}

/// A bound above a distance that is reached is a mistake, whatever proves it.
#[test]
fn no_bound_is_above_the_distance() {
    let discounting = all_kinds()[0];
    let Solved { target, mut certificate, mixture, oracle, .. } = solve(0.02, -0.125, discounting);
    let reached = certificate.distance;
    certificate.lower_bound = 2.0 * reached;
    let checked = oracle.check(&certificate, target.set(), &mixture);
    assert!(matches!(checked, Err(Error::Certificate { claim: "the lower bound", .. })), "{checked:?}");
}

/// Beside a huge V the rewards are lost in rounding, which once passed for a proof.
#[test]
fn no_value_function_proves_too_much() {
    let size = garnet::Size { states: 20, actions: 4, branching: 3, measures: 2 };
    let model = TabularMdp::clone(&garnet::world(size, &mut random::generator(0)).unwrap().model);
    let discounting = Discounting::new(0.99, None).unwrap();
    let decisions = vec![true; model.states()];
    let mut lam = vec![0.0; model.measures().dim()];
    lam[1] = -1.0;
    let mut oracle = Exact::new(model.clone(), discounting, Planner::PolicyIteration).unwrap();
    let response = oracle.respond(&lam, 0.0).unwrap();
    let least = -response.z_hat[1];
    let tight = response.bound.unwrap().value;
    assert!(tight <= least && least - tight <= 1e-9 * least.abs(), "{tight} for {least}");
    for power in 0..300 {
        for factor in [-7.3, -1.06, 1.06, 2.9] {
            let witness =
                ValueFunction { values: vec![factor * 10f64.powi(power); 20], ..ValueFunction::default() };
            let bound = least_payoff(&model, &discounting, &decisions, &lam, &witness).unwrap();
            assert!(bound <= least, "V = {factor}e{power} claims {bound} for {least}");
        }
    }
}

#[test]
fn a_feasible_claim_holds_and_can_not_be_altered() {
    for discounting in all_kinds() {
        let solved = solve(0.2, -0.17, discounting);
        assert_eq!(solved.certificate.verdict, Verdict::Feasible);
        solved.check(&solved.certificate).unwrap();
        solved.refuses(|c| c.verdict = Verdict::Infeasible);
        solved.refuses(|c| c.lower_bound = 0.1);
        solved.refuses(|c| c.z_bar[1] = -0.1);
        // Another mixture than the one that was claimed.
        let other = Mixed::new(solved.mixture.parts()[..1].to_vec());
        assert!(solved.oracle.check(&solved.certificate, solved.target.set(), &other).is_err());
    }
}

/// The constant of Theorem 3.3 needs ‖λ − λ₁‖ ≤ 1 over Λ, whose diameter can be √2.
#[test]
fn every_player_starts_at_zero() {
    let set: SharedSet = Arc::new(Bounds::nonpositive(2));
    let players: [Box<dyn Player>; 3] = [
        Box::new(Ogd::new(Arc::clone(&set), 1.0, Steps::Constant(0.1), 0.9).unwrap()),
        Box::new(Blackwell::new(Arc::clone(&set))),
        Box::new(FullyCorrective::new(Arc::clone(&set))),
    ];
    for player in players {
        assert_eq!(player.decision().lam, [0.0, 0.0]);
        assert_eq!(player.decision().offset, 0.0);
    }
}

/// κ stands once in the lifted measurement, however short episodes are, and not in the scalar reward.
#[test]
fn kappa_does_not_pay_for_survival() {
    let set: SharedSet = Arc::new(Bounds::between(0.0, 1.0).unwrap());
    let mut player = Ogd::new(set, 10.0, Steps::Constant(0.01), 0.0).unwrap();
    player.observe(&[3.0], None).unwrap();
    // λ ∝ (3, 10) − Γ(3, 10), which is orthogonal to (1, 10): the half-space is λ·z ≤ λ·1.
    let decision = player.decision();
    assert_eq!(decision.lam.len(), 1);
    assert!(decision.lam[0] > 0.0 && (decision.offset - decision.lam[0]).abs() < 1e-12);
}

struct Constant(f64);

impl Checkpoint for Constant {}

impl Respond for Constant {
    fn respond(&mut self, _: &[f64], _: f64) -> appropo::error::Result<Response> {
        let policy = Mixed::one(TabularPolicy::uniform(1, 1));
        Ok(Response { policy, z_hat: vec![self.0], spread: None, bound: None, gave_up: false })
    }
}

/// An oracle without bounds never leads to a claim of infeasibility.
#[test]
fn nothing_is_proved_without_a_bound() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.0).unwrap());
    let mut player = FullyCorrective::new(Arc::clone(&set));
    let options = StopRule::default().rounds(10);
    let solution = appropo(&set, &mut player, &mut Constant(1.0), &options, &mut ()).unwrap();
    assert_eq!(solution.certificate.verdict, Verdict::Undecided);
    assert_eq!((solution.certificate.distance, solution.certificate.lower_bound), (1.0, 0.0));
}

#[test]
fn nonsense_from_oracles_and_sets_is_an_error() {
    let set: SharedSet = Arc::new(Bounds::at_most(0.0).unwrap());
    for (value, dim) in [(f64::NAN, 1), (f64::INFINITY, 1), (1.0, 2)] {
        let set: SharedSet = if dim == 1 { Arc::clone(&set) } else { Arc::new(Bounds::nonpositive(2)) };
        let players: [Box<dyn Player>; 3] = [
            Box::new(Ogd::new(Arc::clone(&set), 1.0, Steps::Constant(0.1), 0.0).unwrap()),
            Box::new(Blackwell::new(Arc::clone(&set))),
            Box::new(FullyCorrective::new(Arc::clone(&set))),
        ];
        for mut player in players {
            assert!(
                appropo(&set, player.as_mut(), &mut Constant(value), &StopRule::default(), &mut ()).is_err()
            );
        }
    }
    let broken: SharedSet = Arc::new(FromProjection::new(1, |_, out| out.fill(f64::NAN)));
    let mut player = FullyCorrective::new(Arc::clone(&broken));
    let result = appropo(&broken, &mut player, &mut Constant(1.0), &StopRule::default(), &mut ());
    assert!(matches!(result, Err(Error::Projection { entry: 0, .. })));
}

/// A world that starts where it ends has nothing to decide.
#[test]
fn an_episode_without_steps() {
    let mut model = TabularMdp::builder(1, 1, Measures::new([("m", 1)]));
    model.start(0, 1.0).terminal(0);
    let mut oracle =
        Exact::new(model.build().unwrap(), Discounting::new(1.0, None).unwrap(), Planner::PolicyIteration)
            .unwrap();
    let response = oracle.respond(&[1.0], 0.0).unwrap();
    assert_eq!(response.z_hat, [0.0]);
    assert_eq!(response.bound.unwrap().value, 0.0);
}
