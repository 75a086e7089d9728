//! The timers of one executor: wakers by deadline.
//!
//! An ordered map from (deadline, number) to waker. Inserting, renewing and taking out cost O(log n), and a
//! timer that is dropped leaves nothing behind. Numbers grow, so equal deadlines fire in the order in which they
//! were set.
//!
//! Wakers are foreign code: they are cloned before the lock is taken, and dropped and woken after it was given
//! up. Nothing here looks at a clock; the executor says what is due.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Instant;

use crate::prim::Mutex;
use crate::task::error::shielded;
use crate::task::seam::TimerKey;

/// See the module.
#[derive(Debug)]
pub(crate) struct Timers(Mutex<Inner>);

#[derive(Debug)]
struct Inner {
    pending: BTreeMap<TimerKey, Waker>,
    seq: u64,
    closed: bool,
}

impl Timers {
    pub(crate) fn new() -> Self {
        Timers(Mutex::new(Inner { pending: BTreeMap::new(), seq: 0, closed: false }))
    }

    /// Adds a timer; true beside it: it is the first one now. `None`: closed.
    pub(crate) fn set(&self, at: Instant, waker: Waker) -> Option<(TimerKey, bool)> {
        let mut inner = self.0.lock();
        if inner.closed {
            drop(inner);
            drop(waker);
            return None;
        }
        let key = TimerKey { at, seq: inner.seq };
        inner.seq += 1;
        let first = inner.pending.first_key_value().is_none_or(|(first, _)| key < *first);
        inner.pending.insert(key, waker);
        Some((key, first))
    }

    /// Changes whom a timer wakes; false: it has fired.
    pub(crate) fn renew(&self, key: TimerKey, waker: &Waker) -> bool {
        match self.0.lock().pending.get(&key) {
            None => return false,
            Some(old) if old.will_wake(waker) => return true,
            Some(_) => {}
        }
        let mut waker = waker.clone();
        let mut inner = self.0.lock();
        let pending = match inner.pending.get_mut(&key) {
            None => false,
            Some(old) => {
                std::mem::swap(old, &mut waker);
                true
            }
        };
        drop(inner);
        drop(waker);
        pending
    }

    /// Takes a timer out.
    pub(crate) fn clear(&self, key: TimerKey) {
        let waker = self.0.lock().pending.remove(&key);
        drop(waker);
    }

    /// The next deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.0.lock().pending.first_key_value().map(|(key, _)| key.at)
    }

    /// Wakes all that are due at `now`, in order. A waker that panics doesn't keep the others from theirs.
    pub(crate) fn fire(&self, now: Instant) {
        let mut due = Vec::new();
        {
            let mut inner = self.0.lock();
            while let Some(first) = inner.pending.first_entry().filter(|first| first.key().at <= now) {
                due.push(first.remove());
            }
        }
        for waker in due {
            shielded(|| waker.wake());
        }
    }

    /// Ends the store: wakes everybody, so that who waits elsewhere can set a timer elsewhere.
    pub(crate) fn close(&self) {
        let pending = {
            let mut inner = self.0.lock();
            inner.closed = true;
            std::mem::take(&mut inner.pending)
        };
        for waker in pending.into_values() {
            shielded(|| waker.wake());
        }
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use crate::prim::{Arc, AtomicUsize, Ordering};
    use std::time::Duration;

    struct Count(AtomicUsize);

    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    #[test]
    fn a_cleared_timer_leaves_nothing_and_does_not_fire() {
        let timers = Timers::new();
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let base = Instant::now();
        let keys: Vec<_> = (0..1000)
            .map(|i| timers.set(base + Duration::from_secs(i % 10), waker.clone()).expect("open").0)
            .collect();
        for key in &keys[1..] {
            timers.clear(*key);
        }
        assert_eq!(timers.0.lock().pending.len(), 1);
        assert_eq!(Arc::strong_count(&count), 3);
        timers.fire(base + Duration::from_secs(10));
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(!timers.renew(keys[0], &waker));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn only_the_earliest_is_announced() {
        let timers = Timers::new();
        let base = Instant::now();
        let set = |secs| timers.set(base + Duration::from_secs(secs), Waker::noop().clone()).expect("open").1;
        assert!(set(5));
        assert!(!set(5));
        assert!(!set(9));
        assert!(set(1));
        timers.close();
        assert!(timers.set(base, Waker::noop().clone()).is_none());
    }
}
