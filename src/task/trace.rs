//! Spans of `tracing`, one for each fiber, and for what it waits for: the feature `tracing`.
//!
//! They have the names and fields by which tokio-console knows tasks, resources and operations:
//!
//! ```text
//!   runtime.spawn                   a fiber, from its making to its end; entered while its code runs (a poll, the drop of its future)
//!   runtime.resource                a thing that fibers wait at: a channel or a lock, from the first wait to its end; or what is there
//!                                   for one operation: a timer, a fiber that is joined
//!   └─ runtime.resource.async_op    an operation that the last poll of a fiber has left pending
//! ```
//!
//! Without the feature, and in models, `untraced.rs` stands here, and nothing is left of all this.
//!
//! Invariants:
//!
//! 1. A fiber has a span if a subscriber wants it when the fiber is made. Such a fiber is inspected (`watch.rs`), and its
//!    [`Trace`] is in its watch.
//! 2. Its span ends first of all in `run::finish`, before anybody can know that the fiber has ended; the spans of what it has
//!    waited for end before that. Wakers that are used later report nothing. (One that is used at that very moment may: its event
//!    then names a span that has ended.)
//! 3. What a fiber waits for is reported at the end of a pending poll: after the fiber's frame, within its span. An operation that
//!    is still pending after the next poll is the same one; one that is not has ended.
//! 4. A parked fiber can be woken by its token, for which nobody has cloned a waker. A clone is reported for it, and its drop when
//!    the fiber is polled again; otherwise it would look like a fiber that nobody can wake.
//!
//! The subscriber is foreign code: it is called under no lock, and its panics end here ([`tell`]). What it does with fibers while
//! it is called is not reported to it: that could go on for ever.
//!
//! ORDERING: `id` is Relaxed: who has a waker of a fiber got it after the fiber was made.

use std::cell::Cell;
use std::mem;
use std::panic::Location;
use std::sync::Weak;

use tracing::level_filters::{LevelFilter, STATIC_MAX_LEVEL};
use tracing::{Dispatch, Level, Span, event, span};

use crate::prim::{self, Arc, AtomicU64, Mutex, OnceLock, Ordering};
use crate::task::error::shielded;
use crate::task::extras::Extras;
use crate::task::header::{FiberId, Task};
use crate::task::home::Watching;
use crate::task::place::Known;
use crate::task::watch::{Target, Thing, Wait, Watch};

/// So many operations of one fiber are shown at most.
const MOST: usize = 64;

prim::thread_local! {
    static TELLING: Cell<bool> = Cell::new(false);
}

/// Calls the subscriber. False: it is being called on this thread already, or the thread exits.
fn tell(f: impl FnOnce()) -> bool {
    let free = TELLING.try_with(|telling| !telling.replace(true)).unwrap_or(false);
    if free {
        shielded(f);
        let _ = TELLING.try_with(|telling| telling.set(false));
    }
    free
}

/// A span that ends when it is dropped, whatever the subscriber says to that.
#[derive(Debug)]
struct Shown(Span);

impl Shown {
    /// `None`: nobody wants to see it.
    fn new(make: impl FnOnce() -> Span) -> Option<Shown> {
        let mut shown = Shown(Span::none());
        tell(|| shown.0 = make());
        (!shown.0.is_disabled()).then_some(shown)
    }

    fn call(&self, f: impl FnOnce(&Dispatch, &tracing::Id)) -> bool {
        tell(|| _ = self.0.with_subscriber(|(id, subscriber)| f(subscriber, id)))
    }

    /// Enters it; false: the subscriber was not called. (If it was, it has to be left, also if that has panicked.)
    #[must_use]
    fn enter(&self) -> bool {
        self.call(Dispatch::enter)
    }

    fn exit(&self) {
        self.call(Dispatch::exit);
    }

    fn within(&self, f: impl FnOnce()) {
        let entered = self.enter();
        f();
        if entered {
            self.exit();
        }
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        if !tell(|| self.0 = Span::none()) {
            shielded(|| self.0 = Span::none());
        }
    }
}

/// What is shown of a fiber. Nothing at first, and after its end.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    /// The number of the span, for its wakers; 0: there is none.
    id: AtomicU64,
    fiber: Mutex<Fiber>,
}

#[derive(Debug, Default)]
struct Fiber {
    /// Left pending by the last poll. (They end before the span.)
    operations: Vec<Operation>,
    span: Option<Arc<Shown>>,
    /// Parked by the last poll.
    parked: bool,
}

