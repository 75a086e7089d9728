//! S9: operations that are lent to a select as `&mut`.

use std::future::pending;
use std::sync::Arc;

use futures_core::FusedFuture;

use leno::channel::broadcast;
use leno::rendezvous;
use leno::select::{Select, Selected2, Selected3, Selected4, foreign, select, select_biased};
use leno::sync::{Mutex, Notify, OwnedRwLockUpgradableReadGuard, RwLock, Semaphore};

use crate::KINDS;
use crate::dynamic::panic_message;
use crate::support::{PollExt, Tracker};

/// S9: a send that was made in the branch drops its value when it loses; a lent one keeps it, whether the select was
/// ready at once or waited, and whether it won elsewhere or was dropped.
#[test]
fn a_lent_send_keeps_its_value() {
    for kind in KINDS {
        for waits in [false, true] {
            for dropped in [false, true] {
                let what = format!("{kind:?}, waits: {waits}, dropped: {dropped}");
                let tracker = Tracker::new();
                let (tx, _rx) = kind.open();
                let room = kind.fill(&tx, |_| tracker.value());
                let (quit, quits) = leno::bounded(1);
                let mut sending = tx.send(tracker.value());
                let mut selecting = select((&mut sending, tx.send(tracker.value()), quits.recv()));
                if !waits {
                    quit.try_send(()).expect("there is room");
                } else {
                    selecting.must_wait("nothing is ready");
                }
                if dropped {
                    drop(selecting);
                } else {
                    let _ = quit.try_send(());
                    assert!(matches!(selecting.must_be_ready(&what), Selected3::Third(Ok(()))), "{what}");
                    drop(selecting);
                }
                assert_eq!(tracker.drops(room + 1), 1, "S9: the one made in the branch is dropped; {what}");
                assert_eq!(tracker.drops(room), 0, "S9: the lent one is kept; {what}");
                assert!(!sending.is_terminated(), "S9: it can be awaited; {what}");
                let kept = sending.into_inner().expect("S9: its value");
                assert!(kept == room, "S9: {what}");
            }
        }
    }
}

/// S9: a lent send that wins has sent, and has nothing to give back; one that fails has given it back.
#[test]
fn a_lent_send_that_completed_has_nothing_left() {
    for kind in KINDS {
        let tracker = Tracker::new();
        let (tx, rx) = kind.open();
        let (_silent, silents) = rendezvous::<u8>();
        kind.fill(&tx, |_| tracker.value());
        let mut sending = tx.send(tracker.value());
        let mut selecting = select((&mut sending, silents.recv()));
        let waker = selecting.must_wait("full");
        drop(rx.try_recv().expect("a sender waits, or there are values"));
        assert!(waker.was_woken());
        assert!(matches!(selecting.must_be_ready("room"), Selected2::First(Ok(()))), "{kind:?}");
        drop(selecting);
        assert!(sending.is_terminated(), "S9: it is over");
        assert!(sending.into_inner().is_none(), "S9: sent");
        let mut sending = tx.send(tracker.value());
        tx.close();
        let outcome = select((silents.recv(), &mut sending)).must_be_ready("S5: closed");
        assert!(matches!(outcome, Selected2::Second(Err(_))));
        drop(outcome);
        assert!(sending.into_inner().is_none(), "S9: it came back with the error");
        drop(rx);
        tracker.assert_done();
    }
}

/// S9, S10: a select is dropped after a peer has taken the lent send's value, before it has run: the send has its outcome still,
/// for whoever asks next.
#[test]
fn a_lent_send_whose_value_was_taken_has_sent() {
    for (asks, how) in
        ["it is awaited", "it is selected", "it gives back", "it is dropped"].into_iter().enumerate()
    {
        let tracker = Tracker::new();
        let (tx, rx) = rendezvous();
        let (_silent, silents) = rendezvous::<u8>();
        let mut sending = tx.send(tracker.value());
        let mut selecting = select((silents.recv(), &mut sending));
        selecting.must_wait("nobody is there");
        let taken = rx.try_recv().expect("the select sends");
        drop(selecting);
        assert!(!sending.is_terminated(), "S9: nobody has its outcome; {how}");
        match asks {
            0 => sending.must_be_ready(how).expect("S9: it has sent"),
            1 => {
                let outcome = select((silents.recv(), &mut sending)).must_be_ready(how);
                assert!(matches!(outcome, Selected2::Second(Ok(()))), "S9: it has sent");
            }
            2 => assert!(sending.into_inner().is_none(), "C1: there is one value, and it was taken"),
            _ => drop(sending),
        }
        drop(taken);
        tracker.assert_done();
        tx.assert_valid();
    }
}

