//! What the two handles of an spsc channel share, and its protocol: how a value is sent and received. How it is made, closed and
//! freed is in [`end`](super::end), where the values lie in [`store`](super::store).
//!
//! Two words, each on a cache line of its own with what its side uses:
//!
//! ```text
//!            63         28 27       6 5             0
//!   back:    [   tail     ][receiver][ TAKEN CLOSED ]      the sender's: `expected`, `until` (it is full), its block
//!   front:   [   head     ][ sender ][ TAKEN CLOSED ]      the receiver's: `expected`, `until` (it is empty), its block
//!
//!   values:  … [ read ][ value ][ value ][ value ][ empty ] …          by position, see `store`
//!                          ▲ head                    ▲ tail
//! ```
//!
//! Each is a word of the [core](crate::wait), with one waiter at most, and nobody behind it. A side waits in the *other* side's
//! word, beside the position that it waits for to move: the receiver at the back, while `tail` is its `head`; the sender at the
//! front, while `tail` is `head` and the capacity. So "it is empty, and I wait" is one exchange here as well, and whoever
//! moves a position on finds in the very word that it changes whether somebody waits for that.
//!
//! | back | front | operation | does |
//! |---|---|---|---|
//! | CLOSED | | send | fails |
//! | receiver waits | | send | takes it out, hands over |
//! | | room, as far as was seen | send | writes; `tail + 1` |
//! | | `head` + capacity ≤ `tail` | send | waits: me, at the front |
//! | | TAKEN | recv | fails |
//! | a value, as far as was seen | nobody waits | recv | copies; `head + 1` |
//! | a value | sender waits | recv | *lets it in*: takes it out, copies; writes its value at `tail`; `tail + 1`; then `head + 1` |
//! | `tail` = `head` | | recv | waits: me, at the back |
//! | `tail` = `head`, CLOSED | | recv | fails |
//!
//! All are exchanges of the word as it was looked at, or, on the quick ways, as its side *expects* it: at the position where it has
//! put it last, with nobody there. Where one fails nothing has happened, and it looks again: what was written is beyond the tail,
//! what was copied was only bytes. A *batch* moves on by several positions at once, within a block: all of its values are
//! written before, or copied.
//!
//! *CLOSED* is set by either side, at the back first: from then on the tail stands still, but for a sender that is being let in.
//! *`close_now`* takes what is in the channel: from the head, in whose word it sets TAKEN first, to the tail, in whose word it sets
//! TAKEN then. Neither moves any more: a receiver that lets a sender in finds that out at each. It forgets the value that it has
//! copied, and drops the sender's if that was not published before.
//!
//! *A receive that is dropped* in the sender's hands leaves its node as a *stray*, which the next receive takes before all
//! else. There is one at most: a receive waits only where there is none.
//!
//! # Invariants
//! 1. `head` ≤ `tail` ≤ `head` + capacity; one more while a sender is let in. Slots in between hold values, and the others are
//!    empty.
//! 2. The back, its block and the slot at `tail` are the sender's; the front, its block and the slot at `head` are the
//!    receiver's. Each side has one operation at a time.
//! 3. Who waits has seen the other's position in the word that it entered: so it waits for the next move of it, and who makes
//!    that sees it there.
//! 4. While a sender is served the back is the receiver's. The sender, which may have left and come again, finds the channel
//!    full until `head` moves, and `tail` has moved before that. Who looks for room, or is to wait for it, loads the front and
//!    then the back.
//! 5. A ring has a slot more than its capacity: where a sender is let in its value is written before `head` moves, and what lies
//!    there may be `close_now`'s until then.
//! 6. A position moves by an exchange of the word that was looked at, not under TAKEN, in which nobody stood, or, under CLOSED, a
//!    sender that is yet to be told. (Except where a receiver lets a sender in: whoever stands there stays, and has as much reason
//!    to wait.)
//! 7. What a side expects is at the position of its word. A receiver that lets a sender in says so of the back before it moves that
//!    (if it is then refused, nothing is sent any more). A sender that has come again meanwhile may read what was expected
//!    before, or this; by both it finds no room, or a tail that has moved, until it has seen the front move.
//! 8. What the sender expects is no further than the tail, but where a receiver was refused (7): then its quick way moves nothing
//!    any more, as the front is TAKEN. So the quick receive may look there for values. (It may be less for a moment: then a receive
//!    goes on to look at the word. Somebody who stands in that is of its own side, so there is no value, by 3.)
//!
//! # Why one operation at a time, whatever is forgotten
//!
//! (2) rests on `&mut`: an operation that is alive borrows the handle. A future that was forgotten while it waited has left
//! its node in a word, and no operation runs there any more, nor ever will: its lifetime has ended. So a node of its own side that
//! an operation finds is that of a forgotten future. A new operation takes it out, and tells it to look, which nobody does; its
//! memory stays behind, and what it was to send. If the other side comes first it serves the node, as it serves one that is dropped
//! at that moment: a receive's value stays in the node; a send's is written by the receiver, which has the back for it (4). No
//! state of the words says "an operation is under way", so none can be left behind.
//!
//! # Orderings
//!
//! Moves and exchanges are acquire and release; looks acquire. A value is written before `tail` moves on, which the receiver has
//! acquired before it copies, by the word or by what is expected of it; it is copied before `head` moves on, which the sender has
//! acquired before it writes there again.
//! The two words need no common order: nobody decides by both, but for (4), which is by one releasing the other.
//!
//! # Progress, cost
//!
//! Wait-free while neither side waits: an exchange fails only because the other side has come to wait, or the channel was closed.
//! Locked instructions: send 1, receive 1, also of several values in a block; a receive that waits and is served, 3 for both (the
//! quick way's exchange, which fails, is one of them); a send that waits and is let in, 5 for both. A side looks at the other's
//! word once in a while only: when what it has seen is used up. It cannot be done with none: whoever publishes has to know whether
//! the other side went to sleep just before, and that takes a store and a load in this order, which is what a locked instruction is
//! for.
//!
//! *Capacities below 96* are the core's, whose one word says all. At 0 both sides wait for each other, and have to meet. Where
//! there is room for few values each side has to know of the other one all the time, and letting a sender in costs two locked
//! instructions more: between threads a value takes three fifths longer by two words with room for 8, and eight times as long with
//! room for 2. With room for 64 it takes as long, for 96 an eighth less, and for 128 a third. (Between fibers of one worker, with
//! room for 64, it takes 3 to 8 % longer by two.)
//!
//! *Who waits for whom.* `close_now` waits for a receiver between the claim of a block's first value and its step to that block,
//! and for a sender in the middle of handing a value to a receive that was dropped: a few instructions, unless the thread was
//! preempted.
//!
//! Sources: the restricted channel is an idea of N. Koval's ("Algorithms in Kotlin coroutines", section "Restricted channels"). The
//! positions: L. Lamport's ring; the copy of the other one's: P. Lee, T. Bu, G. Chandranmenon, "A lock-free, cache-efficient
//! multi-core synchronization mechanism for line-rate network traffic monitoring", IPDPS 2010. That no such queue goes without a
//! fence or a locked instruction: H. Attiya et al., "Laws of order: expensive synchronization in concurrent algorithms cannot be
//! eliminated", POPL 2011.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::{ptr, slice};

