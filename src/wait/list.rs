//! The lock-free doubly linked list of nodes: the newest on top, the oldest at the front.
//!
//! ```text
//!    top ──▶ D ──older──▶ C ──older──▶ B ──older──▶ A ──▶ nil         exact: decided by compare-exchange
//!            D ◀──newer── C ◀──newer── B ◀──newer── A ◀── front       hints: stored, and checked when used
//! ```
//!
//! After Sundell and Tsigas, turned round: the exact links lead from the newest node to the oldest, and the end at
//! which nodes enter is one word, the *top*. That word carries the queue's flags too, among them the side on which the
//! nodes wait. So joining a side, finding the other side waiting, and finding the queue closed exclude each other by
//! a single compare-exchange. Hints lead the other way; a wrong or missing hint costs time, never truth.
//!
//! # Operations
//!
//! * **append**: `older` is set to the top's node, then the top moves from that to the new node. Linearized there.
//!   An empty list becomes `ONLY`: its one node is taken out by moving the top to nil and by nothing else. What is
//!   appended next ends that for good (the top is not `ONLY` any more).
//! * **pop**: the oldest node is one whose `older` is nil. It is *marked*, by a compare-exchange of that same word;
//!   linearized there. Nothing ever enters below a node, so a node that is the oldest stays it until it leaves.
//! * **remove**: its owner marks it, wherever it stands. Linearized there.
//! * Whoever has marked a node *unlinks* it before it does anything else with it: the first live (unmarked) node
//!   above it, or the top, is moved on to what the marked node's `older` says, past marked nodes in between, one
//!   at a time. A walk unlinks every marked node that it meets, so nobody waits for somebody who was preempted.
//!
//! Claims:
//! 1. *Live nodes are linked.* A node is unlinked by replacing the link to it with its own `older`, which is frozen by
//!    the mark: what it led to stays reachable. So a node that was appended, was not taken out as the only one and is
//!    not marked is reachable from the top, by exactly one path; its neighbour above changes only to something newer,
//!    its neighbour below only to something older.
//! 2. *A link says who.* While `X.older` of one stay of X names number n, n is the same stay of the same node: it
//!    leaves the list only by being unlinked, which changes `X.older`; when it comes back it is newer than X. So a
//!    walker that reads a neighbour and then finds the link to it unchanged has read that neighbour's stay.
//! 3. *Marked is gone.* The mark is set once in a stay, and nobody but who has set it has the node. It is handed on,
//!    freed or entered again only after it has been unlinked, so no link leads to a node that is gone.
//! 4. *Sequence numbers* grow from the oldest to the newest. A walk down from a live node that passes a number without
//!    meeting its node has shown that the node is not linked any more, and it never will be again.
//! 5. *No hint names an only one.* Hints name nodes that were appended above others, one above which something was
//!    appended, or what a walk from a top that was not `ONLY` has found. So nobody marks a node that can be taken out
//!    through the top.
//!
//! A node that entered an empty list and finds the top not to be itself was either taken out through the top, or
//! something was appended above it, in which case it is linked until somebody marks it. `is_covered` tells which: by
//! the node's own hint, if that names a live node of this list with a higher number (what a hint can name that
//! is older than this stay was gone when the list was empty), otherwise by a walk.
//!
//! # Reclamation, and the traps
//!
//! Walkers read nodes to which they have no right: the four words of its [hooks](super::link), which are atomics and stay readable.
//! Nodes are *type-stable*: they are recycled at once, as nodes. Memory goes back to the allocator in whole chunks
//! of free nodes only, through an epoch; every walk is pinned. So:
//!
//! * *A helper writes a hint to a node that was gone by then* (the trap of this list under epochs alone): it lands in
//!   a free or a recycled node's `newer`, which is a hint. Who follows it checks generation, list, number and mark.
//! * *ABA*: every compare-exchange names the generation of the node whose word, or whose place on top, it changes. A
//!   generation has 33 bits: a thread would have to be suspended inside an operation, or a hint be left alone, for
//!   exactly 2^33 attempts of one node to enter a list.
//! * *Two neighbours removed at once*: a marked node's `older` is frozen, so that the neighbour below cannot be
//!   unlinked from it behind the back of who unlinks the marked node; both are unlinked from the live node above.
//! * *A removal beside an append*: the appended node names the top, marked or not; it is then itself the live node
//!   from which the marked one is unlinked. If it comes too late its compare-exchange fails.
//! * *Recycled into another list*: `home` names the list in which a node's stay is. It is compared only.
//!
//! # Progress and cost
//!
//! Lock-free: an attempt fails only because another one has succeeded. Pop and remove are O(1) with good hints. A hint
//! is missing while an appender is between its two stores, and may be outdated where neighbours leave at the same
//! moment; then a walk from the top finds the place, in as many steps as there are nodes above it.
//!
//! Locked instructions: append 1, plus 1 for the pin unless the list is empty; take the only one 1, pop and remove 2
//! plus 1 for the pin. Orderings: acquire and release; each argument above is about one word, or about what was read
//! before that word was found unchanged.

