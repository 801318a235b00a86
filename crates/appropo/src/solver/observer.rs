use std::ops::ControlFlow;

/// What a round left behind.
#[derive(Debug, Clone, Copy)]
pub struct Round<'a> {
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
}

/// Watches a solver: logs, progress bars and checkpoints live here.
pub trait Observer {
    /// Called after every round; breaking stops the solver, which returns what it has.
    fn round(&mut self, round: &Round) -> ControlFlow<()>;
}

/// Watches nothing.
impl Observer for () {
    fn round(&mut self, _: &Round) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl<F: FnMut(&Round) -> ControlFlow<()>> Observer for F {
    fn round(&mut self, round: &Round) -> ControlFlow<()> {
        self(round)
    }
}
