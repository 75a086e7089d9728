//! Batches of sends and receives against whatever else goes on: on rings, in blocks, with a room, and of one sender and one
//! receiver.

use std::collections::VecDeque;
use std::task::Poll;

use leno::channel::spsc;
use leno::channel::{RecvError, TryRecvError};
use leno::{Receiver, Sender, bounded, unbounded};

use super::harness::thread;
use super::support::{Value, Values, Woken, full, poll, poll_with, settle};

fn values(values: &Values, numbers: std::ops::Range<usize>) -> VecDeque<Value> {
    numbers.map(|number| values.make(number)).collect()
}

fn numbers<'a>(values: impl IntoIterator<Item = &'a Value>) -> Vec<usize> {
    values.into_iter().map(|value| value.number).collect()
}

/// A batch receives while a second value is published.
fn receive_against_publish((tx, rx): (Sender<Value>, Receiver<Value>)) {
    let all = Values::default();
    tx.try_send(all.make(0)).unwrap();
    // (The receiver in the thread: loom finds the one order from the other only where a load comes after a store.)
    let receiver = thread::spawn(move || {
        let mut out = Vec::new();
        while out.len() < 2 {
            assert_ne!(rx.recv_many(&mut out, 2).wait(), Ok(0));
        }
        out
    });
    tx.try_send(all.make(1)).unwrap();
    assert_eq!(numbers(&receiver.join().unwrap()), [0, 1]);
    tx.assert_valid();
    assert_eq!(all.alive(), 0);
}

pub(crate) fn receive_against_publish_on_a_ring() {
    receive_against_publish(bounded(2));
}

pub(crate) fn receive_against_publish_in_blocks() {
    receive_against_publish(unbounded());
}

/// A batch and a single receive share what is there.
fn receive_against_receive((tx, rx): (Sender<Value>, Receiver<Value>)) {
    let all = Values::default();
    tx.try_send_many(&mut values(&all, 0..3)).unwrap();
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().map(|value| value.number));
    let mut out = Vec::new();
    let batch = rx.try_recv_many(&mut out, 3);
    let other = receiver.join().unwrap();
    let mut seen = numbers(&out);
    assert_eq!(batch.unwrap_or(0), seen.len());
    assert!(seen.is_sorted(), "C2");
    assert_eq!(other.is_err(), seen.len() == 3, "C27");
    seen.extend(other);
    seen.sort_unstable();
    assert_eq!(seen, [0, 1, 2], "C1");
    tx.assert_valid();
    drop(out);
    assert_eq!(all.alive(), 0);
}

pub(crate) fn receive_against_receive_on_a_ring() {
    receive_against_receive(bounded(3));
}

pub(crate) fn receive_against_receive_in_blocks() {
    receive_against_receive(unbounded());
}

/// A batch receives while a receive that was handed a value is dropped, and another value sent after that.
pub(crate) fn receive_against_given_back_in_blocks() {
    let (tx, rx) = unbounded();
    let all = Values::default();
    // (The block is there.)
    tx.try_send(all.make(0)).unwrap();
    assert_eq!(rx.try_recv().unwrap().number, 0);
    let other = rx.clone();
    // (The receiver in the thread, as above.)
    let receiver = thread::spawn(move || {
        let mut out = Vec::new();
        for _ in 0..2 {
            _ = other.try_recv_many(&mut out, 9);
        }
        out
    });
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    tx.try_send(all.make(1)).unwrap();
    drop(receiving);
    tx.try_send(all.make(2)).unwrap();
    let mut out = receiver.join().unwrap();
    while rx.try_recv_many(&mut out, 9).is_ok() {}
    assert_eq!(numbers(&out), [1, 2], "C9");
    tx.assert_valid();
    drop(out);
    assert_eq!(all.alive(), 0);
}

/// The channel is closed, and what is in it dropped, while a batch receives.
fn receive_against_discard((tx, rx): (Sender<Value>, Receiver<Value>)) {
    let all = Values::default();
    tx.try_send_many(&mut values(&all, 0..2)).unwrap();
    let closer = thread::spawn(move || tx.close_now());
    let mut out = Vec::new();
    let received = rx.try_recv_many(&mut out, 9);
    assert!(closer.join().unwrap());
    match received {
        Ok(count) => assert_eq!(count, out.len()),
        Err(error) => assert_eq!((error, out.len()), (TryRecvError::Closed, 0)),
    }
    assert_eq!(all.alive(), out.len(), "C6");
    assert!(rx.try_recv_many(&mut out, 9).is_err());
}

pub(crate) fn receive_against_discard_on_a_ring() {
    receive_against_discard(bounded(2));
}

