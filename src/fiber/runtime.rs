//! Runtimes: several workers, each with fibers of its own, which the others may steal.

use std::future::{Future, poll_fn};
use std::io;
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use crate::fiber::core::{Core, Order, a_thread};
use crate::fiber::crew::MOST_WORKERS;
use crate::fiber::fiber_ref::FiberRef;
use crate::fiber::handle::Handle;
use crate::fiber::join::JoinHandle;
use crate::fiber::main_fiber::{Inside, Main};
use crate::fiber::settings::{self, Settings};
use crate::prim::{self, OnceLock};
use crate::task::finally;
use crate::task::home::{Busy, HomeRef};
use crate::task::{context, run, shows, thread};

/// An executor with one or more worker threads.
///
/// Dropping it is a [`shutdown`](Self::shutdown) without a grace period: all its fibers are cancelled, their futures dropped, and
/// its threads joined, once the polls in progress have finished (closures given to [`unblock`](crate::fiber::unblock) are not
/// waited for). If one of its own fibers drops it, the drop does not wait for the workers; they end after their polls. (The same
/// holds in a fiber of another runtime whose end one of the workers waits for, as when two runtimes own each other. And where it is
/// dropped with a fiber of another runtime that ends, its threads may be joined at the end of that one, by who waits for that.) Wakers
/// and join handles may outlive it.
///
/// What is being dropped may wait, by leno's means, for other fibers that are to be dropped: a parent may join its child in its
/// drop. Meanwhile another thread goes on with the others; if it has to wait as well, one more does, and so on. The first of these
/// threads is started at once, the next ones ever later, in the end ten a second. So if all wait for younger fibers, or all for
/// older ones, that takes few threads; if they wait for each other in any order, one each, and up to a tenth of a second. Many drops
/// that wait for something else take few threads too, but wait one after the other for the most part. (But none must wait for the
/// fiber that drops the runtime, whose poll ends after that. And a poll that goes on meanwhile, of a runtime with several workers, has
/// a thread started at once, each time it waits after it has woken other fibers.)
///
/// A single worker keeps its fibers to itself, which is cheaper than sharing them, and drops them itself, after the poll in
/// progress. (If that poll blocks in a leno call, the thread that ends the runtime drops them.) So neither a poll nor a drop may
/// block on another fiber by means that leno does not know, such as a std channel.
///
/// ```
/// let runtime = leno::fiber::Runtime::builder().workers(2).name("crunch").build()?;
/// let answer = runtime.block_on(async { leno::spawn(async { 42 }).await.unwrap() });
/// assert_eq!(answer, 42);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct Runtime {
    handle: Handle,
    workers: Vec<prim::thread::JoinHandle<()>>,
}

crate::task::unwinds! { [] Runtime }

impl Runtime {
    /// A runtime with one worker per processor that this process may use.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started.
    pub fn new() -> io::Result<Runtime> {
        Runtime::builder().build()
    }

    /// A runtime to be configured.
    pub fn builder() -> RuntimeBuilder {
        RuntimeBuilder { workers: None, name: String::from("leno"), settings: Settings::default() }
    }

    /// Runs `future` on the calling thread until it is ready; the workers run what it spawns.
    ///
    /// The future is a fiber itself: [`current`](crate::fiber::current) names it, what it spawns is its child
    /// (released when it ends), and it can be parked. It cannot be cancelled.
    ///
    /// It stays on the calling thread, so each exchange with other fibers crosses threads: some 200 ns each way while both
    /// are busy, some 10 µs if one sleeps. Code that communicates a lot with fibers should itself be a spawned fiber:
    /// `block_on(async { spawn(work).await })`.
    ///
    /// # Panics
    ///
    /// Inside another `block_on` on the same thread, and inside a fiber of a cord. Inside a fiber of a runtime it
    /// blocks one worker, which is reported in debug builds. A panic of the future propagates.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        block_on_home(self.home(), future)
    }

    pub(crate) fn home(&self) -> &HomeRef {
        self.handle.home()
    }

    /// A handle that starts fibers here from anywhere, without keeping the runtime running.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Starts a fiber on this runtime, as [`spawn`](crate::spawn) does on the caller's. The same as [`Handle::spawn`].
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.handle.spawn(future)
    }

    /// Ends the runtime: waits up to `grace` (real time) for its fibers to end, then cancels them. Returns those that were
    /// still alive then, oldest first. [Daemons](crate::fiber::Builder::daemon) are cancelled once the others have ended,
    /// and are not returned.
    ///
    /// The fibers are not told: before, cancel a [`CancelToken`](crate::fiber::CancelToken) that they heed, or close their channels.
    /// A fiber that does not await is waited for, however short the grace.
    ///
    /// From this call on, fibers spawned here are cancelled at once. Otherwise it is like dropping the runtime. If one of
    /// its own fibers calls this, that fiber cannot end in time.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block; the runtime is dropped then (which
    /// blocks it, too, but only until the workers have left what they are at).
    #[track_caller]
    pub fn shutdown(self, grace: Duration) -> Vec<FiberRef> {
        context::may_block("Runtime::shutdown");
        let roster = &self.home().roster;
        roster.close();
        let empty = pin!(poll_fn(|cx| roster.poll_empty(cx)));
        let _in_time = thread::block_on(empty, thread::deadline_after(grace));
        let left = roster.snapshot();
        left.iter().filter(|task| task.is_awaited()).map(FiberRef::new).collect()
    }
}