use super::super::bell::Bell;
use super::super::lines::Lined;
use super::super::shared::{End, Step, attempts};
use super::store::Store;
use super::words::{CLOSED, Side, TAKEN, distance, further};
use crate::prim::{self, AtomicPtr, AtomicU32, Ordering};
use crate::task::error::discard;
use crate::task::thread::{self, Prospects};
use crate::task::watch::Thing;
use crate::wait::{Attempt, By, NodeRef, Parcel, Primitive, SENDERS, State, Tray, Waiter, Word};

/// What hardly changes is between the two ends: lines that come in pairs do not couple them.
#[repr(C)]
pub(in super::super) struct Shared<T> {
    pub(super) front: Lined<Side<T>>,
    pub(super) store: Store<T>,
    pub(super) capacity: u64,
    /// A node that a receive has left in the sender's hands, or with a value that came back: the first to be received.
    pub(super) stray: AtomicPtr<()>,
    /// As it was asked for; `None`: no bound.
    pub(super) bound: Option<usize>,
    pub(super) watchers: Bell,
    pub(super) handles: AtomicU32,
    /// The bytes of the allocation that are before it.
    pub(super) lead: u16,
    pub(super) back: Lined<Side<T>>,
}

const _: () = assert!(prim::MODEL || size_of::<Shared<u64>>() <= 256);

