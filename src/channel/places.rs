//! Places of channels that are no rings: who takes them, and who gives them to whom. The protocol is told in
//! [`room`](super::room).
//!
//! A [permit](super::permit) is a place that was taken from the room. While a reservation waits that wants several, the places that
//! come free are kept until they are enough for it; who leaves such a wait, or enters it, comes to serve.
//!
//! An unbounded channel has places for all, so its permits hold nothing.

use std::mem::MaybeUninit;

use super::blocks::ahead;
use super::limit::{CHANGES, Reserved, Turns, grant};
use super::linked::{Linked, insist};
use super::queue::{Asking, SEND, wanted};
use super::ring::HELD;
use super::room::{in_count, is_uncounted, most};
use super::shared::{CLOSED, End, Sent, Shared};
use crate::prim::{Ordering, fence};
use crate::wait::{By, Claim, Left, Primitive, SENDERS, Waiter, Word};

impl<T> Shared<T> {
    /// Gives so many places, which were not left by receives, to those who wait for them, in order, or back.
    #[inline(always)]
    pub(super) fn release(&self, linked: &Linked<T>, places: usize, by: &mut By) {
        let Some(room) = &linked.room else { return };
        if !room.put_back(places as u64) {
            self.share_out(linked, places as u64, by);
        }
    }

    /// Collects the places that receives have left, for those who wait for them, or come. False: there were none when it looked.
    #[cold]
    #[inline(never)]
    pub(super) fn collect(&self, linked: &Linked<T>, by: &mut By) -> bool {
        let places = linked.collect();
        if places == 0 {
            return false;
        }
        if !linked.room().put_back(places) {
            self.share_out(linked, places, by);
        } else if !linked.want_no_more() {
            self.share_out(linked, linked.collect(), by);
        }
        true
    }

    /// Gives so many places, and what is kept, to those who wait for them; or leaves them to somebody who does so just now.
    #[cold]
    #[inline(never)]
    pub(super) fn share_out(&self, linked: &Linked<T>, places: u64, by: &mut By) {
        let room = linked.room();
        let Some(mut places) = room.begin_to_serve(places) else { return };
        let mut gone = Left::default();
        loop {
            places = self.serve(linked, places, by, &mut gone);
            match room.end_to_serve(places) {
                Ok(()) => break,
                Err(more) => places += more,
            }
        }
    }

    /// The server goes round, row by row: see the header of the room. Gives how many places are left, for one who wants more.
    fn serve(&self, linked: &Linked<T>, mut places: u64, by: &mut By, gone: &mut Left) -> u64 {
        let room = linked.room();
        loop {
            let word = room.queue.load();
            if word.is_free() {
                if !room.rest(word, places, || self.tail(linked)) {
                    continue;
                }
                if linked.want_no_more() {
                    return 0;
                }
                places = linked.collect();
                continue;
            }
            // (This counts if the word does not change.)
            let said = room.queue.said(word);
            let wanted = wanted(said);
            if places < wanted {
                // (It wants more than there is.)
                if room.end_busy(word, word) {
                    return places;
                }
                continue;
            }
            let Some(claim) = room.let_in(word, &|| self.rest_of_room(linked), by) else { continue };
            let is_taken = match said {
                SEND => {
                    let put =
                        |value: &mut _, by: &mut _| insist(|| self.put(linked, self.line.load(), value, by));
                    self.send_for(claim, by, put) == Sent::Kept
                }
                _ => self.grant_places(claim, wanted, by, gone),
            };
            if is_taken {
                places -= wanted;
            }
        }
    }

    /// Grants a reservation so many places. False: its owner has left.
    fn grant_places(&self, claim: Claim, count: u64, by: &mut By, gone: &mut Left) -> bool {
        let turns = self.make_turns();
        // Before: the permits may be used, or go, as soon as they are granted.
        turns.add(count);
        let is_granted = grant(claim, by, gone);
        if !is_granted {
            turns.remove(count);
        }
        is_granted
    }

    /// From here on places are counted: see [`room`](super::room). (Who finds somebody in the middle of this goes through it,
    /// too; who comes later finds it done.)
    #[cold]
    #[inline(never)]
    pub(super) fn count_places(&self, linked: &Linked<T>) {
        let room = linked.room();
        if room.is_counted() {
            return;
        }
        room.begin_to_count();
        // (While a receiver waits the word has a version instead: HELD comes into the word that is written when it has
        // gone.)
        self.update(|word| match word.is_free() {
            true if bug!("counts_beside_open_places") || word.has(HELD) => None,
            true => Some(word.with(HELD)),
            false if bug!("counts_as_a_receiver_leaves") => None,
            false => Some(self.bump(word)),
        });
        room.count(|| self.tail(linked));
    }

    /// What the word of the room says beside its flags when the last waiter leaves. (The tail stays where it is until that is said:
    /// nobody has a place.)
    pub(super) fn rest_of_room(&self, linked: &Linked<T>) -> u64 {
        let counts = linked.room().counts();
        if bug!("last_sender_leaves_no_tail") {
            return 0;
        }
        (if counts { Word(HELD) } else { Word(self.tail(linked)) }).rest()
    }

