//! A worker's queue that others may steal from: a ring, first in, first out, and a slot in front of it.
//!
//! ```text
//!           head ──▶ [a][b][c][ ]… ◀── tail        slot: the one to run next, or none
//!   all: advance by exchange            owner: store, then advance by a store
//! ```
//!
//! The *owner* alone puts entries in, and has no locked instruction for it; the owner and *thieves* take them out. A thief has
//! a ring of its own, which is empty, or takes just one.
//!
//! Invariants:
//!
//! 1. `tail` is written by the owner alone. `head` only grows, by compare-exchanges, each of which takes the entries that
//!    it passes over. Both count entries since the start in 64 bits: neither ever comes again.
//! 2. `tail - head` is at most the length, so a cell is written again only after `head` has passed it; who has read it
//!    before and then moves `head` finds that it has moved, and reads anew.
//! 3. The slot: the owner may store into it while it is empty, since nobody else puts anything in; whoever else finds
//!    something there takes it by an exchange.
//!
//! ORDERING: the owner's store of `tail`, and into the slot, releases the entry and all that it stands for (an owned fiber:
//! `state.rs`, invariant 2); who takes it acquires it. Moving `head` releases the cells that were read, and the owner acquires
//! `head` before it writes them again.
//!
//! Progress: the owner's push is wait-free; taking and stealing are lock-free (a failed exchange means that
//! another one took something).
//!
//! Locked instructions: push 0 (into a full slot 1), pop 1, steal 1 for half of what there is.
//!
//! Source: the ring with stealing by halves is Go's `runqgrab`, as in tokio's `queue.rs`.

use std::marker::PhantomData;
use std::ptr::{self, NonNull};

use crossbeam_utils::CachePadded;

use crate::prim::{AtomicPtr, AtomicU64, Ordering, RUN_SLOTS};

/// What stands in queues: something of one pointer.
pub(crate) trait Entry: Sized + Send {
    fn into_raw(self) -> NonNull<()>;

    /// # Safety
    ///
    /// The pointer is from `into_raw`, and not used again.
    unsafe fn from_raw(raw: NonNull<()>) -> Self;

    /// The only worker takes it from what was injected. False: there is another one of the same, or no need: drops this, which is
    /// under a lock, and calls nothing foreign.
    fn arrives(&self) -> bool {
        true
    }

    /// The only worker queues it behind what was injected, which `arrive` has arrive. False: so one of the same has; drops this.
    fn goes_behind(&self, arrive: impl FnOnce()) -> bool {
        arrive();
        true
    }
}

/// See the module.
pub(crate) struct Ring<T> {
    head: CachePadded<AtomicU64>,
    tail: CachePadded<AtomicU64>,
    slot: AtomicPtr<()>,
    cells: Box<[AtomicPtr<()>]>,
    _entries: PhantomData<T>,
}

/// # Safety
///
/// `raw` was taken out of a cell or the slot by the one who may.
unsafe fn entry<T: Entry>(raw: *mut ()) -> T {
    // SAFETY: only pointers of entries are put in; taken once by contract.
    unsafe { T::from_raw(NonNull::new_unchecked(raw)) }
}

impl<T: Entry> Ring<T> {
    /// Of `RUN_SLOTS` entries, or of none, for who has no thieves: then it is never pushed to.
    pub(crate) fn new(len: usize) -> Self {
        Ring {
            head: CachePadded::new(AtomicU64::new(0)),
            tail: CachePadded::new(AtomicU64::new(0)),
            slot: AtomicPtr::new(ptr::null_mut()),
            cells: (0..len).map(|_| AtomicPtr::new(ptr::null_mut())).collect(),
            _entries: PhantomData,
        }
    }

    fn cell(&self, at: u64) -> &AtomicPtr<()> {
        &self.cells[at as usize % RUN_SLOTS]
    }

    /// How many stand in the ring, the slot apart: as it was at some moment.
    pub(crate) fn len(&self) -> usize {
        // ORDERING: Acquire on `head` first, so that `tail` is not an older one than it.
        let head = self.head.load(Ordering::Acquire);
        self.tail.load(Ordering::Acquire).saturating_sub(head) as usize
    }

