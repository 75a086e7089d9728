//! Order, direct hand-over and exact counts: C1–C4, C17, C18, and the small methods of the handles.

use std::collections::VecDeque;
use std::task::Poll;

use leno::channel::{RecvError, SendError, TryRecvError, TrySendError};
use leno::{bounded, rendezvous};

use crate::support::{Kind, PollExt, Tracker};
use crate::{contracts, limited_contracts};

/// C1, C2: values arrive in the order of sending, each once.
fn values_arrive_in_order(kind: Kind) {
    let (tx, rx) = kind.open();
    let (mut sent, mut expected) = (0, 0);
    // Fills and drains by different amounts, so that a ring wraps at every offset.
    for round in 0..200 {
        let burst = kind.room(1 + round % 7);
        for _ in 0..burst {
            if tx.try_send(sent).is_ok() {
                sent += 1;
            }
        }
        for _ in 0..(1 + round % 5) {
            if expected < sent {
                assert_eq!(rx.try_recv(), Ok(expected), "C2: oldest first");
                expected += 1;
            }
        }
        assert_eq!(rx.len(), sent - expected, "C17: len is exact");
    }
    assert_eq!(
        rx.try_iter().collect::<Vec<_>>(),
        (expected..sent).collect::<Vec<_>>(),
        "C2: the rest, in order"
    );
}

/// C1: each value is dropped exactly once, whether received or left in the channel.
fn every_value_is_dropped_once(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    for _ in 0..kind.room(20) {
        tx.try_send(tracker.value()).expect("there is room");
    }
    for id in 0..kind.room(20) / 2 {
        assert_eq!(rx.try_recv().expect("it is there"), id);
    }
    drop((tx, rx));
    tracker.assert_done();
}

/// C2: waiting receivers are served in the order in which they began to wait, however many they are.
fn waiting_receivers_are_served_in_order(kind: Kind) {
    for n in [1, 2, 5, 9, 40] {
        let (tx, rx) = kind.open();
        let mut waiting = (0..n).map(|_| rx.recv()).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().map(|r| r.must_wait("the channel is empty")).collect::<Vec<_>>();
        for value in 0..n {
            // On buffered kinds the value waits for its receiver, so that one is let run at once.
            tx.try_send(value).expect("C3, C17: a receiver waits, so there is room");
            assert!(wakers[value].was_woken(), "C2: receiver {value} of {n} is next");
            assert!(
                !wakers[value + 1..].iter().any(|w| w.was_woken()),
                "C2: later ones are not woken for it"
            );
            assert_eq!(waiting[value].must_be_ready("it was served"), Ok(value));
        }
    }
}

/// C2, C4: waiting senders are served in the order in which they began to wait.
fn waiting_senders_are_served_in_order(kind: Kind) {
    for n in [1, 2, 5, 9, 40] {
        let (tx, rx) = kind.open();
        let held = kind.fill(&tx, |i| i);
        let mut waiting = (held..held + n).map(|v| tx.send(v)).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().map(|s| s.must_wait("the channel is full")).collect::<Vec<_>>();
        for served in 0..n {
            assert_eq!(rx.try_recv(), Ok(served), "C2: oldest first");
            assert!(wakers[served].was_woken(), "C4: sender {served} of {n} is completed by this receive");
            assert!(!wakers[served + 1..].iter().any(|w| w.was_woken()), "C4: later senders still wait");
            assert_eq!(waiting[served].must_be_ready("its value was taken or moved in"), Ok(()));
        }
        assert_eq!(
            rx.try_iter().collect::<Vec<_>>(),
            (n..held + n).collect::<Vec<_>>(),
            "C2: the rest, in order"
        );
    }
}

