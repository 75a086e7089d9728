//! The receiver of a ring that is alone: that of [`mpsc`](super::mpsc).
//!
//! What a receive does to the word of a [ring](super::ring), `head + 1` and `len − 1`, is one addition. Others have to ask, by a
//! compare-exchange, whether the word is still the one that they have looked at, and look again if a sender has come in between; a
//! receiver that is alone adds (`fetch_add`), which does not fail, and is told by the word before what has come in between.
//!
//! | word, as it was seen | word before the addition | then |
//! |---|---|---|
//! | len > 0, nobody waits, not RETURNED, not HELD, the head's slot is full | the same, or more values | reads the slot of the head, *empty* |
//! | | another head: a [forced](super::overflow) send | the same, and may have to wait until that slot is full |
//! | | a sender waits | the same, then lets it in: *next*, len + 1, V, as by turns; a select by turns indeed |
//! | | HELD | the same, then serves those who wait for their turn |
//! | | too few values: `close_now` was quicker | adds back; looks again |
//! | anything else | – | as any receive |
//!
//! This is the quick way, of polls, `try_` forms, threads and selects; where it finds nothing, or somebody in its way, the
//! receive goes on as in the ring: who waits has to be taken out of the word, and the receiver has to enter it where there is
//! nothing, which are exchanges. (So is a batch: see 5.) So it is at capacity 0, too, where both sides meet in the word.
//!
//! # Why it may
//!
//! 1. One receive at a time. An operation has its receiver by `&mut`, or keeps it; no clone or weak handle gives a second one; so
//!    what it does comes after all that those before have done. A future that is forgotten while it waits is at work no more: what
//!    is left of it is a node in the line, with which senders deal, and a receiver waits only where `len` is 0.
//! 2. RETURNED is set by receives only: it is not set in between.
//! 3. `len` is lowered by receives only, and by those who discard what is in a channel: a sender may close it by `close_now` while
//!    the receiver is at work. So `len` is too small for the addition only if the channel is CLOSED, and what is in it is being
//!    discarded, or was.
//! 4. *Overdrawn*: until that is added back `len` has wrapped, and is more than the capacity: a receive from a ring for 255 asks.
//!    Nobody looks at the slots of such a channel but those who discard, and they wait until it is added back. (Sends fail, and so
//!    do those of permits, from before the first value goes.)
//! 5. *Forced sends* move the head as well. A slot that is claimed by an addition may not be one whose sender is not through: others
//!    would not know that it is taken when they have gone round the ring, as nothing but its flag says so, and it is empty. So a
//!    forced send goes past a slot only if the next one is full; or its own, which it fills before it empties the other, and until
//!    then nobody gets past that. (Of a batch it would have to ask this of all slots.)
//!
//! # While a sender waits beside room
//!
//! From the addition to the moment in which it is let in, the first invariant of the ring does not hold: a sender stands in the
//! word, and len < limit. It begins only with an addition that is told so by the word before, and before that receive is over the
//! receiver has looked at the word again: so nobody sleeps there. Meanwhile the room is that of the sender in the word:
//!
//! * Sends find somebody in the word, and wait behind him; `try_` forms say that it is full.
//! * If the sender leaves the next one stands in the word, and is let in; or nobody, and nothing is out of order.
//! * A reservation finds room, and takes none where a sender stands ([`limit`](super::limit)). If it says HELD, to wait, the
//!   receiver finds that, and serves: the senders in the word first, as they came before.
//! * A forced send waits. Otherwise a value would go as if there were no room.
//! * A close is one that came first: the sender gets its value back.
//!
//! A select has to be claimed before its value comes into the ring, and others could take the room meanwhile. So it goes by turns:
//! while the word says HELD, they do not.
//!
//! # What stays
//!
//! Blocks: a receive of an unbounded channel, or a large one, still claims its value by a compare-exchange of the head, which fails
//! only if somebody else has taken that value: a sender that discards, or forces its value in. A plain store would do if nobody
//! else took values ever; but where two parties may, each on its own, one locked instruction of each is not to be avoided (Attiya
//! et al., see [`spsc`](super::spsc)), and an addition is not cheaper than an exchange that does not fail.
//!
//! # Cost
//!
//! Locked instructions: as in the ring; where a sender has come in between, one more. Wait-free, but for two rare cases: a forced
//! send has come in between, and is in the middle of its slot, for which a poll waits a few instructions; and letting others in.

