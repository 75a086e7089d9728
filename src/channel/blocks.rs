//! Linked blocks of slots, allocated as the channel fills and freed as it empties: unbounded channels, and bounded
//! ones that are too large for a [ring](super::ring).
//!
//! ```text
//!              head                                     ready       tail
//!               ▼                                         ▼          ▼
//!   [ read | read | value | value ] ──▶ [ value | value | claimed | full ] ──▶ null
//!      ▲ front                             ▲ back
//!
//!   retired ──▶ [ read | read | claimed | read ] ──▶ null          cache ──▶ [ … ]
//! ```
//!
//! A position is a block's number and an index in it. `front` and `back` point to the blocks that `head` and `tail`
//! are in, or to those before, where nobody has gone on yet; the lowest bit of the pointer is that of the block's
//! number, and tells the two cases apart. Nothing is allocated before the first send: the block before the first one
//! is the null pointer, and what follows it is `first`.
//!
//! # Publication
//!
//! `ready` is a position, too: all values before it are published. So a receiver knows without a look into a block,
//! which may be gone, that a slot can be claimed. Who moves `ready` on:
//!
//! * The sender whose slot is at `ready`, by a plain store: nobody else passes that slot. It takes along those
//!   behind that it sees marked as `full`.
//! * Any other sender marks its slot `full`. It can fail to notice that `ready` has just come up to it, and who has
//!   moved `ready` can fail to notice the mark. Then a receiver that finds `head` at `ready`, and `tail` beyond,
//!   takes `ready` on from there, by a compare-exchange, as there may be several of them.
//!
//! # Who may look into a block
//!
//! Whoever has claimed a slot of it, until it has published its value (senders) or marked the slot as `read`
//! (receivers). And [visitors](super::boundary): how the blocks are linked and freed is told there.
//!
//! # Invariants
//! 1. `head` ≤ `ready` ≤ `tail`. Receivers claim positions below `ready` only, and senders those whose block is
//!    `back`.
//! 2. `front` and `back` are at the blocks of `head` and `tail` or at those before. So what was read while a word
//!    stayed the same is the one or the other, and its lowest bit says which.
//! 3. `front` ≤ `back`: `front` leaves a block when its last value is published, and then `back` has left it. (The quick ways leave
//!    the last slot of a block alone: they compare the pointer with the *next* position, and so fail there. Whoever has come there
//!    has claimed the slot before by a pointer to its block, so the pointer is at no earlier one.)
//! 4. Each block up to `back` is linked to the next one, and stays so while anybody may look there.
//! 5. A block that is retired, or in the cache, belongs to whoever takes it from there.
//!
//! # Progress
//!
//! Lock-free, but for this: a receiver is told to look again while the first value is not published, or one that was given back is
//! still on its way to the receive that was dropped. Nobody waits for whoever is to go on to the next block: the next one to come
//! does it, if it is not done yet.
//!
//! # Wrapping
//!
//! Positions have 35 bits, and wrap. A channel holds less than 2^34 values (with more the program ends), so that what is before
//! and what is behind can be told apart. An operation that is suspended for exactly 2^35 others, between a look and its
//! compare-exchange, would take one position for the other; and a receiver that notes what it saw ready that late, or up to 1024
//! others earlier, would note values that are not.
//!
//! # Orderings
//!
//! Release and acquire on `ready`: each party that moves it on has acquired what was published before, by `ready`
//! itself and by the marks; so whoever claims below it sees the values below it.
//!
//! Release and acquire on `head` and `tail`, and on what is known of them beside them: whoever sees a position has acquired the claim
//! of the slot before, and with that `front` or `back` as it was for it, or later.
//!
//! # Source
//!
//! Claims that do not look at the slot, and that keep the block, as in crossbeam's unbounded queue, whose receivers
//! wait in a loop where ours are told to look again, and mark slots by a locked instruction.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr;

use super::block::{Block, block_of, index_of, parity_of, with_parity, without_parity};
use super::many::push;
use crate::prim::{AtomicPtr, AtomicU64, AtomicUsize, Ordering};
use crate::wait::{REST_SHIFT, Word};

/// The bits of a word that are not its position.
pub(super) const FLAGS: u64 = ONE - 1;

/// One position further. (The bit below is HELD in the word of a channel.)
pub(super) const ONE: u64 = 1 << (REST_SHIFT + 1);

/// How far ahead a receiver notes what is ready.
const SPAN: u64 = 1024 * ONE;

