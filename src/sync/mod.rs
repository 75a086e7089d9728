//! L2: locks that suspend a fiber instead of blocking its thread. They serve tasks of other executors and plain
//! threads just as well.

mod guard;
mod mutex;

pub use guard::{MappedMutexGuard, MutexGuard, OwnedMutexGuard};
pub(crate) use mutex::Acquire;
pub use mutex::{Lock, LockArc, Mutex};
