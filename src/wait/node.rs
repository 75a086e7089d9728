//! The node: what stands in a queue for one branch of one suspended operation.
//!
//! Nodes never live in futures: a peer may read a node after the future's drop has returned. They come from a
//! cache of the thread and go back to the cache of whichever thread frees them.
//!
//! # Who may touch what
//!
//! 1. *Rights.* A node has an owner (a [`Waiter`]) from its allocation on. Entering a queue shares it: the queue
//!    holds the *peer's right*, which popping hands to exactly one peer (a [`Popped`]).
//! 2. *Plain operations* have one node, whose own word is the claim word. Each of the peer's last transitions of
//!    that word (`DONE`, `NOTIFIED`, the mark) gives the peer's right back: the node is the owner's alone. A
//!    peer that finds `GONE` holds the node alone.
//! 3. *Selects* have a node per branch and one more, the *anchor*, which stands in no queue and whose word is the
//!    claim word of all of them. A branch node's own word is unused; its `hand` says who still holds it: a peer
//!    marks it `POPPED` before it touches the claim word and `PARTED` when it is through. Whoever parts last
//!    frees it. Each branch node holds a count of its anchor, so a peer that holds one may touch the anchor.
//! 4. *Cells.* The parker and the payload belong to whoever has claimed the word of that branch, and otherwise to
//!    the owner while no peer can claim: before entering, in `BUSY` (not the payload of a node that a peer has
//!    claimed, of course), and after the end. `anchor`, `branch` and `rank` are written by the owner
//!    before entering only. `links` belong to whoever has the row in which the node stands.
//! 5. *Hooks* may be read, and some of them written, by anybody at any time, also after the node was freed: its memory
//!    stays a node ([`list`](super::list), [`pool`](super::pool)).
//! 6. A node is freed with no waker and no value in it.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::task::{RawWakerVTable, Waker};

use super::cache;
use super::link::Hooks;
use super::pool::Stable;
use super::word::{Claimed, State, Word};
use crate::prim::{AtomicUsize, Guard, Life, Ordering, UnsafeCell};

/// Words of payload that a node holds inline; larger values are boxed for the time of the wait.
const INLINE: usize = 4;

/// Of a branch node's `shared`: nobody has touched it yet; the mark of a peer that took it out; one for each party
/// that is through with it.
const IN_QUEUE: usize = 0;
const POPPED: usize = 1;
const PARTED: usize = 2;

#[repr(align(64))]
pub(crate) struct Node {
    word: Word,
    /// A branch node's `hand`; an anchor's count of branch nodes and its owner.
    shared: AtomicUsize,
    place: UnsafeCell<Place>,
    pub(super) links: UnsafeCell<Links>,
    pub(super) hooks: Hooks,
    /// The name of this memory, for good.
    number: usize,
    parker: UnsafeCell<Option<Waker>>,
    /// Identity of the parker, for the owner's eyes only: it may compare it while a peer takes the parker.
    identity: UnsafeCell<Identity>,
    payload: UnsafeCell<Payload>,
    pub(super) life: Life,
}

type Identity = (*const (), *const RawWakerVTable);

/// What is handed over: a value that fits, or a box of it.
struct Payload {
    words: [MaybeUninit<usize>; INLINE],
    full: bool,
}

struct Place {
    /// Null for a plain operation.
    anchor: *const Node,
    branch: usize,
    rank: u64,
}

/// A row's hooks; guarded by the lock of the queue beside which the node stands.
pub(super) struct Links {
    pub(super) prev: Option<NodeRef>,
    pub(super) next: Option<NodeRef>,
    pub(super) listed: Listed,
}

/// The row in which a node is linked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Listed {
    Nowhere,
    Returned,
    BystandingRecv,
    BystandingSend,
    Detached,
}

/// An address of a node, with no right attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRef(NonNull<Node>);

