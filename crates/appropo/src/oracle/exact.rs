use std::collections::HashMap;
use std::sync::Arc;

use super::guard::{self, Guard};
use super::{AnyOracle, MakeOracle, OracleContext, OracleEntry, Respond, Response};
use crate::certificate::{Bound, Ceiling, Certificate, Ground, ValueFunction};
use crate::env::{EnvSpec, TabularMdp};
use crate::error::{Error, Result, not_too_large};
use crate::measurement::Discounting;
use crate::options::{Kind, Options, Table, options, words};
use crate::policy::{AnyPolicy, Mixed, TabularPolicy};
use crate::rl::{self, Occupancy, Plan, Quotient, Staying};
use crate::set::SharedSet;
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::utility::Criterion;
use crate::vector;

words! {
    /// How best responses are planned without a horizon. With one it is always backward induction.
    pub enum Planner {
        /// policies evaluated exactly
        PolicyIteration = "policy-iteration",
        /// values until they settle
        ValueIteration = "value-iteration",
    }
}

options! {
    /// The options of [`Exact`].
    pub struct ExactOptions {
        /// How it plans without a horizon; with one it is always backward induction.
        planner: Planner = Kind::Word(Planner::WORDS), defaulted "\"policy-iteration\"";
    }
}

pub(super) static ENTRY: OracleEntry = OracleEntry {
    name: "exact",
    about: "planning in the known model: the default where there is one",
    keys: ExactOptions::KEYS,
    read: |given| Ok(Arc::new(ExactOptions::read(given)?)),
};

impl MakeOracle for ExactOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, context: OracleContext) -> Result<AnyOracle> {
        let model = known(context.env)?.select(context.selection);
        let exact = Exact::new(model, context.discounting, self.planner)?.guarded(context.set)?;
        Ok(AnyOracle::Responding(Box::new(exact)))
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        known(env).map(drop)
    }

    fn tables(&self, _: &EnvSpec) -> Vec<(String, Table)> {
        vec![(ENTRY.name.into(), Options::table(self))]
    }

    fn is_learning(&self) -> bool {
        false
    }
}

fn known(env: &EnvSpec) -> Result<&Arc<TabularMdp>> {
    env.model().ok_or(Error::Unsuitable {
        learner: "planning",
        needs: "a known model, such as a table of probabilities",
        instead: if env.is_countable() {
            "\"model\", \"ppo\", \"a2c\" or \"q-learning\""
        } else {
            "\"ppo\" or \"a2c\""
        },
    })
}

/// Best responses in a known world, exact up to rounding, each with a certified bound.
#[derive(Debug)]
pub struct Exact {
    model: TabularMdp,
    discounting: Discounting,
    planner: Planner,
    decisions: Vec<bool>,
    /// Without discount and horizon: the model in which all is planned.
    quotient: Option<Arc<Quotient>>,
    /// What bounds need where some policies measure without end.
    guard: Option<Guard>,
    /// Policies found before with what they measure, so that equal answers share one policy.
    known: Vec<(Arc<AnyPolicy>, Vec<f64>)>,
    /// Where among them is the policy of these actions.
    places: HashMap<Vec<u32>, usize>,
}

impl Exact {
    /// An oracle for `model`. Without discount and horizon it answers with policies that measure finitely.
    pub fn new(model: TabularMdp, discounting: Discounting, planner: Planner) -> Result<Self> {
        if let Some(horizon) = discounting.horizon() {
            let factors = [horizon, model.states(), model.actions()];
            not_too_large("horizon times states times actions", &factors, 200_000_000)?;
        }
        let decisions = rl::decision_states(&model);
        let is_total = discounting.gamma() == 1.0 && discounting.horizon().is_none();
        let quotient = if is_total { Some(Quotient::of(&model)?) } else { None };
        let (known, places) = (Vec::new(), HashMap::new());
        Ok(Self { model, discounting, planner, decisions, quotient, guard: None, known, places })
    }

    /// A bound on the steps left in each state, where one is needed and there is one.
    fn steps(&self) -> Result<Option<&[f64]>> {
        match &self.quotient {
            Some(quotient) if !quotient.is_endless => quotient.steps().map(Some),
            _ => Ok(None),
        }
    }

    /// The same for the game of `set`, whose entries are measured first: where some policies measure without end, bounds
    /// need to know that the set is left that way.
    pub fn guarded(mut self, set: &SharedSet) -> Result<Self> {
        if let Some(quotient) = &self.quotient {
            self.guard = Guard::find(quotient, set)?;
        }
        Ok(self)
    }

