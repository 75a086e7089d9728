//! The waiter queue: senders *or* receivers wait in it, never both.
//!
//! Arriving is one atomic step: an operation takes the first waiter of the other side, or it joins its own side.
//! One word decides it, the top of a lock-free [`list`](super::list), which names the newest waiter, says on which
//! side the waiters are, and carries the queue's flags:
//!
//! ```text
//!           enter                     enter (same side)
//!   EMPTY ─────────▶ ONE(node, side) ──────────────────▶ MANY(newest, side) ─┐ enter: move the top
//!     ▲ ◀─────────                                          │       ▲        │ take, remove: mark a node, unlink it
//!     │ take, remove: move the top                          │       └────────┘
//!     └─────────────────────────────────────────────────────┘ the last one leaves
//! ```
//!
//! | flag | means |
//! |---|---|
//! | `CLOSED` | nobody may enter; who has set it takes out everybody that is here |
//! | `HELD` | values wait that come before every sender's: no receiver may enter |
//! | `ASIDE` | somebody stands beside the list; nodes enter and are taken under the lock |
//!
//! # Beside the list
//!
//! Two kinds of waiters cannot stand in a list that grows at one end and in which strangers may look at links only.
//! They stand in [`Row`]s under a lock, which is taken only while somebody is there (`ASIDE`) or goes there.
//!
//! * *Returned*: was taken out, notified in vain or missed, and comes back to its place. It goes before the list, by
//!   rank: everybody in the list was behind it when it was taken out, or has come later. (The first one to return
//!   to an empty queue enters the list, with its rank for a number, so that the next one can tell.)
//! * *Bystanders*: branches of a select that has branches on both sides of this very queue. Whoever comes for
//!   their side meets them, but for the select's own other branch. Their turn is by their time of arrival.
//!
//! Each of them remembers the number in the list's sequence behind which it stands.
//!
//! # Invariants
//! 1. Every node in the list is of the side that the top says. Waiters of both sides are here only where one of them is a
//!    bystander, and then only if they are of one select.
//! 2. `ASIDE` is set and cleared under the lock. While it is set, `CLOSED` and `HELD` are set under the lock only, and
//!    so are nodes entered and taken; owners remove theirs from the list without it.
//! 3. A node is in the list, in a row, or in nobody's reach but its owner's and its peer's.
//! 4. `HELD` excludes waiting receivers. None of the waiters that are here when `CLOSED` or `HELD` is set is taken out by
//!    an ordinary peer afterwards: a pop looks at the flags once it knows the oldest, and is linearized there.
//!
//! # Progress
//!
//! Lock-free without `ASIDE`; entering an empty queue, and taking the only waiter or removing it, is one
//! compare-exchange. With `ASIDE` a lock is held for a few pointer operations, with no foreign code inside. (Nodes
//! themselves come from the pool, which has a lock, too, that is taken once for some dozens of them.)
//!
//! Koval's article grows the queue by hardware transactions. Those are disabled or removed in current processors, and
//! nothing here would need them: growing is the compare-exchange that appends the second node.
//!
//! # Figures
//!
//! Nanoseconds for one stay: entering, and leaving by being taken (`line`), by a cancel of the newest (`last`) or of
//! anyone (`any`), behind so many waiters; with a claim, and some 4 ns of bookkeeping, in each. Medians of 7
//! interleaved rounds on a virtual machine with two cores of an AMD EPYC. `cargo run --release -p leno-benches --bin
//! queue` measures them on yours. Two cores show nothing beyond two.
//!
//! | stay, waiters | this queue | locked list | spinlock | segments | array of 8 |
//! |---|---:|---:|---:|---:|---:|
//! | line, 1 | 14.8 | 11.2 | 10.3 | 21.9 | 13.5 |
//! | line, 2 to 8 | 25.7 | 14.9 | 10.4 | 22.6 | 13.3 |
//! | line, 100 | 27.3 | 16.3 | 11.7 | 24.5 | |
//! | line, 10,000 | 29.8 | 17.7 | 11.2 | 25.5 | |
//! | last, 1 | 14.3 | 12.3 | 11.3 | 18.5 | 15.5 |
//! | last, 2 to 8 | 21.6 | 15.0 | 10.5 | 18.0 | 15.0 |
//! | last, 10,000 | 21.3 | 14.8 | 10.5 | 16.9 | |
//! | any, 8 | 27.0 | 20.9 | 18.2 | 20.2 | 18.1 |
//! | any, 10,000 | 48.6 | 28.6 | 28.6 | 31.8 | |
//! | half taken, half cancelled, 100 | 32.4 | 23.5 | 19.5 | 28.9 | |
//! | two threads, line, 8 | 152.7 | 135.5 | 50.4 | 106.1 | 80.9 |
//! | two threads, last, 8 | 145.2 | 108.3 | 34.9 | 56.1 | 80.9 |
//! | two threads, any, 8 | 109.1 | 126.1 | 50.9 | 73.2 | 98.9 |
//! | two threads, half and half, 8 | 117.7 | 141.9 | 66.2 | 101.7 | 97.3 |
//! | one enters, one takes, 8 | 91.3 | 125.6 | 82.0 | 103.8 | 98.7 |
//!
//! *Locked list*: one lock, no flags, bystanders or ranks. *Spinlock*: an intrusive list under one. *Segments*: cells claimed
//! by fetch-and-add in the manner of CQS. *Array of 8*: a bare lock-free array without sides, flags and growth.
//!
//! On one thread this list loses to everything from two waiters on, and with one to all but the segments: a stay takes
//! five locked instructions, two of them pins of 3.3 ns, against four of the locked list. What it has for that: a thread that is preempted inside keeps nobody out. On two threads it is ahead of the locked list where they
//! work at different places, and behind where both move the top; the spinlock stays ahead as long as its holder is not
//! preempted, which these short runs never show.
//!
//! *A small array between one waiter and the list* (the article has one) is not here. Its upper bound is the last column: it
//! could save up to 12 of 26 ns for two to eight waiters on one thread. Arrays of 4 and 7 cost the same as of 8, one of
//! 16 loses to the locked list from four waiters on. Half of the gain is the pins', and can be had without a third
//! representation and its migrations.

