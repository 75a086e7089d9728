//! A place for one waker: two words, so that its owner may compare it while somebody else takes it.

use std::mem::ManuallyDrop;
use std::ptr;
use std::task::{RawWakerVTable, Waker};

use crate::prim::{AtomicPtr, Ordering};

/// All accesses are relaxed: who may set, and who may take, is decided, and ordered, elsewhere.
#[derive(Debug)]
pub(crate) struct WakerSlot {
    data: AtomicPtr<()>,
    /// Null: there is no waker.
    vtable: AtomicPtr<RawWakerVTable>,
}

impl WakerSlot {
    #[inline]
    pub(crate) fn new() -> WakerSlot {
        WakerSlot { data: AtomicPtr::new(ptr::null_mut()), vtable: AtomicPtr::new(ptr::null_mut()) }
    }

    /// Puts a waker where none is.
    #[inline]
    pub(crate) fn set(&self, waker: Waker) {
        let waker = ManuallyDrop::new(waker);
        self.data.store(waker.data().cast_mut(), Ordering::Relaxed);
        self.vtable.store(ptr::from_ref(waker.vtable()).cast_mut(), Ordering::Relaxed);
    }

    /// Whether there is none: for whoever it would belong to.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.vtable.load(Ordering::Relaxed).is_null()
    }

    /// Takes the waker, for whoever it belongs to.
    #[inline]
    pub(crate) fn take(&self) -> Option<Waker> {
        let vtable = self.vtable.load(Ordering::Relaxed);
        if vtable.is_null() {
            return None;
        }
        let data = self.data.load(Ordering::Relaxed);
        self.vtable.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: `set` has forgotten the waker that these are of, and nobody else takes it.
        Some(unsafe { Waker::new(data, &*vtable) })
    }

    /// Whether this waker, or one like it, is here, or about to be taken: for the owner, who put it there.
    #[inline]
    pub(crate) fn is(&self, waker: &Waker) -> bool {
        self.data.load(Ordering::Relaxed).cast_const() == waker.data()
            && self.vtable.load(Ordering::Relaxed).cast_const() == ptr::from_ref(waker.vtable())
    }
}