use super::link::{KEPT, Link, MARK, MOVE, ONLY, RETURNED, ROOT, SEND};
use super::node::{Node, NodeRef};
use super::pool::Stable as _;
use super::steps::step;
use crate::prim::{self, AtomicU64, Guard, Ordering};

/// Hints that are followed before a walk starts from the top.
const PATIENCE: usize = 16;

/// What came of a pop.
#[derive(Debug)]
pub(super) enum Pop {
    Taken(NodeRef),
    Nobody,
    Stopped,
}

/// A node that was found linked and unmarked, with its `older` as it was then.
#[derive(Clone, Copy)]
struct Live<'g> {
    node: &'g Node,
    older: Link,
}

impl Live<'_> {
    fn name(self) -> Link {
        self.older.with(0).to(self.node.number())
    }
}

#[derive(Debug)]
pub(super) struct List {
    /// The name of the newest node; the flags.
    top: AtomicU64,
    /// The name of the oldest: a hint.
    front: AtomicU64,
}

impl List {
    prim::const_fn! {
        pub(super) fn new() -> List {
            List { top: AtomicU64::new(0), front: AtomicU64::new(0) }
        }
    }

    #[inline]
    pub(super) fn top(&self) -> Link {
        Link(self.top.load(Ordering::Acquire))
    }

    /// Moves the top from `from` to `to`; otherwise gives what it is.
    #[inline]
    pub(super) fn change(&self, from: Link, to: Link) -> Result<(), Link> {
        self.top.compare_exchange(from.0, to.0, MOVE, Ordering::Acquire).map(drop).map_err(Link)
    }

    /// Clears flags.
    pub(super) fn clear(&self, flags: u64) {
        self.top.fetch_and(!flags, Ordering::AcqRel);
    }

    /// Appends a node of side `side`, if the top is still `top`; otherwise gives what it is. Its number in the sequence
    /// is at least `first`. `side` may hold `RETURNED` too.
    ///
    /// # Safety
    /// The node stands in no queue, and its owner (the caller) has prepared it for a peer.
    #[inline]
    pub(super) unsafe fn append(&self, top: Link, node: NodeRef, side: u64, first: u64) -> Result<(), Link> {
        // SAFETY: the caller owns the node.
        let node = unsafe { node.get() };
        let flags = top.flags() & KEPT | side & SEND;
        if top.is_nil() {
            let name = node.hooks.begin(node.number(), Link::NIL, side | ROOT, first, self.home());
            return self.change(top, name.with(flags | ONLY));
        }
        let guard = prim::pin();
        // A top that has changed since names a node that may be gone; then the exchange fails.
        let Some(below) = Node::peek(top.number(), &guard) else { return Err(self.top()) };
        let sequence = first.max(below.hooks.sequence().wrapping_add(1));
        let name = node.hooks.begin(node.number(), top, side, sequence, self.home());
        self.change(top, name.with(flags))?;
        below.hooks.set_newer(name);
        if top.is_only() {
            self.front.store(top.with(0).0, Ordering::Release);
        }
        Ok(())
    }

    /// Takes out the oldest node, if it is of side `side` and none of the flags `stop` is set.
    #[inline]
    pub(super) fn pop(&self, side: u64, stop: u64) -> Pop {
        loop {
            let top = self.top();
            if top.has(stop) {
                return Pop::Stopped;
            }
            if top.is_nil() || top.flags() & SEND != side {
                return Pop::Nobody;
            }
            if top.is_only() {
                if self.take_only(top).is_ok() {
                    // SAFETY: taken out, so that the peer's right is the caller's.
                    return Pop::Taken(unsafe { NodeRef::named(top.number()) });
                }
            } else if let Some(oldest) = self.pop_oldest(top, side, stop) {
                return Pop::Taken(oldest);
            }
        }
    }

