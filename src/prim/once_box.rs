//! A box that is made when it is first needed, by whoever comes first, and freed with what it belongs to.

use std::marker::PhantomData;
use std::ptr;

use super::{AtomicPtr, OnceLock, Ordering, const_fn, free};

/// (Sent and shared where a `OnceLock` could be.)
pub(crate) struct OnceBox<T>(AtomicPtr<T>, PhantomData<OnceLock<T>>);

impl<T> OnceBox<T> {
    const_fn! {
        pub(crate) fn new() -> OnceBox<T> {
            OnceBox(AtomicPtr::new(ptr::null_mut()), PhantomData)
        }
    }

    #[inline]
    pub(crate) fn get(&self) -> Option<&T> {
        // ORDERING: Acquire pairs with `make`.
        // SAFETY: null, or a box that is freed with this.
        unsafe { self.0.load(Ordering::Acquire).as_ref() }
    }

    #[inline]
    pub(crate) fn get_or_make(&self, new: impl FnOnce() -> T) -> &T {
        self.get().unwrap_or_else(|| self.make(new))
    }

    #[cold]
    #[inline(never)]
    fn make(&self, new: impl FnOnce() -> T) -> &T {
        let new = Box::into_raw(Box::new(new()));
        // ORDERING: Release publishes it, Acquire sees that of somebody else.
        let there = match self.0.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(first) => {
                // SAFETY: nobody has seen it.
                free(unsafe { Box::from_raw(new) });
                first
            }
        };
        // SAFETY: it is freed with this.
        unsafe { &*there }
    }

    /// # Safety
    /// It is a box that nobody else has.
    #[cold]
    #[inline(never)]
    unsafe fn free(made: *mut T) {
        // SAFETY: the caller's promise.
        free(unsafe { Box::from_raw(made) });
    }
}

impl<T> Drop for OnceBox<T> {
    #[inline]
    fn drop(&mut self) {
        let made = self.0.load(Ordering::Relaxed);
        if !made.is_null() {
            // SAFETY: nobody else is left.
            unsafe { OnceBox::free(made) };
        }
    }
}
