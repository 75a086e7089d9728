//! Bounded channels: publishers and receivers, room and senders, the mover, the end.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use futures_core::Stream as _;
use leno::channel::{IntoStream, RecvError};
use leno::{Receiver, Sender, bounded};

use super::scenarios::buffered;
use super::scenarios::harness::thread;
use super::scenarios::support::{Values, Woken, poll, poll_with, settle};

/// A receiver registers and looks again while a value is published.
pub(crate) fn publish_against_register() {
    buffered::publish_against_register(bounded(1));
}

/// A sender registers and looks again while a receiver makes room.
pub(crate) fn room_against_register() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let receiver = thread::spawn(move || {
        assert_eq!(rx.recv_blocking(), Ok(1));
        rx
    });
    tx.send_blocking(2).unwrap();
    let rx = receiver.join().unwrap();
    assert_eq!(rx.try_recv(), Ok(2));
    rx.assert_valid();
}

/// Two values through one place: both sides wait in turn.
pub(crate) fn two_values_through_one_place() {
    let (tx, rx) = bounded(1);
    let sender = thread::spawn(move || {
        for number in 1..=2 {
            tx.send_blocking(number).unwrap();
        }
    });
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(rx.recv_blocking(), Ok(2));
    sender.join().unwrap();
    assert_eq!(rx.recv_blocking(), Err(RecvError));
}

/// Two receivers wait, one value comes, the first is dropped before it runs: the second gets it.
pub(crate) fn notified_and_dropped() {
    buffered::notified_and_dropped(bounded(1));
}

/// A receiver that was notified finds the value taken, waits on, and gets the next.
pub(crate) fn notified_in_vain() {
    let (tx, rx) = bounded(1);
    let other = rx.clone();
    let waiting = thread::spawn(move || other.recv_blocking());
    tx.send_blocking(1).unwrap();
    let barged = rx.try_recv();
    match barged {
        Ok(1) => {
            tx.send_blocking(2).unwrap();
            assert_eq!(waiting.join().unwrap(), Ok(2));
        }
        _ => assert_eq!(waiting.join().unwrap(), Ok(1)),
    }
}

/// Of two waiting senders the first leaves while room is made: the second proceeds, or the first had sent.
pub(crate) fn cancelled_sender_against_room() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let mut first = tx.send(2);
    assert!(poll(&mut first).is_pending());
    let mut second = tx.send(3);
    assert!(poll(&mut second).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(1));
        rx
    });
    let kept = first.into_inner();
    let rx = receiver.join().unwrap();
    match kept {
        Some(2) => assert_eq!(rx.try_recv(), Ok(3)),
        None => assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(3))),
        other => panic!("a send kept {other:?}"),
    }
    assert_eq!(settle(&mut second), Poll::Ready(Ok(())));
    rx.assert_valid();
}

/// Two receivers make room at once, for two senders that wait: both are moved.
pub(crate) fn two_movers() {
    let (tx, rx) = bounded(2);
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let mut third = tx.send(3);
    assert!(poll(&mut third).is_pending());
    let mut fourth = tx.send(4);
    assert!(poll(&mut fourth).is_pending());
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().unwrap());
    let here = rx.try_recv().unwrap();
    assert_eq!(here + receiver.join().unwrap(), 3);
    assert_eq!(rx.len(), 2, "room that is made is filled at once");
    assert_eq!(poll(&mut third), Poll::Ready(Ok(())));
    assert_eq!(poll(&mut fourth), Poll::Ready(Ok(())));
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(3), Ok(4)));
    rx.assert_valid();
}

/// A sender registers while the mover lifts the gate behind another one.
pub(crate) fn register_against_lifted_gate() {
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let mut gone = tx.send(9);
    assert!(poll(&mut gone).is_pending());
    drop(gone);
    let receiver = thread::spawn(move || {
        assert_eq!(rx.recv_blocking(), Ok(1));
        assert_eq!(rx.recv_blocking(), Ok(2));
    });
    tx.send_blocking(2).unwrap();
    receiver.join().unwrap();
}

/// A gate that nobody stands behind: its sender has left.
fn leave_the_gate_up(tx: &Sender<usize>) {
    let _ = poll(&mut tx.send(9));
}

/// Drops what is in the channel; gives what it was.
fn drain(rx: &Receiver<usize>) -> Vec<usize> {
    std::iter::from_fn(|| rx.try_recv().ok()).collect()
}