// SAFETY: values go through it by value, each to one side; what a side keeps for itself is touched by the one operation of
// that side, or by whoever has claimed it.
unsafe impl<T: Send> Send for Shared<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Shared<T> {}

impl<T> Shared<T> {
    /// For those who look at who waits.
    pub(super) fn thing(&self) -> Thing {
        Thing::new("channel", self)
    }

    /// Sends if there is room, not at the first slot of a block, and nobody is in the way.
    #[inline(always)]
    pub(super) fn quick_send(&self, value: &MaybeUninit<T>) -> bool {
        let word = self.back.expected();
        let has_room = self.back.left(word) > 0 || self.sees_room(word);
        has_room && self.store.is_inside(word.rest()) && self.publish(word, value)
    }

    /// Looks at the front. True: there is room at the tail, which is still that of this word.
    fn sees_room(&self, word: Word) -> bool {
        // ORDERING: Acquire: the slots before it are read.
        let room = self.front.load();
        // A sender that stands there was forgotten: it has to be taken out first.
        if !room.is_free() {
            return false;
        }
        let left = self.back.see(room.rest() + self.capacity, word);
        // The front first, then the back: who moves a sender's value moves the back first (4).
        self.back.load().rest() == word.rest() && left > 0
    }

    /// Puts a value behind the last one; the caller gives it up then. False: the back has changed.
    #[inline(always)]
    fn publish(&self, word: Word, value: &MaybeUninit<T>) -> bool {
        // SAFETY: the back is this operation's, and there is room.
        unsafe { self.store.put(&self.back, word.rest(), value.as_ptr()) };
        // ORDERING: Release pairs with the receiver's look at the back: the value is there.
        self.back.advance(word, 1, order!(AcqRel, "spsc_publish_relaxed"))
    }

    /// Sends, if that is possible now. `Ready`: the tray is full; or the channel is closed, and the value where it was.
    #[inline(never)]
    pub(super) fn try_send(&self, value: &MaybeUninit<T>, tray: &mut Tray<()>, by: &mut By) -> Attempt<()> {
        let attempt = attempts(|by| self.send_step(value, tray, by), thread::back_off, by);
        if matches!(attempt, Attempt::Ready(())) && !tray.is_full() {
            // (Foreign code may run there.)
            self.finish_close();
        }
        attempt
    }

    fn send_step(&self, value: &MaybeUninit<T>, tray: &mut Tray<()>, by: &mut By) -> Step<()> {
        let word = self.back.load();
        if word.has(CLOSED) {
            return Step::Ready(());
        }
        if !word.is_free() {
            let Some(claim) = self.back.pop_and_claim(word, 0, by) else { return Step::Lost };
            // SAFETY: a receive of this channel; a send has a value until it is done.
            unsafe { claim.put(Parcel::pack(value)) };
            by.wakes(claim.done());
            tray.put(());
            return Step::Ready(());
        }
        if self.back.left(word) == 0 && !self.sees_room(word) {
            let room = self.front.load();
            if self.back.load() == word {
                if !room.is_free() && !room.has(CLOSED) {
                    self.evict(&self.front, room, by);
                } else if distance(room.rest(), word.rest()) >= self.capacity {
                    return Step::Wait;
                }
            }
            return Step::Lost;
        }
        if !self.publish(word, value) {
            return Step::Lost;
        }
        tray.put(());
        Step::Ready(())
    }

