//! flume.

use std::future::ready;

use flume::{Receiver, Selector, Sender, bounded, unbounded};

super::adapter! {
    /// From tasks, with one receiver. With several, flume 0.12 can lose a wake-up (a receiver that was woken and
    /// found the channel empty queues up again without a second look), and then a run never ends.
    Flume, "flume", Mpsc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send_async(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv_async(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    FlumeBlocking, "flume", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
    any_blocking(rxs, ops, before) {
        for _ in 0..ops {
            before();
            // Its set is good for one select.
            let set = rxs.iter().fold(Selector::new(), |set, rx| set.recv(rx, |value| value));
            assert_eq!(set.wait(), Ok(1));
        }
    };
}
