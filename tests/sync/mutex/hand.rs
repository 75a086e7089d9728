//! One thread, futures polled by hand.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use leno::select::Selected2;
use leno::sync::{Lock, LockArc, MappedMutexGuard, Mutex, MutexGuard, OwnedMutexGuard};

use crate::impls;
use crate::support::{CountingWaker, Event, PollExt, hooked_waker, within};

fn both() -> [Mutex<u32>; 2] {
    [Mutex::new(0), Mutex::fair(0)]
}

/// M1: at most one holder, whichever way it asks.
#[test]
fn one_holder_at_most() {
    for mutex in both() {
        let mutex = Arc::new(mutex);
        let guard = mutex.try_lock().expect("M1: free");
        assert!(mutex.try_lock().is_none(), "M1: held");
        assert!(mutex.try_lock_arc().is_none(), "M1: held");
        assert!(mutex.lock_timeout(Duration::ZERO).is_none(), "M1: held");
        assert!(mutex.lock().wait_timeout(Duration::ZERO).is_err(), "M1: held");
        assert!(mutex.lock().wait_deadline(Instant::now()).is_err(), "M1: held");
        mutex.lock().must_wait("M1: held");
        mutex.lock_arc().must_wait("M1: held");
        drop(guard);
        let owned = mutex.try_lock_arc().expect("M1: free again");
        assert!(mutex.try_lock().is_none(), "M1: held by an owned guard");
        drop(owned);
        drop(mutex.lock().must_be_ready("M1: free again"));
        drop(mutex.lock_arc().must_be_ready("M1: free again"));
        drop(mutex.lock_blocking());
        assert!(mutex.lock_timeout(Duration::ZERO).is_some(), "M1: free: a zero timeout tries once");
        assert!(mutex.lock().wait_deadline(Instant::now()).is_ok(), "M1: free: a past deadline tries once");
        assert!(mutex.try_lock().is_some(), "M1: each guard unlocked on drop");
    }
}

/// M1: what a holder wrote is what the next one reads; `get_mut`, `into_inner`, `Default`, `From`, `Debug`.
#[test]
fn the_value_is_the_holders() {
    for mut mutex in both() {
        *mutex.lock_blocking() += 1;
        *mutex.get_mut() += 1;
        assert_eq!(*mutex.try_lock().expect("free"), 2);
        assert!(format!("{mutex:?}").contains('2'), "Debug shows the value when the lock is free: {mutex:?}");
        let guard = mutex.try_lock().expect("free");
        assert!(!format!("{mutex:?}").contains('2'), "Debug does not wait, and cannot look: {mutex:?}");
        assert_eq!(format!("{guard:?}"), "2", "a guard shows the value");
        drop(guard);
        assert_eq!(mutex.into_inner(), 2);
    }
    assert_eq!(*Mutex::<u8>::default().lock_blocking(), 0);
    assert_eq!(*Mutex::from(3).lock_blocking(), 3);
    static STATIC: Mutex<u8> = Mutex::new(1);
    static FAIR: Mutex<u8> = Mutex::fair(2);
    assert_eq!(*STATIC.lock_blocking() + *FAIR.lock_blocking(), 3);
}

/// A Mutex of an unsized value, also owned.
#[test]
fn unsized_values() {
    let mutex: Arc<Mutex<[u8]>> = Arc::new(Mutex::new([1, 2, 3]));
    mutex.try_lock().expect("free")[1] = 7;
    assert_eq!(&*mutex.lock_arc().wait(), &[1, 7, 3]);
}

/// M1: a guard unlocks during a panic; nothing is poisoned.
#[test]
fn a_panic_unlocks_and_poisons_nothing() {
    for mutex in both() {
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let mut guard = mutex.lock_blocking();
            *guard = 5;
            panic!("planted: while the lock is held");
        }));
        assert!(panic.is_err());
        assert_eq!(*mutex.try_lock().expect("M1: unlocked by the unwinding"), 5, "M1: not poisoned");
        let mut waiting = mutex.lock();
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let _guard = mutex.lock_blocking();
            waiting.must_wait("held");
            panic!("planted: while another waits");
        }));
        assert!(panic.is_err());
        assert_eq!(*waiting.must_be_ready("M1: passed on by the unwinding"), 5);
    }
}

