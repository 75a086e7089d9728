//! Several branches under one claim word.
//!
//! ```text
//!        first poll                      every later poll
//!   look at each in turn ─ready─▶ win   busy_all ─DONE(b)─▶ win
//!        │ nothing                         │
//!        ▼                                 ▼
//!   anchor: BUSY ◀──────────────────── look at each that is not in its queue, and at foreign ones
//!        │                                 ▲
//!   enter each queue that is not entered   │ refused: a peer came by
//!        ▼                                 │
//!      open ───────────────────────────────┘
//!        │ OPEN
//!        ▼
//!     Pending
//! ```
//!
//! 1. While the select looks, enters and polls foreign futures, its word is BUSY: nobody can complete one branch
//!    while it completes another. A peer that meets it then leaves the mark, has taken that branch's node out of
//!    its queue, and goes on as if nobody waited there; `open` is refused, and the branch is looked at again.
//! 2. Exactly one branch wins: by a peer's claim while the word is OPEN (phase one, when the value moves), or by the
//!    select itself in BUSY. The other branches leave their queues one by one (phase two); a peer that meets one
//!    of them meanwhile finds the word DONE or GONE.
//! 3. Two selects that meet in BUSY look around for each other for a random moment (`Word::claim`); then each leaves
//!    the mark with the other. One whose opening was refused [`REFUSALS`] times in one poll opens all the same, wakes
//!    itself and looks again in its next poll. No select waits for another. (Without the moment three selects on
//!    three rendezvous channels, each on both sides, kept missing each other for good on two busy cores.)
//! 4. A node that a peer has taken out and not given back yet stays that branch's node: the peer may still claim
//!    the select by it. The select looks again, once others have run.
//! 5. Two branches on the two sides of one rendezvous channel never meet: the second one waits as a bystander (see
//!    `wait::queue`).
//!
//! Progress: obstruction-free, but for what the queues say of themselves; a poll makes a bounded number of rounds.

use std::ops::{Index, IndexMut};
use std::task::{Context, Poll};

use super::arm::{Arm, Arms};
use super::order::Order;
use crate::task::{budget, thread};
use crate::wait::{Attempt, Busied, Enter, Hand, NodeRef, Nudged, State, Waiter, look_again};

/// Branches whose registrations need no memory of their own.
const INLINE: usize = 8;

/// How often one poll lets its opening be refused.
const REFUSALS: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Driver {
    anchor: Option<Waiter>,
    branches: Registrations,
    started: bool,
    /// Whether it has branches on both sides of anything.
    two_sided: bool,
}

/// How the branches stand, by index. There is no room for more than a few before all have been looked at: a select that
/// is ready allocates nothing.
#[derive(Debug, Default)]
struct Registrations {
    /// Made when the first one is needed: a select that finds something ready has no use for it.
    first: Option<[Registration; INLINE]>,
    more: Vec<Registration>,
}

/// How one branch stands.
#[derive(Debug, Default)]
struct Registration {
    /// Its node, once it has entered; a peer may have popped it since.
    waiter: Option<Waiter>,
    /// Its place in its line, kept when it has to enter again.
    rank: u64,
    /// There was something when it entered, perhaps claimed but not yet published: it has to be looked at.
    looks: bool,
    /// Whether it ever did: then what it takes need not be what it was notified of.
    looked: bool,
    /// It may have been notified, and owes the next in line to look.
    owes: bool,
    /// It is about to enter its queue.
    enters: bool,
}

impl Registrations {
    fn has_room(&self, count: usize) -> bool {
        count <= INLINE + self.more.len()
    }

    fn make_room(&mut self, count: usize) {
        self.more.resize_with(count.saturating_sub(INLINE), Registration::default);
    }

    /// `None`: there is no room for it yet.
    fn get_mut(&mut self, index: usize) -> Option<&mut Registration> {
        match index.checked_sub(INLINE) {
            None => self.first.as_mut().map(|first| &mut first[index]),
            Some(index) => self.more.get_mut(index),
        }
    }

    fn iter_mut(&mut self) -> impl Iterator<Item = &mut Registration> {
        self.first.iter_mut().flatten().chain(&mut self.more)
    }
}

impl Index<usize> for Registrations {
    type Output = Registration;

    fn index(&self, index: usize) -> &Registration {
        let registration = match index.checked_sub(INLINE) {
            None => self.first.as_ref().map(|first| &first[index]),
            Some(index) => self.more.get(index),
        };
        registration.expect("a select that was started has room")
    }
}

impl IndexMut<usize> for Registrations {
    fn index_mut(&mut self, index: usize) -> &mut Registration {
        self.get_mut(index).expect("a select that was started has room")
    }
}

