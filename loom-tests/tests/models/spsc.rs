//! The scenarios of `spsc`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::spsc;

models! { spsc:
    publish_against_park_of_one
    publish_against_park_of_two
    publish_against_park_unbounded
    room_against_park_of_one
    room_against_park_of_two
    three_values_through_one_place
    dropped_receive_against_publish
    dropped_receive_against_close
    dropped_receive_is_not_counted
    dropped_send_against_room
    dropped_send_against_two_receives
    dropped_send_and_a_batch_against_room
    dropped_send_and_another_against_two_receives
    kept_send_against_room
    forgotten_send_against_room
    forgotten_receive_against_publish
    receiver_goes_against_publish
    receiver_goes_against_park
    sender_goes_against_park
    close_against_publish
    seen_closed_is_complete
    both_go
    discard_against_receives_of_a_ring
    discard_against_receives_of_blocks
    discard_against_letting_into_a_ring
    discard_against_letting_into_blocks
    blocks_are_left
    blocks_are_used_again
    other_waker_against_publish
    other_waker_against_room
    select_against_publish
    select_of_a_send_against_park
    select_of_a_receive_against_park
    dropped_select_against_publish
    select_against_room
    dropped_select_against_room
}