impl NodeRef {
    /// # Safety
    /// The caller holds a right to the node of that number.
    pub(super) unsafe fn named(number: usize) -> NodeRef {
        // SAFETY: the caller's promise.
        NodeRef(unsafe { cache::named(number) })
    }

    pub(super) fn of(node: &Node) -> NodeRef {
        NodeRef(NonNull::from(node))
    }

    /// # Safety
    /// The caller holds a right to the node (invariant 1), or the lock of the queue that it is listed in.
    pub(super) unsafe fn get<'a>(self) -> &'a Node {
        // SAFETY: a node lives while any right to it is held.
        let node = unsafe { self.0.as_ref() };
        node.life.touch();
        node
    }
}

impl Stable for Node {
    fn create(number: usize, generation: u64) -> Node {
        Node {
            word: Word::new(true),
            shared: AtomicUsize::new(IN_QUEUE),
            place: UnsafeCell::new(Place { anchor: ptr::null(), branch: 0, rank: 0 }),
            links: UnsafeCell::new(Links { prev: None, next: None, listed: Listed::Nowhere }),
            hooks: Hooks::new(generation),
            number,
            parker: UnsafeCell::new(None),
            identity: UnsafeCell::new((ptr::null(), ptr::null())),
            payload: UnsafeCell::new(Payload { words: [MaybeUninit::uninit(); INLINE], full: false }),
            life: Life::new(),
        }
    }

    fn number(&self) -> usize {
        self.number
    }

    fn generation(&self) -> u64 {
        self.hooks.generation()
    }
}

// SAFETY: what a node holds is reached by rights only, each of which may move between threads.
unsafe impl Send for Node {}
// SAFETY: without a right, only atomics are reached.
unsafe impl Sync for Node {}

impl Node {
    /// Looks at a node to which the caller has no right: its hooks only. `None`: its memory is gone.
    #[inline]
    pub(super) fn peek(number: usize, guard: &Guard) -> Option<&Node> {
        cache::peek(number, guard)
    }

    /// Makes a free node as new.
    ///
    /// # Safety
    /// The node is the caller's alone.
    pub(super) unsafe fn renew(&self) {
        self.word.reset(true);
        self.shared.store(IN_QUEUE, Ordering::Relaxed);
    }

    /// A free node's link to the next one, in the cache's stack.
    ///
    /// # Safety
    /// The node is free, and the caller's alone.
    pub(super) unsafe fn next_free(&self) -> *const Node {
        // SAFETY: the caller's promise.
        self.place.with(|place| unsafe { (*place).anchor })
    }

    /// # Safety
    /// As for [`Node::next_free`].
    pub(super) unsafe fn set_next_free(&self, next: *const Node) {
        // SAFETY: the caller's promise.
        self.place.with_mut(|place| unsafe { (*place).anchor = next });
    }

    /// Gives a node that was created outside of the pool its number.
    pub(super) fn set_number(&mut self, number: usize) {
        self.number = number;
    }

    /// When its operation began to wait, for queues that keep places.
    pub(super) fn rank(&self) -> u64 {
        // SAFETY: written by the owner before entering only (invariant 4).
        self.place.with(|place| unsafe { (*place).rank })
    }

    pub(super) fn anchor(&self) -> Option<NodeRef> {
        // SAFETY: as in `rank`.
        NonNull::new(self.place.with(|place| unsafe { (*place).anchor }).cast_mut()).map(NodeRef)
    }

    fn branch(&self) -> usize {
        // SAFETY: as in `rank`.
        self.place.with(|place| unsafe { (*place).branch })
    }

    /// # Safety
    /// The payload is the caller's (invariant 4).
    unsafe fn put<T>(&self, value: T) {
        self.payload.with_mut(|payload| {
            // SAFETY: the caller owns the cell; size and alignment are checked, and a box fits always.
            unsafe {
                debug_assert!(!(*payload).full);
                let words = (&raw mut (*payload).words).cast::<T>();
                if fits::<T>() {
                    words.write(value)
                } else {
                    words.cast::<Box<T>>().write(Box::new(value))
                }
                (*payload).full = true;
            }
        });
    }

