//! Driving futures by hand.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread;
use std::time::Duration;

use futures_core::Stream;

/// A waker that counts how often it was woken.
#[derive(Default)]
pub(crate) struct CountingWaker {
    wakes: AtomicUsize,
}

impl Wake for CountingWaker {
    fn wake(self: Arc<Self>) {
        self.wakes.fetch_add(1, Ordering::SeqCst);
    }
}

impl CountingWaker {
    pub(crate) fn new() -> Arc<Self> {
        Arc::default()
    }

    pub(crate) fn count(&self) -> usize {
        self.wakes.load(Ordering::SeqCst)
    }

    pub(crate) fn was_woken(&self) -> bool {
        self.count() > 0
    }
}

/// Polls by hand, with a counting waker.
pub(crate) trait PollExt: Unpin {
    fn poll_once(&mut self, waker: &Arc<CountingWaker>) -> Poll<Self::Output>
    where
        Self: Future,
    {
        self.poll_with(&Waker::from(Arc::clone(waker)))
    }

    fn poll_with(&mut self, waker: &Waker) -> Poll<Self::Output>
    where
        Self: Future,
    {
        Pin::new(self).poll(&mut Context::from_waker(waker))
    }

    fn next_once(&mut self, waker: &Arc<CountingWaker>) -> Poll<Option<Self::Item>>
    where
        Self: Stream,
    {
        Pin::new(self).poll_next(&mut Context::from_waker(&Waker::from(Arc::clone(waker))))
    }

    /// The output of a future that must be ready.
    #[track_caller]
    fn must_be_ready(&mut self, why: &str) -> Self::Output
    where
        Self: Future,
    {
        match self.poll_once(&CountingWaker::new()) {
            Poll::Ready(output) => output,
            Poll::Pending => panic!("must be ready: {why}"),
        }
    }

    /// The output of a future that is decided, though perhaps somebody is in the middle of telling it: then a poll
    /// that is not ready has woken its own task, to be polled again.
    #[track_caller]
    fn must_be_decided(&mut self, why: &str) -> Self::Output
    where
        Self: Future,
    {
        loop {
            let waker = CountingWaker::new();
            match self.poll_once(&waker) {
                Poll::Ready(output) => return output,
                Poll::Pending => assert!(waker.was_woken(), "must be decided: {why}"),
            }
            thread::yield_now();
        }
    }

    /// Polls a future that must wait; the waker tells when it is woken.
    #[track_caller]
    fn must_wait(&mut self, why: &str) -> Arc<CountingWaker>
    where
        Self: Future,
    {
        let waker = CountingWaker::new();
        assert!(self.poll_once(&waker).is_pending(), "must wait: {why}");
        waker
    }
}

impl<F: Unpin> PollExt for F {}

/// Spins, so that the other thread's next step is raced for; but lets others run, in case that thread has no core.
pub(crate) fn spin_until(mut is_it: impl FnMut() -> bool) {
    for look in 1_u32.. {
        if is_it() {
            return;
        }
        if look % 64 == 0 { thread::yield_now() } else { std::hint::spin_loop() }
    }
}

/// How much more than by default is run: `LENO_STRESS=n`.
pub(crate) fn scale() -> usize {
    std::env::var("LENO_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

/// Runs `test` on a thread of its own and fails if it hangs: a deadlock or a lost wake-up becomes a message. The
/// time limit decides nothing else; with `LENO_STRESS=n` it is n times as long. (An interpreter's clock counts steps.)
#[track_caller]
pub(crate) fn within<R: Send + 'static>(what: &str, test: impl FnOnce() -> R + Send + 'static) -> R {
    let (done, outcome) = mpsc::channel();
    let thread = thread::spawn(move || {
        let result = test();
        let _ = done.send(());
        result
    });
    let limit = if cfg!(miri) { 100_000 } else { 60 * scale() as u64 };
    if outcome.recv_timeout(Duration::from_secs(limit)) == Err(mpsc::RecvTimeoutError::Timeout) {
        panic!("hangs (a deadlock or a lost wake-up): {what}");
    }
    thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
