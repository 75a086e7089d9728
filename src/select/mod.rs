//! Waiting for several operations and completing exactly one of them.
//!
//! | | branches | where |
//! |---|---|---|
//! | [`select!`](crate::select!), [`select_biased!`](crate::select_biased!) | up to 32, any futures, with patterns and guards | in async code |
//! | [`select_blocking!`](crate::select_blocking!) | the same | on a plain thread |
//! | [`Select`] | any number of operations of all kinds and futures, chosen at run time | both |
//! | [`select()`], [`select_biased()`] | two to four; a future that can be stored | both |
//!
//! ```
//! use leno::select;
//!
//! # leno::block_on(async {
//! let (warp, warps) = leno::bounded(1);
//! let (_weft, wefts) = leno::bounded::<&str>(1);
//! warp.send(1).await.unwrap();
//! let seen = select! {
//!     Ok(number) = warps.recv() => format!("warp {number}"),
//!     Ok(name) = wefts.recv() => format!("weft {name}"),
//!     else => String::from("both are closed"),
//! };
//! assert_eq!(seen, "warp 1");
//! # });
//! ```
//!
//! Moving here from `tokio::select!` or `crossbeam_channel::select!`: [`moving`].
//!
//! # What is atomic
//!
//! *Leno's operations* ([`send`](crate::Sender::send), [`recv`](crate::Receiver::recv), [`reserve`](crate::Sender::reserve),
//! [`closed`](crate::Sender::closed), those of the other [channels](crate::channel), [`lock`](crate::sync::Mutex::lock), those of
//! the other [locks](crate::sync), and [`cancelled`](crate::fiber::CancelToken::cancelled) of a token), by value, by `&mut`,
//! pinned or boxed, are **claimed**. (Except [`Condvar::wait`](crate::sync::Condvar::wait) and
//! [`OnceCell::get_or_init`](crate::sync::OnceCell::get_or_init), which consist of several operations, and are polled.) While the
//! select waits they all queue under one atomic word, which a peer of any of them has to claim first. So exactly one of them
//! happens: a value is received from one channel only, or sent in one branch only, at most one lock or place is taken; and no
//! value goes to, or comes from, a branch that has lost. Two selects that meet each other agree on it, too.
//!
//! *Any other future* (a `JoinHandle`, a [`sleep`](crate::sleep()), an `async` block, a socket's) is **polled**. It is
//! polled only while no operation of the select can be claimed, so it and a claimed branch cannot both complete. But a
//! future that loses has been polled, and what it did by then is done: an `async` block that has received a value and now
//! awaits something else drops the value with it. Wrapping an operation in a future makes it a polled one:
//! `select! { v = rx.recv() => … }` is atomic, `select! { v = async { rx.recv().await } => … }` is only as
//! cancellation-safe as the futures in it.
//!
//! *A batch* ([`send_many`](crate::Sender::send_many), [`recv_many`](crate::Receiver::recv_many)) is claimed by its first
//! value. The rest follows once it has won, as far as possible without waiting: so in a select a `send_many` may complete
//! with only some values sent, and the others stay in its deque.
//!
//! # What happens to the losers
//!
//! They are dequeued and dropped before the handler runs: they have taken, sent and locked nothing, and leave nothing behind.
//! (From the moment the winner is claimed until the select is polled next, they are passed by; but one that wants several
//! permits, or places, keeps its place at the front of its line as long as fewer are free, and an upgrade keeps readers out.) A
//! send that was made in the branch is dropped with its value (which goes to the hook of
//! [`on_undelivered`](crate::channel::Builder::on_undelivered), if set). If the drop of that value panics, the winner's outcome
//! goes back; if in a macro that of a loser itself does, a foreign future or one that owns a handle, it is dropped. To keep the
//! value, make the future outside and pass it by `&mut`:
//!
//! ```
//! use leno::select;
//!
//! # leno::block_on(async {
//! let (tx, _rx) = leno::rendezvous();
//! let mut sending = tx.send(String::from("kept"));
//! select! {
//!     sent = &mut sending => sent.unwrap(),
//!     default => {}
//! }
//! assert_eq!(sending.into_inner().as_deref(), Some("kept"));
//! # });
//! ```
//!
//! # Order, fairness, starvation
//!
//! Ready branches are found before anything waits. `select!` checks them in random order, so each of `k` ready ones is
//! chosen about every `k`-th time; `select_biased!` always takes the first ready one in the order written, and a branch
//! that is always ready starves those below it. (When it begins, it waits for a branch where a peer is in the middle of an
//! operation, rather than skipping it.) A closed channel makes its branch ready, with the error: use a pattern
//! (`Ok(value) = rx.recv()`) to disable it then, and `else` for the end of all. (Beside a branch that may never come, such as one
//! for a stop, `else` would never come either: match the error in the handler, and leave the loop there.)
//!
//! A waiting select is queued for each of its operations, and completes the first one that a peer claims. It cannot be claimed
//! during a poll that has something to check: one with any other future among its branches, or with a new waker. A peer that
//! comes just then serves the next waiter, or acts as if nobody waited (but `notify_one` notifies it all the same); the select
//! re-checks that branch and re-queues at the back of that line. A repeated select (as in a loop) starts at the back, too, and so
//! does an operation that has waited by itself before. (Where a select waits to send into a full buffered channel, a new sender
//! can get in between just as a receiver makes room.)
//!
//! # Cancelling
//!
//! Cancellation-safe: dropping a select, or the future that contains it, cancels all its branches, as dropping each would:
//! no value is lost, and what was handed over at that very moment goes to the next in line. A send passed by `&mut` whose
//! value was taken at that moment has succeeded, and reports so when it is awaited or selected again.
//!
//! # Limits
//!
//! At most 2,096,640 claimed branches can wait at a time, in all selects of a program; one more panics. The macros need some
//! levels of macro recursion for each branch, and one for each token of a pattern, so large patterns and large nested selects may
//! require a higher `recursion_limit` of the crate. (A pattern that compares through a reference, such as `Some(&"x")` or `<&T as
//! Trait>::CONST`, or one that another macro has parsed as a `pat`, may not compile, or not match: bind, and compare in the
//! handler.)
//!
//! Source: selecting in two phases without multi-word compare-and-swap is from N. Koval's "Algorithms in Kotlin
//! coroutines" (section "Select expression").

