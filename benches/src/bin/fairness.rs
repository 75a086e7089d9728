//! How long one waits for a lock that is never idle: leno's locks beside tokio's and async-lock's, as Markdown.
//!
//! `cargo run --release -p leno-benches --bin fairness [-- MILLISECONDS]`
//!
//! All on leno's runtime, so what differs are the locks. Eight fibers take turns: each takes the lock, holds it over a yield,
//! gives it back, and yields. A wait goes from the call to the guard; one that is not over at the end of its run goes on until
//! the others have stopped, and counts as long as it took. So a longest wait of about the length of a run says that somebody
//! was starved.
//!
//! - *equals*: all lock a mutex;
//! - *a writer among readers*, *a reader among writers*: one of the eight does what the others do not;
//! - *a large wish among small ones*: one of them takes all permits of a semaphore, the others one each.
//!
//! Two runs of each contestant, in turn with the others. Each checks itself: never more at once than may be, no change lost,
//! as many turns as were counted.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use leno_benches::exec::{Exec, Leno, Timed};

const TASKS: u64 = 8;
const ROUNDS: usize = 2;
const RUN: Duration = Duration::from_millis(350);
const PERMITS: u32 = 4;

/// How a lock is taken.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Alone,
    /// With others.
    Shared,
}

use Access::{Alone, Shared};

/// A lock of one library.
trait Contestant: Send + Sync + 'static {
    const NAME: &'static str;
    /// So many can share it.
    const ROOM: u64;
    type Held<'a>: Send;

    fn new() -> Self;

    fn take(&self, access: Access) -> impl Future<Output = Self::Held<'_>> + Send;
}

macro_rules! contestant {
    ($Name:ident, $name:literal, $Lock:ty, $new:expr, $room:expr, $Held:ty, $lock:ident, $access:ident => $take:expr) => {
        struct $Name($Lock);

        impl Contestant for $Name {
            const NAME: &'static str = $name;
            const ROOM: u64 = $room;
            type Held<'a> = $Held;

            fn new() -> Self {
                $Name($new)
            }

            async fn take(&self, $access: Access) -> Self::Held<'_> {
                let $lock = &self.0;
                $take
            }
        }
    };
}

macro_rules! mutex {
    ($Name:ident, $name:literal, $($path:ident)::+, $new:ident) => {
        contestant!(
            $Name, $name, $($path)::+::Mutex<()>, $($path)::+::Mutex::$new(()), 1,
            $($path)::+::MutexGuard<'a, ()>, mutex, _access => mutex.lock().await
        );
    };
}

macro_rules! rwlock {
    ($Name:ident, $name:literal, $($path:ident)::+) => {
        contestant!(
            $Name, $name, $($path)::+::RwLock<()>, $($path)::+::RwLock::new(()), TASKS,
            (Option<$($path)::+::RwLockWriteGuard<'a, ()>>, Option<$($path)::+::RwLockReadGuard<'a, ()>>),
            lock, access => match access {
                Alone => (Some(lock.write().await), None),
                Shared => (None, Some(lock.read().await)),
            }
        );
    };
}

macro_rules! semaphore {
    ($Name:ident, $name:literal, $Semaphore:ty, $Permit:ty) => {
        contestant!(
            $Name, $name, $Semaphore, <$Semaphore>::new(PERMITS as usize), PERMITS as u64, $Permit,
            semaphore, access => {
                let wish = if access == Alone { PERMITS } else { 1 };
                semaphore.acquire_many(wish).await.expect("nobody closes it")
            }
        );
    };
}

