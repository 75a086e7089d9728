//! Batches: several values sent or received by one operation.
//!
//! ```text
//!   fresh ──▶ what goes by one exchange ──▶ one value, as a single operation ──▶ fresh again, or over
//!              (nobody is in the way)          (somebody is, or it has to wait)
//! ```
//!
//! A batch is a single operation of the channel, repeated: its [`Branch`] is that of a send or a receive, so that a batch waits, is
//! served, meets a close and leaves like any other, and goes into a select. Only the step before is its own: where nobody waits
//! several values go by one exchange. Where somebody does, values go one at a time, so that those who wait are served in order.
//!
//! | | one exchange is | and then |
//! |---|---|---|
//! | [ring](super::ring) | len + k; head + k and len − k, as far as flags say that the slots are empty, or full | k slots, one after the other |
//! | [blocks](super::linked) | tail + k; head + k, within a block | k values, one publication |
//! | large and bounded | as above, up to the limit, or k counted places before; as above | those who wait for a place get theirs one at a time |
//!
//! # Where values are
//!
//! 1. A value that is not sent is in the deque, but for the one that waits: while a send waits its value is in its node,
//!    as that of any send. Whoever takes the node out of the line puts it back in front.
//! 2. A send that leaves while a peer has its node waits until that peer is through: a close would leave the value in the node,
//!    and it belongs in front of the deque. (A single send can leave it to be dropped.)
//! 3. A value that is received is in the vector, or still on the tray of its receive, which goes back to the channel
//!    if somebody's waker panics. Wakers are called when all else is where it belongs.
//! 4. A node knows nothing of the deque or the vector. So a future that is forgotten strands one value, and borrows nothing.
//!
//! How many were sent is how many fewer there are in the deque when the operation is over; how many were received, how many
//! more in the vector.
//!
//! # In a select
//!
//! The select is decided by the single operation, by its one value, or by several if no waiter would have to be claimed for them.
//! The rest goes, without waiting, when the branch has won. So a branch that loses has neither sent nor received anything.

#![allow(private_interfaces, reason = "nobody outside the crate can name branches")]

use std::collections::VecDeque;
use std::mem::{self, MaybeUninit};
use std::time::Instant;

use super::branch::{Recv, Send, common};
use super::shared::End;
use super::{
    Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use crate::task::thread::{self, Prospects};
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, NodeRef, Operation, State, Tray, Waiter, Word, future};

/// Moves a value to the end of `out`.
///
/// # Safety
/// There is room, and `put` moves a value there.
#[inline(always)]
pub(super) unsafe fn push<T>(out: &mut Vec<T>, put: impl FnOnce(&mut MaybeUninit<T>)) {
    put(&mut out.spare_capacity_mut()[0]);
    // SAFETY: there is one more now.
    unsafe { out.set_len(out.len() + 1) };
}

impl<T> Send<T> {
    /// Sends values by one exchange, if nobody is in the way; how many. Without `by` it takes nobody out whom a select would have
    /// to ask; with it, it does, and has them woken.
    fn several(&self, values: &mut VecDeque<T>, by: Option<&mut By>) -> usize {
        let shared = self.shared;
        let Some(linked) = shared.linked() else { return shared.put_into_ring(values) };
        let before = values.len();
        shared.put_into_blocks(linked, values);
        let is_put = values.len() < before;
        if let Some(by) = by.filter(|by| !is_put && linked.room.is_some() && by.is_plain()) {
            shared.put_with_places(linked, values, by);
        }
        before - values.len()
    }
}

impl<T> Recv<T> {
    /// Receives values by one exchange, `max` at most, if nobody is in the way; how many. `by`: as above.
    fn several(&self, out: &mut Vec<T>, max: usize, by: Option<&mut By>) -> usize {
        let shared = self.shared;
        let Some(linked) = shared.linked() else { return shared.take_from_ring(out, max) };
        match by.filter(|by| by.is_plain()) {
            Some(by) => shared.take_from_block(linked, out, max, by),
            // (Whoever takes a value from there may have to let in a sender.)
            None if linked.room.is_some() => 0,
            None => shared.take_from_block(linked, out, max, &mut By::plain()),
        }
    }
}

/// A send of what is in a deque, as a branch. It is through when one value was sent, or several at once.
pub struct Sending<'a, T> {
    branch: Send<T>,
    values: &'a mut VecDeque<T>,
    /// How many there were.
    asked: usize,
    /// The first one came with the node, when that was to enter the line. (Where there is none it would not wait.)
    is_stowed: bool,
    is_closed: bool,
}

/// A receive to the end of a vector, as a branch. It is through when one value was received, or several at once, or if none
/// are asked for.
pub struct Receiving<'a, T> {
    branch: Recv<T>,
    out: &'a mut Vec<T>,
    /// How many are asked for.
    asked: usize,
    /// How many values were there before.
    before: usize,
    /// Several have come at once, and none is on the tray; nobody has taken note yet.
    came: bool,
    is_closed: bool,
}

/// The operation of a batch.
trait Batch: Branch {
    /// How many values it has sent, or received, if it does not wait.
    fn moved(&self) -> usize;

