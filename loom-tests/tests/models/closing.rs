//! Closing against everything else, and the end.

use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::{Linked, Ring, Unbounded};
use crate::scenarios::table::{any, in_order, not_the_third};

table! {
    close_against_hand_over: Ring(0), [R(1)], [[Close], [S(2, 1)], [D(1)]], any;
    close_against_refill: Ring(1), [S(1, 1), S(2, 2)], [[Close], [R(3)], [D(2)]], any;
    close_against_refill_of_two: Ring(1), [S(1, 1), S(2, 2)], [[Close], [TR, TR]], in_order;
    close_against_register_and_refill: Ring(1), [S(1, 1)], [[S(2, 2)], [Close], [TR, TR]], any;
    close_against_enter: Ring(0), [], [[Close], [S(1, 1)], [R(2)]], any;
    close_against_join: Ring(0), [S(1, 1)], [[S(2, 2)], [Close], [D(1)]], any;
    close_against_join_of_many: Ring(0), [R(1), R(2)], [[R(3)], [Close]], any;
    close_against_two_and_one_that_gives_back: Ring(0), [R(1), R(2), R(3), TS(1)], [[Close], [D(1), TR]], not_the_third;
    close_against_leaves - 1: Ring(0), [S(1, 1), S(2, 2), S(3, 3)], [[Close], [D(2), D(3)]], any;
    close_against_leave_of_promoted: Ring(0), [R(1), R(2), R(3), TS(1)], [[Close], [D(2)]], any;
    close_against_repark - 1: Ring(0), [R(1), R(2)], [[Close], [Repark(1)], [Repark(2)]], any;
    close_against_give_back: Ring(0), [R(1), R(2), TS(1)], [[Close], [D(1)]], any;
    two_close: Ring(0), [R(1), R(2)], [[Close], [Close, P(1), P(2)]], any;
    close_against_publishing: Ring(1), [], [[S(1, 1)], [Close, TR]], any;
    close_and_recycle - 1: Ring(0), [Recycle, S(1, 1), S(2, 2)], [[Close], [Inner(1)], [Inner(2)]], any;
    discard_against_publishing: Ring(1), [], [[S(1, 1)], [CloseNow]], any;
    discard_against_two: Ring(2), [S(8, 9)], [[S(1, 1)], [CloseNow], [S(2, 2)]], any;
    discard_against_receives: Ring(2), [S(1, 1), S(2, 2)], [[CloseNow], [TR, TR]], in_order;
    two_discard - 1: Ring(1), [S(1, 1)], [[CloseNow], [CloseNow], [TR]], any;
    discard_against_hand_over: Ring(0), [R(1)], [[S(2, 1)], [D(1), CloseNow]], any;
    discard_against_refill: Ring(1), [S(1, 1), S(2, 2)], [[TR], [CloseNow]], any;
    discard_against_blocks: Unbounded, [], [[TS(1), TS(2)], [CloseNow]], any;
    discard_against_a_room: Linked(1), [S(1, 1), S(2, 2)], [[TR], [CloseNow]], any;
    close_blocks_against_enter - 1: Unbounded, [], [[R(1)], [Close], [TS(1)]], any;
    close_blocks_against_join - 1: Unbounded, [R(1)], [[R(2)], [Close], [D(1)]], any;
}

/// The last handles.
mod last {
    use std::task::Poll;

    use leno::{bounded, rendezvous, unbounded};

    use crate::scenarios::harness::thread;
    use crate::scenarios::support::{Values, poll, settle};

    /// Both sides go at once: one of them frees the channel.
    pub(crate) fn both_sides_go() {
        let (tx, rx) = bounded(1);
        let values = Values::default();
        tx.try_send(values.make(1)).unwrap();
        let sender = thread::spawn(move || drop(tx));
        drop(rx);
        sender.join().unwrap();
        assert_eq!(values.alive(), 0);
    }

    /// Two receivers and a sender go at once.
    pub(crate) fn three_handles_go() {
        let (tx, rx) = bounded(1);
        let values = Values::default();
        tx.try_send(values.make(1)).unwrap();
        let other = rx.clone();
        let threads = [thread::spawn(move || drop(tx)), thread::spawn(move || drop(other))];
        drop(rx);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(values.alive(), 0);
    }

    /// The last receiver goes, while a sender publishes a value that owns a handle of another channel.
    pub(crate) fn the_last_receiver_against_a_reply_handle() {
        let (tx, rx) = bounded(1);
        let (reply, answer) = rendezvous::<usize>();
        let sender = thread::spawn(move || drop(tx.try_send(reply)));
        drop(rx);
        sender.join().unwrap();
        assert!(answer.recv_blocking().is_err(), "the value that owns the other end is gone");
    }

    /// The last sender goes while receivers wait, in the word and behind it.
    pub(crate) fn the_last_sender_against_receivers() {
        let (tx, rx) = rendezvous::<usize>();
        let mut first = rx.recv();
        assert!(poll(&mut first).is_pending());
        let closer = thread::spawn(move || drop(tx));
        let mut second = rx.recv();
        let early = poll(&mut second);
        closer.join().unwrap();
        assert!(matches!(settle(&mut first), Poll::Ready(Err(_))));
        assert!(early.is_ready() || settle(&mut second).is_ready());
        rx.assert_valid();
    }

    /// Somebody watches for the close, and gives up, while the last receiver goes.
    pub(crate) fn watchers_against_the_last_receiver() {
        let (tx, rx) = unbounded::<usize>();
        let (mut first, mut second) = (tx.closed(), tx.closed());
        assert!(poll(&mut first).is_pending());
        assert!(poll(&mut second).is_pending());
        let closer = thread::spawn(move || drop(rx));
        drop(first);
        closer.join().unwrap();
        assert!(settle(&mut second).is_ready());
        tx.assert_valid();
    }

    /// C17: a receive that is dropped just when it is told of the close is no value.
    pub(crate) fn a_receive_that_is_told_is_not_counted() {
        let (tx, rx) = bounded::<u8>(1);
        let mut receiving = rx.recv();
        assert!(poll(&mut receiving).is_pending());
        let closer = thread::spawn(move || (tx.close(), tx));
        drop(receiving);
        let (_, tx) = closer.join().unwrap();
        assert_eq!((rx.len(), tx.len()), (0, 0));
        rx.assert_valid();
    }
}

models! { last:
    both_sides_go
    three_handles_go
    the_last_receiver_against_a_reply_handle
    the_last_sender_against_receivers
    watchers_against_the_last_receiver
    a_receive_that_is_told_is_not_counted
}