    /// Takes the value out, if there is one.
    ///
    /// # Safety
    /// The payload is the caller's (invariant 4), and whatever was put was a `T`.
    unsafe fn take<T>(&self) -> Option<T> {
        self.payload.with_mut(|payload| {
            // SAFETY: the caller owns the cell, and `put` wrote it.
            unsafe {
                if !std::mem::take(&mut (*payload).full) {
                    return None;
                }
                let words = (&raw const (*payload).words).cast::<T>();
                Some(if fits::<T>() { words.read() } else { *words.cast::<Box<T>>().read() })
            }
        })
    }

    /// # Safety
    /// The parker is the caller's (invariant 4).
    unsafe fn take_parker(&self) -> Option<Waker> {
        // SAFETY: the caller owns the cell.
        self.parker.with_mut(|parker| unsafe { (*parker).take() })
    }
}

const fn fits<T>() -> bool {
    size_of::<T>() <= size_of::<[usize; INLINE]>() && align_of::<T>() <= align_of::<usize>()
}

/// Who has a branch node that has entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hand {
    /// Its queue, as far as the owner knows.
    Queue,
    /// A peer, which has yet to claim the operation or has just failed to: it may not be taken from it, since a
    /// claim by it would be valid.
    Peer,
    /// Nobody but the owner: a peer took it and gave it back.
    Back,
}

/// The owner's right to a node.
#[derive(Debug)]
pub(crate) struct Waiter(NodeRef);

// SAFETY: a waiter is a unique right; what its node holds (wakers, values) is Send where the operation is.
unsafe impl Send for Waiter {}
// SAFETY: a shared waiter gives access to atomics only.
unsafe impl Sync for Waiter {}

impl Waiter {
    /// A node for a plain operation; its word is OPEN once it is parked.
    pub(crate) fn plain() -> Waiter {
        Waiter::alloc(ptr::null(), 0)
    }

    /// A select's anchor; its word is BUSY.
    pub(crate) fn anchor() -> Waiter {
        let anchor = Waiter::plain();
        anchor.node().word.reset(false);
        anchor.node().shared.store(1, Ordering::Relaxed);
        anchor
    }

    /// The node of branch `branch` of `anchor`'s select.
    pub(crate) fn branch(anchor: &Waiter, branch: usize) -> Waiter {
        anchor.node().shared.fetch_add(1, Ordering::Relaxed);
        Waiter::alloc(anchor.0.0.as_ptr(), branch)
    }

    fn alloc(anchor: *const Node, branch: usize) -> Waiter {
        let node = NodeRef(cache::alloc());
        // SAFETY: nobody else knows the node yet.
        unsafe { node.get() }.place.with_mut(|place| unsafe { *place = Place { anchor, branch, rank: 0 } });
        Waiter(node)
    }

    fn node(&self) -> &Node {
        // SAFETY: this is the owner's right.
        unsafe { self.0.get() }
    }

    pub(crate) fn as_ref(&self) -> NodeRef {
        self.0
    }

    pub(crate) fn word(&self) -> &Word {
        &self.node().word
    }

    pub(crate) fn rank(&self) -> u64 {
        self.node().rank()
    }

    /// Has a node that was first in line, and was missed there, enter in front of those that never had a rank.
    pub(crate) fn keep_place(&self) {
        if self.rank() == 0 {
            self.set_rank(1);
        }
    }

    /// Sets the rank of a node that stands in no queue.
    pub(crate) fn set_rank(&self, rank: u64) {
        // SAFETY: before entering, the place is the owner's (invariant 4).
        self.node().place.with_mut(|place| unsafe { (*place).rank = rank });
    }

