//! Steps: what grows where work depends on how many wait. Unit tests count them (`tests/cost.rs`), so that a bound on
//! the work of an operation needs no clock; other builds do not.

pub(super) use imp::*;

#[cfg(not(test))]
mod imp {
    #[inline(always)]
    pub(in crate::wait) fn step() {}
}

#[cfg(test)]
mod imp {
    std::thread_local! {
        static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
    }

    /// Counts a step of the calling thread.
    pub(in crate::wait) fn step() {
        STEPS.set(STEPS.get() + 1);
    }

    /// The steps of the calling thread in `f`.
    pub(in crate::wait) fn steps_of<R>(f: impl FnOnce() -> R) -> (R, u64) {
        let before = STEPS.get();
        let result = f();
        (result, STEPS.get() - before)
    }
}
