//! One suspended operation and its driver: what every future of a channel or a lock is made of.
//!
//! A primitive says in a [`Branch`] how to look, how to enter its line, and what an outcome means; the driver here does the
//! rest, once for all of them: polling, other wakers, leaving, blocking. `select` drives the same branches by a driver of
//! its own, several under one anchor.
//!
//! ```text
//!             register
//!   fresh ───────────────▶ waits ──────── DONE, REDIRECT ─────▶ over
//!    ▲ │                    │ │                                  ▲
//!    │ └─── attempt ────────┼─┼──────────────────────────────────┤
//!    └──────── LOOK ────────┘ └─ left in a peer's hands (GONE) ──┘
//! ```
//!
//! If nobody gets its outcome (a set is dropped that has only asked for it, a waker panics), the operation is fresh again; a send has
//! sent, and says so to whoever asks next: it is *untold*.
//!
//! A future is the branch and one word more, which is the stage or the node: three words for a send of a word, two for a
//! receive. (With debug assertions, and a word for its [place](crate::task::place), one more.) A node is taken, and a waker cloned,
//! only when a look has said that there is nothing else to do.
//!
//! What a poll leaves pending is noted for the polling fiber ([`watch`]).
//!
//! A poll hardly ever spins: if what it needs is in the hands of a thread not through with it, it wakes its own task and returns,
//! so that others on its executor run first. So it does where something else may end its wait (a limit, a default), and it is not
//! sure that there is nothing. Calls that have to say now whether something happened (`try_` forms, deadlines,
//! `into_inner`) wait for those few instructions.

use std::future::Future;
use std::mem::ManuallyDrop;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::anchor::{By, Kept};
use super::batch::wake_one;
use super::cache;
use super::node::{NodeRef, State, Waiter};
use super::parcel::Tray;
use super::word::Word;
use crate::prim;
use crate::task::budget;
use crate::task::error::shielded;
use crate::task::place::Place;
use crate::task::thread::{self, Haste, Prospects};
use crate::task::watch::{self, Thing};

/// What a look without waiting found.
#[must_use]
pub(crate) enum Attempt<R> {
    Ready(R),
    /// Nothing.
    Wait,
    /// What it needs is in the hands of somebody who is not through with it: look again soon.
    Again,
}

/// What a plain operation has met.
#[must_use]
pub(crate) enum Meeting {
    /// A waiter, to be woken: the operation is through.
    Peer(Option<Waker>),
    /// Nobody, and it has to wait: so says this word.
    Nobody(Word),
    /// Another look is needed; with those whom it has to poke.
    Unclear(Kept),
}

impl<R> Attempt<R> {
    #[inline]
    pub(crate) fn map<S>(self, f: impl FnOnce(R) -> S) -> Attempt<S> {
        match self {
            Attempt::Ready(output) => Attempt::Ready(f(output)),
            Attempt::Wait => Attempt::Wait,
            Attempt::Again => Attempt::Again,
        }
    }
}

/// An operation of one primitive.
pub(crate) trait Branch {
    type Output;

    /// What it receives, if it does.
    type Goods;

    /// Whether it has nothing left to do once it is over: a send.
    const ONCE: bool = false;

    /// Whether there is something to [discard](Self::discard).
    const DISCARDS: bool = Self::ONCE;

