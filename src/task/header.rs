//! The header of a fiber, its vtable, and the counted pointer to it.
//!
//! The header is what every kind of fiber has in common, whatever its future. It is 96 bytes on 64-bit
//! machines, and the future follows it directly.
//!
//! Invariants:
//!
//! 1. A pointer to a header is valid as long as its holder has a count (`state.rs`, invariant 7).
//! 2. A header pointer is derived from the whole allocation, so that the vtable may cast it back.
//! 3. `links` follows the rules of `roster.rs`.
//! 4. `join` follows the protocol of `join.rs`.

use std::fmt;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

use crate::prim::{AtomicPtr, Life, Ordering, UnsafeCell};
use crate::task::context;
use crate::task::extras::Extras;
use crate::task::group::Group;
use crate::task::home::HomeRef;
use crate::task::roster::Links;
use crate::task::state::{By, Cancel, State, Wake};
use crate::task::trace::{self, Waking};
use crate::task::watch::Watch;

/// The id of a fiber: unique in the process, never used again.
///
/// Ids are handed out in the order in which fibers are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiberId(NonZeroU64);

impl FiberId {
    pub(crate) const fn new(id: NonZeroU64) -> Self {
        FiberId(id)
    }

    /// The id as a number, as it shows in dumps.
    pub fn get(self) -> u64 {
        self.0.get()
    }
}

impl fmt::Display for FiberId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The kind of a fiber: how it is scheduled, polled, ended and freed.
///
/// All but `schedule` and `free` are called by the one thread that owns the future or the outcome (`state.rs`,
/// invariants 2 and 4).
pub(crate) struct Vtable {
    /// Puts a ready fiber where its executor finds it.
    ///
    /// # Errors
    ///
    /// As `Seam::inject`.
    pub(crate) schedule: fn(Task) -> Result<(), Task>,
    /// Polls the future. `Ready`: the future is dropped, the outcome stored, panics included.
    pub(crate) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> Poll<()>,
    /// Drops the future and stores the outcome of a cancel.
    pub(crate) cancel: unsafe fn(NonNull<Header>),
    /// Moves the outcome to where the pointer says: an `Outcome<T>` of the fiber's own `T`.
    pub(crate) take_outcome: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the outcome; a panic, also one in the value's drop, goes to the hook.
    pub(crate) drop_outcome: unsafe fn(&Task),
    /// Frees the memory; future and outcome are gone.
    pub(crate) free: unsafe fn(NonNull<Header>),
}

/// The common part of all fibers.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    pub(crate) vtable: &'static Vtable,
    /// Shared; given back with the header.
    pub(crate) home: ManuallyDrop<HomeRef>,
    pub(crate) id: FiberId,
    pub(crate) spawned_at: &'static Location<'static>,
    extras: AtomicPtr<Extras>,
    pub(crate) links: Links,
    /// Emptied by its protocol, never dropped with the header.
    pub(crate) join: UnsafeCell<ManuallyDrop<Option<Waker>>>,
    pub(crate) life: Life,
}

/// The figure in the design, pinned. (Models have larger atomics, 32-bit machines smaller pointers.)
const _: () = assert!(
    cfg!(any(leno_loom, leno_shuttle, not(target_pointer_width = "64"))) || size_of::<Header>() == 96
);

impl Header {
    pub(crate) fn new(
        state: State,
        vtable: &'static Vtable,
        home: HomeRef,
        id: FiberId,
        spawned_at: &'static Location<'static>,
        extras: Option<Box<Extras>>,
    ) -> Self {
        let extras = extras.map_or(ptr::null_mut(), Box::into_raw);
        Header {
            state,
            vtable,
            home: ManuallyDrop::new(home),
            id,
            spawned_at,
            extras: AtomicPtr::new(extras),
            links: Links::new(),
            join: UnsafeCell::new(ManuallyDrop::new(None)),
            life: Life::new(),
        }
    }

    #[inline]
    pub(crate) fn extras(&self) -> Option<&Extras> {
        // ORDERING: Acquire pairs with the exchange in `extras_or_new`.
        // SAFETY: the pointer is null or from `Box::into_raw`, set once, and freed with the header.
        unsafe { self.extras.load(Ordering::Acquire).as_ref() }
    }

    pub(crate) fn extras_or_new(&self) -> &Extras {
        if let Some(extras) = self.extras() {
            return extras;
        }
        let new = Box::into_raw(Box::<Extras>::default());
        // ORDERING: AcqRel: publishes the new extras, or sees the contents of those that came first.
        match self.extras.compare_exchange(ptr::null_mut(), new, Ordering::AcqRel, Ordering::Acquire) {
            // SAFETY: as in `extras`.
            Ok(_) => unsafe { &*new },
            Err(first) => {
                // SAFETY: `new` was not published.
                drop(unsafe { Box::from_raw(new) });
                // SAFETY: as in `extras`.
                unsafe { &*first }
            }
        }
    }

    pub(crate) fn name(&self) -> Option<&str> {
        self.extras()?.name.as_deref()
    }

    /// Whether the end of its executor does not wait for it.
    pub(crate) fn is_daemon(&self) -> bool {
        self.extras().is_some_and(|extras| extras.daemon)
    }

    /// The group that it is a member of.
    pub(crate) fn group(&self) -> Option<&Group> {
        self.extras()?.group.as_deref()
    }

    /// What is noted of it, if anything is.
    #[inline]
    pub(crate) fn watch(&self) -> Option<&Watch> {
        self.extras()?.watch.as_deref()
    }

