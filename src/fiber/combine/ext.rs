//! Futures that tell about themselves: what becomes of them, and how long they take.

use std::fmt;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::prim::{self, Mutex};
use crate::task::error::{message, shielded};
use crate::task::{context, one_line, shows, thread, warn};
use crate::time::now;

prim::global! {
    static HOOK: Mutex<fn(&str)> = Mutex::new(warn::say);
}

/// Sets the hook that receives the output of [`FutureExt::debug`], instead of stderr: one line per call, without a line
/// break, on the thread where it happens. It applies to the whole process. A panic of the hook is swallowed.
///
/// ```
/// leno::fiber::set_debug_hook(|line| println!("{line}"));
/// ```
pub fn set_debug_hook(hook: fn(&str)) {
    *HOOK.lock() = hook;
}

/// Diagnostics for any future.
///
/// ```
/// use leno::fiber::FutureExt;
///
/// let (sum, took) = leno::block_on(async { 1 + 1 }.debug("adding").timed());
/// assert_eq!(sum, 2);
/// println!("it took {took:?}");
/// ```
pub trait FutureExt: Future {
    /// Logs when the future is first polled, and how it ends: with a value, by a panic (with its message), or
    /// cancelled, that is, dropped before it completed. Each line has `label`, the fiber, and, once it has begun, the time since
    /// the first poll by the executor's clock. Lines go to stderr with the prefix `leno: `, or to the hook of [`set_debug_hook`]
    /// without it.
    ///
    /// ```text
    /// leno: fetch: begins (fiber 7 `mirrors`)
    /// leno: fetch: gave Ok(200) after 1.2ms (fiber 7 `mirrors`)
    /// leno: fetch: cancelled after 1.2ms (fiber 7 `mirrors`)
    /// leno: fetch: panicked after 1.2ms: no luck (fiber 7 `mirrors`)
    /// leno: fetch: cancelled before it began (no fiber)
    /// ```
    ///
    /// Otherwise the future behaves as before: same output, same panic. If the value's [`Debug`](fmt::Debug) panics, that
    /// panic is swallowed and the line is omitted.
    fn debug(self, label: impl Into<String>) -> Debugged<Self>
    where
        Self: Sized,
        Self::Output: fmt::Debug,
    {
        Debugged { future: self, course: Course { label: label.into(), stage: Stage::New } }
    }

    /// Returns the output and how long it took: from the first poll to the one that completed, waiting included, by the
    /// executor's clock (see [`now`]).
    ///
    /// ```
    /// use leno::fiber::{Cord, FutureExt};
    /// use leno::time::Clock;
    /// use std::time::Duration;
    ///
    /// let hour = Duration::from_secs(3600);
    /// let cord = Cord::with_clock(Clock::virtual_time());
    /// assert_eq!(cord.block_on(leno::sleep(hour).timed()), ((), hour));
    /// ```
    fn timed(self) -> Timed<Self>
    where
        Self: Sized,
    {
        Timed { future: self, since: None }
    }
}

impl<F: Future + ?Sized> FutureExt for F {}

/// See [`FutureExt::timed`].
#[must_use = "futures do nothing unless polled"]
pub struct Timed<F> {
    future: F,
    /// When it was first polled.
    since: Option<Instant>,
}

impl<F: Future> Future for Timed<F> {
    type Output = (F::Output, Duration);

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `future` is pinned with `self`: it is not moved, there is no `Drop` for `Timed`, and it is `Unpin`
        // only if `F` is.
        let (future, since) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.since)
        };
        let since = *since.get_or_insert_with(now);
        let output = ready!(future.poll(cx));
        Poll::Ready((output, now().saturating_duration_since(since)))
    }
}

shows! { [F] Timed<F>, "Timed", it => since: it.since }

thread::waits! { [F: Future] [F: Future + Unpin] Timed<F>, "Timed" }

/// See [`FutureExt::debug`].
#[must_use = "futures do nothing unless polled"]
pub struct Debugged<F> {
    future: F,
    /// After the future: so the line follows whatever the future does as it is dropped.
    course: Course,
}

/// How far a future has come. Dropped before the end, it tells of a cancellation.
struct Course {
    label: String,
    stage: Stage,
}

#[derive(Debug, Clone, Copy)]
enum Stage {
    New,
    Since(Instant),
    Ended,
}

impl Course {
    fn begin(&mut self) {
        if let Stage::New = self.stage {
            self.stage = Stage::Since(now());
            self.tell(format_args!("begins"));
        }
    }

    fn end(&mut self, how: fmt::Arguments<'_>) {
        self.stage = Stage::Ended;
        self.tell(how);
    }

    /// Since the first poll.
    fn took(&self) -> Duration {
        match self.stage {
            Stage::Since(since) => now().saturating_duration_since(since),
            Stage::New | Stage::Ended => Duration::ZERO,
        }
    }

    fn tell(&self, what: fmt::Arguments<'_>) {
        let hook = *HOOK.lock();
        // What is told contains a foreign value.
        shielded(|| hook(&one_line(&format!("{}: {what} ({})", self.label, Here))));
    }
}

/// The fiber that the caller runs in.
struct Here;

impl fmt::Display for Here {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        context::with_task(|task| task.id.write(task.name(), f)).unwrap_or_else(|| f.write_str("no fiber"))
    }
}

impl Drop for Course {
    fn drop(&mut self) {
        match self.stage {
            Stage::New => self.end(format_args!("cancelled before it began")),
            Stage::Since(_) => {
                let took = self.took();
                self.end(format_args!("cancelled after {took:?}"));
            }
            Stage::Ended => {}
        }
    }
}

impl<F: Future> Future for Debugged<F>
where
    F::Output: fmt::Debug,
{
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `future` is pinned with `self`: it is not moved, there is no `Drop` for `Debugged`, and it is `Unpin`
        // only if `F` is.
        let (future, course) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.course)
        };
        course.begin();
        // The panic goes on: whoever would have seen a broken invariant still does.
        match panic::catch_unwind(AssertUnwindSafe(|| future.poll(cx))) {
            Ok(polled) => {
                let output = ready!(polled);
                let took = course.took();
                course.end(format_args!("gave {output:?} after {took:?}"));
                Poll::Ready(output)
            }
            Err(payload) => {
                let took = course.took();
                course.end(format_args!("panicked after {took:?}: {}", message(&*payload)));
                panic::resume_unwind(payload)
            }
        }
    }
}

shows! { [F] Debugged<F>, "Debugged", it => label: it.course.label, stage: it.course.stage }

thread::waits! {
    [F: Future<Output: fmt::Debug>] [F: Future<Output: fmt::Debug> + Unpin]
    Debugged<F>, "Debugged"
}
