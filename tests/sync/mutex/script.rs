//! Differential test: every short script of lock, poll, drop, unlock and `try_lock` steps, and long random ones,
//! against a sequential model of each policy (M1–M4).

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use leno::sync::{Lock, Mutex, MutexGuard};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{CountingWaker, scale};

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Creates a lock future and polls it.
    Lock,
    Poll(usize),
    Cancel(usize),
    TryLock,
    Unlock,
    UnlockFair,
}

/// Who has the lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Holder {
    Nobody,
    /// The script holds a guard.
    Script,
    /// Handed to a waiter that has not run yet.
    Granted(usize),
    /// A waiter that was handed the lock by `unlock_fair` went: either nobody has it, or the next waiter (M2
    /// leaves that to the default policy). The next step shows which.
    NobodyOr(usize),
}

struct Run<'a> {
    mutex: &'a Mutex<u32>,
    fair: bool,
    guard: Option<MutexGuard<'a, u32>>,
    locks: Vec<Option<(Lock<'a, u32>, Arc<CountingWaker>)>>,
    // The model: who holds, and who waits, in order.
    holder: Holder,
    queue: Vec<usize>,
    /// Waiters of a barging mutex that may have been woken and have not been polled since: `unlock_fair` need not
    /// reach them.
    told: Vec<usize>,
    script: Vec<Step>,
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: fair: {}, script: {:?}", self.fair, self.script);
        }
    }
}

impl<'a> Run<'a> {
    fn new(mutex: &'a Mutex<u32>, fair: bool) -> Self {
        Run {
            mutex,
            fair,
            guard: None,
            locks: Vec::new(),
            holder: Holder::Nobody,
            queue: Vec::new(),
            told: Vec::new(),
            script: Vec::new(),
        }
    }

    fn live(&self) -> Vec<usize> {
        (0..self.locks.len()).filter(|&i| self.locks[i].is_some()).collect()
    }

    fn choices(&self, most_live: usize) -> Vec<Step> {
        let mut steps = vec![Step::TryLock];
        let live = self.live();
        if live.len() < most_live {
            steps.push(Step::Lock);
        }
        if self.guard.is_some() {
            steps.push(Step::Unlock);
            if !self.queue.iter().any(|waiter| self.told.contains(waiter)) {
                steps.push(Step::UnlockFair);
            }
        }
        steps.extend(live.into_iter().flat_map(|i| [Step::Poll(i), Step::Cancel(i)]));
        steps
    }

    fn step(&mut self, step: Step) {
        self.script.push(step);
        match step {
            Step::Lock => {
                self.locks.push(Some((self.mutex.lock(), CountingWaker::new())));
                self.poll(self.locks.len() - 1);
            }
            Step::Poll(i) => self.poll(i),
            Step::Cancel(i) => {
                self.locks[i] = None;
                self.queue.retain(|&other| other != i);
                match self.holder {
                    Holder::Granted(granted) if granted == i => self.pass_on(),
                    Holder::NobodyOr(maybe) if maybe == i => {
                        self.holder =
                            self.queue.first().map_or(Holder::Nobody, |&next| Holder::NobodyOr(next));
                    }
                    _ => {}
                }
            }
            Step::TryLock => {
                let guard = self.mutex.try_lock();
                self.decide(guard.is_some());
                let expected = self.holder == Holder::Nobody;
                assert_eq!(guard.is_some(), expected, "try_lock; {:?} has the lock", self.holder);
                if guard.is_some() {
                    self.guard = guard;
                    self.holder = Holder::Script;
                }
            }
            Step::Unlock => {
                self.guard = None;
                self.holder = Holder::Nobody;
                if self.fair {
                    self.grant();
                }
            }
            Step::UnlockFair => {
                MutexGuard::unlock_fair(self.guard.take().expect("chosen"));
                self.holder = Holder::Nobody;
                self.grant();
            }
        }
        if !self.fair && matches!(step, Step::Unlock | Step::Cancel(_)) {
            self.told.clone_from(&self.queue);
        }
        self.check();
    }

    /// M4: the first in the queue has the lock.
    fn grant(&mut self) {
        if !self.queue.is_empty() {
            self.holder = Holder::Granted(self.queue.remove(0));
        }
    }

    /// M2: a granted waiter went.
    fn pass_on(&mut self) {
        self.holder = Holder::Nobody;
        if self.fair {
            self.grant();
        } else if let Some(&next) = self.queue.first() {
            self.holder = Holder::NobodyOr(next);
        }
    }

