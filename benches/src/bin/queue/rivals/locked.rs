//! The reference of leno's tests: one waiter in a word, more in a list under leno's own mutex.

use std::ptr::NonNull;

use super::{Node, Owned, Rival};
use crate::reference::{self, Entered, Hook};
use crate::wait::Side;

pub(crate) struct Locked(reference::Locked);

impl Rival for Locked {
    const NAME: &'static str = "locked list";

    type Waiter = Owned<Hook>;

    fn new() -> Self {
        Locked(reference::Locked::new())
    }

    fn waiter() -> Owned<Hook> {
        Owned::new(Hook::new())
    }

    fn enter(&self, waiter: &mut Owned<Hook>) {
        waiter.node().open();
        // SAFETY: it stands in no queue, and lives until it has left.
        let entered = unsafe { self.0.enter(Side::Recv, hook(waiter)) };
        assert!(matches!(entered, Entered::Waits), "the queue has one side and is open");
    }

    fn take(&self) -> bool {
        let Some(first) = self.0.take(Side::Recv) else { return false };
        // SAFETY: the hook is a node's first field, and was just taken out.
        unsafe { Node::claim(first.cast::<Node<Hook>>()) };
        true
    }

    fn remove(&self, waiter: &mut Owned<Hook>) -> bool {
        // SAFETY: it has entered, and lives.
        unsafe { self.0.remove(hook(waiter)) }
    }

    fn waits(waiter: &Owned<Hook>) -> bool {
        waiter.node().is_open()
    }
}

/// The hook, by a pointer that reaches the whole node.
fn hook(waiter: &Owned<Hook>) -> NonNull<Hook> {
    waiter.as_ptr().cast()
}
