//! The guards of a [`RwLock`]: while one lives, its share of the lock is held, which is noted of the fiber that took it.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use super::guard::{access, maps};
use super::permits::{Source, What};
use super::raw_rwlock::{READ, RawRwLock, UPGRADABLE, WRITE};
use super::rwlock::{RwLock, Upgrade, UpgradeArc};
use crate::task::place::Place;
use crate::task::watch::Share;

/// Guards of a whole lock: what each is, and what it gives back.
macro_rules! guards {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $Guard:ident, $guard:ty, $lock:ty, $What:ident $permits:expr;
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

            /// What becomes another guard's.
            #[allow(dead_code, reason = "the owned guard of a reader becomes no other one")]
            fn into_parts(self) -> ($lock, Share) {
                let guard = ManuallyDrop::new(self);
                // SAFETY: the guard is not dropped, so these are the only ones.
                unsafe { (std::ptr::read(&raw const guard.lock), std::ptr::read(&raw const guard.share)) }
            }
        }

        impl<$($lifetime,)? T: ?Sized> Drop for $guard {
            #[inline]
            fn drop(&mut self) {
                self.share.leave();
                self.lock.raw().release($permits.into());
            }
        }
    )+};
}

guards! {
    /// Shared access to what a [`RwLock`] guards; dropping it unlocks.
    ['a] RwLockReadGuard, RwLockReadGuard<'a, T>, &'a RwLock<T>, Read READ;
    /// Unique access to what a [`RwLock`] guards; dropping it unlocks.
    ['a] RwLockWriteGuard, RwLockWriteGuard<'a, T>, &'a RwLock<T>, Write WRITE;
    /// Shared access to what a [`RwLock`] guards, which can be upgraded to unique access; dropping it unlocks.
    ['a] RwLockUpgradableReadGuard, RwLockUpgradableReadGuard<'a, T>, &'a RwLock<T>, UpgradableRead UPGRADABLE;
    /// As [`RwLockReadGuard`], keeping the lock alive. Made by [`RwLock::read_arc`] and [`RwLock::try_read_arc`].
    [] OwnedRwLockReadGuard, OwnedRwLockReadGuard<T>, Arc<RwLock<T>>, Read READ;
    /// As [`RwLockWriteGuard`], keeping the lock alive. Made by [`RwLock::write_arc`] and [`RwLock::try_write_arc`].
    [] OwnedRwLockWriteGuard, OwnedRwLockWriteGuard<T>, Arc<RwLock<T>>, Write WRITE;
    /// As [`RwLockUpgradableReadGuard`], keeping the lock alive. Made by [`RwLock::upgradable_read_arc`] and
    /// [`RwLock::try_upgradable_read_arc`].
    [] OwnedRwLockUpgradableReadGuard, OwnedRwLockUpgradableReadGuard<T>, Arc<RwLock<T>>, UpgradableRead UPGRADABLE;
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

impl<'a> Release<'a> {
    fn new<T: ?Sized>((lock, share): (&'a RwLock<T>, Share), permits: u32) -> Self {
        Release { raw: lock.raw(), permits, share }
    }
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

/// Guards that become others, which hold less: `$surplus` is given back.
macro_rules! downgrades {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $guard:ty, $name:ident => $Other:ident, $other:ty, $What:ident, $surplus:expr;
    )+) => {$(
        impl<$($lifetime,)? T: ?Sized> $guard {
            $(#[$doc])+
            pub fn $name(guard: Self) -> $other {
                let (lock, share) = guard.into_parts();
                share.turn(What::$What.operation());
                let other = $Other { lock, share };
                other.lock.raw().release(($surplus).into());
                other
            }
        }
    )+};
}

downgrades! {
    /// Downgrades to a read guard; no writer comes in between. Readers waiting ahead of the first writer are let in.
    ['a] RwLockWriteGuard<'a, T>, downgrade => RwLockReadGuard, RwLockReadGuard<'a, T>, Read, WRITE - READ;
    /// As [`downgrade`](Self::downgrade), to a guard that can be upgraded again.
    ['a] RwLockWriteGuard<'a, T>, downgrade_to_upgradable => RwLockUpgradableReadGuard, RwLockUpgradableReadGuard<'a, T>,
    UpgradableRead, WRITE - UPGRADABLE;
    /// Downgrades to a read guard, and lets another upgradable reader in.
    ['a] RwLockUpgradableReadGuard<'a, T>, downgrade => RwLockReadGuard, RwLockReadGuard<'a, T>, Read, UPGRADABLE - READ;
    /// As [`RwLockWriteGuard::downgrade`].
    [] OwnedRwLockWriteGuard<T>, downgrade => OwnedRwLockReadGuard, OwnedRwLockReadGuard<T>, Read, WRITE - READ;
    /// As [`RwLockWriteGuard::downgrade_to_upgradable`].
    [] OwnedRwLockWriteGuard<T>, downgrade_to_upgradable => OwnedRwLockUpgradableReadGuard, OwnedRwLockUpgradableReadGuard<T>,
    UpgradableRead, WRITE - UPGRADABLE;
    /// As [`RwLockUpgradableReadGuard::downgrade`].
    [] OwnedRwLockUpgradableReadGuard<T>, downgrade => OwnedRwLockReadGuard, OwnedRwLockReadGuard<T>, Read, UPGRADABLE - READ;
}

/// Guards of readers that can become writers.
macro_rules! upgrades {
    ($([$($lifetime:lifetime)?] $guard:ty => $Writer:ident, $writer:ty, $Upgrade:ident, $upgrade:ty;)+) => {$(
        impl<$($lifetime,)? T: ?Sized> $guard {
            /// Upgrades to a write guard; waits for the present readers. From its first poll on nobody else gets the lock before
            /// it, or while it waits. (A branch of a `select!` that has lost does not wait: readers come in until it is polled
            /// again.)
            ///
            /// Cancelling: a dropped future releases the lock; its `into_guard` goes back to reading.
            #[track_caller]
            pub fn upgrade(guard: Self) -> $upgrade {
                $Upgrade::new(guard)
            }

            /// Upgrades to a write guard if nobody else reads.
            ///
            /// # Errors
            /// Somebody else reads, or is just entering or leaving the queue; the guard comes back.
            pub fn try_upgrade(guard: Self) -> Result<$writer, Self> {
                if guard.lock.raw().try_upgrade() {
                    // SAFETY: it has all now.
                    Ok(unsafe { guard.into_writer() })
                } else {
                    Err(guard)
                }
            }

            pub(super) fn raw(&self) -> *const RawRwLock {
                self.lock.raw()
            }

            /// # Safety
            /// What it lacked is its own.
            pub(super) unsafe fn into_writer(self) -> $writer {
                let (lock, share) = self.into_parts();
                share.turn(What::Write.operation());
                $Writer { lock, share }
            }
        }
    )+};
}

upgrades! {
    ['a] RwLockUpgradableReadGuard<'a, T> => RwLockWriteGuard, RwLockWriteGuard<'a, T>, Upgrade, Upgrade<'a, T>;
    [] OwnedRwLockUpgradableReadGuard<T> => OwnedRwLockWriteGuard, OwnedRwLockWriteGuard<T>, UpgradeArc, UpgradeArc<T>;
}

access! {
    RwLockReadGuard<'_, T>, self => self.lock.shared();
    RwLockWriteGuard<'_, T>, self => self.lock.shared(), mut self.lock.value();
    RwLockUpgradableReadGuard<'_, T>, self => self.lock.shared();
    OwnedRwLockReadGuard<T>, self => self.lock.shared();
    OwnedRwLockUpgradableReadGuard<T>, self => self.lock.shared();
    OwnedRwLockWriteGuard<T>, self => self.lock.shared(), mut self.lock.value();
    MappedRwLockReadGuard<'_, T>, self => self.value.as_ptr();
    MappedRwLockWriteGuard<'_, T>, self => self.value.as_ptr(), mut self.value.as_ptr();
}

maps! {
    /// use leno::sync::{RwLock, RwLockReadGuard};
    ///
    /// let pair = RwLock::new((1, "one"));
    /// let number = RwLockReadGuard::map(pair.read().wait(), |pair| &pair.0);
    /// assert_eq!(*number, 1);
    RwLockReadGuard => MappedRwLockReadGuard, guard [], Release::new(guard.into_parts(), READ);
    /// use leno::sync::{MappedRwLockReadGuard, RwLock, RwLockReadGuard};
    ///
    /// let words = RwLock::new(("warp", vec!["weft"]));
    /// let list = RwLockReadGuard::map(words.read().wait(), |words| &words.1);
    /// assert_eq!(*MappedRwLockReadGuard::map(list, |list| &list[0]), "weft");
    MappedRwLockReadGuard => MappedRwLockReadGuard, guard [], guard.raw;
    /// use leno::sync::{RwLock, RwLockWriteGuard};
    ///
    /// let pair = RwLock::new((1, "one"));
    /// let mut number = RwLockWriteGuard::map(pair.write().wait(), |pair| &mut pair.0);
    /// *number += 1;
    /// drop(number);
    /// assert_eq!(pair.into_inner().0, 2);
    RwLockWriteGuard => MappedRwLockWriteGuard, guard [mut], Release::new(guard.into_parts(), WRITE);
    /// use leno::sync::{MappedRwLockWriteGuard, RwLock, RwLockWriteGuard};
    ///
    /// let words = RwLock::new(("warp", vec!["weft"]));
    /// let list = RwLockWriteGuard::map(words.write().wait(), |words| &mut words.1);
    /// *MappedRwLockWriteGuard::map(list, |list| &mut list[0]) = "pick";
    MappedRwLockWriteGuard => MappedRwLockWriteGuard, guard [mut], guard.raw;
}