    /// What it is called, and what it waits at: for those who look at a fiber that waits. Not to be called once it is over: what it
    /// was about may be gone with its outcome.
    fn wish(&self) -> (&'static str, Thing);

    /// One try, on the shortest way. False: nothing has happened, and what it looked for may be there all the same.
    #[inline(always)]
    fn quick(&mut self, _tray: &mut Tray<Self::Goods>) -> bool {
        false
    }

    /// The word, if one look at it is enough to say that there is nothing. (A select asks this also of one that is over.)
    #[inline(always)]
    fn idle(&self) -> Option<Word> {
        None
    }

    /// One look, on a short way, for a plain operation: for the commonest cases without a buffer, or with one that is full or
    /// empty.
    #[inline(always)]
    fn meet(&mut self, _tray: &mut Tray<Self::Goods>) -> Meeting {
        self.idle().map_or_else(|| Meeting::Unclear(Kept::default()), Meeting::Nobody)
    }

    /// Enters the line, where this word said that there is nothing. False: the node stands nowhere; it has to look again.
    #[inline(always)]
    fn enter(&self, _word: Word, _node: &Waiter) -> bool {
        false
    }

    /// Looks; mostly after the [shortest way](Self::quick) was tried. `Ready`: it is through; the tray stays empty if that is
    /// because of a close.
    fn attempt(&mut self, by: &mut By, tray: &mut Tray<Self::Goods>) -> Attempt<()>;

    /// Moves what is to be sent into the node.
    fn stow(&mut self, _node: NodeRef) {}

    /// Moves it back.
    fn unstow(&mut self, _node: NodeRef) {}

    /// Its select, which was at work, has this node back from a peer: for an operation that hears what that peer had to
    /// [tell](super::node::Popped::tell) it.
    fn given_back(&mut self, _node: NodeRef) {}

    /// Whether it may have found nothing only because somebody is not through with what it has taken. Asked when nothing was found,
    /// before that is reported.
    fn is_unsure(&self) -> bool {
        false
    }

    /// What may happen soon where it waits, for a thread.
    fn prospects(&self) -> Prospects {
        Prospects::default()
    }

    /// Whether both sides can wait where it does.
    fn has_both_sides(&self) -> bool {
        false
    }

    /// What kept it out of the line just now: where both sides can wait, the number of the node that stands there, if that is a
    /// select's; otherwise 0. `None`: nothing keeps it out any more.
    fn opposite(&self) -> Option<usize> {
        Some(0)
    }

    /// Enters the line. `pair`: the node stands for both sides, and may enter only where nobody is. False: there is something
    /// to look at first; the node stands nowhere.
    fn register(&mut self, node: &Waiter, pair: bool) -> bool;

    /// Takes its node out of the line. False: a peer has it.
    fn leave(&mut self, node: &Waiter) -> bool;

    /// Changes the version while the node waits. False: a peer has it.
    fn touch(&self, node: &Waiter) -> bool;

    /// The outcome in a node that is DONE. As here where nobody is handed anything, but all are told to look.
    ///
    /// # Safety
    /// The node is this operation's, and the outcome was not taken yet.
    unsafe fn finish(&mut self, _node: NodeRef, _tray: &mut Tray<Self::Goods>) {
        unreachable!("it is told to look");
    }

    /// The outcome, as users know it, of an operation that is through.
    fn output(&mut self, tray: &mut Tray<Self::Goods>) -> Self::Output;

    /// Leaves a node in a peer's hands, or what that peer has handed over; true: the node came back, and nothing happened.
    /// As here for sends, whose receiver need not ask, and for those told to look; what is given something overrides this.
    fn abandon(&mut self, node: Waiter) -> bool {
        let state = node.as_ref().leave();
        match state {
            State::OPEN => cache::leave_in_limbo(node.as_ref()),
            State::LOOK => {}
            _ => node.free(),
        }
        state == State::LOOK
    }

    // The next four are for locks (and the second for what is heard): wrappers of the branches of channels do not forward them.

    /// Whether it should look when polled while it waits, although nobody has told it to.
    fn is_worth_a_look(&self) -> bool {
        false
    }

    /// Told to look for itself, or told something while its select was at work, it leaves without having looked; or it has
    /// looked, and does not take what it found.
    fn pass_on(&mut self) {}

    /// Told to look for itself, it does so.
    fn told(&mut self) {}

    /// A select that it took part in is over: as if it had not begun to wait, whether it has left its line just now, never stood
    /// there, or a peer has its node.
    #[inline(always)]
    fn lost(&mut self) {}

    /// Notes on the tray when its outcome was taken, just now, should that have to be restored later.
    fn note_taken(&self, _tray: &mut Tray<Self::Goods>) {}

    /// Disposes of an outcome that nobody wants. A send keeps it, to be [retold](Self::retell).
    fn restore(&mut self, tray: &mut Tray<Self::Goods>) {
        tray.clear();
    }

    /// The outcome of a send once more.
    fn retell(&mut self) -> Self::Goods {
        unreachable!("it begins anew")
    }

    /// Drops what is to be sent, or gives up what else a fresh one has.
    fn discard(&mut self) {}

    /// Moves what is to be sent into an `Option` of its type, for an operation that is over. (Nothing, if it was sent, or
    /// sends nothing.)
    ///
    /// # Safety
    /// `to` is the address of one, and the operation was fresh.
    unsafe fn unsent(&mut self, _to: *mut ()) {}
}

/// What it gives, for a branch whose goods are its outcome.
macro_rules! outcome {
    ($output:ty) => {
        type Output = $output;
        type Goods = $output;

        #[inline(always)]
        fn output(&mut self, tray: &mut $crate::wait::Tray<Self::Goods>) -> Self::Output {
            tray.take().expect("what is through has its outcome")
        }
    };
}
pub(crate) use outcome;

/// How it leaves, and parks another waker, for a branch that waits in the line of this primitive, which has one side.
macro_rules! stands {
    ($this:ident => $primitive:expr) => {
        fn leave(&mut $this, node: &$crate::wait::Waiter) -> bool {
            $crate::wait::Primitive::leave($primitive, node)
        }

        fn touch(&$this, node: &$crate::wait::Waiter) -> bool {
            $crate::wait::Primitive::touch($primitive, node)
        }
    };
}
pub(crate) use stands;

/// The same of what is granted: a peer that is not through yet asks whether the owner is still there, and frees the node; what it
/// has granted before that goes back by `release`.
pub(crate) fn abandon_grant(node: Waiter, release: impl FnOnce()) -> bool {
    let state = node.as_ref().leave();
    if state == State::DONE {
        node.free();
        release();
    }
    state == State::LOOK
}

/// Has the task polled again once others have run. (Who has to say now what there is does that sooner.)
pub(crate) fn look_again(cx: &mut Context<'_>) {
    budget::note_undecided();
    cx.waker().wake_by_ref();
    if prim::MODEL {
        // A model's executor may know nobody else to run.
        prim::thread::yield_now();
    }
}

/// How a wait ended that its owner broke off.
#[must_use]
pub(crate) enum Cancelled {
    /// Nothing happened; what was to be sent is in the branch again.
    Undone,
    /// It had happened.
    Done,
    /// It was left to a peer.
    Taken,
}

/// An outcome that goes back where it came from if foreign code panics; the operation may begin anew.
struct Held<'a, B: Branch>(&'a mut Operation<B>, &'a mut Tray<B::Goods>);

impl<B: Branch> Drop for Held<'_, B> {
    #[cold]
    #[inline(never)]
    fn drop(&mut self) {
        // (The wakers that this calls are foreign code, too.)
        shielded(|| self.0.restore(self.1));
    }
}

