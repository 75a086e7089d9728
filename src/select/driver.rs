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
//! 3. Two selects that meet in BUSY each leave the mark with the other. One whose opening was refused
//!    [`REFUSALS`] times in one poll opens without looking, wakes itself and returns: the other finds it OPEN. No
//!    select waits for another.
//! 4. A node that a peer has taken out and not given back yet stays that branch's node: the peer may still claim
//!    the select by it. The select looks again, once others have run.
//! 5. Two branches on the two sides of one rendezvous channel never meet: the second one waits as a bystander (see
//!    `wait::queue`).
//!
//! Progress: lock-free but for the queues' own locks; a poll makes a bounded number of rounds.

use std::task::{Context, Poll, Waker};

use super::arm::Arm;
use crate::task::budget;
use crate::wait::{Attempt, Busied, Enter, Hand, NodeRef, Nudged, State, Waiter};

/// Branches of one select.
pub(super) const MOST: usize = 8;

/// How often one poll lets its opening be refused.
const REFUSALS: u32 = 3;

#[derive(Debug, Default)]
pub(super) struct Driver {
    anchor: Option<Waiter>,
    branches: [Registration; MOST],
    /// The place of each branch in its line; kept when it has to enter again.
    ranks: [u64; MOST],
    started: bool,
}

/// How one branch stands.
#[derive(Debug, Default)]
enum Registration {
    /// It has no node.
    #[default]
    Out,
    /// Its node has entered its queue; a peer may have popped it since.
    Entered(Waiter),
}

/// Looks, in this order: from `first` on, and round.
fn order(first: usize, count: usize) -> impl Iterator<Item = usize> {
    (first..count).chain(0..first)
}

