//! Threads for calls that block: of a pool, or one for the call alone.
//!
//! One pool for the process: threads are started as jobs come, up to a limit, and end when they had nothing to do
//! for a while. A job and the future that waits for it share a slot:
//!
//! ```text
//!         first poll            a thread takes it            closure returns         poll
//!   New ──────────────▶ Queued ──────────────────▶ Running ───────────────────▶ Done ──────▶ Gone
//!    │ future dropped     │ future dropped            │ future dropped            │ future dropped
//!    ▼                    ▼                           ▼                           ▼
//!   Gone, the closure is dropped unrun               Gone, what it returns is dropped
//! ```
//!
//! Invariants:
//!
//! 1. The slot changes under its lock; closure, result and waker are foreign and leave it before they are called
//!    or dropped.
//! 2. The executor that last polled the future counts the job (`Seam::busy`) until it has ended: dropped in the
//!    queue, or run and its waker called.
//! 3. A thread counts as idle while it waits, and until it has come back; it goes only if no job is queued then. A job is
//!    queued, and a thread notified or started, in one critical section of the pool: one is started where more jobs are queued than
//!    threads are idle. So a queued job always has a thread that comes for it. (Where all that are idle were notified already,
//!    another notification finds none, and none is needed.)
//! 4. Apart from a few, no more jobs that nobody wants any more are queued than others.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::panic::{self, AssertUnwindSafe, RefUnwindSafe, UnwindSafe};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::fiber::runtime::check_name;
use crate::prim::{self, Condvar, Mutex, thread};
use crate::task::error::{InTurn, Payload, discard, shielded};
use crate::task::home::{Busy, HomeRef};
use crate::task::place::Place;
use crate::task::watch::{self, Target};
use crate::task::{self, context, shows};

/// More threads than this are never started; further jobs wait.
const MOST_THREADS: usize = 512;
/// How long a thread waits for another job.
const IDLE: Duration = Duration::from_secs(10);

/// So many jobs may be queued, or have been, before memory is given back.
const KEEP: usize = 64;

/// A slot, with what is to be run there.
trait Run: Send + Sync + UnwindSafe + RefUnwindSafe {
    /// On a thread of the pool.
    fn run(&self);

    /// Whether there is nothing to be run any more.
    fn is_gone(&self) -> bool;
}

type Job = Arc<dyn Run>;

struct Pool {
    inner: Mutex<Inner>,
    work: Condvar,
}

struct Inner {
    jobs: VecDeque<Job>,
    /// How many were given up since the last search for such jobs.
    given_up: usize,
    threads: usize,
    idle: usize,
}

prim::global! {
    static POOL: Pool = Pool::new(0);
}

/// Calls what a job has, on a thread that may be within a fiber, or a `block_on`: not as a part of that.
fn run_here(job: Job) {
    let mut place = context::Frame::nobody();
    let _nowhere = context::enter_nowhere(&mut place);
    let (_aside, _outside) = (context::stand_aside(), context::outside_block_on());
    job.run();
}

impl Pool {
    prim::const_fn! {
        /// With so many threads that are busy.
        fn new(threads: usize) -> Pool {
            let inner = Inner { jobs: VecDeque::new(), given_up: 0, threads, idle: 0 };
            Pool { inner: Mutex::new(inner), work: Condvar::new() }
        }
    }

    /// Queues a job. Without any thread at all it is run here.
    fn submit(&'static self, job: Job) {
        let mut inner = self.inner.lock();
        inner.jobs.push_back(job);
        if inner.jobs.len() <= inner.idle {
            self.work.notify_one();
            return;
        }
        if inner.threads == MOST_THREADS {
            return;
        }
        inner.threads += 1;
        let started = thread::Builder::new().name(String::from("leno-unblock")).spawn(|| self.work());
        if started.is_err() {
            inner.threads -= 1;
            if inner.threads == 0 {
                // Nobody will ever come for it: it blocks its caller, for want of anybody else.
                let job = inner.jobs.pop_back();
                drop(inner);
                job.into_iter().for_each(run_here);
            }
        }
    }

    /// A job was given up that may be queued. (Nothing foreign is left in it.)
    fn gives_up(&self) {
        let mut inner = self.inner.lock();
        inner.given_up += 1;
        if inner.given_up > (inner.jobs.len() / 2).max(KEEP) {
            inner.given_up = 0;
            inner.jobs.retain(|job| !job.is_gone());
            inner.jobs.shrink_to_fit();
        }
    }

