//! What models of the parker and of gates need: waits with their parkers in hand, and gates for boxes.
//!
//! For `loom-tests` only; it is compiled under the model checkers and nowhere else.

use std::future::Future;
use std::pin::pin;
use std::ptr::NonNull;
use std::task::Waker;

use super::gate::{Gate, Keeper};
use super::parker::{self, Current, Seen};

/// Drives a future on the calling thread.
pub fn block_on<F: Future>(future: F) -> F::Output {
    super::block_on(pin!(future), None).expect("without a deadline it waits until it is done")
}

/// A wait of the calling thread.
#[derive(Debug)]
pub struct Wait {
    parker: Current,
    seen: Seen,
}

impl Default for Wait {
    fn default() -> Self {
        Wait::new()
    }
}

impl Wait {
    /// Begins one.
    pub fn new() -> Self {
        let parker = parker::current();
        let seen = parker.seen();
        Wait { parker, seen }
    }

    /// A waker of its parker.
    pub fn waker(&self) -> Waker {
        self.parker.waker()
    }

    /// Sleeps until it is woken.
    pub fn sleep(&mut self) {
        self.seen = self.parker.sleep(self.seen, None).expect("there is no deadline");
    }
}

/// A thread at its gate, which goes with it.
#[derive(Debug)]
pub struct Host<T> {
    keeper: Keeper,
    gate: Box<Gate<T>>,
}

/// Brings something to the gate, once.
#[derive(Debug)]
pub struct Guest<T>(NonNull<Gate<T>>);

// SAFETY: gates are for other threads; what is brought is sent.
unsafe impl<T: Send> Send for Guest<T> {}

impl<T> Default for Host<T> {
    fn default() -> Self {
        Host::new()
    }
}

impl<T> Host<T> {
    /// The calling thread.
    pub fn new() -> Self {
        let keeper = Keeper::new();
        let gate = Box::new(keeper.gate());
        Host { keeper, gate }
    }

    /// Somebody who comes; only one at a time, and the host waits for it.
    pub fn guest(&self) -> Guest<T> {
        Guest(NonNull::from(&*self.gate))
    }

    /// Waits for a guest.
    pub fn wait(&self) -> Box<T> {
        // SAFETY: from `Guest::bring`.
        unsafe { Box::from_raw(self.keeper.wait(&self.gate).as_ptr()) }
    }
}

impl<T> Guest<T> {
    /// Brings this.
    pub fn bring(self, entry: Box<T>) {
        // SAFETY: not null; the scenario waits for each guest before there is another one, and before the host goes.
        unsafe { Gate::bring(self.0, NonNull::new_unchecked(Box::into_raw(entry))) };
    }
}