use super::link::{KEPT, Link, RETURNED, SEND};
use super::list::{List, Pop};
use super::node::{Listed, Node, NodeRef, Popped};
use super::row::Row;
use crate::prim::{self, AtomicU64, Mutex, MutexGuard, Ordering};

/// Which side of the exchange an operation is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Recv,
    Send,
}

const ASIDE: u64 = 0b0_0100;
const CLOSED: u64 = 0b0_1000;
const HELD: u64 = 0b1_0000;
const _: () = assert!(KEPT == ASIDE | CLOSED | HELD, "the list keeps the queue's flags");

/// What became of an operation that entered.
#[must_use]
#[derive(Debug)]
pub(crate) enum Entered {
    /// It waits.
    Waits,
    /// It does not wait: this one of the other side was first in line.
    Met(Popped),
    /// It does not wait: values are held for receivers.
    Held,
    /// It does not wait: the queue is closed.
    Closed,
}

#[derive(Debug)]
pub(crate) struct Queue {
    list: List,
    ranks: AtomicU64,
    aside: Mutex<Aside>,
}

/// Who stands beside the list.
#[derive(Debug)]
struct Aside {
    returned: Row,
    /// The side of those who have returned.
    returned_side: Side,
    receivers: Row,
    senders: Row,
    /// What the list's sequence has come to, as far as is known here.
    last: u64,
}

/// Where an operation goes that has to wait.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Join {
    Back,
    Place,
    Beside,
}

impl Side {
    fn bits(self) -> u64 {
        match self {
            Side::Recv => 0,
            Side::Send => SEND,
        }
    }

    fn other(self) -> Side {
        match self {
            Side::Recv => Side::Send,
            Side::Send => Side::Recv,
        }
    }
}

/// The side of the waiters in the list, if there are any.
fn waiting(top: Link) -> Option<Side> {
    (!top.is_nil()).then(|| if top.has(SEND) { Side::Send } else { Side::Recv })
}

fn refuses(top: Link, to: Side) -> Option<Entered> {
    if top.has(CLOSED) {
        return Some(Entered::Closed);
    }
    let held = top.has(HELD) && !cfg!(leno_bug = "enter_ignores_held");
    (held && to == Side::Recv).then_some(Entered::Held)
}

impl Aside {
    const fn new() -> Aside {
        Aside {
            returned: Row::new(Listed::Returned),
            returned_side: Side::Recv,
            receivers: Row::new(Listed::BystandingRecv),
            senders: Row::new(Listed::BystandingSend),
            last: 0,
        }
    }

