//! Asking a set what is ready, beside those who do something: nobody is held up by one that only asks, and one that
//! waits for the answer is told.

use std::task::Poll;

use futures_core::FusedFuture;
use leno::channel::{RecvError, spsc};
use leno::select::Select;
use leno::sync::{Mutex, Semaphore};
use leno::{bounded, rendezvous};

use super::harness::thread;
use super::support::{Value, Values, Woken, poll, poll_with, settle};

/// Asks until it has received.
fn ask_and_try(rx: &leno::Receiver<usize>) -> usize {
    let (_quiet, quiets) = rendezvous::<usize>();
    let mut set = Select::biased();
    let receive = set.recv(rx);
    set.recv(&quiets);
    loop {
        assert_eq!(set.ready_blocking(), receive.index(), "nobody sends on the other one");
        if let Ok(value) = rx.try_recv() {
            return value;
        }
    }
}

/// It waits for a value, on a channel of that capacity.
fn waits_for_a_send(capacity: usize) {
    let (tx, rx) = bounded(capacity);
    let asking = thread::spawn(move || (ask_and_try(&rx), rx));
    let sender = thread::spawn(move || (tx.send_blocking(1).is_ok(), tx));
    let (value, rx) = asking.join().unwrap();
    assert_eq!(value, 1);
    assert!(sender.join().unwrap().0);
    rx.assert_valid();
}

pub(crate) fn waits_for_a_send_0() {
    waits_for_a_send(0);
}

pub(crate) fn waits_for_a_send_1() {
    waits_for_a_send(1);
}

/// It waits for room, or for a receiver.
fn waits_for_a_recv(capacity: usize) {
    let (tx, rx) = bounded(capacity);
    (0..capacity).for_each(|value| tx.try_send(value).unwrap());
    let asking = thread::spawn(move || {
        let mut set = Select::new();
        let send = set.send(&tx, capacity);
        loop {
            assert_eq!(set.ready_blocking(), send.index());
            if let Some(operation) = set.try_select() {
                operation.send(send).unwrap();
                break;
            }
        }
        drop(set);
        tx
    });
    for value in 0..=capacity {
        assert_eq!(rx.recv_blocking(), Ok(value));
    }
    let tx = asking.join().unwrap();
    tx.assert_valid();
}

pub(crate) fn waits_for_a_recv_0() {
    waits_for_a_recv(0);
}

pub(crate) fn waits_for_a_recv_1() {
    waits_for_a_recv(1);
}

/// A receiver that waits beside it gets the one value, whether it asks on, or is dropped in the middle.
fn recv_against_send(drops: bool) {
    let values = Values::default();
    let (tx, rx) = rendezvous();
    let other = rx.clone();
    let mut set = Select::new();
    set.recv(&rx);
    let mut asking = set.ready();
    assert!(poll(&mut asking).is_pending());
    let receiver = thread::spawn(move || other.recv_blocking().map(|value: Value| value.number));
    let sender = values.make(1);
    let sender = thread::spawn(move || (tx.send_blocking(sender).is_ok(), tx));
    if drops {
        drop(asking);
    } else {
        let _ = settle(&mut asking);
        drop(asking);
    }
    drop(set);
    assert_eq!(receiver.join().unwrap(), Ok(1), "it is not the asker's");
    let (sent, tx) = sender.join().unwrap();
    assert!(sent);
    assert_eq!(values.alive(), 0);
    tx.assert_valid();
}

pub(crate) fn asked_beside_a_recv() {
    recv_against_send(false);
}

pub(crate) fn dropped_beside_a_recv() {
    recv_against_send(true);
}

/// One that asks and tries, and one that receives: both values arrive.
pub(crate) fn asking_and_receiving() {
    let (tx, rx) = bounded(1);
    let other = rx.clone();
    let asking = thread::spawn(move || ask_and_try(&rx));
    let receiver = thread::spawn(move || other.recv_blocking());
    assert_eq!(tx.send_blocking(1), Ok(()));
    assert_eq!(tx.send_blocking(2), Ok(()));
    assert_eq!(asking.join().unwrap() + receiver.join().unwrap().unwrap(), 3);
    tx.assert_valid();
}

/// A close tells it.
pub(crate) fn waits_for_a_close() {
    let (tx, rx) = rendezvous::<usize>();
    let asking = thread::spawn(move || {
        let mut set = Select::new();
        let receive = set.recv(&rx);
        assert_eq!(set.ready_blocking(), receive.index());
        assert_eq!(set.try_select().expect("closed").recv(receive), Err(RecvError));
    });
    drop(tx);
    asking.join().unwrap();
}

