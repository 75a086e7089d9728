//! The scenarios of `rendezvous`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::rendezvous;

models! { rendezvous:
    arriving_together
    two_senders
    claim_against_cancelled_recv
    claim_against_cancelled_send
    claim_against_dropped_send
    cancel_after_hand_over
    growing_while_leaving
    given_back_against_arriving
    close_against_entering
    last_receiver_against_send
    changed_waker
    closed_against_close
    given_back_in_order
    given_back_against_close
}
