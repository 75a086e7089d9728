//! oneshot: each pairing of send, recv, close, `closed` and the two drops. Nothing is lost, dropped twice or leaked.

use std::sync::Arc as StdArc;
use std::task::Poll;
use std::time::Duration;

use leno::channel::oneshot::{self, Receiver, Sender};
use leno::channel::{RecvError, TryRecvError};

use super::harness::thread;
use super::support::{Value, Values, Woken, poll, poll_with, settle};

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

/// A waker with its count of owners: [`Owned::assert_let_go`] says that the channel has given up each of its clones, once.
struct Owned(StdArc<Woken>, usize);

impl Owned {
    fn new() -> Owned {
        let woken = Woken::new();
        // More owners than there are: a clone that goes twice is a failed assertion, and no crash.
        (0..4).for_each(|_| std::mem::forget(StdArc::clone(&woken)));
        let owners = StdArc::strong_count(&woken);
        Owned(woken, owners)
    }

    fn assert_let_go(&self) {
        assert_eq!(StdArc::strong_count(&self.0), self.1, "each waker is woken or dropped once");
    }
}

/// A parked receiver is woken by the send, or has found the value.
pub(crate) fn park_against_send() {
    let waker = Owned::new();
    let of_receiver = StdArc::clone(&waker.0);
    pairing(
        |tx, values| assert!(tx.send(values.make(1)).is_ok()),
        move |mut rx| match poll_with(&mut rx, &of_receiver) {
            Poll::Ready(received) => assert!(received.is_ok()),
            Poll::Pending => {
                while of_receiver.count() == 0 {
                    thread::yield_now();
                }
                assert!(poll(&mut rx).is_ready(), "who is woken finds it");
            }
        },
    );
    waker.assert_let_go();
}

pub(crate) fn park_against_drop() {
    let waker = Owned::new();
    let of_receiver = StdArc::clone(&waker.0);
    pairing(
        |tx, _| drop(tx),
        move |mut rx| {
            if poll_with(&mut rx, &of_receiver).is_pending() {
                while of_receiver.count() == 0 {
                    thread::yield_now();
                }
                assert!(matches!(poll(&mut rx), Poll::Ready(Err(RecvError))));
            }
        },
    );
    waker.assert_let_go();
}

/// Parked, and dropped or closed while it is sent to: each waker goes once, and so does the value.
fn parked_against_send(end: impl FnOnce(Receiver<Value>)) {
    let waker = Owned::new();
    let (values, (tx, mut rx)) = (Values::default(), oneshot::channel());
    assert!(poll_with(&mut rx, &waker.0).is_pending());
    let of_sender = values.clone();
    let sender = thread::spawn(move || drop(tx.send(of_sender.make(1))));
    end(rx);
    sender.join().unwrap();
    assert_eq!(values.alive(), 0);
    waker.assert_let_go();
}

pub(crate) fn parked_dropped_against_send() {
    parked_against_send(drop);
}

pub(crate) fn parked_closed_against_send() {
    parked_against_send(|mut rx| {
        rx.close();
        assert!(poll(&mut rx).is_ready(), "its wait has ended");
    });
}

/// It takes the value, perhaps before the sender has woken it, and goes: the sender touches nothing of the channel any more.
pub(crate) fn parked_gone_before_it_is_woken() {
    parked_against_send(|mut rx| drop(rx.try_recv()));
}

/// Parked by one task, polled by another one while it is sent to: the later one is woken, and the earlier waker is let go.
fn parked_anew(sends: bool) {
    let (before, after) = (Owned::new(), Owned::new());
    let (tx, mut rx) = oneshot::channel();
    assert!(poll_with(&mut rx, &before.0).is_pending());
    let sender = thread::spawn(move || if sends { assert!(tx.send(1).is_ok()) } else { drop(tx) });
    let polled = poll_with(&mut rx, &after.0);
    sender.join().unwrap();
    let outcome = match polled {
        Poll::Ready(outcome) => outcome,
        Poll::Pending => {
            assert_eq!((before.0.count(), after.0.count()), (0, 1), "the last waker is woken");
            rx.recv_blocking()
        }
    };
    assert_eq!(outcome, if sends { Ok(1) } else { Err(RecvError) });
    before.assert_let_go();
    after.assert_let_go();
}

