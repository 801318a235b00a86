use std::sync::Arc;

use super::objective::conclude_objective;
use super::{Budget, Method, MethodEntry, Task};
use crate::certificate::{Ceiling, Certificate};
use crate::env::{Space, Status};
use crate::error::{Error, Result, in_range, not_too_large};
use crate::evaluate::{Judge, exact_measurement};
use crate::options::{Key, Kind, Options, Range, Table, options, words};
use crate::outcome::Outcome;
use crate::policy::{Memory, Mixed, NetworkPolicy, Policy, TabularPolicy};
use crate::problem::Problem;
use crate::random::{self, Generator};
use crate::registry::with_options;
use crate::rl::{Cloning, Demonstrations, Episode, Occupancy};
use crate::solver::{Doubts, Observer, Phase, Progress, Solution, Stop};

/// Numbers of the episodes that a network learns from at most, for them to fit into memory.
const MOST_NUMBERS: usize = 1 << 30;

words! {
    /// What a distilled policy is.
    pub enum DistilledPolicy {
        /// computed in the known model, with exactly the mixture's measurements
        Table = "table",
        /// learnt from episodes of the mixture
        Network = "network",
    }
}

options! {
    /// The options of [`Distil`].
    pub struct DistilOptions {
        /// What the policy is; by default a table where the model is known, every policy of the mixture is one, and no net_arch is given.
        policy: Option<DistilledPolicy> = Kind::Word(DistilledPolicy::WORDS), optional "\"network\"";
        /// Units of each hidden layer; by default one layer of 128, or two of 64 where observations are numbers.
        net_arch: Option<Vec<usize>> = Kind::Counts(1, 100_000), optional "[64, 64]";
        /// The step size of the optimiser, halved after every pass that does not help.
        learning_rate: f64 = Kind::Number(Range::POSITIVE), defaulted "0.001";
        /// Rows of a step of the optimiser.
        batch_size: usize = Kind::Count(1, 10_000_000), defaulted "256";
        /// Passes over the episodes at most; they end as soon as episodes that are held out gain nothing.
        n_epochs: usize = Kind::Count(1, 100_000), defaulted "100";
    }
}

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: Distil::NAME,
    about: "one policy for the mixture of a run: what appropo distil writes",
    keys: &[Key::optional(
        Distil::NAME,
        Kind::Table(DistilOptions::KEYS),
        "{ net_arch = [64, 64] }",
        "How one policy is made of a mixture.",
    )],
    read: |given, _| match (given.get("oracle"), given.get("player")) {
        (Some(entry), _) => Err(entry.error("distilling asks no oracle; leave this key out")),
        (None, Some(entry)) => Err(entry.error("distilling has no player; leave this key out")),
        (None, None) => {
            let options = with_options(given.get(Distil::NAME), DistilOptions::KEYS, DistilOptions::read)?;
            Ok(Arc::new(Distil { options, source: None }))
        }
    },
};

/// One policy with the measurements of a mixture: π(a|s) = ρ(s, a)/ρ(s), where ρ is the mixture's occupancy (Altman 1999).
///
/// Where the model is known and the mixture's policies are tables, this is computed, with a table a step where there is a
/// horizon; proofs of the mixture's outcome hold on. Else a network learns the actions of the mixture's episodes by maximum
/// likelihood, a step t of an episode weighted by γᵗ, which has the same policy as its limit. It is judged like any result.
///
/// ```
/// use appropo::{constraint::Constraint, env::mars_rover, method::{Appropo, Budget, Distil}, problem::Problem};
///
/// # fn main() -> appropo::error::Result<()> {
/// let problem = Problem::builder(mars_rover::world("4x4", 0.05)?)
///     .discount(0.99)
///     .constraint(Constraint::at_most("failure", 0.3)?)
///     .constraint(Constraint::at_least("reward", -0.17)?)
///     .build()?;
/// let mixed = problem.solve(&Appropo::default(), &Budget::default(), 0, &mut ())?;
/// let one = problem.solve(&Distil::of(&mixed), &Budget::default(), 0, &mut ())?;
/// assert_eq!(one.mixture.parts().len(), 1);
/// assert!((one.measurements[0] - mixed.measurements[0]).abs() < 1e-9);
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Distil {
    options: DistilOptions,
    /// `None` where a file was read: it does not hold the mixture.
    source: Option<Source>,
}

