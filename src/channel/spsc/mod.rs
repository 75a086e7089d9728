//! Channels with one sender and one receiver.
//!
//! Neither handle is cloned, and what waits or tries has its handle by `&mut`: so that there is one of each is checked when the
//! program is compiled. Otherwise all is as with the [general kind](super): the same names, errors, futures, selects.
//!
//! ```
//! use leno::channel::spsc;
//!
//! let (mut tx, mut rx) = spsc::bounded(64);
//! std::thread::spawn(move || {
//!     for row in 0..3 {
//!         tx.send_blocking(row).unwrap();
//!     }
//! });
//! leno::block_on(async {
//!     let mut rows = Vec::new();
//!     while let Ok(row) = rx.recv().await {
//!         rows.push(row);
//!     }
//!     assert_eq!(rows, [0, 1, 2]);
//! });
//! ```
//!
//! # Forgotten futures
//!
//! A future that is forgotten ([`std::mem::forget`]) gives its handle back without having left. It may keep the one value
//! that it was handed or was to send; the operations after it neither wait behind it nor meet it.
//!
//! # How it works
//!
//! Two words, each on a cache line of its own with what its side alone uses:
//!
//! ```text
//!            63         28 27       6 5             0
//!   back:    [   tail     ][receiver][ SEALED CLOSED ]     the sender's: `seen` (a head), its block
//!   front:   [   head     ][ sender ][ TAKEN  CLOSED ]     the receiver's: `seen` (a tail), its block
//!
//!   values:  … [ read ][ value ][ value ][ value ][ empty ] …          by position, see `store`
//!                          ▲ head                    ▲ tail
//! ```
//!
//! Each is a word of the [core](crate::wait), with one waiter at most, and nobody behind it. A side waits in the *other* side's
//! word, beside the position that it waits for to move: the receiver at the back, while `tail` is its `head`; the sender at the
//! front, while `tail` is `head` and the capacity. So "it is empty, and I wait" is one exchange here as well, and whoever
//! moves a position on finds in the very word that it changes whether somebody waits for that.
//!
//! | back | front | operation | does |
//! |---|---|---|---|
//! | CLOSED | | send | fails |
//! | receiver waits | | send | takes it out, hands over |
//! | | room, as far as was seen | send | writes; `tail + 1` |
//! | … and a receiver had come | | | takes it out, tells it to look |
//! | … and SEALED | | | takes the value back, fails |
//! | | `head` + capacity = `tail` | send | waits: me, at the front |
//! | a value, as far as was seen | nobody | recv | copies; `head + 1` |
//! | | … and a sender had come | | takes it out, tells it to look |
//! | | … and TAKEN | | forgets the copy, fails |
//! | | sender waits | recv | takes it out, copies; writes its value at `tail`; `tail + 1`; then `head + 1` |
//! | `tail` = `head` | | recv | waits: me, at the back |
//! | `tail` = `head`, CLOSED | | recv | SEALED; fails |
//!
//! *Moving on* is an addition (`fetch_add`), which takes nobody out, whoever stands there, and gives the word before: it cannot
//! fail. All else are exchanges of the core.
//!
//! *CLOSED*, by either side, at the back first. A send that had looked before is one that came before the close, as
//! long as the receiver has not said that it is the end: that seals. *`close_now`* takes what is in the channel, from
//! TAKEN (head) to SEALED (tail); whoever sets TAKEN has it. The receiver, which may have copied the first of those
//! values, finds TAKEN as it moves on, and the copy was only bytes.
//!
//! *A receive that is dropped* in the sender's hands leaves its node as a *stray*, which the next receive takes before all
//! else. There is one at most: a receive waits only where there is none.
//!
//! # Invariants
//! 1. `head` ≤ `tail` ≤ `head` + capacity; one more while a sender is let in. Slots in between hold values, and the others are
//!    empty.
//! 2. The back, its block and the slot at `tail` are the sender's; the front, its block and the slot at `head` are the
//!    receiver's. Each side has one operation at a time.
//! 3. Who waits has seen the other's position in the word that it entered: so it waits for the next move of it, and who makes
//!    that sees it there.
//! 4. While a sender is served the back is the receiver's. The sender, which may have left and come again, finds the channel
//!    full until `head` moves, and `tail` has moved before that. Who looks for room loads the front, then the back again.
//! 5. A ring has a slot more than its capacity: what a sender's value is written to is not what is being copied.
//! 6. What is published after SEALED does not count; what is claimed after TAKEN does not either.
//!
//! # Why one operation at a time, whatever is forgotten
//!
//! (2) rests on `&mut`: an operation that is alive borrows the handle. A future that was forgotten while it waited has left
//! its node in a word, and no operation runs there any more, nor ever will: its lifetime has ended. So a node of
//! its own side that an operation finds is of such a one. A new operation takes it out, and tells it to look, which
//! nobody does; its memory stays behind, and what it was to send. If the other side comes first it serves the node, as it serves one that is dropped at that
//! moment: a receive's value stays in the node; a send's is written by the receiver, which has the back for it (4). No state
//! of the words says "an operation is under way", so none can be left behind.
//!
//! # Orderings
//!
//! Moves and exchanges are acquire and release; looks acquire. A value is written before `tail` moves on, which the receiver has
//! acquired before it copies; it is copied before `head` moves on, which the sender has acquired before it writes there again.
//! The two words need no common order: nobody decides by both, but for (4), which is by one releasing the other.
//!
//! # Progress, cost
//!
//! Wait-free while neither side waits. Locked instructions: send 1, receive 1; a receive that waits and is served, 2 for
//! both; a send that waits and is let in, 4 for both. A side looks at the other's word once in a while only: when
//! what it has seen is used up. None at all is not to be had: who publishes has to know whether the other
//! side went to sleep just before, and that takes a store and a load in this order, which is what a locked instruction is for.
//!
//! *Capacities 0 and 1* are the core's, whose one word says all: there nothing is bought by two words (0: both sides wait for
//! each other, and have to meet; 1: each value needs both sides anyhow, and letting a sender in costs two locked
//! instructions more).
//!
//! Sources: the restricted channel is an idea of N. Koval's ("Algorithms in Kotlin coroutines", section "Restricted channels"). The
//! positions: L. Lamport's ring; the copy of the other one's: P. Lee, T. Bu, G. Chandranmenon, "A lock-free, cache-efficient
//! multi-core synchronization mechanism for line-rate network traffic monitoring", IPDPS 2010. That no such queue goes without a fence or a locked instruction: H. Attiya
//! et al., "Laws of order: expensive synchronization in concurrent algorithms cannot be eliminated", POPL 2011.

