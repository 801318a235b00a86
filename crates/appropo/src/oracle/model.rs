use std::collections::HashMap;
use std::sync::Arc;

use super::{
    AnyOracle, Confirmation, Exact, LONG, MOST_CONFIRMING, MakeOracle, ModelBased, MonteCarlo, OracleContext,
    OracleEntry, Planner, Respond, Response, gives_hope, is_sure,
};
use crate::env::{EnvSpec, Environment, Simulator, Status, TabularMdp, countable};
use crate::error::{Result, in_range, not_too_large};
use crate::measurement::{Discounting, Estimate};
use crate::options::{Kind, Options, Table, options};
use crate::policy::{AnyPolicy, Memory, Mixed, Policy, TabularPolicy};
use crate::random::{self, Generator};
use crate::rl::{self, Controls, Episode, Occupancy, Plan};
use crate::set::{ConvexSet, SharedSet};
use crate::state::{Checkpoint, Loader, Saver, misfit};

options! {
    /// The options of the model-based oracle.
    pub struct ModelOptions {
        /// m, how often an action must have been tried in a state before its outcomes are trusted.
        trials: usize = Kind::Count(1, 1_000_000), defaulted "1";
        /// In how many models drawn from the posterior a mixture must lie in the set before the search ends.
        posterior_checks: usize = Kind::Count(1, 1_000_000), defaulted "50";
        /// Fresh episodes that confirm it then at least.
        confirming: usize = Kind::Count(4, 1_000_000), defaulted "40";
    }
}

pub(super) static ENTRY: OracleEntry = OracleEntry {
    name: "model",
    about: "planning in a model learnt by playing: the default where states can be counted",
    keys: ModelOptions::KEYS,
    read: |given| Ok(Arc::new(ModelOptions::read(given)?)),
};

impl MakeOracle for ModelOptions {
    fn name(&self) -> &str {
        ENTRY.name
    }

    fn make(&self, context: OracleContext) -> Result<AnyOracle> {
        let (env, limit) = (context.environment(None)?, context.limit());
        let rng = random::split(context.rng);
        let model = Model::new(env, context.discounting, limit, context.samples, self.clone(), rng)?;
        Ok(AnyOracle::ModelBased(Box::new(model)))
    }

    fn check(&self, env: &EnvSpec) -> Result<()> {
        countable("the model-based oracle", env.observations(), env.actions()).map(drop)
    }

    fn tables(&self, _: &EnvSpec) -> Vec<(String, Table)> {
        vec![(ENTRY.name.into(), Options::table(self))]
    }
}

/// Best responses planned in a model that is learnt from every step of every policy.
///
/// It begins with a survey: plans lead to actions tried fewer than m times, made anew as soon as one has been tried,
/// until none is likely to be met. While answering, such an action is not available. Samples do not grow with the number
/// of calls: one model serves every λ, and only [`rollout`](ModelBased::rollout) plays more.
#[derive(Debug)]
pub struct Model {
    episode: Episode,
    discounting: Discounting,
    budget: u64,
    options: ModelOptions,
    states: usize,
    actions: usize,
    /// For every state and action, how often each (next state, outcome) followed.
    seen: Vec<Vec<(u32, u32, u32)>>,
    tried: Vec<u32>,
    outcomes: Vec<Vec<(usize, f64)>>,
    known: HashMap<Vec<(usize, u64)>, u32>,
    starts: Vec<(usize, u32)>,
    samples: u64,
    /// The oracle of the model as it is; `None` once an episode has begun.
    planned: Option<ModelOracle>,
    rng: Generator,
}

/// Best responses in a model, by actions that are available in the world.
#[derive(Debug)]
pub struct ModelOracle {
    exact: Exact,
    /// What stands for each action, as `[state * actions + action]`.
    available: Vec<u32>,
    actions: usize,
    /// What became of the exact oracle's policies, so that equal answers share one policy.
    known: HashMap<Vec<u32>, Arc<AnyPolicy>>,
}

impl Checkpoint for ModelOracle {}

impl Respond for ModelOracle {
    fn respond(&mut self, lam: &[f64], offset: f64) -> Result<Response> {
        let response = self.exact.respond(lam, offset)?;
        let [(_, planned)] = response.policy.parts() else { return Ok(response) };
        let AnyPolicy::Table(planned) = planned.as_ref() else { return Ok(response) };
        let states = planned.states();
        let mut table = Vec::with_capacity(states * planned.stages());
        for (stage, state) in (0..planned.stages()).flat_map(|t| (0..states).map(move |s| (t, s))) {
            let action = (0..self.actions).find(|&a| planned.probability(stage, state, a) > 0.0).unwrap_or(0);
            table.push(self.available.get(state * self.actions + action).copied().unwrap_or(0));
        }
        let policy = match self.known.get(&table) {
            Some(policy) => Arc::clone(policy),
            None => {
                let policy = TabularPolicy::deterministic(states, self.actions, table.clone())?;
                Arc::clone(self.known.entry(table).or_insert(Arc::new(policy.into())))
            }
        };
        Ok(Response { policy: Mixed::shared(policy), ..response })
    }
}