    /// Takes out the oldest of several. `None`: something has changed.
    #[inline(never)]
    fn pop_oldest(&self, top: Link, side: u64, stop: u64) -> Option<NodeRef> {
        step();
        let guard = prim::pin();
        let oldest = self.front(&guard).or_else(|| self.oldest(top, &guard))?;
        if self.top().has(stop) && !cfg!(leno_bug = "pop_ignores_stop") {
            return None;
        }
        // From here on it is the oldest until it leaves.
        let is_side = oldest.older.flags() & SEND == side || cfg!(leno_bug = "pop_ignores_side");
        (is_side && self.take_out(oldest, &guard).is_ok()).then(|| NodeRef::of(oldest.node))
    }

    /// As [`List::pop`], only if the oldest has this number in the sequence: for those beside the list, whose turn it may
    /// be if it has not.
    pub(super) fn pop_numbered(&self, side: u64, stop: u64, number: u64) -> Pop {
        let guard = prim::pin();
        let top = self.top();
        if top.is_nil() {
            return Pop::Nobody;
        }
        let Some(oldest) = self.bottom(top, &guard) else { return Pop::Nobody };
        if self.top().has(stop) {
            return Pop::Stopped;
        }
        // A number that is not of this stay comes with a word that has changed.
        let fits = oldest.node.hooks.sequence() == number || cfg!(leno_bug = "aside_pops_any");
        if !fits || oldest.older.flags() & SEND != side {
            return Pop::Nobody;
        }
        let taken = if top.is_only() { self.take_only(top) } else { self.take_out(oldest, &guard) };
        match taken {
            Ok(()) => Pop::Taken(NodeRef::of(oldest.node)),
            Err(_) => Pop::Nobody,
        }
    }

    /// The oldest node's number in the sequence, if there is one of side `side`; and whether it has returned.
    pub(super) fn first(&self, side: u64) -> Option<(u64, bool)> {
        loop {
            let top = self.top();
            if top.is_nil() || top.flags() & SEND != side {
                return None;
            }
            let guard = prim::pin();
            if let Some(first) = self.bottom(top, &guard) {
                let number = first.node.hooks.sequence();
                if first.node.hooks.older() == first.older {
                    return Some((number, first.older.has(RETURNED)));
                }
            }
        }
    }

    /// The number in the sequence of the last node that entered.
    pub(super) fn last(&self) -> u64 {
        let guard = prim::pin();
        loop {
            let top = self.top();
            let last = if top.is_nil() { None } else { Node::peek(top.number(), &guard) };
            let number = last.map_or(0, |last| last.hooks.sequence());
            if self.top() == top {
                return number;
            }
        }
    }

    #[inline]
    fn take_only(&self, top: Link) -> Result<(), Link> {
        self.change(top, Link(top.flags() & KEPT))
    }

    /// Takes a node out wherever it stands. False: it was taken out before.
    ///
    /// # Safety
    /// The node has entered this list, and the caller is its owner.
    #[inline]
    pub(super) unsafe fn remove(&self, node: NodeRef) -> bool {
        // SAFETY: the caller owns the node.
        let node = unsafe { node.get() };
        let mut live = Live { node, older: node.hooks.older() };
        let mut covered = !live.older.has(ROOT) || cfg!(leno_bug = "root_unchecked");
        loop {
            if live.older.has(MARK) {
                return false;
            }
            if !covered {
                let top = self.top();
                if top.with(0) == live.name() && top.is_only() {
                    if self.take_only(top).is_ok() {
                        return true;
                    }
                    continue;
                }
            }
            let guard = prim::pin();
            covered = covered || self.is_covered(live, &guard);
            if !covered {
                return false;
            }
            match self.take_out(live, &guard) {
                Ok(()) => return true,
                Err(now) => live.older = now,
            }
        }
    }

    /// Marks a node and takes it out of the links; otherwise gives what its `older` is.
    #[inline]
    fn take_out(&self, live: Live<'_>, guard: &Guard) -> Result<(), Link> {
        live.node.hooks.change(live.older, Link(live.older.0 | MARK))?;
        self.unlink(live.node, live.older, guard);
        Ok(())
    }

