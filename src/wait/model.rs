//! The pool with one place per chunk, for the model with real epochs.

use super::pool::{self, Stable};
use crate::prim::{self, AtomicU64, Life, Ordering};

/// A pool.
pub struct Pool(pool::Pool<Probe, 1, 5>);

/// A place that was given out.
#[derive(Debug)]
pub struct Place(std::ptr::NonNull<Probe>);

// SAFETY: the place is its owner's.
unsafe impl Send for Place {}

struct Probe(usize);

struct Beside {
    generation: AtomicU64,
    life: Life,
}

impl Drop for Beside {
    fn drop(&mut self) {
        self.life.end();
    }
}

impl Stable for Probe {
    type Beside = Beside;

    fn create(index: usize, _kind: usize) -> Probe {
        Probe(index)
    }

    fn beside(generation: u64) -> Beside {
        Beside { generation: AtomicU64::new(generation + 1), life: Life::new() }
    }

    fn index(&self) -> usize {
        self.0
    }

    fn generation(beside: &Beside) -> u64 {
        beside.life.touch();
        beside.generation.load(Ordering::Acquire)
    }
}

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
    /// Takes a place.
    pub fn take(&self) -> Place {
        let mut place = None;
        self.0.take(1, |one| place = Some(Place(one)));
        place.expect("there is room")
    }

    /// Gives it back; if another chunk is free already, its memory is given up.
    pub fn give_back(&self, place: Place) {
        // SAFETY: it was given out, and is given back once.
        unsafe { self.0.give_back(std::iter::once(place.0)) };
    }

    /// The generation of a place, looked at without a right to it. `None`: it is gone.
    pub fn peek(&self, number: usize) -> Option<u64> {
        let guard = prim::pin();
        self.0.peek(number, &guard).map(<Probe as Stable>::generation)
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
        // SAFETY: the place is its owner's.
        unsafe { self.0.as_ref() }.index()
    }
}
