//! What models of the parker need: waits with their parkers in hand.
//!
//! For `loom-tests` only; it is compiled under the model checkers and nowhere else.

use std::future::Future;
use std::pin::pin;
use std::task::Waker;

use super::parker::{self, Current, Seen};
use crate::prim;

/// Has this execution recycle parkers.
pub fn recycle() {
    prim::set_reuse(true);
}

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
