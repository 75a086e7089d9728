//! The facade over std.

#[path = "cell.rs"]
mod cell;
#[path = "waker_slot.rs"]
mod waker_slot;

pub(crate) use cell::UnsafeCell;
pub(crate) use waker_slot::WakerSlot;

pub(crate) use std as checker;
pub(crate) use std::alloc::dealloc;
pub(crate) use std::hint::spin_loop;

use std::cell::Cell;

use rand::TryRng as _;
use rand::rngs::SysRng;

use super::{AtomicPtr, AtomicU64, Condvar, Mutex, MutexGuard, Ordering};

pub(crate) const MODEL: bool = false;

#[inline(always)]
pub(crate) const fn reuse() -> bool {
    true
}

#[inline(always)]
pub(crate) const fn has_narrow_rings() -> bool {
    false
}

#[inline(always)]
pub(crate) const fn few_cells() -> usize {
    FEW_CELLS
}

/// Who is before whom: by age, on one thread; so it is the same in each run of a program that uses one.
#[derive(Debug, Default)]
pub(crate) struct Rank(u64);

/// A thread takes so many ranks at a time from those that all threads share.
const RANKS: u64 = 1 << 16;
static TAKEN: AtomicU64 = AtomicU64::new(0);

thread_local! {
    static NEXT_RANK: Cell<u64> = const { Cell::new(0) };
}

impl Rank {
    pub(crate) fn new() -> Rank {
        NEXT_RANK.with(|next| {
            let rank = match next.get() {
                used_up if used_up % RANKS == 0 => TAKEN.fetch_add(RANKS, Ordering::Relaxed),
                rank => rank,
            };
            next.set(rank + 1);
            Rank(rank)
        })
    }

    #[inline(always)]
    pub(crate) fn number(&self) -> u64 {
        self.0
    }
}

pub(crate) use crossbeam_epoch::Guard;

/// leno's own, and nobody else's: crossbeam's default one runs the deferred destructors of other crates whenever
/// somebody pins, also where no foreign code may run.
static COLLECTOR: std::sync::LazyLock<crossbeam_epoch::Collector> =
    std::sync::LazyLock::new(crossbeam_epoch::Collector::new);

/// Makes a guard. Every 128th one on a thread also frees what has been retired long enough ago.
#[inline]
pub(crate) fn pin() -> Guard {
    std::thread_local! {
        static HANDLE: crossbeam_epoch::LocalHandle = COLLECTOR.register();
    }
    HANDLE.try_with(crossbeam_epoch::LocalHandle::pin).unwrap_or_else(|_| COLLECTOR.register().pin())
}

/// Drops the value at some time after every guard that exists now is gone. (By pointer: who has found it may read it still.)
///
/// # Safety
/// The value came from a box, and nobody can find it any more.
pub(crate) unsafe fn retire<T: Send + 'static>(guard: &Guard, value: *mut T) {
    // SAFETY: the caller's promise; `T` may be dropped on any thread.
    unsafe { guard.defer_unchecked(move || drop(Box::from_raw(value))) };
    guard.flush();
}

pub(crate) const fn null_table<T, const LEN: usize>() -> [AtomicPtr<T>; LEN] {
    [const { AtomicPtr::new(std::ptr::null_mut()) }; LEN]
}

/// Of models only.
pub(crate) fn name<T>(_: *mut T) -> usize {
    unreachable!("real builds name nodes by a table")
}

/// Of models only.
pub(crate) fn named<T>(_: usize) -> *mut T {
    unreachable!("real builds name nodes by a table")
}

pub(crate) const BLOCK_SLOTS: usize = 128;
pub(crate) const RING_SLOTS: usize = 255;
pub(crate) const RING_BYTES: usize = 256 << 10;
pub(crate) const FEW_CELLS: usize = 8;
pub(crate) const RUN_SLOTS: usize = 256;
pub(crate) const SEARCH_PAUSES: u32 = 32;

