//! The world of a problem: a model that can be planned in, or one that can only be played in.

use std::sync::Arc;

use appropo::env::cart_pole::CartPole;
use appropo::env::point_mass::PointMass;
use appropo::env::{Environment, Grid, Selected, Simulator, TabularMdp, World};
use appropo::measurement::{Measures, Selection};

use super::outside::Described;

/// Steps after which an episode of a world without a horizon is cut off.
const LIMIT: usize = 1000;

pub enum Scene {
    Tabular(World),
    CartPole,
    PointMass,
    Outside(Described),
}

impl Scene {
    pub fn measures(&self) -> Measures {
        match self {
            Scene::Tabular(world) => world.model.measures().clone(),
            Scene::Outside(world) => world.measures.clone(),
            _ => self.play(None).measures().clone(),
        }
    }

    pub fn model(&self) -> Option<&Arc<TabularMdp>> {
        match self {
            Scene::Tabular(world) => Some(&world.model),
            _ => None,
        }
    }

    /// Whether learners that count states and actions can play in it.
    pub fn is_countable(&self) -> bool {
        match self {
            Scene::Tabular(_) => true,
            Scene::CartPole | Scene::PointMass => false,
            Scene::Outside(world) => world.observations.count().and(world.actions.count()).is_some(),
        }
    }

    /// How many worlds are played in at once.
    pub fn lanes(&self) -> usize {
        match self {
            Scene::Outside(world) => world.lanes,
            _ => 1,
        }
    }

    pub fn grid(&self) -> Option<&Grid> {
        match self {
            Scene::Tabular(world) => world.grid.as_ref(),
            _ => None,
        }
    }

    /// Episodes of this world.
    pub fn play(&self, horizon: Option<usize>) -> Box<dyn Environment> {
        match self {
            Scene::Tabular(world) => Box::new(Simulator::new(Arc::clone(&world.model), horizon)),
            Scene::CartPole => Box::new(CartPole::new(horizon)),
            Scene::PointMass => Box::new(PointMass::new(limit(horizon))),
            Scene::Outside(world) => world.play(None),
        }
    }

    /// Episodes of one of the worlds that are played in at once, measured by some entries only.
    pub fn play_lane(
        &self,
        lane: usize,
        selection: &Selection,
        horizon: Option<usize>,
    ) -> Box<dyn Environment> {
        match self {
            Scene::Outside(world) if world.lanes > 1 => {
                Box::new(Selected::new(world.play(Some(lane)), selection.clone()))
            }
            _ => self.play_selected(selection, horizon),
        }
    }

    /// Episodes measured by some entries only.
    pub fn play_selected(&self, selection: &Selection, horizon: Option<usize>) -> Box<dyn Environment> {
        match self {
            Scene::Tabular(world) => {
                Box::new(Simulator::new(Arc::new(world.model.select(selection)), horizon))
            }
            _ => Box::new(Selected::new(self.play(horizon), selection.clone())),
        }
    }
}

/// Steps after which an episode is cut off in any case.
pub fn limit(horizon: Option<usize>) -> usize {
    horizon.unwrap_or(LIMIT)
}
