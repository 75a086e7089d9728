//! Real threads at one line or several. Whoever waits is accounted for once: it leaves, or is served. Whoever one thread
//! serves comes in the order in which it came. Nodes travel between lines and threads.

use std::sync::{Barrier, Mutex};
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::steps::interrupt_once_in;
use super::{Bare, Primitive, SIDES, Waiting, scale};

/// Those that a thread leaves standing at most, and those that it does most of the time.
const STANDING: usize = 12;

/// A number names a thread, a line and a count.
const COUNT_BITS: u32 = usize::BITS - 4;

/// A multiset of numbers, near enough: how many, their sum, and the sum of their squares.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Tally(usize, usize, usize);

impl Tally {
    fn add(&mut self, number: usize) {
        self.merge(Tally(1, number, number.wrapping_mul(number)));
    }

    fn merge(&mut self, other: Tally) {
        self.0 += other.0;
        self.1 = self.1.wrapping_add(other.1);
        self.2 = self.2.wrapping_add(other.2);
    }
}

/// What became of those who waited, as a thread has seen it.
#[derive(Clone, Copy, Debug, Default)]
struct Ledger {
    waited: Tally,
    left: Tally,
    /// As they say themselves.
    served: Tally,
    /// As those say who have served them.
    serving: Tally,
}

impl Ledger {
    fn merge(&mut self, other: Ledger) {
        self.waited.merge(other.waited);
        self.left.merge(other.left);
        self.served.merge(other.served);
        self.serving.merge(other.serving);
    }
}

struct Hall {
    lines: Vec<Bare>,
    /// Some on their way to another thread.
    passing: Mutex<Vec<(usize, Waiting)>>,
}

/// What a thread does.
#[derive(Clone, Copy, Debug)]
enum Role {
    Anything,
    /// Serves, and nothing else.
    Serves,
    /// Waits again as soon as it is served, and never leaves.
    Waits,
}

struct Worker<'a> {
    hall: &'a Hall,
    role: Role,
    standing: Vec<(usize, Waiting)>,
    ledger: Ledger,
    rng: StdRng,
    next: usize,
    /// Whom it has served last, by line, side and thread.
    last: Vec<[[usize; 8]; 2]>,
}

impl Worker<'_> {
    fn step(&mut self, standing: usize) {
        match self.role {
            Role::Anything => self.do_anything(standing),
            Role::Serves => {
                let at = self.rng.random_range(0..self.hall.lines.len());
                if !self.serve(at, 0) {
                    thread::yield_now();
                }
            }
            Role::Waits => {
                while let Some(place) = self.standing.iter().position(|(_, waiting)| waiting.is_served()) {
                    let (at, waiting) = self.standing.swap_remove(place);
                    self.leave(at, waiting);
                }
                if self.standing.len() < standing {
                    let at = self.rng.random_range(0..self.hall.lines.len());
                    self.wait(at, 0);
                } else {
                    thread::yield_now();
                }
            }
        }
    }

    fn do_anything(&mut self, standing: usize) {
        let at = self.rng.random_range(0..self.hall.lines.len());
        let side = self.rng.random_range(0..2);
        match self.rng.random_range(0..100) {
            0..50 => self.wait(at, SIDES[side]),
            50..70 => _ = self.serve(at, side),
            70..93 => self.leave_one(),
            93..98 => {
                if let Some((at, waiting)) = self.standing.first() {
                    self.hall.lines[*at].park(waiting);
                }
            }
            98 => {
                let mut passing = self.hall.passing.lock().expect("nobody panics");
                passing.extend(self.standing.pop());
                if passing.len() > 4 {
                    self.standing.push(passing.remove(0));
                }
            }
            _ => thread::yield_now(),
        }
        if self.standing.len() > standing {
            self.leave_one();
        }
    }

    fn wait(&mut self, at: usize, side: u64) {
        self.next += 1;
        let waiting = Waiting::new(side, self.next);
        if self.hall.lines[at].wait(&waiting) {
            self.ledger.waited.add(waiting.number);
            self.standing.push((at, waiting));
        } else {
            // It had to go back, or never came.
            waiting.free();
        }
    }

    fn serve(&mut self, at: usize, side: usize) -> bool {
        let Some(number) = self.hall.lines[at].serve(SIDES[side]) else { return false };
        self.ledger.serving.add(number);
        let last = &mut self.last[at][side][number >> COUNT_BITS];
        assert!(*last < number, "the first one is served first: {number} after {last}");
        *last = number;
        true
    }

    fn leave_one(&mut self) {
        if self.standing.is_empty() {
            return;
        }
        let place = self.rng.random_range(0..self.standing.len());
        let (at, waiting) = self.standing.swap_remove(place);
        self.leave(at, waiting);
    }

    fn leave(&mut self, at: usize, waiting: Waiting) {
        if !waiting.is_served() && self.hall.lines[at].leave(&waiting) {
            self.ledger.left.add(waiting.number);
            return waiting.free();
        }
        while !waiting.is_served() {
            thread::yield_now();
        }
        self.ledger.served.add(waiting.number);
        waiting.end();
    }
}

