//! One value, once: a channel is made, used and dropped for each.

use std::future::poll_fn;
use std::hint::black_box;
use std::pin::Pin;
use std::task::Poll;

use crate::peers::{Once, Received};

/// A channel is made, passes one value and is dropped; that is one operation. `waits`: the receiver is polled before the
/// send, so that it has to be woken.
pub async fn once<O: Once>(waits: bool, ops: u64) {
    for value in 0..ops {
        let (tx, mut rx) = O::open();
        if waits {
            poll_fn(|cx| {
                assert!(Pin::new(&mut rx).poll(cx).is_pending(), "nothing was sent");
                Poll::Ready(())
            })
            .await;
        }
        assert!(O::send(tx, black_box(value)), "the receiver is there");
        assert_eq!(rx.await.value(), Some(value));
    }
}
