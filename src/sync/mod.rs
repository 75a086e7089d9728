//! Locks and other synchronization that suspend a fiber instead of blocking its thread; usable from tasks of other
//! executors and from plain threads, too.
//!
//! | what for | use |
//! |---|---|
//! | exclusive access to a value | [`Mutex`]; [`Mutex::fair`] if nobody may be passed over |
//! | many readers or one writer | [`RwLock`]; its upgradable read to look first, and then write |
//! | at most n at a time; bytes, slots, licences | [`Semaphore`] |
//! | a signal that something has happened | [`Notify`] |
//! | a condition on what a mutex guards has become true | [`Condvar`] |
//! | all workers are done | [`WaitGroup`]; or join them ([`scope`](crate::fiber::scope)) |
//! | all go on together, round after round | [`Barrier`] |
//! | a value that is made once | [`OnceCell`], [`Lazy`] |
//! | values that go from one to another | none of these: a [`channel`](mod@crate::channel) |
//! | a value that changes and that others follow; a stop signal for everybody | a [`watch`](mod@crate::channel::watch); a channel that closes, a [`CancelToken`](crate::fiber::CancelToken) |
//!
//! # Three ways to call
//!
//! An operation is a future. Await it, or make it a branch of [`select!`](crate::select!); call `.wait()`,
//! `.wait_timeout(d)` or `.wait_deadline(t)` on a plain thread; or use the `try_` form, if it has one, which never waits.
//!
//! In a select an operation is claimed: a branch that loses has locked, taken and consumed nothing. Two are polled instead, as
//! any other future is, because they consist of several operations: a condition variable's wait, and a cell's `get_or_init`.
//! Dropping them loses nothing either (but one that loses by `&mut` is not dropped). All but the latter, which contains the
//! function that makes the value, are `Unpin`; it has `get_or_init_blocking` for threads.
//!
//! # Order, and what a future holds that nobody polls
//!
//! | | who is next | a future that was granted it and is no longer polled | a future that waits and is no longer polled |
//! |---|---|---|---|
//! | [`Mutex::new`] | whoever comes first; waiters are woken FIFO | holds nothing | blocks nobody |
//! | [`Mutex::fair`], [`RwLock`], [`Semaphore`] | FIFO | holds it until it is dropped | blocks all behind it once it is first |
//! | [`Notify`], [`Condvar`] | FIFO | keeps its notification until it is dropped (of a fair mutex, perhaps also the lock) | the same |
//! | [`Barrier`], [`WaitGroup`] | all at once | holds nothing | counts, at a barrier |
//! | [`OnceCell`], [`Lazy`] | FIFO | keeps its turn until it is dropped | blocks all behind it once it is first |
//!
//! FIFO has three exceptions. An upgrade of a [`RwLock`] does not queue. A branch of a select that is being polled just when it
//! is its turn is passed over, and goes to the back of the line ([`select`](mod@crate::select#order-fairness-starvation)); a
//! select that other futures in it keep busy may be passed over often. (Not by `notify_one`, which notifies it all the same.)
//! And a future that has waited by itself, an upgrade too, and is then passed to a select, begins anew there.
//!
//! # A future that nobody polls
//!
//! A lock that is handed over is handed to a future, which does nothing until polled. A lock future that was polled once
//! and then kept without being polled (in a variable, or passed by `&mut` to another library's select, which went on with
//! another branch) can be granted the lock, and then holds it until it is polled or dropped. This is known as *futurelock*:
//! the waiters wait for a task that does not know it has the lock. A waiter in that same task waits forever.
//!
//! ```
//! use leno::sync::Mutex;
//! use std::{future::Future, pin::Pin, task::{Context, Waker}};
//!
//! # leno::block_on(async {
//! for (mutex, hands_over) in [(Mutex::new(()), false), (Mutex::fair(()), true)] {
//!     let guard = mutex.lock().await;
//!     let mut kept = mutex.lock();
//!     // Once, and then never again.
//!     assert!(Pin::new(&mut kept).poll(&mut Context::from_waker(Waker::noop())).is_pending());
//!     drop(guard);
//!     // `mutex.lock().await` would wait for ever in the one, and not in the other.
//!     assert_eq!(mutex.try_lock().is_none(), hands_over);
//!     drop(kept);
//!     assert!(mutex.try_lock().is_some());
//! }
//! # });
//! ```
//!
//! So: drop futures that you no longer poll; use leno's [`select!`](crate::select!), which dequeues losing branches, even those
//! passed by `&mut` (but one that had been granted the lock before the select began may keep it, and the two that are polled are
//! not dequeued); or use a lock that is not
//! handed over. [`Mutex::new`] is one: a future that was notified that the lock is free holds nothing, and any number of unpolled
//! ones delay nobody who comes or is polled. Waiters *asleep* behind them are woken by the same unlock, unless one of those in
//! front has responded to a wake-up before: that one is trusted to respond again, and if it does not, they sleep until the next
//! unlock, or until it is dropped.
//!
//! The price of the default is spurious wake-ups: a waiter may be woken and find the lock taken by a later arrival. Under
//! steady contention for a lock held across an `.await`, [`Mutex::fair`] is also cheaper; for a lock held for a few
//! instructions [`Mutex::new`] is, since nobody has to be scheduled before the next one can take it.
//!
//! # How long one waits
//!
//! Eight fibers contend for one lock all the time, on one worker, for 600 ms. The table has the 99.9th percentile of the
//! waiting times and the longest one, in µs. (Two cores of a virtual machine, which causes the longest ones. `cargo run
//! --release -p leno-benches --bin fairness` measures this, also with two workers.)
//!
//! | | leno | tokio | async-lock |
//! |---|---:|---:|---:|
//! | mutex, equals | 12.3, 171; fair: 2.4, 111 | 4.1, 3300 | 11.3, 189 |
//! | a writer among readers | 0.9, 336 | 0.9, 116 | 0.9, 111 |
//! | a reader among writers | 4.0, 4100; 288,000 turns | 4.6, 141; 293,000 turns | two turns in all |
//! | a large request to a semaphore, among small ones | 2.0, 110 | 1.9, 113 | |
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
//! | `Barrier` | 32 | 56 | 48 |
//! | `OnceCell<u8>` | 32 | 48 | 32 |
//!
//! None allocates before somebody waits behind the first waiter, except `WaitGroup`, which is one allocation, and a `Mutex` of
//! which a waiter was told in vain often enough to starve. Each waiting operation has a node of some 110 bytes, from a common
//! pool.
//!
//! # Who holds what
//!
//! In builds with debug assertions, a dump of an [inspected](crate::inspect) executor shows for each fiber the locks it has
//! taken, how (`read`, `write`, `acquire`, …), and where in the source; the report of a
//! [closed world](crate::fiber::RuntimeBuilder::closed_world) shows the cycle. A fiber that locks what it holds itself is a
//! cycle of one. (This is not an error: another part of the same fiber, in a `join_all` perhaps, may be about to unlock.) Other
//! builds record nothing of this.
//!
//! Moving here from tokio::sync, async-lock, parking_lot or std: [`moving`].

mod barrier;
mod borrowed;
mod condvar;
mod guard;
pub mod moving;
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
pub use notify::{Notified, NotifiedArc, Notify};
pub use once_cell::{Lazy, OnceCell};
pub use rwlock::{Read, ReadArc, RwLock, UpgradableRead, UpgradableReadArc, Write, WriteArc};
pub use rwlock_guard::{
    MappedRwLockReadGuard, MappedRwLockWriteGuard, OwnedRwLockReadGuard, OwnedRwLockUpgradableReadGuard,
    OwnedRwLockWriteGuard, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, Upgrade, UpgradeArc,
};
pub use semaphore::{
    Acquire, AcquireArc, AcquireError, AcquireTimeoutError, OwnedPermit, Permit, Semaphore, TryAcquireError,
};
pub use wait_group::{WaitAll, WaitGroup, Worker};

pub(crate) use signal::{Hearing, Signal, What};
