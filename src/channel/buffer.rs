//! Buffered channels: how senders and receivers claim slots, and wait for them. What the slots are is the
//! [`Store`]'s: a [ring](super::ring), or [blocks](super::blocks).
//!
//! Claiming a slot is one compare-exchange of `tail` (senders) or `head` (receivers). The value follows. So a slot
//! can be *claimed but not yet published*; nobody waits for it: an operation that needs it looks again later
//! ([`Attempt::Again`]).
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
//! The mover has [a page of its own](super::mover).
//!
//! # Invariants
//! 1. The slots from `head` to `tail` hold values, except those claimed and not yet published.
//! 2. With `GATE` set only the mover changes `tail`'s position, so a slot that it found free stays free.
//! 3. A receiver in the line with its word OPEN implies `RECEIVERS`, or a publisher inside `Line::notify`, or
//!    that the receiver is about to raise the bell and to look again.
//! 4. A sender in the line implies `GATE` and `SENDERS`, or that it is about to set them and to call the mover.
//! 5. Room that a receiver has claimed without having seen `SENDERS`, and not freed yet, is looked after by every
//!    sender that has joined since: it saw that the buffer was not full, and calls the mover until it is.
//!
//! # Orderings
//!
//! Locked instructions: one per uncontended operation, the compare-exchange of `tail` in a send and of `head` in a
//! receive. A receiver and a publisher meet in `tail` alone, a sender and a receiver in `head` alone, two movers in
//! `moving` alone: each side changes that word, so one of them sees the other. How a value gets from who puts it to
//! who takes it, the store says. A publisher looks for `DISCARD` after its value by a plain load; the discarding
//! party in turn waits for a slot that is about to be published, but not for ever: what both miss is dropped with
//! the buffer.

use super::store::{FLAGS, Store};
use super::{RecvError, SendError};
use crate::prim::{AtomicUsize, Ordering};
use crate::task::thread;
use crate::wait::{Attempt, Batch, Bell, Closed, Detached, Enter, Line, Waiter};

/// Flags of `tail`.
pub(super) const CLOSED: usize = 0b0_0001;
pub(super) const RECEIVERS: usize = 0b0_0010;
pub(super) const GATE: usize = 0b0_0100;
const DISCARD: usize = 0b0_1000;
/// Flag of `head`.
pub(super) const SENDERS: usize = 0b0_0001;
/// Flag of both.
pub(super) const KNOCK: usize = 0b1_0000;

/// Acquire and release: the word orders senders with senders and receivers with receivers, and carries the flags.
pub(super) const CLAIM: Ordering = Ordering::AcqRel;

/// How long a discard waits for a slot that is claimed but not yet published.
const PATIENCE: u32 = 16;

pub(super) struct Buffer<S: Store> {
    pub(super) store: S,
    pub(super) moving: AtomicUsize,
    pub(super) receivers: Line,
    pub(super) senders: Line,
}

/// Why there is no value to claim.
enum Lack {
    Empty,
    /// Empty for good.
    Closed,
    /// The first value is not published yet.
    Again,
}

impl<S: Store> Buffer<S> {
    pub(super) fn new(store: S) -> Self {
        Buffer { store, moving: AtomicUsize::new(0), receivers: Line::new(), senders: Line::new() }
    }

    pub(super) fn capacity(&self) -> usize {
        self.store.capacity()
    }

    #[inline]
    pub(super) fn try_send(&self, value: &mut Option<S::Value>) -> Attempt<Result<(), SendError<S::Value>>> {
        let word = self.store.tail();
        let tail = word.load(Ordering::Acquire);
        if tail & (CLOSED | GATE) == 0 {
            if let Some(place) = self.store.room(tail) {
                if value.is_some()
                    && word.compare_exchange(tail, self.store.next(tail), CLAIM, Ordering::Relaxed).is_ok()
                {
                    if let Some(value) = value.take() {
                        self.publish(tail, place, value);
                    }
                    return Attempt::Ready(Ok(()));
                }
            }
        }
        self.try_send_slowly(value)
    }

