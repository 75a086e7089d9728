//! The timers of one executor: whom to wake when.
//!
//! ```text
//!   worker 0: next, wheel ◀─ set, fire ─ worker 0             next: the first deadline of that wheel, for all to read
//!   worker 1: next, wheel ◀─ set, fire ─ worker 1
//!    outside: next, wheel ◀─ set ─ other threads, fire ─ all workers
//!                           fire ─ whoever has nothing to do, and whoever finds one overdue
//! ```
//!
//! Each worker has a [`wheel`] under a lock of its own, which is rarely taken by another; what is set by other threads is
//! in one more. Where there is one worker, and on a virtual clock, all are in one wheel.
//!
//! **States of a timer.** *Pending*: its entry is in the wheel. *Fired*: whoever fires has taken it out under the lock, as its
//! deadline had come, and calls the waker after giving up the lock. *Cleared*: its owner has taken it out. *Closed*: the executor
//! ended before; it was woken. A key finds a pending timer only ([`wheel`]), so `set`, `renew`, `clear` and `fire`, which happen
//! under the lock, exclude each other:
//!
//! 1. A waker that `set` or a successful `renew` has left is woken once, or given back by `clear` or by a later `renew`.
//! 2. `renew` that says `Fired` has changed nothing: the deadline has come, and the waker that was there is being woken.
//! 3. After `clear` nothing of the timer is left; the waker is not called, unless firing had come before.
//! 4. Order: what one look finds due is woken by deadline, equal ones of a wheel as they were set. On a virtual clock, where
//!    all are in one wheel and time moves to the very next deadline, that is the order of all.
//!
//! **Nobody sleeps through a deadline.** `next` is written under its wheel's lock, after each change; it is at most the first
//! deadline, and is that one unless it was cleared (then a look finds nothing, and puts it right). It is read without the lock:
//!
//! 5. A worker sees what it has set itself, every few turns (every one, if these are long) and before it parks. If its poll doesn't
//!    end, or blocks, others do: a worker that searches fires all that are due; a busy one looks in turn at one other wheel each
//!    time, and fires what is overdue by [`GRACE`]; the watcher of the crew sleeps until the first `next` of all, and looks every
//!    few milliseconds as long as somebody works; where nobody sleeps but in calls that block, one of those is told.
//! 6. Who sets one from outside, if it is the first of its wheel, looks at the sleepers' watch afterwards, under the sleepers'
//!    lock; who goes to sleep reads all `next` under the same lock, and publishes until when it sleeps. Whichever comes second
//!    sees the other.
//!
//! ORDERING: Relaxed for `next`: the sleepers' lock orders what has to be seen (6), fences do between a worker that sets one and
//! who is about to sleep in a call (5), and for the rest it is a hint that may be late, but not for ever.
//!
//! Wakers are foreign code: they are cloned before a lock is taken, and dropped and woken after it was given up. Before one of
//! them waits, by leno's means, the rest of what was due with it is woken (unless such waits are nested 16 deep: what is left
//! waits with the innermost): so those that are due at one time must not wait for each other in a circle, or for what an earlier
//! one does after its wait.
//!
//! Progress: setting a timer and clearing one take a constant number of steps under a lock, amortized; firing and closing one per
//! timer; and a jump of a virtual clock walks the next bucket.

mod wheel;

use std::cell::RefCell;
use std::task::Waker;
use std::time::{Duration, Instant};
use std::vec;

use crossbeam_utils::CachePadded;

use self::wheel::{Due, Key, NEVER, TICK, VIRTUAL_TICK, Wheel};
use crate::prim::{AtomicU64, Mutex, Ordering};
use crate::task::context;
use crate::task::error::{call, shielded};
use crate::task::seam::{TimerKey, TimerState};
use crate::time::Clock;

/// From this delay on others fire what a busy worker should have fired itself.
const GRACE: Duration = Duration::from_micros(100);

/// See the module.
#[derive(Debug)]
pub(crate) struct Timers {
    pub(crate) clock: Clock,
    /// When the wheels began.
    base: Instant,
    /// The workers', and the outside's; or one for all.
    stores: Box<[CachePadded<Store>]>,
}

/// A wheel, with its lock.
#[derive(Debug)]
struct Store {
    /// Written under the lock.
    next: AtomicU64,
    inner: Mutex<Inner>,
}

