//! Parking: a fiber waits for its token, as threads do with `std::thread::park`.
//!
//! The token is a flag of the state word, so an unpark is one transition: set it, and schedule the fiber. A park
//! that is polled with another waker than the fiber's own (by a combinator that wakes its parts apart) leaves
//! that waker with the fiber, and then looks for the token once more; the unparker sets the token, and then looks for the
//! waker. Both change the state word for that, so the later one of these changes sees what the other did before.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use crate::task::error::discard;
use crate::task::header::Task;
use crate::task::place::Place;
use crate::task::watch::{self, Target};
use crate::task::{budget, context, thread, waker};
use crate::time::{Timeout, timeout};

/// Waits until the current fiber is unparked with [`FiberRef::unpark`](crate::fiber::FiberRef::unpark).
///
/// An earlier unpark is not lost: the next park then returns at once. Unparks do not add up. The fiber that is parked is the
/// one that polls the future. Dropping the future consumes nothing: the token stays for the next park. (If it was polled with
/// another waker than the fiber's, as by a combinator, the fiber keeps that one until it is unparked, parks with another one, or
/// ends.)
///
/// A fiber has one token, and only one of its parks waits for it at a time: if a combinator such as
/// [`join_all`](crate::fiber::join_all) polls several of them separately, an unpark wakes only the one polled last. If parts
/// of a fiber have to wait for separate signals, use [`Notify`](crate::sync::Notify) or a channel.
///
/// ```
/// leno::block_on(async {
///     let me = leno::fiber::current();
///     leno::spawn(async move { me.unpark() });
///     leno::fiber::park().await;
/// });
/// ```
///
/// # Panics
///
/// When it is polled outside a fiber.
#[track_caller]
pub fn park() -> Park {
    Park { place: Place::here(), waits: false, refused: false }
}

/// As [`park`], for at most `limit`, counted from this call. Returns true if the fiber was unparked (even if the time is also
/// up when it is polled), false if the time was up.
///
/// # Panics
///
/// When it is polled outside a fiber.
#[track_caller]
pub fn park_timeout(limit: Duration) -> ParkTimeout {
    ParkTimeout { limited: timeout(limit, park()) }
}

/// See [`park`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Park {
    place: Place,
    /// It was polled, and not refused.
    waits: bool,
    /// There was no budget for it in the poll before.
    refused: bool,
}

impl Future for Park {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        // (Before it takes the token: a loop of parks that find one is to let others run.)
        if !self.waits && !budget::may_begin(&mut self.refused, cx) {
            return Poll::Pending;
        }
        match context::with_task(|task| poll_token(task, cx)) {
            Some(polled) => {
                self.waits = polled.is_pending();
                if self.waits {
                    watch::waits(self.place, || ("park", Target::Nothing));
                }
                polled
            }
            None => panic!(
                "`fiber::park` outside a fiber of leno; poll it in a future passed to `leno::spawn` or \
                 `leno::block_on`, or use `std::thread::park` on a plain thread"
            ),
        }
    }
}

fn poll_token(task: &Task, cx: &mut Context<'_>) -> Poll<()> {
    if task.state.take_token() {
        return Poll::Ready(());
    }
    if !waker::is_own(cx.waker(), task) {
        drop(task.set_parked(Some(cx.waker().clone())));
        if task.state.take_token() {
            // (The token is taken.)
            discard(task.set_parked(None));
            return Poll::Ready(());
        }
    }
    Poll::Pending
}

thread::waits! { [] Park, "Park" }

/// See [`park_timeout`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct ParkTimeout {
    limited: Timeout<Park>,
}

impl Future for ParkTimeout {
    type Output = bool;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<bool> {
        Pin::new(&mut self.limited).poll(cx).map(|parked| parked.is_ok())
    }
}

thread::waits! { [] ParkTimeout, "ParkTimeout", |park: &Self| park.limited.due() }
