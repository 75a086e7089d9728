//! Iterators over what an spsc channel gives.

use std::fmt;

use super::Receiver;

/// Blocks the thread at each step; ends when the channel is closed and empty. Made by [`Receiver::iter`].
pub struct Iter<'a, T> {
    receiver: &'a mut Receiver<T>,
}

/// Never waits; ends when there is no value. Made by [`Receiver::try_iter`].
pub struct TryIter<'a, T> {
    receiver: &'a mut Receiver<T>,
}

/// Never waits; gives at most what the channel held when it was made. Made by [`Receiver::drain`].
pub struct Drain<'a, T> {
    receiver: &'a mut Receiver<T>,
    left: usize,
}

/// As [`Iter`], keeping the receiver.
pub struct IntoIter<T> {
    receiver: Receiver<T>,
}

impl<'a, T> Iter<'a, T> {
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        Iter { receiver }
    }
}

impl<'a, T> TryIter<'a, T> {
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        TryIter { receiver }
    }
}

impl<'a, T> Drain<'a, T> {
    pub(super) fn new(receiver: &'a mut Receiver<T>) -> Self {
        let left = receiver.len();
        Drain { receiver, left }
    }
}

impl<T> IntoIter<T> {
    pub(super) fn new(receiver: Receiver<T>) -> Self {
        IntoIter { receiver }
    }
}

impl<T> Iterator for Iter<'_, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
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
        self.left = self.left.checked_sub(1)?;
        self.receiver.try_recv().ok()
    }
}

impl<T> Iterator for IntoIter<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.receiver.recv_blocking().ok()
    }
}

macro_rules! debug {
    ($($name:ident<$($lifetime:lifetime,)? T>)*) => {$(
        impl<T> fmt::Debug for $name<$($lifetime,)? T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.receiver).finish()
            }
        }
    )*};
}
debug!(Iter<'_, T> TryIter<'_, T> Drain<'_, T> IntoIter<T>);
