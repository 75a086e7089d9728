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
use crate::wait::{Line, Popped, Primitive, SENDERS, Waiter, Word, apart};

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

    /// Enters or joins; the node's place is to say `said`. `rest`: what the word says beside its flags when it is the last to
    /// leave. False: the word has changed, or there is no reason to wait any more.
    pub(super) fn wait(&self, word: Word, node: &Waiter, said: u32, rest: &dyn Fn() -> u64) -> bool {
        Asking(self, rest).line_up_saying(word, node, SENDERS, said)
    }

    /// Takes one out who has entered it. False: a peer has it.
    pub(super) fn leave(&self, node: &Waiter, rest: &dyn Fn() -> u64) -> bool {
        Primitive::leave(&Asking(self, rest), node)
    }

    /// Takes the first one out, and changes the rest; `rest` as above. `None`: look again.
    pub(super) fn pop_to(
        &self,
        word: Word,
        rest: &dyn Fn() -> u64,
        change: impl FnOnce(Word) -> Word,
    ) -> Option<Popped> {
        Asking(self, rest).pop(word, change)
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

/// The line, for a caller that knows what the word says beside its flags when nobody is left.
struct Asking<'a>(&'a Queue, &'a dyn Fn() -> u64);

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
