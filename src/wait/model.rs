//! The queue by itself, without channels, locks or tasks: for its models (`loom-tests`) and its tests. An entry is
//! an operation with a number, which whoever serves it takes.

use super::node::{Popped, Waiter};
use super::queue;
use super::word::{Busied, State};
use crate::prim;

/// Has this scenario recycle nodes; or stop that, and give back what this thread has kept.
#[cfg(any(leno_loom, leno_shuttle))]
pub fn recycle_nodes(recycle: bool) {
    prim::set_reuse(recycle);
    if !recycle {
        super::cache::clear();
    }
}

/// A side of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// Receivers.
    Recv,
    /// Senders.
    Send,
}

impl From<Side> for queue::Side {
    fn from(side: Side) -> queue::Side {
        match side {
            Side::Recv => queue::Side::Recv,
            Side::Send => queue::Side::Send,
        }
    }
}

/// A waiter queue.
#[derive(Debug)]
pub struct Queue(queue::Queue);

/// An operation that waits.
#[derive(Debug)]
pub struct Entry(Waiter);

/// An entry that was taken out, and has not been served.
#[derive(Debug)]
pub struct Taken(Popped);

/// What became of an operation that entered.
#[derive(Debug)]
pub enum Entered {
    /// It waits.
    Waits(Entry),
    /// It does not wait: this one was first in line on the other side.
    Met(Taken),
    /// It does not wait: values are held for receivers.
    Held,
    /// It does not wait: the queue is closed.
    Closed,
}

impl Default for Queue {
    fn default() -> Self {
        Queue::new()
    }
}

impl Queue {
    /// An empty queue.
    pub fn new() -> Queue {
        Queue(queue::Queue::new())
    }

    /// Takes the first of the other side, or joins `side` with `number`.
    pub fn enter(&self, side: Side, number: usize) -> Entered {
        self.enter_with(side, number, 0)
    }

    /// As `enter`, at the place of an operation that has the rank and was taken out before. 0: at the back.
    pub fn enter_with(&self, side: Side, number: usize, rank: u64) -> Entered {
        let waiter = Waiter::plain();
        waiter.set_rank(rank);
        // SAFETY: a new node is its owner's alone, and stands in no queue.
        let entered = unsafe {
            waiter.word().reset(true);
            waiter.put(number);
            match rank {
                0 => self.0.enter(side.into(), waiter.as_ref()),
                _ => self.0.enter_by_rank(side.into(), waiter.as_ref()),
            }
        };
        let entered = match entered {
            queue::Entered::Waits => return Entered::Waits(Entry(waiter)),
            queue::Entered::Met(first) => Entered::Met(Taken(first)),
            queue::Entered::Held => Entered::Held,
            queue::Entered::Closed => Entered::Closed,
        };
        // SAFETY: it was not let in.
        unsafe { waiter.take::<usize>() };
        waiter.free();
        entered
    }

    /// Takes out the first of a side.
    pub fn take(&self, side: Side) -> Option<Taken> {
        self.0.take(side.into()).map(Taken)
    }

    /// An operation leaves. `Err`: it was served.
    pub fn leave(&self, entry: Entry) -> Result<(), Served> {
        let Entry(waiter) = entry;
        // SAFETY: it has entered, and its owner is here.
        if unsafe { self.0.remove(waiter.as_ref()) } {
            // SAFETY: it is the owner's again.
            let number = unsafe { waiter.take::<usize>() };
            assert!(number.is_some(), "whoever takes a node out of a queue has it alone");
            waiter.free();
            return Ok(());
        }
        loop {
            match waiter.word().state() {
                State::Open => {
                    if waiter.word().busy() == Busied::Yes {
                        // SAFETY: BUSY.
                        unsafe { waiter.take::<usize>() };
                        waiter.abandon();
                        return Ok(());
                    }
                }
                State::Claimed(_) => prim::thread::yield_now(),
                _ => {
                    waiter.free();
                    return Err(Served);
                }
            }
        }
    }

    /// Closes it and gives everybody who was there, in order. `None`: it was closed before.
    pub fn close(&self) -> Option<Vec<Taken>> {
        Some(self.0.close()?.map(Taken).collect())
    }

    /// Keeps receivers out; false if some wait.
    pub fn hold(&self) -> bool {
        self.0.hold()
    }

    /// Lets receivers in.
    pub fn release(&self) {
        self.0.release();
    }

    /// Whether nobody waits.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Panics unless the queue's invariants hold; while nobody is at work here.
    pub fn assert_valid(&self) {
        self.0.assert_valid();
    }
}

/// The operation was served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Served;

impl Entry {
    /// Whether it was served, and not freed yet.
    pub fn is_served(&self) -> bool {
        matches!(self.0.word().state(), State::Done(_))
    }

    /// Frees an entry that was served.
    pub fn end(self) {
        assert!(self.is_served(), "an entry ends when it was served, or leaves");
        self.0.free();
    }
}

impl Taken {
    /// Serves the operation, and gives its number. `None`: its owner has left.
    pub fn serve(self) -> Option<usize> {
        let mut claim = self.0.claim()?;
        // SAFETY: entries of this queue hold a number.
        let number = unsafe { claim.take::<usize>() };
        let _ = claim.complete();
        Some(number)
    }
}

/// The pool with one place per chunk, for the model with real epochs.
#[cfg(leno_epoch)]
pub mod pool {
    use crate::prim::{self, AtomicU64, Life, Ordering};
    use crate::wait::pool::{self, Stable};

    /// A pool.
    pub struct Pool(pool::Pool<Probe, 1, 5>);

    /// A place that was given out.
    #[derive(Debug)]
    pub struct Place(std::ptr::NonNull<Probe>);

    // SAFETY: the place is its owner's.
    unsafe impl Send for Place {}

    struct Probe {
        number: usize,
        generation: AtomicU64,
        life: Life,
    }

    impl Drop for Probe {
        fn drop(&mut self) {
            self.life.end();
        }
    }

    impl Stable for Probe {
        fn create(number: usize, generation: u64) -> Probe {
            Probe { number, generation: AtomicU64::new(generation + 1), life: Life::new() }
        }

        fn number(&self) -> usize {
            self.number
        }

        fn generation(&self) -> u64 {
            self.life.touch();
            self.generation.load(Ordering::Acquire)
        }
    }

    impl std::fmt::Debug for Pool {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            f.write_str("Pool")
        }
    }

    impl Default for Pool {
        fn default() -> Self {
            Pool(pool::Pool::new())
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
            self.0.peek(number, &guard).map(Probe::generation)
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
            unsafe { self.0.as_ref() }.number()
        }
    }
}
