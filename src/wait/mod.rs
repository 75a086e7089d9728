//! L1: how operations wait for each other. This page is the protocol; each file beside it is one part of it.
//!
//! An operation (a send, a receive, a lock, a branch of a select) that cannot complete at once leaves a *node* where its
//! *peer*, an operation that can complete it, finds it; and suspends its fiber, task or thread. The peer takes the node
//! out, hands something over or takes something, says so in the node, and wakes the owner.
//!
//! ```text
//!   owner                                the primitive's word            peer
//!   ─────                                ────────────────────            ────
//!   look: one has to wait
//!   Primitive::line_up ────────────────▶ [ state | A | flags ]
//!        │                                               └───────────▶ Primitive::pop       (one exchange)
//!     Pending                                                           Popped::claim        (selects only)
//!        │                                                              Claim::put, take     (the value moves)
//!        ◀───────────────────── wake ────────────────────────────────── Claim::done
//!   DONE: take the outcome, free the node
//! ```
//!
//! Everything rests on one idea: the first waiter stands in the primitive's own [word], beside the state it waits for. So
//! "it is empty, and I wait" is one compare-exchange, and so is "here is a receiver, it is mine". What costs time are
//! locked instructions; each header counts those of its ways.
//!
//! | question | answer |
//! |---|---|
//! | Who waits? | the word: the first one in it, the others behind it in the [line](mod@line) ([few], then the [list]) |
//! | Who completes an operation? | whoever takes its node out of the word: popped is claimed. For a branch of a select, who then claims the [`anchor`] by it |
//! | Who frees a node? | its owner; or whoever it was given back to, see [`node`] |
//!
//! # Outcomes
//!
//! A waiter is *handed* what it waits for (DONE), told where that is or will be (REDIRECT), or told to look for itself
//! (LOOK): because of a close, or because a lock is free. Nobody is told in vain of a value that somebody else may take.
//!
//! # Leaving
//!
//! An owner that leaves (its future is dropped, or times out) takes its node out. If a peer has it: a send counts as sent,
//! and its node waits in limbo until the peer is through with it; a receive gives its *node* back, finished or not: to
//! a receiver that waits, which is redirected to it, or to those who come, who find it in [`returned`]. A lock that was
//! granted goes to the next. Nobody waits for a peer there, in drops or in polls, but for: `try_` forms, deadlines and
//! `into_inner`, which have to say now what happened; a batch of sends that is dropped, whose value goes back; a select
//! that begins with an operation that waits already, lent or left by another one of its set; and in channels, where a slot that
//! is needed is just being written or read: a receiver that places the value of a select in a full ring, or is alone behind a
//! forced send; a forced send; whoever serves a ring by turns, as a permit that is dropped; and the last receiver, which drains
//! what is just being published. (And who finds a channel closed, for forced sends in between.)
//!
//! # Foreign code
//!
//! Wakers and values are foreign code: `wake`, `clone` and `drop` of a waker and `drop` of a value may re-enter the same
//! primitive or panic. None is called in the middle of a transition or with a lock held; whom an operation has to wake it
//! wakes when its own outcome is safe ([`By`]).
//!
//! # Progress
//!
//! Lock-free: an exchange fails only because another one has succeeded. Beside the lines there are two locks. What was given
//! back is kept under one, which is taken only while there is any: that needs a receive that was dropped between its hand-over
//! and its next poll. And nodes come from a store of the thread's own, which gets more, or gives some back, under the lock of the
//! [pool](pool): not once in dozens of nodes, where they go back to the threads that they came from.
//!
//! # Limits
//!
//! A node's number has 21 bits: so many plain operations wait at a time, in the whole program, and as many branches of selects.
//! Who needs one more panics, and nothing else has happened.
//!
//! # Sources
//!
//! Values, waiters and their representations in one place ("add sender or poll receiver"), and the select in two phases: N.
//! Koval, "Algorithms in Kotlin coroutines". Waiters that can be aborted: N. Koval, D. Khanchandani, D. Alistarh, "CQS: A
//! Formally-Verified Framework for Fair and Abortable Synchronization", PLDI 2023. The list: H. Sundell, P. Tsigas,
//! "Lock-free and practical doubly linked list-based deques using single-word compare-and-swap", OPODIS 2004.

mod anchor;
mod batch;
mod cache;
mod few;
mod future;
mod line;
mod link;
mod list;
#[cfg(leno_epoch)]
pub mod model;
mod node;
mod operation;
mod parcel;
mod place;
mod pool;
mod returned;
mod steps;
#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests;
mod word;

pub(crate) use anchor::{Anchor, AnchorRef, Busied, By, GivenBack, Kept};
pub(crate) use batch::{Foreign, Left, call, for_all, wake_all, wake_one};
#[cfg(any(leno_loom, leno_shuttle))]
pub(crate) use cache::clear;
pub(crate) use future::{Operated, future};
pub(crate) use line::{Line, Primitive};
pub(crate) use node::{Claim, NodeRef, Notified, Popped, State, Waiter};
pub(crate) use operation::{
    Attempt, Branch, Cancelled, Meeting, Operation, abandon, look_again, outcome, stands,
};
pub(crate) use parcel::{Parcel, Tray};
pub(crate) use steps::step;
#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
pub(crate) use steps::steps_of;
pub(crate) use word::{OWN, REST_BITS, REST_SHIFT, SENDERS, STAMP_MASK, TWO, Word, apart};
