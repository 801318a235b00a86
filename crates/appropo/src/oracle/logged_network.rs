use std::sync::Arc;

use super::{Respond, Response};
use crate::certificate::{Bound, ValueFunction};
use crate::env::StopSignal;
use crate::error::{Error, Result, dimension, finite};
use crate::policy::{Actions, AnyPolicy, Mixed};
use crate::random::Generator;
use crate::rl::fitted::{
    FittedOptions, LoggedRows, Regression, at_start, evaluate, greedy, iterate, probabilities,
};
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::vector;

/// Answers to λ by fitted Q iteration with a network, measured by fitted Q evaluation with another. Both go on from what they
/// learnt for the last λ.
#[derive(Debug)]
pub(crate) struct LoggedNetwork {
    fit: NetworkFit,
    q: Regression,
    psi: Regression,
    /// Policies found before with what they measure. Two that do the same wherever something was logged are one.
    known: Vec<(Arc<AnyPolicy>, Vec<f64>)>,
    /// What they do there.
    actions: Vec<Vec<u32>>,
    rng: Generator,
}

/// What networks are fitted to, and how.
pub(crate) struct NetworkFit {
    pub rows: LoggedRows,
    /// The size of each measurement's return: networks predict returns divided by it.
    pub sizes: Vec<f64>,
    pub gamma: f64,
    pub options: FittedOptions,
    pub stop: Option<StopSignal>,
}

impl std::fmt::Debug for NetworkFit {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.debug_struct("NetworkFit").field("options", &self.options).finish_non_exhaustive()
    }
}

impl NetworkFit {
    fn watch(&self) -> impl FnMut() -> Result<()> + use<> {
        let stop = self.stop.clone();
        move || if stop.as_ref().is_some_and(|stop| stop()) { Err(Error::Interrupted) } else { Ok(()) }
    }

    /// A network of every measurement's values.
    pub fn psi(&self, rng: &mut Generator) -> Result<Regression> {
        Regression::new(&self.rows, self.sizes.len(), &self.options, rng)
    }

    /// What a policy measures, by fitted Q evaluation that goes on from what `psi` is.
    pub fn evaluate(
        &self,
        psi: &mut Regression,
        policy: &AnyPolicy,
        options: &FittedOptions,
        rng: &mut Generator,
    ) -> Result<Vec<f64>> {
        let heads = self.sizes.len();
        let z: Vec<f32> =
            self.rows.z().iter().enumerate().map(|(i, z)| (z / self.sizes[i % heads]) as f32).collect();
        let (entries, actions) = (self.rows.entries(), self.rows.actions());
        let chosen = probabilities(policy, self.rows.plain_next(), entries, actions);
        evaluate(psi, &self.rows, &z, &chosen, self.gamma, options, rng, &mut self.watch())?;
        let z = at_start(psi, &self.rows, policy);
        Ok(z.iter().zip(&self.sizes).map(|(z, size)| z * size).collect())
    }
}

impl LoggedNetwork {
    pub fn new(fit: NetworkFit, rng: &mut Generator) -> Result<Self> {
        let q = Regression::new(&fit.rows, 1, &fit.options, rng)?;
        let psi = fit.psi(rng)?;
        let rng = crate::random::split(rng);
        Ok(Self { fit, q, psi, known: Vec::new(), actions: Vec::new(), rng })
    }

    /// What a policy does wherever something was logged.
    fn done(&self, policy: &AnyPolicy) -> Vec<u32> {
        let (entries, actions) = (self.fit.rows.entries(), self.fit.rows.actions());
        let best = |row: &[f32]| crate::policy::best(row) as u32;
        let next = probabilities(policy, self.fit.rows.plain_next(), entries, actions);
        let first = probabilities(policy, self.fit.rows.plain_starts(), entries, actions);
        // What it would do after the end matters to no one.
        let next = next.chunks_exact(actions).enumerate().filter(|(row, _)| !self.fit.rows.is_end(*row));
        next.map(|(_, row)| best(row)).chain(first.chunks_exact(actions).map(best)).collect()
    }
}

impl Respond for LoggedNetwork {
    fn respond(&mut self, lam: &[f64], _: f64) -> Result<Response> {
        let heads = self.fit.sizes.len();
        dimension("lambda", lam.len(), heads)?;
        finite("lambda", lam)?;
        // Values are a sum of measurements' returns, each of about its size.
        let size = lam.iter().zip(&self.fit.sizes).map(|(lam, size)| (lam * size).abs()).fold(0.0, f64::max);
        let size = if size > 0.0 { size } else { 1.0 };
        let reward = |z: &[f64]| (-vector::dot(lam, z) / size) as f32;
        let rewards: Vec<f32> = self.fit.rows.z().chunks_exact(heads).map(reward).collect();
        let (options, gamma) = (self.fit.options.clone(), self.fit.gamma);
        iterate(
            &mut self.q,
            &self.fit.rows,
            &rewards,
            gamma,
            &options,
            &mut self.rng,
            &mut self.fit.watch(),
        )?;
        let policy = greedy(&mut self.q, &self.fit.rows)?;
        let done = self.done(&policy);
        let place = match self.actions.iter().position(|known| *known == done) {
            Some(place) => place,
            None => {
                let z_hat = self.fit.evaluate(&mut self.psi, &policy, &options, &mut self.rng)?;
                self.known.push((Arc::new(policy), z_hat));
                self.actions.push(done);
                self.known.len() - 1
            }
        };
        let (policy, z_hat) = self.known[place].clone();
        // The best that is known stands for the best that there is: players end when no answer is better.
        let value = self.known.iter().map(|(_, z)| vector::dot(lam, z)).fold(f64::INFINITY, f64::min);
        let witness = Arc::<ValueFunction>::default();
        let bound = Some(Bound { value, witness, tilt: None });
        Ok(Response { policy: Mixed::shared(policy), z_hat, spread: None, bound, gave_up: false })
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        let actions = self.fit.rows.actions();
        match (policy, self.fit.rows.logged()) {
            (AnyPolicy::Table(policy), Some(logged)) => {
                (policy.states() * actions, policy.actions()) == (logged.len(), actions)
            }
            (AnyPolicy::Network(policy), None) => {
                policy.network().shape() == self.q.network().shape()
                    && *policy.actions() == Actions::Categorical
            }
            _ => false,
        }
    }
}

impl Checkpoint for LoggedNetwork {
    fn save(&self, to: &mut Saver) -> Result<()> {
        self.q.save(to);
        self.psi.save(to);
        to.put(&self.rng);
        to.put(&self.known.len());
        for (policy, z_hat) in &self.known {
            to.put_shared(policy);
            to.put_all(z_hat);
        }
        Ok(())
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.q.load(from)?;
        self.psi.load(from)?;
        self.rng = from.get()?;
        self.known.clear();
        self.actions.clear();
        for _ in 0..from.get_length()? {
            let policy = from.get_shared::<AnyPolicy>()?;
            if !self.fits(&policy) {
                return Err(misfit("a policy is for another world"));
            }
            let mut z_hat = vec![0.0; self.fit.sizes.len()];
            from.get_finite("a measurement", &mut z_hat)?;
            self.actions.push(self.done(&policy));
            self.known.push((policy, z_hat));
        }
        Ok(())
    }
}
