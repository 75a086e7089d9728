//! The lock-free doubly linked list of nodes: the newest on top, the oldest at the front.
//!
//! ```text
//!    top ──▶ D ──older──▶ C ──older──▶ B ──older──▶ A ──▶ nil         exact: decided by compare-exchange
//!            D ◀──newer── C ◀──newer── B ◀──newer── A ◀── front       hints: stored, and checked when used
//! ```
//!
//! After Sundell and Tsigas, turned round: the exact links lead from the newest node to the oldest, and the end at
//! which nodes enter is one word, the *top*. Hints lead the other way; a wrong or missing hint costs time, never truth.
//! Who waits, and who is next, is not decided here but in the word ([`line`](super::line)): the list has to keep whoever was
//! pushed, in order, until they are taken out.
//!
//! # Operations
//!
//! * **push**: `older` is set to the top's node, then the top moves from that to the new node. An empty list becomes
//!   `ONLY`: its one node is taken out by moving the top to nil and by nothing else. What is pushed next ends that for
//!   good (the top is not `ONLY` any more).
//! * **take out**: a node is *marked*, by a compare-exchange of its own `older`, wherever it stands; then it is *unlinked*:
//!   the first live (unmarked) node above it, or the top, is moved on to what the marked node's `older` says, past marked
//!   nodes in between, one at a time. Several may take out one node, each until it is linked no more. A walk unlinks
//!   every marked node that it meets, so nobody waits for somebody who was preempted.
//! * **oldest**: the node whose `older` is nil, by a hint, else by a walk from the top; one that is not eligible (it is on
//!   its way out, or its owner on the way in) is passed by a walk from the top.
//!
//! Claims:
//! 1. *Live nodes are linked.* A node is unlinked by replacing the link to it with its own `older`, which is frozen by
//!    the mark: what it led to stays reachable. So a node that was appended, was not taken out as the only one and is
//!    not marked is reachable from the top, by exactly one path; its neighbour above changes only to something newer,
//!    its neighbour below only to something older.
//! 2. *A link says who.* While X is linked, and its `older` names number n, n is the same stay of the same node: it
//!    leaves the list only by being unlinked, which changes `X.older`; when it comes back it is newer than X. So a
//!    walker that reads a neighbour and then finds the link to it unchanged has read that neighbour's stay.
//! 3. *Marked is gone.* The mark is set once in a stay, and nobody but who has set it has the node. It is handed on,
//!    freed or entered again only after it has been unlinked, so no link leads to a node that is gone. Anybody may have
//!    unlinked it, even before whoever has marked it does: so one that unlinks by what the node says of its neighbours
//!    makes sure, after reading that, that the node is still in the same stay.
//! 4. *Sequence numbers* grow from the oldest to the newest. A walk down from a live node that passes a number without
//!    meeting its node has shown that the node is not linked any more, and it never will be again.
//! 5. *No hint names an only one.* Hints name nodes that were appended above others, one above which something was
//!    appended, or what a walk from a top that was not `ONLY` has found. So nobody marks a node that can be taken out
//!    through the top.
//!
//! A node that entered an empty list and finds the top not to be itself was either taken out through the top, or
//! something was appended above it, in which case it is linked until somebody marks it. `is_covered` tells which: by
//! the node's own hint, if that names a live node of this list with a higher number (any older node that a hint can
//! name was gone when the list was empty), otherwise by a walk.
//!
//! # Reclamation, and the traps
//!
//! Walkers read nodes to which they have no right: the four words of its [hooks](super::link), which are atomics and stay readable.
//! Nodes are *type-stable*: they are recycled at once, as nodes. Memory goes back to the allocator in whole chunks
//! of free nodes only, through an epoch; every walk is a [`Look`]. So:
//!
//! * *A helper writes a hint to a node that was gone by then* (the trap of this list under epochs alone): it lands in
//!   a free or a recycled node's `newer`, which is a hint. Who follows it checks generation, list, number and mark.
//! * *ABA*: every compare-exchange names the generation of the node whose word, or whose place on top, it changes. A
//!   generation has 39 bits: a thread would have to be suspended inside an operation, or a hint be left alone, for
//!   exactly 2^39 attempts of one node to enter a list.
//! * *Two neighbours removed at once*: a marked node's `older` is frozen, so that the neighbour below cannot be
//!   unlinked from it behind the back of whoever unlinks the marked node; both are unlinked from the live node above.
//! * *A removal beside an append*: the appended node names the top, marked or not; it is then itself the live node
//!   from which the marked one is unlinked. If it comes too late its compare-exchange fails.
//! * *Recycled into another list*: `home` names the list in which a node's stay is. It is compared only.
//!
//! # Progress and cost
//!
//! Lock-free: an attempt fails only because another one has succeeded. To find the oldest and to take out any are O(1)
//! with good hints. A hint is missing while a pusher is between its two stores, and may be outdated where neighbours leave
//! at the same moment; then a walk from the top finds the place, in as many steps as there are nodes above it.
//!
//! Locked instructions: push 1, take the only one out 1, any other 2; plus 1 for the pin of a look that needs one. Orderings:
//! acquire and release; each argument above is about one word, or about what was read before that word was found unchanged.

