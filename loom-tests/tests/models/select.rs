//! The scenarios of `select`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::select;

models! { select:
    opposing
    opposing_the_younger
    opposing_on_one
    opposing_on_one_the_younger
    against_two_senders
    cancelled_against_send
    cancelled_against_recv
    both_branches_at_once
    against_close
    foreign_against_claim
    both_sides_of_one_channel
    losing_send_keeps_its_value
    polled_against_send
    polled_against_recv
    polled_against_unlock
    both_sides_in_two_selects - 2
    both_sides_in_two_selects_the_younger - 1
    both_sides_in_order - 2
    given_back_against_both_sides
    lent_send_against_recv
    lent_send_against_close
    timed_out_against_recv
    timed_out_against_send
    looks_against_publish
    looks_against_room
    looks_against_a_sender_and_a_receive
    cancelled_against_room
    cancelled_beside_a_sender - 1
}
