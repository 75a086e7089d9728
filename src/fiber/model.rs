//! What models of the crew, of its rings and of timers need. For `loom-tests` only.

use std::task::Waker;
use std::time::Instant;

use crate::fiber::crew;
use crate::fiber::ring::{self, Number};
use crate::prim::{Condvar, Mutex, RUN_SLOTS};
use crate::task::seam::{self, TimerKey, TimerState};
use crate::time::Clock;
use crate::time::timers;

/// A crew of workers whose fibers are numbers. What is said of worker `i` is called by one thread only.
pub struct Crew(crew::Crew<Number>);

/// What ends the sleep of a worker in a call that blocks.
#[derive(Debug, Default)]
pub struct Bell(Mutex<usize>, Condvar);

impl Bell {
    /// Ends it.
    pub fn ring(&self) {
        *self.0.lock() += 1;
        self.1.notify_all();
    }
}

impl seam::Bell for Bell {
    fn ring(&self) {
        self.ring();
    }
}

impl Crew {
    /// A crew of a runtime.
    pub fn new(workers: usize) -> Self {
        Crew(crew::Crew::new(workers, false, Clock::real()))
    }

    /// A crew of a runtime in a closed world. `tell` wakes the given one of those in a `block_on`; its thread is busy by then.
    pub fn closed(workers: usize, tell: impl Fn(usize) + Send + Sync + 'static) -> Self {
        Crew(crew::Crew::new(workers, false, Clock::real()).closed(move |crew, main: &Number| {
            crew.busy();
            tell(main.0);
        }))
    }

    /// A crew of a runtime with a virtual clock.
    pub fn simulated(workers: usize) -> Self {
        Crew(crew::Crew::new(workers, false, Clock::virtual_time()))
    }

    /// The time by its clock.
    pub fn now(&self) -> Instant {
        self.0.timers.clock.now()
    }

    /// Somebody is active outside the workers.
    pub fn busy(&self) {
        self.0.busy();
    }

    /// And no more.
    pub fn calm(&self) {
        self.0.calm();
    }

    /// Somebody, who is busy, will wait in a `block_on`.
    pub fn expect_main(&self, number: usize) {
        self.0.expect_main(|| Number(number));
    }

    /// And, busy again, no more.
    pub fn dismiss_main(&self, number: usize) {
        self.0.dismiss_main(|main| main.0 == number);
    }

    /// A cord's.
    pub fn strict() -> Self {
        Crew(crew::Crew::new(1, true, Clock::real()))
    }

    /// From anywhere; false: it has ended.
    pub fn inject(&self, number: usize) -> bool {
        self.0.inject(Number(number)).is_ok()
    }

    /// Worker `i` makes one ready that is to run next.
    pub fn push_next(&self, i: usize, number: usize) {
        // SAFETY: the model's threads are the workers.
        unsafe { self.0.push_next(self.0.worker(i), Number(number)) };
    }

    /// Worker `i` makes one ready behind the others.
    pub fn push_last(&self, i: usize, number: usize) {
        // SAFETY: the model's threads are the workers.
        unsafe { self.0.push_last(self.0.worker(i), Number(number)) };
    }

    /// The next one for worker `i`; `None`: the crew has ended.
    pub fn next(&self, i: usize) -> Option<usize> {
        // SAFETY: the model's threads are the workers.
        unsafe { self.0.next(self.0.worker(i)) }.map(|number| number.0)
    }

    /// Worker `i` is about to block.
    pub fn blocks(&self, i: usize) {
        // SAFETY: the model's threads are the workers.
        let handed_over = unsafe { self.0.blocks(self.0.worker(i)) };
        assert!(handed_over.is_ok(), "no scenario blocks after the end");
    }

    /// Worker `i`, or somebody outside, sets a timer that is due at once.
    pub fn set_timer(&self, i: Option<usize>, waker: Waker) {
        self.set_timer_at(i, self.now(), waker);
    }

    /// Or then.
    pub fn set_timer_at(&self, i: Option<usize>, at: Instant, waker: Waker) {
        let _key = self.0.set_timer(i, at, waker).expect("no scenario sets one after the end");
    }

