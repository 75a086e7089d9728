//! Channels. Values go from senders to receivers, each to one receiver, in order.
//!
//! | | holds | a send waits |
//! |---|---|---|
//! | [`rendezvous`] | nothing | until a receiver takes its value |
//! | [`bounded`] | `cap` values | while it is full |
//! | [`unbounded`] | any number | never |
//! | [`conflated`] | the latest value | never: it replaces what is there |
//! | a [`Builder`]'s | as it says | or makes room, or is discarded, as its [`Overflow`] says |
//!
//! All of them give the same two handles, [`Sender`] and [`Receiver`], which any number of fibers, tasks of other
//! executors and plain threads may share. An operation is a future; `.wait()` runs it on a plain thread, and
//! `try_…` never waits.
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
//! | [`mpsc`] | any number | one | as here; the compiler checks that the receiver is alone, and in a small buffer no sender makes it look again |
//! | [`spsc`] | one | one | the compiler checks both; where a few values fit the two sides run on cache lines of their own |
//!
//! Sending and receiving is the same in all of them, so that a program changes its kind by the path of the constructor and of
//! the types, and with `mut` where a side is single. What only some have:
//!
//! | | here | [`mpsc`] | [`spsc`] |
//! |---|---|---|---|
//! | [`reserve`](Sender::reserve) and its like, [`force_send`](Sender::force_send) | yes | yes | – |
//! | weak handles | of both sides | of senders | – |
//! | [`Builder`], [`conflated`] | yes | – | – |
//!
//! Take `spsc` for a pipe between two threads or workers that is busy; where both sides are on one worker, or meet at each
//! value, all kinds cost about the same.
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
//! All of them wait in the same way, and go into `select!` with the others. (A broadcast's `send` waits for nobody: the one that
//! may is `send_async`. It has no iterators and no batches.)
//!
//! # Order
//!
//! A channel is a queue: values arrive in the order in which they were sent. Operations that have to wait are
//! served in the order in which they began to wait: what is sent while a receiver waits is handed to the first of them, and
//! what is received while a sender waits lets the value of the first of those in, at that moment.
//! ([`force_send`](Sender::force_send) does not wait, and goes before those who do.)
//!
//! # Batches
//!
//! [`Sender::send_many`] sends what is in a `VecDeque`, [`Receiver::recv_many`] receives what there is to the end of a `Vec`, in
//! order; each has a form with `try_`. Where nobody waits several values go by one exchange of the channel's word, as far
//! as a ring or a block goes; where somebody does they go one by one, so that all are served in their order. A
//! send of many waits until the last one is sent, a receive of many for the first one only. What was not sent is in the
//! deque still, whatever ends it: a dropped future, a limit of time, a close. What was received is in the vector.
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
//! A channel closes when it is told to ([`Sender::close`], [`Receiver::close`]) or when one side has no handle left.
//! Sends fail from then on and give their values back, also those that wait. Receivers get what is in the channel,
//! then [`RecvError`]. When the last receiver goes, nobody is left to get it, and it is dropped, or goes to the hook
//! of [`Builder::on_undelivered`].
//!
//! # Handles
//!
//! A handle can be cloned, and [downgraded](Sender::downgrade) to a weak one, which keeps the channel neither open nor its values
//! alive, and gives a handle again for as long as its side has one: for registries, and for those who send to themselves. The
//! futures of [`Sender::into_send`] and [`Receiver::into_recv`] keep their handle and borrow nothing.
//!
//! With the feature `sink` senders are sinks of `futures` (`Sender::sink`, `Sender::into_sink`), as receivers are
//! [streams](Receiver::stream).
//!
//! # Room to come
//!
//! [`Sender::reserve`] waits for room before there is a value: the [`Permit`] sends later, without waiting, also when the channel
//! was closed meanwhile. Reservations wait in one line with sends. [`reserve_many`](Sender::reserve_many) takes room for several
//! at once, and [`reserve_owned`](Sender::reserve_owned) gives a permit that can be stored.
//!
//! # Questions
//!
//! *Is there a channel without order, that is faster for it?* No: it was built, of several channels behind one handle, and is
//! slower where fibers wait. In wall time beside one channel, on two cores, geometric mean of 4 × 4 and 100 × 100 fibers with
//! capacities 64, 1000 and none:
//!
//! | | two workers | `try_` only, two threads |
//! |---|---:|---:|
//! | two shards, each side waits at all of them | 1.64 | 0.54 |
//! | two shards, one [`Notify`](crate::sync::Notify) for each side | 1.36 | 0.53 |
//! | four shards, each side waits at all of them | 2.20 | 0.42 |
//! | two channels that know nothing of each other | 0.61 | |
//! | the same, each with a worker or thread of its own | 0.42 | 0.29 |
//!
//! A sender finds its own shard full, or a receiver its own empty, at every second value (capacity 64), and to wait at several
//! places costs several times as much. What pays is to divide the work itself: two channels, and the sender chooses by what
//! the value is about.
//!
//! *Does it matter how large a capacity is?* Up to 255 values (and 256 KiB) have a ring, and everything in one word; larger ones
//! are blocks that come and go, and each side has cache lines of its own. A value through 1000 places takes up to two fifths longer
//! than through 64 between fibers of one worker, and half as long between threads. (From the first permit or forced send on a send
//! into a large channel takes a place first, then a position, by an exchange each.)
//!
//! *Does a send wake a receiver at once?* The value is in its hands at once. When it runs is a matter of its executor, or of
//! the system if it is a thread.
//!
//! Moving here from other channels: [`moving`].

mod alone;
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
mod linked;
mod many;
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

/// A channel that holds `cap` values; sends wait while it is full. Room is allocated at once for capacities up to
/// 255 (of values that are not too large); beyond that it is allocated as the channel fills, in blocks, and freed as
/// it empties. A channel is full with 2^34 - 1 values (and permits) in any case.
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
/// Room is allocated in blocks as the channel fills, and freed as it empties, but for a block or two. Nothing slows a
/// sender down that is faster than its receivers: prefer [`bounded`] where that can happen. (It holds 2^34 values but for some
/// two million, which take 32 GiB at least. A program that sends more is ended, as by `std::process::abort`.)
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
