//! The anchor of a select: the one word that decides which of its branches happens.
//!
//! ```text
//!   | winner, or the first of those given back | POKING | state |
//! ```
//!
//! | state | a peer that has popped branch node x | the owner |
//! |---|---|---|
//! | OPEN | → CLAIMED(x); or, to have it look for itself, → BUSY(x) POKING, takes the parker, wakes | → BUSY to act, or to poll foreign futures; → GONE |
//! | BUSY(list) | → BUSY(x::list): x is the owner's again; the peer goes on as if nobody waited there | one swap → OPEN, the list is to be looked at; → GONE if it has won |
//! | CLAIMED(x) | another node y: over, parts with y | waits for x to be DONE; never undone |
//! | GONE | over, parts | – |
//!
//! *POKING*: the peer that has moved OPEN to BUSY still has the parker in its hands; an owner that is polled meanwhile
//! looks again later. Others add to the list as usual.
//!
//! Nodes that are given back are chained through their own `next`. (A peer with something to tell leaves it in
//! the node, and need not go on: see [`tell`](super::node::Popped::tell).)
//!
//! # Seniority
//!
//! Two selects that meet could each be busy whenever the other one looks. So only the *senior*, of the lower rank (which began to
//! wait before the other, if one thread has begun both), acts on the other. The junior takes the senior's node out of the word,
//! keeps it until it stands there itself or has won, and then pokes the senior with it ([`By`]). A poked senior finds the junior
//! waiting. A failed attempt therefore means that its target was claimed, or has itself attempted somebody more junior: the most
//! junior of those that attempt for ever would find targets that attempt no more.
//!
//! But a select that polls foreign futures is BUSY and attempts nobody, and what attempts it may be inside one of them: a senior
//! select in there is polled only while the outer one polls, and would find that BUSY for ever. So a select that was given nodes
//! back while it polled foreign futures looks once, afterwards, as if there were no seniority (it *dares*): at the branches of
//! these nodes, or, for a node that stood for both sides, at both. That adds at most one attempt per branch and such poll; between
//! two such polls the rule and its argument hold.
//!
//! # Watching
//!
//! A select that only asks what is ready ([`Anchor::new`]) is never claimed. Whoever pops a node of it, plain or a select, junior
//! or senior, keeps the node, goes on as if nobody waited there, and pokes the watching select when it has itself completed, stands
//! in the line, or gives up. So a value never waits for a select that watches: it goes to whoever waits behind, or where it would
//! go if nobody waited; the watching select looks after that. (Poking at once would be right, too, but could go round for ever:
//! popped, poked, standing again, popped.)
//!
//! # Who frees it
//!
//! The owner, unless some of its nodes are in other hands when it ends: then it counts those first, and whoever frees the
//! last of them frees the anchor.
//!
//! # Orderings
//!
//! A claim acquires what the owner wrote before it opened, and what is handed over is published by the node's state. But the owner
//! acquires a claim, as it then reads the branch from the node: the peer may have written to that node before, when it chained it
//! in vain. A node that is given back is released by the exchange and acquired by the owner's swap.

use std::cell::Cell;
use std::marker::PhantomData;
use std::mem::{self, ManuallyDrop};
use std::ptr::NonNull;
use std::sync::Arc;
use std::task::{RawWakerVTable, Waker};

use super::batch::{Left, wake_all, wake_one};
use super::node::{NodeRef, Remains, Waiter};
use crate::prim::{self, AtomicUsize, Life, Ordering, Rank, WakerSlot};
use crate::task::error::shielded;

const STATE: usize = 0b11;
const OPEN: usize = 0;
const BUSY: usize = 1;
const CLAIMED: usize = 2;
const GONE: usize = 3;
const POKING: usize = 0b100;
const NUMBER_SHIFT: u32 = 3;

/// The owner's right to an anchor: given up when the select is over, and otherwise leaked with its nodes.
pub(crate) struct Anchor(AnchorRef);

/// A pointer to an anchor, for its owner and for whoever holds one of its nodes. (Not a reference: once an operation on the word
/// has let the anchor go, it may be freed before that returns.)
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AnchorRef(NonNull<Body>);

