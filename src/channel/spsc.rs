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
//! A future that is forgotten ([`std::mem::forget`]) releases its handle but keeps its place in line: one value may be handed to a
//! receive, which is lost, and a send's value may be received. The next operation of its side waits behind it.
//!
//! # What is missing
//!
//! There is no `reserve`: nobody else can take the room that the only sender has seen. (To pass a permit to another fiber
//! use the general kind.) There is no `force_send`, as only the receiver removes values, no weak handle, as upgrading it
//! would make a second handle, and no count of handles, as there is one on each side.
//!
//! # Cost
//!
//! It is the general channel, and as fast. But from a capacity of 128 on, not 256, it is made of blocks: there its sides work on
//! cache lines of their own, which is faster between two threads.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::handle::{with_ring, wraps};
use super::kind::{Single, of_kind};
use super::receiver::receiver;
use super::sender::sender;

#[cfg(feature = "sink")]
pub use super::SendSink;
pub use super::{Closed, Drain, Iter, RecvFuture, RecvMany, RecvStream, SendFuture, SendMany, TryIter};
pub use super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};

of_kind! {
    Single: IntoSend IntoRecv IntoStream IntoIter
}
#[cfg(feature = "sink")]
of_kind!(Single: IntoSink);

/// The sending side of an spsc channel; there is one only.
///
/// When it is dropped the channel closes: the receiver gets what is left in it, then [`RecvError`]. When the receiver is
/// dropped the channel closes too, and what is left in it is dropped.
pub struct Sender<T>(pub(super) super::Sender<T>);

/// The receiving side of an spsc channel; there is one only.
///
/// See [`Sender`] for what happens when a handle is dropped.
pub struct Receiver<T>(pub(super) super::Receiver<T>);

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

/// A channel that holds `cap` values; sends wait while it is full. See [`leno::bounded`](super::bounded); but from a capacity of
/// 128 on its memory is allocated as it fills.
///
/// ```
/// let (mut tx, mut rx) = leno::channel::spsc::bounded(1);
/// tx.try_send('a').unwrap();
/// assert!(tx.try_send('b').unwrap_err().is_full());
/// assert_eq!(rx.try_recv(), Ok('a'));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    of(Some(cap))
}

/// A channel that holds any number of values; sends never wait. See [`leno::unbounded`](super::unbounded).
///
/// ```
/// let (mut tx, rx) = leno::channel::spsc::unbounded();
/// tx.try_send(1).unwrap();
/// assert_eq!((rx.len(), rx.capacity()), (1, None));
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    of(None)
}

/// The largest capacity of a ring. (Measured: with less room the sides soon need each other, and blocks gain nothing. Where a side
/// has several, who wait at a full channel, a ring is better still.)
const RING: usize = 127;

#[cfg_attr(feature = "tracing", track_caller)]
fn of<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    let (tx, rx) = with_ring(capacity, RING, None);
    (Sender(tx), Receiver(rx))
}

sender! {
    [mut] |tx| &tx.0;
    send;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (mut tx, mut rx) = leno::channel::spsc::bounded(1);
    /// tx.send(7).await?;
    /// assert_eq!(rx.recv().await, Ok(7));
    /// # Ok::<(), leno::channel::SendError<i32>>(()) }).unwrap();
    /// ```
    sent;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (mut tx, rx) = leno::channel::spsc::bounded(3);
    /// let mut values = (1..=5).collect();
    /// assert_eq!(tx.try_send_many(&mut values), Ok(3));
    /// assert_eq!(values, [4, 5], "what was not sent stays");
    /// drop(rx);
    /// assert!(tx.send_many(&mut values).await.is_err());
    /// # });
    /// ```
    send_many;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (mut tx, rx) = leno::channel::spsc::bounded::<u8>(1);
    /// drop(rx);
    /// tx.closed().await;
    /// assert!(tx.is_closed());
    /// # });
    /// ```
    closed;
    ///
    /// See [`leno::Sender::into_send`](crate::Sender::into_send).
    into_send;
}

receiver!(mut);

wraps!(Sender);
wraps!(Receiver);
