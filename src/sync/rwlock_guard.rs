//! The guards of a [`RwLock`]: while one lives, its share of the lock is held, which is noted of the fiber that took it.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use super::guard::access;
use super::permits::{Source, What};
use super::raw_rwlock::{READ, RawRwLock, UPGRADABLE, WRITE};
use super::rwlock::{RwLock, Upgrade};
use crate::task::place::Place;
use crate::task::watch::Share;

/// Guards of a whole lock: what each is, and what it gives back.
macro_rules! guards {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $Guard:ident, $guard:ty, $lock:ty, $What:ident $permits:expr, $into:ident;
    )+) => {$(
        $(#[$doc])+
        #[must_use = "the lock is released at once if the guard is not held"]
        pub struct $Guard<$($lifetime,)? T: ?Sized> {
            lock: $lock,
            /// Noted of who took it.
            share: Share,
        }

        impl<$($lifetime,)? T: ?Sized> $guard {
            /// # Safety
            /// Its share of the lock is held, and from here on the guard's.
            #[inline]
            pub(super) unsafe fn new(lock: $lock, place: Place) -> Self {
                let share = Share::enter(place, || What::$What.wish(lock.raw()));
                $Guard { lock, share }
            }
        }

        impl<$($lifetime,)? T: ?Sized> Drop for $guard {
            #[inline]
            fn drop(&mut self) {
                self.share.leave();
                self.lock.raw().release($permits.into());
            }
        }

        guards! { $into [$($lifetime)?] $guard, $permits }
    )+};
    (maps [$lifetime:lifetime] $guard:ty, $permits:expr) => {
        guards! { plain [$lifetime] $guard, $permits }
        impl<$lifetime, T: ?Sized> $guard {
            fn into_release(self) -> Release<$lifetime> {
                let (lock, share) = self.into_parts();
                Release { raw: lock.raw(), permits: $permits, share }
            }
        }
    };
    (plain [] $guard:ty, $permits:expr) => {};
    (plain [$lifetime:lifetime] $guard:ty, $permits:expr) => {
        impl<$lifetime, T: ?Sized> $guard {
            /// What becomes another guard's.
            fn into_parts(self) -> (&$lifetime RwLock<T>, Share) {
                let guard = ManuallyDrop::new(self);
                // SAFETY: the guard is not dropped, so this is the only one.
                (guard.lock, unsafe { std::ptr::read(&raw const guard.share) })
            }
        }
    };
}

guards! {
    /// Shared access to what a [`RwLock`] guards; dropping it unlocks.
    ['a] RwLockReadGuard, RwLockReadGuard<'a, T>, &'a RwLock<T>, Read READ, maps;
    /// Unique access to what a [`RwLock`] guards; dropping it unlocks.
    ['a] RwLockWriteGuard, RwLockWriteGuard<'a, T>, &'a RwLock<T>, Write WRITE, maps;
    /// Shared access to what a [`RwLock`] guards, which can be upgraded to unique access; dropping it unlocks.
    ['a] RwLockUpgradableReadGuard, RwLockUpgradableReadGuard<'a, T>, &'a RwLock<T>, UpgradableRead UPGRADABLE, plain;
    /// As [`RwLockReadGuard`], keeping the lock alive. Made by [`RwLock::read_arc`] and [`RwLock::try_read_arc`].
    [] OwnedRwLockReadGuard, OwnedRwLockReadGuard<T>, Arc<RwLock<T>>, Read READ, plain;
    /// As [`RwLockWriteGuard`], keeping the lock alive. Made by [`RwLock::write_arc`] and [`RwLock::try_write_arc`].
    [] OwnedRwLockWriteGuard, OwnedRwLockWriteGuard<T>, Arc<RwLock<T>>, Write WRITE, plain;
}

/// Shared access to a part of what a [`RwLock`] guards. Made by [`RwLockReadGuard::map`], [`RwLockReadGuard::try_map`] and its
/// own [`map`](Self::map).
#[must_use = "the lock is released at once if the guard is not held"]
pub struct MappedRwLockReadGuard<'a, T: ?Sized> {
    raw: Release<'a>,
    value: NonNull<T>,
    _value: PhantomData<&'a T>,
}

/// Unique access to a part of what a [`RwLock`] guards. Made by [`RwLockWriteGuard::map`], [`RwLockWriteGuard::try_map`] and its
/// own [`map`](Self::map).
#[must_use = "the lock is released at once if the guard is not held"]
pub struct MappedRwLockWriteGuard<'a, T: ?Sized> {
    raw: Release<'a>,
    value: NonNull<T>,
    _value: PhantomData<&'a mut T>,
}

/// Gives its permits back when it is dropped.
struct Release<'a> {
    raw: &'a RawRwLock,
    permits: u32,
    share: Share,
}

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.share.leave();
        self.raw.release(self.permits.into());
    }
}

