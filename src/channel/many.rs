//! Batches: several values sent or received by one operation.
//!
//! ```text
//!   fresh ──▶ what goes by one exchange ──▶ one value, as a single operation ──▶ fresh again, or over
//!              (nobody is in the way)          (somebody is, or it has to wait)
//! ```
//!
//! A batch is a single operation of the channel, gone through again and again: its [`Branch`] is that of a send or a receive,
//! so that a batch waits, is served, closes and leaves as any other, and goes into a select. What is its own is the way
//! beside: where nobody waits several values go by one exchange. Where somebody does, values go one at a time, so that
//! those who wait are served in order.
//!
//! | | one exchange is | and then |
//! |---|---|---|
//! | [ring](super::ring) | len + k; head + k and len − k, as far as flags say that the slots are empty, or full | k slots, one after the other |
//! | [blocks](super::linked) | tail + k; head + k, within a block | k values, one publication |
//! | large and bounded | k places, then as above; as above, then k places back | those who wait for a place get theirs one at a time |
//! | [spsc](super::spsc) | tail + k; head + k, within a block | – (k values before) |
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
//! The select claims the single operation, by its one value. The rest goes, without waiting, when the branch has won. So a
//! branch that loses has neither sent nor received anything.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::mem::{ManuallyDrop, MaybeUninit};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_core::future::FusedFuture;

use super::branch::{Recv, Send};
use super::shared::Shared;
use super::{
    Receiver, RecvError, RecvTimeoutError, SendError, SendTimeoutError, Sender, TryRecvError, TrySendError,
};
use crate::task::budget;
use crate::task::context::may_block;
use crate::task::thread::{self, deadline_after};
use crate::task::watch::Thing;
use crate::wait::{Attempt, Branch, By, NodeRef, Operation, State, Tray, Waiter};

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

/// The first value of a deque, out of it for as long as somebody may take it; otherwise it goes back.
pub(super) struct Front<'a, T> {
    values: &'a mut VecDeque<T>,
    value: MaybeUninit<T>,
}

impl<'a, T> Front<'a, T> {
    pub(super) fn of(values: &'a mut VecDeque<T>) -> Self {
        let value = MaybeUninit::new(values.pop_front().expect("there is one"));
        Front { values, value }
    }

    pub(super) fn place(&mut self) -> &mut MaybeUninit<T> {
        &mut self.value
    }

    /// It was taken.
    pub(super) fn taken(self) {
        let _ = ManuallyDrop::new(self);
    }
}

impl<T> Drop for Front<'_, T> {
    fn drop(&mut self) {
        // SAFETY: nobody has taken it.
        self.values.push_front(unsafe { self.value.assume_init_read() });
    }
}

/// A send of a kind of channel, made for several values, which come to its place one by one.
pub(super) trait Gives<T>: Branch<Goods = ()> {
    fn place(&mut self) -> &mut MaybeUninit<T>;

    /// Sends values by one exchange, if nobody is in the way; how many. Takes nobody out whom a select would have to ask.
    fn quick_several(&self, values: &mut VecDeque<T>) -> usize;

    /// The same for an operation that is alone.
    fn several(&self, values: &mut VecDeque<T>) -> usize {
        self.quick_several(values)
    }
}

/// A receive of a kind of channel, made for several values.
pub(super) trait Takes<T>: Branch<Goods = T, Output = Result<T, RecvError>> {
    /// Receives values by one exchange, `max` at most, if nobody is in the way; how many.
    fn several(&self, out: &mut Vec<T>, max: usize) -> usize;
}

impl<T> Gives<T> for Send<T> {
    fn place(&mut self) -> &mut MaybeUninit<T> {
        Send::place(self)
    }

    fn quick_several(&self, values: &mut VecDeque<T>) -> usize {
        let shared = self.shared();
        match shared.linked() {
            None => shared.put_into_ring(values),
            Some(linked) if linked.room.is_none() => {
                let most = values.len();
                shared.put_into_block(linked, values, most)
            }
            Some(_) => 0,
        }
    }

