//! What a select can wait for: leno's operations, which are claimed, and any other future, which is polled.
//!
//! The traits here are public in name only: they are what the sealed traits of `select` are made of.

#![allow(private_interfaces, private_bounds, reason = "nobody outside the crate can name these traits")]

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::channel::{
    Closed, RecvBranch, RecvError, RecvFuture, SendBranch, SendError, SendFuture, WatchBranch,
};
use crate::sync::{Acquire, Lock, MutexGuard};
use crate::wait::{Attempt, Branch, Cancelled, Enter, NodeRef, Nudged, Operation, Waiter};

/// A future of leno that is one operation.
pub trait Operated {
    type Branch: Branch;
    type Output;

    /// Whether it is somebody else's, who goes on with it after the select.
    const LENT: bool;

    fn operation(&mut self) -> &mut Operation<Self::Branch>;

    fn convert(&mut self, output: <Self::Branch as Branch>::Output) -> Self::Output;
}

/// What the driver does with a branch, whatever its type; the outcome stays in the arm.
///
/// The methods are those of [`Branch`], under the same conditions.
pub trait Arm {
    /// Whether it can only be polled.
    fn is_foreign(&self) -> bool;

    /// Whether the operation outlives the select.
    fn is_lent(&self) -> bool;

    /// Whether nothing was begun with the operation.
    fn is_fresh(&mut self) -> bool;

