//! What models of the freeing of blocks need: blocks without a channel, for one sender, one receiver and any visitors, all of whom
//! can be stopped where none of a channel's calls can. For `loom-tests` only.

use std::mem::{self, MaybeUninit};
use std::ptr;

use super::block::Block;
use super::blocks::{self, ONE};
use super::boundary::Visit;
use crate::prim::{AtomicU64, Ordering};
use crate::wait::Tray;

/// Blocks of numbers.
pub struct Blocks {
    blocks: blocks::Blocks<usize>,
    tail: AtomicU64,
}

/// A slot that the sender has claimed.
pub struct Claimed {
    tail: u64,
    block: *mut Block<usize>,
}

// SAFETY: whoever has claimed a slot may publish it from any thread.
unsafe impl Send for Claimed {}

impl Default for Blocks {
    fn default() -> Self {
        Blocks { blocks: blocks::Blocks::new(), tail: AtomicU64::new(0) }
    }
}

impl Blocks {
    /// The sender claims the next slot.
    pub fn claim(&self) -> Claimed {
        let tail = self.tail.load(Ordering::Relaxed);
        loop {
            if let Some(block) = self.blocks.room(tail) {
                self.tail.store(tail + ONE, Ordering::Release);
                return Claimed { tail, block };
            }
            self.visit_the_back();
        }
    }

    /// And publishes a value there.
    pub fn publish(&self, claimed: Claimed, value: usize) {
        // SAFETY: claimed, and the value is a number.
        unsafe {
            self.blocks.put(
                claimed.tail,
                claimed.block,
                &MaybeUninit::new(value),
                blocks::Blocks::<usize>::is_last(claimed.tail),
            )
        };
    }

    /// The receiver takes a value, which has been published.
    pub fn receive(&self) -> usize {
        let head = &self.blocks.front.head;
        let at = head.load(Ordering::Relaxed);
        let block = loop {
            match self.blocks.value(at) {
                Some(block) => break block,
                None => assert!(self.blocks.bring_value(at), "it has been published"),
            }
        };
        head.store(at + ONE, Ordering::Release);
        let mut tray = Tray::new();
        // SAFETY: the only receiver has claimed it.
        unsafe { self.blocks.take(at, block, tray.place(), blocks::Blocks::<usize>::is_last(at)) };
        tray.take().expect("it was taken")
    }

    /// Another sender looks for the block of the next slot.
    pub fn visit_the_back(&self) {
        self.blocks.bring_room(self.tail.load(Ordering::Acquire), &self.tail);
    }

    /// A visitor comes, and looks at nothing until it [leaves](Self::leave).
    pub fn enter(&self) {
        mem::forget(Visit::new(&self.blocks));
    }

    /// It leaves.
    pub fn leave(&self) {
        // SAFETY: it has entered, and has moved nothing.
        unsafe { self.blocks.retire(ptr::null_mut(), 1) };
    }

    /// Whether blocks are left that nobody has freed.
    pub fn has_retired(&self) -> bool {
        !self.blocks.retired.load(Ordering::Relaxed).is_null()
    }
}
