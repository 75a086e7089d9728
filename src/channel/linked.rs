//! Channels without a bound, and those whose capacity is too large for a ring: linked [blocks](super::blocks) of slots,
//! and the receivers that wait in the same word as the position behind the last value.
//!
//! ```text
//!   nobody waits:        [ tail, a position ][ HELD ][ – ][ flags ]
//!   a receiver waits:    [         version         ][ A ][ flags ]       it is empty: tail is where head is
//! ```
//!
//! | word | operation | exchange | then |
//! |---|---|---|---|
//! | CLOSED | send | – | fails |
//! | a receiver waits | send | next, another version | hands over |
//! | nobody waits | send | tail + 1 | puts the value into its block |
//! | RETURNED | recv | – | takes what was given back |
//! | not RETURNED | recv: the first value is published | head + 1 | takes it |
//! | tail ≠ head | recv: it is not | – | looks again |
//! | tail = head, CLOSED | recv | – | fails |
//! | tail = head | recv waits | me, a new version | |
//! | nobody waits | send k, as far as the block goes | tail + k | puts them into the block, publishes all |
//! | | recv k: so many are published, as far as the block goes | head + k | takes them |
//!
//! "It is empty, and I wait" is one step here as well: `head` never passes `tail`, so if it has reached that, and then
//! the word with that tail is exchanged, it is still there. While a receiver waits nothing changes `head`; so the last
//! one to go puts it back into the word, as the tail.
//!
//! What is given back comes before the values in the blocks, which are claimed at the head. So the head has a flag for it below its
//! position, GIVEN, which changes under the lock of what was given back: it is set after RETURNED was set in the word, and cleared
//! before that is. While there is something, and the lock is free, both are set. So whoever takes a value looks at the head alone,
//! and leaves the word, which changes with each send, to the senders' core.
//!
//! A version is the number of a *stay* (from when somebody begins to wait where nobody did, until nobody does) and a count within
//! it. Whoever is about to end a stay, by taking the last waiter out, counts it first. So no node stands in the word twice with one
//! version: it comes again only after its stay was counted. But a waiter that looked before a stay began, and whose exchange finds
//! the word as it was, comes with the version of a stay that is over: it is given a new one before it is taken out (`is_stale`), so
//! that stamps are in the order of the hand-overs. So is one whose stay was counted by somebody who then did not get it, or is
//! about to: nobody can tell. But the new version is RENEWED: all stays that are over have lower ones, and this holds until its own
//! stay is over. So each stay is given a new version once at most, and whoever takes waiters out fails only because of others who
//! do. (A version counted up past the number of its stay, by those who join and leave, becomes RENEWED, too: it may have been over.
//! What a [dynamic set](crate::select::Select) takes while nobody waits gets the number of a stay in which nobody waits: so, if it
//! is given back, it has its place between the hand-overs before and after it.)
//!
//! The number of a stay has 30 bits. An operation that is suspended between its look and its exchange, while others begin and end
//! exactly 2^30 stays (a minute at full speed) and the same waiter stands there alone, takes one stay for the other: it hands over
//! to somebody who does wait, but leaves an old head in the word as the tail. Then values are lost, and slots are read that nobody
//! has written.
//!
//! # Large, and bounded
//!
//! Such a channel has a [room](super::room) as well: a word that says up to which position there are places, in which senders wait.
//! A send looks there, and has its place with its position. A receive is as of an unbounded channel: it leaves a place by moving
//! the head, and senders collect what was left when they find no place any more. Once there were permits, or forced sends, places
//! are counted there (HELD): then a send takes one, one locked instruction more, before it puts its value.
//!
//! Only where senders wait, the head says so, in a second flag, WANTED: then receives give them the places, and put their values
//! for them, one at a time, so that they keep their order. That takes two locked instructions to begin and to end, one to collect,
//! two for each sender, and two more and a fence after the last one. A receive that finds another one doing so leaves its place to
//! that, by one locked instruction.
//!
//! The quick ways leave the last slot of a block to the slow ones: so they make no call but a final one, and what they need stays
//! in registers. (A locked instruction waits for the stores before it. And a mark is a call where there is no quick way to
//! what is a thread's own, as on macOS.)
//!
//! A load of what was just exchanged waits for the exchange. So where values are received in a row there is a *note* of the head
//! beside it, with the mark of the thread that has brought it there. Who finds its own mark takes the note for the head, and notes
//! the next one; who finds another one, or none, loads the head, and notes nothing. Only who takes the last value of a block makes
//! the note its own, if there are more values, and otherwise clears it: so where several threads receive they mostly change the
//! head alone, and a receive that finds one value at a time does without. A note is a look at the head: it is made after the head
//! came there, and the exchange fails if that has gone on. It is older than a block only if its thread was suspended before it made
//! it: as any look may be.
//!
//! Locked instructions, of one value or of several in a block: send 1, or 2 if places are counted, and 2 more where it collects;
//! receive 1, and of a dynamic set 1 more; a receive that waits 1, and who ends its stay 1 more.

