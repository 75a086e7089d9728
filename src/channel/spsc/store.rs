//! Where the values of an spsc channel lie: slots by position, in blocks.
//!
//! ```text
//!   a ring:    [ slot slot slot … ]                                  one block, for good
//!   a chain:   front ─▶ [ … ] ──next──▶ [ … ] ──next──▶ [ … ] ◀─ back          cache ─▶ [ … ]
//! ```
//!
//! A position is a block's number and an index in it; of a ring all positions are in block 0. Each side keeps the block
//! that it was in last, with the *parity* of its number in the lowest bit; where that is not the position's, it goes on to
//! the next one. Before the first value of a chain both are at the null pointer, which stands for block −1, and what follows
//! that is `first`.
//!
//! 1. `back` is the sender's, or the receiver's that moves the value of a sender which waits; it links a block before it
//!    publishes the first value there.
//! 2. `front` is the receiver's. It goes on after it has claimed the first value of the next block: so whoever closes by
//!    `close_now` knows by the position which block it is at, or is about to be.
//! 3. A block that was left goes into the cache, if that is empty, and is freed otherwise. Only the receiver puts one there,
//!    and only who is at `back` takes it out.

use std::collections::VecDeque;
use std::mem::MaybeUninit;
use std::ptr;

use super::super::block::{self as core, block_of, with_parity, without_parity};
use super::super::ring::ring_slots;
use super::words::Side;
use crate::prim::{self, AtomicPtr, Life, Ordering, UnsafeCell};
use crate::task::thread;

pub(super) type Slot<T> = UnsafeCell<MaybeUninit<T>>;

pub(super) struct Block<T> {
    next: AtomicPtr<Block<T>>,
    slots: Box<[Slot<T>]>,
    life: Life,
}

impl<T> Block<T> {
    fn new(slots: usize) -> *mut Block<T> {
        Box::into_raw(Box::new(Block {
            next: AtomicPtr::new(ptr::null_mut()),
            slots: (0..slots).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
            life: Life::new(),
        }))
    }

    /// # Safety
    /// The block is the caller's alone, and its life is over.
    unsafe fn free(block: *mut Block<T>) {
        // SAFETY: it was a box, and the caller's promise.
        prim::free(unsafe { Box::from_raw(block) });
    }

    fn first_slot(&self) -> *mut Slot<T> {
        self.life.touch();
        self.slots.as_ptr().cast_mut()
    }
}

/// The store; its ends are with the [sides](super::words).
pub(super) struct Store<T> {
    /// The slots of a block, less one.
    mask: u64,
    /// How far to shift a position for the number of its block.
    shift: u32,
    first: AtomicPtr<Block<T>>,
    cache: AtomicPtr<Block<T>>,
}

impl<T> Store<T> {
    /// One for so many values, with the block that both sides begin at.
    pub(super) fn new(capacity: Option<usize>) -> (Store<T>, *mut Block<T>) {
        // One slot more than the capacity: see invariant 5 of `shared`.
        let ring = capacity.and_then(|capacity| ring_slots(capacity, size_of::<T>()));
        let slots = ring.unwrap_or(core::Block::<T>::SLOTS);
        let store = Store {
            mask: slots as u64 - 1,
            shift: if ring.is_some() { u64::BITS - 1 } else { slots.ilog2() },
            first: AtomicPtr::new(ptr::null_mut()),
            cache: AtomicPtr::new(ptr::null_mut()),
        };
        let begin = if ring.is_some() { Block::new(slots) } else { with_parity(ptr::null_mut(), 1) };
        (store, begin)
    }

    /// The parity of a position's block.
    #[inline(always)]
    fn parity(&self, position: u64) -> usize {
        (position >> self.shift) as usize & 1
    }

    #[inline(always)]
    fn index(&self, position: u64) -> usize {
        (position & self.mask) as usize
    }

    /// Whether a position is not the first one of its block, where there may be more to do. (Models have the quick ways go there
    /// too: their blocks are small.)
    #[inline(always)]
    pub(super) fn is_inside(&self, position: u64) -> bool {
        prim::MODEL || self.index(position) != 0
    }

