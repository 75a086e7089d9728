//! A value that many may read and one may change: the lock of [`watch`](super). It blocks its thread for as long as others
//! look at the value, or change it.
//!
//! ```text
//!   [ WRITING | SLEEPERS | readers: 30 bits ]
//! ```
//!
//! | | set by | means |
//! |---|---|---|
//! | readers | who reads, and who is through | so many read |
//! | `WRITING` | who writes | nobody else reads or writes |
//! | `SLEEPERS` | who goes to sleep, under the mutex | who writes, or the last reader, is to wake all sleepers when through |
//!
//! Readers wait for one who writes, and not for one who waits to write: so a thread that reads may read once more.
//! (Readers without a gap keep a writer waiting. They are meant to be brief.)
//!
//! Nobody sleeps for ever: whoever goes to sleep holds the mutex, and sets SLEEPERS by an exchange that also looks. If another is
//! through before that, the look sees it; if later, that one sees SLEEPERS, and needs the mutex to wake, which is free only when
//! the sleeper sleeps.
//!
//! ORDERING: taking it acquires, and giving it back releases.
//!
//! Locked instructions: 2 to read, 2 to write. It belongs to no thread: another one may give back what this one took to read.

use std::mem::ManuallyDrop;
use std::ops::Deref;

use crate::prim::{AtomicU32, Condvar, Mutex, Ordering, UnsafeCell};
use crate::task::error::call;
use crate::task::finally;

const WRITING: u32 = 1 << 31;
const SLEEPERS: u32 = 1 << 30;
const READERS: u32 = SLEEPERS - 1;

pub(super) struct Lock<T> {
    state: AtomicU32,
    sleepers: Mutex<()>,
    awake: Condvar,
    /// Until the end.
    value: UnsafeCell<ManuallyDrop<T>>,
}

// SAFETY: it gives `&mut T` to one thread at a time.
unsafe impl<T: Send> Send for Lock<T> {}
// SAFETY: as above; and `&T` to several.
unsafe impl<T: Send + Sync> Sync for Lock<T> {}

impl<T> Lock<T> {
    pub(super) fn new(value: T) -> Self {
        Lock {
            state: AtomicU32::new(0),
            sleepers: Mutex::new(()),
            awake: Condvar::new(),
            value: UnsafeCell::new(ManuallyDrop::new(value)),
        }
    }

    #[inline]
    pub(super) fn read(&self) -> Read<'_, T> {
        self.take(WRITING, 1);
        Read(self)
    }

    /// Calls `f` with the value, which nobody else sees meanwhile; gives it back also if `f` panics.
    pub(super) fn write<R>(&self, f: impl FnOnce(&mut T) -> R) -> R {
        self.take(WRITING | READERS, WRITING);
        let _end = finally(|| {
            if self.state.fetch_and(!WRITING, order!(Release, "watch_unlock_relaxed")) & SLEEPERS != 0 {
                self.wake();
            }
        });
        // SAFETY: taken just now, to write.
        self.value.with_mut(|value| f(unsafe { &mut *value }))
    }

    /// Adds `more` to the state once none of `busy` is set in it.
    #[inline]
    fn take(&self, busy: u32, more: u32) {
        let mut state = self.state.load(Ordering::Relaxed);
        loop {
            if state & busy != 0 {
                state = self.sleep(busy);
                continue;
            }
            assert!(state & READERS != READERS, "too many `Ref`s exist at once, or were forgotten");
            match self.state.compare_exchange(state, state + more, Ordering::Acquire, Ordering::Relaxed) {
                Ok(_) => return,
                Err(now) => state = now,
            }
        }
    }

    #[cold]
    fn sleep(&self, busy: u32) -> u32 {
        let sleepers = self.sleepers.lock();
        // ORDERING: Relaxed: the exchange that takes it acquires.
        let state = self.state.fetch_or(SLEEPERS, Ordering::Relaxed);
        if state & busy != 0 {
            drop(self.awake.wait_until(&self.sleepers, sleepers, None));
        }
        self.state.load(Ordering::Relaxed)
    }

    #[cold]
    fn wake(&self) {
        if bug!("watch_unlock_wakes_nobody") {
            return;
        }
        let _sleepers = self.sleepers.lock();
        self.state.fetch_and(!SLEEPERS, Ordering::Relaxed);
        self.awake.notify_all();
    }
}

/// The value is foreign: the last handle may go during a panic.
impl<T> Drop for Lock<T> {
    fn drop(&mut self) {
        // SAFETY: once, and nobody has it any more.
        call(|| self.value.with_mut(|value| unsafe { ManuallyDrop::drop(&mut *value) }));
    }
}

/// The value, kept from being changed.
pub(crate) struct Read<'a, T>(&'a Lock<T>);

impl<T> Deref for Read<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: taken to read until this is dropped: nobody writes.
        self.0.value.with(|value| unsafe { &*value })
    }
}

impl<T> Drop for Read<'_, T> {
    #[inline]
    fn drop(&mut self) {
        let before = self.0.state.fetch_sub(1, order!(Release, "watch_unlock_relaxed"));
        if before & SLEEPERS != 0 && before & READERS == 1 {
            self.0.wake();
        }
    }
}
