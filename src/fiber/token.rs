//! Cancel tokens: a cancellation that anything can wait for, and that goes down a tree.
//!
//! ```text
//!   token ◀──▶ child ◀──▶ grandchild      upwards strong: a token keeps those that cancel it
//!     │ ◀────▶ child                      downwards weak: a node forgets children that are gone
//!     └─ group of fibers, if it is a scope's
//! ```
//!
//! A node's *gate* is a rendezvous channel on which nothing is ever sent: to be cancelled is to be closed, so that
//! waiting for it is a receive, on fibers, foreign executors and threads alike.
//!
//! Invariants:
//!
//! 1. A child enters its parent's list under the lock under which the parent is marked, so it is in the list that the
//!    cancelling thread walks, or born cancelled.
//! 2. The list holds at most twice as many dead children as living ones, and a few: it is swept when it has doubled.
//!
//! The walk is a loop with a list of its own, and so is the drop of a chain: a million tokens overflow no stack.

use std::convert::Infallible;
use std::fmt;
use std::future::{Future, IntoFuture, poll_fn};
use std::panic::{self, AssertUnwindSafe};
use std::pin::{Pin, pin};
use std::sync::{Arc, Weak};
use std::task::{Context, Poll};

use crate::channel::{Receiver, RecvFuture, Sender, rendezvous};
use crate::prim::{self, Mutex};
use crate::task::error::discard;
use crate::task::group::Group;
use crate::task::thread;

/// Cancels what waits for it: a cooperative cancellation for anything, fibers or not.
///
/// Clones are the same token; a [`child`](Self::child) is cancelled with its parent, and not the other way round.
/// Dropping a token cancels nothing; [`drop_guard`](Self::drop_guard) makes that so.
///
/// Fibers need no token to be cancelled ([`JoinHandle::cancel`](crate::fiber::JoinHandle::cancel) drops their future at its
/// next suspension). A token is for what wants to know and to end by itself, and for tasks of other executors and threads.
///
/// ```
/// use leno::fiber::CancelToken;
///
/// leno::block_on(async {
///     let token = CancelToken::new();
///     let child = token.child();
///     let worker = leno::spawn(async move {
///         let never = std::future::pending::<()>();
///         child.run_until_cancelled(never).await // None: cancelled
///     });
///     token.cancel();
///     assert_eq!(worker.await.unwrap(), None);
/// });
/// ```
#[derive(Clone)]
pub struct CancelToken(Arc<Node>);

struct Node {
    gate: Receiver<Infallible>,
    /// Keeps the gate open.
    _open: Sender<Infallible>,
    group: Option<prim::Arc<Group>>,
    above: Option<Arc<Node>>,
    below: Mutex<Below>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(mut node) = above.and_then(Arc::into_inner) {
            above = node.above.take();
        }
    }
}

struct Below {
    cancelled: bool,
    children: Vec<Weak<Node>>,
    /// Sweep when there are so many.
    sweep_at: usize,
}

const FIRST_SWEEP: usize = 16;

impl CancelToken {
    /// A token that is nobody's child.
    pub fn new() -> CancelToken {
        CancelToken::of(None, None)
    }

    fn of(above: Option<Arc<Node>>, group: Option<prim::Arc<Group>>) -> CancelToken {
        let (open, gate) = rendezvous();
        let below = Below { cancelled: false, children: Vec::new(), sweep_at: FIRST_SWEEP };
        CancelToken(Arc::new(Node { gate, _open: open, group, above, below: Mutex::new(below) }))
    }

    /// The token of a group, which is cancelled with it.
    pub(crate) fn of_group(group: &prim::Arc<Group>) -> CancelToken {
        CancelToken::of(None, Some(prim::Arc::clone(group)))
    }

