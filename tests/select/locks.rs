//! M8, M2: locks take part in selects.

use std::future::pending;
use std::sync::Arc;
use std::task::Poll;

use leno::rendezvous;
use leno::select::{Select, Selected2, Selected3, foreign, select, select_biased};
use leno::sync::{Mutex, MutexGuard};

use crate::support::{CountingWaker, Crew, Place, PollExt};
use crate::{choose, each_place};

fn policies() -> [fn(u32) -> Mutex<u32>; 2] {
    [Mutex::new, Mutex::fair]
}

/// M8, S1: of two free mutexes one is locked; the biased select takes the first.
#[test]
fn one_of_two_free_mutexes_is_locked() {
    for new in policies() {
        let (a, b) = (new(1), new(2));
        for _ in 0..20 {
            let outcome = select_biased((a.lock(), b.lock())).must_be_ready("both are free");
            assert!(matches!(&outcome, Selected2::First(guard) if **guard == 1), "S2");
            assert!(a.try_lock().is_none() && b.try_lock().is_some(), "S1");
            drop(outcome);
            let outcome = select((a.lock(), b.lock())).must_be_ready("both are free");
            let first = matches!(&outcome, Selected2::First(_));
            assert_eq!((a.try_lock().is_none(), b.try_lock().is_none()), (first, !first), "S1");
        }
    }
}

/// M8: whichever of two held mutexes is freed first is locked, and the other line is left.
#[test]
fn the_mutex_that_is_freed_first_is_locked() {
    for new in policies() {
        for first_one in [true, false] {
            let (a, b) = (new(1), new(2));
            let (guard_a, guard_b) = (a.try_lock().expect("free"), b.try_lock().expect("free"));
            let mut selecting = select((a.lock(), b.lock()));
            let woken = selecting.must_wait("both are held");
            let (freed, kept) = if first_one { (guard_a, guard_b) } else { (guard_b, guard_a) };
            drop(freed);
            assert!(woken.was_woken(), "M8");
            let outcome = selecting.must_be_ready("M8: freed");
            assert_eq!(matches!(&outcome, Selected2::First(_)), first_one);
            drop(kept);
            let other = if first_one { &b } else { &a };
            assert!(other.try_lock().is_some(), "S1: nobody is granted the other one");
            drop(outcome);
            assert!(a.try_lock().is_some() && b.try_lock().is_some(), "M1");
            a.assert_valid();
            b.assert_valid();
        }
    }
}

/// M2, M4: both were freed before it runs: one is its own, and the other one is not held up.
#[test]
fn both_mutexes_are_freed_before_it_runs() {
    for new in policies() {
        for next_waits in [true, false] {
            let (a, b) = (new(1), new(2));
            let (guard_a, guard_b) = (a.try_lock().expect("free"), b.try_lock().expect("free"));
            let mut selecting = select_biased((a.lock(), b.lock()));
            selecting.must_wait("both are held");
            let mut next = b.lock();
            let next_woken = next_waits.then(|| next.must_wait("held"));
            drop(guard_a);
            drop(guard_b);
            let outcome = selecting.must_be_ready("both are free");
            assert!(matches!(&outcome, Selected2::First(guard) if **guard == 1));
            assert!(a.try_lock().is_none(), "M1");
            if let Some(next_woken) = next_woken {
                assert!(next_woken.was_woken(), "M2: passed on to the next");
            }
            drop(next.must_be_ready("M2: the other one is free"));
            drop(outcome);
            assert!(a.try_lock().is_some() && b.try_lock().is_some(), "M1");
        }
    }
}

/// M3: an unlock trusts one that has answered before, and is dead now. Whoever is polled behind it has the lock at once: so has a
/// select, also one that only asks.
#[test]
fn a_select_behind_one_that_is_dead() {
    let mutex = Mutex::new(1);
    let behind = |select: &mut dyn FnMut(&str, bool)| {
        let guard = mutex.try_lock().expect("M1: free");
        let mut dead = mutex.lock();
        dead.must_wait("held");
        drop(guard);
        let guard = mutex.try_lock().expect("who was told has not come");
        dead.must_wait("told in vain");
        select("held", false);
        drop(guard);
        select("M3: it is free, and this one is polled", true);
        drop(dead);
        assert!(mutex.try_lock().is_some(), "M1: free");
        mutex.assert_valid();
    };
    let (_tx, rx) = rendezvous::<u8>();
    let mut selecting = select((mutex.lock(), foreign(pending::<()>())));
    behind(&mut |what, is_ready| match is_ready {
        false => drop(selecting.must_wait(what)),
        true => assert!(matches!(selecting.must_be_ready(what), Selected2::First(guard) if *guard == 1)),
    });
    // Polled with the same waker, without reason.
    let waker = CountingWaker::new();
    let mut selecting = select((rx.recv(), mutex.lock()));
    behind(&mut |what, is_ready| {
        let polled = selecting.poll_once(&waker);
        assert_eq!(matches!(polled, Poll::Ready(Selected2::Second(_))), is_ready, "{what}");
    });
    let mut set = Select::new();
    set.recv(&rx);
    let locking = set.add(mutex.lock());
    let mut asking = set.ready();
    behind(&mut |what, is_ready| match is_ready {
        false => drop(asking.must_wait(what)),
        true => assert_eq!(asking.must_be_ready(what), locking.index()),
    });
}

