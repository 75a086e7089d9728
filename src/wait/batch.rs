//! Wakers collected while something is held, called when nothing is; and what operations left behind, to be dropped
//! then.

use std::collections::VecDeque;
use std::task::Waker;

use super::node::Abandoned;

/// Wakers that a batch holds without allocating.
const INLINE: usize = 8;

/// Wakes all that it holds, in order, when it is dropped. A waker that panics does not keep the others asleep; a
/// second one that does ends the process, as a panic during a panic does.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    inline: [Option<Waker>; INLINE],
    len: usize,
    more: VecDeque<Waker>,
    left: Vec<Abandoned>,
}

impl Batch {
    pub(crate) fn new() -> Batch {
        Batch::default()
    }

    /// Keeps what the owner of an operation left behind.
    pub(crate) fn keep(&mut self, abandoned: Abandoned) {
        self.left.push(abandoned);
    }

    pub(crate) fn push(&mut self, waker: Option<Waker>) {
        let Some(waker) = waker else { return };
        match self.inline.get_mut(self.len) {
            Some(place) => {
                *place = Some(waker);
                self.len += 1;
            }
            None => self.more.push_back(waker),
        }
    }
}

impl Drop for Batch {
    fn drop(&mut self) {
        if self.len == 0 {
            return;
        }
        let Batch { inline, len, more, left: _ } = self;
        wake_all(inline[..*len].iter_mut().filter_map(Option::take).chain(more.drain(..)));
    }
}

/// Wakes each in turn, the rest also when one of them panics.
pub(crate) fn wake_all(wakers: impl Iterator<Item = Waker>) {
    struct Rest<I: Iterator<Item = Waker>>(I);
    impl<I: Iterator<Item = Waker>> Drop for Rest<I> {
        fn drop(&mut self) {
            // Empty unless a waker has panicked.
            for waker in &mut self.0 {
                waker.wake();
            }
        }
    }
    let mut rest = Rest(wakers);
    for waker in &mut rest.0 {
        waker.wake();
    }
}
