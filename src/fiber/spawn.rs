//! Starting fibers.

use std::future::Future;
use std::panic::Location;
use std::time::Duration;

use crate::fiber::default_home;
use crate::fiber::join::JoinHandle;
use crate::fiber::scope::Scope;
use crate::prim::{Arc, Counter};
use crate::task::cell::{Birth, allocate};
use crate::task::context;
use crate::task::error::shielded;
use crate::task::extras::Extras;
use crate::task::group::Group;
use crate::task::header::{FiberId, Task};
use crate::task::home::{Busy, HomeRef};
use crate::task::roster::Admission;
use crate::task::state::State;
use crate::task::watch::Watch;
use crate::task::{budget, run, shows, trace, unwinds};

static IDS: Counter = Counter::new();

/// The next fiber's id.
pub(crate) fn next_id() -> FiberId {
    FiberId::new(IDS.next())
}

/// Starts a fiber on the caller's executor: the runtime or cord of the current fiber, or, outside of one, leno's default
/// runtime.
///
/// In a fiber the new one is a child: cancelling the parent cancels it, but a parent that ends by itself releases it.
/// [`Builder::root`] starts a fiber without a parent. The fiber runs whether or not the handle is awaited; it is first
/// polled by the executor, not in this call. If the executor is shutting down the fiber is cancelled at once.
///
/// ```
/// let fiber = leno::spawn(async { "done" });
/// assert_eq!(fiber.wait().unwrap(), "done");
/// ```
#[track_caller]
pub fn spawn<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    Builder::new().spawn(future)
}

/// Starts a fiber, which need not be `Send`, on the cord that the caller runs on.
///
/// ```
/// use leno::fiber::{Cord, spawn_local};
/// use std::rc::Rc;
///
/// let shared = Rc::new(5);
/// let cord = Cord::new();
/// let copy = shared.clone();
/// let seen = cord.block_on(async move { spawn_local(async move { *copy }).await.unwrap() });
/// assert_eq!(seen, *shared);
/// ```
///
/// # Panics
///
/// Outside a cord.
#[track_caller]
pub fn spawn_local<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + 'static,
    F::Output: 'static,
{
    Builder::new().spawn_local(future)
}

/// Starts a fiber as [`spawn`] does, and polls it right here, up to its first suspension.
///
/// Its first poll happens before this returns, inside the caller's own poll; if it panics, the panic stays in the new fiber.
/// So fibers that start one another in this way need stack for each that has not suspended yet. (If the caller was cancelled,
/// or its executor has ended, the fiber is cancelled at once, and not polled.)
///
/// ```
/// let ran = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
/// let seen = ran.clone();
/// let fiber = leno::fiber::spawn_now(async move { seen.store(true, std::sync::atomic::Ordering::SeqCst) });
/// assert!(ran.load(std::sync::atomic::Ordering::SeqCst));
/// assert!(fiber.is_finished());
/// ```
#[track_caller]
pub fn spawn_now<F>(future: F) -> JoinHandle<F::Output>
where
    F: Future + Send + 'static,
    F::Output: Send + 'static,
{
    let at = Location::caller();
    context::with_home(default_home, |home| {
        let _busy = Busy::new(&**home);
        // What may end the caller's wait does not end that of the new fiber.
        let _alone = budget::alone();
        // SAFETY: the future is `Send`, so this thread may have it; if the home is a cord, we are on its thread.
        unsafe {
            Builder::new().make(home, at, future).start(|task| {
                run::run(task);
                Ok(())
            })
        }
    })
}

/// How to start a fiber: its name, its parent and more. Like [`std::thread::Builder`].
///
/// ```
/// let fiber = leno::fiber::Builder::new().name("adder").spawn(async { 1 + 1 });
/// assert_eq!(fiber.name(), Some("adder"));
/// assert_eq!(fiber.wait().unwrap(), 2);
/// ```
#[derive(Debug, Default)]
#[must_use = "a builder does nothing before it spawns"]
pub struct Builder {
    name: Option<Box<str>>,
    root: bool,
    daemon: bool,
    group: Option<Arc<Group>>,
    slice_limit: Option<Duration>,
}

impl Builder {
    /// A fiber without a name, the child of the fiber that starts it.
    pub fn new() -> Builder {
        Builder::default()
    }

    /// Names the fiber, for dumps, panics and [`FiberRef::name`](crate::fiber::FiberRef::name). Names need not be
    /// unique.
    pub fn name(mut self, name: impl Into<String>) -> Self {
        self.name = Some(name.into().into_boxed_str());
        self
    }

