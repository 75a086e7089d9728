//! What the facades over loom and shuttle have in common: both checkers are shaped as std is.

use std::sync::OnceLock;
use std::time::Instant;

use super::{Leak, UnsafeCell, checker, random_below, yield_now};
use crate::prim::{AtomicBool, AtomicPtr, Condvar, Mutex, MutexGuard, Ordering};

#[path = "quarantine.rs"]
mod quarantine;
#[path = "waker_slot_model.rs"]
mod waker_slot;

pub(crate) use quarantine::*;
pub(crate) use waker_slot::WakerSlot;

pub(crate) const MODEL: bool = true;

pub(crate) fn null_table<T, const LEN: usize>() -> [AtomicPtr<T>; LEN] {
    std::array::from_fn(|_| AtomicPtr::new(std::ptr::null_mut()))
}

pub(crate) const BLOCK_SLOTS: usize = 2;
pub(crate) const RING_SLOTS: usize = 3;
pub(crate) const RING_BYTES: usize = 1024;
pub(crate) const FEW_CELLS: usize = 3;
pub(crate) const RUN_SLOTS: usize = 4;
pub(crate) const SEARCH_PAUSES: u32 = 1;

pub(crate) mod thread {
    pub(crate) use super::super::yield_now;
    pub(crate) use super::checker::thread::{Builder, JoinHandle, Thread, current};
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
            None => super::checker::thread::park(),
            Some(_) => yield_now(),
        }
    }
}

/// It stands still: deadlines compare alike in every execution.
pub(crate) fn now() -> Instant {
    static NOW: OnceLock<Instant> = OnceLock::new();
    *NOW.get_or_init(Instant::now)
}

/// Whether a deadline has come: whoever has one finds that it has, also before a wait.
pub(crate) fn is_late(deadline: Option<Instant>) -> bool {
    deadline.is_some()
}

impl Condvar {
    /// A wait with a deadline ends at once, and the deadline has come: see `is_late`.
    pub(crate) fn wait_until<'a, T>(
        &self,
        lock: &'a Mutex<T>,
        guard: MutexGuard<'a, T>,
        deadline: Option<Instant>,
    ) -> MutexGuard<'a, T> {
        if deadline.is_some() {
            drop(guard);
            yield_now();
            return lock.lock();
        }
        self.0.wait(guard).unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// The life probe: a relaxed flag, read at each touch and overwritten at the end, so that the checker explores
/// both orders of any touch that is not ordered before the end.
#[derive(Debug)]
pub(crate) struct Life {
    dead: AtomicBool,
    leak: Leak,
}

impl Life {
    pub(crate) fn new() -> Self {
        Life { dead: AtomicBool::new(false), leak: Leak::new() }
    }

    pub(crate) fn touch(&self) {
        assert!(!self.dead.load(Ordering::Relaxed), "a node was touched after its end");
    }

    pub(crate) fn end(&self) {
        if !std::thread::panicking() {
            assert!(!self.dead.swap(true, Ordering::Release), "a node ended twice");
        }
        self.leak.end();
    }

    pub(crate) fn is_over(&self) -> bool {
        self.dead.load(Ordering::Acquire)
    }
}

/// Two numbers below `m` and `n`.
pub(crate) fn random_pair(m: usize, n: usize) -> (usize, usize) {
    (random_below(m), random_below(n))
}

/// A model's random numbers are its own.
pub(crate) fn swap_random(state: u64) -> u64 {
    state
}

macro_rules! thread_local_ {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        $($crate::prim::checker::thread_local! { $(#[$meta])* $vis static $name: $type = $init; })+
    };
}
pub(crate) use thread_local_ as thread_local;

macro_rules! global {
    ($($(#[$meta:meta])* $vis:vis static $name:ident: $type:ty = $init:expr;)+) => {
        $crate::prim::checker::lazy_static! { $($(#[$meta])* static ref $name: $type = $init;)+ }
    };
}
pub(crate) use global;

macro_rules! const_fn {
    ($($(#[$meta:meta])* $vis:vis fn $name:ident($($arg:ident: $type:ty),* $(,)?) -> $ret:ty $body:block)+) => {
        $($(#[$meta])* $vis fn $name($($arg: $type),*) -> $ret $body)+
    };
}
pub(crate) use const_fn;
