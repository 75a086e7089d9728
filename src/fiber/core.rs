//! What a runtime and a cord have in common: a crew of workers with timers and a clock, and the user's hooks. To their fibers it is
//! the [`seam`](crate::task::seam).

use std::any::Any;
use std::ptr::NonNull;
use std::task::Waker;
use std::time::{Duration, Instant};

use crate::fiber::crew::{Crew, Worker};
use crate::fiber::fiber_ref::FiberRef;
use crate::fiber::main_fiber;
use crate::fiber::registry;
use crate::fiber::ring::Entry;
use crate::fiber::settings::{Hooks, Report, Settings};
use crate::prim::{Mutex, is_late, now, thread};
use crate::task::context::Post;
use crate::task::error::message;
use crate::task::header::Task;
use crate::task::home::{Home, HomeRef};
use crate::task::seam::{Bell, Seam, TimerKey, TimerState};
use crate::task::{context, finally, run, warn};

impl Entry for Task {
    fn into_raw(self) -> NonNull<()> {
        Task::into_raw(self).cast()
    }

    unsafe fn from_raw(raw: NonNull<()>) -> Self {
        // SAFETY: from `into_raw`, with its count.
        unsafe { Task::from_raw(raw.cast()) }
    }

    fn arrives(&self) -> bool {
        Task::arrives(self)
    }

    fn goes_behind(&self, arrive: impl FnOnce()) -> bool {
        Task::goes_behind(self, arrive)
    }
}

/// So long after the first helper a second one may follow, and after each the next one that much later than the one before did; the
/// longest of these times.
const STEP: Duration = Duration::from_millis(4);
const LONGEST: Duration = Duration::from_millis(100);

/// In which order fibers are ended.
#[derive(Clone, Copy)]
pub(crate) enum Order {
    /// The oldest first.
    Age,
    /// The youngest first: children for which parents wait in a drop come first.
    Youth,
}

/// See the module.
pub(crate) struct Core {
    crew: Crew<Task>,
    hooks: Hooks,
    /// In a closed world: what tells that its fibers wait for each other.
    pub(super) report: Option<Report>,
    helpers: Mutex<Helpers>,
    /// Of a runtime's threads, and of the helpers, on which its fibers are dropped. `None`: std's.
    stack_size: Option<usize>,
}

/// Those who help to end a runtime.
///
/// Whoever waits in what it drops may wait for any of the fibers that are left, and these for others. So:
///
/// 1. Who ends fibers, and waits, has a helper started if one is due, or as soon as one is, but only one: that sees to the rest,
///    and is among those who end fibers. (One more, if this thread hands over further fibers, as a worker that has woken them.) So as
///    long as some are left, somebody ends them who does not wait, or will have one more started.
/// 2. The first one is due at once, the next ones ever later, whoever has them started: most waits are for something else, and
///    end. By the clock, however short each wait is: who waits may ask for a fiber again and again. (But one is started at once
///    where a poll that goes on waits, of a runtime with several workers, for what it has woken may be on its worker.)
/// 3. They go in alternate directions: so few do where all wait for younger fibers, or for older ones, also if those at either end
///    wait for long.
#[derive(Default)]
struct Helpers {
    /// Theirs, and others to be joined after the end.
    threads: Vec<thread::JoinHandle<()>>,
    /// How many there were, with those that had no thread of their own.
    count: u32,
    /// When one more is due.
    due: Option<Instant>,
}

impl Helpers {
    /// That of the next one. (The youngest first: so one is enough for all parents that join their children.)
    fn order(&self) -> Order {
        if self.count % 2 == 0 { Order::Youth } else { Order::Age }
    }

    fn one_more(&mut self) {
        self.count += 1;
        self.due = Some(now() + (STEP * self.count).min(LONGEST));
    }
}

