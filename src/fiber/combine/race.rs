//! The first of two.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::Either;
use crate::task::error::InTurn;
use crate::task::{budget, poll_to_end, shows, thread, watch};

/// Waits for the first of two futures to complete, and drops the other.
///
/// Each poll polls `a`, then `b` if `a` is not ready (and has left some of the budget of this turn): if both are ready `a` wins,
/// and `b` may never have been polled. The loser is dropped before the result is returned, and with it what it holds: its timer,
/// its place in a queue. If one panics the other is dropped, and the panic propagates. Neither is polled again.
///
/// What dropping means depends on the loser: a receive loses no value, while a [`JoinHandle`](crate::fiber::JoinHandle)
/// detaches its fiber, which goes on. To cancel that fiber instead, use
/// [`cancel_on_drop`](crate::fiber::JoinHandle::cancel_on_drop). The racing fiber itself is not cancelled by any of this.
///
/// Dropping the future drops both. It is `Unpin` if both are. For more than two futures, or to await several again and again,
/// use [`select!`](crate::select!); for a time limit, [`timeout`](crate::timeout).
///
/// ```
/// use leno::fiber::{Either, race, sleep};
/// use std::time::Duration;
///
/// leno::block_on(async {
///     let (tx, rx) = leno::bounded(1);
///     let stop = sleep(Duration::from_secs(3600));
///     tx.send("work").await.unwrap();
///     match race(rx.recv(), stop).await {
///         Either::Left(job) => assert_eq!(job, Ok("work")),
///         Either::Right(()) => panic!("an hour has passed"),
///     }
/// });
/// ```
///
/// # Panics
///
/// When it is polled again after it was ready.
pub fn race<A: IntoFuture, B: IntoFuture>(a: A, b: B) -> Race<A::IntoFuture, B::IntoFuture> {
    Race { a: Some(a.into_future()), b: Some(b.into_future()), refused: false }
}

/// See [`race`].
#[must_use = "futures do nothing unless polled"]
pub struct Race<A, B> {
    /// Both pinned; `None` once it has ended.
    a: Option<A>,
    b: Option<B>,
    /// `a` had no budget to look in the poll before: it is polled again before `b` is.
    refused: bool,
}

/// Drops both where they are.
fn drop_both<A, B>((a, b): &mut (Pin<&mut Option<A>>, Pin<&mut Option<B>>)) {
    let mut drops = InTurn::default();
    drops.call(|| a.set(None));
    drops.call(|| b.set(None));
    drops.end();
}

impl<A: Future, B: Future> Future for Race<A, B> {
    type Output = Either<A::Output, B::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: both fields are pinned with `self`: they are not moved, also not by the drop, and it is `Unpin` only if both are.
        let (mut both, refused) = unsafe {
            let this = self.get_unchecked_mut();
            ((Pin::new_unchecked(&mut this.a), Pin::new_unchecked(&mut this.b)), &mut this.refused)
        };
        poll_to_end(&mut both, drop_both, |(a, b)| {
            let (Some(a), Some(b)) = (a.as_mut().as_pin_mut(), b.as_mut().as_pin_mut()) else {
                panic!("a `Race` was polled after it was ready")
            };
            watch::first_of(|| {
                let _endless = budget::endless();
                if let Poll::Ready(output) = a.poll(cx) {
                    return Poll::Ready(Either::Left(output));
                }
                // (Once: others that always use up the budget first must not keep `b` waiting.)
                if budget::may_look(refused, cx) { b.poll(cx).map(Either::Right) } else { Poll::Pending }
            })
        })
    }
}

/// Also where both panic.
impl<A, B> Drop for Race<A, B> {
    fn drop(&mut self) {
        // SAFETY: as for the poll.
        drop_both(&mut unsafe { (Pin::new_unchecked(&mut self.a), Pin::new_unchecked(&mut self.b)) });
    }
}

shows! { [A, B] Race<A, B>, "Race", it => ended: it.a.is_none() }

thread::waits! {
    [A: Future, B: Future] [A: Future + Unpin, B: Future + Unpin] Race<A, B>, "Race"
}
