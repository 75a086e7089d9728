//! Who runs on this thread: which fiber, on which executor, inside which `block_on`; and which worker it is.
//!
//! A frame says it for the duration of one poll (or drop of a future), or of an executor's loop; frames nest and
//! each restores the one before. A fiber's frame is within its span (`trace.rs`). The pointers are borrowed from the guards' callers. During the exit of a thread, when
//! its thread-locals are gone, there is no fiber and no executor.
//!
//! A thread that *drives* an executor, as one of its workers, has queues of its own for it: what it wakes goes there.
//! It drives one at a time: a cord's `block_on` inside a fiber of a runtime takes the runtime's place until it returns.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::ptr::{self, NonNull};

use crate::prim;
use crate::task::header::{Header, Task};
use crate::task::home::{Home, HomeRef};
use crate::task::state::By;
use crate::task::{trace, warn};

/// Who polls or drops what.
#[derive(Clone, Copy)]
struct Frame {
    fiber: Option<NonNull<Header>>,
    home: Option<NonNull<HomeRef>>,
}

/// The executor that this thread is a worker of, and which worker. Null: none.
#[derive(Clone, Copy)]
struct Seat {
    home: *const Home,
    worker: *const (),
    number: usize,
}

struct Here {
    frame: Cell<Frame>,
    seat: Cell<Seat>,
    /// Counts of that executor's home, for its fibers.
    spare: Cell<usize>,
    /// The fiber of the frame has woken itself.
    woken: Cell<bool>,
    /// What is woken goes behind what is ready.
    behind: Cell<bool>,
}

const OUTSIDE: Frame = Frame { fiber: None, home: None };
const NOWHERE: Seat = Seat { home: ptr::null(), worker: ptr::null(), number: 0 };

prim::thread_local! {
    static HERE: Here = Here {
        frame: Cell::new(OUTSIDE),
        seat: Cell::new(NOWHERE),
        spare: Cell::new(0),
        woken: Cell::new(false),
        behind: Cell::new(false),
    };
    static BLOCK_ON: Cell<Option<&'static Location<'static>>> = Cell::new(None);
}

fn frame() -> Frame {
    HERE.try_with(|here| here.frame.get()).unwrap_or(OUTSIDE)
}

/// Leaves the frame when dropped.
#[must_use]
pub(crate) struct Entered<'a> {
    before: Frame,
    woken: bool,
    /// Left after the frame.
    inside: trace::Inside<'a>,
    /// Borrows what the frame points to; stays on its thread.
    _lender: PhantomData<(&'a Task, *mut ())>,
}

impl<'a> Entered<'a> {
    #[inline]
    fn new(frame: Frame, inside: trace::Inside<'a>) -> Self {
        let (before, woken) = HERE
            .try_with(|here| (here.frame.replace(frame), here.woken.replace(false)))
            .unwrap_or((OUTSIDE, false));
        Entered { before, woken, inside, _lender: PhantomData }
    }

    /// Leaves it after a poll that has left its fiber `pending`, or not. True: the fiber has woken itself meanwhile.
    #[inline]
    pub(crate) fn leave(mut self, pending: bool) -> bool {
        self.inside.end_poll(pending);
        HERE.try_with(|here| here.woken.get()).unwrap_or(false)
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let _ = HERE.try_with(|here| {
            here.frame.set(self.before);
            here.woken.set(self.woken);
        });
    }
}

/// The calling thread runs `task` from now on.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread: what it spawns there need not be `Send`.
#[inline]
pub(crate) unsafe fn enter_fiber(task: &Task) -> Entered<'_> {
    let inside = trace::enter(task);
    Entered::new(Frame { fiber: Some(task.as_raw()), home: Some(NonNull::from(&*task.home)) }, inside)
}

/// The calling thread works for `home`, in none of its fibers.
///
/// # Safety
///
/// For a cord, this is its thread: what it spawns there need not be `Send`.
pub(crate) unsafe fn enter_home(home: &HomeRef) -> Entered<'_> {
    Entered::new(Frame { fiber: None, home: Some(NonNull::from(home)) }, trace::Inside::nothing())
}

/// Leaves the seat when dropped, and the frame.
#[must_use]
pub(crate) struct Driving<'a> {
    home: &'a HomeRef,
    before: (Seat, usize),
    _base: Entered<'a>,
}

/// The calling thread drives `home` as its `worker`, the one with that number, and works for it.
///
/// # Safety
///
/// The worker is this thread's alone, and what the executor's seam takes for a worker; it outlives the guard. For
/// a cord, this is its thread.
pub(crate) unsafe fn drive(home: &HomeRef, number: usize, worker: *const ()) -> Driving<'_> {
    let seat = Seat { home: home.as_ptr(), worker, number };
    let before =
        HERE.try_with(|here| (here.seat.replace(seat), here.spare.replace(0))).unwrap_or((NOWHERE, 0));
    // SAFETY: by contract.
    Driving { home, before, _base: unsafe { enter_home(home) } }
}

impl Drop for Driving<'_> {
    fn drop(&mut self) {
        let _ = HERE.try_with(|here| {
            let (seat, spare) = self.before;
            here.seat.set(seat);
            self.home.release(here.spare.replace(spare));
        });
    }
}

/// Takes its seat again when dropped.
#[must_use]
pub(crate) struct Aside(Seat);

/// For a call that blocks: until it returns, this thread wakes fibers as if from elsewhere, since nobody runs what is in
/// its own queue.
pub(crate) fn stand_aside() -> Aside {
    Aside(HERE.try_with(|here| here.seat.replace(NOWHERE)).unwrap_or(NOWHERE))
}

impl Drop for Aside {
    fn drop(&mut self) {
        let _ = HERE.try_with(|here| here.seat.set(self.0));
    }
}

