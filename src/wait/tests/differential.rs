//! Scripts of steps on the line and on a plain reference, which have to agree after every one: all short scripts, and
//! long random ones.

use std::collections::VecDeque;
use std::thread;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use super::{Bare, SIDES, Waiting, scale};
use crate::prim::FEW_CELLS;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    Enter(usize),
    Pop(usize),
    /// The one at this place of those who wait leaves: so many eighths of the way to the last.
    Leave(usize),
    /// It parks another waker.
    Park(usize),
}

const STEPS: [Step; 8] = [
    Step::Enter(0),
    Step::Enter(1),
    Step::Pop(0),
    Step::Pop(1),
    Step::Leave(0),
    Step::Leave(4),
    Step::Leave(8),
    Step::Park(4),
];

/// The line beside its reference.
struct Both {
    line: Bare,
    /// Who waits, all on one side.
    reference: VecDeque<Waiting>,
    next: usize,
}

impl Both {
    fn new(line: Bare) -> Both {
        Both { line, reference: VecDeque::new(), next: 1 }
    }

    fn place(&self, eighths: usize) -> Option<usize> {
        Some(self.reference.len().checked_sub(1)? * eighths / 8)
    }

    fn step(&mut self, step: Step) {
        let side = self.reference.front().map(|first| first.side);
        match step {
            Step::Enter(at) => {
                let waiting = Waiting::new(SIDES[at], self.next);
                self.next += 1;
                let waits = self.line.wait(&waiting);
                assert_eq!(waits, side.is_none_or(|side| side == SIDES[at]), "it waits unless the others do");
                if waits { self.reference.push_back(waiting) } else { waiting.free() }
            }
            Step::Pop(at) => {
                let first = if side == Some(SIDES[at]) { self.reference.pop_front() } else { None };
                assert_eq!(
                    self.line.serve(SIDES[at]),
                    first.as_ref().map(|first| first.number),
                    "the first one"
                );
                if let Some(first) = first {
                    first.end();
                }
            }
            Step::Leave(eighths) => {
                if let Some(waiting) = self.place(eighths).and_then(|place| self.reference.remove(place)) {
                    assert!(self.line.leave(&waiting), "{} waits, so that it can leave", waiting.number);
                    waiting.free();
                }
            }
            Step::Park(eighths) => {
                if let Some(place) = self.place(eighths) {
                    assert!(self.line.park(&self.reference[place]), "it waits");
                }
            }
        }
        assert_eq!(
            super::Primitive::assert_valid(&self.line),
            self.reference.len(),
            "all wait, and nobody else"
        );
    }

    fn end(mut self) {
        while !self.reference.is_empty() {
            self.step(Step::Pop(0));
            self.step(Step::Pop(1));
        }
    }
}

/// Runs a script; if it fails, says which.
fn run(few: bool, before: usize, script: &[Step]) {
    struct Told<'a>(bool, usize, &'a [Step]);
    impl Drop for Told<'_> {
        fn drop(&mut self) {
            if thread::panicking() {
                eprintln!("few: {}; {} wait; {:?}", self.0, self.1, self.2);
            }
        }
    }
    let _told = Told(few, before, script);
    let mut both = Both::new(Bare::new(few));
    (0..before).for_each(|_| both.step(Step::Enter(0)));
    script.iter().for_each(|step| both.step(*step));
    both.end();
}

fn all_scripts(few: bool, before: usize, len: usize) {
    for mut number in 0..STEPS.len().pow(len as u32) {
        let script = std::iter::repeat_with(|| {
            let step = STEPS[number % STEPS.len()];
            number /= STEPS.len();
            step
        });
        run(few, before, &script.take(len).collect::<Vec<_>>());
    }
}

#[test]
fn short_scripts_in_an_empty_line() {
    for few in [true, false] {
        all_scripts(few, 0, if scale() > 1 { 7 } else { 5 });
    }
}

/// One, all but one cell taken, all, and the first of the list.
#[test]
fn short_scripts_where_the_list_begins() {
    for before in [1, FEW_CELLS, FEW_CELLS + 1, FEW_CELLS + 2] {
        all_scripts(true, before, if scale() > 1 { 5 } else { 4 });
    }
}

/// Lines that grow to `most` and become empty again, many times.
pub(super) fn grows_and_shrinks(line: Bare, most: usize, steps: usize, seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    let mut both = Both::new(line);
    let mut grows = true;
    for _ in 0..steps {
        grows = match both.reference.len() {
            0 => true,
            len if len >= most => false,
            _ => grows,
        };
        let side = both.reference.front().map_or(rng.random_range(0..2), |first| (first.side != 0).into());
        let step = match rng.random_range(0..20) {
            0 => Step::Pop(1 - side),
            1 => Step::Enter(1 - side),
            2 | 3 => Step::Park(rng.random_range(0..=8)),
            4..7 => Step::Leave(rng.random_range(0..=8)),
            7..10 => Step::Pop(side),
            10..18 if grows => Step::Enter(side),
            _ if grows => Step::Leave(0),
            10..13 => Step::Enter(side),
            13..16 => Step::Leave(8),
            _ => Step::Pop(side),
        };
        both.step(step);
    }
    both.end();
}

#[test]
fn long_random_scripts() {
    for few in [true, false] {
        for (seed, most) in [(1, 3), (2, FEW_CELLS), (3, FEW_CELLS + 3), (4, 40), (5, 1000)] {
            grows_and_shrinks(Bare::new(few), most, 10_000 * scale(), seed);
        }
    }
}