    /// A token that is cancelled with this one; of a cancelled one, it is so from the start.
    pub fn child(&self) -> CancelToken {
        let child = CancelToken::of(Some(Arc::clone(&self.0)), None);
        let cancelled = {
            let mut below = self.0.below.lock();
            if !below.cancelled {
                if below.children.len() >= below.sweep_at {
                    below.children.retain(|child| child.strong_count() > 0);
                    below.sweep_at = FIRST_SWEEP.max(2 * below.children.len());
                }
                below.children.push(Arc::downgrade(&child.0));
            }
            below.cancelled
        };
        if cancelled {
            child.cancel();
        }
        child
    }

    /// Cancels the token and all below it, for good, and wakes who waits. True: it was not cancelled before.
    ///
    /// # Panics
    ///
    /// A panic of a waker of somebody else's goes on once all are cancelled.
    pub fn cancel(&self) -> bool {
        let mut first = false;
        let mut panicked = None;
        let mut rest = vec![Arc::clone(&self.0)];
        while let Some(node) = rest.pop() {
            let children = {
                let mut below = node.below.lock();
                first |= !below.cancelled && Arc::ptr_eq(&node, &self.0);
                below.cancelled = true;
                std::mem::take(&mut below.children)
            };
            // Also if somebody else is about to: once this returns it is cancelled. Whoever waits there may panic when woken.
            if let Err(payload) = panic::catch_unwind(AssertUnwindSafe(|| node.gate.close())) {
                discard(panicked.replace(payload));
            }
            if let Some(group) = &node.group {
                group.cancel();
            }
            rest.extend(children.iter().filter_map(Weak::upgrade));
        }
        if let Some(payload) = panicked {
            panic::resume_unwind(payload);
        }
        first
    }

    /// Whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.gate.is_closed()
    }

    /// Waits until it is cancelled. Dropping the future leaves nothing behind.
    ///
    /// ```
    /// let token = leno::fiber::CancelToken::new();
    /// let canceller = token.clone();
    /// std::thread::spawn(move || canceller.cancel());
    /// token.cancelled().wait();
    /// assert!(token.is_cancelled());
    /// ```
    pub fn cancelled(&self) -> Cancellation<'_> {
        Cancellation(self.0.gate.recv())
    }

    /// Runs `future` until it is ready or the token cancelled, in the caller's task. `None`: cancelled, and the future
    /// dropped. Of a cancelled token the future is not even polled; where both come at once, the cancellation wins.
    pub async fn run_until_cancelled<F: IntoFuture>(&self, future: F) -> Option<F::Output> {
        let mut cancelled = self.cancelled();
        let mut future = pin!(future.into_future());
        poll_fn(|cx| match Pin::new(&mut cancelled).poll(cx) {
            Poll::Ready(()) => Poll::Ready(None),
            Poll::Pending => future.as_mut().poll(cx).map(Some),
        })
        .await
    }

    /// A guard that cancels the token when it is dropped.
    pub fn drop_guard(self) -> CancelGuard {
        CancelGuard(Some(self))
    }
}

impl Default for CancelToken {
    fn default() -> Self {
        CancelToken::new()
    }
}

impl fmt::Debug for CancelToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CancelToken").field("cancelled", &self.is_cancelled()).finish_non_exhaustive()
    }
}

/// See [`CancelToken::cancelled`].
#[must_use = "futures do nothing unless polled"]
#[derive(Debug)]
pub struct Cancellation<'a>(RecvFuture<'a, Infallible>);

impl Future for Cancellation<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        Pin::new(&mut self.0).poll(cx).map(|closed| match closed {
            Err(_closed) => (),
            Ok(never) => match never {},
        })
    }
}

thread::waits! { ['a] Cancellation<'a>, "Cancellation", |_: &Self| None }

/// See [`CancelToken::drop_guard`].
#[must_use = "dropping it cancels at once"]
#[derive(Debug)]
pub struct CancelGuard(Option<CancelToken>);

impl CancelGuard {
    /// The token, which is not cancelled by this.
    pub fn disarm(mut self) -> CancelToken {
        match self.0.take() {
            Some(token) => token,
            None => unreachable!("`disarm` takes the guard by value"),
        }
    }
}

impl Drop for CancelGuard {
    fn drop(&mut self) {
        if let Some(token) = &self.0 {
            token.cancel();
        }
    }
}
