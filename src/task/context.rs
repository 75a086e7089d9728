//! Who runs on this thread: which fiber, on which executor, inside which `block_on`; and which worker it is.
//!
//! A frame says it for the duration of one poll (or drop of a future), or of an executor's loop. It lives on the stack of whoever
//! enters it, and what its pointers point to is borrowed there; a thread-local points to the innermost one. So memory safety
//! requires that each is left, by the drop of its guard, before its place goes and after all that were entered later: guards are
//! locals, after their places, and nobody forgets one. A fiber's frame is within its span (`trace.rs`). During the exit of a
//! thread, when its thread-locals are gone, there is no fiber and no executor.
//!
//! A thread that *drives* an executor, as one of its workers, has queues of its own for it: what it wakes goes there.
//! It drives one at a time: a cord's `block_on` inside a fiber of a runtime takes the runtime's place until it returns.
//!
//! A thread that waits *looks after* the timers of the executors whose worker it is, as nobody else may be there to do so. Their
//! wakers are called in no fiber; one that waits looks after further timers, and so on, to a limited depth.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::sync::Arc;
use std::task::{Wake, Waker};
use std::time::Instant;

use crate::prim::{self, Mutex};
use crate::task::finally::{Finally, finally};
use crate::task::header::{Header, Task};
use crate::task::here::{self, Charge, Seat};
use crate::task::home::{Busy, Home, HomeRef};
use crate::task::seam::Bell;
use crate::task::state::Left;
use crate::task::{budget, trace, warn};

/// How deep a thread goes on with foreign calls while it waits in one; a wait below that leaves what is still in a store of timers
/// to other threads.
const DEEPEST: u32 = 16;

/// Goes on with the rest. `Some`: not before then; it has called nothing that waits.
type GoOn<'a> = dyn Fn() -> Option<Instant> + 'a;

/// What is left of several foreign calls that a thread makes one after the other.
struct Rest {
    go_on: *const GoOn<'static>,
    /// For whom.
    home: *const HomeRef,
    /// The executor whose fibers these calls end. Null: other calls.
    ended: *const HomeRef,
    /// Somebody goes on with it, or has.
    is_left: Cell<bool>,
    /// The one that this is nested in.
    outer: *const Rest,
}

prim::global! {
    /// Pairs of executors: a thread of the first waits for the second to end.
    static WAITS: Mutex<Vec<(usize, usize)>> = Mutex::new(Vec::new());
}

prim::thread_local! {
    static BLOCK_ON: Cell<Option<&'static Location<'static>>> = Cell::new(None);
    /// What this thread does before it waits.
    static REST: Cell<*const Rest> = Cell::new(ptr::null());
}

/// Leaves the frame when dropped, which it must be: see the header.
#[must_use]
pub(crate) struct Entered<'a> {
    frame: &'a Frame,
    before: *const Frame,
    /// The fiber whose frame it is.
    task: Option<&'a Task>,
    /// Left after the frame.
    inside: Option<trace::Inside<'a>>,
    /// Stays on its thread.
    _not_send: PhantomData<*mut ()>,
}

impl<'a> Entered<'a> {
    #[inline(always)]
    fn new(
        place: &'a mut Frame,
        (fiber, home): (Option<&'a Task>, Option<&'a HomeRef>),
        inside: Option<trace::Inside<'a>>,
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
        if let Some(inside) = &mut self.inside {
            inside.end_poll(pending);
        }
        let owed = self.frame.owed.take();
        Left {
            woke_itself: self.frame.woken.get(),
            owed: if bug!("task_owed_is_forgotten") { 0 } else { owed },
        }
    }
}

impl Drop for Entered<'_> {
    #[inline]
    fn drop(&mut self) {
        let owed = self.frame.owed.take();
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
    Entered::new(place, (None, Some(home)), None)
}

