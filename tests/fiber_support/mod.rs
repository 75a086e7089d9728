//! What several of the fiber tests need.
#![allow(dead_code, unused_imports, reason = "each test file uses its own part")]

use leno::fiber::Cord;
use leno::time::{Clock, Sleep};
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

pub(crate) use std::sync::atomic::Ordering::SeqCst;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A cord on which time goes by as soon as there is nothing else to do.
pub(crate) fn cord() -> Cord {
    Cord::with_clock(Clock::virtual_time())
}

/// A waker that counts.
#[derive(Default)]
pub(crate) struct Count(pub(crate) AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// How often its copies were dropped.
#[derive(Clone, Default)]
pub(crate) struct Drops(Arc<AtomicUsize>);

/// Counts its drop.
pub(crate) struct OnDrop(Arc<AtomicUsize>);

impl Drops {
    pub(crate) fn probe(&self) -> OnDrop {
        OnDrop(Arc::clone(&self.0))
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::SeqCst)
    }
}

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// A waker that panics when it is woken.
pub(crate) fn panicking_waker() -> Waker {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("planted: a waker panics");
        }
    }
    Waker::from(Arc::new(Panics))
}

/// Calls a closure when dropped.
pub(crate) struct Defer<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for Defer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// A timer of `span` from now that has been set with `waker`; one that is over before it is set, on a busy machine, is
/// made anew.
pub(crate) fn set_timer(span: Duration, waker: &Waker) -> Sleep {
    loop {
        let mut sleep = leno::sleep(span);
        if Pin::new(&mut sleep).poll(&mut Context::from_waker(waker)).is_pending() {
            return sleep;
        }
    }
}

/// Where a future leaves its waker for the test.
#[derive(Clone, Default)]
pub(crate) struct Stash(Arc<(Mutex<Option<Waker>>, AtomicUsize)>);

impl Stash {
    /// Pending for ever; leaves the waker of the last poll, and counts polls.
    pub(crate) fn pending(&self) -> impl Future<Output = ()> + Send + 'static {
        let stash = self.clone();
        poll_fn(move |cx| {
            *stash.0.0.lock().unwrap() = Some(cx.waker().clone());
            stash.0.1.fetch_add(1, Ordering::SeqCst);
            Poll::Pending
        })
    }

    pub(crate) fn waker(&self) -> Option<Waker> {
        self.0.0.lock().unwrap().clone()
    }

    pub(crate) fn take(&self) -> Option<Waker> {
        self.0.0.lock().unwrap().take()
    }

    pub(crate) fn polls(&self) -> usize {
        self.0.1.load(Ordering::SeqCst)
    }
}

/// A latch for threads.
#[derive(Clone, Default)]
pub(crate) struct Latch(Arc<(Mutex<bool>, Condvar)>);

impl Latch {
    pub(crate) fn open(&self) {
        *self.0.0.lock().unwrap() = true;
        self.0.1.notify_all();
    }

    /// Waits; panics after a minute.
    pub(crate) fn wait(&self) {
        let guard = self.0.0.lock().unwrap();
        let (_guard, result) = self.0.1.wait_timeout_while(guard, PATIENCE, |open| !*open).unwrap();
        assert!(!result.timed_out(), "nobody came");
    }
}

/// After so long a test has failed; an interpreter's clock counts steps.
const PATIENCE: Duration = Duration::from_secs(if cfg!(miri) { 100_000 } else { 60 });

/// Yields until `done`, but not for ever.
pub(crate) fn until(done: impl Fn() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "it never happened");
        std::thread::yield_now();
    }
}

/// Runs `test` on a thread of its own; panics if it hangs.
pub(crate) fn in_time(test: impl FnOnce() + Send + 'static) {
    let (done, ended) = std::sync::mpsc::channel();
    let thread = std::thread::spawn(move || {
        test();
        done.send(()).unwrap();
    });
    match ended.recv_timeout(PATIENCE) {
        Ok(()) => thread.join().unwrap(),
        Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => {
            std::panic::resume_unwind(thread.join().unwrap_err())
        }
        Err(std::sync::mpsc::RecvTimeoutError::Timeout) => panic!("it hangs"),
    }
}
