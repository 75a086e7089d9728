//! The places left in a channel that is bounded, and too large for a ring: a count, and the senders that wait for one.
//!
//! ```text
//!   nobody waits:      [ places left ][ – ][ flags ]
//!   a sender waits:    [   version   ][ A ][ flags ]       no place is left
//! ```
//!
//! Reservations wait here as well; those for several places are told in [`limit`](super::limit).
//!
//! # Forced sends, and closing
//!
//! A [forced](super::overflow) send takes the first value out, and puts its own into the channel after that. Nobody may find it
//! closed in between: either the own value comes too late, or the one that was taken. So it says that it is under way
//! (`forced`), then looks whether the places are closed; who closes, closes the places, then looks who is under way, and closes
//! the channel itself when those are through. From the one step to the other no foreign code runs.

use super::limit::SEND;
use super::linked::STEP_BITS;
use super::shared::CLOSED;
use crate::prim::{AtomicU64, Ordering, fence};
use crate::task::thread;
use crate::wait::{Line, Primitive, REST_BITS, REST_SHIFT, SENDERS, Waiter, Word};

#[derive(Debug)]
pub(super) struct Room {
    line: Line,
    pub(super) capacity: usize,
    stays: AtomicU64,
    /// The forced sends that are under way.
    forced: AtomicU64,
}

/// A forced send that is under way, until this is dropped.
pub(super) struct Forced<'a>(&'a Room);

impl Drop for Forced<'_> {
    fn drop(&mut self) {
        // ORDERING: Release: who closes comes after what it has done.
        self.0.forced.fetch_sub(1, Ordering::Release);
    }
}

/// What became of taking a place.
pub(super) enum Taken {
    Yes,
    Full,
    Closed,
    Lost,
}

/// More than any channel ever holds.
const MOST: u64 = (1 << (REST_BITS - 1)) - 1;

impl Room {
    pub(super) fn new(capacity: usize) -> Room {
        Room {
            line: Line::new((capacity as u64).min(MOST) << REST_SHIFT),
            capacity,
            stays: AtomicU64::new(0),
            forced: AtomicU64::new(0),
        }
    }

    /// A forced send is under way: nobody closes the channel until it is through. `None`: it is being closed.
    pub(super) fn force(&self) -> Option<Forced<'_>> {
        self.forced.fetch_add(1, Ordering::Relaxed);
        let forced = Forced(self);
        // ORDERING: with that of `wait_for_forced`: one of the two sees the other.
        fence(Ordering::SeqCst);
        (!self.line.load().has(CLOSED)).then_some(forced)
    }

    /// The places are closed: waits for the forced sends that did not find them so.
    pub(super) fn wait_for_forced(&self) {
        // ORDERING: as above.
        fence(Ordering::SeqCst);
        let mut pauses = 0;
        while self.forced.load(Ordering::Acquire) != 0 && !cfg!(leno_bug = "closes_beside_a_forced_send") {
            thread::pause(pauses);
            pauses += 1;
        }
    }

    /// Whether these are all places.
    pub(super) fn is_all(&self, places: u64) -> bool {
        places >= (self.capacity as u64).min(MOST)
    }

    pub(super) fn take(&self) -> Taken {
        let word = self.line.load();
        if word.has(CLOSED) {
            Taken::Closed
        } else if !word.is_free() || word.rest() == 0 {
            Taken::Full
        } else if self.cas(word, word.with_rest(word.rest() - 1)) {
            Taken::Yes
        } else {
            Taken::Lost
        }
    }

    /// Takes as many places as there are, `most` at most, if nobody is in the way; how many.
    pub(super) fn take_several(&self, most: usize) -> usize {
        let word = self.line.load();
        if word.has(CLOSED) || !word.is_free() {
            return 0;
        }
        let count = word.rest().min(most as u64);
        if count == 0 || !self.cas(word, word.with_rest(word.rest() - count)) {
            return 0;
        }
        count as usize
    }

    /// Enters the line; false: there is a place, or it is closed.
    pub(super) fn register(&self, node: &Waiter) -> bool {
        loop {
            let word = self.line.load();
            if word.has(CLOSED) || word.is_free() && word.rest() > 0 {
                return false;
            }
            let waits =
                if word.is_free() { self.enter(word, node, SENDERS) } else { self.join(word, node, SENDERS) };
            if waits {
                return true;
            }
        }
    }
}

impl Primitive for Room {
    const SAYS: bool = true;

    fn says(&self, _node: &Waiter) -> u32 {
        SEND
    }

    fn line(&self) -> &Line {
        &self.line
    }

    fn bump(&self, word: Word) -> Word {
        if word.is_free() { word } else { word.plus(1) }
    }

    fn arrive(&self, word: Word) -> Word {
        let stay = self.stays.fetch_add(1, Ordering::Relaxed) << STEP_BITS;
        word.with_rest(stay & ((1 << REST_BITS) - 1))
    }

    fn empty(&self, word: Word) -> Word {
        word.with_rest(0)
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(CLOSED)
    }
}