use super::cache::{self, Look};
use super::link::{AtomicLink, Hooks, Link, MARK, ONLY, ROOT};
use super::steps::{interrupt, step};

/// Hints that are followed before a walk starts from the top.
const PATIENCE: usize = 16;

/// A node with its `older` as it was when it was found: linked and unmarked, unless told otherwise.
#[derive(Clone, Copy)]
struct Live<'g> {
    number: usize,
    hooks: &'g Hooks,
    older: Link,
}

impl<'g> Live<'g> {
    /// The node of this name, linked or not, marked or not. `None`: there is no such node, or its stay is over.
    #[inline]
    fn named(name: Link, look: &'g Look<'_>) -> Option<Live<'g>> {
        if name.is_nil() {
            return None;
        }
        let hooks = look.peek(name.number())?;
        let older = hooks.older.load();
        older.same_generation(name).then_some(Live { number: name.number(), hooks, older })
    }

    fn name(self) -> Link {
        self.older.with(0).to(self.number)
    }
}

pub(super) struct List {
    /// The name of the newest node.
    top: AtomicLink,
    /// The name of the oldest: a hint.
    front: AtomicLink,
}

impl List {
    pub(super) fn new() -> List {
        List { top: AtomicLink::new(Link::NIL), front: AtomicLink::new(Link::NIL) }
    }

    /// Appends the node `number`, which is the caller's and stands in no list.
    pub(super) fn push(&self, number: usize, look: &Look<'_>) {
        let hooks = look.peek(number).expect("its owner keeps it");
        let mut top = self.top.load();
        while let Err(now) = self.append(top, number, hooks, look) {
            top = now;
        }
    }

    /// Appends a node if the top is still `top`; otherwise gives what it is.
    fn append(&self, top: Link, number: usize, hooks: &Hooks, look: &Look<'_>) -> Result<(), Link> {
        if top.is_nil() {
            let name = hooks.begin(number, Link::NIL, ROOT, 1, self.home());
            return self.top.change(top, name.with(ONLY));
        }
        // A top that has changed since names a node that may be gone; then the exchange fails.
        let Some(below) = look.peek(top.number()) else { return Err(self.top.load()) };
        let name = hooks.begin(number, top, 0, below.sequence().wrapping_add(1), self.home());
        self.top.change(top, name)?;
        interrupt();
        below.newer.store(name);
        if top.has(ONLY) {
            self.front.store(top.with(0));
        }
        Ok(())
    }

    /// The oldest node that is `eligible`. `Err`: the list has changed under the walk.
    pub(super) fn oldest(
        &self,
        look: &Look<'_>,
        eligible: impl Fn(usize) -> bool,
    ) -> Result<Option<usize>, ()> {
        let top = self.top.load();
        if top.is_nil() {
            return Ok(None);
        }
        let bottom = || if top.has(ONLY) { self.summit(top, look) } else { self.lowest(top, look) };
        if let Some(oldest) = self.front(look).or_else(bottom) {
            if eligible(oldest.number) {
                return Ok(Some(oldest.number));
            }
        }
        self.oldest_by_walk(top, eligible, look)
    }

    /// The oldest node that may be named, from the top down.
    #[cold]
    fn oldest_by_walk(
        &self,
        top: Link,
        eligible: impl Fn(usize) -> bool,
        look: &Look<'_>,
    ) -> Result<Option<usize>, ()> {
        let mut oldest = None;
        let Live { mut number, mut hooks, mut older } = Live::named(top, look).ok_or(())?;
        loop {
            step();
            if eligible(number) {
                oldest = Some(number);
            }
            if older.is_nil() {
                return Ok(oldest);
            }
            let next = look.peek(older.number()).ok_or(())?;
            let read = next.older.load();
            let now = hooks.older.load();
            // Claim 2: what was read is the stay that is linked there. (Where this one has been unlinked meanwhile it may be
            // another's; that one's owner has changed the word before it came again, and nothing counts that is found here.)
            if now.number() != older.number() || !now.same_generation(older) {
                return Err(());
            }
            (number, hooks, older) = (older.number(), next, read);
        }
    }

