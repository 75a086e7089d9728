//! leno's channels: `bounded`, of which capacity 0 is the rendezvous, and `unbounded`. (Those of `mpsc` and `spsc` are the general ones.)

use std::future::{Future, ready};

use leno::select::Select;
use leno::{Receiver, Sender, bounded, unbounded};

super::adapter! {
    /// From tasks.
    Leno, "leno", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
    any(rxs) super::any!(leno::select, Receiver::recv, rxs);
}

super::adapter! {
    /// From threads.
    LenoBlocking, "leno", Mpmc, Sender<u64>, Receiver<u64>;
    open(capacity) Some(bounded(capacity)), unbounded unbounded();
    send(tx, value) ready(tx.send_blocking(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv_blocking()), try rx.try_recv().ok();
    any_blocking(rxs, ops, before) {
        let mut set = Select::new();
        let tokens = rxs.iter().map(|rx| set.recv(rx)).collect::<Vec<_>>();
        for _ in 0..ops {
            before();
            let operation = set.select().wait();
            let token = tokens[operation.index()];
            assert_eq!(operation.recv(token), Ok(1));
        }
    };
}
