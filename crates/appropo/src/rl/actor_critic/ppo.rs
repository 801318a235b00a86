use std::sync::Arc;

use super::batch::Batch;
use super::{ActorCritic, ROWS};
use super::{ActorCriticOptions, Collect, Critic, MOST, OptimizerKind, Schedule, Update};
use crate::env::{EnvSpec, Space};
use crate::error::Result;
use crate::nn::Activation;
use crate::options::{Kind, Options, Range, Table, options};
use crate::policy::{Actions, softmax};
use crate::random;
use crate::rl::cut_normal::log_probability;
use crate::rl::{Learner, LearnerContext, LearnerEntry, MakeLearner};

options! {
    /// The options of proximal policy optimisation. Where defaults differ, the first is for observations that are counted,
    /// the second for numbers and counted actions, the third for numbers and actions that are numbers.
    pub struct PpoOptions {
        /// The step size of the optimiser; by default 0.002, 0.001 or 0.0003.
        learning_rate: Option<f64> = Kind::Number(Range::POSITIVE), optional "0.001";
        /// How the learning rate goes on.
        learning_rate_schedule: Schedule = Kind::Word(Schedule::WORDS), defaulted "\"constant\"";
        /// The discount that is learnt with, unless the problem's is less: without one, the noise of a whole episode stands behind every action.
        gamma: f64 = Kind::Number(Range::UNIT), defaulted "0.99";
        /// Steps played in each environment between updates; by default 64, 256 or 512.
        n_steps: Option<usize> = Kind::Count(1, MOST), optional "256";
        /// Rows of a step of the optimiser; by default 32, 64 or 64.
        batch_size: Option<usize> = Kind::Count(1, MOST), optional "64";
        /// How often every step is learnt from; by default 4, 20 or 10.
        n_epochs: Option<usize> = Kind::Count(1, 1000), optional "10";
        /// λ of generalised advantages: 0 is one step ahead, 1 the whole episode; by default 0.9, 0.95 or 0.95.
        gae_lambda: Option<f64> = Kind::Number(Range::UNIT), optional "0.95";
        /// How far the ratio of probabilities may move from 1.
        clip_range: f64 = Kind::Number(Range::POSITIVE), defaulted "0.2";
        /// The weight of the policy's entropy in the loss; by default 0.003, 0.01 or 0.
        ent_coef: Option<f64> = Kind::Number(Range::FROM_ZERO), optional "0.01";
        /// The weight of the critic's error in the loss.
        vf_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.5";
        /// The largest norm of a gradient.
        max_grad_norm: f64 = Kind::Number(Range::POSITIVE), defaulted "0.5";
        /// The weight of visits to what is new, against returns of deviation 1; by default 0.3, 0.1 or 0.1.
        novelty_coef: Option<f64> = Kind::Number(Range::FROM_ZERO), optional "0.2";
        /// The weight of learning again from kept steps that went better than expected, whatever λ they were played for.
        imitation_coef: f64 = Kind::Number(Range::FROM_ZERO), defaulted "0.3";
        /// Whether advantages are brought to mean 0 and deviation 1; by default false, true or true.
        normalize_advantage: Option<bool> = Kind::Flag, optional "true";
        /// Whether observations that are numbers are brought to mean 0 and deviation 1.
        norm_obs: bool = Kind::Flag, defaulted "true";
        /// Whether rewards are divided by the deviation of their discounted sums.
        norm_reward: bool = Kind::Flag, defaulted "true";
        /// Units of each hidden layer; by default one layer of 128, two of 128, or two of 64.
        net_arch: Option<Vec<usize>> = Kind::Counts(1, 100_000), optional "[64, 64]";
        /// The activation of hidden layers; by default relu, tanh or tanh.
        activation_fn: Option<Activation> = Kind::Word(Activation::WORDS), optional "\"tanh\"";
        /// How a gradient becomes a step.
        optimizer: OptimizerKind = Kind::Word(OptimizerKind::WORDS), defaulted "\"adam\"";
        /// What the critic predicts.
        critic: Critic = Kind::Word(Critic::WORDS), defaulted "\"reward\"";
        /// The share of the latest updates whose weights are averaged where an answer is one policy (`learned.iterates = false`); 0 takes the last.
        weight_averaging: f64 = Kind::Number(Range::UNIT), defaulted "0.1";
        /// A batch of fewer rows is learnt from together with those before it, up to so many rows; by default 0 (each batch alone), 2048 or 2048.
        reuse_rows: Option<usize> = Kind::Count(0, MOST), optional "2048";
        /// No further pass begins once the policy has moved by this divergence; by default 0 (however far), 0.02 or 0.02.
        target_kl: Option<f64> = Kind::Number(Range::FROM_ZERO), optional "0.02";
    }
}

