//! A lock of one byte for short critical sections: taken by one locked instruction, given back by a plain store.
//!
//! The price of the store is that nobody is told of it: whoever finds the lock taken looks again and again, after a few pauses,
//! then yields, then naps, each nap twice as long as the one before, up to [`NAP_MAX`]. So a waiter uses next to no processor time
//! while the holder walks through a list of a million, or has lost its core, and comes at most about twice as late as it had to.
//!
//! A holder that keeps the lock for long, and takes it again and again, would starve those who nap. So these say that they nap, and
//! such a holder lets them go first ([`Lock::give_way`]).
//!
//! ORDERING: `lock` acquires what the last `drop` of a [`Held`] has released.
//!
//! Progress: blocking, without an order among those who wait. Nothing that may block or call foreign code is done under it.

use std::time::Duration;

use crate::prim::{AtomicBool, MODEL, Ordering, UnsafeCell, spin_loop, thread};

/// A value, and who may touch it.
pub(crate) struct Lock<T> {
    held: AtomicBool,
    /// Somebody naps, or did so until it got the lock.
    napping: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: whoever holds the lock has the value alone, on whatever thread.
unsafe impl<T: Send> Sync for Lock<T> {}

/// So many times a waiter looks after pauses, twice as many each time; and then after a yield.
const PAUSES: u32 = 6;
const YIELDS: u32 = 8;
const NAP_MIN: Duration = Duration::from_micros(20);
const NAP_MAX: Duration = Duration::from_millis(1);

impl<T> Lock<T> {
    pub(crate) fn new(value: T) -> Self {
        Lock { held: AtomicBool::new(false), napping: AtomicBool::new(false), value: UnsafeCell::new(value) }
    }

    #[inline]
    pub(crate) fn lock(&self) -> Held<'_, T> {
        if !self.try_lock() {
            self.wait();
        }
        Held(self)
    }

    #[inline]
    fn try_lock(&self) -> bool {
        // ORDERING: Acquire pairs with the store in `Held::drop`; a failure reads nothing.
        self.held.compare_exchange(false, true, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    #[cold]
    fn wait(&self) {
        let mut nap = NAP_MIN;
        for round in 0.. {
            if MODEL {
                thread::yield_now();
            } else if round < PAUSES {
                (0..1 << round).for_each(|_| spin_loop());
            } else if round < PAUSES + YIELDS {
                thread::yield_now();
            } else {
                // ORDERING: Relaxed, also below: a hint.
                self.napping.store(true, Ordering::Relaxed);
                thread::sleep(nap);
                nap = (nap * 2).min(NAP_MAX);
            }
            // ORDERING: Relaxed: only whether it is worth while to try.
            if (MODEL || !self.held.load(Ordering::Relaxed)) && self.try_lock() {
                if round >= PAUSES + YIELDS {
                    self.napping.store(false, Ordering::Relaxed);
                }
                return;
            }
        }
    }

    /// To be called by those who hold it for long, before they take it: lets one of those who nap go first, if there is one.
    pub(crate) fn give_way(&self) {
        let mut naps = 0;
        while self.napping.load(Ordering::Relaxed) && naps < 2 {
            thread::sleep(NAP_MAX);
            naps += 1;
        }
    }
}

/// The lock is held until this is dropped.
#[must_use]
pub(crate) struct Held<'a, T>(&'a Lock<T>);

impl<T> Held<'_, T> {
    #[inline]
    pub(crate) fn with<R>(&mut self, f: impl FnOnce(&mut T) -> R) -> R {
        // SAFETY: the lock is held, and its holder is borrowed for the time of the call.
        self.0.value.with_mut(|value| f(unsafe { &mut *value }))
    }
}

impl<T> Drop for Held<'_, T> {
    #[inline]
    fn drop(&mut self) {
        // ORDERING: pairs with `try_lock`.
        self.0.held.store(false, order!(Release, "lock_release_relaxed"));
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use crate::prim::Arc;

    #[test]
    fn who_takes_it_again_and_again_gives_way() {
        let lock = Arc::new(Lock::new(false));
        let other = Arc::clone(&lock);
        let begun = Arc::new(AtomicBool::new(false));
        let begins = Arc::clone(&begun);
        let mut waiter = None;
        // Without giving way it would have to come in the few nanoseconds between two rounds.
        let let_in = (0..2_000).any(|_| {
            lock.give_way();
            let mut held = lock.lock();
            if held.with(|over| *over) {
                return true;
            }
            waiter.get_or_insert_with(|| {
                let (other, begins) = (Arc::clone(&other), Arc::clone(&begins));
                let take = move || {
                    begins.store(true, Ordering::Relaxed);
                    other.lock().with(|over| *over = true);
                };
                thread::Builder::new().spawn(take).unwrap()
            });
            while !begun.load(Ordering::Relaxed) {
                thread::yield_now();
            }
            thread::sleep(Duration::from_millis(1));
            false
        });
        assert!(let_in, "the waiter was starved");
        waiter.unwrap().join().unwrap();
    }

    #[test]
    fn waiters_get_in_one_at_a_time_also_after_a_long_wait() {
        let lock = Arc::new(Lock::new(0));
        let first = lock.lock();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let lock = lock.clone();
                let count = move || (0..1000).for_each(|_| lock.lock().with(|count| *count += 1));
                thread::Builder::new().spawn(count).unwrap()
            })
            .collect();
        // Long enough for all of them to nap.
        thread::sleep(Duration::from_millis(20));
        drop(first);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(lock.lock().with(|count| *count), 4000);
    }
}
