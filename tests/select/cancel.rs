//! S10, C9–C11: a select that is dropped, in whatever state, has done nothing; what it was given goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::Waker;

use leno::rendezvous;
use leno::select::{Selected2, select, select_biased};
use leno::sync::Mutex;

use crate::support::{Kind, PollExt, Tracker, within};
use crate::{KINDS, assert_one_is_stranded};

/// S10: never polled, and waiting.
#[test]
fn dropped_before_anything_happens() {
    for kind in KINDS {
        for polls in 0..3 {
            let tracker = Tracker::new();
            let (tx, rx) = kind.open();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |_| tracker.value());
            let mut selecting = select((rx.recv(), full.send(tracker.value())));
            for _ in 0..polls {
                selecting.must_wait("nothing is ready");
            }
            drop(selecting);
            assert_eq!(tracker.drops(room), 1, "C10: a send that was not done drops its value; {kind:?}");
            assert_eq!(
                tx.try_send(tracker.value()).is_ok(),
                kind.is_buffered(),
                "S10: nobody waits; {kind:?}"
            );
            assert_eq!(rx.drain().count(), usize::from(kind.is_buffered()));
            assert_eq!(fulls.drain().count(), room, "S10: nothing was sent; {kind:?}");
            assert!(fulls.try_recv().is_err(), "S10: nobody waits; {kind:?}");
            tracker.assert_done();
            tx.assert_valid();
            full.assert_valid();
        }
    }
}

/// S10, C11: notified of a value, or of two: each goes to the next in line.
#[test]
fn dropped_after_it_was_notified() {
    for kind in KINDS.into_iter().filter(|kind| kind.is_buffered()) {
        for both in [false, true] {
            let (a, a_rx) = kind.open();
            let (b, b_rx) = kind.open();
            let mut selecting = select((a_rx.recv(), b_rx.recv()));
            let woken = selecting.must_wait("nothing is ready");
            let (mut next_a, mut next_b) = (a_rx.recv(), b_rx.recv());
            let (woken_a, woken_b) = (next_a.must_wait("empty"), next_b.must_wait("empty"));
            a.try_send(1).expect("there is room");
            if both {
                b.try_send(2).expect("there is room");
            }
            assert!(woken.was_woken() && !woken_a.was_woken(), "C2: the first in line is told");
            drop(selecting);
            assert!(woken_a.was_woken(), "C11: passed on; {kind:?}");
            assert_eq!(woken_b.was_woken(), both, "C11: passed on; {kind:?}");
            assert_eq!(next_a.must_be_ready("C11"), Ok(1));
            if both {
                assert_eq!(next_b.must_be_ready("C11"), Ok(2));
            }
        }
    }
}

/// S10, C9: handed a value: it goes to the next receiver, be it plain or a select, or waits for one.
#[test]
fn dropped_after_it_was_handed_a_value() {
    for next in 0..4 {
        let tracker = Tracker::new();
        let (tx, rx) = rendezvous();
        let (_silent, silents) = rendezvous::<u8>();
        let mut selecting = select((silents.recv(), rx.recv()));
        let woken = selecting.must_wait("nothing is ready");
        let mut plain = rx.recv();
        let mut other = select((rx.recv(), silents.recv()));
        match next {
            0 => drop(plain.must_wait("empty")),
            1 => drop(other.must_wait("nothing is ready")),
            _ => {}
        }
        tx.try_send(tracker.value()).expect("the select waits");
        assert!(woken.was_woken());
        drop(selecting);
        tracker.assert_live(1, "C9: not lost");
        assert_eq!(rx.len(), usize::from(next > 1), "C9: counted where nobody waits");
        match next {
            0 => drop(plain.must_be_ready("C9: the next receiver")),
            1 => assert!(matches!(other.must_be_ready("C9: a select"), Selected2::First(Ok(_)))),
            2 => drop(rx.try_recv().expect("C9: first in line")),
            _ => assert!(matches!(other.must_be_ready("C9: first in line"), Selected2::First(Ok(_)))),
        }
        drop((plain, other));
        assert_eq!(rx.len(), 0);
        tracker.assert_done();
        tx.assert_valid();
    }
}

/// S10, C9: through a whole line of selects that were each handed it and dropped; the order of hand-overs stays.
#[test]
fn values_pass_through_a_line_of_dropped_selects() {
    let (tx, rx) = rendezvous();
    let (_silent, silents) = rendezvous::<u8>();
    let mut line = (0..20).map(|_| select((silents.recv(), rx.recv()))).collect::<Vec<_>>();
    for selecting in &mut line {
        selecting.must_wait("nothing is ready");
    }
    (0..10).for_each(|i| tx.try_send(i).expect("a select waits"));
    // Those that were handed a value go first, in an order of their own.
    for i in [3, 0, 7, 5] {
        drop(line.remove(i));
    }
    drop(line);
    assert_eq!(rx.len(), 10, "C9");
    assert_eq!(rx.try_iter().collect::<Vec<_>>(), (0..10).collect::<Vec<_>>(), "C9: the order of hand-overs");
    assert_eq!(silents.len(), 0);
    tx.assert_valid();
}

/// S10, C11: its send was taken: sent, also if it is dropped before it runs; nothing else happens.
#[test]
fn dropped_after_its_value_was_taken() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (other, others) = kind.open::<u8>();
        let room = kind.fill(&tx, |_| tracker.value());
        let mut selecting = select((others.recv(), tx.send(tracker.value())));
        selecting.must_wait("nothing is ready");
        let first = rx.try_recv().expect("the select sends, or there are values");
        drop(selecting);
        assert!(first == 0, "C2");
        assert_eq!(rx.len(), room, "C11: sent; {kind:?}");
        assert!(rx.drain().all(|value| value.id > 0), "C2");
        assert_eq!(other.try_send(1).is_ok(), kind.is_buffered(), "S1: the other branch waits no more");
        drop(first);
        tracker.assert_done();
    }
}

