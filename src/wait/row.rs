//! A row: a plain doubly linked list of nodes, ordered by rank or by arrival.
//!
//! It is guarded by a lock (or is somebody's own), which also makes it safe to look into every node in it: a node leaves
//! the row under that lock, and is freed after that only. Push, pop and remove are O(1); a node that returns to its
//! place walks past those that began to wait before it, all of which were notified and have returned.

use super::node::{Links, Listed, Node, NodeRef};
use super::steps::step;

#[derive(Debug)]
pub(super) struct Row {
    head: Option<NodeRef>,
    tail: Option<NodeRef>,
    kind: Listed,
}

// SAFETY: a row is a bundle of peer's rights to its nodes.
unsafe impl Send for Row {}

impl Row {
    /// A row whose nodes say that they are `kind`.
    pub(super) const fn new(kind: Listed) -> Row {
        Row { head: None, tail: None, kind }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.head.is_none()
    }

    /// # Safety
    /// The node stands in no queue, and the caller may enter it.
    pub(super) unsafe fn push_back(&mut self, node: NodeRef) {
        // SAFETY: the caller's promise.
        unsafe { self.link(self.tail, node, None) };
    }

    /// Inserts by rank: behind all that began to wait earlier. Rank 0 is none, and comes last.
    ///
    /// # Safety
    /// As for [`Row::push_back`].
    pub(super) unsafe fn insert(&mut self, node: NodeRef) {
        // SAFETY: the caller's promise; listed nodes are alive.
        unsafe {
            let key = |node: NodeRef| node.get().rank().wrapping_sub(1);
            let place = key(node);
            if self.tail.is_none_or(|tail| key(tail) <= place) {
                return self.push_back(node);
            }
            let mut next = self.head;
            while let Some(other) = next.filter(|other| key(*other) <= place) {
                step();
                next = links(other, |links| links.next);
            }
            let prev = next.and_then(|next| links(next, |links| links.prev));
            self.link(prev, node, next);
        }
    }

    pub(super) fn pop_front(&mut self) -> Option<NodeRef> {
        let head = self.head?;
        // SAFETY: a listed node.
        unsafe { self.unlink(head) };
        Some(head)
    }

    /// The first node that `fits`.
    pub(super) fn first(&self, fits: impl Fn(&Node) -> bool) -> Option<&Node> {
        let mut next = self.head;
        while let Some(node) = next {
            step();
            // SAFETY: listed nodes are alive.
            unsafe {
                if fits(node.get()) {
                    return Some(node.get());
                }
                next = links(node, |links| links.next);
            }
        }
        None
    }

    /// Takes out the first node that `fits`.
    pub(super) fn pop_first(&mut self, fits: impl Fn(&Node) -> bool) -> Option<NodeRef> {
        let node = self.first(fits).map(NodeRef::of)?;
        // SAFETY: a listed node.
        unsafe { self.unlink(node) };
        Some(node)
    }

    /// # Safety
    /// The node is alive and, if it is listed, then in a list under this lock.
    pub(super) unsafe fn remove(&mut self, node: NodeRef) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            let here = links(node, |links| links.listed == self.kind);
            if here {
                self.unlink(node);
            }
            here
        }
    }

    unsafe fn link(&mut self, prev: Option<NodeRef>, node: NodeRef, next: Option<NodeRef>) {
        // SAFETY: the neighbours are listed, the node may be entered, and the lock is held.
        unsafe {
            links(node, |links| {
                debug_assert_eq!(links.listed, Listed::Nowhere);
                *links = Links { prev, next, listed: self.kind };
            });
            match prev {
                Some(prev) => links(prev, |links| links.next = Some(node)),
                None => self.head = Some(node),
            }
            match next {
                Some(next) => links(next, |links| links.prev = Some(node)),
                None => self.tail = Some(node),
            }
        }
    }

    unsafe fn unlink(&mut self, node: NodeRef) {
        // SAFETY: the node and its neighbours are listed, and the lock is held.
        unsafe {
            let (prev, next) = links(node, |links| {
                links.listed = Listed::Nowhere;
                (links.prev.take(), links.next.take())
            });
            match prev {
                Some(prev) => links(prev, |links| links.next = next),
                None => self.head = next,
            }
            match next {
                Some(next) => links(next, |links| links.prev = prev),
                None => self.tail = prev,
            }
        }
    }

    /// The links agree both ways, and every node says that it is listed.
    pub(super) fn assert_valid(&self) {
        let (mut prev, mut next) = (None, self.head);
        while let Some(node) = next {
            // SAFETY: listed nodes are alive.
            unsafe {
                links(node, |links| {
                    assert_eq!(links.listed, self.kind, "a node in the list must say so");
                    assert_eq!(links.prev, prev, "a node must point back at its predecessor");
                });
                prev = next;
                next = links(node, |links| links.next);
            }
        }
        assert_eq!(self.tail, prev, "the tail must be the last node");
    }
}

/// # Safety
/// The node is alive and its links are the caller's: it holds the lock, or the node stands in no queue.
unsafe fn links<R>(node: NodeRef, f: impl FnOnce(&mut Links) -> R) -> R {
    // SAFETY: the caller's promise.
    unsafe { node.get() }.links.with_mut(|links| f(unsafe { &mut *links }))
}
