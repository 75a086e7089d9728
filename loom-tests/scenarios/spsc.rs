//! Channels with one sender and one receiver: publishing against waiting, on both sides; the end against each; operations
//! that are broken off; selects; blocks.

use std::collections::VecDeque;
use std::future::poll_fn;
use std::mem::replace;
use std::sync::Arc;
use std::task::Poll;

use leno::channel::spsc::{Receiver, Sender, bounded, unbounded};
use leno::channel::{RecvError, TryRecvError, TrySendError};
use leno::select::{Selected2, select_biased as select};

use super::harness::thread;
use super::support::{Value, Values, Woken, poll, poll_with, settle};

type Ends<T> = (Sender<T>, Receiver<T>);

/// Two values, to a receiver that may wait for each.
fn two_values((mut tx, mut rx): Ends<Value>) {
    let values = Values::default();
    let sent = [values.make(1), values.make(2)];
    let sender = thread::spawn(move || {
        for value in sent {
            tx.send_blocking(value).unwrap();
        }
        tx
    });
    assert_eq!(rx.recv_blocking().unwrap().number, 1);
    assert_eq!(rx.recv_blocking().unwrap().number, 2);
    let tx = sender.join().unwrap();
    tx.assert_valid();
    assert!(tx.is_empty());
    assert_eq!(values.alive(), 0);
}

/// A receive is dropped while it is told of the end: there is nothing.
pub(crate) fn dropped_receive_against_close() {
    let (tx, mut rx) = bounded::<Value>(2);
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let closing = thread::spawn(move || {
        tx.close();
        tx
    });
    drop(receiving);
    let tx = closing.join().unwrap();
    assert_eq!((tx.len(), rx.len()), (0, 0));
    rx.assert_valid();
}

/// A value is published while a receive comes to wait, and is dropped: it is the only one.
pub(crate) fn dropped_receive_is_not_counted() {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(2);
    let sent = values.make(1);
    let sending = thread::spawn(move || {
        tx.try_send(sent).unwrap();
        tx
    });
    let mut receiving = rx.recv();
    let received = poll(&mut receiving);
    drop(receiving);
    let tx = sending.join().unwrap();
    assert_eq!((tx.len(), tx.is_full()), (usize::from(received.is_pending()), false));
    drop((tx, rx, received));
    assert_eq!(values.alive(), 0);
}

/// A value is published while a receiver comes to wait; then a second one, for which there is no room yet.
pub(crate) fn publish_against_park_of_one() {
    two_values(bounded(1));
}

/// The same where there is room for both.
pub(crate) fn publish_against_park_of_two() {
    two_values(bounded(2));
}

/// The same over blocks.
pub(crate) fn publish_against_park_unbounded() {
    two_values(unbounded());
}

/// A receive makes room while the sender comes to wait for it, `capacity` being full.
fn room_against_park(capacity: usize) {
    let (mut tx, mut rx) = bounded(capacity);
    (0..capacity).for_each(|number| tx.try_send(number).unwrap());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.recv_blocking(), Ok(0));
        rx
    });
    tx.send_blocking(capacity).unwrap();
    let mut rx = receiver.join().unwrap();
    rx.assert_valid();
    (1..=capacity).for_each(|number| assert_eq!(rx.try_recv(), Ok(number)));
}

pub(crate) fn room_against_park_of_one() {
    room_against_park(1);
}

pub(crate) fn room_against_park_of_two() {
    room_against_park(2);
}

/// Three values through one place: both sides wait in turn, and the slots are used again.
pub(crate) fn three_values_through_one_place() {
    let (mut tx, mut rx) = bounded(1);
    let sender = thread::spawn(move || (1..=3).for_each(|number| tx.send_blocking(number).unwrap()));
    (1..=3).for_each(|number| assert_eq!(rx.recv_blocking(), Ok(number)));
    sender.join().unwrap();
    assert_eq!(rx.recv_blocking(), Err(RecvError));
}

/// A receive that waits is dropped while a value comes: that is received all the same, before the next one.
pub(crate) fn dropped_receive_against_publish() {
    let (mut tx, mut rx) = bounded(2);
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let sender = thread::spawn(move || (1..=2).for_each(|number| tx.try_send(number).unwrap()));
    drop(receiving);
    assert_eq!((rx.recv_blocking(), rx.recv_blocking()), (Ok(1), Ok(2)));
    sender.join().unwrap();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
}

