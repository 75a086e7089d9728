//! A pool of workers with back-pressure and a graceful shutdown: jobs wait in a channel that holds a few, submitting waits while
//! it is full, and at the end all accepted jobs are completed, unless that takes too long.
//!
//! `cargo run --release --example worker_pool`

use std::time::Duration;

use leno::channel::oneshot;
use leno::fiber::{Builder, JoinHandle, now, timeout_at};
use leno::{Receiver, Sender, block_on, bounded, sleep};

/// Jobs that wait.
const QUEUE: usize = 4;
const WORKERS: usize = 3;
const JOBS: u32 = 20;
/// What the end may take.
const GRACE: Duration = Duration::from_secs(5);

/// Something to be done, and where its result goes.
struct Job {
    number: u32,
    reply: oneshot::Sender<u64>,
}

/// Workers, and the way to them. When the pool is dropped its workers do what was accepted, and go.
struct Pool {
    jobs: Sender<Job>,
    workers: Vec<JoinHandle<u32>>,
}

impl Pool {
    fn new(workers: usize) -> Pool {
        let (jobs, queue) = bounded(QUEUE);
        let start = |n| Builder::new().name(format!("worker {n}")).spawn(work(queue.clone()));
        Pool { jobs, workers: (1..=workers).map(start).collect() }
    }

    /// Hands a job in; waits while the queue is full. Whoever drops this before it is done has not handed it in.
    async fn submit(&self, number: u32) -> oneshot::Receiver<u64> {
        let (reply, result) = oneshot::channel();
        assert!(self.jobs.send(Job { number, reply }).await.is_ok(), "workers stay as long as the pool");
        result
    }

    /// Accepts nothing more, and waits for what was accepted; how many jobs each worker has done. Workers that are late are
    /// cancelled.
    async fn shut_down(self) -> Vec<u32> {
        drop(self.jobs);
        let late = now() + GRACE;
        let mut done = Vec::new();
        for worker in self.workers {
            let cancel = worker.cancel_on_drop();
            done.push(match timeout_at(late, cancel).await {
                Ok(ended) => ended.expect("a worker neither panics nor is cancelled"),
                Err(_) => 0,
            });
        }
        done
    }
}

/// Does jobs until nobody can hand in any; gives how many.
async fn work(queue: Receiver<Job>) -> u32 {
    let mut done = 0;
    while let Ok(Job { number, reply }) = queue.recv().await {
        sleep(Duration::from_millis(u64::from(number % 5))).await;
        // Nobody waits for it any more: no harm.
        let _ = reply.send(u64::from(number) * u64::from(number));
        done += 1;
    }
    done
}

fn main() {
    block_on(async {
        let pool = Pool::new(WORKERS);
        let mut results = Vec::new();
        for number in 1..=JOBS {
            results.push(pool.submit(number).await);
        }
        // Some are still in the queue.
        let done = pool.shut_down().await;
        let mut sum = 0;
        for result in results {
            sum += result.await.expect("what was accepted was done");
        }
        println!("{JOBS} jobs by {WORKERS} workers, {done:?}: the sum of the squares is {sum}");
        assert_eq!(sum, (1..=u64::from(JOBS)).map(|n| n * n).sum());
        assert_eq!(done.iter().sum::<u32>(), JOBS);
    });
}
