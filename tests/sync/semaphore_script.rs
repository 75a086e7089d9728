//! Every short script of acquire, poll, drop, give back, add and close, and long random ones, against a sequential model:
//! a number and a line (M2, M6).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use leno::sync::{Acquire, Permit, Semaphore};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::CountingWaker;

#[derive(Clone, Copy, Debug)]
enum Step {
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
    futures: Vec<Option<(Acquire<'a>, Arc<CountingWaker>)>>,
    held: Vec<Permit<'a>>,
    // The model.
    free: usize,
    line: VecDeque<usize>,
    stages: Vec<(u32, Stage)>,
    closed: bool,
    script: Vec<Step>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:?}", self.script);
        }
    }
}

impl<'a> Run<'a> {
    fn new(semaphore: &'a Semaphore) -> Self {
        Run {
            semaphore,
            futures: Vec::new(),
            held: Vec::new(),
            free: semaphore.available_permits(),
            line: VecDeque::new(),
            stages: Vec::new(),
            closed: false,
            script: Vec::new(),
        }
    }

    fn choices(&self, most: usize) -> Vec<Step> {
        let mut steps = vec![Step::Try(1), Step::Try(2), Step::Add(1)];
        if self.futures.iter().flatten().count() < most {
            steps.extend([Step::Acquire(1), Step::Acquire(2), Step::Acquire(3)]);
        }
        let live = (0..self.futures.len()).filter(|&i| self.futures[i].is_some());
        steps.extend(live.flat_map(|i| [Step::Poll(i), Step::Cancel(i)]));
        steps.extend((0..self.held.len().min(2)).map(Step::Release));
        if !self.closed {
            steps.extend([Step::Forget(1), Step::Close]);
        }
        steps
    }

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

    fn step(&mut self, step: Step) {
        self.script.push(step);
        match step {
            Step::Acquire(n) => {
                let i = self.futures.len();
                self.futures.push(Some((self.semaphore.acquire_many(n), CountingWaker::new())));
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
                self.futures[i] = None;
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
        self.check();
    }

    fn poll(&mut self, i: usize) {
        let counting = CountingWaker::new();
        let waker = Waker::from(Arc::clone(&counting));
        let (future, last) = self.futures[i].as_mut().expect("chosen");
        let polled = Pin::new(future).poll(&mut Context::from_waker(&waker));
        *last = counting;
        match (polled, self.stages[i].1) {
            (Poll::Pending, Stage::Waits) => return,
            (Poll::Ready(Ok(permit)), Stage::Granted) => {
                assert_eq!(permit.num_permits(), self.stages[i].0 as usize);
                self.held.push(permit);
            }
            (Poll::Ready(Err(_)), Stage::Closed) => {}
            (polled, stage) => panic!("{i} is {stage:?}, and {polled:?}"),
        }
        self.futures[i] = None;
    }

    fn check(&self) {
        assert_eq!(self.semaphore.available_permits(), self.free, "M6");
        for (i, future) in self.futures.iter().enumerate() {
            if let Some((_, woken)) = future {
                assert_eq!(
                    woken.was_woken(),
                    self.stages[i].1 != Stage::Waits,
                    "{i} is woken if it can go on"
                );
            }
        }
        self.semaphore.assert_valid();
    }

    fn finish(mut self) {
        for i in 0..self.futures.len() {
            if self.futures[i].is_some() {
                self.step(Step::Cancel(i));
            }
        }
        while !self.held.is_empty() {
            self.step(Step::Release(0));
        }
    }
}

fn run_all(script: &mut Vec<Step>, depth: usize) -> usize {
    let semaphore = Semaphore::new(2);
    let mut run = Run::new(&semaphore);
    script.iter().for_each(|step| run.step(*step));
    let choices = run.choices(3);
    run.finish();
    if script.len() == depth {
        return 1;
    }
    let mut count = 0;
    for step in choices {
        script.push(step);
        count += run_all(script, depth);
        script.pop();
    }
    count
}

fn scale() -> usize {
    std::env::var("LENO_STRESS").ok().and_then(|n| n.parse().ok()).unwrap_or(1)
}

#[test]
fn all_short_scripts() {
    let count = run_all(&mut Vec::new(), if scale() > 1 { 6 } else { 5 });
    assert!(count > 10_000, "the enumeration is not empty: {count} scripts");
}

#[test]
fn long_random_scripts() {
    let mut rng = StdRng::seed_from_u64(0x5e3a);
    for round in 0..300 * scale() {
        let semaphore = Semaphore::new(round % 5);
        let mut run = Run::new(&semaphore);
        let closes = rng.random_bool(0.3);
        for _ in 0..rng.random_range(20..200) {
            let mut choices = run.choices(4 + round % 30);
            choices.retain(|step| closes || !matches!(step, Step::Close));
            run.step(choices[rng.random_range(0..choices.len())]);
        }
        run.finish();
    }
}
