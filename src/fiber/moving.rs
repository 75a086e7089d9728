//! Migrating from other executors (documentation only).
//!
//! The main difference from all of them: a fiber spawned in a fiber is its *child*, and is cancelled with it.
//! [`Builder::root`] starts one without a parent. A fiber whose parent ends by itself goes on, as elsewhere.
//!
//! leno has no I/O of its own. `async-io` and `async-net` work in its fibers as they are. tokio's sockets and timers need an
//! [entered](https://docs.rs/tokio/latest/tokio/runtime/struct.Handle.html#method.enter) tokio runtime: in a cord, and in the
//! future of a `block_on`, hold a guard around that call; in a fiber of a runtime, which moves between threads, enter it at
//! each poll:
//!
//! ```
//! use std::pin::pin;
//! use std::time::Duration;
//!
//! /// Polls `future` in the context of a tokio runtime, on whatever thread.
//! async fn entered<F: Future>(tokio: tokio::runtime::Handle, future: F) -> F::Output {
//!     let mut future = pin!(future);
//!     std::future::poll_fn(|cx| {
//!         let _guard = tokio.enter();
//!         future.as_mut().poll(cx)
//!     })
//!     .await
//! }
//!
//! let tokio = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
//! let fiber = leno::spawn(entered(tokio.handle().clone(), async {
//!     tokio::time::sleep(Duration::from_millis(1)).await;
//!     "slept"
//! }));
//! assert_eq!(leno::block_on(fiber).unwrap(), "slept");
//!
//! let _guard = tokio.enter();
//! leno::fiber::Cord::new().block_on(async { tokio::time::sleep(Duration::from_millis(1)).await });
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! # From tokio
//!
//! | tokio | leno |
//! |---|---|
//! | `#[tokio::main]` | `leno::block_on(async { … })` in `main`; what still runs on the default runtime when `main` returns is cut off: join it, or use a [`Runtime`], which drops it |
//! | `Runtime::new`, `Builder::new_multi_thread().worker_threads(n)` | [`Runtime::new`], `Runtime::builder().workers(n)` |
//! | `thread_name`, `thread_stack_size` | `name`, `stack_size` of [`RuntimeBuilder`] |
//! | `Builder::new_current_thread`, `LocalSet`, `LocalRuntime` | [`Cord`]: its fibers need not be `Send` |
//! | `runtime.block_on(f)`, `spawn(f)`, `handle()`, `Handle::current()` | the same; `current` gives an `Option` |
//! | `handle.block_on(f)` | `handle.spawn(f).wait()`, where `f` is `Send` and borrows nothing |
//! | `runtime.shutdown_timeout(d)` cancels all tasks at once, and waits for blocking calls | dropping the runtime cancels all; [`shutdown(d)`](Runtime::shutdown) first gives the fibers so long to end, and returns those that were late |
//! | `runtime.shutdown_background()` | drop the runtime on a thread of its own |
//! | `runtime.enter()`, `handle.enter()` | outside of fibers `spawn` and timers are the default runtime's; elsewhere by `handle.spawn(f)`, [`Builder::spawn_on`] |
//! | `tokio::spawn(f)`, which panics outside a runtime | [`spawn()`], which uses the default runtime there |
//! | `task::Builder::new().name(…)` (unstable) | [`Builder::new().name(…)`](Builder::name) |
//! | `spawn_local(f)` | [`spawn_local`] |
//! | `spawn_blocking(f)`, `block_in_place(f)` | [`unblock(f)`](unblock), which starts when it is awaited |
//! | `JoinHandle`: `.await`, `is_finished`, `id` | the same; dropped, it detaches, too |
//! | `handle.abort()`; `AbortHandle` | [`cancel()`](JoinHandle::cancel); [`handle.fiber()`](JoinHandle::fiber), a reference that cancels |
//! | `tokio_util::task::AbortOnDropHandle` | [`cancel_on_drop()`](JoinHandle::cancel_on_drop) |
//! | `JoinError`: `is_cancelled`, `is_panic`, `into_panic`, `try_into_panic` | the same; `id` gives an `Option` |
//! | `JoinSet`, to wait for all tasks | [`scope()`], [`try_scope`] |
//! | `JoinSet`, to take results as they come | [`JoinSet`]: `abort_all` is [`cancel_all`](JoinSet::cancel_all), `spawn_on` and `spawn_local` a [`push`](JoinSet::push) of what these give, `join_all` a loop over [`join_next`](JoinSet::join_next), `join_next_with_id` one whose tasks return their keys, `shutdown` that after `cancel_all`; [`map_unordered`], for n at a time |
//! | `StreamExt::buffered(n)`, `buffer_unordered(n)` | [`map_concurrent`], [`map_unordered`], of an iterator; for a stream those of `futures` |
//! | `tokio::join!`, `try_join!` | those of `futures`; for many of one type [`join_all`], [`try_join_all`] |
//! | `tokio::select!` | [`select!`](crate::select!), see [its page](crate::select::moving) |
//! | `yield_now()`; `coop::consume_budget()` | [`yield_now`]; on leno's executors its operations count by themselves: see [turns](crate::fiber#turns) |
//! | `task_local! { static X: T }`, `X.scope(v, f)` | [`fiber_local!`](crate::fiber_local!), a value for each fiber, `X.set(v)` |
//! | `time::sleep`, `sleep_until`, `timeout`, `timeout_at`, `interval`, `interval_at` | the same; instants are those of std |
//! | `interval.reset()`, `reset_at`, `reset_after`; `reset_immediately()` | the same; `reset_after(Duration::ZERO)` |
//! | `interval.poll_tick(cx)` | `poll_next(cx)`: an interval is a stream |
//! | `interval.set_missed_tick_behavior(b)` | [`interval_with(d, missed)`](interval_with), [`set_missed`](Interval::set_missed) |
//! | `time::pause()`, `#[tokio::test(start_paused = true)]` | a [virtual clock](crate::time::Clock::virtual_time) of the cord or runtime |
//! | `time::advance(d)` | [`sleep`]`(d)` in the test itself |
//! | `tokio_util::sync::CancellationToken`: `child_token`, `cancelled`, `run_until_cancelled`, `drop_guard` | [`CancelToken`]: [`child`](CancelToken::child), the others the same |
//! | tokio-console | the feature `tracing`, see [`inspect`](crate::inspect) |
//!
//! ```
//! // was: use tokio::{task, time};
//! use leno::fiber::{self, Builder, Cord};
//! use leno::time::Clock;
//! use std::time::Duration;
//!
//! // was: Builder::new_current_thread().enable_time().start_paused(true).build()?
//! let runtime = Cord::builder().clock(Clock::virtual_time()).build();
//! runtime.block_on(async {
//!     let sum = leno::spawn(async { 1 + 1 }); // the same, and a child
//!     let apart = Builder::new().root().spawn(async { 3 }); // no parent, as with all tokio tasks
//!     let read = fiber::unblock(|| 4); // was: task::spawn_blocking(|| 4)
//!     assert_eq!((sum.await.unwrap(), apart.await.unwrap(), read.await), (2, 3, 4)); // was: read.await.unwrap()
//!     let never = leno::spawn(std::future::pending::<()>());
//!     let late = fiber::timeout(Duration::from_secs(3600), never.cancel_on_drop()).await; // the same
//!     assert!(late.is_err());
//! });
//! ```
//!
//! # From threads
//!
//! | std | leno |
//! |---|---|
//! | `thread::spawn(f)`, `handle.join()` | `spawn(async { … })`, `handle.await`, on a thread `handle.wait()` |
//! | `thread::Builder::new().name(…)` | [`Builder::new().name(…)`](Builder::name) |
//! | `thread::scope` | [`blocking_scope`] on a thread, [`scope()`] in a fiber (its fibers cannot borrow) |
//! | `thread::park`, `unpark`, `park_timeout` | [`park`], [`FiberRef::unpark`], [`park_timeout`] |
//! | `thread::sleep`, `yield_now`, `current` | [`sleep`], [`yield_now`], [`current`] |
//! | `thread_local!` | [`fiber_local!`](crate::fiber_local!) |
//! | rayon's `par_iter().map(f).collect()` | [`map_concurrent`] over fibers; or call rayon inside [`unblock`] |
//!
//! # From Go, Kotlin and Tarantool
//!
//! | Go | Kotlin | Tarantool | leno |
//! |---|---|---|---|
//! | `go f()` | `launch { … }` | `fiber.new(f)`, `fiber.create(f)` | [`spawn()`], [`spawn_now`] |
//! | `errgroup.Group` (its `SetLimit`: a [`Semaphore`](crate::sync::Semaphore)) | `coroutineScope { … }` | – | [`try_scope`], [`scope()`] |
//! | – | `supervisorScope { … }` | – | [`spawn()`], and join each |
//! | – | `async { … }`, `await()` | `fiber.join` | [`JoinHandle`] |
//! | `ctx.Done()` | `isActive`, `ensureActive()` | `fiber.testcancel` | [`check_cancel`], [`CancelToken`] |
//! | `context.WithTimeout` | `withTimeout(d) { … }` | `fiber.join` with a limit | [`timeout`], [`join_timeout`](JoinHandle::join_timeout) |
//! | – | `withContext(NonCancellable) { … }` | `fiber_set_cancellable` in C | [`shield()`] |
//! | – | `withContext(dispatcher) { … }` | – | [`on`], [`unblock`] |
//! | `runtime.Gosched()` | `yield()` | `fiber.yield` | [`yield_now`] |
//! | – | `runTest { … }` | – | a [virtual clock](crate::time::Clock::virtual_time) |
//! | all goroutines are asleep | – | – | [`closed_world`](RuntimeBuilder::closed_world) |
//! | `pprof` of goroutines | `DebugProbes` | `fiber.info` | [`dump`](crate::inspect::dump()) |

#[allow(unused_imports, reason = "for links")]
use super::*;
