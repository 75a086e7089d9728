//! The places of a channel that is bounded, and too large for a ring: how many are left, who waits for one, and who gives them.
//!
//! ```text
//!   nobody waits:            [ places left ][ – ][ flags ]
//!   somebody waits:          [   version   ][ A ][ flags ]      no place is left
//!   one was let in:          [ as above, or 0 ]  [ BUSY  ]      its value is on its way
//!
//!   due:                     [ AGAIN ][ SERVING ][ places for those who wait ]
//!
//!   head, of the blocks:     [ position ][ WANTED, … ]
//!   collected:               [ position ]                       the places of the values before it have come here
//! ```
//!
//! Sends wait here, and reservations, of which some want several places at once.
//!
//! # Collecting
//!
//! A receive moves the head, and does not come here, where each send does: so the two sides work on cache lines of their own. The
//! places that it leaves are *uncollected*, as many as the head is ahead of `collected`. Who finds too few places collects them: moves
//! `collected` to the head, by an exchange, and has as many places. Where somebody waits, receives come here: the head says WANTED
//! then.
//!
//! | head | operation | then |
//! |---|---|---|
//! | not WANTED | recv: head + 1 | |
//! | WANTED | recv: head + 1 | collects |
//! | any | send, reserve: too few are left | collects; if there was something looks again |
//! | any | send, reserve, about to wait: WANTED | the same |
//! | not WANTED | the same, which waits by now: WANTED | collects |
//! | WANTED | who has put what it has collected into the word: not WANTED | if somebody waits by now: WANTED, collects |
//!
//! A [forced](super::overflow) send takes a value out, and puts its own into that place. So it moves `collected` on *before* it moves
//! the head, and back if somebody else has taken that value; in between a place less can be collected than there is. If the head is
//! WANTED afterwards, it collects what could not be.
//!
//! # Serving
//!
//! A sender is out of its line a moment before its value is in the channel: these are two words. So those who wait are served by one
//! at a time, the *server*; who has places for them meanwhile leaves these to it.
//!
//! | word | due | who has n places | then |
//! |---|---|---|---|
//! | nobody waits, not BUSY | any | word: n more are left | |
//! | otherwise | no server | due: SERVING, takes what is kept there | serves with all of them |
//! | | SERVING | due: n more, AGAIN | the server comes round again |
//!
//! | word | the server, with s places | then |
//! |---|---|---|
//! | nobody waits | word: s are left, not BUSY; head: not WANTED | as above; ends, with none, or goes on |
//! | the first wants more than s | word: not BUSY | ends, with s |
//! | the first sends | takes it out; BUSY | its value goes into the channel: s − 1; to a receiver, or it is closed: s |
//! | the first wants n ≤ s | the same | grants them: s − n |
//!
//! | due | the server ends, with s | then |
//! |---|---|---|
//! | SERVING | due: s are kept, for the first | |
//! | AGAIN | due: SERVING, takes what was left there | serves with these, too |
//!
//! Who leaves such a first, that wants several, comes with no places: for those behind it there may be enough.
//!
//! ## Invariants
//! 1. Only the server lets anybody in, so the values of those who waited come into the channel in the order of the line.
//! 2. Places are left in the word only while nobody waits, and not while it is BUSY. So a send that takes one, and one that hands its
//!    value over to a receiver that waits, which it does only then, too, comes after all that had waited. (It is BUSY from the
//!    first one on that is let in, as those behind may leave before its value has come.)
//! 3. Places left, values, permits, what is kept, what is uncollected, and what is in the hands of those who are in the middle of
//!    something are as many as the capacity: so there are never more values.
//! 4. Places are kept only while the first one wants more; or who has changed that is on the way.
//! 5. No foreign code runs while SERVING: wakers are called, and what was left is freed, when the server is through.
//! 6. While somebody waits the head is WANTED, and nothing is uncollected; or who has changed that is on the way.
//!
//! ## Orderings
//! Acquire and release at `due`: each server sees what those before it have done. Who comes, with places or with none, changes
//! `due` after what it has done or seen at the word. If that is before the server ends, the server comes round again, and finds the
//! word so, or later; if it is after, who comes is the next server.
//!
//! WANTED is beside the position: a receive finds it, or who has set it finds what that receive has left. So does a forced send that
//! has moved `collected` back: it looks by an exchange that changes nothing, and finds WANTED, or is found. Two pairs are at two words
//! each, and by fences one of the two finds what the other one has done: who waits, then looks whether the head is WANTED still, and
//! who clears this, then looks whether somebody waits; and closing, see below.
//!
//! ## Progress
//! Who has places waits for nobody. But those who wait to send depend on the server: while its thread is suspended in the middle
//! they are not let in, whoever makes room. And who has to say "full" or "empty" waits for all that are in the middle of something just
//! then: the server, who collects, forced sends, and sends that have a place and no position yet. A receive that has left its
//! place to another one returns before the sender is let in: until then that can be given up still. A server serves each that waits
//! once, and wakes them afterwards: so it comes to an end, unless those that it has served are polled without being woken, and come
//! again.
//!
//! # Forced sends, and closing
//!
//! A [forced](super::overflow) send takes the first value out, and puts its own into the channel after that. Nobody may find it
//! closed in between: either the own value comes too late, or the one that was taken. So it says that it is under way
//! (`forced`), then looks whether the places are closed; who closes, closes the places, then looks who is under way, and closes
//! the channel itself when those are through. From the one step to the other no foreign code runs.

