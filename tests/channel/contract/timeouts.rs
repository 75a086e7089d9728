//! Blocking with a limit: C16. Zero and past limits need no time; where a wait must end by time, it is short, and
//! nothing is asserted about how long it took.

use std::thread;
use std::time::{Duration, Instant};

use leno::channel::{RecvTimeoutError, SendTimeoutError};

use crate::contracts;
use crate::support::{Kind, PollExt, Tracker, within};

const TICK: Duration = Duration::from_millis(2);

fn past() -> Instant {
    let now = Instant::now();
    now.checked_sub(Duration::from_secs(1)).unwrap_or(now)
}

/// C16: a zero timeout, or a deadline in the past, tries once: it takes what is there and never waits.
fn zero_and_past_try_once(kind: Kind) {
    let (tx, rx) = kind.open();
    assert_eq!(rx.recv_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout), "C16: nothing there");
    assert_eq!(rx.recv().wait_timeout(Duration::ZERO), Err(RecvTimeoutError::Timeout));
    assert_eq!(rx.recv().wait_deadline(past()), Err(RecvTimeoutError::Timeout));
    let held = kind.fill(&tx, |i| i);
    if kind.has_limit() {
        assert_eq!(tx.send_timeout(91, Duration::ZERO), Err(SendTimeoutError::Timeout(91)), "C16: full");
        assert_eq!(tx.send(92).wait_timeout(Duration::ZERO), Err(SendTimeoutError::Timeout(92)));
        assert_eq!(tx.send(93).wait_deadline(past()), Err(SendTimeoutError::Timeout(93)));
    }
    assert_eq!(rx.len(), held, "C16: a timed-out send put nothing in");
    // With something to do, they do it.
    let mut waiting = (0..kind.waiting(3)).map(|i| tx.send(held + i)).collect::<Vec<_>>();
    for sending in &mut waiting {
        sending.must_wait("full");
    }
    assert_eq!(rx.recv_timeout(Duration::ZERO), Ok(0), "C16: tries once");
    assert_eq!(rx.recv().wait_timeout(Duration::ZERO), Ok(1));
    assert_eq!(rx.recv().wait_deadline(past()), Ok(2));
    rx.drain().for_each(drop);
    let mut receivers = (0..3).map(|_| rx.recv()).collect::<Vec<_>>();
    for (i, receiving) in receivers.iter_mut().enumerate() {
        receiving.must_wait("empty");
        let sent = match i {
            0 => tx.send_timeout(i, Duration::ZERO),
            1 => tx.send(i).wait_timeout(Duration::ZERO),
            _ => tx.send(i).wait_deadline(past()),
        };
        assert_eq!(sent, Ok(()), "C16: a receiver waits, so it is sent at once");
        assert_eq!(receiving.must_be_ready("served"), Ok(i));
    }
}

/// C16: closed is told apart from timed out, whatever the limit.
fn closed_is_no_timeout(kind: Kind) {
    let (tx, rx) = kind.open();
    tx.close();
    for limit in [Duration::ZERO, TICK, Duration::MAX] {
        assert_eq!(rx.recv_timeout(limit), Err(RecvTimeoutError::Closed));
        assert_eq!(tx.send_timeout(1, limit), Err(SendTimeoutError::Closed(1)));
    }
    assert_eq!(rx.recv().wait_deadline(past()), Err(RecvTimeoutError::Closed));
    assert_eq!(tx.send(2).wait_deadline(past()), Err(SendTimeoutError::Closed(2)));
}

/// C16: `Duration::MAX` waits: it neither overflows nor times out.
fn the_longest_timeout_waits(kind: Kind) {
    within("C16: Duration::MAX", move || {
        let (tx, rx) = kind.open();
        let held = kind.fill(&tx, |i| i);
        thread::scope(|scope| {
            let sending = scope.spawn(|| {
                tx.send_timeout(held, Duration::MAX)?;
                tx.send(held + 1).wait_timeout(Duration::MAX)
            });
            // The channel stays full until this receives.
            for i in 0..held + 2 {
                assert_eq!(rx.recv_timeout(Duration::MAX), Ok(i), "C16: waits as long as it takes");
            }
            assert_eq!(sending.join().expect("the sender ends"), Ok(()), "C16: waits as long as it takes");
        });
        thread::scope(|scope| {
            let receiving = scope.spawn(|| rx.recv().wait_timeout(Duration::MAX));
            // Spins until the receiver waits (rendezvous), or leaves it the value.
            while tx.try_send(7).is_err() && !receiving.is_finished() {
                thread::yield_now();
            }
            assert_eq!(receiving.join().expect("the receiver ends"), Ok(7), "C16: waits as long as it takes");
        });
    });
}

/// C16: a timeout leaves nothing behind: no waiter, no value, and the value goes back to its sender.
fn a_timeout_leaves_nothing_behind(kind: Kind) {
    let tracker = Tracker::new();
    let (tx, rx) = kind.open();
    assert!(rx.recv_timeout(TICK).is_err_and(|e| e.is_timeout() && !e.is_closed()), "C16: nothing came");
    if !kind.is_buffered() {
        let full = tx.try_send(tracker.value()).expect_err("C3: the receiver is gone");
        assert!(full.is_full());
    }
    let held = kind.fill(&tx, |_| tracker.value());
    if kind.has_limit() {
        let back = tx.send_timeout(tracker.value(), TICK).expect_err("C16: full");
        assert!(back.is_timeout() && !back.is_closed());
        assert_eq!(back.into_inner(), tracker.created() - 1, "C16: the value goes back");
    }
    assert_eq!(rx.drain().count(), held, "C16: it was not sent");
    assert!(rx.try_recv().is_err_and(|e| e.is_empty()), "C16: nobody is left to take from");
    tracker.assert_done();
}

/// C11, C16: a limit that passes while the other side acts gives one result, the same for both.
fn a_timeout_is_atomic(kind: Kind) {
    within("C16: timeouts race with their peers", move || {
        for round in 0..100_u64 {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let limit = Duration::from_micros(round % 20);
            thread::scope(|scope| {
                let receiving = scope.spawn(|| rx.recv_timeout(limit));
                let sending = scope.spawn(|| tx.send_timeout(tracker.value(), limit));
                let sent = sending.join().expect("the sender ends").is_ok();
                let received = receiving.join().expect("the receiver ends").is_ok();
                assert_eq!(
                    usize::from(sent),
                    usize::from(received) + rx.len(),
                    "C16: one result for both sides"
                );
            });
            drop((tx, rx));
            tracker.assert_done();
        }
    });
}

contracts!(
    zero_and_past_try_once,
    closed_is_no_timeout,
    the_longest_timeout_waits,
    a_timeout_leaves_nothing_behind,
    a_timeout_is_atomic,
);
