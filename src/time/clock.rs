//! Clocks: the real one, and virtual ones that jump.

use std::fmt;
use std::time::Instant;

use crate::prim::{self, Arc, Counter, Mutex};
use crate::task::context;

/// Where an executor's time comes from; see [`RuntimeBuilder::clock`](crate::fiber::RuntimeBuilder::clock) and
/// [`Cord::with_clock`](crate::fiber::Cord::with_clock).
///
/// A clone shows the same time. A virtual clock is advanced by its executor, so give it to one executor only, and keep a
/// clone to read it.
#[derive(Clone)]
pub struct Clock(
    /// `None`: real time.
    Option<Arc<Virtual>>,
);

struct Virtual {
    id: u64,
    now: Mutex<Instant>,
}

static IDS: Counter = Counter::new();

impl Clock {
    /// The machine's clock.
    pub fn real() -> Clock {
        Clock(None)
    }

    /// A clock with a time of its own, which starts now.
    ///
    /// It stands still as long as a fiber of its executor is ready or running (even in a call that blocks its thread), as long as
    /// a call of [`unblock`](crate::fiber::unblock) or [`on_new_thread`](crate::fiber::on_new_thread) runs (also if nobody waits
    /// for it any more: one that itself waits for a time of this clock never ends), and as long as one waits for
    /// [`on`](crate::fiber::on) another runtime. Otherwise it jumps to the next deadline, even if a thread or a task of another
    /// executor is about to send something: a time limit on such a wait expires at once. (To hold the clock, receive in
    /// `unblock(move || rx.recv_blocking())`.) Timers with the same deadline fire in the order in which they were set. Without a
    /// next deadline it stands still.
    pub fn virtual_time() -> Clock {
        Clock(Some(Arc::new(Virtual { id: IDS.next().get(), now: Mutex::new(Instant::now()) })))
    }

    /// The current time of this clock.
    pub fn now(&self) -> Instant {
        self.0.as_ref().map_or_else(prim::now, |clock| *clock.now.lock())
    }

    /// Whether this is a virtual clock.
    pub fn is_virtual(&self) -> bool {
        self.0.is_some()
    }

    /// 0 for real time, else a number of this clock's own.
    pub(crate) fn id(&self) -> usize {
        self.0.as_ref().map_or(0, |clock| clock.id as usize)
    }

    /// Moves a virtual clock forward to `at`; never back.
    pub(crate) fn advance(&self, at: Instant) {
        if let Some(clock) = &self.0 {
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
            None => f.write_str("Clock::Real"),
            // (Written without the lock.)
            Some(_) => f.debug_tuple("Clock::Virtual").field(&self.now()).finish(),
        }
    }
}

/// The current time of the executor that the caller runs on; outside of any, real time.
///
/// On a virtual clock, too, it is a [`std::time::Instant`].
pub fn now() -> Instant {
    context::with_home_here(|home| home.map_or_else(Instant::now, |home| home.seam.now()))
}