/// A fiber is about to be made, with those extras: shows it, if somebody wants to see it.
#[inline]
pub(crate) fn born(
    extras: Option<Box<Extras>>,
    id: FiberId,
    at: &'static Location<'static>,
    kind: &'static str,
) -> Option<Box<Extras>> {
    if Level::TRACE <= STATIC_MAX_LEVEL && Level::TRACE <= LevelFilter::current() {
        show(extras, id, at, kind)
    } else {
        extras
    }
}

#[cold]
fn show(
    extras: Option<Box<Extras>>,
    id: FiberId,
    at: &'static Location<'static>,
    kind: &'static str,
) -> Option<Box<Extras>> {
    let name = extras.as_ref().and_then(|extras| extras.name.as_deref());
    let shown = Shown::new(|| {
        span!(
            target: "leno::fiber",
            parent: None,
            Level::TRACE,
            "runtime.spawn",
            kind,
            task.name = name,
            task.id = id.get(),
            loc.file = at.file(),
            loc.line = at.line(),
            loc.col = at.column(),
        )
    });
    let Some(span) = shown else {
        return extras;
    };
    let number = span.0.id().map_or(0, |id| id.into_u64());
    let fiber = Fiber { span: Some(Arc::new(span)), ..Fiber::default() };
    let mut extras = extras.unwrap_or_default();
    let mut watch = extras.watch.take().unwrap_or_else(|| Watch::boxed(Watching::default()));
    watch.watching.inspected = true;
    watch.trace = Trace { id: AtomicU64::new(number), fiber: Mutex::new(fiber) };
    extras.watch = Some(watch);
    Some(extras)
}

/// To be called before a waker of `task` does `op`, as tokio-console knows it.
#[inline]
pub(crate) fn waker(task: &Task, op: &'static str) {
    if let Some(watch) = task.watch() {
        watch.trace.waker(op);
    }
}

/// Inside a fiber's span, until it is dropped.
#[must_use]
pub(crate) struct Inside<'a> {
    task: &'a Task,
    watch: &'a Watch,
    span: Arc<Shown>,
    pending: bool,
}

impl Inside<'_> {
    /// The poll is over, and has left the fiber pending, or not.
    #[inline]
    pub(crate) fn end_poll(&mut self, pending: bool) {
        self.pending = pending;
    }
}

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        if self.pending {
            let waits = self.watch.noted.lock().waits(MOST);
            self.watch.trace.pending(self.task, waits);
        }
        self.span.exit();
    }
}

/// Enters the span of a fiber, by its owner, if it has one.
#[inline]
pub(crate) fn enter(task: &Task) -> Option<Inside<'_>> {
    task.watch().and_then(|watch| watch.trace.enter(task, watch))
}

/// The fiber has ended; for its owner, outside of it.
#[inline]
pub(crate) fn end(task: &Task) {
    if let Some(watch) = task.watch() {
        watch.trace.end();
    }
}

impl Trace {
    fn waker(&self, op: &'static str) {
        let id = self.id.load(Ordering::Relaxed);
        if id != 0 {
            tell(|| event!(target: "runtime::waker", Level::TRACE, op, task.id = id));
        }
    }

    fn enter<'a>(&self, task: &'a Task, watch: &'a Watch) -> Option<Inside<'a>> {
        let (span, parked) = {
            let mut fiber = self.fiber.lock();
            (fiber.span.clone()?, mem::take(&mut fiber.parked))
        };
        if parked {
            self.waker("waker.drop");
        }
        span.enter().then_some(Inside { task, watch, span, pending: false })
    }

    /// A poll has left `waits` pending.
    fn pending(&self, task: &Task, waits: Vec<Wait>) {
        let parked = waits.iter().any(|wait| wait.operation == "park");
        if parked {
            self.waker("waker.clone");
        }
        let mut before = mem::take(&mut self.fiber.lock().operations);
        let still = |wait: Wait| match before.iter().position(|operation| operation.is(&wait)) {
            Some(at) => Some(before.swap_remove(at)),
            None => Operation::new(wait),
        };
        let mut operations: Vec<_> = waits.into_iter().filter_map(still).collect();
        operations.iter_mut().for_each(|operation| operation.is_pending(task));
        drop(before);
        let mut fiber = self.fiber.lock();
        (fiber.operations, fiber.parked) = (operations, parked);
    }

    fn end(&self) {
        self.id.store(0, Ordering::Relaxed);
        let fiber = mem::take(&mut *self.fiber.lock());
        drop(fiber);
    }
}

/// What fibers wait at.
#[derive(Debug)]
struct Resource {
    kind: &'static str,
    text: String,
    at: Known,
    /// Since somebody has waited there, and a subscriber wanted to see it.
    span: OnceLock<Shown>,
}

impl Resource {
    fn new(kind: &'static str, text: String, at: Known) -> Arc<Resource> {
        Arc::new(Resource { kind, text, at, span: OnceLock::new() })
    }

