use std::sync::Arc;

use super::{Exact, Planner, Respond, Response};
use crate::env::dataset::Empirical;
use crate::error::Result;
use crate::measurement::{Discounting, Selection};
use crate::policy::{AnyPolicy, Mixed, TabularPolicy};
use crate::state::{Checkpoint, Loader, Saver, misfit};

/// Best responses in the model that logs make: fitted Q iteration with a table, and fitted Q evaluation of what it finds, both
/// run to their end. What it proves, it proves of that model only.
#[derive(Debug)]
pub struct LoggedTable {
    empirical: Arc<Empirical>,
    exact: Exact,
    /// Plans, and the policies that carry them out by actions that were logged.
    known: Vec<(Arc<AnyPolicy>, Arc<AnyPolicy>)>,
}

impl LoggedTable {
    /// For what λ weighs. At discount 1 there must be a horizon.
    pub fn new(empirical: Arc<Empirical>, selection: &Selection, discounting: Discounting) -> Result<Self> {
        let model = empirical.model(|_| 1.0)?.select(selection);
        let exact = Exact::new(model, discounting, Planner::PolicyIteration)?;
        Ok(Self { empirical, exact, known: Vec::new() })
    }

    fn carried_out(&mut self, plan: &Arc<AnyPolicy>) -> Result<Arc<AnyPolicy>> {
        if let Some((_, policy)) = self.known.iter().find(|(known, _)| Arc::ptr_eq(known, plan)) {
            return Ok(Arc::clone(policy));
        }
        let policy = Arc::new(by_logged_actions(&self.empirical, plan)?.into());
        self.known.push((Arc::clone(plan), Arc::clone(&policy)));
        Ok(policy)
    }
}

/// The policy that does what a plan does, and where nothing was logged anything.
fn by_logged_actions(empirical: &Empirical, plan: &AnyPolicy) -> Result<TabularPolicy> {
    let (states, actions) = (empirical.states(), empirical.actions());
    let planned = plan.as_table().ok_or(crate::error::Error::NoTable)?;
    let chosen = |stage: usize, state: usize| empirical.taken(state, planned.most_likely(stage, state));
    let rows = || (0..planned.stages()).flat_map(|stage| (0..states).map(move |state| (stage, state)));
    let certain: Option<Vec<u32>> =
        rows().map(|(stage, state)| chosen(stage, state).map(|action| action as u32)).collect();
    if let Some(table) = certain {
        return TabularPolicy::deterministic(states, actions, table);
    }
    let mut table = Vec::with_capacity(planned.stages() * states * actions);
    for (stage, state) in rows() {
        let chosen = chosen(stage, state);
        table.extend((0..actions).map(|action| match chosen {
            Some(chosen) => f64::from(chosen == action),
            None => 1.0 / actions as f64,
        }));
    }
    TabularPolicy::stochastic(states, actions, table)
}

impl Respond for LoggedTable {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        let response = self.exact.respond(lam, offset)?;
        let plan = response.policy.parts().first().map(|(_, plan)| Arc::clone(plan));
        let plan = plan.ok_or(crate::error::Error::NoTable)?;
        Ok(Response { policy: Mixed::shared(self.carried_out(&plan)?), ..response })
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Table(policy)
            if (policy.states(), policy.actions()) == (self.empirical.states(), self.empirical.actions()))
    }
}

impl Checkpoint for LoggedTable {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.exact.save(to)?;
        to.put(&self.known.len());
        for (plan, policy) in &self.known {
            to.put_shared(plan);
            to.put_shared(policy);
        }
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.exact.load(from)?;
        self.known.clear();
        for _ in 0..from.get_length()? {
            let (plan, policy) = (from.get_shared()?, from.get_shared()?);
            if !self.exact.fits(&plan) || !self.fits(&policy) {
                return Err(misfit("a policy is for another world"));
            }
            self.known.push((plan, policy));
        }
        Ok(())
    }
}
