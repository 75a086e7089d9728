//! The rivals: waiter queues behind one interface, each in a file of its own.
//!
//! All do the same work for the same waiters: a waiter's own word is opened before it enters, and whoever takes it out
//! claims it by a compare-exchange of that word, which gives it back to its owner. Values and wakers are left out.
//! leno's queue keeps its own nodes; those of all others are a [`Node`] of the same size.

pub(crate) mod few;
pub(crate) mod leno;
pub(crate) mod locked;
pub(crate) mod segments;
pub(crate) mod spin;
pub(crate) mod tickets;

#[cfg(test)]
mod tests;

use std::ptr::NonNull;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A waiter queue, as far as the workloads need one.
///
/// A waiter belongs to one owner, who alone enters and removes it, and who drops it only when it does not wait and
/// the queue is out of use.
pub(crate) trait Rival: Send + Sync {
    /// What the tables call it.
    const NAME: &'static str;
    /// How many can wait at once.
    const MOST: usize = usize::MAX;

    /// The owner's right to a waiter.
    type Waiter: Send;

    fn new() -> Self;

    fn waiter() -> Self::Waiter;

    /// Joins at the back; the waiter does not wait yet, and there is room.
    fn enter(&self, waiter: &mut Self::Waiter);

    /// Takes the first waiter out and gives it back to its owner. False: nobody waits.
    fn take(&self) -> bool;

    /// Takes this waiter, which has entered, out. False: a peer has it, and is about to give it back or has done so.
    fn remove(&self, waiter: &mut Self::Waiter) -> bool;

    /// Whether nobody has given the waiter back since it entered. (One that its owner removed may still say so.)
    fn waits(waiter: &Self::Waiter) -> bool;

    /// Ends a waiter that does not wait.
    fn free(waiter: Self::Waiter) {
        drop(waiter);
    }
}

/// A rival's waiter: its links, the word by which it is claimed, and the room that a waker and a value would take.
#[repr(C, align(64))]
pub(crate) struct Node<L> {
    pub(crate) links: L,
    word: AtomicUsize,
    _payload: [u64; 16],
}

/// The size that leno's own node has.
const NODE: usize = 192;

const CLAIMED: usize = 0;
const OPEN: usize = 1;

impl<L> Node<L> {
    pub(crate) fn new(links: L) -> Box<Node<L>> {
        const { assert!(size_of::<Self>() == NODE) };
        Box::new(Node { links, word: AtomicUsize::new(CLAIMED), _payload: [0; 16] })
    }

    /// Owner: before it enters.
    pub(crate) fn open(&self) {
        // ORDERING: Relaxed; the queue publishes the node.
        self.word.store(OPEN, Ordering::Relaxed);
    }

    /// Peer: after it has taken the node out. The owner may use, and free, the node from here on.
    ///
    /// # Safety
    /// The peer has just taken out the node, which is alive.
    pub(crate) unsafe fn claim(node: NonNull<Node<L>>) {
        // SAFETY: the caller's promise.
        let word = unsafe { &(*node.as_ptr()).word };
        // ORDERING: Release pairs with `is_open`; Acquire: as leno's own claim word.
        let claimed = word.compare_exchange(OPEN, CLAIMED, Ordering::AcqRel, Ordering::Acquire);
        assert_eq!(claimed, Ok(OPEN), "one peer takes out a node that has entered once");
    }

    pub(crate) fn is_open(&self) -> bool {
        // ORDERING: Acquire pairs with `claim`.
        self.word.load(Ordering::Acquire) == OPEN
    }
}

/// The owner's right to a [`Node`]: a box that peers may look into.
pub(crate) struct Owned<L>(NonNull<Node<L>>);

// SAFETY: a unique right; the queues say when who may touch the node's links.
unsafe impl<L> Send for Owned<L> {}

impl<L> Owned<L> {
    pub(crate) fn new(links: L) -> Owned<L> {
        Owned(NonNull::from(Box::leak(Node::new(links))))
    }

    pub(crate) fn as_ptr(&self) -> NonNull<Node<L>> {
        self.0
    }

    pub(crate) fn node(&self) -> &Node<L> {
        // SAFETY: alive until this right is dropped.
        unsafe { self.0.as_ref() }
    }
}

impl<L> Drop for Owned<L> {
    fn drop(&mut self) {
        // SAFETY: leaked from a box by `new`; the owner drops it when it is out of everybody's reach.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}
