//! Random programs with mishaps, on one thread: operations of many kinds, polled with one waker and another, lent to
//! selects inside selects, won and not taken, polled again after a panic, moved, dropped at any point; on channels that close
//! meanwhile, in some of the programs; with wakers that panic when they are cloned, woken or dropped, or call back into what
//! wakes them, and values that panic when they are dropped (C1, C5, C12, C13, C26, C29, M1, M2, M3, M6, S1, S9, S10, S13).
//!
//! In the end: each value was dropped once, and none that was sent before it was received; who lost a select and waits
//! for nothing keeps nobody out; locks are free, permits and room are back; no waker is left.
//!
//! A seed is a program. The one that fails is printed with its steps; `LENO_SEED` runs it alone.

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::{Arc, Weak};
use std::task::{Poll, Waker};

use futures_core::FusedFuture;
use leno::channel::{self, RecvError, SendError, oneshot};
use leno::select::{Operation, Select};
use leno::sync::{self, Barrier, Mutex, MutexGuard, Notify, RwLock, RwLockUpgradableReadGuard, Semaphore};
use leno::{Receiver, Sender, bounded, rendezvous, unbounded};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::support::{Event, PollExt, hooked_waker, scale};

const PERMITS: usize = 3;
/// Selects inside selects, or wakers that call back in what they wake.
const DEEPEST: u32 = 3;

/// What the operations are for. It lives for one program; see `program`.
struct World {
    channels: Vec<(Sender<Value>, Receiver<Value>)>,
    /// Whether some of them are closed before the end.
    closes: bool,
    /// Of oneshots whose receivers are among the operations, or were.
    senders: RefCell<Vec<oneshot::Sender<Value>>>,
    mutexes: [Mutex<()>; 2],
    semaphore: Semaphore,
    lock: RwLock<()>,
    notify: Notify,
    barrier: Barrier,
    /// Guards, permits and results, of which one is dropped now and then.
    held: RefCell<Vec<Box<dyn Any>>>,
    random: RefCell<StdRng>,
    /// The next panic: where, after how many that do not.
    planted: Cell<Option<(Mishap, u32)>>,
    callbacks: Cell<u32>,
    ending: Cell<bool>,
    values: RefCell<Vec<Fate>>,
    wakers: RefCell<Vec<Weak<()>>>,
    steps: RefCell<Vec<String>>,
}

thread_local! {
    static WORLD: Cell<Option<&'static World>> = const { Cell::new(None) };
}

/// The world of the program that runs.
fn world() -> &'static World {
    WORLD.get().expect("nothing outlives its world")
}

/// Where foreign code panics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mishap {
    Waker(Event),
    DropOfValue,
}

#[derive(Clone, Copy, Default)]
struct Fate {
    sent: bool,
    received: bool,
    dropped: bool,
}

/// A value whose fate the world knows.
struct Value(usize);

struct Planted;

impl World {
    fn new(seed: u64) -> World {
        let mut random = StdRng::seed_from_u64(seed);
        World {
            channels: vec![rendezvous(), bounded(1), bounded(2), bounded(300), unbounded()],
            closes: random.random_range(0..4) == 0,
            senders: RefCell::default(),
            mutexes: [Mutex::new(()), Mutex::fair(())],
            semaphore: Semaphore::new(PERMITS),
            lock: RwLock::new(()),
            notify: Notify::new(),
            barrier: Barrier::new(3),
            held: RefCell::default(),
            random: RefCell::new(random),
            planted: Cell::new(None),
            callbacks: Cell::new(0),
            ending: Cell::new(false),
            values: RefCell::default(),
            wakers: RefCell::default(),
            steps: RefCell::default(),
        }
    }

    /// Below `n`.
    fn random(&self, n: usize) -> usize {
        self.random.borrow_mut().random_range(0..n)
    }

    fn one_in(&self, n: usize) -> bool {
        self.random(n) == 0
    }

    fn step(&self, step: impl Into<String>) {
        self.steps.borrow_mut().push(step.into());
    }

    fn value(&self) -> Value {
        let mut values = self.values.borrow_mut();
        values.push(Fate::default());
        Value(values.len() - 1)
    }

