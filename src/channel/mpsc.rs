//! Channels with any number of senders and one receiver.
//!
//! The [`Receiver`] cannot be cloned, and receiving takes it by `&mut`: the compiler enforces that there is only one.
//! Otherwise this is the [general channel](super), and as fast.
//!
//! ```
//! let (tx, mut rx) = leno::channel::mpsc::bounded(4);
//! let weavers = (0..3).map(|weaver| {
//!     let tx = tx.clone();
//!     std::thread::spawn(move || tx.send_blocking(weaver))
//! });
//! let weavers = weavers.collect::<Vec<_>>();
//! drop(tx);
//! assert_eq!(rx.iter().sum::<i32>(), 3);
//! # weavers.into_iter().for_each(|weaver| weaver.join().unwrap().unwrap());
//! ```
//!
//! # Forgotten futures
//!
//! A future of the receiver that is forgotten ([`std::mem::forget`]) keeps its place in line: one value may be handed to
//! it, which is lost, and the next receive waits behind it.

use std::collections::VecDeque;
use std::fmt;
use std::time::{Duration, Instant};

use super::handle::wraps;
use super::kind::{Mpsc, of_kind};
use super::receiver::receiver;
use super::sender::sender;

#[cfg(feature = "sink")]
pub use super::SendSink;
pub use super::{
    Closed, Drain, Iter, Permit, Permits, RecvFuture, RecvMany, RecvStream, Reserve, ReserveMany, SendFuture,
    SendMany, TryIter,
};
pub use super::{
    RecvError, RecvTimeoutError, ReserveError, ReserveManyError, ReserveTimeoutError, SendError,
    SendTimeoutError, TryRecvError, TryReserveError, TryReserveManyError, TrySendError,
};

of_kind! {
    Mpsc: IntoSend IntoRecv IntoStream IntoIter ReserveOwned OwnedPermit
}
#[cfg(feature = "sink")]
of_kind!(Mpsc: IntoSink);

/// The receiving side of an mpsc channel; there is one only.
///
/// When the last sender is dropped the channel closes: the receiver gets what is left in it, then [`RecvError`].
/// When the receiver is dropped it closes too, and what is left in it is dropped.
pub struct Receiver<T>(pub(super) super::Receiver<T>);

/// The sending side of an mpsc channel; clones of it send into the same channel.
pub struct Sender<T>(pub(super) super::Sender<T>);

/// A channel of capacity 0: a send completes when the receiver has taken its value. The same as `bounded(0)`.
#[cfg_attr(feature = "tracing", track_caller)]
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    of(super::rendezvous())
}

/// A channel that holds `cap` values; sends wait while it is full. See [`leno::bounded`](super::bounded).
#[cfg_attr(feature = "tracing", track_caller)]
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    of(super::bounded(cap))
}

/// A channel that holds any number of values; sends never wait. See [`leno::unbounded`](super::unbounded).
#[cfg_attr(feature = "tracing", track_caller)]
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    of(super::unbounded())
}

fn of<T>((tx, rx): (super::Sender<T>, super::Receiver<T>)) -> (Sender<T>, Receiver<T>) {
    (Sender(tx), Receiver(rx))
}

impl<T> Sender<T> {
    /// Sends `value` without ever waiting: if there is no room, the oldest value is removed to make room, and returned. See
    /// [`leno::Sender::force_send`](super::Sender::force_send).
    ///
    /// # Errors
    /// The channel is closed; the value comes back.
    ///
    /// ```
    /// let (tx, mut rx) = leno::channel::mpsc::bounded(1);
    /// assert_eq!(tx.force_send(1), Ok(None));
    /// assert_eq!(tx.force_send(2), Ok(Some(1)));
    /// assert_eq!(rx.try_recv(), Ok(2));
    /// ```
    pub fn force_send(&self, value: T) -> Result<Option<T>, SendError<T>> {
        self.0.force_send(value)
    }

