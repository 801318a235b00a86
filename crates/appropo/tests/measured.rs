//! Models whose predictions are wrong: what was measured counts.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::error::{Error, Result};
use appropo::measurement::Estimate;
use appropo::oracle::{Confirmation, ModelBased, Respond, Response};
use appropo::player::{FullyCorrective, Player};
use appropo::policy::{AnyPolicy, Mixed, TabularPolicy};
use appropo::random::{self, Generator};
use appropo::set::{Ball, Bounds, ConvexSet, Product, SharedSet};
use appropo::solver::{Round, Solution, Stop, StopRule, appropo_model_based, resume_model_based};
use appropo::state::{Checkpoint, Loader, Saver};

/// What the arms measure, and how far off a model takes all of them to be: the same way, so that no mixture that looks right
/// is.
const ARMS: [[f64; 2]; 4] = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]];
const OFF: [f64; 2] = [0.3, -0.2];
const NOISE: f64 = 0.2;
const BUDGET: u64 = 4_000;

/// An oracle that believes what the model does.
struct Beliefs;

impl Checkpoint for Beliefs {}

impl Respond for Beliefs {
    fn respond(&mut self, lam: &[f64], _: f64) -> Result<Response> {
        let believed = |arm: usize| [ARMS[arm][0] + OFF[0], ARMS[arm][1] + OFF[1]];
        let pays = |arm: &usize| lam[0] * believed(*arm)[0] + lam[1] * believed(*arm)[1];
        let best = (0..ARMS.len()).min_by(|a, b| pays(a).total_cmp(&pays(b))).unwrap();
        let policy = Mixed::one(TabularPolicy::deterministic(1, ARMS.len(), vec![best as u32]).unwrap());
        Ok(Response { policy, z_hat: believed(best).to_vec(), spread: None, bound: None, gave_up: false })
    }
}

struct Mistaken {
    beliefs: Beliefs,
    played: u64,
    /// The λs that it prepared for.
    prepared: Vec<Vec<f64>>,
    rng: Generator,
}

impl Mistaken {
    fn new(seed: u64) -> Self {
        Self { beliefs: Beliefs, played: 0, prepared: Vec::new(), rng: random::generator(seed) }
    }

    fn play(&mut self, mixture: &Mixed) -> [f64; 2] {
        self.played += 1;
        let arm = arm(mixture.draw(&mut self.rng).unwrap());
        [0, 1].map(|entry| ARMS[arm][entry] + NOISE * random::normal(&mut self.rng))
    }
}

fn arm(policy: &AnyPolicy) -> usize {
    policy.as_table().unwrap().most_likely(0, 0)
}

/// What a mixture truly measures.
fn truth(mixture: &Mixed) -> [f64; 2] {
    let entry = |k: usize| mixture.parts().iter().map(|(weight, policy)| weight * ARMS[arm(policy)][k]).sum();
    [entry(0), entry(1)]
}

impl Checkpoint for Mistaken {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.played);
        to.put(&self.rng);
        Ok(())
    }
    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.played = from.get()?;
        self.rng = from.get()?;
        Ok(())
    }
}

impl ModelBased for Mistaken {
    fn oracle(&mut self) -> Result<&mut dyn Respond> {
        Ok(&mut self.beliefs)
    }
    fn rollout(&mut self, mixture: &Mixed) -> Result<()> {
        self.play(mixture);
        Ok(())
    }
    fn explore(&mut self) -> Result<()> {
        self.played += 1;
        Ok(())
    }
    fn is_spent(&self) -> bool {
        self.played >= BUDGET
    }
    fn deviations(&mut self, _: &Mixed) -> Result<Vec<f64>> {
        Ok(vec![0.6; 2])
    }
    fn confirm(&mut self, mixture: &Mixed, set: &SharedSet, tolerance: f64) -> Result<Confirmation> {
        let mut fresh = Estimate::new(2);
        self.measure(mixture, 100, &mut fresh)?;
        let z = fresh.mean().to_vec();
        let is_inside = set.contains(&z, tolerance);
        Ok(if is_inside { Confirmation::Sure(z) } else { Confirmation::Refuted(Some(fresh)) })
    }
    fn prepare(&mut self, lam: &[f64]) -> Result<()> {
        self.prepared.push(lam.to_vec());
        Ok(())
    }
    fn measure(&mut self, mixture: &Mixed, episodes: usize, to: &mut Estimate) -> Result<()> {
        (0..episodes).for_each(|_| to.add(&self.play(mixture)));
        Ok(())
    }
    fn samples(&self) -> u64 {
        self.played
    }
}

fn set() -> SharedSet {
    Arc::new(Ball::new(vec![0.6, 0.5], 0.15).unwrap())
}

fn solve(seed: u64, states: &mut Vec<Vec<u8>>) -> Solution {
    let mut watch = |round: &Round| {
        states.push((round.state)().unwrap().1);
        ControlFlow::Continue(())
    };
    appropo_model_based(&set(), &player, &mut Mistaken::new(seed), &StopRule::default(), &mut watch).unwrap()
}

fn player(set: &SharedSet) -> Result<Box<dyn Player>> {
    Ok(Box::new(FullyCorrective::new(Arc::clone(set))))
}

/// A search that believed predictions played the same wrong mixture until its steps were used up.
#[test]
fn what_was_measured_is_mixed_where_predictions_are_wrong() {
    for seed in 0..20 {
        let found = solve(seed, &mut Vec::new());
        assert_eq!(found.stop, Stop::Reached, "seed {seed}");
        assert!(found.samples < BUDGET / 2, "seed {seed}: {}", found.samples);
        let z = truth(&found.mixture);
        assert!(set().distance(&z) < 0.05, "seed {seed}: {z:?}");
    }
}

/// Games in wrong predictions took for solved what was not, and nobody asked what the measured policies lack.
#[test]
fn models_prepare_for_what_measured_policies_lack() {
    // No arm's first entry is above 1, so what is measured can always lie deeper there.
    let bounds = |low: f64, high: f64| Arc::new(Bounds::new(vec![low], vec![high]).unwrap()) as SharedSet;
    let set: SharedSet = Arc::new(Product::new(vec![bounds(0.8, f64::INFINITY), bounds(0.45, 0.55)]));
    let mut model = Mistaken::new(0);
    appropo_model_based(&set, &player, &mut model, &StopRule::default(), &mut ()).unwrap();
    assert!(!model.prepared.is_empty());
    assert!(model.prepared.iter().all(|lam| lam[0] < 0.0), "{:?}", model.prepared);
}

#[test]
fn a_search_that_measures_goes_on_bit_for_bit() {
    let mut states = Vec::new();
    let whole = solve(3, &mut states);
    assert_eq!(whole.stop, Stop::Reached, "nothing was measured");
    assert!(states.len() > 1);
    for state in &states {
        let again =
            resume_model_based(&set(), &player, &mut Mistaken::new(9), &StopRule::default(), &mut (), state)
                .unwrap();
        assert_eq!((again.samples, &again.stop), (whole.samples, &whole.stop));
        let weights = |found: &Solution| found.mixture.parts().iter().map(|part| part.0).collect::<Vec<_>>();
        assert_eq!(weights(&again), weights(&whole));
        assert_eq!(truth(&again.mixture), truth(&whole.mixture));
    }
    let last = states.last().unwrap();
    let cut = &last[..last.len() - 9];
    let refused =
        resume_model_based(&set(), &player, &mut Mistaken::new(9), &StopRule::default(), &mut (), cut);
    assert!(matches!(refused, Err(Error::State { .. })));
}
