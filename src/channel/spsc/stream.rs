//! Streams over what an spsc channel gives. The receiver itself is none: a dropped `next()` must leave no waiter behind,
//! so the wait belongs to a stream that was asked for.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::super::RecvError;
use super::Receiver;
use super::branch::Recv;
use crate::task::place::Place;
use crate::wait::Operation;

/// A stream that borrows its receiver. Made by [`Receiver::stream`].
#[must_use = "streams do nothing unless polled"]
pub struct RecvStream<'a, T> {
    state: State<T>,
    place: Place,
    receiver: &'a mut Receiver<T>,
}

/// A stream that keeps its receiver. Made by [`Receiver::into_stream`].
#[must_use = "streams do nothing unless polled"]
pub struct IntoStream<T> {
    // Before the receiver: it must be dropped first.
    state: State<T>,
    place: Place,
    receiver: Receiver<T>,
}

/// The receive that a stream is in the middle of.
enum State<T> {
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
            *self = State::Receiving(Operation::at(place, unsafe { Recv::new(receiver.channel()) }));
        }
        let State::Receiving(operation) = self else { return Poll::Ready(None) };
        operation.poll(cx).map(|received| match received {
            Ok(value) => {
                *self = State::Between;
                Some(value)
            }
            Err(RecvError) => {
                *self = State::Ended;
                None
            }
        })
    }
}

impl<'a, T> RecvStream<'a, T> {
    #[track_caller]
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        RecvStream { state: State::Between, place: Place::here(), receiver }
    }
}

impl<T> IntoStream<T> {
    #[track_caller]
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        IntoStream { state: State::Between, place: Place::here(), receiver }
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
