//! The node: what stands in line for one suspended operation, or for one branch of a select.
//!
//! Nodes never live in futures: a peer may touch a node after the future's drop has returned. They come from a cache of the
//! thread and go back to the cache of whichever thread frees them. 64 bytes each; in real builds their hooks and places
//! lie elsewhere.
//!
//! | state | set by | means |
//! |---|---|---|
//! | `OPEN` | the owner, before it enters | nothing has happened, or whoever has popped it is not through yet |
//! | `DONE` | the peer | it happened, and what was handed over is in the payload; or the owner had left |
//! | `REDIRECT` | whoever gives a node back | as `DONE`, but what was handed over is (or will be) in the node that the payload names |
//! | `LOOK` | who closes, or unlocks | nothing happened; the node is the owner's again, who is to look for itself |
//! | `GONE` | the owner, unless it is given a value | the owner has left while a peer had the node |
//! | `PARTED` | the first of two | of a branch that has lost, and that a peer has popped: one of the two is through with it |
//!
//! # Who may touch what
//!
//! 1. *Popped is claimed.* A node has an owner, who alone has it before it enters and after it has left. Entering shares
//!    it: whoever takes it out of the word by a compare-exchange has it until it stores one of the peer's states. For a plain
//!    operation that is all: a plain store says that it happened.
//! 2. A *branch* of a select names the select's [anchor](super::anchor). Who pops it has still to claim the anchor by it;
//!    otherwise it gives the node back, through the anchor, or parts with it.
//! 3. The *parker* and the payload belong to whoever has the node. The owner may compare the parker with another waker at any time,
//!    and put that one *beside* it ([`Waiter::park_beside`]), in a node that holds nothing else: then that one counts.
//! 4. A node is freed by its owner; by whoever it was given back to; by the second of the two that part with it; if it waits to
//!    be granted or told something, by the peer that finds it GONE; or, where the owner leaves it in limbo (a send, a wait for a
//!    close or a change), by anybody after the peer is through with it.

use std::mem::MaybeUninit;
use std::ptr::{self, NonNull};
use std::task::Waker;

use super::anchor::{Advance, AnchorRef, By, Kept};
use super::cache::{self, Kind};
use super::parcel::{INLINE, Parcel};
use super::place::{At, Place};
use super::word::{TWO, Word};
use crate::prim::{self, AtomicPtr, AtomicU32, Life, Ordering, UnsafeCell, WakerSlot};
use crate::task::error::{call, discard};

/// How far an operation that waits has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct State(u32);

impl State {
    pub(crate) const OPEN: State = State(0);
    pub(crate) const DONE: State = State(1);
    pub(crate) const REDIRECT: State = State(2);
    pub(crate) const LOOK: State = State(3);
    const GONE: State = State(4);
    const PARTED: State = State(5);
}

#[repr(C, align(64))]
pub(crate) struct Node {
    state: AtomicU32,
    /// The name of this memory, for good.
    pub(super) number: u32,
    /// Null, or the anchor of a branch's select, or the node with the waker that counts (`BESIDE`).
    link: AtomicPtr<()>,
    parker: WakerSlot,
    aside: UnsafeCell<Aside>,
    /// Of a free node: the next one on its thread's stack.
    pub(super) payload: UnsafeCell<[MaybeUninit<usize>; INLINE]>,
    pub(super) life: Life,
}

const _: () = assert!(crate::prim::MODEL || size_of::<Node>() == 64);

/// Of `link`: it is a node with a waker.
const BESIDE: usize = 1;

/// What only nodes of one kind have.
#[derive(Clone, Copy)]
union Aside {
    branch: Branch,
    /// Of a plain node, except in models: where its place is. (To find that by the number takes three loads, each of which waits
    /// for the one before.)
    place: *const Place,
}

/// What a branch node says of itself.
#[derive(Clone, Copy)]
struct Branch {
    index: u32,
    /// The next of the nodes that were given back. Before that, of one that matches either side: the node of the other branch.
    next: u32,
}

/// An address of a node, with no right attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeRef(NonNull<Node>);

// SAFETY: an address; who uses it needs a right.
unsafe impl Send for NodeRef {}
// SAFETY: as above.
unsafe impl Sync for NodeRef {}

// SAFETY: its cells are whoever's the node is; what they hold (wakers, values) is Send where the operation is.
unsafe impl Send for Node {}