    /// Sends as many values as there is room for in a block by one move of the tail, if nobody is in the way; how many.
    pub(super) fn send_several(&self, values: &mut VecDeque<T>) -> usize {
        let word = self.back.load();
        if !word.is_free() || word.has(CLOSED) {
            return 0;
        }
        let tail = word.rest();
        let most = values.len() as u64;
        let mut count = self.back.left(word).min(most);
        // (Otherwise what was seen before counts: by what is seen now a tail that has moved would have room.)
        if count < most && (self.sees_room(word) || bug!("spsc_batch_by_older_tail")) {
            count = self.back.left(word).min(most);
        }
        let count = (count as usize).min(self.store.slots_left(tail));
        if count == 0 {
            return 0;
        }
        // SAFETY: the back is this operation's, and there is room.
        unsafe { self.store.put_several(&self.back, tail, values, count) };
        // ORDERING: as in `publish`.
        if !self.back.advance(word, count as u64, order!(AcqRel, "spsc_publish_relaxed")) {
            // SAFETY: just put there, and not published.
            unsafe { self.store.take_back_several(&self.back, tail, values, count) };
            return 0;
        }
        count
    }

    /// Takes as many values as there are in a block by one move of the head, `max` at most, if nobody is in the way; how many.
    pub(super) fn recv_several(&self, out: &mut Vec<T>, max: usize) -> usize {
        let room = self.front.load();
        let head = room.rest();
        if !room.is_free() || room.has(TAKEN) {
            return 0;
        }
        let mut count = self.front.left(room).min(max as u64);
        if count < max as u64 && self.sees_value(room) {
            count = self.front.left(room).min(max as u64);
        }
        let count = (count as usize).min(self.store.slots_left(head));
        if count == 0 {
            return 0;
        }
        out.reserve(count);
        let places = &mut out.spare_capacity_mut()[..count];
        // SAFETY: the front is this operation's; so many were seen.
        let is_next = unsafe { self.store.copy(&self.front, head, places) };
        // ORDERING: as in `take`.
        if !self.front.advance(room, count as u64, Ordering::AcqRel) {
            return 0;
        }
        if is_next {
            self.store.leave(&self.front);
        }
        // SAFETY: published, and claimed by the move.
        unsafe { out.set_len(out.len() + count) };
        count
    }

    /// Takes the first value if there is one, not at the first slot of a block, and nobody is in the way.
    #[inline(always)]
    pub(super) fn quick_recv(&self, tray: &mut Tray<T>) -> bool {
        let room = self.front.expected();
        let has_value = self.front.left(room) > 0 || self.sees_value(room);
        has_value && self.store.is_inside(room.rest()) && self.take(room, tray)
    }

    /// Looks at the back. True: there is a value at the head, which is that of this word.
    fn sees_value(&self, room: Word) -> bool {
        if !self.stray.load(Ordering::Relaxed).is_null() {
            return false;
        }
        // (Not by the word: 8.)
        self.front.see(self.back.expected_position(), room) > 0
    }

    /// Takes the first value. False: the front has changed.
    #[inline(always)]
    fn take(&self, room: Word, tray: &mut Tray<T>) -> bool {
        // SAFETY: the front is this operation's; `until` is beyond the head. At once.
        let is_next = unsafe { self.store.copy(&self.front, room.rest(), slice::from_mut(tray.place())) };
        if is_next && bug!("spsc_front_early") {
            self.store.leave(&self.front);
        }
        // ORDERING: Release pairs with the sender's look at the front: the slot was read.
        if !self.front.advance(room, 1, Ordering::AcqRel) {
            tray.forget();
            return false;
        }
        if is_next && !bug!("spsc_front_early") {
            self.store.leave(&self.front);
        }
        true
    }

    /// Receives, if that is possible now. `Ready`: the tray is full, or the channel closed and empty.
    #[inline(never)]
    pub(super) fn try_recv(&self, tray: &mut Tray<T>, by: &mut By) -> Attempt<()> {
        let attempt = attempts(|by| self.recv_step(tray, by), thread::back_off, by);
        if matches!(attempt, Attempt::Ready(())) && !tray.is_full() {
            self.finish_close();
        }
        attempt
    }

