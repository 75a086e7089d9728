//! async-channel, which has no capacity 0.

use async_channel::{Receiver, Sender, bounded, unbounded};

super::adapter! {
    /// From tasks.
    AsyncChannel, "async-channel", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send(value).await.is_ok(), try tx.try_send(value).is_ok();
    recv(rx) rx.recv().await.ok(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    AsyncChannelBlocking, "async-channel", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send_blocking(value).is_ok(), try tx.try_send(value).is_ok();
    recv(rx) rx.recv_blocking().ok(), try rx.try_recv().ok();
}
