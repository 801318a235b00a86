use std::time::{Duration, Instant};

use super::gradient::ExponentiatedGradient;
use crate::certificate::{Certificate, Verdict};
use crate::env::StopSignal;
use crate::error::{Error, Result};
use crate::oracle::{self, Respond, Response};
use crate::policy::Mixed;
use crate::set::{Cone, ConvexSet, SharedSet};
use crate::solver::{Doubts, Observer, Round, Solution, Stop};
use crate::state::{Loader, Saver, misfit};
use crate::vector;

/// a·z ≤ b, with the unit in which its violation counts.
#[derive(Debug, Clone)]
pub(super) struct HalfSpace {
    pub normal: Vec<f64>,
    pub offset: f64,
    pub unit: f64,
}

impl HalfSpace {
    fn violation(&self, z: &[f64]) -> f64 {
        (vector::dot(&self.normal, &z[..self.normal.len()]) - self.offset) / self.unit
    }
}

/// The half-spaces that a set is made of, with units of 1; `None` where it is not made of such.
pub(super) fn half_spaces(set: &SharedSet) -> Option<Vec<HalfSpace>> {
    let conic = set.conic()?;
    if conic.variables > conic.dim {
        return None;
    }
    let (mut found, mut first) = (Vec::new(), 0);
    for cone in &conic.cones {
        let (rows, is_equality) = match cone {
            Cone::Nonnegative(rows) => (*rows, false),
            Cone::Zero(rows) => (*rows, true),
            _ => return None,
        };
        for (row, offset) in &conic.rows[first..first + rows] {
            let mut normal = vec![0.0; conic.dim];
            row.iter().for_each(|(i, coefficient)| normal[*i] += coefficient);
            if is_equality {
                let normal = normal.iter().map(|v| -v).collect();
                found.push(HalfSpace { normal, offset: -offset, unit: 1.0 });
            }
            found.push(HalfSpace { normal, offset: *offset, unit: 1.0 });
        }
        first += rows;
    }
    Some(found)
}

/// What is searched for: the least −objective, in its unit, within half-spaces.
pub(super) struct Game<'a> {
    pub set: &'a SharedSet,
    pub half_spaces: Vec<HalfSpace>,
    /// The unit of the objective, which is measured last; `None` where there is none.
    pub objective: Option<f64>,
    pub oracle: &'a mut dyn Respond,
    pub rounds: usize,
    /// ω, the primal-dual gap to end at.
    pub gap: f64,
    pub tolerance: f64,
    pub stop: Option<StopSignal>,
}

/// The answers so far.
pub(super) struct Search<'a> {
    game: Game<'a>,
    player: ExponentiatedGradient,
    policies: Vec<Mixed>,
    z_hats: Vec<Vec<f64>>,
    reason: Option<Stop>,
}

impl<'a> Search<'a> {
    pub fn new(game: Game<'a>, bound: f64, eta: f64) -> Self {
        let player = ExponentiatedGradient::new(game.half_spaces.len(), bound, eta);
        Self { game, player, policies: Vec::new(), z_hats: Vec::new(), reason: None }
    }

    /// Constrained batch policy learning (Le, Voloshin and Yue 2019, Algorithm 2).
    pub fn run(mut self, observer: &mut dyn Observer) -> Result<Solution> {
        let mut responding = Duration::ZERO;
        while self.reason.is_none() && self.policies.len() < self.game.rounds {
            let lam = self.player.decision(); // λₜ
            let asked = Instant::now();
            let answer = self.respond(&lam); // πₜ by fitted Q iteration, ẑₜ by fitted Q evaluation
            let response = match answer {
                // What was found before is not lost.
                Err(error) if !self.policies.is_empty() => return Ok(self.solution(Stop::Failed(error))),
                response => response?,
            };
            let price = self.price(&lam);
            self.player.observe(&self.violations(&response.z_hat))?; // λₜ₊₁
            self.policies.push(response.policy);
            self.z_hats.push(response.z_hat);
            match self.gap() {
                Ok(gap) if gap <= self.game.gap => self.reason = Some(Stop::Reached),
                Ok(_) => {}
                Err(error) => return Ok(self.solution(Stop::Failed(error))),
            }
            responding += asked.elapsed();
            match self.show(&price, responding, observer) {
                Ok(true) => {}
                Ok(false) => {
                    let reason = self.reason.take().unwrap_or(Stop::Observer);
                    return Ok(self.solution(reason));
                }
                Err(error) => return Ok(self.solution(Stop::Failed(error))),
            }
        }
        let reason = self.reason.take().unwrap_or(Stop::Rounds);
        Ok(self.solution(reason))
    }

    fn respond(&mut self, lam: &[f64]) -> Result<Response> {
        if self.game.stop.as_ref().is_some_and(|stop| stop()) {
            return Err(Error::Interrupted);
        }
        self.game.oracle.respond(&self.price(lam), f64::NEG_INFINITY)
    }

