//! The fiber of a `block_on`: its future stays on the caller's stack, its header is a fiber's.
//!
//! It has an id, is found, parked, unparked and woken as any fiber, and has children. Only its caller polls it,
//! so the future needs neither be `Send` nor `'static`, and nobody can cancel it.
//!
//! On a runtime a wake-up goes to the *gate*, where the caller's thread waits; on a cord it goes to the cord's
//! run queue, and the loop of that `block_on` recognizes its own fiber there.
//!
//! Invariants:
//!
//! 1. The fiber is running whenever its future is polled, and completed before `block_on` returns or unwinds;
//!    wakers that live longer find it complete.
//! 2. The gate is a queue of one entry (`state.rs`, invariants 1 and 2), empty when the fiber runs.
//! 3. In a closed world (`crew/closed.rs`): whoever wakes the fiber only to have it report that all are stuck sets `stuck` before
//!    it can run. The fiber is on the list of those who can be told while its thread is counted as busy, waits at the gate, or
//!    drives the cord.

use std::future::Future;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::fiber::core::Core;
use crate::fiber::spawn::{Builder, admit, next_id};
use crate::prim::{AtomicBool, Ordering};
use crate::task::cell::{self, Birth};
use crate::task::error::call;
use crate::task::finally;
use crate::task::header::{Header, Task, Vtable};
use crate::task::home::HomeRef;
use crate::task::roster::Admission;
use crate::task::run;
use crate::task::state::{By, Finish, Start, State};
use crate::task::thread::{Gate, Keeper};
use crate::task::{budget, context, trace, waker, watch};

#[repr(C)]
struct MainCell {
    header: Header,
    /// Of a runtime.
    gate: Option<Gate<Header>>,
    /// It was woken to say that nobody else will wake it.
    stuck: AtomicBool,
}

/// On a runtime: its wake-ups go to the thread that waits in [`Main::wait`].
static GATED: Vtable = Vtable {
    schedule: |task, _| {
        task.home().seam.busy();
        // SAFETY: a main fiber.
        let gate = NonNull::from(unsafe { cell(&task) }.gate());
        // SAFETY: the entry has a count, so the fiber lives; the gate was emptied before the wake-up that this is of (invariant 2).
        unsafe { Gate::bring(gate, task.into_raw()) };
    },
    ..QUEUED
};

/// On a cord: they go to the cord's run queue.
const QUEUED: Vtable = Vtable {
    schedule: run::schedule_woken,
    poll: |_, _| unreachable!("a main fiber is polled by its `block_on` alone"),
    cancel: |_| unreachable!("a main fiber ends with its `block_on` alone"),
    take_outcome: |_, _| unreachable!("a main fiber has no join handle"),
    drop_outcome: |_| {},
    free: |header| {
        // SAFETY: the last count is gone; from `Box::into_raw` in `Main::start`.
        drop(unsafe { Box::from_raw(header.cast::<MainCell>().as_ptr()) });
    },
};

/// # Safety
///
/// `task` is a main fiber.
unsafe fn cell(task: &Task) -> &MainCell {
    // SAFETY: the header is the first field, its pointer derived from the whole cell; alive by the count.
    unsafe { &*task.as_raw().cast::<MainCell>().as_ptr() }
}

impl MainCell {
    fn gate(&self) -> &Gate<Header> {
        self.gate.as_ref().expect("only wake-ups of fibers of a runtime go to a gate")
    }
}

/// A main fiber, for as long as its `block_on` runs.
pub(super) struct Main {
    task: Task,
    /// Of a runtime.
    keeper: Option<Keeper>,
    /// Stays on its thread.
    _not_send: PhantomData<*mut ()>,
}

impl Main {
    /// Makes, lists and schedules it. For a cord this is its thread.
    pub(super) fn start(home: &HomeRef, at: &'static Location<'static>) -> Main {
        let (vtable, keeper) = if home.local { (&QUEUED, None) } else { (&GATED, Some(Keeper::new())) };
        let id = next_id();
        let extras = trace::born(Builder::new().root().extras(home), id, at, "block_on");
        let header = Birth { home, id, at, extras }.header(State::main(), vtable);
        let gate = keeper.as_ref().map(Keeper::gate);
        let cell = Box::new(MainCell { header, gate, stuck: AtomicBool::new(false) });
        // SAFETY: not null.
        let header = unsafe { NonNull::new_unchecked(Box::into_raw(cell).cast::<Header>()) };
        // SAFETY: the three counts that `State::main` made.
        let (listing, queued) = unsafe { (Task::from_raw(header), Task::from_raw(header)) };
        // SAFETY: the third.
        let main = Main { task: unsafe { Task::from_raw(header) }, keeper, _not_send: PhantomData };
        let admission = admit(listing, true);
        debug_assert!(admission == Admission::Listed, "an executor that is borrowed has not ended");
        queued.schedule();
        Core::crew(home).expect_main(|| main.task.clone());
        main
    }

