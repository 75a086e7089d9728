//! Fibers whose outcomes are taken as they end: a set of join handles, of which a poll looks only at those that have ended.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use futures_core::Stream;
use futures_core::future::FusedFuture;
use futures_core::stream::FusedStream;

use crate::fiber::combine::Members;
use crate::fiber::fiber_ref::FiberRef;
use crate::fiber::join::JoinHandle;
use crate::fiber::spawn::spawn;
use crate::task::error::JoinError;
use crate::task::{budget, shows, thread, unwinds};

/// Fibers that are joined one by one, as they end; more can be added meanwhile. Dropping the set cancels those that are in it.
///
/// It is a stream of their outcomes, which is at its end whenever the set is empty.
///
/// ```
/// use leno::fiber::{JoinSet, sleep};
/// use std::time::Duration;
///
/// leno::block_on(async {
///     let mut set = JoinSet::new();
///     for millis in [30, 1] {
///         set.spawn(async move {
///             sleep(Duration::from_millis(millis)).await;
///             millis
///         });
///     }
///     let mut seen = Vec::new();
///     while let Some(outcome) = set.join_next().await {
///         seen.push(outcome.expect("it neither panics nor is cancelled"));
///     }
///     assert_eq!(seen, [1, 30]);
/// });
/// ```
pub struct JoinSet<T> {
    handles: Members<JoinHandle<T>>,
}

impl<T> JoinSet<T> {
    /// An empty set.
    pub fn new() -> JoinSet<T> {
        JoinSet { handles: Members::new() }
    }

    /// [Spawns](spawn) a fiber into the set. For one that has a name, is not `Send`, or runs elsewhere, see [`push`](Self::push).
    #[track_caller]
    pub fn spawn<F>(&mut self, future: F) -> FiberRef
    where
        F: Future<Output = T> + Send + 'static,
        T: Send + 'static,
    {
        self.push(spawn(future))
    }

    /// Adds a fiber, however it was started; from now on dropping the set cancels it.
    ///
    /// # Panics
    ///
    /// If the handle has given the fiber's outcome already.
    #[track_caller]
    pub fn push(&mut self, handle: JoinHandle<T>) -> FiberRef {
        assert!(
            !handle.is_terminated(),
            "a `JoinHandle` was pushed after it had returned the fiber's outcome"
        );
        let fiber = handle.fiber();
        self.handles.push(0, handle.cancel_on_drop());
        fiber
    }

    /// How many fibers are in the set: those whose outcomes were not taken.
    pub fn len(&self) -> usize {
        self.handles.len()
    }

    /// Whether all outcomes were taken.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Waits until a fiber of the set ends, and takes its outcome. `None`: the set is empty.
    ///
    /// Cancelling: dropping the future loses nothing.
    #[doc(alias = "next")]
    pub fn join_next(&mut self) -> JoinNext<'_, T> {
        JoinNext { set: self }
    }

    /// As [`join_next`](Self::join_next), if that need not wait. `None`: none of them has ended, or let that be known yet. A
    /// waker that the set was polled with before, as a stream, is not woken any more.
    pub fn try_join_next(&mut self) -> Option<Result<T, JoinError>> {
        let cx = &mut Context::from_waker(Waker::noop());
        match budget::insist(|| self.poll_outcome(cx)) {
            Poll::Ready(outcome) => outcome,
            Poll::Pending => None,
        }
    }

    /// [Cancels](JoinHandle::cancel) all fibers of the set. They stay in it, to be joined.
    #[doc(alias = "abort_all")]
    pub fn cancel_all(&mut self) {
        self.handles.each().for_each(|handle| handle.cancel());
    }

    /// Lets all fibers go on by themselves; the set is empty then.
    pub fn detach_all(&mut self) {
        self.handles.each().for_each(|mut handle| handle.cancel_on_drop = false);
        self.handles.clear();
    }

    fn poll_outcome(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, JoinError>>> {
        self.handles.poll_next(cx).map(|next| next.map(|(_, outcome)| outcome))
    }
}

impl<T> Default for JoinSet<T> {
    fn default() -> Self {
        JoinSet::new()
    }
}

impl<T> Extend<JoinHandle<T>> for JoinSet<T> {
    fn extend<I: IntoIterator<Item = JoinHandle<T>>>(&mut self, handles: I) {
        handles.into_iter().for_each(|handle| _ = self.push(handle));
    }
}

impl<T> FromIterator<JoinHandle<T>> for JoinSet<T> {
    fn from_iter<I: IntoIterator<Item = JoinHandle<T>>>(handles: I) -> Self {
        let mut set = JoinSet::new();
        set.extend(handles);
        set
    }
}

/// Whoever adds a fiber after a poll that was pending polls again: that one is not waited for yet.
impl<T> Stream for JoinSet<T> {
    type Item = Result<T, JoinError>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.poll_outcome(cx)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.len(), Some(self.len()))
    }
}

/// Terminated while it is empty.
impl<T> FusedStream for JoinSet<T> {
    fn is_terminated(&self) -> bool {
        self.is_empty()
    }
}

unwinds! { [T] JoinSet<T> }
shows! { [T] JoinSet<T>, "JoinSet", it => len: it.len() }

/// See [`JoinSet::join_next`].
#[must_use = "futures do nothing unless polled"]
pub struct JoinNext<'a, T> {
    set: &'a mut JoinSet<T>,
}

impl<T> Future for JoinNext<'_, T> {
    type Output = Option<Result<T, JoinError>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        self.set.poll_outcome(cx)
    }
}

shows! { [T] JoinNext<'_, T>, "JoinNext", it => set: it.set }

thread::waits! { ['a, T] JoinNext<'a, T>, "JoinNext" }
