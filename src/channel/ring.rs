//! A bounded buffer in a ring of stamped slots, after D. Vyukov's bounded MPMC queue, with waiting.
//!
//! ```text
//!   head ──▶ [ free ][ value ][ value ][ claimed ][ free ] …
//!                                        ▲ tail
//! ```
//!
//! A position is a lap and an index. A slot's stamp says whose turn it is: `p`, a sender at position `p`;
//! `p + 1`, a receiver at `p`; then `p + lap`, a sender one lap later. Claiming a slot is one compare-exchange of
//! `tail` (senders) or `head` (receivers); the value follows, then the stamp. So a slot can be *claimed but not
//! yet published*; nobody waits for it: an operation that needs it looks again later ([`Attempt::Again`]).
//!
//! # The words
//!
//! | bit | word | set by | means |
//! |---|---|---|---|
//! | `CLOSED` | tail | `close` | no value enters any more |
//! | `DISCARD` | tail | `discard` | nobody wants what is in flight: who publishes drops what there is |
//! | `RECEIVERS` | tail | a receiver that has joined its line | publishers have to notify (the [`Bell`]) |
//! | `GATE` | tail | a sender that has joined its line | newcomers may not overtake: only the mover pushes |
//! | `SENDERS` | head | the same | receivers have made room for somebody: call the mover |
//! | `KNOCK` | both | the same | somebody has joined since the mover cleared it: it may not lift the gate |
//!
//! # The mover
//!
//! Whoever makes room while senders wait moves their values into it, first come first served. One party at a
//! time does so, under the count `moving`: a party that finds it above zero has only to add itself, and the one
//! inside goes round once more. This is not lock-free: a mover that is preempted keeps the waiting senders
//! waiting, and newcomers with them; receivers go on.
//!
//! When it finds nobody in the line the mover lifts the gate: it clears `KNOCK` in both words, looks into the line
//! again, and then clears `GATE` and `SENDERS` only if nobody has knocked. So from the moment at which a sender
//! has knocked at both until it is served, both flags are up.
//!
//! # Invariants
//! 1. The slots from `head` to `tail` hold values, except those claimed and not yet published.
//! 2. With `GATE` set only the mover changes `tail`'s position, so a slot that it found free stays free.
//! 3. A receiver in the line with its word OPEN implies `RECEIVERS`, or a publisher inside `Line::notify`, or
//!    that the receiver is about to raise the bell and to look again.
//! 4. A sender in the line implies `GATE` and `SENDERS`, or that it is about to set them and to call the mover.
//! 5. Room that a receiver has claimed without having seen `SENDERS`, and not freed yet, is looked after by every
//!    sender that has joined since: it saw that the ring was not full, and calls the mover until it is.
//!
//! On 32-bit machines a position comes back after some 2^26 operations; an operation that is suspended for exactly
//! as long, between its look at a stamp and its compare-exchange, would take the one for the other.
//!
//! # Orderings
//!
//! Locked instructions: one per uncontended operation, the compare-exchange of `tail` in a send and of `head` in a
//! receive. A receiver and a publisher meet in `tail` alone, a sender and a receiver in `head` alone, two movers in
//! `moving` alone: each side changes that word, so one of them sees the other. The stamp's release store pairs with
//! the acquire load of the next claimant. A publisher looks for `DISCARD` after its stamp by a plain load; the
//! discarding party in turn waits for a slot that is about to be published, but not for ever: what both miss is
//! dropped with the ring.

use std::mem::MaybeUninit;

use crossbeam_utils::CachePadded;

use super::{RecvError, SendError};
use crate::prim::{AtomicUsize, Ordering, UnsafeCell};
use crate::task::thread;
use crate::wait::{Attempt, Batch, Bell, Closed, Detached, Enter, Line, Nudged, Popped, Waiter};

/// Flags of `tail`.
const CLOSED: usize = 0b0_0001;
const RECEIVERS: usize = 0b0_0010;
const GATE: usize = 0b0_0100;
const DISCARD: usize = 0b0_1000;
/// Flag of `head`.
const SENDERS: usize = 0b0_0001;
/// Flag of both.
const KNOCK: usize = 0b1_0000;

const FLAGS: usize = 0b1_1111;
/// One position further; also the distance from a sender's turn to the receiver's.
const ONE: usize = 0b10_0000;

/// Waiting senders that one round of the mover serves before their wakers are called.
const ROUND: usize = 8;