fn run(few: bool, roles: &[Role], lines: usize, steps: usize, standing: usize, seed: u64) {
    let threads = roles.len();
    let hall = Hall { lines: (0..lines).map(|_| Bare::new(few)).collect(), passing: Mutex::new(Vec::new()) };
    let barrier = Barrier::new(threads);
    let ledgers = thread::scope(|scope| {
        let workers = roles.iter().enumerate().map(|(me, &role)| {
            let (hall, barrier) = (&hall, &barrier);
            scope.spawn(move || {
                let mut worker = Worker {
                    hall,
                    role,
                    standing: Vec::new(),
                    ledger: Ledger::default(),
                    rng: StdRng::seed_from_u64(seed * 100 + me as u64),
                    next: me << COUNT_BITS,
                    last: vec![[[0; 8]; 2]; lines],
                };
                interrupt_once_in(100, seed + me as u64);
                barrier.wait();
                (0..steps).for_each(|_| worker.step(standing));
                (worker.ledger, worker.standing)
            })
        });
        let workers = workers.collect::<Vec<_>>();
        workers.into_iter().map(|worker| worker.join().expect("a worker ends")).collect::<Vec<_>>()
    });
    let mut rest = Worker {
        hall: &hall,
        role: Role::Anything,
        standing: std::mem::take(&mut *hall.passing.lock().expect("nobody panics")),
        ledger: Ledger::default(),
        rng: StdRng::seed_from_u64(0),
        next: 0,
        last: vec![[[0; 8]; 2]; lines],
    };
    let mut all = Ledger::default();
    for (ledger, standing) in ledgers {
        all.merge(ledger);
        rest.standing.extend(standing);
    }
    // Who stands there still can be reached.
    for (at, line) in hall.lines.iter().enumerate() {
        let standing = rest.standing.iter().filter(|(its, waiting)| *its == at && !waiting.is_served());
        assert_eq!(line.assert_valid(), standing.count(), "nobody is lost");
        (0..8).for_each(|number| _ = rest.serve(at, number % 2));
    }
    while !rest.standing.is_empty() {
        rest.leave_one();
    }
    all.merge(rest.ledger);
    assert_eq!(all.served, all.serving, "who is served knows it, once");
    all.left.merge(all.served);
    assert_eq!(all.waited, all.left, "who waits leaves or is served");
    for line in &hall.lines {
        assert_eq!(line.assert_valid(), 0, "nobody is left");
        assert!(line.line.load().is_free());
    }
}

fn rounds(roles: &[Role], lines: usize, steps: usize) {
    for seed in 0..4 * scale() as u64 {
        for few in [true, false] {
            for standing in [1, 3, STANDING] {
                run(few, roles, lines, steps, standing, seed);
            }
        }
    }
}

#[test]
fn two_threads_at_one_line() {
    rounds(&[Role::Anything; 2], 1, 20_000);
}

#[test]
fn four_threads_at_one_line() {
    rounds(&[Role::Anything; 4], 1, 20_000);
}

#[test]
fn two_threads_at_three_lines() {
    rounds(&[Role::Anything; 2], 3, 20_000);
}

#[test]
fn four_threads_at_three_lines() {
    rounds(&[Role::Anything; 4], 3, 20_000);
}

/// Many take the same ones out, who come again at once.
#[test]
fn some_serve_and_some_wait() {
    for lines in [1, 3] {
        rounds(&[Role::Serves, Role::Serves, Role::Waits, Role::Waits], lines, 20_000);
        rounds(&[Role::Serves, Role::Serves, Role::Serves, Role::Waits], lines, 20_000);
    }
}
