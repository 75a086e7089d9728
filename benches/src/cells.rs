//! The list of cells: a shape with its parameters, and everyone who takes part.

use std::fmt;
use std::future::Future;

use crate::exec::{self, Exec, Main, Timed};
use crate::measure::{GRAIN, Sample, sample};
use crate::peers::{self, Channel, Lock, Once, UNBOUNDED, VisitChannels, VisitLocks, VisitOnces};
use crate::watchdog;
use crate::work::{
    self, Abandon, ChannelWork, Create, ExecutorWork, Jobs, PingPong, Ring, Select, SelectSet, SelectWaits,
    Sieve, Skynet, SpawnMany, SpawnOne, Transfer, Uncontended, Yields,
};

/// One library on one executor, doing what its cell says.
pub struct Contestant {
    /// The library, as in tables.
    pub library: &'static str,
    /// The executor, as in tables.
    pub executor: &'static str,
    name: String,
    run: Box<dyn Fn(u64) -> Sample>,
}

impl Contestant {
    /// Runs at least `ops` operations, under the watchdog.
    pub fn run(&self, ops: u64) -> Sample {
        watchdog::guard(&self.name, || (self.run)(ops))
    }
}

/// What belongs together when means are taken; with a number of workers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Group {
    /// Channels between tasks.
    Channels(usize),
    /// Locks between tasks.
    Locks(usize),
    /// Tasks alone.
    Executors(usize),
    /// Channels between plain threads.
    Threads,
    /// Channels of a large capacity, between tasks or, with no workers, plain threads.
    Large(usize),
}

impl Group {
    /// Threads that run tasks; 0 where there are none.
    pub fn workers(self) -> usize {
        match self {
            Group::Channels(workers)
            | Group::Locks(workers)
            | Group::Executors(workers)
            | Group::Large(workers) => workers,
            Group::Threads => 0,
        }
    }

    /// Where it runs, as in names of cells.
    fn place(self) -> String {
        match self.workers() {
            0 => "threads".to_owned(),
            1 => "1 worker".to_owned(),
            workers => format!("{workers} workers"),
        }
    }
}

impl fmt::Display for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let what = match self {
            Group::Channels(_) | Group::Threads => "channels",
            Group::Locks(_) => "locks",
            Group::Executors(_) => "executors",
            Group::Large(_) => "large channels",
        };
        write!(f, "{what}, {}", self.place())
    }
}

/// A line of the table.
pub struct Cell {
    /// What is done, with its parameters.
    pub name: String,
    /// What it is averaged with.
    pub group: Group,
    /// Who does it; leno's first.
    pub contestants: Vec<Contestant>,
}

impl Cell {
    fn new(name: &str, group: Group) -> Self {
        Cell { name: format!("{name}, {}", group.place()), group, contestants: Vec::new() }
    }

    fn add<E, W, F>(&mut self, library: &'static str, grain: u64, work: W)
    where
        E: Exec,
        W: Fn(u64) -> F + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        let workers = self.group.workers();
        self.contestants.push(Contestant {
            library,
            executor: E::NAME,
            name: format!("{}: {library} on {}", self.name, E::NAME),
            run: Box::new(move |ops| sample::<E, W, F>(workers, ops, grain, &work)),
        });
    }
}

/// All cells.
pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for workers in [1, 2] {
        cells.extend(between_tasks(workers));
        if workers == 1 {
            cells.extend(one_task());
        }
        cells.extend(locks(workers));
        cells.extend(tasks_alone(workers));
    }
    cells.extend(between_threads());
    cells.extend([1, 2, 0].into_iter().flat_map(large));
    cells
}

/// Buffers of 1000.
fn large(workers: usize) -> impl Iterator<Item = Cell> {
    let group = Group::Large(workers);
    transfers(&[1000]).map(move |(name, transfer)| match workers {
        0 => on_threads(&name, group, transfer),
        _ => on_tasks(&name, group, transfer),
    })
}

/// Channels that tasks share.
fn between_tasks(workers: usize) -> Vec<Cell> {
    let group = Group::Channels(workers);
    let mut cells: Vec<Cell> =
        transfers(CAPACITIES).map(|(name, transfer)| on_tasks(&name, group, transfer)).collect();
    for capacity in [0, 64] {
        let name = format!("100 senders, 100 receivers, {}", size(capacity));
        cells.push(on_tasks(&name, group, Transfer { capacity, producers: 100, consumers: 100 }));
    }
    cells.push(on_tasks("rendezvous round trip", group, PingPong { capacity: 0 }));
    cells.push(on_tasks("ring of 1000", group, Ring));
    for capacity in [0, 64] {
        cells.push(on_tasks(&format!("sieve, {}", size(capacity)), group, Sieve { capacity }));
    }
    for channels in [2, 8] {
        let name = format!("select of {channels} receives, waiting");
        cells.push(on_tasks(&name, group, SelectWaits { channels }));
    }
    cells
}

