//! Cords: one thread, whose fibers run one at a time and need not be `Send`.

use std::future::Future;
use std::io;
use std::marker::PhantomData;
use std::mem;
use std::panic::Location;
use std::pin::pin;
use std::task::Poll;

use crate::fiber::core::{Core, Order};
use crate::fiber::join::JoinHandle;
use crate::fiber::main_fiber::{Inside, Main};
use crate::fiber::runtime::check_name;
use crate::fiber::settings::{self, Settings};
use crate::fiber::spawn::Builder;
use crate::prim::{Random, thread};
use crate::task::finally;
use crate::task::home::HomeRef;
use crate::task::{context, run, shows};
use crate::time::Clock;

/// A single-threaded executor, bound to the thread that made it. Its fibers need not be `Send`; they run one at a time,
/// strictly in the order in which they became ready, and only inside [`block_on`](Self::block_on). (One that is woken while it
/// runs becomes ready as that poll ends.)
///
/// Dropping it drops all its fibers, on this thread. Wakers and join handles may outlive it, and other threads may wake its
/// fibers.
///
/// ```
/// use leno::fiber::Cord;
/// use std::{cell::RefCell, rc::Rc};
///
/// let cord = Cord::new();
/// let log = Rc::new(RefCell::new(Vec::new()));
/// for name in ["a", "b"] {
///     let log = log.clone();
///     drop(cord.spawn_local(async move {
///         log.borrow_mut().push(name);
///         leno::yield_now().await;
///         log.borrow_mut().push(name);
///     }));
/// }
/// cord.block_on(async {
///     leno::yield_now().await;
///     leno::yield_now().await;
/// });
/// assert_eq!(*log.borrow(), ["a", "b", "a", "b"]);
/// ```
pub struct Cord {
    home: HomeRef,
    /// Its own, if it has a seed.
    random: Option<Random>,
    /// It stays on its thread: that is what lets its fibers be anything.
    _not_send: PhantomData<*mut ()>,
}

crate::task::unwinds! { [] Cord }

impl Cord {
    /// A cord on this thread.
    pub fn new() -> Cord {
        Cord::builder().build()
    }

    /// A cord on this thread with a clock of its own.
    pub fn with_clock(clock: Clock) -> Cord {
        Cord::builder().clock(clock).build()
    }

    /// A cord to be configured.
    pub fn builder() -> CordBuilder {
        CordBuilder { settings: Settings::default(), seed: None }
    }