    fn several(&self, values: &mut VecDeque<T>) -> usize {
        let shared: &Shared<T> = self.shared();
        let Some(linked) = shared.linked().filter(|linked| linked.room.is_some()) else {
            return self.quick_several(values);
        };
        let (mut by, before) = (By::plain(), values.len());
        shared.put_with_places(linked, values, &mut by);
        let count = before - values.len();
        by.wake();
        count
    }
}

impl<T> Takes<T> for Recv<T> {
    fn several(&self, out: &mut Vec<T>, max: usize) -> usize {
        let shared = self.shared();
        match shared.linked() {
            None => shared.take_from_ring(out, max),
            Some(linked) => {
                let mut by = By::plain();
                let count = shared.take_from_block(linked, out, max, &mut by);
                by.wake();
                count
            }
        }
    }
}

/// A send of what is in a deque, as a branch. It is through when one value was sent, or several at once.
pub struct Sending<'a, T, B> {
    branch: B,
    values: &'a mut VecDeque<T>,
    /// How many there were.
    asked: usize,
    is_closed: bool,
}

#[allow(private_bounds, reason = "public in name only, for select")]
impl<T, B: Gives<T>> Sending<'_, T, B> {
    /// How many were sent, of an operation that does not wait.
    fn sent(&self) -> usize {
        self.asked - self.values.len()
    }

    fn has_more(&self) -> bool {
        !self.is_closed && !self.values.is_empty()
    }

    /// Moves the first value to the place of the single send.
    fn load(&mut self) {
        let value = self.values.pop_front().expect("it is through where there is none");
        self.branch.place().write(value);
    }

    /// Moves it back.
    fn unload(&mut self) {
        // SAFETY: it is there, and gone from there then.
        let value = unsafe { self.branch.place().assume_init_read() };
        // (There is room, which nobody has used meanwhile.)
        self.values.push_front(value);
    }
}

/// What the branch of a batch does as that of its single operation.
macro_rules! delegate {
    ($goods:ty) => {
        fn wish(&self) -> (&'static str, Thing) {
            let (_, thing) = self.branch.wish();
            (Self::CALL, thing)
        }

        fn is_unsure(&self) -> bool {
            self.branch.is_unsure()
        }

        fn comes_soon(&self) -> bool {
            self.branch.comes_soon()
        }

        fn comes_more(&self) -> bool {
            self.branch.comes_more()
        }

        fn meets(&self) -> bool {
            self.branch.meets()
        }

        fn register(&mut self, node: &Waiter, pair: bool) -> bool {
            self.branch.register(node, pair)
        }

        fn leave(&self, node: &Waiter) -> bool {
            self.branch.leave(node)
        }

        fn touch(&self, node: &Waiter) -> bool {
            self.branch.touch(node)
        }

        unsafe fn finish(&mut self, node: NodeRef, tray: &mut Tray<$goods>) {
            // SAFETY: the caller's promise.
            unsafe { self.branch.finish(node, tray) }
        }

        fn is_worth_a_look(&self) -> bool {
            self.branch.is_worth_a_look()
        }

        fn pass_on(&mut self) {
            self.branch.pass_on();
        }

        fn told(&mut self) {
            self.branch.told();
        }

        fn restore(&mut self, tray: &mut Tray<$goods>) {
            self.branch.restore(tray);
        }
    };
}

impl<T, B> Sending<'_, T, B> {
    const CALL: &'static str = "send_many";
}