    /// Waits at the gate. This thread has stepped aside.
    pub(super) fn wait(&self) -> Task {
        let keeper = self.keeper.as_ref().expect("only main fibers of a runtime wait at a gate");
        // SAFETY: a main fiber.
        let gate = unsafe { cell(&self.task) }.gate();
        // SAFETY: the count came with the entry.
        unsafe { Task::from_raw(keeper.wait(gate)) }
    }

    pub(super) fn is(&self, task: &Task) -> bool {
        self.task.is(task)
    }

    /// Polls the future once, with the count that the gate or the queue gave.
    ///
    /// # Panics
    ///
    /// If it was woken to say that nobody else will wake it.
    #[track_caller]
    pub(super) fn poll<F: Future>(&self, task: Task, inside: Pin<&mut Inside<'_, F>>) -> Poll<F::Output> {
        debug_assert!(self.is(&task));
        match task.state.start(task.by()) {
            Start::Poll => {}
            Start::Stale => return Poll::Pending,
            Start::Cancelled => unreachable!("a main fiber cannot be cancelled"),
        }
        // SAFETY: a main fiber.
        // ORDERING: Relaxed: it was set before the entry was made that this thread has taken.
        if unsafe { cell(&task) }.stuck.load(Ordering::Relaxed) {
            self.fail();
        }
        // (In one place all the while: it may be large.)
        let mut polled = Poll::Pending;
        let left = watch::around(&task, || {
            let waker = waker::borrowed(&task);
            let mut place = context::Frame::nobody();
            // SAFETY: a `Main` stays on the thread of its `block_on` (it is not `Send`), which is the cord's if any.
            let frame = unsafe { context::enter_fiber(&mut place, &task) };
            budget::with(|| polled = inside.future().poll(&mut Context::from_waker(&waker)));
            frame.leave(polled.is_pending())
        });
        if polled.is_ready() {
            task.state.settle(left.owed);
            return polled;
        }
        // At a gate it is polled by another thread than the workers.
        let tie = if self.keeper.is_none() { task.tie() } else { None };
        match task.state.finish_poll(&left, tie) {
            // The count went with the transition.
            Finish::Idle => drop(task.into_raw()),
            Finish::Again => context::behind(|| task.schedule()),
            Finish::Cancelled => unreachable!("a main fiber cannot be cancelled"),
        }
        polled
    }

    #[cold]
    #[track_caller]
    fn fail(&self) -> ! {
        let home = self.task.home();
        let report = Core::of(home).report.expect("only a closed world can be known to be stuck");
        panic!("{}", report(home, &self.task))
    }
}

/// Tells one of those of a closed world that wait in a `block_on` that it will do so for ever.
pub(super) fn tell(main: &Task) {
    // SAFETY: only main fibers are listed.
    let cell = unsafe { cell(main) };
    // ORDERING: Relaxed: the entry is made after this, and released.
    main.wake_marked(|| cell.stuck.store(true, Ordering::Relaxed));
}

impl Drop for Main {
    fn drop(&mut self) {
        Core::crew(self.task.home()).dismiss_main(|main| main.is(&self.task));
        // It is RUNNING, except after a panic elsewhere in the loop, which this makes up for.
        let _ = self.task.state.seize(By::Other);
        run::finish(self.task.clone());
    }
}

/// The future of a main fiber, which is dropped inside that fiber.
pub(super) struct Inside<'a, F> {
    future: ManuallyDrop<F>,
    main: &'a Main,
}

impl<'a, F: Future> Inside<'a, F> {
    pub(super) fn new(main: &'a Main, future: F) -> Self {
        Inside { future: ManuallyDrop::new(future), main }
    }

    fn future(self: Pin<&mut Self>) -> Pin<&mut F> {
        // SAFETY: the future is pinned with `self`: never moved, dropped in place, and this type is `Unpin` only
        // if `F` is.
        unsafe { self.map_unchecked_mut(|inside| &mut *inside.future) }
    }
}

impl<F> Drop for Inside<'_, F> {
    fn drop(&mut self) {
        let task = &self.main.task;
        let mut place = context::Frame::nobody();
        // SAFETY: as in `Main::poll`; this is pinned on the same stack.
        let _frame = unsafe { context::enter_fiber(&mut place, task) };
        // Also after a drop that panics.
        let _locals = finally(|| {
            if let Some(extras) = task.extras() {
                // SAFETY: the fiber is that of this thread's `block_on`, which is inside it.
                unsafe { extras.locals.end(|payload| cell::report(task, payload)) };
            }
        });
        // SAFETY: dropped here only.
        call(|| unsafe { ManuallyDrop::drop(&mut self.future) });
    }
}
