//! Linked blocks, of two slots each here: publication in and out of order, boundaries, the freeing of blocks, the
//! limit of a bounded channel, the end.

use leno::channel::{RecvError, TrySendError};
use leno::model::blocks::{Blocks, Claimed};
use leno::{Receiver, Sender, bounded, unbounded};

use super::buffered;
use super::harness::{Arc, thread};
use super::support::{Value, Values, poll, settle};

/// Slots of a block.
const SLOTS: usize = 2;

/// The smallest capacity that is too large for a ring, here.
const LIMIT: usize = 4;

/// An empty channel whose next slot is the last one of a block.
fn before_a_boundary() -> (Sender<usize>, Receiver<usize>) {
    let (tx, rx) = unbounded();
    for number in 0..SLOTS - 1 {
        tx.try_send(number).unwrap();
        assert_eq!(rx.try_recv(), Ok(number));
    }
    (tx, rx)
}

/// What is in the channel when nobody is in the middle of anything.
fn drain(rx: &Receiver<usize>) -> Vec<usize> {
    std::iter::from_fn(|| rx.try_recv().ok()).collect()
}

/// A receiver registers and looks again while a value is published.
pub(crate) fn publish_against_register() {
    buffered::publish_against_register(unbounded());
}

/// Two senders publish in one block, in either order: all is ready when they are through.
pub(crate) fn two_senders_in_a_block() {
    let (tx, rx) = unbounded();
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(1).unwrap());
    tx.try_send(2).unwrap();
    sender.join().unwrap();
    assert_eq!(rx.len(), 2);
    let mut received = drain(&rx);
    received.sort_unstable();
    assert_eq!(received, [1, 2]);
}

/// Two senders publish in one block while a receiver looks, which may be told to look again.
pub(crate) fn two_senders_against_a_receiver() {
    let (tx, rx) = unbounded();
    let senders = [1, 2].map(|number| {
        let tx = tx.clone();
        thread::spawn(move || tx.try_send(number).unwrap())
    });
    let early = [rx.try_recv(), rx.try_recv()].into_iter().flatten();
    for sender in senders {
        sender.join().unwrap();
    }
    assert_eq!(drain(&rx).into_iter().chain(early).sum::<usize>(), 3);
}

/// Two senders make the very first block.
pub(crate) fn two_senders_make_the_first_block() {
    let values = Values::default();
    let (tx, rx) = unbounded();
    let (first, second) = (values.make(1), values.make(2));
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(first).unwrap());
    tx.try_send(second).unwrap();
    sender.join().unwrap();
    let received = [rx.try_recv().unwrap().number, rx.try_recv().unwrap().number];
    assert!(received == [1, 2] || received == [2, 1]);
    assert_eq!(values.alive(), 0);
}

/// The last slot of a block and the first of the next one are claimed by two senders.
pub(crate) fn two_senders_across_a_boundary() {
    let (tx, rx) = unbounded();
    tx.try_send(0).unwrap();
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(1).unwrap());
    tx.try_send(2).unwrap();
    sender.join().unwrap();
    let received = drain(&rx);
    assert!(received == [0, 1, 2] || received == [0, 2, 1]);
}

/// One sender is about to link a block; another one does, and goes on past the end of that.
pub(crate) fn a_sender_is_late_at_a_boundary() {
    let (tx, rx) = before_a_boundary();
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(10).unwrap());
    for number in 2..5 {
        tx.try_send(number).unwrap();
    }
    sender.join().unwrap();
    tx.try_send(5).unwrap();
    let mut received = drain(&rx);
    assert_eq!(received.iter().copied().filter(|&number| number < 10).collect::<Vec<_>>(), [2, 3, 4, 5]);
    received.sort_unstable();
    assert_eq!(received, [2, 3, 4, 5, 10]);
}

/// One sender looks for the next block while another one links it, and the block before is freed.
pub(crate) fn a_sender_visits_a_block_that_is_freed() {
    let (tx, rx) = before_a_boundary();
    let other = tx.clone();
    let sender = thread::spawn(move || other.try_send(10).unwrap());
    tx.try_send(2).unwrap();
    let first = rx.try_recv();
    sender.join().unwrap();
    let mut received = drain(&rx);
    received.extend(first);
    received.sort_unstable();
    assert_eq!(received, [2, 10]);
}

/// A sender goes on to the next block, and further, and a receiver after it: blocks are linked, freed, kept in the
/// cache and taken from there.
pub(crate) fn sender_against_receiver_across_boundaries() {
    let (tx, rx) = before_a_boundary();
    let sender = thread::spawn(move || {
        for number in 2..5 {
            tx.try_send(number).unwrap();
        }
    });
    for number in 2..5 {
        assert_eq!(rx.recv_blocking(), Ok(number));
    }
    sender.join().unwrap();
    rx.assert_valid();
}