/// A send that waits is dropped while a receive makes room, and another one is sent at once: the slots of the two are not
/// taken for one.
pub(crate) fn dropped_send_against_room() {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(values.make(1)).unwrap();
    let mut sending = tx.send(values.make(2));
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv().unwrap().number, 1);
        rx
    });
    drop(sending);
    let third = tx.try_send(values.make(3)).is_ok();
    let mut rx = receiver.join().unwrap();
    rx.assert_valid();
    let left = rx.try_iter().map(|value| value.number).collect::<Vec<_>>();
    assert!(left.len() <= 1, "it holds one");
    assert!(
        !third || left == [3],
        "what was sent is there, and what had been let in before was in its way: {left:?}"
    );
    assert_eq!(values.alive(), 0);
}

/// The same with a receiver that takes two, so that the third finds room behind the second.
pub(crate) fn dropped_send_against_two_receives() {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(values.make(1)).unwrap();
    let mut sending = tx.send(values.make(2));
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || {
        let mut seen = vec![rx.try_recv().unwrap().number];
        seen.extend(rx.try_recv().map(|value| value.number));
        (rx, seen)
    });
    drop(sending);
    let third = tx.try_send(values.make(3)).is_ok();
    let (mut rx, mut seen) = receiver.join().unwrap();
    seen.extend(rx.try_iter().map(|value| value.number));
    assert!(seen.is_sorted() && seen[0] == 1, "in order, and once each: {seen:?}");
    assert_eq!(seen.contains(&3), third);
    assert_eq!(values.alive(), 0);
}

/// The same with one receive, and a batch: it has no room where the second was put, if it has looked at the tail before.
pub(crate) fn dropped_send_and_a_batch_against_room() {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(values.make(1)).unwrap();
    let [second, third] = [2, 3].map(|number| values.make(number));
    let mut sender = Box::pin(async move {
        given_up(&mut tx, second).await;
        let mut batch = VecDeque::from([third]);
        let is_sent = tx.try_send_many(&mut batch).is_ok();
        assert_eq!(batch.len(), usize::from(!is_sent));
        (tx, is_sent)
    });
    assert!(poll(&mut sender).is_pending());
    // (In this order, as the bound on preemptions is for what follows.)
    let sender = thread::spawn(move || poll(&mut sender));
    assert_eq!(rx.try_recv().unwrap().number, 1);
    let Poll::Ready((_tx, is_sent)) = sender.join().unwrap() else { panic!("a batch that is tried waits") };
    let left = rx.try_iter().map(|value| value.number).collect::<Vec<_>>();
    assert!(left.len() <= 1 && left.contains(&3) == is_sent, "it holds one: {left:?}");
    assert_eq!(values.alive(), 0);
}

/// A send that waits; when this is polled again it is dropped.
async fn given_up<T>(tx: &mut Sender<T>, value: T) {
    let mut sending = tx.send(value);
    assert!(poll(&mut sending).is_pending());
    let mut goes_on = false;
    poll_fn(|_| if replace(&mut goes_on, true) { Poll::Ready(()) } else { Poll::Pending }).await;
}

/// The same with a send that comes to wait at once: it does not sleep where the receiver has left nothing.
pub(crate) fn dropped_send_and_another_against_two_receives() {
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(1).unwrap();
    let mut sender = Box::pin(async move {
        given_up(&mut tx, 2).await;
        tx.send(3).await
    });
    assert!(poll(&mut sender).is_pending());
    // (In this order, as above.)
    let sender = thread::spawn(move || {
        let _early = poll(&mut sender);
        sender
    });
    let _two = (rx.try_recv(), rx.try_recv());
    let _sender = sender.join().unwrap();
    rx.assert_valid();
}

/// `into_inner` of a send that waits against a receive: the value is in one place.
pub(crate) fn kept_send_against_room() {
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(1).unwrap();
    let mut sending = tx.send(2);
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(1));
        rx
    });
    let kept = sending.into_inner();
    let mut rx = receiver.join().unwrap();
    assert_eq!(rx.try_recv().ok().xor(kept), Some(2));
    assert!(tx.try_send(3).is_ok());
}

/// C8: who sees the channel closed finds that the receiver was told.
pub(crate) fn seen_closed_is_complete() {
    let (tx, mut rx) = bounded::<u8>(1);
    let tx = Arc::new(tx);
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let other = Arc::clone(&tx);
    let closing = thread::spawn(move || assert!(other.close()));
    if tx.is_closed() {
        assert_eq!(settle(&mut receiving), Poll::Ready(Err(RecvError)), "C8");
    }
    closing.join().unwrap();
}