impl<T, B: Gives<T>> Branch for Sending<'_, T, B> {
    type Output = Result<usize, SendError<()>>;
    type Goods = ();

    delegate!(());

    fn quick(&mut self, tray: &mut Tray<()>) -> bool {
        if self.values.is_empty() {
            return true;
        }
        let is_sent = self.branch.quick_several(self.values) > 0;
        if is_sent {
            tray.put(());
        }
        is_sent
    }

    fn is_idle(&self) -> bool {
        !self.values.is_empty() && self.branch.is_idle()
    }

    fn attempt(&mut self, by: &mut By<'_>, tray: &mut Tray<()>) -> Attempt<()> {
        /// Moves the value back unless it is sent, also when the waker of somebody panics whom a close tells.
        struct Loaded<'s, 'a, T, B: Gives<T>>(&'s mut Sending<'a, T, B>, &'s mut Tray<()>);
        impl<T, B: Gives<T>> Drop for Loaded<'_, '_, T, B> {
            fn drop(&mut self) {
                if !self.1.is_full() {
                    self.0.unload();
                }
            }
        }
        if self.values.is_empty() {
            return Attempt::Ready(());
        }
        self.load();
        let loaded = Loaded(self, tray);
        loaded.0.branch.attempt(by, loaded.1)
    }

    fn stow(&mut self, node: NodeRef) {
        self.load();
        self.branch.stow(node);
    }

    fn unstow(&mut self, node: NodeRef) {
        self.branch.unstow(node);
        self.unload();
    }

    fn output(&mut self, tray: &mut Tray<()>) -> Self::Output {
        self.is_closed = tray.take().is_none() && !self.values.is_empty();
        match self.sent() {
            0 if self.is_closed => Err(SendError(())),
            sent => Ok(sent),
        }
    }

    /// Waits for the peer that has the node (2).
    fn abandon(&mut self, node: Waiter) -> bool {
        let mut pauses = 0;
        loop {
            match node.as_ref().state() {
                State::Open => {
                    thread::pause(pauses);
                    pauses += 1;
                }
                State::Look => return true,
                _ => {
                    node.free();
                    return false;
                }
            }
        }
    }
}

/// A receive, as a branch; or none, which is through at once.
pub struct UpTo<T, B> {
    branch: B,
    is_none: bool,
    _values: PhantomData<fn() -> T>,
}

impl<T, B> UpTo<T, B> {
    const CALL: &'static str = "recv_many";
}

impl<T, B: Takes<T>> Branch for UpTo<T, B> {
    type Output = Result<Option<T>, RecvError>;
    type Goods = T;

    delegate!(T);

    fn quick(&mut self, tray: &mut Tray<T>) -> bool {
        self.is_none || self.branch.quick(tray)
    }

    fn is_idle(&self) -> bool {
        !self.is_none && self.branch.is_idle()
    }

    fn attempt(&mut self, by: &mut By<'_>, tray: &mut Tray<T>) -> Attempt<()> {
        if self.is_none { Attempt::Ready(()) } else { self.branch.attempt(by, tray) }
    }

    fn output(&mut self, tray: &mut Tray<T>) -> Self::Output {
        match tray.take() {
            None if !self.is_none => Err(RecvError),
            value => Ok(value),
        }
    }

    fn abandon(&mut self, node: Waiter) -> bool {
        self.branch.abandon(node)
    }
}

/// What a future of a batch of sends is made of.
pub(super) struct Giving<'a, T, B: Gives<T>> {
    operation: Operation<Sending<'a, T, B>>,
}

impl<'a, T, B: Gives<T>> Giving<'a, T, B> {
    #[track_caller]
    pub(super) fn new(branch: B, values: &'a mut VecDeque<T>) -> Self {
        let asked = values.len();
        Giving { operation: Operation::new(Sending { branch, values, asked, is_closed: false }) }
    }