/// How likely a plan must be to meet something new for it to be worth playing on.
const REACH: f64 = 0.02;

/// Standard errors by which fresh episodes must keep away from the set's edge: they are looked at after each of them.
const SURE: f64 = 3.0;

/// Episodes played in the model to see how much they differ.
const SIMULATED: usize = 200;

/// The samples divided by this are those that are added at least before another plan.
const NEWS: u64 = 150;

/// How many times the surprises of the model those of drawn ones are.
const POSTERIOR_SURPRISE: f64 = 4.0;

/// In a model that was learnt some policies may never end, where in the world they do.
const ALMOST_ONE: f64 = 0.9999;

impl Model {
    /// An oracle for a world of countable observations and actions. Episodes are cut off after `limit` steps, and after
    /// `budget` steps in all no more are taken.
    pub fn new(
        world: Box<dyn Environment>,
        discounting: Discounting,
        limit: usize,
        budget: u64,
        options: ModelOptions,
        rng: Generator,
    ) -> Result<Self> {
        let (states, actions) = countable("the model-based oracle", &world.observations(), &world.actions())?;
        if let Some(horizon) = discounting.horizon() {
            not_too_large("horizon times states times actions", &[horizon, states, actions], 200_000_000)?;
        }
        in_range("trials", options.trials as f64, options.trials > 0, "1 or more")?;
        let endless = discounting.gamma() == 1.0 && discounting.horizon().is_none();
        Ok(Self {
            episode: Episode::new(world, discounting.gamma(), limit),
            discounting: if endless { Discounting::new(ALMOST_ONE, None)? } else { discounting },
            budget,
            options,
            states,
            actions,
            seen: vec![Vec::new(); states * actions],
            tried: vec![0; states * actions],
            outcomes: Vec::new(),
            known: HashMap::new(),
            starts: Vec::new(),
            samples: 0,
            planned: None,
            rng,
        })
    }

    /// Tries everything m times that is not too hard to get to.
    fn survey(&mut self) -> Result<()> {
        // One start with nothing new near it says little about other starts.
        let mut idle = 0.0;
        while idle * REACH < 1.0 && self.samples < self.budget {
            self.start()?;
            let before = self.samples;
            let mut plan = self.curiosity()?;
            while self.goes_on() && plan.values[self.place(&plan)] > REACH {
                if self.step(plan.actions[self.place(&plan)] as usize)? {
                    plan = self.curiosity()?;
                }
            }
            idle = if self.samples == before { idle + 1.0 } else { 0.0 };
        }
        Ok(())
    }

    /// The plan that soonest gets to anything that is not trusted, a free exit.
    fn curiosity(&self) -> Result<Plan> {
        let model = self.estimated(true, None)?;
        let new = (0..self.tried.len()).map(|pair| if self.is_trusted(pair) { 0.0 } else { 1.0 });
        // The end state takes no actions, but has a place in the table.
        let rewards: Vec<f64> = new.chain(vec![0.0; self.actions]).collect();
        let (gamma, decisions) = (self.discounting.gamma(), rl::decision_states(&model));
        match self.discounting.horizon() {
            Some(horizon) => {
                // Sooner is better also where nothing is discounted, and the horizon's end is worth the way.
                let gamma = gamma.min(1.0 - 1.0 / (horizon as f64 + 1.0));
                Ok(rl::backward_induction(&model, gamma, horizon, &decisions, &rewards))
            }
            None => rl::policy_iteration(&model, gamma, &decisions, &rewards, 0.0),
        }
    }

    /// Plays until enough has been added for another plan: where episodes are short, one more changes none.
    fn until_news(&mut self, play: impl Fn(&mut Self) -> Result<()>) -> Result<()> {
        let before = self.samples;
        loop {
            let now = self.samples;
            play(self)?;
            let is_news = self.samples > before.saturating_add(before / NEWS);
            if is_news || self.samples == now || self.is_spent() {
                return Ok(());
            }
        }
    }

    /// Where a plan holds what it says about this moment.
    fn place(&self, plan: &Plan) -> usize {
        let stages = plan.actions.len() / (self.states + 1);
        self.episode.steps().min(stages - 1) * (self.states + 1) + self.episode.observation()[0] as usize
    }

