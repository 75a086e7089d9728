//! What `select!`, `select_biased!` and `select_blocking!` expand to. The macros themselves only parse (`syntax`).
//!
//! ```text
//! let chosen = {
//!     futures, pinned; arms over them                Probe: a leno operation is claimed, anything else is polled
//!     Choice::new(arms, which patterns fit).await    a branch whose pattern does not fit is switched off
//! };                                                 the losers are dropped here
//! match chosen { Branch(pattern) => handler, … }     handlers stand in the caller's own block
//! ```
//!
//! What losers were to send is dropped as the choice is made: if that panics, what the winner has received goes back. (The losers
//! themselves, with their handles, and foreign futures go at the end of the block: if that panics, it is dropped.)
//!
//! A pattern is matched twice: by reference in [`Choice`], which has to know whether it fits before it gives the other
//! branches up, and by value for the handler.

#![allow(private_interfaces, private_bounds, reason = "hidden: only the macros name these")]

use std::convert::Infallible;
use std::future::{Future, IntoFuture, poll_fn};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

pub use std::pin::pin;

use super::arm::{Claimed, Open, Polled, Tuple, each_arm, end_losers};
use super::driver::Driver;
use crate::task::context::may_block;
use crate::task::shows;
use crate::task::{budget, thread, watch};
use crate::time::{Sleep, sleep};
use crate::wait::{Operated, elsewhere};

/// A pinned future, about which it is not known yet whether it is an operation of leno.
///
/// [`AsOperation`] is found first, by value; [`AsFuture`] only by reference, if the other does not apply.
#[derive(Debug)]
pub struct Probe<'a, F>(Option<Pin<&'a mut F>>);

impl<'a, F> Probe<'a, F> {
    pub fn new(future: Pin<&'a mut F>) -> Self {
        Probe(Some(future))
    }
}

/// A future that is pinned for the select, and for nothing else.
pub struct Own<'a, F>(&'a mut F);

