//! A problem: an environment, how its measurements add up, what they must satisfy, and what is optimised.

use std::sync::Arc;

use crate::constraint::{Constraint, Target};
use crate::env::{EnvSpec, Environment, StopSignal, TabularMdp};
use crate::error::{Error, Result, in_range};
use crate::measurement::{Discounting, Measures};
use crate::method::{Budget, Method, Resume, Task};
use crate::oracle::{LIMIT, interruptible, outward};
use crate::outcome::Outcome;
use crate::rl::Quotient;
use crate::rl::workers::{Here, Host, Sampling, Workers};
use crate::solver::Observer;
pub use crate::utility::Direction;
use crate::utility::{Criterion, Utility};

/// Horizon times states times actions for which a plan still fits into memory.
const MOST_STAGES: usize = 200_000_000;

/// An environment, a discount, perhaps a horizon, the constraints on the expected long-term measurements, and an
/// objective where there is one.
#[derive(Debug, Clone)]
pub struct Problem {
    name: String,
    env: EnvSpec,
    discounting: Discounting,
    target: Target,
    objective: Option<Objective>,
}

/// What is optimised subject to the constraints.
#[derive(Debug, Clone)]
pub struct Objective {
    /// A measure, or a function of several.
    pub utility: Utility,
    /// Which way is better.
    pub direction: Direction,
    /// The entries of the measurement vector that it is about, each with a factor.
    pub entries: Vec<(usize, f64)>,
    /// What is maximised of them.
    pub criterion: Criterion,
}

impl Objective {
    fn new(utility: Utility, direction: Direction, measures: &Measures) -> Result<Self> {
        let (entries, criterion) = utility.bind(measures, direction)?;
        Ok(Self { utility, direction, entries, criterion })
    }

    /// What it is, in words.
    pub fn statement(&self) -> String {
        self.utility.statement()
    }

    /// Its value for the full measurement vector `z`.
    pub fn value(&self, z: &[f64]) -> f64 {
        let selected: Vec<f64> = self.entries.iter().map(|&(entry, factor)| factor * z[entry]).collect();
        self.direction.sign() * self.criterion.value(&selected)
    }

    /// Refuses all but one measure, for methods that take nothing else.
    pub fn one_measure(&self, method: &str) -> Result<()> {
        if self.criterion.is_last() {
            return Ok(());
        }
        Err(Error::Objective(format!(
            "{method} takes one measure as an objective; found {}; the methods \"appropo\", \"occupancy\", \"maxent\" and \
             \"batch\" take concave functions",
            self.statement()
        )))
    }
}

/// Collects what a problem is made of.
#[derive(Debug, Clone)]
pub struct ProblemBuilder {
    name: String,
    env: EnvSpec,
    discount: f64,
    horizon: Option<usize>,
    constraints: Vec<Constraint>,
    objective: Option<(Utility, Direction)>,
}

impl ProblemBuilder {
    /// What it is called in results.
    pub fn name(self, name: impl Into<String>) -> Self {
        Self { name: name.into(), ..self }
    }

    /// γ, from 0 to 1; 1 unless said. At 1 without a horizon every policy must end.
    pub fn discount(self, discount: f64) -> Self {
        Self { discount, ..self }
    }

    /// Steps after which an episode is cut off; without it episodes run until they end.
    pub fn horizon(self, horizon: impl Into<Option<usize>>) -> Self {
        Self { horizon: horizon.into(), ..self }
    }

    /// Adds a constraint.
    pub fn constraint(mut self, constraint: Constraint) -> Self {
        self.constraints.push(constraint);
        self
    }

    /// Adds constraints.
    pub fn constraints(mut self, constraints: impl IntoIterator<Item = Constraint>) -> Self {
        self.constraints.extend(constraints);
        self
    }

    /// Makes a measure, or a concave function of measures, as large as the constraints allow.
    pub fn maximize(self, utility: impl Into<Utility>) -> Self {
        Self { objective: Some((utility.into(), Direction::Maximize)), ..self }
    }

    /// Makes a measure, or a convex function of measures, as small as the constraints allow.
    pub fn minimize(self, utility: impl Into<Utility>) -> Self {
        Self { objective: Some((utility.into(), Direction::Minimize)), ..self }
    }

