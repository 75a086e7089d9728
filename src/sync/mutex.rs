//! A mutex that suspends: a fiber that waits for it lets others run.
//!
//! One word holds the lock, the bell of those who wait, and how many of them starve:
//!
//! | bits | set by | mean |
//! |---|---|---|
//! | `LOCKED` | whoever takes the lock | somebody holds it |
//! | `WAITERS` | a lock future that has joined the line | an unlock has to notify (the [`Bell`]) |
//! | `STARVES` × n | a future that was notified in vain too often | newcomers step back once before they barge |
//!
//! *Barging*, the default: an unlock frees the lock and notifies the first waiter, and whoever comes first has it. A
//! waiter that finds it taken returns to its place. The second waiter is notified as well: so one future that is
//! never polled again holds nobody up. (Where several of them stand in a row, those asleep behind them wait for the
//! next unlock; whoever comes or is polled has the lock at once.) A waiter that was notified [`PATIENCE`] times in vain starves; while one does, a newcomer that finds the lock
//! free lets the others run once before it takes it. So a starving waiter that is polled gets its chance before
//! anybody who came later, and one that is not polled costs newcomers one turn each.
//!
//! *Fair*: an unlock hands the lock to the first waiter, without ever freeing it.
//!
//! Invariants:
//! 1. `LOCKED` is set exactly while a guard exists, a DONE future holds the lock for its owner, or `nudge` has taken
//!    it for the first in line.
//! 2. A waiter in the line with its word OPEN implies `WAITERS`, or an unlock at work in `Line::notify` or
//!    `hand_over`, or that the waiter is about to ring and to look again.
//!
//! Orderings: taking the lock acquires, freeing it releases, on one word. A waiter and an unlock meet in that word
//! too: either the unlock sees the bell, or the waiter sees that the lock is free. Locked instructions: one to lock
//! and one to unlock, uncontended.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use super::guard::{MutexGuard, OwnedMutexGuard};
use crate::prim::{self, AtomicUsize, Ordering, UnsafeCell};
use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::thread::deadline_after;
use crate::wait::{Attempt, Batch, Bell, Branch, Closed, Enter, Line, NodeRef, Nudged, Operation, Waiter};

const LOCKED: usize = 0b01;
const WAITERS: usize = 0b10;
const STARVES: usize = 0b100;

/// Notifications that a waiter can miss the lock by before it starves; every other one is the second waiter's.
const PATIENCE: u32 = 8;

/// The lock itself, without what it guards.
pub(super) struct RawMutex {
    state: AtomicUsize,
    line: Line,
    fair: bool,
}

/// A mutual exclusion lock for fibers, tasks and threads.
///
/// [`lock`](Self::lock) waits without blocking the thread. There is no poisoning: a guard that is dropped by a panic
/// unlocks like any other.
///
/// # Fairness
///
/// A mutex made by [`new`](Self::new) lets whoever comes first have a lock that is free, which is fastest: a fiber
/// that unlocks and locks again need not be suspended. Waiters are woken in the order in which they began to
/// wait, and newcomers step back for one that was passed over several times.
///
/// A mutex made by [`fair`](Self::fair) hands the lock over in strict order. Mind the hazard: a lock future that
/// was granted the lock but is not polled again (kept in a variable, or beside another future in a select that
/// has moved on) holds it until it is polled or dropped, and everybody waits for it. With `new` it holds nothing:
/// whoever comes has the lock, and an unlock wakes the second waiter too.
///
/// ```
/// use leno::sync::Mutex;
///
/// static WOVEN: Mutex<Vec<&str>> = Mutex::new(Vec::new());
///
/// # leno::block_on(async {
/// WOVEN.lock().await.push("weft");
/// assert_eq!(*WOVEN.lock().await, ["weft"]);
/// # });
/// ```
pub struct Mutex<T: ?Sized> {
    raw: RawMutex,
    value: UnsafeCell<T>,
}

// SAFETY: the lock gives access to the value to one thread at a time.
unsafe impl<T: ?Sized + Send> Send for Mutex<T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Send> Sync for Mutex<T> {}

impl<T: ?Sized> std::panic::UnwindSafe for Mutex<T> {}
impl<T: ?Sized> std::panic::RefUnwindSafe for Mutex<T> {}

impl RawMutex {
    prim::const_fn! {
        fn new(fair: bool) -> RawMutex {
            RawMutex { state: AtomicUsize::new(0), line: Line::new(), fair }
        }
    }