    /// A worker is in a call that blocks until it is so, which `bell` tells as well.
    pub fn wait_aside(&self, bell: &Bell, is_so: impl Fn() -> bool) {
        // SAFETY: the lifetime alone changes, and it is taken down each time.
        let bell = unsafe { &*std::ptr::from_ref(bell) };
        loop {
            let rung = *bell.0.lock();
            if is_so() {
                return;
            }
            if self.0.hang_up(bell).is_none() {
                let mut rings = bell.0.lock();
                while *rings == rung {
                    rings = bell.1.wait_until(&bell.0, rings, None);
                }
            }
            self.0.take_down(bell);
            self.0.timers.fire(None);
        }
    }

    /// The only worker is about to block.
    pub fn leaves(&self) -> usize {
        self.0.leaves()
    }

    /// And is back; false: somebody acts in its place, or has.
    pub fn returns(&self, left: usize) -> bool {
        self.0.returns(left)
    }

    /// It has ended.
    pub fn gone(&self) {
        self.0.gone();
    }

    /// After the end: waits until the only worker is gone, or away; in that case calls `f`.
    pub fn in_its_place(&self, f: impl FnOnce()) {
        self.0.in_its_place(f);
    }

    /// The same, unless somebody else has the place.
    pub fn in_its_own_place(&self, f: impl FnOnce()) {
        self.0.in_its_own_place(f);
    }

    /// Ends it; gives what was injected.
    pub fn close(&self) -> Vec<usize> {
        self.0.close();
        std::iter::from_fn(|| self.0.take_rest()).map(|number| number.0).collect()
    }

    /// What worker `i` has to end as it leaves.
    pub fn left(&self, i: usize) -> Vec<usize> {
        // SAFETY: the model's threads are the workers.
        std::iter::from_fn(|| unsafe { self.0.take_left(self.0.worker(i)) }).map(|number| number.0).collect()
    }
}

/// The timers of an executor of one worker. All are due from the beginning.
#[derive(Debug)]
pub struct Timers(timers::Timers, Instant);

impl Default for Timers {
    fn default() -> Self {
        let clock = Clock::real();
        let past = clock.now();
        Timers(timers::Timers::new(clock, 1), past)
    }
}

/// Which timer.
#[derive(Debug, Clone, Copy)]
pub struct Timer(TimerKey);

impl Timers {
    /// Adds one; `None`: closed.
    pub fn set(&self, waker: Waker) -> Option<Timer> {
        self.0.set(None, self.1, waker).map(|(key, _)| Timer(key))
    }

    /// Changes whom it wakes; false: it has fired.
    pub fn renew(&self, timer: Timer, waker: &Waker) -> bool {
        self.0.renew(timer.0, waker) == TimerState::Pending
    }

    /// Takes it out.
    pub fn clear(&self, timer: Timer) {
        self.0.clear(timer.0);
    }

    /// Wakes all.
    pub fn fire(&self) {
        self.0.fire(None);
    }

    /// Ends them.
    pub fn close(&self) {
        self.0.close();
    }
}

/// A worker's ring of numbers, with its slot. What an owner does one thread does.
pub struct Ring(ring::Ring<Number>);

impl Default for Ring {
    fn default() -> Self {
        Ring(ring::Ring::new(RUN_SLOTS))
    }
}

impl Ring {
    /// The owner's; false: full.
    pub fn push(&self, number: usize) -> bool {
        self.0.push(Number(number)).is_ok()
    }

    /// The owner's.
    pub fn pop(&self) -> Option<usize> {
        self.0.pop().map(|number| number.0)
    }

    /// The owner's.
    pub fn take_half(&self) -> Vec<usize> {
        self.0.take_half().into_iter().map(|number| number.0).collect()
    }

    /// The owner's; gives who stood there.
    pub fn put_next(&self, number: usize) -> Option<usize> {
        self.0.put_next(Number(number)).map(|number| number.0)
    }

    /// The owner's.
    pub fn take_next(&self) -> Option<usize> {
        self.0.take_next().map(|number| number.0)
    }

    /// A thief's, who owns `mine`.
    pub fn steal_into(&self, mine: &Ring) -> Option<usize> {
        self.0.steal_into(&mine.0, true).map(|number| number.0)
    }

    /// A thief's.
    pub fn steal_one(&self) -> Option<usize> {
        self.0.steal_one().map(|number| number.0)
    }
}