    /// That of an operation.
    fn of(wait: &Wait) -> Option<Arc<Resource>> {
        let (kind, text) = match &wait.target {
            Target::Thing(Thing { label: Some(label), .. }) => return label.0.upgrade(),
            Target::Thing(Thing { object, .. }) => {
                (object.kind, format!("{}@{:x}", object.kind, object.address))
            }
            Target::Fiber(id) => ("fiber", format!("fiber {id}")),
            Target::Time(_) => ("timer", "Sleep".to_owned()),
            Target::Nothing => (wait.operation, wait.operation.to_owned()),
        };
        Some(Resource::new(kind, text, wait.place))
    }

    fn span(&self) -> Option<&Shown> {
        if self.span.get().is_none() {
            let shown = Shown::new(|| {
                span!(
                    target: "leno",
                    parent: None,
                    Level::TRACE,
                    "runtime.resource",
                    concrete_type = self.text,
                    kind = self.kind,
                    loc.file = self.at.map(Location::file),
                    loc.line = self.at.map(Location::line),
                    loc.col = self.at.map(Location::column),
                )
            });
            // (Maybe somebody else was first.)
            drop(self.span.set(shown?));
        }
        self.span.get()
    }
}

/// In a thing that fibers share and wait at: how it is shown.
#[derive(Debug)]
pub(crate) struct Sign {
    at: &'static Location<'static>,
    resource: OnceLock<Arc<Resource>>,
}

// Its content is consistent at all times: the subscriber is called with nothing half done.
crate::task::unwinds! { [] Sign }

impl Sign {
    /// Of a thing that the caller makes.
    #[track_caller]
    pub(crate) const fn new() -> Sign {
        Sign { at: Location::caller(), resource: OnceLock::new() }
    }

    pub(crate) fn label(&self, kind: &'static str, address: usize) -> Label {
        let new = || Resource::new(kind, format!("{kind}@{address:x}"), Some(self.at));
        Label(Arc::downgrade(self.resource.get_or_init(new)))
    }
}

/// How a thing is shown. It is noted with what fibers wait for, and keeps nothing: its drop may come under a lock.
#[derive(Clone, Debug)]
pub(crate) struct Label(Weak<Resource>);

/// An operation that a fiber has left pending.
#[derive(Debug)]
struct Operation {
    wait: Wait,
    /// It ends before its resource.
    span: Shown,
    resource: Arc<Resource>,
    /// No subscriber was told more of it so far.
    is_new: bool,
}

impl Operation {
    fn new(wait: Wait) -> Option<Operation> {
        let resource = Resource::of(&wait)?;
        let mut span = None;
        resource.span()?.within(|| {
            span = Shown::new(|| {
                let source = wait.operation;
                span!(target: "leno", Level::TRACE, "runtime.resource.async_op", source)
            });
        });
        Some(Operation { span: span?, resource, wait, is_new: true })
    }

    /// Whether this wait goes on with it. (Another thing may have come to the same address: its sign is another one then.)
    fn is(&self, wait: &Wait) -> bool {
        let is_here = match &wait.target {
            Target::Thing(Thing { label: Some(label), .. }) => {
                label.0.as_ptr() == Arc::as_ptr(&self.resource)
            }
            _ => true,
        };
        is_here && self.wait == *wait
    }

    /// After a poll of the fiber, within its span.
    fn is_pending(&mut self, task: &Task) {
        let is_new = mem::take(&mut self.is_new);
        let Operation { wait, span, resource, .. } = &*self;
        let is_pending = || {
            if is_new {
                tell_attributes(wait, task);
            }
            let op_name = wait.operation;
            tell(|| {
                event!(target: "runtime::resource::poll_op", Level::TRACE, op_name, is_ready = false);
            });
        };
        if let Some(resource) = resource.span() {
            resource.within(|| span.within(is_pending));
        }
    }
}

/// Where in the source the operation was made, and how long it takes, if that is known.
fn tell_attributes(wait: &Wait, task: &Task) {
    // (What is known of a fiber that is joined is where that was spawned.)
    if let Some(place) = wait.place.filter(|_| !matches!(wait.target, Target::Fiber(_))) {
        tell(|| {
            event!(target: "runtime::resource::async_op::state_update", Level::TRACE, place = %place);
        });
    }
    if let Target::Time(at) = wait.target {
        let left = at.saturating_duration_since(task.home().seam.now());
        tell(|| {
            event!(
                target: "runtime::resource::async_op::state_update",
                Level::TRACE,
                duration = u64::try_from(left.as_millis()).unwrap_or(u64::MAX),
                duration.unit = "ms",
                duration.op = "override",
            );
        });
    }
}
