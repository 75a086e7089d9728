//! Streams over what a channel gives. The receiver itself is none: a dropped `next()` must leave no waiter behind,
//! so the wait belongs to a stream that was asked for.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::Receiver;
use super::branch::Recv;
use crate::task::place::Place;
use crate::wait::Operation;

/// A stream that borrows its receiver. Made by [`Receiver::stream`].
#[must_use = "streams do nothing unless polled"]
pub struct RecvStream<'a, T> {
    pub(super) state: State<T>,
    pub(super) place: Place,
    pub(super) receiver: &'a Receiver<T>,
}

/// A stream that keeps its receiver. Made by [`Receiver::into_stream`].
#[must_use = "streams do nothing unless polled"]
pub struct IntoStream<T> {
    // Before the receiver: it must be dropped first.
    pub(super) state: State<T>,
    pub(super) place: Place,
    pub(super) receiver: Receiver<T>,
}

/// The receive that a stream is in the middle of.
pub(super) enum State<T> {
    Between,
    Receiving(Operation<Recv<T>>),
    Ended,
}

impl<T> State<T> {
    /// # Safety
    /// The receiver outlives the state.
    unsafe fn poll_next(
        &mut self,
        receiver: &Receiver<T>,
        place: Place,
        cx: &mut Context<'_>,
    ) -> Poll<Option<T>> {
        if let State::Between = self {
            // SAFETY: the caller's promise.
            *self = State::Receiving(Operation::at(place, unsafe { Recv::new(receiver.shared()) }));
        }
        let State::Receiving(operation) = self else { return Poll::Ready(None) };
        let received = std::task::ready!(operation.poll(cx));
        *self = if received.is_ok() { State::Between } else { State::Ended };
        Poll::Ready(received.ok())
    }
}

macro_rules! stream {
    ($($name:ident<$($lifetime:lifetime,)? T>)*) => {$(
        impl<T> Stream for $name<$($lifetime,)? T> {
            type Item = T;

            fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<T>> {
                let this = &mut *self;
                // SAFETY: the state is dropped before the receiver, or its borrow ends.
                unsafe { this.state.poll_next(&this.receiver, this.place, cx) }
            }
        }

        impl<T> FusedStream for $name<$($lifetime,)? T> {
            fn is_terminated(&self) -> bool {
                matches!(self.state, State::Ended)
            }
        }

        impl<T> Unpin for $name<$($lifetime,)? T> {}

        impl<T> fmt::Debug for $name<$($lifetime,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.receiver).finish()
            }
        }
    )*};
}
stream!(RecvStream<'_, T> IntoStream<T>);

/// Leaves the queue. The borrow of the receiver has to last until then, which a drop of its own says.
impl<T> Drop for RecvStream<'_, T> {
    fn drop(&mut self) {}
}