    /// Takes a node out wherever it stands, and returns when it is linked no more. Several may do so for one node at a
    /// time: `goes_on` says whether its stay lasts, that is, whether it cannot have been freed yet.
    pub(super) fn take_out(&self, number: usize, look: &Look<'_>, goes_on: impl Fn() -> bool) {
        let Some(hooks) = look.peek(number) else { return };
        let mut covered = false;
        loop {
            let (older, sequence) = (hooks.older.load(), hooks.sequence());
            // What was read is of this stay.
            if !goes_on() {
                return;
            }
            if older.has(MARK) {
                return self.unlink_by_walk(number, hooks, sequence, look);
            }
            let live = Live { number, hooks, older };
            covered = covered || !older.has(ROOT);
            if !covered {
                let top = self.top.load();
                if top.with(0) == live.name() && top.has(ONLY) {
                    if self.top.change(top, Link::NIL).is_ok() {
                        return;
                    }
                    continue;
                }
                covered = self.is_covered(live, sequence, look);
            }
            if !covered {
                return;
            }
            interrupt();
            if hooks.older.change(older, Link(older.0 | MARK)).is_ok() {
                interrupt();
                return self.unlink(live, look);
            }
        }
    }

    /// Whether something was appended above a node that entered an empty list, and is not on top alone any more.
    fn is_covered(&self, root: Live<'_>, sequence: u64, look: &Look<'_>) -> bool {
        if let Some(Ok(_)) = self.live(root.hooks.newer.load(), sequence, look) {
            return true;
        }
        loop {
            step();
            let top = self.top.load();
            if top.is_nil() || top.has(ONLY) {
                return false;
            }
            if top.with(0) == root.name() {
                return true;
            }
            let Some(summit) = self.summit(top, look) else { continue };
            let Some(above) = self.sweep(summit, sequence, Some(root.number), look) else { continue };
            return above.older.number() == root.number;
        }
    }

    /// Takes a node that was just marked out of the links.
    #[inline(always)]
    fn unlink(&self, gone: Live<'_>, look: &Look<'_>) {
        let older = gone.older;
        // The node above, by the hint. A live node that links to this one is the node above, whoever gave the hint.
        let newer = gone.hooks.newer.load();
        if newer.is_nil() {
            let top = self.top.load();
            if top.with(0) == gone.name() && self.replace_top(top, older, look) {
                return;
            }
        } else if let Some(above) = look.peek(newer.number()) {
            let link = above.older.load();
            let leads_here = link.number() == gone.number && link.same_generation(newer);
            // Somebody else may have unlinked it since it was marked, and it may have entered again: what was read so far is of
            // this stay only if that is still the latest one.
            let lasts = gone.hooks.older.load().same_generation(older);
            if leads_here && lasts && !link.has(MARK) {
                let past = link.to(older.number());
                interrupt();
                if above.older.change(link, past).is_ok() {
                    return self.hint(Live { number: newer.number(), hooks: above, older: past }, look);
                }
            }
        }
        self.unlink_by_walk(gone.number, gone.hooks, gone.hooks.sequence(), look);
    }

    #[cold]
    fn unlink_by_walk(&self, gone: usize, hooks: &Hooks, sequence: u64, look: &Look<'_>) {
        loop {
            step();
            let start = self
                .foothold(hooks.newer.load(), sequence, look)
                .or_else(|| self.summit(self.top.load(), look));
            let is_unlinked = match start {
                None => self.top.load().is_nil(),
                Some(start) => self.sweep(start, sequence, Some(gone), look).is_some(),
            };
            if is_unlinked || bug!("unlink_once") {
                return;
            }
        }
    }

    /// The oldest live node, if the hint names it. (No name of another list's node gets there.)
    #[inline(always)]
    fn front<'g>(&self, look: &'g Look<'_>) -> Option<Live<'g>> {
        Live::named(self.front.load(), look).filter(|front| front.older.is_nil() && !front.older.has(MARK))
    }

    /// The oldest live node of several.
    #[cold]
    fn lowest<'g>(&self, top: Link, look: &'g Look<'_>) -> Option<Live<'g>> {
        let front = self.front.load();
        let start = self.foothold(front, 0, look).or_else(|| self.summit(top, look))?;
        let oldest = self.sweep(start, 0, None, look)?;
        if oldest.name() != front {
            self.front.store(oldest.name());
        }
        Some(oldest)
    }

