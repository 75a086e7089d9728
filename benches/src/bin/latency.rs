//! How long a message takes from a plain thread to a fiber, and what an idle executor costs: leno beside tokio, as Markdown.
//!
//! `cargo run --release -p leno-benches --bin latency [-- IDLE_SECONDS]`
//!
//! All use the same channel, leno's unbounded one, so what differs is how soon the executor runs what was woken. A thread
//! sends the time every 100 µs or so; a fiber takes it and looks at the clock. *Loaded*: each worker has a fiber that does nothing but
//! yield. Rounds of the contestants take turns; percentiles are over all rounds.

use std::future::Future;
use std::thread;
use std::time::{Duration, Instant};

use leno::Receiver;
use leno_benches::measure::cpu_time;

const ROUNDS: usize = 5;
const MESSAGES: usize = 2_000;
const PAUSE: Duration = Duration::from_micros(100);

/// Takes messages until there are no more; how long each was under way.
async fn receive(inbox: Receiver<Instant>) -> Vec<Duration> {
    let mut latencies = Vec::with_capacity(MESSAGES);
    while let Ok(sent) = inbox.recv().await {
        latencies.push(sent.elapsed());
    }
    latencies
}

/// Gives others a turn until it is dropped.
async fn burn<F: Future>(yield_now: impl Fn() -> F) {
    loop {
        yield_now().await;
    }
}

/// Sends while `run` receives.
fn exchange(run: impl FnOnce(Receiver<Instant>) -> Vec<Duration>) -> Vec<Duration> {
    let (outbox, inbox) = leno::unbounded();
    let sender = thread::spawn(move || {
        for _ in 0..MESSAGES {
            thread::sleep(PAUSE);
            outbox.send_blocking(Instant::now()).expect("the fiber receives until the end");
        }
    });
    let latencies = run(inbox);
    sender.join().expect("the sender does not panic");
    assert_eq!(latencies.len(), MESSAGES, "messages were lost");
    latencies
}

fn leno_runtime(workers: usize, load: usize) -> Vec<Duration> {
    let runtime = leno::fiber::Runtime::builder().workers(workers).build().expect("threads");
    let burning: Vec<_> = (0..load).map(|_| runtime.spawn(burn(leno::yield_now)).cancel_on_drop()).collect();
    let latencies = exchange(|inbox| runtime.spawn(receive(inbox)).wait().expect("no panic"));
    drop(burning);
    latencies
}

fn leno_cord(load: usize) -> Vec<Duration> {
    exchange(|inbox| {
        let cord = leno::fiber::Cord::spawn("cord", move || async move {
            for _ in 0..load {
                drop(leno::fiber::spawn_local(burn(leno::yield_now)));
            }
            receive(inbox).await
        });
        cord.expect("a thread").wait().expect("no panic")
    })
}

fn tokio_runtime(workers: usize, load: usize) -> Vec<Duration> {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(workers).build().expect("threads");
    let burning: Vec<_> = (0..load).map(|_| runtime.spawn(burn(tokio::task::yield_now))).collect();
    let receiving = exchange(|inbox| {
        let receiving = runtime.spawn(receive(inbox));
        runtime.block_on(receiving).expect("no panic")
    });
    burning.iter().for_each(tokio::task::JoinHandle::abort);
    receiving
}

fn tokio_current_thread(load: usize) -> Vec<Duration> {
    exchange(|inbox| {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        (0..load).for_each(|_| drop(runtime.spawn(burn(tokio::task::yield_now))));
        runtime.block_on(receive(inbox))
    })
}

/// CPU time that an executor takes while its fibers wait, beside what the process takes otherwise.
fn idle<R>(seconds: u64, start: impl FnOnce() -> R) -> Duration {
    let executor = start();
    thread::sleep(Duration::from_millis(100));
    let before = cpu_time();
    thread::sleep(Duration::from_secs(seconds));
    let spent = cpu_time() - before;
    drop(executor);
    spent
}

fn main() {
    let seconds =
        std::env::args().nth(1).map_or(5, |seconds| seconds.parse().expect("IDLE_SECONDS: a number"));
    type Run = (&'static str, Box<dyn Fn(bool) -> Vec<Duration>>);
    let runs: [Run; 4] = [
        ("leno, runtime, 2 workers", Box::new(|loaded| leno_runtime(2, 2 * usize::from(loaded)))),
        ("tokio, 2 workers", Box::new(|loaded| tokio_runtime(2, 2 * usize::from(loaded)))),
        ("leno, cord", Box::new(|loaded| leno_cord(usize::from(loaded)))),
        ("tokio, current thread", Box::new(|loaded| tokio_current_thread(usize::from(loaded)))),
    ];
    let mut latencies = vec![Vec::new(); 2 * runs.len()];
    for _ in 0..ROUNDS {
        for (at, all) in latencies.iter_mut().enumerate() {
            all.extend(runs[at / 2].1(at % 2 == 1));
        }
    }
    println!("| from a thread to a fiber, µs | idle, p50 | p99.9 | loaded, p50 | p99.9 |");
    println!("|---|---:|---:|---:|---:|");
    for (run, latencies) in runs.iter().zip(latencies.chunks_mut(2)) {
        print!("| {} |", run.0);
        for all in latencies {
            all.sort_unstable();
            let at = |share: f64| all[((all.len() - 1) as f64 * share) as usize].as_secs_f64() * 1e6;
            print!(" {:.1} | {:.0} |", at(0.5), at(0.999));
        }
        println!();
    }
    let waits = || async {
        let (_outbox, inbox) = leno::unbounded::<()>();
        inbox.recv().await.expect("nobody sends, and nobody goes");
    };
    let leno = idle(seconds, || {
        let runtime = leno::fiber::Runtime::builder().workers(2).build().expect("threads");
        drop(runtime.spawn(waits()));
        drop(runtime.spawn(leno::sleep(Duration::from_secs(3600))));
        runtime
    });
    let tokio = idle(seconds, || {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build();
        let runtime = runtime.expect("threads");
        drop(runtime.spawn(waits()));
        drop(runtime.spawn(async { tokio::time::sleep(Duration::from_secs(3600)).await }));
        runtime
    });
    println!("\nCPU time of an idle runtime in {seconds} s: leno {leno:?}, tokio {tokio:?}");
}
