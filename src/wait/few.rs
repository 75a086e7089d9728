//! The small array behind the first waiter: as many as fit a cache line.
//!
//! A cell holds who waits there, on which side, in which stay, and a stamp: the version that the word had when it came.
//!
//! ```text
//!   63     36    35     34    33        22 21      0
//!   [ stamp  ][STANDS][side][ generation ][ number ]        0: free
//! ```
//!
//! Cells are taken by a compare-exchange, in any order; the oldest is the one, of those that are not settled, whose stamp is
//! before all others. Versions wrap: two stamps are compared with each other, not with the current version, which may be too far
//! ahead of both. So a newcomer takes a cell only if no entry that it sees is [too far](FAR) behind, and otherwise goes to the
//! list, as if there were no cell. (If its thread is suspended between that look and its exchange for half of all versions, 2^18
//! steps of the largest ring, it may be served out of turn.) A scan looks at one cell after the other. It is no snapshot, and need
//! not be one: whoever confirms, leaves or is brought into the word changes the word, and a scan counts only if the word is still
//! what it was before ([`line`](super::line)).
//!
//! | cell | by | then |
//! |---|---|---|
//! | its entry | the owner who joins, in a free cell | it stands in the line, and may have been brought into the word |
//! | *settled*: without STANDS | who is about to pop it, from the word | it leaves through the word only, by a pop |
//! | free | the owner who leaves, unless it is settled | it has left; who finds it in the word goes past it |
//! | free | who has popped it, by a store: the cell is nobody else's | it may be taken |
//!
//! The stamp of a settled entry is the version of that moment: its place in the order of hand-overs. Whoever has popped it copies
//! that to the node's [place](super::place), and so does an owner that gives the node back before that.
//!
//! *No entry outlasts its stay*: the owner frees the cell as the first step of leaving; whoever has popped the node frees it before
//! the node is told anything, is freed, or stands anywhere else. So an entry that is not settled is in the line (and may be in the
//! word as well), and a scan need not ask its node; and the few bits of a generation that fit have to tell apart only what a thread
//! sees in the middle of a look that counts: whoever settles another's entry has found it while the stay lasted, and compares the
//! stamp, too. (In rings whose versions [turn](super::line::Primitive::may_turn) a scan keeps the versions of its own half from
//! coming again, and an entry may have one of the other half: it takes 2^19 steps of such a ring, and a multiple of 4,096 stays of
//! that node, to find the same entry once more.)
//!
//! What it gains over going straight to the list: with four senders and one receiver, or four and four, on one worker of tokio, a
//! value takes 0.87 to 0.92 of the time at capacities 0 and 1.

use super::place::{At, Stay};
use super::word::{NUMBER_BITS, SENDERS, STAMP_BITS, STAMP_MASK};
use crate::prim::{AtomicU64, FEW_CELLS, Ordering, few_cells};

const STAMP_SHIFT: u32 = 64 - STAMP_BITS;
const NUMBER: u64 = (1 << NUMBER_BITS) - 1;
/// Stamps that are no farther from each other tell who came first.
pub(super) const FAR: u32 = 1 << (STAMP_BITS - 2);
/// It stands in the line. Without: it leaves through the word only.
const STANDS: u64 = 1 << (STAMP_SHIFT - 1);
/// It sends.
const SENDS: u64 = STANDS >> 1;
/// A cell that is nobody's.
const FREE: u64 = 0;
/// Who it is: number and generation, below the flags.
const WHO: u64 = SENDS - 1;
/// Bits of the generation.
#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
pub(super) const GENERATIONS: u32 = WHO.count_ones() - NUMBER_BITS;

#[repr(align(64))]
pub(super) struct Few {
    cells: [AtomicU64; FEW_CELLS],
}

/// The entry of a stay, whichever side it is on.
fn who(number: usize, stay: Stay) -> u64 {
    (number as u64 | stay.generation() << NUMBER_BITS) & WHO
}

/// The flags of an entry on this side that stands in the line.
#[inline(always)]
fn flags(side: u64) -> u64 {
    if side == SENDERS { STANDS | SENDS } else { STANDS }
}

/// A cell, and what was found there.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cell<'a> {
    cell: &'a AtomicU64,
    full: u64,
}

