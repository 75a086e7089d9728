//! Several branches under one [anchor](crate::wait::Anchor).
//!
//! ```text
//!   first poll:  look at each in turn, nothing registered ──ready──▶ won
//!                          │ nothing
//!                          ▼
//!                the anchor is OPEN; each enters its line ──all do──▶ Pending
//!                          │ there is something in one: that and the next ones are to do
//!                          ▼
//!   every poll:  a branch that had better look, though no peer has told it to, leaves its line (a lock is free), and is to do;
//!                take one that is to do, in order, and stay with it until it is settled:
//!                    OPEN:  enter its line ──────────────────────────────▶ settled
//!                             │ there is something
//!                             ▼
//!                    BUSY:  look ──ready──▶ won          (nobody can claim another one meanwhile)
//!                             │ nothing: open again; what was given back meanwhile is to do, too
//!                             └──────────────▶ (OPEN)
//!                between these, in order, foreign futures are polled, in BUSY, in the first pass over all
//!                nothing to do: OPEN: Pending
//! ```
//!
//! OPEN and BUSY are states of the anchor. A branch that is *to do* is in no line: it is to be looked at, or to enter its line.
//!
//! 1. Exactly one branch wins: by a peer's claim of the anchor while that is OPEN (when the value moves), or by the select
//!    itself in BUSY. Then the others leave their lines one by one; a peer that has popped one of them finds that the
//!    anchor is taken, and parts with it.
//! 2. While OPEN each branch that is not to do stands in its line, or is in the hands of a peer that has yet to come to the
//!    anchor: it may not be registered again. It is the owner's again only if it was given back through the anchor, or if
//!    the owner itself has taken it out of its line.
//! 3. Who meets a more senior select pops it, stands in the line itself, and pokes it then; or claims it nevertheless, if its own
//!    foreign futures have kept somebody off: the rules and their reasons are told at the [anchor](crate::wait::Anchor).
//! 4. *Both sides of one rendezvous channel.* A branch that finds the select's own node on the other side takes that out, and
//!    the two go back as one node that matches either side (`TWO`); further branches on that channel are covered by it. If
//!    several of its own stand there, one behind the other, it takes out all of them first: with the next one in the word
//!    there would be no place for one that matches either side. So a select never meets itself, and each branch costs O(1).
//! 5. A branch whose slot is in somebody's hands stays to do; the select looks again once others have run.
//! 6. The first look is one pass, in one order. Where nothing was begun with any of the operations it begins as a *glance*: it
//!    asks which of them may have something, and tries the first of these, on the shortest way; a longer look begins there. (A
//!    thread does so before it prepares for a wait.)
//!
//! Locked instructions of a select that waits over k receives and is served: k to register, two to be claimed (pop and
//! anchor), k − 1 to leave the others; the waker's clone and call apart.
//!
//! Progress: lock-free, with two exceptions: a receiver that places the value of a select in a full ring (see the channel's ring);
//! and the first poll over an operation that waited when it was lent, or when a select of its set was dropped, which waits for a
//! peer that is just completing it. One poll goes round a bounded number of times for what is given back to it meanwhile.

mod ready;

use std::ops::{Deref, DerefMut};
use std::task::{Context, Poll};

use super::arm::{Arms, Open, Tuple};
use super::order::Order;
use crate::task::{budget, thread, watch};
use crate::wait::{
    Anchor, AnchorRef, Attempt, Busied, By, Foreign, GivenBack, State, Waiter, both, for_all, look_again,
    step,
};

/// Branches whose registrations need no memory of their own.
const INLINE: usize = 8;

/// How often one poll goes round because something was given back meanwhile.
const ROUNDS: u32 = 8;

#[derive(Default)]
pub(super) struct Driver {
    anchor: Option<Anchor>,
    branches: Registrations,
    /// Whether it has begun to borrow the operations from the futures that they are of.
    started: bool,
    /// There was no budget for it to start in the poll before.
    refused: bool,
    /// A poll has begun, and not ended: foreign code has panicked in it, if this is another one.
    polled: bool,
    /// A peer has completed this branch, all but the value that it was redirected to.
    adopted: Option<usize>,
    /// What its first look has come to so far.
    glance: Option<Glance>,
}

/// How the branches stand, by index. There is no room for any before all have been looked at: a select that is ready
/// allocates nothing.
#[derive(Default)]
struct Registrations {
    /// Up to so many are here.
    first: Option<[Registration; INLINE]>,
    /// If there are more, all are here.
    more: Vec<Registration>,
    count: usize,
}

