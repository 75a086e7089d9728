//! Runs a scenario under loom, and says how many executions that took.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub use loom::sync::Arc;
pub use loom::sync::Mutex;
pub use loom::sync::atomic;
pub use loom::thread;

/// Explores every interleaving of `scenario` with at most `LOOM_MAX_PREEMPTIONS` (2 by default) preemptions.
///
/// loom ends quietly at a time limit; here it fails, so that a model that is too large does not pass for explored.
pub fn check(name: &str, scenario: impl Fn() + Send + Sync + 'static) {
    let limit = Duration::from_secs(900);
    let executions = std::sync::Arc::new(AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&executions);
    let mut model = loom::model::Builder::new();
    model.preemption_bound.get_or_insert(2);
    model.max_branches = 20_000;
    let started = Instant::now();
    model.check(move || {
        assert!(started.elapsed() < limit, "the model is too large for its time");
        counted.fetch_add(1, Relaxed);
        scenario();
    });
    println!("{name}: {} executions in {:?}", executions.load(Relaxed), started.elapsed());
}
