//! What the handles of a channel share: its kind, who watches it, and how many handles there are.
//!
//! Lifetime: each side with a handle counts one in `sides`; whoever brings that to zero frees the channel. A side
//! ends when its last handle is dropped, after it has closed the channel.

use std::ptr::NonNull;

use super::blocks::Blocks;
use super::buffer::Buffer;
use super::rendezvous::Rendezvous;
use super::ring::Ring;
use super::{RecvError, SendError};
use crate::prim::{AtomicUsize, Ordering};
use crate::wait::{Attempt, Closed, Detached, Enter, Line, NodeRef, Nudged, Waiter, wake_all};

pub(super) struct Shared<T> {
    kind: Kind<T>,
    /// Those who wait for the channel to close.
    watchers: Line,
    senders: AtomicUsize,
    receivers: AtomicUsize,
    sides: AtomicUsize,
    bounded: bool,
}

#[allow(clippy::large_enum_variant, reason = "a box would cost every operation of a ring a step")]
enum Kind<T> {
    Rendezvous(Rendezvous<T>),
    Ring(Buffer<Ring<T>>),
    Blocks(Buffer<Blocks<T>>),
}

/// The same call on whatever kind it is; `Rendezvous` may be given a call of its own.
macro_rules! each {
    ($shared:expr, $kind:ident => $call:expr) => {
        each!($shared, $kind => $call, $call)
    };
    ($shared:expr, $kind:ident => $rendezvous:expr, $buffered:expr) => {
        match &$shared.kind {
            Kind::Ring($kind) => $buffered,
            Kind::Rendezvous($kind) => $rendezvous,
            Kind::Blocks($kind) => $buffered,
        }
    };
}

/// One side of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    Sender,
    Receiver,
}

/// A pointer to a channel, kept alive by a handle.
pub(super) type SharedRef<T> = NonNull<Shared<T>>;

impl<T> Shared<T> {
    /// A new channel with one handle on each side. `None`: no bound.
    pub(super) fn new(capacity: Option<usize>) -> SharedRef<T> {
        let kind = match capacity {
            Some(0) => Kind::Rendezvous(Rendezvous::new()),
            Some(capacity) if Ring::<T>::suits(capacity) => Kind::Ring(Buffer::new(Ring::new(capacity))),
            capacity => Kind::Blocks(Buffer::new(Blocks::new(capacity))),
        };
        let shared = Shared {
            kind,
            watchers: Line::new(),
            senders: AtomicUsize::new(1),
            receivers: AtomicUsize::new(1),
            sides: AtomicUsize::new(2),
            bounded: capacity.is_some(),
        };
        NonNull::from(Box::leak(Box::new(shared)))
    }

    fn count_of(&self, end: End) -> &AtomicUsize {
        match end {
            End::Sender => &self.senders,
            End::Receiver => &self.receivers,
        }
    }

    pub(super) fn count(&self, end: End) -> usize {
        self.count_of(end).load(Ordering::Relaxed)
    }

    pub(super) fn add_handle(&self, end: End) {
        // ORDERING: Relaxed; the caller has a handle, so the count is above zero.
        if self.count_of(end).fetch_add(1, Ordering::Relaxed) > usize::MAX / 2 {
            // Only forgotten handles can add up to this; an overflow would free the channel under them.
            std::process::abort();
        }
    }

    /// # Safety
    /// Consumes a handle of this end.
    pub(super) unsafe fn drop_handle(shared: SharedRef<T>, end: End) {
        /// Frees the channel also when the drop of a value, or a waker, panics.
        struct Release<T>(SharedRef<T>);
        impl<T> Drop for Release<T> {
            fn drop(&mut self) {
                // SAFETY: the side's count keeps it alive.
                // ORDERING: AcqRel: the last side sees all that the other has done.
                if unsafe { self.0.as_ref() }.sides.fetch_sub(1, Ordering::AcqRel) == 1 {
                    // SAFETY: both sides are gone; it was leaked from a box.
                    drop(unsafe { Box::from_raw(self.0.as_ptr()) });
                }
            }
        }
        // SAFETY: the handle keeps it alive.
        let this = unsafe { shared.as_ref() };
        // ORDERING: AcqRel: the last handle closes after all that was done through the others.
        if this.count_of(end).fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        let _release = Release(shared);
        match end {
            End::Sender => drop(this.close()),
            End::Receiver => drop(this.close_now()),
        }
    }

    #[inline]
    pub(super) fn try_send(
        &self,
        value: &mut Option<T>,
        own: Option<NodeRef>,
    ) -> Attempt<Result<(), SendError<T>>> {
        let sent = each!(self, kind => kind.try_send(value, own), kind.try_send(value));
        if let Attempt::Ready(Err(_)) = &sent {
            self.finish_close(None);
        }
        sent
    }

    #[inline]
    pub(super) fn try_recv(&self, own: Option<NodeRef>) -> Attempt<Result<T, RecvError>> {
        let received = each!(self, kind => kind.try_recv(own), kind.try_recv());
        if let Attempt::Ready(Err(_)) = received {
            self.finish_close(None);
        }
        received
    }

