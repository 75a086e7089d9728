//! The cell of a fiber: header, then the future and in its place, later, the outcome. One allocation.
//!
//! Which of the two the cell holds follows from the state word (`state.rs`, invariant 4), so there is no tag.
//! All foreign code (poll, drop of the future, drop of the outcome) runs with panics caught.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::panic::{self, AssertUnwindSafe, Location};
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::prim::{AtomicPtr, Life, UnsafeCell, WakerSlot};
use crate::task::error::{JoinError, Outcome, Payload, discard, shielded};
use crate::task::extras::Extras;
use crate::task::header::{FiberId, Header, Task, Vtable};
use crate::task::home::HomeRef;
use crate::task::links::{Links, Shards};
use crate::task::run;
use crate::task::state::State;
use crate::task::tie::Tie;

union Stage<F: Future> {
    future: ManuallyDrop<F>,
    outcome: ManuallyDrop<Outcome<F::Output>>,
    /// Makes each cell at least 136 bytes large: the allocator of glibc does not merge freed chunks of up to 128 bytes (its "fast
    /// bins"), and hands them out again one by one, as they are. Fibers made one after the other were thus soon scattered
    /// over memory, and a program that spawns trees took twice as long.
    _room: [u64; 5],
}

#[repr(C)]
struct Cell<F: Future> {
    header: Header,
    stage: UnsafeCell<Stage<F>>,
}

/// What is known of a fiber before it is made.
pub(crate) struct Birth<'a> {
    pub(crate) home: &'a HomeRef,
    pub(crate) id: FiberId,
    pub(crate) at: &'static Location<'static>,
    pub(crate) extras: Option<Box<Extras>>,
}

impl Birth<'_> {
    #[inline(always)]
    pub(crate) fn header(self, state: State, vtable: &'static Vtable) -> Header {
        Header {
            state,
            vtable,
            home: self.home.share().into_address(),
            id: self.id,
            spawned_at: self.at,
            extras: AtomicPtr::new(Extras::into_address(self.extras)),
            links: Links::new(),
            shards: Shards::new(),
            tie: Tie::new(),
            join: WakerSlot::new(),
            life: Life::new(),
        }
    }
}

/// Makes a fiber with as many counts as `state` says, which are the caller's.
///
/// # Safety
///
/// If `F` is not `Send`, `home` is a cord (which polls and drops it on its own thread only) and either this is
/// its thread or the future can be sent as long as it was never polled. The output is taken by a handle that
/// is `Send` only if the output is.
#[inline(always)]
pub(crate) unsafe fn allocate<F>(birth: Birth<'_>, state: State, future: F) -> NonNull<Header>
where
    F: Future + 'static,
    F::Output: 'static,
{
    let mut cell = Box::new_uninit();
    cell.write(Cell {
        header: birth.header(state, &Kind::<F>::VTABLE),
        stage: UnsafeCell::new(Stage { future: ManuallyDrop::new(future) }),
    });
    // SAFETY: not null. The pointer is derived from the whole box (`header.rs`, invariant 2).
    unsafe { NonNull::new_unchecked(Box::into_raw(cell).cast::<Header>()) }
}

struct Kind<F>(F);

impl<F: Future + 'static> Kind<F> {
    const VTABLE: Vtable = Vtable {
        schedule: run::schedule_woken,
        poll: poll::<F>,
        cancel: cancel::<F>,
        take_outcome: take_outcome::<F>,
        drop_outcome: drop_outcome::<F>,
        free: free::<F>,
    };
}

/// # Safety
///
/// `header` is that of a living `Cell<F>`.
unsafe fn stage<'a, F: Future>(header: NonNull<Header>) -> &'a UnsafeCell<Stage<F>> {
    // SAFETY: `header.rs`, invariant 2; the header is the first field.
    unsafe { &(*header.cast::<Cell<F>>().as_ptr()).stage }
}

/// # Safety
///
/// As `Vtable::poll` says: the caller is the running thread.
unsafe fn poll<F: Future>(header: NonNull<Header>, cx: &mut Context<'_>) -> Poll<()> {
    // SAFETY: a fiber of this vtable.
    let stage = unsafe { stage::<F>(header) };
    let polled = panic::catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: running, so the future is there and ours alone; the cell never moves.
        stage.with_mut(|stage| unsafe { Pin::new_unchecked(&mut *(*stage).future) }.poll(cx))
    }));
    // SAFETY: the running thread has a count; it stays there.
    let task = ManuallyDrop::new(unsafe { Task::from_raw(header) });
    let outcome = match polled {
        Ok(Poll::Pending) => return Poll::Pending,
        Ok(Poll::Ready(value)) => Ok(value),
        Err(payload) => Err(JoinError::panicked(Some(&task), payload)),
    };
    // SAFETY: as above.
    unsafe { settle::<F>(&task, outcome) };
    Poll::Ready(())
}