    fn recv_step(&self, tray: &mut Tray<T>, by: &mut By) -> Step<()> {
        if !self.stray.load(Ordering::Relaxed).is_null() {
            return self.recv_stray(tray);
        }
        let room = self.front.load();
        if room.has(TAKEN) {
            return Step::Ready(());
        }
        let word = self.back.load();
        if !word.is_free() && !word.has(CLOSED) {
            self.evict(&self.back, word, by);
            return Step::Lost;
        }
        let head = room.rest();
        self.front.see(word.rest(), room);
        if word.rest() == head {
            return if word.has(CLOSED) { Step::Ready(()) } else { Step::Wait };
        }
        if !room.is_free() && !room.has(CLOSED) {
            return self.take_and_let_in(room, tray, by);
        }
        if self.take(room, tray) { Step::Ready(()) } else { Step::Lost }
    }

    /// A sender waits, as it is full: takes the first value, and puts the sender's behind the last.
    #[cold]
    fn take_and_let_in(&self, room: Word, tray: &mut Tray<T>, by: &mut By) -> Step<()> {
        let Some(claim) = self.front.pop_and_claim(room, SENDERS, by) else { return Step::Lost };
        // SAFETY: the front is this operation's, and it is full; a send of this channel. While the front is not moved on, the
        // sender finds it full and leaves the back alone (4).
        let is_next = unsafe { self.store.copy(&self.front, room.rest(), slice::from_mut(tray.place())) };
        // SAFETY: as above.
        let mut moved = unsafe { claim.take::<T>() };
        let move_on = |side: &Side<T>| {
            let is_taken = |word: Word| word.has(TAKEN) && !bug!("spsc_lets_in_after_taken");
            // (Whoever came to the front meanwhile stays there: it is as full as before.)
            side.update(|word| (!is_taken(word)).then(|| word.plus(1))).is_some()
        };
        let move_front = || {
            let is_moved = move_on(&self.front);
            if is_moved || bug!("spsc_refused_front_expected") {
                self.front.expect_free(further(room.rest(), 1));
            }
            is_moved
        };
        let early = bug!("spsc_front_first").then(move_front);
        let tail = self.back.load().rest();
        // SAFETY: as above; there is a slot more than the capacity.
        unsafe { self.store.put(&self.back, tail, moved.place().cast()) };
        if !bug!("spsc_lets_in_unexpected") {
            // Before it is moved: when its sender finds room it has to expect this (7).
            self.back.expect_free(further(tail, 1));
        }
        let is_in = move_on(&self.back);
        by.wakes(claim.done());
        let is_taken = !early.unwrap_or_else(move_front);
        if is_in {
            // SAFETY: it is where it was put.
            unsafe { moved.forget() };
        } else {
            discard(moved);
        }
        if is_taken {
            tray.forget();
            return Step::Lost;
        }
        if is_next {
            self.store.leave(&self.front);
        }
        Step::Ready(())
    }

    /// Takes out who waits in `word`, if that is still the word, and has it look.
    #[cold]
    fn evict(&self, side: &Side<T>, word: Word, by: &mut By) {
        let Some(popped) = side.pop(word, |word| word) else { return };
        side.tells(&popped);
        match popped.notify() {
            Ok(waker) => by.wakes(waker),
            Err((claim, waker)) => {
                // SAFETY: only sends are left in a peer's hands like that; the value is the caller's.
                let value = unsafe { claim.take::<T>() };
                claim.bury();
                by.wakes(waker);
                discard(value);
            }
        }
    }

    pub(super) fn watchers(&self) -> &Bell {
        &self.watchers
    }

    /// A side's own end, and the other one, in whose word it waits.
    fn ends(&self, end: End) -> (&Side<T>, &Side<T>) {
        match end {
            End::Sender => (&self.back, &self.front),
            End::Receiver => (&self.front, &self.back),
        }
    }

