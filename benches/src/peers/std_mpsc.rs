//! std's `sync_channel` and `channel`, for threads only.

use std::future::ready;
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};

super::adapter! {
    /// Bounded.
    StdSync, "std", Mpsc, SyncSender<u64>, Receiver<u64>;
    open(capacity) Some(sync_channel(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// Unbounded.
    Std, "std", Mpsc, Sender<u64>, Receiver<u64>;
    open(_capacity) None, unbounded channel();
    send(tx, value) ready(tx.send(value)), try tx.send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}
