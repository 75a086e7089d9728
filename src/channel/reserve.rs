//! Reserving places: the futures, and the branch that they are made of. The protocol is told in [`limit`](super::limit).

use super::kind::{Kind, Many};
use super::limit::{MOST, Reserved};
use super::permit::{OwnedPermit, Permit, Permits};
use super::shared::{End, SharedRef};
use super::{
    ReserveError, ReserveManyError, ReserveTimeoutError, Sender, TryReserveError, TryReserveManyError,
};
use crate::task::thread::Prospects;
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, NodeRef, Operation, Primitive, Tray, Waiter, abandon_grant, future};

/// Reserving places, as a branch.
pub struct Reserving<T> {
    shared: SharedRef<T>,
    count: u32,
    /// Why it fails at once.
    refused: Option<ReserveManyError>,
}

impl<T> Reserving<T> {
    /// # Safety
    /// A handle outlives the branch.
    unsafe fn new(sender: &Sender<T>, count: usize) -> Self {
        let channel = sender.get();
        let refused = if channel.is_rendezvous() {
            Some(ReserveManyError::Rendezvous)
        } else if channel.capacity().is_some_and(|capacity| count > capacity.min(MOST)) {
            Some(ReserveManyError::TooMany)
        } else {
            None
        };
        Reserving { shared: sender.shared, count: count.min(MOST) as u32, refused }
    }

    fn free_places(&self) {
        self.shared.free_places(self.count as usize);
    }
}

impl<T> Branch for Reserving<T> {
    type Output = Result<(), ReserveManyError>;
    type Goods = ();

    fn wish(&self) -> (&'static str, Thing) {
        ("reserve", self.shared.thing())
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<()>) -> Attempt<()> {
        if self.refused.is_some() {
            return Attempt::Ready(());
        }
        let shared = self.shared;
        let reserved = match self.count {
            // (Nobody waits for nothing.)
            0 if shared.is_closed() => Reserved::Closed,
            0 => Reserved::Yes,
            count => shared.try_reserve(count, by),
        };
        match reserved {
            Reserved::Yes => tray.put(()),
            // (Of a channel that is no ring the places close first, and it was perhaps told by those.)
            Reserved::Closed => shared.finish_close(),
            Reserved::Full => return Attempt::Wait,
        }
        Attempt::Ready(())
    }

    fn is_unsure(&self) -> bool {
        // (Of a ring it was asked under the lock.)
        let shared = self.shared;
        let is_unsure = |linked| shared.is_unsure_room(linked, End::Sender, self.count.into());
        shared.linked().is_some_and(is_unsure)
    }

    fn prospects(&self) -> Prospects {
        self.shared.prospects(End::Sender)
    }

    fn register(&mut self, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!pair, "reservations are made on one side");
        // (A set that asks what is ready has not looked before. Nobody waits for what is refused, or for nothing.)
        let may_wait = self.refused.is_none() && self.count > 0;
        may_wait && self.shared.register_in_turn(node, self.count)
    }

    fn leave(&mut self, node: &Waiter) -> bool {
        self.shared.leave_reservation(node, self.count)
    }

    fn touch(&self, node: &Waiter) -> bool {
        self.shared.own_queue().touch(node)
    }

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<()>) {
        tray.put(());
    }

    fn output(&mut self, tray: &mut Tray<()>) -> Self::Output {
        tray.take().ok_or(self.refused.unwrap_or(ReserveManyError::Closed))
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        abandon_grant(node, || {
            if !bug!("granted_places_are_lost") {
                self.free_places();
            }
        })
    }

    fn restore(&mut self, tray: &mut Tray<()>) {
        if tray.take().is_some() {
            self.free_places();
        }
    }
}

/// Reserves room for one value; waits while the channel is full.
///
/// Made by [`Sender::reserve`]. Dropping it before it completes reserves nothing; a place it was already granted goes to the
/// next waiter.
#[must_use = "futures do nothing unless polled"]
pub struct Reserve<'a, T> {
    operation: Operation<Reserving<T>>,
    sender: &'a Sender<T>,
}

/// Reserves room for several values at once.
///
/// Made by [`Sender::reserve_many`]. Dropping it before it completes reserves nothing; places it was already granted go to the
/// next waiter.
#[must_use = "futures do nothing unless polled"]
pub struct ReserveMany<'a, T> {
    operation: Operation<Reserving<T>>,
    sender: &'a Sender<T>,
    count: usize,
}

