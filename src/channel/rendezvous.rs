//! Capacity 0: a value goes from hand to hand, through the node of whoever came first.
//!
//! One two-sided queue decides everything: a sender takes the first waiting receiver or waits, and the mirror
//! image, each as one atomic step (see `wait::queue`).
//!
//! A receive whose future is dropped with a value in its node gives the value to the next waiting receiver, or to
//! the `returned` list if none waits. That list comes before every waiting sender, in the order of the
//! hand-overs. While it is not empty the queue is `HELD`, which no receiver can enter: the list and the queue
//! cannot miss each other. `HELD` changes only under the list's lock.
//!
//! Locked instructions: a hand-over to a waiting receiver takes five (queue, claim, rank, done, wake), one to a
//! receiver that finds a sender four; one that waits adds one for entering.

use std::collections::VecDeque;

use super::{RecvError, SendError};
use crate::prim::Mutex;
use crate::wait::{Attempt, Detached, Enter, Entered, NodeRef, Nudged, Popped, Queue, Side, Waiter};

#[derive(Debug)]
pub(super) struct Rendezvous<T> {
    queue: Queue,
    returned: Mutex<Returned<T>>,
}

#[derive(Debug)]
struct Returned<T> {
    /// Values by the rank of their hand-over.
    values: VecDeque<(u64, T)>,
    /// Nobody will receive any more.
    discard: bool,
}

impl<T> Rendezvous<T> {
    pub(super) fn new() -> Self {
        let returned = Returned { values: VecDeque::new(), discard: false };
        Rendezvous { queue: Queue::new(), returned: Mutex::new(returned) }
    }

    pub(super) fn try_send(
        &self,
        value: &mut Option<T>,
        own: Option<NodeRef>,
    ) -> Attempt<Result<(), SendError<T>>> {
        while let Some(receiver) = self.take(Side::Recv, own) {
            match self.hand_over(receiver, value.take().expect("a send has a value until it is done"), None) {
                Ok(()) => return Attempt::Ready(Ok(())),
                Err(back) => *value = Some(back),
            }
        }
        if self.queue.is_closed() {
            let value = value.take().expect("a send has a value until it is done");
            return Attempt::Ready(Err(SendError(value)));
        }
        Attempt::Wait
    }

    pub(super) fn try_recv(&self, own: Option<NodeRef>) -> Attempt<Result<T, RecvError>> {
        loop {
            if self.queue.is_held() {
                if let Some(value) = self.take_returned() {
                    return Attempt::Ready(Ok(value));
                }
            } else if let Some(sender) = self.take(Side::Send, own) {
                if let Some(value) = self.take_from(sender) {
                    return Attempt::Ready(Ok(value));
                }
            } else if self.queue.is_ended() {
                return Attempt::Ready(Err(RecvError));
            } else if !self.queue.is_held() {
                return Attempt::Wait;
            }
        }
    }

    fn take(&self, from: Side, own: Option<NodeRef>) -> Option<Popped> {
        match own {
            None => self.queue.take(from),
            Some(_) => self.queue.take_other(from, own),
        }
    }

    /// # Safety
    /// As for [`Queue::enter`]; the node holds the value.
    pub(super) unsafe fn enter_send(
        &self,
        waiter: &Waiter,
        own: Option<NodeRef>,
    ) -> Enter<Result<(), SendError<T>>> {
        loop {
            // SAFETY: the caller's promise, and it was not let in before.
            match unsafe { self.enter(Side::Send, waiter, own) } {
                Entered::Met(receiver) => {
                    // SAFETY: the node is in no queue, and holds the value.
                    let value = unsafe { waiter.take() }.expect("a sender's node holds its value");
                    match self.hand_over(receiver, value, None) {
                        Ok(()) => return Enter::Ready(Ok(())),
                        // SAFETY: as above.
                        Err(back) => unsafe { waiter.put(back) },
                    }
                }
                entered => return self.entered(entered),
            }
        }
    }

    /// # Safety
    /// As for [`Queue::enter`].
    pub(super) unsafe fn enter_recv(
        &self,
        waiter: &Waiter,
        own: Option<NodeRef>,
    ) -> Enter<Result<T, RecvError>> {
        loop {
            // SAFETY: the caller's promise, and it was not let in before.
            match unsafe { self.enter(Side::Recv, waiter, own) } {
                Entered::Met(sender) => {
                    if let Some(value) = self.take_from(sender) {
                        return Enter::Ready(Ok(value));
                    }
                }
                entered => return self.entered(entered),
            }
        }
    }

