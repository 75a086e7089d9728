//! One value, the latest: a configuration, a state that others follow.
//!
//! A receiver learns that the value has changed, and sees the current one; values in between may be skipped. There is
//! always a value, from the start. Prefer it to a [`broadcast`](super::broadcast) if only the latest value counts: it
//! stores one value, nobody lags, and sending never waits for a receiver to catch up.
//!
//! ```
//! use leno::channel::watch;
//!
//! # leno::block_on(async {
//! let (tx, mut rx) = watch::channel("starting");
//! let follower = leno::spawn(async move {
//!     let mut seen = vec![*rx.borrow_and_update()];
//!     while rx.changed().await.is_ok() {
//!         seen.push(*rx.borrow_and_update());
//!     }
//!     seen
//! });
//! leno::yield_now().await;
//! tx.send("running").unwrap();
//! drop(tx);
//! assert_eq!(follower.await.unwrap().last(), Some(&"running"), "the last value is always seen");
//! # });
//! ```
//!
//! # Looking
//!
//! The value stays in the channel and is read in place: [`borrow`](Receiver::borrow) gives a [`Ref`], a read lock that
//! blocks the threads of senders. So be brief: copy or clone what you need, and do not hold a `Ref` across an `.await` (it
//! is not `Send`, so fibers of a runtime cannot). A thread that holds a `Ref` and sends to the same channel deadlocks;
//! taking a second `Ref` is fine. A sender waits until nobody holds a `Ref`, and keeps no new ones back: threads that look without
//! a gap between them keep it waiting.
//!
//! When a [`wait_for`](Receiver::wait_for) completes in a select, or in a [`race`](crate::fiber::race), it already holds its `Ref`
//! while wakers of others are called, and while the losers are dropped, with what they were to send: none of these may send to this
//! channel. (Nor may the handler of a branch that leaves it in the pattern: `_ = rx.wait_for(..)`.) In a `join!` it holds its `Ref`
//! until all others are ready. Where that is a hazard, let it go at once: `async { rx.wait_for(f).await.map(drop) }`.
//!
//! Each receiver keeps track of what it has *seen*: at first the value at the time it was made, later what
//! [`changed`](Receiver::changed), [`borrow_and_update`](Receiver::borrow_and_update) and [`wait_for`](Receiver::wait_for)
//! have found.
//!
//! # As a stream
//!
//! A stream made from a watch yields clones of the value: one each time it is asked and finds the value changed.
//!
//! ```
//! use futures_lite::{Stream, StreamExt, stream};
//! use leno::channel::watch;
//!
//! fn changes<T: Clone>(rx: watch::Receiver<T>) -> impl Stream<Item = T> {
//!     stream::unfold(rx, async |mut rx| {
//!         rx.changed().await.ok()?;
//!         let value = rx.borrow_and_update().clone();
//!         Some((value, rx))
//!     })
//! }
//!
//! # leno::block_on(async {
//! let (tx, mut rx) = watch::channel("starting");
//! rx.mark_changed(); // Begin with the current value.
//! let mut changes = Box::pin(changes(rx));
//! assert_eq!(changes.next().await, Some("starting"));
//! tx.send("running").unwrap();
//! drop(tx);
//! assert_eq!(changes.collect::<Vec<_>>().await, ["running"]);
//! # });
//! ```

mod lock;
mod shared;

use std::fmt;
use std::marker::PhantomData;
use std::ops::Deref;

pub use super::{RecvError, SendError};

use self::lock::Read;
use self::shared::{Change, Gone, Shared, Wanted};
use super::bell::{Listen, sender};
use crate::prim::Arc;
use crate::task::shows;
use crate::wait::{Foreign, Operation, future};

/// A channel that holds `value`, which counts as seen.
///
/// ```
/// let (tx, mut rx) = leno::channel::watch::channel(1);
/// assert_eq!(rx.has_changed(), Ok(false));
/// tx.send(2).unwrap();
/// assert_eq!(rx.has_changed(), Ok(true));
/// assert_eq!(*rx.borrow_and_update(), 2);
/// ```
pub fn channel<T>(value: T) -> (Sender<T>, Receiver<T>) {
    let shared = Arc::new(Shared::new(value));
    let seen = shared.version();
    (Sender { shared: Arc::clone(&shared) }, Receiver { shared, seen })
}