#[derive(Debug)]
struct Inner {
    wheel: Wheel,
    closed: bool,
}

impl Store {
    fn new(tick: u32) -> Self {
        let inner = Inner { wheel: Wheel::new(tick), closed: false };
        Store { next: AtomicU64::new(NEVER), inner: Mutex::new(inner) }
    }

    fn next(&self) -> u64 {
        // ORDERING: Relaxed: see the module.
        self.next.load(Ordering::Relaxed)
    }

    /// To be called under the lock after each change.
    fn publish(&self, inner: &Inner) {
        let next = inner.wheel.first();
        if next != self.next() {
            // ORDERING: Relaxed: see the module.
            self.next.store(next, Ordering::Relaxed);
        }
    }

    /// Takes out what is due.
    #[cold]
    fn take_due(&self, now: u64, due: &mut Vec<Due>) {
        let mut inner = self.inner.lock();
        inner.wheel.take_due(now, due);
        self.publish(&inner);
    }
}

impl Inner {
    /// What has become of a timer that is not pending.
    fn gone(&self) -> TimerState {
        if self.closed { TimerState::Closed } else { TimerState::Fired }
    }
}

/// Wakes them in order. A waker that panics doesn't keep the others from theirs, nor does one that waits.
fn wake(mut due: Vec<Due>) {
    if due.is_empty() {
        return;
    }
    due.sort_unstable_by_key(|due| (due.at, due.number));
    wake_rest(&RefCell::new(due.into_iter()));
}

fn wake_rest(rest: &RefCell<vec::IntoIter<Due>>) {
    let next = || rest.borrow_mut().next();
    let go_on = || {
        context::deeper(|| wake_rest(rest));
        None
    };
    context::one_by_one(None, &go_on, || {
        context::behind(|| {
            while let Some(due) = next() {
                shielded(|| due.waker.wake());
            }
        });
    });
}

impl Timers {
    /// For an executor of so many workers.
    pub(crate) fn new(clock: Clock, workers: usize) -> Self {
        let base = clock.now();
        let stores = if workers == 1 || clock.is_virtual() { 1 } else { workers + 1 };
        let tick = if clock.is_virtual() { VIRTUAL_TICK } else { TICK };
        Timers { clock, base, stores: (0..stores).map(|_| CachePadded::new(Store::new(tick))).collect() }
    }

    /// A deadline too far away is `NEVER`.
    fn nanos(&self, at: Instant) -> u64 {
        u64::try_from(at.saturating_duration_since(self.base).as_nanos()).unwrap_or(NEVER)
    }

