//! What models of tickers need: an executor of timers only, whose time jumps when the model says so. For `loom-tests`.

use std::any::Any;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::{Duration, Instant};

use super::{Missed, Receiver, start};
use crate::task::context::Post;
use crate::task::header::Task;
use crate::task::home::HomeRef;
use crate::task::home::Watching;
use crate::task::seam::{Seam, TimerKey, TimerState};
use crate::time::timers::Timers;
use crate::time::{Alarm, Clock};

struct Clockwork(Timers);

impl Seam for Clockwork {
    fn schedule(&self, _post: Post, _task: Task) {
        unreachable!("it has no fibers");
    }

    fn inject(&self, task: Task) -> Result<(), Task> {
        Err(task)
    }

    fn blocks(&self, _worker: NonNull<()>) {}

    fn now(&self) -> Instant {
        self.0.clock.now()
    }

    fn clock_id(&self) -> usize {
        self.0.clock.id()
    }

    fn set_timer(&self, _worker: Option<NonNull<()>>, at: Instant, waker: Waker) -> Option<TimerKey> {
        self.0.set(None, at, waker).map(|(key, _first)| key)
    }

    fn renew_timer(&self, key: TimerKey, waker: &Waker) -> TimerState {
        self.0.renew(key, waker)
    }

    fn clear_timer(&self, key: TimerKey) {
        self.0.clear(key);
    }

    fn busy(&self) {}

    fn calm(&self) {}

    fn report_panic(&self, _task: &Task, _payload: &(dyn Any + Send)) {}

    fn report_slow_poll(&self, _task: &Task, _took: Duration) {}

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// An executor whose time stands still until it is told to jump.
#[derive(Clone)]
pub struct Executor(HomeRef);

impl std::fmt::Debug for Executor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Executor")
    }
}

impl Default for Executor {
    fn default() -> Self {
        let clockwork = Clockwork(Timers::new(Clock::virtual_time(), 1));
        Executor(HomeRef::new(false, 1, Watching::default(), Box::new(clockwork)))
    }
}

impl Executor {
    /// A ticker on it; `repeat`: not only once.
    pub fn ticker(&self, d: Duration, repeat: bool) -> Receiver<Instant> {
        let alarm = Alarm::of(self.0.clone(), |now| now.checked_add(d));
        start(alarm, repeat.then_some((d, Missed::Burst)))
    }

    /// Time goes on to the next deadline; false: nobody waits for one.
    pub fn jump(&self) -> bool {
        let Clockwork(timers) = self.0.seam.as_any().downcast_ref().expect("the model's own");
        let jumps = timers.jump();
        timers.fire(None);
        jumps
    }
}