/// The time of the machine.
pub(crate) fn now() -> std::time::Instant {
    std::time::Instant::now()
}

/// Whether a deadline has come.
pub(crate) fn is_late(deadline: Option<std::time::Instant>) -> bool {
    deadline.is_some_and(|at| now() >= at)
}

impl Condvar {
    /// Waits until notified, until `deadline`, or spuriously.
    pub(crate) fn wait_until<'a, T>(
        &self,
        _lock: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        deadline: Option<std::time::Instant>,
    ) -> MutexGuard<'a, T> {
        match deadline {
            None => self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner),
            Some(at) => {
                let left = at.saturating_duration_since(std::time::Instant::now());
                self.0.wait_timeout(guard, left).unwrap_or_else(std::sync::PoisonError::into_inner).0
            }
        }
    }
}

pub(crate) mod thread {
    pub(crate) use std::thread::panicking;
    #[cfg(test)]
    pub(crate) use std::thread::scope;
    pub(crate) use std::thread::{Builder, JoinHandle, Thread, current, sleep, yield_now};

    /// How many threads run at once here.
    pub(crate) fn parallelism() -> usize {
        std::thread::available_parallelism().map_or(1, std::num::NonZeroUsize::get)
    }

    /// Parks until unparked, until `deadline`, or spuriously.
    pub(crate) fn park_until(deadline: Option<std::time::Instant>) {
        match deadline {
            None => std::thread::park(),
            Some(at) => {
                std::thread::park_timeout(at.saturating_duration_since(std::time::Instant::now()));
            }
        }
    }
}

/// The life probe; nothing in real builds.
#[derive(Debug)]
pub(crate) struct Life;

impl Life {
    #[inline(always)]
    pub(crate) const fn new() -> Self {
        Life
    }

    #[inline(always)]
    pub(crate) fn touch(&self) {}

    #[inline(always)]
    pub(crate) fn end(&self) {}

    #[inline(always)]
    pub(crate) fn is_over(&self) -> bool {
        false
    }
}

/// Of models only.
pub(crate) fn keep<T>(_: Box<T>) {
    unreachable!("real builds return nodes to a pool")
}

/// Drops a value and frees its memory.
pub(crate) fn free<T>(value: Box<T>) {
    drop(value);
}

std::thread_local! {
    /// Of [`random`]; 0 before its first use.
    static RANDOM: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// The state of this thread's random numbers becomes this one; what it was.
pub(super) fn swap_random(state: u64) -> u64 {
    RANDOM.replace(state)
}

/// Marsaglia's xorshift, seeded once per thread.
#[inline]
fn random() -> u64 {
    #[cold]
    fn seed() -> u64 {
        // (Not a thread's own generator: that may be gone in a destructor of a thread-local.)
        SysRng.try_next_u64().expect("the system has random numbers") | 1
    }
    RANDOM.with(|state| {
        let mut x = state.get();
        if x == 0 {
            x = seed();
        }
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
        state.set(x);
        x
    })
}

/// A number below `n`, which is below 2^32.
#[inline]
pub(crate) fn random_below(n: usize) -> usize {
    random_pair(n, 0).0
}

/// Two numbers below `m` and `n`, of which both are below 2^32.
#[inline]
pub(crate) fn random_pair(m: usize, n: usize) -> (usize, usize) {
    let random = random();
    let below = |n: usize, part: u64| ((part * n as u64) >> 32) as usize;
    (below(m, random >> 32), below(n, random & 0xffff_ffff))
}

macro_rules! thread_local_ {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        std::thread_local! { $($(#[$meta])* $vis static $name: $type = const { $init };)+ }
    };
}
pub(crate) use thread_local_ as thread_local;

macro_rules! global {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        $($(#[$meta])* $vis static $name: $type = $init;)+
    };
}
pub(crate) use global;

macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty $body:block)+) => {
        $($(#[$meta])* $vis const fn $name($($arg: $type),*) -> $ret $body)+
    };
}
pub(crate) use const_fn;