impl Node {
    /// The node `index` of the pool of this kind, with its place.
    pub(super) fn create(index: usize, kind: usize, place: *const Place) -> Node {
        Node {
            state: AtomicU32::new(State::OPEN.0),
            number: (index << 1 | kind) as u32,
            link: AtomicPtr::new(ptr::null_mut()),
            parker: WakerSlot::new(),
            aside: UnsafeCell::new(Aside { place }),
            payload: UnsafeCell::new([MaybeUninit::uninit(); INLINE]),
            life: Life::new(),
        }
    }

    /// Which one it is in its pool.
    pub(super) fn index(&self) -> usize {
        self.number() >> 1
    }

    #[inline]
    pub(super) fn number(&self) -> usize {
        self.number as usize
    }
}

impl NodeRef {
    /// # Safety
    /// The caller has a right to the node of that number.
    #[inline]
    pub(super) unsafe fn named(number: usize) -> NodeRef {
        // SAFETY: the caller's promise.
        NodeRef(unsafe { cache::named(number) })
    }

    /// By a right to the node that the caller has.
    #[inline]
    fn node(&self) -> &Node {
        // SAFETY: whoever has a right to a node may look at it; who has none has no business here.
        let node = unsafe { self.0.as_ref() };
        node.life.touch();
        node
    }

    pub(crate) fn address(self) -> *const () {
        self.0.as_ptr().cast()
    }

    /// # Safety
    /// It came from [`NodeRef::address`].
    pub(crate) unsafe fn from_address(address: *const ()) -> NodeRef {
        // SAFETY: the caller's promise.
        NodeRef(unsafe { NonNull::new_unchecked(address.cast_mut().cast()) })
    }

    #[inline]
    pub(crate) fn number(self) -> usize {
        self.node().number as usize
    }

    #[inline]
    pub(super) fn place<'a>(self) -> &'a Place {
        if prim::MODEL || self.is_branch() {
            return cache::place(self.number());
        }
        // SAFETY: `create` has put it there, and the pool's places are never freed.
        self.node().aside.with(|aside| unsafe { &*(*aside).place })
    }

    /// The version at which it was handed over, more or less: see [`place`](super::place). For whoever has popped it, or has it
    /// since it was given back.
    pub(crate) fn stamp(self) -> u32 {
        self.place().stay().stamp()
    }

    #[inline]
    pub(crate) fn state(self) -> State {
        // ORDERING: Acquire pairs with `finish`: what was handed over is there.
        State(self.node().state.load(Ordering::Acquire))
    }

    /// The peer's last step: it no longer has the node.
    #[inline]
    fn finish(self, state: State) {
        let release = order!(Release, "done_relaxed");
        let word = &self.node().state;
        if prim::MODEL {
            // loom would let this store and the owner's swap each miss the other.
            word.swap(state.0, release);
            return;
        }
        // ORDERING: Release pairs with `state`.
        word.store(state.0, release);
    }

    /// The same, unless the owner has left.
    fn tell(self, state: State) -> bool {
        let told = &self.node().state;
        // ORDERING: AcqRel: what the owner did before it left is seen.
        told.compare_exchange(State::OPEN.0, state.0, Ordering::AcqRel, Ordering::Acquire).is_ok()
    }

    /// The owner leaves it, perhaps in a peer's hands; gives what it was.
    pub(crate) fn leave(self) -> State {
        // ORDERING: AcqRel: what a peer did is seen, or is told.
        State(self.node().state.swap(State::GONE.0, Ordering::AcqRel))
    }

    /// One of the two that have the node of a lost branch is through with it. True: the other one was before.
    fn part(self) -> bool {
        // ORDERING: AcqRel: the second one sees all that the first did.
        self.node().state.swap(State::PARTED.0, Ordering::AcqRel) == State::PARTED.0
    }

    /// # Safety
    /// The payload is the caller's, and empty.
    #[inline]
    pub(crate) unsafe fn put<T>(self, parcel: Parcel<T>) {
        // SAFETY: the caller's promise.
        self.node().payload.with_mut(|payload| unsafe { payload.cast::<Parcel<T>>().write(parcel) });
    }

    /// # Safety
    /// The payload is the caller's, and holds a `T`, which is gone then.
    #[inline]
    pub(crate) unsafe fn take<T>(self) -> Parcel<T> {
        // SAFETY: `put` has written it.
        self.node().payload.with(|payload| unsafe { payload.cast::<Parcel<T>>().read() })
    }

