//! A place for one waker, in cells that a model can see.

use std::ptr;
use std::task::{RawWakerVTable, Waker};

use super::UnsafeCell;

#[derive(Debug)]
pub(crate) struct WakerSlot {
    waker: UnsafeCell<Option<Waker>>,
    /// For the owner's eyes only.
    identity: UnsafeCell<(*const (), *const RawWakerVTable)>,
}

impl WakerSlot {
    pub(crate) fn new() -> WakerSlot {
        WakerSlot { waker: UnsafeCell::new(None), identity: UnsafeCell::new((ptr::null(), ptr::null())) }
    }

    /// Puts a waker where none is.
    pub(crate) fn set(&self, waker: Waker) {
        // SAFETY: the caller's place.
        self.identity.with_mut(|identity| unsafe { *identity = identify(&waker) });
        // SAFETY: as above.
        self.waker.with_mut(|place| unsafe { *place = Some(waker) });
    }

    /// Takes the waker, for whoever it belongs to.
    pub(crate) fn take(&self) -> Option<Waker> {
        // SAFETY: the caller's waker.
        self.waker.with_mut(|place| unsafe { (*place).take() })
    }

    /// Whether this waker, or one like it, was put here last: for the owner, who put it there.
    pub(crate) fn is(&self, waker: &Waker) -> bool {
        // SAFETY: the owner's.
        self.identity.with(|identity| unsafe { *identity == identify(waker) })
    }
}

fn identify(waker: &Waker) -> (*const (), *const RawWakerVTable) {
    (waker.data(), waker.vtable())
}
