//! Plain threads as waiters: the loop that drives one future on its thread, which sleeps in between.
//!
//! Where it sleeps, and who wakes it, says [`parker`]; what it does before it sleeps, [`patience`]; how it keeps out of the way of
//! others, [`losses`]. A thread that waits for what others bring it, and not for a future, does so at a [`Gate`].

mod gate;
mod losses;
mod parker;
mod patience;

#[cfg(any(leno_loom, leno_shuttle))]
pub mod model;

use std::cell::Cell;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use crate::prim::{self, is_late, thread};
use crate::task::budget;
use crate::task::context;
use crate::task::error::Elapsed;
use crate::task::{finally, watch};

pub(crate) use gate::{Gate, Keeper};
pub(crate) use losses::{back_off, back_off_briefly, give_way, linger, lost};
pub(crate) use patience::{Awaited, Prospects, glance, let_others_run, rest};

use parker::Parker;

/// Polls `future` on the calling thread, which sleeps in between. `None`: `deadline` passed first; the future
/// was polled at least once and can be polled on.
///
/// A future that wakes itself during its poll (something it needs is claimed but not yet published) is polled
/// again after a pause that grows from some spins to a millisecond.
pub(crate) fn block_on<F: Future + ?Sized>(
    future: Pin<&mut F>,
    deadline: Option<Instant>,
) -> Option<F::Output> {
    drive(future, deadline, |_| 0)
}

/// The same, of one that knows how much happens where it waits.
pub(crate) fn block_on_awaited<F: Future + Awaited>(
    future: Pin<&mut F>,
    deadline: Option<Instant>,
) -> Option<F::Output> {
    drive(future, deadline, |future| future.prospects().steps())
}

fn drive<F: Future + ?Sized>(
    mut future: Pin<&mut F>,
    deadline: Option<Instant>,
    steps: impl Fn(&F) -> u32,
) -> Option<F::Output> {
    let _aside = context::stand_aside();
    let mark = watch::mark();
    let _over = finally(|| watch::forget_since(mark));
    let parker = parker::current();
    let waker = parker.waker();
    let mut cx = Context::from_waker(&waker);
    let mut pauses = 0;
    let began_late = is_late(deadline);
    let mut late = false;
    let mut seen = parker.seen();
    loop {
        watch::forget_since(mark);
        if let Poll::Ready(output) = budget::blocking(|| future.as_mut().poll(&mut cx)) {
            return Some(output);
        }
        if bug!("block_on_looks_late") {
            seen = parker.seen();
        }
        // Once the time is up: one last look, as what woke it, or has not woken it yet, may have been in time. (None if it was up
        // before.)
        if let Some(now) = parker.woken(seen) {
            if std::mem::replace(&mut late, is_late(deadline)) {
                return None;
            }
            seen = now;
            context::leave_the_rest();
            pause(&mut pauses);
            context::fire_timers_by(deadline);
        } else if late {
            return None;
        } else {
            pauses = 0;
            let woken = || parker.woken(seen);
            let sleep = |until| parker.sleep(seen, until);
            match wait_aside(parker.parker, deadline, woken, || steps(&future), sleep) {
                Some(now) => seen = now,
                None if began_late => return None,
                // The timers that it looks after itself, and that were due in time, may have brought something.
                None => {
                    context::fire_timers_by(deadline);
                    late = true;
                }
            }
        }
    }
}

/// Waits for a while until `look` finds something, and then by `sleep`, which ends at its deadline or before. Meanwhile it fires
/// the timers that this thread looks after. `None`: `deadline` passed first.
fn wait_aside<R>(
    parker: &'static Parker,
    deadline: Option<Instant>,
    look: impl Fn() -> Option<R>,
    steps: impl Fn() -> u32,
    sleep: impl Fn(Option<Instant>) -> Option<R>,
) -> Option<R> {
    loop {
        let until = context::about_to_wait(deadline);
        let found = patience::wait(until, &look, &steps, || context::asleep(parker, deadline, &sleep));
        if found.is_some() || is_late(deadline) {
            return found;
        }
        context::fire_timers_by(deadline);
    }
}

/// Waits for `future` on the calling thread, which may block.
pub(crate) fn wait_on<F: Future + Unpin>(future: &mut F) -> F::Output {
    block_on(Pin::new(future), None).expect("without a deadline it waits until it is done")
}

/// Waits for `future` on the calling thread; `what` is the call as its user wrote it. At `due` it is polled even
/// if nobody wakes it by then.
#[track_caller]
pub(crate) fn wait<F: Future + Unpin>(what: &str, future: &mut F, due: Option<Instant>) -> F::Output {
    wait_until(what, future, due, None).expect("without a limit it waits until it is done")
}

/// As [`wait`], until `limit` at most; `None` is never.
#[track_caller]
pub(crate) fn wait_until<F: Future + Unpin>(
    what: &str,
    future: &mut F,
    due: Option<Instant>,
    limit: Option<Instant>,
) -> Result<F::Output, Elapsed> {
    context::may_block(what);
    if let Some(due) = due.filter(|due| limit.is_none_or(|limit| *due < limit)) {
        if let Some(output) = block_on(Pin::new(future), Some(due)) {
            return Ok(output);
        }
    }
    block_on(Pin::new(future), limit).ok_or(Elapsed::new())
}

