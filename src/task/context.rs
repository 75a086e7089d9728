//! Who runs on this thread: which fiber, on which executor, inside which `block_on`; and which worker it is.
//!
//! A frame says it for the duration of one poll (or drop of a future), or of an executor's loop. It stands on the stack of who
//! enters it, and what its pointers point to is borrowed there; a thread-local points to the last one. So memory safety asks
//! that each is left, by the drop of its guard, before its place goes and after those that were entered later: guards are locals,
//! after their places, and nobody forgets one. A fiber's frame is within its span (`trace.rs`). During the exit of a thread, when
//! its thread-locals are gone, there is no fiber and no executor.
//!
//! A thread that *drives* an executor, as one of its workers, has queues of its own for it: what it wakes goes there.
//! It drives one at a time: a cord's `block_on` inside a fiber of a runtime takes the runtime's place until it returns.
//!
//! A thread that waits *looks after* the timers of the executors whose worker it is, as nobody else may be there to do so. Their
//! wakers are called in no fiber; one that waits looks after further timers, and so on, but not without an end.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::time::Instant;

use crate::prim;
use crate::task::finally::{Finally, finally};
use crate::task::header::{Header, Task};
use crate::task::here::{self, Charge, Seat};
use crate::task::home::{Home, HomeRef};
use crate::task::seam::Bell;
use crate::task::state::Left;
use crate::task::{budget, trace, warn};

/// So many times a thread fires timers within the waker of another one; who waits in there leaves them to others.
const DEEPEST: u32 = 16;

type Ends = (*const HomeRef, fn(&HomeRef));

prim::thread_local! {
    static BLOCK_ON: Cell<Option<&'static Location<'static>>> = Cell::new(None);
    /// The executor whose fibers this thread ends, and what it does before it sleeps.
    static ENDS: Cell<Option<Ends>> = Cell::new(None);
}

/// Leaves the frame when dropped, which it must be: see the header.
#[must_use]
pub(crate) struct Entered<'a> {
    frame: &'a Frame,
    before: *const Frame,
    /// Of a fiber's frame.
    task: Option<&'a Task>,
    /// Left after the frame.
    inside: trace::Inside<'a>,
    /// Stays on its thread.
    _not_send: PhantomData<*mut ()>,
}

impl<'a> Entered<'a> {
    #[inline(always)]
    fn new(
        place: &'a mut Frame,
        (fiber, home): (Option<&'a Task>, Option<&'a HomeRef>),
        inside: trace::Inside<'a>,
    ) -> Self {
        let header = fiber.map_or(ptr::null(), |task| task.as_raw().as_ptr().cast_const().cast());
        *place = Frame::new(header, home.map_or(ptr::null(), |home| ptr::from_ref(home).cast()));
        // SAFETY: borrowed until this is dropped, which nobody forgets; what was entered later was dropped before.
        let before = unsafe { here::enter(place) };
        Entered { frame: place, before, task: fiber, inside, _not_send: PhantomData }
    }

    /// Leaves it after a poll that has left its fiber `pending`, or not.
    #[inline]
    pub(crate) fn leave(mut self, pending: bool) -> Left {
        self.inside.end_poll(pending);
        let owed = self.frame.take_owed();
        Left {
            woke_itself: self.frame.has_woken_itself(),
            owed: if bug!("task_owed_is_forgotten") { 0 } else { owed },
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let owed = self.frame.take_owed();
        here::leave(self.before);
        if let (Some(task), false) = (self.task, owed == 0 || bug!("task_owed_is_dropped")) {
            task.state.settle(owed);
        }
    }
}

/// The calling thread runs `task` from now on, in a frame that stands in this `place`.
///
/// # Safety
///
/// For a cord's fiber, this is the cord's thread: what it spawns there need not be `Send`. Or the cord's roster is closed: then
/// whatever is spawned there is dropped on this thread, as part of the spawn.
#[inline]
pub(crate) unsafe fn enter_fiber<'a>(place: &'a mut Frame, task: &'a Task) -> Entered<'a> {
    Entered::new(place, (Some(task), Some(task.home())), trace::enter(task))
}

/// The calling thread works for `home`, in none of its fibers.
///
/// # Safety
///
/// For a cord, this is its thread: what it spawns there need not be `Send`.
pub(crate) unsafe fn enter_home<'a>(place: &'a mut Frame, home: &'a HomeRef) -> Entered<'a> {
    Entered::new(place, (None, Some(home)), trace::Inside::nothing())
}

/// What the calling thread does is of no fiber and of no executor for a while.
pub(crate) fn enter_nowhere(place: &mut Frame) -> Entered<'_> {
    Entered::new(place, (None, None), trace::Inside::nothing())
}

