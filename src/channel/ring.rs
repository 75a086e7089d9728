//! Channels of capacity 0 to 255: a ring of slots, and everything else in one word.
//!
//! ```text
//!   63      37 36   29  28  27          6 5          0
//!   [   head  ][ len  ][HELD][first waiter][  flags   ]   flags: RETURNED CLOSED TWO MANY MORE SENDERS
//!
//!   slots:  [ empty ][ full ][ full ][ claimed ][ empty ] …      as many as the capacity and one more, or a few
//!                      ▲ head                    ▲ head + len
//! ```
//!
//! `len` counts the slots that hold a value, or are about to. `head` is a position, and the version, too: a step that takes no
//! value out but has to be noticed (`V`) moves it on by one where a receiver keeps waiting, and otherwise by a whole ring, which
//! changes the number but not the slot. The *limit* is the capacity less the permits that are out; it lies beside the word, and
//! changes only while that says HELD. Then the sending side works under a lock, see [`limit`](super::limit). The quick ways take
//! HELD as if somebody waited.
//!
//! # Steps
//!
//! `next`: the next waiter comes into the word, see [`line`](crate::wait).
//!
//! | word | operation | exchange | then |
//! |---|---|---|---|
//! | CLOSED | send | – | fails |
//! | HELD | send, send waits | – | by turns |
//! | HELD, len > 0, nobody waits | recv | head + 1, len − 1 | reads, *empty*; serves those who wait for their turn |
//! | a receiver waits (so it is empty) | send | next, V | hands over |
//! | nobody waits, len < limit, the slot behind the last is empty | send | len + 1 | writes, *full* |
//! | the same, that slot is still full | send | – | looks again |
//! | full | send waits | me, SENDERS | |
//! | full, no receiver waits, the slot behind the last is empty, the head's full | [forced](super::overflow) send | head + 1 | writes behind the last, *full*; reads, *empty* |
//! | RETURNED | recv | – | takes what was given back, the first that is finished |
//! | len > 0, the head's slot is not full yet | recv | – | looks again |
//! | len > 0, nobody waits, or CLOSED | recv | head + 1, len − 1 | reads, *empty* |
//! | full, a plain sender waits, the slot behind the last is empty | recv | next, head + 1 | reads, *empty*; moves the sender's value behind the last |
//! | HELD, len < limit, a plain sender waits, the slot behind the last is empty | by turns | next, len + 1, V | moves the sender's value there |
//! | full, a select waits to send | recv | next, V | claims it, then *places* its value |
//! | capacity 0, a sender waits, not CLOSED | recv | next, V | claims it, takes its value |
//! | empty, CLOSED | recv | – | fails |
//! | empty | recv waits | me | |
//! | nobody waits, len + k ≤ limit, the k slots behind the last are empty | send k | len + k | writes, *full*, one after the other |
//! | len ≥ k, nobody waits, not RETURNED, the k slots from the head's on are full | recv k | head + k, len − k | reads, *empty*, one after the other |
//!
//! *Placing* a value of a select that was claimed: if there is a value in the ring, `head + 1` and the select's value behind the
//! last, in one step, as for a plain sender; if there is none any more, the value goes to the receiver itself; if it was closed
//! meanwhile, the select is told. The slots that this needs may be in the hands of others for a few instructions: then it waits
//! for those. (Other polls do so only where they go [by turns](super::limit), for [forced](super::overflow) sends, and for
//! whoever is a whole turn of the ring late with a slot.) Between taking the select out and placing its value another sender may
//! overtake it.
//!
//! # Invariants
//! 1. Unless CLOSED: a receiver waits implies len = 0 and not RETURNED; a sender waits implies len = limit, but for a moment under
//!    HELD; unless the capacity is 0, limit > 0.
//! 2. A slot is written by whoever has raised `len` for it, and read by whoever has raised `head` past it. Its flag says
//!    whether they are through.
//! 3. The ring is larger than the capacity: so the slot behind the last of a full ring can be filled while the head's is
//!    being read.
//!
//! # Wrapping
//!
//! `head` has 27 bits. An exchange whose thread was suspended since its load succeeds wrongly only if the very same word has
//! come back, with the same `len` and the same waiter. Each value that is received is one step, and so is a V while receivers keep
//! waiting: it takes 2^27 of these. But a V by which the last receiver is served or leaves, or somebody joins or leaves the
//! senders, is a whole ring: it takes 2^19 of these at capacity 255. Such a word means the same as before, with two exceptions. The
//! slots may still be in the hands of earlier claimants: they are looked at again after the exchange. The limit may differ, if
//! permits have come or gone: a send suspended for exactly that many steps, between its look at the limit and its exchange, could
//! use the place of a permit, or wait beside a free one.
//!
//! With waiters, such an exchange would take out the first one, which does wait, but bring in the one that was next at that time,
//! and may stand elsewhere by now: then a value would be taken from a send, or put into a receive, of another channel, and of
//! another type. The first one may stand there all the while: a thread that begins sends behind it and drops them makes two steps
//! with each: 2^19 in 8 ms, a time slice. So in rings of 16 slots or more a thread announces its scan (or that it parks another
//! waker behind the first one, which relies on the word as well), and the half of the versions that its word is in; no exchange
//! brings the word into a half with a scan under way ([`Primitive::may_turn`]): so the word of a scan does not come again. (Unless
//! a second thread is suspended for as long between that check and its exchange, right at the edge.) In smaller rings a thread
//! would have to be suspended between its scan and its exchange for exactly 2^24 steps or more, a quarter of a second at least.
//!
//! # Cost
//!
//! Locked instructions: send or receive uncontended, 1, of one value or of several; hand over, 1, and the waking; wait, 1, and the
//! cloned waker. Where others wait behind the first one, a scan takes 2 more in rings of 16 slots or more.
//!
//! # Orderings
//!
//! A slot's flag is released by whoever is through with the slot and acquired by the next one to claim it; the word orders
//! everything else.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::task::Waker;

