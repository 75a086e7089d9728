//! References to a runtime, for whoever starts fibers there and does not own it.

use std::future::Future;
use std::panic::Location;

use crate::fiber::join::JoinHandle;
use crate::fiber::runtime::default_home;
use crate::fiber::spawn::Builder;
use crate::task::context;
use crate::task::home::HomeRef;
use crate::task::shows;

/// Starts fibers on a [`Runtime`](crate::fiber::Runtime), from anywhere: plain threads, other executors, callbacks.
///
/// Obtained from [`Runtime::handle`](crate::fiber::Runtime::handle) or, in one of its fibers, from [`current`](Self::current);
/// `Handle::default()` is that of leno's default runtime, for the fibers of a cord that have work for other threads.
/// It does not keep the runtime running: once the runtime has ended, fibers started here are cancelled at once.
///
/// ```
/// use leno::fiber::{Handle, Runtime};
///
/// let runtime = Runtime::builder().workers(1).name("io").build()?;
/// let handle = runtime.handle().clone();
/// let thread = std::thread::spawn(move || handle.spawn(async { 6 * 7 }).wait());
/// assert_eq!(thread.join().unwrap().unwrap(), 42);
///
/// let handle = runtime.block_on(async { Handle::current() }).unwrap();
/// drop(runtime);
/// assert!(handle.spawn(async {}).wait().unwrap_err().is_cancelled());
/// # Ok::<(), std::io::Error>(())
/// ```
#[derive(Clone)]
pub struct Handle {
    home: HomeRef,
}

crate::task::unwinds! { [] Handle }

impl Handle {
    pub(super) fn new(home: HomeRef) -> Handle {
        Handle { home }
    }

    pub(crate) fn home(&self) -> &HomeRef {
        &self.home
    }

    /// The runtime that the caller runs on: that of its fiber or `block_on`. `None` elsewhere, and on a cord.
    pub fn current() -> Option<Handle> {
        context::home().filter(|home| !home.local).map(Handle::new)
    }

    /// Starts a fiber on that runtime, as [`spawn`](crate::spawn) does on the caller's; if called in a fiber of that runtime, the
    /// new one is its child. [`Builder::spawn_on`] starts one with a name, [`on`](Self::on) also waits for it.
    #[track_caller]
    pub fn spawn<F>(&self, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        Builder::new().spawn_on(self, future)
    }
}

shows! { [] Handle, "Handle", it => fibers: it.home.roster.len() }

/// That of leno's default runtime, which it starts if there is none yet.
impl Default for Handle {
    fn default() -> Self {
        Handle::new(default_home())
    }
}

/// The same runtime.
impl PartialEq for Handle {
    fn eq(&self, other: &Handle) -> bool {
        self.home.is(&other.home)
    }
}

impl Eq for Handle {}

impl Builder {
    /// Starts it on that runtime, from anywhere: see [`Handle::spawn`].
    #[track_caller]
    pub fn spawn_on<F>(self, runtime: &Handle, future: F) -> JoinHandle<F::Output>
    where
        F: Future + Send + 'static,
        F::Output: Send + 'static,
    {
        self.start_on(runtime.home(), Location::caller(), future)
    }
}
