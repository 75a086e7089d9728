//! What models of the fiber's protocol need: fibers with nothing around them but a shared run queue, and queues of
//! workers where a scenario asks for them.
//!
//! For `loom-tests` only; it is compiled under the model checkers and nowhere else.

use std::any::Any;
use std::collections::VecDeque;
use std::future::{Future, poll_fn};
use std::panic::Location;
use std::pin::{Pin, pin};
use std::ptr::NonNull;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use crate::prim::{Arc, Counter, Mutex};
use crate::task::cell::{Birth, allocate};
use crate::task::context::Post;
use crate::task::extras::Extras;
use crate::task::header::{FiberId, Task};
use crate::task::home::HomeRef;
use crate::task::home::Watching;
use crate::task::roster::Admission;
use crate::task::seam::{Seam, TimerKey, TimerState};
use crate::task::state::State;
use crate::task::{context, group, join, run};

pub use crate::task::thread::model as thread;

static IDS: Counter = Counter::new();

/// A run queue without threads: the model's threads run what is in it. `None`: closed. And that of an only worker, if it has one.
struct Queue(Mutex<Option<VecDeque<Task>>>, Option<Worker>);

impl Seam for Queue {
    fn schedule(&self, post: Post, task: Task) {
        // SAFETY: from `Executor::drive`, which keeps it.
        let queue = unsafe { post.worker.cast::<Mutex<VecDeque<Task>>>().as_ref() };
        if self.1.is_none() || task.goes_behind(|| self.arrive()) {
            queue.lock().push_back(task);
        }
    }

    fn inject(&self, task: Task) -> Result<(), Task> {
        match &mut *self.0.lock() {
            Some(queue) => queue.push_back(task),
            None => return Err(task),
        }
        Ok(())
    }

    fn blocks(&self, _worker: NonNull<()>) {}

    fn is_alone(&self) -> bool {
        self.1.is_some()
    }

    fn now(&self) -> Instant {
        Instant::now()
    }

    fn clock_id(&self) -> usize {
        0
    }

    fn set_timer(&self, _worker: Option<NonNull<()>>, _at: Instant, _waker: Waker) -> Option<TimerKey> {
        None
    }

    fn renew_timer(&self, _key: TimerKey, _waker: &Waker) -> TimerState {
        TimerState::Closed
    }

    fn clear_timer(&self, _key: TimerKey) {}

    fn busy(&self) {}

    fn calm(&self) {}

    fn report_panic(&self, _task: &Task, _payload: &(dyn Any + Send)) {}

    fn report_slow_poll(&self, _task: &Task, _took: Duration) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Queue {
    /// Puts what was injected behind the only worker's own queue, if there is one.
    fn arrive(&self) {
        if let (Some(injected), Some(worker)) = (&mut *self.0.lock(), &self.1) {
            worker.0.lock().extend(injected.drain(..).filter(Task::arrives));
        }
    }
}

/// A worker's own queue, which others may steal from.
#[derive(Clone, Default)]
pub struct Worker(Arc<Mutex<VecDeque<Task>>>);

/// An executor whose fibers run when a thread of the model calls [`run_one`](Self::run_one).
#[derive(Clone)]
pub struct Executor(HomeRef);

impl Default for Executor {
    fn default() -> Self {
        Executor::new()
    }
}

impl Executor {
    /// An executor without fibers.
    pub fn new() -> Self {
        Executor::with(None)
    }

    /// One with one worker, which its fibers stay with: one thread at a time calls [`run_one`](Self::run_one) and the like.
    pub fn alone() -> Self {
        Executor::with(Some(Worker::default()))
    }

    fn with(worker: Option<Worker>) -> Self {
        let queue = Box::new(Queue(Mutex::new(Some(VecDeque::new())), worker));
        Executor(HomeRef::new(false, 1, Watching::default(), queue))
    }

    fn queue(&self) -> &Queue {
        self.0.seam.as_any().downcast_ref().expect("the model's own seam")
    }

    /// Starts a fiber, the child of `parent` where there is one (which must be running on this thread).
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.start(None, future, Task::schedule)
    }

