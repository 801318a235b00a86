use std::fmt;
use std::sync::Arc;

use super::{AnyOracle, MakeOracle, OracleContext, OracleEntry, Respond, Response};
use crate::env::EnvSpec;
use crate::error::{Error, Result};
use crate::measurement::{Estimate, Selection};
use crate::options::Table;
use crate::policy::{AnyPolicy, Mixed};
use crate::state::Checkpoint;

/// Its name in problem files.
pub const NAME: &str = "external";

pub(super) static ENTRY: OracleEntry = OracleEntry {
    name: NAME,
    about: "an oracle of the calling program, such as a Python object",
    keys: &[],
    read: |_| Ok(Arc::new(ExternalOracle { answer: None })),
};

/// What an oracle of the calling program says.
#[derive(Debug)]
pub struct Answer {
    /// A policy for the reward −λ·z.
    pub policy: AnyPolicy,
    /// Σ γⁱ zᵢ of episodes that it played, or its expectation alone.
    pub episodes: Vec<Vec<f64>>,
    /// Steps taken in the environment so far.
    pub samples: u64,
}

/// Answers λ, which weighs every entry of the measurement vector, and the payoff that is good enough.
type Ask = Arc<dyn Fn(&[f64], f64) -> Result<Answer> + Send + Sync>;

/// An oracle of the calling program.
#[derive(Clone)]
pub struct ExternalOracle {
    /// `None` where a file names it but no program gives it.
    answer: Option<Ask>,
}

impl fmt::Debug for ExternalOracle {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("ExternalOracle").finish_non_exhaustive()
    }
}

impl ExternalOracle {
    /// An oracle that asks `answer` for a policy for the reward −λ·z, and tells it which payoff is good enough.
    pub fn new(answer: impl Fn(&[f64], f64) -> Result<Answer> + Send + Sync + 'static) -> Self {
        Self { answer: Some(Arc::new(answer)) }
    }
}

impl MakeOracle for ExternalOracle {
    fn name(&self) -> &str {
        NAME
    }

    fn make(&self, context: OracleContext) -> Result<AnyOracle> {
        let Some(answer) = self.answer.clone() else {
            return Err(Error::Missing { what: "the oracle of this problem".into() });
        };
        Ok(AnyOracle::Responding(Box::new(Asked {
            answer,
            selection: context.selection.clone(),
            dim: context.env.measures().dim(),
            budget: context.samples,
            samples: 0,
        })))
    }

    fn check(&self, _: &EnvSpec) -> Result<()> {
        Ok(())
    }

    fn tables(&self, _: &EnvSpec) -> Vec<(String, Table)> {
        Vec::new()
    }
}

struct Asked {
    answer: Ask,
    selection: Selection,
    dim: usize,
    budget: u64,
    samples: u64,
}

impl Checkpoint for Asked {}

impl Respond for Asked {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        let mut weights = vec![0.0; self.dim];
        for ((entry, factor), lam) in self.selection.entries.iter().zip(lam) {
            weights[*entry] += lam * factor;
        }
        let answer = (self.answer)(&weights, offset)?;
        let mut estimate = Estimate::new(lam.len());
        for sum in &answer.episodes {
            let what = "the measurement of the oracle's answer";
            crate::error::dimension(what, sum.len(), self.dim)?;
            crate::error::finite(what, sum)?;
            estimate.add(&self.selection.apply(sum));
        }
        self.samples = answer.samples;
        let (z_hat, spread) = estimate.with_spread();
        Ok(Response {
            policy: Mixed::one(answer.policy),
            z_hat,
            // One row alone is taken for exact.
            spread: (estimate.count() > 1).then_some(spread),
            bound: None,
            gave_up: self.samples >= self.budget,
        })
    }

    fn samples(&self) -> u64 {
        self.samples
    }
}
