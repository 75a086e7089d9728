//! A block of slots, the piece of which [blocks](super::blocks) are linked, and the pointers to it.
//!
//! A position is a block's number and an index in it. A pointer to a block can carry the *parity* of its number, the
//! lowest bit of it: so a block can be told from the one before without a look into it.

use std::mem::MaybeUninit;
use std::ptr;

use super::blocks::{FLAGS, ONE};
use crate::prim::{self, AtomicBool, AtomicPtr, BLOCK_SLOTS, Life, Ordering, UnsafeCell};

/// Values of a block take no more bytes than this, unless one alone does.
const BLOCK_BYTES: usize = 4096;

/// Release: the value of a slot that is marked is there.
#[inline(always)]
fn mark_order() -> Ordering {
    if bug!("mark_relaxed") { Ordering::Relaxed } else { Ordering::Release }
}

/// The marks of receivers and those of senders lie apart, and apart from the values.
#[repr(C)]
pub(super) struct Block<T> {
    read: [AtomicBool; BLOCK_SLOTS],
    pub(super) next: AtomicPtr<Block<T>>,
    /// The next one among the retired.
    pub(super) below: AtomicPtr<Block<T>>,
    slots: Box<[UnsafeCell<MaybeUninit<T>>]>,
    full: [AtomicBool; BLOCK_SLOTS],
    life: Life,
}

impl<T> Block<T> {
    /// Slots of a block; a power of two.
    pub(super) const SLOTS: usize = {
        let mut slots = BLOCK_SLOTS;
        while slots > 1 && slots * size_of::<T>() > BLOCK_BYTES {
            slots /= 2;
        }
        slots
    };

    pub(super) fn new() -> *mut Block<T> {
        Box::into_raw(Box::new(Block {
            read: std::array::from_fn(|_| AtomicBool::new(false)),
            next: AtomicPtr::new(ptr::null_mut()),
            below: AtomicPtr::new(ptr::null_mut()),
            slots: (0..Self::SLOTS).map(|_| UnsafeCell::new(MaybeUninit::uninit())).collect(),
            full: std::array::from_fn(|_| AtomicBool::new(false)),
            life: Life::new(),
        }))
    }

    /// Nobody may look there any more, but for who makes it anew, or frees it.
    pub(super) fn end(&self) {
        self.life.end();
    }

    /// Frees a block whose life is over.
    ///
    /// # Safety
    /// The block is the caller's alone.
    pub(super) unsafe fn free(block: *mut Block<T>) {
        // SAFETY: it was a box, and the caller's promise.
        prim::free(unsafe { Box::from_raw(block) });
    }

    #[inline]
    pub(super) fn slot(&self, index: usize) -> &UnsafeCell<MaybeUninit<T>> {
        self.life.touch();
        debug_assert!(index < self.slots.len());
        // SAFETY: `index` gives nothing larger.
        unsafe { self.slots.get_unchecked(index) }
    }

    #[inline]
    pub(super) fn touch(&self) {
        self.life.touch();
    }

    /// The slot holds a value, though one before it may not. The block may be gone when this returns.
    ///
    /// # Safety
    /// The slot is the caller's.
    #[inline]
    pub(super) unsafe fn mark_full(block: *const Block<T>, index: usize) {
        // SAFETY: the caller's promise; nothing but the mark stays borrowed.
        let full = unsafe {
            (*block).life.touch();
            &(*block).full[index]
        };
        // ORDERING: Release pairs with `full_from`.
        full.store(true, mark_order());
    }

    /// The caller has taken the slot's value and is through with the block, which may be gone when this returns.
    ///
    /// # Safety
    /// The slot is the caller's.
    #[inline]
    pub(super) unsafe fn mark_read(block: *const Block<T>, index: usize) {
        // SAFETY: the caller's promise; nothing but the mark stays borrowed.
        let read = unsafe {
            (*block).life.touch();
            &(*block).read[index]
        };
        // ORDERING: Release pairs with `is_read`: nothing of what the caller did comes after that.
        read.store(true, Ordering::Release);
    }

    /// Whether all slots have been read. (No touch: the caller is about to end the block, and a model that takes this
    /// for the last touch does not look for another one that comes too late.)
    pub(super) fn is_read(&self) -> bool {
        // ORDERING: Acquire pairs with `mark_read`: each claimant is through with the block.
        self.read[..Self::SLOTS].iter().all(|read| read.load(Ordering::Acquire))
    }

    /// The position after the last of the values from `head` on that are marked.
    pub(super) fn full_from(&self, head: u64) -> u64 {
        self.life.touch();
        let mut word = head & !FLAGS;
        for full in &self.full[index_of::<T>(word)..Self::SLOTS] {
            // ORDERING: Acquire pairs with `mark_full`: the value is there.
            if !full.load(Ordering::Acquire) {
                break;
            }
            word = word.wrapping_add(ONE);
        }
        word
    }

    /// Makes a block anew whose life is over.
    pub(super) fn reset(&mut self) {
        for mark in self.read.iter().chain(&self.full) {
            mark.store(false, Ordering::Relaxed);
        }
        self.next.store(ptr::null_mut(), Ordering::Relaxed);
        self.life = Life::new();
    }
}

/// The index of a position in its block.
#[inline]
pub(super) fn index_of<T>(word: u64) -> usize {
    (word / ONE) as usize % Block::<T>::SLOTS
}

/// The lowest bit of the number of a position's block.
#[inline]
pub(super) fn parity_of<T>(word: u64) -> usize {
    (word / (ONE * Block::<T>::SLOTS as u64)) as usize & 1
}

/// The parity of the block that follows.
pub(super) fn parity_after<T>(pointer: *mut Block<T>) -> usize {
    (pointer.addr() & 1) ^ 1
}

/// The block of a pointer that carries this parity.
#[inline]
pub(super) fn block_of<T>(pointer: *mut Block<T>, parity: usize) -> Option<*mut Block<T>> {
    (pointer.addr() & 1 == parity).then(|| without_parity(pointer))
}

pub(super) fn without_parity<T>(pointer: *mut Block<T>) -> *mut Block<T> {
    pointer.map_addr(|address| address & !1)
}

pub(super) fn with_parity<T>(block: *mut Block<T>, parity: usize) -> *mut Block<T> {
    block.map_addr(|address| address | parity)
}
