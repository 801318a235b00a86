use super::{Exact, Planner, Respond};
use crate::certificate::Bound;
use crate::env::TabularMdp;
use crate::error::Result;
use crate::measurement::{Discounting, Spread};
use crate::policy::Mixed;
use crate::rl::NaturalGradient;
use crate::state::{Checkpoint, Loader, Saver};

/// One policy in a known model that climbs step by step for a reward that moves, and what bounds all others there.
#[derive(Debug)]
pub struct PolicyAscent {
    gradient: NaturalGradient,
    exact: Exact,
    dim: usize,
}

impl PolicyAscent {
    /// The policy that chooses every action equally often, in a model that measures what λ weighs.
    pub fn new(model: TabularMdp, discounting: Discounting) -> Result<Self> {
        let dim = model.measures().dim();
        let exact = Exact::new(model.clone(), discounting, Planner::PolicyIteration)?;
        Ok(Self { gradient: NaturalGradient::new(model, &discounting)?, exact, dim })
    }

    /// How far apart policies can be, measurement by measurement: in these units steps need none.
    pub fn widths(&mut self) -> Result<Spread> {
        let mut deviations = Vec::new();
        for entry in 0..self.dim {
            let mut end = |sign: f64| -> Result<f64> {
                let mut lam = vec![0.0; self.dim];
                lam[entry] = sign;
                Ok(self.exact.respond(&lam, 0.0)?.z_hat[entry])
            };
            deviations.push((end(-1.0)? - end(1.0)?).max(0.0));
        }
        Ok(Spread { deviations, episodes: 1.0 })
    }

    /// What the policy measures.
    pub fn measure(&mut self) -> Result<Vec<f64>> {
        self.gradient.measure()
    }

    /// Moves the policy for the reward −λ·z, by optimistic natural gradients or by plain ones.
    pub fn step(&mut self, lam: &[f64], eta: f64, is_optimistic: bool) -> Result<()> {
        self.gradient.step(lam, eta, is_optimistic)
    }

    /// Goes on from the policy that measures the mean of all since this was done last.
    pub fn average(&mut self) {
        self.gradient.average();
    }

    /// A lower bound on λ·Z̄ over all policies, where one can be given.
    pub fn bound(&mut self, lam: &[f64]) -> Result<Option<Bound>> {
        Ok(self.exact.respond(lam, 0.0)?.bound)
    }

    /// A copy of the policy.
    pub fn policy(&self) -> Result<Mixed> {
        Ok(Mixed::one(self.gradient.policy()?))
    }
}

impl Checkpoint for PolicyAscent {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.gradient.save(to);
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.gradient.load(from)
    }
}