/// M8, S4: the same mutex twice in one select: it is locked once.
#[test]
fn the_same_mutex_twice() {
    for new in policies() {
        let mutex = new(1);
        let guard = mutex.try_lock().expect("free");
        let mut selecting = select((mutex.lock(), mutex.lock()));
        let woken = selecting.must_wait("held");
        let mut next = mutex.lock();
        next.must_wait("held");
        drop(guard);
        assert!(woken.was_woken());
        let outcome = selecting.must_be_ready("freed");
        assert!(mutex.try_lock().is_none(), "M1");
        next.must_wait("M1: held");
        drop(outcome);
        drop(next.must_be_ready("M2: the next"));
        assert!(mutex.try_lock().is_some(), "M1: free");
        mutex.assert_valid();
    }
}

/// M2: the lock is freed for a select that has completed elsewhere: the next has it at once, or when the select runs.
#[test]
fn a_lock_for_a_completed_select_goes_to_the_next() {
    for new in policies() {
        let mutex = new(1);
        let (tx, rx) = rendezvous();
        let guard = mutex.try_lock().expect("free");
        let mut selecting = select((mutex.lock(), rx.recv()));
        selecting.must_wait("held");
        let mut next = mutex.lock();
        let next_woken = next.must_wait("held");
        tx.try_send(5).expect("the select waits");
        drop(guard);
        let outcome = selecting.must_be_ready("a peer has completed it");
        assert!(matches!(outcome, Selected2::Second(Ok(5))), "S1");
        assert!(next_woken.was_woken(), "M2");
        drop(next.must_be_ready("M2"));
        assert!(mutex.try_lock().is_some(), "M1");
    }
}

/// M2: the other way round: told that the lock is free, and then handed a value.
#[test]
fn a_value_for_a_select_that_was_told_of_a_lock() {
    for new in policies() {
        let mutex = new(1);
        let (tx, rx) = rendezvous();
        let guard = mutex.try_lock().expect("free");
        let mut selecting = select((mutex.lock(), rx.recv()));
        selecting.must_wait("held");
        let mut next = mutex.lock();
        let next_woken = next.must_wait("held");
        drop(guard);
        let sent = tx.try_send(5).is_ok();
        match selecting.must_be_ready("one or the other") {
            Selected2::First(guard) => {
                assert!(!sent, "S1: a fair mutex grants, and that completes it");
                drop(guard);
            }
            Selected2::Second(received) => assert_eq!((received, sent), (Ok(5), true), "S1"),
        }
        assert!(next_woken.was_woken(), "M2: passed on, or unlocked");
        drop(next.must_be_ready("M2"));
        assert!(rx.try_recv().is_err(), "S1");
    }
}

/// M4: strict order among selects and plain locks of a fair mutex.
#[test]
fn a_fair_mutex_serves_selects_in_order() {
    let mutex = Mutex::fair(0);
    let (_silent, silents) = rendezvous::<u8>();
    let mut guard = mutex.try_lock().expect("free");
    let mut selects = (0..10).map(|_| select((silents.recv(), mutex.lock()))).collect::<Vec<_>>();
    let mut plain = (0..10).map(|_| mutex.lock()).collect::<Vec<_>>();
    for (selecting, locking) in selects.iter_mut().zip(&mut plain) {
        selecting.must_wait("held");
        locking.must_wait("held");
    }
    for (mut selecting, mut locking) in selects.into_iter().zip(plain) {
        drop(guard);
        locking.must_wait("M4: not its turn");
        let Selected2::Second(granted) = selecting.must_be_ready("M4: its turn") else {
            panic!("nothing was sent");
        };
        drop(granted);
        guard = locking.must_be_ready("M4: its turn");
    }
    drop(guard);
    assert!(mutex.try_lock().is_some(), "M1");
}

