//! Scripts against a sequential model: every short one, and long random ones. What a step does, to the primitive and to the
//! model, a [`Run`] says; the rest is here.

use std::fmt::Debug;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{CountingWaker, scale};

/// A primitive, and how it is run.
pub(crate) trait Subject {
    type Primitive;
    type Step: Copy + Debug;
    type Run<'a>: Run<Step = Self::Step>
    where
        Self::Primitive: 'a;

    /// One for the so-manieth script; the short ones are number 2.
    fn primitive(number: usize) -> Self::Primitive;

    fn run(primitive: &Self::Primitive, number: usize) -> Self::Run<'_>;
}

/// A primitive and its model, side by side.
pub(crate) trait Run {
    type Step: Copy + Debug;

    /// What can be done now, with so many futures at most.
    fn choices(&self, most: usize) -> Vec<Self::Step>;

    /// Does it to both.
    fn step(&mut self, step: Self::Step);

    /// Panics if the two are not alike.
    fn check(&self);

    /// A step that leads to the end, where nobody waits or holds anything.
    fn last(&self) -> Option<Self::Step>;

    /// There is no such step any more.
    fn assert_over(&self) {}
}

/// The futures of a script, each with the waker of its last poll.
pub(crate) struct Futures<F>(Vec<Option<(F, Arc<CountingWaker>)>>);

impl<F> Futures<F> {
    pub(crate) fn new() -> Self {
        Futures(Vec::new())
    }

    /// The number of the next one.
    pub(crate) fn next(&self) -> usize {
        self.0.len()
    }

    pub(crate) fn add(&mut self, future: F) -> usize {
        self.0.push(Some((future, CountingWaker::new())));
        self.0.len() - 1
    }

    /// The numbers of those that have neither ended nor were taken out.
    pub(crate) fn live(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.0.len()).filter(|i| self.0[*i].is_some())
    }

    pub(crate) fn take(&mut self, i: usize) -> F {
        self.0[i].take().expect("chosen").0
    }

    /// Polls it, with a waker of its own; one that is ready has ended.
    pub(crate) fn poll<T>(
        &mut self,
        i: usize,
        poll: impl FnOnce(&mut F, &mut Context<'_>) -> Poll<T>,
    ) -> Poll<T> {
        let counting = CountingWaker::new();
        let (future, last) = self.0[i].as_mut().expect("chosen");
        let polled = poll(future, &mut Context::from_waker(&Waker::from(Arc::clone(&counting))));
        *last = counting;
        if polled.is_ready() {
            self.0[i] = None;
        }
        polled
    }

    /// Each is woken if it can go on, and not otherwise.
    pub(crate) fn check(&self, can_go_on: impl Fn(usize) -> bool) {
        for (i, future) in self.0.iter().enumerate() {
            if let Some((_, woken)) = future {
                assert_eq!(woken.was_woken(), can_go_on(i), "{i} is woken if it can go on");
            }
        }
    }
}

/// Tells the script if it fails.
struct Script<R: Run> {
    run: R,
    steps: Vec<R::Step>,
}

impl<R: Run> Script<R> {
    fn new(run: R) -> Self {
        Script { run, steps: Vec::new() }
    }

    fn step(&mut self, step: R::Step) {
        self.steps.push(step);
        self.run.step(step);
        self.run.check();
    }

    fn finish(mut self) {
        while let Some(step) = self.run.last() {
            self.step(step);
        }
        self.run.assert_over();
    }
}

impl<R: Run> Drop for Script<R> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {:?}", self.steps);
        }
    }
}

/// Every script of five steps, with three futures at most.
pub(crate) fn all_short<S: Subject>() {
    let count = all_from::<S>(&mut Vec::new(), if scale() > 1 { 6 } else { 5 });
    assert!(count > 10_000, "the enumeration is not empty: {count} scripts");
}

fn all_from<S: Subject>(steps: &mut Vec<S::Step>, depth: usize) -> usize {
    let primitive = S::primitive(2);
    let mut script = Script::new(S::run(&primitive, 2));
    steps.iter().for_each(|step| script.step(*step));
    let choices = script.run.choices(3);
    script.finish();
    if steps.len() == depth {
        return 1;
    }
    let mut count = 0;
    for step in choices {
        steps.push(step);
        count += all_from::<S>(steps, depth);
        steps.pop();
    }
    count
}

/// Long ones, at random.
pub(crate) fn long_random<S: Subject>(seed: u64) {
    let mut rng = StdRng::seed_from_u64(seed);
    for number in 0..300 * scale() {
        let primitive = S::primitive(number);
        let mut script = Script::new(S::run(&primitive, number));
        for _ in 0..rng.random_range(20..200) {
            let choices = script.run.choices(4 + number % 30);
            script.step(choices[rng.random_range(0..choices.len())]);
        }
        script.finish();
    }
}
