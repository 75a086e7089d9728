//! Receives that are dropped when a value was handed to them, or is about to be: it goes to the next receive, in order.

use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::{Linked, LinkedOldest, Ring, Unbounded};
use crate::scenarios::table::{Log, any, in_order};

table! {
    redirected_once: Ring(0), [R(1), R(2)], [[D(1)], [TS(1)]], any;
    redirected_twice: Ring(0), [R(1), R(2)], [[D(1)], [D(2)], [S(3, 1)]], any;
    redirected_thrice - 1: Ring(0), [R(1), R(2), R(3)], [[D(1)], [D(2)], [S(4, 1), D(3)]], any;
    redirected_in_four_threads - 2: Ring(0), [R(1), R(2), R(3)], [[D(1), TR], [D(2)], [S(4, 1)], [D(3)]], any;
    redirected_and_polled: Ring(0), [R(1), R(2)], [[D(1)], [P(2), Repark(2)], [TS(1)]], any;
    redirected_and_refused - 1: Ring(0), [R(1), R(2), S(3, 1)], [[D(1)], [Close], [D(2)]], any;
    given_back_against_close: Ring(0), [R(1)], [[D(1)], [S(2, 1)], [Close, TR]], any;
    given_back_in_order: Ring(0), [R(1), R(2), S(3, 1), S(4, 2)], [[D(1)], [D(2)]], in_order;
    given_back_in_order_of_sends - 1: Ring(0), [R(1), R(2)], [[TS(1), TS(2)], [D(2)], [D(1)]], in_order;
    given_back_in_order_from_few: Ring(0), [Cells(2), R(1), R(2), R(3)], [[TS(1), TS(2), TS(3)], [D(3), D(2)]], in_order;
    given_back_and_taken: Ring(0), [R(1), R(2), S(3, 1), S(4, 2)], [[D(1)], [D(2)], [R(5)]], any;
    given_back_where_it_empties: Ring(1), [R(1), S(3, 1), R(6), S(7, 2)], [[D(1), TR], [TR], [D(6)]], any;
    given_back_against_arriving: Ring(0), [R(1), S(2, 1)], [[D(1)], [R(3)], [R(4)]], any;
    given_back_before_values: Ring(2), [R(1), S(2, 1), S(3, 2)], [[D(1)], [TR], [TR]], any;
    given_back_recycled: Ring(0), [Recycle, R(1), S(2, 1)], [[D(1), R(1)], [TR, TS(2)]], any;
    given_back_to_blocks - 1: Unbounded, [R(1)], [[D(1)], [TS(1), TS(2)], [R(3)]], any;
    given_back_before_a_later_send: Unbounded, [TS(1), TR, R(1), TS(2)], [[D(1), TS(3)], [TR, TR]], in_order;
    given_back_to_a_room_before_a_later_send: Linked(2), [TS(1), TR, R(1), TS(2)], [[D(1), TS(3)], [TR, TR]], in_order;
    given_back_by_one_that_came_late: Unbounded, [], [[R(1)], [R(2), TS(1), TS(2), D(1), D(2)]], in_order;
    given_back_while_one_is_renewed: Unbounded, [R(1)], [[TS(1), R(2), TS(2)], [TS(3), D(2), D(1)]], one_before_two;
    given_back_to_many - 1: Unbounded, [R(1), R(2), R(3)], [[D(1)], [D(2)], [TS(1)]], any;
    given_back_to_a_room: Linked(1), [R(1)], [[D(1)], [TS(1), TS(2)], [TR]], any;
    given_back_to_a_room_against_force - 1: Linked(1), [R(1), TS(1), TS(2)], [[F(3)], [D(1), TR, TR]], in_order;
    given_back_to_a_room_against_force_and_recv - 1: Linked(1), [Count, R(1), TS(1), TS(2)], [[F(3)], [D(1)], [TR]], any;
    given_back_to_a_room_where_the_oldest_goes - 1: LinkedOldest(1), [R(1), TS(1), TS(2)], [[TSok(3)], [D(1), TR, TR]], in_order;
    given_back_while_one_is_open - 1: Ring(0), [R(1), R(2)], [[TS(1)], [TS(2)], [D(1), D(2)]], any;
}

/// The third comes at any time.
fn one_before_two(log: &Log) {
    let numbers = log.got.iter().filter(|(by, number)| *by == 0 && *number != 3).map(|(_, number)| *number);
    assert!(numbers.is_sorted(), "order: {:?}", log.got);
}
