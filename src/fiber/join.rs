//! Join handles.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures_core::future::FusedFuture;

use crate::fiber::fiber_ref::FiberRef;
use crate::task::error::{Elapsed, JoinError};
use crate::task::header::{FiberId, Task};
use crate::task::watch::{self, Target};
use crate::task::{budget, context, join, shows, thread};
use crate::time::{Timeout, timeout};

/// Waits for a fiber to end, and returns its value.
///
/// Await it, or [`wait`](Self::wait) on a plain thread. Dropping it detaches the fiber, which goes on; its value is then
/// dropped, and a panic goes to the hook of [`RuntimeBuilder::on_panic`](crate::fiber::RuntimeBuilder::on_panic).
/// Cancellation-safe: a handle that was polled and pending can be awaited again. A fiber that awaits its own handle gets an
/// error.
///
/// It is `Send` if the value is.
///
/// ```
/// let sum = leno::block_on(async {
///     let fiber = leno::spawn(async { 2 + 2 });
///     fiber.await.unwrap()
/// });
/// assert_eq!(sum, 4);
/// ```
///
/// # Panics
///
/// When it is polled again after it was ready. (Not after the error of a fiber that has awaited itself.) [`wait`](Self::wait) also
/// for a fiber of a [cord](crate::fiber::Cord) of the calling thread, as nobody else would drive it: use `cord.block_on(handle)`.
pub struct JoinHandle<T> {
    task: Task,
    taken: bool,
    pub(super) cancel_on_drop: bool,
    /// It was polled before the fiber had ended.
    waits: bool,
    /// The fiber had ended in the poll before, and there was no budget to say so.
    refused: bool,
    _owns: PhantomData<(T, *mut ())>,
}

// SAFETY: of what isn't `Send` or `Sync` in a fiber, the handle reaches the outcome only: by value, so `T: Send`
// is what it takes. All else is in a `Task`, which is both.
unsafe impl<T: Send> Send for JoinHandle<T> {}
// SAFETY: a shared handle gives no access to the outcome at all; as cautious as a `Mutex<T>`.
unsafe impl<T: Send> Sync for JoinHandle<T> {}
impl<T> Unpin for JoinHandle<T> {}
crate::task::unwinds! { [T] JoinHandle<T> }

impl<T> JoinHandle<T> {
    /// # Safety
    ///
    /// `task` is the join handle's count of a fiber whose output is `T`, and this is its only handle.
    pub(crate) unsafe fn new(task: Task) -> Self {
        JoinHandle {
            task,
            taken: false,
            cancel_on_drop: false,
            waits: false,
            refused: false,
            _owns: PhantomData,
        }
    }

    /// Cancels the fiber and, transitively, its children.
    ///
    /// Its future is dropped where it is suspended, by its own executor: at once if it is queued or waits, after the
    /// poll in progress if it runs (also if it cancels itself). The handle then returns a
    /// [cancelled](JoinError::is_cancelled) error. If the fiber ends by itself meanwhile, it returns the value.
    /// Cancelling a fiber that has ended does nothing.
    #[doc(alias = "abort")]
    pub fn cancel(&self) {
        self.task.cancel();
    }

