//! Futures that are forgotten (`mem::forget`): C26. Each may strand its own claim, and no more; what it held may
//! leak, so nothing here counts drops to the end.

use std::mem;
use std::sync::Arc;

use leno::channel::TryRecvError;

use crate::support::{Kind, PollExt};
use crate::{contracts, limited_contracts};

/// C26: forgotten receivers strand at most one value each; the receiver behind them gets the next one.
fn forgotten_receivers_strand_one_value_each(kind: Kind) {
    for n in [1, 2, 9] {
        let (tx, rx) = kind.open();
        for _ in 0..n {
            let mut forgotten = rx.recv();
            forgotten.must_wait("empty");
            mem::forget(forgotten);
        }
        let mut behind = rx.recv();
        let waker = behind.must_wait("empty");
        let mut sent = 0;
        while !waker.was_woken() {
            assert!(sent <= n, "C26: {n} forgotten receivers strand no more than {n} values");
            tx.try_send(sent).expect("a receiver waits");
            sent += 1;
        }
        let value = behind.must_be_ready("C26: woken").expect("open");
        assert!(value < sent, "C1: one of those sent");
    }
}

/// C26: a forgotten receive that was handed a value keeps that one, and no more.
fn a_served_receiver_that_is_forgotten_strands_one_value(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut forgotten = rx.recv();
    forgotten.must_wait("empty");
    tx.try_send(1).expect("a receiver waits");
    mem::forget(forgotten);
    rx.try_recv().expect_err("it was handed over");
    let mut receiving = rx.recv();
    receiving.must_wait("empty");
    tx.try_send(2).expect("a receiver waits");
    assert_eq!(receiving.must_be_ready("C26"), Ok(2));
}

/// C26: a forgotten send was sent, or was not; the channel goes on in order.
fn forgotten_senders_are_passed_over_or_served(kind: Kind) {
    for n in [1, 2, 9] {
        let (tx, rx) = kind.open();
        let held = kind.fill(&tx, |i| i);
        for i in 0..n {
            let mut forgotten = tx.send(held + i);
            forgotten.must_wait("full");
            mem::forget(forgotten);
        }
        let mut behind = tx.send(held + n);
        let waker = behind.must_wait("full");
        let received = std::iter::from_fn(|| rx.try_recv().ok()).collect::<Vec<_>>();
        assert!(received.is_sorted(), "C2: in order");
        assert_eq!(received.last(), Some(&(held + n)), "C26: the sender behind is served");
        assert!(waker.was_woken());
        assert_eq!(behind.must_be_ready("C26: taken"), Ok(()));
    }
}

/// C26: with forgotten operations of both sides, closing and dropping every handle is sound.
fn a_channel_with_forgotten_operations_closes(kind: Kind) {
    for close in [false, true] {
        let (tx, rx) = kind.open();
        let shared = Arc::new(0);
        let mut wakers = Vec::new();
        for _ in 0..3 {
            let mut forgotten = rx.recv();
            wakers.push(forgotten.must_wait("empty"));
            mem::forget(forgotten);
        }
        let mut last = rx.recv();
        wakers.push(last.must_wait("empty"));
        let mut closed = tx.closed();
        wakers.push(closed.must_wait("open"));
        mem::forget(closed);
        tx.try_send(Arc::clone(&shared)).expect("a receiver waits");
        // Handed a value, or notified, and forgotten.
        mem::forget(last);
        let mut never_polled = rx.recv();
        if close {
            tx.close();
        }
        drop(never_polled.poll_with(std::task::Waker::noop()));
        mem::forget(never_polled);
        mem::forget(tx.send(Arc::clone(&shared)));
        drop(tx);
        let end = std::iter::from_fn(|| match rx.try_recv() {
            Ok(_) => Some(()),
            Err(end) => {
                assert_eq!(end, TryRecvError::Closed, "C7: the last sender went");
                None
            }
        });
        assert!(end.count() <= 1, "C1: one value was sent");
        drop(rx);
        assert!(wakers.iter().all(|w| w.was_woken()), "C5: forgotten or not, all are woken");
        assert!(Arc::strong_count(&shared) >= 2, "what was forgotten may leak, and is not freed twice");
    }
}

/// C26: streams too.
fn a_forgotten_stream_strands_its_own_claim(kind: Kind) {
    let (tx, rx) = kind.open();
    let mut stream = rx.stream();
    assert!(stream.next_once(&crate::support::CountingWaker::new()).is_pending(), "empty");
    mem::forget(stream);
    let mut behind = rx.recv();
    let waker = behind.must_wait("empty");
    tx.try_send(0).expect("the stream waits");
    tx.try_send(1).expect("a receiver waits");
    assert!(waker.was_woken(), "C26: the second value is not the forgotten stream's");
    assert_eq!(behind.must_be_ready("C26"), Ok(1));
}

contracts!(
    forgotten_receivers_strand_one_value_each,
    a_served_receiver_that_is_forgotten_strands_one_value,
    a_channel_with_forgotten_operations_closes,
    a_forgotten_stream_strands_its_own_claim,
);

limited_contracts!(forgotten_senders_are_passed_over_or_served,);