    /// How many have been taken out of the ring so far.
    pub(crate) fn head(&self) -> u64 {
        self.head.load(Ordering::Acquire)
    }

    /// How many have been put into it.
    pub(crate) fn tail(&self) -> u64 {
        self.tail.load(Ordering::Acquire)
    }

    /// Whether somebody stands in the ring, or in the slot.
    pub(crate) fn keeps_waiting(&self) -> bool {
        self.len() > 0 || !self.slot.load(Ordering::Relaxed).is_null()
    }

    /// Owner: puts one at the back.
    ///
    /// # Errors
    ///
    /// The ring is full: gives it back.
    #[inline]
    pub(crate) fn push(&self, task: T) -> Result<(), T> {
        // ORDERING: Relaxed: our own. Acquire: see the header.
        let tail = self.tail.load(Ordering::Relaxed);
        let head = self.head.load(Ordering::Acquire);
        if tail - head >= RUN_SLOTS as u64 {
            return Err(task);
        }
        self.cell(tail).store(task.into_raw().as_ptr(), Ordering::Relaxed);
        self.tail.store(tail + 1, order!(Release, "ring_push_relaxed"));
        Ok(())
    }

    /// Takes the oldest; for the owner, and for thieves.
    #[inline]
    pub(crate) fn pop(&self) -> Option<T> {
        let mut head = self.head.load(Ordering::Acquire);
        while self.tail.load(Ordering::Acquire) > head {
            let raw = self.cell(head).load(Ordering::Relaxed);
            if bug!("ring_pop_stores") {
                self.head.store(head + 1, Ordering::Release);
            } else if let Err(now) =
                self.head.compare_exchange(head, head + 1, Ordering::AcqRel, Ordering::Acquire)
            {
                head = now;
                continue;
            }
            // SAFETY: the exchange took it.
            return Some(unsafe { entry(raw) });
        }
        None
    }

    /// Owner: takes the older half of a full ring, oldest first. Empty: it is no longer full.
    #[cold]
    pub(crate) fn take_half(&self) -> Vec<T> {
        let half = RUN_SLOTS / 2;
        let head = self.head.load(Ordering::Acquire);
        if self.tail.load(Ordering::Relaxed) - head < RUN_SLOTS as u64 {
            return Vec::new();
        }
        let raw: Vec<_> = (0..half as u64).map(|i| self.cell(head + i).load(Ordering::Relaxed)).collect();
        match self.head.compare_exchange(head, head + half as u64, Ordering::AcqRel, Ordering::Relaxed) {
            // SAFETY: the exchange took them.
            Ok(_) => raw.into_iter().map(|raw| unsafe { entry(raw) }).collect(),
            Err(_) => Vec::new(),
        }
    }

