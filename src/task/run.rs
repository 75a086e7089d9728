//! What an executor does with a fiber: run it once, or end it.

use std::task::{Context, Poll};

use crate::task::error::discard;
use crate::task::header::Task;
use crate::task::state::{Finish, Seize, Start};
use crate::task::{budget, context, join, waker};

/// Runs a fiber from the run queue: one poll with a fresh budget, or its end, if it was cancelled meanwhile. A
/// fiber that was woken during the poll goes back to its executor.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread.
pub(crate) unsafe fn run(task: Task) {
    match task.state.start_poll() {
        Start::Stale => return,
        // SAFETY: running, on the right thread by contract.
        Start::Cancelled => return unsafe { end_running(&task) },
        Start::Poll => {}
    }
    // SAFETY: by contract.
    let frame = unsafe { context::enter_fiber(&task) };
    let waker = waker::borrowed(&task);
    let poll = task.vtable.poll;
    // SAFETY: running, on the right thread by contract. The header outlives the poll: we hold a count.
    let polled = budget::with(|| unsafe { poll(task.as_raw(), &mut Context::from_waker(&waker)) });
    drop(frame);
    match polled {
        Poll::Ready(()) => finish(&task, true),
        Poll::Pending => match task.state.finish_poll() {
            // The count went with the transition.
            Finish::Idle => drop(task.into_raw()),
            Finish::Requeue => task.schedule(),
            // SAFETY: still running.
            Finish::Cancelled => unsafe { end_running(&task) },
        },
    }
}

/// Ends a running fiber by a cancel.
///
/// # Safety
///
/// The caller is the running thread, and for a cord's fiber the cord's.
unsafe fn end_running(task: &Task) {
    // SAFETY: by contract.
    let frame = unsafe { context::enter_fiber(task) };
    let cancel = task.vtable.cancel;
    // SAFETY: by contract.
    unsafe { cancel(task.as_raw()) };
    drop(frame);
    finish(task, true);
}

/// Ends a fiber whose executor has stopped. One that runs on another thread (or further down this stack) is
/// marked, and ended after that poll by who polls it.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread.
pub(crate) unsafe fn end(task: &Task) {
    match task.state.seize() {
        // SAFETY: seized is running.
        Seize::Seized => unsafe { end_running(task) },
        Seize::Running | Seize::Complete => {}
    }
}

/// Ends a fiber that no executor was given: the roster refused it, or it was prepared and never started. Its
/// future is dropped outside of any fiber.
///
/// # Safety
///
/// The fiber is not listed, and its future may be dropped on this thread.
pub(crate) unsafe fn end_unlisted(task: &Task) {
    match task.state.seize() {
        Seize::Seized => {
            let cancel = task.vtable.cancel;
            // SAFETY: seized is running; the thread is right by contract.
            unsafe { cancel(task.as_raw()) };
            finish(task, false);
        }
        Seize::Running | Seize::Complete => {}
    }
}

/// The outcome is stored: retires the fiber, completes it, and sees to the outcome or to who waits for it.
pub(crate) fn finish(task: &Task, listed: bool) {
    if listed {
        drop(task.home.roster.retire(task));
    }
    // Who polled its park from elsewhere has no more to wait for.
    if let Some(waker) = task.set_parked(None) {
        discard(waker);
    }
    let completed = task.state.complete();
    if completed.outcome {
        let drop_outcome = task.vtable.drop_outcome;
        // SAFETY: complete without a join handle: the outcome is ours.
        unsafe { drop_outcome(task) };
    }
    if completed.waker {
        // SAFETY: we completed it, and found the waker published.
        unsafe { join::wake_joiner(task) };
    }
}
