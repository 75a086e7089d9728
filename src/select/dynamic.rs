//! A set of operations that is put together as the program runs.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, pending};
use std::hash::{Hash, Hasher};
use std::marker::PhantomData;
use std::num::NonZeroU64;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use super::Branch;
use super::arm::{Arm, Arms, Take};
use super::driver::Driver;
use super::handles::{Receives, Sends};
use crate::channel::{RecvError, SendError};
use crate::prim::Counter;
use crate::task::budget;
use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::shows;
use crate::task::thread;
use crate::wait::{both, for_all, future};

/// Sets have numbers, so that a token of one is not taken for a token of another. Their branches have, too; a set never uses one
/// again.
static SETS: Counter = Counter::new();

/// A set of receives, sends, and operations of all other kinds, of which one is completed at a time.
///
/// If the branches are known at compile time, [`select!`](crate::select!) is simpler. This is for a number of branches only
/// known at run time, or above 32. Its contents have to be `Send`, even in a fiber of a [`Cord`](crate::fiber::Cord), where
/// `select!` takes anything.
///
/// A receive stays in the set, and can complete again and again. A send takes its value when registered, and leaves the set
/// once its outcome was taken; so do operations and futures passed to [`add`](Select::add).
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
/// Dropping the set drops the values of sends that have not happened. A value that it received but nobody took is the next
/// to be received, before all others (those of several such sets in the order in which they were received).
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
    /// It can only be polled.
    is_foreign: bool,
    /// With its outcome taken it has left the set.
    is_once: bool,
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

    #[inline]
    fn is_foreign(&self, index: usize) -> bool {
        self.all[index].is_foreign
    }
}

/// Which set, and which branch of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Place {
    set: NonZeroU64,
    number: u64,
}

/// Names a receive in its [`Select`].
pub struct RecvToken<T>(Place, PhantomData<fn() -> T>);

/// Names a send in its [`Select`].
pub struct SendToken<T>(Place, PhantomData<fn() -> T>);

/// Names an operation or a future in its [`Select`], with what it completes with.
pub struct BranchToken<R>(Place, PhantomData<fn() -> R>);

/// A [`RecvToken`], a [`SendToken`] or a [`BranchToken`]. Sealed.
pub trait Token: Copy + sealed::Sealed {
    /// What comes back if it is removed from the set: of a send its value, unless that was sent.
    type Removed: Default;
}

mod sealed {
    #[allow(private_interfaces, reason = "sealed: only this crate names it")]
    pub trait Sealed {
        /// Whether it is a send of this module's.
        const SENDS: bool;

        fn place(self) -> super::Place;
    }
}

macro_rules! tokens {
    ($($name:ident, $sends:literal => $removed:ty;)+) => {$(
        impl<T> Clone for $name<T> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<T> Copy for $name<T> {}

        impl<T> PartialEq for $name<T> {
            fn eq(&self, other: &Self) -> bool {
                self.0 == other.0
            }
        }

        impl<T> Eq for $name<T> {}

        impl<T> Hash for $name<T> {
            fn hash<H: Hasher>(&self, state: &mut H) {
                self.0.hash(state);
            }
        }

        impl<T> fmt::Debug for $name<T> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&self.0.number).finish()
            }
        }

        #[allow(private_interfaces, reason = "sealed: only this crate names it")]
        impl<T> sealed::Sealed for $name<T> {
            const SENDS: bool = $sends;

            fn place(self) -> Place {
                self.0
            }
        }

        impl<T> Token for $name<T> {
            type Removed = $removed;
        }

        impl<T> $name<T> {
            /// The index of the branch it names: how many were registered before it. An index is not reused within a set, even
            /// after the branch was removed.
            pub fn index(self) -> usize {
                self.0.number as usize
            }
        }
    )+};
}

tokens! {
    RecvToken, false => ();
    SendToken, true => Option<T>;
    BranchToken, false => ();
}

impl<'a> Select<'a> {
    /// An empty set that checks its branches in random order.
    pub fn new() -> Self {
        Select::with(false)
    }

    /// An empty set that checks its branches in the order of their registration: if several are ready, the first one completes.
    /// (But one that was added by `&mut` and had happened while it waited wins over all others.)
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

