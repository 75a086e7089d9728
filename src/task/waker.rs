//! The waker of a fiber: a counted pointer to its header, with one vtable for all fibers.
//!
//! Waking passes the count to the run queue if the fiber was idle. A waker outlives its runtime without harm: the fiber is complete
//! by then, and a wake of a complete fiber only gives up the count.
//!
//! Wakers of its own that a fiber makes and drops while it runs are counted when its poll ends (`state.rs`).

use std::mem::ManuallyDrop;
use std::ptr::NonNull;
use std::task::{RawWaker, RawWakerVTable, Waker};

use crate::task::header::{Header, Task};
use crate::task::here;
use crate::task::state::WakeByValue;
use crate::task::trace;

static VTABLE: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, drop_waker);

/// # Safety
///
/// `data` is the pointer of a fiber's waker, whose count the caller owns (or borrows, in a `ManuallyDrop`).
unsafe fn task(data: *const ()) -> Task {
    // SAFETY: a waker's pointer is from `Task::into_raw` or `as_raw` and stands for one count.
    unsafe { Task::from_raw(NonNull::new_unchecked(data.cast_mut().cast::<Header>())) }
}

unsafe fn clone(data: *const ()) -> RawWaker {
    // SAFETY: the waker's count is borrowed for the call.
    let task = ManuallyDrop::new(unsafe { task(data) });
    trace::waker(&task, "waker.clone");
    if !here::owe(data, 1) {
        task.state.retain();
    }
    RawWaker::new(data, &VTABLE)
}

unsafe fn wake(data: *const ()) {
    // SAFETY: the waker's count is ours now.
    let task = ManuallyDrop::new(unsafe { task(data) });
    trace::waker(&task, "waker.wake");
    if task.wakes_itself() {
        return give_up(ManuallyDrop::into_inner(task));
    }
    let post = task.post();
    match task.state.wake_by_value(task.by_worker(post.is_some())) {
        WakeByValue::Nothing => {}
        // SAFETY: just asked.
        WakeByValue::Schedule => unsafe { ManuallyDrop::into_inner(task).schedule_at(post) },
        WakeByValue::Last => {
            // SAFETY: that was the last count, so nobody frees the header before us; its vtable is static.
            let free = unsafe { task.as_raw().as_ref() }.vtable.free;
            // SAFETY: as in `Task`'s drop.
            unsafe { free(task.as_raw()) };
        }
    }
}

unsafe fn wake_by_ref(data: *const ()) {
    // SAFETY: the waker's count is borrowed for the call.
    let task = ManuallyDrop::new(unsafe { task(data) });
    trace::waker(&task, "waker.wake_by_ref");
    task.wake();
}

unsafe fn drop_waker(data: *const ()) {
    // SAFETY: the waker's count is ours now.
    let task = unsafe { task(data) };
    trace::waker(&task, "waker.drop");
    give_up(task);
}

/// Gives up a waker's count.
fn give_up(task: Task) {
    if here::owe(task.as_raw().as_ptr().cast(), -1) && !bug!("task_drop_counts_twice") {
        // Settled by the end of its poll.
        let _ = task.into_raw();
    }
}

/// A waker of `task` without a count of its own: it borrows the caller's.
pub(crate) fn borrowed(task: &Task) -> ManuallyDrop<Waker> {
    let raw = RawWaker::new(task.as_raw().as_ptr().cast_const().cast(), &VTABLE);
    // SAFETY: the vtable does what a waker's has to; the count is the caller's, which outlives the borrow that
    // a `ManuallyDrop` is meant for, and is never given up by dropping this.
    ManuallyDrop::new(unsafe { Waker::from_raw(raw) })
}

/// Whether `waker` is `task`'s own.
pub(crate) fn is_own(waker: &Waker, task: &Task) -> bool {
    waker.will_wake(&borrowed(task))
}