/// Changes the value. Clones can, too; dropping the last one closes the channel. Made by [`channel`].
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// Sees the value. A clone starts with what the original has seen and is then independent of it. Made by [`channel`] and
/// [`Sender::subscribe`].
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that it has seen.
    seen: u64,
}

/// Read access to the value, which cannot change meanwhile. See [the module](self#looking).
pub struct Ref<'a, T> {
    value: Read<'a, T>,
    changed: bool,
    /// Kept over an `.await` it would block whole threads.
    _local: PhantomData<*const ()>,
}

// SAFETY: a shared one gives `&T`, and says how old it is.
unsafe impl<T: Send + Sync> Sync for Ref<'_, T> {}

impl<'a, T> Ref<'a, T> {
    fn new(value: Read<'a, T>, changed: bool) -> Self {
        Ref { value, changed, _local: PhantomData }
    }

    /// Whether the receiver had not seen this value before. False for a sender.
    pub fn has_changed(&self) -> bool {
        self.changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.value
    }
}

impl<T: fmt::Debug> fmt::Debug for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T: fmt::Display> fmt::Display for Ref<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        (**self).fmt(f)
    }
}

impl<T> Sender<T> {
    /// Replaces the value and notifies all receivers. Never suspends, but blocks the thread while somebody holds a [`Ref`].
    ///
    /// # Errors
    /// There is no receiver; the value comes back, and the one before stays. See [`send_replace`](Self::send_replace).
    pub fn send(&self, value: T) -> Result<(), SendError<T>> {
        if self.is_closed() {
            return Err(SendError(value));
        }
        drop(Foreign(Some(self.send_replace(value))));
        Ok(())
    }

    /// As [`send`](Self::send), whether or not there is a receiver; returns the previous value.
    pub fn send_replace(&self, value: T) -> T {
        let mut value = Foreign(Some(value));
        let there = "only a panic drops it";
        self.send_modify(|current| std::mem::swap(current, value.0.as_mut().expect(there)));
        value.0.take().expect(there)
    }

    /// Changes the value in place and notifies all receivers. `modify` has exclusive access: everyone who wants to read or change
    /// the value waits for it, and it must not use this channel. If it panics nobody is notified, and the value stays as it left
    /// it.
    ///
    /// ```
    /// let (tx, rx) = leno::channel::watch::channel(vec![1]);
    /// tx.send_modify(|rows| rows.push(2));
    /// assert_eq!(*rx.borrow(), [1, 2]);
    /// ```
    pub fn send_modify(&self, modify: impl FnOnce(&mut T)) {
        self.shared.change(|value| {
            modify(value);
            true
        });
    }

    /// As [`send_modify`](Self::send_modify), but notifies receivers only if `modify` returns true. Returns what it returned.
    ///
    /// ```
    /// let (tx, rx) = leno::channel::watch::channel(10);
    /// let raise = |level: u32| tx.send_if_modified(|value| {
    ///     let higher = level > *value;
    ///     *value = level.max(*value);
    ///     higher
    /// });
    /// assert!(!raise(5));
    /// assert_eq!(rx.has_changed(), Ok(false));
    /// assert!(raise(15));
    /// ```
    pub fn send_if_modified(&self, modify: impl FnOnce(&mut T) -> bool) -> bool {
        self.shared.change(modify)
    }

    /// Read access to the value. See [the module](self#looking).
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref::new(self.shared.read().0, false)
    }

    /// Another receiver, which has seen the current value.
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.add_receiver();
        Receiver { shared: Arc::clone(&self.shared), seen: self.shared.version() }
    }
}