impl Core {
    /// Opens an executor, which [`find`](crate::fiber::find) searches from now on. `None`: a cord; otherwise a runtime with
    /// so many workers.
    pub(crate) fn open(workers: Option<usize>, settings: Settings) -> HomeRef {
        let local = workers.is_none();
        let workers = workers.unwrap_or(1);
        let watching = settings.watching();
        let mut crew = Crew::new(workers, local, settings.clock);
        if settings.report.is_some() {
            crew = crew.closed(|_, main| main_fiber::tell(main));
        }
        let helpers = Mutex::new(Helpers::default());
        let Settings { hooks, report, stack_size, .. } = settings;
        let core = Core { crew, hooks, report, helpers, stack_size };
        let home = HomeRef::new(local, workers, watching, Box::new(core));
        registry::add(&home);
        home
    }

    /// The core of an executor of this module.
    pub(super) fn of(home: &Home) -> &Core {
        home.seam.as_any().downcast_ref().expect("runtimes and cords have a core")
    }

    pub(super) fn crew(home: &Home) -> &Crew<Task> {
        &Core::of(home).crew
    }

    /// Drives `home` as its worker `index`: `run` gets fiber after fiber, until it says that this was enough, or the
    /// executor has ended.
    ///
    /// # Safety
    ///
    /// No other thread is this worker meanwhile. For a cord, this is its thread.
    pub(crate) unsafe fn drive<R>(
        home: &HomeRef,
        index: usize,
        mut run: impl FnMut(Task) -> Option<R>,
    ) -> Option<R> {
        let crew = Core::crew(home);
        let worker = crew.worker(index);
        let drive = || {
            loop {
                // SAFETY: by contract.
                let task = unsafe { crew.next(worker) }?;
                debug_assert!(context::drives(home), "nobody acts in its place");
                if let Some(result) = run(task) {
                    return Some(result);
                }
            }
        };
        // SAFETY: by contract; this is how `Seam` below takes it.
        unsafe { context::drive(home, index, std::ptr::from_ref(worker).cast(), drive) }
    }

    /// Ends what a worker of a stopped executor has; what waits, in this order. What the fibers wake as they end is ended as well.
    ///
    /// # Safety
    ///
    /// As for `drive`.
    pub(crate) unsafe fn end_worker(home: &HomeRef, index: usize, order: Order) {
        let crew = Core::crew(home);
        let worker = crew.worker(index);
        let end = || {
            // SAFETY: by contract. (In what is dropped it may go away, and find somebody in its place.)
            let next = || if context::drives(home) { unsafe { crew.take_left(worker) } } else { None };
            // SAFETY: by contract.
            unsafe {
                Core::end_each(next);
                if crew.is_alone() {
                    Core::end_all(home, order);
                    // Of fibers that were woken, and have ended by now.
                    Core::end_each(next);
                }
            }
        };
        // SAFETY: as in `drive`.
        unsafe { context::drive(home, index, std::ptr::from_ref(worker).cast(), end) }
    }

    /// Stops the executor: nobody is admitted, nobody is run. Its threads end after the poll that is under way. What was
    /// injected is ended here.
    ///
    /// # Safety
    ///
    /// For a cord, this is its thread.
    pub(crate) unsafe fn stop(home: &Home) {
        home.roster.close();
        let crew = Core::crew(home);
        crew.close();
        // Before anything is dropped, which may set a timer and wait for it: nobody fires those from here on.
        crew.timers.close();
        // SAFETY: by contract.
        unsafe { Core::end_each(|| crew.take_rest()) };
        registry::remove(home);
    }

    /// Ends what is taken out of a queue of a stopped executor, until there is no more.
    ///
    /// # Safety
    ///
    /// For a cord, this is its thread. `take` takes out of a queue.
    unsafe fn end_each(take: impl Fn() -> Option<Task>) {
        while let Some(task) = take() {
            // SAFETY: by contract.
            unsafe { run::end_entry(task) };
        }
    }

    /// Ends what there is of a stopped runtime, except what its workers have to end: its fibers, in this order; and last, what
    /// workers keep waiting, as they may be in long polls. By then nobody is idle, so few entries are still made (of newborns that
    /// were admitted before, of fibers that were being polled). The workers end these as they leave, as well as what an `overflow`
    /// could not move.
    pub(crate) fn end_left(home: &HomeRef, order: Order) {
        let crew = Core::crew(home);
        // SAFETY: not a cord, whose fibers end on its thread.
        unsafe {
            Core::end_each(|| crew.take_rest());
            Core::end_all(home, order);
            Core::end_each(|| crew.steal_left());
        }
    }