    /// Starts the fiber without a parent: it is not cancelled with the fiber that starts it.
    pub fn root(mut self) -> Self {
        self.root = true;
        self
    }

    /// Starts it in a scope, which then waits for it; see [`Scope::spawn`].
    pub fn scope(mut self, scope: &Scope) -> Self {
        self.group = Some(Arc::clone(scope.group()));
        self
    }

    /// Makes it a daemon: [`Runtime::shutdown`](crate::fiber::Runtime::shutdown) neither waits for it nor returns it among the
    /// fibers that were late. Its children are daemons, too. (Of prepared fibers, those [prepared](Self::prepare) by a daemon.)
    pub fn daemon(mut self) -> Self {
        self.daemon = true;
        self
    }

    /// Reports polls of this fiber that take longer than `limit`, which replaces the executor's limit. They are reported to the
    /// hook of [`RuntimeBuilder::on_slow_poll`](crate::fiber::RuntimeBuilder::on_slow_poll) or, if there is none, to the
    /// [warning hook](crate::fiber::set_warning_hook).
    pub fn slice_limit(mut self, limit: Duration) -> Self {
        self.slice_limit = Some(limit);
        self
    }

    /// What it has beside its header, on `home`, as a child of the fiber that runs here.
    #[inline(always)]
    pub(super) fn extras(self, home: &HomeRef) -> Option<Box<Extras>> {
        let may_inherit =
            !self.root && context::with_task(|parent| parent.extras().is_some()).unwrap_or(false);
        let is_plain = !may_inherit && !self.has_extras(home);
        if is_plain { None } else { self.some_extras(home) }
    }

    /// Whether it has some that are not inherited.
    #[inline(always)]
    fn has_extras(&self, home: &HomeRef) -> bool {
        let Builder { name, root: _, daemon, group, slice_limit } = self;
        name.is_some() || *daemon || group.is_some() || slice_limit.is_some() || home.watching.is_on()
    }

    /// The same where there may be some.
    #[cold]
    #[inline(never)]
    fn some_extras(mut self, home: &HomeRef) -> Option<Box<Extras>> {
        let inherited = context::with_task(|parent| {
            let extras = if self.root || !parent.home().is(home) { None } else { parent.extras() }?;
            self.daemon |= extras.daemon;
            // SAFETY: the parent runs here.
            unsafe { extras.locals.inherited() }
        });
        let locals = inherited.flatten();
        if locals.is_none() && !self.has_extras(home) {
            return None;
        }
        let Builder { name, root: _, daemon, group, slice_limit } = self;
        let watch = Watch::new(home.watching, slice_limit);
        Some(Box::new(Extras {
            name,
            daemon,
            group,
            locals: locals.unwrap_or_default(),
            watch,
            ..Extras::default()
        }))
    }

    /// Starts it as [`spawn`] does.
    #[track_caller]
    pub fn spawn<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let at = Location::caller();
        // SAFETY: the future is `Send`.
        context::with_home(default_home, |home| unsafe { self.make(home, at, future).start(run::schedule) })
    }

    /// Starts it on a given executor, from anywhere.
    pub(crate) fn start_on<F>(
        self,
        home: &HomeRef,
        at: &'static Location<'static>,
        future: F,
    ) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let _busy = Busy::new(&**home);
        // SAFETY: the future is `Send`.
        unsafe { self.make(home, at, future).start(run::schedule) }
    }

    /// Starts it as [`spawn_local`] does.
    ///
    /// # Panics
    ///
    /// Outside a cord.
    #[track_caller]
    pub fn spawn_local<F>(self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let Some(home) = context::home().filter(|home| home.local) else {
            panic!(
                "`spawn_local` outside a cord; call it in a future given to `Cord::block_on` or `Cord::spawn`, or \
                 use `spawn` if the future is `Send`"
            );
        };
        // SAFETY: the context is that of a cord, so this is its thread.
        unsafe { self.spawn_local_on(&home, Location::caller(), future) }
    }

    /// Starts it on a given cord.
    ///
    /// # Safety
    ///
    /// This is the cord's thread.
    pub(crate) unsafe fn spawn_local_on<F>(
        self,
        home: &HomeRef,
        at: &'static Location<'static>,
        future: F,
    ) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // SAFETY: by contract.
        unsafe { self.make(home, at, future).start(run::schedule) }
    }

    /// Creates a fiber, on the caller's executor, that does not run before [`Prepared::start`]. It becomes a child of the fiber
    /// that starts it.
    #[track_caller]
    pub fn prepare<F>(self, future: F) -> Prepared<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        let at = Location::caller();
        // SAFETY: the future is `Send`.
        let made = context::with_home(default_home, |home| unsafe { self.make(home, at, future) });
        Prepared { made: Some(made) }
    }

    /// Makes it, and does not start it.
    ///
    /// # Safety
    ///
    /// As for `allocate`.
    #[inline(always)]
    unsafe fn make<F>(self, home: &HomeRef, at: &'static Location<'static>, future: F) -> Newborn<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        let root = self.root;
        let id = next_id();
        let kind = if home.local { "local" } else { "fiber" };
        let extras = trace::born(self.extras(home), id, at, kind);
        // SAFETY: by contract.
        let header = unsafe { allocate(Birth { home, id, at, extras }, State::spawned(), future) };
        // SAFETY: the three counts that `spawned` made, and the only handle.
        unsafe {
            let (listing, queued) = (Task::from_raw(header), Task::from_raw(header));
            Newborn { listing, queued, handle: JoinHandle::new(Task::from_raw(header)), root }
        }
    }
}

