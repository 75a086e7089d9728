//! L2: locks that suspend a fiber instead of blocking its thread. They serve tasks of other executors and plain
//! threads just as well.

mod future;
mod guard;
mod mutex;
mod permits;
mod raw;
mod semaphore;

pub use guard::{MappedMutexGuard, MutexGuard, OwnedMutexGuard};
pub use mutex::{Lock, LockArc, Mutex};
#[allow(unused_imports, reason = "for select")]
pub(crate) use permits::Taking;
#[allow(unused_imports, reason = "for select")]
pub(crate) use raw::Acquire as Locking;
pub use semaphore::{
    Acquire, AcquireArc, AcquireError, AcquireTimeoutError, OwnedPermit, Permit, Semaphore, TryAcquireError,
};