    /// The problem, if what it is made of fits together.
    pub fn build(self) -> Result<Problem> {
        let Self { name, env, discount, horizon, constraints, objective } = self;
        let discounting = Discounting::new(discount, horizon)?;
        if let Some(model) = env.model() {
            check_model(model, &discounting)?;
        }
        let target = Target::new(env.measures(), constraints)?;
        check_averages(env.measures(), &discounting, &target)?;
        let problem = Problem { name, env, discounting, target, objective: None };
        match objective {
            Some((utility, direction)) => problem.with_objective(utility, direction),
            None => {
                problem.check_finite()?;
                Ok(problem)
            }
        }
    }
}

fn check_model(model: &TabularMdp, discounting: &Discounting) -> Result<()> {
    match discounting.horizon() {
        None => Ok(()),
        Some(horizon) => {
            let (states, actions) = (model.states(), model.actions());
            let most = MOST_STAGES / (states * actions).max(1);
            let expected = format!(
                "at most {most} for a plan of {states} states and {actions} actions to fit into memory"
            );
            in_range("horizon", horizon as f64, horizon <= most, &expected)
        }
    }
}

/// Long-run averages are taken over all time.
fn check_averages(measures: &Measures, discounting: &Discounting, target: &Target) -> Result<()> {
    let Some(&entry) = measures.averages().first() else { return Ok(()) };
    let some = |entry: usize, found: String| Error::AverageOfSome { measure: measures.name_of(entry), found };
    if discounting.gamma() < 1.0 {
        return Err(some(entry, format!("discount {}", discounting.gamma())));
    }
    if let Some(horizon) = discounting.horizon() {
        return Err(some(entry, format!("a horizon of {horizon} steps")));
    }
    for constraint in target.constraints().iter().filter(|constraint| constraint.share) {
        for name in &constraint.measures {
            let mut entries = measures.range(name)?;
            if let Some(entry) = entries.find(|entry| measures.is_average(*entry)) {
                return Err(some(entry, format!("the constraint \"{}\" on its share", constraint.name)));
            }
        }
    }
    Ok(())
}

impl Problem {
    /// A problem in an environment: a [`World`](crate::env::World), a model, or any [`EnvSpec`].
    pub fn builder(env: impl Into<EnvSpec>) -> ProblemBuilder {
        ProblemBuilder {
            name: "problem".into(),
            env: env.into(),
            discount: 1.0,
            horizon: None,
            constraints: Vec::new(),
            objective: None,
        }
    }

    /// The same problem with another objective.
    pub fn with_objective(self, utility: impl Into<Utility>, direction: Direction) -> Result<Self> {
        let objective = Objective::new(utility.into(), direction, self.env.measures())?;
        let problem = Self { objective: Some(objective), ..self };
        problem.check_finite()?;
        Ok(problem)
    }

    /// Without discount and horizon, what can be measured for ever must be what the constraints or the objective mind.
    fn check_finite(&self) -> Result<()> {
        let is_total = self.discounting.gamma() == 1.0 && self.discounting.horizon().is_none();
        let Some(model) = self.env.model().filter(|_| is_total) else { return Ok(()) };
        let objective = self.objective.as_ref();
        let selection = self.target.selection_with(objective.map_or(&[], |objective| &objective.entries));
        let selected = model.select(&selection);
        let quotient = Quotient::of(&selected)?;
        let set = self.target.set();
        for (state, action, z) in &quotient.endless {
            let (constrained, optimized) = z.split_at(set.dim());
            let is_minded = outward(set, constrained).is_some()
                || match objective.map(|objective| objective.criterion.is_last()) {
                    Some(true) => optimized[0] < 0.0,
                    // What a function of several measures makes of them shows when it is planned for.
                    Some(false) => optimized.iter().any(|v| *v != 0.0),
                    None => false,
                };
            if !is_minded {
                let largest = |(_, a): &(usize, &f64), (_, b): &(usize, &f64)| a.abs().total_cmp(&b.abs());
                let entry = z.iter().enumerate().max_by(largest).map_or(0, |(i, _)| selection.entries[i].0);
                let measure = self.measures().name_of(entry);
                return Err(Error::Endless { measure, state: *state, action: *action });
            }
        }
        Ok(())
    }

