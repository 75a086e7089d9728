//! Cells claimed by fetch-and-add, in the manner of CQS (N. Koval, D. Khanchandani, D. Alistarh, "CQS: A
//! Formally-Verified Framework for Fair and Abortable Synchronization", PLDI 2023), written anew.
//!
//! ```text
//!            first                                     last
//!              ▼                                        ▼
//!      ┌───────────────┐      ┌───────────────┐      ┌───────────────┐
//!      │ segment 3     │ ◀──▶ │ segment 5     │ ◀──▶ │ segment 6     │      segment 4 is gone: all its cells
//!      │ cells 96..128 │      │ cells 160..   │      │ cells 192..   │      were cancelled
//!      └──────▲────────┘      └───────────────┘      └──────▲────────┘
//!           take: the next cell is 117                    enter: the next cell is 203
//! ```
//!
//! Entering and taking each claim a cell by a fetch-and-add of a counter; each cell sees one of either.
//!
//! | cell | set by | means |
//! |---|---|---|
//! | `EMPTY` | | claimed by nobody, or by one that has not written yet |
//! | a node | its owner | the node waits here, if its word says so |
//! | `BROKEN` | a taker that came too early | the owner tries the next cell |
//! | `CANCELLED` | its owner | nobody waits here any more |
//!
//! A waiter's word says in which cell it waits (`cell << 1 | 1`), or 0. Moving it to 0 decides who *ends* the cell: a
//! taker that claims the waiter, or the owner that cancels it. Since a cell's number never comes back, a taker that
//! is late cannot claim a waiter that has entered again elsewhere.
//!
//! 1. Each cell ends once: by being taken, broken or cancelled. A segment counts its ended cells, and a successor;
//!    whoever completes the count takes the segment out.
//! 2. So a segment with a cell that has not ended is linked, and alive: an owner that has moved its waiter's word
//!    needs no pin.
//! 3. Links and ends change under a lock, once in 32 cells; a segment that was taken out keeps its links. Who reads
//!    them has pinned first, and so reaches only segments that were linked at some time since: those are freed
//!    after the pin.
//!
//! Progress: lock-free but for the lock, for which a thread may wait once in 32 cells. (CQS links its segments without
//! one; at this rate that makes no difference to measure.) A cell that is broken costs its owner its turn.
//!
//! Orderings: a node is published by the compare-exchange of its cell, Release, and read with Acquire. The word's
//! compare-exchange is AcqRel. `ended` is AcqRel: who completes it sees all that was done in the segment.

use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

use crossbeam_epoch::{self as epoch, Atomic, Guard, Owned as OwnedSegment, Shared};
use crossbeam_utils::CachePadded;

use super::{Node, Owned, Rival};

/// Cells of a segment.
const CELLS: usize = 32;

/// How often a taker looks at an empty cell before it breaks it.
const LOOKS: usize = 64;

/// A waiter's word: the cell in which it waits, or 0.
pub(crate) struct Word(AtomicUsize);

type Cell = AtomicPtr<Node<Word>>;

/// What a cell without a node says: addresses that no node has.
const EMPTY: *mut Node<Word> = ptr::null_mut();
const BROKEN: *mut Node<Word> = ptr::without_provenance_mut(1);
const CANCELLED: *mut Node<Word> = ptr::without_provenance_mut(2);

struct Segment {
    id: usize,
    cells: [Cell; CELLS],
    ended: AtomicUsize,
    next: Atomic<Segment>,
    prev: Atomic<Segment>,
}

impl Segment {
    fn new(id: usize) -> Segment {
        Segment {
            id,
            cells: [const { AtomicPtr::new(EMPTY) }; CELLS],
            ended: AtomicUsize::new(0),
            next: Atomic::null(),
            prev: Atomic::null(),
        }
    }
}

pub(crate) struct Segments {
    entered: CachePadded<AtomicUsize>,
    taken: CachePadded<AtomicUsize>,
    first: CachePadded<Atomic<Segment>>,
    last: CachePadded<Atomic<Segment>>,
    /// Held to change links and ends.
    linking: Mutex<()>,
}

/// A waiter, and where it entered last.
pub(crate) struct Seated {
    node: Owned<Word>,
    segment: *const Segment,
    cell: usize,
}

// SAFETY: a unique right to the node; the segment is looked at by the rules above.
unsafe impl Send for Seated {}

impl Segments {
    /// The segment `id`, or the first after it if it is gone; appends what is missing. `start` is not after it.
    fn find<'g>(&self, start: Shared<'g, Segment>, id: usize, guard: &'g Guard) -> &'g Segment {
        let mut at = start;
        loop {
            // SAFETY: reached under the pin (invariant 3); never null.
            let segment = unsafe { at.deref() };
            if segment.id >= id {
                return segment;
            }
            // ORDERING: Acquire pairs with the Release in `append`.
            let next = segment.next.load(Ordering::Acquire, guard);
            at = if next.is_null() { self.append(at, guard) } else { next };
        }
    }

    /// The successor of `last`, which had none.
    #[cold]
    fn append<'g>(&self, last: Shared<'g, Segment>, guard: &'g Guard) -> Shared<'g, Segment> {
        // SAFETY: as in `find`.
        let segment = unsafe { last.deref() };
        let linking = self.linking.lock().expect("nothing panics under the lock");
        let next = segment.next.load(Ordering::Acquire, guard);
        if !next.is_null() {
            return next;
        }
        let next = OwnedSegment::new(Segment::new(segment.id + 1)).into_shared(guard);
        // SAFETY: made just now.
        unsafe { next.deref() }.prev.store(last, Ordering::Release);
        segment.next.store(next, Ordering::Release);
        self.last.store(next, Ordering::Release);
        drop(linking);
        // SAFETY: this counts the successor, once.
        unsafe { self.count(segment) };
        next
    }

