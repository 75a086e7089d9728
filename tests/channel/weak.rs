//! Weak handles, of all kinds of channels that have them: C7, C8, C13. What the types are: `contract/auto_traits.rs`.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::rc::Rc;
use std::thread;

use leno::channel::{RecvError, TryRecvError, WeakReceiver, mpsc};
use leno::{Receiver, Sender, bounded};

use crate::support::memory::Counting;
use crate::support::{Kind, PollExt, Tracker, scale, within};

/// A rendezvous, rings, a bounded one in blocks, and one without a bound.
const KINDS: [Kind; 5] =
    [Kind::Rendezvous, Kind::Bounded(1), Kind::Bounded(64), Kind::Bounded(5000), Kind::Unbounded];

/// Weak handles are no handles: the counts are those of the others.
#[test]
fn counts_leave_weak_handles_out() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        let (sending, receiving) = (tx.downgrade(), rx.downgrade());
        let more = (sending.clone(), receiving.clone(), tx.downgrade());
        assert_eq!((tx.sender_count(), rx.receiver_count()), (1, 1), "{kind:?}");
        let (second, third) = (sending.upgrade().unwrap(), more.1.upgrade().unwrap());
        assert_eq!((sending.sender_count(), sending.receiver_count()), (2, 2));
        assert!(second.same_channel(&tx) && third.same_channel(&rx));
        drop((tx, rx, more));
        assert_eq!((receiving.sender_count(), receiving.receiver_count()), (1, 1));
        drop(second);
        assert_eq!((sending.sender_count(), sending.receiver_count()), (0, 1), "{kind:?}");
        drop(third);
        assert_eq!((receiving.sender_count(), receiving.receiver_count()), (0, 0), "{kind:?}");
    }
}

/// C7: the last sender closes the channel, weak ones or not; what is in it stays to be received.
#[test]
fn the_last_sender_closes_though_weak_ones_live() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let weak = tx.downgrade();
        let sent = kind.room(1);
        (0..sent).for_each(|n| tx.try_send(n).unwrap());
        drop(tx);
        assert!(rx.is_closed(), "{kind:?}");
        assert!(weak.upgrade().is_none());
        (0..sent).for_each(|n| assert_eq!(rx.try_recv(), Ok(n)));
        assert_eq!(rx.try_recv(), Err(TryRecvError::Closed), "C18: {kind:?}");
    }
}

/// C5, C7: a receiver that waits is told.
#[test]
fn the_last_sender_tells_those_who_wait() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<u8>();
        let weak = tx.downgrade();
        let mut receiving = rx.recv();
        let waker = receiving.must_wait("nothing was sent");
        drop(tx);
        assert!(waker.was_woken(), "{kind:?}");
        assert_eq!(receiving.must_be_ready("it is closed"), Err(RecvError));
        drop(weak);
    }
}

/// C7: values go with the last receiver, weak ones or not, and waiting senders get theirs back.
#[test]
fn values_go_with_the_last_receiver() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (weak, other) = (rx.downgrade(), tx.downgrade());
        let sent = kind.room(3);
        (0..sent).for_each(|_| assert!(tx.try_send(tracker.value()).is_ok()));
        let mut sending = tx.send(tracker.value());
        let waits = kind.has_limit() && sent == kind.capacity().unwrap();
        if waits {
            sending.must_wait("it is full");
        }
        drop(rx);
        assert!(weak.upgrade().is_none() && tx.is_closed(), "{kind:?}");
        tracker.assert_live(1, "the one that was not sent");
        assert!(sending.must_be_ready("it is closed").is_err());
        drop(sending);
        tracker.assert_done();
        drop(tx);
        assert!(other.upgrade().is_none());
    }
}