    /// Whether it is linked to nothing: no branch, and with no waker but its own.
    #[inline]
    fn is_bare(self) -> bool {
        self.node().link.load(Ordering::Relaxed).is_null()
    }

    /// The anchor, of a branch.
    #[inline]
    fn anchor(self) -> Option<AnchorRef> {
        let link = self.node().link.load(Ordering::Acquire);
        // SAFETY: a node that is not freed keeps its anchor.
        (!link.is_null() && link.addr() & BESIDE == 0).then(|| unsafe { AnchorRef::from_address(link) })
    }

    /// The node with the waker that counts.
    fn beside(self) -> Option<NodeRef> {
        // ORDERING: Acquire pairs with `set_beside`.
        let link = self.node().link.load(Ordering::Acquire);
        let beside = link.map_addr(|address| address & !BESIDE).cast::<Node>();
        (link.addr() & BESIDE != 0).then(|| NodeRef(NonNull::new(beside).expect("it is a node's address")))
    }

    /// Has the waker of that node count.
    fn set_beside(self, node: NodeRef) {
        let beside = node.0.as_ptr().cast::<()>().map_addr(|address| address | BESIDE);
        // ORDERING: Release pairs with `beside`.
        self.node().link.store(beside, Ordering::Release);
    }

    pub(super) fn index(self) -> usize {
        debug_assert!(self.is_branch());
        // SAFETY: the owner has written it before it entered, and nobody changes it.
        self.node().aside.with(|aside| unsafe { (*aside).branch.index }) as usize
    }

    #[inline(always)]
    fn is_branch(self) -> bool {
        Kind::of(self.number()) == Kind::Branch
    }

    /// # Safety
    /// The node is a branch's, and the caller's.
    pub(super) unsafe fn next(self) -> u32 {
        debug_assert!(self.is_branch());
        // SAFETY: the caller's promise.
        self.node().aside.with(|aside| unsafe { (*aside).branch.next })
    }

    /// # Safety
    /// As for [`NodeRef::next`].
    pub(super) unsafe fn set_next(self, next: u32) {
        debug_assert!(self.is_branch());
        // SAFETY: the caller's promise.
        self.node().aside.with_mut(|aside| unsafe { (*aside).branch.next = next });
    }

    /// Frees a node. If a waker is left in it that nobody will call any more, a panic of its drop ends here.
    ///
    /// # Safety
    /// The node is the caller's alone, and nothing is in its payload.
    #[inline]
    pub(super) unsafe fn free(self) {
        let node = self.node();
        if node.parker.is_empty() && self.is_bare() {
            // SAFETY: the caller's promise.
            unsafe { cache::free(self.0) };
        } else {
            // SAFETY: as above.
            unsafe { self.free_filled() };
        }
    }

    /// # Safety
    /// As for [`NodeRef::free`].
    #[inline(never)]
    unsafe fn free_filled(self) {
        let (anchor, beside, parker) = (self.anchor(), self.beside(), self.node().parker.take());
        self.node().link.store(ptr::null_mut(), Ordering::Relaxed);
        // SAFETY: the caller's promise; the anchor has counted this node, and the other node was this one's.
        unsafe {
            cache::free(self.0);
            if let Some(anchor) = anchor {
                anchor.release();
            }
            if let Some(beside) = beside {
                beside.free();
            }
        }
        discard(parker);
    }
}

/// The owner's right to a node. (What its node holds, wakers and values, is Send where the operation is.)
pub(crate) struct Waiter(NodeRef);

impl Waiter {
    /// A node for a plain operation, parked with `waker`.
    #[inline]
    pub(crate) fn plain(waker: Waker) -> Waiter {
        let node = Waiter::open(Kind::Plain);
        node.0.node().parker.set(waker);
        node
    }

    /// A node in no line, with what was received already, and that place in the order of hand-overs.
    pub(crate) fn holding<T>(parcel: Parcel<T>, stamp: u32) -> Waiter {
        let node = Waiter::open(Kind::Plain);
        node.0.place().begin(At::Word, stamp);
        // SAFETY: a new node.
        unsafe { node.0.put(parcel) };
        node.0.finish(State::DONE);
        node
    }

