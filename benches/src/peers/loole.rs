//! loole.

use std::future::ready;

use loole::{Receiver, Sender, bounded, unbounded};

super::adapter! {
    /// From tasks.
    Loole, "loole", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send_async(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv_async(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    LooleBlocking, "loole", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}
