//! All models but that of real epochs: one program, so that the library is compiled into it once. `cargo test -p loom-tests room::`
//! runs those of a file.

#[macro_use]
#[path = "../../scenarios/mod.rs"]
mod scenarios;

// Under loom, which explores, and under shuttle, which tries at random, in the package in `shuttle/`.
mod blocks;
mod broadcast;
mod closing;
mod line;
mod many;
mod mutex;
mod oneshot;
mod parker;
mod ready;
mod rendezvous;
mod returned;
mod ring;
mod room;
mod rwlock;
mod select;
mod select_anchor;
mod select_forms;
mod semaphore;
mod signal;
mod ticker;
mod watch;
mod weak;
mod word;

// Under loom alone.
#[cfg(leno_loom)]
mod explore;

#[cfg(leno_loom)]
mod closed;
#[cfg(leno_loom)]
mod crew;
#[cfg(leno_loom)]
mod overflow;
#[cfg(leno_loom)]
mod permits;
#[cfg(leno_loom)]
mod roster;
#[cfg(leno_loom)]
mod task;
#[cfg(leno_loom)]
mod tied;
#[cfg(leno_loom)]
mod timers;

// Under shuttle alone.
#[cfg(leno_shuttle)]
#[macro_use]
mod history;

#[cfg(leno_shuttle)]
mod linearizable;
#[cfg(leno_shuttle)]
mod waiting;