/// A channel with a value left in one block and one in the next, after `before` values have passed one by one.
fn values_on_both_sides(values: &Values, before: usize) -> (Sender<Value>, Receiver<Value>) {
    let (tx, rx) = unbounded();
    let send = |number| tx.try_send(values.make(number)).unwrap();
    let receive = |number| assert_eq!(rx.try_recv().unwrap().number, number);
    for number in 0..before {
        send(number);
        receive(number);
    }
    (before..=before + SLOTS).for_each(send);
    (before..before + SLOTS - 1).for_each(receive);
    (tx, rx)
}

/// The last slot of a block and the first of the next one are read by two receivers: the one who goes on does not
/// free the block under the other one.
pub(crate) fn two_receivers_across_a_boundary() {
    two_receivers_behind(0);
}

/// The same at a block that comes again: what was marked in its first life is cleared.
pub(crate) fn two_receivers_in_a_block_that_comes_again() {
    leno::model::recycle_nodes(true);
    two_receivers_behind(2 * SLOTS);
}

fn two_receivers_behind(before: usize) {
    let values = Values::default();
    let (tx, rx) = values_on_both_sides(&values, before);
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().unwrap().number);
    let here = rx.try_recv().unwrap().number;
    let there = receiver.join().unwrap();
    assert_eq!(here + there, 2 * (before + SLOTS) - 1);
    assert_eq!(values.alive(), 0);
    drop(tx);
}

/// The first of these with a sender that links the next block meanwhile, and may take the one that is freed.
pub(crate) fn a_sender_behind_two_receivers() {
    let values = Values::default();
    let (tx, rx) = values_on_both_sides(&values, 0);
    tx.try_send(values.make(3)).unwrap();
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().unwrap().number);
    let last = values.make(4);
    let sender = thread::spawn(move || tx.try_send(last).unwrap());
    let here = rx.try_recv().unwrap().number;
    let there = receiver.join().unwrap();
    assert_eq!(here + there, 3);
    sender.join().unwrap();
    assert_eq!([3, 4], [(); 2].map(|()| rx.try_recv().unwrap().number));
    assert_eq!(values.alive(), 0);
}

/// Two receivers read the slots of one block: the one who has the last slot does not free it under the other one.
pub(crate) fn two_receivers_in_a_block() {
    let (tx, rx) = unbounded();
    (0..SLOTS).for_each(|number| tx.try_send(number).unwrap());
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().unwrap());
    assert_eq!(rx.try_recv().unwrap() + receiver.join().unwrap(), 1);
    assert_eq!(drain(&rx), []);
}

/// A receiver that goes on past a block meets one that has yet to leave it, and both a sender that takes what is freed.
pub(crate) fn two_receivers_and_a_sender_at_a_boundary() {
    let (tx, rx) = before_a_boundary();
    (1..4).for_each(|number| tx.try_send(number).unwrap());
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().unwrap());
    let sender = thread::spawn(move || tx.try_send(4).unwrap());
    let here = rx.try_recv().unwrap();
    assert_eq!(here + receiver.join().unwrap(), 3);
    sender.join().unwrap();
    assert_eq!(drain(&rx), [3, 4]);
}

/// Blocks of which one is left that a visitor, who is there still, has kept from being freed; the next one is through but for the
/// last slot, which is claimed.
fn a_block_is_retired() -> (Arc<Blocks>, Claimed) {
    let blocks = Blocks::default();
    let send = |number| blocks.publish(blocks.claim(), number);
    (0..SLOTS).for_each(send);
    blocks.enter();
    (0..SLOTS).for_each(|number| assert_eq!(blocks.receive(), number));
    assert!(blocks.has_retired());
    (SLOTS..2 * SLOTS - 1).for_each(|number| {
        send(number);
        assert_eq!(blocks.receive(), number);
    });
    let last = blocks.claim();
    (Arc::new(blocks), last)
}

/// A visitor that leaves takes what is retired. Before it does, but after it has found that it is alone, another one comes, and the
/// block where that looks is retired as well: it is not freed. `retired_looked_at_once`.
pub(crate) fn a_visitor_leaves_as_another_one_comes() {
    let (blocks, last) = a_block_is_retired();
    let (theirs, coming) = (blocks.clone(), blocks.clone());
    let coming = thread::spawn(move || coming.visit_the_back());
    let going_on = thread::spawn(move || {
        theirs.publish(last, 9);
        assert_eq!(theirs.receive(), 9);
    });
    blocks.leave();
    going_on.join().unwrap();
    coming.join().unwrap();
    assert!(!blocks.has_retired());
}

