//! A set of operations that is put together as the program runs.

use std::fmt;
use std::future::Future;
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::arm::{Arm, Arms, Claimed, Operated, Take as _};
use super::driver::Driver;
use crate::channel::{Receiver, RecvError, RecvFuture, SendError, SendFuture, Sender};
use crate::prim::{self, Counter};
use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::thread;

/// Sets have numbers, so that a token of one is not taken for a token of another.
static SETS: Counter = Counter::new();

/// A set of receives and sends, of which one is completed at a time.
///
/// Where the branches are known when the program is written, [`select!`](crate::select!) is simpler. This is for a number
/// of channels that is not known then, or for more than 16.
///
/// A receive stays in the set, and can complete again and again. A send has its value from the moment of its
/// registration; once it has completed its branch takes no part any more.
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
/// Dropping the set drops the values of the sends that have not happened.
pub struct Select<'a> {
    branches: Members<'a>,
    driver: Driver,
    biased: bool,
    id: NonZeroU64,
    /// An operation that has happened, and was dropped before its outcome was taken.
    pending: Option<usize>,
}

/// A branch of a set: its operation, and whether it has nothing left to do.
struct Member<'a> {
    operation: Box<dyn Registered + Send + 'a>,
    is_off: bool,
}

struct Members<'a>(Vec<Member<'a>>);

/// An arm whose type is forgotten but for the token.
trait Registered {
    fn arm(&mut self) -> &mut dyn Arm;

    /// Moves its outcome into an `Option` of the outcome's type.
    ///
    /// # Safety
    /// `outcome` is the address of one. The arm was completed.
    unsafe fn take_into(&mut self, outcome: *mut ());

    /// Makes the operation as one that was not begun; its outcome was taken. False: it has nothing left to do.
    fn renew(&mut self) -> bool;
}

impl<O: Operated> Registered for Claimed<O> {
    fn arm(&mut self) -> &mut dyn Arm {
        self
    }

    unsafe fn take_into(&mut self, outcome: *mut ()) {
        // SAFETY: the caller's promise.
        unsafe { *outcome.cast::<Option<O::Output>>() = Some(self.take()) };
    }

    fn renew(&mut self) -> bool {
        if self.is_spent() {
            return false;
        }
        Claimed::renew(self);
        true
    }
}

impl Arms for Members<'_> {
    fn count(&self) -> usize {
        self.0.len()
    }

    fn arm(&mut self, index: usize) -> &mut dyn Arm {
        self.0[index].operation.arm()
    }

    fn is_off(&self, index: usize) -> bool {
        self.0[index].is_off
    }
}

/// Which set, and which branch of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Place {
    set: NonZeroU64,
    index: usize,
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
                f.debug_tuple(stringify!($name)).field(&self.0.index).finish()
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
    /// An empty set that looks at its branches from a random one on.
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
        Select { branches: Members(Vec::new()), driver: Driver::default(), biased, id, pending: None }
    }

    /// Adds a receive.
    pub fn recv<T: Send + 'a>(&mut self, receiver: &'a Receiver<T>) -> RecvToken<T> {
        RecvToken(self.add::<RecvFuture<'a, T>>(receiver.recv()), PhantomData)
    }

    /// Adds a send of `value`.
    pub fn send<T: Send + 'a>(&mut self, sender: &'a Sender<T>, value: T) -> SendToken<T> {
        SendToken(self.add::<SendFuture<'a, T>>(sender.send(value)), PhantomData)
    }

    fn add<O: Operated + 'a>(&mut self, operation: O) -> Place
    where
        Claimed<O>: Send,
    {
        self.stop();
        let index = self.branches.0.len();
        self.branches.0.push(Member { operation: Box::new(Claimed::new(operation)), is_off: false });
        Place { set: self.id, index }
    }

    /// Completes one operation of the set; waits until one can.
    ///
    /// Cancelling: dropping the future cancels the wait; the set is as before.
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
        let index = match self.pending.take() {
            Some(index) => index,
            None => {
                let first = self.first();
                let mut context = Context::from_waker(Waker::noop());
                self.driver.look_once(&mut self.branches, first, &mut context)?
            }
        };
        Some(Operation { set: self, index, taken: false })
    }

    fn first(&self) -> usize {
        match self.branches.0.len() {
            0 => 0,
            _ if self.biased => 0,
            count => prim::random_below(count),
        }
    }

    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        if let Some(index) = self.pending.take() {
            return Poll::Ready(index);
        }
        let is_over = self.branches.0.iter().all(|branch| branch.is_off);
        assert!(!is_over, "no operation is left in the set: a select would wait for ever");
        let first = self.first();
        let polled = self.driver.poll(&mut self.branches, first, cx);
        if polled.is_ready() {
            self.driver.reset();
        }
        polled
    }

    /// Ends the wait of a future that was forgotten.
    fn stop(&mut self) {
        if self.driver.is_started() {
            self.leave(false);
        }
    }

    /// Gives up waiting. `Some`: an operation has happened all the same.
    fn leave(&mut self, patience: bool) -> Option<usize> {
        let winner = self.driver.leave(&mut self.branches, patience);
        self.driver.reset();
        winner
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
        if let Some(index) = self.pending.take() {
            // A value that was handed over goes to the next receiver.
            self.branches.arm(index).discard(0);
        }
    }
}