/// M1: the closure of `map` panics: the lock is released.
#[test]
fn a_panic_in_map_unlocks() {
    for mutex in both() {
        let guard = mutex.lock_blocking();
        let panic = catch_unwind(AssertUnwindSafe(|| {
            drop(MutexGuard::map(guard, |_| -> &mut u32 { panic!("planted: in map") }));
        }));
        assert!(panic.is_err());
        assert!(mutex.try_lock().is_some(), "M1: unlocked");
    }
}

/// Mapped guards hold the same lock, once, through every mapping.
#[test]
fn mapped_guards_hold_the_lock() {
    let mutex = Arc::new(Mutex::new(((1, 2), 3)));
    let guard = MutexGuard::map(mutex.lock_blocking(), |v| &mut v.0);
    let mut guard = MappedMutexGuard::map(guard, |v| &mut v.1);
    assert!(mutex.try_lock().is_none(), "M1: still held");
    *guard = 9;
    let mut waiting = mutex.lock();
    let waker = waiting.must_wait("held by the mapped guard");
    drop(guard);
    assert!(waker.was_woken(), "M1: unlocked once");
    let guard = waiting.must_be_ready("unlocked");
    assert_eq!(*guard, ((1, 9), 3));
    assert!(std::ptr::eq(MutexGuard::mutex(&guard), &*mutex));
    let guard = MutexGuard::try_map(guard, |_| None::<&mut u8>).expect_err("no such part");
    let guard = MutexGuard::try_map(guard, |v| Some(&mut v.0)).expect("a part");
    let guard = MappedMutexGuard::try_map(guard, |_| None::<&mut u8>).expect_err("no such part");
    assert!(mutex.try_lock().is_none(), "M1: still held");
    *MappedMutexGuard::try_map(guard, |v| Some(&mut v.0)).expect("a part") = 5;
    assert_eq!(*mutex.try_lock().expect("M1: unlocked"), ((5, 9), 3));
    let guard = mutex.try_lock_arc().expect("free");
    assert!(Arc::ptr_eq(OwnedMutexGuard::mutex(&guard), &mutex));
}

/// M4: a fair mutex, and `unlock_fair` on either, hand over in FIFO order; newcomers wait.
#[test]
fn fair_hand_over_is_fifo() {
    for (mutex, explicit) in [(Mutex::fair(0), false), (Mutex::fair(0), true), (Mutex::new(0), true)] {
        let mut guard = mutex.try_lock().expect("free");
        let mut waiting = (0..20).map(|_| mutex.lock()).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().map(|w| w.must_wait("held")).collect::<Vec<_>>();
        for (i, next) in waiting.iter_mut().enumerate() {
            if explicit {
                MutexGuard::unlock_fair(guard);
            } else {
                drop(guard);
            }
            assert!(mutex.try_lock().is_none(), "M4: handed over, not free");
            mutex.lock().must_wait("M4: newcomers wait");
            assert!(wakers[i].was_woken(), "M4: waiter {i} is next");
            assert!(!wakers[i + 1..].iter().any(|w| w.was_woken()), "M4: only the next is woken");
            guard = next.must_be_ready("M4: handed over");
        }
        drop(guard);
        assert!(mutex.try_lock().is_some(), "M4: nobody waits any more");
    }
}

