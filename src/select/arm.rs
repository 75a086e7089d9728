//! What a select can wait for: leno's operations, which are claimed, and any other future, which is polled.
//!
//! The traits here are public in name only: they are what the sealed traits of `select` are made of.

#![allow(private_interfaces, private_bounds, reason = "nobody outside the crate can name these traits")]

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use super::macros::Which;
use crate::task::budget;
use crate::task::error::shielded;
use crate::wait::{Attempt, Branch, By, Cancelled, Operated, Tray, Waiter, both, for_all};

/// What the driver does with a branch, whatever its type; the outcome stays in the arm. For a future that can only be polled, most
/// of this is not called, or does nothing.
pub trait Arm {
    /// It is left pending: that is noted of the fiber that polls it, unless its own poll has done so.
    fn note(&mut self) {}

    /// Whether nothing was begun with the operation.
    fn is_fresh(&mut self) -> bool {
        true
    }

    /// Ends a wait that the operation began as a future of its own. True: it had completed, then or in a select before,
    /// which was left or panicked before it could say so.
    fn start(&mut self) -> bool {
        false
    }

    /// Leaves, if it waits as a future of its own: another one had completed. Its own outcome, if that is there, stays with it.
    fn stand_down(&mut self) {}

    /// Whether its outcome is there.
    fn is_through(&mut self) -> bool;

    /// Whether one look says that there is nothing for an operation with which nothing was begun.
    fn is_idle(&mut self) -> bool {
        false
    }

    /// One try, on the shortest way, of an operation with which nothing was begun.
    fn quick(&mut self) -> bool {
        false
    }

    /// Looks, for an operation that is in no line. `Ready`: the outcome is in the arm. `by`: the select has begun to wait.
    fn attempt(&mut self, by: Option<&mut By>, cx: &mut Context<'_>) -> Attempt<()>;

    /// Whether it may have found nothing only because somebody is in the middle of something. See [`Branch::is_unsure`].
    fn is_unsure(&mut self) -> bool {
        false
    }

    /// Enters the line, with what is to be sent. False: there is something to look at. See [`Branch::register`].
    fn enter(&mut self, _node: &Waiter, _pair: bool) -> bool {
        unreachable!("a foreign future enters no line")
    }

    /// Moves what is to be sent into a node that another one stands for.
    fn lend(&mut self, _node: &Waiter) {}

    /// Takes what is to be sent out of the node again, if it is there: nothing has happened.
    fn end_loan(&mut self, _node: &Waiter) {}

    /// A peer has given this node back. See [`Branch::given_back`].
    fn given_back(&mut self, _node: &Waiter) {}

    /// Whether both sides of one thing can wait where it does: a rendezvous.
    fn has_both_sides(&mut self) -> bool {
        false
    }

    /// See [`Branch::opposite`].
    fn opposite(&mut self) -> Option<usize> {
        Some(0)
    }

    /// Leaves the line, if it stands there, and takes back what is to be sent, as nobody else takes that any more. False: a
    /// peer has the node.
    fn leave(&mut self, _node: &Waiter, _stands: bool) -> bool {
        unreachable!("a foreign future enters no line")
    }

    /// Leaves the line, if it had better look, although nobody has told it to. See [`Branch::is_worth_a_look`]. False: it stands,
    /// or a peer has the node.
    fn step_out(&mut self, _node: &Waiter) -> bool {
        false
    }

    /// A peer has claimed the select by this branch: the operation goes on with the node.
    fn adopt(&mut self, _node: Waiter) {
        unreachable!("nobody claims a foreign future")
    }

    /// Takes the outcome of an operation that has adopted a node, if that is there. True: it is in the arm.
    fn take_adopted(&mut self) -> bool {
        false
    }

    /// The select is dropped, and a peer has completed this operation, or does so just now: what it receives goes to the next
    /// in line. A send waits on as a future of its own.
    fn let_go(&mut self) {}

    /// Its outcome was taken just now, and may have to be disposed of later.
    fn note_taken(&mut self) {}

    /// Disposes of the outcome of a select that was dropped: a value goes back, a lock is freed, and the operation can
    /// be polled again. What was sent stays sent, as the operation says then.
    fn discard(&mut self) {}

    /// It was told to look, and does so.
    fn told(&mut self) {}

    /// It was told to look, or told something, and leaves; or it was only asked whether it would have to wait.
    fn pass_on(&mut self) {}

    /// Moves its outcome into an `Option` of the outcome's type.
    ///
    /// # Safety
    /// `outcome` is the address of one. The arm was completed.
    unsafe fn take_into(&mut self, outcome: *mut ());

    /// Moves what it was to send, and has not sent, into an `Option` of its type: the operation is over.
    ///
    /// # Safety
    /// `to` is the address of one, and the arm is of a send.
    unsafe fn take_unsent(&mut self, _to: *mut ()) {}

    /// Makes a receive that has completed as new.
    fn renew(&mut self) {}
}

/// An arm whose outcome can be taken, once it was completed.
pub trait Take: Arm {
    type Output;