/// Gives a future its three waits for plain threads; `$due` says when it may be ready without being woken, if ever. One that is
/// `Unpin` only for some of its parameters has two lists of these: for `wait`, and for those that leave it where it is. `$check` is
/// called before a wait without a limit.
macro_rules! waits {
    ([$($generics:tt)*] [$($unpin:tt)*] $future:ty, $what:literal, $due:expr $(, $check:expr)?) => {
        impl<$($generics)*> $future {
            /// Waits on the calling thread, which sleeps meanwhile.
            ///
            /// # Panics
            ///
            /// Inside a fiber of a cord, whose only thread it would stop. Inside a fiber of a runtime it stops
            /// one worker, and is reported once per place in debug builds.
            #[track_caller]
            pub fn wait(self) -> <Self as Future>::Output {
                let due = $due(&self);
                $($check(&self);)?
                $crate::task::thread::wait(concat!($what, "::wait"), &mut std::pin::pin!(self), due)
            }
        }

        impl<$($unpin)*> $future {
            /// As [`wait`](Self::wait), for `limit` of real time at most; it can be waited for again.
            ///
            /// # Errors
            ///
            /// [`Elapsed`](crate::fiber::Elapsed) if the time was up first.
            ///
            /// # Panics
            ///
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_timeout(
                &mut self,
                limit: std::time::Duration,
            ) -> Result<<Self as Future>::Output, $crate::task::error::Elapsed> {
                let deadline = $crate::task::thread::deadline_after(limit);
                let due = $due(self);
                $crate::task::thread::wait_until(concat!($what, "::wait_timeout"), self, due, deadline)
            }

            /// As [`wait_timeout`](Self::wait_timeout), until `deadline`.
            ///
            /// # Errors
            ///
            /// [`Elapsed`](crate::fiber::Elapsed) if the time was up first.
            ///
            /// # Panics
            ///
            /// As [`wait`](Self::wait).
            #[track_caller]
            pub fn wait_deadline(
                &mut self,
                deadline: std::time::Instant,
            ) -> Result<<Self as Future>::Output, $crate::task::error::Elapsed> {
                let due = $due(self);
                $crate::task::thread::wait_until(concat!($what, "::wait_deadline"), self, due, Some(deadline))
            }
        }
    };
    ([$($generics:tt)*] [$($unpin:tt)*] $future:ty, $what:literal) => {
        $crate::task::thread::waits! { [$($generics)*] [$($unpin)*] $future, $what, |_: &Self| None }
    };
    ([$($generics:tt)*] $future:ty, $what:literal $(, $due:expr $(, $check:expr)?)?) => {
        $crate::task::thread::waits! { [$($generics)*] [$($generics)*] $future, $what $(, $due $(, $check)?)? }
    };
}
pub(crate) use waits;

/// One more pause of a growing series; bounded, because it waits for a thread that may have been preempted.
pub(crate) fn pause(so_far: &mut u32) {
    match *so_far {
        0..4 => prim::spin_loop(),
        4..16 => thread::yield_now(),
        _ => {
            // (Not a park: that could take a token of the user's.)
            thread::sleep(Duration::from_micros(1 << so_far.saturating_sub(12).min(10)));
        }
    }
    *so_far = so_far.saturating_add(1);
}

/// So often it pauses for foreign code at most: for a second.
const MOST_PAUSES: u32 = 1024;

/// The pauses of an operation that has to answer now, and waits only for peers in the middle of something. It may be within those of
/// another one, and ends before that.
#[derive(Default)]
pub(crate) struct Haste {
    pauses: u32,
    /// Whether the thread was in haste before the first pause.
    before: bool,
}

impl Haste {
    pub(crate) fn pause(&mut self) {
        pause(&mut self.pauses);
        if self.pauses == 1 {
            self.before = set_in_haste(true);
        }
    }

    /// The same for the sake of foreign code, which may each time begin something new that is undecided. False: that is enough.
    pub(crate) fn pause_for_others(&mut self) -> bool {
        self.pause();
        self.pauses < MOST_PAUSES
    }
}

impl Drop for Haste {
    #[inline]
    fn drop(&mut self) {
        if self.pauses > 0 {
            set_in_haste(self.before);
        }
    }
}

prim::thread_local! {
    static IN_HASTE: Cell<bool> = Cell::new(false);
}

/// Returns what it was before.
fn set_in_haste(is_so: bool) -> bool {
    IN_HASTE.try_with(|in_haste| in_haste.replace(is_so)).unwrap_or(false)
}

/// Whether what is polled has looked before, and has to say now what there is. (Also if that is something which a foreign
/// poll or waker runs meanwhile: the worst is that it takes a lock before those who starve.)
pub(crate) fn is_in_haste() -> bool {
    IN_HASTE.try_with(Cell::get).unwrap_or(false)
}

/// Pauses until it is so.
#[cold]
#[inline(never)]
pub(crate) fn pause_until(is_so: impl Fn() -> bool) {
    let mut pauses = 0;
    while !is_so() {
        pause(&mut pauses);
    }
}

/// Pauses for so long; when that ended. By the clock, as a pause instruction takes 10 ns on one processor and 50 on another.
fn pause_for(span: Duration) -> Instant {
    let begun = Instant::now();
    loop {
        prim::spin_loop();
        let now = Instant::now();
        if now - begun >= span {
            return now;
        }
    }
}

/// The instant `d` from now; `None`, never, where that is beyond what the clock can say.
pub(crate) fn deadline_after(d: Duration) -> Option<Instant> {
    Instant::now().checked_add(d)
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::{Haste, is_in_haste};

    #[test]
    fn the_end_of_a_nested_haste_is_not_that_of_the_outer_one() {
        let mut outer = Haste::default();
        assert!(!is_in_haste());
        outer.pause();
        let mut inner = Haste::default();
        inner.pause();
        inner.pause();
        drop(inner);
        assert!(is_in_haste(), "the outer one goes on");
        drop(Haste::default());
        assert!(is_in_haste());
        drop(outer);
        assert!(!is_in_haste());
    }
}
