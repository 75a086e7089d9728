//! The roster of an executor: the tree of its living fibers, which is their registry as well.
//!
//! The links are in the headers, so that a fiber costs no allocation here, and no table. Each fiber stands in one list:
//! that of its parent's children, or that of the roots of a *shard*. A shard has a lock, which guards its list of roots and any
//! number of lists of children.
//!
//! ```text
//!   shard 0: lock, count, roots ──▶ p ⇄ r                 the youngest first; `prev` of the first child is the
//!                                   │ first_child         parent, of the first root nothing
//!   shard 1: lock, count, roots     ▼
//!              (guards this list:)  c3 ⇄ c2 ⇄ c1          p.own = 0, p.below = 1, c1.own = 1
//! ```
//!
//! What a fiber's links are guarded by:
//!
//! | link | read and written | |
//! |---|---|---|
//! | `shards.own` | written before the fiber is listed, constant from then on | whose lock guards its siblings |
//! | `siblings` | under the lock of `shards.own` | |
//! | `shards.below` | written by the fiber's owner under the lock of `shards.own`; read by the owner, or under that lock | whose lock guards its children: `NONE` before the first child, `GONE` once it has released them |
//! | `first_child` | under the lock of `below`; but the owner may look, without any lock, whether there is a child | |
//!
//! Invariants:
//!
//! 1. A listed fiber is reached from the roots of some shard, is counted in its own shard, and the roster owns one count of it.
//! 2. A child's parent is listed: a fiber that ends first makes its children roots of the shard that guards them, so that
//!    `own` stays as it is, then takes itself out. Hence a fiber's neighbours in its list, and a parent that has a
//!    child, are alive under the lock of that list.
//! 3. Only its owner (`state.rs`, invariant 2) gives a fiber children, and retires it; so if the owner finds no child, there
//!    is none and none comes.
//! 4. A cancel marks a fiber, then reads its `below` in a critical section of the fiber's shard, and marks the children in a
//!    critical section of theirs (where it reads their `below`); `admit` looks at the parent's mark after it has linked the child;
//!    a fiber that ends sets `GONE` and looks at its own mark in one critical section, and if it is marked then, sees to its
//!    children. So a cancel either comes before the end of a fiber, and reaches all children it had, or after it, and reaches none.
//! 5. Whoever marks a fiber sees to all below it, so a fiber found marked needs nothing more. (Those seized at the end of
//!    their executor are marked one by one: all of them end.)
//! 6. A closed shard only shrinks.
//!
//! Locks: one at a time, and nobody waits for anything else under one. Only a [`freeze`](Roster::freeze) takes those of all shards,
//! in their order. So nobody waits in a circle. Foreign code (drops, wakers) never runs under a lock; cancelling collects what has
//! to be scheduled. All walks are loops with a stack of their own, so that a chain of a million children overflows nothing.
//!
//! Which shard: each worker has one (with more than 128 of them some share one), for the roots and the first children that it
//! admits, so that workers contend for a lock only where a fiber ends on another worker than it was made on. Other threads choose
//! among further shards at random. A cord has one for all.
//!
//! ORDERING: everything is under locks but for `first_child`, whose store in `unlink` releases and whose load in `retire`
//! acquires: the last child is done with its parent, which may be freed then.
//!
//! Cost: `admit` and `retire` take one locked instruction each (a first child one more; children that outlive their parent one
//! more, and one for every `BATCH` of them). A cancel takes time for what is below. `find` and `snapshot` walk through all
//! fibers, under all locks: meanwhile none is spawned and none ends. `len` takes each lock once.

use std::mem::ManuallyDrop;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use crossbeam_utils::CachePadded;

use crate::prim::{MODEL, Mutex, Ordering, random_below};
use crate::task::header::{FiberId, Header, Task};
use crate::task::here;
use crate::task::links::{self, GONE, NONE, Siblings};
use crate::task::lock::{Held, Lock};

type Link = links::Link<Header>;

/// So many shards at most for workers, and as many for other threads.
const MOST: usize = 128;
/// So many children become roots in one critical section.
const BATCH: usize = if MODEL { 1 } else { 64 };

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
    /// First those of the workers, then those of other threads. A power of two of each.
    shards: Box<[CachePadded<Lock<Shard>>]>,
    of_workers: usize,
    /// Whoever waits until nobody is left puts its waker here, then looks; whoever may be the last takes it.
    waiter: Mutex<Option<Waker>>,
}

#[derive(Default)]
struct Shard {
    roots: Link,
    /// The fibers in lists of this shard.
    len: usize,
    /// Those of them that are no daemons.
    awaited: usize,
    closed: bool,
}

// SAFETY: the pointers are counted (invariant 1) and headers may be reached from any thread.
unsafe impl Send for Shard {}