/// How a set, or a select, ends that has the outcome of what it was lent, and that nobody has asked for it.
#[derive(Clone, Copy, Debug)]
enum Unasked {
    /// It only asks what is ready.
    Asked,
    /// The operation that has won is dropped unused.
    Unused,
    /// That, and the branch is removed.
    Removed,
    /// The future of its wait is dropped when a peer has served it, and it asks what is ready then.
    Dropped,
}

const UNASKED: [Unasked; 4] = [Unasked::Asked, Unasked::Unused, Unasked::Removed, Unasked::Dropped];

/// Lends a future to a set that ends like this; `$serve`: it completes meanwhile.
macro_rules! ends_unasked {
    ($future:expr, $ends:expr, $serve:expr) => {{
        let what = "it has happened";
        let mut set = Select::new();
        let token = set.add(&mut $future);
        if let Unasked::Dropped = $ends {
            let mut selecting = set.select();
            selecting.must_wait("nothing is ready");
            $serve();
            drop(selecting);
        } else {
            $serve();
        }
        match $ends {
            Unasked::Asked | Unasked::Dropped => assert_eq!(set.try_ready(), Some(0), "{what}"),
            Unasked::Unused => assert!(set.try_select().expect(what).is(token)),
            Unasked::Removed => {
                assert!(set.select().must_be_ready(what).is(token));
                set.remove(token);
            }
        }
    }};
}

/// S9, S13: a lent send that has sent, before or in a set that is gone before anybody has asked for the outcome, says so to whoever
/// asks next: as it is awaited, waited for, selected, or asked for its value.
#[test]
fn a_lent_send_whose_outcome_nobody_asked_for_has_sent() {
    let cases = KINDS.into_iter().flat_map(|kind| UNASKED.map(|ends| (kind, ends)));
    for ((kind, ends), asks) in cases.flat_map(|case| [0, 1, 2, 3].map(|asks| (case, asks))) {
        for before in [false, true] {
            let what = format!("{kind:?}, {ends:?}, it had waited: {before}, asks {asks}");
            let (tx, rx) = kind.open();
            let room = kind.fill(&tx, |i| i);
            let mut sending = tx.send(room);
            let serve = || assert_eq!(rx.try_recv(), Ok(0), "a sender waits, or there are values; {what}");
            match ends {
                // (That is for one that waits in the set.)
                Unasked::Dropped if before => continue,
                _ if before => {
                    sending.must_wait("full");
                    serve();
                    ends_unasked!(sending, ends, || {});
                }
                // (To ask completes nothing; and nobody meets one that does not wait.)
                Unasked::Asked => continue,
                Unasked::Unused | Unasked::Removed if !kind.is_buffered() => continue,
                _ => ends_unasked!(sending, ends, serve),
            }
            assert!(!sending.is_terminated(), "S13: nobody has its outcome; {what}");
            match asks {
                0 => assert_eq!(sending.must_be_ready(&what), Ok(()), "S9: it has sent"),
                1 => assert_eq!(sending.wait(), Ok(()), "S9: it has sent; {what}"),
                2 => {
                    let outcome = select_biased((rx.recv(), &mut sending)).must_be_ready(&what);
                    assert_eq!(outcome, Selected2::Second(Ok(())), "S9: it has sent");
                    assert!(sending.is_terminated(), "{what}");
                }
                _ => assert_eq!(sending.into_inner(), None, "S9: it has sent; {what}"),
            }
            assert!(rx.drain().eq(1..=room), "C1: once; {what}");
        }
    }
}

