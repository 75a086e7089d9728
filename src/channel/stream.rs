//! Streams over what a channel gives. The receiver itself is none: a `next()` that is dropped would leave a waiter in line, so that
//! belongs to a stream that was asked for, and ends with it.

#![allow(private_bounds, reason = "nobody outside the crate can name kinds")]

use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::Receiver;
use super::branch::Recv;
use super::iter::debug;
use super::kind::{Kind, Many};
use crate::wait::Operation;

/// A stream that borrows its receiver. Made by [`Receiver::stream`](super::Receiver::stream).
#[must_use = "streams do nothing unless polled"]
pub struct RecvStream<'a, T> {
    operation: Operation<Recv<T>>,
    has_ended: bool,
    receiver: &'a Receiver<T>,
}

/// A stream that owns its receiver. Made by [`Receiver::into_stream`](super::Receiver::into_stream).
#[must_use = "streams do nothing unless polled"]
pub struct IntoStream<T, K: Kind = Many> {
    // Before the receiver: it must be dropped first.
    operation: Operation<Recv<T>>,
    has_ended: bool,
    receiver: K::Receiver<T>,
}

/// Makes a stream of a struct with a field `operation`, which is begun anew for each item, and a field `has_ended`. `$convert`
/// makes an outcome an item; none: that was the end.
macro_rules! stream {
    ([$($generics:tt)*] $stream:ty => $item:ty, $convert:expr) => {
        impl<$($generics)*> Stream for $stream {
            type Item = $item;

            fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<$item>> {
                if self.has_ended {
                    return Poll::Ready(None);
                }
                // (Also where foreign code has panicked in the poll before; what it had taken is the next one's.)
                if self.operation.is_over() {
                    self.operation.renew();
                }
                let item = $convert(std::task::ready!(self.operation.poll(cx)));
                self.has_ended = item.is_none();
                Poll::Ready(item)
            }
        }

        impl<$($generics)*> FusedStream for $stream {
            fn is_terminated(&self) -> bool {
                self.has_ended
            }
        }

        impl<$($generics)*> Unpin for $stream {}
        crate::task::unwinds! { [$($generics)*] $stream }
    };
}
pub(super) use stream;

stream! { ['a, T] RecvStream<'a, T> => T, Result::ok }
stream! { [T, K: Kind] IntoStream<T, K> => T, Result::ok }

impl<'a, T> RecvStream<'a, T> {
    #[track_caller]
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        // SAFETY: the receiver is borrowed for as long as the stream lives.
        let operation = Operation::new(unsafe { Recv::new(receiver) });
        RecvStream { operation, has_ended: false, receiver }
    }
}

impl<T, K: Kind> IntoStream<T, K> {
    #[track_caller]
    pub(super) fn new(receiver: K::Receiver<T>) -> Self {
        // SAFETY: the receiver is kept beside the operation, and dropped after it.
        let operation = Operation::new(unsafe { Recv::new(K::receiver(&receiver)) });
        IntoStream { operation, has_ended: false, receiver }
    }

    /// Gives the receiver back, to close the channel for example. A value already handed to the stream goes to the next receive.
    pub fn into_receiver(self) -> K::Receiver<T> {
        let IntoStream { operation, receiver, .. } = self;
        drop(operation);
        receiver
    }
}

debug!([T] RecvStream<'_, T>, "RecvStream"; [T, K: Kind] IntoStream<T, K>, "IntoStream");

/// Leaves the queue. The borrow of the receiver has to last until then, which a drop of its own says.
impl<T> Drop for RecvStream<'_, T> {
    fn drop(&mut self) {}
}