/// For a while, the calling thread works for no fiber and no executor.
pub(crate) fn enter_nowhere(place: &mut Frame) -> Entered<'_> {
    Entered::new(place, (None, None), None)
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
        let seat = Seat { home: home.address(), worker, number };
        // (Who ends an executor in a fiber of its own is that worker already, and does not cease to be.)
        let away = (here::seat() != seat).then(|| Away::to(seat));
        let stock = here::replace_stock(0);
        let _stock = finally(|| home.release(here::replace_stock(stock)));
        if let Some(away) = &away {
            hand_over_in(away.seat);
        }
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

/// Whether this thread is in the middle of that for this executor.
pub(crate) fn looks_after(home: &HomeRef) -> bool {
    let mut is_one = false;
    for_all_charges(|charge| is_one |= charge.is(home));
    is_one
}

/// Calls `f` with each executor whose timers this thread looks after.
fn for_each_charge(f: impl FnMut(&HomeRef)) {
    if here::firing() < DEEPEST {
        for_all_charges(f);
    }
}

fn for_all_charges(mut f: impl FnMut(&HomeRef)) {
    let mut next = here::charge();
    // SAFETY: each is on this thread's stack, further up, with a home that is borrowed there.
    while let Some(charge) = unsafe { next.as_ref() } {
        // SAFETY: as above.
        f(unsafe { &*charge.home.cast::<HomeRef>() });
        next = charge.besides;
    }
}

/// Calls `wait`, in which this thread waits for those of `home` to end. Not if one of them waits for this one in the same way,
/// directly or through others, as happens where executors end each other.
pub(crate) fn wait_for(home: &HomeRef, wait: impl FnOnce()) {
    let to = home.address().addr();
    let mut mine = Vec::new();
    for_all_charges(|home| mine.push(home.address().addr()));
    let mut reached = vec![to];
    {
        let mut waits = WAITS.lock();
        while let Some(last) = reached.pop() {
            if mine.contains(&last) {
                return;
            }
            // (Not for ever: there are no circles.)
            reached.extend(waits.iter().filter(|(from, _)| *from == last).map(|(_, to)| *to));
        }
        waits.extend(mine.iter().map(|from| (*from, to)));
    }
    let _waited = finally(|| {
        let mut waits = WAITS.lock();
        for from in mine {
            let at = waits.iter().position(|wait| *wait == (from, to)).expect("from above");
            waits.swap_remove(at);
        }
    });
    wait();
}

/// When a thread that is about to wait until `deadline` at most has to wake: for that, or for a timer that it looks after.
pub(crate) fn until(deadline: Option<Instant>) -> Option<Instant> {
    let mut first = deadline;
    for_each_charge(|home| first = first.into_iter().chain(home.seam.next_timer()).min());
    first
}

/// The same for a thread that is about to wait in any way, if only for a moment: the rest goes on.
pub(crate) fn about_to_wait(deadline: Option<Instant>) -> Option<Instant> {
    // (Who has a rest looks after an executor. Others need not even ask.)
    if here::charge().is_null() {
        return deadline;
    }
    leave_the_rest();
    until(deadline)
}

