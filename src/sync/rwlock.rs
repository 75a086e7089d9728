//! A lock for many readers or one writer. The lock itself is in [`raw_rwlock`](super::raw_rwlock), its guards and upgrades in
//! [`rwlock_guard`](super::rwlock_guard).

use std::fmt::Debug;
use std::sync::Arc;

use super::guard::{Shown, locks};
use super::permits::{Shut, Taken, Taking, What};
use super::raw_rwlock::{READ, RawRwLock, UPGRADABLE, WRITE};
use super::rwlock_guard::{
    OwnedRwLockReadGuard, OwnedRwLockUpgradableReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
use crate::prim::{self, UnsafeCell};
use crate::task::place::Place;
use crate::task::shows;
use crate::wait::Operation;

/// A lock that many may hold for reading, or one for writing.
///
/// [`read`](Self::read), [`write`](Self::write) and [`upgradable_read`](Self::upgradable_read) wait without blocking the
/// thread. There is no poisoning: a guard that is dropped by a panic unlocks like any other.
///
/// # Order
///
/// The lock is handed over in strict FIFO order. Readers that come after a waiting writer wait behind it, so neither
/// readers nor writers starve. A consequence: holding a read guard and asking for another one deadlocks if a writer, or an
/// upgrade, came in between; or, where that guard is upgradable, another upgradable read.
///
/// An *upgradable* read coexists with other reads, but not with another upgradable one; it can become a write without
/// letting a writer in between. An upgrade does not queue: it waits only for the present readers.
///
/// # A hazard
///
/// A future that was granted the lock and is not polled again holds it until it is polled or dropped; one that is
/// first in line holds up all behind it. See [`Semaphore`](super::Semaphore#a-hazard).
///
/// ```
/// use leno::sync::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};
///
/// static PATTERN: RwLock<Vec<&str>> = RwLock::new(Vec::new());
///
/// # leno::block_on(async {
/// PATTERN.write().await.push("twill");
/// let (one, two) = (PATTERN.read().await, PATTERN.read().await);
/// assert_eq!(one.len() + two.len(), 2);
/// drop((one, two));
/// let seen = PATTERN.upgradable_read().await;
/// if !seen.contains(&"satin") {
///     let mut pattern = RwLockUpgradableReadGuard::upgrade(seen).await;
///     pattern.push("satin");
///     let seen = RwLockWriteGuard::downgrade(pattern);
///     assert_eq!(*seen, ["twill", "satin"]);
/// }
/// # });
/// ```
pub struct RwLock<T: ?Sized> {
    raw: RawRwLock,
    value: UnsafeCell<T>,
}

// SAFETY: whoever has the lock has the value.
unsafe impl<T: ?Sized + Send> Send for RwLock<T> {}
// SAFETY: it gives shared access to several threads, and unique access to one at a time.
unsafe impl<T: ?Sized + Send + Sync> Sync for RwLock<T> {}

crate::task::unwinds! { [T: ?Sized] RwLock<T> }

impl<T> RwLock<T> {
    prim::const_fn! {
        /// A lock around `value`.
        pub fn new(value: T) -> RwLock<T> {
            RwLock { raw: RawRwLock::new(), value: UnsafeCell::new(value) }
        }
    }

    /// The value.
    pub fn into_inner(self) -> T {
        self.value.into_inner()
    }
}

impl<T: ?Sized> RwLock<T> {
    #[track_caller]
    fn taking(&self, permits: u32, what: What) -> Operation<Taking<RawRwLock>> {
        // SAFETY: the caller's future keeps or borrows the lock.
        Operation::new(unsafe { Taking::new(&raw const self.raw, permits, what) })
    }

    /// Locks for reading; waits while somebody writes, or others already wait.
    ///
    /// Cancelling: a dropped future leaves the queue; a lock that it was already granted passes to the next waiter.
    #[inline]
    #[track_caller]
    pub fn read(&self) -> Read<'_, T> {
        Read { lock: self, operation: self.taking(READ, What::Read) }
    }

    /// Locks for writing; waits while somebody reads or writes, or others already wait.
    ///
    /// Cancelling: as [`read`](Self::read).
    #[inline]
    #[track_caller]
    pub fn write(&self) -> Write<'_, T> {
        Write { lock: self, operation: self.taking(WRITE, What::Write) }
    }

    /// Locks for reading, with a guard that can be [upgraded](RwLockUpgradableReadGuard::upgrade) to a write guard; waits while
    /// somebody writes or has such a guard, or others already wait.
    ///
    /// Cancelling: as [`read`](Self::read).
    #[track_caller]
    pub fn upgradable_read(&self) -> UpgradableRead<'_, T> {
        UpgradableRead { lock: self, operation: self.taking(UPGRADABLE, What::UpgradableRead) }
    }

    /// Locks for reading if that needs no waiting. (What is in transit just then, as somebody enters or leaves the queue or tries
    /// to upgrade, is not free; the same holds for the other `try_` forms.)
    #[must_use = "a lock whose guard is dropped is free again"]
    #[inline]
    #[track_caller]
    pub fn try_read(&self) -> Option<RwLockReadGuard<'_, T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_take(READ).then(|| unsafe { RwLockReadGuard::new(self, place) })
    }

    /// Locks for writing if that needs no waiting.
    #[must_use = "a lock whose guard is dropped is free again"]
    #[inline]
    #[track_caller]
    pub fn try_write(&self) -> Option<RwLockWriteGuard<'_, T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_take(WRITE).then(|| unsafe { RwLockWriteGuard::new(self, place) })
    }

    /// Locks for upgradable reading if that needs no waiting.
    #[must_use = "a lock whose guard is dropped is free again"]
    #[track_caller]
    pub fn try_upgradable_read(&self) -> Option<RwLockUpgradableReadGuard<'_, T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_take(UPGRADABLE).then(|| unsafe { RwLockUpgradableReadGuard::new(self, place) })
    }

    /// Locks for reading from a plain thread, which sleeps meanwhile: [`read`](Self::read) and [`Read::wait`].
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
    #[track_caller]
    pub fn read_blocking(&self) -> RwLockReadGuard<'_, T> {
        self.read().wait()
    }

    /// Locks for writing from a plain thread, which sleeps meanwhile: [`write`](Self::write) and [`Write::wait`].
    ///
    /// # Panics
    /// As [`read_blocking`](Self::read_blocking).
    #[track_caller]
    pub fn write_blocking(&self) -> RwLockWriteGuard<'_, T> {
        self.write().wait()
    }

    /// Locks for upgradable reading from a plain thread, which sleeps meanwhile: [`upgradable_read`](Self::upgradable_read) and
    /// [`UpgradableRead::wait`].
    ///
    /// # Panics
    /// As [`read_blocking`](Self::read_blocking).
    #[track_caller]
    pub fn upgradable_read_blocking(&self) -> RwLockUpgradableReadGuard<'_, T> {
        self.upgradable_read().wait()
    }

    /// As [`read`](Self::read), with a guard that keeps the lock alive and can be moved anywhere.
    ///
    /// ```
    /// use std::sync::Arc;
    /// use leno::sync::RwLock;
    ///
    /// # leno::block_on(async {
    /// let pattern = Arc::new(RwLock::new("twill"));
    /// let seen = pattern.read_arc().await;
    /// let weaver = leno::spawn(async move { seen.len() });
    /// assert_eq!(weaver.await.unwrap(), 5);
    /// *pattern.write_arc().await = "satin";
    /// # });
    /// ```
    #[track_caller]
    pub fn read_arc(self: &Arc<Self>) -> ReadArc<T> {
        ReadArc { operation: self.taking(READ, What::Read), lock: Arc::clone(self) }
    }

    /// As [`write`](Self::write), with a guard that keeps the lock alive and can be moved anywhere.
    #[track_caller]
    pub fn write_arc(self: &Arc<Self>) -> WriteArc<T> {
        WriteArc { operation: self.taking(WRITE, What::Write), lock: Arc::clone(self) }
    }

    /// As [`upgradable_read`](Self::upgradable_read), with a guard that keeps the lock alive and can be moved anywhere.
    #[track_caller]
    pub fn upgradable_read_arc(self: &Arc<Self>) -> UpgradableReadArc<T> {
        UpgradableReadArc { operation: self.taking(UPGRADABLE, What::UpgradableRead), lock: Arc::clone(self) }
    }

    /// As [`try_read`](Self::try_read), with the guard of [`read_arc`](Self::read_arc).
    #[must_use = "a lock whose guard is dropped is free again"]
    #[track_caller]
    pub fn try_read_arc(self: &Arc<Self>) -> Option<OwnedRwLockReadGuard<T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_take(READ).then(|| unsafe { OwnedRwLockReadGuard::new(Arc::clone(self), place) })
    }

    /// As [`try_write`](Self::try_write), with the guard of [`write_arc`](Self::write_arc).
    #[must_use = "a lock whose guard is dropped is free again"]
    #[track_caller]
    pub fn try_write_arc(self: &Arc<Self>) -> Option<OwnedRwLockWriteGuard<T>> {
        let place = Place::here();
        // SAFETY: the lock was just taken.
        self.raw.try_take(WRITE).then(|| unsafe { OwnedRwLockWriteGuard::new(Arc::clone(self), place) })
    }

    /// As [`try_upgradable_read`](Self::try_upgradable_read), with the guard of
    /// [`upgradable_read_arc`](Self::upgradable_read_arc).
    #[must_use = "a lock whose guard is dropped is free again"]
    #[track_caller]
    pub fn try_upgradable_read_arc(self: &Arc<Self>) -> Option<OwnedRwLockUpgradableReadGuard<T>> {
        let place = Place::here();
        let take = self.raw.try_take(UPGRADABLE);
        // SAFETY: the lock was just taken.
        take.then(|| unsafe { OwnedRwLockUpgradableReadGuard::new(Arc::clone(self), place) })
    }

    /// The value. No lock is needed: the borrow is exclusive.
    pub fn get_mut(&mut self) -> &mut T {
        // SAFETY: the lock is borrowed uniquely.
        self.value.with_mut(|value| unsafe { &mut *value })
    }

    pub(super) fn raw(&self) -> &RawRwLock {
        &self.raw
    }

    /// For who has the lock for writing.
    pub(super) fn value(&self) -> *mut T {
        self.value.with_mut(|value| value)
    }

    /// For who has the lock. (A model tells the two accesses apart.)
    pub(super) fn shared(&self) -> *const T {
        self.value.with(|value| value)
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.raw.assert_valid();
    }

    /// Panics unless nobody has the lock. For tests.
    #[doc(hidden)]
    pub fn assert_free(&self) {
        self.raw.assert_valid();
        assert_eq!(self.raw.available(), u64::from(WRITE), "somebody has the lock, or permits are lost");
    }
}