// SAFETY: all that it leads to is atomic, or not written while two threads have it.
unsafe impl Send for AnchorRef {}
// SAFETY: as above.
unsafe impl Sync for AnchorRef {}

struct Body {
    word: AtomicUsize,
    parker: WakerSlot,
    /// Nodes in other hands, once the owner has ended.
    left: AtomicUsize,
    rank: Rank,
    /// Nobody claims it: see the header.
    watches: bool,
    life: Life,
}

/// An anchor that a thread keeps for its next select.
struct Spare(Cell<Option<Anchor>>);

prim::thread_local! {
    static SPARE: Spare = Spare(Cell::new(None));
}

impl Drop for Spare {
    fn drop(&mut self) {
        if let Some(anchor) = self.0.take() {
            anchor.0.destroy();
        }
    }
}

/// What came of a peer's step.
#[must_use]
pub(super) enum Advance {
    Yes,
    GivenBack,
    Over,
}

/// What the owner finds when it wants to act.
#[must_use]
pub(crate) enum Busied {
    /// Nobody can claim it now; with what was given back before.
    Yes(GivenBack),
    /// A peer has claimed it by this branch.
    Claimed(usize),
    /// A peer is about to wake it: later.
    Later,
}

/// Nodes that were given back.
#[derive(Default)]
#[must_use]
pub(crate) struct GivenBack(u32);

impl Iterator for GivenBack {
    type Item = Waiter;

    fn next(&mut self) -> Option<Waiter> {
        if self.0 == 0 {
            return None;
        }
        // SAFETY: what is given back is the owner's.
        unsafe {
            let node = NodeRef::named(self.0 as usize);
            self.0 = node.next();
            Some(Waiter::of(node))
        }
    }
}

impl Anchor {
    /// An open anchor. `watches`: of a select that only watches.
    #[inline]
    pub(crate) fn new(waker: Waker, watches: bool) -> Anchor {
        let anchor = SPARE.try_with(|spare| spare.0.take()).ok().flatten().unwrap_or_else(|| {
            let body = Box::new(Body {
                word: AtomicUsize::new(OPEN),
                parker: WakerSlot::new(),
                left: AtomicUsize::new(0),
                rank: Rank::default(),
                watches: false,
                life: Life::new(),
            });
            Anchor(AnchorRef(NonNull::from(Box::leak(body))))
        });
        // SAFETY: nobody else has it.
        let body = unsafe { &mut *anchor.0.0.as_ptr() };
        (body.rank, body.watches) = (Rank::new(), watches);
        let body = anchor.0.body();
        body.word.store(OPEN, Ordering::Relaxed);
        body.left.store(0, Ordering::Relaxed);
        body.parker.set(waker);
        anchor
    }

    pub(crate) fn as_ref(&self) -> AnchorRef {
        self.0
    }
}

impl AnchorRef {
    #[inline(always)]
    fn body<'a>(self) -> &'a Body {
        // SAFETY: its owner is the caller, or counts the node that the caller has, or the visit.
        unsafe { self.0.as_ref() }
    }

    /// Whether nobody claims it.
    pub(crate) fn watches(self) -> bool {
        self.body().watches
    }

    /// The lower, the more senior.
    fn rank(self) -> u64 {
        self.body().rank.number()
    }

    /// The address for [`AnchorRef::from_address`].
    #[inline(always)]
    pub(super) fn address(self) -> *mut () {
        self.0.as_ptr().cast()
    }

    /// # Safety
    /// It is the address of an anchor one node of which the caller holds.
    #[inline(always)]
    pub(super) unsafe fn from_address(address: *mut ()) -> AnchorRef {
        // SAFETY: the caller's promise.
        AnchorRef(unsafe { NonNull::new_unchecked(address.cast()) })
    }

