//! Dropping futures in every state they can be in: C9–C11, C14, and the values handed to futures that went.
//!
//! `script` covers the short histories exhaustively; here the important ones have names, and longer queues.

use std::sync::Arc;

use leno::channel::TryRecvError;
use leno::rendezvous;

use crate::support::{CountingWaker, Kind, PollExt, Tracker, spin_until};
use crate::{contracts, limited_contracts};

/// C9, C10: futures that were never polled did nothing; a send drops its value once, or gives it back.
fn never_polled_futures_did_nothing(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    drop(rx.recv());
    drop(tx.send(tracker.value()));
    assert_eq!(tracker.drops(0), 1, "C10: dropped once, with its future");
    assert_eq!(tx.send(tracker.value()).into_inner().expect("C10: never sent"), 1);
    assert_eq!(rx.len(), 0);
    assert!(rx.try_recv().is_err_and(|e| e.is_empty()), "nothing was sent");
    drop((tx, rx));
    tracker.assert_done();
}

/// C9: receivers that waited first, in the middle and last in the queue go; the others are served in order.
fn receivers_leave_from_anywhere(kind: Kind) {
    for n in [1, 2, 3, 8, 9, 20] {
        for gone in 0..n {
            let (tx, rx) = kind.open();
            let mut waiting = (0..n).map(|_| Some(rx.recv())).collect::<Vec<_>>();
            let wakers =
                waiting.iter_mut().flatten().map(|r| r.must_wait("the channel is empty")).collect::<Vec<_>>();
            waiting[gone] = None;
            assert_eq!(Arc::strong_count(&wakers[gone]), 1, "a dropped receive keeps no waker");
            for (i, receiving) in waiting.iter_mut().enumerate() {
                let Some(receiving) = receiving else { continue };
                tx.try_send(i).expect("C3, C17: a receiver waits");
                assert!(wakers[i].was_woken(), "C2: {i} is next after {gone} of {n} went");
                assert_eq!(receiving.must_be_ready("served"), Ok(i));
            }
            assert!(!wakers[gone].was_woken(), "whoever went is not woken");
            assert!(rx.is_empty());
        }
    }
}

/// C10: senders that waited first, in the middle and last in the queue go; the others' values arrive in order.
fn senders_leave_from_anywhere(kind: Kind) {
    for n in [1, 2, 3, 8, 9, 20] {
        for gone in 0..n {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let held = kind.fill(&tx, |_| tracker.value());
            let mut waiting = (0..n).map(|_| Some(tx.send(tracker.value()))).collect::<Vec<_>>();
            let wakers = waiting.iter_mut().flatten().map(|s| s.must_wait("full")).collect::<Vec<_>>();
            waiting[gone] = None;
            assert_eq!(tracker.drops(held + gone), 1, "C10: not sent, and dropped with its future");
            assert_eq!(Arc::strong_count(&wakers[gone]), 1, "a dropped send keeps no waker");
            for id in (0..held + n).filter(|&id| id != held + gone) {
                assert_eq!(rx.try_recv().expect("it was sent, or its sender waits"), id, "C2: in order");
            }
            for sending in waiting.iter_mut().flatten() {
                sending.must_be_ready("C4: taken").expect("C4: sent");
            }
            assert!(!wakers[gone].was_woken(), "whoever went is not woken");
            tracker.assert_done();
        }
    }
}

/// C10: `into_inner` gives the value back while the send waits or failed, and nothing once it was sent.
fn into_inner_tells_whether_it_was_sent(kind: Kind) {
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |i| i);
    let mut waiting = tx.send(100);
    waiting.must_wait("full");
    assert_eq!(waiting.into_inner(), Some(100), "C10: still waiting");
    assert_eq!(rx.len(), held, "C10: not sent");
    let mut sent = tx.send(101);
    sent.must_wait("full");
    let received = rx.try_recv().expect("something to take");
    assert_eq!(sent.into_inner(), None, "C10: its value is in the channel or was taken ({received})");
    let mut failed = tx.send(102);
    failed.must_wait("full");
    rx.close();
    assert_eq!(failed.into_inner(), Some(102), "C10: close gave it back");
}

