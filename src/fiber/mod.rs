//! Fibers: independent strands of work, each a future that an executor of leno runs.
//!
//! A [`Runtime`] runs its fibers on several threads, a [`Cord`] on one, strictly in the order in which they became ready.
//! Outside of both, [`block_on`] and [`spawn()`] use a default runtime; a [`Handle`] refers to a given one. Fibers have
//! ids, names, a park token, and children: what a fiber [spawns](spawn()) is cancelled with it. A fiber ends with a value,
//! by a panic (which stays in the fiber), or cancelled (its future is dropped at its next suspension); its [`JoinHandle`]
//! tells which.
//!
//! ```
//! use leno::fiber::{Builder, Runtime};
//!
//! let runtime = Runtime::new()?;
//! let total: u64 = runtime.block_on(async {
//!     let parts: Vec<_> = (0..4)
//!         .map(|part| Builder::new().name(format!("part {part}")).spawn(async move { part * 10 }))
//!         .collect();
//!     let mut total = 0;
//!     for part in parts {
//!         total += part.await.expect("no part panics");
//!     }
//!     total
//! });
//! assert_eq!(total, 60);
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # Turns
//!
//! A poll of a fiber is its turn, with a budget of some 256 leno operations. Once it is used up, the next operation is
//! pending, even if it could complete, and the fiber goes to the back of the queue: so a loop over a channel that is
//! never empty still lets others run. `.await`, `select!`, `race` and `timeout` handle this by themselves. (A sleep,
//! join, park or scope that completes at once counts, too.) Polling an operation just once (`now_or_never`) may therefore find
//! it pending: use the `try_` form, if there is one. On other executors and on threads there is no budget.
//!
//! Not every future needs a fiber of its own: [`race`], [`join_all`] and [`map_concurrent`] await several in one.
//!
//! # Fibers that belong together
//!
//! | to | use |
//! |---|---|
//! | wait for all fibers that a piece of code starts | [`scope()`], [`try_scope`] |
//! | take the outcomes of fibers as they end | [`JoinSet`] |
//! | let fibers borrow from a thread's stack | [`blocking_scope`] |
//! | take the first of two results | [`race`] |
//! | wait for several futures, or for n of many at a time | [`join_all`], [`map_concurrent`] |
//! | cancel something that is not a fiber, or a tree of such things | [`CancelToken`] |
//! | protect a section from cancellation | [`shield()`] |
//! | end a runtime in order | [`Runtime::shutdown`] |
//! | give each fiber a value of its own | [`fiber_local!`](crate::fiber_local!) |
//!
//! Moving here from tokio, threads, Go, Kotlin or Tarantool: [`moving`].

// How the parts fit: the executor-independent half of a fiber (its cell, its state, the tree) is `crate::task`.
// Here are the two executors over one core: a core has a crew of workers (with their queues, timers and a clock),
// and is the seam of the fibers that live on it. A runtime's workers are threads; a cord's only one is whoever
// calls `block_on`. To follow a fiber from its start to its end: `spawn` makes and lists it, `crew` queues it, `core`
// drives the queue, `task/run.rs` polls it and sees to its end, `join` gives what it left.

mod blocking;
mod blocking_scope;
mod combine;
mod cord;
mod core;
mod crew;
mod fiber_ref;
mod handle;
mod join;
mod join_set;
mod local;
mod main_fiber;
#[cfg(any(leno_loom, leno_shuttle))]
pub mod model;
pub mod moving;
mod on;
mod park;
mod registry;
mod ring;
mod runtime;
mod scope;
pub(crate) mod settings;
mod shield;
mod spawn;
mod token;
mod yield_now;

pub use crate::task::error::{Elapsed, JoinError};
pub use crate::task::header::FiberId;
pub use crate::task::warn::set_warning_hook;
pub use crate::time::{Interval, Missed, Tick, interval, interval_at, interval_with};
pub use crate::time::{Sleep, Timeout, now, sleep, sleep_until, timeout, timeout_at};
pub use blocking::{OnNewThread, Unblock, on_new_thread, unblock};
pub use blocking_scope::{BlockingScope, ScopedHandle, blocking_scope};
pub use combine::*;
pub use cord::{Cord, CordBuilder};
pub use fiber_ref::{FiberRef, current, find, try_current};
pub use handle::Handle;
pub use join::{JoinHandle, JoinTimeout};
pub use join_set::{JoinNext, JoinSet};
pub use local::{FiberLocal, OutsideFiber};
pub use on::{On, on};
pub use park::{Park, ParkTimeout, park, park_timeout};
pub use runtime::{Runtime, RuntimeBuilder, block_on};
pub use scope::{Scope, TryScope, scope, try_scope};
pub use shield::{Cancelled, Shield, check_cancel, shield};
pub use spawn::{Builder, Prepared, spawn, spawn_local, spawn_now};
pub use token::{CancelGuard, CancelToken, Cancellation, RunUntilCancelled};
pub use yield_now::{Yield, yield_now};

pub(crate) use runtime::default_home;