/// A sender waits while the gate is lifted: who comes after it does not overtake it.
pub(crate) fn overtaking_at_the_gate() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    leave_the_gate_up(&tx);
    let other = tx.clone();
    let lifting = thread::spawn(move || other.try_send(1).is_ok());
    let mut sending = tx.send(2);
    assert!(poll(&mut sending).is_pending());
    assert_eq!(rx.try_recv(), Ok(0));
    let overtaken = tx.try_send(3).is_ok();
    let lifted = lifting.join().unwrap();
    assert_eq!((overtaken, lifted, drain(&rx)), (false, false, vec![2]));
    assert_eq!(settle(&mut sending), Poll::Ready(Ok(())));
}

/// Room is claimed but not yet free, and one party lifts the gate, while a sender begins to wait: it is moved or
/// woken when there is room.
pub(crate) fn waiting_at_a_lifted_gate() {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(0));
        rx
    });
    leave_the_gate_up(&tx);
    let other = tx.clone();
    let lifting = thread::spawn(move || other.try_send(1).is_ok());
    let woken = Woken::new();
    let mut sending = tx.send(2);
    let mut before = 0;
    for _ in 0..2 {
        before = woken.count();
        if poll_with(&mut sending, &woken).is_ready() {
            before = usize::MAX;
            break;
        }
    }
    let rx = receiver.join().unwrap();
    lifting.join().unwrap();
    assert!(rx.len() == 1 || woken.count() != before, "there is room, and the sender was not woken");
    let received = drain(&rx);
    if before != usize::MAX {
        assert_eq!(settle(&mut sending), Poll::Ready(Ok(())));
    }
    assert_eq!(received.into_iter().chain(drain(&rx)).filter(|&number| number == 2).count(), 1);
}

/// Two senders begin to wait while the gate is lifted and room is claimed but not yet free, and the first leaves,
/// with or without a look of its own: the other one is moved or woken when there is room.
fn leaving_a_lifted_gate(looks: bool) {
    let (tx, rx) = bounded(1);
    tx.try_send(0).unwrap();
    leave_the_gate_up(&tx);
    let other = tx.clone();
    let lifting = thread::spawn(move || other.try_send(1).is_ok());
    let woken = Woken::new();
    let mut leaving = tx.send(2);
    let mut staying = tx.send(3);
    let left = poll(&mut leaving).is_pending();
    assert!(left & poll_with(&mut staying, &woken).is_pending(), "the channel is full");
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(0));
        rx
    });
    if looks {
        let _ = poll(&mut leaving);
    }
    drop(leaving);
    let rx = receiver.join().unwrap();
    lifting.join().unwrap();
    assert!(rx.len() == 1 || woken.count() > 0, "there is room, and the sender was not woken");
    let received = drain(&rx);
    assert_eq!(settle(&mut staying), Poll::Ready(Ok(())));
    assert!(received.into_iter().chain(drain(&rx)).any(|number| number == 3));
}

/// See above, without a look.
pub(crate) fn leaving_a_lifted_gate_unlooked() {
    leaving_a_lifted_gate(false);
}

/// See above, with a look.
pub(crate) fn leaving_a_lifted_gate_after_a_look() {
    leaving_a_lifted_gate(true);
}

/// Two values come, one after the other, and the first of two receivers looks in between: it does not absorb both
/// notifications.
pub(crate) fn notified_twice() {
    let (tx, rx) = bounded(2);
    let (mut first, mut second) = (rx.recv(), rx.recv());
    let woken = Woken::new();
    assert!(poll(&mut first).is_pending());
    assert!(poll_with(&mut second, &woken).is_pending());
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(1).unwrap());
    tx.try_send(2).unwrap();
    let early = poll(&mut first);
    sender.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut first) } else { early };
    assert!(matches!(outcome, Poll::Ready(Ok(1 | 2))));
    assert_ne!(woken.count(), 0, "a value is there, and the next receiver was not woken");
    assert!(matches!(settle(&mut second), Poll::Ready(Ok(1 | 2))));
    rx.assert_valid();
}