/// C11: two receivers wait, one value comes, the first is dropped before it runs: the second gets it.
fn a_dropped_receiver_passes_its_value_on(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let (mut first, mut second, mut third) = (rx.recv(), rx.recv(), rx.recv());
    let woken = first.must_wait("empty");
    let next = second.must_wait("empty");
    let last = third.must_wait("empty");
    tx.try_send(tracker.value()).expect("a receiver waits");
    assert!(woken.was_woken() && !next.was_woken(), "C2: the first is next");
    drop(first);
    assert!(next.was_woken() && !last.was_woken(), "C11: the second is told");
    drop(second);
    assert!(last.was_woken(), "C11: and then the third");
    assert_eq!(third.must_be_ready("C11").expect("C11: the value"), 0);
    tracker.assert_done();
}

/// C11: as above, with more values than receivers that go, in every order of going.
fn several_dropped_receivers_pass_their_values_on(kind: Kind) {
    for order in [[0, 1], [1, 0]] {
        let (tx, rx) = kind.open();
        let mut waiting = (0..4).map(|_| Some(rx.recv())).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().flatten().map(|r| r.must_wait("empty")).collect::<Vec<_>>();
        // A buffer of one takes one value, a rendezvous as many as receivers wait.
        let values = kind.capacity().map_or(2, |cap| if cap == 0 { 2 } else { cap.min(2) });
        for value in 0..values {
            tx.try_send(value).expect("there is room, or a receiver waits");
        }
        for i in order {
            waiting[i] = None;
        }
        let woken = wakers[2..].iter().filter(|w| w.was_woken()).count();
        assert_eq!(woken, values, "C11: as many are told as values came");
        let mut received = waiting[2..2 + values]
            .iter_mut()
            .flatten()
            .map(|r| r.must_be_ready("C11").expect("C11: a value"))
            .collect::<Vec<_>>();
        received.sort_unstable();
        assert_eq!(received, (0..values).collect::<Vec<_>>(), "C1: each once");
    }
}

/// C11: of two waiting sends, after one place frees and the first is dropped before it runs, the first's value is
/// in the channel or the second proceeds.
fn a_dropped_sender_leaves_its_value_or_its_place(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |_| tracker.value());
    let (mut first, mut second) = (tx.send(tracker.value()), tx.send(tracker.value()));
    first.must_wait("full");
    let next = second.must_wait("full");
    drop(rx.try_recv().expect("something to take"));
    drop(first);
    if kind.is_buffered() {
        assert_eq!(rx.len(), held, "C4, C11: the first's value was moved in");
        assert_eq!(tracker.drops(held), 0, "C11: so it is not dropped with its future");
    }
    drop(rx.try_recv().expect("C11: the next value"));
    assert!(next.was_woken(), "C11: the second proceeds");
    second.must_be_ready("C11").expect("C11: sent");
    rx.try_iter().for_each(drop);
    drop(second);
    drop((tx, rx));
    tracker.assert_done();
}

/// C9: a notified receiver that is dropped leaves its value to the next receive of any form.
fn a_dropped_receiver_leaves_its_value(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    for id in 0..20 {
        let mut receiving = rx.recv();
        receiving.must_wait("empty");
        tx.try_send(tracker.value()).expect("a receiver waits");
        drop(receiving);
        assert_eq!(tracker.drops(id), 0, "C9: never lost");
        assert_eq!(rx.len(), 1, "C9: counted");
        let value = match id % 3 {
            0 => rx.try_recv().expect("C9"),
            1 => rx.recv().must_be_ready("C9").expect("C9"),
            _ => rx.recv_blocking().expect("C9"),
        };
        assert_eq!(value, id, "C9: first in line");
    }
    assert!(rx.is_empty());
    tracker.assert_done();
}

/// C9: values that come back are received before anything sent later, also before waiting senders' values.
fn a_value_that_came_back_is_first_in_line(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    tx.try_send(0).expect("a receiver waits");
    let mut sending = tx.send(1);
    let sent = sending.poll_once(&CountingWaker::new()).is_ready();
    assert_eq!(sent, kind.room(1) == 1, "the second value is buffered if it fits");
    drop(receiving);
    assert_eq!(rx.try_recv(), Ok(0), "C9: first in line");
    assert_eq!(rx.try_recv(), Ok(1), "C2: then the later one");
}

/// C9: with no receiver left, a value that comes back is dropped.
fn a_value_that_came_back_goes_with_the_last_receiver(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    tx.try_send(tracker.value()).expect("a receiver waits");
    drop(receiving);
    tracker.assert_live(1, "C9: it waits for the next receive");
    drop(rx);
    tracker.assert_live(0, "C7, C9: no receiver is left");
    assert!(tx.is_closed());
}

