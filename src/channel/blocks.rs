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
//! 3. `front` ≤ `back`: `front` leaves a block when its last value is published, and then `back` has left it.
//! 4. Each block up to `back` is linked to the next one, and stays so while anybody may look there.
//! 5. A block that is retired, or in the cache, belongs to whoever takes it from there.
//!
//! # Progress
//!
//! Lock-free, but for this: a receiver is told to look again while the first value is not published. Nobody waits
//! for whoever is to go on to the next block: who comes next does it, if it is not done yet.
//!
//! # Wrapping
//!
//! Positions wrap. A channel holds [`LIMIT`] values at most, whatever its capacity, so that what is before and what
//! is behind can be told apart. On 64-bit machines no position ever comes back; on 32-bit machines one does, after
//! 2^27 operations, and an operation that is suspended for as long, to within a channel's capacity, between a look
//! and its compare-exchange, or between a look and noting what it has seen, would take the one for the other.
//!
//! # Orderings
//!
//! Release and acquire on `ready`: each party that moves it on has acquired what was published before, by `ready`
//! itself and by the marks; so whoever claims below it sees the values below it.
//!
//! # Source
//!
//! A claim without a look at the slot, and a claim that keeps the block, as in the unbounded queue of crossbeam,
//! whose receivers wait in a loop where they are told to look again here, and mark slots by a locked instruction.

use std::ptr;

use crossbeam_utils::CachePadded;

use super::block::{Block, block_of, index_of, parity_of, with_parity, without_parity};
use super::boundary::Visit;
use super::store::{FLAGS, ONE, Store};
use crate::prim::{AtomicPtr, AtomicUsize, Ordering};

/// The most values in a channel, whatever its capacity.
const LIMIT: usize = usize::MAX >> 6;

/// How far ahead a receiver notes what is ready.
const SPAN: usize = 1024 * ONE;

pub(super) struct Blocks<T> {
    pub(super) front: CachePadded<Front<T>>,
    pub(super) back: CachePadded<Back<T>>,
    pub(super) first: AtomicPtr<Block<T>>,
    pub(super) retired: AtomicPtr<Block<T>>,
    pub(super) cache: AtomicPtr<Block<T>>,
    pub(super) visitors: AtomicUsize,
    capacity: usize,
}

/// What receivers change.
pub(super) struct Front<T> {
    pub(super) head: AtomicUsize,
    pub(super) block: AtomicPtr<Block<T>>,
    /// What `ready` was when a receiver looked.
    seen_ready: AtomicUsize,
}

/// What senders change.
pub(super) struct Back<T> {
    pub(super) tail: AtomicUsize,
    pub(super) block: AtomicPtr<Block<T>>,
    pub(super) ready: AtomicUsize,
    /// What `head` was when a sender looked.
    seen_head: AtomicUsize,
    /// The capacity, at most [`LIMIT`], in terms of the words.
    limit: usize,
}

/// How far `to` is behind `from`, in terms of the words; negative if it is before.
#[inline]
pub(super) fn distance(from: usize, to: usize) -> isize {
    (to & !FLAGS).wrapping_sub(from & !FLAGS) as isize
}

impl<T> Blocks<T> {
    /// `None`: no bound.
    pub(super) fn new(capacity: Option<usize>) -> Self {
        // The block before the first has the number -1.
        let none = || AtomicPtr::new(with_parity(ptr::null_mut(), 1));
        let capacity = capacity.unwrap_or(usize::MAX);
        Blocks {
            front: CachePadded::new(Front {
                head: AtomicUsize::new(0),
                block: none(),
                seen_ready: AtomicUsize::new(0),
            }),
            back: CachePadded::new(Back {
                tail: AtomicUsize::new(0),
                block: none(),
                ready: AtomicUsize::new(0),
                seen_head: AtomicUsize::new(0),
                limit: capacity.min(LIMIT) * ONE,
            }),
            first: AtomicPtr::new(ptr::null_mut()),
            retired: AtomicPtr::new(ptr::null_mut()),
            cache: AtomicPtr::new(ptr::null_mut()),
            visitors: AtomicUsize::new(0),
            capacity,
        }
    }
}

impl<T> Store for Blocks<T> {
    type Value = T;

    type Place = *mut Block<T>;

    #[inline]
    fn head(&self) -> &AtomicUsize {
        &self.front.head
    }

    #[inline]
    fn tail(&self) -> &AtomicUsize {
        &self.back.tail
    }

    #[inline]
    fn next(&self, word: usize) -> usize {
        word.wrapping_add(ONE)
    }

    #[inline]
    fn room(&self, tail: usize) -> Option<*mut Block<T>> {
        let Back { block, seen_head, limit, .. } = &*self.back;
        // ORDERING: Relaxed: a slot comes with its block, not from whoever has emptied another one.
        if (tail & !FLAGS).wrapping_sub(seen_head.load(Ordering::Relaxed)) >= *limit {
            let head = self.front.head.load(Ordering::Acquire);
            seen_head.store(head & !FLAGS, Ordering::Relaxed);
            if self.is_full(head, tail) {
                return None;
            }
        }
        block_of(block.load(Ordering::Acquire), parity_of::<T>(tail))
    }

