//! Scripts of operations on the queue and on a plain reference, which have to agree after every one: all short scripts,
//! and many long random ones.

use std::collections::VecDeque;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::model::{Entered, Entry, Queue, Side, Taken};
use super::{Recv, Send, scale};

/// What the queue has to do, in the plainest way.
struct Reference {
    /// Those who have returned: by rank, then by arrival. They come before the others.
    returned: Vec<(u64, usize)>,
    fresh: VecDeque<usize>,
    /// The side of those who wait.
    side: Side,
    held: bool,
    closed: bool,
}

#[derive(Debug, PartialEq)]
enum Outcome {
    Waits,
    Met(Option<usize>),
    Held,
    Closed,
}

impl Reference {
    fn new() -> Reference {
        Reference { returned: Vec::new(), fresh: VecDeque::new(), side: Recv, held: false, closed: false }
    }

    fn waiting(&self) -> Option<Side> {
        (!self.returned.is_empty() || !self.fresh.is_empty()).then_some(self.side)
    }

    fn enter(&mut self, side: Side, number: usize, rank: Option<u64>) -> Outcome {
        if self.closed {
            return Outcome::Closed;
        }
        if self.held && side == Recv {
            return Outcome::Held;
        }
        if self.waiting().is_some_and(|waiting| waiting != side) {
            return Outcome::Met(self.take(self.side));
        }
        self.side = side;
        match rank {
            None => self.fresh.push_back(number),
            Some(rank) => {
                let place = self.returned.partition_point(|(other, _)| *other <= rank);
                self.returned.insert(place, (rank, number));
            }
        }
        Outcome::Waits
    }

    fn take(&mut self, side: Side) -> Option<usize> {
        // A value that is held comes first: nobody is taken meanwhile.
        if self.closed || self.held || self.waiting() != Some(side) {
            return None;
        }
        if self.returned.is_empty() { self.fresh.pop_front() } else { Some(self.returned.remove(0).1) }
    }

    fn leave(&mut self, number: usize) {
        self.returned.retain(|(_, other)| *other != number);
        self.fresh.retain(|other| *other != number);
    }

    fn close(&mut self) -> Option<Vec<usize>> {
        if std::mem::replace(&mut self.closed, true) {
            return None;
        }
        Some(self.returned.drain(..).map(|(_, number)| number).chain(self.fresh.drain(..)).collect())
    }

    fn hold(&mut self) -> bool {
        let holds = self.waiting() != Some(Recv);
        self.held |= holds;
        holds
    }
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Enter(Side),
    Return(Side, u64),
    /// Beside the list: whose turn it is does not depend on that.
    Beside(Side),
    Take(Side),
    /// The one at this place leaves, counted from the front of those who wait, as they began to.
    Leave(usize),
    /// The one that has come last leaves.
    LeaveLast,
    Close,
    Hold,
    Release,
}

/// The queue beside its reference.
struct Both {
    queue: Queue,
    reference: Reference,
    /// Who waits, in the order of coming.
    standing: VecDeque<(usize, Entry)>,
    next: usize,
    script: Vec<Step>,
}

impl Both {
    fn new() -> Both {
        let (queue, reference) = (Queue::new(), Reference::new());
        Both { queue, reference, standing: VecDeque::new(), next: 1, script: Vec::new() }
    }

    fn step(&mut self, step: Step) {
        self.script.push(step);
        match step {
            Step::Enter(side) => self.enter(side, None, Queue::enter),
            Step::Return(side, rank) => {
                self.enter(side, Some(rank), |queue, side, number| queue.enter_with(side, number, rank))
            }
            Step::Beside(side) => self.enter(side, None, Queue::enter_beside),
            Step::Take(side) => {
                let taken = self.queue.take(side).map(|taken| self.serve(taken));
                assert_eq!(taken, self.reference.take(side), "who is taken: {:?}", self.script);
            }
            Step::Leave(place) => {
                if let Some((number, entry)) = self.standing.remove(place) {
                    assert!(self.queue.remove(entry).is_ok(), "{number} waits, so that it can leave");
                    self.reference.leave(number);
                }
            }
            Step::LeaveLast => {
                if let Some((number, entry)) = self.standing.pop_back() {
                    assert_eq!(self.queue.leave(entry), Ok(()), "{number} waits, so that it can leave");
                    self.reference.leave(number);
                }
            }
            Step::Close => {
                let detached = self.queue.close();
                let detached =
                    detached.map(|all| all.into_iter().map(|taken| self.serve(taken)).collect::<Vec<_>>());
                assert_eq!(detached, self.reference.close(), "who is detached: {:?}", self.script);
            }
            Step::Hold => {
                assert_eq!(
                    self.queue.hold(),
                    self.reference.hold(),
                    "whether it can hold: {:?}",
                    self.script
                );
            }
            Step::Release => {
                self.queue.release();
                self.reference.held = false;
            }
        }
        self.queue.assert_valid();
        assert_eq!(self.queue.is_empty(), self.reference.waiting().is_none());
    }

