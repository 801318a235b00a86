//! What a checkpoint may hold: anything.

use std::ops::ControlFlow;
use std::sync::Arc;

use appropo::constraint::{Constraint, Target};
use appropo::env::point_mass::PointMass;
use appropo::env::{Environment, Selected, Simulator, TabularMdp, mars_rover};
use appropo::error::Result;
use appropo::measurement::{Discounting, Estimate};
use appropo::oracle::{
    Cache, Exact, LearnedOptions, LearnedOracle, Model, ModelOptions, MonteCarlo, Planner, Respond,
};
use appropo::player::{Blackwell, FullyCorrective, Ogd, Player, Steps};
use appropo::policy::{Mixed, Policy};
use appropo::random;
use appropo::rl::actor_critic::{ActorCriticOptions, Collect, Update};
use appropo::rl::{ActorCritic, Episode, Learner, QLearner, QLearningOptions};
use appropo::set::{Ball, SharedSet};
use appropo::solver::{
    Round, Solution, StopRule, appropo, appropo_model_based, maximize, maximize_model_based, resume,
    resume_maximize, resume_maximize_model_based, resume_model_based, with_free_objective,
};
use appropo::utility::Criterion;
use appropo_run::Checkpoint;

/// Games that can be gone on with.
pub const GAMES: [&str; 10] = [
    "fully-corrective",
    "gradient-descent",
    "blackwell",
    "cache",
    "networks",
    "action-values",
    "learnt-model",
    "continuous-actions",
    "objective",
    "learnt-objective",
];

/// Discount, and the longest episode.
const GAMMA: f64 = 0.9;
const LIMIT: usize = 12;
/// Steps in the world.
const BUDGET: u64 = 400;

/// Reads a checkpoint whose first byte says which game it is of, then goes on from its state; and from the bytes
/// themselves, so that lengths need not fit twice.
pub fn checkpoint(bytes: &[u8]) {
    let Some((game, content)) = bytes.split_first() else { return };
    if let Ok(checkpoint) = Checkpoint::parse(content) {
        let _ = play(*game, Some(&checkpoint.state));
    }
    let _ = play(*game, Some(content));
}

/// Plays one of the games, from a state or from the start. Returns the states after its rounds.
pub fn play(game: u8, state: Option<&[u8]>) -> Result<Vec<Vec<u8>>> {
    let rover = rover()?;
    let (model, set) = (&rover.model, &rover.set);
    let exact = || Exact::new((**model).clone(), Discounting::new(GAMMA, None)?, Planner::PolicyIteration);
    let corrective = || FullyCorrective::new(Arc::clone(set));
    let descent = || Ogd::new(Arc::clone(set), 20.0, Steps::Decreasing(0.1), 0.5);
    let world = || Box::new(Simulator::new(Arc::clone(model), Some(LIMIT))) as Box<dyn Environment>;
    match usize::from(game) % GAMES.len() {
        0 => planned(set, corrective(), exact()?, state),
        1 => planned(set, descent()?, exact()?, state),
        2 => planned(set, Blackwell::new(Arc::clone(set)), exact()?, state),
        3 => game_of(set, descent()?, Cache::new(exact()?), state).map(|(_, states)| states),
        4 => learnt(set, world, |world| networks(vec![world(), world()]), state),
        5 => learnt(
            set,
            world,
            |world| QLearner::new(world(), GAMMA, LIMIT, QLearningOptions::default(), random::generator(1)),
            state,
        ),
        6 => model_based(set, world(), state),
        8 => objective(state),
        9 => learnt_objective(state),
        _ => {
            let pushed = || Box::new(PointMass::new(LIMIT)) as Box<dyn Environment>;
            let constraints = vec![Constraint::at_least("reward", -0.1)?];
            let target = Target::new(pushed().measures(), constraints)?;
            let world =
                || Box::new(Selected::new(pushed(), target.selection().clone())) as Box<dyn Environment>;
            learnt(target.set(), world, |world| networks(vec![world()]), state)
        }
    }
}

/// The rover's reward, as the objective behind a demand that some policies meet.
fn rewarded() -> Result<Rover> {
    let world = mars_rover::world("SFF\nFHG", 0.2)?;
    let target = Target::new(world.model.measures(), vec![Constraint::at_most("failure", 0.3)?])?;
    let reward = world.model.measures().range("reward")?.start;
    let model = Arc::new(world.model.select(&target.selection_with(&[(reward, 1.0)])));
    Ok(Rover { model, set: Arc::clone(target.set()) })
}

/// A search for a maximum in a known world, its bound computed again.
fn objective(state: Option<&[u8]>) -> Result<Vec<Vec<u8>>> {
    let Rover { model, set } = rewarded()?;
    let exact = || Exact::new((*model).clone(), Discounting::new(GAMMA, None)?, Planner::PolicyIteration);
    let (mut player, mut oracle) = (FullyCorrective::new(with_free_objective(&set)?), exact()?);
    let (rule, mut states) = (StopRule::default().rounds(6), Vec::new());
    let mut watch = |round: &Round| {
        states.extend((round.state)().ok().map(|(_, state)| state));
        ControlFlow::Continue(())
    };
    let found = match state {
        None => maximize(&set, &Criterion::last(), &mut player, &mut oracle, &rule, &mut watch)?,
        Some(state) => {
            resume_maximize(&set, &Criterion::last(), &mut player, &mut oracle, &rule, &mut watch, state)?
        }
    };
    if let Some(ceiling) = &found.ceiling {
        exact()?.upper_bound(ceiling, &set, &Criterion::last())?;
    }
    Ok(states)
}

