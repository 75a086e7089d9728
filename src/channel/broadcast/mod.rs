//! Each value to every receiver: events, a feed, pub/sub.
//!
//! A receiver gets the values sent since it was made, in order. A slow one either lags or exerts back-pressure, as chosen
//! when the channel is made:
//!
//! | | when a receiver has `cap` values yet to see | made by |
//! |---|---|---|
//! | [`Lag::Drop`] | the oldest value is dropped, and that receiver is told how many it has [missed](RecvError::Lagged) | [`channel`] |
//! | [`Lag::Suspend`] | [`send_async`](Sender::send_async) waits | [`with_lag`] |
//!
//! ```
//! use leno::channel::broadcast;
//!
//! # leno::block_on(async {
//! let (tx, mut first) = broadcast::channel(16);
//! let mut second = tx.subscribe();
//! tx.send("warp").unwrap();
//! assert_eq!((first.recv().await, second.recv().await), (Ok("warp"), Ok("warp")));
//! # });
//! ```
//!
//! Each receiver gets a clone of the value, except the one that sees it last, which gets the value itself (unless another one is
//! still cloning it). A value leaves the channel as soon as all have seen it; without receivers nothing is kept. Several
//! receivers may clone a value at the same time: so handles are `Send` only for values that are `Sync`, too. If only the latest
//! value counts, [`watch`](super::watch) is smaller; if each value is for one receiver, use a [`bounded`](crate::bounded)
//! channel.
//!
//! A receiver is one follower: its operations take `&mut self`, and a clone follows independently from the same place.

mod shared;

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::Stream;
use futures_core::stream::FusedStream;

pub use super::{SendError, SendTimeoutError, TrySendError};

use self::shared::{Gone, Receive, SendBranch, Shared, receive};
use super::bell::{Listen, sender};
use super::error::same;
use super::stream::stream;
use crate::prim::Arc;
use crate::task::error::{error_cases, errors};
use crate::task::shows;
use crate::wait::{By, Foreign, Operation, future};

/// What happens if a receiver is slower than the senders.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Lag {
    /// It loses the oldest values, and is told how many. Sending never waits.
    #[default]
    Drop,
    /// It loses nothing: [`send_async`](Sender::send_async) waits until the slowest receiver makes room;
    /// [`send`](Sender::send) fails.
    Suspend,
}

/// A channel that keeps up to `cap` values for slow receivers, which then lose the oldest ones: [`Lag::Drop`].
///
/// ```
/// use leno::channel::broadcast::{self, RecvError};
///
/// let (tx, mut rx) = broadcast::channel(2);
/// (1..=5).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
/// assert_eq!(rx.recv_blocking(), Err(RecvError::Lagged(3)));
/// assert_eq!(rx.recv_blocking(), Ok(4));
/// ```
///
/// # Panics
/// If `cap` is zero.
#[track_caller]
pub fn channel<T: Clone>(cap: usize) -> (Sender<T>, Receiver<T>) {
    with_lag(cap, Lag::Drop)
}

/// A channel that keeps up to `cap` values for slow receivers; `lag` says what happens when it is full. Memory is allocated as
/// values are kept.
///
/// ```
/// use leno::channel::broadcast::{self, Lag};
///
/// # leno::block_on(async {
/// let (tx, mut rx) = broadcast::with_lag(1, Lag::Suspend);
/// tx.send_async(1).await.unwrap();
/// let feed = leno::spawn(async move { tx.send_async(2).await });
/// assert_eq!((rx.recv().await, rx.recv().await), (Ok(1), Ok(2)));
/// assert_eq!(feed.await.unwrap(), Ok(1), "one receiver");
/// # });
/// ```
///
/// # Panics
/// If `cap` is zero.
#[track_caller]
pub fn with_lag<T: Clone>(cap: usize, lag: Lag) -> (Sender<T>, Receiver<T>) {
    assert!(
        cap > 0,
        "a broadcast channel keeps each value until all receivers have seen it: its capacity must be 1 or more"
    );
    let shared = Arc::new(Shared::new(cap, lag));
    let receiver = Receiver { shared: Arc::clone(&shared), cursor: 0, back: None };
    (Sender { shared }, receiver)
}