mod branch;
mod end;
mod future;
mod handle;
mod iter;
mod shared;
mod store;
mod stream;
mod words;

pub(crate) use branch::{Recv as SpscRecvBranch, Send as SpscSendBranch, Watch as SpscWatchBranch};
pub use future::{Closed, RecvFuture, SendFuture};
pub use handle::{Receiver, Sender};
pub use iter::{Drain, IntoIter, Iter, TryIter};
pub use stream::{IntoStream, RecvStream};

/// A channel of capacity 0: a send completes when the receiver has taken its value. The same as `bounded(0)`.
///
/// ```
/// let (mut tx, mut rx) = leno::channel::spsc::rendezvous();
/// assert!(tx.try_send(1).is_err(), "nobody is there to take it");
/// std::thread::spawn(move || tx.send_blocking(2));
/// assert_eq!(rx.recv_blocking(), Ok(2));
/// ```
pub fn rendezvous<T>() -> (Sender<T>, Receiver<T>) {
    bounded(0)
}

/// A channel that holds `cap` values; sends wait while it is full. Room is allocated at once for capacities up to
/// 255 (of values that are not too large); beyond that it is allocated as the channel fills, in blocks, and freed as
/// it empties.
///
/// ```
/// let (mut tx, mut rx) = leno::channel::spsc::bounded(1);
/// tx.try_send('a').unwrap();
/// assert!(tx.try_send('b').unwrap_err().is_full());
/// assert_eq!(rx.try_recv(), Ok('a'));
/// ```
pub fn bounded<T>(cap: usize) -> (Sender<T>, Receiver<T>) {
    handle::channel(Some(cap))
}

/// A channel that holds any number of values; sends never wait. See [`leno::unbounded`](super::unbounded).
///
/// ```
/// let (mut tx, rx) = leno::channel::spsc::unbounded();
/// tx.try_send(1).unwrap();
/// assert_eq!((rx.len(), rx.capacity()), (1, None));
/// ```
pub fn unbounded<T>() -> (Sender<T>, Receiver<T>) {
    handle::channel(None)
}