    fn slots(&self) -> usize {
        self.mask as usize + 1
    }

    /// What follows a block; after the null pointer, the first one.
    ///
    /// # Safety
    /// The block is not freed.
    unsafe fn next_of(&self, block: *mut Block<T>) -> &AtomicPtr<Block<T>> {
        // SAFETY: the caller's promise.
        if block.is_null() { &self.first } else { unsafe { &(*block).next } }
    }

    /// How many slots from this position on are in its block.
    pub(super) fn slots_left(&self, position: u64) -> usize {
        self.slots() - self.index(position)
    }

    /// The slot of a position that is about to be filled, or was just now, and behind it those that are left in its block.
    ///
    /// # Safety
    /// The back is the caller's.
    #[inline(always)]
    unsafe fn behind(&self, back: &Side<T>, position: u64) -> *mut Slot<T> {
        let index = self.index(position);
        if index == 0 {
            self.begin_block(back, position);
        }
        // SAFETY: the index is within the block.
        unsafe { back.slots.load(Ordering::Relaxed).add(index) }
    }

    /// Puts a value at a position; the caller gives the value up if it publishes it.
    ///
    /// # Safety
    /// The back is the caller's, and the slot is empty.
    #[inline(always)]
    pub(super) unsafe fn put(&self, back: &Side<T>, position: u64, value: *const T) {
        // SAFETY: the caller's promise.
        unsafe {
            let slot = &*self.behind(back, position);
            slot.with_mut(|place| place.cast::<T>().copy_from_nonoverlapping(value, 1));
        }
    }

    /// Moves the first of `values` to so many positions, which are in one block.
    ///
    /// # Safety
    /// The back is the caller's, and the slots are empty; there are so many values.
    pub(super) unsafe fn put_several(
        &self,
        back: &Side<T>,
        position: u64,
        values: &mut VecDeque<T>,
        count: usize,
    ) {
        // SAFETY: the caller's promise.
        let first = unsafe { self.behind(back, position) };
        for at in 0..count {
            // Out of the deque before it is published: a box that the receiver has dropped is no value any more.
            let value = MaybeUninit::new(values.pop_front().expect("no more than there are"));
            // SAFETY: within the block; the caller's promise.
            unsafe { (*first.add(at)).with_mut(|place| place.copy_from_nonoverlapping(&value, 1)) };
        }
    }

    /// Moves them back in front of `values`: they were not published.
    ///
    /// # Safety
    /// [`Store::put_several`] has just put so many there, and nobody takes them.
    #[cold]
    pub(super) unsafe fn take_back_several(
        &self,
        back: &Side<T>,
        position: u64,
        values: &mut VecDeque<T>,
        count: usize,
    ) {
        // SAFETY: the caller's promise.
        let first = unsafe { self.behind(back, position) };
        for at in (0..count).rev() {
            // SAFETY: within the block; the caller's promise.
            values.push_front(unsafe { (*first.add(at)).with(|place| place.read().assume_init()) });
        }
    }

    /// At the first slot of a block: goes on to it, a new one, if that is not done. (A ring has one block.)
    #[cold]
    #[inline(never)]
    fn begin_block(&self, back: &Side<T>, position: u64) {
        if back.parity() == self.parity(position) {
            return;
        }
        // ORDERING: Acquire: whoever left it is through with it.
        let cached = self.cache.load(Ordering::Acquire);
        let block = if cached.is_null() {
            Block::new(self.slots())
        } else {
            self.cache.store(ptr::null_mut(), Ordering::Relaxed);
            // SAFETY: what is in the cache is whoever's the back is (3).
            unsafe { (*cached).life = Life::new() };
            cached
        };
        // SAFETY: the back's block is not left by the receiver before there is a next one.
        let next = unsafe { self.next_of(back.block()) };
        // ORDERING: Release: it is made.
        next.store(block, Ordering::Release);
        // SAFETY: just made.
        back.go_to(block, unsafe { (*block).first_slot() });
    }

