//! A borrow without a lifetime.

use std::ops::Deref;

/// A reference to what an operation waits at, or to what its outcome belongs to. The future around it borrows or keeps that.
pub(super) struct Borrowed<P>(*const P);

// SAFETY: it is a shared reference.
unsafe impl<P: Sync> Send for Borrowed<P> {}
// SAFETY: as above.
unsafe impl<P: Sync> Sync for Borrowed<P> {}

impl<P> Clone for Borrowed<P> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<P> Copy for Borrowed<P> {}

impl<P> Borrowed<P> {
    /// # Safety
    /// It outlives this, and all copies of this.
    #[inline(always)]
    pub(super) unsafe fn new(at: *const P) -> Self {
        Borrowed(at)
    }
}

impl<P> Deref for Borrowed<P> {
    type Target = P;

    #[inline(always)]
    fn deref(&self) -> &P {
        // SAFETY: the promise of `new`.
        unsafe { &*self.0 }
    }
}
