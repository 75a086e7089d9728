//! Cancel tokens: a cancellation that anything can wait for, and that goes down a tree.
//!
//! ```text
//!   token ◀──▶ child ◀──▶ grandchild      upwards strong: a token keeps those that cancel it
//!     │ ◀────▶ child                      downwards weak: a node forgets children that are gone
//!     └─ group of fibers, if it is a scope's
//! ```
//!
//! A node's *gate* is a [`Signal`] with a count, which is 1 until the token is cancelled: those who wait there wait for 0.
//!
//! Invariants:
//!
//! 1. A child enters its parent's list under the lock under which the parent is marked, so it is in the list that the
//!    cancelling thread walks, or born cancelled.
//! 2. Apart from a few, at most half of the list are children that are gone: each that goes counts itself, and sweeps if need be.
//! 3. A scope's group is marked before its token's gate opens: who learns of the cancel there finds no scope that takes
//!    fibers. And a group that fails cancels its token.
//! 4. All gates are open, and the fibers of all groups cancelled, before anybody is woken who waits for one of these: a waker may
//!    itself wait for another one. (But for a group that another thread is just cancelling, or that is failing.)
//!
//! The walk is a loop with a list of its own, and so is the drop of a chain: a million tokens overflow no stack.

use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::{Arc, Weak};
use std::task::{Context, Poll, Waker};

use futures_core::future::FusedFuture;

use crate::fiber::scope::{Scope, TryScope};
use crate::prim::{self, Mutex};
use crate::sync::{Hearing, Signal, What};
use crate::task::error::{InTurn, JoinError, shielded};
use crate::task::group::Group;
use crate::task::{budget, poll_to_end, shows, thread, watch};
use crate::wait::{Operation, future};

/// Cooperative cancellation for anything, fibers or not: cancelling a token wakes its waiters, and cancels scopes tied to it.
///
/// Clones are the same token; a [`child`](Self::child) is cancelled with its parent, and not the other way round.
/// Dropping a token does not cancel it; a [`drop_guard`](Self::drop_guard) does.
///
/// Fibers need no token to be cancelled ([`JoinHandle::cancel`](crate::fiber::JoinHandle::cancel) drops their future at its
/// next suspension). A token is for code that should notice and end by itself, and for threads and tasks of other
/// executors.
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
    gate: Signal,
    group: Option<prim::Arc<Group>>,
    above: Option<Arc<Node>>,
    below: Mutex<Below>,
}

impl Drop for Node {
    fn drop(&mut self) {
        let mut above = self.above.take();
        while let Some(node) = above {
            node.below.lock().forget();
            above = Arc::into_inner(node).and_then(|mut node| node.above.take());
        }
    }
}

#[derive(Default)]
struct Below {
    cancelled: bool,
    children: Vec<Weak<Node>>,
    /// So many of them are gone.
    gone: usize,
}

/// Fewer are not swept.
const FEW: usize = 16;

impl Below {
    /// A child is gone.
    fn forget(&mut self) {
        self.gone += 1;
        if self.gone > FEW && self.gone > self.children.len() / 2 {
            self.children.retain(|child| child.strong_count() > 0);
            self.children.shrink_to(2 * self.children.len());
            self.gone = 0;
        }
    }
}

impl CancelToken {
    /// A token without a parent.
    pub fn new() -> CancelToken {
        CancelToken::make(None, None)
    }

    fn make(above: Option<&CancelToken>, group: Option<prim::Arc<Group>>) -> CancelToken {
        let above = above.map(|above| Arc::clone(&above.0));
        let token =
            CancelToken(Arc::new(Node { gate: Signal::of(1), group, above, below: Mutex::default() }));
        if let Some(above) = &token.0.above {
            let cancelled = {
                let mut below = above.below.lock();
                below.children.push(Arc::downgrade(&token.0));
                below.cancelled
            };
            if cancelled {
                token.cancel();
            }
        }
        token
    }

