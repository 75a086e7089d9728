//! The roster of an executor: registry and tree of its living fibers, under one lock.
//!
//! The registry is a hash table with chains, the tree one of first children and siblings; the links of both
//! are in the headers, so that a fiber costs its slot in the table and no allocation.
//!
//! ```text
//!  buckets ─▶ [·][·][·][·]…          parent
//!               │                      │ first_child
//!               ▼ chain                ▼
//!             fiber ─▶ fiber           c3 ⇄ c2 ⇄ c1      `prev` of the first child is its parent
//! ```
//!
//! Invariants, all under the lock:
//!
//! 1. A listed fiber is in the chain of its id's bucket, and the roster owns one count of it.
//! 2. A child's parent is listed. A fiber that is retired has neither children nor place in the tree.
//! 3. If a listed fiber is cancelled, so are all listed fibers below it: `cancel` marks a whole subtree in one
//!    critical section, and `admit` looks at the parent after it has linked the child. (Fibers that are seized
//!    at the end of their executor are excepted: all of them end.)
//! 4. Once closed, the roster only shrinks.
//!
//! Foreign code (drops, wakers) never runs under the lock; cancelling collects what has to be scheduled. Walks
//! are loops with a stack of their own, so that a chain of a million children overflows nothing.

use std::fmt;
use std::ptr::NonNull;
use std::time::Instant;

use crate::prim::{Condvar, Mutex};
use crate::task::header::{FiberId, Header, Task};

type Link = Option<NonNull<Header>>;

/// A fiber's places in the registry and in the tree.
#[derive(Debug)]
pub(crate) struct Links {
    /// The next in the bucket's chain.
    chain: Link,
    first_child: Link,
    /// The next younger-born sibling's elder: the list runs from the youngest to the oldest.
    next: Link,
    /// The previous sibling, or the parent if this is the first child.
    prev: Link,
}

impl Links {
    pub(crate) fn new() -> Self {
        Links { chain: None, first_child: None, next: None, prev: None }
    }
}

/// What came of an attempt to list a fiber.
#[derive(Debug, PartialEq, Eq)]
#[must_use]
pub(crate) enum Admission {
    /// Listed; also when the parent turned out to be cancelled, and the new fiber with it.
    Listed,
    /// The executor has ended, or is ending: the fiber is not listed.
    Closed,
}

/// See the module.
pub(crate) struct Roster {
    inner: Mutex<Inner>,
    emptied: Condvar,
}

struct Inner {
    buckets: Box<[Link]>,
    len: usize,
    closed: bool,
}

// SAFETY: the pointers are counted (invariant 1) and headers may be reached from any thread.
unsafe impl Send for Inner {}

const SMALLEST: usize = 16;

impl Roster {
    pub(crate) fn new() -> Self {
        let inner = Inner { buckets: vec![None; SMALLEST].into_boxed_slice(), len: 0, closed: false };
        Roster { inner: Mutex::new(inner), emptied: Condvar::new() }
    }

    /// Lists `task`, below `parent` where there is one; `Listed` takes one count of the caller's.
    ///
    /// The parent is running on this thread, and so listed, or it has been retired before, and then is none.
    pub(crate) fn admit(&self, task: &Task, parent: Option<&Task>) -> Admission {
        let mut inner = self.inner.lock();
        if inner.closed {
            return Admission::Closed;
        }
        inner.insert(task.as_raw());
        if let Some(parent) = parent {
            if inner.find(parent.id).is_some() {
                inner.adopt(parent.as_raw(), task.as_raw());
                if parent.state.is_cancelled() {
                    // Invariant 3. Whoever starts the fiber sees the mark; it is not idle, or not yet started.
                    let mut ready = Vec::new();
                    let _ = task.mark_cancelled(&mut ready);
                    drop(inner);
                    ready.into_iter().for_each(Task::schedule);
                }
            }
        }
        Admission::Listed
    }

    /// Takes an ended fiber out; true: the roster's count is the caller's now (false: it was never listed). Its children
    /// become nobody's: if it was cancelled, they are so by invariant 3.
    #[must_use]
    pub(crate) fn retire(&self, task: &Task) -> bool {
        let mut inner = self.inner.lock();
        if !inner.remove(task.as_raw(), task.id) {
            return false;
        }
        inner.unlink(task.as_raw());
        while let Some(child) = links(task.as_raw(), |links| links.first_child) {
            inner.unlink(child);
        }
        if inner.len == 0 {
            self.emptied.notify_all();
        }
        true
    }

    /// Cancels `task` and all below it; gives back those to be scheduled for it.
    #[must_use]
    pub(crate) fn cancel(&self, task: &Task) -> Vec<Task> {
        let mut ready = Vec::new();
        self.inner.lock().cancel(task.as_raw(), &mut ready);
        ready
    }

    pub(crate) fn find(&self, id: FiberId) -> Option<Task> {
        let inner = self.inner.lock();
        // SAFETY: a listed fiber is alive by the roster's count, and the clone makes one for the caller.
        inner
            .find(id)
            .map(|found| Task::clone(&std::mem::ManuallyDrop::new(unsafe { Task::from_raw(found) })))
    }

    pub(crate) fn len(&self) -> usize {
        self.inner.lock().len
    }

    /// Admits nobody from now on.
    pub(crate) fn close(&self) {
        self.inner.lock().closed = true;
    }

    /// Waits until nobody is left, or until `deadline`.
    pub(crate) fn wait_empty(&self, deadline: Option<Instant>) {
        let mut inner = self.inner.lock();
        while inner.len > 0 && deadline.is_none_or(|at| Instant::now() < at) {
            inner = self.emptied.wait_until(&self.inner, inner, deadline);
        }
    }