/// Polled with another waker meanwhile it wakes that one, or is ready.
pub(crate) fn polled_against_a_send() {
    let (tx, rx) = bounded(1);
    let mut set = Select::new();
    let receive = set.recv(&rx);
    let mut asking = set.ready();
    assert!(poll(&mut asking).is_pending());
    let sender = thread::spawn(move || tx.send_blocking(1).map(|()| tx));
    let last = Woken::new();
    let mut polled = poll_with(&mut asking, &last);
    let tx = sender.join().unwrap().unwrap();
    if polled.is_pending() {
        assert!(last.count() > 0, "the last waker counts");
        polled = settle(&mut asking);
    }
    assert_eq!(polled, Poll::Ready(receive.index()));
    drop(asking);
    drop(set);
    assert_eq!(rx.try_recv(), Ok(1));
    tx.assert_valid();
}

/// Dropped while a send and a receive of others come: all nodes are free in the end, and the two meet.
pub(crate) fn dropped_against_both() {
    let (tx, rx) = rendezvous();
    let (sends, receives) = (tx.clone(), rx.clone());
    let mut set = Select::new();
    set.recv(&rx);
    set.send(&tx, 7);
    let mut asking = set.ready();
    assert!(poll(&mut asking).is_pending(), "it does not meet itself");
    let sender = thread::spawn(move || sends.send_blocking(1));
    let receiver = thread::spawn(move || receives.recv_blocking());
    drop(asking);
    drop(set);
    assert_eq!(sender.join().unwrap(), Ok(()));
    assert_eq!(receiver.join().unwrap(), Ok(1));
    tx.assert_valid();
}

/// It asks on both sides of a channel: a receiver tells it, and one that sends.
fn both_sides(peer_sends: bool) {
    let (tx, rx) = rendezvous();
    let (sends, receives) = (tx.clone(), rx.clone());
    let asking = thread::spawn(move || {
        let mut set = Select::new();
        let (receive, send) = (set.recv(&rx), set.send(&tx, 1));
        let index = set.ready_blocking();
        assert_eq!(index, if peer_sends { receive.index() } else { send.index() });
        let operation = set.try_select().expect("it waits there");
        if peer_sends {
            assert_eq!(operation.recv(receive), Ok(2));
        } else {
            assert_eq!(operation.send(send), Ok(()));
        }
    });
    let peer = thread::spawn(move || {
        if peer_sends {
            assert_eq!(sends.send_blocking(2), Ok(()));
        } else {
            assert_eq!(receives.recv_blocking(), Ok(1));
        }
        (sends, receives)
    });
    asking.join().unwrap();
    let (tx, _rx) = peer.join().unwrap();
    tx.assert_valid();
}

pub(crate) fn both_sides_against_a_recv() {
    both_sides(false);
}

pub(crate) fn both_sides_against_a_send() {
    both_sides(true);
}

/// A select that begins to wait opposite one that asks goes on as if nobody were there, and tells it; and is received from.
pub(crate) fn select_meets_one_that_asks() {
    let (tx, rx) = rendezvous();
    let other = rx.clone();
    let (_quiet, quiets) = rendezvous::<usize>();
    let selecting = thread::spawn(move || {
        let mut set = Select::new();
        let send = set.send(&tx, 1);
        set.recv(&quiets);
        assert!(set.select().wait().send(send).is_ok());
    });
    let asking = thread::spawn(move || {
        let mut set = Select::new();
        let receive = set.recv(&rx);
        assert_eq!(set.ready_blocking(), receive.index());
    });
    asking.join().unwrap();
    assert_eq!(other.recv_blocking(), Ok(1));
    selecting.join().unwrap();
}

/// Two that ask, on both sides, and one that really sends in the end: nobody waits for ever.
pub(crate) fn two_that_ask() {
    let (tx, rx) = rendezvous();
    let asking = thread::spawn(move || ask_and_try(&rx));
    let sending = thread::spawn(move || {
        let mut set = Select::new();
        let send = set.send(&tx, 1);
        let _ = set.try_ready();
        assert!(set.select().wait().send(send).is_ok());
        drop(set);
        tx
    });
    assert_eq!(asking.join().unwrap(), 1);
    sending.join().unwrap();
}

/// A send that waits is lent to a set that only asks, while its value is taken: whoever asks it afterwards hears that it has sent.
pub(crate) fn a_lent_send_against_a_recv() {
    let (tx, rx) = rendezvous();
    let receiver = thread::spawn(move || (rx.recv_blocking(), rx));
    let mut sending = tx.send(1);
    let _ = poll(&mut sending);
    if !sending.is_terminated() {
        let mut set = Select::new();
        set.add(&mut sending);
        let _ = set.try_ready();
        drop(set);
        assert_eq!(sending.wait(), Ok(()), "nobody had its outcome");
    }
    let (received, rx) = receiver.join().unwrap();
    assert_eq!(received, Ok(1));
    rx.assert_valid();
}

