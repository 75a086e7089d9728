//! Permits: room in a channel that is held for a value to come.

use std::iter::FusedIterator;
use std::mem::ManuallyDrop;
use std::ptr;

use super::kind::{Kind, Many};
use super::{SendError, Sender};
use crate::task::shows;

/// Room for one value, which [`send`](Permit::send) fills without waiting.
///
/// Made by [`Sender::reserve`] and [`Sender::try_reserve`]. Dropping it frees the room, for the first waiter if there is
/// one. A permit reserves room, not a position: the value is ordered by when it is sent, and receivers do not wait for
/// permits. But a send waits while all places are reserved, even if a receiver comes later and waits, too. The room
/// counts for [`Sender::is_full`], not for [`Sender::len`].
///
/// A permit outlives a close: its value can still be sent and received. But a receiver that finds the channel closed and
/// empty does not wait for permits; and once the channel was emptied, by [`close_now`](Sender::close_now) or because its
/// last receiver is gone, the value comes back.
#[must_use = "dropping a permit gives its room back"]
pub struct Permit<'a, T> {
    sender: &'a Sender<T>,
}

/// Room for several values, as an iterator of [`Permit`]s.
///
/// Made by [`Sender::reserve_many`] and [`Sender::try_reserve_many`]. Dropping it frees the room that was not taken from it.
#[must_use = "dropping permits gives their room back"]
pub struct Permits<'a, T> {
    sender: &'a Sender<T>,
    left: usize,
}

/// A [`Permit`] that owns its sender.
///
/// Made by [`Sender::reserve_owned`]. Dropping it frees the room, and drops the sender.
#[must_use = "dropping a permit gives its room back"]
pub struct OwnedPermit<T, K: Kind = Many> {
    sender: K::Sender<T>,
}

/// Uses up a permit's place.
fn send<T>(sender: &Sender<T>, value: T) -> Result<(), SendError<T>> {
    let shared = sender.get();
    shared.send_now(value, |value, by| shared.send_reserved(value, by))
}

impl<'a, T> Permit<'a, T> {
    /// # Safety
    /// A place was reserved, which is this permit's.
    pub(super) unsafe fn new(sender: &'a Sender<T>) -> Self {
        Permit { sender }
    }

    /// Sends `value` into the room that this permit holds, or to a waiting receiver. Never waits.
    ///
    /// # Errors
    /// Nobody can receive it any more: the last receiver was dropped, or the channel was emptied by
    /// [`close_now`](Sender::close_now). The value comes back. (A channel that is only closed still takes it.)
    ///
    /// ```
    /// let (tx, rx) = leno::bounded(1);
    /// let permit = tx.try_reserve().unwrap();
    /// rx.close();
    /// permit.send(1).unwrap();
    /// assert_eq!(rx.recv_blocking(), Ok(1));
    /// ```
    pub fn send(self, value: T) -> Result<(), SendError<T>> {
        send(ManuallyDrop::new(self).sender, value)
    }

    /// Frees the room, as dropping the permit does.
    pub fn release(self) {}
}

impl<T> Drop for Permit<'_, T> {
    fn drop(&mut self) {
        self.sender.get().free_places(1);
    }
}

impl<'a, T> Permits<'a, T> {
    /// # Safety
    /// So many places were reserved, which are these permits'.
    pub(super) unsafe fn new(sender: &'a Sender<T>, count: usize) -> Self {
        Permits { sender, left: count }
    }

    /// Frees the remaining room, as dropping the permits does.
    pub fn release(self) {}
}

impl<'a, T> Iterator for Permits<'a, T> {
    type Item = Permit<'a, T>;

    fn next(&mut self) -> Option<Permit<'a, T>> {
        self.left = self.left.checked_sub(1)?;
        Some(Permit { sender: self.sender })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T> ExactSizeIterator for Permits<'_, T> {}

impl<T> FusedIterator for Permits<'_, T> {}

impl<T> Drop for Permits<'_, T> {
    fn drop(&mut self) {
        self.sender.get().free_places(self.left);
    }
}

impl<T, K: Kind> OwnedPermit<T, K> {
    /// # Safety
    /// A place was reserved, which is this permit's.
    pub(super) unsafe fn new(sender: K::Sender<T>) -> Self {
        OwnedPermit { sender }
    }

    fn into_sender(self) -> K::Sender<T> {
        let this = ManuallyDrop::new(self);
        // SAFETY: it is not used any more.
        unsafe { ptr::read(&raw const this.sender) }
    }

    /// As [`Permit::send`]; the sender comes back.
    ///
    /// # Errors
    /// As [`Permit::send`]; the sender is dropped.
    ///
    /// ```
    /// let (tx, rx) = leno::bounded(2);
    /// let tx = tx.reserve_owned().wait().unwrap().send(1).unwrap();
    /// tx.try_send(2).unwrap();
    /// assert_eq!(rx.drain().collect::<Vec<_>>(), [1, 2]);
    /// ```
    pub fn send(self, value: T) -> Result<K::Sender<T>, SendError<T>> {
        let sender = self.into_sender();
        match send(K::sender(&sender), value) {
            Ok(()) => Ok(sender),
            Err(unsent) => {
                // (Before it is returned: what is on its way out leaks if the drop of something else panics.)
                drop(sender);
                Err(unsent)
            }
        }
    }

    /// Frees the room and returns the sender.
    ///
    /// ```
    /// let (tx, _rx) = leno::bounded(1);
    /// let permit = tx.reserve_owned().wait().unwrap();
    /// assert!(permit.release().try_send(1).is_ok());
    /// ```
    pub fn release(self) -> K::Sender<T> {
        let sender = self.into_sender();
        K::sender(&sender).get().free_places(1);
        sender
    }
}

impl<T, K: Kind> Drop for OwnedPermit<T, K> {
    fn drop(&mut self) {
        K::sender(&self.sender).get().free_places(1);
    }
}

shows! { [T] Permit<'_, T>, "Permit" }
shows! { [T] Permits<'_, T>, "Permits", it => left: it.left }
shows! { [T, K: Kind] OwnedPermit<T, K>, "OwnedPermit" }
