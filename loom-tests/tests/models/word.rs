//! The word and its first waiter: meeting, handing over, refilling, leaving, parking anew; and whether what is found at
//! once is right.

use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::Ring;
use crate::scenarios::table::{any, in_order};

// Meeting.
table! {
    meet_in_none: Ring(0), [], [[S(1, 1)], [R(2)]], any;
    meet_in_one: Ring(1), [], [[S(1, 1), S(3, 2)], [R(2), R(4)]], any;
    a_sender_and_two_receivers: Ring(0), [], [[S(1, 1)], [R(2)], [R(3)]], any;
    two_senders_and_a_receiver: Ring(1), [S(1, 1)], [[S(2, 2)], [R(3)], [S(4, 3)]], any;
    publish_against_publish: Ring(2), [], [[TS(1)], [TS(2)], [R(1), TR]], any;
    polled_while_handed_over: Ring(0), [R(1)], [[P(1), P(1)], [TS(1)]], any;
    order_in_one: Ring(1), [], [[S(1, 1), S(2, 2), S(3, 3)], [TR, TR, TR]], in_order;
    order_in_two: Ring(2), [], [[S(1, 1), S(2, 2), S(3, 3)], [TR, TR, TR]], in_order;
}

// Refilling.
table! {
    refill_one: Ring(1), [S(1, 1), S(2, 2)], [[R(3)], [S(4, 3)]], any;
    refill_two: Ring(2), [S(1, 1), S(2, 2), S(3, 3)], [[TR, TR], [R(9)], [TS(4)]], any;
    refill_from_few: Ring(1), [S(1, 1), S(2, 2), S(3, 3)], [[TR], [TR]], any;
    refill_from_many: Ring(1), [S(1, 1), S(2, 2), S(3, 3), S(4, 4)], [[TR, TR], [TR]], any;
    refill_where_a_slot_is_read: Ring(1), [S(1, 1)], [[TR], [TS(2), S(3, 3)], [TR]], any;
    refill_where_a_slot_is_written: Ring(1), [S(1, 1), S(2, 2)], [[TR, TS(3)], [TR, TR]], any;
    refill_against_two_that_register: Ring(1), [S(1, 1)], [[S(2, 2)], [S(3, 3)], [TR, TR]], any;
    refill_against_one_that_leaves: Ring(1), [S(1, 1)], [[S(2, 2), D(2)], [S(3, 3)], [TR]], any;
    refill_against_one_that_takes_it_back: Ring(1), [S(1, 1)], [[S(2, 2), Inner(2)], [TS(3)], [TR, TR]], any;
    refill_in_order: Ring(1), [S(1, 1), S(2, 2), S(3, 3)], [[TR, TR, TR], [S(4, 4)]], in_order;
}

// Leaving the word.
table! {
    send_dropped: Ring(0), [S(1, 1)], [[D(1)], [TR]], any;
    send_taken_back: Ring(0), [S(1, 1)], [[Inner(1)], [TR]], any;
    send_dropped_and_anew: Ring(1), [S(1, 1), S(2, 2)], [[D(2), S(2, 3)], [TR, TR]], any;
    recv_dropped: Ring(0), [R(1)], [[D(1)], [S(2, 1)], [R(3)]], any;
    recv_dropped_and_anew: Ring(1), [R(1)], [[D(1), R(1)], [S(2, 1)], [TR]], any;
    recv_dropped_twice: Ring(0), [R(1)], [[D(1)], [S(2, 1)], [R(3), D(3)]], any;
    send_dropped_and_recycled: Ring(0), [Recycle, S(1, 1)], [[D(1), S(2, 2), D(2), S(3, 3)], [TR, TR]], any;
    send_dropped_sides_change: Ring(0), [Recycle, S(1, 1)], [[Inner(1), R(2)], [TR, TS(3)]], any;
}

// Parking anew.
table! {
    repark_a_recv: Ring(0), [R(1)], [[Repark(1), D(1)], [S(2, 1)]], any;
    repark_a_recv_that_waits_on: Ring(0), [R(1)], [[Repark(1), Repark(1)], [S(2, 1)]], any;
    repark_a_send: Ring(1), [S(1, 1), S(2, 2)], [[Repark(2)], [TR], [TR]], any;
    repark_a_send_that_registers: Ring(1), [S(1, 1)], [[S(2, 2), Repark(2)], [TR]], any;
    repark_in_few: Ring(0), [S(1, 1), S(2, 2)], [[Repark(2), D(2)], [TR, TR]], any;
    repark_in_few_and_wait: Ring(0), [R(1), R(2)], [[Repark(2), Repark(2)], [S(3, 1), S(4, 2)]], any;
    repark_in_many: Ring(0), [R(1), R(2), R(3)], [[Repark(3)], [TS(1), TS(2), TS(3)]], any;
    repark_in_many_and_leave: Ring(0), [S(1, 1), S(2, 2), S(3, 3)], [[Repark(3), Inner(3)], [TR, TR]], any;
    repark_the_first_of_few: Ring(0), [R(1), R(2)], [[Repark(1)], [TS(1)], [D(2)]], any;
    repark_and_aba: Ring(0), [Recycle, S(1, 1), S(2, 2), S(3, 3)], [[TR], [D(1), Repark(2)], [TR]], any;
}

// What is found at once.
table! {
    never_empty_nor_full: Ring(2), [], [[TSok(1), TRok], [TSok(2), TRok]], any;
    never_empty_while_refilled: Ring(1), [S(1, 1), S(2, 2)], [[TRok], [TRok]], any;
    never_empty_nor_full_of_three: Ring(2), [S(8, 9)], [[TRok, TSok(1)], [TSok(2), TRok]], any;
    never_empty_while_senders_wait: Ring(0), [S(1, 1), S(2, 2), S(3, 3)], [[TRok], [TRok], [TRok]], any;
    never_full_while_receivers_wait: Ring(0), [R(1), R(2), R(3)], [[TSok(1)], [TSok(2)], [TSok(3)]], any;
}
