//! crossbeam-channel, for threads only.

use crossbeam_channel::{Receiver, Sender, bounded, unbounded};

super::adapter! {
    /// From threads.
    Crossbeam, "crossbeam", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send(value).is_ok(), try tx.try_send(value).is_ok();
    recv(rx) rx.recv().ok(), try rx.try_recv().ok();
}