use super::linked::insist;
use super::many::push;
use super::shared::{CLOSED, OVERFLOWS, RETURNED, Sent, Shared, Step};
use crate::prim::{self, AtomicU32, Ordering, RING_BYTES, RING_SLOTS, UnsafeCell};
use crate::task::thread;
use crate::wait::{By, Claim, Line, Parcel, Primitive, REST_SHIFT, SENDERS, Tray, Word};

/// The sending side goes by turns. (Of a [linked](super::linked) channel: places are counted.)
pub(super) const HELD: u64 = 1 << REST_SHIFT;
/// The highest bit of the head.
const TOP: u64 = 1 << 63;
/// With so many slots a ring has so few versions that its word might come again in an eighth of a second.
const NARROW_SLOTS: u32 = 16;
const LEN_BITS: u32 = 8;
/// In terms of the rest, the lowest bit of which is HELD.
const LEN_SHIFT: u32 = 1;
const HEAD_SHIFT: u32 = LEN_SHIFT + LEN_BITS;
const HEAD: u64 = 1 << HEAD_SHIFT;
const LEN: u64 = (1 << LEN_BITS) - 1;
/// In terms of the word.
pub(super) const ONE_LEN: u64 = 1 << (REST_SHIFT + LEN_SHIFT);
pub(super) const ONE_HEAD: u64 = HEAD << REST_SHIFT;
/// One value less.
const ONE_TAKEN: u64 = ONE_HEAD - ONE_LEN;

pub(super) struct Slot<T> {
    full: AtomicU32,
    value: UnsafeCell<MaybeUninit<T>>,
}

impl<T> Slot<T> {
    /// Makes a ring's slots. (A function of its own: a slot may be too large for a stack that needs none.)
    ///
    /// # Safety
    /// There is room for so many.
    #[inline(never)]
    pub(super) unsafe fn create(first: NonNull<Self>, count: usize) {
        for index in 0..count {
            let slot = Slot { full: AtomicU32::new(0), value: UnsafeCell::new(MaybeUninit::uninit()) };
            // SAFETY: the caller's promise.
            unsafe { first.add(index).write(slot) };
        }
    }

