//! watch, and its bells: who waits against who sends, goes, comes and leaves. Nobody sleeps through the last value.

use leno::channel::watch::{self, Receiver};

use super::harness::thread;
use super::support::{Values, Woken, poll, poll_with, settle};

/// A receiver that waits, or comes, sees what is sent.
pub(crate) fn send_against_changed() {
    let values = Values::default();
    let (tx, mut rx) = watch::channel(values.make(0));
    let of_sender = values.clone();
    let sending = thread::spawn(move || {
        assert!(tx.send(of_sender.make(1)).is_ok());
        tx
    });
    rx.changed().wait().unwrap();
    assert_eq!(rx.borrow_and_update().number, 1);
    let tx = sending.join().unwrap();
    assert_eq!(values.alive(), 1, "the value before is gone");
    assert!(poll(&mut rx.changed()).is_pending());
    assert_eq!(tx.assert_valid(), 0);
    drop((tx, rx));
    assert_eq!(values.alive(), 0);
}

fn changed(mut rx: Receiver<usize>) -> thread::JoinHandle<bool> {
    thread::spawn(move || rx.changed().wait().is_ok())
}

/// Two that wait are both told.
pub(crate) fn send_against_two() {
    let (tx, rx) = watch::channel(0);
    let waiting = [changed(rx.clone()), changed(rx)];
    tx.send_replace(1);
    assert!(waiting.map(|thread| thread.join().unwrap()) == [true, true]);
    assert_eq!(tx.assert_valid(), 0);
}

/// One joins the line behind one that has seen more: nobody sleeps through what is sent meanwhile.
pub(crate) fn join_against_two_sends() {
    let (tx, mut rx) = watch::channel(0);
    let late = rx.clone();
    let mut first = rx.changed();
    assert!(poll(&mut first).is_pending());
    let joining = changed(late);
    tx.send_replace(1);
    assert!(settle(&mut first).is_ready());
    drop(first);
    // It has seen all, and waits where the other one may join.
    let mut again = rx.changed();
    assert!(settle(&mut again).is_pending());
    assert!(joining.join().unwrap());
}

/// The last sender goes: whoever waits is told, and what was sent before is seen first.
pub(crate) fn last_sender_against_changed() {
    let (tx, mut rx) = watch::channel(0);
    let sending = thread::spawn(move || {
        tx.send_replace(1);
        drop(tx);
    });
    rx.changed().wait().expect("the value comes before the end");
    assert_eq!(*rx.borrow(), 1);
    assert!(rx.changed().wait().is_err());
    sending.join().unwrap();
}

/// Two senders go at once: the last one closes.
pub(crate) fn two_senders_go() {
    let (tx, mut rx) = watch::channel(0);
    let other = tx.clone();
    let going = thread::spawn(move || drop(other));
    drop(tx);
    assert!(rx.changed().wait().is_err());
    going.join().unwrap();
}

/// Who looks keeps the value as it is; who sends gets its turn.
pub(crate) fn send_against_borrow() {
    let (tx, mut rx) = watch::channel((0, 0));
    let sending = thread::spawn(move || tx.send_modify(|value| *value = (1, 1)));
    let (a, b) = *rx.borrow();
    assert_eq!(a, b);
    {
        let seen = rx.borrow_and_update();
        let again = seen.0;
        assert_eq!((again, seen.1), *seen);
    }
    sending.join().unwrap();
    assert_eq!(*rx.borrow(), (1, 1));
}

/// The value that is waited for is found, whether or not it is the last one.
pub(crate) fn two_sends_against_wait_for() {
    let (tx, mut rx) = watch::channel(0);
    let sending = thread::spawn(move || {
        tx.send_replace(1);
        tx.send_replace(2);
        tx
    });
    let found = rx.wait_for(|value| *value > 0).wait().map(|value| *value);
    assert!(found.unwrap() > 0);
    assert_eq!(rx.wait_for(|value| *value > 1).wait().map(|value| *value), Ok(2));
    drop(sending.join().unwrap());
    assert!(rx.wait_for(|value| *value > 2).wait().is_err());
}

/// The value that is waited for is the last one, and its sender goes: it is found before the end is.
pub(crate) fn last_sender_against_wait_for() {
    let (tx, mut rx) = watch::channel(0);
    let sending = thread::spawn(move || {
        tx.send_replace(1);
        drop(tx);
    });
    let found = rx.wait_for(|value| *value == 1).wait().map(|value| *value);
    assert_eq!(found, Ok(1), "the value comes before the end");
    sending.join().unwrap();
}

/// Waiting is broken off as something is sent: that is still to be seen.
pub(crate) fn send_against_cancel() {
    let (tx, mut rx) = watch::channel(0);
    let mut waiting = rx.changed();
    assert!(poll(&mut waiting).is_pending());
    let sending = thread::spawn(move || {
        tx.send_replace(1);
        tx
    });
    drop(waiting);
    let tx = sending.join().unwrap();
    assert_eq!(rx.has_changed(), Ok(true));
    assert_eq!(tx.assert_valid(), 0);
}

/// The task of one that waits changes as something is sent: the last waker is woken, or it sees to itself.
pub(crate) fn send_while_it_moves() {
    let (tx, mut rx) = watch::channel(0);
    let mut waiting = rx.changed();
    let (before, after) = (Woken::new(), Woken::new());
    assert!(poll_with(&mut waiting, &before).is_pending());
    let sending = thread::spawn(move || {
        tx.send_replace(1);
        tx
    });
    let polled = poll_with(&mut waiting, &after);
    let _tx = sending.join().unwrap();
    if polled.is_pending() {
        assert!(after.count() > 0, "the last waker is woken");
        assert!(settle(&mut waiting).is_ready());
    }
}

/// The last receiver goes: whoever waits for that is told.
pub(crate) fn last_receiver_against_closed() {
    let (tx, rx) = watch::channel(0);
    let other = rx.clone();
    let going = thread::spawn(move || drop(other));
    let waiting = thread::spawn(move || {
        tx.closed().wait();
        assert!(tx.is_closed() && tx.send(1).is_err());
    });
    drop(rx);
    going.join().unwrap();
    waiting.join().unwrap();
}

/// One that subscribes has either seen what is sent, or is told.
pub(crate) fn subscribe_against_send() {
    let (tx, rx) = watch::channel(0);
    let other = tx.clone();
    let sending = thread::spawn(move || {
        other.send_replace(1);
    });
    let mut late = tx.subscribe();
    if *late.borrow() == 0 {
        late.changed().wait().unwrap();
    }
    assert_eq!(*late.borrow_and_update(), 1);
    sending.join().unwrap();
    drop(rx);
}

/// A select over two of them, one of which changes.
pub(crate) fn send_against_select() {
    let (tx, mut rx) = watch::channel(0);
    let (_other, mut silent) = watch::channel(0);
    let sending = thread::spawn(move || {
        tx.send_replace(1);
        tx
    });
    let changed = leno::select_blocking! {
        changed = rx.changed() => changed.is_ok(),
        _ = silent.changed() => unreachable!("nothing was sent there"),
    };
    assert!(changed);
    let _tx = sending.join().unwrap();
    assert_eq!(rx.has_changed(), Ok(false));
}
