use super::{ActorCritic, Collect, Critic};
use crate::env::Status;
use crate::error::Result;
use crate::rl::EpisodeWindow;
use crate::rl::cut_normal::log_probability;
use crate::rl::frame::{Frame, narrow};
use crate::rl::workers::{Acting, Streams};
use crate::vector;

/// The units in which a batch is played: what workers see of it does not change theirs.
fn units<'a>(streams: &'a Option<(Streams, Frame)>, frame: &'a Frame) -> &'a Frame {
    streams.as_ref().map_or(frame, |(_, frame)| frame)
}

impl ActorCritic {
    /// Plays until the batch is full.
    pub(super) fn play(&mut self, weights: &[f64], window: &mut EpisodeWindow) -> Result<()> {
        let mut unfinished = match self.options.n_steps {
            Collect::Steps(_) => usize::MAX,
            Collect::Episodes(count) => count,
        };
        let is_another = self.returns.begin(match self.options.critic {
            Critic::Reward => weights,
            Critic::Measurements => &[],
        });
        if is_another {
            self.batch.clear();
        }
        self.batch.make_room(self.rows);
        self.have_played()?;
        while unfinished > 0 && self.batch.rows < self.batch.full {
            self.draw_actions()?;
            for env in 0..self.batch.num_envs {
                if self.step_in(env, weights)? != Status::Running {
                    window.add(self.episodes[env].sum());
                    unfinished -= 1;
                }
            }
            self.batch.rows += self.batch.num_envs;
        }
        if self.novelty.is_some() {
            self.compare_novelty();
        }
        Ok(())
    }

    /// Has workers play the batch, where there are any, by the policy and in the units of now.
    fn have_played(&mut self) -> Result<()> {
        let own = self.split().0.len();
        let Some((streams, frame)) = &mut self.streams else { return Ok(()) };
        frame.clone_from(&self.frame);
        let policy = Acting::write(&self.actor, &self.actions, &self.parameters[..own], frame);
        let steps = self.rows / self.batch.num_envs;
        streams.play(&policy, steps, &mut self.rng)
    }

    /// Draws the next action of every environment.
    fn draw_actions(&mut self) -> Result<()> {
        let (entries, width) = (self.episodes[0].observation().len(), self.action.len());
        let (num_envs, first) = (self.batch.num_envs, self.batch.rows);
        for episode in &mut self.episodes[..num_envs] {
            episode.start_if_over(&mut self.rng)?;
            self.frame.observe(episode.observation());
        }
        for env in 0..num_envs {
            let (row, episode) = (first + env, &self.episodes[env]);
            self.batch.elapsed[row] = episode.steps() as u32;
            self.batch.left[row] = self.left(episode.steps());
            let input = &mut self.batch.inputs[row * entries..(row + 1) * entries];
            units(&self.streams, &self.frame).input(episode.observation(), input);
            if let Some(recall) = &mut self.recall {
                recall.see(env, episode.observation());
            }
        }
        let own = self.actor.parameters() + self.actions.parameters();
        let (policy, critic) = self.parameters.split_at(own);
        let (network, deviations) = policy.split_at(self.actor.parameters());
        let inputs = &self.batch.inputs[first * entries..(first + num_envs) * entries];
        if self.streams.is_none() {
            self.actor.forward(network, inputs, &mut self.acting);
        }
        self.critic.forward(critic, inputs, &mut self.valuing);
        self.batch.predict(first, &self.valuing.value.output);
        let outputs = self.actor.shape().policy;
        for (env, episode) in self.episodes[..num_envs].iter_mut().enumerate() {
            let row = first + env;
            let drawn = &mut self.batch.actions[row * width..(row + 1) * width];
            self.batch.drawn[row] = match &self.streams {
                Some((streams, _)) => streams.next_action(env, drawn),
                None => {
                    let output = &mut self.acting.policy.output[env * outputs..(env + 1) * outputs];
                    self.actions.draw(output, deviations, &mut self.rng, drawn);
                    log_probability(&self.actions, &self.bounds, (output, deviations), drawn)
                }
            };
            self.batch.log_probabilities[row] = self.batch.drawn[row];
            self.frame.action(&self.actions, drawn, &mut self.action);
            episode.submit_action(&self.action)?;
        }
        Ok(())
    }

