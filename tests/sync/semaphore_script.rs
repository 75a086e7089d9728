//! Every short script of acquire, poll, drop, give back, add and close, and long random ones, against a sequential model:
//! a number and a line (M2, M6).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::Poll;

use leno::sync::{Acquire, Permit, Semaphore};

use crate::script::{self, Futures, Subject};

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Makes a future for so many, and polls it.
    Acquire(u32),
    Try(u32),
    Poll(usize),
    Cancel(usize),
    /// Drops a permit that is held.
    Release(usize),
    Add(usize),
    Forget(usize),
    Close,
}

/// What the model knows of one future.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    Waits,
    Granted,
    Closed,
}

struct Run<'a> {
    semaphore: &'a Semaphore,
    /// Whether the script may close it.
    closes: bool,
    futures: Futures<Acquire<'a>>,
    held: Vec<Permit<'a>>,
    // The model.
    free: usize,
    line: VecDeque<usize>,
    stages: Vec<(u32, Stage)>,
    closed: bool,
}

struct Semaphores;

impl Subject for Semaphores {
    type Primitive = Semaphore;
    type Step = Step;
    type Run<'a> = Run<'a>;

    fn primitive(number: usize) -> Semaphore {
        Semaphore::new(number % 5)
    }

    fn run(semaphore: &Semaphore, number: usize) -> Run<'_> {
        Run {
            semaphore,
            closes: number % 3 == 2,
            futures: Futures::new(),
            held: Vec::new(),
            free: semaphore.available_permits(),
            line: VecDeque::new(),
            stages: Vec::new(),
            closed: false,
        }
    }
}

impl script::Run for Run<'_> {
    type Step = Step;

    fn choices(&self, most: usize) -> Vec<Step> {
        let mut steps = vec![Step::Try(1), Step::Try(2), Step::Add(1)];
        if self.futures.live().count() < most {
            steps.extend([Step::Acquire(1), Step::Acquire(2), Step::Acquire(3)]);
        }
        steps.extend(self.futures.live().flat_map(|i| [Step::Poll(i), Step::Cancel(i)]));
        steps.extend((0..self.held.len().min(2)).map(Step::Release));
        if !self.closed {
            steps.push(Step::Forget(1));
            steps.extend(self.closes.then_some(Step::Close));
        }
        steps
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Acquire(n) => {
                let i = self.futures.add(self.semaphore.acquire_many(n));
                let stage = if self.closed {
                    Stage::Closed
                } else if self.line.is_empty() && self.free >= n as usize {
                    self.free -= n as usize;
                    Stage::Granted
                } else {
                    self.line.push_back(i);
                    Stage::Waits
                };
                self.stages.push((n, stage));
                self.poll(i);
            }
            Step::Try(n) => {
                let expected = !self.closed && self.line.is_empty() && self.free >= n as usize;
                let permit = self.semaphore.try_acquire_many(n).ok();
                assert_eq!(permit.is_some(), expected, "try_acquire_many({n})");
                if let Some(permit) = permit {
                    self.free -= n as usize;
                    self.held.push(permit);
                }
            }
            Step::Poll(i) => self.poll(i),
            Step::Cancel(i) => {
                drop(self.futures.take(i));
                match self.stages[i] {
                    (_, Stage::Waits) => self.line.retain(|other| *other != i),
                    (n, Stage::Granted) => self.free += n as usize,
                    (_, Stage::Closed) => {}
                }
                self.serve();
            }
            Step::Release(i) => {
                let permit = self.held.swap_remove(i);
                self.free += permit.num_permits();
                drop(permit);
                self.serve();
            }
            Step::Add(n) => {
                self.semaphore.add_permits(n);
                self.free += n;
                self.serve();
            }
            Step::Forget(n) => {
                let expected = n.min(self.free);
                assert_eq!(self.semaphore.forget_permits(n), expected, "forget_permits({n})");
                self.free -= expected;
            }
            Step::Close => {
                assert!(self.semaphore.close(), "the first time");
                self.closed = true;
                for waiting in std::mem::take(&mut self.line) {
                    self.stages[waiting].1 = Stage::Closed;
                }
            }
        }
    }

    fn check(&self) {
        assert_eq!(self.semaphore.available_permits(), self.free, "M6");
        self.futures.check(|i| self.stages[i].1 != Stage::Waits);
        self.semaphore.assert_valid();
    }

    fn last(&self) -> Option<Step> {
        let held = (!self.held.is_empty()).then_some(Step::Release(0));
        self.futures.live().next().map(Step::Cancel).or(held)
    }
}

impl Run<'_> {
    /// The model: serves who can be.
    fn serve(&mut self) {
        while let Some(&first) = self.line.front() {
            let want = self.stages[first].0 as usize;
            if want > self.free {
                return;
            }
            self.free -= want;
            self.stages[first].1 = Stage::Granted;
            self.line.pop_front();
        }
    }

    fn poll(&mut self, i: usize) {
        let polled = self.futures.poll(i, |acquire, cx| Pin::new(acquire).poll(cx));
        match (polled, self.stages[i].1) {
            (Poll::Pending, Stage::Waits) => {}
            (Poll::Ready(Ok(permit)), Stage::Granted) => {
                assert_eq!(permit.num_permits(), self.stages[i].0 as usize);
                self.held.push(permit);
            }
            (Poll::Ready(Err(_)), Stage::Closed) => {}
            (polled, stage) => panic!("{i} is {stage:?}, and {polled:?}"),
        }
    }
}

#[test]
fn all_short_scripts() {
    script::all_short::<Semaphores>();
}

#[test]
fn long_random_scripts() {
    script::long_random::<Semaphores>(0x5e3a);
}
