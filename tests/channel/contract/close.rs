//! Closing, from either side, by call or by dropping handles: C5–C8, C18, and `closed()`.

use std::sync::{Arc, Barrier, Mutex};
use std::thread;
use std::time::Duration;

use leno::channel::{RecvError, SendError, TryRecvError, TrySendError};
use leno::{Receiver, Sender};

use crate::support::{Event, Kind, PollExt, Tracked, Tracker, hooked_waker, spin_until, within};
use crate::{contracts, limited_contracts};

/// C5: `close` returns true once, whichever side calls it.
fn close_is_true_once(kind: Kind) {
    for close in [Sender::<u8>::close as fn(&Sender<u8>) -> bool, Sender::close_now] {
        let (tx, rx) = kind.open();
        assert!(!tx.is_closed() && !rx.is_closed(), "open at first");
        assert!(close(&tx), "C5: the first close");
        assert!(!close(&tx) && !rx.close() && !rx.close_now(), "C5: the later ones");
        assert!(tx.is_closed() && rx.is_closed(), "seen by both sides");
    }
    for close in [Receiver::<u8>::close as fn(&Receiver<u8>) -> bool, Receiver::close_now] {
        let (tx, rx) = kind.open();
        assert!(close(&rx), "C5: the first close");
        assert!(!close(&rx) && !tx.close() && !tx.close_now(), "C5: the later ones");
        assert!(tx.is_closed() && rx.is_closed(), "seen by both sides");
    }
}

/// C5: every form of send fails on a closed channel and gives the value back.
fn sends_after_close_give_the_value_back(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut early = tx.send(1);
    rx.close();
    assert_eq!(early.must_be_ready("closed before it was polled"), Err(SendError(1)));
    assert_eq!(early.into_inner(), None, "the error gave the value back");
    assert_eq!(tx.send(2).must_be_ready("closed"), Err(SendError(2)));
    assert_eq!(tx.try_send(3), Err(TrySendError::Closed(3)));
    assert_eq!(tx.send_blocking(4), Err(SendError(4)));
    assert_eq!(tx.send(5).wait(), Err(SendError(5)));
    assert!(tx.send_timeout(6, Duration::MAX).is_err_and(|e| e.is_closed() && e.into_inner() == 6));
}

/// C5: waiting senders fail, are woken in order, and get their values back.
fn close_returns_the_values_of_waiting_senders(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let held = kind.fill(&tx, |_| tracker.value());
    let mut waiting = (0..12).map(|_| tx.send(tracker.value())).collect::<Vec<_>>();
    let wakers = waiting.iter_mut().map(|s| s.must_wait("full")).collect::<Vec<_>>();
    assert!(rx.close());
    assert!(wakers.iter().all(|w| w.was_woken()), "C5: all are woken");
    tracker.assert_live(held + 12, "closing drops nothing");
    let last = waiting.pop().expect("twelve");
    assert_eq!(last.into_inner().expect("C10: it was not sent"), held + 11);
    for (i, mut sending) in waiting.into_iter().enumerate() {
        let SendError(value) = sending.must_be_ready("closed").expect_err("C5: waiting senders fail");
        assert_eq!(value, held + i, "C5: each gets its own value back");
    }
    assert_eq!(rx.drain().count(), held, "C5: what was buffered stays receivable");
    tracker.assert_done();
}