impl<T: Default> Default for RwLock<T> {
    fn default() -> Self {
        RwLock::new(T::default())
    }
}

impl<T> From<T> for RwLock<T> {
    fn from(value: T) -> Self {
        RwLock::new(value)
    }
}

shows! { [T: ?Sized + Debug] RwLock<T>, "RwLock", it => value: Shown(it.try_read()) }

locks! {
    /// Waits to read. Made by [`RwLock::read`].
    ///
    /// Dropping it leaves the queue; a lock that it was already granted passes to the next waiter.
    ['a] Read, "Read", "read", &'a RwLock<T>; Taking<RawRwLock> => RwLockReadGuard<'a, T>, keep;
    /// Waits to write. Made by [`RwLock::write`].
    ///
    /// Dropping it leaves the queue; a lock that it was already granted passes to the next waiter.
    ['a] Write, "Write", "write", &'a RwLock<T>; Taking<RawRwLock> => RwLockWriteGuard<'a, T>, keep;
    /// Waits to read, with a guard that can become a writer's. Made by [`RwLock::upgradable_read`].
    ///
    /// Dropping it leaves the queue; a lock that it was already granted passes to the next waiter.
    ['a] UpgradableRead, "UpgradableRead", "upgradable_read", &'a RwLock<T>;
    Taking<RawRwLock> => RwLockUpgradableReadGuard<'a, T>, keep;
    /// As [`Read`], keeping the lock. Made by [`RwLock::read_arc`].
    [] ReadArc, "ReadArc", "read_arc", Arc<RwLock<T>>; Taking<RawRwLock> => OwnedRwLockReadGuard<T>, keep;
    /// As [`Write`], keeping the lock. Made by [`RwLock::write_arc`].
    [] WriteArc, "WriteArc", "write_arc", Arc<RwLock<T>>; Taking<RawRwLock> => OwnedRwLockWriteGuard<T>, keep;
    /// As [`UpgradableRead`], keeping the lock. Made by [`RwLock::upgradable_read_arc`].
    [] UpgradableReadArc, "UpgradableReadArc", "upgradable_read_arc", Arc<RwLock<T>>;
    Taking<RawRwLock> => OwnedRwLockUpgradableReadGuard<T>, keep;
}

#[inline(always)]
fn keep(outcome: Result<Taken<RawRwLock>, Shut>) {
    outcome.expect("nobody closes a lock").keep();
}