    /// Resolves `NobodyOr` by whether somebody else could lock.
    fn decide(&mut self, was_free: bool) {
        if let Holder::NobodyOr(_) = self.holder {
            self.holder = Holder::Nobody;
            if !was_free {
                self.grant();
            }
        }
    }

    fn poll(&mut self, i: usize) {
        let counting = CountingWaker::new();
        let waker = Waker::from(Arc::clone(&counting));
        let (lock, last) = self.locks[i].as_mut().expect("chosen");
        match Pin::new(lock).poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(guard) => {
                if self.holder != Holder::NobodyOr(i) {
                    self.decide(true);
                }
                let allowed = [Holder::Nobody, Holder::Granted(i), Holder::NobodyOr(i)];
                assert!(
                    allowed.contains(&self.holder),
                    "M1: lock {i} is ready; {:?} has the lock",
                    self.holder
                );
                self.queue.retain(|&other| other != i);
                self.locks[i] = None;
                self.guard = Some(guard);
                self.holder = Holder::Script;
            }
            Poll::Pending => {
                // Who was told in vain waits again at the back.
                if last.was_woken() && !self.fair {
                    self.queue.retain(|&other| other != i);
                }
                *last = counting;
                self.told.retain(|&other| other != i);
                self.decide(false);
                let excuse = matches!(self.holder, Holder::Script | Holder::Granted(_));
                assert!(excuse && self.holder != Holder::Granted(i), "M3: lock {i} waits; {:?}", self.holder);
                if !self.queue.contains(&i) {
                    self.queue.push(i);
                }
            }
        }
    }

    /// Whoever has the lock, or is first in the queue of a free one, was woken since it was last pending.
    fn check(&self) {
        let must = match self.holder {
            Holder::Script => None,
            Holder::Granted(i) | Holder::NobodyOr(i) => Some(i),
            Holder::Nobody => self.queue.first().copied(),
        };
        if let Some((i, (_, waker))) = must.and_then(|i| Some((i, self.locks[i].as_ref()?))) {
            assert!(waker.was_woken(), "M2: lock {i} can go on and was not woken");
        }
    }

    fn finish(mut self, unlock_first: bool) {
        let mut steps = self.live().into_iter().map(Step::Cancel).collect::<Vec<_>>();
        if self.guard.is_some() {
            steps.insert(if unlock_first { 0 } else { steps.len() }, Step::Unlock);
        }
        steps.into_iter().for_each(|step| self.step(step));
        assert!(self.mutex.try_lock().is_some(), "M2: nobody has the lock any more");
    }
}

fn make(fair: bool) -> Mutex<u32> {
    if fair { Mutex::fair(0) } else { Mutex::new(0) }
}

fn run_all(fair: bool, script: &mut Vec<Step>, depth: usize) -> usize {
    let mut choices = Vec::new();
    for unlock_first in [true, false] {
        let mutex = make(fair);
        let mut run = Run::new(&mutex, fair);
        script.iter().for_each(|step| run.step(*step));
        choices = run.choices(depth);
        run.finish(unlock_first);
    }
    if script.len() == depth {
        return 1;
    }
    let mut count = 0;
    for step in choices {
        script.push(step);
        count += run_all(fair, script, depth);
        script.pop();
    }
    count
}

fn all_short_scripts(fair: bool) {
    let count = run_all(fair, &mut Vec::new(), if scale() > 1 { 8 } else { 6 });
    assert!(count > 1000, "the enumeration is not empty: {count} scripts");
}

fn long_random_scripts(fair: bool) {
    let mut rng = StdRng::seed_from_u64(0x10c4);
    for round in 0..300 * scale() {
        let mutex = make(fair);
        let mut run = Run::new(&mutex, fair);
        for _ in 0..rng.random_range(20..200) {
            let choices = run.choices(4 + round % 30);
            run.step(choices[rng.random_range(0..choices.len())]);
        }
        run.finish(rng.random_bool(0.5));
    }
}

#[test]
fn all_short_scripts_of_the_default_policy() {
    all_short_scripts(false);
}

#[test]
fn all_short_scripts_of_the_fair_policy() {
    all_short_scripts(true);
}

#[test]
fn random_scripts_of_the_default_policy() {
    long_random_scripts(false);
}

#[test]
fn random_scripts_of_the_fair_policy() {
    long_random_scripts(true);
}
