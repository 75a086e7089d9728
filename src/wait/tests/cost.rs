//! What waiting costs, in [steps](super::super::steps) of the list: it depends neither on how many wait, nor on how many
//! have left before; and nodes are recycled.

use std::collections::{BTreeSet, VecDeque};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::super::steps::steps_of;
use super::{Bare, Waiting};

/// The most steps of one operation where nobody else is at work. Measured: 35, of a line that is left from its back (twice
/// the patience with hints that name those who are gone, and a few); 9 otherwise.
const MOST: u64 = 40;

/// How many wait as others come and go.
const STANDING: [usize; 4] = [0, 1, 100, 10_000];

/// How many come and go.
const STORM: usize = 100_000;

/// A line, and what it has cost so far.
struct Counted {
    line: Bare,
    next: usize,
    most: u64,
    sum: u64,
    count: u64,
}

impl Counted {
    fn new(few: bool) -> Counted {
        Counted { line: Bare::new(few), next: 0, most: 0, sum: 0, count: 0 }
    }

    fn count<R>(&mut self, what: &str, operation: impl FnOnce(&Bare) -> R) -> R {
        let (result, steps) = steps_of(|| operation(&self.line));
        assert!(steps <= MOST, "{what}: {steps} steps");
        self.most = self.most.max(steps);
        self.sum += steps;
        self.count += 1;
        result
    }

    fn wait(&mut self) -> Waiting {
        self.next += 1;
        let waiting = Waiting::new(0, self.next);
        assert!(self.count("wait", |line| line.wait(&waiting)));
        waiting
    }

    fn leave(&mut self, waiting: Waiting) {
        assert!(self.count("leave", |line| line.leave(&waiting)), "it waits, so that it can leave");
        waiting.free();
    }

    fn serve(&mut self, first: Waiting) {
        assert_eq!(self.count("serve", |line| line.serve(0)), Some(first.number));
        first.end();
    }

    /// Serves all who are left; the sum of all steps is of the order of the operations. Measured: 17 for each of them if the
    /// newest leaves first, less than one otherwise.
    fn end(mut self, what: &str, standing: impl IntoIterator<Item = Waiting>) {
        standing.into_iter().for_each(|first| self.serve(first));
        assert!(self.line.serve(0).is_none());
        println!("{what}: at most {} steps, {} in {} operations", self.most, self.sum, self.count);
        assert!(self.sum <= 20 * self.count, "{what}: {} steps in {} operations", self.sum, self.count);
    }
}

/// Many wait, and leave at once, behind others that stay.
#[test]
fn a_storm_of_cancels() {
    for few in [true, false] {
        for count in STANDING {
            let (mut line, mut nodes) = (Counted::new(few), BTreeSet::new());
            let standing = (0..count).map(|_| line.wait()).collect::<Vec<_>>();
            for _ in 0..STORM {
                let waiting = line.wait();
                nodes.insert(waiting.node.number());
                line.leave(waiting);
            }
            assert!(nodes.len() < 100, "nodes are recycled: {} were used", nodes.len());
            line.end(&format!("behind {count}"), standing);
        }
    }
}

/// The same, fifty at a time, in any order.
#[test]
fn a_storm_of_cancels_in_random_order() {
    let mut rng = StdRng::seed_from_u64(1);
    for few in [true, false] {
        for count in STANDING {
            let mut line = Counted::new(few);
            let standing = (0..count).map(|_| line.wait()).collect::<Vec<_>>();
            let mut coming = (0..50).map(|_| line.wait()).collect::<Vec<_>>();
            for _ in 0..STORM {
                line.leave(coming.swap_remove(rng.random_range(0..50)));
                coming.push(line.wait());
            }
            coming.into_iter().for_each(|waiting| line.leave(waiting));
            line.end(&format!("fifty behind {count}"), standing);
        }
    }
}

/// A long line that everybody leaves.
#[test]
fn leaving_costs_the_same_everywhere() {
    type Choose = fn(&mut StdRng, usize) -> usize;
    let ways: [(&str, Choose); 6] = [
        ("oldest first", |_, _| 0),
        ("newest first", |_, len| len - 1),
        ("middle", |_, len| len / 2),
        ("random", |rng, len| rng.random_range(0..len)),
        ("front or back", |rng, len| rng.random_range(0..2) * (len - 1)),
        ("every other", |_, len| (len / 2) & !1),
    ];
    for few in [true, false] {
        for (name, choose) in ways {
            let mut rng = StdRng::seed_from_u64(2);
            let mut line = Counted::new(few);
            let mut standing = (0..10_000).map(|_| line.wait()).collect::<VecDeque<_>>();
            while !standing.is_empty() {
                let place = choose(&mut rng, standing.len());
                let waiting = standing.remove(place).expect("it is there");
                line.leave(waiting);
            }
            line.end(name, []);
        }
    }
}

/// Some leave, some are served, some come, at every place of a long line.
#[test]
fn costs_stay_in_a_line_that_changes() {
    for few in [true, false] {
        for count in STANDING {
            let mut rng = StdRng::seed_from_u64(3);
            let mut line = Counted::new(few);
            let mut standing = (0..count).map(|_| line.wait()).collect::<VecDeque<_>>();
            for _ in 0..STORM / 4 {
                match rng.random_range(0..4) {
                    0 if !standing.is_empty() => {
                        let place = rng.random_range(0..standing.len());
                        let waiting = standing.remove(place).expect("it is there");
                        line.leave(waiting);
                    }
                    1 if !standing.is_empty() => {
                        let first = standing.pop_front().expect("it is there");
                        line.serve(first);
                    }
                    2 if !standing.is_empty() => {
                        let place = rng.random_range(0..standing.len());
                        assert!(line.count("park", |line| line.park(&standing[place])));
                    }
                    _ => {
                        let waiting = line.wait();
                        standing.push_back(waiting);
                    }
                }
            }
            line.end(&format!("{count}, changing"), standing);
        }
    }
}
