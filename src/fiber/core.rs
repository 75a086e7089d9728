//! What a runtime and a cord have in common: run queue, timers, clock, panic hook. It is their seam.

use std::any::Any;
use std::io::Write;
use std::task::Waker;
use std::time::Instant;

use crate::fiber::fiber_ref::FiberRef;
use crate::fiber::registry;
use crate::fiber::run_queue::{RunQueue, Woken};
use crate::prim::Arc;
use crate::task::error::message;
use crate::task::header::Task;
use crate::task::home::Home;
use crate::task::run;
use crate::task::seam::{Seam, TimerKey};
use crate::time::Clock;
use crate::time::timers::Timers;

/// Told of panics that nobody joins.
pub(crate) type PanicHook = Box<dyn Fn(&FiberRef, &(dyn Any + Send)) + Send + Sync>;

/// A thread looks at the timers and for the end after so many fibers in a row.
const LOOK_EVERY: u32 = 61;

/// See the module.
pub(crate) struct Core {
    queue: RunQueue<Task>,
    timers: Timers,
    clock: Clock,
    on_panic: Option<PanicHook>,
}

impl Core {
    /// Opens an executor, which [`find`](crate::fiber::find) searches from now on.
    pub(crate) fn open(local: bool, clock: Clock, on_panic: Option<PanicHook>) -> Arc<Home> {
        let core = Core { queue: RunQueue::new(), timers: Timers::new(), clock, on_panic };
        let home = Arc::new(Home::new(local, Box::new(core)));
        registry::add(&home);
        home
    }

    /// The core of an executor of this module.
    pub(crate) fn of(home: &Home) -> &Core {
        home.seam.as_any().downcast_ref().expect("runtimes and cords have a core")
    }

    /// The next fiber to run; waits for one. `None`: the executor has ended. `turns` counts for the caller.
    pub(crate) fn next(&self, turns: &mut u32) -> Option<Task> {
        *turns = turns.wrapping_add(1);
        if *turns % LOOK_EVERY == 0 && !self.clock.is_virtual() {
            self.timers.fire(self.clock.now());
        }
        if let Some(task) = self.queue.try_pop() {
            return Some(task);
        }
        loop {
            match self.queue.wait(&self.clock, &self.timers) {
                Woken::Task(task) => return Some(task),
                Woken::Closed => return None,
                Woken::Timers => {
                    if let Some(next) = self.timers.next() {
                        self.clock.advance(next);
                    }
                    self.timers.fire(self.clock.now());
                }
            }
        }
    }

    /// One more thread that calls [`next`](Self::next).
    pub(crate) fn join_in(&self) {
        self.queue.busy();
    }

    /// One less.
    pub(crate) fn leave(&self) {
        self.queue.calm();
    }

    /// Stops the executor: nobody is admitted, nobody is run. Its threads end after the poll that is under way.
    pub(crate) fn stop(home: &Home) {
        home.roster.close();
        let core = Core::of(home);
        drop(core.queue.close());
        core.timers.close();
        registry::remove(home);
    }

    /// Drops the futures of all fibers of a stopped executor, oldest first. Those that other threads are
    /// polling end after that poll.
    ///
    /// # Safety
    ///
    /// For a cord, this is its thread.
    pub(crate) unsafe fn end_all(home: &Home) {
        for task in home.roster.snapshot() {
            // SAFETY: by contract.
            unsafe { run::end(&task) };
        }
    }
}

impl Seam for Core {
    fn schedule(&self, task: Task) {
        self.queue.push(task);
    }

    fn now(&self) -> Instant {
        self.clock.now()
    }

    fn clock_id(&self) -> usize {
        self.clock.id()
    }

    fn set_timer(&self, at: Instant, waker: Waker) -> Option<TimerKey> {
        let (key, first) = self.timers.set(at, waker)?;
        if first {
            self.queue.timer_set();
        }
        Some(key)
    }

    fn renew_timer(&self, key: TimerKey, waker: &Waker) -> bool {
        self.timers.renew(key, waker)
    }

    fn clear_timer(&self, key: TimerKey) {
        self.timers.clear(key);
    }

    fn busy(&self) {
        if self.clock.is_virtual() {
            self.queue.busy();
        }
    }

    fn calm(&self) {
        if self.clock.is_virtual() {
            self.queue.calm();
        }
    }

    fn report_panic(&self, task: &Task, payload: &(dyn Any + Send)) {
        let fiber = FiberRef::new(task);
        match &self.on_panic {
            Some(hook) => hook(&fiber, payload),
            None => {
                let message = message(payload).unwrap_or("(no message)");
                // Whoever closed stderr does not want to know.
                let _ =
                    writeln!(std::io::stderr(), "leno: {fiber} panicked, and nobody joined it: {message}");
            }
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
