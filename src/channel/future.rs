//! The futures of a channel. Each is one [`Operation`](crate::wait) and a borrow of its handle.

#![allow(private_interfaces, reason = "nobody outside the crate can name branches")]

use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::time::Instant;

use super::bell::Listen;
use super::branch::{Recv, Send, Watch};
use super::{
    Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use crate::wait::{Cancelled, Operation, Tray, future};

/// A send that waits until its value is in the channel or, on a rendezvous channel, in a receiver's hands.
///
/// Made by [`Sender::send`](super::Sender::send). Dropping it before it completes cancels the send; [`SendFuture::into_inner`] does
/// so and gives the value back.
#[must_use = "futures do nothing unless polled"]
pub struct SendFuture<'a, T: 'a> {
    operation: Operation<Send<T>>,
    _sender: PhantomData<&'a Sender<T>>,
}

/// A receive that waits until there is a value, or the channel is closed and empty.
///
/// Made by [`Receiver::recv`](super::Receiver::recv). Dropping it before it completes cancels the receive and never loses a value.
#[must_use = "futures do nothing unless polled"]
pub struct RecvFuture<'a, T: 'a> {
    operation: Operation<Recv<T>>,
    _receiver: PhantomData<&'a Receiver<T>>,
}

/// Resolves when sends on the channel can only fail: it was closed, or the last receiver is gone.
///
/// Made by [`Sender::closed`](super::Sender::closed). Dropping it has no effect on the channel.
#[must_use = "futures do nothing unless polled"]
pub struct Closed<'a, T: 'a> {
    operation: Operation<Listen<Watch<T>>>,
    _sender: PhantomData<&'a Sender<T>>,
}

impl<'a, T> SendFuture<'a, T> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(sender: &'a Sender<T>, value: T) -> Self {
        // SAFETY: the sender is borrowed for as long as the future lives.
        let branch = unsafe { Send::new(sender, MaybeUninit::new(value)) };
        SendFuture { operation: Operation::new(branch), _sender: PhantomData }
    }

    /// Cancels the send and gives its value back. `None`: the value was sent, or came back in the error that the future
    /// completed with.
    ///
    /// If a receiver on another thread is just taking the value, this waits until that is done: a few instructions, unless
    /// that thread was preempted.
    ///
    /// ```
    /// let (tx, rx) = leno::rendezvous();
    /// let sending = tx.send("kept");
    /// assert_eq!(sending.into_inner(), Some("kept"));
    /// # drop(rx);
    /// ```
    pub fn into_inner(mut self) -> Option<T> {
        cancel(&mut self.operation)
    }

    /// Sends without waiting.
    #[inline(always)]
    pub(super) fn try_now(self) -> Result<(), TrySendError<T>> {
        // (It stays in registers, as its address goes to no call: nor to its drop, which is left to the slow way.)
        let mut quick = ManuallyDrop::new(self);
        match quick.operation.quick_output() {
            Some(sent) => sent.map_err(|SendError(value)| TrySendError::Closed(value)),
            None => ManuallyDrop::into_inner(quick).try_slowly(),
        }
    }

    #[inline(never)]
    fn try_slowly(&mut self) -> Result<(), TrySendError<T>> {
        let mut tray = Tray::new();
        match self.operation.try_now_slowly(&mut tray) {
            false => Err(TrySendError::Full(take(&mut self.operation))),
            true => tray.take().ok_or_else(|| TrySendError::Closed(take(&mut self.operation))),
        }
    }

    fn until(&mut self, deadline: Option<Instant>) -> Result<(), SendTimeoutError<T>> {
        send_until(&mut self.operation, deadline)
    }
}

impl<'a, T> RecvFuture<'a, T> {
    #[inline(always)]
    #[track_caller]
    pub(super) fn new(receiver: &'a Receiver<T>) -> Self {
        // SAFETY: as above.
        let branch = unsafe { Recv::new(receiver) };
        RecvFuture { operation: Operation::new(branch), _receiver: PhantomData }
    }

    /// Receives without waiting.
    #[inline(always)]
    pub(super) fn try_now(self) -> Result<T, TryRecvError> {
        // (As above.)
        let mut quick = ManuallyDrop::new(self);
        match quick.operation.quick_output() {
            Some(received) => received.map_err(|RecvError| TryRecvError::Closed),
            None => ManuallyDrop::into_inner(quick).try_slowly(),
        }
    }

    #[inline(never)]
    fn try_slowly(&mut self) -> Result<T, TryRecvError> {
        let mut tray = Tray::new();
        match self.operation.try_now_slowly(&mut tray) {
            false => Err(TryRecvError::Empty),
            true => tray.take().ok_or(TryRecvError::Closed),
        }
    }
}

impl<'a, T> Closed<'a, T> {
    #[track_caller]
    pub(super) fn new(sender: &'a Sender<T>) -> Self {
        // SAFETY: as above.
        let branch = unsafe { Watch::listen(sender) };
        Closed { operation: Operation::new(branch), _sender: PhantomData }
    }
}

/// The value of a send that did not happen.
#[inline(always)]
pub(super) fn take<T>(send: &mut Operation<Send<T>>) -> T {
    debug_assert!(send.is_fresh(), "a send that did not happen has its value");
    send.end();
    // SAFETY: it was fresh, and is over now.
    unsafe { send.branch_mut().value.assume_init_read() }
}

/// What a send that is over has given, and nobody got: that it has sent; or else it has its value again.
pub(super) fn untold<T>(send: &mut Operation<Send<T>>, sent: Result<(), SendError<T>>) -> Option<()> {
    match sent {
        Ok(()) => Some(()),
        Err(SendError(value)) => {
            send.reopen(|send| _ = send.value.write(value));
            None
        }
    }
}

/// Cancels a send. Its value, unless it was sent, or went with an error.
#[inline(always)]
pub(super) fn cancel<T>(send: &mut Operation<Send<T>>) -> Option<T> {
    match send.cancel(Some(&mut Tray::new())) {
        Cancelled::Undone if send.is_fresh() => Some(take(send)),
        _ => None,
    }
}

/// Sends on a plain thread, which waits until the deadline.
#[inline(always)]
pub(super) fn send_until<T>(
    send: &mut Operation<Send<T>>,
    deadline: Option<Instant>,
) -> Result<(), SendTimeoutError<T>> {
    let mut tray = Tray::new();
    match send.block_on_to(&mut tray, deadline) {
        false => Err(SendTimeoutError::Timeout(take(send))),
        true => tray.take().ok_or_else(|| SendTimeoutError::Closed(take(send))),
    }
}

future! {
    ['a, T] SendFuture<'a, T>, "SendFuture", "send";
    Send<T> => Result<(), SendError<T>>, |_, sent| sent, back untold; until Result<(), SendTimeoutError<T>>
}
future! {
    ['a, T] RecvFuture<'a, T>, "RecvFuture", "recv";
    Recv<T> => Result<T, RecvError>, |_, received| received, back |_, received: Self::Output| received.ok(); or RecvTimeoutError => T
}
future! {
    ['a, T] Closed<'a, T>, "Closed", "closed";
    Listen<Watch<T>> => (), |_, ()| (); or Elapsed
}