/// S9, S13: the same of a broadcast, which says to how many it was sent.
#[test]
fn a_lent_broadcast_whose_outcome_nobody_asked_for_has_sent() {
    for ends in UNASKED {
        let (tx, mut rx) = broadcast::with_lag(1, broadcast::Lag::Suspend);
        assert_eq!(tx.send(0), Ok(1));
        let mut sending = tx.send_async(1);
        ends_unasked!(sending, ends, || assert_eq!(rx.try_recv(), Ok(0)));
        assert!(!sending.is_terminated(), "S13: nobody has its outcome; {ends:?}");
        assert_eq!(sending.must_be_ready("S9"), Ok(1), "it has sent; {ends:?}");
        assert_eq!((rx.try_recv(), rx.try_recv().is_ok()), (Ok(1), false), "C1: once; {ends:?}");
    }
}

/// S9: operations that were lent and lost can be awaited afterwards, each of every sort.
#[test]
fn lent_operations_go_on_afterwards() {
    for kind in KINDS {
        for waits in [false, true] {
            let (tx, rx) = kind.open::<usize>();
            let (full, fulls) = kind.open();
            let room = kind.fill(&full, |i| i);
            let mutex = Mutex::new(0);
            let guard = mutex.try_lock().expect("free");
            let (quit, quits) = leno::bounded(1);
            let (mut receiving, mut sending, mut locking) = (rx.recv(), full.send(100), mutex.lock());
            let mut selecting = select((&mut receiving, &mut sending, &mut locking, quits.recv()));
            if waits {
                selecting.must_wait("nothing is ready");
            }
            quit.try_send(()).expect("a receiver waits, or there is room");
            assert!(matches!(selecting.must_be_ready("to quit"), Selected4::Fourth(Ok(()))));
            drop(selecting);
            // None of them waits; each begins to now.
            assert_eq!(tx.try_send(0).is_ok(), kind.is_buffered(), "S1: {kind:?}");
            assert_eq!(rx.drain().count(), usize::from(kind.is_buffered()), "S1");
            let woken = [receiving.must_wait("empty"), sending.must_wait("full"), locking.must_wait("held")];
            tx.try_send(9).expect("a receiver waits, or there is room");
            assert_eq!(fulls.try_recv(), Ok(if kind.is_buffered() { 0 } else { 100 }));
            drop(guard);
            assert!(woken.iter().all(|waker| waker.was_woken()), "S9: {kind:?}");
            assert_eq!(receiving.must_be_ready("S9"), Ok(9));
            assert_eq!(sending.must_be_ready("S9"), Ok(()));
            assert_eq!(*locking.must_be_ready("S9"), 0);
            assert_eq!(fulls.drain().count(), room);
        }
    }
}

/// S9: the same for `closed()`.
#[test]
fn a_lent_wait_for_the_close_goes_on_afterwards() {
    for kind in KINDS {
        let (tx, _rx) = kind.open::<u8>();
        let (quit, quits) = rendezvous();
        let mut closing = tx.closed();
        for _ in 0..3 {
            let mut selecting = select((&mut closing, quits.recv()));
            selecting.must_wait("nothing is ready");
            quit.try_send(()).expect("the select waits");
            assert_eq!(selecting.must_be_ready("to quit"), Selected2::Second(Ok(())));
        }
        let woken = closing.must_wait("open");
        tx.close();
        assert!(woken.was_woken(), "S9");
        closing.must_be_ready("S9: closed");
    }
}