    /// Enters the word where its side waits, if it has to wait. (A forgotten one that stands there is something to look at: who
    /// looks takes it out.)
    pub(super) fn register(&self, end: End, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!pair, "one side is ready");
        let (own, other) = self.ends(end);
        loop {
            let early = bug!("spsc_waits_by_older_tail").then(|| own.load());
            let word = other.load();
            // Then its own, which may have been moved for it (4).
            let position = early.unwrap_or_else(|| own.load()).rest();
            let has_to_wait = match end {
                End::Sender => distance(word.rest(), position) >= self.capacity,
                End::Receiver => word.rest() == position,
            };
            // (A stray one is put there by the receiver itself, and may be finished by somebody who does not wake this.)
            let has_stray = || {
                end == End::Receiver
                    && !self.stray.load(Ordering::Relaxed).is_null()
                    && !bug!("spsc_stray_unseen")
            };
            if word.has(CLOSED) || !word.is_free() || !has_to_wait || has_stray() {
                return false;
            }
            other.forget_told();
            if other.line_up(word, node, end.side()) {
                return true;
            }
        }
    }

    pub(super) fn leave(&self, end: End, node: &Waiter) -> bool {
        self.ends(end).1.leave(node)
    }

    pub(super) fn touch(&self, end: End, node: &Waiter) -> bool {
        self.ends(end).1.touch(node)
    }

    /// Takes what is to be received first.
    #[cold]
    fn recv_stray(&self, tray: &mut Tray<T>) -> Step<()> {
        let Some(node) = self.take_stray() else { return Step::Moved };
        let step = match node.state() {
            State::OPEN => {
                self.put_stray(node);
                return Step::Busy;
            }
            State::DONE => {
                // SAFETY: a receive's node that is DONE holds a value; it is the caller's now.
                unsafe { node.take() }.serve(tray);
                Step::Ready(())
            }
            // That was nothing.
            _ => Step::Moved,
        };
        Waiter::of(node).free();
        step
    }

    fn take_stray(&self) -> Option<NodeRef> {
        let address = self.stray.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: `put_stray` has put it there.
        (!address.is_null()).then(|| unsafe { NodeRef::from_address(address) })
    }

    /// Keeps a node for the next receive. (Also after `close_now`, which takes a stray only that is there by then.)
    #[cold]
    fn put_stray(&self, node: NodeRef) {
        // So that the quick way comes by.
        let room = self.front.load();
        self.front.see(room.rest(), room);
        let before = self.stray.swap(node.address().cast_mut(), Ordering::AcqRel);
        debug_assert!(before.is_null(), "a receive takes what there is before it waits");
    }

    /// Keeps a value that was taken for the next receive.
    #[cold]
    pub(super) fn restore(&self, tray: &mut Tray<T>) {
        if let Some(value) = tray.take() {
            self.back.forget_told();
            self.put_stray(Waiter::holding(Parcel::new(value), 0).as_ref());
        }
    }

    /// The value of a stray receive; waits for a sender in the middle of handing it over.
    pub(super) fn take_stray_value(&self) -> Option<Parcel<T>> {
        let node = self.take_stray()?;
        thread::pause_until(|| node.state() != State::OPEN);
        // SAFETY: as in `recv_stray`.
        let value = (node.state() == State::DONE).then(|| unsafe { node.take::<T>() });
        Waiter::of(node).free();
        value
    }

    /// A receive was dropped in the sender's hands.
    #[cold]
    pub(super) fn abandon_recv(&self, node: Waiter) -> bool {
        if node.as_ref().state() == State::LOOK {
            return true;
        }
        if !bug!("spsc_stray_lost") {
            self.put_stray(node.as_ref());
        }
        false
    }

    pub(super) fn len(&self) -> usize {
        let stray = self.stray.load(Ordering::Relaxed);
        // (Not one that was told to look: it gets no value.)
        let is_value = !stray.is_null() && (!self.back.was_told(stray) || bug!("spsc_told_stray_counts"));
        self.held() + usize::from(is_value)
    }

    /// The values that take up room: not a stray one.
    fn held(&self) -> usize {
        // The front first: it is never beyond the back.
        let head = self.front.load().rest();
        let word = self.back.load();
        let held = if word.has(TAKEN) { 0 } else { distance(head, word.rest()).min(self.capacity) };
        held as usize
    }

    pub(super) fn is_full(&self) -> bool {
        self.bound.is_some_and(|capacity| self.held() >= capacity)
    }

    /// How many sends may happen soon, or receives. A side had better begin with half of it, while the other one is at work in its
    /// own word.
    pub(super) fn prospects(&self, end: End) -> Prospects {
        let most = self.capacity().unwrap_or(usize::MAX);
        let progress = self.front.load().rest() as u32;
        Prospects { most, supply: end.supply(most, self.len()), enough: most / 2, progress }
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        self.bound
    }
}