/// How long a discard waits for a slot that is claimed but not yet published.
const PATIENCE: u32 = 16;

pub(super) struct Ring<T> {
    head: CachePadded<AtomicUsize>,
    tail: CachePadded<AtomicUsize>,
    slots: Box<[Slot<T>]>,
    lap: usize,
    moving: AtomicUsize,
    receivers: Line,
    senders: Line,
}

struct Slot<T> {
    stamp: AtomicUsize,
    value: UnsafeCell<MaybeUninit<T>>,
}

/// What a round of the mover came to.
enum Moved<T> {
    /// All that could be moved.
    All,
    More,
    /// The ring was closed, and a sender that was about to be served has left its value behind.
    Left {
        _value: Option<T>,
    },
}

/// A look at the front or the back of the ring.
enum Look {
    /// The slot can be claimed.
    Turn,
    /// Full, or empty.
    Wait,
    Again,
    Closed,
}

impl<T> Ring<T> {
    /// The largest capacity that a ring can have.
    const MAX: usize = 1024;

    /// The most memory that is taken at once.
    const MAX_BYTES: usize = 256 << 10;

    /// Whether a ring is the right buffer for this capacity.
    pub(super) fn suits(capacity: usize) -> bool {
        (1..=Self::MAX).contains(&capacity) && capacity * size_of::<T>() <= Self::MAX_BYTES
    }