    pub(super) fn operation(&mut self) -> &mut Operation<Sending<'a, T, B>> {
        &mut self.operation
    }

    pub(super) fn waits(&self) -> bool {
        self.operation.waits()
    }

    pub(super) fn is_over(&self) -> bool {
        self.operation.is_over()
    }

    fn several(&mut self) -> usize {
        let Sending { branch, values, .. } = self.operation.branch_mut();
        branch.several(values)
    }

    /// Makes it fresh again if there is more to be sent.
    fn goes_on(&mut self) -> bool {
        self.operation.branch().has_more() && self.operation.renew()
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, SendError<()>>> {
        loop {
            if self.operation.is_fresh() && !budget::is_spent() {
                while self.several() > 0 {}
            }
            match self.operation.poll(cx) {
                Poll::Ready(_) if self.goes_on() => {}
                polled => return polled,
            }
        }
    }

    /// Sends what can be sent without waiting; `now`: that has to be told exactly. Fresh before, over after.
    fn go(&mut self, now: bool) {
        loop {
            while self.several() > 0 {}
            let mut tray = Tray::new();
            let is_through = if now {
                self.operation.try_now(&mut tray)
            } else {
                matches!(self.operation.attempt(&mut tray), Attempt::Ready(()))
            };
            if !is_through {
                return self.operation.end();
            }
            let _ = self.operation.output(&mut tray);
            if !self.goes_on() {
                return;
            }
        }
    }

    /// A select was won by it: the rest.
    pub(super) fn won(&mut self, sent: Result<usize, SendError<()>>) -> Result<usize, SendError<()>> {
        if self.goes_on() {
            self.go(false);
        }
        sent.map(|_| self.operation.branch().sent())
    }

    pub(super) fn try_now(mut self) -> Result<usize, TrySendError<()>> {
        self.go(true);
        let sending = self.operation.branch();
        match sending.sent() {
            0 if sending.is_closed => Err(TrySendError::Closed(())),
            0 if sending.asked > 0 => Err(TrySendError::Full(())),
            sent => Ok(sent),
        }
    }

    pub(super) fn block_on(&mut self, deadline: Option<Instant>) -> Result<usize, SendTimeoutError<()>> {
        loop {
            while self.several() > 0 {}
            let mut tray = Tray::new();
            if !self.operation.block_on_to(&mut tray, deadline) {
                self.operation.end();
                return match self.operation.branch().sent() {
                    0 => Err(SendTimeoutError::Timeout(())),
                    sent => Ok(sent),
                };
            }
            let sent = self.operation.output(&mut tray);
            if !self.goes_on() {
                return sent.map_err(SendTimeoutError::from);
            }
        }
    }
}

/// What a future of a batch of receives is made of.
pub(super) struct Taking<'a, T, B: Takes<T>> {
    operation: Operation<UpTo<T, B>>,
    out: &'a mut Vec<T>,
    /// How many more are asked for.
    left: usize,
    /// How many values were there before.
    before: usize,
}

impl<'a, T, B: Takes<T>> Taking<'a, T, B> {
    #[track_caller]
    pub(super) fn new(branch: B, out: &'a mut Vec<T>, max: usize) -> Self {
        let before = out.len();
        let branch = UpTo { branch, is_none: max == 0, _values: PhantomData };
        Taking { operation: Operation::new(branch), out, left: max, before }
    }

    pub(super) fn operation(&mut self) -> &mut Operation<UpTo<T, B>> {
        &mut self.operation
    }

    pub(super) fn waits(&self) -> bool {
        self.operation.waits()
    }

    pub(super) fn is_over(&self) -> bool {
        self.operation.is_over()
    }

    fn received(&self) -> usize {
        self.out.len() - self.before
    }

    fn several(&mut self) -> usize {
        if self.left == 0 {
            return 0;
        }
        let count = self.operation.branch().branch.several(self.out, self.left);
        self.left -= count;
        count
    }

    /// Receives what is there. Fresh before, over after.
    fn several_first(&mut self) -> bool {
        if self.several() == 0 {
            return false;
        }
        self.go(false);
        true
    }

    fn push(&mut self, value: T) {
        self.out.push(value);
        self.left -= 1;
    }

    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<usize, RecvError>> {
        if self.operation.is_fresh() && !budget::is_spent() && self.several_first() {
            budget::spend();
            return Poll::Ready(Ok(self.received()));
        }
        self.operation.poll(cx).map(|first| self.won(first))
    }

