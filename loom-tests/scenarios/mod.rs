//! Scenarios of leno's protocols: plain functions over the public interface. Each runs under loom (this folder's
//! package) and under shuttle (the package in `shuttle/`); the harness is what differs.

#![allow(dead_code, unused_imports, reason = "shuttle, and the model with real epochs, use a part of it")]

#[cfg(leno_loom)]
#[path = "harness_loom.rs"]
pub(crate) mod harness;

#[cfg(leno_shuttle)]
#[path = "harness_shuttle.rs"]
pub(crate) mod harness;

pub(crate) mod blocks;
pub(crate) mod broadcast;
pub(crate) mod buffered;
pub(crate) mod many;
pub(crate) mod mutex;
pub(crate) mod oneshot;
pub(crate) mod parker;
pub(crate) mod ready;
pub(crate) mod rendezvous;
pub(crate) mod ring;
pub(crate) mod rwlock;
pub(crate) mod select;
pub(crate) mod select_anchor;
pub(crate) mod select_forms;
pub(crate) mod semaphore;
pub(crate) mod signal;
pub(crate) mod support;
#[macro_use]
pub(crate) mod table;
pub(crate) mod thread;
pub(crate) mod ticker;
pub(crate) mod watch;
pub(crate) mod weak;

/// A test for each scenario of a module. `scenario - 1`: a large one, which loom explores with one preemption fewer
/// than it is asked for.
macro_rules! models {
    ($module:ident: $($scenario:ident $(- $fewer:literal)?)+) => {$(
        #[test]
        fn $scenario() {
            let fewer = 0 $(+ $fewer)?;
            $crate::scenarios::harness::check(stringify!($scenario), fewer, $module::$scenario);
        }
    )+};
}