impl<T> Receiver<T> {
    /// Read access to the value, without marking it as seen. See [the module](self#looking).
    pub fn borrow(&self) -> Ref<'_, T> {
        let (value, version) = self.shared.read();
        Ref::new(value, version != self.seen)
    }

    /// Read access to the value, which is marked as seen: [`changed`](Self::changed) then waits for a later one.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let (value, version) = self.shared.read();
        let seen = std::mem::replace(&mut self.seen, version);
        Ref::new(value, version != seen)
    }

    /// Whether all senders were dropped: the value stays as it is.
    pub fn is_closed(&self) -> bool {
        self.shared.is_closed()
    }

    /// Whether there is a value that this receiver has not seen.
    ///
    /// # Errors
    /// The value was seen, and the last sender was dropped: there will be no other.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.shared.has_changed(self.seen)
    }

    /// Waits for a value that this receiver has not seen and marks it as seen; read it with
    /// [`borrow_and_update`](Self::borrow_and_update).
    ///
    /// Cancellation-safe: dropping the future marks nothing as seen.
    ///
    /// # Errors
    /// The value was seen, and the last sender was dropped: there will be no other.
    #[track_caller]
    pub fn changed(&mut self) -> Changed<'_, T> {
        let change = Change { shared: &self.shared, before: self.seen, seen: &mut self.seen };
        Changed { operation: Operation::new(Listen(change)) }
    }

    /// Waits for a value for which `is_wanted` returns true, starting with the current one, seen or not; returns read access to
    /// it, and marks it as seen. `is_wanted` is called for each value found (once, unless a select gives one back), while nobody
    /// can change it: it must not use this channel. If it panics, the panic propagates.
    ///
    /// Cancellation-safe: dropping the future marks nothing as seen. If it has won in a [`Select`](crate::select::Select), it
    /// holds its `Ref`, and thereby blocks the senders, until its outcome is taken or the set is dropped.
    ///
    /// ```
    /// let (tx, mut rx) = leno::channel::watch::channel(0);
    /// leno::block_on(async {
    ///     let counter = leno::spawn(async move { (1..=10).for_each(|n| tx.send(n).unwrap()) });
    ///     assert!(*rx.wait_for(|n| *n > 3).await.unwrap() > 3);
    ///     counter.await.unwrap();
    ///     assert!(rx.wait_for(|n| *n > 10).await.is_err());
    /// });
    /// ```
    ///
    /// # Errors
    /// The last sender was dropped, and the last value is not wanted.
    #[track_caller]
    pub fn wait_for<F: FnMut(&T) -> bool>(&mut self, is_wanted: F) -> WaitFor<'_, T, F> {
        let wanted =
            Wanted { shared: &self.shared, seen: &mut self.seen, before: 0, refused: None, is_wanted };
        WaitFor { operation: Operation::new(Listen(wanted)) }
    }

    /// Marks the value as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.version().wrapping_sub(2);
    }

    /// Marks the value as seen.
    pub fn mark_unchanged(&mut self) {
        self.seen = self.shared.version();
    }
}

sender!();

/// The sender of a channel with the default value.
impl<T: Default> Default for Sender<T> {
    fn default() -> Self {
        channel(T::default()).0
    }
}

impl<T> Clone for Receiver<T> {
    fn clone(&self) -> Self {
        self.shared.add_receiver();
        Receiver { shared: Arc::clone(&self.shared), seen: self.seen }
    }
}

impl<T> Drop for Receiver<T> {
    fn drop(&mut self) {
        self.shared.drop_receiver();
    }
}

/// Waits for a value that was not seen. Made by [`Receiver::changed`].
#[must_use = "futures do nothing unless polled"]
pub struct Changed<'a, T> {
    operation: Operation<Listen<Change<'a, T>>>,
}

future! {
    ['a, T] Changed<'a, T>, "Changed", "changed";
    Listen<Change<'a, T>> => Result<(), RecvError>, |_, changed| changed, back |_, changed| Some(changed); or Elapsed
}

/// Waits for a value that satisfies a condition. Made by [`Receiver::wait_for`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitFor<'a, T, F: FnMut(&T) -> bool> {
    operation: Operation<Listen<Wanted<'a, T, F>>>,
}

future! {
    ['a, T, F: FnMut(&T) -> bool] WaitFor<'a, T, F>, "WaitFor", "wait_for";
    Listen<Wanted<'a, T, F>> => Result<Ref<'a, T>, RecvError>, |_, found| ref_of(found),
        back |_, found: Result<Ref<'a, T>, RecvError>| Some(found.map(|found| (found.value, found.changed))); or Elapsed
}

fn ref_of<T>(found: Result<(Read<'_, T>, bool), RecvError>) -> Result<Ref<'_, T>, RecvError> {
    found.map(|(value, changed)| Ref::new(value, changed))
}

shows! { [T] Receiver<T>, "Receiver", it => changed: it.has_changed() }
