//! The budget of operations per poll: a fiber that always finds its channel ready still lets others run.
//!
//! leno's executors refill it before each poll of a fiber. Everywhere else (other executors, plain threads)
//! there is no budget: they have means of their own, or need none. Nor is there one for a call that blocks its thread inside a
//! fiber: it would wait for a refill that comes only after it returns.

use std::task::{Context, Poll};

use crate::task::finally::{Finally, finally};
use crate::task::here::{self, BLOCKING, UNLIMITED};

/// Operations that one poll of a fiber may begin before it is sent to the back of the queue.
/// (With half as many, four senders keep the large buffer of one receiver full, and each of its values costs an eighth more.)
const PER_POLL: u64 = 256;
/// How many operations are refused then, within one poll. After that they pass: code that drives one to its end within the poll,
/// with an executor of its own, could wait for ever for the next one.
const REFUSALS: u64 = 1024;
const FULL: u64 = PER_POLL + REFUSALS;

/// Runs `poll` with a full budget.
pub(crate) fn with<R>(poll: impl FnOnce() -> R) -> R {
    within(FULL, || {
        let output = poll();
        let _ = here::budget(|budget| {
            let operations = FULL.wrapping_sub(budget.left.get()).min(PER_POLL);
            budget.spent.set(budget.spent.get().wrapping_add(operations as u32));
        });
        output
    })
}

/// How many operations this thread's polls of fibers have begun, modulo 2³². (Without those that have panicked.)
pub(crate) fn spent() -> u32 {
    here::budget(|budget| budget.spent.get()).unwrap_or(0)
}

/// Something is in the hands of a peer that is not done with it: what was polled has to look again.
pub(crate) fn note_undecided() {
    let _ = here::budget(|budget| budget.undecided.set(budget.undecided.get().wrapping_add(1)));
}

/// How often that was so on this thread.
pub(crate) fn undecided() -> u32 {
    here::budget(|budget| budget.undecided.get()).unwrap_or(0)
}

/// Runs `poll` without a budget.
pub(crate) fn without<R>(poll: impl FnOnce() -> R) -> R {
    let _alone = alone();
    within(UNLIMITED, poll)
}

/// The same in a call that blocks its thread, or must not wait.
pub(crate) fn blocking<R>(poll: impl FnOnce() -> R) -> R {
    let _alone = alone();
    within(BLOCKING, poll)
}

/// Whether what runs here is part of such a call, and not of a task that can leave its thread to others.
pub(crate) fn is_blocking() -> bool {
    here::budget(|budget| (FULL + 1..=BLOCKING).contains(&budget.left.get())).unwrap_or(true)
}

fn within<R>(budget: u64, poll: impl FnOnce() -> R) -> R {
    let before = here::budget(|this| this.left.replace(budget)).unwrap_or(UNLIMITED);
    let _restore = finally(|| _ = here::budget(|this| this.left.set(before)));
    poll()
}

/// Says, until it is dropped, that what is polled may wait for something that never comes: something else can end the wait, another
/// future or a time limit. (A guard: a large value that went through a closure would be copied.)
pub(crate) fn endless() -> Finally<impl FnOnce()> {
    say(true)
}

/// The same, that it may not: nothing beside it ends the wait.
pub(crate) fn alone() -> Finally<impl FnOnce()> {
    say(false)
}

fn say(endless: bool) -> Finally<impl FnOnce()> {
    let before = here::budget(|this| this.endless.replace(endless)).unwrap_or(false);
    finally(move || _ = here::budget(|this| this.endless.set(before)))
}

/// Whether what is polled may wait for what never comes; otherwise it panics rather than do so.
pub(crate) fn may_be_endless() -> bool {
    here::budget(|budget| budget.endless.get()).unwrap_or(false)
}

/// Takes one operation from the budget of the poll that is running; false when it is spent, and then the
/// operation has to wake its own task and return `Pending`.
#[inline(always)]
pub(crate) fn spend() -> bool {
    here::budget(|budget| {
        // (After the last refusal there is no budget any more, so that one comparison is enough.)
        let left = budget.left.get().wrapping_sub(1);
        budget.left.set(left);
        left >= REFUSALS
    })
    .unwrap_or(true)
}

/// The same for an operation that is refused at most once in a row, and then woken: others that always use up the budget first must
/// not keep it from beginning. `refused`: whether it was, since it last began.
#[inline]
pub(crate) fn may_begin(refused: &mut bool, cx: &Context<'_>) -> bool {
    may(refused, || !spend(), cx)
}

/// The same for one that takes nothing from the budget itself, but looks at what does.
pub(crate) fn may_look(refused: &mut bool, cx: &Context<'_>) -> bool {
    may(refused, || is_spent() && !spend(), cx)
}

#[inline(always)]
fn may(refused: &mut bool, is_refused: impl FnOnce() -> bool, cx: &Context<'_>) -> bool {
    *refused = !*refused && is_refused();
    if *refused {
        cx.waker().wake_by_ref();
    }
    !*refused
}

/// Whether nothing is left: an operation that is polled now does not even look.
fn is_spent() -> bool {
    here::budget(|budget| (1..=REFUSALS).contains(&budget.left.get())).unwrap_or(false)
}

/// Polls; if that is pending and something in it was refused, polls once more with a budget of its own, so that whatever is ready
/// is found. (Not if something in it has had such a budget and used it up: nested calls would each double what a poll may do.)
pub(crate) fn insist<R>(mut poll: impl FnMut() -> Poll<R>) -> Poll<R> {
    let look = || here::budget(|budget| (budget.left.get(), budget.spent.get())).unwrap_or((UNLIMITED, 0));
    let (left, spent) = look();
    let polled = poll();
    if polled.is_pending() {
        let (left_now, spent_now) = look();
        // (More than before: it went on past the last refusal.)
        let is_refused = left_now < left.min(REFUSALS) || left > 0 && left_now > left;
        if is_refused && u64::from(spent_now.wrapping_sub(spent)) < PER_POLL {
            return with(poll);
        }
    }
    polled
}
