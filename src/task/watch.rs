//! What is noted of a fiber, for those who look at it: how often it was polled, for how long, what it waits for.
//!
//! A fiber has a [`Watch`] if its executor is *inspected* (`RuntimeBuilder::inspect`), if there is a limit for its polls,
//! or if it is shown to a subscriber (`trace.rs`). Without one it costs a test of a pointer at each poll and at each operation
//! that is left pending.
//!
//! ```text
//!   poll begins ── waits: cleared ── operations that are left pending are noted ── poll ends ── waits: what it waits for
//! ```
//!
//! 1. The owner of the fiber writes, from within a poll; anybody reads. Each figure is read for itself: the reader looks at the
//!    number of polls before and after, and reads again if it has changed (`inspect`: also before it looks whether the fiber is
//!    idle, or a poll could begin in between).
//! 2. `waits` holds what was left pending by the poll that is under way, or by the last one, without what was given up in it:
//!    what has lost against something else, or came to its deadline ([`first_of`]; but for what its parts wait for, as long as
//!    there are these). A *part* of a fiber is polled only when it was woken (the members of `join_all` and its like): what was
//!    noted within it stays until it is polled again, or ends ([`part`], [`end_part`]). With foreign combinators that do the
//!    same, it is only what the parts polled last wait for. (A set of parts that moves to another fiber leaves its notes behind.)
//! 3. `holds` has the locks, and shares of locks, that the fiber has taken and that are still held, by whomever by now: whoever
//!    gives one back takes it out, on any thread.
//! 4. No foreign code runs under the lock.
//!
//! ORDERING: Release and Acquire for the number of polls: whoever sees that one has begun, sees that the fiber is not idle, or
//! has that poll behind it. All other figures are Relaxed: nothing follows from them.

use std::task::Poll;
use std::time::{Duration, Instant};

use crate::prim::{self, AtomicU64, Mutex, OnceLock, Ordering, UnsafeCell};
use crate::task::context;
use crate::task::error::shielded;
use crate::task::finally;
use crate::task::header::{FiberId, Task};
use crate::task::home::Watching;
use crate::task::place::{Known, Place};
use crate::task::trace::{Label, Sign, Trace};

/// No more than this are kept: a poll can go on for ever, in a call that blocks.
const MOST_WAITS: usize = 1024;

/// A wait for fibers any of which may have ended without waking the waiter.
pub(crate) const SCOPE: &str = "scope";

/// A wait is not noted again if it is one of so many last ones.
const REPEATED: usize = 16;

/// Something that fibers share and wait at: a channel, a lock.
///
/// Two equal objects are the same thing, even in different dumps, as long as it exists.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    pub(crate) kind: &'static str,
    pub(crate) address: usize,
    pub(crate) name: Option<Box<str>>,
}

/// The same, as it is noted.
#[derive(Clone, Debug)]
pub(crate) struct Thing {
    pub(crate) object: Object,
    /// How it is shown; without one each wait is shown as at a thing of its own.
    #[allow(dead_code, reason = "read with the feature `tracing` only")]
    pub(crate) label: Option<Label>,
}

impl Thing {
    /// One without a name.
    pub(crate) fn new<T: ?Sized>(kind: &'static str, at: *const T) -> Thing {
        Thing { object: Object { kind, address: at.addr(), name: None }, label: None }
    }

    /// One that is shown by a sign.
    pub(crate) fn signed<T: ?Sized>(kind: &'static str, at: *const T, sign: &Sign) -> Thing {
        Thing { label: Some(sign.label(kind, at.addr())), ..Thing::new(kind, at) }
    }
}

/// The same thing; things that live at one time have addresses of their own.
impl PartialEq for Thing {
    fn eq(&self, other: &Thing) -> bool {
        self.object == other.object
    }
}

/// What an operation is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Target {
    Thing(Thing),
    Fiber(FiberId),
    /// By the clock of the executor.
    Time(Instant),
    Nothing,
}

/// An operation that is not ready.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Wait {
    pub(crate) operation: &'static str,
    pub(crate) target: Target,
    pub(crate) place: Known,
}

/// A lock that a fiber has taken, or a share of one, such as a read lock or some permits.
#[derive(Clone, Debug, PartialEq)]
pub struct Hold {
    pub(crate) operation: &'static str,
    pub(crate) object: Object,
    pub(crate) place: Known,
}