/// M4: the other guards' `unlock_fair` hands over as well.
#[test]
fn unlock_fair_of_the_other_guards() {
    let mutex = Arc::new(Mutex::new((0, 0)));
    assert!(!mutex.is_locked());
    let owned = mutex.try_lock_arc().expect("free");
    assert!(mutex.is_locked());
    let mut waiting = mutex.lock();
    waiting.must_wait("held");
    OwnedMutexGuard::unlock_fair(owned);
    assert!(mutex.is_locked(), "M4: handed over, not free");
    let mapped = MutexGuard::map(waiting.must_be_ready("M4: handed over"), |pair| &mut pair.1);
    let mut waiting = mutex.lock();
    waiting.must_wait("held");
    MappedMutexGuard::unlock_fair(mapped);
    assert!(mutex.try_lock().is_none(), "M4: handed over, not free");
    drop(waiting.must_be_ready("M4: handed over"));
    assert!(!mutex.is_locked());
    let alone = mutex.try_lock_arc().expect("free");
    OwnedMutexGuard::unlock_fair(alone);
    assert_eq!(Arc::strong_count(&mutex), 1, "the guard's share is gone");
    assert!(mutex.try_lock().is_some(), "M4: nobody waits");
}

/// M4: a granted future that is never polled holds the lock until it is dropped; then the next has it (M2).
#[test]
fn a_granted_future_holds_the_lock() {
    let mutex = Mutex::fair(0);
    let guard = mutex.try_lock().expect("free");
    let (mut first, mut second) = (mutex.lock(), mutex.lock());
    first.must_wait("held");
    let waker = second.must_wait("held");
    drop(guard);
    assert!(mutex.try_lock().is_none(), "M4: granted to the first");
    second.must_wait("M4: granted to the first");
    assert!(!waker.was_woken(), "M4");
    drop(first);
    assert!(mutex.try_lock().is_none(), "M2: passed on to the second");
    drop(second.must_be_ready("M2: passed on"));
    assert!(mutex.try_lock().is_some(), "M1: free");
}

/// M2: a waiter that was granted the lock and is dropped passes it on, through a whole queue.
#[test]
fn dropped_waiters_pass_the_lock_on() {
    for mutex in both() {
        let guard = mutex.try_lock().expect("free");
        let mut waiting = (0..20).map(|_| mutex.lock()).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().map(|w| w.must_wait("held")).collect::<Vec<_>>();
        drop(guard);
        let mut last = waiting.pop().expect("twenty");
        for (i, granted) in waiting.into_iter().enumerate() {
            assert!(wakers[i].was_woken(), "M2: waiter {i} is next");
            drop(granted);
            assert!(wakers[i + 1].was_woken(), "M2: passed on to {}", i + 1);
        }
        drop(last.must_be_ready("M2: passed on to the last"));
        assert!(mutex.try_lock().is_some(), "M1: free");
    }
}

/// M2: waiters that leave from anywhere in the queue leave no gap.
#[test]
fn waiters_leave_from_anywhere() {
    for fair in [false, true] {
        for gone in 0..12 {
            let mutex = if fair { Mutex::fair(0) } else { Mutex::new(0) };
            let mut guard = mutex.try_lock().expect("free");
            let mut waiting = (0..12).map(|_| Some(mutex.lock())).collect::<Vec<_>>();
            let wakers = waiting.iter_mut().flatten().map(|w| w.must_wait("held")).collect::<Vec<_>>();
            waiting[gone] = None;
            for (i, next) in waiting.iter_mut().enumerate() {
                let Some(next) = next else { continue };
                drop(guard);
                assert!(wakers[i].was_woken(), "{i} is next after {gone} went");
                guard = next.must_be_ready("next");
            }
            drop(guard);
            assert!(!wakers[gone].was_woken(), "whoever went is not woken");
        }
    }
}

