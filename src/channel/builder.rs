//! Channels that are put together: their capacity, what happens when it is used up, who gets what nobody receives, a name.

use std::fmt;

use super::handle;
use super::undelivered::{Extras, Hook};
use super::{Receiver, Sender};

/// What a send does when there is no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Overflow {
    /// It waits.
    #[default]
    Suspend,
    /// It discards the oldest value, the one that would have been received next, and sends its own. (If nothing can make
    /// room it discards its own: see [`Builder`].)
    DropOldest,
    /// It discards its own value.
    DropNewest,
}

/// Builds a channel with more options than [`bounded`](super::bounded) and the like have.
///
/// By default it is a rendezvous channel whose senders wait, as made by [`rendezvous`](super::rendezvous).
///
/// ```
/// use leno::channel::{Builder, Overflow};
///
/// let (tx, rx) = Builder::new()
///     .capacity(2)
///     .overflow(Overflow::DropOldest)
///     .on_undelivered(|n| println!("nobody wanted {n}"))
///     .name("samples")
///     .build();
/// for n in 1..=3 {
///     tx.try_send(n).unwrap();
/// }
/// assert_eq!(rx.drain().collect::<Vec<_>>(), [2, 3]);
/// ```
///
/// # Senders that never wait
///
/// With [`Overflow::DropOldest`] and [`Overflow::DropNewest`] a send completes at its first poll: `try_send` never reports
/// a full channel, and a sending branch of a `select!` is always ready. (In a fiber whose [turn](crate::fiber#turns) is
/// over, this means the first poll of the next turn, as for every operation.) The send succeeds even if its own value was
/// the one discarded. What is discarded goes to [`on_undelivered`](Self::on_undelivered) before the send returns, or is
/// dropped.
///
/// * *Capacity 0*: with either policy a send discards its value unless a receiver waits for it.
/// * *Permits* may hold all places, or a reservation of several that waits may be kept what is free; then a send has only what is
///   left, and if that is nothing discards its own value. Reservations still wait for room: the policy applies to sends only.
/// * *Unbounded* channels always have room, and discard nothing.
/// * A value handed to a receive that was dropped, and thus next to be received, takes up no room and is not discarded.
///
/// The restricted kinds ([`mpsc`](super::mpsc), [`spsc`](super::spsc)) have no builder: for a name, a hook or a policy
/// use the general kind.
#[must_use = "`build` makes the channel"]
pub struct Builder<T> {
    capacity: Option<usize>,
    overflow: Overflow,
    hook: Option<Hook<T>>,
    name: Option<String>,
}

impl<T> Builder<T> {
    /// A rendezvous channel whose senders wait, without a hook and without a name.
    pub fn new() -> Self {
        Builder { capacity: Some(0), overflow: Overflow::Suspend, hook: None, name: None }
    }

    /// Its capacity, as in [`bounded`](super::bounded); the default is 0.
    pub fn capacity(self, capacity: usize) -> Self {
        Builder { capacity: Some(capacity), ..self }
    }

    /// It holds any number of values; see [`unbounded`](super::unbounded).
    pub fn unbounded(self) -> Self {
        Builder { capacity: None, ..self }
    }

    /// What a send does when there is no room; by default it waits.
    ///
    /// Set the [`capacity`](Self::capacity), too: the default is 0, where a policy discards each value that no receiver
    /// waits for.
    /// (`DropOldest` with a capacity of 1 is [`conflated`](super::conflated).)
    pub fn overflow(self, overflow: Overflow) -> Self {
        Builder { overflow, ..self }
    }

    /// Calls `hook` once with each value that was sent or offered but neither received nor given back to its sender:
    ///
    /// * what is in the channel at [`close_now`](Sender::close_now), or when the last receiver is dropped;
    /// * the value of a send that is dropped before it is polled or while it waits, or that was made in a branch of a `select!`
    ///   and loses. (Not the value in an [`into_inner`](super::SendFuture::into_inner), an error or a timeout: these give it
    ///   back.)
    /// * what a policy discards;
    /// * what was handed to a receive that was dropped, if there is nobody left to receive it.
    ///
    /// This is for values that are not just memory: the other end of a request that expects an answer, a connection to be
    /// closed cleanly.
    ///
    /// It is called by the operation that disposes of the value (a send, a close, the drop of a future or of a handle), on
    /// its thread, after everything else is done. It may use the channel, and drop handles of it. It should not block.
    ///
    /// A panic of the hook propagates to the caller of that operation, which still takes effect: if an overflowing `send` panics
    /// this way, its value is sent. The hook is first called for the other values due. A panic of the hook is swallowed during
    /// another panic, and in the middle of something else (such as the drop of a reservation that lets others in).
    ///
    /// The hook is dropped with the channel's memory: a hook that owns a handle of its channel keeps that side open, and
    /// one that owns even a weak handle leaks itself and the channel.
    ///
    /// ```
    /// use std::sync::{Arc, Mutex};
    ///
    /// let lost = Arc::new(Mutex::new(vec![]));
    /// let keep = Arc::clone(&lost);
    /// let (tx, rx) =
    ///     leno::channel::Builder::new().capacity(4).on_undelivered(move |n| keep.lock().unwrap().push(n)).build();
    /// tx.try_send(1).unwrap();
    /// tx.try_send(2).unwrap();
    /// assert_eq!(rx.try_recv(), Ok(1));
    /// drop(rx);
    /// assert_eq!(*lost.lock().unwrap(), [2]);
    /// ```
    pub fn on_undelivered(self, hook: impl Fn(T) + Send + Sync + 'static) -> Self {
        Builder { hook: Some(Box::new(hook)), ..self }
    }

    /// A name, for people: it shows in the `Debug` form of the handles, and in [dumps](crate::inspect) of fibers that wait at
    /// the channel.
    pub fn name(self, name: impl Into<String>) -> Self {
        Builder { name: Some(name.into()), ..self }
    }

    /// Makes the channel.
    #[cfg_attr(feature = "tracing", track_caller)]
    pub fn build(self) -> (Sender<T>, Receiver<T>) {
        let Builder { capacity, overflow, hook, name } = self;
        let is_plain = overflow == Overflow::Suspend && hook.is_none() && name.is_none();
        let extras = Extras { overflow, hook, name: name.map(String::into_boxed_str) };
        handle::channel(capacity, (!is_plain).then(|| Box::new(extras)))
    }
}

impl<T> Default for Builder<T> {
    fn default() -> Self {
        Builder::new()
    }
}

impl<T> fmt::Debug for Builder<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Builder")
            .field("capacity", &self.capacity)
            .field("overflow", &self.overflow)
            .field("on_undelivered", &self.hook.is_some())
            .field("name", &self.name)
            .finish()
    }
}

/// A channel that holds the latest value only: capacity 1 and [`Overflow::DropOldest`]. A send never waits, and replaces what is
/// there; the last value can still be received when the channel is closed. (A value that was handed to a receive that was dropped
/// is not replaced: it comes next.)
///
/// Each value goes to one receiver at most. For a state that several look at see [`watch`](super::watch); to learn of the
/// values that are replaced, use a [`Builder`].
///
/// ```
/// let (tx, rx) = leno::conflated();
/// for row in 1..=3 {
///     tx.try_send(row).unwrap();
/// }
/// drop(tx);
/// assert_eq!(rx.try_recv(), Ok(3));
/// assert!(rx.try_recv().unwrap_err().is_closed());
/// ```
#[cfg_attr(feature = "tracing", track_caller)]
pub fn conflated<T>() -> (Sender<T>, Receiver<T>) {
    Builder::new().capacity(1).overflow(Overflow::DropOldest).build()
}
