//! One worker of a crew: its queue, and what it alone keeps.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::contention::Contention;
use crate::fiber::ring::{Entry, Ring};
use crate::prim::{AtomicBool, AtomicU64, Condvar, MODEL, Ordering, RUN_SLOTS, UnsafeCell};
use crate::task::budget;

/// How many operations may be completed by fibers that run from the slot in a row (as many as there are turns between two looks, so
/// that two that wake each other starve nobody): so a streak of long polls is over before those in the ring have stood there for
/// long, and does not call the other workers to them.
const STREAK_OPERATIONS: u32 = 1_536;
/// After so many, if turns are not short, a worker looks up from them: each may take long.
const LOOK_OPERATIONS: u32 = 512;
/// What stands in a ring for so long may move to another worker. Less, and fibers that wake each other are torn
/// apart: two workers that share a channel are slower than one, and one gets through many short polls meanwhile.
pub(super) const LATE: Duration = Duration::from_micros(30);
/// For this many turns after a poll that has taken longer than [`LATE`], whatever they leave in the ring may move at once: what
/// comes next there may be as long.
const LONG: u32 = 16;
/// A queue that has grown beyond this gives its memory back when it is empty.
pub(super) const KEEP: usize = 1024;

/// One worker's part.
pub(crate) struct Worker<T> {
    /// Its place among the crew's.
    pub(crate) index: usize,
    pub(super) ring: Ring<T>,
    /// How many fibers it has begun with, for the watcher.
    pub(super) turn: AtomicU64,
    /// The one in which it looks up from them next.
    pub(super) look: AtomicU64,
    /// By its own account, what stands in its ring has stood there for long.
    pub(super) late: AtomicBool,
    /// Where it sleeps, with the sleepers' lock.
    pub(super) bell: Condvar,
    /// Touched by its own thread only, or by who acts in its place; and in none of the foreign code that it calls.
    pub(super) own: UnsafeCell<Own<T>>,
}

pub(super) struct Own<T> {
    /// In a crew of one, the slot; otherwise empty.
    pub(super) next: Option<T>,
    /// In a crew of one, the queue. Otherwise what came after the end, and found no room in the ring.
    pub(super) queue: VecDeque<T>,
    /// So many in a row may come from the slot still.
    streak: u64,
    /// What the thread's fibers had spent when the streak began.
    spent: u32,
    /// And at the last look.
    pub(super) looked: u32,
    /// The turn up to which no look is made.
    pub(super) held: u64,
    /// One was to be made by then.
    pub(super) owes_look: bool,
    pub(super) mark: Mark,
    pub(super) contention: Contention,
    pub(super) pace: Pace,
    /// The others' turns at the last look, as the watcher.
    pub(super) seen: Vec<u64>,
    /// And as one that is busy.
    pub(super) visited: Vec<Visited>,
}

// SAFETY: `own` is one thread's at a time (`Crew`'s unsafe functions ask for it); entries may be sent.
unsafe impl<T: Send> Sync for Worker<T> {}

impl<T: Entry> Worker<T> {
    /// The worker `index` of so many.
    pub(super) fn new(index: usize, workers: usize) -> Self {
        let own = Own {
            next: None,
            queue: VecDeque::new(),
            streak: MOST_TURNS,
            spent: 0,
            held: 0,
            owes_look: false,
            looked: 0,
            mark: Mark::NONE,
            contention: Contention::NONE,
            pace: Pace::NEW,
            seen: vec![0; workers],
            visited: vec![Visited::default(); workers],
        };
        Worker {
            index,
            ring: Ring::new(if workers == 1 { 0 } else { RUN_SLOTS }),
            turn: AtomicU64::new(0),
            look: AtomicU64::new(FIRST_LOOK),
            late: AtomicBool::new(false),
            bell: Condvar::new(),
            own: UnsafeCell::new(own),
        }
    }

    /// Whether it keeps something waiting, and has been in the same poll since the turn `seen`, which becomes the present one.
    pub(super) fn is_stuck_since(&self, seen: &mut u64) -> bool {
        // ORDERING: Relaxed: a turn that is seen late costs another look.
        let turn = self.turn.load(Ordering::Relaxed);
        std::mem::replace(seen, turn) == turn && self.ring.keeps_waiting()
    }

    /// Opens the worker's own part.
    ///
    /// # Safety
    ///
    /// This is the worker's thread, and not inside another call of this. After foreign code: the crew has not ended, or the thread
    /// drives it still. (Or this is who acts in the worker's place.)
    pub(super) unsafe fn own<R>(&self, f: impl FnOnce(&mut Own<T>) -> R) -> R {
        // SAFETY: exclusive by contract.
        self.own.with_mut(|own| f(unsafe { &mut *own }))
    }
}

