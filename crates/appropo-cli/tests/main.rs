//! The program as its users see it: one program for all tests, since each program is linked on its own.

#![allow(clippy::unwrap_used, clippy::panic)]

mod architecture;
mod command_line;
mod distilling;
mod kills;
mod logs;
mod models;
mod networks;
mod options;
mod pareto;
mod problem_file;
mod runs;
mod studies;