/// Sends to all receivers. Clones do, too; dropping the last one closes the channel. Made by [`channel`] and [`with_lag`].
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// Sees each value that was sent since it was made. Made by [`channel`], [`with_lag`], [`Sender::subscribe`],
/// [`resubscribe`](Receiver::resubscribe) and [`clone`](Clone::clone), which begins where the original is.
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The position of what it sees next.
    cursor: u64,
    /// What a select has given back.
    back: Option<T>,
}

const CLOSED: &str = "the channel is closed, and all values were received";

error_cases! {
    /// Why nothing was received.
    RecvError {
        /// All senders were dropped, and all values have been received.
        Closed => CLOSED, is_closed: "Whether all senders are gone, and all values received.";
        /// That many values were missed. The next receive gets the oldest one kept now, unless it is missed, too.
        Lagged(missed: u64) => Lagged(*missed), is_lagged: "Whether values were missed.";
    }

    /// Why nothing was received at once.
    TryRecvError {
        /// There is no new value now.
        Empty => "the channel has no new value",
            is_empty: "Whether a later attempt may succeed.";
        /// As [`RecvError::Closed`].
        Closed => CLOSED, is_closed: "Whether every later attempt will fail.";
        /// As [`RecvError::Lagged`].
        Lagged(missed: u64) => Lagged(*missed), is_lagged: "Whether values were missed.";
    }

    /// Why nothing was received in time.
    RecvTimeoutError {
        /// The time was up.
        Timeout => "timed out before a value was received",
            is_timeout: "Whether the time was up.";
        /// As [`RecvError::Closed`].
        Closed => CLOSED, is_closed: "Whether all senders are gone, and all values received.";
        /// As [`RecvError::Lagged`].
        Lagged(missed: u64) => Lagged(*missed), is_lagged: "Whether values were missed.";
    }
}

/// An item of a stream: that many values were missed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lagged(pub u64);

errors! {
    Lagged {
        Lagged(missed) => format_args!("the receiver lagged and missed {missed} value(s)"),
    }
}

same! {
    RecvError => TryRecvError: Closed, Lagged(missed);
    RecvError => RecvTimeoutError: Closed, Lagged(missed);
}

impl<T> Sender<T> {
    /// Sends to all receivers without waiting; returns how many there are. For channels with [`Lag::Drop`].
    ///
    /// # Errors
    /// There is currently no receiver; the value comes back. With [`Lag::Suspend`] also: there is no room. The error, whose text
    /// is that of a closed channel, does not tell the two apart: use [`try_send`](Self::try_send) for that, or
    /// [`send_async`](Self::send_async) to wait for room.
    pub fn send(&self, value: T) -> Result<usize, SendError<T>> {
        self.try_send(value).map_err(|error| SendError(error.into_inner()))
    }

    /// Sends to all receivers if that is possible without waiting; returns how many there are.
    ///
    /// # Errors
    /// `Closed`: there is currently no receiver. `Full`: with [`Lag::Suspend`], there is currently no room. The value comes back.
    pub fn try_send(&self, value: T) -> Result<usize, TrySendError<T>> {
        let mut by = By::plain();
        let (receivers, oldest) = self.shared.try_send(value, &mut by)?;
        let _oldest = Foreign(oldest);
        by.wake();
        Ok(receivers)
    }

    /// Sends to all receivers; with [`Lag::Suspend`] waits until there is room, that is, until the slowest receiver has seen the
    /// oldest value. Returns how many receivers there are.
    ///
    /// Waiters are notified of room in FIFO order, but a new send may overtake them.
    ///
    /// Cancelling: dropping the future sends nothing and drops the value; [`SendAsync::into_inner`] gives it back.
    ///
    /// # Errors
    /// There is no receiver (any more); the value comes back.
    #[track_caller]
    pub fn send_async(&self, value: T) -> SendAsync<'_, T> {
        SendAsync { operation: Operation::new(SendBranch::new(&self.shared, value)) }
    }

    /// Another receiver, which gets what is sent from now on.
    pub fn subscribe(&self) -> Receiver<T> {
        Receiver { cursor: self.shared.add_receiver(None), shared: Arc::clone(&self.shared), back: None }
    }

    /// How many values are kept: those that the slowest receiver has yet to see.
    pub fn len(&self) -> usize {
        self.shared.len()
    }

    /// Whether all receivers have seen all values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many values are kept at most.
    pub fn capacity(&self) -> usize {
        self.shared.capacity
    }

    /// What happens if a receiver is too slow.
    pub fn lag(&self) -> Lag {
        self.shared.lag
    }
}

