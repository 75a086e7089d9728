//! The two handles of an spsc channel. Neither is cloned, and what waits or tries has its handle alone.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::super::handle::{asks, handle, shareable};
use super::super::receiver::receiver;
use super::super::ring::Slot;
use super::super::sender::sender;
use super::super::shared::{End, Shared as Core};
use super::super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError, TryRecvError, TrySendError};
use super::branch::{SharedRef, Which};
use super::shared::Shared;
use super::{
    Closed, Drain, IntoIter, IntoRecv, IntoSend, IntoStream, Iter, RecvFuture, RecvMany, RecvStream,
    SendFuture, SendMany, TryIter,
};
use crate::prim;
use crate::task::shows;

/// The sending side of an spsc channel; there is one only.
///
/// When it is dropped the channel closes: the receiver gets what is left in it, then [`RecvError`]. When the receiver is
/// dropped the channel closes too, and what is left in it is dropped.
pub struct Sender<T> {
    shared: SharedRef<T>,
}

/// The receiving side of an spsc channel; there is one only.
///
/// See [`Sender`] for what happens when a handle is dropped.
pub struct Receiver<T> {
    shared: SharedRef<T>,
}

/// The least capacity that has two words: see [`shared`](super::shared) for why. (In models, and where things are checked, it is
/// small: so that there is much to be seen.)
const LEAST: usize = match prim::MODEL {
    true => 1,
    false if cfg!(debug_assertions) => 2,
    false => 96,
};

/// The two handles of a new channel.
#[cfg_attr(feature = "tracing", track_caller)]
pub(super) fn channel<T>(capacity: Option<usize>) -> (Sender<T>, Receiver<T>) {
    let shared = match capacity {
        // (The core as a ring, or a rendezvous, only.)
        Some(capacity) if capacity < LEAST && Slot::<T>::ring(capacity).is_some() => {
            SharedRef::met(Core::new(Some(capacity), None))
        }
        _ => SharedRef::own(Shared::new(capacity)),
    };
    (Sender { shared }, Receiver { shared })
}

sender! {
    [mut] |tx| tx;
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

handle!(Sender: Which<'_, T>, SharedRef);
handle!(Receiver: Which<'_, T>, SharedRef);

shows! { [T] Sender<T>, "Sender", it => len: it.len(), capacity: it.capacity(), closed: it.is_closed() }
shows! { [T] Receiver<T>, "Receiver", it => len: it.len(), capacity: it.capacity(), closed: it.is_closed() }
