//! The contracts of `leno::sync`: M1–M8, one file per primitive, a folder for the mutex; and `callers`, the same scenarios for
//! all that is taken and given back.
//!
//! *By hand*: polled by hand on one thread. *Callers*: by fibers of a runtime and a cord, tokio's tasks, threads, and all of them
//! at once (`each_place!`).
//!
//! | | by hand | callers |
//! |---|---|---|
//! | M1 | `mutex/hand`, `rwlock`, `once_cell` | `callers::exclusion`; `mutex/places`, `rwlock`, `once_cell` (`made_once`) |
//! | M2 | all but `wait_group`, which has nothing to pass on | `callers::giving_up`; `notify` (`each_is_told`), `barrier` (`in_step`), `condvar` (`giving_up`) |
//! | M3 | `mutex/hand`, `mutex/fairness` | `callers::stale` |
//! | M4 | `mutex/hand`, `rwlock`, `semaphore` | `callers::stale` |
//! | M5 | at compile time, in each file | – |
//! | M6 | `semaphore` | `callers::exclusion`, `semaphore` (`never_too_many`) |
//! | M7 | all | `callers::stale`; ten thousand fibers: `mutex/places`, `semaphore` |
//! | M8 | all | `callers::selects`, and each file |
//!
//! `rwlock_script` and `semaphore_script` run scripts against a model of each (M1, M2, M4, M6).

#[path = "../support/mod.rs"]
mod support;

mod barrier;
mod callers;
mod condvar;
mod mutex;
mod notify;
mod once_cell;
mod rwlock;
mod rwlock_script;
mod script;
mod semaphore;
mod semaphore_script;
mod wait_group;
