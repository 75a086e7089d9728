//! The queue by itself, without channels, locks or tasks: for its models (`loom-tests`) and its tests (`tests`). An
//! entry is an operation with a number, which whoever serves it takes.

#![cfg_attr(test, allow(unreachable_pub, reason = "public for the packages of models, which are others"))]

use super::node::{NodeRef, Popped, Waiter};
use super::pool::Stable as _;
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

    /// Takes the first of the other side, or joins `side` with `number`, which is its rank too.
    pub fn enter(&self, side: Side, number: usize) -> Entered {
        // SAFETY: `arrive` gives a new node, prepared for a peer, which stands in no queue.
        self.arrive(number, number as u64, |queue, node| unsafe { queue.enter(side.into(), node) })
    }

    /// As `enter`, at the place of an operation that has the rank and was taken out before.
    pub fn enter_with(&self, side: Side, number: usize, rank: u64) -> Entered {
        // SAFETY: as above.
        self.arrive(number, rank, |queue, node| unsafe { queue.enter_by_rank(side.into(), node) })
    }

    /// As `enter`, beside the list, like a branch of a select that has one on either side.
    pub fn enter_beside(&self, side: Side, number: usize) -> Entered {
        // SAFETY: as above.
        self.arrive(number, number as u64, |queue, node| unsafe { queue.enter_beside(side.into(), node) })
    }

    fn arrive(
        &self,
        number: usize,
        rank: u64,
        enter: impl FnOnce(&queue::Queue, NodeRef) -> queue::Entered,
    ) -> Entered {
        let waiter = Waiter::plain();
        waiter.set_rank(rank);
        waiter.word().reset(true);
        // SAFETY: a new node is its owner's alone.
        unsafe { waiter.put(number) };
        let entered = enter(&self.0, waiter.as_ref());
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
        self.remove(entry).or_else(Entry::quit)
    }

    /// An operation leaves the queue, and is over. `Err`: it was taken out before.
    pub fn remove(&self, entry: Entry) -> Result<(), Entry> {
        let Entry(waiter) = entry;
        // SAFETY: it has entered, and its owner is here.
        if !unsafe { self.0.remove(waiter.as_ref()) } {
            return Err(Entry(waiter));
        }
        // SAFETY: it is the owner's again.
        let number = unsafe { waiter.take::<usize>() };
        assert!(number.is_some(), "whoever takes a node out of a queue has it alone");
        waiter.free();
        Ok(())
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

    /// An operation that was taken out of its queue leaves whoever has it. `Err`: it was served.
    pub fn quit(self) -> Result<(), Served> {
        let Entry(waiter) = self;
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

    /// Which node it has: they are recycled.
    pub fn node(&self) -> usize {
        // SAFETY: the entry is its owner.
        unsafe { self.0.as_ref().get() }.number()
    }
}

impl Taken {
    /// The rank with which it entered: its number, if that was at the back.
    pub fn rank(&self) -> u64 {
        self.0.rank()
    }

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