/// C5: buffered values stay receivable after close, by every form of receive; then receivers get an error.
fn buffered_values_outlive_close(kind: Kind) {
    let (tx, rx) = kind.open();
    let count = kind.room(6);
    for i in 0..count {
        tx.try_send(i).expect("there is room");
    }
    tx.close();
    let mut received = Vec::new();
    for i in 0..count {
        assert_eq!(rx.len(), count - i, "C17: len after close");
        received.push(match i % 4 {
            0 => rx.try_recv().expect("C5: buffered"),
            1 => rx.recv().must_be_ready("C5: buffered").expect("C5: buffered"),
            2 => rx.recv_blocking().expect("C5: buffered"),
            _ => rx.recv_timeout(Duration::ZERO).expect("C5: buffered"),
        });
    }
    assert_eq!(received, (0..count).collect::<Vec<_>>(), "C2: in order");
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "C18: never Empty after close and drain");
    assert_eq!(rx.recv().must_be_ready("closed and drained"), Err(RecvError));
    assert_eq!(rx.recv_blocking(), Err(RecvError));
    assert!(rx.recv_timeout(Duration::MAX).is_err_and(|e| e.is_closed()), "C5: closed, not timed out");
    assert!(rx.is_closed() && rx.is_empty(), "C18");
}

/// C5: waiting receivers of an empty channel wake with an error, in order, after all of them were unlinked.
fn close_wakes_waiting_receivers_in_order(kind: Kind) {
    within("C5, C13: wakers that try to send while the channel closes", move || {
        for n in [1, 2, 20] {
            let (tx, rx) = kind.open::<u8>();
            let order = Arc::new(Mutex::new(Vec::new()));
            let mut waiting = (0..n).map(|_| rx.recv()).collect::<Vec<_>>();
            for (i, receiving) in waiting.iter_mut().enumerate() {
                let (order, tx) = (Arc::clone(&order), tx.clone());
                let waker = hooked_waker(move |event| {
                    if event == Event::Wake {
                        // A receiver that still waited would take this value.
                        assert_eq!(tx.try_send(0), Err(TrySendError::Closed(0)), "C8: closing is complete");
                        order.lock().unwrap().push(i);
                    }
                });
                assert!(receiving.poll_with(&waker).is_pending(), "empty");
            }
            assert!(tx.close());
            assert_eq!(*order.lock().unwrap(), (0..n).collect::<Vec<_>>(), "C5: all, in order, once each");
            for receiving in &mut waiting {
                assert_eq!(receiving.must_be_ready("closed"), Err(RecvError));
            }
        }
    });
}

/// C7: the last sender's drop is a close, as receivers see it; an earlier one's is nothing.
fn dropping_the_last_sender_closes(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let count = kind.room(3);
    for _ in 0..count {
        tx.try_send(tracker.value()).expect("there is room");
    }
    let tx2 = tx.clone();
    drop(tx);
    assert!(!rx.is_closed(), "C7: a sender is left");
    drop(tx2);
    assert!(rx.is_closed(), "C7: none is left");
    for id in 0..count {
        assert_eq!(rx.try_recv().expect("C7: buffered values stay"), id);
    }
    assert_eq!(rx.try_recv().expect_err("drained"), TryRecvError::Closed, "C18");
    tracker.assert_done();
}

/// C7: the last sender's drop wakes every waiting receiver.
fn dropping_the_last_sender_wakes_receivers(kind: Kind) {
    let (tx, rx) = kind.open::<u8>();
    let mut waiting = (0..12).map(|_| rx.recv()).collect::<Vec<_>>();
    let wakers = waiting.iter_mut().map(|r| r.must_wait("empty")).collect::<Vec<_>>();
    drop(tx.clone());
    assert!(!wakers.iter().any(|w| w.was_woken()), "C7: a sender is left");
    drop(tx);
    assert!(wakers.iter().all(|w| w.was_woken()), "C7: all are woken");
    for receiving in &mut waiting {
        assert_eq!(receiving.must_be_ready("closed"), Err(RecvError));
    }
}