/// Attempts each; the first that is ready has its outcome in its arm.
fn find_ready(arms: &mut dyn Arms, order: Order, cx: &mut Context<'_>) -> Option<usize> {
    order.indices().find(|&index| !arms.is_off(index) && arms.arm(index).attempt(None, cx).is_ready())
}

/// The first look, at operations with which nothing was begun: if one is ready then that is all there is to do.
/// `Again`: that is not so, or one of them has to be looked at again.
#[inline]
fn look_fresh(arms: &mut dyn Arms, order: Order, cx: &mut Context<'_>) -> Looked {
    if !arms.are_fresh() {
        return Looked::Again;
    }
    let mut looked = Looked::Nothing;
    for index in order.indices() {
        if arms.is_off(index) {
            continue;
        }
        match arms.arm(index).attempt_fresh(cx) {
            Attempt::Ready(()) => return Looked::Won(index),
            Attempt::Wait => {}
            Attempt::Again => looked = Looked::Again,
        }
    }
    looked
}

fn is_two_sided(arms: &mut dyn Arms) -> bool {
    let mut sides = [false; 2];
    for index in 0..arms.count() {
        if let Some((_, side)) = arms.arm(index).place() {
            sides[usize::from(side)] = true;
        }
    }
    sides == [true; 2]
}

/// What a look at one branch, or at all of them, came to.
enum Looked<W = usize> {
    Won(W),
    /// Somebody is in the middle of something: look again once others have run.
    Again,
    Nothing,
}

impl Driver {
    /// Polls the select: `Ready(i)`, arm `i` has its outcome, and no other does.
    pub(super) fn poll(&mut self, arms: &mut dyn Arms, biased: bool, cx: &mut Context<'_>) -> Poll<usize> {
        if !budget::spend() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let order = Order::new(biased, arms.count());
        let mut looked = false;
        if !self.started {
            match look_fresh(arms, order, cx) {
                Looked::Won(winner) => return Poll::Ready(winner),
                Looked::Nothing => looked = true,
                Looked::Again => {}
            }
        }
        match self.poll_branches(arms, order, looked, cx) {
            Looked::Won(winner) => Poll::Ready(winner),
            Looked::Nothing => Poll::Pending,
            Looked::Again => {
                look_again(cx);
                Poll::Pending
            }
        }
    }

    /// Looks at each branch once, and registers none: what is ready now, if anything is.
    pub(super) fn look_once(
        &mut self,
        arms: &mut dyn Arms,
        biased: bool,
        cx: &mut Context<'_>,
    ) -> Option<usize> {
        let order = Order::new(biased, arms.count());
        debug_assert!(self.anchor.is_none(), "a select waits or looks once");
        match look_fresh(arms, order, cx) {
            Looked::Won(winner) => return Some(winner),
            Looked::Nothing => return None,
            Looked::Again => {}
        }
        let winner = self.start(arms, order).or_else(|| find_ready(arms, order, cx));
        match winner {
            Some(winner) => {
                self.win(arms, winner);
            }
            None if cfg!(leno_bug = "default_does_not_retire") => {}
            None => self.retire(arms, None),
        }
        self.reset();
        winner
    }

    /// Whether it was polled, and has neither completed nor left.
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Makes it as new; it has completed, or has left.
    pub(super) fn reset(&mut self) {
        self.started = false;
        self.branches.first = None;
        self.branches.more.iter_mut().for_each(|branch| *branch = Registration::default());
    }

    /// Borrows the operations; the winner, if one of them has completed already.
    fn start(&mut self, arms: &mut dyn Arms, order: Order) -> Option<usize> {
        self.started = true;
        self.branches.first.get_or_insert_default();
        self.two_sided = is_two_sided(arms);
        order.indices().find(|&index| !arms.is_off(index) && arms.arm(index).start())
    }