use super::blocks::{FLAGS, ONE, distance};
use super::queue::Queue;
use super::shared::CLOSED;
use crate::prim::{AtomicU64, Ordering, fence};
use crate::task::thread;
use crate::wait::{By, Claim, OWN, Primitive, REST_BITS, REST_SHIFT, SENDERS, Word};

#[derive(Debug)]
pub(super) struct Room {
    pub(super) queue: Queue,
    pub(super) capacity: usize,
    /// Places for those who wait, and whether somebody serves these.
    due: AtomicU64,
    /// A position: see the header.
    collected: AtomicU64,
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

/// Of the word: set when one is let in, cleared when the server is through. It counts where nobody waits: the last one was let in, or
/// those behind have left.
const BUSY: u64 = OWN[1];

/// Of `due`: there is a server.
const SERVING: u64 = 1 << 62;
/// It is to come round again.
const AGAIN: u64 = 1 << 63;

impl Room {
    pub(super) fn new(capacity: usize) -> Room {
        Room {
            queue: Queue::new((capacity as u64).min(MOST) << REST_SHIFT),
            capacity,
            due: AtomicU64::new(0),
            collected: AtomicU64::new(0),
            forced: AtomicU64::new(0),
        }
    }

    /// A forced send is under way: nobody closes the channel until it is through. `None`: it is being closed.
    pub(super) fn force(&self) -> Option<Forced<'_>> {
        self.forced.fetch_add(1, Ordering::Relaxed);
        let forced = Forced(self);
        // ORDERING: with that of `wait_for_forced`: one of the two sees the other.
        fence(Ordering::SeqCst);
        (!self.queue.load().has(CLOSED)).then_some(forced)
    }

    /// A forced send is about to move the head, and keeps the place that it leaves.
    pub(super) fn keep_one(&self) {
        if !bug!("forced_keeps_no_place") {
            // ORDERING: who sees the head that it moves, which is released, has seen this.
            self.collected.fetch_add(ONE, Ordering::Relaxed);
        }
    }

    /// It has not moved it.
    pub(super) fn keep_none(&self) {
        if !bug!("forced_keeps_no_place") {
            self.collected.fetch_sub(ONE, Ordering::Relaxed);
        }
    }

    pub(super) fn collected(&self) -> u64 {
        self.collected.load(Ordering::Acquire)
    }

    /// Collects what there is; how much that was.
    pub(super) fn collect(&self, head: impl Fn() -> u64) -> u64 {
        loop {
            let collected = self.collected();
            let head = head() & !FLAGS;
            let count = uncollected(collected, head);
            // ORDERING: Release: who counts from here on has this head, or a later one.
            if count == 0
                || self
                    .collected
                    .compare_exchange(collected, head, Ordering::Release, Ordering::Relaxed)
                    .is_ok()
            {
                return count;
            }
        }
    }

    /// The places are closed: waits for the forced sends that did not find them so.
    pub(super) fn wait_for_forced(&self) {
        // ORDERING: as above.
        fence(Ordering::SeqCst);
        let mut pauses = 0;
        while self.forced.load(Ordering::Acquire) != 0 && !bug!("closes_beside_a_forced_send") {
            thread::pause(pauses);
            pauses += 1;
        }
    }

    /// Whether these are all places.
    pub(super) fn is_all(&self, places: u64) -> bool {
        places >= self.most()
    }

    /// How many places there are.
    pub(super) fn most(&self) -> u64 {
        (self.capacity as u64).min(MOST)
    }