/// What is known of a mixture.
#[derive(Debug, Clone)]
struct Source {
    mixture: Mixed,
    certificate: Certificate,
    ceiling: Option<Ceiling>,
}

impl Distil {
    pub(crate) const NAME: &str = "distil";

    /// Makes one policy of the mixture of an outcome.
    pub fn of(outcome: &Outcome) -> Self {
        let ceiling = outcome.objective.as_ref().and_then(|found| found.ceiling.clone());
        let (mixture, certificate) = (outcome.mixture.clone(), outcome.certificate.clone());
        let source = Some(Source { mixture, certificate, ceiling });
        Self { options: DistilOptions::default(), source }
    }

    /// The same with other options.
    pub fn options(self, options: DistilOptions) -> Self {
        Self { options, ..self }
    }

    /// These options with all that is left open filled in.
    fn in_force(&self, problem: &Problem) -> DistilOptions {
        let is_table = || match &self.source {
            Some(source) => exact_measurement(problem, &source.mixture).is_some(),
            None => problem.model().is_some(),
        };
        let policy = self.options.policy.unwrap_or_else(|| {
            if self.options.net_arch.is_none() && is_table() {
                DistilledPolicy::Table
            } else {
                DistilledPolicy::Network
            }
        });
        let net_arch = self.options.net_arch.clone().unwrap_or_else(|| match problem.env().observations() {
            Space::Discrete(_) => vec![128],
            Space::Continuous(_) => vec![64, 64],
        });
        self.options.clone().policy(policy).net_arch(net_arch)
    }

    fn is_table(&self, problem: &Problem) -> bool {
        self.in_force(problem).policy == Some(DistilledPolicy::Table)
    }

    /// The mixture and what is known of it, if it can be distilled.
    fn source(&self, problem: &Problem) -> Result<&Source> {
        let source = self.source.as_ref().ok_or(Error::Unsuitable {
            learner: "distil",
            needs: "the mixture of a run that has ended",
            instead: "\"appropo distil RUN\" or result.distil()",
        })?;
        let policies = source.mixture.parts().len();
        in_range("policies of the mixture", policies as f64, policies > 0, "1 or more")?;
        if self.is_table(problem) && exact_measurement(problem, &source.mixture).is_none() {
            return Err(no_table());
        }
        Ok(source)
    }

    /// A network that does what the mixture does, and the steps that were played for it.
    fn network(
        &self,
        problem: &Problem,
        mixture: &Mixed,
        budget: &Budget,
        rng: &mut Generator,
        observer: &mut dyn Observer,
    ) -> Result<(NetworkPolicy, u64)> {
        let DistilOptions { net_arch, learning_rate, batch_size, n_epochs, .. } = self.in_force(problem);
        let net_arch = net_arch.unwrap_or_default();
        let (demonstrations, samples) = demonstrate(problem, mixture, budget, rng, observer)?;
        let cloning = Cloning { net_arch, learning_rate, batch_size, n_epochs };
        let mut watch = || {
            if budget.stop.as_ref().is_some_and(|stop| stop()) {
                return Err(Error::Interrupted);
            }
            observer.progress(&progress(0, samples, budget))
        };
        Ok((cloning.learn(demonstrations, rng, &mut watch)?, samples))
    }
}

fn no_table() -> Error {
    Error::Unsuitable {
        learner: "distil.policy = \"table\"",
        needs: "a known model and a mixture of tables",
        instead: "\"network\"",
    }
}