/// A future over one [`Branch`].
pub(crate) struct Operation<B: Branch> {
    branch: B,
    at: *const (),
    place: Place,
}

// SAFETY: beside the branch there is a right to a node, which is Send.
unsafe impl<B: Branch + Send> Send for Operation<B> {}
// SAFETY: a shared operation gives access to nothing.
unsafe impl<B: Branch + Sync> Sync for Operation<B> {}

/// Not begun, or told to look; or a send that has found its channel closed, until its value is taken. What is to be sent is in the
/// branch.
const FRESH: *const () = ptr::null();
/// The same, but there was no budget for it when it was polled. At its next poll it begins without any, or it never would behind
/// something in the same fiber that always uses it up.
const REFUSED: *const () = ptr::without_provenance(3);
/// Completed.
const OVER: *const () = ptr::without_provenance(1);
/// A select drives it: what is to be sent is in one of the select's nodes.
const LENT: *const () = ptr::without_provenance(2);
/// A send that has completed, though nobody has got its outcome: whoever asks next does.
const UNTOLD: *const () = ptr::without_provenance(4);
/// Beside a node's address: a peer has it, or it is another's, to which this operation was redirected. It is in no line.
const REDIRECTED: usize = 4;

impl<B: Branch> Operation<B> {
    #[inline]
    #[track_caller]
    pub(crate) fn new(branch: B) -> Self {
        Operation::at(Place::here(), branch)
    }

    /// The same, as if begun at `place`.
    #[inline]
    pub(crate) fn at(place: Place, branch: B) -> Self {
        Operation { branch, at: FRESH, place }
    }

    pub(crate) fn is_over(&self) -> bool {
        self.at == OVER
    }

    #[inline]
    pub(crate) fn is_fresh(&self) -> bool {
        matches!(self.at, FRESH | REFUSED)
    }

    /// Ends a fresh operation: what is to be sent is the caller's.
    pub(crate) fn end(&mut self) {
        self.at = OVER;
    }

    /// A send that has failed, and is over, has its value again.
    pub(crate) fn reopen(&mut self, restock: impl FnOnce(&mut B)) {
        debug_assert!(self.is_over());
        restock(&mut self.branch);
        self.at = FRESH;
    }

    /// Whether it may still be in a line.
    pub(crate) fn waits(&self) -> bool {
        !matches!(self.at, FRESH | REFUSED | OVER | LENT | UNTOLD)
    }

    /// Whether a select has it; where nobody borrows it any more that was forgotten.
    pub(crate) fn is_lent(&self) -> bool {
        self.at == LENT
    }

    /// Whether it is in a line, and nothing has happened.
    pub(crate) fn is_open(&self) -> bool {
        self.waits() && self.node().0.as_ref().state() == State::OPEN
    }

    /// Where it was begun.
    #[inline(always)]
    pub(crate) fn place(&self) -> Place {
        self.place
    }

