use std::fmt;
use std::ops::ControlFlow;
use std::time::Duration;

use crate::error::Result;
use crate::policy::Mixed;
use crate::state::{Loader, Saver};

/// What a round left behind.
#[derive(Clone, Copy)]
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
    /// Steps taken in the environment so far.
    pub samples: u64,
    /// The largest value of the objective so far with the constraints held, where one is maximised and some is known.
    pub objective: Option<f64>,
    /// How long the oracle has taken for its answers so far.
    pub responding: Duration,
    /// The mixture as it is now.
    pub mixture: &'a dyn Fn() -> Mixed,
    /// All that is needed to go on from here later, and after how many rounds that is.
    pub state: &'a dyn Fn() -> Result<(usize, Vec<u8>)>,
}

impl fmt::Debug for Round<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { round, distance, samples, .. } = self;
        f.debug_struct("Round")
            .field("round", round)
            .field("distance", distance)
            .field("samples", samples)
            .finish_non_exhaustive()
    }
}

/// What takes its steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The oracle, on the way to its next answer.
    Learning,
    /// Fresh episodes of what was found.
    Evaluation,
}

/// How far a part of a solve has got that takes steps for long.
#[derive(Clone, Copy)]
pub struct Progress<'a> {
    /// Which part.
    pub phase: Phase,
    /// Episodes played in it; 0 where they are not counted.
    pub episodes: usize,
    /// Steps taken in it.
    pub samples: u64,
    /// Steps that it may take in all.
    pub of: u64,
    /// The constraints that are not decided yet, by name.
    pub open: &'a dyn Fn() -> Vec<String>,
    /// All that is needed to go on from here later, and after how many rounds that is, where it can be saved.
    pub state: Option<&'a dyn Fn() -> Result<(usize, Vec<u8>)>>,
}

impl fmt::Debug for Progress<'_> {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Self { phase, episodes, samples, of, .. } = self;
        f.debug_struct("Progress")
            .field("phase", phase)
            .field("episodes", episodes)
            .field("samples", samples)
            .field("of", of)
            .finish_non_exhaustive()
    }
}

/// Judgements of what a search had found that were not sure enough.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Doubts {
    /// How many.
    pub count: usize,
    /// How many of them were evaluations.
    pub evaluations: usize,
    /// The steps they took.
    pub samples: u64,
}

/// What fresh episodes say of a mixture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Judgement {
    /// Whether it surely lies in the set.
    pub is_inside: bool,
    /// Whether they were an evaluation, and not only a look beforehand.
    pub is_evaluation: bool,
    /// The steps they took.
    pub samples: u64,
}

/// Watches a solver: logs, progress bars and checkpoints live here.
pub trait Observer {
    /// Called after every round. Breaking ends the search, and what it has is evaluated as ever; an error ends the solve
    /// with what it has as it is.
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>>;

    /// Called now and then within what takes long, often for nothing new. An error ends the solve as that of a round does.
    fn progress(&mut self, _progress: &Progress) -> Result<()> {
        Ok(())
    }

    /// Called with a learnt mixture that should be what is asked for, after so many doubts. Unless it surely is, the search
    /// goes on. `None` where no one judges: then the search confirms it by itself. Who watches a whole solve is not asked.
    fn judge(&mut self, _mixture: &Mixed, _doubts: &Doubts) -> Result<Option<Judgement>> {
        Ok(None)
    }
}

impl Doubts {
    /// Counts a judgement that did not decide; whether it did.
    pub(super) fn take(&mut self, judgement: Judgement) -> bool {
        if !judgement.is_inside {
            self.count += 1;
            self.evaluations += usize::from(judgement.is_evaluation);
            self.samples = self.samples.saturating_add(judgement.samples);
        }
        judgement.is_inside
    }

    pub(super) fn save(&self, to: &mut Saver) {
        to.put(&(self.count, self.evaluations));
        to.put(&self.samples);
    }

    pub(super) fn load(from: &mut Loader) -> Result<Self> {
        let mut count = || from.get_count("a number of doubts");
        Ok(Self { count: count()?, evaluations: count()?, samples: from.get()? })
    }
}

impl fmt::Debug for dyn Observer + '_ {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str("Observer")
    }
}

/// Watches nothing.
impl Observer for () {
    fn round(&mut self, _: &Round) -> Result<ControlFlow<()>> {
        Ok(ControlFlow::Continue(()))
    }
}

/// Several observers, in order; any of them can end the search.
#[derive(Debug, Default)]
pub struct Observers<'a>(pub Vec<&'a mut dyn Observer>);

impl Observer for Observers<'_> {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        let mut flow = ControlFlow::Continue(());
        for observer in &mut self.0 {
            if observer.round(round)?.is_break() {
                flow = ControlFlow::Break(());
            }
        }
        Ok(flow)
    }

    fn progress(&mut self, progress: &Progress) -> Result<()> {
        self.0.iter_mut().try_for_each(|observer| observer.progress(progress))
    }
}

impl<F: FnMut(&Round) -> ControlFlow<()>> Observer for F {
    fn round(&mut self, round: &Round) -> Result<ControlFlow<()>> {
        Ok(self(round))
    }
}
