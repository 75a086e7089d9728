//! What an executor does with a fiber: run it once, or end it.

use std::task::{Context, Poll};

use crate::task::context::Post;
use crate::task::error::{discard, shielded};
use crate::task::header::Task;
use crate::task::home::HomeRef;
use crate::task::seam::Seam;
use crate::task::state::{By, Finish, Start};
use crate::task::{budget, context, join, trace, waker, watch};

/// Puts a ready fiber into a queue of its executor: of this thread's, if it is a worker of that.
///
/// # Errors
///
/// As [`Seam::inject`].
pub(crate) fn schedule(task: Task) -> Result<(), Task> {
    match task.post() {
        Some(post) => {
            // SAFETY: a worker of it.
            unsafe { driven(&task) }.schedule(post, task);
            Ok(())
        }
        None => inject(task),
    }
}

/// A fiber's [`Vtable::schedule`](crate::task::header::Vtable::schedule).
///
/// # Safety
///
/// `post` is what [`Task::post`] says on this thread.
pub(crate) unsafe fn schedule_woken(task: Task, post: Option<Post>) {
    match post {
        // SAFETY: a worker of it, by contract.
        Some(post) => unsafe { driven(&task) }.schedule(post, task),
        None => inject_or_drop(task),
    }
}

/// The executor of a fiber, for a call that may drop the fiber's count of it.
///
/// # Safety
///
/// This thread is a worker of it: who drives an executor keeps its home alive meanwhile.
#[inline(always)]
unsafe fn driven<'a>(task: &Task) -> &'a dyn Seam {
    let seam: *const dyn Seam = &raw const *task.home().seam;
    // SAFETY: by contract.
    unsafe { &*seam }
}

/// Away from `schedule_woken`, where it is rare.
#[inline(never)]
fn inject_or_drop(task: Task) {
    drop(inject(task));
}

#[inline(never)]
fn inject(task: Task) -> Result<(), Task> {
    // The count goes away in the call, maybe as the last: the home has to outlive it.
    let home = HomeRef::clone(task.home());
    home.seam.inject(task)
}

/// Puts a fiber that this thread owns behind all that are ready.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread.
unsafe fn give_way(task: Task) {
    if let Some(post) = task.post() {
        // SAFETY: a worker of it.
        return unsafe { driven(&task) }.schedule(Post { behind: true, ..post }, task);
    }
    if let Err(task) = inject(task) {
        // SAFETY: it is ours, and on the right thread by contract.
        unsafe { end_entry(task) };
    }
}

/// Runs a fiber from a run queue: one poll with a fresh budget, or its end, if it was cancelled meanwhile. A
/// fiber that was woken during the poll goes back to its executor.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread; for that of an executor with one worker, this is that worker, or the fiber's
/// creator.
pub(crate) unsafe fn run(task: Task) {
    // (A fiber that its creator polls is not TIED.)
    match task.state.start(By::Owner(&task.tie)) {
        Start::Stale => return,
        // SAFETY: owned, on the right thread by contract.
        Start::Cancelled => return unsafe { end_owned(task) },
        Start::Poll => {}
    }
    let (polled, left) = watch::around(&task, || {
        let mut place = context::Frame::nobody();
        // SAFETY: by contract.
        let frame = unsafe { context::enter_fiber(&mut place, &task) };
        let waker = waker::borrowed(&task);
        let poll = task.vtable.poll;
        // SAFETY: owned, on the right thread by contract. The header outlives the poll: we hold a count.
        let polled = budget::with(|| unsafe { poll(task.as_raw(), &mut Context::from_waker(&waker)) });
        let left = frame.leave(polled.is_pending());
        (polled, left)
    });
    match polled {
        Poll::Ready(()) => {
            task.state.settle(left.owed);
            finish(task);
        }
        Poll::Pending => match task.state.finish_poll(&left, task.tie()) {
            // The count went with the transition.
            Finish::Idle => drop(task.into_raw()),
            // SAFETY: by contract.
            Finish::Again => unsafe { give_way(task) },
            // SAFETY: still owned.
            Finish::Cancelled => unsafe { end_owned(task) },
        },
    }
}

/// Ends a fiber that stands in a queue of an executor that has stopped. (Or leaves it to the only worker, which keeps it.)
///
/// # Safety
///
/// As for [`run`]; and the entry was taken out of the queue.
pub(crate) unsafe fn end_entry(task: Task) {
    task.state.mark_ended();
    match task.state.start(task.by()) {
        Start::Stale => {}
        // SAFETY: owned; the thread is right by contract. (A shield does not outlast the executor.)
        Start::Cancelled | Start::Poll => unsafe { end_owned(task) },
    }
}

/// Ends a fiber that this thread owns, by a cancel.
///
/// # Safety
///
/// The caller is the owner, and for a cord's fiber on the cord's thread, or its roster is closed.
unsafe fn end_owned(task: Task) {
    let mut place = context::Frame::nobody();
    // SAFETY: by contract.
    let frame = unsafe { context::enter_fiber(&mut place, &task) };
    let cancel = task.vtable.cancel;
    // SAFETY: by contract.
    budget::with(|| unsafe { cancel(&task) });
    drop(frame);
    finish(task);
}

/// Ends a fiber whose executor has stopped. One that has an owner (who polls it, on another thread or further down this
/// stack; the queue it stands in; or the only worker, unless this is it) is marked, and ended by that owner.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread.
pub(crate) unsafe fn end(task: &Task) {
    if task.state.seize(task.by()) {
        // SAFETY: seized is owned; the thread is right by contract.
        unsafe { end_owned(task.clone()) };
    }
}

/// Ends a newborn fiber that no executor was given: the roster refused it, or it was prepared and never started. Its
/// future is dropped within whatever runs here.
///
/// # Safety
///
/// The fiber is not listed, the caller made it, and its future may be dropped on this thread.
pub(crate) unsafe fn end_unlisted(task: Task) {
    let cancel = task.vtable.cancel;
    // SAFETY: owned; the thread is right by contract.
    unsafe { cancel(&task) };
    finish(task);
}

/// The outcome is stored: retires the fiber, completes it, and sees to the outcome or to who waits for it.
pub(crate) fn finish(task: Task) {
    trace::end(&task);
    let listed = task.home().roster.retire(&task, task.is_awaited());
    if listed && task.home().hooked {
        shielded(|| task.home().seam.ends(&task));
    }
    // Whoever polled its park from elsewhere has nothing left to wait for.
    if let Some(waker) = task.set_parked(None) {
        discard(waker);
    }
    // The roster's count goes with it, and ours if nothing is left to do.
    let completed = task.state.complete(listed, task.group().is_none());
    if completed.gone {
        _ = task.into_raw();
        return;
    }
    if completed.outcome {
        let drop_outcome = task.vtable.drop_outcome;
        // SAFETY: complete without a join handle: the outcome is ours.
        unsafe { drop_outcome(&task) };
    }
    if let Some(group) = task.group() {
        context::behind(|| group.ended(&task));
    }
    if completed.waker {
        context::behind(|| join::wake_joiner(&task));
    }
}