/// C7: a value that owns a weak handle of its own channel keeps nothing; one that owns a handle goes with the last receiver.
#[test]
fn values_that_own_handles_of_the_channel() {
    enum Held {
        Weak(#[allow(dead_code, reason = "it is held")] WeakReceiver<Held>),
        Sender(#[allow(dead_code, reason = "it is held")] Sender<Held>),
    }
    let ((), change) = Counting::measure(|| {
        let (tx, rx) = bounded(4);
        assert!(tx.try_send(Held::Weak(rx.downgrade())).is_ok());
        assert!(tx.try_send(Held::Sender(tx.clone())).is_ok());
        let weak = tx.downgrade();
        drop(tx);
        assert!(!rx.is_closed(), "a value owns a sender");
        drop(rx);
        assert!(weak.upgrade().is_none());
    });
    assert_eq!(change.live, 0);
}

/// An upgraded handle is one as any other.
#[test]
fn upgraded_handles_work() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let (sending, receiving) = (tx.downgrade(), rx.downgrade());
        let mut waiting = rx.recv();
        waiting.must_wait("nothing was sent");
        let upgraded = sending.upgrade().unwrap();
        drop(tx);
        assert!(!rx.is_closed(), "{kind:?}");
        assert_eq!(upgraded.try_send(1), Ok(()));
        assert_eq!(waiting.must_be_ready("it was sent"), Ok(1));
        drop(waiting);
        let last = receiving.upgrade().unwrap();
        drop(rx);
        let thread = thread::spawn(move || upgraded.send_blocking(2));
        assert_eq!(last.recv_blocking(), Ok(2), "{kind:?}");
        thread.join().unwrap().unwrap();
        assert_eq!(last.recv_blocking(), Err(RecvError), "C7: the upgraded one was the last");
        assert!(sending.upgrade().is_none());
    }
}

/// A closed channel has its handles still.
#[test]
fn handles_of_a_closed_channel_are_upgraded() {
    let (tx, rx) = bounded::<u8>(1);
    let (sending, receiving) = (tx.downgrade(), rx.downgrade());
    tx.close();
    assert!(sending.upgrade().is_some_and(|tx| tx.is_closed()));
    assert!(receiving.upgrade().is_some_and(|rx| rx.is_closed()));
}

/// The memory goes with the last of all, whichever it is; the values have gone before.
#[test]
fn nothing_is_leaked() {
    for kind in KINDS {
        for order in 0..6 {
            let round = || {
                let (tx, rx) = kind.open::<[u64; 4]>();
                (0..kind.room(300)).for_each(|_| tx.try_send([1; 4]).unwrap());
                let weak = (tx.downgrade(), rx.downgrade());
                drop(weak.clone());
                match order {
                    0 => drop((weak, tx, rx)),
                    1 => drop((tx, weak, rx)),
                    2 => drop((tx, rx, weak)),
                    3 => drop((rx, tx, weak)),
                    4 => drop((weak.0, rx, tx, weak.1)),
                    _ => drop((rx, weak.1, tx, weak.0)),
                }
            };
            round();
            let ((), change) = Counting::measure(round);
            assert_eq!(change.live, 0, "{kind:?}, order {order}");
        }
    }
}

/// A weak handle costs no memory.
#[test]
fn weak_handles_cost_no_memory() {
    for kind in KINDS {
        let channel = kind.open::<u64>();
        let (weak, change) = Counting::measure(|| (channel.0.downgrade(), channel.1.downgrade().clone()));
        assert_eq!(change.calls, 0);
        drop(weak);
    }
}

/// C13: the last receiver goes, and a value's drop panics: the others are dropped, and the weak ones see it gone.
#[test]
fn a_drop_that_panics_leaves_weak_handles_right() {
    struct Panics(bool, Rc<Cell<u32>>);
    impl Drop for Panics {
        fn drop(&mut self) {
            self.1.set(self.1.get() + 1);
            assert!(!self.0, "a drop");
        }
    }
    let drops = Rc::new(Cell::new(0));
    let (tx, rx) = bounded(4);
    let weak = (tx.downgrade(), rx.downgrade());
    for panics in [false, true, false] {
        assert!(tx.try_send(Panics(panics, Rc::clone(&drops))).is_ok());
    }
    assert!(catch_unwind(AssertUnwindSafe(|| drop(rx))).is_err());
    assert_eq!(drops.get(), 3);
    assert!(weak.1.upgrade().is_none() && tx.is_closed());
    assert_eq!(weak.1.receiver_count(), 0);
    drop(tx);
    assert!(weak.0.upgrade().is_none());
}