    /// # Safety
    /// As for `Branch::enter`.
    pub(super) unsafe fn enter_send(
        &self,
        waiter: &Waiter,
        own: Option<NodeRef>,
    ) -> Enter<Result<(), SendError<T>>> {
        // SAFETY: the caller's promise.
        unsafe { each!(self, kind => kind.enter_send(waiter, own), kind.enter_send(waiter)) }
    }

    /// # Safety
    /// As for `Branch::enter`.
    pub(super) unsafe fn enter_recv(
        &self,
        waiter: &Waiter,
        own: Option<NodeRef>,
    ) -> Enter<Result<T, RecvError>> {
        // SAFETY: the caller's promise.
        unsafe { each!(self, kind => kind.enter_recv(waiter, own), kind.enter_recv(waiter)) }
    }

    pub(super) fn nudge_send(&self) -> Nudged {
        each!(self, kind => kind.nudge(), kind.nudge_send())
    }

    /// # Safety
    /// As for `Branch::remove`.
    pub(super) unsafe fn remove(&self, end: End, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            each!(self, kind => kind.remove(waiter), match end {
                End::Sender => kind.remove_send(waiter),
                End::Receiver => kind.remove_recv(waiter),
            })
        }
    }

    /// A waiter of this end was notified and leaves without having done anything.
    pub(super) fn pass_on(&self, end: End) {
        each!(self, _kind => {}, match end {
            End::Sender => _kind.pass_on_send(),
            End::Receiver => _kind.pass_on_recv(),
        })
    }

    /// Passes on a value that was handed to a receive which was then dropped. Buffered kinds hand nothing over: what a
    /// receive has was in the buffer, and is its own.
    pub(super) fn give_back(&self, value: T, rank: u64) {
        match &self.kind {
            Kind::Rendezvous(kind) => kind.give_back(value, rank),
            Kind::Ring(_) | Kind::Blocks(_) => drop(value),
        }
    }

    /// # Safety
    /// As for [`Line::join`].
    pub(super) unsafe fn watch(&self, waiter: &Waiter) -> Enter<()> {
        // SAFETY: the caller's promise.
        match unsafe { self.watchers.join(waiter) } {
            Ok(()) => Enter::Waits,
            Err(Closed) => Enter::Refused,
        }
    }

    /// # Safety
    /// As for [`Line::remove`].
    pub(super) unsafe fn unwatch(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.watchers.remove(waiter.as_ref()) }
    }

    /// Whether this call closed the channel.
    pub(super) fn close(&self) -> bool {
        let (first, detached) = match &self.kind {
            Kind::Rendezvous(kind) => {
                let detached = kind.close();
                (detached.is_some(), detached)
            }
            Kind::Ring(kind) => (kind.close(), None),
            Kind::Blocks(kind) => (kind.close(), None),
        };
        self.finish_close(detached);
        first
    }

    /// Takes everybody out of the queues, then wakes them, in order: all find out by looking that the channel is
    /// closed, and senders keep their values. Whoever sees that the channel is closed calls this, so that the
    /// closing is complete for everybody who knows of it.
    #[cold]
    fn finish_close(&self, detached: Option<Detached>) {
        if detached.is_none() && self.watchers.is_closed() {
            return;
        }
        let [receivers, senders] = match &self.kind {
            Kind::Rendezvous(_) => [detached, None],
            Kind::Ring(kind) => kind.detach(),
            Kind::Blocks(kind) => kind.detach(),
        };
        let all = [receivers, senders, self.watchers.close()].into_iter().flatten().flatten();
        wake_all(all.filter_map(|waiting| match waiting.notify() {
            Ok(waker) => waker,
            Err(left) => {
                // SAFETY: all that is sent here is a `T`.
                drop(left.map(|mut left| unsafe { left.take::<T>() }));
                None
            }
        }));
    }

    /// Closes the channel and drops what is in it, also when a waker panics.
    pub(super) fn close_now(&self) -> bool {
        struct Discard<'a, T>(&'a Shared<T>);
        impl<T> Drop for Discard<'_, T> {
            fn drop(&mut self) {
                self.0.discard();
            }
        }
        let _discard = Discard(self);
        self.close()
    }

    /// Drops what is in the channel, and what arrives there; the channel is closed.
    fn discard(&self) {
        each!(self, kind => kind.discard());
    }

    pub(super) fn is_closed(&self) -> bool {
        let closed = self.is_closed_to_senders();
        if closed {
            self.finish_close(None);
        }
        closed
    }

    /// Whether no value can enter any more; the closing need not be complete.
    pub(super) fn is_closed_to_senders(&self) -> bool {
        each!(self, kind => kind.is_closed())
    }

    pub(super) fn len(&self) -> usize {
        each!(self, kind => kind.len())
    }

    pub(super) fn capacity(&self) -> Option<usize> {
        self.bounded.then(|| each!(self, _kind => 0, _kind.capacity()))
    }

    /// Where this end waits, and the side: two branches of a select with one place and two sides never meet.
    pub(super) fn place(&self, end: End) -> Option<(*const (), bool)> {
        match &self.kind {
            Kind::Rendezvous(kind) => Some((kind.place(), end == End::Sender)),
            Kind::Ring(_) | Kind::Blocks(_) => None,
        }
    }

    /// The invariants of the queues.
    pub(super) fn assert_valid(&self) {
        self.watchers.assert_valid();
        each!(self, kind => kind.assert_valid());
    }
}
