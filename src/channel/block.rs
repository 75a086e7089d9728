//! A block of slots, the piece of which [blocks](super::blocks) are linked, and the pointers to it.
//!
//! A position is a block's number and an index in it. A pointer to a block can carry the *parity* of its number, the
//! lowest bit of it: so a block can be told from the one before without a look into it.

use std::alloc::{Layout, alloc, handle_alloc_error};
use std::mem::MaybeUninit;
use std::ptr;

use super::blocks::{FLAGS, ONE};
use crate::prim::{self, AtomicBool, AtomicPtr, BLOCK_SLOTS, Life, Ordering, UnsafeCell};

/// Values of a block take no more bytes than this, unless one alone does.
const BLOCK_BYTES: usize = 4096;

type Slot<T> = UnsafeCell<MaybeUninit<T>>;
type Marks = [AtomicBool; BLOCK_SLOTS];

/// A block's beginning, which is the receivers'. Behind it, in the same allocation, come its slots, and then its [`Tail`], the
/// senders': the two sides change lines of their own. (So a block is known by a pointer; a reference to its beginning does not
/// lead any further.)
#[repr(C)]
pub(super) struct Block<T> {
    read: Marks,
    /// The next one among the retired.
    pub(super) below: AtomicPtr<Block<T>>,
    life: Life,
    _slots: [Slot<T>; 0],
}

/// What senders change.
struct Tail<T> {
    full: Marks,
    next: AtomicPtr<Block<T>>,
}