    /// The same for a panic, where it is known. (What the branch is about may be gone by then.)
    #[cold]
    pub(crate) fn begun(&self) -> String {
        self.place.location().map_or_else(String::new, |place| format!(" begun at {place}"))
    }

    /// It is left pending: that is noted of the fiber that polls it.
    #[inline]
    pub(crate) fn note(&self) {
        watch::waits(self.place, || {
            let (operation, thing) = self.branch.wish();
            (operation, watch::Target::Thing(thing))
        });
    }

    pub(crate) fn branch(&self) -> &B {
        &self.branch
    }

    pub(crate) fn branch_mut(&mut self) -> &mut B {
        &mut self.branch
    }

    fn node(&self) -> (Waiter, bool) {
        debug_assert!(self.waits());
        let address = self.at.map_addr(|address| address & !REDIRECTED);
        // SAFETY: neither fresh, nor over, nor lent: `wait_as` has put it there.
        let node = unsafe { NodeRef::from_address(address) };
        (Waiter::of(node), self.at.addr() & REDIRECTED != 0)
    }

    fn wait_as(&mut self, node: NodeRef, redirected: bool) {
        self.at = node.address().map_addr(|address| address | if redirected { REDIRECTED } else { 0 });
    }

    /// For a fresh one that is polled: takes one operation from the budget. False: it has to be polled again, which it has seen to.
    #[inline(always)]
    pub(crate) fn may_begin(&mut self, cx: &Context<'_>) -> bool {
        if self.at == REFUSED {
            self.at = FRESH;
            return true;
        }
        budget::spend() || self.refuse(cx)
    }

    #[cold]
    #[inline(never)]
    fn refuse(&mut self, cx: &Context<'_>) -> bool {
        self.at = REFUSED;
        cx.waker().wake_by_ref();
        false
    }

    /// Takes one operation from the budget at its beginning: one that has waited was counted then.
    #[inline(always)]
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<B::Output> {
        let may_begin = self.at == FRESH && budget::spend();
        if may_begin {
            if let Some(output) = self.fresh_output() {
                return Poll::Ready(output);
            }
        }
        let mut tray = Tray::new();
        let polled = if may_begin { self.poll_fresh(&mut tray, cx) } else { self.poll_begun(&mut tray, cx) };
        polled.map(|()| self.output(&mut tray))
    }

    /// One try, on the shortest way, for a fresh operation. (Its tray is a register or two: its address goes nowhere.)
    #[inline(always)]
    fn fresh_output(&mut self) -> Option<B::Output> {
        let mut tray = Tray::new();
        self.quick(&mut tray).then(|| self.output(&mut tray))
    }

    /// The same, unless it has waited.
    #[inline(always)]
    pub(crate) fn quick_output(&mut self) -> Option<B::Output> {
        if self.at == FRESH { self.fresh_output() } else { None }
    }

    /// The outcome of one that is through.
    #[inline(always)]
    pub(crate) fn output(&mut self, tray: &mut Tray<B::Goods>) -> B::Output {
        self.at = OVER;
        self.branch.output(tray)
    }

    #[inline(never)]
    fn poll_begun(&mut self, tray: &mut Tray<B::Goods>, cx: &mut Context<'_>) -> Poll<()> {
        if self.waits() {
            let (node, _) = self.node();
            if node.as_ref().state() == State::DONE {
                self.take_outcome(node, tray);
                return Poll::Ready(());
            }
        }
        if self.at == FRESH {
            // There was no budget for it.
            self.refuse(cx);
            return Poll::Pending;
        }
        self.poll_again(tray, cx)
    }

    #[inline(never)]
    fn poll_again(&mut self, tray: &mut Tray<B::Goods>, cx: &mut Context<'_>) -> Poll<()> {
        if self.at == REFUSED {
            self.at = FRESH;
            return if self.quick(tray) { Poll::Ready(()) } else { self.poll_fresh(tray, cx) };
        }
        match self.look(tray, cx) {
            Some(polled) => polled,
            None => self.poll_fresh(tray, cx),
        }
    }

    #[inline(never)]
    fn poll_fresh(&mut self, tray: &mut Tray<B::Goods>, cx: &mut Context<'_>) -> Poll<()> {
        debug_assert!(self.at == FRESH);
        let word = match self.branch.meet(tray) {
            Meeting::Peer(waker) => {
                self.end_with(waker, tray);
                return Poll::Ready(());
            }
            Meeting::Unclear(kept) => return self.poll_at_length(kept, tray, cx),
            Meeting::Nobody(word) => word,
        };
        let node = Waiter::plain(cx.waker().clone());
        self.branch.stow(node.as_ref());
        if !self.branch.enter(word, &node) {
            self.take_back(node);
            return self.poll_at_length(Kept::default(), tray, cx);
        }
        self.wait_as(node.as_ref(), false);
        self.note();
        Poll::Pending
    }