/// How one branch stands.
struct Registration {
    /// Its node, once it had one.
    node: Option<Waiter>,
    stage: Stage,
    /// The branch on the other side for which its node stands, too.
    partner: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// It is off, or a foreign future.
    Never,
    /// To be looked at, or to be registered.
    ToDo,
    /// The same; a peer has told it to look.
    Told,
    /// The same; that peer came while foreign futures were polled, or right after that, and may be within one of them.
    Missed,
    /// In its line, or in a peer's hands.
    Waits,
    /// The node of this branch stands for it, as one of its two sides or beside those.
    Covered(u32),
}

impl Stage {
    fn is_told(self) -> bool {
        matches!(self, Stage::Told | Stage::Missed)
    }

    fn is_to_do(self) -> bool {
        self == Stage::ToDo || self.is_told()
    }
}

impl Registration {
    const NEW: Registration = Registration { node: None, stage: Stage::Never, partner: None };
}

impl Registrations {
    fn make_room(&mut self, count: usize) {
        self.count = count;
        if count <= INLINE {
            self.first = Some([const { Registration::NEW }; INLINE]);
        } else {
            self.more.clear();
            self.more.resize_with(count, || Registration::NEW);
        }
    }
}

impl Deref for Registrations {
    type Target = [Registration];

    #[inline]
    fn deref(&self) -> &[Registration] {
        match &self.first {
            Some(first) if self.count <= INLINE => &first[..self.count],
            _ => &self.more,
        }
    }
}

impl DerefMut for Registrations {
    #[inline]
    fn deref_mut(&mut self) -> &mut [Registration] {
        match &mut self.first {
            Some(first) if self.count <= INLINE => &mut first[..self.count],
            _ => &mut self.more,
        }
    }
}

/// A glance at arms with which nothing was begun that has found none that is through.
#[derive(Clone, Copy)]
struct Glance {
    order: Order,
    /// Where it has ended, and where a longer look goes on, in the same order: so that no arm is favoured. For those before it, or
    /// else for all, there was nothing.
    end: Option<usize>,
}

/// What a look came to.
enum Looked {
    Won(usize),
    /// A peer has claimed the select by this branch.
    Claimed(usize),
    /// Somebody is in the middle of something: look again once others have run.
    Again,
    Nothing,
}

/// Looks at each of the operations, none of which is in a line; or at those from one on. If biased, it takes none behind one that
/// is still undecided.
#[inline]
fn look_at_all(
    arms: &mut impl Arms,
    (order, biased): (Order, bool),
    from: Option<usize>,
    cx: &mut Context<'_>,
) -> Looked {
    let mut looked = Looked::Nothing;
    let is_before = |index: &usize| from.is_some_and(|from| *index != from);
    for index in order.indices(arms.count()).skip_while(is_before) {
        step();
        if arms.is_off(index) {
            continue;
        }
        match arms.arm(index).attempt(None, cx) {
            Attempt::Ready(()) => return Looked::Won(index),
            Attempt::Wait => {}
            Attempt::Again => {
                looked = Looked::Again;
                if biased && !bug!("bias_is_forgotten") {
                    break;
                }
            }
        }
    }
    looked
}

/// Looks at each of them, behind where a glance has found nothing.
#[inline]
fn look_after(
    glance: Option<Glance>,
    arms: &mut impl Arms,
    order: (Order, bool),
    cx: &mut Context<'_>,
) -> Looked {
    match glance {
        Some(Glance { end: None, .. }) => Looked::Nothing,
        _ => look_at_all(arms, order, glance.and_then(|glance| glance.end), cx),
    }
}

/// They are left pending.
#[inline]
fn note(arms: &mut impl Arms) {
    if watch::is_on() {
        for index in 0..arms.count() {
            if !arms.is_off(index) {
                arms.arm(index).note();
            }
        }
    }
}

fn has_foreign(arms: &impl Arms) -> bool {
    (0..arms.count()).any(|index| arms.is_foreign(index))
}

fn is_any_unsure(arms: &mut impl Arms) -> bool {
    (0..arms.count()).any(|index| !arms.is_off(index) && arms.arm(index).is_unsure())
}

/// The branch that had completed when foreign code panicked: no other one may. (If there is an operation, it is that one: the output
/// of a future may be older.)
#[cold]
fn find_through(arms: &mut impl Arms) -> Option<usize> {
    let mut through = None;
    for index in 0..arms.count() {
        if !arms.is_off(index) && arms.arm(index).is_through() {
            if arms.is_claimed(index) {
                return Some(index);
            }
            through = through.or(Some(index));
        }
    }
    through
}

