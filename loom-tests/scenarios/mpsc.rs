//! The receiver that is alone, in a ring: batches, and selects that send, which tables do not have.

use std::collections::VecDeque;
use std::task::Poll;

use leno::channel::TryRecvError;
use leno::channel::mpsc::{Receiver, Sender, bounded};
use leno::select::{Selected2, select_biased as select};

use super::harness::thread;
use super::support::{Value, Values, poll, settle};

/// A full channel of so many values, from 1 on.
fn full(values: &Values, capacity: usize) -> (Sender<Value>, Receiver<Value>) {
    let (tx, rx) = bounded(capacity);
    let mut batch = (1..=capacity).map(|number| values.make(number)).collect::<VecDeque<_>>();
    assert_eq!(tx.try_send_many(&mut batch), Ok(capacity));
    (tx, rx)
}

fn numbers(values: &[Value]) -> Vec<usize> {
    values.iter().map(|value| value.number).collect()
}

/// A sender begins to wait while a batch makes room: it is let in.
pub(crate) fn batch_against_register() {
    let values = Values::default();
    let (tx, mut rx) = full(&values, 2);
    let batch = [3, 4].map(|number| values.make(number));
    let sender = thread::spawn(move || {
        batch.into_iter().for_each(|value| tx.send_blocking(value).unwrap());
        tx
    });
    let mut out = Vec::new();
    rx.try_recv_many(&mut out, 2).unwrap();
    sender.join().unwrap().assert_valid();
    rx.try_recv_many(&mut out, 9).unwrap();
    assert_eq!(numbers(&out), [1, 2, 3, 4], "C1, C2");
}

/// A forced send takes the first value while a batch receives.
pub(crate) fn batch_against_force() {
    let values = Values::default();
    let (tx, mut rx) = full(&values, 2);
    let value = values.make(3);
    let sender = thread::spawn(move || tx.force_send(value).unwrap().map(|value| value.number));
    let mut out = Vec::new();
    rx.try_recv_many(&mut out, 2).unwrap();
    let back = sender.join().unwrap();
    let _ = rx.try_recv_many(&mut out, 9);
    assert_eq!(numbers(&out), if back.is_some() { vec![2, 3] } else { vec![1, 2, 3] });
    assert!(back.is_none_or(|back| back == 1));
}

/// A sender closes the channel, and drops what is in it, while a batch receives: each value is somebody's.
pub(crate) fn batch_against_discard() {
    let values = Values::default();
    let (tx, mut rx) = full(&values, 2);
    let closer = thread::spawn(move || {
        assert!(tx.close_now());
        assert_eq!(tx.len(), 0, "C6");
    });
    let mut out = Vec::new();
    let received = rx.try_recv_many(&mut out, 9);
    closer.join().unwrap();
    assert_eq!(received.unwrap_or(0), out.len());
    assert_eq!(values.alive(), out.len(), "C6");
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Closed);
}

/// A select comes to wait to send while a receive makes room, and another sender wants that, too.
pub(crate) fn select_against_receive() {
    let values = Values::default();
    let (tx, mut rx) = full(&values, 1);
    let (value, other) = (values.make(2), tx.clone());
    let selecting = thread::spawn(move || {
        let (_b, mut b) = bounded::<usize>(1);
        let mut selecting = select((other.send(value), b.recv()));
        matches!(settle(&mut selecting), Poll::Ready(Selected2::First(Ok(()))))
    });
    let value = values.make(3);
    let sender = thread::spawn(move || tx.try_send(value).is_ok());
    assert_eq!(rx.try_recv().unwrap().number, 1);
    assert!(rx.len() <= 1, "more than it holds");
    let (selected, sent) = (selecting.join().unwrap(), sender.join().unwrap());
    rx.assert_valid();
    // (A select that is dropped may have been let in before.)
    let left = rx.try_iter().map(|value| value.number).collect::<Vec<_>>();
    assert!(left.contains(&2) || !selected, "{left:?}");
    assert_eq!(left.contains(&3), sent, "{left:?}");
    assert_eq!(values.alive(), 0);
}

/// A select comes to wait to send while a receive makes room, and is dropped: it is let in before, or not at all.
pub(crate) fn dropped_select_against_receive() {
    let values = Values::default();
    let (tx, mut rx) = full(&values, 1);
    let value = values.make(2);
    let selecting = thread::spawn(move || {
        let (_b, mut b) = bounded::<usize>(1);
        let mut selecting = select((tx.send(value), b.recv()));
        let _ = poll(&mut selecting);
        drop(selecting);
        tx
    });
    assert_eq!(rx.try_recv().unwrap().number, 1);
    let tx = selecting.join().unwrap();
    tx.assert_valid();
    assert!(rx.try_iter().all(|value| value.number == 2));
    assert_eq!(values.alive(), 0);
}

/// A select that waits to send, beside a sender, is polled again or dropped as room is made: whoever waits is let in.
pub(crate) fn select_against_a_sender() {
    let values = Values::default();
    let (tx, mut rx) = full(&values, 1);
    let (value, other) = (values.make(2), tx.clone());
    let selecting = thread::spawn(move || {
        let (_b, mut b) = bounded::<usize>(1);
        let mut selecting = select((other.send(value), b.recv()));
        let _ = poll(&mut selecting);
    });
    let value = values.make(3);
    let sender = thread::spawn(move || tx.send_blocking(value).unwrap());
    assert_eq!(rx.try_recv().unwrap().number, 1);
    selecting.join().unwrap();
    let mut left = vec![rx.recv_blocking().unwrap().number];
    sender.join().unwrap();
    left.extend(rx.try_iter().map(|value| value.number));
    assert!(left.contains(&3) && left.len() <= 2, "{left:?}");
    assert_eq!(values.alive(), 0);
}
