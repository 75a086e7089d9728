//! Locks on fibers, tokio, threads, and all of them at once: M1–M4, M7, M8.

use std::sync::Arc;

use leno::fiber::{Cord, Runtime};
use leno::sync::Mutex;

use crate::each_place;
use crate::support::{Crew, Place, message_of, within};

fn both<T: Copy>(value: T) -> [Arc<Mutex<T>>; 2] {
    [Arc::new(Mutex::new(value)), Arc::new(Mutex::fair(value))]
}

/// M1, M8: nobody sees the two halves of a change; no change is lost. Held across a suspension.
fn exclusion(places: &[Place]) {
    for mutex in both((0, 0)) {
        let mut crew = Crew::new("M1: exclusion", places);
        for _ in 0..8 {
            let mutex = Arc::clone(&mutex);
            crew.add(move |at| async move {
                for i in 0..200 {
                    let mut guard = at.lock(&mutex).await;
                    assert_eq!(guard.0, guard.1, "M1: nobody else is in between");
                    guard.0 += 1;
                    if i % 8 == 0 {
                        at.pause().await;
                    }
                    guard.1 += 1;
                }
            });
        }
        crew.run();
        assert_eq!(
            *mutex.try_lock().expect("M1: all guards are gone"),
            (1600, 1600),
            "M1: no change is lost"
        );
    }
}

/// M8: owned guards move to other tasks and unlock there.
fn owned_guards_travel(places: &[Place]) {
    for mutex in both(0) {
        let (tx, rx) = leno::bounded(1);
        let mut crew = Crew::new("M8: owned guards", places);
        let locker = Arc::clone(&mutex);
        crew.add(move |at| async move {
            for _ in 0..100 {
                let guard =
                    if at == Place::Thread { locker.lock_arc().wait() } else { locker.lock_arc().await };
                at.send(&tx, guard).await.expect("open");
            }
        });
        crew.add(move |at| async move {
            while let Ok(mut guard) = at.recv(&rx).await {
                *guard += 1;
            }
        });
        crew.run();
        assert_eq!(*mutex.try_lock().expect("M1: free"), 100);
    }
}

each_place!(exclusion, owned_guards_travel);

/// M1: a fiber that panics or is cancelled with a guard held unlocks.
#[test]
fn a_fiber_that_ends_early_unlocks() {
    within("M1: fibers that end early", || {
        for mutex in both(0) {
            let cord = Cord::new();
            let held = Arc::clone(&mutex);
            let fiber = cord.spawn_local(async move {
                let _guard = held.lock().await;
                panic!("planted: in a fiber that holds the lock");
            });
            let error =
                cord.block_on(async move { fiber.await.map(|never: ()| never) }).expect_err("it panicked");
            assert!(error.is_panic());
            assert!(mutex.try_lock().is_some(), "M1: unlocked by the panic, not poisoned");
            let held = Arc::clone(&mutex);
            let fiber = cord.spawn_local(async move {
                let _guard = held.lock().await;
                std::future::pending::<()>().await;
            });
            let waiter = Arc::clone(&mutex);
            cord.block_on(async move {
                while waiter.try_lock().is_some() {
                    leno::yield_now().await;
                }
                fiber.cancel();
                drop(waiter.lock().await);
                assert!(fiber.await.expect_err("cancelled").is_cancelled());
            });
        }
    });
}

/// M7: ten thousand fibers that wait are released by one unlock, one after the other.
#[test]
fn ten_thousand_fibers() {
    within("M7: ten thousand fibers", || {
        for mutex in both(0) {
            let runtime = Runtime::builder().workers(2).build().expect("a runtime starts");
            let guard = mutex.try_lock().expect("free");
            let fibers = (0..10_000).map(|_| {
                let mutex = Arc::clone(&mutex);
                runtime.spawn(async move { *mutex.lock().await += 1 })
            });
            let fibers = fibers.collect::<Vec<_>>();
            drop(guard);
            runtime.block_on(async {
                for fiber in fibers {
                    fiber.await.expect("no panic");
                }
            });
            assert_eq!(*mutex.try_lock().expect("free"), 10_000, "M7: all were released");
        }
    });
}

/// M2: a lock that is held over a suspension goes round among many fibers of two workers: nobody is lost from the line,
/// from which several unlocks take at a time, and which nodes enter again that have just left it.
#[test]
fn a_long_line_goes_round() {
    within("M2: a long line", || {
        for mutex in both(0) {
            let runtime = Runtime::builder().workers(2).build().expect("a runtime starts");
            let fibers = (0..100).map(|_| {
                let mutex = Arc::clone(&mutex);
                runtime.spawn(async move {
                    for _ in 0..1000 {
                        let mut guard = mutex.lock().await;
                        *guard += 1;
                        leno::yield_now().await;
                    }
                })
            });
            let fibers = fibers.collect::<Vec<_>>();
            runtime.block_on(async {
                for fiber in fibers {
                    fiber.await.expect("no panic");
                }
            });
            assert_eq!(*mutex.try_lock().expect("free"), 100_000, "M2: all had their turns");
            mutex.assert_valid();
        }
    });
}

/// C25: a blocking lock that would wait inside a fiber of a cord panics, and names what to use instead.
#[test]
fn blocking_on_a_cord_panics_with_advice() {
    let message = within("C25: blocking inside a cord's fiber", || {
        let cord = Cord::new();
        let mutex = Arc::new(Mutex::new(0));
        let _guard = mutex.try_lock().expect("free");
        let held = Arc::clone(&mutex);
        let fiber = cord.spawn_local(async move { drop(held.lock_blocking()) });
        message_of(cord.block_on(fiber).expect_err("C25: blocking on a cord panics").into_panic())
    });
    assert!(
        message.contains("unblock") && message.contains("lock"),
        "C25: names what to use, got: {message}"
    );
}
