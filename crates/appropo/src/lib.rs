//! Reinforcement learning under convex constraints, with evidence.
//!
//! A world is acted in by a policy π. Along an episode a vector z is measured in every step: failures, cost, steps,
//! visits to each cell. The *long-term measurement* of π is its expected discounted sum,
//!
//! ```text
//! Z̄(π) = E[ Σᵢ γⁱ zᵢ | π ],
//! ```
//!
//! and a *mixed policy* μ draws one policy for each episode, so that Z̄(μ) = Σ μ(π) Z̄(π). Given a closed convex set C,
//! the problem is
//!
//! ```text
//! find μ with Z̄(μ) ∈ C,   or else minimise dist(Z̄(μ), C) and prove that no μ does better.
//! ```
//!
//! ApproPO solves it as a game. A λ-player names a half-space {z : λ·z ≤ h} that contains C. An oracle answers with a
//! policy for the scalar reward −λ·z, as any reinforcement-learning algorithm can. The player learns from the answer's
//! measurements, and the mixture of all answers approaches C.
//!
//! | Symbol | Here | Meaning |
//! | --- | --- | --- |
//! | z, d | [`measurement`] | what is measured in a step, and its number of entries |
//! | γ | [`measurement::Discounting`] | discount factor, with an optional horizon |
//! | Z̄(π), ρ | [`rl::Occupancy`] | long-term measurement, and the occupancy it is linear in |
//! | μ | [`policy::Mixed`] | mixed policy |
//! | C, Γ | [`set::ConvexSet`] | target set and the projection onto it |
//! | C̃, κ | [`set::Lift`] | the cone over C placed at height κ |
//! | C°, Λ = C° ∩ B | [`set::Polar`], [`set::Lambda`] | polar cone, and the player's decisions |
//! | λ | [`player::Decision`] | direction named by the player |
//! | ẑ | [`oracle::Response`] | the answer's measurement |
//! | η, T, G | [`theory`] | step size, rounds, bound on what is observed |
//!
//! # Example
//!
//! The Mars rover must reach its goal, crash in at most one of five episodes, and not dawdle:
//!
//! ```
//! use std::sync::Arc;
//! use appropo::certificate::Verdict;
//! use appropo::constraint::{Constraint, Target};
//! use appropo::env::mars_rover;
//! use appropo::measurement::Discounting;
//! use appropo::oracle::{Exact, Planner};
//! use appropo::player::FullyCorrective;
//! use appropo::solver::{Options, appropo};
//!
//! # fn main() -> appropo::error::Result<()> {
//! let world = mars_rover::world("8x8", 0.05)?;
//! let constraints = vec![Constraint::at_most("failure", 0.2)?, Constraint::at_least("reward", -0.17)?];
//! let target = Target::new(world.model.measures(), constraints)?;
//!
//! let model = world.model.select(target.selection());
//! let mut oracle = Exact::new(model, Discounting::new(0.99, None)?, Planner::PolicyIteration)?;
//! let mut player = FullyCorrective::new(Arc::clone(target.set()));
//! let solution = appropo(target.set(), &mut player, &mut oracle, &Options::default(), &mut ())?;
//!
//! assert_eq!(solution.certificate.verdict, Verdict::Feasible);
//! oracle.check(&solution.certificate, target.set(), &solution.mixture)?; // computes the claim again
//! # Ok(())
//! # }
//! ```

pub mod baseline;
pub mod certificate;
pub mod confidence;
pub mod constraint;
pub mod env;
pub mod error;
pub mod measurement;
pub mod nn;
pub mod oracle;
pub mod player;
pub mod policy;
pub mod random;
pub mod rl;
mod root;
pub mod set;
pub mod solver;
pub mod state;
pub mod theory;
mod vector;
