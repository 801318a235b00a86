//! The `[solve]` table.

use appropo::measurement::Measures;
use appropo::oracle::Planner;
use appropo::set::ConvexSet;
use appropo::solver::Goal;
use appropo::theory;

use super::document::{Entry, Table};
use super::scene::Scene;
use super::source::{Result, suggestion};

/// δ of Lemma 3.5: how much farther the set may be than its cone, at the default κ.
const DELTA: f64 = 0.5;
/// κ of the paper's experiments, for worlds whose measurements have no known bound.
const PAPER_KAPPA: f64 = 20.0;

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
    /// Another program's.
    #[value(skip)]
    Outside,
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
    /// For a player whose oracle learns: measurements of the world that its first λ leads away from.
    pub anchor: Option<Vec<f64>>,
    /// By how many standard errors the corrective player keeps away from the set's edge.
    pub caution: f64,
    /// The most steps to learn from.
    pub samples: u64,
    pub seed: u64,
}

pub const ORACLES: [(&str, OracleKind); 6] = [
    ("exact", OracleKind::Exact),
    ("model", OracleKind::Model),
    ("a2c", OracleKind::A2c),
    ("ppo", OracleKind::Ppo),
    ("q-learning", OracleKind::QLearning),
    ("outside", OracleKind::Outside),
];

pub const PLAYERS: [(&str, PlayerKind); 4] = [
    ("fully-corrective", PlayerKind::FullyCorrective),
    ("ogd", PlayerKind::Ogd),
    ("momentum", PlayerKind::Momentum),
    ("blackwell", PlayerKind::Blackwell),
];

pub const METHODS: [(&str, Method); 2] = [("appropo", Method::Appropo), ("occupancy", Method::Occupancy)];

pub const PLANNERS: [(&str, Planner); 2] =
    [("policy-iteration", Planner::PolicyIteration), ("value-iteration", Planner::ValueIteration)];

pub const GOALS: [(&str, Goal); 2] = [("distance", Goal::Distance), ("feasibility", Goal::Feasibility)];

/// Whether step sizes decrease.
pub const STEPS: [(&str, bool); 2] = [("constant", false), ("decreasing", true)];

impl Settings {
    pub fn read(table: &Table, world: &Scene) -> Result<Self> {
        let number = |key| table.get(key).map(|entry| entry.number()).transpose();
        let settings = Self {
            method: table.word("method", &METHODS)?,
            oracle: table.get("oracle").map(|_| table.word("oracle", &ORACLES)).transpose()?,
            player: table.word("player", &PLAYERS)?,
            planner: table.word("planner", &PLANNERS)?,
            goal: table.word("goal", &GOALS)?,
            tolerance: table.number("tolerance")?,
            rounds: table.get("rounds").map(|_| table.count("rounds")).transpose()?.map(|n| n as usize),
            kappa: number("kappa")?,
            eta: number("eta")?,
            decreasing: table.word("steps", &STEPS)?,
            anchor: table.get("anchor").map(|entry| anchor(&entry, &world.measures())).transpose()?,
            caution: table.number("caution")?,
            samples: table.count("samples")?,
            seed: table.count("seed")?,
        };
        // Of a world that is not here a file can't tell whether it has a model.
        let is_here = !matches!(world, Scene::Outside(outside) if outside.make.is_none());
        if let (Some(oracle), Some(entry), true) = (settings.oracle, table.get("oracle"), is_here) {
            if settings.method == Method::Occupancy {
                return Err(entry.mistake("the occupancy method asks no oracle; leave this key out"));
            }
            let counts = matches!(oracle, OracleKind::Exact | OracleKind::Model | OracleKind::QLearning);
            if counts && !world.is_countable() {
                let mut mistake = "this world has no states to count; write \"ppo\" or \"a2c\"".to_owned();
                if matches!(world, Scene::Outside(_)) {
                    mistake += match oracle {
                        OracleKind::Exact => {
                            ", or give the environment a table P of probabilities to plan in"
                        }
                        _ => ", or wrap the environment so that observations and actions are Discrete",
                    };
                }
                return Err(entry.mistake(mistake));
            }
            if oracle == OracleKind::Exact && world.model().is_none() {
                let mistake = "this world has no model to plan in, such as a table P of probabilities; write \"model\", \
                               \"ppo\", \"a2c\" or \"q-learning\"";
                return Err(entry.mistake(mistake));
            }
        }
        if let (Method::Occupancy, None, Some(entry), true) =
            (settings.method, world.model(), table.get("method"), is_here)
        {
            return Err(entry.mistake("this world has no model to state a programme of; write \"appropo\""));
        }
        Ok(settings)
    }

    /// The oracle in force: planning where the model is known, else PPO.
    pub fn oracle_for(&self, world: &Scene) -> OracleKind {
        let default = if world.model().is_some() { OracleKind::Exact } else { OracleKind::Ppo };
        self.oracle.unwrap_or(default)
    }

    /// The rounds in force: the corrective player needs few.
    pub fn most_rounds(&self) -> usize {
        self.rounds.unwrap_or(if self.player == PlayerKind::FullyCorrective { 1000 } else { 20_000 })
    }

    /// The momentum of the player, where it descends gradients.
    pub fn momentum(&self) -> Option<f64> {
        match self.player {
            PlayerKind::Ogd => Some(0.0),
            PlayerKind::Momentum => Some(0.9),
            _ => None,
        }
    }

    /// κ and η in force. `radius` bounds the measurements of all policies, where that is known.
    pub fn gains(&self, set: &dyn ConvexSet, radius: Option<f64>, rounds: usize) -> (f64, f64) {
        let kappa = self.kappa.unwrap_or_else(|| match set.radius().filter(|r| *r > 0.0).or(radius) {
            Some(radius) => theory::kappa(radius, DELTA).max(1e-6),
            None => PAPER_KAPPA,
        });
        // Momentum multiplies a constant gain by 1/(1 − 0.9).
        let gradient_bound = radius.unwrap_or(kappa).hypot(kappa) / (1.0 - self.momentum().unwrap_or(0.0));
        let eta = self.eta.unwrap_or_else(|| match self.decreasing {
            false => theory::step_size(gradient_bound, rounds),
            true => 1.0 / gradient_bound,
        });
        (kappa, eta)
    }
}

/// Measurements by name; those not named are 0.
fn anchor(entry: &Entry, measures: &Measures) -> Result<Vec<f64>> {
    let mut z = vec![0.0; measures.dim()];
    for named in entry.open_table()?.entries() {
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
    Ok(z)
}
