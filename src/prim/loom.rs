//! The facade over loom. Deadlines are ignored: a model's time never passes.

#[path = "counter.rs"]
mod counter;
#[path = "handle.rs"]
mod handle;
#[path = "model.rs"]
mod model;
#[path = "quarantine.rs"]
mod quarantine;
#[cfg(not(leno_epoch))]
#[path = "stub.rs"]
mod stub;
#[path = "waker_slot_model.rs"]
mod waker_slot;

pub(crate) use counter::Counter;
pub(crate) use handle::Handle;
pub(crate) use loom as checker;
pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use model::{
    BLOCK_SLOTS, Condvar, FEW_CELLS, Life, MODEL, Mutex, MutexGuard, RING_BYTES, RING_SLOTS, RUN_SLOTS,
    SEARCH_PAUSES, const_fn, global, is_late, now, null_table, thread_local,
};
pub(crate) use quarantine::{dealloc, free, keep};
pub(crate) use waker_slot::WakerSlot;

/// Set once, process-wide: std's in all builds, as models reach nothing process-wide.
pub(crate) use std::sync::OnceLock;

pub(crate) use thread::yield_now as spin_loop;

pub(crate) use quarantine::{
    Rank, few_cells, has_narrow_rings, name, named, reuse, reverse_ranks, set_few_cells, set_narrow_rings,
    set_reuse,
};

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

pub(crate) mod thread {
    pub(crate) use loom::thread::{Builder, JoinHandle, Thread, current};
    pub(crate) use std::thread::panicking;

    /// So many looks of one thread are explored.
    const LOOKS: u32 = 16;

    loom::thread_local! {
        static LOOKED: std::cell::Cell<u32> = std::cell::Cell::new(0);
    }

    /// Lets others run, for who is going to look again. Two that do so because of a third one could take turns for ever, in ever
    /// more executions: so after so many looks the rest of an execution is not explored. (loom prefers who has
    /// yielded least then.)
    pub(crate) fn yield_now() {
        let looked = LOOKED.try_with(|looked| looked.replace(looked.get() + 1));
        if looked.is_ok_and(|looked| looked >= LOOKS) {
            loom::skip_branch();
        }
        loom::thread::yield_now();
    }

    /// How many threads run at once here.
    pub(crate) fn parallelism() -> usize {
        2
    }

    pub(crate) fn sleep(_: std::time::Duration) {
        yield_now();
    }

    pub(crate) fn park_until(deadline: Option<std::time::Instant>) {
        match deadline {
            None => loom::thread::park(),
            Some(_) => yield_now(),
        }
    }
}

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

/// Two of those.
pub(crate) fn random_pair(_m: usize, _n: usize) -> (usize, usize) {
    (0, 0)
}
