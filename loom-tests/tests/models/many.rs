//! The scenarios of `many`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::many;

models! { many:
    receive_against_publish_on_a_ring
    receive_against_publish_in_blocks
    receive_against_receive_on_a_ring
    receive_against_receive_in_blocks
    receive_against_given_back_in_blocks
    receive_against_discard_on_a_ring
    receive_against_register
    receive_against_force
    send_against_receive
    send_against_park_on_a_ring
    send_against_park_in_blocks
    send_against_park_with_a_room
    send_against_a_leaving_receiver
    dropped_send_against_receive
    dropped_send_against_close
    send_against_close_with_counted_places
    receive_against_park_with_a_room
    send_against_send_in_blocks
    single_send_against_park_of_two
    single_send_against_park_in_blocks
    single_send_against_discard
    single_receive_against_discard
    single_receive_against_park
}
