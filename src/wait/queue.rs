//! The waiter queue: senders *or* receivers wait in it, never both.
//!
//! Arriving is one atomic step: an operation takes the first waiter of the other side, or it joins its own side.
//! One word says which, in two representations (a small array between them comes with the lock-free list):
//!
//! ```text
//!          enter                        enter (same side)
//!   EMPTY ───────▶ ONE(node, side) ───────────────────────▶ MANY(side) ─┐ push, pop, remove:
//!     ▲ ◀───────                                             │      ▲   │ under the lock
//!     │   take, remove                                       │      └───┘
//!     └──────────────────────────────────────────────────────┘ the last one leaves
//! ```
//!
//! * EMPTY and ONE change by one compare-exchange of the word. The node is not looked into before it is taken
//!   out, so a recycled address does no harm: whoever takes a node out gets the waiter that stands there now, and
//!   an owner that takes its own node out holds a right to it, so that it cannot have been recycled.
//! * While the word says MANY, it and the list change only under the lock.
//!
//! Beside the two, the word carries `CLOSED` (nobody may enter, nobody waits) and `HELD` (values wait that
//! come before every sender's: no receiver may enter). Both are seen by the compare-exchange that enters.
//!
//! Invariants (with the lock free):
//! 1. MANY exactly if the list or the bystanders are not empty; with bystanders alone the word's side is idle.
//! 2. A node is in the word, in the list, among the bystanders, or in nobody's reach but its owner's.
//! 3. CLOSED excludes ONE and MANY. HELD excludes waiting receivers.
//! 4. Nodes leave the list in the order in which they entered; those that return to their place, by rank. Bystanders
//!    come after the list.
//!
//! A *bystander* is a branch of a select that has another branch on the other side of this very queue: its two
//! nodes cannot both stand in the list. It waits aside; whoever comes for its side and finds the other side
//! waiting, or nobody, meets it. Only the select's own branch, for which it stepped aside, cannot.
//!
//! Progress: entering and taking are lock-free while at most one waiter is there; beyond that they take a lock for
//! a few pointer operations, with no foreign code inside. `remove` likewise, O(1).
//!
//! Orderings: AcqRel on the word: who takes a node sees all that its owner wrote before entering. Under MANY the
//! lock orders everything.

use super::list::List;
use super::node::{Listed, Node, NodeRef, Popped};
use crate::prim::{self, AtomicU64, AtomicUsize, Mutex, MutexGuard, Ordering};

/// Which side of the exchange an operation is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Side {
    Recv,
    Send,
}

const SEND: usize = 0b0001;
const MANY: usize = 0b0010;
const CLOSED: usize = 0b0100;
const HELD: usize = 0b1000;
const FLAGS: usize = CLOSED | HELD;
const NODE: usize = !0b1111;

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
    word: AtomicUsize,
    ranks: AtomicU64,
    lists: Mutex<Lists>,
}

#[derive(Debug)]
struct Lists {
    waiters: List,
    receivers_beside: List,
    senders_beside: List,
}

impl Lists {
    const fn new() -> Lists {
        Lists {
            waiters: List::new(Listed::Waiters),
            receivers_beside: List::new(Listed::BystandingRecv),
            senders_beside: List::new(Listed::BystandingSend),
        }
    }

    fn is_empty(&self) -> bool {
        self.waiters.is_empty() && self.receivers_beside.is_empty() && self.senders_beside.is_empty()
    }

    /// Whether receivers wait, bystanders among them; `waiting` is the waiters' side.
    fn receives(&self, waiting: Side) -> bool {
        let beside = !self.receivers_beside.is_empty() && !cfg!(leno_bug = "hold_ignores_bystanders");
        beside || (waiting == Side::Recv && !self.waiters.is_empty())
    }

    fn beside(&mut self, side: Side) -> &mut List {
        match side {
            Side::Recv => &mut self.receivers_beside,
            Side::Send => &mut self.senders_beside,
        }
    }

    /// Takes out the first of side `from` that is not of the operation `own`; `waiting` is the waiters' side.
    fn pop(&mut self, from: Side, waiting: Side, own: Option<NodeRef>) -> Option<NodeRef> {
        let not_own = |node: &Node| own.is_none() || node.anchor() != own;
        let first = if waiting == from { self.waiters.pop_first(not_own) } else { None };
        first.or_else(|| self.beside(from).pop_first(not_own))
    }
}

