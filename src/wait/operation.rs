//! One suspended operation and its driver: what every future of a channel or a lock is made of.
//!
//! A primitive says in a [`Branch`] how to look, how to enter its queue and what an outcome means; the driver
//! here does the rest, once for all of them: polling, changing wakers, moving between executors, leaving.
//! `select` drives the same branches by a driver of its own, several under one claim word.
//!
//! ```text
//!          attempt: nothing           DONE
//!   idle ───────────────────▶ waits ────────▶ over
//!    ▲                          │
//!    └──────────────────────────┘ NOTIFIED, or the mark was left: the node is ours again
//! ```
//!
//! An operation that was notified and finds what it was notified of claimed but not yet published stays out of the
//! line, with its place, until that is decided: in the line it could be notified once more, for something else.
//!
//! While it waits, the word is OPEN; a poll that wants to look (a buffered channel, a lock) or to change the
//! waker goes through BUSY. A peer in the middle of its work (CLAIMED) is never waited for: the poll wakes
//! itself and returns, to look again once others have run.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::node::{NodeRef, Waiter};
use super::word::{Busied, State};
use crate::prim;
use crate::task::{budget, thread};

/// What a look without waiting found.
#[must_use]
#[derive(Debug)]
pub(crate) enum Attempt<R> {
    Ready(R),
    /// Nothing.
    Wait,
    /// What it needs is claimed by somebody, but not yet published: look again soon.
    Again,
}

impl<R> Attempt<R> {
    pub(crate) fn is_ready(&self) -> bool {
        matches!(self, Attempt::Ready(_))
    }
}

/// What became of an operation that entered its queue.
#[must_use]
#[derive(Debug)]
pub(crate) enum Enter<R> {
    /// It did not wait. The payload is empty.
    Ready(R),
    /// It stands in no queue: attempt again. The payload is where [`Branch::stow`] put it.
    Refused,
    /// It waits.
    Waits,
    /// It waits, and something has come up since the attempt.
    Look,
}

/// What helping did for an operation that waits.
#[must_use]
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Nudged {
    /// All that can be done is done; peers do the rest.
    Settled,
    /// As [`Attempt::Again`].
    Again,
    /// The operation has to attempt by itself.
    Attempt,
}

/// One operation of a primitive: the way in, the way out.
///
/// The driver calls `attempt`, `enter`, `pass_on` only while no peer can claim the operation, or, for `enter`, as
/// the step that makes it claimable.
pub(crate) trait Branch {
    type Output;

    /// Completes without waiting, if it can be done now. `own` is the anchor of the select that attempts, where
    /// it has another branch on the other side of the same queue.
    fn attempt(&mut self, own: Option<NodeRef>) -> Attempt<Self::Output>;

    /// Moves what the operation sends into the node.
    fn stow(&mut self, _waiter: &Waiter) {}

    /// Moves it back; the node is the owner's.
    fn unstow(&mut self, _waiter: &Waiter) {}

    /// Enters the queue, or completes.
    ///
    /// # Safety
    /// The node stands in no queue, is parked, and is stowed.
    unsafe fn enter(&mut self, waiter: &Waiter, own: Option<NodeRef>) -> Enter<Self::Output>;

    /// Whether an operation that waits should look although nobody told it to: the channel is closed, or the lock
    /// is free, and whoever is first in line may be long in coming.
    fn is_worth_a_look(&self) -> bool {
        false
    }

    /// Helps on an operation that waits and looks.
    fn nudge(&mut self) -> Nudged {
        Nudged::Settled
    }

    /// Leaves the queue: true if the node stood there still.
    ///
    /// # Safety
    /// The node has entered, and the caller is its owner.
    unsafe fn remove(&self, waiter: &Waiter) -> bool;

    /// The outcome of an operation that a peer has done.
    ///
    /// # Safety
    /// The word said DONE, and the outcome was not taken yet.
    unsafe fn finish(&mut self, waiter: &Waiter) -> Self::Output;

    /// Tells the next in line: this operation was notified and leaves without having taken anything.
    fn pass_on(&mut self) {}

    /// Whether it has nothing left to do: a send whose value is gone.
    fn is_spent(&self) -> bool {
        false
    }

