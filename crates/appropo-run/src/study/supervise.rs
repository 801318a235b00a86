//! Threads that draw from a study, and who watches them.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::attempt::{Stops, solve};
use super::draw::{Drawer, Drawn, Patience};
use super::progress::{Count, Progress};
use super::{Claim, Job, Machine, Study};
use crate::error::Result;

/// How long a run may go on after it was asked to stop at its next checkpoint.
const GRACE: Duration = Duration::from_secs(2);
/// How often the watcher is asked whether to go on.
const TICK: Duration = Duration::from_millis(20);
/// How often runs are counted, at the most.
const COUNTED: Duration = Duration::from_millis(500);

/// How runs are drawn from a study.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Runs at a time; 0 for as many as there are processors.
    pub threads: usize,
    /// Time between checkpoints of a run.
    pub checkpoint_every: Duration,
    /// When runs of others are taken over.
    pub patience: Patience,
}

impl Default for Options {
    fn default() -> Self {
        Self { threads: 0, checkpoint_every: Duration::from_secs(60), patience: Patience::default() }
    }
}

/// Plans these solves, and draws from them until all have ended, here or elsewhere. `watch` is told how far the study is
/// and says whether to go on; where it does not, runs write a checkpoint and end. Returns how far the study is in the end.
pub fn run(
    study: &Study,
    jobs: &[Job],
    options: &Options,
    watch: &mut dyn FnMut(&Progress) -> ControlFlow<()>,
) -> Result<Progress> {
    jobs.iter().try_for_each(|job| study.add(&job.planned))?;
    let names: Vec<_> = jobs.iter().map(|job| job.planned.name()).collect();
    let (start, stops) = (Instant::now(), Stops::default());
    let patience = options.patience;
    let drawer = Drawer::new(study, names.clone(), Machine::this(), patience, move || start.elapsed())?;
    let drawer = Mutex::new(drawer);
    let mut count = Count::new(study, names);
    let processors = thread::available_parallelism().map_or(1, usize::from);
    let threads = if options.threads == 0 { processors } else { options.threads };
    let drawn = thread::scope(|scope| {
        let draw = || {
            let drawn = draw(&drawer, jobs, options, &stops);
            if drawn.is_err() {
                // What stops one run from being written stops all.
                stops.soon.store(true, Ordering::Relaxed);
            }
            drawn
        };
        let threads: Vec<_> = (0..threads.clamp(1, jobs.len().max(1))).map(|_| scope.spawn(draw)).collect();
        let (mut progress, mut counted, mut stopped) = (count.now(Duration::ZERO), Instant::now(), None);
        let mut cost = Duration::ZERO;
        while threads.iter().any(|thread| !thread.is_finished()) {
            thread::sleep(TICK);
            if counted.elapsed() >= COUNTED.max(20 * cost) {
                counted = Instant::now();
                progress = count.now(start.elapsed());
                cost = counted.elapsed();
            }
            let goes_on = progress.as_ref().map_or(ControlFlow::Continue(()), &mut *watch);
            if goes_on.is_break() {
                stops.soon.store(true, Ordering::Relaxed);
                let since = *stopped.get_or_insert_with(Instant::now);
                stops.now.fetch_or(since.elapsed() > GRACE, Ordering::Relaxed);
            }
        }
        threads.into_iter().try_for_each(|thread| match thread.join() {
            Ok(drawn) => drawn,
            Err(panic) => std::panic::resume_unwind(panic),
        })
    });
    drawn?;
    count.now(start.elapsed())
}

/// Draws and solves one run after the other.
fn draw(drawer: &Mutex<Drawer>, jobs: &[Job], options: &Options, stops: &Stops) -> Result<()> {
    let expire_after = options.patience.expire_after;
    let pause = (expire_after / 20).clamp(Duration::from_millis(10), Duration::from_secs(1));
    while !stops.soon.load(Ordering::Relaxed) {
        let next = drawer.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).draw()?;
        match next {
            Drawn::Over => break,
            Drawn::Wait => {
                let since = Instant::now();
                while since.elapsed() < pause && !stops.soon.load(Ordering::Relaxed) {
                    thread::sleep(pause.min(TICK));
                }
            }
            Drawn::Claimed(i, claim) => renewed(&claim, expire_after / 6, |is_lost| {
                solve(&claim, &jobs[i], options.checkpoint_every, stops, is_lost)
            })?,
        }
    }
    Ok(())
}

/// Renews a claim every so often while something is done, which is told once another has taken over.
fn renewed<T>(claim: &Claim, every: Duration, work: impl FnOnce(&Arc<AtomicBool>) -> T) -> T {
    let is_lost = Arc::new(AtomicBool::new(false));
    thread::scope(|scope| {
        let (working, is_working) = channel::<()>();
        let lost = Arc::clone(&is_lost);
        scope.spawn(move || {
            while let Err(RecvTimeoutError::Timeout) = is_working.recv_timeout(every) {
                if claim.is_lost() {
                    return lost.store(true, Ordering::Relaxed);
                }
                // What fails now may do better next time; if it never does, the claim is lost.
                let _ = claim.renew();
            }
        });
        let done = work(&is_lost);
        drop(working);
        done
    })
}