/// Two values come, and the first of three receivers looks in between, and leaves: the others are woken.
pub(crate) fn notified_twice_and_dropped() {
    let (tx, rx) = bounded(2);
    let mut first = rx.recv();
    assert!(poll(&mut first).is_pending());
    let mut behind = [rx.recv(), rx.recv()];
    let woken = [Woken::new(), Woken::new()];
    for (receiving, woken) in behind.iter_mut().zip(&woken) {
        assert!(poll_with(receiving, woken).is_pending());
    }
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(1).unwrap());
    tx.try_send(2).unwrap();
    let received = poll(&mut first).is_ready();
    drop(first);
    sender.join().unwrap();
    let left = 2 - usize::from(received);
    assert_eq!(rx.len(), left);
    assert!(woken.iter().filter(|woken| woken.count() > 0).count() >= left, "a notification was lost");
    for receiving in &mut behind[..left] {
        assert!(settle(receiving).is_ready());
    }
}

/// A stale bell is lowered while a receiver joins whose value is taken by another one: the next value wakes it.
pub(crate) fn join_against_lowered_bell() {
    let (tx, rx) = bounded(2);
    let mut gone = rx.recv();
    assert!(poll(&mut gone).is_pending());
    drop(gone);
    let other = rx.clone();
    let receiver = thread::spawn(move || other.recv_blocking().unwrap());
    tx.try_send(1).unwrap();
    let here = rx.try_recv();
    tx.try_send(2).unwrap();
    assert_eq!(receiver.join().unwrap(), if here == Ok(1) { 2 } else { 1 });
}

/// A stale bell is lowered while two receivers begin to wait and two values come, for which it does not ring: whoever
/// has lowered it makes up for both.
pub(crate) fn publish_against_lowered_bell() {
    let (tx, rx) = bounded(3);
    let mut gone = rx.recv();
    assert!(poll(&mut gone).is_pending());
    drop(gone);
    let receiver = thread::spawn(move || {
        let taken = rx.try_recv().is_ok();
        let waiting = [rx.clone(), rx].map(|rx| {
            let (woken, mut values) = (Woken::new(), rx.into_stream());
            let received = poll_with(&mut next(&mut values), &woken).is_ready();
            (received, woken, values)
        });
        (taken, waiting)
    });
    let other = tx.clone();
    let sender = thread::spawn(move || {
        other.try_send(2).unwrap();
        other.try_send(3).unwrap();
    });
    tx.try_send(1).unwrap();
    let (taken, waiting) = receiver.join().unwrap();
    sender.join().unwrap();
    let received = waiting.iter().filter(|(received, ..)| *received).count();
    let woken = waiting.iter().filter(|(received, woken, _)| !received && woken.count() > 0).count();
    let left = 3 - usize::from(taken) - received;
    assert!(woken >= left.min(2 - received), "values are there, and a receiver was not woken");
}

/// The stream's next value. It waits in the stream, not in this future.
fn next<T>(values: &mut IntoStream<T>) -> impl Future<Output = Option<T>> + Unpin {
    poll_fn(|cx| Pin::new(&mut *values).poll_next(cx))
}

/// A close meets a receiver that is about to wait; a value sent before it is not lost.
pub(crate) fn close_after_send() {
    buffered::close_after_send(bounded(1));
}

/// A close meets a sender that is about to wait, or waits.
pub(crate) fn close_against_waiting_sender() {
    let (tx, rx) = bounded(1);
    let values = Values::default();
    tx.try_send(values.make(1)).unwrap();
    let value = values.make(2);
    let sender = thread::spawn(move || tx.send_blocking(value).is_ok());
    rx.close();
    let mut received = 0;
    while rx.recv_blocking().is_ok() {
        received += 1;
    }
    let sent = sender.join().unwrap();
    assert_eq!(received, 1 + usize::from(sent));
    assert_eq!(values.alive(), 0);
}

/// The mover has claimed a sender when the channel closes: the value is sent, or comes back.
pub(crate) fn close_against_mover() {
    let (tx, rx) = bounded(1);
    let values = Values::default();
    tx.try_send(values.make(1)).unwrap();
    let mut sending = tx.send(values.make(2));
    assert!(poll(&mut sending).is_pending());
    let closer = tx.clone();
    let closing = thread::spawn(move || closer.close());
    let first = rx.try_recv().unwrap().number;
    assert!(closing.join().unwrap());
    let second = rx.try_recv().is_ok();
    match settle(&mut sending) {
        Poll::Ready(sent) => assert_eq!((first, sent.is_ok()), (1, second)),
        Poll::Pending => panic!("nobody waits in a closed channel"),
    }
    drop(sending);
    assert_eq!(values.alive(), 0);
}

/// A value is published while the last receiver goes: it is dropped, once.
pub(crate) fn publish_against_discard() {
    buffered::publish_against_discard(bounded(1));
}
