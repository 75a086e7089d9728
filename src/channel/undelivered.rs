//! What becomes of values that nobody gets, and what else only some channels have.
//!
//! A value is *undelivered* if it was accepted or offered and neither received nor given back to its sender. It goes to the
//! channel's hook once, or is dropped where it lies if there is none. All ways to that end come through here:
//!
//! | what has happened | who disposes of the value |
//! |---|---|
//! | a send, or a branch of a select, is dropped before it was polled, or while it waits | its owner: `discard` of the branch |
//! | the same, and a peer has the node at that moment | the peer passes it on, or disposes of it if the channel has closed since; or who closes does |
//! | `close_now`; the last receiver goes | `discard` of the channel |
//! | a receive is dropped that was handed a value | it is given back, and received by others, or one of those above comes to it |
//! | there is no room, and senders do not wait | [who sends](super::overflow) |
//!
//! # Invariants
//! 1. A hook is foreign code, as the drop of a value is: none runs in the middle of a step, nor with anything held. Whoever
//!    has an operation of its own to complete does that first: the value goes along with the wakers ([`By`]), which are called when
//!    the outcome is safe; one that panics keeps nothing from the others.
//! 2. A hook that panics has had its value. Of several values, the first panic propagates after all of them; during a panic, those
//!    of hooks, and of drops, end here, as do those of hooks and wakers that are called within a longer step
//!    ([`By::end_in_passing`]).
//! 3. A channel without a hook looks at one pointer, where a value is dropped.
//!
//! A node that a future has in a peer's hands holds no value that is lost: the peer moves it on before it says that it is
//! through. What a forgotten future holds is forgotten with it.

use std::mem::{MaybeUninit, needs_drop};
use std::sync::Arc;

use super::SendError;
use super::builder::Overflow;
use super::shared::{Shared, SharedRef};
use crate::task::error::call;
use crate::task::finally;
use crate::wait::{By, Parcel, Tray};

/// Gets what is undelivered.
pub(super) type Hook<T> = Box<dyn Fn(T) + Send + Sync>;

/// What only some channels have.
pub(super) struct Extras<T> {
    pub(super) overflow: Overflow,
    pub(super) hook: Option<Hook<T>>,
    pub(super) name: Option<Box<str>>,
}

impl<T> Extras<T> {
    /// Whether senders never wait.
    pub(super) fn overflows(&self) -> bool {
        self.overflow != Overflow::Suspend
    }
}

impl<T> Shared<T> {
    #[inline(always)]
    pub(super) fn extras(&self) -> Option<&Extras<T>> {
        self.extras.as_deref()
    }

    #[inline(always)]
    fn hook(&self) -> Option<&Hook<T>> {
        self.extras()?.hook.as_ref()
    }

    pub(super) fn name(&self) -> Option<&str> {
        self.extras()?.name.as_deref()
    }

    /// Disposes of the value that lies there.
    ///
    /// # Safety
    /// It is gone from there then.
    #[inline]
    pub(super) unsafe fn dispose_at(&self, place: *mut T) {
        match self.hook() {
            None if !needs_drop::<T>() => {}
            // SAFETY: the caller's promise.
            None => call(|| unsafe { place.drop_in_place() }),
            // SAFETY: as above.
            Some(hook) => give(hook, unsafe { place.read() }),
        }
    }

    /// Sends a value by a call of `send`, which does not wait; false: it has left the value where it was.
    pub(super) fn send_now(
        &self,
        value: T,
        send: impl FnOnce(&mut MaybeUninit<T>, &mut By) -> bool,
    ) -> Result<(), SendError<T>> {
        let (mut unsent, mut by) = (Spare::new(self), By::plain());
        // SAFETY: at once.
        let place = unsafe { unsent.tray.place() };
        place.write(value);
        // (Foreign code runs there only before the value is sent.)
        if send(place, &mut by) {
            unsent.tray.forget();
        }
        // All values are in safe places, should a waker panic.
        by.wake();
        by.poke();
        unsent.tray.take().map_or(Ok(()), |value| Err(SendError(value)))
    }

    /// Disposes of what is on the tray.
    pub(super) fn dispose(&self, tray: &mut Tray<T>) {
        match (self.hook(), tray.is_full()) {
            (Some(hook), true) => give_from(hook, tray),
            (None, true) => call(|| tray.clear()),
            (_, false) => {}
        }
    }

    /// Disposes of the value in this parcel.
    pub(super) fn dispose_of(&self, parcel: Parcel<T>) {
        match self.hook() {
            Some(hook) if !bug!("left_is_not_delivered") => give(hook, parcel.open()),
            _ => call(|| drop(parcel)),
        }
    }

    /// The same, when the operation of `by` is through.
    #[cold]
    pub(super) fn dispose_later(&self, parcel: Parcel<T>, by: &mut By) {
        if self.hook().is_some() || needs_drop::<T>() {
            // SAFETY: it never leaves the operation of `by`, whose handle keeps the channel.
            let shared = unsafe { SharedRef::of(self) };
            by.drops(Arc::new(finally(move || shared.dispose_of(parcel))));
        }
    }
}

/// (Apart: by value, it needs room on the stack.)
#[cold]
#[inline(never)]
fn give_from<T>(hook: &Hook<T>, tray: &mut Tray<T>) {
    give(hook, tray.take().expect("it is full"));
}

#[cold]
#[inline(never)]
fn give<T>(hook: &Hook<T>, value: T) {
    call(|| hook(value));
}

/// A value in hand, which is disposed of should foreign code panic.
pub(super) struct Spare<'a, T> {
    shared: &'a Shared<T>,
    pub(super) tray: Tray<T>,
}

impl<'a, T> Spare<'a, T> {
    pub(super) fn new(shared: &'a Shared<T>) -> Self {
        Spare { shared, tray: Tray::new() }
    }
}

impl<T> Drop for Spare<'_, T> {
    fn drop(&mut self) {
        self.shared.dispose(&mut self.tray);
    }
}
