//! The mutex, barging and fair: exclusion, registering against unlocking, leaving.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::task::{Poll, Wake, Waker};

use leno::rendezvous;
use leno::select::{Selected2, select_biased};
use leno::sync::{LockArc, Mutex, MutexGuard, OwnedMutexGuard};

use super::harness::thread;
use super::support::{Panics, Woken, poll, poll_as, poll_with, settle};

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

/// A lock meets an unlock while others wait: one in the word, then one behind it, then one in the list. (A model's small
/// array has few cells.) All get the lock, or can have it.
fn unlock_against_joining(mutex: Arc<Mutex<usize>>, waiting: usize) {
    let holder = Arc::clone(&mutex);
    let guard = holder.try_lock_arc().unwrap();
    let mut line = (0..waiting).map(|_| mutex.lock()).collect::<Vec<_>>();
    line.iter_mut().for_each(|lock| assert!(poll(lock).is_pending()));
    let unlocking = thread::spawn(move || drop(guard));
    let mut late = mutex.lock();
    let first_look = poll(&mut late).map(drop);
    unlocking.join().unwrap();
    for lock in &mut line {
        drop(settle(lock));
    }
    if first_look.is_pending() {
        assert!(settle(&mut late).is_ready(), "all others have unlocked");
    }
    drop(late);
    mutex.assert_valid();
    for mut lock in line {
        // Passed over by the one that came late.
        if lock_is_left(&mut lock) {
            assert!(settle(&mut lock).is_ready());
        }
    }
    assert!(mutex.try_lock().is_some(), "nobody holds it");
}

fn lock_is_left(lock: &mut leno::sync::Lock<'_, usize>) -> bool {
    format!("{lock:?}").contains("true")
}

pub(crate) fn unlock_against_joining_one() {
    unlock_against_joining(Arc::new(Mutex::new(0)), 1);
}

pub(crate) fn unlock_against_joining_few() {
    unlock_against_joining(Arc::new(Mutex::new(0)), 2);
}

pub(crate) fn unlock_against_joining_many() {
    unlock_against_joining(Arc::new(Mutex::new(0)), 3);
}

pub(crate) fn fair_unlock_against_joining_one() {
    unlock_against_joining(Arc::new(Mutex::fair(0)), 1);
}

pub(crate) fn fair_unlock_against_joining_few() {
    unlock_against_joining(Arc::new(Mutex::fair(0)), 2);
}

/// A barging mutex with a waiter that was passed over once, so that it is known to answer; locked.
fn with_one_that_answers(mutex: &Arc<Mutex<usize>>) -> (OwnedMutexGuard<usize>, LockArc<usize>) {
    let guard = mutex.try_lock().unwrap();
    let mut answering = mutex.lock_arc();
    assert!(poll(&mut answering).is_pending());
    drop(guard);
    let guard = mutex.try_lock_arc().unwrap();
    assert!(poll(&mut answering).is_pending());
    (guard, answering)
}

/// The one waiter that an unlock tells is dropped, before it looks or before it is told: the next one gets the lock.
pub(crate) fn told_and_dropped() {
    let mutex = Arc::new(Mutex::new(0));
    let (guard, answering) = with_one_that_answers(&mutex);
    let other = Arc::clone(&mutex);
    let behind = thread::spawn(move || *other.lock_blocking() += 1);
    drop(guard);
    drop(answering);
    behind.join().unwrap();
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), 1);
    mutex.assert_valid();
}

/// The same, dropped by another thread than the one that unlocks.
pub(crate) fn told_against_dropped() {
    let mutex = Arc::new(Mutex::new(0));
    let (guard, answering) = with_one_that_answers(&mutex);
    let mut behind = mutex.lock();
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let dropping = thread::spawn(move || drop(answering));
    drop(guard);
    dropping.join().unwrap();
    assert!(woken.count() > 0, "the lock is free, and nobody else was told");
    assert!(settle(&mut behind).is_ready());
}

/// The same of one that another branch of a select has won over, and that is its owner's still.
pub(crate) fn told_against_standing_down() {
    let mutex = Arc::new(Mutex::new(0));
    let (guard, mut answering) = with_one_that_answers(&mutex);
    let mut behind = mutex.lock();
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let (tx, rx) = rendezvous::<usize>();
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    tx.try_send(1).unwrap();
    let unlocking = thread::spawn(move || drop(guard));
    let outcome = poll(&mut select_biased((&mut receiving, &mut answering)));
    assert!(matches!(outcome, Poll::Ready(Selected2::First(Ok(1)))));
    unlocking.join().unwrap();
    assert!(woken.count() > 0, "the lock is free, and nobody else was told");
    assert!(settle(&mut behind).is_ready());
    drop(answering);
}

/// An unlock tells two threads, each of which locks.
pub(crate) fn two_told() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let waiting = [(); 2].map(|()| {
        let mutex = Arc::clone(&mutex);
        thread::spawn(move || *mutex.lock_blocking() += 1)
    });
    drop(guard);
    for thread in waiting {
        thread.join().unwrap();
    }
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), 2);
    mutex.assert_valid();
}