    /// A live node of this list above `sequence`, by hints.
    fn foothold<'g>(&self, mut hint: Link, sequence: u64, look: &'g Look<'_>) -> Option<Live<'g>> {
        for _ in 0..PATIENCE {
            step();
            match self.live(hint, sequence, look)? {
                Ok(live) => return Some(live),
                Err(marked) => hint = marked.newer.load(),
            }
        }
        None
    }

    /// What a hint names, if it is, or was last, a node of this list above `sequence`. `Err`: it is marked.
    fn live<'g>(&self, hint: Link, sequence: u64, look: &'g Look<'_>) -> Option<Result<Live<'g>, &'g Hooks>> {
        if hint.is_nil() {
            return None;
        }
        let hooks = look.peek(hint.number())?;
        let (home, number) = (hooks.home(), hooks.sequence());
        let older = hooks.older.load();
        // The generation last: it was the same one all the while.
        if !older.same_generation(hint) || home != self.home() || number <= sequence {
            return None;
        }
        Some(if older.has(MARK) && !bug!("unlink_from_marked") {
            Err(hooks)
        } else {
            Ok(Live { number: hint.number(), hooks, older })
        })
    }

    /// The node on top, if it is live; otherwise it is unlinked.
    fn summit<'g>(&self, top: Link, look: &'g Look<'_>) -> Option<Live<'g>> {
        let summit = Live::named(top, look)?;
        if !summit.older.has(MARK) {
            return Some(summit);
        }
        self.replace_top(top, summit.older, look);
        None
    }

    /// Moves the top from its node, which is marked, to what is below. False: it has changed.
    fn replace_top(&self, top: Link, older: Link, look: &Look<'_>) -> bool {
        let next = if older.is_nil() {
            Link::NIL
        } else {
            // If the top is still this node then that one below is linked, and its generation the one just read.
            let Some(below) = look.peek(older.number()) else { return false };
            below.older.load().with(0).to(older.number())
        };
        interrupt();
        self.top.change(top, next).is_ok()
    }

    /// Walks down from a live node, unlinking what is marked, to the last live one above `sequence`, or down to the
    /// node `goal` of that number; sequence 0: to the oldest. `None`: a node on the way has left meanwhile.
    fn sweep<'g>(
        &self,
        mut at: Live<'g>,
        sequence: u64,
        goal: Option<usize>,
        look: &'g Look<'_>,
    ) -> Option<Live<'g>> {
        loop {
            step();
            if at.older.is_nil() {
                return Some(at);
            }
            let next = look.peek(at.older.number());
            let read = next
                .map(|next| (next, next.older.load(), next.sequence(), cache::is_over(at.older.number())));
            let now = at.hooks.older.load();
            if now != at.older {
                if !now.same_generation(at.older) || now.has(MARK) {
                    return None;
                }
                at.older = now;
                continue;
            }
            let (next, older, number, is_over) = read.expect("the table has what is linked");
            assert!(!is_over, "a node was freed while it was linked");
            let is_goal = goal == Some(at.older.number());
            if number < sequence || (number == sequence && !is_goal) {
                return Some(at);
            }
            if older.has(MARK) {
                let past = at.older.to(older.number());
                interrupt();
                // If it has changed, the next round sees how.
                if at.hooks.older.change(at.older, past).is_ok() {
                    at.older = past;
                    self.hint(at, look);
                }
            } else if is_goal {
                return Some(at);
            } else {
                at = Live { number: at.older.number(), hooks: next, older };
            }
        }
    }

    /// Tells the node below that `at` is above it.
    fn hint(&self, at: Live<'_>, look: &Look<'_>) {
        if at.older.is_nil() {
            self.front.store(at.name());
        } else if let Some(below) = look.peek(at.older.number()) {
            below.newer.store(at.name());
        }
    }

    fn home(&self) -> usize {
        (&raw const *self).addr()
    }

    /// While nobody is at work here: no marked node is linked, and numbers grow towards the top. Gives how many there are.
    pub(super) fn assert_valid(&self) -> usize {
        let look = Look::anywhere();
        let top = self.top.load();
        let (mut next, mut above, mut len) = (top.number(), u64::MAX, 0);
        while next != 0 {
            let hooks = look.peek(next).expect("the table has what is linked");
            let older = hooks.older.load();
            assert!(len > 0 || older.same_generation(top), "the top must name a stay that goes on");
            assert!(!older.has(MARK), "a node that has left must not be linked");
            assert!(!cache::is_over(next), "a node that is linked must not be free");
            assert!(hooks.sequence() < above, "numbers must grow towards the top");
            (next, above, len) = (older.number(), hooks.sequence(), len + 1);
        }
        assert!(!top.has(ONLY) || len == 1, "ONLY means one");
        len
    }
}
