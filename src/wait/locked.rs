//! The reference: a waiter queue that is obviously right, with one waiter in a tagged word and more in a list under
//! a lock.
//!
//! It has the same two-sided contract as [`Queue`](super::Queue) and nothing else: no places, no bystanders, nothing
//! held. Tests compare the queue with it, and the benchmark `queue` runs it as a rival; the library does not contain
//! it. Its links are a [`Hook`] of its own, which stands first in whatever is to wait.
//!
//! ```text
//!          enter                        enter (same side)
//!   EMPTY ───────▶ ONE(hook, side) ───────────────────────▶ MANY(side) ─┐ push, pop, remove:
//!     ▲ ◀───────                                             │      ▲   │ under the lock
//!     │   take, remove                                       │      └───┘
//!     └──────────────────────────────────────────────────────┘ the last one leaves
//! ```
//!
//! Invariants (with the lock free):
//! 1. MANY exactly if the list is not empty.
//! 2. A hook is in the word, in the list, or in nobody's reach but its owner's.
//! 3. CLOSED excludes ONE and MANY.
//! 4. Hooks leave at the front in the order in which they entered.
//!
//! Progress: lock-free while at most one waits; beyond that a lock is held for a few pointer operations.
//!
//! Orderings: AcqRel on the word: who takes a hook sees all that its owner wrote before entering. Under MANY the lock
//! orders everything.

use std::collections::VecDeque;
use std::ptr::{self, NonNull};

use crate::prim::{AtomicUsize, Mutex, MutexGuard, Ordering, UnsafeCell};
use crate::wait::Side;

const SEND: usize = 0b001;
const MANY: usize = 0b010;
const CLOSED: usize = 0b100;
const HOOK: usize = !0b111;

/// What stands in the queue; the first field of a waiter.
#[derive(Debug)]
#[repr(align(8))]
pub(crate) struct Hook(UnsafeCell<Links>);

#[derive(Debug)]
struct Links {
    prev: Option<NonNull<Hook>>,
    next: Option<NonNull<Hook>>,
    listed: bool,
}

impl Hook {
    pub(crate) fn new() -> Hook {
        Hook(UnsafeCell::new(Links { prev: None, next: None, listed: false }))
    }
}

/// What became of a waiter that entered.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Entered {
    /// It waits.
    Waits,
    /// It does not wait: this one of the other side was first in line.
    Met(NonNull<Hook>),
    /// It does not wait: the queue is closed.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Locked {
    word: AtomicUsize,
    list: Mutex<List>,
}

// SAFETY: hooks are handed from thread to thread, and looked into under the lock only.
unsafe impl Send for Locked {}
// SAFETY: as above.
unsafe impl Sync for Locked {}

impl Locked {
    pub(crate) fn new() -> Locked {
        Locked { word: AtomicUsize::new(0), list: Mutex::new(List { head: None, tail: None }) }
    }

