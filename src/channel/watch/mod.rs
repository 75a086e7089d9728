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
//! taking a second `Ref` is fine. (When a [`wait_for`](Receiver::wait_for) completes in a select, it already holds its
//! `Ref` while wakers of others are called: none of them may send to this channel.)
//!
//! What was *seen* is each receiver's own affair: the value of its making is, and what
//! [`changed`](Receiver::changed), [`borrow_and_update`](Receiver::borrow_and_update) and [`wait_for`](Receiver::wait_for)
//! have found.
//!
//! # As a stream
//!
//! A stream of a watch has clones of the value in it: of each that it finds changed when it is asked for the next one.
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
//! rx.mark_changed(); // Begin with the value of now.
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

use self::shared::{Change, Gone, Held, Shared, Wanted};
use super::bell::{Listen, sender};
use crate::prim::Arc;
use crate::wait::{Operation, future};

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

/// Changes the value. A clone does so as well; the last one that goes closes the channel. Made by [`channel`].
pub struct Sender<T> {
    shared: Arc<Shared<T>>,
}

/// Sees the value. A clone has seen what the original has, and goes its own way then. Made by [`channel`] and
/// [`Sender::subscribe`].
pub struct Receiver<T> {
    shared: Arc<Shared<T>>,
    /// The version that it has seen.
    seen: u64,
}

/// A look at the value, which nobody changes meanwhile. See [the module](self#looking).
pub struct Ref<'a, T> {
    held: Held<'a, T>,
    changed: bool,
    /// Kept over an `.await` it would block whole threads.
    _local: PhantomData<*const ()>,
}

// SAFETY: a shared one gives `&T`, and says how old it is.
unsafe impl<T: Send + Sync> Sync for Ref<'_, T> {}

impl<'a, T> Ref<'a, T> {
    fn new(held: Held<'a, T>, seen: u64) -> Self {
        let changed = held.version() != seen;
        Ref { held, changed, _local: PhantomData }
    }

    /// Whether the receiver had not seen this value before. False for a sender.
    pub fn has_changed(&self) -> bool {
        self.changed
    }
}

impl<T> Deref for Ref<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.held.get()
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
        self.send_replace(value);
        Ok(())
    }

    /// As [`send`](Self::send), whether or not there is a receiver; gives the value before.
    pub fn send_replace(&self, mut value: T) -> T {
        self.send_modify(|current| std::mem::swap(current, &mut value));
        value
    }

    /// Changes the value in its place, and tells all receivers. `modify` has the value for itself: those who want to look or
    /// to change it wait for it, and it must not use this channel. If it panics nobody is told, and the value is as it left
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

    /// As [`send_modify`](Self::send_modify); receivers are told only if `modify` says so. Gives what it has said.
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

    /// Looks at the value. See [the module](self#looking).
    pub fn borrow(&self) -> Ref<'_, T> {
        let held = Held::new(&self.shared);
        let seen = held.version();
        Ref::new(held, seen)
    }

    /// Another receiver, which has seen the value of now.
    pub fn subscribe(&self) -> Receiver<T> {
        self.shared.add_receiver();
        Receiver { shared: Arc::clone(&self.shared), seen: self.shared.version() }
    }
}

impl<T> Receiver<T> {
    /// Looks at the value; it counts as seen no more than before. See [the module](self#looking).
    pub fn borrow(&self) -> Ref<'_, T> {
        Ref::new(Held::new(&self.shared), self.seen)
    }

    /// Looks at the value, which is seen then: [`changed`](Self::changed) waits for a later one.
    pub fn borrow_and_update(&mut self) -> Ref<'_, T> {
        let held = Held::new(&self.shared);
        let seen = std::mem::replace(&mut self.seen, held.version());
        Ref::new(held, seen)
    }

    /// Whether there is a value that was not seen.
    ///
    /// # Errors
    /// The value was seen, and the last sender is gone: there will be no other.
    pub fn has_changed(&self) -> Result<bool, RecvError> {
        self.shared.has_changed(self.seen)
    }

    /// Waits for a value that was not seen, which is seen then; look at it with [`borrow_and_update`](Self::borrow_and_update).
    ///
    /// Cancelling: dropping the future sees nothing.
    ///
    /// # Errors
    /// The value was seen, and the last sender is gone: there will be no other.
    #[track_caller]
    pub fn changed(&mut self) -> Changed<'_, T> {
        let change = Change { shared: &self.shared, before: self.seen, seen: &mut self.seen };
        Changed { operation: Operation::new(Listen(change)) }
    }

    /// Waits for a value of which `is_wanted` says true, beginning with the one of now, seen or not; gives a look at it. It is
    /// seen then. `is_wanted` is called for the values that are found, once for each, while nobody can change them: it must
    /// not use this channel. If it panics the panic goes through.
    ///
    /// Cancelling: dropping the future sees nothing. In a [`Select`](crate::select::Select) that it has won it keeps that look, and
    /// holds the senders back, until its outcome is taken or the set is dropped.
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
    /// The last sender is gone, and the last value is none of these.
    #[track_caller]
    pub fn wait_for<F: FnMut(&T) -> bool>(&mut self, is_wanted: F) -> WaitFor<'_, T, F> {
        let wanted = Wanted { shared: &self.shared, seen: &mut self.seen, refused: None, is_wanted };
        WaitFor { operation: Operation::new(Listen(wanted)) }
    }

    /// Makes the value count as not seen.
    pub fn mark_changed(&mut self) {
        self.seen = self.shared.version().wrapping_sub(2);
    }

    /// Makes the value count as seen.
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
    Listen<Change<'a, T>> => Result<(), RecvError>, |_, changed| changed; or Elapsed
}

/// Waits for a value of which something is true. Made by [`Receiver::wait_for`].
#[must_use = "futures do nothing unless polled"]
pub struct WaitFor<'a, T, F: FnMut(&T) -> bool> {
    operation: Operation<Listen<Wanted<'a, T, F>>>,
}

future! {
    ['a, T, F: FnMut(&T) -> bool] WaitFor<'a, T, F>, "WaitFor", "wait_for";
    Listen<Wanted<'a, T, F>> => Result<Ref<'a, T>, RecvError>, |_, found| ref_of(found); or Elapsed
}

fn ref_of<T>(found: Result<(Held<'_, T>, u64), RecvError>) -> Result<Ref<'_, T>, RecvError> {
    found.map(|(held, seen)| Ref::new(held, seen))
}

impl<T> fmt::Debug for Receiver<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Receiver").field("changed", &self.has_changed()).finish_non_exhaustive()
    }
}
