//! The scenarios of `blocks`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::blocks;

models! { blocks:
    publish_against_register
    two_senders_in_a_block
    two_senders_against_a_receiver
    two_senders_make_the_first_block
    two_senders_across_a_boundary
    a_sender_is_late_at_a_boundary
    a_sender_visits_a_block_that_is_freed
    sender_against_receiver_across_boundaries - 1
    two_receivers_across_a_boundary
    two_receivers_in_a_block_that_comes_again
    a_sender_behind_two_receivers
    two_receivers_in_a_block
    two_receivers_and_a_sender_at_a_boundary
    a_visitor_leaves_as_another_one_comes
    a_visitor_leaves_while_blocks_are_looked_at
    handed_and_dropped
    room_for_one
    room_against_register
    two_places - 1
    close_after_send
    close_at_a_boundary
    publish_against_discard
    publish_against_discard_at_a_boundary
}