/// What is known of a fiber at one moment.
#[derive(Clone, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) polls: u64,
    /// It is being polled.
    pub(crate) polled: bool,
    /// When the last poll began or ended, or the fiber was made.
    pub(crate) since: Duration,
    pub(crate) longest: Duration,
    pub(crate) waits: Vec<Wait>,
    pub(crate) holds: Vec<Hold>,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Watch {
    pub(crate) watching: Watching,
    #[allow(dead_code, reason = "read with the feature `tracing` only")]
    pub(crate) trace: Trace,
    polls: AtomicU64,
    /// Nanoseconds of [`time`], doubled; the lowest bit says that it is being polled.
    since: AtomicU64,
    /// In nanoseconds.
    longest: AtomicU64,
    pub(crate) noted: Mutex<Noted>,
}

#[derive(Debug, Default)]
pub(crate) struct Noted {
    waits: Vec<Note>,
    /// The number of the next one, ever.
    next_note: u64,
    /// The part that is being polled.
    part: usize,
    /// With their numbers among the fiber's holds, ever.
    holds: Vec<(u64, Hold)>,
    /// The number of the next one.
    #[allow(dead_code, reason = "used in builds with debug assertions only")]
    next_hold: u64,
}

/// A wait, with the part in which it was noted.
#[derive(Debug)]
struct Note {
    number: u64,
    part: usize,
    wait: Wait,
}

impl Noted {
    /// What is left pending, so much of it at most.
    pub(crate) fn waits(&self, most: usize) -> Vec<Wait> {
        self.waits.iter().take(most).map(|note| note.wait.clone()).collect()
    }
}

/// What is in no part.
const WHOLE: usize = 0;

const POLLED: u64 = 1;

/// Real time, since the first look at it.
pub(crate) fn time() -> Duration {
    static BASE: OnceLock<Instant> = OnceLock::new();
    BASE.get_or_init(Instant::now).elapsed()
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX).min(u64::MAX >> 1)
}

impl Watch {
    /// For a fiber of an executor that wants to know so much. `limit`: instead of the executor's.
    #[inline]
    pub(crate) fn new(watching: Watching, limit: Option<Duration>) -> Option<Box<Watch>> {
        let watching = Watching { limit: limit.or(watching.limit), ..watching };
        watching.is_on().then(|| Watch::boxed(watching))
    }

    #[cold]
    pub(crate) fn boxed(watching: Watching) -> Box<Watch> {
        Box::new(Watch {
            watching,
            trace: Trace::default(),
            polls: AtomicU64::new(0),
            since: AtomicU64::new(nanos(time()) << 1),
            longest: AtomicU64::new(0),
            noted: Mutex::new(Noted::default()),
        })
    }

    fn is_inspected(&self) -> bool {
        self.watching.inspected
    }

    fn note(&self, wait: Wait) {
        let Noted { waits, next_note, part, .. } = &mut *self.noted.lock();
        let is_this = |last: &Note| last.part == *part && last.wait == wait;
        if waits.len() < MOST_WAITS && !waits.iter().rev().take(REPEATED).any(is_this) {
            waits.push(Note { number: *next_note, part: *part, wait });
            *next_note += 1;
        }
    }

    /// Forgets what was noted in a part, and begins it; gives the part around it.
    fn begin_part(&self, part: usize) -> usize {
        self.end_part(part);
        std::mem::replace(&mut self.noted.lock().part, part)
    }

    fn end_part(&self, part: usize) {
        self.noted.lock().waits.retain(|note| note.part != part);
    }

    /// Forgets what was noted in this part from that number on.
    fn forget_since(&self, number: u64) {
        let Noted { waits, part, .. } = &mut *self.noted.lock();
        waits.retain(|note| note.part != *part || note.number < number);
    }

    /// What there is to be seen.
    pub(crate) fn seen(&self) -> Seen {
        let (polls, since) = (self.polls.load(Ordering::Relaxed), self.since.load(Ordering::Relaxed));
        let (waits, holds) = {
            let noted = self.noted.lock();
            (noted.waits(MOST_WAITS), noted.holds.iter().map(|(_, hold)| hold.clone()).collect())
        };
        Seen {
            polls,
            polled: since & POLLED != 0,
            since: Duration::from_nanos(since >> 1),
            longest: Duration::from_nanos(self.longest.load(Ordering::Relaxed)),
            waits,
            holds,
        }
    }