impl Driver {
    /// Polls a select over arms whose types are known: as [`poll`](Self::poll).
    #[inline]
    pub(super) fn poll_tuple<T: Tuple>(
        &mut self,
        arms: &mut T,
        off: u32,
        biased: bool,
        cx: &mut Context<'_>,
    ) -> Poll<usize> {
        if !self.may_go_on(cx) {
            return Poll::Pending;
        }
        if let Some(winner) = self.glance_at_tuple(arms, off, biased) {
            return Poll::Ready(winner);
        }
        arms.open(off, |arms| self.poll_open(arms, biased, cx))
    }

    /// Compiled here, and not with each select.
    fn poll_open(&mut self, arms: &mut Open<'_, '_>, biased: bool, cx: &mut Context<'_>) -> Poll<usize> {
        watch::first_of(|| self.poll_on(arms, biased, cx))
    }

    /// Glances at arms whose types are known, unless it has looked at them before; gives the one that is through. A thread does so
    /// before it prepares for a wait; it polls right after that.
    ///
    /// First it asks which may have something, one after the other: which one is tried first could not be predicted, and that
    /// costs more than to ask. Of several one is chosen by the order.
    #[inline(always)]
    pub(super) fn glance_at_tuple<T: Tuple>(
        &mut self,
        arms: &mut T,
        off: u32,
        biased: bool,
    ) -> Option<usize> {
        if self.has_looked() || !arms.are_fresh(off) {
            return None;
        }
        let not_idle = arms.not_idle(off);
        let are_several = not_idle & not_idle.wrapping_sub(1) != 0;
        let order = are_several.then(|| Order::new(biased, T::COUNT));
        let first = match order {
            Some(order) => order.indices(T::COUNT).find(|index| not_idle & 1 << index != 0),
            None => (not_idle != 0).then(|| not_idle.trailing_zeros() as usize),
        };
        if first.is_some_and(|first| arms.quick(first)) {
            return first;
        }
        let order = order.unwrap_or_else(|| Order::new(biased, T::COUNT));
        self.glance = Some(Glance { order, end: first });
        None
    }

    /// The same of any arms, in order.
    pub(super) fn glance_at(&mut self, arms: &mut impl Arms, biased: bool) -> Option<usize> {
        if self.has_looked() || !arms.are_fresh() {
            return None;
        }
        let order = Order::new(biased, arms.count());
        let end =
            order.indices(arms.count()).find(|index| !arms.is_off(*index) && !arms.arm(*index).is_idle());
        if end.is_some_and(|end| arms.arm(end).quick()) {
            return end;
        }
        self.glance = Some(Glance { order, end });
        None
    }

    /// Whether it has at least glanced, and has neither completed nor left.
    pub(super) fn has_looked(&self) -> bool {
        self.started || self.glance.is_some()
    }

    /// Whether it may go on: it takes one operation from the budget as it starts, or is refused once.
    #[inline(always)]
    pub(super) fn may_go_on(&mut self, cx: &Context<'_>) -> bool {
        self.started || budget::may_begin(&mut self.refused, cx)
    }

    /// Polls the select: `Ready(i)`, arm `i` has its outcome, and no other does.
    pub(super) fn poll(&mut self, arms: &mut impl Arms, biased: bool, cx: &mut Context<'_>) -> Poll<usize> {
        if !self.may_go_on(cx) {
            return Poll::Pending;
        }
        if let Some(winner) = self.glance_at(arms, biased) {
            return Poll::Ready(winner);
        }
        watch::first_of(|| self.poll_on(arms, biased, cx))
    }

    /// The same for one that may go on.
    #[inline(always)]
    fn poll_on(&mut self, arms: &mut impl Arms, biased: bool, cx: &mut Context<'_>) -> Poll<usize> {
        let is_broken = std::mem::replace(&mut self.polled, true);
        let through = if is_broken { self.mend(arms) } else { None };
        let looked = match (self.adopted, through) {
            (Some(_), _) => self.take_adopted(arms).map_or(Looked::Again, Looked::Won),
            (None, Some(winner)) => {
                self.win(arms, winner);
                Looked::Won(winner)
            }
            _ if self.anchor.is_some() => self.look_again(arms, biased, cx),
            _ => self.look_first(arms, biased, cx),
        };
        let winner = match looked {
            Looked::Won(winner) => Some(winner),
            Looked::Claimed(index) => self.take_claimed(arms, index),
            Looked::Again | Looked::Nothing => None,
        };
        if let Some(winner) = winner {
            self.reset();
            return Poll::Ready(winner);
        }
        if let Looked::Nothing = looked {
            note(arms);
        } else {
            look_again(cx);
        }
        self.polled = false;
        Poll::Pending
    }