    /// Waits for the end of the fiber for `limit` at most; the fiber goes on if the time is up, and the handle can
    /// be awaited again.
    ///
    /// # Errors
    ///
    /// [`Elapsed`] if the time was up. If both have come by the time it is polled, the end of the fiber wins.
    #[track_caller]
    pub fn join_timeout(&mut self, limit: Duration) -> JoinTimeout<'_, T> {
        JoinTimeout { limited: timeout(limit, self) }
    }

    /// Whether the fiber has ended: then awaiting the handle does not wait (except, in a fiber that has used up its budget, for
    /// its next [turn](crate::fiber#turns)).
    pub fn is_finished(&self) -> bool {
        self.task.state.is_complete()
    }

    /// The fiber's id.
    pub fn id(&self) -> FiberId {
        self.task.id
    }

    /// The name that [`Builder::name`](crate::fiber::Builder::name) gave it.
    pub fn name(&self) -> Option<&str> {
        self.task.name()
    }

    /// A reference to the fiber, to identify, unpark or cancel it from elsewhere.
    pub fn fiber(&self) -> FiberRef {
        FiberRef::new(&self.task)
    }

    /// Makes dropping the handle cancel the fiber instead of detaching it. (Not any more once that very fiber has awaited it,
    /// which is an error.)
    #[must_use = "dropping this handle cancels the fiber"]
    pub fn cancel_on_drop(mut self) -> JoinHandle<T> {
        self.cancel_on_drop = true;
        self
    }

    #[cold]
    fn is_polled_again(&self) -> ! {
        panic!(
            "the `JoinHandle` of {} was polled after it had returned the outcome: in a `select!` that is repeated disable its \
             branch by an `if`",
            self.fiber()
        )
    }

    /// Panics if nobody would drive the fiber while this thread waits for it.
    #[track_caller]
    fn check_driven(&self) {
        // (In a fiber of a cord no call may block anyway.)
        let is_in_a_cord = context::with_task(|task| task.home().local) == Some(true);
        assert!(
            self.is_finished() || is_in_a_cord || !self.task.home().is_here(),
            "`JoinHandle::wait` for {}, of a cord that only this thread can drive; use `cord.block_on(handle)` instead",
            self.fiber()
        );
    }
}

/// Terminated once it has given the fiber's outcome.
impl<T> FusedFuture for JoinHandle<T> {
    fn is_terminated(&self) -> bool {
        self.taken
    }
}

impl<T> Future for JoinHandle<T> {
    type Output = Result<T, JoinError>;

    #[inline]
    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        if self.taken {
            self.is_polled_again();
        }
        if context::with_task(|current| current.is(&self.task)) == Some(true) {
            // (It goes on, also if the handle would have cancelled it.)
            self.cancel_on_drop = false;
            return Poll::Ready(Err(JoinError::self_join(self.task.id)));
        }
        // (One that need not wait counts, as an operation does.)
        if !self.waits && self.is_finished() && !budget::may_begin(&mut self.refused, cx) {
            return Poll::Pending;
        }
        // SAFETY: this is the handle, `T` the output, and nothing was taken yet.
        let outcome = unsafe { join::poll_outcome(&self.task, cx) };
        self.taken = outcome.is_ready();
        if !self.taken {
            self.waits = true;
            note(&self.task);
        }
        outcome
    }
}

/// The end of `task` is left pending. (An `.await` has no place of its own.)
#[inline(never)]
fn note(task: &Task) {
    watch::waits_at(|| Some(task.spawned_at), || ("join", Target::Fiber(task.id)));
}

impl<T> Drop for JoinHandle<T> {
    fn drop(&mut self) {
        if self.cancel_on_drop && !self.is_finished() {
            self.cancel();
        }
        // SAFETY: this is the handle; its count goes next.
        unsafe { join::detach(&self.task, self.taken) };
    }
}

shows! { [T] JoinHandle<T>, "JoinHandle", it => fiber: it.task, finished: it.is_finished() }

thread::waits! { [T] JoinHandle<T>, "JoinHandle", |_: &Self| None, JoinHandle::check_driven }

/// See [`JoinHandle::join_timeout`].
#[must_use = "futures do nothing unless polled"]
pub struct JoinTimeout<'a, T> {
    limited: Timeout<&'a mut JoinHandle<T>>,
}

impl<T> Future for JoinTimeout<'_, T> {
    type Output = Result<Result<T, JoinError>, Elapsed>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.limited).poll(cx)
    }
}

shows! { [T] JoinTimeout<'_, T>, "JoinTimeout", it => joining: it.limited }

thread::waits! { ['a, T] JoinTimeout<'a, T>, "JoinTimeout", |join: &Self| join.limited.due() }