/// C7: when the last receiver goes, the buffer is dropped at once and waiting senders get their values back.
fn dropping_the_last_receiver_drops_the_buffer(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    kind.fill(&tx, |_| tracker.value());
    let senders = kind.waiting(3);
    let mut waiting = (0..senders).map(|_| tx.send(tracker.value())).collect::<Vec<_>>();
    let wakers = waiting.iter_mut().map(|s| s.must_wait("full")).collect::<Vec<_>>();
    drop(rx.clone());
    assert!(!tx.is_closed(), "C7: a receiver is left");
    drop(rx);
    assert!(tx.is_closed(), "C7: none is left");
    tracker.assert_live(senders, "C7: the buffer is dropped at once, the senders' values are not");
    assert_eq!(tx.len(), 0, "C7: nothing is buffered any more");
    assert!(wakers.iter().all(|w| w.was_woken()), "C7: waiting senders are woken");
    for sending in &mut waiting {
        sending.must_be_ready("closed").expect_err("C7: they get their values back");
    }
    tracker.assert_done();
    let back = tx.try_send(tracker.value()).expect_err("closed");
    assert!(back.is_closed(), "C7: sends fail with the value");
}

/// C6: `close_now` discards the buffer, also after `close`, and returns waiting senders' values.
fn close_now_discards_the_buffer(kind: Kind) {
    for closed_before in [false, true] {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let held = kind.fill(&tx, |_| tracker.value());
        let senders = kind.waiting(1);
        let mut sending = (0..senders).map(|_| tx.send(tracker.value())).collect::<Vec<_>>();
        sending.iter_mut().for_each(|sending| drop(sending.must_wait("full")));
        if closed_before {
            assert!(rx.close());
            tracker.assert_live(held + senders, "close alone drops nothing");
        }
        assert_eq!(rx.close_now(), !closed_before, "C5: true once");
        tracker.assert_live(senders, "C6: the buffer is discarded, the waiting sender's value is not");
        assert_eq!(rx.len(), 0);
        assert_eq!(rx.try_recv().expect_err("discarded"), TryRecvError::Closed, "C18");
        for sending in &mut sending {
            let SendError(value) = sending.must_be_ready("closed").expect_err("C5: not sent");
            assert_eq!(value, held);
        }
        tracker.assert_done();
    }
}

/// C6: `close_now` does not take back what a receiver was handed already.
fn close_now_leaves_what_was_handed_over(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    let mut receiving = rx.recv();
    let waker = receiving.must_wait("empty");
    tx.try_send(tracker.value()).expect("a receiver waits");
    assert!(waker.was_woken());
    tx.close_now();
    drop(receiving.must_be_ready("served").expect("C6: it was not in the buffer any more"));
    drop(receiving);
    assert_eq!(rx.try_recv().expect_err("closed"), TryRecvError::Closed);
    tracker.assert_done();
}

/// C5: with values buffered, closing wakes the waiting receivers that nothing else will wake.
fn close_leaves_no_receiver_asleep(kind: Kind) {
    if !kind.is_buffered() {
        return;
    }
    let (tx, rx) = kind.open();
    let mut waiting = (0..4).map(|_| rx.recv()).collect::<Vec<_>>();
    let wakers = waiting.iter_mut().map(|r| r.must_wait("empty")).collect::<Vec<_>>();
    tx.try_send(7).expect("there is room");
    assert!(tx.close());
    assert_eq!(waiting[0].must_be_ready("notified of 7"), Ok(7), "C5: stays receivable");
    assert!(wakers.iter().all(|w| w.was_woken()), "C5: nothing else will wake the others");
    for receiving in &mut waiting[1..] {
        assert_eq!(receiving.must_be_ready("closed and drained"), Err(RecvError));
    }
}

/// A value that owns handles, of its own channel or of another one.
struct Knot {
    _senders: Vec<Sender<Knot>>,
    _receivers: Vec<Receiver<Knot>>,
    _value: Tracked,
}

impl Knot {
    fn new(tracker: &Tracker, senders: Vec<Sender<Knot>>, receivers: Vec<Receiver<Knot>>) -> Self {
        Knot { _senders: senders, _receivers: receivers, _value: tracker.value() }
    }
}