/// They say what they are.
#[test]
fn debug_shows_counts() {
    let (tx, rx) = bounded::<u8>(1);
    let (sending, receiving) = (tx.downgrade(), rx.downgrade());
    drop(rx);
    assert_eq!(format!("{sending:?}"), "WeakSender { senders: 1, receivers: 0, .. }");
    assert_eq!(format!("{receiving:?}"), "WeakReceiver { senders: 1, receivers: 0, .. }");
}

/// C7: the same for mpsc, of senders.
#[test]
fn an_mpsc_sender_is_downgraded() {
    let (tx, mut rx) = mpsc::bounded(2);
    let weak = tx.downgrade();
    let upgraded = weak.clone().upgrade().unwrap();
    assert_eq!((weak.sender_count(), weak.receiver_count()), (2, 1));
    drop(tx);
    upgraded.try_send(1).unwrap();
    drop(upgraded);
    assert!(weak.upgrade().is_none() && rx.is_closed());
    assert_eq!(rx.try_recv(), Ok(1));
    assert_eq!(rx.try_recv(), Err(TryRecvError::Closed));
    assert!(format!("{weak:?}").contains("senders: 0"));
}

/// C8: threads upgrade while the last handles go: none gets a handle of a channel that is closing, and `None` means closed.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn upgrades_against_last_drops() {
    let rounds = 300 * scale();
    within("upgrades against last drops", move || {
        for round in 0..rounds {
            let kind = KINDS[round % KINDS.len()];
            let (tx, rx) = kind.open::<usize>();
            let weak = tx.downgrade();
            let upgrading = (0..2).map(|_| {
                let (weak, rx) = (weak.clone(), rx.clone());
                // (Each of them keeps the channel open for the other: so not for ever.)
                thread::spawn(move || {
                    for _ in 0..100 {
                        let Some(tx) = weak.upgrade() else {
                            assert!(rx.is_closed(), "{kind:?}: it has no sender");
                            return;
                        };
                        assert!(!rx.is_closed(), "{kind:?}: it has a sender");
                        let _ = tx.try_send(1);
                        while rx.try_recv().is_ok() {}
                    }
                })
            });
            let upgrading: Vec<_> = upgrading.collect();
            if round % 2 == 0 {
                thread::yield_now();
            }
            drop(tx);
            upgrading.into_iter().for_each(|thread| thread.join().unwrap());
            assert!(weak.upgrade().is_none());
            rx.assert_valid();
        }
    });
}

/// The last handles of both sides and the weak ones go at once, on four threads: every value goes once, and all memory.
#[test]
#[cfg_attr(miri, ignore = "too much for an interpreter")]
fn all_go_at_once() {
    let rounds = 300 * scale();
    let tracker = Tracker::new();
    for round in 0..rounds {
        let kind = KINDS[round % KINDS.len()];
        let (tx, rx): (Sender<_>, Receiver<_>) = kind.open();
        let _ = tx.try_send(tracker.value());
        let (sending, receiving) = (tx.downgrade(), rx.downgrade());
        let value = tracker.value();
        thread::scope(|scope| {
            scope.spawn(move || drop(tx));
            scope.spawn(move || drop(rx));
            scope.spawn(move || sending.upgrade().map(|tx| drop(tx.try_send(value))));
            scope.spawn(move || receiving.clone().upgrade().map(|rx| drop(rx.try_recv())));
        });
    }
    tracker.assert_done();
}