    /// How many slots a ring of this capacity has: a power of two, more than that. `None`: a ring is not right for it; `most`: it is
    /// for no more than that.
    pub(super) fn ring(capacity: usize, most: usize) -> Option<usize> {
        let slots = match capacity {
            0 => return Some(0),
            _ if capacity > most.min(RING_SLOTS) => return None,
            _ => (capacity + 1).next_power_of_two(),
        };
        (slots.saturating_mul(size_of::<Self>()) <= RING_BYTES).then_some(slots)
    }

    #[inline(always)]
    pub(super) fn is_full(&self) -> bool {
        // ORDERING: Acquire pairs with the Release of whoever has put a value there, or taken one.
        self.full.load(Ordering::Acquire) != 0
    }

    /// # Safety
    /// The slot is the caller's, and empty; the value is gone from its place then.
    #[inline(always)]
    pub(super) unsafe fn fill(&self, value: &MaybeUninit<T>) {
        // SAFETY: the caller's promise.
        self.value.with_mut(|place| unsafe { place.copy_from_nonoverlapping(value, 1) });
        self.full.store(1, order!(Release, "publish_relaxed"));
    }

    /// The same, waiting for an empty slot if need be, as [`empty_claimed`](Self::empty_claimed) does.
    ///
    /// # Safety
    /// The slot is the caller's, and empty or about to be; the value is gone from its place then.
    #[inline(always)]
    pub(super) unsafe fn fill_claimed(&self, value: &MaybeUninit<T>) {
        self.wait_late(false);
        // SAFETY: the caller's promise.
        unsafe { self.fill(value) };
    }

    /// Waits until the slot, which the caller has claimed, is full, or empty. (Models come late only where words come again.)
    #[inline(always)]
    fn wait_late(&self, full: bool) {
        if (!prim::MODEL || prim::has_narrow_rings()) && self.is_full() != full {
            thread::pause_until(move || self.is_full() == full);
        }
    }

    /// The same, with what is in a parcel.
    ///
    /// # Safety
    /// As for [`Slot::fill_claimed`].
    unsafe fn fill_from(&self, parcel: Parcel<T>) {
        self.wait_late(false);
        // SAFETY: the caller's promise.
        self.value.with_mut(|place| parcel.unpack(unsafe { &mut *place }));
        self.full.store(1, order!(Release, "publish_relaxed"));
    }

    /// Takes its value out, waiting for it if need be: the exchange that has claimed it may have come a whole turn of `head` late.
    ///
    /// # Safety
    /// The slot is the caller's, and full or about to be.
    #[inline(always)]
    pub(super) unsafe fn empty_claimed(&self, tray: &mut Tray<T>) {
        self.wait_late(true);
        // SAFETY: at once; the caller's promise.
        unsafe { self.empty_to(tray.place()) };
    }

    /// The same where it is full, to an empty place.
    ///
    /// # Safety
    /// The slot is the caller's, and full.
    #[inline(always)]
    unsafe fn empty_to(&self, to: &mut MaybeUninit<T>) {
        // SAFETY: the caller's promise.
        self.value.with(|place| unsafe { place.copy_to_nonoverlapping(to, 1) });
        self.full.store(0, order!(Release, "publish_relaxed"));
    }
}

/// The line of a channel of which it is known that it is a ring. (But for `half`.)
pub(super) struct Ring<'a, T>(pub(super) &'a Shared<T>);