    /// Counts an ended cell, or the successor, of a segment that waits for this count.
    ///
    /// # Safety
    /// The count is not complete without this one.
    unsafe fn count(&self, segment: *const Segment) {
        // SAFETY: so it is linked, and alive (invariant 2).
        let before = unsafe { (*segment).ended.fetch_add(1, Ordering::AcqRel) };
        if before == CELLS {
            // The count is complete: nobody else takes it out.
            self.take_out(segment);
        }
    }

    #[cold]
    fn take_out(&self, segment: *const Segment) {
        let guard = &epoch::pin();
        let _linking = self.linking.lock().expect("nothing panics under the lock");
        let gone = Shared::from(segment);
        // SAFETY: the segment is linked until it is taken out here, and so are its neighbours.
        unsafe {
            let prev = gone.deref().prev.load(Ordering::Relaxed, guard);
            let next = gone.deref().next.load(Ordering::Relaxed, guard);
            next.deref().prev.store(prev, Ordering::Release);
            match prev.as_ref() {
                Some(prev) => prev.next.store(next, Ordering::Release),
                None => self.first.store(next, Ordering::Release),
            }
            guard.defer_destroy(gone);
        }
    }
}

impl Rival for Segments {
    const NAME: &'static str = "segments";

    type Waiter = Seated;

    fn new() -> Self {
        let segments = Segments {
            entered: CachePadded::default(),
            taken: CachePadded::default(),
            first: CachePadded::new(Atomic::new(Segment::new(0))),
            last: CachePadded::new(Atomic::null()),
            linking: Mutex::new(()),
        };
        let guard = &epoch::pin();
        segments.last.store(segments.first.load(Ordering::Relaxed, guard), Ordering::Relaxed);
        segments
    }

    fn waiter() -> Seated {
        Seated { node: Owned::new(Word(AtomicUsize::new(0))), segment: ptr::null(), cell: 0 }
    }

    fn enter(&self, waiter: &mut Seated) {
        let guard = &epoch::pin();
        loop {
            // Before the cell is claimed, so that its segment is not before this one.
            let start = self.last.load(Ordering::Acquire, guard);
            let cell = self.entered.fetch_add(1, Ordering::AcqRel);
            let segment = self.find(start, cell / CELLS, guard);
            if segment.id != cell / CELLS {
                // Broken, with all others of its segment.
                continue;
            }
            // ORDERING: Relaxed; published by the cell.
            waiter.node.node().links.0.store(cell << 1 | 1, Ordering::Relaxed);
            let node = waiter.node.as_ptr().as_ptr();
            let place = &segment.cells[cell % CELLS];
            if place.compare_exchange(EMPTY, node, Ordering::Release, Ordering::Relaxed).is_ok() {
                (waiter.segment, waiter.cell) = (segment, cell);
                return;
            }
        }
    }

    fn take(&self) -> bool {
        let guard = &epoch::pin();
        loop {
            if self.taken.load(Ordering::Acquire) >= self.entered.load(Ordering::Acquire) {
                return false;
            }
            let cell = self.taken.fetch_add(1, Ordering::AcqRel);
            let start = self.first.load(Ordering::Acquire, guard);
            let segment = self.find(start, cell / CELLS, guard);
            if segment.id != cell / CELLS {
                // The segment is gone, and all between: on to the next one that is there.
                let next = segment.id * CELLS;
                let _ = self.taken.compare_exchange(cell + 1, next, Ordering::AcqRel, Ordering::Relaxed);
                continue;
            }
            let place = &segment.cells[cell % CELLS];
            let mut found = place.load(Ordering::Acquire);
            for _ in 0..LOOKS {
                if found != EMPTY {
                    break;
                }
                std::hint::spin_loop();
                found = place.load(Ordering::Acquire);
            }
            if found == EMPTY {
                match place.compare_exchange(EMPTY, BROKEN, Ordering::Relaxed, Ordering::Acquire) {
                    Ok(_) => {
                        // SAFETY: this ended the cell.
                        unsafe { self.count(segment) };
                        continue;
                    }
                    Err(node) => found = node,
                }
            }
            if found == CANCELLED {
                continue;
            }
            let node = NonNull::new(found).expect("the cell is not empty");
            // SAFETY: a node outlives the queue's use.
            let word = unsafe { &(*node.as_ptr()).links.0 };
            if word.compare_exchange(cell << 1 | 1, 0, Ordering::AcqRel, Ordering::Relaxed).is_ok() {
                // SAFETY: this ended the cell.
                unsafe { self.count(segment) };
                return true;
            }
        }
    }

    fn remove(&self, waiter: &mut Seated) -> bool {
        let (word, cell) = (&waiter.node.node().links.0, waiter.cell);
        if word.compare_exchange(cell << 1 | 1, 0, Ordering::AcqRel, Ordering::Relaxed).is_err() {
            return false;
        }
        // SAFETY: the cell is this owner's to end, so its segment is alive (invariant 2).
        unsafe {
            (*waiter.segment).cells[cell % CELLS].store(CANCELLED, Ordering::Relaxed);
            self.count(waiter.segment);
        }
        true
    }

    fn waits(waiter: &Seated) -> bool {
        // ORDERING: Acquire pairs with the claim.
        waiter.node.node().links.0.load(Ordering::Acquire) != 0
    }
}

impl Drop for Segments {
    fn drop(&mut self) {
        // SAFETY: nobody else uses the queue any more.
        unsafe {
            let guard = epoch::unprotected();
            let mut at = self.first.load(Ordering::Relaxed, guard);
            while !at.is_null() {
                let next = at.deref().next.load(Ordering::Relaxed, guard);
                drop(at.into_owned());
                at = next;
            }
        }
    }
}