    /// The same where the first look was not enough. `kept`: those that watch, to be poked when this is through, or stands in the
    /// line.
    #[inline(never)]
    fn poll_at_length(
        &mut self,
        mut kept: Kept,
        tray: &mut Tray<B::Goods>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        let polled = loop {
            let waits = match self.attempt(tray, &mut kept) {
                Attempt::Ready(()) => break Poll::Ready(()),
                Attempt::Again => false,
                Attempt::Wait => {
                    !budget::may_be_endless() || !self.branch.is_unsure() || bug!("waits_unsure")
                }
            };
            if !waits {
                look_again(cx);
                break Poll::Pending;
            }
            let node = Waiter::plain(cx.waker().clone());
            if self.enter(&node, false) {
                self.wait_as(node.as_ref(), false);
                self.note();
                return Poll::Pending;
            }
            node.free_parked();
        };
        self.holding(tray, || drop(kept));
        polled
    }

    /// Looks at one that may wait still. `None`: it is fresh again.
    fn look(&mut self, tray: &mut Tray<B::Goods>, cx: &mut Context<'_>) -> Option<Poll<()>> {
        assert!(
            self.at != OVER,
            "a leno operation{} was polled, or waited for, after it had completed: make a new one, or check `is_terminated` first",
            self.begun()
        );
        assert!(self.at != LENT, "a leno operation was polled while lent to a select, which was forgotten");
        if self.retell(tray) {
            return Some(Poll::Ready(()));
        }
        match self.progress(Some(tray)) {
            Attempt::Ready(()) => return Some(Poll::Ready(())),
            Attempt::Wait => {
                self.branch.told();
                return None;
            }
            Attempt::Again => {}
        }
        let (node, redirected) = self.node();
        if redirected {
            look_again(cx);
        } else if self.branch.is_worth_a_look() && self.branch.leave(&node) {
            self.take_back(node);
            return None;
        } else {
            if !node.parked_by(cx.waker()) {
                self.park(&node, cx);
            }
            self.note();
        }
        Some(Poll::Pending)
    }

    /// The future has moved to another task, as far as the waker tells.
    #[cold]
    fn park(&mut self, node: &Waiter, cx: &mut Context<'_>) {
        if !node.park_beside(cx.waker().clone(), || self.branch.touch(node)) {
            // A peer has it, and may have either waker: from now on this looks again until the peer is through.
            self.wait_as(node.as_ref(), true);
            look_again(cx);
        }
    }

    #[inline(always)]
    fn take_outcome(&mut self, node: Waiter, tray: &mut Tray<B::Goods>) {
        self.at = OVER;
        // SAFETY: DONE, and over after this.
        unsafe { self.branch.finish(node.as_ref(), tray) };
        node.free();
    }

    /// What it receives is, or will be, in another node.
    fn follow(&mut self, node: Waiter) {
        // SAFETY: REDIRECT says that an address is in there.
        let to = unsafe { node.as_ref().take::<NodeRef>() }.open();
        self.wait_as(to, true);
        node.free();
    }

    /// A peer has taken the waker that counts, and nothing happened.
    #[inline]
    fn take_told(&mut self, node: Waiter) {
        self.branch.unstow(node.as_ref());
        self.at = FRESH;
        node.free();
    }

    /// It stands in no line, or has left it itself: its node, with the waker, is its own, and nothing happened. (The drop of the
    /// waker may panic.)
    #[inline]
    fn take_back(&mut self, node: Waiter) {
        self.branch.unstow(node.as_ref());
        self.at = FRESH;
        node.free_parked();
    }

    /// One try, on the shortest way, for a fresh operation.
    #[inline(always)]
    pub(crate) fn quick(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        let is_through = self.branch.quick(tray);
        if is_through {
            self.at = OVER;
        }
        is_through
    }

    /// One try, for a fresh operation that is waited for later, if at all.
    pub(crate) fn try_once(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        matches!(self.attempt_once(tray), Attempt::Ready(()))
    }

    /// One look of a thread that is about to wait. The shortest way fails at, for one, places that receivers have left and
    /// nobody has collected: so where each side has a word of its own, and something is there, it tries all ways. (In one word
    /// of both sides that is in the peers' way: in small rings a value took up to 1.7 times as long.)
    pub(crate) fn glance(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        let is_worth_more = |prospects: Prospects| prospects.supply > 0 && prospects.is_apart();
        self.quick(tray)
            || is_worth_more(self.branch.prospects())
                && matches!(self.attempt_all_ways(tray), Attempt::Ready(()))
    }

