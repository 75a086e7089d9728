//! Threads of loom, or of shuttle.

#[cfg(leno_loom)]
use loom::thread;
#[cfg(leno_shuttle)]
use shuttle::thread;

pub(crate) use thread::{JoinHandle, ThreadId, current, yield_now};

/// A thread that calls `f`; in a box, so that what spawns is compiled once for each result, not for each call.
pub(crate) fn spawn<T: Send + 'static>(f: impl FnOnce() -> T + Send + 'static) -> JoinHandle<T> {
    let f: Box<dyn FnOnce() -> T + Send> = Box::new(f);
    thread::spawn(f)
}
