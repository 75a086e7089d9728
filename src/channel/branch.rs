//! The operations of a channel as branches: what its futures, its blocking calls and select are made of.

use super::shared::{End, Shared, SharedRef};
use super::{RecvError, SendError};
use crate::wait::{Attempt, Branch, Enter, NodeRef, Nudged, Waiter};

/// A send. The value is here, or in the node while it waits.
pub struct Send<T> {
    shared: SharedRef<T>,
    value: Option<T>,
}

/// A receive.
pub struct Recv<T> {
    shared: SharedRef<T>,
}

/// Waiting for the channel to close.
pub struct Watch<T> {
    shared: SharedRef<T>,
}

macro_rules! branch {
    ($($name:ident)*) => {$(
        // SAFETY: a branch is a reference to the channel, and perhaps a value.
        unsafe impl<T: core::marker::Send> core::marker::Send for $name<T> {}
        // SAFETY: a shared branch gives access to nothing.
        unsafe impl<T: core::marker::Send> Sync for $name<T> {}

        impl<T> $name<T> {
            fn shared(&self) -> &Shared<T> {
                // SAFETY: whoever makes a branch keeps a handle for as long.
                unsafe { self.shared.as_ref() }
            }
        }
    )*};
}
branch!(Send Recv Watch);

impl<T> Send<T> {
    /// # Safety
    /// A handle outlives the branch.
    pub(super) unsafe fn new(shared: SharedRef<T>, value: T) -> Self {
        Send { shared, value: Some(value) }
    }

    pub(super) fn take(&mut self) -> Option<T> {
        self.value.take()
    }
}

impl<T> Recv<T> {
    /// # Safety
    /// A handle outlives the branch.
    pub(super) unsafe fn new(shared: SharedRef<T>) -> Self {
        Recv { shared }
    }
}

impl<T> Watch<T> {
    /// # Safety
    /// A handle outlives the branch.
    pub(super) unsafe fn new(shared: SharedRef<T>) -> Self {
        Watch { shared }
    }
}

impl<T> Branch for Send<T> {
    type Output = Result<(), SendError<T>>;

    #[inline]
    fn attempt(&mut self, own: Option<NodeRef>) -> Attempt<Self::Output> {
        assert!(self.value.is_some(), "a send was polled after it had completed or panicked");
        // SAFETY: as in `shared`; the value is borrowed beside it.
        unsafe { self.shared.as_ref() }.try_send(&mut self.value, own)
    }

    fn stow(&mut self, waiter: &Waiter) {
        let value = self.value.take().expect("a send has a value until it is done");
        // SAFETY: the node is the owner's, and empty.
        unsafe { waiter.put(value) };
    }

    fn unstow(&mut self, waiter: &Waiter) {
        // SAFETY: the node is the owner's, and holds what `stow` put.
        if let Some(value) = unsafe { waiter.take() } {
            self.value = Some(value);
        }
    }

    unsafe fn enter(&mut self, waiter: &Waiter, own: Option<NodeRef>) -> Enter<Self::Output> {
        // SAFETY: the caller's promise.
        unsafe { self.shared().enter_send(waiter, own) }
    }

    fn is_worth_a_look(&self) -> bool {
        self.shared().is_closed_to_senders()
    }

    fn nudge(&mut self) -> Nudged {
        if self.shared().is_closed_to_senders() { Nudged::Attempt } else { self.shared().nudge_send() }
    }

    unsafe fn remove(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.shared().remove(End::Sender, waiter) }
    }

    unsafe fn finish(&mut self, _waiter: &Waiter) -> Self::Output {
        Ok(())
    }

    fn pass_on(&mut self) {
        self.shared().pass_on(End::Sender);
    }

    fn is_spent(&self) -> bool {
        self.value.is_none()
    }

    fn discard(&mut self, _sent: Self::Output, _rank: u64) {}

    fn place(&self) -> Option<(*const (), bool)> {
        self.shared().place(End::Sender)
    }
}

impl<T> Branch for Recv<T> {
    type Output = Result<T, RecvError>;

    #[inline]
    fn attempt(&mut self, own: Option<NodeRef>) -> Attempt<Self::Output> {
        self.shared().try_recv(own)
    }

    unsafe fn enter(&mut self, waiter: &Waiter, own: Option<NodeRef>) -> Enter<Self::Output> {
        // SAFETY: the caller's promise.
        unsafe { self.shared().enter_recv(waiter, own) }
    }

    fn is_worth_a_look(&self) -> bool {
        self.shared().is_closed_to_senders()
    }

    fn nudge(&mut self) -> Nudged {
        Nudged::Attempt
    }

    unsafe fn remove(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.shared().remove(End::Receiver, waiter) }
    }

    unsafe fn finish(&mut self, waiter: &Waiter) -> Self::Output {
        // SAFETY: DONE: a peer has put a value there.
        Ok(unsafe { waiter.take() }.expect("a receive that is done has a value"))
    }

    fn pass_on(&mut self) {
        self.shared().pass_on(End::Receiver);
    }

    fn discard(&mut self, received: Self::Output, rank: u64) {
        if let Ok(value) = received {
            self.shared().give_back(value, rank);
        }
    }

    fn place(&self) -> Option<(*const (), bool)> {
        self.shared().place(End::Receiver)
    }
}

impl<T> Branch for Watch<T> {
    type Output = ();

    fn attempt(&mut self, _own: Option<NodeRef>) -> Attempt<()> {
        if self.shared().is_closed() { Attempt::Ready(()) } else { Attempt::Wait }
    }

    unsafe fn enter(&mut self, waiter: &Waiter, _own: Option<NodeRef>) -> Enter<()> {
        // SAFETY: the caller's promise.
        unsafe { self.shared().watch(waiter) }
    }

    fn is_worth_a_look(&self) -> bool {
        self.shared().is_closed_to_senders()
    }

    fn nudge(&mut self) -> Nudged {
        Nudged::Attempt
    }

    unsafe fn remove(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.shared().unwatch(waiter) }
    }

    unsafe fn finish(&mut self, _waiter: &Waiter) {}

    fn discard(&mut self, (): (), _rank: u64) {}
}
