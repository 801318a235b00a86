//! One network for every λ: universal successor features (Borsa et al. 2019), learnt from a replay memory.

mod critics;
mod encoder;
mod novelty;
mod replay;
mod tracked;

pub use critics::{Batch, Critics, CriticsOptions};
pub use encoder::Encoder;
pub use novelty::Novelty;
pub use replay::{Replay, Transition};
pub use tracked::Tracked;

/// The place of the least value; the first where there are several.
fn least(values: impl Iterator<Item = f32>) -> usize {
    values.enumerate().fold((0, f32::INFINITY), |best, (i, v)| if v < best.1 { (i, v) } else { best }).0
}
