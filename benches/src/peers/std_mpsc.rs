//! std's `sync_channel`, for threads only.

use std::sync::mpsc::{Receiver, SyncSender, sync_channel};

super::adapter! {
    /// From threads.
    StdMpsc, "std", Mpsc, SyncSender<u64>, Receiver<u64>;
    open(capacity) Some(sync_channel(capacity));
    send(tx, value) tx.send(value).is_ok(), try tx.try_send(value).is_ok();
    recv(rx) rx.recv().ok(), try rx.try_recv().ok();
}