/// M3: after an unlock `try_lock` can succeed although somebody waits; a waiter that is never polled again blocks
/// nobody, however often the lock is taken.
#[test]
fn the_default_mutex_barges() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().expect("free");
    let (mut never, mut polled, mut late) = (mutex.lock(), mutex.lock(), mutex.lock());
    let waker = never.must_wait("held");
    polled.must_wait("held");
    late.must_wait("held");
    drop(guard);
    assert!(waker.was_woken(), "M3: the first in the queue is told");
    for i in 0..10_000 {
        drop(
            mutex
                .try_lock()
                .unwrap_or_else(|| panic!("M3: blocked by a waiter that is not polled, lock {i}")),
        );
        drop(mutex.lock().must_be_ready("M3: nor is a new lock blocked"));
    }
    drop(polled.must_be_ready("M3: another waiter that is polled proceeds"));
    drop(late.must_be_ready("M3: and one more"));
    drop(never.must_be_ready("the first one too, once it is polled"));
}

/// M4: `unlock_fair` hands over to the first waiter in line. Those that were woken by an earlier unlock and have not run
/// yet, while somebody barged in, are not in line; if nobody else is, the lock is free for them.
#[test]
fn unlock_fair_after_waiters_were_passed_over() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().expect("free");
    let (mut first, mut second, mut third) = (mutex.lock(), mutex.lock(), mutex.lock());
    let woken = [first.must_wait("held"), second.must_wait("held"), third.must_wait("held")];
    drop(guard);
    assert!(
        woken.iter().all(|waker| waker.was_woken()),
        "M3: none of them has ever answered, so all are told"
    );
    let barged = mutex.try_lock().expect("M3: barges");
    third.must_wait("M3: passed over, and in line again");
    MutexGuard::unlock_fair(barged);
    assert!(mutex.try_lock().is_none(), "M4: handed over");
    first.must_wait("M4: to the third, which is in line");
    let guard = third.must_be_ready("M4: handed over");
    MutexGuard::unlock_fair(guard);
    drop(first.must_be_ready("M4: in line again, and handed over"));
    drop(second.must_be_ready("and then free"));
}

/// M3: any number of waiters that are not polled any more stand in front of one that is: one unlock wakes that one, and it
/// gets the lock. The same if that one was passed over before.
#[test]
fn stale_waiters_in_a_row_block_nobody() {
    for stale in [1, 2, 5, 100] {
        for was_passed_over in [false, true] {
            let mutex = Mutex::new(0);
            let mut guard = mutex.try_lock().expect("free");
            let mut live = mutex.lock();
            let mut woken = live.must_wait("held");
            if was_passed_over {
                drop(guard);
                assert!(woken.was_woken(), "M3: told");
                guard = mutex.try_lock().expect("M3: barges");
            } else {
                drop(live);
                live = mutex.lock();
            }
            let mut stale = (0..stale).map(|_| mutex.lock()).collect::<Vec<_>>();
            stale.iter_mut().for_each(|lock| drop(lock.must_wait("held")));
            woken = live.must_wait("held");
            let mut behind = mutex.lock();
            let woken_behind = behind.must_wait("held");
            drop(guard);
            assert!(woken.was_woken(), "M3: woken behind {} that are not polled any more", stale.len());
            assert_eq!(
                woken_behind.was_woken(),
                !was_passed_over,
                "one that is known to answer ends the round"
            );
            drop(live.must_be_ready("M3: gets the lock"));
            assert!(woken_behind.was_woken(), "M3: and its unlock goes on from there");
            drop(behind.must_be_ready("M3: gets the lock"));
            mutex.assert_valid();
            drop(stale);
            mutex.assert_valid();
            assert!(mutex.try_lock().is_some(), "M1: free");
        }
    }
}