/// C7: the buffer is dropped at once also when its values own handles of this channel or of another one.
fn values_may_own_handles(kind: Kind) {
    if !kind.is_buffered() {
        return;
    }
    within("C7: dropping values that own handles", move || {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (tx2, rx2) = kind.open();
        // The first channel holds the second's last receiver; the second holds senders of both.
        assert!(tx2.try_send(Knot::new(&tracker, vec![tx.clone(), tx2.clone()], vec![])).is_ok(), "room");
        assert!(tx.try_send(Knot::new(&tracker, vec![tx.clone()], vec![rx2])).is_ok(), "room");
        drop(tx2);
        drop(rx);
        assert!(tx.is_closed(), "C7");
        tracker.assert_done();
    });
}

/// C6, C7: a channel that holds its own last receiver is freed by `close_now`.
fn a_channel_may_hold_its_own_receiver(kind: Kind) {
    if !kind.is_buffered() {
        return;
    }
    within("C6: discarding a value that owns the last receiver", move || {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let held = kind.room(3);
        for _ in 1..held {
            assert!(tx.try_send(Knot::new(&tracker, vec![tx.clone()], vec![])).is_ok(), "room");
        }
        assert!(tx.try_send(Knot::new(&tracker, vec![], vec![rx])).is_ok(), "room");
        assert!(!tx.is_closed(), "the receiver in the channel counts");
        assert!(tx.close_now());
        tracker.assert_done();
    });
}

/// `closed()` waits while a send may succeed, and resolves at the moment from which sends can only fail.
fn closed_resolves_when_sends_can_only_fail(kind: Kind) {
    for how in 0..4 {
        let (tx, rx) = kind.open::<u8>();
        let (mut first, mut second) = (tx.closed(), tx.closed());
        let waker = first.must_wait("open");
        let other = second.must_wait("open");
        assert!(tx.closed().wait_timeout(Duration::ZERO).is_err(), "open: a zero timeout elapses");
        let rx2 = rx.clone();
        drop(rx);
        assert!(!waker.was_woken(), "a receiver is left");
        match how {
            0 => drop(rx2),
            1 => assert!(rx2.close()),
            2 => assert!(tx.close()),
            _ => assert!(rx2.close_now()),
        }
        assert!(waker.was_woken() && other.was_woken(), "every waiter is told");
        first.must_be_ready("closed");
        second.must_be_ready("closed");
        tx.closed().must_be_ready("closed from now on");
        tx.closed().wait();
        assert!(tx.closed().wait_timeout(Duration::ZERO).is_ok(), "closed from now on");
    }
}

/// A `closed()` that was dropped leaves nothing behind, and another waker replaces the first (C12).
fn closed_can_be_dropped_and_moved(kind: Kind) {
    let (tx, rx) = kind.open::<u8>();
    let mut dropped = tx.closed();
    let gone = dropped.must_wait("open");
    let mut moved = tx.closed();
    let before = moved.must_wait("open");
    let after = moved.must_wait("open");
    drop(dropped);
    assert_eq!(Arc::strong_count(&gone), 1, "a dropped wait keeps no waker");
    drop(rx);
    assert!(!gone.was_woken() && !before.was_woken(), "nobody is there any more");
    assert!(after.was_woken(), "C12: the last waker counts");
    moved.must_be_ready("closed");
}