/// A sender begins to wait while a batch makes room: it is let in.
pub(crate) fn receive_against_register() {
    let all = Values::default();
    let (tx, rx) = full(&all, 2);
    let batch = [3, 4].map(|number| all.make(number));
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
pub(crate) fn receive_against_force() {
    let all = Values::default();
    let (tx, rx) = full(&all, 2);
    let value = all.make(3);
    let sender = thread::spawn(move || tx.force_send(value).unwrap().map(|value| value.number));
    let mut out = Vec::new();
    rx.try_recv_many(&mut out, 2).unwrap();
    let back = sender.join().unwrap();
    let _ = rx.try_recv_many(&mut out, 9);
    assert_eq!(numbers(&out), if back.is_some() { vec![2, 3] } else { vec![1, 2, 3] });
    assert!(back.is_none_or(|back| back == 1));
}

/// A batch is sent while a receiver takes what was there before: it goes as there is room, and no slot is used twice.
pub(crate) fn send_against_receive() {
    let (tx, rx) = bounded(2);
    let all = Values::default();
    tx.try_send(all.make(0)).unwrap();
    let mut batch = values(&all, 1..4);
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv().unwrap().number, 0);
        rx
    });
    let sent = tx.try_send_many(&mut batch).unwrap();
    let rx = receiver.join().unwrap();
    assert_eq!((sent + batch.len(), rx.len()), (3, sent));
    let mut out = Vec::new();
    assert_eq!(rx.try_recv_many(&mut out, 9), Ok(sent));
    assert_eq!(numbers(out.iter().chain(&batch)), [1, 2, 3], "C22");
    drop((batch, out));
    assert_eq!(all.alive(), 0);
}

/// A batch is sent while a receiver comes to wait: it gets the first value.
fn send_against_park((tx, rx): (Sender<usize>, Receiver<usize>)) {
    let receiver = thread::spawn(move || {
        let first = rx.recv_blocking();
        (first, rx)
    });
    // The sender stays, or its end would wake the receiver.
    assert_eq!(tx.try_send_many(&mut VecDeque::from([1, 2])), Ok(2));
    let (first, rx) = receiver.join().unwrap();
    assert_eq!((first, rx.try_recv()), (Ok(1), Ok(2)));
    tx.assert_valid();
}

pub(crate) fn send_against_park_on_a_ring() {
    send_against_park(bounded(2));
}

pub(crate) fn send_against_park_in_blocks() {
    send_against_park(unbounded());
}

/// The same where places are counted beside.
pub(crate) fn send_against_park_with_a_room() {
    send_against_park(bounded(4));
}

/// Two receivers wait, and the first leaves while a batch is sent: nothing is lost, and the second is woken.
pub(crate) fn send_against_a_leaving_receiver() {
    let (tx, rx) = bounded(2);
    let (mut first, mut second) = (rx.recv(), rx.recv());
    let woken = Woken::new();
    assert!(poll(&mut first).is_pending());
    assert!(poll_with(&mut second, &woken).is_pending());
    let sender = thread::spawn(move || {
        assert_eq!(tx.try_send_many(&mut VecDeque::from([1, 2])), Ok(2));
        tx
    });
    drop(first);
    let tx = sender.join().unwrap();
    assert_ne!(woken.count(), 0, "it has a value, and was not woken");
    let Poll::Ready(Ok(seen)) = settle(&mut second) else { panic!("C11") };
    assert_eq!(rx.try_recv(), Ok(3 - seen), "C1");
    tx.assert_valid();
}

/// A batch that waits is dropped while a receiver makes room: what was not sent is in front of the deque.
pub(crate) fn dropped_send_against_receive() {
    let (tx, rx) = bounded(1);
    let mut batch = (0..3).collect::<VecDeque<_>>();
    let mut sending = tx.send_many(&mut batch);
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(0));
        rx
    });
    drop(sending);
    let rx = receiver.join().unwrap();
    let seen = rx.try_recv().ok().into_iter().chain(batch).collect::<Vec<_>>();
    assert_eq!(seen, [1, 2], "C22");
}

/// The same while the channel closes, and a receiver makes room.
pub(crate) fn dropped_send_against_close() {
    let (tx, rx) = bounded(1);
    let all = Values::default();
    let mut batch = values(&all, 0..2);
    let mut sending = tx.send_many(&mut batch);
    assert!(poll(&mut sending).is_pending());
    let closer = thread::spawn(move || {
        rx.close();
        rx
    });
    drop(sending);
    let rx = closer.join().unwrap();
    assert_eq!(numbers(&batch), [1], "C22");
    assert_eq!(rx.try_recv().unwrap().number, 0);
    drop(batch);
    assert_eq!(all.alive(), 0);
}

