//! A condition variable for [`Mutex`]. Who waits stands in a [`signal`](super::signal).
//!
//! ```text
//!   has the guard ──▶ in line, and then unlocks ──told──▶ locks ──▶ has the guard
//! ```
//!
//! A wait that is dropped after it alone was told, and before it has the lock, tells the next one.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;

use super::guard::MutexGuard;
use super::mutex::{Lock, Mutex};
use super::signal::{Hearing, Signal, Told, What};
use crate::prim;
use crate::task::budget;
use crate::task::context::may_block;
use crate::task::place::Place;
use crate::task::shows;
use crate::task::thread::{self, deadline_after};
use crate::wait::{Operation, Tray};

/// Waits for a condition that others bring about under a [`Mutex`].
///
/// A wait takes the guard, enqueues, unlocks, and locks again once notified, so nothing that happens under the mutex after
/// the unlock is missed. There are no spurious wake-ups, but others may hold the mutex in between, so check the condition
/// again: [`wait_while`](Self::wait_while) does.
///
/// It can be used with several mutexes at a time: each wait locks its own.
///
/// As a branch of `select!` a wait is *polled*, as it consists of two operations. If it loses and is dropped, nothing is lost: it
/// has given up the lock, and a notification by `notify_one` passes to the next waiter. One that was passed by `&mut` goes on: it
/// has the lock until it was polled for the first time, stays in line, and keeps what it was notified of, and of a fair mutex
/// perhaps also the lock.
///
/// ```
/// use std::sync::Arc;
/// use leno::sync::{Condvar, Mutex};
///
/// # leno::block_on(async {
/// let basket = Arc::new((Mutex::new(Vec::new()), Condvar::new()));
/// let filling = Arc::clone(&basket);
/// leno::spawn(async move {
///     filling.0.lock().await.push("wool");
///     filling.1.notify_one();
/// });
/// let (balls, filled) = &*basket;
/// let mut guard = filled.wait_while(balls.lock().await, |balls| balls.is_empty()).await;
/// assert_eq!(guard.pop(), Some("wool"));
/// # });
/// ```
#[derive(Default)]
pub struct Condvar {
    signal: Signal,
}

crate::task::unwinds! { [] Condvar }

/// Whether a wait with a time limit ended because the time was up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitTimeoutResult(bool);

impl WaitTimeoutResult {
    /// Whether the time was up before the wait was notified; for a wait with a condition: and the condition still holds.
    pub fn timed_out(&self) -> bool {
        self.0
    }
}

impl Condvar {
    prim::const_fn! {
        /// A condition variable without waiters.
        pub fn new() -> Condvar {
            Condvar { signal: Signal::new() }
        }
    }

    /// Unlocks, waits for a notification, and locks again. The mutex stays locked until the future is polled for the first
    /// time. Then it is in line for [`notify_one`](Self::notify_one); a [`notify_all`](Self::notify_all) counts from this call on
    /// (and if it comes before the first poll, the mutex stays locked).
    ///
    /// Cancelling: a dropped future has given up the lock; a notification by [`notify_one`](Self::notify_one) passes to the next
    /// waiter.
    ///
    /// On plain threads use [`CondvarWait::wait`].
    #[track_caller]
    pub fn wait<'c, 'a, T: ?Sized>(&'c self, guard: MutexGuard<'a, T>) -> CondvarWait<'c, 'a, T> {
        self.wait_at(Place::here(), guard)
    }

    fn wait_at<'c, 'a, T: ?Sized>(
        &'c self,
        place: Place,
        guard: MutexGuard<'a, T>,
    ) -> CondvarWait<'c, 'a, T> {
        // SAFETY: the future borrows this.
        let hearing = unsafe { Hearing::new(&raw const self.signal, What::Condvar) };
        CondvarWait {
            _condvar: self,
            hearing: Operation::at(place, hearing),
            mutex: MutexGuard::mutex(&guard),
            guard: Some(guard),
            told: None,
            lock: None,
        }
    }

