//! What a runtime's or a cord's builder sets: the executor's clock, and who is told what of its fibers.

use std::any::Any;
use std::time::Duration;

use crate::fiber::fiber_ref::FiberRef;
use crate::task::error::discard;
use crate::task::header::Task;
use crate::task::home::{Home, Watching};
use crate::time::Clock;

/// See the module.
pub(crate) struct Settings {
    pub(crate) clock: Clock,
    pub(crate) hooks: Hooks,
    pub(crate) inspect: bool,
    /// Longer polls are told.
    pub(crate) limit: Option<Duration>,
    /// In a closed world: what tells that its fibers wait for each other.
    pub(crate) report: Option<Report>,
    /// Of a runtime: that of its threads.
    pub(crate) stack_size: Option<usize>,
}

/// What the user wants to be told of.
#[derive(Default)]
pub(crate) struct Hooks {
    /// Panics that nobody joins.
    pub(crate) panic: Option<PanicHook>,
    pub(crate) spawn: Option<FiberHook>,
    pub(crate) stop: Option<FiberHook>,
    /// Polls that are too long.
    pub(crate) slow_poll: Option<SlowPollHook>,
}

/// Each may own something whose drop panics; such a panic ends here.
impl Drop for Hooks {
    fn drop(&mut self) {
        discard(self.panic.take());
        discard(self.spawn.take());
        discard(self.stop.take());
        discard(self.slow_poll.take());
    }
}

type PanicHook = Box<dyn Fn(&FiberRef, &(dyn Any + Send)) + Send + Sync>;
type FiberHook = Box<dyn Fn(&FiberRef) + Send + Sync>;
type SlowPollHook = Box<dyn Fn(&FiberRef, Duration) + Send + Sync>;

/// Tells what the fibers of an executor wait for, when none is left to wake another; given the one that tells.
pub(crate) type Report = fn(&Home, &Task) -> String;

impl Settings {
    pub(crate) fn watching(&self) -> Watching {
        Watching { inspected: self.inspect || self.report.is_some(), limit: self.limit }
    }
}

/// In builds with debug assertions everything shows; in others it is to be asked for.
impl Default for Settings {
    fn default() -> Self {
        Settings {
            clock: Clock::real(),
            hooks: Hooks::default(),
            inspect: cfg!(debug_assertions),
            limit: None,
            report: None,
            stack_size: None,
        }
    }
}

/// The methods of a builder that has `settings`.
macro_rules! methods {
    ($builder:ty, $executor:literal) => {
        impl $builder {
            /// The clock of its fibers; real time if not set.
            pub fn clock(mut self, clock: $crate::time::Clock) -> Self {
                self.settings.clock = clock;
                self
            }

            /// Sets a hook that is called when a fiber panics and nobody joins it, with the fiber and the panic's payload,
            /// on the thread that detects it. By default the fiber's id, name and spawn location and the message go to
            /// stderr. A panic of the hook is swallowed.
            pub fn on_panic(
                mut self,
                hook: impl Fn(&$crate::fiber::FiberRef, &(dyn std::any::Any + Send)) + Send + Sync + 'static,
            ) -> Self {
                self.settings.hooks.panic = Some(Box::new(hook));
                self
            }

            /// Sets a hook that is called with each fiber started here, before its first poll, on the thread that starts
            /// it. The future of a `block_on` is a fiber as well. A panic of the hook is swallowed.
            pub fn on_spawn(
                mut self,
                hook: impl Fn(&$crate::fiber::FiberRef) + Send + Sync + 'static,
            ) -> Self {
                self.settings.hooks.spawn = Some(Box::new(hook));
                self
            }

            /// Sets a hook that is called with each fiber that ends, by itself or cancelled: after its future was dropped
            /// and before its joiner resumes, on the thread that ends it. A panic of the hook is swallowed.
            pub fn on_stop(
                mut self,
                hook: impl Fn(&$crate::fiber::FiberRef) + Send + Sync + 'static,
            ) -> Self {
                self.settings.hooks.stop = Some(Box::new(hook));
                self
            }

            #[doc = concat!(
                "Whether to record what its fibers do for [`", $executor, "::dump`](crate::fiber::", $executor, "::dump): how ",
                "often they were polled, since when they wait, and for what."
            )]
            ///
            /// On by default in builds with debug assertions, off in others. It costs a clock reading before and after each
            /// poll, and a record for each operation left pending.
            pub fn inspect(mut self, inspect: bool) -> Self {
                self.settings.inspect = inspect;
                self
            }

            /// Calls `hook` after each poll that took longer than `limit` of real time, with the fiber and the duration, on
            /// the thread that polled it.
            ///
            /// While a fiber computes or blocks, others have to wait. [`Builder::slice_limit`] sets a different limit for one
            /// fiber. Polls are timed only if this, `inspect` or such a limit is set, or a
            /// subscriber of `tracing` is shown the fiber. A panic of the hook is swallowed.
            ///
            /// [`Builder::slice_limit`]: crate::fiber::Builder::slice_limit
            ///
            /// ```
            /// use std::time::Duration;
            #[doc = concat!("use leno::fiber::", $executor, ";")]
            ///
            #[doc = concat!("let builder = ", $executor, "::builder()")]
            ///     .on_slow_poll(Duration::from_millis(10), |fiber, took| eprintln!("{fiber} was polled for {took:?}"));
            /// # drop(builder);
            /// ```
            pub fn on_slow_poll(
                mut self,
                limit: std::time::Duration,
                hook: impl Fn(&$crate::fiber::FiberRef, std::time::Duration) + Send + Sync + 'static,
            ) -> Self {
                self.settings.limit = Some(limit);
                self.settings.hooks.slow_poll = Some(Box::new(hook));
                self
            }

            /// What reports that in a closed world all wait for each other; `None`: it isn't closed.
            pub(crate) fn report(mut self, report: Option<$crate::fiber::settings::Report>) -> Self {
                self.settings.report = report;
                self
            }
        }
    };
}
pub(super) use methods;
