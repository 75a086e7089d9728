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
//! 2. The executor that first polled the future counts the job (`Seam::busy`) until it has ended: dropped in the
//!    queue, or run and its waker called.
//! 3. A thread counts as idle while it waits. A job is queued and a thread woken or started in one critical
//!    section of the pool, so a queued job always has a thread that comes for it.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::fmt;
use std::future::Future;
use std::io;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::fiber::runtime::check_name;
use crate::prim::{self, Arc, Condvar, Mutex, thread};
use crate::task::error::{Payload, discard, shielded};
use crate::task::home::{Busy, HomeRef};
use crate::task::place::Place;
use crate::task::watch::{self, Object};
use crate::task::{self, context};

/// More threads than this are never started; further jobs wait.
const MOST_THREADS: usize = 512;
/// How long a thread waits for another job.
const IDLE: Duration = Duration::from_secs(10);

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    inner: Mutex<Inner>,
    work: Condvar,
}

struct Inner {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    /// Idle threads that were notified and have not come back.
    signalled: usize,
}

prim::global! {
    static POOL: Pool = Pool {
        inner: Mutex::new(Inner { jobs: VecDeque::new(), threads: 0, idle: 0, signalled: 0 }),
        work: Condvar::new(),
    };
}

impl Pool {
    /// Queues a job. Without any thread at all it is run here.
    fn submit(&'static self, job: Job) {
        let mut inner = self.inner.lock();
        inner.jobs.push_back(job);
        if inner.idle > inner.signalled {
            inner.signalled += 1;
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
                if let Some(job) = job {
                    job();
                }
            }
        }
    }

    /// A thread's life.
    fn work(&self) {
        let mut inner = self.inner.lock();
        loop {
            if let Some(job) = inner.jobs.pop_front() {
                drop(inner);
                job();
                inner = self.inner.lock();
                continue;
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
                inner.signalled = inner.signalled.saturating_sub(1).min(inner.idle);
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
    /// Who counts the job, from the first poll to the job's end.
    busy: Option<Busy<HomeRef>>,
}

impl<R> Shared<R> {
    /// Puts in `next`, takes out what was there.
    fn replace(&mut self, next: State<R>) -> State<R> {
        std::mem::replace(&mut self.state, next)
    }
}

impl<R> Slot<R> {
    /// The job, on a thread of the pool.
    fn run(&self) {
        let mut shared = self.0.lock();
        let State::Queued(closure, waker) = shared.replace(State::Gone) else { return };
        shared.state = State::Running(waker);
        drop(shared);
        let result = panic::catch_unwind(AssertUnwindSafe(closure));
        let mut shared = self.0.lock();
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
        self.calm();
    }

    /// The job has ended; its executor is told once.
    fn calm(&self) {
        let busy = self.0.lock().busy.take();
        drop(busy);
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
    let job = Arc::clone(&slot);
    Unblock { slot, job: Mutex::new(Some(Box::new(move || job.run()))), place: Place::here() }
}

/// See [`unblock`].
#[must_use = "futures do nothing unless polled"]
pub struct Unblock<R> {
    slot: Arc<Slot<R>>,
    /// To be submitted at the first poll. In a lock, so that the future is `Sync`.
    job: Mutex<Option<Job>>,
    place: Place,
}

impl<R> Unpin for Unblock<R> {}

impl<R> Unblock<R> {
    /// Nobody wants the result any more.
    fn give_up(&self) {
        let mut shared = self.slot.0.lock();
        let state = shared.replace(State::Gone);
        // Its executor is busy until the closure has gone, also if that panics.
        let _busy = if let State::Queued(..) = state { shared.busy.take() } else { None };
        drop(shared);
        drop(state);
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
            drop(shared);
            return Poll::Pending;
        }
        match shared.replace(State::Gone) {
            State::New(closure) => {
                shared.state = State::Queued(closure, waker);
                shared.busy = context::home().map(Busy::new);
                drop(shared);
                let job = self.job.lock().take();
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
                shielded(|| drop(waker));
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
            watch::waits(self.place, || ("unblock", Object::Nothing));
        }
        given.map(|given| match given {
            Ok(value) => value,
            Err(never) => match never {},
        })
    }
}

impl<R> Drop for Unblock<R> {
    fn drop(&mut self) {
        self.give_up();
    }
}

impl<R> fmt::Debug for Unblock<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Unblock").field("submitted", &self.job.lock().is_none()).finish_non_exhaustive()
    }
}

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

impl<R> fmt::Debug for OnNewThread<R> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OnNewThread").field("name", &self.name).field("call", &self.call).finish()
    }
}

impl<R> Future for OnNewThread<R> {
    type Output = io::Result<R>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<R>> {
        let OnNewThread { call, name } = &mut *self;
        let given = call.poll_with(cx, |job| {
            check_name(name)?;
            thread::Builder::new().name(name.clone()).spawn(job).map(drop)
        });
        if given.is_pending() {
            watch::waits(call.place, || ("on_new_thread", Object::Nothing));
        }
        given
    }
}

task::thread::waits! { [R] OnNewThread<R>, "OnNewThread" }