impl<T> Primitive for Ring<'_, T> {
    fn has_few(&self) -> bool {
        true
    }

    #[inline(always)]
    fn line(&self) -> &Line {
        self.0.line()
    }

    #[inline(always)]
    fn changed(&self, to: Word) {
        self.0.changed(to);
    }

    /// V.
    #[inline(always)]
    fn bump(&self, word: Word) -> Word {
        // (One step moves the tail to another slot: where a receiver waits it is empty, and nobody is about to read.)
        let receiver_waits = !word.is_free() && !word.has(SENDERS) && self.0.ring_len(word) == 0;
        let bound = &self.0.bound;
        let to = word.plus(HEAD * if receiver_waits { 1 } else { u64::from(bound.mask) + 1 });
        if prim::has_narrow_rings() && bound.capacity > 0 {
            let low = 2 * self.narrow_half() - 1;
            return Word(to.0 & low | word.0 & !low);
        }
        to
    }

    /// (As many bits as a stamp has.)
    #[inline(always)]
    fn stamp(&self, word: Word) -> u32 {
        self.0.head(word) << 1
    }

    /// (Asked of any channel: 0 if it is no ring.)
    #[inline(always)]
    fn half(&self) -> u64 {
        let kind = if bug!("overflowing_has_no_halves") { 0 } else { OVERFLOWS };
        let (mask, narrow) = (self.0.bound.mask & !kind, prim::has_narrow_rings());
        let least = if narrow { 1 } else { NARROW_SLOTS - 1 };
        match mask.wrapping_sub(least) < RING_SLOTS as u32 {
            true if narrow => self.narrow_half(),
            true => TOP,
            false => 0,
        }
    }

    fn is_to_wait(&self, word: Word) -> bool {
        self.0.is_to_wait(word)
    }
}

impl<T> Ring<'_, T> {
    /// The half in a model with narrow rings: after two turns the version comes again.
    fn narrow_half(&self) -> u64 {
        ONE_HEAD * (u64::from(self.0.bound.mask & !OVERFLOWS) + 1)
    }
}

impl<T> Shared<T> {
    #[inline(always)]
    pub(super) fn head(&self, word: Word) -> u32 {
        (word.rest() >> HEAD_SHIFT) as u32
    }

    #[inline(always)]
    pub(super) fn ring_len(&self, word: Word) -> u32 {
        (word.rest() >> LEN_SHIFT & LEN) as u32
    }

    /// How many values there is room for, as long as the word is one that was loaded before, and not HELD.
    #[inline(always)]
    pub(super) fn limit(&self) -> u32 {
        // ORDERING: Acquire pairs with `set_limit`: who reads one from the middle of a change sees the word HELD when it looks
        // again.
        self.limit.load(Ordering::Acquire)
    }

    /// The word, as far as is known.
    #[inline(always)]
    pub(super) fn guess(&self) -> Word {
        if prim::MODEL {
            return self.line.load();
        }
        // ORDERING: Acquire: an older word than this is not expected any more, and what led to it was seen (see `blocks`).
        Word(self.hint.load(Ordering::Acquire))
    }

    /// Sends if there is room, and nobody is in the way, as far as it sees before it has taken its place.
    #[inline(always)]
    pub(super) fn quick_send(&self, value: &MaybeUninit<T>) -> bool {
        // (A ring that holds values has a capacity.)
        if self.bound.capacity > 0 { self.quick_put_into_ring(value) } else { self.quick_put(value) }
    }

    /// The same, of a channel that is known to be a ring, or a rendezvous.
    #[inline(always)]
    pub(super) fn quick_put_into_ring(&self, value: &MaybeUninit<T>) -> bool {
        debug_assert!(!self.is_linked());
        let word = self.guess();
        let rest = word.rest() >> LEN_SHIFT;
        if !word.is_free() || word.has(CLOSED | HELD) || rest as u8 >= self.limit() as u8 {
            return false;
        }
        // (The length alone: with what is above it in `rest` this would be no position.)
        let slot = self.slot(((rest >> LEN_BITS) as u32).wrapping_add(u32::from(rest as u8)));
        // (Nothing is carried to the head.)
        if slot.is_full() || !self.cas_within(word, Word(word.0 + ONE_LEN)) {
            return false;
        }
        if slot.is_full() {
            // SAFETY: claimed; the caller gives the value up.
            unsafe { aside(value, |value| slot.fill_claimed(value)) };
            return true;
        }
        // SAFETY: claimed, and empty; the caller gives the value up.
        unsafe { slot.fill(value) };
        true
    }