    /// The model in which all is planned, and its decision states.
    fn planned(&self) -> (&TabularMdp, &[bool]) {
        let Ground { model, decisions, .. } = self.ground();
        (model, decisions)
    }

    fn ground(&self) -> Ground<'_> {
        let (model, decisions, discounting) = (&self.model, self.decisions.as_slice(), &self.discounting);
        match &self.quotient {
            Some(quotient) => guard::ground(quotient, discounting),
            None => Ground { model, decisions, discounting, staying: None },
        }
    }

    /// How to stay where one can, and λ with what that is worth.
    fn staying(&self, lam: &[f64]) -> Result<Staying> {
        match &self.quotient {
            Some(quotient) => quotient.staying(lam),
            None => Ok(Staying { lam: lam.to_vec(), bias: Vec::new(), actions: Vec::new() }),
        }
    }

    fn plan(&self, lam: &[f64], staying: &Staying) -> Result<Plan> {
        let rewards = self.planned().0.rewards(&staying.lam);
        match (&self.quotient, &self.guard) {
            (Some(quotient), Some(guard)) => {
                let first = guard.first(quotient, lam, &rewards)?;
                rl::shortest_path(quotient, &rewards, &first)
            }
            _ => self.plan_rewards(&rewards, self.best_known(lam)),
        }
    }

    /// The actions of the best answer so far.
    fn best_known(&self, lam: &[f64]) -> Option<&[u32]> {
        let payoff = |known: &&(Arc<AnyPolicy>, Vec<f64>)| vector::dot(lam, &known.1);
        let best = self.known.iter().min_by(|a, b| payoff(a).total_cmp(&payoff(b)))?;
        match best.0.as_ref() {
            AnyPolicy::Table(table) => table.actions_taken(),
            _ => None,
        }
    }

    fn plan_rewards(&self, rewards: &[f64], first: Option<&[u32]>) -> Result<Plan> {
        let ((model, decisions), gamma) = (self.planned(), self.discounting.gamma());
        Ok(match (self.discounting.horizon(), self.planner, &self.quotient) {
            (Some(horizon), ..) => rl::backward_induction(model, gamma, horizon, decisions, rewards),
            (None, Planner::ValueIteration, Some(quotient)) if !quotient.is_endless => {
                rl::value_iteration(model, gamma, decisions, rewards)?
            }
            (None, _, Some(quotient)) => rl::shortest_path(quotient, rewards, &quotient.ending)?,
            (None, Planner::ValueIteration, None) => rl::value_iteration(model, gamma, decisions, rewards)?,
            (None, Planner::PolicyIteration, None) => {
                let steps = self.discounting.total_weight();
                rl::policy_iteration_from(model, gamma, decisions, rewards, steps, first)?
            }
        })
    }

    /// A bound on ‖Z̄(π)‖ over all policies: the largest expected Σ γⁱ‖zᵢ‖, planned like a reward. It is far below
    /// B/(1 − γ) where episodes end.
    pub fn measurement_radius(&self) -> Result<f64> {
        let (model, _) = self.planned();
        let norms = match &self.quotient {
            Some(quotient) => quotient.step_norms(&self.model),
            None => model.step_norms(),
        };
        let plan = self.plan_rewards(&norms, None)?;
        Ok(model.start().iter().map(|&(s, p)| p * plan.values[s]).sum())
    }

    /// What the best values prove for λ. Where episodes can last beyond what numbers resolve, the answer stands without a bound.
    fn bound(&self, lam: &[f64], values: Vec<f64>, staying: Staying) -> Option<Bound> {
        match (&self.quotient, &self.guard) {
            (Some(quotient), Some(guard)) if guard.serves(lam) => {
                guard.bound(quotient, lam, &values, &staying)
            }
            _ => {
                let steps = self.steps().ok()?.map(<[f64]>::to_vec);
                let witness = ValueFunction { values, steps, bias: staying.bias };
                let value = self.ground().least_payoff(lam, &witness).ok()?;
                Some(Bound { value, witness: Arc::new(witness), tilt: None })
            }
        }
    }

    /// The long-term measurement of a mixed policy.
    pub fn measure(&self, mixture: &Mixed) -> Result<Vec<f64>> {
        self.ended(Occupancy::of_mixture(&self.model, &self.discounting, mixture)?.measure(&self.model))
    }

    /// Refuses what is measured without end.
    fn ended(&self, z: Vec<f64>) -> Result<Vec<f64>> {
        match z.iter().any(|v| v.is_nan()) {
            true => Err(Error::Infinite { state: self.model.start()[0].0 }),
            false => Ok(z),
        }
    }

    /// The bound on the objective, which is measured last, that `ceiling` proves for this world.
    pub fn upper_bound(&self, ceiling: &Ceiling, set: &SharedSet, criterion: &Criterion) -> Result<f64> {
        ceiling.upper_bound(set, criterion, &self.ground())
    }

    /// Whether values are about the states that are planned in.
    pub(crate) fn takes(&self, witness: &ValueFunction) -> bool {
        let proofs = self.quotient.as_ref().map_or(0, |quotient| quotient.proof_length());
        witness.values.len() == self.planned().0.states() * self.discounting.horizon().unwrap_or(1)
            && witness.bias.len() == proofs
    }

    /// What a mixed policy measures of a set's entries, which come first.
    fn measure_first(&self, mixture: &Mixed, set: &SharedSet) -> Result<Vec<f64>> {
        let mut measured = self.measure(mixture)?;
        measured.truncate(set.dim());
        Ok(measured)
    }

    /// A certificate with every number computed again for this world, claiming only what that confirms. What is measured after
    /// the set's entries is free.
    pub fn recompute(
        &self,
        certificate: &Certificate,
        set: &SharedSet,
        mixture: &Mixed,
    ) -> Result<Certificate> {
        self.recompute_for(certificate, set, self.measure_first(mixture, set)?)
    }

    /// The same for a mixture whose measurements are known.
    pub(crate) fn recompute_for(
        &self,
        certificate: &Certificate,
        set: &SharedSet,
        measured: Vec<f64>,
    ) -> Result<Certificate> {
        certificate.recomputed(set, &self.ground(), self.ended(measured)?)
    }

    /// Checks a certificate against this world, the set and the mixture it speaks of. Returns it with every number computed
    /// again.
    pub fn check(&self, certificate: &Certificate, set: &SharedSet, mixture: &Mixed) -> Result<Certificate> {
        self.check_for(certificate, set, self.measure_first(mixture, set)?)
    }

    /// The same for a mixture whose measurements are known.
    pub(crate) fn check_for(
        &self,
        certificate: &Certificate,
        set: &SharedSet,
        measured: Vec<f64>,
    ) -> Result<Certificate> {
        certificate.check(set, &self.ground(), self.ended(measured)?)
    }
}

