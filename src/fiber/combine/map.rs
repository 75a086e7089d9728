//! A future for each item of an iterator, some of them at a time.
//!
//! A [`Window`] slides over the items: as soon as one future is ready the next item is taken, so n run as long as
//! there are items, and never more.
//!
//! ```text
//!   items:   1   2  [3]  4  [5] [6]  7   8 …        n = 3
//!            given       ready       not yet taken from the iterator
//! ```

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_core::stream::FusedStream;

use super::members::Members;
use super::outputs::Outputs;
use crate::task::error::{InTurn, discard};
use crate::task::{or_clean, shows, thread};

/// Calls `f` with each item of `iter` and awaits the futures it returns, `n` at a time; returns all outputs in the order of
/// the items.
///
/// It is a sliding window, not batches: at most `n` futures run at any time, and `n` do as long as items are left. An item is
/// taken from the iterator, and `f` called with it, when its turn comes. With no items it is ready at the first poll. For no
/// limit, pass [`usize::MAX`].
///
/// The futures are polled in the caller's fiber, each only when it was woken, so they may borrow what the caller
/// has, and need not be `Send`; they wait side by side, but compute one after the other. To spread them over a
/// runtime's workers, spawn in `f`: `|x| leno::spawn(work(x)).cancel_on_drop()`. (Without `cancel_on_drop` the
/// fibers go on if the wait for them is dropped.) At most one of the futures should [`park`](crate::fiber::park()):
/// they are one fiber, which has one token.
///
/// If a future, `f` or the iterator panics, all futures are dropped and the panic propagates. Dropping the `MapConcurrent`
/// drops the futures and their outputs; no more items are taken.
///
/// ```
/// use leno::fiber::{map_concurrent, sleep};
/// use std::time::Duration;
///
/// leno::block_on(async {
///     let names = ["ash", "birch", "oak"];
///     let lengths = map_concurrent(&names, 2, |name| async move {
///         sleep(Duration::from_millis(1)).await;
///         name.len()
///     });
///     assert_eq!(lengths.await, [3, 5, 3]);
///
///     // On all workers:
///     let sums = map_concurrent(1..=4_u64, 2, |n| leno::spawn(async move { (1..=n).sum::<u64>() }).cancel_on_drop());
///     let sums: Vec<u64> = sums.await.into_iter().map(|sum| sum.expect("no fiber panics")).collect();
///     assert_eq!(sums, [1, 3, 6, 10]);
/// });
/// ```
///
/// # Panics
///
/// If `n` is 0. When it is polled again after it was ready.
#[track_caller]
pub fn map_concurrent<I, F, R>(iter: I, n: usize, f: F) -> MapConcurrent<I::IntoIter, F, R::IntoFuture>
where
    I: IntoIterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture,
{
    MapConcurrent { window: Window::new("map_concurrent", iter, n, f), outputs: Outputs::new() }
}

/// As [`map_concurrent`], but ends at the first error, which is the result; the other futures and their outputs are dropped
/// before it is returned, and no more items are taken.
///
/// ```
/// use leno::fiber::try_map_concurrent;
///
/// leno::block_on(async {
///     let mut words = ["1", "two", "3"].into_iter();
///     let parsed = try_map_concurrent(&mut words, 1, |word| async move { word.parse::<i32>() });
///     assert!(parsed.await.is_err());
///     assert_eq!(words.next(), Some("3"));
/// });
/// ```
///
/// # Panics
///
/// If `n` is 0. When it is polled again after it was ready.
#[track_caller]
pub fn try_map_concurrent<I, F, R, T, E>(
    iter: I,
    n: usize,
    f: F,
) -> TryMapConcurrent<I::IntoIter, F, R::IntoFuture, T>
where
    I: IntoIterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<Output = Result<T, E>>,
{
    TryMapConcurrent { window: Window::new("try_map_concurrent", iter, n, f), outputs: Outputs::new() }
}

/// As [`map_concurrent`], but a stream that yields each output as soon as it is ready.
///
/// The window is filled when the stream is polled: while the caller is busy with an output, no item is taken. The futures
/// make progress only while the stream is polled; fibers that `f` spawns run on their own. The stream ends after the last
/// output, and stays ended; likewise after a panic, which drops all futures. Dropping the stream drops the futures.
///
/// ```
/// use leno::fiber::{map_unordered, sleep};
/// use std::time::Duration;
///
/// leno::block_on(async {
///     let mut waits = map_unordered([30, 1], 2, |millis| async move {
///         sleep(Duration::from_millis(millis)).await;
///         millis
///     });
///     assert_eq!(waits.next().await, Some(1));
///     assert_eq!(waits.next().await, Some(30));
///     assert_eq!(waits.next().await, None);
/// });
/// ```
///
/// # Panics
///
/// If `n` is 0.
#[track_caller]
pub fn map_unordered<I, F, R>(iter: I, n: usize, f: F) -> MapUnordered<I::IntoIter, F, R::IntoFuture>
where
    I: IntoIterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture,
{
    MapUnordered { window: Window::new("map_unordered", iter, n, f) }
}

/// Up to `n` futures, and the items to come.
///
/// Invariants: fewer than `n` futures are in the window only if there are no items, or if it was not polled since.
/// `items` is `None` once it has ended, and is not asked again.
struct Window<I, F, Fut> {
    items: Option<I>,
    n: usize,
    f: F,
    /// How many items were taken.
    taken: usize,
    members: Members<Fut>,
}

/// The futures are pinned in the set's memory; nothing else is pinned.
impl<I, F, Fut> Unpin for Window<I, F, Fut> {}