    /// Receives if there is a value, and nobody is in the way.
    #[inline(always)]
    pub(super) fn quick_recv(&self, tray: &mut Tray<T>) -> bool {
        if self.bound.capacity > 0 { self.quick_take_from_ring(tray) } else { self.quick_take(tray) }
    }

    /// The same, of a channel that is known to be a ring, or a rendezvous.
    #[inline(always)]
    pub(super) fn quick_take_from_ring(&self, tray: &mut Tray<T>) -> bool {
        debug_assert!(!self.is_linked());
        let word = self.guess();
        // (At the edge a scan may be in the way, for which the slow way waits.)
        if !word.is_free() || word.has(RETURNED | HELD) || is_at_edge(word) || self.ring_len(word) == 0 {
            return false;
        }
        let slot = self.slot(self.head(word));
        if !slot.is_full() || !self.cas(word, taken(word, 1)) {
            return false;
        }
        // SAFETY: claimed.
        unsafe { slot.empty_claimed(tray) };
        true
    }

    /// Sends as many values as there is room for by one exchange, if nobody is in the way; how many.
    pub(super) fn put_into_ring(&self, values: &mut VecDeque<T>) -> usize {
        let word = self.line.load();
        let len = self.ring_len(word);
        let is_free = word.is_free() || bug!("batch_passes_waiters") && !word.has(SENDERS);
        let limit = self.limit();
        if !is_free || word.has(CLOSED | HELD) || len >= limit {
            return 0;
        }
        let tail = self.head(word).wrapping_add(len);
        let slot = self.slots_from(tail);
        let room = (limit - len).min(values.len().try_into().unwrap_or(u32::MAX));
        let count = (0..room).take_while(|at| !slot(*at).is_full()).count() as u32;
        if count == 0 || !self.cas(word, Word(word.0 + ONE_LEN * u64::from(count))) {
            return 0;
        }
        for slot in (0..count).map(&slot) {
            let value = MaybeUninit::new(values.pop_front().expect("no more than there are"));
            // SAFETY: claimed, and empty, or the batch waits for that; the value is given up.
            unsafe { slot.fill_claimed(&value) };
        }
        count as usize
    }

    /// Receives as many values as there are by one exchange, `max` at most, if nobody is in the way; how many.
    pub(super) fn take_from_ring(&self, out: &mut Vec<T>, max: usize) -> usize {
        let word = self.line.load();
        let len = self.ring_len(word);
        let is_free = word.is_free() || bug!("batch_makes_room_unseen");
        if !is_free || word.has(RETURNED | HELD) || len == 0 {
            return 0;
        }
        let slot = self.slots_from(self.head(word));
        let most = len.min(max.try_into().unwrap_or(u32::MAX));
        let is_there = |at: &u32| slot(*at).is_full() || *at > 0 && bug!("batch_takes_unpublished");
        let count = (0..most).take_while(is_there).count() as u32;
        out.reserve(count as usize);
        if count == 0 || !self.cas(word, taken(word, count)) {
            return 0;
        }
        for slot in (0..count).map(&slot) {
            slot.wait_late(true);
            // SAFETY: claimed, and full; there is room in `out`.
            unsafe { push(out, |to| slot.empty_to(to)) };
        }
        count as usize
    }

    #[inline(always)]
    pub(super) fn send_step(&self, word: Word, value: &mut MaybeUninit<T>, by: &mut By) -> Step<Sent> {
        if word.has(CLOSED | HELD) {
            return if word.has(CLOSED) { Step::Ready(Sent::Closed) } else { self.send_in_turn(value, by) };
        }
        if word.serves(0) {
            return self.hand_over(word, value, by);
        }
        if !word.is_free() || self.ring_len(word) >= self.limit() {
            return Step::Wait;
        }
        self.put_behind(word, value)
    }