/// C4: a receive moves the first waiting sender's value into the room at once, before that sender runs.
fn a_receive_completes_the_first_waiting_sender(kind: Kind) {
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |i| i);
    let mut first = tx.send(held);
    let mut second = tx.send(held + 1);
    first.must_wait("full");
    second.must_wait("full");
    assert_eq!(rx.try_recv(), Ok(0));
    assert_eq!(rx.len(), held, "C4: the room was filled again at once");
    assert_eq!(first.into_inner(), None, "C4: the first was sent although it has not run since");
    assert_eq!(second.into_inner(), Some(held + 1), "C10: the second still waited");
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), (1..held + usize::from(held > 0)).collect::<Vec<_>>());
}

/// C4: a `try_send`, or a new `send`, never overtakes a waiting sender.
fn nobody_overtakes_a_waiting_sender(kind: Kind) {
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |i| i);
    let mut waiting = tx.send(held);
    waiting.must_wait("full");
    assert_eq!(tx.try_send(99), Err(TrySendError::Full(99)), "C4: full");
    if held > 0 {
        assert_eq!(rx.try_recv(), Ok(0));
        assert_eq!(
            tx.try_send(99),
            Err(TrySendError::Full(99)),
            "C4: the room belonged to the waiting sender"
        );
    }
    let mut late = tx.send(held + 1);
    late.must_wait("still full");
    let first = usize::from(held > 0);
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), (first..held + 2).collect::<Vec<_>>(), "C2: in order");
    assert_eq!(waiting.must_be_ready("taken"), Ok(()));
    assert_eq!(late.must_be_ready("taken"), Ok(()));
}

/// C2, C14: what comes while receivers wait is handed to the first of them: nobody robs it, and a receiver that begins
/// later begins behind.
fn a_waiting_receiver_is_not_robbed(kind: Kind) {
    let (tx, rx) = kind.open();
    let (mut first, mut second) = (rx.recv(), rx.recv());
    let waker = first.must_wait("empty");
    let other = second.must_wait("empty");
    tx.try_send(0).expect("a receiver waits");
    assert!(waker.was_woken() && !other.was_woken(), "C14: the first in line is served");
    assert_eq!((rx.try_recv(), rx.len()), (Err(TryRecvError::Empty), 0), "C2: it is the first one's");
    let mut third = rx.recv();
    third.must_wait("nothing is there");
    tx.try_send(1).expect("a receiver waits");
    assert!(other.was_woken(), "C2: then the second, which has waited longer than the third");
    assert_eq!(second.must_be_ready("served"), Ok(1));
    assert_eq!(first.must_be_ready("served"), Ok(0));
    third.must_wait("nothing is left");
}

/// C17: `len`, `is_empty`, `is_full`, `capacity` are exact at every fill level, seen from both sides.
fn counts_are_exact(kind: Kind) {
    let (tx, rx) = kind.open();
    assert_eq!((tx.capacity(), rx.capacity()), (kind.capacity(), kind.capacity()));
    // Without a limit: some levels, none of which is full.
    let levels = kind.capacity().unwrap_or(300);
    let cap = kind.capacity().unwrap_or(usize::MAX);
    for level in 0..=levels {
        assert_eq!((tx.len(), rx.len()), (level, level), "C17: len");
        assert_eq!(
            (tx.is_empty(), rx.is_empty()),
            (level == 0, level == 0),
            "C17: is_empty at {level} of {cap}"
        );
        assert_eq!(
            (tx.is_full(), rx.is_full()),
            (level == cap, level == cap),
            "C17: is_full at {level} of {cap}"
        );
        let full = if level < cap { Ok(()) } else { Err(TrySendError::Full(level)) };
        assert_eq!(tx.try_send(level), full, "level {level} of {cap}");
    }
    let sent = rx.len();
    for level in (0..sent).rev() {
        assert_eq!(rx.try_recv(), Ok(sent - 1 - level));
        assert_eq!((tx.len(), rx.len()), (level, level), "C17: len while draining");
    }
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "C17: drained");
}