/// # Safety
///
/// As `Vtable::cancel` says: the caller is the running thread.
unsafe fn cancel<F: Future>(task: &Task) {
    // SAFETY: a fiber of this vtable, running on this thread.
    unsafe { settle::<F>(task, Err(JoinError::cancelled(task))) };
}

/// Drops the future and stores the outcome: the first panic wins, and any panic wins over a value or a cancel.
///
/// # Safety
///
/// A fiber of this `F`. The caller is the running thread, and does this once.
unsafe fn settle<F: Future>(task: &Task, mut outcome: Outcome<F::Output>) {
    // SAFETY: by contract.
    let stage = unsafe { stage::<F>(task.as_raw()) };
    let dropped = panic::catch_unwind(AssertUnwindSafe(|| {
        // SAFETY: the future is there and ours alone, and is not touched again.
        stage.with_mut(|stage| unsafe { ManuallyDrop::drop(&mut (*stage).future) });
    }));
    if let Err(payload) = dropped {
        match &outcome {
            Err(first) if first.is_panic() => discard(payload),
            _ => discard(std::mem::replace(&mut outcome, Err(JoinError::panicked(Some(task), payload)))),
        }
    }
    if let Some(extras) = task.extras() {
        // SAFETY: as above, inside the fiber.
        unsafe { extras.locals.end(|payload| report(task, payload)) };
        if let (Some(payload), Some(group)) =
            (outcome.as_ref().err().and_then(JoinError::payload), &extras.group)
        {
            group.panics(task, payload);
        }
    }
    // SAFETY: ours alone; there is nothing to drop in its place.
    stage.with_mut(|stage| unsafe { (*stage).outcome = ManuallyDrop::new(outcome) });
}

/// # Safety
///
/// As `Vtable::take_outcome` says: complete, and the outcome is the caller's; `to` is an `Outcome` of this `F`.
unsafe fn take_outcome<F: Future>(header: NonNull<Header>, to: *mut ()) {
    // SAFETY: a fiber of this vtable.
    let stage = unsafe { stage::<F>(header) };
    // SAFETY: the outcome is there, and the caller's, who takes it once.
    let outcome = stage.with_mut(|stage| unsafe { ManuallyDrop::take(&mut (*stage).outcome) });
    // SAFETY: by contract.
    unsafe { to.cast::<Outcome<F::Output>>().write(outcome) };
}

/// # Safety
///
/// As `Vtable::drop_outcome` says: complete, and the outcome is the caller's.
unsafe fn drop_outcome<F: Future>(task: &Task) {
    // SAFETY: a fiber of this vtable.
    let stage = unsafe { stage::<F>(task.as_raw()) };
    // SAFETY: the outcome is there, and the caller's, who takes it once.
    let outcome = stage.with_mut(|stage| unsafe { ManuallyDrop::take(&mut (*stage).outcome) });
    match outcome.map_err(JoinError::try_into_panic) {
        Ok(value) => {
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| drop(value))) {
                detached(task, payload);
            }
        }
        Err(Ok(payload)) => detached(task, payload),
        Err(Err(_cancelled)) => {}
    }
}

/// A panic that nobody joins goes to the fiber's group, or to the executor's hook.
fn detached(task: &Task, payload: Payload) {
    let left = match task.group() {
        Some(group) => group.keep(task, payload),
        None => Some(payload),
    };
    if let Some(payload) = left {
        report(task, payload);
    }
}

/// Tells the executor's hook of a panic; a panic of the hook is swallowed.
pub(crate) fn report(task: &Task, payload: Payload) {
    shielded(|| task.home().seam.report_panic(task, &*payload));
    discard(payload);
}

/// # Safety
///
/// As `Vtable::free` says: the last count is gone.
unsafe fn free<F: Future>(header: NonNull<Header>) {
    // SAFETY: a fiber of this vtable. Nothing is done, but a model sees that the whole cell is ours now.
    unsafe { stage::<F>(header) }.with_mut(|_| ());
    // SAFETY: from `Box::into_raw` in `allocate`. The stage is a union of `ManuallyDrop`: only the header is
    // dropped with it.
    drop(unsafe { Box::from_raw(header.cast::<Cell<F>>().as_ptr()) });
}

/// Gives back what hangs on it. (Here, as this is above what its home and its extras are.)
impl Drop for Header {
    fn drop(&mut self) {
        // SAFETY: once.
        let (home, extras) = unsafe { (self.take_home(), self.take_extras()) };
        home.give_back();
        drop(extras);
        self.life.end();
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_fiber_is_its_header_and_its_future() {
        type Wide = std::future::Ready<[u64; 16]>;
        assert_eq!(size_of::<Cell<std::future::Ready<u64>>>(), 96 + 40);
        assert_eq!(size_of::<Cell<Wide>>(), 96 + size_of::<Wide>());
        assert!(size_of::<Outcome<()>>() <= 24);
    }
}