    /// Whether it can only be polled.
    const FOREIGN: bool;

    /// Whether there is something to drop at its end that may be foreign.
    const ENDS: bool;

    fn take(&mut self) -> Self::Output;

    /// Gives back what was taken, as [`Arm::discard`] does.
    fn give_back(&mut self, output: Self::Output);

    /// Drops what it was to send, or the future, unless that was only lent.
    fn end(&mut self);
}

/// The branches of one select.
pub(super) trait Arms {
    fn count(&self) -> usize;

    fn arm(&mut self, index: usize) -> &mut dyn Arm;

    /// Whether nothing was begun with any of the operations that take part. Asked before a look that may be the first.
    fn are_fresh(&mut self) -> bool;

    /// Whether it takes no part.
    fn is_off(&self, _index: usize) -> bool {
        false
    }

    /// Whether it takes part, and can only be polled.
    fn is_foreign(&self, index: usize) -> bool;

    /// Whether it takes part, and can be claimed.
    fn is_claimed(&self, index: usize) -> bool {
        !self.is_off(index) && !self.is_foreign(index)
    }
}

/// Arms of several types, for the time of a poll.
pub struct Open<'s, 'a> {
    arms: &'s mut [&'a mut (dyn Arm + 'a)],
    /// Those that take no part.
    off: u32,
    /// Those that take part, and can only be polled.
    foreign: u32,
}

impl Arms for Open<'_, '_> {
    #[inline]
    fn count(&self) -> usize {
        self.arms.len()
    }

    #[inline]
    fn arm(&mut self, index: usize) -> &mut dyn Arm {
        self.arms[index]
    }

    #[inline]
    fn are_fresh(&mut self) -> bool {
        let off = self.off;
        self.arms.iter_mut().enumerate().all(|(index, arm)| off & (1 << index) != 0 || arm.is_fresh())
    }

    #[inline]
    fn is_off(&self, index: usize) -> bool {
        self.off & (1 << index) != 0
    }

    #[inline]
    fn is_foreign(&self, index: usize) -> bool {
        self.foreign & (1 << index) != 0
    }
}

/// Several arms, the types of which are known.
pub trait Tuple {
    /// Which of them has completed, and with what.
    type Which;

    /// How many.
    const COUNT: usize;

    /// Whether all that take part are operations with which nothing was begun.
    fn are_fresh(&mut self, off: u32) -> bool;

    /// Those that take part, and of which one look does not say that there is nothing.
    fn not_idle(&mut self, off: u32) -> u32;

    /// One try of this one, on the shortest way.
    fn quick(&mut self, index: usize) -> bool;

    /// Ends all but the winner. See [`end_losers`].
    fn end_losers(&mut self, winner: usize);

    /// Forgets the types; `off`: those that take no part.
    fn open<R>(&mut self, off: u32, f: impl FnOnce(&mut Open<'_, '_>) -> R) -> R;

    /// Takes the outcome of one that has completed.
    fn take(&mut self, index: usize) -> Self::Which;

    /// Gives back what was taken.
    fn give_back(&mut self, which: Self::Which);
}

/// Ends all but the winner. If that panics, as they drop something or wake somebody, nobody gets the outcome: `give_back` disposes
/// of it.
#[inline]
pub(super) fn end_losers<A: Tuple, F: FnOnce(&mut A)>(arms: &mut A, winner: usize, give_back: F) {
    struct Ending<'a, A, F: FnOnce(&mut A)>(&'a mut A, Option<F>);
    impl<A, F: FnOnce(&mut A)> Drop for Ending<'_, A, F> {
        #[cold]
        #[inline(never)]
        fn drop(&mut self) {
            if let Some(give_back) = self.1.take() {
                shielded(|| give_back(self.0));
            }
        }
    }
    let ending = Ending(arms, Some(give_back));
    ending.0.end_losers(winner);
    std::mem::forget(ending);
}

