//! All of several.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use super::members::Members;
use super::outputs::Outputs;
use crate::task::error::InTurn;
use crate::task::shows;
use crate::task::thread;

/// Waits for all of the futures and returns their outputs in the order of the futures.
///
/// They are polled in the caller's fiber, each only when it was woken, so ten thousand of them cost no more than each on its
/// own. With no futures it is ready at the first poll. If one panics the others are dropped and the panic propagates.
/// Dropping the future drops the futures that are pending and the outputs of those that have completed.
///
/// To run them in parallel, spawn them and join the handles. A dropped handle detaches its fiber; to end the fibers when the
/// wait is dropped, pass handles with [`cancel_on_drop`](crate::fiber::JoinHandle::cancel_on_drop).
///
/// At most one of them should [`park`](crate::fiber::park()): they are one fiber, which has one token.
///
/// ```
/// use leno::fiber::join_all;
///
/// let squares = leno::block_on(async {
///     let fibers = (1..=3).map(|n| leno::spawn(async move { n * n }).cancel_on_drop());
///     join_all(fibers).await
/// });
/// let squares: Vec<i32> = squares.into_iter().map(|square| square.expect("no fiber panics")).collect();
/// assert_eq!(squares, [1, 4, 9]);
/// ```
///
/// # Panics
///
/// When it is polled again after it was ready.
pub fn join_all<I>(iter: I) -> JoinAll<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    JoinAll { members: collect(iter), outputs: Outputs::new() }
}

/// As [`join_all`], but ends at the first error, which is the result; the other futures and their outputs are dropped before
/// it is returned. If several fail at the same time, the one woken first counts.
///
/// Join handles are futures whose output is a `Result`, so the first fiber that fails ends the wait. Pass handles with
/// [`cancel_on_drop`](crate::fiber::JoinHandle::cancel_on_drop) to cancel the others with it.
///
/// ```
/// use leno::fiber::try_join_all;
///
/// async fn double(n: Result<i32, &'static str>) -> Result<i32, &'static str> {
///     Ok(n? * 2)
/// }
///
/// leno::block_on(async {
///     assert_eq!(try_join_all([Ok(1), Ok(2)].map(double)).await, Ok(vec![2, 4]));
///     assert_eq!(try_join_all([Ok(1), Err("no number"), Ok(3)].map(double)).await, Err("no number"));
/// });
/// ```
///
/// # Panics
///
/// When it is polled again after it was ready.
pub fn try_join_all<I, T, E>(iter: I) -> TryJoinAll<<I::Item as IntoFuture>::IntoFuture, T>
where
    I: IntoIterator,
    I::Item: IntoFuture<Output = Result<T, E>>,
{
    TryJoinAll { members: collect(iter), outputs: Outputs::new() }
}

fn collect<I>(iter: I) -> Members<<I::Item as IntoFuture>::IntoFuture>
where
    I: IntoIterator,
    I::Item: IntoFuture,
{
    let mut members = Members::new();
    for (index, future) in iter.into_iter().enumerate() {
        members.push(index, future.into_future());
    }
    members
}

/// See [`join_all`].
#[must_use = "futures do nothing unless polled"]
pub struct JoinAll<F: Future> {
    members: Members<F>,
    outputs: Outputs<F::Output>,
}

impl<F: Future> Future for JoinAll<F> {
    type Output = Vec<F::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.outputs.poll_all("JoinAll", || this.members.poll_next(cx))
    }
}

shows! { [F: Future] JoinAll<F>, "JoinAll", it => pending: it.members.len() }

thread::waits! { [F: Future] JoinAll<F>, "JoinAll" }

/// See [`try_join_all`].
#[must_use = "futures do nothing unless polled"]
pub struct TryJoinAll<F, T> {
    members: Members<F>,
    outputs: Outputs<T>,
}

impl<F, T, E> Future for TryJoinAll<F, T>
where
    F: Future<Output = Result<T, E>>,
{
    type Output = Result<Vec<T>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let polled = this.outputs.try_poll_all("TryJoinAll", || this.members.poll_next(cx));
        let mut drops = InTurn::default();
        if let Poll::Ready(Err(_)) = polled {
            drops.call(|| this.members.clear());
            drops.call(|| this.outputs.clear());
        }
        drops.give(polled)
    }
}

shows! { [F, T] TryJoinAll<F, T>, "TryJoinAll", it => pending: it.members.len() }

thread::waits! { [F: Future<Output = Result<T, E>>, T, E] TryJoinAll<F, T>, "TryJoinAll" }
