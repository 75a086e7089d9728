//! Permits: places that are reserved, in rings (by turns) and in linked channels (in the room).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc as StdArc;
use std::task::{Poll, Wake, Waker};

use crate::scenarios::harness::{check, thread};
use crate::scenarios::support::{Panics, Value, Values, poll, poll_as};
use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::{Linked, Ring, Unbounded};
use crate::scenarios::table::{any, in_order};

table! {
    // The last place: a reservation, or a send.
    reserve_against_send: Ring(1), [], [[TReserve(1)], [TS(1)]], any;
    reserve_against_sends: Ring(2), [TS(1)], [[TReserve(1), Use(1, 2)], [S(2, 3), TR]], any;
    reserve_against_a_full_send: Ring(2), [TS(1)], [[TReserve(1)], [TS(2)]], any;
    two_reserve_the_last_place: Ring(2), [TS(1)], [[TReserve(1)], [TReserve(2)]], any;
    reserve_against_a_receive: Ring(1), [TS(1)], [[Reserve(1, 1)], [TR]], any;
    reserve_against_a_waiting_send: Ring(1), [TS(1)], [[Reserve(1, 1)], [S(2, 2)], [TR]], any;
    try_reserve_against_a_waiting_send: Ring(1), [S(1, 1)], [[S(2, 2)], [TReserve(3)], [TR]], any;
    // C23: a permit is dropped, and the next one gets its place.
    drop_against_a_waiting_reserve: Ring(1), [TReserve(1), Reserve(2, 1)], [[Free(1)], [D(2)]], any;
    drop_against_a_reserve: Ring(1), [TReserve(1)], [[Free(1)], [Reserve(2, 1)]], any;
    drop_against_a_send: Ring(1), [TReserve(1)], [[Free(1)], [S(2, 2)], [TR]], any;
    // C11.
    first_of_two_leaves: Ring(1), [TReserve(1), Reserve(2, 1), Reserve(3, 1)], [[Free(1)], [D(2)]], any;
    granted_and_dropped: Ring(1), [TReserve(1), Reserve(2, 1), Reserve(3, 1), Free(1)], [[D(2)], [P(3)]], any;
    reservation_reparked: Ring(1), [TReserve(1), Reserve(2, 1)], [[Free(1)], [Repark(2)]], any;
    // A permit's send, a sender that waits, and a receiver.
    use_against_a_send_and_a_receive: Ring(1), [TReserve(1), S(2, 2)], [[Use(1, 1)], [R(3)]], any;
    use_against_a_receive: Ring(1), [TReserve(1)], [[Use(1, 1)], [R(3), R(4)], [TS(2)]], any;
    use_against_a_reserve: Ring(2), [TReserve(1), TReserve(2)], [[Use(1, 1)], [Use(2, 2)], [TR]], any;
    use_against_a_send_and_a_receive_of_two: Ring(2), [S(1, 1), TReserve(2)], [[S(3, 3)], [Use(2, 4)], [TR]], any;
    receive_for_a_reservation: Ring(1), [TS(1), Reserve(2, 1)], [[TR], [S(3, 3)], [R(4)]], any;
    senders_before_reservations: Ring(1), [TS(1), S(2, 2), Reserve(3, 1), S(4, 4)], [[TR, TR], [D(3)]], in_order;
    // C2: two that wait in the word, of which a receive lets in the second while the first comes by turn.
    senders_in_order_where_a_permit_goes: Ring(2), [TReserve(9), TS(1), S(2, 2), S(3, 3)], [[Free(9)], [TR, TR]], in_order;
    // C27.
    never_full_behind_a_failed_reserve: Ring(2), [TS(1)], [[TReserve(1), Free(1)], [TR, TSok(2)]], any;
    never_full_beside_a_receive: Ring(2), [TS(1)], [[TR, TReserve(1)], [TSok(2)]], any;
    never_full_for_a_reserve: Ring(2), [], [[TSok(1), TRok], [TReserveOk(1), Free(1)]], any;
    never_empty_while_a_turn_comes: Ring(1), [TS(1), S(2, 2), Reserve(3, 1)], [[TRok], [TRok]], any;
    never_empty_while_one_sends_by_turn: Ring(1), [TReserve(1), S(2, 2), Use(1, 1)], [[TRok], [TRok]], any;
    never_full_where_all_is_given_back: Ring(1), [TReserve(1), Reserve(2, 1)], [[D(2), Free(1), TSok(3)], [TR]], any;
    limit_against_a_waiting_receiver: Ring(2), [TReserve(1), R(2)], [[Free(1)], [TS(3)], [S(4, 4)]], any;
    // Several at once.
    many_against_receives: Ring(2), [TS(1), TS(2), Reserve(3, 2)], [[TR, TR], [D(3)], [S(4, 4)]], any;
    many_leave_alone: Ring(2), [TReserve(1), Reserve(2, 2), Reserve(3, 1)], [[D(2)], [TR]], any;
    many_leave_first: Ring(2), [TReserve(1), Reserve(2, 2), Reserve(3, 1)], [[D(2)], [Free(1)]], any;
    // Closing.
    close_against_a_permit: Ring(1), [TReserve(1), R(2)], [[Close], [Use(1, 1)]], any;
    close_against_a_reserve: Ring(1), [TReserve(1), Reserve(2, 1)], [[Close], [Reserve(3, 1)], [D(2)]], any;
    close_against_a_send_by_turn: Ring(1), [TReserve(1), S(2, 2)], [[Close], [Free(1)], [D(2)]], any;
    discard_against_a_permit: Ring(1), [TReserve(1)], [[CloseNow], [Use(1, 1)]], any;

    linked_reserve_against_send: Linked(1), [], [[TReserve(1)], [TS(1)]], any;
    linked_reserve_against_a_waiting_send - 1: Linked(1), [Count, TS(1)], [[Reserve(1, 1)], [S(2, 2)], [TR]], any;
    linked_drop_against_a_waiting_reserve: Linked(1), [TReserve(1), Reserve(2, 1)], [[Free(1)], [D(2)]], any;
    linked_first_of_two_leaves: Linked(1), [TReserve(1), Reserve(2, 1), Reserve(3, 1)], [[Free(1)], [D(2)]], any;
    linked_granted_and_dropped: Linked(1), [TReserve(1), Reserve(2, 1), Reserve(3, 1), Free(1)], [[D(2)], [P(3)]], any;
    linked_use_against_a_send_and_a_receive: Linked(1), [TReserve(1), S(2, 2)], [[Use(1, 1)], [R(3)]], any;
    linked_never_full_beside_a_receive: Linked(2), [TS(1)], [[TR, TReserve(1)], [TSok(2)]], any;
    linked_never_full_beside_a_permit: Linked(2), [TReserve(1)], [[Use(1, 1)], [TSok(2)]], any;
    linked_never_empty_beside_a_permit: Linked(2), [TReserve(1), TS(1)], [[Use(1, 2)], [TRok]], any;
    linked_many_against_receives: Linked(2), [TS(1), TS(2), Reserve(3, 2)], [[TR, TR], [D(3)]], any;
    linked_many_leave_alone: Linked(2), [TReserve(1), Reserve(2, 2), Reserve(3, 1)], [[D(2)], [TR]], any;
    linked_many_leave_first: Linked(2), [TReserve(1), Reserve(2, 2), Reserve(3, 1)], [[D(2)], [Free(1)]], any;
    linked_many_enter_first: Linked(2), [TReserve(1)], [[Reserve(2, 2)], [Free(1)], [TS(3)]], any;
    linked_close_against_a_permit: Linked(1), [TReserve(1), R(2)], [[Close], [Use(1, 1)]], any;
    linked_close_against_a_reserve: Linked(1), [TReserve(1), Reserve(2, 1)], [[Close], [D(2)], [Free(1)]], any;
    linked_discard_against_a_permit: Linked(1), [TReserve(1)], [[CloseNow], [Use(1, 1)]], any;

    unbounded_close_against_a_permit: Unbounded, [TReserve(1), R(2)], [[Close], [Use(1, 1)]], any;
    unbounded_discard_against_a_reserve: Unbounded, [], [[CloseNow], [TReserve(1), Use(1, 1)]], any;
}