    /// Starts a fiber that is a member of `group`.
    #[track_caller]
    pub fn spawn_in<F>(&self, group: &Group, future: F) -> Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let extras = Extras { group: Some(Arc::clone(&group.0)), ..Extras::default() };
        self.start(Some(Box::new(extras)), future, Task::schedule)
    }

    #[track_caller]
    fn start<F>(&self, extras: Option<Box<Extras>>, future: F, go: impl FnOnce(Task)) -> Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let (listing, queued, handle) = self.make(extras, future);
        if let Some(group) = queued.group() {
            group.enter(&queued);
        }
        let admission = context::with_task(|parent| self.0.roster.admit(&listing, Some(parent), true))
            .unwrap_or_else(|| self.0.roster.admit(&listing, None, true));
        match admission {
            Admission::Listed => {
                let _ = listing.into_raw();
                go(queued);
            }
            // SAFETY: not listed, and `Send`.
            Admission::Closed => unsafe { run::end_unlisted(queued) },
        }
        handle
    }

    /// A fiber that the caller owns: what is for the roster, for a queue, and the handle.
    #[track_caller]
    fn make<F>(&self, extras: Option<Box<Extras>>, future: F) -> (Task, Task, Handle<F::Output>)
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let birth = Birth { home: &self.0, id: FiberId::new(IDS.next()), at: Location::caller(), extras };
        // SAFETY: the future is `Send`.
        let header = unsafe { allocate(birth, State::spawned(), future) };
        // SAFETY: the three counts that `spawned` made.
        let (listing, queued, task) =
            unsafe { (Task::from_raw(header), Task::from_raw(header), Task::from_raw(header)) };
        (listing, queued, Handle { task, taken: false, output: std::marker::PhantomData })
    }

    /// Runs the first fiber of the queue once; false: it is empty. An only worker first puts what was injected behind its own.
    pub fn run_one(&self) -> bool {
        match &self.queue().1 {
            None => {
                let task = self.queue().0.lock().as_mut().and_then(VecDeque::pop_front);
                // SAFETY: not a cord.
                task.map(|task| unsafe { run::run(task) }).is_some()
            }
            Some(worker) => self.drive(worker, || {
                self.queue().arrive();
                self.run_from(worker)
            }),
        }
    }

    /// As [`spawn`](Self::spawn), but polls it on this thread at once.
    pub fn spawn_now<F>(&self, future: F) -> Handle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        // SAFETY: not a cord; and this is who makes it.
        self.start(None, future, |task| unsafe { run::run(task) })
    }

    /// Calls `f` as the only worker.
    pub fn as_worker<R>(&self, f: impl FnOnce() -> R) -> R {
        self.drive(self.queue().1.as_ref().expect("an executor with one worker"), f)
    }

    /// The only worker leaves, after the end: it ends all that it has.
    pub fn leave(&self) {
        self.as_worker(|| {
            self.end_queue(self.queue().1.as_ref().expect("as above"));
            self.end_listed();
            self.end_queue(self.queue().1.as_ref().expect("as above"));
        });
    }

    /// Calls `f` as a worker: what it wakes goes into the worker's own queue.
    pub fn drive<R>(&self, worker: &Worker, f: impl FnOnce() -> R) -> R {
        // SAFETY: `schedule` above takes it for what it is. Not a cord.
        unsafe { context::drive(&self.0, 0, Arc::as_ptr(&worker.0).cast(), f) }
    }

    /// Runs the first fiber of a worker's queue once, whoever calls; false: it is empty.
    pub fn run_from(&self, worker: &Worker) -> bool {
        let task = worker.0.lock().pop_front();
        // SAFETY: not a cord.
        task.map(|task| unsafe { run::run(task) }).is_some()
    }

    /// Ends what is left in a worker's queue, as a worker that leaves does.
    pub fn end_queue(&self, worker: &Worker) {
        loop {
            let Some(task) = worker.0.lock().pop_front() else { return };
            // SAFETY: not a cord.
            unsafe { run::end_entry(task) };
        }
    }

    /// Runs fibers until none is ready.
    pub fn run_all(&self) {
        while self.run_one() {}
    }

    /// How many fibers live.
    pub fn living(&self) -> usize {
        self.0.roster.len()
    }

    /// Ends all fibers, as the end of a runtime does; others may be polling meanwhile, and end what is in their queues.
    pub fn end(&self) {
        self.0.roster.close();
        let left = self.queue().0.lock().take();
        for task in left.into_iter().flatten() {
            // SAFETY: not a cord.
            unsafe { run::end_entry(task) };
        }
        self.end_listed();
    }

    fn end_listed(&self) {
        for task in self.0.roster.snapshot() {
            // SAFETY: not a cord.
            unsafe { run::end(&task) };
        }
    }
}

/// A group of fibers.
#[derive(Debug, Clone)]
pub struct Group(Arc<group::Group>);

impl Default for Group {
    fn default() -> Self {
        Group(Arc::new(group::Group::default()))
    }
}

impl Group {
    /// Cancels its members.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Whether all have ended; `waker` is woken when the last one does.
    pub fn is_over(&self, waker: &Waker) -> bool {
        self.0.poll_over(&mut Context::from_waker(waker)).is_ready()
    }
}

