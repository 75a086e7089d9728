//! Waiting until all of a number of workers are done. Who waits stands in a [`signal`](super::signal).

use std::fmt;
use std::sync::Arc;

use super::signal::{Hearing, Signal};
use crate::prim::{AtomicUsize, Ordering};
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
    inner: Arc<Inner>,
}

struct Inner {
    count: AtomicUsize,
    signal: Signal,
}

/// One that a [`WaitGroup`] waits for, until this is dropped.
pub struct Worker {
    inner: Arc<Inner>,
}

impl WaitGroup {
    /// A group without workers.
    pub fn new() -> WaitGroup {
        WaitGroup { inner: Arc::new(Inner { count: AtomicUsize::new(0), signal: Signal::new() }) }
    }

    /// One more worker.
    pub fn worker(&self) -> Worker {
        self.add(1);
        Worker { inner: Arc::clone(&self.inner) }
    }

    /// So many more workers, each of which says by [`done`](Self::done) that it is.
    pub fn add(&self, n: usize) {
        self.inner.add(n);
    }

    /// One that was [added](Self::add) is done.
    ///
    /// # Panics
    /// If there is none.
    pub fn done(&self) {
        self.inner.done();
    }

    /// How many are at work.
    pub fn count(&self) -> usize {
        self.inner.count.load(Ordering::Acquire)
    }

    /// Waits until nobody is at work; is ready at once if nobody is. It is enough that there is a moment at which nobody is,
    /// from here on: workers that come later are waited for by those who begin to wait later.
    ///
    /// Cancelling: a dropped future has done nothing.
    #[track_caller]
    pub fn wait_all(&self) -> WaitAll<'_> {
        // SAFETY: the future borrows the group, which keeps both.
        let hearing = unsafe { Hearing::of_count(&raw const self.inner.signal, &raw const self.inner.count) };
        WaitAll { _group: self, operation: Operation::new(hearing) }
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.inner.signal.assert_valid();
    }
}

impl Inner {
    fn add(&self, n: usize) {
        // ORDERING: Relaxed: who adds is waited for by those who know of it otherwise.
        let before = self.count.fetch_add(n, Ordering::Relaxed);
        assert!(before.checked_add(n).is_some(), "too many workers");
    }

    fn done(&self) {
        // ORDERING: Release pairs with the look at zero; Acquire: the last one hands on what the others did.
        let before = self.count.fetch_sub(1, Ordering::AcqRel);
        if before == 0 {
            self.count.fetch_add(1, Ordering::Relaxed);
            panic!("more workers are done than there were");
        }
        if before == 1 {
            self.signal.tell_all();
        }
    }
}

impl Clone for Worker {
    fn clone(&self) -> Self {
        self.inner.add(1);
        Worker { inner: Arc::clone(&self.inner) }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.inner.done();
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

/// Leaves the line. The borrow has to last until then, which a drop of its own says.
impl Drop for WaitAll<'_> {
    fn drop(&mut self) {}
}

future! { ['a] WaitAll<'a>, "WaitAll", "wait_all"; Hearing => (), |_, _told| (); or Elapsed }