impl Side {
    fn bits(self) -> usize {
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

/// The one node in the word, if it says ONE.
fn one(word: usize) -> Option<NodeRef> {
    (word & MANY == 0 && word & NODE != 0).then(|| NodeRef::from_word(word & NODE))
}

fn side(word: usize) -> Side {
    if word & SEND == 0 { Side::Recv } else { Side::Send }
}

impl Queue {
    prim::const_fn! {
        pub(crate) fn new() -> Queue {
            Queue {
                word: AtomicUsize::new(0),
                ranks: AtomicU64::new(1),
                lists: Mutex::new(Lists::new()),
            }
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
        // SAFETY: the caller's promise.
        unsafe { self.arrive(side, node, |lists| lists.waiters.push_back(node)) }
    }

    /// As [`Queue::enter`], at the place that the node's rank gives it.
    ///
    /// # Safety
    /// As for [`Queue::enter`].
    pub(crate) unsafe fn enter_by_rank(&self, side: Side, node: NodeRef) -> Entered {
        // SAFETY: the caller's promise.
        unsafe { self.arrive(side, node, |lists| lists.waiters.insert(node)) }
    }

    unsafe fn arrive(&self, to: Side, node: NodeRef, join: impl FnOnce(&mut Lists)) -> Entered {
        let mut word = self.word.load(Ordering::Acquire);
        let mut lists = loop {
            if let Some(refused) = refuses(word, to) {
                return refused;
            }
            let next = match one(word) {
                None if word & MANY == 0 => node.to_word() | to.bits() | (word & FLAGS),
                Some(_) if side(word) != to => word & FLAGS,
                _ => match self.lock_list() {
                    Ok(lists) => break lists,
                    Err(now) => {
                        word = now;
                        continue;
                    }
                },
            };
            match self.word.compare_exchange_weak(word, next, ENTER, Ordering::Acquire) {
                Ok(_) => {
                    return match one(word) {
                        None => Entered::Waits,
                        // SAFETY: this compare-exchange took it out.
                        Some(first) => Entered::Met(unsafe { Popped::new(first) }),
                    };
                }
                Err(now) => word = now,
            }
        };
        let word = self.word.load(Ordering::Acquire);
        if let Some(refused) = refuses(word, to) {
            return refused;
        }
        // SAFETY: the caller owns the node.
        let own = unsafe { node.get() }.anchor();
        if let Some(first) = lists.pop(to.other(), side(word), own) {
            self.settle(&lists, side(word));
            // SAFETY: taken out of the list.
            return Entered::Met(unsafe { Popped::new(first) });
        }
        if side(word) != to && !lists.waiters.is_empty() {
            // Only branches of its own select wait on the other side.
            // SAFETY: the caller's promise.
            unsafe { lists.beside(to).push_back(node) };
            return Entered::Waits;
        }
        join(&mut lists);
        self.settle(&lists, to);
        Entered::Waits
    }

    /// Takes the first waiter of `from`.
    pub(crate) fn take(&self, from: Side) -> Option<Popped> {
        let mut word = self.word.load(Ordering::Acquire);
        while word & MANY == 0 {
            if word & NODE == 0 || side(word) != from {
                return None;
            }
            match self.word.compare_exchange_weak(word, word & FLAGS, ENTER, Ordering::Acquire) {
                // SAFETY: this compare-exchange took it out.
                Ok(_) => return one(word).map(|first| unsafe { Popped::new(first) }),
                Err(now) => word = now,
            }
        }
        self.take_other(from, None)
    }

    /// Takes the first waiter of `from` that is not of the operation `own`.
    pub(crate) fn take_other(&self, from: Side, own: Option<NodeRef>) -> Option<Popped> {
        let mut lists = self.lock_list().ok()?;
        let waiting = side(self.word.load(Ordering::Acquire));
        let first = lists.pop(from, waiting, own)?;
        self.settle(&lists, waiting);
        // SAFETY: taken out of the list.
        Some(unsafe { Popped::new(first) })
    }

    /// As [`Queue::enter`], for a branch of a select that has another branch on the other side of this queue: where
    /// only that one waits, this one becomes a bystander.
    ///
    /// # Safety
    /// As for [`Queue::enter`].
    pub(crate) unsafe fn enter_beside(&self, to: Side, node: NodeRef) -> Entered {
        // Into the list, where nodes can be looked at: the one in the word could be the select's own.
        drop(self.lock_list());
        // SAFETY: the caller's promise.
        unsafe { self.enter(to, node) }
    }

    /// Takes a node out wherever it stands. True: its owner (the caller) holds it alone again. False: a peer has
    /// it.
    ///
    /// # Safety
    /// The node has entered this queue, and the caller is its owner.
    pub(crate) unsafe fn remove(&self, node: NodeRef) -> bool {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & MANY == 0 {
                if one(word) != Some(node) {
                    return false;
                }
                match self.word.compare_exchange_weak(word, word & FLAGS, ENTER, Ordering::Acquire) {
                    Ok(_) => return true,
                    Err(now) => word = now,
                }
                continue;
            }
            let mut lists = self.lists.lock();
            word = self.word.load(Ordering::Acquire);
            if word & MANY != 0 {
                let Lists { waiters, receivers_beside, senders_beside } = &mut *lists;
                // SAFETY: the owner keeps the node alive.
                let removed = unsafe {
                    waiters.remove(node) || receivers_beside.remove(node) || senders_beside.remove(node)
                };
                self.settle(&lists, side(word));
                return removed;
            }
        }
    }

    /// Closes the queue and takes everybody out at once. `None`: it was closed already.
    pub(crate) fn close(&self) -> Option<Detached> {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & CLOSED != 0 {
                return None;
            }
            if word & MANY == 0 {
                let next = (word & HELD) | CLOSED;
                match self.word.compare_exchange_weak(word, next, ENTER, Ordering::Acquire) {
                    Ok(_) => return Some(Detached { one: one(word), lists: Lists::new() }),
                    Err(now) => word = now,
                }
                continue;
            }
            let mut lists = self.lists.lock();
            word = self.word.load(Ordering::Acquire);
            if word & MANY != 0 {
                self.word.store((word & HELD) | CLOSED, Ordering::Release);
                return Some(Detached { one: None, lists: std::mem::replace(&mut *lists, Lists::new()) });
            }
        }
    }

    /// Sets HELD; false, and nothing changed, if receivers wait.
    #[must_use]
    pub(crate) fn hold(&self) -> bool {
        self.mark(|word, lists| {
            let receivers = match lists {
                Some(lists) => lists.receives(side(word)),
                None => side(word) == Side::Recv && one(word).is_some(),
            };
            (!receivers).then_some(word | HELD)
        })
    }

    /// Clears HELD.
    pub(crate) fn release(&self) {
        let _ = self.mark(|word, _| Some(word & !HELD));
    }

    fn mark(&self, change: impl Fn(usize, Option<&Lists>) -> Option<usize>) -> bool {
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & MANY == 0 {
                let Some(next) = change(word, None) else { return false };
                match self.word.compare_exchange_weak(word, next, ENTER, Ordering::Acquire) {
                    Ok(_) => return true,
                    Err(now) => word = now,
                }
                continue;
            }
            let lists = self.lists.lock();
            word = self.word.load(Ordering::Acquire);
            if word & MANY != 0 {
                let Some(next) = change(word, Some(&lists)) else { return false };
                self.word.store(next, Ordering::Release);
                return true;
            }
        }
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.word.load(Ordering::Acquire) & CLOSED != 0
    }

