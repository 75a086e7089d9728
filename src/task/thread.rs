//! Plain threads as waiters: a waker that unparks a thread, and the loop that drives one future on it.
//!
//! The parker's flag is the token of `std::thread::park`, kept apart from it because user code may unpark the
//! same thread for reasons of its own. `wake` sets the flag and unparks; the thread consumes the flag before
//! each sleep, so a wake between a poll and the sleep is never lost.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};
use std::time::{Duration, Instant};

use crate::prim::{self, Arc, AtomicBool, Ordering, thread};
use crate::task::error::Elapsed;
use crate::task::{budget, context};

/// One thread's waiting place.
struct Parker {
    thread: thread::Thread,
    woken: AtomicBool,
}

impl Parker {
    fn wake(&self) {
        // ORDERING: Release pairs with the Acquire in `Parker::take`: the woken thread sees what the waker did.
        if !self.woken.swap(true, Ordering::AcqRel) {
            self.thread.unpark();
        }
    }

    fn take(&self) -> bool {
        // ORDERING: pairs with `Parker::wake`.
        self.woken.swap(false, Ordering::AcqRel)
    }

    /// Sleeps until woken (true) or until `deadline` has passed (false). A peer that is at work on another core is
    /// often through sooner than a sleep begins: so it looks around for a moment first.
    fn park(&self, deadline: Option<Instant>) -> bool {
        let is_late = || deadline.is_some_and(|at| Instant::now() >= at);
        prim::look_around(|| self.woken.load(Ordering::Acquire) || is_late());
        loop {
            if self.take() {
                return true;
            }
            if is_late() {
                return false;
            }
            thread::park_until(deadline);
        }
    }
}

static VTABLE: RawWakerVTable = RawWakerVTable::new(
    // SAFETY (all four): `data` is from `Arc::into_raw` and stands for one count of the parker.
    |data| {
        // SAFETY: as above; `ManuallyDrop` keeps the caller's count.
        let parker = ManuallyDrop::new(unsafe { Arc::from_raw(data.cast::<Parker>()) });
        raw_waker(Arc::clone(&parker))
    },
    // SAFETY: as above; this consumes the count.
    |data| unsafe { Arc::from_raw(data.cast::<Parker>()) }.wake(),
    // SAFETY: as above; the count is only borrowed.
    |data| unsafe { &*data.cast::<Parker>() }.wake(),
    // SAFETY: as above; this consumes the count.
    |data| drop(unsafe { Arc::from_raw(data.cast::<Parker>()) }),
);

fn raw_waker(parker: Arc<Parker>) -> RawWaker {
    RawWaker::new(Arc::into_raw(parker).cast::<()>(), &VTABLE)
}

/// Polls `future` on the calling thread, which sleeps in between. `None`: `deadline` passed first; the future
/// was polled at least once and can be polled on.
///
/// A future that wakes itself during its poll (something it needs is claimed but not yet published) is polled
/// again after a pause that grows from a yield to a millisecond.
pub(crate) fn block_on<F: Future + ?Sized>(
    mut future: Pin<&mut F>,
    deadline: Option<Instant>,
) -> Option<F::Output> {
    let parker = Arc::new(Parker { thread: thread::current(), woken: AtomicBool::new(false) });
    // SAFETY: the vtable's contract is `Parker`'s, and this is one count of it.
    let waker = unsafe { Waker::from_raw(raw_waker(Arc::clone(&parker))) };
    let mut cx = Context::from_waker(&waker);
    let mut pauses = 0;
    loop {
        if let Poll::Ready(output) = budget::without(|| future.as_mut().poll(&mut cx)) {
            return Some(output);
        }
        if parker.take() {
            if deadline.is_some_and(|at| Instant::now() >= at) {
                return None;
            }
            pause(pauses);
            pauses += 1;
        } else {
            pauses = 0;
            if !parker.park(deadline) {
                return None;
            }
        }
    }
}

/// Waits for `future` on the calling thread; `what` is the call as its user wrote it. At `due` it is polled even
/// if nobody wakes it: its timer may be in the care of the very worker that waits here.
#[track_caller]
pub(crate) fn wait<F: Future + Unpin>(what: &str, future: &mut F, due: Option<Instant>) -> F::Output {
    context::may_block(what);
    let mut deadline = due;
    loop {
        if let Some(output) = block_on(Pin::new(future), deadline.take()) {
            return output;
        }
    }
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

/// Gives a future its three waits for plain threads; `$due` says when it may be ready without being woken.
macro_rules! waits {
    ([$($generics:tt)*] $future:ty, $what:literal, $due:expr) => {
        impl<$($generics)*> $future {
            /// Waits on the calling thread, which sleeps meanwhile.
            ///
            /// # Panics
            ///
            /// Inside a fiber of a cord, whose only thread it would stop. Inside a fiber of a runtime it stops
            /// one worker, and is reported once per place in debug builds.
            #[track_caller]
            pub fn wait(mut self) -> <Self as Future>::Output {
                let due = $due(&self);
                $crate::task::thread::wait(concat!($what, "::wait"), &mut self, due)
            }

            /// As [`wait`](Self::wait), for `limit` of real time at most; it can be waited for again.
            ///
            /// # Errors
            ///
            /// [`Elapsed`](crate::fiber::Elapsed) if the time was up first.
            #[track_caller]
            pub fn wait_timeout(
                &mut self,
                limit: std::time::Duration,
            ) -> Result<<Self as Future>::Output, $crate::task::error::Elapsed> {
                let deadline = std::time::Instant::now().checked_add(limit);
                let due = $due(self);
                $crate::task::thread::wait_until(concat!($what, "::wait_timeout"), self, due, deadline)
            }

            /// As [`wait_timeout`](Self::wait_timeout), until `deadline`.
            ///
            /// # Errors
            ///
            /// [`Elapsed`](crate::fiber::Elapsed) if the time was up first.
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
}
pub(crate) use waits;

/// One pause of a growing series; bounded, because it waits for a thread that may have been preempted.
pub(crate) fn pause(so_far: u32) {
    match so_far {
        0..4 => prim::spin_loop(),
        4..16 => thread::yield_now(),
        _ => {
            let pause = Duration::from_micros(1 << so_far.saturating_sub(12).min(10));
            thread::park_until(Some(Instant::now() + pause));
        }
    }
}

/// A pause after the `lost`th exchange in a row that somebody else was quicker with: that one works on another core.
#[cold]
pub(crate) fn back_off(lost: u32) {
    if !prim::MODEL {
        (0..32 << lost.min(3)).for_each(|_| prim::spin_loop());
    }
}

/// The instant `d` from now; `None`, never, where that is beyond what the clock can say.
pub(crate) fn deadline_after(d: Duration) -> Option<Instant> {
    Instant::now().checked_add(d)
}