    /// Whether `waker` is the one that the operation is parked with. Meaningful only if the word was found OPEN
    /// since: then the parker is alive, and an equal identity means the same task.
    pub(crate) fn parked_by(&self, waker: &Waker) -> bool {
        // SAFETY: the identity is the owner's only.
        self.node().identity.with(|identity| unsafe { *identity == identify(waker) })
    }

    /// Stores the parker, and gives the previous one back, to be dropped where foreign code may run.
    ///
    /// # Safety
    /// No peer can claim the operation: it stands in no queue, or its word is BUSY.
    pub(crate) unsafe fn park(&self, waker: Waker) -> Option<Waker> {
        // SAFETY: the identity is the owner's only; the parker is by the caller's promise.
        self.node().identity.with_mut(|identity| unsafe { *identity = identify(&waker) });
        // SAFETY: as above.
        self.node().parker.with_mut(|parker| unsafe { (*parker).replace(waker) })
    }

    /// # Safety
    /// The payload is the owner's (invariant 4) and empty.
    pub(crate) unsafe fn put<T>(&self, value: T) {
        // SAFETY: the caller's promise.
        unsafe { self.node().put(value) }
    }

    /// # Safety
    /// The payload is the owner's (invariant 4), and whatever was put was a `T`.
    pub(crate) unsafe fn take<T>(&self) -> Option<T> {
        // SAFETY: the caller's promise.
        unsafe { self.node().take() }
    }

    /// Where this branch node is.
    pub(crate) fn hand(&self) -> Hand {
        // ORDERING: Acquire pairs with `part`.
        match self.node().shared.load(Ordering::Acquire) {
            IN_QUEUE => Hand::Queue,
            POPPED => Hand::Peer,
            _parted => Hand::Back,
        }
    }

    /// Gives up a branch node that a peer has popped: whoever parts last frees it.
    ///
    /// The branch that is DONE is the owner's alone: free it instead.
    pub(crate) fn part(self) {
        // SAFETY: this consumes the owner's right.
        unsafe { part(self.0) }
    }

    /// Frees a node that is the owner's alone.
    pub(crate) fn free(self) {
        // SAFETY: the right is consumed and, by the caller's knowledge of the protocol, the only one left.
        let parker = unsafe { self.node().take_parker() };
        // SAFETY: as above. A parker that was never taken is dropped after this, as foreign code.
        unsafe { free(self.0) };
        drop(parker);
    }

    /// Gives up a plain node whose word is BUSY, and which a peer has popped: if the peer has been here already
    /// the node is freed, otherwise the peer will find the owner gone.
    pub(crate) fn abandon(self) {
        // SAFETY: BUSY: the parker is the owner's.
        let parker = unsafe { self.node().take_parker() };
        if self.word().leave().missed {
            self.free();
        }
        drop(parker);
    }

    /// Ends a select whose word is BUSY; gives the parker, to be dropped where foreign code may run.
    pub(crate) fn leave_anchor(&self) -> Option<Waker> {
        // SAFETY: BUSY: the parker is the owner's.
        let parker = unsafe { self.node().take_parker() };
        let _ = self.word().leave();
        parker
    }

    /// Ends a select in whatever state it is; as [`Waiter::leave_anchor`].
    pub(crate) fn leave_anchor_from_any(&self) -> (State, Option<Waker>) {
        let left = self.word().leave().state;
        let parker = match left {
            // Whoever has claimed it takes the parker.
            State::Claimed(_) => None,
            // SAFETY: from GONE on nobody can claim it.
            _ => unsafe { self.node().take_parker() },
        };
        (left, parker)
    }

    /// Gives up an anchor: the last branch node or this call frees it.
    pub(crate) fn release_anchor(self) {
        // SAFETY: the word is GONE or DONE and the parker untouched by any peer from here on, or it was taken.
        unsafe { release_anchor(self.0) }
    }
}

/// The peer's right to a node that was popped.
#[must_use]
#[derive(Debug)]
pub(crate) struct Popped(NodeRef);

