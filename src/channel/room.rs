//! The places of a channel that is bounded, and too large for a ring: how many are left, who waits for one, and who gives them.
//!
//! ```text
//!   nobody waits, open:      [ limit, a position ][ 0    ][ – ][ flags ]
//!   nobody waits, counted:   [    places left    ][ HELD ][ – ][ flags ]
//!   somebody waits:          [          version          ][ A ][ flags ]      no place is left
//!   one was let in:          [      as above, or not known    ][ BUSY  ]      its value is on its way
//!
//!   the channel's word:      [ tail, a position  ][ HELD ][ – ][ flags ]      HELD: places are counted
//!   head, of the blocks:     [ head, a position  ][      WANTED, …     ]
//!   collected:               [     a position    ]                            the places of the values before it have come here
//!   due:                     [ AGAIN ][ SERVING ][ places for those who wait ]
//! ```
//!
//! Sends wait here, and reservations, of which some want several places at once.
//!
//! # Open places
//!
//! Up to the *limit* places lie open: whoever moves the tail on, from a position before the limit, has one. That is the one
//! exchange of a send, which only looks here. It may act on an outdated limit: while places are open neither the limit nor the tail
//! ever goes back; and while somebody waits the tail is at the limit, or beyond, so that an exchange from before it fails.
//!
//! While somebody waits, or it is BUSY, nobody but the server moves the tail, with places that it has in hand. Whoever ends that
//! writes a new limit: the server, the tail plus the places it has left; the last waiter to leave, the tail.
//!
//! # Counted places
//!
//! A permit holds a place without a position, and a forced send takes one that another value had: these need a count. So from the
//! first of them on places are counted. Then a send takes one out of the room's word, by one exchange more, before it moves the
//! tail; meanwhile others can move that, or a receiver can come, to which the value is handed over.
//!
//! | step of who *begins to count* | | from then on |
//! |---|---|---|
//! | 1 | `counts`: BEGUN | who is the last to leave a word says that in it |
//! | 2 | the channel's word, nobody waits: HELD; a receiver waits: another version | no exchange of a send by an open place succeeds |
//! | 3 | the word, nobody waits: limit − tail, and HELD; BUSY: 0; somebody waits: another version | |
//! | 4 | `counts`: COUNTED | |
//!
//! Several may go through these at the same time: each changes what is not changed yet. In 2 and 3, another version makes those
//! fail who are leaving, and have looked at `counts` before 1. While places are open after 2 the tail stays where it is: whoever
//! sends finds HELD beside open places, and goes through the steps as well; and nobody has a place that is counted. What is decided
//! by an open word is decided by its exchange: a limit has no HELD, and after 3 no word is open any more.
//!
//! # Collecting
//!
//! A receive moves the head, and does not come here, where each send does: so the two sides work on cache lines of their own. The
//! places that it leaves are *uncollected*, as many as the head is ahead of `collected`. Who finds too few places collects them:
//! moves `collected` to the head, by an exchange, and has as many places. Where somebody waits, receives come here: the head says
//! WANTED then.
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
//! A [forced](super::overflow) send takes a value out, and puts its own into that place. So it moves `collected` on *before* it
//! moves the head, and back if somebody else has taken that value; in between a place less can be collected than there is. If the
//! head is WANTED afterwards, it collects what could not be.
//!
//! # Serving
//!
//! A sender is out of its line a moment before its value is in the channel: these are two words. So only one at a time serves those
//! who wait, the *server*; whoever has places for them meanwhile leaves these to it.
//!
//! | word | due | who has n places | then |
//! |---|---|---|---|
//! | nobody waits, not BUSY | any | word: n more, or n further | |
//! | otherwise | no server | due: SERVING, takes what is kept there | serves with all of them |
//! | | SERVING | due: n more, AGAIN | the server comes round again |
//!
//! | word | the server, with s places | then |
//! |---|---|---|
//! | nobody waits | word: s are left, or lie open from the tail on, not BUSY; head: not WANTED | as above; ends, with none, or goes on |
//! | the first wants more than s | word: not BUSY | ends, with s |
//! | the first sends | takes it out; BUSY | its value goes into the channel: s − 1; to a receiver, or it is closed: s |
//! | the first wants n ≤ s | the same | grants them: s − n |
//!
//! | due | the server ends, with s | then |
//! |---|---|---|
//! | SERVING | due: s are kept, for the first | |
//! | AGAIN | due: SERVING, takes what was left there | serves with these, too |
//!
//! When a first waiter that wants several leaves, its owner serves with no places: for those behind there may be enough.
//!
//! ## Invariants
//! 1. Only the server lets anybody in, so the values of those who waited come into the channel in the order of the line.
//! 2. Places are left in the word, or lie open, only while nobody waits, and not while it is BUSY. So a send that takes one, and
//!    one that hands its value over to a receiver that waits, which it does only then, too, comes after all that had waited. (It is
//!    BUSY from the first one on that is let in, as those behind may leave before its value has come.)
//! 3. Places left or open, values, permits, what is kept, what is uncollected, and what is in the hands of those who are in the
//!    middle of something are as many as the capacity: so there are never more values.
//! 4. Places are kept only while the first one wants more; or who has changed that is on the way.
//! 5. No foreign code runs while SERVING: wakers are called, and what was left is freed, when the server is through.
//! 6. While somebody waits the head is WANTED, and nothing is uncollected; or who has changed that is on the way.
//!
//! ## Orderings
//! Acquire and release at `due`: each server sees what those before it have done. Who comes, with places or with none, changes
//! `due` after what it has done or seen at the word. If that is before the server ends, the server comes round again, and finds the
//! word so, or later; if it is after, who comes is the next server.
//!
//! WANTED is beside the position: a receive finds it, or who has set it finds what that receive has left. So does a forced send
//! that has moved `collected` back: it looks by an exchange that changes nothing, and finds WANTED, or is found. Two pairs meet at
//! two words each; by fences, one of the two finds what the other one has done: whoever waits, then looks whether the head is still
//! WANTED, and whoever clears this, then looks whether somebody waits; and closing, see below.
//!
//! ## Progress
//! Who has places waits for nobody. But those who wait to send depend on the server: while its thread is suspended in the middle
//! they are not let in, whoever makes room. And who has to say "full" or "empty" waits for all that are in the middle of something
//! just then: the server, who collects, forced sends, and sends that have a counted place and no position yet. (Who begins to count
//! waits for nobody.) A receive that has left its place to another one returns before the sender is let in: until then the send can
//! still be given up. A server serves each that waits once, and wakes them afterwards: so it comes to an end, unless those that it
//! has served are polled without being woken, and come again.
//!
//! # Forced sends, and closing
//!
//! A [forced](super::overflow) send takes the first value out, and puts its own into the channel after that. Nobody may find the
//! channel closed in between: then either its own value would come too late, or the one that it took. So it says that it is under
//! way (`forced`), then looks whether the places are closed; who closes, closes the places, then looks who is under way, and closes
//! the channel itself when those are through. From the one step to the other no foreign code runs.