mutex!(LenoBarging, "leno", leno::sync, new);
mutex!(LenoFair, "leno, fair", leno::sync, fair);
mutex!(TokioMutex, "tokio", tokio::sync, new);
mutex!(AsyncMutex, "async-lock", async_lock, new);
rwlock!(LenoRwLock, "leno", leno::sync);
rwlock!(TokioRwLock, "tokio", tokio::sync);
rwlock!(AsyncRwLock, "async-lock", async_lock);
semaphore!(LenoSemaphore, "leno", leno::sync::Semaphore, leno::sync::Permit<'a>);
semaphore!(TokioSemaphore, "tokio", tokio::sync::Semaphore, tokio::sync::SemaphorePermit<'a>);

/// How long some waits took: how many of about each length, and the longest.
#[derive(Clone)]
struct Waits {
    /// Sixteen for each doubling.
    buckets: Vec<u64>,
    turns: u64,
    longest: Duration,
}

const FINE: u32 = 4;

impl Waits {
    fn new() -> Self {
        Waits { buckets: vec![0; 64 << FINE], turns: 0, longest: Duration::ZERO }
    }

    fn add(&mut self, wait: Duration) {
        // From 16 on, so that there are four bits behind the first one.
        let nanos = (wait.as_nanos() as u64).max(1 << FINE);
        let double = nanos.ilog2();
        let part = (nanos >> (double - FINE)) - (1 << FINE);
        self.buckets[((double << FINE) as u64 + part) as usize] += 1;
        self.turns += 1;
        self.longest = self.longest.max(wait);
    }

    fn join(&mut self, other: &Waits) {
        self.buckets.iter_mut().zip(&other.buckets).for_each(|(all, more)| *all += more);
        self.turns += other.turns;
        self.longest = self.longest.max(other.longest);
    }

    /// The shortest length that so large a part of them does not exceed, to a sixteenth.
    fn percentile(&self, part: f64) -> Duration {
        let wanted = (self.turns as f64 * part).ceil() as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        let bucket = bucket.unwrap_or(0) as u64;
        let (double, part) = (bucket >> FINE, bucket & ((1 << FINE) - 1));
        Duration::from_nanos(((part + 1 + (1 << FINE)) << double) >> FINE).min(self.longest)
    }
}

/// What the holders do to each other, if a lock lets them.
#[derive(Default)]
struct Check {
    inside: AtomicU64,
    /// Read and written in two steps by who is alone.
    alone: AtomicU64,
}

impl Check {
    fn enter(&self, access: Access, room: u64) {
        let weight = weight(access, room);
        let inside = self.inside.fetch_add(weight, Ordering::Relaxed) + weight;
        assert!(inside <= room, "{inside} are inside where {room} may be");
    }

    fn leave(&self, access: Access, room: u64) {
        if access == Alone {
            self.alone.store(self.alone.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
        }
        self.inside.fetch_sub(weight(access, room), Ordering::Relaxed);
    }
}

fn weight(access: Access, room: u64) -> u64 {
    if access == Alone { room } else { 1 }
}

/// One takes it in one way, the others in another.
#[derive(Clone, Copy)]
struct Load {
    name: &'static str,
    one: Access,
    others: Access,
}

const EQUALS: Load = Load { name: "equals", one: Alone, others: Alone };
const A_WRITER: Load = Load { name: "a writer among readers", one: Alone, others: Shared };
const A_READER: Load = Load { name: "a reader among writers", one: Shared, others: Alone };
const A_LARGE_WISH: Load = Load { name: "a large wish among small ones", one: Alone, others: Shared };

/// The waits of the one, and of the others.
#[derive(Clone)]
struct Outcome {
    one: Waits,
    others: Waits,
    /// Turns of who had the fewest among equals, and the most.
    fewest: u64,
    most: u64,
}

fn run<C: Contestant>(load: Load, workers: usize, run: Duration) -> Outcome {
    let executor = Leno::start(workers);
    executor.run(async move {
        let shared = Arc::new((C::new(), Check::default(), AtomicBool::new(false)));
        let tasks: Vec<_> = (0..TASKS)
            .map(|task| {
                let shared = Arc::clone(&shared);
                let access = if task == 0 { load.one } else { load.others };
                Leno::spawn(async move {
                    let (lock, check, stop) = &*shared;
                    let mut waits = Waits::new();
                    while !stop.load(Ordering::Relaxed) {
                        let began = Instant::now();
                        let held = lock.take(access).await;
                        waits.add(began.elapsed());
                        check.enter(access, C::ROOM);
                        Leno::yield_now().await;
                        check.leave(access, C::ROOM);
                        drop(held);
                        Leno::yield_now().await;
                    }
                    waits
                })
            })
            .collect();
        Leno::sleep(run).await;
        shared.2.store(true, Ordering::Relaxed);
        let (mut all, mut alone) = (Vec::new(), 0);
        for (task, waits) in (0..).zip(tasks) {
            let waits = waits.await;
            if (if task == 0 { load.one } else { load.others }) == Alone {
                alone += waits.turns;
            }
            assert_eq!(waits.buckets.iter().sum::<u64>(), waits.turns, "each wait is counted once");
            all.push(waits);
        }
        let check = &shared.1;
        assert_eq!(check.inside.load(Ordering::Relaxed), 0, "all have left");
        assert_eq!(check.alone.load(Ordering::Relaxed), alone, "no turn is lost");
        let turns = all[1..].iter().map(|waits| waits.turns);
        let (fewest, most) = (turns.clone().min().unwrap_or(0), turns.max().unwrap_or(0));
        let one = all.swap_remove(0);
        let mut others = Waits::new();
        all.iter().for_each(|waits| others.join(waits));
        Outcome { one, others, fewest, most }
    })
}

/// A contestant under a load.
type Entry = (Load, &'static str, fn(Load, usize, Duration) -> Outcome);

fn entry<C: Contestant>(load: Load) -> Entry {
    (load, C::NAME, run::<C>)
}

fn micros(time: Duration) -> String {
    let micros = time.as_nanos() as f64 / 1e3;
    if micros < 1000.0 { format!("{micros:.1} µs") } else { format!("{:.1} ms", micros / 1e3) }
}

fn line(load: &str, workers: usize, library: &str, who: &str, waits: &Waits, spread: &str) {
    let [half, most] = [0.5, 0.999].map(|part| micros(waits.percentile(part)));
    let (turns, longest) = (waits.turns, micros(waits.longest));
    println!("| {load} | {workers} | {library} | {who} | {turns} | {half} | {most} | {longest} | {spread} |");
}

fn main() {
    let millis = std::env::args().nth(1).map(|arg| arg.parse().expect("MILLISECONDS of a run"));
    let time = millis.map_or(RUN, Duration::from_millis);
    let entries = [
        entry::<LenoBarging>(EQUALS),
        entry::<LenoFair>(EQUALS),
        entry::<TokioMutex>(EQUALS),
        entry::<AsyncMutex>(EQUALS),
        entry::<LenoRwLock>(A_WRITER),
        entry::<TokioRwLock>(A_WRITER),
        entry::<AsyncRwLock>(A_WRITER),
        entry::<LenoRwLock>(A_READER),
        entry::<TokioRwLock>(A_READER),
        entry::<AsyncRwLock>(A_READER),
        // async-lock's semaphore has no wishes for many.
        entry::<LenoSemaphore>(A_LARGE_WISH),
        entry::<TokioSemaphore>(A_LARGE_WISH),
    ];
    let cells: Vec<(Entry, usize)> =
        [1, 2].into_iter().flat_map(|workers| entries.map(|entry| (entry, workers))).collect();
    let mut outcomes: Vec<Option<Outcome>> = vec![None; cells.len()];
    for _ in 0..ROUNDS {
        for (((load, _, run), workers), outcome) in cells.iter().zip(&mut outcomes) {
            let new = run(*load, *workers, time);
            match outcome {
                None => *outcome = Some(new),
                Some(all) => {
                    all.one.join(&new.one);
                    all.others.join(&new.others);
                    (all.fewest, all.most) = (all.fewest + new.fewest, all.most + new.most);
                }
            }
        }
    }
    println!("Waits of {TASKS} fibers on leno's runtime, {ROUNDS} runs of {time:?} each.\n");
    println!("| load | workers | library | who | turns | median | 99.9 % | longest | fewest / most turns |");
    println!("|---|---:|---|---|---:|---:|---:|---:|---:|");
    for (((load, library, _), workers), outcome) in cells.iter().zip(&outcomes) {
        let Some(Outcome { one, others, fewest, most }) = outcome else { continue };
        let spread = format!("{:.2}", *fewest as f64 / (*most).max(1) as f64);
        if load.one == load.others {
            let mut all = one.clone();
            all.join(others);
            line(load.name, *workers, library, "all", &all, &spread);
        } else {
            line(load.name, *workers, library, "the one", one, "");
            line(load.name, *workers, library, "the others", others, &spread);
        }
    }
}