    fn attempt_once(&mut self, tray: &mut Tray<B::Goods>) -> Attempt<()> {
        if self.quick(tray) { Attempt::Ready(()) } else { self.attempt_all_ways(tray) }
    }

    /// The same for one that has tried the shortest way.
    fn attempt_all_ways(&mut self, tray: &mut Tray<B::Goods>) -> Attempt<()> {
        let mut kept = Kept::default();
        let attempt = self.meet_or_attempt(tray, &mut kept);
        self.holding(tray, || drop(kept));
        attempt
    }

    /// Looks, for a fresh operation; the caller has to wake others, by `by`, once the outcome is safe.
    #[inline]
    pub(crate) fn attempt_by(&mut self, by: &mut By, tray: &mut Tray<B::Goods>) -> Attempt<()> {
        assert!(self.is_fresh(), "an operation that is over, or waits, is not attempted");
        let attempt = self.branch.attempt(by, tray);
        // (A send that finds a close has its value still.)
        if matches!(attempt, Attempt::Ready(())) && (tray.is_full() || !B::ONCE) {
            self.at = OVER;
        }
        attempt
    }

    /// Looks, on the short way first, for a call that blocks its thread, or must not wait.
    fn meet_or_attempt(&mut self, tray: &mut Tray<B::Goods>, kept: &mut Kept) -> Attempt<()> {
        match self.branch.meet(tray) {
            Meeting::Nobody(_) => Attempt::Wait,
            Meeting::Peer(waker) => {
                self.end_with(waker, tray);
                Attempt::Ready(())
            }
            Meeting::Unclear(others) => {
                kept.add(others);
                budget::blocking(|| self.attempt(tray, kept))
            }
        }
    }

    /// As [`attempt_by`](Self::attempt_by), for a plain operation; wakes others. If it has to wait, `kept` says whom to poke then.
    fn attempt(&mut self, tray: &mut Tray<B::Goods>, kept: &mut Kept) -> Attempt<()> {
        let mut by = By::plain();
        let attempt = self.attempt_by(&mut by, tray);
        if bug!("kept_is_forgotten") {
            std::mem::forget(by.take_kept());
        }
        if by.keeps() && !matches!(attempt, Attempt::Ready(())) {
            kept.add(by.take_kept());
        }
        if let Some(waker) = by.take_only() {
            self.holding(tray, || wake_one(waker));
        } else if by.has_wakes() || by.keeps() {
            self.wake_holding(&mut by, tray);
        }
        by.end();
        attempt
    }

    /// It has met one that waited, and is through.
    #[inline(always)]
    fn end_with(&mut self, waker: Option<Waker>, tray: &mut Tray<B::Goods>) {
        self.at = OVER;
        if let Some(waker) = waker {
            self.holding(tray, || wake_one(waker));
        }
    }

    /// Calls foreign code; should that panic, the outcome is not lost.
    #[inline(always)]
    fn holding(&mut self, tray: &mut Tray<B::Goods>, foreign: impl FnOnce()) {
        let held = Held(self, tray);
        foreign();
        std::mem::forget(held);
    }

    /// Wakes several, and pokes.
    #[cold]
    #[inline(never)]
    fn wake_holding(&mut self, by: &mut By, tray: &mut Tray<B::Goods>) {
        self.holding(tray, || {
            by.wake();
            by.poke();
        });
    }

    /// Enters the line with a node; what is to be sent is in the node then. False: it is fresh, as before.
    pub(crate) fn enter(&mut self, node: &Waiter, pair: bool) -> bool {
        self.branch.stow(node.as_ref());
        let waits = self.branch.register(node, pair);
        if waits {
            self.at = LENT;
        } else {
            self.branch.unstow(node.as_ref());
        }
        waits
    }

    /// A select moves what is to be sent into a node that does not enter by itself.
    pub(crate) fn lend(&mut self, node: &Waiter) {
        self.branch.stow(node.as_ref());
        self.at = LENT;
    }

    /// A select gives back what is to be sent, if that is in the node: nothing has happened.
    pub(crate) fn end_loan(&mut self, node: &Waiter) {
        if self.at == LENT {
            self.branch.unstow(node.as_ref());
            self.at = FRESH;
        }
    }

    /// Makes an operation that is over fresh again. False: it has nothing left to do.
    pub(crate) fn renew(&mut self) -> bool {
        debug_assert!(!self.waits());
        if !B::ONCE {
            self.at = FRESH;
        }
        !B::ONCE
    }

