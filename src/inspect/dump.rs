//! What is known of the fibers of an executor at a moment.

use std::collections::HashSet;
use std::fmt;
use std::panic::Location;
use std::time::Duration;

use crate::task::header::{FiberId, Task};
use crate::task::home::Home;
use crate::task::state::Activity;
use crate::task::watch::{self, Hold, Object, Seen, Target, Watch};

/// How often a fiber is looked at that changes each time.
const LOOKS: u32 = 4;

/// The living fibers of a runtime or cord, and what they wait for. See [the module](crate::inspect).
///
/// It displays as a table; [`to_dot`](Self::to_dot) and [`to_mermaid`](Self::to_mermaid) return the graph of who waits for what.
#[derive(Clone, Debug)]
pub struct Dump {
    pub(super) fibers: Vec<FiberInfo>,
    pub(super) inspected: bool,
}

/// One fiber of a [`Dump`].
#[derive(Clone, Debug)]
pub struct FiberInfo {
    id: FiberId,
    name: Option<Box<str>>,
    state: FiberState,
    cancelled: bool,
    spawned_at: &'static Location<'static>,
    /// If it is inspected.
    noted: Option<Noted>,
}

#[derive(Clone, Debug)]
struct Noted {
    polls: u64,
    longest: Duration,
    in_state: Duration,
    waits: Vec<Wait>,
    holds: Vec<Hold>,
}

/// What a fiber is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FiberState {
    /// A thread is polling it.
    Running,
    /// It is about to be polled, or ended.
    Ready,
    /// It runs or is ready; which of the two is known only for inspected fibers.
    Runnable,
    /// It waits to be woken.
    Waiting,
}

/// Something that a fiber waits for.
#[derive(Clone, Debug, PartialEq)]
pub struct Wait {
    operation: &'static str,
    place: Option<&'static Location<'static>>,
    object: Option<Object>,
    fiber: Option<FiberId>,
    left: Option<Duration>,
}

impl Dump {
    /// Of this executor. `stuck`: the fiber that was woken only to tell; it waits, too.
    pub(super) fn of(home: &Home, stuck: Option<&Task>) -> Dump {
        let tasks = home.roster.snapshot();
        let mut fibers: Vec<_> = tasks.iter().filter_map(|task| FiberInfo::of(task, home, stuck)).collect();
        let living: HashSet<_> = fibers.iter().map(FiberInfo::id).collect();
        fibers.iter_mut().for_each(|fiber| fiber.forget_ended(&living));
        Dump { fibers, inspected: home.watching.inspected }
    }

    /// The fibers, in the order in which they were made.
    pub fn fibers(&self) -> &[FiberInfo] {
        &self.fibers
    }
}

impl FiberInfo {
    /// `None`: it has ended.
    fn of(task: &Task, home: &Home, stuck: Option<&Task>) -> Option<FiberInfo> {
        let (mut activity, seen) = look(task)?;
        if stuck.is_some_and(|stuck| stuck.is(task)) {
            activity = Activity::Idle;
        }
        let state = match (activity, &seen) {
            (Activity::Idle, _) => FiberState::Waiting,
            (Activity::Queued, _) => FiberState::Ready,
            (Activity::Owned, None) => FiberState::Runnable,
            (Activity::Owned, Some(seen)) if seen.polled => FiberState::Running,
            (Activity::Owned, Some(_)) => FiberState::Ready,
            (Activity::Complete, _) => return None,
        };
        Some(FiberInfo {
            id: task.id,
            name: task.name().map(Box::from),
            state,
            cancelled: task.state.is_cancelled(),
            spawned_at: task.spawned_at,
            noted: seen.map(|seen| Noted::new(seen, home, state)),
        })
    }

    /// A fiber that waits for a scope is not woken when one of several members ends. That it waits for the scope shows all the
    /// same: of many members only some are noted, and some may be of another executor.
    fn forget_ended(&mut self, living: &HashSet<FiberId>) {
        if let Some(noted) = &mut self.noted {
            let has_ended = |id: FiberId| !living.contains(&id);
            let is_over = |wait: &Wait| wait.operation == watch::SCOPE && wait.fiber.is_some_and(has_ended);
            let (over, waits): (Vec<_>, _) = std::mem::take(&mut noted.waits).into_iter().partition(is_over);
            noted.waits = waits;
            if !noted.waits.iter().any(|wait| wait.operation == watch::SCOPE) {
                noted.waits.extend(over.into_iter().next().map(|wait| Wait { fiber: None, ..wait }));
            }
        }
    }

    /// Its id.
    pub fn id(&self) -> FiberId {
        self.id
    }

    /// The name that [`Builder::name`](crate::fiber::Builder::name) gave it.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }

    /// What it is doing.
    pub fn state(&self) -> FiberState {
        self.state
    }

    /// Whether it was cancelled, and is about to end.
    pub fn is_cancelled(&self) -> bool {
        self.cancelled
    }

    /// Where in the source it was spawned.
    pub fn spawned_at(&self) -> &'static Location<'static> {
        self.spawned_at
    }

    /// What it waits for, any or all of it (at most 1024 entries). For a running fiber: what its current poll has found not ready
    /// so far. If empty, it waits for something outside leno, or is not inspected; a ready fiber
    /// waits for nothing.
    pub fn waits(&self) -> &[Wait] {
        self.noted.as_ref().map_or(&[], |noted| &noted.waits)
    }

