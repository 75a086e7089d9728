//! The scenarios of `select`, under shuttle.

#[path = "../../scenarios/mod.rs"]
mod scenarios;
#[path = "../../scenarios/select.rs"]
mod select;

models! { select:
    opposing
    against_two_senders
    cancelled_against_send
    cancelled_against_recv
    both_branches_at_once
    against_close
    foreign_against_claim
    both_sides_of_one_channel
    losing_send_keeps_its_value
}