    /// Stops a runtime, and ends what there is of it. `inside`: this is the thread of that worker of it.
    ///
    /// # Safety
    ///
    /// It is no cord.
    pub(crate) unsafe fn end_runtime(home: &HomeRef, inside: Option<usize>) {
        let crew = Core::crew(home);
        let is_at_work = || !crew.is_alone() || context::drives(home);
        Core::ending(home, || {
            // SAFETY: by contract.
            unsafe { Core::stop(home) };
            Core::end_left(home, Order::Age);
            if let Some(index) = inside.filter(|_| is_at_work()) {
                // SAFETY: as the caller says; and nobody acts in its place.
                unsafe { Core::end_worker(home, index, Order::Age) };
            }
        });
        if inside.is_some() && !is_at_work() {
            // It is away, in a call of leno's further down this stack.
            crew.in_its_own_place(|| Core::end_as_the_worker(home, Order::Age));
        }
    }

    /// Of a stopped runtime with one worker: ends what that has, if it goes away before it ends. (On its own thread: where that
    /// has gone away itself, as nobody else could be started.)
    pub(crate) fn end_in_its_place(home: &HomeRef, order: Order) {
        let crew = Core::crew(home);
        if crew.is_alone() {
            crew.in_its_place(|| Core::end_as_the_worker(home, order));
        }
    }

    /// For who has come in the place of the only worker.
    fn end_as_the_worker(home: &HomeRef, order: Order) {
        // SAFETY: in its place.
        Core::ending(home, || unsafe { Core::end_worker(home, 0, order) });
    }

    /// Calls `f`, which ends fibers of a stopped runtime. Should this thread wait in what is dropped there, another one goes on.
    fn ending<R>(home: &HomeRef, f: impl FnOnce() -> R) -> R {
        let go_on = || Core::have_ended(home, false);
        let end = || {
            let result = f();
            // What this thread has handed over, if it has not waited since.
            // SAFETY: not a cord, whose fibers end on its thread.
            unsafe { Core::end_each(|| Core::crew(home).take_rest()) };
            result
        };
        context::look_after(home, || context::one_by_one(Some(home), &go_on, end))
    }

    /// Has another thread end what is left of a stopped runtime: see [`Helpers`]. `Some`: nobody does; to be tried again then.
    ///
    /// If none can be started this one does, unless it is in the middle of too many such calls: it had better wait, and try again,
    /// than overflow its stack. (It is the best that one stack can do: what it begins cannot wait for what is further down there.
    /// Others may be better off, and are not kept from it.)
    fn have_ended(home: &HomeRef, at_once: bool) -> Option<Instant> {
        let core = Core::of(home);
        let mut helpers = core.helpers.lock();
        if !at_once && helpers.due.is_some() && !is_late(helpers.due) {
            return helpers.due;
        }
        let order = helpers.order();
        core.crew.helps();
        let theirs = home.clone();
        let thread = a_thread(String::from("leno-end"), core.stack_size);
        match thread.spawn(move || Core::help(&theirs, order)) {
            Ok(helper) => {
                helpers.threads.push(helper);
                helpers.one_more();
                None
            }
            Err(_none) => {
                let helped = context::deeper(move || {
                    helpers.one_more();
                    drop(helpers);
                    Core::help(home, order);
                });
                helped.is_none().then(|| {
                    core.crew.helped();
                    now() + LONGEST
                })
            }
        }
    }

    /// A helper's life.
    fn help(home: &HomeRef, order: Order) {
        let _helped = finally(|| Core::crew(home).helped());
        Core::ending(home, || Core::end_left(home, order));
        Core::end_in_its_place(home, order);
    }

    /// A worker's life is over, of a stopped executor; unless leno itself has panicked.
    ///
    /// # Safety
    ///
    /// As for `drive`.
    pub(crate) unsafe fn leave(home: &HomeRef, index: usize) {
        let crew = Core::crew(home);
        if !crew.is_replaced() {
            // SAFETY: by contract; nobody acts in its place.
            let end = || unsafe { Core::end_worker(home, index, Order::Age) };
            // (Of an only one that waits, who waits for it comes in its place.)
            if crew.is_alone() || !crew.is_closed() { end() } else { Core::ending(home, end) }
        }
        crew.gone();
    }

