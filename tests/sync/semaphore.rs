//! `Semaphore`: M2, M4, M6–M8.

use std::panic::{AssertUnwindSafe, RefUnwindSafe, UnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Waker;
use std::time::{Duration, Instant};

use leno::fiber::Runtime;
use leno::select::{Selected2, select, select_biased};
use leno::sync::{Acquire, AcquireArc, AcquireTimeoutError, OwnedPermit, Permit, Semaphore, TryAcquireError};

use crate::callers::twice;
use crate::support::{Crew, Event, Place, PollExt, hooked_waker, unequal_waker, within};
use crate::{each_place, impls};

/// M6: as many at once as there are permits, whichever way they are asked for.
#[test]
fn as_many_as_there_are() {
    let semaphore = Arc::new(Semaphore::new(2));
    let first = semaphore.try_acquire().expect("M6: free");
    let second = semaphore.acquire_arc().must_be_ready("M6: free").expect("open");
    assert_eq!(semaphore.available_permits(), 0);
    assert_eq!(semaphore.try_acquire().err(), Some(TryAcquireError::NoPermits), "M6");
    assert_eq!(semaphore.try_acquire_arc().err(), Some(TryAcquireError::NoPermits), "M6");
    let timeout = Some(AcquireTimeoutError::Timeout);
    assert_eq!(semaphore.acquire().wait_timeout(Duration::ZERO).err(), timeout, "M6");
    assert_eq!(semaphore.acquire().wait_deadline(Instant::now()).err(), timeout, "M6");
    semaphore.acquire().must_wait("M6: none is free");
    drop(first);
    assert_eq!(semaphore.available_permits(), 1);
    assert!(semaphore.try_acquire_many(2).is_err(), "M6");
    drop(second);
    assert_eq!(semaphore.try_acquire_many(2).expect("M6: both are free").num_permits(), 2);
    drop(semaphore.acquire().wait().expect("open"));
    drop(semaphore.acquire().wait_timeout(Duration::ZERO).expect("free: a zero timeout tries once"));
    assert_eq!(semaphore.available_permits(), 2, "M6");
    semaphore.assert_valid();
}

/// M6: forgetting, adding, taking away, splitting and merging.
#[test]
fn the_books_are_right() {
    let semaphore = Arc::new(Semaphore::new(5));
    let mut permit = semaphore.try_acquire_many(4).expect("free");
    assert!(permit.split(5).is_none(), "fewer than that");
    let part = permit.split(3).expect("four");
    assert_eq!((permit.num_permits(), part.num_permits()), (1, 3));
    permit.forget();
    drop(part);
    assert_eq!(semaphore.available_permits(), 4, "M6: one was forgotten");
    let mut one = semaphore.try_acquire().expect("free");
    one.merge(semaphore.try_acquire_many(2).expect("free"));
    assert_eq!((one.num_permits(), semaphore.available_permits()), (3, 1));
    drop(one);
    assert_eq!(semaphore.forget_permits(3), 3);
    assert_eq!(semaphore.forget_permits(3), 1, "as many as there are");
    semaphore.add_permits(2);
    assert_eq!(semaphore.available_permits(), 2);
    let mut owned = semaphore.try_acquire_many_arc(2).expect("free");
    let rest = owned.split(1).expect("two");
    owned.merge(rest);
    assert_eq!(owned.num_permits(), 2);
    let other = Semaphore::new(1);
    let panic = catch_unwind(AssertUnwindSafe(|| {
        let elsewhere = Semaphore::new(1);
        let mut permit = other.try_acquire().expect("free");
        permit.merge(elsewhere.try_acquire().expect("free"));
    }));
    assert!(panic.is_err(), "permits of another semaphore");
    assert_eq!(other.available_permits(), 1, "M6: also when it panics");
    // (A semaphore of 32 bits has fewer.)
    #[cfg(target_pointer_width = "64")]
    {
        let large = Semaphore::new(1 << 33);
        let panic = catch_unwind(AssertUnwindSafe(|| {
            let [mut one, other] = [(); 2].map(|()| large.try_acquire_many(u32::MAX).expect("free"));
            one.merge(other);
        }));
        assert!(panic.is_err(), "too many for one");
        assert_eq!(large.available_permits(), 1 << 33, "M6: also when it panics");
    }
    assert!(catch_unwind(|| Semaphore::new(usize::MAX)).is_err(), "too many");
    let full = Semaphore::new(Semaphore::MAX_PERMITS);
    assert!(catch_unwind(|| full.add_permits(1)).is_err(), "too many");
    assert_eq!(full.available_permits(), Semaphore::MAX_PERMITS);
    drop(Semaphore::new(0).acquire_many(0).must_be_ready("nothing is asked for").expect("open"));
}

/// M6: first come, first served; newcomers and `try_` forms wait behind those that wait.
#[test]
fn first_come_first_served() {
    let semaphore = Semaphore::new(0);
    let mut waiting = (0..20).map(|_| semaphore.acquire()).collect::<Vec<_>>();
    let wakers = waiting.iter_mut().map(|acquire| acquire.must_wait("none is free")).collect::<Vec<_>>();
    semaphore.assert_valid();
    for (i, acquire) in waiting.iter_mut().enumerate() {
        semaphore.add_permits(1);
        assert!(semaphore.try_acquire().is_err(), "M6: handed over, not free");
        assert!(wakers[i].was_woken(), "{i} is next");
        assert!(!wakers[i + 1..].iter().any(|waker| waker.was_woken()), "only the next is woken");
        acquire.must_be_ready("handed over").expect("open").forget();
    }
    assert_eq!(semaphore.available_permits(), 0);
}

/// M6: a large wish is not starved by small ones; what comes back is kept for it, and is its neighbours' if it leaves.
#[test]
fn a_large_wish_is_not_starved() {
    for leaves in [false, true] {
        let semaphore = Semaphore::new(5);
        let mut held = (0..5).map(|_| semaphore.try_acquire().expect("free")).collect::<Vec<_>>();
        let mut large = semaphore.acquire_many(4);
        let woken = large.must_wait("none is free");
        let mut small = semaphore.acquire();
        let small_woken = small.must_wait("none is free");
        for kept in 1..=3 {
            drop(held.pop());
            assert!(!small_woken.was_woken() && !woken.was_woken(), "M6: {kept} are kept for the large one");
            assert_eq!(semaphore.available_permits(), kept);
            assert!(semaphore.try_acquire().is_err(), "M6: not for newcomers");
            semaphore.assert_valid();
        }
        if leaves {
            drop(large);
            assert!(small_woken.was_woken(), "M6: a cancelled wish consumes nothing");
            assert_eq!(semaphore.available_permits(), 2);
        } else {
            drop(held.pop());
            assert!(woken.was_woken(), "M6: now there are enough");
            assert!(!small_woken.was_woken());
            drop(large.must_be_ready("granted").expect("open"));
        }
        drop(small.must_be_ready("its turn").expect("open"));
        drop(held);
        semaphore.assert_valid();
        assert_eq!(semaphore.available_permits(), 5, "M6");
    }
}

/// M6: too few are free for a large wish: they are kept for it from the moment at which it waits.
#[test]
fn what_is_free_is_kept_for_who_waits() {
    let semaphore = Semaphore::new(5);
    let held = semaphore.try_acquire_many(3).expect("free");
    let mut large = semaphore.acquire_many(4);
    large.must_wait("two are free");
    semaphore.assert_valid();
    assert!(semaphore.try_acquire().is_err(), "M6: kept");
    assert_eq!(semaphore.available_permits(), 2);
    assert_eq!(semaphore.forget_permits(1), 1, "what is kept can be taken away");
    drop(held);
    drop(large.must_be_ready("four are free").expect("open"));
    assert_eq!(semaphore.available_permits(), 4);
    semaphore.assert_valid();
}

/// M2: whoever was granted permits and is dropped before it runs passes them on, through a whole line.
#[test]
fn dropped_waiters_pass_permits_on() {
    let semaphore = Semaphore::new(0);
    let mut waiting = (0..20).map(|i| semaphore.acquire_many(1 + i % 3)).collect::<Vec<_>>();
    let wakers = waiting.iter_mut().map(|acquire| acquire.must_wait("none is free")).collect::<Vec<_>>();
    semaphore.add_permits(3);
    let mut last = waiting.pop().expect("twenty");
    for (i, granted) in waiting.into_iter().enumerate() {
        assert!(wakers[i].was_woken(), "M2: {i} is next");
        drop(granted);
        assert!(wakers[i + 1].was_woken(), "M2: passed on to {}", i + 1);
        semaphore.assert_valid();
    }
    drop(last.must_be_ready("M2: passed on to the last").expect("open"));
    assert_eq!(semaphore.available_permits(), 3, "M6");
}

/// Those that leave from anywhere in the line leave no gap.
#[test]
fn waiters_leave_from_anywhere() {
    for gone in 0..14 {
        let semaphore = Semaphore::new(0);
        let mut waiting = (0..14).map(|i| Some(semaphore.acquire_many(1 + i % 2))).collect::<Vec<_>>();
        let wakers = waiting.iter_mut().flatten().map(|w| w.must_wait("none is free")).collect::<Vec<_>>();
        waiting[gone] = None;
        semaphore.assert_valid();
        semaphore.add_permits(21);
        for (i, acquire) in waiting.iter_mut().enumerate() {
            let Some(acquire) = acquire else { continue };
            assert!(wakers[i].was_woken(), "{i} is served, {gone} went");
            acquire.must_be_ready("served").expect("open").forget();
        }
        assert!(!wakers[gone].was_woken(), "who went is not woken");
        assert_eq!(semaphore.available_permits(), 1 + gone % 2, "M6");
    }
}

/// The hazard of M3 and M4 ("futurelock"): a granted future that nobody polls holds its permit until it is dropped; one that
/// was not granted yet holds up those behind it only.
#[test]
fn a_stale_future_holds_what_it_was_granted() {
    let semaphore = Semaphore::new(1);
    let held = semaphore.try_acquire().expect("free");
    let (mut stale, mut behind) = (semaphore.acquire(), semaphore.acquire());
    stale.must_wait("held");
    let woken = behind.must_wait("held");
    drop(held);
    assert!(semaphore.try_acquire().is_err(), "M4: granted to the stale one");
    assert!(!woken.was_woken(), "M4: and to nobody else");
    drop(stale);
    assert!(woken.was_woken(), "M2: passed on");
    drop(behind.must_be_ready("M2").expect("open"));
    // A forgotten one strands its own permit, and no more than that (C26).
    let held = semaphore.try_acquire().expect("free");
    let mut forgotten = semaphore.acquire();
    forgotten.must_wait("held");
    std::mem::forget(forgotten);
    drop(held);
    assert!(semaphore.try_acquire().is_err(), "C26: stranded");
    semaphore.add_permits(1);
    assert!(semaphore.try_acquire().is_ok(), "C26: that one only");
}

/// A select of leno's takes losers out of the line, also lent ones: they hold up nobody.
#[test]
fn a_loser_that_is_kept_holds_nothing() {
    let semaphore = Semaphore::new(0);
    let (tx, rx) = leno::bounded(1);
    let mut kept = semaphore.acquire();
    tx.try_send(1).expect("room");
    leno::block_on(async {
        leno::select! {
            biased;
            _ = &mut kept => unreachable!("none is free"),
            got = rx.recv() => assert_eq!(got, Ok(1)),
        }
    });
    semaphore.add_permits(1);
    drop(semaphore.try_acquire().expect("the loser is not in line"));
    drop(kept.must_be_ready("and it can go on").expect("open"));
}

/// M6: closing wakes all with an error, in order, after the last was taken out; permits that are held stay valid.
#[test]
fn close_wakes_all() {
    let semaphore = Arc::new(Semaphore::new(3));
    let held = semaphore.try_acquire_many(2).expect("free");
    let order = Arc::new(std::sync::Mutex::new(Vec::new()));
    let mut waiting = (0..20).map(|_| semaphore.acquire_many(2)).collect::<Vec<_>>();
    for (i, acquire) in waiting.iter_mut().enumerate() {
        let (order, closed) = (Arc::clone(&order), Arc::clone(&semaphore));
        let waker = hooked_waker(move |event| {
            if event == Event::Wake {
                assert_eq!(closed.available_permits(), 1, "M6: nobody is in line any more");
                order.lock().expect("whole").push(i);
            }
        });
        assert!(acquire.poll_with(&waker).is_pending());
    }
    assert!(semaphore.close(), "the first time");
    assert!(!semaphore.close() && semaphore.is_closed());
    assert_eq!(*order.lock().expect("whole"), (0..20).collect::<Vec<_>>(), "M6: in order");
    for acquire in &mut waiting {
        assert!(acquire.must_be_ready("M6: closed").is_err());
    }
    assert_eq!(semaphore.try_acquire().err(), Some(TryAcquireError::Closed));
    assert_eq!(semaphore.acquire().wait_timeout(Duration::ZERO).err(), Some(AcquireTimeoutError::Closed));
    let error = semaphore.acquire_blocking().expect_err("closed");
    assert_eq!(TryAcquireError::from(error), TryAcquireError::Closed);
    assert_eq!(AcquireTimeoutError::from(error), AcquireTimeoutError::Closed);
    assert!(semaphore.acquire().wait().is_err() && semaphore.acquire_arc().wait().is_err());
    drop(held);
    assert_eq!(semaphore.available_permits(), 3, "M6");
    semaphore.assert_valid();
}

/// M2: granted, and then closed: the permit is had; told of the close and dropped: nothing is lost.
#[test]
fn closed_after_it_was_granted() {
    let semaphore = Semaphore::new(0);
    let (mut granted, mut told, mut gone) = (semaphore.acquire(), semaphore.acquire(), semaphore.acquire());
    granted.must_wait("none");
    told.must_wait("none");
    gone.must_wait("none");
    semaphore.add_permits(1);
    semaphore.close();
    drop(gone);
    assert!(told.must_be_ready("closed").is_err());
    drop(granted.must_be_ready("it was granted before").expect("M6"));
    assert_eq!(semaphore.available_permits(), 1);
}

/// M7: ten thousand are released by one call, without deep recursion.
#[test]
fn ten_thousand_waiters() {
    for close in [false, true] {
        for polled in [false, true] {
            let small = std::thread::Builder::new().stack_size(128 << 10).spawn(move || {
                let semaphore = Semaphore::new(0);
                let mut waiting = (0..10_000).map(|_| semaphore.acquire()).collect::<Vec<_>>();
                for acquire in &mut waiting {
                    assert!(acquire.poll_with(Waker::noop()).is_pending(), "none is free");
                }
                if close {
                    semaphore.close();
                } else {
                    semaphore.add_permits(if polled { 10_000 } else { 1 });
                }
                if polled {
                    for acquire in &mut waiting {
                        assert_eq!(acquire.must_be_ready("M7").is_err(), close);
                    }
                }
                drop(waiting);
                assert_eq!(
                    semaphore.available_permits(),
                    if close {
                        0
                    } else if polled {
                        10_000
                    } else {
                        1
                    }
                );
            });
            small.expect("a thread starts").join().expect("M7: no deep recursion");
        }
    }
}

/// C12 for permits: the waker of the last poll is woken, and none is kept.
#[test]
fn the_last_waker_counts() {
    let semaphore = Semaphore::new(0);
    let mut waiting = semaphore.acquire();
    let (before, after) = (waiting.must_wait("none"), waiting.must_wait("none"));
    let (unequal, wakes) = unequal_waker();
    let mut other = semaphore.acquire();
    for _ in 0..10 {
        assert!(other.poll_with(&unequal).is_pending());
    }
    semaphore.add_permits(2);
    assert!(!before.was_woken() && after.was_woken(), "C12");
    assert_eq!(wakes.load(Ordering::SeqCst), 1, "C12");
    drop(waiting);
    assert_eq!((Arc::strong_count(&before), Arc::strong_count(&after)), (1, 1), "no waker is kept");
    drop(other);
    assert_eq!(semaphore.available_permits(), 2);
}

/// C13 for permits: `wake` may use the same semaphore, and may panic; nobody else's wake-up is lost.
#[test]
fn wake_may_reenter_and_panic() {
    within("C13: wake re-enters the semaphore", || {
        let semaphore = Arc::new(Semaphore::new(0));
        let again = Arc::clone(&semaphore);
        let waker = hooked_waker(move |event| {
            if event == Event::Wake {
                drop(again.try_acquire());
                drop(again.acquire().poll_with(Waker::noop()));
                again.add_permits(1);
            }
        });
        let mut waiting = semaphore.acquire();
        assert!(waiting.poll_with(&waker).is_pending());
        semaphore.add_permits(1);
        drop(waiting.must_be_ready("C13").expect("open"));
        assert_eq!(semaphore.available_permits(), 2);
        let held = semaphore.try_acquire_many(2).expect("free");
        let panicking = hooked_waker(|event| assert_ne!(event, Event::Wake, "planted: wake panics"));
        let (mut first, mut second) = (semaphore.acquire(), semaphore.acquire());
        assert!(first.poll_with(&panicking).is_pending());
        let woken = second.must_wait("held");
        assert!(catch_unwind(AssertUnwindSafe(|| drop(held))).is_err());
        assert!(woken.was_woken(), "C13");
        drop((first.must_be_ready("C13"), second.must_be_ready("C13")));
        // The same where a large wish leaves, and what was kept for it goes to one whose waker panics.
        let held = semaphore.try_acquire().expect("free");
        let (mut large, mut small) = (semaphore.acquire_many(2), semaphore.acquire());
        large.must_wait("one is held");
        assert!(small.poll_with(&panicking).is_pending());
        drop(large);
        drop(small.must_be_ready("C13").expect("open"));
        drop(held);
        assert_eq!(semaphore.available_permits(), 2);
        semaphore.assert_valid();
    });
}

/// M8, S1: permits as branches: one of them is taken, and the losers have taken nothing.
#[test]
fn a_branch_of_a_select() {
    let (a, b) = (Arc::new(Semaphore::new(1)), Arc::new(Semaphore::new(1)));
    for _ in 0..20 {
        let outcome = select((a.acquire(), b.acquire_arc())).must_be_ready("both are free");
        assert_eq!(a.available_permits() + b.available_permits(), 1, "S1");
        drop(outcome);
        let outcome = select_biased((a.acquire_arc(), b.acquire())).must_be_ready("both are free");
        assert!(matches!(outcome, Selected2::First(Ok(_))), "S2");
    }
    let (held_a, held_b) = (a.try_acquire().expect("free"), b.try_acquire().expect("free"));
    let mut selecting = select((a.acquire(), b.acquire()));
    let woken = selecting.must_wait("both are held");
    let (mut next, mut large) = (a.acquire(), b.acquire_many(2));
    next.must_wait("held");
    large.must_wait("held");
    drop(held_b);
    assert!(woken.was_woken(), "M8");
    drop(held_a);
    let outcome = selecting.must_be_ready("M8: one is free");
    assert!(matches!(outcome, Selected2::Second(Ok(_))), "S1: whichever came first");
    drop(next.must_be_ready("M2: the losing branch passes it on").expect("open"));
    large.must_wait("one is held");
    drop(outcome);
    b.add_permits(1);
    drop(large.must_be_ready("two are free").expect("open"));
    a.assert_valid();
    b.assert_valid();
    assert_eq!((a.available_permits(), b.available_permits()), (1, 2), "M6");
}

/// M6: a large wish in a select that loses: what was kept for it goes to those behind it.
#[test]
fn a_large_wish_that_loses() {
    let (semaphore, (tx, rx)) = (Semaphore::new(1), leno::bounded(1));
    let mut selecting = select((semaphore.acquire_many(2), rx.recv()));
    let woken = selecting.must_wait("one is free");
    let mut small = semaphore.acquire();
    let small_woken = small.must_wait("behind the large one");
    tx.try_send(7).expect("room");
    assert!(woken.was_woken());
    assert!(matches!(selecting.must_be_ready("S1"), Selected2::Second(Ok(7))));
    assert!(small_woken.was_woken(), "M6");
    drop(small.must_be_ready("M6").expect("open"));
    semaphore.assert_valid();
}

/// M8: closing is an outcome of a branch.
#[test]
fn a_branch_that_is_closed() {
    let (semaphore, (_tx, rx)) = (Semaphore::new(0), leno::bounded::<u8>(1));
    let mut selecting = select((semaphore.acquire(), rx.recv()));
    let woken = selecting.must_wait("nothing is there");
    semaphore.close();
    assert!(woken.was_woken(), "M6");
    assert!(matches!(selecting.must_be_ready("closed"), Selected2::First(Err(_))), "S5");
}

/// M6: never more at work than there are permits, wherever they are; large and small wishes mixed.
fn never_too_many(places: &[Place]) {
    let semaphore = Arc::new(Semaphore::new(3));
    let inside = Arc::new(AtomicUsize::new(0));
    let mut crew = Crew::new("M6: never too many", places);
    for member in 0..8 {
        let (semaphore, inside) = (Arc::clone(&semaphore), Arc::clone(&inside));
        crew.add(move |at| async move {
            for i in 0..200 {
                let n = if member == 0 { 3 } else { 1 + (i + member) % 2 };
                let permit = match at {
                    Place::Thread => semaphore.acquire_many(n as u32).wait(),
                    _ => semaphore.acquire_many(n as u32).await,
                };
                let permit = permit.expect("open");
                assert!(inside.fetch_add(n, Ordering::SeqCst) + n <= 3, "M6");
                if i % 8 == 0 {
                    at.pause().await;
                }
                inside.fetch_sub(n, Ordering::SeqCst);
                drop(permit);
            }
        });
    }
    crew.run();
    assert_eq!(semaphore.available_permits(), 3, "M6: all are back");
    semaphore.assert_valid();
}

/// M2, M6: those that give up while permits go round lose none.
fn giving_up_loses_nothing(places: &[Place]) {
    let semaphore = Arc::new(Semaphore::new(4));
    let mut crew = Crew::new("M2: giving up", places);
    for member in 0..8_u32 {
        let semaphore = Arc::clone(&semaphore);
        crew.add(move |at| async move {
            for i in 0..200 {
                let n = 1 + (member + i) % 4;
                let permit = if member % 2 == 0 {
                    match at {
                        Place::Thread => semaphore.acquire_many(n).wait().ok(),
                        _ => semaphore.acquire_many(n).await.ok(),
                    }
                } else if at == Place::Thread {
                    semaphore.acquire_many(n).wait_timeout(Duration::from_micros(5)).ok()
                } else {
                    twice(semaphore.acquire_many(n)).await.and_then(Result::ok)
                };
                assert!(permit.is_some() || member % 2 == 1, "who waits is served");
                at.pause().await;
            }
        });
    }
    crew.run();
    assert_eq!(semaphore.available_permits(), 4, "M6: all are back");
    semaphore.assert_valid();
}

each_place!(never_too_many, giving_up_loses_nothing);

/// M7: ten thousand fibers of two workers, one permit that goes round.
#[test]
fn ten_thousand_fibers() {
    within("M7: ten thousand fibers", || {
        let runtime = Runtime::builder().workers(2).build().expect("a runtime starts");
        let semaphore = Arc::new(Semaphore::new(0));
        let fibers = (0..10_000).map(|_| {
            let semaphore = Arc::clone(&semaphore);
            runtime.spawn(async move { drop(semaphore.acquire().await.expect("open")) })
        });
        let fibers = fibers.collect::<Vec<_>>();
        semaphore.add_permits(1);
        runtime.block_on(async {
            for fiber in fibers {
                fiber.await.expect("no panic");
            }
        });
        assert_eq!(semaphore.available_permits(), 1);
    });
}

/// M5, and what it takes.
#[test]
fn auto_traits_and_sizes() {
    const {
        assert!(impls!(Semaphore: Send + Sync + UnwindSafe + RefUnwindSafe));
        assert!(impls!(Permit<'static>: Send + Sync) && impls!(OwnedPermit: Send + Sync));
        assert!(impls!(Acquire<'static>: Send + Unpin) && impls!(AcquireArc: Send + Unpin));
    }
    static STATIC: Semaphore = Semaphore::new(1);
    drop(STATIC.try_acquire().expect("free"));
    let word = if cfg!(debug_assertions) { size_of::<usize>() } else { 0 };
    assert!(size_of::<Semaphore>() <= 24, "tokio's has 40 bytes, async-lock's 16");
    assert!(size_of::<Acquire<'_>>() <= 40 + word);
    assert!(format!("{STATIC:?}").contains('1'));
}

/// M6: what was kept for one that waited is free once they are closed; with somebody waiting no more are added than there can be,
/// and what is kept can be taken away.
#[test]
fn what_is_kept_for_who_waits_counts() {
    for what in 0..3 {
        let semaphore = Semaphore::new(3);
        let one = semaphore.try_acquire_many(2).expect("free");
        let mut large = semaphore.acquire_many(u32::MAX);
        large.must_wait("far too few");
        assert_eq!(semaphore.available_permits(), 1);
        match what {
            0 => {
                semaphore.close();
                assert!(large.must_be_ready("closed").is_err());
                assert_eq!(semaphore.available_permits(), 1);
                drop(one);
                assert_eq!(semaphore.available_permits(), 3);
                let late = semaphore.acquire().wait_timeout(Duration::ZERO);
                assert_eq!(late.err(), Some(AcquireTimeoutError::Closed));
            }
            1 => {
                let panic = catch_unwind(AssertUnwindSafe(|| semaphore.add_permits(Semaphore::MAX_PERMITS)));
                assert!(panic.is_err(), "too many");
                assert_eq!(semaphore.available_permits(), 1, "none was added");
            }
            _ => {
                assert_eq!(semaphore.forget_permits(5), 1);
                assert_eq!(semaphore.available_permits(), 0);
                // Nothing is asked for: that need not wait behind anybody.
                assert!(semaphore.try_acquire_many(0).is_ok());
                assert!(semaphore.acquire_many(0).must_be_ready("nothing is asked for").is_ok());
            }
        }
    }
}