    /// A node for a branch.
    #[inline]
    pub(crate) fn branch(anchor: AnchorRef, index: usize) -> Waiter {
        let node = Waiter::open(Kind::Branch);
        node.0.node().link.store(anchor.address(), Ordering::Relaxed);
        // (There are fewer branches than nodes.)
        let branch = Branch { index: index as u32, next: 0 };
        // SAFETY: a new node.
        node.0.node().aside.with_mut(|aside| unsafe { (*aside).branch = branch });
        node
    }

    #[inline]
    fn open(kind: Kind) -> Waiter {
        let node = NodeRef(cache::alloc(kind));
        // ORDERING: Relaxed: nobody else has it.
        node.node().state.store(State::OPEN.0, Ordering::Relaxed);
        Waiter(node)
    }

    /// The owner's right to a node of a future, or one that came back.
    pub(crate) fn of(node: NodeRef) -> Waiter {
        Waiter(node)
    }

    #[inline]
    pub(crate) fn as_ref(&self) -> NodeRef {
        self.0
    }

    #[inline]
    pub(crate) fn number(&self) -> usize {
        self.0.number()
    }

    /// Whether `waker` is the one that the operation is parked with.
    pub(crate) fn parked_by(&self, waker: &Waker) -> bool {
        self.0.beside().unwrap_or(self.0).node().parker.is(waker)
    }

    /// Puts a waker beside the one that the operation is parked with, and has `touch` change the word while the operation still
    /// waits: a peer that pops it later sees the new waker, and the others go. False: a peer has it, with any of its wakers, which
    /// stay as long as the node.
    pub(crate) fn park_beside(&self, waker: Waker, touch: impl FnOnce() -> bool) -> bool {
        let (before, beside) = (self.0.beside(), Waiter::plain(waker).0);
        self.0.set_beside(beside);
        let waits = touch();
        if waits {
            let first = self.0.node().parker.take();
            before.map(Waiter).into_iter().for_each(Waiter::free);
            call(|| drop(first));
        } else if let Some(before) = before {
            beside.set_beside(before);
        }
        waits
    }

    /// Says which other branch's node is matched by this one.
    pub(crate) fn pair(&self, other: &Waiter) {
        // SAFETY: the node is its owner's, or stands in the word on one side only, where nobody looks at this.
        unsafe { self.0.set_next(other.number() as u32) };
    }

    /// A peer has popped `pair`, and claimed the select by this node, the other branch's, which takes the place of `pair` in the
    /// order of hand-overs. The peer says the same, now or soon: that stamp, and in no line.
    pub(crate) fn takes_place_of(&self, pair: &Waiter) {
        if !bug!("partner_is_not_stamped") {
            self.0.place().begin(At::Word, pair.0.stamp());
        }
    }

    /// Frees a node that is the owner's alone; the payload is empty.
    #[inline]
    pub(crate) fn free(self) {
        // SAFETY: consumes the owner's right.
        unsafe { self.0.free() };
    }

    /// The same for one that has a waker, most likely.
    #[inline(always)]
    pub(crate) fn free_parked(self) {
        let parker = self.0.node().parker.take();
        // SAFETY: as above; the waker is out.
        unsafe { if self.0.is_bare() { cache::free(self.0.0) } else { self.0.free_filled() } }
        call(|| drop(parker));
    }

    /// Which branch's node it is.
    pub(crate) fn index(&self) -> usize {
        self.0.index()
    }

    /// Forgets the anchor, which does not count this node.
    #[inline]
    pub(crate) fn detach(&self) {
        self.0.node().link.store(ptr::null_mut(), Ordering::Relaxed);
    }

    /// Frees a branch's node that is the owner's alone, and that the anchor does not count.
    #[inline]
    pub(crate) fn free_branch(self) {
        self.detach();
        // SAFETY: consumes the owner's right. The waker is with the anchor.
        unsafe { cache::free(self.0.0) };
    }

    /// Has the select of a node that was popped look for itself at that branch; gives the waker.
    pub(super) fn poke(self) -> Option<Waker> {
        let popped = Popped { node: self.0, word: Word(0) };
        popped.notify().unwrap_or_else(|_| unreachable!("a select's node is not a plain one"))
    }

    /// Gives up the node of a branch that has lost and that a peer has popped.
    pub(crate) fn part(self) {
        if self.0.part() || bug!("owner_does_not_part") {
            self.free();
        }
    }
}

