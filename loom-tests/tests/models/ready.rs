//! The scenarios of readiness, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::ready;

models! { ready:
    waits_for_a_send_0
    waits_for_a_send_1
    waits_for_a_recv_0
    waits_for_a_recv_1
    asked_beside_a_recv
    dropped_beside_a_recv
    asking_and_receiving - 1
    waits_for_a_close
    polled_against_a_send
    dropped_against_both
    both_sides_against_a_recv
    both_sides_against_a_send
    select_meets_one_that_asks
    two_that_ask - 1
    lock_against_unlock - 1
    fair_lock_against_unlock - 1
    a_lent_send_against_a_recv
    told_of_a_lock_and_dropped
    permits_against_release
    single_against_a_send
    single_after_one_that_was_dropped
}
