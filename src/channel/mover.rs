//! The mover of a [buffer](super::buffer): how waiting senders get the room that receivers make.
//!
//! Whoever makes room while senders wait moves their values into it, first come first served. One party at a
//! time does so, under the count `moving`: a party that finds it above zero has only to add itself, and the one
//! inside goes round once more. This is not lock-free: a mover that is preempted keeps the waiting senders
//! waiting, and newcomers with them; receivers go on.
//!
//! When it finds nobody in the line the mover lifts the gate: it clears `KNOCK` in both words, looks into the line
//! again, and then clears `GATE` and `SENDERS` only if nobody has knocked. So from the moment at which a sender
//! has knocked at both until it is served, both flags are up.

use super::buffer::{Buffer, CLAIM, CLOSED, GATE, KNOCK, RECEIVERS, SENDERS};
use super::store::Store;
use crate::prim::Ordering;
use crate::wait::{Batch, Nudged, Popped};

/// Waiting senders that one round of the mover serves before their wakers are called.
const ROUND: usize = 8;

/// What a round of the mover came to.
enum Moved<T> {
    /// All that could be moved.
    All,
    More,
    /// The channel was closed, and a sender that was about to be served has left its value behind.
    Left {
        _value: Option<T>,
    },
}

impl<S: Store> Buffer<S> {
    /// Moves waiting senders' values into free slots. `Again`: there is room by position, which a receiver has
    /// claimed and not freed yet (or the caller's value was moved).
    pub(super) fn nudge_send(&self) -> Nudged {
        self.move_waiting();
        let tail = self.store.tail().load(Ordering::Acquire);
        let head = self.store.head().load(Ordering::Acquire);
        if tail & CLOSED != 0 || self.store.is_full(head, tail) { Nudged::Settled } else { Nudged::Again }
    }

    #[cold]
    #[inline(never)]
    pub(super) fn move_waiting(&self) {
        /// Goes on also when a waker panics.
        struct Rest<'a, S: Store>(&'a Buffer<S>);
        impl<S: Store> Drop for Rest<'_, S> {
            fn drop(&mut self) {
                self.0.move_waiting();
                self.0.drain_if_discarded();
            }
        }
        loop {
            // ORDERING: one location: whoever adds itself to a mover's count is seen when that one leaves.
            if self.moving.fetch_add(1, Ordering::AcqRel) != 0 {
                return;
            }
            let mut wakes = Batch::new();
            let moved = self.move_round(&mut wakes);
            let parties = self.moving.swap(0, Ordering::AcqRel);
            // Foreign code runs from here on only.
            let rest = Rest(self);
            let more = matches!(moved, Moved::More);
            drop(moved);
            drop(wakes);
            std::mem::forget(rest);
            self.drain_if_discarded();
            if !more && (parties == 1 || cfg!(leno_bug = "mover_leaves_early")) {
                return;
            }
        }
    }

    /// Moves values, [`ROUND`] at most. No foreign code runs here.
    fn move_round(&self, wakes: &mut Batch) -> Moved<S::Value> {
        for _ in 0..ROUND {
            if self.senders.is_empty() && self.lift_gate() {
                return Moved::All;
            }
            let tail = self.store.tail().fetch_or(GATE, Ordering::AcqRel) | GATE;
            if tail & CLOSED != 0 {
                return Moved::All;
            }
            let Some(place) = self.store.room(tail) else {
                let head = self.store.head().load(Ordering::Acquire);
                if !self.store.is_full(head, tail) && self.store.bring_room(tail) {
                    continue;
                }
                // Whoever made the room that is not free yet comes by later, or the senders look (invariant 5).
                return Moved::All;
            };
            let Some(mut claim) = self.senders.pop().and_then(Popped::claim) else { continue };
            // SAFETY: senders of this channel send its values.
            let value = unsafe { claim.take::<S::Value>() };
            let Ok(tail) = self.claim_through_gate(tail) else {
                // Closed meanwhile: the sender finds out by itself, with its value.
                // SAFETY: it was just emptied.
                unsafe { claim.put(value) };
                return match claim.notify() {
                    Ok(waker) => {
                        wakes.push(waker);
                        Moved::All
                    }
                    Err(mut abandoned) => {
                        // SAFETY: it was just put.
                        let left = unsafe { abandoned.take() };
                        wakes.keep(abandoned);
                        Moved::Left { _value: left }
                    }
                };
            };
            // SAFETY: just claimed; only flags have changed since the look (invariant 2).
            unsafe { self.store.put(tail, place, value) };
            if tail & RECEIVERS != 0 {
                self.receivers.notify(self, wakes);
            }
            match claim.complete() {
                Ok(waker) => wakes.push(waker),
                Err(abandoned) => wakes.keep(abandoned),
            }
        }
        Moved::More
    }

    /// Lifts the gate, as nobody waits. False: somebody has joined.
    fn lift_gate(&self) -> bool {
        let (tail_word, head_word) = (self.store.tail(), self.store.head());
        let mut tail = tail_word.fetch_and(!KNOCK, Ordering::AcqRel) & !KNOCK;
        let mut head = head_word.fetch_and(!KNOCK, Ordering::AcqRel) & !KNOCK;
        // ORDERING: a sender joins before it knocks: one that knocked before the clearing is in the line now.
        if !self.senders.is_empty() && !cfg!(leno_bug = "lift_without_look") {
            return false;
        }
        let knock = if cfg!(leno_bug = "lift_ignores_knock") { 0 } else { KNOCK };
        while tail & knock == 0 {
            match tail_word.compare_exchange_weak(tail, tail & !GATE, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => tail = now,
            }
        }
        while tail & knock == 0 && head & knock == 0 {
            match head_word.compare_exchange_weak(head, head & !SENDERS, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        false
    }

    /// Claims the slot at `tail` for the mover: only flags can change meanwhile (invariant 2). `Err`: closed.
    fn claim_through_gate(&self, mut tail: usize) -> Result<usize, ()> {
        let word = self.store.tail();
        while tail & CLOSED == 0 {
            match word.compare_exchange_weak(tail, self.store.next(tail), CLAIM, Ordering::Acquire) {
                Ok(_) => return Ok(tail),
                Err(now) => tail = now,
            }
        }
        Err(())
    }
}