/// Calls `f`, in which the calling thread drives `home` as its `worker`, the one with that number, and works for it.
///
/// # Safety
///
/// The worker is this thread's alone, and what the executor's seam takes for a worker; it outlives the call. For
/// a cord, this is its thread.
pub(crate) unsafe fn drive<R>(home: &HomeRef, number: usize, worker: *const (), f: impl FnOnce() -> R) -> R {
    look_after(home, || {
        let mut place = Frame::nobody();
        // SAFETY: by contract.
        let _base = unsafe { enter_home(&mut place, home) };
        let away = Away::to(Seat { home: home.address(), worker, number });
        let stock = here::replace_stock(0);
        let _stock = finally(|| home.release(here::replace_stock(stock)));
        away.hand_over();
        f()
    })
}

/// Calls `f`. Whenever the calling thread waits in there it looks after the timers of `home`, as one of its workers.
pub(crate) fn look_after<R>(home: &HomeRef, f: impl FnOnce() -> R) -> R {
    let besides = here::charge();
    // SAFETY: each is on this thread's stack, further up, with a home that is borrowed there.
    if unsafe { besides.as_ref().is_some_and(|last| (*last.home.cast::<HomeRef>()).is(home)) } {
        // (A cord that is driven in its `block_on`.)
        return f();
    }
    let charge = Charge { home: ptr::from_ref(home).cast(), besides };
    here::set_charge(&raw const charge);
    let _before = finally(|| here::set_charge(besides));
    f()
}

/// Calls `f` with each executor whose timers this thread looks after.
fn for_each_charge(mut f: impl FnMut(&HomeRef)) {
    if here::firing() >= DEEPEST {
        return;
    }
    let mut next = here::charge();
    // SAFETY: each is on this thread's stack, further up, with a home that is borrowed there.
    while let Some(charge) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        f(unsafe { &*charge.home.cast::<HomeRef>() });
        next = charge.besides;
    }
}

/// When a thread that is about to wait until `deadline` at most has to look at what it looks after, or that.
pub(crate) fn until(deadline: Option<Instant>) -> Option<Instant> {
    let mut first = deadline;
    for_each_charge(|home| first = first.into_iter().chain(home.seam.next_timer()).min());
    first
}