    /// Takes the first waiter of the other side, or joins `to` at the back; one atomic step.
    ///
    /// # Safety
    /// The hook stands in no queue, and lives until it has left this one.
    pub(crate) unsafe fn enter(&self, to: Side, hook: NonNull<Hook>) -> Entered {
        let mut word = self.word.load(Ordering::Acquire);
        let mut list = loop {
            if word & CLOSED != 0 {
                return Entered::Closed;
            }
            let first = one(word);
            let next = match first {
                None if word & MANY == 0 => hook.as_ptr().expose_provenance() | bits(to),
                Some(_) if word & SEND != bits(to) => 0,
                _ => match self.lock_list() {
                    Ok(list) => break list,
                    Err(now) => {
                        word = now;
                        continue;
                    }
                },
            };
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return first.map_or(Entered::Waits, Entered::Met),
                Err(now) => word = now,
            }
        };
        // ORDERING: Relaxed; under MANY the lock orders all changes of the word.
        if self.word.load(Ordering::Relaxed) & SEND == bits(to) {
            // SAFETY: the caller's promise; the lock is held.
            unsafe { list.push_back(hook) };
            return Entered::Waits;
        }
        let first = list.pop_front().expect("under MANY somebody waits");
        self.settle(&list);
        Entered::Met(first)
    }

    /// Takes the first waiter of `from`.
    pub(crate) fn take(&self, from: Side) -> Option<NonNull<Hook>> {
        let mut word = self.word.load(Ordering::Acquire);
        while word & MANY == 0 {
            let first = one(word).filter(|_| word & SEND == bits(from))?;
            match self.word.compare_exchange_weak(word, 0, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Some(first),
                Err(now) => word = now,
            }
        }
        let mut list = self.lock_list().ok()?;
        // ORDERING: Relaxed, as in `enter`.
        if self.word.load(Ordering::Relaxed) & SEND != bits(from) {
            return None;
        }
        let first = list.pop_front();
        self.settle(&list);
        first
    }

    /// Takes a waiter out wherever it stands. True: it is its owner's (the caller's) alone again. False: a peer has
    /// it.
    ///
    /// # Safety
    /// The hook has entered this queue and lives.
    pub(crate) unsafe fn remove(&self, hook: NonNull<Hook>) -> bool {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & MANY == 0 {
                if one(word) != Some(hook) {
                    return false;
                }
                match self.word.compare_exchange_weak(word, 0, Ordering::AcqRel, Ordering::Acquire) {
                    Ok(_) => return true,
                    Err(now) => word = now,
                }
                continue;
            }
            let mut list = self.list.lock();
            word = self.word.load(Ordering::Acquire);
            if word & MANY != 0 {
                // SAFETY: the hook lives, and the lock is held.
                let removed = unsafe { list.remove(hook) };
                self.settle(&list);
                return removed;
            }
        }
    }

    /// Closes the queue and takes everybody out at once, in order. `None`: it was closed already.
    pub(crate) fn close(&self) -> Option<VecDeque<NonNull<Hook>>> {
        let mut list = self.list.lock();
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & CLOSED != 0 {
                return None;
            }
            match self.word.compare_exchange_weak(word, CLOSED, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => word = now,
            }
        }
        let mut all: VecDeque<_> = one(word).into_iter().collect();
        while let Some(first) = list.pop_front() {
            all.push_back(first);
        }
        Some(all)
    }

    /// Locks the list, after turning ONE into MANY. `Err`: nobody is there.
    fn lock_list(&self) -> Result<MutexGuard<'_, List>, usize> {
        let mut list = self.list.lock();
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & MANY != 0 {
                return Ok(list);
            }
            let Some(first) = one(word) else { return Err(word) };
            let next = (word & !HOOK) | MANY;
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: it was taken out of the word, and lives until it leaves; the lock is held.
                    unsafe { list.push_back(first) };
                    return Ok(list);
                }
                Err(now) => word = now,
            }
        }
    }

    /// Brings the word in line with the list; the lock is held and the word says MANY.
    fn settle(&self, list: &List) {
        if list.head.is_none() {
            self.word.store(0, Ordering::Release);
        }
    }

    /// The invariants.
    pub(crate) fn assert_valid(&self) {
        let list = self.list.lock();
        let word = self.word.load(Ordering::Acquire);
        list.assert_valid();
        assert_eq!(word & MANY != 0, list.head.is_some(), "MANY must say whether the list is in use");
        assert!(word & CLOSED == 0 || word == CLOSED, "nobody waits in a closed queue");
    }
}

fn bits(side: Side) -> usize {
    match side {
        Side::Recv => 0,
        Side::Send => SEND,
    }
}

/// The one hook in the word, if it says ONE.
fn one(word: usize) -> Option<NonNull<Hook>> {
    let address = if word & MANY == 0 { word & HOOK } else { 0 };
    NonNull::new(ptr::with_exposed_provenance_mut(address))
}

/// A doubly linked list, guarded by the queue's lock.
#[derive(Debug)]
struct List {
    head: Option<NonNull<Hook>>,
    tail: Option<NonNull<Hook>>,
}

// SAFETY: what it names is looked into under the lock only.
unsafe impl Send for List {}

impl List {
    /// # Safety
    /// The hook stands nowhere, and lives until it has left.
    unsafe fn push_back(&mut self, hook: NonNull<Hook>) {
        // SAFETY: the hook is alive, as is a listed one; the lock is held.
        unsafe {
            links(hook, |links| *links = Links { prev: self.tail, next: None, listed: true });
            match self.tail {
                Some(tail) => links(tail, |links| links.next = Some(hook)),
                None => self.head = Some(hook),
            }
        }
        self.tail = Some(hook);
    }

    fn pop_front(&mut self) -> Option<NonNull<Hook>> {
        let head = self.head?;
        // SAFETY: a listed hook is alive.
        unsafe { self.remove(head) };
        Some(head)
    }

