//! The pool with one node per chunk, for the model with real epochs.

use super::link::{Hooks, Link, ROOT};
use super::node::Node;
use super::pool;
use crate::prim;

/// A pool.
pub struct Pool(pool::Pool<1, 5>);

/// A node that was given out.
#[derive(Debug)]
pub struct Place(std::ptr::NonNull<Node>);

// SAFETY: the node is its owner's.
unsafe impl Send for Place {}

impl std::fmt::Debug for Pool {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Pool")
    }
}

impl Default for Pool {
    fn default() -> Self {
        Pool(pool::Pool::new(0))
    }
}

impl Pool {
    /// Takes a node, and begins a stay with it, in no list: so it has the next generation.
    pub fn take(&self) -> Place {
        let mut place = None;
        self.0.take(1, |one| place = Some(Place(one)));
        let place = place.expect("there is room");
        let number = place.number();
        // SAFETY: it was just given out.
        unsafe { self.0.hooks(number) }.begin(number, Link::NIL, ROOT, 1, 0);
        place
    }

    /// Gives it back; if another chunk is free already, its memory is given up.
    pub fn give_back(&self, place: Place) {
        // SAFETY: it was given out, and is given back once.
        unsafe { self.0.give_back(std::iter::once(place.0)) };
    }

    /// The generation of a node, looked at without a right to it. `None`: it is gone.
    pub fn peek(&self, number: usize) -> Option<u64> {
        let guard = prim::pin();
        self.0.peek(number, &guard).map(Hooks::generation)
    }

    /// Moves the epochs on.
    pub fn advance(&self) {
        prim::pin().flush();
    }

    /// The books agree; how many chunks there are.
    pub fn chunks(&self) -> usize {
        self.0.assert_valid();
        self.0.chunks()
    }
}

impl Place {
    /// Its number.
    pub fn number(&self) -> usize {
        // SAFETY: the node is its owner's.
        unsafe { self.0.as_ref() }.index()
    }
}
