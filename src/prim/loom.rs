//! The facade over loom. Deadlines are ignored: a model's time never passes.

#[path = "counter.rs"]
mod counter;
#[path = "handle.rs"]
mod handle;
#[path = "quarantine.rs"]
mod quarantine;
#[cfg(not(leno_epoch))]
#[path = "stub.rs"]
mod stub;
#[path = "waker_slot_model.rs"]
mod waker_slot;

pub(crate) use counter::Counter;
pub(crate) use handle::Handle;
pub(crate) use loom::cell::UnsafeCell;
pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use quarantine::{dealloc, free, keep};
pub(crate) use waker_slot::WakerSlot;

/// Set once, process-wide: std's in all builds, as models reach nothing process-wide.
pub(crate) use std::sync::OnceLock;

pub(crate) const MODEL: bool = true;

pub(crate) use thread::yield_now as spin_loop;

pub(crate) use quarantine::{Rank, name, named, reuse, reverse_ranks, set_reuse};

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

pub(crate) fn null_table<T, const LEN: usize>() -> [AtomicPtr<T>; LEN] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

pub(crate) const BLOCK_SLOTS: usize = 2;
pub(crate) const RING_SLOTS: usize = 3;
pub(crate) const RING_BYTES: usize = 1024;
pub(crate) const FEW_CELLS: usize = 1;
pub(crate) const RUN_SLOTS: usize = 4;
pub(crate) const SEARCH_PAUSES: u32 = 1;

/// loom's mutex.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(loom::sync::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = loom::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(loom::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("loom's mutex is never poisoned")
    }
}

/// It stands still: deadlines compare alike in every execution.
pub(crate) fn now() -> std::time::Instant {
    static NOW: std::sync::OnceLock<std::time::Instant> = std::sync::OnceLock::new();
    *NOW.get_or_init(std::time::Instant::now)
}

/// Whether a deadline has come: whoever has waited for one finds that it has.
pub(crate) fn is_late(deadline: Option<std::time::Instant>) -> bool {
    deadline.is_some()
}

/// loom's condition variable.
#[derive(Debug, Default)]
pub(crate) struct Condvar(loom::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Condvar(loom::sync::Condvar::new())
    }

    /// A wait with a deadline ends at once, and the deadline has come: see `is_late`.
    pub(crate) fn wait_until<'a, T>(
        &self,
        lock: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        deadline: Option<std::time::Instant>,
    ) -> MutexGuard<'a, T> {
        if deadline.is_some() {
            drop(guard);
            thread::yield_now();
            return lock.lock();
        }
        self.0.wait(guard).expect("loom's mutex is never poisoned")
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
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

/// The life probe: a relaxed flag, read at each touch and overwritten at the end, so that the checker explores
/// both orders of any touch that is not ordered before the end. Its tracked allocation shows leaks.
#[derive(Debug)]
pub(crate) struct Life {
    dead: AtomicBool,
    leak: std::sync::Mutex<Option<loom::alloc::Track<()>>>,
}

impl Life {
    pub(crate) fn new() -> Self {
        Life { dead: AtomicBool::new(false), leak: std::sync::Mutex::new(Some(loom::alloc::Track::new(()))) }
    }

    pub(crate) fn touch(&self) {
        assert!(!self.dead.load(Ordering::Relaxed), "a node was touched after its end");
    }

    pub(crate) fn end(&self) {
        if !std::thread::panicking() {
            assert!(!self.dead.swap(true, Ordering::Release), "a node ended twice");
        }
        drop(self.leak.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take());
    }

    pub(crate) fn is_over(&self) -> bool {
        self.dead.load(Ordering::Acquire)
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

macro_rules! thread_local_ {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        $(loom::thread_local! { $(#[$meta])* $vis static $name: $type = $init; })+
    };
}
pub(crate) use thread_local_ as thread_local;

macro_rules! global {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        loom::lazy_static! { $($(#[$meta])* static ref $name: $type = $init;)+ }
    };
}
pub(crate) use global;

macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty $body:block)+) => {
        $($(#[$meta])* $vis fn $name($($arg: $type),*) -> $ret $body)+
    };
}
pub(crate) use const_fn;
