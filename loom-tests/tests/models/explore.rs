//! Runs a model of fibers under loom, and says how many executions that took.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use loom::model::Builder;

/// Explores every interleaving with at most `LOOM_MAX_PREEMPTIONS` preemptions, 2 where that is not set.
pub(crate) fn model(scenario: impl Fn() + Send + Sync + 'static) {
    explore(Builder::new(), 0, scenario);
}

/// As [`model`], for one that takes many steps; with so many preemptions fewer where it is a large one.
pub(crate) fn long_model(fewer: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    builder.max_branches = 20_000;
    explore(builder, fewer, scenario);
}

fn explore(mut builder: Builder, fewer: usize, scenario: impl Fn() + Send + Sync + 'static) {
    builder.preemption_bound = Some(builder.preemption_bound.unwrap_or(2).saturating_sub(fewer));
    let runs = Arc::new(AtomicUsize::new(0));
    let count = runs.clone();
    builder.check(move || {
        count.fetch_add(1, Ordering::Relaxed);
        scenario();
    });
    println!("Completed in {} iterations", runs.load(Ordering::Relaxed));
}