impl Roster {
    /// For so many workers. `local`: only their thread uses it much.
    pub(crate) fn new(workers: usize, local: bool) -> Self {
        let of_workers = workers.clamp(1, MOST).next_power_of_two();
        let shards = if local { of_workers } else { 2 * of_workers };
        Roster {
            shards: (0..shards).map(|_| CachePadded::new(Lock::new(Shard::default()))).collect(),
            of_workers,
            waiter: Mutex::new(None),
        }
    }

    /// The shard for what this thread lists: its own, if it is a worker.
    #[inline]
    fn here(&self, task: &Task) -> u16 {
        let others = self.shards.len() - self.of_workers;
        let at = match here::worker_number(task.home.as_ptr()) {
            Some(number) => number & (self.of_workers - 1),
            None if others == 0 => 0,
            None => self.of_workers + random_below(others),
        };
        at as u16
    }

    #[inline]
    fn lock(&self, shard: u16) -> Held<'_, Shard> {
        self.shards[shard as usize].lock()
    }

    /// Lists `task`, below `parent` where there is one; `Listed` takes one count of the caller's.
    ///
    /// The parent is running on this thread, and so listed; if it has been retired before, then it is none.
    pub(crate) fn admit(&self, task: &Task, parent: Option<&Task>, awaited: bool) -> Admission {
        let parent = parent.filter(|parent| parent.shards.own() != NONE && parent.shards.below() != GONE);
        let marked_before =
            bug!("roster_admit_looks_early") && parent.is_some_and(|parent| parent.state.is_cancelled());
        let shard = match parent.map(|parent| (parent, parent.shards.below())) {
            None => self.here(task),
            Some((parent, NONE)) => self.found(parent),
            Some((_, below)) => below,
        };
        let closed_before = bug!("roster_closed_unlocked") && self.lock(shard).with(|shard| shard.closed);
        let awaited = usize::from(awaited);
        // Nobody else has the fiber so far.
        task.shards.own.store(shard, Ordering::Relaxed);
        let listed = self.lock(shard).with(|shard| {
            let closed = if bug!("roster_closed_unlocked") { closed_before } else { shard.closed };
            if closed {
                return false;
            }
            shard.len += 1;
            shard.awaited += awaited;
            shard.push(task.as_raw(), parent.map(Task::as_raw));
            true
        });
        if !listed {
            task.shards.own.store(NONE, Ordering::Relaxed);
            return Admission::Closed;
        }
        let marked = |parent: &Task| {
            if bug!("roster_admit_looks_early") { marked_before } else { parent.state.is_cancelled() }
        };
        if parent.is_some_and(marked) {
            // Invariant 4: the cancel may have been through already.
            self.cancel(task).into_iter().for_each(Task::schedule);
        }
        Admission::Listed
    }

    /// Chooses the shard for the children of a fiber that has had none.
    fn found(&self, parent: &Task) -> u16 {
        let below = self.here(parent);
        if bug!("roster_first_child_unlocked") {
            parent.shards.set_below(below);
        } else {
            self.lock(parent.shards.own()).with(|_| parent.shards.set_below(below));
        }
        below
    }

    /// Takes an ended fiber out; true: the roster's count is the caller's now (false: it was never listed). Its children become
    /// nobody's, and are cancelled if it is.
    #[must_use]
    pub(crate) fn retire(&self, task: &Task, awaited: bool) -> bool {
        let shard = task.shards.own();
        if shard == NONE {
            return false;
        }
        let awaited = usize::from(awaited);
        let unlink = |shard: &mut Shard| {
            task.shards.set_below(GONE);
            shard.unlink(task.as_raw());
            shard.len -= 1;
            shard.awaited -= awaited;
            shard.awaited == 0 && shard.closed
        };
        let below = task.shards.below();
        // ORDERING: Acquire pairs with `unlink` of the last child.
        let childless = task.links.first_child.load(Ordering::Acquire).is_null();
        let early = bug!("roster_self_first").then(|| self.lock(shard).with(unlink));
        if !childless {
            self.release(task, below);
        }
        if early.unwrap_or_else(|| self.lock(shard).with(unlink)) {
            let waiter = self.waiter.lock().take();
            if let Some(waiter) = waiter {
                waiter.wake();
            }
        }
        true
    }

    /// The end of a parent for its children.
    #[cold]
    fn release(&self, task: &Task, below: u16) {
        let marked_before = task.state.is_cancelled();
        let marked = self.lock(task.shards.own()).with(|_| {
            task.shards.set_below(GONE);
            if bug!("roster_retire_looks_early") { marked_before } else { task.state.is_cancelled() }
        });
        if marked && !bug!("roster_retire_ignores_cancel") {
            let mut ready = Vec::new();
            self.cancel_below(vec![(task.clone(), below)], &mut ready);
            ready.into_iter().for_each(Task::schedule);
        }
        let batch = |shard: &mut Shard| {
            (0..BATCH).all(|_| match first_child(task.as_raw()) {
                None => false,
                Some(child) => {
                    shard.unlink(child);
                    shard.push(child, None);
                    true
                }
            })
        };
        while self.lock(below).with(batch) {}
    }

    /// Cancels `task` and all below it; gives back those to be scheduled for it.
    #[must_use]
    pub(crate) fn cancel(&self, task: &Task) -> Vec<Task> {
        let mut ready = Vec::new();
        let seen_early = bug!("roster_early_cancel_stays") && task.shards.own() == NONE;
        if !task.mark_cancelled(&mut ready) {
            return ready;
        }
        // Only now: a member of a group may have been listed meanwhile, and have a shield, whose end may wait for those below.
        let own = task.shards.own();
        if own == NONE || seen_early {
            // Refused at birth, with nothing below it; or about to be listed, and without a shield then: its end sees the mark.
            return ready;
        }
        let below = self.lock(own).with(|_| task.shards.below());
        if below < GONE {
            self.cancel_below(vec![(task.clone(), below)], &mut ready);
        }
        ready
    }

    /// Marks all below these fibers, given with the shards of their children.
    fn cancel_below(&self, mut rest: Vec<(Task, u16)>, ready: &mut Vec<Task>) {
        while let Some((parent, below)) = rest.pop() {
            let first = ready.len();
            self.lock(below).with(|_| {
                for child in list(first_child(parent.as_raw())) {
                    let child = borrow(child);
                    // Spares the transition where a child is marked already: a parent that ends by a cancel has such children.
                    let marked = !child.state.is_cancelled() && child.mark_cancelled(ready);
                    if marked && child.shards.below() < GONE {
                        // It may end before its turn comes.
                        let kept = Task::clone(&child);
                        if bug!("roster_cancel_keeps_nobody") {
                            let _ = kept.state.release();
                        }
                        rest.push((kept, child.shards.below()));
                    }
                }
            });
            // The eldest first.
            ready[first..].reverse();
            if bug!("roster_cancel_keeps_nobody") {
                std::mem::forget(parent);
            }
        }
    }

    /// The living fiber with that id. Takes time for all fibers, during which none is listed or retired.
    pub(crate) fn find(&self, id: FiberId) -> Option<Task> {
        self.walk(|task| (task.id == id).then(|| task.clone()))
    }

    /// Calls `f` with all living fibers, until it gives something. All locks are held meanwhile.
    fn walk<R>(&self, mut f: impl FnMut(&Task) -> Option<R>) -> Option<R> {
        let mut frozen = self.freeze();
        let mut lists = frozen.roots();
        while let Some(first) = lists.pop() {
            for fiber in list(Some(first)) {
                let given = f(&borrow(fiber));
                if given.is_some() {
                    return given;
                }
                lists.extend(first_child(fiber));
            }
        }
        None
    }

    /// How many live. While fibers are being listed or retired, any number in between.
    pub(crate) fn len(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().with(|shard| shard.len)).sum()
    }

    fn awaited(&self) -> usize {
        self.shards.iter().map(|shard| shard.lock().with(|shard| shard.awaited)).sum()
    }

    /// Admits nobody from now on.
    pub(crate) fn close(&self) {
        for shard in &self.shards {
            shard.lock().with(|shard| shard.closed = true);
        }
    }

    /// Ready once nobody but daemons is left. The roster is closed; one task waits for that.
    pub(crate) fn poll_empty(&self, cx: &mut Context<'_>) -> Poll<()> {
        let early = bug!("roster_looks_early").then(|| self.awaited());
        let waker = cx.waker().clone();
        let _before = self.waiter.lock().replace(waker);
        // No shard grows again (invariant 6), so each may be looked at in its turn.
        if early.unwrap_or_else(|| self.awaited()) == 0 { Poll::Ready(()) } else { Poll::Pending }
    }

    /// All living fibers, oldest first. Takes time for all of them, during which none is listed or retired.
    pub(crate) fn snapshot(&self) -> Vec<Task> {
        // (Room for all, as far as can be told, before the locks are held.)
        let mut all = Vec::with_capacity(self.len());
        self.walk(|task| {
            all.push(task.clone());
            None::<()>
        });
        all.sort_unstable_by_key(|task| task.id);
        all
    }

    /// Takes all locks: the tree stands still.
    fn freeze(&self) -> Frozen<'_> {
        self.shards.iter().for_each(|shard| shard.give_way());
        Frozen(self.shards.iter().map(|shard| shard.lock()).collect())
    }

    #[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
    pub(crate) fn assert_valid(&self) {
        self.freeze().assert_valid();
    }
}