    fn start(&mut self) -> Result<()> {
        self.episode.start(&mut self.rng)?;
        let start = self.episode.observation()[0] as usize;
        match self.starts.iter_mut().find(|(state, _)| *state == start) {
            Some((_, count)) => *count += 1,
            None => self.starts.push((start, 1)),
        }
        self.planned = None;
        Ok(())
    }

    fn goes_on(&self) -> bool {
        self.episode.status() == Status::Running && self.samples < self.budget
    }

    /// Takes a step and remembers it. Returns whether the action was not trusted before.
    fn step(&mut self, action: usize) -> Result<bool> {
        let pair = self.episode.observation()[0] as usize * self.actions + action;
        let status = self.episode.step(&[action as f64], &mut self.rng)?;
        self.samples += 1;
        let was_trusted = self.is_trusted(pair);
        // An end at the horizon is that of time, which states do not show.
        let is_in_time = self.discounting.horizon().is_none_or(|horizon| self.episode.steps() < horizon);
        let is_end = status == Status::Ended && is_in_time;
        self.record(pair, if is_end { None } else { Some(self.episode.observation()[0]) });
        Ok(!was_trusted)
    }

    /// An episode of a mixed policy, of so many steps at most. Returns the place of the policy that played it.
    fn play(&mut self, mixture: &Mixed, most: f64) -> Result<usize> {
        self.start()?;
        let (mut memory, mut action) = (Memory::default(), [0.0]);
        let part = mixture.draw_part(&mut self.rng);
        if let Some((_, policy)) = mixture.parts().get(part) {
            while self.goes_on() && (self.episode.steps() as f64) < most {
                let (observation, step) = (self.episode.observation(), self.episode.steps());
                policy.act(observation, step, &mut self.rng, &mut memory, &mut action);
                self.step(action[0] as usize)?;
            }
        }
        Ok(part)
    }

    fn record(&mut self, pair: usize, next: Option<f64>) {
        let z: Vec<(usize, f64)> =
            self.episode.z().iter().copied().enumerate().filter(|(_, v)| *v != 0.0).collect();
        let key = z.iter().map(|&(i, v)| (i, v.to_bits())).collect();
        let outcome = *self.known.entry(key).or_insert_with(|| {
            self.outcomes.push(z);
            self.outcomes.len() as u32 - 1
        });
        let next = next.map_or(self.states, |state| state as usize) as u32;
        match self.seen[pair].iter_mut().find(|(n, o, _)| (*n, *o) == (next, outcome)) {
            Some((_, _, count)) => *count += 1,
            None => self.seen[pair].push((next, outcome, 1)),
        }
        self.tried[pair] += 1;
    }

    fn is_trusted(&self, pair: usize) -> bool {
        self.tried[pair] as usize >= self.options.trials
    }

    /// The action itself where it is trusted, else the one tried most often there.
    fn available(&self, state: usize, action: usize) -> usize {
        let tried = |action: &usize| self.tried[state * self.actions + action];
        if self.is_trusted(state * self.actions + action) {
            return action;
        }
        (0..self.actions).rev().max_by_key(tried).unwrap_or(action)
    }

    /// How many trials a surprise weighs: the odds that repeating an action in a state does not do what it mostly did,
    /// over all that was tried again.
    fn surprise(&self) -> f64 {
        let (mut odd, mut repeats) = (0.5, 1.0);
        for seen in self.seen.iter().filter(|seen| !seen.is_empty()) {
            let counts = seen.iter().map(|(_, _, count)| f64::from(*count));
            let (sum, most) = counts.fold((0.0, 0.0), |(sum, most): (f64, f64), n| (sum + n, most.max(n)));
            odd += sum - most;
            repeats += sum - 1.0;
        }
        odd / (repeats - odd)
    }

