//! The claim word: one atomic word per operation, and the only truth about who may complete it.
//!
//! ```text
//!             open                       claim(b)                  done(b)
//!   BUSY ─────────────▶ OPEN ───────────────────────▶ CLAIMED(b) ─────────▶ DONE(b)
//!    ▲ ▲                 │                                │  ▲
//!    │ └─────────────────┘                       notified │  │ claim(b)
//!    │        busy                                        ▼  │
//!    └───────────────────────────────────────────────── NOTIFIED
//!             busy_all
//!                        any state ──leave──▶ GONE
//! ```
//!
//! | state | set by | means |
//! |---|---|---|
//! | `OPEN` | owner ([`Word::open`]) | registered; a peer may claim |
//! | `CLAIMED(b)` | peer ([`Word::claim`]) | that peer alone may touch the parker, and the payload of branch `b` |
//! | `DONE(b)` | that peer ([`Word::done`]) | branch `b` happened; its outcome is complete and the owner's |
//! | `NOTIFIED` | that peer ([`Word::notified`]) | nothing was handed over, but it is worth looking; the parker is taken |
//! | `BUSY` | owner ([`Word::busy`]) | the owner registers, looks, or polls foreign futures |
//! | `GONE` | owner ([`Word::leave`]) | the owner left; whoever holds the claim finishes the job |
//!
//! `MISSED` is a mark on `BUSY` and `CLAIMED`: a peer found the operation there, has taken its node out of the
//! queue, and went on as if nobody waited. An owner that wants to open is refused then and looks again
//! ([`Word::open`]); one that is notified looks anyway, so that state needs no mark.
//!
//! Progress: every method is lock-free; a failed compare-exchange means that another party moved the word.
//!
//! Orderings: every change is an `AcqRel` read-modify-write on this one location, so each party that changes the
//! word sees all that every earlier one did before its own change. No second location is involved, and no
//! fence. A peer always *changes* the word when it meets an operation, also when it only leaves a mark: a plain
//! load could miss an owner that is about to look elsewhere.

use crate::prim::{self, AtomicUsize, Ordering};

const STATE: usize = 0b111;
const OPEN: usize = 0;
const CLAIMED: usize = 1;
const NOTIFIED: usize = 2;
const BUSY: usize = 3;
const DONE: usize = 4;
const GONE: usize = 5;
const MISSED: usize = 0b1000;
const BRANCH_SHIFT: u32 = 4;

/// A claim word's state, without the mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Open,
    Claimed(usize),
    Notified,
    Busy,
    Done(usize),
    Gone,
}

/// What became of a peer's claim.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Claimed {
    /// The operation is the peer's to complete or to notify.
    Yes,
    /// The operation is in other hands; the mark was left.
    Missed,
    /// The operation is over.
    Over,
}

/// What became of an owner's wish to have the operation to itself.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Busied {
    /// The word is `BUSY`.
    Yes,
    /// It is worth looking; the word is as it was.
    Notified,
    /// A peer is in the middle of it and will wake the owner.
    Claimed,
    /// Branch `b` is done.
    Done(usize),
}

/// How the word stood when its owner left.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Left {
    pub(crate) state: State,
    pub(crate) missed: bool,
}

#[derive(Debug)]
pub(crate) struct Word(AtomicUsize);

impl Word {
    pub(crate) fn new(open: bool) -> Self {
        Word(AtomicUsize::new(if open { OPEN } else { BUSY }))
    }

    /// Sets the word of an operation that no peer can reach.
    pub(crate) fn reset(&self, open: bool) {
        // ORDERING: Relaxed; the node is published to peers by the queue that it enters afterwards.
        self.0.store(if open { OPEN } else { BUSY }, Ordering::Relaxed);
    }

    pub(crate) fn state(&self) -> State {
        // ORDERING: Acquire pairs with `done` and `notified`: their outcome is visible to the owner.
        decode(self.0.load(Ordering::Acquire))
    }

    /// Peer: OPEN or NOTIFIED → CLAIMED(branch); BUSY or CLAIMED → the same with the mark.
    ///
    /// BUSY is over in a moment, as a rule. The peer may be BUSY itself, as a select that this one has met as well: so each
    /// looks around for a moment of its own, and the one that is through with it first opens for the other.
    pub(crate) fn claim(&self, branch: usize) -> Claimed {
        let mut seen = self.0.load(Ordering::Acquire);
        if seen & STATE == BUSY {
            prim::spin_until(|| {
                seen = self.0.load(Ordering::Acquire);
                seen & STATE != BUSY
            });
        }
        loop {
            let (next, outcome) = match seen & STATE {
                OPEN | NOTIFIED => (CLAIMED | (branch << BRANCH_SHIFT), Claimed::Yes),
                BUSY | CLAIMED if cfg!(leno_bug = "claim_leaves_no_mark") => return Claimed::Missed,
                BUSY | CLAIMED => (seen | MISSED, Claimed::Missed),
                _ => return Claimed::Over,
            };
            match self.0.compare_exchange_weak(seen, next, CLAIM, Ordering::Acquire) {
                Ok(_) => return outcome,
                Err(now) => seen = now,
            }
        }
    }

