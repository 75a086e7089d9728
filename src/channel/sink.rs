//! Sinks over what a channel takes: the feature `sink`.
//!
//! A sink is a sender with room for one item, which is a send that waits.
//!
//! ```text
//!            start_send, no room
//!     free ──────────────────────▶ sending
//!      │ ▲                            │
//!      │ └──── poll_ready, poll_flush ┘ sent, or closed: the item is in the error
//!      └───▶ closed (poll_close; an owned sink has no sender then)
//! ```
//!
//! # Invariants
//! 1. The send is dropped, or is through, before the sender goes, or its borrow ends: the order of the fields says so, and
//!    `poll_close` takes the sender out only where nothing is being sent.

#![allow(private_bounds, reason = "nobody outside the crate can name kinds")]

use std::mem::MaybeUninit;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_sink::Sink;

use super::branch::Send;
use super::future::{cancel, take};
use super::kind::{Kind, Many};
use super::{SendError, Sender, mpsc, spsc};
use crate::channel;
use crate::task::budget;
use crate::task::place::Place;
use crate::wait::{Operation, Tray};

/// A sink that borrows its sender. Made by [`Sender::sink`](super::Sender::sink), with the feature `sink`.
///
/// It holds one item at most. `start_send` sends the item if there is room now; otherwise the sink keeps it, as a send that
/// queues with all others from the next poll on. `poll_ready` and `poll_flush` are ready once no item is kept; then all items
/// are in the channel or, on a rendezvous channel, were taken by a receiver. So a channel with `n` sinks holds up to `n` items
/// more than its capacity.
///
/// If the channel is closed, an item that cannot be sent comes back in the error, of `start_send` or of a later poll.
/// `poll_ready` on its own cannot report a closed channel, as it has no item to give back.
///
/// `poll_close` flushes, and the sink takes no more items; the channel is not closed, as its sender still exists.
///
/// Dropping a sink cancels the send of a kept item and drops the item; what `poll_flush` has reported is sent.
/// [`into_inner`](Self::into_inner) gives the item back.
///
/// # Panics
/// `start_send` panics if an item is kept: call `poll_ready` first.
///
/// ```
/// use futures_util::{SinkExt, StreamExt, stream};
///
/// # leno::block_on(async {
/// let (tx, rx) = leno::bounded(4);
/// tx.sink().send_all(&mut stream::iter([1, 2, 3]).map(Ok)).await.unwrap();
/// assert_eq!(rx.drain().collect::<Vec<_>>(), [1, 2, 3]);
/// # });
/// ```
#[must_use = "sinks do nothing unless polled"]
pub struct SendSink<'a, T> {
    state: State<T>,
    place: Place,
    /// None once it is closed.
    sender: Option<&'a Sender<T>>,
}

/// A sink that owns its sender. Made by [`Sender::into_sink`](super::Sender::into_sink), with the feature `sink`.
///
/// As [`SendSink`], except for the end: `poll_close` drops the sender once everything is sent, which closes the channel if it
/// was the last one. Dropping the sink drops the kept item, then the sender; [`into_parts`](Self::into_parts) gives both back.
///
/// ```
/// use futures_util::{StreamExt, stream};
///
/// # leno::block_on(async {
/// let (tx, rx) = leno::rendezvous();
/// let feeding = leno::spawn(stream::iter([1, 2, 3]).map(Ok).forward(tx.into_sink()));
/// assert_eq!(rx.stream().collect::<Vec<_>>().await, [1, 2, 3]);
/// feeding.await.unwrap().unwrap();
/// # });
/// ```
#[must_use = "sinks do nothing unless polled"]
pub struct IntoSink<T, K: Kind = Many> {
    // Before the sender: it must be dropped first.
    state: State<T>,
    place: Place,
    /// None once it is closed.
    sender: Option<K::Sender<T>>,
}

/// The send that a sink is in the middle of.
enum State<T> {
    /// There is none; and whether there was no budget for one when it was asked.
    Free {
        refused: bool,
    },
    /// The same, and it has said that it is ready.
    Ready,
    Sending(Operation<Send<T>>),
}

/// The methods of a module's `Sender`; `mut`: where there is only one. `|tx|`: the general sender.
macro_rules! sinks {
    ($module:ident [$($mut:tt)?] |$tx:ident| $general:expr) => {
        impl<T> $module::Sender<T> {
            /// A sink that sends into the channel. (With the feature `sink`.)
            #[track_caller]
            pub fn sink(&$($mut)? self) -> $module::SendSink<'_, T> {
                let $tx = self;
                SendSink::new($general)
            }

            /// As [`sink`](Self::sink), keeping the sender. (With the feature `sink`.)
            #[track_caller]
            pub fn into_sink(self) -> $module::IntoSink<T> {
                IntoSink::new(self)
            }
        }
    };
}
sinks!(channel [] |tx| tx);
sinks!(mpsc [] |tx| &tx.0);
sinks!(spsc [mut] |tx| &tx.0);

