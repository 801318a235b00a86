//! Whether fresh episodes put a mixture into a set.

use crate::measurement::Estimate;
use crate::set::{ConvexSet, Errors, SharedSet, holds};
use crate::vector;

/// Episodes before which a mixture is not given up.
const FIRST_LOOK: usize = 3;
/// Standard errors outside the set at which it is.
const HOPELESS: f64 = 0.5;
/// Unseen episodes, as far out as the furthest that was seen, that fresh ones do not rule out.
const UNSEEN: f64 = 3.0;

/// Whether more fresh episodes may put their mean into the set.
pub(crate) fn gives_hope(fresh: &Estimate, set: &SharedSet) -> bool {
    let (mean, spread) = fresh.with_spread();
    let error = vector::norm(&spread.deviations) / spread.episodes.sqrt();
    fresh.count() < FIRST_LOOK || set.distance(&mean) <= HOPELESS * error
}

/// Whether fresh episodes put their mean into the set by so many standard errors, if their deviations are at least these:
/// what is rare may not have happened yet.
pub(crate) fn is_sure(
    fresh: &Estimate,
    errors: f64,
    deviations: &[f64],
    set: &SharedSet,
    tolerance: f64,
) -> bool {
    let (mean, spread) = fresh.with_spread();
    let error = |(seen, least): (&f64, &f64)| errors * seen.max(*least) / spread.episodes.sqrt();
    let errors = spread.deviations.iter().zip(deviations).map(error).collect();
    holds(set, &mean, &Errors::Standard(errors), tolerance)
}

/// How much fresh episodes may differ, entry by entry.
pub(crate) fn least_deviations(fresh: &Estimate) -> Vec<f64> {
    let deviation = |entry| {
        let (least, largest) = fresh.range(entry);
        let unseen = UNSEEN * (largest - least).powi(2);
        ((fresh.squares(entry) + unseen) / fresh.count() as f64).sqrt()
    };
    (0..fresh.dim()).map(deviation).collect()
}