fn locks(workers: usize) -> Vec<Cell> {
    vec![
        on_locks("Mutex, 1 task", workers, 1, false, peers::locks),
        on_locks("Mutex, 100 tasks", workers, 100, false, peers::locks),
        on_locks("Mutex, 100 tasks, held over a yield", workers, 100, true, peers::locks),
        on_locks("Semaphore, 1 task", workers, 1, false, peers::semaphores),
        on_locks("Semaphore, 100 tasks, held over a yield", workers, 100, true, peers::semaphores),
        on_locks("RwLock written, 1 task", workers, 1, false, peers::written),
        on_locks("RwLock written, 100 tasks, held over a yield", workers, 100, true, peers::written),
    ]
}

/// What compares executors.
fn tasks_alone(workers: usize) -> Vec<Cell> {
    let mut cells = vec![
        on_executors("yield", workers, Yields),
        on_executors("spawn and join, one", workers, SpawnOne),
        on_executors("spawn and join, 100", workers, SpawnMany),
        on_executors("skynet", workers, Skynet),
        on_timers("timers, 100 k", workers, 100_000),
        on_timers("timers, 1 M", workers, 1_000_000),
        on_main("round trip, the future of block_on and a task", workers),
    ];
    if workers > 1 {
        cells.push(on_executors("jobs of 2 µs for two tasks", workers, Jobs));
    }
    cells
}

/// Channels that one task has for itself: more workers change nothing.
fn one_task() -> Vec<Cell> {
    let group = Group::Channels(1);
    let mut cells: Vec<Cell> =
        uncontended("futures").map(|(name, uncontended)| on_tasks(&name, group, uncontended)).collect();
    for channels in [2, 8] {
        let name = format!("select of {channels} receives, one ready");
        cells.push(on_tasks(&name, group, Select { channels }));
    }
    cells.push(on_tasks(CREATE, group, Create));
    for capacity in [0, 1] {
        let name = format!("receive polled once and dropped, capacity {capacity}");
        cells.push(on_tasks(&name, group, Abandon { capacity }));
    }
    cells.push(on_once("oneshot: create, send, receive, drop", false));
    cells.push(on_once("oneshot: create, wait, send, receive, drop", true));
    cells
}

fn between_threads() -> Vec<Cell> {
    let group = Group::Threads;
    let mut cells: Vec<Cell> =
        transfers(CAPACITIES).map(|(name, transfer)| on_threads(&name, group, transfer)).collect();
    cells.push(on_threads("rendezvous round trip", group, PingPong { capacity: 0 }));
    cells.extend(uncontended("blocking").map(|(name, uncontended)| on_threads(&name, group, uncontended)));
    cells.push(on_threads(CREATE, group, Create));
    for channels in [2, 8, 64] {
        let name = format!("select of a set of {channels} receives, one ready");
        cells.push(on_threads(&name, group, SelectSet { channels }));
    }
    cells
}

const CREATE: &str = "create, pass one value, drop";

const CAPACITIES: &[usize] = &[0, 1, 64, UNBOUNDED];

fn transfers(capacities: &[usize]) -> impl Iterator<Item = (String, Transfer)> {
    [("SPSC", 1, 1), ("MPSC 4:1", 4, 1), ("MPMC 4:4", 4, 4)].into_iter().flat_map(
        move |(shape, producers, consumers)| {
            capacities.iter().map(move |&capacity| {
                (format!("{shape}, {}", size(capacity)), Transfer { capacity, producers, consumers })
            })
        },
    )
}

/// `waiting`: what the calls are named that would wait.
fn uncontended(waiting: &'static str) -> impl Iterator<Item = (String, Uncontended)> {
    [1, 64, UNBOUNDED].into_iter().flat_map(move |capacity| {
        [(waiting, false), ("try", true)].map(|(call, tried)| {
            let name = format!("uncontended send and receive, {}, {call}", size(capacity));
            (name, Uncontended { capacity, tried })
        })
    })
}

fn size(capacity: usize) -> String {
    if capacity == UNBOUNDED { "unbounded".to_owned() } else { format!("capacity {capacity}") }
}

