//! What the ends of a broadcast channel share: the values that somebody has yet to see, under a lock, and three bells.
//!
//! ```text
//!   positions:     head                              tail
//!   slots:          [ a, 1 ][ b, 2 ][ c, 3 ][ d, 3 ]          each with a value, and how many have yet to see it
//!   cursors:   ↑             ↑       ↑
//!            lags by one     │       one receiver
//!                            another one
//! ```
//!
//! A receiver has a cursor: the position of what it sees next. Each value is in an `Arc` of its own, so that it is cloned, and
//! dropped, where no lock is held; whoever sees it last gets the value itself, unless somebody is still cloning it.
//!
//! # Steps
//!
//! Each is one step under the lock, and then, if there is reason, a ring and the wakers.
//!
//! | operation | under the lock | rings |
//! |---|---|---|
//! | send | nobody receives: no. Full: `Lag::Drop`: the oldest goes; `Lag::Suspend`: no. The value at the tail, to be seen by all receivers of now | `values` |
//! | recv | cursor before the head: that lag, cursor := head. At the tail: nothing, or closed. Else the value, seen by one more; cursor + 1; what all have seen goes | `room`, if something went |
//! | subscribe | one more receiver, its cursor at the tail | |
//! | clone of a receiver | one more, the same cursor; what is from there on is to be seen by one more | |
//! | a receiver goes | the opposite; what all others have seen goes | `room`; `gone`, for the last one |
//! | the last sender goes | closed (this needs no lock) | `values` |
//!
//! # Invariants
//! 1. A slot's count is the number of receivers whose cursor is not beyond it. It is above zero.
//! 2. Cursors move forward only, so counts grow from the head to the tail, and what all have seen is at the head.
//! 3. Without receivers there are no slots.
//! 4. `end` is the tail, doubled, and whether it is closed, which comes last: written before a ring, the tail under the lock, and
//!    read without it. So whoever has the lock and sees CLOSED sees all that was ever sent.
//! 5. No foreign code runs under the lock: no clone, no drop, no waker.
//!
//! # Progress, cost
//!
//! Whoever has the lock is through after a few steps; who subscribes by a clone, or goes, after as many as there are values
//! that it has not seen. Those who wait are in the lines of [bells](crate::channel::bell). Locked instructions: a lock and
//! its unlock 2, a ring 1, a value's count 2.
//!
//! # Orderings
//!
//! All is under the lock, but for `end`: its changes release and its load acquires, and nothing follows from it but a look
//! under the lock, and (4).

use std::borrow::BorrowMut;
use std::collections::VecDeque;
use std::marker::PhantomData;
use std::sync::Arc;

use super::{Lag, Receiver, RecvError};
use crate::channel::bell::{Bell, Look, gone};
use crate::channel::{SendError, TrySendError};
use crate::prim::{AtomicU64, AtomicUsize, Mutex, Ordering};
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, Foreign, Primitive, Tray, Waiter, stands};

const CLOSED: u64 = 1;

pub(super) struct Shared<T> {
    ring: Mutex<Ring<T>>,
    end: AtomicU64,
    pub(super) senders: AtomicUsize,
    pub(super) capacity: usize,
    pub(super) lag: Lag,
    values: Bell,
    room: Bell,
    gone: Bell,
}

struct Ring<T> {
    slots: VecDeque<Slot<T>>,
    /// The position of the first slot.
    head: u64,
    receivers: usize,
}

struct Slot<T> {
    value: Arc<T>,
    left: usize,
}

/// How many will see what was sent, and what had to go for it.
type Sent<T> = (usize, Option<Arc<T>>);

impl<T> Ring<T> {
    fn tail(&self) -> u64 {
        self.head + self.slots.len() as u64
    }

    /// The slots from a cursor on.
    fn unseen(&mut self, cursor: u64) -> impl Iterator<Item = &mut Slot<T>> {
        let first = cursor.saturating_sub(self.head) as usize;
        self.slots.iter_mut().skip(first)
    }

    fn pop(&mut self) -> Option<Arc<T>> {
        let slot = self.slots.pop_front()?;
        self.head += 1;
        Some(slot.value)
    }
}

impl<T> Shared<T> {
    /// With one of each end.
    pub(super) fn new(capacity: usize, lag: Lag) -> Self {
        let ring = Ring { slots: VecDeque::new(), head: 0, receivers: 1 };
        Shared {
            ring: Mutex::new(ring),
            end: AtomicU64::new(0),
            senders: AtomicUsize::new(1),
            capacity,
            lag,
            values: Bell::new(),
            room: Bell::new(),
            gone: Bell::new(),
        }
    }