impl fmt::Debug for Select<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Select")
            .field("branches", &self.branches.0.len())
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

    /// As [`wait`](Self::wait), for `d` at most. With `d` zero it tries once.
    ///
    /// # Errors
    /// The time was up, and no operation has completed.
    ///
    /// # Panics
    /// As [`wait`](Self::wait).
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
    /// As [`wait`](Self::wait).
    #[track_caller]
    pub fn wait_deadline(self, t: Instant) -> Result<Operation<'s, 'a>, Elapsed> {
        may_block("Select::select");
        self.block_on(Some(t))
    }

    fn block_on(mut self, deadline: Option<Instant>) -> Result<Operation<'s, 'a>, Elapsed> {
        if let Some(operation) = thread::block_on(Pin::new(&mut self), deadline) {
            return Ok(operation);
        }
        let set = self.set.take().expect("it has not completed");
        let index = set.leave(true).ok_or(Elapsed::new())?;
        Ok(Operation { set, index, taken: false })
    }
}

impl<'s, 'a> Future for SelectFuture<'s, 'a> {
    type Output = Operation<'s, 'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let set = self.set.as_mut().expect("a select was polled after it had completed");
        let index = std::task::ready!(set.poll(cx));
        let set = self.set.take().expect("as above");
        Poll::Ready(Operation { set, index, taken: false })
    }
}

impl Unpin for SelectFuture<'_, '_> {}

impl Drop for SelectFuture<'_, '_> {
    fn drop(&mut self) {
        if let Some(set) = self.set.take() {
            set.leave(false);
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
#[must_use = "the outcome of the operation is in it"]
pub struct Operation<'s, 'a> {
    set: &'s mut Select<'a>,
    index: usize,
    taken: bool,
}

impl Operation<'_, '_> {
    /// Whether it is the one that `token` names.
    pub fn is(&self, token: impl Token) -> bool {
        sealed::Sealed::place(token) == self.place()
    }

    /// Which branch it is, in the order of their registration: from 0 on.
    pub fn index(&self) -> usize {
        self.index
    }

    /// What was received.
    ///
    /// # Errors
    /// The channel is closed, and empty.
    ///
    /// # Panics
    /// If another branch has happened.
    #[track_caller]
    pub fn recv<T>(mut self, token: RecvToken<T>) -> Result<T, RecvError> {
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
    pub fn send<T>(mut self, token: SendToken<T>) -> Result<(), SendError<T>> {
        self.check(token.0);
        let mut outcome = None::<Result<(), SendError<T>>>;
        // SAFETY: the set has made the token for this very branch, so the branch sends a `T`.
        unsafe { self.take((&raw mut outcome).cast()) };
        outcome.expect("the branch has an outcome")
    }

    fn place(&self) -> Place {
        Place { set: self.set.id, index: self.index }
    }

    #[track_caller]
    fn check(&self, token: Place) {
        assert!(token.set == self.set.id, "the token is of another set");
        assert!(token.index == self.index, "another branch has happened: ask with `is` first");
    }

    /// # Safety
    /// `outcome` is the address of an `Option` of what the branch gives.
    unsafe fn take(&mut self, outcome: *mut ()) {
        self.taken = true;
        let branch = &mut self.set.branches.0[self.index];
        // SAFETY: the caller's promise; this branch has happened, and nobody has taken its outcome.
        unsafe { branch.operation.take_into(outcome) };
        branch.is_off = !branch.operation.renew();
    }
}

impl Drop for Operation<'_, '_> {
    fn drop(&mut self) {
        if !self.taken {
            self.set.pending = Some(self.index);
        }
    }
}

impl fmt::Debug for Operation<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Operation").field("branch", &self.index).finish_non_exhaustive()
    }
}
