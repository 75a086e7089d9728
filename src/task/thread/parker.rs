//! The waiting place of one thread: a word that counts its wakes, and whom to unpark when it sleeps.
//!
//! ```text
//!  Slot (of the thread) ──▶ Parker { state: wakes:63 | ASLEEP:1, thread } ◀── wakers: bare pointers, never counted
//!          ▲                   │
//!          └──── take ◀── POOL ┘ give back           parkers are made when the pool is empty, and never freed
//! ```
//!
//! **States.** The owner remembers how many wakes it has [`Seen`].
//!
//! | `state` | what it says | who sets it |
//! |---|---|---|
//! | what was seen | EMPTY: nothing has happened since | the owner, by remembering it |
//! | what was seen, and ASLEEP | the owner sleeps, or is about to, or is about to notice that it no longer does | [`Parker::sleep`] |
//! | more than was seen | WOKEN | [`Parker::wake`], one addition |
//! | more than was seen, and ASLEEP | woken from its sleep; the waker unparks it | the same |
//!
//! A count, and not a flag that the owner clears: so taking note of a wake is a load, while clearing a flag has to be an exchange.
//! (A mere store could wipe out a second wake unseen, and with a spurious wake there is a second one.)
//!
//! **Invariants.**
//! 1. A parker that was made stays readable for ever, so a waker is a pointer: cloning and dropping it do nothing.
//! 2. A parker has one owner at most, a [`Current`]; only the owner sets and clears ASLEEP, and it is clear outside
//!    [`Parker::sleep`].
//! 3. While a parker has an owner, `thread` is the owner's; the lock is taken where the owner changes, and by
//!    wakers of one who sleeps.
//!
//! **Reuse.** A parker goes from one owner to the next with its count. A wake that was meant for an earlier owner and
//! comes late adds to the count, and at most unparks the thread whose parker it is now: a spurious wake, and whoever
//! waits here looks again after each wake. No other wake is lost by it: the count only grows, and an owner begins by looking at it
//! *before* its first poll, so any wake that this poll leads to comes after what it has seen. (It wraps after 2^63 wakes.) A late
//! waker may have seen the sleep of a former owner, and find the thread of the next one, or none. This does no harm: that sleep is
//! over, or the parker could not have changed hands.
//!
//! **Nested waits**, a blocking call inside a poll of another one, have parkers of their own: the outer one's is
//! out of its thread's slot. So neither takes note of the other's wakes.
//!
//! **Progress.** `wake` is wait-free unless the owner sleeps; then it takes a lock that others hold to copy or to change
//! a handle. Taking and giving back is without a lock but for a thread's first wait, nested
//! waits, and waits during a thread's exit, when its slot is gone.
//!
//! **Locked instructions**: one per wake; none per wait that ends before it sleeps. A sleep has six more, and its wake four, beside
//! those of std's parking.

use std::cell::Cell;
use std::marker::PhantomData;
use std::task::{RawWaker, RawWakerVTable, Waker};
use std::time::Instant;

use crate::prim::{self, AtomicU64, Handle, Mutex, Ordering, is_late, thread};
use crate::task::seam::Bell;

const ASLEEP: u64 = 1;
const WAKE: u64 = 2;

/// The thread's waiting place. (Padded: other threads write to it, and it has neighbours.)
#[derive(Debug)]
#[repr(align(128))]
pub(super) struct Parker {
    state: AtomicU64,
    thread: Handle,
}

/// The wakes that an owner has taken note of: `state`, without ASLEEP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use]
pub(super) struct Seen(u64);

impl Parker {
    fn create() -> &'static Parker {
        let parker = &*Box::leak(Box::new(Parker { state: AtomicU64::new(0), thread: Handle::none() }));
        if prim::reuse() {
            POOL.lock().all.push(parker);
        }
        parker
    }

    /// EMPTY → WOKEN, and if it sleeps, wakes it up.
    pub(super) fn wake(&self) {
        // ORDERING: Release pairs with the Acquire loads in `seen`, `sleep`: who takes note of the wake sees what was
        // done before it. Acquire pairs with the Release in `sleep`: who sees ASLEEP sees that owner's `thread`, or
        // a later one's.
        let ordering = if bug!("parker_wake_relaxed") { Ordering::Acquire } else { Ordering::AcqRel };
        if self.state.fetch_add(WAKE, ordering) & ASLEEP != 0 {
            self.thread.unpark();
        }
    }

    /// What has happened so far. To be called before the poll whose wakes are waited for.
    pub(super) fn seen(&self) -> Seen {
        // ORDERING: Acquire pairs with the Release in `wake`.
        Seen(self.state.load(Ordering::Acquire))
    }

    /// What has happened, if anything has since `seen`.
    #[inline]
    pub(super) fn woken(&self, seen: Seen) -> Option<Seen> {
        Some(self.seen()).filter(|now| *now != seen)
    }

    /// Sleeps until there is a wake that was not `seen`, or until `deadline` (and then `None`).
    pub(super) fn sleep(&self, seen: Seen, deadline: Option<Instant>) -> Option<Seen> {
        let Seen(empty) = seen;
        let asleep = empty | ASLEEP;
        if bug!("parker_sleeps_unasked") {
            self.state.fetch_or(ASLEEP, Ordering::AcqRel);
            thread::park_until(deadline);
        // ORDERING: Release on success pairs with the Acquire in `wake`, for `thread`'s sake. Acquire on failure, which is
        // a wake, pairs with its Release.
        } else if let Err(woken) =
            self.state.compare_exchange(empty, asleep, Ordering::Release, Ordering::Acquire)
        {
            return Some(Seen(woken));
        }
        // ORDERING: Relaxed, as the `fetch_sub` below acquires.
        let mut parked = false;
        while self.state.load(Ordering::Relaxed) == asleep && !is_late(deadline) {
            thread::park_until(deadline);
            parked = true;
        }
        if parked && !prim::MODEL {
            // The token that ended it may have been the user's as well: tokens do not add up. One too many is allowed.
            self.thread.unpark();
        }
        // ORDERING: Acquire pairs with the Release in `wake`, that of an earlier wake too, as all changes are
        // read-modify-writes.
        let now = self.state.fetch_sub(ASLEEP, Ordering::Acquire) & !ASLEEP;
        Some(Seen(now)).filter(|now| *now != seen)
    }
}