    fn is_empty(&self) -> bool {
        self.returned.is_empty() && self.receivers.is_empty() && self.senders.is_empty()
    }

    fn beside(&mut self, side: Side) -> &mut Row {
        match side {
            Side::Recv => &mut self.receivers,
            Side::Send => &mut self.senders,
        }
    }

    /// Whether receivers stand here.
    fn receives(&self) -> bool {
        let beside = !self.receivers.is_empty() && !cfg!(leno_bug = "hold_ignores_bystanders");
        beside || (self.returned_side == Side::Recv && !self.returned.is_empty())
    }

    /// Takes out the first of side `from` that is not of the operation `own`; nobody if one of the flags `stop` is set.
    fn pop(&mut self, list: &List, from: Side, own: Option<NodeRef>, stop: u64) -> Option<NodeRef> {
        loop {
            let in_list = list.first(from.bits()).map(|(number, _)| number);
            let is_next = |node: &Node| in_list.is_none_or(|in_list| node.hooks.sequence() < in_list);
            if self.returned_side == from && self.returned.first(|_| true).is_some_and(is_next) {
                return self.returned.pop_front();
            }
            let not_own = |node: &Node| own.is_none() || node.anchor() != own;
            if self.beside(from).first(not_own).is_some_and(is_next) {
                return self.beside(from).pop_first(not_own);
            }
            match list.pop_numbered(from.bits(), stop, in_list?) {
                Pop::Taken(first) => return Some(first),
                Pop::Stopped => return None,
                // It has left meanwhile, and it may be the turn of those here.
                Pop::Nobody if cfg!(leno_bug = "aside_gives_up") => return None,
                Pop::Nobody => {}
            }
        }
    }
}

impl Queue {
    prim::const_fn! {
        pub(crate) fn new() -> Queue {
            Queue { list: List::new(), ranks: AtomicU64::new(1), aside: Mutex::new(Aside::new()) }
        }
    }

    /// The next place in the order of waiting.
    pub(crate) fn next_rank(&self) -> u64 {
        // ORDERING: Relaxed; only the order of this counter matters.
        self.ranks.fetch_add(1, Ordering::Relaxed)
    }

    /// Takes the first waiter of the other side, or joins `side` at the back; one atomic step.
    ///
    /// # Safety
    /// The node stands in no queue, and its owner (the caller) has prepared it for a peer.
    pub(crate) unsafe fn enter(&self, side: Side, node: NodeRef) -> Entered {
        let mut top = self.list.top();
        loop {
            if let Some(refused) = refuses(top, side) {
                return refused;
            }
            if top.has(ASIDE) {
                // SAFETY: the caller's promise.
                return unsafe { self.arrive(side, node, Join::Back) };
            }
            if waiting(top).is_none_or(|waiting| waiting == side) {
                // SAFETY: the caller's promise.
                match unsafe { self.list.append(top, node, side.bits(), 1) } {
                    Ok(()) => return Entered::Waits,
                    Err(now) => top = now,
                }
                continue;
            }
            if let Pop::Taken(first) = self.list.pop(side.other().bits(), KEPT) {
                // SAFETY: just taken out.
                return Entered::Met(unsafe { Popped::new(first) });
            }
            top = self.list.top();
        }
    }

    /// As [`Queue::enter`], at the place that the node's rank gives it among those that have returned.
    ///
    /// # Safety
    /// As for [`Queue::enter`].
    pub(crate) unsafe fn enter_by_rank(&self, side: Side, node: NodeRef) -> Entered {
        let top = self.list.top();
        // SAFETY: the caller's promise.
        unsafe {
            if top.is_nil() && !top.has(KEPT) {
                let side = side.bits() | RETURNED;
                if self.list.append(top, node, side, node.get().rank()).is_ok() {
                    return Entered::Waits;
                }
            }
            self.arrive(side, node, Join::Place)
        }
    }

    /// As [`Queue::enter`], for a branch of a select that has another branch on the other side of this queue: it does
    /// not meet that one.
    ///
    /// # Safety
    /// As for [`Queue::enter`].
    pub(crate) unsafe fn enter_beside(&self, side: Side, node: NodeRef) -> Entered {
        // SAFETY: the caller's promise.
        unsafe { self.arrive(side, node, Join::Beside) }
    }