    /// Drops what a fresh one was to send, or gives up what else it has.
    #[inline]
    pub(crate) fn discard(&mut self) {
        if self.is_fresh() {
            self.at = OVER;
            self.branch.discard();
        }
    }

    /// Disposes of its outcome, which nobody got: it may begin anew. A send has sent, and is untold.
    pub(crate) fn restore(&mut self, tray: &mut Tray<B::Goods>) {
        if self.is_over() && !self.renew() && tray.is_full() && !bug!("nobody_is_told_later") {
            self.at = UNTOLD;
        }
        self.branch.restore(tray);
    }

    /// Whether it is a send that was untold: its outcome is on the tray, and it is over.
    pub(crate) fn retell(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        let is_untold = self.at == UNTOLD;
        if is_untold {
            self.at = OVER;
            tray.put(self.branch.retell());
        }
        is_untold
    }

    /// The same of what was received, and is no longer on a tray.
    pub(crate) fn give_back(&mut self, goods: Option<B::Goods>) {
        let Some(goods) = goods else {
            self.renew();
            return;
        };
        let mut tray = Tray::new();
        tray.put(goods);
        self.restore(&mut tray);
    }

    /// A select was claimed by the branch of this node, and has not got the outcome: the operation goes on with the node, which
    /// is in a peer's hands, and in no line.
    pub(crate) fn adopt(&mut self, node: Waiter) {
        self.wait_as(node.as_ref(), true);
    }

    /// Whether the outcome of an operation that has adopted a node is there, and on the tray. False: not yet, or it is fresh
    /// again.
    pub(crate) fn adopted(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        self.waits() && matches!(self.progress(Some(tray)), Attempt::Ready(()))
    }

    /// What a peer has done with one that waits. `Ready`: its outcome is on the tray, if one is given; `Wait`: it was told to look,
    /// and is fresh again; `Again`: that peer is not through, or there is an outcome, and no tray for it.
    fn progress(&mut self, tray: Option<&mut Tray<B::Goods>>) -> Attempt<()> {
        loop {
            let (node, _) = self.node();
            match node.as_ref().state() {
                State::REDIRECT => self.follow(node),
                State::LOOK => {
                    self.take_told(node);
                    return Attempt::Wait;
                }
                State::OPEN => return Attempt::Again,
                State::DONE => {
                    let Some(tray) = tray else { return Attempt::Again };
                    if !B::ONCE {
                        // When it was handed over, in case that it has to be restored.
                        tray.note(node.as_ref().stamp());
                    }
                    self.take_outcome(node, tray);
                    return Attempt::Ready(());
                }
                state => unreachable!("a waiting operation is {state:?}"),
            }
        }
    }

    /// Leaves. With a tray for what has happened, a peer that is in the middle of its work is waited for: a few instructions,
    /// unless its thread was preempted; `Cancelled::Taken` is not returned then.
    #[inline(always)]
    pub(crate) fn cancel(&mut self, tray: Option<&mut Tray<B::Goods>>) -> Cancelled {
        if !self.waits() || self.leaves() { Cancelled::Undone } else { self.cancel_taken(tray) }
    }

    /// Leaves; gives the branch back. For one that sends nothing.
    pub(crate) fn into_branch(mut self) -> B {
        let _ = self.cancel(None);
        let this = ManuallyDrop::new(self);
        // SAFETY: it is not used any more.
        unsafe { ptr::read(&raw const this.branch) }
    }

    /// Leaves its line, if it stands in one. True: nothing has happened, and it is fresh again. False: a peer has it, or it was
    /// redirected.
    #[inline(always)]
    fn leaves(&mut self) -> bool {
        let (node, redirected) = self.node();
        let leaves = !redirected && self.branch.leave(&node);
        if leaves {
            self.take_back(node);
        }
        leaves
    }

    /// Leaves its line, if it stands there: another one has won. What has happened stays for whoever awaits it. (Whether that is
    /// so, or it was only told to look, its peer may be about to say: that is waited for.)
    pub(crate) fn stand_down(&mut self) {
        if !self.waits() || self.leaves() {
            return;
        }
        let mut pauses = 0;
        loop {
            let is_open = self.is_open() && !bug!("stands_down_at_once");
            match self.progress(None) {
                Attempt::Wait => return self.branch.pass_on(),
                _ if is_open => thread::pause(&mut pauses),
                _ => return,
            }
        }
    }