    /// Whether there is more to be done for it, which is through.
    fn goes_on(&self) -> bool;
}

/// Makes it fresh again if it goes on.
fn goes_on<B: Batch>(operation: &mut Operation<B>) -> bool {
    operation.branch().goes_on() && operation.renew()
}

/// Does what can be done without waiting; `now`: that has to be told exactly. Fresh before, over after.
fn go<B: Batch>(operation: &mut Operation<B>, now: bool) {
    loop {
        let mut tray = Tray::new();
        // (To tell exactly it waits for those who are in the middle of something.)
        let is_through = if now { operation.try_now(&mut tray) } else { operation.try_once(&mut tray) };
        if !is_through {
            return operation.end();
        }
        let _ = operation.output(&mut tray);
        if !goes_on(operation) {
            return;
        }
    }
}

/// The first values were sent, or received: the rest of what can be.
fn rest<B: Batch, E>(operation: &mut Operation<B>, moved: Result<usize, E>) -> Result<usize, E> {
    if goes_on(operation) {
        go(operation, false);
    }
    moved.map(|_| operation.branch().moved())
}

/// What a receive of several is to say once more: that they have come.
fn untold<T>(operation: &mut Operation<Receiving<'_, T>>, _received: Result<usize, RecvError>) -> Option<T> {
    let receiving = operation.branch_mut();
    receiving.came = receiving.moved() > 0;
    None
}

impl<T> Sending<'_, T> {
    fn may_wait(&self) -> bool {
        self.is_stowed
    }

    fn is_nothing(&self) -> bool {
        self.values.is_empty()
    }

    /// Moves the first value to the place of the single send.
    fn load(&mut self) {
        let value = self.values.pop_front().expect("it is through where there is none");
        self.branch.value.write(value);
    }

    /// Moves it back.
    fn unload(&mut self) {
        // SAFETY: it is there, and gone from there then.
        let value = unsafe { self.branch.value.assume_init_read() };
        // (There is room, which nobody has used meanwhile.)
        self.values.push_front(value);
    }
}

impl<T> Receiving<'_, T> {
    /// How many more are asked for.
    fn left(&self) -> usize {
        self.asked - (self.out.len() - self.before)
    }

    fn may_wait(&self) -> bool {
        self.left() > 0 && !self.came
    }

    fn is_nothing(&self) -> bool {
        !self.may_wait()
    }
}

impl<T> Branch for Sending<'_, T> {
    type Output = Result<usize, SendError<()>>;
    type Goods = ();

    // (Neither meets others on the short way: the values are not in their places.)
    common!("send_many", Sender, branch, may_wait, is_nothing);

    fn quick(&mut self, tray: &mut Tray<()>) -> bool {
        let is_through = self.is_nothing() || self.branch.several(self.values, None) > 0;
        if is_through {
            tray.put(());
        }
        is_through
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<()>) -> Attempt<()> {
        /// Moves the value back unless it is sent, also when the waker of somebody who is told of a close panics.
        struct Loaded<'s, 'a, T>(&'s mut Sending<'a, T>, &'s mut Tray<()>);
        impl<T> Drop for Loaded<'_, '_, T> {
            fn drop(&mut self) {
                if !self.1.is_full() {
                    self.0.unload();
                }
            }
        }
        if self.branch.several(self.values, Some(by)) > 0 {
            tray.put(());
            return Attempt::Ready(());
        }
        self.load();
        let loaded = Loaded(self, tray);
        loaded.0.branch.attempt(by, loaded.1)
    }

    fn stow(&mut self, node: NodeRef) {
        self.is_stowed = !self.values.is_empty();
        if self.is_stowed {
            self.load();
            self.branch.stow(node);
        }
    }

    fn unstow(&mut self, node: NodeRef) {
        if self.is_stowed {
            self.branch.unstow(node);
            self.unload();
        }
    }

    unsafe fn finish(&mut self, _node: NodeRef, tray: &mut Tray<()>) {
        tray.put(());
    }

    fn output(&mut self, tray: &mut Tray<()>) -> Self::Output {
        self.is_closed = tray.take().is_none();
        if self.is_closed && self.moved() == 0 { Err(SendError(())) } else { Ok(self.moved()) }
    }

    /// Waits for the peer that has the node (2).
    fn abandon(&mut self, node: Waiter) -> bool {
        thread::pause_until(|| node.as_ref().state() != State::OPEN);
        self.branch.abandon(node)
    }
}

impl<T> Batch for Sending<'_, T> {
    fn moved(&self) -> usize {
        self.asked - self.values.len()
    }

    fn goes_on(&self) -> bool {
        !self.is_closed && !self.values.is_empty()
    }
}

impl<T> Batch for Receiving<'_, T> {
    fn moved(&self) -> usize {
        self.out.len() - self.before
    }

    fn goes_on(&self) -> bool {
        !self.is_closed && self.left() > 0
    }
}