    /// Takes the lock if it is free and, in a fair mutex, nobody waits.
    #[inline]
    fn try_lock(&self) -> bool {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & LOCKED != 0 || (self.fair && state & WAITERS != 0 && !self.line.is_empty()) {
                return false;
            }
            // ORDERING: Acquire pairs with the Release of `unlock`: what was done under the lock is seen.
            match self.state.compare_exchange_weak(state, state | LOCKED, ACQUIRE, Ordering::Relaxed) {
                Ok(_) => return true,
                Err(now) => state = now,
            }
        }
    }

    /// Unlocks by the mutex's policy.
    #[inline]
    pub(super) fn unlock(&self) {
        if self.fair {
            return self.hand_over();
        }
        // ORDERING: Release pairs with `try_lock`; Acquire: the waiters that the bell stands for are seen.
        let state = self.state.fetch_sub(LOCKED, RELEASE);
        if state & WAITERS != 0 {
            self.notify();
        }
    }

    /// Tells the first waiter, and one more in case that the first is not polled any more.
    #[cold]
    #[inline(never)]
    fn notify(&self) {
        let mut wakes = Batch::new();
        self.line.notify(self, &mut wakes);
        if !self.is_locked() && !self.line.is_empty() {
            self.line.notify(self, &mut wakes);
        }
    }

    /// Gives the lock to the first waiter, or frees it.
    pub(super) fn hand_over(&self) {
        // Foreign code runs when this is dropped, after the lock is in other hands.
        let mut wakes = Batch::new();
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & WAITERS == 0 {
                match self.state.compare_exchange_weak(state, state & !LOCKED, RELEASE, Ordering::Relaxed) {
                    Ok(_) => return,
                    Err(now) => state = now,
                }
                continue;
            }
            if let Some(first) = self.line.pop() {
                // The claim's release carries what was done under the lock.
                match first.claim().map(|claim| claim.complete()) {
                    Some(Ok(waker)) => return wakes.push(waker),
                    Some(Err(left)) => wakes.keep(left),
                    None => {}
                }
            } else {
                self.lower();
                if !self.line.is_empty() && !cfg!(leno_bug = "hand_over_lowers_bell") {
                    self.raise(0);
                }
            }
            state = self.state.load(Ordering::Relaxed);
        }
    }

    fn is_locked(&self) -> bool {
        self.state.load(Ordering::Relaxed) & LOCKED != 0
    }
}

/// Acquire of the lock.
const ACQUIRE: Ordering = if cfg!(leno_bug = "lock_relaxed") { Ordering::Relaxed } else { Ordering::Acquire };

/// Release of the lock.
const RELEASE: Ordering =
    if cfg!(leno_bug = "unlock_relaxed") { Ordering::Relaxed } else { Ordering::AcqRel };

impl Bell for RawMutex {
    fn lower(&self) -> usize {
        self.state.fetch_and(!WAITERS, Ordering::AcqRel);
        0
    }

    fn raise(&self, _lowered: usize) -> usize {
        // Only whether the lock is free matters, and whoever notifies does so for that.
        self.state.fetch_or(WAITERS, Ordering::AcqRel);
        0
    }
}

impl<T> Mutex<T> {
    prim::const_fn! {
        /// A mutex that lets newcomers have a lock that is free.
        pub fn new(value: T) -> Mutex<T> {
            Mutex { raw: RawMutex::new(false), value: UnsafeCell::new(value) }
        }

        /// A mutex that hands the lock over in the strict order of waiting.
        pub fn fair(value: T) -> Mutex<T> {
            Mutex { raw: RawMutex::new(true), value: UnsafeCell::new(value) }
        }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> Mutex<T> {
    /// Locks; waits while somebody else holds the lock.
    ///
    /// Cancelling: a dropped future leaves the line; if it was granted the lock already, the next one gets it.
    pub fn lock(&self) -> Lock<'_, T> {
        // SAFETY: the future borrows the mutex.
        Lock { mutex: self, operation: Operation::new(unsafe { Acquire::new(&raw const self.raw) }) }
    }

    /// Locks if that needs no waiting.
    #[inline]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        self.raw.try_lock().then(|| self.guard())
    }