impl Drop for Runtime {
    fn drop(&mut self) {
        let home = self.handle.home();
        context::hand_over();
        let me = prim::thread::current().id();
        let inside = self.workers.iter().position(|worker| worker.thread().id() == me);
        // Before the threads are joined: one of them may wait for what ends here.
        // SAFETY: not a cord.
        unsafe { Core::end_runtime(home, inside) };
        if inside.is_none() {
            let _aside = context::stand_aside();
            if !self.workers.is_empty() {
                Core::end_in_its_place(home, Order::Age);
            }
            context::wait_for(home, || {
                Core::wait_gone(home, self.workers.len());
                // (A worker doesn't panic; if it did, its fibers are ended all the same.)
                self.workers.drain(..).for_each(Core::join);
            });
        }
        // Whatever became idle only now; or was left to others where no thread could be started.
        Core::end_left(home, Order::Age);
    }
}

shows! { [] Runtime, "Runtime", it => workers: it.workers.len(), fibers: it.home().roster.len() }

/// See [`Runtime::builder`].
#[must_use = "a builder does nothing before it builds"]
pub struct RuntimeBuilder {
    workers: Option<usize>,
    name: String,
    settings: Settings,
}

settings::methods!(RuntimeBuilder, "Runtime");

impl RuntimeBuilder {
    /// How many worker threads; one per processor if not set.
    #[doc(alias = "worker_threads")]
    pub fn workers(mut self, n: usize) -> Self {
        self.workers = Some(n);
        self
    }

    /// The name of the worker threads, followed by a number; `leno` if not set.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The stack size of each worker thread, and of those that help to end the runtime, in bytes. If not set, that of std: 2 MiB, or
    /// what the environment variable `RUST_MIN_STACK` says. Polls that recurse deeply, or have large values, need more: a value
    /// of 1 MB that passes through a channel takes several times its size.
    pub fn stack_size(mut self, bytes: usize) -> Self {
        self.settings.stack_size = Some(bytes);
        self
    }

    /// Starts the workers.
    ///
    /// # Errors
    ///
    /// If a thread cannot be started; [`InvalidInput`](io::ErrorKind::InvalidInput) for no workers at all or more
    /// than 65,535, or a name that contains a zero byte.
    pub fn build(self) -> io::Result<Runtime> {
        let workers = self.workers.unwrap_or_else(prim::thread::parallelism);
        if !(1..=MOST_WORKERS).contains(&workers) {
            let message = format!("a runtime has 1 to {MOST_WORKERS} workers, not {workers}");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        check_name(&self.name)?;
        let stack_size = self.settings.stack_size;
        start(Core::open(Some(workers), self.settings), workers, &self.name, stack_size)
    }
}

/// Starts the workers of a runtime.
fn start(home: HomeRef, workers: usize, name: &str, stack_size: Option<usize>) -> io::Result<Runtime> {
    // Dropped on an error, it ends those that were started.
    let mut runtime = Runtime { handle: Handle::new(home), workers: Vec::with_capacity(workers) };
    for number in 0..workers {
        let home = runtime.home().clone();
        let thread = a_thread(format!("{name}-{number}"), stack_size);
        runtime.workers.push(thread.spawn(move || work(&home, number))?);
    }
    Ok(runtime)
}

shows! {
    [] RuntimeBuilder, "RuntimeBuilder",
    it => workers: it.workers, stack_size: it.settings.stack_size, name: it.name, clock: it.settings.clock
}

/// Not every string can be a thread's name.
pub(super) fn check_name(name: &str) -> io::Result<()> {
    let message = "a thread's name cannot contain a zero byte";
    if name.contains('\0') { Err(io::Error::new(io::ErrorKind::InvalidInput, message)) } else { Ok(()) }
}

/// A worker's life.
fn work(home: &HomeRef, index: usize) {
    // Even if leno itself panics.
    // SAFETY: this is that worker's thread. Not a cord.
    let _end = finally(|| unsafe { Core::leave(home, index) });
    // SAFETY: each worker has one thread. Not a cord.
    let _ended: Option<()> = unsafe {
        Core::drive(home, index, |task| {
            run::run(task);
            None
        })
    };
}

#[track_caller]
fn block_on_home<F: Future>(home: &HomeRef, future: F) -> F::Output {
    let _blocking = context::enter_block_on();
    let mut place = context::Frame::nobody();
    // SAFETY: not a cord.
    let _base = unsafe { context::enter_home(&mut place, home) };
    let _aside = context::stand_aside();
    // Ends last of all: what the end of the future and of its fiber wakes is woken by somebody busy.
    let mut busy;
    let main = Main::start(home, Location::caller());
    let mut inside = pin!(Inside::new(&main, future));
    loop {
        let task = main.wait();
        // The wake-up has counted it.
        busy = Some(Busy::counted(&**home));
        if let Poll::Ready(output) = main.poll(task, inside.as_mut()) {
            return output;
        }
        // It waits, though it may not sleep: it may wake itself for ever. (Not before it has been polled: what wakers of timers
        // wait for may be what it waits for.)
        drop(busy.take());
        context::leave_the_rest();
        context::fire_timers();
    }
}

static DEFAULT: OnceLock<Runtime> = OnceLock::new();

/// The executor for whoever has none: a runtime with one worker per processor, started at first use and never
/// ended.
pub(crate) fn default_home() -> HomeRef {
    if let Some(runtime) = DEFAULT.get() {
        return runtime.home().clone();
    }
    // (Before the lock: one that cannot be built ends, and what goes on then may come here. Of two that are built one is dropped.)
    match Runtime::builder().build() {
        Ok(runtime) => DEFAULT.get_or_init(|| runtime).home().clone(),
        Err(error) => panic!("leno's default runtime cannot start its threads: {error}"),
    }
}

/// Runs `future` on the calling thread until it is ready, on leno's default runtime: a multi-worker runtime that
/// starts at first use. As [`Runtime::block_on`](crate::fiber::Runtime::block_on).
///
/// The default runtime is never shut down. When `main` returns, fibers still running on it are cut off and their destructors do
/// not run: join them, or use a [`Runtime`], which drops its fibers when it is dropped.
///
/// ```
/// assert_eq!(leno::block_on(async { 1 + 1 }), 2);
/// ```
///
/// # Panics
///
/// As [`Runtime::block_on`](crate::fiber::Runtime::block_on); and if the threads of the default runtime cannot
/// be started.
#[track_caller]
pub fn block_on<F: Future>(future: F) -> F::Output {
    block_on_home(&default_home(), future)
}

#[cfg(all(test, target_pointer_width = "64", not(any(leno_loom, leno_shuttle))))]
mod tests {
    use std::future::pending;

