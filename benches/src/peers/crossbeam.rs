//! crossbeam-channel, for threads only.

use std::future::ready;

use crossbeam_channel::{Receiver, Select, Sender, bounded, unbounded};

super::adapter! {
    /// From threads.
    Crossbeam, "crossbeam", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
    any_blocking(rxs, ops, before) {
        let mut set = Select::new();
        rxs.iter().for_each(|rx| {
            set.recv(rx);
        });
        for _ in 0..ops {
            before();
            let operation = set.select();
            let rx = &rxs[operation.index()];
            assert_eq!(operation.recv(rx), Ok(1));
        }
    };
}
