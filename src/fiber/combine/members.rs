//! A set of futures that are polled in one task, each only when it was woken.
//!
//! The set itself is `futures-util`'s: each member gets a waker of its own, which puts it into a queue, and a poll
//! of the set polls what is in the queue. So n members cost O(n) polls in all, not O(n²).
//!
//! Invariants:
//!
//! 1. A member is dropped once: in the poll in which it gets ready, or by [`Members::clear`], or with the set.
//! 2. If the poll of a member panics, all others are dropped before the panic goes on. (Also if the waker of an earlier poll of
//!    the set panics as it is dropped for another one.)
//! 3. A member whose drop panics keeps no other from being dropped. (The set underneath would leak the rest, so members
//!    leave their places before it sees them go.) The first such panic goes on afterwards.
//! 4. What gets ready counts against the fiber's budget: a set of members that are ready at once lets others run.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use futures_core::Stream;
use futures_util::stream::FuturesUnordered;

use crate::task::error::InTurn;
use crate::task::{budget, or_clean, poll_to_end, watch};

/// See the module.
pub(in crate::fiber) struct Members<F> {
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

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (part, index) = (self.part(), self.index);
        let mut future = self.future();
        let end = |future: &mut Pin<&mut Option<F>>| {
            watch::end_part(part);
            future.set(None);
        };
        poll_to_end(&mut future, end, |future| {
            let future = future.as_mut().as_pin_mut().expect("a member is polled before it is dropped");
            watch::part(part, || future.poll(cx)).map(|output| (index, output))
        })
    }
}

impl<F> Members<F> {
    pub(in crate::fiber) fn new() -> Self {
        Members { set: FuturesUnordered::new(), refused: false }
    }

    pub(in crate::fiber) fn len(&self) -> usize {
        self.set.len()
    }

    /// Adds a future, to be polled with the next poll of the set.
    pub(in crate::fiber) fn push(&mut self, index: usize, future: F) {
        self.set.push(Member { index, future: Some(future) });
    }

    pub(in crate::fiber) fn each(&mut self) -> impl Iterator<Item = Pin<&mut F>> {
        Pin::new(&mut self.set).iter_pin_mut().filter_map(|member| member.future().as_pin_mut())
    }

    /// Drops them all.
    ///
    /// # Panics
    ///
    /// If a drop did: with the first such panic, after all of them. (Not during another one.)
    pub(in crate::fiber) fn clear(&mut self) {
        let mut drops = InTurn::default();
        for member in Pin::new(&mut self.set).iter_pin_mut() {
            watch::end_part(member.part());
            drops.call(|| member.future().set(None));
        }
        // With the waker of its last poll.
        drops.call(|| self.set.clear());
        drops.end();
    }
}

impl<F: Future> Members<F> {
    /// The next output, with its future's index; `None`: there are no members.
    pub(in crate::fiber) fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, F::Output)>> {
        if self.set.is_empty() {
            return Poll::Ready(None);
        }
        // (Once: others that always use up the budget first must not keep them waiting.)
        if !budget::may_look(&mut self.refused, cx) {
            return Poll::Pending;
        }
        let next = ready!(or_clean(self, Members::clear, |members| Pin::new(&mut members.set).poll_next(cx)));
        budget::spend();
        Poll::Ready(next)
    }
}

impl<F> Drop for Members<F> {
    fn drop(&mut self) {
        self.clear();
    }
}