    /// Whether a receiver with that cursor has nothing to see now, and may have later.
    fn is_at_end(&self, cursor: u64) -> bool {
        self.end.load(Ordering::Acquire) == cursor << 1
    }

    /// Sends; gives how many there are to see it, and what had to go for it, which is to be dropped when those are woken.
    pub(super) fn try_send(&self, value: T, by: &mut By) -> Result<Sent<T>, TrySendError<T>> {
        let mut ring = self.ring.lock();
        let receivers = ring.receivers;
        if receivers == 0 {
            return Err(TrySendError::Closed(value));
        }
        let is_full = ring.slots.len() == self.capacity;
        if is_full && self.lag == Lag::Suspend {
            return Err(TrySendError::Full(value));
        }
        let oldest = if is_full { ring.pop() } else { None };
        ring.slots.push_back(Slot { value: Arc::new(value), left: receivers });
        // ORDERING: Release pairs with `is_at_end`. (There is a sender, so it is not closed.)
        self.end.store(ring.tail() << 1, Ordering::Release);
        drop(ring);
        self.values.ring(by);
        Ok((receivers, oldest))
    }

    /// What there is to see at the cursor. `None`: nothing yet.
    fn try_see(&self, cursor: &mut u64, by: &mut By) -> Option<Result<Arc<T>, RecvError>> {
        if self.is_at_end(*cursor) {
            return None;
        }
        let mut ring = self.ring.lock();
        let Some(index) = cursor.checked_sub(ring.head) else {
            let missed = ring.head - *cursor;
            *cursor = ring.head;
            return Some(Err(RecvError::Lagged(missed)));
        };
        let Some(slot) = ring.slots.get_mut(index as usize) else {
            return self.has_ended().then_some(Err(RecvError::Closed));
        };
        *cursor += 1;
        slot.left -= 1;
        if slot.left > 0 {
            return Some(Ok(Arc::clone(&slot.value)));
        }
        // Invariant 2: it is the first.
        let value = ring.pop();
        drop(ring);
        if !bug!("broadcast_makes_room_silently") {
            self.room_is_made(by);
        }
        value.map(Ok)
    }

    fn room_is_made(&self, by: &mut By) {
        if self.lag == Lag::Suspend {
            self.room.ring(by);
        }
    }

    /// One more receiver; gives its cursor. `cursor`: of the one that it is a clone of.
    pub(super) fn add_receiver(&self, cursor: Option<u64>) -> u64 {
        let mut ring = self.ring.lock();
        let start = cursor.unwrap_or(ring.tail());
        if bug!("broadcast_subscribes_in_two_steps") {
            drop(ring);
            ring = self.ring.lock();
        }
        ring.receivers += 1;
        ring.unseen(start).for_each(|slot| slot.left += 1);
        start
    }

    pub(super) fn drop_receiver(&self, cursor: u64) {
        let mut by = By::plain();
        let mut ring = self.ring.lock();
        ring.receivers -= 1;
        let is_last = ring.receivers == 0;
        if !bug!("broadcast_counts_the_gone") || is_last {
            ring.unseen(cursor).for_each(|slot| slot.left -= 1);
        }
        // What all have seen goes: to be dropped where no lock is held.
        let mut seen = Vec::new();
        while ring.slots.front().is_some_and(|slot| slot.left == 0) {
            seen.extend(ring.pop());
        }
        drop(ring);
        if !seen.is_empty() || is_last {
            // (Without receivers who waits to send is told as well.)
            self.room_is_made(&mut by);
        }
        if is_last {
            self.gone.ring(&mut by);
        }
        // Dropped after this, also if a waker panics.
        let _seen = Foreign(seen);
        by.wake();
    }

    pub(super) fn drop_sender(&self) {
        // ORDERING: AcqRel: the last one comes after all that the others have sent.
        if self.senders.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        // ORDERING: Release pairs with `has_ended`.
        self.end.fetch_or(CLOSED, Ordering::Release);
        let mut by = By::plain();
        self.values.ring(&mut by);
        by.wake();
    }

    pub(super) fn receivers(&self) -> usize {
        self.ring.lock().receivers
    }

    /// How many values somebody has yet to see.
    pub(super) fn len(&self) -> usize {
        self.ring.lock().slots.len()
    }

    /// How many of them one with that cursor has.
    pub(super) fn unseen(&self, cursor: u64) -> usize {
        self.ring.lock().unseen(cursor).count()
    }

    pub(super) fn has_ended(&self) -> bool {
        self.end.load(Ordering::Acquire) & CLOSED != 0
    }

    fn has_room(&self) -> bool {
        let ring = self.ring.lock();
        ring.receivers == 0 || self.lag == Lag::Drop || ring.slots.len() < self.capacity
    }