    /// What every measurement costs where multipliers are λ.
    fn price(&self, lam: &[f64]) -> Vec<f64> {
        let mut price = vec![0.0; self.game.set.dim()];
        for (half_space, lam) in self.game.half_spaces.iter().zip(lam) {
            vector::add_scaled(&mut price, lam / half_space.unit, &half_space.normal);
        }
        price.extend(self.game.objective.map(|unit| -1.0 / unit));
        price
    }

    fn violations(&self, z: &[f64]) -> Vec<f64> {
        self.game.half_spaces.iter().map(|half_space| half_space.violation(z)).collect()
    }

    /// −objective, in its unit.
    fn cost(&self, z: &[f64]) -> f64 {
        self.game.objective.map_or(0.0, |unit| -z[z.len() - 1] / unit)
    }

    /// L(π, λ).
    fn lagrangian(&self, z: &[f64], lam: &[f64]) -> f64 {
        self.cost(z) + vector::dot(lam, &self.violations(z))
    }

    /// max over λ of L(π̂, λ) − min over π of L(π, λ̂), where π̂ mixes all answers and λ̂ is the mean of all λ. The minimum is
    /// what the best answer to λ̂ comes to: the least of all that were estimated would be the luckiest.
    fn gap(&mut self) -> Result<f64> {
        let (z_bar, lam) = (self.z_bar(), self.player.mean());
        let most = self.cost(&z_bar) + self.player.best(&self.violations(&z_bar));
        let response = self.respond(&lam)?;
        Ok(most - self.lagrangian(&response.z_hat, &lam))
    }

    fn z_bar(&self) -> Vec<f64> {
        let mut mean = vec![0.0; self.z_hats.first().map_or(0, Vec::len)];
        let share = 1.0 / self.z_hats.len().max(1) as f64;
        self.z_hats.iter().for_each(|z| vector::add_scaled(&mut mean, share, z));
        mean
    }

    fn distance(&self, z: &[f64]) -> f64 {
        self.game.set.distance(&z[..self.game.set.dim()])
    }

    fn mixture(&self) -> Mixed {
        let share = 1.0 / self.policies.len().max(1) as f64;
        Mixed::flatten(self.policies.iter().map(|policy| (share, policy.clone())))
    }

    fn show(&self, lam: &[f64], responding: Duration, observer: &mut dyn Observer) -> Result<bool> {
        let z_bar = self.z_bar();
        let distance = self.distance(&z_bar);
        let is_held = self.game.objective.is_some() && distance <= self.game.tolerance;
        let round = Round {
            round: self.policies.len(),
            lam,
            z_hat: self.z_hats.last().map_or(&[], Vec::as_slice),
            z_bar: &z_bar,
            distance,
            lower_bound: 0.0,
            samples: 0,
            responding,
            objective: z_bar.last().copied().filter(|_| is_held),
            mixture: &|| self.mixture(),
            state: &|| self.state(),
        };
        Ok(observer.round(&round)?.is_continue())
    }

    fn state(&self) -> Result<(usize, Vec<u8>)> {
        let mut saver = Saver::default();
        self.game.oracle.save(&mut saver)?;
        self.player.save(&mut saver);
        saver.put(&self.policies);
        self.z_hats.iter().for_each(|z| saver.put_all(z));
        saver.put(&(self.reason == Some(Stop::Reached)));
        Ok((self.policies.len(), saver.into_bytes()))
    }

    /// Goes on from a state.
    pub fn load(&mut self, state: &[u8]) -> Result<()> {
        let mut loader = Loader::new(state);
        self.game.oracle.load(&mut loader)?;
        self.player.load(&mut loader)?;
        self.policies = loader.get()?;
        if self.policies.is_empty()
            || !self.policies.iter().all(|policy| oracle::fits(self.game.oracle, policy))
        {
            return Err(misfit("a policy is missing, or for another world"));
        }
        let dim = self.game.set.dim() + usize::from(self.game.objective.is_some());
        self.z_hats = vec![vec![0.0; dim]; self.policies.len()];
        for z in &mut self.z_hats {
            loader.get_finite("a measurement", z)?;
        }
        self.reason = loader.get::<bool>()?.then_some(Stop::Reached);
        loader.finish()
    }

    fn solution(self, stop: Stop) -> Solution {
        let mut z_bar = self.z_bar();
        let distance = self.distance(&z_bar);
        z_bar.truncate(self.game.set.dim());
        let certificate = Certificate {
            // Logs prove nothing.
            verdict: Verdict::Undecided,
            tolerance: self.game.tolerance,
            z_bar,
            distance,
            lower_bound: 0.0,
            separation: None,
            confidence: None,
        };
        let (mixture, rounds) = (self.mixture(), self.policies.len());
        Solution { mixture, certificate, rounds, samples: 0, doubts: Doubts::default(), stop }
    }
}