mod arm;
mod driver;
mod dynamic;
mod handles;
#[doc(hidden)]
#[allow(missing_docs, reason = "hidden: only the macros name what is in there")]
pub mod macros;
pub mod moving;
mod order;
mod syntax;

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

pub use dynamic::{BranchToken, Operation, ReadyFuture, RecvToken, Select, SelectFuture, SendToken, Token};
pub use handles::{Receives, Sends};

use arm::{Arms, Claimed, Open, Polled, Take, Tuple};
use driver::Driver;

use crate::task::context::may_block;
use crate::task::error::Elapsed;
use crate::task::shows;
use crate::task::thread;
use crate::wait::{Operated, future};

/// Waits for the first of two to four branches; checks them in random order.
///
/// A branch is an operation of leno, by value or by `&mut`, or any future in [`foreign`]. Waits until one of them
/// can complete, and completes that one alone.
///
/// Cancelling: dropping the future cancels all branches, as dropping each of them would.
///
/// # Panics
/// When polled, if an operation passed by `&mut` has already completed.
pub fn select<B: Branches>(branches: B) -> Selecting<B> {
    Selecting::new(branches, false)
}

/// As [`select`], checking the branches in the order in which they are written: if several are ready, the first one always wins.
/// (But an operation that was passed by `&mut` and had happened while it waited wins over all others.)
///
/// # Panics
/// As [`select`].
pub fn select_biased<B: Branches>(branches: B) -> Selecting<B> {
    Selecting::new(branches, true)
}

/// Any future as a branch. It is polled only while no operation of the select can be claimed, so it and another branch cannot
/// both complete.
///
/// A future that is not `Unpin` has to be pinned first, with [`std::pin::pin!`] for example.
pub fn foreign<F: Future + Unpin>(future: F) -> Foreign<F> {
    Foreign(future)
}

/// A future that is polled alongside claimed operations. Made by [`foreign`].
#[derive(Debug)]
#[must_use = "a branch does nothing unless selected"]
pub struct Foreign<F>(F);

/// The future of [`select`].
#[must_use = "futures do nothing unless polled"]
pub struct Selecting<B: Branches> {
    arms: B::Arms,
    driver: Driver,
    biased: bool,
    done: bool,
}

/// A branch of a [`select`]: an operation of leno (see [the module](self#what-is-atomic)), by value, by `&mut`, pinned or boxed,
/// or a [`Foreign`] future. Sealed.
pub trait Branch: sealed::IntoArm {
    /// What it completes with.
    type Output;
}

/// A tuple of two to four [`Branch`]es. Sealed.
pub trait Branches: sealed::Branches {}

mod sealed {
    use super::{Take, Tuple};

    #[allow(private_interfaces, private_bounds, reason = "sealed: only this crate names these")]
    pub trait IntoArm {
        type Arm: Take;

        fn into_arm(self) -> Self::Arm;
    }

    #[allow(private_interfaces, private_bounds, reason = "sealed: only this crate names these")]
    pub trait Branches {
        type Arms: Tuple;
        type Output;

        fn into_arms(self) -> Self::Arms;

