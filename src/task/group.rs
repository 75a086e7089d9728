//! Groups of fibers: a group counts its members, cancels them together, and learns of the first that fails.
//!
//! A fiber is in one group at most, from before it is listed until it has completed and, if nobody joined it by then, its outcome
//! is dropped. A group is nobody's parent: the tree of fibers (`roster.rs`) knows nothing of it.
//!
//! Invariants, all under the lock:
//!
//! 1. Once the group is cancelled, so is every member but the one whose panic that was, which ends by itself: by `cancel` if it
//!    entered before, else by `enter`. As both take the lock, a member is either in the list that `cancel` walks or finds the
//!    mark; and a new one cannot have run by then.
//! 2. A group that is over has no members except those born cancelled: `poll_over` finds it empty and marks it under one lock.
//!
//! Foreign code (wakers, a panic's payload) leaves the lock before it is called or dropped.

use std::any::Any;
use std::collections::BTreeMap;
use std::task::{Context, Poll, Waker};

use crate::prim::Mutex;
use crate::task::error::{JoinError, Payload, discard, message, shielded};
use crate::task::header::{FiberId, Task};
use crate::task::shows;
use crate::task::watch::{self, Target};

/// See the module.
#[derive(Default)]
pub(crate) struct Group(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    members: BTreeMap<FiberId, Task>,
    cancelled: bool,
    /// Nobody waits for it, or asks for its failure, any more.
    left: bool,
    /// The first one.
    failure: Option<Failure>,
    waker: Option<Waker>,
    /// Called when it is cancelled.
    on_cancel: Option<OnCancel>,
}

type OnCancel = Box<dyn FnOnce(Option<Waker>) + Send>;

/// A panic that made a group fail.
pub(crate) struct Failure {
    /// Whose; `None`: no fiber's.
    task: Option<Task>,
    payload: Payload,
    /// The payload is the panic's; otherwise the message only, and somebody else has the panic's.
    whole: bool,
}

impl Failure {
    pub(crate) fn into_error(self) -> JoinError {
        JoinError::panicked(self.task.as_ref(), self.payload)
    }

    /// The fiber and its panic, if nobody else knows of it.
    pub(crate) fn untold(self) -> Option<(Task, Payload)> {
        match self {
            Failure { task: Some(task), payload, whole: true } => Some((task, payload)),
            told => {
                discard(told);
                None
            }
        }
    }
}

impl Group {
    /// Has `f` called when the group is cancelled, with who is to be woken then.
    pub(crate) fn on_cancel(&self, f: impl FnOnce(Option<Waker>) + Send + 'static) {
        self.0.lock().on_cancel = Some(Box::new(f));
    }

    /// Takes a new fiber in, which its creator has not listed.
    pub(crate) fn enter(&self, task: &Task) {
        let late = {
            let mut inner = self.0.lock();
            inner.members.insert(task.id, task.clone());
            inner.cancelled && !bug!("group_enter_ignores_cancel")
        };
        if late {
            // It has no children so far, and is its creator's: nothing is to be scheduled.
            let _ = task.state.cancel(task.by());
        }
    }

    /// A member is about to complete with this panic. The payload is its join handle's, so the group gets only the message, unless
    /// it is given more by [`keep`](Self::keep).
    pub(crate) fn panics(&self, task: &Task, payload: &(dyn Any + Send)) {
        let said = Box::new(message(payload).to_owned());
        self.fail(Failure { task: Some(task.clone()), payload: said, whole: false });
    }

    /// Something that is no member has failed with this panic.
    pub(crate) fn body_panics(&self, payload: Payload) {
        self.fail(Failure { task: None, payload, whole: true });
    }

    /// The first failure counts, and cancels all members.
    fn fail(&self, failure: Failure) {
        let mut inner = self.0.lock();
        // (A fiber that was prepared and never started has not entered.)
        let is_strange = failure.task.as_ref().is_some_and(|task| !inner.members.contains_key(&task.id));
        if inner.left || inner.failure.is_some() || is_strange {
            drop(inner);
            return discard(failure);
        }
        inner.failure = Some(failure);
        drop(inner);
        self.cancel();
    }

