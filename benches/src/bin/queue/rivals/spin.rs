//! A doubly linked list under a spinlock: test, then test-and-set, with a pause that doubles and then yields.
//!
//! Every operation costs one locked instruction, as the lock is released by a plain store. It has one side only.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};

use crossbeam_utils::Backoff;

use super::{Node, Owned, Rival};

type Link = Option<NonNull<Node<Links>>>;

pub(crate) struct Links(UnsafeCell<Neighbours>);

#[derive(Default)]
struct Neighbours {
    prev: Link,
    next: Link,
    listed: bool,
}

#[repr(align(64))]
pub(crate) struct Spin {
    locked: AtomicBool,
    ends: UnsafeCell<Ends>,
}

struct Ends {
    head: Link,
    tail: Link,
}

// SAFETY: ends and links are touched under the lock only.
unsafe impl Send for Spin {}
// SAFETY: as above.
unsafe impl Sync for Spin {}

impl Spin {
    fn locked<R>(&self, f: impl FnOnce(&mut Ends) -> R) -> R {
        let backoff = Backoff::new();
        // ORDERING: Acquire pairs with the store below.
        while self.locked.load(Ordering::Relaxed) || self.locked.swap(true, Ordering::Acquire) {
            backoff.snooze();
        }
        // SAFETY: the lock is held.
        let result = f(unsafe { &mut *self.ends.get() });
        self.locked.store(false, Ordering::Release);
        result
    }
}

/// # Safety
/// The node is alive, the lock is held, and no other reference to these links is.
unsafe fn links<'a>(node: NonNull<Node<Links>>) -> &'a mut Neighbours {
    // SAFETY: the caller's promise.
    unsafe { &mut *(*node.as_ptr()).links.0.get() }
}

impl Ends {
    /// # Safety
    /// The node is alive and the lock is held.
    unsafe fn unlink(&mut self, node: NonNull<Node<Links>>) -> bool {
        // SAFETY: the node and its neighbours are alive; one reference at a time.
        unsafe {
            let Neighbours { prev, next, listed } = std::mem::take(links(node));
            if !listed {
                return false;
            }
            match prev {
                Some(prev) => links(prev).next = next,
                None => self.head = next,
            }
            match next {
                Some(next) => links(next).prev = prev,
                None => self.tail = prev,
            }
        }
        true
    }
}

impl Rival for Spin {
    const NAME: &'static str = "spinlock";

    type Waiter = Owned<Links>;

    fn new() -> Self {
        Spin { locked: AtomicBool::new(false), ends: UnsafeCell::new(Ends { head: None, tail: None }) }
    }

    fn waiter() -> Owned<Links> {
        Owned::new(Links(UnsafeCell::default()))
    }

    fn enter(&self, waiter: &mut Owned<Links>) {
        waiter.node().open();
        let node = waiter.as_ptr();
        // SAFETY: the node and the tail are alive; one reference at a time.
        self.locked(|ends| unsafe {
            *links(node) = Neighbours { prev: ends.tail, next: None, listed: true };
            match ends.tail {
                Some(tail) => links(tail).next = Some(node),
                None => ends.head = Some(node),
            }
            ends.tail = Some(node);
        });
    }

    fn take(&self) -> bool {
        let first = self.locked(|ends| {
            let head = ends.head?;
            // SAFETY: a listed node is alive.
            unsafe { ends.unlink(head) };
            Some(head)
        });
        // SAFETY: just taken out.
        first.inspect(|first| unsafe { Node::claim(*first) }).is_some()
    }

    fn remove(&self, waiter: &mut Owned<Links>) -> bool {
        // SAFETY: the owner keeps the node alive.
        self.locked(|ends| unsafe { ends.unlink(waiter.as_ptr()) })
    }

    fn waits(waiter: &Owned<Links>) -> bool {
        waiter.node().is_open()
    }
}
