//! Channels: their contracts over every kind that shares them (`contract`, `restricted`), and what some kinds or some forms of their
//! operations have of their own. C1–C29, except what the compiler refuses (C15, C24: `tests/refusals`); C30 is in `tests/stress`.
//! `gaps`, `mishaps` and `second_look` go over selects, locks and fibers as well.

#[path = "../support/mod.rs"]
mod support;

mod broadcast;
mod builder;
mod contract;
mod gaps;
mod many;
mod memory;
mod mishaps;
mod oneshot;
mod owned;
mod permits;
mod restricted;
mod second_look;
mod shapes_memory;
mod ticker;
mod watch;
mod weak;
