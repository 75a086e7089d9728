//! The run queue of an executor: fibers that are ready, first in, first out, and the threads that wait for them.
//!
//! One lock, two places to wait: the *watcher*, one thread at most, waits for work or for the next deadline; all
//! other idle threads wait for work only. A runtime's workers and a cord's one thread use the same code.
//!
//! Invariants, all under the lock:
//!
//! 1. A fiber that is pushed while a thread waits wakes one: an idle one that no earlier push woke, else the
//!    watcher. A thread looks at the queue after it has taken the lock and before it waits, so no wake-up is
//!    lost between the two.
//! 2. `signalled` counts idle threads that were notified and have not yet come back, so two pushes never count
//!    on the same one. A thread that comes back unasked takes such a count with it; the one it was for comes
//!    back as well.
//! 3. The watcher reads the next deadline under this lock and waits without giving it up. Who sets an earlier
//!    timer takes this lock afterwards (`timer_set`), so the watcher sees the timer or gets the notification.
//! 4. A watcher that leaves while others are idle hands the watch to one of them.
//! 5. `active` counts the threads that are not waiting here, and what else may make fibers ready (`busy`). On a
//!    virtual clock time moves only when it is zero and the queue is empty; whoever makes it zero looks.
//!
//! Progress: blocking; the lock is held for a few instructions, and no foreign code runs under it (fibers that
//! are dropped are dropped outside).

use std::collections::VecDeque;
use std::time::Instant;

use crate::prim::{Condvar, Mutex};
use crate::time::Clock;
use crate::time::timers::Timers;

/// See the module.
pub(crate) struct RunQueue<T> {
    inner: Mutex<Inner<T>>,
    work: Condvar,
    watch: Condvar,
}

struct Inner<T> {
    ready: VecDeque<T>,
    closed: bool,
    active: usize,
    idle: usize,
    signalled: usize,
    watched: bool,
    watcher_signalled: bool,
}

/// Why a thread stopped waiting.
#[must_use]
pub(crate) enum Woken<T> {
    /// There is work.
    Task(T),
    /// A deadline has come (or, on a virtual clock, nothing else is left to come).
    Timers,
    /// The executor has ended.
    Closed,
}

/// A queue that has grown beyond this gives its memory back when it is empty.
const KEEP: usize = 1024;

/// A planted bug, which a model in `loom-tests/tests/run_queue.rs` must catch: two pushes count on one thread.
const BUG_COUNTS_TWICE: bool = cfg!(leno_bug = "run_queue_counts_twice");
/// Another: a push while the watcher alone waits notifies nobody.
const BUG_FORGETS_WATCHER: bool = cfg!(leno_bug = "run_queue_forgets_watcher");

impl<T> RunQueue<T> {
    pub(crate) fn new() -> Self {
        let inner = Inner {
            ready: VecDeque::new(),
            closed: false,
            active: 0,
            idle: 0,
            signalled: 0,
            watched: false,
            watcher_signalled: false,
        };
        RunQueue { inner: Mutex::new(inner), work: Condvar::new(), watch: Condvar::new() }
    }

    /// Puts a fiber at the back. After the end: drops it.
    pub(crate) fn push(&self, task: T) {
        let mut inner = self.inner.lock();
        if inner.closed {
            drop(inner);
            drop(task);
            return;
        }
        inner.ready.push_back(task);
        if inner.idle > inner.signalled || (BUG_COUNTS_TWICE && inner.idle > 0) {
            inner.signalled += 1;
            self.work.notify_one();
        } else if !BUG_FORGETS_WATCHER {
            self.notify_watcher(&mut inner);
        }
    }

    /// Takes a fiber from the front.
    pub(crate) fn try_pop(&self) -> Option<T> {
        self.inner.lock().pop()
    }

    /// Takes a fiber from the front, or waits for one, or for a deadline of `timers`.
    pub(crate) fn wait(&self, clock: &Clock, timers: &Timers) -> Woken<T> {
        let mut inner = self.inner.lock();
        inner.active -= 1;
        let woken = loop {
            if inner.closed {
                break Woken::Closed;
            }
            if let Some(task) = inner.pop() {
                break Woken::Task(task);
            }
            let next = timers.next();
            let deadline = match next {
                Some(_) if clock.is_virtual() => {
                    if inner.active == 0 {
                        break Woken::Timers;
                    }
                    None
                }
                Some(at) if !inner.watched && Instant::now() >= at => break Woken::Timers,
                next => next,
            };
            if inner.watched {
                inner.idle += 1;
                inner = self.work.wait_until(inner, None);
                inner.idle -= 1;
                inner.signalled = inner.signalled.saturating_sub(1).min(inner.idle);
            } else {
                inner.watched = true;
                inner = self.watch.wait_until(inner, deadline);
                inner.watched = false;
                inner.watcher_signalled = false;
            }
        };
        inner.active += 1;
        if !inner.watched && inner.idle > inner.signalled {
            inner.signalled += 1;
            self.work.notify_one();
        }
        woken
    }

    fn notify_watcher(&self, inner: &mut Inner<T>) {
        if inner.watched && !inner.watcher_signalled {
            inner.watcher_signalled = true;
            self.watch.notify_one();
        }
    }

    /// A timer was set that is the first one now.
    pub(crate) fn timer_set(&self) {
        let mut inner = self.inner.lock();
        self.notify_watcher(&mut inner);
    }

    /// One more that may make fibers ready.
    pub(crate) fn busy(&self) {
        self.inner.lock().active += 1;
    }

    /// One less.
    pub(crate) fn calm(&self) {
        let mut inner = self.inner.lock();
        inner.active -= 1;
        if inner.active == 0 {
            self.notify_watcher(&mut inner);
        }
    }

    /// Ends the queue: threads stop waiting, and what was ready is given back to be dropped.
    #[must_use]
    pub(crate) fn close(&self) -> VecDeque<T> {
        let mut inner = self.inner.lock();
        inner.closed = true;
        self.work.notify_all();
        self.watch.notify_all();
        std::mem::take(&mut inner.ready)
    }
}

impl<T> Inner<T> {
    fn pop(&mut self) -> Option<T> {
        let task = self.ready.pop_front();
        if self.ready.is_empty() && self.ready.capacity() > KEEP {
            self.ready = VecDeque::new();
        }
        task
    }
}
