//! Groups of fibers: who counts them, cancels them together, and learns of the first that fails.
//!
//! A fiber is of one group at most, from before it is started until after it has completed, its outcome dropped if
//! nobody joins it. A group is nobody's parent: the tree of fibers (`roster.rs`) knows nothing of it.
//!
//! Once a group is cancelled, so is every member: by `cancel`, if it came before, else by `enter`, under whose lock it is
//! either in the list that `cancel` walks or finds the mark. And a new one cannot have run by then.
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
const BUG_ENTER_IGNORES_CANCEL: bool = cfg!(leno_bug = "group_enter_ignores_cancel");
const BUG_ENDED_WAKES_NOBODY: bool = cfg!(leno_bug = "group_ended_wakes_nobody");

/// See the module.
#[derive(Default)]
pub(crate) struct Group(Mutex<Inner>);

#[derive(Default)]
struct Inner {
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
    /// Takes a new fiber in, which its creator has not started.
    pub(crate) fn enter(&self, task: &Task) {
        let late = {
            let mut inner = self.0.lock();
            inner.members.insert(task.id, task.clone());
            inner.cancelled && !BUG_ENTER_IGNORES_CANCEL
        };
        if late {
            // It has no children so far. A prepared one is idle, and ends by being scheduled.
            let mut ready = Vec::new();
            task.mark_cancelled(&mut ready);
            ready.into_iter().for_each(Task::schedule);
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
            let member = inner.members.remove(&task.id);
            let over = inner.members.is_empty() && !BUG_ENDED_WAKES_NOBODY;
            (member, if over { inner.waker.take() } else { None })
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
        let look = Look { cancelled: inner.cancelled, empty: inner.members.is_empty() };
        drop(inner);
        look
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
        f.debug_struct("Group").field("live", &self.0.lock().members.len()).finish_non_exhaustive()
    }
}
