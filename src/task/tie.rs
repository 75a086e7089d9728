//! The tie between a fiber and the only worker of its executor, once it has waited for the first time: what that worker knows
//! of it, and nobody else has to (`state.rs`, invariant 9).
//!
//! ```text
//!            begin              woken             finish
//!   QUEUED ─────────▶ POLLED ──────────▶ AGAIN ──────────▶ QUEUED
//!     ▲ ▲             │ ▲  │ finish, having yielded
//!     │ │      finish │ │  └──────▶ YIELDED
//!     │ └ woken ─── RESTS            │ the first entry comes up
//!     └──────────────────────────────┘
//! ```
//! A fiber that has yielded is YIELDED only if another entry is on its way, and else QUEUED; so is one that was woken, meanwhile or
//! while it rests, if that entry stands for nothing any more.
//! One that is seized while it is queued or rests becomes POLLED as well.
//!
//! ORDERING: one thread at a time changes it: the worker's, or the one that ends the fibers in its place (`crew`, "Away"); the lock
//! there, or the join of the thread, orders the two. Others only look, for inspection.

use crate::prim::{AtomicU32, Ordering};

/// An entry of a queue stands for it; a newborn's as well.
const QUEUED: u32 = 0;
/// It is polled or ended, or has been ended.
const POLLED: u32 = 1;
/// The same, and it was woken since the poll began.
const AGAIN: u32 = 2;
/// It waits.
const RESTS: u32 = 3;
/// As QUEUED; but two entries stand for it, and the first to come up goes behind.
const YIELDED: u32 = 4;

/// See the module. For the worker, all but [`rests`](Self::rests).
#[derive(Debug)]
pub(crate) struct Tie(AtomicU32);

impl Tie {
    pub(super) fn new() -> Tie {
        Tie(AtomicU32::new(QUEUED))
    }

    #[inline]
    fn is(&self, at: u32) -> bool {
        self.0.load(Ordering::Relaxed) == at
    }

    /// `from` → `to`; false: it is elsewhere.
    #[inline]
    fn go(&self, from: u32, to: u32) -> bool {
        let goes = self.is(from);
        if goes {
            self.0.store(to, Ordering::Relaxed);
        }
        goes
    }

    /// Whether it waits, as far as anybody can see.
    pub(super) fn rests(&self) -> bool {
        // ORDERING: Acquire pairs with `rest`: what the last poll has noted is seen.
        self.0.load(Ordering::Acquire) == RESTS
    }

    /// It goes, or went, into a queue.
    #[inline]
    pub(super) fn queue(&self) {
        self.0.store(QUEUED, Ordering::Relaxed);
    }

    /// It goes behind another entry of it.
    #[inline]
    pub(super) fn give_way(&self) {
        self.0.store(YIELDED, Ordering::Relaxed);
    }

    /// YIELDED → QUEUED; false: it has not.
    pub(super) fn yields(&self) -> bool {
        self.go(YIELDED, QUEUED)
    }

    /// It waits from now on.
    #[inline]
    pub(super) fn rest(&self) {
        self.0.store(RESTS, Ordering::Release);
    }

    /// QUEUED → POLLED; false: it is not in a queue.
    #[inline]
    pub(super) fn begin(&self) -> bool {
        self.go(QUEUED, POLLED)
    }

    /// QUEUED, YIELDED, RESTS → POLLED; false: it is polled, or being ended.
    pub(super) fn seize(&self) -> bool {
        self.yields();
        self.begin() || self.take()
    }

    /// RESTS → POLLED; false: it does not wait.
    pub(super) fn take(&self) -> bool {
        self.go(RESTS, POLLED)
    }

    /// A wake-up: RESTS → QUEUED (true: the caller queues it), or YIELDED if it goes behind another entry; POLLED → AGAIN.
    #[inline]
    pub(super) fn wake(&self, goes_behind: impl FnOnce() -> bool) -> bool {
        let rests = self.is(RESTS);
        if !rests {
            self.go(POLLED, AGAIN);
        } else if goes_behind() {
            self.give_way();
        } else {
            self.queue();
        }
        rests
    }

    /// Whether it was woken since its poll began.
    #[inline]
    pub(super) fn woken(&self) -> bool {
        self.is(AGAIN)
    }
}
