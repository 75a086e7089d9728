//! The small array behind the first waiter: as many as fit a cache line or two.
//!
//! A cell holds who waits there, on which side, in which stay, and a stamp: the version that the word had when it came.
//!
//! ```text
//!   63     36 35         23  22  21      0
//!   [ stamp  ][generation ][side][ number ]        0: free
//! ```
//!
//! Cells are taken, and freed, by a compare-exchange each, in any order; the oldest is the one with the stamp farthest
//! back. A scan looks at one cell after the other. It is no picture of all of them at one moment, and needs to be none:
//! whoever confirms, leaves or is brought into the word changes the word, and a scan counts only if the word is still
//! what it was before ([`line`](super::line)).

use super::place::{At, Stay};
use super::word::{NUMBER_BITS, SENDERS, STAMP_BITS, STAMP_MASK};
use crate::prim::{AtomicU64, FEW_CELLS, Ordering};

const STAMP_SHIFT: u32 = 64 - STAMP_BITS;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
/// Everything but the stamp.
const WHO: u64 = (1 << STAMP_SHIFT) - 1;

#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Few {
    cells: [AtomicU64; FEW_CELLS],
}

/// Who stands in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry(u64);

impl Entry {
    pub(super) fn new(number: usize, stay: Stay, side: u64) -> Entry {
        let side = u64::from(side == SENDERS) << NUMBER_BITS;
        Entry((number as u64 | side | stay.generation() << (NUMBER_BITS + 1)) & WHO)
    }

    pub(super) fn number(self) -> usize {
        (self.0 & NUMBER) as usize
    }

    /// Whether it stands for this stay on this side, and that is still in the line.
    pub(super) fn is(self, stay: Stay, side: u64) -> bool {
        let side_fits = Entry::new(self.number(), stay, side) == self || cfg!(leno_bug = "any_side_comes_up");
        stay.at() == At::Few && side_fits
    }
}

impl Few {
    pub(super) fn new() -> Few {
        Few { cells: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Takes a cell. False: there is none.
    pub(super) fn push(&self, entry: Entry, stamp: u32) -> bool {
        let full = entry.0 | u64::from(stamp) << STAMP_SHIFT;
        self.cells.iter().any(|cell| {
            cell.load(Ordering::Relaxed) == 0
                // ORDERING: Release publishes the node's place; a scan acquires it.
                && cell.compare_exchange(0, full, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// Frees the cell of an entry, if it has one. Several may do so at a time: `goes_on` says whether its stay lasts, so that
    /// what was found is not of a later one.
    pub(super) fn remove(&self, entry: Entry, goes_on: impl Fn() -> bool) {
        for cell in &self.cells {
            let found = cell.load(Ordering::Acquire);
            if found & WHO == entry.0 {
                if goes_on() {
                    // Fails if somebody else has freed it.
                    let _ = cell.compare_exchange(found, 0, Ordering::AcqRel, Ordering::Relaxed);
                }
                return;
            }
        }
    }

    /// The oldest entry that is `eligible`; `now` is the version that the word has.
    pub(super) fn oldest(&self, now: u32, eligible: impl Fn(Entry) -> bool) -> Option<Entry> {
        let age = |cell: u64| now.wrapping_sub((cell >> STAMP_SHIFT) as u32) & STAMP_MASK;
        let mut oldest: Option<u64> = None;
        for cell in &self.cells {
            // ORDERING: Acquire pairs with `push`.
            let found = cell.load(Ordering::Acquire);
            if found != 0
                && oldest.is_none_or(|oldest| age(oldest) < age(found))
                && eligible(Entry(found & WHO))
            {
                oldest = Some(found);
            }
        }
        oldest.map(|cell| Entry(cell & WHO))
    }

    /// How many cells are taken.
    pub(super) fn len(&self) -> usize {
        self.cells.iter().filter(|cell| cell.load(Ordering::Relaxed) != 0).count()
    }
}