    /// A peer that has popped `node` moves OPEN on to `next`, or gives the node back in BUSY.
    #[inline(always)]
    fn advance(self, node: NodeRef, next: impl Fn() -> usize) -> Advance {
        let body = self.body();
        body.life.touch();
        let mut word = body.word.load(Ordering::Relaxed);
        loop {
            let (next, advance) = match word & STATE {
                OPEN => (next(), Advance::Yes),
                BUSY if bug!("claim_ignores_busy") => (next(), Advance::Yes),
                BUSY => (given_back(word, node), Advance::GivenBack),
                _ => return Advance::Over,
            };
            // ORDERING: AcqRel: see the header; and the parker that the owner has put there.
            match body.word.compare_exchange(word, next, Ordering::AcqRel, Ordering::Relaxed) {
                Ok(_) => return advance,
                Err(now) => word = now,
            }
        }
    }

    /// A peer claims the select by `chosen`; it has popped `node`.
    pub(super) fn claim(self, node: NodeRef, chosen: usize) -> Advance {
        self.advance(node, || CLAIMED | chosen << NUMBER_SHIFT)
    }

    /// A peer has the owner look for itself at the branch of `node`; gives the waker. `Err`: it is over.
    pub(super) fn poke(self, node: NodeRef) -> Result<Option<Waker>, ()> {
        match self.advance(node, || given_back(0, node) | POKING) {
            Advance::Yes => {}
            Advance::GivenBack => return Ok(None),
            Advance::Over => return Err(()),
        }
        let body = self.body();
        let waker = body.parker.take();
        body.life.touch();
        // ORDERING: AcqRel: the owner, who puts another one there, comes after this; and if it has ended, all that it did comes
        // before the release.
        if body.word.fetch_and(!POKING, Ordering::AcqRel) & STATE == GONE {
            // SAFETY: the owner has seen POKING as it ended, and counts this visit.
            unsafe { self.release() };
        }
        Ok(waker)
    }

    /// The waker; for whoever has claimed it, or has ended it.
    #[inline]
    pub(crate) fn take_parker(self) -> Option<Waker> {
        self.body().life.touch();
        self.body().parker.take()
    }

    /// Keeps peers from claiming it. For the owner, from OPEN on, or after it was poked.
    pub(crate) fn busy(self) -> Busied {
        // ORDERING: Acquire: what a peer has given back, and that it is through with the parker.
        match self.body().word.compare_exchange(OPEN, BUSY, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => Busied::Yes(GivenBack(0)),
            Err(word) if word & STATE == CLAIMED => Busied::Claimed(claimed_branch(word)),
            Err(word) if word & POKING != 0 && !bug!("busy_ignores_poking") => Busied::Later,
            Err(word) => {
                debug_assert_eq!(word & STATE, BUSY, "a select that has ended does nothing");
                // ORDERING: as in `open`.
                let word = self.body().word.swap(BUSY, Ordering::AcqRel);
                Busied::Yes(GivenBack((word >> NUMBER_SHIFT) as u32))
            }
        }
    }

    /// By which branch a peer has claimed it.
    #[inline]
    pub(crate) fn claimed(self) -> Option<usize> {
        let word = self.body().word.load(Ordering::Acquire);
        (word & STATE == CLAIMED).then(|| claimed_branch(word))
    }

    /// Whether a peer has given nodes back, or is about to.
    pub(crate) fn is_poked(self) -> bool {
        self.body().word.load(Ordering::Acquire) & STATE == BUSY
    }

    /// Lets peers claim it again; gives what was given back meanwhile. For the owner, in BUSY.
    pub(crate) fn open(self) -> GivenBack {
        // ORDERING: AcqRel: the nodes that were given back; and what it wrote is for whoever claims it.
        let word = self.body().word.swap(OPEN, Ordering::AcqRel);
        debug_assert_eq!(word & (STATE | POKING), BUSY, "nobody claims it, or pokes it, in BUSY");
        if bug!("open_forgets_list") {
            return GivenBack(0);
        }
        GivenBack((word >> NUMBER_SHIFT) as u32)
    }

