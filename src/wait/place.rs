//! Where a node stands behind the first waiter: a second word, of every node.
//!
//! ```text
//!   63        32 31        3 2   0
//!   [  stamp   ][generation][state]
//! ```
//!
//! | state | set by | means |
//! |---|---|---|
//! | `Word` | the owner who enters the word, who makes a node for what it holds, or whose node takes the place of another branch's; whoever has settled a node from the list, and then does not pop it; whoever has popped one from few (unless the place says a wish), or gives such a node back | the word alone says whether it waits |
//! | `Few` | the owner who joins | its [cell](super::few), and the word, say whether it waits, or has left |
//! | `Many` | the owner who joins | it stands in the list, and may have been brought into the word |
//! | `Settling` | who settles one from the list | as `Many`; whoever pops it first makes sure that it is no longer linked |
//! | `Left` | the owner who leaves the list | who finds it in the word goes past it |
//!
//! The generation is new for each stay; it has 29 bits: a peer would mistake a later stay for it only if its look lasted for
//! exactly 2^29 stays of that node (2^28 if these find no cell). The stamp is the version at which the node entered the word, or
//! was settled there: the order of hand-overs, in which what is given back is kept. (Until then it says the side in the list, and
//! nothing in few.) If the primitive asks for it, the stamp says instead how much the waiter wants, throughout the stay.
//!
//! Places are looked at by peers that have no right to the node, so their memory is never given back: 8 bytes for each of the
//! most operations that have ever waited at one time. The nodes themselves come and go ([`pool`](super::pool)).

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

    /// The same stay elsewhere, or there still, with this stamp.
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
            // A late popper may still be about to change the previous stay. Its exchange comes before this, or fails; but loom
            // would let it come after a mere store.
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

    /// Says this of a stay that has ended. For whoever has popped its node, or gives that back.
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
