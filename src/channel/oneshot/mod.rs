//! One value, once: a reply to a request, the result of a job.
//!
//! The smallest channel: a single allocation that also holds the value. [`Sender::send`] never waits and consumes the
//! sender; the [`Receiver`] *is* the future of the value. Prefer it to a [`bounded(1)`](crate::bounded) for a single value
//! between two ends; if more values follow, keep a channel.
//!
//! ```
//! use leno::channel::oneshot;
//!
//! # leno::block_on(async {
//! let (reply, answer) = oneshot::channel();
//! leno::spawn(async move { reply.send(6 * 7) });
//! assert_eq!(answer.await, Ok(42));
//! # });
//! ```
//!
//! If the sender is dropped unused, the receiver gets a [`RecvError`]. If the receiver is dropped or
//! [closed](Receiver::close), `send` gives the value back, and [`Sender::closed`] resolves: a job whose result nobody
//! awaits can stop.
//!
//! In a [`select!`](crate::select!) pass the receiver by `&mut`, to keep it if it loses:
//!
//! ```
//! use leno::channel::oneshot;
//! use std::time::Duration;
//!
//! # leno::block_on(async {
//! let (tx, mut rx) = oneshot::channel();
//! leno::select! {
//!     received = &mut rx => unreachable!("{received:?}"),
//!     default(Duration::from_millis(1)) => {}
//! }
//! tx.send("late").unwrap();
//! assert_eq!(rx.await, Ok("late"));
//! # });
//! ```

mod parked;
mod shared;

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

pub use super::{RecvError, RecvTimeoutError, SendError, TryRecvError};

use self::shared::{InPlace, RX_CLOSED, Recv, SENT, SharedRef, Watch, is_parked};
use crate::task::context::may_block;
use crate::task::shows;
use crate::task::thread::deadline_after;
use crate::wait::{Operation, future};

/// A channel for one value.
///
/// ```
/// let (tx, rx) = leno::channel::oneshot::channel();
/// std::thread::spawn(move || tx.send("done"));
/// assert_eq!(rx.recv_blocking(), Ok("done"));
/// ```
#[track_caller]
pub fn channel<T>() -> (Sender<T>, Receiver<T>) {
    let shared = SharedRef::new();
    (Sender { shared }, Receiver { operation: InPlace(shared) })
}

/// The end that sends, once. Made by [`channel`].
pub struct Sender<T> {
    shared: SharedRef<T>,
}

/// The receiving end: a future of the value. Made by [`channel`].
///
/// Dropping it closes the channel, and drops a value that was sent but not received.
///
/// # Panics
/// If polled after completion, like all operations of leno; so does [`wait`](Self::wait). [`try_recv`](Self::try_recv)
/// completes it by returning a value (not by an error), [`wait_timeout`](Self::wait_timeout) and
/// [`wait_deadline`](Self::wait_deadline) by any outcome but a timeout. (These three and
/// [`recv_blocking`](Self::recv_blocking) never panic for that: they report the channel as closed.)
#[must_use = "futures do nothing unless polled"]
pub struct Receiver<T> {
    operation: InPlace<T>,
}

crate::task::unwinds! { [T] Sender<T> }

impl<T> Sender<T> {
    /// Sends the value without waiting; a waiting receiver is woken.
    ///
    /// # Errors
    /// The receiver is gone, or has closed the channel; the value comes back.
    #[inline]
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        let this = ManuallyDrop::new(self);
        // SAFETY: the sender is used up.
        unsafe { this.shared.send(value) }
    }

    /// Waits until the receiver is gone, or has closed the channel: from then on a send can only fail.
    ///
    /// Cancelling: dropping the future has no effect on the channel.
    ///
    /// ```
    /// use leno::channel::oneshot;
    ///
    /// # leno::block_on(async {
    /// let (mut tx, rx) = oneshot::channel::<u64>();
    /// let job = leno::spawn(async move {
    ///     leno::select! {
    ///         _ = tx.closed() => "nobody wants to know",
    ///         _ = std::future::pending::<()>() => "the answer",
    ///     }
    /// });
    /// drop(rx);
    /// assert_eq!(job.await.unwrap(), "nobody wants to know");
    /// # });
    /// ```
    #[track_caller]
    pub fn closed(&mut self) -> Closed<'_, T> {
        Closed { operation: Operation::new(Watch(self.shared)), _sender: PhantomData }
    }

    /// Whether a send can only fail: the receiver is gone, or has closed the channel.
    pub fn is_closed(&self) -> bool {
        // SAFETY: the sender is there.
        unsafe { self.shared.head() }.has(RX_CLOSED)
    }
}

