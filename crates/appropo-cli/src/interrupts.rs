//! Ctrl-C and termination signals: the first ends a run at the end of its round, the second the program at once.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// How often the user asked to stop.
static STOPS: AtomicUsize = AtomicUsize::new(0);

/// When someone first asked to stop.
static STOPPED: OnceLock<Instant> = OnceLock::new();

/// How long a round may go on after someone asked to stop.
const PATIENCE: Duration = Duration::from_secs(2);

/// Whether someone asked to stop.
pub fn was_interrupted() -> bool {
    STOPS.load(Ordering::Relaxed) > 0
}

/// Whether someone asked to stop so long ago that a round is not worth waiting for.
pub fn is_out_of_patience() -> bool {
    STOPPED.get().is_some_and(|since| since.elapsed() > PATIENCE)
}

/// From now on Ctrl-C ends a run at the end of its round, or soon after; a second one ends the program at once.
pub fn catch() {
    let handler = || {
        if STOPS.fetch_add(1, Ordering::Relaxed) > 0 {
            std::process::exit(130);
        }
        STOPPED.get_or_init(Instant::now);
        eprintln!("\nstopping; press Ctrl-C again to stop at once");
    };
    // Without a handler Ctrl-C kills the run, which it survives as well.
    let _ = ctrlc::set_handler(handler);
}