/// S10, M2: granted a lock: the next in line has it, or it is free.
#[test]
fn dropped_after_it_was_granted_a_lock() {
    for mutex in [Mutex::new(0), Mutex::fair(0)] {
        for waits in [true, false] {
            let (_silent, silents) = rendezvous::<u8>();
            let guard = mutex.try_lock().expect("free");
            let mut selecting = select((silents.recv(), mutex.lock()));
            let woken = selecting.must_wait("held");
            let mut next = mutex.lock();
            let next_woken = waits.then(|| next.must_wait("held"));
            drop(guard);
            assert!(woken.was_woken(), "M2: the first in line has the lock, or is told");
            drop(selecting);
            if let Some(next_woken) = next_woken {
                assert!(next_woken.was_woken(), "M2: passed on");
            }
            drop(next.must_be_ready("M2: passed on"));
            assert!(mutex.try_lock().is_some(), "M1: free");
            mutex.assert_valid();
        }
    }
}

/// S10, S5: told of a close: nothing to pass on, nobody is left.
#[test]
fn dropped_after_a_close() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (other, others) = kind.open::<u8>();
        let room = kind.fill(&tx, |_| tracker.value());
        let mut selecting = select((others.recv(), tx.send(tracker.value()), tx.closed()));
        let woken = selecting.must_wait("nothing is ready");
        tx.close();
        assert!(woken.was_woken(), "S5");
        drop(selecting);
        assert_eq!(tracker.drops(room), 1, "C10: its value");
        assert_eq!(other.try_send(1).is_ok(), kind.is_buffered(), "S10: nobody waits");
        assert_eq!(rx.drain().count(), room, "C5");
        assert_eq!(Arc::strong_count(&woken), 1, "no waker is kept");
        tracker.assert_done();
    }
}

/// C26: a forgotten select strands its own claim at most: the channels go on, and can be dropped.
#[test]
fn forgotten_selects() {
    for kind in KINDS {
        for handed in [false, true] {
            let (tx, rx) = kind.open();
            let (other, others) = kind.open::<usize>();
            let mut selecting = select((rx.recv(), others.recv()));
            selecting.must_wait("nothing is ready");
            if handed {
                tx.try_send(0).expect("the select waits, or there is room");
            }
            std::mem::forget(selecting);
            assert_one_is_stranded(&other, &others);
            tx.assert_valid();
            other.assert_valid();
        }
    }
}

/// S10, C1: selects that are dropped at any moment of a peer's work on another thread, also in the middle of a claim:
/// every value is received, comes back, or stays in the channel; none is lost or doubled.
#[test]
fn dropped_while_peers_are_at_work() {
    const ROUNDS: usize = 20_000;
    for kind in [Kind::Rendezvous, Kind::Bounded(1)] {
        within("S10: dropped while peers are at work", move || {
            let tracker = Tracker::new();
            let (a, a_rx) = kind.open();
            let (b, b_rx) = kind.open();
            let over = Arc::new(AtomicBool::new(false));
            let sent = Arc::new(AtomicUsize::new(0));
            let received = Arc::new(AtomicUsize::new(0));
            let sender = std::thread::spawn({
                let (a, over, sent, tracker) = (a.clone(), over.clone(), sent.clone(), tracker.clone());
                move || {
                    while !over.load(Ordering::Acquire) {
                        sent.fetch_add(usize::from(a.try_send(tracker.value()).is_ok()), Ordering::Relaxed);
                    }
                }
            });
            let receiver = std::thread::spawn({
                let (b_rx, over, received) = (b_rx.clone(), over.clone(), received.clone());
                move || {
                    while !over.load(Ordering::Acquire) {
                        received.fetch_add(usize::from(b_rx.try_recv().is_ok()), Ordering::Relaxed);
                    }
                }
            });
            let (mut got, mut given) = (0, 0);
            for i in 0..ROUNDS {
                let mut sending = b.send(tracker.value());
                let mut selecting = select_biased((a_rx.recv(), &mut sending));
                for _ in 0..1 + i % 2 {
                    match selecting.poll_with(Waker::noop()) {
                        std::task::Poll::Ready(Selected2::First(value)) => {
                            value.expect("open");
                            got += 1;
                            break;
                        }
                        std::task::Poll::Ready(Selected2::Second(sent)) => {
                            sent.expect("open");
                            break;
                        }
                        std::task::Poll::Pending => {}
                    }
                }
                drop(selecting);
                given += usize::from(sending.into_inner().is_none());
            }
            over.store(true, Ordering::Release);
            sender.join().expect("the sender ends");
            receiver.join().expect("the receiver ends");
            got += a_rx.drain().count();
            let taken = received.load(Ordering::Relaxed) + b_rx.drain().count();
            assert_eq!(got, sent.load(Ordering::Relaxed), "C9: what was sent is received; {kind:?}");
            assert_eq!(taken, given, "S9: what was not sent came back; {kind:?}");
            assert_eq!(a.try_send(tracker.value()).is_ok(), kind.is_buffered(), "S10: nobody waits");
            a.assert_valid();
            b.assert_valid();
            drop((a_rx, b_rx));
            tracker.assert_done();
        });
    }
}