    /// Puts a value behind the last one, where there is a place for it.
    #[inline(always)]
    pub(super) fn put_behind(&self, word: Word, value: &MaybeUninit<T>) -> Step<Sent> {
        let slot = self.slot(self.head(word).wrapping_add(self.ring_len(word)));
        if slot.is_full() {
            return Step::Busy;
        }
        if !self.cas(word, Word(word.0 + ONE_LEN)) {
            return Step::Lost;
        }
        // SAFETY: claimed, and empty; the caller gives the value up.
        unsafe { slot.fill_claimed(value) };
        Step::Ready(Sent::Kept)
    }

    /// Hands a value to the first receiver. (A large one is packed before: from the exchange on somebody may wait for this.)
    pub(super) fn hand_over(&self, word: Word, value: &mut MaybeUninit<T>, by: &mut By) -> Step<Sent> {
        // SAFETY: a send has a value until it is done.
        let boxed = (!Parcel::<T>::FITS).then(|| unsafe { Parcel::pack(value) });
        let Some(claim) = self.pop_and_claim(word, 0, by) else {
            if let Some(boxed) = boxed {
                boxed.unpack(value);
            }
            return Step::Lost;
        };
        // SAFETY: a receive of this channel; the value as above.
        unsafe { claim.put(boxed.unwrap_or_else(|| Parcel::pack(value))) };
        by.wakes(claim.done());
        Step::Ready(Sent::HandedOver)
    }

    pub(super) fn recv_step(&self, word: Word, tray: &mut Tray<T>, by: &mut By) -> Step<()> {
        let len = self.ring_len(word);
        if len > 0 {
            return self.recv_from_ring(word, len, tray, by);
        }
        if word.has(CLOSED) {
            return Step::Ready(());
        }
        if !word.serves(SENDERS) {
            return Step::Wait;
        }
        let Some(claim) = self.pop_and_claim(word, SENDERS, by) else { return Step::Lost };
        // SAFETY: a send of this channel.
        unsafe { claim.take() }.serve(tray);
        by.wakes(claim.done());
        Step::Ready(())
    }

    #[inline]
    fn recv_from_ring(&self, word: Word, len: u32, tray: &mut Tray<T>, by: &mut By) -> Step<()> {
        if !word.first_is_branch() && word.is_one_sided(SENDERS, CLOSED) {
            return match self.refill(word, len, tray) {
                Ok(waker) => {
                    by.wakes(waker);
                    Step::Ready(())
                }
                Err(step) => step,
            };
        }
        let slot = self.slot(self.head(word));
        if !slot.is_full() {
            return if bug!("empty_on_unpublished") { Step::Wait } else { Step::Busy };
        }
        if !word.is_free() && !word.has(CLOSED) {
            let claim = self.pop_and_claim(word, SENDERS, by);
            return claim.map_or(Step::Lost, |claim| self.place_value(claim, tray, by));
        }
        if !self.cas(word, taken(word, 1)) {
            return Step::Lost;
        }
        // SAFETY: claimed, and full.
        unsafe { slot.empty_claimed(tray) };
        if word.has(HELD) {
            self.serve_turns(by);
        }
        Step::Ready(())
    }

    /// Receives the first value of a full ring, and moves the value of the plain sender in the word behind the last one; gives that
    /// sender's waker. `Err`: the step that it came to.
    #[inline(always)]
    pub(super) fn refill(&self, word: Word, len: u32, tray: &mut Tray<T>) -> Result<Option<Waker>, Step<()>> {
        let slot = self.slot(self.head(word));
        let behind = self.slot(self.head(word).wrapping_add(len));
        if !slot.is_full() || behind.is_full() && !bug!("refill_unchecked") {
            return Err(Step::Busy);
        }
        let popped = Ring(self).pop(word, |word| Word(word.0.wrapping_add(ONE_HEAD))).ok_or(Step::Lost)?;
        // SAFETY: claimed, and full.
        unsafe { slot.empty_claimed(tray) };
        let claim = popped.plain();
        // SAFETY: a send of this channel; the slot was claimed with the other one, and is empty.
        unsafe { behind.fill_from(claim.take()) };
        Ok(claim.done())
    }

