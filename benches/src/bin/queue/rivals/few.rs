//! A bare array of at most `N` waiters, with one word that says who stands where: what a small representation between
//! "one in the word" and "list" could gain at best. It neither grows nor closes, and has one side.
//!
//! ```text
//!    version │ turns │ entering │ standing │ order of the slots:  standing, in order ┆ entering ┆ free
//! ```
//!
//! The word holds a permutation of the slots, so that any free slot serves any place in the order. Every transition is
//! one compare-exchange, and changes the version, against ABA: a word that is unchanged means that the slots
//! in use are, too.
//!
//! Two ways to enter, by `LOCK_FREE`:
//!
//! * *false*: the compare-exchange that joins comes first, the slot is written afterwards, by a plain store. One locked
//!   instruction to enter, one to leave; but a taker waits for a first in line that has not written yet. A slot
//!   is used by turns, odd and even: its turn is in the word and in what is written, so that old content is known.
//! * *true*: a slot is reserved, written, and joins then. Two locked instructions to enter, one to leave, and nobody
//!   waits for anybody; a thread that stops in the middle keeps one slot of N.
//!
//! Invariants:
//! 1. A slot that stands holds its node, or (not lock-free) is about to; nobody else writes it until it has left.
//! 2. Who changes the word from a state in which a slot stands to one in which it is free has that slot's node.
//!
//! Orderings: AcqRel on the word. The slot's store is Release and its load Acquire, as its node is published by it
//! where the word comes first.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::Backoff;

use super::{Node, Owned, Rival};

/// `N` is at most 8, and with 7 all is one cache line. Sixteen numbers of four bits would leave no room for anything
/// else: see [`tickets`](super::tickets).
#[repr(align(64))]
pub(crate) struct Few<const N: usize, const LOCK_FREE: bool> {
    word: AtomicU64,
    slots: [AtomicUsize; N],
}

/// A waiter, its slot, and what it wrote there when it entered last.
pub(crate) struct Seated {
    node: Owned<()>,
    slot: u64,
    wrote: usize,
}

/// The word of an array of `N`.
#[derive(Clone, Copy, PartialEq, Eq)]
struct State<const N: usize>(u64);

impl<const N: usize> State<N> {
    /// Bits of a slot's number.
    const BITS: u32 = usize::BITS - (N - 1).leading_zeros();
    const SLOT: u64 = (1 << Self::BITS) - 1;
    const ORDER: u64 = (1 << (Self::BITS * N as u32)) - 1;
    /// 1 in each place of the order.
    const ONES: u64 = Self::ORDER / Self::SLOT;
    const TOPS: u64 = Self::ONES << (Self::BITS - 1);
    const STANDING: u32 = Self::BITS * N as u32;
    const ENTERING: u32 = Self::STANDING + 4;
    const TURNS: u32 = Self::ENTERING + 4;
    const VERSION: u32 = Self::TURNS + N as u32;

    fn new() -> Self {
        const { assert!(N >= 2 && N <= 8 && Self::VERSION <= 44) };
        State((0..N as u64).map(|slot| slot << (Self::BITS * slot as u32)).sum())
    }

    fn standing(self) -> u32 {
        (self.0 >> Self::STANDING) as u32 & 15
    }

    fn entering(self) -> u32 {
        (self.0 >> Self::ENTERING) as u32 & 15
    }

    fn slot(self, place: u32) -> u64 {
        (self.0 >> (Self::BITS * place)) & Self::SLOT
    }

    /// The slot's turn: 0 or 1.
    fn turn(self, slot: u64) -> usize {
        (self.0 >> (Self::TURNS + slot as u32)) as usize & 1
    }

    /// Where in the order a slot stands.
    fn place(self, slot: u64) -> u32 {
        let differs = (self.0 & Self::ORDER) ^ (Self::ONES * slot);
        // The lowest place that is zero; borrows can only fake higher ones.
        let zero = differs.wrapping_sub(Self::ONES) & !differs & Self::TOPS;
        zero.trailing_zeros() / Self::BITS
    }

    /// The first of the free slots joins at the back.
    fn join(self) -> Self {
        let slot = self.slot(self.standing());
        let turned = self.0 ^ 1 << (Self::TURNS + slot as u32);
        State(turned.wrapping_add(1 << Self::VERSION | 1 << Self::STANDING))
    }

    /// The first of the free slots is reserved.
    fn reserve(self) -> Self {
        State(self.0.wrapping_add(1 << Self::VERSION | 1 << Self::ENTERING))
    }

    /// A reserved slot joins at the back.
    fn join_reserved(self, slot: u64) -> Self {
        let (from, to) = (self.place(slot), self.standing());
        let mut next = self.0;
        if from != to {
            // Those reserved before it move up by one place.
            let below = low(Self::BITS * to);
            let moved = low(Self::BITS * (from + 1)) & !below;
            let rest = ((next & moved) << Self::BITS) & moved;
            next = (next & !moved) | rest | slot << (Self::BITS * to);
        }
        State(next.wrapping_add((1 << Self::VERSION) + (1 << Self::STANDING) - (1 << Self::ENTERING)))
    }

    /// The slot in `place` leaves, and becomes the last of the free ones.
    fn leave(self, place: u32) -> Self {
        let slot = self.slot(place);
        let below = low(Self::BITS * place);
        let moved = Self::ORDER & !below;
        let rest = ((self.0 & moved) >> Self::BITS) & moved;
        let order = (self.0 & below) | rest | slot << (Self::BITS * (N as u32 - 1));
        let next = (self.0 & !Self::ORDER) | order;
        State(next.wrapping_add((1 << Self::VERSION) - (1 << Self::STANDING)))
    }
}

