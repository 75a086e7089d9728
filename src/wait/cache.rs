//! Where nodes come from: a small stack of free ones per thread, and the pool behind it.
//!
//! Taking a node and freeing one touch the thread's stack only, most of the time; it is filled from the pool, and
//! emptied into it, by the half. Models have no pool: there each node has memory of its own, which stays readable and
//! whose number does not come back, unless a scenario asks for recycling.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::link::NUMBERS;
use super::node::Node;
use super::pool::{Pool, Stable};
use crate::prim::{self, Guard};

/// Free nodes that a thread keeps.
const KEPT: usize = 64;

/// Nodes that are allocated at once.
const CHUNK: usize = 512;

prim::global! {
    static POOL: Pool<Node, CHUNK, { NUMBERS / CHUNK }> = Pool::new();
}

/// A stack of free nodes.
struct Free {
    top: Cell<*const Node>,
    len: Cell<usize>,
}

prim::thread_local! {
    static FREE: Free = Free { top: Cell::new(ptr::null()), len: Cell::new(0) };
}

/// A node that is the caller's alone.
pub(super) fn alloc() -> NonNull<Node> {
    let node = FREE.try_with(|free| free.pop().or_else(|| free.fill())).ok().flatten().unwrap_or_else(create);
    // SAFETY: it is nobody else's.
    unsafe { node.as_ref().renew() };
    node
}

/// # Safety
/// The node is nobody's, with no waker and no value in it.
pub(super) unsafe fn free(node: NonNull<Node>) {
    if prim::reuse() && FREE.try_with(|free| free.push(node)).is_ok() {
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { destroy(std::iter::once(node)) };
}

/// Looks at a node to which the caller has no right. `None`: its memory is gone.
#[inline]
pub(super) fn peek(number: usize, guard: &Guard) -> Option<&Node> {
    if prim::MODEL {
        // SAFETY: a model's nodes stay readable.
        return Some(unsafe { &*prim::named::<Node>(number) });
    }
    POOL.peek(number, guard)
}

/// # Safety
/// The caller holds a right to that node.
pub(super) unsafe fn named(number: usize) -> NonNull<Node> {
    if prim::MODEL {
        return NonNull::new(prim::named(number)).expect("a right keeps its node");
    }
    // SAFETY: a right keeps the node's chunk, so no guard is needed.
    unsafe { POOL.find(number) }
}

/// Gives back what this thread has kept.
#[cfg(any(leno_loom, leno_shuttle))]
pub(super) fn clear() {
    // SAFETY: free nodes are this thread's alone.
    FREE.with(|free| unsafe { destroy(std::iter::from_fn(|| free.pop())) });
}

/// A node from the pool.
fn create() -> NonNull<Node> {
    if prim::MODEL {
        let node = Box::leak(Box::new(Node::create(0, 0)));
        let number = prim::name(node);
        node.set_number(number);
        return NonNull::from(node);
    }
    let mut node = None;
    POOL.take(1, |one| node = Some(one));
    node.expect("the pool gives as many as it is asked for")
}

/// # Safety
/// The nodes are nobody's.
unsafe fn destroy(nodes: impl Iterator<Item = NonNull<Node>>) {
    if prim::MODEL {
        for node in nodes {
            // SAFETY: it was leaked from a box by `create`.
            let node = unsafe { Box::from_raw(node.as_ptr()) };
            node.life.end();
            prim::keep(node);
        }
        return;
    }
    // SAFETY: the caller's promise.
    unsafe { POOL.give_back(nodes) };
}

impl Free {
    fn pop(&self) -> Option<NonNull<Node>> {
        let node = NonNull::new(self.top.get().cast_mut())?;
        // SAFETY: free nodes are this thread's alone.
        self.top.set(unsafe { node.as_ref().next_free() });
        self.len.set(self.len.get() - 1);
        Some(node)
    }

    fn push(&self, node: NonNull<Node>) {
        if self.len.get() == KEPT {
            // SAFETY: free nodes are this thread's alone.
            unsafe { destroy(std::iter::from_fn(|| self.pop()).take(KEPT / 2)) };
        }
        // SAFETY: as above.
        unsafe { node.as_ref().set_next_free(self.top.get()) };
        self.top.set(node.as_ptr());
        self.len.set(self.len.get() + 1);
    }

    /// Takes a few from the pool, all but one to keep.
    #[cold]
    fn fill(&self) -> Option<NonNull<Node>> {
        if prim::MODEL {
            return None;
        }
        POOL.take(KEPT / 2, |node| self.push(node));
        self.pop()
    }
}

impl Drop for Free {
    fn drop(&mut self) {
        // SAFETY: free nodes are this thread's alone.
        unsafe { destroy(std::iter::from_fn(|| self.pop())) };
    }
}