    /// Receives what there is without waiting; `now`: that has to be told exactly. True: the channel is closed and empty. Fresh
    /// before, over after.
    fn go(&mut self, now: bool) -> bool {
        loop {
            while self.several() > 0 {}
            let mut tray = Tray::new();
            let is_through = self.left > 0
                && if now {
                    self.operation.try_now(&mut tray)
                } else {
                    matches!(self.operation.attempt(&mut tray), Attempt::Ready(()))
                };
            if !is_through {
                self.operation.end();
                return false;
            }
            let Ok(value) = self.operation.output(&mut tray) else { return true };
            value.into_iter().for_each(|value| self.push(value));
            self.operation.renew();
        }
    }

    /// The first value has come: the rest.
    pub(super) fn won(&mut self, first: Result<Option<T>, RecvError>) -> Result<usize, RecvError> {
        if let Some(value) = first? {
            self.push(value);
            self.operation.renew();
            self.go(false);
        }
        Ok(self.received())
    }

    pub(super) fn try_now(mut self) -> Result<usize, TryRecvError> {
        let is_none = self.left == 0;
        let is_closed = self.go(true);
        match self.received() {
            0 if is_closed => Err(TryRecvError::Closed),
            0 if !is_none => Err(TryRecvError::Empty),
            received => Ok(received),
        }
    }

    pub(super) fn block_on(&mut self, deadline: Option<Instant>) -> Result<usize, RecvTimeoutError> {
        if self.several_first() {
            return Ok(self.received());
        }
        match self.operation.block_on(deadline) {
            None => Err(RecvTimeoutError::Timeout),
            Some(first) => self.won(first).map_err(RecvTimeoutError::from),
        }
    }
}

