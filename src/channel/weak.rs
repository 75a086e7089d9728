//! Weak handles: they keep no side alive, and can be made handles of their side again while it has one.
//!
//! ```text
//!   handles:   63     62          61       32   31     30          29       0
//!              [ GONE, DOWNGRADED, receivers ]  [ GONE, DOWNGRADED, senders ]
//!
//!   weak:      the weak handles of both sides, and 1 for all others together
//! ```
//!
//! | flag of a side | set by | |
//! |---|---|---|
//! | DOWNGRADED | the first `downgrade` of one of its handles | stays |
//! | GONE | its last handle, in the exchange by which it finds that it is the last, if DOWNGRADED | stays |
//!
//! # The last handle against an upgrade
//!
//! The last handle of a side closes the channel first and takes its count out afterwards. An upgrade in between would see a
//! count of 1 and give a handle of a channel that closes for want of handles. So the last one sets GONE before it closes, in the
//! word that an upgrade exchanges: either the upgrade comes first, and the exchange that sets GONE fails, as the count is 2; or
//! it finds GONE.
//!
//! A handle that finds a count of 1 without DOWNGRADED is the last, with no exchange: no weak handle of its side was ever made, and
//! only handles of that side make the first one. (A count that says there are no weak handles would not be enough: between the two
//! looks, in whichever order, the last of these may have been upgraded and dropped.)
//!
//! # Invariants
//! 1. GONE implies a count of 1, or of 0 later on, and neither is ever raised again.
//! 2. Who has a weak handle of a side finds DOWNGRADED in the word, or GONE too: the flag was set before that handle was made, and
//!    every handle of the side that comes, or goes, does so by an exchange of that word after it.
//! 3. The last handle of all gives the one share of all of them back; if none was downgraded it frees the channel at once. Whoever
//!    gives back the last share frees the channel.
//! 4. An upgrade gives `None` only if the channel is closed. Who finds GONE completes the closing that the last handle has begun,
//!    or is about to begin.
//!
//! # Memory
//!
//! A channel whose handles are gone has no value left: its last receiver has dropped them, and no send has succeeded since. What
//! the weak handles keep is the allocation, and what it has allocated.
//!
//! # Cost
//!
//! Locked instructions: downgrade, 1, the first time 2; upgrade, 1; cloning or dropping a weak handle, 1, none for the last of
//! all. Channels without weak handles pay nothing for them: the flags stand in a word that is looked at in any case.
//!
//! # Progress
//!
//! Lock-free: an exchange fails only because another handle was made or dropped.
//!
//! # Orderings
//!
//! All changes of `handles` are read-modify-writes, so each continues the release sequences of those before, and the last handle,
//! which acquires, comes after all that was done through the others. The same holds of `weak`, for whoever frees the channel.

use super::shared::{COUNT, End, Shared, SharedRef};
use super::{Receiver, Sender};
use crate::prim::Ordering;
use crate::task::shows;

/// A handle that does not keep its channel open, and can be upgraded to a [`Sender`].
///
/// Made by [`Sender::downgrade`]. The channel closes when its last sender is dropped, regardless of weak handles. These
/// keep the channel's memory, but none of its values, which are dropped with the last receiver.
///
/// ```
/// let (tx, rx) = leno::bounded(1);
/// let weak = tx.downgrade();
/// weak.upgrade().expect("there is a sender").try_send(1).unwrap();
/// drop(tx);
/// assert!(weak.upgrade().is_none());
/// assert_eq!(rx.recv_blocking(), Ok(1));
/// assert!(rx.recv_blocking().is_err(), "closed");
/// ```
pub struct WeakSender<T> {
    shared: SharedRef<T>,
}

/// A handle that does not keep its channel open, and can be upgraded to a [`Receiver`].
///
/// Made by [`Receiver::downgrade`]. When the last receiver is dropped the channel closes and its values are dropped,
/// regardless of weak handles. These keep the channel's memory only.
///
/// ```
/// let (tx, rx) = leno::bounded(1);
/// let weak = rx.downgrade();
/// tx.try_send(1).unwrap();
/// assert_eq!(weak.upgrade().expect("there is a receiver").try_recv(), Ok(1));
/// drop(rx);
/// assert!(weak.upgrade().is_none());
/// assert!(tx.is_closed());
/// ```
pub struct WeakReceiver<T> {
    shared: SharedRef<T>,
}

