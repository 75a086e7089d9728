//! L1: how operations wait for each other. This page is the protocol; each file beside it is one part of it.
//!
//! An operation (a send, a receive, a lock, a select over several of these) that cannot complete at once leaves a
//! *node* in a *queue* and suspends its fiber, task or thread. A *peer*, an operation that could complete it,
//! takes the node out, *claims* the operation, hands something over or takes something, and wakes the owner.
//!
//! ```text
//!   owner                                queue                      peer
//!   ─────                                ─────                      ────
//!   Waiter::plain, park(waker), stow
//!   Queue::enter ───────────────────▶ [node] ──────────────────▶ Queue::take          (the node moves)
//!        │                                                        Popped::claim       (the word decides)
//!        ▼                                                        Claim::put / take   (the value moves)
//!     Pending                                                     Claim::complete
//!        ◀─────────────────────────────── wake ───────────────────────┘
//!   DONE: take the outcome, free the node
//! ```
//!
//! Three questions have to have one answer each, whatever the interleaving:
//!
//! * *Who waits?* The **queue** ([`queue`], [`line`](mod@line)). Joining it and finding nobody to meet is one atomic
//!   step. Links and words of a queue are hints about an operation, never the truth about it.
//! * *Who completes an operation?* Whoever moves its **claim word** ([`word`]) out of OPEN. One word serves all
//!   branches of a select, so that exactly one of them happens. No multi-word compare-and-swap is needed: phase
//!   one moves the word (and the value), phase two takes the other branches out of their queues.
//! * *Who frees a node?* Whoever holds the last right to it ([`node`]). Nodes never live in futures, because a peer
//!   may still read one after the future's drop has returned: so all futures are `Unpin`, and forgetting one
//!   strands its own claim and nothing else.
//!
//! # Two ways to be served
//!
//! *Handed over*: rendezvous, waiting senders of a bounded channel, fair mutexes. The peer claims the operation and
//! completes it: OPEN → CLAIMED → DONE. The value moves while it is CLAIMED.
//!
//! *Notified*: receivers of buffered channels, barging mutexes, everybody at a close. The peer claims the operation
//! only to take its waker: OPEN → CLAIMED → NOTIFIED. The value stays where it is, the owner looks for itself,
//! and if somebody else was quicker it returns to its old place, with its old rank. It costs no memory however
//! often that happens. A peer that found the operation gone, or in other hands, goes on to the next in line. A
//! notification is a debt: an owner that leaves after it was notified, or that may have taken something else than
//! what it was notified of, passes it on.
//!
//! # No wake-up is lost
//!
//! Every meeting happens in one location that both parties change, so that one of them sees the other:
//!
//! | parties | location | the one that comes second |
//! |---|---|---|
//! | two sides of a rendezvous | the queue's word | takes the other's node instead of entering |
//! | a waiter and a publisher | the publisher's own word, by the [bell](line) | the publisher hears the bell, or the waiter sees that the word has moved on |
//! | a waiter and a close | the queue's word | is taken out, or is refused entry |
//! | a peer and an owner that looks elsewhere (BUSY) | the claim word | leaves the mark, or claims |
//! | a peer and an owner that leaves | the queue, then the claim word | the owner takes its node out, or the peer finds GONE |
//! | a value handed to a receive that is dropped, and a new receiver | the queue's word (HELD) | delivers to the receiver, or the receiver finds the value |
//!
//! Therefore no sequentially consistent access and no fence occur in this layer; all orderings are acquire and
//! release on the location of the meeting.
//!
//! # Leaving
//!
//! An owner that leaves (its future is dropped, or times out) first takes its node out of the queue. If it is not
//! there any more, a peer holds it: the owner moves the word from OPEN through BUSY, where it takes back what it
//! was to send, to GONE, and the peer frees the node; or it finds DONE or NOTIFIED and disposes of the outcome,
//! which is passed on; or it finds CLAIMED and leaves GONE for the peer to find, who keeps its value, or what it
//! took. A drop never waits, but that of a select to which an operation was lent: its owner goes on with it, so the
//! few instructions of a peer that has CLAIMED it are waited for.
//!
//! # Foreign code
//!
//! Wakers and values are foreign code: `wake`, `clone` and `drop` of a waker and `drop` of a value may re-enter the
//! same channel or panic. None is called with a queue's lock held, nor in the middle of a transition; wakers are
//! collected ([`batch`]) and called at the end.
//!
//! # Claimed but not yet published
//!
//! What an operation needs may be in the hands of a thread that is not through with it: a slot of a ring, an
//! operation that is CLAIMED. A poll never waits for it: it wakes its own task and returns, so that the others on
//! its executor run first ([`operation`]); a plain thread pauses for a time that grows. (Only calls that have to say
//! now whether something happened wait for a peer to be through: a deadline that has come, `into_inner`, lending an
//! operation that waits to a select.)
//!
//! # Progress
//!
//! The claim word and the [`list`] of waiters are lock-free. Waiters that return to their place, and selects with
//! branches on both sides of one channel, stand beside the list under a lock, which is held for a few pointer
//! operations and is taken only while there are any ([`queue`]).
//!
//! # Sources
//!
//! The queue's contract ("add sender or poll receiver"), its representations and the select in two phases: N. Koval,
//! "Algorithms in Kotlin coroutines". Waiters that are aborted by a claim word of their own: N. Koval, D.
//! Khanchandani, D. Alistarh, "CQS: A Formally-Verified Framework for Fair and Abortable Synchronization", PLDI 2023.
//! The list: H. Sundell, P. Tsigas, "Lock-free and practical doubly linked list-based deques using single-word
//! compare-and-swap", OPODIS 2004.

mod batch;
mod cache;
mod line;
mod link;
mod list;
#[cfg(test)]
mod locked;
#[cfg(any(test, leno_loom, leno_shuttle))]
pub mod model;
mod node;
mod operation;
mod pool;
mod queue;
mod row;
mod steps;
#[cfg(test)]
mod tests;
mod word;

pub(crate) use batch::{Batch, wake_all};
pub(crate) use line::{Bell, Closed, Line};
pub(crate) use node::{Hand, NodeRef, Popped, Waiter};
pub(crate) use operation::{Attempt, Branch, Cancelled, Enter, Nudged, Operation, look_again};
pub(crate) use queue::{Detached, Entered, Queue, Side};
pub(crate) use word::{Busied, State};
