//! A buffer of any capacity, which allocates as it fills: unbounded channels, and bounded ones too large for a
//! ring. The values stand in a `VecDeque` under a lock; linked blocks take its place later.
//!
//! The lock also takes the part of the ring's bells: a waiter joins its line first and looks into the buffer then;
//! a publisher fills the buffer first and looks into the line then. Whoever takes the lock second sees what the
//! first has done. Nothing foreign runs under it.

use std::collections::VecDeque;

use super::{RecvError, SendError};
use crate::prim::{Mutex, MutexGuard};
use crate::wait::{Attempt, Batch, Bell, Closed, Detached, Enter, Line, Nudged, Waiter};

pub(super) struct Deep<T> {
    capacity: usize,
    buffer: Mutex<Buffer<T>>,
    receivers: Line,
    senders: Line,
}

struct Buffer<T> {
    values: VecDeque<T>,
    closed: bool,
}

impl<T> Deep<T> {
    pub(super) fn new(capacity: usize) -> Self {
        Deep {
            capacity,
            buffer: Mutex::new(Buffer { values: VecDeque::new(), closed: false }),
            receivers: Line::new(),
            senders: Line::new(),
        }
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    pub(super) fn try_send(&self, value: &mut Option<T>) -> Attempt<Result<(), SendError<T>>> {
        let mut buffer = self.buffer.lock();
        if buffer.closed {
            drop(buffer);
            let value = value.take().expect("a send has a value until it is done");
            return Attempt::Ready(Err(SendError(value)));
        }
        // Waiting senders come first.
        if buffer.values.len() >= self.capacity || !self.senders.is_empty() {
            return Attempt::Wait;
        }
        buffer.values.push_back(value.take().expect("a send has a value until it is done"));
        drop(buffer);
        self.notify_receivers(1);
        Attempt::Ready(Ok(()))
    }

    fn notify_receivers(&self, values: usize) {
        if self.receivers.is_empty() {
            return;
        }
        let mut wakes = Batch::new();
        for _ in 0..values {
            self.receivers.notify(&Silent, &mut wakes);
        }
    }

    pub(super) fn try_recv(&self) -> Attempt<Result<T, RecvError>> {
        let mut buffer = self.buffer.lock();
        match buffer.values.pop_front() {
            Some(value) => {
                self.move_waiting(buffer);
                Attempt::Ready(Ok(value))
            }
            None if buffer.closed => Attempt::Ready(Err(RecvError)),
            None => Attempt::Wait,
        }
    }

    /// Moves waiting senders' values into the room that there is.
    fn move_waiting(&self, mut buffer: MutexGuard<'_, Buffer<T>>) {
        if self.senders.is_empty() {
            return;
        }
        let mut wakes = Batch::new();
        let mut moved = 0;
        while !buffer.closed && buffer.values.len() < self.capacity {
            let Some(sender) = self.senders.pop() else { break };
            let Some(mut claim) = sender.claim() else { continue };
            // SAFETY: senders of this channel send a `T`.
            buffer.values.push_back(unsafe { claim.take() });
            moved += 1;
            match claim.complete() {
                Ok(waker) => wakes.push(waker),
                Err(abandoned) => wakes.keep(abandoned),
            }
        }
        drop(buffer);
        self.notify_receivers(moved);
    }

    /// # Safety
    /// As for [`Line::join`].
    pub(super) unsafe fn enter_recv(&self, waiter: &Waiter) -> Enter<Result<T, RecvError>> {
        // SAFETY: the caller's promise.
        if let Err(Closed) = unsafe { self.receivers.join(waiter) } {
            return Enter::Refused;
        }
        let empty = self.buffer.lock().values.is_empty() || cfg!(leno_bug = "no_recheck_deep");
        if empty { Enter::Waits } else { Enter::Look }
    }

    /// # Safety
    /// As for [`Line::join`]; the node holds the value.
    pub(super) unsafe fn enter_send(&self, waiter: &Waiter) -> Enter<Result<(), SendError<T>>> {
        // SAFETY: the caller's promise.
        match unsafe { self.senders.join(waiter) } {
            Ok(()) => Enter::Look,
            Err(Closed) => Enter::Refused,
        }
    }

    pub(super) fn nudge_send(&self) -> Nudged {
        self.move_waiting(self.buffer.lock());
        Nudged::Settled
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

    pub(super) fn pass_on_recv(&self) {
        if self.len() > 0 {
            self.notify_receivers(1);
        }
    }

    pub(super) fn pass_on_send(&self) {
        self.move_waiting(self.buffer.lock());
    }

    /// Whether this call was the first to close it.
    pub(super) fn close(&self) -> bool {
        !std::mem::replace(&mut self.buffer.lock().closed, true)
    }

    /// Takes everybody out of both lines.
    pub(super) fn detach(&self) -> [Option<Detached>; 2] {
        [self.receivers.close(), self.senders.close()]
    }

    pub(super) fn discard(&self) {
        let values = std::mem::take(&mut self.buffer.lock().values);
        drop(values);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.buffer.lock().closed
    }

    pub(super) fn len(&self) -> usize {
        self.buffer.lock().values.len()
    }

    pub(super) fn assert_valid(&self) {
        self.receivers.assert_valid();
        self.senders.assert_valid();
    }
}

/// No bell: the buffer's lock does its work.
struct Silent;

impl Bell for Silent {
    fn lower(&self) -> usize {
        0
    }

    fn raise(&self, _lowered: usize) -> usize {
        0
    }
}