    /// Disposes of the outcome of an operation whose future was dropped before it could give it; `rank` is the
    /// hand-over's place in the order of hand-overs.
    fn discard(&mut self, output: Self::Output, rank: u64);

    /// Where it waits: equal places with different sides must not meet in one select.
    fn place(&self) -> Option<(*const (), bool)> {
        None
    }
}

/// Has the task polled again once others have run.
pub(crate) fn look_again(cx: &mut Context<'_>) {
    cx.waker().wake_by_ref();
    if prim::MODEL {
        // A model's executor may know nobody else to run.
        prim::thread::yield_now();
    }
}

/// How a wait ended that its owner broke off.
#[must_use]
#[derive(Debug)]
pub(crate) enum Cancelled<R> {
    /// Nothing happened; what was to be sent is in the branch again.
    Undone,
    /// It had happened; with the hand-over's rank.
    Done(R, u64),
    /// A peer took it and is not through yet.
    Taken,
}

/// How long a thread pauses that is told to look again, in the terms of [`thread::pause`].
const PAUSE: u32 = 8;

/// A future over one [`Branch`].
#[derive(Debug)]
pub(crate) struct Operation<B: Branch> {
    branch: B,
    waiter: Option<Waiter>,
    stage: Stage,
    /// Whether it has waited while there was something: a notification that it got meanwhile may have been for
    /// something else than what it took.
    looked: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// In no queue. A waiter, if any, is ours, and says that it was notified: it owes the next in line to look.
    Idle,
    /// In a queue, or in a peer's hands.
    Waits,
    /// As `Waits`; there was something at the last look, perhaps claimed but not yet published.
    Looks,
    /// Completed, or lent to a select.
    Over,
}

impl<B: Branch> Operation<B> {
    pub(crate) fn new(branch: B) -> Self {
        Operation { branch, waiter: None, stage: Stage::Idle, looked: false }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.stage == Stage::Over
    }

