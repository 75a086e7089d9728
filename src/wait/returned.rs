//! What was given back: nodes to which a value was handed, or is about to be, and whose receives were dropped.
//!
//! They are kept in the order of their hand-overs, and taken by the next receives, before all that is in the channel.
//! Under a lock: it is a way that is taken only if a receive was dropped between its hand-over and its next poll, and
//! nothing but a few moves of a vector happens there.

use super::node::{NodeRef, State};
use super::word::is_before;
use crate::prim::{Mutex, MutexGuard};

#[derive(Debug)]
pub(super) struct Returned(Mutex<Nodes>);

/// The nodes with their stamps, the first one first; without one: it comes before all that have one.
#[derive(Debug, Default)]
pub(super) struct Nodes(Vec<(Option<u32>, NodeRef)>);

impl Returned {
    pub(super) fn new() -> Returned {
        Returned(Mutex::new(Nodes::default()))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Nodes> {
        self.0.lock()
    }
}

impl Nodes {
    pub(super) fn insert(&mut self, node: NodeRef) {
        let stamp = node.stamp();
        // Stamps wrap; those of nodes that are here at one time are close to each other.
        let is_later = |other: u32| is_before(stamp, other);
        let at = self.0.iter().position(|(other, _)| other.is_some_and(is_later)).unwrap_or(self.0.len());
        let at = if bug!("given_back_anew") { self.0.len() } else { at };
        self.0.insert(at, (Some(stamp), node));
    }

    /// Puts a node before all others, which was taken when they were there still.
    pub(super) fn insert_first(&mut self, node: NodeRef) {
        self.0.insert(0, (None, node));
    }

    /// The first one that is finished, or one that is redirected, in the stead of which stays the one that it leads to: so what
    /// it gives back is never out of sight, and in its place. `Err`: there is neither; whether there are others.
    pub(super) fn take(&mut self) -> Result<NodeRef, bool> {
        let first = |is_it: fn(State) -> bool| self.0.iter().position(|(_, node)| is_it(node.state()));
        let redirected = first(|state| state == State::Redirect);
        let at = redirected.or_else(|| first(|state| state != State::Open));
        let node = self.0.remove(at.ok_or(!self.0.is_empty())?).1;
        // (Which may have become so since the first look.)
        if node.state() == State::Redirect && !bug!("redirect_is_dropped") {
            // SAFETY: REDIRECT: an address. Only who has taken the node reads it.
            self.insert(unsafe { node.take::<NodeRef>() }.open());
        }
        Ok(node)
    }

    /// How many there are that hold a value, or will: not those that were told to look, for want of one.
    pub(super) fn len(&self) -> usize {
        self.0.iter().filter(|(_, node)| last(*node).state() != State::Look).count()
    }
}

/// The node that a node of these leads to, or itself.
fn last(mut node: NodeRef) -> NodeRef {
    while node.state() == State::Redirect {
        // SAFETY: REDIRECT: an address, which nobody else reads: who takes a node of these needs the lock.
        node = unsafe { node.take::<NodeRef>() }.open();
    }
    node
}