/// To be called before a call that blocks this thread: if it drives an executor, others get what is ready on it.
pub(crate) fn hand_over() {
    let seat = HERE.try_with(|here| here.seat.get()).unwrap_or(NOWHERE);
    if let Some(worker) = NonNull::new(seat.worker.cast_mut()) {
        // SAFETY: the guard of the seat borrows the home, and is further up this thread's stack.
        unsafe { &*seat.home }.seam.blocks(worker);
    }
}

/// How many counts of its home a worker gets at once; it keeps up to twice as many.
const STOCK: usize = 64;

/// Takes a count of `home` from the stock, if this thread drives it.
#[inline]
pub(crate) fn take_spare(home: &HomeRef) -> bool {
    HERE.try_with(|here| {
        let driven = ptr::eq(here.seat.get().home, home.as_ptr());
        if driven {
            let mut spare = here.spare.get();
            if spare == 0 {
                home.retain(STOCK);
                spare = STOCK;
            }
            here.spare.set(spare - 1);
        }
        driven
    })
    .unwrap_or(false)
}

/// Puts a count of `home` into the stock, if this thread drives it.
#[inline]
pub(crate) fn keep_spare(home: &HomeRef) -> bool {
    HERE.try_with(|here| {
        let driven = ptr::eq(here.seat.get().home, home.as_ptr());
        if driven {
            let mut spare = here.spare.get() + 1;
            if spare > 2 * STOCK {
                home.release(STOCK);
                spare -= STOCK;
            }
            here.spare.set(spare);
        }
        driven
    })
    .unwrap_or(false)
}

/// The worker of `home` that this thread is.
#[inline]
pub(crate) fn worker_of(home: &HomeRef) -> Option<NonNull<()>> {
    let seat = HERE.try_with(|here| here.seat.get()).unwrap_or(NOWHERE);
    if ptr::eq(seat.home, home.as_ptr()) { NonNull::new(seat.worker.cast_mut()) } else { None }
}

/// The number of the worker of `home` that this thread is.
#[inline]
pub(crate) fn worker_number(home: &HomeRef) -> Option<usize> {
    let seat = HERE.try_with(|here| here.seat.get()).unwrap_or(NOWHERE);
    ptr::eq(seat.home, home.as_ptr()).then_some(seat.number)
}

/// As who this thread wakes fibers of `home`.
#[inline]
pub(crate) fn by(home: &HomeRef) -> By {
    if worker_of(home).is_some() { By::Owner } else { By::Other }
}

/// Whether `fiber` runs here, and so wakes itself; then that is noted.
#[inline]
pub(crate) fn wakes_itself(fiber: NonNull<Header>) -> bool {
    HERE.try_with(|here| {
        let own = here.frame.get().fiber == Some(fiber);
        if own {
            here.woken.set(true);
        }
        own
    })
    .unwrap_or(false)
}

/// Calls `f`, and puts the fibers that it wakes behind those that are ready.
pub(crate) fn behind<R>(f: impl FnOnce() -> R) -> R {
    let before = HERE.try_with(|here| here.behind.replace(true)).unwrap_or(false);
    let result = f();
    let _ = HERE.try_with(|here| here.behind.set(before));
    result
}

/// Whether what is woken goes behind what is ready.
#[inline]
pub(crate) fn is_behind() -> bool {
    HERE.try_with(|here| here.behind.get()).unwrap_or(false)
}

/// Calls `f` with the fiber that runs here.
pub(crate) fn with_task<R>(f: impl FnOnce(&Task) -> R) -> Option<R> {
    let fiber = frame().fiber?;
    // SAFETY: the frame's guard borrows a `Task`, so the fiber is alive; the count stays with that task.
    let task = ManuallyDrop::new(unsafe { Task::from_raw(fiber) });
    Some(f(&task))
}

/// Calls `f` with the executor that this thread works for, or with `otherwise`.
pub(crate) fn with_home<R>(otherwise: impl FnOnce() -> HomeRef, f: impl FnOnce(&HomeRef) -> R) -> R {
    match frame().home {
        // SAFETY: the frame's guard borrows it, and is further up this thread's stack.
        Some(home) => f(unsafe { home.as_ref() }),
        None => f(&otherwise()),
    }
}

/// Calls `f` with the executor that this thread works for, if any.
#[inline]
pub(crate) fn with_home_here<R>(f: impl FnOnce(Option<&HomeRef>) -> R) -> R {
    // SAFETY: the frame's guard borrows it, and is further up this thread's stack.
    f(frame().home.as_ref().map(|home| unsafe { home.as_ref() }))
}

/// The executor that this thread works for.
pub(crate) fn home() -> Option<HomeRef> {
    // SAFETY: the frame's guard borrows the `Arc`, and cannot end during this call.
    frame().home.map(|home| unsafe { home.as_ref() }.clone())
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
/// Inside a fiber of a runtime that stops one worker: allowed, and in debug builds reported once per place. What was
/// ready on that worker goes to the others.
///
/// # Panics
///
/// Inside a fiber of a cord, whose only thread it would stop.
#[inline]
#[track_caller]
pub(crate) fn may_block(what: &str) {
    if frame().fiber.is_some() {
        blocks(what, Location::caller());
    }
}

#[cold]
fn blocks(what: &str, place: &'static Location<'static>) {
    with_task(|task| {
        assert!(
            !task.home.local,
            "`{what}` at {place} blocks the thread of a cord, and with it all fibers of that cord; `.await` the \
             async form instead, or move the blocking call into `leno::fiber::unblock(|| …).await`"
        );
        if cfg!(debug_assertions) {
            warn::blocking_call(what, place);
        }
    });
    hand_over();
}
