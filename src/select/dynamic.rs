//! A set of operations that is put together as the program runs.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::arm::{Arm, Arms};
use super::driver::Driver;
use super::handles::{Receives, Sends};
use crate::channel::{RecvError, SendError};
use crate::prim::Counter;
use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::thread;

/// Sets have numbers, so that a token of one is not taken for a token of another. Their branches have, too: those of a
/// set are never used again.
static SETS: Counter = Counter::new();

/// A set of receives and sends, of which one is completed at a time.
///
/// Where the branches are known when the program is written, [`select!`](crate::select!) is simpler. This is for a number
/// of channels that is not known then, or for more than 16.
///
/// A receive stays in the set, and can complete again and again. A send has its value from the moment of its
/// registration; once its outcome was taken it has left the set.
///
/// ```
/// use leno::select::Select;
///
/// # leno::block_on(async {
/// let channels = (0..20).map(|_| leno::bounded(1)).collect::<Vec<_>>();
/// channels[7].0.send("weft").await.unwrap();
///
/// let mut set = Select::new();
/// let tokens = channels.iter().map(|(_, rx)| set.recv(rx)).collect::<Vec<_>>();
/// let operation = set.select().await;
/// let (index, token) = tokens.iter().enumerate().find(|(_, token)| operation.is(**token)).unwrap();
/// assert_eq!((index, operation.recv(*token)), (7, Ok("weft")));
/// # });
/// ```
///
/// Dropping the set drops the values of the sends that have not happened. A value that was received and that nobody has
/// taken is the next to be received, before all others.
pub struct Select<'a> {
    branches: Members<'a>,
    driver: Driver,
    biased: bool,
    id: NonZeroU64,
    /// How many branches it ever had.
    made: u64,
    /// The branch that has happened, until its outcome is taken.
    happened: Option<usize>,
}

/// A branch of a set.
struct Member<'a> {
    number: u64,
    operation: Box<dyn Arm + Send + 'a>,
}

struct Members<'a> {
    all: Vec<Member<'a>>,
    /// Nothing was begun with any of them, but for the select that is under way.
    are_fresh: bool,
}

impl Arms for Members<'_> {
    #[inline]
    fn count(&self) -> usize {
        self.all.len()
    }

    #[inline]
    fn are_fresh(&mut self) -> bool {
        self.are_fresh = self.are_fresh || self.all.iter_mut().all(|branch| branch.operation.is_fresh());
        self.are_fresh
    }

    #[inline]
    fn arm(&mut self, index: usize) -> &mut dyn Arm {
        &mut *self.all[index].operation
    }
}

/// Which set, and which branch of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    set: NonZeroU64,
    number: u64,
}

/// Names a receive in its [`Select`].
pub struct RecvToken<T>(Place, PhantomData<fn() -> T>);

/// Names a send in its [`Select`].
pub struct SendToken<T>(Place, PhantomData<fn() -> T>);

/// A [`RecvToken`] or a [`SendToken`]. Sealed.
pub trait Token: Copy + sealed::Sealed {}

mod sealed {
    #[allow(private_interfaces, reason = "sealed: only this crate names it")]
    pub trait Sealed {
        fn place(self) -> super::Place;
    }
}

macro_rules! tokens {
    ($($name:ident)+) => {$(
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.0.number).finish()
            }
        }

        #[allow(private_interfaces, reason = "sealed: only this crate names it")]
        impl<T> sealed::Sealed for $name<T> {
            fn place(self) -> Place {
                self.0
            }
        }

        impl<T> Token for $name<T> {}
    )+};
}

tokens! { RecvToken SendToken }

impl<'a> Select<'a> {
    /// An empty set that looks at its branches in a random order.
    pub fn new() -> Self {
        Select::with(false)
    }

    /// An empty set that looks at its branches in the order of their registration: where several are ready, the first
    /// of them completes.
    pub fn biased() -> Self {
        Select::with(true)
    }

    fn with(biased: bool) -> Self {
        let id = SETS.next();
        Select {
            branches: Members { all: Vec::new(), are_fresh: true },
            driver: Driver::default(),
            biased,
            id,
            made: 0,
            happened: None,
        }
    }