/// M3, its limit: one that has answered, and is not polled any more since. It is told and trusted: those asleep behind it wait
/// for the next unlock, or for its drop; whoever comes, or is polled, has the lock at once.
#[test]
fn one_that_has_answered_is_trusted_once_more() {
    for drops in [false, true] {
        let mutex = Mutex::new(0);
        let guard = mutex.try_lock().expect("free");
        let mut stale = mutex.lock();
        stale.must_wait("held");
        drop(guard);
        let guard = mutex.try_lock().expect("M3: barges");
        let told = stale.must_wait("it has answered");
        let (mut asleep, mut polled) = (mutex.lock(), mutex.lock());
        let woken = asleep.must_wait("held");
        polled.must_wait("held");
        drop(guard);
        assert!(told.was_woken() && !woken.was_woken(), "the one that is trusted is told alone");
        if drops {
            drop(stale);
            assert!(woken.was_woken(), "M2: passed on by its drop");
        } else {
            drop(mutex.lock().must_be_ready("M3: who comes has the lock"));
            assert!(woken.was_woken(), "M3: and its unlock tells those behind");
            drop(stale);
        }
        drop(polled.must_be_ready("M3: so has who is polled"));
        drop(asleep.must_be_ready("free"));
        mutex.assert_valid();
    }
}

/// M2: those that were told, and are known to answer, leave one after the other without having looked: each passes it on to
/// the next one.
#[test]
fn told_waiters_that_leave_pass_it_on() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().expect("free");
    let mut waiting = (0..20).map(|_| mutex.lock()).collect::<Vec<_>>();
    waiting.iter_mut().for_each(|lock| drop(lock.must_wait("held")));
    drop(guard);
    let guard = mutex.try_lock().expect("M3: barges");
    let wakers = waiting.iter_mut().map(|lock| lock.must_wait("passed over")).collect::<Vec<_>>();
    drop(guard);
    let mut last = waiting.pop().expect("twenty");
    for (i, told) in waiting.into_iter().enumerate() {
        assert!(wakers[i].was_woken(), "M2: {i} is next");
        assert!(!wakers[i + 1].was_woken(), "M3: one that is known to answer is woken alone");
        drop(told);
        assert!(wakers[i + 1].was_woken(), "M2: passed on to {}", i + 1);
    }
    drop(last.must_be_ready("M2: passed on to the last"));
    assert!(mutex.try_lock().is_some(), "M1: free");
}

/// Tells a waiter in vain until it starves; it waits then, and the lock is held.
fn starve<'a>(
    mutex: &'a Mutex<i32>,
    waiting: &mut Lock<'a, i32>,
) -> (MutexGuard<'a, i32>, Arc<CountingWaker>) {
    for _ in 0..10 {
        let guard = mutex.try_lock().expect("free");
        waiting.must_wait("held");
        drop(guard);
    }
    let guard = mutex.try_lock().expect("barges");
    (guard, waiting.must_wait("held"))
}

/// M2: a newcomer that steps back for one that starves was told nothing; one that was told does not step back, and takes
/// nothing with it when it is dropped.
#[test]
fn who_was_told_does_not_step_back() {
    let mutex = Mutex::new(0);
    let mut starving = mutex.lock();
    let (guard, woken) = starve(&mutex, &mut starving);
    let mut waiting = mutex.lock();
    let told = waiting.must_wait("held");
    let mut newcomer = mutex.lock();
    drop(guard);
    assert!(woken.was_woken() && !told.was_woken(), "it is known to answer");
    let mut steps = 0;
    let lock = loop {
        let stepped = CountingWaker::new();
        match newcomer.poll_once(&stepped) {
            Poll::Ready(lock) => break lock,
            Poll::Pending => assert!(stepped.was_woken(), "it steps back for one turn"),
        }
        steps += 1;
        assert!(steps <= 10_000, "M3: not for ever");
    };
    drop(lock);
    assert!(told.was_woken(), "M3: its unlock tells the next one");
    drop(waiting.must_be_ready("M2: it was told, and does not step back"));
    drop(starving.must_be_ready("free"));
    drop(mutex.lock().must_be_ready("nobody starves any more"));
}

/// M3: a newcomer in a select steps back for one that starves, as one alone does.
#[test]
fn who_selects_steps_back() {
    let mutex = Mutex::new(0);
    let (_tx, rx) = leno::bounded::<()>(1);
    let mut starving = mutex.lock();
    let (guard, _) = starve(&mutex, &mut starving);
    drop(guard);
    let mut selecting = leno::select::select_biased((mutex.lock(), rx.recv()));
    let stepped = selecting.must_wait("it steps back");
    assert!(stepped.was_woken(), "for one poll");
    drop(starving.must_be_ready("free"));
    assert!(matches!(selecting.must_be_ready("free"), Selected2::First(_)));
}

