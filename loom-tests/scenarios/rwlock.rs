//! The lock for readers and writers: exclusion, upgrading, downgrading, leaving.

use std::sync::Arc;

use leno::channel::rendezvous;
use leno::select::{Selected2, select_biased as select};
use leno::sync::{RwLock, RwLockUpgradableReadGuard, RwLockWriteGuard};

use super::harness::thread;
use super::support::{Woken, poll, poll_with, settle};

fn lock() -> Arc<RwLock<usize>> {
    Arc::new(RwLock::new(0))
}

/// Two writers; each sees what the other has written. (The value is a cell of loom's.)
pub(crate) fn exclusion() {
    let lock = lock();
    let other = Arc::clone(&lock);
    let writing = thread::spawn(move || *other.write().wait() += 1);
    *lock.write().wait() += 1;
    writing.join().unwrap();
    assert_eq!(*lock.read().wait(), 2);
    lock.assert_free();
}

/// A writer among two readers.
pub(crate) fn readers_and_a_writer() {
    let lock = lock();
    let (reader, writer) = (Arc::clone(&lock), Arc::clone(&lock));
    let reading = thread::spawn(move || *reader.read().wait());
    let writing = thread::spawn(move || *writer.write().wait() += 1);
    assert!(*lock.read().wait() < 2);
    assert!(reading.join().unwrap() < 2);
    writing.join().unwrap();
    lock.assert_free();
}

/// An upgrade against a writer: what was read is what is written over.
pub(crate) fn upgrade_against_write() {
    let lock = lock();
    let other = Arc::clone(&lock);
    let writing = thread::spawn(move || *other.write().wait() += 10);
    let guard = lock.upgradable_read().wait();
    let before = *guard;
    let mut guard = RwLockUpgradableReadGuard::upgrade(guard).wait();
    assert_eq!(*guard, before, "nobody has come in between");
    *guard += 1;
    drop(guard);
    writing.join().unwrap();
    assert_eq!(*lock.read().wait(), 11);
    lock.assert_free();
}

/// An upgrade against the last reader, and a writer that waits.
pub(crate) fn upgrade_against_the_last_reader() {
    let lock = lock();
    let reader = lock.try_read_arc().unwrap();
    let guard = lock.try_upgradable_read().unwrap();
    let mut writing = lock.write();
    assert!(poll(&mut writing).is_pending());
    let reading = thread::spawn(move || drop(reader));
    let guard = RwLockUpgradableReadGuard::upgrade(guard).wait();
    reading.join().unwrap();
    assert!(poll(&mut writing).is_pending());
    drop(guard);
    assert!(settle(&mut writing).is_ready());
    drop(writing);
    lock.assert_free();
}

/// An upgrade is given up while the last reader leaves: nothing is lost, and who waits is let in.
pub(crate) fn upgrade_dropped_against_the_last_reader() {
    let lock = lock();
    let reader = lock.try_read_arc().unwrap();
    let mut upgrade = RwLockUpgradableReadGuard::upgrade(lock.try_upgradable_read().unwrap());
    assert!(poll(&mut upgrade).is_pending());
    let mut writing = lock.write();
    let woken = Woken::new();
    assert!(poll_with(&mut writing, &woken).is_pending());
    let reading = thread::spawn(move || drop(reader));
    drop(upgrade);
    reading.join().unwrap();
    assert!(woken.count() > 0, "nobody reads any more");
    assert!(settle(&mut writing).is_ready());
    drop(writing);
    lock.assert_free();
}

/// The same with nobody in line: what comes back is free in the end.
pub(crate) fn upgrade_dropped_alone() {
    let lock = lock();
    let reader = lock.try_read_arc().unwrap();
    let mut upgrade = RwLockUpgradableReadGuard::upgrade(lock.try_upgradable_read().unwrap());
    assert!(poll(&mut upgrade).is_pending());
    let reading = thread::spawn(move || drop(reader));
    drop(upgrade);
    reading.join().unwrap();
    lock.assert_free();
}

/// A downgrade lets a reader in, beside a writer that begins to wait.
pub(crate) fn downgrade_against_readers() {
    let lock = lock();
    let mut guard = lock.try_write().unwrap();
    *guard = 1;
    let mut reading = lock.read();
    assert!(poll(&mut reading).is_pending());
    let other = Arc::clone(&lock);
    let writing = thread::spawn(move || *other.write().wait() += 1);
    let guard = RwLockWriteGuard::downgrade(guard);
    assert_eq!(*guard, 1);
    match settle(&mut reading) {
        std::task::Poll::Ready(second) => assert_eq!(*second, 1, "beside the first one"),
        std::task::Poll::Pending => panic!("it was before the writer"),
    }
    drop(guard);
    writing.join().unwrap();
    assert_eq!(*lock.read().wait(), 2);
    lock.assert_free();
}

/// A try of an upgrade, while a writer waits and the last reader leaves.
pub(crate) fn try_upgrade_against_the_last_reader() {
    let lock = lock();
    let reader = lock.try_read_arc().unwrap();
    let guard = lock.try_upgradable_read().unwrap();
    let mut writing = lock.write();
    let woken = Woken::new();
    assert!(poll_with(&mut writing, &woken).is_pending());
    let reading = thread::spawn(move || drop(reader));
    match RwLockUpgradableReadGuard::try_upgrade(guard) {
        Ok(guard) => drop(guard),
        Err(guard) => drop(guard),
    }
    reading.join().unwrap();
    assert!(woken.count() > 0);
    assert!(settle(&mut writing).is_ready());
    drop(writing);
    lock.assert_free();
}

/// A select that has borrowed an upgrade is dropped while the last reader leaves: readers are let in, although the future of the
/// upgrade is still there.
pub(crate) fn lent_upgrade_dropped_against_the_last_reader() {
    let lock = lock();
    let reader = lock.try_read_arc().unwrap();
    let mut upgrade = RwLockUpgradableReadGuard::upgrade(lock.try_upgradable_read().unwrap());
    let (_tx, rx) = rendezvous::<usize>();
    let mut selecting = select((&mut upgrade, rx.recv()));
    assert!(poll(&mut selecting).is_pending());
    let reading = thread::spawn(move || drop(reader));
    drop(selecting);
    reading.join().unwrap();
    drop(lock.try_read().expect("a reader fits beside the upgradable one, and nobody upgrades"));
    drop(upgrade);
    lock.assert_free();
}

/// The same for one that another branch wins while this one is about to wait.
pub(crate) fn lent_upgrade_loses_against_the_last_reader() {
    let lock = lock();
    let reader = lock.try_read_arc().unwrap();
    let mut upgrade = RwLockUpgradableReadGuard::upgrade(lock.try_upgradable_read().unwrap());
    let (tx, rx) = rendezvous::<usize>();
    let reading = thread::spawn(move || drop(reader));
    let sending = thread::spawn(move || tx.try_send(1).is_ok());
    let won = match poll(&mut select((rx.recv(), &mut upgrade))) {
        std::task::Poll::Ready(Selected2::Second(guard)) => {
            drop(guard);
            true
        }
        _ => false,
    };
    reading.join().unwrap();
    sending.join().unwrap();
    if !won {
        drop(lock.try_read().expect("a reader fits beside the upgradable one, and nobody upgrades"));
        drop(upgrade);
    }
    lock.assert_free();
}