elsewhere! { [O: Operated] Own<'_, O>, self => *self.0, O::end; }

/// Leno's operations, which are claimed.
pub trait AsOperation {
    type Arm;

    fn __leno_arm(self) -> Self::Arm;
}

/// All other futures, which are polled.
pub trait AsFuture {
    type Arm;

    fn __leno_arm(self) -> Self::Arm;
}

impl<'a, F: Operated + Unpin> AsOperation for Probe<'a, F> {
    type Arm = Claimed<Own<'a, F>>;

    fn __leno_arm(self) -> Self::Arm {
        Claimed::new(Own(self.0.expect("a probe is used once").get_mut()))
    }
}

impl<'a, F: Future> AsFuture for &mut Probe<'a, F> {
    type Arm = Polled<Pin<&'a mut F>>;

    fn __leno_arm(self) -> Self::Arm {
        Polled::new(self.0.take().expect("a probe is used once"))
    }
}

/// The expression of a branch: where that is no future the compiler says so there, and not at the whole macro.
pub struct Given<F: IntoFuture>(pub F);

impl<F: IntoFuture> Given<F> {
    #[inline(always)]
    pub fn __leno_future(self) -> F::IntoFuture {
        self.0.into_future()
    }
}

/// What to do if nothing is ready.
#[derive(Debug)]
pub enum Otherwise {
    /// Wait.
    Wait,
    /// `default`: nothing.
    Now,
    /// `default(d)`: wait for so long.
    After(Duration),
}

/// What a select came to.
#[derive(Debug)]
pub enum Chosen<W> {
    Branch(W),
    Default,
    /// No branch takes part (any more).
    Else,
}

/// The future of the macros.
#[must_use = "futures do nothing unless polled"]
pub struct Choice<G: Tuple, P> {
    group: G,
    /// The arms whose guard is false, or whose pattern did not fit.
    off: u32,
    fits: P,
    driver: Driver,
    biased: bool,
    otherwise: Otherwise,
    has_else: bool,
    timer: Option<Sleep>,
}

impl<G: Tuple, P: FnMut(&G::Which) -> bool> Choice<G, P> {
    pub fn new(
        biased: bool,
        otherwise: Otherwise,
        has_else: bool,
        guards: &[bool],
        group: G,
        fits: P,
    ) -> Self {
        let off = (0..).zip(guards).map(|(index, guard)| u32::from(!guard) << index).sum();
        let otherwise = match otherwise {
            Otherwise::After(d) if d.is_zero() => Otherwise::Now,
            otherwise => otherwise,
        };
        Choice { group, off, fits, driver: Driver::default(), biased, otherwise, has_else, timer: None }
    }

    /// Selects on a plain thread, which sleeps meanwhile.
    #[track_caller]
    pub fn block(&mut self) -> Chosen<G::Which> {
        let mut chosen = Chosen::Else;
        let is_now = matches!(self.otherwise, Otherwise::Now);
        if !is_now {
            may_block("select_blocking!");
        }
        // Mostly this is enough, and it need not prepare for a wait.
        if self.glance(&mut chosen) {
            return chosen;
        }
        if is_now {
            budget::blocking(|| self.look_now(&mut chosen, &mut Context::from_waker(Waker::noop())));
            return chosen;
        }
        let deadline = match self.otherwise {
            Otherwise::After(d) => thread::deadline_after(d),
            _ => None,
        };
        // (Without its timer: the thread's loop keeps the time.)
        if thread::block_on(pin!(poll_fn(|cx| self.look(&mut chosen, cx))), deadline).is_none() {
            self.time_out(&mut chosen, &mut Context::from_waker(Waker::noop()));
        }
        chosen
    }

    /// The time is up; but a branch may have happened all the same, or can happen now: the last poll need not have
    /// looked at them.
    fn time_out(&mut self, chosen: &mut Chosen<G::Which>, cx: &mut Context<'_>) {
        let winner = self.group.open(self.off, |arms| self.driver.leave(arms, true));
        if !winner.is_some_and(|winner| self.fits(winner, chosen)) {
            self.look_now(chosen, cx);
        }
    }

    /// A glance at the branches, which is the first look; whether one is chosen.
    fn glance(&mut self, chosen: &mut Chosen<G::Which>) -> bool {
        let winner = self.driver.glance_at_tuple(&mut self.group, self.off, self.biased);
        winner.is_some_and(|winner| self.fits(winner, chosen))
    }

    /// Looks at the branches without waiting for one.
    fn look_now(&mut self, chosen: &mut Chosen<G::Which>, cx: &mut Context<'_>) {
        while !self.is_off() {
            let look = |arms: &mut Open<'_, '_>| self.driver.look_once(arms, self.biased, cx);
            let Some(winner) = self.group.open(self.off, look) else {
                *chosen = Chosen::Default;
                return;
            };
            if self.fits(winner, chosen) {
                return;
            }
        }
        if !self.has_else {
            *chosen = Chosen::Default;
        }
    }

    /// Chooses the branch that has completed, if its pattern fits; otherwise it is switched off, and the others are open
    /// again. (What has come is in one place all the while: it may be large.)
    fn fits(&mut self, winner: usize, chosen: &mut Chosen<G::Which>) -> bool {
        apart::<G::Which, _>(|| *chosen = Chosen::Branch(self.group.take(winner)));
        let fits = matches!(chosen, Chosen::Branch(which) if (self.fits)(which));
        if fits {
            end_losers(&mut self.group, winner, |group| {
                if let Chosen::Branch(which) = std::mem::replace(chosen, Chosen::Else) {
                    group.give_back(which);
                }
            });
        } else {
            *chosen = Chosen::Else;
            self.off |= 1 << winner;
        }
        fits
    }

    fn is_off(&self) -> bool {
        u64::from(self.off) == (1 << G::COUNT) - 1
    }

    /// Polls the branches; `chosen` is `Else` before that.
    fn look(&mut self, chosen: &mut Chosen<G::Which>, cx: &mut Context<'_>) -> Poll<()> {
        if let Otherwise::Now = self.otherwise {
            if !self.driver.may_go_on(cx) {
                return Poll::Pending;
            }
            if !self.glance(chosen) {
                self.look_now(chosen, cx);
            }
            return Poll::Ready(());
        }
        while !self.is_off() {
            let polled = self.driver.poll_tuple(&mut self.group, self.off, self.biased, cx);
            let winner = std::task::ready!(polled);
            if self.fits(winner, chosen) {
                return Poll::Ready(());
            }
        }
        match self.otherwise {
            Otherwise::After(_) if !self.has_else => Poll::Pending,
            _ => Poll::Ready(()),
        }
    }
}

/// Runs `f` in a frame of its own if it moves a large `T`: otherwise the caller's frame would have room for that, too.
#[inline(always)]
fn apart<T, R>(f: impl FnOnce() -> R) -> R {
    #[inline(never)]
    fn out_of_line<R>(f: impl FnOnce() -> R) -> R {
        f()
    }
    if size_of::<T>() > 256 { out_of_line(f) } else { f() }
}

impl<G: Tuple, P> Unpin for Choice<G, P> {}

impl<G: Tuple, P: FnMut(&G::Which) -> bool> Future for Choice<G, P> {
    type Output = Chosen<G::Which>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (this, mut chosen) = (&mut *self, Chosen::Else);
        let mark = watch::mark();
        if this.look(&mut chosen, cx).is_pending() {
            let Otherwise::After(d) = this.otherwise else { return Poll::Pending };
            let timer = this.timer.get_or_insert_with(|| sleep(d));
            std::task::ready!(timer.poll_time(cx));
            watch::forget_since(mark);
            this.time_out(&mut chosen, cx);
        }
        Poll::Ready(chosen)
    }
}

impl<G: Tuple, P> Drop for Choice<G, P> {
    fn drop(&mut self) {
        if self.driver.is_started() {
            self.group.open(self.off, |arms| self.driver.end(arms));
        }
    }
}

shows! { [G: Tuple, P] Choice<G, P>, "Choice", _it => branches: G::COUNT }

/// All branches are off, and there is no `else`.
#[cold]
#[track_caller]
pub fn nothing_left() -> ! {
    panic!(
        "all branches of the select are off (their guards are false, or their patterns did not match): it needs an `else` branch"
    )
}

macro_rules! which {
    ($([$T:ident $name:ident $index:tt])+) => {
        /// Which branch of a macro has completed, and with what. The variants are lower-case since the macros use their names
        /// for variables, too.
        #[allow(non_camel_case_types, reason = "hidden")]
        #[derive(Debug)]
        pub enum Which<$($T = Infallible),+> {
            $($name($T),)+
        }
    };
}

each_arm!(which);
