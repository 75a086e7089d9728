//! Bounded channels: publishers and receivers, room and senders, refilling, the end.

use std::future::Future;
use std::task::Poll;

use leno::bounded;
use leno::channel::{Builder, Overflow, RecvError};

use super::buffered;
use super::harness::thread;
use super::support::{Values, Woken, poll, poll_with, settle};

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
pub(crate) fn handed_and_dropped() {
    buffered::handed_and_dropped(bounded(1));
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

/// Two receivers make room at once, for two senders that wait: both values are moved.
pub(crate) fn two_refills() {
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

/// Three wait at a ring. While `first` and then, when the others are through, `second` take one out, the second one leaves, its
/// node waits elsewhere, and the third one is polled with so many other wakers: then the word is back. Gives the first and the third.
fn comes_again<F: Future + Unpin + Send + 'static>(
    mut waiting: [F; 3],
    wakers: usize,
    first: impl FnOnce(),
    second: impl FnOnce(),
) -> [F; 2] {
    let (_elsewhere, elsewhere) = bounded::<u8>(1);
    for waiting in &mut waiting {
        assert!(poll(waiting).is_pending());
    }
    let [served, leaving, mut staying] = waiting;
    let others = thread::spawn(move || {
        drop(leaving);
        let mut receiving = elsewhere.into_recv();
        assert!(poll(&mut receiving).is_pending());
        for _ in 0..wakers {
            assert!(poll_with(&mut staying, &Woken::new()).is_pending());
        }
        (staying, receiving)
    });
    first();
    let (staying, mut receiving) = others.join().unwrap();
    second();
    assert!(poll(&mut receiving).is_pending(), "nobody has sent there");
    [served, staying]
}

/// A receiver has seen who comes next, and is suspended before its exchange; that one leaves, its node waits elsewhere, and another
/// step brings the word back.
pub(crate) fn a_word_that_comes_again() {
    leno::model::narrow_rings(true);
    leno::model::recycle_nodes(true);
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let sending = [2, 3, 4].map(|value| tx.clone().into_send(value));
    let first = || assert_eq!(rx.try_recv(), Ok(1));
    let second = || assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(2), Ok(4)));
    for mut sending in comes_again(sending, 1, first, second) {
        assert_eq!(poll(&mut sending), Poll::Ready(Ok(())));
    }
    rx.assert_valid();
    leno::model::narrow_rings(false);
}

/// A send that waits behind another one parks anew, and is suspended before its exchange; both are received, and the word comes again:
/// it has another waker then, or is through.
pub(crate) fn a_word_that_comes_again_while_one_parks_anew() {
    leno::model::narrow_rings(true);
    leno::model::recycle_nodes(true);
    let (tx, rx) = bounded(1);
    tx.try_send(1).unwrap();
    let (mut first, mut moving) = (tx.clone().into_send(2), tx.clone().into_send(3));
    assert!(poll(&mut first).is_pending() && poll(&mut moving).is_pending());
    assert!(poll_with(&mut moving, &Woken::new()).is_pending());
    let other = thread::spawn(move || {
        let woken = Woken::new();
        let polled = poll_with(&mut moving, &woken);
        (polled, woken, moving)
    });
    assert_eq!((rx.try_recv(), rx.try_recv()), (Ok(1), Ok(2)));
    assert_eq!(poll(&mut first), Poll::Ready(Ok(())));
    let (mut fourth, mut fifth) = (tx.clone().into_send(4), tx.clone().into_send(5));
    assert!(poll(&mut fourth).is_pending() && poll(&mut fifth).is_pending());
    let (polled, woken, moving) = other.join().unwrap();
    assert!(polled.is_ready() || woken.count() > 0, "C12: it is through, and its last waker was not woken");
    drop((moving, fourth, fifth));
    leno::model::narrow_rings(false);
}

/// The same of receivers, in a ring whose senders never wait.
pub(crate) fn a_word_of_receivers_that_comes_again() {
    leno::model::narrow_rings(true);
    leno::model::recycle_nodes(true);
    let (tx, rx) = Builder::new().capacity(1).overflow(Overflow::DropOldest).build();
    let receiving = [(); 3].map(|()| rx.clone().into_recv());
    let send = |value| tx.try_send(value).unwrap();
    let [mut served, mut staying] = comes_again(receiving, 3, || send(1), || send(2));
    assert_eq!(poll(&mut served), Poll::Ready(Ok(1)));
    assert_eq!(poll(&mut staying), Poll::Ready(Ok(2)));
    rx.assert_valid();
    leno::model::narrow_rings(false);
}

/// Two values come, one after the other, and the first of two receivers looks in between: the second has the other one.
pub(crate) fn handed_to_two() {
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
    assert_ne!(woken.count(), 0, "it has a value, and was not woken");
    assert!(matches!(settle(&mut second), Poll::Ready(Ok(1 | 2))));
    rx.assert_valid();
}

/// Two values come, and the first of three receivers looks in between, and leaves: the others get what it has left.
pub(crate) fn handed_to_two_of_three() {
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
    assert!(
        woken.iter().filter(|woken| woken.count() > 0).count() >= left,
        "one has a value, and was not woken"
    );
    for receiving in &mut behind[..left] {
        assert!(settle(receiving).is_ready());
    }
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

/// A receiver moves the value of a waiting sender when the channel closes: it is sent, or comes back.
pub(crate) fn close_against_refill() {
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
