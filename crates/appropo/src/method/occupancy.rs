use std::sync::Arc;

use super::objective::{about_constraints, conclude_objective, plannable};
use super::{Budget, Method, MethodEntry, Task};
use crate::baseline::{Programme, maximize_occupancy, solve_occupancy};
use crate::certificate::Verdict;
use crate::error::Result;
use crate::evaluate::Judge;
use crate::options::Table;
use crate::outcome::Outcome;
use crate::policy::Mixed;
use crate::problem::{Objective, Problem};
use crate::random;
use crate::solver::{Doubts, Solution, Stop};

pub(super) static ENTRY: MethodEntry = MethodEntry {
    name: "occupancy",
    about: "one conic programme, solved by Clarabel",
    keys: &[],
    read: |given, _| match (given.get("oracle"), given.get("player")) {
        (Some(entry), _) => Err(entry.error("the occupancy method asks no oracle; leave this key out")),
        (None, Some(entry)) => Err(entry.error("the occupancy method has no player; leave this key out")),
        (None, None) => Ok(Arc::new(Occupancy)),
    },
};

/// One conic programme over occupancies (Altman 1999), in a known model.
#[derive(Debug, Clone, Copy, Default)]
pub struct Occupancy;

impl Occupancy {
    fn solve(&self, problem: &Problem, tolerance: f64) -> Result<Solution> {
        let model = plannable(problem)?.select(problem.target().selection());
        let programme = solve_occupancy(problem.target().set(), &model, problem.discounting(), tolerance)?;
        Ok(Solution {
            mixture: Mixed::one(programme.policy.as_ref().clone()),
            certificate: programme.certificate,
            rounds: 0,
            samples: 0,
            doubts: Doubts::default(),
            stop: Stop::Reached,
        })
    }

    fn optimize(&self, problem: &Problem, objective: &Objective, tolerance: f64) -> Result<Solution> {
        let selection = problem.target().selection_with(&objective.entries);
        let model = plannable(problem)?.select(&selection);
        let set = problem.target().set();
        let criterion = &objective.criterion;
        let found = maximize_occupancy(set, criterion, &model, problem.discounting(), tolerance);
        let (mixture, certificate) = match found {
            Ok(Programme { policy, certificate, .. }) => (Mixed::one(policy.as_ref().clone()), certificate),
            // The solver says only that there is no point; the least distance says how far off the problem is.
            Err(error) => {
                let nearest = self.solve(problem, tolerance)?;
                if nearest.certificate.verdict != Verdict::Infeasible {
                    return Err(error);
                }
                return Ok(nearest);
            }
        };
        Ok(about_constraints(
            Solution {
                mixture,
                certificate,
                rounds: 0,
                samples: 0,
                doubts: Doubts::default(),
                stop: Stop::Reached,
            },
            set.dim(),
        ))
    }
}

impl Method for Occupancy {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn check(&self, problem: &Problem) -> Result<()> {
        plannable(problem).map(drop)
    }

    fn run(&self, problem: &Problem, task: Task) -> Result<Outcome> {
        let Task { budget, seed, observer, .. } = task;
        let solution = match problem.objective() {
            Some(objective) => self.optimize(problem, objective, budget.tolerance)?,
            None => self.solve(problem, budget.tolerance)?,
        };
        let rng = &mut random::generator(seed);
        let mut outcome = Judge::new(problem, budget, rng, observer).conclude(solution, true)?;
        outcome.seed = seed;
        conclude_objective(problem, &mut outcome, None, 1.0)?;
        Ok(outcome)
    }

    fn table(&self, _: &Problem, _: &Budget) -> Result<Table> {
        Ok(Table::new([("method", ENTRY.name)]))
    }

    fn rounds(&self) -> Option<usize> {
        None
    }

    fn is_learning(&self, _: &Problem) -> bool {
        false
    }
}
