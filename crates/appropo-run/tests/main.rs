//! Runs on disk: one program for all tests, since each program is linked on its own.

#![allow(clippy::unwrap_used, clippy::panic)]

mod corpus;
mod files;
mod live;
mod study;
