//! S1, S3: one branch happens, and the others have done nothing and leave nothing.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::task::Poll;

use leno::rendezvous;
use leno::select::{Selected2, Selected4, foreign, select, select_biased};
use leno::sync::Mutex;

use crate::KINDS;
use crate::support::{Event, Kind, PollExt, Tracker, hooked_waker};

/// S1: with everything ready, one thing happens, whichever it is.
#[test]
fn exactly_one_of_the_ready_branches_happens() {
    let mut seen = [0; 4];
    for _ in 0..200 {
        for kind in [Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000)] {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (out, outs) = kind.open();
            let (quit, quits) = kind.open::<u8>();
            let mutex = Mutex::fair(());
            tx.try_send(tracker.value()).expect("there is room");
            drop(quits);
            let mut selecting = select((rx.recv(), out.send(tracker.value()), quit.closed(), mutex.lock()));
            let outcome = selecting.must_be_ready("S1: all are");
            let winner = match &outcome {
                Selected4::First(received) => {
                    assert!(matches!(received, Ok(value) if *value == 0));
                    0
                }
                Selected4::Second(sent) => {
                    assert!(sent.is_ok());
                    1
                }
                Selected4::Third(()) => 2,
                Selected4::Fourth(_guard) => 3,
            };
            seen[winner] += 1;
            assert_eq!(rx.len(), usize::from(winner != 0), "S1: nothing else was taken");
            assert_eq!(outs.len(), usize::from(winner == 1), "S1: nothing else was sent");
            assert_eq!(mutex.try_lock().is_none(), winner == 3, "S1: nothing else was locked");
            drop((outcome, selecting));
            tracker.assert_live(
                usize::from(winner != 0) + usize::from(winner == 1),
                "S9: the losing send's is gone",
            );
            drop((rx, outs));
            tracker.assert_done();
        }
    }
    assert!(seen.iter().all(|seen| *seen > 0), "S2: {seen:?}");
}

/// S1: a select that waited on everything leaves nobody behind, whichever branch has happened.
#[test]
fn losing_branches_leave_no_waiter() {
    for kind in KINDS {
        for winner in 0..5 {
            let what = format!("{kind:?}, winner {winner}");
            let (tx, rx) = kind.open::<u32>();
            let (full, fulls) = kind.open::<u32>();
            let (open, _opens) = kind.open::<u32>();
            let room = kind.fill(&full, |i| i as u32);
            let mutex = Mutex::fair(0);
            let guard = mutex.try_lock().expect("free");
            let mut guard = Some(guard);
            let mut selecting = select((rx.recv(), full.send(77), open.closed(), mutex.lock()));
            let waker = selecting.must_wait("nothing is ready");
            match winner {
                0 => tx.try_send(5).expect("a receiver waits, or there is room"),
                1 => drop(fulls.try_recv().expect("a sender waits, or there are values")),
                2 => drop(open.close()),
                3 => guard = None,
                _ => {}
            }
            assert_eq!(waker.was_woken(), winner < 4, "{what}");
            if winner < 4 {
                let outcome = selecting.must_be_ready(&what);
                assert!(
                    match &outcome {
                        Selected4::First(received) => winner == 0 && *received == Ok(5),
                        Selected4::Second(sent) => winner == 1 && sent.is_ok(),
                        Selected4::Third(()) => winner == 2,
                        Selected4::Fourth(_) => winner == 3,
                    },
                    "{what}"
                );
                drop(outcome);
            } else {
                drop(selecting);
            }
            assert_eq!(Arc::strong_count(&waker), 1, "S1: no waker is kept; {what}");
            // Whoever came for a branch that is still in a queue would meet it.
            let sent = tx.try_send(6).is_ok();
            assert_eq!(sent, kind.is_buffered(), "S1: {what}");
            assert_eq!(rx.try_recv().is_ok(), sent, "S1: {what}");
            let left = fulls.drain().count();
            assert_eq!(
                left,
                if kind.is_buffered() { room } else { 0 },
                "S1: the send is not in line; {what}"
            );
            assert!(fulls.try_recv().is_err(), "S1: {what}");
            drop(guard);
            assert!(mutex.try_lock().is_some(), "S1: nobody is granted the lock; {what}");
            tx.assert_valid();
            full.assert_valid();
            open.assert_valid();
            mutex.assert_valid();
        }
    }
}

/// S1: what comes for a select that has completed elsewhere, and has not run yet, goes to the next in line.
#[test]
fn a_value_for_a_completed_select_goes_to_the_next() {
    for kind in KINDS {
        let (a, a_rx) = kind.open();
        let (b, b_rx) = rendezvous();
        let mut selecting = select_biased((a_rx.recv(), b_rx.recv()));
        let woken = selecting.must_wait("nothing is ready");
        let mut next = a_rx.recv();
        let next_woken = next.must_wait("nothing is ready");
        b.try_send(1).expect("the select waits");
        assert!(woken.was_woken());
        a.try_send(2).expect("the next waits, or there is room");
        assert!(next_woken.was_woken(), "S1: the next in line is served; {kind:?}");
        assert_eq!(next.must_be_ready("S1"), Ok(2), "{kind:?}");
        assert_eq!(selecting.must_be_ready("a peer has completed it"), Selected2::Second(Ok(1)));
    }
}

