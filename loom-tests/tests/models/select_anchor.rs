//! The scenarios of the anchor, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::select_anchor;

models! { select_anchor:
    two_claims_against_drop
    two_claims_against_poll
    claim_against_a_foreign_poll
    waiting_peer_against_a_foreign_poll
    nested_selects
    nested_selects_the_younger
    nested_selects_beside_a_third - 1
    nested_selects_beside_a_third_the_younger
    nested_selects_in_both_sides
    nested_selects_in_both_sides_the_younger
    last_waker_against_claim
    poke_against_drop
    poke_against_drop_the_younger
    poke_against_poll
    poke_against_poll_the_younger
    close_against_claim
    close_against_claim_and_drop
    two_pokes_against_poll
    two_pokes_against_drop
    two_pokes_against_wait - 1
    both_sides_against_receiver
    both_sides_against_both
    both_sides_against_close
    both_sides_dropped_against_send
    both_sides_dropped_against_recv
    both_sides_given_back_in_order
    three_selects_on_two_channels - 2
    three_selects_on_two_channels_the_younger - 1
    places_against_receivers
    places_against_sender
    places_against_close
    places_against_drop
    places_against_drop_and_close
    first_in_line_dropped
    in_few_dropped
    in_many_dropped
    first_in_line_polled
    in_few_polled
    in_many_polled
    handed_over_and_dropped
    dropped_while_handed_over
    lent_recv_against_send
    unlock_against_drop
    fair_unlock_against_drop
    unlock_against_claim
    fair_unlock_against_claim
    watching_against_close
    room_against_poll
    room_against_drop
    unbounded_against_drop
    a_place_for_many - 1
    poke_against_drop_elsewhere
}