    /// Whether nothing was begun with it: it was not polled yet.
    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        self.stage == Stage::Idle && self.waiter.is_none()
    }

    /// Whether it may still be in a queue.
    pub(crate) fn waits(&self) -> bool {
        self.waiter.is_some()
    }

    pub(crate) fn branch_mut(&mut self) -> &mut B {
        &mut self.branch
    }

    /// Lends the operation, which does not wait, to another driver, or takes it back.
    pub(crate) fn set_lent(&mut self, lent: bool) {
        self.stage = if lent { Stage::Over } else { Stage::Idle };
    }

    #[inline]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<B::Output> {
        if !budget::spend() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if self.stage == Stage::Idle {
            if let Some(polled) = self.attempt_idle(cx) {
                return polled;
            }
        }
        self.poll_waiting(cx)
    }

    /// Attempts while in no queue. `None`: there is nothing.
    #[inline]
    fn attempt_idle(&mut self, cx: &mut Context<'_>) -> Option<Poll<B::Output>> {
        match self.branch.attempt(None) {
            Attempt::Ready(output) => Some(self.over(output)),
            Attempt::Wait => None,
            Attempt::Again if cfg!(leno_bug = "again_joins_the_line") => None,
            Attempt::Again => {
                // Not into the line: a notification for somebody else's value would be lost on it.
                look_again(cx);
                Some(Poll::Pending)
            }
        }
    }

    fn over(&mut self, output: B::Output) -> Poll<B::Output> {
        Poll::Ready(self.complete(output))
    }

    fn complete(&mut self, output: B::Output) -> B::Output {
        self.stage = Stage::Over;
        if let Some(waiter) = self.waiter.take() {
            waiter.free();
            if self.looked {
                self.branch.pass_on();
            }
        }
        output
    }

    /// After an attempt that found nothing, or while it waits.
    #[cold]
    #[inline(never)]
    fn poll_waiting(&mut self, cx: &mut Context<'_>) -> Poll<B::Output> {
        loop {
            let step = match self.stage {
                Stage::Over => panic!("a leno operation was polled after it had completed"),
                Stage::Idle => self.enter(cx.waker()),
                Stage::Waits | Stage::Looks => self.look(cx.waker()),
            };
            match step {
                Step::Ready(output) => return self.over(output),
                Step::Pending => return Poll::Pending,
                Step::Again => {
                    look_again(cx);
                    return Poll::Pending;
                }
                Step::Reenter => {
                    self.stage = Stage::Idle;
                    if let Some(polled) = self.attempt_idle(cx) {
                        return polled;
                    }
                }
                Step::Continue => {}
            }
        }
    }

    /// Idle → Waits, unless it completes on the way.
    fn enter(&mut self, waker: &Waker) -> Step<B::Output> {
        let parker = waker.clone();
        let waiter = self.waiter.get_or_insert_with(Waiter::plain);
        waiter.word().reset(true);
        // SAFETY: the node stands in no queue.
        let old = unsafe { waiter.park(parker) };
        self.branch.stow(waiter);
        // SAFETY: just so. Should a waker panic in there, the node is in no queue.
        let entered = unsafe { self.branch.enter(waiter, None) };
        let step = match entered {
            Enter::Ready(output) => Step::Ready(output),
            Enter::Refused => {
                self.branch.unstow(waiter);
                Step::Reenter
            }
            Enter::Waits => {
                self.stage = Stage::Waits;
                Step::Pending
            }
            Enter::Look => {
                self.stage = Stage::Looks;
                self.looked = true;
                Step::Continue
            }
        };
        drop(old);
        step
    }

    /// Looks at an operation that waits.
    fn look(&mut self, waker: &Waker) -> Step<B::Output> {
        let waiter = self.waiter.as_ref().expect("an operation that waits has a node");
        match waiter.word().state() {
            State::Open => {}
            // SAFETY: DONE, and the stage is over after this.
            State::Done(_) => return Step::Ready(unsafe { self.branch.finish(waiter) }),
            State::Notified => {
                // A peer that notifies has taken the node out: it is ours.
                self.branch.unstow(waiter);
                return Step::Reenter;
            }
            State::Claimed(_) => return Step::Again,
            state => unreachable!("a waiting operation is {state:?}"),
        }
        if !waiter.parked_by(waker) {
            if let Some(step) = self.repark(waker) {
                return step;
            }
        }
        if self.stage == Stage::Waits && !self.branch.is_worth_a_look() {
            return Step::Pending;
        }
        let waiter = self.waiter.as_ref().expect("an operation that waits has a node");
        match self.branch.nudge() {
            // Perhaps that has served it.
            Nudged::Again if waiter.word().state() != State::Open => Step::Continue,
            Nudged::Again => Step::Again,
            Nudged::Settled if self.stage == Stage::Waits => Step::Pending,
            Nudged::Settled => {
                self.stage = Stage::Waits;
                Step::Continue
            }
            Nudged::Attempt => self.attempt_waiting(),
        }
    }

    /// Attempts while the node may stand in the queue; its place is kept if there is nothing.
    fn attempt_waiting(&mut self) -> Step<B::Output> {
        let waiter = self.waiter.as_ref().expect("an operation that waits has a node");
        match waiter.word().busy() {
            Busied::Yes => {}
            _ => return Step::Continue,
        }
        self.branch.unstow(waiter);
        let again = match self.branch.attempt(None) {
            Attempt::Ready(output) => {
                let waiter = self.waiter.take().expect("as above");
                self.stage = Stage::Over;
                self.withdraw(waiter);
                return Step::Ready(output);
            }
            Attempt::Wait => false,
            Attempt::Again => true,
        };
        self.branch.stow(waiter);
        if !waiter.word().open() {
            waiter.keep_place();
            self.branch.unstow(waiter);
            return Step::Reenter;
        }
        if again {
            return Step::Again;
        }
        self.stage = Stage::Waits;
        Step::Pending
    }

    /// Gives up a node whose word is BUSY.
    fn withdraw(&mut self, waiter: Waiter) {
        // SAFETY: it has entered, and is ours.
        if unsafe { self.branch.remove(&waiter) } { waiter.free() } else { waiter.abandon() }
    }

    /// The future has moved to another task, as far as the waker tells. `None`: it is parked there now.
    fn repark(&mut self, waker: &Waker) -> Option<Step<B::Output>> {
        let parker = waker.clone();
        let waiter = self.waiter.as_ref().expect("an operation that waits has a node");
        match waiter.word().busy() {
            Busied::Yes => {}
            _ => return Some(Step::Continue),
        }
        // SAFETY: BUSY.
        let old = unsafe { waiter.park(parker) };
        let opened = waiter.word().open();
        if !opened {
            waiter.keep_place();
            self.branch.unstow(waiter);
            self.stage = Stage::Idle;
        }
        drop(old);
        if opened { None } else { Some(Step::Reenter) }
    }

    /// Leaves. With `patience`, a peer that is in the middle of its work is waited for: a few instructions,
    /// unless its thread was preempted; `Cancelled::Taken` is not returned then.
    pub(crate) fn cancel(&mut self, patience: bool) -> Cancelled<B::Output> {
        let waits = self.stage != Stage::Idle;
        let Some(waiter) = self.waiter.take() else { return Cancelled::Undone };
        self.stage = Stage::Idle;
        if !waits {
            // It was notified, and has not found what it was notified of.
            waiter.free();
            self.pass_on();
            return Cancelled::Undone;
        }
        // SAFETY: it has entered, and is ours.
        if unsafe { self.branch.remove(&waiter) } {
            self.branch.unstow(&waiter);
            waiter.free();
            return Cancelled::Undone;
        }
        let mut pauses = 0;
        loop {
            match waiter.word().state() {
                State::Open if waiter.word().busy() != Busied::Yes => continue,
                // A poll that panicked can leave it BUSY.
                State::Open | State::Busy => {
                    self.branch.unstow(&waiter);
                    waiter.abandon();
                    return Cancelled::Undone;
                }
                State::Claimed(_) if patience => {
                    thread::pause(pauses);
                    pauses += 1;
                    continue;
                }
                State::Claimed(_) => match waiter.word().leave().state {
                    State::Claimed(_) => return Cancelled::Taken,
                    State::Notified => {}
                    _ => return self.take_outcome(waiter),
                },
                State::Notified => {}
                _ => return self.take_outcome(waiter),
            }
            self.branch.unstow(&waiter);
            waiter.free();
            self.pass_on();
            return Cancelled::Undone;
        }
    }

    /// It was notified and leaves.
    fn pass_on(&mut self) {
        if !cfg!(leno_bug = "notified_leaves") {
            self.branch.pass_on();
        }
    }

    fn take_outcome(&mut self, waiter: Waiter) -> Cancelled<B::Output> {
        self.stage = Stage::Over;
        // SAFETY: DONE.
        let output = unsafe { self.branch.finish(&waiter) };
        let rank = waiter.rank();
        waiter.free();
        Cancelled::Done(output, rank)
    }

    /// Drives the operation on the calling thread. `None`: the deadline passed and nothing has happened; what was
    /// to be sent is in the branch again.
    pub(crate) fn block_on(&mut self, deadline: Option<std::time::Instant>) -> Option<B::Output> {
        if self.stage == Stage::Idle {
            match self.branch.attempt(None) {
                Attempt::Ready(output) => return Some(self.complete(output)),
                Attempt::Wait => {}
                Attempt::Again => thread::pause(PAUSE),
            }
        }
        match thread::block_on(Pin::new(&mut Polled(self)), deadline) {
            Some(output) => Some(output),
            None => match self.cancel(true) {
                Cancelled::Done(output, _) => Some(output),
                Cancelled::Taken => None,
                // A last look: those in front of it may be long in coming.
                Cancelled::Undone => match self.branch.attempt(None) {
                    Attempt::Ready(output) => Some(self.complete(output)),
                    Attempt::Wait | Attempt::Again => None,
                },
            },
        }
    }
}

impl<B: Branch> Drop for Operation<B> {
    fn drop(&mut self) {
        if let Cancelled::Done(output, rank) = self.cancel(false) {
            self.branch.discard(output, rank);
        }
    }
}

/// An operation as a future, for the thread's loop.
struct Polled<'a, B: Branch>(&'a mut Operation<B>);

impl<B: Branch> Unpin for Polled<'_, B> {}

impl<B: Branch> Future for Polled<'_, B> {
    type Output = B::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<B::Output> {
        self.0.poll(cx)
    }
}

enum Step<R> {
    Ready(R),
    Pending,
    /// Pending, and to be polled again soon.
    Again,
    /// In no queue any more: attempt and enter.
    Reenter,
    Continue,
}
