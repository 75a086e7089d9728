//! Steps: what grows where work depends on how many wait. Unit tests count them (`tests/cost.rs`), so that bounds on an operation's
//! work need no clock; other builds do not. And points at which tests now and then take a thread's turn away, like an interrupt, so
//! that what is rare happens often.

pub(crate) use imp::*;

#[cfg(not(all(test, not(any(leno_loom, leno_shuttle)))))]
mod imp {
    #[inline(always)]
    pub(crate) fn step() {}

    #[inline(always)]
    pub(in crate::wait) fn interrupt() {}
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
#[path = "tests/steps.rs"]
mod imp;
