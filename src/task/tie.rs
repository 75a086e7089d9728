//! The tie between a fiber and the only worker of its executor, once it has waited for the first time: what that worker knows
//! of it, and nobody else has to (`state.rs`, invariant 9).
//!
//! ```text
//!            begin             woken             finish
//!   QUEUED ─────────▶ POLLED ─────────▶ AGAIN ─────────▶ BEHIND
//!     ▲               │ ▲ │                               ▲ │
//!     │        finish │ │ └── finish, ready all the same ─┘ │
//!     │               ▼ └──────────────────────── begin ────┘
//!     └─── woken ─── RESTS
//! ```
//! One that is seized while it is queued or rests becomes POLLED as well.
//!
//! ORDERING: one thread at a time changes it: the worker's, or the one that ends the fibers in its place (`crew`, "Away"); the lock
//! there, or the join of the thread, orders the two. Others only look, for inspection.

use crate::prim::{AtomicU32, Ordering};

/// An entry of the worker's queue stands for it; a newborn's as well.
const QUEUED: u32 = 0;
/// The same; but it is ready since its poll ended, whoever woke it in that.
const BEHIND: u32 = 1;
/// It is polled or ended, or has been ended.
const POLLED: u32 = 2;
/// The same, and it was woken since the poll began.
const AGAIN: u32 = 3;
/// It waits.
const RESTS: u32 = 4;

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

    /// It goes behind all that is ready.
    #[inline]
    pub(super) fn queue_behind(&self) {
        self.0.store(BEHIND, Ordering::Relaxed);
    }

    /// It waits from now on.
    #[inline]
    pub(super) fn rest(&self) {
        self.0.store(RESTS, Ordering::Release);
    }

    /// QUEUED, BEHIND → POLLED; false: it is not in a queue.
    #[inline]
    pub(super) fn begin(&self) -> bool {
        let begins = self.0.load(Ordering::Relaxed) <= BEHIND;
        if begins {
            self.0.store(POLLED, Ordering::Relaxed);
        }
        begins
    }

    /// QUEUED, BEHIND, RESTS → POLLED; false: it is polled, or being ended.
    pub(super) fn seize(&self) -> bool {
        self.begin() || self.go(RESTS, POLLED)
    }

    /// RESTS → QUEUED; false: it does not wait.
    #[inline]
    pub(super) fn wake_up(&self) -> bool {
        self.go(RESTS, QUEUED)
    }

    /// QUEUED → RESTS, for a moment: it is not in the queue yet. False: it does not, as it is BEHIND.
    pub(super) fn step_aside(&self) -> bool {
        let steps = self.is(QUEUED);
        if steps {
            self.rest();
        }
        steps
    }

    /// A wake-up: RESTS → QUEUED (true: the caller queues it), POLLED → AGAIN.
    #[inline]
    pub(super) fn wake(&self) -> bool {
        let rests = self.wake_up();
        if !rests {
            self.go(POLLED, AGAIN);
        }
        rests
    }

    /// Whether it was woken since its poll began.
    #[inline]
    pub(super) fn woken(&self) -> bool {
        self.is(AGAIN)
    }
}
