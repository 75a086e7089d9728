//! Channels with one sender and one receiver.
//!
//! Neither handle can be cloned, and operations take their handle by `&mut`: the compiler enforces that there is one of
//! each. Otherwise it is like the [general kind](super): same names, errors, futures, selects.
//!
//! ```
//! use leno::channel::spsc;
//!
//! let (mut tx, mut rx) = spsc::bounded(64);
//! std::thread::spawn(move || {
//!     for row in 0..3 {
//!         tx.send_blocking(row).unwrap();
//!     }
//! });
//! leno::block_on(async {
//!     let mut rows = Vec::new();
//!     while let Ok(row) = rx.recv().await {
//!         rows.push(row);
//!     }
//!     assert_eq!(rows, [0, 1, 2]);
//! });
//! ```
//!
//! # Forgotten futures
//!
//! A future that is forgotten ([`std::mem::forget`]) releases its handle but stays registered. Until its side's next operation
//! removes it, the other side may still serve it: a receive takes one value, which is lost; a send's value may be received.
//! That next operation does not wait behind it. But with a capacity below 64 (in builds with debug assertions, below 2) the
//! forgotten future keeps its place in line, as in the general kind, even when later operations have come; never where the
//! values are too large to be allocated up front.
//!
//! # What is missing
//!
//! There is no `reserve`: nobody else can take the room that the only sender has seen. (To pass a permit to another fiber
//! use the general kind.) There is no `force_send`, as only the receiver removes values, and no weak handle, as upgrading
//! it would make a second handle.
//!
//! # Cost
//!
//! With room for 96 or more, each side works on its own cache line and looks at the other's once in a while: an operation is one
//! locked instruction, which fails only if the other side has begun to wait. Such a channel takes 304 bytes plus its slots when
//! empty. Smaller capacities work as in the general kind (unless the values are very large): there each side soon needs the
//! other one, and a single cache line for everything is faster.

pub(super) mod branch;
mod end;
mod handle;
mod shared;
mod store;
mod words;

use super::kind::{Single, of_kind};

pub use super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};
pub use handle::{Receiver, Sender};

of_kind! {
    Single: SendFuture<'a> RecvFuture<'a> Closed<'a> IntoSend IntoRecv SendMany<'a> RecvMany<'a>
    RecvStream<'a> IntoStream Iter<'a> TryIter<'a> Drain<'a> IntoIter
}
#[cfg(feature = "sink")]
of_kind!(Single: SendSink<'a> IntoSink);

/// A channel of capacity 0: a send completes when the receiver has taken its value. The same as `bounded(0)`.
///
/// ```
/// let (mut tx, mut rx) = leno::channel::spsc::rendezvous();
/// assert!(tx.try_send(1).is_err(), "nobody is there to take it");
/// std::thread::spawn(move || tx.send_blocking(2));
/// assert_eq!(rx.recv_blocking(), Ok(2));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    bounded(0)
}

/// A channel that holds `cap` values; sends wait while it is full. Room is allocated up front for capacities up to 255
/// (of values that are not too large); beyond that it is allocated as the channel fills, in blocks, and freed as it
/// empties.
///
/// ```
/// let (mut tx, mut rx) = leno::channel::spsc::bounded(1);
/// tx.try_send('a').unwrap();
/// assert!(tx.try_send('b').unwrap_err().is_full());
/// assert_eq!(rx.try_recv(), Ok('a'));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    handle::channel(Some(cap))
}

/// A channel that holds any number of values; sends never wait (unless there are 2^35 - 1 in it). See
/// [`leno::unbounded`](super::unbounded).
///
/// ```
/// let (mut tx, rx) = leno::channel::spsc::unbounded();
/// tx.try_send(1).unwrap();
/// assert_eq!((rx.len(), rx.capacity()), (1, None));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    handle::channel(None)
}
