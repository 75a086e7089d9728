//! Time limits on any future.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use crate::task::budget;
use crate::task::error::Elapsed;
use crate::task::shows;
use crate::task::thread;
use crate::task::watch;
use crate::time::{Sleep, now, sleep, sleep_until};

/// Limits `future` to `limit`, counted from this call.
///
/// Resolves to the future's output, or to [`Elapsed`] once the time is up; the future is dropped with the `Timeout`, not
/// before. If both happen at the same instant the future wins: once the time is up it is polled one last time, and its result
/// is taken if it is ready. A limit of zero polls once, or once more in the fiber's next turn if its operations have used up
/// the budget of this one. Dropping the `Timeout` drops the future; what that means depends on the future.
///
/// ```
/// use leno::fiber::Elapsed;
/// use std::time::Duration;
///
/// leno::block_on(async {
///     let never = std::future::pending::<()>();
///     assert!(leno::timeout(Duration::from_millis(1), never).await.is_err());
///     assert_eq!(leno::timeout(Duration::ZERO, async { 5 }).await, Ok::<_, Elapsed>(5));
/// });
/// ```
#[track_caller]
pub fn timeout<F: IntoFuture>(limit: Duration, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(future, sleep(limit), limit.is_zero())
}

/// As [`timeout`], until `deadline`, an instant of the clock that [`now`](crate::fiber::now) reads: a common limit for several
/// steps.
///
/// ```
/// use leno::fiber::{Elapsed, now, timeout_at};
/// use std::time::Duration;
///
/// # leno::block_on(async {
/// let deadline = now() + Duration::from_secs(5);
/// let (sender, receiver) = leno::bounded(1);
/// timeout_at(deadline, sender.send(1)).await?.expect("it is open");
/// assert_eq!(timeout_at(deadline, receiver.recv()).await?, Ok(1));
/// # Ok::<(), Elapsed>(())
/// # }).unwrap();
/// ```
#[track_caller]
pub fn timeout_at<F: IntoFuture>(deadline: Instant, future: F) -> Timeout<F::IntoFuture> {
    Timeout::new(future, sleep_until(deadline), deadline <= now())
}

/// See [`timeout`].
#[must_use = "futures do nothing unless polled"]
pub struct Timeout<F> {
    future: F,
    sleep: Sleep,
    /// The time was up before it began: one look is enough.
    once: bool,
    /// The time was up in a poll without a budget: one more follows.
    overtime: bool,
}

impl<F> Timeout<F> {
    fn new(future: impl IntoFuture<IntoFuture = F>, sleep: Sleep, once: bool) -> Self {
        Timeout { future: future.into_future(), sleep, once, overtime: false }
    }

    /// The future, without the limit.
    pub fn into_inner(self) -> F {
        self.future
    }

    pub(crate) fn due(&self) -> Option<Instant> {
        self.sleep.due()
    }
}

impl<F: Future> Future for Timeout<F> {
    type Output = Result<F::Output, Elapsed>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        watch::first_of(|| self.poll_both(cx))
    }
}

impl<F: Future> Timeout<F> {
    fn poll_both(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<F::Output, Elapsed>> {
        // SAFETY: `future` is pinned with `self`: it is not moved, there is no `Drop` for `Timeout`, and it is
        // `Unpin` only if `F` is.
        let this = unsafe { self.get_unchecked_mut() };
        // SAFETY: as above.
        let mut future = unsafe { Pin::new_unchecked(&mut this.future) };
        let _endless = this.sleep.deadline().map(|_| budget::endless());
        let before = budget::undecided();
        if let Poll::Ready(output) = future.as_mut().poll(cx) {
            return Poll::Ready(Ok(output));
        }
        let waits = this.sleep.waits();
        ready!(this.sleep.poll_time(cx));
        // Without a budget leno's operations do not look. (And what need not wait counts, as a sleep does.)
        let may = if waits { budget::may_look } else { budget::may_begin };
        if !may(&mut this.overtime, cx) {
            return Poll::Pending;
        }
        // What it needs may be in the hands of a thread that is not done with it.
        let mut looks = !this.once || waits || budget::undecided() != before;
        let mut pauses = thread::Haste::default();
        while looks {
            let before = budget::undecided();
            // (With a budget of its own: one that always finds something would not come to an end.)
            if let Poll::Ready(output) = budget::with(|| future.as_mut().poll(cx)) {
                return Poll::Ready(Ok(output));
            }
            looks = budget::undecided() != before && pauses.pause_for_others();
        }
        Poll::Ready(Err(Elapsed::new()))
    }
}

shows! { [F] Timeout<F>, "Timeout", it => sleep: it.sleep }

thread::waits! {
    [F: Future] [F: Future + Unpin] Timeout<F>, "Timeout", Self::due
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use std::cell::Cell;
    use std::future::poll_fn;

    use super::*;
    use crate::fiber::Cord;
    use crate::time::Clock;

    /// Limits a future whose first polls, so many, find something undecided, and whose poll `ready` is ready. Whether that is in
    /// time, and how often it was polled.
    fn limited(limit: Duration, undecided: u32, ready: u32) -> (bool, u32) {
        let polls = Cell::new(0);
        let future = poll_fn(|_| {
            polls.set(polls.get() + 1);
            if polls.get() <= undecided {
                budget::note_undecided();
            }
            if polls.get() < ready { Poll::Pending } else { Poll::Ready(()) }
        });
        let in_time = Cord::with_clock(Clock::virtual_time()).block_on(timeout(limit, future)).is_ok();
        (in_time, polls.get())
    }

    #[test]
    fn what_is_undecided_is_looked_at_until_it_is_decided() {
        let (zero, second) = (Duration::ZERO, Duration::from_secs(1));
        assert_eq!(limited(zero, 0, 9), (false, 1), "one look");
        assert_eq!(limited(second, 0, 9), (false, 3), "the first, when it is woken, and one more");
        for limit in [zero, second] {
            assert_eq!(limited(limit, 3, 4), (true, 4), "{limit:?}");
            assert_eq!(limited(limit, 3, 9), (false, 4), "{limit:?}");
        }
    }
}