    /// Locks from a plain thread, which sleeps while somebody else holds the lock: [`lock`](Self::lock) and
    /// [`Lock::wait`].
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
    #[track_caller]
    pub fn lock_blocking(&self) -> MutexGuard<'_, T> {
        self.lock().wait()
    }

    /// As [`lock_blocking`](Self::lock_blocking), for `d` at most. `None`: the time was up.
    ///
    /// # Panics
    /// As [`lock_blocking`](Self::lock_blocking).
    #[track_caller]
    pub fn lock_timeout(&self, d: Duration) -> Option<MutexGuard<'_, T>> {
        self.lock().wait_timeout(d).ok()
    }

    /// As [`lock`](Self::lock), with a guard that keeps the mutex alive and can be moved anywhere.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leno::sync::Mutex;
    ///
    /// # leno::block_on(async {
    /// let mutex = Arc::new(Mutex::new(1));
    /// let mut guard = mutex.lock_arc().await;
    /// let counting = leno::spawn(async move { *guard += 1 });
    /// counting.await.unwrap();
    /// assert_eq!(*mutex.lock().await, 2);
    /// # });
    /// ```
    pub fn lock_arc(self: &Arc<Self>) -> LockArc<T> {
        // SAFETY: the future keeps the mutex.
        let acquire = unsafe { Acquire::new(&raw const self.raw) };
        LockArc { operation: Operation::new(acquire), mutex: Arc::clone(self) }
    }

    /// As [`try_lock`](Self::try_lock), with the guard of [`lock_arc`](Self::lock_arc).
    pub fn try_lock_arc(self: &Arc<Self>) -> Option<OwnedMutexGuard<T>> {
        // SAFETY: the lock was just taken.
        self.raw.try_lock().then(|| unsafe { OwnedMutexGuard::new(Arc::clone(self)) })
    }

    /// The value; no lock is needed, since nobody else can have the mutex.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: the mutex is borrowed uniquely.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    pub(super) fn raw(&self) -> &RawMutex {
        &self.raw
    }

    pub(super) fn value(&self) -> *mut T {
        self.value.with_mut(|value| value)
    }

    fn guard(&self) -> MutexGuard<'_, T> {
        // SAFETY: the caller has just taken the lock.
        unsafe { MutexGuard::new(self) }
    }

    /// Panics if an invariant of the waiter queue does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.raw.line.assert_valid();
    }
}

impl<T: Default> Default for Mutex<T> {
    fn default() -> Self {
        Mutex::new(T::default())
    }
}

impl<T> From<T> for Mutex<T> {
    fn from(value: T) -> Self {
        Mutex::new(value)
    }
}

impl<T: ?Sized + fmt::Debug> fmt::Debug for Mutex<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Mutex");
        match self.try_lock() {
            Some(guard) => debug.field("value", &&*guard),
            None => debug.field("value", &format_args!("<locked>")),
        };
        debug.field("fair", &self.raw.fair).finish_non_exhaustive()
    }
}

/// Taking the lock, as a branch.
pub struct Acquire {
    raw: *const RawMutex,
    /// Notifications that came to nothing.
    missed: u32,
    /// Whether it has stepped back for those who starve.
    stepped_back: bool,
    /// Whether it is counted among them.
    starves: bool,
}

// SAFETY: it is a reference to a lock, which is Sync.
unsafe impl Send for Acquire {}
// SAFETY: as above.
unsafe impl Sync for Acquire {}

/// The lock, held, before it becomes a guard.
pub(crate) struct Locked(*const RawMutex);

// SAFETY: it is a reference to a lock, which is Sync, and may unlock it from anywhere.
unsafe impl Send for Locked {}
// SAFETY: a shared one gives access to nothing.
unsafe impl Sync for Locked {}

impl Acquire {
    /// # Safety
    /// The lock outlives this.
    unsafe fn new(raw: *const RawMutex) -> Self {
        Acquire { raw, missed: 0, stepped_back: false, starves: false }
    }

    fn raw(&self) -> &RawMutex {
        // SAFETY: the promise of `new`.
        unsafe { &*self.raw }
    }

    fn set_starves(&mut self, starves: bool) {
        match (self.starves, starves) {
            (false, true) => self.raw().state.fetch_add(STARVES, Ordering::Relaxed),
            (true, false) => self.raw().state.fetch_sub(STARVES, Ordering::Relaxed),
            _ => return,
        };
        self.starves = starves;
    }
}

impl Branch for Acquire {
    type Output = Locked;

    #[inline]
    fn attempt(&mut self, _own: Option<NodeRef>) -> Attempt<Locked> {
        let state = self.raw().state.load(Ordering::Relaxed);
        if state >= STARVES && state & LOCKED == 0 && !self.starves && !self.stepped_back {
            self.stepped_back = true;
            return Attempt::Again;
        }
        if self.raw().try_lock() {
            self.set_starves(false);
            return Attempt::Ready(Locked(self.raw));
        }
        Attempt::Wait
    }

    unsafe fn enter(&mut self, waiter: &Waiter, _own: Option<NodeRef>) -> Enter<Locked> {
        if waiter.rank() != 0 && !self.raw().fair {
            self.missed += 1;
            self.set_starves(self.missed >= PATIENCE);
        }
        // SAFETY: the caller's promise.
        if let Err(Closed) = unsafe { self.raw().line.join(waiter) } {
            unreachable!("a mutex's line is never closed");
        }
        if cfg!(leno_bug = "no_recheck_lock") {
            self.raw().state.fetch_or(WAITERS, Ordering::AcqRel);
            return Enter::Waits;
        }
        // ORDERING: one location: an unlock comes before this, and is seen here, or after it, and sees the bell.
        let state = self.raw().state.fetch_or(WAITERS, Ordering::AcqRel);
        if state & LOCKED != 0 { Enter::Waits } else { Enter::Look }
    }

