//! What runs the tasks: leno, tokio, smol's executor, or one thread per task.

use std::cell::Cell;
use std::future::Future;
use std::pin::pin;
use std::sync::OnceLock;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// An executor. `spawn` and `yield_now` are for code that already runs on it.
pub trait Exec: Sized + 'static {
    /// Its name in tables.
    const NAME: &'static str;

    /// Starts it with that many worker threads.
    fn start(workers: usize) -> Self;

    /// Runs `task` as a spawned task; the calling thread only waits for it.
    fn run<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Starts a task on the executor that runs the caller.
    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static;

    /// Goes to the back of the queue.
    fn yield_now() -> impl Future<Output = ()> + Send;
}

/// An executor with a `block_on`.
pub trait Main: Exec {
    /// Runs the future on the calling thread, from where it can spawn tasks.
    fn block_on<F: Future>(&self, future: F) -> F::Output;
}

/// The executor whose work runs in the future of a `block_on`.
pub struct OnMain<E>(E);

impl<E: Main> Exec for OnMain<E> {
    const NAME: &'static str = E::NAME;

    fn start(workers: usize) -> Self {
        OnMain(E::start(workers))
    }

    fn run<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.0.block_on(task)
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        E::spawn(task)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        E::yield_now()
    }
}

/// An executor with timers.
pub trait Timed: Exec {
    /// Waits for that long, at least.
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send;
}

/// leno's multi-worker runtime.
pub struct Leno(leno::fiber::Runtime);

impl Exec for Leno {
    const NAME: &'static str = "leno";

    fn start(workers: usize) -> Self {
        Leno(leno::fiber::Runtime::builder().workers(workers).build().expect("threads for a runtime"))
    }

    fn run<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let handle = self.0.spawn(task);
        self.0.block_on(handle).expect("the workload neither panics nor is cancelled")
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let handle = leno::spawn(task);
        async { handle.await.expect("the workload neither panics nor is cancelled") }
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        leno::yield_now()
    }
}

impl Main for Leno {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

impl Timed for Leno {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
        leno::sleep(duration)
    }
}

/// tokio's multi-thread runtime, also with one worker; with timers only where they are measured, since they cost it
/// something elsewhere.
pub struct Tokio<const TIMERS: bool = false>(tokio::runtime::Runtime);

impl<const TIMERS: bool> Exec for Tokio<TIMERS> {
    const NAME: &'static str = "tokio";

    fn start(workers: usize) -> Self {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        if TIMERS {
            builder.enable_time();
        }
        Tokio(builder.worker_threads(workers).build().expect("threads for a runtime"))
    }

    fn run<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let handle = self.0.spawn(task);
        self.0.block_on(handle).expect("the workload does not panic")
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let handle = tokio::spawn(task);
        async { handle.await.expect("the workload does not panic") }
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        tokio::task::yield_now()
    }
}

impl Main for Tokio {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        self.0.block_on(future)
    }
}

impl Timed for Tokio<true> {
    fn sleep(duration: Duration) -> impl Future<Output = ()> + Send {
        tokio::time::sleep(duration)
    }
}

/// smol's executor, for the cells that compare executors, and for what is at home there. Its workers are started once and stay.
pub struct Smol(&'static async_executor::Executor<'static>);

thread_local! {
    static SMOL: Cell<Option<&'static async_executor::Executor<'static>>> = const { Cell::new(None) };
}

impl Exec for Smol {
    const NAME: &'static str = "smol";

    fn start(workers: usize) -> Self {
        static STARTED: [OnceLock<&'static async_executor::Executor<'static>>; 3] =
            [const { OnceLock::new() }; 3];
        Smol(STARTED[workers].get_or_init(|| {
            let executor: &'static _ = Box::leak(Box::new(async_executor::Executor::new()));
            for _ in 0..workers {
                std::thread::spawn(move || {
                    SMOL.set(Some(executor));
                    futures_lite::future::block_on(executor.run(std::future::pending::<()>()));
                });
            }
            executor
        }))
    }

    fn run<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        futures_lite::future::block_on(self.0.spawn(task))
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        SMOL.get().expect("called from a task").spawn(task)
    }

    fn yield_now() -> impl Future<Output = ()> + Send {
        futures_lite::future::yield_now()
    }
}

impl Main for Smol {
    fn block_on<F: Future>(&self, future: F) -> F::Output {
        SMOL.set(Some(self.0));
        futures_lite::future::block_on(future)
    }
}

/// One thread per task, for adapters whose futures block instead of suspending.
pub struct Threads;

/// Runs a future that is ready at its first poll.
fn run_blocking<F: Future>(task: F) -> F::Output {
    match pin!(task).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => unreachable!("an adapter for threads blocks, it never suspends"),
    }
}

impl Exec for Threads {
    const NAME: &'static str = "threads";

    fn start(_workers: usize) -> Self {
        Threads
    }

    fn run<F>(&self, task: F) -> F::Output
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        run_blocking(task)
    }

    fn spawn<F>(task: F) -> impl Future<Output = F::Output> + Send + 'static
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let thread = std::thread::spawn(|| run_blocking(task));
        async { thread.join().expect("the workload does not panic") }
    }

    async fn yield_now() {
        std::thread::yield_now();
    }
}