/// A waker whose drop comes back to the channel.
struct ComesBack(leno::Sender<u8>);

impl Wake for ComesBack {
    fn wake(self: StdArc<Self>) {}
}

impl Drop for ComesBack {
    fn drop(&mut self) {
        drop(self.0.try_reserve());
    }
}

/// C13: a reservation is polled with another waker, and dropped, while it is being granted. The waker that is left behind goes
/// when the lock is free again. (In a model a poll that wakes its own task yields as well; so this one does not come to that.)
#[test]
fn dropped_while_it_is_granted() {
    check("dropped_while_it_is_granted", 0, || {
        let (tx, rx) = leno::bounded::<u8>(1);
        let Poll::Ready(Ok(permit)) = poll(&mut tx.clone().reserve_owned()) else { unreachable!() };
        let mut waiting = tx.clone().reserve_owned();
        let waker = Waker::from(StdArc::new(ComesBack(tx.clone())));
        assert!(poll_as(&mut waiting, &waker).is_pending());
        drop(waker);
        let other = thread::spawn(move || {
            let waker = Waker::from(StdArc::new(Panics(true)));
            let _ = catch_unwind(AssertUnwindSafe(|| poll_as(&mut waiting, &waker).is_ready()));
            drop(waiting);
        });
        drop(permit);
        other.join().unwrap();
        assert!(tx.try_reserve().is_ok(), "the place is free");
        drop((tx, rx));
    });
}

