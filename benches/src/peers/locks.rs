//! Asynchronous locks.

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
