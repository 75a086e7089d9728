//! Sleeping: a future that is ready once a deadline has come.
//!
//! The timer lives with the executor that the future was last polled on. A future that moves to another one
//! takes its timer along; where the clocks differ, what was left of the sleep is what it sleeps there.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};

use crate::fiber::default_home;
use crate::task::home::HomeRef;
use crate::task::place::Place;
use crate::task::seam::{TimerKey, TimerState};
use crate::task::watch::{self, Target};
use crate::task::{budget, context, shows, thread};

/// Sleeps for `duration`, counted from this call.
///
/// The time is that of the executor that polls it: a fiber's runtime or cord, and elsewhere (on another executor, on a plain
/// thread) that of leno's default runtime. It never wakes early. Zero is ready at once; [`Duration::MAX`], any deadline beyond
/// the range of [`Instant`], and one 584 years after the executor was created never come. Dropping the future removes the
/// timer.
///
/// ```
/// use std::time::{Duration, Instant};
///
/// let start = Instant::now();
/// leno::block_on(leno::sleep(Duration::from_millis(2)));
/// assert!(start.elapsed() >= Duration::from_millis(2));
/// ```
#[track_caller]
pub fn sleep(duration: Duration) -> Sleep {
    let (clock, now) = time_here();
    Sleep::new(now.checked_add(duration), Some(duration), clock)
}

/// Sleeps until `deadline`, an instant of the clock of the executor that polls it. As [`sleep`]; a deadline in
/// the past is ready at once.
#[track_caller]
pub fn sleep_until(deadline: Instant) -> Sleep {
    Sleep::new(Some(deadline), None, clock_here())
}

fn clock_here() -> usize {
    context::with_home_here(|home| home.map_or(0, |home| home.seam.clock_id()))
}

/// Which clock, and what it shows.
fn time_here() -> (usize, Instant) {
    context::with_home_here(|home| {
        home.map_or_else(|| (0, Instant::now()), |home| (home.seam.clock_id(), home.seam.now()))
    })
}

/// See [`sleep`] and [`sleep_until`].
#[must_use = "futures do nothing unless polled"]
pub struct Sleep {
    /// `None`: never.
    deadline: Option<Instant>,
    /// How long it has yet to sleep if the next poll is on another clock: what was asked for, or what was left when its timer was
    /// taken out, or when its executor had ended. `None` without a timer: there, too, it sleeps until `deadline`.
    span: Option<Duration>,
    /// The clock that `deadline` is of.
    clock: usize,
    timer: Option<(HomeRef, TimerKey)>,
    place: Place,
    /// The time was up in the poll before, and there was no budget to say so.
    refused: bool,
}

impl Sleep {
    #[inline]
    #[track_caller]
    pub(super) fn new(deadline: Option<Instant>, span: Option<Duration>, clock: usize) -> Sleep {
        Sleep { deadline, span, clock, timer: None, place: Place::here(), refused: false }
    }

    /// When the sleep ends; `None`: never.
    pub fn deadline(&self) -> Option<Instant> {
        self.deadline
    }

    /// Whether the deadline has come, by the clock of the executor that the caller runs on: whether a poll there would be ready.
    pub fn is_elapsed(&self) -> bool {
        let (clock, now) = time_here();
        self.deadline_on(clock, || now).is_some_and(|at| now >= at)
    }

    /// Changes the deadline, to an earlier or a later one, even after the sleep has completed: an instant of the clock of the
    /// executor that polls it, as with [`sleep_until`]. It takes effect at the next poll, so poll it after a reset.
    pub fn reset(&mut self, deadline: Instant) {
        self.set(Some(deadline), None);
    }

    /// As [`reset`](Self::reset), so long from now, as with [`sleep`]; with [`Duration::MAX`] never.
    pub fn reset_after(&mut self, duration: Duration) {
        self.set(time_here().1.checked_add(duration), Some(duration));
    }

    /// As [`reset`](Self::reset); `None`: never. `left`: how long that is, should the next poll be on another clock.
    pub(super) fn set(&mut self, deadline: Option<Instant>, left: Option<Duration>) {
        self.clear();
        self.deadline = deadline;
        self.span = left;
        self.clock = clock_here();
    }

    /// Whether it has waited, and not been ready since.
    pub(super) fn waits(&self) -> bool {
        self.timer.is_some()
    }

