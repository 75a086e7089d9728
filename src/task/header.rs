//! The header of a fiber, its vtable, and the counted pointer to it.
//!
//! The header is what every kind of fiber has in common, whatever its future. It is 96 bytes on 64-bit
//! machines, and the future follows it directly.
//!
//! Two things belong to it whose types are built on this one: its executor, see [`home`](super::home), and what only few fibers
//! have, see [`extras`](super::extras). Here they are addresses, and those files add what is done with them; so imports go one way.
//!
//! Invariants:
//!
//! 1. A pointer to a header is valid as long as its holder has a count (`state.rs`, invariant 7).
//! 2. A header pointer is derived from the whole allocation, so that the vtable may cast it back.
//! 3. `links` follows the rules of `roster.rs`.
//! 4. `join` follows the protocol of `join.rs`.
//! 5. `home` and `extras` are what their files have made, and are taken out as the header is dropped (`cell.rs`).

use std::fmt;
use std::mem::ManuallyDrop;
use std::num::NonZeroU64;
use std::ops::Deref;
use std::panic::Location;
use std::ptr::NonNull;
use std::task::{Context, Poll};

use crate::prim::{AtomicPtr, Life, WakerSlot};
use crate::task::here::{self, Post};
use crate::task::links::{Links, Shards};
use crate::task::shows::one_line;
use crate::task::state::{Activity, By, State, Wake};
use crate::task::tie::Tie;

/// The id of a fiber: unique in the process, never used again.
///
/// Ids are handed out in the order in which fibers are made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FiberId(NonZeroU64);

impl FiberId {
    pub(crate) const fn new(id: NonZeroU64) -> Self {
        FiberId(id)
    }

    /// Writes what a fiber with this id and that name is called.
    pub(crate) fn write(self, name: Option<&str>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fiber {self}")?;
        name.map_or(Ok(()), |name| write!(f, " `{}`", one_line(name)))
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
    /// Puts a ready fiber where its executor finds it. The second argument has to be what [`Task::post`] says on this thread. If
    /// the executor has ended, it seizes and ends the fiber, or has done so: the count is dropped. (An entry that owns its fiber is
    /// made by a worker, whose own queue takes it, or is that of a `block_on`, whose executor lives.)
    pub(crate) schedule: unsafe fn(Task, Option<Post>),
    /// Polls the future. `Ready`: the future is dropped, the outcome stored, panics included.
    pub(crate) poll: unsafe fn(NonNull<Header>, &mut Context<'_>) -> Poll<()>,
    /// Drops the future and stores the outcome of a cancel.
    pub(crate) cancel: unsafe fn(&Task),
    /// Moves the outcome to where the pointer says: an `Outcome<T>` of the fiber's own `T`.
    pub(crate) take_outcome: unsafe fn(NonNull<Header>, *mut ()),
    /// Drops the outcome; a panic, also one in the value's drop, goes to the fiber's group, or to the hook.
    pub(crate) drop_outcome: unsafe fn(&Task),
    /// Frees the memory; future and outcome are gone.
    pub(crate) free: unsafe fn(NonNull<Header>),
}

/// The common part of all fibers.
#[repr(C)]
pub(crate) struct Header {
    pub(crate) state: State,
    pub(crate) vtable: &'static Vtable,
    /// A count of a `Home`.
    pub(super) home: NonNull<()>,
    pub(crate) id: FiberId,
    pub(crate) spawned_at: &'static Location<'static>,
    /// An `Extras` of its own, or null. Set once.
    pub(super) extras: AtomicPtr<()>,
    pub(crate) links: Links<Header>,
    pub(crate) shards: Shards,
    pub(super) tie: Tie,
    pub(super) join: WakerSlot,
    pub(crate) life: Life,
}

/// The figure in the design, pinned. (Models have larger atomics, 32-bit machines smaller pointers.)
const _: () = assert!(
    cfg!(any(leno_loom, leno_shuttle, not(target_pointer_width = "64"))) || size_of::<Header>() == 96
);

/// A counted pointer to a fiber: keeps its header, not its future, alive.
pub(crate) struct Task(NonNull<Header>);

// SAFETY: through a task only the header is reached, all of whose parts are atomics, immutable, or guarded by
// protocols that hold between threads (invariants 3 and 4; for the locals, which need not be Send, `locals.rs`, 1 and 2). The
// future, which may be neither, is behind the vtable's unsafe functions.
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
    pub(crate) fn schedule(self) {
        let post = self.post();
        // SAFETY: just asked.
        unsafe { self.schedule_at(post) };
    }

    /// The same.
    ///
    /// # Safety
    ///
    /// `post` is what [`post`](Self::post) says on this thread.
    #[inline]
    pub(super) unsafe fn schedule_at(self, post: Option<Post>) {
        // SAFETY: by contract.
        unsafe { (self.vtable.schedule)(self, post) };
    }

    /// The worker of its executor that this thread is, if any.
    #[inline]
    pub(super) fn post(&self) -> Option<Post> {
        here::post_of(self.home.as_ptr())
    }

    /// In what role this thread wakes it.
    #[inline]
    pub(crate) fn by(&self) -> By<'_> {
        self.by_worker(self.post().is_some())
    }

    /// The same for who knows whether this thread is a worker of its executor.
    #[inline]
    pub(super) fn by_worker(&self, is_worker: bool) -> By<'_> {
        if is_worker { By::Owner(&self.tie) } else { By::Other }
    }

    /// Its only worker takes this entry from what was injected. False: drop it.
    pub(crate) fn arrives(&self) -> bool {
        self.state.arrives(&self.tie)
    }

    /// Its only worker queues this entry behind what was injected, which `arrive` has arrive. False: drop it.
    pub(crate) fn goes_behind(&self, arrive: impl FnOnce()) -> bool {
        self.state.goes_behind(&self.tie, arrive)
    }

    /// Who has it, for those who look.
    pub(crate) fn activity(&self) -> Activity {
        self.state.activity(&self.tie)
    }

    /// Whether it runs on this thread, and so wakes itself; then that is noted.
    #[inline]
    pub(crate) fn wakes_itself(&self) -> bool {
        here::wakes_itself(self.0.as_ptr().cast())
    }

    /// Wakes the fiber.
    #[inline]
    pub(crate) fn wake(&self) {
        if !self.wakes_itself() {
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

    /// Marks this one fiber; the caller sees to those below it. True: marked now. A fiber that has to be
    /// scheduled for it goes into `ready`.
    pub(crate) fn mark_cancelled(&self, ready: &mut Vec<Task>) -> bool {
        let marked = self.state.cancel(self.by());
        if let Some(Wake::Schedule) = marked {
            // SAFETY: `Schedule` made a count for us.
            ready.push(unsafe { Task::from_raw(self.0) });
        }
        marked.is_some()
    }

    /// Does what a wake-up calls for.
    pub(super) fn follow(&self, wake: Wake) {
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