/// M3: one that starves, and that a select has borrowed, does so no more when that is over, though its future is still there: a
/// select that waited, one that was over before, one that was handed the lock and dropped.
#[test]
fn who_starves_in_a_select_that_is_over_holds_up_nobody() {
    for ends in 0..3 {
        let mutex = Mutex::new(0);
        let (tx, rx) = leno::bounded(1);
        let mut starving = mutex.lock();
        let (guard, _) = starve(&mutex, &mut starving);
        if ends == 1 {
            tx.try_send(1).expect("there is room");
        }
        let mut selecting = leno::select::select_biased((rx.recv(), &mut starving));
        match ends {
            0 => {
                selecting.must_wait("held");
                drop(selecting);
                drop(guard);
            }
            1 => {
                selecting.must_be_ready("there is a value");
                drop(selecting);
                drop(guard);
            }
            _ => {
                selecting.must_wait("held");
                MutexGuard::unlock_fair(guard);
                drop(selecting);
            }
        }
        drop(mutex.lock().must_be_ready("nobody starves"));
        drop(starving.must_be_ready("free"));
    }
}

/// M3: each branch of a select that was told in vain is known for it.
#[test]
fn each_branch_of_a_select_starves() {
    let locks = [Mutex::new(0), Mutex::new(0)];
    let mut guards = locks.each_ref().map(|mutex| mutex.try_lock().expect("free"));
    let mut selecting = leno::select::select_biased((locks[0].lock(), locks[1].lock()));
    selecting.must_wait("both are held");
    for _ in 0..20 {
        guards = {
            drop(guards);
            locks.each_ref().map(|mutex| mutex.try_lock().expect("free, until the select runs"))
        };
        selecting.must_wait("both are held");
    }
    drop(guards);
    for mutex in &locks {
        mutex.lock().must_wait("it steps back");
    }
    drop(selecting);
}