    /// How many polls have begun.
    pub(crate) fn polls(&self) -> u64 {
        self.polls.load(Ordering::Acquire)
    }
}

/// Polls `task`, by its owner, and notes that if it is watched.
#[inline(always)]
pub(crate) fn around<R>(task: &Task, poll: impl FnOnce() -> R) -> R {
    match task.watch() {
        None => poll(),
        Some(watch) => watch.around(task, poll),
    }
}

impl Watch {
    #[cold]
    #[inline(never)]
    fn around<R>(&self, task: &Task, poll: impl FnOnce() -> R) -> R {
        self.begin();
        let polled = poll();
        self.end(task);
        polled
    }

    fn begin(&self) {
        if self.is_inspected() {
            self.end_part(WHOLE);
        }
        self.polls.store(self.polls.load(Ordering::Relaxed) + 1, Ordering::Release);
        self.since.store(nanos(time()) << 1 | POLLED, Ordering::Relaxed);
    }

    /// The caller still owns the fiber. A poll that took too long is reported.
    fn end(&self, task: &Task) {
        let now = nanos(time());
        let took = now.saturating_sub(self.since.load(Ordering::Relaxed) >> 1);
        self.since.store(now << 1, Ordering::Relaxed);
        if took > self.longest.load(Ordering::Relaxed) {
            self.longest.store(took, Ordering::Relaxed);
        }
        let took = Duration::from_nanos(took);
        if self.watching.limit.is_some_and(|limit| took > limit) {
            shielded(|| task.home().seam.report_slow_poll(task, took));
        }
    }
}

/// Polls a part of the fiber that runs here, which is polled again only if it was woken. `part` is an address of its own.
#[inline]
pub(crate) fn part<R>(part: usize, poll: impl FnOnce() -> R) -> R {
    let restore = |before| finally(move || _ = with_watch(|watch| watch.noted.lock().part = before));
    let _restore = with_watch(|watch| watch.begin_part(part)).map(restore);
    poll()
}

/// A part has ended, or is dropped.
#[inline]
pub(crate) fn end_part(part: usize) {
    with_watch(|watch| watch.end_part(part));
}

/// Polls something that waits for several things, and is through with the first of them: the others are not waited for any more
/// then.
#[inline]
pub(crate) fn first_of<R>(poll: impl FnOnce() -> Poll<R>) -> Poll<R> {
    let mark = mark();
    let polled = poll();
    if polled.is_ready() {
        forget_since(mark);
    }
    polled
}

/// The number of the next wait of the fiber that runs here, if that is inspected.
#[inline]
pub(crate) fn mark() -> Option<u64> {
    with_watch(|watch| watch.noted.lock().next_note)
}

/// What was noted since then is not waited for any more.
#[inline]
pub(crate) fn forget_since(mark: Option<u64>) {
    if let Some(number) = mark {
        with_watch(|watch| watch.forget_since(number));
    }
}

/// Calls `f` if the fiber that runs here is inspected.
#[inline]
fn with_watch<R>(f: impl FnOnce(&Watch) -> R) -> Option<R> {
    context::with_task(|task| inspected(task).map(f)).flatten()
}

/// Whether the fiber that runs here is inspected.
#[inline]
pub(crate) fn is_on() -> bool {
    with_watch(|_| ()).is_some()
}

