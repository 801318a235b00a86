use super::chain::Chain;
use super::{backup, decision_states};
use crate::env::TabularMdp;
use crate::error::{Result, dimension, not_too_large};
use crate::measurement::Discounting;
use crate::policy::TabularPolicy;
use crate::state::{Loader, Saver};
use crate::vector::add_scaled;

/// Horizon times states times actions for which a policy still fits into memory.
const MOST_LOGITS: usize = 50_000_000;

/// The least probability that a policy begins again with.
const LEAST: f64 = 1e-12;

/// A softmax policy in a known model, moved by natural policy gradients with exact evaluation (Kakade 2002; Agarwal et al.
/// 2021): ln π ← ln π + η Q, and with optimism (Ding et al. 2023) ln π ← ln π + η (2 Q − Q of the time before), both
/// brought back to probabilities. Where there is a horizon it has a table a step.
#[derive(Debug)]
pub struct NaturalGradient {
    model: TabularMdp,
    gamma: f64,
    horizon: Option<usize>,
    decisions: Vec<bool>,
    /// ln π(a|s), as `[(stage * states + state) * actions + action]`, and π.
    logits: Vec<f64>,
    probabilities: Vec<f64>,
    /// V of the time before, as `[stage * states + state]`: where the next evaluation begins.
    values: Vec<f64>,
    /// Q of this time, and of the time before.
    gradient: Vec<f64>,
    before: Option<Vec<f64>>,
    /// ρ(s, a) of all policies since they were averaged last.
    mass: Vec<f64>,
}

impl NaturalGradient {
    /// The policy that chooses every action equally often.
    pub fn new(model: TabularMdp, discounting: &Discounting) -> Result<Self> {
        let (states, actions, stages) = (model.states(), model.actions(), discounting.horizon().unwrap_or(1));
        not_too_large("horizon times states times actions", &[stages, states, actions], MOST_LOGITS)?;
        let count = stages * states * actions;
        Ok(Self {
            gamma: discounting.gamma(),
            horizon: discounting.horizon(),
            decisions: decision_states(&model),
            logits: vec![-(actions as f64).ln(); count],
            probabilities: vec![1.0 / actions as f64; count],
            values: vec![0.0; stages * states],
            gradient: vec![0.0; count],
            before: None,
            mass: vec![0.0; count],
            model,
        })
    }

    fn chain(&self) -> Chain {
        let actions = self.model.actions();
        Chain::new(&self.model, self.gamma, &self.decisions, |s, a| self.probabilities[s * actions + a])
    }

    /// What the policy measures.
    pub fn measure(&mut self) -> Result<Vec<f64>> {
        let (states, actions) = (self.model.states(), self.model.actions());
        let mut visits = vec![0.0; states];
        match self.horizon {
            None => self.chain().visits(self.model.start(), &mut visits)?,
            Some(_) => self.model.start().iter().for_each(|&(state, start)| visits[state] += start),
        }
        let (mut total, mut next) = (vec![0.0; states * actions], vec![0.0; states]);
        let stages = self.probabilities.chunks_exact(states * actions);
        for (probabilities, sum) in stages.zip(self.mass.chunks_exact_mut(states * actions)) {
            next.fill(0.0);
            for state in (0..states).filter(|&s| self.decisions[s] && visits[s] > 0.0) {
                for action in 0..actions {
                    let place = state * actions + action;
                    let taken = visits[state] * probabilities[place];
                    total[place] += taken;
                    sum[place] += taken;
                    if self.horizon.is_some() {
                        for t in self.model.row(state, action) {
                            next[t.next as usize] += self.gamma * taken * t.probability;
                        }
                    }
                }
            }
            std::mem::swap(&mut visits, &mut next);
        }
        Ok(self.model.measure(|s, a| total[s * actions + a]))
    }

    /// Goes on from the policy that measures the mean of all that were measured since this was done last.
    pub fn average(&mut self) {
        let actions = self.model.actions();
        for (logits, mass) in self.logits.chunks_exact_mut(actions).zip(self.mass.chunks_exact(actions)) {
            let total: f64 = mass.iter().sum();
            if total > f64::MIN_POSITIVE {
                for (logit, mass) in logits.iter_mut().zip(mass) {
                    *logit = (mass / total).max(LEAST).ln();
                }
            }
        }
        self.mass.fill(0.0);
        self.before = None;
        self.normalize();
    }

