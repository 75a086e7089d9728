//! Channels: values go from senders to receivers, in order, each value to exactly one receiver.
//!
//! | | holds | a send waits |
//! |---|---|---|
//! | [`rendezvous`] | nothing | until a receiver takes its value |
//! | [`bounded`] | `cap` values | while it is full |
//! | [`unbounded`] | any number | never |
//! | [`conflated`] | the latest value | never: it replaces what is there |
//! | from a [`Builder`] | as configured | or overflows, as configured by [`Overflow`] |
//!
//! All of them have the same two handles, [`Sender`] and [`Receiver`], which any number of fibers, tasks of other executors
//! and plain threads may share. An operation is a future; `.wait()` runs it on a plain thread, and its `try_` form never
//! waits.
//!
//! ```
//! let (tx, rx) = leno::bounded(2);
//! std::thread::spawn(move || {
//!     for word in ["warp", "weft", "warp"] {
//!         tx.send_blocking(word).unwrap();
//!     }
//! });
//! let woven = leno::block_on(async {
//!     let mut woven = Vec::new();
//!     while let Ok(word) = rx.recv().await {
//!         woven.push(word);
//!     }
//!     woven
//! });
//! assert_eq!(woven, ["warp", "weft", "warp"]);
//! ```
//!
//! # Which kind
//!
//! | | senders | receivers | |
//! |---|---|---|---|
//! | here | any number | any number | handles are cloned and shared |
//! | [`mpsc`] | any number | one | as here; the compiler enforces the single receiver |
//! | [`spsc`] | one | one | as here; the compiler enforces both |
//!
//! Sending and receiving is the same in all of them: to switch, change the path of the constructor and of the types, and
//! add `mut` where a side is single. What only some have:
//!
//! | | here | [`mpsc`] | [`spsc`] |
//! |---|---|---|---|
//! | [`reserve`](Sender::reserve) and its like, [`force_send`](Sender::force_send) | yes | yes | – |
//! | weak handles | of both sides | of senders | – |
//! | [`sender_count`](Sender::sender_count), [`receiver_count`](Sender::receiver_count) | yes | `sender_count` | – |
//! | [`Builder`], [`conflated`] | yes | – | – |
//!
//! All kinds cost about the same. (Only with room for 128 to 255 values `spsc` is faster between two threads:
//! see [there](spsc#cost).)
//!
//! # Other shapes
//!
//! | what goes through | module | kept | a slow receiver |
//! |---|---|---|---|
//! | jobs, requests: each value to one receiver | here | as above | makes senders wait |
//! | the same, but a new value replaces one that nobody has received yet | [`conflated`] | one value | gets the latest |
//! | one value, once: a reply, a result | [`oneshot`] | that value | – |
//! | a state that several look at: only the latest value counts | [`watch`] | one value | sees the latest |
//! | events: each value to every receiver | [`broadcast`] | `cap` values | lags, or makes senders wait |
//! | time: a limit, a beat | [`ticker`] | one tick | by a policy |
//!
//! All of them wait the same way, and can be mixed in one `select!`. (A broadcast's `send` never waits; `send_async` may.
//! Broadcasts have no iterators and no batches.)
//!
//! # Order
//!
//! A channel is a FIFO queue: values arrive in the order in which they were sent. Waiting operations are served FIFO, too:
//! a value sent while receivers wait is handed to the first of them, and a receive while senders wait lets in the value of
//! the first of those, in the same step. ([`force_send`](Sender::force_send) does not wait, and overtakes those that do.)
//!
//! # A receive that nobody polls
//!
//! A `recv` that has waited stays in line until it is polled to its end or dropped. One that is kept, and a stream that was polled
//! in vain, may be handed a value meanwhile, which no other receiver gets, and for which `try_send` finds somebody waiting:
//!
//! ```
//! use std::{future::Future, pin::Pin, task::{Context, Waker}};
//!
//! let (tx, rx) = leno::rendezvous();
//! let mut kept = rx.recv();
//! assert!(Pin::new(&mut kept).poll(&mut Context::from_waker(Waker::noop())).is_pending());
//! tx.try_send("warp").unwrap();
//! assert!(rx.try_recv().is_err()); // `kept` has it
//! drop(kept);
//! assert_eq!(rx.try_recv(), Ok("warp"));
//! ```
//!
//! So drop what is no longer polled. `select!` does that with branches that lose, by taking `rx.recv()` out of the line, even if
//! passed by `&mut`; not with a stream, whose `next()` is a future of another library.
//!
//! # Batches
//!
//! [`Sender::send_many`] sends the contents of a `VecDeque`, [`Receiver::recv_many`] appends the available values to a
//! `Vec`, in order; each has a `try_` form. While nobody waits, several values move with a single atomic exchange, within a
//! ring or a block; otherwise they go one by one, so that all waiters are served in order. `send_many` waits until the last
//! value is sent, `recv_many` only for the first one. Values not sent remain in the deque, whatever ends the operation: a
//! dropped future, a time limit, a close. Received values are in the vector.
//!
//! ```
//! use std::collections::VecDeque;
//!
//! let (tx, rx) = leno::bounded(64);
//! let weaver = std::thread::spawn(move || {
//!     let mut threads = (0..1000).collect::<VecDeque<u32>>();
//!     tx.send_many(&mut threads).wait()
//! });
//! let mut woven = Vec::new();
//! while rx.recv_many(&mut woven, 32).wait().is_ok() {}
//! assert_eq!(weaver.join().unwrap(), Ok(1000));
//! assert!(woven.into_iter().eq(0..1000));
//! ```
//!
//! # Closing
//!
//! A channel closes on [`Sender::close`] or [`Receiver::close`], or when a side has no handle left. From then on sends
//! fail and give their values back, waiting ones included; only permits that were granted before still send. Receivers get
//! what is left in the channel, then [`RecvError`]. When the last receiver is dropped, what is left is dropped, or goes to
//! the hook of [`Builder::on_undelivered`].
//!
//! # Handles
//!
//! A handle can be cloned, and [downgraded](Sender::downgrade) to a weak one, which keeps neither the channel open nor its
//! values alive, and can be upgraded as long as its side has a handle. Weak handles suit registries, and fibers that send
//! to themselves. The futures of [`Sender::into_send`] and [`Receiver::into_recv`] own their handle and borrow nothing.
//!
//! With the feature `sink` senders are sinks of `futures` (`Sender::sink`, `Sender::into_sink`), as receivers are
//! [streams](Receiver::stream).
//!
//! # Reserving
//!
//! [`Sender::reserve`] waits for room before there is a value: the [`Permit`] then sends without waiting, even if the
//! channel was closed meanwhile. Reservations queue together with sends. [`reserve_many`](Sender::reserve_many) takes room
//! for several values at once, and [`reserve_owned`](Sender::reserve_owned) gives a permit that can be stored.
//!
//! # Questions
//!
//! *Is there an unordered channel that is faster?* No: it was tried (several channels behind one handle), and is slower
//! where fibers wait. Wall time relative to a single channel, on two cores, geometric mean of 4 × 4 and 100 × 100 fibers
//! with capacities 64, 1000 and unbounded:
//!
//! | | two workers | `try_` only, two threads |
//! |---|---:|---:|
//! | two shards, each side waits at all of them | 1.64 | 0.54 |
//! | two shards, one [`Notify`](crate::sync::Notify) for each side | 1.36 | 0.53 |
//! | four shards, each side waits at all of them | 2.20 | 0.42 |
//! | two channels that know nothing of each other | 0.61 | |
//! | the same, each with a worker or thread of its own | 0.42 | 0.29 |
//!
//! For every second value (capacity 64) a sender finds its own shard full, or a receiver its own empty, and waiting at
//! several places costs several times as much. What pays off is splitting the work itself: two channels, and the sender
//! chooses by the content of the value.
//!
//! *Does it matter how large a capacity is?* Channels of up to 255 values (and 256 KiB) are a ring whose state is in one
//! word; larger ones are linked blocks, allocated on demand, and each side has its own cache lines. With capacity 1000,
//! a value takes up to half as long again as with 64 between fibers of one worker, and a third to a half between threads.
//! (After the first permit or forced send, a send into a large channel takes two atomic exchanges instead of one: for a
//! place, then for a position.)
//!
//! *Does a send wake a receiver at once?* The value is handed over at once. When the receiver runs is up to its executor,
//! or to the OS if it is a thread.
//!
//! Moving here from other channels: [`moving`].

