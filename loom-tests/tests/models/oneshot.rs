//! The scenarios of `oneshot`, under loom here and under shuttle in the package in `shuttle/`.

use crate::scenarios::oneshot;

models! { oneshot:
    send_against_recv
    send_against_drop
    send_against_close
    drop_against_recv
    drop_against_drop
    drop_against_close
    closed_against_drop
    closed_against_close
    both_wait_against_close
    both_wait_and_both_leave
    cancelled_against_send
    send_while_it_moves
    select_against_send
    select_dropped_against_send
    tried_against_send
    park_against_send
    park_against_drop
    parked_dropped_against_send
    parked_closed_against_send
    parked_gone_before_it_is_woken
    parked_anew_against_send
    parked_anew_against_drop
    parked_and_lent_against_send
    parked_and_blocked_against_send
    park_beside_a_forgotten_closed
    wait_beside_a_forgotten_closed
    parked_dropped_against_closed
}