    /// Whether nobody waits, nor has waited whose value is still on its way.
    pub(super) fn is_calm(&self) -> bool {
        is_calm(self.queue.load())
    }

    #[inline(always)]
    pub(super) fn take(&self) -> Taken {
        let word = self.queue.load();
        if word.has(CLOSED) {
            Taken::Closed
        } else if !word.is_free() || word.rest() == 0 {
            Taken::Full
        } else if self.queue.cas(word, word.with_rest(word.rest() - 1)) {
            Taken::Yes
        } else {
            Taken::Lost
        }
    }

    /// Takes as many places as there are, `most` at most, if nobody is in the way; how many.
    pub(super) fn take_several(&self, most: usize) -> usize {
        let word = self.queue.load();
        if word.has(CLOSED) || !word.is_free() {
            return 0;
        }
        let count = word.rest().min(most as u64);
        if count == 0 || !self.queue.cas(word, word.with_rest(word.rest() - count)) {
            return 0;
        }
        count as usize
    }

    /// So many places are left again. False: somebody waits.
    #[inline(always)]
    pub(super) fn put_back(&self, places: u64) -> bool {
        loop {
            let word = self.queue.load();
            if !is_calm(word) {
                return false;
            }
            if self.queue.cas(word, word.plus(places)) {
                return true;
            }
        }
    }

    /// Comes to serve, with so many places; with how many it serves. `None`: there is a server, which has them now.
    pub(super) fn begin_to_serve(&self, places: u64) -> Option<u64> {
        let mut due = self.due.load(Ordering::Relaxed);
        loop {
            let is_served = due & SERVING != 0;
            if is_served && bug!("two_serve_a_room") {
                return Some(places);
            }
            let to = if is_served { (due + places) | AGAIN } else { SERVING };
            // ORDERING: AcqRel: see the header.
            match self.due.compare_exchange(due, to, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) if is_served => return None,
                Ok(_) => return Some(due + places),
                Err(now) => due = now,
            }
        }
    }

    /// The server ends, with so many places for the first one. `Err`: it is to come round again, with so many more.
    pub(super) fn end_to_serve(&self, places: u64) -> Result<(), u64> {
        if bug!("a_room_is_left_unseen") {
            self.due.swap(places, Ordering::AcqRel);
            return Ok(());
        }
        // ORDERING: AcqRel: see the header.
        match self.due.compare_exchange(SERVING, places, Ordering::AcqRel, Ordering::Relaxed) {
            Ok(_) => Ok(()),
            Err(_) => Err(self.due.swap(SERVING, Ordering::AcqRel) & !(SERVING | AGAIN)),
        }
    }

    /// The server takes the first one out of the line. `None`: look again.
    pub(super) fn let_in(&self, word: Word, by: &mut By<'_>) -> Option<Claim> {
        let popped = self.queue.pop(word, |word| match word.is_free() {
            true if bug!("a_room_is_free_early") => word,
            false if bug!("a_room_is_free_as_one_leaves") => self.queue.bump(word),
            // (Also where others wait: they may leave before its value has come.)
            _ => self.queue.bump(word).with(BUSY),
        });
        popped?.claim(SENDERS, by)
    }

    /// With this word the server has nobody to let in; so many places are left. False: the word has changed.
    pub(super) fn rest(&self, word: Word, places: u64) -> bool {
        let to = word.plus(places).without(BUSY);
        if to == word { self.queue.load() == word } else { self.queue.cas(word, to) }
    }

    /// The places that are kept for the first one who waits.
    pub(super) fn kept(&self) -> u64 {
        let due = self.due.load(Ordering::Acquire);
        // (What a server has counts as being on its way.)
        if due & SERVING != 0 { 0 } else { due }
    }

    pub(super) fn assert_valid(&self) {
        self.queue.assert_valid();
        let (word, due) = (self.queue.load(), self.due.load(Ordering::Acquire));
        assert!(!word.has(BUSY) && due & (SERVING | AGAIN) == 0, "nobody serves");
        assert!(due == 0 || !word.is_free() || word.has(CLOSED), "places are kept for nobody");
    }
}

/// How many places are uncollected. (Fewer than none where a forced send keeps one.)
pub(super) fn uncollected(collected: u64, head: u64) -> u64 {
    u64::try_from(distance(collected, head) >> REST_SHIFT).unwrap_or(0)
}

fn is_calm(word: Word) -> bool {
    word.is_free() && !word.has(BUSY)
}
