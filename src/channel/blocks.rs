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
//! are in, or to those before, where nobody has gone on to the next block yet; the lowest bit of the pointer is that
//! of the block's number, and tells the two cases apart. Nothing is allocated before the first send: the block
//! before the first is the null pointer, and what follows it is `first`.
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
//! * Whoever has claimed a slot of it, until it has published its value (senders) or marked the slot as `read`
//!   (receivers).
//! * A *visitor*, who has no claim there: it goes on to the next block, which it may have to link, or looks for
//!   marks at `ready`. It is counted in `visitors`, and looks only into what it finds in `front` or `back` after
//!   that.
//!
//! # Freeing
//!
//! Whoever moves `front` on to the next block *retires* the one before. A visitor that leaves takes what is retired
//! first, and then, if it is the last one to leave, frees those blocks of which all slots are `read`; it retires the
//! others again. Nobody looks there any more: who visited before has left; who visits later finds neither `front`
//! nor `back` there (invariant 3); and nobody has a claim.
//!
//! So it takes no more than a plain store to mark a slot as `read`. In return, a block can stay for a while: one
//! whose last receiver was slow, until there is another visit; and those that are retired while a visitor's thread
//! is suspended, until that one leaves. One free block is kept in the cache: a steady flow does not allocate.
//!
//! # Invariants
//! 1. `head` ≤ `ready` ≤ `tail`. Receivers claim positions below `ready` only, and senders those whose block is
//!    `back`.
//! 2. `front` and `back` are at the blocks of `head` and `tail` or at those before. So what was read while a word
//!    stayed the same is the one or the other, and its lowest bit says which.
//! 3. `front` ≤ `back`: `front` moves to a block when a slot of it has been claimed, and then `back` is there.
//! 4. Each block up to `back` is linked to the next one, and stays so while anybody may look there.
//! 5. A block that is retired, or in the cache, belongs to whoever takes it from there.
//!
//! # Progress
//!
//! Lock-free, but for this: a receiver is told to look again while the first value is not published. Nobody waits
//! for who has filled a block to link the next one, nor for who has emptied one: whoever comes to a boundary does
//! what is to be done there, if it is not done yet.
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
//! itself and by the marks; so whoever claims below it sees the values below it. `read` is released by the one who
//! has taken the value and acquired by the one who frees the block. `visitors` is changed by read-modify-writes
//! only: a visitor that comes is counted by the one that leaves, or has acquired what that one has seen, and `front`
//! and `back` with it.
//!
//! # Source
//!
//! A claim without a look at the slot, and a claim that keeps the block, as in the unbounded queue of crossbeam,
//! whose receivers wait in a loop where they are told to look again here, and mark slots by a locked instruction.

use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use super::block::{Block, block_of, index_of, parity_of, with_parity, without_parity};
use super::store::{FLAGS, ONE, Store};
use crate::prim::{self, AtomicPtr, AtomicUsize, Ordering};

/// The most values in a channel, whatever its capacity.
const LIMIT: usize = usize::MAX >> 6;

/// How far ahead a receiver notes what is ready.
const SPAN: usize = 1024 * ONE;

pub(super) struct Blocks<T> {
    front: CachePadded<Front<T>>,
    back: CachePadded<Back<T>>,
    first: AtomicPtr<Block<T>>,
    retired: AtomicPtr<Block<T>>,
    cache: AtomicPtr<Block<T>>,
    visitors: AtomicUsize,
    capacity: usize,
}

/// What receivers change.
struct Front<T> {
    head: AtomicUsize,
    block: AtomicPtr<Block<T>>,
    /// What `ready` was when a receiver looked.
    seen_ready: AtomicUsize,
}

/// What senders change.
struct Back<T> {
    tail: AtomicUsize,
    block: AtomicPtr<Block<T>>,
    ready: AtomicUsize,
    /// What `head` was when a sender looked.
    seen_head: AtomicUsize,
    /// The capacity, at most [`LIMIT`], in terms of the words.
    limit: usize,
}