    /// Lets in the plain sender that stands in this word, where there is room for its value.
    pub(super) fn let_in(&self, word: Word, by: &mut By) -> Step<()> {
        let slot = self.slot(self.head(word).wrapping_add(self.ring_len(word)));
        if slot.is_full() {
            return Step::Busy;
        }
        let ring = Ring(self);
        let Some(popped) = ring.pop(word, |word| Word(ring.bump(word).0 + ONE_LEN)) else {
            return Step::Lost;
        };
        let claim = popped.plain();
        // SAFETY: a send of this channel; the slot was claimed with it, and is empty.
        unsafe { slot.fill_from(claim.take()) };
        by.wakes(claim.done());
        Step::Ready(())
    }

    /// Places the value of a select that was claimed when the ring was full.
    #[cold]
    fn place_value(&self, claim: Claim, tray: &mut Tray<T>, by: &mut By) -> Step<()> {
        let mut step = |value: &mut MaybeUninit<T>| {
            let word = self.line.load();
            if word.has(CLOSED) && !bug!("places_after_close") {
                return Step::Ready(Sent::Closed);
            }
            if self.ring_len(word) == 0 { refuse(value, tray) } else { self.exchange(word, value, tray) }
        };
        let sent = self.send_for(claim, by, |value, _| insist(|| step(value)));
        if sent == Sent::Closed { Step::Lost } else { Step::Ready(()) }
    }

    /// Puts a value behind the last one, and takes the first one out, by one exchange.
    #[inline(always)]
    pub(super) fn exchange(&self, word: Word, value: &MaybeUninit<T>, tray: &mut Tray<T>) -> Step<Sent> {
        let head = self.head(word);
        let (first, behind) = (self.slot(head), self.slot(head.wrapping_add(self.ring_len(word))));
        if !first.is_full() || behind.is_full() && !bug!("forced_unchecked") {
            return Step::Busy;
        }
        if !self.cas(word, Word(word.0.wrapping_add(ONE_HEAD))) {
            return Step::Lost;
        }
        // SAFETY: both claimed, one full and one empty; the caller gives the value up.
        unsafe {
            behind.fill_claimed(value);
            first.empty_claimed(tray);
        }
        Step::Ready(Sent::Kept)
    }
}

/// Moves a value to an empty tray, instead of sending it.
pub(super) fn refuse<T>(value: &MaybeUninit<T>, tray: &mut Tray<T>) -> Step<Sent> {
    // SAFETY: a send has a value until it is done.
    unsafe { ptr::from_mut(tray.place()).copy_from_nonoverlapping(value, 1) };
    Step::Ready(Sent::Kept)
}

/// Whether the next value taken brings the head into the other half of its numbers.
#[inline(always)]
fn is_at_edge(word: Word) -> bool {
    (taken(word, 1).0 ^ word.0) & TOP != 0
}

/// The word when so many values have been taken out.
#[inline(always)]
fn taken(word: Word, count: u32) -> Word {
    Word(word.0.wrapping_add(ONE_TAKEN.wrapping_mul(u64::from(count))))
}

/// Calls what is not inlined with a value, which need not be in memory before that if it is a few words.
///
/// # Safety
/// `call` takes the value out of its place, which is the caller's.
#[inline(always)]
pub(super) unsafe fn aside<T, R>(value: &MaybeUninit<T>, call: impl FnOnce(&MaybeUninit<T>) -> R) -> R {
    if size_of::<T>() > size_of::<[usize; 4]>() {
        return call(value);
    }
    // SAFETY: the caller's promise: it is one value still.
    call(&unsafe { ptr::from_ref(value).read() })
}
