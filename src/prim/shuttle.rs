//! The facade over shuttle. Deadlines are ignored: a model's time never passes.

#[path = "cell.rs"]
mod cell;
#[path = "counter.rs"]
mod counter;
#[path = "handle.rs"]
mod handle;
#[path = "quarantine.rs"]
mod quarantine;
#[path = "stub.rs"]
mod stub;
#[path = "waker_slot_model.rs"]
mod waker_slot;

pub(crate) use cell::UnsafeCell;
pub(crate) use counter::Counter;
pub(crate) use handle::Handle;
pub(crate) use quarantine::{dealloc, free, keep};
pub(crate) use shuttle::hint::spin_loop;
pub(crate) use shuttle::sync::Arc;
pub(crate) use shuttle::sync::atomic::{
    AtomicBool, AtomicPtr, AtomicU16, AtomicU32, AtomicU64, AtomicUsize, Ordering, fence,
};
pub(crate) use waker_slot::WakerSlot;

use shuttle::rand::Rng as _;
/// Set once, process-wide: std's in all builds, as models reach nothing process-wide.
pub(crate) use std::sync::OnceLock;

pub(crate) const MODEL: bool = true;

pub(crate) use quarantine::{Rank, name, named, reuse, reverse_ranks, set_reuse};
pub(crate) use stub::{Guard, pin, retire};

pub(crate) fn null_table<T, const LEN: usize>() -> [AtomicPtr<T>; LEN] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

pub(crate) const BLOCK_SLOTS: usize = 2;
pub(crate) const RING_SLOTS: usize = 3;
pub(crate) const RING_BYTES: usize = 1024;
pub(crate) const FEW_CELLS: usize = 1;
pub(crate) const RUN_SLOTS: usize = 4;
pub(crate) const SEARCH_PAUSES: u32 = 1;

/// shuttle's mutex.
#[derive(Debug, Default)]
pub(crate) struct Mutex<T>(shuttle::sync::Mutex<T>);

pub(crate) type MutexGuard<'a, T> = shuttle::sync::MutexGuard<'a, T>;

impl<T> Mutex<T> {
    pub(crate) fn new(value: T) -> Self {
        Mutex(shuttle::sync::Mutex::new(value))
    }

    pub(crate) fn lock(&self) -> MutexGuard<'_, T> {
        self.0.lock().expect("shuttle's mutex is never poisoned")
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

/// shuttle's condition variable.
#[derive(Debug, Default)]
pub(crate) struct Condvar(shuttle::sync::Condvar);

impl Condvar {
    pub(crate) fn new() -> Self {
        Condvar(shuttle::sync::Condvar::new())
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
        self.0.wait(guard).expect("shuttle's mutex is never poisoned")
    }

    pub(crate) fn notify_one(&self) {
        self.0.notify_one();
    }

    pub(crate) fn notify_all(&self) {
        self.0.notify_all();
    }
}

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

/// The life probe: a relaxed flag, read at each touch and overwritten at the end; and a count, which shows leaks.
#[derive(Debug)]
pub(crate) struct Life {
    dead: AtomicBool,
}

impl Life {
    pub(crate) fn new() -> Self {
        LIVES.set(LIVES.get() + 1);
        Life { dead: AtomicBool::new(false) }
    }

    pub(crate) fn touch(&self) {
        assert!(!self.dead.load(Ordering::Relaxed), "a node was touched after its end");
    }

    pub(crate) fn end(&self) {
        if !std::thread::panicking() {
            assert!(!self.dead.swap(true, Ordering::Release), "a node ended twice");
            LIVES.set(LIVES.get() - 1);
        }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.dead.load(Ordering::Acquire)
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

macro_rules! thread_local_ {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        $(shuttle::thread_local! { $(#[$meta])* $vis static $name: $type = $init; })+
    };
}
pub(crate) use thread_local_ as thread_local;

macro_rules! global {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        shuttle::lazy_static! { $($(#[$meta])* static ref $name: $type = $init;)+ }
    };
}
pub(crate) use global;

macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty $body:block)+) => {
        $($(#[$meta])* $vis fn $name($($arg: $type),*) -> $ret $body)+
    };
}
pub(crate) use const_fn;