impl Driver {
    /// Polls the select: `Ready(i)`, arm `i` has its outcome, and no other does.
    pub(super) fn poll(
        &mut self,
        arms: &mut [&mut dyn Arm],
        first: usize,
        cx: &mut Context<'_>,
    ) -> Poll<usize> {
        debug_assert!(arms.len() <= MOST);
        if !budget::spend() {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        if let Some(anchor) = &self.anchor {
            match anchor.word().busy_all() {
                Busied::Yes => {}
                Busied::Done(winner) => return Poll::Ready(self.win_done(arms, winner)),
                Busied::Claimed | Busied::Notified => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
            }
        } else if !self.started {
            self.started = true;
            if let Some(winner) = order(first, arms.len()).find(|&index| arms[index].start()) {
                return Poll::Ready(winner);
            }
        }
        // A panic of foreign code from here on leaves the word BUSY, which `cancel` copes with.
        let mut again = false;
        let mut foreign_too = true;
        let mut refusals = 0;
        loop {
            for index in order(first, arms.len()) {
                if arms[index].is_foreign() {
                    if !foreign_too {
                        continue;
                    }
                } else if !self.take_back(arms, index, &mut again) {
                    continue;
                }
                let own = self.own(arms, index);
                match arms[index].attempt(own, cx) {
                    Attempt::Ready(()) => return Poll::Ready(self.win(arms, index)),
                    Attempt::Wait => {}
                    Attempt::Again => again = true,
                }
            }
            foreign_too = false;
            match self.register(arms, first, cx, &mut again) {
                Some(Registered::Won(winner)) => return Poll::Ready(self.win(arms, winner)),
                Some(Registered::LookAgain) => continue,
                None => {}
            }
            let Some(anchor) = &self.anchor else { return Poll::Pending };
            let old = park(anchor, cx.waker());
            let mut opened = anchor.word().open();
            if !opened {
                refusals += 1;
                if refusals == REFUSALS {
                    anchor.word().open_anyway();
                    (opened, again) = (true, true);
                }
            }
            drop(old);
            if opened {
                if again {
                    cx.waker().wake_by_ref();
                }
                return Poll::Pending;
            }
        }
    }

    /// Whether the branch waits nowhere, and has to be looked at; a node that a peer gave back is freed.
    fn take_back(&mut self, arms: &mut [&mut dyn Arm], index: usize, again: &mut bool) -> bool {
        let Registration::Entered(waiter) = &self.branches[index] else { return true };
        match waiter.hand() {
            Hand::Queue => return false,
            Hand::Peer => {
                *again = true;
                return false;
            }
            Hand::Back => {}
        }
        if let Registration::Entered(waiter) = std::mem::take(&mut self.branches[index]) {
            arms[index].unstow(&waiter);
            self.ranks[index] = waiter.rank();
            waiter.free();
        }
        true
    }

    /// Enters every queue that is not entered.
    fn register(
        &mut self,
        arms: &mut [&mut dyn Arm],
        first: usize,
        cx: &mut Context<'_>,
        again: &mut bool,
    ) -> Option<Registered> {
        for index in order(first, arms.len()) {
            if arms[index].is_foreign() || matches!(self.branches[index], Registration::Entered(_)) {
                continue;
            }
            let anchor = self.anchor.get_or_insert_with(Waiter::anchor);
            let waiter = Waiter::branch(anchor, index);
            waiter.set_rank(self.ranks[index]);
            let own = self.own(arms, index);
            // SAFETY: a new node.
            match unsafe { arms[index].enter(&waiter, own) } {
                Enter::Ready(()) => {
                    waiter.free();
                    return Some(Registered::Won(index));
                }
                Enter::Refused => {
                    waiter.free();
                    return Some(Registered::LookAgain);
                }
                Enter::Waits => self.branches[index] = Registration::Entered(waiter),
                Enter::Look => {
                    self.branches[index] = Registration::Entered(waiter);
                    match arms[index].nudge() {
                        Nudged::Settled => {}
                        Nudged::Again => *again = true,
                        Nudged::Attempt => match arms[index].attempt(own, cx) {
                            Attempt::Ready(()) => return Some(Registered::Won(index)),
                            Attempt::Wait => {}
                            Attempt::Again => *again = true,
                        },
                    }
                }
            }
        }
        None
    }

    /// The anchor, if branch `index` has another one on the other side of its queue.
    fn own(&self, arms: &mut [&mut dyn Arm], index: usize) -> Option<NodeRef> {
        let anchor = self.anchor.as_ref()?;
        let (queue, side) = arms[index].place()?;
        let mut others = arms.iter_mut().filter_map(|arm| arm.place());
        others.any(|other| other == (queue, !side)).then(|| anchor.as_ref())
    }

    /// The select itself has completed `winner`; the word is BUSY, if there is one.
    fn win(&mut self, arms: &mut [&mut dyn Arm], winner: usize) -> usize {
        if let Some(anchor) = self.anchor.take() {
            let parker = anchor.leave_anchor();
            self.retire(arms, None);
            anchor.release_anchor();
            drop(parker);
        }
        winner
    }

    /// A peer has completed `winner`.
    fn win_done(&mut self, arms: &mut [&mut dyn Arm], winner: usize) -> usize {
        self.take_outcome(arms, winner);
        self.retire(arms, None);
        if let Some(anchor) = self.anchor.take() {
            anchor.release_anchor();
        }
        winner
    }

    /// Takes the outcome of the branch that is DONE; gives the hand-over's rank.
    fn take_outcome(&mut self, arms: &mut [&mut dyn Arm], winner: usize) -> u64 {
        let Registration::Entered(waiter) = std::mem::take(&mut self.branches[winner]) else {
            unreachable!("a branch that is done had entered")
        };
        // SAFETY: DONE.
        unsafe { arms[winner].finish(&waiter) };
        let rank = waiter.rank();
        // The peer gave this node up by its last step.
        waiter.free();
        rank
    }

    /// Takes all branches out of their queues. A branch that a peer has claimed, and not completed before the
    /// select left, is the peer's with all that is in its node.
    fn retire(&mut self, arms: &mut [&mut dyn Arm], claimed: Option<usize>) {
        for (index, branch) in self.branches.iter_mut().enumerate() {
            let Registration::Entered(waiter) = std::mem::take(branch) else { continue };
            if claimed == Some(index) {
                waiter.part();
                continue;
            }
            // SAFETY: it has entered, and is ours.
            let removed = unsafe { arms[index].remove(&waiter) };
            arms[index].unstow(&waiter);
            if removed {
                waiter.free();
            } else {
                waiter.part();
                // Perhaps it was notified.
                arms[index].pass_on();
            }
        }
    }

    /// The select is dropped.
    pub(super) fn cancel(&mut self, arms: &mut [&mut dyn Arm]) {
        let Some(anchor) = self.anchor.take() else { return };
        if let State::Done(winner) = anchor.word().state() {
            let rank = self.take_outcome(arms, winner);
            self.retire(arms, None);
            anchor.release_anchor();
            return arms[winner].discard(rank);
        }
        let (left, parker) = anchor.leave_anchor_from_any();
        match left {
            State::Claimed(branch) => self.retire(arms, Some(branch)),
            State::Done(winner) => {
                let rank = self.take_outcome(arms, winner);
                self.retire(arms, None);
                arms[winner].discard(rank);
            }
            _ => self.retire(arms, None),
        }
        anchor.release_anchor();
        drop(parker);
    }
}

/// What registering came to, if not to waiting.
enum Registered {
    Won(usize),
    LookAgain,
}

/// Parks the select, whose word is BUSY; gives the previous parker back.
fn park(anchor: &Waiter, waker: &Waker) -> Option<Waker> {
    // SAFETY: BUSY.
    unsafe { anchor.park(waker.clone()) }
}