impl Bell for Parker {
    fn ring(&self) {
        self.wake();
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(|data| RawWaker::new(data, &VTABLE), wake, wake, |_| {});

/// # Safety
/// `data` is a parker.
unsafe fn wake(data: *const ()) {
    // SAFETY: the caller's promise; it stays for ever (invariant 1).
    unsafe { &*data.cast::<Parker>() }.wake();
}

/// All parkers; as they can be reached from here, none of them counts as leaked.
#[derive(Debug)]
struct Pool {
    idle: Vec<&'static Parker>,
    all: Vec<&'static Parker>,
}

prim::global! {
    static POOL: Mutex<Pool> = Mutex::new(Pool { idle: Vec::new(), all: Vec::new() });
}

/// A parker for this thread.
#[cold]
fn take() -> &'static Parker {
    let idle = if prim::reuse() { POOL.lock().idle.pop() } else { None };
    let parker = idle.unwrap_or_else(Parker::create);
    if idle.is_none() || !bug!("parker_keeps_its_thread") {
        parker.thread.set(Some(thread::current()));
    }
    parker
}

/// The parker may be anybody's next.
#[cold]
fn give_back(parker: &'static Parker) {
    if !bug!("parker_keeps_its_thread") {
        parker.thread.set(None);
    }
    if prim::reuse() {
        POOL.lock().idle.push(parker);
    } else {
        // SAFETY: it was leaked from a box by `create`, and is no longer in use but by late wakers; what is kept stays
        // readable for as long as these come.
        prim::keep(unsafe { Box::from_raw(std::ptr::from_ref(parker).cast_mut()) });
    }
}

/// Where a thread keeps its parker between waits.
struct Slot {
    parker: Cell<Option<&'static Parker>>,
    /// Whether a [`Return`] empties it in the end.
    kept: Cell<bool>,
}

/// Empties the slot as its thread ends. Apart from it, because thread-locals with a destructor are slower.
struct Return;

prim::thread_local! {
    static SLOT: Slot = Slot { parker: Cell::new(None), kept: Cell::new(false) };
    static RETURN: Return = Return;
}

impl Slot {
    /// Puts the parker here if there is room for it, and somebody to fetch it in the end.
    fn put(&self, parker: &'static Parker) -> bool {
        if !self.kept.get() {
            self.kept.set(RETURN.try_with(|_| ()).is_ok());
        }
        let put = self.kept.get() && self.parker.get().is_none();
        if put {
            self.parker.set(Some(parker));
        }
        put
    }
}

impl Drop for Return {
    fn drop(&mut self) {
        let parker = SLOT.try_with(|slot| {
            slot.kept.set(false);
            slot.parker.take()
        });
        if let Ok(Some(parker)) = parker {
            give_back(parker);
        }
    }
}

/// The parker of a wait that is under way on this thread.
#[derive(Debug)]
pub(super) struct Current {
    pub(super) parker: &'static Parker,
    /// `thread` is this one.
    _here: PhantomData<*mut ()>,
}

/// The parker for a wait that begins. In models each wait has a new one, unless a scenario recycles them.
#[inline]
pub(super) fn current() -> Current {
    let mine = if prim::MODEL { None } else { SLOT.try_with(|slot| slot.parker.take()).ok().flatten() };
    Current { parker: mine.unwrap_or_else(take), _here: PhantomData }
}

impl std::ops::Deref for Current {
    type Target = Parker;

    fn deref(&self) -> &Parker {
        self.parker
    }
}

impl Current {
    /// A waker of it. It may outlive the wait.
    pub(super) fn waker(&self) -> Waker {
        // SAFETY: the vtable asks for a parker that stays for ever, which this is (invariant 1); parkers are Sync.
        unsafe { Waker::new(std::ptr::from_ref(self.parker).cast(), &VTABLE) }
    }
}

impl Drop for Current {
    #[inline]
    fn drop(&mut self) {
        if prim::MODEL || !SLOT.try_with(|slot| slot.put(self.parker)).unwrap_or(false) {
            give_back(self.parker);
        }
    }
}
