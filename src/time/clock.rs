//! Clocks: the real one, and virtual ones that jump.

use std::fmt;
use std::time::Instant;

use crate::prim::{self, Arc, Counter, Mutex};
use crate::task::context;

/// Where an executor's time comes from; see [`RuntimeBuilder::clock`](crate::fiber::RuntimeBuilder::clock) and
/// [`Cord::with_clock`](crate::fiber::Cord::with_clock).
///
/// A clone shows the same time. A virtual clock is moved by the executor that has it, so give it to one only,
/// and keep a clone to look at it.
#[derive(Clone)]
pub struct Clock(Kind);

#[derive(Clone)]
enum Kind {
    Real,
    Virtual(Arc<Virtual>),
}

struct Virtual {
    id: u64,
    now: Mutex<Instant>,
}

static IDS: Counter = Counter::new();

impl Clock {
    /// The time of the machine.
    pub fn real() -> Clock {
        Clock(Kind::Real)
    }

    /// A time of its own, which begins now.
    ///
    /// It stands still as long as a fiber of its executor is ready or runs, in a call that blocks its thread as well, and as long
    /// as one waits for [`unblock`](crate::fiber::unblock), [`on_new_thread`](crate::fiber::on_new_thread), or
    /// [`on`](crate::fiber::on) another runtime. Otherwise it jumps to the next deadline, also if a thread or a task of another
    /// executor is about to send something: a time limit on such a wait is over at once. (To hold the clock receive in
    /// `unblock(move || rx.recv_blocking())`.) Deadlines at one instant come in the order in which they were set. If there is none
    /// it just stands.
    pub fn virtual_time() -> Clock {
        Clock(Kind::Virtual(Arc::new(Virtual { id: IDS.next().get(), now: Mutex::new(Instant::now()) })))
    }

    /// The time by this clock.
    pub fn now(&self) -> Instant {
        match &self.0 {
            Kind::Real => prim::now(),
            Kind::Virtual(clock) => *clock.now.lock(),
        }
    }

    /// Whether this is a virtual clock.
    pub fn is_virtual(&self) -> bool {
        matches!(self.0, Kind::Virtual(_))
    }

    /// 0 for real time, else a number of this clock's own.
    pub(crate) fn id(&self) -> usize {
        match &self.0 {
            Kind::Real => 0,
            Kind::Virtual(clock) => clock.id as usize,
        }
    }

    /// Moves a virtual clock forward to `at`; never back.
    pub(crate) fn advance(&self, at: Instant) {
        if let Kind::Virtual(clock) = &self.0 {
            let mut now = clock.now.lock();
            *now = at.max(*now);
        }
    }
}

impl Default for Clock {
    fn default() -> Self {
        Clock::real()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Kind::Real => f.write_str("Clock::Real"),
            // (Written without the lock.)
            Kind::Virtual(_) => f.debug_tuple("Clock::Virtual").field(&self.now()).finish(),
        }
    }
}

/// The time by the clock of the executor that the caller runs on; outside of any, real time.
///
/// It is a [`std::time::Instant`] on a virtual clock as well.
pub fn now() -> Instant {
    context::with_home_here(|home| home.map_or_else(Instant::now, |home| home.seam.now()))
}
