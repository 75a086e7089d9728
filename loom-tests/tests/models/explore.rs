//! Runs a model of fibers under loom, and says how many executions that took.

use std::collections::BTreeSet;
use std::env;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use loom::model::Builder;
use loom::sync::atomic::AtomicBool;
use loom::thread;

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

/// A load after another thread's load and store is an execution of its own: loom leaves it out, unless it is patched, as CI has it.
/// (If this fails without the patch loom has been mended, and the patch can go.)
#[test]
fn a_load_against_a_load_and_a_store() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let keep = seen.clone();
    model(move || {
        let place = Arc::new(AtomicBool::new(false));
        let theirs = place.clone();
        let other = thread::spawn(move || {
            let _ = theirs.load(Ordering::Acquire);
            theirs.store(true, Ordering::Release);
        });
        keep.lock().unwrap().insert(place.load(Ordering::Acquire));
        other.join().unwrap();
    });
    let is_patched = env::var_os("LENO_LOOM").is_some_and(|loom| loom == "patched");
    assert_eq!(seen.lock().unwrap().contains(&true), is_patched, "{seen:?}");
}
