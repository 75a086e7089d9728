//! A ring of stamped slots, after D. Vyukov's bounded MPMC queue.
//!
//! ```text
//!   head ──▶ [ free ][ value ][ value ][ claimed ][ free ] …
//!                                        ▲ tail
//! ```
//!
//! A position is a lap and an index. A slot's stamp says whose turn it is: `p`, a sender at position `p`;
//! `p + 1`, a receiver at `p`; then `p + lap`, a sender one lap later. The value comes first, then the stamp. So a
//! slot can be *claimed but not yet published*, and likewise not yet free; nobody waits for it.
//!
//! On 32-bit machines a position comes back after some 2^26 operations; an operation that is suspended for exactly
//! as long, between its look at a stamp and its compare-exchange, would take the one for the other.
//!
//! # Orderings
//!
//! The stamp's release store pairs with the acquire load of the next claimant.

use std::mem::MaybeUninit;

use crossbeam_utils::CachePadded;

use super::store::{FLAGS, ONE, Store};
use crate::prim::{AtomicUsize, Ordering, RING_SLOTS, UnsafeCell};

pub(super) struct Ring<T> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    slots: Box<[Slot<T>]>,
    lap: usize,
}

struct Slot<T> {
    stamp: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// Release: the value (or its absence) is there for whoever's turn it is.
const PUBLISH: Ordering =
    if cfg!(leno_bug = "publish_relaxed") { Ordering::Relaxed } else { Ordering::Release };

impl<T> Ring<T> {
    /// The largest capacity that a ring can have.
    const MAX: usize = RING_SLOTS;

    /// The most memory that is taken at once.
    const MAX_BYTES: usize = 256 << 10;

    /// Whether a ring is the right buffer for this capacity.
    pub(super) fn suits(capacity: usize) -> bool {
        (1..=Self::MAX).contains(&capacity) && capacity * size_of::<T>() <= Self::MAX_BYTES
    }

    pub(super) fn new(capacity: usize) -> Self {
        debug_assert!(Self::suits(capacity));
        let slot = |index: usize| Slot {
            stamp: AtomicUsize::new(index * ONE),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Ring {
            head: CachePadded::new(AtomicUsize::new(0)),
            tail: CachePadded::new(AtomicUsize::new(0)),
            slots: (0..capacity).map(slot).collect(),
            lap: (capacity + 1).next_power_of_two() * ONE,
        }
    }

    #[inline]
    fn index(&self, word: usize) -> usize {
        (word & (self.lap - 1)) / ONE
    }

    #[inline]
    fn slot(&self, word: usize) -> &Slot<T> {
        let index = self.index(word);
        debug_assert!(index < self.slots.len());
        // SAFETY: `next` is the only way to a new position, and keeps the index below the capacity.
        unsafe { self.slots.get_unchecked(index) }
    }
}

impl<T> Store for Ring<T> {
    type Value = T;

    /// The word says it all.
    type Place = ();

    #[inline]
    fn head(&self) -> &AtomicUsize {
        &self.head
    }

    #[inline]
    fn tail(&self) -> &AtomicUsize {
        &self.tail
    }

    #[inline]
    fn next(&self, word: usize) -> usize {
        if self.index(word) + 1 < self.slots.len() {
            word.wrapping_add(ONE)
        } else {
            (word & !(self.lap - 1)).wrapping_add(self.lap) | (word & FLAGS)
        }
    }

    #[inline]
    fn room(&self, tail: usize) -> Option<()> {
        // ORDERING: Acquire pairs with the stamp of `take`: the value before was taken out.
        (self.slot(tail).stamp.load(Ordering::Acquire) == tail & !FLAGS).then_some(())
    }

    #[inline]
    fn value(&self, head: usize) -> Option<()> {
        // ORDERING: Acquire pairs with the stamp of `put`: the value is there.
        let stamp = self.slot(head).stamp.load(Ordering::Acquire);
        (stamp == (head & !FLAGS).wrapping_add(ONE)).then_some(())
    }

    #[inline]
    unsafe fn put(&self, tail: usize, (): (), value: T) {
        let slot = self.slot(tail);
        // SAFETY: the slot is the caller's, and free: its stamp said so.
        slot.value.with_mut(|place| unsafe { (*place).write(value) });
        // ORDERING: pairs with `value`.
        slot.stamp.store((tail & !FLAGS).wrapping_add(ONE), PUBLISH);
    }

    #[inline]
    unsafe fn take(&self, head: usize, (): ()) -> T {
        let slot = self.slot(head);
        // SAFETY: the slot is the caller's, and its stamp said that it holds a value.
        let value = slot.value.with(|place| unsafe { (*place).assume_init_read() });
        // ORDERING: pairs with `room`.
        slot.stamp.store((head & !FLAGS).wrapping_add(self.lap), PUBLISH);
        value
    }

    #[inline]
    fn is_full(&self, head: usize, tail: usize) -> bool {
        (head & !FLAGS).wrapping_add(self.lap) == tail & !FLAGS
    }

    fn len(&self, head: usize, tail: usize) -> usize {
        let (head_index, tail_index) = (self.index(head), self.index(tail));
        if tail & !FLAGS == head & !FLAGS {
            0
        } else if tail_index > head_index {
            tail_index - head_index
        } else {
            self.slots.len() - head_index + tail_index
        }
    }

    fn capacity(&self) -> usize {
        self.slots.len()
    }
}
