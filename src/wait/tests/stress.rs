//! Real threads at several queues at once. Whoever enters is accounted for once: it leaves, or is served; whoever is
//! taken by one thread comes in the order in which its thread entered it. Nodes travel between queues and threads.

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::model::{Entered, Entry, Queue, Served, Side, Taken};
use super::{Recv, Send, scale};
use crate::prim::{Arc, AtomicUsize, Mutex, Ordering, thread};

/// Queues that are in use at once.
const SLOTS: usize = 3;

/// Entries that a thread leaves standing.
const STANDING: usize = 12;

/// Bits of a number that say which of its thread's it is; the others name the thread.
const COUNT_BITS: u32 = 40;

/// Numbers, and so the ranks of those who enter at the back, begin here; ranks of those who return are below.
const FIRST: usize = 1000;

/// A waiter, with the queue in which it is.
struct Waiting(Arc<Queue>, Entry);

/// A multiset of numbers, near enough: how many, their sum, and the sum of their hashes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Tally(usize, usize, usize);

impl Tally {
    fn add(&mut self, number: usize) {
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let hash = (hash ^ (hash >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        self.merge(Tally(1, number, hash ^ (hash >> 32)));
    }

    fn merge(&mut self, other: Tally) {
        let Tally(count, sum, hashes) = self;
        *count += other.0;
        *sum = sum.wrapping_add(other.1);
        *hashes = hashes.wrapping_add(other.2);
    }
}

/// What became of the entries, as one thread has seen it.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    entered: Tally,
    left: Tally,
    /// As their owners say.
    served: Tally,
    /// As those say who have served them.
    serving: Tally,
    /// How many were taken out and had left.
    missed: usize,
}

/// What the threads share.
struct Hall {
    queues: [Mutex<Arc<Queue>>; SLOTS],
    /// Entries on their way to another thread, which frees them.
    passing: Mutex<Vec<(usize, Waiting)>>,
    /// How many threads are through.
    through: AtomicUsize,
}

impl Hall {
    fn new() -> Hall {
        let queues = std::array::from_fn(|_| Mutex::new(Arc::new(Queue::new())));
        Hall { queues, passing: Mutex::new(Vec::new()), through: AtomicUsize::new(0) }
    }

    fn assert_valid(&self) {
        self.queues.iter().for_each(|queue| queue.lock().assert_valid());
    }
}

/// The queue that a thread knows in a slot, and whom it has last taken there, for each side and thread.
struct Place {
    queue: Arc<Queue>,
    last: [Vec<usize>; 2],
}

impl Place {
    fn new(queue: &Mutex<Arc<Queue>>, threads: usize) -> Place {
        Place { queue: Arc::clone(&queue.lock()), last: [vec![0; threads], vec![0; threads]] }
    }
}

struct Worker {
    hall: Arc<Hall>,
    places: Vec<Place>,
    standing: Vec<(usize, Waiting)>,
    ledger: Ledger,
    rng: StdRng,
    threads: usize,
    /// How many queues it uses.
    slots: usize,
    next: usize,
}

impl Worker {
    fn new(hall: &Arc<Hall>, threads: usize, me: usize, seed: u64) -> Worker {
        Worker {
            hall: Arc::clone(hall),
            places: hall.queues.iter().map(|queue| Place::new(queue, threads)).collect(),
            standing: Vec::new(),
            ledger: Ledger::default(),
            rng: StdRng::seed_from_u64(seed * 100 + me as u64),
            threads,
            slots: SLOTS,
            next: (me << COUNT_BITS) + FIRST,
        }
    }

    fn step(&mut self) {
        let slot = self.rng.random_range(0..self.slots);
        let side = if self.rng.random() { Recv } else { Send };
        match self.rng.random_range(0..1000) {
            0..500 => self.enter(slot, side, None),
            500..510 => {
                let rank = self.rng.random_range(1..FIRST as u64);
                self.enter(slot, side, Some(rank));
            }
            510..700 => {
                if let Some(taken) = self.places[slot].queue.take(side) {
                    self.serve(slot, side, taken);
                }
            }
            700..980 => self.leave_one(),
            980..985 => {
                let queue = &self.places[slot].queue;
                if queue.hold() {
                    thread::yield_now();
                    queue.release();
                }
            }
            985..997 => self.pass_on(),
            997..999 => thread::yield_now(),
            _ => self.close(slot),
        }
        if self.standing.len() > STANDING {
            self.leave_one();
        }
    }

    fn enter(&mut self, slot: usize, side: Side, rank: Option<u64>) {
        let queue = Arc::clone(&self.places[slot].queue);
        let number = self.next;
        self.next += 1;
        let entered = match rank {
            None => queue.enter(side, number),
            Some(rank) => queue.enter_with(side, number, rank),
        };
        match entered {
            Entered::Waits(entry) => {
                self.ledger.entered.add(number);
                self.standing.push((number, Waiting(queue, entry)));
            }
            Entered::Met(taken) => self.serve(slot, if side == Recv { Send } else { Recv }, taken),
            Entered::Held => assert_eq!(side, Recv, "only receivers are kept out"),
            Entered::Closed => {
                self.places[slot] = Place::new(&self.hall.queues[slot], self.threads);
            }
        }
    }

    /// Serves whom this thread has taken out.
    fn serve(&mut self, slot: usize, side: Side, taken: Taken) {
        let rank = taken.rank() as usize;
        if rank >= FIRST {
            let last = &mut self.places[slot].last[usize::from(side == Send)][rank >> COUNT_BITS];
            assert!(*last < rank, "they come in order: {rank:#x} after {last:#x}");
            *last = rank;
        }
        match taken.serve() {
            Some(number) => {
                assert!(rank < FIRST || rank == number, "whoever is taken is who entered");
                self.ledger.serving.add(number);
            }
            None => self.ledger.missed += 1,
        }
    }

