//! Who runs on this thread: which fiber, on which executor, inside which `block_on`.
//!
//! A frame says it for the duration of one poll (or drop of a future), or of an executor's loop; frames nest and
//! each restores the one before. The pointers in a frame are borrowed from its guard's caller. During the exit
//! of a thread, when its thread-locals are gone, there is no fiber and no executor.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::NonNull;

use crate::prim::{self, Arc};
use crate::task::header::{Header, Task};
use crate::task::home::Home;
use crate::task::warn;

#[derive(Clone, Copy)]
struct Frame {
    fiber: Option<NonNull<Header>>,
    home: Option<NonNull<Arc<Home>>>,
}

const OUTSIDE: Frame = Frame { fiber: None, home: None };

prim::thread_local! {
    static FRAME: Cell<Frame> = Cell::new(OUTSIDE);
    static BLOCK_ON: Cell<Option<&'static Location<'static>>> = Cell::new(None);
}

fn frame() -> Frame {
    FRAME.try_with(Cell::get).unwrap_or(OUTSIDE)
}

/// Leaves the frame when dropped.
#[must_use]
pub(crate) struct Entered<'a> {
    before: Frame,
    /// Borrows what the frame points to; stays on its thread.
    _lender: PhantomData<(&'a Task, *mut ())>,
}

impl Entered<'_> {
    fn new(frame: Frame) -> Self {
        let before = FRAME.try_with(|current| current.replace(frame)).unwrap_or(OUTSIDE);
        Entered { before, _lender: PhantomData }
    }
}

impl Drop for Entered<'_> {
    fn drop(&mut self) {
        let _ = FRAME.try_with(|current| current.set(self.before));
    }
}

/// The calling thread runs `task` from now on.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread: what it spawns there need not be `Send`.
pub(crate) unsafe fn enter_fiber(task: &Task) -> Entered<'_> {
    Entered::new(Frame { fiber: Some(task.as_raw()), home: Some(NonNull::from(&task.home)) })
}

/// The calling thread works for `home`, in none of its fibers.
///
/// # Safety
///
/// For a cord, this is its thread: what it spawns there need not be `Send`.
pub(crate) unsafe fn enter_home(home: &Arc<Home>) -> Entered<'_> {
    Entered::new(Frame { fiber: None, home: Some(NonNull::from(home)) })
}

/// Calls `f` with the fiber that runs here.
pub(crate) fn with_task<R>(f: impl FnOnce(&Task) -> R) -> Option<R> {
    let fiber = frame().fiber?;
    // SAFETY: the frame's guard borrows a `Task`, so the fiber is alive; the count stays with that task.
    let task = ManuallyDrop::new(unsafe { Task::from_raw(fiber) });
    Some(f(&task))
}

/// The executor that this thread works for.
pub(crate) fn home() -> Option<Arc<Home>> {
    // SAFETY: the frame's guard borrows the `Arc`, and cannot end during this call.
    frame().home.map(|home| Arc::clone(unsafe { home.as_ref() }))
}

/// Leaves a `block_on` when dropped.
#[must_use]
pub(crate) struct Blocking {
    before: Option<&'static Location<'static>>,
}

impl Drop for Blocking {
    fn drop(&mut self) {
        let _ = BLOCK_ON.try_with(|place| place.set(self.before));
    }
}

/// Enters a `block_on`.
///
/// # Panics
///
/// Inside another `block_on` on the same thread; inside a fiber of a cord.
#[track_caller]
pub(crate) fn enter_block_on() -> Blocking {
    let here = Location::caller();
    if let Some(outer) = BLOCK_ON.try_with(Cell::get).unwrap_or(None) {
        panic!(
            "`block_on` at {here} inside the `block_on` at {outer}: the inner one would stop the outer one's \
             thread; `.await` the inner future instead, or move the call into `unblock`"
        );
    }
    may_block("block_on");
    let before = BLOCK_ON.try_with(|place| place.replace(Some(here))).unwrap_or(None);
    Blocking { before }
}

/// To be called first by whatever blocks its thread. `what` is the call as its user wrote it.
///
/// Inside a fiber of a runtime that stops one worker: allowed, and in debug builds reported once per place.
///
/// # Panics
///
/// Inside a fiber of a cord, whose only thread it would stop.
#[track_caller]
pub(crate) fn may_block(what: &str) {
    let place = Location::caller();
    match with_task(|task| task.home.local) {
        None => {}
        Some(true) => panic!(
            "`{what}` at {place} blocks the thread of a cord, and with it all fibers of that cord; `.await` the \
             async form instead, or move the blocking call into `leno::fiber::unblock(|| …).await`"
        ),
        Some(false) => {
            if cfg!(debug_assertions) {
                warn::blocking_call(what, place);
            }
        }
    }
}