        fn output(arms: &mut Self::Arms, winner: usize) -> Self::Output;
    }
}

impl<B: Branches> Selecting<B> {
    fn new(branches: B, biased: bool) -> Self {
        Selecting { arms: branches.into_arms(), driver: Driver::default(), biased, done: false }
    }

    /// Selects on a plain thread, which sleeps until a branch has completed.
    ///
    /// # Panics
    /// As [`select`], and inside a fiber of a [`Cord`](crate::fiber::Cord), whose only thread it would block.
    #[track_caller]
    pub fn wait(mut self) -> B::Output {
        may_block("select");
        self.glance().unwrap_or_else(|| thread::wait_on(&mut self))
    }

    // (Not moved for its last call: an outcome in it may be large.)
    future! { @limits "select" ['_] [B::Output] until Result<B::Output, Elapsed> }

    fn until(&mut self, deadline: Option<Instant>) -> Result<B::Output, Elapsed> {
        if let Some(output) = self.glance().or_else(|| thread::block_on(Pin::new(&mut *self), deadline)) {
            return Ok(output);
        }
        // A branch may have happened all the same, or can happen now: the last poll need not have looked at them.
        let look = |arms: &mut Open<'_, '_>| {
            let cx = &mut Context::from_waker(Waker::noop());
            self.driver.leave(arms, true).or_else(|| self.driver.look_once(arms, self.biased, cx))
        };
        let winner = self.arms.open(0, look).ok_or(Elapsed::new())?;
        Ok(self.output(winner))
    }

    /// What a thread finds before it prepares for a wait.
    fn glance(&mut self) -> Option<B::Output> {
        let winner = self.driver.glance_at_tuple(&mut self.arms, 0, self.biased)?;
        Some(self.output(winner))
    }

    /// The outcome, once the others have ended.
    fn output(&mut self, winner: usize) -> B::Output {
        self.done = true;
        arm::end_losers(&mut self.arms, winner, |arms| arms.open(0, |arms| arms.arm(winner).discard()));
        B::output(&mut self.arms, winner)
    }
}

impl<B: Branches> Future for Selecting<B> {
    type Output = B::Output;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<B::Output> {
        let this = &mut *self;
        assert!(!this.done, "a select was polled after it had completed");
        this.driver.poll_tuple(&mut this.arms, 0, this.biased, cx).map(|winner| this.output(winner))
    }
}

impl<B: Branches> Unpin for Selecting<B> {}

impl<B: Branches> Drop for Selecting<B> {
    fn drop(&mut self) {
        if self.driver.is_started() {
            self.arms.open(0, |arms| self.driver.end(arms));
        }
    }
}

shows! { [B: Branches] Selecting<B>, "Selecting", it => branches: B::Arms::COUNT, biased: it.biased }

#[allow(private_interfaces, reason = "sealed: only this crate names these")]
impl<O: Operated> sealed::IntoArm for O {
    type Arm = Claimed<O>;

    fn into_arm(self) -> Self::Arm {
        Claimed::new(self)
    }
}

#[allow(private_bounds, reason = "as above")]
impl<O: Operated> Branch for O {
    type Output = O::Output;
}

impl<F: Future + Unpin> sealed::IntoArm for Foreign<F> {
    type Arm = Polled<F>;

    fn into_arm(self) -> Self::Arm {
        Polled::new(self.0)
    }
}

impl<F: Future + Unpin> Branch for Foreign<F> {
    type Output = F::Output;
}

macro_rules! tuples {
    ($($count:literal $name:ident { $($T:ident $variant:ident $index:tt,)+ })+) => {$(
        #[doc = concat!("Which of ", stringify!($count), " branches has completed, and with what.")]
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum $name<$($T),+> {
            $(
                #[doc = concat!("The ", stringify!($variant), " one.")]
                $variant($T),
            )+
        }

        impl<$($T: Branch),+> sealed::Branches for ($($T,)+) {
            type Arms = ($($T::Arm,)+);
            type Output = $name<$(<$T::Arm as Take>::Output),+>;

            fn into_arms(self) -> Self::Arms {
                ($(self.$index.into_arm(),)+)
            }

            fn output(arms: &mut Self::Arms, winner: usize) -> Self::Output {
                match winner {
                    $($index => $name::$variant(arms.$index.take()),)+
                    _ => unreachable!("there are {} branches", $count),
                }
            }
        }

        impl<$($T: Branch),+> Branches for ($($T,)+) {}
    )+};
}

tuples! {
    2 Selected2 { A First 0, B Second 1, }
    3 Selected3 { A First 0, B Second 1, C Third 2, }
    4 Selected4 { A First 0, B Second 1, C Third 2, D Fourth 3, }
}