use std::collections::VecDeque;
use std::mem::MaybeUninit;

use super::blocks::{Blocks, FLAGS, ONE, ahead, distance, plus};
use super::ring::HELD;
use super::room::{Room, in_count, is_open};
use super::shared::{CLOSED, End, RETURNED, Sent, Shared, Step};
use crate::prim::{self, AtomicU64, Ordering, fence};
use crate::task;
use crate::task::thread;
use crate::wait::{By, Primitive, REST_BITS, Tray, Word};

#[repr(C)]
pub(super) struct Linked<T> {
    blocks: Blocks<T>,
    pub(super) room: Option<Room>,
    /// How many stays are over, or about to be.
    stays: AtomicU64,
}

/// In the head: something was given back.
const GIVEN: u64 = 1;
/// In the head: somebody waits for a place, or is about to, see [`room`](super::room).
const WANTED: u64 = 2;

/// Bits of a version below the number of its stay.
const STEP_BITS: u32 = 6;
/// One step of the count within a stay: all of these bits but the lowest.
const STEP: u64 = 2;
/// The lowest of them: a new version that the stay was given.
const RENEWED: u64 = 1;
/// So many stays have numbers; one that is `FAR` or more behind lies ahead.
const STAYS: u64 = (1 << (REST_BITS - STEP_BITS)) - 1;
const FAR: u64 = 1 << (REST_BITS - STEP_BITS - 1);

/// Without a bound it holds no more values than this, plus those that come until somebody looks.
const MOST: u64 = (1 << 34) - 2 * LOOK;
/// How often somebody looks.
const LOOK: u64 = 1 << 20;

/// What a note says of this thread, below the position; hardly any other one has the same. Never 0.
#[inline(always)]
fn mark() -> u64 {
    task::address_here() as u64 & FLAGS | 1
}

impl<T> Linked<T> {
    pub(super) fn new(capacity: Option<usize>) -> Self {
        Linked { blocks: Blocks::new(), room: capacity.map(Room::new), stays: AtomicU64::new(0) }
    }

    pub(super) fn room(&self) -> &Room {
        self.room.as_ref().expect("only sends of bounded channels wait")
    }

    /// How many places there are from this word's tail on, for whoever moves it.
    #[inline(always)]
    fn open_at(&self, word: Word) -> u64 {
        self.room.as_ref().map_or(u64::MAX, |room| room.open_at(word))
    }

    /// What the word says beside its flags where nobody waits, and no value is there.
    pub(super) fn rest(&self) -> u64 {
        let counts = self.room.as_ref().is_some_and(Room::counts);
        Word(self.load_head() & !FLAGS).with(if counts { HELD } else { 0 }).rest()
    }

    /// The head, with the flags below its position.
    #[inline(always)]
    pub(super) fn load_head(&self) -> u64 {
        self.blocks.front.head.load(Ordering::Acquire)
    }

