//! Ticks: instants that come again and again.
//!
//! An interval is one [`Sleep`], set anew with each tick. What it knows is when the next tick is due; a tick that
//! is taken says when the one after it is:
//!
//! ```text
//!   due:            0         1         2         3         4         5         6         7
//!   busy:            |===========================================|
//!   Burst, taken:   0                                            1234 5         6         7
//!   Delay, taken:   0                                            1         2         3
//!   Skip, taken:    0                                            1    5         6         7
//! ```
//!
//! Invariant: the sleep has a timer only while a tick, or the stream, is waited for; a dropped [`Tick`] takes it along.

use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::Stream;

use crate::task::{budget, thread};
use crate::time::{Sleep, now, sleep, sleep_until};

/// Ticks every `period`, for the first time at once; ticks that were missed come in a [burst](Missed::Burst).
///
/// The time is that of the executor that polls it, as with [`sleep`](crate::sleep()). It has no end; a period that
/// leads beyond what an [`Instant`] can tell means that the next tick never comes.
///
/// ```
/// use leno::fiber::{Cord, interval, now};
/// use leno::time::Clock;
/// use std::time::Duration;
///
/// let second = Duration::from_secs(1);
/// let cord = Cord::with_clock(Clock::virtual_time());
/// cord.block_on(async {
///     let start = now();
///     let mut interval = interval(second);
///     for n in 0..5 {
///         assert_eq!(interval.tick().await, start + n * second);
///     }
///     assert_eq!(now(), start + 4 * second);
/// });
/// ```
///
/// # Panics
///
/// If `period` is zero.
#[track_caller]
pub fn interval(period: Duration) -> Interval {
    interval_with(period, Missed::Burst)
}

/// As [`interval`], and `missed` says what to do about ticks that nobody took in time.
///
/// # Panics
///
/// If `period` is zero.
#[track_caller]
pub fn interval_with(period: Duration, missed: Missed) -> Interval {
    check(period);
    Interval { sleep: sleep(Duration::ZERO), period, missed, refused: false }
}

/// As [`interval`], but the first tick comes at `start`: an instant of the clock of the executor that polls it. If
/// that has passed, the ticks since then were missed.
///
/// # Panics
///
/// If `period` is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    check(period);
    Interval { sleep: sleep_until(start), period, missed: Missed::Burst, refused: false }
}

#[track_caller]
fn check(period: Duration) {
    assert!(
        !period.is_zero(),
        "an interval with a period of zero would tick without end; let it be 1 ns or more"
    );
}

/// What becomes of ticks that were missed: due, but not taken before the next was due as well. The meanings are
/// those of `tokio::time::MissedTickBehavior`.
///
/// In the pictures the period is a second, a tick is taken at 0, and the next look is at 4.5.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missed {
    /// All come, those that were missed one after the other without a pause, until it has caught up: at 4.5 four,
    /// the next at 5. The count of ticks is right in the end.
    #[default]
    Burst,
    /// The first that was missed comes, and the next a period after that was taken: at 4.5, at 5.5, at 6.5. So it is after every
    /// tick that is taken more than 5 ms late, also if none was missed. (Below that, and below a period, the next comes as if
    /// it had been taken in time: the small delays of an executor do not add up.) Between two ticks there is a period, less 5 ms
    /// at most, or more.
    Delay,
    /// The first that was missed comes, the others are left out, and the next comes at a multiple of the period
    /// after the first tick, as if nothing had happened: at 4.5, at 5, at 6.
    Skip,
}

/// A tick that is taken so late at most was not missed.
const LATE: Duration = Duration::from_millis(5);

impl Missed {
    /// When the next tick is due, if one that was due at `due` is taken at `now`. `None`: never.
    pub(crate) fn next(self, due: Instant, now: Instant, period: Duration) -> Option<Instant> {
        let late = now.saturating_duration_since(due);
        match self {
            Missed::Burst => due.checked_add(period),
            Missed::Delay if late <= LATE && late < period => due.checked_add(period),
            Missed::Delay => now.checked_add(period),
            Missed::Skip => {
                let beyond = late.as_nanos() % period.as_nanos();
                // Below the period, so that it fits.
                let beyond = Duration::new((beyond / 1_000_000_000) as u64, (beyond % 1_000_000_000) as u32);
                now.checked_add(period - beyond)
            }
        }
    }
}

/// See [`interval`]. It is a [`Stream`] of ticks, too, which does not end.
#[derive(Debug)]
pub struct Interval {
    /// Until the next tick.
    sleep: Sleep,
    period: Duration,
    missed: Missed,
    /// There was no budget for a tick that came at once.
    refused: bool,
}

impl Interval {
    /// Waits for the next tick, and gives the instant at which it was due, which may have been a while ago.
    ///
    /// Cancel safe: dropping the future takes no tick, and the next one to wait gets it. In a `select!`:
    ///
    /// ```
    /// use leno::fiber::interval;
    /// use std::time::Duration;
    ///
    /// leno::block_on(async {
    ///     let (tx, rx) = leno::bounded(3);
    ///     (1..=3).for_each(|job| tx.try_send(job).unwrap());
    ///     drop(tx);
    ///     let mut beat = interval(Duration::from_millis(1));
    ///     let (mut beats, mut jobs) = (0, 0);
    ///     while beats < 3 || jobs < 3 {
    ///         leno::select! {
    ///             Ok(_job) = rx.recv() => jobs += 1,
    ///             _ = beat.tick() => beats += 1,
    ///         }
    ///     }
    /// });
    /// ```
    pub fn tick(&mut self) -> Tick<'_> {
        Tick { interval: self }
    }

    /// Begins anew: the next tick comes one period from now.
    #[track_caller]
    pub fn reset(&mut self) {
        self.sleep = sleep(self.period);
    }

    /// The time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// What becomes of ticks that were missed.
    pub fn missed(&self) -> Missed {
        self.missed
    }

    /// Says what becomes of ticks that were missed, from the next tick on.
    pub fn set_missed(&mut self, missed: Missed) {
        self.missed = missed;
    }

    fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        let waits = self.sleep.waits();
        ready!(self.sleep.poll_time(cx));
        if !waits && !budget::may_begin(&mut self.refused, cx) {
            return Poll::Pending;
        }
        let due = self.sleep.deadline().expect("a sleep without an end is never ready");
        let now = now();
        let next = self.missed.next(due, now, self.period);
        self.sleep.set(next, next.map(|next| next.saturating_duration_since(now)));
        Poll::Ready(due)
    }
}

impl Stream for Interval {
    type Item = Instant;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Instant>> {
        self.poll_tick(cx).map(Some)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (usize::MAX, None)
    }
}

/// See [`Interval::tick`].
#[must_use = "futures do nothing unless polled"]
pub struct Tick<'a> {
    interval: &'a mut Interval,
}

impl Future for Tick<'_> {
    type Output = Instant;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        self.interval.poll_tick(cx)
    }
}

/// Takes the timer along; the tick stays.
impl Drop for Tick<'_> {
    fn drop(&mut self) {
        self.interval.sleep.pause();
    }
}

impl fmt::Debug for Tick<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Tick").field(&self.interval).finish()
    }
}

thread::waits! { ['a] Tick<'a>, "Tick", |tick: &Self| tick.interval.sleep.due() }
