//! A bare array of `N` waiters, up to 16: as [`few`](super::few), but with the order in the slots.
//!
//! Sixteen slots have too many orders for one word. So the word says only which slots stand, and each slot holds a
//! ticket, the version of the word in which it joined. A taker reads the tickets of all that stand.
//!
//! ```text
//!    version │ turns │ standing          slot: ticket (version and turn), node
//! ```
//!
//! As in `few` without reserving: the compare-exchange that joins comes first and the slot is written afterwards, the
//! ticket last. A ticket of the wrong turn is old; a taker waits until it is written, for any of them could be the
//! first. Versions wrap: a waiter that stood for 2^31 changes of the word would lose its place.
//!
//! Orderings: as in `few`; the ticket is stored Release and loaded Acquire, and publishes the node.

use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crossbeam_utils::Backoff;

use super::{Node, Owned, Rival};

#[repr(align(64))]
pub(crate) struct Tickets<const N: usize> {
    word: AtomicU64,
    tickets: [AtomicU32; N],
    nodes: [AtomicUsize; N],
}

/// A waiter, its slot, and the ticket with which it entered last.
pub(crate) struct Seated {
    node: Owned<()>,
    slot: u32,
    ticket: u32,
}

const TURNS: u32 = 16;
const VERSION: u32 = 32;

/// The word in which `slot` joins.
fn join(word: u64, slot: u32) -> u64 {
    (word ^ (1 << slot | 1 << (TURNS + slot))).wrapping_add(1 << VERSION)
}

fn leave(word: u64, slot: u32) -> u64 {
    (word ^ 1 << slot).wrapping_add(1 << VERSION)
}

fn turn(word: u64, slot: u32) -> u32 {
    (word >> (TURNS + slot)) as u32 & 1
}

fn ticket(joined: u64, slot: u32) -> u32 {
    ((joined >> VERSION) as u32) << 1 | turn(joined, slot)
}

impl<const N: usize> Tickets<N> {
    const ALL: u64 = (1 << N) - 1;

    /// The slot in which the first stands; `Err`: one has yet to write its ticket.
    fn first(&self, word: u64) -> Result<u32, ()> {
        let now = ((word >> VERSION) as u32) << 1;
        let (mut standing, mut first, mut longest) = (word & Self::ALL, 0, 0);
        while standing != 0 {
            let slot = standing.trailing_zeros();
            let ticket = self.tickets[slot as usize].load(Ordering::Acquire);
            if ticket & 1 != turn(word, slot) {
                return Err(());
            }
            let since = (now | 1).wrapping_sub(ticket);
            if since >= longest {
                (first, longest) = (slot, since);
            }
            standing &= standing - 1;
        }
        Ok(first)
    }
}

impl<const N: usize> Rival for Tickets<N> {
    const NAME: &'static str = if N == 16 { "few 16" } else { "tickets" };
    const MOST: usize = N;

    type Waiter = Seated;

    fn new() -> Self {
        const { assert!(N <= 16) };
        Tickets {
            word: AtomicU64::new(0),
            tickets: [const { AtomicU32::new(0) }; N],
            nodes: [const { AtomicUsize::new(0) }; N],
        }
    }

    fn waiter() -> Seated {
        Seated { node: Owned::new(()), slot: 0, ticket: 0 }
    }

    fn enter(&self, waiter: &mut Seated) {
        waiter.node.node().open();
        let mut word = self.word.load(Ordering::Acquire);
        let joined = loop {
            assert!(word & Self::ALL != Self::ALL, "there is room");
            waiter.slot = (!word).trailing_zeros();
            let next = join(word, waiter.slot);
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break next,
                Err(now) => word = now,
            }
        };
        let slot = waiter.slot as usize;
        self.nodes[slot].store(waiter.node.as_ptr().as_ptr().expose_provenance(), Ordering::Relaxed);
        waiter.ticket = ticket(joined, waiter.slot);
        self.tickets[slot].store(waiter.ticket, Ordering::Release);
    }

    fn take(&self) -> bool {
        let backoff = Backoff::new();
        let mut word = self.word.load(Ordering::Acquire);
        let found = loop {
            if word & Self::ALL == 0 {
                return false;
            }
            let Ok(first) = self.first(word) else {
                backoff.snooze();
                word = self.word.load(Ordering::Acquire);
                continue;
            };
            let found = self.nodes[first as usize].load(Ordering::Relaxed);
            let next = leave(word, first);
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break found,
                Err(now) => word = now,
            }
        };
        let node =
            NonNull::new(ptr::with_exposed_provenance_mut(found)).expect("a slot that stands holds a node");
        // SAFETY: just taken out.
        unsafe { Node::<()>::claim(node) };
        true
    }

    fn remove(&self, waiter: &mut Seated) -> bool {
        let slot = waiter.slot;
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            // The turn tells who stands there from one that has joined since and is about to write.
            let ours = word & 1 << slot != 0
                && turn(word, slot) == waiter.ticket & 1
                && self.tickets[slot as usize].load(Ordering::Acquire) == waiter.ticket;
            if !ours {
                return false;
            }
            let next = leave(word, slot);
            match self.word.compare_exchange_weak(word, next, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => word = now,
            }
        }
    }

    fn waits(waiter: &Seated) -> bool {
        waiter.node.node().is_open()
    }
}