/// Calls `sleep`, for a thread that sleeps until `deadline` at most, with the time until which it may do so. Whoever sets a timer
/// that comes before that, and finds nobody else to look after it, rings `bell`.
pub(crate) fn asleep<R>(
    bell: &dyn Bell,
    deadline: Option<Instant>,
    sleep: impl FnOnce(Option<Instant>) -> R,
) -> R {
    leave_the_rest();
    // SAFETY: the lifetime alone changes, and it is taken down before this returns or unwinds.
    let bell = unsafe { mem::transmute::<&dyn Bell, &'static dyn Bell>(bell) };
    let mut first = deadline;
    for_each_charge(|home| first = first.into_iter().chain(home.seam.hang_up(bell)).min());
    let _bell = finally(|| for_each_charge(|home| home.seam.take_down(bell)));
    sleep(first)
}

/// Calls `f`, which ends fibers of `home`. Should this thread sleep in what is dropped there, it calls `go_on` before, once: somebody
/// else is to go on with that, and does not stop before all is ended.
pub(crate) fn ending<R>(home: &HomeRef, go_on: fn(&HomeRef), f: impl FnOnce() -> R) -> R {
    // (What has been dropped this far may wait for it.)
    leave_the_rest();
    let replace = |ends| ENDS.try_with(|now| now.replace(ends)).unwrap_or(None);
    let before = replace(Some((ptr::from_ref(home), go_on)));
    let _before = finally(|| _ = replace(before));
    f()
}

/// This thread is about to sleep, or waits otherwise.
pub(crate) fn leave_the_rest() {
    if let Some((home, go_on)) = ENDS.try_with(Cell::take).unwrap_or(None) {
        // SAFETY: borrowed by an `ending` further up this thread's stack.
        go_on(unsafe { &*home });
    }
}

/// Fires what has come of the timers that this thread looks after.
pub(crate) fn fire_timers() {
    for_each_charge(|home| {
        if prim::is_late(home.seam.next_timer()) {
            let mut place = Frame::nobody();
            // SAFETY: of a cord this is the thread, as it drives it.
            let _base = unsafe { enter_home(&mut place, home) };
            let firing = here::firing();
            here::set_firing(firing + 1);
            let _firing = finally(|| here::set_firing(firing));
            home.seam.fire_timers();
        }
    });
}

/// Takes its seat again when dropped, unless somebody else acts as that worker.
#[must_use]
pub(crate) struct Away {
    seat: Seat,
    /// Somebody may: what it is to say when it returns.
    left: Option<usize>,
}

impl Away {
    fn to(seat: Seat) -> Away {
        let left = in_seat(here::seat(), |home, _| home.seam.leaves()).flatten();
        Away { seat: here::sit(seat), left }
    }

    /// Others get what is ready on the worker that this thread was. (By now nothing more comes there.)
    fn hand_over(&self) {
        hand_over_in(self.seat);
    }
}

impl Drop for Away {
    fn drop(&mut self) {
        let returns = |left| in_seat(self.seat, |home, _| home.seam.returns(left)) != Some(false);
        here::sit(if self.left.is_none_or(returns) { self.seat } else { here::NOWHERE });
    }
}

/// For a call that blocks: others get what is in this thread's own queue, and until the call returns, it wakes fibers as if from
/// elsewhere.
pub(crate) fn stand_aside() -> Away {
    let away = Away::to(here::aside());
    away.hand_over();
    away
}

pub(crate) use here::stands_aside;

/// Calls `f` with the executor and the worker of a seat of this thread.
fn in_seat<R>(seat: Seat, f: impl FnOnce(&Home, NonNull<()>) -> R) -> Option<R> {
    // SAFETY: the guard of the seat borrows the home, and is further up this thread's stack.
    let home = unsafe { seat.home.cast::<Home>().as_ref() }?;
    Some(f(home, NonNull::new(seat.worker.cast_mut())?))
}

/// To be called before what may take long, and wait in the end: others get what is ready by now on the worker that this thread is.
pub(crate) fn hand_over() {
    hand_over_in(here::seat());
}

fn hand_over_in(seat: Seat) {
    let _ = in_seat(seat, |home, worker| home.seam.blocks(worker));
}

/// Whether this thread is a worker of `home`.
pub(crate) fn drives(home: &HomeRef) -> bool {
    worker_of(home).is_some()
}

/// The worker of `home` that this thread is.
#[inline]
pub(crate) fn worker_of(home: &HomeRef) -> Option<NonNull<()>> {
    here::worker_of(home.address())
}

/// The same, for a fiber that is made ready.
#[inline]
pub(crate) fn post_of(home: &HomeRef) -> Option<Post> {
    here::post_of(home.address())
}

pub(crate) use here::{Frame, Post, behind};

/// Calls `f` with the fiber that runs here.
#[inline]
pub(crate) fn with_task<R>(f: impl FnOnce(&Task) -> R) -> Option<R> {
    let fiber = NonNull::new(here::fiber().cast::<Header>().cast_mut())?;
    // SAFETY: the frame's guard borrows a `Task`, so the fiber is alive; the count stays with that task.
    let task = ManuallyDrop::new(unsafe { Task::from_raw(fiber) });
    Some(f(&task))
}

/// Calls `f` with the executor that this thread works for, or with `otherwise`.
pub(crate) fn with_home<R>(otherwise: impl FnOnce() -> HomeRef, f: impl FnOnce(&HomeRef) -> R) -> R {
    with_home_here(|home| match home {
        Some(home) => f(home),
        None => f(&otherwise()),
    })
}

/// Calls `f` with the executor that this thread works for, if any.
#[inline]
pub(crate) fn with_home_here<R>(f: impl FnOnce(Option<&HomeRef>) -> R) -> R {
    // SAFETY: the frame's guard borrows it, and is further up this thread's stack.
    f(unsafe { here::home().cast::<HomeRef>().as_ref() })
}

/// The executor that this thread works for.
pub(crate) fn home() -> Option<HomeRef> {
    with_home_here(|home| home.cloned())
}

/// Enters a `block_on`, which ends when what this gives is dropped.
///
/// # Panics
///
/// Inside another `block_on` on the same thread; inside a fiber of a cord.
#[track_caller]
pub(crate) fn enter_block_on() -> Finally<impl FnOnce()> {
    let here = Location::caller();
    if let Some(outer) = BLOCK_ON.try_with(Cell::get).unwrap_or(None) {
        panic!(
            "`block_on` at {here} inside the `block_on` at {outer}: the inner one would block the outer one's \
             thread; `.await` the inner future instead, or move the call into `unblock`"
        );
    }
    may_block("block_on");
    // (Also where no fiber runs. Before it has begun: what is ended thereby may block in its turn.)
    hand_over();
    let before = BLOCK_ON.try_with(|place| place.replace(Some(here))).unwrap_or(None);
    let alone = budget::alone();
    finally(move || {
        drop(alone);
        let _ = BLOCK_ON.try_with(|place| place.set(before));
    })
}

/// Whether no fiber runs on this thread: then any call [may block](may_block) it.
#[inline]
pub(crate) fn is_outside() -> bool {
    here::fiber().is_null()
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
    if !here::fiber().is_null() {
        blocks(what, Location::caller());
    }
}

#[cold]
fn blocks(what: &str, place: &'static Location<'static>) {
    let instead = match what {
        "blocking_scope" => "`.await` a `scope` instead",
        "Runtime::shutdown" => "wait for what runs there, then drop it",
        _ => "`.await` the async form instead",
    };
    with_task(|task| {
        assert!(
            !task.home().local,
            "`{what}` at {place} blocks the thread of a cord, and with it all fibers of that cord; \
             {instead}, or move the blocking call into `leno::fiber::unblock(|| …).await`"
        );
        if cfg!(debug_assertions) {
            warn::blocking_call(what, instead, place);
        }
    });
    hand_over();
}
