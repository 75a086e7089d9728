//! Sends that never wait: of channels that overflow, and those that are forced.
//!
//! ```text
//!   there is room, or a receiver waits:   as any send
//!   there is none:   DropOldest ── the first value goes, the own one comes behind the last ──▶ sent
//!                    DropNewest ── the own value goes ───────────────────────────────────────▶ through
//! ```
//!
//! A channel that overflows is a channel like any other, with the same quick ways and the same steps, up to the moment at
//! which a send would wait: then it goes on here. (For such a channel the short look that would say so beforehand is left out, and
//! none of its sends enters a line.)
//!
//! # Steps, DropOldest
//!
//! | channel | exchange | then |
//! |---|---|---|
//! | a [ring](super::ring) that is full | head + 1 | puts the own value behind the last, takes the first one out |
//! | capacity 0, or all places are [reserved](super::limit), nobody waits to receive | – | the own value is the one that goes |
//! | [linked](super::linked), no place is left, nor any in the hands of somebody in the middle of something | its head + 1 | takes the first value, and keeps the place; then puts the own value there as one that has a place |
//! | the same, and no value is there | – | the own value goes |
//!
//! In a ring this is one exchange, in which `len` stays the same: nobody finds the channel less than full, or more. It
//! needs that the head's slot is full and that the one behind the last is empty, as when a plain sender is let in; there is
//! such a slot because the ring is larger than the capacity. Of two forced sends the second finds the slot of the first one's
//! value at its head or behind, and waits until that is written.
//!
//! Of a linked channel the head and the places are two words. So the head is loaded first, then it is made sure that all places are
//! taken, by values, by permits, or kept for those who wait: if the exchange finds that head, no value has been received since.
//! While somebody is in the middle of something, who may be about to leave a place, a forced send waits for that. (A permit may be
//! dropped after that: then the value goes although there is a place by now, for somebody else.)
//!
//! Senders that wait stay where they are, before the exchange and after it (invariant 1 of the ring: a sender waits implies
//! that it is full; it is). So a forced send overtakes them, and they are let in by receives, as before.
//!
//! Where a receiver waits, a forced send hands over at once, even if reservations wait, and sends behind them. But room that is
//! kept for a reservation of several counts as none: then a value goes.
//!
//! What a dropped receive has given back counts as being in a receiver's hands: it is in no slot, takes no room, and is not the
//! value that goes.
//!
//! # Against a close
//!
//! In a ring the exchange fails if the channel has closed. Of a linked channel the first value is out by then, and if it were given
//! back others could have come before it, or have found the channel closed and empty. So who closes such a channel waits for the
//! forced sends that are in between, as told in [`room`](super::room).
//!
//! # Progress
//!
//! A send that must not wait waits for those who are in the middle of a slot, the head's or the one behind the last, for a few
//! instructions, where others would be polled again. Otherwise lock-free, as far as the [line](crate::wait) is.
//!
//! The value that goes is disposed of when the send is through, see [`undelivered`](super::undelivered).

use std::mem::MaybeUninit;

use super::builder::Overflow;
use super::linked::{Linked, insist};
use super::ring::refuse;
use super::shared::{CLOSED, End, Sent, Shared, Step};
use super::undelivered::Extras;
use crate::task::thread;
use crate::wait::{Attempt, By, Parcel, Tray, Word};

impl<T> Shared<T> {
    /// Whether sends never wait.
    pub(super) fn overflows(&self) -> bool {
        self.extras().is_some_and(Extras::overflows)
    }

    /// A send has found no room, or somebody in the middle of something: if senders never wait, it goes on here.
    #[cold]
    pub(super) fn send_over(
        &self,
        attempt: Attempt<Sent>,
        value: &mut MaybeUninit<T>,
        by: &mut By,
    ) -> Attempt<Sent> {
        let Some(extras) = self.extras().filter(|extras| extras.overflows()) else { return attempt };
        let mut gone = Tray::new();
        let sent = self.force(extras.overflow, value, &mut gone, by);
        if let Some(gone) = gone.take() {
            self.dispose_later(Parcel::new(gone), by);
        }
        sent.map_or(Attempt::Wait, Attempt::Ready)
    }

