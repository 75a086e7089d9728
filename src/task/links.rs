//! A fiber's place in the tree of fibers: what the [`roster`](super::roster) keeps in each header, and alone understands.

use std::ptr::{self, NonNull};

use crate::prim::{AtomicPtr, AtomicU16, Ordering, UnsafeCell};

/// A fiber whose header is an `H`.
pub(super) type Link<H> = Option<NonNull<H>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Links<H> {
    pub(super) siblings: UnsafeCell<Siblings<H>>,
    pub(super) first_child: AtomicPtr<H>,
}

/// Whose locks guard it.
#[derive(Debug)]
pub(crate) struct Shards {
    /// Its siblings.
    pub(super) own: AtomicU16,
    /// Its children.
    below: AtomicU16,
}

#[derive(Debug)]
pub(super) struct Siblings<H> {
    /// The next younger one; the first child has its parent here.
    pub(super) prev: Link<H>,
    /// The next elder one.
    pub(super) next: Link<H>,
}

impl<H> Default for Siblings<H> {
    fn default() -> Self {
        Siblings { prev: None, next: None }
    }
}

/// Not listed so far; no child so far.
pub(super) const NONE: u16 = u16::MAX;
/// In `below`: it has ended and released its children.
pub(super) const GONE: u16 = u16::MAX - 1;

impl<H> Links<H> {
    pub(super) fn new() -> Self {
        Links { siblings: UnsafeCell::new(Siblings::default()), first_child: AtomicPtr::new(ptr::null_mut()) }
    }
}

impl Shards {
    pub(super) fn new() -> Self {
        Shards { own: AtomicU16::new(NONE), below: AtomicU16::new(NONE) }
    }

    /// The shard that the fiber is listed in, or was.
    pub(super) fn own(&self) -> u16 {
        // ORDERING: Relaxed: written before the fiber was listed. (A member of a group can be found before; then a cancel looks
        // again after it has marked it: if it was shielded before that, in a poll, the mark has acquired this.)
        self.own.load(Ordering::Relaxed)
    }

    /// For the owner, or under the lock of the fiber's shard.
    pub(super) fn below(&self) -> u16 {
        // ORDERING: Relaxed, by that.
        self.below.load(Ordering::Relaxed)
    }

    /// For the owner, under the lock of the fiber's shard.
    pub(super) fn set_below(&self, below: u16) {
        self.below.store(below, Ordering::Relaxed);
    }
}