    /// As [`wait`](Self::wait), repeated while `condition` returns true for the value; does not wait at all if it is false
    /// at once. One poll may ask for the condition several times. Cancelling: as [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_while<'c, 'a, T: ?Sized, F: FnMut(&mut T) -> bool>(
        &'c self,
        guard: MutexGuard<'a, T>,
        condition: F,
    ) -> CondvarWaitWhile<'c, 'a, T, F> {
        let place = Place::here();
        CondvarWaitWhile { condvar: self, place, guard: Some(guard), condition, waiting: None }
    }

    /// As [`wait`](Self::wait), on a plain thread, for at most `d` of real time plus the time it takes to lock again.
    ///
    /// In async code, put a time limit around the wait, and lock again if it was reached:
    ///
    /// ```
    /// # use leno::sync::{Condvar, Mutex};
    /// # use std::time::Duration;
    /// # leno::block_on(async {
    /// let (ready, filled) = (Mutex::new(false), Condvar::new());
    /// let guard = ready.lock().await;
    /// let guard = match leno::timeout(Duration::from_millis(1), filled.wait(guard)).await {
    ///     Ok(guard) => guard,
    ///     Err(_elapsed) => ready.lock().await,
    /// };
    /// assert!(!*guard);
    /// # });
    /// ```
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
    #[track_caller]
    pub fn wait_timeout<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        d: Duration,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        self.wait(guard).wait_timeout(d)
    }

    /// As [`wait_while`](Self::wait_while), on a plain thread, for at most `d` of real time plus the time it takes to lock again.
    ///
    /// # Panics
    /// As [`wait_timeout`](Self::wait_timeout).
    #[track_caller]
    pub fn wait_timeout_while<'a, T: ?Sized>(
        &self,
        guard: MutexGuard<'a, T>,
        d: Duration,
        condition: impl FnMut(&mut T) -> bool,
    ) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        self.wait_while(guard, condition).wait_timeout(d)
    }

    /// Notifies the longest waiter. If nobody waits, nothing happens.
    pub fn notify_one(&self) {
        self.signal.tell_one(false);
    }

    /// Notifies all waiters.
    pub fn notify_all(&self) {
        self.signal.tell_all();
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.signal.assert_valid();
    }
}

shows! { [] Condvar, "Condvar" }

/// Waits for a notification of a [`Condvar`], then locks. Made by [`Condvar::wait`].
#[must_use = "futures do nothing unless polled"]
pub struct CondvarWait<'c, 'a, T: ?Sized> {
    _condvar: &'c Condvar,
    hearing: Operation<Hearing>,
    mutex: &'a Mutex<T>,
    /// Until it stands in line.
    guard: Option<MutexGuard<'a, T>>,
    /// How it was told, until it has the lock.
    told: Option<Told>,
    lock: Option<Lock<'a, T>>,
}

