//! The allocator of each program that has these helpers: it counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicIsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

static LIVE: AtomicIsize = AtomicIsize::new(0);

thread_local! {
    static LIVE_HERE: Cell<isize> = const { Cell::new(0) };
    static BYTES_HERE: Cell<usize> = const { Cell::new(0) };
    static CALLS_HERE: Cell<usize> = const { Cell::new(0) };
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// The system's allocator, with counters: of the process, and of the calling thread.
pub(crate) struct Counting;

impl Counting {
    /// Bytes allocated and not yet freed, by all threads.
    pub(crate) fn live() -> isize {
        LIVE.load(Ordering::SeqCst)
    }

    /// Keeps back other tests of this program that count what all threads have allocated.
    pub(crate) fn alone() -> MutexGuard<'static, ()> {
        static TURN: Mutex<()> = Mutex::new(());
        TURN.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What `f` did to the heap on this thread.
    pub(crate) fn measure<R>(f: impl FnOnce() -> R) -> (R, Change) {
        let (live, bytes, calls) = (LIVE_HERE.get(), BYTES_HERE.get(), CALLS_HERE.get());
        let result = f();
        let change = Change {
            live: LIVE_HERE.get() - live,
            bytes: BYTES_HERE.get() - bytes,
            calls: CALLS_HERE.get() - calls,
        };
        (result, change)
    }

    fn count(size: isize) {
        LIVE.fetch_add(size, Ordering::SeqCst);
        LIVE_HERE.set(LIVE_HERE.get() + size);
        if size > 0 {
            BYTES_HERE.set(BYTES_HERE.get() + size.unsigned_abs());
            CALLS_HERE.set(CALLS_HERE.get() + 1);
        }
    }
}

/// A size in bytes fits: layouts are limited to `isize::MAX`.
fn signed(bytes: usize) -> isize {
    isize::try_from(bytes).unwrap_or(isize::MAX)
}

/// A change of the heap.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    /// Bytes allocated less bytes freed.
    pub(crate) live: isize,
    /// Bytes allocated.
    pub(crate) bytes: usize,
    /// Number of allocations.
    pub(crate) calls: usize,
}

// SAFETY: everything goes to `System` unchanged; the counters allocate nothing.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        Self::count(signed(layout.size()));
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        Self::count(signed(layout.size()));
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, ptr: *mut u8, layout: Layout) {
        Self::count(-signed(layout.size()));
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(ptr, layout) }
    }

    unsafe fn realloc(&self, ptr: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        Self::count(-signed(layout.size()));
        Self::count(signed(size));
        // SAFETY: the caller's contract is the same.
        unsafe { System.realloc(ptr, layout, size) }
    }
}