    /// What was seen as a model. An action that is not trusted ends the episode while exploring; otherwise it is the same
    /// as the one tried most often there, and ends the episode only where none was tried.
    ///
    /// Unless exploring, what any action did in the state counts too, as many trials as [`surprise`](Self::surprise)
    /// says: what was tried once would else look certain, and plans seek out what happened to go well. With a generator,
    /// a model drawn from those that may as well be true: the Dirichlet distribution with these counts, surprises four
    /// times as many, because few draws must notice what may be wrong.
    fn estimated(&self, exploring: bool, mut posterior: Option<Generator>) -> Result<TabularMdp> {
        let end = self.states;
        let mut model = TabularMdp::builder(end + 1, self.actions, self.episode.world().measures().clone());
        model.terminal(end);
        let weigh = |count: f64, posterior: &mut Option<Generator>| match posterior {
            Some(rng) => random::gamma(count, rng),
            None => count,
        };
        let surprise = self.surprise() * if posterior.is_some() { POSTERIOR_SURPRISE } else { 1.0 };
        let starts: Vec<f64> =
            self.starts.iter().map(|start| weigh(f64::from(start.1), &mut posterior)).collect();
        let total: f64 = starts.iter().sum();
        for ((state, _), weight) in self.starts.iter().zip(starts) {
            model.start(*state, weight / total);
        }
        for (state, action) in (0..self.states).flat_map(|s| (0..self.actions).map(move |a| (s, a))) {
            let first = state * self.actions;
            let shown = first + if exploring { action } else { self.available(state, action) };
            if self.tried[shown] == 0 || (exploring && !self.is_trusted(shown)) {
                model.transition((state, action), 1.0, end, &[]);
                continue;
            }
            let mut shares: Vec<(u32, u32, f64)> =
                self.seen[shown].iter().map(|&(n, o, count)| (n, o, f64::from(count))).collect();
            if !exploring {
                let all = self.seen[first..first + self.actions].iter().flatten();
                let tried: u32 = self.tried[first..first + self.actions].iter().sum();
                let share = surprise / f64::from(tried);
                shares.extend(all.map(|&(n, o, count)| (n, o, share * f64::from(count))));
            }
            shares.iter_mut().for_each(|(_, _, weight)| *weight = weigh(*weight, &mut posterior));
            let total: f64 = shares.iter().map(|(_, _, weight)| weight).sum();
            for (next, outcome, weight) in shares {
                model.transition(
                    (state, action),
                    weight / total,
                    next as usize,
                    &self.outcomes[outcome as usize],
                );
            }
        }
        model.build()
    }

    /// What a mixed policy measures in a model drawn from the posterior. Draws are numbered; until more is played, the same
    /// number gives the same model.
    fn posterior_sample(&self, mixture: &Mixed, draw: usize) -> Result<Vec<f64>> {
        let mut source = self.rng.clone();
        let rng = (0..draw).fold(random::split(&mut source), |_, _| random::split(&mut source));
        let model = self.estimated(false, Some(rng))?;
        Ok(Occupancy::of_mixture(&model, &self.discounting, mixture)?.measure(&model))
    }
}

impl ModelBased for Model {
    fn oracle(&mut self) -> Result<&mut dyn Respond> {
        if self.starts.is_empty() {
            self.survey()?;
        }
        let planned = match self.planned.take() {
            Some(planned) => planned,
            None => {
                let exact =
                    Exact::new(self.estimated(false, None)?, self.discounting, Planner::PolicyIteration)?;
                let pairs = (0..self.states).flat_map(|s| (0..self.actions).map(move |a| (s, a)));
                let available = pairs.map(|(s, a)| self.available(s, a) as u32).collect();
                ModelOracle { exact, available, actions: self.actions, known: HashMap::new() }
            }
        };
        Ok(self.planned.insert(planned))
    }

    fn rollout(&mut self, mixture: &Mixed) -> Result<()> {
        // What comes later counts little, and a policy that turns in circles teaches little.
        let most = 1.0 / (1.0 - self.discounting.gamma());
        self.until_news(|model| model.play(mixture, most).map(drop))
    }

    fn explore(&mut self) -> Result<()> {
        self.until_news(|model| {
            model.options.trials += 1;
            model.survey()
        })
    }

    fn is_spent(&self) -> bool {
        self.samples >= self.budget
    }

    /// Those of episodes played in the model, which cost nothing.
    fn deviations(&mut self, mixture: &Mixed) -> Result<Vec<f64>> {
        let world = Simulator::new(Arc::new(self.estimated(false, None)?), self.discounting.horizon());
        let episode = Episode::new(Box::new(world), self.discounting.gamma(), self.episode.limit());
        let (mut estimate, mut rng) = (Estimate::new(self.episode.z().len()), self.rng.clone());
        MonteCarlo::new(episode, &mut rng).play(mixture, SIMULATED, &mut estimate)?;
        Ok(estimate.with_spread().1.deviations)
    }