/// S9: operations that waited as futures of their own go on in the select, and go on alone after it.
#[test]
fn operations_that_waited_already_are_lent() {
    for kind in KINDS {
        let (tx, rx) = kind.open::<usize>();
        let (full, fulls) = kind.open();
        kind.fill(&full, |i| i);
        let (mut receiving, mut sending) = (rx.recv(), full.send(100));
        let alone = [receiving.must_wait("empty"), sending.must_wait("full")];
        let mut selecting = select((&mut receiving, &mut sending));
        let waker = selecting.must_wait("nothing is ready");
        assert!(alone.iter().all(|waker| Arc::strong_count(waker) == 1), "the wakers of before are gone");
        drop(selecting);
        assert_eq!(Arc::strong_count(&waker), 1, "the select's waker is gone");
        let alone = [receiving.must_wait("empty"), sending.must_wait("full")];
        let mut selecting = select((&mut receiving, &mut sending));
        let waker = selecting.must_wait("nothing is ready");
        tx.try_send(7).expect("a receiver waits, or there is room");
        assert!(waker.was_woken() && !alone[0].was_woken(), "C12: {kind:?}");
        assert_eq!(selecting.must_be_ready("woken"), Selected2::First(Ok(7)));
        drop(selecting);
        let alone = sending.must_wait("S9: it lost, and waits on");
        fulls.try_recv().expect("a sender waits, or there are values");
        assert!(alone.was_woken());
        assert_eq!(sending.must_be_ready("S9"), Ok(()));
    }
}

/// S9, C9: an operation that a peer had completed already when it is lent wins, though another is ready and comes
/// first; its value is not lost, and nothing else happens.
#[test]
fn an_operation_that_had_happened_already_wins() {
    let (tx, rx) = rendezvous();
    let (other, others) = leno::bounded(1);
    other.try_send(1).expect("there is room");
    let mut receiving = rx.recv();
    receiving.must_wait("nobody is there");
    tx.try_send(7).expect("a receiver waits");
    let outcome = select_biased((others.recv(), &mut receiving)).must_be_ready("both");
    assert_eq!(outcome, Selected2::Second(Ok(7)), "it had happened");
    assert_eq!(others.len(), 1, "S1");
    assert!(receiving.is_terminated());
    let mut sending = tx.send(8);
    sending.must_wait("nobody is there");
    assert_eq!(rx.try_recv(), Ok(8));
    let outcome = select_biased((others.recv(), &mut sending)).must_be_ready("both");
    assert_eq!(outcome, Selected2::Second(Ok(())), "it had happened");
    assert_eq!((others.len(), rx.len()), (1, 0), "S1");
}

/// S9, S1: two operations that had both happened when they were lent: one wins, and the other has its outcome
/// still.
#[test]
fn two_operations_that_had_happened_already() {
    for first_one in [true, false] {
        let (a, a_rx) = rendezvous();
        let (b, b_rx) = rendezvous();
        let (mut first, mut second) = (a_rx.recv(), b_rx.recv());
        first.must_wait("nobody is there");
        second.must_wait("nobody is there");
        a.try_send(1).expect("a receiver waits");
        b.try_send(2).expect("a receiver waits");
        if first_one {
            let outcome = select_biased((&mut first, &mut second)).must_be_ready("both have");
            assert_eq!(outcome, Selected2::First(Ok(1)));
            assert_eq!(second.must_be_ready("it has happened as well"), Ok(2), "C9: not lost");
        } else {
            let outcome = select_biased((&mut second, &mut first)).must_be_ready("both have");
            assert_eq!(outcome, Selected2::First(Ok(2)));
            assert_eq!(first.must_be_ready("it has happened as well"), Ok(1), "C9: not lost");
        }
    }
}

/// S10: those behind one that had happened when it was lent lose as others do: those that wait leave their lines, those that were told
/// to look tell the next one. But what has happened to them stays with them.
#[test]
fn those_behind_one_that_had_happened_leave() {
    for (mutex, told) in [(Mutex::fair(()), false), (Mutex::new(()), false), (Mutex::new(()), true)] {
        let (tx, rx) = rendezvous();
        let guard = mutex.try_lock().expect("free");
        let (mut receiving, mut locking, mut next) = (rx.recv(), mutex.lock(), mutex.lock());
        receiving.must_wait("nobody is there");
        locking.must_wait("held");
        let waker = next.must_wait("held");
        tx.try_send(1).expect("a receiver waits");
        let guard = Some(guard).filter(|_| !told);
        let outcome = select_biased((&mut receiving, &mut locking)).must_be_ready("it has happened");
        assert!(matches!(outcome, Selected2::First(Ok(1))));
        drop(guard);
        assert!(waker.was_woken(), "S10: it is the first in line, told: {told}");
        drop(next.must_be_ready("nobody has the lock"));
        drop(locking.must_be_ready("it goes on as if it had not begun"));
    }

    let mutex = Mutex::fair(());
    let (tx, rx) = rendezvous();
    let guard = mutex.try_lock().expect("free");
    let (mut receiving, mut locking) = (rx.recv(), mutex.lock());
    receiving.must_wait("nobody is there");
    locking.must_wait("held");
    tx.try_send(1).expect("a receiver waits");
    drop(guard);
    drop(select_biased((&mut receiving, &mut locking)).must_be_ready("it has happened"));
    assert!(mutex.try_lock().is_none(), "it was granted");
    drop(locking.must_be_ready("S9: its own outcome"));
}