    /// Whether it is closed and nothing is held.
    pub(crate) fn is_ended(&self) -> bool {
        let held = if cfg!(leno_bug = "closed_hides_held") { 0 } else { HELD };
        self.word.load(Ordering::Acquire) & (CLOSED | held) == CLOSED
    }

    pub(crate) fn is_held(&self) -> bool {
        self.word.load(Ordering::Acquire) & HELD != 0
    }

    /// Whether nobody waits.
    pub(crate) fn is_empty(&self) -> bool {
        self.word.load(Ordering::Acquire) & (NODE | MANY) == 0
    }

    /// Locks the list, after turning ONE into MANY. `Err`: the word says EMPTY.
    fn lock_list(&self) -> Result<MutexGuard<'_, Lists>, usize> {
        let mut lists = self.lists.lock();
        let mut word = self.word.load(Ordering::Acquire);
        loop {
            if word & MANY != 0 {
                return Ok(lists);
            }
            let Some(first) = one(word) else { return Err(word) };
            // The waiter that migrates is frozen by this very step: from here on it is reached under the lock.
            let next = (word & !NODE) | MANY;
            match self.word.compare_exchange_weak(word, next, ENTER, Ordering::Acquire) {
                Ok(_) => {
                    // SAFETY: it was taken out of the word.
                    unsafe { lists.waiters.push_back(first) };
                    return Ok(lists);
                }
                Err(now) => word = now,
            }
        }
    }

    /// Brings the word in line with the list; the lock is held and the word says MANY.
    fn settle(&self, lists: &Lists, to: Side) {
        let word = self.word.load(Ordering::Relaxed);
        let next = if lists.is_empty() { word & FLAGS } else { (word & FLAGS) | MANY | to.bits() };
        if next != word {
            self.word.store(next, Ordering::Release);
        }
    }

    /// Invariants 1 and 3.
    pub(crate) fn assert_valid(&self) {
        let lists = self.lists.lock();
        let word = self.word.load(Ordering::Acquire);
        lists.waiters.assert_valid();
        lists.receivers_beside.assert_valid();
        lists.senders_beside.assert_valid();
        assert_eq!(word & MANY != 0, !lists.is_empty(), "MANY must say whether the list is in use");
        assert!(word & CLOSED == 0 || word & (MANY | NODE) == 0, "nobody waits in a closed queue");
    }
}

/// Release: publishes the node that enters. Acquire: whoever takes one out sees what its owner wrote.
const ENTER: Ordering = if cfg!(leno_bug = "enter_relaxed") { Ordering::Relaxed } else { Ordering::AcqRel };

fn refuses(word: usize, to: Side) -> Option<Entered> {
    if word & CLOSED != 0 {
        return Some(Entered::Closed);
    }
    let held = word & HELD != 0 && !cfg!(leno_bug = "enter_ignores_held");
    (held && to == Side::Recv).then_some(Entered::Held)
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
pub(crate) struct Detached {
    one: Option<NodeRef>,
    lists: Lists,
}

impl Iterator for Detached {
    type Item = Popped;

    fn next(&mut self) -> Option<Popped> {
        let Lists { waiters, receivers_beside, senders_beside } = &mut self.lists;
        let mut lists = [waiters, receivers_beside, senders_beside].into_iter();
        let node = self.one.take().or_else(|| lists.find_map(List::pop_front))?;
        // SAFETY: closing took it out of its queue.
        Some(unsafe { Popped::new(node) })
    }
}
