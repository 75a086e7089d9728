//! A thread that has lost an exchange: it stays away from the word for a while. How long, it learns.
//!
//! Two cores that change one word in turn get less done than one of them alone: each change waits for the cache line, 20 to 50 ns, or
//! 200 between cores that are far apart. So who loses leaves the word to the core that was quicker, and that gets dozens of
//! operations done meanwhile. A loss that comes soon after the last pause, within eight times its length, doubles the next one, any
//! other halves it. So where cores are in each other's way all the time they take turns, long enough that the line hardly matters;
//! where they meet now and then, because there is more work in between, pauses stay short.
//!
//! A call that blocks its thread is back sooner, and so is one that must not wait: its peer may be a thread that looks around for a
//! microsecond and then sleeps, and to wake that one costs more than a hundred operations. (An async task that finds nothing has left
//! its thread to others at once, whoever pauses.)
//!
//! Nothing relies on it, and nobody is waited for: a pause ends by itself. In models there are no pauses, and nothing is counted.
//!
//! Source: the back-off of whoever fails is as old as Ethernet; that it goes by the time between two losses is ours, and so are the
//! figures, found by experiment: four tasks that send and four that receive, on two workers of tokio, take three quarters of the time
//! they take with pauses of 0.5 to 4 µs, and a third where cores are far apart.

use std::cell::Cell;
use std::time::{Duration, Instant};

use super::{patience, pause_for};
use crate::prim;
use crate::task::budget;

/// The shortest pause.
const LEAST: Duration = Duration::from_nanos(500);
/// The longest one.
const MOST: Duration = Duration::from_micros(16);
/// The longest one in a call that blocks.
const MOST_BRIEF: Duration = Duration::from_micros(4);
/// So many times as long as the pause before: soon after it.
const SOON: u32 = 8;
/// So long after it that it is none of its business, however long that pause was.
const LONG_AGO: Duration = Duration::from_micros(64);
/// In a call that blocks, so small a part of it: the very next exchange is lost, too.
const AT_ONCE: u32 = 4;

struct Losses {
    /// In pauses of [`LEAST`], modulo 2³².
    lost: Cell<u32>,
    /// How long the last pause was, and when it ended.
    pause: Cell<Duration>,
    ended: Cell<Option<Instant>>,
}

prim::thread_local! {
    static LOSSES: Losses = Losses { lost: Cell::new(0), pause: Cell::new(LEAST), ended: Cell::new(None) };
}

/// A pause after a lost exchange: whoever was quicker works on another core.
#[cold]
pub(crate) fn back_off() {
    pause(budget::is_blocking());
}

/// The same for one that does not wait, and may be called on any thread.
#[cold]
pub(crate) fn back_off_briefly() {
    pause(true);
}

fn pause(briefly: bool) {
    if !prim::MODEL {
        let _ = LOSSES.try_with(|losses| losses.pause(briefly));
    }
}

/// The same where whoever was quicker is on the same side: it goes on, and the other side may have this core meanwhile. `steps`
/// grows with what happens there.
#[cold]
pub(crate) fn give_way(steps: impl Fn() -> u32) {
    back_off();
    patience::let_others_run(None, steps);
}

/// Looks around for a moment, if that has paid lately, for something that a peer on another core is about to finish with. Getting
/// it counts as one lost exchange: another core had it before. (Not getting it says nothing: its holder may be asleep.)
#[cold]
pub(crate) fn linger<R>(look: impl FnMut() -> Option<R>) -> Option<R> {
    if prim::MODEL {
        return None;
    }
    let found = patience::linger(look);
    if found.is_some() {
        let _ = LOSSES.try_with(|losses| losses.count(LEAST));
    }
    found
}

/// How much this thread has lost to other cores, in pauses of half a microsecond, modulo 2³².
pub(crate) fn lost() -> u32 {
    LOSSES.try_with(|losses| losses.lost.get()).unwrap_or(0)
}

impl Losses {
    fn count(&self, pause: Duration) {
        let pauses = pause.as_nanos() / LEAST.as_nanos();
        self.lost.set(self.lost.get().wrapping_add(pauses as u32));
    }

    fn pause(&self, briefly: bool) {
        let pause = self.next(Instant::now(), briefly);
        self.ended.set(Some(pause_for(pause)));
    }

    /// How long to pause at `now`.
    fn next(&self, now: Instant, briefly: bool) -> Duration {
        let pause = self.pause.get();
        let (soon, most) =
            if briefly { (pause / AT_ONCE, MOST_BRIEF) } else { ((pause * SOON).min(LONG_AGO), MOST) };
        let is_soon = self.ended.get().is_some_and(|ended| now - ended < soon);
        let pause = if is_soon { pause * 2 } else { pause / 2 }.clamp(LEAST, most);
        self.pause.set(pause);
        self.count(pause);
        pause
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::super::block_on;
    use super::*;

    /// Pauses in microseconds, of which each comes so long after the end of the one before.
    fn after(gaps: &[Duration], briefly: bool) -> Vec<f64> {
        let losses = Losses { lost: Cell::new(u32::MAX), pause: Cell::new(LEAST), ended: Cell::new(None) };
        let mut now = Instant::now();
        let mut sum = 0;
        let pauses = gaps.iter().map(|gap| {
            now += *gap;
            let pause = losses.next(now, briefly);
            now += pause;
            losses.ended.set(Some(now));
            sum += (pause.as_nanos() / LEAST.as_nanos()) as u32;
            assert_eq!(losses.lost.get(), u32::MAX.wrapping_add(sum), "each pause is counted");
            pause.as_nanos() as f64 / 1000.0
        });
        pauses.collect()
    }

    #[test]
    fn losses_in_a_row_make_long_pauses_and_rare_ones_short_ones() {
        let (soon, rare) = (Duration::from_micros(3), LONG_AGO);
        let gaps = [[soon; 7], [rare; 7]].concat();
        let expected = [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 16.0, 8.0, 4.0, 2.0, 1.0, 0.5, 0.5, 0.5];
        assert_eq!(after(&gaps, false), expected);
    }

    #[test]
    fn a_call_that_blocks_is_back_sooner() {
        let (at_once, soon) = (Duration::from_nanos(100), Duration::from_micros(3));
        assert_eq!(after(&[at_once; 6], true), [0.5, 1.0, 2.0, 4.0, 4.0, 4.0]);
        assert_eq!(after(&[soon; 3], true), [0.5; 3]);
    }

    #[test]
    fn calls_that_block_are_told_from_tasks() {
        let polled = || block_on(std::pin::pin!(async { budget::is_blocking() }), None);
        assert_eq!(polled(), Some(true));
        assert!(!budget::is_blocking(), "a task of another executor has no budget either");
        assert!(!budget::without(budget::is_blocking));
        assert!(!budget::with(budget::is_blocking));
        assert!(!budget::blocking(|| budget::with(budget::is_blocking)), "a fiber within");
        assert_eq!(budget::with(polled), Some(true));
    }
}