    fn is_worth_a_look(&self) -> bool {
        !self.raw().fair && !self.raw().is_locked()
    }

    fn nudge(&mut self) -> Nudged {
        if !self.raw().fair {
            return Nudged::Attempt;
        }
        // Somebody has unlocked while nobody was seen to wait: take the lock, for the first in line.
        let raw = self.raw();
        if raw.state.fetch_or(LOCKED, Ordering::AcqRel) & LOCKED == 0 {
            raw.hand_over();
        }
        Nudged::Settled
    }

    unsafe fn remove(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.raw().line.remove(waiter.as_ref()) }
    }

    unsafe fn finish(&mut self, _waiter: &Waiter) -> Locked {
        self.set_starves(false);
        Locked(self.raw)
    }

    fn pass_on(&mut self) {
        if !self.raw().is_locked() {
            self.raw().notify();
        }
    }

    fn discard(&mut self, locked: Locked, _rank: u64) {
        drop(locked);
    }
}

impl Drop for Acquire {
    fn drop(&mut self) {
        self.set_starves(false);
    }
}

impl Locked {
    fn keep(self) {
        std::mem::forget(self);
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        // SAFETY: whoever holds the lock keeps the mutex.
        unsafe { &*self.0 }.unlock();
    }
}

/// Waits for the lock of a [`Mutex`]. Made by [`Mutex::lock`].
///
/// Dropping it leaves the line; a lock that it was granted already goes to the next one.
#[must_use = "futures do nothing unless polled"]
pub struct Lock<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    operation: Operation<Acquire>,
}

/// As [`Lock`], keeping the mutex. Made by [`Mutex::lock_arc`].
#[must_use = "futures do nothing unless polled"]
pub struct LockArc<T: ?Sized> {
    // Before the mutex: it must be dropped first.
    operation: Operation<Acquire>,
    mutex: Arc<Mutex<T>>,
}

impl<'a, T: ?Sized> Lock<'a, T> {
    fn guard(&self, locked: Locked) -> MutexGuard<'a, T> {
        locked.keep();
        self.mutex.guard()
    }

    pub(crate) fn operation(&mut self) -> &mut Operation<Acquire> {
        &mut self.operation
    }

    pub(crate) fn output(&self, locked: Locked) -> MutexGuard<'a, T> {
        self.guard(locked)
    }
}

impl<T: ?Sized> LockArc<T> {
    fn guard(&self, locked: Locked) -> OwnedMutexGuard<T> {
        locked.keep();
        // SAFETY: the lock is held, and now the guard's.
        unsafe { OwnedMutexGuard::new(Arc::clone(&self.mutex)) }
    }
}

/// Leaves the line. The borrow of the mutex has to last until then, which a drop of its own says.
impl<T: ?Sized> Drop for Lock<'_, T> {
    fn drop(&mut self) {}
}

macro_rules! future {
    ([$($lifetime:lifetime)?] $name:ty => $guard:ty) => {
        impl<$($lifetime,)? T: ?Sized> $name {
            /// Locks from a plain thread, which sleeps while somebody else holds the lock.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future
            /// there.
            #[track_caller]
            pub fn wait(mut self) -> $guard {
                may_block("lock");
                let locked = self.operation.block_on(None).expect("without a deadline it waits until it is done");
                self.guard(locked)
            }

            /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with [`Duration::MAX`] it waits
            /// for ever.
            ///
            /// # Errors
            /// The time was up.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_timeout(mut self, d: Duration) -> Result<$guard, Elapsed> {
                may_block("lock");
                let locked = self.operation.block_on(deadline_after(d)).ok_or(Elapsed::new())?;
                Ok(self.guard(locked))
            }

            /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`.
            ///
            /// # Errors
            /// The time was up.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_deadline(mut self, t: Instant) -> Result<$guard, Elapsed> {
                may_block("lock");
                let locked = self.operation.block_on(Some(t)).ok_or(Elapsed::new())?;
                Ok(self.guard(locked))
            }
        }

        impl<$($lifetime,)? T: ?Sized> Future for $name {
            type Output = $guard;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                let locked = self.operation.poll(cx);
                locked.map(|locked| self.guard(locked))
            }
        }

        impl<$($lifetime,)? T: ?Sized> Unpin for $name {}

        impl<$($lifetime,)? T: ?Sized> fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct("Lock").field("waits", &self.operation.waits()).finish_non_exhaustive()
            }
        }
    };
}
future!(['a] Lock<'a, T> => MutexGuard<'a, T>);
future!([] LockArc<T> => OwnedMutexGuard<T>);
