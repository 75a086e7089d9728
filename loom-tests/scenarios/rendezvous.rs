//! Rendezvous channels: hand-over against arriving, leaving and closing.

use std::task::Poll;

use leno::channel::{RecvError, TryRecvError};
use leno::rendezvous;

use super::harness::thread;
use super::support::{Values, Woken, poll, poll_with, settle};

/// A sender and a receiver arrive together: neither waits for ever.
pub(crate) fn arriving_together() {
    let (tx, rx) = rendezvous();
    let values = Values::default();
    let value = values.make(7);
    let sender = thread::spawn(move || tx.send_blocking(value).expect("the receiver is there"));
    assert_eq!(rx.recv_blocking().expect("the sender is there").number, 7);
    sender.join().unwrap();
    assert_eq!(values.alive(), 0);
}

/// Two senders and a receiver: the queue grows from one to many, and back.
pub(crate) fn two_senders() {
    let (tx, rx) = rendezvous();
    let other = tx.clone();
    let sender = thread::spawn(move || other.send_blocking(1).unwrap());
    let mut sending = tx.send(2);
    assert!(poll(&mut sending).is_pending());
    assert_eq!(rx.recv_blocking().unwrap() + rx.recv_blocking().unwrap(), 3);
    assert_eq!(settle(&mut sending), Poll::Ready(Ok(())));
    sender.join().unwrap();
    rx.assert_valid();
}

/// A peer claims a receive while its owner drops it: the value is with exactly one party.
pub(crate) fn claim_against_cancelled_recv() {
    let (tx, rx) = rendezvous();
    let values = Values::default();
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let value = values.make(1);
    let sender = thread::spawn(move || (tx.try_send(value).is_ok(), tx));
    drop(receiving);
    let (sent, _tx) = sender.join().unwrap();
    assert_eq!(rx.len(), usize::from(sent), "what was handed over is given back");
    assert_eq!(rx.try_recv().is_ok(), sent);
    assert_eq!(values.alive(), 0);
    rx.assert_valid();
}

/// A peer claims a send while its owner takes the value back.
pub(crate) fn claim_against_cancelled_send() {
    let (tx, rx) = rendezvous();
    let values = Values::default();
    let mut sending = tx.send(values.make(1));
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || (rx.try_recv().is_ok(), rx));
    let kept = sending.into_inner();
    let (received, rx) = receiver.join().unwrap();
    assert_ne!(kept.is_some(), received, "the value is with one of them");
    drop(kept);
    assert_eq!(values.alive(), 0);
    rx.assert_valid();
}

/// The same with a drop, which does not wait for the peer.
pub(crate) fn claim_against_dropped_send() {
    let (tx, rx) = rendezvous();
    let values = Values::default();
    let mut sending = tx.send(values.make(1));
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || drop(rx.try_recv()));
    drop(sending);
    receiver.join().unwrap();
    assert_eq!(values.alive(), 0);
}

/// Two receivers wait; the first is dropped while a value comes: the second gets it, or the value stays.
pub(crate) fn cancel_after_hand_over() {
    let (tx, rx) = rendezvous();
    let mut first = rx.recv();
    let mut second = rx.recv();
    assert!(poll(&mut first).is_pending());
    let woken = Woken::new();
    assert!(poll_with(&mut second, &woken).is_pending());
    let sender = thread::spawn(move || (tx.try_send(1), tx));
    drop(first);
    let (sent, _tx) = sender.join().unwrap();
    assert_eq!(sent, Ok(()), "a receiver was waiting all the time");
    assert_eq!(settle(&mut second), Poll::Ready(Ok(1)));
    assert_ne!(woken.count(), 0, "a receive that completes was woken");
    rx.assert_valid();
}

/// The queue grows while its only waiter leaves and a peer takes one.
pub(crate) fn growing_while_leaving() {
    let (tx, rx) = rendezvous();
    let mut first = rx.recv();
    assert!(poll(&mut first).is_pending());
    let sender = thread::spawn(move || (tx.try_send(1).is_ok(), tx));
    let mut second = rx.recv();
    let early = poll(&mut second);
    drop(first);
    let (sent, tx) = sender.join().unwrap();
    assert!(sent, "a receiver was waiting all the time");
    assert!(early.is_pending(), "a value that was handed to another is not here yet");
    assert_eq!(settle(&mut second), Poll::Ready(Ok(1)));
    drop(tx);
    rx.assert_valid();
}

