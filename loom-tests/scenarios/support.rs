//! What the scenarios share: values that are counted, wakers that are seen, polls by hand.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::Arc as StdArc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use leno::{Receiver, Sender, bounded};

use super::harness::thread;

/// A number that knows how many of its kind are alive. (std's counts: they add no switch points.)
#[derive(Debug)]
pub(crate) struct Value {
    pub(crate) number: usize,
    alive: StdArc<AtomicUsize>,
}

/// Makes values and checks in the end that each is gone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values {
    alive: StdArc<AtomicUsize>,
}

impl Values {
    pub(crate) fn make(&self, number: usize) -> Value {
        self.alive.fetch_add(1, Ordering::Relaxed);
        Value { number, alive: StdArc::clone(&self.alive) }
    }

    /// How many are alive.
    pub(crate) fn alive(&self) -> usize {
        self.alive.load(Ordering::Relaxed)
    }
}

/// A full channel of so many values, from 1 on.
pub(crate) fn full(values: &Values, capacity: usize) -> (Sender<Value>, Receiver<Value>) {
    let (tx, rx) = bounded(capacity);
    let mut batch = (1..=capacity).map(|number| values.make(number)).collect();
    assert_eq!(tx.try_send_many(&mut batch), Ok(capacity));
    (tx, rx)
}

impl Drop for Value {
    fn drop(&mut self) {
        assert_ne!(self.alive.fetch_sub(1, Ordering::Relaxed), 0, "a value was dropped twice");
    }
}

/// A waker that counts.
#[derive(Debug, Default)]
pub(crate) struct Woken(AtomicUsize);

std::thread_local! {
    static KEPT: RefCell<VecDeque<StdArc<Woken>>> = const { RefCell::new(VecDeque::new()) };
}

impl Woken {
    /// A new one. It is kept for longer than an execution: an operation tells wakers apart by their addresses, so
    /// none may come back, or a model would not be deterministic.
    pub(crate) fn new() -> StdArc<Woken> {
        let woken = StdArc::<Woken>::default();
        KEPT.with_borrow_mut(|kept| {
            kept.push_back(StdArc::clone(&woken));
            if kept.len() > 1000 {
                kept.pop_front();
            }
        });
        woken
    }

    pub(crate) fn count(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

impl Wake for Woken {
    fn wake(self: StdArc<Self>) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

/// A waker that panics; `true`: only where a task wakes itself. (In a model a poll that does so yields as well; with this one it does
/// not come to that.)
pub(crate) struct Panics(pub(crate) bool);

impl Wake for Panics {
    fn wake(self: StdArc<Self>) {
        if !self.0 {
            resume_unwind(Box::new("a waker"));
        }
    }

    fn wake_by_ref(self: &StdArc<Self>) {
        resume_unwind(Box::new("a waker"));
    }
}

pub(crate) fn poll_as<F: Future + Unpin>(future: &mut F, waker: &Waker) -> Poll<F::Output> {
    Pin::new(future).poll(&mut Context::from_waker(waker))
}

pub(crate) fn poll_with<F: Future + Unpin>(future: &mut F, woken: &StdArc<Woken>) -> Poll<F::Output> {
    poll_as(future, &Waker::from(StdArc::clone(woken)))
}

/// Polls once, with a waker that nobody looks at.
pub(crate) fn poll<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    poll_with(future, &Woken::new())
}

/// Polls until a peer that was in the middle of its work is through: such a poll has woken itself.
pub(crate) fn settle<F: Future + Unpin>(future: &mut F) -> Poll<F::Output> {
    loop {
        let woken = Woken::new();
        match poll_with(future, &woken) {
            Poll::Pending if woken.count() > 0 => thread::yield_now(),
            polled => return polled,
        }
    }
}
