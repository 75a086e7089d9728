//! Running a future on another runtime, and coming back with what it gives.

use std::future::{Future, IntoFuture};
use std::panic::{self, Location};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::fiber::handle::Handle;
use crate::fiber::join::JoinHandle;
use crate::fiber::runtime::Runtime;
use crate::fiber::spawn::Builder;
use crate::task::home::{Busy, HomeRef};
use crate::task::{context, shows, thread};

/// Runs `future` as a fiber of `runtime` and returns its output: for a part of a task that has to run elsewhere, on dedicated
/// workers for example.
///
/// It starts at the first poll. Dropping the `On` cancels that fiber, which has no parent and inherits no fiber-locals. While
/// it waits, a virtual clock of the caller's executor stands still (unless that executor is `runtime` itself).
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
        On { stage: Stage::New(self.home().clone(), future.into_future()), at: Location::caller() }
    }
}

/// See [`on`].
#[must_use = "futures do nothing unless polled"]
pub struct On<F: Future> {
    stage: Stage<F>,
    at: &'static Location<'static>,
}

enum Stage<F: Future> {
    New(HomeRef, F),
    /// With the executor that waits.
    Runs(JoinHandle<F::Output>, Option<Busy<HomeRef>>),
    /// In a poll only.
    Starts,
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
        if let Stage::New(..) = self.stage {
            if let Stage::New(home, future) = std::mem::replace(&mut self.stage, Stage::Starts) {
                let handle = {
                    let _busy = Busy::new(&*home);
                    Builder::new().root().start_on(&home, self.at, future)
                };
                self.stage = Stage::Runs(handle.cancel_on_drop(), None);
            }
        }
        let at = self.at;
        let Stage::Runs(handle, busy) = &mut self.stage else {
            panic!("an `On` was polled after starting its fiber had panicked")
        };
        if context::with_home_here(|here| here.is_some_and(|here| here.is(handle.task().home()))) {
            *busy = None;
        } else {
            let _before = context::count_here(busy);
        }
        Pin::new(handle).poll(cx).map(|outcome| {
            *busy = None;
            outcome.unwrap_or_else(|error| match error.try_into_panic() {
                Ok(payload) => panic::resume_unwind(payload),
                Err(_cancelled) => panic!(
                    "the fiber started by `on` at {} was cancelled; keep its runtime until the fiber has ended, and do \
                     not cancel the fiber",
                    at
                ),
            })
        })
    }
}

shows! { [F: Future] On<F>, "On", it => started: !matches!(it.stage, Stage::New(..)) }

thread::waits! { [F: Future<Output: Send + 'static> + Send + 'static] On<F>, "On" }