/// Somebody puts back what is retired because of a visitor, which leaves meanwhile, and finds nothing there.
/// `retired_stay_behind`.
pub(crate) fn a_visitor_leaves_while_blocks_are_looked_at() {
    let (blocks, last) = a_block_is_retired();
    let other = blocks.clone();
    let other = thread::spawn(move || {
        other.enter();
        other.leave();
    });
    blocks.leave();
    other.join().unwrap();
    assert!(!blocks.has_retired());
    blocks.publish(last, 9);
    assert_eq!(blocks.receive(), 9);
}

/// Two receivers wait, one value comes, the first is dropped before it runs: the second gets it.
pub(crate) fn handed_and_dropped() {
    buffered::handed_and_dropped(unbounded());
}

/// A full channel: of the two who want the room that one of them makes, one gets it.
pub(crate) fn room_for_one() {
    let (tx, rx) = bounded(LIMIT);
    (0..LIMIT).for_each(|number| tx.try_send(number).unwrap());
    assert_eq!(tx.try_send(9), Err(TrySendError::Full(9)));
    let (other_tx, other_rx) = (tx.clone(), rx.clone());
    let making = thread::spawn(move || {
        assert_eq!(other_rx.try_recv(), Ok(0));
        other_tx.try_send(10).is_ok()
    });
    let here = tx.try_send(11).is_ok();
    let there = making.join().unwrap();
    assert!(here != there, "it is full exactly if the other one has sent");
    assert_eq!(rx.len(), LIMIT);
    assert_eq!(drain(&rx), [1, 2, 3, if here { 11 } else { 10 }]);
}

/// A sender registers at the limit, and at a boundary, while a receiver makes room.
pub(crate) fn room_against_register() {
    let (tx, rx) = bounded(LIMIT);
    (0..LIMIT).for_each(|number| tx.try_send(number).unwrap());
    let receiver = thread::spawn(move || {
        assert_eq!(rx.recv_blocking(), Ok(0));
        rx
    });
    tx.send_blocking(LIMIT).unwrap();
    let rx = receiver.join().unwrap();
    assert_eq!(drain(&rx), [1, 2, 3, 4]);
    rx.assert_valid();
}

/// Two receivers make room at once, for two senders that wait: both values are moved, across a boundary.
pub(crate) fn two_places() {
    let (tx, rx) = bounded(LIMIT + 1);
    (0..=LIMIT).for_each(|number| tx.try_send(number).unwrap());
    let mut waiting = [tx.send(5), tx.send(6)];
    assert!(waiting.iter_mut().all(|sending| poll(sending).is_pending()));
    let other = rx.clone();
    let receiver = thread::spawn(move || other.try_recv().unwrap());
    assert_eq!(rx.try_recv().unwrap() + receiver.join().unwrap(), 1);
    assert_eq!(rx.len(), LIMIT + 1, "room that is made is filled at once");
    assert!(waiting.iter_mut().all(|sending| settle(sending).is_ready()));
    assert_eq!(drain(&rx), [2, 3, 4, 5, 6]);
    rx.assert_valid();
}

/// A close meets a receiver that is about to wait; a value sent before it is not lost.
pub(crate) fn close_after_send() {
    buffered::close_after_send(unbounded());
}

/// A close meets a sender that goes on to the next block: its values are in, or come back.
pub(crate) fn close_at_a_boundary() {
    let (tx, rx) = before_a_boundary();
    let sender = thread::spawn(move || [1, 2].map(|number| tx.try_send(number).is_ok()));
    rx.close();
    let received = std::iter::from_fn(|| rx.recv_blocking().ok()).collect::<Vec<_>>();
    let sent = sender.join().unwrap();
    assert_eq!(received, [1, 2][..sent.into_iter().filter(|&sent| sent).count()]);
    assert_eq!(rx.recv_blocking(), Err(RecvError));
}

/// A value is published while the last receiver goes: it is dropped, once.
pub(crate) fn publish_against_discard() {
    buffered::publish_against_discard(unbounded());
}

/// The same for two values, the second in a block of its own.
pub(crate) fn publish_against_discard_at_a_boundary() {
    let values = Values::default();
    let (tx, rx) = values_on_both_sides(&values, 0);
    tx.try_send(values.make(3)).unwrap();
    let value = values.make(4);
    let sender = thread::spawn(move || drop(tx.try_send(value)));
    drop(rx);
    sender.join().unwrap();
    assert_eq!(values.alive(), 0);
}
