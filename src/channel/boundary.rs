//! The boundaries of [blocks](super::blocks): how they are linked as they fill, left as they empty, and freed. The
//! invariants are numbered there.
//!
//! A sender that has claimed the last slot of a block links the next one and moves `back` there, before it
//! publishes. A receiver that has claimed that slot finds the next block linked, moves `front` there, and then
//! leaves the block. Whoever comes to the first slot of the next block meanwhile does this for them, as a visitor (see
//! below); compare-exchanges decide.
//!
//! # Visitors
//!
//! A *visitor* looks into a block where it has no claim: to go on to the next one, or for marks at `ready`. It is
//! counted in `visitors`, and looks only into what it finds in `front` or `back` after that.
//!
//! # Freeing
//!
//! Whoever moves `front` on to the next block *retires* the one before. If there is no visitor after that (but itself), and all
//! slots of the block are `read`, it frees it; otherwise it puts it among the retired. Nobody looks there any more: who
//! visited before has left; who visits later finds neither `front` nor `back` there (invariant 3); and nobody has a claim.
//! Then it takes what is retired, if there still is no visitor, looks once more whether there is one, and does the same
//! with each of those. A visitor that leaves does so, too. Whoever puts some back because of a visitor looks once more whether that
//! has left, and then takes them again: so one of the two sees to them.
//!
//! So marking a slot as `read` takes only a plain store. In return, a block can stay for a while: one whose last receiver was slow,
//! until the next one is retired; and those retired while a visitor's thread is suspended, until that leaves (nobody looks at them
//! meanwhile). One free block is kept in the cache: a steady flow does not allocate.
//!
//! # Orderings
//!
//! `visitors` is changed by read-modify-writes only: a visitor that comes is seen by whoever frees, or has acquired
//! what the latter has seen, and `front` and `back` with it. `read` is released by the one who has taken the value and
//! acquired by the one who frees the block. What that one clears goes along with the block, by the exchanges of the cache.

use std::ptr::{self, NonNull};

use super::block::{Block, block_of, index_of, parity_after, parity_of, with_parity, without_parity};
use super::blocks::{Blocks, FLAGS, distance};
use crate::prim::{self, AtomicPtr, AtomicU64, Ordering};
use crate::wait::Word;

