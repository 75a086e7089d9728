//! The receiver that is alone: what comes in between its look at a ring's word and its addition. (The tables of all tests say what
//! has to hold.)

use crate::scenarios::mpsc;
use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::Alone;
use crate::scenarios::table::{any, in_order, three_stays};

// (Who only looks comes last: loom finds what a write of another thread would change in a look, if the write was first.)
table! {
    receive_against_publish: Alone(2), [], [[S(1, 1), S(2, 2)], [TR, TR]], in_order;
    receive_against_two_that_publish: Alone(2), [], [[TS(1)], [TS(2)], [R(1), TR]], any;
    receive_against_register: Alone(1), [S(1, 1)], [[S(2, 2)], [TR]], in_order;
    receive_against_two_that_register: Alone(1), [S(1, 1)], [[S(2, 2)], [S(3, 3)], [TR, TR]], any;
    receive_against_one_that_leaves: Alone(1), [S(1, 1)], [[S(2, 2), D(2)], [S(3, 3)], [TR]], any;
    receive_against_one_that_is_reparked: Alone(1), [S(1, 1)], [[S(2, 2), Repark(2)], [TR]], any;
    receive_against_one_that_takes_it_back: Alone(1), [S(1, 1)], [[S(2, 2), Inner(2)], [TS(3)], [TR, TR]], any;

    receive_against_force: Alone(1), [S(1, 1)], [[F(2)], [TR, TR]], in_order;
    receive_against_two_forces: Alone(2), [S(1, 1), S(2, 2)], [[F(3), F(4)], [TR, TR]], in_order;
    receive_against_a_force_that_is_slow: Alone(1), [S(1, 1)], [[F(2)], [TS(3), F(4)], [TR]], any;
    receive_against_forces_past_a_slow_sender - 1: Alone(2), [S(1, 1)], [[TS(2)], [F(3)], [TS(4), F(5), F(6)], [TR]], any;
    receive_against_a_force_and_a_permit: Alone(1), [S(1, 1)], [[F(2)], [TReserve(3), Free(3), TS(4)], [TR]], any;
    receive_against_register_and_force: Alone(1), [S(1, 1)], [[S(2, 2)], [F(3)], [TR]], three_stays;
    receive_against_one_that_waits_and_forces: Alone(1), [S(1, 1)], [[S(2, 2), F(3)], [TR]], three_stays;

    receive_against_close: Alone(1), [S(1, 1)], [[S(2, 2)], [Close], [TR, TR]], any;
    receive_against_close_now: Alone(2), [S(1, 1), S(2, 2)], [[CloseNow], [TR, TR]], in_order;
    receive_against_two_that_discard - 1: Alone(1), [S(1, 1)], [[CloseNow], [CloseNow], [TR]], any;
    receive_against_force_and_close_now: Alone(1), [S(1, 1)], [[F(2), CloseNow], [TR, TR]], in_order;

    receive_against_reserve: Alone(1), [S(1, 1)], [[S(2, 2)], [Reserve(3, 1)], [TR]], any;
    receive_against_a_reserve_that_tries: Alone(1), [S(1, 1)], [[S(2, 2)], [TReserve(3)], [TR]], any;
    receive_against_a_permit: Alone(2), [S(1, 1), TReserve(2)], [[S(3, 3)], [Use(2, 4)], [TR]], any;
    receive_where_it_is_held: Alone(1), [S(1, 1), S(2, 2), Reserve(3, 1)], [[D(3)], [TR, TR]], in_order;
}

models! { mpsc:
    batch_against_register
    batch_against_force
    batch_against_discard
    select_against_receive
    dropped_select_against_receive
    select_against_a_sender - 1
}