    /// Attempts, as [`Arm::attempt`], on a fresh operation; there is nothing to be undone afterwards.
    fn attempt_fresh(&mut self, cx: &mut Context<'_>) -> Attempt<()>;

    /// Ends a wait that the operation began as a future of its own, and borrows it until [`Arm::end`]. True: it had
    /// completed, then or in a select before, which was left or panicked before it could say so.
    fn start(&mut self) -> bool;

    /// Gives a started operation back to its owner: it can be polled again, unless it has completed.
    fn end(&mut self);

    /// `Ready`: the outcome is in the arm.
    fn attempt(&mut self, own: Option<NodeRef>, cx: &mut Context<'_>) -> Attempt<()>;

    /// Stows and enters; where it does not wait, the node is empty again.
    ///
    /// # Safety
    /// The node stands in no queue.
    unsafe fn enter(&mut self, waiter: &Waiter, own: Option<NodeRef>) -> Enter<()>;

    fn is_worth_a_look(&mut self) -> bool;

    fn nudge(&mut self) -> Nudged;

    fn stow(&mut self, waiter: &Waiter);

    fn unstow(&mut self, waiter: &Waiter);

    /// # Safety
    /// As for [`Branch::remove`].
    unsafe fn remove(&mut self, waiter: &Waiter) -> bool;

    /// # Safety
    /// As for [`Branch::finish`].
    unsafe fn finish(&mut self, waiter: &Waiter);

    /// Disposes of the outcome of a select that was dropped: a value goes back, a lock is freed, and the operation can
    /// be polled again. What was sent stays sent, and its outcome here.
    fn discard(&mut self, rank: u64);

    fn pass_on(&mut self);

    fn place(&mut self) -> Option<(*const (), bool)>;
}

/// An arm whose outcome can be taken, once it was completed.
pub trait Take: Arm {
    type Output;

    fn take(&mut self) -> Self::Output;
}

/// The branches of one select.
pub trait Arms {
    fn count(&self) -> usize;

    fn arm(&mut self, index: usize) -> &mut dyn Arm;

    /// Whether nothing was begun with any of the operations.
    fn are_fresh(&mut self) -> bool;

    /// Whether it takes no part.
    fn is_off(&self, _index: usize) -> bool {
        false
    }
}

/// An operation with a place for its outcome.
pub struct Claimed<O: Operated> {
    future: O,
    started: bool,
    output: Option<<O::Branch as Branch>::Output>,
}

/// A future with a place for its outcome.
pub struct Polled<F: Future> {
    future: F,
    output: Option<F::Output>,
}

impl<O: Operated> Claimed<O> {
    pub(super) fn new(future: O) -> Self {
        Claimed { future, started: false, output: None }
    }

    fn branch(&mut self) -> &mut O::Branch {
        self.future.operation().branch_mut()
    }

    /// Makes an operation that has completed as one that was not begun.
    pub(super) fn renew(&mut self) {
        self.future.operation().set_lent(false);
    }

    /// Whether the operation has nothing left to do.
    pub(super) fn is_spent(&mut self) -> bool {
        self.branch().is_spent()
    }
}

impl<O: Operated> Take for Claimed<O> {
    type Output = O::Output;

    fn take(&mut self) -> O::Output {
        let output = self.output.take().expect("the arm was completed");
        self.future.convert(output)
    }
}

impl<F: Future + Unpin> Polled<F> {
    pub(super) fn new(future: F) -> Self {
        Polled { future, output: None }
    }
}

impl<F: Future + Unpin> Take for Polled<F> {
    type Output = F::Output;

    fn take(&mut self) -> F::Output {
        self.output.take().expect("the arm was completed")
    }
}

impl<O: Operated> Arm for Claimed<O> {
    fn is_foreign(&self) -> bool {
        false
    }

    fn is_lent(&self) -> bool {
        O::LENT
    }

    #[inline]
    fn is_fresh(&mut self) -> bool {
        self.output.is_none() && self.future.operation().is_fresh()
    }

    #[inline]
    fn attempt_fresh(&mut self, cx: &mut Context<'_>) -> Attempt<()> {
        let attempt = self.attempt(None, cx);
        if attempt.is_ready() {
            self.future.operation().set_lent(true);
        }
        attempt
    }

    fn start(&mut self) -> bool {
        if self.output.is_some() {
            return true;
        }
        assert!(!self.future.operation().is_over(), "a leno operation was selected after it had completed");
        self.output = match self.future.operation().cancel(true) {
            Cancelled::Done(output, _) => Some(output),
            Cancelled::Undone | Cancelled::Taken => None,
        };
        self.future.operation().set_lent(true);
        self.started = true;
        self.output.is_some()
    }

    fn end(&mut self) {
        if std::mem::take(&mut self.started) && self.output.is_none() && !self.branch().is_spent() {
            self.future.operation().set_lent(false);
        }
    }

    fn attempt(&mut self, own: Option<NodeRef>, _cx: &mut Context<'_>) -> Attempt<()> {
        match self.branch().attempt(own) {
            Attempt::Ready(output) => {
                self.output = Some(output);
                Attempt::Ready(())
            }
            Attempt::Wait => Attempt::Wait,
            Attempt::Again => Attempt::Again,
        }
    }

    unsafe fn enter(&mut self, waiter: &Waiter, own: Option<NodeRef>) -> Enter<()> {
        self.branch().stow(waiter);
        // SAFETY: the caller's promise.
        match unsafe { self.branch().enter(waiter, own) } {
            Enter::Ready(output) => {
                self.output = Some(output);
                Enter::Ready(())
            }
            Enter::Refused => {
                self.branch().unstow(waiter);
                Enter::Refused
            }
            Enter::Waits => Enter::Waits,
            Enter::Look => Enter::Look,
        }
    }

    fn is_worth_a_look(&mut self) -> bool {
        self.branch().is_worth_a_look()
    }

    fn nudge(&mut self) -> Nudged {
        self.branch().nudge()
    }

    fn stow(&mut self, waiter: &Waiter) {
        self.branch().stow(waiter);
    }

    fn unstow(&mut self, waiter: &Waiter) {
        self.branch().unstow(waiter);
    }

    unsafe fn remove(&mut self, waiter: &Waiter) -> bool {
        // SAFETY: the caller's promise.
        unsafe { self.branch().remove(waiter) }
    }

    unsafe fn finish(&mut self, waiter: &Waiter) {
        // SAFETY: the caller's promise.
        self.output = Some(unsafe { self.branch().finish(waiter) });
    }

    fn discard(&mut self, rank: u64) {
        if self.branch().is_spent() {
            return;
        }
        if let Some(output) = self.output.take() {
            self.future.operation().set_lent(false);
            self.branch().discard(output, rank);
        }
    }

    fn pass_on(&mut self) {
        self.branch().pass_on();
    }

    fn place(&mut self) -> Option<(*const (), bool)> {
        self.branch().place()
    }
}

impl<F: Future + Unpin> Arm for Polled<F> {
    fn is_foreign(&self) -> bool {
        true
    }

    fn is_lent(&self) -> bool {
        false
    }

    fn is_fresh(&mut self) -> bool {
        true
    }

    fn attempt_fresh(&mut self, cx: &mut Context<'_>) -> Attempt<()> {
        self.attempt(None, cx)
    }

    fn start(&mut self) -> bool {
        false
    }

    fn end(&mut self) {}

    fn attempt(&mut self, _own: Option<NodeRef>, cx: &mut Context<'_>) -> Attempt<()> {
        match Pin::new(&mut self.future).poll(cx) {
            Poll::Ready(output) => {
                self.output = Some(output);
                Attempt::Ready(())
            }
            Poll::Pending => Attempt::Wait,
        }
    }

    unsafe fn enter(&mut self, _waiter: &Waiter, _own: Option<NodeRef>) -> Enter<()> {
        unreachable!("a foreign future enters no queue")
    }

    fn is_worth_a_look(&mut self) -> bool {
        false
    }

    fn nudge(&mut self) -> Nudged {
        Nudged::Settled
    }

    fn stow(&mut self, _waiter: &Waiter) {}

    fn unstow(&mut self, _waiter: &Waiter) {}

    unsafe fn remove(&mut self, _waiter: &Waiter) -> bool {
        unreachable!("a foreign future enters no queue")
    }

    unsafe fn finish(&mut self, _waiter: &Waiter) {
        unreachable!("a foreign future enters no queue")
    }

    fn discard(&mut self, _rank: u64) {}

    fn pass_on(&mut self) {}

    fn place(&mut self) -> Option<(*const (), bool)> {
        None
    }
}

/// Calls a macro with the tuples of 1 to 16 arms: for each arm its type, its name in [`super::macros::Which`], its index.
macro_rules! each_tuple {
    ($callback:ident) => {
        $callback! {
            [A b0 0]
            [A b0 0, B b1 1]
            [A b0 0, B b1 1, C b2 2]
            [A b0 0, B b1 1, C b2 2, D b3 3]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9, K b10 10]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9, K b10 10, L b11 11]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9, K b10 10, L b11 11, M b12 12]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9, K b10 10, L b11 11, M b12 12, N b13 13]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9, K b10 10, L b11 11, M b12 12, N b13 13, O b14 14]
            [A b0 0, B b1 1, C b2 2, D b3 3, E b4 4, F b5 5, G b6 6, H b7 7, I b8 8, J b9 9, K b10 10, L b11 11, M b12 12, N b13 13, O b14 14, P b15 15]
        }
    };
}
pub(super) use each_tuple;

