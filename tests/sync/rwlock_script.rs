//! Every short script of read, write, upgradable read, upgrade, downgrade, poll, drop and unlock, and long random ones, against a
//! sequential model: who has the lock, who stands in line, who upgrades (M1, M2, M4).

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use leno::sync::{
    Read, RwLock, RwLockReadGuard, RwLockUpgradableReadGuard, RwLockWriteGuard, UpgradableRead, Upgrade,
    Write,
};

use crate::script::{self, Futures, Subject};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    Upgradable,
    /// Of the one who has the upgradable guard.
    Upgrade,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Step {
    /// Makes a future, and polls it.
    Begin(Kind),
    Try(Kind),
    Poll(usize),
    Cancel(usize),
    /// Gives up an upgrade, and reads on.
    Back(usize),
    Unlock(usize),
    /// To a reader, of a writer or an upgradable reader.
    Downgrade(usize),
    DowngradeToUpgradable(usize),
}

enum Waiting<'a> {
    Read(Read<'a, u32>),
    Write(Write<'a, u32>),
    Upgradable(UpgradableRead<'a, u32>),
    Upgrade(Upgrade<'a, u32>),
}

enum Guard<'a> {
    Read(#[allow(dead_code, reason = "held")] RwLockReadGuard<'a, u32>),
    Write(RwLockWriteGuard<'a, u32>),
    Upgradable(RwLockUpgradableReadGuard<'a, u32>),
}

impl<'a> Waiting<'a> {
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Guard<'a>> {
        match self {
            Waiting::Read(future) => Pin::new(future).poll(cx).map(Guard::Read),
            Waiting::Write(future) => Pin::new(future).poll(cx).map(Guard::Write),
            Waiting::Upgradable(future) => Pin::new(future).poll(cx).map(Guard::Upgradable),
            Waiting::Upgrade(future) => Pin::new(future).poll(cx).map(Guard::Write),
        }
    }
}

struct Run<'a> {
    lock: &'a RwLock<u32>,
    futures: Futures<Waiting<'a>>,
    guards: Vec<Guard<'a>>,
    // The model: guards and granted futures count alike.
    readers: usize,
    upgradable: bool,
    writer: bool,
    upgrading: Option<usize>,
    line: VecDeque<usize>,
    granted: Vec<(Kind, bool)>,
}

struct Locks;

impl Subject for Locks {
    type Primitive = RwLock<u32>;
    type Step = Step;
    type Run<'a> = Run<'a>;

    fn primitive(_number: usize) -> RwLock<u32> {
        RwLock::new(0)
    }

    fn run(lock: &RwLock<u32>, _number: usize) -> Run<'_> {
        Run {
            lock,
            futures: Futures::new(),
            guards: Vec::new(),
            readers: 0,
            upgradable: false,
            writer: false,
            upgrading: None,
            line: VecDeque::new(),
            granted: Vec::new(),
        }
    }
}

impl<'a> Run<'a> {
    fn upgradable_guard(&self) -> Option<usize> {
        self.guards.iter().position(|guard| matches!(guard, Guard::Upgradable(_)))
    }

    fn can(&self, kind: Kind) -> bool {
        match kind {
            Kind::Upgrade => self.readers == 0,
            _ if self.writer || self.upgrading.is_some() => false,
            Kind::Read => true,
            Kind::Upgradable => !self.upgradable,
            Kind::Write => self.readers == 0 && !self.upgradable,
        }
    }

    fn take(&mut self, kind: Kind) {
        match kind {
            Kind::Read => self.readers += 1,
            Kind::Upgradable => self.upgradable = true,
            Kind::Write => self.writer = true,
            Kind::Upgrade => (self.upgradable, self.writer) = (false, true),
        }
    }

    fn release(&mut self, guard: &Guard<'a>) {
        match guard {
            Guard::Read(_) => self.readers -= 1,
            Guard::Write(_) => self.writer = false,
            Guard::Upgradable(_) => self.upgradable = false,
        }
    }

    fn serve(&mut self) {
        if let Some(i) = self.upgrading {
            if !self.can(Kind::Upgrade) {
                return;
            }
            self.upgrading = None;
            self.take(Kind::Upgrade);
            self.granted[i].1 = true;
        }
        while let Some(&first) = self.line.front() {
            let kind = self.granted[first].0;
            if !self.can(kind) {
                return;
            }
            self.take(kind);
            self.granted[first].1 = true;
            self.line.pop_front();
        }
    }

    fn begin(&mut self, kind: Kind) {
        let i = self.futures.next();
        let waiting = match kind {
            Kind::Read => Waiting::Read(self.lock.read()),
            Kind::Write => Waiting::Write(self.lock.write()),
            Kind::Upgradable => Waiting::Upgradable(self.lock.upgradable_read()),
            Kind::Upgrade => {
                let at = self.upgradable_guard().expect("chosen");
                let Guard::Upgradable(guard) = self.guards.swap_remove(at) else { unreachable!() };
                Waiting::Upgrade(RwLockUpgradableReadGuard::upgrade(guard))
            }
        };
        self.futures.add(waiting);
        self.granted.push((kind, false));
        if kind == Kind::Upgrade {
            self.upgrading = Some(i);
        } else {
            self.line.push_back(i);
        }
        self.serve();
        self.poll(i);
    }

    fn try_now(&mut self, kind: Kind) {
        let expected = self.can(kind) && (kind == Kind::Upgrade || self.line.is_empty());
        let guard = match kind {
            Kind::Read => self.lock.try_read().map(Guard::Read),
            Kind::Write => self.lock.try_write().map(Guard::Write),
            Kind::Upgradable => self.lock.try_upgradable_read().map(Guard::Upgradable),
            Kind::Upgrade => {
                let at = self.upgradable_guard().expect("chosen");
                let Guard::Upgradable(guard) = self.guards.swap_remove(at) else { unreachable!() };
                match RwLockUpgradableReadGuard::try_upgrade(guard) {
                    Ok(guard) => Some(Guard::Write(guard)),
                    Err(guard) => {
                        self.guards.push(Guard::Upgradable(guard));
                        None
                    }
                }
            }
        };
        assert_eq!(guard.is_some(), expected, "try {kind:?}");
        if let Some(guard) = guard {
            self.take(kind);
            self.guards.push(guard);
        }
    }

    /// Drops a future, or takes its guard out.
    fn leave(&mut self, i: usize, back: bool) {
        let waiting = self.futures.take(i);
        let (kind, granted) = self.granted[i];
        if granted {
            match kind {
                Kind::Read => self.readers -= 1,
                Kind::Write => self.writer = false,
                Kind::Upgradable => self.upgradable = false,
                Kind::Upgrade => (self.writer, self.upgradable) = (false, back),
            }
        } else if kind == Kind::Upgrade {
            self.upgrading = None;
            self.upgradable = back;
        } else {
            self.line.retain(|other| *other != i);
        }
        match waiting {
            Waiting::Upgrade(upgrade) if back => {
                self.guards.push(Guard::Upgradable(upgrade.into_guard().expect("it has not completed")));
            }
            waiting => drop(waiting),
        }
        self.serve();
    }

    fn poll(&mut self, i: usize) {
        let polled = self.futures.poll(i, Waiting::poll);
        let granted = self.granted[i];
        assert_eq!(polled.is_ready(), granted.1, "{i} is {granted:?}");
        if let Poll::Ready(guard) = polled {
            self.guards.push(guard);
        }
    }
}

impl script::Run for Run<'_> {
    type Step = Step;

    fn choices(&self, most: usize) -> Vec<Step> {
        let kinds = [Kind::Read, Kind::Write, Kind::Upgradable];
        let mut steps = kinds.map(Step::Try).to_vec();
        let is_few = self.futures.live().count() < most;
        if is_few {
            steps.extend(kinds.map(Step::Begin));
        }
        if self.upgradable_guard().is_some() {
            steps.push(Step::Try(Kind::Upgrade));
            if is_few {
                steps.push(Step::Begin(Kind::Upgrade));
            }
        }
        for i in self.futures.live() {
            steps.extend([Step::Poll(i), Step::Cancel(i)]);
            if self.granted[i].0 == Kind::Upgrade {
                steps.push(Step::Back(i));
            }
        }
        for (i, guard) in self.guards.iter().enumerate() {
            steps.push(Step::Unlock(i));
            match guard {
                Guard::Read(_) => {}
                Guard::Upgradable(_) => steps.push(Step::Downgrade(i)),
                Guard::Write(_) => steps.extend([Step::Downgrade(i), Step::DowngradeToUpgradable(i)]),
            }
        }
        steps
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::Begin(kind) => self.begin(kind),
            Step::Try(kind) => self.try_now(kind),
            Step::Poll(i) => self.poll(i),
            Step::Cancel(i) => self.leave(i, false),
            Step::Back(i) => self.leave(i, true),
            Step::Unlock(i) => {
                let guard = self.guards.swap_remove(i);
                self.release(&guard);
                drop(guard);
                self.serve();
            }
            Step::Downgrade(i) | Step::DowngradeToUpgradable(i) => {
                let guard = self.guards.swap_remove(i);
                self.release(&guard);
                let guard = match (guard, step) {
                    (Guard::Write(guard), Step::Downgrade(_)) => {
                        Guard::Read(RwLockWriteGuard::downgrade(guard))
                    }
                    (Guard::Write(guard), _) => {
                        Guard::Upgradable(RwLockWriteGuard::downgrade_to_upgradable(guard))
                    }
                    (Guard::Upgradable(guard), _) => Guard::Read(RwLockUpgradableReadGuard::downgrade(guard)),
                    _ => unreachable!("chosen"),
                };
                self.take(if matches!(guard, Guard::Read(_)) { Kind::Read } else { Kind::Upgradable });
                self.guards.push(guard);
                self.serve();
            }
        }
    }

    fn check(&self) {
        self.futures.check(|i| self.granted[i].1);
        self.lock.assert_valid();
    }

    fn last(&self) -> Option<Step> {
        let held = (!self.guards.is_empty()).then_some(Step::Unlock(0));
        self.futures.live().next().map(Step::Cancel).or(held)
    }

    fn assert_over(&self) {
        self.lock.assert_free();
    }
}

#[test]
fn all_short_scripts() {
    script::all_short::<Locks>();
}

#[test]
fn long_random_scripts() {
    script::long_random::<Locks>(0x10c);
}
