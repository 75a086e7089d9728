//! Asking which branch would not wait now, without completing any: the readiness of a set.
//!
//! ```text
//!   the anchor watches, and is OPEN; each branch enters its line, and leaves it again
//!                          │ all have
//!                          ▼
//!                each branch enters its line ──all do──▶ Pending
//!                          │ one need not wait: then, or before
//!                          ▼
//!                that is the answer; the others leave their lines
//! ```
//!
//! The question is asked by the step that would answer it for a wait: entering the line, which fails if there is
//! something to look at. So it is the same for whatever can wait. At first each is asked alone: one that asks for more than
//! there is would hold up another one that asks the same thing for less.
//!
//! 1. Nobody claims it: a peer that pops one of its nodes goes on as if nobody waited there, and pokes it when done ([`Anchor`]).
//!    So it holds back nothing that others wait for, and has nothing to give back. (But one that asks for several permits, or
//!    places, stands in front of others as long as there are too few for it: it is not popped then.)
//! 2. Poked, it enters the line again, at the back; or need not wait. It is poked after the peer's change, which it sees
//!    then. Polled, it does the same with a lock that is free, as any waiter does.
//! 3. It takes nothing, not even what it was told of (a lock that is free): each branch *passes on* in the end.
//! 4. *Both sides of one rendezvous channel.* Its own node on the other side is no peer: the two go back as one that matches
//!    either side, as in a select; further branches on that channel are covered. If several of its own stand there, they leave one
//!    after the other, until none does. (Both sides of a buffered one wait only while all of its places are reserved. They are not
//!    in each other's way once the send has its place in the queue: so its own receive leaves for that, and comes back.)
//! 5. A foreign future can only be polled: if that completes it the output stays in the arm, for the next select.
//!
//! *Spurious answers.* What it has seen may be gone by the time its answer is looked at. And if somebody else stands on the other
//! side of a rendezvous channel, it is not known whether that one only watches as well, or is just being claimed.
//!
//! Cost: O(1) for each branch, of each poll that does anything; as many locked instructions as a select that waits, and as many for
//! the first question.

use std::collections::HashMap;
use std::task::{Context, Poll};

use super::{Driver, Registration, Stage};
use crate::select::arm::Arms;
use crate::select::order::Order;
use crate::task::thread::Haste;
use crate::task::watch;
use crate::wait::{Anchor, Attempt, Busied, look_again, step};

/// The branches by the numbers of their nodes.
type Numbers = HashMap<usize, usize>;

impl Driver {
    /// As [`poll`](Driver::poll): `Ready(i)`, branch `i` need not wait, and nothing was done with any.
    pub(in crate::select) fn poll_ready(
        &mut self,
        arms: &mut impl Arms,
        biased: bool,
        cx: &mut Context<'_>,
    ) -> Poll<usize> {
        if !self.may_go_on(cx) {
            return Poll::Pending;
        }
        let ready = watch::first_of(|| self.watch(arms, biased, cx).map_or(Poll::Pending, Poll::Ready));
        if ready.is_ready() {
            self.leave(arms, false);
        }
        ready
    }

    /// The same, now or not at all.
    pub(in crate::select) fn look_ready(
        &mut self,
        arms: &mut impl Arms,
        biased: bool,
        cx: &mut Context<'_>,
    ) -> Option<usize> {
        let mut pauses = Haste::default();
        let mark = watch::mark();
        loop {
            let ready = self.ask(arms, Order::new(biased, arms.count()), cx);
            watch::forget_since(mark);
            self.leave(arms, false);
            if ready.is_some() || !super::is_any_unsure(arms) || bug!("ready_unasked") {
                return ready;
            }
            pauses.pause();
        }
    }

    fn watch(&mut self, arms: &mut impl Arms, biased: bool, cx: &mut Context<'_>) -> Option<usize> {
        let order = Order::new(biased, arms.count());
        let foreign = if self.anchor.is_none() {
            if let Some(ready) = self.ask(arms, order, cx) {
                return Some(ready);
            }
            None
        } else {
            self.step_out(arms);
            if !self.take_what_is_told(arms, cx) {
                return None;
            }
            Self::find_done(arms, order, cx)
        };
        let ready = self.enter_all(arms, order, foreign);
        match ready {
            Some(_) => {}
            None if self.is_anything_to_do() => look_again(cx),
            None => super::note(arms),
        }
        ready
    }

