//! Channels: their contracts, C1–C30, over every kind that shares them (`contract`, `restricted`), then what some kinds or some
//! forms of their operations have of their own.

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
