use std::collections::HashMap;
use std::sync::Arc;

use appropo::env::EnvSpec;
use appropo::method::{Budget, Method};
use appropo::options::Table;
use appropo::oracle::MakeOracle;
use appropo::problem::Problem;
use appropo::registry::Registry;
use appropo::set::SharedSet;
use appropo::utility::{Direction, Utility};

/// A problem and how to solve it, as a file states them.
#[derive(Debug, Clone)]
pub struct ProblemFile {
    /// The problem.
    pub problem: Problem,
    /// How to solve it.
    pub method: Arc<dyn Method>,
    /// What solving may take.
    pub budget: Budget,
    /// Where every random draw comes from.
    pub seed: u64,
    /// The table `[solve]` as it was given.
    pub settings: Table,
}

/// What a problem refers to that no file can hold: environments, sets and oracles of the calling program.
#[derive(Debug, Clone, Default)]
pub struct Externals {
    /// The environment "external".
    pub env: Option<EnvSpec>,
    /// The sets that constraints name as `custom`.
    pub sets: HashMap<String, SharedSet>,
    /// The oracle "external".
    pub oracle: Option<Arc<dyn MakeOracle>>,
    /// Whether sets that are not given are placeholders, whose projection is NaN, rather than errors.
    pub is_partial: bool,
}

/// Reads problem files.
#[derive(Debug, Clone, Default)]
pub struct Reader {
    /// What files can name.
    pub registry: Registry,
    /// What they refer to beyond themselves.
    pub externals: Externals,
    /// Settings in place of those of the table `[solve]`, some tables deep where they are tables.
    pub settings: Table,
    /// An objective in place of the file's.
    pub objective: Option<(Utility, Direction)>,
}