    /// Sends a value without waiting; `gone` gets the one that there was no room for. With [`Sent::Closed`] it stays empty, and the
    /// value is where it was. `None`: a select has met itself, and has to see to that first.
    pub(super) fn force(
        &self,
        overflow: Overflow,
        value: &mut MaybeUninit<T>,
        gone: &mut Tray<T>,
        by: &mut By,
    ) -> Option<Sent> {
        let mut pauses = 0;
        loop {
            let word = self.line.load();
            let step = match self.linked() {
                None => match self.send_step(word, value, by) {
                    Step::Wait => self.force_into_ring(word, overflow, value, gone, by),
                    step => step,
                },
                Some(linked) => match self.send_linked(linked, word, value, by) {
                    Step::Wait => self.force_into_linked(linked, overflow, value, gone, by),
                    step => step,
                },
            };
            match step {
                Step::Ready(sent) => {
                    if sent == Sent::Closed {
                        // (Foreign code may run there.)
                        self.finish_close();
                    }
                    return Some(sent);
                }
                Step::Moved => {}
                Step::Lost if by.has_own() => return None,
                Step::Lost => thread::back_off_briefly(),
                Step::Wait | Step::Busy => thread::pause(&mut pauses),
            }
        }
    }

    /// With that word there is no room.
    fn force_into_ring(
        &self,
        word: Word,
        overflow: Overflow,
        value: &mut MaybeUninit<T>,
        gone: &mut Tray<T>,
        by: &mut By,
    ) -> Step<Sent> {
        if word.serves(0) {
            return self.hand_over(word, value, by);
        }
        if overflow == Overflow::DropNewest || self.ring_len(word) == 0 {
            // (The step may have come to "full" by another word, or by another limit.)
            if self.line.load() != word {
                return Step::Lost;
            }
            return if self.is_unsure(End::Sender) { Step::Busy } else { refuse(value, gone) };
        }
        self.exchange(word, value, gone)
    }

    /// No place was left.
    fn force_into_linked(
        &self,
        linked: &Linked<T>,
        overflow: Overflow,
        value: &mut MaybeUninit<T>,
        gone: &mut Tray<T>,
        by: &mut By,
    ) -> Step<Sent> {
        // (The head first: if it is still this one in the end, nobody has received since.)
        let (head, word) = (linked.load_head(), self.line.load());
        if word.serves(0) {
            // (Closed: who waits is being told.)
            let is_told = word.has(CLOSED) && !bug!("forced_beside_who_closes");
            return if is_told { Step::Lost } else { self.hand_over(word, value, by) };
        }
        if self.is_unsure(End::Sender) && !bug!("forced_where_it_is_not_full") {
            return Step::Busy;
        }
        if overflow == Overflow::DropOldest && linked.len(word) > 0 {
            let room = linked.room();
            self.count_places(linked);
            let Some(forced) = room.force() else { return Step::Ready(Sent::Closed) };
            room.keep_one();
            let head = if bug!("forced_by_a_later_head") { linked.load_head() } else { head };
            let step = self.take_from(linked, head, self.line.load(), gone, |_| {});
            // Into the place of the one that was taken; nobody closes the channel meanwhile.
            let sent = gone.is_full().then(|| insist(|| self.put_any(linked, self.line.load(), value, by)));
            drop(forced);
            if let Some(sent) = sent {
                if sent == Sent::HandedOver {
                    // It needs no place.
                    self.release(linked, 1, by);
                }
                if linked.is_wanted() && !bug!("forced_leaves_a_place") {
                    self.collect(linked, by);
                }
                return Step::Ready(sent);
            }
            room.keep_none();
            // (So would its next step, unless by a word from before it hands over.)
            if linked.is_wanted_now() && self.collect(linked, by) {
                return Step::Moved;
            }
            return match step {
                Step::Moved => Step::Moved,
                Step::Busy => Step::Busy,
                Step::Lost | Step::Ready(()) | Step::Wait => Step::Lost,
            };
        }
        // The own value goes only if there was no oldest one all the while.
        let is_over =
            overflow == Overflow::DropOldest && (linked.load_head(), self.line.load()) != (head, word);
        if is_over { Step::Lost } else { refuse(value, gone) }
    }
}