    /// Ends it; gives what was given back, and whether (0 or 1) a peer that pokes it has yet to touch it once more: it counts as
    /// one that has a node. `Err`: a peer has claimed it by this branch.
    pub(crate) fn end(self) -> Result<(GivenBack, usize), usize> {
        let body = self.body();
        // ORDERING: Acquire, of a claim.
        let seen = order!(Acquire, "claim_unseen");
        let ended = body.word.fetch_update(Ordering::AcqRel, seen, |word| {
            debug_assert!(word & STATE != GONE, "it ends once");
            (word & STATE != CLAIMED).then_some(GONE | word & POKING)
        });
        let word = ended.map_err(claimed_branch)?;
        let is_poked = word & POKING != 0 && !bug!("poker_is_not_counted");
        Ok((GivenBack((word >> NUMBER_SHIFT) as u32), is_poked.into()))
    }

    /// Whether `waker` is the one that it is parked with. For the owner.
    pub(crate) fn parked_by(self, waker: &Waker) -> bool {
        self.body().parker.is(waker)
    }

    /// Parks with another waker; gives the one before. For the owner, in BUSY.
    pub(crate) fn park(self, waker: Waker) -> Option<Waker> {
        let before = self.body().parker.take();
        self.body().parker.set(waker);
        before
    }

    /// One of the nodes in other hands was freed.
    ///
    /// # Safety
    /// The owner counts it, now or later.
    pub(super) unsafe fn release(self) {
        // ORDERING: AcqRel: the last one sees all that the others did.
        if self.body().left.fetch_sub(1, Ordering::AcqRel) == 1 {
            // The owner has given it up, and nobody else is left.
            Anchor(self).free();
        }
    }

    /// Of one that nobody has any more.
    fn destroy(self) {
        // SAFETY: it came from a box.
        let body = unsafe { Box::from_raw(self.0.as_ptr()) };
        body.life.end();
        prim::free(body);
    }
}

impl Anchor {
    /// Gives the anchor up while `others` nodes are in other hands; the owner parts with those after this.
    #[inline]
    pub(crate) fn give_up(self, others: usize) {
        if others == 0 || bug!("anchor_freed_early") {
            self.free();
            return;
        }
        let left = &self.0.body().left;
        if bug!("left_is_stored") {
            left.store(others, Ordering::Relaxed);
            return;
        }
        // A peer that pokes may be through already: the count is below zero then. Unless it was the last one, somebody has yet to
        // come, who frees it: the owner parts with the nodes only after this.
        // ORDERING: AcqRel: the last one sees all that the others did.
        if left.fetch_add(others, Ordering::AcqRel).wrapping_add(others) == 0 {
            self.free();
        }
    }

    /// The caller is the last who has it: the owner, or whoever had to take the waker, has done so.
    #[inline]
    fn free(self) {
        debug_assert!(
            self.0.body().parker.is_empty() || bug!("anchor_freed_early"),
            "a waker is not left here"
        );
        let mut anchor = Some(self);
        if prim::reuse() {
            let _ = SPARE.try_with(|spare| anchor = spare.0.replace(anchor.take()));
        }
        if let Some(anchor) = anchor {
            anchor.0.destroy();
        }
    }
}

/// The word with `node` in front of its list.
fn given_back(word: usize, node: NodeRef) -> usize {
    // SAFETY: the caller has popped it.
    unsafe { node.set_next((word >> NUMBER_SHIFT) as u32) };
    BUSY | word & POKING | node.number() << NUMBER_SHIFT
}

/// The branch by which the anchor of this word is claimed; for the owner, who has its node still.
fn claimed_branch(word: usize) -> usize {
    // SAFETY: the owner keeps the nodes of its branches, that of the winner until it has asked for it.
    unsafe { NodeRef::named(word >> NUMBER_SHIFT) }.index()
}

