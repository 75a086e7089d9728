//! The two handles of a channel.

use std::collections::VecDeque;
use std::fmt;
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use super::builder::Overflow;
use super::future::{Closed, RecvFuture, SendFuture};
use super::iter::{Drain, IntoIter, Iter, TryIter};
use super::many::{RecvMany, SendMany};
use super::owned::{IntoRecv, IntoSend};
use super::receiver::receiver;
use super::sender::sender;
use super::shared::{End, Sent, Shared, SharedRef};
use super::stream::{IntoStream, RecvStream};
use super::undelivered::{Extras, Spare};
use super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};
use crate::prim::RING_SLOTS;

/// The sending side of a channel. Clones send into the same channel.
///
/// When the last sender is dropped the channel closes: receivers get what is left in it, then [`RecvError`]. When the last
/// receiver is dropped it closes too, and what is left in it is dropped, or goes to the hook of
/// [`on_undelivered`](super::Builder::on_undelivered).
pub struct Sender<T> {
    pub(super) shared: SharedRef<T>,
}

/// The receiving side of a channel. Clones receive from the same channel; each value goes to one of them.
///
/// See [`Sender`] for what happens when the last handle of a side is dropped.
pub struct Receiver<T> {
    pub(super) shared: SharedRef<T>,
}

/// Two handles of the channel, the first ones.
#[cfg_attr(feature = "tracing", track_caller)]
pub(super) fn channel<T>(
    capacity: Option<usize>,
    extras: Option<Box<Extras<T>>>,
) -> (Sender<T>, Receiver<T>) {
    with_ring(capacity, RING_SLOTS, extras)
}

/// The same; `ring`: the largest capacity of a ring.
#[cfg_attr(feature = "tracing", track_caller)]
pub(super) fn with_ring<T>(
    capacity: Option<usize>,
    ring: usize,
    extras: Option<Box<Extras<T>>>,
) -> (Sender<T>, Receiver<T>) {
    let shared = Shared::create(capacity, ring, extras);
    (Sender { shared }, Receiver { shared })
}

impl<T> Sender<T> {
    /// Sends `value` without ever waiting. If there is no room, the oldest value is removed to make room, and returned as
    /// `Some`.
    ///
    /// Waiting senders keep their places, and the value is queued ahead of theirs. On a rendezvous channel nothing can be
    /// removed: if no receiver waits, `value` itself comes back. The same applies where permits, and room kept for a waiting
    /// reservation, take up the whole capacity. An unbounded channel always has room. A returned value does not go to
    /// [`on_undelivered`](super::Builder::on_undelivered). (Values handed to receives that were dropped come first, and are not
    /// removed.)
    ///
    /// # Errors
    /// The channel is closed; the value comes back.
    ///
    /// ```
    /// let (tx, rx) = leno::bounded(2);
    /// assert_eq!(tx.force_send(1), Ok(None));
    /// assert_eq!(tx.force_send(2), Ok(None));
    /// assert_eq!(tx.force_send(3), Ok(Some(1)));
    /// assert_eq!(rx.drain().collect::<Vec<_>>(), [2, 3]);
    /// ```
    pub fn force_send(&self, value: T) -> Result<Option<T>, SendError<T>> {
        let (shared, value) = (self.get(), MaybeUninit::new(value));
        if shared.quick_send(&value) {
            return Ok(None);
        }
        // SAFETY: it was not sent.
        let value = unsafe { value.assume_init() };
        let mut gone = Spare::new(shared);
        shared.send_now(value, |value, by| {
            shared.force(Overflow::DropOldest, value, &mut gone.tray, by) != Some(Sent::Closed)
        })?;
        Ok(gone.tray.take())
    }
}

sender! {
    [] |tx| tx;
    ///
    /// Waiting senders are served FIFO, and overtaken only by [`force_send`](Self::force_send) (and by permits, which
    /// already have room).
    send;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// tx.send(7).await?;
    /// assert_eq!(rx.recv().await, Ok(7));
    /// # Ok::<(), leno::channel::SendError<i32>>(()) }).unwrap();
    /// ```
    sent;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(3);
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
    /// let (tx, rx) = leno::bounded::<u8>(1);
    /// drop(rx);
    /// tx.closed().await;
    /// assert!(tx.is_closed());
    /// # });
    /// ```
    closed;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// let sends: Vec<_> = (0..3).map(|n| tx.clone().into_send(n)).collect();
    /// drop(tx);
    /// let sends = leno::spawn(leno::fiber::join_all(sends));
    /// for n in 0..3 {
    ///     assert_eq!(rx.recv().await, Ok(n));
    /// }
    /// # sends.await.unwrap();
    /// # });
    /// ```
    into_send;
}