    /// Peer: CLAIMED(branch) → DONE(branch). False: the owner is gone. True: the peer must not touch the
    /// operation any more.
    #[must_use]
    pub(crate) fn done(&self, branch: usize) -> bool {
        self.resolve(DONE | (branch << BRANCH_SHIFT))
    }

    /// Peer: CLAIMED(branch) → NOTIFIED. Returns as [`Word::done`].
    #[must_use]
    pub(crate) fn notified(&self) -> bool {
        self.resolve(NOTIFIED)
    }

    fn resolve(&self, next: usize) -> bool {
        // ORDERING: Acquire, also on failure: pairs with `leave`, before the peer takes the node over.
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            if seen & STATE == GONE {
                return false;
            }
            debug_assert_eq!(seen & STATE, CLAIMED);
            match self.0.compare_exchange_weak(seen, next, RESOLVE, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
    }

    /// Owner of a plain operation: OPEN → BUSY. (NOTIFIED is as good: no peer can reach it then.)
    pub(crate) fn busy(&self) -> Busied {
        self.busy_from(false)
    }

    /// Owner of a select: OPEN or NOTIFIED → BUSY.
    pub(crate) fn busy_all(&self) -> Busied {
        self.busy_from(true)
    }

    fn busy_from(&self, notified_too: bool) -> Busied {
        let mut seen = self.0.load(Ordering::Acquire);
        loop {
            match decode(seen) {
                State::Open => {}
                State::Notified if notified_too => {}
                State::Notified => return Busied::Notified,
                State::Done(branch) => return Busied::Done(branch),
                State::Claimed(_) => return Busied::Claimed,
                state @ (State::Busy | State::Gone) => unreachable!("the owner's word is {state:?}"),
            }
            match self.0.compare_exchange_weak(seen, BUSY, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => return Busied::Yes,
                Err(now) => seen = now,
            }
        }
    }

    /// Owner: BUSY → OPEN. False: a peer came by and left the mark, which is cleared; the word stays BUSY, and
    /// the owner has to look again.
    #[must_use]
    pub(crate) fn open(&self) -> bool {
        if cfg!(leno_bug = "open_ignores_missed") {
            self.0.swap(OPEN, Ordering::AcqRel);
            return true;
        }
        match self.0.compare_exchange(BUSY, OPEN, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => true,
            Err(seen) => {
                debug_assert_eq!(seen, BUSY | MISSED);
                // Marks can only be set, never added up, so nothing is lost between the two steps.
                self.0.swap(BUSY, Ordering::AcqRel);
                false
            }
        }
    }

    /// Owner: BUSY, with or without the mark → OPEN. For an owner that will look again in any case.
    pub(crate) fn open_anyway(&self) {
        self.0.swap(OPEN, Ordering::AcqRel);
    }

    /// Owner: any state → GONE.
    pub(crate) fn leave(&self) -> Left {
        let seen = self.0.swap(GONE, Ordering::AcqRel);
        Left { state: decode(seen), missed: seen & MISSED != 0 }
    }
}

/// Acquire: the peer sees the parker and the payload that the owner registered. Release: an owner that later
/// finds the mark sees that the node has left its queue.
const CLAIM: Ordering = if cfg!(leno_bug = "claim_relaxed") { Ordering::Relaxed } else { Ordering::AcqRel };

/// Release: pairs with `state` and `busy`; the owner sees the value that was handed over.
const RESOLVE: Ordering =
    if cfg!(leno_bug = "resolve_relaxed") { Ordering::Relaxed } else { Ordering::AcqRel };

fn decode(word: usize) -> State {
    match word & STATE {
        OPEN => State::Open,
        CLAIMED => State::Claimed(word >> BRANCH_SHIFT),
        NOTIFIED => State::Notified,
        BUSY => State::Busy,
        DONE => State::Done(word >> BRANCH_SHIFT),
        _ => State::Gone,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_claim_is_exclusive_and_leaves_the_mark() {
        let word = Word::new(true);
        assert_eq!(word.claim(3), Claimed::Yes);
        assert_eq!(word.claim(4), Claimed::Missed);
        assert_eq!(word.busy(), Busied::Claimed);
        assert!(word.done(3));
        assert_eq!(word.busy(), Busied::Done(3));
        assert_eq!(word.claim(4), Claimed::Over);
    }

    #[test]
    fn opening_is_refused_once_after_a_miss() {
        let word = Word::new(false);
        assert_eq!(word.claim(0), Claimed::Missed);
        assert!(!word.open());
        assert!(word.open());
        assert_eq!(word.state(), State::Open);
    }

    #[test]
    fn a_notified_operation_can_still_be_claimed() {
        let word = Word::new(true);
        assert_eq!(word.claim(0), Claimed::Yes);
        assert!(word.notified());
        assert_eq!(word.state(), State::Notified);
        assert_eq!(word.claim(1), Claimed::Yes);
        assert!(word.done(1));
        assert_eq!(word.state(), State::Done(1));
    }

    #[test]
    fn whoever_holds_the_claim_learns_that_the_owner_left() {
        let word = Word::new(true);
        assert_eq!(word.claim(0), Claimed::Yes);
        assert_eq!(word.leave(), Left { state: State::Claimed(0), missed: false });
        assert!(!word.done(0));
        assert!(!word.notified());
    }
}