    /// When a thread that waits for this should look, whether or not somebody has time to wake it.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.deadline.filter(|_| self.clock == 0)
    }

    /// As [`clear`](Self::clear), where the next poll may be on another clock.
    pub(super) fn pause(&mut self) {
        if let Some((home, _)) = &self.timer {
            self.span = self.deadline.map(|at| at.saturating_duration_since(home.seam.now()));
        }
        self.clear();
    }

    /// Takes the timer out; the next poll sets one.
    fn clear(&mut self) {
        if let Some((home, key)) = self.timer.take() {
            home.seam.clear_timer(key);
            home.give_back();
        }
    }

    /// The timer is gone already.
    fn forget(&mut self) {
        if let Some((home, _)) = self.timer.take() {
            home.give_back();
        }
    }

    /// Makes `deadline` one of `home`'s clock.
    fn move_to(&mut self, home: &HomeRef) {
        if self.timer.as_ref().is_some_and(|(owner, _)| owner.is(home)) {
            return;
        }
        let clock = home.seam.clock_id();
        self.deadline = self.deadline_on(clock, || home.seam.now());
        self.clock = clock;
        self.clear();
        self.span = None;
    }

    /// The deadline as an instant of this clock, which shows `now`.
    fn deadline_on(&self, clock: usize, now: impl FnOnce() -> Instant) -> Option<Instant> {
        match (self.span, &self.timer) {
            _ if clock == self.clock => self.deadline,
            (Some(span), None) => now().checked_add(span),
            (_, Some((owner, _))) => {
                let left = self.deadline?.saturating_duration_since(owner.seam.now());
                now().checked_add(left)
            }
            (None, None) => self.deadline,
        }
    }

    /// As a poll, for whoever counts it himself.
    pub(crate) fn poll_time(&mut self, cx: &Context<'_>) -> Poll<()> {
        let polled = context::with_home(default_home, |home| self.poll_on(home, cx.waker()));
        // Where the executor has ended, whoever polls goes on elsewhere.
        let polled = polled
            .or_else(|| self.poll_on(&default_home(), cx.waker()))
            .expect("the default runtime does not end");
        if polled.is_pending() {
            watch::waits(self.place, || ("sleep", self.deadline.map_or(Target::Nothing, Target::Time)));
        }
        polled
    }

    /// As a poll on `home`; `None`: that has ended, and the time is not up.
    pub(super) fn poll_on(&mut self, home: &HomeRef, waker: &Waker) -> Option<Poll<()>> {
        self.move_to(home);
        let Some(deadline) = self.deadline else { return Some(Poll::Pending) };
        if let Some((_, key)) = &self.timer {
            match home.seam.renew_timer(*key, waker) {
                TimerState::Pending if home.seam.now() < deadline => return Some(Poll::Pending),
                TimerState::Pending => self.clear(),
                TimerState::Fired => self.forget(),
                TimerState::Closed => {
                    self.forget();
                    return self.rest(home, deadline);
                }
            }
            return self.over();
        }
        if home.seam.now() >= deadline {
            return self.over();
        }
        let Some(key) = home.seam.set_timer(context::worker_of(home), deadline, waker.clone()) else {
            return self.rest(home, deadline);
        };
        self.timer = Some((home.share(), key));
        Some(Poll::Pending)
    }

    /// The time is up, on any clock.
    fn over(&mut self) -> Option<Poll<()>> {
        self.span = Some(Duration::ZERO);
        Some(Poll::Ready(()))
    }

    /// `home` has ended. What is left by its clock is to be slept on another's.
    fn rest(&mut self, home: &HomeRef, deadline: Instant) -> Option<Poll<()>> {
        let left = deadline.saturating_duration_since(home.seam.now());
        self.span = Some(left);
        left.is_zero().then_some(Poll::Ready(()))
    }
}

crate::task::unwinds! { [] Sleep }

impl Future for Sleep {
    type Output = ();

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let waits = this.waits();
        ready!(this.poll_time(cx));
        // (One that need not wait counts, as an operation does: a loop of them is to let others run.)
        if waits || budget::may_begin(&mut this.refused, cx) { Poll::Ready(()) } else { Poll::Pending }
    }
}

impl Drop for Sleep {
    fn drop(&mut self) {
        self.clear();
    }
}

shows! { [] Sleep, "Sleep", it => deadline: it.deadline }

thread::waits! { [] Sleep, "Sleep", Sleep::due }
