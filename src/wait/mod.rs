//! L1: how operations wait for each other.
mod batch;
mod line;
mod list;
mod node;
mod operation;
mod queue;
mod word;

pub(crate) use batch::{Batch, wake_all};
pub(crate) use line::{Bell, Closed, Line};
pub(crate) use node::{NodeRef, Popped, Waiter};
pub(crate) use operation::{Attempt, Branch, Cancelled, Enter, Nudged, Operation};
pub(crate) use queue::{Detached, Entered, Queue, Side};
pub(crate) use word::{Busied, State};