macro_rules! tuples {
    ($([$($T:ident $name:ident $index:tt),+])+) => {$(
        impl<$($T: Arm),+> Arms for ($($T,)+) {
            fn count(&self) -> usize {
                [$($index),+].len()
            }

            fn arm(&mut self, index: usize) -> &mut dyn Arm {
                match index {
                    $($index => &mut self.$index,)+
                    _ => unreachable!("a select has no branch {index}"),
                }
            }

            #[inline]
            fn are_fresh(&mut self) -> bool {
                $(self.$index.is_fresh())&&+
            }
        }
    )+};
}

each_tuple!(tuples);

impl<O: Operated> Operated for &mut O {
    type Branch = O::Branch;
    type Output = O::Output;

    const LENT: bool = true;

    fn operation(&mut self) -> &mut Operation<O::Branch> {
        (**self).operation()
    }

    fn convert(&mut self, output: <O::Branch as Branch>::Output) -> O::Output {
        (**self).convert(output)
    }
}

macro_rules! operated {
    ($([$($generics:tt)*] $future:ty as $branch:ty => $output:ty, $convert:expr;)+) => {$(
        impl<$($generics)*> Operated for $future {
            type Branch = $branch;
            type Output = $output;

            const LENT: bool = false;

            fn operation(&mut self) -> &mut Operation<Self::Branch> {
                <$future>::operation(self)
            }

            fn convert(&mut self, output: <Self::Branch as Branch>::Output) -> Self::Output {
                $convert(self, output)
            }
        }
    )+};
}

operated! {
    ['a, T] SendFuture<'a, T> as SendBranch<T> => Result<(), SendError<T>>, |_, sent| sent;
    ['a, T] RecvFuture<'a, T> as RecvBranch<T> => Result<T, RecvError>, |_, received| received;
    ['a, T] Closed<'a, T> as WatchBranch<T> => (), |_, ()| ();
    ['a, T: ?Sized] Lock<'a, T> as Acquire => MutexGuard<'a, T>, Lock::output;
}
