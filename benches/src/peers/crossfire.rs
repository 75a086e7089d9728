//! crossfire, which has no capacity 0 and whose capacity 1 holds two values (a slot for each side).

use std::future::ready;

use crossfire::{AsyncRx, AsyncTx, MAsyncRx, MAsyncTx, MRx, MTx, Rx, Tx, mpmc, mpsc, spsc};

super::adapter! {
    /// From tasks.
    Crossfire, "crossfire", Mpmc, MAsyncTx<mpmc::Array<u64>>, MAsyncRx<mpmc::Array<u64>>;
    open(capacity) (capacity > 0).then(|| mpmc::bounded_async(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one sender and one receiver.
    CrossfireSpsc, "crossfire-spsc", Spsc, AsyncTx<spsc::Array<u64>>, AsyncRx<spsc::Array<u64>>;
    open(capacity) (capacity > 0).then(|| spsc::bounded_async(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    CrossfireBlocking, "crossfire", Mpmc, MTx<mpmc::Array<u64>>, MRx<mpmc::Array<u64>>;
    open(capacity) (capacity > 0).then(|| mpmc::bounded_blocking(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one sender and one receiver.
    CrossfireSpscBlocking, "crossfire-spsc", Spsc, Tx<spsc::Array<u64>>, Rx<spsc::Array<u64>>;
    open(capacity) (capacity > 0).then(|| spsc::bounded_blocking(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, unbounded.
    CrossfireUnbounded, "crossfire", Mpmc, MTx<mpmc::List<u64>>, MAsyncRx<mpmc::List<u64>>;
    open(_capacity) None, unbounded mpmc::unbounded_async();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one sender and one receiver, unbounded.
    CrossfireSpscUnbounded, "crossfire-spsc", Spsc, Tx<spsc::List<u64>>, AsyncRx<spsc::List<u64>>;
    open(_capacity) None, unbounded spsc::unbounded_async();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, unbounded.
    CrossfireUnboundedBlocking, "crossfire", Mpmc, MTx<mpmc::List<u64>>, MRx<mpmc::List<u64>>;
    open(_capacity) None, unbounded mpmc::unbounded_blocking();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one receiver.
    CrossfireMpsc, "crossfire-mpsc", Mpsc, MAsyncTx<mpsc::Array<u64>>, AsyncRx<mpsc::Array<u64>>;
    open(capacity) (capacity > 0).then(|| mpsc::bounded_async(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one receiver.
    CrossfireMpscBlocking, "crossfire-mpsc", Mpsc, MTx<mpsc::Array<u64>>, Rx<mpsc::Array<u64>>;
    open(capacity) (capacity > 0).then(|| mpsc::bounded_blocking(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one receiver, unbounded.
    CrossfireMpscUnbounded, "crossfire-mpsc", Mpsc, MTx<mpsc::List<u64>>, AsyncRx<mpsc::List<u64>>;
    open(_capacity) None, unbounded mpsc::unbounded_async();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one receiver, unbounded.
    CrossfireMpscUnboundedBlocking, "crossfire-mpsc", Mpsc, MTx<mpsc::List<u64>>, Rx<mpsc::List<u64>>;
    open(_capacity) None, unbounded mpsc::unbounded_blocking();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}
