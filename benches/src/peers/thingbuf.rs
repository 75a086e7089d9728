//! thingbuf's channels, which are bounded and have no capacity 0.

use std::future::ready;

use thingbuf::mpsc::{self, blocking};

super::adapter! {
    /// From tasks.
    Thingbuf, "thingbuf", Mpsc, mpsc::Sender<u64>, mpsc::Receiver<u64>;
    open(capacity) (capacity > 0).then(|| mpsc::channel(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    ThingbufBlocking, "thingbuf", Mpsc, blocking::Sender<u64>, blocking::Receiver<u64>;
    open(capacity) (capacity > 0).then(|| blocking::channel(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}