// (The others are Send and Sync where the lock is Sync: where the value is both.)

// SAFETY: as a shared borrow of the part; it unlocks from anywhere.
unsafe impl<T: ?Sized + Sync> Send for MappedRwLockReadGuard<'_, T> {}
// SAFETY: as above.
unsafe impl<T: ?Sized + Sync> Sync for MappedRwLockReadGuard<'_, T> {}
// SAFETY: as a unique borrow of the part; nobody can make it a shared one of the whole again.
unsafe impl<T: ?Sized + Send> Send for MappedRwLockWriteGuard<'_, T> {}
// SAFETY: a shared guard gives shared access.
unsafe impl<T: ?Sized + Sync> Sync for MappedRwLockWriteGuard<'_, T> {}

impl<'a, T: ?Sized> RwLockReadGuard<'a, T> {
    /// A guard for a part of the value. If `f` panics, the lock is released.
    ///
    /// ```
    /// use leno::sync::{RwLock, RwLockReadGuard};
    ///
    /// let pair = RwLock::new((1, "one"));
    /// let number = RwLockReadGuard::map(pair.read().wait(), |pair| &pair.0);
    /// assert_eq!(*number, 1);
    /// ```
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&T) -> &U) -> MappedRwLockReadGuard<'a, U> {
        // SAFETY: read-locked, for `'a`, by `raw`, which the new guard keeps.
        let value = NonNull::from(f(unsafe { &*guard.lock.shared() }));
        MappedRwLockReadGuard { raw: guard.into_release(), value, _value: PhantomData }
    }

    /// As [`map`](Self::map), if there is such a part.
    ///
    /// # Errors
    /// `f` returned `None`; the guard comes back.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        f: impl FnOnce(&T) -> Option<&U>,
    ) -> Result<MappedRwLockReadGuard<'a, U>, Self> {
        // SAFETY: as in `map`.
        match f(unsafe { &*guard.lock.shared() }).map(NonNull::from) {
            Some(value) => {
                Ok(MappedRwLockReadGuard { raw: guard.into_release(), value, _value: PhantomData })
            }
            None => Err(guard),
        }
    }
}

impl<'a, T: ?Sized> MappedRwLockReadGuard<'a, T> {
    /// A guard for a part of the part. If `f` panics, the lock is released.
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&T) -> &U) -> MappedRwLockReadGuard<'a, U> {
        let MappedRwLockReadGuard { raw, value, .. } = guard;
        // SAFETY: read-locked by `raw`.
        let value = NonNull::from(f(unsafe { value.as_ref() }));
        MappedRwLockReadGuard { raw, value, _value: PhantomData }
    }
}