    /// As [`cancel`](Self::cancel), of one that could not leave.
    #[cold]
    #[inline(never)]
    fn cancel_taken(&mut self, mut tray: Option<&mut Tray<B::Goods>>) -> Cancelled {
        let mut pauses = 0;
        loop {
            match self.progress(tray.as_deref_mut()) {
                Attempt::Ready(()) => return Cancelled::Done,
                Attempt::Again if tray.is_some() => thread::pause(&mut pauses),
                Attempt::Again => break,
                Attempt::Wait => {
                    self.branch.pass_on();
                    return Cancelled::Undone;
                }
            }
        }
        let (node, _) = self.node();
        self.at = OVER;
        let number = node.as_ref();
        if !self.branch.abandon(node) {
            return Cancelled::Taken;
        }
        self.take_told(Waiter::of(number));
        if !bug!("told_as_it_leaves_is_silent") {
            self.branch.pass_on();
        }
        Cancelled::Undone
    }

    /// Looks now; waits for those who are in the middle of something. Whether it is through.
    #[inline]
    pub(crate) fn try_now(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        self.quick(tray) || self.try_now_slowly(tray)
    }

    /// The same for one that has tried the shortest way.
    #[inline(never)]
    pub(crate) fn try_now_slowly(&mut self, tray: &mut Tray<B::Goods>) -> bool {
        let mut pauses = Haste::default();
        let mut kept = Kept::default();
        loop {
            match self.meet_or_attempt(tray, &mut kept) {
                Attempt::Ready(()) => {
                    self.holding(tray, || drop(kept));
                    return true;
                }
                Attempt::Wait if !self.branch.is_unsure() => return false,
                Attempt::Wait | Attempt::Again => pauses.pause(),
            }
        }
    }

    /// Drives the operation on the calling thread until it is through.
    #[inline]
    pub(crate) fn wait(&mut self) -> B::Output {
        self.quick_output().unwrap_or_else(|| self.wait_slowly())
    }

    /// The same, out of the way.
    pub(crate) fn wait_slowly(&mut self) -> B::Output {
        let mut tray = Tray::new();
        self.block_on_to(&mut tray, None);
        self.output(&mut tray)
    }

    /// The same, until a deadline. `None`: the deadline passed and nothing has happened; what was to be sent
    /// is in the branch again.
    pub(crate) fn block_on(&mut self, deadline: Option<Instant>) -> Option<B::Output> {
        let mut tray = Tray::new();
        self.block_on_to(&mut tray, deadline).then(|| self.output(&mut tray))
    }

    /// The same, to a tray; whether it is through.
    pub(crate) fn block_on_to(&mut self, tray: &mut Tray<B::Goods>, deadline: Option<Instant>) -> bool {
        if self.is_fresh() {
            self.at = FRESH;
            // (It need not be sure that there is nothing: it waits.)
            match self.attempt_once(tray) {
                Attempt::Ready(()) => return true,
                Attempt::Again => thread::let_others_run(deadline, || self.branch.prospects().steps()),
                Attempt::Wait => {}
            }
            if thread::glance(deadline, &mut Polled(self, tray)).is_some() {
                return true;
            }
        }
        if thread::block_on_awaited(Pin::new(&mut Polled(self, tray)), deadline).is_some() {
            return true;
        }
        // The time is up: what is there for this operation is taken all the same.
        match self.cancel(Some(tray)) {
            Cancelled::Done => true,
            Cancelled::Taken => false,
            Cancelled::Undone => self.at != OVER && self.try_now(tray),
        }
    }
}

impl<B: Branch> Drop for Operation<B> {
    #[inline]
    fn drop(&mut self) {
        if self.at == FRESH {
            self.discard();
        } else if self.at != OVER {
            self.drop_slowly();
        }
    }
}

impl<B: Branch> Operation<B> {
    #[inline(never)]
    fn drop_slowly(&mut self) {
        /// Also when the drop of a waker panics.
        struct Rest<'a, B: Branch>(&'a mut Operation<B>);
        impl<B: Branch> Drop for Rest<'_, B> {
            fn drop(&mut self) {
                self.0.discard();
            }
        }
        let rest = Rest(self);
        let _ = rest.0.cancel(None);
    }
}

/// An operation as a future, for the thread's loop.
struct Polled<'a, B: Branch>(&'a mut Operation<B>, &'a mut Tray<B::Goods>);

impl<B: Branch> Unpin for Polled<'_, B> {}

impl<B: Branch> Future for Polled<'_, B> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        let Polled(operation, tray) = &mut *self;
        if operation.at == FRESH { operation.poll_fresh(tray, cx) } else { operation.poll_begun(tray, cx) }
    }
}

impl<B: Branch> thread::Awaited for Polled<'_, B> {
    fn look(&mut self) -> Option<()> {
        self.0.glance(self.1).then_some(())
    }

    fn prospects(&self) -> Prospects {
        self.0.branch.prospects()
    }
}