/// What a peer has met that has taken a node out of the word.
#[must_use]
pub(crate) enum Met {
    /// An operation that is the peer's to complete.
    Waiting(Claim),
    /// A select at work, which has its node back, and looks for itself before it waits again.
    AtWork,
    /// It is over, or watches, or it is the peer's own, or a senior that the peer does not dare to claim: as if nobody waited. The
    /// node has been disposed of, or is in the peer's [`By`].
    Nobody,
}

impl Met {
    #[inline(always)]
    fn waiting(self) -> Option<Claim> {
        match self {
            Met::Waiting(claim) => Some(claim),
            Met::AtWork | Met::Nobody => None,
        }
    }
}

/// A node that was taken out of the word; its operation may still have to be claimed.
#[must_use]
pub(crate) struct Popped {
    node: NodeRef,
    /// From which it was taken.
    word: Word,
}

impl Popped {
    /// # Safety
    /// The caller has just taken the node out, by changing the word from `word`.
    #[inline]
    pub(super) unsafe fn new(word: Word) -> Popped {
        // SAFETY: popped is claimed.
        Popped { node: unsafe { NodeRef::named(word.first()) }, word }
    }

    /// Claims the operation, which waits on `side`. `None`: it is [not waiting](Met) as far as the caller is concerned.
    #[inline]
    pub(crate) fn claim(self, side: u64, by: &mut By) -> Option<Claim> {
        if self.node.is_bare() {
            return Some(Claim { node: self.node, is_bare: true });
        }
        self.claim_linked(side, by, |_| {}).waiting()
    }

    /// Puts what the operation is to hear into its node, and claims it. A select at work has that, with its node: see
    /// [`Branch::given_back`](super::operation::Branch::given_back).
    ///
    /// # Safety
    /// The operation hears a `T`, and waits where there is one side. If it asks what came back, it has stowed a `T` that says
    /// nothing.
    pub(crate) unsafe fn tell<T: Copy>(self, told: T, by: &mut By) -> Met {
        // SAFETY: popped is claimed; of a branch that has lost the owner does not look at what it has stowed.
        let put = |node: NodeRef| unsafe { node.put(Parcel::new(told)) };
        if self.node.is_bare() {
            put(self.node);
            return Met::Waiting(Claim { node: self.node, is_bare: true });
        }
        self.claim_linked(0, by, put)
    }

    /// The same for a plain caller. `Err`: nothing is claimed; whom to poke.
    #[inline(always)]
    pub(crate) fn claim_plainly(self, side: u64) -> Result<Claim, Kept> {
        if self.node.is_bare() {
            return Ok(Claim { node: self.node, is_bare: true });
        }
        let mut by = By::plain();
        let claim = self.claim_linked(side, &mut by, |_| {}).waiting();
        let kept = by.take_kept();
        by.end();
        if bug!("met_are_forgotten") {
            std::mem::forget(kept);
            return claim.ok_or_else(Kept::default);
        }
        claim.ok_or(kept)
    }

    /// Claims what is no branch.
    #[inline(always)]
    pub(crate) fn plain(self) -> Claim {
        debug_assert!(!self.word.first_is_branch());
        Claim::of(self.node)
    }

    /// `put`: what is done to the node before the claim, if that is tried.
    #[cold]
    fn claim_linked(self, side: u64, by: &mut By, put: impl FnOnce(NodeRef)) -> Met {
        let node = self.node;
        let Some(anchor) = node.anchor() else {
            put(node);
            return Met::Waiting(Claim::of(node));
        };
        // It is a select that waits on both sides.
        let two = self.word.has(TWO);
        let chosen = if two && self.word.side() != side && !bug!("pair_has_one_side") {
            // SAFETY: popped; the pair was named before TWO was raised. (A number: the other node itself is the peer's only
            // once it has claimed the select by it.)
            unsafe { node.next() as usize }
        } else {
            node.number()
        };
        // Read before the claim: after one by the other node this node is the select's again.
        let stamp = (chosen != node.number()).then(|| node.stamp());
        if !by.may_claim(anchor, node, two) {
            return Met::Nobody;
        }
        put(node);
        match (anchor.claim(node, chosen), stamp) {
            (Advance::Yes, None) => Met::Waiting(Claim::of(node)),
            (Advance::Yes, Some(stamp)) => {
                // SAFETY: claimed.
                let other = unsafe { NodeRef::named(chosen) };
                // It is handed over in this one's place.
                other.place().begin(At::Word, stamp);
                Met::Waiting(Claim::of(other))
            }
            (Advance::GivenBack, _) => Met::AtWork,
            (Advance::Over, _) => {
                self.part();
                Met::Nobody
            }
        }
    }

