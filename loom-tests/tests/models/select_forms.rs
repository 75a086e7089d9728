//! The scenarios of `select_forms`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::select_forms;

models! { select_forms:
    set_against_send_and_recv - 1
    set_dropped_against_send
    set_forgotten_against_send
    set_dropped_against_recv
    set_dropped_against_close
    set_timed_out_against_send
    set_dropped_with_an_outcome
    set_dropped_after_it_was_notified
    default_against_send
    default_against_recv_of_a_lent_send
    default_against_recv_of_a_waiting_send
    default_in_time_against_send
    default_in_time_against_recv
    first_branch_behind_one_on_its_way
    mismatch_against_peers
    a_circle_of_three - 2
}
