//! Where a node stands behind the first waiter: a second word, of every node.
//!
//! ```text
//!   63        32 31        3 2   0
//!   [  stamp   ][generation][state]
//! ```
//!
//! | state | set by | means |
//! |---|---|---|
//! | `IN_WORD` | the owner who enters the word; who settles one from the list; who has popped one from few, unless the place says a wish, or gives that back | the word alone says whether it waits |
//! | `IN_FEW` | the owner who joins | its [cell](super::few), and the word, say whether it waits, or has left |
//! | `IN_MANY` | the owner who joins | it stands in the list, and may have been brought into the word |
//! | `SETTLING` | who settles one from the list | the same; who pops it sees first that it is linked no more |
//! | `LEFT` | the owner who leaves the list | who finds it in the word goes past it |
//!
//! The generation is new for each stay; it has 29 bits, so that a look of a peer would have to last for exactly 2^29 stays of one
//! node to take a later one for it (2^28 of those that find no cell). The stamp is the version at which the node entered the word,
//! or was settled there: the order of hand-overs, by which what is given back is kept in order. (Until then it says the side in
//! the list, and nothing in few.) Of a primitive that asks for it the stamp says how much the waiter wants instead, from the
//! beginning of the stay to its end.
//!
//! Places are looked at by peers that have no right to the node, so their memory is never given back: 8 bytes for each of
//! the operations that have ever waited at one time. The nodes themselves come and go ([`pool`](super::pool)).

use crate::prim::{self, AtomicU64, Ordering};

/// A value of a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stay(u64);

const STATE_BITS: u32 = 3;
const GENERATION: u64 = 0xffff_fff8;

/// What a node's place says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
pub(super) enum At {
    Word = 0,
    Few = 1,
    Many = 2,
    Settling = 3,
    Left = 4,
}

impl Stay {
    pub(super) fn at(self) -> At {
        match self.0 & ((1 << STATE_BITS) - 1) {
            0 => At::Word,
            1 => At::Few,
            2 => At::Many,
            3 => At::Settling,
            _ => At::Left,
        }
    }

    /// The same stay elsewhere.
    pub(super) fn moved(self, at: At) -> Stay {
        Stay(self.0 & !((1 << STATE_BITS) - 1) | at as u64)
    }

    /// The same stay in the word, with its stamp.
    pub(super) fn stamped(self, at: At, stamp: u32) -> Stay {
        Stay(self.0 & GENERATION | at as u64 | u64::from(stamp) << 32)
    }

    pub(super) fn generation(self) -> u64 {
        (self.0 & GENERATION) >> STATE_BITS
    }

    pub(super) fn stamp(self) -> u32 {
        (self.0 >> 32) as u32
    }
}

/// A node's place.
pub(super) struct Place(AtomicU64);

impl Place {
    pub(super) fn new() -> Place {
        Place(AtomicU64::new(0))
    }

    #[inline]
    pub(super) fn stay(&self) -> Stay {
        // ORDERING: Acquire pairs with `change`: who sees a step of the place sees what was done before it.
        Stay(self.0.load(Ordering::Acquire))
    }

    /// Begins a stay. For the owner of a node that nobody can find.
    #[inline]
    pub(super) fn begin(&self, at: At, stamp: u32) -> Stay {
        let next = self.0.load(Ordering::Relaxed).wrapping_add(1 << STATE_BITS);
        let next = Stay(next & GENERATION).stamped(at, stamp);
        if prim::MODEL {
            // A popper that came too late may be changing the stay before still. That comes before this, or fails; but loom would
            // let it come after a mere store.
            self.0.swap(next.0, Ordering::Release);
            return next;
        }
        // ORDERING: Release: a peer that meets this stay's node elsewhere sees nothing older.
        self.0.store(next.0, Ordering::Release);
        next
    }

    /// As if it had had so many stays before. For the owner of a node that nobody can find.
    #[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
    pub(super) fn set_generation(&self, generation: u64) {
        self.0.store(generation << STATE_BITS, Ordering::Relaxed);
    }

    /// Says this of a stay that has ended. For who has popped its node, or gives it back.
    #[inline]
    pub(super) fn set(&self, stay: Stay) {
        // ORDERING: Release, as for `begin`.
        self.0.store(stay.0, Ordering::Release);
    }

    #[inline]
    pub(super) fn change(&self, from: Stay, to: Stay) -> bool {
        self.0.compare_exchange(from.0, to.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }
}
