//! A line of those who want places: sends that wait, and reservations. It is not that of the channel's word, in which receivers
//! wait; each in it says how many places it wants.
//!
//! ```text
//!   nobody waits:     [ its owner's ][ – ][ flags ]
//!   somebody waits:   [   version   ][ A ][ flags ]
//! ```
//!
//! Of a ring it is where sends go [by turns](super::limit), of a bounded channel that is no ring in its [room](super::room).
//!
//! A version is the first one of its *stay* (from when somebody begins to wait where nobody did, until nobody does), and a count
//! from there. A stay may be of any length; so the first versions of successive stays are far [apart](crate::wait::apart).

use super::shared::CLOSED;
use crate::prim::{AtomicU64, Ordering};
use crate::wait::{Line, Primitive, Word, apart};

/// What a waiting send says. Any other number is how many places a reservation wants. (The stamps of those that wait in a ring's
/// word are even.)
pub(super) const SEND: u32 = u32::MAX;

/// How many places one wants that says so.
pub(super) fn wanted(said: u32) -> u64 {
    if said == SEND { 1 } else { said.into() }
}

pub(super) struct Queue {
    line: Line,
    stays: AtomicU64,
}

impl Queue {
    pub(super) fn new(word: u64) -> Queue {
        Queue { line: Line::new(word), stays: AtomicU64::new(0) }
    }

    #[inline(always)]
    pub(super) fn load(&self) -> Word {
        self.line.load()
    }
}

impl Primitive for Queue {
    const SAYS: bool = true;

    #[inline(always)]
    fn line(&self) -> &Line {
        &self.line
    }

    fn bump(&self, word: Word) -> Word {
        if word.is_free() { word } else { word.plus(1) }
    }

    fn arrive(&self, word: Word) -> Word {
        word.with_rest(apart(self.stays.fetch_add(1, Ordering::Relaxed)))
    }

    /// (Of a ring, and of a channel that closes: nobody asks what is left there.)
    fn empty(&self, word: Word) -> Word {
        word.with_rest(0)
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(CLOSED)
    }
}

/// The line, for a caller that knows what the word says beside its flags when nobody is left, as whoever enters that of a
/// [room](super::room), leaves it, or takes the first one out has to. (In a ring's queue it says nothing.)
pub(super) struct Asking<'a>(pub(super) &'a Queue, pub(super) &'a dyn Fn() -> u64);

impl Primitive for Asking<'_> {
    const SAYS: bool = true;

    fn line(&self) -> &Line {
        self.0.line()
    }

    fn bump(&self, word: Word) -> Word {
        self.0.bump(word)
    }

    fn arrive(&self, word: Word) -> Word {
        self.0.arrive(word)
    }

    fn empty(&self, word: Word) -> Word {
        word.with_rest((self.1)())
    }

    fn is_to_wait(&self, word: Word) -> bool {
        self.0.is_to_wait(word)
    }
}