    /// Begins, and asks each branch while none of the others stands in its line: what they wait for is not to hold up this one.
    fn ask(&mut self, arms: &mut impl Arms, order: Order, cx: &mut Context<'_>) -> Option<usize> {
        if let Some(over) = self.start(arms, order, false) {
            return Some(over);
        }
        self.branches.make_room(arms.count());
        self.anchor = Some(Anchor::new(cx.waker().clone(), true));
        for (index, branch) in self.branches.iter_mut().enumerate() {
            branch.stage = if arms.is_claimed(index) { Stage::ToDo } else { Stage::Never };
        }
        let foreign = Self::find_done(arms, order, cx);
        for index in order.indices(arms.count()) {
            step();
            if foreign == Some(index) {
                return foreign;
            }
            let mut rounds = 0;
            while self.is_to_do(index) && rounds < super::ROUNDS {
                step();
                if self.register(arms, index) {
                    let node = self.branches[index].node.as_ref().expect("it stands by it");
                    // (If it is told of something just then, it has that to do when it is polled.)
                    if arms.arm(index).leave(node, true) {
                        self.branches[index].stage = Stage::ToDo;
                    }
                    break;
                }
                if arms.arm(index).opposite().is_some() {
                    return Some(index);
                }
                rounds += 1;
            }
        }
        None
    }

    /// A foreign future that is done.
    fn find_done(arms: &mut impl Arms, order: Order, cx: &mut Context<'_>) -> Option<usize> {
        order.indices(arms.count()).find(|&index| {
            arms.is_foreign(index) && matches!(arms.arm(index).attempt(None, cx), Attempt::Ready(()))
        })
    }

    /// What it was poked about is to do. False: later.
    fn take_what_is_told(&mut self, arms: &mut impl Arms, cx: &mut Context<'_>) -> bool {
        let anchor = self.anchor();
        let given_back = match anchor.busy() {
            Busied::Yes(given_back) => given_back,
            Busied::Claimed(_) => unreachable!("nobody claims what only watches"),
            Busied::Later => {
                look_again(cx);
                return false;
            }
        };
        // (First: to clone a waker is foreign code.)
        self.take_back(arms, given_back);
        let before = if anchor.parked_by(cx.waker()) { None } else { anchor.park(cx.waker().clone()) };
        let more = anchor.open();
        self.take_back(arms, more);
        drop(before);
        true
    }

    /// Enters the line with each branch that is to do; gives the first that need not wait. `foreign`: one that does not.
    fn enter_all(&mut self, arms: &mut impl Arms, order: Order, foreign: Option<usize>) -> Option<usize> {
        let mut numbers = None;
        for _ in 0..super::ROUNDS {
            for index in order.indices(arms.count()) {
                step();
                if foreign == Some(index) {
                    return foreign;
                }
                // (Again for each node of its own that turns out to be in the way.)
                while self.is_to_do(index) {
                    step();
                    match self.enter(arms, index, &mut numbers) {
                        Attempt::Ready(()) => return Some(index),
                        Attempt::Wait => {}
                        Attempt::Again => break,
                    }
                }
            }
            if !self.is_anything_to_do() {
                break;
            }
        }
        None
    }

    /// Takes one step with a branch that is to do. `Ready`: there is something to look at; `Wait`: it waits or is covered, or one of
    /// its own that was in the way has left, and it is to do still; `Again`: what was in the way has gone, or a peer has it.
    fn enter(&mut self, arms: &mut impl Arms, index: usize, numbers: &mut Option<Numbers>) -> Attempt<()> {
        if self.register(arms, index) {
            if let (Some(numbers), Some(node)) = (numbers, &self.branches[index].node) {
                numbers.insert(node.number(), index);
            }
            return Attempt::Wait;
        }
        let Some(opposite) = arms.arm(index).opposite() else {
            return if bug!("who_has_gone_is_met") { Attempt::Ready(()) } else { Attempt::Again };
        };
        if opposite == 0 || bug!("who_watches_meets_itself") {
            return Attempt::Ready(());
        }
        let Some(own) = self.stands_by(opposite, numbers) else { return Attempt::Ready(()) };
        if self.branches[own].partner.is_some() {
            self.branches[index].stage = Stage::Covered(own as u32);
            return Attempt::Wait;
        }
        let node = self.branches[own].node.as_ref().expect("it stands by it");
        if !arms.arm(own).leave(node, true) {
            // It is told of that.
            return Attempt::Again;
        }
        self.branches[own].stage = Stage::ToDo;
        if !arms.arm(index).has_both_sides() {
            // It is a receive, which comes back: the send waits for a place, and is not in its way.
            return Attempt::Wait;
        }
        if arms.arm(index).opposite().is_some_and(|number| self.stands_by(number, numbers).is_some()) {
            return Attempt::Wait;
        }
        self.branches[own].partner = Some(index as u32);
        self.branches[index].stage = Stage::Covered(own as u32);
        // (If there is something to look at both are to do again.)
        self.register(arms, own);
        Attempt::Wait
    }

    /// The branch that stands in its line by the node of this number.
    fn stands_by(&self, number: usize, numbers: &mut Option<Numbers>) -> Option<usize> {
        let by_number =
            |(index, branch): (usize, &Registration)| Some((branch.node.as_ref()?.number(), index));
        let numbers =
            numbers.get_or_insert_with(|| self.branches.iter().enumerate().filter_map(by_number).collect());
        let own = numbers.get(&number).copied();
        own.filter(|own| self.branches[*own].stage == Stage::Waits)
    }
}
