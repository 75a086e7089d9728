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

struct Budget {
    /// Operations, then refusals; 0: neither is left.
    left: Cell<u32>,
    /// What was taken of full budgets, modulo 2³².
    spent: Cell<u32>,
}

prim::thread_local! {
    static BUDGET: Budget = Budget { left: Cell::new(UNLIMITED), spent: Cell::new(0) };
}

/// Runs `poll` with a full budget.
pub(crate) fn with<R>(poll: impl FnOnce() -> R) -> R {
    within(FULL, || {
        let output = poll();
        let _ = BUDGET.try_with(|budget| {
            let operations = PER_POLL - budget.left.get().saturating_sub(REFUSALS);
            budget.spent.set(budget.spent.get().wrapping_add(operations));
        });
        output
    })
}

/// How many operations this thread's polls of fibers have completed, modulo 2³². (Without those that have panicked.)
pub(crate) fn spent() -> u32 {
    BUDGET.try_with(|budget| budget.spent.get()).unwrap_or(0)
}

/// Runs `poll` without a budget.
pub(crate) fn without<R>(poll: impl FnOnce() -> R) -> R {
    within(UNLIMITED, poll)
}

fn within<R>(budget: u32, poll: impl FnOnce() -> R) -> R {
    let before = BUDGET.try_with(|this| this.left.replace(budget)).unwrap_or(UNLIMITED);
    let _restore = finally(|| _ = BUDGET.try_with(|this| this.left.set(before)));
    poll()
}

/// Takes one operation from the budget of the poll that is running; false when it is spent, and then the
/// operation has to wake its own task and return `Pending`.
#[inline]
pub(crate) fn spend() -> bool {
    BUDGET
        .try_with(|budget| match budget.left.get() {
            UNLIMITED | 0 => true,
            n => {
                budget.left.set(n - 1);
                n > REFUSALS
            }
        })
        .unwrap_or(true)
}

/// Whether nothing is left: an operation that is polled now does not even look.
pub(crate) fn is_spent() -> bool {
    BUDGET.try_with(|budget| (1..=REFUSALS).contains(&budget.left.get())).unwrap_or(false)
}
