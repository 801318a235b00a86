//! Environment steps per second of A2C on the Mars rover, learning included: one number, for `bench/`.

use std::sync::Arc;
use std::time::Instant;

use appropo::env::{Environment, Simulator, mars_rover};
use appropo::error::Result;
use appropo::measurement::Selection;
use appropo::random;
use appropo::rl::actor_critic::ActorCriticOptions;
use appropo::rl::{ActorCritic, EpisodeWindow, Learner};

const WORLDS: usize = 8;
const STEPS: usize = 2_000_000;

fn main() -> Result<()> {
    let world = mars_rover::world("8x8", 0.05)?;
    let model = Arc::new(world.model.select(&Selection { entries: vec![(0, 1.0), (1, 1.0)] }));
    let simulator = || Box::new(Simulator::new(Arc::clone(&model), Some(300))) as Box<dyn Environment>;
    let worlds = (0..WORLDS).map(|_| simulator()).collect();
    let mut learner = ActorCritic::new(worlds, 0.99, 300, ActorCriticOptions::a2c(), random::generator(0))?;
    let mut trail = EpisodeWindow::new(100, 2);
    let start = Instant::now();
    let mut steps = 0;
    while steps < STEPS {
        steps += learner.learn(&[-1.0, 1.0], &mut trail)?;
    }
    println!("{:.0}", steps as f64 / start.elapsed().as_secs_f64());
    Ok(())
}
