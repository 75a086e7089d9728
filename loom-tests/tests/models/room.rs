//! Channels that are bounded and no rings: the count of places, and the senders that wait for one.

use crate::scenarios::table::Do::*;
use crate::scenarios::table::Kind::Linked;
use crate::scenarios::table::{Log, any, first_before_second, in_order};

table! {
    meet: Linked(1), [], [[S(1, 1)], [R(2)]], any;
    place_against_a_sender: Linked(1), [S(1, 1)], [[TR], [S(2, 2)]], any;
    place_for_one_of_two: Linked(1), [S(1, 1)], [[TR], [S(2, 2)], [S(3, 3)]], any;
    sender_taken_back: Linked(1), [S(1, 1), S(2, 2)], [[Inner(2)], [TR, TR]], any;
    sender_dropped: Linked(1), [S(1, 1), S(2, 2)], [[D(2), S(2, 3)], [TR, TR]], any;
    second_sender_leaves: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[D(3)], [TR, TR]], any;
    both_senders_leave: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[D(2)], [Inner(3)], [TR]], any;
    sender_reparked: Linked(1), [S(1, 1), S(2, 2)], [[Repark(2), Repark(2)], [TR]], any;
    senders_recycled: Linked(1), [Recycle, S(1, 1), S(2, 2)], [[D(2), S(2, 3), D(2), S(2, 4)], [TR, TR]], any;
    senders_in_order - 1: Linked(1), [S(1, 1), S(2, 2), S(3, 3)], [[TR, TR, TR], [S(4, 4)]], in_order;
    two_senders_in_order: Linked(1), [S(1, 1), S(2, 2)], [[TR, TR], [S(3, 3)]], in_order;
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

    // C2, C4: one at a time serves those who wait, and others leave their places to it.
    two_places_for_two_senders: Linked(2), [TS(1), TS(2), S(3, 3), S(4, 4)], [[R(5)], [R(6)]], in_order;
    two_places_and_one_that_tries - 1: Linked(2), [TS(1), TS(2), S(3, 3), S(4, 4)], [[R(5)], [R(6), TS(9)]], refused;
    two_places_for_one_sender - 1: Linked(2), [TS(1), TS(2), S(3, 3)], [[R(5)], [R(6), TS(9)]], in_order;
    not_handed_over_before_one_who_has_waited - 1: Linked(1), [TS(1), S(2, 2)], [[R(5)], [R(6), TS(9)]], first_come;
    one_leaves_while_another_is_served - 1: Linked(1), [TS(1), S(2, 2), S(3, 3)], [[R(5)], [R(6), D(3)]], any;
    close_while_two_are_served - 2: Linked(2), [TS(1), TS(2), S(3, 3), S(4, 4)], [[R(5)], [R(6), Close]], in_order;
    forced_while_two_are_served - 2: Linked(2), [Count, TS(1), TS(2), S(3, 3), S(4, 4)], [[R(5)], [R(6), F(9)]], any;
    a_reservation_between_two_senders - 1: Linked(2), [TS(1), TS(2), S(3, 3), Reserve(7, 1), S(4, 4)], [[R(5)], [R(6), TS(9)]], refused;
    a_permit_goes_while_one_is_served: Linked(2), [TReserve(1), TS(2), S(3, 3), S(4, 4)], [[Free(1)], [R(5)]], in_order;
    the_next_leaves_while_one_is_served - 1: Linked(2), [TS(1), TS(2), S(3, 3), S(4, 4)], [[R(5)], [D(4), R(6), TS(9)]], in_order;
    never_full_behind_a_large_one - 1: Linked(3), [TS(1), TS(2), TS(3), Reserve(4, 2)], [[TR], [TR, TRif(3), TSok(9)]], any;

    // Places that receives have left.
    left_and_collected: Linked(2), [TS(1), TS(2), TR], [[S(3, 3), S(4, 4)], [TR]], any;
    left_for_one_of_two: Linked(1), [TS(1), TR], [[S(2, 2)], [S(3, 3)]], any;
    left_for_a_large_one: Linked(2), [TS(1), TS(2), TR], [[Reserve(3, 2)], [TR]], any;
    left_while_one_begins_to_wait: Linked(2), [TS(1), TS(2), S(3, 3)], [[TR, TR], [S(4, 4)]], any;
    never_full_behind_what_was_left: Linked(2), [TS(1), TS(2), TR], [[TR], [TSok(3)]], any;
    never_full_beside_who_collects: Linked(2), [TS(1), TS(2), TR, TR], [[TSok(3)], [TSok(4)]], any;
    never_full_to_one_that_polls: Linked(2), [TS(1), TS(2), TR, TR], [[TSok(3)], [PSok(4)]], any;
    never_full_to_a_select_that_is_polled: Linked(2), [TS(1), TS(2), TR, TR], [[TSok(3)], [PSelectOk(4)]], any;
    never_full_to_one_that_asks: Linked(2), [TS(1), TS(2), TR, TR], [[TSok(3)], [AskOk(4)]], any;
    never_full_to_one_that_polls_after_two_receives - 1: Linked(2), [S(1, 1), S(2, 2), S(3, 3)], [[TR], [TRif(2), PSok(9)]], any;
    never_empty_beside_a_forced_send: Linked(1), [TS(1)], [[F(2)], [TRok]], any;
    never_more_beside_a_forced_send: Linked(1), [TS(1)], [[F(2)], [TS(9)]], refused;
    forced_beside_a_receive - 1: Linked(2), [Count, TS(1), TS(2)], [[TR], [S(4, 4)], [F(3)]], any;
    forced_beside_a_large_one_that_waits_for_more: Linked(2), [TS(1), TS(2), Reserve(3, 2)], [[TR], [F(9)]], any;
    forced_beside_a_large_one: Linked(2), [TReserve(1), TS(2), Reserve(3, 2)], [[F(9), Free(1)], [TR]], any;
    forced_beside_a_large_one_that_goes: Linked(2), [TReserve(1), TS(2), Reserve(3, 2)], [[F(9), D(3), S(4, 4)], [TR]], any;
    forced_beside_a_large_one_and_a_look: Linked(2), [TReserve(1), TS(2), Reserve(3, 2)], [[TR, TR], [F(9)]], any;
    forced_against_close: Linked(1), [TReserve(5), R(1), R(2), Reserve(3, 1)], [[F(9)], [Close]], to_the_first;
    forced_where_nothing_is_there - 1: Linked(1), [Count, TS(1)], [[TR], [S(3, 3)], [F(2)]], any;

    // Neither is a limit a count, nor are two looks one.
    never_empty_beside_who_closes: Linked(1), [TS(1), S(2, 2)], [[TR, Close], [TRok]], any;
    never_empty_while_one_passes - 1: Linked(2), [TS(1), TS(2), S(3, 3)], [[TR, S(4, 4), TR], [TR, TRok]], any;

    // Places begin to be counted, by the first reservation or the first forced send.
    counting_against_sends: Linked(2), [], [[TReserve(1)], [TS(2), TS(3)]], any;
    counting_against_the_last_send: Linked(2), [TS(1)], [[TReserve(1)], [TS(2)]], any;
    never_full_while_counting_begins: Linked(3), [TS(1)], [[TReserveOk(2), Free(2)], [TSok(3)]], any;
    never_empty_while_counting_begins: Linked(2), [TS(1)], [[TReserveOk(2), Free(2)], [TRok, TSok(3)]], any;
    two_begin_to_count - 1: Linked(3), [], [[TReserveOk(1)], [TReserveOk(2)], [TSok(3)]], any;
    counting_while_a_receiver_leaves: Linked(1), [R(1)], [[TReserve(2)], [D(1), TS(3)]], any;
    counting_beside_a_receiver: Linked(1), [R(1)], [[TReserve(2)], [TS(3), TS(4)]], any;
    counting_while_a_sender_comes - 1: Linked(1), [TS(1)], [[TReserve(5), Free(5)], [S(2, 2), TR]], any;
    counting_while_a_sender_leaves - 1: Linked(1), [TS(1), S(2, 2)], [[F(5)], [D(2), TR]], any;
    counting_while_one_is_let_in: Linked(2), [TS(1), TS(2), S(3, 3)], [[TReserve(5), Free(5)], [TR]], any;
    counting_against_collected - 1: Linked(2), [TS(1), TS(2)], [[TReserve(5), Free(5)], [TR, S(3, 3), TR]], any;
    counting_against_close: Linked(1), [TS(1), S(2, 2)], [[TReserve(5)], [Close, TR]], any;
    forced_against_the_first_place - 1: Linked(1), [TS(1)], [[F(2)], [TR, TS(3)]], any;

    // Where they are counted.
    counted_meet: Linked(1), [Count], [[S(1, 1)], [R(2)]], any;
    counted_sends - 1: Linked(1), [Count], [[TS(1), S(2, 2)], [TS(3), TR]], any;
    counted_place_against_a_sender: Linked(1), [Count, S(1, 1)], [[TR], [S(2, 2)]], any;
    counted_senders_in_order: Linked(1), [Count, S(1, 1), S(2, 2)], [[TR, TR], [S(3, 3)]], in_order;
    counted_sender_dropped: Linked(1), [Count, S(1, 1), S(2, 2)], [[D(2), S(2, 3)], [TR, TR]], any;
    counted_and_one_that_tries - 1: Linked(2), [Count, TS(1), TS(2), S(3, 3), S(4, 4)], [[R(5)], [R(6), TS(9)]], refused;
    counted_and_collected: Linked(2), [Count, TS(1), TS(2), TR], [[S(3, 3), S(4, 4)], [TR]], any;
    counted_never_empty_nor_full - 1: Linked(2), [Count], [[TSok(1), TRok], [TSok(2), TRok]], any;
    counted_never_empty_while_a_sender_waits: Linked(1), [Count, S(1, 1), S(2, 2)], [[TRok], [TRok]], any;
    counted_close_against_a_place: Linked(1), [Count, S(1, 1), S(2, 2)], [[Close], [TR]], any;

    a_large_one_keeps_places - 1: Linked(2), [TS(1), TS(2), Reserve(3, 2), S(4, 4)], [[R(5)], [R(6), D(3)]], any;
}

/// In order, and the last one found no room.
fn refused(log: &Log) {
    in_order(log);
    assert!(log.back.contains(&9), "there was no room: {:?}", log.got);
}

/// What was tried last is received last.
fn first_come(log: &Log) {
    assert!(log.of(5) != Some(9) && log.of(6) != Some(9), "overtaken: {:?}", log.got);
}

/// Who waits for a value in second place gets none before the first.
fn to_the_first(log: &Log) {
    assert!(log.of(2).is_none(), "overtaken: {:?}", log.got);
}