    fn sent(&self, id: usize) {
        self.values.borrow_mut()[id].sent = true;
    }

    fn received(&self, value: &Value) {
        let fate = &mut self.values.borrow_mut()[value.0];
        assert!(!fate.received, "C1: {} is received twice", value.0);
        fate.received = true;
    }

    fn hold(&self, outcome: Box<dyn Any>) {
        self.held.borrow_mut().push(outcome);
    }

    fn release(&self) {
        let many = self.held.borrow().len();
        if many > 0 {
            self.step("  releases one");
            let at = self.random(many);
            // (What is dropped may call back.)
            let one = self.held.borrow_mut().swap_remove(at);
            drop(one);
        }
    }

    /// Plants a panic, or none.
    fn plant(&self) {
        let mishap = match self.random(12) {
            0 => Mishap::Waker(Event::Clone),
            1 => Mishap::Waker(Event::Wake),
            2 => Mishap::Waker(Event::Drop),
            3 => Mishap::DropOfValue,
            _ => return self.planted.set(None),
        };
        self.planted.set(Some((mishap, self.random(3) as u32)));
    }

    /// Panics, if that is planted here.
    fn risk(&self, mishap: Mishap) {
        match self.planted.get() {
            Some((planted, 0)) if planted == mishap => {
                self.planted.set(None);
                self.step(format!("  panics: {mishap:?}"));
                resume_unwind(Box::new(Planted));
            }
            Some((planted, n)) if planted == mishap => self.planted.set(Some((planted, n - 1))),
            _ => {}
        }
    }

    fn waker(&self) -> Waker {
        let alive = Arc::new(());
        self.wakers.borrow_mut().push(Arc::downgrade(&alive));
        let calls_back = self.one_in(3);
        hooked_waker(move |event| {
            let _alive = &alive;
            let world = world();
            world.risk(Mishap::Waker(event));
            if calls_back && world.callbacks.get() < DEEPEST && world.one_in(3) && !world.ending.get() {
                world.callbacks.set(world.callbacks.get() + 1);
                let called = catch_unwind(AssertUnwindSafe(|| world.act()));
                world.callbacks.set(world.callbacks.get() - 1);
                called.unwrap_or_else(|panic| resume_unwind(panic));
            }
        })
    }

    /// Something that does not wait.
    fn act(&'static self) {
        let (tx, rx) = &self.channels[self.random(self.channels.len())];
        let what = self.random(16);
        self.step(format!("  acts: {what}, capacity {:?}", tx.capacity()));
        match what {
            0 | 1 => {
                let value = self.value();
                let id = value.0;
                if tx.try_send(value).is_ok() {
                    self.sent(id);
                }
            }
            2 | 3 => drop(rx.try_recv().inspect(|value| self.received(value))),
            4 => drop(self.mutexes[0].try_lock()),
            5 => {
                if let Some(guard) = self.mutexes[self.random(2)].try_lock() {
                    MutexGuard::unlock_fair(guard);
                }
            }
            6 => drop(self.semaphore.try_acquire_many(self.random(4) as u32)),
            7 => {
                if let Some(guard) = self.lock.try_read() {
                    self.hold(Box::new(guard));
                }
            }
            8 => drop(self.lock.try_write()),
            9 => drop(self.lock.try_upgradable_read().map(RwLockUpgradableReadGuard::try_upgrade)),
            10 => self.notify.notify_one(),
            11 => self.notify.notify_waiters(),
            12 if self.closes && self.one_in(8) => drop(tx.close()),
            13 | 14 => {
                let sender = self.senders.borrow_mut().pop();
                if let Some(sender) = sender.filter(|_| what == 13) {
                    drop(sender.send(self.value()));
                }
            }
            _ => self.release(),
        }
    }
}

impl Drop for Value {
    fn drop(&mut self) {
        let fate = {
            let fate = &mut world().values.borrow_mut()[self.0];
            std::mem::replace(fate, Fate { dropped: true, ..*fate })
        };
        if std::thread::panicking() {
            return;
        }
        assert!(!fate.dropped, "C1: {} is dropped twice", self.0);
        assert!(!fate.sent || fate.received || world().ending.get(), "C1: {} was sent, and is lost", self.0);
        world().risk(Mishap::DropOfValue);
    }
}