/// A lock is freed: who waits behind one that asks has it, whether that is dropped or asks on.
fn lock_against(fair: bool) {
    let mutex = std::sync::Arc::new(if fair { Mutex::fair(()) } else { Mutex::new(()) });
    let held = mutex.try_lock_arc().expect("free");
    let mut set = Select::new();
    set.add(mutex.lock());
    let mut asking = set.ready();
    assert!(poll(&mut asking).is_pending());
    let other = std::sync::Arc::clone(&mutex);
    let waiter = thread::spawn(move || drop(other.lock_blocking()));
    let holder = thread::spawn(move || drop(held));
    let _ = poll(&mut asking);
    drop(asking);
    drop(set);
    waiter.join().unwrap();
    holder.join().unwrap();
    assert!(mutex.try_lock().is_some());
    mutex.assert_valid();
}

pub(crate) fn lock_against_unlock() {
    lock_against(false);
}

pub(crate) fn fair_lock_against_unlock() {
    lock_against(true);
}

/// A lock that it was told of in vain before, as a select, and of which it is told now, and nobody else: it passes that on.
pub(crate) fn told_of_a_lock_and_dropped() {
    let mutex = std::sync::Arc::new(Mutex::new(()));
    let held = mutex.try_lock_arc().expect("free");
    let mut set = Select::new();
    set.add(mutex.lock());
    let mut selecting = set.select();
    assert!(poll(&mut selecting).is_pending());
    drop(held);
    let held = mutex.try_lock_arc().expect("free");
    assert!(poll(&mut selecting).is_pending(), "somebody was quicker");
    drop(selecting);
    let mut asking = set.ready();
    assert!(poll(&mut asking).is_pending());
    let mut waiter = mutex.lock();
    let woken = Woken::new();
    assert!(poll_with(&mut waiter, &woken).is_pending());
    let unlocks = thread::spawn(move || drop(held));
    drop(asking);
    unlocks.join().unwrap();
    assert!(woken.count() > 0, "it did not take it");
    drop(settle(&mut waiter));
    drop(set);
    mutex.assert_valid();
}

/// Permits come while it asks: it is told, or they go to who waits behind it, for fewer.
pub(crate) fn permits_against_release() {
    let semaphore = std::sync::Arc::new(Semaphore::new(0));
    let mut set = Select::new();
    let two = set.add(semaphore.acquire_many(2));
    let mut asking = set.ready();
    assert!(poll(&mut asking).is_pending());
    let gives = std::sync::Arc::clone(&semaphore);
    let giver = thread::spawn(move || gives.add_permits(2));
    let mut polled = poll(&mut asking);
    giver.join().unwrap();
    if polled.is_pending() {
        polled = settle(&mut asking);
    }
    assert_eq!(polled, Poll::Ready(two.index()));
    drop(asking);
    drop(set);
    assert_eq!(semaphore.available_permits(), 2, "it took none");
    semaphore.assert_valid();
}

/// A single receiver asks while the sender sends.
pub(crate) fn single_against_a_send() {
    let (mut tx, mut rx) = spsc::bounded(1);
    let asking = thread::spawn(move || {
        let mut set = Select::new();
        let receive = set.recv(&mut rx);
        assert_eq!(set.ready_blocking(), receive.index());
        let received = set.try_select().expect("a value").recv(receive);
        drop(set);
        assert_eq!(received, Ok(1));
        rx
    });
    let sender = thread::spawn(move || tx.send_blocking(1).map(|()| tx));
    let _rx = asking.join().unwrap();
    assert!(sender.join().unwrap().is_ok());
}

/// A receive of a single receiver is dropped in the sender's hands: a set that comes then is ready, and has its value, though
/// the sender wakes somebody else.
pub(crate) fn single_after_one_that_was_dropped() {
    let (mut tx, mut rx) = spsc::bounded(1);
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let sender = thread::spawn(move || tx.send_blocking(1).map(|()| tx));
    drop(receiving);
    let selecting = thread::spawn(move || {
        let mut set = Select::new();
        let receive = set.recv(&mut rx);
        assert_eq!(set.ready_blocking(), receive.index());
        let received = set.select().wait().recv(receive);
        drop(set);
        (received, rx)
    });
    assert_eq!(selecting.join().unwrap().0, Ok(1));
    assert!(sender.join().unwrap().is_ok());
}