/// The lowest `bits` bits.
fn low(bits: u32) -> u64 {
    (1 << bits) - 1
}

impl<const N: usize, const LOCK_FREE: bool> Few<N, LOCK_FREE> {
    fn state(&self) -> State<N> {
        State(self.word.load(Ordering::Acquire))
    }

    fn change(&self, from: State<N>, to: State<N>) -> Result<(), State<N>> {
        let changed = self.word.compare_exchange_weak(from.0, to.0, Ordering::AcqRel, Ordering::Acquire);
        changed.map(drop).map_err(State)
    }
}

impl<const N: usize, const LOCK_FREE: bool> Rival for Few<N, LOCK_FREE> {
    const NAME: &'static str = match (N, LOCK_FREE) {
        (4, false) => "few 4",
        (7, false) => "few 7",
        (8, false) => "few 8",
        (4, true) => "few 4, lock-free",
        (8, true) => "few 8, lock-free",
        _ => "few",
    };
    const MOST: usize = N;

    type Waiter = Seated;

    fn new() -> Self {
        Few { word: AtomicU64::new(State::<N>::new().0), slots: [const { AtomicUsize::new(0) }; N] }
    }

    fn waiter() -> Seated {
        Seated { node: Owned::new(()), slot: 0, wrote: 0 }
    }

    fn enter(&self, waiter: &mut Seated) {
        waiter.node.node().open();
        let address = waiter.node.as_ptr().as_ptr().expose_provenance();
        let mut state = self.state();
        if !LOCK_FREE {
            let next = loop {
                assert!((state.standing() as usize) < N, "there is room");
                let next = state.join();
                match self.change(state, next) {
                    Ok(()) => break next,
                    Err(now) => state = now,
                }
            };
            waiter.slot = state.slot(state.standing());
            waiter.wrote = address | next.turn(waiter.slot);
            self.slots[waiter.slot as usize].store(waiter.wrote, Ordering::Release);
            return;
        }
        loop {
            let used = state.standing() + state.entering();
            assert!((used as usize) < N, "there is room");
            match self.change(state, state.reserve()) {
                Ok(()) => break waiter.slot = state.slot(used),
                Err(now) => state = now,
            }
        }
        waiter.wrote = address;
        self.slots[waiter.slot as usize].store(address, Ordering::Release);
        state = state.reserve();
        while let Err(now) = self.change(state, state.join_reserved(waiter.slot)) {
            state = now;
        }
    }

    fn take(&self) -> bool {
        let backoff = Backoff::new();
        let mut state = self.state();
        let found = loop {
            if state.standing() == 0 {
                return false;
            }
            let slot = state.slot(0);
            let found = self.slots[slot as usize].load(Ordering::Acquire);
            if !LOCK_FREE && found & 1 != state.turn(slot) {
                backoff.snooze();
                state = self.state();
                continue;
            }
            match self.change(state, state.leave(0)) {
                Ok(()) => break found & !1,
                Err(now) => state = now,
            }
        };
        let node =
            NonNull::new(ptr::with_exposed_provenance_mut(found)).expect("a slot that stands holds a node");
        // SAFETY: just taken out.
        unsafe { Node::<()>::claim(node) };
        true
    }

    fn remove(&self, waiter: &mut Seated) -> bool {
        let mut state = self.state();
        loop {
            let place = state.place(waiter.slot);
            // The turn tells who stands there from one that has joined since and is about to write.
            let ours = place < state.standing()
                && self.slots[waiter.slot as usize].load(Ordering::Acquire) == waiter.wrote
                && (LOCK_FREE || state.turn(waiter.slot) == waiter.wrote & 1);
            if !ours {
                return false;
            }
            match self.change(state, state.leave(place)) {
                Ok(()) => return true,
                Err(now) => state = now,
            }
        }
    }

    fn waits(waiter: &Seated) -> bool {
        waiter.node.node().is_open()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The order, as far as slots stand.
    fn standing<const N: usize>(state: State<N>) -> Vec<u64> {
        (0..state.standing()).map(|place| state.slot(place)).collect()
    }

    #[test]
    fn the_order_stays_a_permutation_of_the_slots() {
        fn check<const N: usize>() {
            let mut random = 1_u64;
            let mut state = State::<N>::new();
            let (mut model, mut reserved) = (Vec::new(), Vec::new());
            for _ in 0..10_000 {
                random = random.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
                let choice = (random >> 33) as usize;
                match choice % 4 {
                    0 if reserved.is_empty() && model.len() < N => {
                        model.push(state.slot(state.standing()));
                        state = state.join();
                    }
                    1 if model.len() + reserved.len() < N => {
                        reserved.push(state.slot(state.standing() + state.entering()));
                        state = state.reserve();
                    }
                    2 if !reserved.is_empty() => {
                        let slot = reserved.remove(choice / 4 % reserved.len());
                        state = state.join_reserved(slot);
                        model.push(slot);
                    }
                    3 if !model.is_empty() => {
                        let place = choice / 4 % model.len();
                        assert_eq!(state.place(model[place]), place as u32);
                        state = state.leave(place as u32);
                        model.remove(place);
                    }
                    _ => continue,
                }
                assert_eq!(standing(state), model);
                assert_eq!(state.entering() as usize, reserved.len());
                let mut slots: Vec<u64> = (0..N as u32).map(|place| state.slot(place)).collect();
                slots.sort_unstable();
                assert!(slots.into_iter().eq(0..N as u64), "each slot is in the order once");
            }
        }
        check::<4>();
        check::<7>();
        check::<8>();
    }
}
