use std::collections::VecDeque;

use super::push;
use crate::error::Result;
use crate::oracle::{Respond, Response};
use crate::policy::{AnyPolicy, Mixed};
use crate::rl::Encoder;
use crate::rl::universal::UniversalNetwork;
use crate::state::{Checkpoint, Loader, Saver, misfit};
use crate::vector;

/// The network as an oracle.
pub(super) struct Answers {
    pub encoder: Encoder,
    pub network: Box<dyn UniversalNetwork>,
    /// The last λs that games asked for.
    pub asked: VecDeque<Vec<f64>>,
    /// Those of the games since the last step. They are not saved: games are played again.
    asked_now: Vec<Vec<f64>>,
    /// The last observations that episodes began with.
    starts: VecDeque<Vec<f32>>,
}

const ASKED: usize = 256;
pub(super) const STARTS: usize = 32;

impl Checkpoint for Answers {}

impl Respond for Answers {
    fn respond(&mut self, lam: &[f64], _: f64) -> Result<Response> {
        // Any answer is right for λ = 0; the last one asked for is one that the network knows.
        let none = vector::norm(lam) == 0.0;
        let lam = if none { self.asked.back().map_or(lam, Vec::as_slice) } else { lam };
        let mut direction = Vec::new();
        self.network.direction(lam, &mut direction);
        let z_hat = self.network.predict(&self.encoder, self.starts.make_contiguous(), &direction);
        let policy = self.network.policy(&self.encoder, &direction)?;
        let lam = lam.to_vec();
        self.asked_now.push(lam);
        Ok(Response { policy: Mixed::one(policy), z_hat, spread: None, bound: None, gave_up: false })
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        matches!(policy, AnyPolicy::Network(policy) if self.network.fits(policy))
    }
}

impl Answers {
    pub fn new(encoder: Encoder, network: Box<dyn UniversalNetwork>) -> Self {
        Self { encoder, network, asked: VecDeque::new(), asked_now: Vec::new(), starts: VecDeque::new() }
    }

    /// Takes note of the observation that an episode begins with.
    pub fn start(&mut self, observation: &[f32]) {
        push(&mut self.starts, STARTS, observation.to_vec());
        for lam in self.asked_now.drain(..) {
            push(&mut self.asked, ASKED, lam);
        }
    }

    /// The λ that the last game ended with.
    pub fn last_asked(&self) -> Option<&Vec<f64>> {
        self.asked_now.last().or_else(|| self.asked.back())
    }

    pub fn save(&self, to: &mut Saver) {
        self.encoder.save(to);
        self.network.save(to);
        to.put(&Vec::from(self.asked.clone()));
        to.put(&Vec::from(self.starts.clone()));
    }

    pub fn load(
        &mut self,
        from: &mut Loader,
        dim: usize,
        is_observation: impl Fn(&[f32]) -> bool,
    ) -> Result<()> {
        self.encoder.load(from)?;
        self.network.load(from)?;
        let is_lam = |lam: &Vec<f64>| lam.len() == dim && lam.iter().all(|l| l.is_finite());
        let asked = from.get_where("a λ", |asked: &Vec<_>| asked.iter().all(is_lam))?;
        let starts =
            from.get_where("a start", |starts: &Vec<Vec<f32>>| starts.iter().all(|s| is_observation(s)))?;
        if starts.len() > STARTS || asked.len() > ASKED {
            return Err(misfit("there are too many starts or λs"));
        }
        (self.asked, self.starts) = (asked.into(), starts.into());
        Ok(())
    }
}