// SAFETY: it is a unique right, as `Waiter`.
unsafe impl Send for Popped {}

impl Popped {
    /// # Safety
    /// The caller has just taken the node out of its queue.
    pub(super) unsafe fn new(node: NodeRef) -> Popped {
        Popped(node)
    }

    /// Claims the operation. `Err`: it is over or in other hands; the node was handed back and the peer goes on
    /// as if nobody had waited there.
    pub(crate) fn claim(self) -> Option<Claim> {
        // SAFETY: this is the peer's right; a branch node keeps its anchor alive (invariant 3).
        let (node, anchor) = unsafe {
            let node = self.0.get();
            (node, node.anchor().map(|anchor| anchor.get()))
        };
        let Some(anchor) = anchor else {
            return match node.word.claim(0) {
                Claimed::Yes => Some(Claim(self.0)),
                Claimed::Missed => None,
                Claimed::Over => {
                    // SAFETY: the owner is gone (invariant 2).
                    unsafe { free(self.0) };
                    None
                }
            };
        };
        // ORDERING: Release: an owner that later sees the mark in the word sees this too.
        if cfg!(leno_bug = "popped_overwrites") {
            node.shared.swap(POPPED, Ordering::AcqRel);
        } else {
            node.shared.fetch_or(POPPED, Ordering::AcqRel);
        }
        match anchor.word.claim(node.branch()) {
            Claimed::Yes => Some(Claim(self.0)),
            Claimed::Missed | Claimed::Over => {
                // SAFETY: this consumes the peer's right.
                unsafe { part(self.0) };
                None
            }
        }
    }

    /// Tells the operation to look, and gives its waker. `Err`: nobody was told, since the operation was over or in
    /// other hands; with what its owner has left behind, if it left just now.
    pub(crate) fn notify(self) -> Result<Option<Waker>, Option<Abandoned>> {
        self.claim().ok_or(None)?.notify().map_err(Some)
    }

    /// The rank that its owner gave it before it entered.
    #[cfg(any(test, leno_loom, leno_shuttle))]
    pub(super) fn rank(&self) -> u64 {
        // SAFETY: this is the peer's right.
        unsafe { self.0.get() }.rank()
    }

    /// Ends a node that stands in a queue which is being dropped: its future was forgotten, so that no owner
    /// comes back for it. A value that it sends, and a select's share of it, stay forgotten.
    pub(super) fn bury(self) {
        // SAFETY: this is the peer's right, and the owner's was forgotten.
        unsafe {
            let node = self.0.get();
            if node.anchor().is_none() {
                let parker = node.take_parker();
                node.payload.with_mut(|payload| (*payload).full = false);
                free(self.0);
                drop(parker);
            }
        }
    }
}

/// An operation that a peer has claimed.
#[must_use]
#[derive(Debug)]
pub(crate) struct Claim(NodeRef);

/// A claimed operation whose owner has left: the peer disposes of the node, and of what is in it. It holds foreign
/// things, so it must be dropped where foreign code may run.
#[must_use]
#[derive(Debug)]
pub(crate) struct Abandoned {
    node: NodeRef,
    _parker: Option<Waker>,
}

// SAFETY: it is a unique right, with a waker.
unsafe impl Send for Abandoned {}

impl Claim {
    fn node(&self) -> &Node {
        // SAFETY: this is the peer's right.
        unsafe { self.0.get() }
    }

    fn word(&self) -> &Word {
        match self.node().anchor() {
            None => &self.node().word,
            // SAFETY: a branch node keeps its anchor alive (invariant 3).
            Some(anchor) => &unsafe { anchor.get() }.word,
        }
    }

    /// Takes the value that the operation sends.
    ///
    /// # Safety
    /// The operation sends a `T`.
    pub(crate) unsafe fn take<T>(&mut self) -> T {
        // SAFETY: claimed (invariant 4).
        unsafe { self.node().take() }.expect("an operation that sends holds a value")
    }

