//! The guards of a [`Mutex`]: while one lives, the lock is held.

use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::sync::Arc;

use super::mutex::Mutex;
use super::raw::RawMutex;
use crate::task::place::Place;

/// Access to what a [`Mutex`] guards; dropping it unlocks.
#[must_use = "the lock is released at once if the guard is not held"]
pub struct MutexGuard<'a, T: ?Sized> {
    mutex: &'a Mutex<T>,
    /// Send as a unique borrow is; Sync as that and the mutex are.
    _value: PhantomData<&'a mut T>,
}

/// Access to a part of what a [`Mutex`] guards. Made by [`MutexGuard::map`], [`MutexGuard::try_map`] and its own
/// [`map`](Self::map).
#[must_use = "the lock is released at once if the guard is not held"]
pub struct MappedMutexGuard<'a, T: ?Sized> {
    raw: Release<'a>,
    value: NonNull<T>,
    _value: PhantomData<&'a mut T>,
}

/// As [`MutexGuard`], keeping the mutex alive. Made by [`Mutex::lock_arc`] and [`Mutex::try_lock_arc`].
#[must_use = "the lock is released at once if the guard is not held"]
pub struct OwnedMutexGuard<T: ?Sized> {
    mutex: Arc<Mutex<T>>,
    /// Send and Sync as the owner of a value is, and the mutex, which may be kept for longer.
    _value: PhantomData<Box<T>>,
}

/// Unlocks when it is dropped.
struct Release<'a>(&'a RawMutex);

impl Drop for Release<'_> {
    fn drop(&mut self) {
        self.0.unlock();
    }
}

// SAFETY: a guard may be dropped on any thread, and gives the access of a unique borrow.
unsafe impl<T: ?Sized + Send> Send for MappedMutexGuard<'_, T> {}
// SAFETY: a shared guard gives shared access, and nothing else.
unsafe impl<T: ?Sized + Sync> Sync for MappedMutexGuard<'_, T> {}

crate::task::unwinds! { [T: ?Sized] MutexGuard<'_, T> }
crate::task::unwinds! { [T: ?Sized] MappedMutexGuard<'_, T> }
crate::task::unwinds! { [T: ?Sized] OwnedMutexGuard<T> }

impl<'a, T: ?Sized> MutexGuard<'a, T> {
    /// # Safety
    /// The lock is held, and from here on the guard's.
    #[inline]
    pub(super) unsafe fn new(mutex: &'a Mutex<T>, place: Place) -> Self {
        // SAFETY: the caller's promise.
        unsafe { mutex.raw().held(place) };
        MutexGuard { mutex, _value: PhantomData }
    }

    /// The mutex that it locks.
    pub fn mutex(guard: &Self) -> &'a Mutex<T> {
        guard.mutex
    }

    /// Unlocks by handing the lock to the first waiter, even if the mutex is not fair. (A waiter that an earlier unlock has woken
    /// and that has not run yet is not in the queue: if nobody else waits the lock is freed for it, otherwise the next one in the
    /// queue gets the lock.)
    ///
    /// If that waiter's future is never polled again, it holds the lock until it is dropped.
    pub fn unlock_fair(guard: Self) {
        ManuallyDrop::new(guard).mutex.raw().unlock_fair();
    }
}

impl<T: ?Sized> OwnedMutexGuard<T> {
    /// # Safety
    /// The lock is held, and from here on the guard's.
    #[inline]
    pub(super) unsafe fn new(mutex: Arc<Mutex<T>>, place: Place) -> Self {
        // SAFETY: the caller's promise.
        unsafe { mutex.raw().held(place) };
        OwnedMutexGuard { mutex, _value: PhantomData }
    }

    /// The mutex that it locks.
    pub fn mutex(guard: &Self) -> &Arc<Mutex<T>> {
        &guard.mutex
    }

    /// As [`MutexGuard::unlock_fair`].
    pub fn unlock_fair(guard: Self) {
        let guard = ManuallyDrop::new(guard);
        // SAFETY: the guard is not used again.
        let mutex = unsafe { std::ptr::read(&raw const guard.mutex) };
        mutex.raw().unlock_fair();
    }
}

impl<T: ?Sized> MappedMutexGuard<'_, T> {
    /// As [`MutexGuard::unlock_fair`].
    pub fn unlock_fair(guard: Self) {
        ManuallyDrop::new(guard).raw.0.unlock_fair();
    }
}

impl<T: ?Sized> Drop for MutexGuard<'_, T> {
    fn drop(&mut self) {
        self.mutex.raw().unlock();
    }
}

impl<T: ?Sized> Drop for OwnedMutexGuard<T> {
    fn drop(&mut self) {
        self.mutex.raw().unlock();
    }
}