    /// Looks at each branch once, perhaps after a glance, and registers none: what is ready now, if anything is.
    pub(super) fn look_once(
        &mut self,
        arms: &mut impl Arms,
        biased: bool,
        cx: &mut Context<'_>,
    ) -> Option<usize> {
        debug_assert!(self.anchor.is_none(), "a select waits or looks once");
        // (A future may have left something pending.)
        let mark = watch::mark();
        let (mut glance, order) = self.take_glance(arms, biased);
        let mut winner = self.start(arms, order, glance.is_some());
        let mut pauses = thread::Haste::default();
        while winner.is_none() {
            match look_after(glance.take(), arms, (order, biased), cx) {
                Looked::Won(index) => winner = Some(index),
                Looked::Again if pauses.pause_for_others() || !has_foreign(arms) => {}
                _ if is_any_unsure(arms) => pauses.pause(),
                _ => break,
            }
        }
        watch::forget_since(mark);
        self.reset();
        winner
    }

    /// Whether it was polled, and has neither completed nor left.
    pub(super) fn is_started(&self) -> bool {
        self.started
    }

    /// Makes it as new; it has completed, or has left.
    fn reset(&mut self) {
        debug_assert!(self.anchor.is_none());
        (self.started, self.polled) = (false, false);
        (self.adopted, self.glance) = (None, None);
    }

    /// Ends the waits that the operations began as futures of their own; the winner, if one of them has completed: behind it,
    /// what else has happened stays. `are_fresh`: a glance has found that there are none.
    #[inline]
    fn start(&mut self, arms: &mut impl Arms, order: Order, are_fresh: bool) -> Option<usize> {
        self.started = true;
        // (If the drop of a waker has panicked in here, and nothing has won, the rest are borrowed by the next poll.)
        if are_fresh || arms.are_fresh() {
            return None;
        }
        let mut indices = order.indices(arms.count());
        let winner = indices.find(|&index| !arms.is_off(index) && arms.arm(index).start());
        if winner.is_some() {
            for_all(indices, |index| {
                if !arms.is_off(index) {
                    arms.arm(index).stand_down();
                }
            });
        }
        winner
    }

    /// The glance that a look goes on after, if there was one, and its order.
    #[inline]
    fn take_glance(&mut self, arms: &impl Arms, biased: bool) -> (Option<Glance>, Order) {
        let glance = self.glance.take();
        (glance, glance.map_or_else(|| Order::new(biased, arms.count()), |glance| glance.order))
    }

    #[inline]
    fn look_first(&mut self, arms: &mut impl Arms, biased: bool, cx: &mut Context<'_>) -> Looked {
        let (glance, order) = self.take_glance(arms, biased);
        if let Some(winner) = self.start(arms, order, glance.is_some()) {
            return Looked::Won(winner);
        }
        match look_after(glance, arms, (order, biased), cx) {
            Looked::Nothing => self.begin_to_wait(arms, order, cx),
            // (A lock steps back for one that starves: it would not, if it were looked at again in this poll.)
            looked => looked,
        }
    }

    /// Mends what a panic left; gives the branch that had completed. (It may have been for want of a node, which the next one
    /// needs.)
    #[cold]
    fn mend(&mut self, arms: &mut impl Arms) -> Option<usize> {
        if self.anchor.is_some() {
            for (index, branch) in self.branches.iter_mut().enumerate() {
                if branch.stage == Stage::Never && arms.is_claimed(index) {
                    branch.stage = Stage::ToDo;
                }
            }
        }
        find_through(arms)
    }

    /// Registers the branches, none of which was ready when it was looked at.
    #[inline(never)]
    fn begin_to_wait(&mut self, arms: &mut impl Arms, order: Order, cx: &mut Context<'_>) -> Looked {
        let count = arms.count();
        if !(0..count).any(|index| arms.is_claimed(index)) {
            return Looked::Nothing;
        }
        // (As an operation does.)
        if budget::may_be_endless() && is_any_unsure(arms) && !bug!("selects_unsure") {
            return Looked::Again;
        }
        self.branches.make_room(count);
        let anchor = self.anchor.insert(Anchor::new(cx.waker().clone(), false)).as_ref();
        let mut waits = true;
        for (index, branch) in self.branches.iter_mut().enumerate() {
            step();
            if !arms.is_claimed(index) {
                continue;
            }
            if waits {
                let node = branch.node.insert(Waiter::branch(anchor, index));
                waits = arms.arm(index).enter(node, false);
            }
            branch.stage = if waits { Stage::Waits } else { Stage::ToDo };
        }
        if waits { Looked::Nothing } else { self.go_on(arms, order, cx, None, false) }
    }