    pub(super) fn new(capacity: usize) -> Self {
        debug_assert!(Self::suits(capacity));
        let slot = |index: usize| Slot {
            stamp: AtomicUsize::new(index * ONE),
            value: UnsafeCell::new(MaybeUninit::uninit()),
        };
        Ring {
            head: CachePadded::new(AtomicUsize::new(0)),
            tail: CachePadded::new(AtomicUsize::new(0)),
            slots: (0..capacity).map(slot).collect(),
            lap: (capacity + 1).next_power_of_two() * ONE,
            moving: AtomicUsize::new(0),
            receivers: Line::new(),
            senders: Line::new(),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.slots.len()
    }

    #[inline]
    fn index(&self, word: usize) -> usize {
        (word & (self.lap - 1)) / ONE
    }

    #[inline]
    fn slot(&self, word: usize) -> &Slot<T> {
        let index = self.index(word);
        debug_assert!(index < self.slots.len());
        // SAFETY: `next` is the only way to a new position, and keeps the index below the capacity.
        unsafe { self.slots.get_unchecked(index) }
    }

    /// The word with its position moved on by one; the flags stay.
    #[inline]
    fn next(&self, word: usize) -> usize {
        if self.index(word) + 1 < self.slots.len() {
            word.wrapping_add(ONE)
        } else {
            (word & !(self.lap - 1)).wrapping_add(self.lap) | (word & FLAGS)
        }
    }

    fn look_at_tail(&self, tail: usize) -> Look {
        let position = tail & !FLAGS;
        // ORDERING: Acquire pairs with the stamp of `pop`: the value before was taken out.
        let stamp = self.slot(tail).stamp.load(Ordering::Acquire);
        if stamp == position {
            return Look::Turn;
        }
        let head = self.head.load(Ordering::Acquire) & !FLAGS;
        if head.wrapping_add(self.lap) == position { Look::Wait } else { Look::Again }
    }

    fn look_at_head(&self, head: usize) -> Look {
        let position = head & !FLAGS;
        // ORDERING: Acquire pairs with the stamp of `publish`: the value is there.
        let stamp = self.slot(head).stamp.load(Ordering::Acquire);
        if stamp == position.wrapping_add(ONE) {
            return Look::Turn;
        }
        let tail = self.tail.load(Ordering::Acquire);
        match tail & !FLAGS == position {
            true if tail & CLOSED != 0 => Look::Closed,
            true => Look::Wait,
            false => Look::Again,
        }
    }

    #[inline]
    pub(super) fn try_send(&self, value: &mut Option<T>) -> Attempt<Result<(), SendError<T>>> {
        let tail = self.tail.load(Ordering::Acquire);
        // ORDERING: as in `look_at_tail`.
        if tail & (CLOSED | GATE) == 0
            && self.slot(tail).stamp.load(Ordering::Acquire) == tail & !FLAGS
            && value.is_some()
            && self.tail.compare_exchange(tail, self.next(tail), CLAIM, Ordering::Relaxed).is_ok()
        {
            if let Some(value) = value.take() {
                self.publish(tail, value);
            }
            return Attempt::Ready(Ok(()));
        }
        self.try_send_slowly(value)
    }

    /// When something is in the way.
    #[cold]
    #[inline(never)]
    fn try_send_slowly(&self, value: &mut Option<T>) -> Attempt<Result<(), SendError<T>>> {
        let mut tail = self.tail.load(Ordering::Acquire);
        loop {
            if tail & CLOSED != 0 {
                let value = value.take().expect("a send has a value until it is done");
                return Attempt::Ready(Err(SendError(value)));
            }
            if tail & GATE != 0 {
                if !self.senders.is_empty() {
                    return Attempt::Wait;
                }
                // Those for whom it was set have left: the mover lifts it.
                self.move_waiting();
                tail = self.tail.load(Ordering::Acquire);
                if tail & GATE != 0 {
                    return Attempt::Wait;
                }
                continue;
            }
            let found = self.look_at_tail(tail);
            if let Look::Turn = found {
                match self.tail.compare_exchange_weak(tail, self.next(tail), CLAIM, Ordering::Acquire) {
                    Ok(_) => {
                        let value = value.take().expect("a send has a value until it is done");
                        self.publish(tail, value);
                        return Attempt::Ready(Ok(()));
                    }
                    Err(now) => tail = now,
                }
                continue;
            }
            let now = self.tail.load(Ordering::Acquire);
            if now == tail {
                return if let Look::Again = found { Attempt::Again } else { Attempt::Wait };
            }
            tail = now;
        }
    }

    /// Fills the slot that was claimed when `tail` was the word.
    #[inline]
    fn publish(&self, tail: usize, value: T) {
        self.fill(tail, value);
        if tail & RECEIVERS != 0 {
            self.notify_receivers();
        }
        self.drain_if_discarded();
    }

    #[inline]
    fn drain_if_discarded(&self) {
        if self.tail.load(Ordering::Acquire) & DISCARD != 0 {
            self.drain();
        }
    }

    #[inline]
    fn fill(&self, tail: usize, value: T) {
        let slot = self.slot(tail);
        // SAFETY: the slot was claimed (invariant 1) and is free: its stamp said so.
        slot.value.with_mut(|place| unsafe { (*place).write(value) });
        // ORDERING: pairs with `look_at_head`.
        slot.stamp.store((tail & !FLAGS).wrapping_add(ONE), PUBLISH);
    }

    #[cold]
    #[inline(never)]
    fn notify_receivers(&self) {
        let mut wakes = Batch::new();
        self.receivers.notify(self, &mut wakes);
    }

    #[inline]
    pub(super) fn try_recv(&self) -> Attempt<Result<T, RecvError>> {
        let head = self.head.load(Ordering::Acquire);
        // ORDERING: as in `look_at_head`.
        if self.slot(head).stamp.load(Ordering::Acquire) == (head & !FLAGS).wrapping_add(ONE)
            && self.head.compare_exchange(head, self.next(head), CLAIM, Ordering::Relaxed).is_ok()
        {
            return Attempt::Ready(Ok(self.received(head)));
        }
        self.try_recv_slowly()
    }

    /// Takes the value of the slot that was claimed when `head` was the word, and lets waiting senders move up.
    #[inline]
    fn received(&self, head: usize) -> T {
        let value = self.empty(head);
        if head & SENDERS != 0 {
            self.move_waiting();
        }
        value
    }

    /// When something is in the way.
    #[cold]
    #[inline(never)]
    fn try_recv_slowly(&self) -> Attempt<Result<T, RecvError>> {
        match self.pop() {
            Ok(head) => Attempt::Ready(Ok(self.received(head))),
            Err(Look::Closed) => Attempt::Ready(Err(RecvError)),
            Err(Look::Again) => Attempt::Again,
            Err(_) => Attempt::Wait,
        }
    }

    /// Takes the value out of the slot that was claimed when `head` was the word, and frees it.
    #[inline]
    fn empty(&self, head: usize) -> T {
        let slot = self.slot(head);
        // SAFETY: the slot was claimed, and its stamp said that it holds a value.
        let value = slot.value.with(|place| unsafe { (*place).assume_init_read() });
        // ORDERING: pairs with `look_at_tail`.
        slot.stamp.store((head & !FLAGS).wrapping_add(self.lap), PUBLISH);
        value
    }

    /// Claims the slot of the first value; gives the word as it was.
    fn pop(&self) -> Result<usize, Look> {
        let mut head = self.head.load(Ordering::Acquire);
        loop {
            let found = self.look_at_head(head);
            if let Look::Turn = found {
                match self.head.compare_exchange_weak(head, self.next(head), CLAIM, Ordering::Acquire) {
                    Ok(_) => return Ok(head),
                    Err(now) => head = now,
                }
                continue;
            }
            let now = self.head.load(Ordering::Acquire);
            if now == head {
                return Err(found);
            }
            head = now;
        }
    }

    /// # Safety
    /// As for [`Line::join`].
    pub(super) unsafe fn enter_recv(&self, waiter: &Waiter) -> Enter<Result<T, RecvError>> {
        // SAFETY: the caller's promise.
        if let Err(Closed) = unsafe { self.receivers.join(waiter) } {
            return Enter::Refused;
        }
        if cfg!(leno_bug = "no_recheck_recv") {
            self.tail.fetch_or(RECEIVERS, Ordering::AcqRel);
            return Enter::Waits;
        }
        // ORDERING: one location: a publisher's compare-exchange of `tail` comes before this, and is seen here, or
        // after it, and then sees the bell.
        let tail = self.tail.fetch_or(RECEIVERS, Ordering::AcqRel);
        let head = self.head.load(Ordering::Acquire);
        if tail & !FLAGS == head & !FLAGS { Enter::Waits } else { Enter::Look }
    }

    /// # Safety
    /// As for [`Line::join`]; the node holds the value.
    pub(super) unsafe fn enter_send(&self, waiter: &Waiter) -> Enter<Result<(), SendError<T>>> {
        // SAFETY: the caller's promise.
        if let Err(Closed) = unsafe { self.senders.join(waiter) } {
            return Enter::Refused;
        }
        let tail = self.tail.fetch_or(GATE | KNOCK, Ordering::AcqRel);
        // ORDERING: one location: a receiver's compare-exchange of `head` comes before this, and its room is seen
        // here, or after it, and then it sees `SENDERS` and calls the mover.
        let head = self.head.fetch_or(SENDERS | KNOCK, Ordering::AcqRel);
        if self.is_full_at(head, tail) || cfg!(leno_bug = "no_recheck_send") {
            Enter::Waits
        } else {
            Enter::Look
        }
    }

    fn is_full_at(&self, head: usize, tail: usize) -> bool {
        (head & !FLAGS).wrapping_add(self.lap) == tail & !FLAGS
    }

    /// Moves waiting senders' values into free slots. `Again`: there is room by position, which a receiver has
    /// claimed and not freed yet (or the caller's value was moved).
    pub(super) fn nudge_send(&self) -> Nudged {
        self.move_waiting();
        let tail = self.tail.load(Ordering::Acquire);
        if tail & CLOSED != 0 || self.is_full_at(self.head.load(Ordering::Acquire), tail) {
            Nudged::Settled
        } else {
            Nudged::Again
        }
    }

    #[cold]
    #[inline(never)]
    fn move_waiting(&self) {
        /// Goes on also when a waker panics.
        struct Rest<'a, T>(&'a Ring<T>);
        impl<T> Drop for Rest<'_, T> {
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
    fn move_round(&self, wakes: &mut Batch) -> Moved<T> {
        for _ in 0..ROUND {
            if self.senders.is_empty() && self.lift_gate() {
                return Moved::All;
            }
            let tail = self.tail.fetch_or(GATE, Ordering::AcqRel) | GATE;
            if tail & CLOSED != 0 || !matches!(self.look_at_tail(tail), Look::Turn) {
                // Whoever made the room that is not free yet comes by later, or the senders look (invariant 5).
                return Moved::All;
            }
            let Some(mut claim) = self.senders.pop().and_then(Popped::claim) else { continue };
            // SAFETY: senders of this channel send a `T`.
            let value = unsafe { claim.take::<T>() };
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
            self.fill(tail, value);
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
        let mut tail = self.tail.fetch_and(!KNOCK, Ordering::AcqRel) & !KNOCK;
        let mut head = self.head.fetch_and(!KNOCK, Ordering::AcqRel) & !KNOCK;
        // ORDERING: a sender joins before it knocks: one that knocked before the clearing is in the line now.
        if !self.senders.is_empty() && !cfg!(leno_bug = "lift_without_look") {
            return false;
        }
        let knock = if cfg!(leno_bug = "lift_ignores_knock") { 0 } else { KNOCK };
        while tail & knock == 0 {
            match self.tail.compare_exchange_weak(tail, tail & !GATE, Ordering::AcqRel, Ordering::Acquire) {
                Ok(_) => break,
                Err(now) => tail = now,
            }
        }
        while tail & knock == 0 && head & knock == 0 {
            match self.head.compare_exchange_weak(head, head & !SENDERS, Ordering::AcqRel, Ordering::Acquire)
            {
                Ok(_) => return true,
                Err(now) => head = now,
            }
        }
        false
    }

    /// Claims the slot at `tail` for the mover: only flags can change meanwhile (invariant 2). `Err`: closed.
    fn claim_through_gate(&self, mut tail: usize) -> Result<usize, ()> {
        while tail & CLOSED == 0 {
            match self.tail.compare_exchange_weak(tail, self.next(tail), CLAIM, Ordering::Acquire) {
                Ok(_) => return Ok(tail),
                Err(now) => tail = now,
            }
        }
        Err(())
    }

    /// # Safety
    /// As for [`Line::remove`].
    pub(super) unsafe fn remove_recv(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.receivers.remove(waiter.as_ref()) }
    }

    /// # Safety
    /// As for [`Line::remove`].
    pub(super) unsafe fn remove_send(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.senders.remove(waiter.as_ref()) }
    }

