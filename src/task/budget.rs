//! The budget of operations per poll: a fiber that always finds its channel ready still lets others run.
//!
//! leno's executors refill it before each poll of a fiber. Everywhere else (other executors, plain threads)
//! there is no budget: those have means of their own, or need none. Nor is there one for a call that blocks its
//! thread inside a fiber: it would wait for a refill that comes after it.

use std::cell::Cell;

use crate::prim;
use crate::task::finally;

/// Operations that one poll of a fiber may complete before it is sent to the back of the queue.
pub(crate) const PER_POLL: u32 = 128;
/// So often operations are refused then, within one poll. After that they pass: who drives one to its end within the poll, by
/// an executor of its own, could wait for ever for a poll that comes after it.
const REFUSALS: u32 = 1024;
const FULL: u32 = PER_POLL + REFUSALS;
const UNLIMITED: u32 = u32::MAX;

prim::thread_local! {
    /// Operations, then refusals; 0: neither is left.
    static LEFT: Cell<u32> = Cell::new(UNLIMITED);
    /// What was taken of full budgets, modulo 2³².
    static SPENT: Cell<u32> = Cell::new(0);
}

/// Runs `poll` with a full budget.
pub(crate) fn with<R>(poll: impl FnOnce() -> R) -> R {
    within(FULL, || {
        let output = poll();
        let left = LEFT.try_with(Cell::get).unwrap_or(FULL).saturating_sub(REFUSALS);
        let _ = SPENT.try_with(|spent| spent.set(spent.get().wrapping_add(PER_POLL - left)));
        output
    })
}

/// How many operations this thread's polls of fibers have completed, modulo 2³². (Without those that have panicked.)
pub(crate) fn spent() -> u32 {
    SPENT.try_with(Cell::get).unwrap_or(0)
}

/// Runs `poll` without a budget.
pub(crate) fn without<R>(poll: impl FnOnce() -> R) -> R {
    within(UNLIMITED, poll)
}

fn within<R>(budget: u32, poll: impl FnOnce() -> R) -> R {
    let before = LEFT.try_with(|left| left.replace(budget)).unwrap_or(UNLIMITED);
    let _restore = finally(|| _ = LEFT.try_with(|left| left.set(before)));
    poll()
}

/// Takes one operation from the budget of the poll that is running; false when it is spent, and then the
/// operation has to wake its own task and return `Pending`.
#[inline]
pub(crate) fn spend() -> bool {
    LEFT.try_with(|left| match left.get() {
        UNLIMITED | 0 => true,
        n => {
            left.set(n - 1);
            n > REFUSALS
        }
    })
    .unwrap_or(true)
}

/// Whether nothing is left: an operation that is polled now does not even look.
pub(crate) fn is_spent() -> bool {
    LEFT.try_with(|left| (1..=REFUSALS).contains(&left.get())).unwrap_or(false)
}
