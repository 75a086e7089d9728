//! The scenarios of `ring`, under loom here and under shuttle in the package in `shuttle/`.

#[path = "../scenarios/ring.rs"]
mod ring;
#[path = "../scenarios/mod.rs"]
mod scenarios;

models! { ring:
    publish_against_register
    room_against_register
    two_values_through_one_place
    notified_and_dropped
    notified_in_vain
    cancelled_sender_against_room
    two_movers
    register_against_lifted_gate - 1
    join_against_lowered_bell
    publish_against_lowered_bell - 1
    close_after_send
    close_against_waiting_sender
    close_against_mover
    publish_against_discard
    overtaking_at_the_gate
    waiting_at_a_lifted_gate - 1
    leaving_a_lifted_gate_unlooked - 1
    leaving_a_lifted_gate_after_a_look - 1
    notified_twice
    notified_twice_and_dropped
}