pub(in crate::rl) static ENTRY: LearnerEntry = LearnerEntry {
    name: "ppo",
    about: "a network learnt by proximal policy optimisation: the default where states can't be counted, but actions can",
    keys: PpoOptions::KEYS,
    read: |given| Ok(Arc::new(PpoOptions::read(given)?)),
};

impl PpoOptions {
    /// These options with all that is left open filled in, by what is observed and done.
    fn in_force(&self, env: &EnvSpec) -> Self {
        let numbers = Self::default()
            .n_epochs(10)
            .batch_size(64)
            .gae_lambda(0.95)
            .novelty_coef(0.1)
            .normalize_advantage(true)
            .reuse_rows(2048)
            .target_kl(0.02)
            .net_arch(vec![64, 64])
            .activation_fn(Activation::Tanh);
        let by_default = match (env.observations(), env.actions()) {
            (Space::Discrete(_), _) => Self::default()
                .learning_rate(2e-3)
                .n_steps(64)
                .batch_size(32)
                .n_epochs(4)
                .gae_lambda(0.9)
                .ent_coef(0.003)
                .novelty_coef(0.3)
                .normalize_advantage(false)
                .reuse_rows(0)
                .target_kl(0.0)
                .net_arch(vec![128])
                .activation_fn(Activation::Relu),
            (Space::Continuous(_), Space::Discrete(_)) => {
                numbers.learning_rate(1e-3).n_steps(256).n_epochs(20).ent_coef(0.01).net_arch(vec![128, 128])
            }
            (Space::Continuous(_), Space::Continuous(_)) => {
                numbers.learning_rate(3e-4).n_steps(512).ent_coef(0.0)
            }
        };
        Self {
            learning_rate: self.learning_rate.or(by_default.learning_rate),
            n_steps: self.n_steps.or(by_default.n_steps),
            batch_size: self.batch_size.or(by_default.batch_size),
            n_epochs: self.n_epochs.or(by_default.n_epochs),
            gae_lambda: self.gae_lambda.or(by_default.gae_lambda),
            ent_coef: self.ent_coef.or(by_default.ent_coef),
            novelty_coef: self.novelty_coef.or(by_default.novelty_coef),
            normalize_advantage: self.normalize_advantage.or(by_default.normalize_advantage),
            reuse_rows: self.reuse_rows.or(by_default.reuse_rows),
            target_kl: self.target_kl.or(by_default.target_kl),
            net_arch: self.net_arch.clone().or(by_default.net_arch),
            activation_fn: self.activation_fn.or(by_default.activation_fn),
            ..self.clone()
        }
    }

    fn actor_critic(self) -> ActorCriticOptions {
        let usual = ActorCriticOptions::ppo();
        ActorCriticOptions {
            net_arch: self.net_arch.unwrap_or(usual.net_arch),
            activation: self.activation_fn.unwrap_or(usual.activation),
            optimizer: self.optimizer.into(),
            learning_rate: self.learning_rate.unwrap_or(usual.learning_rate),
            learning_rate_schedule: self.learning_rate_schedule,
            gamma: self.gamma,
            n_steps: self.n_steps.map_or(usual.n_steps, Collect::Steps),
            gae_lambda: self.gae_lambda.unwrap_or(usual.gae_lambda),
            ent_coef: self.ent_coef.map_or(usual.ent_coef, |coefficient| coefficient as f32),
            vf_coef: self.vf_coef as f32,
            max_grad_norm: self.max_grad_norm as f32,
            novelty_coef: self.novelty_coef.map_or(usual.novelty_coef, |coefficient| coefficient as f32),
            imitation_coef: self.imitation_coef as f32,
            normalize_advantage: self.normalize_advantage.unwrap_or(usual.normalize_advantage),
            norm_obs: self.norm_obs,
            norm_reward: self.norm_reward,
            norm_value: true,
            critic: self.critic,
            weight_averaging: self.weight_averaging,
            reuse_rows: self.reuse_rows.unwrap_or(usual.reuse_rows),
            update: Update::Ppo {
                clip_range: self.clip_range as f32,
                n_epochs: self.n_epochs.unwrap_or(10),
                batch_size: self.batch_size.unwrap_or(64),
                target_kl: self.target_kl.filter(|kl| *kl > 0.0).unwrap_or(f64::INFINITY),
            },
        }
    }
}

