//! Who runs on this thread, as bare addresses. [`context`](super::context) says the same with types; here the modules on which
//! those types are built can ask.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::finally::finally;
use super::state::MOST_OWED;
use crate::prim;

/// What is being polled or dropped, for whom, and what has come up meanwhile. It lives on the stack of whoever does so.
pub(crate) struct Frame {
    /// The header of a fiber. Null: none.
    fiber: *const (),
    /// Somebody's count of an executor's home. Null: none.
    home: *const (),
    /// The fiber has woken itself.
    pub(super) woken: Cell<bool>,
    /// Counts of the fiber that are not in its word yet: see `state.rs`.
    pub(super) owed: Cell<isize>,
}

impl Frame {
    /// Nobody's: a place for one.
    #[inline(always)]
    pub(crate) const fn nobody() -> Frame {
        Frame::new(ptr::null(), ptr::null())
    }

    #[inline(always)]
    pub(super) const fn new(fiber: *const (), home: *const ()) -> Frame {
        Frame { fiber, home, woken: Cell::new(false), owed: Cell::new(0) }
    }
}

/// The worker of an executor that this thread is, for a fiber that is made ready here.
#[derive(Clone, Copy)]
pub(crate) struct Post {
    pub(crate) worker: NonNull<()>,
    /// It goes behind what is ready.
    pub(crate) behind: bool,
}

/// The executor that this thread is a worker of, and which worker. Null: none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seat {
    /// A home.
    pub(super) home: *const (),
    pub(super) worker: *const (),
    pub(super) number: usize,
}

/// An executor whose timers this thread looks after while it waits, and those it looks after besides.
pub(super) struct Charge {
    /// Somebody's count of a home.
    pub(super) home: *const (),
    pub(super) besides: *const Charge,
}

/// What the poll that runs here may do still: see `budget.rs`, which is all that changes it.
pub(super) struct Budget {
    /// Operations, then refusals. 0, or beyond a full budget: there is none.
    pub(super) left: Cell<u64>,
    /// What was taken of full budgets, modulo 2³².
    pub(super) spent: Cell<u32>,
    /// What is polled may wait for ever: something else can end the wait, another future or a time limit.
    pub(super) endless: Cell<bool>,
    /// How often something was left undecided, modulo 2³².
    pub(super) undecided: Cell<u32>,
}

/// Of [`Budget::left`]: there is no budget. (It is counted all the same, for some centuries.)
pub(super) const UNLIMITED: u64 = u64::MAX;
/// The same in a call that blocks its thread, or must not wait.
pub(super) const BLOCKING: u64 = UNLIMITED / 2;

struct Here {
    /// The innermost that was entered and not left, so it still exists.
    frame: Cell<*const Frame>,
    seat: Cell<Seat>,
    charge: Cell<*const Charge>,
    /// How deep it fires timers: each time within a waker that the time before has called.
    firing: Cell<u32>,
    /// Counts of the home in the seat, for its fibers.
    stock: Cell<usize>,
    /// What is woken goes behind what is ready.
    behind: Cell<bool>,
    budget: Budget,
}

/// The frame of a thread that has entered none.
struct Outside(Frame);

// SAFETY: never written: there is no fiber in it that wakes itself, or owes.
unsafe impl Sync for Outside {}

static OUTSIDE: Outside = Outside(Frame::nobody());

pub(super) const NOWHERE: Seat = Seat { home: ptr::null(), worker: ptr::null(), number: 0 };

/// Nowhere, for a call that blocks: instead of the worker, it has the fiber that calls.
pub(super) fn aside() -> Seat {
    Seat { worker: fiber(), ..NOWHERE }
}

prim::thread_local! {
    static HERE: Here = Here {
        frame: Cell::new(&raw const OUTSIDE.0),
        seat: Cell::new(NOWHERE),
        charge: Cell::new(ptr::null()),
        firing: Cell::new(0),
        stock: Cell::new(0),
        behind: Cell::new(false),
        budget: Budget {
            left: Cell::new(UNLIMITED),
            spent: Cell::new(0),
            endless: Cell::new(false),
            undecided: Cell::new(0),
        },
    };
}

/// An address that is this thread's alone, as long as it runs. 0: it is about to end.
#[inline(always)]
pub(crate) fn address() -> usize {
    HERE.try_with(|here| ptr::from_ref(here).addr()).unwrap_or(0)
}

/// This thread's budget. `None`: it is about to end.
#[inline(always)]
pub(super) fn budget<R>(f: impl FnOnce(&Budget) -> R) -> Option<R> {
    HERE.try_with(|here| f(&here.budget)).ok()
}

/// The header of the fiber that runs here. Null: none.
#[inline]
pub(super) fn fiber() -> *const () {
    HERE.try_with(|here| here.frame().fiber).unwrap_or(ptr::null())
}