    /// The token of a group, which is cancelled with it, and with the token above.
    pub(crate) fn of_group(group: &prim::Arc<Group>, above: Option<&CancelToken>) -> CancelToken {
        let token = CancelToken::make(above, Some(prim::Arc::clone(group)));
        let node = Arc::downgrade(&token.0);
        group.on_cancel(move |waker| match node.upgrade() {
            Some(node) => _ = CancelToken(node).cancel_and_wake(waker),
            None => waker.into_iter().for_each(Waker::wake),
        });
        token
    }

    /// A token that is cancelled with this one; if this one is already cancelled, so is the child.
    #[must_use = "nobody can ask a token that is dropped"]
    #[doc(alias = "child_token")]
    pub fn child(&self) -> CancelToken {
        CancelToken::make(Some(self), None)
    }

    /// Cancels the token and all its descendants, permanently, and then wakes all waiters. Returns true if this call cancelled it;
    /// false if it was cancelled before. (Whoever cancels a token cancels its descendants: another thread that has cancelled this
    /// one, or one below it, may not be through with them yet.)
    ///
    /// # Panics
    ///
    /// If the waker of somebody who waits for one of these tokens panics, the panic propagates once everything is cancelled. (That of
    /// a scope's waker is swallowed.)
    pub fn cancel(&self) -> bool {
        self.cancel_and_wake(None)
    }

    /// The same, and wakes this one as well, who waits for the token's scope.
    fn cancel_and_wake(&self, scope: Option<Waker>) -> bool {
        let mut first = false;
        let mut scopes = Vec::from_iter(scope);
        let mut nodes = vec![Arc::clone(&self.0)];
        let mut next = 0;
        while let Some(node) = nodes.get(next) {
            next += 1;
            let children = {
                let mut below = node.below.lock();
                first |= !below.cancelled && Arc::ptr_eq(node, &self.0);
                below.cancelled = true;
                std::mem::take(&mut below.children)
            };
            // (The other thing that it gives tells this token.)
            scopes.extend(node.group.as_ref().and_then(|group| group.cancel_members().0));
            // Also if somebody else is about to: once this returns it is cancelled.
            node.gate.count_down();
            nodes.extend(children.iter().filter_map(Weak::upgrade));
        }
        // (Who waits may panic when woken, or wait for another one of these.)
        scopes.into_iter().for_each(|waker| shielded(|| waker.wake()));
        let mut wakes = InTurn::default();
        nodes.iter().for_each(|node| _ = wakes.call(|| node.gate.tell_waiting()));
        wakes.give(first)
    }

    /// Whether it has been cancelled.
    pub fn is_cancelled(&self) -> bool {
        self.0.gate.count() == 0
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
    #[track_caller]
    pub fn cancelled(&self) -> Cancellation<'_> {
        // SAFETY: the future borrows the token, which keeps it.
        let hearing = unsafe { Hearing::new(&raw const self.0.gate, What::Token) };
        Cancellation { token: self, operation: Operation::new(hearing) }
    }

    /// Runs `future` in the caller's task until it completes or the token is cancelled. `None`: cancelled; the future was
    /// dropped, even under a [`shield`](crate::fiber::shield()). Before each poll of the future the token is looked at: once that
    /// is cancelled the future is polled no more, even if it is ready by then.
    ///
    /// Dropping a [`scope`](crate::fiber::scope()) does not wait for its fibers: for one that ends with this token use the
    /// token's [`scope`](Self::scope).
    ///
    /// The future is `Unpin` if `future` is.
    ///
    /// # Panics
    /// When it is polled again after it was ready.
    #[track_caller]
    pub fn run_until_cancelled<F: IntoFuture>(&self, future: F) -> RunUntilCancelled<'_, F::IntoFuture> {
        RunUntilCancelled { future: Some(future.into_future()), cancelled: self.cancelled() }
    }

    /// As [`scope`](crate::fiber::scope()), for a scope that is cancelled with this token.
    ///
    /// ```
    /// use leno::fiber::CancelToken;
    ///
    /// let server = CancelToken::new();
    /// let served = leno::block_on(server.scope(async |s| {
    ///     s.spawn(std::future::pending::<()>());
    ///     server.cancel();
    ///     std::future::pending::<()>().await;
    /// }));
    /// assert!(served.unwrap_err().is_cancelled());
    /// ```
    ///
    /// # Errors
    ///
    /// As [`scope`](crate::fiber::scope()).
    pub async fn scope<R>(&self, body: impl AsyncFnOnce(&Scope) -> R) -> Result<R, JoinError> {
        Scope::new(Some(self)).run(body).await
    }

    /// As [`try_scope`](crate::fiber::try_scope), for a scope that is cancelled with this token.
    ///
    /// # Errors
    ///
    /// As [`try_scope`](crate::fiber::try_scope).
    pub async fn try_scope<T, E>(
        &self,
        body: impl AsyncFnOnce(&TryScope<E>) -> Result<T, E>,
    ) -> Result<Result<T, E>, JoinError> {
        Scope::new(Some(self)).run_try(body).await
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

shows! { [] CancelToken, "CancelToken", it => cancelled: it.is_cancelled() }

/// See [`CancelToken::cancelled`].
#[must_use = "futures do nothing unless polled"]
pub struct Cancellation<'a> {
    token: &'a CancelToken,
    operation: Operation<Hearing>,
}