impl<T> Drop for Sender<T> {
    #[inline]
    fn drop(&mut self) {
        // SAFETY: used up.
        unsafe { self.shared.drop_sender() };
    }
}

impl<T> Receiver<T> {
    /// Takes the value if it is there.
    ///
    /// # Errors
    /// `Empty`: it was not sent yet. `Closed`: it never will be, or it was received before.
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        match self.operation.branch_mut().look() {
            None => Err(TryRecvError::Empty),
            Some(Err(RecvError)) => Err(TryRecvError::Closed),
            Some(Ok(value)) => {
                // It may have waited, and been told.
                let _told = self.operation.cancel(None);
                self.operation.end();
                Ok(value)
            }
        }
    }

    /// Whether there is no value to receive now: it was not sent yet, was received, or never will be sent.
    pub fn is_empty(&self) -> bool {
        !self.operation.branch().head().has(SENT)
    }

    /// Closes the channel: a send gives its value back from now on. A value that was sent before can still be received.
    /// Closing again has no effect.
    ///
    /// ```
    /// let (tx, mut rx) = leno::channel::oneshot::channel();
    /// rx.close();
    /// assert_eq!(tx.send(1).unwrap_err().into_inner(), 1);
    /// assert_eq!(rx.recv_blocking(), Err(leno::channel::RecvError));
    /// ```
    pub fn close(&mut self) {
        // SAFETY: the receiver's.
        unsafe { self.operation.0.close() };
    }

    /// Receives on a plain thread, which sleeps until the value is there.
    ///
    /// # Errors
    /// The sender was dropped unused, the channel was closed, or the value was received before.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the receiver there.
    #[track_caller]
    pub fn recv_blocking(mut self) -> Result<T, RecvError> {
        self.wait_until(None).map_err(|_closed| RecvError)
    }

    /// As [`recv_blocking`](Self::recv_blocking), for at most `d` of real time. With `d` zero it tries once; with
    /// [`Duration::MAX`] it waits forever.
    ///
    /// # Errors
    /// The time was up, and nothing was received: it can be called again. Or as `recv_blocking`.
    ///
    /// # Panics
    /// As [`recv_blocking`](Self::recv_blocking).
    #[track_caller]
    pub fn wait_timeout(&mut self, d: Duration) -> Result<T, RecvTimeoutError> {
        self.wait_until(deadline_after(d))
    }

    /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`. One in the past tries once.
    ///
    /// # Errors
    /// As [`wait_timeout`](Self::wait_timeout).
    ///
    /// # Panics
    /// As [`recv_blocking`](Self::recv_blocking).
    #[track_caller]
    pub fn wait_deadline(&mut self, t: Instant) -> Result<T, RecvTimeoutError> {
        self.wait_until(Some(t))
    }

    #[track_caller]
    fn wait_until(&mut self, deadline: Option<Instant>) -> Result<T, RecvTimeoutError> {
        may_block("recv");
        if self.operation.is_over() {
            return Err(RecvTimeoutError::Closed);
        }
        match self.operation.block_on(deadline) {
            Some(received) => received.map_err(RecvTimeoutError::from),
            None => Err(RecvTimeoutError::Timeout),
        }
    }
}

impl<T> Receiver<T> {
    /// The way of a poll that needs no node; what it does beside is what [`Operation::poll`] does. `None`: the operation is not
    /// fresh, and is to be polled itself.
    #[inline(always)]
    fn poll_parked(&mut self, cx: &mut Context<'_>) -> Option<Poll<Result<T, RecvError>>> {
        if !self.operation.is_fresh() {
            return None;
        }
        let word = self.operation.branch().head().load();
        if !is_parked(word) && !self.operation.may_begin(cx) {
            return Some(Poll::Pending);
        }
        let Some(received) = self.operation.branch_mut().look_or_park(word, cx.waker()) else {
            self.operation.note();
            return Some(Poll::Pending);
        };
        self.operation.end();
        Some(Poll::Ready(received))
    }

    fn is_parked(&self) -> bool {
        is_parked(self.operation.branch().head().load())
    }
}

future! {
    [T] Receiver<T>, "Receiver", "recv";
    Recv<T> => Result<T, RecvError>, |_, received| received, back |_, received| Some(received), parks poll_parked is_parked;
}

/// Resolves when a send can only fail. Made by [`Sender::closed`]; dropping it has no effect on the channel.
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a, T> {
    operation: Operation<Watch<T>>,
    _sender: PhantomData<&'a mut Sender<T>>,
}

future! { ['a, T] Closed<'a, T>, "Closed", "closed"; Watch<T> => (), |_, ()| (); or Elapsed }

shows! { [T] Sender<T>, "Sender", it => closed: it.is_closed() }
