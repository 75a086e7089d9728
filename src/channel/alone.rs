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
//! | | a sender waits | the same, then lets it in: the row *by turns* of the ring; a select by turns indeed |
//! | | HELD | the same, then serves those who wait for their turn |
//! | | too few values: `close_now` was quicker | adds them back; there is nothing, or less |
//! | len > 0, CLOSED or HELD, nobody waits | as above | as above |
//! | anything else | – | as any receive: where somebody waits he has to be taken out, which is an exchange |
//!
//! A batch of k adds for k values. Where there is nothing the receiver enters the line as others do; at capacity 0 both sides do,
//! and meet there.
//!
//! # Why it may
//!
//! 1. One receive at a time. An operation has its receiver by `&mut`, or keeps it; no clone or weak handle gives a second one; so
//!    what it does comes after all that those before have done. A future that is forgotten while it waits is at work no more: what
//!    is left of it is a node in the line, with which senders deal, and a receiver waits only where `len` is 0.
//! 2. RETURNED is set by receives only: it is not set in between.
//! 3. `len` is lowered by receives only, and by those who discard what is in a channel: a sender may close it by `close_now` while
//!    the receiver is at work. So a slot that was full at the head has a value until then, and `len` is too small for the addition
//!    only if the channel is CLOSED, and what is in it is being discarded, or was.
//! 4. *Overdrawn*: until that is added back `len` has wrapped, and is more than the capacity, as no more than 255 − capacity is taken
//!    by an addition: a receive of more, and any of a ring for 255, asks. Nobody looks at the slots of a closed channel but those who
//!    discard, and they wait until it is added back. (A permit's send does as well, if nothing was discarded yet.)
//!
//! # While a sender waits beside room
//!
//! From the addition to the moment in which it is let in, the first invariant of the ring does not hold: a sender stands in the word,
//! and len < limit. It begins only with an addition that is told so by the word before, and before that receive is over the receiver
//! has looked at the word again: so nobody sleeps there. Meanwhile the room is that of the sender in the word:
//!
//! * Sends find somebody in the word, and wait behind him; `try_` forms say that it is full.
//! * If the sender leaves the next one stands in the word, and is let in; or nobody, and nothing is out of order.
//! * A reservation finds room, and takes none where a sender stands ([`limit`](super::limit)). If it says HELD, to wait, the receiver
//!   finds that, and serves: the senders in the word first, as they came before.
//! * A forced send waits. Otherwise a value would go as if there were no room.
//! * A close is one that came first: the sender gets its value back.
//!
//! A select has to be claimed before its value comes into the ring, and others could take the room meanwhile. So it goes by turns:
//! while the word says HELD, they do not.
//!
//! # What stays
//!
//! Blocks: a receive of an unbounded channel, or a large one, still claims its value by a compare-exchange of the head, which fails
//! only if somebody else has taken that value: a sender that discards, or forces its value in. A plain store would do if nobody else
//! took values ever; but where two parties may, each on its own, one locked instruction of each is not to be avoided (Attiya et al.,
//! see [`spsc`](super::spsc)), and an addition is not cheaper than an exchange that does not fail.
//!
//! # Cost
//!
//! Locked instructions: as in the ring; where a sender has come in between, one more. Wait-free, but for who was in the middle of a
//! forced send, and for letting others in.

use crate::task::error::shielded;
use crate::task::thread;
use crate::wait::{By, Primitive, SENDERS, Tray, Word};

use super::ring::{HELD, LEN, ONE_TAKEN, wait_for};
use super::shared::{CLOSED, RETURNED, Shared, Step};

impl<T> Shared<T> {
    /// Whether the one receiver takes so many values by an addition (4).
    #[inline(always)]
    pub(super) fn adds(&self, count: u32) -> bool {
        // (Of capacity 0: no.)
        self.bound.capacity.wrapping_sub(1) < LEN as u32 - count
    }

    /// Whether the receiver has taken more than there was, and is about to add that back (4).
    pub(super) fn is_overdrawn(&self, word: Word) -> bool {
        self.linked().is_none() && self.ring_len(word) > self.bound.capacity
    }

