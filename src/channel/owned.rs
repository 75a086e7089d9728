//! Sends and receives that keep their handle: futures without a lifetime, to be put into structs and collections.
//!
//! ```text
//!   IntoSend │ operation │ sender │        dropped in this order
//! ```
//!
//! # Invariants
//! 1. The operation is dropped, or is through, before the handle goes: what it has begun it takes back while the handle keeps the
//!    channel. The order of the fields says so where the whole is dropped, and also where a drop panics.
//!
//! Otherwise they are the futures of [`future`](super::future), and their branches are the same.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;

use super::branch::{Recv, Send};
use super::shared::SharedRef;
use super::{Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender};
use crate::task::context::may_block;
use crate::task::thread::deadline_after;
use crate::wait::{Cancelled, Operation, Tray};

/// A send that keeps its sender, and waits until its value is in the channel or, on a rendezvous channel, in a receiver's hands.
///
/// Made by [`Sender::into_send`]. It borrows nothing: where `T` is `'static` it is, too. The sender stays in it, also after it has
/// completed, until it is dropped or [`into_parts`](Self::into_parts) gives it back.
///
/// Dropping it before it completes cancels the send, and drops the value; then the sender, which closes the channel if it was the
/// last one. So it is better lent to a `select!`, as `&mut sending`: as a branch by value that loses it takes its sender with it.
#[must_use = "futures do nothing unless polled"]
pub struct IntoSend<T, S = Sender<T>> {
    // Before the sender: it must be dropped first.
    operation: Operation<Send<T>>,
    sender: S,
}

/// A receive that keeps its receiver, and waits until there is a value, or the channel is closed and empty.
///
/// Made by [`Receiver::into_recv`]. It borrows nothing: where `T` is `'static` it is, too. The receiver stays in it, also after it
/// has completed, until it is dropped or [`into_receiver`](Self::into_receiver) gives it back.
///
/// Dropping it before it completes cancels the receive: a value that was handed to it already goes to the next receiver, before all
/// values that are still to be sent. Then the receiver is dropped; if it was the last one, what is in the channel is dropped with
/// it. So it is better lent to a `select!`, as `&mut receiving`: as a branch by value that loses it takes its receiver with it.
#[must_use = "futures do nothing unless polled"]
pub struct IntoRecv<T, R = Receiver<T>> {
    // Before the receiver: it must be dropped first.
    operation: Operation<Recv<T>>,
    receiver: R,
}

impl<T> Sender<T> {
    /// As [`send`](Self::send), in a future that keeps this sender.
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
    #[track_caller]
    pub fn into_send(self, value: T) -> IntoSend<T> {
        // SAFETY: it is a sender of that channel.
        unsafe { IntoSend::new(self.shared(), self, value) }
    }
}

impl<T> Receiver<T> {
    /// As [`recv`](Self::recv), in a future that keeps this receiver.
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
    #[track_caller]
    pub fn into_recv(self) -> IntoRecv<T> {
        // SAFETY: it is a receiver of that channel.
        unsafe { IntoRecv::new(self.shared(), self) }
    }
}

impl<T, S> IntoSend<T, S> {
    /// # Safety
    /// The sender is one of that channel.
    #[track_caller]
    pub(super) unsafe fn new(shared: SharedRef<T>, sender: S, value: T) -> Self {
        // SAFETY: the sender is kept beside the branch, and for longer (invariant 1).
        let branch = unsafe { Send::new(shared, value) };
        IntoSend { operation: Operation::new(branch), sender }
    }

    /// Cancels the send, if it is not through, and gives back the sender, and the value. `None`: the value was sent, or came back
    /// with the error that the future completed with.
    ///
    /// Should a receiver be taking the value on another thread just now, this waits for that to be over: a few instructions, unless
    /// that thread was preempted in the middle of them.
    ///
    /// ```
    /// let (tx, rx) = leno::rendezvous();
    /// let sending = tx.into_send("kept");
    /// let (tx, value) = sending.into_parts();
    /// assert_eq!(value, Some("kept"));
    /// # drop((tx, rx));
    /// ```
    pub fn into_parts(self) -> (S, Option<T>) {
        let IntoSend { mut operation, sender } = self;
        let value = match operation.cancel(Some(&mut Tray::new())) {
            Cancelled::Undone if operation.is_fresh() => Some(take(&mut operation)),
            _ => None,
        };
        (sender, value)
    }