/// A value comes back from a dropped receive while another receiver arrives.
pub(crate) fn given_back_against_arriving() {
    let (tx, rx) = rendezvous();
    let mut handed = rx.recv();
    assert!(poll(&mut handed).is_pending());
    tx.try_send(1).unwrap();
    let other = rx.clone();
    let receiver = thread::spawn(move || other.recv_blocking());
    drop(handed);
    assert_eq!(receiver.join().unwrap(), Ok(1));
    drop(tx);
    rx.assert_valid();
}

/// Values that come back from dropped receives, one by way of another receive, keep the order of their sends.
pub(crate) fn given_back_in_order() {
    let (tx, rx) = rendezvous();
    let mut receiving = [rx.recv(), rx.recv(), rx.recv()];
    for receive in &mut receiving {
        assert!(poll(receive).is_pending());
    }
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv());
    // The first value goes to the third receive, the second one to nobody; then the first one as well.
    for receive in receiving {
        drop(receive);
    }
    let there = receiver.join().unwrap();
    let here: Vec<_> = std::iter::from_fn(|| rx.try_recv().ok()).collect();
    match there {
        Ok(1) => assert_eq!(here, [2]),
        Ok(2) => assert_eq!(here, [1]),
        other => assert_eq!((other, here), (Err(TryRecvError::Empty), vec![1, 2])),
    }
}

/// A value comes back from a dropped receive, and the channel closes: who receives does not find it closed and
/// empty while the value is there.
pub(crate) fn given_back_against_close() {
    let (tx, rx) = rendezvous();
    let mut handed = rx.recv();
    assert!(poll(&mut handed).is_pending());
    tx.try_send(1).unwrap();
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv());
    drop(handed);
    assert!(tx.close());
    let closed = Err(TryRecvError::Closed);
    match receiver.join().unwrap() {
        Err(TryRecvError::Empty) => assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), closed)),
        received => assert_eq!((received, rx.try_recv()), (Ok(1), closed)),
    }
}

/// A close meets a receiver and a sender that are about to wait.
pub(crate) fn close_against_entering() {
    let (tx, rx) = rendezvous::<usize>();
    let closer = tx.clone();
    let closing = thread::spawn(move || closer.close());
    let receiver = rx.clone();
    let receiving = thread::spawn(move || receiver.recv_blocking());
    assert_eq!(receiving.join().unwrap(), Err(RecvError));
    assert!(closing.join().unwrap());
    assert!(tx.send_blocking(1).is_err());
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

/// A sender waits and the last receiver goes: the value comes back.
pub(crate) fn last_receiver_against_send() {
    let (tx, rx) = rendezvous();
    let values = Values::default();
    let value = values.make(1);
    let sender = thread::spawn(move || tx.send_blocking(value).map_err(|error| error.into_inner().number));
    drop(rx);
    assert_eq!(sender.join().unwrap(), Err(1));
    assert_eq!(values.alive(), 0);
}

/// A receive moves to another task while a value comes: the task that it moved to is woken. (A peer that comes
/// just while the waker changes finds nobody.)
pub(crate) fn changed_waker() {
    let (tx, rx) = rendezvous();
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let sender = thread::spawn(move || (tx.try_send(1).is_ok(), tx));
    let moved_to = Woken::new();
    let polled = poll_with(&mut receiving, &moved_to);
    let (sent, tx) = sender.join().unwrap();
    if polled.is_pending() {
        if !sent {
            tx.try_send(1).expect("a receiver waits");
        }
        assert_ne!(moved_to.count(), 0, "the last waker has to be woken");
        assert_eq!(settle(&mut receiving), Poll::Ready(Ok(1)));
    }
}

/// Somebody waits for the close while the last receiver goes.
pub(crate) fn closed_against_close() {
    let (tx, rx) = rendezvous::<usize>();
    let watcher = thread::spawn(move || tx.closed().wait());
    drop(rx);
    watcher.join().unwrap();
}