    /// Whether something was appended above a node that entered an empty list, and is not on top alone any more.
    fn is_covered(&self, root: Live<'_>, guard: &Guard) -> bool {
        let sequence = root.node.hooks.sequence();
        if let Some(Ok(_)) = self.live(root.node.hooks.newer(), sequence, guard) {
            return true;
        }
        loop {
            step();
            let top = self.top();
            if top.is_nil() || top.is_only() {
                return false;
            }
            if top.with(0) == root.name() {
                return true;
            }
            let Some(summit) = self.summit(top, guard) else { continue };
            let Some(above) = self.sweep(summit, sequence, Some(root.node), guard) else { continue };
            return above.older.number() == root.node.number();
        }
    }

    /// Takes a marked node out of the links; `older` is what was marked.
    #[inline]
    fn unlink(&self, gone: &Node, older: Link, guard: &Guard) {
        // The node above, by the hint. A live node that is linked to this one is that, whoever gave the hint.
        let newer = gone.hooks.newer();
        if newer.is_nil() {
            let top = self.top();
            if top.number() == gone.number() && self.replace_top(top, older, guard) {
                return;
            }
        } else if let Some(above) = Node::peek(newer.number(), guard) {
            let link = above.hooks.older();
            let leads_here = link.number() == gone.number() && link.same_generation(newer);
            if leads_here && !link.has(MARK) {
                let past = link.to(older.number());
                if above.hooks.change(link, past).is_ok() {
                    return self.hint(Live { node: above, older: past }, guard);
                }
            }
        }
        self.unlink_by_walk(gone, guard);
    }

    #[cold]
    fn unlink_by_walk(&self, gone: &Node, guard: &Guard) {
        let sequence = gone.hooks.sequence();
        loop {
            step();
            let start = self.foothold(gone.hooks.newer(), sequence, guard).or_else(|| {
                let top = self.top();
                if top.is_nil() {
                    return None;
                }
                self.summit(top, guard)
            });
            let is_unlinked = match start {
                None => self.top().is_nil(),
                Some(start) => self.sweep(start, sequence, Some(gone), guard).is_some(),
            };
            if is_unlinked || cfg!(leno_bug = "unlink_once") {
                return;
            }
        }
    }