/// A fiber that is its creator's: made, and not listed. It has to be started or ended.
struct Newborn<T> {
    /// The count that will be the roster's.
    listing: Task,
    /// The run queue's.
    queued: Task,
    handle: JoinHandle<T>,
    root: bool,
}

impl<T> Newborn<T> {
    /// Lists the fiber and hands it to `go`, with the run queue's count. What `go` gives back is ended.
    ///
    /// # Safety
    ///
    /// This thread may drop the future.
    #[inline(always)]
    unsafe fn start(self, go: impl FnOnce(Task) -> Result<(), Task>) -> JoinHandle<T> {
        let Newborn { listing, queued, handle, root } = self;
        if let Some(group) = queued.group() {
            group.enter(&queued);
        }
        match admit(listing, root) {
            Admission::Listed => {
                if let Err(refused) = go(queued) {
                    // SAFETY: a newborn is ours, and this thread may drop the future by contract. Refused: so the roster was closed
                    // before, as this thread knows by now.
                    unsafe { run::end_entry(refused) };
                }
            }
            // SAFETY: not listed; this thread may drop the future by contract.
            Admission::Closed => unsafe { run::end_unlisted(queued) },
        }
        handle
    }
}

/// Lists a fiber, below the one that runs here if that is of the same executor and `root` isn't asked for. The
/// roster keeps the count or drops it.
pub(crate) fn admit(listing: Task, root: bool) -> Admission {
    let admit = |parent: Option<&Task>| listing.home().roster.admit(&listing, parent, listing.is_awaited());
    let admission =
        context::with_task(|current| admit((!root && current.home().is(listing.home())).then_some(current)))
            .unwrap_or_else(|| admit(None));
    if admission == Admission::Listed {
        if listing.home().hooked {
            shielded(|| listing.home().seam.begins(&listing));
        }
        // The roster's count; `retire` turns it into a task again.
        let _ = listing.into_raw();
    }
    admission
}

/// A fiber that was created but not started. Dropping it drops its future, once, on the dropping thread.
///
/// ```
/// let prepared = leno::fiber::Builder::new().name("later").prepare(async { 3 });
/// // … nothing has run so far …
/// assert_eq!(prepared.start().wait().unwrap(), 3);
/// ```
#[must_use = "a prepared fiber runs when it is started"]
pub struct Prepared<T> {
    /// `None` once started.
    made: Option<Newborn<T>>,
}

impl<T> Prepared<T> {
    /// Starts the fiber on the executor it was prepared for. It becomes a child of the fiber that starts it, if that is on the
    /// same executor and [`Builder::root`] was not set.
    pub fn start(mut self) -> JoinHandle<T> {
        let Some(made) = self.made.take() else { unreachable!("`start` takes the fiber by value") };
        // From outside, maybe.
        let _busy = Busy::new(HomeRef::clone(made.queued.home()));
        // SAFETY: a prepared future is `Send`.
        unsafe { made.start(run::schedule) }
    }

    /// The id of the fiber to be. [`find`](crate::fiber::find) finds it once it was started.
    pub fn id(&self) -> FiberId {
        match &self.made {
            Some(made) => made.handle.id(),
            None => unreachable!("`start` takes the fiber by value"),
        }
    }
}

impl<T> Drop for Prepared<T> {
    fn drop(&mut self) {
        if let Some(made) = self.made.take() {
            // SAFETY: not listed; a prepared future is `Send`.
            unsafe { run::end_unlisted(made.queued) };
        }
    }
}

unwinds! { [T] Prepared<T> }
shows! { [T] Prepared<T>, "Prepared", it => id: it.id() }
