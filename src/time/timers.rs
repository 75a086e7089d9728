//! The timers of one executor: wakers by deadline.
//!
//! An ordered map from (deadline, number) to waker. Inserting, renewing and taking out cost O(log n), and a
//! timer that is dropped leaves nothing behind. Numbers grow, so equal deadlines fire in the order in which they
//! were set.
//!
//! Beside the lock stands the first deadline, as a hint, so that a look at the timers is a load if there are none.
//!
//! Wakers are foreign code: they are cloned before the lock is taken, and dropped and woken after it was given
//! up.

use std::collections::BTreeMap;
use std::task::Waker;
use std::time::Instant;

use crate::prim::{AtomicU64, Mutex, Ordering};
use crate::task::context;
use crate::task::error::shielded;
use crate::task::seam::TimerKey;
use crate::time::Clock;

/// See the module.
#[derive(Debug)]
pub(crate) struct Timers {
    pub(crate) clock: Clock,
    base: Instant,
    /// The first deadline, in nanoseconds since `base`. Written under the lock.
    hint: AtomicU64,
    inner: Mutex<Inner>,
}

/// There are no timers.
const NEVER: u64 = u64::MAX;

#[derive(Debug)]
struct Inner {
    pending: BTreeMap<TimerKey, Waker>,
    seq: u64,
    closed: bool,
}

impl Timers {
    pub(crate) fn new(clock: Clock) -> Self {
        let base = clock.now();
        let inner = Mutex::new(Inner { pending: BTreeMap::new(), seq: 0, closed: false });
        Timers { clock, base, hint: AtomicU64::new(NEVER), inner }
    }

    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.base).as_nanos()).unwrap_or(NEVER - 1)
    }

    /// To be called under the lock after each change.
    fn set_hint(&self, inner: &Inner) {
        let hint = inner.pending.first_key_value().map_or(NEVER, |(first, _)| self.nanos(first.at));
        // ORDERING: Relaxed: a hint. Who must not miss a timer takes the lock (`next`).
        self.hint.store(hint, Ordering::Relaxed);
    }

    /// Adds a timer; true beside it: it is the first one now. `None`: closed.
    pub(crate) fn set(&self, at: Instant, waker: Waker) -> Option<(TimerKey, bool)> {
        let mut inner = self.inner.lock();
        if inner.closed {
            drop(inner);
            drop(waker);
            return None;
        }
        let key = TimerKey { at, seq: inner.seq };
        inner.seq += 1;
        let first = inner.pending.first_key_value().is_none_or(|(first, _)| key < *first);
        inner.pending.insert(key, waker);
        if first {
            self.set_hint(&inner);
        }
        Some((key, first))
    }

    /// Changes whom a timer wakes; false: it has fired.
    pub(crate) fn renew(&self, key: TimerKey, waker: &Waker) -> bool {
        match self.inner.lock().pending.get(&key) {
            None => return false,
            Some(old) if old.will_wake(waker) => return true,
            Some(_) => {}
        }
        let mut waker = waker.clone();
        let mut inner = self.inner.lock();
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
        let mut inner = self.inner.lock();
        let waker = inner.pending.remove(&key);
        self.set_hint(&inner);
        drop(inner);
        drop(waker);
    }

    /// The next deadline.
    pub(crate) fn next(&self) -> Option<Instant> {
        self.inner.lock().pending.first_key_value().map(|(key, _)| key.at)
    }

    /// Whether there is one that is not due yet.
    pub(crate) fn has_later(&self) -> bool {
        let last = self.inner.lock().pending.last_key_value().map(|(key, _)| key.at);
        last.is_some_and(|at| at > self.clock.now())
    }

    /// Wakes all that are due, in order. A waker that panics doesn't keep the others from theirs.
    #[inline]
    pub(crate) fn fire(&self) {
        // ORDERING: Relaxed: see `set_hint`.
        let hint = self.hint.load(Ordering::Relaxed);
        if hint != NEVER {
            let now = self.clock.now();
            if self.nanos(now) >= hint {
                self.fire_until(now);
            }
        }
    }

    #[cold]
    fn fire_until(&self, now: Instant) {
        let mut due = Vec::new();
        {
            let mut inner = self.inner.lock();
            while let Some(first) = inner.pending.first_entry().filter(|first| first.key().at <= now) {
                due.push(first.remove());
            }
            self.set_hint(&inner);
        }
        context::behind(|| {
            for waker in due {
                shielded(|| waker.wake());
            }
        });
    }

    /// Virtual time goes on to the next deadline; false: there is none.
    pub(crate) fn jump(&self) -> bool {
        let next = self.next();
        if let Some(next) = next {
            self.clock.advance(next);
            self.fire();
        }
        next.is_some()
    }

    /// Ends the store: wakes everybody, so that who waits elsewhere can set a timer elsewhere.
    pub(crate) fn close(&self) {
        let pending = {
            let mut inner = self.inner.lock();
            inner.closed = true;
            let pending = std::mem::take(&mut inner.pending);
            self.set_hint(&inner);
            pending
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
        let clock = Clock::virtual_time();
        let timers = Timers::new(clock.clone());
        let count = Arc::new(Count(AtomicUsize::new(0)));
        let waker = Waker::from(Arc::clone(&count));
        let base = clock.now();
        let keys: Vec<_> = (0..1000)
            .map(|i| timers.set(base + Duration::from_secs(i % 10), waker.clone()).expect("open").0)
            .collect();
        for key in &keys[1..] {
            timers.clear(*key);
        }
        assert_eq!(timers.inner.lock().pending.len(), 1);
        assert_eq!(Arc::strong_count(&count), 3);
        clock.advance(base + Duration::from_secs(10));
        timers.fire();
        assert_eq!(count.0.load(Ordering::Relaxed), 1);
        assert!(!timers.renew(keys[0], &waker));
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn only_the_earliest_is_announced() {
        let clock = Clock::virtual_time();
        let timers = Timers::new(clock.clone());
        let base = clock.now();
        let set = |secs| timers.set(base + Duration::from_secs(secs), Waker::noop().clone()).expect("open").1;
        assert!(set(5));
        assert!(!set(5));
        assert!(!set(9));
        assert!(set(1));
        timers.close();
        assert!(timers.set(base, Waker::noop().clone()).is_none());
    }
}