    fn look_again(&mut self, arms: &mut impl Arms, biased: bool, cx: &mut Context<'_>) -> Looked {
        let anchor = self.anchor();
        if let Some(index) = anchor.claimed() {
            return Looked::Claimed(index);
        }
        self.step_out(arms);
        let foreign = has_foreign(arms);
        let is_quiet = !foreign && !anchor.is_poked() && !self.is_anything_to_do();
        let parked = anchor.parked_by(cx.waker()) || bug!("select_keeps_its_waker");
        if is_quiet && parked {
            return Looked::Nothing;
        }
        let order = Order::new(biased, arms.count());
        let given_back = match anchor.busy() {
            Busied::Yes(given_back) => given_back,
            Busied::Claimed(index) => return Looked::Claimed(index),
            Busied::Later => return Looked::Again,
        };
        // (First: to clone a waker is foreign code.)
        self.take_back(arms, given_back);
        // Now, not before: who poked it has taken the waker.
        let _before =
            Foreign(if anchor.parked_by(cx.waker()) { None } else { anchor.park(cx.waker().clone()) });
        self.go_on(arms, order, cx, Some(Stage::Told), foreign)
    }

    /// Takes those out of their lines that had better look: who is polled takes a lock that is free, even from behind a waiter that
    /// was told of it and is dead.
    fn step_out(&mut self, arms: &mut impl Arms) {
        for (index, branch) in self.branches.iter_mut().enumerate() {
            step();
            let waiting = branch.node.as_ref().filter(|_| branch.stage == Stage::Waits);
            if waiting.is_some_and(|node| arms.arm(index).step_out(node)) {
                branch.stage = Stage::ToDo;
            }
        }
    }

    /// Of one that waits, or watches.
    fn anchor(&self) -> AnchorRef {
        self.anchor.as_ref().expect("it waits").as_ref()
    }

    fn is_to_do(&self, index: usize) -> bool {
        self.branches[index].stage.is_to_do()
    }

    fn is_anything_to_do(&self) -> bool {
        self.branches.iter().any(|branch| {
            step();
            branch.stage.is_to_do()
        })
    }

    /// Sees to what is to do. A panic of foreign code from here on leaves the anchor BUSY, which `leave` copes with.
    ///
    /// `busy`: it is BUSY, and what was given back when it opens is at that stage. `foreign`: foreign futures are to be polled.
    fn go_on(
        &mut self,
        arms: &mut impl Arms,
        order: Order,
        cx: &mut Context<'_>,
        mut busy: Option<Stage>,
        foreign: bool,
    ) -> Looked {
        let mut by = By::select(self.anchor());
        let looked = self.rounds(arms, order, cx, &mut by, &mut busy, foreign);
        if !matches!(looked, Looked::Won(_)) {
            self.open(arms, &mut busy);
        }
        let (own, _) = by.take_own();
        self.take_back(arms, own);
        by.poke();
        if let Looked::Won(winner) = looked {
            self.win(arms, winner);
        }
        looked
    }