/// An operation with a place for its outcome.
pub struct Claimed<O: Operated> {
    /// (Before the future, which may keep alive what an outcome points to.)
    tray: Tray<<O::Branch as Branch>::Goods>,
    future: O,
    /// Whether its outcome is there: what is on the tray, or nothing but that it is closed.
    is_through: bool,
}

/// A future with a place for its outcome.
pub struct Polled<F: Future> {
    /// Until it ends. (One that is pinned elsewhere ends there.)
    future: Option<F>,
    output: Option<F::Output>,
}

impl<O: Operated> Claimed<O> {
    pub(super) fn new(future: O) -> Self {
        Claimed { future, tray: Tray::new(), is_through: false }
    }

    #[inline(never)]
    fn attempt_slowly(&mut self, by: Option<&mut By>) -> Attempt<()> {
        if self.is_through {
            // It had completed, and somebody's waker has panicked then.
            return Attempt::Ready(());
        }
        let Some(by) = by else {
            let mut by = By::plain();
            let attempt = self.attempt_by(&mut by);
            by.poke();
            by.end();
            return attempt;
        };
        self.attempt_by(by)
    }

    #[inline(always)]
    fn attempt_by(&mut self, by: &mut By) -> Attempt<()> {
        let attempt = self.future.operation().attempt_by(by, &mut self.tray);
        self.is_through = matches!(attempt, Attempt::Ready(()));
        // The outcome is in its place, should a waker panic.
        if by.has_wakes() {
            by.wake();
        }
        attempt
    }
}

impl<O: Operated> Take for Claimed<O> {
    type Output = O::Output;

    const FOREIGN: bool = false;

    const ENDS: bool = O::Branch::DISCARDS;

    #[inline]
    fn take(&mut self) -> O::Output {
        assert!(std::mem::take(&mut self.is_through), "the arm was completed");
        let output = self.future.operation().output(&mut self.tray);
        self.future.convert(output)
    }

    fn give_back(&mut self, output: O::Output) {
        self.future.give_back(output);
    }

    #[inline]
    fn end(&mut self) {
        self.future.end();
    }
}

impl<F: Future> Polled<F> {
    pub(super) fn new(future: F) -> Self {
        Polled { future: Some(future), output: None }
    }
}

impl<F: Future + Unpin> Take for Polled<F> {
    type Output = F::Output;

    const FOREIGN: bool = true;

    const ENDS: bool = std::mem::needs_drop::<F>();

    fn take(&mut self) -> Self::Output {
        self.output.take().expect("the arm was completed")
    }

    fn give_back(&mut self, output: Self::Output) {
        drop(output);
    }

    #[inline]
    fn end(&mut self) {
        self.future = None;
    }
}

impl<O: Operated> Arm for Claimed<O> {
    fn note(&mut self) {
        self.future.operation().note();
    }

    #[inline]
    fn is_fresh(&mut self) -> bool {
        !self.is_through && self.future.operation().is_fresh()
    }

    fn is_through(&mut self) -> bool {
        self.is_through
    }

    fn start(&mut self) -> bool {
        if self.is_through {
            return true;
        }
        let operation = self.future.operation();
        assert!(
            !operation.is_over(),
            "a leno operation, a `{}`{}, was selected after it had completed: disable its branch (in `select!` with an `if`), \
             or make a new one",
            O::CALL,
            operation.begun()
        );
        if operation.retell(&mut self.tray)
            || matches!(operation.cancel(Some(&mut self.tray)), Cancelled::Done)
        {
            self.is_through = true;
            return true;
        }
        assert!(
            operation.is_fresh(),
            "a leno operation was selected while lent to another select, which was forgotten"
        );
        // (It may be over before this one waits again.)
        operation.branch_mut().lost();
        false
    }

    #[cold]
    fn stand_down(&mut self) {
        // (Both, also if the drop of a waker panics.)
        both(
            self.future.operation(),
            |operation| operation.stand_down(),
            |operation| {
                if operation.is_fresh() {
                    operation.branch_mut().lost();
                }
            },
        );
    }

    #[inline(always)]
    fn is_idle(&mut self) -> bool {
        self.future.operation().branch().idle().is_some()
    }

    #[inline(always)]
    fn quick(&mut self) -> bool {
        debug_assert!(!self.is_through);
        self.is_through = self.future.operation().quick(&mut self.tray);
        self.is_through
    }