    /// First in models that may as well be true, then in fresh episodes, which are learnt from like any other. What policies
    /// differ by in the model is taken out of them (see [`Controls`]).
    fn confirm(&mut self, mixture: &Mixed, set: &SharedSet, tolerance: f64) -> Result<Confirmation> {
        for draw in 0..self.options.posterior_checks {
            if !set.contains(&self.posterior_sample(mixture, draw)?, tolerance) {
                return Ok(Confirmation::Refuted(None));
            }
        }
        self.oracle()?;
        let Some(planned) = &self.planned else { return Ok(Confirmation::Refuted(None)) };
        let z = planned.exact.measure(mixture)?;
        let alone = |policy: &Arc<AnyPolicy>| planned.exact.measure(&Mixed::shared(Arc::clone(policy)));
        let measured: Result<Vec<_>> =
            mixture.parts().iter().map(|(weight, policy)| Ok((*weight, alone(policy)?))).collect();
        let controls = Controls::known(&measured?);
        let deviations = self.deviations(mixture)?;
        let (mut fresh, before) = (Estimate::new(self.episode.z().len()), self.samples);
        while fresh.count() < MOST_CONFIRMING && self.samples - before < self.budget / 10 {
            let part = self.play(mixture, LONG / (1.0 - self.discounting.gamma()))?;
            if self.is_spent() {
                // The last episode may not be whole.
                break;
            }
            let mut sum = self.episode.sum().to_vec();
            controls.add(part, &mut sum);
            fresh.add(&sum);
            if !gives_hope(&fresh, set) {
                return Ok(Confirmation::Refuted(None));
            }
            if fresh.count() >= self.options.confirming && is_sure(&fresh, SURE, &deviations, set, tolerance)
            {
                return Ok(Confirmation::Sure(z));
            }
        }
        if fresh.count() >= MOST_CONFIRMING {
            return Ok(Confirmation::Refuted(None));
        }
        // Where the steps are enough for too few episodes, they say little, and the models all the more.
        Ok(if fresh.count() < self.options.confirming {
            Confirmation::Sure(z)
        } else {
            Confirmation::Unrefuted(z, None)
        })
    }

    fn posterior(&mut self, mixture: &Mixed) -> Result<Option<(Vec<f64>, Vec<f64>)>> {
        let mut estimate = Estimate::new(self.episode.z().len());
        for draw in 0..self.options.posterior_checks.max(2) {
            estimate.add(&self.posterior_sample(mixture, draw)?);
        }
        let (mean, spread) = estimate.with_spread();
        Ok(Some((mean, spread.deviations)))
    }

    fn fits(&self, policy: &AnyPolicy) -> bool {
        // A model has a state of its own for the end.
        matches!(policy, AnyPolicy::Table(policy)
            if (policy.states(), policy.actions()) == (self.states + 1, self.actions))
    }

    fn samples(&self) -> u64 {
        self.samples
    }
}

impl Checkpoint for Model {
    fn save(&self, to: &mut Saver) -> Result<()> {
        to.put(&self.options.trials);
        to.put(&self.outcomes);
        for seen in &self.seen {
            let seen: Vec<(u32, (u32, u32))> = seen.iter().map(|&(n, o, count)| (n, (o, count))).collect();
            to.put(&seen);
        }
        to.put(&self.starts);
        to.put(&self.samples);
        to.put(&self.rng);
        self.episode.save(to)
    }

    fn load(&mut self, from: &mut Loader) -> Result<()> {
        let (dim, states) = (self.episode.z().len(), self.states);
        self.options.trials = from.get_count("a number of trials")?;
        let fits = |outcome: &Vec<(usize, f64)>| outcome.iter().all(|(i, v)| *i < dim && v.is_finite());
        self.outcomes = from.get_where("an outcome", |all: &Vec<_>| all.iter().all(fits))?;
        let key = |outcome: &Vec<(usize, f64)>| outcome.iter().map(|&(i, v)| (i, v.to_bits())).collect();
        self.known = self.outcomes.iter().map(key).zip(0..).collect();
        let outcomes = self.outcomes.len();
        for (seen, tried) in self.seen.iter_mut().zip(&mut self.tried) {
            let fits = |(next, (outcome, count)): &(u32, (u32, u32))| {
                *next as usize <= states && (*outcome as usize) < outcomes && *count > 0
            };
            let all = from.get_where("a transition", |all: &Vec<_>| all.iter().all(fits))?;
            let total = all.iter().map(|(_, (_, count))| u64::from(*count)).sum::<u64>();
            // With room to count on.
            *tried = u32::try_from(2 * total).map_err(|_| misfit("an action was tried too often"))? / 2;
            *seen = all.into_iter().map(|(next, (outcome, count))| (next, outcome, count)).collect();
        }
        let fits = |(state, count): &(usize, u32)| *state < states && (1..u32::MAX / 2).contains(count);
        self.starts = from.get_where("a start", |starts: &Vec<_>| starts.iter().all(fits))?;
        self.samples = from.get()?;
        self.rng = from.get()?;
        self.planned = None;
        self.episode.load(from)
    }
}