impl<T> Blocks<T> {
    /// A new block.
    fn spare(&self) -> *mut Block<T> {
        if !self.cache.load(Ordering::Relaxed).is_null() {
            let cached = self.cache.swap(ptr::null_mut(), Ordering::AcqRel);
            if !cached.is_null() {
                // SAFETY: just taken out (invariant 5).
                unsafe {
                    if prim::reuse() {
                        Block::reset(cached);
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
        unsafe {
            (*block).end();
            if !bug!("block_kept_uncleared") {
                Block::clear(block);
            }
        }
        let kept =
            self.cache.compare_exchange(ptr::null_mut(), block, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        if !kept {
            // SAFETY: the caller's promise.
            unsafe { Block::free(block) };
        }
    }

    /// What follows a block; after the null pointer, the first one.
    ///
    /// # Safety
    /// The caller may look there.
    unsafe fn next_of(&self, block: *mut Block<T>) -> &AtomicPtr<Block<T>> {
        // SAFETY: the caller's promise.
        if block.is_null() { &self.first } else { unsafe { Block::next(block) } }
    }

    /// Links a block to the next one, if it is not yet, and moves `back` on from `pointer`, which points to it.
    ///
    /// # Safety
    /// The caller may look there, and somebody has claimed its last slot.
    unsafe fn move_back(&self, pointer: *mut Block<T>) {
        // SAFETY: the caller's promise.
        let link = unsafe { self.next_of(without_parity(pointer)) };
        let mut next = link.load(Ordering::Acquire);
        if next.is_null() {
            let spare = self.spare();
            match link.compare_exchange(ptr::null_mut(), spare, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => next = spare,
                Err(now) => {
                    next = now;
                    // SAFETY: nobody has seen it.
                    unsafe { self.keep(spare) };
                }
            }
        }
        let next = with_parity(next, parity_after(pointer));
        // Fails if somebody else has done it.
        let _ = self.back.block.compare_exchange(pointer, next, Ordering::AcqRel, Ordering::Acquire);
    }

    /// Moves `front` on from `pointer`, which points to a block that is linked. True: this call has.
    ///
    /// # Safety
    /// The caller may look there, and somebody has claimed its last slot.
    #[must_use]
    unsafe fn move_front(&self, pointer: *mut Block<T>) -> bool {
        // SAFETY: the caller's promise.
        let next = unsafe { self.next_of(without_parity(pointer)) }.load(Ordering::Acquire);
        debug_assert!(!next.is_null(), "the last value of a block is published when the block is linked");
        let next = with_parity(next, parity_after(pointer));
        self.front.block.compare_exchange(pointer, next, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// Retires a block, if it is not null, ends `visiting` of the caller's own visits, and frees what has been retired, unless
    /// somebody visits.
    ///
    /// # Safety
    /// The block is not null only if the caller has moved `front` on from it.
    pub(super) unsafe fn retire(&self, block: *mut Block<T>, visiting: usize) {
        // ORDERING: one location: see the header.
        let alone = self.visitors.fetch_sub(visiting, Ordering::AcqRel) == visiting;
        if !block.is_null() {
            // SAFETY: the caller's promise: it is the only one to retire it.
            unsafe { self.dispose(block, alone) };
        }
        while !self.retired.load(Ordering::Relaxed).is_null() && self.is_alone() {
            let mut taken = self.retired.swap(ptr::null_mut(), Ordering::AcqRel);
            let alone = bug!("retired_looked_at_once") || self.is_alone();
            while !taken.is_null() {
                let block = taken;
                // SAFETY: what is retired belongs to whoever has taken it (invariant 5).
                unsafe {
                    taken = (*block).below.load(Ordering::Relaxed);
                    self.dispose(block, alone);
                }
            }
            if alone || bug!("retired_stay_behind") {
                // What is left is not read.
                return;
            }
        }
    }

    /// Whether nobody visits, of those who may look at what was retired before.
    fn is_alone(&self) -> bool {
        // ORDERING: one location: see the header. (A load could be an old one.)
        self.visitors.fetch_add(0, Ordering::AcqRel) == 0
    }

    /// Frees a retired block, or leaves it to others. `alone`: nobody has visited since it was retired.
    ///
    /// # Safety
    /// The block is the caller's (invariant 5).
    unsafe fn dispose(&self, block: *mut Block<T>, alone: bool) {
        // SAFETY: the caller's promise.
        let is_read = unsafe { (*block).is_read() } || bug!("block_freed_unread");
        if is_read && (alone || bug!("visitors_do_not_count")) {
            // SAFETY: nobody looks there any more (see the header).
            unsafe { self.keep(block) };
        } else {
            self.put_back(block);
        }
    }

    /// Leaves a retired block to the next one who retires.
    fn put_back(&self, block: *mut Block<T>) {
        let mut top = self.retired.load(Ordering::Relaxed);
        loop {
            // SAFETY: it belongs to the caller.
            unsafe { &(*block).below }.store(top, Ordering::Relaxed);
            match self.retired.compare_exchange_weak(top, block, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => top = now,
            }
        }
    }

    /// A sender that has claimed the last slot of a block sees to the next one.
    ///
    /// # Safety
    /// The slot is not published yet: so the block is not freed.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn fill_block(&self, tail: u64, block: *mut Block<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.move_back(with_parity(block, parity_of::<T>(tail))) };
    }

    /// A receiver that has taken the value of the last slot of a block leaves that.
    ///
    /// # Safety
    /// The slot is not marked yet: so the block is not freed.
    #[cold]
    #[inline(never)]
    pub(super) unsafe fn leave_block(&self, head: u64, block: *mut Block<T>) {
        // SAFETY: the caller's promise. Nobody but the one that has moved `front` on retires the block.
        unsafe {
            let moved = self.move_front(with_parity(block, parity_of::<T>(head)));
            Block::mark_read(block, index_of::<T>(head));
            if moved {
                self.retire(block, 0);
            }
        }
    }

    /// There was no [`room`](Blocks::room) at `tail`, the position of `word`: goes on to its block.
    #[cold]
    #[inline(never)]
    pub(super) fn bring_room(&self, tail: u64, word: &AtomicU64) {
        let _visit = Visit::new(self);
        let back = self.back.block.load(Ordering::Acquire);
        // (While somebody waits the word says something else than the tail.)
        let now = Word(word.load(Ordering::Acquire));
        let moved = !now.is_free() || distance(tail, now.0) != 0;
        if (moved && !bug!("back_moves_unchecked")) || block_of(back, parity_of::<T>(tail)).is_some() {
            return;
        }
        if let Some(block) = NonNull::new(without_parity(back)) {
            // SAFETY: a visitor may look there.
            unsafe { block.as_ref() }.touch();
        }
        // SAFETY: a visitor may look there, and `tail` is beyond it (invariant 2).
        unsafe { self.move_back(back) };
    }

    /// There was no [`value`](Blocks::value) at `head`, and yet it is not empty: goes on to its block, or takes `ready` on. False:
    /// the first value is not published.
    #[cold]
    #[inline(never)]
    pub(super) fn bring_value(&self, head: u64) -> bool {
        let mut visit = Visit::new(self);
        let front = self.front.block.load(Ordering::Acquire);
        if distance(head, self.front.head.load(Ordering::Acquire)) != 0 {
            return true;
        }
        match block_of(front, parity_of::<T>(head)) {
            Some(_) if bug!("ready_stays") => false,
            Some(block) => self.move_ready(head, block),
            None => {
                // SAFETY: a visitor may look there, and `head` is beyond it (invariant 2). It is linked (invariant 4):
                // it is the null pointer only where the first block is there.
                if unsafe { self.move_front(front) } {
                    visit.left = without_parity(front);
                }
                true
            }
        }
    }

    /// Takes `ready` on past the values at `head` that are marked. False: the first one is not published. For a visitor.
    fn move_ready(&self, head: u64, block: *mut Block<T>) -> bool {
        let ready = &self.back.ready;
        // SAFETY: a visitor may look there.
        let full = unsafe { Block::full_from(block, head) };
        if full == head & !FLAGS {
            return ready.load(Ordering::Acquire) != full;
        }
        // ORDERING: Release: who claims below sees the values whose marks were acquired here.
        let _ = ready.compare_exchange(head & !FLAGS, full, Ordering::AcqRel, Ordering::Acquire);
        true
    }
}

/// A party that looks into blocks without a claim, until this is dropped.
pub(super) struct Visit<'a, T> {
    store: &'a Blocks<T>,
    /// The block from which it has moved `front` on.
    left: *mut Block<T>,
}

impl<'a, T> Visit<'a, T> {
    pub(super) fn new(store: &'a Blocks<T>) -> Self {
        // ORDERING: one location: see the header.
        store.visitors.fetch_add(1, Ordering::AcqRel);
        Visit { store, left: ptr::null_mut() }
    }
}

impl<T> Drop for Visit<'_, T> {
    fn drop(&mut self) {
        // SAFETY: `left` says so.
        unsafe { self.store.retire(self.left, 1) };
    }
}
