//! References to fibers: who runs here, who has that id.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::panic::Location;

use crate::fiber::registry;
use crate::task::context;
use crate::task::header::{FiberId, Task};

/// A reference to a fiber: to identify, unpark or cancel it. It keeps some memory alive, but not the fiber.
#[derive(Clone)]
pub struct FiberRef(Task);

impl FiberRef {
    pub(crate) fn new(task: &Task) -> Self {
        FiberRef(task.clone())
    }

    /// The fiber's id.
    pub fn id(&self) -> FiberId {
        self.0.id
    }

    /// The name that [`Builder::name`](crate::fiber::Builder::name) gave it.
    pub fn name(&self) -> Option<&str> {
        self.0.name()
    }

    /// Where in the source it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.0.spawned_at
    }

    /// Whether it has ended.
    pub fn is_finished(&self) -> bool {
        self.0.state.is_complete()
    }

    /// Unparks the fiber: ends its current [`park`](crate::fiber::park()), or the next one if it is not parked. As with
    /// [`std::thread::Thread::unpark`], a fiber has at most one such token. A fiber that waits for something else is polled
    /// once, for nothing.
    pub fn unpark(&self) {
        self.0.unpark();
    }

    /// Cancels the fiber and its children; see [`JoinHandle::cancel`](crate::fiber::JoinHandle::cancel). The
    /// fiber of a `block_on` cannot be cancelled: nothing happens.
    pub fn cancel(&self) {
        self.0.cancel();
    }
}

/// The same fiber.
impl PartialEq for FiberRef {
    fn eq(&self, other: &Self) -> bool {
        self.0.is(&other.0)
    }
}

impl Eq for FiberRef {}

impl Hash for FiberRef {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id().hash(state);
    }
}

crate::task::unwinds! { [] FiberRef }

impl fmt::Debug for FiberRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Id, name where there is one, and the place of birth.
impl fmt::Display for FiberRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id().write(self.name(), f)?;
        write!(f, " (spawned at {})", self.spawned_at())
    }
}

/// The fiber that the caller runs in. The future of a `block_on` is a fiber as well.
///
/// ```
/// leno::block_on(async {
///     let me = leno::fiber::current();
///     assert_eq!(leno::fiber::find(me.id()), Some(me));
/// });
/// ```
///
/// # Panics
///
/// Outside a fiber: on a plain thread, in a closure passed to [`unblock`](crate::fiber::unblock), on another executor. Use
/// [`try_current`] to find out.
#[track_caller]
pub fn current() -> FiberRef {
    match try_current() {
        Some(fiber) => fiber,
        None => panic!(
            "`fiber::current` outside a fiber of leno; call it in a future passed to `leno::spawn` or \
             `leno::block_on`, or use `fiber::try_current`"
        ),
    }
}

/// The fiber that the caller runs in, if any.
pub fn try_current() -> Option<FiberRef> {
    context::with_task(FiberRef::new)
}

/// The living fiber with this id, on any runtime or cord that has not ended. Ids are not reused: the id of a fiber that
/// has ended finds nothing.
///
/// This scans all living fibers, so its cost grows with their number, and meanwhile no fiber of the executor being scanned can
/// start or end. If you need a fiber more than once, keep a [`FiberRef`].
pub fn find(id: FiberId) -> Option<FiberRef> {
    registry::find(id).map(FiberRef)
}
