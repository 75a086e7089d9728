//! Explores a model of fibers; and what loom explores.

use std::collections::BTreeSet;
use std::env;
use std::sync::{Arc, Mutex};

use loom::sync::atomic::{AtomicBool, Ordering};

use crate::scenarios::harness::{explore, thread};

/// Explores a model by the name of its test.
pub(crate) fn model(scenario: impl Fn() + Send + Sync + 'static) {
    large_model(0, scenario);
}

/// As [`model`], with so many preemptions fewer.
pub(crate) fn large_model(fewer: usize, scenario: impl Fn() + Send + Sync + 'static) {
    let thread = std::thread::current();
    explore(thread.name().expect("tests run on threads with their names"), fewer, Arc::new(scenario));
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
    assert_eq!(seen.lock().unwrap().contains(&true), is_patched(), "{seen:?}");
}

/// Where a thread waits either of two others may go on, also when no preemption is left: loom takes the first of them, unless it is
/// patched. (By exchanges: a load may be given an older value in any order. And not at the first point of an execution at which
/// threads can change: loom takes that for a preemption.)
#[test]
fn either_of_two_goes_on_where_one_waits() {
    let seen = Arc::new(Mutex::new(BTreeSet::new()));
    let keep = seen.clone();
    large_model(usize::MAX, move || {
        let place = Arc::new(AtomicBool::new(true));
        place.store(false, Ordering::Release);
        let theirs = place.clone();
        let first = thread::spawn(move || theirs.swap(true, Ordering::AcqRel));
        let second = thread::spawn(move || place.swap(true, Ordering::AcqRel));
        first.join().unwrap();
        keep.lock().unwrap().insert(second.join().unwrap());
    });
    let seen = seen.lock().unwrap();
    assert!(seen.contains(&true), "{seen:?}");
    assert_eq!(seen.contains(&false), is_patched(), "{seen:?}");
}

fn is_patched() -> bool {
    env::var_os("LENO_LOOM").is_some_and(|loom| loom == "patched")
}