/// The receiver goes while a value is sent: it is dropped once, or comes back.
pub(crate) fn receiver_goes_against_publish() {
    let values = Values::default();
    let (mut tx, rx) = bounded(2);
    tx.try_send(values.make(1)).unwrap();
    let receiver = thread::spawn(move || drop(rx));
    let sent = tx.try_send(values.make(2));
    receiver.join().unwrap();
    assert!(!matches!(sent, Err(TrySendError::Full(_))));
    assert!(tx.is_closed());
    drop(sent);
    assert_eq!(values.alive(), 0, "what the receiver has left is dropped with it");
    drop(tx);
}

/// The receiver goes while a sender comes to wait: it is told, and its value comes back.
pub(crate) fn receiver_goes_against_park() {
    let values = Values::default();
    let (mut tx, rx) = bounded(1);
    tx.try_send(values.make(1)).unwrap();
    let receiver = thread::spawn(move || drop(rx));
    assert_eq!(tx.send_blocking(values.make(2)).unwrap_err().0.number, 2);
    receiver.join().unwrap();
    assert_eq!(values.alive(), 0);
}

/// The sender sends and goes while the receiver waits: it gets the value, then the end.
pub(crate) fn sender_goes_against_park() {
    let (mut tx, mut rx) = bounded(1);
    let sender = thread::spawn(move || tx.try_send(1).unwrap());
    assert_eq!(rx.recv_blocking(), Ok(1));
    assert_eq!(rx.recv_blocking(), Err(RecvError));
    sender.join().unwrap();
}

/// A receiver closes and finds the end while a value is published: it is received before the end, or comes back.
pub(crate) fn close_against_publish() {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(1);
    let value = values.make(1);
    let sender = thread::spawn(move || (tx.try_send(value), tx));
    rx.close();
    let received = rx.recv_blocking();
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Closed);
    let (sent, tx) = sender.join().unwrap();
    assert_eq!(sent.is_ok(), received.is_ok(), "it is in one place");
    assert_eq!(tx.len(), 0);
}

/// Both sides go at once, with a value in the channel.
pub(crate) fn both_go() {
    let values = Values::default();
    let (mut tx, rx) = bounded(2);
    tx.try_send(values.make(1)).unwrap();
    let receiver = thread::spawn(move || drop(rx));
    drop(tx);
    receiver.join().unwrap();
    assert_eq!(values.alive(), 0);
}

/// The sender discards what is in the channel while the receiver takes it: each value goes to one of the two.
fn discard_against_receives((mut tx, mut rx): Ends<Value>, count: usize) {
    let values = Values::default();
    (0..count).for_each(|number| tx.try_send(values.make(number)).unwrap());
    let receiver = thread::spawn(move || {
        let mut received = 0;
        while let Ok(value) = rx.try_recv() {
            assert_eq!(value.number, received);
            received += 1;
        }
        rx
    });
    tx.close_now();
    let mut rx = receiver.join().unwrap();
    assert_eq!(values.alive(), 0);
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Closed);
}

pub(crate) fn discard_against_receives_of_a_ring() {
    discard_against_receives(bounded(2), 2);
}

/// Over the boundary of two blocks.
pub(crate) fn discard_against_receives_of_blocks() {
    discard_against_receives(unbounded(), 4);
}

/// The sender discards what is in a full channel while the receiver lets the value of a send in that was dropped.
fn discard_against_letting_in(capacity: usize) {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(capacity);
    (0..capacity).for_each(|number| tx.try_send(values.make(number)).unwrap());
    let mut sending = tx.send(values.make(capacity));
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || {
        drop(rx.try_recv());
        rx
    });
    drop(sending);
    tx.close_now();
    let mut rx = receiver.join().unwrap();
    // (Of a send that was left in its hands it has the value until it is through.)
    assert_eq!(values.alive(), 0);
    assert_eq!(rx.try_recv().unwrap_err(), TryRecvError::Closed);
}

pub(crate) fn discard_against_letting_into_a_ring() {
    discard_against_letting_in(1);
}

/// Nothing was received before: the front is at no block yet.
pub(crate) fn discard_against_letting_into_blocks() {
    discard_against_letting_in(4);
}

/// Blocks fill, and are left, while the other side goes over the same boundary; they are used again.
fn blocks(recycle: bool) {
    leno::model::recycle_nodes(recycle);
    let (mut tx, mut rx) = unbounded();
    (0..3).for_each(|number| tx.try_send(number).unwrap());
    // The second block is left by the fifth value; the first one, by the third.
    (0..3).for_each(|number| assert_eq!(rx.try_recv(), Ok(number)));
    let sender = thread::spawn(move || (3..6).for_each(|number| tx.try_send(number).unwrap()));
    (3..6).for_each(|number| assert_eq!(rx.recv_blocking(), Ok(number)));
    sender.join().unwrap();
    leno::model::recycle_nodes(false);
}