/// C22: the channel closes while a batch has places that are counted: what was not sent is in the deque, in order.
pub(crate) fn send_against_close_with_counted_places() {
    let (tx, rx) = bounded(4);
    // From now on they are.
    drop(tx.try_reserve().unwrap());
    let closer = thread::spawn(move || {
        rx.close();
        rx
    });
    let mut batch = VecDeque::from([0, 1]);
    let _ = tx.try_send_many(&mut batch);
    let rx = closer.join().unwrap();
    assert!(rx.try_iter().chain(batch).eq(0..2), "C22");
}

/// A batch makes room for a sender that comes to wait for a place.
pub(crate) fn receive_against_park_with_a_room() {
    let (tx, rx) = bounded(4);
    assert_eq!(tx.try_send_many(&mut (0..4).collect()), Ok(4));
    let sender = thread::spawn(move || {
        tx.send_blocking(4).unwrap();
        tx
    });
    let mut out = Vec::new();
    assert!(rx.try_recv_many(&mut out, 2).is_ok());
    let tx = sender.join().unwrap();
    _ = rx.try_recv_many(&mut out, 9);
    assert_eq!(out, [0, 1, 2, 3, 4]);
    tx.assert_valid();
}

/// A batch fills a block while the sender before it has not published its value.
pub(crate) fn send_against_send_in_blocks() {
    let (tx, rx) = unbounded();
    tx.try_send(0).unwrap();
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(9).unwrap());
    assert_eq!(tx.try_send_many(&mut VecDeque::from([1, 2])), Ok(2));
    sender.join().unwrap();
    let mut seen = (0..4).map(|_| rx.recv_blocking().unwrap()).collect::<Vec<_>>();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty));
    assert_eq!(seen.iter().position(|number| *number == 0), Some(0));
    seen.retain(|number| *number != 9);
    assert_eq!(seen, [0, 1, 2], "C2");
}

/// A batch to a receiver that comes to wait, of a channel of two.
fn single_send_against_park((mut tx, mut rx): (spsc::Sender<Value>, spsc::Receiver<Value>), count: usize) {
    let all = Values::default();
    let mut batch = values(&all, 0..count);
    let sender = thread::spawn(move || {
        assert_eq!(tx.send_many(&mut batch).wait(), Ok(count));
        tx
    });
    let mut out = Vec::new();
    while out.len() < count {
        rx.recv_many(&mut out, 2).wait().unwrap();
    }
    assert!(numbers(&out).into_iter().eq(0..count), "C2");
    sender.join().unwrap().assert_valid();
    drop(out);
    assert_eq!(all.alive(), 0);
}

pub(crate) fn single_send_against_park_of_two() {
    single_send_against_park(spsc::bounded(2), 3);
}

pub(crate) fn single_send_against_park_in_blocks() {
    single_send_against_park(spsc::unbounded(), 3);
}

/// The receiver goes while a batch is published: what does not count is in the deque.
pub(crate) fn single_send_against_discard() {
    let (mut tx, rx) = spsc::bounded(2);
    let all = Values::default();
    let mut batch = values(&all, 0..2);
    let receiver = thread::spawn(move || drop(rx));
    let sent = tx.try_send_many(&mut batch);
    receiver.join().unwrap();
    assert_eq!(all.alive(), 2 - sent.unwrap_or(0), "C7");
    assert_eq!(batch.len(), 2 - sent.unwrap_or(0), "C22");
}

/// The sender closes, and discards, while a batch receives: each value is somebody's.
pub(crate) fn single_receive_against_discard() {
    let (mut tx, mut rx) = spsc::bounded(2);
    let all = Values::default();
    assert_eq!(tx.try_send_many(&mut values(&all, 0..2)), Ok(2));
    let closer = thread::spawn(move || tx.close_now());
    let mut out = Vec::new();
    let received = rx.try_recv_many(&mut out, 9);
    assert!(closer.join().unwrap());
    assert_eq!(received.unwrap_or(0), out.len());
    assert_eq!(all.alive(), out.len(), "C6");
    assert_eq!(rx.recv_many(&mut Vec::new(), 9).wait(), Err(RecvError));
}

/// A batch makes room while the sender comes to wait for it.
pub(crate) fn single_receive_against_park() {
    let (mut tx, mut rx) = spsc::bounded(2);
    assert_eq!(tx.try_send_many(&mut (0..2).collect()), Ok(2));
    let sender = thread::spawn(move || {
        tx.send_blocking(2).unwrap();
        tx
    });
    let mut out = Vec::new();
    assert!(rx.try_recv_many(&mut out, 2).is_ok());
    let tx = sender.join().unwrap();
    _ = rx.try_recv_many(&mut out, 9);
    assert_eq!(out, [0, 1, 2]);
    tx.assert_valid();
}