impl MakeLearner for PpoOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn is_batched(&self) -> bool {
        true
    }

    fn make(&self, context: LearnerContext) -> Result<Box<dyn Learner>> {
        let options = self.in_force(context.env).actor_critic();
        ActorCritic::for_context(context, options)
    }

    fn table(&self, env: &EnvSpec) -> Table {
        Options::table(&self.in_force(env))
    }
}

/// Rows of a batch that a critic can learn from several times without learning them by heart.
const MANY_ROWS: usize = 1024;

impl ActorCritic {
    /// Proximal policy optimisation (Schulman et al. 2017): several passes over the batch, in each of which a row
    /// stops pulling once π(a|s) has moved by the factor 1 + `clip` in the advantage's direction.
    ///
    /// Short batches are learnt from together with earlier ones (Queeney et al. 2021): a few hundred steps may be of a single
    /// episode. A row is used as often as without them, each time with other company, and what has become unlikely counts less.
    ///
    /// In many rows every pass has advantages by the critic as it is then, which knows more than when actions were drawn
    /// (Andrychowicz et al. 2021). Few it soon knows by heart, and what is left of the advantages is noise. No pass begins once
    /// the policy has moved by `target_kl`: rows stop pulling one by one, but what they share goes on moving.
    pub(super) fn ppo_update(
        &mut self,
        clip: f32,
        epochs: usize,
        minibatch: usize,
        target_kl: f64,
    ) -> Result<()> {
        self.normalize_advantages();
        let pull = move |now: f32, before: f32, advantage: f32| {
            // Beyond this a ratio pulls no harder, and it must not overflow.
            let ratio = (now - before).min(10.0).exp();
            let is_far = if advantage > 0.0 { ratio > 1.0 + clip } else { ratio < 1.0 - clip };
            if is_far { 0.0 } else { -advantage * ratio }
        };
        let rows = self.order.len();
        let mut steps = epochs * self.batch.fresh().div_ceil(minibatch);
        loop {
            random::shuffle(&mut self.order, &mut self.rng);
            for start in (0..rows).step_by(minibatch).take(steps) {
                self.accumulate(start..rows.min(start + minibatch), pull);
                self.step()?;
                steps -= 1;
            }
            if steps == 0 || target_kl.is_finite() && self.divergence() > target_kl {
                return Ok(());
            }
            if rows >= MANY_ROWS {
                self.estimate_advantages_again();
            }
        }
    }

    /// The mean divergence of the policy before this update from what it is now, by the actions that were drawn: the mean of
    /// r − 1 − ln r, which is never negative (Schulman 2020).
    fn divergence(&mut self) -> f64 {
        let (mut sum, rows) = (0.0, self.batch.rows);
        self.each_log_probability(rows, |batch, row, now| {
            let log_ratio = f64::from(now - batch.log_probabilities[row]);
            sum += log_ratio.exp_m1() - log_ratio;
        });
        sum / rows as f64
    }

    /// Looks at earlier rows by the policy and the critic as they are now.
    pub(super) fn weigh_earlier(&mut self) {
        let earlier = self.batch.earlier;
        self.each_log_probability(earlier, Batch::compare);
        self.predict_again(earlier);
    }

    /// Tells ln π(a|s) of the first rows by the policy as it is now.
    fn each_log_probability(&mut self, rows: usize, mut tell: impl FnMut(&mut Batch, usize, f32)) {
        let (entries, width) = (self.episodes[0].observation().len(), self.action.len());
        let outputs = self.actor.shape().policy;
        let own = self.actor.parameters() + self.actions.parameters();
        let (network, deviations) = self.parameters[..own].split_at(self.actor.parameters());
        for first in (0..rows).step_by(ROWS) {
            let last = rows.min(first + ROWS);
            self.actor.forward(
                network,
                &self.batch.inputs[first * entries..last * entries],
                &mut self.acting,
            );
            for (row, output) in (first..last).zip(self.acting.policy.output.chunks_exact_mut(outputs)) {
                if self.actions == Actions::Categorical {
                    softmax(output);
                }
                let action = &self.batch.actions[row * width..(row + 1) * width];
                let now = log_probability(&self.actions, &self.bounds, (output, deviations), action);
                tell(&mut self.batch, row, now);
            }
        }
    }

