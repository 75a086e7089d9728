//! The seam: everything that a fiber asks of its executor, scheduling and time included.
//!
//! Runtimes and cords implement it today; a simulation that orders the same fibers by a seed can do so as well.

use std::any::Any;
use std::task::Waker;
use std::time::Instant;

use crate::task::header::Task;

/// One timer of an executor: when it is due, and its place among those due at that instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct TimerKey {
    pub(crate) at: Instant,
    pub(crate) seq: u64,
}

/// What an executor does for its fibers.
pub(crate) trait Seam: Any + Send + Sync {
    /// Puts a scheduled fiber at the back of the run queue. After the end of the executor: drops the count.
    fn schedule(&self, task: Task);

    /// The time by the executor's clock.
    fn now(&self) -> Instant;

    /// Which clock that is: 0 for real time; other numbers say that instants of two clocks do not compare.
    fn clock_id(&self) -> usize;

    /// Has `waker` woken once `at` has come. `None`: the executor has ended; nothing is kept.
    fn set_timer(&self, at: Instant, waker: Waker) -> Option<TimerKey>;

    /// Changes whom a timer wakes. False: it has fired.
    fn renew_timer(&self, key: TimerKey, waker: &Waker) -> bool;

    /// Takes a timer out, if it hasn't fired.
    fn clear_timer(&self, key: TimerKey);

    /// Something outside the run queue (a blocking job, a `block_on`) may make fibers ready from now on: time
    /// on a virtual clock stands still until [`calm`](Self::calm).
    fn busy(&self);

    /// Ends one [`busy`](Self::busy).
    fn calm(&self);

    /// A panic that nobody joins.
    fn report_panic(&self, task: &Task, payload: &(dyn Any + Send));

    /// The executor itself.
    fn as_any(&self) -> &dyn Any;
}
