//! async-channel, which has no capacity 0.

use std::future::ready;

use async_channel::{Receiver, Sender, bounded, unbounded};

super::adapter! {
    /// From tasks.
    AsyncChannel, "async-channel", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    AsyncChannelBlocking, "async-channel", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| bounded(capacity)), unbounded unbounded();
    send(tx, value) ready(tx.send_blocking(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv_blocking()), try rx.try_recv().ok();
}