    /// Has the critic as it is predict the first rows.
    fn predict_again(&mut self, rows: usize) {
        let (entries, heads) = (self.episodes[0].observation().len(), self.weights.len());
        let own = self.actor.parameters() + self.actions.parameters();
        for first in (0..rows).step_by(ROWS) {
            let last = rows.min(first + ROWS);
            let inputs = &self.batch.inputs[first * entries..last * entries];
            self.critic.forward(&self.parameters[own..], inputs, &mut self.valuing);
            self.batch.predict(first, &self.valuing.value.output[..(last - first) * heads]);
        }
    }

    /// Advantages by what the critic predicts now; what followed the last rows stays as it was predicted when they were played.
    fn estimate_advantages_again(&mut self) {
        self.predict_again(self.batch.rows);
        self.batch.estimate_advantages(self.gamma, self.options.gae_lambda as f32, &self.weights);
        self.normalize_advantages();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::env::{Status, cart_pole::CartPole};
    use crate::rl::EpisodeWindow;

    /// A critic that says 1 more everywhere lowers what a step brings by 1 − γ, and what follows it by as much.
    #[test]
    fn later_passes_have_the_advantages_of_the_critic_as_it_is() {
        let env = Box::new(CartPole::new(Some(50)));
        let options = ActorCriticOptions { normalize_advantage: false, ..ActorCriticOptions::ppo() };
        let mut learner = ActorCritic::new(vec![env], 0.9, 50, options, random::generator(1)).unwrap();
        let weights = vec![1.0; learner.episodes[0].z().len()];
        learner.learn(&weights, &mut EpisodeWindow::new(10, weights.len())).unwrap();
        learner.estimate_advantages_again();
        let before = learner.batch.advantages.clone();
        let own = learner.split().0.len();
        let bias = learner.critic.layers().last().unwrap().biases.start;
        learner.parameters[own + bias] += 1.0;
        learner.estimate_advantages_again();
        let (batch, mut rows) = (&learner.batch, 0);
        for row in (0..batch.rows - 1).filter(|row| batch.status[*row] == Status::Running) {
            let (now, later) = (batch.advantages[row], batch.advantages[row + 1]);
            let ahead = 0.9 * 0.95 * (later - before[row + 1]);
            assert!((now - before[row] - ahead + 0.1).abs() < 1e-4, "{row}: {now} {}", before[row]);
            rows += 1;
        }
        assert!(rows > 30, "{rows}");
    }

    /// What was played by the policy as it is counts in full, and what another one played by how likely it still is.
    #[test]
    fn earlier_rows_count_by_the_policy_as_it_is() {
        let env = Box::new(CartPole::new(Some(50)));
        let options = ActorCriticOptions { n_steps: Collect::Steps(32), ..ActorCriticOptions::ppo() };
        let mut learner = ActorCritic::new(vec![env], 0.9, 50, options, random::generator(1)).unwrap();
        let weights = vec![1.0; learner.episodes[0].z().len()];
        let play = |learner: &mut ActorCritic| {
            learner.play(&weights, &mut EpisodeWindow::new(10, weights.len())).unwrap();
            learner.weigh_earlier();
        };
        play(&mut learner);
        play(&mut learner);
        assert_eq!((learner.batch.rows, learner.batch.earlier), (64, 32));
        assert!(learner.batch.traces[..64].iter().all(|trace| *trace > 1.0 - 1e-5));
        // The first action becomes e² times as likely beside the second.
        let bias = learner.actor.layers().iter().find(|layer| layer.outputs == 2).unwrap().biases.start;
        learner.parameters[bias] += 2.0;
        play(&mut learner);
        assert_eq!((learner.batch.rows, learner.batch.earlier), (96, 64));
        let batch = &learner.batch;
        for row in 0..64 {
            let (then, now) = (batch.drawn[row].exp(), batch.log_probabilities[row].exp());
            let first = if batch.actions[row] == 0.0 { then } else { 1.0 - then };
            let moved = first * 2.0_f32.exp() / (first * 2.0_f32.exp() + 1.0 - first);
            let expected = if batch.actions[row] == 0.0 { moved } else { 1.0 - moved };
            assert!((now - expected).abs() < 1e-4, "{row}: {now} {expected}");
            assert!((batch.traces[row] - (now / then).min(1.0)).abs() < 1e-4, "{row}");
        }
        assert!(batch.traces[64..96].iter().all(|trace| *trace == 1.0));
    }
}