impl Cell<'_> {
    /// Whether it was settled when it was found.
    #[inline]
    pub(super) fn is_settled(self) -> bool {
        self.full & STANDS == 0
    }

    /// Whether nothing has happened to the entry since it was found.
    pub(super) fn is_unchanged(self) -> bool {
        // ORDERING: Acquire pairs with `settle`: who finds it changed comes after the exchange that brought it into the word.
        self.cell.load(Ordering::Acquire) == self.full
    }

    /// Keeps its owner from leaving through the line, and has it say this version from now on, unless somebody has done so before;
    /// for who is about to pop it, as others may be. `None`: look again.
    #[inline]
    pub(super) fn settle(self, version: u32) -> Option<Self> {
        if self.is_settled() || bug!("few_is_not_settled") {
            return Some(self);
        }
        let settled = self.full & (WHO | SENDS) | u64::from(version) << STAMP_SHIFT;
        // ORDERING: Release: who finds it settled, and loads the word after that, finds none from before it came up: so if it does
        // not stand there it was popped. (Who finds a later word finds it settled by the word's own release.)
        let is_settled =
            self.cell.compare_exchange(self.full, settled, Ordering::AcqRel, Ordering::Relaxed).is_ok();
        is_settled.then_some(Cell { full: settled, ..self })
    }

    /// What the place of that stay is to say once it is popped.
    #[inline]
    pub(super) fn popped(self, stay: Stay) -> Stay {
        stay.stamped(At::Word, stamp_of(self.full))
    }

    /// Frees it for its owner, who leaves. False: it was settled.
    #[inline]
    pub(super) fn leave(self) -> bool {
        // ORDERING: AcqRel, though the exchange of the word that comes next is what others see.
        self.cell.compare_exchange(self.full, FREE, Ordering::AcqRel, Ordering::Relaxed).is_ok()
    }

    /// Frees it, for whoever has popped its entry.
    #[inline]
    pub(super) fn free(self) {
        debug_assert_eq!(self.cell.load(Ordering::Relaxed), self.full, "nobody else changes it");
        // ORDERING: Release: who finds it gone finds what the place says now.
        self.cell.store(FREE, Ordering::Release);
    }
}

#[inline]
fn stamp_of(cell: u64) -> u32 {
    (cell >> STAMP_SHIFT) as u32
}

impl Few {
    pub(super) fn new() -> Few {
        Few { cells: std::array::from_fn(|_| AtomicU64::new(FREE)) }
    }

    /// Those that may be taken; the others are always free.
    fn in_use(&self) -> impl Iterator<Item = &AtomicU64> {
        self.cells[..few_cells()].iter()
    }

    /// Takes a cell for a stay on this side; `version`: that of the word. `None`: there is none, or an entry that is too old.
    pub(super) fn push(
        &self,
        number: usize,
        stay: Stay,
        side: u64,
        version: impl FnOnce() -> u32,
    ) -> Option<Cell<'_>> {
        // ORDERING: Acquire: the version is no older than those that are seen here.
        let seen = self.cells.each_ref().map(|cell| cell.load(Ordering::Acquire));
        let stamp = version();
        let is_far = |cell: u64| stamp.wrapping_sub(stamp_of(cell)) & STAMP_MASK >= FAR;
        if seen.into_iter().any(|cell| cell & STANDS != 0 && is_far(cell)) {
            return None;
        }
        let full = who(number, stay) | flags(side) | u64::from(stamp) << STAMP_SHIFT;
        let (cell, _) = self.in_use().zip(seen).find(|&(cell, seen)| {
            // ORDERING: Release publishes the node's place; a scan acquires it.
            seen == FREE && cell.compare_exchange(FREE, full, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        })?;
        Some(Cell { cell, full })
    }

    /// The cell of a stay, if it has one.
    #[inline]
    pub(super) fn find(&self, number: usize, stay: Stay) -> Option<Cell<'_>> {
        let who = who(number, stay);
        self.in_use().find_map(|cell| {
            // ORDERING: Acquire pairs with `settle`, and with `free`: the place says what it is to say then.
            let full = cell.load(Ordering::Acquire);
            (full & WHO == who).then_some(Cell { cell, full })
        })
    }

    /// The number of the oldest one of this side that stands in the line.
    #[inline]
    pub(super) fn oldest(&self, side: u64) -> Option<usize> {
        let fits = |found: &u64| match found & (STANDS | SENDS) {
            has if bug!("settled_comes_up") && *found != FREE => has | STANDS == flags(side),
            has if bug!("any_side_comes_up") => has & STANDS != 0,
            has => has == flags(side),
        };
        // ORDERING: Acquire pairs with `push`.
        let standing = self.in_use().map(|cell| cell.load(Ordering::Acquire)).filter(fits);
        // Both have the same flags, and the stamp is above all else: so the sign of the difference says whose is before.
        let older = |one: u64, other: u64| if (other.wrapping_sub(one) as i64) < 0 { other } else { one };
        Some((standing.reduce(older)? & NUMBER) as usize)
    }

    /// How many cells are taken.
    pub(super) fn len(&self) -> usize {
        self.cells.iter().filter(|cell| cell.load(Ordering::Relaxed) != FREE).count()
    }
}