/// Runs foreign code; `None` if it has panicked as planted.
fn survive<R>(f: impl FnOnce() -> R) -> Option<R> {
    match catch_unwind(AssertUnwindSafe(f)) {
        Ok(result) => Some(result),
        Err(panic) if panic.is::<Planted>() => None,
        Err(panic) => resume_unwind(panic),
    }
}

enum Waits {
    Recv(channel::RecvFuture<'static, Value>),
    Once(oneshot::Receiver<Value>),
    Send(channel::SendFuture<'static, Value>, usize),
    Reserve(channel::Reserve<'static, Value>),
    ReserveMany(channel::ReserveMany<'static, Value>),
    Lock(sync::Lock<'static, ()>),
    Acquire(sync::Acquire<'static>),
    Read(sync::Read<'static, ()>),
    Write(sync::Write<'static, ()>),
    UpgradableRead(sync::UpgradableRead<'static, ()>),
    Upgrade(sync::Upgrade<'static, ()>),
    Notified(sync::Notified<'static>),
    Barrier(sync::WaitForAll<'static>),
}

use Waits::*;

/// Does the same with whatever future it is.
macro_rules! each {
    ($waits:expr, $future:ident => $do:expr) => {
        match $waits {
            Recv($future) => $do,
            Once($future) => $do,
            Send($future, _) => $do,
            Reserve($future) => $do,
            ReserveMany($future) => $do,
            Lock($future) => $do,
            Acquire($future) => $do,
            Read($future) => $do,
            Write($future) => $do,
            UpgradableRead($future) => $do,
            Upgrade($future) => $do,
            Notified($future) => $do,
            Barrier($future) => $do,
        }
    };
}

/// Takes a select's outcome for one of its operations.
type Take<'a> = Box<dyn for<'s> FnOnce(Operation<'s, 'a>) + 'a>;

struct Op {
    world: &'static World,
    waits: Waits,
    /// It was polled by itself, so that it may wait beyond a select that it loses.
    polled: bool,
}

impl Op {
    fn new(world: &'static World) -> Op {
        let (tx, rx) = &world.channels[world.random(world.channels.len())];
        let waits = match world.random(17) {
            0..=2 => Recv(rx.recv()),
            3..=5 => {
                let value = world.value();
                let id = value.0;
                Send(tx.send(value), id)
            }
            6 => Reserve(tx.reserve()),
            7 => ReserveMany(tx.reserve_many(1 + world.random(2))),
            8 | 9 => Lock(world.mutexes[world.random(2)].lock()),
            10 => Acquire(world.semaphore.acquire_many(world.random(4) as u32)),
            11 => Read(world.lock.read()),
            12 => Write(world.lock.write()),
            13 => match world.lock.try_upgradable_read() {
                Some(guard) => Upgrade(RwLockUpgradableReadGuard::upgrade(guard)),
                None => UpgradableRead(world.lock.upgradable_read()),
            },
            14 => Notified(world.notify.notified()),
            15 => {
                let (tx, rx) = oneshot::channel();
                world.senders.borrow_mut().push(tx);
                Once(rx)
            }
            _ => Barrier(world.barrier.wait_for_all()),
        };
        Op { world, waits, polled: false }
    }

    fn name(&self) -> String {
        let debug = each!(&self.waits, future => format!("{future:?}"));
        debug.split([' ', '{', '<']).next().unwrap_or_default().to_owned()
    }

    fn is_done(&self) -> bool {
        each!(&self.waits, future => future.is_terminated())
    }

    fn poll(&mut self, waker: &Waker) -> Poll<()> {
        self.polled = true;
        let world = self.world;
        match &mut self.waits {
            Recv(future) => future.poll_with(waker).map(|received| keep_received(world, received)),
            Once(future) => future.poll_with(waker).map(|received| keep_received(world, received)),
            Send(future, id) => future.poll_with(waker).map(|sent| keep_sent(world, *id, sent)),
            other => {
                each!(other, future => future.poll_with(waker).map(|outcome| world.hold(Box::new(outcome))))
            }
        }
    }

    fn lend<'a>(&'a mut self, set: &mut Select<'a>) -> (usize, Take<'a>) {
        let world = self.world;
        match &mut self.waits {
            Recv(future) => {
                let token = set.add(future);
                (token.index(), Box::new(move |won| keep_received(world, won.output(token))))
            }
            Once(future) => {
                let token = set.add(future);
                (token.index(), Box::new(move |won| keep_received(world, won.output(token))))
            }
            Send(future, id) => {
                let (token, id) = (set.add(future), *id);
                (token.index(), Box::new(move |won| keep_sent(world, id, won.output(token))))
            }
            other => each!(other, future => {
                let token = set.add(future);
                (token.index(), Box::new(move |won| world.hold(Box::new([won.output(token)]))))
            }),
        }
    }
}

fn keep_received(world: &World, received: Result<Value, RecvError>) {
    if let Ok(value) = &received {
        world.received(value);
    }
    world.hold(Box::new(received));
}

fn keep_sent(world: &World, id: usize, sent: Result<(), SendError<Value>>) {
    match sent {
        Ok(()) => world.sent(id),
        Err(refused) => {
            assert!(world.closes, "C5: the channel is open");
            assert_eq!(refused.into_inner().0, id, "C5: its own value comes back");
        }
    }
}

/// Takes some steps with operations that nobody has borrowed.
fn run(world: &'static World, ops: &mut Vec<Op>, wakers: &[Waker], steps: usize, depth: u32) {
    for _ in 0..steps {
        world.plant();
        match world.random(12) {
            0..=2 => {
                let op = Op::new(world);
                world.step(format!("new {}", op.name()));
                ops.push(op);
            }
            3..=5 if !ops.is_empty() => {
                let at = world.random(ops.len());
                let op = &mut ops[at];
                world.step(format!("polls {}", op.name()));
                if op.is_done()
                    || survive(|| op.poll(&wakers[world.random(wakers.len())])) == Some(Poll::Ready(()))
                {
                    let op = ops.swap_remove(at);
                    survive(|| drop(op));
                }
            }
            6 if !ops.is_empty() => {
                let op = ops.swap_remove(world.random(ops.len()));
                world.step(format!("drops {}", op.name()));
                survive(|| drop(op));
            }
            7 | 8 if depth < DEEPEST => select_some(world, ops, wakers, depth),
            9 => drop(survive(|| world.release())),
            _ => drop(survive(|| world.act())),
        }
        world.planted.set(None);
    }
}

/// A select over some of the operations; the others go on meanwhile.
fn select_some(world: &'static World, ops: &mut Vec<Op>, wakers: &[Waker], depth: u32) {
    let mut lent = Vec::new();
    for _ in 0..2 + world.random(3) {
        let fresh: Vec<usize> = (0..ops.len()).filter(|&at| !ops[at].is_done()).collect();
        if !fresh.is_empty() {
            lent.push(ops.swap_remove(fresh[world.random(fresh.len())]));
        }
    }
    if lent.is_empty() {
        return;
    }
    let names: Vec<_> = lent.iter().map(Op::name).collect();
    let mut set = if world.one_in(2) { Select::new() } else { Select::biased() };
    let mut takes: Vec<_> = lent.iter_mut().map(|op| Some(op.lend(&mut set))).collect();
    let waker = || &wakers[world.random(wakers.len())];
    if world.one_in(5) {
        world.step(format!("asks whether one is ready of {names:?}"));
        let mut ready = set.ready();
        while survive(|| ready.poll_with(waker()).is_pending()) != Some(false) && !world.one_in(3) {
            run(world, ops, wakers, 1 + world.random(5), depth + 1);
            world.plant();
        }
        survive(|| drop(ready));
    }
    if !world.one_in(5) {
        world.step(format!("selects of {names:?}"));
        let mut selecting = set.select();
        loop {
            match survive(|| selecting.poll_with(waker())) {
                Some(Poll::Ready(won)) => {
                    let index = won.index();
                    let taken = !world.one_in(5);
                    world.step(format!("  won by {index}; taken: {taken}"));
                    let is_it =
                        |take: &&mut Option<(usize, _)>| take.as_ref().is_some_and(|take| take.0 == index);
                    let (_, take) =
                        takes.iter_mut().find(is_it).and_then(Option::take).expect("a branch of this set");
                    survive(|| if taken { take(won) } else { drop(won) });
                    break;
                }
                Some(Poll::Pending) => {}
                None => world.step("  polls it again"),
            }
            if world.one_in(4) {
                break;
            }
            run(world, ops, wakers, 1 + world.random(5), depth + 1);
            world.plant();
            if world.one_in(4) {
                break;
            }
        }
        survive(|| drop(selecting));
    }
    world.step("drops the set");
    survive(|| drop(set));
    let won: Vec<_> = takes.iter().map(Option::is_none).collect();
    drop(takes);
    for (op, won) in lent.iter().zip(won) {
        assert!(
            won || !op.is_done() || matches!(op.waits, Send(..)),
            "S10: {} is over for nothing",
            op.name()
        );
    }
    ops.extend(lent);
}

/// Runs the program of a seed.
fn program(seed: u64) {
    let owned = Box::into_raw(Box::new(World::new(seed)));
    // SAFETY: it lives until the end of this.
    let world: &'static World = unsafe { &*owned };
    WORLD.set(Some(world));
    let wakers: Vec<Waker> = (0..4).map(|_| world.waker()).collect();
    let mut ops = Vec::new();
    run(world, &mut ops, &wakers, 60, 0);

    world.step("ends");
    while !world.held.borrow().is_empty() {
        world.release();
    }
    // Callbacks hold what they get from here on.
    world.callbacks.set(DEEPEST);
    world.senders.take();
    let (waiting, fresh): (Vec<_>, Vec<_>) = ops.into_iter().partition(|op| op.polled);
    drop(waiting);
    world.held.take();
    assert!(world.lock.try_read().is_some(), "S9: one that does not wait keeps readers out");
    for mutex in &world.mutexes {
        drop(mutex.lock().must_be_ready("M3: one that does not wait keeps others from the lock"));
    }
    drop(fresh);
    world.ending.set(true);

    world.mutexes.iter().for_each(|mutex| {
        mutex.assert_valid();
        drop(mutex.lock().must_be_ready("M1: nobody has it"));
    });
    world.semaphore.assert_valid();
    assert_eq!(world.semaphore.available_permits(), PERMITS, "M6");
    world.lock.assert_valid();
    world.lock.assert_free();
    world.notify.assert_valid();
    world.barrier.assert_valid();
    for (tx, rx) in &world.channels {
        tx.assert_valid();
        while rx.try_recv().is_ok() {}
        if let Some(capacity) = tx.capacity().filter(|_| !tx.is_closed()) {
            for _ in 0..capacity {
                assert!(tx.try_send(world.value()).is_ok(), "C23: room of {capacity} is lost");
            }
        }
        assert_eq!(rx.drain().count(), if tx.is_closed() { 0 } else { tx.capacity().unwrap_or(0) });
    }
    drop(wakers);
    let left = world.wakers.borrow().iter().filter(|waker| waker.strong_count() > 0).count();
    assert_eq!(left, 0, "wakers are left");
    let dropped = world.values.borrow().iter().position(|fate| !fate.dropped);
    assert_eq!(dropped, None, "C1: dropped once");
    WORLD.set(None);
    // SAFETY: a box's; operations, guards and wakers are dropped, and the values that refer to it.
    drop(unsafe { Box::from_raw(owned) });
}

#[test]
fn nothing_is_lost_in_mishaps() {
    let replayed = std::env::var("LENO_SEED").ok().and_then(|seed| seed.parse::<u64>().ok());
    let seeds = match replayed {
        Some(seed) => seed..seed + 1,
        None => 0..(if cfg!(miri) { 10 } else { 3000 }) * scale() as u64,
    };
    for seed in seeds {
        if let Err(panic) = catch_unwind(|| program(seed)) {
            if let Some(world) = WORLD.get() {
                world.steps.borrow().iter().for_each(|step| eprintln!("{step}"));
            }
            eprintln!("failed: LENO_SEED={seed}");
            resume_unwind(panic);
        }
    }
}