use super::blocks::{FLAGS, ONE, ahead, plus};
use super::queue::{Asking, Queue, wanted};
use super::ring::HELD;
use super::shared::CLOSED;
use crate::prim::{AtomicU32, AtomicU64, Ordering, fence};
use crate::task::thread;
use crate::wait::{By, Claim, OWN, Primitive, REST_BITS, SENDERS, Word};

pub(super) struct Room {
    pub(super) queue: Queue,
    pub(super) capacity: usize,
    /// Places for those who wait, and whether somebody serves these.
    due: AtomicU64,
    /// A position: see the header.
    collected: AtomicU64,
    /// How many forced sends are under way.
    forced: AtomicU64,
    /// Whether places are counted: 0, [`BEGUN`], [`COUNTED`].
    counts: AtomicU32,
}

/// A forced send that is under way, until this is dropped.
pub(super) struct Forced<'a>(&'a Room);

impl Drop for Forced<'_> {
    fn drop(&mut self) {
        // ORDERING: Release: who closes comes after what it has done.
        self.0.forced.fetch_sub(1, Ordering::Release);
    }
}

/// More than any channel ever holds.
const MOST: u64 = (1 << (REST_BITS - 2)) - 1;

/// Of the word: set when one is let in, cleared when the server is through. It matters if nobody waits: the last was let in, or
/// those behind have left.
const BUSY: u64 = OWN[1];