    fn block_on(&mut self, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        let mut tray = Tray::new();
        match self.operation.block_on_to(&mut tray, deadline) {
            false => Err(SendTimeoutError::Timeout(take(&mut self.operation))),
            true => tray.take().ok_or_else(|| SendTimeoutError::Closed(take(&mut self.operation))),
        }
    }
}

/// The value of a send that did not happen.
pub(super) fn take<T>(operation: &mut Operation<Send<T>>) -> T {
    debug_assert!(operation.is_fresh(), "a send that did not happen has its value");
    operation.end();
    // SAFETY: it was fresh, and is over now.
    unsafe { operation.branch_mut().take() }
}

impl<T, R> IntoRecv<T, R> {
    /// # Safety
    /// The receiver is one of that channel.
    #[track_caller]
    pub(super) unsafe fn new(shared: SharedRef<T>, receiver: R) -> Self {
        // SAFETY: the receiver is kept beside the branch, and for longer (invariant 1).
        let branch = unsafe { Recv::new(shared) };
        IntoRecv { operation: Operation::new(branch), receiver }
    }

    /// Cancels the receive, if it is not through, and gives back the receiver. A value that was handed to it already goes to the
    /// next receive, on this receiver or another one.
    pub fn into_receiver(self) -> R {
        let IntoRecv { operation, receiver } = self;
        drop(operation);
        receiver
    }

    fn block_on(&mut self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let mut tray = Tray::new();
        match self.operation.block_on_to(&mut tray, deadline) {
            false => Err(RecvTimeoutError::Timeout),
            true => tray.take().ok_or(RecvTimeoutError::Closed),
        }
    }
}

macro_rules! owned {
    ($(#[doc = $what:literal] $call:literal $name:ident, $branch:ident => $output:ty, $timely:ty;)+) => {$(
        impl<T, H> $name<T, H> {
            #[doc = $what]
            ///
            /// # Errors
            /// Those of the future.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
            #[track_caller]
            pub fn wait(mut self) -> $output {
                may_block($call);
                self.operation.wait()
            }

            /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with [`Duration::MAX`] it waits for ever.
            ///
            /// # Errors
            /// As [`wait`](Self::wait); or the time was up, and nothing has happened.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_timeout(mut self, d: Duration) -> $timely {
                may_block($call);
                self.block_on(deadline_after(d))
            }

            /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`. One in the past tries once.
            ///
            /// # Errors
            /// As [`wait_timeout`](Self::wait_timeout).
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_deadline(mut self, t: Instant) -> $timely {
                may_block($call);
                self.block_on(Some(t))
            }

            pub(crate) fn operation(&mut self) -> &mut Operation<$branch<T>> {
                &mut self.operation
            }
        }

        impl<T, H> Future for $name<T, H> {
            type Output = $output;

            #[inline]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.operation.poll(cx)
            }
        }

        impl<T, H> FusedFuture for $name<T, H> {
            fn is_terminated(&self) -> bool {
                self.operation.is_over()
            }
        }

        // (The handle is never pinned.)
        impl<T, H> Unpin for $name<T, H> {}

        impl<T, H> fmt::Debug for $name<T, H> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("waits", &self.operation.waits()).finish_non_exhaustive()
            }
        }
    )+};
}

owned! {
    /// Sends from a plain thread, which sleeps until the value is sent, and drops the sender then. With an error the value comes back.
    "send" IntoSend, Send => Result<(), SendError<T>>, Result<(), SendTimeoutError<T>>;
    /// Receives on a plain thread, which sleeps until there is a value, and drops the receiver then.
    "recv" IntoRecv, Recv => Result<T, RecvError>, Result<T, RecvTimeoutError>;
}
