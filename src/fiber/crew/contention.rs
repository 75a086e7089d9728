//! Workers whose fibers are in each other's way, and who of them steps aside.
//!
//! Two cores that change the same words get less done than one of them alone, by up to five times if they are far apart. Fibers
//! that share a channel, or a mutex, get there once some of them were stolen, and would stay: both workers always find some that
//! are ready.
//!
//! So a worker whose fibers lose many exchanges to other cores, or get a mutex only by lingering for it, again and again,
//! *steps aside*: it sleeps for a while, and leaves what is in its ring to the others, who take it as soon as they run out of
//! their own. Fibers that share find each other on one worker that way. If the others have enough to do without them, it soon
//! goes on; and each further time it steps aside for twice as long, up to the end of [`ASIDE`].
//!
//! Nothing relies on it: it is a matter of time only. In models nothing is counted as lost. One worker at least goes on, as
//! well as it can be told from `idle` a moment before; if that one parks just then, it has found nothing to take, or keeps the
//! watch.

use std::time::{Duration, Instant};

use super::{Crew, PARKED, Worker};
use crate::fiber::ring::Entry;
use crate::prim::{self, Ordering};
use crate::task::thread;

/// Less than one loss in this time, with a pause of half a microsecond, does not matter: that is a fortieth of it.
const RARE: Duration = Duration::from_micros(20);
/// How long it sleeps at first, and at most: less than fibers wait behind a long poll until the watcher sees it.
const ASIDE: [Duration; 2] = [Duration::from_micros(100), Duration::from_micros(1600)];

/// What a worker remembers of it.
pub(super) struct Contention {
    /// What the thread had lost at the last look, in pauses.
    pauses: u32,
    since: Option<Instant>,
    aside: Duration,
}

impl Contention {
    pub(super) const NONE: Contention = Contention { pauses: 0, since: None, aside: Duration::ZERO };

    /// How long to step aside, if at all, once the thread has lost so many pauses. To be asked from time to time.
    fn look(&mut self, pauses: u32, now: impl FnOnce() -> Instant) -> Option<Duration> {
        let more = pauses.wrapping_sub(self.pauses);
        if more == 0 {
            return None;
        }
        self.pauses = pauses;
        let now = now();
        let since = self.since.replace(now)?;
        if now - since >= RARE.saturating_mul(more) {
            self.aside /= 2;
            return None;
        }
        *self = Contention { since: None, aside: (self.aside * 2).clamp(ASIDE[0], ASIDE[1]), ..*self };
        Some(self.aside)
    }
}

impl<T: Entry> Crew<T> {
    /// Steps aside, if that may help.
    pub(super) unsafe fn step_aside(&self, worker: &Worker<T>) {
        // SAFETY: by contract; nothing foreign is called.
        let Some(time) = (unsafe { worker.own(|own| own.contention.look(thread::lost(), Instant::now)) })
        else {
            return;
        };
        let before = self.aside.fetch_add(1, Ordering::Relaxed);
        // ORDERING: Relaxed, both: a guess.
        let idle = self.idle.load(Ordering::Relaxed);
        if before + idle / PARKED + idle % PARKED + 1 < self.workers.len() {
            if let Some(task) = worker.ring.take_next() {
                // SAFETY: by contract.
                unsafe { self.push_last(worker, task) };
            }
            worker.late.store(true, Ordering::Relaxed);
            prim::thread::sleep(time);
        }
        self.aside.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn who_loses_often_sleeps_ever_longer_and_forgets_it_later() {
        let mut contention = Contention::NONE;
        let mut now = Instant::now();
        let mut pauses = u32::MAX - 3;
        let mut look = |more: u32, after: Duration| {
            pauses = pauses.wrapping_add(more);
            now += after;
            contention.look(pauses, || now).map(|time| time.as_micros())
        };
        let (often, seldom) = (Duration::from_micros(50), Duration::from_millis(1));
        look(1, often);
        for expected in [100, 200, 400, 800, 1600, 1600] {
            assert_eq!(look(5, often), Some(expected));
            assert_eq!(look(5, often), None, "what was lost before it slept is of no account");
        }
        assert_eq!(look(0, often), None);
        // Down to 200.
        for _ in 0..3 {
            assert_eq!(look(5, seldom), None);
        }
        assert_eq!(look(5, often), Some(400));
    }
}
