use super::{Reestimate, Respond, Response, fits};
use crate::error::{Error, Result};
use crate::measurement::{Estimate, Spread};
use crate::policy::{AnyPolicy, Mixed};
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::vector;

/// Remembers every answer (section 3.4). A new λ is first tried on the policies at hand; only if none of them
/// has λ·ẑ ≤ offset + ε is the oracle asked, and then it goes on from the best of them.
#[derive(Debug)]
pub struct Cache<O: Respond> {
    oracle: O,
    epsilon: f64,
    answers: Vec<Response>,
    /// The answer given last, and to which λ. The cache never gives one answer twice for one λ: it would teach the
    /// player nothing.
    last: Option<(usize, Vec<f64>)>,
    calls: usize,
}

impl<O: Respond> Cache<O> {
    /// An empty cache in front of `oracle`.
    pub fn new(oracle: O) -> Self {
        Self { oracle, epsilon: 0.0, answers: Vec::new(), last: None, calls: 0 }
    }

    /// The same cache, content with answers that miss by ε.
    pub fn with_epsilon(self, epsilon: f64) -> Self {
        Self { epsilon, ..self }
    }

    /// Adds an answer that was not asked for, such as that of a random policy.
    pub fn add(&mut self, answer: Response) {
        self.answers.push(answer);
    }

    /// How often the oracle itself was asked.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// The oracle behind the cache.
    pub fn oracle(&mut self) -> &mut O {
        &mut self.oracle
    }

    /// The oracle behind the cache, which ends.
    pub fn into_oracle(self) -> O {
        self.oracle
    }
}

impl<O: Respond> Respond for Cache<O> {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        let payoff = |i: &usize| vector::dot(lam, &self.answers[*i].z_hat);
        let best = (0..self.answers.len()).min_by(|a, b| payoff(a).total_cmp(&payoff(b)));
        let is_new = |i: &usize| self.last.as_ref().is_none_or(|(last, to)| last != i || to != lam);
        let useful =
            best.filter(|i| vector::norm(lam) > 0.0 && payoff(i) <= offset + self.epsilon && is_new(i));
        self.last = useful.map(|i| (i, lam.to_vec()));
        if let Some(i) = useful {
            return Ok(Response { bound: None, gave_up: false, ..self.answers[i].clone() });
        }
        if let Some(i) = best {
            self.oracle.start_from(&self.answers[i].policy)?;
        }
        self.calls += 1;
        let answer = self.oracle.respond(lam, offset)?;
        self.answers.push(answer.clone());
        Ok(answer)
    }

    fn estimates(&mut self) -> Option<&mut dyn Reestimate> {
        if self.oracle.estimates().is_some() { Some(self) } else { None }
    }

    fn start_from(&mut self, policy: &Mixed) -> Result<()> {
        self.oracle.start_from(policy)
    }

    fn samples(&self) -> u64 {
        self.oracle.samples()
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        self.oracle.fits(policy)
    }
}

/// Asked only where the oracle behind it has better estimates.
impl<O: Respond> Reestimate for Cache<O> {
    fn investigate(&mut self, policy: &Mixed, weight: f64) -> Result<()> {
        self.oracle.estimates().map_or(Ok(()), |oracle| oracle.investigate(policy, weight))
    }

    fn measure_again(&mut self, policy: &Mixed) -> Option<(Vec<f64>, Spread)> {
        let (z_hat, spread) = self.oracle.estimates()?.measure_again(policy)?;
        for answer in self.answers.iter_mut().filter(|answer| answer.policy.is_same(policy)) {
            answer.z_hat.clone_from(&z_hat);
            answer.spread = Some(spread.clone());
        }
        Some((z_hat, spread))
    }

    fn play_afresh(&mut self, mixture: &Mixed, is_enough: &dyn Fn(&Estimate) -> bool) -> Result<Estimate> {
        match self.oracle.estimates() {
            Some(oracle) => oracle.play_afresh(mixture, is_enough),
            None => Err(Error::Missing { what: "an oracle that plays its policies again".into() }),
        }
    }
}

impl<O: Respond> Checkpoint for Cache<O> {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.answers.len());
        for answer in &self.answers {
            // The bound of an answer went to the solver's evidence when the answer was new, which saves it.
            to.put(&answer.policy);
            to.put(&(answer.z_hat.clone(), answer.spread.clone()));
        }
        to.put(&self.last);
        to.put(&self.calls);
        self.oracle.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        self.answers.clear();
        for _ in 0..from.get_length()? {
            let policy = from.get_where("a policy", |policy| fits(self, policy))?;
            let (z_hat, spread): (Vec<f64>, Option<Spread>) = from.get()?;
            if spread.as_ref().is_some_and(|spread| spread.deviations.len() != z_hat.len()) {
                return Err(misfit("a spread is for another measurement"));
            }
            self.answers.push(Response { policy, z_hat, spread, bound: None, gave_up: false });
        }
        self.last = from.get()?;
        self.calls = from.get_count("a number of calls")?;
        self.oracle.load(from)
    }
}
