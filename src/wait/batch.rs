//! Wakers that were collected while something was held, and are called when nothing is.

use std::task::Waker;

/// Wakes each in turn, the rest also when one of them panics; a second one that does ends the process, as a panic during
/// a panic does.
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
