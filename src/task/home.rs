//! A home: the executor as its fibers see it. They keep it alive; it ends when its owner closes it.
//!
//! Each fiber holds a count of its home. A worker takes these from a stock of its own, and puts them back there
//! ([`HomeRef::share`], [`HomeRef::give_back`]), so that a fiber that is born and ends on workers of its home
//! changes no shared count.
//!
//! ORDERING of the count: an increment is Relaxed; a decrement releases, and the last one acquires all the others. (Not by a fence,
//! of which the thread sanitizer knows nothing.)

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;
use std::time::Duration;

use crate::prim::thread::{self, Thread};
use crate::prim::{AtomicUsize, OnceLock, Ordering};
use crate::task::error::discard;
use crate::task::header::{Header, Task};
use crate::task::here;
use crate::task::roster::Roster;
use crate::task::seam::Seam;
use crate::task::tie::Tie;

/// What an executor wants to know of its fibers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Watching {
    /// Everything here.
    pub(crate) inspected: bool,
    /// Polls that are longer are reported.
    pub(crate) limit: Option<Duration>,
}

impl Watching {
    /// Whether each fiber is watched.
    #[inline]
    pub(crate) fn is_on(&self) -> bool {
        self.inspected || self.limit.is_some()
    }
}

/// The executor that a fiber belongs to, for life.
pub(crate) struct Home {
    /// So many keep it: the stocks included.
    count: AtomicUsize,
    /// The living fibers.
    pub(crate) roster: Roster,
    /// One thread runs all fibers: a cord. Then futures are polled and dropped on that thread only.
    pub(crate) local: bool,
    /// The thread of the cord, once it is known.
    pub(crate) thread: OnceLock<Thread>,
    /// It has one worker, with which its fibers stay: see `state.rs`.
    pub(super) alone: bool,
    /// The seam wants to be told of fibers that begin and end.
    pub(crate) hooked: bool,
    /// What is to be noted of them.
    pub(crate) watching: Watching,
    pub(crate) seam: Box<dyn Seam>,
}

impl Home {
    /// Whether this thread is the cord's.
    pub(crate) fn is_here(&self) -> bool {
        self.thread.get().is_some_and(|thread| thread.id() == thread::current().id())
    }

    /// Adds counts, for somebody who has one.
    pub(crate) fn retain(&self, more: usize) {
        if self.count.fetch_add(more, Ordering::Relaxed) > usize::MAX / 2 {
            std::process::abort();
        }
    }

    /// So many fewer, and not the last.
    pub(crate) fn release(&self, fewer: usize) {
        let before = self.count.fetch_sub(fewer, Ordering::Release);
        debug_assert!(before > fewer, "the caller keeps one");
    }
}

/// Something outside an executor that may make its fibers ready; see [`Seam::busy`].
pub(crate) struct Busy<H: Deref<Target = Home>>(H);

impl<H: Deref<Target = Home>> Busy<H> {
    pub(crate) fn new(home: H) -> Self {
        home.seam.busy();
        Busy(home)
    }

    /// For one that has been counted already.
    pub(crate) fn counted(home: H) -> Self {
        Busy(home)
    }

    pub(super) fn home(&self) -> &H {
        &self.0
    }
}

impl<H: Deref<Target = Home>> Drop for Busy<H> {
    fn drop(&mut self) {
        self.0.seam.calm();
    }
}

/// How many counts of its home a worker gets at once; it keeps up to twice as many.
const STOCK: usize = 64;

/// One count of a home.
#[repr(transparent)]
pub(crate) struct HomeRef(NonNull<Home>);

// SAFETY: it is as an `Arc` of a `Home`, which is Send and Sync: its seam is, and the roster's fibers may be reached
// from any thread.
unsafe impl Send for HomeRef {}
// SAFETY: as above.
unsafe impl Sync for HomeRef {}

impl HomeRef {
    /// An executor with so many workers; `local`: a cord.
    pub(crate) fn new(local: bool, workers: usize, watching: Watching, seam: Box<dyn Seam>) -> Self {
        let (alone, hooked, roster) = (seam.is_alone(), seam.is_hooked(), Roster::new(workers, local));
        let count = AtomicUsize::new(1);
        let home = Home { count, roster, local, thread: OnceLock::new(), alone, hooked, watching, seam };
        HomeRef(NonNull::from(Box::leak(Box::new(home))))
    }

    /// As `clone`, without touching the shared count if this is the thread of a worker of that home.
    #[inline]
    pub(crate) fn share(&self) -> HomeRef {
        let taken = here::with_stock(self.address(), |stock| {
            if stock > 0 {
                return stock - 1;
            }
            self.retain(STOCK);
            STOCK - 1
        });
        if taken { HomeRef(self.0) } else { self.clone() }
    }

    /// As `drop`, for what [`share`](Self::share) gave.
    #[inline]
    pub(crate) fn give_back(self) {
        let kept = here::with_stock(self.address(), |stock| {
            if stock < 2 * STOCK {
                return stock + 1;
            }
            self.release(STOCK);
            stock + 1 - STOCK
        });
        if kept {
            let _kept = ManuallyDrop::new(self);
        }
    }

    /// What it is known by on its workers' threads.
    pub(crate) fn address(&self) -> *const () {
        self.0.as_ptr().cast_const().cast()
    }

    /// For a header, which owns the count.
    pub(super) fn into_address(self) -> NonNull<()> {
        ManuallyDrop::new(self).0.cast()
    }

    pub(crate) fn is(&self, other: &HomeRef) -> bool {
        self.0 == other.0
    }
}

impl Deref for HomeRef {
    type Target = Home;

    fn deref(&self) -> &Home {
        // SAFETY: alive by the count.
        unsafe { self.0.as_ref() }
    }
}

impl Clone for HomeRef {
    fn clone(&self) -> Self {
        self.retain(1);
        HomeRef(self.0)
    }
}

impl Drop for HomeRef {
    fn drop(&mut self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) == 1 {
            // SAFETY: that was the last count; from `Box::leak`.
            let home = unsafe { Box::from_raw(self.0.as_ptr()) };
            // With the user's hooks, whose drop may panic.
            discard(home);
        }
    }
}

impl Header {
    /// The executor that the fiber belongs to, for life.
    #[inline]
    pub(crate) fn home(&self) -> &HomeRef {
        // SAFETY: from `into_address`, and the header's until it is freed; a `HomeRef` is that pointer and nothing else.
        unsafe { &*(&raw const self.home).cast::<HomeRef>() }
    }

    /// # Safety
    ///
    /// The header is being dropped, and this is called once.
    #[inline]
    pub(super) unsafe fn take_home(&mut self) -> HomeRef {
        HomeRef(self.home.cast())
    }
}

impl Task {
    /// Its tie, if this thread acts as the only worker of its executor. (Not so where its creator polls it on another thread, nor
    /// after a poll in which somebody has taken the worker's place.)
    #[inline]
    pub(crate) fn tie(&self) -> Option<&Tie> {
        let here = self.post().is_some() || bug!("task_ties_elsewhere");
        (self.home().alone && here).then_some(&self.tie)
    }

    /// Cancels this fiber and all below it; those that have to be scheduled for it are.
    pub(crate) fn cancel(&self) {
        for ready in self.home().roster.cancel(self) {
            ready.schedule();
        }
    }
}
