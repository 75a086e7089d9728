//! The seam: everything that a fiber asks of its executor, scheduling and time included.
//!
//! Runtimes and cords implement it today; a simulation that orders the same fibers by a seed can do so as well.

use std::any::Any;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::task::header::Task;
use crate::task::here::Post;

/// One timer of an executor: where it is kept, and its number, unique among all timers that are or were kept there.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TimerKey {
    pub(crate) store: u32,
    pub(crate) entry: u32,
    pub(crate) number: u64,
}

/// What has become of a timer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum TimerState {
    /// It is there.
    Pending,
    /// Its deadline has come, and it has been woken, or is being.
    Fired,
    /// It is gone because the executor has ended; it may have fired before.
    Closed,
}

/// Ends a thread's sleep, the current one or the next, so that it sees to the timers that it looks after.
pub(crate) trait Bell: Sync {
    fn ring(&self);
}

/// What an executor does for its fibers.
pub(crate) trait Seam: Any + Send + Sync {
    /// Puts a ready fiber where it runs soon, or behind those that are ready, in a queue of the worker that this thread is.
    fn schedule(&self, post: Post, task: Task);

    /// Puts a ready fiber where a worker finds it, from anywhere.
    ///
    /// # Errors
    ///
    /// Gives it back after the end of the executor. If it is owned, the caller has to end it.
    fn inject(&self, task: Task) -> Result<(), Task>;

    /// This thread's worker is about to block: others get what is ready on it.
    fn blocks(&self, worker: NonNull<()>);

    /// Whether there is one worker, which ends all fibers that it has taken.
    fn is_alone(&self) -> bool {
        false
    }

    /// This thread does not act as its worker from now on: it is about to block, or to drive another executor. `Some`: meanwhile
    /// somebody else may act in its place, should the executor end; so this thread has to say when it
    /// [returns](Self::returns).
    #[must_use]
    fn leaves(&self) -> Option<usize> {
        None
    }

    /// This thread, which has [left](Self::leaves), acts as that worker again. False: somebody else does, or has.
    #[must_use]
    fn returns(&self, _left: usize) -> bool {
        true
    }

    /// The time by the executor's clock.
    fn now(&self) -> Instant;

    /// The time by that clock since the executor was made; zero where nobody asks: of real time.
    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    /// Which clock that is: 0 for real time; other numbers say that instants of two clocks do not compare.
    fn clock_id(&self) -> usize;

    /// Has `waker` woken once `at` has come. `worker`: the one that this thread is, if any. `None`: the executor has
    /// ended; nothing is kept.
    fn set_timer(&self, worker: Option<NonNull<()>>, at: Instant, waker: Waker) -> Option<TimerKey>;

    /// Changes whom a timer wakes, if it is pending.
    fn renew_timer(&self, key: TimerKey, waker: &Waker) -> TimerState;

    /// Takes a timer out, if it hasn't fired.
    fn clear_timer(&self, key: TimerKey);

    /// The next deadline in real time, or one before it: for a worker that waits.
    fn next_timer(&self) -> Option<Instant> {
        None
    }

    /// Wakes those whose deadline has come, and is not after `limit`, which is one of real time.
    fn fire_timers(&self, _limit: Option<Instant>) {}

    /// A worker is about to sleep in a call that blocks: returns the [next deadline](Self::next_timer). From then on, whoever sets
    /// an earlier one and finds nobody else to look after it rings `bell`, until that is [taken down](Self::take_down); after that
    /// nobody touches it.
    fn hang_up(&self, _bell: &'static dyn Bell) -> Option<Instant> {
        None
    }

    /// Ends [`hang_up`](Self::hang_up).
    fn take_down(&self, _bell: &'static dyn Bell) {}

    /// Something outside the run queue (a blocking job, a `block_on`) may make fibers ready from now on: time
    /// on a virtual clock stands still, and a closed world is not at its end, until [`calm`](Self::calm). Not to be called under a
    /// lock that timers, or a check for ready fibers, need.
    fn busy(&self);

    /// Ends one [`busy`](Self::busy).
    fn calm(&self);

    /// A panic that nobody joins.
    fn report_panic(&self, task: &Task, payload: &(dyn Any + Send));

    /// Whether it wants to be told by [`begins`](Self::begins) and [`ends`](Self::ends).
    fn is_hooked(&self) -> bool {
        false
    }

    /// A fiber was admitted, and is about to be started.
    fn begins(&self, _task: &Task) {}

    /// The future of an admitted fiber is gone, and it is about to be completed.
    fn ends(&self, _task: &Task) {}

    /// A poll that was longer than the limit for it.
    fn report_slow_poll(&self, task: &Task, took: Duration);

    /// The executor itself.
    fn as_any(&self) -> &dyn Any;
}