    unsafe fn enter(&self, side: Side, waiter: &Waiter, own: Option<NodeRef>) -> Entered {
        // SAFETY: the caller's promise.
        unsafe {
            match own {
                None if waiter.rank() == 0 => self.queue.enter(side, waiter.as_ref()),
                None => self.queue.enter_by_rank(side, waiter.as_ref()),
                Some(_) => self.queue.enter_beside(side, waiter.as_ref()),
            }
        }
    }

    fn entered<R>(&self, entered: Entered) -> Enter<R> {
        match entered {
            Entered::Waits => Enter::Waits,
            Entered::Held | Entered::Closed => Enter::Refused,
            Entered::Met(_) => unreachable!("the caller deals with it"),
        }
    }

    pub(super) fn nudge(&self) -> Nudged {
        Nudged::Settled
    }

    /// # Safety
    /// As for [`Queue::remove`].
    pub(super) unsafe fn remove(&self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.queue.remove(waiter.as_ref()) }
    }

    /// Gives the value to a waiting receiver, or back if that one is gone. `rank`: of its first hand-over.
    fn hand_over(&self, receiver: Popped, value: T, rank: Option<u64>) -> Result<(), T> {
        let Some(mut claim) = receiver.claim() else { return Err(value) };
        claim.stamp(rank.unwrap_or_else(|| self.queue.next_rank()));
        // SAFETY: a receiver's payload is empty.
        unsafe { claim.put(value) };
        match claim.complete() {
            Ok(waker) => {
                if let Some(waker) = waker {
                    waker.wake();
                }
                Ok(())
            }
            // SAFETY: the value is a `T`.
            Err(mut abandoned) => Err(unsafe { abandoned.take() }.expect("it was put there")),
        }
    }

    /// Takes a waiting sender's value, unless that one is gone.
    fn take_from(&self, sender: Popped) -> Option<T> {
        let mut claim = sender.claim()?;
        // SAFETY: senders of this channel send a `T`.
        let value = unsafe { claim.take() };
        // A sender that left in between has sent all the same: it was claimed.
        if let Ok(Some(waker)) = claim.complete() {
            waker.wake();
        }
        Some(value)
    }

    /// Passes on a value that was handed to a receive which was then dropped.
    pub(super) fn give_back(&self, mut value: T, rank: u64) {
        loop {
            while let Some(receiver) = self.queue.take(Side::Recv) {
                let rank_kept = (!cfg!(leno_bug = "given_back_anew")).then_some(rank);
                match self.hand_over(receiver, value, rank_kept) {
                    Ok(()) => return,
                    Err(back) => value = back,
                }
            }
            let mut returned = self.returned.lock();
            if returned.discard {
                drop(returned);
                return drop(value);
            }
            if self.queue.hold() {
                let place = returned.values.partition_point(|(other, _)| *other < rank);
                returned.values.insert(place, (rank, value));
                return;
            }
            // A receiver has come in between.
        }
    }

    fn take_returned(&self) -> Option<T> {
        let mut returned = self.returned.lock();
        let value = returned.values.pop_front();
        if returned.values.is_empty() {
            self.queue.release();
        }
        value.map(|(_, value)| value)
    }

    /// Takes everybody out. `None`: it was closed before.
    pub(super) fn close(&self) -> Option<Detached> {
        self.queue.close()
    }

    /// Drops what nobody will receive any more.
    pub(super) fn discard(&self) {
        let mut returned = self.returned.lock();
        returned.discard = true;
        let values = std::mem::take(&mut returned.values);
        self.queue.release();
        drop(returned);
        drop(values);
    }

    pub(super) fn is_closed(&self) -> bool {
        self.queue.is_closed()
    }

    pub(super) fn len(&self) -> usize {
        self.returned.lock().values.len()
    }

    pub(super) fn place(&self) -> *const () {
        (&raw const self.queue).cast()
    }

    pub(super) fn assert_valid(&self) {
        self.queue.assert_valid();
    }
}