    /// Gives the operation the value that it receives.
    ///
    /// # Safety
    /// The payload is empty.
    pub(crate) unsafe fn put<T>(&mut self, value: T) {
        // SAFETY: claimed (invariant 4).
        unsafe { self.node().put(value) }
    }

    /// Stamps the hand-over with its place in the order of hand-overs.
    pub(crate) fn stamp(&mut self, rank: u64) {
        // SAFETY: popped and claimed: nobody else reads the place now.
        self.node().place.with_mut(|place| unsafe { (*place).rank = rank });
    }

    /// Completes the operation; the waker is to be called where foreign code may run.
    pub(crate) fn complete(self) -> Result<Option<Waker>, Abandoned> {
        let parker = self.take_parker();
        if self.word().done(self.node().branch()) {
            Ok(parker)
        } else {
            Err(Abandoned { node: self.0, _parker: parker })
        }
    }

    /// Tells the operation to look.
    pub(crate) fn notify(self) -> Result<Option<Waker>, Abandoned> {
        let parker = self.take_parker();
        let anchor = self.node().anchor();
        if !self.word().notified() {
            return Err(Abandoned { node: self.0, _parker: parker });
        }
        if anchor.is_some() {
            // SAFETY: this consumes the peer's right. (A plain node is the owner's again already.)
            unsafe { part(self.0) };
        }
        Ok(parker)
    }

    fn take_parker(&self) -> Option<Waker> {
        let node = match self.node().anchor() {
            None => self.node(),
            // SAFETY: a branch node keeps its anchor alive (invariant 3).
            Some(anchor) => unsafe { anchor.get() },
        };
        // SAFETY: claimed (invariant 4).
        unsafe { node.take_parker() }
    }
}

impl Abandoned {
    /// Takes the value that was to be received, or that the owner left behind.
    ///
    /// # Safety
    /// Whatever was put was a `T`.
    pub(crate) unsafe fn take<T>(&mut self) -> Option<T> {
        // SAFETY: the owner left while it was claimed: the payload is still the peer's.
        unsafe { self.node.get().take() }
    }
}

impl Drop for Abandoned {
    fn drop(&mut self) {
        // SAFETY: this consumes the peer's right; a plain node's owner is gone.
        unsafe {
            if self.node.get().anchor().is_some() {
                part(self.node);
            } else {
                free(self.node);
            }
        }
    }
}

/// # Safety
/// Consumes one of the two rights to a branch node that was popped.
unsafe fn part(node: NodeRef) {
    // SAFETY: by the right that is consumed.
    let hand = &unsafe { node.get() }.shared;
    // ORDERING: AcqRel: whoever comes second sees all that the first did with the node.
    if hand.fetch_add(PARTED, Ordering::AcqRel) >= PARTED {
        // SAFETY: both rights are gone.
        unsafe { free(node) };
    }
}

/// # Safety
/// No other right to the node is left; its parker is taken and its payload empty.
unsafe fn free(node: NodeRef) {
    // SAFETY: as promised.
    if let Some(anchor) = unsafe { node.get() }.anchor() {
        // SAFETY: the branch node's count.
        unsafe { release_anchor(anchor) };
    }
    // SAFETY: as promised.
    unsafe { cache::free(node.0) };
}

/// # Safety
/// Consumes one count of the anchor.
unsafe fn release_anchor(anchor: NodeRef) {
    // SAFETY: by the count that is consumed.
    let node = unsafe { anchor.get() };
    // ORDERING: AcqRel: the last one sees all that the others did.
    if node.shared.fetch_sub(1, Ordering::AcqRel) == 1 {
        // SAFETY: the last count.
        let parker = unsafe { node.take_parker() };
        // SAFETY: as above.
        unsafe { cache::free(anchor.0) };
        drop(parker);
    }
}

fn identify(waker: &Waker) -> Identity {
    (waker.data(), waker.vtable())
}
