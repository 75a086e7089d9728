//! The waker of a receiver that is parked: two words, which a peer reads before it knows whether the waker is its own.
//!
//! A peer may read one word of an old waker and one of a new one. It makes a waker of them only after an exchange that
//! shows that nothing was put here since (invariant 5 of [`shared`](super::shared)). So this is no
//! [`WakerSlot`](crate::prim), which nobody but the waker's owner reads.

use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{RawWakerVTable, Waker};

use crate::prim::{AtomicPtr, Ordering, UnsafeCell};

/// All accesses are relaxed: they are ordered by the word beside it.
pub(super) struct ParkedWaker {
    data: AtomicPtr<()>,
    vtable: AtomicPtr<RawWakerVTable>,
    /// For models, which see by it whether each look came before the end.
    looks: UnsafeCell<()>,
}

/// What was read there.
#[derive(Clone, Copy)]
pub(super) struct Seen {
    data: *const (),
    vtable: *const RawWakerVTable,
}

impl ParkedWaker {
    #[inline(always)]
    pub(super) fn new() -> ParkedWaker {
        ParkedWaker {
            data: AtomicPtr::new(ptr::null_mut()),
            vtable: AtomicPtr::new(ptr::null_mut()),
            looks: UnsafeCell::new(()),
        }
    }

    /// Puts a waker in; what was here before is not dropped.
    #[inline(always)]
    pub(super) fn put(&self, waker: Waker) {
        let waker = ManuallyDrop::new(waker);
        self.data.store(waker.data().cast_mut(), Ordering::Relaxed);
        self.vtable.store(ptr::from_ref(waker.vtable()).cast_mut(), Ordering::Relaxed);
    }

    #[inline(always)]
    pub(super) fn see(&self) -> Seen {
        self.looks.with(|_| ());
        Seen { data: self.data.load(Ordering::Relaxed), vtable: self.vtable.load(Ordering::Relaxed) }
    }

    /// Nobody looks any more.
    #[inline(always)]
    pub(super) fn end(&self) {
        self.looks.with_mut(|_| ());
    }
}

impl Seen {
    /// Whether it is of this waker, or of one like it.
    #[inline(always)]
    pub(super) fn is(self, waker: &Waker) -> bool {
        self.data == waker.data() && ptr::eq(self.vtable, waker.vtable())
    }

    /// The waker itself.
    ///
    /// # Safety
    /// Both words are of one waker that was put there, and it is the caller's.
    #[inline(always)]
    pub(super) unsafe fn own(self) -> Waker {
        // SAFETY: `put` has forgotten the waker that these are of.
        unsafe { Waker::new(self.data, &*self.vtable) }
    }
}