/// What a worker knows of another one.
#[derive(Clone, Copy, Default)]
pub(super) struct Visited {
    turn: u64,
    /// How often it was stuck in that one, with somebody to take over.
    times: u32,
}

impl Visited {
    /// Whether `other` is stuck in the same poll, and has no less waiting than its visitor, whose `waiting` counts for less each
    /// time.
    pub(super) fn is_to_help<T: Entry>(&mut self, other: &Worker<T>, waiting: usize) -> bool {
        let is_stuck = other.is_stuck_since(&mut self.turn);
        self.times = if is_stuck { self.times.saturating_add(1) } else { 0 };
        // (One may stand in the slot alone.)
        is_stuck && waiting.checked_shr(self.times).unwrap_or(0) <= other.ring.len().max(1)
    }
}

impl<T> Own<T> {
    /// Whether the one from the slot may run before the others.
    #[inline]
    pub(super) fn streak_goes_on(&mut self) -> bool {
        let is_over = self.streak == 0;
        self.streak = self.streak.wrapping_sub(1);
        !is_over && budget::spent().wrapping_sub(self.spent) <= STREAK_OPERATIONS
    }

    /// The next one is not from the slot. `look`: the worker's, for whom it may be time to look up.
    #[inline]
    pub(super) fn end_streak(&mut self, look: &AtomicU64) {
        self.streak = self.pace.turns;
        self.spent = budget::spent();
        if self.spent.wrapping_sub(self.looked) >= LOOK_OPERATIONS {
            // ORDERING: Relaxed: this thread's only.
            look.store(0, Ordering::Relaxed);
        }
    }

    /// In a crew of one.
    #[inline(always)]
    pub(super) fn take(&mut self, look: &AtomicU64) -> Option<T> {
        if let Some(task) = self.next.take() {
            if self.streak_goes_on() {
                return Some(task);
            }
            self.queue.push_back(task);
        }
        self.take_queued(look)
    }

    /// The same, if nothing from the slot may run.
    #[inline(never)]
    fn take_queued(&mut self, look: &AtomicU64) -> Option<T> {
        self.end_streak(look);
        let task = self.queue.pop_front();
        if task.is_none() && self.queue.capacity() > KEEP {
            self.queue = VecDeque::new();
        }
        task
    }
}

/// How long what stands in a worker's ring has stood there: one entry at a time is timed, by the clock at the first look, the
/// fourth, the 16th and so on, and ever more rarely where none stands for long. So once it is timed, that something has stood there
/// for long is known after some four times as long. (In models it is always long, as they must not depend on the clock.)
pub(super) struct Mark {
    /// The end of the ring at the time; all before it has been taken once `head` gets there.
    at: u64,
    since: Option<Instant>,
    /// Looks since then.
    looks: u32,
    /// Looks without a mark before the next one.
    pause: u32,
    /// So many turns are left of [`LONG`].
    long: u32,
}

impl Mark {
    const NONE: Mark = Mark { at: 0, since: None, looks: 0, pause: 1, long: 0 };

    /// Whether it is long by now, or is likely to be; `None`: nothing new. To be asked at each turn that leaves something there.
    pub(super) fn look<T: Entry>(&mut self, ring: &Ring<T>, now: impl FnOnce() -> Instant) -> Option<bool> {
        if self.long > 0 {
            self.long -= 1;
            return Some(true);
        }
        self.looks += 1;
        let Some(since) = self.since else {
            if self.looks >= self.pause {
                *self = Mark { at: ring.tail(), since: Some(now()), looks: 0, ..*self };
            }
            return None;
        };
        let is_over = ring.head() >= self.at;
        // A look at the clock costs as much as half a poll that is short.
        let is_time = if is_over {
            self.looks == 1
        } else {
            self.looks.is_power_of_two() && self.looks.ilog2() % 2 == 0
        };
        if is_time && (MODEL || now() - since >= LATE) {
            // One turn, or one poll, that is.
            let long = if self.looks == 1 { LONG } else { 0 };
            *self = Mark { long, ..Mark::NONE };
            return Some(true);
        }
        if is_over {
            *self = Mark { since: None, looks: 0, pause: (self.pause * 2).min(32), ..*self };
        }
        is_over.then_some(false)
    }
}

/// After how many turns a worker that is busy looks up from them: 64, or fewer where these are long, so that no timer is late by 64
/// of those; or after [`LOOK_OPERATIONS`]. Where there are no timers only some looks are timed, unless the last turns were long.
pub(super) struct Pace {
    /// From one look to the next.
    turns: u64,
    /// The turn and the time of the last look that was timed.
    last: (u64, u64),
    looks: u64,
    /// The turn in which the next round ends.
    round: u64,
    /// When it visits the others next.
    visit: u64,
}