    /// Takes the step of one environment.
    fn step_in(&mut self, env: usize, weights: &[f64]) -> Result<Status> {
        let (row, width, heads) = (self.batch.rows + env, self.action.len(), self.weights.len());
        let drawn = &self.batch.actions[row * width..(row + 1) * width];
        self.frame.action(&self.actions, drawn, &mut self.action);
        let episode = &mut self.episodes[env];
        let mut status = episode.step(&self.action, &mut self.rng)?;
        if status == Status::CutOff && self.is_finite_horizon {
            status = Status::Ended;
            self.horizon = self.horizon.max(Some(episode.steps()));
        }
        self.batch.status[row] = status;
        if let Some(recall) = &mut self.recall {
            recall.act(env, drawn, episode.z(), self.batch.left[row]);
            match status {
                Status::Running => (),
                Status::Ended => recall.keep(env, self.gamma),
                // Nobody knows what would have followed.
                Status::CutOff => recall.leave_one(env),
            }
        }
        let gains = &mut self.batch.gains[row * heads..(row + 1) * heads];
        let (gains, newness) = gains.split_at_mut(heads - usize::from(self.novelty.is_some()));
        if let Some(novelty) = &mut self.novelty {
            newness.fill(novelty.visit(episode.observation()));
        }
        match self.options.critic {
            Critic::Reward => gains[0] = vector::dot(weights, episode.z()) as f32,
            Critic::Measurements => narrow(episode.z(), gains),
        }
        self.returns.add(env, gains, self.gamma.into(), status != Status::Running);
        // The next row of this environment is not the state that this step led to.
        let is_last = row + self.batch.num_envs >= self.batch.full;
        if status == Status::CutOff || (status == Status::Running && is_last) {
            self.inputs.clear();
            self.inputs.resize(episode.observation().len(), 0.0);
            units(&self.streams, &self.frame).input(episode.observation(), &mut self.inputs);
            let left = self.left(self.episodes[env].steps());
            let own = self.actor.parameters() + self.actions.parameters();
            self.critic.forward(&self.parameters[own..], &self.inputs, &mut self.valuing);
            let after = &mut self.batch.after[row * heads..(row + 1) * heads];
            for (after, value) in after.iter_mut().zip(&self.valuing.value.output) {
                *after = left * value;
            }
        }
        Ok(status)
    }

    /// What was new in the rows just played, beside the rest of them: to go on for longer is nothing new.
    fn compare_novelty(&mut self) {
        let heads = self.weights.len();
        let newness = || (self.batch.earlier..self.batch.rows).map(|row| (row + 1) * heads - 1);
        let mean = newness().map(|i| self.batch.gains[i]).sum::<f32>() / self.batch.fresh() as f32;
        let share = 1.0 - self.gamma;
        newness().for_each(|i| self.batch.gains[i] = share * (self.batch.gains[i] - mean));
    }

    /// Divides what was gained by the size of returns, which a critic need not know then, and says what each head counts for.
    pub(super) fn scale_gains(&mut self, weights: &[f64]) {
        let heads = self.weights.len();
        let rewards = heads - usize::from(self.novelty.is_some());
        let numbers = self.batch.rows * heads;
        let gains = &mut self.batch.scaled_gains[..numbers];
        gains.copy_from_slice(&self.batch.gains[..numbers]);
        match self.options.critic {
            Critic::Reward => self.weights[0] = 1.0,
            Critic::Measurements => narrow(weights, &mut self.weights),
        }
        if self.options.norm_value {
            for (head, weight) in self.weights[..rewards].iter_mut().enumerate() {
                let deviation = self.returns.deviation(head) as f32;
                gains.iter_mut().skip(head).step_by(heads).for_each(|gain| *gain /= deviation);
                *weight *= deviation;
            }
            let length = self.weights[..rewards].iter().map(|weight| weight * weight).sum::<f32>().sqrt();
            if self.options.norm_reward && length > 0.0 {
                self.weights[..rewards].iter_mut().for_each(|weight| *weight /= length);
            }
        }
        if self.novelty.is_some() {
            self.weights[rewards] = self.options.novelty_coef;
        }
    }
}