pub(crate) fn blocks_are_left() {
    blocks(false);
}

pub(crate) fn blocks_are_used_again() {
    blocks(true);
}

/// A select waits for two channels while a value is published in each: both arrive, and none twice.
pub(crate) fn select_against_publish() {
    let (mut a, mut a_rx) = bounded(1);
    let (mut b, mut b_rx) = bounded(1);
    let sender = thread::spawn(move || {
        a.try_send(1).unwrap();
        b.try_send(2).unwrap();
        (a, b)
    });
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    let early = poll(&mut selecting);
    let (a, b) = sender.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    drop(selecting);
    let rest = match outcome {
        Poll::Ready(Selected2::First(value)) => {
            assert_eq!(value, Ok(1));
            b_rx.try_recv() == Ok(2) && a_rx.try_recv().is_err()
        }
        Poll::Ready(Selected2::Second(value)) => {
            assert_eq!(value, Ok(2));
            a_rx.try_recv() == Ok(1) && b_rx.try_recv().is_err()
        }
        Poll::Pending => panic!("a select sleeps beside a value"),
    };
    assert!(rest, "the other value is in its channel, and the chosen one is not");
    a.assert_valid();
    b.assert_valid();
}

/// A select sends against a receiver that comes to wait, and a value in another branch's channel: it has sent only if that branch
/// is the one that has happened.
pub(crate) fn select_of_a_send_against_park() {
    let (mut tx, rx) = bounded(2);
    let (other, others) = leno::bounded(1);
    let receiver = thread::spawn(move || {
        let mut receiving = rx.into_recv();
        let early = poll(&mut receiving);
        other.try_send(7).unwrap();
        (receiving, early)
    });
    // (Not a biased one, which would come back to the first branch while a value is on its way there.)
    let mut selecting = leno::select::select((others.recv(), tx.send(1)));
    let outcome = poll(&mut selecting);
    drop(selecting);
    let (mut receiving, early) = receiver.join().unwrap();
    let received = if early.is_pending() { poll(&mut receiving) } else { early };
    match outcome {
        Poll::Ready(Selected2::First(value)) => {
            assert_eq!(value, Ok(7));
            assert!(received.is_pending() && tx.is_empty(), "both branches have happened");
        }
        Poll::Ready(Selected2::Second(sent)) => {
            assert_eq!(sent, Ok(()));
            assert_eq!(received, Poll::Ready(Ok(1)));
        }
        Poll::Pending => panic!("there was room"),
    }
}

/// The same with a receive, which makes room, against a sender that comes to wait for that.
pub(crate) fn select_of_a_receive_against_park() {
    let (mut tx, mut rx) = bounded(2);
    let (other, others) = leno::bounded(1);
    tx.try_send(1).unwrap();
    tx.try_send(2).unwrap();
    let sender = thread::spawn(move || {
        let mut sending = tx.into_send(3);
        let _early = poll(&mut sending);
        other.try_send(7).unwrap();
        sending
    });
    let mut selecting = leno::select::select((others.recv(), rx.recv()));
    assert!(poll(&mut selecting).is_ready(), "there is a value");
    drop(selecting);
    let _sending = sender.join().unwrap();
    rx.assert_valid();
}

/// A select that waits is dropped while a value is published: that is received by the next.
pub(crate) fn dropped_select_against_publish() {
    let (mut a, mut a_rx) = bounded(1);
    let (_b, mut b_rx) = bounded::<usize>(1);
    let mut selecting = select((a_rx.recv(), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let sender = thread::spawn(move || {
        a.try_send(1).unwrap();
        a
    });
    drop(selecting);
    assert_eq!(a_rx.recv_blocking(), Ok(1));
    let a = sender.join().unwrap();
    a.assert_valid();
}

/// A select waits to send into two full channels while a receiver comes to each: one of its sends happens.
pub(crate) fn select_against_room() {
    let (mut a, mut a_rx) = bounded(1);
    let (mut b, mut b_rx) = bounded(1);
    a.try_send(1).unwrap();
    b.try_send(2).unwrap();
    let mut selecting = select((a.send(3), b.send(4)));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(a_rx.try_recv(), Ok(1));
        assert_eq!(b_rx.try_recv(), Ok(2));
        (a_rx, b_rx)
    });
    let early = poll(&mut selecting);
    let (mut a_rx, mut b_rx) = receiver.join().unwrap();
    let outcome = if early.is_pending() { settle(&mut selecting) } else { early };
    drop(selecting);
    match outcome {
        Poll::Ready(Selected2::First(Ok(()))) => {
            assert_eq!((a_rx.try_recv(), b_rx.try_recv()), (Ok(3), Err(TryRecvError::Empty)));
        }
        Poll::Ready(Selected2::Second(Ok(()))) => {
            assert_eq!((a_rx.try_recv(), b_rx.try_recv()), (Err(TryRecvError::Empty), Ok(4)));
        }
        outcome => panic!("{outcome:?}"),
    }
    a.assert_valid();
    b.assert_valid();
}