    /// Adds a receive: of a `&Receiver`, or of a `&mut Receiver` of a kind that has one receiver.
    pub fn recv<T: Send + 'a>(&mut self, receiver: impl Receives<'a, T>) -> RecvToken<T> {
        RecvToken(self.add(receiver.receive()), PhantomData)
    }

    /// Adds a send of `value`: of a `&Sender`, or of a `&mut Sender` of a kind that has one sender.
    pub fn send<T: Send + 'a>(&mut self, sender: impl Sends<'a, T>, value: T) -> SendToken<T> {
        SendToken(self.add(sender.sending(value)), PhantomData)
    }

    fn add(&mut self, operation: Box<dyn Arm + Send + 'a>) -> Place {
        self.stop();
        let number = self.made;
        self.made += 1;
        self.branches.all.push(Member { number, operation });
        Place { set: self.id, number }
    }

    /// Completes one operation of the set; waits until one can.
    ///
    /// Cancelling: dropping the future cancels the wait; the set is as before. Should an operation have happened just
    /// then, a value that was handed over goes to the next receiver, and a send is given by the next select.
    ///
    /// # Panics
    /// When polled, if no operation is left in the set: it would wait for ever.
    pub fn select(&mut self) -> SelectFuture<'_, 'a> {
        self.stop();
        SelectFuture { set: Some(self) }
    }

    /// Completes one operation, if one can be completed now.
    pub fn try_select(&mut self) -> Option<Operation<'_, 'a>> {
        self.stop();
        self.look_once().then_some(Operation { set: self })
    }

    /// Looks at each branch once; whether one has happened.
    fn look_once(&mut self) -> bool {
        if self.happened.is_none() {
            let mut context = Context::from_waker(Waker::noop());
            self.happened = self.driver.look_once(&mut self.branches, self.biased, &mut context);
            self.driver.reset();
        }
        self.happened.is_some()
    }

    /// Polls until a branch has happened.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.happened.is_none() {
            let is_empty = self.branches.all.is_empty();
            assert!(!is_empty, "no operation is left in the set: a select would wait for ever");
            let winner = std::task::ready!(self.driver.poll(&mut self.branches, self.biased, cx));
            self.driver.reset();
            self.happened = Some(winner);
        }
        Poll::Ready(())
    }

    /// Ends the wait of a future that was dropped, or forgotten. What was sent just then the next select finds.
    fn stop(&mut self) {
        if self.driver.is_started() {
            self.branches.are_fresh = false;
            self.driver.leave(&mut self.branches, false);
            self.driver.reset();
        }
    }

    /// The time is up: whether a branch has happened all the same, or can happen now: the last poll need not have looked
    /// at them.
    fn time_out(&mut self) -> bool {
        self.happened = self.driver.leave(&mut self.branches, true);
        self.driver.reset();
        self.happened.is_some() || self.look_once()
    }
}

impl Default for Select<'_> {
    fn default() -> Self {
        Select::new()
    }
}

impl Drop for Select<'_> {
    fn drop(&mut self) {
        self.stop();
        // What has happened, and nobody has taken.
        for branch in &mut self.branches.all {
            if !cfg!(leno_bug = "set_keeps_unused") {
                branch.operation.discard();
            }
        }
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("branches", &self.branches.all.len())
            .field("biased", &self.biased)
            .finish_non_exhaustive()
    }
}

/// The future of [`Select::select`].
#[must_use = "futures do nothing unless polled"]
pub struct SelectFuture<'s, 'a> {
    set: Option<&'s mut Select<'a>>,
}

impl<'s, 'a> SelectFuture<'s, 'a> {
    /// Selects on a plain thread, which sleeps until an operation has completed.
    ///
    /// # Panics
    /// If no operation is left in the set; and inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it
    /// would block.
    #[track_caller]
    pub fn wait(mut self) -> Operation<'s, 'a> {
        may_block("Select::select");
        thread::block_on(Pin::new(&mut self), None).expect("without a deadline it waits until it is done")
    }

    /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once. If no operation is left in the set it waits as
    /// long as it is told.
    ///
    /// # Errors
    /// The time was up, and no operation has completed.
    ///
    /// # Panics
    /// As [`wait`](Self::wait); but if no operation is left only with [`Duration::MAX`], or any other time that has no end.
    #[track_caller]
    pub fn wait_timeout(self, d: Duration) -> Result<Operation<'s, 'a>, Elapsed> {
        may_block("Select::select");
        self.block_on(thread::deadline_after(d))
    }

