use super::{Respond, Response};
use crate::error::Result;
use crate::vector;

/// Remembers every answer (section 3.4). A new λ is first tried on the policies at hand; only if none of them
/// has λ·ẑ ≤ offset is the oracle asked.
#[derive(Debug)]
pub struct Cache<O: Respond> {
    oracle: O,
    answers: Vec<Response<O::Policy>>,
    /// The answer given last: giving it twice in a row would teach the player nothing.
    last: Option<usize>,
    calls: usize,
}

impl<O: Respond> Cache<O> {
    /// An empty cache in front of `oracle`.
    pub fn new(oracle: O) -> Self {
        Self { oracle, answers: Vec::new(), last: None, calls: 0 }
    }

    /// How often the oracle itself was asked.
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// The oracle behind the cache.
    pub fn into_oracle(self) -> O {
        self.oracle
    }
}

impl<O: Respond> Respond for Cache<O>
where
    O::Policy: Clone,
{
    type Policy = O::Policy;

    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response<O::Policy>> {
        let payoff = |i: &usize| vector::dot(lam, &self.answers[*i].z_hat);
        let best = (0..self.answers.len()).min_by(|a, b| payoff(a).total_cmp(&payoff(b)));
        let useful = best.filter(|i| vector::norm(lam) > 0.0 && payoff(i) <= offset && self.last != Some(*i));
        self.last = useful;
        if let Some(i) = useful {
            return Ok(Response { bound: None, ..self.answers[i].clone() });
        }
        self.calls += 1;
        let answer = self.oracle.respond(lam, offset)?;
        self.answers.push(answer.clone());
        Ok(answer)
    }

    fn measurement_radius(&self) -> Result<f64> {
        self.oracle.measurement_radius()
    }
}