/// A select that waits to send is dropped while a receive lets it in, and its sender sends again.
pub(crate) fn dropped_select_against_room() {
    let values = Values::default();
    let (mut a, mut a_rx) = bounded(1);
    let (_b, mut b_rx) = bounded::<usize>(1);
    a.try_send(values.make(1)).unwrap();
    let mut selecting = select((a.send(values.make(2)), b_rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(a_rx.try_recv().unwrap().number, 1);
        a_rx
    });
    drop(selecting);
    let third = a.try_send(values.make(3)).is_ok();
    let mut a_rx = receiver.join().unwrap();
    a.assert_valid();
    let left = a_rx.try_iter().map(|value| value.number).collect::<Vec<_>>();
    assert!(left.len() <= 1 && third == (left == [3]), "{left:?}");
    assert_eq!(values.alive(), 0);
}

/// An operation that waits is polled by another task while the other side comes: that task is woken, or sees it.
pub(crate) fn other_waker_against_publish() {
    let (mut tx, mut rx) = bounded(1);
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let sender = thread::spawn(move || tx.try_send(1).unwrap());
    let second = Woken::new();
    let early = poll_with(&mut receiving, &second);
    sender.join().unwrap();
    match early {
        Poll::Ready(received) => assert_eq!(received, Ok(1)),
        Poll::Pending => {
            assert_ne!(second.count(), 0, "the last waker counts");
            assert_eq!(settle(&mut receiving), Poll::Ready(Ok(1)));
        }
    }
}

/// The same of a send.
pub(crate) fn other_waker_against_room() {
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(1).unwrap();
    let mut sending = tx.send(2);
    assert!(poll(&mut sending).is_pending());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.try_recv(), Ok(1));
        rx
    });
    let second = Woken::new();
    let early = poll_with(&mut sending, &second);
    let mut rx = receiver.join().unwrap();
    if early.is_pending() {
        assert_ne!(second.count(), 0, "the last waker counts");
        assert_eq!(settle(&mut sending), Poll::Ready(Ok(())));
    }
    assert_eq!(rx.try_recv(), Ok(2));
}

/// A handle whose borrow by a future has ended, though that was not dropped: as by `mem::forget`. (It is dropped in the end
/// of the scenario, when nothing else runs on its side: a model has to leave nothing behind.)
fn forgetful<'a, H>(handle: &mut H) -> &'a mut H {
    // SAFETY: the future is never polled again while the handle is used.
    unsafe { &mut *std::ptr::from_mut(handle) }
}

/// A send that waits was forgotten; the sender sends again while a receive lets the first one in.
pub(crate) fn forgotten_send_against_room() {
    let values = Values::default();
    let (mut tx, mut rx) = bounded(1);
    tx.try_send(values.make(1)).unwrap();
    let mut forgotten = forgetful(&mut tx).send(values.make(2));
    assert!(poll(&mut forgotten).is_pending());
    let receiver = thread::spawn(move || {
        let first = rx.try_recv().unwrap().number;
        (rx, vec![first])
    });
    let third = tx.try_send(values.make(3)).is_ok();
    let (mut rx, mut seen) = receiver.join().unwrap();
    rx.assert_valid();
    seen.extend(rx.try_iter().map(|value| value.number));
    assert!(seen.is_sorted() && seen[0] == 1, "in order, and once each: {seen:?}");
    assert_eq!(seen.contains(&3), third);
    drop(forgotten);
    assert_eq!(values.alive(), 0);
}

/// A receive that waits was forgotten; the receiver receives again while a value is published for the first one.
pub(crate) fn forgotten_receive_against_publish() {
    let (mut tx, mut rx) = bounded(2);
    let mut forgotten = forgetful(&mut rx).recv();
    assert!(poll(&mut forgotten).is_pending());
    let sender = thread::spawn(move || (1..=2).for_each(|number| tx.try_send(number).unwrap()));
    let mut seen = Vec::new();
    seen.extend(rx.recv_blocking());
    sender.join().unwrap();
    seen.extend(rx.try_iter());
    assert!(seen == [1, 2] || seen == [2], "no more than one is stranded: {seen:?}");
    drop(forgotten);
    assert_eq!(seen.len() + rx.try_iter().count(), 2);
}
