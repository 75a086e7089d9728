//! leno's channels: `bounded`, of which capacity 0 is the rendezvous, and `unbounded`.

use leno::select::{Selected2, select};
use leno::{Receiver, Sender, bounded, unbounded};

super::adapter! {
    /// From tasks.
    Leno, "leno", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send(value).await.is_ok(), try tx.try_send(value).is_ok();
    recv(rx) rx.recv().await.ok(), try rx.try_recv().ok();
    either(a, b) match select((a.recv(), b.recv())).await {
        Selected2::First(value) | Selected2::Second(value) => value.ok(),
    };
}

super::adapter! {
    /// From threads.
    LenoBlocking, "leno", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send_blocking(value).is_ok(), try tx.try_send(value).is_ok();
    recv(rx) rx.recv_blocking().ok(), try rx.try_recv().ok();
}
