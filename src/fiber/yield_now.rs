//! Giving way.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::task::thread;

/// Lets others run first: moves the fiber to the back of its executor's queue once. Works on any executor.
///
/// ```
/// leno::block_on(async {
///     leno::yield_now().await;
/// });
/// ```
pub fn yield_now() -> Yield {
    Yield { yielded: false }
}

/// See [`yield_now`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Yield {
    yielded: bool,
}

impl Future for Yield {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        if self.yielded {
            return Poll::Ready(());
        }
        self.yielded = true;
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}

thread::waits! { [] Yield, "Yield" }
