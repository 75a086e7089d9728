//! Outputs that come in any order and are given in that of their futures.

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

    /// To be called by each poll first; `what` is the future's type.
    ///
    /// # Panics
    ///
    /// If all was given.
    #[track_caller]
    pub(super) fn check(&self, what: &str) {
        assert!(!self.given, "a `{what}` was polled after it was ready");
    }

    pub(super) fn put(&mut self, index: usize, output: T) {
        if self.slots.len() <= index {
            self.slots.resize_with(index + 1, || None);
        }
        self.slots[index] = Some(output);
    }

    /// All of them; each index below the highest has one.
    pub(super) fn give(&mut self) -> Vec<T> {
        self.given = true;
        let slots = std::mem::take(&mut self.slots);
        slots.into_iter().map(|slot| slot.expect("every future has given its output")).collect()
    }

    /// Drops them: there will be no answer.
    pub(super) fn give_up(&mut self) {
        self.given = true;
        self.slots = Vec::new();
    }
}
