//! Sections that a cancel must not cut in two.
//!
//! A shield is a flag of the fiber's state word, and a count beside it where several overlap (`task/extras.rs`). It is
//! put up by the first poll of the section, if no cancel has come before, and taken away with the section: a cancel is marked
//! at once, and takes effect at the fiber's first suspension without a shield.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::task::error::errors;
use crate::task::header::Task;
use crate::task::{context, shows, thread};

/// Runs `section` to its end even if its fiber is cancelled meanwhile; the fiber then ends at its first suspension
/// afterwards.
///
/// It is all or nothing: in a fiber that was already cancelled the section does not begin, and the fiber ends there. (Exceptions:
/// if another shield is active, both go on; inside a blocking call of leno, where nothing suspends, the section is completed.
/// Inside another library's `block_on` it would hang: use [`block_on`](crate::block_on) or [`Shield::wait`].) Shields nest, and
/// may overlap. Fibers spawned by the section are cancelled with their parent as usual
/// ([`Builder::root`](crate::fiber::Builder::root) starts one that is not). A shield does not protect from dropping the future
/// itself, as the loser of a race, by [`run_until_cancelled`](crate::fiber::CancelToken::run_until_cancelled) or as part of the
/// body of a [scope](crate::fiber::scope()) that is cancelled, nor from the end of the executor, which waits for nobody.
///
/// Outside a fiber, where there is nothing to be cancelled, it is `section` and nothing else.
///
/// ```
/// use leno::fiber::shield;
///
/// leno::block_on(async {
///     let (tx, rx) = leno::rendezvous();
///     let transfer = leno::spawn(async move {
///         shield(async {
///             tx.send("taken out").await.unwrap();
///             tx.send("put in").await.unwrap();
///         })
///         .await;
///         std::future::pending::<()>().await;
///     });
///     assert_eq!(rx.recv().await, Ok("taken out"));
///     transfer.cancel();
///     assert_eq!(rx.recv().await, Ok("put in"));
///     assert!(transfer.await.unwrap_err().is_cancelled());
/// });
/// ```
pub fn shield<F: IntoFuture>(section: F) -> Shield<F::IntoFuture> {
    Shield { section: section.into_future(), held: Held(None), begun: false }
}

/// See [`shield`].
#[must_use = "futures do nothing unless polled"]
pub struct Shield<F> {
    section: F,
    /// After the section, which is dropped first.
    held: Held,
    begun: bool,
}

/// The fiber that is shielded, until this is dropped.
struct Held(Option<Task>);

impl Held {
    /// Moves the shield to the fiber that runs here. False: that has been cancelled.
    fn renew(&mut self) -> bool {
        context::with_task(|here| {
            if self.0.as_ref().is_some_and(|held| held.is(here)) {
                return true;
            }
            let shielded = here.shield();
            self.release();
            self.0 = shielded.then(|| here.clone());
            shielded
        })
        .unwrap_or_else(|| {
            self.release();
            true
        })
    }

    fn release(&mut self) {
        if let Some(task) = self.0.take() {
            task.unshield();
        }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.release();
    }
}

impl<F: Future> Future for Shield<F> {
    type Output = F::Output;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        // SAFETY: `section` is pinned with `self`: it is not moved, there is no `Drop` for `Shield`, and it is `Unpin` only if
        // `F` is.
        let (section, held, begun) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.section), &mut this.held, &mut this.begun)
        };
        if !held.renew() && !*begun && !context::stands_aside() {
            // The fiber ends with this suspension. (A call that blocks does not suspend it.)
            return Poll::Pending;
        }
        *begun = true;
        let polled = section.poll(cx);
        if polled.is_ready() {
            held.release();
        }
        polled
    }
}

shows! { [F] Shield<F>, "Shield", it => begun: it.begun }

thread::waits! { [F: Future] [F: Future + Unpin] Shield<F>, "Shield" }

/// The fiber has been cancelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled(());

errors! {
    Cancelled {
        Cancelled(()) => "the fiber was cancelled",
    }
}

/// Whether the calling fiber has been cancelled: for long computations between suspensions, and for sections under a
/// [`shield`], which would not notice otherwise. Outside a fiber it returns `Ok`.
///
/// ```
/// use leno::fiber::{Cancelled, check_cancel};
///
/// fn search(upto: u64) -> Result<u64, Cancelled> {
///     let mut sum = 0;
///     for n in 0..upto {
///         if n % 1024 == 0 {
///             check_cancel()?;
///         }
///         sum += n;
///     }
///     Ok(sum)
/// }
/// assert_eq!(leno::block_on(async { search(10) }), Ok(45));
/// ```
///
/// # Errors
///
/// [`Cancelled`], once the fiber has been cancelled.
pub fn check_cancel() -> Result<(), Cancelled> {
    match context::with_task(|task| task.state.is_cancelled()) {
        Some(true) => Err(Cancelled(())),
        _ => Ok(()),
    }
}
