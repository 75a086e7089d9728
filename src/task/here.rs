//! Who runs on this thread, as bare addresses. [`context`](super::context) says the same with types; here it is known to those
//! that these types are made of.

use std::cell::Cell;
use std::ptr::{self, NonNull};

use super::state::MOST_OWED;
use crate::prim;

/// Who polls or drops what.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    /// The header of a fiber. Null: none.
    pub(super) fiber: *const (),
    /// Somebody's count of an executor's home. Null: none.
    pub(super) home: *const (),
}

/// The executor that this thread is a worker of, and which worker. Null: none.
#[derive(Clone, Copy)]
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

struct Here {
    frame: Cell<Frame>,
    seat: Cell<Seat>,
    charge: Cell<*const Charge>,
    /// So many times it fires timers, each within a call of a waker of the time before.
    firing: Cell<u32>,
    /// Counts of the home in the seat, for its fibers.
    stock: Cell<usize>,
    /// The fiber of the frame has woken itself.
    woken: Cell<bool>,
    /// Counts of the fiber of the frame that are not in its word yet: see `state.rs`.
    owed: Cell<isize>,
    /// What is woken goes behind what is ready.
    behind: Cell<bool>,
}

const OUTSIDE: Frame = Frame { fiber: ptr::null(), home: ptr::null() };
pub(super) const NOWHERE: Seat = Seat { home: ptr::null(), worker: ptr::null(), number: 0 };

/// Nowhere either, in a call that blocks; with the fiber that calls.
pub(super) fn aside() -> Seat {
    Seat { worker: frame().fiber, number: 1, ..NOWHERE }
}

prim::thread_local! {
    static HERE: Here = Here {
        frame: Cell::new(OUTSIDE),
        seat: Cell::new(NOWHERE),
        charge: Cell::new(ptr::null()),
        firing: Cell::new(0),
        stock: Cell::new(0),
        woken: Cell::new(false),
        owed: Cell::new(0),
        behind: Cell::new(false),
    };
}

#[inline]
pub(super) fn frame() -> Frame {
    HERE.try_with(|here| here.frame.get()).unwrap_or(OUTSIDE)
}

/// A frame, with what has come up in it so far.
pub(super) struct Before {
    frame: Frame,
    woken: bool,
    owed: isize,
}

/// Enters a frame; gives what [`leave`] needs.
#[inline]
pub(super) fn enter(frame: Frame) -> Before {
    HERE.try_with(|here| Before {
        frame: here.frame.replace(frame),
        woken: here.woken.replace(false),
        owed: here.owed.replace(0),
    })
    .unwrap_or(Before { frame: OUTSIDE, woken: false, owed: 0 })
}

/// The frame before is this thread's again; what was owed in this one has been taken.
#[inline]
pub(super) fn leave(before: &Before) {
    let _ = HERE.try_with(|here| {
        here.frame.set(before.frame);
        here.woken.set(before.woken);
        here.owed.set(before.owed);
    });
}

/// Takes note of counts of `fiber` that were made, or given up, if it runs here. False: it does not, or it owes too many already.
#[inline]
pub(super) fn owe(fiber: *const (), counts: isize) -> bool {
    HERE.try_with(|here| {
        let owed = here.owed.get() + counts;
        let own = ptr::eq(here.frame.get().fiber, fiber) && (-MOST_OWED..=MOST_OWED).contains(&owed);
        if own {
            here.owed.set(owed);
        }
        own
    })
    .unwrap_or(false)
}

/// What the frame's fiber owes; nothing more then.
#[inline]
pub(super) fn take_owed() -> isize {
    HERE.try_with(|here| here.owed.take()).unwrap_or(0)
}

/// Whether the frame's fiber has woken itself since it was entered.
#[inline]
pub(super) fn has_woken_itself() -> bool {
    HERE.try_with(|here| here.woken.get()).unwrap_or(false)
}

/// Whether `fiber` runs here, and so wakes itself; then that is noted.
#[inline]
pub(super) fn wakes_itself(fiber: *const ()) -> bool {
    HERE.try_with(|here| {
        let own = ptr::eq(here.frame.get().fiber, fiber);
        if own {
            here.woken.set(true);
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
    let (seat, fiber) = (seat(), frame().fiber);
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
    HERE.try_with(|here| here.seat.replace(seat)).unwrap_or(NOWHERE)
}

/// The worker of `home` that this thread is.
#[inline]
pub(super) fn worker_of(home: *const ()) -> Option<NonNull<()>> {
    let seat = seat();
    if ptr::eq(seat.home, home) { NonNull::new(seat.worker.cast_mut()) } else { None }
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
    let result = f();
    let _ = HERE.try_with(|here| here.behind.set(before));
    result
}

/// Whether what is woken goes behind what is ready.
#[inline]
pub(crate) fn is_behind() -> bool {
    HERE.try_with(|here| here.behind.get()).unwrap_or(false)
}
