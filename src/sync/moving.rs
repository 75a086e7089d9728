//! Migrating from other locks (documentation only).
//!
//! In leno every operation is a future, which is `Unpin`: `.await` it in a task of any executor; use its `.wait()`,
//! `.wait_timeout(d)` and `.wait_deadline(t)` on a thread; or use the `try_` form, which returns an `Option` if there is only
//! one way to fail. (`OnceCell`'s `get_or_init` is not `Unpin` and has none of these forms, but a blocking one of its own.) All
//! constructors are `const`, except that of `WaitGroup`. There is no poisoning. Owned guards come from the `_arc` forms, which
//! take `&Arc<Self>`.
//!
//! # From tokio::sync
//!
//! | tokio | leno |
//! |---|---|
//! | `Mutex::new`, `const_new` | [`Mutex::fair`] has the same order; [`Mutex::new`] allows barging |
//! | `lock`, `blocking_lock` | the same, `lock_blocking` |
//! | `try_lock` → `Result<_, TryLockError>` | → `Option` |
//! | `m.clone().lock_owned()`, `try_lock_owned` | `m.lock_arc()`, `try_lock_arc` |
//! | `MutexGuard::map`, `try_map`, `mutex`; `get_mut`, `into_inner` | the same |
//! | `RwLock`: `read`, `write`, `try_read`, `try_write`; `blocking_read`, `blocking_write` | the same; `read_blocking`, `write_blocking` |
//! | `read_owned`, `write_owned` | `read_arc`, `write_arc` |
//! | `RwLockWriteGuard::downgrade(guard)`, `guard.downgrade()` (also of owned ones) | `RwLockWriteGuard::downgrade(guard)` |
//! | `RwLockReadGuard::map`, `try_map`, `RwLockMappedWriteGuard` | the same; [`MappedRwLockWriteGuard`] |
//! | `map` of owned guards | –: keep the guard, and project again at each access |
//! | – | `upgradable_read`, [`upgrade`](RwLockUpgradableReadGuard::upgrade) |
//! | `Semaphore`: `acquire`, `acquire_many`, `try_acquire`, `add_permits`, `forget_permits`, `available_permits`, `close` | the same |
//! | `s.clone().acquire_owned()`, `acquire_many_owned`, `try_acquire_owned` | `s.acquire_arc()`, `acquire_many_arc`, `try_acquire_arc` |
//! | `SemaphorePermit`, `OwnedSemaphorePermit`: `forget`, `split`, `merge`, `num_permits` | [`Permit`], [`OwnedPermit`]: the same |
//! | `TryAcquireError::NoPermits`: too few are free | also if others wait: the order is FIFO for all |
//! | `Notify`: `notified`, `enable`, `notify_one`, `notify_waiters` | the same; the future need not be pinned. Lent to a select it leaves the queue: see [`Notify`] |
//! | `notify.notified_owned()` | `notify.notified_arc()` |
//! | `token.cancelled_owned()` | `async move { token.cancelled().await }` |
//! | `Barrier::wait`, `is_leader` | [`wait_for_all`](Barrier::wait_for_all) (`wait` is the blocking form of all futures) |
//! | `OnceCell`: `get_or_init`, `get_or_try_init`, `get`, `set` → `Result<(), SetError<T>>` | the same, → `Result<(), T>` |
//! | `tokio_util::sync::CancellationToken`, `TaskTracker` | [`CancelToken`](crate::fiber::CancelToken); a [`scope`](crate::fiber::scope), or a [`WaitGroup`] |
//! | `mpsc`, `oneshot`, `broadcast`, `watch` | [`channel`](mod@crate::channel) |
//! | `tokio::select!` over locks | [`select!`](crate::select!): a branch that loses has taken nothing |
//!
//! ```
//! use std::sync::Arc;
//! // was: use tokio::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, RwLockWriteGuard, Semaphore};
//! use leno::sync::{Barrier, Mutex, Notify, OnceCell, RwLock, RwLockWriteGuard, Semaphore};
//!
//! static ORDERS: Mutex<Vec<u32>> = Mutex::fair(Vec::new()); // was: Mutex::const_new(Vec::new())
//!
//! # leno::block_on(async {
//! ORDERS.lock().await.push(1);
//! assert!(ORDERS.try_lock().is_some()); // was: is_ok()
//! let limit = Arc::new(Semaphore::new(2));
//! let permit = limit.acquire_arc().await.unwrap(); // was: limit.clone().acquire_owned()
//! assert_eq!((permit.num_permits(), limit.available_permits()), (1, 1));
//! let shared = Arc::new(RwLock::new(5));
//! let guard = shared.read_arc().await; // was: shared.clone().read_owned()
//! assert_eq!(*guard, 5);
//! drop(guard);
//! let mut writing = shared.write().await;
//! *writing += 1;
//! let reading = RwLockWriteGuard::downgrade(writing); // the same
//! assert_eq!(*reading, 6);
//! let notify = Notify::new();
//! let mut notified = notify.notified(); // was: std::pin::pin!(notify.notified())
//! notified.enable(); // was: notified.as_mut().enable()
//! notify.notify_waiters();
//! notified.await;
//! let alone = Barrier::new(1);
//! assert!(alone.wait_for_all().await.is_leader()); // was: wait()
//! let cell = OnceCell::new();
//! assert_eq!(*cell.get_or_init(async || 7).await, 7); // was: || async { 7 }, which does as well
//! # });
//! ```
//!
//! # From async-lock
//!
//! | async-lock | leno |
//! |---|---|
//! | `Mutex`: `lock`, `try_lock`, `lock_blocking`, `lock_arc`, `try_lock_arc` | [`Mutex::new`]: the same, with a [fairness policy](Mutex#fairness) of its own |
//! | `RwLock`: `read`, `write`, `upgradable_read`, `read_arc`, `write_arc`, `upgradable_read_arc`, `read_blocking`, `write_blocking`, `upgradable_read_blocking` | the same; async-lock's prefers writers, this one is FIFO |
//! | `lock_arc_blocking()`, `read_arc_blocking()`, … | `lock_arc().wait()`, `read_arc().wait()` |
//! | `RwLockUpgradableReadGuard::upgrade`, `try_upgrade`, `RwLockWriteGuard::downgrade`, `downgrade_to_upgradable` | the same; a cancelled `upgrade` can go back to reading |
//! | `Semaphore`: `acquire` → guard, `acquire_arc`, `try_acquire` → `Option` | → `Result`: it can be closed |
//! | – | `acquire_many` |
//! | `Barrier::wait`, `wait_blocking` | `wait_for_all()`, `wait_for_all().wait()` |
//! | `OnceCell`: `get_or_init`, `get_or_try_init`, `get_or_init_blocking`, `get_or_try_init_blocking`, `get` | the same |
//! | `OnceCell::set(v).await` | `set(v)`, which fails while somebody makes the value |
//! | `OnceCell::wait` | a [`watch`](mod@crate::channel::watch) |
//! | `event_listener::Event` | [`Notify`]; `listen()` is `notified()` and [`enable`](Notified::enable) |
//!
//! ```
//! use std::sync::Arc;
//! // was: use async_lock::{Mutex, RwLock, RwLockUpgradableReadGuard, Semaphore};
//! use leno::sync::{Mutex, RwLock, RwLockUpgradableReadGuard, Semaphore};
//!
//! # leno::block_on(async {
//! let mutex = Arc::new(Mutex::new(1));
//! *mutex.lock_arc().await += 1; // the same
//! let lock = RwLock::new(5);
//! let looking = lock.upgradable_read().await;
//! if *looking == 5 {
//!     *RwLockUpgradableReadGuard::upgrade(looking).await = 6; // the same
//! }
//! assert_eq!(*lock.read_blocking(), 6);
//! let looms = Semaphore::new(1);
//! let _loom = looms.acquire().await.unwrap(); // was: acquire().await
//! # });
//! ```
//!
//! # From std::sync and parking_lot
//!
//! Fibers that wait for one of those block their thread, and with it other fibers. For a few instructions under a lock that is
//! not held across an `.await` they are the right choice nevertheless.
//!
//! | std, parking_lot | leno |
//! |---|---|
//! | `m.lock().unwrap()` | `m.lock().await`, or `m.lock_blocking()` on a thread; no poisoning |
//! | `try_lock_for(d)`, `try_lock_until(t)`; `try_read_for(d)` | `lock_timeout(d)`, `lock().wait_deadline(t)`; `read().wait_timeout(d)` |
//! | `MutexGuard::unlock_fair` | the same |
//! | `Condvar::wait(guard)`, `wait_while` | the same, awaited, or with `.wait()`; they take the guard and give it back, as in std; no spurious wake-ups |
//! | `wait_timeout`, `wait_timeout_while` | the same, on a thread; elsewhere `timeout(d, condvar.wait(guard))`, and lock again |
//! | `Barrier::wait` | `wait_for_all()` |
//! | `OnceLock`, `LazyLock` | [`OnceCell`] and [`Lazy`], which take async functions |
//! | `Arc<()>` counted down, crossbeam's `WaitGroup` | [`WaitGroup`] |

#[allow(unused_imports, reason = "for links")]
use super::*;