/// A worker looks up after so many turns at most.
pub(super) const MOST_TURNS: u64 = 64;
/// The turn of the first look. (In models a late one: looks make them larger.)
const FIRST_LOOK: u64 = if MODEL { MOST_TURNS } else { 0 };
/// So many looks, each after so few, are there at first.
const FIRST_LOOKS: u64 = 4;
const FIRST_TURNS: u64 = 4;
/// About so many nanoseconds are between two looks if turns are long, or one turn.
const PERIOD: u64 = 1_000_000;

impl Pace {
    const NEW: Pace = Pace { turns: MOST_TURNS, last: (0, 0), looks: 0, round: 0, visit: 0 };

    /// It looks. Which look that is, and the turns to the next.
    pub(super) fn look(&mut self) -> (u64, u64) {
        self.looks += 1;
        (self.looks, self.to_next())
    }

    fn to_next(&self) -> u64 {
        if self.looks <= FIRST_LOOKS { self.turns.min(FIRST_TURNS) } else { self.turns }
    }

    /// Whether a round of turns is over in this one, not only one of operations.
    pub(super) fn ends_round(&mut self, turn: u64) -> bool {
        let is_over = turn >= self.round;
        if is_over {
            self.round = turn + self.turns;
        }
        is_over
    }

    /// Whether the look is to be timed in any case.
    pub(super) fn is_timed(&self) -> bool {
        self.turns < MOST_TURNS || self.looks < FIRST_LOOKS || self.looks % 4 == 0
    }

    /// Whether it is time to visit the others.
    pub(super) fn visits(&mut self, now: u64) -> bool {
        let visits = now >= self.visit || MODEL;
        if visits {
            self.visit = now + PERIOD;
        }
        visits
    }

    /// This was the time of the look in that turn. Gives the turns to the next.
    pub(super) fn time(&mut self, turn: u64, now: u64) -> u64 {
        let (last, then) = std::mem::replace(&mut self.last, (turn, now));
        let fit = (turn - last).saturating_mul(PERIOD) / now.saturating_sub(then).max(1);
        // (One short turn among long ones is no reason.)
        self.turns = fit.clamp(1, MOST_TURNS.min(2 * self.turns));
        self.to_next()
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use crate::fiber::ring::Number;

    #[test]
    fn after_a_long_poll_what_is_left_is_late_at_once() {
        let ring = Ring::new(RUN_SLOTS);
        for number in 1..=3 {
            assert!(ring.push(Number(number)).is_ok());
        }
        let mut mark = Mark::NONE;
        let mut now = Instant::now();
        let mut look = |after| {
            now += after;
            mark.look(&ring, || now)
        };
        assert_eq!(look(LATE), None);
        // The long poll.
        assert_eq!(look(LATE), Some(true));
        assert!(ring.pop().is_some() && ring.pop().is_some());
        for _ in 0..LONG {
            assert_eq!(look(Duration::ZERO), Some(true));
        }
        assert_eq!(look(Duration::ZERO), None);
        // Another one, which is over when there is somebody else.
        assert!(ring.pop().is_some());
        assert_eq!(look(LATE), Some(true));
    }

    #[test]
    fn the_longer_turns_take_the_fewer_are_between_two_looks() {
        let mut pace = Pace::NEW;
        let (mut turn, mut now) = (0, 0);
        let mut turns_to_next = |nanoseconds| {
            let (_, turns) = pace.look();
            turn += turns;
            now += turns * nanoseconds;
            pace.time(turn, now);
            turns
        };
        for (nanoseconds, expected) in [(100, 64), (30_000, 33), (2_000_000, 1), (100, 64), (2_000_000, 1)] {
            let turns: Vec<u64> = (0..8).map(|_| turns_to_next(nanoseconds)).collect();
            assert_eq!(turns.last(), Some(&expected), "{turns:?}");
        }
        // One short turn among long ones.
        assert_eq!([100, 2_000_000, 2_000_000].map(&mut turns_to_next), [1, 2, 1]);
        pace.looks = 1;
        assert!(pace.is_timed(), "also if there are no timers any more");
    }

    #[test]
    fn a_queue_that_has_grown_gives_its_memory_back() {
        for (tasks, keeps) in [(1, true), (KEEP / 2, true), (2 * KEEP, false)] {
            let worker = Worker::new(0, 1);
            // SAFETY: this is its thread.
            let (taken, capacity) = unsafe {
                worker.own(|own| {
                    own.queue.extend((1..=tasks).map(Number));
                    let taken = std::iter::from_fn(|| own.take(&worker.look)).count();
                    (taken, own.queue.capacity())
                })
            };
            assert_eq!((taken, capacity > 0), (tasks, keeps));
        }
    }
}
