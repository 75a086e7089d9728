//! M3: how long a waiter of the default mutex waits while another fiber takes the lock again and again.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;
use std::task::Poll;

use leno::fiber::{Cord, spawn_local};
use leno::sync::Mutex;
use leno::time::Clock;
use leno::yield_now;

/// On a cord the order is fixed, and so is the figure: a hog that holds the lock over each yield and takes it again
/// at once lets a waiter in after a few rounds, however long it goes on.
#[test]
fn a_hog_lets_a_waiter_in() {
    let cord = Cord::new();
    let mutex = Arc::new(Mutex::new(()));
    let (rounds, ended) = (Rc::new(Cell::new(0)), Rc::new(Cell::new(false)));
    let longest = cord.block_on(async {
        let hog = spawn_local({
            let (mutex, rounds, ended) = (Arc::clone(&mutex), Rc::clone(&rounds), Rc::clone(&ended));
            async move {
                while !ended.get() {
                    let guard = mutex.lock().await;
                    rounds.set(rounds.get() + 1);
                    yield_now().await;
                    drop(guard);
                }
            }
        });
        yield_now().await;
        let mut longest = 0;
        for _ in 0..100 {
            let before = rounds.get();
            drop(mutex.lock().await);
            longest = longest.max(rounds.get() - before);
            yield_now().await;
        }
        ended.set(true);
        hog.await.expect("the hog ends");
        longest
    });
    assert!(rounds.get() > 100, "the hog was at it all the time");
    assert!(longest <= 10, "M3: a waiter was passed over {longest} times");
}

/// A waiter that starves and is not polled any more costs the others a step aside, and nothing else.
#[test]
fn a_starving_waiter_that_is_not_polled_blocks_nobody() {
    let cord = Cord::new();
    let mutex = Arc::new(Mutex::new(0));
    cord.block_on(async {
        let mut starving = Box::pin(mutex.lock());
        for _ in 0..10 {
            // Polled while the lock is held, each time after it was told: it misses the lock every time.
            let guard = mutex.try_lock().expect("free");
            let polled = futures_util::poll!(starving.as_mut());
            assert!(polled.is_pending());
            drop(guard);
        }
        for _ in 0..100 {
            *mutex.lock().await += 1;
        }
        drop(starving);
    });
    assert_eq!(*mutex.try_lock().expect("free"), 100);
}

/// Newcomers step back for long before they take the lock from one that starves: long enough for it to come, wherever it is.
/// Once that was in vain they do so no more, until it has shown that it is there.
#[test]
fn newcomers_step_back_until_it_is_known_to_be_in_vain() {
    let mutex = Mutex::new(());
    // (With real time they would do so for a millisecond at most.)
    Cord::with_clock(Clock::virtual_time()).block_on(async {
        let mut starving = Box::pin(mutex.lock());
        let mut miss = async || {
            let guard = mutex.try_lock().expect("free");
            assert!(futures_util::poll!(starving.as_mut()).is_pending());
            drop(guard);
        };
        for _ in 0..10 {
            miss().await;
        }
        let steps = async || {
            let mut newcomer = mutex.lock();
            let mut steps = 0;
            while futures_util::poll!(&mut newcomer).is_pending() {
                steps += 1;
                yield_now().await;
            }
            steps
        };
        let first = steps().await;
        assert!(first > 100, "M3: it steps back {first} times");
        assert_eq!([steps().await, steps().await], [0, 0]);
        miss().await;
        assert_eq!([steps().await, steps().await], [first, 0]);
        // Who only looks does not wait for it, and so it is not in vain.
        miss().await;
        assert!(leno::timeout(std::time::Duration::ZERO, mutex.lock()).await.is_ok());
        assert!(mutex.try_lock().is_some());
        leno::select! {
            guard = mutex.lock() => drop(guard),
            default => panic!("M3: it is free"),
        }
        leno::select! {
            guard = async { mutex.lock().await } => drop(guard),
            default => panic!("M3: it is free"),
        }
        assert!(steps().await > 100);
        // Nor are many that are polled once each, before it was.
        miss().await;
        let mut looks = 0;
        while futures_util::poll!(mutex.lock()).is_pending() {
            looks += 1;
        }
        assert!((first..2 * first).contains(&looks));
        // The one that starves comes meanwhile.
        miss().await;
        let mut newcomer = mutex.lock();
        for _ in 0..5 {
            assert!(futures_util::poll!(&mut newcomer).is_pending());
        }
        let guard = starving.await;
        assert!(futures_util::poll!(&mut newcomer).is_pending());
        drop(guard);
        drop(newcomer.await);
        assert_eq!(steps().await, 0, "nobody starves");
    });
}

/// M3: others that come, and go when they have stepped back, do not cost a waiter its chance.
#[test]
fn newcomers_that_go_let_a_waiter_in() {
    let mutex = Mutex::new(());
    Cord::with_clock(Clock::virtual_time()).block_on(async {
        let mut guard = mutex.try_lock();
        let mut waiter = mutex.lock();
        assert!(futures_util::poll!(&mut waiter).is_pending());
        for _ in 0..20 {
            drop(guard.take());
            // Whoever had it comes again at once, and is polled twice before the waiter is.
            let mut hog = mutex.lock();
            for _ in 0..2 {
                if let Poll::Ready(locked) = futures_util::poll!(&mut hog) {
                    guard = Some(locked);
                    break;
                }
                assert!(futures_util::poll!(mutex.lock()).is_pending());
            }
            if futures_util::poll!(&mut waiter).is_ready() {
                return;
            }
            if guard.is_none() {
                guard = Some(hog.await);
            }
        }
        panic!("M3: it was passed over again and again");
    });
}