impl Respond for Exact {
    fn respond(&mut self, lam: &[f64], _offset: f64) -> Result<Response> {
        crate::error::dimension("lambda", lam.len(), self.model.measures().dim())?;
        crate::error::finite("lambda", lam)?;
        let staying = self.staying(lam)?;
        let Plan { actions, values } = self.plan(lam, &staying)?;
        let actions = match &self.quotient {
            Some(quotient) => quotient.lift(&self.model, &actions, &staying),
            None => actions,
        };
        let (policy, z_hat) = match self.places.get(&actions) {
            Some(&place) => self.known[place].clone(),
            None => {
                let shape = (self.model.states(), self.model.actions());
                let policy = TabularPolicy::deterministic(shape.0, shape.1, actions.clone())?;
                let z_hat = Occupancy::of(&self.model, &self.discounting, &policy)?.measure(&self.model);
                let known = (Arc::new(policy.into()), z_hat);
                self.places.insert(actions, self.known.len());
                self.known.push(known.clone());
                known
            }
        };
        let bound = self.bound(lam, values, staying);
        Ok(Response { policy: Mixed::shared(policy), z_hat, spread: None, bound, gave_up: false })
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Table(policy)
            if (policy.states(), policy.actions()) == (self.model.states(), self.model.actions()))
    }
}

impl Checkpoint for Exact {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.known.len());
        for (policy, z_hat) in &self.known {
            to.put_shared(policy);
            to.put_all(z_hat);
        }
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.known.clear();
        self.places.clear();
        for place in 0..from.get_length()? {
            let policy = from.get_shared::<AnyPolicy>()?;
            let actions = match policy.as_ref() {
                AnyPolicy::Table(table) if self.fits(&policy) => table.actions_taken(),
                _ => None,
            };
            let Some(actions) = actions else { return Err(misfit("a policy is for another world")) };
            self.places.insert(actions.to_vec(), place);
            let mut z_hat = vec![0.0; self.model.measures().dim()];
            from.get_finite("a measurement", &mut z_hat)?;
            self.known.push((policy, z_hat));
        }
        Ok(())
    }
}
