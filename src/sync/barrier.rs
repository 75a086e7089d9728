//! A barrier: all go on when the last one has come. Who waits stands in a [`signal`](super::signal), which also counts, beside its
//! round, how many have come.
//!
//! ```text
//!   [ round  ][ 0 ] ──▶ [ round  ][ 1 ] ──▶ … ──▶ [ round  ][ n − 1 ] ──▶ [ round + 1 ][ 0 ]
//!                 one comes, or leaves ◀─▶                  the last one comes
//! ```
//!
//! | round, count | operation | exchange | then |
//! |---|---|---|---|
//! | count + 1 < n | come | count + 1 | enters the line, saying that round; if it is over by then: is through |
//! | count + 1 ≥ n | come | round + 1, count 0 | V; tells those in line, as *tell all* of the signal; leads |
//! | its own round | leave, from the line | count − 1 | does not count any more |
//! | a later round | leave, from the line | – | it has counted: should it come again it is through |
//!
//! # Invariants
//! 1. The count is how many have counted themselves in this round and have not left: each exchange decides by the round and the
//!    count at once.
//! 2. One whose round is over was counted by the last to come: only the latter's exchange changes the round, and makes the count
//!    zero.
//! 3. One that counts stands in the line, or is on the way there or away from it, or forgotten. One that leaves left the line
//!    first.
//!
//! A round that comes again after 2^32 others could be taken for the same one by a participant suspended for that long, as by any
//! waiter of a signal. There are fewer nodes than a count has room for.
//!
//! # Orderings
//! Who comes releases what it has done before, and the last one acquires it from all, as only read-modify-writes come in
//! between; it releases the round, and what it hands over to those in line. Leaving orders nothing: nobody goes on because of
//! it.
//!
//! # Progress, cost
//! Lock-free. Locked instructions: 1 to come or to leave, and those of the signal.

use super::signal::{Hearing, Signal, What};
use crate::prim;
use crate::task::shows;
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, NodeRef, Operation, Tray, Waiter, future, outcome};

/// Lets a number of fibers, tasks and threads proceed together once the last of them has arrived; then it starts over.
///
/// Cancelling a wait takes its arrival back: the barrier waits for as many as before. As a branch of a `select!`, a wait counts
/// while the select waits, and no longer once that was polled with another winner. (If the last one arrives before that, the
/// barrier has opened, and this arrival has counted.)
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
    size: usize,
    signal: Signal,
}

/// The result of [`Barrier::wait_for_all`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BarrierWaitResult(bool);

impl BarrierWaitResult {
    /// Whether this was the last to arrive; true for one waiter in each round. (For none that sees it, if that one was dropped
    /// before anybody had its outcome: in a [`Select`](crate::select::Select), or when its poll has panicked in another one's waker.)
    pub fn is_leader(&self) -> bool {
        self.0
    }
}

impl Barrier {
    prim::const_fn! {
        /// A barrier for `size` participants. With 0 or 1 nobody waits.
        pub fn new(size: usize) -> Barrier {
            Barrier { size, signal: Signal::new() }
        }
    }

    /// Waits until `size` participants have arrived.
    ///
    /// The arrival counts once it waits: from the first poll, if its fiber has any budget left in this turn. Cancelling: a
    /// dropped future no longer counts, unless the last one has arrived.
    #[track_caller]
    pub fn wait_for_all(&self) -> WaitForAll<'_> {
        // SAFETY: the future borrows this.
        let hearing = unsafe { Hearing::new(&raw const self.signal, What::Barrier) };
        let coming = Coming { size: self.size, hearing, counts: false, unused: None };
        WaitForAll { _barrier: self, operation: Operation::new(coming) }
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.signal.assert_valid();
        assert!(self.signal.count() < self.size.max(1), "the last one opens it");
    }
}

shows! { [] Barrier, "Barrier", it => size: it.size }

/// Waits at a [`Barrier`]. Made by [`Barrier::wait_for_all`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitForAll<'a> {
    _barrier: &'a Barrier,
    operation: Operation<Coming>,
}

future! {
    ['a] WaitForAll<'a>, "WaitForAll", "wait_for_all";
    Coming => BarrierWaitResult, |_, is_leader| BarrierWaitResult(is_leader),
        back |_, result: BarrierWaitResult| Some(result.0); or Elapsed
}

/// Coming to a barrier, as a branch; whether it was the last one.
pub struct Coming {
    size: usize,
    hearing: Hearing,
    /// It has counted itself, in the round of `hearing`.
    counts: bool,
    /// What came of it in a select that was dropped: it goes on as one that is through.
    unused: Option<bool>,
}

impl Branch for Coming {
    outcome!(bool);

    fn wish(&self) -> (&'static str, Thing) {
        self.hearing.wish()
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<bool>) -> Attempt<()> {
        tray.put(if let Some(is_leader) = self.unused.take() {
            is_leader
        } else if self.counts {
            // It came back without having waited, or left too late: its round is over, or it would not count.
            if !self.hearing.is_over() {
                return Attempt::Wait;
            }
            self.counts = false;
            false
        } else if self.hearing.come_last(self.size, by) {
            true
        } else {
            return Attempt::Wait;
        });
        Attempt::Ready(())
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        if self.unused.is_some() {
            return false;
        }
        if !self.counts {
            if !self.hearing.come(self.size) {
                return false;
            }
            self.counts = true;
        }
        self.hearing.register(node, pair)
    }

    fn leave(&mut self, node: &Waiter) -> bool {
        let left = self.hearing.leave(node);
        if left && self.counts && !bug!("who_left_counts") && self.hearing.forgo() {
            self.counts = false;
        }
        left
    }

    fn touch(&self, node: &Waiter) -> bool {
        self.hearing.touch(node)
    }

    unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<bool>) {
        self.counts = false;
        // SAFETY: the caller's promise.
        unsafe { self.hearing.finish(node, &mut Tray::new()) };
        tray.put(false);
    }

    /// (Its round is over: it counts in that, should it go on.)
    fn abandon(&mut self, node: Waiter) -> bool {
        self.hearing.abandon(node)
    }

    fn restore(&mut self, tray: &mut Tray<bool>) {
        self.unused = tray.take();
    }
}