impl Executor {
    /// A fiber for the roster's models, which ends when it is told so, on that thread. The caller owns it.
    #[track_caller]
    pub fn node(&self) -> Node {
        let (listing, owned, _handle) = self.make(None, std::future::ready(()));
        Node { listing: Some(listing), owned, _handle }
    }

    /// Admits nobody from now on.
    pub fn close(&self) {
        self.0.roster.close();
    }

    /// Waits until nobody lives. After `close`.
    pub fn wait_empty(&self) {
        let empty = pin!(poll_fn(|cx| self.0.roster.poll_empty(cx)));
        crate::task::thread::block_on(empty, None).expect("without a deadline it waits until it is so");
    }

    /// Whether the roster knows who lives by that id.
    pub fn finds(&self, reference: &Reference) -> bool {
        self.0.roster.find(reference.0.id).is_some_and(|found| found.is(&reference.0))
    }

    /// Whether it is among all that live.
    pub fn lists(&self, reference: &Reference) -> bool {
        self.0.roster.snapshot().iter().any(|found| found.is(&reference.0))
    }
}

/// A fiber in the hands of who runs it.
#[derive(Debug)]
pub struct Node {
    listing: Option<Task>,
    owned: Task,
    _handle: Handle<()>,
}

impl Node {
    /// Lists it; false: it was refused. The caller owns the parent, too.
    pub fn admit(&mut self, parent: Option<&Node>) -> bool {
        let listing = self.listing.take().expect("a node is listed once");
        let admission = listing.home().roster.admit(&listing, parent.map(|parent| &parent.owned), true);
        match admission {
            Admission::Listed => _ = listing.into_raw(),
            Admission::Closed => self.listing = Some(listing),
        }
        self.listing.is_none()
    }

    /// Polls it, whereupon it ends: with its value, or cancelled.
    pub fn end(self) {
        let Node { listing, owned, _handle } = self;
        match listing {
            // SAFETY: not a cord.
            None => unsafe { run::run(owned) },
            // SAFETY: not listed, and `Send`.
            Some(_) => unsafe { run::end_unlisted(owned) },
        }
    }

    /// A counted reference.
    pub fn reference(&self) -> Reference {
        Reference(self.owned.clone())
    }
}

/// A join handle.
#[derive(Debug)]
pub struct Handle<T> {
    task: Task,
    taken: bool,
    output: std::marker::PhantomData<T>,
}

// SAFETY: as for `fiber::JoinHandle`.
unsafe impl<T: Send> Send for Handle<T> {}

/// What came out of a fiber.
#[derive(Debug, PartialEq, Eq)]
pub enum Outcome<T> {
    /// A value.
    Value(T),
    /// It was cancelled.
    Cancelled,
    /// It panicked.
    Panicked,
}

impl<T> Handle<T> {
    /// Looks for the outcome, and leaves `waker` where there is none yet.
    pub fn poll(&mut self, waker: &Waker) -> Option<Outcome<T>> {
        // SAFETY: this is the handle, and nothing was taken yet.
        match unsafe { join::poll_outcome::<T>(&self.task, &mut Context::from_waker(waker)) } {
            Poll::Pending => None,
            Poll::Ready(outcome) => {
                self.taken = true;
                Some(match outcome {
                    Ok(value) => Outcome::Value(value),
                    Err(error) if error.is_cancelled() => Outcome::Cancelled,
                    Err(_) => Outcome::Panicked,
                })
            }
        }
    }

    /// Cancels the fiber.
    pub fn cancel(&self) {
        self.task.cancel();
    }

    /// Another reference to the fiber, as a `FiberRef` is one.
    pub fn reference(&self) -> Reference {
        Reference(self.task.clone())
    }

    /// Whether the fiber has ended.
    pub fn is_complete(&self) -> bool {
        self.task.state.is_complete()
    }
}

impl<T> Drop for Handle<T> {
    fn drop(&mut self) {
        // SAFETY: this is the handle; its count goes next.
        unsafe { join::detach(&self.task, self.taken) };
    }
}

/// A counted reference.
#[derive(Debug, Clone)]
pub struct Reference(Task);

impl Reference {
    /// Cancels the fiber.
    pub fn cancel(&self) {
        self.0.cancel();
    }

    /// Gives it its park token.
    pub fn unpark(&self) {
        self.0.unpark();
    }

    /// Whether a cancel has reached it.
    pub fn is_cancelled(&self) -> bool {
        self.0.state.is_cancelled()
    }
}

/// Takes the park token of the fiber that runs here.
#[derive(Debug, Default)]
pub struct Token;

impl Future for Token {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<()> {
        let taken = context::with_task(|task| task.state.take_token());
        if taken == Some(true) { Poll::Ready(()) } else { Poll::Pending }
    }
}