    fn rounds(
        &mut self,
        arms: &mut impl Arms,
        order: Order,
        cx: &mut Context<'_>,
        by: &mut By,
        busy: &mut Option<Stage>,
        mut foreign: bool,
    ) -> Looked {
        'round: for _ in 0..ROUNDS {
            let mut again = false;
            for index in order.indices(arms.count()) {
                step();
                if foreign && arms.is_foreign(index) {
                    if busy.is_none() {
                        match self.anchor().busy() {
                            Busied::Yes(given_back) => {
                                *busy = Some(Stage::Told);
                                if self.take_back(arms, given_back) {
                                    // In order.
                                    continue 'round;
                                }
                            }
                            Busied::Claimed(index) => return Looked::Claimed(index),
                            Busied::Later => return Looked::Again,
                        }
                    }
                    *busy = Some(Stage::Missed);
                    if let Attempt::Ready(()) = arms.arm(index).attempt(Some(by), cx) {
                        return Looked::Won(index);
                    }
                }
                while self.is_to_do(index) {
                    step();
                    match self.see_to(arms, index, cx, by, busy) {
                        Looked::Nothing => {}
                        Looked::Again => {
                            again = true;
                            break;
                        }
                        looked => return looked,
                    }
                }
            }
            foreign = false;
            self.open(arms, busy);
            if again {
                return Looked::Again;
            }
            if !self.is_anything_to_do() {
                return Looked::Nothing;
            }
        }
        Looked::Again
    }

    fn open(&mut self, arms: &mut impl Arms, busy: &mut Option<Stage>) {
        if let Some(stage) = busy.take() {
            self.take_back_as(stage, arms, self.anchor().open(), false);
        }
    }

    /// Takes one step with a branch that is to do.
    fn see_to(
        &mut self,
        arms: &mut impl Arms,
        index: usize,
        cx: &mut Context<'_>,
        by: &mut By,
        busy: &mut Option<Stage>,
    ) -> Looked {
        let stage = self.branches[index].stage;
        if stage.is_told() {
            // Before it stands again: its node says how often that was in vain.
            arms.arm(index).told();
        }
        if busy.is_none() {
            if self.register(arms, index) {
                // It stands: the seniors whose places it has taken are to look.
                by.poke();
                return Looked::Nothing;
            }
            match self.anchor().busy() {
                Busied::Yes(given_back) => {
                    *busy = Some(Stage::Told);
                    self.take_back(arms, given_back);
                }
                Busied::Claimed(index) => return Looked::Claimed(index),
                Busied::Later => return Looked::Again,
            }
        }
        if stage.is_told() {
            self.branches[index].stage = Stage::ToDo;
        }
        by.dare(stage == Stage::Missed);
        let mut opposite = None;
        loop {
            let attempt = arms.arm(index).attempt(Some(by), cx);
            if let Attempt::Ready(()) = attempt {
                return Looked::Won(index);
            }
            // What it has popped of its own is to do: the next branch would take it for its own other side.
            let (own, stood_for_both) = by.take_own();
            let taken = self.take_back_as(Stage::ToDo, arms, own, stood_for_both);
            if let Attempt::Again = attempt {
                return Looked::Again;
            }
            let Some(other) = taken else { break };
            if !arms.arm(index).has_both_sides() {
                // Where there is a buffer one of the two sides is ready: look again, now that it is not in the way.
                return Looked::Nothing;
            }
            // All of them leave: one that stands for both does so alone.
            opposite = Some((other, stood_for_both));
        }
        if let Some((other, stood_for_both)) = opposite {
            // Its own node on the other side: from now on that stands for both.
            if !stood_for_both {
                self.branches[other].partner = Some(index as u32);
            }
            self.branches[index].stage = Stage::Covered(other as u32);
        }
        self.open(arms, busy);
        // At once: otherwise another one of those that have left would stand there again.
        if opposite.is_some_and(|(other, _)| self.register(arms, other)) {
            by.poke();
        }
        Looked::Nothing
    }

    /// Puts a branch into its line. False: there is something to look at.
    fn register(&mut self, arms: &mut impl Arms, index: usize) -> bool {
        let anchor = self.anchor();
        let partner = self.branches[index].partner.map(|partner| partner as usize);
        for index in [Some(index), partner].into_iter().flatten() {
            self.branches[index].node.get_or_insert_with(|| Waiter::branch(anchor, index));
        }
        let node = |index: usize| self.branches[index].node.as_ref().expect("it was made");
        let waits = match partner {
            None => arms.arm(index).enter(node(index), false),
            Some(partner) => {
                arms.arm(partner).lend(node(partner));
                node(index).pair(node(partner));
                let waits = arms.arm(index).enter(node(index), true);
                if !waits {
                    arms.arm(partner).end_loan(node(partner));
                    self.branches[index].partner = None;
                    self.uncover(Stage::ToDo);
                }
                waits
            }
        };
        if waits {
            self.branches[index].stage = Stage::Waits;
        }
        waits
    }

    /// Branches that stand for no others any more: these are to do, as `stage` has it. All at once, as there may be many.
    fn uncover(&mut self, stage: Stage) {
        for index in 0..self.branches.len() {
            step();
            if let Stage::Covered(by) = self.branches[index].stage {
                if self.branches[by as usize].partner.is_none() {
                    self.branches[index].stage = stage;
                }
            }
        }
    }

    /// Takes back nodes that were given back; whether there were any.
    fn take_back(&mut self, arms: &mut impl Arms, given_back: GivenBack) -> bool {
        self.take_back_as(Stage::Told, arms, given_back, false).is_some()
    }

    /// Takes back nodes, given back or popped by the select itself: their branches are at that stage. Gives the last of these.
    /// `pairs`: one that stood for both sides is to stand for them again.
    fn take_back_as(
        &mut self,
        stage: Stage,
        arms: &mut impl Arms,
        nodes: GivenBack,
        pairs: bool,
    ) -> Option<usize> {
        let (mut last, mut uncovers) = (None, false);
        for node in nodes {
            let index = node.index();
            self.end_loans(arms, index);
            arms.arm(index).given_back(&node);
            let branch = &mut self.branches[index];
            branch.stage = stage;
            uncovers |= !pairs && branch.partner.take().is_some();
            last = Some(index);
        }
        if uncovers {
            // (Whoever came by one of the two sides may be met by the other.)
            self.uncover(if bug!("covered_are_not_missed") { Stage::ToDo } else { stage });
        }
        last
    }

    /// What is to be sent by a branch, or by its partner, is with the operation again.
    fn end_loans(&mut self, arms: &mut impl Arms, index: usize) {
        let partner = self.branches[index].partner.map(|partner| partner as usize);
        for index in [Some(index), partner].into_iter().flatten() {
            let node = self.branches[index].node.as_ref().expect("it has waited");
            arms.arm(index).end_loan(node);
        }
    }

    /// The select itself has completed `winner`, in BUSY.
    fn win(&mut self, arms: &mut impl Arms, winner: usize) {
        let end = self.anchor.as_ref().map(|anchor| anchor.as_ref().end().expect("nobody claims it in BUSY"));
        let (given_back, poking) = end.unwrap_or_default();
        self.take_back(arms, given_back);
        self.retire(arms, Some(winner), poking);
    }

    /// A peer has claimed the select by this branch: the winner, if that peer is through.
    fn take_claimed(&mut self, arms: &mut impl Arms, index: usize) -> Option<usize> {
        let is_through = |node: &mut Waiter| node.as_ref().state() != State::OPEN;
        let node = self.branches[index].node.take_if(is_through)?;
        node.detach();
        arms.arm(index).adopt(node);
        self.adopted = Some(index);
        self.retire(arms, Some(index), 0);
        self.take_adopted(arms)
    }

    /// The winner, if its outcome is there.
    fn take_adopted(&mut self, arms: &mut impl Arms) -> Option<usize> {
        self.adopted.take_if(|index| arms.arm(*index).take_adopted())
    }

    /// Takes all branches out of their lines, and gives the operations back. `others`: who will look at the anchor once more.
    fn retire(&mut self, arms: &mut impl Arms, winner: Option<usize>, others: usize) {
        let Some(anchor) = self.anchor.take() else { return };
        // Whoever frees the anchor may be a peer in the middle of its work, to which the waker, foreign code, is not left. (Unless
        // it has that in its hands anyway.)
        let parker = if others == 0 { anchor.as_ref().take_parker() } else { None };
        let watches = anchor.as_ref().watches();
        let mut popped = 0;
        let mut is_told = false;
        for (index, branch) in self.branches.iter_mut().enumerate() {
            step();
            is_told |= branch.stage.is_told();
            if let Some(node) = &branch.node {
                // If the partner was claimed, the node was popped for that, and is nobody's but the select's.
                let is_in_line = branch.stage == Stage::Waits
                    && branch.partner.is_none_or(|partner| Some(partner as usize) != winner);
                if arms.arm(index).leave(node, is_in_line) {
                    branch.node.take().into_iter().for_each(Waiter::free_branch);
                } else {
                    popped += 1;
                }
            }
        }
        anchor.give_up(others + popped);
        if popped > 0 {
            self.branches.iter_mut().filter_map(|branch| branch.node.take()).for_each(Waiter::part);
        }
        // Foreign code that panics runs from here on only.
        let _parker = Foreign(parker);
        if watches {
            // Whatever it was told, it takes nothing.
            if !bug!("who_watches_passes_nothing_on") {
                for_all(0..self.branches.len(), |index| arms.arm(index).pass_on());
            }
        } else if is_told {
            let told = |index: &usize| self.branches[*index].stage.is_told() && winner != Some(*index);
            for_all((0..self.branches.len()).filter(told), |index| arms.arm(index).pass_on());
        }
    }

    /// Leaves. With `patience`, a peer in the middle of its work is waited for, and the branch that has happened is given;
    /// otherwise its operation goes on by itself, and gives back what it was handed.
    pub(super) fn leave(&mut self, arms: &mut impl Arms, patience: bool) -> Option<usize> {
        let happened = self.leave_lines(arms, patience);
        self.reset();
        happened
    }

    fn leave_lines(&mut self, arms: &mut impl Arms, patience: bool) -> Option<usize> {
        let happened = match self.adopted {
            Some(adopted) => adopted,
            None => match self.anchor.as_ref()?.as_ref().end() {
                Err(claimed) => claimed,
                Ok((given_back, poking)) => {
                    self.take_back(arms, given_back);
                    self.retire(arms, None, poking);
                    return None;
                }
            },
        };
        if patience {
            let mut pauses = 0;
            loop {
                let winner = match self.adopted {
                    Some(_) => self.take_adopted(arms),
                    None => self.take_claimed(arms, happened),
                };
                if winner.is_some() {
                    return winner;
                }
                thread::pause(&mut pauses);
            }
        }
        if self.adopted.is_none() {
            self.give_up_claimed(arms, happened);
        }
        self.adopted = None;
        arms.arm(happened).let_go();
        None
    }

    /// The select is dropped, and was started. A branch may have its outcome still: the waker of a peer, called just then, has
    /// panicked.
    pub(super) fn end(&mut self, arms: &mut impl Arms) {
        both(
            (self, arms),
            |(driver, arms)| _ = driver.leave(*arms, false),
            |(_, arms)| for_all(0..arms.count(), |index| arms.arm(index).discard()),
        );
    }

    /// The operation that a peer has claimed goes on by itself.
    fn give_up_claimed(&mut self, arms: &mut impl Arms, index: usize) {
        let node = self.branches[index].node.take().expect("it is claimed by a node of its own");
        // A peer that is not through may still look at the anchor.
        let others = usize::from(node.as_ref().state() == State::OPEN && !bug!("adopted_is_not_counted"));
        if others == 0 {
            node.detach();
        } else if let Some(pair) = self.branches.iter().find(|branch| branch.partner == Some(index as u32)) {
            // What it is handed may be given back before that peer has said in whose place.
            node.takes_place_of(pair.node.as_ref().expect("it stood for both"));
        }
        arms.arm(index).adopt(node);
        self.adopted = Some(index);
        self.retire(arms, Some(index), others);
    }
}

