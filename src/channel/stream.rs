//! Streams over what a channel gives. The receiver itself is none: a dropped `next()` must leave no waiter behind,
//! so the wait belongs to a stream that was asked for.

#![allow(private_bounds, reason = "nobody outside the crate can name kinds")]

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::kind::{Kind, Many};
use crate::task::place::Place;
use crate::wait::Operation;

/// A stream that borrows its receiver. Made by [`Receiver::stream`](super::Receiver::stream).
#[must_use = "streams do nothing unless polled"]
pub struct RecvStream<'a, T, K: Kind = Many> {
    state: State<T, K>,
    place: Place,
    receiver: &'a K::Receiver<T>,
}

/// A stream that owns its receiver. Made by [`Receiver::into_stream`](super::Receiver::into_stream).
#[must_use = "streams do nothing unless polled"]
pub struct IntoStream<T, K: Kind = Many> {
    // Before the receiver: it must be dropped first.
    state: State<T, K>,
    place: Place,
    receiver: K::Receiver<T>,
}

/// The receive that a stream is in the middle of.
enum State<T, K: Kind> {
    Between,
    Receiving(Operation<K::Recv<T>>),
    Ended,
}

impl<T, K: Kind> State<T, K> {
    /// # Safety
    /// The receiver outlives the state and, if it is single, is used for nothing else meanwhile.
    unsafe fn poll_next(
        &mut self,
        receiver: &K::Receiver<T>,
        place: Place,
        cx: &mut Context<'_>,
    ) -> Poll<Option<T>> {
        // (It is over already if foreign code has panicked in the poll before; what it had taken is the next one's.)
        if matches!(self, State::Between)
            || matches!(self, State::Receiving(operation) if operation.is_over())
        {
            // SAFETY: the caller's promise.
            *self = State::Receiving(Operation::at(place, unsafe { K::recv(receiver) }));
        }
        let State::Receiving(operation) = self else { return Poll::Ready(None) };
        let received = std::task::ready!(operation.poll(cx));
        *self = if received.is_ok() { State::Between } else { State::Ended };
        Poll::Ready(received.ok())
    }
}

impl<'a, T, K: Kind> RecvStream<'a, T, K> {
    /// # Safety
    /// If its side is single the receiver is borrowed alone.
    #[track_caller]
    pub(super) unsafe fn new(receiver: &'a K::Receiver<T>) -> Self {
        RecvStream { state: State::Between, place: Place::here(), receiver }
    }
}

impl<T, K: Kind> IntoStream<T, K> {
    #[track_caller]
    pub(super) fn new(receiver: K::Receiver<T>) -> Self {
        IntoStream { state: State::Between, place: Place::here(), receiver }
    }

    /// Gives the receiver back, to close the channel for example. A value already handed to the stream goes to the next receive.
    pub fn into_receiver(self) -> K::Receiver<T> {
        let IntoStream { state, receiver, .. } = self;
        drop(state);
        receiver
    }
}

macro_rules! stream {
    ($($name:ident<$($lifetime:lifetime,)? T, K>)*) => {$(
        impl<T, K: Kind> Stream for $name<$($lifetime,)? T, K> {
            type Item = T;

            fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
                let this = &mut *self;
                // SAFETY: the state is dropped before the receiver, or its borrow ends.
                unsafe { this.state.poll_next(&this.receiver, this.place, cx) }
            }
        }

        impl<T, K: Kind> FusedStream for $name<$($lifetime,)? T, K> {
            fn is_terminated(&self) -> bool {
                matches!(self.state, State::Ended)
            }
        }

        impl<T, K: Kind> Unpin for $name<$($lifetime,)? T, K> {}
        impl<T, K: Kind> std::panic::UnwindSafe for $name<$($lifetime,)? T, K> {}
        impl<T, K: Kind> std::panic::RefUnwindSafe for $name<$($lifetime,)? T, K> {}

        impl<T, K: Kind> fmt::Debug for $name<$($lifetime,)? T, K> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.receiver).finish()
            }
        }
    )*};
}
stream!(RecvStream<'_, T, K> IntoStream<T, K>);

/// Leaves the queue. The borrow of the receiver has to last until then, which a drop of its own says.
impl<T, K: Kind> Drop for RecvStream<'_, T, K> {
    fn drop(&mut self) {}
}
