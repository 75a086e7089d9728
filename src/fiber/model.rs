//! What models of the run queue need. For `loom-tests` only.

use crate::fiber::run_queue::{RunQueue, Woken};
use crate::time::Clock;
use crate::time::timers::Timers;

/// The run queue, of numbers.
pub struct Queue {
    queue: RunQueue<usize>,
    clock: Clock,
    timers: Timers,
}

impl std::fmt::Debug for Queue {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Queue")
    }
}

impl Queue {
    /// A queue for so many threads.
    pub fn new(threads: usize) -> Self {
        let queue = Queue { queue: RunQueue::new(), clock: Clock::real(), timers: Timers::new() };
        (0..threads).for_each(|_| queue.queue.busy());
        queue
    }

    /// Puts a number at the back.
    pub fn push(&self, number: usize) {
        self.queue.push(number);
    }

    /// Waits for a number; `None`: closed.
    pub fn wait(&self) -> Option<usize> {
        loop {
            match self.queue.wait(&self.clock, &self.timers) {
                Woken::Task(number) => return Some(number),
                Woken::Closed => return None,
                Woken::Timers => {}
            }
        }
    }

    /// Ends it.
    pub fn close(&self) {
        drop(self.queue.close());
    }
}