    fn leave_one(&mut self) {
        if self.standing.is_empty() {
            return;
        }
        let place = self.rng.random_range(0..self.standing.len());
        let (number, Waiting(queue, entry)) = self.standing.swap_remove(place);
        if entry.is_served() {
            entry.end();
            return self.ledger.served.add(number);
        }
        let left = match queue.remove(entry) {
            Ok(()) => Ok(()),
            Err(entry) => entry.quit(),
        };
        match left {
            Ok(()) => self.ledger.left.add(number),
            Err(Served) => self.ledger.served.add(number),
        }
    }

    /// Leaves an entry to whichever thread comes next, and takes what was left here.
    fn pass_on(&mut self) {
        let mut passing = self.hall.passing.lock();
        std::mem::swap(&mut *passing, &mut self.standing);
    }

    /// Closes a queue, and puts a new one in its place.
    fn close(&mut self, slot: usize) {
        let queue = Arc::clone(&self.places[slot].queue);
        let Some(detached) = queue.close() else { return };
        *self.hall.queues[slot].lock() = Arc::new(Queue::new());
        for taken in detached {
            match taken.serve() {
                Some(number) => self.ledger.serving.add(number),
                None => self.ledger.missed += 1,
            }
        }
        self.places[slot] = Place::new(&self.hall.queues[slot], self.threads);
    }
}

/// `f` for each worker, on a thread of its own.
fn all_at_once(workers: Vec<Worker>, f: fn(&mut Worker, usize), steps: usize) -> Vec<Worker> {
    let threads = workers.into_iter().map(|mut worker| {
        let run = move || {
            f(&mut worker, steps);
            worker
        };
        thread::Builder::new().spawn(run).expect("a thread starts")
    });
    let threads = threads.collect::<Vec<_>>();
    threads.into_iter().map(|thread| thread.join().expect("it has not panicked")).collect()
}

/// Random operations by `threads` threads on `slots` queues, with a look at the queues between rounds.
fn random_operations(threads: usize, slots: usize, rounds: usize, steps: usize) {
    let hall = Arc::new(Hall::new());
    let mut workers = (0..threads).map(|me| Worker::new(&hall, threads, me, 7)).collect::<Vec<_>>();
    workers.iter_mut().for_each(|worker| worker.slots = slots);
    for _ in 0..rounds {
        let work = |worker: &mut Worker, steps| (0..steps).for_each(|_| worker.step());
        workers = all_at_once(workers, work, steps);
        hall.assert_valid();
    }
    let mut total = Ledger::default();
    let mut rest = std::mem::take(&mut *hall.passing.lock());
    for worker in &mut workers {
        rest.append(&mut worker.standing);
    }
    workers[0].standing = rest;
    while !workers[0].standing.is_empty() {
        workers[0].leave_one();
    }
    for worker in workers {
        total.entered.merge(worker.ledger.entered);
        total.left.merge(worker.ledger.left);
        total.served.merge(worker.ledger.served);
        total.serving.merge(worker.ledger.serving);
        total.missed += worker.ledger.missed;
    }
    for queue in &hall.queues {
        assert!(queue.lock().is_empty(), "everybody was served or has left");
    }
    assert_eq!(total.served, total.serving, "each is served once, and knows it: {total:?}");
    let mut over = total.left;
    over.merge(total.served);
    assert_eq!(total.entered, over, "each is served or leaves: {total:?}");
    let (entered, left, served, missed) = (total.entered.0, total.left.0, total.served.0, total.missed);
    let operations = threads * rounds * steps;
    println!(
        "{threads} threads, {operations} operations: {entered} entered, {left} left, {served} served, {missed} missed"
    );
}

#[test]
fn stress_two_threads() {
    random_operations(2, 1, 20, 6_250 * scale());
    random_operations(2, SLOTS, 20, 6_250 * scale());
}

#[test]
fn stress_four_threads() {
    random_operations(4, 1, 20, 3_125 * scale());
    random_operations(4, SLOTS, 20, 3_125 * scale());
}

/// One thread takes what the others enter, who leave now and then: they come in the order of each.
#[test]
fn stress_one_takes_from_many() {
    const THREADS: usize = 4;
    let hall = Arc::new(Hall::new());
    let workers = (0..THREADS).map(|me| Worker::new(&hall, THREADS, me, 9)).collect();
    let work = |worker: &mut Worker, steps| {
        if worker.next >> COUNT_BITS == 0 {
            while worker.hall.through.load(Ordering::Acquire) < THREADS - 1 {
                match worker.places[0].queue.take(Recv) {
                    Some(taken) => worker.serve(0, Recv, taken),
                    None => thread::yield_now(),
                }
            }
            return;
        }
        for _ in 0..steps {
            match worker.rng.random_range(0..80) {
                0..5 => thread::yield_now(),
                5..60 if worker.standing.len() <= STANDING => worker.enter(0, Recv, None),
                _ => worker.leave_one(),
            }
        }
        while !worker.standing.is_empty() {
            worker.leave_one();
        }
        worker.hall.through.fetch_add(1, Ordering::Release);
    };
    let workers = all_at_once(workers, work, 50_000 * scale());
    hall.assert_valid();
    assert!(hall.queues[0].lock().is_empty(), "everybody was served or has left");
    let served = workers.iter().map(|worker| worker.ledger.served.0).sum::<usize>();
    assert_eq!(served, workers[0].ledger.serving.0, "each is served once, and knows it");
    println!("{served} were served, {} were missed", workers[0].ledger.missed);
}