#[cfg(all(test, not(any(leno_loom, leno_shuttle))))]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use crate::channel::{Receiver, Sender};
    use crate::select::Select;
    use crate::wait::steps_of;

    /// How a select of many branches ends.
    #[derive(Clone, Copy, Debug)]
    enum End {
        /// A peer serves the branch in the middle.
        Served,
        Dropped,
        /// It is polled with another waker.
        Moved,
        /// All channels are closed.
        Closed,
    }

    /// The steps of one select over `count` channels, with a receive of each, and perhaps a send.
    fn cost(channels: &[(Sender<usize>, Receiver<usize>)], both_sides: bool, end: End) -> u64 {
        let mut set = Select::new();
        for (tx, rx) in channels {
            set.recv(rx);
            if both_sides {
                set.send(tx, 1);
            }
        }
        let cx = &mut Context::from_waker(Waker::noop());
        let steps = steps_of(|| {
            let mut selecting = pin!(set.select());
            assert!(selecting.as_mut().poll(cx).is_pending(), "nobody else is there");
            match end {
                End::Served => {
                    assert!(channels[channels.len() / 2].0.try_send(2).is_ok(), "it waits");
                    assert!(matches!(selecting.as_mut().poll(cx), Poll::Ready(_)));
                }
                End::Dropped => {}
                End::Closed => {
                    channels.iter().for_each(|(tx, _)| _ = tx.close());
                    assert!(matches!(selecting.as_mut().poll(cx), Poll::Ready(_)));
                }
                End::Moved => {
                    let other = futures_util::task::noop_waker();
                    assert!(selecting.as_mut().poll(&mut Context::from_waker(&other)).is_pending());
                }
            }
        });
        let steps = steps.1;
        drop(set);
        channels.iter().for_each(|(tx, _)| tx.assert_valid());
        steps
    }

    /// S14: the cost of a select grows as the number of its branches, also where it waits on both sides of each channel.
    /// Measured: at most 12.5 steps for each.
    #[test]
    fn a_select_costs_as_much_as_it_has_branches() {
        for both_sides in [false, true] {
            for end in [End::Served, End::Dropped, End::Moved, End::Closed] {
                for count in [8, 64, 512] {
                    let channels = (0..count).map(|_| crate::channel::rendezvous()).collect::<Vec<_>>();
                    let branches = if both_sides { 2 * count } else { count };
                    let steps = cost(&channels, both_sides, end);
                    println!("{branches} branches, both sides: {both_sides}, {end:?}: {steps} steps");
                    assert!(steps <= 14 * branches as u64, "{branches} branches, {end:?}: {steps} steps");
                }
            }
        }
    }
}