/// Makes the two futures of a kind of channel, from its branches.
macro_rules! batches {
    ($handle:ident) => {
        /// A send of all values in a deque, as there is room for them.
        ///
        /// Made by [`Sender::send_many`]. Dropping it before it completes cancels the rest: what was not sent is in the deque, in
        /// order. Should a receiver be taking a value on another thread just then, the drop waits for that to be over: a few
        /// instructions, unless that thread was preempted in the middle of them.
        #[must_use = "futures do nothing unless polled"]
        pub struct SendMany<'a, T> {
            giving: Giving<'a, T, Send<T>>,
            _sender: PhantomData<&'a Sender<T>>,
        }

        /// A receive of several values, that waits for the first of them only.
        ///
        /// Made by [`Receiver::recv_many`]. Dropping it before it completes cancels the receive and never loses a value.
        #[must_use = "futures do nothing unless polled"]
        pub struct RecvMany<'a, T> {
            taking: Taking<'a, T, Recv<T>>,
            _receiver: PhantomData<&'a Receiver<T>>,
        }

        impl<'a, T> SendMany<'a, T> {
            #[track_caller]
            pub(super) fn new(sender: &'a Sender<T>, values: &'a mut VecDeque<T>) -> Self {
                // SAFETY: the sender is borrowed for as long as the future lives, alone where there is one only.
                let branch = unsafe { Send::empty(sender.$handle()) };
                SendMany { giving: Giving::new(branch, values), _sender: PhantomData }
            }

            pub(super) fn try_now(sender: &'a Sender<T>, values: &'a mut VecDeque<T>) -> Result<usize, TrySendError<()>> {
                // SAFETY: as above.
                let branch = unsafe { Send::empty(sender.$handle()) };
                Giving::new(branch, values).try_now()
            }

            /// Sends from a plain thread, which sleeps until all are sent.
            ///
            /// # Errors
            /// The channel is closed, and none was sent.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
            #[track_caller]
            pub fn wait(mut self) -> Result<usize, SendError<()>> {
                may_block("send_many");
                self.giving.block_on(None).map_err(|_| SendError(()))
            }

            /// As [`wait`](Self::wait), for `d` at most: gives how many were sent by then. With `d` zero it tries once; with
            /// [`Duration::MAX`] it waits for ever.
            ///
            /// # Errors
            /// None was sent: the channel is closed, or the time was up.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_timeout(mut self, d: Duration) -> Result<usize, SendTimeoutError<()>> {
                may_block("send_many");
                self.giving.block_on(deadline_after(d))
            }

            /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`. One in the past tries once.
            ///
            /// # Errors
            /// As [`wait_timeout`](Self::wait_timeout).
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_deadline(mut self, t: Instant) -> Result<usize, SendTimeoutError<()>> {
                may_block("send_many");
                self.giving.block_on(Some(t))
            }

            #[allow(private_interfaces, reason = "for select")]
            pub(crate) fn operation(&mut self) -> &mut Operation<Sending<'a, T, Send<T>>> {
                self.giving.operation()
            }

            /// A select was won by it.
            pub(crate) fn won(&mut self, sent: Result<usize, SendError<()>>) -> Result<usize, SendError<()>> {
                self.giving.won(sent)
            }
        }

        impl<'a, T> RecvMany<'a, T> {
            #[track_caller]
            pub(super) fn new(receiver: &'a Receiver<T>, out: &'a mut Vec<T>, max: usize) -> Self {
                // SAFETY: the receiver is borrowed for as long as the future lives, alone where there is one only.
                let branch = unsafe { Recv::new(receiver.$handle()) };
                RecvMany { taking: Taking::new(branch, out, max), _receiver: PhantomData }
            }

            pub(super) fn try_now(
                receiver: &'a Receiver<T>,
                out: &'a mut Vec<T>,
                max: usize,
            ) -> Result<usize, TryRecvError> {
                // SAFETY: as above.
                let branch = unsafe { Recv::new(receiver.$handle()) };
                Taking::new(branch, out, max).try_now()
            }

            /// Receives on a plain thread, which sleeps until there is a value.
            ///
            /// # Errors
            /// The channel is closed and empty.
            ///
            /// # Panics
            /// Inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block: await the future there.
            #[track_caller]
            pub fn wait(mut self) -> Result<usize, RecvError> {
                may_block("recv_many");
                self.taking.block_on(None).map_err(|_| RecvError)
            }

            /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once; with [`Duration::MAX`] it waits for
            /// ever.
            ///
            /// # Errors
            /// The channel is closed and empty, or the time was up and nothing was taken.
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_timeout(mut self, d: Duration) -> Result<usize, RecvTimeoutError> {
                may_block("recv_many");
                self.taking.block_on(deadline_after(d))
            }

            /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`. One in the past tries once.
            ///
            /// # Errors
            /// As [`wait_timeout`](Self::wait_timeout).
            ///
            /// # Panics
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_deadline(mut self, t: Instant) -> Result<usize, RecvTimeoutError> {
                may_block("recv_many");
                self.taking.block_on(Some(t))
            }

            #[allow(private_interfaces, reason = "for select")]
            pub(crate) fn operation(&mut self) -> &mut Operation<UpTo<T, Recv<T>>> {
                self.taking.operation()
            }

            /// A select was won by it, with its first value.
            pub(crate) fn won(&mut self, first: Result<Option<T>, RecvError>) -> Result<usize, RecvError> {
                self.taking.won(first)
            }
        }

        batches!(@future SendMany, giving, Result<usize, SendError<()>>);
        batches!(@future RecvMany, taking, Result<usize, RecvError>);
    };
    (@future $name:ident, $batch:ident, $output:ty) => {
        impl<T> Future for $name<'_, T> {
            type Output = $output;

            fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
                self.$batch.poll(cx)
            }
        }

        impl<T> FusedFuture for $name<'_, T> {
            fn is_terminated(&self) -> bool {
                self.$batch.is_over()
            }
        }

        impl<T> Unpin for $name<'_, T> {}

        /// Leaves the queue. The borrow of the handle has to last until then, which a drop of its own says.
        impl<T> Drop for $name<'_, T> {
            #[inline(always)]
            fn drop(&mut self) {}
        }

        impl<T> fmt::Debug for $name<'_, T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($name)).field("waits", &self.$batch.waits()).finish_non_exhaustive()
            }
        }
    };
}
pub(super) use batches;

batches!(shared);
