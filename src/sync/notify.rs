//! Telling others that something has happened, without a value. Who waits stands in a [`signal`](super::signal).

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::signal::{Hearing, Signal, Told, What};
use crate::prim;
use crate::task::budget;
use crate::task::shows;
use crate::wait::{Operation, future};

/// Notifies one or all waiters that something has happened.
///
/// [`notify_one`](Self::notify_one) wakes the first waiter; if there is none, the notification is stored, and the next
/// [`notified`](Self::notified) completes at once. At most one is stored. [`notify_waiters`](Self::notify_waiters) wakes
/// all whose future was made before, and nobody else.
///
/// Waiters are served FIFO. A future that was notified by `notify_one` and is no longer polled keeps the notification
/// until it is dropped, and then passes it on.
///
/// A branch of a select waits as a future of its own does, from the poll that leaves the select waiting until a branch has
/// completed, or the select is dropped, or its time is up. Then what the others were notified of passes on. (If the pattern of
/// that branch does not match, the rest begin anew.) A future that waits, and is then passed to a select by `&mut`, leaves the
/// queue as that begins; if it loses it waits again when it is polled. Whoever does not wait just then is not notified by
/// `notify_one`: of several notifications one is stored.
///
/// ```
/// use std::sync::Arc;
/// use leno::sync::Notify;
///
/// # leno::block_on(async {
/// let woven = Arc::new(Notify::new());
/// let telling = Arc::clone(&woven);
/// leno::spawn(async move { telling.notify_one() });
/// woven.notified().await;
/// # });
/// ```
///
/// # Looking before waiting
///
/// Make the future, [enable](Notified::enable) it, look, and then await it: whatever happens after the look is not missed.
///
/// ```
/// use std::sync::Mutex;
/// use leno::sync::Notify;
///
/// struct Basket {
///     wool: Mutex<Vec<u32>>,
///     filled: Notify,
/// }
///
/// impl Basket {
///     fn put(&self, ball: u32) {
///         self.wool.lock().unwrap().push(ball);
///         self.filled.notify_one();
///     }
///
///     async fn take(&self) -> u32 {
///         loop {
///             let mut filled = self.filled.notified();
///             filled.enable();
///             if let Some(ball) = self.wool.lock().unwrap().pop() {
///                 return ball;
///             }
///             filled.await;
///         }
///     }
/// }
/// # let basket = Basket { wool: Mutex::new(vec![]), filled: Notify::new() };
/// # basket.put(1);
/// # assert_eq!(leno::block_on(basket.take()), 1);
/// ```
#[derive(Default)]
pub struct Notify {
    signal: Signal,
}

crate::task::unwinds! { [] Notify }

impl Notify {
    prim::const_fn! {
        /// A `Notify` without a stored notification.
        pub fn new() -> Notify {
            Notify { signal: Signal::new() }
        }
    }

    /// Waits for a notification.
    ///
    /// It takes part in [`notify_waiters`](Self::notify_waiters) from this call on, and in [`notify_one`](Self::notify_one) once
    /// it waits or was [enabled](Notified::enable).
    ///
    /// Cancelling: a dropped future leaves the queue, and passes a notification of `notify_one` on to the next one, or
    /// stores it.
    #[track_caller]
    pub fn notified(&self) -> Notified<'_> {
        // SAFETY: the future borrows this.
        let hearing = unsafe { Hearing::new(&raw const self.signal, What::Notify) };
        Notified { _notify: self, operation: Operation::new(hearing) }
    }

    /// As [`notified`](Self::notified), in a future that owns an `Arc` of the `Notify`: to be stored or moved to other tasks.
    #[track_caller]
    pub fn notified_arc(self: &Arc<Self>) -> NotifiedArc {
        // SAFETY: the future keeps this.
        let hearing = unsafe { Hearing::new(&raw const self.signal, What::Notify) };
        NotifiedArc { operation: Operation::new(hearing), _notify: Arc::clone(self) }
    }

    /// Notifies the first waiter; if nobody waits, the notification is stored for the next one.
    pub fn notify_one(&self) {
        self.signal.tell_one(true);
    }

    /// Notifies all waiters whose future was made before. Nothing is stored.
    pub fn notify_waiters(&self) {
        self.signal.tell_all();
    }

    /// Panics if an invariant does not hold. For tests.
    #[doc(hidden)]
    pub fn assert_valid(&self) {
        self.signal.assert_valid();
    }
}

shows! { [] Notify, "Notify" }

/// Waits for a notification of a [`Notify`]. Made by [`Notify::notified`].
///
/// Dropping it leaves the queue; a notification by `notify_one` passes to the next waiter, or is stored.
#[must_use = "futures do nothing unless polled"]
pub struct Notified<'a> {
    _notify: &'a Notify,
    operation: Operation<Hearing>,
}

/// As [`Notified`], keeping the `Notify`. Made by [`Notify::notified_arc`].
#[must_use = "futures do nothing unless polled"]
pub struct NotifiedArc {
    // Before the `Notify`: it must be dropped first.
    operation: Operation<Hearing>,
    _notify: Arc<Notify>,
}

macro_rules! enabled {
    ($($future:ty)*) => {$(
        impl $future {
            /// Enters the queue without waiting. Returns true if it was already notified, and is ready or has completed.
            pub fn enable(&mut self) -> bool {
                enable(&mut self.operation)
            }
        }
    )*};
}

enabled! { Notified<'_> NotifiedArc }

fn enable(operation: &mut Operation<Hearing>) -> bool {
    if operation.is_over() {
        return true;
    }
    if operation.is_open() {
        // It stands there, with the waker of its last poll.
        return false;
    }
    let cx = &mut Context::from_waker(Waker::noop());
    match budget::without(|| operation.poll(cx)) {
        Poll::Ready(told) => {
            operation.renew();
            operation.branch_mut().remember(told);
            true
        }
        Poll::Pending => false,
    }
}

future! {
    ['a] Notified<'a>, "Notified", "notified";
    Hearing => (), |this: &mut Self, told| note(&mut this.operation, told), back noted; or Elapsed
}
future! {
    [] NotifiedArc, "NotifiedArc", "notified_arc";
    Hearing => (), |this: &mut Self, told| note(&mut this.operation, told), back noted; or Elapsed
}

/// How it was told, should nobody get to know that it was.
fn note(operation: &mut Operation<Hearing>, told: Told) {
    operation.branch_mut().remember(told);
}

fn noted(operation: &mut Operation<Hearing>, (): ()) -> Option<Told> {
    operation.branch_mut().forget()
}