    /// # Safety
    /// The hook is alive.
    unsafe fn remove(&mut self, hook: NonNull<Hook>) -> bool {
        // SAFETY: the hook is alive, as are its neighbours, which are listed; the lock is held.
        unsafe {
            let (prev, next) = links(hook, |links| (links.prev.take(), links.next.take()));
            if !links(hook, |links| std::mem::take(&mut links.listed)) {
                return false;
            }
            match prev {
                Some(prev) => links(prev, |links| links.next = next),
                None => self.head = next,
            }
            match next {
                Some(next) => links(next, |links| links.prev = prev),
                None => self.tail = prev,
            }
        }
        true
    }

    fn assert_valid(&self) {
        let (mut prev, mut next) = (None, self.head);
        while let Some(hook) = next {
            // SAFETY: a listed hook is alive; the lock is held.
            unsafe {
                links(hook, |links| {
                    assert!(links.listed, "a hook in the list must say so");
                    assert_eq!(links.prev, prev, "a hook must point back at its predecessor");
                    (prev, next) = (Some(hook), links.next);
                });
            }
        }
        assert_eq!(self.tail, prev, "the tail must be the last hook");
    }
}

/// # Safety
/// The hook is alive, and the lock of its queue is held.
unsafe fn links<R>(hook: NonNull<Hook>, f: impl FnOnce(&mut Links) -> R) -> R {
    // SAFETY: the caller's promise.
    unsafe { hook.as_ref() }.0.with_mut(|links| f(unsafe { &mut *links }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names<const N: usize>(hooks: &[Hook; N]) -> [NonNull<Hook>; N] {
        hooks.each_ref().map(NonNull::from)
    }

    #[test]
    fn waiters_leave_in_order_wherever_one_is_cancelled() {
        for gone in 0..4 {
            let (queue, hooks) = (Locked::new(), std::array::from_fn::<_, 4, _>(|_| Hook::new()));
            let hooks = names(&hooks);
            for hook in hooks {
                // SAFETY: it stands nowhere, and outlives the queue.
                assert_eq!(unsafe { queue.enter(Side::Recv, hook) }, Entered::Waits);
                queue.assert_valid();
            }
            // SAFETY: it entered, and lives.
            assert!(unsafe { queue.remove(hooks[gone]) });
            // SAFETY: as above.
            assert!(!unsafe { queue.remove(hooks[gone]) });
            queue.assert_valid();
            for hook in hooks.into_iter().enumerate().filter(|(i, _)| *i != gone).map(|(_, hook)| hook) {
                assert_eq!(queue.take(Side::Recv), Some(hook));
                queue.assert_valid();
            }
            assert_eq!(queue.take(Side::Recv), None);
        }
    }

    #[test]
    fn the_sides_meet_and_never_wait_together() {
        let (queue, hooks) = (Locked::new(), std::array::from_fn::<_, 4, _>(|_| Hook::new()));
        let [a, b, c, d] = names(&hooks);
        // SAFETY: each stands nowhere when it enters, and outlives the queue.
        unsafe {
            assert_eq!(queue.enter(Side::Send, a), Entered::Waits);
            assert_eq!(queue.enter(Side::Send, b), Entered::Waits);
            assert_eq!(queue.take(Side::Recv), None);
            assert_eq!(queue.enter(Side::Recv, c), Entered::Met(a));
            assert_eq!(queue.enter(Side::Recv, c), Entered::Met(b));
            assert_eq!(queue.enter(Side::Recv, c), Entered::Waits);
            assert_eq!(queue.enter(Side::Send, d), Entered::Met(c));
        }
        queue.assert_valid();
    }

    #[test]
    fn closing_takes_everybody_out_in_order() {
        for waiters in 0..4 {
            let (queue, hooks) = (Locked::new(), std::array::from_fn::<_, 4, _>(|_| Hook::new()));
            let hooks = names(&hooks);
            for hook in &hooks[..waiters] {
                // SAFETY: it stands nowhere, and outlives the queue.
                assert_eq!(unsafe { queue.enter(Side::Send, *hook) }, Entered::Waits);
            }
            assert!(queue.close().expect("it was open").iter().eq(&hooks[..waiters]));
            assert_eq!(queue.close(), None);
            // SAFETY: as above.
            assert_eq!(unsafe { queue.enter(Side::Send, hooks[3]) }, Entered::Closed);
            queue.assert_valid();
        }
    }
}
