//! leno's own waiter queue, whatever it is at the time, with leno's own nodes.
//!
//! A peer stops at the claim, and the owner goes by that: a hand-over would cost the same in all queues.

use super::Rival;
use crate::wait::{Entered, Queue, Side, State, Waiter};

pub(crate) struct Leno(Queue);

impl Rival for Leno {
    const NAME: &'static str = "leno";

    type Waiter = Waiter;

    fn new() -> Self {
        Leno(Queue::new())
    }

    fn waiter() -> Waiter {
        Waiter::plain()
    }

    fn enter(&self, waiter: &mut Waiter) {
        waiter.word().reset(true);
        // SAFETY: it stands in no queue, and a peer needs nothing but its word.
        let entered = unsafe { self.0.enter(Side::Recv, waiter.as_ref()) };
        assert!(matches!(entered, Entered::Waits), "the queue has one side and is open");
    }

    fn take(&self) -> bool {
        let Some(first) = self.0.take(Side::Recv) else { return false };
        assert!(first.claim().is_some(), "a waiter is open while it stands in the queue");
        true
    }

    fn remove(&self, waiter: &mut Waiter) -> bool {
        // SAFETY: it has entered this queue, and the caller is its owner.
        unsafe { self.0.remove(waiter.as_ref()) }
    }

    fn waits(waiter: &Waiter) -> bool {
        waiter.word().state() == State::Open
    }

    fn free(waiter: Waiter) {
        waiter.free();
    }
}