    /// Of a stopped runtime: waits until this many workers are over, except for what their threads do at their very end, and until
    /// nobody helps.
    pub(crate) fn wait_gone(home: &Home, workers: usize) {
        let core = Core::of(home);
        core.crew.wait_gone(workers);
        let helpers = std::mem::take(&mut core.helpers.lock().threads);
        helpers.into_iter().for_each(Core::join);
    }

    /// Joins a thread that is over, except for what it does at its very end: destructors of thread-locals may wait for what this
    /// thread has yet to end, and it cannot have a helper started meanwhile. So if none is due, the thread is joined when all has
    /// ended.
    pub(crate) fn join(thread: thread::JoinHandle<()>) {
        context::leave_the_rest();
        context::with_rest(|home| match home {
            Some(home) => Core::of(home).helpers.lock().threads.push(thread),
            // (None panics.)
            None => _ = thread.join(),
        });
    }

    /// Drops the futures of all fibers of a stopped executor, in this order. Those that other threads are polling end after that
    /// poll.
    ///
    /// # Safety
    ///
    /// For a cord, this is its thread.
    pub(crate) unsafe fn end_all(home: &Home, order: Order) {
        let mut tasks = home.roster.snapshot();
        if let Order::Youth = order {
            tasks.reverse();
        }
        for task in tasks {
            // SAFETY: by contract.
            unsafe { run::end(&task) };
        }
    }
}

/// A thread to be started, on which fibers are polled or dropped.
pub(super) fn a_thread(name: String, stack_size: Option<usize>) -> thread::Builder {
    let thread = thread::Builder::new().name(name);
    if let Some(bytes) = stack_size { thread.stack_size(bytes) } else { thread }
}

/// # Safety
///
/// `worker` is from `Core::drive` or `Core::end_worker` on this thread.
unsafe fn seat<'a>(worker: NonNull<()>) -> &'a Worker<Task> {
    // SAFETY: by contract; the driver's frame keeps it.
    unsafe { worker.cast().as_ref() }
}

impl Seam for Core {
    fn schedule(&self, post: Post, task: Task) {
        // SAFETY: the seam's callers have asked for it on this thread, for this executor: this is its thread.
        unsafe {
            let worker = seat(post.worker);
            if post.behind { self.crew.push_last(worker, task) } else { self.crew.push_next(worker, task) }
        }
    }

    fn inject(&self, task: Task) -> Result<(), Task> {
        self.crew.inject(task)
    }

    fn blocks(&self, worker: NonNull<()>) {
        // SAFETY: as in `schedule`. (An only worker leaves nothing to others.)
        if let Err(refused) = unsafe { self.crew.blocks(seat(worker)) } {
            let home = refused.as_slice()[0].home().clone();
            self.crew.add_rest(refused);
            // (These may be what it is about to wait for. If it is not among those who end fibers it does not try again: so at once.)
            if !context::adds_to_rest(&home) {
                Core::have_ended(&home, true);
            }
        }
    }

    fn is_alone(&self) -> bool {
        self.crew.is_alone()
    }

    fn leaves(&self) -> Option<usize> {
        self.crew.is_replaceable().then(|| self.crew.leaves())
    }

    fn returns(&self, left: usize) -> bool {
        self.crew.returns(left)
    }

    fn now(&self) -> Instant {
        self.crew.timers.clock.now()
    }

    fn elapsed(&self) -> Duration {
        self.crew.timers.elapsed()
    }

    fn clock_id(&self) -> usize {
        self.crew.timers.clock.id()
    }

    fn set_timer(&self, worker: Option<NonNull<()>>, at: Instant, waker: Waker) -> Option<TimerKey> {
        // SAFETY: as in `schedule`.
        let worker = worker.map(|worker| unsafe { seat(worker) }.index);
        self.crew.set_timer(worker, at, waker)
    }

    fn renew_timer(&self, key: TimerKey, waker: &Waker) -> TimerState {
        self.crew.timers.renew(key, waker)
    }

    fn clear_timer(&self, key: TimerKey) {
        self.crew.timers.clear(key);
    }