    /// The way in under the lock.
    #[cold]
    unsafe fn arrive(&self, side: Side, node: NodeRef, join: Join) -> Entered {
        // SAFETY: the caller owns the node.
        let own = unsafe { node.get() }.anchor();
        let mut aside = self.aside.lock();
        loop {
            let top = self.list.top();
            if let Some(refused) = refuses(top, side) {
                return refused;
            }
            if let Some(first) = aside.pop(&self.list, side.other(), own, CLOSED | HELD) {
                self.settle(&mut aside);
                // SAFETY: just taken out.
                return Entered::Met(unsafe { Popped::new(first) });
            }
            // Nobody is there to be met, if the top was so all the while.
            if waiting(top).is_some_and(|waiting| waiting != side) {
                continue;
            }
            if join == Join::Back {
                // SAFETY: the caller's promise.
                match unsafe { self.list.append(top, node, side.bits(), aside.last + 1) } {
                    Ok(()) => return Entered::Waits,
                    Err(_) => continue,
                }
            }
            if !top.has(ASIDE) && self.list.change(top, top.with(top.flags() | ASIDE)).is_err() {
                continue;
            }
            aside.last = aside.last.max(self.list.last());
            // SAFETY: the caller owns the node, which is in no queue.
            unsafe {
                if join == Join::Place {
                    let before = self.list.first(side.bits());
                    let before = before.filter(|(rank, returned)| *returned && *rank <= node.get().rank());
                    node.get().hooks.go_astray(before.map_or(0, |(rank, _)| rank));
                    aside.returned_side = side;
                    aside.returned.insert(node);
                } else {
                    node.get().hooks.go_astray(aside.last);
                    aside.beside(side).push_back(node);
                }
            }
            return Entered::Waits;
        }
    }

    /// Takes the first waiter of `from`.
    #[inline]
    pub(crate) fn take(&self, from: Side) -> Option<Popped> {
        self.take_other(from, None)
    }

    /// Takes the first waiter of `from` that is not of the operation `own`.
    pub(crate) fn take_other(&self, from: Side, own: Option<NodeRef>) -> Option<Popped> {
        loop {
            match self.list.pop(from.bits(), KEPT) {
                // SAFETY: just taken out.
                Pop::Taken(first) => return Some(unsafe { Popped::new(first) }),
                Pop::Nobody => return None,
                Pop::Stopped => {}
            }
            let top = self.list.top();
            if top.has(CLOSED | HELD) {
                return None;
            }
            if top.has(ASIDE) {
                if let Some(taken) = self.take_aside(from, own) {
                    return taken;
                }
            }
        }
    }

    /// `None`: nobody stands there any more, or it is closed, or values are held.
    #[cold]
    fn take_aside(&self, from: Side, own: Option<NodeRef>) -> Option<Option<Popped>> {
        let mut aside = self.aside.lock();
        // Under the lock, and with somebody aside, these stay as they are.
        if self.list.top().flags() & KEPT != ASIDE {
            return None;
        }
        let first = aside.pop(&self.list, from, own, CLOSED | HELD);
        self.settle(&mut aside);
        // SAFETY: just taken out.
        Some(first.map(|first| unsafe { Popped::new(first) }))
    }

    /// Takes a node out wherever it stands. True: its owner (the caller) holds it alone again. False: a peer has
    /// it.
    ///
    /// # Safety
    /// The node has entered this queue, and the caller is its owner.
    pub(crate) unsafe fn remove(&self, node: NodeRef) -> bool {
        // SAFETY: the caller's promise.
        unsafe {
            if !node.get().hooks.is_astray() {
                return self.list.remove(node);
            }
            let mut aside = self.aside.lock();
            if self.list.top().has(CLOSED) {
                return false;
            }
            let Aside { returned, receivers, senders, .. } = &mut *aside;
            let removed = returned.remove(node) || receivers.remove(node) || senders.remove(node);
            self.settle(&mut aside);
            removed
        }
    }

