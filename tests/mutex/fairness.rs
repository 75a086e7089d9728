//! M3: how long a waiter of the default mutex waits while another fiber takes the lock again and again.

use std::cell::Cell;
use std::rc::Rc;
use std::sync::Arc;

use leno::fiber::{Cord, spawn_local};
use leno::sync::Mutex;
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