    /// Adds a receive: from a `&Receiver`, or a `&mut Receiver` of a kind with a single receiver; or from a receiver by value,
    /// which the set keeps until the receive is [removed](Self::remove) or the set dropped. A set that borrows nothing can be
    /// stored, and moved to other fibers and threads:
    ///
    /// ```
    /// use leno::select::{RecvToken, Select};
    ///
    /// struct Switch {
    ///     set: Select<'static>,
    ///     lines: Vec<RecvToken<&'static str>>,
    /// }
    ///
    /// impl Switch {
    ///     /// The next value of any line, until all are closed.
    ///     async fn next(&mut self) -> Option<&'static str> {
    ///         while !self.lines.is_empty() {
    ///             let operation = self.set.select().await;
    ///             let at = self.lines.iter().position(|line| operation.is(*line)).expect("one of them");
    ///             match operation.recv(self.lines[at]) {
    ///                 Ok(value) => return Some(value),
    ///                 Err(_) => self.set.remove(self.lines.swap_remove(at)),
    ///             }
    ///         }
    ///         None
    ///     }
    /// }
    ///
    /// # leno::block_on(async {
    /// let mut switch = Switch { set: Select::new(), lines: Vec::new() };
    /// let senders = ["warp", "weft"].map(|name| {
    ///     let (tx, rx) = leno::bounded(1);
    ///     switch.lines.push(switch.set.recv(rx));
    ///     (tx, name)
    /// });
    /// let switching = leno::spawn(async move {
    ///     let mut passed = Vec::new();
    ///     while let Some(name) = switch.next().await {
    ///         passed.push(name);
    ///     }
    ///     passed
    /// });
    /// for (tx, name) in senders {
    ///     tx.send(name).await.unwrap();
    /// }
    /// assert_eq!(switching.await.unwrap().len(), 2);
    /// # });
    /// ```
    pub fn recv<T: Send + 'a>(&mut self, receiver: impl Receives<'a, T>) -> RecvToken<T> {
        RecvToken(self.insert(receiver.receive(), false, false), PhantomData)
    }

    /// Adds a send of `value`: by a `&Sender`, or a `&mut Sender` of a kind with a single sender; or by a sender passed by value,
    /// which is dropped when the send leaves the set.
    pub fn send<T: Send + 'a>(&mut self, sender: impl Sends<'a, T>, value: T) -> SendToken<T> {
        SendToken(self.insert(sender.sending(value), true, false), PhantomData)
    }

    /// Adds an operation of any kind: whatever [`select()`](super::select()) takes, by value or by `&mut`. A future that is not an
    /// operation of leno, or merely contains one, is added as [`foreign`](super::foreign): it is polled, not claimed.
    ///
    /// A branch is a future: it completes once, and leaves the set when its outcome was [taken](Operation::output). If passed by
    /// `&mut` it can be added again, unless it has completed.
    ///
    /// ```
    /// use leno::select::{Select, foreign};
    /// use leno::sync::{Mutex, Notify};
    /// use std::pin::pin;
    ///
    /// # leno::block_on(async {
    /// let (mutex, notify) = (Mutex::new(7), Notify::new());
    /// let held = mutex.lock().await;
    /// let (_tx, rx) = leno::channel::oneshot::channel::<u8>();
    /// let late = pin!(async { "late" });
    ///
    /// let mut set = Select::biased();
    /// let locked = set.add(mutex.lock());
    /// let told = set.add(notify.notified());
    /// let answered = set.add(rx);
    /// let late = set.add(foreign(late));
    ///
    /// notify.notify_one();
    /// let operation = set.select().await;
    /// assert!(operation.is(told) && !operation.is(answered));
    /// operation.output(told);
    ///
    /// drop(held);
    /// assert_eq!(*set.select().await.output(locked), 7);
    /// assert_eq!(set.select().await.output(late), "late");
    /// # });
    /// ```
    pub fn add<B, R>(&mut self, branch: B) -> BranchToken<R>
    where
        B: Branch<Output = R> + 'a,
        B::Arm: Send + Take<Output = R>,
    {
        let operation = Box::new(branch.into_arm());
        // (It may be lent, and wait.)
        self.branches.are_fresh = false;
        BranchToken(self.insert(operation, true, <B::Arm as Take>::FOREIGN), PhantomData)
    }

    fn insert(&mut self, operation: Box<dyn Arm + Send + 'a>, is_once: bool, is_foreign: bool) -> Place {
        self.stop();
        let number = self.made;
        self.made += 1;
        self.branches.all.push(Member { number, is_foreign, is_once, operation });
        Place { set: self.id, number }
    }

    /// Removes an operation from the set; the others keep their tokens and indices.
    ///
    /// A send gives its value back, unless it has happened. A value that was handed to a receive but not taken is the next to
    /// be received. A handle that the set keeps is dropped.
    ///
    /// ```
    /// let (tx, rx) = leno::rendezvous();
    /// let mut set = leno::select::Select::new();
    /// let (sent, received) = (set.send(&tx, "kept"), set.recv(&rx));
    /// assert_eq!(set.remove(sent), Some("kept"));
    /// set.remove(received);
    /// assert!(set.is_empty());
    /// ```
    ///
    /// # Panics
    /// If the operation has left the set: it was removed before, or it was not a receive and its outcome was taken. If the token
    /// was made by another set.
    #[track_caller]
    pub fn remove<K: Token>(&mut self, token: K) -> K::Removed {
        let place = sealed::Sealed::place(token);
        let index = self.position(place);
        self.stop();
        self.happened = match self.happened {
            Some(happened) if happened == index => None,
            Some(happened) if happened > index => Some(happened - 1),
            happened => happened,
        };
        let mut operation = self.branches.all.remove(index).operation;
        let mut removed = K::Removed::default();
        if K::SENDS {
            // SAFETY: the set has made the token for this very branch, so the branch sends what the token says.
            unsafe { operation.take_unsent((&raw mut removed).cast()) };
        }
        // (Before it is returned: what is on its way out leaks if the drop of something else panics.)
        operation.discard();
        drop(operation);
        removed
    }

    /// How many operations are in the set.
    pub fn len(&self) -> usize {
        self.branches.all.len()
    }

    /// Whether no operation is in the set.
    pub fn is_empty(&self) -> bool {
        self.branches.all.is_empty()
    }

    /// Completes one operation of the set; waits until one can.
    ///
    /// Cancelling: dropping the future cancels the wait, and the set is as before. If an operation happens at that very moment, a
    /// value that was handed over goes to the next receiver, and a completed send is returned by the next select.
    ///
    /// # Panics
    /// If no operation is left in the set: it would wait forever. (Not where something else ends the wait: as a branch of
    /// [`select!`](crate::select!), in a [`race`](crate::fiber::race) or a [`timeout`](crate::timeout).)
    pub fn select(&mut self) -> SelectFuture<'_, 'a> {
        self.stop();
        SelectFuture { set: Some(self) }
    }

    /// Completes one operation, if one can be completed now.
    pub fn try_select(&mut self) -> Option<Operation<'_, 'a>> {
        self.stop();
        self.look_once().then_some(Operation { set: self })
    }

    /// Waits until an operation is ready (would not wait), without completing any; returns its index: how many were
    /// registered before it, as [`RecvToken::index`] and [`Operation::index`] say.
    ///
    /// It reserves nothing: others are served as if this set did not wait. (Exception: requests that nobody may overtake, for
    /// several places or permits or a write lock, and upgrades, are not overtaken here either; while the set waits, also not by
    /// its own for fewer.) So the answer may be stale when it comes, as somebody else may have taken what was ready; where both
    /// sides can wait (in a rendezvous channel, or while all places are reserved) it may be plain wrong, if another set asks the
    /// other side in the same way. (It is wrong again and again if a select on the other side polls this very future in one of
    /// its branches: until that poll is over, that select can meet nobody.) So try the operation, in a loop:
    ///
    /// ```
    /// use leno::channel::TryRecvError;
    /// use leno::select::Select;
    ///
    /// # leno::block_on(async {
    /// let (tx, rx) = leno::bounded(1);
    /// let (_quiet, quiets) = leno::bounded::<&str>(1);
    /// tx.send("weft").await.unwrap();
    /// let mut set = Select::new();
    /// let (weft, _) = (set.recv(&rx), set.recv(&quiets));
    /// let taken = loop {
    ///     match set.ready().await {
    ///         index if index == weft.index() => match rx.try_recv() {
    ///             Ok(taken) => break Some(taken),
    ///             Err(TryRecvError::Empty) => continue,
    ///             // It would be ready again and again.
    ///             Err(TryRecvError::Closed) => break None,
    ///         },
    ///         _ => unreachable!("nothing was sent there"),
    ///     }
    /// };
    /// assert_eq!(taken, Some("weft"));
    /// # });
    /// ```
    ///
    /// A closed channel makes its operation ready. A wait for a [`Barrier`](crate::sync::Barrier) counts as an arrival while this
    /// waits; a future that is [`foreign`](super::foreign) is polled, and its output kept for the next select. A
    /// [`wait_for`](crate::channel::watch::Receiver::wait_for) that has not checked the current value is ready: only checking can
    /// tell. If the set has an outcome that nobody has taken, that operation is ready.
    ///
    /// Cancelling: dropping the future leaves no trace. (An arrival at a barrier counts if the last one has come by then.)
    ///
    /// # Panics
    /// As [`select`](Self::select).
    pub fn ready(&mut self) -> ReadyFuture<'_, 'a> {
        self.stop();
        ReadyFuture { set: Some(self) }
    }

    /// The index of an operation that would not wait now, if there is one. See [`ready`](Self::ready).
    ///
    /// To find out, it enters the queues and leaves them again. An arrival at a barrier counts in between: if the last one comes just
    /// then, it passes, and that operation is ready from then on.
    pub fn try_ready(&mut self) -> Option<usize> {
        self.stop();
        let ready = self.happened.or_else(|| {
            let mut context = Context::from_waker(Waker::noop());
            self.driver.look_ready(&mut self.branches, self.biased, &mut context)
        });
        ready.map(|position| self.index(position))
    }

    /// As [`ready`](Self::ready), on a plain thread, which sleeps meanwhile.
    ///
    /// # Panics
    /// As [`ReadyFuture::wait`].
    #[track_caller]
    pub fn ready_blocking(&mut self) -> usize {
        self.ready().wait()
    }

    /// As [`ready_blocking`](Self::ready_blocking), for `d` of real time at most.
    ///
    /// # Errors
    /// The time was up, and no operation is ready.
    ///
    /// # Panics
    /// As [`ReadyFuture::wait_timeout`].
    #[track_caller]
    pub fn ready_timeout(&mut self, d: Duration) -> Result<usize, Elapsed> {
        self.ready().wait_timeout(d)
    }

    /// As [`ready_timeout`](Self::ready_timeout), until the instant `t`.
    ///
    /// # Errors
    /// As [`ready_timeout`](Self::ready_timeout).
    ///
    /// # Panics
    /// As [`ReadyFuture::wait_deadline`].
    #[track_caller]
    pub fn ready_deadline(&mut self, t: Instant) -> Result<usize, Elapsed> {
        self.ready().wait_deadline(t)
    }

    /// Where the operation is that a token names.
    #[track_caller]
    fn position(&self, token: Place) -> usize {
        assert!(token.set == self.id, "the token was made by another `Select`");
        let at = self.branches.all.binary_search_by_key(&token.number, |branch| branch.number);
        let Ok(position) = at else {
            panic!("the operation has left the set: it was removed, or its outcome was taken")
        };
        position
    }

    fn index(&self, position: usize) -> usize {
        self.branches.all[position].number as usize
    }

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<usize> {
        let ready = match self.happened {
            Some(happened) => happened,
            None => {
                std::task::ready!(self.has_something());
                std::task::ready!(self.driver.poll_ready(&mut self.branches, self.biased, cx))
            }
        };
        Poll::Ready(self.index(ready))
    }

    /// Looks at each branch once; whether one has happened.
    fn look_once(&mut self) -> bool {
        if !self.glance() {
            let mut context = Context::from_waker(Waker::noop());
            self.happened = self.driver.look_once(&mut self.branches, self.biased, &mut context);
            self.note_taken();
        }
        self.happened.is_some()
    }

    /// A branch has happened just now, if any has.
    fn note_taken(&mut self) {
        if let Some(winner) = self.happened {
            self.branches.arm(winner).note_taken();
        }
    }

    /// Panics if the set is empty, rather than wait forever, where nothing else ends the wait.
    fn has_something(&self) -> Poll<()> {
        if !self.is_empty() {
            return Poll::Ready(());
        }
        assert!(
            budget::may_be_endless(),
            "no operation is left in the set: it would wait forever; add one, or wait with a limit"
        );
        Poll::Pending
    }

    /// Polls until a branch has happened.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        if self.happened.is_none() {
            std::task::ready!(self.has_something());
            let winner = std::task::ready!(self.driver.poll(&mut self.branches, self.biased, cx));
            self.happened = Some(winner);
            self.note_taken();
        }
        Poll::Ready(())
    }

    /// A glance at each branch; whether one has happened.
    fn glance(&mut self) -> bool {
        if self.happened.is_none() {
            self.happened = self.driver.glance_at(&mut self.branches, self.biased);
            self.note_taken();
        }
        self.happened.is_some()
    }

    /// Ends the wait of a future that was dropped, or forgotten. The next select finds what was sent just then.
    fn stop(&mut self) {
        // (Also a glance that was not taken up, as the wait has panicked: operations that were begun may be added now.)
        if self.driver.has_looked() {
            self.branches.are_fresh = false;
            self.driver.leave(&mut self.branches, false);
        }
    }

    /// The time is up: whether a branch has happened all the same, or can happen now: the last poll need not have looked
    /// at them.
    fn time_out(&mut self) -> Option<Operation<'_, 'a>> {
        self.happened = self.driver.leave(&mut self.branches, true);
        self.look_once().then_some(Operation { set: self })
    }
}

