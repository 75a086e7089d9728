//! Foreign code that was collected while something was held, and is called when nothing is.

use std::iter::Fuse;
use std::task::Waker;

use super::node::Remains;
use crate::prim::thread;
use crate::task::error::{call, discard, shielded};

/// Calls `f` with each in turn, also after a panic: the first one propagates in the end, the others end here, as all do
/// in a thread that is panicking.
pub(crate) fn for_all<I: Iterator, F: FnMut(I::Item)>(items: I, f: F) {
    struct Rest<I: Iterator, F: FnMut(I::Item)>(Fuse<I>, F);
    impl<I: Iterator, F: FnMut(I::Item)> Drop for Rest<I, F> {
        fn drop(&mut self) {
            // Empty unless there is a panic.
            let Rest(rest, f) = self;
            rest.for_each(|item| shielded(|| f(item)));
        }
    }
    let mut rest = Rest(items.fuse(), f);
    if thread::panicking() {
        return;
    }
    for item in rest.0.by_ref() {
        (rest.1)(item);
    }
}

/// Does one thing to `it` and then another, the way [`for_all`] calls.
#[inline(always)]
pub(crate) fn both<S>(mut it: S, first: impl Fn(&mut S), second: impl Fn(&mut S)) {
    for_all([true, false].into_iter(), |is_first| if is_first { first(&mut it) } else { second(&mut it) });
}

/// Foreign data, dropped the way [`for_all`] calls: each item, even if the drop of another panics, and also during a panic.
pub(crate) struct Foreign<I: IntoIterator + Default>(pub(crate) I);

impl<I: IntoIterator + Default> Drop for Foreign<I> {
    fn drop(&mut self) {
        for_all(std::mem::take(&mut self.0).into_iter(), drop);
    }
}

/// Wakes each in turn, as [`for_all`] does.
pub(crate) fn wake_all(wakers: impl Iterator<Item = Waker>) {
    for_all(wakers, Waker::wake);
}

/// Wakes one in that way.
#[inline(always)]
pub(crate) fn wake_one(waker: Waker) {
    call(|| waker.wake());
}

/// What owners that are gone have left: their nodes, and the wakers that counted; the nodes may hold others. All go when this is
/// dropped: foreign code, whose panics end here.
#[derive(Default)]
pub(crate) struct Left(Vec<Remains>);

impl Left {
    pub(crate) fn add(&mut self, left: Remains) {
        self.0.push(left);
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        for (claim, waker) in self.0.drain(..) {
            claim.free();
            discard(waker);
        }
    }
}
