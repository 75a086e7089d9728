//! Outputs that come in any order and are given in that of their futures.

use std::convert::Infallible;
use std::task::{Poll, ready};

use crate::wait::for_all;

/// See the module.
#[derive(Debug)]
pub(super) struct Outputs<T> {
    slots: Vec<Option<T>>,
    given: bool,
}

/// Outputs are not pinned.
impl<T> Unpin for Outputs<T> {}

impl<T> Outputs<T> {
    pub(super) fn new() -> Self {
        Outputs { slots: Vec::new(), given: false }
    }

    /// Takes what `next` gives, each with its future's index, until there is no more. `what` is the polled type.
    ///
    /// # Panics
    ///
    /// If all was given, or `next` has panicked.
    pub(super) fn poll_all(
        &mut self,
        what: &str,
        mut next: impl FnMut() -> Poll<Option<(usize, T)>>,
    ) -> Poll<Vec<T>> {
        let next = || next().map(|next| next.map(|(index, output)| (index, Ok::<_, Infallible>(output))));
        self.try_poll_all(what, next).map(|Ok(all)| all)
    }

    /// As [`poll_all`](Self::poll_all), up to the first error; then what was given is dropped.
    ///
    /// # Panics
    ///
    /// If all was given, or `next` has panicked.
    pub(super) fn try_poll_all<E>(
        &mut self,
        what: &str,
        mut next: impl FnMut() -> Poll<Option<(usize, Result<T, E>)>>,
    ) -> Poll<Result<Vec<T>, E>> {
        assert!(!self.given, "a `{what}` was polled after it was ready, or after it had panicked");
        // Nothing more comes, unless this poll ends by waiting.
        self.given = true;
        loop {
            let next = next();
            self.given = next.is_ready();
            match ready!(next) {
                Some((index, output)) => self.put(index, output?),
                None => break,
            }
        }
        // Each index below the highest has one.
        let slots = std::mem::take(&mut self.slots).into_iter();
        Poll::Ready(Ok(slots.map(|slot| slot.expect("every future has given its output")).collect()))
    }

    /// Drops what was given after an error.
    ///
    /// # Panics
    ///
    /// If a drop did: with the first such panic, after all of them. (Not during another one.)
    pub(super) fn clear(&mut self) {
        for_all(std::mem::take(&mut self.slots).into_iter(), drop);
    }

    fn put(&mut self, index: usize, output: T) {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(output);
    }
}

impl<T> Drop for Outputs<T> {
    fn drop(&mut self) {
        self.clear();
    }
}