    /// A member's panic that nobody joins: the group takes the payload if that one is its failure, else gives it back.
    pub(crate) fn keep(&self, task: &Task, payload: Payload) -> Option<Payload> {
        let mut inner = self.0.lock();
        let is_its = |failure: &&mut Failure| failure.task.as_ref().is_some_and(|failed| failed.is(task));
        let Some(failure) = inner.failure.as_mut().filter(is_its) else { return Some(payload) };
        let said = std::mem::replace(&mut failure.payload, payload);
        failure.whole = true;
        drop(inner);
        discard(said);
        None
    }

    /// Cancels all members, except one that has failed, including those still to come, and wakes whoever waits. Later calls do
    /// nothing.
    pub(crate) fn cancel(&self) {
        let (waker, on_cancel) = self.cancel_members();
        shielded(|| match on_cancel {
            Some(on_cancel) => on_cancel(waker),
            None => waker.into_iter().for_each(Waker::wake),
        });
    }

    /// The same without foreign code: gives who is to be woken, and what is to be called instead, with that one.
    pub(crate) fn cancel_members(&self) -> (Option<Waker>, Option<OnCancel>) {
        let (members, told) = {
            let mut inner = self.0.lock();
            if std::mem::replace(&mut inner.cancelled, true) {
                return (None, None);
            }
            let failed = inner.failure.as_ref().and_then(|failure| failure.task.as_ref());
            let others =
                inner.members.values().filter(|member| !failed.is_some_and(|failed| failed.is(member)));
            let members: Vec<_> = others.cloned().collect();
            (members, (inner.waker.take(), inner.on_cancel.take()))
        };
        members.iter().for_each(Task::cancel);
        told
    }

    /// A member has completed, and what nobody joins of it is gone.
    pub(crate) fn ended(&self, task: &Task) {
        let (_member, waker) = {
            let mut inner = self.0.lock();
            let member = inner.members.remove(&task.id);
            let last = inner.members.is_empty() && !bug!("group_ended_wakes_nobody");
            (member, if last { inner.waker.take() } else { None })
        };
        if let Some(waker) = waker {
            shielded(|| waker.wake());
        }
    }

    /// Ready when it is cancelled. One waits at a time, here or in [`poll_over`](Self::poll_over).
    pub(crate) fn poll_cancelled(&self, cx: &mut Context<'_>) -> Poll<()> {
        if self.wait(cx, |inner| inner.cancelled) { Poll::Ready(()) } else { Poll::Pending }
    }

    /// Ready when no member is left; then the group is over, and this gives its failure.
    pub(crate) fn poll_over(&self, cx: &mut Context<'_>) -> Poll<Option<Failure>> {
        let is_over = self.wait(cx, |inner| {
            let is_empty = inner.members.is_empty();
            inner.cancelled |= is_empty;
            is_empty
        });
        if is_over {
            return Poll::Ready(self.leave());
        }
        self.note();
        Poll::Pending
    }

    /// Leaves the waker, then asks.
    fn wait(&self, cx: &mut Context<'_>, ask: impl FnOnce(&mut Inner) -> bool) -> bool {
        let waker = cx.waker().clone();
        let (answer, before) = {
            let mut inner = self.0.lock();
            (ask(&mut inner), inner.waker.replace(waker))
        };
        discard(before);
        answer
    }

    /// Notes that the fiber that runs here waits for all members, if it is inspected. (For this many of them. One that ends is no
    /// longer waited for, though the waiter is not woken.)
    fn note(&self) {
        const MOST: usize = 64;
        if watch::is_on() {
            let ids: Vec<_> = self.0.lock().members.keys().take(MOST).copied().collect();
            ids.into_iter().for_each(|id| watch::waits_at(|| None, || (watch::SCOPE, Target::Fiber(id))));
        }
    }

    /// Takes the failure so far; nobody is interested in later ones.
    pub(crate) fn leave(&self) -> Option<Failure> {
        let (waker, _on_cancel, failure) = {
            let mut inner = self.0.lock();
            inner.left = true;
            (inner.waker.take(), inner.on_cancel.take(), inner.failure.take())
        };
        discard(waker);
        failure
    }
}

shows! { [] Group, "Group", it => live: { it.0.lock().members.len() } }
