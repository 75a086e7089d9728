//! kanal.

use std::future::ready;

use kanal::{
    AsyncReceiver, AsyncSender, Receiver, Sender, bounded, bounded_async, unbounded, unbounded_async,
};

super::adapter! {
    /// From tasks.
    Kanal, "kanal", Mpmc, AsyncSender<u64>, AsyncReceiver<u64>;
    open(capacity) Some(bounded_async(capacity)), unbounded unbounded_async();
    send(tx, value) tx.send(value), try matches!(tx.try_send(value), Ok(true));
    recv(rx) rx.recv(), try rx.try_recv().ok().flatten();
}

super::adapter! {
    /// From threads.
    KanalBlocking, "kanal", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) ready(tx.send(value)), try matches!(tx.try_send(value), Ok(true));
    recv(rx) ready(rx.recv()), try rx.try_recv().ok().flatten();
}