    use super::*;
    use crate::fiber::{CancelToken, Cord};
    use crate::prim::{Arc, AtomicUsize, Mutex, Ordering};

    /// For a fiber's handle.
    type Slot = Mutex<Option<JoinHandle<()>>>;

    /// A runtime that no thread can help to end, as it would be too large, with so many idle fibers; `drops` is called with the
    /// number of each, from the oldest on, and the handles of all.
    fn alone(
        workers: usize,
        fibers: usize,
        drops: impl Fn(usize, &[Slot]) + Send + Sync + 'static,
    ) -> Runtime {
        const TOO_LARGE: usize = 1 << 56;
        assert!(prim::thread::Builder::new().stack_size(TOO_LARGE).spawn(|| ()).is_err());
        let settings = Settings { stack_size: Some(TOO_LARGE), ..Settings::default() };
        let runtime = start(Core::open(Some(workers), settings), workers, "leno", None).unwrap();
        let handles: Arc<Vec<Slot>> = Arc::new((0..fibers).map(|_| Mutex::new(None)).collect());
        let (drops, begun) = (Arc::new(drops), Arc::new(AtomicUsize::new(0)));
        for number in 0..fibers {
            let (drops, theirs, begins) = (drops.clone(), handles.clone(), begun.clone());
            let held = finally(move || drops(number, &theirs));
            let fiber = runtime.spawn(async move {
                let _held = held;
                begins.fetch_add(1, Ordering::SeqCst);
                pending::<()>().await;
            });
            *handles[number].lock() = Some(fiber);
        }
        while begun.load(Ordering::SeqCst) < fibers {
            prim::thread::yield_now();
        }
        runtime
    }

    /// Where no thread can be started, who waits goes on itself. What a cord waits for may come just by that.
    #[test]
    #[cfg_attr(miri, ignore = "an interpreter starts any thread")]
    fn without_threads_a_cord_runs_what_the_rest_has_woken() {
        let token = CancelToken::new();
        drop(alone(2, 3, move |number, _| match number {
            0 => {
                let deadline = thread::deadline_after(Duration::from_micros(500));
                assert_eq!(thread::block_on(pin!(pending::<()>()), deadline), None);
            }
            1 => assert!(token.cancel()),
            _ => Cord::new().block_on(token.cancelled()),
        }));
    }

    /// Where no thread can be started, who waits goes on itself, but not without end.
    #[test]
    #[cfg_attr(miri, ignore = "an interpreter starts any thread")]
    fn without_threads_drops_that_wait_take_little_stack() {
        for workers in [1, 2] {
            drop(alone(workers, 2_000, |_, _| {
                let deadline = thread::deadline_after(Duration::from_micros(500));
                assert_eq!(thread::block_on(pin!(pending::<()>()), deadline), None);
            }));
            drop(alone(workers, 8, |number, fibers| {
                if let Some(next) = fibers.get(number + 1) {
                    let fiber = next.lock().take().expect("joined once");
                    assert!(fiber.wait().unwrap_err().is_cancelled());
                }
            }));
        }
    }
}
