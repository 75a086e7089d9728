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
//! "it is empty, and I wait" is one compare-exchange, and so is "here is a receiver, it is mine". What costs time is locked
//! instructions; each header counts those of its operations.
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
//! (LOOK): because of a close, or because a lock is free. Nobody is woken for a value that somebody else could still take.
//!
//! # Leaving
//!
//! An owner that leaves (its future is dropped, or times out) takes its node out. If a peer has that: a send counts as sent, its
//! node staying in limbo until the peer is through with it; a receive gives its *node* back, finished or not: to a receiver that
//! waits, which is redirected to it, or to later ones, which find it in [`returned`]. A granted lock goes to the next waiter.
//!
//! Neither drops nor polls wait for a peer, except:
//! * `try_` forms, deadlines and `into_inner`, which have to say now what happened;
//! * a dropped batch of sends, whose value goes back;
//! * a select that begins with an operation that waits already, lent or left by another one of its set;
//! * in channels, where a slot that is needed is just being written or read: a receiver that places the value of a select in a
//!   full ring, or is alone behind a forced send; a forced send; whoever serves a ring by turns, such as a dropped permit;
//!   whoever gets a ring's slot of which the last user is a whole turn late; the last receiver, which drains what is just being
//!   published;
//! * whoever finds a channel closed, for forced sends that are under way;
//! * in rings with few versions, whoever would bring back versions that a scan may still know ([`line`]).
//!
//! Polls also take the lock of a channel whose places are reserved (`channel::limit`).
//!
//! # Foreign code
//!
//! Wakers and values are foreign code: `wake`, `clone` and `drop` of a waker and `drop` of a value may re-enter the same
//! primitive or panic. None is called in the middle of a transition or with a lock held (but for what runs while a `watch`'s value
//! is borrowed, as its docs say); an operation calls the wakers of others
//! only when its own outcome is safe ([`By`]).
//!
//! # Progress
//!
//! Lock-free, but for the waits above: an exchange fails only because another one has succeeded. Beside the lines there are three
//! locks. One guards what was given back, and is taken only while there is any: that needs a receive that was dropped between its
//! hand-over and its next poll, or an outcome that nobody got, of a select or as a waker panicked. One is that of the
//! [pool](pool): nodes come from a store of the thread's own, which takes more, or gives some back, under it, less than once in
//! dozens of nodes if they return to their threads. The third guards the nodes in limbo: whoever leaves one there takes it, and
//! whoever refills its store.
//!
//! # Limits
//!
//! A node's number has 21 bits, beside that of its kind: some 2 million plain operations can wait at a time, in the whole
//! program, and as many branches of selects. One more panics, outside of all locks, as a panic's hook is foreign code; a plain
//! operation has done nothing before. (A value that was received and is given back, by a select or as a waker panics, needs a
//! node, too: if there is none it is dropped.)
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
pub(crate) use batch::{Foreign, Left, both, for_all, wake_all, wake_one};
#[cfg(any(leno_loom, leno_shuttle))]
pub(crate) use cache::clear;
pub(crate) use future::{Operated, elsewhere, future};
pub(crate) use line::{Line, Primitive};
pub(crate) use node::{Claim, Met, NodeRef, State, Waiter};
pub(crate) use operation::{
    Attempt, Branch, Cancelled, Meeting, Operation, abandon_grant, look_again, outcome, stands,
};
pub(crate) use parcel::{Parcel, Tray};
pub(crate) use steps::step;
#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
pub(crate) use steps::steps_of;
pub(crate) use word::{OWN, REST_BITS, REST_SHIFT, SENDERS, STAMP_MASK, TWO, Word, apart};
