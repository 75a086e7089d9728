//! fibre, whose rendezvous channels are types of their own.

use std::future::ready;

use fibre::mpmc::{self, rendezvous as mpmc0};
use fibre::mpsc;
use fibre::spsc::{self, rendezvous as spsc0};

super::adapter! {
    /// From tasks.
    Fibre, "fibre", Mpmc, mpmc::AsyncSender<u64>, mpmc::AsyncReceiver<u64>;
    open(capacity) (capacity > 0).then(|| mpmc::bounded_async(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, capacity 0.
    FibreRendezvous, "fibre", Mpmc, mpmc0::RendezvousAsyncSender<u64>, mpmc0::RendezvousAsyncReceiver<u64>;
    open(capacity) (capacity == 0).then(mpmc0::rendezvous_async);
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one sender and one receiver.
    FibreSpsc, "fibre-spsc", Spsc, spsc::BoundedAsyncSender<u64>, spsc::BoundedAsyncReceiver<u64>;
    open(capacity) (capacity > 0).then(|| spsc::bounded_async(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one sender and one receiver, capacity 0.
    FibreSpscRendezvous, "fibre-spsc", Spsc,
    spsc0::RendezvousAsyncSender<u64>, spsc0::RendezvousAsyncReceiver<u64>;
    open(capacity) (capacity == 0).then(spsc0::rendezvous_async);
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads.
    FibreBlocking, "fibre", Mpmc, mpmc::Sender<u64>, mpmc::Receiver<u64>;
    open(capacity) (capacity > 0).then(|| mpmc::bounded(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, capacity 0.
    FibreRendezvousBlocking, "fibre", Mpmc,
    mpmc0::RendezvousSyncSender<u64>, mpmc0::RendezvousSyncReceiver<u64>;
    open(capacity) (capacity == 0).then(mpmc0::rendezvous);
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, unbounded.
    FibreUnbounded, "fibre", Mpmc, mpmc::UnboundedAsyncSender<u64>, mpmc::UnboundedAsyncReceiver<u64>;
    open(_capacity) None, unbounded mpmc::unbounded_async();
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, unbounded.
    FibreUnboundedBlocking, "fibre", Mpmc, mpmc::UnboundedSyncSender<u64>, mpmc::UnboundedSyncReceiver<u64>;
    open(_capacity) None, unbounded mpmc::unbounded();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one sender and one receiver.
    FibreSpscBlocking, "fibre-spsc", Spsc, spsc::BoundedSyncSender<u64>, spsc::BoundedSyncReceiver<u64>;
    open(capacity) (capacity > 0).then(|| spsc::bounded_sync(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one sender and one receiver, capacity 0.
    FibreSpscRendezvousBlocking, "fibre-spsc", Spsc,
    spsc0::RendezvousSyncSender<u64>, spsc0::RendezvousSyncReceiver<u64>;
    open(capacity) (capacity == 0).then(spsc0::rendezvous);
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one receiver.
    FibreMpsc, "fibre-mpsc", Mpsc, mpsc::BoundedAsyncSender<u64>, mpsc::BoundedAsyncReceiver<u64>;
    open(capacity) (capacity > 0).then(|| mpsc::bounded_async(capacity));
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one receiver, capacity 0.
    FibreMpscRendezvous, "fibre-mpsc", Mpsc, mpsc::RendezvousAsyncSender<u64>, mpsc::RendezvousAsyncReceiver<u64>;
    open(capacity) (capacity == 0).then(mpsc::rendezvous::rendezvous_async);
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From tasks, one receiver, unbounded.
    FibreMpscUnbounded, "fibre-mpsc", Mpsc, mpsc::UnboundedAsyncSender<u64>, mpsc::UnboundedAsyncReceiver<u64>;
    open(_capacity) None, unbounded mpsc::unbounded_async();
    send(tx, value) tx.send(value), try tx.try_send(value).is_ok();
    recv(rx) rx.recv(), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one receiver.
    FibreMpscBlocking, "fibre-mpsc", Mpsc, mpsc::BoundedSyncSender<u64>, mpsc::BoundedSyncReceiver<u64>;
    open(capacity) (capacity > 0).then(|| mpsc::bounded(capacity));
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one receiver, capacity 0.
    FibreMpscRendezvousBlocking, "fibre-mpsc", Mpsc, mpsc::RendezvousSyncSender<u64>, mpsc::RendezvousSyncReceiver<u64>;
    open(capacity) (capacity == 0).then(mpsc::rendezvous::rendezvous);
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}

super::adapter! {
    /// From threads, one receiver, unbounded.
    FibreMpscUnboundedBlocking, "fibre-mpsc", Mpsc, mpsc::UnboundedSyncSender<u64>, mpsc::UnboundedSyncReceiver<u64>;
    open(_capacity) None, unbounded mpsc::unbounded();
    send(tx, value) ready(tx.send(value)), try tx.try_send(value).is_ok();
    recv(rx) ready(rx.recv()), try rx.try_recv().ok();
}
