//! Fibers, their executors and their time: F1–F18, each by hand where that is possible. Races by the thousand are in
//! `tests/stress`, what a million fibers take in `tests/memory.rs`.

#[path = "../support/mod.rs"]
mod support;

mod blocking;
mod blocking_scope;
mod cancel;
mod combine;
mod cord;
mod deadlock;
mod elsewhere;
mod helpers;
mod hooks;
mod inspect;
mod interval;
mod join;
mod join_set;
mod local;
mod panic;
mod park;
mod scope;
mod shield;
mod shutdown;
mod sleep;
mod thread_wait;
mod token;
mod wake;
mod workers;