    /// When something is in the way.
    #[cold]
    #[inline(never)]
    fn try_send_slowly(&self, value: &mut Option<S::Value>) -> Attempt<Result<(), SendError<S::Value>>> {
        let word = self.store.tail();
        let mut tail = word.load(Ordering::Acquire);
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
                tail = word.load(Ordering::Acquire);
                if tail & GATE != 0 {
                    return Attempt::Wait;
                }
                continue;
            }
            if let Some(place) = self.store.room(tail) {
                let next = self.store.next(tail);
                match word.compare_exchange_weak(tail, next, CLAIM, Ordering::Acquire) {
                    Ok(_) => {
                        let value = value.take().expect("a send has a value until it is done");
                        self.publish(tail, place, value);
                        return Attempt::Ready(Ok(()));
                    }
                    Err(now) => tail = now,
                }
                continue;
            }
            let full = self.store.is_full(self.store.head().load(Ordering::Acquire), tail);
            let retry = !full && self.store.bring_room(tail);
            let now = word.load(Ordering::Acquire);
            // It was full at the moment of the look at `head` if `tail` has not moved.
            if now == tail && !retry {
                return if full { Attempt::Wait } else { Attempt::Again };
            }
            tail = now;
        }
    }

    /// Fills the slot that was claimed when `tail` was the word.
    #[inline]
    fn publish(&self, tail: usize, place: S::Place, value: S::Value) {
        // SAFETY: the caller's claim.
        unsafe { self.store.put(tail, place, value) };
        if tail & RECEIVERS != 0 {
            self.notify_receivers();
        }
        self.drain_if_discarded();
    }

    #[inline]
    pub(super) fn drain_if_discarded(&self) {
        if self.store.tail().load(Ordering::Acquire) & DISCARD != 0 {
            self.drain();
        }
    }

    #[cold]
    #[inline(never)]
    fn notify_receivers(&self) {
        let mut wakes = Batch::new();
        self.receivers.notify(self, &mut wakes);
    }

    #[inline]
    pub(super) fn try_recv(&self) -> Attempt<Result<S::Value, RecvError>> {
        let word = self.store.head();
        let head = word.load(Ordering::Acquire);
        if let Some(place) = self.store.value(head) {
            if word.compare_exchange(head, self.store.next(head), CLAIM, Ordering::Relaxed).is_ok() {
                return Attempt::Ready(Ok(self.received(head, place)));
            }
        }
        self.try_recv_slowly()
    }

    /// Takes the value of the slot that was claimed when `head` was the word, and lets waiting senders move up.
    #[inline]
    fn received(&self, head: usize, place: S::Place) -> S::Value {
        // SAFETY: the caller's claim.
        let value = unsafe { self.store.take(head, place) };
        if head & SENDERS != 0 {
            self.move_waiting();
        }
        value
    }

    /// When something is in the way.
    #[cold]
    #[inline(never)]
    fn try_recv_slowly(&self) -> Attempt<Result<S::Value, RecvError>> {
        match self.pop() {
            Ok((head, place)) => Attempt::Ready(Ok(self.received(head, place))),
            Err(Lack::Closed) => Attempt::Ready(Err(RecvError)),
            Err(Lack::Again) => Attempt::Again,
            Err(Lack::Empty) => Attempt::Wait,
        }
    }

    /// Claims the slot of the first value; gives the word as it was.
    fn pop(&self) -> Result<(usize, S::Place), Lack> {
        let word = self.store.head();
        let mut head = word.load(Ordering::Acquire);
        loop {
            if let Some(place) = self.store.value(head) {
                match word.compare_exchange_weak(head, self.store.next(head), CLAIM, Ordering::Acquire) {
                    Ok(_) => return Ok((head, place)),
                    Err(now) => head = now,
                }
                continue;
            }
            let tail = self.store.tail().load(Ordering::Acquire);
            let empty = tail & !FLAGS == head & !FLAGS;
            let retry = !empty && self.store.bring_value(head);
            let now = word.load(Ordering::Acquire);
            if now == head && !retry {
                return Err(match empty {
                    true if tail & CLOSED != 0 => Lack::Closed,
                    true => Lack::Empty,
                    false => Lack::Again,
                });
            }
            head = now;
        }
    }

    /// # Safety
    /// As for [`Line::join`].
    pub(super) unsafe fn enter_recv(&self, waiter: &Waiter) -> Enter<Result<S::Value, RecvError>> {
        // SAFETY: the caller's promise.
        if let Err(Closed) = unsafe { self.receivers.join(waiter) } {
            return Enter::Refused;
        }
        if cfg!(leno_bug = "no_recheck_recv") {
            self.store.tail().fetch_or(RECEIVERS, Ordering::AcqRel);
            return Enter::Waits;
        }
        // ORDERING: one location: a publisher's compare-exchange of `tail` comes before this, and is seen here, or
        // after it, and then sees the bell.
        let tail = self.store.tail().fetch_or(RECEIVERS, Ordering::AcqRel);
        let head = self.store.head().load(Ordering::Acquire);
        if tail & !FLAGS == head & !FLAGS { Enter::Waits } else { Enter::Look }
    }

    /// # Safety
    /// As for [`Line::join`]; the node holds the value.
    pub(super) unsafe fn enter_send(&self, waiter: &Waiter) -> Enter<Result<(), SendError<S::Value>>> {
        // SAFETY: the caller's promise.
        if let Err(Closed) = unsafe { self.senders.join(waiter) } {
            return Enter::Refused;
        }
        let tail = self.store.tail().fetch_or(GATE | KNOCK, Ordering::AcqRel);
        // ORDERING: one location: a receiver's compare-exchange of `head` comes before this, and its room is seen
        // here, or after it, and then it sees `SENDERS` and calls the mover.
        let head = self.store.head().fetch_or(SENDERS | KNOCK, Ordering::AcqRel);
        if self.store.is_full(head, tail) || cfg!(leno_bug = "no_recheck_send") {
            Enter::Waits
        } else {
            Enter::Look
        }
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
        self.store.tail().fetch_or(CLOSED, Ordering::AcqRel) & CLOSED == 0
    }

    /// Takes everybody out of both lines.
    pub(super) fn detach(&self) -> [Option<Detached>; 2] {
        [self.receivers.close(), self.senders.close()]
    }

    /// Drops all values, now and as they are published; the buffer is closed.
    pub(super) fn discard(&self) {
        self.store.tail().fetch_or(DISCARD, Ordering::AcqRel);
        self.drain();
    }

    /// A value's drop that panics leaves the rest to be dropped all the same.
    fn drain(&self) {
        struct Rest<'a, S: Store>(&'a Buffer<S>);
        impl<S: Store> Rest<'_, S> {
            fn drain(&self) {
                let mut pauses = 0;
                loop {
                    match self.0.pop() {
                        // SAFETY: just claimed.
                        Ok((head, place)) => drop(unsafe { self.0.store.take(head, place) }),
                        Err(Lack::Again) if pauses < PATIENCE => {
                            thread::pause(pauses);
                            pauses += 1;
                        }
                        Err(_) => return,
                    }
                }
            }
        }
        impl<S: Store> Drop for Rest<'_, S> {
            fn drop(&mut self) {
                // Nothing is left unless a value's drop has panicked.
                self.drain();
            }
        }
        Rest(self).drain();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.store.tail().load(Ordering::Acquire) & CLOSED != 0
    }

    pub(super) fn len(&self) -> usize {
        loop {
            let tail = self.store.tail().load(Ordering::Acquire);
            let head = self.store.head().load(Ordering::Acquire);
            if self.store.tail().load(Ordering::Acquire) == tail {
                return self.store.len(head, tail);
            }
        }
    }

    pub(super) fn assert_valid(&self) {
        self.receivers.assert_valid();
        self.senders.assert_valid();
    }
}

impl<S: Store> Bell for Buffer<S> {
    fn lower(&self) -> usize {
        self.store.tail().fetch_and(!RECEIVERS, Ordering::AcqRel) & !FLAGS
    }

    fn raise(&self, lowered: usize) -> usize {
        let now = self.store.tail().fetch_or(RECEIVERS, Ordering::AcqRel) & !FLAGS;
        if now == lowered || cfg!(leno_bug = "bell_forgets_publications") { 0 } else { self.len() }
    }
}

impl<S: Store> Drop for Buffer<S> {
    fn drop(&mut self) {
        self.drain();
    }
}
