//! Waiting until all of a number of workers are done. Who waits stands in a [`signal`](super::signal).

use std::fmt;
use std::sync::Arc;

use super::signal::{Hearing, Signal, What};
use crate::prim::thread;
use crate::wait::{Operation, future};

/// Waits until all workers are done.
///
/// Each [`worker`](Self::worker) counts until it is dropped, on whichever thread, also by a panic or a cancel. Clones of
/// the group are the same group; those of a worker count for themselves.
///
/// ```
/// use leno::sync::WaitGroup;
///
/// # leno::block_on(async {
/// let group = WaitGroup::new();
/// for _ in 0..3 {
///     let worker = group.worker();
///     leno::spawn(async move {
///         // … works …
///         drop(worker);
///     });
/// }
/// group.wait_all().await;
/// assert_eq!(group.count(), 0);
/// # });
/// ```
#[derive(Clone)]
pub struct WaitGroup {
    signal: Arc<Signal>,
}

/// One that a [`WaitGroup`] waits for, until this is dropped.
pub struct Worker {
    signal: Arc<Signal>,
}

impl WaitGroup {
    /// A group without workers.
    pub fn new() -> WaitGroup {
        WaitGroup { signal: Arc::new(Signal::new()) }
    }

    /// One more worker.
    ///
    /// # Panics
    /// If there are 2³² − 1 already.
    #[track_caller]
    pub fn worker(&self) -> Worker {
        Worker::new(&self.signal)
    }

    /// So many more workers, each of which says by [`done`](Self::done) that it is.
    ///
    /// # Panics
    /// If there would be more than 2³² − 1; none is added then.
    #[track_caller]
    pub fn add(&self, n: usize) {
        add(&self.signal, n);
    }

    /// One that was [added](Self::add) is done.
    ///
    /// # Panics
    /// If nobody is at work. A [`Worker`] counts, too: if one of these was counted down instead, the drop of the last of them
    /// panics (unless the thread does so already).
    #[track_caller]
    pub fn done(&self) {
        assert!(self.signal.done(), "{TOO_MANY}");
    }

    /// How many are at work.
    pub fn count(&self) -> usize {
        self.signal.count()
    }

    /// Waits until nobody is at work; is ready at once if nobody is when it is first polled. It is enough that the last one was
    /// done at some moment after this call: workers that come later are waited for by those who begin to wait later.
    ///
    /// Cancelling: a dropped future has done nothing.
    #[track_caller]
    pub fn wait_all(&self) -> WaitAll<'_> {
        // SAFETY: the future borrows the group, which keeps it.
        let hearing = unsafe { Hearing::new(&raw const *self.signal, What::Group) };
        WaitAll { _group: self, operation: Operation::new(hearing) }
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.signal.assert_valid();
    }
}

const TOO_MANY: &str =
    "more workers are done than there were: `done` is for those that were added by `add`, once each";

#[track_caller]
fn add(signal: &Signal, n: usize) {
    assert!(signal.add(n), "a wait group has `u32::MAX` workers at most");
}

impl Worker {
    #[track_caller]
    fn new(signal: &Arc<Signal>) -> Worker {
        add(signal, 1);
        Worker { signal: Arc::clone(signal) }
    }
}

impl Clone for Worker {
    fn clone(&self) -> Self {
        Worker::new(&self.signal)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let was_counted = self.signal.done();
        assert!(was_counted || thread::panicking(), "{TOO_MANY}");
    }
}

impl Default for WaitGroup {
    fn default() -> Self {
        WaitGroup::new()
    }
}

impl fmt::Debug for WaitGroup {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("WaitGroup").field("count", &self.count()).finish_non_exhaustive()
    }
}

impl fmt::Debug for Worker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Worker").finish_non_exhaustive()
    }
}

/// Waits until nobody of a [`WaitGroup`] is at work. Made by [`WaitGroup::wait_all`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitAll<'a> {
    _group: &'a WaitGroup,
    operation: Operation<Hearing>,
}

future! { ['a] WaitAll<'a>, "WaitAll", "wait_all"; Hearing => (), |_, _told| (); or Elapsed }