impl<'a, T: ?Sized> RwLockWriteGuard<'a, T> {
    /// A guard for a part of the value. If `f` panics, the lock is released.
    ///
    /// ```
    /// use leno::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let pair = RwLock::new((1, "one"));
    /// let mut number = RwLockWriteGuard::map(pair.write().wait(), |pair| &mut pair.0);
    /// *number += 1;
    /// drop(number);
    /// assert_eq!(pair.into_inner().0, 2);
    /// ```
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&mut T) -> &mut U) -> MappedRwLockWriteGuard<'a, U> {
        // SAFETY: write-locked, for `'a`, by `raw`, which the new guard keeps.
        let value = NonNull::from(f(unsafe { &mut *guard.lock.value() }));
        MappedRwLockWriteGuard { raw: guard.into_release(), value, _value: PhantomData }
    }

    /// As [`map`](Self::map), if there is such a part.
    ///
    /// # Errors
    /// `f` returned `None`; the guard comes back.
    pub fn try_map<U: ?Sized>(
        guard: Self,
        f: impl FnOnce(&mut T) -> Option<&mut U>,
    ) -> Result<MappedRwLockWriteGuard<'a, U>, Self> {
        // SAFETY: as in `map`.
        match f(unsafe { &mut *guard.lock.value() }).map(NonNull::from) {
            Some(value) => {
                Ok(MappedRwLockWriteGuard { raw: guard.into_release(), value, _value: PhantomData })
            }
            None => Err(guard),
        }
    }

    /// Downgrades to a read guard; no writer comes in between. Readers waiting ahead of the first writer are let in.
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let (lock, share) = guard.into_parts();
        share.turn(What::Read.operation());
        let reader = RwLockReadGuard { lock, share };
        lock.raw().release((WRITE - READ).into());
        reader
    }

    /// As [`downgrade`](Self::downgrade), to a guard that can be upgraded again.
    pub fn downgrade_to_upgradable(guard: Self) -> RwLockUpgradableReadGuard<'a, T> {
        let (lock, share) = guard.into_parts();
        share.turn(What::UpgradableRead.operation());
        let reader = RwLockUpgradableReadGuard { lock, share };
        lock.raw().release((WRITE - UPGRADABLE).into());
        reader
    }
}

impl<'a, T: ?Sized> MappedRwLockWriteGuard<'a, T> {
    /// A guard for a part of the part. If `f` panics, the lock is released.
    pub fn map<U: ?Sized>(guard: Self, f: impl FnOnce(&mut T) -> &mut U) -> MappedRwLockWriteGuard<'a, U> {
        let MappedRwLockWriteGuard { raw, mut value, .. } = guard;
        // SAFETY: write-locked by `raw`.
        let value = NonNull::from(f(unsafe { value.as_mut() }));
        MappedRwLockWriteGuard { raw, value, _value: PhantomData }
    }
}

impl<'a, T: ?Sized> RwLockUpgradableReadGuard<'a, T> {
    /// Upgrades to a write guard; waits for the present readers. From its first poll on nobody else gets the lock before it, or
    /// while it waits. (A branch of a `select!` that has lost does not wait: readers come in until it is polled again.)
    ///
    /// Cancelling: a dropped future releases the lock; [`Upgrade::into_guard`] goes back to reading.
    #[track_caller]
    pub fn upgrade(guard: Self) -> Upgrade<'a, T> {
        Upgrade::new(guard)
    }

    /// Upgrades to a write guard if nobody else reads.
    ///
    /// # Errors
    /// Somebody else reads, or is just entering or leaving the queue; the guard comes back.
    pub fn try_upgrade(guard: Self) -> Result<RwLockWriteGuard<'a, T>, Self> {
        if guard.lock.raw().try_upgrade() {
            // SAFETY: it has all now.
            Ok(unsafe { guard.into_writer() })
        } else {
            Err(guard)
        }
    }

    /// Downgrades to a read guard, and lets another upgradable reader in.
    pub fn downgrade(guard: Self) -> RwLockReadGuard<'a, T> {
        let (lock, share) = guard.into_parts();
        share.turn(What::Read.operation());
        let reader = RwLockReadGuard { lock, share };
        lock.raw().release((UPGRADABLE - READ).into());
        reader
    }

    pub(super) fn raw(&self) -> *const RawRwLock {
        self.lock.raw()
    }

    /// # Safety
    /// What it lacked is its own.
    pub(super) unsafe fn into_writer(self) -> RwLockWriteGuard<'a, T> {
        let (lock, share) = self.into_parts();
        share.turn(What::Write.operation());
        RwLockWriteGuard { lock, share }
    }
}

access! {
    ['a] RwLockReadGuard<'a, T>, self => self.lock.shared();
    ['a] RwLockWriteGuard<'a, T>, self => self.lock.shared(), mut self.lock.value();
    ['a] RwLockUpgradableReadGuard<'a, T>, self => self.lock.shared();
    [] OwnedRwLockReadGuard<T>, self => self.lock.shared();
    [] OwnedRwLockWriteGuard<T>, self => self.lock.shared(), mut self.lock.value();
    ['a] MappedRwLockReadGuard<'a, T>, self => self.value.as_ptr();
    ['a] MappedRwLockWriteGuard<'a, T>, self => self.value.as_ptr(), mut self.value.as_ptr();
}
