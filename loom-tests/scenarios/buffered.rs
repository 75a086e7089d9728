//! Scenarios of buffered channels that are the same whatever the buffer is: rings and blocks run them.

use leno::channel::RecvError;
use leno::{Receiver, Sender};

use super::harness::thread;
use super::support::{Value, Values, poll};

/// A receiver registers and looks again while a value is published.
pub(crate) fn publish_against_register((tx, rx): (Sender<usize>, Receiver<usize>)) {
    // The sender stays, or its end would wake the receiver.
    let sender = thread::spawn(move || {
        tx.try_send(7).unwrap();
        tx
    });
    assert_eq!(rx.recv_blocking(), Ok(7));
    drop(sender.join().unwrap());
    rx.assert_valid();
}

/// Two receivers wait, one value comes, the first is dropped before it runs: the second gets it.
pub(crate) fn handed_and_dropped((tx, rx): (Sender<usize>, Receiver<usize>)) {
    let mut first = rx.recv();
    assert!(poll(&mut first).is_pending());
    let other = rx.clone();
    let second = thread::spawn(move || other.recv_blocking());
    tx.try_send(1).unwrap();
    drop(first);
    assert_eq!(second.join().unwrap(), Ok(1));
    rx.assert_valid();
}

/// A close meets a receiver that is about to wait; a value sent before it is not lost.
pub(crate) fn close_after_send((tx, rx): (Sender<usize>, Receiver<usize>)) {
    let sender = thread::spawn(move || {
        tx.try_send(1).unwrap();
        drop(tx);
    });
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(rx.recv_blocking(), Err(RecvError));
    sender.join().unwrap();
}

/// A value is published while the last receiver goes: it is dropped, once.
pub(crate) fn publish_against_discard((tx, rx): (Sender<Value>, Receiver<Value>)) {
    let values = Values::default();
    let value = values.make(1);
    let sender = thread::spawn(move || drop(tx.try_send(value)));
    drop(rx);
    sender.join().unwrap();
    assert_eq!(values.alive(), 0);
}