/// Handles are counted, compared and shown.
fn handles_are_counted_and_compared(kind: Kind) {
    let (tx, rx) = kind.open::<u8>();
    let (tx2, rx2, rx3) = (tx.clone(), rx.clone(), rx.clone());
    assert_eq!((tx.sender_count(), tx.receiver_count()), (2, 3));
    assert_eq!((rx.sender_count(), rx.receiver_count()), (2, 3));
    let (other_tx, other_rx) = kind.open::<u8>();
    assert!(tx.same_channel(&tx2) && rx.same_channel(&rx2), "clones are handles of one channel");
    assert!(!tx.same_channel(&other_tx) && !rx.same_channel(&other_rx), "two channels are two");
    drop((tx2, rx2, rx3));
    assert_eq!((tx.sender_count(), tx.receiver_count()), (1, 1));
    assert!(format!("{tx:?}").contains("Sender"), "Debug names the type, got {tx:?}");
    assert!(format!("{rx:?}").contains("Receiver"), "Debug names the type, got {rx:?}");
}

/// C19: clones of one side feed and drain the same queue.
fn clones_share_the_queue(kind: Kind) {
    let (tx, rx) = kind.open();
    let (tx2, rx2) = (tx.clone(), rx.clone());
    let mut waiting = rx2.recv();
    waiting.must_wait("empty");
    tx.try_send(1).expect("a receiver waits");
    assert_eq!(waiting.must_be_ready("sent through the other clone"), Ok(1));
    let mut sending = tx2.send(2);
    if kind.is_buffered() {
        assert_eq!(sending.must_be_ready("there is room"), Ok(()));
    } else {
        sending.must_wait("nobody receives");
    }
    assert_eq!(rx.try_recv(), Ok(2));
}

/// C3: `try_send` succeeds only if a receiver is waiting, and hands the value to it at that moment.
#[test]
fn rendezvous_try_send_needs_a_waiting_receiver() {
    let (tx, rx) = rendezvous();
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)), "C3: nobody waits");
    let mut receiving = rx.recv();
    assert_eq!(
        tx.try_send(2),
        Err(TrySendError::Full(2)),
        "C3: a receive that was never polled does not wait"
    );
    let waker = receiving.must_wait("nobody sends");
    assert_eq!(tx.try_send(3), Ok(()), "C3: now one waits");
    assert!(waker.was_woken());
    assert_eq!(tx.try_send(4), Err(TrySendError::Full(4)), "C3: it has its value and waits no more");
    assert_eq!(receiving.must_be_ready("handed 3"), Ok(3));
    assert_eq!(tx.try_send(5), Err(TrySendError::Full(5)));
}

/// C3: `try_recv` takes from a waiting sender and completes it.
#[test]
fn rendezvous_try_recv_completes_a_waiting_sender() {
    let (tx, rx) = rendezvous();
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "C3: nobody sends");
    let mut sending = tx.send(1);
    assert_eq!(rx.try_recv(), Err(TryRecvError::Empty), "C3: a send that was never polled does not wait");
    let waker = sending.must_wait("nobody receives");
    assert_eq!(rx.len(), 0, "a value that waits with its sender is not in the channel");
    assert_eq!(rx.try_recv(), Ok(1));
    assert!(waker.was_woken(), "C3: the sender is told");
    assert_eq!(sending.must_be_ready("taken"), Ok(()));
}

/// C3: a send that meets a waiting receiver, and a receive that meets a waiting sender, are ready at once.
#[test]
fn rendezvous_meets_in_either_order() {
    let (tx, rx) = rendezvous();
    let mut receiving = rx.recv();
    receiving.must_wait("nobody sends");
    assert_eq!(tx.send(1).must_be_ready("a receiver waits"), Ok(()));
    assert_eq!(receiving.must_be_ready("handed 1"), Ok(1));
    let mut sending = tx.send(2);
    sending.must_wait("nobody receives");
    assert_eq!(rx.recv().must_be_ready("a sender waits"), Ok(2));
    assert_eq!(sending.must_be_ready("taken"), Ok(()));
}

