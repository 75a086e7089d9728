//! A heartbeat: a worker reports its progress, and signals that it is alive when there is nothing to report; its watcher notices
//! when neither arrives.
//!
//! `cargo run --example heartbeat`

use std::time::Duration;

use leno::{Receiver, Sender, bounded, select, sleep, spawn};

const BEAT: Duration = Duration::from_millis(20);
const PATIENCE: Duration = Duration::from_millis(100);

#[derive(Debug)]
enum Report {
    Alive,
    Done(u32),
}

/// What the watcher has seen.
#[derive(Debug, Default, PartialEq, Eq)]
struct Seen {
    beats: u32,
    jobs: u32,
    is_lost: bool,
}

fn main() {
    leno::block_on(async {
        let (jobs, todo) = bounded(4);
        let (report, reports) = bounded(4);
        let worker = spawn(work(todo, report));
        let watcher = spawn(watch(reports));

        for job in 1..=3 {
            jobs.send(job).await.expect("the worker is there");
            // Long enough for a beat or two.
            sleep(BEAT * 2).await;
        }
        // The last job hangs: there is no beat in it.
        jobs.send(0).await.expect("the worker is there");
        let seen = watcher.await.expect("the watcher does not panic");
        worker.cancel();

        println!("{} jobs, {} beats in between", seen.jobs, seen.beats);
        assert!(seen.is_lost && seen.jobs == 3, "the watcher has noticed that the worker hangs");
    });
}

async fn work(todo: Receiver<u32>, report: Sender<Report>) {
    loop {
        let sent = select! {
            job = todo.recv() => match job {
                Ok(0) => std::future::pending().await,
                Ok(job) => report.send(Report::Done(job)).await,
                Err(_) => return,
            },
            default(BEAT) => report.send(Report::Alive).await,
        };
        if sent.is_err() {
            return;
        }
    }
}

async fn watch(reports: Receiver<Report>) -> Seen {
    let mut seen = Seen::default();
    loop {
        select! {
            Ok(report) = reports.recv() => match report {
                Report::Alive => seen.beats += 1,
                Report::Done(job) => {
                    println!("job {job} is done");
                    seen.jobs += 1;
                }
            },
            default(PATIENCE) => {
                println!("no sign of life for {PATIENCE:?}");
                seen.is_lost = true;
                return seen;
            }
            // The pattern did not match: the worker has gone.
            else => return seen,
        }
    }
}
