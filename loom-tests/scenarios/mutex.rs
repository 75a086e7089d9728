//! The mutex, barging and fair: exclusion, registering against unlocking, leaving.

use std::sync::Arc;

use leno::sync::{Mutex, MutexGuard};

use super::scenarios::harness::thread;
use super::scenarios::support::{poll, settle};

fn both(run: impl Fn(Arc<Mutex<usize>>)) {
    run(Arc::new(Mutex::new(0)));
}

fn count_from_two_threads(mutex: Arc<Mutex<usize>>) {
    let other = Arc::clone(&mutex);
    let counting = thread::spawn(move || *other.lock_blocking() += 1);
    *mutex.lock_blocking() += 1;
    counting.join().unwrap();
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), 2);
    mutex.assert_valid();
}

/// At most one holder; whoever waits gets the lock.
pub(crate) fn exclusion() {
    both(count_from_two_threads);
}

/// The same for a fair mutex.
pub(crate) fn fair_exclusion() {
    count_from_two_threads(Arc::new(Mutex::fair(0)));
}

fn granted_and_dropped(mutex: Arc<Mutex<usize>>) {
    let guard = mutex.try_lock().unwrap();
    let mut first = mutex.lock();
    assert!(poll(&mut first).is_pending());
    let other = Arc::clone(&mutex);
    let second = thread::spawn(move || *other.lock_blocking() += 1);
    drop(guard);
    drop(first);
    second.join().unwrap();
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), 1);
}

/// A waiter that an unlock has notified is dropped before it runs: the next one gets the lock.
pub(crate) fn notified_and_dropped() {
    granted_and_dropped(Arc::new(Mutex::new(0)));
}

/// A waiter that was granted the lock is dropped before it runs: the next one gets it.
pub(crate) fn fair_granted_and_dropped() {
    granted_and_dropped(Arc::new(Mutex::fair(0)));
}

fn unlock_against_leaving(mutex: Arc<Mutex<usize>>) {
    let mut first = mutex.lock();
    let holder = Arc::clone(&mutex);
    let guard = holder.try_lock_arc().unwrap();
    assert!(poll(&mut first).is_pending());
    let unlocking = thread::spawn(move || drop(guard));
    drop(first);
    unlocking.join().unwrap();
    assert!(mutex.try_lock().is_some(), "nobody holds it");
}

/// An unlock meets a waiter that leaves: the lock is free in the end.
pub(crate) fn unlock_against_cancel() {
    unlock_against_leaving(Arc::new(Mutex::new(0)));
}

/// The same for a fair mutex, where the lock may be on its way to that waiter.
pub(crate) fn fair_unlock_against_cancel() {
    unlock_against_leaving(Arc::new(Mutex::fair(0)));
}

/// A barging mutex hands over when it is told to.
pub(crate) fn unlock_fair_against_barging() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let mut waiting = mutex.lock();
    assert!(poll(&mut waiting).is_pending());
    let other = Arc::clone(&mutex);
    let barging = thread::spawn(move || other.try_lock().is_some());
    MutexGuard::unlock_fair(guard);
    assert!(!barging.join().unwrap(), "the lock was never free");
    assert!(settle(&mut waiting).is_ready());
}
