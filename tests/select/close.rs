//! S5: a closed channel makes its branch ready, with the error.

use std::sync::Arc;

use leno::channel::{RecvError, SendError};
use leno::rendezvous;
use leno::select::{Selected2, Selected3, select, select_biased};
use leno::{Receiver, Sender};

use crate::KINDS;
use crate::support::{PollExt, Tracker};

type Close<T> = fn(&Sender<T>, &Receiver<T>);

/// The ways in which a channel closes. The handles of the side that does not wait are dropped afterwards.
fn closings<T>() -> [(&'static str, Close<T>); 4] {
    [
        ("close", |tx, _| _ = tx.close()),
        ("close by the receiver", |_, rx| _ = rx.close()),
        ("close_now", |tx, _| _ = tx.close_now()),
        ("the other side is dropped", |_, _| {}),
    ]
}

/// S5: closed before: each branch is ready with its error; a receive first gets what is left.
#[test]
fn closed_before() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (_silent, silents) = rendezvous::<u8>();
        let room = kind.room(3);
        (0..room).for_each(|_| tx.try_send(tracker.value()).expect("there is room"));
        tx.close();
        let outcome = select((silents.recv(), tx.send(tracker.value()))).must_be_ready("S5: closed");
        assert!(matches!(outcome, Selected2::Second(Err(SendError(value))) if value == room), "S5: {kind:?}");
        let outcome = select((tx.closed(), silents.recv())).must_be_ready("S5: closed");
        assert!(matches!(outcome, Selected2::First(())), "S5: {kind:?}");
        for i in 0..room {
            let outcome = select((silents.recv(), rx.recv())).must_be_ready("C5: values are left");
            assert!(matches!(outcome, Selected2::Second(Ok(value)) if value == i), "C5: {kind:?}");
        }
        for _ in 0..3 {
            let outcome = select((silents.recv(), rx.recv())).must_be_ready("S5: closed and drained");
            assert!(matches!(outcome, Selected2::Second(Err(RecvError))), "S5: {kind:?}");
        }
        tracker.assert_done();
    }
}

/// S5: closed while the select waits to receive, in every way in which a channel closes.
#[test]
fn closed_while_a_receive_waits() {
    for kind in KINDS {
        for (how, close) in closings::<u32>() {
            let (tx, rx) = kind.open::<u32>();
            let (other, others) = rendezvous::<u8>();
            let mut selecting = select((rx.recv(), others.recv()));
            let waker = selecting.must_wait("nothing is ready");
            close(&tx, &rx);
            drop(tx);
            assert!(waker.was_woken(), "S5: {how}, {kind:?}");
            assert_eq!(selecting.must_be_ready(how), Selected2::First(Err(RecvError)), "S5: {how}, {kind:?}");
            assert!(other.try_send(1).is_err(), "S1: the other branch waits no more");
            assert_eq!(Arc::strong_count(&waker), 1, "no waker is kept");
        }
    }
}

/// S5: the same for sends, whose values come back, and for `closed()`.
#[test]
fn closed_while_a_send_waits() {
    for kind in KINDS {
        for (how, close) in closings() {
            for watches in [false, true] {
                let tracker = Tracker::new();
                let (tx, rx) = kind.open();
                let room = kind.fill(&tx, |_| tracker.value());
                let (other, others) = rendezvous::<u8>();
                let value = tracker.value();
                let waker = if watches {
                    drop(value);
                    let mut selecting = select((others.recv(), tx.closed()));
                    let waker = selecting.must_wait("nothing is ready");
                    close(&tx, &rx);
                    drop(rx);
                    assert_eq!(selecting.must_be_ready(how), Selected2::Second(()), "S5: {how}, {kind:?}");
                    waker
                } else {
                    let mut selecting = select((others.recv(), tx.send(value)));
                    let waker = selecting.must_wait("nothing is ready");
                    close(&tx, &rx);
                    drop(rx);
                    let outcome = selecting.must_be_ready(how);
                    assert!(
                        matches!(outcome, Selected2::Second(Err(SendError(back))) if back == room),
                        "S5: {how}, {kind:?}: its value comes back"
                    );
                    waker
                };
                assert!(waker.was_woken(), "S5: {how}, {kind:?}");
                assert!(other.try_send(1).is_err(), "S1: the other branch waits no more");
                drop(tx);
                tracker.assert_done();
            }
        }
    }
}

/// S2, S5: everything closes at once: one wake-up is enough, and the first branch wins where order counts.
#[test]
fn everything_closes_while_it_waits() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u32>();
        let (full, _fulls) = kind.open();
        kind.fill(&full, |i| i);
        let mut selecting = select_biased((rx.recv(), full.send(7), tx.closed()));
        let waker = selecting.must_wait("nothing is ready");
        full.close();
        tx.close();
        assert!(waker.was_woken());
        assert_eq!(selecting.must_be_ready("S5"), Selected3::First(Err(RecvError)), "S2, S5: {kind:?}");
        full.assert_valid();
        tx.assert_valid();
    }
}

/// S5: a select that found out about a close is over, though a peer of another branch comes before it runs: one of
/// the two has happened, not both.
#[test]
fn a_close_and_a_peer_before_it_runs() {
    for kind in KINDS {
        let (closing, closings) = kind.open::<u32>();
        let (tx, rx) = rendezvous();
        let mut selecting = select_biased((closings.recv(), rx.recv()));
        let waker = selecting.must_wait("nothing is ready");
        closing.close();
        let sent = tx.try_send(5).is_ok();
        assert!(waker.was_woken());
        match selecting.must_be_ready("both") {
            Selected2::First(closed) => assert_eq!((closed, sent), (Err(RecvError), false), "S1"),
            Selected2::Second(received) => assert_eq!((received, sent), (Ok(5), true), "S1"),
        }
        assert!(rx.try_recv().is_err(), "S1: nothing is left over");
    }
}

/// C7, S10: a select holds no handle open: what it sends goes back, and what it waits for ends, with the last
/// handles of the other sides.
#[test]
fn a_select_that_was_dropped_keeps_nothing_open() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (full, fulls) = kind.open();
        kind.fill(&full, |_| tracker.value());
        let mut selecting = select((rx.recv(), full.send(tracker.value())));
        selecting.must_wait("nothing is ready");
        drop(selecting);
        drop(fulls);
        tracker.assert_done();
        assert!(full.is_closed());
        tx.close();
        assert!(rx.try_recv().expect_err("C7").is_closed());
        let _: &Sender<u8> = &tx;
    }
}
