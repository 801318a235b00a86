use std::ops::ControlFlow;

use crate::error::Result;
use crate::policy::Mixed;

/// What a round left behind.
#[derive(Clone, Copy)]
pub struct Round<'a, P> {
    /// t, counted from 1.
    pub round: usize,
    /// λₜ.
    pub lam: &'a [f64],
    /// ẑₜ.
    pub z_hat: &'a [f64],
    /// The mixture's measurement.
    pub z_bar: &'a [f64],
    /// Its distance from the set.
    pub distance: f64,
    /// No policy comes closer to the set than this.
    pub lower_bound: f64,
    /// Steps taken in the world so far.
    pub samples: u64,
    /// The mixture as it is now.
    pub mixture: &'a dyn Fn() -> Mixed<P>,
    /// All that is needed to go on from here later.
    pub state: &'a dyn Fn() -> Result<Vec<u8>>,
}

/// Watches a solver: logs, progress bars and checkpoints live here.
pub trait Observer<P> {
    /// Called after every round; breaking stops the solver, which returns what it has.
    fn round(&mut self, round: &Round<P>) -> ControlFlow<()>;
}

/// Watches nothing.
impl<P> Observer<P> for () {
    fn round(&mut self, _: &Round<P>) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<P, F: FnMut(&Round<P>) -> ControlFlow<()>> Observer<P> for F {
    fn round(&mut self, round: &Round<P>) -> ControlFlow<()> {
        self(round)
    }
}
