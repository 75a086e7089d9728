//! Channels that are bounded and no rings: the count of places, and the senders that wait for one.

#[path = "../scenarios/mod.rs"]
mod scenarios;

use scenarios::table::Do::*;
use scenarios::table::Kind::Linked;
use scenarios::table::{any, first_before_second, in_order};

table! {
    meet: Linked(1), [], [[S(1, 1)], [R(2)]], any;
    place_against_a_sender: Linked(1), [S(1, 1)], [[TR], [S(2, 2)]], any;
    place_for_one_of_two: Linked(1), [S(1, 1)], [[TR], [S(2, 2)], [S(3, 3)]], any;
    place_against_join: Linked(1), [S(1, 1), S(2, 2)], [[TR, TR], [S(3, 3)]], any;
    sender_taken_back: Linked(1), [S(1, 1), S(2, 2)], [[Inner(2)], [TR, TR]], any;
    sender_dropped: Linked(1), [S(1, 1), S(2, 2)], [[D(2), S(2, 3)], [TR, TR]], any;
    second_sender_leaves: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[D(3)], [TR, TR]], any;
    both_senders_leave: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[D(2)], [Inner(3)], [TR]], any;
    sender_reparked: Linked(1), [S(1, 1), S(2, 2)], [[Repark(2), Repark(2)], [TR]], any;
    senders_recycled: Linked(1), [Recycle, S(1, 1), S(2, 2)], [[D(2), S(2, 3), D(2), S(2, 4)], [TR, TR]], any;
    senders_in_order: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[TR, TR, TR], [S(4, 4)]], in_order;
    close_against_a_place: Linked(1), [S(1, 1), S(2, 2)], [[Close], [TR]], any;
    close_against_dropped_sender: Linked(1), [S(1, 1), S(2, 2)], [[Close], [TR], [D(2)]], any;
    close_against_senders - 1: Linked(1), [S(1, 1), S(2, 2)], [[Close], [S(3, 3)], [Inner(2)]], any;
    a_receiver_waits_while_a_place_is_given: Linked(1), [S(1, 1), S(2, 2)], [[TR], [R(4)]], any;
    two_receivers_wait_while_a_place_is_given - 1: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[TR], [R(4), R(5)]], any;
    three_receivers_wait_while_a_place_is_given - 1: Linked(1), [S(1, 1), S(2, 2), S(3, 3), S(8, 8)], [[TR], [R(4), R(5), R(6)]], any;
    handed_over_beside_a_place: Linked(1), [R(1)], [[TS(1)], [TS(2)], [TR]], any;
    two_meet_two: Linked(1), [], [[S(1, 1), S(2, 2)], [R(3), R(4)]], any;
    receivers_in_order: Linked(1), [R(1), R(2)], [[TS(1), TS(2)], [R(3)]], first_before_second;
    never_empty_nor_full - 1: Linked(2), [], [[TSok(1), TRok], [TSok(2), TRok]], any;
    never_full_behind_a_receive: Linked(2), [S(1, 1), S(2, 2)], [[TR], [TRok, TSok(3)]], any;
    never_full_after_two_receives: Linked(2), [S(1, 1), S(2, 2)], [[TR], [TRif(2), TSok(3), TSok(4)]], any;
    never_empty_while_a_sender_waits: Linked(1), [S(1, 1), S(2, 2)], [[TRok], [TRok]], any;
    waiting_senders_are_not_overtaken - 1: Linked(1), [S(1, 1), S(2, 2)], [[TR], [R(3), S(4, 4), TR]], any;
}
