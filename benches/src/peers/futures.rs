//! futures' `mpsc`, for tasks only. It has no capacity 0, and holds one value more for each sender beyond the first.

use std::future::{poll_fn, ready};

use futures_channel::mpsc::{Receiver, Sender, UnboundedReceiver, UnboundedSender, channel, unbounded};

super::adapter! {
    /// Bounded.
    Futures, "futures", Mpsc, Sender<u64>, Receiver<u64>;
    open(capacity) (capacity > 0).then(|| channel(capacity - 1));
    send(tx, value) async move {
        poll_fn(|cx| tx.poll_ready(cx)).await.is_ok() && tx.start_send(value).is_ok()
    }, try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// Unbounded.
    FuturesUnbounded, "futures", Mpsc, UnboundedSender<u64>, UnboundedReceiver<u64>;
    open(_capacity) None, unbounded unbounded();
    send(tx, value) ready(tx.unbounded_send(value)), try tx.unbounded_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}