impl<T> Branch for Receiving<'_, T> {
    type Output = Result<usize, RecvError>;
    type Goods = T;

    common!("recv_many", Receiver, branch, may_wait, is_nothing);

    fn quick(&mut self, _tray: &mut Tray<T>) -> bool {
        let left = self.left();
        self.came = self.is_nothing() || self.branch.several(self.out, left, None) > 0;
        self.came
    }

    fn attempt(&mut self, by: &mut By, tray: &mut Tray<T>) -> Attempt<()> {
        let left = self.left();
        self.came = self.came || self.branch.several(self.out, left, Some(by)) > 0;
        if self.came { Attempt::Ready(()) } else { self.branch.attempt(by, tray) }
    }

    unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<T>) {
        // SAFETY: the caller's promise.
        unsafe { self.branch.finish(node, tray) }
    }

    fn output(&mut self, tray: &mut Tray<T>) -> Self::Output {
        let came = mem::take(&mut self.came);
        match tray.take() {
            Some(value) => self.out.push(value),
            None => self.is_closed = !came,
        }
        if self.is_closed && self.moved() == 0 { Err(RecvError) } else { Ok(self.moved()) }
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        self.branch.abandon(node)
    }

    fn note_taken(&self, tray: &mut Tray<T>) {
        self.branch.note_taken(tray);
    }

    fn restore(&mut self, tray: &mut Tray<T>) {
        self.branch.restore(tray);
    }
}

/// A send of all values in a deque, as room becomes available.
///
/// Made by [`Sender::send_many`](super::Sender::send_many). Dropping it before it completes cancels the rest: the unsent values
/// are in the deque, in order. If a receiver on another thread is just taking a value, the drop waits until that is done: a
/// few instructions, unless that thread was preempted.
///
/// If its time is up ([`wait_timeout`](Self::wait_timeout)) it returns how many were sent by then; an error means none.
#[must_use = "futures do nothing unless polled"]
pub struct SendMany<'a, T> {
    // (For as long as it borrows the deque it borrows the sender.)
    operation: Operation<Sending<'a, T>>,
}

/// A receive of several values, which waits for the first one only.
///
/// Made by [`Receiver::recv_many`](super::Receiver::recv_many). Dropping it before it completes cancels the receive and never loses
/// a value.
#[must_use = "futures do nothing unless polled"]
pub struct RecvMany<'a, T> {
    // (As above.)
    operation: Operation<Receiving<'a, T>>,
}

impl<'a, T> SendMany<'a, T> {
    #[track_caller]
    pub(super) fn new(sender: &'a Sender<T>, values: &'a mut VecDeque<T>) -> Self {
        // SAFETY: the sender is borrowed for as long as the future lives.
        let branch = unsafe { Send::new(sender, MaybeUninit::uninit()) };
        let asked = values.len();
        let sending = Sending { branch, values, asked, is_stowed: false, is_closed: false };
        SendMany { operation: Operation::new(sending) }
    }

    /// Sends without waiting.
    pub(super) fn try_now(mut self) -> Result<usize, TrySendError<()>> {
        go(&mut self.operation, true);
        let sending = self.operation.branch();
        match sending.moved() {
            0 if sending.is_closed => Err(TrySendError::Closed(())),
            0 if sending.asked > 0 => Err(TrySendError::Full(())),
            sent => Ok(sent),
        }
    }

    fn until(&mut self, deadline: Option<Instant>) -> Result<usize, SendTimeoutError<()>> {
        loop {
            match self.operation.block_on(deadline) {
                Some(_) if goes_on(&mut self.operation) => {}
                Some(sent) => return Ok(sent?),
                None => match self.operation.branch().moved() {
                    0 => return Err(SendTimeoutError::Timeout(())),
                    sent => return Ok(sent),
                },
            }
        }
    }
}

impl<'a, T> RecvMany<'a, T> {
    #[track_caller]
    pub(super) fn new(receiver: &'a Receiver<T>, out: &'a mut Vec<T>, max: usize) -> Self {
        // SAFETY: the receiver is borrowed for as long as the future lives.
        let branch = unsafe { Recv::new(receiver) };
        let before = out.len();
        let receiving = Receiving { branch, out, asked: max, before, came: false, is_closed: false };
        RecvMany { operation: Operation::new(receiving) }
    }

    /// Receives without waiting.
    pub(super) fn try_now(mut self) -> Result<usize, TryRecvError> {
        go(&mut self.operation, true);
        let receiving = self.operation.branch();
        match receiving.moved() {
            0 if receiving.is_closed => Err(TryRecvError::Closed),
            0 if receiving.asked > 0 => Err(TryRecvError::Empty),
            received => Ok(received),
        }
    }
}

future! {
    ['a, T] SendMany<'a, T>, "SendMany", "send_many";
    Sending<'a, T> => Result<usize, SendError<()>>, |this: &mut Self, sent| rest(&mut this.operation, sent),
        while |this: &mut Self| goes_on(&mut this.operation);
    until Result<usize, SendTimeoutError<()>>
}
future! {
    ['a, T] RecvMany<'a, T>, "RecvMany", "recv_many";
    Receiving<'a, T> => Result<usize, RecvError>, |this: &mut Self, received| rest(&mut this.operation, received), back untold;
    or RecvTimeoutError => usize
}