    /// Copies what is at so many positions as there are places, which are in one block, to these. True: that is the next one.
    ///
    /// # Safety
    /// The front is the caller's, or, in slots that nobody writes to, about to be somebody else's; values were published
    /// there.
    #[inline(always)]
    pub(super) unsafe fn copy(&self, front: &Side<T>, position: u64, places: &mut [MaybeUninit<T>]) -> bool {
        let index = self.index(position);
        let next = if index == 0 { self.next_slots(front, position) } else { None };
        let slots = next.unwrap_or_else(|| front.slots.load(Ordering::Relaxed));
        for (at, to) in places.iter_mut().enumerate() {
            // SAFETY: the index is within the block; the caller's promise.
            unsafe { (*slots.add(index + at)).with(|place| place.copy_to_nonoverlapping(to, 1)) };
        }
        next.is_some()
    }

    /// At the first slot of a block: where that begins, if the front has not gone on to it yet.
    #[cold]
    #[inline(never)]
    fn next_slots(&self, front: &Side<T>, position: u64) -> Option<*mut Slot<T>> {
        if front.parity() == self.parity(position) {
            return None;
        }
        // SAFETY: the front's block is not freed; what follows it is linked before it has a value (1).
        Some(unsafe { (*self.next_of(front.block()).load(Ordering::Acquire)).first_slot() })
    }

    /// Goes on to the next block, the first value of which was claimed, and leaves this one.
    #[cold]
    #[inline(never)]
    pub(super) fn leave(&self, front: &Side<T>) {
        let left = front.block();
        // SAFETY: as in `next_slots`.
        unsafe {
            let next = self.next_of(left).load(Ordering::Acquire);
            front.go_to(next, (*next).first_slot());
            if left.is_null() {
                return;
            }
            (*left).life.end();
            if self.cache.load(Ordering::Relaxed).is_null() && prim::reuse() {
                (*left).next.store(ptr::null_mut(), Ordering::Relaxed);
                // ORDERING: Release pairs with `begin_block`.
                self.cache.store(left, Ordering::Release);
            } else {
                Block::free(left);
            }
        }
    }

    /// Waits until the front is at the block of `last`, the last position that was claimed; gives that block.
    fn settle(&self, front: &Side<T>, last: u64) -> *mut Block<T> {
        let mut pauses = 0;
        loop {
            if let Some(block) = block_of(front.tagged_block(), self.parity(last)) {
                return block;
            }
            thread::pause(&mut pauses);
        }
    }

    /// The slots of these positions, one after the other; `last` is the one before, the last that was claimed.
    ///
    /// # Safety
    /// They hold values, and are the caller's; nobody else takes or moves any, nor a block of them.
    pub(super) unsafe fn slots_at<'a>(
        &'a self,
        front: &'a Side<T>,
        last: u64,
        positions: impl Iterator<Item = u64> + 'a,
    ) -> impl Iterator<Item = &'a Slot<T>> {
        let (mut block, mut parity) = (self.settle(front, last), self.parity(last));
        positions.map(move |position| {
            // SAFETY: the caller's promise; a block is linked before it has a value.
            unsafe {
                if parity != self.parity(position) {
                    block = self.next_of(block).load(Ordering::Acquire);
                    parity = self.parity(position);
                }
                &*(*block).first_slot().add(self.index(position))
            }
        })
    }

    /// Where both sides begin.
    pub(super) fn begin(block: *mut Block<T>) -> *mut Slot<T> {
        let block = without_parity(block);
        // SAFETY: just made, or null.
        if block.is_null() { ptr::null_mut() } else { unsafe { (*block).first_slot() } }
    }

    /// Frees the blocks, from the front's on; no value is left.
    ///
    /// # Safety
    /// Nobody else has the channel any more.
    pub(super) unsafe fn free(&self, front: &Side<T>) {
        let mut block = front.block();
        if block.is_null() {
            block = self.first.load(Ordering::Acquire);
        }
        let cached = self.cache.load(Ordering::Acquire);
        // SAFETY: the caller's promise; each block is in one place.
        unsafe {
            while !block.is_null() {
                let next = (*block).next.load(Ordering::Acquire);
                (*block).life.end();
                Block::free(block);
                block = next;
            }
            if !cached.is_null() {
                Block::free(cached);
            }
        }
    }
}
