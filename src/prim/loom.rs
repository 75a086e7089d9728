//! The facade over loom. Time never passes, but a wait with a deadline ends at once.

#[path = "model.rs"]
mod model;
#[cfg(not(leno_epoch))]
#[path = "stub.rs"]
mod stub;

pub(crate) use loom as checker;
pub(crate) use loom::cell::UnsafeCell;
pub(crate) use model::*;

#[cfg(leno_epoch)]
pub(crate) use crossbeam_epoch::{Guard, pin};
#[cfg(not(leno_epoch))]
pub(crate) use stub::{Guard, pin, retire};

/// Drops the value once every guard that exists now is gone.
///
/// # Safety
/// The value came from a box, and nobody can find it any more.
#[cfg(leno_epoch)]
pub(crate) unsafe fn retire<T: Send + 'static>(guard: &Guard, value: *mut T) {
    // SAFETY: the caller's promise; `T` may be dropped on any thread.
    unsafe { guard.defer_unchecked(move || free(Box::from_raw(value))) };
}

/// How many looks of one thread are explored.
const LOOKS: u32 = 16;

loom::thread_local! {
    static LOOKED: std::cell::Cell<u32> = std::cell::Cell::new(0);
}

/// Lets others run, for a thread that is going to look again. Two that wait for a third could take turns for ever, in ever more
/// executions: so after `LOOKS` looks the rest of an execution is not explored. (loom then prefers the thread that has yielded
/// least.)
pub(crate) fn yield_now() {
    let looked = LOOKED.try_with(|looked| looked.replace(looked.get() + 1));
    if looked.is_ok_and(|looked| looked >= LOOKS) {
        loom::skip_branch();
    }
    loom::thread::yield_now();
}

pub(crate) use yield_now as spin_loop;

/// What shows that a life is not over: loom counts it as an allocation.
#[derive(Debug)]
pub(crate) struct Leak(std::sync::Mutex<Option<loom::alloc::Track<()>>>);

impl Leak {
    pub(crate) fn new() -> Self {
        Leak(std::sync::Mutex::new(Some(loom::alloc::Track::new(()))))
    }

    pub(crate) fn end(&self) {
        drop(self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
    }
}

/// A number below `n`: always the same, since a model has to be deterministic.
pub(crate) fn random_below(_n: usize) -> usize {
    0
}