/// Reserves room for one value, with a permit that owns the sender.
///
/// Made by [`Sender::reserve_owned`]. Dropping it drops the sender, unless [`into_sender`](Self::into_sender) has given that back
/// before; a place it was already granted goes to the next waiter. So pass it to a `select!` by `&mut`.
#[must_use = "futures do nothing unless polled"]
pub struct ReserveOwned<T, K: Kind = Many> {
    // Before the sender, which it refers to.
    operation: Operation<Reserving<T>>,
    sender: Option<K::Sender<T>>,
}

/// Reserves without waiting. `None`: it would have to wait.
fn reserve_now<T>(operation: &mut Operation<Reserving<T>>) -> Option<Result<(), ReserveManyError>> {
    let mut tray = Tray::new();
    operation.try_now(&mut tray).then(|| operation.output(&mut tray))
}

impl<'a, T> Reserve<'a, T> {
    fn permit(&mut self, outcome: Result<(), ReserveManyError>) -> Result<Permit<'a, T>, ReserveError> {
        // SAFETY: a place was reserved.
        outcome.map(|()| unsafe { Permit::new(self.sender) }).map_err(ReserveError::from)
    }
}

impl<'a, T> ReserveMany<'a, T> {
    fn permits(&mut self, outcome: Result<(), ReserveManyError>) -> Result<Permits<'a, T>, ReserveManyError> {
        // SAFETY: so many places were reserved.
        outcome.map(|()| unsafe { Permits::new(self.sender, self.count) })
    }
}

impl<T, K: Kind> ReserveOwned<T, K> {
    #[track_caller]
    pub(super) fn new(sender: K::Sender<T>) -> Self {
        // SAFETY: the future keeps the sender, and drops it after the operation.
        let branch = unsafe { Reserving::new(K::sender(&sender), 1) };
        ReserveOwned { operation: Operation::new(branch), sender: Some(sender) }
    }

    /// Cancels the reservation and gives back the sender. `None`: it has completed; the sender is the permit's, or was dropped with
    /// the error.
    ///
    /// ```
    /// use std::time::Duration;
    ///
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// tx.send("first").await.unwrap();
    /// let mut reserving = tx.reserve_owned();
    /// assert!(leno::timeout(Duration::from_millis(1), &mut reserving).await.is_err(), "it is full");
    /// let tx = reserving.into_sender().expect("it has not completed");
    /// # drop((tx, rx));
    /// # });
    /// ```
    pub fn into_sender(self) -> Option<K::Sender<T>> {
        let ReserveOwned { operation, sender } = self;
        drop(operation);
        sender
    }

    fn permit(&mut self, outcome: Result<(), ReserveManyError>) -> Result<OwnedPermit<T, K>, ReserveError> {
        let sender = self.sender.take().expect("a future completes once");
        // SAFETY: a place was reserved.
        outcome.map(|()| unsafe { OwnedPermit::new(sender) }).map_err(ReserveError::from)
    }
}