/// What a mutex takes.
#[test]
#[cfg(target_pointer_width = "64")]
fn sizes() {
    // With debug assertions a mutex knows its holder, and a future the place where it was made.
    let word = if cfg!(debug_assertions) { size_of::<usize>() } else { 0 };
    // With the feature `tracing` a mutex knows where it was made, and how it is shown.
    let shown = if cfg!(feature = "tracing") { 3 * size_of::<usize>() } else { 0 };
    assert!(size_of::<Mutex<()>>() <= 16 + 2 * word + shown);
    assert!(size_of::<Mutex<u64>>() <= 24 + 2 * word + shown);
    assert_eq!(size_of::<MutexGuard<'_, u64>>(), size_of::<usize>());
    assert!(size_of::<Lock<'_, u64>>() <= 32 + word);
}

/// M3: no waiter is forgotten: after each unlock somebody who will run is told.
#[test]
fn barging_loses_no_wakeup() {
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().expect("free");
    let mut waiting = (0..10).map(|_| mutex.lock()).collect::<Vec<_>>();
    let mut wakers = waiting.iter_mut().map(|w| w.must_wait("held")).collect::<Vec<_>>();
    drop(guard);
    let mut done = 0;
    while done < 10 {
        // Barges in front of whoever was told; that one waits on, in its place.
        let next =
            wakers.iter().position(|w| w.was_woken()).expect("M3: the lock is free and nobody was told");
        let guard = mutex.try_lock().expect("M3: barges");
        wakers[next] = waiting[next].must_wait("held by the barger");
        drop(guard);
        let next =
            wakers.iter().position(|w| w.was_woken()).expect("M3: the lock is free and nobody was told");
        assert_eq!(next, 0, "M3: a waiter that was passed over keeps its place");
        drop(waiting[next].must_be_ready("M3: free"));
        drop(waiting.remove(next));
        wakers.remove(next);
        done += 1;
    }
}

/// C12 for locks: the waker of the last poll is woken, and none is kept.
#[test]
fn the_last_waker_counts() {
    for mutex in both() {
        let guard = mutex.try_lock().expect("free");
        let mut waiting = mutex.lock();
        let before = waiting.must_wait("held");
        let after = waiting.must_wait("held");
        drop(guard);
        assert!(!before.was_woken() && after.was_woken(), "C12: the last waker is woken");
        drop(waiting);
        assert_eq!((Arc::strong_count(&before), Arc::strong_count(&after)), (1, 1), "no waker is kept");
        assert!(mutex.try_lock().is_some(), "M2: passed on");
    }
}

/// C13 for locks: `wake` may use the same mutex, and may panic.
#[test]
fn wake_may_reenter_and_panic() {
    within("C13: wake re-enters the mutex", || {
        for mutex in both() {
            let mutex = Arc::new(mutex);
            let guard = mutex.try_lock().expect("free");
            let woken = Arc::new(AtomicUsize::new(0));
            let waker = hooked_waker({
                let (mutex, woken) = (Arc::clone(&mutex), Arc::clone(&woken));
                move |event| {
                    if event == Event::Wake {
                        woken.fetch_add(1, Relaxed);
                        drop(mutex.try_lock());
                        let mut lock = mutex.lock();
                        drop(lock.poll_with(Waker::noop()));
                    }
                }
            });
            let mut waiting = mutex.lock();
            assert!(waiting.poll_with(&waker).is_pending(), "held");
            drop(guard);
            assert_eq!(woken.load(Relaxed), 1, "C13: woken");
            drop(waiting.must_be_ready("C13: woken"));
            let guard = mutex.try_lock().expect("free");
            let mut waiting = mutex.lock();
            let panicking = hooked_waker(|event| assert_ne!(event, Event::Wake, "planted: wake panics"));
            assert!(waiting.poll_with(&panicking).is_pending(), "held");
            catch_unwind(AssertUnwindSafe(|| drop(guard))).expect_err("the panic goes through");
            drop(waiting.must_be_ready("C13: unlocked all the same"));
            assert!(mutex.try_lock().is_some(), "C13: usable");
        }
        // Those that have answered, and were trusted for it, panic instead: the next one is told; also during another panic.
        for (panicking, unwinds) in [(1, false), (2, false), (1, true), (2, true)] {
            let mutex = Mutex::new(());
            let guard = mutex.try_lock().expect("free");
            let mut waiting: Vec<_> = (0..=panicking).map(|_| mutex.lock()).collect();
            waiting.iter_mut().for_each(|lock| _ = lock.must_wait("held"));
            drop(guard);
            let guard = mutex.try_lock().expect("free");
            let mut last = waiting.pop().expect("one more");
            let panics = hooked_waker(|event| assert_ne!(event, Event::Wake, "planted: wake panics"));
            waiting.iter_mut().for_each(|lock| assert!(lock.poll_with(&panics).is_pending(), "held"));
            let woken = last.must_wait("held");
            let unlocked = catch_unwind(AssertUnwindSafe(move || {
                let _guard = guard;
                assert!(!unwinds, "planted: while the lock is held");
            }));
            assert!(unlocked.is_err());
            assert!(woken.was_woken(), "C13: nobody else's wake-up is lost: {panicking}, {unwinds}");
            drop(last.must_be_ready("C13: unlocked"));
            waiting.iter_mut().for_each(|lock| drop(lock.must_be_ready("C13: unlocked")));
        }
    });
}

/// C26 for locks: a forgotten waiter of the default mutex blocks nobody; one of a fair mutex only once granted.
#[test]
fn forgotten_waiters() {
    for mutex in both() {
        let guard = mutex.try_lock().expect("free");
        let mut granted = mutex.lock();
        let first = granted.must_wait("held");
        let mut forgotten = mutex.lock();
        forgotten.must_wait("held");
        std::mem::forget(forgotten);
        drop(guard);
        assert!(first.was_woken());
        drop(granted.must_be_ready("it is first"));
    }
    let mutex = Mutex::new(0);
    let guard = mutex.try_lock().expect("free");
    let mut forgotten = mutex.lock();
    forgotten.must_wait("held");
    std::mem::forget(forgotten);
    drop(guard);
    drop(mutex.try_lock().expect("M3, C26: blocks nobody"));
    // A forgotten guard holds the lock for good, and only that.
    std::mem::forget(mutex.try_lock());
    assert!(mutex.try_lock().is_none(), "M1: held by the forgotten guard");
    assert_eq!(mutex.into_inner(), 0);
}

/// M7: ten thousand waiters are released one after the other without deep recursion, polled or dropped.
#[test]
fn ten_thousand_waiters() {
    for fair in [false, true] {
        for polled in [false, true] {
            let small = std::thread::Builder::new().stack_size(128 << 10).spawn(move || {
                let mutex = if fair { Mutex::fair(0) } else { Mutex::new(0) };
                let guard = mutex.try_lock().expect("free");
                let mut waiting = (0..10_000).map(|_| mutex.lock()).collect::<Vec<_>>();
                for lock in &mut waiting {
                    assert!(lock.poll_with(Waker::noop()).is_pending(), "held");
                }
                drop(guard);
                if polled {
                    for lock in &mut waiting {
                        *lock.must_be_ready("M7: its turn") += 1;
                    }
                    assert_eq!(*mutex.lock_blocking(), 10_000);
                } else {
                    drop(waiting);
                }
                assert!(mutex.try_lock().is_some(), "M2: passed on by all");
            });
            small.expect("a thread starts").join().expect("M7: no deep recursion");
        }
    }
}

/// M5: guards and futures are Send and Sync as their values allow; each refusal has a passing twin.
#[test]
fn auto_traits() {
    const {
        assert!(impls!(Mutex<Cell<u8>>: Send + Sync), "T: Send is enough");
        assert!(!impls!(Mutex<Rc<u8>>: Send) && !impls!(Mutex<Rc<u8>>: Sync), "T must be Send");
        assert!(impls!(MutexGuard<'static, u8>: Send + Sync));
        assert!(!impls!(MutexGuard<'static, Cell<u8>>: Sync), "M5: T must be Sync");
        assert!(impls!(MappedMutexGuard<'static, u8>: Send + Sync));
        assert!(!impls!(MappedMutexGuard<'static, Cell<u8>>: Sync), "M5: the mapped type must be Sync");
        assert!(!impls!(MappedMutexGuard<'static, Rc<u8>>: Send), "M5: the mapped type must be Send");
        assert!(impls!(OwnedMutexGuard<u8>: Send + Sync));
        assert!(impls!(OwnedMutexGuard<Cell<u8>>: Send), "M5: owned guards are Send where T is");
        assert!(!impls!(OwnedMutexGuard<Rc<u8>>: Send), "M5: T must be Send");
        assert!(!impls!(OwnedMutexGuard<Cell<u8>>: Sync), "M5: T must be Sync");
        assert!(impls!(Lock<'static, Cell<u8>>: Send + Unpin));
        assert!(!impls!(Lock<'static, Rc<u8>>: Send), "T must be Send");
        assert!(impls!(Lock<'static, std::marker::PhantomPinned>: Unpin), "C26: Unpin for every T");
        assert!(impls!(LockArc<Cell<u8>>: Send + Unpin));
        assert!(!impls!(LockArc<Rc<u8>>: Send), "T must be Send");
        assert!(impls!(Mutex<u8>: UnwindSafe + RefUnwindSafe));
        assert!(impls!(MutexGuard<'static, Cell<u8>>: UnwindSafe + RefUnwindSafe), "as the mutex");
    }
}