impl<T> Receiver<T> {
    /// Another receiver, which gets what is sent from now on.
    pub fn resubscribe(&self) -> Receiver<T> {
        Receiver { cursor: self.shared.add_receiver(None), shared: Arc::clone(&self.shared), back: None }
    }

    /// How many values it can receive now, not counting those that it has missed.
    pub fn len(&self) -> usize {
        self.shared.unseen(self.cursor) + usize::from(self.back.is_some())
    }

    /// Whether there is nothing that it could receive now.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether all senders are gone; what they have sent can still be received.
    pub fn is_closed(&self) -> bool {
        self.shared.has_ended()
    }
}

impl<T: Clone> Receiver<T> {
    /// Receives the next value; waits until there is one.
    ///
    /// Cancelling: dropping the future loses nothing.
    ///
    /// The value is cloned here, unless all other receivers have seen it, and none is still cloning it. If `clone` panics, the
    /// panic propagates and the value counts as received.
    ///
    /// # Errors
    /// `Lagged`: values were lost because this receiver was too slow; the next receive gets the oldest one kept now, unless that is
    /// missed, too.
    /// `Closed`: all senders were dropped, and everything was received.
    #[track_caller]
    pub fn recv(&mut self) -> Recv<'_, T> {
        Recv { operation: Operation::new(Listen(Receive::new(self))) }
    }

    /// Receives the next value if there is one.
    ///
    /// # Errors
    /// `Empty`: there is none now. Else as [`recv`](Self::recv).
    pub fn try_recv(&mut self) -> Result<T, TryRecvError> {
        let mut by = By::plain();
        match receive(self, &mut by) {
            None => Err(TryRecvError::Empty),
            Some(Err(error)) => Err(error.into()),
            Some(Ok(value)) if !by.has_wakes() => Ok(value),
            Some(Ok(value)) => {
                // Should a sender's waker panic, the value is the next one to be received.
                self.back = Some(value);
                by.wake();
                Ok(self.back.take().expect("just put there"))
            }
        }
    }

    /// Receives on a plain thread, which sleeps until there is a value: [`recv`](Self::recv) and [`Recv::wait`].
    ///
    /// # Errors
    /// As [`recv`](Self::recv).
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
    #[track_caller]
    pub fn recv_blocking(&mut self) -> Result<T, RecvError> {
        self.recv().wait()
    }

    /// As [`recv_blocking`](Self::recv_blocking), for `d` of real time at most.
    ///
    /// # Errors
    /// The time was up, and nothing was taken; or as [`recv`](Self::recv).
    ///
    /// # Panics
    /// As [`recv_blocking`](Self::recv_blocking).
    #[track_caller]
    pub fn recv_timeout(&mut self, d: Duration) -> Result<T, RecvTimeoutError> {
        self.recv().wait_timeout(d)
    }

    /// As [`recv_timeout`](Self::recv_timeout), until the instant `t`.
    ///
    /// # Errors
    /// As [`recv_timeout`](Self::recv_timeout).
    ///
    /// # Panics
    /// As [`recv_blocking`](Self::recv_blocking).
    #[track_caller]
    pub fn recv_deadline(&mut self, t: Instant) -> Result<T, RecvTimeoutError> {
        self.recv().wait_deadline(t)
    }

    /// A stream of the received values. It ends when the channel is closed and all values were received.
    ///
    /// ```
    /// use futures_lite::StreamExt;
    /// use leno::channel::broadcast::{self, Lagged};
    ///
    /// # leno::block_on(async {
    /// let (tx, mut rx) = broadcast::channel(2);
    /// (1..=3).for_each(|n| assert_eq!(tx.send(n), Ok(1)));
    /// drop(tx);
    /// assert_eq!(rx.stream().collect::<Vec<_>>().await, [Err(Lagged(1)), Ok(2), Ok(3)]);
    /// # });
    /// ```
    #[track_caller]
    pub fn stream(&mut self) -> Feed<'_, T> {
        Feed { operation: Operation::new(Listen(Receive::new(self))), has_ended: false }
    }

    /// As [`stream`](Self::stream), but owning the receiver.
    #[track_caller]
    pub fn into_stream(self) -> IntoFeed<T> {
        IntoFeed { operation: Operation::new(Listen(Receive::new(self))), has_ended: false }
    }
}

