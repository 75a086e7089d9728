//! Runs a scenario under loom, and says how many executions that took.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

pub(crate) use loom::sync::Arc;
pub(crate) use loom::sync::Mutex;
pub(crate) use loom::sync::atomic;
pub(crate) use loom::thread;

/// Preemptions that a model allows for where `LOOM_MAX_PREEMPTIONS` says nothing; also what CI says.
const PREEMPTIONS: usize = 2;

/// Explores every interleaving of `scenario` with at most `LOOM_MAX_PREEMPTIONS` preemptions, in CI with `cap` at
/// most: the model is too large for more. The long tier asks for more than CI does, and gets it.
///
/// loom ends quietly at a time limit; here it fails, so that a model that is too large does not pass for explored.
/// The limit is `LENO_MODEL_SECONDS`.
pub(crate) fn check(name: &str, cap: Option<usize>, scenario: impl Fn() + Send + Sync + 'static) {
    let seconds = std::env::var("LENO_MODEL_SECONDS").ok().and_then(|n| n.parse().ok());
    let limit = Duration::from_secs(seconds.unwrap_or(900));
    let executions = std::sync::Arc::new(AtomicU64::new(0));
    let counted = std::sync::Arc::clone(&executions);
    let mut model = loom::model::Builder::new();
    let asked = model.preemption_bound.unwrap_or(PREEMPTIONS);
    let bound = cap.filter(|_| asked <= PREEMPTIONS).map_or(asked, |cap| asked.min(cap));
    model.preemption_bound = Some(bound);
    model.max_branches = 20_000;
    let started = Instant::now();
    model.check(move || {
        assert!(started.elapsed() < limit, "the model is too large for its time");
        counted.fetch_add(1, Relaxed);
        scenario();
    });
    let executions = executions.load(Relaxed);
    println!("{name}: {executions} executions in {:?}, preemptions: {bound}", started.elapsed());
}