future! { ['a] Cancellation<'a>, "Cancellation", "cancelled"; Hearing => (), |_, _told| (); or Elapsed }

/// See [`CancelToken::run_until_cancelled`].
#[must_use = "futures do nothing unless polled"]
pub struct RunUntilCancelled<'a, F> {
    /// `None` once it is over.
    future: Option<F>,
    cancelled: Cancellation<'a>,
}

impl<F: Future> Future for RunUntilCancelled<'_, F> {
    type Output = Option<F::Output>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        // SAFETY: `future` is pinned with `self`: it is not moved but dropped in place, there is no `Drop` for
        // `RunUntilCancelled`, and it is `Unpin` only if `F` is.
        let (mut future, cancelled) = unsafe {
            let this = self.get_unchecked_mut();
            (Pin::new_unchecked(&mut this.future), &mut this.cancelled)
        };
        let end = |future: &mut Pin<&mut Option<F>>| future.set(None);
        poll_to_end(&mut future, end, |future| {
            let Some(running) = future.as_mut().as_pin_mut() else {
                panic!("a `RunUntilCancelled` was polled after it was ready");
            };
            watch::first_of(|| {
                if Pin::new(&mut *cancelled).poll(cx).is_ready() {
                    Poll::Ready(None)
                } else if cancelled.token.is_cancelled() {
                    // Without a budget that does not look, and has the fiber polled again. Or it is being cancelled just now.
                    Poll::Pending
                } else {
                    let _endless = budget::endless();
                    running.poll(cx).map(Some)
                }
            })
        })
    }
}

/// Terminated once it was ready.
impl<F: Future> FusedFuture for RunUntilCancelled<'_, F> {
    fn is_terminated(&self) -> bool {
        self.future.is_none()
    }
}

shows! { [F] RunUntilCancelled<'_, F>, "RunUntilCancelled", it => cancelled: it.cancelled.token.is_cancelled() }

thread::waits! {
    ['a, F: Future] ['a, F: Future + Unpin] RunUntilCancelled<'a, F>, "RunUntilCancelled"
}

/// See [`CancelToken::drop_guard`].
#[must_use = "dropping it cancels at once"]
#[derive(Debug)]
pub struct CancelGuard(Option<CancelToken>);

impl CancelGuard {
    /// Returns the token without cancelling it.
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

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use super::*;

    /// Invariant 2.
    #[test]
    fn children_that_are_gone_are_forgotten() {
        let root = CancelToken::new();
        let listed = || root.0.below.lock().children.len();
        let mut kept: Vec<_> = (0..1000).map(|_| root.child()).collect();
        for left in (0..1000).rev() {
            kept.pop();
            assert!(listed() <= FEW + 1 + 2 * left, "{} for {left}", listed());
        }
        for _ in 0..1000 {
            drop(root.child().child());
            assert!(listed() <= FEW + 1);
        }
    }
}