/// Who looks at a primitive, a plain operation or a select, and what it has collected on the way. (Its drop sees to that: so that it
/// costs nothing where there is nothing, the fields have none of their own.)
pub(crate) struct By {
    anchor: Option<AnchorRef>,
    /// Whether it claims seniors, too: see the header.
    dares: bool,
    /// Nodes of more senior selects, and of those that watch, to be poked.
    kept: ManuallyDrop<Kept>,
    /// Nodes of its own that it has popped.
    own: u32,
    /// Whether one of these stood for both sides.
    own_two: bool,
    /// Whom to wake once what was taken is safe.
    wake: ManuallyDrop<Option<Waker>>,
    /// More of those: a send into a large channel may serve several, one after the other. (Empty, and without memory, if there is no
    /// first one.)
    more: ManuallyDrop<Vec<Waker>>,
}

impl By {
    /// A plain operation, or a select that has not begun to wait.
    #[inline]
    pub(crate) fn plain() -> By {
        By::of(None)
    }

    #[inline]
    fn of(anchor: Option<AnchorRef>) -> By {
        let (kept, wake, more) = Default::default();
        By { anchor, dares: false, kept, own: 0, own_two: false, wake, more }
    }

    /// A select that waits, or is busy.
    pub(crate) fn select(anchor: AnchorRef) -> By {
        By::of(Some(anchor))
    }

    /// Whether it need not ask before it acts on others.
    pub(crate) fn is_plain(&self) -> bool {
        self.anchor.is_none()
    }

    /// Whether it may act on the select of the anchor `other`, whose node it has popped; otherwise it has the node now.
    pub(super) fn may_claim(&mut self, other: AnchorRef, node: NodeRef, two: bool) -> bool {
        if other.watches() && !bug!("who_watches_is_claimed") {
            chain(node, &mut self.kept.0);
            return false;
        }
        let Some(anchor) = self.anchor else { return true };
        if anchor == other {
            self.own_two |= two;
            chain(node, &mut self.own);
            return false;
        }
        if other.rank() < anchor.rank() && !self.dares {
            chain(node, &mut self.kept.0);
            return false;
        }
        true
    }

    /// Says whether it claims selects that are more senior.
    pub(crate) fn dare(&mut self, dares: bool) {
        self.dares = dares && !bug!("who_was_missed_dares_not");
    }

    /// Whether it has popped nodes of its own: a select sees to them before it goes on.
    #[inline]
    pub(crate) fn has_own(&self) -> bool {
        self.own != 0
    }

    /// Nodes of its own that it has popped, and whether one of them stood for both sides.
    pub(crate) fn take_own(&mut self) -> (GivenBack, bool) {
        (GivenBack(mem::take(&mut self.own)), mem::take(&mut self.own_two))
    }

    /// Has this waker called in the end.
    #[inline]
    pub(crate) fn wakes(&mut self, waker: Option<Waker>) {
        match waker {
            None => {}
            Some(waker) if self.wake.is_none() => *self.wake = Some(waker),
            Some(waker) => self.more.push(waker),
        }
    }

    /// Has the owner of what was told woken in the end. False: it has gone, and what it has left is with `gone`.
    pub(crate) fn wakes_unless_gone(
        &mut self,
        told: Result<Option<Waker>, Remains>,
        gone: &mut Left,
    ) -> bool {
        let is_there = told.is_ok();
        match told {
            Ok(waker) => self.wakes(waker),
            Err(left) => gone.add(left),
        }
        is_there
    }

    /// Drops foreign data when those are woken.
    pub(crate) fn drops<D>(&mut self, data: Arc<D>) {
        self.wakes(Some(Later::waker(data)));
    }

    /// Takes over whom `other` has to wake and poke.
    #[inline]
    pub(crate) fn adopt(&mut self, other: &mut By) {
        if other.keeps() {
            self.kept.add(other.take_kept());
        }
        if let Some(first) = other.wake.take() {
            self.wakes(Some(first));
            mem::take(&mut *other.more).into_iter().for_each(|waker| self.wakes(Some(waker)));
        }
    }

    /// Whether somebody is to be woken.
    #[inline]
    pub(crate) fn has_wakes(&self) -> bool {
        self.wake.is_some()
    }

    /// The waker to call, if there is just one, and nobody is to be poked.
    #[inline]
    pub(crate) fn take_only(&mut self) -> Option<Waker> {
        if self.more.is_empty() && !self.keeps() { self.wake.take() } else { None }
    }