pub(crate) fn parked_anew_against_send() {
    parked_anew(true);
}

pub(crate) fn parked_anew_against_drop() {
    parked_anew(false);
}

/// Parked as a future of its own, then a branch of a select, which leaves it as it was.
pub(crate) fn parked_and_lent_against_send() {
    let (waker, of_select) = (Owned::new(), Owned::new());
    let values = Values::default();
    let (tx, mut rx) = oneshot::channel();
    assert!(poll_with(&mut rx, &waker.0).is_pending());
    let of_sender = values.clone();
    let sender = thread::spawn(move || assert!(tx.send(of_sender.make(1)).is_ok()));
    let taken = {
        let mut select = Box::pin(async {
            leno::select! { received = &mut rx => received.is_ok() }
        });
        poll_with(&mut select, &of_select.0).is_ready()
    };
    sender.join().unwrap();
    if !taken {
        assert!(matches!(poll(&mut rx), Poll::Ready(Ok(_))));
    }
    drop(rx);
    assert_eq!(values.alive(), 0);
    waker.assert_let_go();
    of_select.assert_let_go();
}

/// Parked as a future of its own, then waited for on a thread.
pub(crate) fn parked_and_blocked_against_send() {
    let waker = Owned::new();
    let (tx, mut rx) = oneshot::channel();
    assert!(poll_with(&mut rx, &waker.0).is_pending());
    let sender = thread::spawn(move || assert!(tx.send(1).is_ok()));
    assert_eq!(rx.recv_blocking(), Ok(1));
    sender.join().unwrap();
    waker.assert_let_go();
}

/// A sender whose borrow by a `closed` has ended, though that was not dropped: as by `mem::forget`. (It is dropped in the end
/// all the same, while the receiver is still there, so that the model has no leak.)
fn forgetful<'a, T>(tx: &mut Sender<T>) -> &'a mut Sender<T> {
    // SAFETY: the future has the address of what the two ends share, which the receiver keeps.
    unsafe { &mut *std::ptr::from_mut(tx) }
}

/// A `closed` that was forgotten stands in the line: the send tells it, and the receiver.
fn beside_a_forgotten_closed(receive: impl FnOnce(&mut Receiver<usize>)) {
    let other = Owned::new();
    let (mut tx, mut rx) = oneshot::channel();
    let of_sender = StdArc::clone(&other.0);
    let sender = thread::spawn(move || {
        let mut closed = forgetful(&mut tx).closed();
        assert!(poll_with(&mut closed, &of_sender).is_pending());
        assert!(tx.send(1).is_ok());
        closed
    });
    receive(&mut rx);
    let forgotten = sender.join().unwrap();
    assert_eq!(other.0.count(), 1, "whoever waits is told");
    drop(forgotten);
}

pub(crate) fn park_beside_a_forgotten_closed() {
    let waker = Owned::new();
    let of_receiver = StdArc::clone(&waker.0);
    beside_a_forgotten_closed(move |rx| {
        if poll_with(rx, &of_receiver).is_pending() {
            while rx.try_recv().is_err() {
                thread::yield_now();
            }
        }
    });
    waker.assert_let_go();
}

/// Both by nodes, one behind the other.
pub(crate) fn wait_beside_a_forgotten_closed() {
    beside_a_forgotten_closed(|rx| assert_eq!(rx.wait_timeout(Duration::MAX), Ok(1)));
}

/// A parked receiver goes while a `closed` comes.
pub(crate) fn parked_dropped_against_closed() {
    let waker = Owned::new();
    let of_receiver = StdArc::clone(&waker.0);
    pairing(
        |mut tx, _| tx.closed().wait(),
        move |mut rx| {
            assert!(poll_with(&mut rx, &of_receiver).is_pending());
            drop(rx);
        },
    );
    assert_eq!(waker.0.count(), 0, "who goes is not woken");
    waker.assert_let_go();
}
