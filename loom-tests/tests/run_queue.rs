//! Models of the run queue: F9, no wake-up is lost as the last thread goes to wait. A lost one is a deadlock.
//!
//! Planted bugs, in `src/fiber/run_queue.rs`: `run_queue_counts_twice`, `run_queue_forgets_watcher`.

use leno::model::run_queue::Queue;
use loom::sync::Arc;
use loom::thread;

fn model(scenario: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    if builder.preemption_bound.is_none() {
        builder.preemption_bound = Some(2);
    }
    let runs = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = runs.clone();
    builder.check(move || {
        count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        scenario();
    });
    println!("Completed in {} iterations", runs.load(std::sync::atomic::Ordering::Relaxed));
}

#[test]
fn a_push_as_the_last_thread_goes_to_wait() {
    model(|| {
        let queue = Arc::new(Queue::new(1));
        let worker = queue.clone();
        let worker = thread::spawn(move || [worker.wait(), worker.wait()]);
        queue.push(1);
        queue.push(2);
        assert_eq!(worker.join().unwrap(), [Some(1), Some(2)]);
    });
}

/// Each takes one and leaves, as a thread does that is caught in a long poll: nobody else may be counted on.
#[test]
fn two_pushes_reach_two_threads() {
    model(|| {
        let queue = Arc::new(Queue::new(2));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || queue.wait())
            })
            .collect();
        queue.push(1);
        queue.push(2);
        let mut got: Vec<_> = workers.into_iter().map(|worker| worker.join().unwrap()).collect();
        got.sort();
        assert_eq!(got, [Some(1), Some(2)]);
    });
}

#[test]
fn the_end_reaches_everybody() {
    model(|| {
        let queue = Arc::new(Queue::new(2));
        let workers: Vec<_> = (0..2)
            .map(|_| {
                let queue = queue.clone();
                thread::spawn(move || while queue.wait().is_some() {})
            })
            .collect();
        queue.push(1);
        queue.close();
        workers.into_iter().for_each(|worker| worker.join().unwrap());
    });
}
