//! What is to be done also, or only, when foreign code panics.

use std::mem;

/// Calls `f` when this is dropped.
#[must_use]
pub(crate) struct Finally<F: FnOnce()>(Option<F>);

/// Calls `f` at the end of the block that it is bound in, also when that panics; not if it is forgotten before.
#[inline(always)]
pub(crate) fn finally<F: FnOnce()>(f: F) -> Finally<F> {
    Finally(Some(f))
}

impl<F: FnOnce()> Drop for Finally<F> {
    #[inline(always)]
    fn drop(&mut self) {
        if let Some(f) = self.0.take() {
            f();
        }
    }
}

/// Calls `f` with `it`; if that panics, then `clean` as well.
#[inline(always)]
pub(crate) fn or_clean<T, R>(it: &mut T, clean: impl FnMut(&mut T), f: impl FnOnce(&mut T) -> R) -> R {
    struct Guard<'a, T, C: FnMut(&mut T)>(&'a mut T, C);
    impl<T, C: FnMut(&mut T)> Drop for Guard<'_, T, C> {
        fn drop(&mut self) {
            (self.1)(self.0);
        }
    }
    let guard = Guard(it, clean);
    let result = f(guard.0);
    mem::forget(guard);
    result
}
