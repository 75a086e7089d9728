//! A barrier: all go on when the last one has come. Who waits stands in a [`signal`](super::signal); how many have come is
//! counted under a lock.
//!
//! ```text
//!   came: 0 ──▶ 1 ──▶ … ──▶ n − 1 ──▶ the last one comes: 0, and the next round of the signal
//!         one that leaves: came − 1, if its round is not over
//! ```
//!
//! # Invariants
//! 1. Under the lock, `came` is how many have counted themselves in the round of the signal and have not left.
//! 2. The round changes under the lock only; so one whose round is over was counted by the last one.
//! 3. The lock is held for these few instructions; no foreign code runs under it.
//!
//! One that comes counts itself before it enters the line of the signal; if its round is over by then, it does not enter, and is
//! through. One that leaves has left the line first. Locked instructions: 2 for the lock, and those of the signal.

use std::cell::Cell;
use std::fmt;

use super::signal::{Hearing, Signal, What};
use crate::prim::{self, Mutex};
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, NodeRef, Operation, Tray, Waiter, future};

/// Lets a number of fibers, tasks and threads go on together, when the last of them has come; then it begins anew.
///
/// Cancelling a wait takes it back: the barrier waits for as many as before. As a branch of a `select!`, a wait counts
/// while the select waits, and no more once another branch has won. (If the last one comes at the very moment at
/// which another branch wins, the barrier has opened, and that one has counted.)
///
/// ```
/// use std::sync::Arc;
/// use leno::sync::Barrier;
///
/// # leno::block_on(async {
/// let barrier = Arc::new(Barrier::new(3));
/// let weavers = (0..3).map(|_| {
///     let barrier = Arc::clone(&barrier);
///     leno::spawn(async move { barrier.wait_for_all().await.is_leader() })
/// });
/// let mut leaders = 0;
/// for weaver in weavers.collect::<Vec<_>>() {
///     leaders += usize::from(weaver.await.unwrap());
/// }
/// assert_eq!(leaders, 1);
/// # });
/// ```
pub struct Barrier {
    inner: Inner,
}

struct Inner {
    size: usize,
    came: Mutex<usize>,
    signal: Signal,
}

/// What [`Barrier::wait_for_all`] gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this was the last one to come: one of each round.
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    prim::const_fn! {
        /// A barrier for so many. With 0 or 1 nobody waits.
        pub fn new(size: usize) -> Barrier {
            Barrier { inner: Inner { size, came: Mutex::new(0), signal: Signal::new() } }
        }
    }

    /// Waits until as many have come as the barrier is for.
    ///
    /// It counts once it was polled. Cancelling: a dropped future does not count any more, unless the last one has come.
    #[track_caller]
    pub fn wait_for_all(&self) -> WaitForAll<'_> {
        // SAFETY: the future borrows this.
        let hearing = unsafe { Hearing::new(&raw const self.inner.signal, What::Barrier) };
        let coming =
            Coming { barrier: &raw const self.inner, hearing, counts: Cell::new(false), unused: None };
        WaitForAll { _barrier: self, operation: Operation::new(coming) }
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.inner.signal.assert_valid();
        assert!(*self.inner.came.lock() < self.inner.size.max(1), "the last one opens it");
    }
}

impl fmt::Debug for Barrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Barrier").field("size", &self.inner.size).finish_non_exhaustive()
    }
}

/// Waits at a [`Barrier`]. Made by [`Barrier::wait_for_all`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitForAll<'a> {
    _barrier: &'a Barrier,
    operation: Operation<Coming>,
}

future! {
    ['a] WaitForAll<'a>, "WaitForAll", "wait_for_all";
    Coming => BarrierWaitResult, |_, is_leader| BarrierWaitResult(is_leader); or Elapsed
}

/// Coming to a barrier, as a branch; whether it was the last one.
pub struct Coming {
    barrier: *const Inner,
    hearing: Hearing,
    /// It has counted itself, in the round of `hearing`. (Changed by the owner alone.)
    counts: Cell<bool>,
    /// What came of it in a select that was dropped: it goes on as one that is through.
    unused: Option<bool>,
}

// SAFETY: it is a reference to a barrier, which is Sync.
unsafe impl Send for Coming {}
// SAFETY: a shared one gives access to nothing: only its owner, by an operation that is borrowed uniquely, touches `counts`.
unsafe impl Sync for Coming {}

impl Coming {
    #[inline(always)]
    fn barrier(&self) -> &Inner {
        // SAFETY: who makes it keeps the barrier.
        unsafe { &*self.barrier }
    }

    /// It has left the line: it does not count any more, unless its round is over.
    fn forgo(&self) {
        let mut came = self.barrier().came.lock();
        if self.counts.get() && !self.hearing.is_over() && !bug!("who_left_counts") {
            *came -= 1;
            self.counts.set(false);
        }
    }
}

impl Branch for Coming {
    type Output = bool;
    type Goods = bool;

    fn wish(&self) -> (&'static str, Thing) {
        self.hearing.wish()
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<bool>) -> Attempt<()> {
        if let Some(is_leader) = self.unused.take() {
            tray.put(is_leader);
            return Attempt::Ready(());
        }
        if self.counts.get() {
            // It came back without having waited, or left too late: its round is over, or it would not count.
            if self.hearing.is_over() {
                self.counts.set(false);
                tray.put(false);
                return Attempt::Ready(());
            }
            return Attempt::Wait;
        }
        let barrier = self.barrier();
        {
            let mut came = barrier.came.lock();
            if *came + 1 < barrier.size {
                return Attempt::Wait;
            }
            *came = 0;
            barrier.signal.next_round();
        }
        barrier.signal.tell_those_in_line(by);
        tray.put(true);
        Attempt::Ready(())
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        if self.unused.is_some() {
            return false;
        }
        if !self.counts.get() {
            // SAFETY: as in `barrier`; it borrows nothing from this.
            let barrier = unsafe { &*self.barrier };
            let mut came = barrier.came.lock();
            if *came + 1 >= barrier.size {
                return false;
            }
            *came += 1;
            self.counts.set(true);
            self.hearing.begin_anew();
        }
        self.hearing.register(node, pair)
    }

    fn leave(&self, node: &Waiter) -> bool {
        let left = self.hearing.leave(node);
        if left {
            self.forgo();
        }
        left
    }

    fn touch(&self, node: &Waiter) -> bool {
        self.hearing.touch(node)
    }

    unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<bool>) {
        self.counts.set(false);
        // SAFETY: the caller's promise.
        unsafe { self.hearing.finish(node, &mut Tray::new()) };
        tray.put(false);
    }

    #[inline(always)]
    fn output(&mut self, tray: &mut Tray<Self::Goods>) -> Self::Output {
        tray.take().expect("what is through has its outcome")
    }

    /// (Its round is over: it counts in that, should it go on.)
    fn abandon(&mut self, node: Waiter) -> bool {
        self.hearing.abandon(node)
    }

    fn restore(&mut self, tray: &mut Tray<bool>) {
        self.unused = tray.take();
    }
}
