//! The list of cells: a shape with its parameters, and everyone who takes part.

use std::future::Future;

use crate::exec::{self, Exec};
use crate::measure::{Sample, sample};
use crate::peers::{self, Channel, Lock, UNBOUNDED, VisitChannels, VisitLocks};
use crate::watchdog;
use crate::work::{
    self, Abandon, ChannelWork, Create, PingPong, Select, SelectSet, SelectWaits, Transfer, Uncontended,
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
    fn new<E, W, F>(cell: &str, library: &'static str, workers: usize, work: W) -> Self
    where
        E: Exec,
        W: Fn(u64) -> F + 'static,
        F: Future<Output = ()> + Send + 'static,
    {
        Contestant {
            library,
            executor: E::NAME,
            name: format!("{cell}: {library} on {}", E::NAME),
            run: Box::new(move |ops| sample::<E, W, F>(workers, ops, &work)),
        }
    }

    /// Runs at least `ops` operations, under the watchdog.
    pub fn run(&self, ops: u64) -> Sample {
        watchdog::guard(&self.name, || (self.run)(ops))
    }
}

/// A line of the table.
pub struct Cell {
    /// What is done, with its parameters.
    pub name: String,
    /// Who does it; leno's first.
    pub contestants: Vec<Contestant>,
}

/// All cells.
pub fn all() -> Vec<Cell> {
    let mut cells = Vec::new();
    for workers in [1, 2] {
        for (shape, producers, consumers) in [("SPSC", 1, 1), ("MPSC 4:1", 4, 1), ("MPMC 4:4", 4, 4)] {
            for capacity in [0, 1, 64, UNBOUNDED] {
                let name = format!("{shape}, {}", size(capacity));
                cells.push(on_tasks(&name, workers, Transfer { capacity, producers, consumers }));
            }
        }
        cells.push(on_tasks("rendezvous round trip", workers, PingPong { capacity: 0 }));
        for (name, tasks, held) in [
            ("Mutex, 1 task", 1, false),
            ("Mutex, 100 tasks", 100, false),
            ("Mutex, 100 tasks, held over a yield", 100, true),
        ] {
            cells.push(on_locks(name, workers, tasks, held));
        }
        cells.push(on_executors("yield", workers, Executors::Yield));
        cells.push(on_executors("spawn and join, one", workers, Executors::SpawnOne));
        cells.push(on_executors("spawn and join, 100", workers, Executors::SpawnMany));
    }
    for capacity in [1, 64, UNBOUNDED] {
        for (call, tried) in [("futures", false), ("try", true)] {
            let name = format!("uncontended send and receive, {}, {call}", size(capacity));
            cells.push(on_tasks(&name, 1, Uncontended { capacity, tried }));
        }
    }
    for channels in [2, 8] {
        cells.push(on_tasks(&format!("select of {channels} receives, one ready"), 1, Select { channels }));
        let name = format!("select of {channels} receives, waiting");
        cells.push(on_tasks(&name, 1, SelectWaits { channels }));
    }
    cells.push(on_tasks("create, pass one value, drop", 1, Create));
    for capacity in [0, 1] {
        let name = format!("receive polled once and dropped, capacity {capacity}");
        cells.push(on_tasks(&name, 1, Abandon { capacity }));
    }
    for (shape, producers, consumers) in [("SPSC", 1, 1), ("MPSC 4:1", 4, 1), ("MPMC 4:4", 4, 4)] {
        for capacity in [0, 1, 64, UNBOUNDED] {
            let name = format!("{shape}, {}", size(capacity));
            cells.push(on_threads(&name, Transfer { capacity, producers, consumers }));
        }
    }
    cells.push(on_threads("rendezvous round trip", PingPong { capacity: 0 }));
    for channels in [2, 8, 64] {
        let name = format!("select of a set of {channels} receives, one ready");
        cells.push(on_threads(&name, SelectSet { channels }));
    }
    cells
}

fn size(capacity: usize) -> String {
    if capacity == UNBOUNDED { "unbounded".to_owned() } else { format!("capacity {capacity}") }
}

fn named(name: &str, workers: usize) -> String {
    format!("{name}, {workers} worker{}", if workers == 1 { "" } else { "s" })
}

/// Every library's channel on leno's executor and on tokio's.
fn on_tasks<W: ChannelWork>(name: &str, workers: usize, work: W) -> Cell {
    struct Visitor<W>(Cell, usize, W);
    impl<W: ChannelWork> Visitor<W> {
        fn add<E: Exec, C: Channel>(&mut self) {
            let work = self.2;
            let run = move |ops| work.run::<E, C>(ops);
            let contestant = Contestant::new::<E, _, _>(&self.0.name, C::NAME, self.1, run);
            self.0.contestants.push(contestant);
        }
    }
    impl<W: ChannelWork> VisitChannels for Visitor<W> {
        fn channel<C: Channel>(&mut self) {
            if self.2.fits::<C>() {
                self.add::<exec::Leno, C>();
                self.add::<exec::Tokio, C>();
            }
        }
    }
    let cell = Cell { name: named(name, workers), contestants: Vec::new() };
    let mut visitor = Visitor(cell, workers, work);
    peers::channels_for_tasks(&mut visitor);
    visitor.0
}

/// Every library's channel between plain threads.
fn on_threads<W: ChannelWork>(name: &str, work: W) -> Cell {
    struct Visitor<W>(Cell, W);
    impl<W: ChannelWork> VisitChannels for Visitor<W> {
        fn channel<C: Channel>(&mut self) {
            let work = self.1;
            if work.fits::<C>() {
                let run = move |ops| work.run::<exec::Threads, C>(ops);
                let contestant = Contestant::new::<exec::Threads, _, _>(&self.0.name, C::NAME, 0, run);
                self.0.contestants.push(contestant);
            }
        }
    }
    let cell = Cell { name: format!("{name}, threads"), contestants: Vec::new() };
    let mut visitor = Visitor(cell, work);
    peers::channels_for_threads(&mut visitor);
    visitor.0
}

/// Every library's lock on leno's executor and on tokio's.
fn on_locks(name: &str, workers: usize, tasks: u64, held: bool) -> Cell {
    struct Visitor(Cell, usize, u64, bool);
    impl Visitor {
        fn add<E: Exec, L: Lock>(&mut self) {
            let (tasks, held) = (self.2, self.3);
            let run = move |ops| work::lock::<E, L>(tasks, held, ops);
            let contestant = Contestant::new::<E, _, _>(&self.0.name, L::NAME, self.1, run);
            self.0.contestants.push(contestant);
        }
    }
    impl VisitLocks for Visitor {
        fn lock<L: Lock>(&mut self) {
            self.add::<exec::Leno, L>();
            self.add::<exec::Tokio, L>();
        }
    }
    let cell = Cell { name: named(name, workers), contestants: Vec::new() };
    let mut visitor = Visitor(cell, workers, tasks, held);
    peers::locks(&mut visitor);
    visitor.0
}

/// What compares executors alone.
#[derive(Clone, Copy)]
enum Executors {
    Yield,
    SpawnOne,
    SpawnMany,
}

fn on_executors(name: &str, workers: usize, what: Executors) -> Cell {
    fn contestant<E: Exec>(cell: &str, workers: usize, what: Executors) -> Contestant {
        match what {
            Executors::Yield => Contestant::new::<E, _, _>(cell, E::NAME, workers, work::yields::<E>),
            Executors::SpawnOne => Contestant::new::<E, _, _>(cell, E::NAME, workers, work::spawn_one::<E>),
            Executors::SpawnMany => Contestant::new::<E, _, _>(cell, E::NAME, workers, work::spawn_many::<E>),
        }
    }
    let name = named(name, workers);
    let contestants = vec![
        contestant::<exec::Leno>(&name, workers, what),
        contestant::<exec::Tokio>(&name, workers, what),
        contestant::<exec::Smol>(&name, workers, what),
    ];
    Cell { name, contestants }
}
