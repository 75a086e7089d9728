//! What is to be done also, or only, when foreign code panics.

use std::mem;
use std::task::Poll;

use super::error::{InTurn, shielded};

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

/// Polls `it`, and ends it if that is ready or panics. A panic of `end` goes on, unless `poll` has panicked.
#[inline(always)]
pub(crate) fn poll_to_end<T, R>(
    it: &mut T,
    end: impl Fn(&mut T),
    poll: impl FnOnce(&mut T) -> Poll<R>,
) -> Poll<R> {
    let polled = or_clean(it, |it| shielded(|| end(it)), poll);
    let mut ending = InTurn::default();
    if polled.is_ready() {
        ending.call(|| end(it));
    }
    ending.give(polled)
}
