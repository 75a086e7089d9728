//! A fiber's place in the tree of fibers: what the [`roster`](super::roster) keeps in each header, and alone understands.

use std::ptr::{self, NonNull};

use crate::prim::{AtomicPtr, AtomicU32, Ordering, UnsafeCell};

/// A fiber whose header is an `H`.
pub(super) type Link<H> = Option<NonNull<H>>;

/// See the module.
#[derive(Debug)]
pub(crate) struct Links<H> {
    pub(super) siblings: UnsafeCell<Siblings<H>>,
    pub(super) first_child: AtomicPtr<H>,
    pub(super) shard: AtomicU32,
    pub(super) below: AtomicU32,
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
pub(super) const NONE: u32 = u32::MAX;
/// In `below`: it has ended and released its children.
pub(super) const GONE: u32 = u32::MAX - 1;

impl<H> Links<H> {
    pub(super) fn new() -> Self {
        Links {
            siblings: UnsafeCell::new(Siblings::default()),
            first_child: AtomicPtr::new(ptr::null_mut()),
            shard: AtomicU32::new(NONE),
            below: AtomicU32::new(NONE),
        }
    }

    /// The shard that the fiber is listed in, or was.
    pub(super) fn shard(&self) -> u32 {
        // ORDERING: Relaxed: written before the fiber was listed. (A member of a group can be found before; then it is as one that is
        // not listed yet, and a cancel of it reaches what is below it when it ends.)
        self.shard.load(Ordering::Relaxed)
    }

    /// For the owner, or under the lock of the fiber's shard.
    pub(super) fn below(&self) -> u32 {
        // ORDERING: Relaxed, by that.
        self.below.load(Ordering::Relaxed)
    }

    /// For the owner, under the lock of the fiber's shard.
    pub(super) fn set_below(&self, below: u32) {
        self.below.store(below, Ordering::Relaxed);
    }
}
