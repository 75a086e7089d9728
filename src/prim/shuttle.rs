//! The facade over shuttle. Deadlines are ignored: a model's time never passes.

#[path = "cell.rs"]
mod cell;
#[path = "counter.rs"]
mod counter;
#[path = "handle.rs"]
mod handle;
#[path = "model.rs"]
mod model;
#[path = "quarantine.rs"]
mod quarantine;
#[path = "stub.rs"]
mod stub;
#[path = "waker_slot_model.rs"]
mod waker_slot;

pub(crate) use cell::UnsafeCell;
pub(crate) use counter::Counter;
pub(crate) use handle::Handle;
pub(crate) use model::{
    BLOCK_SLOTS, Condvar, FEW_CELLS, Life, MODEL, Mutex, MutexGuard, RING_BYTES, RING_SLOTS, RUN_SLOTS,
    SEARCH_PAUSES, const_fn, global, is_late, now, null_table, thread_local,
};
pub(crate) use quarantine::{dealloc, free, keep};
pub(crate) use shuttle as checker;
pub(crate) use shuttle::hint::spin_loop;
pub(crate) use shuttle::sync::Arc;
pub(crate) use shuttle::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use waker_slot::WakerSlot;

use shuttle::rand::Rng as _;
/// Set once, process-wide: std's in all builds, as models reach nothing process-wide.
pub(crate) use std::sync::OnceLock;

pub(crate) use quarantine::{
    Rank, few_cells, has_narrow_rings, name, named, reuse, reverse_ranks, set_few_cells, set_narrow_rings,
    set_reuse,
};
pub(crate) use stub::{Guard, pin, retire};

pub(crate) mod thread {
    pub(crate) use shuttle::thread::{Builder, JoinHandle, Thread, current, yield_now};
    pub(crate) use std::thread::panicking;

    /// How many threads run at once here.
    pub(crate) fn parallelism() -> usize {
        2
    }

    pub(crate) fn sleep(_: std::time::Duration) {
        yield_now();
    }

    pub(crate) fn park_until(deadline: Option<std::time::Instant>) {
        match deadline {
            None => shuttle::thread::park(),
            Some(_) => shuttle::thread::yield_now(),
        }
    }
}

std::thread_local! {
    /// Lives under way. All threads of a schedule run on one real thread, and each test has one of its own.
    static LIVES: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// How many lives are under way: what a schedule leaves behind has leaked.
pub(crate) fn lives() -> usize {
    LIVES.get()
}

/// What shows that a life is not over: it is counted.
#[derive(Debug)]
pub(crate) struct Leak(());

impl Leak {
    pub(crate) fn new() -> Self {
        LIVES.set(LIVES.get() + 1);
        Leak(())
    }

    pub(crate) fn end(&self) {
        LIVES.set(LIVES.get() - 1);
    }
}

/// A number below `n`, from the schedule's own generator.
pub(crate) fn random_below(n: usize) -> usize {
    shuttle::rand::thread_rng().gen_range(0..n)
}

/// Two numbers below `m` and `n`.
pub(crate) fn random_pair(m: usize, n: usize) -> (usize, usize) {
    (random_below(m), random_below(n))
}
