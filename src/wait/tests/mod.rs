//! Tests of the bare line: against a plain reference ([`differential`]), on real threads ([`stress`]), at the edges
//! ([`edges`]), and what it costs ([`cost`]).
//!
//! Short by default; `LENO_STRESS=n` runs n times as much.

mod cost;
mod differential;
mod edges;
mod stress;

use std::task::Waker;

use super::word::{OWN, REST_SHIFT, SENDERS, Word};
use super::{By, Line, Primitive, State, Waiter};

fn scale() -> usize {
    std::env::var("LENO_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Both sides.
const SIDES: [u64; 2] = [0, SENDERS];

/// Nobody has reason to join.
const REFUSES: u64 = OWN[0];

/// A primitive that is nothing but a version, and a line of numbers.
struct Bare {
    line: Line,
    few: bool,
}

impl Bare {
    fn new(few: bool) -> Bare {
        Bare::at(few, 0)
    }

    fn at(few: bool, version: u64) -> Bare {
        Bare { line: Line::new(version << REST_SHIFT), few }
    }

    /// Waits, unless the other side does already, or there is no reason to.
    fn wait(&self, waiting: &Waiting) -> bool {
        let Waiting { node, side, .. } = waiting;
        loop {
            let word = self.line.load();
            if !word.is_free() && (word.side() != *side || !self.is_to_wait(word)) {
                return false;
            }
            if self.line_up(word, node, *side) {
                return true;
            }
        }
    }

    /// Serves the first of that side; gives its number.
    fn serve(&self, side: u64) -> Option<usize> {
        loop {
            let word = self.line.load();
            if !word.serves(side) {
                return None;
            }
            if let Some(popped) = self.pop(word, |word| self.bump(word)) {
                let claim = popped.claim(side, &mut By::plain()).expect("a plain one is claimed");
                // SAFETY: all that waits here has put its number.
                let number = unsafe { claim.take() }.open();
                drop(claim.done());
                return Some(number);
            }
        }
    }

    /// The one that waits leaves. False: it is served.
    fn leave(&self, waiting: &Waiting) -> bool {
        Primitive::leave(self, &waiting.node)
    }

    /// The one that waits parks another waker. False: it is served.
    fn park(&self, waiting: &Waiting) -> bool {
        waiting.node.park_beside(Waker::noop().clone(), || self.touch(&waiting.node))
    }
}

impl Primitive for Bare {
    fn has_few(&self) -> bool {
        self.few
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(REFUSES)
    }
}

/// One that waits, or is about to.
struct Waiting {
    node: Waiter,
    side: u64,
    number: usize,
}

impl Waiting {
    fn new(side: u64, number: usize) -> Waiting {
        let node = Waiter::plain(Waker::noop().clone());
        // SAFETY: a new node.
        unsafe { node.as_ref().put(crate::wait::Parcel::new(number)) };
        Waiting { node, side, number }
    }

    fn is_served(&self) -> bool {
        self.node.as_ref().state() == State::DONE
    }

    /// It was served.
    fn end(self) {
        assert!(self.is_served(), "{} is served", self.number);
        self.node.free();
    }

    /// It stands nowhere.
    fn free(self) {
        assert!(!self.is_served(), "{} is not served", self.number);
        self.node.free();
    }
}