    /// Wakes whoever is to be woken.
    #[inline]
    pub(crate) fn wake(&mut self) {
        if let Some(first) = self.wake.take() {
            if self.more.is_empty() {
                wake_one(first);
            } else {
                wake_all(std::iter::once(first).chain(mem::take(&mut *self.more)));
            }
        }
    }

    /// Ends it without another look: it holds nothing any more.
    #[inline(always)]
    pub(crate) fn end(self) {
        debug_assert!(self.wake.is_none() && self.more.is_empty() && !self.keeps() && self.own == 0);
        mem::forget(self);
    }

    /// Whether it has nodes of others, to be poked.
    #[inline]
    pub(crate) fn keeps(&self) -> bool {
        self.kept.0 != 0
    }

    /// Wakes and pokes in the middle of something: panics of wakers end here.
    pub(crate) fn end_in_passing(mut self) {
        if self.has_wakes() {
            shielded(|| self.wake());
        }
        if self.keeps() {
            shielded(|| self.poke());
        }
    }

    /// Leaves it to somebody else to poke those whose nodes it has kept.
    #[cold]
    pub(crate) fn take_kept(&mut self) -> Kept {
        mem::take(&mut self.kept)
    }

    /// Pokes those whose nodes it has kept: it stands in their place, or has won, or is over.
    #[inline]
    pub(crate) fn poke(&mut self) {
        if self.keeps() {
            drop(self.take_kept());
        }
    }

    /// Pokes whom it has kept. If foreign code has panicked it wakes whom it was to wake, and gives nodes of its own that it had
    /// popped back to its select, like those of others.
    #[cold]
    #[inline(never)]
    fn end_late(&mut self) {
        self.kept.add(Kept(mem::take(&mut self.own)));
        // Poked also if a waker panics.
        let _kept = self.take_kept();
        shielded(|| self.wake());
    }
}

/// Whoever was not poked by the end of an operation is poked then. Wakers, and nodes of its own, are left only if foreign code has
/// panicked.
impl Drop for By {
    #[inline]
    fn drop(&mut self) {
        if self.wake.is_some() || self.own != 0 || self.keeps() {
            self.end_late();
        }
    }
}

/// Foreign data that goes along with the wakers of an operation, and is dropped where they are called.
struct Later<D>(PhantomData<D>);

impl<D> Later<D> {
    const VTABLE: RawWakerVTable =
        RawWakerVTable::new(|_| unreachable!("it is called once"), Self::call, |_| {}, Self::call);

    /// A waker that stays on this thread, in a [`By`].
    fn waker(data: Arc<D>) -> Waker {
        // SAFETY: the vtable is that of such data, which `call` consumes.
        unsafe { Waker::new(Arc::into_raw(data).cast(), &Self::VTABLE) }
    }

    /// # Safety
    /// Consumes the waker.
    unsafe fn call(data: *const ()) {
        // SAFETY: the caller's promise; `waker` has made it.
        drop(unsafe { Arc::from_raw(data.cast::<D>()) });
    }
}

/// Nodes of others that are to be poked: when this is dropped.
#[derive(Default)]
#[must_use]
pub(crate) struct Kept(u32);

impl Kept {
    /// These, too.
    pub(crate) fn add(&mut self, mut others: Kept) {
        for node in GivenBack(mem::take(&mut others.0)) {
            chain(node.as_ref(), &mut self.0);
        }
    }
}

impl Drop for Kept {
    #[inline]
    fn drop(&mut self) {
        if self.0 != 0 {
            poke(self.0);
        }
    }
}

#[cold]
#[inline(never)]
fn poke(kept: u32) {
    let kept = if bug!("junior_pokes_not") { 0 } else { kept };
    wake_all(GivenBack(kept).filter_map(Waiter::poke));
}

/// Puts a node that was popped in front of a chain.
fn chain(node: NodeRef, first: &mut u32) {
    // SAFETY: the caller has popped it.
    unsafe { node.set_next(*first) };
    *first = node.number() as u32;
}