/// It lies behind the word of its channel: what senders change is in the line of that, and what receivers change in the next one.
#[repr(C)]
pub(super) struct Blocks<T> {
    pub(super) back: Back<T>,
    pub(super) first: AtomicPtr<Block<T>>,
    pub(super) cache: AtomicPtr<Block<T>>,
    _up_to_the_line: [u8; UP_TO_THE_LINE],
    pub(super) front: Front<T>,
    pub(super) visitors: AtomicUsize,
    pub(super) retired: AtomicPtr<Block<T>>,
    _rest_of_the_line: [u8; REST_OF_THE_LINE],
}

/// Behind what senders change, and behind what receivers change. (`shared` asserts that these come out right.)
const UP_TO_THE_LINE: usize = 24 - 2 * size_of::<usize>();
const REST_OF_THE_LINE: usize = 32 - 2 * size_of::<usize>();

/// What receivers change.
pub(super) struct Front<T> {
    /// A position, and below it flags: something was given back, or places are wanted.
    pub(super) head: AtomicU64,
    /// The head, and below it the mark of the thread that has brought it there, as far as is known; see [`linked`](super::linked).
    pub(super) note: AtomicU64,
    pub(super) block: AtomicPtr<Block<T>>,
    /// What `ready` was when a receiver looked.
    seen_ready: AtomicU64,
}

/// What senders change.
pub(super) struct Back<T> {
    pub(super) block: AtomicPtr<Block<T>>,
    pub(super) ready: AtomicU64,
}

/// How far `to` is behind `from`, in terms of the words; negative if it is before.
#[inline]
pub(super) fn distance(from: u64, to: u64) -> i64 {
    (to & !FLAGS).wrapping_sub(from & !FLAGS) as i64
}

/// How many positions `to` is behind `from`; 0 if it is before.
#[inline(always)]
pub(super) fn ahead(from: u64, to: u64) -> u64 {
    distance(from, to).max(0).unsigned_abs() / ONE
}

/// So many positions further, whatever the word says below.
#[inline(always)]
pub(super) fn plus(word: Word, count: u64) -> Word {
    Word(word.0.wrapping_add(count * ONE))
}

impl<T> Blocks<T> {
    pub(super) fn new() -> Self {
        // The block before the first has the number -1.
        let none = || AtomicPtr::new(with_parity(ptr::null_mut(), 1));
        Blocks {
            back: Back { block: none(), ready: AtomicU64::new(0) },
            first: AtomicPtr::new(ptr::null_mut()),
            cache: AtomicPtr::new(ptr::null_mut()),
            front: Front {
                head: AtomicU64::new(0),
                note: AtomicU64::new(0),
                block: none(),
                seen_ready: AtomicU64::new(0),
            },
            visitors: AtomicUsize::new(0),
            retired: AtomicPtr::new(ptr::null_mut()),
            _up_to_the_line: [0; UP_TO_THE_LINE],
            _rest_of_the_line: [0; REST_OF_THE_LINE],
        }
    }

    /// The block of the slot at `tail`, if it is there.
    #[inline]
    pub(super) fn room(&self, tail: u64) -> Option<*mut Block<T>> {
        block_of(self.back.block.load(Ordering::Acquire), parity_of::<T>(tail))
    }

    /// The same for the quick ways, which leave the last slot of a block to the slow ones: of that, `None` as well. (If the tail is
    /// still there: for an outdated one the block is of no use, and the exchange fails.)
    #[inline(always)]
    pub(super) fn room_inside(&self, tail: u64) -> Option<*mut Block<T>> {
        let next = if bug!("quick_puts_last") { tail } else { tail.wrapping_add(ONE) };
        if Self::HAS_INSIDE { self.room(next) } else { None }
    }

    /// The block of the slot at `head`, if its value has been published.
    #[inline]
    pub(super) fn value(&self, head: u64) -> Option<*mut Block<T>> {
        if self.is_ready(head & !FLAGS, Self::is_last(head)) { self.front_at(head) } else { None }
    }

    /// The same for the quick ways, as [`room_inside`](Self::room_inside), of a head without flags.
    #[inline(always)]
    pub(super) fn value_inside(&self, head: u64) -> Option<*mut Block<T>> {
        let is_ready = Self::HAS_INSIDE && self.is_ready(head, false);
        if is_ready { self.front_at(head.wrapping_add(ONE)) } else { None }
    }