/// Somebody's count of the home that this thread works for. Null: none.
#[inline]
pub(super) fn home() -> *const () {
    HERE.try_with(|here| here.frame().home).unwrap_or(ptr::null())
}

impl Here {
    #[inline(always)]
    fn frame(&self) -> &Frame {
        // SAFETY: it is there until it is left, by contract of `enter`, and nothing is called before the borrow ends.
        unsafe { &*self.frame.get() }
    }
}

/// Enters a frame; gives the one before.
///
/// # Safety
///
/// It stays where it is until [`leave`] is called on this thread with what this returns; all frames entered from now on are left
/// before that.
#[inline]
pub(super) unsafe fn enter(frame: *const Frame) -> *const Frame {
    HERE.try_with(|here| here.frame.replace(frame)).unwrap_or(&raw const OUTSIDE.0)
}

/// The frame before is this thread's again.
#[inline]
pub(super) fn leave(before: *const Frame) {
    let _ = HERE.try_with(|here| here.frame.set(before));
}

/// Takes note of counts of `fiber` that were made, or given up, if it runs here. False: it does not, or it owes too many already.
#[inline]
pub(super) fn owe(fiber: *const (), counts: isize) -> bool {
    HERE.try_with(|here| {
        let frame = here.frame();
        let owed = frame.owed.get() + counts;
        let own = ptr::eq(frame.fiber, fiber) && (-MOST_OWED..=MOST_OWED).contains(&owed);
        if own {
            frame.owed.set(owed);
        }
        own
    })
    .unwrap_or(false)
}

/// Whether `fiber` runs here, and so wakes itself; then that is noted.
#[inline]
pub(super) fn wakes_itself(fiber: *const ()) -> bool {
    HERE.try_with(|here| {
        let frame = here.frame();
        let own = ptr::eq(frame.fiber, fiber);
        if own {
            frame.woken.set(true);
        }
        own
    })
    .unwrap_or(false)
}

#[inline]
pub(super) fn seat() -> Seat {
    HERE.try_with(|here| here.seat.get()).unwrap_or(NOWHERE)
}

/// Whether the fiber of the frame is in a call that blocks. (Not one that is polled within the call.)
pub(crate) fn stands_aside() -> bool {
    let (seat, fiber) = (seat(), fiber());
    seat.home.is_null() && ptr::eq(seat.worker, fiber) && !fiber.is_null()
}

/// What this thread looks after while it waits.
pub(super) fn charge() -> *const Charge {
    HERE.try_with(|here| here.charge.get()).unwrap_or(ptr::null())
}

pub(super) fn set_charge(charge: *const Charge) {
    let _ = HERE.try_with(|here| here.charge.set(charge));
}

pub(super) fn firing() -> u32 {
    HERE.try_with(|here| here.firing.get()).unwrap_or(0)
}

pub(super) fn set_firing(firing: u32) {
    let _ = HERE.try_with(|here| here.firing.set(firing));
}

/// Takes a seat; the stock stays.
pub(super) fn sit(seat: Seat) -> Seat {
    assert!(seat.home.is_null() || !seat.worker.is_null(), "who has an executor has a worker of it");
    HERE.try_with(|here| here.seat.replace(seat)).unwrap_or(NOWHERE)
}

/// The worker of `home` that this thread is, if it is one.
#[inline]
pub(super) fn post_of(home: *const ()) -> Option<Post> {
    HERE.try_with(|here| {
        let seat = here.seat.get();
        ptr::eq(seat.home, home).then(|| {
            // SAFETY: `sit` has seen to it.
            let worker = unsafe { NonNull::new_unchecked(seat.worker.cast_mut()) };
            Post { worker, behind: here.behind.get() }
        })
    })
    .unwrap_or(None)
}

/// The number of the worker of `home` that this thread is.
#[inline]
pub(super) fn worker_number(home: *const ()) -> Option<usize> {
    let seat = seat();
    ptr::eq(seat.home, home).then_some(seat.number)
}

/// Replaces the stock of whatever home is in the seat.
pub(super) fn replace_stock(stock: usize) -> usize {
    HERE.try_with(|here| here.stock.replace(stock)).unwrap_or(0)
}

/// Changes the stock, if this thread drives `home`; otherwise false.
#[inline]
pub(super) fn with_stock(home: *const (), change: impl FnOnce(usize) -> usize) -> bool {
    HERE.try_with(|here| {
        let driven = ptr::eq(here.seat.get().home, home);
        if driven {
            here.stock.set(change(here.stock.get()));
        }
        driven
    })
    .unwrap_or(false)
}

/// Calls `f`, and puts the fibers that it wakes behind those that are ready.
pub(crate) fn behind<R>(f: impl FnOnce() -> R) -> R {
    let before = HERE.try_with(|here| here.behind.replace(true)).unwrap_or(false);
    let _again = finally(|| _ = HERE.try_with(|here| here.behind.set(before)));
    f()
}
