//! A pipeline that gets stuck, and how to find out why: a table of its fibers, a graph of who waits for what, and the
//! report of a closed world.
//!
//! `cargo run --example who_waits` prints all three. (In a release build lock holders, and where fibers wait, are not shown.)
//!
//! The source keeps the ledger locked while it sends; the sink wants the ledger before it receives. That goes well as long as
//! the channels between them have room, and the source comes first.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use leno::fiber::{Builder, JoinHandle, Runtime};
use leno::sync::Mutex;
use leno::{Receiver, Sender, bounded, sleep, yield_now};

/// With a capacity of `JOBS` the source lets go of the ledger, and nobody gets stuck.
const ROOM: usize = 1;
const JOBS: u32 = 4;

type Ledger = Arc<Mutex<Vec<u32>>>;

fn main() -> std::io::Result<()> {
    let runtime = Runtime::builder().workers(2).inspect(true).closed_world(true).build()?;
    // A closed world is one whose fibers nobody outside wakes: here it is told that they wait for each other.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let stuck = catch_unwind(AssertUnwindSafe(|| {
        runtime.block_on(async {
            let sink = pipeline();
            // By then the others have got as far as they can.
            sleep(Duration::from_millis(20)).await;
            let dump = runtime.dump();
            println!("{dump}\n{}", dump.to_mermaid());
            sink.await.expect("it does not panic");
        });
    }));
    std::panic::set_hook(hook);
    let report = stuck.expect_err("there is less room than jobs");
    let report = report.downcast_ref::<String>().expect("a message");
    assert!(report.starts_with("deadlock: all fibers wait"), "{report}");
    println!("{report}");
    Ok(())
}

fn pipeline() -> JoinHandle<()> {
    let ledger = Ledger::default();
    let (jobs_in, jobs) = bounded(ROOM);
    let (results_in, results) = bounded(ROOM);
    let fiber = |name: &str| Builder::new().name(name);
    fiber("source").spawn(source(ledger.clone(), jobs_in));
    fiber("worker").spawn(worker(jobs, results_in));
    fiber("sink").spawn(sink(results, ledger))
}

async fn source(ledger: Ledger, jobs: Sender<u32>) {
    let mut ledger = ledger.lock().await;
    for job in 0..JOBS {
        ledger.push(job);
        jobs.send(job).await.expect("the worker receives");
    }
}

async fn worker(jobs: Receiver<u32>, results: Sender<u32>) {
    while let Ok(job) = jobs.recv().await {
        results.send(job * job).await.expect("the sink receives");
    }
}

async fn sink(results: Receiver<u32>, ledger: Ledger) {
    yield_now().await;
    let ledger = ledger.lock().await;
    while let Ok(result) = results.recv().await {
        println!("{result} ({} jobs)", ledger.len());
    }
}