    #[inline(always)]
    fn front_at(&self, head: u64) -> Option<*mut Block<T>> {
        block_of(self.front.block.load(Ordering::Acquire), parity_of::<T>(head))
    }

    /// Whether there are slots that are not the last one of their block.
    pub(super) const HAS_INSIDE: bool = Block::<T>::SLOTS > 1;

    /// Whether the value at this position, the head's, has been published. `noted`: what is ready is noted in any case.
    #[inline(always)]
    fn is_ready(&self, position: u64, noted: bool) -> bool {
        debug_assert_eq!(position & FLAGS, 0);
        if !self.is_known(position) {
            // ORDERING: Acquire, here and in `is_known`, pairs with whoever has moved `ready` on: the values are there.
            let ahead = self.back.ready.load(Ordering::Acquire).wrapping_sub(position) as i64;
            if ahead <= 0 {
                return false;
            }
            // (If only one is ready, a note saves nothing; but it must not fall so far behind that it seems ahead: so the slow ways
            // make one at the last slot of each block.)
            if ahead as u64 > ONE || noted {
                self.front
                    .seen_ready
                    .store(position.wrapping_add(ahead.unsigned_abs().min(SPAN)), Ordering::Release);
            }
        }
        true
    }

    /// Whether a receiver has noted that the value at this position has been published.
    #[inline(always)]
    pub(super) fn is_known(&self, position: u64) -> bool {
        self.front.seen_ready.load(Ordering::Acquire).wrapping_sub(position.wrapping_add(ONE)) < SPAN
    }

    /// As [`value`](Self::value), and how many values from there on are published and in this block; `max` at most.
    pub(super) fn values(&self, head: u64, max: usize) -> Option<(*mut Block<T>, usize)> {
        let block = self.value(head)?;
        let next = (head & !FLAGS).wrapping_add(ONE);
        // ORDERING: Acquire, as in `is_ready`. (Another receiver may have noted less since.)
        let behind = self.front.seen_ready.load(Ordering::Acquire).wrapping_sub(next);
        let behind = if behind < SPAN { behind / ONE } else { 0 };
        Some((block, Self::slots_left(head).min(behind as usize + 1).min(max)))
    }

    /// How many slots from `tail` on are in its block.
    pub(super) fn slots_left(tail: u64) -> usize {
        Block::<T>::SLOTS - index_of::<T>(tail)
    }

    /// Whether this position is the last one in its block.
    #[inline(always)]
    pub(super) fn is_last(position: u64) -> bool {
        index_of::<T>(position) + 1 == Block::<T>::SLOTS
    }

    /// Publishes a value in the slot `tail` of `block`; `last`: it is the last one of that. (Where it is known not to be, there is
    /// no call but a final one: this is inlined where values are sent.)
    ///
    /// # Safety
    /// The caller has claimed the slot, and gives the value up.
    #[inline(always)]
    pub(super) unsafe fn put(&self, tail: u64, block: *mut Block<T>, value: &MaybeUninit<T>, last: bool) {
        // SAFETY: the caller's promise. The claimed slot keeps the block.
        unsafe {
            Block::slot(block, index_of::<T>(tail))
                .with_mut(|place| place.copy_from_nonoverlapping(value, 1));
            self.publish(tail, block, 1, last);
        }
    }

    /// Publishes the values in so many slots of `block`, from `tail` on, by one store. `last`: one of them is the last one of the
    /// block; before, that is linked to the next one.
    ///
    /// # Safety
    /// The caller has claimed the slots, and put the values there.
    #[inline(always)]
    unsafe fn publish(&self, tail: u64, block: *mut Block<T>, count: usize, last: bool) {
        debug_assert_eq!(last, Self::slots_left(tail) == count);
        if last && !bug!("last_slot_links_nothing") {
            // SAFETY: the caller's promise: nothing is published yet.
            unsafe { self.fill_block(tail, block) };
        }
        let ready = &self.back.ready;
        let position = tail & !FLAGS;
        // ORDERING: Acquire: what was published before goes along with what this publishes.
        if ready.load(Ordering::Acquire) != position {
            let index = index_of::<T>(tail);
            for at in index..index + if bug!("batch_marks_one") { 1 } else { count } {
                // SAFETY: a claimed slot keeps the block until it is marked, the last one of these as well.
                unsafe { Block::mark_full(block, at) };
            }
            return;
        }
        // Nobody else moves `ready` past a slot that is not marked.
        let next = position.wrapping_add(ONE * count as u64);
        // SAFETY: as above. (A mark that is missed is seen by a receiver.)
        if !last && unsafe { Block::is_marked(block, index_of::<T>(next)) } {
            // SAFETY: as above.
            return unsafe { self.publish_more(next, block) };
        }
        // ORDERING: Release: pairs with `is_ready`.
        ready.store(next, order!(Release, "ready_relaxed"));
    }