    fn next_timer(&self) -> Option<Instant> {
        self.crew.next_timer()
    }

    fn fire_timers(&self, limit: Option<Instant>) {
        self.crew.timers.fire(limit);
    }

    fn hang_up(&self, bell: &'static dyn Bell) -> Option<Instant> {
        self.crew.hang_up(bell)
    }

    fn take_down(&self, bell: &'static dyn Bell) {
        self.crew.take_down(bell);
    }

    fn busy(&self) {
        self.crew.busy();
    }

    fn calm(&self) {
        self.crew.calm();
    }

    fn report_panic(&self, task: &Task, payload: &(dyn Any + Send)) {
        let fiber = FiberRef::new(task);
        match &self.hooks.panic {
            Some(hook) => hook(&fiber, payload),
            None => warn::say(&format!("{fiber} panicked, and nobody joined it: {}", message(payload))),
        }
    }

    fn is_hooked(&self) -> bool {
        self.hooks.spawn.is_some() || self.hooks.stop.is_some()
    }

    fn begins(&self, task: &Task) {
        if let Some(hook) = &self.hooks.spawn {
            hook(&FiberRef::new(task));
        }
    }

    fn ends(&self, task: &Task) {
        if let Some(hook) = &self.hooks.stop {
            hook(&FiberRef::new(task));
        }
    }

    fn report_slow_poll(&self, task: &Task, took: Duration) {
        let fiber = FiberRef::new(task);
        match &self.hooks.slow_poll {
            Some(hook) => hook(&fiber, took),
            None => warn::slow_poll(&fiber, task.spawned_at, took),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use std::cell::Cell;
    use std::future::Future;
    use std::pin::{Pin, pin};
    use std::task::{Context, Poll};

    use super::*;
    use crate::fiber::cord::Cord;
    use crate::task::thread::{Awaited, Prospects, block_on_awaited};

    /// Where no threads can be started, as they would be too large.
    #[test]
    #[cfg(target_pointer_width = "64")]
    #[cfg_attr(miri, ignore = "an interpreter starts any thread")]
    fn who_cannot_help_keeps_nobody_else_from_it() {
        fn at_the_bottom(f: &dyn Fn()) {
            if context::deeper(|| at_the_bottom(f)).is_none() {
                f();
            }
        }
        let settings = Settings { stack_size: Some(1 << 56), ..Settings::default() };
        let home = Core::open(Some(2), settings);
        // SAFETY: not a cord.
        unsafe { Core::stop(&home) };
        for _ in 0..2 {
            at_the_bottom(&|| assert!(Core::have_ended(&home, false) > Some(now())));
        }
        assert_eq!(Core::have_ended(&home, false), None);
        let due = now() + Duration::from_secs(3600);
        assert!(Core::of(&home).helpers.lock().due.replace(due).is_some(), "the next one may come");
        assert_eq!(Core::have_ended(&home, false), Some(due), "but not yet");
    }

    /// Woken as its thread lets others run.
    #[derive(Default)]
    struct SoonWoken(Option<Waker>);

    impl Future for SoonWoken {
        type Output = ();

        fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
            if self.0.is_some() {
                return Poll::Ready(());
            }
            self.0 = Some(cx.waker().clone());
            Poll::Pending
        }
    }

    impl Awaited for SoonWoken {
        fn look(&mut self) -> Option<()> {
            None
        }

        fn prospects(&self) -> Prospects {
            self.0.iter().for_each(Waker::wake_by_ref);
            Prospects::default()
        }
    }

    /// (In a thread of its own: what others have learnt says how long they look around before they sleep.)
    #[test]
    fn who_waits_without_sleeping_leaves_the_rest_too() {
        let wait = || {
            let (cord, asked) = (Cord::new(), Cell::new(0));
            let go_on = || {
                asked.set(asked.get() + 1);
                Some(now() + LONGEST)
            };
            let wait = || block_on_awaited(pin!(SoonWoken::default()), None);
            context::look_after(cord.home(), || context::one_by_one(None, &go_on, wait));
            asked.get()
        };
        assert_eq!(thread::scope(|scope| scope.spawn(wait).join()).unwrap(), 1);
    }
}
