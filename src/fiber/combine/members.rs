//! A set of futures that are polled in one task, each only when it was woken.
//!
//! The set itself is `futures-util`'s: each member gets a waker of its own, which puts it into a queue, and a poll
//! of the set polls what is in the queue. So n members cost O(n) polls in all, not O(n²).
//!
//! Invariants:
//!
//! 1. A member is dropped once: in the poll in which it gets ready, or by [`Members::clear`], or with the set.
//! 2. If the poll of a member panics, all others are dropped before the panic goes on.
//! 3. A member whose drop panics keeps no other from being dropped. (The set underneath would leak the rest, so members
//!    leave their places before it sees them go.) The first such panic goes on afterwards.
//! 4. What gets ready counts against the fiber's budget: a set of members that are ready at once lets others run.

use std::any::Any;
use std::fmt;
use std::future::Future;
use std::mem;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::task::error::discard;
use crate::task::{budget, watch};

/// See the module.
pub(super) struct Members<F> {
    set: FuturesUnordered<Member<F>>,
    /// There was no budget for them when they were polled.
    refused: bool,
}

/// A future with its place in the order.
struct Member<F> {
    index: usize,
    /// Pinned; `None` once it was dropped.
    future: Option<F>,
}

impl<F> Member<F> {
    fn future(self: Pin<&mut Self>) -> Pin<&mut Option<F>> {
        // SAFETY: `future` is pinned with `self`: it is not moved, there is no `Drop` for `Member`, and it is `Unpin`
        // only if `F` is.
        unsafe { self.map_unchecked_mut(|member| &mut member.future) }
    }

    /// For [`watch::part`]: it is pinned.
    fn part(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }
}

impl<F: Future> Future for Member<F> {
    type Output = (usize, F::Output);

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let part = self.part();
        let future = self.as_mut().future().as_pin_mut().expect("a member is polled before it is dropped");
        let output = ready!(watch::part(part, || future.poll(cx)));
        watch::end_part(part);
        self.as_mut().future().set(None);
        Poll::Ready((self.index, output))
    }
}

impl<F> Members<F> {
    pub(super) fn new() -> Self {
        Members { set: FuturesUnordered::new(), refused: false }
    }

    pub(super) fn len(&self) -> usize {
        self.set.len()
    }

    /// Adds a future, to be polled with the next poll of the set.
    pub(super) fn push(&mut self, index: usize, future: F) {
        self.set.push(Member { index, future: Some(future) });
    }

    /// Drops them all.
    ///
    /// # Panics
    ///
    /// If a drop did: with the first such panic, after all of them.
    pub(super) fn clear(&mut self) {
        if let Some(payload) = self.empty() {
            panic::resume_unwind(payload);
        }
    }

    /// Drops them all, and gives the first panic.
    fn empty(&mut self) -> Option<Box<dyn Any + Send>> {
        let mut first = None;
        for member in Pin::new(&mut self.set).iter_pin_mut() {
            watch::end_part(member.part());
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| member.future().set(None))) {
                match first {
                    None => first = Some(payload),
                    Some(_) => discard(payload),
                }
            }
        }
        self.set.clear();
        first
    }

    /// Calls `f` with the set; if it panics, the members are dropped.
    pub(super) fn guarded<R>(&mut self, f: impl FnOnce(&mut Self) -> R) -> R {
        struct Siblings<'a, F>(&'a mut Members<F>);
        impl<F> Drop for Siblings<'_, F> {
            fn drop(&mut self) {
                if let Some(second) = self.0.empty() {
                    discard(second);
                }
            }
        }
        let siblings = Siblings(self);
        let result = f(siblings.0);
        mem::forget(siblings);
        result
    }
}

impl<F: Future> Members<F> {
    /// The next output, with its future's index; `None`: there are no members.
    pub(super) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, F::Output)>> {
        if self.set.is_empty() {
            return Poll::Ready(None);
        }
        // (Once: who always uses up the budget before them is not to keep them waiting.)
        self.refused = budget::is_spent() && !self.refused;
        if self.refused {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let next = ready!(self.guarded(|members| Pin::new(&mut members.set).poll_next(cx)));
        budget::spend();
        Poll::Ready(next)
    }
}

impl<F> Drop for Members<F> {
    fn drop(&mut self) {
        self.clear();
    }
}

impl<F> fmt::Debug for Members<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Members").field("len", &self.len()).finish_non_exhaustive()
    }
}
