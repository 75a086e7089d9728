//! CSP channels and synchronization for fibers.
//!
//! leno gives futures a place to meet: channels that hand a value over or buffer it, a mutex that suspends instead of
//! blocking, and [`select`](select::select), which waits for several of these and completes exactly one. All of
//! it works on leno's own fibers, on the tasks of any other executor and on plain threads, also mixed on one
//! channel.
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
//! | [`inspect`] | dumps of fibers and of who waits for what, deadlocks |
//!
//! What corresponds to what you know from std, tokio, crossbeam, flume, kanal, async-lock, Kotlin or Go:
//! [`channel::moving`], [`fiber::moving`], [`select::moving`], [`sync::moving`].
//!
//! # Three ways to call
//!
//! An operation is a future. Await it in a fiber or a task; call `.wait()`, `.wait_timeout(d)` or
//! `.wait_deadline(t)` on a plain thread; or use its `try_` form, which never waits. Futures of operations are
//! `Unpin`, and dropping one cancels what it was about to do and nothing else: no value is lost with a receive. (What a future
//! owns goes with it: the one value of a [`oneshot`](channel::oneshot)'s receiver, the handle of an `into_send`.)
//!
//! # Models of your own code
//!
//! [loom](https://docs.rs/loom) runs a piece of concurrent code in every interleaving. leno's channels,
//! [`Mutex`](sync::Mutex) and [`select!`] can take part in a model of your own code: they are built on loom's atomics,
//! cells and threads if the compiler is given `--cfg leno_loom` and leno its feature `loom`.
//!
//! ```toml
//! [target.'cfg(leno_loom)'.dependencies]
//! leno = { version = "0.1", features = ["loom"] }
//! loom = { version = "0.7", features = ["futures"] }
//! ```
//!
//! ```text
//! RUSTFLAGS="--cfg leno_loom" cargo test --test model
//! ```
//!
//! (loom 0.7 leaves out some interleavings: those in which one thread loads an atomic after another one has loaded and then changed
//! it, see its issues [166](https://github.com/tokio-rs/loom/issues/166) and
//! [392](https://github.com/tokio-rs/loom/issues/392). leno's own models are checked with a loom that has them.)
//!
//! In the model, threads are loom's; operations wait by their blocking forms (`send_blocking`, `.wait()`,
//! [`select_blocking!`]) or under `loom::future::block_on`. What takes part: everything in [`channel`] but
//! its tickers, [`sync`] and [`select`](mod@select). What does not: runtimes, cords and timers, since a model has no executor of
//! its own and its time never passes (a deadline, and `default(duration)`, never come); and a `Mutex` (or its like) in a `static`,
//! since loom's atomics have no constant
//! constructor. Keep models small: four threads, and a bound for the preemptions (`LOOM_MAX_PREEMPTIONS=2`).

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
    pub use crate::channel::ticker::model as ticker;
    pub use crate::fiber::model as crew;
    pub use crate::task::model as task;
    #[cfg(leno_epoch)]
    pub use crate::wait::model as pool;

    /// Whether nodes are recycled, as in real builds, in this scenario from now on.
    pub fn recycle_nodes(recycle: bool) {
        crate::prim::set_reuse(recycle);
    }

    /// Ends the nodes that the calling thread keeps, and those that were left to a peer: what is still there has leaked.
    pub fn end_nodes() {
        crate::prim::set_reuse(false);
        crate::wait::clear();
    }

    /// Whether this scenario's younger selects are senior to the older ones.
    pub fn youngest_first(youngest: bool) {
        crate::prim::reverse_ranks(youngest);
    }

    /// How many nodes and fibers there are.
    #[cfg(leno_shuttle)]
    pub fn lives() -> usize {
        crate::prim::lives()
    }
}