    #[inline(always)]
    fn exchange_head(&self, head: u64, next: u64) -> bool {
        // ORDERING: AcqRel orders receivers with each other.
        self.blocks.front.head.compare_exchange(head, next, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Claims the slot at `head`, or so many from there on.
    #[inline(always)]
    fn move_head(&self, head: u64, count: u64) -> bool {
        let next = head.wrapping_add(count * ONE);
        let is_noted = self.noted().is_some_and(|(noted, _)| noted == head);
        let is_moved = self.exchange_head(head, next);
        if Self::NOTES && is_moved && (is_noted || Blocks::<T>::is_last(next.wrapping_sub(ONE))) {
            let helps = next & FLAGS == 0 && self.blocks.is_known(next);
            self.note(if helps { next | mark() } else { 0 });
        }
        is_moved
    }

    /// Whether there are notes: not where each value goes the slow way, nor in models, which have enough to look at.
    const NOTES: bool = Blocks::<T>::HAS_INSIDE && !prim::MODEL;

    /// The head, as this thread has noted it, and its mark. `None`: another one has, or nobody.
    #[inline(always)]
    fn noted(&self) -> Option<(u64, u64)> {
        if !Self::NOTES {
            return None;
        }
        let mark = mark();
        // ORDERING: Acquire pairs with `note`.
        let head = self.blocks.front.note.load(Ordering::Acquire) ^ mark;
        (head & FLAGS == 0).then_some((head, mark))
    }

    #[inline(always)]
    fn note(&self, note: u64) {
        // ORDERING: Release: who takes this for the head has seen what led to it.
        self.blocks.front.note.store(note, Ordering::Release);
    }

    /// Says in the head whether there is something that was given back.
    #[cold]
    pub(super) fn set_given(&self, is_given: bool) {
        let head = &self.blocks.front.head;
        // ORDERING: Release, after RETURNED was set: who sees this sees that, or comes after it was cleared. And what was
        // received of what was given back comes before what is received here.
        if is_given {
            head.fetch_or(GIVEN, Ordering::Release);
        } else {
            head.fetch_and(!GIVEN, Ordering::Release);
        }
    }

    /// Whether somebody wants a place who may wait for it.
    pub(super) fn is_wanted(&self) -> bool {
        self.load_head() & WANTED != 0
    }

    /// Says in the head that somebody wants a place.
    pub(super) fn want(&self) {
        if !self.is_wanted() {
            // ORDERING: AcqRel: who has received before is seen, and who receives afterwards sees this.
            self.blocks.front.head.fetch_or(WANTED, Ordering::AcqRel);
        }
    }

    /// Nobody waited for places just now: says so in the head. False: somebody does.
    pub(super) fn want_no_more(&self) -> bool {
        if !self.is_wanted() {
            return true;
        }
        self.blocks.front.head.fetch_and(!WANTED, Ordering::AcqRel);
        // ORDERING: with that of `stay_wanted`: one of the two sees the other.
        fence(Ordering::SeqCst);
        let is_over = self.room().queue.load().is_free();
        if !is_over {
            self.want();
        }
        is_over
    }

    /// Whether the head is WANTED at the time of this, or who sets that sees what was done before.
    pub(super) fn is_wanted_now(&self) -> bool {
        self.blocks.front.head.fetch_or(0, Ordering::AcqRel) & WANTED != 0
    }

    /// A value was sent to `tail`, the last position of a block: ends the program rather than have positions be taken for others,
    /// if there are too many values before. (With a bound there are not, and once in a million is enough.)
    fn check_length(&self, tail: u64) {
        if (tail / ONE + 1) % LOOK == 0 && self.is_too_long(tail) {
            std::process::abort();
        }
    }

    #[cold]
    fn is_too_long(&self, tail: u64) -> bool {
        self.room.is_none() && ahead(self.load_head(), tail) > MOST
    }

    /// Collects the places that receives have left; how many.
    pub(super) fn collect(&self) -> u64 {
        self.room().collect(|| self.load_head())
    }

    /// The invariants of the room, beside this word of the channel.
    pub(super) fn assert_valid(&self, line: Word) {
        let room = self.room();
        room.assert_valid(line);
        let left = distance(room.collected(), self.load_head());
        assert!(left >= 0, "more was collected than received");
        let word = room.queue.load();
        let is_settled = left == 0 && self.is_wanted();
        assert!(
            is_settled || word.is_free() || word.has(CLOSED),
            "somebody waits beside places that were left"
        );
    }

    /// The version with which a stay begins.
    pub(super) fn version(&self) -> u64 {
        (self.stays.load(Ordering::Relaxed) & STAYS) << STEP_BITS
    }

    /// Counts a stay of nobody; gives the version with which that begins: behind all that are over.
    pub(super) fn skip_stay(&self) -> u64 {
        // ORDERING: Relaxed: as versions are read.
        (self.stays.fetch_add(1, Ordering::Relaxed) & STAYS) << STEP_BITS
    }

    /// How many stays there were since this version. (A stay of very many steps runs ahead.)
    fn age(&self, version: u64) -> u64 {
        self.stays.load(Ordering::Relaxed).wrapping_sub(version >> STEP_BITS) & STAYS
    }

    /// Grows with each value that is put there, or taken, and wraps.
    pub(super) fn moves(&self, word: Word) -> u32 {
        (self.load_head() / ONE * 2 + self.len(word) as u64) as u32
    }

    /// Whether a stay has ended since it began with this version, or is about to; or its version is renewed.
    #[inline(always)]
    pub(super) fn is_over(&self, version: u64) -> bool {
        version & RENEWED != 0 || (1..FAR).contains(&self.age(version))
    }

    /// The next version of a stay. One that is counted up past the number of its stay may have been over, and not look so any more:
    /// it is a new one, unless it is over still.
    #[cold]
    #[inline(never)]
    pub(super) fn next_version(&self, version: u64) -> u64 {
        let next = version + STEP;
        let is_past = next >> STEP_BITS != version >> STEP_BITS;
        if is_past && !self.is_over(next) { next | RENEWED } else { next }
    }

    /// A new version for one that is over; or itself, if it is new.
    pub(super) fn renewed(&self, version: u64) -> u64 {
        if version & RENEWED == 0 { self.version() | RENEWED } else { version }
    }

    /// A stay is about to end, with this version.
    pub(super) fn end_stay(&self, version: u64) {
        let age = self.age(version);
        let ahead = if age < FAR { 0 } else { STAYS + 1 - age };
        // ORDERING: Relaxed: who takes a waiter out, in the exchange that follows, has seen all those before.
        self.stays.fetch_add(1 + ahead, Ordering::Relaxed);
    }

    pub(super) fn len(&self, word: Word) -> usize {
        self.len_from(self.load_head(), word)
    }

    /// With this head.
    pub(super) fn len_from(&self, head: u64, word: Word) -> usize {
        if !word.is_free() {
            return 0;
        }
        usize::try_from(ahead(head, word.0)).unwrap_or(usize::MAX)
    }
}

impl<T> Shared<T> {
    /// As `quick_send`, of a channel of blocks, but for the last slot of a block.
    #[inline(always)]
    pub(super) fn quick_put(&self, value: &MaybeUninit<T>) -> bool {
        let Some(linked) = self.linked() else { return false };
        let word = self.guess();
        if !word.is_free() || word.has(CLOSED | HELD) {
            return false;
        }
        let Some(block) = linked.blocks.room_inside(word.0) else { return false };
        // (Only rings have halves.)
        if linked.open_at(word) == 0 || !self.cas_within(word, plus(word, 1)) {
            return false;
        }
        // SAFETY: claimed, and not the last one; the caller gives the value up.
        unsafe { linked.blocks.put(word.0, block, value, false) };
        true
    }

    /// The position behind the last value.
    pub(super) fn tail(&self, linked: &Linked<T>) -> u64 {
        loop {
            let word = self.line.load();
            if word.is_free() {
                return word.0 & !FLAGS;
            }
            // While a receiver waits it is where the head is, and stays there.
            let head = linked.load_head() & !FLAGS;
            if self.line.load() == word {
                return head;
            }
        }
    }

    /// As `quick_recv`, of a channel of blocks, but for the last slot of a block.
    #[inline(always)]
    pub(super) fn quick_take(&self, tray: &mut Tray<T>) -> bool {
        let Some(linked) = self.linked() else { return false };
        let noted = linked.noted();
        let head = noted.map_or_else(|| linked.load_head(), |(head, _)| head);
        if head & FLAGS != 0 {
            return false;
        }
        let Some(block) = linked.blocks.value_inside(head) else { return false };
        let next = head.wrapping_add(ONE);
        if !linked.exchange_head(head, next) {
            if noted.is_some() {
                // (Others receive as well.)
                linked.note(0);
            }
            return false;
        }
        if let Some((_, mark)) = noted {
            linked.note(next | mark);
        }
        // SAFETY: claimed, and published; not the last one. At once.
        unsafe { linked.blocks.take(head, block, tray.place(), false) };
        true
    }

    /// Puts values into one block after the other, as far as there are places that lie open, and nobody is in the way.
    pub(super) fn put_into_blocks(&self, linked: &Linked<T>, values: &mut VecDeque<T>) {
        while !values.is_empty() {
            let word = self.line.load();
            let most = usize::try_from(linked.open_at(word)).unwrap_or(usize::MAX);
            if word.has(HELD) || self.put_into_block(linked, word, values, most) == 0 {
                break;
            }
        }
    }

    /// Puts values into one block by one exchange, `most` of them at most, if nobody is in the way; how many.
    fn put_into_block(&self, linked: &Linked<T>, word: Word, values: &mut VecDeque<T>, most: usize) -> usize {
        if !word.is_free() || word.has(CLOSED) {
            return 0;
        }
        let Some(block) = linked.blocks.room(word.0) else { return 0 };
        let left = Blocks::<T>::slots_left(word.0);
        let count = left.min(most).min(values.len());
        if count == 0 || !self.cas(word, plus(word, count as u64)) {
            return 0;
        }
        // SAFETY: claimed.
        unsafe { linked.blocks.put_several(word.0, block, values, count) };
        if count == left {
            linked.check_length(plus(word, count as u64 - 1).0);
        }
        count
    }

    /// The same where places are counted: takes as many as there are, and gives back what it cannot use just now.
    pub(super) fn put_with_places(&self, linked: &Linked<T>, values: &mut VecDeque<T>, by: &mut By) {
        // (Where a receiver waits a value needs no place.)
        if !self.line.load().is_free() {
            return;
        }
        let mut places = linked.room().take_several(values.len());
        while places > 0 {
            let sent = self.put_into_block(linked, self.line.load(), values, places);
            if sent == 0 {
                // (The next value goes as a single one: to the next block, or to a receiver that has come.)
                return self.release(linked, places, by);
            }
            places -= sent;
        }
    }

    /// Takes values out of one block by one exchange, `max` at most; how many.
    pub(super) fn take_from_block(
        &self,
        linked: &Linked<T>,
        out: &mut Vec<T>,
        max: usize,
        by: &mut By,
    ) -> usize {
        let head = linked.load_head();
        if head & GIVEN != 0 && !bug!("batch_overtakes") {
            return 0;
        }
        let Some((block, count)) = linked.blocks.values(head, max) else { return 0 };
        out.reserve(count);
        if !linked.move_head(head, count as u64) {
            return 0;
        }
        // SAFETY: claimed, and published; there is room.
        unsafe { linked.blocks.take_several(head, block, count, out) };
        if head & WANTED != 0 {
            self.collect(linked, by);
        }
        count
    }

    #[inline(always)]
    pub(super) fn send_linked(
        &self,
        linked: &Linked<T>,
        word: Word,
        value: &mut MaybeUninit<T>,
        by: &mut By,
    ) -> Step<Sent> {
        let Some(room) = &linked.room else { return self.put(linked, word, value, by) };
        // (Senders that wait while a receiver does, too, wait for a place that is being given to them, or is reserved.)
        if word.serves(0) && !word.has(CLOSED) && room.is_calm() {
            return self.hand_over(word, value, by);
        }
        let places = room.queue.load();
        if places.has(CLOSED) {
            return Step::Ready(Sent::Closed);
        }
        let is_open = is_open(places);
        if is_open && !word.is_free() {
            return Step::Lost;
        }
        if is_open && word.has(HELD) {
            // They are about to be counted.
            self.count_places(linked);
            return Step::Moved;
        }
        let left = if is_open { ahead(word.0, places.0) } else { in_count(places) };
        if left == 0 {
            let has_more = !bug!("full_uncollected") && self.in_passing(|by| self.collect(linked, by));
            return if has_more { Step::Moved } else { Step::Wait };
        }
        if is_open {
            return self.put(linked, word, value, by);
        }
        if !room.take_from(places, 1) {
            return Step::Lost;
        }
        Step::Ready(self.put_in_place(linked, value, by))
    }

    /// Puts a value for which a place was taken, or hands it over: then it needs none.
    #[inline(always)]
    pub(super) fn put_in_place(&self, linked: &Linked<T>, value: &mut MaybeUninit<T>, by: &mut By) -> Sent {
        let sent = insist(|| self.put(linked, self.line.load(), value, by));
        if sent == Sent::HandedOver {
            self.release(linked, 1, by);
        }
        sent
    }

    /// Puts a value where there is a place for it, or hands it over.
    #[inline]
    pub(super) fn put(
        &self,
        linked: &Linked<T>,
        word: Word,
        value: &mut MaybeUninit<T>,
        by: &mut By,
    ) -> Step<Sent> {
        if word.has(CLOSED) {
            return Step::Ready(Sent::Closed);
        }
        self.put_any(linked, word, value, by)
    }

    /// The same, even if it is closed; nobody waits then.
    #[inline]
    pub(super) fn put_any(
        &self,
        linked: &Linked<T>,
        word: Word,
        value: &mut MaybeUninit<T>,
        by: &mut By,
    ) -> Step<Sent> {
        if !word.is_free() {
            return self.hand_over(word, value, by);
        }
        let Some(block) = linked.blocks.room(word.0) else {
            linked.blocks.bring_room(word.0, self.line.word());
            return Step::Moved;
        };
        if !self.cas(word, plus(word, 1)) {
            return Step::Lost;
        }
        let last = Blocks::<T>::is_last(word.0);
        // SAFETY: claimed; a send has a value until it is done.
        unsafe { linked.blocks.put(word.0, block, value, last) };
        if last {
            linked.check_length(word.0);
        }
        Step::Ready(Sent::Kept)
    }

    pub(super) fn recv_linked(
        &self,
        linked: &Linked<T>,
        word: Word,
        tray: &mut Tray<T>,
        by: &mut By,
    ) -> Step<()> {
        self.take_from(linked, linked.load_head(), word, tray, |wanted| {
            if wanted {
                self.collect(linked, by);
            }
        })
    }

    /// Takes the first value, if this is the head, and calls `taken` then, with whether its place is wanted.
    #[inline(always)]
    pub(super) fn take_from(
        &self,
        linked: &Linked<T>,
        head: u64,
        word: Word,
        tray: &mut Tray<T>,
        taken: impl FnOnce(bool),
    ) -> Step<()> {
        if let Some(block) = linked.blocks.value(head) {
            // (Who has seen RETURNED and comes nevertheless wants a value from here.)
            let has_seen = word.has(RETURNED) && !bug!("forced_waits_for_given");
            if head & GIVEN != 0 && !has_seen || !linked.move_head(head, 1) {
                return Step::Lost;
            }
            // SAFETY: claimed, and published; at once.
            unsafe { linked.blocks.take(head, block, tray.place(), Blocks::<T>::is_last(head)) };
            taken(head & WANTED != 0);
            return Step::Ready(());
        }
        // A receiver waits, so it was empty then; or the tail was where the head was, while the word stayed the same.
        if !word.is_free() && !word.has(CLOSED) {
            return Step::Wait;
        }
        let tail = if word.is_free() { word.0 } else { head };
        if distance(head, tail) == 0 {
            return match self.line.load() == word {
                false => Step::Lost,
                true if word.has(CLOSED) => Step::Ready(()),
                true => Step::Wait,
            };
        }
        if linked.blocks.bring_value(head) { Step::Moved } else { Step::Busy }
    }

    /// Whether a bounded channel may be neither full nor empty, though it seemed to be: a place is taken before a value comes
    /// and given back after it has gone, so that the two are apart for a few instructions.
    ///
    /// Of a ring that has had permits the same is said by [`is_unsure_ring`](Self::is_unsure_ring).
    #[inline]
    pub(super) fn is_unsure(&self, end: End) -> bool {
        match self.linked() {
            // (If somebody has ever reserved.)
            None => self.turns().is_some_and(|turns| self.is_unsure_ring(turns, end)),
            Some(linked) => self.is_unsure_room(linked, end, 1),
        }
    }
}

/// Steps until one is decisive, for one that cannot go back.
#[inline(always)]
pub(super) fn insist<R>(mut step: impl FnMut() -> Step<R>) -> R {
    let mut pauses = 0;
    loop {
        match step() {
            Step::Ready(outcome) => return outcome,
            Step::Moved => {}
            Step::Lost => thread::back_off_briefly(),
            Step::Busy | Step::Wait => thread::pause(&mut pauses),
        }
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::super::branch::{Recv, Send};
    use super::super::{bounded, unbounded};
    use super::*;
    use crate::prim::RING_SLOTS;
    use crate::prim::thread::scope;
    use crate::wait::Operation;

    /// However many join and leave behind one that came late, it is given a new version before it is taken out.
    #[test]
    fn a_version_that_is_over_stays_so_however_often_it_changes() {
        let linked = Linked::<()>::new(None);
        let mut late = linked.version();
        linked.end_stay(late);
        let mut fresh = linked.version();
        let steps = (1 << STEP_BITS) / STEP;
        for step in 1..=3 * steps {
            (late, fresh) = (linked.next_version(late), linked.next_version(fresh));
            assert!(linked.is_over(late), "after {step} changes");
            assert!(linked.renewed(late) > linked.version(), "those that are over have lower ones");
            assert_eq!(linked.is_over(fresh), step >= steps, "after {step} changes");
        }
    }

    /// A channel without a bound says that it is too long before its positions are taken for others, also beside a million sends
    /// that do not look; one with a bound never is.
    #[test]
    fn too_long() {
        let (unbounded, bounded) = (Linked::<u8>::new(None), Linked::<u8>::new(Some(usize::MAX)));
        assert!(!unbounded.is_too_long(0) && !unbounded.is_too_long((1 << 33) * ONE));
        let last = (1 << 34) - LOOK - 1;
        assert!((last + 1) % LOOK == 0 && unbounded.is_too_long(last * ONE));
        assert!(distance(0, (last + LOOK) * ONE) > 0, "it is behind the head until the next look");
        assert!(!bounded.is_too_long(last * ONE));
        // Those who have received the value may have been quicker; and the head has flags.
        unbounded.move_head(0, LOOK);
        unbounded.set_given(true);
        assert!(!unbounded.is_too_long((LOOK - 1) * ONE) && !unbounded.is_too_long(LOOK * ONE));
    }

    /// A thread that receives values in a row knows the head by its note, whatever others have received; one value at a time it does
    /// without.
    #[test]
    fn a_note_is_of_one_thread() {
        let ((tx, rx), slots) = (unbounded(), Blocks::<usize>::slots_left(0));
        let linked = rx.get().linked().expect("it has no bound");
        let noted = || linked.noted().map(|(head, _)| (head / ONE) as usize);
        let sends = |values: std::ops::Range<usize>| values.for_each(|value| tx.try_send(value).unwrap());
        let receives =
            |values: std::ops::Range<usize>| values.for_each(|value| assert_eq!(rx.try_recv(), Ok(value)));
        sends(0..5 * slots);
        receives(0..slots - 1);
        assert_eq!(noted(), None, "not before the end of a block");
        receives(slots - 1..slots + 2);
        assert_eq!(noted(), Some(slots + 2));
        scope(|scope| {
            scope.spawn(|| {
                assert_eq!(noted(), None, "it is another thread's");
                receives(slots + 2..slots + 3);
            });
        });
        assert_eq!(noted(), Some(slots + 2), "that one has noted nothing");
        receives(slots + 3..slots + 4);
        assert_eq!(noted(), None, "it was wrong once");
        receives(slots + 4..3 * slots);
        assert_eq!(noted(), Some(3 * slots));
        receives(3 * slots..5 * slots);
        assert_eq!(noted(), None, "there are no more values");
        (5 * slots..7 * slots).for_each(|value| {
            sends(value..value + 1);
            receives(value..value + 1);
            assert_eq!(noted(), None, "one at a time");
        });
    }

    /// A thread that is about to wait finds what the shortest way leaves alone: the last value of a block, and the places that
    /// receivers have left.
    #[test]
    fn a_glance_tries_all_ways() {
        const CAPACITY: usize = RING_SLOTS + 1;
        let (tx, rx) = bounded(CAPACITY);
        let sends = |value| {
            // SAFETY: the sender outlives it.
            let send = unsafe { Send::new(&tx, MaybeUninit::new(value)) };
            Operation::new(send).glance(&mut Tray::new())
        };
        let receives = || {
            // SAFETY: the receiver outlives it.
            let recv = unsafe { Recv::new(&rx) };
            Operation::new(recv).glance(&mut Tray::new())
        };
        for round in 0..2 {
            assert!((0..CAPACITY).all(sends), "round {round}");
            assert!(!sends(CAPACITY), "it is full");
            assert!((0..CAPACITY).all(|_| receives()), "round {round}");
            assert!(!receives(), "it is empty");
        }
    }
}
