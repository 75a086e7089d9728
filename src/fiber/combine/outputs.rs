//! Outputs that come in any order and are given in that of their futures.

use std::task::{Poll, ready};

/// See the module.
#[derive(Debug)]
pub(super) struct Outputs<T> {
    slots: Vec<Option<T>>,
    given: bool,
}

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
        self.begin(what);
        while let Some((index, output)) = ready!(self.wait(next())) {
            self.put(index, output);
        }
        Poll::Ready(self.give())
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
        self.begin(what);
        while let Some((index, output)) = ready!(self.wait(next())) {
            match output {
                Ok(output) => self.put(index, output),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        Poll::Ready(Ok(self.give()))
    }

    /// Drops what was given after an error.
    pub(super) fn clear(&mut self) {
        self.slots = Vec::new();
    }

    /// Nothing more comes, unless this poll ends by waiting.
    fn begin(&mut self, what: &str) {
        assert!(!self.given, "a `{what}` was polled after it was ready, or after it had panicked");
        self.given = true;
    }

    fn wait<R>(&mut self, next: Poll<R>) -> Poll<R> {
        self.given = next.is_ready();
        next
    }

    fn put(&mut self, index: usize, output: T) {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(output);
    }

    /// All of them; each index below the highest has one.
    fn give(&mut self) -> Vec<T> {
        let slots = std::mem::take(&mut self.slots);
        slots.into_iter().map(|slot| slot.expect("every future has given its output")).collect()
    }
}