/// Calls `sleep`, for a thread that sleeps until `deadline` at most, with the time until which it may do so: after that it calls this
/// again, if it has to sleep still. Whoever sets an earlier timer, and finds nobody else to look after it, rings `bell`.
pub(crate) fn asleep<R>(
    bell: &dyn Bell,
    deadline: Option<Instant>,
    sleep: impl FnOnce(Option<Instant>) -> R,
) -> R {
    let mut first = deadline.into_iter().chain(leave_the_rest()).min();
    // SAFETY: the lifetime alone changes, and it is taken down before this returns or unwinds.
    let bell = unsafe { mem::transmute::<&dyn Bell, &'static dyn Bell>(bell) };
    for_each_charge(|home| first = first.into_iter().chain(home.seam.hang_up(bell)).min());
    let _bell = finally(|| for_each_charge(|home| home.seam.take_down(bell)));
    sleep(first)
}

/// Calls `f`, which makes one foreign call after the other. When this thread waits in one of them it calls `go_on`, until that has
/// gone on: the rest may be what that call waits for. `ended`: they end the fibers of this executor. (This thread looks after one.)
pub(crate) fn one_by_one<R>(ended: Option<&HomeRef>, go_on: &GoOn<'_>, f: impl FnOnce() -> R) -> R {
    // SAFETY: the lifetime alone changes, and it is taken down before this returns or unwinds.
    let go_on: *const GoOn<'static> = unsafe { mem::transmute(ptr::from_ref(go_on)) };
    let outer = REST.try_with(Cell::get).unwrap_or(ptr::null());
    let ended = ended.map_or(ptr::null(), ptr::from_ref);
    let rest = Rest { go_on, home: here::home().cast(), ended, is_left: Cell::new(false), outer };
    let _ = REST.try_with(|now| now.set(&raw const rest));
    let _down = finally(|| _ = REST.try_with(|now| now.set(outer)));
    f()
}

/// This thread is about to sleep, or waits in another way: the rest goes on. `Some`: not all of it; this thread calls this again then,
/// if it waits still.
#[inline]
pub(crate) fn leave_the_rest() -> Option<Instant> {
    let innermost = REST.try_with(Cell::get).unwrap_or(ptr::null());
    if innermost.is_null() { None } else { leave_each_rest() }
}

#[cold]
fn leave_each_rest() -> Option<Instant> {
    let mut first = None;
    for_each_rest(|rest| {
        // (Before the call: that may wait in its turn, and leave the others.)
        if rest.is_left.replace(true) {
            return;
        }
        let _outside = outside_block_on();
        let mut place = Frame::nobody();
        // SAFETY: what it worked for is borrowed further up this thread's stack.
        let _base = Entered::new(&mut place, (None, unsafe { rest.home.as_ref() }), None);
        // SAFETY: so is this.
        let due = unsafe { (*rest.go_on)() };
        if due.is_some() {
            rest.is_left.set(false);
        }
        first = first.into_iter().chain(due).min();
    });
    first
}

/// From the innermost on.
fn for_each_rest(mut f: impl FnMut(&Rest)) {
    let mut next = REST.try_with(Cell::get).unwrap_or(ptr::null());
    // SAFETY: each is of a `one_by_one` further up this thread's stack.
    while let Some(rest) = unsafe { next.as_ref() } {
        f(rest);
        next = rest.outer;
    }
}

/// There is more for those who end the fibers of `home`. False: this thread is not one of them, and does not leave it to others when
/// it waits next.
pub(crate) fn adds_to_rest(home: &HomeRef) -> bool {
    let mut is_one = false;
    for_each_rest(|rest| {
        // SAFETY: it is borrowed further up this thread's stack.
        if !is_one && unsafe { rest.ended.as_ref() }.is_some_and(|ended| ended.is(home)) {
            rest.is_left.set(false);
            is_one = true;
        }
    });
    is_one
}

/// Calls `f` with an executor whose fibers this thread ends, and has not left to others: it would, once that is due, if it waited.
pub(crate) fn with_rest<R>(f: impl FnOnce(Option<&HomeRef>) -> R) -> R {
    let mut ended: *const HomeRef = ptr::null();
    for_each_rest(|rest| ended = if rest.is_left.get() || !ended.is_null() { ended } else { rest.ended });
    // SAFETY: it is borrowed further up this thread's stack.
    f(unsafe { ended.as_ref() })
}

/// What is called until this is dropped is not part of the `block_on` that waits here.
pub(crate) fn outside_block_on() -> Finally<impl FnOnce()> {
    let before = BLOCK_ON.try_with(Cell::take).unwrap_or(None);
    finally(move || _ = BLOCK_ON.try_with(|place| place.set(before)))
}

/// Fires those timers that this thread looks after and whose time has come.
pub(crate) fn fire_timers() {
    fire_timers_by(None);
}

/// The same, of those whose time is not after `limit`.
pub(crate) fn fire_timers_by(limit: Option<Instant>) {
    for_each_charge(|home| {
        let next = home.seam.next_timer();
        if prim::is_late(next) && (limit.is_none() || next <= limit) {
            let _outside = outside_block_on();
            let mut place = Frame::nobody();
            // SAFETY: of a cord this is the thread, as it drives it.
            let _base = unsafe { enter_home(&mut place, home) };
            deeper(|| home.seam.fire_timers(limit));
        }
    });
}

/// Calls `f`, which makes foreign calls while this thread waits in one, unless that is nested too deep: the waker of a timer within
/// that of another one, or a drop within another one.
pub(crate) fn deeper<R>(f: impl FnOnce() -> R) -> Option<R> {
    let firing = here::firing();
    (firing < DEEPEST).then(|| {
        here::set_firing(firing + 1);
        let _firing = finally(|| here::set_firing(firing));
        f()
    })
}

/// Takes its seat again when dropped, unless somebody else acts as that worker.
#[must_use]
pub(crate) struct Away {
    seat: Seat,
    /// `Some`: somebody may; this is what to say on the return.
    left: Option<usize>,
}

impl Away {
    fn to(seat: Seat) -> Away {
        let left = in_seat(here::seat(), |home, _| home.seam.leaves()).flatten();
        Away { seat: here::sit(seat), left }
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
    // (By now nothing more comes there.)
    hand_over_in(away.seat);
    away
}

pub(crate) use here::stands_aside;

/// Calls `f` with the executor and the worker of a seat of this thread.
fn in_seat<R>(seat: Seat, f: impl FnOnce(&Home, NonNull<()>) -> R) -> Option<R> {
    // SAFETY: the guard of the seat borrows the home, and is further up this thread's stack.
    let home = unsafe { seat.home.cast::<Home>().as_ref() }?;
    Some(f(home, NonNull::new(seat.worker.cast_mut())?))
}

/// To be called before what may take long, and wait in the end: what is ready by now on this thread's worker goes to others.
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
    here::post_of(home.address()).map(|post| post.worker)
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
#[inline(always)]
pub(crate) fn with_home<R>(otherwise: impl FnOnce() -> HomeRef, f: impl FnOnce(&HomeRef) -> R) -> R {
    let mut other = None;
    with_home_here(|home| f(home.unwrap_or_else(|| other.insert(otherwise()))))
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

/// From now on the executor that this thread works for, if any, counts what `busy` counts. Returns the count of another executor,
/// to be dropped where no lock is held.
#[must_use]
pub(crate) fn count_here(busy: &mut Option<Busy<HomeRef>>) -> Option<Busy<HomeRef>> {
    with_home_here(|here| {
        let here = here.filter(|here| !busy.as_ref().is_some_and(|busy| busy.home().is(here)))?;
        busy.replace(Busy::new(here.clone()))
    })
}

/// What is woken by something elsewhere.
struct Elsewhere {
    waker: Waker,
    /// After the waker.
    _busy: Busy<HomeRef>,
}

impl Wake for Elsewhere {
    fn wake(self: Arc<Self>) {
        self.waker.wake_by_ref();
    }
}

/// As `waker`, for something that goes on elsewhere: until it has been used or dropped, the executor that this thread works for, if
/// any, is busy. Unless that is `there`, where it goes on.
pub(crate) fn busy_waker(waker: &Waker, there: Option<&HomeRef>) -> Waker {
    with_home_here(|here| match here.filter(|here| !there.is_some_and(|there| there.is(here))) {
        Some(here) => Arc::new(Elsewhere { waker: waker.clone(), _busy: Busy::new(here.clone()) }).into(),
        None => waker.clone(),
    })
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
    // (Also where no fiber runs. Before this one has begun: what the call ends may itself block.)
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