/// An operation is left pending by the fiber that runs here, if that is inspected.
#[inline]
pub(crate) fn waits(place: Place, wish: impl FnOnce() -> (&'static str, Target)) {
    waits_at(|| place.location(), wish);
}

/// As [`waits`].
#[inline]
pub(crate) fn waits_at(place: impl FnOnce() -> Known, wish: impl FnOnce() -> (&'static str, Target)) {
    with_watch(|watch| {
        let (operation, target) = wish();
        watch.note(Wait { operation, target, place: place() });
    });
}

/// What is noted of a fiber, if it is inspected.
#[inline]
pub(crate) fn inspected(task: &Task) -> Option<&Watch> {
    task.watch().filter(|watch| watch.is_inspected())
}

/// Who has taken a lock, or a share of one: noted in builds with debug assertions, and not in models.
///
/// What one can have at a time (a mutex) has a [`Holder`], written by who has the lock alone. Where several have shares of
/// one thing (readers, permits) each guard has a [`Share`] of its own.
#[cfg(all(debug_assertions, not(any(leno_loom, leno_shuttle))))]
mod share {
    use super::{Hold, Noted, Place, Task, Thing, context, inspected};

    /// No more than this are kept: a fiber that collects permits can have any number of them.
    const MOST_HOLDS: usize = 1024;

    /// A hold that is noted of a fiber, or nothing. It ends with [`leave`](Self::leave).
    #[derive(Debug)]
    pub(crate) struct Share(Option<(Task, u64)>);

    crate::task::unwinds! { [] Share }

    impl Share {
        /// Of nobody.
        pub(crate) const fn none() -> Share {
            Share(None)
        }

        /// It was taken, in the fiber that runs here, if any.
        pub(crate) fn enter(place: Place, wish: impl FnOnce() -> (&'static str, Thing)) -> Share {
            let noted = context::with_task(|task| {
                let mut noted = inspected(task)?.noted.lock();
                if noted.holds.len() >= MOST_HOLDS {
                    return None;
                }
                let number = noted.next_hold;
                noted.next_hold += 1;
                let (operation, thing) = wish();
                let hold = Hold { operation, object: thing.object, place: place.location() };
                noted.holds.push((number, hold));
                Some((task.clone(), number))
            });
            Share(noted.flatten())
        }

        /// It is about to be given back. Dropping this may drop anything: do so after that.
        pub(crate) fn leave(&self) {
            self.change(|noted, at| drop(noted.holds.remove(at)));
        }

        /// It has become what `operation` takes.
        pub(crate) fn turn(&self, operation: &'static str) {
            self.change(|noted, at| noted.holds[at].1.operation = operation);
        }

        fn change(&self, change: impl FnOnce(&mut Noted, usize)) {
            let Some((task, number)) = &self.0 else { return };
            let Some(watch) = inspected(task) else { return };
            let mut noted = watch.noted.lock();
            if let Some(at) = noted.holds.iter().rposition(|(held, _)| held == number) {
                change(&mut noted, at);
            }
        }
    }
}

#[cfg(not(all(debug_assertions, not(any(leno_loom, leno_shuttle)))))]
mod share {
    use super::{Place, Thing};

    /// Nothing.
    #[derive(Debug)]
    pub(crate) struct Share;

    impl Share {
        pub(crate) const fn none() -> Share {
            Share
        }

        #[inline(always)]
        pub(crate) fn enter(_place: Place, _wish: impl FnOnce() -> (&'static str, Thing)) -> Share {
            Share
        }

        #[inline(always)]
        pub(crate) fn leave(&self) {}

        #[inline(always)]
        pub(crate) fn turn(&self, _operation: &'static str) {}
    }
}

pub(crate) use share::Share;

/// Who has a lock that one can have at a time.
#[derive(Debug)]
pub(crate) struct Holder(UnsafeCell<Share>);

// SAFETY: only who has the lock touches it, by the contracts below, and a share is Send.
unsafe impl Sync for Holder {}

impl Holder {
    prim::const_fn! {
        pub(crate) fn new() -> Holder {
            Holder(UnsafeCell::new(Share::none()))
        }
    }

    /// The lock was taken, in the fiber that runs here, if any.
    ///
    /// # Safety
    ///
    /// The caller has the lock.
    #[inline(always)]
    pub(crate) unsafe fn enter(&self, place: Place, wish: impl FnOnce() -> (&'static str, Thing)) {
        let share = Share::enter(place, wish);
        // SAFETY: by contract. (What was there was taken out by `leave`.)
        self.0.with_mut(|holder| unsafe { *holder = share });
    }

    /// The lock is about to be freed, or handed over. Drop what this returns after that.
    ///
    /// # Safety
    ///
    /// The caller has the lock.
    #[inline(always)]
    pub(crate) unsafe fn leave(&self) -> Share {
        // SAFETY: by contract.
        let share = self.0.with_mut(|holder| unsafe { holder.replace(Share::none()) });
        share.leave();
        share
    }
}