    #[inline]
    fn attempt(&mut self, by: Option<&mut By>, _cx: &mut Context<'_>) -> Attempt<()> {
        if !self.is_through {
            if self.quick() {
                return Attempt::Ready(());
            }
            if self.is_idle() {
                return Attempt::Wait;
            }
        }
        self.attempt_slowly(by)
    }

    fn is_unsure(&mut self) -> bool {
        self.future.operation().branch().is_unsure()
    }

    fn enter(&mut self, node: &Waiter, pair: bool) -> bool {
        debug_assert!(!self.is_through);
        self.future.operation().enter(node, pair)
    }

    fn lend(&mut self, node: &Waiter) {
        self.future.operation().lend(node);
    }

    fn end_loan(&mut self, node: &Waiter) {
        self.future.operation().end_loan(node);
    }

    fn given_back(&mut self, node: &Waiter) {
        self.future.operation().branch_mut().given_back(node.as_ref());
    }

    fn has_both_sides(&mut self) -> bool {
        self.future.operation().branch().has_both_sides()
    }

    fn opposite(&mut self) -> Option<usize> {
        self.future.operation().branch().opposite()
    }

    fn leave(&mut self, node: &Waiter, stands: bool) -> bool {
        let operation = self.future.operation();
        let is_out = !stands || operation.branch_mut().leave(node);
        operation.end_loan(node);
        operation.branch_mut().lost();
        is_out
    }

    fn step_out(&mut self, node: &Waiter) -> bool {
        let operation = self.future.operation();
        let is_out = operation.branch().is_worth_a_look() && operation.branch_mut().leave(node);
        if is_out {
            operation.end_loan(node);
        }
        is_out
    }

    fn adopt(&mut self, node: Waiter) {
        self.future.operation().adopt(node);
    }

    fn take_adopted(&mut self) -> bool {
        if self.is_through {
            // A waker that was to be told of it has panicked.
            return true;
        }
        let operation = self.future.operation();
        self.is_through = operation.adopted(&mut self.tray);
        if !self.is_through && operation.is_fresh() {
            // It was told to look: a send, of a close.
            let mut by = By::plain();
            self.is_through = matches!(operation.attempt_by(&mut by, &mut self.tray), Attempt::Ready(()));
            by.wake();
        }
        self.is_through
    }

    fn let_go(&mut self) {
        if O::Branch::ONCE {
            // Its outcome, there already or not, is for whoever asks next: the future, if that was lent.
            return;
        }
        // The next one in line may be woken by it; should that panic, the operation is still as one that was not begun.
        both(
            self.future.operation(),
            |operation| _ = operation.cancel(None),
            |operation| {
                if operation.is_over() {
                    operation.renew();
                }
                operation.branch_mut().lost();
            },
        );
    }

    fn note_taken(&mut self) {
        self.future.operation().branch().note_taken(&mut self.tray);
    }

    fn discard(&mut self) {
        if std::mem::take(&mut self.is_through) {
            self.future.operation().restore(&mut self.tray);
        }
    }

    fn told(&mut self) {
        self.future.operation().branch_mut().told();
    }

    fn pass_on(&mut self) {
        self.future.operation().branch_mut().pass_on();
    }

    unsafe fn take_into(&mut self, outcome: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { *outcome.cast::<Option<O::Output>>() = Some(self.take()) };
    }

    unsafe fn take_unsent(&mut self, to: *mut ()) {
        let operation = self.future.operation();
        // A peer that is sending it just now is waited for.
        if operation.waits() && matches!(operation.cancel(Some(&mut self.tray)), Cancelled::Done) {
            self.is_through = true;
        }
        if operation.is_fresh() && !self.tray.is_full() {
            operation.end();
            // SAFETY: the caller's promise; it was fresh, and is over now.
            unsafe { operation.branch_mut().unsent(to) };
        }
    }

    fn renew(&mut self) {
        self.future.operation().renew();
    }
}

impl<F: Future + Unpin> Arm for Polled<F> {
    fn is_through(&mut self) -> bool {
        self.output.is_some()
    }

