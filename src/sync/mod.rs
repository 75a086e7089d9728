//! L2: locks that suspend a fiber instead of blocking its thread. They serve tasks of other executors and plain
//! threads just as well.

mod barrier;
mod condvar;
mod future;
mod guard;
mod mutex;
mod notify;
mod once_cell;
mod permits;
mod raw;
mod raw_rwlock;
mod rwlock;
mod rwlock_guard;
mod semaphore;
mod signal;
mod wait_group;

pub use barrier::{Barrier, BarrierWaitResult, WaitForAll};
#[allow(unused_imports, reason = "for select")]
pub(crate) use barrier::Coming;
pub use condvar::{Condvar, CondvarWait, CondvarWaitWhile, WaitTimeoutResult};
pub use guard::{MappedMutexGuard, MutexGuard, OwnedMutexGuard};
pub use mutex::{Lock, LockArc, Mutex};
pub use notify::{Notified, Notify};
pub use once_cell::{Lazy, OnceCell};
#[allow(unused_imports, reason = "for select")]
pub(crate) use permits::Taking;
#[allow(unused_imports, reason = "for select")]
pub(crate) use raw::Acquire as Locking;
#[allow(unused_imports, reason = "for select")]
pub(crate) use raw_rwlock::{RawRwLock, Upgrading};
pub use rwlock::{Read, ReadArc, RwLock, UpgradableRead, Upgrade, Write, WriteArc};
pub use rwlock_guard::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLockReadGuard,
    RwLockUpgradableReadGuard, RwLockWriteGuard,
};
pub use semaphore::{
    Acquire, AcquireArc, AcquireError, AcquireTimeoutError, OwnedPermit, Permit, Semaphore, TryAcquireError,
};
#[allow(unused_imports, reason = "for select")]
pub(crate) use signal::Hearing;
pub use wait_group::{WaitAll, WaitGroup, Worker};
