//! The contracts of what `leno::sync` has beside the mutex: M1–M8, one file per primitive.

#[path = "../contract/support/mod.rs"]
mod support;

mod barrier;
mod callers;
mod condvar;
mod notify;
mod once_cell;
mod rwlock;
mod rwlock_script;
mod script;
mod semaphore;
mod semaphore_script;
mod wait_group;
