//! Tasks without channels: what executors alone cost.

use std::future::Future;
use std::hint::black_box;
use std::pin::Pin;
use std::time::{Duration, Instant};

use crate::exec::{Exec, Timed};
use crate::measure::GRAIN;

/// Something done with tasks alone.
pub trait ExecutorWork: Copy + Send + Sync + 'static {
    /// Operations come in multiples of this.
    const GRAIN: u64 = GRAIN;

    /// Does it.
    fn run<E: Exec>(self, ops: u64) -> impl Future<Output = ()> + Send + 'static;
}

/// Two tasks yield; an operation is one yield.
#[derive(Clone, Copy)]
pub struct Yields;

impl ExecutorWork for Yields {
    async fn run<E: Exec>(self, ops: u64) {
        let task = || {
            E::spawn(async move {
                for _ in 0..ops / 2 {
                    E::yield_now().await;
                }
            })
        };
        let (a, b) = (task(), task());
        a.await;
        b.await;
    }
}

/// Spawns one task and joins it, again and again; that is one operation.
#[derive(Clone, Copy)]
pub struct SpawnOne;

impl ExecutorWork for SpawnOne {
    async fn run<E: Exec>(self, ops: u64) {
        for value in 0..ops {
            assert_eq!(E::spawn(async move { black_box(value) }).await, value);
        }
    }
}

/// Spawns 100 tasks, then joins them; an operation is one task.
#[derive(Clone, Copy)]
pub struct SpawnMany;

impl ExecutorWork for SpawnMany {
    async fn run<E: Exec>(self, ops: u64) {
        for _ in 0..ops / 100 {
            let tasks: Vec<_> = (0..100).map(|value| E::spawn(async move { black_box(value) })).collect();
            for (value, task) in (0..).zip(tasks) {
                assert_eq!(task.await, value);
            }
        }
    }
}

/// Jobs of some 2 µs each, through one of leno's channels, for two tasks; an operation is one job. With two workers the best is
/// half of that.
#[derive(Clone, Copy)]
pub struct Jobs;

impl ExecutorWork for Jobs {
    async fn run<E: Exec>(self, ops: u64) {
        let (jobs, queue) = leno::bounded(64);
        let workers = [queue.clone(), queue].map(|queue| {
            E::spawn(async move {
                let mut done = 0;
                while let Ok(job) = queue.recv().await {
                    do_job(job);
                    done += job;
                }
                done
            })
        });
        for job in 0..ops {
            jobs.send(job).await.expect("the workers stay");
        }
        drop(jobs);
        let [a, b] = workers;
        assert_eq!(a.await + b.await, ops * (ops - 1) / 2, "each job is done once");
    }
}

/// About 2 µs. (Code of its own: compiled into the tasks of each executor it took up to a quarter more in some of them.)
#[inline(never)]
fn do_job(job: u64) {
    black_box((0..8_000).fold(job, |value, step| black_box(value ^ step)));
}

/// A tree of tasks, each with ten children, whose 100,000 leaves are added up; an operation is one leaf.
#[derive(Clone, Copy)]
pub struct Skynet;

impl ExecutorWork for Skynet {
    const GRAIN: u64 = 100_000;

    async fn run<E: Exec>(self, ops: u64) {
        for _ in 0..ops / Self::GRAIN {
            let sum = E::spawn(skynet::<E>(0, Self::GRAIN)).await;
            assert_eq!(sum, Self::GRAIN * (Self::GRAIN - 1) / 2, "each leaf is counted once");
        }
    }
}

fn skynet<E: Exec>(first: u64, leaves: u64) -> Pin<Box<dyn Future<Output = u64> + Send>> {
    Box::pin(async move {
        if leaves == 1 {
            return first;
        }
        let each = leaves / 10;
        let children: Vec<_> =
            (0..10).map(|child| E::spawn(skynet::<E>(first + child * each, each))).collect();
        let mut sum = 0;
        for child in children {
            sum += child.await;
        }
        sum
    })
}

/// Sends a value to a task that it spawns, and back, over leno's channels; an operation is one round trip.
pub async fn round_trips<E: Exec>(ops: u64) {
    let (ping, pinged) = leno::rendezvous();
    let (pong, ponged) = leno::rendezvous();
    let server = E::spawn(async move {
        for _ in 0..ops {
            let value: u64 = pinged.recv().await.expect("the client stays");
            pong.send(value + 1).await.expect("the client stays");
        }
    });
    let mut value = 0;
    for _ in 0..ops {
        ping.send(value).await.expect("the server stays");
        value = ponged.recv().await.expect("the server stays");
    }
    server.await;
    assert_eq!(value, ops, "each round adds one");
}

/// Spawns `ops` tasks that sleep for up to 10 ms, each for another time, then joins them; an operation is one task.
pub async fn timers<E: Timed>(ops: u64) {
    let tasks: Vec<_> = (0..ops)
        .map(|task| {
            // Scattered, and the same for everybody.
            let micros = task * 7_919 % 10_000;
            E::spawn(async move {
                let (start, span) = (Instant::now(), Duration::from_micros(micros));
                E::sleep(span).await;
                assert!(start.elapsed() >= span, "none is early");
            })
        })
        .collect();
    for task in tasks {
        task.await;
    }
}
