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
//! The Mars rover must reach its goal, crash in at most three of ten episodes, and not dawdle. It learns by playing:
//!
//! ```
//! use appropo::certificate::Verdict;
//! use appropo::constraint::Constraint;
//! use appropo::env::mars_rover;
//! use appropo::method::{Appropo, Budget};
//! use appropo::oracle::Learned;
//! use appropo::problem::Problem;
//! use appropo::rl::actor_critic::PpoOptions;
//!
//! # fn main() -> appropo::error::Result<()> {
//! let problem = Problem::builder(mars_rover::world("4x4", 0.05)?)
//!     .discount(0.99)
//!     .constraint(Constraint::at_most("failure", 0.3)?)
//!     .constraint(Constraint::at_least("reward", -0.17)?)
//!     .build()?;
//! let method = Appropo::default().oracle(Learned::by(PpoOptions::default().learning_rate(2e-3)));
//! let outcome = problem.solve(&method, &Budget::samples(100_000), 0, &mut ())?;
//!
//! assert_eq!(outcome.verdict(), Verdict::Feasible);
//! appropo::verify::verify(&problem, &outcome, 1)?; // computes the claim again
//! # Ok(())
//! # }
//! ```
//!
//! [`method::Appropo::default`] plans instead where the model is known. [`problem::Problem::solve`] returns an
//! [`outcome::Outcome`]. The parts can be used by themselves: [`solver::appropo`] is the game of a player against an
//! oracle, each [`set`] projects, and [`rl`] plans and learns.

pub mod baseline;
pub mod certificate;
pub mod confidence;
pub mod constraint;
pub mod env;
pub mod error;
pub mod evaluate;
pub mod front;
pub mod measurement;
pub mod method;
pub mod nn;
pub mod off_policy;
pub mod options;
pub mod oracle;
pub mod outcome;
pub mod player;
pub mod policy;
pub mod price;
pub mod problem;
pub mod random;
pub mod record;
pub mod registry;
pub mod rl;
mod root;
pub mod scalars;
pub mod set;
pub mod solver;
pub mod state;
pub mod theory;
pub mod utility;
mod vector;
pub mod verify;

pub use env::dataset;
