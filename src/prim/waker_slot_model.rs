//! A place for one waker, in cells that a model can see.

use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{RawWakerVTable, Waker};

use super::UnsafeCell;

#[derive(Debug)]
pub(crate) struct WakerSlot {
    waker: UnsafeCell<Option<Waker>>,
    /// For the owner's eyes only.
    identity: UnsafeCell<(*const (), *const RawWakerVTable)>,
    /// For both: std's, as it adds no switch points.
    is_there: AtomicBool,
}

// SAFETY: the identity is compared only; wakers are Send. Who may touch what is decided elsewhere, as for the real one.
unsafe impl Send for WakerSlot {}
// SAFETY: as above.
unsafe impl Sync for WakerSlot {}

impl WakerSlot {
    pub(crate) fn new() -> WakerSlot {
        WakerSlot {
            waker: UnsafeCell::new(None),
            identity: UnsafeCell::new((ptr::null(), ptr::null())),
            is_there: AtomicBool::new(false),
        }
    }

    /// Puts a waker where none is.
    pub(crate) fn set(&self, waker: Waker) {
        // SAFETY: the caller's place.
        self.identity.with_mut(|identity| unsafe { *identity = identify(&waker) });
        self.is_there.store(true, Ordering::Relaxed);
        // SAFETY: as above.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
    }

    /// Whether there is none: for whoever it would belong to.
    pub(crate) fn is_empty(&self) -> bool {
        // SAFETY: the caller's waker.
        self.waker.with(|place| unsafe { (*place).is_none() })
    }

    /// Takes the waker, for whoever it belongs to.
    pub(crate) fn take(&self) -> Option<Waker> {
        self.is_there.store(false, Ordering::Relaxed);
        // SAFETY: the caller's waker.
        self.waker.with_mut(|place| unsafe { (*place).take() })
    }

    /// Whether this waker, or one like it, is here, or about to be taken: for the owner, who put it there.
    pub(crate) fn is(&self, waker: &Waker) -> bool {
        // SAFETY: the owner's.
        self.is_there.load(Ordering::Relaxed)
            && self.identity.with(|identity| unsafe { *identity == identify(waker) })
    }
}

fn identify(waker: &Waker) -> (*const (), *const RawWakerVTable) {
    (waker.data(), waker.vtable())
}
