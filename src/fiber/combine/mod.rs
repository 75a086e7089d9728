//! Several futures in one fiber: awaited together, one of them, n at a time, or watched.
//!
//! Nothing here starts a fiber. The futures are polled by whoever polls the combinator, on its thread and in its turn:
//! they may borrow, need not be `Send`, and are dropped with it. To run them side by side, make them join handles:
//! `|x| leno::spawn(work(x)).cancel_on_drop()`.
//!
//! ```text
//!   race                                 polls both itself
//!   join_all, try_join_all ─────────────┐
//!   map_concurrent, try_…, …_unordered ─┴▶ Window ─▶ Members   polls those that were woken
//!   (a JoinSet, of fibers)                              ▲
//!     └─────────────────────────────────────────────────┘
//!   debug, timed                         wrap one future
//! ```
//!
//! A combinator of several that ends, whether by a result, an error or a panic, has dropped all its futures before that shows.
mod either;
mod ext;
mod join_all;
mod map;
mod members;
mod outputs;
mod race;

pub(super) use members::Members;

pub use either::Either;
pub use ext::{Debugged, FutureExt, Timed, set_debug_hook};
pub use join_all::{JoinAll, TryJoinAll, join_all, try_join_all};
pub use map::{
    MapConcurrent, MapUnordered, NextUnordered, TryMapConcurrent, map_concurrent, map_unordered,
    try_map_concurrent,
};
pub use race::{Race, race};
