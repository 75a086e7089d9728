//! Asynchronous locks; semaphores of one permit and locks for readers and writers, used as locks.

use std::cell::UnsafeCell;
use std::future::Future;

/// Implements [`super::Lock`] for a wrapper around the library's mutex.
macro_rules! lock {
    ($(#[$doc:meta])* $Lock:ident, $name:literal, $Mutex:ty, $Guard:ty, $lock:ident) => {
        $(#[$doc])*
        pub(super) struct $Lock($Mutex);

        impl super::Lock for $Lock {
            const NAME: &'static str = $name;
            type Held<'a> = $Guard;

            fn new(value: u64) -> Self {
                $Lock(<$Mutex>::new(value))
            }
            fn lock(&self) -> impl Future<Output = Self::Held<'_>> + Send {
                self.0.$lock()
            }
            unsafe fn value<'a>(&'a self, held: &'a mut Self::Held<'_>) -> &'a mut u64 {
                held
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

/// Implements [`super::Lock`] for the library's semaphore, with one permit.
macro_rules! semaphore {
    ($(#[$doc:meta])* $Lock:ident, $name:literal, $Semaphore:ty, $Held:ty, $held:ident => $is_held:expr) => {
        $(#[$doc])*
        pub(super) struct $Lock(Beside<$Semaphore>);

        impl super::Lock for $Lock {
            const NAME: &'static str = $name;
            type Held<'a> = $Held;

            fn new(value: u64) -> Self {
                $Lock(Beside { semaphore: <$Semaphore>::new(1), value: UnsafeCell::new(value) })
            }
            fn lock(&self) -> impl Future<Output = Self::Held<'_>> + Send {
                self.0.semaphore.acquire()
            }
            unsafe fn value<'a>(&'a self, $held: &'a mut Self::Held<'_>) -> &'a mut u64 {
                assert!($is_held, "it is open");
                // SAFETY: the only permit is held, and borrowed uniquely.
                unsafe { &mut *self.0.value.get() }
            }
        }
    };
}

semaphore!(
    /// leno's.
    LenoSemaphore, "leno", leno::sync::Semaphore,
    Result<leno::sync::Permit<'a>, leno::sync::AcquireError>, held => held.is_ok()
);
semaphore!(
    /// async-lock's.
    AsyncLockSemaphore, "async-lock", async_lock::Semaphore, async_lock::SemaphoreGuard<'a>, _held => true
);
semaphore!(
    /// tokio's.
    TokioSemaphore, "tokio", tokio::sync::Semaphore,
    Result<tokio::sync::SemaphorePermit<'a>, tokio::sync::AcquireError>, held => held.is_ok()
);
