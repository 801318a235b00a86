//! Oracles: who answers the λ-player.

mod cache;
mod exact;

use std::sync::Arc;

pub use cache::Cache;
pub use exact::{Exact, Planner};

use crate::certificate::Bound;
use crate::error::Result;

/// An answer to λ: a policy, its measurements, and what is known of all others.
#[derive(Debug, Clone)]
pub struct Response<P> {
    /// π, a copy that nothing else changes.
    pub policy: Arc<P>,
    /// ẑ, its long-term measurement or an estimate.
    pub z_hat: Vec<f64>,
    /// A certified lower bound on λ·Z̄ over all policies, where the oracle can give one.
    pub bound: Option<Bound>,
}

/// The best-response and the positive-response oracle.
pub trait Respond {
    /// The kind of policy it finds.
    type Policy;

    /// A policy for the scalar reward −λ·z. A best-response oracle maximises it; a positive-response oracle
    /// may stop at any policy with λ·ẑ ≤ `offset`.
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response<Self::Policy>>;

    /// A bound on ‖Z̄(π)‖ over all policies.
    fn measurement_radius(&self) -> Result<f64>;
}