/// S9, S10: a receive that was handed a value, and a lock that was granted, in a select that is dropped before it runs:
/// they have given that back, so they have not happened, and can be awaited.
#[test]
fn a_lent_operation_that_gave_its_outcome_back_goes_on() {
    let (tx, rx) = rendezvous();
    let mut receiving = rx.recv();
    let mut selecting = select((&mut receiving, foreign(pending::<()>())));
    selecting.must_wait("nothing is ready");
    tx.try_send(1).expect("the select waits");
    drop(selecting);
    assert!(!receiving.is_terminated(), "S10: it has not happened");
    assert_eq!(rx.len(), 1, "C9: the value came back");
    assert_eq!(receiving.must_be_ready("a value is there"), Ok(1));
    for mutex in [Mutex::new(5), Mutex::fair(5)] {
        let guard = mutex.try_lock().expect("free");
        let mut locking = mutex.lock();
        let mut selecting = select((foreign(pending::<()>()), &mut locking));
        selecting.must_wait("held");
        drop(guard);
        drop(selecting);
        assert!(mutex.try_lock().is_some(), "M2: free again");
        assert_eq!(*locking.must_be_ready("free"), 5, "S10: it has not happened");
    }
}

/// S9: a select that was never polled has not touched what it was lent.
#[test]
fn a_select_that_was_never_polled_touches_nothing() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let mut receiving = rx.recv();
        let alone = receiving.must_wait("empty");
        let (_silent, silents) = rendezvous::<u8>();
        drop(select((&mut receiving, silents.recv())));
        tx.try_send(3).expect("a receiver waits, or there is room");
        assert!(alone.was_woken(), "S9: it waits as before; {kind:?}");
        assert_eq!(receiving.must_be_ready("served"), Ok(3));
        let mut sending = tx.send(4);
        drop(select((&mut sending, silents.recv())));
        assert_eq!(sending.into_inner(), Some(4), "S9");
    }
}

/// S9: one send and one receive, lent to many selects in a loop, happen once each.
#[test]
fn a_lent_operation_is_used_in_many_selects() {
    for kind in KINDS {
        let (tx, rx) = kind.open();
        let room = kind.fill(&tx, |i| i);
        let (tick, ticks) = rendezvous();
        let mut sending = tx.send(1000);
        for i in 0..100 {
            let mut selecting = select((&mut sending, ticks.recv()));
            let waker = selecting.must_wait("nothing is ready");
            if i == 99 {
                rx.try_recv().expect("a sender waits, or there are values");
                assert!(waker.was_woken());
                assert_eq!(selecting.must_be_ready("served"), Selected2::First(Ok(())), "{kind:?}");
            } else if i % 3 != 0 {
                tick.try_send(i).expect("the select waits");
                assert_eq!(selecting.must_be_ready("a tick"), Selected2::Second(Ok(i)));
            }
            // Else it is dropped as it waits.
        }
        assert!(sending.into_inner().is_none(), "sent");
        let mut left = rx.drain().collect::<Vec<_>>();
        left.sort_unstable();
        assert_eq!(left.len(), room, "sent once; {kind:?}");
    }
}

