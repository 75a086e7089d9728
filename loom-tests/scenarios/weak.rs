//! Weak handles: upgrades against the last drops, and who frees the channel.

use std::task::Poll;

use leno::{Receiver, Sender, bounded, rendezvous, unbounded};

use super::harness::thread;
use super::support::{Values, poll, settle};

/// The last sender goes while a weak one is upgraded: what comes of that is a sender of an open channel, or the channel is closed.
/// Planted bugs: `weak_last_is_not_marked`, `weak_upgrades_the_gone`, `weak_is_refused_early`.
pub(crate) fn upgrade_against_the_last_drop() {
    let (tx, rx) = bounded(1);
    let weak = tx.downgrade();
    let dropping = thread::spawn(move || drop(tx));
    let upgraded = weak.upgrade();
    match &upgraded {
        Some(tx) => {
            assert!(!rx.is_closed(), "it has a sender");
            assert_eq!(tx.try_send(1), Ok(()));
        }
        None => assert!(rx.is_closed(), "it has no sender"),
    }
    dropping.join().unwrap();
    assert_eq!(rx.is_closed(), upgraded.is_none());
    assert_eq!(rx.sender_count(), usize::from(upgraded.is_some()));
    drop(upgraded);
    assert!(rx.is_closed());
    assert_eq!(weak.sender_count(), 0);
    rx.assert_valid();
}

/// The same, and the weak handle goes before the last sender looks whether there is one. Planted bug: `weak_trusts_its_count`.
pub(crate) fn upgrade_and_go_against_the_last_drop() {
    let (tx, rx) = bounded::<u8>(1);
    let weak = tx.downgrade();
    let dropping = thread::spawn(move || drop(tx));
    let upgraded = weak.upgrade();
    drop(weak);
    assert!(upgraded.is_none() || !rx.is_closed(), "it has a sender");
    dropping.join().unwrap();
    assert_eq!(rx.is_closed(), upgraded.is_none());
}

/// The last receiver goes while a weak one is upgraded: the value goes with it, or the upgraded one has it.
pub(crate) fn upgrade_against_the_last_receiver() {
    let (tx, rx) = bounded(1);
    let values = Values::default();
    tx.try_send(values.make(1)).unwrap();
    let weak = rx.downgrade();
    let dropping = thread::spawn(move || drop(rx));
    match weak.upgrade() {
        Some(rx) => assert_eq!(rx.try_recv().map(|value| value.number), Ok(1)),
        None => assert!(tx.is_closed()),
    }
    dropping.join().unwrap();
    assert_eq!(values.alive(), 0, "it was dropped, though there is a weak handle");
    assert!(weak.upgrade().is_none() && tx.try_send(values.make(2)).is_err());
}

/// C8: who finds that the last receiver has gone gets back what it sends by a permit. Planted bug: `weak_closes_not_to_permits`.
pub(crate) fn upgrade_against_the_last_receiver_beside_a_permit() {
    upgrade_beside_a_permit(bounded(1));
}

/// The same of a room.
pub(crate) fn upgrade_against_the_last_receiver_beside_a_permit_of_a_room() {
    upgrade_beside_a_permit(bounded(9));
}

/// The same without a bound.
pub(crate) fn upgrade_against_the_last_receiver_beside_a_permit_without_a_bound() {
    upgrade_beside_a_permit(unbounded());
}

fn upgrade_beside_a_permit((tx, rx): (Sender<u8>, Receiver<u8>)) {
    let Poll::Ready(Ok(permit)) = poll(&mut tx.reserve_owned()) else { unreachable!() };
    let weak = rx.downgrade();
    let dropping = thread::spawn(move || drop(rx));
    if weak.upgrade().is_none() {
        assert!(permit.send(1).is_err(), "it is closed, and emptied");
    }
    dropping.join().unwrap();
}

/// Another sender is downgraded and goes, while the last one goes: what is upgraded has an open channel.
pub(crate) fn downgrade_against_the_last_drop() {
    let (tx, rx) = bounded::<u8>(1);
    let other = tx.clone();
    let dropping = thread::spawn(move || drop(tx));
    let weak = other.downgrade();
    drop(other);
    let upgraded = weak.upgrade();
    assert!(if upgraded.is_some() { !rx.is_closed() } else { rx.is_closed() });
    dropping.join().unwrap();
    assert_eq!(rx.is_closed(), upgraded.is_none());
}

/// Both sides go, while a weak handle is upgraded, and goes: somebody frees the channel, once, and its value.
pub(crate) fn upgrade_against_both_sides() {
    let (tx, rx) = bounded(1);
    let values = Values::default();
    tx.try_send(values.make(1)).unwrap();
    let weak = tx.downgrade();
    let threads = [thread::spawn(move || drop(tx)), thread::spawn(move || drop(rx))];
    drop(weak.upgrade());
    threads.into_iter().for_each(|thread| thread.join().unwrap());
    assert!(weak.upgrade().is_none());
    assert_eq!((weak.sender_count(), weak.receiver_count()), (0, 0));
    assert_eq!(values.alive(), 0, "only the memory is left");
}

/// The last weak handle goes with the last handle, of a channel with blocks: one of them frees all of it.
/// Planted bug: `weak_release_relaxed`.
pub(crate) fn the_last_weak_against_the_last_handle() {
    let (tx, rx) = unbounded();
    let values = Values::default();
    let weak = rx.downgrade();
    drop(tx.clone());
    let dropping = thread::spawn(move || {
        (1..=3).for_each(|number| assert!(tx.try_send(number).is_ok()));
        drop(rx);
        drop(tx);
    });
    drop((weak, values));
    dropping.join().unwrap();
}

/// Two weak handles, of either side, go with the last handle.
pub(crate) fn two_weak_against_the_last_handle() {
    let (tx, rx) = rendezvous::<u8>();
    let (sending, receiving) = (tx.downgrade(), rx.downgrade());
    drop(rx);
    let threads = [thread::spawn(move || drop(tx)), thread::spawn(move || drop(sending))];
    drop(receiving.clone());
    assert!(receiving.upgrade().is_none());
    drop(receiving);
    threads.into_iter().for_each(|thread| thread.join().unwrap());
}

/// The last sender goes, while a weak one is upgraded, with a receiver that waits: it is told, or gets a value.
pub(crate) fn upgrade_where_a_receiver_waits() {
    let (tx, rx) = rendezvous();
    let weak = tx.downgrade();
    let mut receiving = rx.recv();
    assert!(poll(&mut receiving).is_pending());
    let dropping = thread::spawn(move || drop(tx));
    let sent = weak.upgrade().is_some_and(|tx| {
        assert_eq!(tx.try_send(1), Ok(()), "a receiver waits");
        true
    });
    dropping.join().unwrap();
    match settle(&mut receiving) {
        Poll::Ready(received) => assert_eq!(received.is_ok(), sent),
        Poll::Pending => panic!("the last sender is gone"),
    }
}
