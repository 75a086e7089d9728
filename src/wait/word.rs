//! The word: a primitive's own state and the first of those who wait for it, in one atomic.
//!
//! ```text
//!   63                          28 27                 6 5     4    3    2    1      0
//!   [            rest            ][ number of the     ][ own ][TWO][MANY][MORE][SENDERS]
//!   [ the primitive's: 36 bits   ][ first waiter: 22  ]
//! ```
//!
//! | flag | set by | means |
//! |---|---|---|
//! | `SENDERS` | the first waiter | the side of those who wait; locks have one side only |
//! | `MORE` | a waiter that confirms | look behind the first one |
//! | `MANY` | the same | look into the list, too; newcomers go there |
//! | `TWO` | a select | the first waiter matches either side; nobody waits behind it |
//! | own | the primitive | two flags of its own, which waiting does not touch |
//!
//! All changes are compare-exchanges of the whole word, so that what it says and who waits for it change together: "it
//! is empty, and I wait" is one step. (A flag of the primitive's own may also change by a read-modify-write that gives
//! the word before: it takes nobody out. And a oneshot's receiver stores to the word once it is alone with it.)

/// A value of the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Word(pub(crate) u64);

/// The first waiter sends.
pub(crate) const SENDERS: u64 = 1;
/// More wait behind the first one.
pub(crate) const MORE: u64 = 1 << 1;
/// Some of them in the list.
pub(crate) const MANY: u64 = 1 << 2;
/// The first waiter is a select that waits on both sides.
pub(crate) const TWO: u64 = 1 << 3;
/// The primitive's own flags.
pub(crate) const OWN: [u64; 2] = [1 << 4, 1 << 5];

const NUMBER_SHIFT: u32 = 6;
/// Bits of a node's number.
pub(crate) const NUMBER_BITS: u32 = 22;
const NUMBER: u64 = ((1 << NUMBER_BITS) - 1) << NUMBER_SHIFT;
/// Where the rest begins.
pub(crate) const REST_SHIFT: u32 = NUMBER_SHIFT + NUMBER_BITS;
/// Bits of the rest.
pub(crate) const REST_BITS: u32 = 64 - REST_SHIFT;
/// The bits of a version that serve as a stamp: the order in which things came, as long as they are close to each other.
pub(crate) const STAMP_BITS: u32 = 28;
pub(crate) const STAMP_MASK: u32 = (1 << STAMP_BITS) - 1;

/// Whether a stamp came before `other`, which is less than half of all stamps away.
#[inline(always)]
pub(super) const fn is_before(stamp: u32, other: u32) -> bool {
    ((stamp.wrapping_sub(other) << (u32::BITS - STAMP_BITS)) as i32) < 0
}

/// The first version of a stay, where stays are numbered: far from those of the stays before and after it, by the golden ratio of
/// the number of versions.
pub(crate) const fn apart(stay: u64) -> u64 {
    stay.wrapping_mul(0x9_e377_9b97) & ((1 << REST_BITS) - 1)
}

/// What says who waits.
const WAITING: u64 = NUMBER | SENDERS | MORE | MANY | TWO;

impl Word {
    /// The first waiter's number; 0: nobody waits.
    #[inline(always)]
    pub(crate) const fn first(self) -> usize {
        ((self.0 & NUMBER) >> NUMBER_SHIFT) as usize
    }

    /// Whether the first waiter is a branch of a select: the lowest bit of its number says so.
    #[inline(always)]
    pub(crate) const fn first_is_branch(self) -> bool {
        self.0 & (1 << NUMBER_SHIFT) != 0
    }

    /// Whether somebody waits on this side alone, and none of these flags is set.
    #[inline(always)]
    pub(crate) const fn is_one_sided(self, side: u64, flags: u64) -> bool {
        !self.is_free() && self.0 & (SENDERS | TWO | flags) == side
    }

    /// Whether nobody waits.
    #[inline(always)]
    pub(crate) const fn is_free(self) -> bool {
        self.0 & NUMBER == 0
    }

    /// Whether any of these flags is set.
    #[inline(always)]
    pub(crate) const fn has(self, flags: u64) -> bool {
        self.0 & flags != 0
    }

    /// The side of those who wait.
    #[inline(always)]
    pub(crate) const fn side(self) -> u64 {
        self.0 & SENDERS
    }

    /// Whether somebody waits whom a peer of the side opposite to `side` can serve.
    #[inline(always)]
    pub(crate) const fn serves(self, side: u64) -> bool {
        !self.is_free() && (self.side() == side || self.has(TWO))
    }

    #[inline(always)]
    pub(crate) const fn with(self, flags: u64) -> Word {
        Word(self.0 | flags)
    }

    #[inline(always)]
    pub(crate) const fn without(self, flags: u64) -> Word {
        Word(self.0 & !flags)
    }

    /// The same with another first waiter; the flags stay.
    #[inline(always)]
    pub(crate) const fn with_first(self, number: usize) -> Word {
        Word(self.0 & !NUMBER | (number as u64) << NUMBER_SHIFT)
    }

    /// The same when nobody waits.
    #[inline(always)]
    pub(crate) const fn freed(self) -> Word {
        Word(self.0 & !WAITING)
    }

    #[inline(always)]
    pub(crate) const fn rest(self) -> u64 {
        self.0 >> REST_SHIFT
    }

    /// The same with another rest, which wraps.
    #[inline(always)]
    pub(crate) const fn with_rest(self, rest: u64) -> Word {
        Word(self.0 & !(!0 << REST_SHIFT) | rest << REST_SHIFT)
    }

    /// Adds to the rest, which wraps.
    #[inline(always)]
    pub(crate) const fn plus(self, rest: u64) -> Word {
        Word(self.0.wrapping_add(rest << REST_SHIFT))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each part changes alone.
    #[test]
    fn parts_are_apart() {
        let word =
            Word(0).with_rest((1 << REST_BITS) - 1).with_first(4_000_000).with(SENDERS | MORE | OWN[1]);
        assert_eq!((word.first(), word.rest()), (4_000_000, (1 << REST_BITS) - 1));
        assert_eq!(word.plus(2).rest(), 1, "the rest wraps");
        assert_eq!(word.plus(2).with_rest(word.rest()), word, "and touches nothing else");
        assert_eq!(word.freed(), Word(0).with_rest(word.rest()).with(OWN[1]));
        assert!(word.serves(SENDERS) && !word.serves(0) && word.with(TWO).serves(0));
        assert!(word.freed().is_free() && !word.freed().with(TWO).serves(0));
    }
}
