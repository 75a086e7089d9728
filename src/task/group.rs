//! Groups of fibers: who counts them, cancels them together, and learns of the first that fails.
//!
//! A fiber is of one group at most, from before it is started until after it has completed, its outcome dropped if
//! nobody joins it. A group is nobody's parent: the tree of fibers (`roster.rs`) knows nothing of it.
//!
//! Invariants, all under the lock:
//!
//! 1. `live` counts the members from [`Group::enter`] to [`Group::ended`].
//! 2. `members` holds those of them that [`Group::add`] was called for: started, and not yet told of as ended.
//!    `ended` comes after COMPLETE, so `add` leaves out a fiber that is complete, and `ended` finds every other.
//! 3. Once cancelled, every member is cancelled: by `cancel`, if it was added before, else by `add`.
//!
//! Foreign code (wakers, a panic's payload) leaves the lock before it is called or dropped.

use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::task::{Context, Waker};

use crate::prim::Mutex;
use crate::task::error::{JoinError, Payload, discard, message, shielded};
use crate::task::header::{FiberId, Task};

// Planted bugs, which models in `loom-tests/tests/task.rs` must catch.
const BUG_ADD_IGNORES_COMPLETE: bool = cfg!(leno_bug = "group_add_ignores_complete");
const BUG_ADD_IGNORES_CANCEL: bool = cfg!(leno_bug = "group_add_ignores_cancel");

/// See the module.
#[derive(Default)]
pub(crate) struct Group(Mutex<Inner>);

#[derive(Default)]
struct Inner {
    live: usize,
    members: BTreeMap<FiberId, Task>,
    cancelled: bool,
    /// The first failure: which member's, and the panic.
    failed: Option<(Option<FiberId>, Payload)>,
    /// Nobody asks for failures any more.
    left: bool,
    waker: Option<Waker>,
}

/// How a group stands.
#[derive(Debug)]
pub(crate) struct Look {
    pub(crate) cancelled: bool,
    /// No member is left.
    pub(crate) empty: bool,
}

impl Group {
    /// A member is about to be started.
    pub(crate) fn enter(&self) {
        self.0.lock().live += 1;
    }

    /// A member was started.
    pub(crate) fn add(&self, task: &Task) {
        let late = {
            let mut inner = self.0.lock();
            if !task.state.is_complete() || BUG_ADD_IGNORES_COMPLETE {
                inner.members.insert(task.id, task.clone());
            }
            inner.cancelled && !BUG_ADD_IGNORES_CANCEL
        };
        if late {
            task.cancel();
        }
    }

    /// A member is about to complete with this panic: the first one is the group's failure, and cancels the others. The
    /// payload is its join handle's, so the group has the message, unless it gets more by [`keep`](Self::keep).
    pub(crate) fn panics(&self, task: &Task, payload: &(dyn Any + Send)) {
        let said = message(payload).unwrap_or("(no message)").to_owned();
        self.fail(Some(task.id), Box::new(said));
    }

    /// Whoever `id` is (`None`: no fiber) has failed with this panic. The first one counts, and cancels all members.
    pub(crate) fn fail(&self, id: Option<FiberId>, payload: Payload) {
        let late = {
            let mut inner = self.0.lock();
            if inner.left || inner.failed.is_some() {
                Some(payload)
            } else {
                inner.failed = Some((id, payload));
                None
            }
        };
        match late {
            Some(payload) => discard(payload),
            None => self.cancel(),
        }
    }

    /// A member's panic that nobody joins: the group takes the payload if that one is its failure, else gives it back.
    pub(crate) fn keep(&self, task: &Task, payload: Payload) -> Option<Payload> {
        let mut inner = self.0.lock();
        match &mut inner.failed {
            Some((Some(id), said)) if *id == task.id => {
                let said = std::mem::replace(said, payload);
                drop(inner);
                discard(said);
                None
            }
            _ => Some(payload),
        }
    }

    /// Cancels all members, those that are still to come included, and wakes who waits. Done before, it does nothing.
    pub(crate) fn cancel(&self) {
        let (members, waker) = {
            let mut inner = self.0.lock();
            if std::mem::replace(&mut inner.cancelled, true) {
                return;
            }
            (inner.members.values().cloned().collect::<Vec<_>>(), inner.waker.take())
        };
        members.iter().for_each(Task::cancel);
        if let Some(waker) = waker {
            shielded(|| waker.wake());
        }
    }

    /// A member has completed, and what nobody joins of it is gone.
    pub(crate) fn ended(&self, task: &Task) {
        let (_member, waker) = {
            let mut inner = self.0.lock();
            inner.live -= 1;
            let waker = if inner.live == 0 { inner.waker.take() } else { None };
            (inner.members.remove(&task.id), waker)
        };
        if let Some(waker) = waker {
            shielded(|| waker.wake());
        }
    }

    /// How it stands. `cx` is woken when it is cancelled, and when the last member ends; one waits at a time.
    pub(crate) fn look(&self, cx: &mut Context<'_>) -> Look {
        let mut waker = Some(cx.waker().clone());
        let mut inner = self.0.lock();
        std::mem::swap(&mut inner.waker, &mut waker);
        let look = Look { cancelled: inner.cancelled, empty: inner.live == 0 };
        drop(inner);
        look
    }

    /// How many members it holds, for models.
    #[cfg(any(leno_loom, leno_shuttle))]
    pub(crate) fn members(&self) -> usize {
        self.0.lock().members.len()
    }

    /// The failure, and the end of interest in any.
    pub(crate) fn leave(&self) -> Option<JoinError> {
        let failed = {
            let mut inner = self.0.lock();
            inner.left = true;
            inner.failed.take()
        };
        failed.map(|(_, payload)| JoinError::panicked(payload))
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Group").field("live", &self.0.lock().live).finish_non_exhaustive()
    }
}
