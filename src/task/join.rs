//! The join slot: where the one waiter for a fiber's outcome leaves its waker, and the outcome's way out.
//!
//! The state word says who may touch the slot:
//!
//! | WAKER | COMPLETE | the slot belongs to |
//! |---|---|---|
//! | no | no | the join handle |
//! | yes | no | nobody: the handle may compare, and takes it back by clearing WAKER |
//! | yes | yes | the completing thread, which saw WAKER and takes the waker out |
//! | no | yes | the join handle (it is empty, or holds what was never published) |
//!
//! Invariants:
//!
//! 1. There is one handle, used through `&mut`, so one thread at a time runs `poll_outcome` or `detach`.
//! 2. WAKER is set and cleared by the handle only, before COMPLETE only. `complete` reads it in the same
//!    transition that sets COMPLETE, so exactly one side owns the waker afterwards.
//! 3. Wakers are foreign: they are cloned before and dropped after the slot is touched, never in between.

use std::mem::MaybeUninit;
use std::task::{Context, Poll, Waker};

use crate::task::error::{Outcome, discard, shielded};
use crate::task::header::Task;
use crate::task::state::DropHandle;

/// Waits for the outcome of `task`.
///
/// # Safety
///
/// The caller is the task's join handle, `T` its output, and it has not taken the outcome yet.
pub(crate) unsafe fn poll_outcome<T>(task: &Task, cx: &mut Context<'_>) -> Poll<Outcome<T>> {
    if !task.state.is_complete() && register(task, cx.waker()) {
        return Poll::Pending;
    }
    let mut outcome = MaybeUninit::<Outcome<T>>::uninit();
    let take = task.vtable.take_outcome;
    // SAFETY: complete, INTEREST is set as long as the handle lives, and the caller takes the outcome once
    // (`state.rs`, invariant 4); the pointer is to an `Outcome<T>`.
    unsafe { take(task.as_raw(), outcome.as_mut_ptr().cast()) };
    // SAFETY: just written.
    Poll::Ready(unsafe { outcome.assume_init() })
}

/// Leaves `waker` in the slot; false: complete.
fn register(task: &Task, waker: &Waker) -> bool {
    let had_waker = task.state.has_waker();
    if had_waker && task.join.is(waker) {
        // A completion that comes after this line, or came before it, finds this waker and wakes it.
        return true;
    }
    let new = waker.clone();
    if had_waker && !task.state.withdraw_waker() {
        discard(new);
        return false;
    }
    // WAKER is clear: it was so, or we cleared it before COMPLETE. So the slot is ours.
    let old = task.join.take();
    task.join.set(new);
    let published = task.state.publish_waker();
    if !published {
        // Complete without WAKER: the slot is ours.
        discard(task.join.take());
    }
    discard(old);
    published
}

/// Gives up the handle's interest. `taken`: the outcome was taken before.
///
/// # Safety
///
/// The caller is the task's join handle and does nothing but give up its count afterwards.
pub(crate) unsafe fn detach(task: &Task, taken: bool) {
    if taken {
        // Complete, and nothing is left.
        return;
    }
    match task.state.drop_handle() {
        DropHandle::Detached { waker } => {
            if waker {
                // WAKER was cleared before COMPLETE: the slot is ours.
                discard(task.join.take());
            }
        }
        DropHandle::Complete => {
            let drop_outcome = task.vtable.drop_outcome;
            // SAFETY: complete with INTEREST: the outcome is ours, and not taken.
            unsafe { drop_outcome(task) };
        }
    }
}

/// Wakes who waits for `task`. The caller has completed it, and found WAKER set: so the slot is its own (invariant 2).
pub(crate) fn wake_joiner(task: &Task) {
    if let Some(waker) = task.join.take() {
        shielded(|| waker.wake());
    }
}
