//! Sends and receives that keep their handle: futures without a lifetime, to be put into structs and collections.
//!
//! ```text
//!   IntoSend │ operation │ sender │        dropped in this order
//! ```
//!
//! # Invariants
//! 1. The operation is dropped, or is through, before the handle goes: what it has begun it takes back while the handle keeps the
//!    channel. The order of the fields ensures that, also where a drop panics.
//!
//! Otherwise they are the futures of [`future`](super::future): their operations are the same.

#![allow(private_interfaces, private_bounds, reason = "nobody outside the crate can name kinds")]

use std::mem::MaybeUninit;
use std::time::Instant;

use super::branch::{Recv, Send};
use super::future::{cancel, send_until, untold};
use super::kind::{Kind, Many};
use super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError};
use crate::wait::{Operation, future};

/// A send that owns its sender, and waits until its value is in the channel or, on a rendezvous channel, in a receiver's hands.
///
/// Made by [`Sender::into_send`](super::Sender::into_send). It borrows nothing, so it is `'static` if `T` is. It holds the sender,
/// even after it has completed, until the future is dropped ([`wait`](Self::wait) does) or [`into_parts`](Self::into_parts) gives
/// it back.
///
/// Dropping it before it completes cancels the send and drops the value, then the sender, which closes the channel if it was
/// the last one. So pass it to a `select!` by `&mut`: a branch passed by value that loses is dropped with its sender.
#[must_use = "futures do nothing unless polled"]
pub struct IntoSend<T, K: Kind = Many> {
    // Before the sender: it must be dropped first.
    operation: Operation<Send<T>>,
    sender: K::Sender<T>,
}

/// A receive that owns its receiver, and waits until there is a value, or the channel is closed and empty.
///
/// Made by [`Receiver::into_recv`](super::Receiver::into_recv). It borrows nothing, so it is `'static` if `T` is. It holds the
/// receiver, even after it has completed, until the future is dropped ([`wait`](Self::wait) does) or
/// [`into_receiver`](Self::into_receiver) gives it back.
///
/// Dropping it before it completes cancels the receive: a value already handed to it goes to the next receive, before all
/// values yet to be sent. Then the receiver is dropped; if it was the last one, so is what is in the channel. So pass it to a
/// `select!` by `&mut`: a branch passed by value that loses is dropped with its receiver. (If that drop panics at the end of a
/// [`wait`](Self::wait), what was received is dropped as well: it was delivered.)
#[must_use = "futures do nothing unless polled"]
pub struct IntoRecv<T, K: Kind = Many> {
    // Before the receiver: it must be dropped first.
    operation: Operation<Recv<T>>,
    receiver: K::Receiver<T>,
}

impl<T, K: Kind> IntoSend<T, K> {
    #[track_caller]
    pub(super) fn new(sender: K::Sender<T>, value: T) -> Self {
        // SAFETY: the sender is kept beside the branch, and for longer (invariant 1).
        let branch = unsafe { Send::new(K::sender(&sender), MaybeUninit::new(value)) };
        IntoSend { operation: Operation::new(branch), sender }
    }

    /// Cancels the send, if it has not completed, and gives back the sender and the value. `None`: the value was sent, or came
    /// back in the error that the future completed with.
    ///
    /// If a receiver on another thread is just taking the value, this waits until that is done: a few instructions, unless that
    /// thread was preempted.
    ///
    /// ```
    /// let (tx, rx) = leno::rendezvous();
    /// let sending = tx.into_send("kept");
    /// let (tx, value) = sending.into_parts();
    /// assert_eq!(value, Some("kept"));
    /// # drop((tx, rx));
    /// ```
    pub fn into_parts(self) -> (K::Sender<T>, Option<T>) {
        // (In this order, should a waker panic in its drop: what comes last is dropped first.)
        let IntoSend { sender, mut operation } = self;
        let value = cancel(&mut operation);
        (sender, value)
    }

    fn until(&mut self, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        send_until(&mut self.operation, deadline)
    }
}

impl<T, K: Kind> IntoRecv<T, K> {
    #[track_caller]
    pub(super) fn new(receiver: K::Receiver<T>) -> Self {
        // SAFETY: the receiver is kept beside the branch, and for longer (invariant 1).
        let branch = unsafe { Recv::new(K::receiver(&receiver)) };
        IntoRecv { operation: Operation::new(branch), receiver }
    }

    /// Cancels the receive, if it has not completed, and gives back the receiver. A value already handed to it goes to the next
    /// receive, on this receiver or another one.
    pub fn into_receiver(self) -> K::Receiver<T> {
        let IntoRecv { operation, receiver } = self;
        drop(operation);
        receiver
    }
}

future! {
    [T, K: Kind] IntoSend<T, K>, "IntoSend", "send";
    Send<T> => Result<(), SendError<T>>, |_, sent| sent, back untold; until Result<(), SendTimeoutError<T>>
}
future! {
    [T, K: Kind] IntoRecv<T, K>, "IntoRecv", "recv";
    Recv<T> => Result<T, RecvError>, |_, received| received, back |_, received: Self::Output| received.ok(); or RecvTimeoutError => T
}
