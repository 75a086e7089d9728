//! Running a future on another runtime, and coming back with what it gives.

use std::future::{Future, IntoFuture};
use std::panic::{self, Location};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::fiber::handle::Handle;
use crate::fiber::join::JoinHandle;
use crate::fiber::runtime::Runtime;
use crate::fiber::spawn::Builder;
use crate::task::error::discard;
use crate::task::home::HomeRef;
use crate::task::{context, shows, thread};

/// Runs `future` as a fiber of `runtime` and returns its output: for a part of a task that has to run elsewhere, on dedicated
/// workers for example.
///
/// It starts at the first poll. Dropping the `On` cancels that fiber, which has no parent and inherits no fiber-locals. While
/// it runs, a virtual clock of the caller's executor stands still (unless that executor is `runtime` itself).
///
/// ```
/// use leno::fiber::{Runtime, on};
///
/// let crunch = Runtime::builder().workers(1).name("crunch").build()?;
/// let thread = leno::block_on(on(&crunch, async { std::thread::current().name().map(str::to_owned) }));
/// assert_eq!(thread.as_deref(), Some("crunch-0"));
/// # Ok::<(), std::io::Error>(())
/// ```
///
/// # Panics
///
/// A panic of the future is resumed in the task that waits. It also panics if the fiber is cancelled, e.g. with its
/// runtime.
#[track_caller]
pub fn on<F>(runtime: &Runtime, future: F) -> On<F::IntoFuture>
where
    F: IntoFuture,
    F::IntoFuture: Send + 'static,
    F::Output: Send + 'static,
{
    runtime.handle().on(future)
}

impl Handle {
    /// Runs `future` on that runtime and returns its output; see [`on`].
    #[track_caller]
    pub fn on<F>(&self, future: F) -> On<F::IntoFuture>
    where
        F: IntoFuture,
        F::IntoFuture: Send + 'static,
        F::Output: Send + 'static,
    {
        On {
            home: self.home().clone(),
            future: Some(future.into_future()),
            at: Location::caller(),
            handle: None,
        }
    }
}

/// See [`on`].
#[must_use = "futures do nothing unless polled"]
pub struct On<F: Future> {
    home: HomeRef,
    /// Until it is spawned.
    future: Option<F>,
    at: &'static Location<'static>,
    /// From then on.
    handle: Option<JoinHandle<F::Output>>,
}

/// The future is not pinned before it is spawned.
impl<F: Future> Unpin for On<F> {}

impl<F> Future for On<F>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    type Output = F::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let On { home, future, at, handle } = &mut *self;
        if let Some(future) = future.take() {
            let started = Builder::new().root().start_on(home, at, future);
            *handle = Some(started.cancel_on_drop());
        }
        let Some(handle) = handle else { panic!("an `On` was polled after starting its fiber had panicked") };
        // (A new one each time, and not kept here: once the fiber has ended the executor is busy no more, whether or not it looks.)
        let waker = context::busy_waker(cx.waker(), Some(home));
        let polled = Pin::new(handle).poll(&mut Context::from_waker(&waker));
        discard(waker);
        polled.map(|outcome| {
            outcome.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(payload) => panic::resume_unwind(payload),
                Err(_cancelled) => panic!(
                    "the fiber started by `on` at {at} was cancelled; keep its runtime until the fiber has ended, and do \
                     not cancel the fiber"
                ),
            })
        })
    }
}

shows! { [F: Future] On<F>, "On", it => started: it.handle.is_some() }

thread::waits! { [F: Future<Output: Send + 'static> + Send + 'static] On<F>, "On" }