    /// Q of the policy for the reward −λ·z.
    fn evaluate(&mut self, lam: &[f64]) -> Result<()> {
        let (states, actions) = (self.model.states(), self.model.actions());
        let rewards = self.model.rewards(lam);
        let decides: Vec<usize> = (0..states).filter(|&s| self.decisions[s]).collect();
        if self.horizon.is_none() {
            let expected = |s: usize| -> f64 {
                let chosen =
                    |a: usize| self.probabilities[s * actions + a] * rewards[self.model.choice(s, a)];
                (0..actions).map(chosen).sum()
            };
            self.chain().values(expected, 0.0, &mut self.values)?;
        }
        let after = vec![0.0; states];
        for stage in (0..self.horizon.unwrap_or(1)).rev() {
            let (now, later) = self.values.split_at_mut((stage + 1) * states);
            let now = &mut now[stage * states..];
            for &state in &decides {
                let mut value = 0.0;
                for action in 0..actions {
                    let next: &[f64] = match self.horizon {
                        None => now,
                        Some(_) if later.is_empty() => &after,
                        Some(_) => &later[..states],
                    };
                    let place = (stage * states + state) * actions + action;
                    self.gradient[place] = backup(&self.model, self.gamma, &rewards, next, state, action);
                    value += self.probabilities[place] * self.gradient[place];
                }
                if self.horizon.is_some() {
                    now[state] = value;
                }
            }
        }
        Ok(())
    }

    /// Moves the policy by `eta` along the natural gradient of the reward −λ·z, optimistically or not.
    pub fn step(&mut self, lam: &[f64], eta: f64, is_optimistic: bool) -> Result<()> {
        dimension("lambda", lam.len(), self.model.measures().dim())?;
        self.evaluate(lam)?;
        match &mut self.before {
            Some(before) => {
                if is_optimistic {
                    add_scaled(&mut self.logits, eta, &self.gradient);
                    add_scaled(&mut self.logits, -eta, before);
                }
                before.copy_from_slice(&self.gradient);
            }
            None => self.before = Some(self.gradient.clone()),
        }
        add_scaled(&mut self.logits, eta, &self.gradient);
        self.normalize();
        Ok(())
    }

    /// Brings logits to Σ exp = 1.
    fn normalize(&mut self) {
        let actions = self.model.actions();
        let rows = self.logits.chunks_exact_mut(actions).zip(self.probabilities.chunks_exact_mut(actions));
        for (logits, probabilities) in rows {
            let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut total = 0.0;
            for (logit, probability) in logits.iter_mut().zip(&mut *probabilities) {
                *logit -= most;
                *probability = logit.exp();
                total += *probability;
            }
            let shift = total.ln();
            for (logit, probability) in logits.iter_mut().zip(probabilities) {
                *logit -= shift;
                *probability /= total;
            }
        }
    }

    /// The policy as it is, with a table for every step where there is a horizon.
    pub fn policy(&self) -> Result<TabularPolicy> {
        TabularPolicy::stochastic(self.model.states(), self.model.actions(), self.probabilities.clone())
    }

    pub(crate) fn save(&self, to: &mut Saver) {
        to.put_all(&self.logits);
        to.put_all(&self.probabilities);
        to.put_all(&self.values);
        to.put_all(&self.mass);
        to.put(&self.before);
    }

    pub(crate) fn load(&mut self, from: &mut Loader) -> Result<()> {
        from.get_finite("a logit", &mut self.logits)?;
        from.get_finite("a probability", &mut self.probabilities)?;
        from.get_finite("a value", &mut self.values)?;
        from.get_finite("an occupancy", &mut self.mass)?;
        let count = self.gradient.len();
        let fits = |before: &Option<Vec<f64>>| {
            before.as_ref().is_none_or(|all| all.len() == count && all.iter().all(|v| v.is_finite()))
        };
        self.before = from.get_where("a gradient", fits)?;
        // Forged probabilities are no policy.
        self.policy().map(drop)
    }
}