    pub(super) fn try_reserve_linked(&self, linked: &Linked<T>, turns: &Turns, count: u32) -> Reserved {
        let Some(room) = &linked.room else {
            // An exchange that changes nothing: who closes it later has seen `turns`.
            let is_open = self.update(|word| (!word.has(CLOSED)).then_some(word)).is_some();
            return if is_open { Reserved::Yes } else { Reserved::Closed };
        };
        loop {
            self.count_places(linked);
            let word = room.queue.load();
            if word.has(CLOSED) {
                return Reserved::Closed;
            }
            if in_count(word) < u64::from(count) {
                if word.is_free() && self.in_passing(|by| self.collect(linked, by)) {
                    continue;
                }
                return Reserved::Full;
            }
            if room.take_from(word, count.into()) {
                turns.add(count.into());
                return Reserved::Yes;
            }
        }
    }

    /// Waits for a place, or what a reservation wants. False: there is something to look at.
    pub(super) fn wait_for_places(&self, linked: &Linked<T>, node: &Waiter, said: u32) -> bool {
        let Some(room) = &linked.room else { return false };
        let wanted = wanted(said);
        if said != SEND {
            self.count_places(linked);
        }
        loop {
            // (A receiver that waits needs no place: see `send_linked`.)
            let line = self.line.load();
            if said == SEND && line.serves(0) && room.is_calm() {
                return false;
            }
            let word = room.queue.load();
            let left = room.left(word, || self.tail(linked));
            if word.has(CLOSED) || left >= wanted {
                return false;
            }
            linked.want();
            if !bug!("waits_beside_a_place") && self.in_passing(|by| self.collect(linked, by)) {
                continue;
            }
            let rest = || self.rest_of_room(linked);
            let waits = Asking(&room.queue, &rest).line_up_saying(word, node, SENDERS, said);
            // Too few were left, but a later wish may be smaller, and this one gone by then.
            let left = if waits { left } else { 0 };
            // Who joins in vain may have been the first for a moment.
            if left > 0 || wanted > 1 && !waits && !word.is_free() {
                self.in_passing(|by| self.share_out(linked, left, by));
            }
            if waits {
                self.stay_wanted(linked);
                return true;
            }
        }
    }

    /// Somebody has entered the line, perhaps unseen by one that found nobody there.
    fn stay_wanted(&self, linked: &Linked<T>) {
        // ORDERING: with that of `want_no_more`: one of the two sees the other.
        fence(Ordering::SeqCst);
        if !linked.is_wanted() && !bug!("waits_unwanted") {
            linked.want();
            self.in_passing(|by| self.collect(linked, by));
        }
    }

    pub(super) fn send_reserved_linked(
        &self,
        linked: &Linked<T>,
        turns: &Turns,
        value: &mut MaybeUninit<T>,
        by: &mut By,
    ) -> bool {
        if linked.room.is_some() {
            turns.remove(1);
        }
        if self.put_in_place(linked, value, by) != Sent::Closed {
            return true;
        }
        // Those who wait are told first: then the word has the position again.
        self.finish_close();
        self.in_turn(turns, |turn| {
            if !turn.gone {
                insist(|| self.put_any(linked, self.line.load(), value, by));
            }
            !turn.gone
        })
    }

    /// Whether a linked channel may have a value, although none was found, or so many places: see [`Shared::is_unsure`].
    #[cold]
    pub(super) fn is_unsure_room(&self, linked: &Linked<T>, end: End, count: u64) -> bool {
        let Some(room) = &linked.room else { return false };
        if end == End::Sender && bug!("full_unasked") {
            return false;
        }
        let permits = || self.turns().map_or(0, |turns| turns.permits.load(Ordering::Acquire));
        let word = room.queue.load();
        // In this order: what passes from one to the next meanwhile counts for less, not for more.
        let collected = room.collected();
        let kept = if word.is_free() { ahead(collected, linked.load_head()) } else { room.kept() };
        let before = permits();
        let permitted = before & ((1 << CHANGES) - 1);
        let out = kept + permitted;
        let capacity = most(room.capacity);
        let is_unsure = match end {
            End::Sender => {
                // Where somebody waits, enough for him is what counts; what is kept is for him.
                let first = if word.is_free() { count } else { wanted(room.queue.said(word)) };
                let line = self.line.load();
                linked.len(line) as u64 + permitted + first <= capacity || self.line.load() != line
            }
            End::Receiver if is_uncounted(word) && bug!("open_is_empty_unasked") => false,
            // Where places lie open it is empty unless a value is there.
            End::Receiver if is_uncounted(word) => {
                let line = self.line.load();
                linked.len(line) > 0 || self.line.load() != line
            }
            End::Receiver => in_count(word) + out < capacity,
        };
        // (The word first: so it, the permits, and what was collected were as they were read at one time.)
        is_unsure || room.queue.load() != word || permits() != before || room.collected() != collected
    }
}