    /// Runs the cord's fibers, and `future` among them, until that one is ready. It takes its place in the order like
    /// any fiber: at first, behind those that were ready before.
    ///
    /// The future is a fiber itself: [`current`](crate::fiber::current) names it, what it spawns is its child
    /// (released when it ends), and it can be parked. It cannot be cancelled.
    ///
    /// # Panics
    ///
    /// Inside another `block_on` on the same thread, or a fiber of another cord, whose thread it would block. A panic of the future
    /// propagates.
    #[track_caller]
    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        let _blocking = context::enter_block_on();
        assert!(
            !context::looks_after(&self.home),
            "the `block_on` of a cord inside the `block_on` of the same cord, which is calling a waker: `spawn_local` there instead"
        );
        let mut place = context::Frame::nobody();
        // SAFETY: this is the cord's thread, which a `Cord` never leaves.
        let _base = unsafe { context::enter_home(&mut place, &self.home) };
        let at = Location::caller();
        // (Hooks may wait for a timer as the fiber begins and ends.)
        context::look_after(&self.home, || self.with_random(|| self.drive(future, at)))
    }

    /// Runs `f` with the cord's own random numbers, if it has any.
    fn with_random<R>(&self, f: impl FnOnce() -> R) -> R {
        let swap = || self.random.iter().for_each(Random::swap);
        swap();
        let _back = finally(swap);
        f()
    }

    fn drive<F: Future>(&self, future: F, at: &'static Location<'static>) -> F::Output {
        let main = Main::start(&self.home, at);
        let mut inside = pin!(Inside::new(&main, future));
        let crew = Core::crew(&self.home);
        // A timer's waker may wait for the future: not before that was polled, unless many are before it.
        // SAFETY: this is the cord's thread, which a `Cord` never leaves.
        unsafe { crew.put_off_looks() };
        let mut is_first = true;
        let run = |task| {
            if main.is(&task) {
                // Whatever becomes of it, even a panic.
                let _look = mem::take(&mut is_first).then(|| {
                    // SAFETY: as above; it is driven.
                    finally(|| unsafe { crew.make_up_look() })
                });
                return match main.poll(task, inside.as_mut()) {
                    Poll::Ready(output) => Some(output),
                    Poll::Pending => {
                        // (It waits, though the cord may never sleep: it asks again as it looks up from its turns. Before it looks for
                        // what is ready: that may come by this.)
                        context::leave_the_rest();
                        None
                    }
                };
            }
            // SAFETY: this is the cord's thread, which a `Cord` never leaves.
            unsafe { run::run(task) };
            None
        };
        // SAFETY: this is the cord's thread, and its only worker: `block_on` does not nest.
        let ended = unsafe { Core::drive(&self.home, 0, run) };
        ended.expect("a cord does not end while it is driven")
    }

    /// The cord of this home, on this thread.
    fn new_in(home: HomeRef, seed: Option<u64>) -> Cord {
        home.thread.get_or_init(thread::current);
        Cord { home, random: seed.map(Random::new), _not_send: PhantomData }
    }

    pub(crate) fn home(&self) -> &HomeRef {
        &self.home
    }

    /// Starts a fiber on this cord. If called in a fiber of this cord, the new one is its child. Like all of them it runs
    /// while [`block_on`](Self::block_on) does; to wait for it on this thread, use `cord.block_on(handle)`.
    #[track_caller]
    pub fn spawn_local<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + 'static,
        F::Output: 'static,
    {
        // SAFETY: this is the cord's thread, which a `Cord` never leaves.
        unsafe { Builder::new().spawn_local_on(&self.home, Location::caller(), future) }
    }

    /// Starts a thread with its own cord, which calls `start` there and runs the returned future as the cord's first fiber.
    /// When that ends, the cord ends and drops its other fibers. Cancelling the handle cancels that fiber; dropping the
    /// handle detaches it. It is nobody's child: where a fiber starts a cord that is to end with it,
    /// [`cancel_on_drop`](crate::fiber::JoinHandle::cancel_on_drop) does that. Thread and fiber are named `name`.
    ///
    /// ```
    /// use leno::fiber::Cord;
    /// use std::rc::Rc;
    ///
    /// let cord = Cord::spawn("worker", || {
    ///     let local = Rc::new(20);
    ///     async move { *local + 1 }
    /// })?;
    /// assert_eq!(cord.wait().unwrap(), 21);
    /// # Ok::<(), std::io::Error>(())
    /// ```
    ///
    /// # Errors
    ///
    /// If the thread cannot be started; [`InvalidInput`](io::ErrorKind::InvalidInput) for a name that contains a
    /// zero byte.
    #[track_caller]
    pub fn spawn<C, F>(name: impl Into<String>, start: C) -> io::Result<JoinHandle<F::Output>>
    where
        C: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        Cord::builder().spawn(name, start)
    }
}

impl Default for Cord {
    fn default() -> Self {
        Cord::new()
    }
}

impl Drop for Cord {
    fn drop(&mut self) {
        let mut place = context::Frame::nobody();
        // SAFETY: this is the cord's thread, which a `Cord` never leaves.
        unsafe {
            let _base = context::enter_home(&mut place, &self.home);
            context::look_after(&self.home, || {
                self.with_random(|| {
                    Core::stop(&self.home);
                    Core::end_worker(&self.home, 0, Order::Age);
                });
            });
        }
    }
}

shows! { [] Cord, "Cord", it => fibers: it.home.roster.len() }

/// See [`Cord::builder`].
#[must_use = "a builder does nothing before it builds"]
pub struct CordBuilder {
    settings: Settings,
    seed: Option<u64>,
}

settings::methods!(CordBuilder, "Cord");

impl CordBuilder {
    /// Draws the random numbers of this cord from `seed`: the order in which a `select!` looks at its branches, wherever it is
    /// polled while the cord runs. Without a seed it differs from run to run.
    ///
    /// With a [virtual clock](Clock::virtual_time) as well, a program that heeds nothing from outside (other threads, the
    /// addresses of things, the numbers of fibers, the order of a `HashMap`) runs the same way each time.
    ///
    /// ```
    /// use leno::fiber::Cord;
    ///
    /// let first = |seed| {
    ///     Cord::builder().seed(seed).build().block_on(async {
    ///         let (sender, receiver) = leno::bounded(2);
    ///         leno::select! {
    ///             _ = sender.send("left") => {}
    ///             _ = sender.send("right") => {}
    ///         }
    ///         receiver.recv().await.unwrap()
    ///     })
    /// };
    /// assert_eq!(first(1), first(1));
    /// assert!((2..100).any(|seed| first(seed) != first(1)));
    /// ```
    pub fn seed(mut self, seed: u64) -> Self {
        self.seed = Some(seed);
        self
    }