/// A future that is never polled again waits in front of a thread: that gets the lock.
pub(crate) fn stale_in_front() {
    let mutex = Arc::new(Mutex::new(0));
    let guard = mutex.try_lock().unwrap();
    let mut stale = mutex.lock();
    assert!(poll(&mut stale).is_pending());
    let other = Arc::clone(&mutex);
    let behind = thread::spawn(move || *other.lock_blocking() += 1);
    drop(guard);
    behind.join().unwrap();
    drop(stale);
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), 1);
    mutex.assert_valid();
}

/// A grant meets an owner that leaves, and one that waits behind it gets the lock.
fn grant_against_drop(mutex: Arc<Mutex<usize>>) {
    let guard = mutex.try_lock().unwrap();
    let mut leaving = mutex.lock_arc();
    assert!(poll(&mut leaving).is_pending());
    let mut behind = mutex.lock();
    let woken = Woken::new();
    assert!(poll_with(&mut behind, &woken).is_pending());
    let dropping = thread::spawn(move || drop(leaving));
    MutexGuard::unlock_fair(guard);
    dropping.join().unwrap();
    assert!(woken.count() > 0, "granted, or told");
    assert!(settle(&mut behind).is_ready());
    drop(behind);
    mutex.assert_valid();
    assert!(mutex.try_lock().is_some(), "nobody holds it");
}

pub(crate) fn unlock_fair_against_drop() {
    grant_against_drop(Arc::new(Mutex::new(0)));
}

pub(crate) fn fair_grant_against_drop() {
    grant_against_drop(Arc::new(Mutex::fair(0)));
}

/// Two unlocks of a fair mutex: the waiter of the first leaves and another one comes, before the first has handed over.
pub(crate) fn fair_two_hand_over() {
    let mutex = Arc::new(Mutex::fair(0));
    let guard = mutex.try_lock_arc().unwrap();
    let mut leaving = mutex.lock();
    assert!(poll(&mut leaving).is_pending());
    let other = Arc::clone(&mutex);
    let first = thread::spawn(move || drop(guard));
    let second = thread::spawn(move || *other.lock_blocking() += 1);
    drop(leaving);
    *mutex.lock_blocking() += 1;
    first.join().unwrap();
    second.join().unwrap();
    assert_eq!(*mutex.try_lock().expect("nobody holds it"), 2);
    mutex.assert_valid();
}

/// The task of a waiter changes while it is told, or granted the lock: one of the two wakers is woken, or it sees to itself.
fn moved_against_unlock(mutex: Arc<Mutex<usize>>) {
    let guard = mutex.try_lock_arc().unwrap();
    let mut waiting = mutex.lock();
    let (before, after) = (Woken::new(), Woken::new());
    assert!(poll_with(&mut waiting, &before).is_pending());
    let unlocking = thread::spawn(move || drop(guard));
    let polled = poll_with(&mut waiting, &after).map(drop);
    unlocking.join().unwrap();
    if polled.is_pending() {
        assert!(after.count() > 0, "the last waker is woken");
        assert!(settle(&mut waiting).is_ready());
    }
}

pub(crate) fn told_while_it_moves() {
    moved_against_unlock(Arc::new(Mutex::new(0)));
}

pub(crate) fn granted_while_it_moves() {
    moved_against_unlock(Arc::new(Mutex::fair(0)));
}

/// A waker that looks, as who unlocks drops it without having called it, whether the lock is free.
struct Looks {
    was_called: AtomicBool,
    mutex: Arc<Mutex<usize>>,
    unlocker: thread::ThreadId,
    was_held: Arc<AtomicBool>,
}

impl Wake for Looks {
    fn wake(self: Arc<Self>) {
        self.was_called.store(true, Relaxed);
    }
}

impl Drop for Looks {
    fn drop(&mut self) {
        let is_left = !self.was_called.load(Relaxed) && thread::current().id() == self.unlocker;
        if is_left && self.mutex.try_lock().is_none() {
            self.was_held.store(true, Relaxed);
        }
    }
}

/// C13: a waiter is polled with another waker, and dropped, while it is granted the lock: the waker that is left behind goes
/// when the lock is free again.
pub(crate) fn left_while_it_is_granted() {
    let mutex = Arc::new(Mutex::fair(0));
    let guard = mutex.try_lock_arc().unwrap();
    let was_held = Arc::new(AtomicBool::new(false));
    let looks = Looks {
        was_called: AtomicBool::new(false),
        mutex: Arc::clone(&mutex),
        unlocker: thread::current().id(),
        was_held: Arc::clone(&was_held),
    };
    let mut locking = mutex.lock_arc();
    let waker = Waker::from(Arc::new(looks));
    assert!(poll_as(&mut locking, &waker).is_pending());
    drop(waker);
    let moving = thread::spawn(move || {
        let waker = Waker::from(Arc::new(Panics(true)));
        let _ = catch_unwind(AssertUnwindSafe(|| poll_as(&mut locking, &waker).is_ready()));
        drop(locking);
    });
    drop(guard);
    moving.join().unwrap();
    assert!(!was_held.load(Relaxed), "foreign code ran while the lock was held");
    assert!(mutex.try_lock().is_some(), "nobody holds it");
}
