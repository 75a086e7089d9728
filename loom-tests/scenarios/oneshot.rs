//! oneshot: each pairing of send, recv, close, `closed` and the two drops. Nothing is lost, dropped twice or leaked.

use std::task::Poll;

use leno::channel::oneshot::{self, Receiver, Sender};
use leno::channel::{RecvError, TryRecvError};

use super::scenarios::harness::thread;
use super::scenarios::support::{Value, Values, Woken, poll, poll_with, settle};

/// Runs `sending` on a thread of its own beside `receiving`; in the end no value is left.
fn pairing(
    sending: impl FnOnce(Sender<Value>, &Values) + Send + 'static,
    receiving: impl FnOnce(Receiver<Value>),
) {
    let values = Values::default();
    let (tx, rx) = oneshot::channel();
    let of_sender = values.clone();
    let sender = thread::spawn(move || sending(tx, &of_sender));
    receiving(rx);
    sender.join().unwrap();
    assert_eq!(values.alive(), 0, "a value was lost");
}

pub(crate) fn send_against_recv() {
    pairing(
        |tx, values| assert!(tx.send(values.make(1)).is_ok()),
        |rx| assert_eq!(rx.recv_blocking().map(|value| value.number), Ok(1)),
    );
}

/// The value comes back, or goes with the receiver.
pub(crate) fn send_against_drop() {
    pairing(|tx, values| drop(tx.send(values.make(1))), drop);
}

/// It is sent before the close and received, or comes back.
pub(crate) fn send_against_close() {
    let values = Values::default();
    let (tx, mut rx) = oneshot::channel();
    let of_sender = values.clone();
    let sender = thread::spawn(move || tx.send(of_sender.make(1)).is_ok());
    rx.close();
    let received = rx.try_recv().map(|value| value.number);
    let sent = sender.join().unwrap();
    assert_eq!(received, if sent { Ok(1) } else { Err(TryRecvError::Closed) });
    assert_eq!(values.alive(), 0);
}

pub(crate) fn drop_against_recv() {
    pairing(|tx, _| drop(tx), |rx| assert!(rx.recv_blocking().is_err()));
}

pub(crate) fn drop_against_drop() {
    pairing(|tx, _| drop(tx), drop);
}

pub(crate) fn drop_against_close() {
    pairing(
        |tx, _| drop(tx),
        |mut rx| {
            rx.close();
            assert!(rx.recv_blocking().is_err());
        },
    );
}

pub(crate) fn closed_against_drop() {
    pairing(
        |mut tx, values| {
            tx.closed().wait();
            assert!(tx.is_closed() && tx.send(values.make(1)).is_err());
        },
        drop,
    );
}

pub(crate) fn closed_against_close() {
    pairing(
        |mut tx, _| tx.closed().wait(),
        |mut rx| {
            rx.close();
            assert_eq!(rx.try_recv().map(drop), Err(TryRecvError::Closed));
        },
    );
}

/// Both ends wait on the one word; the receiver closes.
pub(crate) fn both_wait_against_close() {
    pairing(
        |mut tx, _| tx.closed().wait(),
        |mut rx| {
            let woken = Woken::new();
            assert!(poll_with(&mut rx, &woken).is_pending());
            rx.close();
            assert!(matches!(settle(&mut rx), Poll::Ready(Err(RecvError))));
        },
    );
}

/// Both wait, and both leave: who waits last stands behind the other.
pub(crate) fn both_wait_and_both_leave() {
    pairing(
        |mut tx, values| {
            let mut closed = tx.closed();
            let _ = poll(&mut closed);
            drop(closed);
            drop(tx.send(values.make(1)));
        },
        |mut rx| {
            let _ = poll(&mut rx);
            drop(rx);
        },
    );
}

/// A receiver that waits is dropped while it is sent to.
pub(crate) fn cancelled_against_send() {
    pairing(
        |tx, values| drop(tx.send(values.make(1))),
        |mut rx| {
            let _ = poll(&mut rx);
        },
    );
}

/// The task of a receiver changes while it is sent to: the last waker is woken, or it sees to itself.
pub(crate) fn send_while_it_moves() {
    let values = Values::default();
    let (tx, mut rx) = oneshot::channel();
    let (before, after) = (Woken::new(), Woken::new());
    assert!(poll_with(&mut rx, &before).is_pending());
    let of_sender = values.clone();
    let sender = thread::spawn(move || assert!(tx.send(of_sender.make(1)).is_ok()));
    let polled = poll_with(&mut rx, &after).map(drop);
    sender.join().unwrap();
    if polled.is_pending() {
        assert!(after.count() > 0, "the last waker is woken");
        assert!(settle(&mut rx).is_ready());
    }
    drop(rx);
    assert_eq!(values.alive(), 0);
}

/// A select over two of them: one is sent to. The other one is as it was.
pub(crate) fn select_against_send() {
    let (tx, mut rx) = oneshot::channel();
    let (other_tx, mut other_rx) = oneshot::channel();
    let sender = thread::spawn(move || assert!(tx.send(1).is_ok()));
    let received = leno::select_blocking! {
        received = &mut rx => received,
        received = &mut other_rx => received,
    };
    assert_eq!(received, Ok(1));
    sender.join().unwrap();
    assert!(other_tx.send(2).is_ok());
    assert_eq!(other_rx.recv_blocking(), Ok(2));
}

/// A select that waits is dropped while one of its branches is sent to: the value is there, or is still to come.
pub(crate) fn select_dropped_against_send() {
    let values = Values::default();
    let (tx, mut rx) = oneshot::channel();
    let (_other_tx, mut other_rx) = oneshot::channel::<()>();
    let of_sender = values.clone();
    let sender = thread::spawn(move || assert!(tx.send(of_sender.make(1)).is_ok()));
    let taken = {
        let mut select = Box::pin(async {
            leno::select! {
                received = &mut rx => received.is_ok(),
                _ = &mut other_rx => unreachable!("nothing was sent there"),
            }
        });
        poll(&mut select).is_ready()
    };
    sender.join().unwrap();
    if !taken {
        assert_eq!(rx.recv_blocking().map(|value| value.number), Ok(1));
    }
    assert_eq!(values.alive(), 0);
}

/// A receiver that waits tries as well.
pub(crate) fn tried_against_send() {
    pairing(
        |tx, values| drop(tx.send(values.make(1))),
        |mut rx| {
            let _ = poll(&mut rx).map(|received| received.map(drop));
            let _ = rx.try_recv().map(drop);
        },
    );
}
