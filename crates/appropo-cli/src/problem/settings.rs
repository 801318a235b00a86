//! The `[solve]` table.

use appropo::constraint::Target;
use appropo::measurement::Measures;
use appropo::oracle::Planner;
use appropo::solver::Goal;

use super::document::{Entry, Result, Table, suggestion};

/// How to solve.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Method {
    /// ApproPO with the oracle and player chosen.
    Appropo,
    /// One conic programme over occupancies.
    Occupancy,
}

/// Who chooses λ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum PlayerKind {
    /// The closest point of the hull of all answers.
    FullyCorrective,
    /// Online gradient descent on the lifted set.
    Ogd,
    /// The same with momentum 0.9.
    Momentum,
    /// The direction from the set to the mean of all answers.
    Blackwell,
}

/// Who answers λ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum OracleKind {
    /// Planning in the known model.
    Exact,
    /// Planning in a model learnt by playing.
    Model,
    /// Advantage actor-critic.
    A2c,
    /// Proximal policy optimisation.
    Ppo,
    /// Action values in a table.
    QLearning,
}

/// The settings of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    pub method: Method,
    /// `None`: planning where the model is known, else PPO.
    pub oracle: Option<OracleKind>,
    pub player: PlayerKind,
    pub planner: Planner,
    pub goal: Goal,
    pub tolerance: f64,
    /// `None`: 1,000 for the corrective player, 20,000 for the others.
    pub rounds: Option<usize>,
    /// `None`: from Lemma 3.5.
    pub kappa: Option<f64>,
    /// `None`: from Theorem 3.3.
    pub eta: Option<f64>,
    pub decreasing: bool,
    /// For a player whose oracle learns: measurements, in the target's units, that its first λ leads away from.
    pub anchor: Option<Vec<f64>>,
    /// By how many standard errors the corrective player keeps away from the set's edge.
    pub caution: f64,
    /// The most steps to learn from.
    pub samples: u64,
    pub seed: u64,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            method: Method::Appropo,
            oracle: None,
            player: PlayerKind::FullyCorrective,
            planner: Planner::PolicyIteration,
            goal: Goal::Distance,
            tolerance: 1e-6,
            rounds: None,
            kappa: None,
            eta: None,
            decreasing: false,
            anchor: None,
            caution: 1.75,
            samples: 100_000,
            seed: 0,
        }
    }
}

pub const ORACLES: [(&str, OracleKind); 5] = [
    ("exact", OracleKind::Exact),
    ("model", OracleKind::Model),
    ("a2c", OracleKind::A2c),
    ("ppo", OracleKind::Ppo),
    ("q-learning", OracleKind::QLearning),
];

pub const PLAYERS: [(&str, PlayerKind); 4] = [
    ("fully-corrective", PlayerKind::FullyCorrective),
    ("ogd", PlayerKind::Ogd),
    ("momentum", PlayerKind::Momentum),
    ("blackwell", PlayerKind::Blackwell),
];

impl Settings {
    pub fn read(table: &Table, measures: &Measures, target: &Target) -> Result<Self> {
        let mut settings = Self::default();
        let positive =
            |key| table.get(key).map(|e| e.number_where(|n| n > 0.0, "a number above 0")).transpose();
        if let Some(entry) = table.get("method") {
            settings.method =
                entry.word(&[("appropo", Method::Appropo), ("occupancy", Method::Occupancy)])?;
        }
        if let Some(entry) = table.get("oracle") {
            settings.oracle = Some(entry.word(&ORACLES)?);
        }
        if let Some(entry) = table.get("player") {
            settings.player = entry.word(&PLAYERS)?;
        }
        if let Some(entry) = table.get("planner") {
            let planners = [
                ("policy-iteration", Planner::PolicyIteration),
                ("value-iteration", Planner::ValueIteration),
            ];
            settings.planner = entry.word(&planners)?;
        }
        if let Some(entry) = table.get("goal") {
            settings.goal =
                entry.word(&[("distance", Goal::Distance), ("feasibility", Goal::Feasibility)])?;
        }
        if let Some(entry) = table.get("steps") {
            settings.decreasing = entry.word(&[("constant", false), ("decreasing", true)])?;
        }
        if let Some(tolerance) = positive("tolerance")? {
            settings.tolerance = tolerance;
        }
        if let Some(entry) = table.get("caution") {
            settings.caution = entry.number_where(|n| n >= 0.0, "a number from 0")?;
        }
        settings.anchor = table.get("anchor").map(|e| anchor(&e, measures, target)).transpose()?;
        settings.kappa = positive("kappa")?;
        settings.eta = positive("eta")?;
        settings.rounds = table.get("rounds").map(|e| e.count(1)).transpose()?.map(|n| n as usize);
        if let Some(entry) = table.get("samples") {
            settings.samples = entry.count(1)?;
        }
        settings.seed = table.get("seed").map_or(Ok(0), |e| e.count(0))?;
        table.finish()?;
        Ok(settings)
    }
}

/// Measurements by name; those not named are 0.
fn anchor(entry: &Entry, measures: &Measures, target: &Target) -> Result<Vec<f64>> {
    let mut z = vec![0.0; measures.dim()];
    for named in entry.table()?.entries() {
        let Ok(range) = measures.range(&named.key) else {
            let known = measures.iter().map(|(name, _)| name);
            return Err(named.mistake(format!("no such measure; {}", suggestion(&named.key, known))));
        };
        let numbers = if range.len() == 1 { vec![named.number()?] } else { named.numbers()? };
        if numbers.len() != range.len() {
            return Err(named.mistake(format!("found {} numbers, expected {}", numbers.len(), range.len())));
        }
        z[range].copy_from_slice(&numbers);
    }
    Ok(target.selection().apply(&z))
}