    /// Reserves room for one value; waits while the channel is full. See [`leno::Sender::reserve`](super::Sender::reserve).
    ///
    /// # Errors
    /// The channel is closed; or it is a rendezvous channel, which has no room to reserve.
    #[track_caller]
    pub fn reserve(&self) -> Reserve<'_, T> {
        self.0.reserve()
    }

    /// Reserves room for one value if there is some now, and nobody already waits for it.
    ///
    /// # Errors
    /// There is no room, or others wait for it; or the channel is closed or a rendezvous channel.
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TryReserveError> {
        self.0.try_reserve()
    }

    /// Reserves room for `n` values at once. See [`leno::Sender::reserve_many`](super::Sender::reserve_many).
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve); or `n` is more than the channel holds, or, if it is bounded, than 2^32 - 2.
    #[track_caller]
    pub fn reserve_many(&self, n: usize) -> ReserveMany<'_, T> {
        self.0.reserve_many(n)
    }

    /// Reserves room for `n` values if there is that much now, and nobody already waits for it.
    ///
    /// # Errors
    /// There is not enough room, or others wait for it; or the channel is closed or a rendezvous channel; or `n` exceeds
    /// its capacity, or, if that is bounded, 2^32 - 2.
    pub fn try_reserve_many(&self, n: usize) -> Result<Permits<'_, T>, TryReserveManyError> {
        self.0.try_reserve_many(n)
    }

    /// As [`reserve`](Self::reserve), with a permit that owns this sender.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve); the sender is dropped.
    ///
    /// ```
    /// let (tx, mut rx) = leno::channel::mpsc::bounded(1);
    /// let tx = tx.reserve_owned().wait().unwrap().send(1).unwrap();
    /// assert_eq!((rx.try_recv(), tx.len()), (Ok(1), 0));
    /// ```
    #[track_caller]
    pub fn reserve_owned(self) -> ReserveOwned<T> {
        ReserveOwned::new(self)
    }

    /// A handle that does not keep the channel open and can be upgraded to a sender. See
    /// [`leno::Sender::downgrade`](super::Sender::downgrade).
    pub fn downgrade(&self) -> WeakSender<T> {
        WeakSender(self.0.downgrade())
    }
}

sender! {
    [] |tx| &tx.0;
    ///
    /// See [`leno::Sender::send`](super::Sender::send).
    send;
    sent;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::channel::mpsc::bounded(3);
    /// let mut values = (1..=5).collect();
    /// assert_eq!(tx.try_send_many(&mut values), Ok(3));
    /// assert_eq!(values, [4, 5], "what was not sent stays");
    /// drop(rx);
    /// assert!(tx.send_many(&mut values).await.is_err());
    /// # });
    /// ```
    send_many;
    closed;
    ///
    /// See [`leno::Sender::into_send`](super::Sender::into_send).
    into_send;
}

/// A handle that does not keep the channel open and can be upgraded to a [`Sender`]. See
/// [`leno::channel::WeakSender`](super::WeakSender).
pub struct WeakSender<T>(super::WeakSender<T>);

impl<T> WeakSender<T> {
    /// A sender of the channel. `None`: no sender is left, and the channel is closed.
    pub fn upgrade(&self) -> Option<Sender<T>> {
        self.0.upgrade().map(Sender)
    }

    /// How many senders there are; weak ones are not counted.
    pub fn sender_count(&self) -> usize {
        self.0.sender_count()
    }

    /// 1, or 0 once the receiver is gone.
    pub fn receiver_count(&self) -> usize {
        self.0.receiver_count()
    }
}

impl<T> Clone for WeakSender<T> {
    fn clone(&self) -> Self {
        WeakSender(self.0.clone())
    }
}

impl<T> fmt::Debug for WeakSender<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T> Clone for Sender<T> {
    fn clone(&self) -> Self {
        Sender(self.0.clone())
    }
}

receiver!(mut);

wraps!(Sender, permits: "Permits count.");
wraps!(Receiver, permits: "Permits count.");

macro_rules! counts {
    ($($name:ident)*) => {$(
        impl<T> $name<T> {
            /// How many senders there are.
            pub fn sender_count(&self) -> usize {
                self.0.sender_count()
            }
        }
    )*};
}
counts!(Sender Receiver);