/// Of `counts`: places are counted from here on, but the words may not say so yet.
const BEGUN: u32 = 1;
/// They do.
const COUNTED: u32 = 2;

/// Of `due`: there is a server.
const SERVING: u64 = 1 << 62;
/// It is to come round again.
const AGAIN: u64 = 1 << 63;

impl Room {
    pub(super) fn new(capacity: usize) -> Room {
        Room {
            queue: Queue::new(most(capacity) * ONE),
            capacity,
            due: AtomicU64::new(0),
            collected: AtomicU64::new(0),
            forced: AtomicU64::new(0),
            counts: AtomicU32::new(0),
        }
    }

    /// Whether places are counted, or about to be.
    pub(super) fn counts(&self) -> bool {
        // ORDERING: Relaxed: whoever has loaded a word that was changed since sees this, and an exchange of an older one fails.
        self.counts.load(Ordering::Relaxed) != 0
    }

    /// Whether they are, and the words say so.
    pub(super) fn is_counted(&self) -> bool {
        // ORDERING: Acquire: the words are so, or later.
        self.counts.load(Ordering::Acquire) == COUNTED
    }

    /// Places are to be counted.
    pub(super) fn begin_to_count(&self) {
        let _ = self.counts.compare_exchange(0, BEGUN, Ordering::Relaxed, Ordering::Relaxed);
    }

    /// No send takes a place by its position any more: counts those that are left. `tail`: where that is, and stays.
    pub(super) fn count(&self, tail: impl Fn() -> u64) {
        self.queue.update(|word| match word.is_free() {
            true if word.has(HELD) => None,
            false if bug!("counts_as_a_sender_leaves") => None,
            true => Some(counted(word, self.left(word, &tail))),
            // Whoever is about to write into the word what was so before does not.
            false => Some(self.queue.bump(word)),
        });
        self.counts.store(COUNTED, Ordering::Release);
    }

    /// How many places are left with this word, and that tail.
    pub(super) fn left(&self, word: Word, tail: impl Fn() -> u64) -> u64 {
        if is_uncounted(word) { ahead(tail(), word.0) } else { in_count(word) }
    }

    /// How many places lie open for whoever moves on the tail in this word of the channel.
    #[inline(always)]
    pub(super) fn open_at(&self, line: Word) -> u64 {
        let word = self.queue.load();
        if is_open(word) { ahead(line.0, word.0) } else { 0 }
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

    /// It has not moved the head after all.
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
            let count = ahead(collected, head);
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
        thread::pause_until(|| {
            self.forced.load(Ordering::Acquire) == 0 || bug!("closes_beside_a_forced_send")
        });
    }

    /// Whether nobody waits, and no value of one that has waited is still on its way.
    pub(super) fn is_calm(&self) -> bool {
        is_calm(self.queue.load())
    }

    /// Takes as many places as there are, `most` at most, if they are counted, and nobody is in the way; how many.
    pub(super) fn take_several(&self, most: usize) -> usize {
        let word = self.queue.load();
        let count = in_count(word).min(most as u64);
        if count > 0 && !word.has(CLOSED) && self.take_from(word, count) { count as usize } else { 0 }
    }

    /// Takes so many, which this word has counted. False: it has changed.
    #[inline(always)]
    pub(super) fn take_from(&self, word: Word, count: u64) -> bool {
        self.queue.cas(word, Word(word.0 - count * ONE))
    }