    fn thing(&self) -> Thing {
        Thing::new("broadcast", self)
    }

    /// How many wait, while nobody is at work here; the invariants hold.
    pub(super) fn assert_valid(&self) -> usize {
        let ring = self.ring.lock();
        assert!(ring.slots.len() <= self.capacity);
        assert!(ring.receivers > 0 || ring.slots.is_empty(), "invariant 3");
        let counts = ring.slots.iter().map(|slot| slot.left).collect::<Vec<_>>();
        assert!(counts.iter().all(|left| (1..=ring.receivers).contains(left)), "invariant 1");
        assert!(counts.is_sorted(), "invariant 2");
        drop(ring);
        self.values.assert_valid() + self.room.assert_valid() + self.gone.assert_valid()
    }
}

/// A receive, of a receiver that it borrows or keeps.
pub struct Receive<T, R>(pub(super) R, PhantomData<T>);

impl<T, R: BorrowMut<Receiver<T>>> Receive<T, R> {
    pub(super) fn new(receiver: R) -> Self {
        Receive(receiver, PhantomData)
    }
}

/// Takes what there is for a receiver.
pub(super) fn receive<T: Clone>(receiver: &mut Receiver<T>, by: &mut By) -> Option<Result<T, RecvError>> {
    if let Some(back) = receiver.back.take() {
        return Some(Ok(back));
    }
    let seen = receiver.shared.try_see(&mut receiver.cursor, by)?;
    // (Foreign code: no lock is held, and `by` wakes whom it has to also if that panics.)
    Some(seen.map(|seen| {
        Arc::try_unwrap(seen).unwrap_or_else(|shared| {
            let shared = Foreign(Some(shared));
            // Should the drop of the original panic, its clone is the next one to be received.
            receiver.back = shared.0.as_deref().cloned();
            drop(shared);
            receiver.back.take().expect("just put there")
        })
    }))
}

impl<T: Clone, R: BorrowMut<Receiver<T>>> Look for Receive<T, R> {
    type Output = Result<T, RecvError>;

    fn wish(&self) -> (&'static str, Thing) {
        ("recv", self.0.borrow().shared.thing())
    }

    fn bell(&self) -> &Bell {
        &self.0.borrow().shared.values
    }

    fn is_ready(&self) -> bool {
        let receiver = self.0.borrow();
        receiver.back.is_some() || !receiver.shared.is_at_end(receiver.cursor)
    }

    fn look(&mut self, by: &mut By) -> Option<Self::Output> {
        receive(self.0.borrow_mut(), by)
    }

    fn restore(&mut self, received: Self::Output) {
        let receiver = self.0.borrow_mut();
        match received {
            Ok(value) => receiver.back = Some(value),
            // To be told once more.
            Err(RecvError::Lagged(missed)) => receiver.cursor -= missed,
            Err(RecvError::Closed) => {}
        }
    }
}

/// A send that waits for room.
pub struct SendBranch<'a, T> {
    pub(super) shared: &'a Shared<T>,
    /// Until it is sent.
    pub(super) value: Option<T>,
    /// To how many it was sent, if nobody has been told.
    receivers: usize,
}

impl<'a, T> SendBranch<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>, value: T) -> Self {
        SendBranch { shared, value: Some(value), receivers: 0 }
    }
}

impl<T> Branch for SendBranch<'_, T> {
    type Output = Result<usize, SendError<T>>;
    type Goods = usize;

    const ONCE: bool = true;

    fn wish(&self) -> (&'static str, Thing) {
        ("send", self.shared.thing())
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<usize>) -> Attempt<()> {
        let value = self.value.take().expect("it was not sent yet");
        match self.shared.try_send(value, by) {
            Ok((receivers, oldest)) => {
                tray.put(receivers);
                oldest.into_iter().for_each(|oldest| by.drops(oldest));
            }
            Err(TrySendError::Closed(value)) => self.value = Some(value),
            Err(TrySendError::Full(value)) => {
                self.value = Some(value);
                return Attempt::Wait;
            }
        }
        Attempt::Ready(())
    }

    fn register(&mut self, node: &Waiter, _pair: bool) -> bool {
        self.shared.room.register(node, || self.shared.has_room())
    }

    stands!(self => &self.shared.room);

    fn output(&mut self, tray: &mut Tray<usize>) -> Self::Output {
        tray.take().ok_or_else(|| SendError(self.value.take().expect("it was not sent")))
    }

    fn restore(&mut self, tray: &mut Tray<usize>) {
        self.receivers = tray.take().unwrap_or(self.receivers);
    }

    fn retell(&mut self) -> usize {
        self.receivers
    }

    fn discard(&mut self) {
        drop(Foreign(self.value.take()));
    }
}

gone!();