    /// Publishes what is before `next`, and those behind it that are marked, in the same block.
    ///
    /// # Safety
    /// The caller has claimed a slot of the block that is not published yet, and `ready` is there.
    #[cold]
    #[inline(never)]
    unsafe fn publish_more(&self, next: u64, block: *mut Block<T>) {
        // SAFETY: the claimed slot keeps the block.
        let next = unsafe { Block::full_from(block, next) };
        // ORDERING: Release: pairs with `is_ready`.
        self.back.ready.store(next, order!(Release, "ready_relaxed"));
    }

    /// As [`put`](Self::put), with so many of `values`, from `tail` on, which are published by one store.
    ///
    /// # Safety
    /// The caller has claimed the slots, which are in `block`; there are as many values.
    pub(super) unsafe fn put_several(
        &self,
        tail: u64,
        block: *mut Block<T>,
        values: &mut VecDeque<T>,
        count: usize,
    ) {
        let index = index_of::<T>(tail);
        for at in index..index + count {
            let value = MaybeUninit::new(values.pop_front().expect("no more than there are"));
            // SAFETY: the claimed slots keep the block.
            let slot = unsafe { Block::slot(block, at) };
            // SAFETY: the slot is the caller's, and free.
            slot.with_mut(|place| unsafe { place.copy_from_nonoverlapping(&value, 1) });
        }
        let last = index + count == Block::<T>::SLOTS;
        // SAFETY: as above.
        unsafe { self.publish(tail, block, count, last) };
    }

    /// Takes the values out of so many slots of `block`, from `head` on.
    ///
    /// # Safety
    /// The caller has claimed the slots, which are in `block`, and published; there is room in `out`.
    pub(super) unsafe fn take_several(
        &self,
        head: u64,
        block: *mut Block<T>,
        count: usize,
        out: &mut Vec<T>,
    ) {
        for at in 0..count as u64 {
            let head = head.wrapping_add(ONE * at);
            // SAFETY: the caller's promise. The last slot keeps the block.
            unsafe { push(out, |to| self.take(head, block, to, Self::is_last(head))) };
        }
    }

    /// Takes the value out of the slot `head` of `block`, to an empty place; `last`: it is the last one of that.
    ///
    /// # Safety
    /// The caller has claimed the slot, which is published.
    #[inline(always)]
    pub(super) unsafe fn take(&self, head: u64, block: *mut Block<T>, to: &mut MaybeUninit<T>, last: bool) {
        debug_assert_eq!(last, Self::is_last(head));
        let index = index_of::<T>(head);
        // SAFETY: the caller's promise. The claimed slot keeps the block until it is marked.
        unsafe {
            Block::slot(block, index).with(|place| place.copy_to_nonoverlapping(to, 1));
            if last {
                self.leave_block(head, block);
            } else {
                Block::mark_read(block, index);
            }
        }
    }
}

impl<T> Drop for Blocks<T> {
    /// Frees the blocks; the values are gone.
    fn drop(&mut self) {
        fn free<'a, T: 'a>(
            mut block: *mut Block<T>,
            next: impl Fn(*mut Block<T>) -> &'a AtomicPtr<Block<T>>,
        ) {
            while !block.is_null() {
                let after = next(block).load(Ordering::Relaxed);
                // SAFETY: nobody else is left; a block is in one place.
                unsafe {
                    (*block).end();
                    Block::free(block);
                }
                block = after;
            }
        }
        let front = without_parity(self.front.block.load(Ordering::Relaxed));
        let front = if front.is_null() { self.first.load(Ordering::Relaxed) } else { front };
        // SAFETY: nobody else is left.
        free(front, |block| unsafe { Block::next(block) });
        // SAFETY: as above.
        free(self.retired.load(Ordering::Relaxed), |block| unsafe { &(*block).below });
        let cached = self.cache.load(Ordering::Relaxed);
        if !cached.is_null() {
            // SAFETY: nobody else is left.
            unsafe { Block::free(cached) };
        }
    }
}