/// Every library's channel on leno's executor and on tokio's, and smol's on smol's.
fn on_tasks<W: ChannelWork>(name: &str, group: Group, work: W) -> Cell {
    struct Visitor<W>(Cell, W);
    impl<W: ChannelWork> Visitor<W> {
        fn add<E: Exec, C: Channel>(&mut self) {
            let work = self.1;
            self.0.add::<E, _, _>(C::NAME, W::GRAIN, move |ops| work.run::<E, C>(ops));
        }
    }
    impl<W: ChannelWork> VisitChannels for Visitor<W> {
        fn channel<C: Channel>(&mut self) {
            if self.1.fits::<C>() {
                self.add::<exec::Leno, C>();
                self.add::<exec::Tokio, C>();
                if C::NAME == "async-channel" {
                    self.add::<exec::Smol, C>();
                }
            }
        }
    }
    let mut visitor = Visitor(Cell::new(name, group), work);
    peers::channels_for_tasks(&mut visitor);
    visitor.0
}

/// Every library's channel between plain threads.
fn on_threads<W: ChannelWork>(name: &str, group: Group, work: W) -> Cell {
    struct Visitor<W>(Cell, W);
    impl<W: ChannelWork> VisitChannels for Visitor<W> {
        fn channel<C: Channel>(&mut self) {
            let work = self.1;
            if work.fits::<C>() {
                let run = move |ops| work.run::<exec::Threads, C>(ops);
                self.0.add::<exec::Threads, _, _>(C::NAME, W::GRAIN, run);
            }
        }
    }
    let mut visitor = Visitor(Cell::new(name, group), work);
    peers::channels_for_threads(&mut visitor);
    visitor.0
}

/// Every library's lock on leno's executor and on tokio's, and smol's on smol's.
fn on_locks(name: &str, workers: usize, tasks: u64, held: bool, which: impl Fn(&mut LockVisitor)) -> Cell {
    let mut visitor = LockVisitor(Cell::new(name, Group::Locks(workers)), tasks, held);
    which(&mut visitor);
    visitor.0
}

struct LockVisitor(Cell, u64, bool);

impl LockVisitor {
    fn add<E: Exec, L: Lock>(&mut self) {
        let (tasks, held) = (self.1, self.2);
        self.0.add::<E, _, _>(L::NAME, GRAIN, move |ops| work::lock::<E, L>(tasks, held, ops));
    }
}
impl VisitLocks for LockVisitor {
    fn lock<L: Lock>(&mut self) {
        self.add::<exec::Leno, L>();
        self.add::<exec::Tokio, L>();
        if L::NAME == "async-lock" {
            self.add::<exec::Smol, L>();
        }
    }
}

/// Every library's channel for one value, on leno's executor and on tokio's.
fn on_once(name: &str, waits: bool) -> Cell {
    struct Visitor(Cell, bool);
    impl VisitOnces for Visitor {
        fn once<O: Once>(&mut self) {
            let waits = self.1;
            self.0.add::<exec::Leno, _, _>(O::NAME, GRAIN, move |ops| work::once::<O>(waits, ops));
            self.0.add::<exec::Tokio, _, _>(O::NAME, GRAIN, move |ops| work::once::<O>(waits, ops));
        }
    }
    let mut visitor = Visitor(Cell::new(name, Group::Channels(1)), waits);
    peers::onces(&mut visitor);
    visitor.0
}

/// Every executor.
fn on_executors<W: ExecutorWork>(name: &str, workers: usize, work: W) -> Cell {
    fn add<E: Exec, W: ExecutorWork>(cell: &mut Cell, work: W) {
        cell.add::<E, _, _>(E::NAME, W::GRAIN, move |ops| work.run::<E>(ops));
    }
    let mut cell = Cell::new(name, Group::Executors(workers));
    add::<exec::Leno, W>(&mut cell, work);
    add::<exec::Tokio, W>(&mut cell, work);
    add::<exec::Smol, W>(&mut cell, work);
    cell
}

/// Every executor, with one side of the work in the future that its `block_on` runs.
fn on_main(name: &str, workers: usize) -> Cell {
    fn add<E: Main>(cell: &mut Cell) {
        cell.add::<exec::OnMain<E>, _, _>(E::NAME, GRAIN, work::round_trips::<E>);
    }
    let mut cell = Cell::new(name, Group::Executors(workers));
    add::<exec::Leno>(&mut cell);
    add::<exec::Tokio>(&mut cell);
    add::<exec::Smol>(&mut cell);
    cell
}

/// Every executor that has timers, `count` of them at once.
fn on_timers(name: &str, workers: usize, count: u64) -> Cell {
    fn add<E: Timed>(cell: &mut Cell, count: u64) {
        cell.add::<E, _, _>(E::NAME, count, move |ops| async move {
            for _ in 0..ops / count {
                work::timers::<E>(count).await;
            }
        });
    }
    let mut cell = Cell::new(name, Group::Executors(workers));
    add::<exec::Leno>(&mut cell, count);
    add::<exec::Tokio<true>>(&mut cell, count);
    cell
}
