//! The guards of a [`RwLock`]: while one lives, its share of the lock is held, which is noted of the fiber that took it. And the
//! futures in which a reader's becomes a writer's.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use super::guard::{access, maps};
use super::permits::{Source, Taken, What};
use super::raw_rwlock::{READ, RawRwLock, UPGRADABLE, Upgrading, WRITE};
use super::rwlock::RwLock;
use crate::task::place::Place;
use crate::task::watch::Share;
use crate::wait::{Operation, future};

/// Guards of a whole lock: what each is, and what it gives back.
macro_rules! guards {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $Guard:ident, $lock:ty, $What:ident $permits:expr;
    )+) => {$(
        $(#[$doc])+
        #[must_use = "the lock is released at once if the guard is not held"]
        pub struct $Guard<$($lifetime,)? T: ?Sized> {
            lock: $lock,
            /// The note of it at the fiber that took it.
            share: Share,
        }

        impl<$($lifetime,)? T: ?Sized> $Guard<$($lifetime,)? T> {
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

            /// # Safety
            /// The share that another guard had is now as large as this one's.
            unsafe fn from_parts((lock, share): ($lock, Share)) -> Self {
                share.turn(What::$What.operation());
                $Guard { lock, share }
            }
        }

        impl<$($lifetime,)? T: ?Sized> Drop for $Guard<$($lifetime,)? T> {
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
    ['a] RwLockReadGuard, &'a RwLock<T>, Read READ;
    /// Unique access to what a [`RwLock`] guards; dropping it unlocks.
    ['a] RwLockWriteGuard, &'a RwLock<T>, Write WRITE;
    /// Shared access to what a [`RwLock`] guards, which can be upgraded to unique access; dropping it unlocks.
    ['a] RwLockUpgradableReadGuard, &'a RwLock<T>, UpgradableRead UPGRADABLE;
    /// As [`RwLockReadGuard`], keeping the lock alive. Made by [`RwLock::read_arc`] and [`RwLock::try_read_arc`].
    [] OwnedRwLockReadGuard, Arc<RwLock<T>>, Read READ;
    /// As [`RwLockWriteGuard`], keeping the lock alive. Made by [`RwLock::write_arc`] and [`RwLock::try_write_arc`].
    [] OwnedRwLockWriteGuard, Arc<RwLock<T>>, Write WRITE;
    /// As [`RwLockUpgradableReadGuard`], keeping the lock alive. Made by [`RwLock::upgradable_read_arc`] and
    /// [`RwLock::try_upgradable_read_arc`].
    [] OwnedRwLockUpgradableReadGuard, Arc<RwLock<T>>, UpgradableRead UPGRADABLE;
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

crate::task::unwinds! { [T: ?Sized] MappedRwLockReadGuard<'_, T> }
crate::task::unwinds! { [T: ?Sized] MappedRwLockWriteGuard<'_, T> }

/// Guards that become others, which hold less: `$surplus` is given back.
macro_rules! downgrades {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $Guard:ident, $name:ident => $Other:ident, $surplus:expr;
    )+) => {$(
        impl<$($lifetime,)? T: ?Sized> $Guard<$($lifetime,)? T> {
            $(#[$doc])+
            pub fn $name(guard: Self) -> $Other<$($lifetime,)? T> {
                // SAFETY: it was larger, and the rest is given back.
                let other = unsafe { $Other::from_parts(guard.into_parts()) };
                other.lock.raw().release(($surplus).into());
                other
            }
        }
    )+};
}

downgrades! {
    /// Downgrades to a read guard; no writer comes in between. Those at the front of the queue are let in, up to the first that
    /// cannot hold the lock beside this guard.
    ['a] RwLockWriteGuard, downgrade => RwLockReadGuard, WRITE - READ;
    /// As [`downgrade`](Self::downgrade), to a guard that can be upgraded again.
    ['a] RwLockWriteGuard, downgrade_to_upgradable => RwLockUpgradableReadGuard, WRITE - UPGRADABLE;
    /// Downgrades to a read guard, and lets another upgradable reader in.
    ['a] RwLockUpgradableReadGuard, downgrade => RwLockReadGuard, UPGRADABLE - READ;
    /// As [`RwLockWriteGuard::downgrade`].
    [] OwnedRwLockWriteGuard, downgrade => OwnedRwLockReadGuard, WRITE - READ;
    /// As [`RwLockWriteGuard::downgrade_to_upgradable`].
    [] OwnedRwLockWriteGuard, downgrade_to_upgradable => OwnedRwLockUpgradableReadGuard, WRITE - UPGRADABLE;
    /// As [`RwLockUpgradableReadGuard::downgrade`].
    [] OwnedRwLockUpgradableReadGuard, downgrade => OwnedRwLockReadGuard, UPGRADABLE - READ;
}

/// Guards of readers that can become writers, and the futures of that.
macro_rules! upgrades {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $Upgrade:ident, $name:literal, $Guard:ident => $Writer:ident;
    )+) => {$(
        impl<$($lifetime,)? T: ?Sized> $Guard<$($lifetime,)? T> {
            /// Upgrades to a write guard; waits for the present readers. Once it waits nobody else gets the lock before it. (From
            /// the first poll, if its fiber has any budget left in this turn.) (A branch of a `select!` that has lost does not
            /// wait, once the select was polled: readers come in until it is polled again.)
            ///
            /// Cancelling: a dropped future releases the lock; its `into_guard` goes back to reading.
            #[track_caller]
            pub fn upgrade(guard: Self) -> $Upgrade<$($lifetime,)? T> {
                // SAFETY: the guard keeps the lock, and has what an upgradable reader has.
                let upgrading = unsafe { Upgrading::new(guard.lock.raw()) };
                $Upgrade { operation: Operation::new(upgrading), guard: Some(guard) }
            }

            /// Upgrades to a write guard if nobody else reads.
            ///
            /// # Errors
            /// Somebody else reads, or is just entering or leaving the queue; the guard comes back.
            pub fn try_upgrade(guard: Self) -> Result<$Writer<$($lifetime,)? T>, Self> {
                if guard.lock.raw().try_upgrade() {
                    // SAFETY: it has all now.
                    Ok(unsafe { $Writer::from_parts(guard.into_parts()) })
                } else {
                    Err(guard)
                }
            }
        }

        $(#[$doc])+
        #[must_use = "futures do nothing unless polled"]
        pub struct $Upgrade<$($lifetime,)? T: ?Sized> {
            // Before the guard: it must be dropped first.
            operation: Operation<Upgrading>,
            /// Until it has become a writer's.
            guard: Option<$Guard<$($lifetime,)? T>>,
        }

        impl<$($lifetime,)? T: ?Sized> $Upgrade<$($lifetime,)? T> {
            /// Gives up the upgrade and returns the read guard. `None`: it has already completed; or it was lent to a select that
            /// was forgotten, and the lock with it.
            pub fn into_guard(mut self) -> Option<$Guard<$($lifetime,)? T>> {
                let guard = self.guard.take();
                if self.operation.is_lent() {
                    std::mem::forget(guard);
                    return None;
                }
                drop(self);
                guard
            }

            fn output(&mut self, taken: Taken<RawRwLock>) -> $Writer<$($lifetime,)? T> {
                taken.keep();
                let guard = self.guard.take().expect("an upgrade completes once");
                // SAFETY: it has all now.
                unsafe { $Writer::from_parts(guard.into_parts()) }
            }
        }

        future! {
            [$($lifetime,)? T: ?Sized] $Upgrade<$($lifetime,)? T>, $name, "upgrade";
            Upgrading => $Writer<$($lifetime,)? T>, $Upgrade::output, leaves nothing; or Elapsed
        }
    )+};
}

upgrades! {
    /// Waits to write, for a reader that holds an upgradable guard. Made by [`RwLockUpgradableReadGuard::upgrade`].
    ///
    /// Dropping it releases the lock altogether, and so does a wait whose time is up. [`into_guard`](Self::into_guard) goes back
    /// to reading, after a `timeout(d, &mut upgrade)` for example. (One that is lent to a select which is forgotten takes the lock
    /// with it.)
    ['a] Upgrade, "Upgrade", RwLockUpgradableReadGuard => RwLockWriteGuard;
    /// As [`Upgrade`], keeping the lock. Made by [`OwnedRwLockUpgradableReadGuard::upgrade`].
    [] UpgradeArc, "UpgradeArc", OwnedRwLockUpgradableReadGuard => OwnedRwLockWriteGuard;
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