impl<T> State<T> {
    const FREE: Self = State::Free { refused: false };

    /// Ready: nothing is being sent.
    fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        let State::Sending(operation) = self else { return Poll::Ready(Ok(())) };
        let sent = ready!(operation.poll(cx));
        *self = State::FREE;
        Poll::Ready(sent)
    }

    /// The same; a fiber that always finds it ready lets others run: once for each item, however often it is asked.
    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
        match self {
            State::Free { refused } => {
                if !budget::may_begin(refused, cx) {
                    return Poll::Pending;
                }
            }
            State::Ready => {}
            State::Sending(_) => ready!(self.poll_flush(cx))?,
        }
        *self = State::Ready;
        Poll::Ready(Ok(()))
    }

    /// Sends, or begins to.
    ///
    /// # Safety
    /// The sender outlives the state.
    unsafe fn start(&mut self, sender: &Sender<T>, place: Place, item: T) -> Result<(), SendError<T>> {
        assert!(
            !self.is_sending(),
            "a sink was given an item while it keeps another one: poll_ready comes first"
        );
        *self = State::FREE;
        // SAFETY: the caller's promise.
        let mut operation = Operation::at(place, unsafe { Send::new(sender, MaybeUninit::new(item)) });
        let mut tray = Tray::new();
        if !operation.try_once(&mut tray) {
            *self = State::Sending(operation);
            return Ok(());
        }
        tray.take().ok_or_else(|| SendError(take(&mut operation)))
    }

    /// Cancels the send, if there is one that is not through, and gives back its item.
    fn cancel(&mut self) -> Option<T> {
        let State::Sending(operation) = self else { return None };
        cancel(operation)
    }

    fn is_sending(&self) -> bool {
        matches!(self, State::Sending(_))
    }
}

impl<'a, T> SendSink<'a, T> {
    #[track_caller]
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        SendSink { state: State::FREE, place: Place::here(), sender: Some(sender) }
    }

    /// Cancels the send of the kept item and gives it back. `None`: there is none, or it was sent.
    ///
    /// If a receiver on another thread is just taking the item, this waits until that is done: a few instructions, unless that
    /// thread was preempted.
    pub fn into_inner(mut self) -> Option<T> {
        self.state.cancel()
    }
}

impl<T, K: Kind> IntoSink<T, K> {
    #[track_caller]
    pub(super) fn new(sender: K::Sender<T>) -> Self {
        IntoSink { state: State::FREE, place: Place::here(), sender: Some(sender) }
    }

    /// Cancels the send of the kept item, and gives back the sender, unless the sink was closed, and the item. `None` for the
    /// item: there is none, or it was sent.
    ///
    /// If a receiver on another thread is just taking the item, this waits as [`SendSink::into_inner`] does.
    pub fn into_parts(self) -> (Option<K::Sender<T>>, Option<T>) {
        // (In this order, should a waker panic in its drop: what comes last is dropped first.)
        let IntoSink { sender, mut state, .. } = self;
        let item = state.cancel();
        (sender, item)
    }
}

macro_rules! sink {
    ($([$($generics:tt)*] $type:ty, $name:literal, $general:expr;)+) => {$(
        impl<$($generics)*> Sink<T> for $type {
            type Error = SendError<T>;

            fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
                self.state.poll_ready(cx)
            }

            fn start_send(mut self: Pin<&mut Self>, item: T) -> Result<(), SendError<T>> {
                let this = &mut *self;
                match &this.sender {
                    // SAFETY: the state is dropped before the sender, or its borrow ends (invariant 1).
                    Some(sender) => unsafe { this.state.start($general(sender), this.place, item) },
                    None => Err(SendError(item)),
                }
            }

            fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
                self.state.poll_flush(cx)
            }

            fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), SendError<T>>> {
                ready!(self.state.poll_flush(cx))?;
                self.sender = None;
                Poll::Ready(Ok(()))
            }
        }

        // (The sender is never pinned.)
        impl<$($generics)*> Unpin for $type {}
        crate::task::unwinds! { [$($generics)*] $type }

        crate::task::shows! {
            [$($generics)*] $type, $name, it => sending: it.state.is_sending(), closed: it.sender.is_none()
        }
    )+};
}
sink! {
    [T] SendSink<'_, T>, "SendSink", |sender| sender;
    [T, K: Kind] IntoSink<T, K>, "IntoSink", K::sender;
}

/// Leaves the queue. The borrow of the sender has to last until then, which a drop of its own says.
impl<T> Drop for SendSink<'_, T> {
    fn drop(&mut self) {}
}
