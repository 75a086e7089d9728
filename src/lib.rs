//! CSP channels and synchronization for fibers.
//!
//! leno lets futures meet: channels that hand over or buffer values, a mutex that suspends instead of blocking, and
//! [`select`](select::select), which waits for several of these and completes exactly one. All of it works in leno's own
//! fibers, in tasks of any other executor and on plain threads, even mixed on one channel.
//!
//! ```
//! leno::block_on(async {
//!     let (tx, rx) = leno::rendezvous();
//!     let weaver = leno::spawn(async move {
//!         for row in 1..=3 {
//!             tx.send(row).await?;
//!         }
//!         Ok::<_, leno::channel::SendError<i32>>("woven")
//!     });
//!     let mut rows = 0;
//!     while let Ok(row) = rx.recv().await {
//!         rows += row;
//!     }
//!     assert_eq!((rows, weaver.await.unwrap()), (6, Ok("woven")));
//! });
//! ```
//!
//! | module | what is there |
//! |---|---|
//! | [`channel`] | [`rendezvous`], [`bounded`], [`unbounded`] and [`conflated`] channels, and those of a [`Builder`](channel::Builder); [`mpsc`](channel::mpsc), [`spsc`](channel::spsc); [`oneshot`](channel::oneshot), [`watch`](channel::watch), [`broadcast`](channel::broadcast), [`ticker`](channel::ticker) |
//! | [`sync`] | [`Mutex`](sync::Mutex), [`RwLock`](sync::RwLock), [`Semaphore`](sync::Semaphore), [`Notify`](sync::Notify), [`Condvar`](sync::Condvar), [`Barrier`](sync::Barrier) and more |
//! | [`select`](mod@select) | waiting for several operations at once |
//! | [`fiber`] | [`Runtime`](fiber::Runtime) and [`Cord`](fiber::Cord), [`spawn`], joining, cancelling |
//! | [`time`] | [`sleep`], [`timeout`], real and virtual clocks |
//! | [`inspect`] | dumps of fibers, who waits for what, and deadlock detection |
//!
//! Translation tables from std, tokio, crossbeam, flume, kanal, async-channel, async-lock, parking_lot, Kotlin, Go and Tarantool:
//! [`channel::moving`], [`fiber::moving`], [`select::moving`], [`sync::moving`].
//!
//! # Three ways to call
//!
//! An operation is a future. Await it in a fiber or a task; call `.wait()`, `.wait_timeout(d)` or `.wait_deadline(t)` on a plain
//! thread; or use its `try_` form, if it has one, which never waits. Futures of operations are `Unpin` (but for those that make
//! the value of a [`OnceCell`](sync::OnceCell) or [`Lazy`](sync::Lazy)) and cancellation-safe: dropping one cancels the operation
//! and nothing else, and a dropped receive loses no value. (What a future owns is dropped with it: the value of a
//! [`oneshot`](channel::oneshot)'s receiver, the handle in an `into_send`.) Polling an operation of a channel or lock, or a join,
//! or waiting for it, after it has completed panics; `FusedFuture::is_terminated` tells whether it has. (`recv_blocking`,
//! `wait_timeout` and `wait_deadline` of a oneshot's receiver say that it is closed.)
//!
//! # Features of the crate
//!
//! | | |
//! |---|---|
//! | `sink` | senders as sinks of `futures`: `Sender::sink`, `Sender::into_sink` |
//! | `tracing` | fibers, and what they wait for, as spans: see [`inspect`] |
//! | `loom` | together with `--cfg leno_loom`: models of your own code, as follows |
//!
//! # Models of your own code
//!
//! [loom](https://docs.rs/loom) runs a piece of concurrent code in every interleaving. leno's channels,
//! [locks](sync) and [`select!`] can take part in loom models of your own code: with `--cfg leno_loom` and the
//! feature `loom` they are built on loom's atomics, cells and threads.
//!
//! ```toml
//! [dependencies]
//! leno = "0.1"
//!
//! [target.'cfg(leno_loom)'.dependencies]
//! leno = { version = "0.1", features = ["loom"] }
//! loom = { version = "0.7", features = ["futures"] }
//!
//! [lints.rust]
//! unexpected_cfgs = { level = "warn", check-cfg = ["cfg(leno_loom)"] }
//! ```
//!
//! A model is a test that calls `loom::model`, in a file that begins with `#![cfg(leno_loom)]`:
//!
//! ```ignore
//! #[test]
//! fn what_was_sent_is_received() {
//!     loom::model(|| {
//!         let (tx, rx) = leno::bounded(1);
//!         let sending = loom::thread::spawn(move || tx.send_blocking(1));
//!         assert_eq!(rx.recv_blocking(), Ok(1));
//!         sending.join().unwrap().unwrap();
//!     });
//! }
//! ```
//!
//! ```text
//! RUSTFLAGS="--cfg leno_loom" cargo test --test model
//! ```
//!
//! (loom 0.7 misses some interleavings: those where a thread loads an atomic after another thread has loaded and then
//! changed it, see its issues [166](https://github.com/tokio-rs/loom/issues/166) and
//! [392](https://github.com/tokio-rs/loom/issues/392). leno's own models run on a loom that explores them.)
//!
//! In a model, threads are loom's; operations wait in their blocking forms (`send_blocking`, `.wait()`,
//! [`select_blocking!`]) or under `loom::future::block_on`. Supported: [`sync`], [`select`](mod@select) and all of
//! [`channel`] except tickers. Not supported: runtimes, cords, timers and time limits, since a model has no executor and no
//! clock (of a blocking form a limit of zero has come at once; whether another one comes is chance); and a `Mutex` (or similar)
//! in a `static`, since loom's atomics have no `const` constructor. Keep models small: four threads, and bounded preemptions
//! (`LOOM_MAX_PREEMPTIONS=2`).

