//! Iterators over what a channel gives.

#![allow(private_bounds, reason = "nobody outside the crate can name kinds")]

use std::iter::FusedIterator;

use super::future::RecvFuture;
use super::kind::{Kind, Many};

/// An iterator whose steps block the thread; it ends when the channel is closed and empty. Made by
/// [`Receiver::iter`](super::Receiver::iter).
#[must_use = "iterators receive nothing unless iterated"]
pub struct Iter<'a, T: 'a, K: Kind = Many> {
    pub(super) receiver: &'a K::Receiver<T>,
}

/// An iterator that never waits; it ends when there is no value. Made by [`Receiver::try_iter`](super::Receiver::try_iter).
#[must_use = "iterators receive nothing unless iterated"]
pub struct TryIter<'a, T: 'a, K: Kind = Many> {
    pub(super) receiver: &'a K::Receiver<T>,
}

/// An iterator that never waits and yields at most what the channel held when it was made. Made by
/// [`Receiver::drain`](super::Receiver::drain).
#[must_use = "iterators receive nothing unless iterated"]
pub struct Drain<'a, T: 'a, K: Kind = Many> {
    pub(super) receiver: &'a K::Receiver<T>,
    pub(super) left: usize,
}

/// As [`Iter`], but owning the receiver.
#[must_use = "iterators receive nothing unless iterated"]
pub struct IntoIter<T, K: Kind = Many> {
    pub(super) receiver: K::Receiver<T>,
}

/// One more receive.
#[track_caller]
fn next<T, K: Kind>(receiver: &K::Receiver<T>) -> RecvFuture<'_, T, K> {
    // SAFETY: the iterator that asks for it is borrowed alone meanwhile; and so is its receiver, if its side is single, by those of
    // its methods that make iterators: nobody else does.
    unsafe { RecvFuture::new(receiver) }
}

impl<T, K: Kind> Iterator for Iter<'_, T, K> {
    type Item = T;

    #[track_caller]
    fn next(&mut self) -> Option<T> {
        next::<T, K>(self.receiver).wait().ok()
    }
}

impl<T, K: Kind> Iterator for TryIter<'_, T, K> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        next::<T, K>(self.receiver).try_now().ok()
    }
}

impl<T, K: Kind> Iterator for Drain<'_, T, K> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let left = self.left.checked_sub(1)?;
        let next = next::<T, K>(self.receiver).try_now().ok();
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
        next::<T, K>(&self.receiver).wait().ok()
    }
}

impl<T, K: Kind> FusedIterator for Drain<'_, T, K> {}

/// Shows the receiver.
macro_rules! debug {
    ($($name:ident<$($lifetime:lifetime,)? T, K>)*) => {$(
        impl<T, K: Kind> std::fmt::Debug for $name<$($lifetime,)? T, K> {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.receiver).finish()
            }
        }
    )*};
}
pub(super) use debug;

debug!(Iter<'_, T, K> TryIter<'_, T, K> Drain<'_, T, K> IntoIter<T, K>);