/// All locks of a roster.
struct Frozen<'a>(Vec<Held<'a, Shard>>);

impl Frozen<'_> {
    /// The first root of each shard that has one.
    fn roots(&mut self) -> Vec<NonNull<Header>> {
        let roots = self.0.iter_mut().filter_map(|shard| shard.with(|shard| shard.roots)).collect();
        if bug!("roster_thaws_early") {
            self.0.clear();
        }
        roots
    }

    /// Invariants 1 and 2.
    #[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
    fn assert_valid(&mut self) {
        let mut seen = vec![0; self.0.len()];
        let mut lists: Vec<_> =
            (0..).zip(&mut self.0).map(|(at, shard)| (at, None, shard.with(|s| s.roots))).collect();
        while let Some((shard, parent, first)) = lists.pop() {
            let mut prev = parent;
            for fiber in list(first) {
                let task = borrow(fiber);
                assert_eq!(task.shards.own(), shard, "a list is of one shard");
                assert_eq!(siblings(fiber, |siblings| siblings.prev), prev);
                assert!(!task.state.is_complete(), "a listed fiber lives");
                let below = task.shards.below();
                assert!(below < GONE || first_child(fiber).is_none(), "children have a shard");
                lists.push((below, Some(fiber), first_child(fiber)));
                seen[shard as usize] += 1;
                prev = Some(fiber);
            }
        }
        let counted: Vec<_> = self.0.iter_mut().map(|shard| shard.with(|shard| shard.len)).collect();
        assert_eq!(seen, counted);
    }
}