/// S1: the same for room: a send that was in line for it, in a select that completed elsewhere.
#[test]
fn room_for_a_completed_select_goes_to_the_next() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (b, b_rx) = rendezvous();
        let room = kind.fill(&tx, |i| i);
        let mut selecting = select((tx.send(777), b_rx.recv()));
        selecting.must_wait("nothing is ready");
        let mut next = tx.send(888);
        let next_woken = next.must_wait("full");
        b.try_send(1).expect("the select waits");
        let mut received = vec![rx.try_recv().expect("somebody waits, or there are values")];
        assert!(next_woken.was_woken(), "C4, S1: the next in line; {kind:?}");
        assert_eq!(next.must_be_ready("S1"), Ok(()));
        assert_eq!(selecting.must_be_ready("a peer has completed it"), Selected2::Second(Ok(1)));
        received.extend(rx.drain());
        assert_eq!(received, (0..room).chain([888]).collect::<Vec<_>>(), "S1: the loser has sent nothing");
    }
}

/// S3: a ready branch is found before anything is registered, wherever it stands: no waker is cloned, and at the
/// moment of the look (a foreign future looks last) nobody waits in any queue.
#[test]
fn ready_branches_are_found_before_anything_is_registered() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u32>();
        let (full, fulls) = kind.open();
        let room = kind.fill(&full, |i| i);
        let mutex = Mutex::new(());
        let _guard = mutex.try_lock();
        let last = std::future::poll_fn(|_| {
            if !kind.is_buffered() {
                assert!(tx.try_send(1).is_err(), "S3: a receiver is registered");
                assert!(fulls.try_recv().is_err(), "S3: a sender is registered");
            }
            Poll::Ready(7)
        });
        let mut selecting = select_biased((rx.recv(), full.send(1000), mutex.lock(), foreign(last)));
        let waker = hooked_waker(|event| assert_eq!(event, Event::Drop, "S3: the waker is not used"));
        assert!(matches!(selecting.poll_with(&waker), Poll::Ready(Selected4::Fourth(7))), "S3: {kind:?}");
        assert_eq!((rx.len(), fulls.len()), (0, room));
    }
}

/// S3: the same with a clone that would panic.
#[test]
fn a_ready_select_clones_no_waker() {
    let (tx, rx) = leno::bounded(1);
    let (_other, others) = rendezvous::<u8>();
    tx.try_send(1).expect("there is room");
    let waker = hooked_waker(|event| assert_ne!(event, Event::Clone, "planted: a clone panics"));
    let mut selecting = select((others.recv(), rx.recv()));
    assert_eq!(selecting.poll_with(&waker), Poll::Ready(Selected2::Second(Ok(1))), "S3");
    // The same waker does panic where the select has to wait, and leaves all usable (C13).
    let mut selecting = select((others.recv(), rx.recv()));
    let panic = catch_unwind(AssertUnwindSafe(|| selecting.poll_with(&waker)));
    assert!(panic.is_err(), "a select that waits keeps its waker");
    drop(selecting);
    assert!(_other.try_send(1).is_err(), "C13, S10: nobody waits there");
    tx.try_send(2).expect("there is room");
    assert_eq!(rx.try_recv(), Ok(2), "C13: usable");
    rx.assert_valid();
    others.assert_valid();
}

/// C12: a select that is polled with another waker wakes that one, and keeps none.
#[test]
fn the_last_waker_counts() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (_other, others) = kind.open::<u8>();
        let mut selecting = select((others.recv(), rx.recv()));
        let first = selecting.must_wait("nothing is ready");
        let second = selecting.must_wait("nothing is ready");
        tx.try_send(1).expect("a receiver waits, or there is room");
        assert!(!first.was_woken() && second.was_woken(), "C12: {kind:?}");
        assert_eq!(second.count(), 1, "one wake-up");
        assert_eq!(selecting.must_be_ready("woken"), Selected2::Second(Ok(1)));
        assert_eq!((Arc::strong_count(&first), Arc::strong_count(&second)), (1, 1), "no waker is kept");
    }
}

/// C14 for a select: what comes while it waits is its own, and nobody robs it.
#[test]
fn a_waiting_select_is_not_robbed() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (_other, others) = kind.open::<u8>();
        let mut selecting = select((rx.recv(), others.recv()));
        let waker = selecting.must_wait("nothing is ready");
        let mut next = rx.recv();
        let next_woken = next.must_wait("nothing is ready");
        tx.try_send(0).expect("the select waits");
        assert!(waker.was_woken() && !next_woken.was_woken(), "C14: its place is the first");
        assert!(rx.try_recv().is_err(), "C2: it was handed over");
        assert_eq!(selecting.must_be_ready("C14"), Selected2::First(Ok(0)));
        next.must_wait("nothing is left");
    }
}