impl<T> Shared<T> {
    /// A weak handle more.
    fn add_weak(&self) {
        // ORDERING: Relaxed; the caller has a handle, or a weak one, so the count is above zero.
        if self.weak.fetch_add(1, Ordering::Relaxed) > i32::MAX as u32 {
            // Nobody has as many, unless they are forgotten.
            std::process::abort();
        }
    }

    /// A weak handle more, made of a handle of this end.
    fn downgrade(&self, end: End) {
        // ORDERING: Relaxed: the handle that is downgraded is dropped by an exchange of this word after it (invariant 2).
        if self.handles.load(Ordering::Relaxed) & end.downgraded() == 0 {
            self.handles.fetch_or(end.downgraded(), Ordering::Relaxed);
        }
        self.add_weak();
    }

    /// A handle of this end more, if it has one. The caller has a weak one.
    fn upgrade(&self, end: End) -> bool {
        self.life.touch();
        // ORDERING: Acquire: who finds no handle comes after all that the last one did before it set GONE.
        let mut handles = self.handles.load(Ordering::Acquire);
        loop {
            if handles & end.gone() != 0 && !bug!("weak_upgrades_the_gone") {
                if !bug!("weak_is_refused_early") {
                    // (It may have to be begun: invariant 4.)
                    match end {
                        End::Receiver if !bug!("weak_closes_not_to_permits") => self.close_to_permits(),
                        _ => self.close(),
                    };
                }
                return false;
            }
            let count = (handles & end.counted()) / end.one();
            if count == 0 {
                return false;
            }
            if count > COUNT / 2 {
                // As in `add_handle`.
                std::process::abort();
            }
            let more = handles + end.one();
            // ORDERING: Relaxed, as for any handle that is added; for a failure as above.
            match self.handles.compare_exchange(handles, more, Ordering::Relaxed, Ordering::Acquire) {
                Ok(_) => return true,
                Err(now) => handles = now,
            }
        }
    }

    /// Gives back a share of the weak count, and frees the channel with the last one.
    ///
    /// # Safety
    /// Consumes that share.
    pub(super) unsafe fn drop_share(shared: SharedRef<T>) {
        let last = order!(AcqRel, "weak_release_relaxed");
        shared.life.touch();
        // ORDERING: AcqRel, and Acquire: whoever frees it comes after all that the others have done.
        if shared.weak.load(Ordering::Acquire) == 1 || shared.weak.fetch_sub(1, last) == 1 {
            // SAFETY: nobody has a share, nor can make one without.
            unsafe { Shared::free(shared) };
        }
    }
}

macro_rules! weak {
    ($name:ident of $handle:ident, $what:literal) => {
        impl<T> $handle<T> {
            #[doc = concat!("A handle that does not keep the channel open, and can be made a ", $what, " again.")]
            #[doc = concat!("See [`", stringify!($name), "`].")]
            pub fn downgrade(&self) -> $name<T> {
                self.shared.downgrade(End::$handle);
                $name { shared: self.shared }
            }
        }

        impl<T> $name<T> {
            #[doc = concat!("A ", $what, " of the channel. `None`: none is left, and the channel is closed.")]
            pub fn upgrade(&self) -> Option<$handle<T>> {
                self.shared.upgrade(End::$handle).then(|| $handle { shared: self.shared })
            }

            /// How many senders there are; weak ones are not counted.
            pub fn sender_count(&self) -> usize {
                self.shared.count(End::Sender)
            }

            /// How many receivers there are; weak ones are not counted.
            pub fn receiver_count(&self) -> usize {
                self.shared.count(End::Receiver)
            }
        }

        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                self.shared.add_weak();
                $name { shared: self.shared }
            }
        }

        impl<T> Drop for $name<T> {
            fn drop(&mut self) {
                // SAFETY: this is the share that is consumed.
                unsafe { Shared::drop_share(self.shared) };
            }
        }

        shows! { [T] $name<T>, stringify!($name), it => senders: it.sender_count(), receivers: it.receiver_count() }
    };
}

weak!(WeakSender of Sender, "sender");
weak!(WeakReceiver of Receiver, "receiver");