future! {
    ['a, T] Reserve<'a, T>, "Reserve", "reserve";
    Reserving<T> => Result<Permit<'a, T>, ReserveError>, Self::permit; or ReserveTimeoutError => Permit<'a, T>
}
future! {
    ['a, T] ReserveMany<'a, T>, "ReserveMany", "reserve_many";
    Reserving<T> => Result<Permits<'a, T>, ReserveManyError>, Self::permits; or ReserveTimeoutError => Permits<'a, T>
}
future! {
    [T, K: Kind] ReserveOwned<T, K>, "ReserveOwned", "reserve_owned";
    Reserving<T> => Result<OwnedPermit<T, K>, ReserveError>, Self::permit, leaves nothing; or ReserveTimeoutError => OwnedPermit<T, K>
}

impl<T> Sender<T> {
    /// Reserves room for one value; waits while the channel is full. [`Permit::send`] then does not wait.
    ///
    /// A permit reserves room, not a position: the value is ordered by when it is sent. Waiting reservations and sends
    /// share one FIFO queue. On an unbounded channel this is ready at once.
    ///
    /// Cancelling: a dropped future has reserved nothing; a place it was already granted goes to the next in line.
    ///
    /// # Errors
    /// The channel is closed; or it is a rendezvous channel, which has no room to reserve.
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// let permit = tx.reserve().await?;
    /// assert!(tx.try_send("first").unwrap_err().is_full(), "its only place is reserved");
    /// permit.send("expected").unwrap();
    /// assert_eq!(rx.recv().await, Ok("expected"));
    /// # Ok::<(), leno::channel::ReserveError>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn reserve(&self) -> Reserve<'_, T> {
        // SAFETY: the sender is borrowed for as long as the future lives.
        let branch = unsafe { Reserving::new(self, 1) };
        Reserve { operation: Operation::new(branch), sender: self }
    }

    /// Reserves room for one value if there is some now, and nobody already waits for it.
    ///
    /// # Errors
    /// There is no room, or others wait for it; or the channel is closed or a rendezvous channel.
    ///
    /// ```
    /// use leno::channel::TryReserveError;
    ///
    /// let (tx, _rx) = leno::bounded::<u8>(1);
    /// let permit = tx.try_reserve().unwrap();
    /// assert_eq!(tx.try_reserve().unwrap_err(), TryReserveError::Full);
    /// drop(permit);
    /// assert!(tx.try_reserve().is_ok());
    /// ```
    pub fn try_reserve(&self) -> Result<Permit<'_, T>, TryReserveError> {
        let mut reserve = self.reserve();
        let outcome = reserve_now(&mut reserve.operation).ok_or(TryReserveError::Full)?;
        Ok(reserve.permit(outcome)?)
    }

    /// Reserves room for `n` values at once; waits until there is that much, and is not overtaken meanwhile. With `n` zero it is
    /// ready at once.
    ///
    /// The [`Permits`] are an iterator of permits; dropping it returns what was not taken from it.
    ///
    /// Cancelling: as for [`reserve`](Self::reserve). (A future that is forgotten while it waits is still granted its `n` places,
    /// and keeps them.)
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve); or `n` is more than the channel holds
    /// ([`TooMany`](ReserveManyError::TooMany)), or, if it is bounded, more than 2^32 - 2.
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(4);
    /// for (permit, value) in tx.reserve_many(3).await?.zip(["warp", "weft", "warp"]) {
    ///     permit.send(value).unwrap();
    /// }
    /// assert_eq!(rx.drain().count(), 3);
    /// # Ok::<(), leno::channel::ReserveManyError>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn reserve_many(&self, n: usize) -> ReserveMany<'_, T> {
        // SAFETY: the sender is borrowed for as long as the future lives.
        let branch = unsafe { Reserving::new(self, n) };
        ReserveMany { operation: Operation::new(branch), sender: self, count: n }
    }

    /// Reserves room for `n` values if there is that much now, and nobody already waits for it.
    ///
    /// # Errors
    /// There is not enough room, or others wait for it; or the channel is closed or a rendezvous channel; or `n` exceeds
    /// its capacity, or, if that is bounded, 2^32 - 2.
    ///
    /// ```
    /// use leno::channel::TryReserveManyError;
    ///
    /// let (tx, rx) = leno::bounded(3);
    /// for permit in tx.try_reserve_many(2).unwrap() {
    ///     permit.send('w').unwrap();
    /// }
    /// assert_eq!(tx.try_reserve_many(2).unwrap_err(), TryReserveManyError::Full);
    /// assert_eq!(rx.drain().count(), 2);
    /// ```
    pub fn try_reserve_many(&self, n: usize) -> Result<Permits<'_, T>, TryReserveManyError> {
        let mut reserve = self.reserve_many(n);
        let outcome = reserve_now(&mut reserve.operation).ok_or(TryReserveManyError::Full)?;
        Ok(reserve.permits(outcome)?)
    }

    /// As [`reserve`](Self::reserve), with a permit that owns this sender and can be stored or moved to another fiber.
    ///
    /// # Errors
    /// As for [`reserve`](Self::reserve); the sender is dropped. Clone it before if it is needed then.
    ///
    /// ```
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// let permit = tx.reserve_owned().await?;
    /// leno::spawn(async move { permit.send(7) });
    /// assert_eq!(rx.recv().await, Ok(7));
    /// # Ok::<(), leno::channel::ReserveError>(()) }).unwrap();
    /// ```
    #[track_caller]
    pub fn reserve_owned(self) -> ReserveOwned<T> {
        ReserveOwned::new(self)
    }
}
