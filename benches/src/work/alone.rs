//! One task alone with its channel: what operations cost when nobody else is there.

use std::future::{Future, poll_fn};
use std::hint::black_box;
use std::pin::pin;
use std::task::Poll;

use super::ChannelWork;
use crate::exec::Exec;
use crate::peers::{Channel, Received, Sent};

/// One task sends to itself, so that nothing ever waits; an operation is one send and one receive.
#[derive(Clone, Copy)]
pub struct Uncontended {
    /// The channel's capacity.
    pub capacity: usize,
    /// With `try_send` and `try_recv` instead of the futures.
    pub tried: bool,
}

impl ChannelWork for Uncontended {
    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (mut tx, mut rx) = C::open(self.capacity).expect("checked by `fits`");
        if self.tried {
            for value in 0..ops {
                assert!(C::try_send(&mut tx, black_box(value)), "there is room");
                assert_eq!(C::try_recv(&mut rx), Some(value));
            }
        } else {
            for value in 0..ops {
                assert!(C::send(&mut tx, black_box(value)).await.sent(), "there is room");
                assert_eq!(C::recv(&mut rx).await.value(), Some(value));
            }
        }
    }
}

/// A channel is made, passes one value and is dropped; that is one operation.
#[derive(Clone, Copy)]
pub struct Create;

impl ChannelWork for Create {
    fn fits<C: Channel>(self) -> bool {
        C::open(1).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        for value in 0..ops {
            let (mut tx, mut rx) = C::open(1).expect("checked by `fits`");
            assert!(C::send(&mut tx, value).await.sent(), "there is room");
            assert_eq!(C::recv(&mut rx).await.value(), Some(value));
        }
    }
}

/// Some executors, leno's and tokio's among them, have a budget for one poll of a task, of 128 operations at least: one that is
/// polled after those does not even look.
const WITHIN_BUDGET: u64 = 64;

/// A receive on an empty channel is polled once and dropped; that is one operation, and now and then a yield.
#[derive(Clone, Copy)]
pub struct Abandon {
    /// The channel's capacity.
    pub capacity: usize,
}

impl ChannelWork for Abandon {
    fn fits<C: Channel>(self) -> bool {
        C::open(self.capacity).is_some()
    }

    async fn run<E: Exec, C: Channel>(self, ops: u64) {
        let (_tx, mut rx) = C::open(self.capacity).expect("checked by `fits`");
        for op in 0..ops {
            if op % WITHIN_BUDGET == 0 {
                E::yield_now().await;
            }
            let mut recv = pin!(C::recv(&mut rx));
            poll_fn(|cx| {
                assert!(recv.as_mut().poll(cx).is_pending(), "nothing was sent");
                Poll::Ready(())
            })
            .await;
        }
    }
}