    /// Keeps `waker` for the next unpark; gives back the one kept before.
    #[inline]
    pub(crate) fn set_parked(&self, waker: Option<Waker>) -> Option<Waker> {
        match waker {
            None => self.extras()?.parked.lock().take(),
            Some(waker) => self.extras_or_new().parked.lock().replace(waker),
        }
    }
}

impl Drop for Header {
    fn drop(&mut self) {
        self.life.end();
        // SAFETY: taken here only.
        unsafe { ManuallyDrop::take(&mut self.home) }.give_back();
        // ORDERING: Relaxed: the last count is gone, so this thread sees everything (`State::release`).
        let extras = self.extras.load(Ordering::Relaxed);
        if !extras.is_null() {
            // SAFETY: from `Box::into_raw`, freed here only.
            drop(unsafe { Box::from_raw(extras) });
        }
    }
}

impl fmt::Debug for Header {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fiber")
            .field("id", &self.id.get())
            .field("name", &self.name())
            .field("spawned_at", &format_args!("{}", self.spawned_at))
            .finish()
    }
}

/// A counted pointer to a fiber: keeps its header, not its future, alive.
pub(crate) struct Task(NonNull<Header>);

// SAFETY: through a task only the header is reached, all of whose parts are atomics, immutable, or guarded by
// protocols that hold between threads (invariants 3 and 4). The future, which may be neither, is behind the
// vtable's unsafe functions.
unsafe impl Send for Task {}
// SAFETY: as above.
unsafe impl Sync for Task {}

impl Task {
    /// # Safety
    ///
    /// The caller owns one count, which becomes the task's, of a header that meets invariant 2.
    pub(crate) unsafe fn from_raw(header: NonNull<Header>) -> Self {
        Task(header)
    }

    /// The pointer, with the count.
    pub(crate) fn into_raw(self) -> NonNull<Header> {
        ManuallyDrop::new(self).0
    }

    /// The pointer; the count stays here.
    pub(crate) fn as_raw(&self) -> NonNull<Header> {
        self.0
    }

    /// Hands a fiber that was woken to its executor. The count is the queue's.
    ///
    /// If the executor has ended, it seizes and ends the fiber, or has done so: this drops the count. (An entry that owns
    /// its fiber is made by a worker, whose own queue takes it, or is that of a `block_on`, whose executor lives.)
    pub(crate) fn schedule(self) {
        drop((self.vtable.schedule)(self));
    }

    /// As who this thread wakes it.
    #[inline]
    pub(crate) fn by(&self) -> By {
        context::by(&self.home)
    }

    /// Wakes the fiber.
    #[inline]
    pub(crate) fn wake(&self) {
        if !context::wakes_itself(self.0) {
            let wake = self.state.wake_by_ref(self.by());
            self.follow(wake);
        }
    }

    /// Wakes the fiber unless somebody else has, and calls `mark` before it can run.
    pub(crate) fn wake_marked(&self, mark: impl FnOnce()) {
        let wake = self.state.wake_by_ref(self.by());
        if wake == Wake::Schedule {
            mark();
        }
        self.follow(wake);
    }

    /// Gives the fiber its park token and wakes it, and whoever polls its park.
    pub(crate) fn unpark(&self) {
        trace::waker(self, Waking::WakeByRef);
        let wake = self.state.unpark(self.by());
        self.follow(wake);
        if let Some(waker) = self.set_parked(None) {
            waker.wake();
        }
    }

    /// Cancels this fiber and all below it.
    pub(crate) fn cancel(&self) {
        self.home.cancel(self);
    }

    /// Marks this one fiber; the caller sees to those below it. True: marked now. A fiber that has to be
    /// scheduled for it goes into `ready`.
    pub(crate) fn mark_cancelled(&self, ready: &mut Vec<Task>) -> bool {
        match self.state.cancel(self.by()) {
            Cancel::Nothing => false,
            Cancel::Marked => true,
            Cancel::Schedule => {
                // SAFETY: `Schedule` made a count for us.
                ready.push(unsafe { Task::from_raw(self.0) });
                true
            }
        }
    }

    /// Puts it under a shield, in a poll: a cancel waits until [`unshield`](Self::unshield). False: it was cancelled before.
    #[must_use]
    pub(crate) fn shield(&self) -> bool {
        let mut shields = self.extras_or_new().shields.lock();
        let shielded = *shields > 0 || self.state.shield();
        *shields += usize::from(shielded);
        shielded
    }

    /// Takes one shield away.
    pub(crate) fn unshield(&self) {
        let mut shields = self.extras_or_new().shields.lock();
        *shields -= 1;
        let wake = if *shields == 0 { self.state.unshield(self.by()) } else { Wake::Nothing };
        drop(shields);
        self.follow(wake);
    }

    fn follow(&self, wake: Wake) {
        match wake {
            Wake::Nothing => {}
            // SAFETY: `Schedule` made a count for us.
            Wake::Schedule => unsafe { Task::from_raw(self.0) }.schedule(),
        }
    }

    pub(crate) fn is(&self, other: &Task) -> bool {
        self.0 == other.0
    }
}

impl Deref for Task {
    type Target = Header;

    fn deref(&self) -> &Header {
        // SAFETY: invariant 1, by the count that this task is.
        let header = unsafe { self.0.as_ref() };
        header.life.touch();
        header
    }
}

impl Clone for Task {
    fn clone(&self) -> Self {
        self.state.retain();
        Task(self.0)
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        if self.state.release() {
            let free = self.vtable.free;
            // SAFETY: that was the last count; by `state.rs`, invariant 5, future and outcome are gone.
            unsafe { free(self.0) };
        }
    }
}

impl fmt::Debug for Task {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}
