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
//! Invariant: the sleep has a timer only while a tick, or the stream, is waited for; a [`Tick`] that is dropped takes it out.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::{Duration, Instant};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use crate::task::{shows, thread};
use crate::time::{Sleep, now, sleep, sleep_until};

/// Ticks every `period`, the first time immediately; missed ticks come in a [burst](Missed::Burst).
///
/// The time is that of the executor that polls it, as with [`sleep`](crate::sleep()). It never ends; if adding the period
/// exceeds the range of [`Instant`], the next tick never comes.
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

/// As [`interval`]; `missed` says how to handle missed ticks.
///
/// # Panics
///
/// If `period` is zero.
#[track_caller]
pub fn interval_with(period: Duration, missed: Missed) -> Interval {
    Interval::new(sleep(Duration::ZERO), period, missed)
}

/// As [`interval`], but the first tick is due at `start`, an instant of the clock of the executor that polls it. If that has
/// passed, the ticks since then count as missed.
///
/// # Panics
///
/// If `period` is zero.
#[track_caller]
pub fn interval_at(start: Instant, period: Duration) -> Interval {
    Interval::new(sleep_until(start), period, Missed::Burst)
}

/// How to handle missed ticks: those that were not taken before the next one was due. The policies are those of
/// `tokio::time::MissedTickBehavior`.
///
/// In the examples below the period is 1 s; a tick is taken at 0 s, and the next one is asked for at 4.5 s.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Missed {
    /// All missed ticks are delivered, one after the other without a pause, until the interval has caught up: four at 4.5 s, the
    /// next at 5 s. The total number of ticks is right in the end.
    #[default]
    Burst,
    /// The first missed tick is delivered, and the next one comes one period after it was taken: at 4.5, 5.5 and 6.5 s. The same
    /// applies to every tick taken more than 5 ms late, even if none was missed. (A tick taken up to 5 ms late, and less than a
    /// period, does not shift the next one, so that small delays of the executor do not add up.) Two ticks are at least a period
    /// minus 5 ms apart.
    Delay,
    /// The first missed tick is delivered, the others are skipped, and the next one comes at a multiple of the period after the
    /// first tick, as if nothing had happened: at 4.5, 5 and 6 s.
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

/// See [`interval`]. It is also a [`Stream`] of ticks, which does not end.
#[must_use = "an interval does nothing unless its ticks are awaited"]
#[derive(Debug)]
pub struct Interval {
    /// Until the next tick.
    sleep: Sleep,
    period: Duration,
    missed: Missed,
}

impl Interval {
    #[track_caller]
    fn new(sleep: Sleep, period: Duration, missed: Missed) -> Interval {
        assert!(
            !period.is_zero(),
            "an interval with a period of zero would tick without end; use 1 ns or more"
        );
        Interval { sleep, period, missed }
    }

    /// Waits for the next tick and returns the instant at which it was due, which may be in the past.
    ///
    /// Cancellation-safe: dropping the future takes no tick; the next call gets it. In a `select!`:
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
        Tick { interval: self, polled: false }
    }

    /// Restarts the interval: the next tick comes one period from now. Poll it after a reset: one that was polled as a stream
    /// before, and is not polled again, wakes nobody.
    #[track_caller]
    pub fn reset(&mut self) {
        self.reset_after(self.period);
    }

    /// Restarts the interval: the next tick comes after `d`, at once if that is zero; with [`Duration::MAX`] never.
    /// Poll it then, as after [`reset`](Self::reset).
    #[track_caller]
    pub fn reset_after(&mut self, d: Duration) {
        self.sleep = sleep(d);
    }

    /// Restarts the interval: the next tick is due at `t`, as with [`interval_at`]. Poll it then, as after
    /// [`reset`](Self::reset).
    #[track_caller]
    pub fn reset_at(&mut self, t: Instant) {
        self.sleep = sleep_until(t);
    }

    /// The time between two ticks.
    pub fn period(&self) -> Duration {
        self.period
    }

    /// How missed ticks are handled.
    pub fn missed(&self) -> Missed {
        self.missed
    }

    /// Sets how missed ticks are handled, from the next tick on.
    pub fn set_missed(&mut self, missed: Missed) {
        self.missed = missed;
    }

    fn poll_tick(&mut self, cx: &mut Context<'_>) -> Poll<Instant> {
        ready!(Pin::new(&mut self.sleep).poll(cx));
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

/// It never ends.
impl FusedStream for Interval {
    fn is_terminated(&self) -> bool {
        false
    }
}

/// See [`Interval::tick`].
#[must_use = "futures do nothing unless polled"]
pub struct Tick<'a> {
    interval: &'a mut Interval,
    polled: bool,
}

impl Future for Tick<'_> {
    type Output = Instant;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Instant> {
        self.polled = true;
        self.interval.poll_tick(cx)
    }
}

/// Takes its timer out; the tick is still to come.
impl Drop for Tick<'_> {
    fn drop(&mut self) {
        // (Else it is the interval's, as a stream.)
        if self.polled {
            self.interval.sleep.pause();
        }
    }
}

shows! { [] Tick<'_>, "Tick", it => interval: it.interval }

thread::waits! { ['a] Tick<'a>, "Tick", |tick: &Self| tick.interval.sleep.due() }