receiver! {
    [] |rx| rx;
    ///
    /// Waiting receivers are served FIFO.
    recv;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::unbounded();
    /// let mut seen = Vec::new();
    /// tx.send_many(&mut (1..=5).collect()).await.unwrap();
    /// assert_eq!(rx.recv_many(&mut seen, 3).await, Ok(3));
    /// assert_eq!(rx.recv_many(&mut seen, 3).await, Ok(2));
    /// assert_eq!(seen, [1, 2, 3, 4, 5]);
    /// # });
    /// ```
    recv_many;
    /// On a rendezvous channel that is nothing, but for what a dropped receive was handed; [`try_iter`](Self::try_iter) takes the
    /// values of waiting senders.
    ///
    /// ```
    /// let (tx, rx) = leno::bounded(4);
    /// tx.try_send(1).unwrap();
    /// tx.try_send(2).unwrap();
    /// assert_eq!(rx.drain().collect::<Vec<_>>(), [1, 2]);
    /// ```
    drain;
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// let mut receiving = rx.into_recv();
    /// tx.send(1).await.unwrap();
    /// assert_eq!((&mut receiving).await, Ok(1));
    /// let rx = receiving.into_receiver();
    /// # drop(rx);
    /// # });
    /// ```
    into_recv;
    /// As for `&Receiver`, so that the same code works with kinds that have a single receiver.
    into_iter;
}

/// What a handle of any kind of channel says about that, and how it closes it. `$hook` and `$permits`: additions for its kind.
macro_rules! asks {
    ($name:ident $(, hook: $hook:literal)? $(, permits: $permits:literal)?) => {
        impl<T> $name<T> {
            /// Closes the channel; returns true the first time, then false.
            ///
            /// Later sends fail, waiting senders get their values back, and what is in the channel can still be received.
            pub fn close(&self) -> bool {
                self.get().close()
            }

            #[doc = concat!("Closes the channel and drops what is in it", $($hook,)? "; true if it was not closed before.")]
            pub fn close_now(&self) -> bool {
                self.get().close_now()
            }

            /// Whether sends can only fail: the channel was closed, or all handles of a side are gone.
            pub fn is_closed(&self) -> bool {
                self.get().is_closed()
            }

            /// The number of values in the channel, not counting those of waiting senders; a snapshot while others use the
            /// channel. Values handed to receives that were dropped before they took them count, beside the capacity: on a
            /// rendezvous channel those alone.
            pub fn len(&self) -> usize {
                self.get().len()
            }

            /// Whether [`len`](Self::len) is zero.
            pub fn is_empty(&self) -> bool {
                self.get().is_empty()
            }

            #[doc = concat!("Whether there is no room for another value; always so on a rendezvous channel." $(, " ", $permits)?)]
            pub fn is_full(&self) -> bool {
                self.get().is_full()
            }

            /// How many values the channel can hold, as requested; `None`: any number.
            pub fn capacity(&self) -> Option<usize> {
                self.get().capacity()
            }

            /// Whether both are handles of one channel.
            pub fn same_channel(&self, other: &Self) -> bool {
                std::ptr::eq(self.get(), other.get())
            }

            /// Panics if an invariant of the waiter queues does not hold. For tests.
            #[doc(hidden)]
            pub fn assert_valid(&self) {
                self.get().assert_valid();
            }
        }
    };
}
pub(super) use asks;

/// For a handle of a restricted kind, around that of the general one.
macro_rules! wraps {
    ($name:ident $(, $what:ident: $more:literal)?) => {
        $crate::channel::handle::asks!($name $(, $what: $more)?);

        impl<T> $name<T> {
            fn get(&self) -> &$crate::channel::shared::Shared<T> {
                self.0.get()
            }
        }

        impl<T> ::std::fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut ::std::fmt::Formatter<'_>) -> ::std::fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}
pub(super) use wraps;

macro_rules! shares {
    ($($name:ident)*) => {$(
        asks! {
            $name,
            hook: ", or gives it to the hook of [`on_undelivered`](super::Builder::on_undelivered)",
            permits: "Permits count: the room that they hold is taken. (What a waiting \
[`reserve_many`](super::Sender::reserve_many) gathers counts once it has all of it.)"
        }

        impl<T> $name<T> {
            #[inline(always)]
            pub(super) fn get(&self) -> &Shared<T> {
                &self.shared
            }

            /// How many senders there are. (The last one may count until it has closed the channel, also to those who wake by
            /// that; or, if there is a weak one, not any more shortly before.)
            pub fn sender_count(&self) -> usize {
                self.get().count(End::Sender)
            }

            /// How many receivers there are. (The last one as for [`sender_count`](Self::sender_count).)
            pub fn receiver_count(&self) -> usize {
                self.get().count(End::Receiver)
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                // SAFETY: this is the handle that is consumed.
                unsafe { Shared::drop_handle(self.shared, End::$name) };
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                self.get().add_handle(End::$name);
                $name { shared: self.shared }
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                let mut fields = f.debug_struct(stringify!($name));
                if let Some(name) = self.get().name() {
                    fields.field("name", &name);
                }
                fields
                    .field("len", &self.len())
                    .field("capacity", &self.capacity())
                    .field("closed", &self.is_closed())
                    .field("senders", &self.sender_count())
                    .field("receivers", &self.receiver_count())
                    .finish_non_exhaustive()
            }
        }
    )*};
}
shares!(Sender Receiver);

impl<'a, T> IntoIterator for &'a Receiver<T> {
    type Item = T;
    type IntoIter = Iter<'a, T>;

    fn into_iter(self) -> Iter<'a, T> {
        self.iter()
    }
}
