//! A home: the executor as its fibers see it. They keep it alive; it ends when its owner closes it.
//!
//! Each fiber holds a count of its home. A worker takes these from a stock of its own, and puts them back there
//! ([`context::take_spare`], [`context::keep_spare`]), so that a fiber that is born and ends on workers of its home
//! changes no shared count.
//!
//! ORDERING of the count: more is Relaxed; less releases, and the last one acquires all the others. (Not by a fence, of
//! which the thread sanitizer knows nothing.)

use std::mem::ManuallyDrop;
use std::ops::Deref;
use std::ptr::NonNull;

use crate::prim::{AtomicUsize, Ordering};
use crate::task::context;
use crate::task::error::discard;
use crate::task::roster::Roster;
use crate::task::seam::Seam;
use crate::task::watch::Watching;

/// The executor that a fiber belongs to, for life.
pub(crate) struct Home {
    /// So many keep it: the stocks included.
    count: AtomicUsize,
    /// The living fibers.
    pub(crate) roster: Roster,
    /// One thread runs all fibers: a cord. Then futures are polled and dropped on that thread only.
    pub(crate) local: bool,
    /// The seam wants to be told of fibers that begin and end.
    pub(crate) hooked: bool,
    /// What is to be noted of them.
    pub(crate) watching: Watching,
    pub(crate) seam: Box<dyn Seam>,
}

impl Home {
    /// Cancels `task` and all below it; those that have to be scheduled for it are.
    pub(crate) fn cancel(&self, task: &crate::task::header::Task) {
        for ready in self.roster.cancel(task) {
            ready.schedule();
        }
    }

    /// So many more counts, by somebody who has one.
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
}

impl<H: Deref<Target = Home>> Drop for Busy<H> {
    fn drop(&mut self) {
        self.0.seam.calm();
    }
}

/// One count of a home.
pub(crate) struct HomeRef(NonNull<Home>);

// SAFETY: it is as an `Arc` of a `Home`, which is Send and Sync: its seam is, and the roster's fibers may be reached
// from any thread.
unsafe impl Send for HomeRef {}
// SAFETY: as above.
unsafe impl Sync for HomeRef {}

impl HomeRef {
    /// An executor with so many workers; `local`: a cord.
    pub(crate) fn new(local: bool, workers: usize, watching: Watching, seam: Box<dyn Seam>) -> Self {
        let (hooked, roster) = (seam.is_hooked(), Roster::new(workers, local));
        let home = Home { count: AtomicUsize::new(1), roster, local, hooked, watching, seam };
        HomeRef(NonNull::from(Box::leak(Box::new(home))))
    }

    /// As `clone`, without touching the shared count if this is the thread of a worker of that home.
    #[inline]
    pub(crate) fn share(&self) -> HomeRef {
        if context::take_spare(self) { HomeRef(self.0) } else { self.clone() }
    }

    /// As `drop`, for what [`share`](Self::share) gave.
    #[inline]
    pub(crate) fn give_back(self) {
        if context::keep_spare(&self) {
            let _kept = ManuallyDrop::new(self);
        }
    }

    pub(crate) fn as_ptr(&self) -> *const Home {
        self.0.as_ptr()
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