    /// `looked`: all branches have just been looked at, and none is ready.
    fn poll_branches(
        &mut self,
        arms: &mut dyn Arms,
        order: Order,
        mut looked: bool,
        cx: &mut Context<'_>,
    ) -> Looked {
        if let Some(anchor) = &self.anchor {
            match anchor.word().busy_all() {
                Busied::Yes => {}
                Busied::Done(winner) => return Looked::Won(self.win_done(arms, winner)),
                Busied::Claimed | Busied::Notified => return Looked::Again,
            }
        } else if !self.started {
            if let Some(winner) = self.start(arms, order) {
                return Looked::Won(self.win(arms, winner));
            }
        }
        // A panic of foreign code from here on leaves the word BUSY, which `leave` copes with.
        let mut foreign_too = !looked;
        if !self.branches.has_room(arms.count()) {
            if foreign_too {
                if let Some(winner) = find_ready(arms, order, cx) {
                    return Looked::Won(self.win(arms, winner));
                }
            }
            self.branches.make_room(arms.count());
            foreign_too = false;
        }
        for _ in 0..REFUSALS {
            let mut again = false;
            // Everything that is ready is found before anything is registered.
            for index in order.indices() {
                if arms.is_off(index) || (arms.arm(index).is_foreign() && !foreign_too) {
                    continue;
                }
                let look = if looked { Looked::Nothing } else { self.look(arms, index, cx) };
                match look {
                    Looked::Won(()) => return Looked::Won(self.win(arms, index)),
                    Looked::Again => again = true,
                    Looked::Nothing => self.branches[index].enters = self.is_out(arms, index),
                }
            }
            (foreign_too, looked) = (false, false);
            for index in order.indices() {
                if !std::mem::take(&mut self.branches[index].enters) {
                    continue;
                }
                match self.enter(arms, index, cx) {
                    Looked::Won(()) => return Looked::Won(self.win(arms, index)),
                    Looked::Again => again = true,
                    Looked::Nothing => {}
                }
            }
            let Some(anchor) = &self.anchor else {
                return if again { Looked::Again } else { Looked::Nothing };
            };
            // SAFETY: BUSY.
            let old = unsafe { anchor.park(cx.waker().clone()) };
            let opened = anchor.word().open();
            drop(old);
            if opened {
                return if again { Looked::Again } else { Looked::Nothing };
            }
        }
        if let Some(anchor) = &self.anchor {
            anchor.word().open_anyway();
        }
        Looked::Again
    }

    /// Looks at one branch, if it has to be looked at.
    fn look(&mut self, arms: &mut dyn Arms, index: usize, cx: &mut Context<'_>) -> Looked<()> {
        let own = self.own(arms, index);
        let branch = &mut self.branches[index];
        match branch.waiter.as_ref().map(Waiter::hand) {
            Some(Hand::Queue) if branch.looks || arms.arm(index).is_worth_a_look() => {
                return branch.look_while_waiting(arms.arm(index), own, cx);
            }
            Some(Hand::Queue) => return Looked::Nothing,
            Some(Hand::Peer) if !cfg!(leno_bug = "select_takes_node_back") => return Looked::Again,
            Some(Hand::Peer | Hand::Back) | None => {}
        }
        if let Some(waiter) = branch.waiter.take() {
            arms.arm(index).unstow(&waiter);
            waiter.keep_place();
            (branch.rank, branch.looks, branch.owes) = (waiter.rank(), false, true);
            waiter.free();
        }
        let looked = attempted(arms.arm(index).attempt(own, cx));
        if let Looked::Nothing = looked {
            // What it was notified of is gone.
            branch.owes = false;
        }
        looked
    }

    /// Whether the branch has a queue to enter, and stands in none.
    fn is_out(&self, arms: &mut dyn Arms, index: usize) -> bool {
        self.branches[index].waiter.is_none() && !arms.arm(index).is_foreign()
    }

    /// Has one branch enter its queue.
    fn enter(&mut self, arms: &mut dyn Arms, index: usize, cx: &mut Context<'_>) -> Looked<()> {
        let waiter = Waiter::branch(self.anchor.get_or_insert_with(Waiter::anchor), index);
        let own = self.own(arms, index);
        let branch = &mut self.branches[index];
        waiter.set_rank(branch.rank);
        // SAFETY: a new node.
        match unsafe { arms.arm(index).enter(&waiter, own) } {
            Enter::Ready(()) => {
                waiter.free();
                Looked::Won(())
            }
            Enter::Refused => {
                // Closed, or values are held: the next look says which.
                waiter.free();
                Looked::Again
            }
            Enter::Waits => {
                branch.waiter = Some(waiter);
                Looked::Nothing
            }
            Enter::Look => {
                branch.waiter = Some(waiter);
                branch.looks = true;
                branch.look_while_waiting(arms.arm(index), own, cx)
            }
        }
    }

    /// The anchor, if branch `index` has another one on the other side of its queue.
    fn own(&self, arms: &mut dyn Arms, index: usize) -> Option<NodeRef> {
        let anchor = self.anchor.as_ref().filter(|_| self.two_sided)?;
        let (queue, side) = arms.arm(index).place()?;
        let mut others = (0..arms.count()).filter_map(|other| arms.arm(other).place());
        others.any(|other| other == (queue, !side)).then(|| anchor.as_ref())
    }

    /// The select itself has completed `winner`; the word is BUSY, if there is one.
    fn win(&mut self, arms: &mut dyn Arms, winner: usize) -> usize {
        let parker = self.anchor.as_ref().and_then(Waiter::leave_anchor);
        if let Some(branch) = self.branches.get_mut(winner) {
            // Unless it ever looked, it took what it was notified of.
            branch.owes &= branch.looked;
        }
        self.retire(arms, None);
        drop(parker);
        winner
    }

