//! A queue with one side: waiters that are served or notified in the order in which they began to wait.
//!
//! An owner that was notified in vain returns to its place. Every waiter that was taken out had begun to wait
//! before all that are still in the line, so a place is found by walking past others of that kind only.
//!
//! # The bell
//!
//! Publishers (a sender of a buffered channel, the holder of a lock) must learn without cost that nobody waits.
//! So "somebody waits" is a bit, the [`Bell`], in the word that the publisher changes anyway. A waiter joins
//! first and raises the bell then, by a read-modify-write that also tells it whether the publisher's word has
//! moved on. Both meet in one location: either the publisher sees the bell, or the waiter sees the publication.
//!
//! The bell is lowered by a publisher that found the line empty; it looks into the line once more afterwards, for
//! one that joined in between and whose ringing it may have undone.

use super::batch::Batch;
use super::node::{NodeRef, Popped, Waiter};
use super::queue::{Detached, Entered, Queue, Side};
use crate::prim;

/// The bit that says "somebody waits", in the word that the publisher changes.
pub(crate) trait Bell {
    /// Clears the bit; gives what [`Bell::raise`] needs to tell what passed by since.
    fn lower(&self) -> usize;

    /// Sets the bit; gives how many publications have passed by unheard since it was lowered.
    fn raise(&self, lowered: usize) -> usize;
}

/// The line is closed: nobody may join.
#[derive(Debug)]
pub(crate) struct Closed;

#[derive(Debug)]
pub(crate) struct Line(Queue);

impl Line {
    prim::const_fn! {
        pub(crate) fn new() -> Line {
            Line(Queue::new())
        }
    }

    /// Joins at the back, or returns to the place that the waiter had.
    ///
    /// # Safety
    /// The node stands in no queue, and is prepared for a peer.
    pub(crate) unsafe fn join(&self, waiter: &Waiter) -> Result<(), Closed> {
        // SAFETY: the caller's promise.
        let entered = unsafe {
            if waiter.rank() == 0 {
                waiter.set_rank(self.0.next_rank());
                self.0.enter(Side::Recv, waiter.as_ref())
            } else {
                self.0.enter_by_rank(Side::Recv, waiter.as_ref())
            }
        };
        match entered {
            Entered::Waits => Ok(()),
            Entered::Closed => Err(Closed),
            refused => unreachable!("a line has one side: {refused:?}"),
        }
    }

    pub(crate) fn pop(&self) -> Option<Popped> {
        self.0.take(Side::Recv)
    }

    /// # Safety
    /// As for [`Queue::remove`].
    pub(crate) unsafe fn remove(&self, node: NodeRef) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.0.remove(node) }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.0.is_closed()
    }

    pub(crate) fn close(&self) -> Option<Detached> {
        self.0.close()
    }

    /// Tells the first waiter that there is something to look for; called by a publisher that heard the bell.
    /// No lock is held, and none of the wakers is called here.
    pub(crate) fn notify(&self, bell: &impl Bell, wakes: &mut Batch) {
        let mut wanted = 1;
        loop {
            while wanted > 0 {
                let Some(first) = self.pop() else { break };
                match first.notify() {
                    Ok(waker) => {
                        wakes.push(waker);
                        wanted -= 1;
                    }
                    Err(left) => left.into_iter().for_each(|left| wakes.keep(left)),
                }
            }
            if wanted == 0 {
                return;
            }
            let lowered = bell.lower();
            if cfg!(leno_bug = "lowered_bell") || self.is_empty() {
                return;
            }
            // Whoever published while the bell was down rang for nobody.
            wanted += bell.raise(lowered);
        }
    }

    pub(crate) fn assert_valid(&self) {
        self.0.assert_valid();
    }
}
