//! Iterators over what a channel gives.

#![allow(private_bounds, reason = "nobody outside the crate can name kinds")]

use std::iter::FusedIterator;

use super::Receiver;
use super::kind::{Kind, Many};

/// An iterator whose steps block the thread; it ends when the channel is closed and empty. Made by
/// [`Receiver::iter`](super::Receiver::iter).
#[must_use = "iterators receive nothing unless iterated"]
pub struct Iter<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
}

/// An iterator that never waits; it ends when there is no value. Made by [`Receiver::try_iter`](super::Receiver::try_iter).
#[must_use = "iterators receive nothing unless iterated"]
pub struct TryIter<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
}

/// An iterator that never waits and yields at most what the channel held when it was made. Made by
/// [`Receiver::drain`](super::Receiver::drain).
#[must_use = "iterators receive nothing unless iterated"]
pub struct Drain<'a, T> {
    pub(super) receiver: &'a Receiver<T>,
    pub(super) left: usize,
}

/// As [`Iter`], but owning the receiver.
#[must_use = "iterators receive nothing unless iterated"]
pub struct IntoIter<T, K: Kind = Many> {
    pub(super) receiver: K::Receiver<T>,
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        self.receiver.recv().wait().ok()
    }
}

impl<T> Iterator for TryIter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for Drain<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let left = self.left.checked_sub(1)?;
        let next = self.receiver.try_recv().ok();
        self.left = if next.is_some() { left } else { 0 };
        next
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.left))
    }
}

impl<T, K: Kind> Iterator for IntoIter<T, K> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        K::receiver(&self.receiver).recv().wait().ok()
    }
}

impl<T> FusedIterator for Drain<'_, T> {}

/// Shows the receiver.
macro_rules! debug {
    ($([$($generics:tt)*] $type:ty, $name:literal);+) => {$(
        impl<$($generics)*> std::fmt::Debug for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple($name).field(&self.receiver).finish()
            }
        }
    )+};
}
pub(super) use debug;

debug! {
    [T] Iter<'_, T>, "Iter";
    [T] TryIter<'_, T>, "TryIter";
    [T] Drain<'_, T>, "Drain";
    [T, K: Kind] IntoIter<T, K>, "IntoIter"
}