/// The same in a model that is learnt.
fn learnt_objective(state: Option<&[u8]>) -> Result<Vec<Vec<u8>>> {
    let Rover { model, set } = rewarded()?;
    let world = Box::new(Simulator::new(model, Some(LIMIT)));
    let (options, discounting) = (ModelOptions::default(), Discounting::new(GAMMA, None)?);
    let mut model = Model::new(world, discounting, LIMIT, BUDGET, options, random::generator(4))?;
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
    let (rule, mut states) = (StopRule::default().rounds(4), Vec::new());
    let mut watch = |round: &Round| {
        states.extend((round.state)().ok().map(|(_, state)| state));
        ControlFlow::Continue(())
    };
    match state {
        None => maximize_model_based(&set, &Criterion::last(), &player, &mut model, &rule, &mut watch)?,
        Some(state) => resume_maximize_model_based(
            &set,
            &Criterion::last(),
            &player,
            &mut model,
            &rule,
            &mut watch,
            state,
        )?,
    };
    Ok(states)
}

struct Rover {
    model: Arc<TabularMdp>,
    set: SharedSet,
}

/// Six cells, and demands that no policy meets at once.
fn rover() -> Result<Rover> {
    let world = mars_rover::world("SFF\nFHG", 0.2)?;
    let constraints = vec![
        Constraint::at_most("failure", 0.1)?,
        Constraint::share("visits", Arc::new(Ball::new(vec![1.0 / 6.0; 6], 0.1)?)),
    ];
    let target = Target::new(world.model.measures(), constraints)?;
    let model = Arc::new(world.model.select(target.selection()));
    Ok(Rover { model, set: Arc::clone(target.set()) })
}

type Played = (Solution, Vec<Vec<u8>>);

fn game_of(
    set: &SharedSet,
    mut player: impl Player,
    mut oracle: impl Respond,
    state: Option<&[u8]>,
) -> Result<Played> {
    let options = StopRule::default().rounds(6).samples(BUDGET);
    let mut states = Vec::new();
    let mut watch = |round: &Round| {
        (round.mixture)();
        states.extend((round.state)().ok().map(|(_, state)| state));
        ControlFlow::Continue(())
    };
    let solution = match state {
        None => appropo(set, &mut player, &mut oracle, &options, &mut watch)?,
        Some(state) => resume(set, &mut player, &mut oracle, &options, &mut watch, state)?,
    };
    Ok((solution, states))
}

/// A game in a known world, its certificate computed again.
fn planned(
    set: &SharedSet,
    player: impl Player,
    oracle: Exact,
    state: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>> {
    let rover = rover()?;
    let estimator =
        Exact::new((*rover.model).clone(), Discounting::new(GAMMA, None)?, Planner::PolicyIteration)?;
    let (solution, states) = game_of(set, player, oracle, state)?;
    estimator.recompute(&solution.certificate, set, &solution.mixture)?;
    Ok(states)
}

/// A game with a learner, its mixture played.
fn learnt<L: Learner + 'static>(
    set: &SharedSet,
    world: impl Fn() -> Box<dyn Environment>,
    learner: impl Fn(&dyn Fn() -> Box<dyn Environment>) -> Result<L>,
    state: Option<&[u8]>,
) -> Result<Vec<Vec<u8>>> {
    let estimator = || MonteCarlo::new(Episode::new(world(), GAMMA, LIMIT), &mut random::generator(2));
    let options = LearnedOptions::default().episodes(3usize).fresh(2usize);
    let oracle = LearnedOracle::new(Box::new(learner(&world)?), estimator(), BUDGET, options)?;
    let player = FullyCorrective::new(Arc::clone(set)).with_margin(1.5);
    let (solution, states) = game_of(set, player, Cache::new(oracle), state)?;
    measure(&mut estimator(), &solution.mixture)?;
    Ok(states)
}

fn measure(estimator: &mut MonteCarlo, mixture: &Mixed) -> Result<()> {
    let mut estimate = Estimate::new(estimator.dim());
    estimator.play(mixture, 3, &mut estimate)?;
    mixture.parts().iter().for_each(|(_, policy)| drop(policy.table()));
    Ok(())
}

fn networks(worlds: Vec<Box<dyn Environment>>) -> Result<ActorCritic> {
    let options = ActorCriticOptions::ppo()
        .net_arch(vec![3])
        .n_steps(Collect::Steps(8))
        .update(Update::Ppo { clip_range: 0.2, n_epochs: 1, batch_size: 8, target_kl: 0.02 });
    ActorCritic::new(worlds, GAMMA, LIMIT, options, random::generator(3))
}

/// A game in a model that is learnt.
fn model_based(set: &SharedSet, world: Box<dyn Environment>, state: Option<&[u8]>) -> Result<Vec<Vec<u8>>> {
    let (options, discounting) = (ModelOptions::default(), Discounting::new(GAMMA, None)?);
    let mut model = Model::new(world, discounting, LIMIT, BUDGET, options, random::generator(4))?;
    let player = |set: &SharedSet| Ok(Box::new(FullyCorrective::new(Arc::clone(set))) as Box<dyn Player>);
    let options = StopRule::default().rounds(4);
    let mut states = Vec::new();
    let mut watch = |round: &Round| {
        states.extend((round.state)().ok().map(|(_, state)| state));
        ControlFlow::Continue(())
    };
    match state {
        None => appropo_model_based(set, &player, &mut model, &options, &mut watch)?,
        Some(state) => resume_model_based(set, &player, &mut model, &options, &mut watch, state)?,
    };
    Ok(states)
}