impl Default for Select<'_> {
    fn default() -> Self {
        Select::new()
    }
}

impl Drop for Select<'_> {
    fn drop(&mut self) {
        both(
            self,
            |set| set.stop(),
            // What has happened, and nobody has taken.
            |set| {
                if !bug!("set_keeps_unused") {
                    for_all(set.branches.all.iter_mut(), |branch| branch.operation.discard());
                }
            },
        );
    }
}

shows! { [] Select<'_>, "Select", it => branches: it.branches.all.len(), biased: it.biased }

/// The futures of a set. `$glance` says what a thread finds before it prepares for a wait, `$late` what has happened all the same as
/// the time is up.
macro_rules! futures {
    ($(
        #[$doc:meta]
        $Future:ident => $output:ty, $call:literal, $glance:expr, $late:expr;
        #[$waits:meta]
    )+) => {$(
        #[$doc]
        #[must_use = "futures do nothing unless polled"]
        pub struct $Future<'s, 'a> {
            set: Option<&'s mut Select<'a>>,
        }

        impl<'s, 'a> $Future<'s, 'a> {
            #[$waits]
            ///
            /// # Panics
            /// If no operation is left in the set (but with a limit it waits until the time is up, unless that never comes, as with
            /// [`Duration::MAX`]); and inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
            #[track_caller]
            pub fn wait(mut self) -> $output {
                may_block($call);
                $glance(&mut self).unwrap_or_else(|| thread::wait_on(&mut self))
            }

            future! { @limits $call ['s, 'a] [$output] until Result<$output, Elapsed> }

            fn until(&mut self, deadline: Option<Instant>) -> Result<$output, Elapsed> {
                if deadline.is_some() && self.set.as_ref().is_some_and(|set| set.is_empty()) {
                    return Err(wait_for_nothing(deadline));
                }
                let output = $glance(self).or_else(|| thread::block_on(Pin::new(&mut *self), deadline));
                if let Some(output) = output {
                    return Ok(output);
                }
                self.set.take().and_then($late).ok_or(Elapsed::new())
            }
        }

        impl Drop for $Future<'_, '_> {
            fn drop(&mut self) {
                if let Some(set) = self.set.take() {
                    set.stop();
                }
            }
        }
    )+};
}

futures! {
    /// The future of [`Select::select`].
    SelectFuture => Operation<'s, 'a>, "Select::select", SelectFuture::glance, Select::time_out;
    /// Selects on a plain thread, which sleeps until an operation has completed.

    /// The future of [`Select::ready`].
    // (The last poll need not have looked at all of them.)
    ReadyFuture => usize, "Select::ready", |_: &mut Self| None, Select::try_ready;
    /// Waits on a plain thread, which sleeps until an operation would not wait.
}

shows! { [] SelectFuture<'_, '_>, "SelectFuture" }

shows! { [] ReadyFuture<'_, '_>, "ReadyFuture" }

impl<'s, 'a> Future for SelectFuture<'s, 'a> {
    type Output = Operation<'s, 'a>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let set = self.set.as_mut().expect("a select was polled after it had completed");
        std::task::ready!(set.poll(cx));
        Poll::Ready(Operation { set: self.set.take().expect("as above") })
    }
}