    /// So many places are left again. False: somebody waits.
    #[inline(always)]
    pub(super) fn put_back(&self, places: u64) -> bool {
        self.queue.update(|word| is_calm(word).then(|| plus(word, places))).is_some()
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

    /// The server takes the first one out of the line. `rest`: see [`Asking`]. `None`: look again.
    pub(super) fn let_in(&self, word: Word, rest: &dyn Fn() -> u64, by: &mut By) -> Option<Claim> {
        let popped = Asking(&self.queue, rest).pop(word, |word| match word.is_free() {
            true if bug!("a_room_is_free_early") => word,
            false if bug!("a_room_is_free_as_one_leaves") => self.queue.bump(word),
            // (Also where others wait: they may leave before its value has come.)
            _ => self.queue.bump(word).with(BUSY),
        });
        popped?.claim(SENDERS, by)
    }

    /// With this word the server has nobody to let in; so many places are left, from that tail on. False: the word has changed.
    pub(super) fn rest(&self, word: Word, places: u64, tail: impl FnOnce() -> u64) -> bool {
        // (Where it was BUSY, and nobody waits, nobody but the server has moved the tail.)
        let is_lost =
            !bug!("served_places_stay_behind") && word.is_free() && word.has(BUSY) && !word.has(HELD);
        let from = if is_lost { Word(word.0 & (ONE - 1) | tail()) } else { word };
        self.end_busy(word, plus(from, places))
    }

    /// Makes it this word, without BUSY. False: the word has changed.
    pub(super) fn end_busy(&self, word: Word, to: Word) -> bool {
        let to = to.without(BUSY);
        if to == word { self.queue.load() == word } else { self.queue.cas(word, to) }
    }

    /// The places that are kept for the first one who waits.
    pub(super) fn kept(&self) -> u64 {
        let due = self.due.load(Ordering::Acquire);
        // (What a server has counts as being on its way.)
        if due & SERVING != 0 { 0 } else { due }
    }

    /// Beside this word of the channel.
    pub(super) fn assert_valid(&self, line: Word) {
        self.queue.assert_valid();
        let (word, due) = (self.queue.load(), self.due.load(Ordering::Acquire));
        assert!(!word.has(BUSY) && due & (SERVING | AGAIN) == 0, "nobody serves");
        if line.is_free() && word.is_free() && !word.has(CLOSED) {
            let held = [line, word].map(|word| word.has(HELD));
            assert_eq!(held, [self.is_counted(); 2], "both words say whether places are counted");
            assert!(word.has(HELD) || ahead(word.0, line.0) == 0, "nobody is beyond the limit");
        }
        let wanted = if word.is_free() { 1 } else { wanted(self.queue.said(word)) };
        assert!(
            due < wanted || word.has(CLOSED),
            "invariant 4: {due} are kept, and the first one wants {wanted}"
        );
    }
}

/// How many places there are where so many were asked for.
pub(super) fn most(capacity: usize) -> u64 {
    (capacity as u64).min(MOST)
}

fn is_calm(word: Word) -> bool {
    word.is_free() && !word.has(BUSY)
}

/// Whether the word says up to which position places are open: it is that position, and nothing else.
#[inline(always)]
pub(super) fn is_open(word: Word) -> bool {
    !word.has(FLAGS)
}

/// The same, or it did when the channel closed.
#[inline(always)]
pub(super) fn is_uncounted(word: Word) -> bool {
    is_calm(word) && !word.has(HELD)
}

/// How many places the word has counted.
pub(super) fn in_count(word: Word) -> u64 {
    if word.is_free() && word.has(HELD) { word.0 / ONE } else { 0 }
}

/// The word, nobody waits, with so many places counted.
fn counted(word: Word, places: u64) -> Word {
    Word(word.0 & (ONE - 1)).with(HELD | (places * ONE))
}