mod bell;
mod block;
mod blocks;
mod boundary;
mod branch;
pub mod broadcast;
mod builder;
mod close;
mod error;
mod future;
mod handle;
mod iter;
mod kind;
mod limit;
mod lines;
mod linked;
mod many;
#[cfg(any(leno_loom, leno_shuttle))]
pub mod model;
pub mod moving;
pub mod mpsc;
pub mod oneshot;
mod overflow;
mod owned;
mod permit;
mod places;
mod queue;
mod receiver;
mod reserve;
mod ring;
mod room;
mod sender;
mod shared;
#[cfg(feature = "sink")]
mod sink;
pub mod spsc;
mod stream;
pub mod ticker;
mod undelivered;
pub mod watch;
mod weak;

pub use builder::{Builder, Overflow, conflated};
pub use error::{
    RecvError, RecvTimeoutError, ReserveError, ReserveManyError, ReserveTimeoutError, SendError,
    SendTimeoutError, TryRecvError, TryReserveError, TryReserveManyError, TrySendError,
};
pub use future::{Closed, RecvFuture, SendFuture};
pub use handle::{Receiver, Sender};
pub use iter::{Drain, IntoIter, Iter, TryIter};
pub use many::{RecvMany, SendMany};
pub use owned::{IntoRecv, IntoSend};
pub use permit::{OwnedPermit, Permit, Permits};
pub use reserve::{Reserve, ReserveMany, ReserveOwned};
#[cfg(feature = "sink")]
pub use sink::{IntoSink, SendSink};
pub use stream::{IntoStream, RecvStream};
pub use weak::{WeakReceiver, WeakSender};

