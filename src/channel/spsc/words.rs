//! The two words of an spsc channel, each with what its side keeps for itself.

use super::super::block::{with_parity, without_parity};
use super::store::{Block, Slot, Store};
use crate::prim::{AtomicPtr, AtomicU64, Ordering};
use crate::wait::{Line, OWN, Popped, Primitive, REST_BITS, REST_SHIFT, Word};

/// Of both words: no value is sent any more, and nobody comes to wait.
pub(super) use super::super::shared::CLOSED;
/// Of both words: what is in between was taken by `close_now`.
pub(super) const TAKEN: u64 = OWN[1];

const POSITIONS: u64 = (1 << REST_BITS) - 1;
/// A channel without a bound holds so many.
pub(super) const MOST: u64 = POSITIONS >> 1;

/// How far `to` is behind `from`.
#[inline(always)]
pub(super) fn distance(from: u64, to: u64) -> u64 {
    to.wrapping_sub(from) & POSITIONS
}

/// The position after this one, or `by` further.
pub(super) fn further(position: u64, by: u64) -> u64 {
    position.wrapping_add(by) & POSITIONS
}

/// One end: its word, and what its side uses (the back also a receiver that lets a sender in). But the receiver reads what the
/// sender expects, `close_now` the front's block, and `told` is about those who wait in the word.
///
/// Only one operation of a side runs at a time, as each has the handle by `&mut`; the other atomics are plain cells for it.
pub(super) struct Side<T> {
    line: Line,
    /// The word as it has to be for the quick way: at this position, with nobody there. (Under CLOSED whoever stood there may be in
    /// it still; nobody else comes to stand there.)
    expected: AtomicU64,
    /// The word at which it has to look at the other end again: the back where it is full, the front where it is empty, as far as
    /// was seen.
    until: AtomicU64,
    block: AtomicPtr<Block<T>>,
    pub(super) slots: AtomicPtr<Slot<T>>,
    /// The node that was told last to look, unless it was used again since.
    told: AtomicPtr<()>,
}

impl<T> Side<T> {
    pub(super) fn new(begin: *mut Block<T>) -> Side<T> {
        Side {
            line: Line::new(0),
            expected: AtomicU64::new(0),
            until: AtomicU64::new(0),
            block: AtomicPtr::new(begin),
            slots: AtomicPtr::new(Store::begin(begin)),
            told: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    pub(super) fn was_told(&self, node: *const ()) -> bool {
        // ORDERING: Relaxed: exact when nobody is at work.
        self.told.load(Ordering::Relaxed).cast_const() == node
    }

    /// Perhaps the node that was told is used again.
    pub(super) fn forget_told(&self) {
        if !self.told.load(Ordering::Relaxed).is_null() {
            self.told.store(std::ptr::null_mut(), Ordering::Relaxed);
        }
    }

    #[inline(always)]
    pub(super) fn load(&self) -> Word {
        self.line.load()
    }

    /// The word, as far as its side knows: no look at what was just exchanged, which is slow.
    #[inline(always)]
    pub(super) fn expected(&self) -> Word {
        Word(self.expected.load(Ordering::Relaxed))
    }

    /// The position, as far as its side knows; for the other side.
    #[inline(always)]
    pub(super) fn expected_position(&self) -> u64 {
        // ORDERING: Acquire: the values before it are there.
        Word(self.expected.load(Ordering::Acquire)).rest()
    }

    fn expect(&self, word: Word) {
        // ORDERING: Release pairs with `expected_position`.
        self.expected.store(word.0, order!(Release, "spsc_expected_relaxed"));
    }

    /// How many positions are left from this word's on, as far as was seen. (One less where the word says more than a position:
    /// then the last one is for the longer ways. Behind a sender that was let in it is one less than none.)
    #[inline(always)]
    pub(super) fn left(&self, word: Word) -> u64 {
        left_until(self.until.load(Ordering::Relaxed), word)
    }

    /// There are as many as are before this position; so many of them from this word's on. (From what is at hand: it would have to
    /// come back from memory before the exchange.)
    #[inline(always)]
    pub(super) fn see(&self, position: u64, word: Word) -> u64 {
        let until = position << REST_SHIFT;
        self.until.store(until, Ordering::Relaxed);
        left_until(until, word)
    }

    /// It is at this position, and nobody is there.
    pub(super) fn expect_free(&self, position: u64) {
        self.expect(Word(0).with_rest(position));
    }

    /// Moves the position on by so many, if the word is still this one.
    #[inline(always)]
    pub(super) fn advance(&self, word: Word, count: u64, order: Ordering) -> bool {
        let moved = word.plus(count);
        if bug!("spsc_advances_unasked") {
            self.expect(Word(self.line.word().fetch_add(count << REST_SHIFT, Ordering::AcqRel)).plus(count));
            return true;
        }
        // (The failing look acquires nothing: it is looked at again.)
        let is_moved = self.line.word().compare_exchange(word.0, moved.0, order, Ordering::Relaxed).is_ok();
        if is_moved {
            self.expect(moved);
        }
        is_moved
    }

    #[inline(always)]
    pub(super) fn parity(&self) -> usize {
        self.block.load(Ordering::Relaxed).addr() & 1
    }

    pub(super) fn tagged_block(&self) -> *mut Block<T> {
        // ORDERING: Acquire pairs with `go_to`.
        self.block.load(Ordering::Acquire)
    }

    pub(super) fn block(&self) -> *mut Block<T> {
        without_parity(self.tagged_block())
    }

    /// Goes on to the block that follows.
    pub(super) fn go_to(&self, block: *mut Block<T>, slots: *mut Slot<T>) {
        self.slots.store(slots, Ordering::Relaxed);
        // ORDERING: Release pairs with `tagged_block`.
        self.block.store(with_parity(block, self.parity() ^ 1), Ordering::Release);
    }
}

#[inline(always)]
fn left_until(until: u64, word: Word) -> u64 {
    (until.wrapping_sub(word.0) as i64 >> REST_SHIFT).max(0) as u64
}

/// Its version is its position, which an exchange need not change: there is nobody behind the first one. Nor need parking another
/// waker: a peer looks for the waker only after its own exchange, which acquires what was parked.
impl<T> Primitive for Side<T> {
    #[inline(always)]
    fn line(&self) -> &Line {
        &self.line
    }

    fn bump(&self, word: Word) -> Word {
        word
    }

    fn is_to_wait(&self, word: Word) -> bool {
        !word.has(CLOSED)
    }

    fn tells(&self, popped: &Popped) {
        // ORDERING: Relaxed: its owner comes to the line again after it was told.
        self.told.store(popped.address().cast_mut(), Ordering::Relaxed);
    }
}