sender!();

/// (Its value is in no place of its own.)
impl<T> Unpin for Receiver<T> {}

/// It sees what the original has yet to see, and goes its own way.
impl<T: Clone> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        let back = self.back.clone();
        let cursor = self.shared.add_receiver(Some(self.cursor));
        Receiver { shared: Arc::clone(&self.shared), cursor, back }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        let _back = Foreign(self.back.take());
        self.shared.drop_receiver(self.cursor);
    }
}

/// Waits for a value. Made by [`Receiver::recv`]; dropping it loses nothing.
#[must_use = "futures do nothing unless polled"]
pub struct Recv<'a, T: Clone> {
    operation: Operation<Listen<Receive<T, &'a mut Receiver<T>>>>,
}

future! {
    ['a, T: Clone] Recv<'a, T>, "Recv", "recv";
    Listen<Receive<T, &'a mut Receiver<T>>> => Result<T, RecvError>, |_, received| received, back |_, received| Some(received); or RecvTimeoutError => T
}

/// Waits for room, and sends. Made by [`Sender::send_async`]. Dropping it before it completes sends nothing.
#[must_use = "futures do nothing unless polled"]
pub struct SendAsync<'a, T> {
    operation: Operation<SendBranch<'a, T>>,
}

future! {
    ['a, T] SendAsync<'a, T>, "SendAsync", "send_async";
    SendBranch<'a, T> => Result<usize, SendError<T>>, |_, sent| sent, back Self::untold; until Result<usize, SendTimeoutError<T>>
}

impl<T> SendAsync<'_, T> {
    /// Cancels the send and gives its value back. `None`: it was sent, or came back with the error that the future completed
    /// with.
    pub fn into_inner(mut self) -> Option<T> {
        // (The value is here until it is sent: who waits for room is told to look.)
        let _ = self.operation.cancel(None);
        self.operation.branch_mut().value.take()
    }

    /// What it has given, and nobody got: that it has sent; or else it has its value again.
    fn untold(send: &mut Operation<SendBranch<'_, T>>, sent: Result<usize, SendError<T>>) -> Option<usize> {
        match sent {
            Ok(receivers) => Some(receivers),
            Err(SendError(value)) => {
                send.reopen(|send| send.value = Some(value));
                None
            }
        }
    }

    fn until(&mut self, deadline: Option<Instant>) -> Result<usize, SendTimeoutError<T>> {
        match self.operation.block_on(deadline) {
            Some(sent) => sent.map_err(SendTimeoutError::from),
            None => {
                let value = self.operation.branch_mut().value.take();
                Err(SendTimeoutError::Timeout(value.expect("it was not sent")))
            }
        }
    }
}

/// A stream that borrows its receiver. Made by [`Receiver::stream`].
#[must_use = "streams do nothing unless polled"]
pub struct Feed<'a, T: Clone> {
    operation: Operation<Listen<Receive<T, &'a mut Receiver<T>>>>,
    has_ended: bool,
}

/// A stream that owns its receiver. Made by [`Receiver::into_stream`].
#[must_use = "streams do nothing unless polled"]
pub struct IntoFeed<T: Clone> {
    operation: Operation<Listen<Receive<T, Receiver<T>>>>,
    has_ended: bool,
}

fn item<T>(received: Result<T, RecvError>) -> Option<Result<T, Lagged>> {
    match received {
        Ok(value) => Some(Ok(value)),
        Err(RecvError::Lagged(missed)) => Some(Err(Lagged(missed))),
        Err(RecvError::Closed) => None,
    }
}

stream! { ['a, T: Clone] Feed<'a, T> => Result<T, Lagged>, item }
stream! { [T: Clone] IntoFeed<T> => Result<T, Lagged>, item }

impl<T: Clone> IntoFeed<T> {
    /// Gives the receiver back. A value already handed to the stream is the next one it receives.
    pub fn into_receiver(self) -> Receiver<T> {
        self.operation.into_branch().0.0
    }
}

shows! { [T: Clone] Feed<'_, T>, "Feed", it => ended: it.has_ended }
shows! { [T: Clone] IntoFeed<T>, "IntoFeed", it => ended: it.has_ended }
shows! { [T] Receiver<T>, "Receiver", it => len: it.len() }