/// C29: a permit's send tells of a close, and a waker panics: the value is not lost.
#[test]
fn a_waker_panics_that_a_permit_tells() {
    check("a_waker_panics_that_a_permit_tells", 0, || {
        let values = Values::default();
        let (tx, rx) = leno::unbounded::<Value>();
        let Poll::Ready(Ok(permit)) = poll(&mut tx.clone().reserve_owned()) else { unreachable!() };
        let mut receiving = rx.recv();
        assert!(poll_as(&mut receiving, &Waker::from(StdArc::new(Panics(false)))).is_pending());
        let value = values.make(1);
        let other = thread::spawn(move || {
            let _ = catch_unwind(AssertUnwindSafe(|| drop(permit.send(value))));
        });
        let _ = catch_unwind(AssertUnwindSafe(|| tx.close()));
        other.join().unwrap();
        drop(receiving);
        drop((tx, rx));
        assert_eq!(values.alive(), 0, "a value was leaked");
    });
}

/// C8: who is told of a close by a reservation finds the channel closed, also where its places close first.
#[test]
fn who_reserves_is_told_of_a_close() {
    check("who_reserves_is_told_of_a_close", 0, || {
        let (tx, rx) = leno::bounded::<u8>(9);
        let other = tx.clone();
        let closing = thread::spawn(move || other.close());
        if let Err(error) = tx.try_reserve() {
            assert!(error.is_closed() && tx.is_closed(), "{error}");
        }
        assert!(closing.join().unwrap());
        drop((tx, rx));
    });
}

/// C8: who has seen that nobody can receive any more gets back what it sends by a permit.
fn a_permit_after_the_last_receiver(channel: fn() -> (leno::Sender<u8>, leno::Receiver<u8>)) {
    check("a_permit_after_the_last_receiver", 0, move || {
        let (tx, rx) = channel();
        let Poll::Ready(Ok(permit)) = poll(&mut tx.clone().reserve_owned()) else { unreachable!() };
        let closing = thread::spawn(move || drop(rx));
        if tx.is_closed() {
            assert!(permit.send(1).is_err(), "it is closed, and emptied");
        }
        closing.join().unwrap();
    });
}

#[test]
fn a_permit_after_the_last_receiver_of_a_ring() {
    a_permit_after_the_last_receiver(|| leno::bounded(1));
}

#[test]
fn a_permit_after_the_last_receiver_of_a_room() {
    a_permit_after_the_last_receiver(|| leno::bounded(9));
}

#[test]
fn a_permit_after_the_last_receiver_without_a_bound() {
    a_permit_after_the_last_receiver(leno::unbounded);
}