    #[inline]
    fn value(&self, head: usize) -> Option<*mut Block<T>> {
        let Front { block, seen_ready, .. } = &*self.front;
        let position = head & !FLAGS;
        // ORDERING: Acquire, here and below, pairs with whoever has moved `ready` on: the values are there.
        let seen = seen_ready.load(Ordering::Acquire);
        if seen.wrapping_sub(position.wrapping_add(ONE)) >= SPAN {
            let ahead = distance(position, self.back.ready.load(Ordering::Acquire));
            if ahead <= 0 {
                return None;
            }
            let seen = position.wrapping_add(ahead.unsigned_abs().min(SPAN));
            seen_ready.store(seen, Ordering::Release);
        }
        block_of(block.load(Ordering::Acquire), parity_of::<T>(head))
    }

    #[cold]
    #[inline(never)]
    fn bring_room(&self, tail: usize) -> bool {
        Visit::new(self).bring_room(tail);
        true
    }

    #[cold]
    #[inline(never)]
    fn bring_value(&self, head: usize) -> bool {
        Visit::new(self).bring_value(head)
    }

    // A call: inlined beside a ring's, this and `take` would make that slower.
    #[inline(never)]
    unsafe fn put(&self, tail: usize, block: *mut Block<T>, value: T) {
        let Back { tail: word, ready, .. } = &*self.back;
        let position = tail & !FLAGS;
        let index = index_of::<T>(tail);
        // SAFETY: the claimed slot keeps the block.
        let slot = unsafe { (*block).slot(index) };
        // SAFETY: the slot is the caller's, and free.
        slot.with_mut(|place| unsafe { (*place).write(value) });
        if index + 1 == Block::<T>::SLOTS && !cfg!(leno_bug = "last_slot_links_nothing") {
            // SAFETY: as above.
            unsafe { self.fill_block(tail, block) };
        }
        // ORDERING: Acquire: what was published before goes along with what this publishes.
        if ready.load(Ordering::Acquire) != position {
            // SAFETY: as above.
            unsafe { Block::mark_full(block, index) };
            return;
        }
        // Nobody else moves `ready` past a slot that is not marked.
        let mut next = position.wrapping_add(ONE);
        // ORDERING: Relaxed: only to save the look; a mark that is missed is seen by a receiver.
        if index_of::<T>(next) != 0 && distance(next, word.load(Ordering::Relaxed)) != 0 {
            // SAFETY: as above.
            next = unsafe { (*block).full_from(next) };
        }
        // ORDERING: Release: pairs with `value`.
        ready.store(next, PUBLISH);
    }

    #[inline(never)]
    unsafe fn take(&self, head: usize, block: *mut Block<T>) -> T {
        let index = index_of::<T>(head);
        // SAFETY: the claimed slot keeps the block.
        let slot = unsafe { (*block).slot(index) };
        // SAFETY: the slot is the caller's, and published.
        let value = slot.with(|place| unsafe { (*place).assume_init_read() });
        // SAFETY: as above.
        unsafe {
            if index + 1 == Block::<T>::SLOTS {
                self.leave_block(head, block);
            } else {
                Block::mark_read(block, index);
            }
        }
        value
    }

    #[inline]
    fn is_full(&self, head: usize, tail: usize) -> bool {
        usize::try_from(distance(head, tail)).is_ok_and(|distance| distance >= self.back.limit)
    }

    fn len(&self, head: usize, tail: usize) -> usize {
        (tail & !FLAGS).wrapping_sub(head & !FLAGS) / ONE
    }

    fn capacity(&self) -> usize {
        self.capacity
    }
}

/// Release: the values before `ready` are there.
const PUBLISH: Ordering =
    if cfg!(leno_bug = "ready_relaxed") { Ordering::Relaxed } else { Ordering::Release };

impl<T> Drop for Blocks<T> {
    /// Frees the blocks; the values are gone.
    fn drop(&mut self) {
        fn free<T>(mut block: *mut Block<T>, next: impl Fn(&Block<T>) -> &AtomicPtr<Block<T>>) {
            while !block.is_null() {
                // SAFETY: nobody else is left.
                let after = next(unsafe { &*block }).load(Ordering::Relaxed);
                // SAFETY: as above; a block is in one place.
                unsafe {
                    (*block).end();
                    Block::free(block);
                }
                block = after;
            }
        }
        let front = without_parity(self.front.block.load(Ordering::Relaxed));
        let front = if front.is_null() { self.first.load(Ordering::Relaxed) } else { front };
        free(front, |block| &block.next);
        free(self.retired.load(Ordering::Relaxed), |block| &block.below);
        let cached = self.cache.load(Ordering::Relaxed);
        if !cached.is_null() {
            // SAFETY: nobody else is left.
            unsafe { Block::free(cached) };
        }
    }
}
