//! A mutex that suspends: a fiber that waits for it lets others run. The lock itself is in [`raw`](super::raw).

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::guard::{MutexGuard, OwnedMutexGuard, Shown, locks};
use super::raw::{Acquire, Locked, RawMutex};
use crate::prim::{self, UnsafeCell};
use crate::task::place::Place;
use crate::task::shows;
use crate::wait::Operation;

/// A mutual exclusion lock for fibers, tasks and threads.
///
/// [`lock`](Self::lock) waits without blocking the thread. There is no poisoning: a guard that is dropped by a panic
/// unlocks like any other.
///
/// # Fairness
///
/// A mutex made by [`new`](Self::new) allows barging: whoever comes first takes a free lock, which is fastest, as a fiber
/// that unlocks and locks again need not be suspended. Waiters are woken FIFO, and newcomers yield to one that was passed
/// over several times.
///
/// A mutex made by [`fair`](Self::fair) hands the lock over in strict FIFO order. The hazard: a lock future that was
/// granted the lock but is not polled again (kept in a variable, or beside another future in a select that has moved on)
/// holds it until it is polled or dropped, and blocks all others. With `new` such a future holds nothing: whoever comes, or
/// is polled, takes the lock, and an unlock wakes one waiter after another up to one that has responded before, or until
/// the lock is taken. (So a waiter may see a spurious wake-up. If one that has responded before is no longer polled, those
/// asleep behind it wait for the next unlock.)
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

crate::task::unwinds! { [T: ?Sized] Mutex<T> }

impl<T> Mutex<T> {
    prim::const_fn! {
        /// A mutex that allows barging: whoever comes first takes a free lock.
        #[cfg_attr(feature = "tracing", track_caller)]
        pub fn new(value: T) -> Mutex<T> {
            Mutex { raw: RawMutex::new(false), value: UnsafeCell::new(value) }
        }

        /// A mutex that hands the lock over in strict FIFO order.
        #[cfg_attr(feature = "tracing", track_caller)]
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
    /// Locks; waits while the lock is held.
    ///
    /// Cancelling: a dropped future leaves the queue; if it was already granted the lock, the lock passes to the next
    /// waiter.
    #[track_caller]
    pub fn lock(&self) -> Lock<'_, T> {
        self.lock_at(Place::here())
    }

    /// As [`lock`](Self::lock), begun at `place`.
    pub(super) fn lock_at(&self, place: Place) -> Lock<'_, T> {
        // SAFETY: the future borrows the mutex.
        let acquire = unsafe { Acquire::new(&raw const self.raw) };
        Lock { operation: Operation::at(place, acquire), lock: self }
    }

    /// Locks if that needs no waiting.
    #[must_use = "a lock whose guard is dropped is free again"]
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Option<MutexGuard<'_, T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_lock().then(|| unsafe { MutexGuard::new(self, place) })
    }

    /// Whether somebody holds the lock; a snapshot while others use the mutex.
    pub fn is_locked(&self) -> bool {
        self.raw.is_locked()
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

    /// As [`lock_blocking`](Self::lock_blocking), for `d` of real time at most. `None`: the time was up.
    ///
    /// # Panics
    /// As [`lock_blocking`](Self::lock_blocking).
    #[must_use = "a lock whose guard is dropped is free again"]
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
    #[track_caller]
    pub fn lock_arc(self: &Arc<Self>) -> LockArc<T> {
        // SAFETY: the future keeps the mutex.
        let acquire = unsafe { Acquire::new(&raw const self.raw) };
        LockArc { operation: Operation::new(acquire), lock: Arc::clone(self) }
    }

    /// As [`try_lock`](Self::try_lock), with the guard of [`lock_arc`](Self::lock_arc).
    #[must_use = "a lock whose guard is dropped is free again"]
    #[track_caller]
    pub fn try_lock_arc(self: &Arc<Self>) -> Option<OwnedMutexGuard<T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_lock().then(|| unsafe { OwnedMutexGuard::new(Arc::clone(self), place) })
    }

    /// The value. No lock is needed: the borrow is exclusive.
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

    /// Panics if an invariant of the waiter queue does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.raw.assert_valid();
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

shows! {
    [T: ?Sized + Debug] Mutex<T>, "Mutex", it => value: Shown(it.try_lock()), fair: it.raw.is_fair()
}

locks! {
    /// Waits for the lock of a [`Mutex`]. Made by [`Mutex::lock`].
    ///
    /// Dropping it leaves the queue; a lock that it was already granted passes to the next waiter.
    ['a] Lock, "Lock", "lock", &'a Mutex<T>; Acquire => MutexGuard<'a, T>, Locked::keep;
    /// As [`Lock`], keeping the mutex. Made by [`Mutex::lock_arc`].
    [] LockArc, "LockArc", "lock_arc", Arc<Mutex<T>>; Acquire => OwnedMutexGuard<T>, Locked::keep;
}