/// S9: the place in the line: lent operations that lost have left it, and join at the back.
#[test]
fn a_lent_operation_that_lost_has_left_the_line() {
    let (tx, rx) = rendezvous();
    let (quit, quits) = rendezvous();
    let mut early = rx.recv();
    let mut selecting = select((&mut early, quits.recv()));
    selecting.must_wait("nothing is ready");
    let mut late = rx.recv();
    late.must_wait("nobody is there");
    quit.try_send(()).expect("the select waits");
    assert_eq!(selecting.must_be_ready("to quit"), Selected2::Second(Ok(())));
    drop(selecting);
    early.must_wait("nobody is there");
    tx.try_send(1).expect("two receivers wait");
    assert_eq!(late.must_be_ready("S1: the next in line"), Ok(1));
    tx.try_send(2).expect("one receiver waits");
    assert_eq!(early.must_be_ready("at the back"), Ok(2));
}

/// S9: an operation that has completed cannot be selected again: a clear message, before anything happens.
#[test]
fn a_completed_operation_panics_when_selected_again() {
    let (tx, rx) = leno::bounded(4);
    let mutex = Mutex::new(());
    tx.try_send(1).expect("there is room");
    let mut receiving = rx.recv();
    receiving.must_be_ready("a value is there").expect("open");
    tx.try_send(2).expect("there is room");
    let mut sending = tx.send(3);
    let outcome = select((&mut sending, foreign(pending::<()>()))).must_be_ready("there is room");
    assert!(matches!(outcome, Selected2::First(Ok(()))));
    let mut locking = mutex.lock();
    drop(locking.must_be_ready("free"));
    let messages = [
        panic_message(|| _ = select((&mut receiving, rx.recv())).must_be_ready("no")),
        panic_message(|| _ = select_biased((&mut sending, rx.recv())).must_be_ready("no")),
        panic_message(|| _ = select_biased((&mut locking, rx.recv())).must_be_ready("no")),
    ];
    for message in messages {
        assert!(message.contains("selected after it had completed"), "S9: {message}");
    }
    assert_eq!(rx.len(), 2, "S1: nothing was taken");
    rx.assert_valid();
}

/// S9, C29: also if what it was about is gone: a permit, or a guard, may have taken it with it.
#[test]
fn a_completed_operation_whose_owner_is_gone_panics_when_it_is_used_again() {
    macro_rules! misused {
        ($operation:expr) => {
            let mut operation = $operation;
            let begun = concat!("begun at ", file!());
            _ = operation.must_be_ready("free");
            assert!(operation.is_terminated() && format!("{operation:?}").contains("waits: false"));
            let messages = [
                panic_message(|| _ = select((&mut operation, foreign(pending::<()>()))).must_be_ready("no")),
                panic_message(|| leno::select_blocking! { _ = &mut operation => {} default => {} }),
                panic_message(|| {
                    let mut set = leno::select::Select::new();
                    _ = set.add(&mut operation);
                    _ = set.try_select();
                }),
                panic_message(|| _ = operation.must_be_ready("no")),
            ];
            for message in messages {
                assert!(message.contains("after it had completed"), "S9: {message}");
                assert!(message.contains(begun) || !cfg!(debug_assertions), "{message}");
            }
        };
    }
    let named = || leno::channel::Builder::<u8>::new().name("one that is gone").capacity(1).build();
    misused!(named().0.reserve_owned());
    misused!(named().0.into_send(1));
    misused!(named().1.into_recv());
    misused!(Arc::new(Mutex::new(1)).lock_arc());
    misused!(Arc::new(Semaphore::new(1)).acquire_arc());
    let lock = || Arc::new(RwLock::new(1));
    misused!(lock().read_arc());
    misused!(lock().write_arc());
    misused!(lock().upgradable_read_arc());
    let upgradable = lock().upgradable_read_arc().must_be_ready("free");
    misused!(OwnedRwLockUpgradableReadGuard::upgrade(upgradable));
    let notify = Arc::new(Notify::new());
    notify.notify_one();
    misused!(notify.notified_arc());
    let (tx, rx) = leno::channel::oneshot::channel();
    tx.send(1).expect("the receiver is there");
    misused!(rx);
}