/// What a guard gives: access to what it guards, unique where there is a `mut`.
macro_rules! access {
    ($($guard:ty, $self:ident => $value:expr $(, mut $unique:expr)?;)+) => {$(
        impl<T: ?Sized> std::ops::Deref for $guard {
            type Target = T;

            #[inline]
            fn deref(&$self) -> &T {
                // SAFETY: the lock is held, and the guard borrowed.
                unsafe { &*$value }
            }
        }

        $(
            impl<T: ?Sized> std::ops::DerefMut for $guard {
                #[inline]
                fn deref_mut(&mut $self) -> &mut T {
                    // SAFETY: the lock is held uniquely, and the guard so borrowed.
                    unsafe { &mut *$unique }
                }
            }
        )?

        impl<T: ?Sized + std::fmt::Debug> std::fmt::Debug for $guard {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Debug::fmt(&**self, f)
            }
        }

        impl<T: ?Sized + std::fmt::Display> std::fmt::Display for $guard {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                std::fmt::Display::fmt(&**self, f)
            }
        }
    )+};
}
pub(super) use access;

access! {
    MutexGuard<'_, T>, self => self.mutex.value(), mut self.mutex.value();
    MappedMutexGuard<'_, T>, self => self.value.as_ptr(), mut self.value.as_ptr();
    OwnedMutexGuard<T>, self => self.mutex.value(), mut self.mutex.value();
}

/// Shows what a lock guards, if that can be locked at once.
pub(super) struct Shown<G>(pub(super) Option<G>);

impl<G: std::fmt::Debug> std::fmt::Debug for Shown<G> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            Some(guard) => guard.fmt(f),
            None => f.write_str("<locked>"),
        }
    }
}

/// Guards for parts of what a guard gives access to; unique access where there is a `mut`. `$release` is what unlocks.
macro_rules! maps {
    ($($(#[$example:meta])+ $Guard:ident => $Mapped:ident, $guard:ident [$($mut:tt)?], $release:expr;)+) => {$(
        impl<'a, T: ?Sized> $Guard<'a, T> {
            /// A guard for a part of what this one gives access to. If `f` panics, the lock is released.
            ///
            /// ```
            $(#[$example])+
            /// ```
            pub fn map<U: ?Sized>(
                $($mut)? $guard: Self,
                f: impl FnOnce(&$($mut)? T) -> &$($mut)? U,
            ) -> $Mapped<'a, U> {
                let value = NonNull::from(f(&$($mut)? $guard));
                $Mapped { raw: $release, value, _value: PhantomData }
            }

            /// As [`map`](Self::map), if there is such a part.
            ///
            /// # Errors
            /// `f` returned `None`; the guard comes back.
            pub fn try_map<U: ?Sized>(
                $($mut)? $guard: Self,
                f: impl FnOnce(&$($mut)? T) -> Option<&$($mut)? U>,
            ) -> Result<$Mapped<'a, U>, Self> {
                match f(&$($mut)? $guard).map(NonNull::from) {
                    Some(value) => Ok($Mapped { raw: $release, value, _value: PhantomData }),
                    None => Err($guard),
                }
            }
        }
    )+};
}
pub(super) use maps;

maps! {
    /// use leno::sync::{Mutex, MutexGuard};
    ///
    /// let pair = Mutex::new((1, "one"));
    /// let mut number = MutexGuard::map(pair.lock_blocking(), |pair| &mut pair.0);
    /// *number += 1;
    /// drop(number);
    /// assert_eq!(pair.into_inner().0, 2);
    MutexGuard => MappedMutexGuard, guard [mut], Release(ManuallyDrop::new(guard).mutex.raw());
    /// use leno::sync::{MappedMutexGuard, Mutex, MutexGuard};
    ///
    /// let words = Mutex::new(("warp", vec!["weft"]));
    /// let list = MutexGuard::map(words.lock_blocking(), |words| &mut words.1);
    /// let mut first = MappedMutexGuard::try_map(list, |list| list.first_mut()).expect("there is one");
    /// *first = "pick";
    MappedMutexGuard => MappedMutexGuard, guard [mut], guard.raw;
}

/// Futures of a lock, which they borrow or keep: once `$keep` has kept what their operation got, it is the guard's.
macro_rules! locks {
    ($(
        $(#[$doc:meta])+
        [$($lifetime:lifetime)?] $Future:ident, $name:literal, $call:literal, $lock:ty;
        $branch:ty => $guard:ty, $keep:expr;
    )+) => {$(
        $(#[$doc])+
        #[must_use = "futures do nothing unless polled"]
        pub struct $Future<$($lifetime,)? T: ?Sized> {
            // Before the lock: it must be dropped first.
            operation: Operation<$branch>,
            lock: $lock,
        }

        impl<$($lifetime,)? T: ?Sized> $Future<$($lifetime,)? T> {
            #[inline(always)]
            fn output(&mut self, outcome: <$branch as $crate::wait::Branch>::Output) -> $guard {
                $keep(outcome);
                // SAFETY: the lock is held, and now the guard's.
                unsafe { <$guard>::new(Clone::clone(&self.lock), self.operation.place()) }
            }
        }

        $crate::wait::future! {
            [$($lifetime,)? T: ?Sized] $Future<$($lifetime,)? T>, $name, $call;
            $branch => $guard, $Future::output; or Elapsed
        }
    )+};
}
pub(super) use locks;