    /// Thief: takes the older half into its own ring, which is empty, but for one, which it gives. A lone one stays, unless
    /// `lone` says otherwise.
    pub(crate) fn steal_into(&self, mine: &Ring<T>, lone: bool) -> Option<T> {
        let tail = mine.tail.load(Ordering::Relaxed);
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let there = self.tail.load(Ordering::Acquire).saturating_sub(head);
            let take = if lone { there.div_ceil(2) } else { there / 2 };
            if take == 0 {
                return None;
            }
            // More than a half of the ring: `head` is old by now, and the exchange fails.
            for i in 0..take.min(RUN_SLOTS as u64 / 2) {
                let raw = self.cell(head + i).load(Ordering::Relaxed);
                mine.cell(tail + i).store(raw, Ordering::Relaxed);
            }
            match self.head.compare_exchange(head, head + take, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => {
                    let last = mine.cell(tail + take - 1).load(Ordering::Relaxed);
                    if take > 1 {
                        mine.tail.store(tail + take - 1, order!(Release, "ring_push_relaxed"));
                    }
                    // SAFETY: the exchange took them; this one was not published in the own ring.
                    return Some(unsafe { entry(last) });
                }
                Err(now) => head = now,
            }
        }
    }

    /// Thief: takes the oldest, or who stands in the slot.
    pub(crate) fn steal_one(&self) -> Option<T> {
        let oldest = self.pop();
        if oldest.is_some() {
            return oldest;
        }
        // Only what was seen is taken: null over null could hide a store of the owner's.
        let raw = self.slot.load(Ordering::Relaxed);
        if raw.is_null() {
            return None;
        }
        self.slot
            .compare_exchange(raw, ptr::null_mut(), Ordering::Acquire, Ordering::Relaxed)
            .ok()
            // SAFETY: the exchange took it.
            .map(|raw| unsafe { entry(raw) })
    }

    /// Owner: puts one into the slot; gives who stood there.
    #[inline]
    pub(crate) fn put_next(&self, task: T) -> Option<T> {
        let raw = task.into_raw().as_ptr();
        if self.slot.load(Ordering::Relaxed).is_null() {
            self.slot.store(raw, order!(Release, "slot_put_relaxed"));
            return None;
        }
        let before = self.slot.swap(raw, Ordering::AcqRel);
        // SAFETY: the exchange took it.
        (!before.is_null()).then(|| unsafe { entry(before) })
    }

    /// Owner: takes who stands in the slot.
    #[inline]
    pub(crate) fn take_next(&self) -> Option<T> {
        if self.slot.load(Ordering::Relaxed).is_null() {
            return None;
        }
        let raw = self.slot.swap(ptr::null_mut(), Ordering::AcqRel);
        // SAFETY: the exchange took it.
        (!raw.is_null()).then(|| unsafe { entry(raw) })
    }
}

/// What tests and models put into queues for a fiber: a number, not zero.
#[cfg(any(test, leno_loom, leno_shuttle))]
pub(super) struct Number(pub(super) usize);

#[cfg(any(test, leno_loom, leno_shuttle))]
impl Entry for Number {
    fn into_raw(self) -> NonNull<()> {
        NonNull::new(ptr::without_provenance_mut(self.0)).expect("not zero")
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        Number(raw.as_ptr().addr())
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;

    #[test]
    fn first_in_first_out_until_it_is_full() {
        let ring = Ring::new(RUN_SLOTS);
        for round in 0..3 {
            for i in 1..=RUN_SLOTS {
                assert!(ring.push(Number(round * 1000 + i)).is_ok());
            }
            assert!(ring.push(Number(9999)).is_err());
            let older: Vec<_> = ring.take_half().into_iter().map(|number| number.0).collect();
            assert_eq!(older, (1..=RUN_SLOTS / 2).map(|i| round * 1000 + i).collect::<Vec<_>>());
            assert!(ring.take_half().is_empty());
            for i in RUN_SLOTS / 2 + 1..=RUN_SLOTS {
                assert_eq!(ring.pop().map(|number| number.0), Some(round * 1000 + i));
            }
            assert!(ring.pop().is_none());
        }
    }

    #[test]
    fn a_thief_takes_the_older_half() {
        let (ring, mine) = (Ring::new(RUN_SLOTS), Ring::new(RUN_SLOTS));
        (1..=5).for_each(|i| assert!(ring.push(Number(i)).is_ok()));
        assert_eq!(ring.steal_into(&mine, false).map(|number| number.0), Some(2));
        assert_eq!(mine.pop().map(|number| number.0), Some(1));
        assert_eq!((ring.len(), mine.len()), (3, 0));
        assert_eq!(ring.steal_into(&mine, false).map(|number| number.0), Some(3));
        assert!(ring.put_next(Number(8)).is_none());
        assert_eq!(ring.put_next(Number(9)).map(|number| number.0), Some(8));
        assert_eq!(ring.steal_into(&mine, false).map(|number| number.0), Some(4));
        assert!(ring.steal_into(&mine, false).is_none(), "a lone one stays");
        assert_eq!(ring.steal_one().map(|number| number.0), Some(5));
        assert_eq!(ring.steal_one().map(|number| number.0), Some(9));
        assert!(ring.steal_one().is_none());
        assert!(ring.take_next().is_none());
    }
}