    /// The locks, and shares of locks, that it has taken and that are still held (at most 1024). Known in builds with debug
    /// assertions.
    pub fn holds(&self) -> &[Hold] {
        self.noted.as_ref().map_or(&[], |noted| &noted.holds)
    }

    /// How often it was polled. `None`: it is not inspected.
    pub fn polls(&self) -> Option<u64> {
        self.noted.as_ref().map(|noted| noted.polls)
    }

    /// The duration of its longest completed poll. `None`: it is not inspected.
    pub fn longest_poll(&self) -> Option<Duration> {
        self.noted.as_ref().map(|noted| noted.longest)
    }

    /// How long its current poll has taken, or how long ago its last one ended; if it was never polled, how long ago it was
    /// created. (For a ready fiber this includes the time it waited before.) Real time. `None`: it is not inspected.
    pub fn in_state(&self) -> Option<Duration> {
        self.noted.as_ref().map(|noted| noted.in_state)
    }
}

/// What is to be seen of a fiber, at one moment if it isn't too quick.
fn look(task: &Task) -> Option<(Activity, Option<Seen>)> {
    let watch = watch::inspected(task);
    let mut looks = 0;
    loop {
        // (First: a poll that begins after this is noticed, and one that began before shows in the activity.)
        let polls = watch.map(Watch::polls);
        let before = task.activity();
        let seen = watch.map(Watch::seen);
        let after = task.activity();
        looks += 1;
        if before == Activity::Complete || after == Activity::Complete {
            return None;
        }
        if before == after && watch.map(Watch::polls) == polls {
            return Some((before, seen));
        }
        if looks == LOOKS {
            return Some((Activity::Owned, seen));
        }
    }
}

impl Noted {
    fn new(seen: Seen, home: &Home, state: FiberState) -> Noted {
        let waits = if state == FiberState::Ready { Vec::new() } else { seen.waits };
        Noted {
            polls: seen.polls,
            longest: seen.longest,
            in_state: watch::time().saturating_sub(seen.since),
            waits: waits.into_iter().map(|wait| Wait::new(wait, home)).collect(),
            holds: seen.holds,
        }
    }
}

impl Wait {
    fn new(wait: watch::Wait, home: &Home) -> Wait {
        let (mut object, mut fiber, mut left) = (None, None, None);
        match wait.target {
            Target::Thing(thing) => object = Some(thing.object),
            Target::Fiber(id) => fiber = Some(id),
            Target::Time(at) => left = Some(at.saturating_duration_since(home.seam.now())),
            Target::Nothing => {}
        }
        Wait { operation: wait.operation, place: wait.place, object, fiber, left }
    }

    /// The operation: `send`, `recv`, `closed`, `lock`, `join`, `sleep`, `park`, `unblock`, `scope`, …; more may be added.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The channel or the lock that it waits at.
    pub fn object(&self) -> Option<&Object> {
        self.object.as_ref()
    }

    /// The fiber that it waits for to end.
    pub fn fiber(&self) -> Option<FiberId> {
        self.fiber
    }

    /// How much longer it sleeps, by the clock of the executor.
    pub fn left(&self) -> Option<Duration> {
        self.left
    }

    /// Where in the source the operation was created; for a join, where the other fiber was spawned. Known in builds with debug
    /// assertions.
    pub fn place(&self) -> Option<&'static Location<'static>> {
        self.place
    }
}

impl Hold {
    /// The operation where there are several, and the place.
    pub(super) fn how(&self) -> String {
        let by = if self.operation == "lock" { String::new() } else { format!(" by {}", self.operation) };
        match self.place {
            Some(place) => format!("{by} since {place}"),
            None => by,
        }
    }

    /// How it is held, by the operation that took it: `lock`, `read`, `write`, `upgradable_read`, `acquire`, `get_or_init`, …;
    /// more may be added.
    pub fn operation(&self) -> &'static str {
        self.operation
    }

    /// The lock.
    pub fn object(&self) -> &Object {
        &self.object
    }

    /// Where in the source it was taken.
    pub fn place(&self) -> Option<&'static Location<'static>> {
        self.place
    }
}

impl Object {
    /// Its kind: `channel`, `mutex`, `rwlock`, `semaphore`, …; more may be added.
    pub fn kind(&self) -> &'static str {
        self.kind
    }

    /// Its name, if it was given one.
    pub fn name(&self) -> Option<&str> {
        self.name.as_deref()
    }
}

/// Kind, address, and name.
impl fmt::Display for Object {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}@{:x}", self.kind, self.address)?;
        self.name.as_ref().map_or(Ok(()), |name| write!(f, " `{name}`"))
    }
}

/// Object, operation where there are several, place.
impl fmt::Display for Hold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", self.object, self.how())
    }
}

/// Operation, object, place.
impl fmt::Display for Wait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.operation)?;
        if let Some(object) = &self.object {
            write!(f, " {object}")?;
        }
        if let Some(fiber) = self.fiber {
            write!(f, " fiber {fiber}")?;
        }
        if let Some(left) = self.left {
            write!(f, " for {left:.1?}")?;
        }
        match self.place {
            Some(place) if self.fiber.is_some() => write!(f, " (spawned at {place})"),
            Some(place) => write!(f, " at {place}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for FiberState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            FiberState::Running => "running",
            FiberState::Ready => "ready",
            FiberState::Runnable => "runnable",
            FiberState::Waiting => "waiting",
        })
    }
}

/// Id, and name where there is one.
impl fmt::Display for FiberInfo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.write(self.name(), f)
    }
}