impl<I, F, Fut> Window<I, F, Fut> {
    #[track_caller]
    fn new(what: &str, iter: impl IntoIterator<IntoIter = I>, n: usize, f: F) -> Self {
        assert!(
            n > 0,
            "`{what}` with n = 0 would never run anything; use 1 or more, or `usize::MAX` for no limit"
        );
        Window { items: Some(iter.into_iter()), n, f, taken: 0, members: Members::new() }
    }

    /// Nothing more will come.
    fn is_empty(&self) -> bool {
        self.items.is_none() && self.members.len() == 0
    }
}

shows! { [I, F, Fut] Window<I, F, Fut>, "Window", it => n: it.n, taken: it.taken, pending: it.members.len() }

impl<I, F, R, Fut> Window<I, F, Fut>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>,
    Fut: Future,
{
    /// Takes items up to `n`.
    fn fill(&mut self) {
        while self.members.len() < self.n {
            let Some(item) = self.items.as_mut().and_then(Iterator::next) else {
                self.items = None;
                break;
            };
            self.members.push(self.taken, (self.f)(item).into_future());
            self.taken += 1;
        }
    }

    /// The next output, with its item's index; `None`: that was all. It is at its end after a panic as well.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<(usize, Fut::Output)>> {
        let no_more = |window: &mut Self| {
            window.members.clear();
            discard(window.items.take());
        };
        or_clean(self, no_more, |window| {
            window.fill();
            window.members.poll_next(cx)
        })
    }
}

/// See [`map_concurrent`].
#[must_use = "futures do nothing unless polled"]
pub struct MapConcurrent<I, F, Fut: Future> {
    window: Window<I, F, Fut>,
    outputs: Outputs<Fut::Output>,
}

impl<I, F, R, Fut> Future for MapConcurrent<I, F, Fut>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>,
    Fut: Future,
{
    type Output = Vec<Fut::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.outputs.poll_all("MapConcurrent", || this.window.poll_next(cx))
    }
}

shows! { [I, F, Fut: Future] MapConcurrent<I, F, Fut>, "MapConcurrent", it => window: it.window }

thread::waits! {
    [I: Iterator, F: FnMut(I::Item) -> R, R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>, Fut: Future]
    MapConcurrent<I, F, Fut>, "MapConcurrent"
}

/// See [`try_map_concurrent`].
#[must_use = "futures do nothing unless polled"]
pub struct TryMapConcurrent<I, F, Fut, T> {
    window: Window<I, F, Fut>,
    outputs: Outputs<T>,
}

impl<I, F, R, Fut, T, E> Future for TryMapConcurrent<I, F, Fut, T>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<IntoFuture = Fut, Output = Result<T, E>>,
    Fut: Future<Output = Result<T, E>>,
{
    type Output = Result<Vec<T>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let polled = this.outputs.try_poll_all("TryMapConcurrent", || this.window.poll_next(cx));
        let mut drops = InTurn::default();
        if let Poll::Ready(Err(_)) = polled {
            drops.call(|| this.window.members.clear());
            drops.call(|| this.outputs.clear());
            drops.call(|| this.window.items = None);
        }
        drops.give(polled)
    }
}

shows! { [I, F, Fut, T] TryMapConcurrent<I, F, Fut, T>, "TryMapConcurrent", it => window: it.window }

thread::waits! {
    [
        I: Iterator,
        F: FnMut(I::Item) -> R,
        R: IntoFuture<IntoFuture = Fut, Output = Result<T, E>>,
        Fut: Future<Output = Result<T, E>>,
        T,
        E
    ]
    TryMapConcurrent<I, F, Fut, T>, "TryMapConcurrent"
}

/// See [`map_unordered`].
#[must_use = "streams do nothing unless polled"]
pub struct MapUnordered<I, F, Fut> {
    window: Window<I, F, Fut>,
}

impl<I, F, Fut> MapUnordered<I, F, Fut> {
    /// The next output; `None` after the last one.
    ///
    /// Cancelling: dropping the future loses nothing.
    #[allow(clippy::should_implement_trait, reason = "it is what streams have")]
    pub fn next(&mut self) -> NextUnordered<'_, I, F, Fut> {
        NextUnordered(self)
    }
}

impl<I, F, R, Fut> Stream for MapUnordered<I, F, Fut>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>,
    Fut: Future,
{
    type Item = Fut::Output;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Fut::Output>> {
        self.window.poll_next(cx).map(|next| next.map(|(_, output)| output))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let inside = self.window.members.len();
        let (least, most) = self.window.items.as_ref().map_or((0, Some(0)), Iterator::size_hint);
        (least.saturating_add(inside), most.and_then(|most| most.checked_add(inside)))
    }
}

impl<I, F, R, Fut> FusedStream for MapUnordered<I, F, Fut>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>,
    Fut: Future,
{
    fn is_terminated(&self) -> bool {
        self.window.is_empty()
    }
}

shows! { [I, F, Fut] MapUnordered<I, F, Fut>, "MapUnordered", it => window: it.window }

/// See [`MapUnordered::next`].
#[must_use = "futures do nothing unless polled"]
pub struct NextUnordered<'a, I, F, Fut>(&'a mut MapUnordered<I, F, Fut>);

impl<I, F, R, Fut> Future for NextUnordered<'_, I, F, Fut>
where
    I: Iterator,
    F: FnMut(I::Item) -> R,
    R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>,
    Fut: Future,
{
    type Output = Option<Fut::Output>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut *self.0).poll_next(cx)
    }
}

shows! { [I, F, Fut] NextUnordered<'_, I, F, Fut>, "NextUnordered", it => stream: it.0 }

thread::waits! {
    ['a, I: Iterator, F: FnMut(I::Item) -> R, R: IntoFuture<IntoFuture = Fut, Output = Fut::Output>, Fut: Future]
    NextUnordered<'a, I, F, Fut>, "NextUnordered"
}
