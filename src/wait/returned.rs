//! What was given back: nodes to which a value was handed, or is about to be, and whose receives were dropped.
//!
//! They are kept in the order of their hand-overs, and taken by the next receives, before all that is in the channel.
//! They are under a lock, which is taken only if a receive was dropped between its hand-over and its next poll, and held for a few
//! moves in a queue: newcomers mostly go to its end, and the first one leaves.

use std::collections::VecDeque;

use super::node::{NodeRef, State};
use super::steps::step;
use super::word::is_before;

#[derive(Default)]
pub(super) struct Returned {
    /// The first one first.
    given: VecDeque<Given>,
    /// How many of them were open when they came.
    unsettled: usize,
}

struct Given {
    node: NodeRef,
    /// Of the node that has the value, as far as was known when it came.
    stamp: u32,
    /// It may have been redirected since, to one whose value is older.
    was_open: bool,
}

impl Returned {
    pub(super) fn insert(&mut self, node: NodeRef) {
        let last = last(node);
        let (stamp, was_open) = (last.stamp(), may_lead_on(last));
        // Stamps wrap: of two that meet here, one that has stood in the word of a ring for 2^26 of its steps is taken for the later
        // one; with blocks, one that was handed its value 2^21 stays (or values taken by dynamic sets) before the other, and has
        // kept it that long.
        let before = self.given.partition_point(|other| !is_before(stamp, other.stamp));
        let at = if bug!("given_back_anew") { self.given.len() } else { before };
        self.unsettled += usize::from(was_open);
        self.given.insert(at, Given { node, stamp, was_open });
    }

    /// The first one that is finished; or a redirected one, replaced here by the one it leads to: so what is given back is never
    /// out of sight, and keeps its place. `Err`: there is neither; whether there are others.
    pub(super) fn take(&mut self) -> Result<NodeRef, bool> {
        if self.unsettled > 0 {
            self.settle();
        }
        let first = |is_it: fn(&Given) -> bool| self.given.iter().position(is_it);
        let redirected = |given: &Given| given.was_open && given.node.state() == State::REDIRECT;
        let moved = if self.unsettled > 0 { first(redirected) } else { None };
        let at = moved.or_else(|| first(|given| given.node.state() != State::OPEN));
        let at = at.ok_or(!self.given.is_empty())?;
        let given = &mut self.given[at];
        let node = given.node;
        // (It may have been redirected since the first look.)
        let next = if node.state() == State::REDIRECT && !bug!("redirect_is_dropped") {
            // SAFETY: REDIRECT: an address. Only who has taken the node reads it.
            Some(unsafe { node.take::<NodeRef>() }.open())
        } else {
            None
        };
        match next {
            Some(next) if !given.was_open => given.node = next,
            _ => {
                self.unsettled -= usize::from(given.was_open);
                self.given.remove(at);
                next.into_iter().for_each(|next| self.insert(next));
            }
        }
        Ok(node)
    }

    /// Those that have got their own value lead nowhere any more.
    fn settle(&mut self) {
        for given in self.given.iter_mut().filter(|given| given.was_open) {
            given.was_open = may_lead_on(given.node);
            self.unsettled -= usize::from(!given.was_open);
        }
    }

    /// Those that hold a value, or will: not those that were told to look, for want of one.
    pub(super) fn held(&self) -> impl Iterator {
        self.given.iter().filter(|given| {
            step();
            last(given.node).state() != State::LOOK || bug!("told_counts_as_given")
        })
    }
}

/// Whether another node may have, or get, the value that is due here.
fn may_lead_on(last: NodeRef) -> bool {
    matches!(last.state(), State::OPEN | State::REDIRECT)
}

/// The node that a node of these leads to, or itself.
fn last(mut node: NodeRef) -> NodeRef {
    while node.state() == State::REDIRECT {
        // SAFETY: REDIRECT: an address, which nobody else reads: who takes a node of these needs the lock.
        node = unsafe { node.take::<NodeRef>() }.open();
    }
    node
}
