//! One network for every λ: universal successor features (Borsa et al. 2019), learnt from a replay memory.

mod critics;
mod novelty;

pub use critics::{Batch, Critics, CriticsOptions};
pub use novelty::Novelty;
