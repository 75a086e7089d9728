//! Waiting until all of a number of workers are done. Who waits stands in a [`signal`](super::signal).

use std::sync::Arc;

use super::signal::{Hearing, Signal, What};
use crate::prim::thread;
use crate::task::shows;
use crate::wait::{Operation, future};

/// Waits until all workers are done.
///
/// Each [`worker`](Self::worker) counts until it is dropped, on any thread, even by a panic or a cancellation. Clones of the
/// group are the same group; clones of a worker count separately.
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
#[derive(Clone, Default)]
pub struct WaitGroup {
    signal: Arc<Signal>,
}

/// A worker that a [`WaitGroup`] waits for until it is dropped.
pub struct Worker {
    group: WaitGroup,
}

impl WaitGroup {
    /// A group without workers.
    pub fn new() -> WaitGroup {
        WaitGroup::default()
    }

    /// Adds a worker.
    ///
    /// # Panics
    /// If there are 2³² − 1 already.
    #[must_use = "a worker that is dropped has finished"]
    #[track_caller]
    pub fn worker(&self) -> Worker {
        self.add(1);
        Worker { group: self.clone() }
    }

    /// Adds `n` workers, each of which is finished by a call of [`done`](Self::done).
    ///
    /// # Panics
    /// If there would be more than 2³² − 1; then none is added.
    #[track_caller]
    pub fn add(&self, n: usize) {
        assert!(self.signal.add(n), "a wait group can have at most `u32::MAX` workers");
    }

    /// Marks one [added](Self::add) worker as done.
    ///
    /// # Panics
    /// If there are no workers. A [`Worker`] counts, too: if `done` has counted down one of these, the drop of the last of them
    /// panics (unless its thread is already panicking).
    #[track_caller]
    pub fn done(&self) {
        assert!(self.signal.done(), "{TOO_MANY}");
    }

    /// How many workers are not done yet.
    pub fn count(&self) -> usize {
        self.signal.count()
    }

    /// Waits until all workers are done; ready at once if there are none when it is first polled. It is enough that the count
    /// has reached zero since this call: workers added after that concern later waits only.
    ///
    /// Cancelling: dropping the future has no effect.
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
    "more workers are done than there were: call `done` once for each worker added by `add`";

impl Clone for Worker {
    fn clone(&self) -> Self {
        self.group.worker()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let was_counted = self.group.signal.done();
        assert!(was_counted || thread::panicking(), "{TOO_MANY}");
    }
}

shows! { [] WaitGroup, "WaitGroup", it => count: it.count() }

shows! { [] Worker, "Worker" }

/// Waits until all workers of a [`WaitGroup`] are done. Made by [`WaitGroup::wait_all`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitAll<'a> {
    _group: &'a WaitGroup,
    operation: Operation<Hearing>,
}

future! { ['a] WaitAll<'a>, "WaitAll", "wait_all"; Hearing => (), |_, _told| (); or Elapsed }