    /// Looks at what the operation has stowed.
    ///
    /// # Safety
    /// The operation stows a `T`.
    pub(crate) unsafe fn peek<T: Copy>(&self) -> T {
        // SAFETY: popped is claimed; of a branch that has lost the owner only reads it until both have parted with it.
        unsafe { self.node.take() }.open()
    }

    fn part(self) {
        if self.node.part() {
            // SAFETY: both are through with it.
            unsafe { self.node.free() };
        }
    }

    /// Tells the operation to look for itself, unless it is over; gives its waker. `Err`: its owner has left; if it is a send, its
    /// value is the caller's.
    pub(crate) fn notify(self) -> Result<Option<Waker>, Remains> {
        let Some(anchor) = self.node.anchor() else { return Claim::of(self.node).look() };
        anchor.poke(self.node).or_else(|()| {
            self.part();
            Ok(None)
        })
    }
}

/// What is left of an operation whose owner has gone while a peer had it: its node, and the waker that counted.
pub(crate) type Remains = (Claim, Option<Waker>);

/// An operation that is the caller's to complete.
#[must_use]
pub(crate) struct Claim {
    node: NodeRef,
    /// It was seen to be linked to nothing: its waker is in the node. (If its owner has put one beside it since, a peer that has
    /// the node may take either.)
    is_bare: bool,
}

impl Claim {
    #[inline(always)]
    fn of(node: NodeRef) -> Claim {
        Claim { node, is_bare: false }
    }

    /// Takes the value that the operation sends.
    ///
    /// # Safety
    /// The operation sends a `T`.
    #[inline]
    pub(crate) unsafe fn take<T>(&self) -> Parcel<T> {
        // SAFETY: claimed.
        unsafe { self.node.take() }
    }

    /// Gives the operation what it receives.
    ///
    /// # Safety
    /// The operation receives a `T`, or is to be redirected.
    #[inline]
    pub(crate) unsafe fn put<T>(&self, parcel: Parcel<T>) {
        // SAFETY: claimed.
        unsafe { self.node.put(parcel) };
    }

    /// Says that it happened; gives its waker, to be called where foreign code may run.
    #[inline]
    pub(crate) fn done(self) -> Option<Waker> {
        self.finish(State::DONE)
    }

    /// Says that what it receives is, or will be, in the node that it was given.
    pub(super) fn redirect(self, to: NodeRef) -> Option<Waker> {
        // SAFETY: claimed.
        unsafe { self.node.put(Parcel::new(to)) };
        self.finish(State::REDIRECT)
    }

    /// As [`Claim::done`], where it matters that the owner is there to take what it gets. `Err`: it has left.
    pub(crate) fn grant(self) -> Result<Option<Waker>, Remains> {
        self.tell(State::DONE)
    }

    /// Says that nothing happened, after it had been claimed. `Err`: the owner of a send has left, and its value is the
    /// caller's.
    pub(crate) fn look(self) -> Result<Option<Waker>, Remains> {
        self.tell(State::LOOK)
    }

    fn tell(self, state: State) -> Result<Option<Waker>, Remains> {
        let waker = self.take_waker();
        if self.node.tell(state) { Ok(waker) } else { Err((self, waker)) }
    }

    /// The owner has left, and the caller has its value: nothing is left to be done.
    pub(crate) fn bury(self) {
        self.node.finish(State::DONE);
    }

    /// The owner has left a node that holds nothing, to be freed by whoever finds out.
    pub(super) fn free(self) {
        // SAFETY: both are through with it: GONE was seen by an exchange that failed.
        unsafe { self.node.free() };
    }

    #[inline]
    fn finish(self, state: State) -> Option<Waker> {
        let waker = self.take_waker();
        self.node.finish(state);
        waker
    }

    #[inline]
    fn take_waker(&self) -> Option<Waker> {
        if self.is_bare || self.node.is_bare() {
            return self.node.node().parker.take();
        }
        match self.node.anchor() {
            Some(anchor) => anchor.take_parker(),
            None => self.node.beside().unwrap_or(self.node).node().parker.take(),
        }
    }
}