use crate::task::thread;
use crate::wait::{By, Primitive, SENDERS, Tray, Word};

use super::ring::{HELD, LEN, ONE_TAKEN, Slot, is_at_edge};
use super::shared::{CLOSED, RETURNED, Shared, Step};

impl<T> Shared<T> {
    /// Whether the one receiver takes values by an addition (4).
    #[inline(always)]
    fn adds(&self) -> bool {
        // (Of capacity 0: no.)
        self.bound.capacity.wrapping_sub(1) < LEN as u32 - 1
    }

    /// Whether the receiver has taken more than there was, and is about to add that back (4).
    pub(super) fn is_overdrawn(&self, word: Word) -> bool {
        self.linked().is_none() && self.ring_len(word) > self.bound.capacity
    }

    /// As `quick_recv`, for the one receiver.
    #[inline(always)]
    pub(super) fn quick_recv_alone(&self, tray: &mut Tray<T>) -> bool {
        if !self.adds() {
            return self.quick_recv(tray);
        }
        // The word itself, not a guess: nothing asks later whether that was right.
        let word = self.line.load();
        // (At the edge a scan may be in the way, which an addition does not ask for.)
        if !word.is_free() || word.has(RETURNED | HELD) || is_at_edge(word) {
            return false;
        }
        if self.ring_len(word) == 0 {
            return false;
        }
        let slot = self.slot(self.head(word));
        if !slot.is_full() {
            return false;
        }
        let before = self.add(ONE_TAKEN);
        if before == word {
            // SAFETY: claimed, and full.
            unsafe { slot.empty_claimed(tray) };
            return true;
        }
        // (The tray stays out of what is not compiled in here: it is in registers.)
        let Some(slot) = self.first_of(before) else { return false };
        // SAFETY: as above.
        unsafe { slot.empty_claimed(tray) };
        if is_in_the_way(before) {
            self.make_way();
        }
        true
    }

    /// The slot that was claimed by adding for one to this word. `None`: what it had was discarded.
    #[inline(never)]
    fn first_of(&self, before: Word) -> Option<&Slot<T>> {
        let has_one = self.ring_len(before) > 0;
        if !has_one {
            self.add_back(before);
        }
        has_one.then(|| self.slot(self.head(before)))
    }

    /// Adds back what was too much for this word (3).
    #[cold]
    fn add_back(&self, before: Word) {
        debug_assert!(before.has(CLOSED));
        if !bug!("alone_adds_nothing_back") {
            self.add(ONE_TAKEN.wrapping_neg());
        }
    }

    /// Serves those who were in the way of an addition.
    #[cold]
    #[inline(never)]
    fn make_way(&self) {
        if !bug!("alone_makes_no_way") {
            self.in_passing(|by| self.serve_word(by));
        }
    }

    /// Lets the senders in that stand in the word, as far as there is room, or those whose turn it is.
    fn serve_word(&self, by: &mut By) {
        let mut pauses = 0;
        loop {
            let word = self.line.load();
            if word.has(HELD) {
                return self.serve_turns(by);
            }
            if word.has(CLOSED) || !word.has(SENDERS) || self.ring_len(word) >= self.limit() {
                return;
            }
            if word.first_is_branch() && !bug!("alone_claims_a_select") {
                return self.serve_held(by);
            }
            if let Step::Busy = self.let_in(word, by) {
                thread::pause(&mut pauses);
            }
        }
    }
}

/// Whether a receive that found this word has others to serve.
#[inline(always)]
fn is_in_the_way(word: Word) -> bool {
    !word.is_free() || word.has(HELD)
}