    /// Closes the queue and takes everybody out. `None`: it was closed already.
    pub(crate) fn close(&self) -> Option<Detached> {
        let mut detached = Detached(Row::new(Listed::Detached));
        let (mut top, mut aside) = self.lock_if_aside();
        loop {
            if top.has(CLOSED) {
                return None;
            }
            // An only node is taken out by moving the top, which is done here with the others.
            match self.list.change(top, top.with(top.flags() & !ASIDE | CLOSED)) {
                Ok(()) => break,
                Err(_) => (top, aside) = self.lock_again(aside),
            }
        }
        match &mut aside {
            Some(aside) => {
                for side in [Side::Recv, Side::Send] {
                    detached.take_all(|| aside.pop(&self.list, side, None, 0));
                }
                aside.last = 0;
            }
            None => {
                if let Some(side) = waiting(top) {
                    detached.take_all(|| match self.list.pop(side.bits(), 0) {
                        Pop::Taken(first) => Some(first),
                        Pop::Nobody | Pop::Stopped => None,
                    });
                }
            }
        }
        Some(detached)
    }

    /// Sets HELD; false, and nothing changed, if receivers wait.
    #[must_use]
    pub(crate) fn hold(&self) -> bool {
        let (mut top, mut aside) = self.lock_if_aside();
        loop {
            if waiting(top) == Some(Side::Recv) || aside.as_ref().is_some_and(|aside| aside.receives()) {
                return false;
            }
            match self.list.change(top, top.with(top.flags() | HELD)) {
                Ok(()) => return true,
                Err(_) => (top, aside) = self.lock_again(aside),
            }
        }
    }

    /// Clears HELD.
    pub(crate) fn release(&self) {
        self.list.clear(HELD);
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.list.top().has(CLOSED)
    }

    /// Whether it is closed and nothing is held.
    pub(crate) fn is_ended(&self) -> bool {
        let held = if cfg!(leno_bug = "closed_hides_held") { 0 } else { HELD };
        self.list.top().flags() & (CLOSED | held) == CLOSED
    }

    pub(crate) fn is_held(&self) -> bool {
        self.list.top().has(HELD)
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        let top = self.list.top();
        top.is_nil() && !top.has(ASIDE)
    }

    /// The top, and the lock if somebody stands aside.
    fn lock_if_aside(&self) -> (Link, Option<MutexGuard<'_, Aside>>) {
        self.lock_again(None)
    }

    fn lock_again<'a>(
        &'a self,
        held: Option<MutexGuard<'a, Aside>>,
    ) -> (Link, Option<MutexGuard<'a, Aside>>) {
        let top = self.list.top();
        if held.is_none() && top.has(ASIDE) {
            let aside = self.aside.lock();
            return (self.list.top(), Some(aside));
        }
        (top, held)
    }

    /// Clears ASIDE if nobody stands there any more; the lock is held.
    fn settle(&self, aside: &mut Aside) {
        if aside.is_empty() && self.list.top().has(ASIDE) {
            aside.last = 0;
            self.list.clear(ASIDE);
        }
    }

    /// While nobody is at work here: the invariants.
    pub(crate) fn assert_valid(&self) {
        let aside = self.aside.lock();
        let top = self.list.top();
        let listed = self.list.assert_valid();
        for row in [&aside.returned, &aside.receivers, &aside.senders] {
            row.assert_valid();
        }
        assert_eq!(top.has(ASIDE), !aside.is_empty(), "ASIDE must say whether somebody stands there");
        assert!(!top.has(CLOSED) || (listed == 0 && aside.is_empty()), "nobody waits in a closed queue");
        let receivers = waiting(top) == Some(Side::Recv) || aside.receives();
        assert!(!top.has(HELD) || !receivers, "no receiver waits while values are held");
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Only operations whose futures were forgotten can still be here.
        if let Some(detached) = self.close() {
            for popped in detached {
                popped.bury();
            }
        }
    }
}

/// Everybody that waited in a queue when it closed, in order.
#[must_use]
#[derive(Debug)]
pub(crate) struct Detached(Row);

impl Detached {
    fn take_all(&mut self, mut next: impl FnMut() -> Option<NodeRef>) {
        while let Some(node) = next() {
            // SAFETY: just taken out, and the links of a node in no row are its peer's.
            unsafe { self.0.push_back(node) };
        }
    }
}

impl Iterator for Detached {
    type Item = Popped;

    fn next(&mut self) -> Option<Popped> {
        // SAFETY: closing took it out of its queue.
        self.0.pop_front().map(|node| unsafe { Popped::new(node) })
    }
}
