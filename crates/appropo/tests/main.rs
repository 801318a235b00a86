//! The library as its users see it: one program for all tests, since each program is linked on its own.

#![allow(clippy::unwrap_used, clippy::panic)]

mod allocations;
mod apprenticeship;
mod architecture;
mod averages;
mod batch;
mod concave;
mod confidence;
mod cpo;
mod distilling;
mod endless;
mod evidence;
mod explicit;
mod lagrangian;
mod last_iterate;
mod learning;
mod machines;
mod maximizing;
mod measured;
mod options;
mod oracles;
mod pareto;
mod price;
mod projections;
mod registering;
mod resume;
mod rover;
mod scaling;
mod solving;
mod state_augmented;
mod theorems;
mod workers;
mod worlds;