/// M7: ten thousand waiters of either side are released by one close without deep recursion, and so they are when
/// they are dropped one after the other, each passing its value on.
fn ten_thousand_waiters(kind: Kind) {
    let small = thread::Builder::new().stack_size(256 << 10).spawn(move || {
        let (tx, rx) = kind.open::<usize>();
        let mut receiving = (0..10_000).map(|_| rx.recv()).collect::<Vec<_>>();
        let wakers = receiving.iter_mut().map(|r| r.must_wait("empty")).collect::<Vec<_>>();
        tx.try_send(1).expect("a receiver waits");
        let rest = receiving.split_off(5_000);
        drop(receiving);
        assert!(wakers[5_000].was_woken(), "C11: passed on five thousand times");
        assert_eq!(rx.len(), 0, "C9: it is with the next receiver");
        tx.close();
        assert!(wakers.iter().skip(5_000).all(|w| w.was_woken()), "C5: all are woken");
        let got = rest.into_iter().filter_map(|mut r| r.must_be_ready("closed").ok()).collect::<Vec<_>>();
        assert_eq!(got, [1], "C1: once");
        let (tx, rx) = kind.open::<usize>();
        kind.fill(&tx, |i| i);
        let mut sending = (0..kind.waiting(10_000)).map(|i| tx.send(i)).collect::<Vec<_>>();
        let wakers = sending.iter_mut().map(|s| s.must_wait("full")).collect::<Vec<_>>();
        drop(rx);
        assert!(wakers.iter().all(|w| w.was_woken()), "C7: all are woken");
        for (i, mut sending) in sending.into_iter().enumerate() {
            assert_eq!(sending.must_be_ready("closed"), Err(SendError(i)), "C7: its value back");
        }
    });
    small.expect("a thread starts").join().expect("M7: no deep recursion");
}

/// C8: who observes "closed" finds the closing complete: operations that waited are decided.
fn closed_means_that_closing_is_complete(kind: Kind) {
    within("C8: close races with an observer", move || {
        // (Fewer where each has much to send.)
        for round in 0..300.min(300_000 / kind.capacity().unwrap_or(0).max(1)) {
            let (tx, rx) = kind.open::<usize>();
            kind.fill(&tx, |i| i);
            let start = Arc::new(Barrier::new(2));
            let closing = thread::spawn({
                let (start, rx) = (Arc::clone(&start), rx.clone());
                move || {
                    start.wait();
                    assert!(rx.close(), "nobody else closes");
                }
            });
            let mut waiting = (0..16).map(|i| tx.send(i)).collect::<Vec<_>>();
            for sending in &mut waiting {
                sending.must_wait("full");
            }
            start.wait();
            spin_until(|| match round % 2 {
                0 => tx.is_closed(),
                _ => matches!(tx.try_send(0), Err(TrySendError::Closed(_))),
            });
            for (i, sending) in waiting.iter_mut().enumerate() {
                assert_eq!(sending.must_be_decided("C8: seen closed"), Err(SendError(i)));
            }
            closing.join().expect("the closer ends");
        }
    });
}

/// C18: a sender that pushes and then drops is never seen as closed with its value still queued.
fn a_last_value_is_seen_before_the_close(kind: Kind) {
    if !kind.is_buffered() {
        return;
    }
    within("C18: push then drop", move || {
        for round in 0..2000 {
            let (tx, rx) = kind.open();
            let sending = thread::spawn(move || tx.try_send(round).expect("there is room"));
            let mut seen = Err(TryRecvError::Empty);
            spin_until(|| {
                seen = rx.try_recv();
                seen != Err(TryRecvError::Empty)
            });
            assert_eq!(seen, Ok(round), "C18: not closed before the last value");
            sending.join().expect("the sender ends");
            assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "C18: then closed, never Empty");
        }
    });
}

contracts!(
    close_is_true_once,
    sends_after_close_give_the_value_back,
    buffered_values_outlive_close,
    close_wakes_waiting_receivers_in_order,
    dropping_the_last_sender_closes,
    dropping_the_last_sender_wakes_receivers,
    dropping_the_last_receiver_drops_the_buffer,
    close_now_discards_the_buffer,
    close_now_leaves_what_was_handed_over,
    close_leaves_no_receiver_asleep,
    values_may_own_handles,
    a_channel_may_hold_its_own_receiver,
    closed_resolves_when_sends_can_only_fail,
    closed_can_be_dropped_and_moved,
    ten_thousand_waiters,
    a_last_value_is_seen_before_the_close,
);

limited_contracts!(close_returns_the_values_of_waiting_senders, closed_means_that_closing_is_complete,);