    fn attempt(&mut self, _by: Option<&mut By>, cx: &mut Context<'_>) -> Attempt<()> {
        if self.output.is_some() {
            // A select that only asks has polled it.
            return Attempt::Ready(());
        }
        // (Without a budget leno's operations do not look: one of these within it may be ready.)
        let _endless = budget::endless();
        let before = budget::undecided();
        let future = self.future.as_mut().expect("it ends with the select");
        match budget::insist(|| Pin::new(&mut *future).poll(cx)) {
            Poll::Ready(output) => {
                self.output = Some(output);
                Attempt::Ready(())
            }
            // One of leno's operations in it has to look again.
            Poll::Pending if budget::undecided() != before => Attempt::Again,
            Poll::Pending => Attempt::Wait,
        }
    }

    unsafe fn take_into(&mut self, outcome: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { *outcome.cast::<Option<F::Output>>() = Some(self.take()) };
    }
}

/// Calls a macro with 32 arms: for each its type, its name in [`Which`], its index. What stands before them is passed on.
macro_rules! each_arm {
    ($callback:ident $($before:tt)*) => {
        $callback! {
            $($before)*
            [T0 b0 0] [T1 b1 1] [T2 b2 2] [T3 b3 3] [T4 b4 4] [T5 b5 5] [T6 b6 6] [T7 b7 7]
            [T8 b8 8] [T9 b9 9] [T10 b10 10] [T11 b11 11] [T12 b12 12] [T13 b13 13] [T14 b14 14] [T15 b15 15]
            [T16 b16 16] [T17 b17 17] [T18 b18 18] [T19 b19 19] [T20 b20 20] [T21 b21 21] [T22 b22 22] [T23 b23 23]
            [T24 b24 24] [T25 b25 25] [T26 b26 26] [T27 b27 27] [T28 b28 28] [T29 b29 29] [T30 b30 30] [T31 b31 31]
        }
    };
}
pub(super) use each_arm;

/// Calls a macro with the tuples of 0 to 32 of these arms. (Of none: `default` alone.)
macro_rules! each_tuple {
    ($callback:ident) => {
        each_arm! { each_tuple $callback [[]] [] }
    };
    ($callback:ident [$($tuples:tt)*] [$($arms:tt)*]) => {
        $callback! { $($tuples)* }
    };
    // The tuples so far, the arms of the last one.
    ($callback:ident [$($tuples:tt)*] [$($arms:tt)*] [$($arm:tt)*] $($rest:tt)*) => {
        each_tuple! { $callback [$($tuples)* [$($arms)* $($arm)*]] [$($arms)* $($arm)*,] $($rest)* }
    };
}

macro_rules! tuples {
    ($([$($T:ident $name:ident $index:tt),*])+) => {$(
        #[allow(unused_variables, reason = "where there are no arms")]
        impl<$($T: Take),*> Tuple for ($($T,)*) {
            type Which = Which<$($T::Output),*>;

            const COUNT: usize = <[u32]>::len(&[$($index),*]);

            #[inline]
            fn are_fresh(&mut self, off: u32) -> bool {
                true $(&& !<$T as Take>::FOREIGN && (off & (1 << $index) != 0 || self.$index.is_fresh()))*
            }

            #[inline]
            fn not_idle(&mut self, off: u32) -> u32 {
                (0 $(| u32::from(!self.$index.is_idle()) << $index)*) & !off
            }

            #[inline]
            fn quick(&mut self, index: usize) -> bool {
                match index {
                    $($index => self.$index.quick(),)*
                    _ => false,
                }
            }

            #[inline]
            fn end_losers(&mut self, winner: usize) {
                if !(false $(|| <$T as Take>::ENDS)*) {
                    return;
                }
                for_all((0..Self::COUNT).filter(|index| *index != winner), |index| match index {
                    $($index => self.$index.end(),)*
                    _ => {}
                });
            }

            #[inline]
            fn open<R>(&mut self, off: u32, f: impl FnOnce(&mut Open<'_, '_>) -> R) -> R {
                let foreign = 0 $(| (<$T as Take>::FOREIGN as u32) << $index)*;
                f(&mut Open { arms: &mut [$(&mut self.$index),*], off, foreign: foreign & !off })
            }

            fn take(&mut self, index: usize) -> Self::Which {
                match index {
                    $($index => Which::$name(self.$index.take()),)*
                    _ => unreachable!("a select has no branch {index}"),
                }
            }

            fn give_back(&mut self, which: Self::Which) {
                match which {
                    $(Which::$name(output) => self.$index.give_back(output),)*
                    #[allow(unreachable_patterns, reason = "of 32 branches")]
                    _ => {}
                }
            }
        }
    )+};
}

each_tuple!(tuples);