    /// A peer has completed `winner`.
    fn win_done(&mut self, arms: &mut dyn Arms, winner: usize) -> usize {
        self.take_outcome(arms, winner);
        self.retire(arms, None);
        winner
    }

    /// Takes the outcome of the branch that is DONE; gives the hand-over's rank.
    fn take_outcome(&mut self, arms: &mut dyn Arms, winner: usize) -> u64 {
        let waiter = self.branches[winner].waiter.take().expect("a branch that is done had entered");
        // SAFETY: DONE.
        unsafe { arms.arm(winner).finish(&waiter) };
        let rank = waiter.rank();
        // The peer gave this node up by its last step.
        waiter.free();
        rank
    }

    /// Takes all branches out of their queues, and gives the arms back. A branch that a peer has claimed, and not
    /// completed before the select left, is the peer's with all that is in its node.
    fn retire(&mut self, arms: &mut dyn Arms, claimed: Option<usize>) {
        for (index, branch) in self.branches.iter_mut().enumerate() {
            let Some(waiter) = branch.waiter.take() else { continue };
            if claimed == Some(index) {
                waiter.part();
                continue;
            }
            // SAFETY: it has entered, and is ours.
            let removed = unsafe { arms.arm(index).remove(&waiter) };
            arms.arm(index).unstow(&waiter);
            if removed {
                waiter.free();
            } else {
                branch.owes = true;
                waiter.part();
            }
        }
        if let Some(anchor) = self.anchor.take() {
            anchor.release_anchor();
        }
        for index in 0..arms.count() {
            arms.arm(index).end();
        }
        // Foreign code runs from here on only.
        for (index, branch) in self.branches.iter_mut().enumerate() {
            if std::mem::take(&mut branch.owes) && !cfg!(leno_bug = "select_owes_nothing") {
                arms.arm(index).pass_on();
            }
        }
    }

    /// Leaves. With `patience`, a peer in the middle of its work is waited for, and the branch that has happened is
    /// given; otherwise its outcome is passed on or freed. The peer is waited for as well if an operation was lent:
    /// its owner goes on with it, and has to find it done or undone.
    pub(super) fn leave(&mut self, arms: &mut dyn Arms, patience: bool) -> Option<usize> {
        let Some(anchor) = &self.anchor else {
            if self.started {
                self.retire(arms, None);
            }
            return None;
        };
        let mut pauses = 0;
        // From BUSY on, where a poll that panicked has left it, no peer can claim it: what is found below is what has
        // happened.
        let lent = (0..arms.count()).any(|index| arms.arm(index).is_lent())
            && !cfg!(leno_bug = "lent_drop_leaves_at_once");
        while (patience || lent)
            && !cfg!(leno_bug = "timeout_leaves_at_once")
            && anchor.word().state() != State::Busy
            && anchor.word().busy_all() == Busied::Claimed
        {
            thread::pause(pauses);
            pauses += 1;
        }
        let mut left = anchor.word().state();
        let mut parker = None;
        if !matches!(left, State::Done(_)) {
            (left, parker) = anchor.leave_anchor_from_any();
        }
        match left {
            State::Done(winner) if patience => return Some(self.win_done(arms, winner)),
            State::Done(winner) => {
                let rank = self.take_outcome(arms, winner);
                self.retire(arms, None);
                arms.arm(winner).discard(rank);
            }
            State::Claimed(branch) => self.retire(arms, Some(branch)),
            _ => self.retire(arms, None),
        }
        drop(parker);
        None
    }
}

impl Registration {
    /// Looks at a branch that waits.
    fn look_while_waiting(
        &mut self,
        arm: &mut dyn Arm,
        own: Option<NodeRef>,
        cx: &mut Context<'_>,
    ) -> Looked<()> {
        let looked = match arm.nudge() {
            Nudged::Settled => Looked::Nothing,
            Nudged::Again => Looked::Again,
            Nudged::Attempt => {
                let waiter = self.waiter.as_ref().expect("a branch that waits has a node");
                arm.unstow(waiter);
                let looked = attempted(arm.attempt(own, cx));
                if !matches!(looked, Looked::Won(())) {
                    arm.stow(waiter);
                }
                looked
            }
        };
        self.looks = matches!(looked, Looked::Again);
        self.looked = true;
        looked
    }
}

fn attempted(attempt: Attempt<()>) -> Looked<()> {
    match attempt {
        Attempt::Ready(()) => Looked::Won(()),
        Attempt::Wait => Looked::Nothing,
        Attempt::Again => Looked::Again,
    }
}
