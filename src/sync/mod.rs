//! L2: locks and their friends, which suspend a fiber instead of blocking its thread. They serve tasks of other executors and
//! plain threads just as well.
//!
//! | what for | use |
//! |---|---|
//! | one at a time, with a value | [`Mutex`]; [`Mutex::fair`] where nobody may be passed over |
//! | many read, or one writes | [`RwLock`]; its upgradable read to look first, and then write |
//! | at most n at a time; bytes, slots, licences | [`Semaphore`] |
//! | something has happened: look | [`Notify`] |
//! | a condition of what a mutex guards has come true | [`Condvar`] |
//! | all workers are done | [`WaitGroup`]; or join them ([`scope`](crate::fiber::scope)) |
//! | all go on together, round after round | [`Barrier`] |
//! | a value that is made once | [`OnceCell`], [`Lazy`] |
//! | values that go from one to another | none of these: a [`channel`](mod@crate::channel) |
//! | a value that changes, and others follow; a stop that everybody sees | a channel that closes, a [`CancelToken`](crate::fiber::CancelToken) |
//!
//! # Four ways to call
//!
//! An operation is a future, which is `Unpin`. Await it; make it a branch of [`select!`](crate::select!), where it is claimed: a
//! branch that loses has locked, taken and consumed nothing; call `.wait()`, `.wait_timeout(d)` or `.wait_deadline(t)` on a plain thread;
//! or use the `try_` form, which never waits. (Two are polled in a select, as any other future is, since they consist of several
//! operations: a condition variable's wait, and a cell's `get_or_init`. Dropping them loses nothing either.)
//!
//! # Order, and what a future holds that nobody polls
//!
//! | | who is next | one that is granted and not polled any more | one that waits and is not polled any more |
//! |---|---|---|---|
//! | [`Mutex::new`] | whoever comes; those that wait are told in order | holds nothing | blocks nobody |
//! | [`Mutex::fair`], [`RwLock`], [`Semaphore`] | first come, first served | holds it until it is dropped | when it is first: all behind it, once it is granted |
//! | [`Notify`], [`Condvar`] | first come, first served | keeps to itself what it was told, until it is dropped | the same |
//! | [`Barrier`], [`WaitGroup`] | all at once | holds nothing | of a barrier: it counts |
//! | [`OnceCell`], [`Lazy`] | first come, first served | its turn, until it is dropped | when it is first: all behind it |
//!
//! # Sizes
//!
//! In bytes, of a 64-bit build without debug assertions, with those of tokio 1.54 and async-lock 3 on the same compiler:
//!
//! | | leno | tokio | async-lock |
//! |---|---:|---:|---:|
//! | `Mutex<()>` | 16 | 40 | 16 |
//! | `Semaphore` | 24 | 40 | 16 |
//! | `RwLock<()>` | 48 | 48 | 40 |
//! | `Notify` | 24 | 32 | |
//! | `Condvar` | 24 | | |
//! | `Barrier` | 48 | 56 | 48 |
//! | `OnceCell<u8>` | 32 | 48 | 32 |
//!
//! None allocates before somebody waits behind the first waiter; a `WaitGroup` is one allocation.
//!
//! # Moving here
//!
//! | tokio::sync | leno::sync |
//! |---|---|
//! | `Mutex`, `lock`, `lock_owned`, `blocking_lock` | [`Mutex::fair`] has the same order; `lock`, `lock_arc`, `lock_blocking` |
//! | `try_lock` → `Result` | → `Option` |
//! | `RwLock`, `read_owned`, `write_owned`, `blocking_read` | `read_arc`, `write_arc`, `read_blocking` |
//! | `RwLockWriteGuard::downgrade`, `map`, `try_map` | the same; and `upgradable_read`, `upgrade` |
//! | `Semaphore`, `acquire`, `acquire_many`, `try_acquire`, `add_permits`, `forget_permits`, `close` | the same |
//! | `acquire_owned`, `acquire_many_owned`, `try_acquire_owned` | `acquire_arc`, `acquire_many_arc`, `try_acquire_arc` |
//! | `SemaphorePermit`, `OwnedSemaphorePermit`: `forget`, `split`, `merge`, `num_permits` | [`Permit`], [`OwnedPermit`]: the same |
//! | `Notify`, `notified`, `enable`, `notify_one`, `notify_waiters` | the same; the future need not be pinned |
//! | `Barrier::wait` | [`Barrier::wait_for_all`] (`wait` is the blocking form of all futures) |
//! | `OnceCell`, `get_or_init`, `get_or_try_init` | the same |
//! | `mpsc`, `oneshot`, `broadcast`, `watch` | [`channel`](mod@crate::channel) |
//!
//! | async-lock | leno::sync |
//! |---|---|
//! | `Mutex` | [`Mutex::new`]; `lock_arc` the same |
//! | `RwLock`: `read`, `write`, `upgradable_read`, `upgrade`, `read_arc`, … | the same; async-lock prefers writers, this one goes by order |
//! | `Semaphore`, `acquire` → guard, `acquire_arc` | the same, with `Result`: it can be closed |
//! | `Barrier::wait` | [`Barrier::wait_for_all`] |
//! | `OnceCell`, `get_or_init`, `get_or_init_blocking` | the same |
//! | `lock_blocking`, `read_blocking`, `write_blocking` | the same |
//!
//! ```
//! use std::sync::Arc;
//! // was: use tokio::sync::{Notify, RwLock, Semaphore};
//! use leno::sync::{Notify, RwLock, Semaphore};
//!
//! # leno::block_on(async {
//! let limit = Arc::new(Semaphore::new(2));
//! let permit = limit.clone().acquire_arc().await.unwrap(); // was: acquire_owned()
//! assert_eq!(permit.num_permits(), 1);
//! let shared = Arc::new(RwLock::new(5));
//! let guard = shared.read_arc().await; // was: shared.clone().read_owned().await
//! assert_eq!(*guard, 5);
//! let notify = Notify::new();
//! let mut notified = notify.notified(); // was: std::pin::pin!(notify.notified())
//! notified.enable(); // was: notified.as_mut().enable()
//! notify.notify_waiters();
//! notified.await;
//! # });
//! ```

mod barrier;
mod condvar;
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
pub use condvar::{Condvar, CondvarWait, CondvarWaitWhile, WaitTimeoutResult};
pub use guard::{MappedMutexGuard, MutexGuard, OwnedMutexGuard};
pub use mutex::{Lock, LockArc, Mutex};
pub use notify::{Notified, Notify};
pub use once_cell::{Lazy, OnceCell};
pub use rwlock::{Read, ReadArc, RwLock, UpgradableRead, Upgrade, Write, WriteArc};
pub use rwlock_guard::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedRwLockReadGuard, OwnedRwLockWriteGuard,
    RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard,
};
pub use semaphore::{
    Acquire, AcquireArc, AcquireError, AcquireTimeoutError, OwnedPermit, Permit, Semaphore, TryAcquireError,
};
pub use wait_group::{WaitAll, WaitGroup, Worker};