impl<'s, 'a> SelectFuture<'s, 'a> {
    fn glance(&mut self) -> Option<Operation<'s, 'a>> {
        self.set.take_if(|set| set.glance()).map(|set| Operation { set })
    }
}

impl Future for ReadyFuture<'_, '_> {
    type Output = usize;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<usize> {
        let set = self.set.as_mut().expect("a `ReadyFuture` was polled after it had completed");
        let ready = std::task::ready!(set.poll_ready(cx));
        self.set = None;
        Poll::Ready(ready)
    }
}

/// Of an empty set: waits as long as it was told.
fn wait_for_nothing(deadline: Option<Instant>) -> Elapsed {
    let None = thread::block_on(Pin::new(&mut pending::<Infallible>()), deadline);
    Elapsed::new()
}

/// The operation of a [`Select`] that has completed.
///
/// If it is dropped before its outcome was taken, the set keeps the outcome, and the next select returns it again.
#[must_use = "the set keeps the outcome until it is taken"]
pub struct Operation<'s, 'a> {
    set: &'s mut Select<'a>,
}

impl Operation<'_, '_> {
    /// Whether it is the one that `token` names.
    pub fn is(&self, token: impl Token) -> bool {
        sealed::Sealed::place(token) == self.place()
    }

    /// The index of the branch: how many were registered before it.
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
        // SAFETY: the set has made the token for this very branch, so the branch receives a `T`.
        unsafe { self.outcome(token.0) }
    }

    /// The result of the send.
    ///
    /// # Errors
    /// The channel is closed; the value is in the error.
    ///
    /// # Panics
    /// If another branch has happened.
    #[track_caller]
    pub fn send<T>(self, token: SendToken<T>) -> Result<(), SendError<T>> {
        // SAFETY: the set has made the token for this very branch, so the branch sends a `T`.
        unsafe { self.outcome(token.0) }
    }

    /// The output of an operation that was [added](Select::add).
    ///
    /// # Panics
    /// If another branch has happened.
    #[track_caller]
    pub fn output<R>(self, token: BranchToken<R>) -> R {
        // SAFETY: the set has made the token for this very branch, so the branch completes with an `R`.
        unsafe { self.outcome(token.0) }
    }

    /// # Safety
    /// `R` is what the branch gives for which the token was made.
    #[track_caller]
    unsafe fn outcome<R>(self, token: Place) -> R {
        assert!(
            self.set.position(token) == self.position(),
            "another branch has happened: ask with `is` first"
        );
        let mut outcome = None::<R>;
        // SAFETY: the caller's promise.
        unsafe { self.take((&raw mut outcome).cast()) };
        outcome.expect("the branch has an outcome")
    }

    fn position(&self) -> usize {
        self.set.happened.expect("until the outcome is taken")
    }

    fn place(&self) -> Place {
        Place { set: self.set.id, number: self.set.branches.all[self.position()].number }
    }

    /// # Safety
    /// `outcome` is the address of an `Option` of what the branch gives.
    unsafe fn take(self, outcome: *mut ()) {
        let index = self.position();
        self.set.happened = None;
        let all = &mut self.set.branches.all;
        if all[index].is_once {
            // Out of the set first: the rest of a batch goes now, and may wake somebody whose waker panics.
            let mut branch = all.remove(index);
            // SAFETY: the caller's promise; this branch has happened, and nobody has taken its outcome.
            unsafe { branch.operation.take_into(outcome) };
            return;
        }
        // SAFETY: as above.
        unsafe { all[index].operation.take_into(outcome) };
        all[index].operation.renew();
    }
}

shows! { [] Operation<'_, '_>, "Operation", it => branch: it.place().number }
