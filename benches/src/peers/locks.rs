//! Asynchronous locks; semaphores of one permit and locks for readers and writers, used as locks.

use std::cell::UnsafeCell;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

/// Implements [`super::Lock`] for a wrapper around the library's mutex.
macro_rules! lock {
    ($(#[$doc:meta])* $Lock:ident, $name:literal, $Mutex:ty, $Guard:ty, $lock:ident) => {
        $(#[$doc])*
        pub(super) struct $Lock($Mutex);

        impl super::Lock for $Lock {
            const NAME: &'static str = $name;
            type Guard<'a> = $Guard;

            fn new(value: u64) -> Self {
                $Lock(<$Mutex>::new(value))
            }
            async fn lock(&self) -> Self::Guard<'_> {
                self.0.$lock().await
            }
        }
    };
}

lock!(
    /// leno's, which barges like the others.
    Leno, "leno", leno::sync::Mutex<u64>, leno::sync::MutexGuard<'a, u64>, lock
);
lock!(
    /// async-lock's.
    AsyncLock, "async-lock", async_lock::Mutex<u64>, async_lock::MutexGuard<'a, u64>, lock
);
lock!(
    /// fibre's.
    Fibre, "fibre", fibre::sync::HybridMutex<u64>, fibre::sync::MutexGuard<'a, u64>, lock_async
);
lock!(
    /// tokio's, which is strictly fair.
    Tokio, "tokio", tokio::sync::Mutex<u64>, tokio::sync::MutexGuard<'a, u64>, lock
);

lock!(
    /// leno's lock for readers and writers, written.
    LenoWrite, "leno", leno::sync::RwLock<u64>, leno::sync::RwLockWriteGuard<'a, u64>, write
);
lock!(
    /// async-lock's.
    AsyncLockWrite, "async-lock", async_lock::RwLock<u64>, async_lock::RwLockWriteGuard<'a, u64>, write
);
lock!(
    /// tokio's.
    TokioWrite, "tokio", tokio::sync::RwLock<u64>, tokio::sync::RwLockWriteGuard<'a, u64>, write
);

/// A value beside a semaphore of one permit.
struct Beside<S> {
    semaphore: S,
    value: UnsafeCell<u64>,
}

// SAFETY: who touches the value has the only permit.
unsafe impl<S: Sync> Sync for Beside<S> {}

/// The value, for who has the permit.
pub(super) struct Permitted<'a, P> {
    value: *mut u64,
    _permit: P,
    _beside: PhantomData<&'a mut u64>,
}

// SAFETY: a unique borrow of a number, and a permit.
unsafe impl<P: Send> Send for Permitted<'_, P> {}

impl<P> Deref for Permitted<'_, P> {
    type Target = u64;

    fn deref(&self) -> &u64 {
        // SAFETY: the permit is held.
        unsafe { &*self.value }
    }
}

impl<P> DerefMut for Permitted<'_, P> {
    fn deref_mut(&mut self) -> &mut u64 {
        // SAFETY: the permit is held, and this is borrowed uniquely.
        unsafe { &mut *self.value }
    }
}

/// Implements [`super::Lock`] for the library's semaphore, with one permit.
macro_rules! semaphore {
    ($(#[$doc:meta])* $Lock:ident, $name:literal, $Semaphore:ty, $Permit:ty, $permit:ident => $made:expr) => {
        $(#[$doc])*
        pub(super) struct $Lock(Beside<$Semaphore>);

        impl super::Lock for $Lock {
            const NAME: &'static str = $name;
            type Guard<'a> = Permitted<'a, $Permit>;

            fn new(value: u64) -> Self {
                $Lock(Beside { semaphore: <$Semaphore>::new(1), value: UnsafeCell::new(value) })
            }
            async fn lock(&self) -> Self::Guard<'_> {
                let $permit = self.0.semaphore.acquire().await;
                Permitted { _permit: $made, value: self.0.value.get(), _beside: PhantomData }
            }
        }
    };
}

semaphore!(
    /// leno's.
    LenoSemaphore, "leno", leno::sync::Semaphore, leno::sync::Permit<'a>, permit => permit.expect("open")
);
semaphore!(
    /// async-lock's.
    AsyncLockSemaphore, "async-lock", async_lock::Semaphore, async_lock::SemaphoreGuard<'a>, permit => permit
);
semaphore!(
    /// tokio's.
    TokioSemaphore, "tokio", tokio::sync::Semaphore, tokio::sync::SemaphorePermit<'a>, permit => permit.expect("open")
);
