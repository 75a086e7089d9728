//! L1: how operations wait for each other. (The page is written below.)
mod anchor;
mod batch;
mod cache;
mod few;
mod line;
mod link;
mod list;
mod node;
mod operation;
mod place;
mod pool;
mod returned;
mod steps;
#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests;
mod word;

pub(crate) use anchor::{Anchor, Busied, By, GivenBack};
pub(crate) use batch::wake_all;
pub(crate) use line::{Line, Primitive};
pub(crate) use node::{Claim, NodeRef, Notified, State, Waiter};
pub(crate) use operation::{Attempt, Branch, Cancelled, Operation, abandon, abandon_send, look_again};
pub(crate) use steps::step;
#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
pub(crate) use steps::steps_of;
pub(crate) use word::{OWN, REST_BITS, REST_SHIFT, SENDERS, STAMP_MASK, TWO, Word};