    fn enter(&mut self, side: Side, rank: Option<u64>, enter: impl FnOnce(&Queue, Side, usize) -> Entered) {
        let number = self.next;
        self.next += 1;
        let outcome = match enter(&self.queue, side, number) {
            Entered::Waits(entry) => {
                self.standing.push_back((number, entry));
                Outcome::Waits
            }
            Entered::Met(taken) => Outcome::Met(Some(self.serve(taken))),
            Entered::Held => Outcome::Held,
            Entered::Closed => Outcome::Closed,
        };
        assert_eq!(outcome, self.reference.enter(side, number, rank), "{number}: {:?}", self.script);
    }

    fn serve(&mut self, taken: Taken) -> usize {
        let number = taken.serve().expect("its owner is here");
        let place = self.standing.iter().position(|(other, _)| *other == number).expect("it waited");
        let (_, entry) = self.standing.remove(place).expect("just found");
        assert!(entry.is_served());
        entry.end();
        number
    }

    /// Takes everybody out, which shows the whole order.
    fn drain(mut self) {
        self.step(Step::Release);
        while let Some(side) = self.reference.waiting() {
            self.step(Step::Take(side));
        }
        assert!(self.standing.is_empty() && self.queue.is_empty());
    }
}

/// Every script of a few steps: each way to grow and to shrink, with each flag set at each moment.
#[test]
fn all_short_scripts() {
    const STEPS: [Step; 14] = [
        Step::Enter(Recv),
        Step::Enter(Send),
        Step::Return(Recv, 2),
        Step::Return(Recv, 3),
        Step::Return(Send, 2),
        Step::Beside(Recv),
        Step::Take(Recv),
        Step::Take(Send),
        Step::Leave(0),
        Step::Leave(1),
        Step::LeaveLast,
        Step::Close,
        Step::Hold,
        Step::Release,
    ];
    let length = if scale() > 1 { 6 } else { 4 };
    for script in 0..STEPS.len().pow(length) {
        let mut both = Both::new();
        let mut rest = script;
        for _ in 0..length {
            both.step(STEPS[rest % STEPS.len()]);
            rest /= STEPS.len();
        }
        both.drain();
    }
}

/// Every script of a few more steps for one side, which neither closes nor holds.
#[test]
fn all_short_scripts_of_one_side() {
    const STEPS: [Step; 8] = [
        Step::Enter(Recv),
        Step::Return(Recv, 2),
        Step::Return(Recv, 1),
        Step::Beside(Recv),
        Step::Take(Recv),
        Step::Leave(0),
        Step::Leave(1),
        Step::LeaveLast,
    ];
    let length = if scale() > 1 { 8 } else { 6 };
    for script in 0..STEPS.len().pow(length) {
        let mut both = Both::new();
        let mut rest = script;
        for _ in 0..length {
            both.step(STEPS[rest % STEPS.len()]);
            rest /= STEPS.len();
        }
        both.drain();
    }
}

/// Random scripts, in which the queue grows to `size` and shrinks again, a few times.
fn random_script(size: usize, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut both = Both::new();
    let mut grows = true;
    for _ in 0..size * 6 + 60 {
        let len = both.standing.len();
        if len >= size || len == 0 {
            grows = len == 0 || (grows && len < size);
        }
        let side = match both.reference.waiting() {
            Some(side) if rng.random_bool(if grows { 0.95 } else { 0.6 }) => side,
            _ => [Recv, Send][rng.random_range(0..2)],
        };
        let step = match rng.random_range(0..100) {
            // The upper half of the die grows the queue, or shrinks it.
            50.. if grows => Step::Enter(side),
            50.. => Step::Take(side),
            0..10 => Step::Enter(side),
            10..14 => Step::Return(side, rng.random_range(1..30)),
            14..16 => Step::Beside(side),
            16..26 => Step::Take(side),
            26..36 if len > 0 => Step::Leave(rng.random_range(0..len)),
            26..36 => Step::Hold,
            36..40 => Step::Leave(0),
            40..44 => Step::LeaveLast,
            44..46 => Step::Hold,
            _ if rng.random_range(0..size + 10) > 0 => Step::Release,
            _ => Step::Close,
        };
        both.step(step);
        if both.reference.closed {
            for step in [Step::Enter(Recv), Step::Return(Send, 3), Step::Take(Send), Step::Close, Step::Hold]
            {
                both.step(step);
            }
            both.drain();
            both = Both::new();
        }
    }
    both.drain();
}

#[test]
fn random_scripts() {
    for (size, seeds) in [(1, 50), (2, 50), (3, 50), (10, 50), (50, 20), (250, 4), (1000, 1)] {
        for seed in 0..(seeds * scale()) as u64 {
            random_script(size, seed);
        }
    }
}