#[macro_use]
mod prim;
mod task;
mod wait;

pub mod channel;
pub mod fiber;
pub mod inspect;
pub mod select;
pub mod sync;
pub mod time;

pub use channel::{Receiver, Sender, bounded, conflated, rendezvous, unbounded};
pub use fiber::{block_on, sleep, spawn, timeout, yield_now};

/// The README's code is tested too.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

/// What the models in `loom-tests` reach into.
#[cfg(any(leno_loom, leno_shuttle))]
#[doc(hidden)]
pub mod model {
    pub use crate::channel::model as blocks;
    pub use crate::channel::ticker::model as ticker;
    pub use crate::fiber::model as crew;
    pub use crate::task::model as task;
    #[cfg(leno_epoch)]
    pub use crate::wait::model as pool;

    /// Whether nodes and parkers are recycled, as in real builds, in this scenario from now on.
    pub fn recycle_nodes(recycle: bool) {
        crate::prim::REUSE.set(recycle);
    }

    /// Ends the nodes that the calling thread keeps, and those that were left to a peer: what is still there has leaked. From now
    /// on nothing is recycled, and one cell is in use.
    pub fn end_nodes() {
        crate::prim::REUSE.set(false);
        crate::prim::set_few_cells(1);
        crate::wait::clear();
    }

    /// How many cells of the small array are in use in this scenario from now on: three at most.
    pub fn cells(cells: usize) {
        crate::prim::set_few_cells(cells);
    }

    /// Whether the words of rings come again after two steps in this scenario from now on.
    pub fn narrow_rings(narrow: bool) {
        crate::prim::NARROW.set(narrow);
    }

    /// Whether this scenario's younger selects are senior to the older ones.
    pub fn youngest_first(youngest: bool) {
        crate::prim::REVERSED.set(youngest);
    }

    /// How many nodes and fibers there are.
    #[cfg(leno_shuttle)]
    pub fn lives() -> usize {
        crate::prim::lives()
    }
}