    /// All living fibers, oldest first.
    pub(crate) fn snapshot(&self) -> Vec<Task> {
        let inner = self.inner.lock();
        let mut all = Vec::with_capacity(inner.len);
        for &bucket in &inner.buckets {
            let mut at = bucket;
            while let Some(fiber) = at {
                // SAFETY: as in `find`.
                all.push(Task::clone(&std::mem::ManuallyDrop::new(unsafe { Task::from_raw(fiber) })));
                at = links(fiber, |links| links.chain);
            }
        }
        drop(inner);
        all.sort_unstable_by_key(|task| task.id);
        all
    }

    #[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
    pub(crate) fn assert_valid(&self) {
        self.inner.lock().assert_valid();
    }
}

/// Opens a fiber's links. Only `Inner` and its owner call it, under the lock.
fn links<R>(fiber: NonNull<Header>, f: impl FnOnce(&mut Links) -> R) -> R {
    // SAFETY: a listed fiber, or one that its caller holds a count of, is alive; the lock makes the access
    // exclusive (`header.rs`, invariant 3).
    unsafe { fiber.as_ref() }.links.with_mut(|links| f(unsafe { &mut *links }))
}

fn id(fiber: NonNull<Header>) -> FiberId {
    // SAFETY: as in `links`; the id never changes.
    unsafe { fiber.as_ref() }.id
}

impl Inner {
    /// Multiplicative hashing: ids are consecutive, but one executor may get every n-th of them.
    fn bucket(&self, id: FiberId) -> usize {
        let hash = id.get().wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (hash >> (64 - self.buckets.len().trailing_zeros())) as usize
    }

    fn insert(&mut self, fiber: NonNull<Header>) {
        if self.len == self.buckets.len() {
            self.resize(self.buckets.len() * 2);
        }
        self.len += 1;
        let bucket = self.bucket(id(fiber));
        let first = self.buckets[bucket].replace(fiber);
        links(fiber, |links| links.chain = first);
    }

    fn remove(&mut self, fiber: NonNull<Header>, id: FiberId) -> bool {
        let bucket = self.bucket(id);
        let rest = links(fiber, |links| links.chain);
        let mut at = self.buckets[bucket];
        if at == Some(fiber) {
            self.buckets[bucket] = rest;
        } else {
            loop {
                let Some(before) = at else { return false };
                at = links(before, |links| links.chain);
                if at == Some(fiber) {
                    links(before, |links| links.chain = rest);
                    break;
                }
            }
        }
        links(fiber, |links| links.chain = None);
        self.len -= 1;
        if self.len < self.buckets.len() / 8 && self.buckets.len() > SMALLEST {
            self.resize(self.buckets.len() / 4);
        }
        true
    }

    fn find(&self, wanted: FiberId) -> Link {
        let mut at = self.buckets[self.bucket(wanted)];
        while let Some(fiber) = at {
            if id(fiber) == wanted {
                return at;
            }
            at = links(fiber, |links| links.chain);
        }
        None
    }

    fn resize(&mut self, buckets: usize) {
        let old = std::mem::replace(&mut self.buckets, vec![None; buckets.max(SMALLEST)].into_boxed_slice());
        for mut at in old {
            while let Some(fiber) = at {
                let bucket = self.bucket(id(fiber));
                let first = self.buckets[bucket].replace(fiber);
                at = links(fiber, |links| std::mem::replace(&mut links.chain, first));
            }
        }
    }

    fn adopt(&mut self, parent: NonNull<Header>, child: NonNull<Header>) {
        let elder = links(parent, |links| links.first_child.replace(child));
        links(child, |links| {
            links.prev = Some(parent);
            links.next = elder;
        });
        if let Some(elder) = elder {
            links(elder, |links| links.prev = Some(child));
        }
    }

    /// Takes a fiber out of its parent's list; its own children stay.
    fn unlink(&mut self, fiber: NonNull<Header>) {
        let (prev, next) = links(fiber, |links| (links.prev.take(), links.next.take()));
        let Some(prev) = prev else { return };
        links(prev, |links| {
            if links.first_child == Some(fiber) {
                links.first_child = next;
            } else {
                links.next = next;
            }
        });
        if let Some(next) = next {
            links(next, |links| links.prev = Some(prev));
        }
    }

    /// Marks `top` and all below it. A fiber found marked already has nothing unmarked below (invariant 3).
    fn cancel(&mut self, top: NonNull<Header>, ready: &mut Vec<Task>) {
        let mut rest = vec![top];
        while let Some(fiber) = rest.pop() {
            // SAFETY: alive as in `links`; the count stays with its owner.
            let task = std::mem::ManuallyDrop::new(unsafe { Task::from_raw(fiber) });
            if !task.mark_cancelled(ready) {
                continue;
            }
            let mut child = links(fiber, |links| links.first_child);
            while let Some(found) = child {
                rest.push(found);
                child = links(found, |links| links.next);
            }
        }
    }

    #[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
    fn assert_valid(&self) {
        let mut seen = 0;
        for (index, &bucket) in self.buckets.iter().enumerate() {
            let mut at = bucket;
            while let Some(fiber) = at {
                seen += 1;
                assert_eq!(self.bucket(id(fiber)), index);
                let mut prev = fiber;
                let mut child = links(fiber, |links| links.first_child);
                while let Some(found) = child {
                    assert!(self.find(id(found)) == child, "a child is listed");
                    assert_eq!(links(found, |links| links.prev), Some(prev));
                    prev = found;
                    child = links(found, |links| links.next);
                }
                at = links(fiber, |links| links.chain);
            }
        }
        assert_eq!(seen, self.len);
    }
}

impl fmt::Debug for Roster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Roster").field("len", &self.len()).finish_non_exhaustive()
    }
}