    /// A receiver that was notified leaves without having taken anything.
    pub(super) fn pass_on_recv(&self) {
        if self.len() > 0 {
            self.notify_receivers();
        }
    }

    /// The same of a sender.
    pub(super) fn pass_on_send(&self) {
        self.move_waiting();
    }

    /// Whether this call was the first to close it.
    pub(super) fn close(&self) -> bool {
        self.tail.fetch_or(CLOSED, Ordering::AcqRel) & CLOSED == 0
    }

    /// Takes everybody out of both lines.
    pub(super) fn detach(&self) -> [Option<Detached>; 2] {
        [self.receivers.close(), self.senders.close()]
    }

    /// Drops all values, now and as they are published; the ring is closed.
    pub(super) fn discard(&self) {
        self.tail.fetch_or(DISCARD, Ordering::AcqRel);
        self.drain();
    }

    /// A value's drop that panics leaves the rest to be dropped all the same.
    fn drain(&self) {
        struct Rest<'a, T>(&'a Ring<T>);
        impl<T> Rest<'_, T> {
            fn drain(&self) {
                let mut pauses = 0;
                loop {
                    match self.0.pop() {
                        Ok(head) => drop(self.0.empty(head)),
                        Err(Look::Again) if pauses < PATIENCE => {
                            thread::pause(pauses);
                            pauses += 1;
                        }
                        Err(_) => return,
                    }
                }
            }
        }
        impl<T> Drop for Rest<'_, T> {
            fn drop(&mut self) {
                // Nothing is left unless a value's drop has panicked.
                self.drain();
            }
        }
        Rest(self).drain();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.tail.load(Ordering::Acquire) & CLOSED != 0
    }

    pub(super) fn len(&self) -> usize {
        loop {
            let tail = self.tail.load(Ordering::Acquire);
            let head = self.head.load(Ordering::Acquire) & !FLAGS;
            if self.tail.load(Ordering::Acquire) != tail {
                continue;
            }
            let tail = tail & !FLAGS;
            let (head_index, tail_index) = (self.index(head), self.index(tail));
            return if tail == head {
                0
            } else if tail_index > head_index {
                tail_index - head_index
            } else {
                self.slots.len() - head_index + tail_index
            };
        }
    }

    pub(super) fn assert_valid(&self) {
        self.receivers.assert_valid();
        self.senders.assert_valid();
    }
}

/// Acquire and release: the word orders senders with senders and receivers with receivers, and carries the flags.
const CLAIM: Ordering = Ordering::AcqRel;

/// Release: the value (or its absence) is there for whoever's turn it is.
const PUBLISH: Ordering =
    if cfg!(leno_bug = "publish_relaxed") { Ordering::Relaxed } else { Ordering::Release };

impl<T> Bell for Ring<T> {
    fn lower(&self) -> usize {
        self.tail.fetch_and(!RECEIVERS, Ordering::AcqRel) & !FLAGS
    }

    fn raise(&self, lowered: usize) -> usize {
        let now = self.tail.fetch_or(RECEIVERS, Ordering::AcqRel) & !FLAGS;
        if now == lowered || cfg!(leno_bug = "bell_forgets_publications") { 0 } else { self.len() }
    }
}

impl<T> Drop for Ring<T> {
    fn drop(&mut self) {
        self.drain();
    }
}
