//! The scenarios of `ring`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::ring;

models! { ring:
    publish_against_register
    room_against_register
    two_values_through_one_place
    handed_and_dropped
    cancelled_sender_against_room
    two_refills
    a_word_that_comes_again
    a_word_that_comes_again_while_one_parks_anew
    a_word_of_receivers_that_comes_again
    handed_to_two
    handed_to_two_of_three
    close_after_send
    close_against_waiting_sender
    close_against_refill
    publish_against_discard
}