    /// As `quick_recv`, for the one receiver.
    #[inline(always)]
    pub(super) fn quick_recv_alone(&self, tray: &mut Tray<T>) -> bool {
        if !self.adds(1) {
            return if self.is_unbounded() { self.quick_take(tray) } else { self.quick_recv_asking(tray) };
        }
        // The word itself, not a guess: nothing asks later whether that was right.
        let word = self.line.load();
        if !word.is_free() || word.has(RETURNED | HELD) || self.ring_len(word) == 0 {
            return false;
        }
        if !self.slot(self.head(word)).is_full() {
            return false;
        }
        let Some(before) = self.take_alone(tray) else { return false };
        if is_in_the_way(before) {
            self.make_way_now();
        }
        true
    }

    #[inline(never)]
    fn quick_recv_asking(&self, tray: &mut Tray<T>) -> bool {
        self.bound.capacity > 0 && self.quick_recv(tray)
    }

    /// As a step, where nobody has to be taken out.
    pub(super) fn recv_alone(&self, tray: &mut Tray<T>, by: &mut By<'_>) -> Step<()> {
        let Some(before) = self.take_alone(tray) else { return Step::Lost };
        if is_in_the_way(before) {
            self.make_way(by);
        }
        Step::Ready(())
    }

    /// As `take_from_ring`, for the one receiver.
    pub(super) fn take_several_alone(&self, out: &mut Vec<T>, max: usize) -> usize {
        let mut before = None;
        let count = self.take_several(out, max, |word, count| {
            if !self.adds(count) {
                return self
                    .cas(word, Word(word.0.wrapping_add(ONE_TAKEN.wrapping_mul(count.into()))))
                    .then_some(word);
            }
            before = self.advance(count);
            before
        });
        if before.is_some_and(is_in_the_way) {
            self.make_way_now();
        }
        count
    }

    /// Takes the first value, one there is, and gives the word before. `None`: it was discarded.
    #[inline(always)]
    fn take_alone(&self, tray: &mut Tray<T>) -> Option<Word> {
        let before = self.advance(1)?;
        let slot = self.slot(self.head(before));
        if !slot.is_full() && !cfg!(leno_bug = "alone_reads_unpublished") {
            wait_for(|| slot.is_full());
        }
        // SAFETY: claimed, and full.
        unsafe { slot.empty(tray) };
        Some(before)
    }

    /// Moves the head on by so many values, which there are (3), and gives the word before. `None`: some were discarded.
    #[inline(always)]
    fn advance(&self, count: u32) -> Option<Word> {
        let step = ONE_TAKEN.wrapping_mul(count.into());
        let before = self.add(step);
        if self.ring_len(before) < count {
            debug_assert!(before.has(CLOSED));
            if !cfg!(leno_bug = "alone_adds_nothing_back") {
                self.add_back(step);
            }
            return None;
        }
        Some(before)
    }

    #[cold]
    #[inline(never)]
    fn add_back(&self, step: u64) {
        self.add(step.wrapping_neg());
    }

    /// Serves those who were in the way of an addition.
    #[cold]
    #[inline(never)]
    fn make_way(&self, by: &mut By<'_>) {
        if cfg!(leno_bug = "alone_makes_no_way") {
            return;
        }
        let mut pauses = 0;
        loop {
            let word = self.line.load();
            if word.has(HELD) {
                return self.serve_turns(by);
            }
            if word.has(CLOSED) || !word.has(SENDERS) || self.ring_len(word) >= self.limit() {
                return;
            }
            if word.first_is_branch() && !cfg!(leno_bug = "alone_claims_a_select") {
                return self.serve_held(by);
            }
            if let Step::Busy = self.let_in(word, by) {
                thread::pause(pauses);
                pauses += 1;
            }
        }
    }

    /// The same, in the middle of something: a waker that panics does so for itself.
    #[cold]
    #[inline(never)]
    fn make_way_now(&self) {
        let mut by = By::plain();
        self.make_way(&mut by);
        shielded(|| by.wake());
        shielded(move || drop(by));
    }
}

/// Whether a receive that found this word has others to serve.
#[inline(always)]
fn is_in_the_way(word: Word) -> bool {
    !word.is_free() || word.has(HELD)
}
