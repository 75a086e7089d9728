//! Where a buffered channel keeps its values: slots in the order of their positions, and the two words that say
//! which of them are in use. The [protocol](super::buffer) over them is the same for all kinds of slots.

use crate::prim::AtomicUsize;

/// The bits of a word that are not its position.
pub(super) const FLAGS: usize = 0b1_1111;

/// One position further.
pub(super) const ONE: usize = 0b10_0000;

/// Slots, and the words `head` (the first value) and `tail` (behind the last one).
///
/// A slot is looked up first, by [`room`](Store::room) or [`value`](Store::value), and claimed then, by a
/// compare-exchange of the word from the very value that it was looked up for to the [`next`](Store::next) one. It
/// is the claimant's from then on, until it has put the value there or taken it. So what a look has found still
/// holds when the claim succeeds: the word has not changed since, but for flags.
pub(super) trait Store {
    type Value;

    /// Where a slot is.
    type Place: Copy;

    fn head(&self) -> &AtomicUsize;

    fn tail(&self) -> &AtomicUsize;

    /// The word with its position moved on by one; the flags stay.
    fn next(&self, word: usize) -> usize;

    /// The slot at `tail`, if it is free and can be claimed.
    fn room(&self, tail: usize) -> Option<Self::Place>;

    /// The slot at `head`, if its value has been published and it can be claimed.
    fn value(&self, head: usize) -> Option<Self::Place>;

    /// There was no [`room`](Store::room) at `tail`, and yet it is not full. True: there may be some now; false: the
    /// slot is in somebody's hands.
    fn bring_room(&self, _tail: usize) -> bool {
        false
    }

    /// There was no [`value`](Store::value) at `head`, and yet it is not empty. As [`bring_room`](Store::bring_room).
    fn bring_value(&self, _head: usize) -> bool {
        false
    }

    /// Publishes a value in a slot.
    ///
    /// # Safety
    /// The caller has claimed it when `tail` was the word, and `place` is what it had found there.
    unsafe fn put(&self, tail: usize, place: Self::Place, value: Self::Value);

    /// Takes the value out of a slot, and frees it.
    ///
    /// # Safety
    /// The caller has claimed it when `head` was the word, and `place` is what it had found there.
    unsafe fn take(&self, head: usize, place: Self::Place) -> Self::Value;

    /// Whether all slots from `head` to `tail` are as many as there may be.
    fn is_full(&self, head: usize, tail: usize) -> bool;

    /// How many slots there are from `head` to `tail`.
    fn len(&self, head: usize, tail: usize) -> usize;

    fn capacity(&self) -> usize;
}
