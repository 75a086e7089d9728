//! Where a thread waits, again and again, for what others bring it, one at a time: the wake-ups of a `block_on`'s fiber.
//!
//! ```text
//!  Gate { entry: null | who has been woken, bell } ──▶ Parker of the thread that waits, its Keeper
//! ```
//!
//! | `entry` | becomes | by |
//! |---|---|---|
//! | null | what was brought | [`Gate::bring`], which then rings |
//! | what was brought | null | [`Keeper::wait`], which has it then |
//!
//! **Invariants.**
//! 1. There is one entry at most. Whoever brings one does so after the one before was taken; what orders the two lies elsewhere
//!    (for a fiber in its state: invariants 1 and 2 there). So both changes are plain stores.
//! 2. Who brings touches nothing of the gate once the entry is there, as its taker may free the gate. The bell is a
//!    parker, and stays for ever; to ring it late is a spurious wake for whoever has it then.
//! 3. An entry is there before the bell rings, and a keeper looks for it after it has noted how often the bell has
//!    rung: so one that it does not see will ring.
//!
//! **Locked instructions**: one for each entry, the bell.

use std::ptr::{self, NonNull};

use super::parker::{self, Current, Parker};
use super::wait_aside;
use crate::prim::{AtomicPtr, Ordering};

/// An entry that is still there when it is dropped is lost.
#[derive(Debug)]
pub(crate) struct Gate<T> {
    entry: AtomicPtr<T>,
    bell: &'static Parker,
}

/// Who waits at gates. It stays on its thread.
#[derive(Debug)]
pub(crate) struct Keeper(Current);

impl<T> Gate<T> {
    /// Makes the thread's wait end with this.
    ///
    /// # Safety
    ///
    /// The gate lives until the entry is taken. That it was emptied before happens before this, and nobody else brings anything
    /// until it is taken (invariant 1).
    pub(crate) unsafe fn bring(gate: NonNull<Self>, entry: NonNull<T>) {
        // SAFETY: by contract it is there; no reference to it outlives the store (invariant 2).
        let (bell, slot) = unsafe { ((*gate.as_ptr()).bell, &raw const (*gate.as_ptr()).entry) };
        // ORDERING: Release pairs with the Acquire in `wait`, for what the entry points at.
        // SAFETY: as above.
        unsafe { (*slot).store(entry.as_ptr(), order!(Release, "gate_entry_relaxed")) };
        bell.wake();
    }

    fn take(&self) -> Option<NonNull<T>> {
        // ORDERING: Acquire pairs with the Release in `bring`. Relaxed for the store: who brings the next one comes after
        // what is done with this one (invariant 1).
        let entry = NonNull::new(self.entry.load(Ordering::Acquire))?;
        self.entry.store(ptr::null_mut(), Ordering::Relaxed);
        Some(entry)
    }
}

impl Keeper {
    pub(crate) fn new() -> Keeper {
        Keeper(parker::current())
    }

    /// A gate for this thread.
    pub(crate) fn gate<T>(&self) -> Gate<T> {
        Gate { entry: AtomicPtr::new(ptr::null_mut()), bell: self.0.parker }
    }

    /// Waits until something is brought to the gate, which is one of this keeper's. This thread has stepped aside.
    pub(crate) fn wait<T>(&self, gate: &Gate<T>) -> NonNull<T> {
        debug_assert!(ptr::eq(gate.bell, self.0.parker), "another thread's gate");
        let mut seen = self.0.seen();
        loop {
            if let Some(entry) = gate.take() {
                return entry;
            }
            if bug!("gate_looks_late") {
                seen = self.0.seen();
            }
            let sleep = |until| self.0.sleep(seen, until);
            let woken = wait_aside(self.0.parker, None, || self.0.woken(seen), || 0, sleep);
            seen = woken.expect("without a deadline it waits until it is woken");
        }
    }
}