/// How far `to` is behind `from`, in terms of the words; negative if it is before.
#[inline]
fn distance(from: usize, to: usize) -> isize {
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

    fn visit(&self) -> Visit<'_, T> {
        // ORDERING: one location: see the header.
        self.visitors.fetch_add(1, Ordering::AcqRel);
        Visit { store: self, retired: ptr::null_mut() }
    }

    /// A new block.
    fn spare(&self) -> *mut Block<T> {
        if !self.cache.load(Ordering::Relaxed).is_null() {
            let cached = self.cache.swap(ptr::null_mut(), Ordering::AcqRel);
            if !cached.is_null() {
                // SAFETY: just taken out (invariant 5).
                unsafe {
                    if prim::REUSE {
                        (*cached).reset();
                        return cached;
                    }
                    Block::free(cached);
                }
            }
        }
        Block::new()
    }

    /// Ends a block, and keeps it for the next one who needs it.
    ///
    /// # Safety
    /// The block is the caller's alone.
    unsafe fn keep(&self, block: *mut Block<T>) {
        // SAFETY: the caller's promise.
        unsafe { (*block).end() };
        let kept =
            self.cache.compare_exchange(ptr::null_mut(), block, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !kept {
            // SAFETY: the caller's promise.
            unsafe { Block::free(block) };
        }
    }

    fn retire(&self, block: *mut Block<T>) {
        let mut top = self.retired.load(Ordering::Relaxed);
        loop {
            // SAFETY: it is the caller's, and freed by nobody before it is pushed.
            unsafe { &(*block).below }.store(top, Ordering::Relaxed);
            match self.retired.compare_exchange_weak(top, block, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }
}

/// A party that looks into blocks without a claim; what it has retired.
struct Visit<'a, T> {
    store: &'a Blocks<T>,
    retired: *mut Block<T>,
}

impl<T> Visit<'_, T> {
    /// What follows a block that `front` or `back` pointed to.
    fn next(&self, pointer: *mut Block<T>) -> &AtomicPtr<Block<T>> {
        let block = without_parity(pointer);
        if block.is_null() {
            return &self.store.first;
        }
        // SAFETY: a visitor may look there.
        unsafe { &(*block).next }
    }

    /// Moves `back` to the block of `tail`, which is linked if there is none.
    fn move_back(&self, tail: usize) {
        let Back { tail: word, block: pointer, .. } = &*self.store.back;
        let back = pointer.load(Ordering::Acquire);
        let parity = parity_of::<T>(tail);
        // As `tail` has not moved on, `back` is at its block, or at the one before.
        let moved =
            distance(tail, word.load(Ordering::Acquire)) != 0 && !cfg!(leno_bug = "back_moves_unchecked");
        if block_of(back, parity).is_some() || moved {
            return;
        }
        let link = self.next(back);
        if let Some(block) = NonNull::new(without_parity(back)) {
            // SAFETY: a visitor may look there.
            unsafe { block.as_ref() }.touch();
        }
        let mut next = link.load(Ordering::Acquire);
        if next.is_null() {
            let spare = self.store.spare();
            match link.compare_exchange(ptr::null_mut(), spare, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => next = spare,
                Err(now) => {
                    next = now;
                    // SAFETY: nobody has seen it.
                    unsafe { self.store.keep(spare) };
                }
            }
        }
        // Fails if somebody else has done it.
        let next = with_parity(next, parity);
        let _ = pointer.compare_exchange(back, next, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Moves `front` from the block before to that of `head`, which has a value, and retires the one before.
    fn move_front(&mut self, head: usize, front: *mut Block<T>) {
        // ORDERING: `tail` was acquired beyond `head`, so who has claimed there had found the block.
        let next = self.next(front).load(Ordering::Acquire);
        debug_assert!(!next.is_null(), "a slot is claimed in a block that is linked");
        let next = with_parity(next, parity_of::<T>(head));
        let pointer = &self.store.front.block;
        if pointer.compare_exchange(front, next, Ordering::AcqRel, Ordering::Acquire).is_ok() {
            self.retired = without_parity(front);
        }
    }

    /// Moves `ready` past the values at `head` that are marked. False: the first one is not.
    fn move_ready(&self, head: usize, block: *mut Block<T>) -> bool {
        let ready = &self.store.back.ready;
        // SAFETY: a visitor may look there.
        let full = unsafe { (*block).full_from(head) };
        if full == head & !FLAGS {
            return ready.load(Ordering::Acquire) != full;
        }
        // ORDERING: Release: who claims below sees the values whose marks were acquired here.
        let _ = ready.compare_exchange(head & !FLAGS, full, Ordering::AcqRel, Ordering::Acquire);
        true
    }
}

impl<T> Drop for Visit<'_, T> {
    /// Leaves.
    fn drop(&mut self) {
        let store = self.store;
        let mut taken = ptr::null_mut();
        if !store.retired.load(Ordering::Relaxed).is_null() {
            taken = store.retired.swap(ptr::null_mut(), Ordering::AcqRel);
        }
        if !self.retired.is_null() {
            // SAFETY: it is this visitor's: who moves `front` on retires alone.
            unsafe { &(*self.retired).below }.store(taken, Ordering::Relaxed);
            taken = self.retired;
        }
        // ORDERING: one location: see the header.
        let last = store.visitors.fetch_sub(1, Ordering::AcqRel) == 1;
        while !taken.is_null() {
            let block = taken;
            // SAFETY: what is retired belongs to whoever has taken it.
            taken = unsafe { &(*block).below }.load(Ordering::Relaxed);
            // SAFETY: as above.
            let is_read = unsafe { (*block).is_read() } || cfg!(leno_bug = "block_freed_unread");
            if is_read && (last || cfg!(leno_bug = "visitors_do_not_count")) {
                // SAFETY: nobody looks there any more (see the header).
                unsafe { store.keep(block) };
            } else {
                store.retire(block);
            }
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
        self.visit().move_back(tail);
        true
    }

    #[cold]
    #[inline(never)]
    fn bring_value(&self, head: usize) -> bool {
        let mut visit = self.visit();
        let front = self.front.block.load(Ordering::Acquire);
        // As long as `head` has not moved on, `front` is at its block, or at the one before.
        if distance(head, self.front.head.load(Ordering::Acquire)) != 0 {
            return true;
        }
        match block_of(front, parity_of::<T>(head)) {
            Some(_) if cfg!(leno_bug = "ready_stays") => false,
            Some(block) => visit.move_ready(head, block),
            None => {
                visit.move_front(head, front);
                true
            }
        }
    }

    #[inline]
    unsafe fn put(&self, tail: usize, block: *mut Block<T>, value: T) {
        let Back { tail: word, ready, .. } = &*self.back;
        let position = tail & !FLAGS;
        let index = index_of::<T>(tail);
        // SAFETY: the claimed slot keeps the block.
        let slot = unsafe { (*block).slot(index) };
        // SAFETY: the slot is the caller's, and free.
        slot.with_mut(|place| unsafe { (*place).write(value) });
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

    #[inline]
    unsafe fn take(&self, head: usize, block: *mut Block<T>) -> T {
        let index = index_of::<T>(head);
        // SAFETY: the claimed slot keeps the block.
        let slot = unsafe { (*block).slot(index) };
        // SAFETY: the slot is the caller's, and published.
        let value = slot.with(|place| unsafe { (*place).assume_init_read() });
        // SAFETY: the slot is the caller's.
        unsafe { Block::mark_read(block, index) };
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