    /// The time since they were made.
    pub(crate) fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.now())
    }

    fn now(&self) -> u64 {
        self.nanos(self.clock.now()).min(NEVER - 1)
    }

    /// A worker's; `None`: the one for other threads.
    fn index(&self, worker: Option<usize>) -> usize {
        let last = self.stores.len() - 1;
        worker.map_or(last, |index| index.min(last))
    }

    /// Adds a timer, by a worker or from outside; true beside it: it is the first one of its wheel now. `None`: closed.
    pub(crate) fn set(&self, worker: Option<usize>, at: Instant, waker: Waker) -> Option<(TimerKey, bool)> {
        let (at, index) = (self.nanos(at), self.index(worker));
        let store = &self.stores[index];
        let mut inner = store.inner.lock();
        if inner.closed && !bug!("timers_set_after_close") {
            drop(inner);
            call(|| drop(waker));
            return None;
        }
        let Key { entry, number } = inner.wheel.set(at, waker);
        let first = at < store.next();
        if first {
            // ORDERING: Relaxed: see the module.
            store.next.store(at, Ordering::Relaxed);
        }
        Some((TimerKey { store: index as u32, entry, number }, first))
    }

    fn store(&self, key: TimerKey) -> (&Store, Key) {
        (&self.stores[key.store as usize], Key { entry: key.entry, number: key.number })
    }

    /// Changes whom a timer wakes.
    pub(crate) fn renew(&self, key: TimerKey, waker: &Waker) -> TimerState {
        let (store, key) = self.store(key);
        {
            let mut inner = store.inner.lock();
            match inner.wheel.waker(key) {
                None => return inner.gone(),
                Some(old) if old.will_wake(waker) => return TimerState::Pending,
                Some(_) => {}
            }
        }
        let mut waker = waker.clone();
        let state = {
            let mut inner = store.inner.lock();
            match inner.wheel.waker(key) {
                None if bug!("timers_renew_unchecked") => TimerState::Pending,
                None => inner.gone(),
                Some(old) => {
                    std::mem::swap(old, &mut waker);
                    TimerState::Pending
                }
            }
        };
        call(|| drop(waker));
        state
    }

    /// Takes a timer out.
    pub(crate) fn clear(&self, key: TimerKey) {
        let (store, key) = self.store(key);
        let mut inner = store.inner.lock();
        let waker = inner.wheel.clear(key);
        if waker.is_some() {
            store.publish(&inner);
        }
        drop(inner);
        call(|| drop(waker));
    }

    /// The first of all, or what was the first until it was cleared.
    fn first(&self) -> u64 {
        let all = if bug!("timers_of_others_are_theirs") {
            &self.stores[self.stores.len() - 1..]
        } else {
            &self.stores[..]
        };
        all.iter().map(|store| store.next()).min().unwrap_or(NEVER)
    }

    /// The next deadline, or one before it.
    pub(crate) fn next(&self) -> Option<Instant> {
        let first = self.first();
        (first != NEVER).then(|| self.base + Duration::from_nanos(first))
    }

    /// Wakes all that are due, and were so at `limit`, which is one by a real clock.
    pub(crate) fn fire(&self, limit: Option<Instant>) {
        if self.first() != NEVER {
            let now = self.now();
            self.fire_until(limit.map_or(now, |limit| now.min(self.nanos(limit))), || {});
        }
    }

    /// Wakes all that are due; calls `prepare` first, if there are any: wakers are foreign code.
    pub(crate) fn fire_after(&self, prepare: impl FnOnce()) {
        if self.first() != NEVER {
            self.fire_until(self.now(), prepare);
        }
    }

    fn fire_until(&self, now: u64, prepare: impl FnOnce()) {
        Timers::fire_some(self.stores.iter().map(|store| (&**store, now)), now, prepare);
    }

    /// Wakes all that are due at `now` in those of the stores where one was so at the time beside it; calls `prepare` first, if
    /// there are any.
    #[cold]
    fn fire_some<'a>(stores: impl Iterator<Item = (&'a Store, u64)>, now: u64, prepare: impl FnOnce()) {
        let mut due = Vec::new();
        for (store, by) in stores {
            if store.next() <= by {
                store.take_due(now, &mut due);
            }
        }
        if !due.is_empty() {
            prepare();
        }
        wake(due);
    }

    /// A worker's look from time to time: wakes those that are due of its own and from outside, and what is overdue of one
    /// other worker, another one in each `round`. Before that `at` is told the time, if there are timers, or if it is `asked`
    /// for.
    #[inline]
    pub(crate) fn look(&self, worker: usize, round: u64, asked: bool, at: impl FnOnce(u64)) {
        let other = (round % self.stores.len() as u64) as usize;
        let watched = [self.index(Some(worker)), self.index(None), other].map(|index| &*self.stores[index]);
        if watched.iter().any(|store| store.next() != NEVER) {
            let now = self.now();
            at(now);
            let long_ago = now.saturating_sub(GRACE.as_nanos() as u64);
            Timers::fire_some(watched.into_iter().zip([now, now, long_ago]), now, || {});
        } else if asked {
            at(self.now());
        }
    }

    /// Virtual time goes on to the next deadline, which is to be [fired](Self::fire) then; false: there is none.
    pub(crate) fn jump(&self) -> bool {
        let store = &self.stores[0];
        let first = {
            let inner = store.inner.lock();
            let first = inner.wheel.exact_first();
            // ORDERING: Relaxed: see the module. Right, and the last word if what is left never comes.
            store.next.store(first, Ordering::Relaxed);
            first
        };
        if first != NEVER {
            self.clock.advance(self.base + Duration::from_nanos(first));
        }
        first != NEVER
    }

    /// Ends the store: wakes everybody, so that who waits elsewhere can set a timer elsewhere.
    pub(crate) fn close(&self) {
        let mut pending = Vec::new();
        for store in &self.stores {
            let mut inner = store.inner.lock();
            inner.closed = true;
            inner.wheel.take_due(NEVER, &mut pending);
            store.publish(&inner);
        }
        // (Then: one of them may wait for another one.)
        wake(pending);
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use crate::prim::{Arc, AtomicUsize, Ordering};

    const SECOND: Duration = Duration::from_secs(1);

    #[derive(Default)]
    struct Count(AtomicUsize);

    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::Relaxed);
        }
    }

    impl Count {
        fn waker(self: &Arc<Self>) -> Waker {
            Waker::from(Arc::clone(self))
        }

        fn get(&self) -> usize {
            self.0.load(Ordering::Relaxed)
        }
    }

    #[test]
    fn a_cleared_timer_leaves_nothing_and_does_not_fire() {
        // F12
        let clock = Clock::virtual_time();
        let timers = Timers::new(clock.clone(), 1);
        let count = Arc::new(Count::default());
        let base = clock.now();
        let set =
            |i: u64| timers.set(None, base + Duration::from_secs(i % 10), count.waker()).expect("open").0;
        let keys: Vec<_> = (0..1000).map(set).collect();
        for key in &keys[1..] {
            timers.clear(*key);
        }
        assert_eq!(timers.stores[0].inner.lock().wheel.pending(), 1);
        assert_eq!(Arc::strong_count(&count), 2);
        clock.advance(base + 10 * SECOND);
        timers.fire(None);
        assert_eq!(count.get(), 1);
        assert_eq!(timers.renew(keys[0], &count.waker()), TimerState::Fired);
        assert_eq!(timers.next(), None);
    }

    #[test]
    fn only_the_earliest_is_announced() {
        let clock = Clock::virtual_time();
        let timers = Timers::new(clock.clone(), 1);
        let base = clock.now();
        let set = |secs| timers.set(None, base + secs * SECOND, Waker::noop().clone()).expect("open").1;
        assert!(set(5));
        assert!(!set(5));
        assert!(!set(9));
        assert!(set(1));
        let (key, _) = timers.set(None, base, Waker::noop().clone()).expect("open");
        timers.close();
        assert!(timers.set(None, base, Waker::noop().clone()).is_none());
        assert_eq!(timers.renew(key, Waker::noop()), TimerState::Closed);
    }

    #[test]
    fn virtual_time_jumps_to_deadlines_only() {
        // F12: also where one was cleared that lay in the same bucket; and what never comes is not waited for.
        let clock = Clock::virtual_time();
        let timers = Timers::new(clock.clone(), 3);
        let base = clock.now();
        let count = Arc::new(Count::default());
        let year = 365 * 86_400 * SECOND;
        let set = |worker, span| timers.set(worker, base + span, count.waker()).expect("open").0;
        let cleared = set(Some(1), 1000 * SECOND);
        for (worker, span) in [(Some(0), 1002 * SECOND), (None, 1001 * SECOND), (Some(2), 570 * year)] {
            set(worker, span);
        }
        let forever = [set(None, 600 * year), set(Some(0), 600 * year)];
        timers.clear(cleared);
        for (fired, span) in [1001 * SECOND, 1002 * SECOND, 570 * year].into_iter().enumerate() {
            assert_eq!(count.get(), fired);
            assert!(timers.jump());
            assert_eq!(clock.now(), base + span);
            timers.fire(None);
        }
        timers.clear(forever[0]);
        assert!(!timers.jump() && timers.next().is_none());
        timers.close();
        assert_eq!((count.get(), Arc::strong_count(&count)), (4, 1));
    }

    #[test]
    fn a_busy_worker_fires_what_another_leaves_overdue() {
        // F10: the other one is stuck.
        let timers = Timers::new(Clock::real(), 3);
        let count = Arc::new(Count::default());
        let long_ago = timers.base;
        crate::prim::thread::sleep(2 * GRACE);
        for worker in [Some(1), Some(2), None] {
            timers.set(worker, long_ago, count.waker()).expect("open");
        }
        timers.look(0, 0, false, drop);
        assert_eq!(count.get(), 1, "what was set from outside is everybody's");
        (1..4).for_each(|round| timers.look(0, round, false, drop));
        assert_eq!(count.get(), 3);
        // Not overdue: its worker fires it, or who has nothing to do.
        timers.set(Some(1), Instant::now(), count.waker()).expect("open");
        timers.fire(None);
        assert_eq!(count.get(), 4);
    }
}