impl Shard {
    /// Puts a fiber in front of a list of this shard: the children of `parent`, or the roots.
    fn push(&mut self, fiber: NonNull<Header>, parent: Link) {
        let next = match parent {
            None => self.roots.replace(fiber),
            Some(parent) => {
                let elder = first_child(parent);
                set_first_child(parent, Some(fiber));
                elder
            }
        };
        siblings(fiber, |siblings| *siblings = Siblings { prev: parent, next });
        if let Some(next) = next {
            siblings(next, |siblings| siblings.prev = Some(fiber));
        }
    }

    /// Takes a fiber out of its list, which is of this shard.
    fn unlink(&mut self, fiber: NonNull<Header>) {
        let Siblings { prev, next } = siblings(fiber, std::mem::take);
        if let Some(next) = next {
            siblings(next, |siblings| siblings.prev = prev);
        }
        match prev {
            None => self.roots = next,
            // A parent: with its last child it may go at once.
            Some(parent) if first_child(parent) == Some(fiber) => set_first_child(parent, next),
            Some(younger) => siblings(younger, |siblings| siblings.next = next),
        }
    }
}

/// The fibers of a list from `first` on. Under the lock of its shard.
fn list(first: Link) -> impl Iterator<Item = NonNull<Header>> {
    std::iter::successors(first, |&fiber| siblings(fiber, |siblings| siblings.next))
}

/// Opens a fiber's links. Under the lock of its shard; a fiber that is about to be listed is its owner's.
fn siblings<R>(fiber: NonNull<Header>, f: impl FnOnce(&mut Siblings<Header>) -> R) -> R {
    // SAFETY: alive by invariant 2, or by the caller's count.
    let header = unsafe { fiber.as_ref() };
    header.life.touch();
    // SAFETY: the lock makes the access exclusive.
    header.links.siblings.with_mut(|siblings| f(unsafe { &mut *siblings }))
}

/// Under the lock of the shard of the children. (Or under the lock of a neighbour that asks whether this is its parent: it can be
/// so only if that lock is the children's; otherwise what it reads is somebody else's child.)
fn first_child(parent: NonNull<Header>) -> Link {
    // SAFETY: alive by invariant 2, or by the caller's count.
    let header = unsafe { parent.as_ref() };
    header.life.touch();
    // ORDERING: Relaxed: under the lock.
    NonNull::new(header.links.first_child.load(Ordering::Relaxed))
}

/// Under the lock of the shard of the children.
fn set_first_child(parent: NonNull<Header>, child: Link) {
    let child = child.map_or(ptr::null_mut(), NonNull::as_ptr);
    // SAFETY: alive by invariant 2.
    let header = unsafe { parent.as_ref() };
    header.life.touch();
    // ORDERING: pairs with `retire`, if this was the last child: it is the last touch of the parent.
    header.links.first_child.store(child, Ordering::Release);
}

/// A listed fiber, for as long as the lock of its shard is held.
fn borrow(fiber: NonNull<Header>) -> ManuallyDrop<Task> {
    // SAFETY: alive by the roster's count, which stays where it is.
    ManuallyDrop::new(unsafe { Task::from_raw(fiber) })
}