/// The waits of either future, by its method `until`.
macro_rules! waits {
    () => {
        /// Waits on a plain thread, which sleeps meanwhile.
        ///
        /// # Panics
        /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
        #[track_caller]
        pub fn wait(self) -> MutexGuard<'a, T> {
            self.until(None).0
        }

        /// As [`wait`](Self::wait), for at most `d` of real time plus the time it takes to lock again.
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        pub fn wait_timeout(self, d: Duration) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
            self.until(deadline_after(d))
        }

        /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`.
        ///
        /// # Panics
        /// As [`wait`](Self::wait).
        #[track_caller]
        pub fn wait_deadline(self, t: Instant) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
            self.until(Some(t))
        }
    };
}

impl<'a, T: ?Sized> CondvarWait<'_, 'a, T> {
    waits!();

    #[track_caller]
    fn until(mut self, deadline: Option<Instant>) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        may_block("wait");
        let heard = thread::block_on(pin!(poll_fn(|cx| self.hear(cx))), deadline);
        let timed_out = match heard {
            Some(()) => false,
            // It may have been told just now.
            None => {
                let mut tray = Tray::new();
                _ = self.hearing.cancel(Some(&mut tray));
                self.told = tray.take();
                self.told.is_none() || bug!("told_at_the_limit_is_lost")
            }
        };
        let guard = match self.guard.take() {
            Some(guard) => guard,
            // (It may have begun to wait for the lock, as a future.)
            None => {
                let place = self.hearing.place();
                self.lock.take().unwrap_or_else(|| self.mutex.lock_at(place)).wait()
            }
        };
        self.told = None;
        (guard, WaitTimeoutResult(timed_out))
    }

    /// The first half: in line, unlocked, told.
    fn hear(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.told.is_some() {
            return Poll::Ready(());
        }
        // (Even if its fiber's budget is spent: it has the lock until it stands in line.)
        match budget::without(|| self.hearing.poll(cx)) {
            Poll::Ready(told) => {
                self.told = Some(told);
                Poll::Ready(())
            }
            Poll::Pending => {
                debug_assert!(self.hearing.waits(), "without a budget it is not refused");
                drop(self.guard.take());
                Poll::Pending
            }
        }
    }
}

impl<'a, T: ?Sized> Future for CondvarWait<'_, 'a, T> {
    type Output = MutexGuard<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        ready!(this.hear(cx));
        if let Some(guard) = this.guard.take() {
            // Told between its making and its first poll.
            this.told = None;
            return Poll::Ready(guard);
        }
        let (mutex, place) = (this.mutex, this.hearing.place());
        let lock = this.lock.get_or_insert_with(|| mutex.lock_at(place));
        let guard = ready!(Pin::new(lock).poll(cx));
        (this.told, this.lock) = (None, None);
        Poll::Ready(guard)
    }
}

impl<T: ?Sized> FusedFuture for CondvarWait<'_, '_, T> {
    fn is_terminated(&self) -> bool {
        // (Told, but without the lock: that is still to come.)
        self.hearing.is_over() && self.told.is_none()
    }
}

impl<T: ?Sized> Unpin for CondvarWait<'_, '_, T> {}

/// Passes on what it was told and has not taken note of.
impl<T: ?Sized> Drop for CondvarWait<'_, '_, T> {
    fn drop(&mut self) {
        if let Some(told) = self.told.take().filter(|_| !bug!("condvar_keeps_what_it_was_told")) {
            self.hearing.branch().pass(told);
        }
    }
}

shows! { [T: ?Sized] CondvarWait<'_, '_, T>, "CondvarWait", it => waits: it.hearing.waits() }

/// Waits until a condition no longer holds. Made by [`Condvar::wait_while`].
#[must_use = "futures do nothing unless polled"]
pub struct CondvarWaitWhile<'c, 'a, T: ?Sized, F> {
    condvar: &'c Condvar,
    place: Place,
    guard: Option<MutexGuard<'a, T>>,
    condition: F,
    waiting: Option<CondvarWait<'c, 'a, T>>,
}

impl<'a, T: ?Sized, F: FnMut(&mut T) -> bool> CondvarWaitWhile<'_, 'a, T, F> {
    waits!();

    #[track_caller]
    fn until(mut self, deadline: Option<Instant>) -> (MutexGuard<'a, T>, WaitTimeoutResult) {
        // (Even if it need not wait: otherwise this misuse would show only now and then.)
        may_block("wait_while");
        let (mut guard, mut is_late) = match self.waiting.take() {
            Some(waiting) => waiting.until(deadline),
            None => (self.guard.take().expect("a wait ends once"), WaitTimeoutResult(false)),
        };
        while (self.condition)(&mut guard) {
            if is_late.0 {
                return (guard, is_late);
            }
            (guard, is_late) = self.condvar.wait_at(self.place, guard).until(deadline);
        }
        (guard, WaitTimeoutResult(false))
    }
}

impl<'a, T: ?Sized, F: FnMut(&mut T) -> bool> Future for CondvarWaitWhile<'_, 'a, T, F> {
    type Output = MutexGuard<'a, T>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        loop {
            if let Some(waiting) = &mut this.waiting {
                this.guard = Some(ready!(Pin::new(waiting).poll(cx)));
                this.waiting = None;
            }
            let mut guard = this.guard.take().expect("a wait was polled after it had completed");
            if !(this.condition)(&mut guard) {
                return Poll::Ready(guard);
            }
            this.waiting = Some(this.condvar.wait_at(this.place, guard));
        }
    }
}

/// Terminated as well once the condition has panicked.
impl<T: ?Sized, F: FnMut(&mut T) -> bool> FusedFuture for CondvarWaitWhile<'_, '_, T, F> {
    fn is_terminated(&self) -> bool {
        self.guard.is_none() && self.waiting.is_none()
    }
}

impl<T: ?Sized, F> Unpin for CondvarWaitWhile<'_, '_, T, F> {}

shows! { [T: ?Sized, F] CondvarWaitWhile<'_, '_, T, F>, "CondvarWaitWhile", it => waiting: it.waiting }