    /// As [`wait_timeout`](Self::wait_timeout), until the instant `t`.
    ///
    /// # Errors
    /// The time was up, and no operation has completed.
    ///
    /// # Panics
    /// Inside a fiber of a [`Cord`](crate::fiber::Cord).
    #[track_caller]
    pub fn wait_deadline(self, t: Instant) -> Result<Operation<'s, 'a>, Elapsed> {
        may_block("Select::select");
        self.block_on(Some(t))
    }

    fn block_on(mut self, deadline: Option<Instant>) -> Result<Operation<'s, 'a>, Elapsed> {
        if deadline.is_some() && self.set.as_ref().is_some_and(|set| set.branches.all.is_empty()) {
            let never = thread::block_on(Pin::new(&mut pending::<Infallible>()), deadline);
            return match never {
                None => Err(Elapsed::new()),
                Some(never) => match never {},
            };
        }
        if let Some(operation) = thread::block_on(Pin::new(&mut self), deadline) {
            return Ok(operation);
        }
        let set = self.set.take().expect("it has not completed");
        if set.time_out() { Ok(Operation { set }) } else { Err(Elapsed::new()) }
    }
}

impl<'s, 'a> Future for SelectFuture<'s, 'a> {
    type Output = Operation<'s, 'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let set = self.set.as_mut().expect("a select was polled after it had completed");
        std::task::ready!(set.poll(cx));
        Poll::Ready(Operation { set: self.set.take().expect("as above") })
    }
}

impl Unpin for SelectFuture<'_, '_> {}

impl Drop for SelectFuture<'_, '_> {
    fn drop(&mut self) {
        if let Some(set) = self.set.take() {
            set.stop();
        }
    }
}

impl fmt::Debug for SelectFuture<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SelectFuture").finish_non_exhaustive()
    }
}

/// The operation of a [`Select`] that has happened.
///
/// If it is dropped before its outcome was taken, the set keeps the outcome, and the next select gives it again.
#[must_use = "the set keeps the outcome until it is taken"]
pub struct Operation<'s, 'a> {
    set: &'s mut Select<'a>,
}

impl Operation<'_, '_> {
    /// Whether it is the one that `token` names.
    pub fn is(&self, token: impl Token) -> bool {
        sealed::Sealed::place(token) == self.place()
    }

    /// Which branch it is: how many were registered before it.
    pub fn index(&self) -> usize {
        self.place().number as usize
    }

    /// What was received.
    ///
    /// # Errors
    /// The channel is closed, and empty.
    ///
    /// # Panics
    /// If another branch has happened.
    #[track_caller]
    pub fn recv<T>(self, token: RecvToken<T>) -> Result<T, RecvError> {
        self.check(token.0);
        let mut outcome = None::<Result<T, RecvError>>;
        // SAFETY: the set has made the token for this very branch, so the branch receives a `T`.
        unsafe { self.take((&raw mut outcome).cast()) };
        outcome.expect("the branch has an outcome")
    }

    /// How the send ended.
    ///
    /// # Errors
    /// The channel is closed; the value is in the error.
    ///
    /// # Panics
    /// If another branch has happened.
    #[track_caller]
    pub fn send<T>(self, token: SendToken<T>) -> Result<(), SendError<T>> {
        self.check(token.0);
        let mut outcome = None::<Result<(), SendError<T>>>;
        // SAFETY: the set has made the token for this very branch, so the branch sends a `T`.
        unsafe { self.take((&raw mut outcome).cast()) };
        outcome.expect("the branch has an outcome")
    }

    fn position(&self) -> usize {
        self.set.happened.expect("until the outcome is taken")
    }

    fn place(&self) -> Place {
        Place { set: self.set.id, number: self.set.branches.all[self.position()].number }
    }

    #[track_caller]
    fn check(&self, token: Place) {
        assert!(token.set == self.set.id, "the token is of another set");
        assert!(token == self.place(), "another branch has happened: ask with `is` first");
    }

    /// # Safety
    /// `outcome` is the address of an `Option` of what the branch gives.
    unsafe fn take(self, outcome: *mut ()) {
        let index = self.position();
        self.set.happened = None;
        let operation = &mut self.set.branches.all[index].operation;
        // SAFETY: the caller's promise; this branch has happened, and nobody has taken its outcome.
        unsafe { operation.take_into(outcome) };
        if !operation.renew() {
            self.set.branches.all.remove(index);
        }
    }
}

impl fmt::Debug for Operation<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("branch", &self.place().number).finish_non_exhaustive()
    }
}