/// C5, C9: a value handed over before the close comes back and stays receivable.
fn a_value_comes_back_after_close(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    tx.try_send(tracker.value()).expect("a receiver waits");
    assert!(tx.close());
    drop(receiving);
    assert_eq!(rx.try_recv().expect("C5, C9: it was sent before the close"), 0);
    assert_eq!(rx.try_recv().expect_err("drained"), TryRecvError::Closed);
    tracker.assert_done();
}

/// C9, C10: futures dropped after completion, or after a close, do nothing.
fn finished_futures_are_inert(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    let mut sending = tx.send(tracker.value());
    sending.must_be_ready("a receiver waits").expect("open");
    drop(sending);
    let value = receiving.must_be_ready("served").expect("open");
    drop(receiving);
    assert_eq!(tracker.drops(0), 0, "C1: received once, and dropped by nobody else");
    drop(value);
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    let mut late = rx.recv();
    late.must_wait("empty");
    tx.close();
    drop(receiving);
    late.must_be_ready("closed").expect_err("closed");
    drop(late);
    drop((tx, rx));
    tracker.assert_done();
}

/// C9: several values handed over come back in the order of hand-over, whatever the order of going.
#[test]
fn returned_values_keep_the_order_of_hand_over() {
    for order in [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]] {
        let tracker = Tracker::new();
        let (tx, rx) = rendezvous();
        let mut waiting = (0..3).map(|_| Some(rx.recv())).collect::<Vec<_>>();
        for receiving in waiting.iter_mut().flatten() {
            receiving.must_wait("nobody sends");
        }
        for _ in 0..3 {
            tx.try_send(tracker.value()).expect("C3: a receiver waits");
        }
        assert_eq!(rx.len(), 0, "handed over is not in the channel");
        for (i, gone) in order.into_iter().enumerate() {
            waiting[gone] = None;
            assert_eq!(rx.len(), i + 1, "C9: what came back is counted");
        }
        assert!(tx.try_send(tracker.value()).is_err_and(|e| e.is_full()), "C3: nobody waits");
        for id in 0..3 {
            assert_eq!(rx.try_recv().expect("C9: it came back"), id, "C9: in order, gone as {order:?}");
        }
        drop(waiting);
        drop((tx, rx));
        tracker.assert_done();
    }
}

/// C9: a value handed over comes back to a receiver that began to wait since, before any that comes later.
#[test]
fn a_returned_value_goes_to_the_next_waiting_receiver() {
    let (tx, rx) = rendezvous();
    let mut first = rx.recv();
    first.must_wait("nobody sends");
    assert_eq!(tx.try_send(1), Ok(()));
    let mut second = rx.recv();
    let waker = second.must_wait("nobody sends");
    drop(first);
    assert!(waker.was_woken(), "C9");
    assert_eq!(second.must_be_ready("C9"), Ok(1));
    assert!(rx.is_empty());
}

/// C11: blocking receivers that time out while a value arrives do not lose it.
fn a_receiver_that_times_out_passes_its_value_on(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut patient = rx.recv();
    let waker = CountingWaker::new();
    // (`patient` comes later.)
    std::thread::scope(|scope| {
        let timed = scope.spawn(|| rx.recv_timeout(std::time::Duration::from_millis(1)));
        // (A send first: by the time of the first look it may have timed out.)
        spin_until(|| tx.try_send(tracker.value()).is_ok() || timed.is_finished());
        let got = timed.join().expect("the receiver ends");
        if let Ok(value) = got {
            assert_eq!(value.id, tracker.created() - 1, "C16: the one that was sent");
        } else if kind.is_buffered() {
            assert_eq!(rx.len(), 1, "C11, C16: a timeout took nothing");
        }
    });
    let left = rx.len();
    let ready = patient.poll_once(&waker).is_ready();
    assert_eq!(ready, left == 1, "C11: what was not taken is there for the next");
    drop(patient);
    drop((tx, rx));
    tracker.assert_done();
}

contracts!(
    never_polled_futures_did_nothing,
    receivers_leave_from_anywhere,
    a_dropped_receiver_passes_its_value_on,
    several_dropped_receivers_pass_their_values_on,
    a_dropped_receiver_leaves_its_value,
    a_value_that_came_back_is_first_in_line,
    a_value_that_came_back_goes_with_the_last_receiver,
    a_value_comes_back_after_close,
    finished_futures_are_inert,
    a_receiver_that_times_out_passes_its_value_on,
);

limited_contracts!(
    senders_leave_from_anywhere,
    into_inner_tells_whether_it_was_sent,
    a_dropped_sender_leaves_its_value_or_its_place,
);
