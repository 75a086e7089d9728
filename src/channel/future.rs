//! The futures of a channel. Each is one [`Operation`](crate::wait) and a borrow of its handle.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;

use super::branch::{Recv, Send, Watch};
use super::{Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender};
use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::thread::deadline_after;
use crate::wait::{By, Cancelled, Operation, Tray};

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
    pub(super) fn new(sender: &'a Sender<T>, value: T) -> Self {
        // SAFETY: the sender is borrowed for as long as the future lives.
        let branch = unsafe { Send::new(sender.shared(), value) };
        SendFuture { operation: Operation::new(branch), _sender: PhantomData }
    }

    /// Cancels the send and gives its value back. `None`: the value was sent, or came back with the error that the
    /// future completed with.
    ///
    /// Should a receiver be taking the value on another thread just now, this waits for that to be over: a few
    /// instructions, unless that thread was preempted in the middle of them.
    ///
    /// ```
    /// let (tx, rx) = leno::rendezvous();
    /// let sending = tx.send("kept");
    /// assert_eq!(sending.into_inner(), Some("kept"));
    /// # drop(rx);
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        match self.operation.cancel(Some(&mut Tray::new())) {
            Cancelled::Undone if self.operation.is_fresh() => Some(self.take()),
            _ => None,
        }
    }

    /// Sends without waiting; `gone`: for the value that there was no room for.
    pub(super) fn force(mut self, gone: &mut Tray<T>) -> Result<(), SendError<T>> {
        if self.operation.quick(&mut Tray::new()) {
            return Ok(());
        }
        let mut by = By::plain();
        let is_sent = self.operation.branch_mut().force(gone, &mut by);
        if is_sent {
            self.operation.end();
        }
        // Both values are in safe places, should a waker panic.
        by.wake();
        if is_sent { Ok(()) } else { Err(SendError(self.take())) }
    }

    /// The value of a send that did not happen.
    #[inline(always)]
    pub(super) fn take(&mut self) -> T {
        debug_assert!(self.operation.is_fresh(), "a send that did not happen has its value");
        self.operation.end();
        // SAFETY: it was fresh, and is over now.
        unsafe { self.operation.branch_mut().take() }
    }

    fn block_on(&mut self, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
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
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        // SAFETY: the receiver is borrowed for as long as the future lives.
        let branch = unsafe { Recv::new(receiver.shared()) };
        RecvFuture { operation: Operation::new(branch), _receiver: PhantomData }
    }

    fn block_on(&mut self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        let mut tray = Tray::new();
        match self.operation.block_on_to(&mut tray, deadline) {
            false => Err(RecvTimeoutError::Timeout),
            true => tray.take().ok_or(RecvTimeoutError::Closed),
        }
    }
}

impl<'a, T> Closed<'a, T> {
    #[track_caller]
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        // SAFETY: the sender is borrowed for as long as the future lives.
        let branch = unsafe { Watch::new(sender.shared()) };
        Closed { operation: Operation::new(branch), _sender: PhantomData }
    }

    fn block_on(&mut self, deadline: Option<Instant>) -> Result<(), Elapsed> {
        self.operation.block_on(deadline).ok_or(Elapsed::new())
    }
}

macro_rules! future {
    ($(#[doc = $what:literal] $call:literal $name:ident, $branch:ident => $output:ty, $timely:ty;)+) => {$(
        impl<T> $name<'_, T> {
            #[doc = $what]
            ///
            /// # Errors
            /// Those of the future, if it has any.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future
            /// there.
            #[inline]
            #[track_caller]
            pub fn wait(mut self) -> $output {
                may_block($call);
                self.operation.wait()
            }

            /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with [`Duration::MAX`] it waits
            /// for ever.
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
        }

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
    /// Sends from a plain thread, which sleeps until the value is sent. With an error the value comes back.
    "send" SendFuture, Send => Result<(), SendError<T>>, Result<(), SendTimeoutError<T>>;
    /// Receives on a plain thread, which sleeps until there is a value.
    "recv" RecvFuture, Recv => Result<T, RecvError>, Result<T, RecvTimeoutError>;
    /// Waits on a plain thread.
    "closed" Closed, Watch => (), Result<(), Elapsed>;
}