    /// The oldest live node, if the hint names it. (No name of another list's node gets there.)
    #[inline]
    fn front<'g>(&self, guard: &'g Guard) -> Option<Live<'g>> {
        let front = Link(self.front.load(Ordering::Acquire));
        if front.is_nil() {
            return None;
        }
        let node = Node::peek(front.number(), guard)?;
        let older = node.hooks.older();
        (older.is_nil() && older.same_generation(front) && !older.has(MARK)).then_some(Live { node, older })
    }

    /// The oldest live node, where it may be the only one.
    fn bottom<'g>(&self, top: Link, guard: &'g Guard) -> Option<Live<'g>> {
        if top.is_only() { self.summit(top, guard) } else { self.oldest(top, guard) }
    }

    /// The oldest live node of several.
    #[cold]
    fn oldest<'g>(&self, top: Link, guard: &'g Guard) -> Option<Live<'g>> {
        let front = Link(self.front.load(Ordering::Acquire));
        let start = self.foothold(front, 0, guard).or_else(|| self.summit(top, guard))?;
        let oldest = self.sweep(start, 0, None, guard)?;
        if oldest.name() != front {
            self.front.store(oldest.name().0, Ordering::Release);
        }
        Some(oldest)
    }

    /// A live node of this list above `sequence`, by hints.
    fn foothold<'g>(&self, mut hint: Link, sequence: u64, guard: &'g Guard) -> Option<Live<'g>> {
        for _ in 0..PATIENCE {
            step();
            match self.live(hint, sequence, guard)? {
                Ok(live) => return Some(live),
                Err(marked) => hint = marked.hooks.newer(),
            }
        }
        None
    }

    /// What a hint names, if it is, or was last, a node of this list above `sequence`. `Err`: it is marked.
    fn live<'g>(&self, hint: Link, sequence: u64, guard: &'g Guard) -> Option<Result<Live<'g>, &'g Node>> {
        if hint.is_nil() {
            return None;
        }
        let node = Node::peek(hint.number(), guard)?;
        let (home, number) = (node.hooks.home(), node.hooks.sequence());
        let older = node.hooks.older();
        // The generation last: it was the same one all the while.
        if !older.same_generation(hint) || home != self.home() || number <= sequence {
            return None;
        }
        Some(if older.has(MARK) && !cfg!(leno_bug = "unlink_from_marked") {
            Err(node)
        } else {
            Ok(Live { node, older })
        })
    }

    /// The node on top, if it is live; otherwise it is unlinked.
    fn summit<'g>(&self, top: Link, guard: &'g Guard) -> Option<Live<'g>> {
        let node = Node::peek(top.number(), guard)?;
        let older = node.hooks.older();
        if !older.same_generation(top) {
            return None;
        }
        if !older.has(MARK) {
            return Some(Live { node, older });
        }
        self.replace_top(top, older, guard);
        None
    }

    /// Moves the top from its node, which is marked, to what is below. False: it has changed.
    #[inline]
    fn replace_top(&self, top: Link, older: Link, guard: &Guard) -> bool {
        let next = if older.is_nil() {
            Link(top.flags() & KEPT)
        } else {
            // If the top is still this node then that one below is linked, and its generation the one just read.
            let Some(below) = Node::peek(older.number(), guard) else { return false };
            below.hooks.older().with(top.flags()).to(older.number())
        };
        self.change(top, next).is_ok()
    }

    /// Walks down from a live node, unlinking what is marked, to the last live one above `sequence`, or down to the
    /// node `goal` of that number; sequence 0: to the oldest. `None`: a node on the way has left meanwhile.
    fn sweep<'g>(
        &self,
        mut at: Live<'g>,
        sequence: u64,
        goal: Option<&Node>,
        guard: &'g Guard,
    ) -> Option<Live<'g>> {
        loop {
            step();
            if at.older.is_nil() {
                return Some(at);
            }
            let next = Node::peek(at.older.number(), guard);
            let read =
                next.map(|next| (next, next.hooks.older(), next.hooks.sequence(), next.life.is_over()));
            let now = at.node.hooks.older();
            if now != at.older {
                if !now.same_generation(at.older) || now.has(MARK) {
                    return None;
                }
                at.older = now;
                continue;
            }
            let (next, older, number, is_over) = read.expect("the table has what is linked");
            assert!(!is_over, "a node was freed while it was linked");
            let is_goal = goal.is_some_and(|goal| std::ptr::eq(goal, next));
            if number < sequence || (number == sequence && !is_goal) {
                return Some(at);
            }
            if older.has(MARK) {
                let past = at.older.to(older.number());
                // If it has changed, the next round sees how.
                if at.node.hooks.change(at.older, past).is_ok() {
                    at.older = past;
                    self.hint(at, guard);
                }
            } else if is_goal {
                return Some(at);
            } else {
                at = Live { node: next, older };
            }
        }
    }

    /// Tells the node below that `at` is above it.
    #[inline]
    fn hint(&self, at: Live<'_>, guard: &Guard) {
        if at.older.is_nil() {
            self.front.store(at.name().0, Ordering::Release);
        } else if let Some(below) = Node::peek(at.older.number(), guard) {
            below.hooks.set_newer(at.name());
        }
    }

    fn home(&self) -> usize {
        (&raw const *self).addr()
    }

    /// While nobody is at work here: no marked node is linked, sides and lists agree, numbers grow towards the top.
    /// Gives the side's bit and how many there are.
    pub(super) fn assert_valid(&self) -> usize {
        let guard = prim::pin();
        let top = self.top();
        let (mut next, mut above, mut len) = (top.number(), u64::MAX, 0);
        while next != 0 {
            let node = Node::peek(next, &guard).expect("the table has what is linked");
            let older = node.hooks.older();
            assert!(len > 0 || older.same_generation(top), "the top must name a stay that goes on");
            assert!(!older.has(MARK) && !node.life.is_over(), "a node that has left must not be linked");
            assert_eq!(older.flags() & SEND, top.flags() & SEND, "nodes must wait on the top's side");
            assert!(node.hooks.sequence() < above, "numbers must grow towards the top");
            (next, above, len) = (older.number(), node.hooks.sequence(), len + 1);
        }
        assert!(!top.is_only() || len == 1, "ONLY means one");
        len
    }
}
