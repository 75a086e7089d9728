//! Races with real threads, random operations, and values of a megabyte.
//!
//! Short by default; `LENO_STRESS=n` runs n times as much. Nothing depends on time, except that timeouts pass.

#[path = "../support/mod.rs"]
mod support;

mod channels;
mod fibers;
mod large;