/// `bounded(0)` is a rendezvous.
#[test]
fn bounded_zero_is_a_rendezvous() {
    let (tx, rx) = bounded(0);
    assert_eq!(tx.capacity(), Some(0));
    assert_eq!(tx.try_send(1), Err(TrySendError::Full(1)), "C3: nobody waits");
    let mut receiving = rx.recv();
    receiving.must_wait("nobody sends");
    assert_eq!(tx.try_send(2), Ok(()), "C3");
    assert_eq!(receiving.must_be_ready("handed 2"), Ok(2));
}

/// C2: many waiters of both kinds come and go; the queue stays in order through every growth and shrinking.
fn a_long_queue_keeps_its_order(kind: Kind) {
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |i| i);
    let mut next = held;
    let mut expected = 0;
    let mut waiting = VecDeque::new();
    for step in 0..400 {
        // Grows to about a hundred, then shrinks to nothing, twice.
        if (step / 100) % 2 == 0 {
            let mut sending = tx.send(next);
            sending.must_wait("full");
            waiting.push_back(sending);
            next += 1;
        } else {
            assert_eq!(rx.try_recv(), Ok(expected), "C2: step {step}");
            expected += 1;
            let mut sending = waiting.pop_front().expect("as many receives as sends");
            assert_eq!(sending.must_be_ready("C4: completed by the receive"), Ok(()));
        }
    }
    assert!(waiting.is_empty());
    assert_eq!(rx.len(), held);
}

/// The errors convert, answer and give the value back.
#[test]
fn errors_return_what_they_were_given() {
    let (tx, rx) = bounded(1);
    tx.try_send(String::from("a")).expect("there is room");
    let full = tx.try_send(String::from("b")).expect_err("full");
    assert!(full.is_full() && !full.is_closed());
    assert_eq!(full.into_inner(), "b");
    assert!(rx.close());
    let closed = tx.try_send(String::from("c")).expect_err("closed");
    assert!(closed.is_closed() && !closed.is_full());
    assert_eq!(closed.into_inner(), "c");
    let failed = tx.send(String::from("d")).must_be_ready("closed").expect_err("closed");
    assert_eq!(failed, SendError(String::from("d")));
    assert_eq!(TrySendError::from(failed), TrySendError::Closed(String::from("d")));
    assert_eq!(rx.try_recv().as_deref(), Ok("a"));
    let drained = rx.try_recv().expect_err("drained");
    assert!(drained.is_closed() && !drained.is_empty());
    assert_eq!(TryRecvError::from(RecvError), TryRecvError::Closed);
    assert!(TryRecvError::Empty.is_empty());
    // Debug, Display and Error need nothing of T.
    struct Opaque;
    let error: Box<dyn std::error::Error> = Box::new(SendError(Opaque));
    assert!(!error.to_string().is_empty() && !format!("{error:?}").is_empty());
}

/// A completed operation is fused: it says so.
fn completed_futures_say_so(kind: Kind) {
    use futures_core::future::FusedFuture;
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    assert!(!receiving.is_terminated(), "not polled yet");
    receiving.must_wait("empty");
    assert!(!receiving.is_terminated(), "waiting");
    let mut sending = tx.send(1);
    assert_eq!(sending.must_be_ready("a receiver waits, so there is room"), Ok(()));
    assert!(sending.is_terminated(), "completed");
    assert_eq!(sending.into_inner(), None, "sent");
    assert_eq!(receiving.poll_with(std::task::Waker::noop()), Poll::Ready(Ok(1)));
    assert!(receiving.is_terminated(), "completed");
}

contracts!(
    values_arrive_in_order,
    every_value_is_dropped_once,
    waiting_receivers_are_served_in_order,
    a_waiting_receiver_is_not_robbed,
    counts_are_exact,
    handles_are_counted_and_compared,
    clones_share_the_queue,
    completed_futures_say_so,
);

limited_contracts!(
    waiting_senders_are_served_in_order,
    a_receive_completes_the_first_waiting_sender,
    nobody_overtakes_a_waiting_sender,
    a_long_queue_keeps_its_order,
);
