//! The words of which the [list](super::list) is made: links, and the hooks of a node.
//!
//! A node has a number, which a table turns into its address (`pool`). A link is one word:
//!
//! ```text
//!   63           25 24          3 2    0
//!   [ generation  ][   number    ][flags]
//! ```
//!
//! *Names* (the top, `newer`, `front`) hold the generation of the node that they name. `older` holds the generation
//! of the node that it stands in, and the number of the next older one: so that a compare-exchange of `older`
//! fails if the node has left and come back since, and needs no generation of its neighbour (claim 2 of the list). A
//! stay in a list has one generation; each attempt to enter begins the next one.

use super::word::NUMBER_BITS;
use crate::prim::{AtomicU64, AtomicUsize, Ordering};

/// A node's generation, a number, and flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link(pub(super) u64);

/// Bits of a link.
const FLAG_BITS: u32 = 3;
const FLAGS: u64 = (1 << FLAG_BITS) - 1;
const NUMBER: u64 = ((1 << NUMBER_BITS) - 1) << FLAG_BITS;
const ONE_GENERATION: u64 = 1 << (FLAG_BITS + NUMBER_BITS);

/// In the top: its node is the only one, and is taken out through the top.
pub(super) const ONLY: u64 = 0b001;
/// In `older`: the stay is over, and the word is frozen.
pub(super) const MARK: u64 = 0b010;
/// In `older`: the node entered an empty list.
pub(super) const ROOT: u64 = 0b100;

impl Link {
    pub(super) const NIL: Link = Link(0);

    pub(super) fn number(self) -> usize {
        ((self.0 & NUMBER) >> FLAG_BITS) as usize
    }

    pub(super) fn is_nil(self) -> bool {
        self.0 & NUMBER == 0
    }

    pub(super) fn has(self, flag: u64) -> bool {
        self.0 & flag != 0
    }

    /// The same, with other flags.
    pub(super) fn with(self, flags: u64) -> Link {
        Link(self.0 & !FLAGS | flags)
    }

    /// The same generation and flags, another number.
    pub(super) fn to(self, number: usize) -> Link {
        Link(self.0 & !NUMBER | (number as u64) << FLAG_BITS)
    }

    pub(super) fn same_generation(self, other: Link) -> bool {
        (self.0 ^ other.0) & !(NUMBER | FLAGS) == 0
    }
}

/// A link that changes.
pub(super) struct AtomicLink(AtomicU64);

impl AtomicLink {
    pub(super) fn new(link: Link) -> AtomicLink {
        AtomicLink(AtomicU64::new(link.0))
    }

    #[inline]
    pub(super) fn load(&self) -> Link {
        // ORDERING: Acquire: what is read afterwards is at least as new.
        Link(self.0.load(Ordering::Acquire))
    }

    #[inline]
    pub(super) fn store(&self, link: Link) {
        // ORDERING: Release pairs with `load`.
        self.0.store(link.0, Ordering::Release);
    }

    /// Changes it, if it is `from`; otherwise gives what it is.
    #[inline]
    pub(super) fn change(&self, from: Link, to: Link) -> Result<(), Link> {
        // ORDERING: Release: publishes the node that enters, or what was read of one that leaves. Acquire: whoever takes one
        // out sees what its owner wrote.
        let order = order!(AcqRel, "enter_relaxed");
        self.0.compare_exchange(from.0, to.0, order, Ordering::Acquire).map(drop).map_err(Link)
    }
}

/// The words of a node that anybody may read at any time.
pub(crate) struct Hooks {
    /// This stay's generation, the next older node, and flags.
    pub(super) older: AtomicLink,
    /// The name of the next newer node: a hint.
    pub(super) newer: AtomicLink,
    /// Grows from the oldest to the newest.
    sequence: AtomicU64,
    /// The address of the list, compared only.
    home: AtomicUsize,
}

impl Hooks {
    /// Of a node whose first stay is to have the generation after `generation`.
    pub(super) fn new(generation: u64) -> Hooks {
        Hooks {
            older: AtomicLink::new(Link((generation * ONE_GENERATION) | MARK)),
            newer: AtomicLink::new(Link::NIL),
            sequence: AtomicU64::new(0),
            home: AtomicUsize::new(0),
        }
    }

    /// The generation of the last stay.
    pub(super) fn generation(&self) -> u64 {
        self.older.load().0 / ONE_GENERATION
    }

    /// The list of this stay.
    #[inline]
    pub(super) fn home(&self) -> usize {
        // ORDERING: Acquire, as for `sequence`.
        self.home.load(Ordering::Acquire)
    }

    #[inline]
    pub(super) fn sequence(&self) -> u64 {
        // ORDERING: Acquire: a look at `older` after this one sees what was there before this was stored.
        self.sequence.load(Ordering::Acquire)
    }

    /// Begins a stay above `below`; gives the node's name.
    pub(super) fn begin(&self, number: usize, below: Link, flags: u64, sequence: u64, home: usize) -> Link {
        // The generation first: who reads one of the others in this stay finds `older` changed.
        let next = Link(self.older.load().0.wrapping_add(ONE_GENERATION)).with(flags).to(below.number());
        self.older.store(next);
        self.newer.store(Link::NIL);
        self.sequence.store(sequence, Ordering::Release);
        self.home.store(home, Ordering::Release);
        next.with(0).to(number)
    }
}
