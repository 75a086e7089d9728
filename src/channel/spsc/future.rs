//! The futures of an spsc channel. Each is one [`Operation`](crate::wait) and the only borrow of its handle.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;

use super::super::{RecvError, RecvTimeoutError, SendError, SendTimeoutError};
use super::branch::{Recv, Send, Watch};
use super::{Receiver, Sender};
use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::thread::deadline_after;
use crate::wait::{Cancelled, Operation, Tray};

/// A send that waits until its value is in the channel or, on a rendezvous channel, in a receiver's hands.
///
/// Made by [`Sender::send`]. Dropping it before it completes cancels the send; [`SendFuture::into_inner`] does so
/// and gives the value back.
#[must_use = "futures do nothing unless polled"]
pub struct SendFuture<'a, T> {
    operation: Operation<Send<T>>,
    _sender: PhantomData<&'a Sender<T>>,
}

/// A receive that waits until there is a value, or the channel is closed and empty.
///
/// Made by [`Receiver::recv`]. Dropping it before it completes cancels the receive and never loses a value.
#[must_use = "futures do nothing unless polled"]
pub struct RecvFuture<'a, T> {
    operation: Operation<Recv<T>>,
    _receiver: PhantomData<&'a Receiver<T>>,
}

/// Resolves when sends on the channel can only fail: it was closed, or the last receiver is gone.
///
/// Made by [`Sender::closed`]. Dropping it has no effect on the channel.
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a, T> {
    operation: Operation<Watch<T>>,
    _sender: PhantomData<&'a Sender<T>>,
}

impl<'a, T> SendFuture<'a, T> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(sender: &'a mut Sender<T>, value: T) -> Self {
        // SAFETY: the sender is borrowed alone for as long as the future lives.
        let branch = unsafe { Send::new(sender.channel(), value) };
        SendFuture { operation: Operation::new(branch), _sender: PhantomData }
    }

    /// Cancels the send and gives its value back. `None`: the value was sent, or came back with the error that the
    /// future completed with.
    ///
    /// Should a receiver be taking the value on another thread just now, this waits for that to be over: a few
    /// instructions, unless that thread was preempted in the middle of them.
    ///
    /// ```
    /// let (mut tx, rx) = leno::channel::spsc::rendezvous();
    /// let sending = tx.send("kept");
    /// assert_eq!(sending.into_inner(), Some("kept"));
    /// # drop(rx);
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        self.cancel()
    }

    fn cancel(&mut self) -> Option<T> {
        match self.operation.cancel(Some(&mut Tray::new())) {
            Cancelled::Undone if self.operation.is_fresh() => Some(self.take()),
            _ => None,
        }
    }

    /// The value of a send that did not happen.
    #[inline(always)]
    pub(super) fn take(&mut self) -> T {
        debug_assert!(self.operation.is_fresh(), "a send that did not happen has its value");
        self.operation.end();
        // SAFETY: it was fresh, and is over now.
        unsafe { self.operation.branch_mut().take() }
    }

    /// Sends from a plain thread, which sleeps until the value is sent.
    ///
    /// # Errors
    /// The channel is closed; the value comes back.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
    #[inline]
    #[track_caller]
    pub fn wait(mut self) -> Result<(), SendError<T>> {
        may_block("send");
        match self.operation.quick_output() {
            Some(sent) => sent,
            None => self.block_on(None).map_err(|error| SendError(error.into_inner())),
        }
    }

    /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with [`Duration::MAX`] it waits for
    /// ever.
    ///
    /// # Errors
    /// The channel is closed, or the time was up and the value is not sent; it comes back.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_timeout(self, d: Duration) -> Result<(), SendTimeoutError<T>> {
        may_block("send");
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
    pub fn wait_deadline(self, t: Instant) -> Result<(), SendTimeoutError<T>> {
        may_block("send");
        self.block_on(Some(t))
    }

    fn block_on(mut self, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        let mut tray = Tray::new();
        match self.operation.block_on_to(&mut tray, deadline) {
            false => Err(SendTimeoutError::Timeout(self.take())),
            true => tray.take().ok_or_else(|| SendTimeoutError::Closed(self.take())),
        }
    }
}

impl<'a, T> RecvFuture<'a, T> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        // SAFETY: the receiver is borrowed alone for as long as the future lives.
        let branch = unsafe { Recv::new(receiver.channel()) };
        RecvFuture { operation: Operation::new(branch), _receiver: PhantomData }
    }

    /// Receives on a plain thread, which sleeps until there is a value.
    ///
    /// # Errors
    /// The channel is closed and empty.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
    #[inline]
    #[track_caller]
    pub fn wait(mut self) -> Result<T, RecvError> {
        may_block("recv");
        self.operation.wait()
    }

    /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with [`Duration::MAX`] it waits for
    /// ever.
    ///
    /// # Errors
    /// The channel is closed and empty, or the time was up and nothing was taken.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_timeout(mut self, d: Duration) -> Result<T, RecvTimeoutError> {
        may_block("recv");
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
    pub fn wait_deadline(mut self, t: Instant) -> Result<T, RecvTimeoutError> {
        may_block("recv");
        self.block_on(Some(t))
    }

    fn block_on(&mut self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        match self.operation.block_on(deadline) {
            Some(received) => received.map_err(RecvTimeoutError::from),
            None => Err(RecvTimeoutError::Timeout),
        }
    }
}

impl<'a, T> Closed<'a, T> {
    #[track_caller]
    pub(super) fn new(sender: &'a mut Sender<T>) -> Self {
        // SAFETY: the sender is borrowed alone for as long as the future lives.
        let branch = unsafe { Watch::new(sender.channel()) };
        Closed { operation: Operation::new(branch), _sender: PhantomData }
    }

    /// Waits on a plain thread.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
    #[track_caller]
    pub fn wait(mut self) {
        may_block("closed");
        self.operation.block_on(None);
    }

    /// As [`wait`](Self::wait), for `d` at most.
    ///
    /// # Errors
    /// The time was up.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_timeout(mut self, d: Duration) -> Result<(), Elapsed> {
        may_block("closed");
        self.operation.block_on(deadline_after(d)).ok_or(Elapsed::new())
    }

    /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`.
    ///
    /// # Errors
    /// The time was up.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_deadline(mut self, t: Instant) -> Result<(), Elapsed> {
        may_block("closed");
        self.operation.block_on(Some(t)).ok_or(Elapsed::new())
    }
}

macro_rules! future {
    ($($name:ident, $branch:ident => $output:ty;)+) => {$(
        impl<T> Future for $name<'_, T> {
            type Output = $output;

            #[inline(always)]
            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.operation.poll(cx)
            }
        }

        impl<T> FusedFuture for $name<'_, T> {
            fn is_terminated(&self) -> bool {
                self.operation.is_over()
            }
        }

        impl<T> Unpin for $name<'_, T> {}

        /// Leaves the queue. The borrow of the handle has to last until then, which a drop of its own says.
        impl<T> Drop for $name<'_, T> {
            #[inline(always)]
            fn drop(&mut self) {}
        }

        impl<T> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("waits", &self.operation.waits()).finish_non_exhaustive()
            }
        }

        impl<'a, T> $name<'a, T> {
            pub(crate) fn operation(&mut self) -> &mut Operation<$branch<T>> {
                &mut self.operation
            }
        }
    )+};
}

future! {
    SendFuture, Send => Result<(), SendError<T>>;
    RecvFuture, Recv => Result<T, RecvError>;
    Closed, Watch => ();
}