impl<T> Tail<T> {
    fn new() -> Self {
        Tail { full: no_marks(), next: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl<T> Block<T> {
    /// Slots of a block; a power of two.
    pub(super) const SLOTS: usize = {
        let mut slots = BLOCK_SLOTS;
        while slots > 1 && size_of::<T>() > BLOCK_BYTES / slots {
            slots /= 2;
        }
        slots
    };

    /// The allocation, and where in it the slots and the tail begin.
    fn layout() -> (Layout, usize, usize) {
        let fits = "a block is small, or its value is too large for any memory";
        let (layout, slots) =
            Layout::new::<Self>().extend(Layout::array::<Slot<T>>(Self::SLOTS).expect(fits)).expect(fits);
        let (layout, tail) = layout.extend(Layout::new::<Tail<T>>()).expect(fits);
        (layout.pad_to_align(), slots, tail)
    }

    pub(super) fn new() -> *mut Block<T> {
        let (layout, ..) = Self::layout();
        // SAFETY: the layout has a size.
        let block = unsafe { alloc(layout) }.cast::<Self>();
        if block.is_null() {
            handle_alloc_error(layout);
        }
        // SAFETY: freshly allocated, and large enough for all of it.
        unsafe {
            block.write(Block {
                read: no_marks(),
                below: AtomicPtr::new(ptr::null_mut()),
                life: Life::new(),
                _slots: [],
            });
            for index in 0..Self::SLOTS {
                Self::slot_at(block, index).write(UnsafeCell::new(MaybeUninit::uninit()));
            }
            Self::tail(block).write(Tail::new());
        }
        block
    }

    /// # Safety
    /// It is a block, and has so many slots.
    #[inline(always)]
    unsafe fn slot_at(block: *mut Block<T>, index: usize) -> *mut Slot<T> {
        // SAFETY: the caller's promise; this is where the layout has it.
        unsafe { block.byte_add(Self::layout().1).cast::<Slot<T>>().add(index) }
    }

    /// # Safety
    /// It is a block.
    #[inline(always)]
    unsafe fn tail(block: *mut Block<T>) -> *mut Tail<T> {
        // SAFETY: as above.
        unsafe { block.byte_add(Self::layout().2).cast() }
    }

    /// The pointer to the block that follows.
    ///
    /// # Safety
    /// The caller may look there, for as long as it uses it.
    pub(super) unsafe fn next<'a>(block: *mut Block<T>) -> &'a AtomicPtr<Block<T>> {
        // SAFETY: the caller's promise.
        unsafe { &(*Self::tail(block)).next }
    }

    /// Nobody may look there any more, except whoever clears, resets or frees it.
    pub(super) fn end(&self) {
        self.life.end();
    }

    /// Frees a block whose life is over.
    ///
    /// # Safety
    /// The block is the caller's alone.
    pub(super) unsafe fn free(block: *mut Block<T>) {
        // SAFETY: `new` has made it; the caller's promise.
        unsafe {
            Self::tail(block).drop_in_place();
            for index in 0..Self::SLOTS {
                Self::slot_at(block, index).drop_in_place();
            }
            block.drop_in_place();
            prim::dealloc(block.cast(), Self::layout().0);
        }
    }

    /// # Safety
    /// The caller may look there, for as long as it uses the slot; the block has so many.
    #[inline(always)]
    pub(super) unsafe fn slot<'a>(block: *mut Block<T>, index: usize) -> &'a UnsafeCell<MaybeUninit<T>> {
        debug_assert!(index < Self::SLOTS);
        // SAFETY: the caller's promise.
        unsafe {
            (*block).life.touch();
            &*Self::slot_at(block, index)
        }
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
    pub(super) unsafe fn mark_full(block: *mut Block<T>, index: usize) {
        // SAFETY: the caller's promise; nothing but the mark stays borrowed.
        let full = unsafe {
            (*block).life.touch();
            &(*Self::tail(block)).full[index]
        };
        // ORDERING: Release pairs with `full_from`.
        full.store(true, order!(Release, "mark_relaxed"));
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
        // (Nearly always all are, so none is a reason to stop.)
        self.read[..Self::SLOTS].iter().fold(true, |all, read| all & read.load(Ordering::Acquire))
    }

    /// Whether the slot is marked as full, as far as is known.
    ///
    /// # Safety
    /// The caller may look there.
    #[inline(always)]
    pub(super) unsafe fn is_marked(block: *mut Block<T>, index: usize) -> bool {
        // SAFETY: the caller's promise.
        let full = unsafe { &(*Self::tail(block)).full[index] };
        // ORDERING: Relaxed: `full_from` looks again.
        full.load(Ordering::Relaxed)
    }

    /// The position after the last of the values from `head` on that are marked.
    ///
    /// # Safety
    /// The caller may look there.
    pub(super) unsafe fn full_from(block: *mut Block<T>, head: u64) -> u64 {
        // SAFETY: the caller's promise.
        let marks = unsafe {
            (*block).life.touch();
            &(*Self::tail(block)).full
        };
        let mut word = head & !FLAGS;
        for full in &marks[index_of::<T>(word)..Self::SLOTS] {
            // ORDERING: Acquire pairs with `mark_full`: the value is there.
            if !full.load(Ordering::Acquire) {
                break;
            }
            word = word.wrapping_add(ONE);
        }
        word
    }

    /// Of a block whose life is over, resets the receivers' marks: done by who keeps it, a receiver, whose core has just had them.
    ///
    /// # Safety
    /// The block is the caller's alone.
    pub(super) unsafe fn clear(block: *mut Block<T>) {
        // SAFETY: the caller's promise. (Written as a whole, not mark by mark.)
        unsafe { (*block).read = no_marks() };
    }

    /// Resets the senders' part of a block that is cleared, and begins its next life: done by who takes it.
    ///
    /// # Safety
    /// The block is the caller's alone.
    pub(super) unsafe fn reset(block: *mut Block<T>) {
        // SAFETY: the caller's promise.
        unsafe {
            *Self::tail(block) = Tail::new();
            (*block).life = Life::new();
        }
    }
}

fn no_marks() -> Marks {
    std::array::from_fn(|_| AtomicBool::new(false))
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
pub(super) fn block_of<B>(pointer: *mut B, parity: usize) -> Option<*mut B> {
    (pointer.addr() & 1 == parity).then(|| without_parity(pointer))
}

pub(super) fn without_parity<B>(pointer: *mut B) -> *mut B {
    pointer.map_addr(|address| address & !1)
}

pub(super) fn with_parity<B>(block: *mut B, parity: usize) -> *mut B {
    block.map_addr(|address| address | parity)
}