    /// Makes the cord, on this thread.
    pub fn build(self) -> Cord {
        Cord::new_in(Core::open(None, self.settings), self.seed)
    }

    /// As [`Cord::spawn`], with these settings. (Nobody waits in a `block_on` there, so nobody is told that a
    /// [closed world](Self::closed_world) has come to a stop.)
    ///
    /// # Errors
    ///
    /// As [`Cord::spawn`].
    #[track_caller]
    pub fn spawn<C, F>(self, name: impl Into<String>, start: C) -> io::Result<JoinHandle<F::Output>>
    where
        C: FnOnce() -> F + Send + 'static,
        F: Future + 'static,
        F::Output: Send + 'static,
    {
        let name = name.into();
        check_name(&name)?;
        let (home, seed) = (Core::open(None, self.settings), self.seed);
        let first = async move { start().await };
        let builder = Builder::new().name(name.clone()).root();
        // SAFETY: not the cord's thread yet, but the future can be sent as long as it was never polled: it holds
        // nothing but `start`, which is `Send`. The new thread is the cord's.
        let handle = unsafe { builder.spawn_local_on(&home, Location::caller(), first) };
        let fiber = handle.fiber();
        let thread = home.clone();
        let started = thread::Builder::new().name(name).spawn(move || {
            let cord = Cord::new_in(thread, seed);
            // SAFETY: this is the cord's thread from now on.
            let run = |task| unsafe {
                run::run(task);
                fiber.is_finished().then_some(())
            };
            // SAFETY: as above.
            cord.with_random(|| unsafe { Core::drive(&cord.home, 0, run) });
        });
        match started {
            Ok(_detached) => Ok(handle),
            Err(error) => {
                // There is no thread: this one may stand in, as nothing was polled.
                drop(Cord::new_in(home, None));
                Err(error)
            }
        }
    }
}

shows! { [] CordBuilder, "CordBuilder", it => clock: it.settings.clock, seed: it.seed }

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;
    use crate::fiber::{sleep, spawn_local, yield_now};
    use rand::RngExt as _;
    use std::time::Duration;

    /// F12: also where time is counted from some beginning, that is the same in each run.
    #[test]
    fn a_virtual_clock_begins_with_its_executor() {
        let elapsed = || context::with_home_here(|home| home.expect("in a fiber").seam.elapsed());
        for _ in 0..2 {
            Cord::with_clock(Clock::virtual_time()).block_on(async {
                assert_eq!(elapsed(), Duration::ZERO);
                sleep(Duration::from_micros(999)).await;
                assert_eq!(elapsed(), Duration::from_micros(999));
            });
        }
    }

    /// A random tree that grows, is cut and ends in parts, while the roster stays valid.
    #[test]
    fn the_roster_stays_valid() {
        async fn node(depth: u32) {
            let mut children = Vec::new();
            for _ in 0..rand::rng().random_range(0..6) {
                if depth > 0 {
                    children.push(spawn_local(
                        Box::pin(node(depth - 1)) as std::pin::Pin<Box<dyn Future<Output = ()>>>
                    ));
                }
                yield_now().await;
                match rand::rng().random_range(0..8) {
                    0 => drop(children.pop()),
                    1 => children.last().into_iter().for_each(JoinHandle::cancel),
                    2 => return,
                    _ => {}
                }
            }
        }
        for _ in 0..20 {
            let cord = Cord::new();
            let home = cord.home.clone();
            let roots: Vec<_> = (0..4).map(|_| cord.spawn_local(node(4))).collect();
            cord.block_on(async {
                for _ in 0..40 {
                    home.roster.assert_valid();
                    yield_now().await;
                }
            });
            drop(roots);
            cord.block_on(async {
                while home.roster.len() > 1 {
                    home.roster.assert_valid();
                    yield_now().await;
                }
            });
            home.roster.assert_valid();
        }
    }
}
