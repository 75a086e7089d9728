//! The small array behind the first waiter: as many as fit a cache line or two.
//!
//! A cell holds who waits there, on which side, in which stay, and a stamp: the version that the word had when it came.
//!
//! ```text
//!   63     36 35         23  22  21      0
//!   [ stamp  ][generation ][side][ number ]        0: free
//! ```
//!
//! Cells are taken, and freed, by a compare-exchange each, in any order; the oldest is the one whose stamp is before all others.
//! Versions wrap: two stamps are compared with each other, and not with the version of now, from which they may be farther than
//! that. So who comes takes a cell only if none that it sees is [too far](FAR) behind, and otherwise goes to the list, as if there
//! were no cell. A scan looks at one cell after the other. It is no picture of all of them at one moment, and needs to be none:
//! whoever confirms, leaves or is brought into the word changes the word, and a scan counts only if the word is still
//! what it was before ([`line`](super::line)).
//!
//! *No entry outlasts its stay*: the cell is freed before a stay is settled, and by the owner before it is through with
//! leaving. So the bits of a generation that fit have to tell apart only what a thread sees in the middle of a look that
//! counts; who frees somebody else's cell has found it while the stay lasted, and compares the stamp, too. (Whoever ends a stay
//! could free its cell afterwards, alone, and so by a store. But suspended before that it would leave an entry behind, and one
//! of the node's later stays, in whichever line, would soon have the same bits.)
//!
//! What it is good for, beside going straight to the list: with four senders and one receiver, or four and four, on one
//! worker of tokio, a value takes 0.90 to 0.96 of the time at capacities 0 and 1.

use super::place::{At, Stay};
use super::word::{NUMBER_BITS, SENDERS, STAMP_BITS, STAMP_MASK, is_before};
use crate::prim::{AtomicU64, FEW_CELLS, Ordering};

const STAMP_SHIFT: u32 = 64 - STAMP_BITS;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
/// Stamps that are no farther from each other tell who came first.
pub(super) const FAR: u32 = 1 << (STAMP_BITS - 2);
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
        let side_fits = Entry::new(self.number(), stay, side) == self || bug!("any_side_comes_up");
        stay.at() == At::Few && side_fits
    }
}

/// A cell, and what was found there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<'a> {
    cell: &'a AtomicU64,
    full: u64,
}

impl Cell<'_> {
    /// Frees it, if it is what it was.
    #[inline]
    pub(super) fn free(self) {
        // Fails if somebody else has freed it.
        let _ = self.cell.compare_exchange(self.full, 0, Ordering::AcqRel, Ordering::Relaxed);
    }
}

#[inline]
fn stamp_of(cell: u64) -> u32 {
    (cell >> STAMP_SHIFT) as u32
}

impl Few {
    pub(super) fn new() -> Few {
        Few { cells: std::array::from_fn(|_| AtomicU64::new(0)) }
    }

    /// Takes a cell; `version`: that of the word. False: there is none, or an entry that is too old.
    pub(super) fn push(&self, entry: Entry, version: impl Fn() -> u32) -> bool {
        // ORDERING: Acquire: the version is no older than those that are seen here.
        let seen = self.cells.each_ref().map(|cell| cell.load(Ordering::Acquire));
        let stamp = version();
        let is_far = |cell: u64| stamp.wrapping_sub(stamp_of(cell)) & STAMP_MASK >= FAR;
        if seen.into_iter().any(|cell| cell != 0 && is_far(cell)) {
            return false;
        }
        let full = entry.0 | u64::from(stamp) << STAMP_SHIFT;
        self.cells.iter().any(|cell| {
            cell.load(Ordering::Relaxed) == 0
                // ORDERING: Release publishes the node's place; a scan acquires it.
                && cell.compare_exchange(0, full, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })
    }

    /// The cell of an entry, if it has one.
    #[inline]
    pub(super) fn find(&self, entry: Entry) -> Option<Cell<'_>> {
        self.cells.iter().find_map(|cell| {
            let full = cell.load(Ordering::Acquire);
            (full & WHO == entry.0).then_some(Cell { cell, full })
        })
    }

    /// The oldest entry that is `eligible`.
    #[inline]
    pub(super) fn oldest(&self, eligible: impl Fn(Entry) -> bool) -> Option<Entry> {
        let mut oldest: Option<u64> = None;
        for cell in &self.cells {
            // ORDERING: Acquire pairs with `push`.
            let found = cell.load(Ordering::Acquire);
            if found != 0
                && oldest.is_none_or(|oldest| is_before(stamp_of(found), stamp_of(oldest)))
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