    /// A thread's life.
    fn work(&self) {
        let mut inner = self.inner.lock();
        loop {
            if let Some(job) = inner.jobs.pop_front() {
                drop(inner);
                job.run();
                drop(job);
                inner = self.inner.lock();
                continue;
            }
            if inner.jobs.capacity() > KEEP {
                inner.jobs = VecDeque::new();
            }
            let until = Instant::now() + IDLE;
            while inner.jobs.is_empty() {
                if Instant::now() >= until {
                    inner.threads -= 1;
                    return;
                }
                inner.idle += 1;
                inner = self.work.wait_until(&self.inner, inner, Some(until));
                inner.idle -= 1;
            }
        }
    }
}

enum State<R> {
    New(Closure<R>),
    Queued(Closure<R>, Waker),
    Running(Waker),
    Done(Result<R, Payload>),
    /// The result was taken, or nobody wants it.
    Gone,
}

type Closure<R> = Box<dyn FnOnce() -> R + Send>;

struct Slot<R>(Mutex<Shared<R>>);

struct Shared<R> {
    state: State<R>,
    /// Who counts the job, to its end.
    busy: Option<Busy<HomeRef>>,
}

impl<R> Shared<R> {
    /// Puts in `next`, takes out what was there.
    fn replace(&mut self, next: State<R>) -> State<R> {
        std::mem::replace(&mut self.state, next)
    }
}

impl<R: Send> Run for Slot<R> {
    fn run(&self) {
        let mut shared = self.0.lock();
        let State::Queued(closure, waker) = shared.replace(State::Gone) else { return };
        shared.state = State::Running(waker);
        drop(shared);
        let result = panic::catch_unwind(AssertUnwindSafe(closure));
        let mut shared = self.0.lock();
        // The job has ended once this goes, last of all. (No poll and no drop touches it from here on.)
        let _busy = shared.busy.take();
        match shared.replace(State::Gone) {
            State::Running(waker) => {
                shared.state = State::Done(result);
                drop(shared);
                shielded(|| waker.wake());
            }
            _gone => {
                drop(shared);
                discard(result);
            }
        }
    }

    fn is_gone(&self) -> bool {
        matches!(self.0.lock().state, State::Gone)
    }
}

/// Runs a closure that blocks (a system call, a long computation, a blocking operation of leno) on a thread of a dedicated
/// pool, and waits for its result.
///
/// The closure is queued at the first poll; up to 512 run at once, further ones wait. Dropping the future before the closure
/// has started drops the closure; once started it runs to its end, and its result is dropped. Shutting a runtime down does
/// not wait for it. The closure runs outside any fiber: what it spawns runs on leno's default runtime. If no thread at all
/// can be started, the closure runs in the poll itself.
///
/// ```
/// let size = leno::block_on(leno::fiber::unblock(|| std::fs::metadata("Cargo.toml").map(|file| file.len())));
/// assert!(size.unwrap() > 0);
/// ```
///
/// # Panics
///
/// A panic of the closure is resumed in the fiber that waits. Polling the future again after it has completed panics.
#[track_caller]
#[doc(alias = "spawn_blocking")]
pub fn unblock<R, C>(closure: C) -> Unblock<R>
where
    C: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    let slot = Arc::new(Slot(Mutex::new(Shared { state: State::New(Box::new(closure)), busy: None })));
    Unblock { job: Some(slot.clone()), slot, place: Place::here() }
}

/// See [`unblock`].
#[must_use = "futures do nothing unless polled"]
pub struct Unblock<R> {
    slot: Arc<Slot<R>>,
    /// The same, to be submitted at the first poll.
    job: Option<Job>,
    place: Place,
}

impl<R> Unblock<R> {
    /// Nobody wants the result any more.
    fn give_up(&self) {
        let mut shared = self.slot.0.lock();
        let state = shared.replace(State::Gone);
        // Its executor is busy until the closure has gone, also if that panics.
        let is_queued = matches!(state, State::Queued(..));
        let _busy = if is_queued { shared.busy.take() } else { None };
        drop(shared);
        if is_queued {
            POOL.gives_up();
        }
        // (Apart, as each of them may panic.)
        let (state, waker) = match state {
            State::Queued(closure, waker) => (State::New(closure), Some(waker)),
            state => (state, None),
        };
        let mut drops = InTurn::default();
        drops.call(|| drop(state));
        drops.call(|| drop(waker));
        drops.end();
    }

