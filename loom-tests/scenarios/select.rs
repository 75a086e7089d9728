//! Selects against each other, against plain operations, closes, foreign futures and their own end.

use std::future::poll_fn;
use std::task::{Poll, Waker};

use leno::rendezvous;
use leno::select::{Selected2, foreign, select_biased as select};

use super::scenarios::harness::atomic::{AtomicBool, Ordering};
use super::scenarios::harness::{Arc, Mutex, thread};
use super::scenarios::support::{Values, poll, settle};

/// Two selects, each sending where the other receives: exactly one value is exchanged.
pub fn opposing() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let other = thread::spawn({
        let (b, a_rx) = (b.clone(), a_rx.clone());
        move || match select((b.send(2), a_rx.recv())).wait() {
            Selected2::First(sent) => sent.map(|()| 0).unwrap(),
            Selected2::Second(received) => received.unwrap(),
        }
    });
    let here = match select((a.send(1), b_rx.recv())).wait() {
        Selected2::First(sent) => sent.map(|()| 0).unwrap(),
        Selected2::Second(received) => received.unwrap(),
    };
    assert!(matches!((here, other.join().unwrap()), (0, 1) | (2, 0)), "one sends and the other receives");
    a.assert_valid();
    b.assert_valid();
}

/// A select against a plain sender on each of its channels: it takes one value and leaves the other.
pub fn against_two_senders() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let senders = [(a, values.make(1)), (b, values.make(2))]
        .map(|(tx, value)| thread::spawn(move || tx.send_blocking(value).is_ok()));
    let got = match select((a_rx.recv(), b_rx.recv())).wait() {
        Selected2::First(received) => received.unwrap().number,
        Selected2::Second(received) => received.unwrap().number,
    };
    drop((a_rx, b_rx));
    let sent = senders.map(|sender| sender.join().unwrap());
    assert_eq!(sent, [got == 1, got == 2]);
    assert_eq!(values.alive(), 0);
}

/// A select is dropped while a peer sends to one of its branches.
pub fn cancelled_against_send() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let value = values.make(1);
    let sender = thread::spawn(move || (a.try_send(value).is_ok(), a));
    drop(selecting);
    let (sent, _a) = sender.join().unwrap();
    assert_eq!(a_rx.try_recv().is_ok(), sent, "what was handed over is given back");
    assert_eq!(values.alive(), 0);
    a_rx.assert_valid();
    drop(b);
}

/// A select that sends is dropped while a peer receives.
pub fn cancelled_against_recv() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous::<usize>();
    let mut selecting = select((a.send(values.make(1)), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || drop(a_rx.try_recv()));
    drop(selecting);
    receiver.join().unwrap();
    assert_eq!(values.alive(), 0);
    drop(b);
}

/// Peers come for both branches at once: one of them alone is served.
pub fn both_branches_at_once() {
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let sender = thread::spawn(move || (a.try_send(1).is_ok(), a));
    let second = b.try_send(2).is_ok();
    let (first, _a) = sender.join().unwrap();
    assert!(first ^ second, "exactly one value is taken");
    match settle(&mut selecting) {
        Poll::Ready(Selected2::First(received)) => assert_eq!((received, first), (Ok(1), true)),
        Poll::Ready(Selected2::Second(received)) => assert_eq!((received, second), (Ok(2), true)),
        Poll::Pending => panic!("the select was served"),
    }
    a_rx.assert_valid();
    b_rx.assert_valid();
}

/// A close of one channel wakes the select, which keeps nothing in the other.
pub fn against_close() {
    let (a, a_rx) = rendezvous::<usize>();
    let (b, b_rx) = rendezvous::<usize>();
    let closing = thread::spawn(move || drop(a));
    assert!(matches!(select((a_rx.recv(), b_rx.recv())).wait(), Selected2::First(Err(_))));
    closing.join().unwrap();
    assert!(b.try_send(1).is_err(), "the losing branch waits no more");
}

/// A foreign future becomes ready while a peer claims: one of the two happens.
pub fn foreign_against_claim() {
    let (tx, rx) = rendezvous();
    let ready = Arc::new((AtomicBool::new(false), Mutex::new(None::<Waker>)));
    let flag = Arc::clone(&ready);
    let mut foreign_future = poll_fn(move |cx| {
        *flag.1.lock().unwrap() = Some(cx.waker().clone());
        if flag.0.load(Ordering::Acquire) { Poll::Ready(()) } else { Poll::Pending }
    });
    // On a thread of its own, which nobody joins early: loom does not let a thread that joins be unparked.
    let receiver = rx.clone();
    let selecting = thread::spawn(move || {
        matches!(select((receiver.recv(), foreign(&mut foreign_future))).wait(), Selected2::First(Ok(1)))
    });
    let sender = thread::spawn(move || (tx.try_send(1).is_ok(), tx));
    ready.0.swap(true, Ordering::AcqRel);
    let waker = ready.1.lock().unwrap().take();
    if let Some(waker) = waker {
        waker.wake();
    }
    let received = selecting.join().unwrap();
    let (sent, _tx) = sender.join().unwrap();
    assert_eq!(sent, received, "a value is taken exactly if its branch has won");
    assert_eq!(rx.len(), 0);
    rx.assert_valid();
}

/// Both sides of one channel in one select: it never meets itself, and a peer meets it.
pub fn both_sides_of_one_channel() {
    let (tx, rx) = rendezvous();
    let mut selecting = select((tx.send(1), rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let peer = tx.clone();
    let sender = thread::spawn(move || peer.send_blocking(2).unwrap());
    loop {
        match settle(&mut selecting) {
            Poll::Ready(outcome) => break assert_eq!(outcome, Selected2::Second(Ok(2))),
            Poll::Pending => thread::yield_now(),
        }
    }
    sender.join().unwrap();
    tx.assert_valid();
}

/// A losing send that was lent keeps its value.
pub fn losing_send_keeps_its_value() {
    let values = Values::default();
    let (a, a_rx) = rendezvous();
    let (b, b_rx) = rendezvous();
    let mut sending = a.send(values.make(1));
    let receiver = thread::spawn(move || (a_rx.try_recv().is_ok(), a_rx));
    let other = thread::spawn(move || b.send_blocking(2).is_ok());
    let sent = matches!(select((&mut sending, b_rx.recv())).wait(), Selected2::First(Ok(())));
    let (received, _a_rx) = receiver.join().unwrap();
    assert_eq!(sent, received);
    assert_eq!(sending.into_inner().is_some(), !sent);
    drop(b_rx);
    assert_eq!(other.join().unwrap(), !sent);
    assert_eq!(values.alive(), 0);
}