/// A channel of capacity 0: a send completes when a receiver has taken its value. The same as `bounded(0)`.
///
/// ```
/// let (tx, rx) = leno::rendezvous();
/// assert!(tx.try_send(1).is_err(), "nobody is there to take it");
/// std::thread::spawn(move || tx.send_blocking(2));
/// assert_eq!(rx.recv_blocking(), Ok(2));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    bounded(0)
}

/// A channel that holds `cap` values; sends wait while it is full (back-pressure). Up to a capacity of 255 (and 256 KiB)
/// its memory is allocated up front; larger ones allocate blocks as they fill, and free them as they empty. At most
/// 2^34 - 1 values (and permits) fit in any case.
///
/// ```
/// let (tx, rx) = leno::bounded(1);
/// tx.try_send('a').unwrap();
/// assert!(tx.try_send('b').unwrap_err().is_full());
/// assert_eq!(rx.try_recv(), Ok('a'));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    handle::channel(Some(cap), None)
}

/// A channel that holds any number of values; sends never wait.
///
/// Room is allocated in blocks as the channel fills, and freed as it empties, except for a block or two. There is no
/// back-pressure: prefer [`bounded`] if senders can be faster than receivers. (The limit is some two million short of 2^34
/// values, which take 32 GiB at least; exceeding it aborts the process, like `std::process::abort`.)
///
/// ```
/// let (tx, rx) = leno::unbounded();
/// tx.try_send(1).unwrap();
/// assert_eq!((rx.len(), rx.capacity()), (1, None));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    handle::channel(None, None)
}