    /// Polls for the result; `launch` finds a thread for the job, once.
    fn poll_with<E>(
        &mut self,
        cx: &mut Context<'_>,
        launch: impl FnOnce(Job) -> Result<(), E>,
    ) -> Poll<Result<R, E>> {
        let mut waker = cx.waker().clone();
        let mut shared = self.slot.0.lock();
        if let State::Queued(_, old) | State::Running(old) = &mut shared.state {
            std::mem::swap(old, &mut waker);
            let before = context::count_here(&mut shared.busy);
            drop(shared);
            drop(before);
            return Poll::Pending;
        }
        match shared.replace(State::Gone) {
            State::New(closure) => {
                shared.state = State::Queued(closure, waker);
                let _none = context::count_here(&mut shared.busy);
                drop(shared);
                let job = self.job.take();
                match job.map_or(Ok(()), launch) {
                    Ok(()) => Poll::Pending,
                    Err(error) => {
                        self.give_up();
                        Poll::Ready(Err(error))
                    }
                }
            }
            State::Done(result) => {
                drop(shared);
                // Its panic must not cost the result.
                discard(waker);
                match result {
                    Ok(value) => Poll::Ready(Ok(value)),
                    Err(payload) => panic::resume_unwind(payload),
                }
            }
            _gone => {
                drop(shared);
                panic!("an `unblock` or `on_new_thread` future was polled after it was ready")
            }
        }
    }
}

impl<R> Future for Unblock<R> {
    type Output = R;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<R> {
        let submit = |job| {
            POOL.submit(job);
            Ok::<_, Infallible>(())
        };
        let given = self.poll_with(cx, submit);
        if given.is_pending() {
            watch::waits(self.place, || ("unblock", Target::Nothing));
        }
        given.map(|Ok(value)| value)
    }
}

impl<R> Drop for Unblock<R> {
    fn drop(&mut self) {
        self.give_up();
    }
}

shows! { [R] Unblock<R>, "Unblock", it => submitted: it.job.is_none() }

task::thread::waits! { [R] Unblock<R>, "Unblock" }

/// As [`unblock`], but on a new thread called `name`, which ends with the closure: for work that would occupy a thread of the
/// pool for long, or needs a thread of its own.
///
/// ```
/// let name = leno::block_on(leno::fiber::on_new_thread("counter", || {
///     std::thread::current().name().map(str::to_owned)
/// }));
/// assert_eq!(name.unwrap().as_deref(), Some("counter"));
/// ```
///
/// # Errors
///
/// If the thread cannot be started; [`InvalidInput`](io::ErrorKind::InvalidInput) for a name that contains a zero byte.
///
/// # Panics
///
/// As [`unblock`].
#[track_caller]
pub fn on_new_thread<R, C>(name: impl Into<String>, closure: C) -> OnNewThread<R>
where
    C: FnOnce() -> R + Send + 'static,
    R: Send + 'static,
{
    OnNewThread { call: unblock(closure), name: name.into() }
}

/// See [`on_new_thread`].
#[must_use = "futures do nothing unless polled"]
pub struct OnNewThread<R> {
    call: Unblock<R>,
    name: String,
}

impl<R> Future for OnNewThread<R> {
    type Output = io::Result<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<R>> {
        let OnNewThread { call, name } = &mut *self;
        let given = call.poll_with(cx, |job| {
            check_name(name)?;
            thread::Builder::new().name(name.clone()).spawn(move || job.run()).map(drop)
        });
        if given.is_pending() {
            watch::waits(call.place, || ("on_new_thread", Target::Nothing));
        }
        given
    }
}

shows! { [R] OnNewThread<R>, "OnNewThread", it => name: it.name, call: it.call }

task::thread::waits! { [R] OnNewThread<R>, "OnNewThread" }

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;

    struct Wanted(bool);

    impl Run for Wanted {
        fn run(&self) {}

        fn is_gone(&self) -> bool {
            !self.0
        }
    }

    /// A job that may block, on another executor.
    struct Blocks(Mutex<usize>);

    impl Run for Blocks {
        fn run(&self) {
            crate::fiber::Cord::new().block_on(async {});
            *self.0.lock() += 1;
        }

        fn is_gone(&self) -> bool {
            false
        }
    }

    #[test]
    fn what_is_run_for_want_of_a_thread_may_block() {
        let job = Arc::new(Blocks(Mutex::new(0)));
        let run = || run_here(job.clone());
        crate::fiber::block_on(async { run() });
        crate::fiber::Cord::new().block_on(async { run() });
        assert_eq!(*job.0.lock(), 2);
    }

    #[test]
    fn jobs_that_were_given_up_do_not_pile_up() {
        static POOL: Pool = Pool::new(MOST_THREADS);
        (0..100).for_each(|_| POOL.submit(Arc::new(Wanted(true))));
        for _ in 0..10_000 {
            POOL.submit(Arc::new(Wanted(false)));
            POOL.gives_up();
        }
        let jobs = &POOL.inner.lock().jobs;
        assert!(jobs.len() <= 2 * 100 + KEEP && jobs.capacity() <= 4 * jobs.len());
        assert_eq!(jobs.iter().filter(|job| !job.is_gone()).count(), 100);
    }
}