    /// The same problem with nothing to optimise.
    pub fn without_objective(self) -> Self {
        Self { objective: None, ..self }
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The environment.
    pub fn env(&self) -> &EnvSpec {
        &self.env
    }

    /// What is measured.
    pub fn measures(&self) -> &Measures {
        self.env.measures()
    }

    /// How measurements add up along an episode.
    pub fn discounting(&self) -> &Discounting {
        &self.discounting
    }

    /// The constraints, and the set that they make up.
    pub fn target(&self) -> &Target {
        &self.target
    }

    /// What is optimised.
    pub fn objective(&self) -> Option<&Objective> {
        self.objective.as_ref()
    }

    /// Steps after which an episode is cut off in any case.
    pub fn limit(&self) -> usize {
        self.discounting.horizon().unwrap_or(LIMIT)
    }

    /// The environment to play in, with all its measures.
    pub fn environment(&self, stop: Option<StopSignal>) -> Result<Box<dyn Environment>> {
        let env = self.env.make(self.discounting.horizon())?;
        Ok(interruptible(env, &self.env, &self.discounting, stop))
    }

    /// A worker for it, which must have another number than all others of a run.
    pub fn host(&self, stop: Option<StopSignal>, number: u32) -> Host {
        let problem = self.clone();
        let make = move || problem.environment(stop.clone());
        Host::new(Box::new(make), self.discounting.gamma(), self.limit(), number)
    }

    /// The streams that learners play in, where a budget has some: its workers play them, or this process does.
    pub(crate) fn sampling(&self, budget: &Budget) -> Result<Option<Sampling>> {
        let Some(num_envs) = budget.num_envs else { return Ok(None) };
        let here = || Arc::new(Here::new(self.host(budget.stop.clone(), 0))) as Arc<dyn Workers>;
        Sampling::new(num_envs, budget.players().unwrap_or_else(here)).map(Some)
    }

    /// Each constraint in words, such as "safety: failure at most 0.2".
    pub fn statements(&self) -> impl Iterator<Item = String> {
        self.target.constraints().iter().map(|constraint| {
            let per_step = if constraint.share { " per step" } else { "" };
            let measures = constraint.measures.join(", ");
            format!("{}: {measures}{per_step} {}", constraint.name, constraint.requirement())
        })
    }

    /// Solves the problem: searches for a mixed policy by `method` within the budget, evaluates what was found, and says
    /// what that proves. Every random draw comes from the seed.
    ///
    /// ```
    /// use appropo::{constraint::Constraint, env::mars_rover, method::{Appropo, Budget}, oracle::Learned, problem::Problem};
    /// use appropo::rl::actor_critic::PpoOptions;
    ///
    /// # fn main() -> appropo::error::Result<()> {
    /// let problem = Problem::builder(mars_rover::world("4x4", 0.05)?)
    ///     .discount(0.99)
    ///     .constraint(Constraint::at_most("failure", 0.3)?)
    ///     .constraint(Constraint::at_least("reward", -0.17)?)
    ///     .build()?;
    /// let method = Appropo::default().oracle(Learned::by(PpoOptions::default().learning_rate(2e-3)));
    /// let outcome = problem.solve(&method, &Budget::samples(30_000), 0, &mut ())?;
    /// println!("{} after {} samples", outcome.sentence(), outcome.samples);
    /// # Ok(())
    /// # }
    /// ```
    pub fn solve(
        &self,
        method: &dyn Method,
        budget: &Budget,
        seed: u64,
        observer: &mut dyn Observer,
    ) -> Result<Outcome> {
        self.resume(method, budget, seed, None, observer)
    }

    /// [`solve`](Self::solve) from where [`Round::state`](crate::solver::Round::state) was taken, or from the beginning
    /// where it was not: the outcome is bit for bit that of a solve that was never interrupted.
    pub fn resume(
        &self,
        method: &dyn Method,
        budget: &Budget,
        seed: u64,
        from: impl Into<Option<Resume>>,
        observer: &mut dyn Observer,
    ) -> Result<Outcome> {
        if self.target.constraints().is_empty() && self.objective.is_none() {
            return Err(Error::Objective("the problem has no constraint and no objective; add one".into()));
        }
        budget.check()?;
        self.check(method)?;
        method.run(self, Task { budget, seed, from: from.into(), observer })
    }

    /// Whether a method can solve it; the error says what to use instead.
    pub fn check(&self, method: &dyn Method) -> Result<()> {
        if self.env.logged().is_some() && method.is_playing() {
            return Err(Error::OnlyLogged);
        }
        if let Some(&entry) = self.measures().averages().first()
            && !method.takes_averages(self)
        {
            let measure = self.measures().name_of(entry);
            let found = match method.name() {
                "appropo" => "another oracle".into(),
                name => format!("the method \"{name}\""),
            };
            return Err(Error::AverageBy { measure, found });
        }
        method.check(self)
    }

    pub(crate) fn model(&self) -> Option<&Arc<TabularMdp>> {
        self.env.model()
    }
}
