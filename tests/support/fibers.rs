//! What tests of fibers need beside.

use leno::fiber::Cord;
use leno::time::{Clock, Sleep};
use std::any::Any;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use super::within;

pub(crate) use std::sync::atomic::Ordering::SeqCst;

pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// A cord on which time goes by as soon as there is nothing else to do.
pub(crate) fn cord() -> Cord {
    Cord::with_clock(Clock::virtual_time())
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

/// A waker that calls a closure when it is woken.
pub(crate) fn waker(hook: impl Fn() + Send + Sync + 'static) -> Waker {
    struct Hook<F>(F);
    impl<F: Fn() + Send + Sync + 'static> Wake for Hook<F> {
        fn wake(self: Arc<Self>) {
            (self.0)();
        }
    }
    Waker::from(Arc::new(Hook(hook)))
}

/// Calls a closure when dropped.
pub(crate) struct Defer<F: FnMut()>(pub(crate) F);

impl<F: FnMut()> Drop for Defer<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// What a panic says.
#[track_caller]
pub(crate) fn message_of(panic: Box<dyn Any + Send>) -> String {
    match panic.downcast::<&str>() {
        Ok(message) => message.to_string(),
        Err(panic) => *panic.downcast::<String>().expect("a message"),
    }
}

/// Waits for another thread: by a virtual clock no time goes by, unless there is a timer.
pub(crate) async fn waits_for_no_timer() {
    let (tx, rx) = leno::rendezvous();
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(5));
        tx.send_blocking(())
    });
    rx.recv().await.expect("it is sent");
    thread.join().unwrap().expect("it is received");
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
pub(crate) fn until(mut done: impl FnMut() -> bool) {
    let start = std::time::Instant::now();
    while !done() {
        assert!(start.elapsed() < PATIENCE, "it never happened");
        std::thread::yield_now();
    }
}

/// Runs `test` on a thread of its own; panics if it hangs.
#[track_caller]
pub(crate) fn in_time(test: impl FnOnce() + Send + 'static) {
    within("the test", test);
}

static WARNINGS: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// From now on keeps what leno warns of, for all tests of the program: they have one hook. Then it panics, on purpose, if that is in
/// `tests/fiber/hooks.rs`.
pub(crate) fn keep_warnings() {
    leno::fiber::set_warning_hook(|message| {
        WARNINGS.lock().unwrap().push(message.to_owned());
        assert!(!message.contains("tests/fiber/hooks.rs"), "planted: a hook panics");
    });
}

/// Those that were kept and contain this text.
pub(crate) fn warnings(of: &str) -> Vec<String> {
    WARNINGS.lock().unwrap().iter().filter(|warning| warning.contains(of)).cloned().collect()
}