/// The mixture's occupancy as one policy.
fn tabulated(problem: &Problem, mixture: &Mixed) -> Result<TabularPolicy> {
    let model = problem.model().ok_or_else(no_table)?;
    Occupancy::of_mixture(model, problem.discounting(), mixture)?.policy()
}

/// Plays episodes of the mixture until the samples are used up, and keeps every step.
fn demonstrate(
    problem: &Problem,
    mixture: &Mixed,
    budget: &Budget,
    rng: &mut Generator,
    observer: &mut dyn Observer,
) -> Result<(Demonstrations, u64)> {
    let (observations, actions) = (problem.env().observations(), problem.env().actions());
    let row = observations.entries() + actions.entries();
    let steps = budget.samples.try_into().unwrap_or(usize::MAX);
    not_too_large("the numbers of all episodes to learn from", &[steps, row], MOST_NUMBERS)?;
    let gamma = problem.discounting().gamma();
    let env = problem.environment(budget.stop.clone())?;
    let mut episode = Episode::new(env, gamma, problem.limit());
    let mut demonstrations = Demonstrations::new(observations, actions);
    let (mut memory, mut action) = (Memory::default(), vec![0.0; actions.entries()]);
    let (mut samples, mut episodes) = (0, 0);
    while samples < budget.samples {
        let Some(policy) = mixture.draw(rng) else { break };
        episode.start(rng)?;
        let mut weight = 1.0;
        while episode.status() == Status::Running {
            policy.act(episode.observation(), episode.steps(), rng, &mut memory, &mut action);
            demonstrations.add(episode.observation(), &action, weight);
            episode.step(&action, rng)?;
            weight *= gamma;
        }
        demonstrations.end_episode();
        samples += episode.steps() as u64;
        episodes += 1;
        observer.progress(&progress(episodes, samples, budget))?;
    }
    Ok((demonstrations, samples))
}

fn progress(episodes: usize, samples: u64, budget: &Budget) -> Progress<'static> {
    let of = budget.samples;
    Progress { phase: Phase::Learning, episodes, samples, of, open: &Vec::new, state: None }
}

impl Method for Distil {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        if self.source.is_some() {
            return self.source(problem).map(drop);
        }
        if self.is_table(problem) && problem.model().is_none() { Err(no_table()) } else { Ok(()) }
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let Task { budget, seed, observer, .. } = task;
        let Source { mixture, certificate, ceiling } = self.source(problem)?;
        let mut rng = random::generator(seed);
        let is_table = self.is_table(problem);
        let (mixture, samples, stop) = if is_table {
            (Mixed::one(tabulated(problem, mixture)?), 0, Stop::Reached)
        } else {
            let (policy, samples) = self.network(problem, mixture, budget, &mut rng, observer)?;
            (Mixed::one(policy), samples, Stop::Samples)
        };
        let certificate = Certificate { tolerance: budget.tolerance, ..certificate.clone() };
        let solution = Solution { mixture, certificate, rounds: 0, samples, doubts: Doubts::default(), stop };
        let mut outcome = Judge::new(problem, budget, &mut rng, observer).conclude(solution, is_table)?;
        outcome.seed = seed;
        // What bounds the mixture bounds every policy.
        conclude_objective(problem, &mut outcome, ceiling.clone(), 1.0)?;
        Ok(outcome)
    }

    fn table(&self, problem: &Problem, _: &Budget) -> Result<Table> {
        let mut table = Table::new([("method", ENTRY.name)]);
        table.set(ENTRY.name, Options::table(&self.in_force(problem)));
        Ok(table)
    }

    fn rounds(&self) -> Option<usize> {
        None
    }

    fn takes_averages(&self, problem: &Problem) -> bool {
        self.is_table(problem)
    }

    fn is_learning(&self, problem: &Problem) -> bool {
        !self.is_table(problem)
    }
}