/// M3: a barging mutex is free although a select waits for it and is not polled; when it is polled it locks.
#[test]
fn a_select_that_is_not_polled_blocks_nobody() {
    let mutex = Mutex::new(0);
    let (_silent, silents) = rendezvous::<u8>();
    let guard = mutex.try_lock().expect("free");
    let mut selecting = select((silents.recv(), mutex.lock()));
    let woken = selecting.must_wait("held");
    drop(guard);
    assert!(woken.was_woken());
    for _ in 0..1000 {
        drop(mutex.try_lock().expect("M3"));
    }
    // Robbed again and again, it waits on, and is told each time.
    for _ in 0..20 {
        let guard = mutex.try_lock().expect("M3");
        let waker = CountingWaker::new();
        assert!(selecting.poll_once(&waker).is_pending(), "held");
        assert!(!waker.was_woken(), "it does not spin");
        drop(guard);
        assert!(waker.was_woken(), "M3: told again");
    }
    let outcome = loop {
        if let Poll::Ready(outcome) = selecting.poll_once(&CountingWaker::new()) {
            break outcome;
        }
    };
    assert!(matches!(outcome, Selected2::Second(_)));
    drop(outcome);
    drop(selecting);
    drop(mutex.lock().must_be_ready("M3: nobody starves any more"));
}

/// M3: those ahead in the line were told and are not polled; a select that is polled finds the lock free and takes it.
#[test]
fn a_polled_select_passes_waiters_that_are_not() {
    let mutex = Mutex::new(0);
    let (_silent, silents) = rendezvous::<u8>();
    let guard = mutex.try_lock().expect("free");
    let mut never = [(); 8].map(|()| mutex.lock());
    for locking in &mut never {
        locking.must_wait("held");
    }
    let mut selecting = select((silents.recv(), mutex.lock()));
    selecting.must_wait("held");
    drop(guard);
    let outcome = selecting.must_be_ready("M3: the lock is free, and those ahead block nobody");
    assert!(matches!(outcome, Selected2::Second(_)));
    assert!(mutex.try_lock().is_none(), "M1");
}

/// S9: a lent lock that lost can be awaited, and has its guard alone.
#[test]
fn a_lent_lock_goes_on_afterwards() {
    for new in policies() {
        let mutex = new(0);
        let (quit, quits) = rendezvous();
        let guard = mutex.try_lock().expect("free");
        let mut locking = mutex.lock();
        for _ in 0..3 {
            let mut selecting = select((&mut locking, quits.recv()));
            selecting.must_wait("held");
            quit.try_send(()).expect("the select waits");
            assert!(matches!(selecting.must_be_ready("to quit"), Selected2::Second(Ok(()))));
        }
        let woken = locking.must_wait("held");
        drop(guard);
        assert!(woken.was_woken());
        let guard: MutexGuard<'_, u32> = locking.must_be_ready("S9");
        assert!(mutex.try_lock().is_none(), "M1");
        drop(guard);
        assert!(mutex.try_lock().is_some(), "M1");
    }
}

/// S9, M4: a lent lock that had been granted already wins.
#[test]
fn a_lock_that_was_granted_before_it_was_lent() {
    let mutex = Mutex::fair(0);
    let (tx, rx) = leno::bounded(1);
    tx.try_send(1).expect("there is room");
    let guard = mutex.try_lock().expect("free");
    let mut locking = mutex.lock();
    locking.must_wait("held");
    drop(guard);
    let outcome = select_biased((rx.recv(), &mut locking)).must_be_ready("both");
    assert!(matches!(outcome, Selected2::Second(_)), "it had happened");
    assert!(mutex.try_lock().is_none() && rx.len() == 1, "S1");
    drop(outcome);
    assert!(mutex.try_lock().is_some(), "M1");
}

/// M1, M8: parties that select over two mutexes and a channel: no two hold one mutex, and all come through.
fn parties_over_two_mutexes(places: &[Place]) {
    const TURNS: usize = 300;
    for new in [Mutex::new, Mutex::fair] {
        let mutexes = Arc::new([new([0_usize; 2]), new([0_usize; 2])]);
        let (tx, rx) = leno::rendezvous::<()>();
        let mut crew = Crew::new("M8: parties over two mutexes", places);
        for _ in 0..4 {
            let (mutexes, rx) = (Arc::clone(&mutexes), rx.clone());
            crew.add(move |at| async move {
                for i in 0..TURNS {
                    let [a, b] = &*mutexes;
                    let selecting = select((a.lock(), rx.recv(), b.lock()));
                    let mut guard = match choose(at, selecting).await {
                        Selected3::First(guard) | Selected3::Third(guard) => guard,
                        Selected3::Second(_) => panic!("nothing is sent, and the sender is there"),
                    };
                    // Were there another holder the two numbers would part.
                    let [first, _] = *guard;
                    guard[0] += 1;
                    if i % 8 == 0 {
                        at.pause().await;
                    }
                    guard[1] += 1;
                    assert_eq!(*guard, [first + 1, first + 1], "M1");
                }
            });
        }
        crew.run();
        let turns = mutexes.iter().map(|mutex| mutex.try_lock().expect("M1: free")[0]).sum::<usize>();
        assert_eq!(turns, 4 * TURNS, "S1: one lock per turn");
        drop(tx);
    }
}

each_place!(parties_over_two_mutexes);
