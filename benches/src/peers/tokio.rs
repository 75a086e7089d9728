//! `tokio::sync::mpsc`, which has no capacity 0.

use std::future::ready;

use tokio::sync::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded_channel};

super::adapter! {
    /// From tasks.
    Tokio, "tokio", Mpsc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| channel(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    TokioBlocking, "tokio", Mpsc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| channel(capacity));
    send(tx, value) ready(tx.blocking_send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.blocking_recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, unbounded.
    TokioUnbounded, "tokio", Mpsc, UnboundedSender<u64>, UnboundedReceiver<u64>;
    open(_capacity) None, unbounded unbounded_channel();
    send(tx, value) ready(tx.send(value)), try tx.send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, unbounded.
    TokioUnboundedBlocking, "tokio", Mpsc, UnboundedSender<u64>, UnboundedReceiver<u64>;
    open(_capacity) None, unbounded unbounded_channel();
    send(tx, value) ready(tx.send(value)), try tx.send(value).is_ok();
    recv(rx) ready(rx.blocking_recv()), try rx.try_recv().ok();
}
